//! What an answer is asked for: a rule with k and ψ, or a size that a person takes in its place.

use serde::Serialize;

use crate::run::{RunInfo, RunOptions, Trace};
use crate::select::{BetaRule, StopRule, Stopping};

/// What a person or the settings chose.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Choice {
    /// The rule that chooses the size.
    pub rule: StopRule,
    /// The size that was taken instead, after the results had been seen.
    pub size: Option<usize>,
    /// k and ψ of the β rule.
    pub beta: BetaRule,
}

impl Choice {
    /// What the settings of a run choose.
    pub fn of(options: &RunOptions) -> Self {
        Self { rule: options.stop, size: None, beta: options.beta_rule }
    }

    /// The same with a size and with k and ψ that were set by hand. A path that the rule itself
    /// ended (`--early`) has only the rule's own k and ψ.
    pub fn by_hand(options: &RunOptions, size: Option<usize>, beta: BetaRule) -> Self {
        let own = Self::of(options);
        Self { size, beta: if options.early { own.beta } else { beta }, ..own }
    }

    /// The rule, or the size in its place.
    pub fn stop(&self) -> StopRule {
        self.size.map_or(self.rule, StopRule::Size)
    }

    /// The options of a new run that chooses the same from the start.
    pub fn options(&self, of_run: &RunOptions) -> RunOptions {
        RunOptions { stop: self.stop(), beta_rule: self.beta, ..of_run.clone() }
    }

    /// A name for results of this choice: `size_6`, `k_3_window_0.4`; none if it is the run's own.
    pub fn name(&self, of_run: &RunOptions) -> Option<String> {
        let size = self.size.map(|size| format!("size_{size}"));
        let BetaRule { sigma, window } = self.beta;
        let beta = (self.beta != of_run.beta_rule).then(|| format!("k_{sigma}_window_{window}"));
        let parts: Vec<String> = size.into_iter().chain(beta).collect();
        (!parts.is_empty()).then(|| parts.join("_"))
    }

    /// The β rule's test at a step of a path, with this k and ψ.
    pub fn beta_test(&self, info: &RunInfo, trace: &Trace, t: usize) -> Option<Stopping> {
        if self.beta == info.spec.beta_rule {
            return trace.steps().get(t)?.stop;
        }
        trace.beta_test(t, &self.beta, info.units.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_the_run_has_a_name() {
        let options = RunOptions::default();
        let slid = BetaRule { sigma: 2.5, window: 0.45 };
        let name =
            |options: &RunOptions, beta, size| Choice::by_hand(options, size, beta).name(options);
        assert_eq!(name(&options, options.beta_rule, None), None);
        assert_eq!(name(&options, options.beta_rule, Some(6)).unwrap(), "size_6");
        assert_eq!(name(&options, slid, None).unwrap(), "k_2.5_window_0.45");
        assert_eq!(name(&options, slid, Some(6)).unwrap(), "size_6_k_2.5_window_0.45");
        let early = RunOptions { early: true, stop: StopRule::Beta, ..RunOptions::default() };
        assert_eq!(name(&early, slid, None), None);
    }
}
