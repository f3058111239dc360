//! What limits the answer: each caution is a sentence with the number behind it, and one function
//! in one of two lists. The lists are computed once; summary, JSON, page and dashboard show them as
//! they are.

use super::by_chance::FEWEST_PERMUTATIONS;
use super::{
    ByChance, ChosenFeature, History, LEVEL, Paths, RuleSize, Stability, StabilityBand, Tested,
    rounded_p, two_decimals,
};
use crate::data::Level;
use crate::error::printable;
use crate::evaluate::{FEWEST_SUBSETS, MANY_EMPTY, Performance, never_excluded};
use crate::run::RunInfo;
use crate::select::StopRule;

/// Cautions about the whole run; each may have several sentences.
const OF_RUN: [fn(&History, &RunInfo) -> Vec<String>; 4] =
    [void_guarantee, few_splits, warnings, failures];

/// Cautions about one method, the gravest first.
const OF_METHOD: [fn(&Concern<'_>) -> Option<String>; 15] = [
    no_size,
    chance_alone,
    few_permutations,
    unstable,
    tested_at_other_sizes,
    no_better_than_the_largest_class,
    uncovered_classes,
    empty_sets,
    few_calibration_rows,
    single_features_by_chance,
    at_the_edge,
    silent,
    ended_early,
    untested_folds,
    unconverged,
];

/// What cautions about a method are read off.
pub struct Concern<'a> {
    /// Its finished paths.
    pub paths: &'a Paths<'a>,
    /// The size of the answer.
    pub chosen: &'a RuleSize,
    /// Stability at this size.
    pub stability: Option<Stability>,
    /// How the procedure did on rows that it never saw.
    pub tested: Option<&'a Tested>,
    /// What chance selects.
    pub by_chance: Option<&'a ByChance>,
    /// The list.
    pub features: &'a [ChosenFeature],
}

impl Concern<'_> {
    fn performance(&self) -> Option<&Performance> {
        self.tested?.performance.as_ref()
    }
}

/// All cautions about a run.
pub fn of_run(history: &History, info: &RunInfo) -> Vec<String> {
    OF_RUN.iter().flat_map(|caution| caution(history, info)).collect()
}

/// All cautions about a method.
pub fn of_method(concern: &Concern<'_>) -> Vec<String> {
    OF_METHOD.iter().filter_map(|caution| caution(concern)).collect()
}

/// That a size was chosen by hand.
pub fn size_by_hand(size: usize) -> String {
    format!(
        "the size was chosen by hand, after the results had been seen, and nothing was tested at it: quote no performance for this list; \
         a new run with --stop {size} tests it"
    )
}

fn void_guarantee(_: &History, info: &RunInfo) -> Vec<String> {
    let void = "guarantee void: the features were chosen on rows that also calibrate, or p-values were not the valid ones; \
                coverage may fall below its target";
    (!info.spec.guaranteed()).then(|| void.to_owned()).into_iter().collect()
}

fn few_splits(_: &History, info: &RunInfo) -> Vec<String> {
    let few = match info.splits {
        1 => "one split cannot show how stable the selection is".to_owned(),
        n if n < FEWEST_SUBSETS => {
            format!("{n} splits are too few to judge how stable the selection is")
        }
        _ => return Vec::new(),
    };
    let remedy = match info.spec.split.splits_from {
        Some(_) => format!("give {FEWEST_SUBSETS} or more"),
        None => "use --splits 20".to_owned(),
    };
    vec![format!("{few}; {remedy}")]
}

fn warnings(_: &History, info: &RunInfo) -> Vec<String> {
    info.audit.at(Level::Warning).map(str::to_owned).collect()
}

fn failures(history: &History, _: &RunInfo) -> Vec<String> {
    let told = |what: String, others: usize, message: &str| {
        let others = if others > 0 { format!(" (and {others} more tasks)") } else { String::new() };
        format!("{what}{others} failed: {message}")
    };
    let (tasks, followups) = (history.failed(), history.failed_followups());
    let task =
        tasks.first_key_value().map(|(task, why)| told(task.to_string(), tasks.len() - 1, why));
    let followup = followups.first_key_value();
    let followup =
        followup.map(|(followup, why)| told(followup.to_string(), followups.len() - 1, why));
    task.into_iter().chain(followup).collect()
}

fn no_size(concern: &Concern<'_>) -> Option<String> {
    let is_flat = concern.chosen.stop == StopRule::OneSe && concern.chosen.size.is_none();
    (is_flat && !concern.paths.is_empty()).then(|| {
        let curves: Vec<&str> = concern.paths.info.spec.by.iter().map(|curve| curve.words()).collect();
        format!(
            "no size stands out: on all {} splits together, every number of features is within one standard error of the best in {}, \
             so no list is given; --stop N takes one of N features",
            concern.paths.len(),
            curves.join(" and ")
        )
    })
}

fn chance_alone(concern: &Concern<'_>) -> Option<String> {
    let chance = concern.by_chance?;
    chance.is_not_beyond().then(|| format!("nothing beyond chance: {}", chance.words()))
}

fn few_permutations(concern: &Concern<'_>) -> Option<String> {
    let chance = concern.by_chance?;
    let asked = chance.of_permutations;
    let p = chance.p?;
    let is_undecided =
        !chance.is_beyond() && !chance.is_not_beyond() && chance.permutations == asked;
    is_undecided.then(|| {
        format!(
            "too few permutations to tell signal from chance: none of {asked} is predicted as well as the real labels, but p cannot be below {}; \
             use --permutations {FEWEST_PERMUTATIONS} or more",
            rounded_p(p)
        )
    })
}

fn unstable(concern: &Concern<'_>) -> Option<String> {
    let stability = concern.stability.filter(|own| own.band == Some(StabilityBand::Poor))?;
    Some(format!(
        "unstable selection: stability {} (below {} is poor); other splits choose other features{}",
        two_decimals(stability.value),
        StabilityBand::Fair.lowest(),
        exchanged_twins(concern)
    ))
}

/// Splits that exchange a feature for its twin choose the same information: how many features of
/// the list this concerns.
fn exchanged_twins(concern: &Concern<'_>) -> String {
    let splits = concern.paths.len();
    let is_exchanged = |feature: &&ChosenFeature| {
        feature.count < splits && feature.count_with_twins.is_some_and(|own| own == splits)
    };
    match concern.features.iter().filter(is_exchanged).count() {
        0 => String::new(),
        1 => "; for 1 feature of the list, every split keeps it or a twin of it".to_owned(),
        n => format!("; for {n} features of the list, every split keeps them or a twin of them"),
    }
}

/// The folds test the procedure, which chooses a size in each of them: the test says little about a
/// list of another size.
fn tested_at_other_sizes(concern: &Concern<'_>) -> Option<String> {
    let size = concern.chosen.size?;
    let tested = concern.tested?;
    let (&smallest, &largest) = (tested.sizes.iter().min()?, tested.sizes.iter().max()?);
    let other = match size {
        _ if tested.folds < tested.of_folds => return None,
        _ if size > largest => "smaller",
        _ if size < smallest => "larger",
        _ => return None,
    };
    let sizes =
        if smallest == largest { largest.to_string() } else { format!("{smallest} to {largest}") };
    Some(format!(
        "the folds of the validation chose {sizes} features, the answer has {size}: the procedure was tested at {other} sizes; \
         quote the tested numbers as those of the procedure, not of this list"
    ))
}

fn no_better_than_the_largest_class(concern: &Concern<'_>) -> Option<String> {
    let tested = concern.performance()?;
    let (accuracy, rate) = (tested.accuracy, tested.no_information_rate);
    (accuracy.lo <= rate).then(|| {
        format!(
            "accuracy {:.3} ({:.3} to {:.3}) is not clearly above {rate:.3}, which always answering the largest class achieves",
            accuracy.value, accuracy.lo, accuracy.hi
        )
    })
}

fn uncovered_classes(concern: &Concern<'_>) -> Option<String> {
    let info = concern.paths.info;
    let target = 1.0 - info.spec.epsilon;
    let classes =
        concern.performance()?.classes.iter().filter_map(|class| Some((class, class.coverage?)));
    let mut below: Vec<_> = classes.filter(|(_, coverage)| coverage.hi < target).collect();
    below.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let told =
        |(class, coverage): &(&crate::evaluate::ClassPerformance, crate::evaluate::Interval)| {
            format!(
                "class '{}' is covered in {:.0} % of its {} rows ({:.0} to {:.0} %)",
                printable(&info.classes[class.class]),
                100.0 * coverage.value,
                class.rows,
                100.0 * coverage.lo,
                100.0 * coverage.hi
            )
        };
    let told: Vec<String> = below.iter().map(told).collect();
    let remedy = if info.spec.mondrian { "" } else { "; --mondrian targets it in every class" };
    (!told.is_empty()).then(|| {
        format!("{}, below the target of {:.0} %{remedy}", told.join(", "), 100.0 * target)
    })
}

fn empty_sets(concern: &Concern<'_>) -> Option<String> {
    let tested = concern.performance().filter(|tested| tested.empty.value > MANY_EMPTY)?;
    let remedy = match tested.fitting_epsilon {
        Some(fitting) => {
            format!("with --epsilon {fitting} at most {:.0} % would be empty", 100.0 * MANY_EMPTY)
        }
        None => "no smaller ε changes that".to_owned(),
    };
    Some(format!(
        "{:.0} % of the prediction sets are empty: ε = {} is larger than the error of the models; {remedy}",
        100.0 * tested.empty.value,
        concern.paths.info.spec.epsilon
    ))
}

fn few_calibration_rows(concern: &Concern<'_>) -> Option<String> {
    let spec = &concern.paths.info.spec;
    let tested = concern.tested?;
    // Where rows come in groups, groups count, and the warnings of the table tell how many there
    // are.
    if spec.schema.group_col.is_some() || tested.fewest_conformal.is_empty() {
        return None;
    }
    let needed = (1.0 / spec.epsilon).ceil() as usize - 1;
    let what = |rows: usize, which: String| {
        format!(
            "the folds of the validation calibrate on as few as {rows} rows{which}; at least {needed} are needed before a class can be excluded from a set"
        )
    };
    if spec.mondrian {
        let by_class = tested.fewest_conformal.iter().zip(&concern.paths.info.classes);
        let (&rows, class) = by_class
            .filter(|(rows, _)| never_excluded(**rows, spec.epsilon))
            .min_by_key(|(rows, _)| **rows)?;
        return Some(what(rows, format!(" of class '{}'", printable(class))));
    }
    let rows = tested.fewest_conformal_rows;
    never_excluded(rows, spec.epsilon).then(|| what(rows, String::new()))
}

fn single_features_by_chance(concern: &Concern<'_>) -> Option<String> {
    let chance = concern.by_chance?;
    let smallest =
        concern.features.iter().filter_map(|feature| feature.adjusted_p).min_by(f64::total_cmp)?;
    (smallest > LEVEL && chance.is_beyond()).then(|| {
        // A list of a size that no validation chose may not predict.
        let whole = if concern.tested.is_some() { "The list predicts as a whole; its" } else { "Its" };
        format!(
            "no single feature is kept more often than expected by chance (smallest adjusted p {}): at this size, permuted labels keep some feature in up to {} of {} splits. \
             {whole} counts say little about single features",
            rounded_p(smallest),
            chance.count,
            concern.paths.len()
        )
    })
}

fn at_the_edge(concern: &Concern<'_>) -> Option<String> {
    let size = concern.chosen.size?;
    let info = concern.paths.info;
    let units = info.units.len();
    let stop = concern.chosen.stop;
    if matches!(stop, StopRule::None | StopRule::Size(_))
        || concern.chosen.is_of_all()
        || units <= 2
    {
        return None;
    }
    if size == units {
        let why = match (stop, stop.entry()) {
            (StopRule::OneSe, _) => {
                format!(
                    "no list shorter than all {units} features is within one standard error of the best"
                )
            }
            (_, entry) => {
                let rule = entry.map_or_else(|| stop.name(), |entry| entry.symbol.to_owned());
                format!(
                    "the {rule} rule keeps all {units} features, so nothing was selected; --stop N takes one of N features"
                )
            }
        };
        return Some(format!("the size is at the edge of its range: {why}"));
    }
    let smallest = concern.paths.common_sizes().into_iter().min()?;
    (stop == StopRule::OneSe && size == smallest && smallest > info.kept().max(1)).then(|| {
        format!("the size is at the edge of its range: the paths end at {smallest} features, and fewer may do as well")
    })
}

fn silent(concern: &Concern<'_>) -> Option<String> {
    let chosen = concern.chosen;
    let splits = concern.paths.len();
    let silent = splits - chosen.fired;
    if matches!(chosen.stop, StopRule::None | StopRule::OneSe) || silent == 0 || chosen.is_of_all()
    {
        return None;
    }
    let rule =
        chosen.stop.entry().map_or_else(|| chosen.rule.clone(), |entry| entry.symbol.to_owned());
    Some(format!(
        "the {rule} rule did not fire on {silent} of {splits} splits, which do not count for the size"
    ))
}

fn ended_early(concern: &Concern<'_>) -> Option<String> {
    let size = concern.chosen.size?;
    let splits = concern.paths.len();
    let short = splits - concern.paths.at_size(size).count();
    (short > 0).then(|| {
        format!(
            "--early ended {short} of {splits} paths before this size; the others were measured"
        )
    })
}

fn untested_folds(concern: &Concern<'_>) -> Option<String> {
    let tested = concern.tested.filter(|tested| tested.without_list > 0)?;
    let stop = concern.chosen.stop;
    let splits = concern.paths.info.splits;
    let why = match (stop, stop.entry()) {
        (StopRule::OneSe, _) => "no size stands out on their rows".to_owned(),
        (_, Some(entry)) => {
            format!("the {} rule fired on none of their {splits} splits", entry.symbol)
        }
        (_, None) => "no rule was asked to choose".to_owned(),
    };
    Some(format!(
        "in {} of {} folds of the validation no size was chosen: {why}; their rows are not tested. --stop N fixes the size",
        tested.without_list, tested.folds
    ))
}

fn unconverged(concern: &Concern<'_>) -> Option<String> {
    let models: usize = concern.paths.traces().map(|trace| trace.steps().len()).sum();
    let unconverged: usize = concern.paths.traces().map(|trace| trace.unconverged()).sum();
    (unconverged > 0).then(|| {
        format!("the solver did not converge on {unconverged} of {models} models; see the column converged of trace.csv")
    })
}
