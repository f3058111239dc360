//! The views as sentences and tables, for a screen reader or a log: no boxes, no charts, nothing that depends on its place.

use std::fmt::Write;

use super::action::View;
use super::app::{App, Phase, plural};
use super::view::score_name;
use super::view::text::{clean, number, share};
use crate::analysis::{Answer, Metric, Paths, RankTable, StabilityBand};
use crate::data::Level;
use crate::report::summary;
use crate::run::RunInfo;

/// Rows of a table, at most.
const ROWS: usize = 20;

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
    text += &match app.view() {
        View::Answer => answer(app),
        View::Explore => explore(app, info),
        View::Size => size(app, info),
        View::Stability => stability(app, info),
        View::Data => data(info),
    };
    if let Some(words) = app.status() {
        let _ = writeln!(text, "{}", clean(words));
    }
    text
}

/// How far the run has come, in a sentence.
pub fn state(app: &App, info: &RunInfo) -> String {
    let methods = info.spec.methods.len();
    let (folds, permutations) = app.history().followups_by_kind();
    let word = match app.phase() {
        Phase::Done => "Finished",
        Phase::Failed(_) => "Failed",
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

fn answer(app: &App) -> String {
    let history = app.history().under(app.rule(), app.taken());
    let answer = history.ok().and_then(|history| Answer::new(&history));
    let mut text = match answer.filter(|answer| !answer.methods.is_empty()) {
        Some(answer) => summary(&answer),
        None => "No split has finished yet.\n".to_owned(),
    };
    if let (Some(unit), Some(info)) = (app.selection(), app.info()) {
        let _ = writeln!(text, "Selected: {}.", clean(&info.units[unit].name));
    }
    if let Some(comparison) = app.my_list_comparison() {
        let _ = writeln!(text, "My list: {}.", comparison.sentence);
    }
    text
}

fn explore(app: &App, info: &RunInfo) -> String {
    let mut text = String::new();
    let (method, score) = (app.focus().method, score_name(app.focus().method));
    let name = |unit: usize| clean(&info.units[unit].name);
    let Some(step) = app.step() else { return "This split has not started yet.\n".to_owned() };
    let _ = writeln!(
        text,
        "{method}, split {} of {}, step {} of {}: {} left.",
        app.focus().split + 1,
        info.splits,
        step.t + 1,
        app.path_length(),
        plural(step.size, "feature"),
    );
    match (step.removed.first(), step.criterion) {
        (Some(&unit), Some(value)) => {
            let _ = writeln!(text, "Removed at this step: {} ({score} {}).", name(unit), number(value));
        }
        _ => text += "This is the last feature; nothing is left to remove.\n",
    }
    if let (Some(next), Some(margin)) = (step.runner_up, step.margin) {
        let _ = writeln!(text, "Runner-up: {}, {} away.", name(next), number(margin));
    }
    let ranks = RankTable::new(&Paths::new(app.history(), info, method));
    let splits = ranks.splits().len();
    let _ = writeln!(text, "feature; {score}; in splits; mean rank");
    for &unit in app.derived().rows.iter().take(ROWS) {
        let value = app.derived().score.get(unit).copied().flatten();
        let value = value.map_or_else(|| "removed or not known".to_owned(), |value| number(f64::from(value)));
        let mean = app.derived().facts.ranks.mean.get(unit).copied().flatten();
        let mean = mean.map_or_else(|| "none".to_owned(), |mean| format!("{mean:.1}"));
        let count = ranks.count(unit, app.size());
        let _ = writeln!(text, "{}; {value}; {count} of {splits}; {mean}", name(unit));
    }
    text
}

/// The sizes of a table: all, or so many from one to all in equal steps of the axis.
fn sizes(app: &App, info: &RunInfo) -> Vec<usize> {
    let Some(curve) = app.history().curve(app.focus().method) else { return Vec::new() };
    let axis = app.axis();
    let mut wanted: Vec<usize> = (0..ROWS as u16).map(|cell| axis.size_of_cell(cell, ROWS as u16)).collect();
    wanted.extend(app.chosen_size());
    wanted.extend([app.chart_size(), info.units.len()]);
    wanted.retain(|&size| curve.splits(size) > 0);
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}

fn size(app: &App, info: &RunInfo) -> String {
    let mut text = String::new();
    if let Some(size) = app.chosen_size() {
        let _ = writeln!(text, "The answer has {}.", plural(size, "feature"));
    }
    let rate = share((1000.0 * info.no_information_rate()).round() / 1000.0);
    let _ = writeln!(text, "Always answering the largest class is right in {rate} of the rows.");
    let _ = writeln!(text, "features; method; set size; accuracy; coverage; share of empty sets");
    for size in sizes(app, info) {
        for &method in &info.spec.methods {
            let Some(curve) = app.history().curve(method) else { continue };
            let mean = |metric| {
                curve.spread(size, metric).map_or_else(|| "none".to_owned(), |own| format!("{:.3}", own.mean))
            };
            let values =
                [Metric::Inefficiency, Metric::Accuracy, Metric::Coverage, Metric::Mistrust].map(mean);
            let _ = writeln!(text, "{size}; {method}; {}", values.join("; "));
        }
    }
    text
}

fn stability(app: &App, info: &RunInfo) -> String {
    let mut text = String::new();
    let agreement = &app.derived().facts.agreement;
    let _ = writeln!(text, "features; stability; verdict; 95 % interval");
    for size in sizes(app, info) {
        let found = agreement.binary_search_by(|(other, _)| size.cmp(other)).ok();
        let Some(own) = found.and_then(|at| Some((agreement[at].1, agreement[at].1.nogueira?))) else {
            continue;
        };
        let (at, value) = own;
        let interval = match (at.nogueira_lo, at.nogueira_hi) {
            (Some(lo), Some(hi)) => format!("{lo:.2} to {hi:.2}"),
            _ => "none".to_owned(),
        };
        let _ = writeln!(text, "{size}; {value:.2}; {}; {interval}", StabilityBand::of(value).word());
    }
    let stops = &app.derived().facts.stops;
    for (entry, size) in stops.rules.iter().zip(&stops.sizes) {
        let median = size.size.map_or_else(|| "never stops".to_owned(), |size| format!("median {size}"));
        let _ = writeln!(
            text,
            "{}: {median}, stops on {} of {} splits.",
            entry.label,
            size.fired,
            stops.splits.len()
        );
    }
    text
}

fn data(info: &RunInfo) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}: {}, {}, class column '{}'.",
        clean(&info.input),
        plural(info.rows, "row"),
        plural(info.units.len(), "feature"),
        clean(&info.target)
    );
    for (class, rows) in info.classes.iter().zip(&info.class_counts) {
        let _ = writeln!(text, "class {}: {}", clean(class), plural(*rows, "row"));
    }
    for note in &info.audit.notes {
        let lead = if note.level == Level::Warning { "Warning: " } else { "Note: " };
        let _ = writeln!(text, "{lead}{}", clean(&note.text));
    }
    for dropped in &info.dropped {
        let _ = writeln!(text, "Column {} is not used: {}", clean(&dropped.name), clean(&dropped.reason));
    }
    text
}
