//! What would have happened otherwise, beside what did.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::text::{clean, fit, head};
use super::{Hits, panel};
use crate::analysis::Metric;
use crate::run::Forced;
use crate::tui::action::Action;
use crate::tui::app::{App, plural};
use crate::tui::theme::Role;

/// The branch beside the main path.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let title = if app.branch().is_some() { "What if: main path|branch" } else { "What if" };
    let inside = panel(frame, app, area, 3, title, hits);
    let (Some(info), Some(branch), Some(trace)) = (app.info(), app.branch(), app.trace()) else {
        let key = |action| app.keymap().key_of(action);
        let (removed, kept) = (key(Action::WhatIfRemoved), key(Action::WhatIfKept));
        let words = format!("select a feature; {removed} removes it now, {kept} keeps it to the end");
        frame.render_widget(Paragraph::new(words).wrap(ratatui::widgets::Wrap { trim: true }), inside);
        return;
    };
    let width = usize::from(inside.width);
    let name = |unit: usize| clean(&info.units[unit].name);
    let done = match branch.forced {
        Forced::Removed(unit) => (unit, format!(" is removed at {} instead", plural(branch.from, "feature"))),
        Forced::Kept(unit) => (unit, format!(" is kept from {} on", plural(branch.from, "feature"))),
    };
    // A long name gives way: what is done to it matters more.
    let own = name(done.0);
    let done = fit(&own, own.width().min(width.saturating_sub(done.1.width()).max(8))) + &done.1;
    // Narrow: only what the branch does.
    let both = width >= 56;
    let column = if both { width.saturating_sub(32) / 2 } else { width.saturating_sub(18) };
    let row = |size: &str, main: &str, other: &str, sets: &str, accuracy: &str| {
        let main = if both { fit(main, column) + "  " } else { String::new() };
        let accuracy = if both { format!("{accuracy:>11}") } else { String::new() };
        format!("{size:>4}  {main}{}{sets:>12}{accuracy}", fit(other, column))
    };
    let heading = row("left", "main path", "branch", "set size", "accuracy");
    let mut lines = vec![
        Line::styled(head(&done, width), app.theme().style(Role::Warn)),
        Line::styled(heading, app.theme().style(Role::Dim)),
    ];
    let start = branch.steps.iter().position(|step| step.size <= app.size()).unwrap_or(0);
    for step in branch.steps.iter().skip(start).take(usize::from(inside.height).saturating_sub(2)) {
        let main = trace.at_size(step.size);
        let goes = |unit: Option<usize>| unit.map_or_else(|| "end".to_owned(), name);
        let pair = |metric: Metric| {
            let other = metric.value(&step.tally);
            main.map_or_else(
                || format!("–|{other:.2}"),
                |main| format!("{:.2}|{other:.2}", metric.value(&main.tally)),
            )
        };
        lines.push(Line::from(row(
            &step.size.to_string(),
            &main.map_or_else(|| "not yet".to_owned(), |main| goes(main.removed.first().copied())),
            &goes(step.removed),
            &pair(Metric::Inefficiency),
            &pair(Metric::Accuracy),
        )));
    }
    frame.render_widget(Paragraph::new(lines), inside);
}
