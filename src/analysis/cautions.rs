//! What a reader of the answer must beware of, each caution a sentence. A caution is one function in one of two lists.

use super::{ByChance, ChosenFeature, History, LEVEL, Paths, RuleSize, StabilityBand};
use crate::data::Level;
use crate::evaluate::Performance;
use crate::run::RunInfo;
use crate::select::StopRule;

/// Cautions about the whole run; each may have several sentences.
const OF_RUN: [fn(&History, &RunInfo) -> Vec<String>; 4] = [void_guarantee, one_split, warnings, failures];

/// Cautions about one method.
const OF_METHOD: [fn(&Concern<'_>) -> Option<String>; 10] = [
    no_size,
    chance_alone,
    no_better_than_the_largest_class,
    empty_sets,
    uncovered_class,
    at_the_edge,
    silent,
    ended_early,
    unstable,
    unconverged,
];

/// More empty sets than this say that ε is larger than the error.
const MANY_EMPTY: f64 = 0.05;

/// What cautions about a method are read off.
pub struct Concern<'a> {
    /// Its finished paths.
    pub paths: &'a Paths<'a>,
    /// The size of the answer.
    pub chosen: &'a RuleSize,
    /// Stability at this size.
    pub stability: Option<f64>,
    /// How the procedure did on rows that it never saw.
    pub tested: Option<&'a Performance>,
    /// What chance selects.
    pub by_chance: Option<&'a ByChance>,
    /// The list.
    pub features: &'a [ChosenFeature],
}

/// All cautions about a run.
pub fn of_run(history: &History, info: &RunInfo) -> Vec<String> {
    OF_RUN.iter().flat_map(|caution| caution(history, info)).collect()
}

/// All cautions about a method.
pub fn of_method(concern: &Concern<'_>) -> Vec<String> {
    OF_METHOD.iter().filter_map(|caution| caution(concern)).collect()
}

fn void_guarantee(_: &History, info: &RunInfo) -> Vec<String> {
    let void = "guarantee void: the features were chosen on rows that also calibrate, or p-values were not the valid ones; \
                coverage may fall below its target";
    (!info.spec.guaranteed()).then(|| void.to_owned()).into_iter().collect()
}

fn one_split(_: &History, info: &RunInfo) -> Vec<String> {
    let one = "one split cannot show how stable the selection is: another may choose other features; use more --splits";
    (info.splits == 1).then(|| one.to_owned()).into_iter().collect()
}

fn warnings(_: &History, info: &RunInfo) -> Vec<String> {
    info.audit.at(Level::Warning).map(str::to_owned).collect()
}

fn failures(history: &History, _: &RunInfo) -> Vec<String> {
    let failed = history.failed();
    let others =
        if failed.len() > 1 { format!(" (and {} more tasks)", failed.len() - 1) } else { String::new() };
    let first = failed.first_key_value();
    first.map(|(task, message)| format!("{task}{others} failed: {message}")).into_iter().collect()
}

fn silent(concern: &Concern<'_>) -> Option<String> {
    let (chosen, splits) = (concern.chosen, concern.paths.len());
    let silent = splits - chosen.fired;
    if matches!(chosen.stop, StopRule::None | StopRule::OneSe) || silent == 0 || chosen.is_of_all() {
        return None;
    }
    let rule = chosen.stop.entry().map_or_else(|| chosen.rule.clone(), |entry| entry.symbol.to_owned());
    Some(format!("the {rule} rule never fired on {silent} of {splits} splits; they are left out of the size"))
}

fn ended_early(concern: &Concern<'_>) -> Option<String> {
    let (size, splits) = (concern.chosen.size?, concern.paths.len());
    let short = splits - concern.paths.at_size(size).count();
    (short > 0).then(|| {
        format!(
            "--early ended {short} of {splits} paths before this size; what was achieved is of the others"
        )
    })
}

fn no_size(concern: &Concern<'_>) -> Option<String> {
    let is_flat = concern.chosen.stop == StopRule::OneSe && concern.chosen.size.is_none();
    (is_flat && !concern.paths.is_empty()).then(|| {
        "no size stands out: every number of features is within one standard error of the best, so no list is given; \
         use --stop N to take one of N features"
            .to_owned()
    })
}

fn chance_alone(concern: &Concern<'_>) -> Option<String> {
    let chance = concern.by_chance?;
    let p = chance.p.filter(|&p| p > LEVEL);
    let selected = concern.features.iter().any(|feature| feature.adjusted_p.is_some_and(|p| p <= LEVEL));
    match (p, selected) {
        (Some(p), _) => Some(format!(
            "nothing beyond chance: permuted labels are predicted as well in {:.0} % of {} permutations (p = {p:.2})",
            100.0 * p,
            chance.permutations
        )),
        (None, false) if concern.features.iter().any(|feature| feature.adjusted_p.is_some()) => {
            Some(format!(
                "chance alone keeps some feature in {} of {} splits at this size: the counts say little about single features",
                chance.count,
                concern.paths.len()
            ))
        }
        _ => None,
    }
}

fn no_better_than_the_largest_class(concern: &Concern<'_>) -> Option<String> {
    let tested = concern.tested?;
    let (accuracy, rate) = (tested.accuracy, tested.no_information_rate);
    (accuracy.lo <= rate).then(|| {
        format!(
            "accuracy {:.3} ({:.3} to {:.3}) is not clearly above {rate:.3}, which always answering the largest class achieves",
            accuracy.value, accuracy.lo, accuracy.hi
        )
    })
}

fn empty_sets(concern: &Concern<'_>) -> Option<String> {
    let tested = concern.tested.filter(|tested| tested.empty.value > MANY_EMPTY)?;
    let epsilon = concern.paths.info.spec.epsilon;
    // Sets stop being empty about where ε falls to the share of errors.
    let fitting = (epsilon - tested.empty.value).max(0.01);
    Some(format!(
        "{:.0} % of the prediction sets are empty: ε = {epsilon} is larger than the error of the models; try --epsilon {fitting:.2}",
        100.0 * tested.empty.value
    ))
}

fn uncovered_class(concern: &Concern<'_>) -> Option<String> {
    let info = concern.paths.info;
    let target = 1.0 - info.spec.epsilon;
    let worst = concern.tested?.classes.iter().filter_map(|class| Some((class, class.coverage?)));
    let worst = worst.filter(|(_, coverage)| coverage.hi < target);
    let (class, coverage) = worst.min_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    let remedy = if info.spec.mondrian { "" } else { "; --mondrian aims at it in every class" };
    Some(format!(
        "class '{}' is covered in {:.0} % of its {} rows ({:.0} to {:.0} %), below the target of {:.0} %{remedy}",
        info.classes[class.class],
        100.0 * coverage.value,
        class.rows,
        100.0 * coverage.lo,
        100.0 * coverage.hi,
        100.0 * target,
    ))
}

fn at_the_edge(concern: &Concern<'_>) -> Option<String> {
    let (size, units) = (concern.chosen.size?, concern.paths.info.units.len());
    let by_rule = concern.chosen.stop == StopRule::OneSe && units > 2 && !concern.chosen.is_of_all();
    (by_rule && size == units)
        .then(|| "all features are needed: the size is at the edge of its range".to_owned())
}

fn unstable(concern: &Concern<'_>) -> Option<String> {
    let stability = concern.stability.filter(|&own| StabilityBand::of(own) == StabilityBand::Poor)?;
    Some(format!(
        "unstable selection: stability {stability:.2} (below {} is poor); other splits choose other features",
        StabilityBand::Fair.lowest()
    ))
}

fn unconverged(concern: &Concern<'_>) -> Option<String> {
    let models: usize = concern.paths.traces().map(|trace| trace.steps().len()).sum();
    let unconverged: usize = concern.paths.traces().map(|trace| trace.unconverged()).sum();
    (unconverged > 0).then(|| {
        format!("the solver did not converge on {unconverged} of {models} models; see the column converged of trace.csv")
    })
}
