//! Whether a more flexible family of models is worth it: each against the simplest one, on the same
//! splits.

use serde::Serialize;

use super::comparison::{Side, signed};
use super::{Comparison, History, LEVEL, Metric, Paths, RuleSize, count_features, p_words};
use crate::error::printable;
use crate::run::{Followup, KernelLimit, Outcome, RunInfo};
use crate::svm::Estimator;

/// Names of a list that a sentence tells.
const NAMED: usize = 5;

/// The families of models of a run, compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EstimatorChoice {
    /// Families that have been run besides the run's own.
    pub finished: usize,
    /// Families that were asked for.
    pub of: usize,
    /// Each against the simplest, from the simplest on.
    pub comparisons: Vec<Comparison>,
    /// What follows from it, in a sentence.
    pub sentence: String,
    /// The family that is clearly better than the run's own, if one is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub better: Option<BetterFamily>,
}

/// A family of models that is clearly better than the run's own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BetterFamily {
    /// The family.
    pub estimator: Estimator,
    /// The features of its list, best first.
    pub features: Vec<String>,
    /// In what it is better, and by how much.
    #[serde(skip)]
    evidence: String,
    /// The method with the family.
    #[serde(skip)]
    name: String,
}

impl BetterFamily {
    /// As a caution, with what to do.
    pub fn caution(&self) -> String {
        let Self { estimator, features, evidence, name } = self;
        let names: Vec<String> = features.iter().take(NAMED).map(|name| printable(name)).collect();
        let more = match features.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "{name} is better: {evidence}, with {} ({}{more}); run again with --estimator {estimator}",
            count_features(features.len()),
            names.join(", ")
        )
    }
}

impl EstimatorChoice {
    /// Reads it off the paths of a method; `None` if no other family was asked for.
    pub fn new(history: &History, paths: &Paths<'_>, chosen: &RuleSize) -> Option<Self> {
        let asked = &paths.info.spec.compare;
        if asked.is_empty() {
            return None;
        }
        let is_finished =
            |&&other: &&_| history.followup(Followup::Estimator(paths.method, other)).is_some();
        let finished = asked.iter().filter(is_finished).count();
        let sides = Families::new(history, paths, chosen);
        let comparisons = sides.against_the_simplest();
        let (sentence, better) = if finished < asked.len() {
            (format!("{finished} of {} other estimators have been run so far", asked.len()), None)
        } else {
            let own = sides.name_of(paths.info.spec.estimator);
            let untried = untried(paths.info).map_or_else(String::new, |why| format!("; {why}"));
            (conclusion(&comparisons, &own) + &untried, sides.better())
        };
        Some(Self { finished, of: asked.len(), comparisons, sentence, better })
    }
}

/// That kernel machines were not tried because they would take too long, and what helps.
fn untried(info: &RunInfo) -> Option<String> {
    if info.spec.uses_kernels() {
        return None;
    }
    let limit = KernelLimit::of_run(info).ok()??;
    Some(format!("{} was not tried: {}", Estimator::Rbf, limit.words()))
}

/// What a method achieves with each family of models that has a list, the simplest first.
struct Families<'a> {
    paths: &'a Paths<'a>,
    history: &'a History,
    sides: Vec<(Estimator, Side<'a>)>,
}

impl<'a> Families<'a> {
    fn new(history: &'a History, paths: &'a Paths<'a>, chosen: &RuleSize) -> Self {
        let mut families = Self { paths, history, sides: Vec::new() };
        let spec = &paths.info.spec;
        let own = chosen.size.map(|size| {
            let side = Side {
                name: families.name_of(spec.estimator),
                size,
                tallies: paths.achieved(chosen),
            };
            (spec.estimator, side)
        });
        let other = |&estimator: &Estimator| {
            let outcome = history.followup(Followup::Estimator(paths.method, estimator))?;
            let Outcome::Estimator(test) = outcome else { return None };
            let tallies = test.tallies.iter().map(|(split, tally)| (*split, tally)).collect();
            Some((estimator, Side { name: families.name_of(estimator), size: test.size?, tallies }))
        };
        families.sides = own.into_iter().chain(spec.compare.iter().filter_map(other)).collect();
        families.sides.sort_by_key(|(estimator, _)| *estimator);
        families
    }

    fn name_of(&self, estimator: Estimator) -> String {
        format!("{} ({estimator})", self.paths.method)
    }

    fn against_the_simplest(&self) -> Vec<Comparison> {
        let Some(((_, simplest), others)) = self.sides.split_first() else { return Vec::new() };
        let compare = |(_, side): &(_, Side<'_>)| Comparison::new(self.paths.info, side, simplest);
        others.iter().filter_map(compare).collect()
    }

    /// The family with the highest accuracy among those that are clearly better than the run's own
    /// and in nothing clearly worse.
    fn better(&self) -> Option<BetterFamily> {
        let info = self.paths.info;
        let own_family = info.spec.estimator;
        let (_, own) = self.sides.iter().find(|(estimator, _)| *estimator == own_family)?;
        let others = self.sides.iter().filter(|(estimator, _)| *estimator != own_family);
        let compared: Vec<(Estimator, Comparison)> = others
            .filter_map(|(other, side)| Some((*other, Comparison::new(info, side, own)?)))
            .collect();
        let level = LEVEL / compared.len().max(1) as f64;
        let is_better = |(_, comparison): &&(Estimator, Comparison)| {
            let gains = || METRICS.iter().filter_map(|&metric| Gain::of(comparison, metric));
            let clear = || gains().filter(|gain| gain.is_clear(level));
            clear().next().is_some() && clear().all(|gain| gain.gain > 0.0)
        };
        let accuracy =
            |comparison: &Comparison| comparison.of(Metric::Accuracy).map_or(0.0, |own| own.a);
        let by_accuracy = |a: &&(Estimator, Comparison), b: &&(Estimator, Comparison)| {
            accuracy(&a.1).total_cmp(&accuracy(&b.1))
        };
        let (estimator, comparison) = compared.iter().filter(is_better).max_by(by_accuracy)?;
        let outcome = self.history.followup(Followup::Estimator(self.paths.method, *estimator))?;
        let Outcome::Estimator(test) = outcome else { return None };
        let clear = METRICS.iter().filter_map(|&metric| {
            let own = comparison.of(metric)?;
            Gain::of(comparison, metric)?.is_clear(level).then_some(own)
        });
        let words = clear.map(|own| {
            let p = own
                .difference
                .p_corrected
                .map_or_else(String::new, |p| format!(" (corrected {})", p_words(p)));
            format!("{} {:.3} against {:.3}{p}", own.label, own.a, own.b)
        });
        Some(BetterFamily {
            estimator: *estimator,
            features: test.units.iter().map(|&unit| info.units[unit].name.clone()).collect(),
            evidence: words.collect::<Vec<_>>().join(" and "),
            name: self.name_of(*estimator),
        })
    }
}

/// What families of models are compared in.
const METRICS: [Metric; 2] = [Metric::Accuracy, Metric::Inefficiency];

/// By how much a flexible family is better in a metric, and the p of it.
struct Gain<'a> {
    name: &'a str,
    label: &'static str,
    gain: f64,
    p: Option<f64>,
}

impl<'a> Gain<'a> {
    /// The gain in accuracy or, with the sign turned, in set size.
    fn of(comparison: &'a Comparison, metric: Metric) -> Option<Self> {
        let compared = comparison.of(metric)?;
        let sign = if metric == Metric::Inefficiency { -1.0 } else { 1.0 };
        Some(Self {
            name: &comparison.a,
            label: compared.label,
            gain: sign * compared.difference.mean,
            p: compared.difference.p_corrected,
        })
    }

    /// Whether the corrected test finds it at this level.
    fn is_clear(&self, level: f64) -> bool {
        self.p.is_some_and(|p| p <= level)
    }

    fn p_words(&self) -> String {
        self.p.map_or_else(String::new, |p| format!(", corrected {}", p_words(p)))
    }

    /// A gain that is not clear, as a difference.
    fn difference(&self) -> String {
        format!("{}, {} difference {}{}", self.name, self.label, signed(self.gain), self.p_words())
    }

    /// The change, without the name of the family.
    fn change(&self) -> String {
        let (Self { label, gain, .. }, p) = (self, self.p_words());
        if gain.abs() < 0.0005 {
            return format!("no difference in {label} (0.000{p})");
        }
        let (direction, gain) = if *gain < 0.0 { ("worse", -gain) } else { ("better", *gain) };
        format!("{label} {direction} by {gain:.3}{p}")
    }

    /// Changes, each family named once; those of a family follow each other.
    fn words(gains: &[&Self]) -> String {
        let of_family = |gains: &[&Self]| {
            let changes: Vec<String> = gains.iter().map(|gain| gain.change()).collect();
            format!("{}: {}", gains[0].name, changes.join(", and "))
        };
        gains.chunk_by(|a, b| a.name == b.name).map(of_family).collect::<Vec<_>>().join("; ")
    }
}

/// A family is worth it if accuracy or set size is better at the 5 % level, which all comparisons
/// share. `own` is the family of the run.
fn conclusion(comparisons: &[Comparison], own: &str) -> String {
    if comparisons.is_empty() {
        return "no two estimators have a list to compare".to_owned();
    }
    let level = LEVEL / comparisons.len() as f64;
    let gains: Vec<Gain<'_>> = comparisons
        .iter()
        .flat_map(|comparison| METRICS.iter().filter_map(|&metric| Gain::of(comparison, metric)))
        .collect();
    let clear = |is_gain: fn(f64) -> bool| -> Vec<&Gain<'_>> {
        gains.iter().filter(|gain| gain.is_clear(level) && is_gain(gain.gain)).collect()
    };
    let better = clear(|gain| gain > 0.0);
    let worse = clear(|gain| gain < 0.0);
    let words = |gains: &[&Gain<'_>]| Gain::words(gains);
    let simplest = &comparisons[0].b;
    let own_is_better = better.iter().any(|gain| gain.name == own);
    match (better.is_empty(), worse.is_empty()) {
        (false, true) if own_is_better => {
            format!("this run's {own} is worth it, compared with {simplest} ({})", words(&better))
        }
        (false, true) => {
            format!("a more flexible model than {simplest} is worth it ({})", words(&better))
        }
        (false, false) => format!(
            "a more flexible model than {simplest} is better in one respect and worse in another ({}; {})",
            words(&better),
            words(&worse)
        ),
        (true, false) if simplest == own => format!("stay with {simplest} ({})", words(&worse)),
        (true, false) => format!("{simplest} is better ({})", words(&worse)),
        (true, true) => {
            let accuracies = comparisons.iter().filter_map(|of| Gain::of(of, Metric::Accuracy));
            let best = accuracies.max_by(|a, b| a.gain.total_cmp(&b.gain));
            let best =
                best.map_or_else(String::new, |gain| format!("; best: {}", gain.difference()));
            format!("no more flexible model is clearly better than {simplest}{best}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_difference_is_neither_better_nor_worse() {
        let words = |gain: f64| {
            Gain::words(&[&Gain { name: "CRFE (rbf)", label: "accuracy", gain, p: Some(0.5) }])
        };
        assert_eq!(
            words(0.0004),
            "CRFE (rbf): no difference in accuracy (0.000, corrected p = 0.50)"
        );
        assert_eq!(words(-0.0004), words(0.0));
        assert_eq!(words(-0.001), "CRFE (rbf): accuracy worse by 0.001, corrected p = 0.50");
        let unclear = Gain { name: "CRFE (rbf)", label: "accuracy", gain: -0.001, p: Some(0.93) };
        assert_eq!(
            unclear.difference(),
            "CRFE (rbf), accuracy difference −0.001, corrected p = 0.93"
        );
        let gain = |name, label| Gain { name, label, gain: 0.5, p: None };
        let several = [gain("rcs:4", "accuracy"), gain("rbf", "accuracy"), gain("rbf", "set size")];
        let named_once = "rcs:4: accuracy better by 0.500; rbf: accuracy better by 0.500, and set size better by 0.500";
        assert_eq!(Gain::words(&several.iter().collect::<Vec<_>>()), named_once);
    }
}
