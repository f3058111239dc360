//! Columns of the file to columns of numbers: what is dropped and why, and one column for each level of a category.

use std::fmt;
use std::ops::Range;

use super::cells::quoted;
use super::table::Column;
use super::target::sort_levels;
use crate::error::{Error, Result};

/// A category has at most so many levels.
const MOST_LEVELS: usize = 50;
/// In a shorter table a column may count or differ in every row by chance.
const FEWEST_IDS: usize = 20;

/// Why a column is no feature; displayed as the end of the sentence "dropped: …".
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reason {
    /// By `--drop`.
    Asked,
    /// No row has a value.
    Empty,
    /// This share of values is missing.
    Missing(f64),
    /// All values are the same.
    Constant,
    /// It numbers the rows.
    Counter,
    /// Text that differs in every row.
    Identifier,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("left out with --drop"),
            Self::Empty => f.write_str("it has no values"),
            Self::Missing(share) => write!(f, "{:.0} % of its values are missing", 100.0 * share),
            Self::Constant => f.write_str("all its values are the same"),
            Self::Counter => f.write_str("it numbers the rows"),
            Self::Identifier => f.write_str("its text differs in every row, like an id"),
        }
    }
}

/// A column of the file that is a feature, as its encoded columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) columns: Range<usize>,
}

/// The features so far, and what was dropped.
#[derive(Debug, Default)]
pub(super) struct Features {
    /// Names of the encoded columns.
    pub(super) columns: Vec<String>,
    /// Their values, one column after the other; NaN is missing.
    pub(super) values: Vec<f64>,
    pub(super) variables: Vec<Variable>,
    pub(super) dropped: Vec<(String, Reason)>,
}

impl Features {
    /// Encodes the given rows of a column, or drops it.
    pub(super) fn add(
        &mut self,
        name: &str,
        column: &Column,
        rows: &[usize],
        max_missing: f64,
    ) -> Result<()> {
        let start = self.columns.len();
        let reason = match column {
            Column::Numbers(values) => self.add_numbers(name, values, rows, max_missing),
            Column::Text { levels, codes } => self.add_category(name, levels, codes, rows, max_missing)?,
        };
        match reason {
            Some(reason) => self.dropped.push((name.to_owned(), reason)),
            None => {
                self.variables.push(Variable { name: name.to_owned(), columns: start..self.columns.len() })
            }
        }
        Ok(())
    }

    fn add_numbers(&mut self, name: &str, all: &[f64], rows: &[usize], max_missing: f64) -> Option<Reason> {
        let values = || rows.iter().map(|&row| all[row]);
        let present = || values().filter(|value| !value.is_nan());
        if let Some(reason) = too_empty(present().count(), rows.len(), max_missing) {
            return Some(reason);
        }
        let first = present().next();
        if present().all(|value| Some(value) == first) {
            return Some(Reason::Constant);
        }
        if counts(all) {
            return Some(Reason::Counter);
        }
        self.columns.push(name.to_owned());
        self.values.extend(values());
        None
    }

    fn add_category(
        &mut self,
        name: &str,
        levels: &[String],
        codes: &[Option<u32>],
        rows: &[usize],
        max_missing: f64,
    ) -> Result<Option<Reason>> {
        // Levels seen only in rows without a class have no column.
        let mut renumbered = vec![None; levels.len()];
        let mut used = Vec::new();
        let mut present = 0;
        let codes: Vec<Option<usize>> = rows
            .iter()
            .map(|&row| {
                let level = codes[row]? as usize;
                present += 1;
                Some(*renumbered[level].get_or_insert_with(|| {
                    used.push(levels[level].clone());
                    used.len() - 1
                }))
            })
            .collect();
        if let Some(reason) = too_empty(present, rows.len(), max_missing) {
            return Ok(Some(reason));
        }
        let count = used.len();
        if count == 1 {
            return Ok(Some(Reason::Constant));
        }
        if count == present && count > FEWEST_IDS {
            return Ok(Some(Reason::Identifier));
        }
        if count > MOST_LEVELS {
            return Err(Error::data(format!(
                "the text has {count} different values, too many for a category"
            ))
            .column(name)
            .remedy(format!("leave it out with --drop {}, or merge rare values", quoted(name))));
        }
        let (sorted, place) = sort_levels(&used);
        let first = if count == 2 { 1 } else { 0 };
        for (level, label) in sorted.iter().enumerate().skip(first) {
            self.columns.push(format!("{name}={label}"));
            let value = |code: &Option<usize>| code.map_or(f64::NAN, |code| f64::from(place[code] == level));
            self.values.extend(codes.iter().map(value));
        }
        Ok(None)
    }
}

fn too_empty(present: usize, rows: usize, max_missing: f64) -> Option<Reason> {
    let share = (rows - present) as f64 / rows as f64;
    match present {
        0 => Some(Reason::Empty),
        _ if share > max_missing => Some(Reason::Missing(share)),
        _ => None,
    }
}

/// Whether the values are 0, 1, 2, … or 1, 2, 3, ….
fn counts(values: &[f64]) -> bool {
    values.len() > FEWEST_IDS
        && matches!(values.first(), Some(&first) if first == 0.0 || first == 1.0)
        && values.windows(2).all(|pair| pair[1] == pair[0] + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(values: &[&str]) -> Column {
        let mut levels: Vec<String> = Vec::new();
        let codes = values
            .iter()
            .map(|&value| {
                (!value.is_empty()).then(|| {
                    levels.iter().position(|level| level == value).unwrap_or_else(|| {
                        levels.push(value.to_owned());
                        levels.len() - 1
                    }) as u32
                })
            })
            .collect();
        Column::Text { levels, codes }
    }

    fn encode(column: &Column, rows: usize) -> Result<Features> {
        let mut features = Features::default();
        features.add("v", column, &(0..rows).collect::<Vec<_>>(), 0.25)?;
        Ok(features)
    }

    fn reason(column: &Column, rows: usize) -> Option<Reason> {
        encode(column, rows).unwrap().dropped.first().map(|(_, reason)| *reason)
    }

    #[test]
    fn two_levels_are_one_column_of_the_last() {
        let features = encode(&text(&["no", "yes", "no"]), 3).unwrap();
        assert_eq!(features.columns, ["v=yes"]);
        assert_eq!(features.values, [0.0, 1.0, 0.0]);
        assert_eq!(encode(&text(&["10", "9", "9"]), 3).unwrap().columns, ["v=10"]);
    }

    #[test]
    fn more_levels_are_a_column_each_and_missing_is_missing_in_all() {
        let features = encode(&text(&["b", "c", "", "a", "b"]), 5).unwrap();
        assert_eq!(features.columns, ["v=a", "v=b", "v=c"]);
        let columns: Vec<_> = features.values.chunks(5).collect();
        assert!(columns.iter().all(|column| column[2].is_nan()));
        assert_eq!(
            [columns[0][3], columns[1][0], columns[1][4], columns[2][1], columns[2][0]],
            [1., 1., 1., 1., 0.]
        );
        assert_eq!(features.variables, [Variable { name: "v".into(), columns: 0..3 }]);
    }

    #[test]
    fn only_the_given_rows_count() {
        let mut features = Features::default();
        features.add("v", &text(&["a", "b", "c"]), &[0, 2], 0.25).unwrap();
        features.add("w", &Column::Numbers(vec![1.0, 2.0, 1.0]), &[0, 2], 0.25).unwrap();
        assert_eq!(features.columns, ["v=c"]);
        assert_eq!(features.dropped, [("w".to_owned(), Reason::Constant)]);
    }

    #[test]
    fn drops_empty_missing_and_constant_columns() {
        let nan = f64::NAN;
        assert_eq!(reason(&Column::Numbers(vec![nan; 4]), 4), Some(Reason::Empty));
        assert_eq!(reason(&Column::Numbers(vec![1.0, nan, 2.0, nan]), 4), Some(Reason::Missing(0.5)));
        assert_eq!(reason(&Column::Numbers(vec![1.0, nan, 2.0, 3.0]), 4), None);
        assert_eq!(reason(&Column::Numbers(vec![7.0, nan, 7.0, 7.0]), 4), Some(Reason::Constant));
        assert_eq!(reason(&text(&["a", "a", "", "a"]), 4), Some(Reason::Constant));
        assert_eq!(Reason::Missing(0.5).to_string(), "50 % of its values are missing");
    }

    #[test]
    fn drops_what_counts_or_names_the_rows() {
        let count = |from: i32, rows: i32| Column::Numbers((from..from + rows).map(f64::from).collect());
        assert_eq!(reason(&count(1, 30), 30), Some(Reason::Counter));
        assert_eq!(reason(&count(0, 30), 30), Some(Reason::Counter));
        assert_eq!(reason(&count(5, 30), 30), None);
        assert_eq!(reason(&count(1, 10), 10), None);
        let names: Vec<_> = (0..60).map(|i| format!("p{i}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        assert_eq!(reason(&text(&names), 60), Some(Reason::Identifier));
    }

    #[test]
    fn refuses_a_category_with_too_many_levels() {
        let names: Vec<_> = (0..120).map(|i| format!("p{}", i % 60)).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        assert_eq!(
            encode(&text(&names), 120).unwrap_err().to_string(),
            "column 'v': the text has 60 different values, too many for a category; leave it out with --drop v, or merge \
             rare values"
        );
    }
}
