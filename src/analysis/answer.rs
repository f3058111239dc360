//! One list a person can use: for each method the size, the features, what subsets of this size
//! achieved, and every caution.

use serde::Serialize;

use super::{
    Achieved, ByChance, ChosenFeature, ClassAnswer, Comparison, Drift, History, Paths, RuleSize,
    Stability, StabilityBand, SubgroupCoverage, Tested, Transfer, Verdict, cautions,
    permutation_words,
};
use crate::select::{BetaRule, Method, StopRule};
use crate::svm::{Estimator, Gamma};

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
    /// The family of models.
    pub estimator: Estimator,
    /// The width of the kernel; only of kernel machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gamma: Option<Gamma>,
    /// The features that a linear path leaves; only of kernel machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefilter: Option<usize>,
    /// All three in words; nothing for linear machines.
    #[serde(skip)]
    pub models: Option<String>,
    /// 1 − ε.
    pub target_coverage: f64,
    /// Whether this coverage is guaranteed.
    pub guaranteed: bool,
    /// One for each method.
    pub methods: Vec<MethodAnswer>,
    /// Each pair of methods on the same splits.
    pub comparisons: Vec<Comparison>,
    /// How many permutations there are, and why.
    pub permutations: String,
    /// Whether rows come in groups, so that coverage is that of rows of new groups.
    pub grouped: bool,
    /// What concerns the whole run.
    pub cautions: Vec<String>,
}

/// The answer of a method.
#[derive(Debug, Clone, Serialize)]
pub struct MethodAnswer {
    pub method: Method,
    /// How far the data support the list.
    pub verdict: Verdict,
    /// The verdict in a sentence, to be read before the list.
    pub headline: String,
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
    /// How the procedure did on sites that it never saw.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
    /// Coverage by subgroup, the lowest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subgroups: Vec<SubgroupCoverage>,
    /// Whether the p-values of validated rows drift over time.
    pub drift: Option<Drift>,
    /// What chance selects at this size.
    pub by_chance: Option<ByChance>,
    /// What the splits' own subsets of this size achieved on their test rows.
    pub achieved: Option<Achieved>,
    /// Each class at this size, worst first.
    pub classes: Vec<ClassAnswer>,
    /// Nogueira's stability of the splits' subsets of this size.
    pub stability: Option<f64>,
    /// What this stability is called; nothing from fewer than five splits.
    pub stability_band: Option<StabilityBand>,
    /// Its 95 % interval; none from fewer than five splits.
    pub stability_interval: Option<(f64, f64)>,
    /// What concerns this method.
    pub cautions: Vec<String>,
}

impl Answer {
    /// Reads the answer off a history; `None` before the run has started.
    pub fn new(history: &History) -> Option<Self> {
        let info = history.info()?;
        let spec = &info.spec;
        let answer = |method| {
            MethodAnswer::new(history, &Paths::new(history, info, method), &spec.beta_rule)
        };
        let methods: Vec<MethodAnswer> = history.methods().into_iter().map(answer).collect();
        Some(Self {
            input: info.input.clone(),
            rows: info.rows,
            features: info.units.len(),
            classes: info.classes.clone(),
            target: info.target.clone(),
            splits: info.splits,
            calibration: spec.split.calibration.to_string(),
            estimator: spec.estimator,
            gamma: (spec.estimator == Estimator::Rbf).then_some(spec.gamma),
            prefilter: spec.prefilter.filter(|_| spec.estimator == Estimator::Rbf),
            models: spec.models(),
            target_coverage: 1.0 - spec.epsilon,
            guaranteed: spec.guaranteed(),
            comparisons: Comparison::of_methods(history, info, &methods),
            methods,
            permutations: permutation_words(info),
            grouped: spec.schema.group_col.is_some(),
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
        let rule = paths.info.spec.stop;
        let visited = paths.visited_sizes();
        let others = StopRule::of_paths().map(|entry| entry.rule).filter(|&other| other != rule);
        let size_of =
            |rule| paths.rule_size(rule, &paths.sizes_by_split(rule, beta_rule), &visited);
        let tested = Tested::new(history, paths.info, paths.method);
        let beside = others.map(size_of).collect();
        let chosen = paths.chosen_size(beta_rule);
        let mut answer = Self::with(history, paths, chosen, beside, tested);
        let drift = Drift::new(history, paths.info, paths.method);
        if history.size_is_by_hand() {
            return answer.by_hand(drift);
        }
        answer.transfer = Transfer::new(history, paths.info, paths.method);
        answer.cautions.extend(answer.transfer.iter().flat_map(Transfer::cautions));
        answer.subgroups = SubgroupCoverage::all(history, paths.info, paths.method);
        answer.cautions.extend(answer.subgroups.iter().filter_map(SubgroupCoverage::caution));
        answer.cautions.extend(drift.as_ref().and_then(Drift::caution));
        answer.drift = drift;
        answer
    }

    /// Whether twins of its features have been found since it was made.
    pub fn lacks_twins(&self, history: &History) -> bool {
        let is_new = |feature: &ChosenFeature| {
            feature.twins.is_none() && history.twins().of(feature.unit).is_some()
        };
        self.features.iter().any(is_new)
    }

    /// The answer at a size that a person takes instead: the list, its counts, stability and
    /// metrics follow. The validation tested the procedure at its own size, so there is no tested
    /// performance.
    pub fn at_size(&self, history: &History, paths: &Paths<'_>, size: usize) -> Self {
        let rule = StopRule::Size(size);
        let chosen = RuleSize::new(rule, &vec![Some(size); paths.len()], &paths.visited_sizes());
        // The rules stop where they did.
        let beside = std::iter::once(&self.chosen).chain(&self.beside).cloned();
        Self::with(history, paths, chosen, beside.collect(), None).by_hand(self.drift.clone())
    }

    /// A size that was chosen by hand; whether p-values drift is a matter of the rows.
    fn by_hand(mut self, drift: Option<Drift>) -> Self {
        let size = self.chosen.size.map(cautions::size_by_hand);
        self.cautions.splice(0..0, size);
        self.by_chance.iter_mut().for_each(|chance| chance.size_is_by_hand = true);
        self.cautions.extend(drift.as_ref().and_then(Drift::caution));
        Self { drift, ..self }
    }

    fn with(
        history: &History,
        paths: &Paths<'_>,
        chosen: RuleSize,
        beside: Vec<RuleSize>,
        tested: Option<Tested>,
    ) -> Self {
        let agreement =
            chosen.size.and_then(|size| paths.agreement(&[size]).first().map(|(_, at)| *at));
        let stability = agreement.as_ref().and_then(Stability::new);
        let by_chance = chosen.size.and_then(|size| ByChance::new(history, paths, size));
        let chance = by_chance.as_ref();
        let features = chosen
            .size
            .map_or_else(Vec::new, |size| ChosenFeature::list(history, paths, size, chance));
        let concern = cautions::Concern {
            paths,
            chosen: &chosen,
            stability,
            tested: tested.as_ref(),
            by_chance: chance,
            features: &features,
        };
        let cautions = cautions::of_method(&concern);
        let verdict = Verdict::new(&chosen, chance, stability, paths.len());
        Self {
            method: paths.method,
            verdict,
            headline: verdict.headline(&chosen, chance, stability, paths.len()),
            splits: paths.len(),
            beside,
            achieved: Achieved::new(paths, &chosen),
            classes: ClassAnswer::all(paths, &chosen, tested.as_ref()),
            stability: stability.map(|own| own.value),
            stability_band: stability.and_then(|own| own.band),
            stability_interval: stability.and_then(|own| own.interval),
            cautions,
            features,
            tested,
            transfer: None,
            subgroups: Vec::new(),
            drift: None,
            by_chance,
            chosen,
        }
    }

    /// The 95 % band of one split's coverage, where there is one.
    pub fn coverage_band(&self) -> Option<(f64, f64)> {
        self.achieved.as_ref()?.coverage_band
    }

    /// The stability of the splits' subsets with what is known about it.
    pub fn stability_judged(&self) -> Option<Stability> {
        let (interval, band) = (self.stability_interval, self.stability_band);
        self.stability.map(|value| Stability { value, interval, band })
    }
}
