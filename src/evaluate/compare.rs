//! Is the difference of two methods more than luck? Paired over splits, with a test that knows
//! splits overlap (docs/method.md section 8).

use serde::{Deserialize, Serialize};

use super::stats::{Bootstrap, Spread, two_sided_p};

/// Metrics are of order 1, so differences carry rounding of about 1e-16: a smaller range than this
/// is none.
const NO_SPREAD: f64 = 1e-12;

/// The difference of one metric between two methods, over the splits both have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PairedDifference {
    /// The mean over splits.
    pub mean: f64,
    /// The sample standard deviation; None for one split.
    pub sd: Option<f64>,
    /// The lower end of the 95 % bootstrap interval of the mean; None for one split.
    pub lo: Option<f64>,
    /// The upper end.
    pub hi: Option<f64>,
    /// Nadeau and Bengio's corrected t; None for one split or without spread.
    pub t_corrected: Option<f64>,
    /// Its two-sided p-value with J−1 degrees of freedom.
    pub p_corrected: Option<f64>,
}

impl Bootstrap {
    /// Judges the differences of J splits; `test_share` is n_test/(n − n_test). None without
    /// splits, or if a split lacks the metric.
    pub fn paired(&mut self, differences: &[f64], test_share: f64) -> Option<PairedDifference> {
        if differences.iter().any(|difference| difference.is_nan()) {
            return None;
        }
        let Spread { mean, sd } = Spread::of(differences)?;
        let none =
            PairedDifference { mean, sd, lo: None, hi: None, t_corrected: None, p_corrected: None };
        let Some(sd) = sd else { return Some(none) };
        let range = differences
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), d| (d.min(lo), d.max(hi)));
        if range.1 - range.0 < NO_SPREAD {
            return Some(PairedDifference {
                sd: Some(0.0),
                lo: Some(mean),
                hi: Some(mean),
                ..none
            });
        }
        let (lo, hi) = self.interval(differences, mean);
        let splits = differences.len() as f64;
        let t = mean / ((1.0 / splits + test_share).sqrt() * sd);
        let p = two_sided_p(t, splits - 1.0);
        Some(PairedDifference {
            lo: Some(lo),
            hi: Some(hi),
            t_corrected: Some(t),
            p_corrected: p,
            ..none
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};

    const DIFFERENCES: [f64; 8] = [0.03, -0.01, 0.02, 0.05, 0.0, 0.04, 0.01, -0.02];

    fn paired(differences: &[f64]) -> Option<PairedDifference> {
        Bootstrap::new(0).paired(differences, 1.0 / 3.0)
    }

    fn close(ours: f64, theirs: f64) {
        assert!((ours - theirs).abs() <= 1e-12 * theirs.abs().max(1e-3), "{ours} {theirs}");
    }

    /// As far as p-values go.
    fn close_in_ten_digits(ours: f64, theirs: f64) {
        assert!((ours - theirs).abs() <= 6e-10 * theirs, "{ours} {theirs}");
    }

    #[test]
    fn corrected_t_matches_scipy() {
        let ours = paired(&DIFFERENCES).unwrap();
        close(ours.mean, 0.015);
        close(ours.sd.unwrap(), 0.024_494_897_427_831_782);
        close(ours.t_corrected.unwrap(), 0.904_534_033_733_290_9);
        close_in_ten_digits(ours.p_corrected.unwrap(), 0.395_775_265_318_846_44);
    }

    #[test]
    fn interval_is_near_normal_theory() {
        let mut rng = Rng::new(1, 0, Purpose::Split);
        let differences: Vec<f64> = (0..60).map(|_| rng.uniform()).collect();
        let ours = paired(&differences).unwrap();
        // The bootstrap's sd of a mean has n, not n−1, below.
        let theory = 1.96 * ours.sd.unwrap() * (59.0_f64 / 60.0).sqrt() / 60.0_f64.sqrt();
        for half in [ours.hi.unwrap() - ours.mean, ours.mean - ours.lo.unwrap()] {
            // A quantile of 2000 has a relative standard error of 3 %; 4 of them.
            assert!((half / theory - 1.0).abs() < 0.12, "{half} {theory}");
        }
    }

    #[test]
    fn swapping_the_methods_mirrors_everything() {
        let mut bootstrap = Bootstrap::new(9);
        let one = bootstrap.paired(&DIFFERENCES, 0.25).unwrap();
        let other = bootstrap.paired(&DIFFERENCES.map(|d| -d), 0.25).unwrap();
        assert_eq!(
            (one.mean, one.lo, one.hi),
            (-other.mean, other.hi.map(|v| -v), other.lo.map(|v| -v))
        );
        assert_eq!(
            (one.t_corrected, one.p_corrected),
            (other.t_corrected.map(|t| -t), other.p_corrected)
        );
    }

    #[test]
    fn one_table_gives_what_fresh_ones_give() {
        let mut bootstrap = Bootstrap::new(4);
        for splits in [8, 5, 8] {
            let differences = &DIFFERENCES[..splits];
            let fresh = Bootstrap::new(4).paired(differences, 0.3);
            assert_eq!(bootstrap.paired(differences, 0.3), fresh);
        }
    }

    #[test]
    fn what_cannot_be_said_is_absent() {
        assert_eq!(paired(&[]), None);
        assert_eq!(paired(&[0.1, f64::NAN]), None, "not counted on one split");
        let one = paired(&[0.2]).unwrap();
        assert_eq!((one.mean, one.sd, one.lo, one.t_corrected), (0.2, None, None, None));
        // 0.3 − 0.2 and 0.2 − 0.1 differ in the last bit: that is no spread.
        let constant = paired(&[0.3 - 0.2, 0.2 - 0.1, 0.1]).unwrap();
        assert_eq!(
            (constant.sd, constant.t_corrected, constant.p_corrected),
            (Some(0.0), None, None)
        );
        assert_eq!((constant.lo, constant.hi), (Some(constant.mean), Some(constant.mean)));
    }
}
