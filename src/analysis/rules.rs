//! Where the stopping rules stop: every rule of the list on every path, with any k and ψ of the β
//! rule.

use serde::Serialize;

use super::{Choice, Paths, Trace};
use crate::evaluate::{Kept, Procedure, Spread, median_size};
use crate::run::RunInfo;
use crate::select::{BetaRule, Chooses, RULES, StopRule};

/// The sizes a rule gives over the splits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleSize {
    #[serde(skip)]
    pub stop: StopRule,
    /// Its name.
    pub rule: String,
    /// The median over the splits on which it fired.
    pub size: Option<usize>,
    pub smallest: Option<usize>,
    pub largest: Option<usize>,
    /// Standard deviation.
    pub sd: Option<f64>,
    /// On how many splits it fired.
    pub fired: usize,
    /// Whether it removes nothing.
    #[serde(skip)]
    pub keeps_all: bool,
}

impl RuleSize {
    /// Of the sizes that a rule gives split by split; the median is one of the visited sizes.
    pub fn new(rule: StopRule, sizes: &[Option<usize>], visited: &[usize]) -> Self {
        let mut fired: Vec<usize> = sizes.iter().flatten().copied().collect();
        fired.sort_unstable();
        let values: Vec<f64> = fired.iter().map(|&size| size as f64).collect();
        Self {
            stop: rule,
            rule: rule.name(),
            size: median_size(fired.clone(), visited),
            smallest: fired.first().copied(),
            largest: fired.last().copied(),
            sd: Spread::of(&values).and_then(|spread| spread.sd),
            fired: fired.len(),
            keeps_all: false,
        }
    }

    /// The spread of a rule that gives one size for all splits: over the sizes without one split
    /// each.
    fn spread_over(&mut self, sizes: &[Option<usize>]) {
        let sizes: Vec<usize> = sizes.iter().flatten().copied().collect();
        let values: Vec<f64> = sizes.iter().map(|&size| size as f64).collect();
        (self.smallest, self.largest) = (sizes.iter().min().copied(), sizes.iter().max().copied());
        self.sd = Spread::of(&values).and_then(|spread| spread.sd);
    }

    /// All features, although no rule said so.
    fn of_all(self, units: usize) -> Self {
        Self { size: Some(units), smallest: Some(units), largest: Some(units), sd: None, ..self }
    }

    /// The size in words, with its spread and on how many of the splits the rule fired.
    pub fn value_words(&self, splits: usize) -> String {
        let Some(size) = self.size else {
            return match self.stop {
                StopRule::None => "none was asked for; ranking.csv has the order".to_owned(),
                StopRule::OneSe => "none stands out".to_owned(),
                _ => "never fired".to_owned(),
            };
        };
        let (lo, hi) = (self.smallest.unwrap_or(size), self.largest.unwrap_or(size));
        let fired = match self.fired {
            fired if fired < splits => format!(", fired on {fired} of {splits} splits"),
            _ => String::new(),
        };
        match self.stop {
            _ if self.is_of_all() => format!("{size}, nothing to eliminate"),
            StopRule::Size(_) => format!("{size}, as asked for"),
            StopRule::OneSe if (lo, hi) == (size, size) => {
                format!("{size}, whichever split is left out")
            }
            StopRule::OneSe if lo == hi => format!("{size}, or {lo} if a split is left out"),
            StopRule::OneSe => format!("{size}, or {lo} to {hi} if a split is left out"),
            _ if lo == hi => format!("{size}{fired}"),
            _ => format!("median {size}, range {lo} to {hi}{fired}"),
        }
    }

    /// Whether it gives all features because there was nothing to eliminate.
    pub fn is_of_all(&self) -> bool {
        self.fired == 0 && self.size.is_some()
    }
}

/// The rules of which a run knows the sizes: all that need no models of their own, and what was
/// chosen.
pub fn known_rules(choice: &Choice) -> Vec<StopRule> {
    let computed = RULES.iter().filter(|entry| !matches!(entry.chooses, Chooses::ByRun(_)));
    let mut rules: Vec<StopRule> = computed.map(|entry| entry.rule).collect();
    let chosen = std::iter::once(choice.rule).chain(choice.size.map(StopRule::Size));
    let is_new = |rule: &StopRule| !rules.contains(rule) && *rule != StopRule::None;
    let chosen: Vec<StopRule> = chosen.filter(is_new).collect();
    rules.extend(chosen);
    rules
}

impl Paths<'_> {
    /// The size that a rule gives on each split.
    pub fn sizes_by_split(&self, rule: StopRule, beta_rule: &BetaRule) -> Vec<Option<usize>> {
        let units = self.info.units.len();
        match rule.entry().map(|entry| &entry.chooses) {
            Some(Chooses::BySplits) => {
                vec![self.procedure(rule, beta_rule).size(&self.all()); self.len()]
            }
            _ => self.traces().map(|trace| trace.stop(rule, beta_rule, units)).collect(),
        }
    }

    /// The sizes that a rule gives, summed up over the splits. Where there is nothing to eliminate,
    /// every rule gives all features: rules compare models, and there is only one.
    pub fn rule_size(
        &self,
        rule: StopRule,
        sizes: &[Option<usize>],
        visited: &[usize],
    ) -> RuleSize {
        let mut size = RuleSize::new(rule, sizes, visited);
        if rule == StopRule::OneSe {
            size.spread_over(&self.left_out_sizes());
        }
        let units = self.info.units.len();
        if nothing_to_eliminate(self.info) && rule != StopRule::None {
            size = size.of_all(units);
        }
        RuleSize { keeps_all: size.size == Some(units), ..size }
    }

    /// The size of a choice: the one that was taken, or that of the rule.
    pub fn chosen_size(&self, choice: &Choice) -> RuleSize {
        let visited = self.visited_sizes();
        match choice.size {
            Some(size) => {
                let sizes = vec![Some(size); self.len()];
                let keeps_all = size == self.info.units.len();
                RuleSize { keeps_all, ..RuleSize::new(StopRule::Size(size), &sizes, &visited) }
            }
            None => {
                let sizes = self.sizes_by_split(choice.rule, &choice.beta);
                self.rule_size(choice.rule, &sizes, &visited)
            }
        }
    }

    /// The procedure of the run with another rule.
    pub(super) fn procedure<'b>(
        &'b self,
        rule: StopRule,
        beta_rule: &'b BetaRule,
    ) -> Procedure<'b> {
        Procedure { rule, beta_rule, ..self.info.procedure() }
    }

    pub(super) fn all(&self) -> Vec<&Trace> {
        self.traces().collect()
    }

    /// The size of the 1se rule for each split, from the other splits alone.
    pub fn left_out_sizes(&self) -> Vec<Option<usize>> {
        self.info.procedure().one_se_sizes_without_each(&self.all())
    }

    /// All removable units with the number of splits that keep them at a size, most first.
    pub fn by_frequency(&self, size: usize) -> Vec<Kept> {
        self.info.procedure().by_frequency(&self.all(), size)
    }
}

fn nothing_to_eliminate(info: &RunInfo) -> bool {
    info.units.len() <= info.kept().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_leans_to_the_smaller_visited_size() {
        let sizes = [Some(3), Some(4), None, Some(9), Some(4)];
        let chosen = RuleSize::new(StopRule::Beta, &sizes, &(1..=9).collect::<Vec<_>>());
        assert_eq!(
            (chosen.size, chosen.smallest, chosen.largest, chosen.fired),
            (Some(4), Some(3), Some(9), 4)
        );
        let between =
            RuleSize::new(StopRule::Beta, &[Some(3), Some(4)], &(1..=4).collect::<Vec<_>>());
        assert_eq!(between.size, Some(3));
        assert_eq!(RuleSize::new(StopRule::Beta, &[None], &[1, 2]).size, None);
    }
}
