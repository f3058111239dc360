//! Facts for a screen that is drawn often: each is computed when it is asked for and stale, for the
//! method in focus.

use std::ops::Deref;

use super::answer::Grounds;
use super::{
    Choice, History, MeanRanks, MethodAnswer, Pair, Paths, RankTable, RuleSize, SizeDifferences,
    cautions,
};
use crate::evaluate::{Agreement, Kept, Similarity};
use crate::run::{Kind, RunInfo};
use crate::select::{BetaRule, Chooses, Method, RULES, Rule, StopRule};

/// A fact, and what it was computed for.
#[derive(Debug)]
pub struct Cached<K, T> {
    key: Option<K>,
    fact: T,
}

impl<K, T: Default> Default for Cached<K, T> {
    fn default() -> Self {
        Self { key: None, fact: T::default() }
    }
}

impl<K, T> Deref for Cached<K, T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.fact
    }
}

impl<K: PartialEq, T> Cached<K, T> {
    /// Computes the fact anew unless it was computed for the same.
    pub fn refresh(&mut self, key: K, compute: impl FnOnce() -> T) {
        if self.key.as_ref() != Some(&key) {
            self.fact = compute();
            self.key = Some(key);
        }
    }

    /// Has it computed anew the next time.
    fn forget(&mut self) {
        self.key = None;
    }
}

/// The finished tasks of a method, as they are counted: another number is another state of the run.
type Finished = (Method, u64);

/// What is known of the method in focus.
#[derive(Debug, Default)]
pub struct MethodCache {
    pub ranks: Cached<Finished, MeanRanks>,
    /// Where each rule stops, with k and ψ as they are slid.
    pub stops: Cached<(Finished, BetaRule), Stops>,
    /// The size of each rule that reads curves over all splits.
    pub of_curves: Cached<Finished, Vec<(&'static Rule, Option<usize>)>>,
    /// What is known whatever the size.
    grounds: Cached<(Finished, Choice), Option<Grounds>>,
    /// The answer to what is chosen now.
    pub answer: Cached<(Finished, Choice), Option<MethodAnswer>>,
    /// What concerns the whole run.
    pub run_cautions: Cached<(u64, usize), Vec<String>>,
    /// All removable units by how many splits keep them at the size of the answer.
    pub frequency: Cached<(Finished, usize), Vec<Kept>>,
    /// The first two methods compared at a size.
    pub comparison: Cached<(u64, usize), Option<SizeDifferences>>,
    /// Agreement of the splits, by falling size.
    pub agreement: Cached<Finished, Vec<(usize, Agreement)>>,
    /// Similarity of the first two methods, by falling size.
    pub similarity: Cached<u64, Vec<(usize, Similarity)>>,
}

/// Where the rules that read a path stop, on each finished split.
#[derive(Debug, Default)]
pub struct Stops {
    pub rules: Vec<&'static Rule>,
    /// For each finished split the size of each rule.
    pub splits: Vec<SplitSizes>,
    /// Their sizes over the splits, rule by rule.
    pub sizes: Vec<RuleSize>,
}

/// Where the rules stop on one split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitSizes {
    pub split: usize,
    /// Rule by rule; none where it never fires.
    pub sizes: Vec<Option<usize>>,
}

impl Stops {
    fn new(paths: &Paths<'_>, beta_rule: &BetaRule) -> Self {
        let rules: Vec<&'static Rule> = StopRule::of_paths().collect();
        let by_rule: Vec<Vec<Option<usize>>> =
            rules.iter().map(|entry| paths.sizes_by_split(entry.rule, beta_rule)).collect();
        let visited = paths.visited_sizes();
        let sizes = rules
            .iter()
            .zip(&by_rule)
            .map(|(entry, sizes)| paths.rule_size(entry.rule, sizes, &visited));
        let split = |(i, (split, _))| SplitSizes {
            split,
            sizes: by_rule.iter().map(|sizes| sizes[i]).collect(),
        };
        let sizes = sizes.collect();
        let splits: Vec<SplitSizes> = paths.splits().enumerate().map(split).collect();
        Self { rules, splits, sizes }
    }

    /// Where the rules stop on a split, each with its entry in the list.
    pub fn on(&self, split: usize) -> Vec<(&'static Rule, Option<usize>)> {
        let own = self.splits.iter().find(|own| own.split == split);
        let size = |rule: usize| own.and_then(|own| own.sizes[rule]);
        self.rules.iter().enumerate().map(|(i, &entry)| (entry, size(i))).collect()
    }
}

impl MethodCache {
    /// Every caution: those of the method's answer, then those of the run.
    pub fn cautions(&self) -> impl Iterator<Item = &String> {
        self.answer.iter().flat_map(|answer| &answer.cautions).chain(self.run_cautions.iter())
    }

    /// Mean ranks of these paths; `finished` counts the tasks that have ended.
    pub fn refresh_ranks(&mut self, paths: &Paths<'_>, finished: u64) {
        self.ranks.refresh((paths.method, finished), || RankTable::new(paths).means());
    }

    /// Where the rules stop.
    pub fn refresh_stops(&mut self, paths: &Paths<'_>, finished: u64, beta_rule: BetaRule) {
        let finished = (paths.method, finished);
        self.stops.refresh((finished, beta_rule), || Stops::new(paths, &beta_rule));
        self.of_curves.refresh(finished, || {
            let of_curves = RULES.iter().filter(|entry| matches!(entry.chooses, Chooses::BySplits));
            let size = |rule| paths.sizes_by_split(rule, &beta_rule).first().copied().flatten();
            of_curves.map(|entry| (entry, size(entry.rule))).collect()
        });
    }

    /// The answer to a choice.
    pub fn refresh_answer(
        &mut self,
        history: &History,
        paths: &Paths<'_>,
        finished: u64,
        choice: Choice,
    ) {
        // Permutations are many: the answer follows every twentieth or every half per cent of them,
        // and the last.
        let permutations = history.ended(Kind::Permutation);
        let of_all = paths.info.permutations * paths.info.spec.methods.len();
        let steps = permutations / (of_all / 200).max(20);
        let is_over = permutations == of_all;
        let followed = history.all_ended() - permutations + steps + usize::from(is_over);
        let finished_now = (paths.method, finished + followed as u64);
        // Twins come one list at a time, and change nothing but the list that they are of.
        if self.answer.as_ref().is_some_and(|answer| answer.lacks_twins(history)) {
            self.answer.forget();
        }
        let of_rule = Choice { size: None, ..choice };
        self.grounds.refresh((finished_now, of_rule), || {
            (!paths.is_empty()).then(|| Grounds::new(history, paths, &choice))
        });
        let grounds = self.grounds.as_ref();
        self.answer.refresh((finished_now, choice), || {
            Some(MethodAnswer::new(history, paths, &choice, grounds?))
        });
        let state = (finished, history.failed().len() + history.all_ended());
        self.run_cautions.refresh(state, || cautions::of_run(history, paths.info));
        // Without a size the order is that of the best few.
        let size = self.answer.as_ref().and_then(|answer| answer.chosen.size).unwrap_or(1);
        self.frequency.refresh(((paths.method, finished), size), || paths.by_frequency(size));
    }

    /// The first two methods at a size, on the splits that both have finished.
    pub fn refresh_comparison(
        &mut self,
        history: &History,
        info: &RunInfo,
        finished: u64,
        size: usize,
    ) {
        self.comparison.refresh((finished, size), || {
            Pair::all(history, info).first().and_then(|pair| pair.comparison(size))
        });
    }

    /// Agreement of the splits, and of the first two methods.
    pub fn refresh_agreement(&mut self, history: &History, paths: &Paths<'_>, finished: u64) {
        self.agreement.refresh((paths.method, finished), || paths.agreement(&paths.common_sizes()));
        self.similarity.refresh(finished, || {
            let pairs = Pair::all(history, paths.info);
            pairs.first().map_or_else(Vec::new, |pair| pair.similarity(&pair.sizes()))
        });
    }
}
