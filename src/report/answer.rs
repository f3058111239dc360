//! One list a person can use: for each method the size, the features, what subsets of this size achieved, and every caution.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::data::Level;
use crate::evaluate::{Spread, agreement_by_size, coverage_band, normalised_inefficiency};
use crate::history::{History, Trace};
use crate::run::{RunInfo, Step};
use crate::select::{BetaRule, Method, Score, StopRule, one_standard_error};

/// Below this Nogueira's stability is called poor (Nogueira, Sechidis and Brown 2018).
const POOR_STABILITY: f64 = 0.4;

/// The answer of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// The file.
    pub input: String,
    /// Rows with a class.
    pub rows: usize,
    /// Units.
    pub features: usize,
    /// Class labels.
    pub classes: Vec<String>,
    /// The class column.
    pub target: String,
    /// Splits asked for.
    pub splits: usize,
    /// strict or shared.
    pub calibration: String,
    /// 1 − ε.
    pub target_coverage: f64,
    /// Whether this coverage is guaranteed.
    pub guaranteed: bool,
    /// One for each method.
    pub methods: Vec<MethodAnswer>,
    /// What concerns the whole run.
    pub cautions: Vec<String>,
}

/// The answer of a method.
#[derive(Debug, Clone, Serialize)]
pub struct MethodAnswer {
    /// The method.
    pub method: Method,
    /// Finished splits.
    pub splits: usize,
    /// The size that the chosen rule gives.
    pub chosen: RuleSize,
    /// What other rules give.
    pub beside: Vec<RuleSize>,
    /// The features, best first; kept ones at the end.
    pub features: Vec<ChosenFeature>,
    /// What the splits' own subsets of this size achieved; this list itself was not tested.
    pub achieved: Option<Achieved>,
    /// Nogueira's stability of the splits' subsets of this size.
    pub stability: Option<f64>,
    /// What concerns this method.
    pub cautions: Vec<String>,
}

/// The sizes a rule gives over the splits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuleSize {
    /// The rule.
    pub rule: String,
    /// The median over the splits on which it fired.
    pub size: Option<usize>,
    /// The smallest.
    pub smallest: Option<usize>,
    /// The largest.
    pub largest: Option<usize>,
    /// Standard deviation.
    pub sd: Option<f64>,
    /// On how many splits it fired.
    pub fired: usize,
}

/// A feature of the answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChosenFeature {
    /// Its name.
    pub name: String,
    /// Mean rank over splits; none for a kept one.
    pub mean_rank: Option<f64>,
    /// In how many splits it is in the subset of this size.
    pub count: usize,
    /// The same as a share.
    pub frequency: f64,
}

/// Means over the splits' own subsets of the chosen size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Achieved {
    /// Mean coverage.
    pub coverage: f64,
    /// 95 % band of one split's coverage; none under Mondrian, where it is by class, nor for other p-values.
    pub coverage_band: Option<(f64, f64)>,
    /// Mean set size.
    pub inefficiency: f64,
    /// Its standard deviation over splits.
    pub inefficiency_sd: Option<f64>,
    /// (N − 1)/(m − 1).
    pub inefficiency_normalised: f64,
    /// Mean accuracy.
    pub accuracy: f64,
    /// Its standard deviation over splits.
    pub accuracy_sd: Option<f64>,
}

impl Answer {
    /// Reads the answer off a history; `None` before the run has started.
    pub fn new(history: &History) -> Option<Self> {
        let info = history.info()?;
        let spec = &info.spec;
        Some(Self {
            input: info.input.clone(),
            rows: info.rows,
            features: info.units.len(),
            classes: info.classes.clone(),
            target: info.target.clone(),
            splits: info.splits,
            calibration: spec.split.calibration.to_string(),
            target_coverage: 1.0 - spec.epsilon,
            guaranteed: spec.guaranteed(),
            methods: history
                .methods()
                .into_iter()
                .map(|method| MethodAnswer::new(history, info, method, &spec.beta_rule))
                .collect(),
            cautions: run_cautions(history, info),
        })
    }

    /// The features of the first method: what selected.txt holds.
    pub fn selected(&self) -> &[ChosenFeature] {
        self.methods.first().map_or(&[], |method| &method.features)
    }
}

fn run_cautions(history: &History, info: &RunInfo) -> Vec<String> {
    let mut cautions = Vec::new();
    if !info.spec.guaranteed() {
        cautions.push(
            "guarantee void: the features were chosen on rows that also calibrate, or p-values were not the valid ones; \
             coverage may fall below its target"
                .to_owned(),
        );
    }
    if info.splits == 1 {
        cautions.push(
            "one split cannot show how stable the selection is: another may choose other features; use more --splits"
                .to_owned(),
        );
    }
    cautions.extend(info.audit.at(Level::Warning).map(str::to_owned));
    let failed = history.failed();
    if let Some((task, message)) = failed.first_key_value() {
        let others =
            if failed.len() > 1 { format!(" (and {} more tasks)", failed.len() - 1) } else { String::new() };
        cautions.push(format!("{task}{others} failed: {message}"));
    }
    cautions
}

/// The size each rule gives on each of the finished splits of a method.
pub fn sizes_by_split(
    history: &History,
    info: &RunInfo,
    method: Method,
    rule: StopRule,
) -> Vec<Option<usize>> {
    sizes_under(history, info, method, rule, &info.spec.beta_rule)
}

/// The same, with another k and ψ of the β rule.
fn sizes_under(
    history: &History,
    info: &RunInfo,
    method: Method,
    rule: StopRule,
    beta_rule: &BetaRule,
) -> Vec<Option<usize>> {
    let together = (rule == StopRule::OneSe).then(|| one_se(history, method)).flatten();
    let units = info.units.len();
    history
        .of_method(method)
        .map(|(_, trace)| if rule == StopRule::OneSe { together } else { trace.stop(rule, beta_rule, units) })
        .collect()
}

/// The 1se size, from mean inefficiencies over the splits.
pub fn one_se(history: &History, method: Method) -> Option<usize> {
    let curve: Vec<(usize, f64, f64)> = common_sizes(history, method)
        .into_iter()
        .filter_map(|size| {
            let values: Vec<f64> =
                at_size(history, method, size).map(|step| step.tally.metrics().inefficiency).collect();
            let Spread { mean, sd } = Spread::of(&values)?;
            Some((size, mean, sd.unwrap_or(0.0) / (values.len() as f64).sqrt()))
        })
        .collect();
    one_standard_error(&curve)
}

/// The sizes that every finished split of a method has visited, falling.
pub fn common_sizes(history: &History, method: Method) -> Vec<usize> {
    let mut traces = history.of_method(method).map(|(_, trace)| trace);
    let Some(first) = traces.next() else { return Vec::new() };
    let mut sizes: Vec<usize> = first.steps().iter().map(|step| step.size).collect();
    for trace in traces {
        sizes.retain(|&size| trace.at_size(size).is_some());
    }
    sizes
}

/// The sizes that some finished split of a method has visited; with `--early` not all paths go equally far.
pub fn visited_sizes(history: &History, method: Method) -> BTreeSet<usize> {
    history.of_method(method).flat_map(|(_, trace)| trace.steps()).map(|step| step.size).collect()
}

/// The steps of a method's finished splits at one size.
pub fn at_size(history: &History, method: Method, size: usize) -> impl Iterator<Item = &Step> {
    history.of_method(method).filter_map(move |(_, trace)| trace.at_size(size))
}

impl RuleSize {
    /// Of the sizes that a rule gives split by split; the median is one of the visited sizes.
    pub fn new(rule: StopRule, sizes: &[Option<usize>], visited: &BTreeSet<usize>) -> Self {
        let mut fired: Vec<usize> = sizes.iter().flatten().copied().collect();
        fired.sort_unstable();
        let values: Vec<f64> = fired.iter().map(|&size| size as f64).collect();
        Self {
            rule: rule.name(),
            size: median(&fired).and_then(|median| nearest(visited, median)),
            smallest: fired.first().copied(),
            largest: fired.last().copied(),
            sd: Spread::of(&values).and_then(|spread| spread.sd),
            fired: fired.len(),
        }
    }

    /// All features, although no rule said so.
    fn of_all(self, units: usize) -> Self {
        Self { size: Some(units), smallest: Some(units), largest: Some(units), sd: None, ..self }
    }

    /// In words: the rule, its size and how many of the splits it fired on; `none` if no rule was asked to choose.
    pub fn words(&self, none: &str, splits: usize) -> String {
        let name = match self.rule.as_str() {
            "beta" => "β rule",
            "none" => return none.to_owned(),
            "knee" | "1se" | "cv" => self.rule.as_str(),
            _ => return "fixed size".to_owned(),
        };
        if self.is_of_all() {
            return format!("{name}: nothing to eliminate");
        }
        match (self.size, self.smallest, self.largest) {
            (Some(size), Some(lo), Some(hi)) => {
                let is_partial = self.fired < splits;
                let fired =
                    if is_partial { format!(", fired on {} of {splits}", self.fired) } else { String::new() };
                format!("{name}: median {size}, range {lo} to {hi}{fired}")
            }
            _ => format!("{name}: never fired"),
        }
    }

    /// Whether it gives all features because there was nothing to eliminate.
    pub fn is_of_all(&self) -> bool {
        self.fired == 0 && self.size.is_some()
    }

    /// The rule's name in a sentence.
    pub fn in_words(&self) -> &str {
        if self.rule == "beta" { "β" } else { &self.rule }
    }
}

/// Whether a path is one model: rules compare models, so that none can fire, and the answer is all there is.
fn nothing_to_eliminate(info: &RunInfo) -> bool {
    info.units.len() <= info.kept().max(1)
}

/// The median of sorted sizes; between two, the smaller rounding.
fn median(sorted: &[usize]) -> Option<f64> {
    let n = sorted.len();
    (n > 0).then(|| (sorted[(n - 1) / 2] + sorted[n / 2]) as f64 / 2.0)
}

/// The visited size nearest to the median, the smaller on a tie.
fn nearest(visited: &BTreeSet<usize>, wanted: f64) -> Option<usize> {
    let distance = |size: usize| (size as f64 - wanted).abs();
    visited.iter().copied().min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)))
}

impl MethodAnswer {
    /// Reads it off a history, with any k and ψ of the β rule.
    pub fn new(history: &History, info: &RunInfo, method: Method, beta_rule: &BetaRule) -> Self {
        let traces: Vec<&Trace> = history.of_method(method).map(|(_, trace)| trace).collect();
        let visited = visited_sizes(history, method);
        let size_of = |rule| {
            let by_split = sizes_under(history, info, method, rule, beta_rule);
            let size = RuleSize::new(rule, &by_split, &visited);
            if nothing_to_eliminate(info) && rule != StopRule::None {
                size.of_all(info.units.len())
            } else {
                size
            }
        };
        let rule = info.spec.stop;
        let chosen = size_of(rule);
        let beside = [StopRule::Knee, StopRule::Beta]
            .into_iter()
            .filter(|&other| other != rule)
            .map(size_of)
            .collect();
        let subsets: Vec<Vec<usize>> = chosen
            .size
            .iter()
            .flat_map(|&size| traces.iter().map(move |trace| trace.subset(&info.units, size)))
            .collect();
        let ranks: Vec<_> = traces.iter().map(|trace| trace.ranks().to_vec()).collect();
        // Kept units are left out of the indices.
        let agreement = |size: usize| agreement_by_size(&ranks, &[size - info.kept()]).first()?.nogueira;
        let stability = chosen.size.and_then(agreement);
        let cautions = cautions(&traces, &chosen, rule, stability);
        Self {
            method,
            splits: traces.len(),
            features: chosen.size.map_or_else(Vec::new, |size| features(&traces, info, &subsets, size)),
            achieved: chosen.size.and_then(|size| Achieved::new(history, info, method, size)),
            stability,
            cautions,
            chosen,
            beside,
        }
    }
}

/// The best by mean rank, then the kept ones.
fn features(traces: &[&Trace], info: &RunInfo, subsets: &[Vec<usize>], size: usize) -> Vec<ChosenFeature> {
    let mut sums = vec![0.0; info.units.len()];
    for trace in traces {
        for (sum, rank) in sums.iter_mut().zip(trace.ranks()) {
            *sum += rank.map_or(0.0, f64::from);
        }
    }
    let splits = traces.len() as f64;
    let (kept, mut order): (Vec<usize>, Vec<usize>) =
        (0..info.units.len()).partition(|&unit| info.units[unit].kept);
    order.sort_by(|&a, &b| sums[a].total_cmp(&sums[b]).then(a.cmp(&b)));
    order.truncate(size.saturating_sub(kept.len()));
    let chosen = |unit: usize| {
        let count = subsets.iter().filter(|subset| subset.binary_search(&unit).is_ok()).count();
        let mean_rank = (!info.units[unit].kept).then(|| sums[unit] / splits);
        ChosenFeature {
            name: info.units[unit].name.clone(),
            mean_rank,
            count,
            frequency: count as f64 / splits,
        }
    };
    order.into_iter().chain(kept).map(chosen).collect()
}

impl MethodAnswer {
    /// Why a feature is in the list although it is in no split's own subset; nothing if there is none such.
    pub fn of_no_split(&self) -> Option<String> {
        let size = self.chosen.size.filter(|_| self.features.iter().any(|feature| feature.count == 0))?;
        Some(format!(
            "In 0 splits: of all features it has one of the {size} best mean ranks, but no split by itself ranks it so high."
        ))
    }
}

impl Achieved {
    fn new(history: &History, info: &RunInfo, method: Method, size: usize) -> Option<Self> {
        let metrics: Vec<_> = at_size(history, method, size).map(|step| step.tally.metrics()).collect();
        let spread = |value: fn(&crate::evaluate::Metrics) -> f64| {
            Spread::of(&metrics.iter().map(value).collect::<Vec<f64>>())
        };
        let (inefficiency, accuracy) = (spread(|m| m.inefficiency)?, spread(|m| m.accuracy)?);
        let parts = history.of_method(method).map(|(_, trace)| trace.parts()).next()?;
        let rows = |counts: &[usize]| counts.iter().sum::<usize>();
        let band = coverage_band(rows(&parts.test), rows(&parts.conformal), info.spec.epsilon);
        Some(Self {
            coverage: spread(|m| m.coverage)?.mean,
            coverage_band: band
                .filter(|_| has_band(info) && !info.spec.mondrian)
                .map(|band| (band.lo, band.hi)),
            inefficiency: inefficiency.mean,
            inefficiency_sd: inefficiency.sd,
            inefficiency_normalised: normalised_inefficiency(inefficiency.mean, info.classes.len()),
            accuracy: accuracy.mean,
            accuracy_sd: accuracy.sd,
        })
    }
}

/// The band is the distribution of plain valid p-values: with others there is none to show.
pub fn has_band(info: &RunInfo) -> bool {
    info.spec.score == Score::Weighted && !info.spec.smoothed
}

fn cautions(traces: &[&Trace], chosen: &RuleSize, rule: StopRule, stability: Option<f64>) -> Vec<String> {
    let mut cautions = Vec::new();
    let silent = traces.len() - chosen.fired;
    if rule != StopRule::None && silent > 0 && !chosen.is_of_all() {
        cautions.push(format!(
            "the {} rule never fired on {silent} of {} splits; they are left out of the size",
            chosen.in_words(),
            traces.len()
        ));
    }
    let reached =
        chosen.size.map_or(0, |size| traces.iter().filter(|trace| trace.at_size(size).is_some()).count());
    if chosen.size.is_some() && reached < traces.len() {
        cautions.push(format!(
            "--early ended {} of {} paths before this size; what was achieved is of the others",
            traces.len() - reached,
            traces.len()
        ));
    }
    if rule == StopRule::OneSe {
        cautions
            .push("size chosen on test rows: the coverage and accuracy beside it are optimistic".to_owned());
    }
    if let Some(stability) = stability.filter(|&stability| stability < POOR_STABILITY) {
        cautions.push(format!(
            "unstable selection: stability {stability:.2} (below {POOR_STABILITY} is poor); other splits choose other features"
        ));
    }
    let models: usize = traces.iter().map(|trace| trace.steps().len()).sum();
    let unconverged: usize = traces.iter().map(|trace| trace.unconverged()).sum();
    if unconverged > 0 {
        cautions.push(format!("the solver did not converge on {unconverged} of {models} models; see the column converged of trace.csv"));
    }
    cautions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_leans_to_the_smaller_visited_size() {
        let sizes = [Some(3), Some(4), None, Some(9), Some(4)];
        let chosen = RuleSize::new(StopRule::Beta, &sizes, &(1..=9).collect());
        assert_eq!(
            (chosen.size, chosen.smallest, chosen.largest, chosen.fired),
            (Some(4), Some(3), Some(9), 4)
        );
        let between = RuleSize::new(StopRule::Beta, &[Some(3), Some(4)], &(1..=4).collect());
        assert_eq!(between.size, Some(3));
        assert_eq!(RuleSize::new(StopRule::Beta, &[None], &(1..=2).collect()).size, None);
    }
}
