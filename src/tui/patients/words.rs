//! What the screen of patients says, in words: the summary that is drawn, and everything for
//! `--plain`.

use std::fmt::Write;

use unicode_width::UnicodeWidthStr;

use super::{CohortState, PatientsScreen};
use crate::error::counted;
use crate::evaluate::label_p;
use crate::model::{MOST_KEPT, Measured, ScoredRow};
use crate::tui::action::Action;
use crate::tui::keymap::KeyContext;
use crate::tui::view::text::{clean, number, share};

/// Rows of a table in plain text, at most.
const ROWS: usize = 20;

/// One feature of a patient.
pub(super) struct FeatureShare {
    pub(super) name: String,
    /// What the file says.
    pub(super) cell: String,
    /// What it adds to the score of the label: its share of −α, above 0 if it speaks for the label.
    pub(super) share: f64,
}

impl PatientsScreen<'_> {
    /// The model in a line.
    pub(super) fn about_model(&self) -> String {
        let scorer = self.cohort.scorer();
        let model = scorer.model();
        format!(
            "{}: {}, {} classes of '{}', ε = {}",
            clean(&self.name),
            counted(model.features.len(), "feature"),
            model.classes.len(),
            clean(&model.target),
            share(scorer.epsilon())
        )
    }

    /// All patients in a line.
    pub(super) fn summary(&self) -> String {
        let counts = self.cohort.counts();
        let Some(mean) = counts.mean_set_size() else { return "reading …".to_owned() };
        let mut text = format!("{}, mean set size {mean:.2}", counted(counts.rows, "row"));
        if counts.empty > 0 {
            let _ = write!(text, ", {} empty", counts.empty);
        }
        if counts.odd > 0 {
            let _ = write!(text, ", {} flagged", counts.odd);
        }
        let _ = match &self.progress {
            CohortState::Reading => write!(text, "; reading …"),
            CohortState::Measuring(_) if self.cohort.has_classes() => write!(text, "; measuring …"),
            CohortState::Measuring(_) => Ok(()),
            CohortState::Done(_, measured) => match &**measured {
                Some(measured) => {
                    write!(text, "; {}", achieved(measured, self.cohort.scorer().epsilon()))
                }
                None => Ok(()),
            },
        };
        text
    }

    /// What the user should know: cautions first, then notices.
    pub(super) fn cautions(&self) -> Vec<String> {
        let mut cautions = Vec::new();
        let mut notices = Vec::new();
        if let CohortState::Done(facts, _) | CohortState::Measuring(facts) = &self.progress {
            notices.extend(facts.notes.iter().map(|note| format!("notice: {note}")));
        }
        if let CohortState::Done(_, measured) = &self.progress
            && let Some(measured) = &**measured
        {
            cautions.extend(measured.cautions.iter().map(|caution| format!("caution: {caution}")));
        }
        let kept = self.cohort.rows().len();
        let all = self.cohort.counts().rows;
        if kept < all {
            notices.push(format!(
                "notice: the first {kept} of {all} rows are listed (at most {MOST_KEPT}); crfe-tui predict writes all"
            ));
        }
        let of_model = &self.cohort.scorer().model().cautions;
        cautions.extend(of_model.iter().map(|caution| format!("model caution: {caution}")));
        cautions.extend(notices);
        cautions.iter().map(|text| clean(text)).collect()
    }

    pub(super) fn set_words(&self, row: &ScoredRow) -> String {
        let classes = &self.cohort.scorer().model().classes;
        if row.set.is_empty() {
            return "none".to_owned();
        }
        row.set.iter().map(|&class| classes[class].as_str()).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn flag_words(&self, row: &ScoredRow) -> String {
        row.flags.words(&self.cohort.scorer().model().variables).replace(';', " ")
    }

    /// The features of a patient, the largest effect first, and the rest of the score.
    pub(super) fn features_of(&self, row: usize) -> (Vec<FeatureShare>, f64) {
        let label = self.label(row);
        let Some(shares) = self.cohort.shares(row) else { return (Vec::new(), 0.0) };
        let names = &self.cohort.scorer().model().features;
        let missing = || "missing".to_owned();
        let cell = |cells: Vec<Option<String>>| {
            cells
                .into_iter()
                .map(|cell| cell.unwrap_or_else(missing))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let mut features: Vec<FeatureShare> = names
            .iter()
            .zip(self.cohort.cells(row))
            .zip(&shares.features)
            .map(|((name, cells), own)| FeatureShare {
                name: name.clone(),
                cell: cell(cells),
                share: 0.0 - own[label],
            })
            .collect();
        features.sort_by(|a, b| b.share.abs().total_cmp(&a.share.abs()));
        (features, 0.0 - shares.rest[label])
    }

    /// Everything as sentences and tables.
    pub fn plain(&self) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}\n{}.", self.about_model(), self.summary());
        for caution in self.cautions() {
            let _ = writeln!(text, "{caution}");
        }
        if self.has_help {
            for (keys, words) in self.help() {
                let _ = writeln!(text, "{keys}: {words}");
            }
        }
        let reversed = if self.table.is_reversed() { ", reversed" } else { "" };
        let _ = writeln!(
            text,
            "{}, sorted by {}{reversed}:",
            counted(self.shown.len(), "patient"),
            self.table.column().words()
        );
        let _ = writeln!(text, "id; predicted; set; confidence; credibility; known class; flags");
        let first = self.at.saturating_sub(ROWS / 2).min(self.shown.len().saturating_sub(ROWS));
        for &row in self.shown.iter().skip(first).take(ROWS) {
            let _ = writeln!(text, "{}", self.plain_row(&self.cohort.rows()[row]));
        }
        if let Some(row) = self.selected() {
            text += &self.plain_patient(row);
        }
        if let Some((_, typed)) = &self.typing {
            let _ = writeln!(text, "typing: {}", clean(typed));
        }
        if let Some(status) = &self.status {
            let _ = writeln!(text, "{}", clean(status));
        }
        text
    }

    fn plain_row(&self, row: &ScoredRow) -> String {
        let classes = &self.cohort.scorer().model().classes;
        let known = row.class.as_deref().unwrap_or("not known");
        let flags = self.flag_words(row);
        format!(
            "{}; {}; {}; {:.3}; {}; {}; {}",
            clean(&row.id),
            clean(&classes[row.predicted]),
            clean(&self.set_words(row)),
            row.confidence,
            label_p(row.credibility),
            clean(known),
            if flags.is_empty() { "none".to_owned() } else { clean(&flags) }
        )
    }

    fn plain_patient(&self, row: usize) -> String {
        let classes = &self.cohort.scorer().model().classes;
        let scored = &self.cohort.rows()[row];
        let mut text = format!("Selected: {}.\n", clean(&scored.id));
        for (class, p) in classes.iter().zip(&scored.p) {
            let _ = writeln!(text, "p of {}: {}", clean(class), label_p(*p));
        }
        let label = clean(&classes[self.label(row)]);
        let _ = writeln!(
            text,
            "Score of '{label}' by feature, compared with the rows of the model; above 0 it speaks for '{label}', below 0 against it:"
        );
        let (features, rest) = self.features_of(row);
        for feature in &features {
            let (name, cell) = (clean(&feature.name), clean(&feature.cell));
            let _ = writeln!(text, "{name} = {cell}: {}", number(feature.share));
        }
        let _ = writeln!(text, "{}", sum_words(&features, rest, usize::MAX));
        text
    }

    /// The keys that do something here.
    pub(super) fn help(&self) -> Vec<(String, &'static str)> {
        let keys = |actions: &[Action]| {
            actions
                .iter()
                .map(|&action| self.keymap.key_in(action, KeyContext::Patients))
                .collect::<Vec<_>>()
                .join(" ")
        };
        vec![
            (keys(&[Action::Up, Action::Down]), "previous and next patient"),
            (keys(&[Action::PageUp, Action::PageDown]), "a page up and down"),
            (keys(&[Action::Top, Action::Bottom]), "first and last patient"),
            (keys(&[Action::PreviousClass, Action::NextClass]), "the score of another class"),
            (keys(&[Action::Sort, Action::Reverse]), "sort by the next column, reverse"),
            (keys(&[Action::Filter]), "show only ids that match a regular expression"),
            (
                keys(&[Action::Find, Action::FindNext, Action::FindPrevious]),
                "find an id, next, previous match",
            ),
            (keys(&[Action::Enlarge]), "the patient on the whole screen, and back"),
            (
                keys(&[Action::PreviousPatient, Action::NextPatient]),
                "previous and next patient there",
            ),
            (keys(&[Action::Help]), "cautions, notices and keys"),
            (keys(&[Action::Quit]), "quit"),
        ]
    }
}

/// The effects of all features, and what they add up to, in `width` cells if they fit.
pub(super) fn sum_words(features: &[FeatureShare], rest: f64, width: usize) -> String {
    let sum: f64 = features.iter().map(|feature| feature.share).sum();
    let score = number(sum + rest);
    let sum = number(sum);
    let rest = number(rest);
    let long = format!("features {sum} + rest {rest} = score {score}");
    if long.width() <= width { long } else { format!("sum {sum} + rest {rest} = score {score}") }
}

/// What a model achieved, in words.
fn achieved(measured: &Measured, epsilon: f64) -> String {
    let performance = &measured.performance;
    let target = share(1.0 - epsilon);
    let band = match measured.coverage_band {
        Some((lo, hi)) => format!("(target {target}, exact band {lo:.3} to {hi:.3})"),
        None => format!("(target {target})"),
    };
    format!(
        "coverage {:.3} {band}, accuracy {:.3}",
        performance.coverage.value, performance.accuracy.value
    )
}
