//! One task's steps, and what follows from them: ranks, subsets, the size each rule would choose.

use std::sync::Arc;

use crate::data::Unit;
use crate::run::{Parts, Reason, Step};
use crate::select::{BetaRule, StopRule, knee_rule};

/// A path, finished or growing.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    parts: Parts,
    steps: Vec<Arc<Step>>,
    end: Option<End>,
    /// For each unit the step that removed it.
    removed_at: Vec<Option<u32>>,
    /// For each unit its rank, once the path has ended.
    ranks: Vec<Option<u32>>,
}

#[derive(Debug, Clone, PartialEq)]
struct End {
    reason: Reason,
    rest: Vec<usize>,
    cv_size: Option<usize>,
}

impl Trace {
    /// A path over so many units that begins.
    pub fn new(parts: Parts, units: usize) -> Self {
        Self { parts, steps: Vec::new(), end: None, removed_at: vec![None; units], ranks: vec![None; units] }
    }

    /// Adds a step.
    pub fn push(&mut self, step: Arc<Step>) {
        for &unit in &step.removed {
            if let Some(at) = self.removed_at.get_mut(unit) {
                *at = Some(self.steps.len() as u32);
            }
        }
        self.steps.push(step);
    }

    /// Ends the path.
    pub fn finish(&mut self, reason: Reason, rest: Vec<usize>, cv_size: Option<usize>) {
        self.end = Some(End { reason, rest, cv_size });
        let order = self.order();
        for (i, &unit) in order.iter().enumerate() {
            if let Some(rank) = self.ranks.get_mut(unit) {
                *rank = Some((order.len() - i) as u32);
            }
        }
    }

    /// The β rule's test at every step, by another rule.
    pub fn test_again(&mut self, rule: &BetaRule, units: usize) {
        let means: Vec<f64> = self.steps.iter().map(|step| step.beta_mean).collect();
        for (t, step) in self.steps.iter_mut().enumerate() {
            // Tested before each removal, so not at the last model.
            let stop = if step.removed.is_empty() { None } else { rule.test(&means[..=t], units) };
            *step = Arc::new(Step { stop, ..(**step).clone() });
        }
    }

    /// The step (counted from 0) that removed a unit, so far.
    pub fn removed_at(&self, unit: usize) -> Option<usize> {
        self.removed_at.get(unit).copied().flatten().map(|step| step as usize)
    }

    /// Whether it has ended.
    pub fn finished(&self) -> bool {
        self.end.is_some()
    }

    /// Why it ended, once it has.
    pub fn reason(&self) -> Option<Reason> {
        self.end.as_ref().map(|end| end.reason)
    }

    /// How many rows the parts of its split have.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Its steps; sizes fall.
    pub fn steps(&self) -> &[Arc<Step>] {
        &self.steps
    }

    /// The step at which this many units were present.
    pub fn at_size(&self, size: usize) -> Option<&Step> {
        let index = self.steps.binary_search_by(|step| size.cmp(&step.size)).ok()?;
        Some(&self.steps[index])
    }

    /// (size, mean β) of every model: what the rules read.
    pub fn path(&self) -> Vec<(usize, f64)> {
        self.steps.iter().map(|step| (step.size, step.beta_mean)).collect()
    }

    /// The removable units in the order of removal; the last survivors of a finished path at the end.
    pub fn order(&self) -> Vec<usize> {
        let removed = self.steps.iter().flat_map(|step| step.removed.iter().copied());
        removed.chain(self.end.iter().flat_map(|end| end.rest.iter().copied())).collect()
    }

    /// The rank of each unit: 1 is the last survivor; kept units (and those of an unfinished path) have none.
    pub fn ranks(&self) -> &[Option<u32>] {
        &self.ranks
    }

    /// The units present at a size, ascending, kept ones included.
    pub fn subset(&self, units: &[Unit], size: usize) -> Vec<usize> {
        let order = self.order();
        let kept = units.iter().filter(|unit| unit.kept).count();
        let left = size.saturating_sub(kept).min(order.len());
        let mut subset: Vec<usize> = order[order.len() - left..].to_vec();
        subset.extend((0..units.len()).filter(|&unit| units[unit].kept));
        subset.sort_unstable();
        subset
    }

    /// The size that a rule that looks at this path alone chooses; `None` if it never fires or looks at other splits.
    pub fn stop(&self, rule: StopRule, beta_rule: &BetaRule, units: usize) -> Option<usize> {
        match rule {
            StopRule::Beta if self.reason() == Some(Reason::Early) => self.fired_early(),
            StopRule::Beta => beta_rule.size(&self.path(), units),
            // The knee needs the whole path.
            StopRule::Knee if self.reason() == Some(Reason::Early) => None,
            StopRule::Knee => knee_rule(&self.path(), units),
            // With batches the wanted size may be passed over: the smallest visited that is not below it.
            StopRule::Size(wanted) => {
                self.steps.iter().map(|step| step.size).filter(|&size| size >= wanted).min()
            }
            StopRule::Cv => self.end.as_ref().and_then(|end| end.cv_size),
            StopRule::OneSe | StopRule::None => None,
        }
    }

    /// Where a path that the β rule ended did end.
    fn fired_early(&self) -> Option<usize> {
        let last = self.steps.last()?;
        last.stop.is_some_and(|stop| stop.fired).then_some(last.size)
    }

    /// Steps whose fit did not converge.
    pub fn unconverged(&self) -> usize {
        self.steps.iter().filter(|step| !step.converged).count()
    }
}
