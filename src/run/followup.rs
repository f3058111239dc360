//! The tasks that follow the paths of a run: folds of the nested validation, sites and
//! permutations of the labels. Each depends on nothing but the plan, so that it can run anywhere, be
//! recorded, and be resumed. What a kind does is in its own file, as a [`FollowupKind`].

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::permutation::{PERMUTATION, PermutedRun};
use super::probe::{PROBE, SiteProbe};
use super::sites::SITE;
use super::task::SplitWork;
use super::validation::{FOLD, FoldTest, finished_trace};
use super::{Plan, RunInfo, TaskId, Trace};
use crate::error::Result;
use crate::select::Method;

/// What there is to know of a kind of task after the paths.
pub struct FollowupKind {
    /// Its name in a journal.
    pub name: &'static str,
    /// What progress counts: "permutations".
    pub counted: &'static str,
    /// One of them in words, counted from 0.
    pub words: fn(Method, usize) -> String,
    /// How many there are for each method of a run.
    pub count: fn(&RunInfo) -> usize,
    /// Whether a run goes without this one of them.
    pub is_skipped: fn(&RunInfo, usize) -> bool,
    /// What determines its outcome besides the settings of the paths and the number of splits.
    pub determined_by: fn(&RunInfo) -> Value,
    /// Its cost: the paths that it computes in a run of this many splits.
    pub paths: fn(usize) -> usize,
    /// Whether it asks for [`FollowupWork::paths`].
    pub asks_for_paths: bool,
    /// Does the work, as long as it may go on; `None` if it was cancelled.
    pub run: fn(&FollowupWork<'_>, &mut dyn FnMut() -> bool) -> Result<Option<Outcome>>,
    /// Whether a run can have this outcome of it.
    pub allows: fn(&Outcome, &RunInfo) -> bool,
}

/// The kinds, in the order in which they run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A fold of the nested validation.
    Fold,
    /// The procedure without a site, tested there.
    Site,
    /// How well the features of the list tell the sites apart.
    Probe,
    /// A permutation of the labels.
    Permutation,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::Fold, Self::Site, Self::Probe, Self::Permutation];
}

impl Deref for Kind {
    type Target = FollowupKind;
    fn deref(&self) -> &Self::Target {
        match self {
            Self::Fold => &FOLD,
            Self::Site => &SITE,
            Self::Probe => &PROBE,
            Self::Permutation => &PERMUTATION,
        }
    }
}

/// The outcome of a task that follows the paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A list, tested on rows that it never saw: those of a fold or of a site.
    Fold(FoldTest),
    /// How well sites were predicted.
    Probe(SiteProbe),
    /// A run under permuted labels.
    Permutation(PermutedRun),
}

/// One task after the paths. All methods of a fold are tested on the same rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Followup {
    pub kind: Kind,
    pub method: Method,
    /// Which of its kind, from 0.
    pub index: usize,
}

impl fmt::Display for Followup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&(self.kind.words)(self.method, self.index))
    }
}

impl Followup {
    /// `fold/crfe/2`, `probe/crfe/0` or `permutation/crfe/17`: the name in a journal.
    pub fn name(self) -> String {
        format!("{}/{}/{}", self.kind.name, self.method.name(), self.index)
    }

    /// Reads [`Followup::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        let mut parts = name.splitn(3, '/');
        let kind = parts.next()?;
        let kind = Kind::ALL.into_iter().find(|known| known.name == kind)?;
        let (method, index) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        Some(Self { kind, method, index })
    }

    /// Whether it belongs to a run: its method and number are asked for.
    pub fn is_of(self, info: &RunInfo) -> bool {
        let Self { kind, method, index } = self;
        let is_counted = index < (kind.count)(info) && !(kind.is_skipped)(info, index);
        is_counted && info.spec.methods.contains(&method)
    }

    /// Identifies everything that determines its outcome, hexadecimal: unlike a path's, it depends
    /// on the number of splits, and where a list is chosen on the rule that chooses its size.
    pub fn fingerprint(self, info: &RunInfo) -> String {
        let determined_by = (self.kind.determined_by)(info);
        let material = json!([self.kind.name, info.fingerprint, info.splits, determined_by]);
        let hash = Sha256::digest(material.to_string());
        hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Does the work; `None` if it was cancelled.
    pub fn run(
        self,
        plan: &Plan,
        known: KnownPaths<'_>,
        go_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Outcome>> {
        let Self { kind, method, index } = self;
        (kind.run)(&FollowupWork { plan, method, index, known }, go_on)
    }
}

/// What a task after the paths works on.
pub struct FollowupWork<'a> {
    pub plan: &'a Plan,
    pub method: Method,
    pub index: usize,
    known: KnownPaths<'a>,
}

impl FollowupWork<'_> {
    /// The paths of its method on all splits of the run: known ones, and the others computed; `None`
    /// if it was cancelled.
    pub fn paths(&self, go_on: &mut dyn FnMut() -> bool) -> Result<Option<Vec<Trace>>> {
        let path = |split| {
            let task = TaskId { method: self.method, split };
            if let Some(trace) = (self.known)(task) {
                return Some(Ok(trace));
            }
            let work = SplitWork::new(self.plan, split);
            work.and_then(|work| finished_trace(self.plan, &work, task, go_on)).transpose()
        };
        (0..self.plan.info.splits).map(path).collect::<Option<_>>().transpose()
    }
}

/// The finished paths of the run that need not be computed again.
pub type KnownPaths<'a> = &'a dyn Fn(TaskId) -> Option<Trace>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for kind in Kind::ALL {
            let task = Followup { kind, method: Method::Rfe, index: 98 };
            assert_eq!(Followup::from_name(&task.name()), Some(task));
        }
        for name in
            ["", "fold", "fold/crfe", "fold/crfe/x", "fold/knn/1", "path/crfe/1", "fold/crfe/1/2"]
        {
            assert_eq!(Followup::from_name(name), None, "{name}");
        }
    }
}
