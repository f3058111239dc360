//! How many units are removed at once.

use serde::{Deserialize, Serialize};

/// How many units are removed at each iteration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepSize {
    /// This many.
    Count(usize),
    /// This share of those left, rounded down, at least one.
    Fraction(f64),
}

impl Default for StepSize {
    fn default() -> Self {
        Self::Count(1)
    }
}

impl StepSize {
    /// How many of the removable units to remove while `kept` others are in the model, which never
    /// becomes empty.
    pub(crate) fn removed(self, removable: usize, kept: usize) -> usize {
        self.of(removable).min(removable + kept - kept.max(1))
    }

    /// How many units to remove when this many are left.
    pub(crate) fn of(self, left: usize) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Fraction(share) => ((left as f64 * share).floor() as usize).max(1),
        }
    }

    /// The number of models of a whole path from this many units down to the kept ones, or to one.
    pub fn models(self, units: usize, kept: usize) -> usize {
        let mut left = units - kept.min(units);
        let mut models = 1;
        let last = usize::from(kept == 0);
        while left > last {
            left -= self.of(left).min(left - last);
            models += 1;
        }
        models
    }
}

impl std::fmt::Display for StepSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Fraction(share) => write!(f, "{share}"),
        }
    }
}

impl std::str::FromStr for StepSize {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if text == "half" {
            return Ok(Self::Fraction(0.5));
        }
        if let Ok(count) = text.parse::<usize>()
            && count > 0
        {
            return Ok(Self::Count(count));
        }
        match text.parse::<f64>() {
            Ok(share) if share > 0.0 && share < 1.0 => Ok(Self::Fraction(share)),
            _ => Err("write a count from 1, a fraction between 0 and 1, or half".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_counts_or_shares() {
        let step = |text: &str| text.parse::<StepSize>();
        assert_eq!(step("3").unwrap().of(10), 3);
        assert_eq!(step("0.1").unwrap().of(35), 3);
        assert_eq!(step("0.1").unwrap().of(5), 1);
        assert_eq!(step("half").unwrap().of(9), 4);
        for bad in ["0", "1.5", "-1", "many"] {
            assert!(step(bad).is_err(), "{bad}");
        }
    }
}
