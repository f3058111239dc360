//! Columns that describe rows without being features: where, when, and in which subgroup a row was
//! measured.

use std::collections::HashMap;

use super::names::short;
use super::table::Column;
use crate::error::{Error, Result};

/// More levels than this are refused: such a column is an id or a measurement.
const MOST_FACTOR_LEVELS: usize = 100;

/// What is known of the rows beside their features and their class.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Design {
    /// The site, batch or year of each row, from `--leave-out`.
    pub sites: Option<Factor>,
    /// The columns of `--subgroups`.
    pub subgroups: Vec<Factor>,
    /// When each row was measured, from `--time-col`.
    pub times: Option<Times>,
}

/// A column of categories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Factor {
    /// Its name.
    pub column: String,
    /// Its values, sorted (as numbers if all are numbers).
    pub levels: Vec<String>,
    /// For each row the index of its level; none if it is missing.
    pub of_row: Vec<Option<usize>>,
}

/// A column of dates or numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct Times {
    /// Its name.
    pub column: String,
    /// For each row its time, in days for dates; NaN is missing.
    pub of_row: Vec<f64>,
}

impl Factor {
    /// The levels of some rows of a column that was named with an option.
    pub(super) fn new(
        column: &str,
        values: &Column,
        rows: &[usize],
        option: &'static str,
    ) -> Result<Self> {
        let text = |row: &usize| match values {
            Column::Numbers(values) => {
                Some(values[*row]).filter(|value| !value.is_nan()).map(|value| value.to_string())
            }
            Column::Text { levels, codes } => codes[*row].map(|code| levels[code as usize].clone()),
        };
        let texts: Vec<Option<String>> = rows.iter().map(text).collect();
        let mut levels: Vec<String> = texts.iter().flatten().cloned().collect();
        levels.sort_unstable();
        levels.dedup();
        if levels.iter().all(|level| level.parse::<f64>().is_ok()) {
            let number = |level: &String| level.parse::<f64>().unwrap_or(f64::NAN);
            levels.sort_by(|a, b| number(a).total_cmp(&number(b)));
        }
        let fault = |what: String, remedy: &str| {
            Err(Error::usage(format!("{option} names a column with {what}"))
                .column(short(column))
                .remedy(remedy)
                .option(option))
        };
        match levels.len() {
            0 | 1 => {
                return fault(
                    format!("{} values", levels.len()),
                    "name a column that divides the rows",
                );
            }
            2..=MOST_FACTOR_LEVELS => {}
            many => {
                return fault(
                    format!("{many} values"),
                    &format!("group them into at most {MOST_FACTOR_LEVELS} levels"),
                );
            }
        }
        let places: HashMap<&str, usize> =
            levels.iter().enumerate().map(|(i, level)| (level.as_str(), i)).collect();
        let of_row = texts
            .iter()
            .map(|text| text.as_deref().and_then(|text| places.get(text).copied()))
            .collect();
        Ok(Self { column: column.to_owned(), levels, of_row })
    }

    /// How many rows have each level.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.levels.len()];
        self.of_row.iter().flatten().for_each(|&level| counts[level] += 1);
        counts
    }
}

impl Times {
    /// The times of some rows of a column; `lines` are the lines of the file.
    pub(super) fn new(column: &str, values: &Column, rows: &[usize]) -> Result<Self> {
        let parsed: Vec<f64> = match values {
            Column::Numbers(values) => rows.iter().map(|&row| values[row]).collect(),
            Column::Text { levels, codes } => {
                let days = levels
                    .iter()
                    .map(|level| time(level).ok_or(level))
                    .collect::<std::result::Result<Vec<f64>, _>>();
                let days = days.map_err(|level| {
                    Error::data(format!("'{}' is neither a number nor a date", short(level)))
                        .column(short(column))
                        .remedy("write dates of --time-col as 2026-11-18 or 2026-11-18T09:30")
                        .option("--time-col")
                })?;
                rows.iter()
                    .map(|&row| codes[row].map_or(f64::NAN, |code| days[code as usize]))
                    .collect()
            }
        };
        Ok(Self { column: column.to_owned(), of_row: parsed })
    }
}

/// A number, or a date (and time) of ISO 8601 in days.
fn time(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return Some(number).filter(|number| number.is_finite());
    }
    let (date, clock) = match text.split_once(['T', ' ']) {
        Some((date, clock)) => (date, Some(clock)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let year = parts.next()?.parse::<i64>().ok()?;
    let month = parts.next()?.parse::<i64>().ok()?;
    let day = parts.next().map_or(Some(1), |day| day.parse::<i64>().ok())?;
    if parts.next().is_some() || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let of_day = match clock {
        None => 0.0,
        Some(clock) => {
            let mut parts = clock.trim_end_matches('Z').split(':').map(str::parse::<f64>);
            let hour = parts.next()?.ok()?;
            let minute = parts.next().unwrap_or(Ok(0.0)).ok()?;
            let second = parts.next().unwrap_or(Ok(0.0)).ok()?;
            (hour + (minute + second / 60.0) / 60.0) / 24.0
        }
    };
    // Days since 1970 in the proleptic Gregorian calendar, counted from March so that the leap day
    // is the last of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some(days as f64 + of_day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_days() {
        for (text, days) in [
            ("1970-01-01", 0.0),
            ("1970-01-02 12:00", 1.5),
            ("2000-02-29", 11_016.0),
            ("2000-03-01", 11_017.0),
            ("1969-12-31", -1.0),
            ("2026-11-18T06:00:00Z", 20_775.25),
            ("2026-11", 20_758.0),
            ("2026", 2026.0),
            ("-3.5", -3.5),
        ] {
            assert_eq!(time(text), Some(days), "{text}");
        }
        for text in [
            "",
            "18.11.2026",
            "11/18/2026",
            "2026-13-01",
            "2026-00-01",
            "2026-01-32",
            "spring",
            "1-2-3-4",
            "inf",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn levels_are_sorted_and_gaps_are_none() {
        let numbers = Column::Numbers(vec![2019.0, f64::NAN, 2021.0, 2019.0]);
        let factor = Factor::new("year", &numbers, &[0, 1, 2, 3], "--leave-out").unwrap();
        assert_eq!(factor.levels, ["2019", "2021"]);
        assert_eq!(factor.of_row, [Some(0), None, Some(1), Some(0)]);
        assert_eq!(factor.counts(), [2, 1]);
        let text = Column::Text {
            levels: vec!["b".into(), "a".into()],
            codes: vec![Some(0), Some(1), None],
        };
        let factor = Factor::new("site", &text, &[0, 1, 2], "--leave-out").unwrap();
        assert_eq!(
            (factor.levels, factor.of_row),
            (vec!["a".to_owned(), "b".to_owned()], vec![Some(1), Some(0), None])
        );
        let one = Factor::new("site", &text, &[0], "--leave-out").unwrap_err().to_string();
        assert_eq!(
            one,
            "column 'site': --leave-out names a column with 1 values; name a column that divides the rows"
        );
        let many = Column::Numbers((0..101).map(f64::from).collect());
        assert!(Factor::new("age", &many, &(0..101).collect::<Vec<_>>(), "--subgroups").is_err());
    }
}
