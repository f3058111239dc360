//! Whether new rows are among those that made a model: it keeps a salted hash of each of its rows,
//! over the columns that it needs (docs/formats.md).

use std::collections::HashMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::file::Model;
use crate::data::{Dataset, RowBatch};

/// Bytes of a hash.
const BYTES: usize = 8;
/// Hexadecimal digits of a hash.
pub(super) const DIGITS: usize = 2 * BYTES;

/// The hash of the encoded values of a row.
fn hash(salt: &str, values: impl Iterator<Item = f64>) -> String {
    let mut hash = Sha256::new_with_prefix(salt);
    for value in values {
        // All gaps are the same, and so are −0 and 0.
        let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
        hash.update(value.to_le_bytes());
    }
    hash.finalize().iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect()
}

/// The hashes of all rows of a dataset over the columns of some variables (in ascending order), sorted:
/// their order says nothing of the rows.
pub(super) fn row_hashes(data: &Dataset, variables: &[usize], salt: &str) -> String {
    let is_used = |&column: &usize| variables.binary_search(&data.variables[column]).is_ok();
    let columns: Vec<usize> = (0..data.variables.len()).filter(is_used).collect();
    let of_row = |row| hash(salt, columns.iter().map(|&column| data.x[[column, row]]));
    let mut hashes: Vec<String> = (0..data.y.len()).map(of_row).collect();
    hashes.sort_unstable();
    hashes.concat()
}

/// How many rows of a file made the model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct SeenRows {
    /// Rows with a class.
    pub rows: usize,
    /// Those that are equal to a row that made the model, in all columns that it needs.
    pub seen: usize,
    /// So many would be if they were other rows of the same population.
    pub by_chance: f64,
    /// Whether the file can test the model.
    pub is_test: bool,
}

/// Counts the rows of a file that made a model.
#[derive(Debug, Clone)]
pub struct SeenTally<'a> {
    salt: &'a str,
    /// How many rows of the model have each hash.
    known: HashMap<&'a [u8], usize>,
    rows: usize,
    seen: usize,
}

impl<'a> SeenTally<'a> {
    /// No rows yet.
    pub fn new(model: &'a Model) -> Self {
        let mut known = HashMap::new();
        for hash in model.fitted.row_hashes.as_bytes().chunks(DIGITS) {
            *known.entry(hash).or_default() += 1;
        }
        Self { salt: &model.fitted.fingerprint, known, rows: 0, seen: 0 }
    }

    /// Takes the next rows; those without a class test nothing.
    pub fn add(&mut self, batch: &RowBatch) {
        for (row, _) in batch.classes.iter().enumerate().filter(|(_, class)| class.is_some()) {
            let hash = hash(self.salt, batch.x.column(row).iter().copied());
            self.rows += 1;
            self.seen += usize::from(self.known.contains_key(hash.as_bytes()));
        }
    }

    /// What was counted. The share of the model's rows that are equal to another of them is what
    /// coincidence explains. The file is no test if more than half of the other rows were seen, by
    /// three standard deviations.
    pub fn finish(&self) -> SeenRows {
        let (all, alike) = self.known.values().fold((0, 0), |(all, alike), &rows| {
            (all + rows, if rows > 1 { alike + rows } else { alike })
        });
        let share = alike as f64 / (all as f64).max(1.0);
        let rows = self.rows as f64;
        let by_chance = share * rows;
        let beyond = self.seen as f64 - by_chance;
        let is_test = beyond <= (rows - by_chance) / 2.0
            || beyond <= 3.0 * (by_chance * (1.0 - share)).sqrt();
        SeenRows { rows: self.rows, seen: self.seen, by_chance, is_test }
    }
}
