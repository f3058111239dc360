//! Conformal scores of some rows, kept: p-values of any row that comes later (docs/method.md
//! sections 6 and 13).

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::conformal::{ConformalSettings, STEPS_PER_UNIT, on_grid, p_of_counts};
use super::grouped::{GroupVotes, WeightedScores};
use crate::select::{Nonconformity, Score};

/// The scores that new rows are compared with: of all calibration rows, or class by class under
/// Mondrian.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibrated {
    measure: Nonconformity,
    mondrian: bool,
    categories: Vec<SortedScores>,
}

/// The scores of one category, in whole grid steps, ascending.
#[derive(Debug, Clone, PartialEq)]
enum SortedScores {
    Rows(Vec<f64>),
    Groups { scores: WeightedScores, shares: Vec<f64> },
}

/// The scores of one category as a file holds them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CategoryScores {
    /// α of the calibration rows, ascending, on the grid of 2⁻³².
    pub alpha: Vec<f64>,
    /// Where rows come in groups: the share of its group's vote that each row has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Vec<f64>>,
    /// Where rows come in groups: how many groups there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<usize>,
}

impl Calibrated {
    /// Takes decision values (rows × classes), biases, classes and, if there are any, groups of the
    /// calibration rows.
    pub fn new(
        settings: &ConformalSettings,
        decisions: ArrayView2<'_, f64>,
        bias: &[f64],
        y: &[usize],
        groups: Option<&[usize]>,
    ) -> Self {
        let measure = settings.measure;
        let count = if settings.mondrian { measure.classes } else { 1 };
        let mut members: Vec<Vec<(f64, usize)>> = vec![Vec::new(); count];
        let (mut decision, mut alphas) = (vec![0.0; measure.classes], vec![0.0; measure.classes]);
        for (i, (row, &y)) in decisions.rows().into_iter().zip(y).enumerate() {
            decision.iter_mut().zip(row).for_each(|(own, f)| *own = *f);
            measure.alphas(&decision, bias, &mut alphas);
            let group = groups.map_or(0, |groups| groups[i]);
            members[settings.category(y)].push((on_grid(alphas[y]), group));
        }
        let category = |members: Vec<(f64, usize)>| {
            let mut scores: Vec<f64> = members.iter().map(|&(score, _)| score).collect();
            if groups.is_none() {
                scores.sort_unstable_by(f64::total_cmp);
                return SortedScores::Rows(scores);
            }
            let rows = members.iter().enumerate().map(|(slot, &(_, group))| (0, slot, group));
            let votes = GroupVotes::new(rows, 1);
            SortedScores::of_groups(scores.into_iter().zip(votes.shares).collect(), votes.groups[0])
        };
        let categories = members.into_iter().map(category).collect();
        Self { measure, mondrian: settings.mondrian, categories }
    }

    /// From the scores in a file; why not, if they cannot be.
    pub fn from_scores(
        measure: Nonconformity,
        mondrian: bool,
        scores: &[CategoryScores],
    ) -> Result<Self, String> {
        let count = if mondrian { measure.classes } else { 1 };
        if scores.len() != count {
            return Err(format!(
                "there are calibration scores of {} categories, not of {count}",
                scores.len()
            ));
        }
        let categories = scores.iter().map(SortedScores::read).collect::<Result<_, _>>()?;
        Ok(Self { measure, mondrian, categories })
    }

    /// The scores for a file.
    pub fn scores(&self) -> Vec<CategoryScores> {
        self.categories.iter().map(SortedScores::written).collect()
    }

    /// Whether every score is a number: a machine that overflows gives others.
    pub fn is_finite(&self) -> bool {
        self.categories
            .iter()
            .all(|category| category.scores().iter().all(|score| score.is_finite()))
    }

    /// The scores in grid steps that a label is compared with.
    pub fn references(&self, y: usize) -> &[f64] {
        self.categories[if self.mondrian { y } else { 0 }].scores()
    }

    /// The score that is compared.
    pub fn measure(&self) -> &Nonconformity {
        &self.measure
    }

    /// Whether a label is compared with rows of its own class alone.
    pub fn is_mondrian(&self) -> bool {
        self.mondrian
    }

    /// Whether each group of calibration rows has one vote.
    pub fn is_grouped(&self) -> bool {
        matches!(self.categories.first(), Some(SortedScores::Groups { .. }))
    }

    /// How many votes there are against a label: rows, or groups.
    pub fn votes(&self, y: usize) -> usize {
        match &self.categories[if self.mondrian { y } else { 0 }] {
            SortedScores::Rows(scores) => scores.len(),
            SortedScores::Groups { scores, .. } => scores.groups,
        }
    }

    /// α of every label in grid steps, and the p-values, from the decision values of a row.
    pub fn judge(
        &self,
        decision: &[f64],
        bias: &[f64],
        tau: Option<&[f64]>,
        alphas: &mut [f64],
        p: &mut [f64],
    ) {
        self.measure.alphas(decision, bias, alphas);
        for (y, (alpha, p)) in alphas.iter_mut().zip(p).enumerate() {
            *alpha = on_grid(*alpha);
            let tau = tau.map(|tau| tau[y]);
            *p = self.categories[if self.mondrian { y } else { 0 }].p_value(
                *alpha,
                tau,
                self.measure.score,
            );
        }
    }
}

impl SortedScores {
    fn of_groups(mut rows: Vec<(f64, f64)>, groups: usize) -> Self {
        rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let shares = rows.iter().map(|&(_, share)| share).collect();
        Self::Groups { scores: WeightedScores::new(rows, groups), shares }
    }

    fn scores(&self) -> &[f64] {
        match self {
            Self::Rows(scores) => scores,
            Self::Groups { scores, .. } => &scores.scores,
        }
    }

    fn written(&self) -> CategoryScores {
        let alpha = self.scores().iter().map(|score| score / STEPS_PER_UNIT).collect();
        match self {
            Self::Rows(_) => CategoryScores { alpha, share: None, groups: None },
            Self::Groups { scores, shares } => {
                CategoryScores { alpha, share: Some(shares.clone()), groups: Some(scores.groups) }
            }
        }
    }

    fn read(written: &CategoryScores) -> Result<Self, String> {
        let scores: Vec<f64> = written.alpha.iter().map(|alpha| alpha * STEPS_PER_UNIT).collect();
        if !scores.iter().all(|score| score.is_finite() && *score == score.round()) {
            return Err("a calibration score is not on the grid of scores".to_owned());
        }
        if !scores.is_sorted() {
            return Err("the calibration scores are not sorted".to_owned());
        }
        match (&written.share, written.groups) {
            (None, None) => Ok(Self::Rows(scores)),
            (Some(shares), Some(groups))
                if shares.len() == scores.len()
                    && groups <= scores.len()
                    && shares.iter().all(|&share| share > 0.0 && share <= 1.0) =>
            {
                Ok(Self::of_groups(
                    scores.into_iter().zip(shares.iter().copied()).collect(),
                    groups,
                ))
            }
            _ => Err("the votes of the calibration groups do not fit their scores".to_owned()),
        }
    }

    fn p_value(&self, alpha: f64, tau: Option<f64>, score: Score) -> f64 {
        match self {
            Self::Groups { scores, .. } => scores.p_value(alpha, tau),
            Self::Rows(scores) => {
                let n = scores.len();
                let at_least = n - scores.partition_point(|&own| own < alpha);
                let above = |tau| (tau, n - scores.partition_point(|&own| own <= alpha));
                p_of_counts(n, at_least, tau.map(above), score)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::data::seed::{Purpose, Rng};
    use crate::evaluate::{Decisions, Evaluator};

    /// p-values of kept scores are those of an evaluator, to the bit, and survive a file.
    #[test]
    fn p_values_are_those_of_a_split() {
        let mut rng = Rng::new(4, 0, Purpose::Split);
        for (mondrian, smoothed, grouped, score) in [
            (false, false, false, Score::Weighted),
            (true, false, false, Score::Weighted),
            (false, true, false, Score::Weighted),
            (false, false, false, Score::Published),
            (false, false, true, Score::Weighted),
            (true, true, true, Score::Weighted),
        ] {
            let measure = Nonconformity { lambda: 0.3, classes: 3, score };
            let settings = ConformalSettings { epsilon: 0.1, mondrian, smoothed, measure };
            let mut draw = |rows: usize| {
                Array2::from_shape_fn((rows, 3), |_| (8.0 * rng.uniform()).round() / 4.0)
            };
            let (conformal, test) = (draw(60), draw(25));
            let y: Vec<usize> = (0..60).map(|i| i * i % 3).collect();
            let groups: Vec<usize> = (0..60).map(|i| i / 4).collect();
            let model = Decisions { conformal, test, biases: vec![0.1, -0.2, 0.05] };
            let (test_y, rows): (Vec<usize>, Vec<usize>) = (vec![0; 25], (0..25).collect());
            let mut evaluator = Evaluator::new(settings.clone(), &y, &test_y, &rows, 7, 2);
            if grouped {
                evaluator = evaluator.with_groups(&groups);
            }
            let expected = evaluator.p_values(&model);
            let Decisions { conformal, test, biases: bias } = &model;
            let kept =
                Calibrated::new(&settings, conformal.view(), bias, &y, grouped.then_some(&*groups));
            let read = Calibrated::from_scores(measure, mondrian, &kept.scores()).unwrap();
            assert_eq!(kept, read);
            let (mut alphas, mut p) = ([0.0; 3], [0.0; 3]);
            for (i, row) in test.rows().into_iter().enumerate() {
                let mut rng = Rng::for_row(7, 2, Purpose::Smoothing, i);
                let tau: Vec<f64> = (0..3).map(|_| rng.uniform()).collect();
                read.judge(&row.to_vec(), bias, smoothed.then_some(&*tau), &mut alphas, &mut p);
                assert_eq!(p.to_vec(), expected.row(i).to_vec());
            }
        }
    }

    #[test]
    fn impossible_scores_are_refused() {
        let measure = Nonconformity { lambda: 0.5, classes: 2, score: Score::Weighted };
        let one = |alpha: &[f64], share: Option<Vec<f64>>, groups| {
            let scores = CategoryScores { alpha: alpha.to_vec(), share, groups };
            Calibrated::from_scores(measure, false, &[scores])
        };
        assert!(one(&[0.25, 0.5], None, None).is_ok());
        assert!(one(&[0.5, 0.25], None, None).is_err());
        assert!(one(&[1e-12], None, None).is_err(), "not on the grid");
        assert!(one(&[0.5], Some(vec![1.0, 1.0]), Some(1)).is_err());
        assert!(one(&[0.5], Some(vec![1.0]), None).is_err());
        assert!(Calibrated::from_scores(measure, true, &[]).is_err());
    }
}
