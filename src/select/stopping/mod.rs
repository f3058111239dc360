//! When to stop: one file per rule, and one list of them. Tables, figures, the page, the command
//! line and the dashboard read the list.

mod beta;
mod cv;
mod knee;
mod one_se;
mod proximity;

use serde::{Deserialize, Serialize};

pub use beta::{BetaRule, Stopping, gradient};
pub use one_se::{CurveBySplit, OneSe, one_se_size, one_se_sizes_without_each};
pub use proximity::{Proximity, ProximityRule};

/// Every rule that chooses a size, in the order in which they are shown.
pub const RULES: [Rule; 5] = [one_se::RULE, knee::RULE, beta::RULE, cv::RULE, proximity::RULE];

/// How the size of the answer is chosen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopRule {
    /// Where total conformity bends most.
    Knee,
    /// Where the second derivative of mean β leaves its noise: the paper's rule.
    Beta,
    /// The smallest size that is within one standard error of the best. Looks at test rows.
    #[default]
    OneSe,
    /// 5-fold cross-validated accuracy of RFE.
    Cv,
    /// Where classes come too near to each other: the rule of CRFE 0.1.1.
    Proximity,
    /// No size is chosen.
    None,
    /// This size.
    Size(usize),
}

/// What the program knows of a rule.
#[derive(Debug)]
pub struct Rule {
    /// Which rule it is.
    pub rule: StopRule,
    /// Its name in files and on the command line.
    pub name: &'static str,
    /// Its name in a sentence or a narrow column.
    pub symbol: &'static str,
    /// Its name in a heading or a legend.
    pub label: &'static str,
    /// Marks where it stops.
    pub letter: &'static str,
    /// How a methods paragraph describes it.
    pub prose: fn(&BetaRule) -> String,
    /// How it chooses.
    pub chooses: Chooses,
}

/// What a rule chooses a size from.
#[derive(Debug)]
pub enum Chooses {
    /// From the path of a split alone, split by split.
    ByPath(fn(&PathPoints<'_>) -> Option<usize>),
    /// From what all splits achieved on their test rows, one size for all.
    BySplits,
    /// From rows or models that only the run has: the size is recorded with the path.
    ByRun(fn(&RunSizes) -> Option<usize>),
}

/// The sizes that were recorded with a path, of the rules that were asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunSizes {
    /// By cross-validation.
    pub cv: Option<usize>,
    /// By the proximity rule.
    pub proximity: Option<usize>,
}

/// What a rule reads of one path.
#[derive(Debug)]
pub struct PathPoints<'a> {
    /// (size, mean β) of every model; sizes fall.
    pub points: &'a [(usize, f64)],
    /// Units at the start.
    pub units: usize,
    /// k and ψ of the β rule.
    pub beta_rule: &'a BetaRule,
    /// How the path ended.
    pub end: PathEnd,
}

/// How a path ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathEnd {
    /// With nothing left to remove, or it has not ended yet.
    Complete,
    /// Early, at the size where a rule ended it.
    Early {
        /// Whether the β rule fired there.
        fired: bool,
    },
}

impl StopRule {
    /// Its entry in the list; none for a fixed size and for no rule.
    pub fn entry(self) -> Option<&'static Rule> {
        RULES.iter().find(|entry| entry.rule == self)
    }

    /// The name in files and on the command line.
    pub fn name(self) -> String {
        match (self, self.entry()) {
            (_, Some(entry)) => entry.name.to_owned(),
            (Self::Size(size), None) => size.to_string(),
            (_, None) => "none".to_owned(),
        }
    }

    /// The name in a heading or a legend.
    pub fn label(self) -> String {
        match (self, self.entry()) {
            (_, Some(entry)) => entry.label.to_owned(),
            (Self::Size(size), None) => format!("fixed size {size}"),
            (_, None) => "no rule".to_owned(),
        }
    }

    /// The rules that read a path alone: they cost no fit, so they are shown beside any other.
    pub fn of_paths() -> impl Iterator<Item = &'static Rule> {
        RULES.iter().filter(|entry| matches!(entry.chooses, Chooses::ByPath(_)))
    }
}

impl std::str::FromStr for StopRule {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(entry) = RULES.iter().find(|entry| entry.name == text) {
            return Ok(entry.rule);
        }
        match text.parse() {
            _ if text == "none" => Ok(Self::None),
            Ok(size) if size > 0 => Ok(Self::Size(size)),
            _ => {
                let names: Vec<&str> = RULES.iter().map(|entry| entry.name).collect();
                Err(format!("write {}, none or a number of features, at least 1", names.join(", ")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_read_by_its_name_and_has_its_own_mark() {
        for entry in &RULES {
            assert_eq!(entry.name.parse(), Ok(entry.rule));
            assert_eq!(entry.rule.name(), entry.name);
            let alike = RULES
                .iter()
                .filter(|other| other.letter == entry.letter || other.label == entry.label);
            assert_eq!(alike.count(), 1, "{}", entry.name);
        }
        for other in [StopRule::None, StopRule::Size(7)] {
            assert_eq!(other.name().parse(), Ok(other));
            assert!(other.entry().is_none());
        }
        assert!("0".parse::<StopRule>().is_err() && "Knee".parse::<StopRule>().is_err());
    }
}
