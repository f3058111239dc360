//! Doubts about finished data: duplicate rows, redundant columns, features that determine the
//! class.
//!
//! Every check costs one pass over the matrix and memory for one number per row or column.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{DefaultHasher, Hash, Hasher};

use ndarray::ArrayView1;

use super::rows;
use crate::data::Dataset;
use crate::data::features::DropReason;
use crate::data::names::{listed, short};

/// Fewer rows agree by chance.
const FEWEST_ROWS: usize = 10;
/// A feature leaks the class if it separates the classes and the chance of that, over all features,
/// is below this.
const CHANCE: f64 = 1e-3;

impl Dataset {
    /// Adds warnings to the audit.
    pub(super) fn doubt(&mut self) {
        let copies = self.copies();
        if !copies.is_empty() {
            let said = self.pairs(&copies, "repeats");
            self.audit.warn(format!("some columns are copies of others: {said}"));
        }
        let twins = self.twins(&copies);
        if !twins.is_empty() {
            let said = self.pairs(&twins, "follows");
            self.audit.warn(format!("some columns are perfectly correlated with others: {said}"));
        }
        self.doubt_repeated_rows();
        let leaks = self.leaks();
        if !leaks.is_empty() {
            let names = listed(leaks.iter().map(|&unit| self.units[unit].name.as_str()));
            let predict = if leaks.len() == 1 { "feature predicts" } else { "features predict" };
            self.audit.warn(format!(
                "{} {predict} the class of every row without error: is it known before the class is? If not, use --drop: {names}",
                leaks.len()
            ));
        }
    }

    fn pairs(&self, pairs: &[(usize, usize)], verb: &str) -> String {
        const SHOWN: usize = 5;
        let name = |column: usize| short(&self.columns[column]);
        let said = |&(a, b): &(usize, usize)| format!("'{}' {verb} '{}'", name(b), name(a));
        let shown: Vec<_> = pairs.iter().take(SHOWN).map(said).collect();
        let more = if pairs.len() > SHOWN {
            format!(" and {} more", pairs.len() - SHOWN)
        } else {
            String::new()
        };
        format!("{}{more}", shown.join(", "))
    }

    /// Columns with the same values as an earlier one: (earlier, later).
    fn copies(&self) -> Vec<(usize, usize)> {
        let bits = |column: usize| self.x.row(column).into_iter().map(|value| value.to_bits());
        let mut first = HashMap::new();
        let mut pairs = Vec::new();
        for column in 0..self.columns.len() {
            let mut hasher = DefaultHasher::new();
            bits(column).for_each(|bits| bits.hash(&mut hasher));
            match first.entry(hasher.finish()) {
                Entry::Vacant(entry) => {
                    entry.insert(column);
                }
                Entry::Occupied(entry) if bits(*entry.get()).eq(bits(column)) => {
                    pairs.push((*entry.get(), column))
                }
                Entry::Occupied(_) => {}
            }
        }
        pairs
    }

    /// Columns that are a straight line of an earlier one, copies left out. Standardised, such
    /// columns have the same projection up to its sign: neighbours in that order are looked at
    /// closely.
    fn twins(&self, copies: &[(usize, usize)]) -> Vec<(usize, usize)> {
        let copied: Vec<usize> = copies.iter().map(|&(_, later)| later).collect();
        let mut projected: Vec<(f64, usize)> = (0..self.columns.len())
            .filter(|column| copied.binary_search(column).is_err())
            .filter_map(|column| Some((projection(self.x.row(column))?, column)))
            .collect();
        projected.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
        let mut pairs: Vec<(usize, usize)> = projected
            .windows(2)
            .filter(|pair| near(pair[0].0, pair[1].0))
            .map(|pair| (pair[0].1.min(pair[1].1), pair[0].1.max(pair[1].1)))
            .filter(|&(a, b)| are_straight(self.x.row(a), self.x.row(b)))
            .collect();
        pairs.sort_unstable();
        pairs
    }

    /// Duplicate rows. If an id distinguishes them, they are unlikely to be the same patient.
    fn doubt_repeated_rows(&mut self) {
        let again = self.repeated_rows(false);
        let ids = [DropReason::Index, DropReason::Counter, DropReason::Identifier];
        let id = self.dropped.iter().find(|column| ids.contains(&column.reason));
        let entirely = match (id, &self.ids) {
            (Some(_), _) => 0,
            (None, Some(_)) => self.repeated_rows(true),
            (None, None) => again,
        };
        let repeat =
            |n: usize| format!("{} {}", rows(n), if n == 1 { "repeats" } else { "repeat" });
        if again > entirely {
            let id = id
                .map_or_else(|| "the id".to_owned(), |column| format!("'{}'", short(&column.name)));
            let words = format!(
                "{} an earlier row in all columns but {id}: duplicate samples? Remove them, or use --group-col",
                repeat(again - entirely)
            );
            self.audit.notice(words);
        }
        if entirely > 0 {
            self.audit.warn(format!(
                "{} an earlier row in all columns used: if they are the same patient, leave them out or use --group-col",
                repeat(entirely)
            ));
        }
    }

    /// How many rows are equal to an earlier one, their class included, and their id if it is to
    /// be.
    fn repeated_rows(&self, with_ids: bool) -> usize {
        let mut hashes: Vec<u64> = self.y.iter().map(|&class| mix(class as u64)).collect();
        for column in self.x.rows() {
            for (hash, value) in hashes.iter_mut().zip(column) {
                *hash = mix(*hash ^ value.to_bits());
            }
        }
        for (hash, id) in hashes.iter_mut().zip(self.ids.iter().flatten()).filter(|_| with_ids) {
            let mut hasher = DefaultHasher::new();
            id.hash(&mut hasher);
            *hash = mix(*hash ^ hasher.finish());
        }
        hashes.sort_unstable();
        hashes.windows(2).filter(|pair| pair[0] == pair[1]).count()
    }

    /// Units of one column that separate all classes, beyond chance.
    fn leaks(&self) -> Vec<usize> {
        let factorial = |n: usize| (2..=n).map(|i| (i as f64).ln()).sum::<f64>();
        let counts = self.class_counts();
        let orders = counts.iter().map(|&n| factorial(n)).sum::<f64>() + factorial(counts.len());
        let chance = orders - factorial(self.y.len()) + (self.units.len() as f64).ln();
        if chance > CHANCE.ln() {
            return Vec::new();
        }
        let single = |&unit: &usize| self.units[unit].columns.len() == 1;
        let knows = |&unit: &usize| self.separates(self.x.row(self.units[unit].columns[0]));
        (0..self.units.len()).filter(single).filter(knows).collect()
    }

    /// Whether no two classes overlap on a column, gaps left out.
    fn separates(&self, column: ArrayView1<f64>) -> bool {
        let mut ranges = vec![(f64::INFINITY, f64::NEG_INFINITY); self.classes.len()];
        let mut present = 0;
        for (&value, &class) in column.iter().zip(&self.y).filter(|(value, _)| !value.is_nan()) {
            let (low, high) = &mut ranges[class];
            (*low, *high) = (low.min(value), high.max(value));
            present += 1;
        }
        ranges.sort_by(|a, b| a.0.total_cmp(&b.0));
        10 * present >= 9 * self.y.len() && ranges.windows(2).all(|pair| pair[0].1 < pair[1].0)
    }
}

/// A scrambled number (splitmix64's last step).
fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

/// The size of a standardised column in a fixed direction, where its gaps count too.
fn projection(column: ArrayView1<f64>) -> Option<f64> {
    let present = || column.iter().copied().filter(|value| !value.is_nan());
    let n = present().count();
    if n < FEWEST_ROWS {
        return None;
    }
    let mean = present().sum::<f64>() / n as f64;
    let sd = (present().map(|value| (value - mean).powi(2)).sum::<f64>() / n as f64).sqrt();
    let direction = |row: usize| mix(row as u64) as f64 / u64::MAX as f64 - 0.5;
    let (mut along, mut gaps) = (0.0, 0.0);
    for (row, &value) in column.iter().enumerate() {
        if value.is_nan() {
            gaps += 3.0 + direction(row);
        } else {
            along += direction(row) * (value - mean) / sd;
        }
    }
    (sd > 0.0 && along.is_finite()).then_some(along.abs() + gaps)
}

/// Whether two columns have the same gaps and |r| = 1.
fn are_straight(a: ArrayView1<f64>, b: ArrayView1<f64>) -> bool {
    if a.iter().zip(b).any(|(a, b)| a.is_nan() != b.is_nan()) {
        return false;
    }
    let pairs = || a.iter().zip(b).filter(|(a, _)| !a.is_nan());
    let n = pairs().count() as f64;
    let mean_a = pairs().map(|(a, _)| a).sum::<f64>() / n;
    let mean_b = pairs().map(|(_, b)| b).sum::<f64>() / n;
    let (mut aa, mut ab, mut bb) = (0.0, 0.0, 0.0);
    for (a, b) in pairs() {
        let (a, b) = (a - mean_a, b - mean_b);
        (aa, ab, bb) = (aa + a * a, ab + a * b, bb + b * b);
    }
    ab.abs() >= (1.0 - 1e-9) * (aa * bb).sqrt()
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::data::DroppedColumn;

    fn warnings(x: &Array2<f64>, classes: usize) -> Vec<String> {
        let labels: Vec<String> = (0..x.nrows()).map(|i| format!("k{}", i % classes)).collect();
        let data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
        data.audit.at(crate::data::Level::Warning).map(str::to_owned).collect()
    }

    /// Rows × columns without a pattern.
    fn noise(rows: usize, columns: usize) -> Array2<f64> {
        Array2::from_shape_fn((rows, columns), |(i, j)| {
            (mix((i * 1000 + j) as u64) % 1000) as f64 / 7.0
        })
    }

    #[test]
    fn noise_raises_no_doubt() {
        assert_eq!(warnings(&noise(40, 30), 2), Vec::<String>::new());
        assert_eq!(
            warnings(&noise(6, 200), 2),
            Vec::<String>::new(),
            "chance separates a few rows"
        );
    }

    #[test]
    fn straight_lines_are_found_in_either_direction_and_beside_gaps() {
        let mut x = noise(40, 5);
        x[[3, 1]] = f64::NAN;
        let line = |column: usize, by: f64, x: &Array2<f64>| {
            x.column(column).mapv(|value| 32.0 + by * value)
        };
        let up = line(1, 1.8, &x);
        let down = line(2, -0.5, &x);
        x.column_mut(4).assign(&up);
        x.column_mut(3).assign(&down);
        assert_eq!(
            warnings(&x, 2),
            [
                "some columns are perfectly correlated with others: 'c5' follows 'c2', 'c4' follows 'c3'"
            ]
        );
    }

    #[test]
    fn repeated_rows_are_counted() {
        let mut x = noise(40, 5);
        let row = x.row(2).to_owned();
        x.row_mut(8).assign(&row);
        x.row_mut(9).assign(&row);
        assert_eq!(warnings(&x, 2).len(), 1, "row 9 has another class");
        assert!(warnings(&x, 2)[0].starts_with("1 row repeats an earlier row in all columns used"));
    }

    #[test]
    fn rows_that_an_id_tells_apart_are_not_called_the_same_patient() {
        let mut x = noise(40, 5);
        let row = x.row(2).to_owned();
        x.row_mut(8).assign(&row);
        let labels: Vec<&str> = (0..40).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect();
        let said = |change: fn(&mut Dataset)| {
            let mut data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
            data.audit.notes.clear();
            change(&mut data);
            data.doubt_repeated_rows();
            data.audit.notes.into_iter().map(|note| note.text).collect::<Vec<_>>()
        };
        let apart = |id: &str| {
            format!(
                "1 row repeats an earlier row in all columns but {id}: duplicate samples? Remove them, or use --group-col"
            )
        };
        let dropped = |data: &mut Dataset| {
            let name = "code".to_owned();
            data.dropped.push(DroppedColumn { name, reason: DropReason::Identifier });
        };
        assert_eq!(said(dropped), [apart("'code'")]);
        assert_eq!(
            said(|data| data.ids = Some((0..40).map(|i| i.to_string()).collect())),
            [apart("the id")]
        );
        let same = said(|data| data.ids = Some(vec!["one".to_owned(); 40]));
        assert!(same.len() == 1 && same[0].contains("if they are the same patient"), "{same:?}");
    }

    #[test]
    fn a_feature_that_knows_the_class_is_named() {
        let mut x = noise(40, 5);
        for row in 0..40 {
            x[[row, 3]] = (row % 2) as f64;
            x[[row, 4]] = -((row % 2) as f64) * 100.0 + x[[row, 0]] / 1000.0;
        }
        let said = warnings(&x, 2);
        assert_eq!(
            said,
            [
                "2 features predict the class of every row without error: is it known before the class is? If not, use \
                 --drop: c4, c5"
            ]
        );
    }
}
