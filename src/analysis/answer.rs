//! One list a person can use: for each method the size, the features, what subsets of this size achieved, and every caution.

use serde::Serialize;

use super::{ByChance, History, Metric, Paths, RuleSize, Tested, cautions, coverage_band};
use crate::evaluate::{Spread, normalised_inefficiency};
use crate::select::{BetaRule, Method, StopRule};

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
    /// How the whole procedure did on rows that it never saw.
    pub tested: Option<Tested>,
    /// What chance selects at this size.
    pub by_chance: Option<ByChance>,
    /// What the splits' own subsets of this size achieved on their test rows.
    pub achieved: Option<Achieved>,
    /// Nogueira's stability of the splits' subsets of this size, with its 95 % interval.
    pub stability: Option<f64>,
    /// The interval of the stability.
    pub stability_interval: Option<(f64, f64)>,
    /// What concerns this method.
    pub cautions: Vec<String>,
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
    /// Fewer than half of the splits keep it: another split may well choose another in its place.
    pub exchangeable: bool,
    /// p adjusted for all features: how often permuted labels give some feature so many splits.
    pub adjusted_p: Option<f64>,
}

/// Means over the splits' own subsets. Where the size was chosen on test rows, that of each split comes from the other splits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Achieved {
    /// Whether each split was measured at the size that the other splits choose.
    pub leave_one_split_out: bool,
    /// Mean coverage.
    pub coverage: f64,
    /// 95 % band of one split's coverage, where there is one.
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
                .map(|method| MethodAnswer::new(history, &Paths::new(history, info, method), &spec.beta_rule))
                .collect(),
            cautions: cautions::of_run(history, info),
        })
    }

    /// The features of the first method: what selected.txt holds.
    pub fn selected(&self) -> &[ChosenFeature] {
        self.methods.first().map_or(&[], |method| &method.features)
    }
}

impl MethodAnswer {
    /// Reads it off the finished paths of a method, with any k and ψ of the β rule.
    pub fn new(history: &History, paths: &Paths<'_>, beta_rule: &BetaRule) -> Self {
        let (info, rule) = (paths.info, paths.info.spec.stop);
        let visited = paths.visited_sizes();
        let size_of = |rule| paths.rule_size(rule, &paths.sizes_by_split(rule, beta_rule), &visited);
        let chosen = size_of(rule);
        let others = StopRule::of_paths().map(|entry| entry.rule).filter(|&other| other != rule);
        let agreement = chosen.size.and_then(|size| paths.agreement(&[size]).first().map(|(_, at)| *at));
        let stability = agreement.and_then(|at| at.nogueira);
        let tested = Tested::new(history, info, paths.method);
        let by_chance = chosen.size.and_then(|size| ByChance::new(history, paths, size));
        let features = chosen.size.map_or_else(Vec::new, |size| features(paths, size, by_chance.as_ref()));
        let concern = cautions::Concern {
            paths,
            chosen: &chosen,
            stability,
            tested: tested.as_ref().and_then(|tested| tested.performance.as_ref()),
            by_chance: by_chance.as_ref(),
            features: &features,
        };
        let cautions = cautions::of_method(&concern);
        Self {
            method: paths.method,
            splits: paths.len(),
            beside: others.map(size_of).collect(),
            achieved: chosen.size.and_then(|size| Achieved::new(paths, size)),
            stability,
            stability_interval: agreement.and_then(|at| Some((at.nogueira_lo?, at.nogueira_hi?))),
            cautions,
            features,
            tested,
            by_chance,
            chosen,
        }
    }

    /// The 95 % band of one split's coverage, where there is one.
    pub fn coverage_band(&self) -> Option<(f64, f64)> {
        self.achieved.as_ref()?.coverage_band
    }

    /// Whether the splits agree too little for a short list.
    pub fn is_unstable(&self) -> bool {
        self.stability.is_some_and(|stability| stability < cautions::POOR_STABILITY)
    }
}

/// The most frequent at this size, ties by mean rank, then the kept ones.
fn features(paths: &Paths<'_>, size: usize, by_chance: Option<&ByChance>) -> Vec<ChosenFeature> {
    let (info, splits) = (paths.info, paths.len());
    let by_frequency = paths.by_frequency(size);
    let removable = by_frequency.iter().take(size.saturating_sub(info.kept())).map(|kept| ChosenFeature {
        name: info.units[kept.unit].name.clone(),
        mean_rank: Some(kept.mean_rank),
        count: kept.count,
        frequency: kept.count as f64 / splits as f64,
        exchangeable: 2 * kept.count < splits,
        adjusted_p: by_chance.map(|chance| chance.adjusted_p(kept.count)),
    });
    let kept = info.units.iter().filter(|unit| unit.kept).map(|unit| ChosenFeature {
        name: unit.name.clone(),
        mean_rank: None,
        count: splits,
        frequency: 1.0,
        exchangeable: false,
        adjusted_p: None,
    });
    removable.chain(kept).collect()
}

impl Achieved {
    fn new(paths: &Paths<'_>, size: usize) -> Option<Self> {
        let (info, parts) = (paths.info, paths.traces().next()?.parts());
        let leave_one_split_out = info.spec.stop == StopRule::OneSe && paths.len() > 1;
        let sizes: Vec<usize> = if leave_one_split_out {
            paths.left_out_sizes().into_iter().map(|left_out| left_out.unwrap_or(size)).collect()
        } else {
            vec![size; paths.len()]
        };
        let spread = |metric: Metric| {
            let steps = paths.traces().zip(&sizes).filter_map(|(trace, &size)| trace.at_size(size));
            Spread::of(&steps.map(|step| metric.value(&step.tally)).collect::<Vec<f64>>())
        };
        let (inefficiency, accuracy) = (spread(Metric::Inefficiency)?, spread(Metric::Accuracy)?);
        Some(Self {
            leave_one_split_out,
            coverage: spread(Metric::Coverage)?.mean,
            coverage_band: coverage_band(&info.spec, parts).map(|band| (band.lo, band.hi)),
            inefficiency: inefficiency.mean,
            inefficiency_sd: inefficiency.sd,
            inefficiency_normalised: normalised_inefficiency(inefficiency.mean, info.classes.len()),
            accuracy: accuracy.mean,
            accuracy_sd: accuracy.sd,
        })
    }
}
