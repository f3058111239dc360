//! Which units could go next, without computing the criterion of all of them.
//!
//! What the rank of a unit was at a mark bounds it from then on: it is at most `scale` times that, plus the unit's slope times
//! `reach` ([`crate::svm::Drift`]). Most units are known from mark 0, when all were computed; those that had to be looked at
//! since, the near ones, from the mark of the step when that was. Only ranks that could be among the best by these bounds
//! are computed, and the best are found exactly.

use super::elimination::TIE;
use crate::svm::{BOUNDS, Drift, MARKS, first_not_below};

/// All units are computed anew when one of this many has become near.
const NEAR_SHARE: usize = 4;
/// Upper bounds of the ranks of the units that may go (the highest goes first).
#[derive(Debug, Clone, Default)]
pub struct Front {
    units: Vec<usize>,
    /// The ranks at mark 0; of near units, −∞.
    rank: Vec<f64>,
    slope: Vec<f64>,
    /// Where each unit is among `units`.
    place: Vec<Option<usize>>,
    /// Those that were looked at in the last pass come first: they are the best, so that the bar is high from the start.
    near: Vec<Near>,
    /// Whether there is a mark 0.
    known: bool,
    /// The mark of the last pass.
    mark: usize,
}

/// A unit that was looked at since mark 0.
#[derive(Debug, Clone, Copy)]
struct Near {
    unit: usize,
    rank: f64,
    slope: f64,
    mark: usize,
}

impl Front {
    /// Nothing is known of the ranks; `slopes` belong to `units`, which are below `count`.
    pub fn new(units: &[usize], slopes: Vec<f64>, count: usize) -> Self {
        let mut place = vec![None; count];
        units.iter().enumerate().for_each(|(at, &unit)| place[unit] = Some(at));
        let rank = vec![f64::INFINITY; units.len()];
        Self { units: units.to_vec(), rank, slope: slopes, place, ..Self::default() }
    }

    /// How many units there are.
    pub fn len(&self) -> usize {
        self.units.len()
    }

    /// The units, in no order.
    pub fn units(&self) -> impl Iterator<Item = usize> + '_ {
        self.units.iter().copied()
    }

    /// Lets a unit go, if it is there.
    pub fn remove(&mut self, unit: usize) {
        let Some(at) = self.place.get_mut(unit).and_then(Option::take) else { return };
        self.units.swap_remove(at);
        self.rank.swap_remove(at);
        self.slope.swap_remove(at);
        if let Some(&moved) = self.units.get(at) {
            self.place[moved] = Some(at);
        }
        if let Some(at) = self.near.iter().position(|near| near.unit == unit) {
            self.near.swap_remove(at);
        }
    }

    /// Begins a pass; gives the number under which the models of now are to be marked.
    pub fn begin_pass(&mut self) -> usize {
        self.mark = self.mark % (MARKS - 1) + 1;
        self.mark
    }

    /// Whether all ranks should be computed, and the models marked as number 0.
    pub fn is_worn(&self) -> bool {
        !self.known || NEAR_SHARE * self.near.len() > self.units.len()
    }

    /// Takes the ranks of all units, for mark 0.
    pub fn know_all(&mut self, ranks: impl FnOnce(&[usize]) -> Vec<f64>) {
        self.near.clear();
        self.known = true;
        self.rank = ranks(&self.units);
        self.rank.iter_mut().for_each(|rank| *rank = known(*rank));
    }

    /// Adds to `found` what `look` (which gives the rank, too) says of a set of units that holds the `count` of highest rank
    /// and all that are tied with the last of them. The models have drifted since the marks.
    pub fn nearest<C>(
        &mut self,
        count: usize,
        drifts: &[Drift; MARKS],
        look: impl Fn(usize) -> (f64, C),
        found: &mut Vec<C>,
    ) {
        let mut pass = Pass { bar: Bar::new(count), seen: Vec::with_capacity(128), look };
        let mut leaders = 0;
        for at in 0..self.near.len() {
            let near = &mut self.near[at];
            if near.mark == self.mark || !pass.excludes(near.rank, near.slope, drifts[near.mark]) {
                (near.rank, near.mark) = (pass.see(near.unit), self.mark);
                self.near.swap(at, leaders);
                leaders += 1;
            }
        }
        let Drift { scale, reach } = drifts[0];
        let mut start = 0;
        while let Some(block) = first_not_below(&self.rank, &self.slope, scale, reach, pass.bar.height, start)
        {
            start = (block + BOUNDS).min(self.units.len());
            for at in block..start {
                let (unit, slope) = (self.units[at], self.slope[at]);
                let is_near = self.rank[at] == f64::NEG_INFINITY;
                if !is_near && !pass.excludes(self.rank[at], slope, drifts[0]) {
                    self.near.push(Near { unit, rank: pass.see(unit), slope, mark: self.mark });
                    self.rank[at] = f64::NEG_INFINITY;
                    let last = self.near.len() - 1;
                    self.near.swap(last, leaders);
                    leaders += 1;
                }
            }
        }
        let Pass { bar, mut seen, .. } = pass;
        // A NaN ranks below all that are numbers, but is not lost if there are too few of those.
        seen.retain(|&(rank, _)| rank.is_nan() || rank >= bar.height);
        found.extend(seen.into_iter().map(|(_, candidate)| candidate));
    }
}

/// What is not a number could be anything.
fn known(rank: f64) -> f64 {
    if rank.is_nan() { f64::INFINITY } else { rank }
}

/// One pass over the bounds.
struct Pass<C, L> {
    bar: Bar,
    seen: Vec<(f64, C)>,
    look: L,
}

impl<C, L: Fn(usize) -> (f64, C)> Pass<C, L> {
    /// Whether a unit cannot be among the best.
    fn excludes(&self, rank: f64, slope: f64, drift: Drift) -> bool {
        drift.scale * rank + slope * drift.reach < self.bar.height
    }

    /// Computes the rank of a unit.
    fn see(&mut self, unit: usize) -> f64 {
        let (rank, candidate) = (self.look)(unit);
        self.bar.raise(rank);
        self.seen.push((rank, candidate));
        known(rank)
    }
}

/// The rank that a unit must have to be among the best so far, or tied with the last of them.
struct Bar {
    /// The best ranks, falling.
    best: Vec<f64>,
    count: usize,
    height: f64,
}

impl Bar {
    fn new(count: usize) -> Self {
        Self { best: Vec::with_capacity(count + 1), count, height: f64::NEG_INFINITY }
    }

    fn raise(&mut self, rank: f64) {
        if rank.is_nan() || rank < self.height {
            return;
        }
        let at = self.best.partition_point(|&better| better >= rank);
        self.best.insert(at, rank);
        self.best.truncate(self.count);
        if self.best.len() == self.count
            && let Some(last) = self.best.last()
        {
            self.height = last - 4.0 * TIE * last.abs();
        }
    }
}
