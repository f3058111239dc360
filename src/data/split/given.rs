//! A user's own splits, read from JSON and checked against the data.

use std::collections::HashMap;
use std::path::Path;

use serde::Deserialize;

use super::{Calibration, Split, SplitOptions, grouped, halve};
use crate::data::Dataset;
use crate::error::{Error, Result};

/// What the file should look like.
const FORM: &str = r#"write {"splits":[{"train":[…],"calibration":[…],"test":[…]}]}"#;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with the list splits")]
struct File {
    splits: Vec<GivenSplit>,
}

/// One split as written: 0-based data rows of the data file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "an object with train, calibration and test")]
struct GivenSplit {
    train: Vec<usize>,
    calibration: Option<Vec<usize>>,
    selection: Option<Vec<usize>>,
    conformal: Option<Vec<usize>>,
    test: Vec<usize>,
}

/// All splits of a file.
pub(super) fn read(path: &Path, data: &Dataset, options: &SplitOptions) -> Result<Vec<Split>> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::data(format!("the splits cannot be read: {error}"))
            .file(path)
            .remedy("check the path")
    })?;
    let file: File = serde_json::from_str(&text).map_err(|error| {
        let words = error.to_string();
        let what = words.split(" at line ").next().unwrap_or_default();
        let place = Error::data(format!("the splits cannot be understood: {what}")).file(path);
        place.line(error.line() as u64).remedy(FORM)
    })?;
    if file.splits.is_empty() {
        return Err(Error::data("there are no splits in it").file(path).remedy(FORM));
    }
    let reader = Reader { path, data, options, position: positions(data) };
    file.splits.into_iter().enumerate().map(|(index, rows)| reader.split(index, rows)).collect()
}

/// From data rows of the file to rows of the dataset.
fn positions(data: &Dataset) -> HashMap<usize, usize> {
    data.rows.iter().enumerate().map(|(position, &row)| (row, position)).collect()
}

struct Reader<'a> {
    path: &'a Path,
    data: &'a Dataset,
    options: &'a SplitOptions,
    position: HashMap<usize, usize>,
}

impl Reader<'_> {
    fn split(&self, index: usize, rows: GivenSplit) -> Result<Split> {
        let mut checked =
            Checked { reader: self, index, part: HashMap::new(), group: HashMap::new() };
        let train = checked.part("train", rows.train)?;
        let test = checked.part("test", rows.test)?;
        let (selection, conformal) = match (rows.calibration, rows.selection, rows.conformal) {
            (Some(calibration), None, None) => {
                let calibration = checked.part("calibration", calibration)?;
                match self.options.calibration {
                    Calibration::Shared => (calibration.clone(), calibration),
                    Calibration::Strict => self.halve(index, calibration)?,
                }
            }
            (None, Some(_), Some(_)) if self.options.calibration == Calibration::Shared => {
                return Err(Error::usage(format!(
                    "split {index} gives selection and conformal rows apart, but --calibration shared uses the \
                     same rows for both"
                ))
                .file(self.path)
                .remedy("give calibration rows, or use --calibration strict").option("--calibration"));
            }
            (None, Some(selection), Some(conformal)) => {
                (checked.part("selection", selection)?, checked.part("conformal", conformal)?)
            }
            _ => {
                return Err(
                    self.fault(index, "give either calibration or both selection and conformal")
                );
            }
        };
        if let Some(class) = (0..self.data.classes.len())
            .find(|&class| train.iter().all(|&row| self.data.y[row] != class))
        {
            let what = format!("class '{}' has no row in train", self.data.classes[class]);
            return Err(self.fault(index, &what));
        }
        Ok(Split { train, selection, conformal, test })
    }

    fn halve(&self, index: usize, calibration: Vec<usize>) -> Result<(Vec<usize>, Vec<usize>)> {
        let mut rng = self.options.rng(index);
        let (selection, conformal) = match &self.data.groups {
            None => halve(self.data, calibration, &mut rng),
            Some(groups) => grouped::deal_two(self.data, groups, &calibration, 0.5, &mut rng),
        };
        if selection.is_empty() || conformal.is_empty() {
            let what =
                "the calibration rows are too few to halve into selection and conformal rows";
            return Err(self
                .fault(index, what)
                .remedy("give more, or use --calibration shared")
                .option("--calibration"));
        }
        Ok((selection, conformal))
    }

    fn fault(&self, index: usize, what: &str) -> Error {
        Error::data(format!("split {index}: {what}")).file(self.path)
    }
}

/// One split while its parts are being checked against each other.
struct Checked<'a> {
    reader: &'a Reader<'a>,
    index: usize,
    /// The part of each row seen.
    part: HashMap<usize, &'static str>,
    /// The part of each group seen.
    group: HashMap<usize, &'static str>,
}

impl Checked<'_> {
    /// The positions of a part's rows, ascending; rows that were dropped for want of a class are
    /// left out.
    fn part(&mut self, name: &'static str, rows: Vec<usize>) -> Result<Vec<usize>> {
        let Reader { data, position, .. } = self.reader;
        let last = data.rows.iter().copied().max().unwrap_or_default();
        let mut positions = Vec::with_capacity(rows.len());
        for row in rows {
            if row > last {
                let what = format!(
                    "row {row} of {name} is not in the data, whose last row with a class is {last}"
                );
                return Err(self
                    .fault(&what)
                    .remedy("rows are counted from 0, without the header"));
            }
            let other = self.part.insert(row, name);
            if other == Some(name) {
                return Err(self
                    .fault(&format!("row {row} is twice in {name}"))
                    .remedy("name it once"));
            }
            if let Some(other) = other {
                return Err(self
                    .fault(&format!("row {row} is in {other} and in {name}"))
                    .remedy("leave it in one of them"));
            }
            let Some(&at) = position.get(&row) else { continue };
            if let Some(groups) = &data.groups {
                let other = *self.group.entry(groups[at]).or_insert(name);
                if other != name {
                    let what = format!("row {row} of {name} has its group in {other}");
                    return Err(self
                        .fault(&what)
                        .remedy("keep groups together, or do without --group-col")
                        .option("--group-col"));
                }
            }
            positions.push(at);
        }
        if positions.is_empty() {
            return Err(self.fault(&format!("{name} has no rows")));
        }
        positions.sort_unstable();
        Ok(positions)
    }

    fn fault(&self, what: &str) -> Error {
        self.reader.fault(self.index, what)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::Splits;
    use super::super::tests::dataset;
    use super::*;

    fn toy() -> Dataset {
        let mut data = dataset(&[6, 6]);
        data.y = (0..12).map(|row| row % 2).collect();
        data
    }

    fn load(data: &Dataset, text: &str, calibration: Calibration) -> Result<Splits> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(text.as_bytes()).unwrap();
        let splits_from = Some(file.path().to_path_buf());
        Splits::new(data, &SplitOptions { calibration, splits_from, ..SplitOptions::default() })
    }

    fn refusal(text: &str, calibration: Calibration) -> (u8, String) {
        let error = load(&toy(), text, calibration).unwrap_err();
        (error.exit_code(), error.to_string())
    }

    const ONE: &str =
        r#"{"splits":[{"train":[3,2,1,0],"calibration":[4,5,6,7],"test":[8,9,10,11]}]}"#;

    #[test]
    fn takes_the_users_rows() {
        let splits = load(&toy(), ONE, Calibration::Shared).unwrap();
        assert_eq!(splits.count(), 1);
        let split = splits.split(&toy(), 0).unwrap();
        assert_eq!((split.train, split.test), (vec![0, 1, 2, 3], vec![8, 9, 10, 11]));
        assert_eq!((split.selection, split.conformal), (vec![4, 5, 6, 7], vec![4, 5, 6, 7]));
        assert_eq!(splits.split(&toy(), 1).unwrap_err().exit_code(), 1);
    }

    #[test]
    fn halves_calibration_rows_by_class_when_strict() {
        let split = load(&toy(), ONE, Calibration::Strict).unwrap().split(&toy(), 0).unwrap();
        for half in [&split.selection, &split.conformal] {
            assert_eq!(half.iter().map(|row| row % 2).sum::<usize>(), 1, "one row of each class");
            assert_eq!(half.len(), 2);
        }
        let mut both = [split.selection, split.conformal].concat();
        both.sort_unstable();
        assert_eq!(both, [4, 5, 6, 7]);
    }

    #[test]
    fn takes_selection_and_conformal_rows_as_given() {
        let text = r#"{"splits":[{"train":[0,1],"selection":[2],"conformal":[5,4],"test":[6]}]}"#;
        let split = load(&toy(), text, Calibration::Strict).unwrap().split(&toy(), 0).unwrap();
        assert_eq!((split.selection, split.conformal, split.test), (vec![2], vec![4, 5], vec![6]));
        let (code, message) = refusal(text, Calibration::Shared);
        assert!(
            code == 2 && message.contains("split 0 gives selection and conformal rows apart"),
            "{message}"
        );
    }

    #[test]
    fn leaves_out_rows_without_a_class() {
        let mut data = toy();
        data.rows = (0..13).filter(|&row| row != 5).collect();
        let split = load(&data, ONE, Calibration::Shared).unwrap().split(&data, 0).unwrap();
        assert_eq!((split.selection, split.test), (vec![4, 5, 6], vec![7, 8, 9, 10]));
    }

    #[test]
    fn keeps_groups_together() {
        let mut data = toy();
        data.groups = Some((0..12).map(|row| row / 2).collect());
        let split = load(&data, ONE, Calibration::Strict).unwrap().split(&data, 0).unwrap();
        assert_eq!(split.selection[0] + 1, split.selection[1], "a half is a group");
        data.groups = Some((0..12).map(|row| row / 3).collect());
        let error = load(&data, ONE, Calibration::Strict).unwrap_err().to_string();
        assert!(error.contains("split 0: row 4 of calibration has its group in train"), "{error}");
    }

    #[test]
    fn refuses_with_split_and_row() {
        for (text, expected) in [
            (
                r#"{"splits":[{"train":[0,1,12],"calibration":[2],"test":[3]}]}"#,
                "split 0: row 12 of train is not",
            ),
            (
                r#"{"splits":[{"train":[0,1],"calibration":[2],"test":[1]}]}"#,
                "split 0: row 1 is in train and in test",
            ),
            (
                r#"{"splits":[{"train":[0,1,0],"calibration":[2],"test":[3]}]}"#,
                "split 0: row 0 is twice in train",
            ),
            (
                r#"{"splits":[{"train":[0,1],"calibration":[],"test":[3]}]}"#,
                "split 0: calibration has no rows",
            ),
            (
                r#"{"splits":[{"train":[0,2],"calibration":[4],"test":[3]}]}"#,
                "class 'c1' has no row in train",
            ),
            (r#"{"splits":[{"train":[0,1],"test":[3]}]}"#, "give either calibration or both"),
            (r#"{"splits":[]}"#, "there are no splits in it"),
            (
                "{\"splits\":[\n{\"training\":[0]}]}",
                "line 2: the splits cannot be understood: unknown field `training`",
            ),
            (
                r#"{"splits":[{"train":[-1]}]}"#,
                "line 1: the splits cannot be understood: invalid value",
            ),
        ] {
            let (code, message) = refusal(text, Calibration::Shared);
            assert!(code == 3 && message.contains(expected), "{message}");
        }
        let halved = r#"{"splits":[{"train":[0,1],"calibration":[2],"test":[3]}]}"#;
        assert!(refusal(halved, Calibration::Strict).1.contains("too few to halve"));
    }
}
