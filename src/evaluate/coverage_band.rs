//! How far the coverage of one valid split may be from 1 − ε (docs/method.md section 6).

use super::stats::BetaBinomial;

/// Whether `n_conf` conformal rows are too few to exclude any label: even the strangest row has p =
/// 1/(n+1) > ε.
pub fn never_excluded(n_conf: usize, epsilon: f64) -> bool {
    excluding_counts(n_conf, epsilon) == 0
}

/// l = #{c in 0..=n_conf: (c+1)/(n_conf+1) ≤ ε}, with the very comparison that makes sets.
pub(super) fn excluding_counts(n_conf: usize, epsilon: f64) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

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
