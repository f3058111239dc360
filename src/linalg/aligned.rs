//! Numbers that start at a line of the cache, so that no vector of them lies across two lines.

use std::ops::{Deref, DerefMut};

/// Numbers in a line of the cache.
const LINE: usize = 8;

/// Numbers after some padding.
#[derive(Debug, Default)]
pub struct Aligned {
    padded: Vec<f64>,
    start: usize,
}

impl Aligned {
    /// So many zeros.
    pub fn zeros(length: usize) -> Self {
        let mut padded = vec![0.0; length + LINE - 1];
        let start = start_of(&padded);
        padded.truncate(start + length);
        Self { padded, start }
    }

    /// Keeps the first numbers.
    pub fn truncate(&mut self, length: usize) {
        self.padded.truncate(self.start + length);
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Self {
        let mut padded = Vec::with_capacity(self.len() + LINE - 1);
        let start = start_of(&padded);
        padded.resize(start, 0.0);
        padded.extend_from_slice(self);
        Self { padded, start }
    }
}

/// Where the first line starts; where the address is not known, any start will do.
fn start_of(buffer: &[f64]) -> usize {
    buffer.as_ptr().align_offset(LINE * size_of::<f64>()).min(LINE - 1)
}

impl Deref for Aligned {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        &self.padded[self.start..]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.padded[self.start..]
    }
}

/// Lanes of a vector that start at a line of the cache.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(align(64))]
pub struct Line<T>(pub T);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_their_copies_start_at_a_line() {
        for length in [0, 1, 9, 5000] {
            let mut numbers = Aligned::zeros(length + 3);
            numbers.iter_mut().zip(1..).for_each(|(number, value)| *number = f64::from(value));
            numbers.truncate(length);
            let expected: Vec<f64> = (1..).map(f64::from).take(length).collect();
            for numbers in [&numbers, &numbers.clone()] {
                assert_eq!(numbers[..], expected);
                assert!(numbers.as_ptr().addr().is_multiple_of(64));
            }
        }
    }
}
