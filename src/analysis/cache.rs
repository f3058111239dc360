//! Facts for a screen that is drawn often: each is computed when it is asked for and stale, for the method in focus.

use std::ops::Deref;

use super::{History, MeanRanks, MethodAnswer, Pair, Paths, RankTable, RuleSize};
use crate::evaluate::{Agreement, Similarity};
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
}

/// The finished tasks of a method, as they are counted: another number is another state of the run.
type Finished = (Method, u64);

/// What is known of the method in focus.
#[derive(Debug, Default)]
pub struct Facts {
    /// Mean ranks.
    pub ranks: Cached<Finished, MeanRanks>,
    /// Where each rule stops, with k and ψ as they are slid.
    pub stops: Cached<(Finished, BetaRule), Stops>,
    /// The size of each rule that reads curves over all splits.
    pub of_curves: Cached<Finished, Vec<(&'static Rule, Option<usize>)>>,
    /// The answer, with k and ψ as they are slid.
    pub answer: Cached<(Finished, Option<BetaRule>), Option<MethodAnswer>>,
    /// Agreement of the splits, by falling size.
    pub agreement: Cached<Finished, Vec<(usize, Agreement)>>,
    /// Similarity of the first two methods, by falling size.
    pub similarity: Cached<u64, Vec<(usize, Similarity)>>,
}

/// Where the rules that read a path stop, on each finished split.
#[derive(Debug, Default)]
pub struct Stops {
    /// The rules.
    pub rules: Vec<&'static Rule>,
    /// For each finished split the size of each rule.
    pub splits: Vec<SplitSizes>,
    /// Their sizes over the splits, rule by rule.
    pub sizes: Vec<RuleSize>,
    /// The units that some rule chose on some split, the most frequent first.
    pub chosen: Vec<ChosenUnit>,
}

/// Where the rules stop on one split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitSizes {
    /// The split.
    pub split: usize,
    /// Rule by rule; none where it never fires.
    pub sizes: Vec<Option<usize>>,
}

/// A unit, and in how many splits' own subsets it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChosenUnit {
    /// The unit.
    pub unit: usize,
    /// Rule by rule.
    pub counts: Vec<usize>,
}

impl Stops {
    fn new(paths: &Paths<'_>, beta_rule: &BetaRule) -> Self {
        let rules: Vec<&'static Rule> = StopRule::of_paths().collect();
        let by_rule: Vec<Vec<Option<usize>>> =
            rules.iter().map(|entry| paths.sizes_by_split(entry.rule, beta_rule)).collect();
        let visited = paths.visited_sizes();
        let sizes =
            rules.iter().zip(&by_rule).map(|(entry, sizes)| paths.rule_size(entry.rule, sizes, &visited));
        let split =
            |(i, (split, _))| SplitSizes { split, sizes: by_rule.iter().map(|sizes| sizes[i]).collect() };
        let sizes = sizes.collect();
        let splits: Vec<SplitSizes> = paths.splits().enumerate().map(split).collect();
        let chosen = chosen(&RankTable::new(paths), &splits, rules.len(), paths.info.units.len());
        Self { rules, splits, sizes, chosen }
    }

    /// Where the rules stop on a split, each with its entry in the list.
    pub fn on(&self, split: usize) -> Vec<(&'static Rule, Option<usize>)> {
        let own = self.splits.iter().find(|own| own.split == split);
        let size = |rule: usize| own.and_then(|own| own.sizes[rule]);
        self.rules.iter().enumerate().map(|(i, &entry)| (entry, size(i))).collect()
    }
}

fn chosen(ranks: &RankTable<'_>, splits: &[SplitSizes], rules: usize, units: usize) -> Vec<ChosenUnit> {
    let count = |unit: usize, rule: usize| {
        let holds = |(split, own): &(usize, &SplitSizes)| {
            own.sizes[rule].is_some_and(|size| ranks.survives(*split, unit, size))
        };
        splits.iter().enumerate().filter(holds).count()
    };
    let mut chosen: Vec<ChosenUnit> = (0..units)
        .map(|unit| ChosenUnit { unit, counts: (0..rules).map(|rule| count(unit, rule)).collect() })
        .filter(|chosen| chosen.counts.iter().any(|&count| count > 0))
        .collect();
    chosen.sort_by(|a, b| b.counts.cmp(&a.counts).then(a.unit.cmp(&b.unit)));
    chosen
}

impl Facts {
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

    /// The answer; k and ψ change it only under the β rule.
    pub fn refresh_answer(
        &mut self,
        history: &History,
        paths: &Paths<'_>,
        finished: u64,
        beta_rule: BetaRule,
    ) {
        let slid = (paths.info.spec.stop == StopRule::Beta).then_some(beta_rule);
        let compute = || (!paths.is_empty()).then(|| MethodAnswer::new(history, paths, &beta_rule));
        // Permutations are many: the answer follows every twentieth, and the last.
        let (folds, permutations) = history.followups_by_kind();
        let is_over = permutations == paths.info.permutations * paths.info.spec.methods.len();
        let followed = folds + permutations / 20 + usize::from(is_over);
        self.answer.refresh(((paths.method, finished + followed as u64), slid), compute);
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
