//! Two lines: the views, and what is being looked at.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::text::{clean, fit, share};
use super::{Hit, Hits};
use crate::data::Level;
use crate::run::Kind;
use crate::tui::app::{App, Pause, Phase, plural};
use crate::tui::theme::Role;
use crate::tui::view::View;

/// Draws the header.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let mut spans = Vec::new();
    let mut x = area.x;
    let short = area.width < 78;
    let warnings = app.info().map_or(0, |info| info.audit.at(Level::Warning).count());
    for (i, view) in View::ALL.into_iter().enumerate() {
        let badge = if view == View::Data && warnings > 0 {
            format!("!{warnings} ")
        } else {
            String::new()
        };
        let name = if short && view != app.view() {
            format!(" {} {badge}", i + 1)
        } else {
            format!(" {} {} {badge}", i + 1, view.name())
        };
        let width = name.width() as u16;
        hits.push((
            Rect { x, width: width.min(area.right().saturating_sub(x)), height: 1, y: area.y },
            Hit::Tab(view),
        ));
        x = x.saturating_add(width);
        let style = if view == app.view() {
            app.theme().style(Role::Accent).add_modifier(Modifier::REVERSED)
        } else if badge.is_empty() {
            app.theme().style(Role::Dim)
        } else {
            app.theme().style(Role::Warn)
        };
        spans.push(Span::styled(name, style));
    }
    spans.push(Span::styled(format!("  {}", app.view().question()), app.theme().style(Role::Dim)));
    let room = usize::from(area.right().saturating_sub(x)).saturating_sub(2);
    let (state, role) = state(app);
    let state = shortened(state, room);
    let question = app.view().question().width();
    if room > question + state.width() + 2 {
        spans.push(Span::raw(" ".repeat(room - question - state.width())));
        spans.push(Span::styled(state.clone(), app.theme().style(role)));
    } else {
        // The state matters more than the question.
        spans.pop();
        let gap = (usize::from(area.right().saturating_sub(x))).saturating_sub(state.width());
        spans.push(Span::raw(" ".repeat(gap)));
        spans.push(Span::styled(state, app.theme().style(role)));
    }
    let lines = vec![Line::from(spans), about(app, usize::from(area.width))];
    frame.render_widget(Paragraph::new(lines), area);
}

/// A state that is too long without its first word, and if need be without the words before its
/// numbers; its end, the time left, stays.
fn shortened(state: String, room: usize) -> String {
    let words: Vec<&str> = state.split(' ').collect();
    let shorter = (0..words.len().min(3)).map(|from| words[from..].join(" "));
    shorter.into_iter().find(|text| text.width() <= room).unwrap_or(state)
}

/// Running, paused, done: which part, how much of it, and the time left.
fn state(app: &App) -> (String, Role) {
    let Some(info) = app.info() else {
        return match app.phase() {
            Phase::Failed(_) => ("FAILED".into(), Role::Bad),
            _ => ("READING".into(), Role::Accent),
        };
    };
    let methods = info.spec.methods.len();
    let total = info.splits * methods;
    let history = app.history();
    let (done, failed) = (history.finished_tasks().count(), history.failed().len());
    let [folds, permutations] = [Kind::Fold, Kind::Permutation].map(|kind| history.ended(kind));
    let failures = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    let paths = format!("{done}/{total}{failures}");
    let part = if done + failed < total {
        paths.clone()
    } else if folds < info.folds * methods {
        format!("testing {folds}/{}", info.folds * methods)
    } else if permutations < info.permutations * methods {
        format!("permuting {permutations}/{}", info.permutations * methods)
    } else {
        paths.clone()
    };
    let left = app.time_left().map_or_else(String::new, |left| format!(", {left}"));
    match (app.phase(), app.pause()) {
        (Phase::Loading { .. }, _) => ("READING".into(), Role::Accent),
        (Phase::Failed(_), _) => ("FAILED".into(), Role::Bad),
        (Phase::Done, _) if failed > 0 => (format!("DONE {paths}"), Role::Bad),
        (Phase::Done, _) => (format!("DONE {paths}"), Role::Good),
        (Phase::Running, _) if app.is_opening() => (format!("OPENING {paths}"), Role::Accent),
        (Phase::Running, Pause::Yes) => (format!("PAUSED {part}"), Role::Warn),
        (Phase::Running, Pause::Asked) => (format!("PAUSING {part}"), Role::Warn),
        (Phase::Running, Pause::No) => (format!("RUNNING {part}{left}"), Role::Accent),
    }
}

/// file, n × p, classes, method, split, step, play, coverage; on a narrow screen the first to go
/// are the least telling.
fn about(app: &App, width: usize) -> Line<'static> {
    let dim = app.theme().style(Role::Dim);
    let file =
        app.data().file_name().map_or_else(String::new, |name| clean(&name.to_string_lossy()));
    let Some(info) = app.info() else { return Line::styled(fit(&file, width), dim) };
    // A replayed run is known by its data, not by its directory.
    let file = if app.is_replay() {
        clean(info.input.rsplit('/').next().unwrap_or_default())
    } else {
        file
    };
    let explores = app.view() == View::Explore;
    let play = match (app.is_playing(), app.is_live()) {
        _ if !explores => String::new(),
        (true, _) => format!("playing ×{}", app.speed()),
        (false, true) => "at newest".into(),
        (false, false) => "paused".into(),
    };
    let times = app.theme().glyph("×", "x");
    let at = match app.step() {
        _ if !explores => String::new(),
        Some(step) => format!("step {}/{}, {} left", step.t + 1, app.path_length(), step.size),
        None => "waiting".into(),
    };
    let target = share(1.0 - info.spec.epsilon);
    // What is promised is an average: a single split may well be below.
    let (promise, role) = if info.spec.guaranteed() {
        ("on average", Role::Good)
    } else {
        ("guarantee void", Role::Bad)
    };
    let index =
        info.spec.methods.iter().position(|&other| other == app.focus().method).unwrap_or(0);
    let plain = app.theme().style(Role::Text);
    let split = match explores {
        true => format!("split {}/{}", app.focus().split + 1, info.splits),
        false => plural(info.splits, "split"),
    };
    // Text, style, and how soon it goes when there is no room.
    let mut pieces = vec![
        (if file.width() > 24 { fit(&file, 24) } else { file }, plain, 1),
        (format!("{}{times}{}", info.rows, info.units.len()), dim, 3),
        (format!("{} classes", info.classes.len()), dim, 5),
        (app.focus().method.to_string(), app.theme().series(index), 0),
        (info.spec.models().unwrap_or_default(), plain, 1),
        (split, plain, 2),
        (at, plain, 0),
        (play, dim, 4),
        (format!("coverage {target} {promise}"), app.theme().style(role), 0),
    ];
    pieces.retain(|(text, ..)| !text.is_empty());
    let used = |pieces: &[(String, Style, u8)]| {
        pieces.iter().map(|(text, _, _)| text.width() + 2).sum::<usize>()
    };
    while used(&pieces) > width + 2 {
        let Some(least) = pieces
            .iter()
            .enumerate()
            .filter(|(_, piece)| piece.2 > 0)
            .max_by_key(|(_, piece)| piece.2)
        else {
            break;
        };
        pieces.remove(least.0);
    }
    // What is left says less, but never half of it: a guarantee that is void must not look like
    // one.
    let left = app.step().map_or_else(String::new, |step| format!("{} left", step.size));
    let shorter = [(1, format!("{target} {promise}")), (2, left), (2, String::new())];
    for (from_end, shorter) in shorter.into_iter().take(if explores { 3 } else { 1 }) {
        if used(&pieces) > width + 2 {
            let at = pieces.len().saturating_sub(from_end);
            pieces[at].0 = shorter;
        }
    }
    pieces.retain(|(text, ..)| !text.is_empty());
    Line::from(
        pieces
            .into_iter()
            .flat_map(|(text, style, _)| [Span::styled(text, style), Span::raw("  ")])
            .collect::<Vec<_>>(),
    )
}
