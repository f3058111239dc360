//! Screening: which rows may have crossed the margin, without evaluating them.
//!
//! When w moves by d, a decision value moves by at most ‖x_i‖·‖d‖. So a row needs no further
//! evaluation until w has moved by its slack, its distance from the margin over ‖x_i‖.

use super::select::{HAS_LOSS, PADDING, SNAPSHOTS, select_within};
use crate::linalg::{dot, norm, squared_distance};
use crate::svm::training_rows::gather;

/// Prune snapshots once there are this many.
const PRUNE_AT: usize = 12;
/// Snapshots kept when pruning.
const KEPT_SNAPSHOTS: usize = 3;

/// What is known of the rows of one machine. Models are by slot of
/// [`crate::svm::training_rows::TrainingRows`].
#[derive(Clone)]
pub struct Screening {
    /// Lower bound on how far w may move before row i changes side, as of its last evaluation (f32,
    /// see [`ROUNDING`]).
    slack: Vec<f32>,
    /// The snapshot of that evaluation, with [`HAS_LOSS`] if the row had loss.
    last_snapshot: Vec<u8>,
    /// Snapshots of the model, concatenated.
    models: Vec<f64>,
    /// Sums of squares of their weights whose slots are gone.
    lost: Vec<f64>,
}

/// Exceeds the relative error of rounding a displacement or a slack to f32.
const ROUNDING: f64 = 1e-6;

impl Screening {
    /// Nothing is known of any row.
    pub fn new(rows: usize) -> Self {
        Self {
            slack: vec![0.0; rows],
            last_snapshot: vec![0; rows],
            models: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// Forgets everything: all rows must be evaluated next.
    pub fn clear(&mut self) {
        self.models.clear();
        self.lost.clear();
    }

    /// The number of the snapshot of a model, which becomes the newest one.
    pub fn snapshot(&mut self, w: &[f64]) -> u8 {
        let newest = self.models.len().saturating_sub(w.len());
        if self
            .lost
            .last()
            .is_none_or(|&lost| lost > 0.0 || squared_distance(&self.models[newest..], w) > 0.0)
        {
            if self.lost.len() == SNAPSHOTS {
                self.prune();
            }
            self.models.extend_from_slice(w);
            self.lost.push(0.0);
        }
        self.lost.len() as u8 - 1
    }

    /// Records the slacks of rows under a model.
    pub fn recorder(&mut self, w: &[f64]) -> SlackRecorder<'_> {
        let snapshot = self.snapshot(w);
        SlackRecorder { slack: &mut self.slack, last_snapshot: &mut self.last_snapshot, snapshot }
    }

    /// The given rows that were last evaluated under another model than that of a snapshot.
    pub fn stale<'s>(
        &self,
        rows: &[usize],
        snapshot: u8,
        stale: &'s mut Vec<usize>,
    ) -> &'s [usize] {
        stale.resize(self.slack.len() + PADDING, 0);
        let mut count = 0;
        for &row in rows {
            stale[count] = row;
            count += usize::from(self.last_snapshot[row] & !HAS_LOSS != snapshot);
        }
        &stale[..count]
    }

    /// Finds the rows that may have crossed the margin after w moves by this much, if at most a
    /// fraction of the step acts along one row.
    pub fn find_crossing<'n>(
        &self,
        w: &[f64],
        further: f64,
        fraction: f64,
        found: &'n mut Vec<usize>,
    ) -> &'n [usize] {
        self.select::<false>(&self.displacements(w, further, fraction), found)
    }

    /// Finds the rows that had loss or may have it now.
    pub fn find_with_loss<'n>(&self, w: &[f64], found: &'n mut Vec<usize>) -> &'n [usize] {
        self.select::<true>(&self.displacements(w, 0.0, 1.0), found)
    }

    fn select<'n, const WITH_LOSS: bool>(
        &self,
        displacements: &[f32; SNAPSHOTS],
        found: &'n mut Vec<usize>,
    ) -> &'n [usize] {
        found.resize(self.slack.len() + PADDING, 0);
        let count =
            select_within::<WITH_LOSS>(&self.slack, &self.last_snapshot, displacements, found);
        &found[..count]
    }

    /// Upper bounds on how far w is from each snapshot. They allow for the rounding of decision
    /// values, which is relative to the terms of w·x_i and not to their sum; a distance that is not
    /// finite bounds nothing.
    fn displacements(&self, w: &[f64], further: f64, fraction: f64) -> [f32; SNAPSHOTS] {
        let mut displacements = [0.0; SNAPSHOTS];
        let rounding = 4.0 * w.len() as f64 * f64::EPSILON * norm(w) + f64::from(f32::MIN_POSITIVE);
        let snapshots = self.models.chunks_exact(w.len()).zip(&self.lost);
        for (displacement, (model, lost)) in displacements.iter_mut().zip(snapshots) {
            let moved = (squared_distance(model, w) + lost).sqrt() + further;
            let bound = (fraction * moved * (1.0 + ROUNDING) + rounding) as f32;
            *displacement = if bound.is_nan() { f32::INFINITY } else { bound };
        }
        displacements
    }

    /// Drops the snapshots with the fewest rows if there are many; these rows must be evaluated
    /// again.
    pub fn prune_if_many(&mut self) {
        if self.lost.len() >= PRUNE_AT {
            self.prune();
        }
    }

    fn prune(&mut self) {
        let width = self.models.len() / self.lost.len().max(1);
        let mut members = [0_usize; SNAPSHOTS];
        self.last_snapshot.iter().for_each(|&last_snapshot| {
            members[usize::from(last_snapshot & !HAS_LOSS) % SNAPSHOTS] += 1
        });
        let mut kept: Vec<usize> = (0..self.lost.len()).collect();
        kept.sort_by_key(|&snapshot| std::cmp::Reverse(members[snapshot]));
        kept.truncate(KEPT_SNAPSHOTS);
        kept.sort_unstable();
        // The new position of each snapshot, and whether it stays; rows of the others lose their
        // slack.
        let mut places = [0; SNAPSHOTS];
        let mut stays = [0.0; SNAPSHOTS];
        for (place, &snapshot) in kept.iter().enumerate() {
            (places[snapshot], stays[snapshot]) = (place as u8, 1.0);
            self.models.copy_within(snapshot * width..(snapshot + 1) * width, place * width);
            self.lost[place] = self.lost[snapshot];
        }
        for (last_snapshot, slack) in self.last_snapshot.iter_mut().zip(&mut self.slack) {
            let snapshot = usize::from(*last_snapshot & !HAS_LOSS) % SNAPSHOTS;
            *last_snapshot = *last_snapshot & HAS_LOSS | places[snapshot];
            *slack *= stays[snapshot];
        }
        self.models.truncate(kept.len() * width);
        self.lost.truncate(kept.len());
    }

    /// Drops the slots that are not kept.
    pub fn compact(&mut self, kept: &[usize], width: usize) {
        let before = self.models.len() / self.lost.len().max(1);
        let mut models = Vec::with_capacity(self.lost.len() * width);
        for (model, lost) in self.models.chunks_exact(before.max(1)).zip(&mut self.lost) {
            let closed = gather(model, kept, width);
            // Rounded up.
            *lost += (dot(model, model) * (1.0 + 1e-12) - dot(&closed, &closed)).max(0.0);
            models.extend(closed);
        }
        self.models = models;
    }
}

/// Records slacks of rows under one model.
pub struct SlackRecorder<'s> {
    /// As in [`Screening`].
    slack: &'s mut [f32],
    last_snapshot: &'s mut [u8],
    snapshot: u8,
}

impl SlackRecorder<'_> {
    /// Records the slack of a row, and whether it has loss.
    #[inline]
    pub fn record(&mut self, row: usize, slack: f64, has_loss: bool) {
        // NaN becomes zero: such a row is always selected.
        self.slack[row] = if slack > 0.0 { slack as f32 } else { 0.0 };
        self.last_snapshot[row] = self.snapshot | if has_loss { HAS_LOSS } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(screening: &mut Screening, w: &[f64], slacks: &[(usize, f64)]) {
        let mut recorder = screening.recorder(w);
        slacks.iter().for_each(|&(row, slack)| recorder.record(row, slack, row == 2));
    }

    #[test]
    fn a_row_is_found_once_w_has_moved_by_its_slack() {
        let mut screening = Screening::new(3);
        let mut found = Vec::new();
        record(&mut screening, &[0.0, 0.0], &[(0, 0.5), (1, 1.5), (2, 6.0)]);
        assert_eq!(screening.find_crossing(&[0.0, 0.0], 0.25, 1.0, &mut found), [] as [usize; 0]);
        assert_eq!(screening.find_crossing(&[0.6, 0.8], 0.0, 1.0, &mut found), [0]);
        assert_eq!(screening.find_crossing(&[0.6, 0.8], 0.0, 0.25, &mut found), [] as [usize; 0]);
        assert_eq!(screening.find_crossing(&[0.6, 0.8], 0.5, 1.0, &mut found), [0, 1]);
        assert_eq!(screening.find_with_loss(&[0.6, 0.8], &mut found), [0, 2]);
        // Looked at again, the first row is measured from there; a slot that closes still counts.
        record(&mut screening, &[0.6, 0.8], &[(0, 0.5)]);
        let snapshot = screening.snapshot(&[0.6, 0.8]);
        assert_eq!(screening.stale(&[0, 1, 2], snapshot, &mut found), [1, 2]);
        assert_eq!(screening.find_crossing(&[0.6, 0.8], 0.0, 1.0, &mut found), [] as [usize; 0]);
        screening.compact(&[0], 1);
        assert_eq!(screening.find_crossing(&[0.6], 0.0, 1.0, &mut found), [0]);
    }

    #[test]
    fn rows_of_pruned_snapshots_are_found() {
        let mut screening = Screening::new(40);
        let mut found = Vec::new();
        for model in 0..40 {
            record(&mut screening, &[model as f64], &[(model, 1e6), (39, 1e6)]);
        }
        let rows = screening.find_crossing(&[39.0], 0.0, 1.0, &mut found);
        assert!(rows.len() > 20 && !rows.contains(&39), "{rows:?}");
        // What has loss is not forgotten.
        assert!(screening.find_with_loss(&[39.0], &mut found).contains(&2));
    }
}
