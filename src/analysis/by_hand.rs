//! What a person set on the screen in place of the run's own: a size, k and ψ. Results under it are
//! not those of the run.

use std::sync::Arc;

use crate::error::Result;
use crate::run::{RunInfo, RunOptions, RunSpec};
use crate::select::{BetaRule, StopRule};

/// What was set by hand, after the results had been seen.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ByHand {
    /// The size that was taken as the answer.
    pub size: Option<usize>,
    /// The β rule, if it is not that of the run.
    pub rule: Option<BetaRule>,
}

impl ByHand {
    /// What differs from the run. A path that the rule itself ended (`--early`) has only the rule's
    /// own k and ψ.
    pub fn new(spec: &RunSpec, rule: BetaRule, size: Option<usize>) -> Self {
        Self { size, rule: Some(rule).filter(|&rule| spec.beta_rule != rule && !spec.early) }
    }

    /// The run with these settings. A size that was chosen by hand was tested by no fold.
    pub fn applied(&self, info: &Arc<RunInfo>) -> Result<Arc<RunInfo>> {
        if *self == Self::default() {
            return Ok(info.clone());
        }
        let mut options: RunOptions = info.spec.clone().into();
        options.stop = self.size.map_or(options.stop, StopRule::Size);
        options.beta_rule = self.rule.unwrap_or(options.beta_rule);
        let folds = if self.size.is_some() { 0 } else { info.folds };
        Ok(Arc::new(RunInfo { spec: options.check()?, folds, ..(**info).clone() }))
    }

    /// A name for results under these settings: `size_6`, `k_3_window_0.4`; none if they are the
    /// run's own.
    pub fn name(&self) -> Option<String> {
        let size = self.size.map(|size| format!("size_{size}"));
        let rule = self.rule.map(|rule| format!("k_{}_window_{}", rule.sigma, rule.window));
        let parts: Vec<String> = size.into_iter().chain(rule).collect();
        (!parts.is_empty()).then(|| parts.join("_"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_the_run_has_a_name() {
        let spec = RunOptions::default().check().unwrap();
        let slid = BetaRule { sigma: 2.5, window: 0.45 };
        let name = |spec: &RunSpec, rule, size| ByHand::new(spec, rule, size).name();
        assert_eq!(name(&spec, spec.beta_rule, None), None);
        assert_eq!(name(&spec, spec.beta_rule, Some(6)).unwrap(), "size_6");
        assert_eq!(name(&spec, slid, None).unwrap(), "k_2.5_window_0.45");
        assert_eq!(name(&spec, slid, Some(6)).unwrap(), "size_6_k_2.5_window_0.45");
        let options = RunOptions { early: true, stop: StopRule::Beta, ..RunOptions::default() };
        assert_eq!(name(&options.check().unwrap(), slid, None), None);
    }
}
