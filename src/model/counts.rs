//! Rows counted as they are predicted: sizes of sets, and what was odd.

use std::collections::BTreeMap;

use super::score::ScoredRow;

/// What is counted over all rows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows.
    pub rows: usize,
    /// With an empty set.
    pub empty: usize,
    /// With one class in the set.
    pub single: usize,
    /// Classes in all sets together.
    in_sets: usize,
    /// Rows with a category that was never seen, by variable.
    pub unseen: BTreeMap<usize, usize>,
    /// Rows with a number outside the training range, by variable.
    pub outside: BTreeMap<usize, usize>,
    /// Rows with gaps that were filled.
    pub filled: usize,
    /// Rows with more gaps than the model allows.
    pub too_many: usize,
    /// Rows without a value of any feature of the model.
    pub unmeasured: usize,
    /// Rows with any flag.
    pub odd: usize,
}

impl RowCounts {
    /// Takes a row.
    pub fn add(&mut self, row: &ScoredRow) {
        self.rows += 1;
        self.empty += usize::from(row.set.is_empty());
        self.single += usize::from(row.set.len() == 1);
        self.in_sets += row.set.len();
        let flags = &row.flags;
        flags.unseen.iter().for_each(|&variable| *self.unseen.entry(variable).or_default() += 1);
        flags.outside.iter().for_each(|&variable| *self.outside.entry(variable).or_default() += 1);
        self.filled += usize::from(flags.missing > 0);
        self.too_many += usize::from(flags.too_many);
        self.unmeasured += usize::from(flags.unmeasured);
        self.odd +=
            usize::from(flags.missing > 0 || !flags.outside.is_empty() || !flags.unseen.is_empty());
    }

    /// Rows with several classes in the set.
    pub fn several(&self) -> usize {
        self.rows - self.empty - self.single
    }

    /// The mean size of the sets; none without rows.
    pub fn mean_set_size(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.in_sets as f64 / self.rows as f64)
    }
}
