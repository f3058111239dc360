//! How a column of a file becomes columns of numbers, so that other rows can be encoded in the same
//! way.

use serde::{Deserialize, Serialize};

/// One column of the file that is a feature.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoding {
    /// The name of the column in the file.
    pub name: String,
    /// The levels of a category, sorted; empty for a column of numbers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// Whether upper and lower case of the levels are the same; then they are written in lower
    /// case.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub any_case: bool,
}

impl Encoding {
    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        Self { name: name.into(), levels: Vec::new(), any_case: false }
    }

    /// Whether it is a category.
    pub fn is_category(&self) -> bool {
        !self.levels.is_empty()
    }

    /// How many columns of numbers it becomes: one for numbers and for two levels, else one for
    /// each level.
    pub fn width(&self) -> usize {
        if self.levels.len() <= 2 { 1 } else { self.levels.len() }
    }

    /// The position of the level that a trimmed cell spells; none if it was never seen.
    pub fn level(&self, cell: &str) -> Option<usize> {
        if self.any_case {
            let lower = cell.to_lowercase();
            return self.levels.iter().position(|level| *level == lower);
        }
        self.levels.iter().position(|level| level == cell)
    }

    /// What a cell said, from its numbers; none if it was missing or never seen.
    pub fn text(&self, numbers: &[f64]) -> Option<String> {
        let number = *numbers.first().filter(|number| !number.is_nan())?;
        if self.levels.is_empty() {
            return Some(number.to_string());
        }
        self.levels.get(self.level_of(numbers)?).cloned()
    }

    /// The position of the level that numbers stand for; none if it was missing or never seen.
    pub fn level_of(&self, numbers: &[f64]) -> Option<usize> {
        match numbers {
            [number, ..] if number.is_nan() => None,
            [number] => Some(usize::from(*number != 0.0)),
            _ => numbers.iter().position(|&number| number != 0.0),
        }
    }

    /// The numbers of a level, one for each column; missing in all of them without a level.
    pub fn numbers(&self, level: Option<usize>) -> impl Iterator<Item = f64> + use<> {
        let first = if self.levels.len() == 2 { 1 } else { 0 };
        (first..first + self.width())
            .map(move |column| level.map_or(f64::NAN, |level| f64::from(u8::from(level == column))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn category(levels: &[&str], any_case: bool) -> Encoding {
        Encoding {
            name: "v".into(),
            levels: levels.iter().map(ToString::to_string).collect(),
            any_case,
        }
    }

    #[test]
    fn levels_become_the_numbers_that_a_dataset_has() {
        let two = category(&["no", "yes"], true);
        assert_eq!(two.numbers(two.level("YES")).collect::<Vec<_>>(), [1.0]);
        assert_eq!(two.numbers(two.level("no")).collect::<Vec<_>>(), [0.0]);
        let three = category(&["a", "b", "c"], false);
        assert_eq!(three.numbers(three.level("b")).collect::<Vec<_>>(), [0.0, 1.0, 0.0]);
        assert!(three.numbers(three.level("B")).all(f64::is_nan));
        for (encoding, level) in [(&two, "no"), (&two, "yes"), (&three, "a"), (&three, "c")] {
            let numbers: Vec<f64> = encoding.numbers(encoding.level(level)).collect();
            assert_eq!(encoding.text(&numbers).as_deref(), Some(level));
        }
        assert_eq!(
            (three.text(&[f64::NAN; 3]), Encoding::number("x").text(&[-1.5])),
            (None, Some("-1.5".into()))
        );
        assert_eq!((Encoding::number("x").width(), two.width(), three.width()), (1, 1, 3));
    }
}
