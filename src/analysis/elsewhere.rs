//! How the list of a method did on the rows of another file (`--test`).

use serde::Serialize;

use super::{History, count_features};
use crate::evaluate::Predicted;
use crate::model::{Measured, Terms};
use crate::run::{Followup, Outcome, RunInfo};
use crate::select::{Method, Score};

/// What the model of the list achieved on another file, of which nothing else has seen a row.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestedElsewhere {
    /// The file, as it was named.
    pub file: String,
    /// Features in the list.
    pub size: usize,
    pub measured: Measured,
}

impl TestedElsewhere {
    /// Reads it off a history; `None` before the test has ended, and without a list.
    pub fn new(history: &History, info: &RunInfo, method: Method) -> Option<Self> {
        let external = info.external.as_ref()?;
        let Outcome::External(test) = history.followup(Followup::External(method))? else {
            return None;
        };
        let rows: Vec<Predicted<'_>> =
            test.rows.iter().map(|row| Predicted { y: row.y, f: &row.f, p: &row.p }).collect();
        let spec = &info.spec;
        let terms = Terms {
            classes: &info.classes,
            epsilon: spec.epsilon,
            mondrian: spec.mondrian,
            exact: spec.score == Score::Weighted
                && !spec.smoothed
                && spec.schema.group_col.is_none(),
            calibration: &test.conformal,
            seed: spec.split.seed,
        };
        let mut measured = Measured::new(&rows, &terms, test.alike_p)?;
        measured.without_class = external.without_class;
        measured.leave_out(&external.unknown_classes);
        Some(Self {
            file: external.file.to_string_lossy().into_owned(),
            size: test.units.len(),
            measured,
        })
    }

    /// What was tested, on how many rows.
    pub fn headline(&self) -> String {
        let rows = self.measured.performance.rows;
        format!(
            "Tested once on {rows} rows of {}, which nothing had seen before (this list of {}; 95 % intervals)",
            self.file,
            count_features(self.size)
        )
    }
}
