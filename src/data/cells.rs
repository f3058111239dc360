//! What the text of a cell means: a number, a word or nothing.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::sniff::{has_decimal_comma, has_thousands};

/// What a value beyond the range of a measurement, such as `<0.5`, stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Censored {
    /// The bound itself.
    Bound,
    /// Nothing: it is missing.
    Na,
}

impl FromStr for Censored {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "bound" => Ok(Self::Bound),
            "na" => Ok(Self::Na),
            _ => Err("write bound or na".into()),
        }
    }
}

impl fmt::Display for Censored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bound => "bound",
            Self::Na => "na",
        })
    }
}

/// How the text of cells is read in this file.
pub(super) struct CellFormat {
    pub(super) decimal: char,
    /// Words that mean "missing", in addition to the usual ones.
    missing: Vec<String>,
    /// Those of them that are numbers: in a column of numbers they may be spelled in any way.
    pub(super) missing_numbers: Vec<f64>,
    pub(super) censored: Option<Censored>,
}

impl CellFormat {
    pub(super) fn new(decimal: char, missing: &[String], censored: Option<Censored>) -> Self {
        let missing: Vec<String> = missing.iter().map(|word| word.trim().to_owned()).collect();
        let mut cells =
            Self { decimal, missing: Vec::new(), missing_numbers: Vec::new(), censored };
        cells.missing_numbers = missing.iter().filter_map(|word| cells.number(word)).collect();
        cells.missing = missing;
        cells
    }

    /// Whether a trimmed cell holds no value.
    pub(super) fn is_missing(&self, cell: &str) -> bool {
        let usual = match cell.len() {
            0 => true,
            1 => matches!(cell, "?" | "."),
            2 => cell.eq_ignore_ascii_case("na"),
            3 => cell.eq_ignore_ascii_case("n/a") || cell.eq_ignore_ascii_case("nan"),
            4 => cell.eq_ignore_ascii_case("null"),
            _ => false,
        };
        usual || self.missing.iter().any(|word| word == cell)
    }

    /// The number a trimmed cell spells, which may be infinite.
    pub(super) fn number(&self, cell: &str) -> Option<f64> {
        if self.decimal == '.' {
            return cell.parse().ok();
        }
        // A point beside another decimal sign could only separate thousands, which is ambiguous.
        if cell.contains('.') {
            return None;
        }
        cell.replace(self.decimal, ".").parse().ok()
    }

    /// A trimmed cell of a column of numbers: NaN if it is missing; none if it is not a number.
    pub(super) fn numeric(&self, cell: &str) -> Option<f64> {
        if self.is_missing(cell) {
            return Some(f64::NAN);
        }
        match self.number(cell) {
            Some(number) if self.missing_numbers.contains(&number) => Some(f64::NAN),
            Some(number) => number.is_finite().then_some(number),
            None => match self.censored? {
                Censored::Bound => self.bound(cell),
                Censored::Na => self.bound(cell).map(|_| f64::NAN),
            },
        }
    }

    /// Whether a finite number is a plain value: no number means "missing".
    pub(super) fn is_plain(&self) -> bool {
        self.decimal == '.' && self.missing.is_empty()
    }

    pub(super) fn finite(&self, cell: &str) -> bool {
        self.number(cell).is_some_and(f64::is_finite)
    }

    /// The bound of a censored value.
    pub(super) fn bound(&self, cell: &str) -> Option<f64> {
        let number = cell.strip_prefix(['<', '>', '≤', '≥'])?;
        let number = number.strip_prefix('=').unwrap_or(number).trim_start();
        self.number(number).filter(|number| number.is_finite())
    }

    /// Why a word is not a number, if it nearly is one.
    pub(super) fn fault(&self, word: &str) -> NumberFault {
        match () {
            () if self.number(word).is_some() => NumberFault::Infinite,
            () if self.bound(word).is_some() => NumberFault::Censored,
            () if has_thousands(word, self.decimal) => NumberFault::Thousands,
            () if self.decimal == '.' && has_decimal_comma(word) => NumberFault::DecimalComma,
            () if word.strip_suffix('%').is_some_and(|number| self.finite(number.trim_end())) => {
                NumberFault::Percent
            }
            () => NumberFault::Word,
        }
    }
}

/// What keeps a word from being a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberFault {
    Infinite,
    Censored,
    Thousands,
    DecimalComma,
    Percent,
    Word,
}
