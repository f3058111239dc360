//! What a run reads of a path of eliminations, whatever its models are.

use ndarray::Array2;

use super::{Elimination, Removal};
use crate::error::Result;

/// A path as an iterator; between two items it answers for the model of the last one.
pub trait FeaturePath: Iterator<Item = Result<Removal>> {
    /// f_r(x) on the rows of the n-th `watch`: rows × classes. An error if one is not finite.
    fn decisions(&self, watched: usize) -> Result<Array2<f64>>;

    /// The bias of each class.
    fn biases(&self) -> Vec<f64>;

    /// β of a unit that is present.
    fn beta(&self, unit: usize) -> f64;

    /// β of every unit present, ascending.
    fn betas(&self) -> Vec<f64>;

    /// The removable units present in the order in which they would be removed at once: the
    /// survivors of a path.
    fn rest(&self) -> Vec<usize>;
}

impl FeaturePath for Elimination<'_> {
    fn decisions(&self, watched: usize) -> Result<Array2<f64>> {
        Elimination::decisions(self, watched)
    }

    fn biases(&self) -> Vec<f64> {
        self.model().biases()
    }

    fn beta(&self, unit: usize) -> f64 {
        Elimination::beta(self, unit)
    }

    fn betas(&self) -> Vec<f64> {
        Elimination::betas(self)
    }

    fn rest(&self) -> Vec<usize> {
        Elimination::rest(self)
    }
}
