//! Columns of the file to columns of numbers: what is dropped and why, and one column for each
//! level of a category.

use std::collections::HashMap;
use std::fmt;
use std::ops;

use super::Encoding;
use super::guess;
use super::memory::reserve;
use super::names::option_with;
use super::scaling::ValueRange;
use super::table::Column;
use super::target::sort_levels;
use crate::error::{Error, Result};

/// The most levels that a category may have.
pub(super) const MOST_LEVELS: usize = 50;

/// Why a column is no feature; displayed as the end of the sentence "dropped: …".
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DropReason {
    /// By `--drop`.
    Asked,
    /// It is a phenotype that was not requested.
    Phenotype,
    /// No row has a value.
    Empty,
    /// This share of values is missing.
    Missing(f64),
    /// All values are the same, up to rounding.
    Constant,
    /// Row numbers or names that a program added.
    Index,
    /// It numbers the rows.
    Counter,
    /// Text that differs in every row, or numbers that do and are called an id.
    Identifier,
    /// It names people, some of them in several rows.
    Person,
    /// Dates.
    Date,
}

impl fmt::Display for DropReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Asked => f.write_str("left out with --drop"),
            Self::Phenotype => f.write_str("it is a phenotype, and not named by --keep"),
            Self::Empty => f.write_str("it has no values"),
            Self::Missing(share) => write!(f, "{:.0} % of its values are missing", 100.0 * share),
            Self::Constant => f.write_str("all its values are the same"),
            Self::Index => f.write_str("it is the index of the rows"),
            Self::Counter => f.write_str("it numbers the rows"),
            Self::Identifier => f.write_str("it differs in every row, like an id"),
            Self::Person => f.write_str("it names patients, some of them in several rows"),
            Self::Date => f.write_str("it holds dates"),
        }
    }
}

/// A column of the file that is a feature, as its encoded columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) columns: ops::Range<usize>,
}

/// A column that may become a feature.
pub(super) struct Offered<'a> {
    pub(super) name: &'a str,
    pub(super) column: &'a Column,
    /// The first column, without a name or with one that programs give to row numbers.
    pub(super) may_be_index: bool,
}

/// The features so far, and what was dropped.
#[derive(Debug, Default)]
pub(super) struct Features {
    /// Names of the encoded columns.
    pub(super) columns: Vec<String>,
    /// Their values, one column after the other; NaN is missing.
    pub(super) values: Vec<f64>,
    pub(super) variables: Vec<Variable>,
    /// How each variable became its columns.
    pub(super) encodings: Vec<Encoding>,
    pub(super) dropped: Vec<(String, DropReason)>,
    /// Numbers that may be codes of categories.
    pub(super) codes: Vec<String>,
    /// Numbers among which one may mean "missing", and in how many rows.
    pub(super) missing_codes: Vec<(String, f64, usize)>,
}

impl Features {
    /// Encodes the given rows of a column, or drops it.
    pub(super) fn add(
        &mut self,
        offered: &Offered<'_>,
        rows: &[usize],
        max_missing: f64,
    ) -> Result<()> {
        let start = self.columns.len();
        let name = offered.name;
        let reason = match offered.column {
            Column::Numbers(values) => self.add_numbers(offered, values, rows, max_missing)?,
            Column::Text { levels, codes } => {
                let category = LevelCodes::new(levels, codes, rows);
                match category.reason(offered, rows.len(), max_missing) {
                    None => self.encode(name, &category)?,
                    reason => reason,
                }
            }
        };
        match reason {
            Some(reason) => self.dropped.push((name.to_owned(), reason)),
            None => self
                .variables
                .push(Variable { name: name.to_owned(), columns: start..self.columns.len() }),
        }
        Ok(())
    }

    /// Whether the last column added was dropped because it identifies the rows.
    pub(super) fn names_rows(&self) -> bool {
        self.columns.is_empty()
            && matches!(self.dropped.last(), Some((_, DropReason::Index | DropReason::Identifier)))
    }

    /// For each column the position of its variable.
    pub(super) fn variable_of_columns(&self) -> Vec<usize> {
        let columns =
            |(position, variable): (usize, &Variable)| vec![position; variable.columns.len()];
        self.variables.iter().enumerate().flat_map(columns).collect()
    }

    fn add_numbers(
        &mut self,
        offered: &Offered<'_>,
        all: &[f64],
        rows: &[usize],
        max_missing: f64,
    ) -> Result<Option<DropReason>> {
        let values = || rows.iter().map(|&row| all[row]);
        let present = || values().filter(|value| !value.is_nan());
        let count = present().count();
        if let Some(reason) = too_empty(count, rows.len(), max_missing) {
            return Ok(Some(reason));
        }
        if ValueRange::of(values()).is_constant() {
            return Ok(Some(DropReason::Constant));
        }
        let name = offered.name;
        let many = count > guess::FEWEST_IDS;
        if offered.may_be_index && guess::counts(all) {
            return Ok(Some(DropReason::Index));
        }
        if many && (guess::counts(all) || guess::numbers_rows(all)) {
            return Ok(Some(DropReason::Counter));
        }
        if guess::are_dates(values()) {
            return Ok(Some(DropReason::Date));
        }
        if offered.may_be_index || guess::is_id_name(name) || guess::is_person_name(name) {
            let different = guess::different_integers(values()).unwrap_or_default();
            if offered.may_be_index && different == count && name.starts_with("Unnamed:") {
                return Ok(Some(DropReason::Index));
            }
            if many && guess::is_person_name(name) && recur(different, count) {
                return Ok(Some(DropReason::Person));
            }
            if many && guess::is_id_name(name) && 10 * different >= 9 * count {
                return Ok(Some(DropReason::Identifier));
            }
        }
        if many {
            if let Some((code, rows)) = guess::missing_code(values()) {
                self.missing_codes.push((name.to_owned(), code, rows));
            } else if guess::are_codes(values()) {
                self.codes.push(name.to_owned());
            }
        }
        self.columns.push(name.to_owned());
        reserve(&mut self.values, rows.len())?;
        self.values.extend(values());
        self.encodings.push(Encoding::number(name));
        Ok(None)
    }

    fn encode(&mut self, name: &str, category: &LevelCodes) -> Result<Option<DropReason>> {
        let count = category.levels.len();
        if count > MOST_LEVELS {
            return Err(Error::data(format!(
                "the text has {count} different values, too many for a category"
            ))
            .column(name)
            .remedy(format!(
                "leave it out with {}, or merge rare values",
                option_with("--drop", name)
            ))
            .option("--drop"));
        }
        let (sorted, place) = sort_levels(&category.levels);
        let first = if count == 2 { 1 } else { 0 };
        for (level, label) in sorted.iter().enumerate().skip(first) {
            self.columns.push(format!("{name}={label}"));
            reserve(&mut self.values, category.codes.len())?;
            let value = |code: &Option<usize>| {
                code.map_or(f64::NAN, |code| f64::from(place[code] == level))
            };
            self.values.extend(category.codes.iter().map(value));
        }
        let any_case = category.any_case;
        self.encodings.push(Encoding { name: name.to_owned(), levels: sorted, any_case });
        Ok(None)
    }
}

/// The text of some rows, as levels in order of appearance, without levels that only other rows
/// have.
struct LevelCodes {
    levels: Vec<String>,
    codes: Vec<Option<usize>>,
    present: usize,
    /// Upper and lower case are the same.
    any_case: bool,
}

impl LevelCodes {
    fn new(levels: &[String], codes: &[Option<u32>], rows: &[usize]) -> Self {
        let fold = are_answers(levels);
        let mut known = HashMap::new();
        let mut used = Vec::new();
        let mut present = 0;
        // Each level is compared once, not once per row.
        let mut renumbered = vec![None; levels.len()];
        let codes = rows.iter().map(|&row| {
            let level = codes[row]? as usize;
            present += 1;
            Some(*renumbered[level].get_or_insert_with(|| {
                let label = if fold { levels[level].to_lowercase() } else { levels[level].clone() };
                *known.entry(label).or_insert_with_key(|label| {
                    used.push(label.clone());
                    used.len() - 1
                })
            }))
        });
        let codes = codes.collect();
        Self { levels: used, codes, present, any_case: fold }
    }

    fn reason(&self, offered: &Offered<'_>, rows: usize, max_missing: f64) -> Option<DropReason> {
        let count = self.levels.len();
        let present = self.present;
        let many = present > guess::FEWEST_IDS;
        match () {
            () if too_empty(present, rows, max_missing).is_some() => {
                too_empty(present, rows, max_missing)
            }
            () if count == 1 => Some(DropReason::Constant),
            () if self.levels.iter().all(|level| guess::is_date(level)) => Some(DropReason::Date),
            () if offered.may_be_index && count == present => Some(DropReason::Index),
            () if many && count == present => Some(DropReason::Identifier),
            () if many && guess::is_person_name(offered.name) && recur(count, present) => {
                Some(DropReason::Person)
            }
            () => None,
        }
    }
}

/// Whether this many different names in this many rows mean that people occur more than once.
fn recur(different: usize, rows: usize) -> bool {
    different < rows && different > 10 && 20 * different > rows
}

/// Whether all levels are yes and no, or true and false, in more than one spelling.
pub(super) fn are_answers(levels: &[String]) -> bool {
    const PAIRS: [[&str; 2]; 4] = [["yes", "no"], ["true", "false"], ["y", "n"], ["t", "f"]];
    let of = |pair: &[&str; 2]| {
        levels.iter().all(|level| pair.iter().any(|answer| level.eq_ignore_ascii_case(answer)))
    };
    let twice =
        |answer: &str| levels.iter().filter(|level| level.eq_ignore_ascii_case(answer)).count() > 1;
    PAIRS.iter().any(|pair| of(pair) && pair.iter().any(|answer| twice(answer)))
}

fn too_empty(present: usize, rows: usize, max_missing: f64) -> Option<DropReason> {
    let share = (rows - present) as f64 / rows as f64;
    match present {
        0 => Some(DropReason::Empty),
        _ if share > max_missing => Some(DropReason::Missing(share)),
        _ => None,
    }
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

    fn offered<'a>(name: &'a str, column: &'a Column) -> Offered<'a> {
        Offered { name, column, may_be_index: false }
    }

    fn encode(column: &Column, rows: usize) -> Result<Features> {
        let mut features = Features::default();
        features.add(&offered("v", column), &(0..rows).collect::<Vec<_>>(), 0.25)?;
        Ok(features)
    }

    fn reason(column: &Column, rows: usize) -> Option<DropReason> {
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
        features.add(&offered("v", &text(&["a", "b", "c"])), &[0, 2], 0.25).unwrap();
        features.add(&offered("w", &Column::Numbers(vec![1.0, 2.0, 1.0])), &[0, 2], 0.25).unwrap();
        assert_eq!(features.columns, ["v=c"]);
        assert_eq!(features.dropped, [("w".to_owned(), DropReason::Constant)]);
    }

    #[test]
    fn drops_empty_missing_and_constant_columns() {
        let nan = f64::NAN;
        assert_eq!(reason(&Column::Numbers(vec![nan; 4]), 4), Some(DropReason::Empty));
        assert_eq!(
            reason(&Column::Numbers(vec![1.0, nan, 2.0, nan]), 4),
            Some(DropReason::Missing(0.5))
        );
        assert_eq!(reason(&Column::Numbers(vec![1.0, nan, 2.0, 3.0]), 4), None);
        assert_eq!(
            reason(&Column::Numbers(vec![7.0, nan, 7.0, 7.0]), 4),
            Some(DropReason::Constant)
        );
        assert_eq!(
            reason(&Column::Numbers(vec![0.3, 0.1 + 0.2, 0.3, 0.3]), 4),
            Some(DropReason::Constant)
        );
        assert_eq!(reason(&text(&["a", "a", "", "a"]), 4), Some(DropReason::Constant));
        assert_eq!(DropReason::Missing(0.5).to_string(), "50 % of its values are missing");
    }

    #[test]
    fn drops_what_counts_or_names_the_rows() {
        let count =
            |from: i32, rows: i32| Column::Numbers((from..from + rows).map(f64::from).collect());
        assert_eq!(reason(&count(1, 30), 30), Some(DropReason::Counter));
        assert_eq!(reason(&count(0, 30), 30), Some(DropReason::Counter));
        assert_eq!(reason(&count(5, 30), 30), Some(DropReason::Counter));
        assert_eq!(reason(&count(1, 10), 10), None);
        let names: Vec<_> = (0..60).map(|i| format!("p{i}")).collect();
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        assert_eq!(reason(&text(&names), 60), Some(DropReason::Identifier));
    }

    #[test]
    fn answers_in_many_spellings_are_two_levels() {
        assert_eq!(encode(&text(&["yes", "No", "YES", "no"]), 4).unwrap().columns, ["v=yes"]);
        assert_eq!(encode(&text(&["Yes", "No"]), 2).unwrap().columns, ["v=Yes"]);
        assert_eq!(encode(&text(&["yes", "No", "YES", "maybe"]), 4).unwrap().columns.len(), 4);
    }

    #[test]
    fn drops_dates_indices_and_people() {
        assert_eq!(
            reason(&text(&["2019-01-02", "", "2019-03-04", "2019-01-02"]), 4),
            Some(DropReason::Date)
        );
        let drop = |name: &str, column: &Column, may_be_index| {
            let mut features = Features::default();
            let rows: Vec<_> = (0..match column {
                Column::Numbers(v) => v.len(),
                Column::Text { codes, .. } => codes.len(),
            })
                .collect();
            features.add(&Offered { name, column, may_be_index }, &rows, 0.25).unwrap();
            features.dropped.first().map(|(_, reason)| *reason)
        };
        let few = Column::Numbers(vec![0.0, 1.0, 2.0]);
        assert_eq!(drop("Unnamed: 0", &few, true), Some(DropReason::Index));
        assert_eq!(drop("stage", &few, false), None);
        let visits = Column::Numbers((0..60).map(|i| f64::from(i / 3)).collect());
        assert_eq!(drop("patient", &visits, false), Some(DropReason::Person));
        assert_eq!(drop("weight", &visits, false), None);
        let random = Column::Numbers((0..60).map(|i| f64::from(i * 7919 % 1009)).collect());
        assert_eq!(
            (drop("id", &random, false), drop("weight", &random, false)),
            (Some(DropReason::Identifier), None)
        );
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
