//! Data: what was understood of my file?

use std::fmt::Write;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::page::Page;
use super::text::{clean, fit};
use super::{Hits, more, panel};
use crate::data::Level;
use crate::run::RunInfo;
use crate::tui::app::{App, plural};
use crate::tui::theme::Role;

/// The view.
pub struct DataPage;

impl Page for DataPage {
    fn length(&self, app: &App, info: &RunInfo) -> usize {
        let table = facts(info) + info.classes.len();
        let run = app.shards().len() + app.history().failed().len();
        table.max(info.audit.notes.len() + run + info.dropped.len() + 3)
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, info: &RunInfo, area: Rect, hits: &mut Hits) {
        match app.zoom() {
            Some(0) => return table(frame, app, info, area, hits),
            Some(_) => return notes(frame, app, info, area, hits),
            None => {}
        }
        let halves = if area.width >= 100 {
            Layout::horizontal([Constraint::Percentage(45), Constraint::Min(20)]).split(area)
        } else {
            // All classes, as long as some notes can be seen.
            let needed = (facts(info) + info.classes.len() + 2) as u16;
            let most = area.height.saturating_sub(7).max(area.height / 2);
            Layout::vertical([Constraint::Length(needed.min(most)), Constraint::Min(3)]).split(area)
        };
        table(frame, app, info, halves[0], hits);
        notes(frame, app, info, halves[1], hits);
    }

    fn text(&self, _: &App, info: &RunInfo) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{}: {}, {}, class column '{}'.",
            clean(&info.input),
            plural(info.rows, "row"),
            plural(info.units.len(), "feature"),
            clean(&info.target)
        );
        if let Some(models) = info.spec.models() {
            let _ = writeln!(text, "Models: {models}.");
        }
        for (class, rows) in info.classes.iter().zip(&info.class_counts) {
            let _ = writeln!(text, "class {}: {}", clean(class), plural(*rows, "row"));
        }
        for note in &info.audit.notes {
            let lead = if note.level == Level::Warning { "Warning: " } else { "Note: " };
            let _ = writeln!(text, "{lead}{}", clean(&note.text));
        }
        for dropped in &info.dropped {
            let _ = writeln!(
                text,
                "Column {} is not used: {}",
                clean(&dropped.name),
                clean(&dropped.reason)
            );
        }
        text
    }
}

/// Facts above the classes.
fn facts(info: &RunInfo) -> usize {
    7 + usize::from(info.spec.models().is_some())
}

fn table(frame: &mut Frame<'_>, app: &App, info: &RunInfo, area: Rect, hits: &mut Hits) {
    let inside = panel(frame, app, area, 0, "Table", hits);
    let width = usize::from(inside.width);
    let categories = info
        .units
        .iter()
        .filter(|unit| unit.columns.iter().any(|&column| info.columns[column] != unit.name))
        .count();
    let kept: Vec<&str> =
        info.units.iter().filter(|unit| unit.kept).map(|unit| unit.name.as_str()).collect();
    let (units, columns) = (info.units.len(), info.columns.len());
    let categories = match categories {
        0 if columns == units => String::new(),
        1 => format!(" ({columns} columns after encoding, 1 category or groups)"),
        several => format!(" ({columns} columns after encoding, {several} categories or groups)"),
    };
    let fact = |name, value: &str| fact(app, name, value, width);
    let mut lines = vec![
        fact("file", &info.input),
        fact("rows", &info.rows.to_string()),
        fact("features", &format!("{units}{categories}")),
    ];
    if let Some(plan) = app.plan() {
        let missing = match plan.data.missing_cells() {
            0 => "none".to_owned(),
            cells => format!("{}, imputed by {}", plural(cells, "value"), info.spec.impute),
        };
        lines.push(fact("missing", &missing));
    }
    lines.extend(info.spec.models().map(|models| fact("models", &models)));
    lines.push(fact("scaling", &format!("{}, fitted on training rows", info.spec.scale)));
    if !kept.is_empty() {
        lines.push(fact("kept", &kept.join(", ")));
    }
    lines.push(fact("class", &format!("'{}', {} classes", info.target, info.classes.len())));
    let most = info.class_counts.iter().copied().max().unwrap_or(1).max(1);
    let bar = width / 4;
    let count = most.to_string().len();
    let name = width.saturating_sub(bar + count + 14);
    for (class, &rows) in info.classes.iter().zip(&info.class_counts) {
        let filled = (rows * bar).div_ceil(most);
        lines.push(Line::from(vec![
            Span::raw(format!(
                "  {} {rows:>count$} {:>4.0} %  ",
                fit(class, name),
                100.0 * rows as f64 / info.rows.max(1) as f64
            )),
            Span::styled(
                app.theme().glyph("▄", "#").repeat(filled),
                app.theme().style(Role::Negative),
            ),
        ]));
    }
    let hidden = lines.len().saturating_sub(usize::from(inside.height));
    let first = app.scroll().min(hidden);
    frame.render_widget(Paragraph::new(lines.split_off(first)), inside);
    more(frame, app, area, hidden - first, 0);
}

fn fact(app: &App, name: &str, value: &str, width: usize) -> Line<'static> {
    let value = if clean(value).chars().count() > width.saturating_sub(10) {
        fit(value, width.saturating_sub(10))
    } else {
        clean(value)
    };
    Line::from(vec![Span::styled(fit(name, 10), app.theme().style(Role::Dim)), Span::raw(value)])
}

fn notes(frame: &mut Frame<'_>, app: &App, info: &RunInfo, area: Rect, hits: &mut Hits) {
    let inside = panel(frame, app, area, 1, "Notes, warnings and ignored columns", hits);
    let mut lines = Vec::new();
    for note in &info.audit.notes {
        let (mark, role) =
            if note.level == Level::Warning { ("! ", Role::Warn) } else { ("  ", Role::Text) };
        lines.push(Line::from(vec![
            Span::styled(mark, app.theme().style(role)),
            Span::styled(clean(&note.text), app.theme().style(role)),
        ]));
    }
    if let Some(directory) = app.directory() {
        lines.push(Line::from(clean(&format!("  the run is recorded in {}", directory.display()))));
    }
    for shard in app.shards() {
        let host = shard.host.as_deref().unwrap_or("unknown host");
        let stale =
            if shard.stale > 0 { format!(", {} stale", shard.stale) } else { String::new() };
        let text = format!(
            "  shard {} on {host}: {} of {} tasks done, {} running, {} failed{stale}",
            shard.shard, shard.done, shard.tasks, shard.running, shard.failed
        );
        lines.push(Line::from(clean(&text)));
    }
    for (task, why) in app.history().failed() {
        lines.push(Line::styled(
            clean(&format!("! {}", app.failure_words(*task, why))),
            app.theme().style(Role::Bad),
        ));
    }
    if !info.dropped.is_empty() {
        lines.push(Line::from(""));
        lines.push(Line::styled(
            match info.dropped.len() {
                1 => "1 column ignored".to_owned(),
                columns => format!("{columns} columns ignored"),
            },
            app.theme().style(Role::Accent),
        ));
    }
    let first = app.scroll();
    // Thousands may have been left out; the rest is below the last line that can be seen.
    for dropped in info.dropped.iter().take(first + usize::from(inside.height)) {
        lines.push(Line::from(clean(&format!("  {}: {}", dropped.name, dropped.reason))));
    }
    let first = first.min(lines.len().saturating_sub(1));
    frame.render_widget(Paragraph::new(lines.split_off(first)).wrap(Wrap { trim: false }), inside);
}
