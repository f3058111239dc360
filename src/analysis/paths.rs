//! The finished paths of one method: what the rest of this layer reads.

use super::{History, Trace};
use crate::run::{RunInfo, Step};
use crate::select::Method;

/// The finished paths of a method, by split.
#[derive(Debug, Clone)]
pub struct Paths<'a> {
    pub info: &'a RunInfo,
    pub method: Method,
    splits: Vec<(usize, &'a Trace)>,
}

impl<'a> Paths<'a> {
    /// Those of a history.
    pub fn new(history: &'a History, info: &'a RunInfo, method: Method) -> Self {
        Self { info, method, splits: history.of_method(method).collect() }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.splits.len()
    }

    /// Whether no split has finished.
    pub fn is_empty(&self) -> bool {
        self.splits.is_empty()
    }

    /// Each with the number of its split.
    pub fn splits(&self) -> impl Iterator<Item = (usize, &'a Trace)> {
        self.splits.iter().copied()
    }

    /// The paths alone.
    pub fn traces(&self) -> impl Iterator<Item = &'a Trace> {
        self.splits.iter().map(|&(_, trace)| trace)
    }

    /// Their steps at one size; a path that ended early may not have come so far.
    pub fn at_size(&self, size: usize) -> impl Iterator<Item = &'a Step> {
        self.traces().filter_map(move |trace| trace.at_size(size))
    }
}
