//! A set of indices that only shrinks: the columns of a problem that are still present, or the
//! units made of them.

/// A subset of 0..n.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    is_here: Vec<bool>,
    count: usize,
}

impl Present {
    /// All of 0..count.
    pub fn all(count: usize) -> Self {
        Self { is_here: vec![true; count], count }
    }

    /// How many indices are present.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether an index is present.
    pub fn has(&self, number: usize) -> bool {
        self.is_here[number]
    }

    /// Removes an index; returns whether it was present.
    pub fn remove(&mut self, number: usize) -> bool {
        let was_here = std::mem::take(&mut self.is_here[number]);
        self.count -= usize::from(was_here);
        was_here
    }

    /// The remaining indices, ascending.
    pub fn list(&self) -> Vec<usize> {
        (0..self.is_here.len()).filter(|&number| self.is_here[number]).collect()
    }
}
