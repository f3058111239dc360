//! Conformal p-values and prediction sets of one split's test rows (docs/method.md section 6).
//! Knows scores, not models.

use ndarray::Array2;

use super::grouped::{GroupVotes, WeightedScores};
use super::stats::ratio;
use super::{Tally, concordant_pairs};
use crate::data::seed::{Purpose, Rng};
use crate::select::{Nonconformity, Score};

/// Scores are compared in whole steps of 2⁻³²: ties of exact arithmetic stay ties in any
/// arithmetic.
pub(super) const STEPS_PER_UNIT: f64 = 4_294_967_296.0;

/// How p-values and sets are made.
#[derive(Debug, Clone)]
pub struct ConformalSettings {
    /// A label is in the set if its p-value is above this.
    pub epsilon: f64,
    /// Compare a candidate label only with conformal rows of that label.
    pub mondrian: bool,
    /// Break ties at random, so that p-values of true labels are exactly uniform.
    pub smoothed: bool,
    /// The score.
    pub measure: Nonconformity,
}

impl ConformalSettings {
    /// The category of conformal rows that a label is compared with: its own class under Mondrian,
    /// else all.
    pub(super) fn category(&self, y: usize) -> usize {
        if self.mondrian { y } else { 0 }
    }
}

/// What one model says of the rows of a split.
pub struct Decisions {
    /// The decision values f_r(x) of the conformal rows, rows × m.
    pub conformal: Array2<f64>,
    /// Those of the test rows.
    pub test: Array2<f64>,
    /// The bias of each class.
    pub biases: Vec<f64>,
}

/// Conformal scores of one category.
enum References<'a> {
    Rows(BucketIndex<'a>),
    Groups(WeightedScores),
}

/// The conformal and test labels of one split, ready to judge any model of it.
#[derive(Debug, Clone)]
pub struct Evaluator {
    settings: ConformalSettings,
    conformal_y: Vec<usize>,
    test_y: Vec<usize>,
    /// Conformal scores lie category by category: all rows are one category, or each class is one
    /// under Mondrian.
    slots: Vec<usize>,
    /// Where each category begins; one entry more than there are categories.
    bounds: Vec<usize>,
    /// The votes of conformal groups, where rows come in groups.
    votes: Option<GroupVotes>,
    /// τ, test rows × m, if smoothed.
    tau: Option<Array2<f64>>,
}

impl Evaluator {
    /// Takes the labels of the conformal and test rows; `test_rows` are row numbers of the table,
    /// and τ depends on them, not on positions in the split.
    pub fn new(
        settings: ConformalSettings,
        conformal_y: &[usize],
        test_y: &[usize],
        test_rows: &[usize],
        seed: u64,
        split: u64,
    ) -> Self {
        let classes = settings.measure.classes;
        let mut bounds = vec![0; if settings.mondrian { classes } else { 1 } + 1];
        for &y in conformal_y {
            bounds[settings.category(y) + 1] += 1;
        }
        for category in 1..bounds.len() {
            bounds[category] += bounds[category - 1];
        }
        let mut next = bounds.clone();
        let slot = |&y: &usize| {
            let slot = &mut next[settings.category(y)];
            *slot += 1;
            *slot - 1
        };
        let slots = conformal_y.iter().map(slot).collect();
        let tau = settings.smoothed.then(|| {
            let mut tau = Array2::zeros((test_rows.len(), classes));
            for (mut of_row, &row) in tau.rows_mut().into_iter().zip(test_rows) {
                let mut rng = Rng::for_row(seed, split, Purpose::Smoothing, row);
                of_row.map_inplace(|tau| *tau = rng.uniform());
            }
            tau
        });
        let (conformal_y, test_y) = (conformal_y.to_vec(), test_y.to_vec());
        Self { settings, conformal_y, test_y, slots, bounds, votes: None, tau }
    }

    /// Gives each group of conformal rows one vote: valid for test rows of other groups.
    #[must_use]
    pub fn with_groups(mut self, conformal_groups: &[usize]) -> Self {
        let rows = self.conformal_y.iter().zip(&self.slots).zip(conformal_groups);
        let rows = rows.map(|((&y, &slot), &group)| (self.settings.category(y), slot, group));
        self.votes = Some(GroupVotes::new(rows, self.bounds.len() - 1));
        self
    }

    /// Counts what one model does on the test rows.
    pub fn tally(&self, model: &Decisions) -> Tally {
        let mut tally = Tally::new(self.settings.measure.classes);
        self.judge(model, |row, decision, p| {
            tally.add(self.test_y[row], predicted(decision), p, self.settings.epsilon);
        });
        tally.concordant = concordant_pairs(model.test.view(), &self.test_y);
        tally
    }

    /// The mean over test rows of the sum of all p-values, to the bit as `Metric::SScore` reads it
    /// off a tally; nothing else is counted.
    pub fn s_score(&self, model: &Decisions) -> f64 {
        let mut sum = 0.0;
        self.judge(model, |_, _, p| sum += p.iter().sum::<f64>());
        ratio(sum, self.test_y.len() as f64)
    }

    /// The p-value of every test row under every label, test rows × m.
    pub fn p_values(&self, model: &Decisions) -> Array2<f64> {
        let mut values = Array2::zeros(model.test.dim());
        self.judge(model, |row, _, p| {
            values.row_mut(row).iter_mut().zip(p).for_each(|(value, p)| *value = *p);
        });
        values
    }

    /// Visits every test row with its decision values and p-values.
    fn judge(&self, model: &Decisions, mut visit: impl FnMut(usize, &[f64], &[f64])) {
        let Decisions { conformal, test, biases } = model;
        let measure = &self.settings.measure;
        let mut decision = vec![0.0; measure.classes];
        let mut alphas = vec![0.0; measure.classes];
        let mut references = vec![0.0; self.slots.len()];
        for ((row, &y), &slot) in
            conformal.rows().into_iter().zip(&self.conformal_y).zip(&self.slots)
        {
            decision.iter_mut().zip(row).for_each(|(own, f)| *own = *f);
            measure.alphas(&decision, biases, &mut alphas);
            references[slot] = on_grid(alphas[y]);
        }
        if self.votes.is_none() {
            for category in self.bounds.windows(2) {
                references[category[0]..category[1]].sort_unstable_by(f64::total_cmp);
            }
        }
        let categories: Vec<References<'_>> = self
            .bounds
            .windows(2)
            .enumerate()
            .map(|(category, bounds)| {
                let scores = &references[bounds[0]..bounds[1]];
                match &self.votes {
                    None => References::Rows(BucketIndex::new(scores)),
                    Some(votes) => References::Groups(votes.weigh(category, bounds[0], scores)),
                }
            })
            .collect();
        for (i, row) in test.rows().into_iter().enumerate() {
            decision.iter_mut().zip(row).for_each(|(own, f)| *own = *f);
            measure.alphas(&decision, biases, &mut alphas);
            for (y, value) in alphas.iter_mut().enumerate() {
                let tau = self.tau.as_ref().map(|tau| tau[[i, y]]);
                *value = match &categories[self.settings.category(y)] {
                    References::Rows(scores) => {
                        p_value(scores, on_grid(*value), tau, measure.score)
                    }
                    References::Groups(scores) => scores.p_value(on_grid(*value), tau),
                };
            }
            visit(i, &decision, &alphas);
        }
    }
}

/// A score in whole grid steps; NaN counts as the largest score.
pub(super) fn on_grid(alpha: f64) -> f64 {
    if alpha.is_nan() { f64::INFINITY } else { round(alpha * STEPS_PER_UNIT) }
}

/// To the nearest whole number, halves away from zero, as [`f64::round`], which is a call on older
/// processors.
fn round(value: f64) -> f64 {
    // Adding 1.5·2⁵² leaves no room for a fraction: the sum is rounded to the nearest whole number,
    // halves to even.
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    if value.abs() >= 2_251_799_813_685_248.0 {
        return value.round();
    }
    let even = (value + MAGIC) - MAGIC;
    let left = value - even;
    if left == 0.5 && value > 0.0 {
        even + 1.0
    } else if left == -0.5 && value < 0.0 {
        even - 1.0
    } else {
        even
    }
}

/// Ascending scores with an index into them by value.
struct BucketIndex<'a> {
    scores: &'a [f64],
    first: f64,
    /// Buckets per unit of score; 0 if there is only one bucket.
    per_unit: f64,
    /// Where each step begins; one entry more than there are steps.
    starts: Vec<u32>,
}

impl<'a> BucketIndex<'a> {
    /// Fewer scores than this are searched without an index.
    const FEW: usize = 32;

    fn new(scores: &'a [f64]) -> Self {
        let n = scores.len();
        let (first, width) = match scores {
            [first, .., last] if n >= Self::FEW => (*first, last - first),
            _ => (0.0, 0.0),
        };
        let per_unit = if width > 0.0 && width.is_finite() { n as f64 / width } else { 0.0 };
        let mut index = Self { scores, first, per_unit, starts: vec![0; 2] };
        if per_unit > 0.0 && u32::try_from(n).is_ok() {
            index.starts.resize(n + 1, 0);
            // `step` never falls, so each step's scores lie together.
            for &score in scores {
                let step = index.step(score);
                index.starts[step + 1] += 1;
            }
            (0..n).for_each(|step| index.starts[step + 1] += index.starts[step]);
        } else {
            index.per_unit = 0.0;
        }
        index
    }

    fn step(&self, score: f64) -> usize {
        // A cast of what is below zero gives 0, of what is too large the largest.
        (((score - self.first) * self.per_unit) as usize).min(self.scores.len() - 1)
    }

    /// How many scores are below (or, with `or_equal`, not above) this one.
    fn below(&self, score: f64, or_equal: bool) -> usize {
        let (start, end) = if self.per_unit > 0.0 {
            let step = self.step(score);
            (self.starts[step] as usize, self.starts[step + 1] as usize)
        } else {
            (0, self.scores.len())
        };
        let near = &self.scores[start..end];
        start + near.partition_point(|&own| own < score || (or_equal && own == score))
    }
}

/// p of a score among conformal scores.
fn p_value(reference: &BucketIndex<'_>, alpha: f64, tau: Option<f64>, score: Score) -> f64 {
    let n = reference.scores.len();
    let at_least = n - reference.below(alpha, false);
    p_of_counts(n, at_least, tau.map(|tau| (tau, n - reference.below(alpha, true))), score)
}

/// p of a score, given how many of n conformal scores reach it and, with τ, how many exceed it.
pub(super) fn p_of_counts(
    n: usize,
    at_least: usize,
    smoothed: Option<(f64, usize)>,
    score: Score,
) -> f64 {
    let rows = match score {
        Score::Weighted => n + 1,
        // The authors' code divides by n (docs/method.md section 9); a p above 1 means no more than
        // 1.
        Score::Published => n.max(1),
    };
    let count = match smoothed {
        None => (at_least + 1) as f64,
        Some((tau, above)) => above as f64 + tau * (at_least - above + 1) as f64,
    };
    (count / rows as f64).min(1.0)
}

/// argmax_r f_r, the lowest index on ties (docs/method.md section 7).
pub fn predicted(decision: &[f64]) -> usize {
    (1..decision.len()).fold(0, |best, r| if decision[r] > decision[best] { r } else { best })
}

/// (N−1)/(m−1): the mean set size on a scale where 0 is one label and 1 is all.
pub fn normalised_inefficiency(inefficiency: f64, classes: usize) -> f64 {
    (inefficiency - 1.0) / (classes - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::Rng;
    use crate::evaluate::{Metric, coverage_band};
    use ndarray::Axis;
    use proptest::prelude::*;
    use serde_json::Value;

    /// With λ = 1 and two classes, both scores are α(x, y) = −f_y where the other f is 0.
    fn settings(score: Score) -> ConformalSettings {
        let measure = Nonconformity { lambda: 1.0, classes: 2, score };
        ConformalSettings { epsilon: 0.1, mondrian: false, smoothed: false, measure }
    }

    #[test]
    fn an_index_counts_as_a_search_does() {
        let mut rng = Rng::new(5, 0, Purpose::Split);
        for n in [0, 1, 31, 32, 33, 400] {
            for (spread, outlier) in [(6.0, 5.0), (1e9, 1e300), (1e-3, f64::INFINITY), (0.0, 0.0)] {
                let mut scores: Vec<f64> =
                    (0..n).map(|_| (spread * rng.uniform()).round() - spread / 3.0).collect();
                if let Some(last) = scores.last_mut() {
                    *last = outlier;
                }
                scores.sort_unstable_by(f64::total_cmp);
                let index = BucketIndex::new(&scores);
                let beyond = [f64::NEG_INFINITY, f64::INFINITY, -1e30, 1e30, 0.5];
                for &score in scores.iter().chain(&beyond) {
                    assert_eq!(
                        index.below(score, false),
                        scores.partition_point(|&own| own < score)
                    );
                    assert_eq!(
                        index.below(score, true),
                        scores.partition_point(|&own| own <= score)
                    );
                }
            }
        }
    }

    #[test]
    fn rounds_as_the_standard_library() {
        let mut rng = Rng::new(6, 0, Purpose::Split);
        let large = [
            2.0_f64.powi(51),
            2.0_f64.powi(52) + 1.0,
            1e300,
            f64::INFINITY,
            0.0,
            0.499_999_999_999_999_94,
        ];
        let halves = (0..50).map(|i| f64::from(i) + 0.5);
        let random = (0..1000).map(|_| 1e6 * rng.uniform());
        for value in large.into_iter().chain(halves).chain(random) {
            assert_eq!(round(value), value.round());
            assert_eq!(round(-value), (-value).round());
        }
    }

    /// Decision values that give each row the score at its label.
    fn decisions(scores: &[f64], labels: &[usize]) -> Array2<f64> {
        let mut decisions = Array2::zeros((scores.len(), 2));
        for (i, (&score, &y)) in scores.iter().zip(labels).enumerate() {
            decisions[[i, y]] = -score;
        }
        decisions
    }

    #[test]
    fn p_values_match_the_fixture() {
        let fixture: Value =
            serde_json::from_str(include_str!("../../tests/fixtures/pvalues.json")).unwrap();
        let numbers =
            |key: &str| fixture[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap());
        let scores: Vec<f64> = numbers("calibration").collect();
        let labels: Vec<usize> = numbers("calibration_labels").map(|y| y as usize).collect();
        let tests = fixture["tests"].as_array().unwrap();
        let column =
            |key: &str| -> Vec<f64> { tests.iter().map(|t| t[key].as_f64().unwrap()).collect() };
        let zeros = vec![0; tests.len()];
        let rows: Vec<usize> = (0..tests.len()).collect();
        let conformal = decisions(&scores, &labels);
        let evaluator = |settings| Evaluator::new(settings, &labels, &zeros, &rows, 0, 0);
        let check = |evaluator: &Evaluator, y: usize, key: &str| {
            let test = decisions(&column("alpha"), &vec![y; tests.len()]);
            let biases = vec![0.3, -0.2];
            let model = Decisions { conformal: conformal.clone(), test, biases };
            let tally = evaluator.tally(&model);
            assert_eq!(evaluator.s_score(&model), Metric::SScore.value(&tally));
            let p = evaluator.p_values(&model);
            for (ours, theirs) in p.column(y).iter().zip(column(key)) {
                assert!((ours - theirs.min(1.0)).abs() < 1e-12, "{key}: {ours} {theirs}");
            }
            p
        };

        let standard = evaluator(settings(Score::Weighted));
        for y in [0, 1] {
            let p = check(&standard, y, "p_standard");
            for (key, epsilon) in [("in_set_eps_0_1", 0.1), ("in_set_eps_0_2", 0.2)] {
                for (p, test) in p.column(y).iter().zip(tests) {
                    assert_eq!(*p > epsilon, test[key].as_bool().unwrap());
                }
            }
        }
        check(&evaluator(settings(Score::Published)), 0, "p_reference_code");
        let mondrian = evaluator(ConformalSettings { mondrian: true, ..settings(Score::Weighted) });
        check(&mondrian, 0, "p_mondrian_class0");
        check(&mondrian, 1, "p_mondrian_class1");
        let mut smoothed =
            evaluator(ConformalSettings { smoothed: true, ..settings(Score::Weighted) });
        for (mut of_row, tau) in
            smoothed.tau.as_mut().unwrap().rows_mut().into_iter().zip(column("tau"))
        {
            of_row.fill(tau);
        }
        check(&smoothed, 0, "p_smoothed");
    }

    /// How often p of the true label is ≤ each ε, by class: one test row a draw, exchangeable with
    /// 30 conformal rows.
    fn rejections(
        settings: &ConformalSettings,
        draws: u64,
        epsilons: &[f64],
    ) -> [(u32, Vec<u32>); 2] {
        let mut rng = Rng::new(11, 0, Purpose::Split);
        let mut counts = [(0, vec![0; epsilons.len()]), (0, vec![0; epsilons.len()])];
        for draw in 0..draws {
            let y: Vec<usize> = (0..31).map(|_| usize::from(rng.uniform() < 0.3)).collect();
            // Twelve values only, so there are ties; class 1 is stranger.
            let scores: Vec<f64> = y.iter().map(|&y| (rng.below(12) + 3 * y) as f64).collect();
            let all = decisions(&scores, &y);
            let (conformal, test) = all.view().split_at(Axis(0), 30);
            let (conformal, test) = (conformal.to_owned(), test.to_owned());
            let model = Decisions { conformal, test, biases: vec![0.0; 2] };
            let evaluator = Evaluator::new(settings.clone(), &y[..30], &y[30..], &[7], 5, draw);
            let p = evaluator.p_values(&model)[[0, y[30]]];
            let (n, rejected) = &mut counts[y[30]];
            *n += 1;
            rejected
                .iter_mut()
                .zip(epsilons)
                .for_each(|(count, epsilon)| *count += u32::from(p <= *epsilon));
        }
        counts
    }

    const EPSILONS: [f64; 4] = [0.05, 0.1, 0.2, 0.5];
    const DRAWS: u64 = 20_000;

    /// Four standard errors of a share.
    fn tolerance(epsilon: f64, n: u32) -> f64 {
        4.0 * (epsilon * (1.0 - epsilon) / f64::from(n)).sqrt()
    }

    #[test]
    fn a_true_label_is_excluded_at_most_as_often_as_promised() {
        let [(n0, zero), (n1, one)] = rejections(&settings(Score::Weighted), DRAWS, &EPSILONS);
        for ((a, b), epsilon) in zero.iter().zip(&one).zip(EPSILONS) {
            let share = f64::from(a + b) / f64::from(n0 + n1);
            assert!(share <= epsilon + tolerance(epsilon, n0 + n1), "{share} at {epsilon}");
        }
    }

    #[test]
    fn smoothed_p_values_are_uniform() {
        let smoothed = ConformalSettings { smoothed: true, ..settings(Score::Weighted) };
        let [(n0, zero), (n1, one)] = rejections(&smoothed, DRAWS, &EPSILONS);
        for ((a, b), epsilon) in zero.iter().zip(&one).zip(EPSILONS) {
            let share = f64::from(a + b) / f64::from(n0 + n1);
            assert!((share - epsilon).abs() <= tolerance(epsilon, n0 + n1), "{share} at {epsilon}");
        }
    }

    #[test]
    fn mondrian_keeps_the_promise_to_each_class() {
        let mondrian = ConformalSettings { mondrian: true, ..settings(Score::Weighted) };
        for (n, rejected) in rejections(&mondrian, DRAWS, &EPSILONS) {
            for (count, epsilon) in rejected.iter().zip(EPSILONS) {
                let share = f64::from(*count) / f64::from(n);
                assert!(share <= epsilon + tolerance(epsilon, n), "{share} at {epsilon}");
            }
        }
    }

    #[test]
    fn tau_belongs_to_the_row_not_to_its_position() {
        let smoothed = ConformalSettings { smoothed: true, ..settings(Score::Weighted) };
        let tau = |rows: &[usize]| {
            Evaluator::new(smoothed.clone(), &[], &[0, 1], rows, 1, 2).tau.unwrap()
        };
        let (one, other) = (tau(&[4, 9]), tau(&[9, 4]));
        assert_eq!(one.row(0), other.row(1));
        assert_eq!(one.row(1), other.row(0));
        assert_ne!(one[[0, 0]], one[[0, 1]]);
    }

    #[test]
    fn rounding_noise_breaks_no_tie_and_strange_numbers_do_no_harm() {
        let reference = [on_grid(0.1 + 0.2), on_grid(f64::INFINITY), on_grid(f64::NAN)];
        assert_eq!(
            p_value(&BucketIndex::new(&reference), on_grid(0.3), None, Score::Weighted),
            1.0
        );
        assert_eq!(
            p_value(&BucketIndex::new(&reference), on_grid(f64::NAN), None, Score::Weighted),
            0.75
        );
        assert_eq!(
            p_value(
                &BucketIndex::new(&reference),
                on_grid(f64::NEG_INFINITY),
                None,
                Score::Weighted
            ),
            1.0
        );
        assert_eq!(p_value(&BucketIndex::new(&[]), 0.0, None, Score::Published), 1.0);
    }

    #[test]
    fn predicts_the_first_of_equals() {
        assert_eq!(predicted(&[0.5, 0.7, 0.7]), 1);
        assert_eq!(predicted(&[-0.0, 0.0]), 0);
    }

    #[test]
    fn normalised_inefficiency_runs_from_one_label_to_all() {
        assert_eq!(normalised_inefficiency(1.0, 4), 0.0);
        assert_eq!(normalised_inefficiency(4.0, 4), 1.0);
    }

    #[test]
    fn band_agrees_with_simulated_splits() {
        let n_test = 40;
        let n_conf = 25;
        let epsilon = 0.1;
        let draws = 20_000;
        let band = coverage_band(n_test, n_conf, epsilon).unwrap();
        let mut rng = Rng::new(3, 0, Purpose::Split);
        let mut coverages: Vec<f64> = (0..draws)
            .map(|_| {
                let mut scores: Vec<f64> = (0..n_conf).map(|_| rng.uniform()).collect();
                scores.sort_unstable_by(f64::total_cmp);
                let covered = |_: &usize| {
                    p_value(&BucketIndex::new(&scores), rng.uniform(), None, Score::Weighted)
                        > epsilon
                };
                (0..n_test).filter(covered).count() as f64 / n_test as f64
            })
            .collect();
        coverages.sort_unstable_by(f64::total_cmp);
        let mean = coverages.iter().sum::<f64>() / f64::from(draws);
        // sd of one coverage ≈ 0.08, so 4 standard errors.
        assert!((mean - band.mean).abs() < 4.0 * 0.08 / f64::from(draws).sqrt(), "{mean} {band:?}");
        let below =
            |bar: f64| coverages.iter().filter(|&&c| c < bar).count() as f64 / f64::from(draws);
        let up_to =
            |bar: f64| coverages.iter().filter(|&&c| c <= bar).count() as f64 / f64::from(draws);
        for (q, bar) in [(0.025, band.lo), (0.975, band.hi)] {
            let noise = 4.0 * (q * (1.0 - q) / f64::from(draws)).sqrt();
            assert!(
                below(bar) < q + noise && up_to(bar) > q - noise,
                "{q}: {} {}",
                below(bar),
                up_to(bar)
            );
        }
    }

    proptest! {
        #[test]
        fn the_order_of_conformal_rows_is_irrelevant(
            rows in prop::collection::vec((0_usize..2, -4_i32..4, -4_i32..4), 1..30),
            seed: u64,
            mondrian: bool,
        ) {
            let mut shuffled = rows.clone();
            Rng::new(seed, 0, Purpose::Split).shuffle(&mut shuffled);
            let settings = ConformalSettings { mondrian, ..settings(Score::Weighted) };
            let test = decisions(&[-1.0, 0.0, 2.0], &[0, 1, 1]);
            let tally = |rows: &[(usize, i32, i32)]| {
                let y: Vec<usize> = rows.iter().map(|row| row.0).collect();
                let f = Array2::from_shape_fn((y.len(), 2), |(i, r)| f64::from([rows[i].1, rows[i].2][r]) / 3.0);
                let model = Decisions { conformal: f, test: test.clone(), biases: vec![0.0; 2] };
                Evaluator::new(settings.clone(), &y, &[0, 1, 1], &[0, 1, 2], 0, 0).tally(&model)
            };
            prop_assert_eq!(tally(&rows), tally(&shuffled));
        }

        #[test]
        fn sets_shrink_as_epsilon_grows(
            scores in prop::collection::vec(-3.0..3.0_f64, 2..40),
            small in 0.0..0.5_f64,
            more in 0.0..0.5_f64,
        ) {
            let y: Vec<usize> = (0..scores.len()).map(|i| i % 2).collect();
            let f = decisions(&scores, &y);
            let tally = |epsilon| {
                let settings = ConformalSettings { epsilon, ..settings(Score::Weighted) };
                let model = Decisions { conformal: f.clone(), test: f.clone(), biases: vec![0.0; 2] };
                Evaluator::new(settings, &y, &y, &y, 0, 0).tally(&model)
            };
            let wide = tally(small);
            let narrow = tally(small + more);
            prop_assert!(narrow.covered.iter().zip(&wide.covered).all(|(a, b)| a <= b));
            prop_assert!(narrow.set_sizes.iter().zip(&wide.set_sizes).all(|(a, b)| a <= b));
            prop_assert_eq!(narrow.confusion, wide.confusion);
        }
    }
}
