//! Explore: what is removed now, and why?
//!
//! ```text
//! ┌ 12 features left ───────┐┌ Removed at this step ─────┐
//! │ step  name   β   splits ││ which, why, runner-up     │
//! │ …                       │├ Mean β ───────────────────┤
//! │                         ││ β, β′, β″, stops          │
//! │                         │├ Survival ─────────────────┤
//! │                         ││ features × splits         │
//! └─────────────────────────┘└───────────────────────────┘
//! ```

use std::fmt::Write;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::curves::TABLED;
use super::page::Page;
use super::ranking::score_name;
use super::text::{clean, fit, number, wrap};
use super::{Hits, derivatives, ranking, survival, what_if};
use crate::analysis::{Metric, Paths, RankTable, coverage_band};
use crate::run::{Forced, RunInfo, Step};
use crate::select::{Method, MethodWords};
use crate::tui::action::Action;
use crate::tui::app::{App, plural};
use crate::tui::derived::Derived;
use crate::tui::theme::Role;

/// The view.
pub struct ExplorePage;

impl Page for ExplorePage {
    fn refresh(&self, derived: &mut Derived, app: &App, info: &RunInfo, paths: &Paths<'_>) {
        derived.refresh_ranking(app, info, paths);
        derived.facts.refresh_stops(paths, app.finished(), app.rule());
    }

    fn rows<'a>(&self, derived: &'a Derived) -> Option<&'a [usize]> {
        Some(&derived.ranking.rows)
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, _info: &RunInfo, area: Rect, hits: &mut Hits) {
        match app.zoom() {
            Some(0) => return ranking::draw(frame, app, area, hits),
            Some(1) => return derivatives::draw(frame, app, area, hits),
            Some(2) => return survival::draw(frame, app, area, hits),
            Some(_) => return what_if::draw(frame, app, area, hits),
            None => {}
        }
        if area.width < 72 {
            // A branch that was asked for is more telling than what the main path does.
            let height = if app.branch().is_some() { area.height / 2 } else { 6 };
            let [table, now] =
                Layout::vertical([Constraint::Min(5), Constraint::Length(height)]).areas(area);
            ranking::draw(frame, app, table, hits);
            if app.branch().is_some() {
                what_if::draw(frame, app, now, hits);
            } else {
                removed_now(frame, app, now);
            }
            return;
        }
        // Names come first.
        let left =
            if area.width >= 120 { Constraint::Percentage(54) } else { Constraint::Length(52) };
        let [table, side] = Layout::horizontal([left, Constraint::Min(20)]).areas(area);
        ranking::draw(frame, app, table, hits);
        let curves = match area.height {
            40.. => 24,
            28.. => 12,
            _ => 6,
        };
        let needed = match side.width {
            ..40 => 8,
            40..84 => 7,
            _ => 6,
        };
        let [now, middle, rest] = Layout::vertical([
            Constraint::Length(needed),
            Constraint::Length(curves),
            Constraint::Min(3),
        ])
        .areas(side);
        removed_now(frame, app, now);
        // On a small screen a branch that was asked for takes the place of the curves.
        if app.branch().is_some() && area.height < 28 {
            return what_if::draw(frame, app, middle.union(rest), hits);
        }
        derivatives::draw(frame, app, middle, hits);
        if app.branch().is_some() {
            what_if::draw(frame, app, rest, hits);
        } else {
            survival::draw(frame, app, rest, hits);
        }
    }

    fn text(&self, app: &App, info: &RunInfo) -> String {
        let mut text = String::new();
        let method = app.focus().method;
        let score = score_name(app.focus().method);
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
        if app.is_playing() {
            let key = |action| app.keymap().key_of(action);
            let (play, forward) = (key(Action::TogglePlay), key(Action::Later));
            let _ = writeln!(
                text,
                "Playing, {} steps a second, told again at its end; {play} pauses it, {forward} goes to the next step.",
                app.speed()
            );
        }
        match (step.removed.first(), step.criterion) {
            (Some(&unit), Some(value)) => {
                let _ = writeln!(
                    text,
                    "Removed at this step: {} ({score} {}).",
                    name(unit),
                    number(value)
                );
            }
            (Some(&unit), None) => {
                let more = match step.removed.len() - 1 {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let _ =
                    writeln!(text, "Removed at this step: {}{more}, {LINEAR_START}.", name(unit));
            }
            (None, _) => text += "This is the last feature; nothing is left to remove.\n",
        }
        if let (Some(next), Some(margin)) = (step.runner_up, step.margin) {
            let _ = writeln!(text, "Runner-up: {}, {} away.", name(next), number(margin));
        }
        if let (Some(branch), Some((words, _))) = (app.branch(), what_if::verdict(app)) {
            let (unit, done) = match branch.forced {
                Forced::Removed(unit) => (unit, "removed"),
                Forced::Kept(unit) => (unit, "kept"),
            };
            let from = plural(branch.from, "feature");
            let _ = writeln!(text, "What if {} were {done} at {from}? {words}", name(unit));
        }
        let ranks = RankTable::new(&Paths::new(app.history(), info, method));
        let splits = ranks.splits().len();
        let _ = writeln!(text, "feature; {score}; in splits; mean rank");
        for &unit in app.derived().ranking.rows.iter().take(TABLED) {
            let value = app.derived().ranking.score.get(unit).copied().flatten();
            let value = value.map_or_else(
                || "removed, or not recorded".to_owned(),
                |value| number(f64::from(value)),
            );
            let mean = app.derived().facts.ranks.mean.get(unit).copied().flatten();
            let mean = mean.map_or_else(|| "none".to_owned(), |mean| format!("{mean:.1}"));
            let count = ranks.count(unit, app.size());
            let _ = writeln!(text, "{}; {value}; {count} of {splits}; {mean}", name(unit));
        }
        text
    }
}

/// The feature that is removed, why, and how close it was.
fn removed_now(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let inside = super::framed(frame, app.theme(), "Removed at this step", area);
    let (Some(info), Some(step)) = (app.info(), app.step()) else {
        frame.render_widget(Paragraph::new("this split has not started yet"), inside);
        return;
    };
    let width = usize::from(inside.width);
    let name = |unit: usize| clean(&info.units[unit].name);
    let mut lines = Vec::new();
    match step.removed.as_slice() {
        [] => lines.extend(
            wrap("This is the last feature; nothing is left to remove.", width)
                .into_iter()
                .map(Line::from),
        ),
        [first, others @ ..] => {
            let more = if others.is_empty() {
                String::new()
            } else {
                format!(" and {} more", others.len())
            };
            lines.push(Line::styled(
                fit(&format!("{}{more}", name(*first)), width),
                app.theme().style(Role::Bad),
            ));
            let why = match step.criterion {
                Some(value) => reason(app.focus().method, step.size, &number(value), width),
                None => LINEAR_START.to_owned(),
            };
            lines.push(Line::from(fit(&why, width)));
        }
    }
    if let (Some(next), Some(margin)) = (step.runner_up, step.margin) {
        let away = format!(", {} away", number(margin));
        let name = name(next);
        let lead = if width < 40 { "next: " } else { "runner-up: " };
        let room = width.saturating_sub(lead.width() + away.width());
        lines.push(Line::from(format!("{lead}{}{away}", fit(&name, name.width().min(room)))));
    }
    lines.extend(this_split(app, step, width));
    frame.render_widget(Paragraph::new(lines), inside);
}

/// Why features without a criterion are removed: kernel machines have not looked at them.
const LINEAR_START: &str = "left out by the linear path (--prefilter)";

/// Why the first feature is the one to be removed.
fn reason(method: Method, size: usize, value: &str, width: usize) -> String {
    let MethodWords { criterion, meaning, .. } = method.words();
    let middle = format!("{criterion} of the {size} left ({value})");
    let long = format!("{middle}: {meaning}");
    let shorter = [long, middle].into_iter().find(|text| text.width() <= width);
    shorter.unwrap_or_else(|| format!("{criterion} ({value})"))
}

/// What this one split measures here, which is not the result; its coverage beside the usual range
/// of one split.
fn this_split(app: &App, step: &Step, width: usize) -> Vec<Line<'static>> {
    if !step.converged {
        let words = fit("the solver did not converge here", width);
        return vec![Line::styled(words, app.theme().style(Role::Bad))];
    }
    let value = |metric: Metric| metric.value(&step.tally);
    let band = app.trace().and_then(|trace| coverage_band(app.spec(), trace.parts()));
    let usual =
        band.map_or_else(String::new, |band| format!(" (usual {:.2} to {:.2})", band.lo, band.hi));
    let text = format!(
        "this split: coverage {:.2}{usual}, set size {:.2}, accuracy {:.2}",
        value(Metric::Coverage),
        value(Metric::Inefficiency),
        value(Metric::Accuracy)
    );
    wrap(&text, width)
        .into_iter()
        .map(|line| Line::styled(line, app.theme().style(Role::Dim)))
        .collect()
}
