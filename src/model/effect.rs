//! Effects: what a feature adds to decision values, compared with reference rows. The one place
//! where shares are centred (docs/method.md section 15); knows neither rows nor files.

/// The mean share of a feature in the decision value of each class, over reference rows: the zero
/// of its effects. A share alone says nothing about its direction: Shapley shares of a kernel
/// machine compare a row with no features at all, not with another row.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline(Vec<f64>);

impl Baseline {
    /// The mean over some rows; 0 without rows.
    pub fn over<'a>(shares: impl Iterator<Item = &'a [f64]>, classes: usize) -> Self {
        let mut sums = vec![0.0; classes];
        let mut rows = 0;
        for share in shares {
            sums.iter_mut().zip(share).for_each(|(sum, share)| *sum += share);
            rows += 1;
        }
        sums.iter_mut().for_each(|sum| *sum /= f64::from(rows.max(1)));
        Self(sums)
    }

    /// The shares of a row, less their means.
    pub fn effect(&self, share: &[f64]) -> Vec<f64> {
        share.iter().zip(&self.0).map(|(share, mean)| share - mean).collect()
    }

    /// The means, which belong to what is left without the feature.
    pub fn means(&self) -> &[f64] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_effect_over_the_reference_rows_is_zero() {
        let rows = [[1.0, -4.0], [2.5, 0.5], [-0.25, 7.0]];
        let baseline = Baseline::over(rows.iter().map(|row| &row[..]), 2);
        let again = rows.map(|row| baseline.effect(&row));
        let mean = Baseline::over(again.iter().map(|row| &row[..]), 2);
        assert!(mean.means().iter().all(|mean| mean.abs() < 1e-15), "{mean:?}");
        assert_eq!(Baseline::over(std::iter::empty(), 2).effect(&[3.0, 4.0]), [3.0, 4.0]);
    }
}
