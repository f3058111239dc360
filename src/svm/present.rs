//! Which of many numbers are still there: columns of a problem, or the units that are made of them.

/// Some of the numbers from zero on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    is_here: Vec<bool>,
    count: usize,
}

impl Present {
    /// All numbers below a count.
    pub fn all(count: usize) -> Self {
        Self { is_here: vec![true; count], count }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Whether a number is there.
    pub fn has(&self, number: usize) -> bool {
        self.is_here[number]
    }

    /// Lets one go; tells whether it was there.
    pub fn remove(&mut self, number: usize) -> bool {
        let was_here = std::mem::take(&mut self.is_here[number]);
        self.count -= usize::from(was_here);
        was_here
    }

    /// Them, ascending.
    pub fn list(&self) -> Vec<usize> {
        (0..self.is_here.len()).filter(|&number| self.is_here[number]).collect()
    }
}
