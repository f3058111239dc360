//! The views as sentences and tables, for a screen reader: no boxes, no charts, nothing that
//! depends on its place.

use std::fmt::Write;

use super::app::{App, Pause, Phase};
use super::view::text::clean;
use crate::run::{Kind, RunInfo};

/// The view as text.
pub fn text(app: &App) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}: {}", app.view().name(), app.view().question());
    let Some(info) = app.info() else {
        let _ = match app.phase() {
            Phase::Failed(why) => writeln!(text, "This file could not be used: {}", clean(why)),
            _ => writeln!(text, "The file is being read."),
        };
        return text;
    };
    text += &state(app, info);
    text += &app.view().page().text(app, info);
    if let Some(words) = app.status() {
        let _ = writeln!(text, "{}", clean(words));
    }
    text
}

/// How far the run has come, in a sentence.
pub fn state(app: &App, info: &RunInfo) -> String {
    let methods = info.spec.methods.len();
    let [folds, permutations] =
        [Kind::Fold, Kind::Permutation].map(|kind| app.history().ended(kind));
    let word = match app.phase() {
        Phase::Done => "Finished",
        Phase::Failed(_) => "Failed",
        _ if app.is_opening() => "Being opened",
        _ if app.pause() != Pause::No => "Paused",
        _ => "Running",
    };
    let left = app.time_left().map_or_else(String::new, |left| format!(", {left}"));
    format!(
        "{word}: {} of {} paths, {folds} of {} folds, {permutations} of {} permutations{left}.\n",
        app.history().finished_tasks().count(),
        info.splits * methods,
        info.folds * methods,
        info.permutations * methods,
    )
}
