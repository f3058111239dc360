//! The cv rule: what scikit-learn's RFECV chooses. It needs models of its own, so the run makes
//! them and records the size.

use super::{Chooses, Rule, StopRule};

/// The entry in the list of rules.
pub const RULE: Rule = Rule {
    rule: StopRule::Cv,
    name: "cv",
    symbol: "cv",
    label: "cv rule",
    letter: "C",
    prose: |_| "five-fold cross-validated accuracy of RFE".to_owned(),
    chooses: Chooses::ByRun(|sizes| sizes.cv),
};
