//! Plain statistics, each written once: spread, median, correlation, the bootstrap, Student's p,
//! the beta-binomial distribution. Knows numbers, nothing of features or splits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use statrs::function::beta::checked_beta_reg;
use statrs::function::gamma::ln_gamma;

use crate::data::seed::{Purpose, Rng};

/// Bootstrap resamples.
const RESAMPLES: usize = 2000;

/// The interval runs from the 50th smallest to the 50th largest of the resampled means (2.5 % of
/// 2000): swapping the methods mirrors it exactly.
const TAIL: usize = RESAMPLES / 40;

/// The 2.5 % quantile lies near 1.96 standard deviations: hardly ever within this many.
const LIKELY: f64 = 1.5;

/// A quotient that is 0 where it is undefined (docs/method.md section 7).
pub fn ratio(part: impl Into<f64>, whole: impl Into<f64>) -> f64 {
    let whole = whole.into();
    if whole == 0.0 { 0.0 } else { part.into() / whole }
}

/// Mean and sample standard deviation over splits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation (n−1); None for one split.
    pub sd: Option<f64>,
}

impl Spread {
    /// The spread of some values; None if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let sd = || (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        (n > 0.0).then(|| Self { mean, sd: (n > 1.0).then(sd) })
    }
}

/// The median of values in ascending order; between two, their mean.
pub fn median(sorted: &[usize]) -> Option<f64> {
    let n = sorted.len();
    (n > 0).then(|| (sorted[(n - 1) / 2] + sorted[n / 2]) as f64 / 2.0)
}

/// Pearson's r of the pairs of which both are present; 0 if it is not defined.
pub fn correlation<'a>(pairs: impl Iterator<Item = (&'a f64, &'a f64)> + Clone) -> f64 {
    let both = || pairs.clone().filter(|(x, y)| !x.is_nan() && !y.is_nan());
    let n = both().count() as f64;
    let (mean_x, mean_y) = both().fold((0.0, 0.0), |(sx, sy), (x, y)| (sx + x / n, sy + y / n));
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (x, y) in both() {
        let (dx, dy) = (x - mean_x, y - mean_y);
        xx += dx * dx;
        yy += dy * dy;
        xy += dx * dy;
    }
    if xx * yy > 0.0 { xy / (xx * yy).sqrt() } else { 0.0 }
}
/// Resamples of splits, drawn once for each number of splits and shared by all metrics and sizes.
#[derive(Debug, Clone)]
pub struct Bootstrap {
    seed: u64,
    /// By number of splits: how often each split is in each resample, split after split.
    tables: BTreeMap<usize, Vec<u8>>,
    means: Vec<f64>,
    largest: Vec<f64>,
}

impl Bootstrap {
    /// The resamples of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, tables: BTreeMap::new(), means: Vec::new(), largest: Vec::new() }
    }

    /// The percentile interval of the mean.
    pub fn interval(&mut self, differences: &[f64], mean: f64) -> (f64, f64) {
        let splits = differences.len();
        let table = self.tables.entry(splits).or_insert_with(|| multiplicities(splits, self.seed));
        self.means.clear();
        self.means.resize(RESAMPLES, 0.0);
        for (times, difference) in table.chunks_exact(RESAMPLES).zip(differences) {
            let part = (difference - mean) / splits as f64;
            self.means
                .iter_mut()
                .zip(times)
                .for_each(|(sum, times)| *sum += f64::from(*times) * part);
        }
        let spread =
            differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>().sqrt() / splits as f64;
        let lo = -self.tail(-1.0, LIKELY * spread);
        let hi = self.tail(1.0, LIKELY * spread);
        (mean + lo, mean + hi)
    }

    /// The [`TAIL`]-th largest of the means times `sign`; it is likely above `cut`, so that most
    /// need not be put in order.
    fn tail(&mut self, sign: f64, cut: f64) -> f64 {
        let signed = || self.means.iter().map(|mean| sign * mean);
        self.largest.clear();
        self.largest.extend(signed().filter(|&mean| mean >= cut));
        if self.largest.len() < TAIL {
            self.largest.clear();
            self.largest.extend(signed());
        }
        let at = self.largest.len() - TAIL;
        *self.largest.select_nth_unstable_by(at, f64::total_cmp).1
    }
}

/// How often each split is in each resample: splits × resamples, so that a sum over splits runs
/// along memory. A byte is enough: of n draws from n, 256 of one split are never seen.
fn multiplicities(splits: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed, 0, Purpose::Bootstrap);
    let mut times = vec![0_u8; splits * RESAMPLES];
    for resample in 0..RESAMPLES {
        for _ in 0..splits {
            let times = &mut times[rng.below(splits) * RESAMPLES + resample];
            *times = times.saturating_add(1);
        }
    }
    times
}

/// P(|T| ≥ |t|) of Student's distribution: I_x(ν/2, 1/2) at x = ν/(ν + t²), to ten digits. The last
/// ones would be those of the system's exp and ln, which differ from processor to processor.
pub fn two_sided_p(t: f64, freedom: f64) -> Option<f64> {
    let p = checked_beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t)).ok()?;
    format!("{p:.9e}").parse().ok()
}

/// The 97.5 % quantile of Student's distribution, where the two-sided p is 5 %, to eight digits: as
/// [`two_sided_p`], it must not depend on the processor.
pub fn student_quantile(freedom: f64) -> f64 {
    // Between those of the normal distribution and of one degree of freedom.
    let (mut lo, mut hi) = (1.9, 13.0);
    for _ in 0..50 {
        let middle = (lo + hi) / 2.0;
        match two_sided_p(middle, freedom) {
            Some(p) if p > 0.05 => lo = middle,
            _ => hi = middle,
        }
    }
    format!("{hi:.7e}").parse().unwrap_or(hi)
}

/// How many of n rows, each drawn with a probability that is itself Beta(a, b).
pub struct BetaBinomial {
    cumulative: Vec<f64>,
}

impl BetaBinomial {
    /// The distribution over 0..=n.
    pub fn new(n: usize, a: f64, b: f64) -> Self {
        let rows = n as f64;
        let ln_beta = |a: f64, b: f64| ln_gamma(a) + ln_gamma(b) - ln_gamma(a + b);
        // C(n, k) = 1/((n+1) B(k+1, n−k+1)).
        let constant = -(rows + 1.0).ln() - ln_beta(a, b);
        let probability = |k: usize| {
            let k = k as f64;
            (constant - ln_beta(k + 1.0, rows - k + 1.0) + ln_beta(k + a, rows - k + b)).exp()
        };
        let sum_up = |sum: &mut f64, k: usize| {
            *sum += probability(k);
            Some(*sum)
        };
        Self { cumulative: (0..=n).scan(0.0, sum_up).collect() }
    }

    /// The probability of each count.
    pub fn probabilities(&self) -> Vec<f64> {
        let before = std::iter::once(0.0).chain(self.cumulative.iter().copied());
        self.cumulative.iter().zip(before).map(|(sum, before)| sum - before).collect()
    }

    /// The least count whose cumulative probability reaches this one.
    pub fn of(&self, probability: f64) -> usize {
        let total = self.cumulative.last().copied().unwrap_or(0.0);
        self.cumulative.partition_point(|&sum| sum < probability * total)
    }
}

/// The exact two-sided sign test: how likely so uneven a division of `better` + `worse` is if both
/// are equally likely.
pub fn sign_test(better: usize, worse: usize) -> f64 {
    let n = (better + worse) as f64;
    let fewer = better.min(worse);
    if better == worse {
        return 1.0;
    }
    // P(X ≤ k) of Binomial(n, 1/2) is the regularised incomplete beta function at 1/2.
    let tail = statrs::function::beta::beta_reg(n - fewer as f64, fewer as f64 + 1.0, 0.5);
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_tests_match_sums_of_binomials() {
        // 2 Σ C(n, k)/2ⁿ over the smaller side, by hand.
        for (better, worse, p) in [
            (0, 5, 2.0 / 32.0),
            (1, 5, 14.0 / 64.0),
            (8, 2, 112.0 / 1024.0),
            (3, 3, 1.0),
            (0, 0, 1.0),
            (4, 3, 1.0),
        ] {
            assert!((sign_test(better, worse) - p).abs() < 1e-12, "{better} {worse}");
        }
    }

    /// As far as p-values go.
    fn close_in_ten_digits(ours: f64, theirs: f64) {
        assert!((ours - theirs).abs() <= 6e-10 * theirs, "{ours} {theirs}");
    }

    #[test]
    fn student_p_values_match_scipy() {
        for (t, freedom, p) in [
            (0.0, 3.0, 1.0),
            (2.0, 1.0, 0.295_167_235_300_866_5),
            (2.5, 19.0, 0.021_740_411_168_397_44),
            (-12.0, 4.0, 0.000_276_428_548_502_973),
            (40.0, 9.0, 1.898_299_844_933_982_2e-11),
        ] {
            close_in_ten_digits(two_sided_p(t, freedom).unwrap(), p);
        }
    }

    #[test]
    fn student_quantiles_match_scipy() {
        for (freedom, quantile) in
            [(1.0, 12.706_205), (4.0, 2.776_445_1), (19.0, 2.093_024_1), (99.0, 1.984_217)]
        {
            assert!((student_quantile(freedom) - quantile).abs() < 5e-7, "{freedom}");
        }
    }

    #[test]
    fn the_tails_are_those_of_all_means_in_order() {
        let mut rng = Rng::new(2, 0, Purpose::Split);
        // Spread evenly, and so skewed that fewer than 2.5 % may lie beyond the cut.
        for power in [1, 40] {
            let differences: Vec<f64> = (0..12).map(|_| rng.uniform().powi(power)).collect();
            let mut bootstrap = Bootstrap::new(3);
            let mean = Spread::of(&differences).unwrap().mean;
            let ours = bootstrap.interval(&differences, mean);
            let mut means = bootstrap.means.clone();
            means.sort_unstable_by(f64::total_cmp);
            assert_eq!(ours.0, mean + means[TAIL - 1]);
            assert_eq!(ours.1, mean + means[RESAMPLES - TAIL]);
        }
    }

    #[test]
    fn the_median_lies_between_the_middle_two() {
        assert_eq!(
            [median(&[]), median(&[3]), median(&[3, 4]), median(&[1, 2, 9])],
            [None, Some(3.0), Some(3.5), Some(2.0)]
        );
    }

    #[test]
    fn correlation_leaves_out_what_is_missing() {
        let x = [1.0, 2.0, f64::NAN, 3.0, 9.0];
        let y = [2.0, 4.0, 5.0, 6.0, f64::NAN];
        assert!((correlation(x.iter().zip(&y)) - 1.0).abs() < 1e-12);
        assert_eq!(
            correlation([1.0, 1.0].iter().zip(&[2.0, 3.0])),
            0.0,
            "a constant correlates with nothing"
        );
    }
}
