//! Which units could go next, without computing the criterion of all of them.
//!
//! What the rank of a unit was at a mark bounds it from then on: it is at most `scale` times that, plus the unit's slope times
//! `reach` ([`crate::svm::Drift`]). Most units are known from mark 0, when all were computed; those that had to be looked at
//! since, the near ones, from the mark of the step when that was. Only ranks that could be among the best by these bounds
//! are computed, and the best are found exactly.

use super::elimination::TIE;
use crate::svm::{Drift, MARKS, find_not_below};

/// All units are computed anew when one of this many has become near.
const NEAR_SHARE: usize = 8;
/// Units whose ranks are computed together.
const TOGETHER: usize = 8;

/// Upper bounds of the ranks of the units that may go (the highest goes first).
#[derive(Debug, Clone, Default)]
pub struct Front {
    /// The units by the mark they are known from.
    groups: Vec<Group>,
    count: usize,
    /// Whether anything is known.
    known: bool,
    /// The mark of the last pass, and how many marks are in use.
    mark: usize,
    marks: usize,
    room: Room,
}

/// Room to work in.
#[derive(Debug, Clone, Default)]
struct Room {
    found: Vec<usize>,
    /// Units whose ranks are still to be computed, and their slopes.
    waiting: Vec<usize>,
    slopes: Vec<f64>,
    ranks: Vec<f64>,
}

/// Units that are known from one mark.
#[derive(Debug, Clone, Default)]
struct Group {
    units: Vec<usize>,
    rank: Vec<f64>,
    slope: Vec<f64>,
}

impl Group {
    /// Takes out the unit at a place, which another one takes.
    fn take(&mut self, at: usize) -> (usize, f64) {
        self.rank.swap_remove(at);
        (self.units.swap_remove(at), self.slope.swap_remove(at))
    }

    fn push(&mut self, unit: usize, rank: f64, slope: f64) {
        self.units.push(unit);
        self.rank.push(rank);
        self.slope.push(slope);
    }

    /// Where the units are that could rank as high as a height.
    fn find(&self, drift: Drift, height: f64, found: &mut Vec<usize>) {
        find_not_below(&self.rank, &self.slope, drift.scale, drift.reach, height, found);
    }

    /// Where the units of highest rank are, ascending.
    fn find_highest(&self, count: usize, found: &mut Vec<usize>) {
        found.clear();
        found.extend(0..count.min(self.rank.len()));
        let by_rank =
            |found: &[usize], a: usize, b: usize| self.rank[found[a]].total_cmp(&self.rank[found[b]]);
        let lowest = |found: &[usize]| (0..found.len()).min_by(|&a, &b| by_rank(found, a, b));
        let Some(mut last) = lowest(found) else { return };
        for at in found.len()..self.rank.len() {
            if self.rank[at] > self.rank[found[last]] {
                found[last] = at;
                last = lowest(found).unwrap_or(last);
            }
        }
        found.sort_unstable();
    }

    /// Whether the unit at a place could rank as high as a height.
    fn reaches(&self, at: usize, drift: Drift, height: f64) -> bool {
        let is_below = drift.scale * self.rank[at] + drift.reach * self.slope[at] < height;
        !is_below
    }

    fn clear(&mut self) {
        self.units.clear();
        self.rank.clear();
        self.slope.clear();
    }
}

impl Front {
    /// Nothing is known of the ranks; `slopes` belong to `units`.
    pub fn new(units: Vec<usize>, slopes: Vec<f64>) -> Self {
        let count = units.len();
        let mut groups = vec![Group::default(); MARKS];
        groups[0] = Group { units, rank: vec![f64::INFINITY; count], slope: slopes };
        Self { groups, count, marks: 1, ..Self::default() }
    }

    /// How many units there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The units, in no order.
    pub fn units(&self) -> Vec<usize> {
        self.groups.iter().flat_map(|group| &group.units).copied().collect()
    }

    /// Lets a unit go, if it is there.
    pub fn remove(&mut self, unit: usize) {
        // What goes was looked at last.
        let groups = std::iter::once(self.mark).chain((0..self.marks).filter(|&group| group != self.mark));
        for group in groups {
            if let Some(at) = self.groups[group].units.iter().position(|&other| other == unit) {
                self.groups[group].take(at);
                self.count -= 1;
                return;
            }
        }
    }

    /// Whether all ranks should be computed, and the models marked as number 0.
    pub fn is_worn(&self) -> bool {
        !self.known || NEAR_SHARE * (self.count - self.groups[0].units.len()) > self.count
    }

    /// Forgets what is known from a mark.
    fn forget(&mut self, mark: usize) {
        let [far, near @ ..] = &mut self.groups[..] else { return };
        let group = &mut near[mark - 1];
        for (&unit, &slope) in group.units.iter().zip(&group.slope) {
            far.push(unit, f64::INFINITY, slope);
        }
        group.clear();
    }

    /// Takes the ranks of all units, for mark 0.
    pub fn know_all(&mut self, ranks: impl FnOnce(&[usize], &mut Vec<f64>)) {
        (1..self.marks).for_each(|mark| self.forget(mark));
        (self.known, self.mark, self.marks) = (true, 0, 1);
        let Group { units, rank, .. } = &mut self.groups[0];
        ranks(units, rank);
        rank.iter_mut().for_each(|rank| *rank = known(*rank));
    }

    /// Begins a pass; gives the number under which the models of now are to be marked.
    pub fn begin_pass(&mut self) -> usize {
        self.mark = self.mark % (MARKS - 1) + 1;
        self.marks = self.marks.max(self.mark + 1);
        // What is known from a model whose mark is used again is known no more.
        self.forget(self.mark);
        self.mark
    }

    /// So many marks are in use.
    pub fn marks(&self) -> usize {
        self.marks
    }

    /// Finds a set of units that holds the `count` of highest rank and all that are tied with the last of them. The models have
    /// drifted since the marks; `look` computes ranks that are right as far as the drift of the newest mark says.
    pub fn nearest(
        &mut self,
        count: usize,
        drifts: &[Drift; MARKS],
        look: impl FnMut(&[usize], &mut Vec<f64>),
    ) -> Vec<usize> {
        let now = self.mark;
        let (bar, room) = (Bar::new(count), std::mem::take(&mut self.room));
        let mut pass = Pass { bar, reach: drifts[now].reach, room, look };
        let mut found = std::mem::take(&mut pass.room.found);
        // The best of those that were looked at last come first, so that the bar is high from the start.
        let last = if now > 1 || self.marks == 2 { now - 1 } else { self.marks - 1 };
        self.groups[last].find_highest(count.max(TOGETHER / 2), &mut found);
        for &at in found.iter().rev() {
            let (unit, slope) = self.groups[last].take(at);
            pass.see(self, unit, slope);
        }
        pass.look(self);
        for (group, &drift) in
            drifts[..self.marks].iter().enumerate().rev().filter(|&(group, _)| group != now)
        {
            self.groups[group].find(drift, pass.bar.height, &mut found);
            // From the end: whoever takes a place was there already.
            for &at in found.iter().rev() {
                if self.groups[group].reaches(at, drift, pass.bar.height) {
                    let (unit, slope) = self.groups[group].take(at);
                    pass.see(self, unit, slope);
                }
            }
        }
        pass.look(self);
        self.groups[now].find(drifts[now], pass.bar.height, &mut found);
        let best = found.iter().map(|&at| self.groups[now].units[at]).collect();
        self.room = Room { found, ..pass.room };
        best
    }
}

/// What is not a number could be anything.
fn known(rank: f64) -> f64 {
    if rank.is_nan() { f64::INFINITY } else { rank }
}

/// One pass over the bounds.
struct Pass<L> {
    bar: Bar,
    /// Ranks that are computed now are off by no more than slopes times this.
    reach: f64,
    room: Room,
    look: L,
}

impl<L: FnMut(&[usize], &mut Vec<f64>)> Pass<L> {
    /// Has a unit looked at soon.
    fn see(&mut self, front: &mut Front, unit: usize, slope: f64) {
        self.room.waiting.push(unit);
        self.room.slopes.push(slope);
        if self.room.waiting.len() == TOGETHER {
            self.look(front);
        }
    }

    /// Computes the ranks of those that wait.
    fn look(&mut self, front: &mut Front) {
        let Room { waiting, slopes, ranks, .. } = &mut self.room;
        (self.look)(waiting, ranks);
        let group = &mut front.groups[front.mark];
        for ((&unit, &slope), &rank) in waiting.iter().zip(&*slopes).zip(&*ranks) {
            self.bar.raise(rank - slope * self.reach);
            group.push(unit, known(rank), slope);
        }
        waiting.clear();
        slopes.clear();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Stream};

    /// How far what is computed may be off.
    const OFF: f64 = 3e-4;

    fn length(v: &[f64; 4]) -> f64 {
        v.iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    fn dot(a: &[f64; 4], b: &[f64; 4]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    /// Ranks are products with a vector that wanders; two units of three have a twin, with which they are tied.
    #[test]
    fn finds_the_best_of_all_while_models_wander() {
        let mut stream = Stream::new(9, 0, Purpose::Split);
        let mut draw = |size: f64| std::array::from_fn::<f64, 4, _>(|_| size * (stream.uniform() - 0.5));
        let mut x: Vec<[f64; 4]> = (0..900).map(|_| draw(1.0)).collect();
        (0..300).for_each(|unit| x[unit + 600] = x[unit + 300]);
        let mut front = Front::new((0..900).collect(), x.iter().map(length).collect());
        let mut present: Vec<usize> = (0..900).collect();
        let mut a = draw(1.0);
        let mut marks = [[0.0; 4]; MARKS];
        let (mut looks, mut worn, mut used_again) = (0, 0, 0);
        let mut way = [0.0; 4];
        for pass in 0..400 {
            // Slowly and straight on at times, so that marks are used again, and fast at others.
            if pass % 100 == 0 || pass % 100 > 80 {
                way = draw(if pass % 100 == 0 { 5e-4 } else { 0.3 });
            }
            a = std::array::from_fn(|i| a[i] + way[i]);
            let rank = |unit: usize| dot(&a, &x[unit]);
            // Off by turns up and down.
            let nearly = |unit: usize| {
                rank(unit) + if unit.is_multiple_of(2) { 0.9 * OFF } else { -0.9 * OFF } * length(&x[unit])
            };
            let mut look = |units: &[usize], ranks: &mut Vec<f64>| {
                looks += units.len();
                ranks.clear();
                ranks.extend(units.iter().map(|&unit| nearly(unit)));
            };
            if front.is_worn() {
                worn += 1;
                marks[0] = a;
                front.know_all(&mut look);
            }
            used_again += usize::from(front.marks() == MARKS);
            marks[front.begin_pass()] = a;
            let drifts = marks.map(|mark| {
                let apart = std::array::from_fn(|i| a[i] - mark[i]);
                Drift { scale: 1.0, reach: length(&apart) + OFF }
            });
            let count = 1 + pass % 3;
            let found = front.nearest(count, &drifts, &mut look);
            let mut best = present.clone();
            best.sort_by(|&i, &j| rank(j).total_cmp(&rank(i)));
            let last = rank(best[count - 1]);
            for &unit in best.iter().take_while(|&&unit| rank(unit) >= last - TIE * last.abs()) {
                assert!(found.contains(&unit), "pass {pass}: {unit} is missing of {found:?}");
            }
            assert!(found.len() < 100, "pass {pass} found {}", found.len());
            front.remove(best[0]);
            present.retain(|&unit| unit != best[0]);
            assert_eq!(front.len(), present.len());
        }
        let mut units = front.units();
        units.sort_unstable();
        assert_eq!(units, present);
        // All that for a part of the work: 400 times 700 units, on the average, would be 280,000 looks.
        assert!(worn > 2 && used_again > 50 && looks < 100_000, "{worn} {used_again} {looks}");
    }

    #[test]
    fn what_is_known_from_a_mark_that_is_used_again_is_forgotten() {
        let mut front = Front::new((0..40).collect(), vec![1.0; 40]);
        let falling = |units: &[usize], ranks: &mut Vec<f64>| {
            ranks.clear();
            ranks.extend(units.iter().map(|&unit| -(unit as f64)));
        };
        front.know_all(falling);
        // All are looked at under mark 1, and then only the best.
        front.begin_pass();
        front.nearest(1, &[Drift::UNKNOWN; MARKS], falling);
        for _ in 2..MARKS {
            front.begin_pass();
            assert_eq!(front.nearest(1, &[Drift::NONE; MARKS], falling), [0]);
        }
        assert_eq!(front.begin_pass(), 1);
        let last_is_best = |units: &[usize], ranks: &mut Vec<f64>| {
            falling(units, ranks);
            units.iter().zip(ranks).filter(|(unit, _)| **unit == 39).for_each(|(_, rank)| *rank = 5.0);
        };
        assert_eq!(front.nearest(1, &[Drift::NONE; MARKS], last_is_best), [39]);
    }
}
