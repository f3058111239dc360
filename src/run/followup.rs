//! The tasks that follow the paths of a run: folds of the nested validation, sites and
//! permutations of the labels. Each is one task that depends on nothing but the plan, so that it
//! can run anywhere, be recorded, and be resumed.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::permutation::{PermutedRun, run_permutation};
use super::sites::{SiteProbe, probe_sites, test_site};
use super::validation::{FoldTest, test_fold};
use super::{Plan, RunInfo};
use crate::error::Result;
use crate::select::Method;

/// One task after the paths. All methods of a fold are tested on the same rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Followup {
    /// A fold of the nested validation, from 0.
    Fold(Method, usize),
    /// The procedure without a site, tested there; from 0.
    Site(Method, usize),
    /// How well the features of the list tell the sites apart.
    Probe(Method),
    /// A permutation of the labels, from 0.
    Permutation(Method, usize),
}

impl fmt::Display for Followup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fold(method, fold) => write!(f, "{method} in validation fold {}", fold + 1),
            Self::Site(method, site) => write!(f, "{method} without site {}", site + 1),
            Self::Probe(method) => write!(f, "sites predicted by the features of {method}"),
            Self::Permutation(method, index) => {
                write!(f, "{method} under permutation {}", index + 1)
            }
        }
    }
}

impl Followup {
    /// `fold/crfe/2`, `probe/crfe/0` or `permutation/crfe/17`: the name in a journal.
    pub fn name(self) -> String {
        match self {
            Self::Fold(method, fold) => format!("fold/{}/{fold}", method.name()),
            Self::Site(method, site) => format!("site/{}/{site}", method.name()),
            Self::Probe(method) => format!("probe/{}/0", method.name()),
            Self::Permutation(method, index) => format!("permutation/{}/{index}", method.name()),
        }
    }

    /// Reads [`Followup::name`].
    pub fn from_name(name: &str) -> Option<Self> {
        let mut parts = name.split('/');
        let kind = parts.next()?;
        let method = parts.next()?.parse().ok()?;
        let which = parts.next()?;
        let index = || which.parse().ok();
        match (kind, parts.next()) {
            ("fold", None) => Some(Self::Fold(method, index()?)),
            ("site", None) => Some(Self::Site(method, index()?)),
            ("probe", None) if which == "0" => Some(Self::Probe(method)),
            ("permutation", None) => Some(Self::Permutation(method, index()?)),
            _ => None,
        }
    }

    pub fn method(self) -> Method {
        match self {
            Self::Fold(method, _)
            | Self::Site(method, _)
            | Self::Probe(method)
            | Self::Permutation(method, _) => method,
        }
    }

    /// Whether it belongs to a run: its method and number are asked for.
    pub fn is_of(self, info: &RunInfo) -> bool {
        let (index, count) = match self {
            Self::Fold(_, index) => (index, info.folds),
            // A site that cannot be left out is not of the run.
            Self::Site(_, site) => {
                (0, usize::from(info.sites.get(site).is_some_and(|site| site.tested)))
            }
            Self::Probe(_) => (0, usize::from(!info.sites.is_empty())),
            Self::Permutation(_, index) => (index, info.permutations),
        };
        index < count && info.spec.methods.contains(&self.method())
    }

    /// Identifies everything that determines its outcome, hexadecimal: unlike a path's, it depends
    /// on the number of splits, and where a list is chosen on the rule that chooses its size.
    pub fn fingerprint(self, info: &RunInfo) -> String {
        let spec = &info.spec;
        let by_rule = |kind: &str, what: serde_json::Value| {
            json!([
                kind,
                info.fingerprint,
                info.splits,
                what,
                spec.stop.name(),
                spec.by,
                spec.beta_rule
            ])
        };
        let material = match self {
            Self::Fold(..) => by_rule("fold", json!(info.folds)),
            // The columns of sites and subgroups are among the settings behind the fingerprint of
            // the run.
            Self::Site(..) | Self::Probe(..) => {
                let kind = if matches!(self, Self::Site(..)) { "site" } else { "probe" };
                json!([
                    kind,
                    info.fingerprint,
                    info.splits,
                    spec.stop.name(),
                    spec.by,
                    spec.beta_rule
                ])
            }
            Self::Permutation(..) => json!(["permutation", info.fingerprint, info.splits]),
        };
        let hash = Sha256::digest(material.to_string());
        hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Does the work; `None` if it was cancelled.
    pub fn run(self, plan: &Plan, go_on: &mut dyn FnMut() -> bool) -> Result<Option<Outcome>> {
        match self {
            Self::Fold(method, fold) => {
                Ok(test_fold(plan, method, fold, go_on)?.map(Outcome::Fold))
            }
            Self::Site(method, site) => {
                Ok(test_site(plan, method, site, go_on)?.map(Outcome::Site))
            }
            Self::Probe(method) => Ok(probe_sites(plan, method, go_on)?.map(Outcome::Probe)),
            Self::Permutation(method, index) => {
                Ok(run_permutation(plan, method, index, go_on)?.map(Outcome::Permutation))
            }
        }
    }
}

/// The outcome of a task that follows the paths.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The outcome of a fold.
    Fold(FoldTest),
    /// The outcome of a site.
    Site(FoldTest),
    /// How well sites were predicted.
    Probe(SiteProbe),
    /// The outcome of a permutation.
    Permutation(PermutedRun),
}

impl Outcome {
    /// Refuses an outcome that this task of this run cannot have.
    pub fn check(
        &self,
        followup: Followup,
        info: &RunInfo,
    ) -> std::result::Result<(), &'static str> {
        let (units, classes) = (info.units.len(), info.classes.len());
        match (followup, self) {
            (Followup::Fold(..), Self::Fold(test)) | (Followup::Site(..), Self::Site(test)) => {
                let FoldTest { size, units: list, conformal, rows, groups, subgroups, times } =
                    test;
                let of_rows = |count: usize| count == 0 || count == rows.len();
                let in_groups = info.spec.schema.group_col.is_some();
                let is_level = |(levels, known): (&Vec<Option<usize>>, &super::SubgroupInfo)| {
                    of_rows(levels.len())
                        && levels.iter().flatten().all(|&level| level < known.levels.len())
                };
                let fits = (subgroups.is_empty() || subgroups.len() == info.subgroups.len())
                    && subgroups.iter().zip(&info.subgroups).all(is_level)
                    && of_rows(times.len())
                    && size.is_none_or(|size| size <= units)
                    && list.iter().all(|&unit| unit < units)
                    && conformal.len() == classes
                    && groups.len() == if in_groups { rows.len() } else { 0 }
                    && rows.iter().all(|row| {
                        row.row < info.rows
                            && row.y < classes
                            && row.f.len() == classes
                            && row.p.len() == classes
                    });
                if fits { Ok(()) } else { Err("its numbers are impossible") }
            }
            (Followup::Probe(..), Self::Probe(probe)) => {
                let SiteProbe { units: list, sites, rows, right, largest, by_class, auc } = probe;
                let fits = list.iter().all(|&unit| unit < units)
                    && *sites <= info.sites.len()
                    && *rows <= info.rows
                    && [right, largest, by_class].into_iter().all(|count| count <= rows)
                    && auc.is_none_or(|auc| (0.0..=1.0).contains(&auc));
                if fits { Ok(()) } else { Err("its numbers are impossible") }
            }
            (Followup::Permutation(..), Self::Permutation(PermutedRun { reached, s_score })) => {
                let fits = reached.len() <= info.splits
                    && reached.is_sorted()
                    && s_score.iter().all(|&(size, _)| (1..=units).contains(&size));
                if fits { Ok(()) } else { Err("its numbers are impossible") }
            }
            _ => Err("its outcome has the wrong kind"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for task in [
            Followup::Fold(Method::Crfe, 2),
            Followup::Site(Method::Crfe, 3),
            Followup::Probe(Method::Acm),
            Followup::Permutation(Method::Rfe, 98),
        ] {
            assert_eq!(Followup::from_name(&task.name()), Some(task));
        }
        for name in [
            "",
            "fold",
            "fold/crfe",
            "fold/crfe/x",
            "fold/knn/1",
            "path/crfe/1",
            "fold/crfe/1/2",
            "probe/crfe/1",
        ] {
            assert_eq!(Followup::from_name(name), None, "{name}");
        }
    }
}
