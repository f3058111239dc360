//! Seeded randomness: one independent stream for each (seed, split, purpose), the same on every
//! machine.
//!
//! Shuffling and uniforms are written out here so that no update of a library can change a
//! published split.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// What the random numbers are for; each purpose has its own stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// Which rows go to which part.
    Split = 1,
    /// The τ of smoothed p-values.
    Smoothing = 2,
    /// Resampling of splits.
    Bootstrap = 3,
    /// Which rows may give values to impute.
    Donors = 4,
    /// Cross-validation folds.
    Folds = 5,
    /// Outer folds of the nested validation.
    Validation = 6,
    /// Rows set aside before anything else.
    Reserve = 7,
    /// Permutations of the labels.
    Permutation = 8,
    /// The procedure without one site.
    Site = 9,
    /// Folds in which sites are predicted.
    Probe = 10,
    /// Permutations of p-values over time.
    Trend = 11,
}

/// A stream of random numbers that depends on its coordinates alone.
#[derive(Debug, Clone)]
pub struct Rng(ChaCha8Rng);

impl Rng {
    /// The stream of one purpose in one split of one seed.
    pub fn new(seed: u64, split: u64, purpose: Purpose) -> Self {
        Self::keyed(seed, split, purpose, 0)
    }

    /// The stream of one row of the table, whatever part of the split holds it and wherever it
    /// stands there.
    pub fn for_row(seed: u64, split: u64, purpose: Purpose, row: usize) -> Self {
        Self::keyed(seed, split, purpose, row as u64 + 1)
    }

    /// `row` counts from 1; 0 is the stream that belongs to no row.
    fn keyed(seed: u64, split: u64, purpose: Purpose, row: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&(purpose as u64).to_le_bytes());
        key[16..24].copy_from_slice(&row.to_le_bytes());
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(split);
        Self(rng)
    }

    /// 64 random bits, such as the seed of other streams.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), 53 bits.
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in 0..n by rejection, so without bias; n > 0.
    pub fn below(&mut self, n: usize) -> usize {
        let n = n as u64;
        let limit = u64::MAX - u64::MAX % n;
        loop {
            let draw = self.0.next_u64();
            if draw < limit {
                return (draw % n) as usize;
            }
        }
    }

    /// Fisher–Yates.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_each_coordinate() {
        let first = |seed, split, purpose| Rng::new(seed, split, purpose).uniform();
        let base = first(0, 0, Purpose::Split);
        assert_eq!(base, first(0, 0, Purpose::Split));
        for other in
            [first(1, 0, Purpose::Split), first(0, 1, Purpose::Split), first(0, 0, Purpose::Folds)]
        {
            assert_ne!(base, other);
        }
        let of_row = |row| Rng::for_row(0, 0, Purpose::Split, row).uniform();
        assert_eq!(of_row(3), of_row(3));
        assert_ne!(of_row(0), base);
        assert_ne!(of_row(0), of_row(1));
    }

    #[test]
    fn shuffles_to_a_permutation_without_favourites() {
        let mut rng = Rng::new(7, 0, Purpose::Split);
        let mut at_first_place = [0; 4];
        for _ in 0..4000 {
            let mut items = [0, 1, 2, 3];
            rng.shuffle(&mut items);
            at_first_place[items[0]] += 1;
            items.sort_unstable();
            assert_eq!(items, [0, 1, 2, 3]);
        }
        // Binomial(4000, 1/4): sd 27, so 5 sd.
        assert!(at_first_place.iter().all(|&n| (865..=1135).contains(&n)), "{at_first_place:?}");
    }
}
