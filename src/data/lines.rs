//! The line of the file on which each row starts.

use crate::error::RowKind;

/// The line of the file (from 1) on which each row starts, ascending. Nearly all rows start on the
/// line after the previous row, so only the exceptions are stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowLines {
    /// The first row, and its line, of every run of rows on consecutive lines.
    runs: Vec<(usize, u64)>,
    len: usize,
    /// What a row is in the file.
    kind: RowKind,
}

impl RowLines {
    /// No rows yet, of this kind.
    pub(super) fn new(kind: RowKind) -> Self {
        Self { kind, ..Self::default() }
    }

    /// What a row is in the file.
    pub fn kind(&self) -> RowKind {
        self.kind
    }

    /// The same rows without those that are not listed.
    pub(super) fn select(&self, rows: impl Iterator<Item = usize>) -> Self {
        let mut selected = Self::new(self.kind);
        rows.for_each(|row| selected.push(self.of(row)));
        selected
    }

    /// Adds the line of the next row.
    pub fn push(&mut self, line: u64) {
        let follows =
            self.runs.last().is_some_and(|&(row, first)| first + (self.len - row) as u64 == line);
        if !follows {
            self.runs.push((self.len, line));
        }
        self.len += 1;
    }

    /// The line of a row; 0 if there is no such row.
    pub fn of(&self, row: usize) -> u64 {
        let run = self.runs.partition_point(|&(first, _)| first <= row);
        match self.runs[..run].last() {
            Some(&(first, line)) if row < self.len => line + (row - first) as u64,
            _ => 0,
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The lines of all rows.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        (0..self.len).map(|row| self.of(row))
    }

    /// Bytes that are reserved.
    pub(super) fn bytes(&self) -> u64 {
        (self.runs.capacity() * size_of::<(usize, u64)>()) as u64
    }
}

impl FromIterator<u64> for RowLines {
    fn from_iter<I: IntoIterator<Item = u64>>(lines: I) -> Self {
        let mut all = Self::default();
        lines.into_iter().for_each(|line| all.push(line));
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_row_has_its_line(steps in prop::collection::vec(1_u64..3, 0..50)) {
            let given: Vec<u64> = steps.iter().scan(1, |line, step| { *line += step; Some(*line) }).collect();
            let lines: RowLines = given.iter().copied().collect();
            prop_assert_eq!(lines.len(), given.len());
            prop_assert_eq!(lines.of(given.len()), 0);
            prop_assert_eq!(lines.iter().collect::<Vec<_>>(), given);
        }
    }

    #[test]
    fn consecutive_lines_take_no_room() {
        let lines: RowLines = (2..1_000_000).collect();
        assert_eq!(lines.runs, [(0, 2)]);
    }
}
