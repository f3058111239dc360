//! One task's steps, and what follows from them: ranks, subsets, the size each rule would choose.

use std::sync::Arc;

use super::{EndReason, EventKind, Parts, Step};
use crate::evaluate::{FinishedPath, Tally};
use crate::select::{BetaRule, Chooses, PathEnd, PathPoints, RunSizes, StopRule, Stopping};

/// A path, finished or growing.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    parts: Parts,
    steps: Vec<Arc<Step>>,
    /// Mean β of every model: what the rules read.
    means: Vec<f64>,
    end: Option<End>,
    /// For each unit the step that removed it.
    removed_at: Vec<Option<u32>>,
    /// For each unit its rank, once the path has ended.
    ranks: Vec<Option<u32>>,
}

#[derive(Debug, Clone, PartialEq)]
struct End {
    reason: EndReason,
    rest: Vec<usize>,
    sizes: RunSizes,
}

impl Trace {
    /// An empty path over this many units.
    pub fn new(parts: Parts, units: usize) -> Self {
        Self {
            parts,
            steps: Vec::new(),
            means: Vec::new(),
            end: None,
            removed_at: vec![None; units],
            ranks: vec![None; units],
        }
    }

    /// Follows the events of one task over this many units, from its start.
    pub(super) fn follow(trace: &mut Option<Self>, units: usize, event: &EventKind) {
        match (event, trace) {
            (EventKind::TaskStarted(parts), trace) => {
                *trace = Some(Self::new(parts.clone(), units))
            }
            (EventKind::Step(step), Some(trace)) => trace.push(step.clone()),
            (EventKind::TaskFinished { reason, rest, sizes }, Some(trace)) => {
                trace.finish(*reason, rest.clone(), *sizes)
            }
            _ => {}
        }
    }

    /// Adds a step.
    pub fn push(&mut self, step: Arc<Step>) {
        for &unit in &step.removed {
            if let Some(at) = self.removed_at.get_mut(unit) {
                *at = Some(self.steps.len() as u32);
            }
        }
        self.means.push(step.beta_mean);
        self.steps.push(step);
    }

    /// Ends the path.
    pub fn finish(&mut self, reason: EndReason, rest: Vec<usize>, sizes: RunSizes) {
        self.end = Some(End { reason, rest, sizes });
        let order = self.order();
        for (i, &unit) in order.iter().enumerate() {
            if let Some(rank) = self.ranks.get_mut(unit) {
                *rank = Some((order.len() - i) as u32);
            }
        }
    }

    /// The β rule's test at a step, with any k and ψ; none while warming up, nor at the last model:
    /// it is made before a removal.
    pub fn beta_test(&self, t: usize, rule: &BetaRule, units: usize) -> Option<Stopping> {
        let step = self.steps.get(t).filter(|step| !step.removed.is_empty());
        step.and_then(|_| rule.test(&self.means[..=t], units))
    }

    /// Mean β of every model.
    pub fn beta_means(&self) -> &[f64] {
        &self.means
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
    pub fn reason(&self) -> Option<EndReason> {
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

    /// The removable units in the order of removal; the last survivors of a finished path at the
    /// end.
    pub fn order(&self) -> Vec<usize> {
        let removed = self.steps.iter().flat_map(|step| step.removed.iter().copied());
        removed.chain(self.end.iter().flat_map(|end| end.rest.iter().copied())).collect()
    }

    /// The rank of each unit: 1 is the last survivor; kept units (and those of an unfinished path)
    /// have none.
    pub fn ranks(&self) -> &[Option<u32>] {
        &self.ranks
    }

    /// The size that a rule that looks at this path alone chooses; `None` if it never fires or
    /// looks at other splits.
    pub fn stop(&self, rule: StopRule, beta_rule: &BetaRule, units: usize) -> Option<usize> {
        if let StopRule::Size(wanted) = rule {
            // Batches may skip the requested size: take the smallest visited size that is not below
            // it.
            return self.steps.iter().map(|step| step.size).filter(|&size| size >= wanted).min();
        }
        match rule.entry()?.chooses {
            Chooses::ByPath(choose) => {
                choose(&PathPoints { points: &self.path(), units, beta_rule, end: self.path_end() })
            }
            Chooses::ByRun(choose) => self.end.as_ref().and_then(|end| choose(&end.sizes)),
            Chooses::BySplits => None,
        }
    }

    fn path_end(&self) -> PathEnd {
        match self.reason() {
            Some(EndReason::Early) => {
                let fired = |step: &Arc<Step>| step.stop.is_some_and(|stop| stop.fired);
                PathEnd::Early { fired: self.steps.last().is_some_and(fired) }
            }
            _ => PathEnd::Complete,
        }
    }

    /// Steps whose fit did not converge.
    pub fn unconverged(&self) -> usize {
        self.steps.iter().filter(|step| !step.converged).count()
    }
}

impl FinishedPath for Trace {
    fn sizes(&self) -> Vec<usize> {
        self.steps.iter().map(|step| step.size).collect()
    }

    fn tally(&self, size: usize) -> Option<&Tally> {
        self.at_size(size).map(|step| &step.tally)
    }

    fn stop(&self, rule: StopRule, beta_rule: &BetaRule, units: usize) -> Option<usize> {
        self.stop(rule, beta_rule, units)
    }

    fn ranks(&self) -> &[Option<u32>] {
        self.ranks()
    }
}
