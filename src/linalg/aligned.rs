//! Storage that starts at a cache line, so that no SIMD vector straddles two lines.

use std::ops::{Deref, DerefMut};

/// f64 per cache line.
const LINE: usize = 8;

/// A vector of f64 aligned to a cache line.
#[derive(Debug, Default)]
pub struct AlignedVec {
    /// With some slack before and after.
    buffer: Vec<f64>,
    start: usize,
    length: usize,
}

impl AlignedVec {
    /// `length` zeros.
    pub fn zeros(length: usize) -> Self {
        let buffer = vec![0.0; length + LINE - 1];
        let start = start_of(&buffer);
        Self { buffer, start, length }
    }

    /// Keeps the first `length` values.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

impl Clone for AlignedVec {
    fn clone(&self) -> Self {
        let mut buffer = Vec::with_capacity(self.length + LINE - 1);
        let start = start_of(&buffer);
        buffer.resize(start, 0.0);
        buffer.extend_from_slice(self);
        Self { buffer, start, length: self.length }
    }
}

/// Where the first cache line begins; alignment is only for speed, so an unknown offset may be anything.
fn start_of(buffer: &[f64]) -> usize {
    buffer.as_ptr().align_offset(LINE * size_of::<f64>()).min(LINE - 1)
}

impl Deref for AlignedVec {
    type Target = [f64];
    fn deref(&self) -> &[f64] {
        &self.buffer[self.start..self.start + self.length]
    }
}

impl DerefMut for AlignedVec {
    fn deref_mut(&mut self) -> &mut [f64] {
        &mut self.buffer[self.start..self.start + self.length]
    }
}
