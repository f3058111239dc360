//! What would have happened otherwise, beside what did.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::text::{clean, fit, head, wrap};
use super::{Hits, panel};
use crate::analysis::{BranchComparison, BranchMetric, BranchVerdict, Metric};
use crate::run::Forced;
use crate::tui::action::Action;
use crate::tui::app::{App, plural};
use crate::tui::theme::Role;

/// What ± is in a verdict.
const SD_WORDS: &str = "; ± is the sd over splits";

/// The branch beside the main path.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let title = if app.branch().is_some() { "What if: main path|branch" } else { "What if" };
    let inside = panel(frame, app, area, 3, title, hits);
    let (Some(info), Some(branch), Some(trace)) = (app.info(), app.branch(), app.trace()) else {
        let key = |action| app.keymap().key_of(action);
        let (removed, kept) = (key(Action::WhatIfRemoved), key(Action::WhatIfKept));
        let words =
            format!("select a feature; {removed} removes it now, {kept} keeps it to the end");
        frame.render_widget(
            Paragraph::new(words).wrap(ratatui::widgets::Wrap { trim: true }),
            inside,
        );
        return;
    };
    let width = usize::from(inside.width);
    let name = |unit: usize| clean(&info.units[unit].name);
    let done = match branch.forced {
        Forced::Removed(unit) => {
            (unit, format!(" is removed at {} instead", plural(branch.from, "feature")))
        }
        Forced::Kept(unit) => {
            (unit, format!(" is kept from {} on", plural(branch.from, "feature")))
        }
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
    let mut lines = vec![Line::styled(head(&done, width), app.theme().style(Role::Warn))];
    if let Some((words, role)) = verdict(app) {
        // Where there is little room the numbers matter more than what ± is.
        let words = if width < 48 { words.replace(SD_WORDS, "") } else { words };
        let words =
            wrap(&words, width).into_iter().map(|line| Line::styled(line, app.theme().style(role)));
        lines.extend(words);
    }
    lines.push(Line::styled(heading, app.theme().style(Role::Dim)));
    let start = branch.steps.iter().position(|step| step.size <= app.size()).unwrap_or(0);
    for step in
        branch.steps.iter().skip(start).take(usize::from(inside.height).saturating_sub(lines.len()))
    {
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

/// What the choice comes to, in a sentence with its numbers, and its colour.
pub fn verdict(app: &App) -> Option<(String, Role)> {
    let branch = app.branch()?;
    let compared = BranchComparison::new(app.history(), branch, app.chosen_size())?;
    let it = match branch.forced {
        Forced::Removed(_) => "without it",
        Forced::Kept(_) => "with it",
    };
    let (found, role) = match compared.verdict {
        BranchVerdict::Same => ("the same features either way".to_owned(), Role::Good),
        BranchVerdict::NoDifference => (format!("no difference that matters {it}"), Role::Good),
        BranchVerdict::Better => (format!("better {it}"), Role::Good),
        BranchVerdict::Worse => (format!("worse {it}"), Role::Bad),
        BranchVerdict::Mixed => (format!("better and worse {it}"), Role::Warn),
        BranchVerdict::Unknown => {
            ("one split cannot tell whether it matters".to_owned(), Role::Warn)
        }
    };
    let size = plural(compared.size, "feature");
    let own = if compared.is_answer { ", as in the answer" } else { "" };
    let numbers = match compared.verdict {
        BranchVerdict::Same => String::new(),
        _ => {
            let [sets, accuracy] = compared.metrics.map(|own| metric_words(&own));
            format!(": {sets}, {accuracy}{SD_WORDS}")
        }
    };
    Some((format!("At {size}{own}: {found}{numbers}."), role))
}

fn metric_words(own: &BranchMetric) -> String {
    let sd = own.sd.map_or_else(String::new, |sd| format!(" (± {sd:.2})"));
    format!("{} {:.2} instead of {:.2}{sd}", own.metric.short_label(), own.branch, own.main)
}
