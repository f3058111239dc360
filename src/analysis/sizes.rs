//! The sizes that paths have visited.

use super::{Paths, Trace};
use crate::evaluate::common_sizes;

impl Paths<'_> {
    /// The sizes that every path has visited, falling.
    pub fn common_sizes(&self) -> Vec<usize> {
        let all: Vec<&Trace> = self.traces().collect();
        common_sizes(&all)
    }

    /// The sizes that some path has visited, rising; with `--early` not all go equally far.
    pub fn visited_sizes(&self) -> Vec<usize> {
        let mut visited = vec![false; self.info.units.len() + 1];
        self.traces().flat_map(Trace::steps).for_each(|step| visited[step.size] = true);
        (0..visited.len()).filter(|&size| visited[size]).collect()
    }
}
