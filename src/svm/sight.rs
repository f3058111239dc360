//! Which rows could be across the margin, without looking at them.
//!
//! When w moves by d, a decision value moves by at most ‖x_i‖·‖d‖. So a row that was looked at needs no other look before w has
//! moved by its room, its distance from the margin over ‖x_i‖.

use super::lanes::{distance, dot};
use super::rows::some_of;
use super::within::{FLAG, MORE, TABLE, find_within};

/// When there are so many marks, most are let go.
const MANY_MARKS: usize = 12;
/// So many stay.
const KEPT_MARKS: usize = 3;

/// What is known of the rows of one machine. Vectors are by slot of [`super::rows::Rows`].
#[derive(Clone)]
pub struct Sight {
    /// By how much w could move when a row was last looked at before the row crosses the margin, as near as makes no difference
    /// to [`ROUNDING`].
    room: Vec<f32>,
    /// When that was, a mark, and with a [`FLAG`] whether the row had loss then.
    seen: Vec<u8>,
    /// Models of the past, one after the other.
    models: Vec<f64>,
    /// The squares of their weights that have no slot any more.
    lost: Vec<f64>,
}

/// More than what rounding to single precision takes from a reach or adds to a room.
const ROUNDING: f64 = 1e-6;

impl Sight {
    /// Nothing is known of any row.
    pub fn new(rows: usize) -> Self {
        Self { room: vec![0.0; rows], seen: vec![0; rows], models: Vec::new(), lost: Vec::new() }
    }

    /// Forgets everything: all rows must be looked at next.
    pub fn forget(&mut self) {
        self.models.clear();
        self.lost.clear();
    }

    /// The mark of a model; that it is the newest one is all that callers may rely on.
    pub fn mark(&mut self, w: &[f64]) -> u8 {
        let newest = self.models.len().saturating_sub(w.len());
        if self.lost.last().is_none_or(|&lost| lost > 0.0 || distance(&self.models[newest..], w) > 0.0) {
            if self.lost.len() == TABLE {
                self.thin_out();
            }
            self.models.extend_from_slice(w);
            self.lost.push(0.0);
        }
        self.lost.len() as u8 - 1
    }

    /// Where the rooms of rows are noted, and the mark of the model under which they have it.
    pub fn notes(&mut self, w: &[f64]) -> Notes<'_> {
        let mark = self.mark(w);
        Notes { room: &mut self.room, seen: &mut self.seen, mark }
    }

    /// Those of some rows that were last looked at under another model than that of a mark.
    pub fn stale<'s>(&self, rows: &[usize], mark: u8, stale: &'s mut Vec<usize>) -> &'s [usize] {
        stale.resize(self.room.len() + MORE, 0);
        let mut count = 0;
        for &row in rows {
            stale[count] = row;
            count += usize::from(self.seen[row] & !FLAG != mark);
        }
        &stale[..count]
    }

    /// Finds the rows that would be across the margin when w has moved by so much more, if it moved against them with a
    /// share of its way.
    pub fn find<'n>(&self, w: &[f64], further: f64, share: f64, near: &'n mut Vec<usize>) -> &'n [usize] {
        self.find_among::<false>(&self.reaches(w, further, share), near)
    }

    /// Finds the rows that have loss or could have.
    pub fn find_with_loss<'n>(&self, w: &[f64], near: &'n mut Vec<usize>) -> &'n [usize] {
        self.find_among::<true>(&self.reaches(w, 0.0, 1.0), near)
    }

    fn find_among<'n, const FLAGGED: bool>(
        &self,
        reaches: &[f32; TABLE],
        near: &'n mut Vec<usize>,
    ) -> &'n [usize] {
        near.resize(self.room.len() + MORE, 0);
        let count = find_within::<FLAGGED>(&self.room, &self.seen, reaches, near);
        &near[..count]
    }

    /// How far w is from each mark at most.
    fn reaches(&self, w: &[f64], further: f64, share: f64) -> [f32; TABLE] {
        let mut reaches = [0.0; TABLE];
        let marks = self.models.chunks_exact(w.len()).zip(&self.lost);
        for (reach, (model, lost)) in reaches.iter_mut().zip(marks) {
            let moved = (distance(model, w) + lost).sqrt() + further;
            *reach = (share * moved * (1.0 + ROUNDING)) as f32;
        }
        reaches
    }

    /// Lets most marks go if they are many, those with the fewest rows. Of these rows nothing is known then.
    pub fn tidy_up(&mut self) {
        if self.lost.len() >= MANY_MARKS {
            self.thin_out();
        }
    }

    fn thin_out(&mut self) {
        let width = self.models.len() / self.lost.len().max(1);
        let mut members = [0_usize; TABLE];
        self.seen.iter().for_each(|&seen| members[usize::from(seen & !FLAG) % TABLE] += 1);
        let mut kept: Vec<usize> = (0..self.lost.len()).collect();
        kept.sort_by_key(|&mark| std::cmp::Reverse(members[mark]));
        kept.truncate(KEPT_MARKS);
        kept.sort_unstable();
        // Where each mark goes, and whether it stays: rows of the others have no room.
        let (mut places, mut stays) = ([0; TABLE], [0.0; TABLE]);
        for (place, &mark) in kept.iter().enumerate() {
            (places[mark], stays[mark]) = (place as u8, 1.0);
            self.models.copy_within(mark * width..(mark + 1) * width, place * width);
            self.lost[place] = self.lost[mark];
        }
        for (seen, room) in self.seen.iter_mut().zip(&mut self.room) {
            let mark = usize::from(*seen & !FLAG) % TABLE;
            *seen = *seen & FLAG | places[mark];
            *room *= stays[mark];
        }
        self.models.truncate(kept.len() * width);
        self.lost.truncate(kept.len());
    }

    /// Prepares for rows without the slots that are not in use.
    pub fn close_up(&mut self, kept: &[usize], width: usize) {
        let before = self.models.len() / self.lost.len().max(1);
        let mut models = Vec::with_capacity(self.lost.len() * width);
        for (model, lost) in self.models.chunks_exact(before.max(1)).zip(&mut self.lost) {
            let closed = some_of(model, kept, width);
            // A little more, for rounding.
            *lost += (dot(model, model) * (1.0 + 1e-12) - dot(&closed, &closed)).max(0.0);
            models.extend(closed);
        }
        self.models = models;
    }
}

/// Where rooms of rows are noted.
pub struct Notes<'s> {
    /// By how much w can move before a row crosses the margin, and under which mark it has that.
    room: &'s mut [f32],
    seen: &'s mut [u8],
    mark: u8,
}

impl Notes<'_> {
    /// Notes the room of a row, and whether it has loss.
    #[inline]
    pub fn note(&mut self, row: usize, room: f64, has_loss: bool) {
        self.room[row] = room as f32;
        self.seen[row] = self.mark | if has_loss { FLAG } else { 0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(sight: &mut Sight, w: &[f64], rooms: &[(usize, f64)]) {
        let mut notes = sight.notes(w);
        rooms.iter().for_each(|&(row, room)| notes.note(row, room, row == 2));
    }

    #[test]
    fn a_row_is_near_once_w_has_moved_by_its_room() {
        let mut sight = Sight::new(3);
        let mut near = Vec::new();
        note(&mut sight, &[0.0, 0.0], &[(0, 0.5), (1, 1.5), (2, 6.0)]);
        assert_eq!(sight.find(&[0.0, 0.0], 0.25, 1.0, &mut near), [] as [usize; 0]);
        assert_eq!(sight.find(&[0.6, 0.8], 0.0, 1.0, &mut near), [0]);
        assert_eq!(sight.find(&[0.6, 0.8], 0.0, 0.25, &mut near), [] as [usize; 0]);
        assert_eq!(sight.find(&[0.6, 0.8], 0.5, 1.0, &mut near), [0, 1]);
        assert_eq!(sight.find_with_loss(&[0.6, 0.8], &mut near), [0, 2]);
        // Looked at again, the first row is measured from there; a slot that closes still counts.
        note(&mut sight, &[0.6, 0.8], &[(0, 0.5)]);
        let mark = sight.mark(&[0.6, 0.8]);
        assert_eq!(sight.stale(&[0, 1, 2], mark, &mut near), [1, 2]);
        assert_eq!(sight.find(&[0.6, 0.8], 0.0, 1.0, &mut near), [] as [usize; 0]);
        sight.close_up(&[0], 1);
        assert_eq!(sight.find(&[0.6], 0.0, 1.0, &mut near), [0]);
    }

    #[test]
    fn rows_of_marks_that_are_let_go_are_near() {
        let mut sight = Sight::new(40);
        let mut near = Vec::new();
        for model in 0..40 {
            note(&mut sight, &[model as f64], &[(model, 1e6), (39, 1e6)]);
        }
        let found = sight.find(&[39.0], 0.0, 1.0, &mut near);
        assert!(found.len() > 20 && !found.contains(&39), "{found:?}");
        // What has loss is not forgotten.
        assert!(sight.find_with_loss(&[39.0], &mut near).contains(&2));
    }
}
