//! Two lines: the views, and what is being looked at.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::text::{clean, fit};
use super::{Hit, Hits};
use crate::tui::action::View;
use crate::tui::app::{App, Pause, Phase};
use crate::tui::theme::Role;

/// Draws the header.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let mut spans = Vec::new();
    let mut x = area.x;
    let short = area.width < 78;
    for (i, view) in View::ALL.into_iter().enumerate() {
        let name = if short && view != app.view {
            format!(" {} ", i + 1)
        } else {
            format!(" {} {} ", i + 1, view.name())
        };
        let width = name.width() as u16;
        hits.push((
            Rect { x, width: width.min(area.right().saturating_sub(x)), height: 1, y: area.y },
            Hit::Tab(view),
        ));
        x = x.saturating_add(width);
        let style = if view == app.view {
            app.theme.style(Role::Accent).add_modifier(Modifier::REVERSED)
        } else {
            app.theme.style(Role::Dim)
        };
        spans.push(Span::styled(name, style));
    }
    spans.push(Span::styled(format!("  {}", app.view.question()), app.theme.style(Role::Dim)));
    let (state, role) = state(app);
    let room = usize::from(area.right().saturating_sub(x)).saturating_sub(2);
    let question = app.view.question().width();
    if room > question + state.width() + 2 {
        spans.push(Span::raw(" ".repeat(room - question - state.width())));
        spans.push(Span::styled(state.clone(), app.theme.style(role)));
    } else {
        // The state matters more than the question.
        spans.pop();
        let gap = (usize::from(area.right().saturating_sub(x))).saturating_sub(state.width());
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(Span::styled(state, app.theme.style(role)));
    }
    let lines = vec![Line::from(spans), about(app, usize::from(area.width))];
    frame.render_widget(Paragraph::new(lines), area);
}

/// Running, paused, done.
fn state(app: &App) -> (String, Role) {
    let total = app.info().map_or(0, |info| info.splits * info.spec.methods.len());
    let done = app.history.finished_tasks().count();
    let failed = app.history.failed().len();
    let (word, role) = match (&app.phase, app.pause) {
        (Phase::Loading { .. }, _) => return ("READING".into(), Role::Accent),
        (Phase::Failed(_), _) => return ("FAILED".into(), Role::Bad),
        (Phase::Done, _) if failed > 0 => ("DONE", Role::Bad),
        (Phase::Done, _) => ("DONE", Role::Good),
        (Phase::Running, Pause::Yes) => ("PAUSED", Role::Warn),
        (Phase::Running, Pause::Asked) => ("PAUSING", Role::Warn),
        (Phase::Running, Pause::No) => ("RUNNING", Role::Accent),
    };
    let failures = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    (format!("{word} {done}/{total}{failures}"), role)
}

/// file, n × p, classes, method, split, step, play, coverage.
fn about(app: &App, width: usize) -> Line<'static> {
    let dim = app.theme.style(Role::Dim);
    let file = app.data.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let Some(info) = app.info() else { return Line::styled(fit(&file, width), dim) };
    let step = app.step();
    let play = if app.playing {
        format!("play {}/s", app.speed)
    } else if app.live {
        "live".into()
    } else {
        "halted".into()
    };
    let times = app.theme.glyph("×", "x");
    let shape = format!("{}{times}{}, {} classes", info.rows, info.units.len(), info.classes.len());
    let method = app.focus.method.to_string();
    let split = format!("split {}/{}", app.focus.split + 1, info.splits);
    let at = match step {
        Some(step) => format!("step {}/{}, {} left", step.t + 1, app.steps(), step.size),
        None => "waiting".into(),
    };
    let target = format!("{}", 1.0 - info.spec.epsilon);
    let guaranteed = info.spec.guaranteed();
    let (promise, role) = if guaranteed {
        (format!("coverage {target} guaranteed"), Role::Good)
    } else {
        (format!("coverage {target}: guarantee void"), Role::Bad)
    };
    let fixed =
        shape.width() + method.width() + split.width() + at.width() + play.width() + promise.width() + 12;
    let index = info.spec.methods.iter().position(|&other| other == app.focus.method).unwrap_or(0);
    let mut spans = Vec::new();
    let gap = || Span::raw("  ");
    if width > fixed {
        spans.extend([Span::raw(fit(&file, (width - fixed).min(clean(&file).width()))), gap()]);
        spans.extend([Span::styled(shape, dim), gap()]);
    } else if width > fixed.saturating_sub(shape.width() + 4) {
        spans.extend([Span::styled(format!("{}{times}{}", info.rows, info.units.len()), dim), gap()]);
    }
    spans.extend([
        Span::styled(method, app.theme.series(index)),
        gap(),
        Span::raw(split),
        gap(),
        Span::raw(at),
        gap(),
    ]);
    spans.extend([Span::styled(play, dim), gap()]);
    spans.push(Span::styled(promise, app.theme.style(role)));
    Line::from(spans)
}
