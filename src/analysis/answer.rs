//! One list a person can use: for each method the size, the features, what subsets of this size
//! achieved, and every caution.

use serde::Serialize;

use super::{
    Achieved, ByChance, Choice, ChosenFeature, ClassAnswer, Comparison, Drift, History, Paths,
    RuleSize, Stability, StabilityBand, Statement, SubgroupCoverage, Tested, Topic, Transfer,
    Verdict, cautions, statements,
};
use crate::select::{Method, StopRule};
use crate::svm::{Estimator, Gamma};

/// The answer of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Answer {
    /// What was chosen.
    #[serde(skip)]
    pub choice: Choice,
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
#[derive(Debug, Clone, PartialEq, Serialize)]
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
    /// What other rules give; the first is the run's own rule if the size was chosen by hand.
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
    /// What there is to say about it.
    #[serde(skip)]
    pub statements: Vec<Statement>,
}

impl Answer {
    /// What a history says to a choice; `None` before the run has started.
    pub fn new(history: &History, choice: &Choice) -> Option<Self> {
        let info = history.info()?;
        let spec = &info.spec;
        let answer = |method| {
            let paths = Paths::new(history, info, method);
            MethodAnswer::new(history, &paths, choice, &Grounds::new(history, &paths, choice))
        };
        let methods: Vec<MethodAnswer> = history.methods().into_iter().map(answer).collect();
        Some(Self {
            choice: *choice,
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
            permutations: super::by_chance::permutation_words(info),
            grouped: spec.schema.group_col.is_some(),
            cautions: cautions::of_run(history, info),
        })
    }

    /// The features of the first method: what selected.txt holds.
    pub fn selected(&self) -> &[ChosenFeature] {
        self.methods.first().map_or(&[], |method| &method.features)
    }
}

/// What is known of a method whatever the size of the answer: where the rules stop, and how the
/// procedure did on rows that it never saw.
#[derive(Debug)]
pub struct Grounds {
    own: RuleSize,
    others: Vec<RuleSize>,
    tested: Option<Tested>,
    transfer: Option<Transfer>,
    subgroups: Vec<SubgroupCoverage>,
    drift: Option<Drift>,
}

impl Grounds {
    /// Reads it off the finished paths of a method; of the choice only the rule matters.
    pub(super) fn new(history: &History, paths: &Paths<'_>, choice: &Choice) -> Self {
        let (info, method) = (paths.info, paths.method);
        let size_of = |rule| paths.chosen_size(&Choice { rule, size: None, ..*choice });
        let rules = StopRule::of_paths().map(|entry| entry.rule);
        Self {
            own: size_of(choice.rule),
            others: rules.filter(|&other| other != choice.rule).map(size_of).collect(),
            tested: Tested::new(history, info, method),
            transfer: Transfer::new(history, info, method),
            subgroups: SubgroupCoverage::all(history, info, method),
            drift: Drift::new(history, info, method),
        }
    }
}

impl MethodAnswer {
    /// Reads it off the finished paths of a method. A size that was taken by hand has its own list,
    /// counts, stability and metrics; the validation tested the procedure at another size, so there
    /// is no tested performance.
    pub(super) fn new(
        history: &History,
        paths: &Paths<'_>,
        choice: &Choice,
        grounds: &Grounds,
    ) -> Self {
        let is_own = choice.size.is_none();
        let chosen = if is_own { grounds.own.clone() } else { paths.chosen_size(choice) };
        let own = std::iter::once(&grounds.own).filter(|own| !is_own && own.stop.entry().is_some());
        let tested = grounds.tested.clone().filter(|_| is_own);
        let transfer = grounds.transfer.clone().filter(|_| is_own);
        let subgroups = if is_own { grounds.subgroups.clone() } else { Vec::new() };
        let agreement =
            chosen.size.and_then(|size| paths.agreement(&[size]).first().map(|(_, at)| *at));
        let stability = agreement.as_ref().and_then(Stability::new);
        let by_chance = chosen.size.and_then(|size| ByChance::new(history, paths, choice, size));
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
        let mut cautions: Vec<String> =
            choice.size.map(cautions::size_by_hand).into_iter().collect();
        cautions.extend(cautions::of_method(&concern));
        cautions.extend(transfer.iter().flat_map(Transfer::cautions));
        cautions.extend(subgroups.iter().filter_map(SubgroupCoverage::caution));
        // Whether p-values drift is a matter of the rows, not of the size.
        cautions.extend(grounds.drift.as_ref().and_then(Drift::caution));
        let verdict = Verdict::new(&chosen, chance, stability, paths.len());
        let mut answer = Self {
            method: paths.method,
            verdict,
            headline: verdict.headline(&chosen, chance, stability, paths.len()),
            splits: paths.len(),
            beside: own.chain(&grounds.others).cloned().collect(),
            achieved: Achieved::new(paths, &chosen),
            classes: ClassAnswer::all(paths, &chosen, tested.as_ref()),
            stability: stability.map(|own| own.value),
            stability_band: stability.and_then(|own| own.band),
            stability_interval: stability.and_then(|own| own.interval),
            cautions,
            features,
            tested,
            transfer,
            subgroups,
            drift: grounds.drift.clone(),
            by_chance,
            chosen,
            statements: Vec::new(),
        };
        answer.statements = statements::of_method(paths.info, choice, &answer);
        answer
    }

    /// Whether twins of its features have been found since it was made.
    pub fn lacks_twins(&self, history: &History) -> bool {
        let is_new = |feature: &ChosenFeature| {
            feature.twins.is_none() && history.twins().of(feature.unit).is_some()
        };
        self.features.iter().any(is_new)
    }

    /// The 95 % band of one split's coverage, where there is one.
    pub fn coverage_band(&self) -> Option<(f64, f64)> {
        self.achieved.as_ref()?.coverage_band
    }

    /// What is said about some topics.
    pub fn about<'a>(&'a self, topics: &'a [Topic]) -> impl Iterator<Item = &'a Statement> {
        self.statements.iter().filter(move |said| topics.contains(&said.topic))
    }

    /// The stability of the splits' subsets with what is known about it.
    pub fn stability_judged(&self) -> Option<Stability> {
        let (interval, band) = (self.stability_interval, self.stability_band);
        self.stability.map(|value| Stability { value, interval, band })
    }
}
