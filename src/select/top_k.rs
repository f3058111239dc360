//! Bounded top-k search: which units are removed next, without computing the score of all of them.
//!
//! The score of a unit at a snapshot of the models bounds it from then on: it is at most `scale`
//! times that, plus the unit's Lipschitz constant times `radius` ([`crate::svm::DriftBound`]). Most
//! units are bounded from snapshot 0, when all scores were computed; those that were evaluated
//! since, from the snapshot of that step. Only scores that could be among the best by these bounds
//! are computed, and the best are found exactly.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::candidates::TIE;
use crate::linalg::find_not_below;
use crate::svm::{DriftBound, MAX_SNAPSHOTS, Present};

/// All scores are computed again once one unit in this many has been evaluated since snapshot 0.
const NEAR_SHARE: usize = 8;
/// Units whose scores are computed together.
const TOGETHER: usize = 8;

/// Upper bounds on the scores of the removable units (the highest is removed first).
#[derive(Debug, Clone, Default)]
pub struct TopK {
    /// The units by the snapshot that bounds them.
    groups: Vec<Group>,
    count: usize,
    /// Whether all scores were computed once.
    is_known: bool,
    /// The snapshot of the last pass, and how many snapshots are in use.
    snapshot: usize,
    snapshots: usize,
    scratch: Scratch,
}

/// Buffers.
#[derive(Debug, Clone, Default)]
struct Scratch {
    found: Vec<usize>,
    /// Units whose scores are still to be computed, and their Lipschitz constants.
    queued: Vec<usize>,
    lipschitz: Vec<f64>,
    scores: Vec<f64>,
}

/// Units that are bounded from one snapshot.
#[derive(Debug, Clone, Default)]
struct Group {
    units: Vec<usize>,
    score: Vec<f64>,
    lipschitz: Vec<f64>,
}

impl Group {
    /// Removes the unit at an index; the last one takes its place.
    fn take(&mut self, at: usize) -> (usize, f64) {
        self.score.swap_remove(at);
        (self.units.swap_remove(at), self.lipschitz.swap_remove(at))
    }

    fn push(&mut self, unit: usize, score: f64, lipschitz: f64) {
        self.units.push(unit);
        self.score.push(score);
        self.lipschitz.push(lipschitz);
    }

    /// Finds the units whose bound is not below a value.
    fn find(&self, drift: DriftBound, value: f64, found: &mut Vec<usize>) {
        find_not_below(&self.score, &self.lipschitz, drift.scale, drift.radius, value, found);
    }

    /// Finds the units of highest score, and all that are tied with the last of them.
    fn find_highest(&self, count: usize, found: &mut Vec<usize>) {
        let mut threshold = Threshold::new(count);
        self.score.iter().for_each(|&score| threshold.raise(score));
        self.find(DriftBound::NONE, threshold.value, found);
    }

    /// Whether the bound of a unit is not below a value.
    fn reaches(&self, at: usize, drift: DriftBound, value: f64) -> bool {
        let is_below = drift.scale * self.score[at] + drift.radius * self.lipschitz[at] < value;
        !is_below
    }

    fn clear(&mut self) {
        self.units.clear();
        self.score.clear();
        self.lipschitz.clear();
    }
}

impl TopK {
    /// No score is known; `lipschitz` are the constants of `units`.
    pub fn new(units: Vec<usize>, lipschitz: Vec<f64>) -> Self {
        let count = units.len();
        let mut groups = vec![Group::default(); MAX_SNAPSHOTS];
        groups[0] = Group { units, score: vec![f64::INFINITY; count], lipschitz };
        Self { groups, count, snapshots: 1, ..Self::default() }
    }

    /// How many units there are.
    pub fn len(&self) -> usize {
        self.count
    }

    /// The units, in no order.
    pub fn units(&self) -> Vec<usize> {
        self.groups.iter().flat_map(|group| &group.units).copied().collect()
    }

    /// Removes the units that are no longer present; there are `left` of them.
    pub fn remove_gone(&mut self, mut left: usize, present: &Present) {
        // They were evaluated last, so other groups are rarely searched.
        let groups = std::iter::once(self.snapshot)
            .chain((0..self.snapshots).filter(|&group| group != self.snapshot));
        for group in groups {
            // Iterate backwards: swap_remove moves in an element that was already visited.
            for at in (0..self.groups[group].units.len()).rev() {
                if left == 0 {
                    return;
                }
                if !present.has(self.groups[group].units[at]) {
                    self.groups[group].take(at);
                    self.count -= 1;
                    left -= 1;
                }
            }
        }
    }

    /// Whether all scores should be computed, with a snapshot 0 of the models.
    pub fn needs_refresh(&self) -> bool {
        !self.is_known || NEAR_SHARE * (self.count - self.groups[0].units.len()) > self.count
    }

    /// Forgets the bounds from a snapshot.
    fn forget(&mut self, snapshot: usize) {
        let [far, near @ ..] = &mut self.groups[..] else { return };
        let group = &mut near[snapshot - 1];
        for (&unit, &lipschitz) in group.units.iter().zip(&group.lipschitz) {
            far.push(unit, f64::INFINITY, lipschitz);
        }
        group.clear();
    }

    /// Records the scores of all units, for snapshot 0.
    pub fn refresh(&mut self, scores: impl FnOnce(&[usize], &mut Vec<f64>)) {
        (1..self.snapshots).for_each(|snapshot| self.forget(snapshot));
        (self.is_known, self.snapshot, self.snapshots) = (true, 0, 1);
        let Group { units, score, .. } = &mut self.groups[0];
        scores(units, score);
        score.iter_mut().for_each(|score| *score = upper_bound(*score));
    }

    /// Begins a pass; returns the number for a snapshot of the current models.
    pub fn begin_pass(&mut self) -> usize {
        self.snapshot = self.snapshot % (MAX_SNAPSHOTS - 1) + 1;
        self.snapshots = self.snapshots.max(self.snapshot + 1);
        // Bounds from a snapshot whose number is reused are void.
        self.forget(self.snapshot);
        self.snapshot
    }

    /// How many snapshots are in use.
    pub fn snapshots(&self) -> usize {
        self.snapshots
    }

    /// Finds a set of units that holds the `count` of highest score and all that are tied with the
    /// last of them. The models have drifted since the snapshots; `evaluate` computes scores within
    /// the drift bound of the newest snapshot.
    pub fn top_k(
        &mut self,
        count: usize,
        drift_bounds: &[DriftBound; MAX_SNAPSHOTS],
        evaluate: impl FnMut(&[usize], &mut Vec<f64>),
    ) -> Vec<usize> {
        let now = self.snapshot;
        let threshold = Threshold::new(count);
        let scratch = std::mem::take(&mut self.scratch);
        let mut pass = Pass { threshold, radius: drift_bounds[now].radius, scratch, evaluate };
        let mut found = std::mem::take(&mut pass.scratch.found);
        // The best of the previous pass come first, so that the threshold is high from the start.
        let last = if now > 1 || self.snapshots == 2 { now - 1 } else { self.snapshots - 1 };
        self.groups[last].find_highest(count.max(TOGETHER / 2), &mut found);
        for &at in found.iter().rev() {
            let (unit, lipschitz) = self.groups[last].take(at);
            pass.queue(self, unit, lipschitz);
        }
        pass.evaluate(self);
        for (group, &drift) in drift_bounds[..self.snapshots]
            .iter()
            .enumerate()
            .rev()
            .filter(|&(group, _)| group != now)
        {
            self.groups[group].find(drift, pass.threshold.value, &mut found);
            // Iterate backwards: swap_remove moves in an element already visited.
            for &at in found.iter().rev() {
                if self.groups[group].reaches(at, drift, pass.threshold.value) {
                    let (unit, lipschitz) = self.groups[group].take(at);
                    pass.queue(self, unit, lipschitz);
                }
            }
        }
        pass.evaluate(self);
        self.groups[now].find(drift_bounds[now], pass.threshold.value, &mut found);
        let best = found.iter().map(|&at| self.groups[now].units[at]).collect();
        self.scratch = Scratch { found, ..pass.scratch };
        best
    }
}

/// Treat NaN as unbounded.
fn upper_bound(score: f64) -> f64 {
    if score.is_nan() { f64::INFINITY } else { score }
}

/// The bits of a score as an integer that is ordered as [`f64::total_cmp`] orders scores, and back.
fn ordered(bits: i64) -> i64 {
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

/// One pass over the bounds.
struct Pass<L> {
    threshold: Threshold,
    /// Scores computed now are off by at most the Lipschitz constant times this.
    radius: f64,
    scratch: Scratch,
    evaluate: L,
}

impl<L: FnMut(&[usize], &mut Vec<f64>)> Pass<L> {
    /// Queues a unit for evaluation.
    fn queue(&mut self, search: &mut TopK, unit: usize, lipschitz: f64) {
        self.scratch.queued.push(unit);
        self.scratch.lipschitz.push(lipschitz);
        if self.scratch.queued.len() == TOGETHER {
            self.evaluate(search);
        }
    }

    /// Computes the scores of the queued units.
    fn evaluate(&mut self, search: &mut TopK) {
        let Scratch { queued, lipschitz, scores, .. } = &mut self.scratch;
        (self.evaluate)(queued, scores);
        let group = &mut search.groups[search.snapshot];
        for ((&unit, &lipschitz), &score) in queued.iter().zip(&*lipschitz).zip(&*scores) {
            self.threshold.raise(score - lipschitz * self.radius);
            group.push(unit, upper_bound(score), lipschitz);
        }
        queued.clear();
        lipschitz.clear();
    }
}

/// The score that a unit must have to be among the best so far, or tied with the last of them.
struct Threshold {
    /// The best scores, the lowest at the top.
    best: BinaryHeap<Reverse<i64>>,
    count: usize,
    value: f64,
}

impl Threshold {
    fn new(count: usize) -> Self {
        Self { best: BinaryHeap::with_capacity(count + 1), count, value: f64::NEG_INFINITY }
    }

    #[inline]
    fn raise(&mut self, score: f64) {
        // Few scores pass, and NaN does not.
        if score >= self.value {
            self.insert(score);
        }
    }

    fn insert(&mut self, score: f64) {
        let score = Reverse(ordered(score.to_bits() as i64));
        if self.best.len() < self.count {
            self.best.push(score);
        } else if let Some(mut lowest) = self.best.peek_mut()
            && *lowest > score
        {
            *lowest = score;
        }
        if self.best.len() == self.count
            && let Some(&Reverse(last)) = self.best.peek()
        {
            let last = f64::from_bits(ordered(last) as u64);
            self.value = last - 4.0 * TIE * last.abs();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};

    /// How far what is computed may be off.
    const OFF: f64 = 3e-4;

    fn length(v: &[f64; 4]) -> f64 {
        v.iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    fn dot(a: &[f64; 4], b: &[f64; 4]) -> f64 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    /// Ranks are products with a vector that wanders; two units of three have a twin, with which
    /// they are tied.
    #[test]
    fn finds_the_best_of_all_while_models_wander() {
        let mut rng = Rng::new(9, 0, Purpose::Split);
        let mut draw =
            |size: f64| std::array::from_fn::<f64, 4, _>(|_| size * (rng.uniform() - 0.5));
        let mut x: Vec<[f64; 4]> = (0..900).map(|_| draw(1.0)).collect();
        (0..300).for_each(|unit| x[unit + 600] = x[unit + 300]);
        let mut search = TopK::new((0..900).collect(), x.iter().map(length).collect());
        let mut present: Vec<usize> = (0..900).collect();
        let mut here = Present::all(900);
        let mut a = draw(1.0);
        let mut snapshots = [[0.0; 4]; MAX_SNAPSHOTS];
        let (mut looks, mut worn, mut used_again) = (0, 0, 0);
        let mut way = [0.0; 4];
        for pass in 0..400 {
            // Slowly and straight on at times, so that snapshots are used again, and fast at
            // others.
            if pass % 100 == 0 || pass % 100 > 80 {
                way = draw(if pass % 100 == 0 { 5e-4 } else { 0.3 });
            }
            a = std::array::from_fn(|i| a[i] + way[i]);
            let score = |unit: usize| dot(&a, &x[unit]);
            // Off by turns up and down.
            let nearly = |unit: usize| {
                score(unit)
                    + if unit.is_multiple_of(2) { 0.9 * OFF } else { -0.9 * OFF } * length(&x[unit])
            };
            let mut evaluate = |units: &[usize], scores: &mut Vec<f64>| {
                looks += units.len();
                scores.clear();
                scores.extend(units.iter().map(|&unit| nearly(unit)));
            };
            if search.needs_refresh() {
                worn += 1;
                snapshots[0] = a;
                search.refresh(&mut evaluate);
            }
            used_again += usize::from(search.snapshots() == MAX_SNAPSHOTS);
            snapshots[search.begin_pass()] = a;
            let drift_bounds = snapshots.map(|snapshot| {
                let apart = std::array::from_fn(|i| a[i] - snapshot[i]);
                DriftBound { scale: 1.0, radius: length(&apart) + OFF }
            });
            let count = 1 + pass % 3;
            let found = search.top_k(count, &drift_bounds, &mut evaluate);
            let mut best = present.clone();
            best.sort_by(|&i, &j| score(j).total_cmp(&score(i)));
            let last = score(best[count - 1]);
            for &unit in best.iter().take_while(|&&unit| score(unit) >= last - TIE * last.abs()) {
                assert!(found.contains(&unit), "pass {pass}: {unit} is missing of {found:?}");
            }
            assert!(found.len() < 100, "pass {pass} found {}", found.len());
            here.remove(best[0]);
            search.remove_gone(1, &here);
            present.retain(|&unit| unit != best[0]);
            assert_eq!(search.len(), present.len());
        }
        let mut units = search.units();
        units.sort_unstable();
        assert_eq!(units, present);
        // All that for a part of the work: 400 times 700 units, on the average, would be 280,000
        // looks.
        assert!(worn > 2 && used_again > 50 && looks < 100_000, "{worn} {used_again} {looks}");
    }

    #[test]
    fn the_highest_are_found_and_all_tied_with_the_last() {
        let mut group = Group::default();
        for (unit, score) in [3.0, 1.0, 3.0, 2.0, 3.0, 7.0].into_iter().enumerate() {
            group.push(unit, score, 1.0);
        }
        let mut found = vec![9];
        for (count, expected) in
            [(1, &[5][..]), (2, &[0, 2, 4, 5]), (5, &[0, 2, 3, 4, 5]), (9, &[0, 1, 2, 3, 4, 5])]
        {
            group.find_highest(count, &mut found);
            assert_eq!(found, expected);
        }
    }

    /// What is chosen when half of all go at once is what sorting finds.
    #[test]
    fn many_go_at_once() {
        let scores: Vec<f64> = (0..1000).map(|unit| ((unit * 7919) % 1009) as f64).collect();
        let mut search = TopK::new((0..1000).collect(), vec![1.0; 1000]);
        let mut here = Present::all(1000);
        let evaluate = |units: &[usize], found: &mut Vec<f64>| {
            found.clear();
            found.extend(units.iter().map(|&unit| scores[unit]));
        };
        let mut order: Vec<usize> = (0..1000).collect();
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
        while search.len() > 1 {
            if search.needs_refresh() {
                search.refresh(evaluate);
            }
            search.begin_pass();
            let count = search.len() / 2;
            let mut found = search.top_k(count, &[DriftBound::NONE; MAX_SNAPSHOTS], evaluate);
            found.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            assert_eq!(found[..count], order[..count]);
            for unit in order.drain(..count) {
                here.remove(unit);
            }
            search.remove_gone(count, &here);
            assert_eq!(search.len(), order.len());
        }
    }

    #[test]
    fn bounds_from_a_snapshot_that_is_used_again_are_void() {
        let mut search = TopK::new((0..40).collect(), vec![1.0; 40]);
        let falling = |units: &[usize], scores: &mut Vec<f64>| {
            scores.clear();
            scores.extend(units.iter().map(|&unit| -(unit as f64)));
        };
        search.refresh(falling);
        // All are looked at under snapshot 1, and then only the best.
        search.begin_pass();
        search.top_k(1, &[DriftBound::UNKNOWN; MAX_SNAPSHOTS], falling);
        for _ in 2..MAX_SNAPSHOTS {
            search.begin_pass();
            assert_eq!(search.top_k(1, &[DriftBound::NONE; MAX_SNAPSHOTS], falling), [0]);
        }
        assert_eq!(search.begin_pass(), 1);
        let last_is_best = |units: &[usize], scores: &mut Vec<f64>| {
            falling(units, scores);
            units
                .iter()
                .zip(scores)
                .filter(|(unit, _)| **unit == 39)
                .for_each(|(_, score)| *score = 5.0);
        };
        assert_eq!(search.top_k(1, &[DriftBound::NONE; MAX_SNAPSHOTS], last_is_best), [39]);
    }
}
