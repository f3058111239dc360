//! Whether a more flexible family of models is worth it: each against the simplest one, on the same splits.

use serde::Serialize;

use super::comparison::signed;
use super::{Comparison, History, LEVEL, MethodAnswer, Metric, p_words};
use crate::run::{Followup, RunInfo};

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
}

impl EstimatorChoice {
    /// Reads it off a history; `None` if no other family was asked for.
    pub fn new(history: &History, info: &RunInfo, answer: &MethodAnswer) -> Option<Self> {
        let asked = &info.spec.compare;
        if asked.is_empty() {
            return None;
        }
        let is_finished =
            |&&other: &&_| history.followup(Followup::Estimator(answer.method, other)).is_some();
        let finished = asked.iter().filter(is_finished).count();
        let comparisons = Comparison::of_estimators(history, info, answer);
        let sentence = if finished < asked.len() {
            format!("{finished} of {} other estimators have been run so far", asked.len())
        } else {
            conclusion(&comparisons)
        };
        Some(Self { finished, of: asked.len(), comparisons, sentence })
    }
}

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

    fn p_words(&self) -> String {
        self.p.map_or_else(String::new, |p| format!(", corrected {}", p_words(p)))
    }

    /// A gain that is not clear, as a difference.
    fn difference(&self) -> String {
        format!("{}, {} difference {}{}", self.name, self.label, signed(self.gain), self.p_words())
    }

    fn words(&self) -> String {
        let (Self { name, label, gain, .. }, p) = (self, self.p_words());
        if gain.abs() < 0.0005 {
            return format!("{name}: no difference in {label} (0.000{p})");
        }
        let (direction, gain) = if *gain < 0.0 { ("worse", -gain) } else { ("better", *gain) };
        format!("{name}: {label} {direction} by {gain:.3}{p}")
    }
}

/// A family is worth it if accuracy or set size is better at the 5 % level, which all comparisons share.
fn conclusion(comparisons: &[Comparison]) -> String {
    if comparisons.is_empty() {
        return "no two estimators have a list to compare".to_owned();
    }
    let level = LEVEL / comparisons.len() as f64;
    let metrics = [Metric::Accuracy, Metric::Inefficiency];
    let gains: Vec<Gain<'_>> = comparisons
        .iter()
        .flat_map(|comparison| metrics.iter().filter_map(|&metric| Gain::of(comparison, metric)))
        .collect();
    let is_clear = |gain: &&Gain<'_>| gain.p.is_some_and(|p| p <= level);
    let better: Vec<String> =
        gains.iter().filter(is_clear).filter(|gain| gain.gain > 0.0).map(Gain::words).collect();
    let worse: Vec<String> =
        gains.iter().filter(is_clear).filter(|gain| gain.gain < 0.0).map(Gain::words).collect();
    let simplest = &comparisons[0].b;
    match (better.is_empty(), worse.is_empty()) {
        (false, true) => format!("a more flexible model than {simplest} is worth it ({})", better.join("; ")),
        (false, false) => format!(
            "a more flexible model than {simplest} is better in one respect and worse in another ({}; {})",
            better.join("; "),
            worse.join("; ")
        ),
        (true, false) => format!("stay with {simplest} ({})", worse.join("; ")),
        (true, true) => {
            let accuracies = comparisons.iter().filter_map(|of| Gain::of(of, Metric::Accuracy));
            let best = accuracies.max_by(|a, b| a.gain.total_cmp(&b.gain));
            let best = best.map_or_else(String::new, |gain| format!("; best: {}", gain.difference()));
            format!("no more flexible model is clearly better than {simplest}{best}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_difference_is_neither_better_nor_worse() {
        let words = |gain: f64| Gain { name: "CRFE (rbf)", label: "accuracy", gain, p: Some(0.5) }.words();
        assert_eq!(words(0.0004), "CRFE (rbf): no difference in accuracy (0.000, corrected p = 0.50)");
        assert_eq!(words(-0.0004), words(0.0));
        assert_eq!(words(-0.001), "CRFE (rbf): accuracy worse by 0.001, corrected p = 0.50");
        let unclear = Gain { name: "CRFE (rbf)", label: "accuracy", gain: -0.001, p: Some(0.93) };
        assert_eq!(unclear.difference(), "CRFE (rbf), accuracy difference −0.001, corrected p = 0.93");
    }
}
