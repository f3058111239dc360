//! Numbers that begin where a line of the cache does, so that no vector of them lies across two lines.

use std::ops::{Deref, DerefMut};

/// Numbers to a line of the cache.
const LINE: usize = 8;

/// Numbers in one piece.
#[derive(Debug, Default)]
pub struct Aligned {
    /// With some room before and after.
    buffer: Vec<f64>,
    start: usize,
    length: usize,
}

impl Aligned {
    /// So many zeros.
    pub fn zeros(length: usize) -> Self {
        let buffer = vec![0.0; length + LINE - 1];
        let start = start_of(&buffer);
        Self { buffer, start, length }
    }

    /// Keeps the first ones.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Self {
        let mut buffer = Vec::with_capacity(self.length + LINE - 1);
        let start = start_of(&buffer);
        buffer.resize(start, 0.0);
        buffer.extend_from_slice(self);
        Self { buffer, start, length: self.length }
    }
}

/// Where the first line begins. Where this is not known, anywhere will do.
fn start_of(buffer: &[f64]) -> usize {
    buffer.as_ptr().align_offset(LINE * size_of::<f64>()).min(LINE - 1)
}

impl Deref for Aligned {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        &self.buffer[self.start..self.start + self.length]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.buffer[self.start..self.start + self.length]
    }
}
