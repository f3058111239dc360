//! The 1se rule: the smallest size that is as good as the best, within one standard error
//! (docs/method.md section 11). It compares what the splits achieved, so it is computed where that
//! is known: see `evaluate::Procedure`.

use super::{Chooses, Rule, StopRule};

/// The entry in the list of rules.
pub const RULE: Rule = Rule {
    rule: StopRule::OneSe,
    name: "1se",
    symbol: "1se",
    label: "1se rule",
    letter: "1",
    prose: |_| {
        "the smallest size whose paired difference from the best size, over splits, is within one standard error".to_owned()
    },
    chooses: Chooses::BySplits,
};
