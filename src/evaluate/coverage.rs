//! The coverage to expect of rows that are like those that calibrated: the band of one valid split,
//! and the exact law of one calibration or of several (docs/method.md sections 6 and 16).

use super::stats::BetaBinomial;
use statrs::function::erf::erfc;

/// Longer sums are treated as normal.
const MOST_EXACT_ROWS: usize = 4000;

/// Whether `n_conf` conformal rows are too few to exclude any label: even the strangest row has p =
/// 1/(n+1) > ε.
pub fn never_excluded(n_conf: usize, epsilon: f64) -> bool {
    excluding_counts(n_conf, epsilon) == 0
}

/// l = #{c in 0..=n_conf: (c+1)/(n_conf+1) ≤ ε}, with the very comparison that makes sets.
fn excluding_counts(n_conf: usize, epsilon: f64) -> usize {
    let rows = (n_conf + 1) as f64;
    (0..=n_conf).take_while(|&c| (c + 1) as f64 / rows <= epsilon).count()
}

/// Where the coverage of one valid split falls 95 times in 100.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// The 2.5 % quantile.
    pub lo: f64,
    /// The 97.5 % quantile.
    pub hi: f64,
    /// The mean: 1−ε or a little more.
    pub mean: f64,
}

/// The 95 %, equal-tailed band of the coverage on `n_test` rows, for p-values neither smoothed nor
/// published: the covered count is BetaBinomial(n_test, n_conf+1−l, l). A quantile is the least
/// count whose cumulative probability reaches it. None without test rows.
pub fn coverage_band(n_test: usize, n_conf: usize, epsilon: f64) -> Option<Band> {
    if n_test == 0 {
        return None;
    }
    let l = excluding_counts(n_conf, epsilon);
    let a = (n_conf + 1 - l) as f64;
    let b = l as f64;
    let mean = a / (a + b);
    if l == 0 || l == n_conf + 1 {
        return Some(Band { lo: mean, hi: mean, mean });
    }
    let quantile = BetaBinomial::new(n_test, a, b);
    let share = |probability: f64| quantile.of(probability) as f64 / n_test as f64;
    Some(Band { lo: share(0.025), hi: share(0.975), mean })
}

/// Rows that one calibration tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Calibrations {
    /// Tested rows.
    pub test: usize,
    /// Rows that calibrate.
    pub conformal: usize,
}

/// The law of the number of covered rows.
#[derive(Debug, Clone, PartialEq)]
pub struct CoverageLaw {
    rows: usize,
    law: Law,
}

#[derive(Debug, Clone, PartialEq)]
enum Law {
    /// P(covered ≤ k).
    Counts(Vec<f64>),
    Normal {
        mean: f64,
        sd: f64,
    },
}

impl CoverageLaw {
    /// The sum of BetaBinomial(n_test, n_conf + 1 − l, l) over calibrations, taken as independent;
    /// `None` without rows.
    pub fn new(parts: &[Calibrations], epsilon: f64) -> Option<Self> {
        let rows = parts.iter().map(|part| part.test).sum();
        if rows == 0 {
            return None;
        }
        let parts = parts.iter().filter(|part| part.test > 0).map(|part| {
            let l = excluding_counts(part.conformal, epsilon) as f64;
            (part.test, part.conformal as f64 + 1.0 - l, l)
        });
        if rows > MOST_EXACT_ROWS {
            let (mut mean, mut variance) = (0.0, 0.0);
            for (n, a, b) in parts {
                let n = n as f64;
                let sum = a + b;
                mean += n * a / sum;
                variance += n * a * b * (sum + n) / (sum * sum * (sum + 1.0));
            }
            return Some(Self { rows, law: Law::Normal { mean, sd: variance.sqrt() } });
        }
        let mut law = vec![1.0];
        for (n, a, b) in parts {
            law = convolved(&law, &probabilities(n, a, b));
        }
        let sum_up = |sum: &mut f64, probability: f64| {
            *sum += probability;
            Some(*sum)
        };
        Some(Self { rows, law: Law::Counts(law.into_iter().scan(0.0, sum_up).collect()) })
    }

    /// How likely so few covered rows, or fewer, are.
    pub fn at_most(&self, covered: usize) -> f64 {
        match &self.law {
            Law::Counts(cumulative) => cumulative.get(covered).copied().unwrap_or(1.0).min(1.0),
            Law::Normal { sd, .. } if *sd == 0.0 => 1.0,
            Law::Normal { mean, sd } => {
                0.5 * erfc((mean - covered as f64 - 0.5) / (sd * std::f64::consts::SQRT_2))
            }
        }
    }

    /// Where the share of covered rows falls 95 times in 100.
    pub fn band(&self) -> (f64, f64) {
        let share = |count: f64| (count / self.rows as f64).clamp(0.0, 1.0);
        match &self.law {
            Law::Counts(cumulative) => {
                let total = cumulative.last().copied().unwrap_or(1.0);
                let quantile = |p: f64| cumulative.partition_point(|&sum| sum < p * total) as f64;
                (share(quantile(0.025)), share(quantile(0.975)))
            }
            Law::Normal { mean, sd } => {
                (share(mean - 1.959_964 * sd), share(mean + 1.959_964 * sd))
            }
        }
    }
}

fn probabilities(n: usize, a: f64, b: f64) -> Vec<f64> {
    // A p-value can always, or never, be as small as ε.
    if a <= 0.0 || b <= 0.0 {
        let covered = if b <= 0.0 { n } else { 0 };
        return (0..=n).map(|k| f64::from(u8::from(k == covered))).collect();
    }
    BetaBinomial::new(n, a, b).probabilities()
}

fn convolved(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; a.len() + b.len() - 1];
    for (i, &p) in a.iter().enumerate() {
        b.iter().enumerate().for_each(|(j, &q)| sum[i + j] += p * q);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};

    #[test]
    fn one_calibration_has_the_band_of_a_split() {
        for (test, conformal) in [(39, 60), (100, 25), (1, 19), (500, 200)] {
            let law = CoverageLaw::new(&[Calibrations { test, conformal }], 0.1).unwrap();
            let band = coverage_band(test, conformal, 0.1).unwrap();
            assert_eq!(law.band(), (band.lo, band.hi), "{test} {conformal}");
            assert!((law.at_most(test) - 1.0).abs() < 1e-9);
        }
        // Too few calibration rows to exclude anything: every row is covered.
        let law = CoverageLaw::new(&[Calibrations { test: 7, conformal: 5 }], 0.1).unwrap();
        assert_eq!((law.band(), law.at_most(6), law.at_most(7)), ((1.0, 1.0), 0.0, 1.0));
    }

    /// By drawing calibration and test scores, as the definition says.
    #[test]
    fn simulated_calibrations_have_this_law() {
        let parts =
            [Calibrations { test: 20, conformal: 30 }, Calibrations { test: 13, conformal: 45 }];
        let law = CoverageLaw::new(&parts, 0.2).unwrap();
        let mut rng = Rng::new(1, 0, Purpose::Folds);
        let draws = 20_000;
        let mut at_most = [0_usize; 34];
        for _ in 0..draws {
            let mut covered = 0;
            for part in parts {
                let scores: Vec<f64> = (0..part.conformal).map(|_| rng.uniform()).collect();
                for _ in 0..part.test {
                    let own = rng.uniform();
                    let larger = scores.iter().filter(|&&score| score >= own).count();
                    covered += usize::from((1 + larger) as f64 / (1 + part.conformal) as f64 > 0.2);
                }
            }
            at_most[covered..].iter_mut().for_each(|count| *count += 1);
        }
        for (covered, &count) in at_most.iter().enumerate() {
            let simulated = count as f64 / f64::from(draws);
            let exact = law.at_most(covered);
            assert!((simulated - exact).abs() < 0.015, "{covered}: {simulated} {exact}");
        }
    }

    #[test]
    fn a_long_sum_is_nearly_normal() {
        let part = Calibrations { test: 2000, conformal: 900 };
        let exact = CoverageLaw::new(&[part, part], 0.1).unwrap();
        let normal =
            CoverageLaw::new(&[part, part, Calibrations { test: 1, conformal: 900 }], 0.1).unwrap();
        let ((lo, hi), (near_lo, near_hi)) = (exact.band(), normal.band());
        assert!(
            (lo - near_lo).abs() < 0.003 && (hi - near_hi).abs() < 0.003,
            "{lo} {hi} {near_lo} {near_hi}"
        );
        assert!((exact.at_most(3500) - normal.at_most(3500)).abs() < 0.003);
    }

    #[test]
    fn knows_when_rows_are_too_few_to_exclude() {
        // ⌈1/ε⌉−1 rows are needed.
        for (epsilon, needed) in [(0.1, 9), (0.05, 19), (0.3, 3), (0.2, 4)] {
            assert!(never_excluded(needed - 1, epsilon));
            assert!(!never_excluded(needed, epsilon));
        }
    }

    #[test]
    fn band_of_a_small_case_is_as_by_hand() {
        // n_conf = 1, ε = 1/2: l = 1, so BetaBinomial(n, 1, 1), uniform on 0..=n.
        let band = coverage_band(39, 1, 0.5).unwrap();
        assert_eq!(band.mean, 0.5);
        // Cumulative (k+1)/40: 0.025 is reached at k = 0 or, by rounding, 1; 0.975 at 38 or 39.
        assert!(band.lo <= 1.0 / 39.0 && band.hi >= 38.0 / 39.0, "{band:?}");
        let band = coverage_band(99, 1, 0.5).unwrap();
        assert_eq!((band.lo, band.hi), (2.0 / 99.0, 97.0 / 99.0));
        // n_conf = 2, ε = 1/3: BetaBinomial(2, 2, 1) is 1/6, 2/6, 3/6.
        let band = coverage_band(2, 2, 1.0 / 3.0).unwrap();
        assert_eq!((band.lo, band.hi, band.mean), (0.0, 1.0, 2.0 / 3.0));
    }

    #[test]
    fn bands_match_scipys_betabinom() {
        for (n_test, n_conf, epsilon, lo, hi, mean) in [
            (40, 25, 0.1, 30.0, 40.0, 0.923_076_923_076_923_1),
            (100, 50, 0.1, 79.0, 98.0, 0.901_960_784_313_725_5),
            (1000, 400, 0.05, 923.0, 973.0, 0.950_124_688_279_301_7),
            (50, 30, 0.2, 31.0, 48.0, 0.806_451_612_903_225_8),
        ] {
            let band = coverage_band(n_test, n_conf, epsilon).unwrap();
            assert_eq!((band.lo, band.hi), (lo / n_test as f64, hi / n_test as f64));
            assert!((band.mean - mean).abs() < 1e-12);
        }
    }

    #[test]
    fn band_without_exclusion_is_a_point() {
        assert_eq!(coverage_band(20, 8, 0.1), Some(Band { lo: 1.0, hi: 1.0, mean: 1.0 }));
        assert_eq!(coverage_band(0, 8, 0.1), None);
    }
}
