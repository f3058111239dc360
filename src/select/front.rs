//! Which units could go next, without computing the criterion of all of them.
//!
//! What the rank of a unit was at a mark bounds it from then on: it is at most `scale` times that, plus the unit's slope times
//! `reach` ([`crate::svm::Drift`]). Most units are known from mark 0, when all were computed; those that had to be looked at
//! since, the near ones, from the mark of the step when that was. Only ranks that could be among the best by these bounds
//! are computed, and the best are found exactly.

use super::elimination::TIE;
use crate::svm::{Drift, MARKS, first_not_below};

/// All units are computed anew when one of this many has become near.
const NEAR_SHARE: usize = 8;
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
    /// So many marks are in use.
    marks: usize,
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
    pub fn units(&self) -> &[usize] {
        &self.units
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

    /// Whether all ranks should be computed, and the models marked as number 0.
    pub fn is_worn(&self) -> bool {
        !self.known || NEAR_SHARE * self.near.len() > self.units.len()
    }

    /// Takes the ranks of all units, for mark 0.
    pub fn know_all(&mut self, ranks: impl FnOnce(&[usize]) -> Vec<f64>) {
        self.near.clear();
        self.known = true;
        (self.mark, self.marks) = (0, 1);
        self.rank = ranks(&self.units);
        self.rank.iter_mut().for_each(|rank| *rank = known(*rank));
    }

    /// Begins a pass; gives the number under which the models of now are to be marked.
    pub fn begin_pass(&mut self) -> usize {
        self.mark = self.mark % (MARKS - 1) + 1;
        self.marks = self.marks.max(self.mark + 1);
        self.mark
    }

    /// So many marks are in use.
    pub fn marks(&self) -> usize {
        self.marks
    }

    /// Finds a set of units that holds the `count` of highest rank and all that are tied with the last of
    /// them. The models have drifted since the marks; `look` computes ranks as far as the drift of the newest mark.
    pub fn nearest(
        &mut self,
        count: usize,
        drifts: &[Drift; MARKS],
        look: impl FnMut(&[usize], &mut Vec<f64>),
    ) -> Vec<usize> {
        let (bar, reach) = (Bar::new(count), drifts[self.mark].reach);
        let mut pass = Pass { bar, reach, leaders: 0, waiting: Vec::new(), ranks: Vec::new(), look };
        for at in 0..self.near.len() {
            let near = &self.near[at];
            if near.mark == self.mark || !pass.excludes(near.rank, near.slope, drifts[near.mark]) {
                pass.lead(self, at);
            }
        }
        let Drift { scale, reach } = drifts[0];
        let mut start = 0;
        while let Some(at) = first_not_below(&self.rank, &self.slope, scale, reach, pass.bar.height, start) {
            start = at + 1;
            let (rank, slope) = (self.rank[at], self.slope[at]);
            if rank > f64::NEG_INFINITY {
                self.rank[at] = f64::NEG_INFINITY;
                self.near.push(Near { unit: self.units[at], rank, slope, mark: 0 });
                pass.lead(self, self.near.len() - 1);
            }
        }
        pass.look(self);
        let could_be = |near: &&Near| !pass.excludes(near.rank, near.slope, drifts[near.mark]);
        self.near[..pass.leaders].iter().filter(could_be).map(|near| near.unit).collect()
    }
}

/// What is not a number could be anything.
fn known(rank: f64) -> f64 {
    if rank.is_nan() { f64::INFINITY } else { rank }
}

/// Units whose ranks are computed together.
const TOGETHER: usize = 8;

/// One pass over the bounds.
struct Pass<L> {
    bar: Bar,
    /// Ranks that are computed now are off by no more than slopes times this.
    reach: f64,
    /// So many units that were or will be looked at in this pass come first among the near ones.
    leaders: usize,
    /// The last of them, whose ranks are still to be computed.
    waiting: Vec<usize>,
    ranks: Vec<f64>,
    look: L,
}

impl<L: FnMut(&[usize], &mut Vec<f64>)> Pass<L> {
    /// Whether a unit cannot be among the best.
    fn excludes(&self, rank: f64, slope: f64, drift: Drift) -> bool {
        drift.scale * rank + slope * drift.reach < self.bar.height
    }

    /// Puts a near unit among the leaders, to be looked at soon.
    fn lead(&mut self, front: &mut Front, at: usize) {
        self.waiting.push(front.near[at].unit);
        front.near.swap(at, self.leaders);
        self.leaders += 1;
        if self.waiting.len() == TOGETHER {
            self.look(front);
        }
    }

    /// Computes the ranks of those that wait.
    fn look(&mut self, front: &mut Front) {
        (self.look)(&self.waiting, &mut self.ranks);
        let start = self.leaders - self.waiting.len();
        for (near, &rank) in front.near[start..self.leaders].iter_mut().zip(&self.ranks) {
            self.bar.raise(rank - near.slope * self.reach);
            (near.rank, near.mark) = (known(rank), front.mark);
        }
        self.waiting.clear();
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
