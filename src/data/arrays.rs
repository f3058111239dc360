//! A matrix and labels in memory as a dataset: the way in for other programs.

use std::collections::{HashMap, HashSet};

use ndarray::ArrayView2;
use sha2::{Digest, Sha256};

use super::source::hexadecimal;
use super::target::Classes;
use super::{Audit, Dataset, Encoding, Unit};
use crate::error::{Error, Result};

impl Dataset {
    /// A dataset from rows × features (NaN is missing) and a label for each row. Every column is a
    /// unit of its own; without names they are called `c1`, `c2`, ….
    ///
    /// ```
    /// let x = ndarray::array![[0.1, 7.0], [0.9, 5.0], [0.2, f64::NAN]];
    /// let data = crfe::data::Dataset::from_arrays(x.view(), &["well", "ill", "well"], None)?;
    /// assert_eq!(data.classes, ["ill", "well"]);
    /// assert_eq!(data.missing_cells(), 1);
    /// # Ok::<(), crfe::Error>(())
    /// ```
    pub fn from_arrays<L: AsRef<str>>(
        rows_by_columns: ArrayView2<f64>,
        labels: &[L],
        names: Option<Vec<String>>,
    ) -> Result<Self> {
        let (n, p) = rows_by_columns.dim();
        let columns = names.unwrap_or_else(|| (1..=p).map(|i| format!("c{i}")).collect());
        check_shape(n, p, labels.len(), &columns)?;
        check_values(rows_by_columns, &columns)?;
        let labels: Vec<_> = labels.iter().map(|label| label.as_ref().trim()).collect();
        let Classes { labels: classes, rows, y } = classes(&labels)?;

        let unit = |(i, name): (usize, &String)| Unit {
            name: name.clone(),
            columns: vec![i],
            kept: false,
        };
        let mut data = Self {
            name: "array".to_owned(),
            sha256: fingerprint(rows_by_columns, &labels),
            x: rows_by_columns.t().as_standard_layout().into_owned(),
            units: columns.iter().enumerate().map(unit).collect(),
            variables: (0..p).collect(),
            encodings: columns.iter().map(Encoding::number).collect(),
            columns,
            target: "class".to_owned(),
            classes,
            y,
            file_rows: rows.len(),
            rows,
            ids: None,
            id_column: None,
            groups: None,
            design: Default::default(),
            dropped: Vec::new(),
            audit: Audit::default(),
            layout: None,
        };
        data.summarise();
        Ok(data)
    }
}

fn check_shape(n: usize, p: usize, labels: usize, columns: &[String]) -> Result<()> {
    if p == 0 {
        return Err(Error::data("the matrix has no columns"));
    }
    if n != labels {
        return Err(Error::data(format!("the matrix has {n} rows, but there are {labels} labels")));
    }
    if p != columns.len() {
        return Err(Error::data(format!(
            "the matrix has {p} columns, but there are {} names",
            columns.len()
        )));
    }
    let mut seen = HashSet::new();
    match columns.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => {
            Err(Error::data(format!("two columns are called '{name}'"))
                .remedy("rename one of them"))
        }
        None => Ok(()),
    }
}

fn check_values(x: ArrayView2<f64>, columns: &[String]) -> Result<()> {
    for (column, name) in x.columns().into_iter().zip(columns) {
        if let Some(row) = column.iter().position(|value| value.is_infinite()) {
            return Err(Error::data(format!("row {row} is infinite"))
                .column(name)
                .remedy("correct it, or use NaN"));
        }
        if column.iter().all(|value| value.is_nan()) {
            return Err(Error::data("every value is missing")
                .column(name)
                .remedy("leave the column out"));
        }
    }
    Ok(())
}

fn classes(labels: &[&str]) -> Result<Classes> {
    if let Some(row) = labels.iter().position(|label| label.is_empty()) {
        return Err(Error::data(format!("row {row} has no label")).remedy("leave the row out"));
    }
    let (mut levels, mut known) = (Vec::new(), HashMap::new());
    let mut code = |&label: &&str| {
        Some(*known.entry(label.to_owned()).or_insert_with(|| {
            levels.push(label.to_owned());
            levels.len() as u32 - 1
        }))
    };
    let codes: Vec<_> = labels.iter().map(&mut code).collect();
    Classes::new(&levels, &codes)
}

/// SHA-256 of the values row by row, little-endian, then of each label and a line feed.
fn fingerprint(x: ArrayView2<f64>, labels: &[&str]) -> String {
    let mut hash = Sha256::new();
    x.iter().for_each(|value| hash.update(value.to_le_bytes()));
    labels.iter().for_each(|label| hash.update(format!("{label}\n")));
    hexadecimal(&hash.finalize())
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, array};

    use super::*;

    #[test]
    fn a_matrix_becomes_feature_major_units() {
        let x = array![[1.0, 2.0], [3.0, 4.0], [5.0, f64::NAN]];
        let data = Dataset::from_arrays(x.view(), &["b", " a", "b"], None).unwrap();
        assert_eq!(data.x.row(0).to_vec(), [1.0, 3.0, 5.0]);
        assert!(data.x.is_standard_layout());
        assert_eq!((data.columns, data.y), (vec!["c1".to_owned(), "c2".to_owned()], vec![1, 0, 1]));
        assert_eq!((data.name.as_str(), data.sha256.len(), data.units.len()), ("array", 64, 2));
    }

    #[test]
    fn the_fingerprint_depends_on_values_and_labels() {
        let sha = |x: Array2<f64>, labels: [&str; 2]| {
            Dataset::from_arrays(x.view(), &labels, None).unwrap().sha256
        };
        let base = sha(array![[1.0], [2.0]], ["a", "b"]);
        assert_eq!(base, sha(array![[1.0], [2.0]], ["a", "b"]));
        assert_ne!(base, sha(array![[1.0], [3.0]], ["a", "b"]));
        assert_ne!(base, sha(array![[1.0], [2.0]], ["b", "a"]));
    }

    #[test]
    fn refuses_what_is_no_dataset() {
        let say = |x: Array2<f64>, labels: &[&str], names: Option<Vec<String>>| {
            Dataset::from_arrays(x.view(), labels, names).unwrap_err().to_string()
        };
        let x = || array![[1.0, 2.0], [3.0, 4.0]];
        assert_eq!(say(x(), &["a"], None), "the matrix has 2 rows, but there are 1 labels");
        assert_eq!(say(Array2::zeros((2, 0)), &["a", "b"], None), "the matrix has no columns");
        assert!(say(x(), &["a", "a"], None).starts_with("every row has the class 'a'"));
        assert_eq!(say(x(), &["a", ""], None), "row 1 has no label; leave the row out");
        let twins = Some(vec!["u".to_owned(), "u".to_owned()]);
        assert_eq!(say(x(), &["a", "b"], twins), "two columns are called 'u'; rename one of them");
        assert_eq!(
            say(array![[1.0, f64::INFINITY], [1.0, 2.0]], &["a", "b"], None),
            "column 'c2': row 0 is infinite; correct it, or use NaN"
        );
        assert!(
            say(array![[f64::NAN], [f64::NAN]], &["a", "b"], None)
                .starts_with("column 'c1': every value")
        );
    }
}
