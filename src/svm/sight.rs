//! Which rows could be across the margin, without looking at them.
//!
//! When w moves by d, a decision value moves by at most ‖x_i‖·‖d‖. So a row that was looked at needs no other look before w has
//! moved by its room, its distance from the margin over ‖x_i‖.

use super::lanes::{distance, dot};
use super::rows::some_of;
use super::within::{MORE, TABLE, find_within};

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
    /// When that was: an index into `marks`.
    seen: Vec<u8>,
    marks: Vec<Mark>,
}

/// A model of the past.
#[derive(Clone)]
struct Mark {
    w: Vec<f64>,
    /// The squares of its weights that have no slot any more.
    lost: f64,
}

/// More than what rounding to single precision takes from a reach or adds to a room.
const ROUNDING: f64 = 1e-6;

impl Sight {
    /// Nothing is known of any row.
    pub fn new(rows: usize) -> Self {
        Self { room: vec![0.0; rows], seen: vec![0; rows], marks: Vec::new() }
    }

    /// Forgets everything: all rows must be looked at next.
    pub fn forget(&mut self) {
        self.marks.clear();
    }

    /// The mark of a model; that it is the newest one is all that callers may rely on.
    pub fn mark(&mut self, w: &[f64]) -> u8 {
        if self.marks.last().is_none_or(|mark| mark.w != w || mark.lost > 0.0) {
            if self.marks.len() == TABLE {
                self.thin_out();
            }
            self.marks.push(Mark { w: w.to_vec(), lost: 0.0 });
        }
        self.marks.len() as u8 - 1
    }

    /// Notes the room of a row under the model of a mark.
    #[inline]
    pub fn note(&mut self, row: usize, room: f64, mark: u8) {
        self.room[row] = room as f32;
        self.seen[row] = mark;
    }

    /// Those of some rows that were last looked at under another model than that of a mark.
    pub fn stale<'s>(&self, rows: &[usize], mark: u8, stale: &'s mut Vec<usize>) -> &'s [usize] {
        stale.resize(self.room.len() + MORE, 0);
        let mut count = 0;
        for &row in rows {
            stale[count] = row;
            count += usize::from(self.seen[row] != mark);
        }
        &stale[..count]
    }

    /// Finds the rows that would be across the margin when w has moved by so much more, if it moved against them with a
    /// share of its way.
    pub fn find<'n>(&self, w: &[f64], further: f64, share: f64, near: &'n mut Vec<usize>) -> &'n [usize] {
        near.resize(self.room.len() + MORE, 0);
        let count = find_within(&self.room, &self.seen, &self.reaches(w, further, share), near);
        &near[..count]
    }

    /// Finds the rows that could be across the margin, and all those of which something else is true.
    pub fn find_or<'n>(
        &self,
        w: &[f64],
        also: impl Fn(usize) -> bool,
        near: &'n mut Vec<usize>,
    ) -> &'n [usize] {
        let reaches = self.reaches(w, 0.0, 1.0);
        near.resize(self.room.len() + MORE, 0);
        // Every row is written down and kept or not: a branch here would be guessed wrongly too often.
        let mut count = 0;
        for (row, (room, &seen)) in self.room.iter().zip(&self.seen).enumerate() {
            near[count] = row;
            count += usize::from((*room <= reaches[usize::from(seen) % TABLE]) | also(row));
        }
        &near[..count]
    }

    /// How far w is from each mark at most.
    fn reaches(&self, w: &[f64], further: f64, share: f64) -> [f32; TABLE] {
        let mut reaches = [0.0; TABLE];
        for (reach, mark) in reaches.iter_mut().zip(&self.marks) {
            let moved = (distance(&mark.w, w) + mark.lost).sqrt() + further;
            *reach = (share * moved * (1.0 + ROUNDING)) as f32;
        }
        reaches
    }

    /// Lets most marks go if they are many, those with the fewest rows. Of these rows nothing is known then.
    pub fn tidy_up(&mut self) {
        if self.marks.len() >= MANY_MARKS {
            self.thin_out();
        }
    }

    fn thin_out(&mut self) {
        let mut members = [0_usize; TABLE];
        self.seen.iter().for_each(|&mark| members[usize::from(mark)] += 1);
        let mut kept: Vec<usize> = (0..self.marks.len()).collect();
        kept.sort_by_key(|&mark| std::cmp::Reverse(members[mark]));
        kept.truncate(KEPT_MARKS);
        let mut places = [None; TABLE];
        kept.iter().enumerate().for_each(|(place, &mark)| places[mark] = Some(place as u8));
        for (seen, room) in self.seen.iter_mut().zip(&mut self.room) {
            let place = places[usize::from(*seen)];
            *seen = place.unwrap_or(0);
            if place.is_none() {
                *room = 0.0;
            }
        }
        self.marks = kept.into_iter().map(|mark| self.marks[mark].clone()).collect();
    }

    /// Prepares for rows without the slots that are not in use.
    pub fn close_up(&mut self, kept: &[usize], width: usize) {
        for mark in &mut self.marks {
            let before = dot(&mark.w, &mark.w);
            mark.w = some_of(&mark.w, kept, width);
            // A little more, for rounding.
            mark.lost += (before * (1.0 + 1e-12) - dot(&mark.w, &mark.w)).max(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_near_once_w_has_moved_by_its_room() {
        let mut sight = Sight::new(3);
        let mut near = Vec::new();
        let mark = sight.mark(&[0.0, 0.0]);
        for (row, room) in [(0, 0.5), (1, 1.5), (2, 6.0)] {
            sight.note(row, room, mark);
        }
        assert_eq!(sight.find(&[0.0, 0.0], 0.25, &mut near), [] as [usize; 0]);
        assert_eq!(sight.find(&[0.6, 0.8], 0.0, &mut near), [0]);
        assert_eq!(sight.find(&[0.6, 0.8], 0.5, &mut near), [0, 1]);
        assert_eq!(sight.find_or(&[0.6, 0.8], |row| row == 2, &mut near), [0, 2]);
        // Looked at again, the first row is measured from there; a slot that closes still counts.
        let mark = sight.mark(&[0.6, 0.8]);
        sight.note(0, 0.5, mark);
        assert_eq!(sight.stale(&[0, 1], mark, &mut near), [1]);
        assert_eq!(sight.find(&[0.6, 0.8], 0.0, &mut near), [] as [usize; 0]);
        sight.close_up(&[0], 1);
        assert_eq!(sight.find(&[0.6], 0.0, &mut near), [0]);
    }

    #[test]
    fn rows_of_marks_that_are_let_go_are_near() {
        let mut sight = Sight::new(40);
        let mut near = Vec::new();
        for model in 0..40 {
            let mark = sight.mark(&[f64::from(model)]);
            sight.note(model as usize, 1e6, mark);
            sight.note(39, 1e6, mark);
        }
        let found = sight.find(&[39.0], 0.0, &mut near);
        assert!(found.len() > 20 && !found.contains(&39), "{found:?}");
    }
}
