//! Two lists side by side on the same splits: those of two methods, or a person's own list
//! beside the answer.

use std::collections::BTreeMap;

use serde::Serialize;

use super::verdict::count_features;
use super::{History, MethodAnswer, Metric, Paths};
use crate::evaluate::p_words;
use crate::evaluate::{Bootstrap, PairedDifference, Tally};
use crate::run::RunInfo;
use crate::select::Method;

const COMPARED: [Metric; 2] = [Metric::Accuracy, Metric::Inefficiency];

/// One metric of two lists over the same splits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedMetric {
    /// Its name in tables.
    pub metric: &'static str,
    /// What it is called in a sentence.
    #[serde(skip)]
    pub label: &'static str,
    /// The mean of the first.
    pub a: f64,
    /// The mean of the second.
    pub b: f64,
    /// a − b, paired by split, with the bootstrap interval and the p that is corrected for
    /// overlapping splits.
    pub difference: PairedDifference,
}

/// Two lists on the same splits.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The first.
    pub a: String,
    /// The second.
    pub b: String,
    /// Features of each.
    pub sizes: (usize, usize),
    /// Splits that both have.
    pub splits: usize,
    /// Accuracy and mean set size.
    pub metrics: Vec<ComparedMetric>,
    /// All of it in one sentence.
    pub sentence: String,
}

/// What one side of a comparison achieved, split by split.
struct Side<'a> {
    name: String,
    size: usize,
    tallies: Vec<(usize, &'a Tally)>,
}

impl Comparison {
    /// Every pair of methods, each with the subsets of its own size.
    pub fn of_methods(history: &History, info: &RunInfo, answers: &[MethodAnswer]) -> Vec<Self> {
        let side = |answer: &MethodAnswer| {
            let paths = Paths::new(history, info, answer.method);
            let size = answer.chosen.size?;
            Some(Side {
                name: answer.method.to_string(),
                size,
                tallies: paths.achieved(&answer.chosen),
            })
        };
        let sides: Vec<Side<'_>> = answers.iter().filter_map(side).collect();
        let pairs =
            sides.iter().enumerate().flat_map(|(i, a)| sides[i + 1..].iter().map(move |b| (a, b)));
        pairs.filter_map(|(a, b)| Self::new(info, a, b)).collect()
    }

    /// A person's own list, fitted on every split by [`crate::run::test_list`], beside the answer
    /// of a method. The list is the same on all splits and was made by somebody who may have seen
    /// all rows, so that its numbers flatter it; the splits' own subsets never saw their test rows.
    pub fn of_list(
        history: &History,
        info: &RunInfo,
        units: usize,
        tallies: &[(usize, Tally)],
        answer: &MethodAnswer,
    ) -> Option<Self> {
        let own = Side {
            name: "your list".to_owned(),
            size: units,
            tallies: tallies.iter().map(|(split, tally)| (*split, tally)).collect(),
        };
        let method: Method = answer.method;
        let paths = Paths::new(history, info, method);
        let size = answer.chosen.size?;
        Self::new(
            info,
            &own,
            &Side { name: method.to_string(), size, tallies: paths.achieved(&answer.chosen) },
        )
    }

    /// Both on the splits that they share.
    fn new(info: &RunInfo, a: &Side<'_>, b: &Side<'_>) -> Option<Self> {
        let others: BTreeMap<usize, &Tally> = b.tallies.iter().copied().collect();
        let both: Vec<(&Tally, &Tally)> = a
            .tallies
            .iter()
            .filter_map(|(split, tally)| Some((*tally, *others.get(split)?)))
            .collect();
        let test = f64::from(both.first()?.0.rows());
        let test_share = test / (info.rows as f64 - test);
        let mut bootstrap = Bootstrap::new(info.spec.split.seed);
        let mut compare = |&metric: &Metric| {
            let values: Vec<(f64, f64)> =
                both.iter().map(|(a, b)| (metric.value(a), metric.value(b))).collect();
            let mean = |side: fn(&(f64, f64)) -> f64| {
                values.iter().map(side).sum::<f64>() / values.len() as f64
            };
            let differences: Vec<f64> = values.iter().map(|(a, b)| a - b).collect();
            Some(ComparedMetric {
                metric: metric.key(),
                label: metric.short_label(),
                a: mean(|pair| pair.0),
                b: mean(|pair| pair.1),
                difference: bootstrap.paired(&differences, test_share)?,
            })
        };
        let metrics: Vec<ComparedMetric> = COMPARED.iter().filter_map(&mut compare).collect();
        let sentence = sentence(a, b, &metrics);
        let sizes = (a.size, b.size);
        let splits = both.len();
        Some(Self { a: a.name.clone(), b: b.name.clone(), sizes, splits, metrics, sentence })
    }
}

/// With a minus sign that is one.
fn signed(value: f64) -> String {
    format!("{}{:.3}", if value < -0.0005 { "−" } else { "" }, value.abs())
}

/// Which side is better in some metrics: more accurate, or with smaller sets.
fn better(clear: &[&ComparedMetric], a: &Side<'_>, b: &Side<'_>) -> String {
    let winner = |compared: &ComparedMetric| {
        let larger_is_better = compared.metric != Metric::Inefficiency.key();
        if (compared.difference.mean > 0.0) == larger_is_better { &a.name } else { &b.name }
    };
    match clear {
        [one, other] if winner(one) == winner(other) => {
            format!("{} is better in {} and {}", winner(one), one.label, other.label)
        }
        _ => {
            let words =
                |own: &&ComparedMetric| format!("{} is better in {}", winner(own), own.label);
            clear.iter().map(words).collect::<Vec<_>>().join(", ")
        }
    }
}

fn sentence(a: &Side<'_>, b: &Side<'_>, metrics: &[ComparedMetric]) -> String {
    let part = |compared: &ComparedMetric| {
        let ComparedMetric { label, a, b, difference, .. } = compared;
        let p = match difference.p_corrected {
            Some(p) => format!("corrected {}", p_words(p)),
            None if difference.mean == 0.0 => "no difference on any split".to_owned(),
            None => "too few splits for a p".to_owned(),
        };
        let interval = match (difference.lo, difference.hi) {
            (Some(lo), Some(hi)) if hi > lo => {
                format!(
                    "difference {}, {} to {} by the bootstrap, ",
                    signed(difference.mean),
                    signed(lo),
                    signed(hi)
                )
            }
            _ => String::new(),
        };
        format!("{label} {a:.3} against {b:.3} ({interval}{p})")
    };
    let parts: Vec<String> = metrics.iter().map(part).collect();
    let by_test = |compared: &ComparedMetric| {
        compared.difference.p_corrected.is_some_and(|p| p <= super::LEVEL)
    };
    let by_bootstrap = |compared: &ComparedMetric| {
        let PairedDifference { lo, hi, .. } = compared.difference;
        lo.is_some_and(|lo| lo > 0.0) || hi.is_some_and(|hi| hi < 0.0)
    };
    let clear: Vec<&ComparedMetric> = metrics.iter().filter(|own| by_test(own)).collect();
    let end = if !clear.is_empty() {
        format!(": {}", better(&clear, a, b))
    } else if metrics.iter().any(by_bootstrap) {
        ": the bootstrap over splits shows a difference, the corrected test does not".to_owned()
    } else {
        ": no clear difference".to_owned()
    };
    format!(
        "{} with {} against {} with {}: {}{end}",
        a.name,
        count_features(a.size),
        b.name,
        count_features(b.size),
        parts.join(", ")
    )
}
