//! Whether what a journal says can be true: nothing that was read reaches a history, a table or a
//! screen unchecked.

use super::format::TaskEndLine;
use crate::data::{LONGEST_LABEL, MOST_SPLITS};
use crate::evaluate::Tally;
use crate::run::{Betas, MOST_FOLDS, MOST_PERMUTATIONS, Parts, RunInfo, Step};

/// More rows, or splits, than anyone has: what claims them is not ours.
const MOST_ROWS: usize = 100_000_000;

/// What is wrong with the start of a run, if anything.
pub fn run(info: &RunInfo) -> Result<(), &'static str> {
    let rows = info.class_counts.iter().try_fold(0_usize, |sum, &count| sum.checked_add(count));
    let demands = [
        (!info.units.is_empty(), "it has no features"),
        (
            info.units
                .iter()
                .all(|unit| unit.columns.iter().all(|&column| column < info.columns.len())),
            "a feature has a column that does not exist",
        ),
        (
            info.classes.len() >= 2 && info.classes.len() == info.class_counts.len(),
            "its classes do not agree",
        ),
        (
            info.classes.iter().all(|label| label.len() <= LONGEST_LABEL),
            "a class has a label that is too long",
        ),
        (rows == Some(info.rows) && info.rows <= MOST_ROWS, "its rows do not add up"),
        ((1..=MOST_SPLITS).contains(&info.splits), "its number of splits is impossible"),
        (info.folds <= MOST_FOLDS, "its number of folds is impossible"),
        (info.sites.len() <= MOST_FOLDS, "its number of sites is impossible"),
        (info.permutations <= MOST_PERMUTATIONS, "its number of permutations is impossible"),
        (info.fingerprint.len() == 64 && info.fingerprint.is_ascii(), "its fingerprint is not one"),
    ];
    demands.iter().find(|(met, _)| !met).map_or(Ok(()), |&(_, fault)| Err(fault))
}

/// One path as it is read: what is still present decides what may come next.
#[derive(Debug)]
pub struct PathCheck {
    parts: Parts,
    present: Vec<bool>,
    kept: usize,
    size: usize,
    t: usize,
    /// After a model from which nothing is removed, only the end may follow.
    last: bool,
}

impl PathCheck {
    /// A path that begins.
    pub fn new(info: &RunInfo, parts: Parts) -> Result<Self, &'static str> {
        let classes = info.classes.len();
        let sum = |counts: &[usize]| {
            counts.iter().try_fold(0_usize, |sum, &count| sum.checked_add(count))
        };
        let fits = |rows: Option<usize>| rows.is_some_and(|rows| rows <= info.rows);
        let right = parts.conformal.len() == classes
            && parts.test.len() == classes
            && fits(sum(&parts.conformal))
            && fits(sum(&parts.test))
            && fits(Some(parts.train))
            && fits(Some(parts.selection));
        if !right {
            return Err("the rows of its split are impossible");
        }
        let present = info.units.iter().map(|unit| !unit.kept).collect();
        Ok(Self { parts, present, kept: info.kept(), size: info.units.len(), t: 0, last: false })
    }

    /// The rows of its split.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// The next model: its size is filled in.
    pub fn step(&mut self, step: &mut Step) -> Result<(), &'static str> {
        if step.t != self.t || self.last {
            return Err("a step is missing or repeated");
        }
        step.size = self.size;
        self.tally(&step.tally)?;
        let units = self.present.len();
        let known = match &step.beta {
            Some(Betas::Whole(values)) => values.len() == self.size,
            Some(Betas::Top(pairs)) => {
                pairs.len() <= self.size && pairs.iter().all(|&(unit, _)| (unit as usize) < units)
            }
            None => true,
        };
        if !known || step.runner_up.is_some_and(|unit| unit >= units) {
            return Err("a step names a feature that does not exist");
        }
        for &unit in &step.removed {
            self.take(unit)?;
        }
        self.last = step.removed.is_empty();
        self.t += 1;
        if self.size == 0 { Err("a step removes everything") } else { Ok(()) }
    }

    fn take(&mut self, unit: usize) -> Result<(), &'static str> {
        match self.present.get_mut(unit) {
            Some(present) if *present => {
                *present = false;
                self.size -= 1;
                Ok(())
            }
            _ => Err("it removes a feature that is not present"),
        }
    }

    fn tally(&self, tally: &Tally) -> Result<(), &'static str> {
        let classes = self.parts.test.len();
        let rows: u64 = self.parts.test.iter().map(|&n| n as u64).sum();
        let by_class = (0..classes).all(|class| {
            let n = self.parts.test[class] as u64;
            let predicted = &tally.confusion[class * classes..][..classes];
            predicted.iter().map(|&count| u64::from(count)).sum::<u64>() == n
                && u64::from(tally.covered[class]) <= n
                && u64::from(tally.set_sizes[class]) <= n * classes as u64
        });
        let in_all =
            [tally.certain, tally.full, tally.empty].iter().all(|&count| u64::from(count) <= rows);
        if by_class && in_all { Ok(()) } else { Err("the counts of a step do not add up") }
    }

    /// The end: what is left must be all that is left.
    pub fn end(mut self, end: &TaskEndLine) -> Result<(), &'static str> {
        if !self.last {
            return Err("it ends before its last step");
        }
        let units = self.present.len();
        for &unit in &end.rest {
            self.take(unit)?;
        }
        let sizes = end.cv.is_none_or(|size| (1..=units).contains(&size));
        if self.size == self.kept && sizes { Ok(()) } else { Err("what it leaves does not add up") }
    }
}
