//! The labels of a table without its features: of some rows, or permuted.

use std::collections::BTreeMap;

use ndarray::Array2;

use super::Dataset;
use super::seed::{Purpose, Rng};

impl Dataset {
    /// Some rows with labels of their own and without features: enough to draw splits. Row i of it
    /// is `rows[i]`.
    pub fn labels_of(&self, rows: &[usize], y: &[usize]) -> Self {
        Self {
            name: self.name.clone(),
            sha256: String::new(),
            x: Array2::zeros((0, rows.len())),
            columns: Vec::new(),
            variables: Vec::new(),
            encodings: Vec::new(),
            units: Vec::new(),
            target: self.target.clone(),
            classes: self.classes.clone(),
            y: rows.iter().map(|&row| y[row]).collect(),
            rows: rows.iter().map(|&row| self.rows[row]).collect(),
            file_rows: self.file_rows,
            ids: None,
            id_column: None,
            groups: self
                .groups
                .as_ref()
                .map(|groups| rows.iter().map(|&row| groups[row]).collect()),
            design: super::Design::default(),
            dropped: Vec::new(),
            audit: super::Audit::default(),
            layout: None,
        }
    }

    /// The labels of one permutation. Rows of a group share their fate (docs/method.md section 14):
    /// groups of one class each exchange their class; otherwise groups of equal size exchange their
    /// labels as blocks.
    pub fn permuted_labels(&self, seed: u64, permutation: usize) -> Vec<usize> {
        let mut rng = Rng::new(seed, permutation as u64, Purpose::Permutation);
        let Some(groups) = &self.groups else {
            let mut y = self.y.clone();
            rng.shuffle(&mut y);
            return y;
        };
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        groups
            .iter()
            .enumerate()
            .for_each(|(row, &group)| members.entry(group).or_default().push(row));
        let members: Vec<Vec<usize>> = members.into_values().collect();
        let is_pure = |rows: &Vec<usize>| rows.iter().all(|&row| self.y[row] == self.y[rows[0]]);
        let mut y = self.y.clone();
        if members.iter().all(is_pure) {
            let mut classes: Vec<usize> = members.iter().map(|rows| self.y[rows[0]]).collect();
            rng.shuffle(&mut classes);
            for (rows, class) in members.iter().zip(classes) {
                rows.iter().for_each(|&row| y[row] = class);
            }
        } else {
            let mut by_size: BTreeMap<usize, Vec<&Vec<usize>>> = BTreeMap::new();
            members.iter().for_each(|rows| by_size.entry(rows.len()).or_default().push(rows));
            for alike in by_size.into_values() {
                let mut sources = alike.clone();
                rng.shuffle(&mut sources);
                for (rows, source) in alike.into_iter().zip(sources) {
                    rows.iter().zip(source).for_each(|(&row, &from)| y[row] = self.y[from]);
                }
            }
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(labels: &[&str], groups: Option<Vec<usize>>) -> Dataset {
        let x = Array2::zeros((labels.len(), 1));
        let mut data = Dataset::from_arrays(x.view(), labels, None).unwrap();
        data.groups = groups;
        data
    }

    fn sorted(mut y: Vec<usize>) -> Vec<usize> {
        y.sort_unstable();
        y
    }

    #[test]
    fn a_permutation_keeps_the_class_counts_and_depends_on_its_number() {
        let labels: Vec<&str> = (0..40).map(|i| if i % 4 == 0 { "a" } else { "b" }).collect();
        let data = data(&labels, None);
        let (one, two) = (data.permuted_labels(0, 0), data.permuted_labels(0, 1));
        assert_eq!(sorted(one.clone()), sorted(data.y.clone()));
        assert_ne!(one, two);
        assert_ne!(one, data.y);
        assert_eq!(one, data.permuted_labels(0, 0));
    }

    #[test]
    fn pure_groups_stay_pure() {
        let labels: Vec<&str> = (0..60).map(|i| if i / 3 % 2 == 0 { "a" } else { "b" }).collect();
        let data = data(&labels, Some((0..60).map(|i| i / 3).collect()));
        let y = data.permuted_labels(5, 2);
        assert_ne!(y, data.y);
        assert!(y.chunks(3).all(|group| group.iter().all(|&class| class == group[0])));
    }

    #[test]
    fn mixed_groups_exchange_whole_blocks() {
        let labels: Vec<&str> = (0..40).map(|i| if i % 8 < 3 { "a" } else { "b" }).collect();
        let data = data(&labels, Some((0..40).map(|i| i / 4).collect()));
        let y = data.permuted_labels(1, 0);
        let blocks = |y: &[usize]| {
            let mut blocks: Vec<Vec<usize>> = y.chunks(4).map(<[usize]>::to_vec).collect();
            blocks.sort();
            blocks
        };
        assert_eq!(blocks(&y), blocks(&data.y));
        assert_ne!(y, data.y);
    }

    #[test]
    fn labels_of_some_rows_are_theirs() {
        let data = data(&["a", "b", "b", "a", "b"], Some(vec![0, 1, 1, 0, 2]));
        let some = data.labels_of(&[4, 0], &data.y);
        assert_eq!((some.y, some.groups), (vec![1, 0], Some(vec![2, 0])));
    }
}
