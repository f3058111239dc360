//! What the nested validation and the permutations say about a method's answer, as far as they have come.

use serde::Serialize;

use super::{History, Paths};
use crate::evaluate::{Agreement, Chance, Performance, Predicted, agreement, p_of_smaller};
use crate::run::{
    DEFAULT_PERMUTATIONS, FoldTest, Followup, Outcome, PERMUTATION_BUDGET, PermutedRun, RunInfo,
};
use crate::select::Method;

/// How the procedure did on rows that it never saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tested {
    /// Folds that have ended, and folds in all.
    pub folds: usize,
    /// Folds in all.
    pub of_folds: usize,
    /// Folds in which the rule chose no size: their rows are not tested.
    pub without_list: usize,
    /// The fewest calibration rows of each class over the folds.
    pub fewest_conformal: Vec<usize>,
    /// The fewest calibration rows of a fold.
    pub fewest_conformal_rows: usize,
    /// What was measured; none before the first fold with a list.
    pub performance: Option<Performance>,
    /// The size of each fold's list.
    pub sizes: Vec<usize>,
    /// How much the lists of the folds agree: Nogueira's stability with its interval.
    pub stability: Option<(f64, f64, f64)>,
    /// The names of each fold's list, best first.
    pub lists: Vec<Vec<String>>,
    /// The features that are in every list.
    pub in_every_list: Vec<String>,
}

impl Tested {
    /// Reads it off a history; `None` if no validation was asked for.
    pub fn new(history: &History, info: &RunInfo, method: Method) -> Option<Self> {
        let folds: Vec<&FoldTest> = history
            .followups()
            .filter_map(|(followup, outcome)| match (followup, outcome) {
                (Followup::Fold(of, _), Outcome::Fold(fold)) if of == method => Some(fold),
                _ => None,
            })
            .collect();
        if info.folds == 0 {
            return None;
        }
        let rows: Vec<Predicted<'_>> = folds
            .iter()
            .flat_map(|fold| &fold.rows)
            .map(|row| Predicted { y: row.y, f: &row.f, p: &row.p })
            .collect();
        let (classes, epsilon, seed) = (info.classes.len(), info.spec.epsilon, info.spec.split.seed);
        let groups: Vec<usize> = folds.iter().flat_map(|fold| fold.groups.iter().copied()).collect();
        // Folds of earlier versions do not know the groups of their rows.
        let performance = if !groups.is_empty() && groups.len() == rows.len() {
            Performance::of_groups(&rows, &groups, classes, epsilon, seed)
        } else {
            Performance::new(&rows, classes, epsilon, seed)
        };
        let fewest = |class: usize| folds.iter().map(|fold| fold.conformal[class]).min();
        let with_list: Vec<&&FoldTest> = folds.iter().filter(|fold| !fold.units.is_empty()).collect();
        let removable = |fold: &FoldTest| -> Vec<usize> {
            fold.units.iter().copied().filter(|&unit| !info.units[unit].kept).collect()
        };
        let subsets: Vec<Vec<usize>> = with_list.iter().map(|fold| removable(fold)).collect();
        let in_every_list =
            |unit: &usize| subsets.len() > 1 && subsets.iter().all(|list| list.contains(unit));
        let stability = |found: &Agreement| Some((found.nogueira?, found.nogueira_lo?, found.nogueira_hi?));
        let name = |&unit: &usize| info.units[unit].name.clone();
        Some(Self {
            folds: folds.len(),
            of_folds: info.folds,
            without_list: folds.len() - with_list.len(),
            fewest_conformal: (0..classes).filter_map(fewest).collect(),
            fewest_conformal_rows: folds.iter().map(|fold| fold.conformal.iter().sum()).min().unwrap_or(0),
            performance,
            sizes: with_list.iter().map(|fold| fold.units.len()).collect(),
            stability: stability(&agreement(&subsets, info.units.len())),
            in_every_list: subsets.first().map_or_else(Vec::new, |first| {
                first.iter().filter(|unit| in_every_list(unit)).map(name).collect()
            }),
            lists: with_list.iter().map(|fold| fold.units.iter().map(name).collect()).collect(),
        })
    }
}

/// How many permutations a run has, and why: the default depends on the nominal cost, never on a clock.
pub fn permutation_words(info: &RunInfo) -> String {
    let seconds = |count: usize| {
        let seconds = info.permutation_cost.unwrap_or(0.0) * count as f64;
        if seconds < 10.0 { format!("{seconds:.1}") } else { format!("{seconds:.0}") }
    };
    let [most, fewest] = DEFAULT_PERMUTATIONS;
    let (count, budget) = (info.permutations, PERMUTATION_BUDGET);
    match info.permutation_cost {
        None if info.spec.split.splits_from.is_some() => {
            "no permutations: the splits that were given belong to the labels as they are".to_owned()
        }
        None if count == 0 => {
            "no permutations, as asked: nothing is known about what chance would select".to_owned()
        }
        None => format!("{count} permutations of the labels, as asked"),
        Some(_) if count == most => {
            format!(
                "{count} permutations of the labels: they cost {} nominal seconds, within the {budget} of the default",
                seconds(most)
            )
        }
        Some(_) if count > 0 => format!(
            "{count} permutations of the labels: {most} would cost {} nominal seconds, above the {budget} of the default; --permutations {most} runs them",
            seconds(most)
        ),
        Some(_) => format!(
            "no permutations: even {fewest} would cost {} nominal seconds, above the {budget} of the default; --permutations {fewest} runs them",
            seconds(fewest)
        ),
    }
}

/// What chance selects at the size of the answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ByChance {
    /// Permutations that have ended.
    pub permutations: usize,
    /// Permutations in all.
    pub of_permutations: usize,
    /// How many splits keep some feature by chance: the 95 % quantile of the largest count under permuted labels.
    pub count: usize,
    /// p of the whole: how often permuted labels give a mean sum of p-values as small as that of the real ones.
    pub p: Option<f64>,
    /// In how many permutations they do.
    pub at_least_as_good: usize,
    /// The size at which the whole was compared.
    pub compared_at: Option<usize>,
    #[serde(skip)]
    chance: Chance,
}

impl ByChance {
    /// Reads it off a history; `None` before the first permutation.
    pub fn new(history: &History, paths: &Paths<'_>, size: usize) -> Option<Self> {
        let info = paths.info;
        let runs: Vec<&PermutedRun> = history
            .followups()
            .filter_map(|(followup, outcome)| match (followup, outcome) {
                (Followup::Permutation(of, _), Outcome::Permutation(run)) if of == paths.method => Some(run),
                _ => None,
            })
            .collect();
        let removable = size.saturating_sub(info.kept());
        let chance = Chance::new(runs.iter().map(|run| run.largest_count(removable)).collect());
        let at: Vec<(usize, f64)> = runs.iter().filter_map(|run| run.s_score_at(size)).collect();
        // All permuted runs are evaluated at the same sizes.
        let compared_at = at.first().map(|&(size, _)| size);
        let real =
            compared_at.and_then(|size| paths.spread(size, super::Metric::SScore)).map(|spread| spread.mean);
        let permuted: Vec<f64> = at.iter().map(|&(_, s_score)| s_score).collect();
        Some(Self {
            permutations: runs.len(),
            of_permutations: info.permutations,
            count: chance.count()?,
            p: real.map(|real| p_of_smaller(real, &permuted)),
            at_least_as_good: real.map_or(0, |real| permuted.iter().filter(|&&own| own <= real).count()),
            compared_at,
            chance,
        })
    }

    /// The adjusted p of a feature that this many splits keep.
    pub fn adjusted_p(&self, count: usize) -> f64 {
        self.chance.adjusted_p(count)
    }
}
