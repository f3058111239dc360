//! How much splits agree, and two methods, by size. Kept units are left out of the indices: they
//! are in every subset.

use super::{Pair, Paths, RankTable};
use crate::evaluate::{Agreement, Similarity, agreement_by_size, similarity_by_size};

/// So many features without the kept ones.
fn removable(sizes: &[usize], kept: usize) -> Vec<usize> {
    sizes.iter().map(|size| size.saturating_sub(kept)).collect()
}

impl Paths<'_> {
    /// The agreement of the splits at each of these sizes.
    pub fn agreement(&self, sizes: &[usize]) -> Vec<(usize, Agreement)> {
        let ranks = RankTable::new(self);
        let agreement = agreement_by_size(ranks.splits(), &removable(sizes, self.info.kept()));
        sizes.iter().copied().zip(agreement).collect()
    }
}

impl Pair<'_> {
    /// The similarity of the two methods at each of these sizes; empty without splits.
    pub fn similarity(&self, sizes: &[usize]) -> Vec<(usize, Similarity)> {
        let (a, b): (Vec<_>, Vec<_>) =
            self.both.iter().map(|(a, b)| (a.ranks(), b.ranks())).unzip();
        let similarity = similarity_by_size(&a, &b, &removable(sizes, self.info.kept()));
        sizes.iter().copied().zip(similarity).collect()
    }
}
