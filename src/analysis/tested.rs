//! What the nested validation and the permutations say about a method's answer, as far as they have come.

use serde::Serialize;

use super::{History, Paths};
use crate::evaluate::{Agreement, Chance, Performance, Predicted, agreement, p_of_smaller};
use crate::run::{FoldTest, Followup, Outcome, PermutedRun, RunInfo};
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
    /// What was measured; none before the first fold with a list.
    pub performance: Option<Performance>,
    /// The size of each fold's list.
    pub sizes: Vec<usize>,
    /// How much the lists of the folds agree: Nogueira's stability with its interval.
    pub stability: Option<(f64, f64, f64)>,
    /// The names of each fold's list, best first.
    pub lists: Vec<Vec<String>>,
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
        let seed = info.spec.split.seed;
        let with_list: Vec<&&FoldTest> = folds.iter().filter(|fold| !fold.units.is_empty()).collect();
        let removable = |fold: &FoldTest| -> Vec<usize> {
            fold.units.iter().copied().filter(|&unit| !info.units[unit].kept).collect()
        };
        let subsets: Vec<Vec<usize>> = with_list.iter().map(|fold| removable(fold)).collect();
        let stability = |found: &Agreement| Some((found.nogueira?, found.nogueira_lo?, found.nogueira_hi?));
        let name = |&unit: &usize| info.units[unit].name.clone();
        Some(Self {
            folds: folds.len(),
            of_folds: info.folds,
            without_list: folds.len() - with_list.len(),
            performance: Performance::new(&rows, info.classes.len(), info.spec.epsilon, seed),
            sizes: with_list.iter().map(|fold| fold.units.len()).collect(),
            stability: stability(&agreement(&subsets, info.units.len())),
            lists: with_list.iter().map(|fold| fold.units.iter().map(name).collect()).collect(),
        })
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
    /// p of the whole: how often permuted labels gave p-values sums as small as the real ones.
    pub p: Option<f64>,
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
            compared_at,
            chance,
        })
    }

    /// The adjusted p of a feature that this many splits keep.
    pub fn adjusted_p(&self, count: usize) -> f64 {
        self.chance.adjusted_p(count)
    }
}
