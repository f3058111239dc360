//! What the nested validation says about a method's answer, as far as it has come.

use serde::Serialize;

use super::{History, Stability};
use crate::evaluate::{Performance, Predicted, agreement};
use crate::run::{FoldTest, Kind, RunInfo};
use crate::select::Method;

/// How the procedure did on rows that it never saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Tested {
    /// Folds that have ended, and folds in all.
    pub folds: usize,
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
    /// How much the lists of the folds agree.
    pub stability: Option<Stability>,
    /// The names of each fold's list, best first.
    pub lists: Vec<Vec<String>>,
    /// The features that are in every list.
    pub in_every_list: Vec<String>,
}

impl Tested {
    /// Reads it off a history; `None` if no validation was asked for.
    pub fn new(history: &History, info: &RunInfo, method: Method) -> Option<Self> {
        let folds: Vec<&FoldTest> =
            history.tests(Kind::Fold, method).map(|(_, fold)| fold).collect();
        if info.folds == 0 {
            return None;
        }
        let rows: Vec<Predicted<'_>> = folds
            .iter()
            .flat_map(|fold| &fold.rows)
            .map(|row| Predicted { y: row.y, f: &row.f, p: &row.p })
            .collect();
        let classes = info.classes.len();
        let epsilon = info.spec.epsilon;
        let seed = info.spec.split.seed;
        let groups: Vec<usize> =
            folds.iter().flat_map(|fold| fold.groups.iter().copied()).collect();
        let fewest = |class: usize| folds.iter().map(|fold| fold.conformal[class]).min();
        let with_list: Vec<&&FoldTest> =
            folds.iter().filter(|fold| !fold.units.is_empty()).collect();
        let (stability, in_every_list) = agreement_of_lists(info, &folds);
        Some(Self {
            folds: folds.len(),
            of_folds: info.folds,
            without_list: folds.len() - with_list.len(),
            fewest_conformal: (0..classes).filter_map(fewest).collect(),
            fewest_conformal_rows: folds
                .iter()
                .map(|fold| fold.conformal.iter().sum())
                .min()
                .unwrap_or(0),
            performance: Performance::new(&rows, &groups, classes, epsilon, seed),
            sizes: with_list.iter().map(|fold| fold.units.len()).collect(),
            stability,
            in_every_list,
            lists: with_list.iter().map(|fold| info.names(&fold.units)).collect(),
        })
    }
}

/// How much the lists of some tests agree, and the features that are in every one of several.
pub(super) fn agreement_of_lists(
    info: &RunInfo,
    tests: &[&FoldTest],
) -> (Option<Stability>, Vec<String>) {
    let removable = |&unit: &usize| !info.units[unit].kept;
    let with_list = tests.iter().filter(|test| !test.units.is_empty());
    let lists: Vec<Vec<usize>> =
        with_list.map(|test| test.units.iter().copied().filter(removable).collect()).collect();
    let in_every = |unit: &usize| lists.len() > 1 && lists.iter().all(|list| list.contains(unit));
    let first = lists.first().into_iter().flatten().copied();
    let common: Vec<usize> = first.filter(in_every).collect();
    (Stability::new(&agreement(&lists, info.units.len())), info.names(&common))
}
