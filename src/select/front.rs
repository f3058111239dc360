//! Which units could go next, without computing the criterion of all of them.
//!
//! The rank of a unit (the highest goes first) moves by at most its slope times the way T that the models have travelled
//! ([`crate::svm::PathSolver::travelled`]). So what was known of it once bounds it for ever: rank ≤ offset + slope · T. One
//! pass over the bounds computes only the ranks that could still be among the best, and finds exactly those.

use super::elimination::TIE;

/// Bounds looked at together.
const BLOCK: usize = 16;

/// Upper bounds of the ranks of the units that may go.
#[derive(Debug, Clone, Default)]
pub struct Front {
    units: Vec<usize>,
    offset: Vec<f64>,
    slope: Vec<f64>,
    /// Where each unit is among `units`.
    place: Vec<Option<usize>>,
    /// The best units of the last pass: they are looked at first, so that the bar is high from the start.
    leaders: Vec<usize>,
}

impl Front {
    /// Nothing is known of the ranks; `slopes` belong to `units`, which are below `count`.
    pub fn new(units: &[usize], slopes: Vec<f64>, count: usize) -> Self {
        let mut place = vec![None; count];
        units.iter().enumerate().for_each(|(at, &unit)| place[unit] = Some(at));
        let offset = vec![f64::INFINITY; units.len()];
        Self { units: units.to_vec(), offset, slope: slopes, place, leaders: Vec::new() }
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
        self.offset.swap_remove(at);
        self.slope.swap_remove(at);
        if let Some(&moved) = self.units.get(at) {
            self.place[moved] = Some(at);
        }
    }

    /// Adds to `found` what `look` (which gives the rank, too) says of a set of units that holds the `count` of highest rank
    /// and all that are tied with the last of them.
    pub fn nearest<C>(
        &mut self,
        count: usize,
        travelled: f64,
        look: impl Fn(usize) -> (f64, C),
        found: &mut Vec<C>,
    ) {
        let mut bar = Bar::new(count);
        let mut seen: Vec<(f64, usize, C)> = Vec::new();
        for unit in std::mem::take(&mut self.leaders) {
            if let Some(at) = self.place[unit] {
                self.see(at, travelled, &look, &mut bar, &mut seen);
            }
        }
        let looked_at = seen.len();
        for start in (0..self.units.len()).step_by(BLOCK) {
            let end = (start + BLOCK).min(self.units.len());
            let bounds = self.offset[start..end].iter().zip(&self.slope[start..end]);
            let height = bar.height;
            if !bounds.fold(false, |any, (offset, slope)| any | (offset + slope * travelled >= height)) {
                continue;
            }
            for at in start..end {
                let unit = self.units[at];
                if self.offset[at] + self.slope[at] * travelled >= bar.height
                    && !seen[..looked_at].iter().any(|&(_, leader, _)| leader == unit)
                {
                    self.see(at, travelled, &look, &mut bar, &mut seen);
                }
            }
        }
        // A NaN ranks below all that are numbers, but is not lost if there are too few of those.
        seen.retain(|&(rank, ..)| rank.is_nan() || rank >= bar.height);
        self.leaders.extend(seen.iter().map(|&(_, unit, _)| unit).take(4 * count.max(4)));
        found.extend(seen.into_iter().map(|(.., candidate)| candidate));
    }

    fn see<C>(
        &mut self,
        at: usize,
        travelled: f64,
        look: &impl Fn(usize) -> (f64, C),
        bar: &mut Bar,
        seen: &mut Vec<(f64, usize, C)>,
    ) {
        let (rank, candidate) = look(self.units[at]);
        self.offset[at] = if rank.is_nan() { f64::INFINITY } else { rank - self.slope[at] * travelled };
        bar.raise(rank);
        seen.push((rank, self.units[at], candidate));
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
