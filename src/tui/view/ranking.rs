//! The ranking: whose turn it is, β as a signed bar, in how many splits a feature survives to this size.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::text::{fit, number};
use super::{Hit, Hits, panel};
use crate::analysis::{Paths, RankTable};
use crate::run::Betas;
use crate::tui::app::{App, plural};
use crate::tui::theme::Role;

/// Why β of some features is not there: a long path keeps it for the first few of each step.
fn unknown(app: &App) -> Option<&'static str> {
    let step = app.step()?;
    match step.beta {
        Some(Betas::Whole(_)) => None,
        _ if app.inspected_here() => None,
        _ if app.plan().is_none() => Some("others not recorded"),
        _ if app.is_playing() => Some("pause for all β"),
        _ => Some("computing …"),
    }
}

/// Draws the panel.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let size = app.size();
    let title = match unknown(app) {
        Some(why) => format!("Ranking at {size}, by {} ({why})", app.sort().name()),
        None => format!("Ranking at {}, by {}", plural(size, "feature"), app.sort().name()),
    };
    let inside = panel(frame, app, area, 0, &title, hits);
    let Some(info) = app.info() else { return };
    if inside.width < 20 || inside.height < 2 {
        return;
    }
    let width = usize::from(inside.width);
    let ranks = RankTable::new(&Paths::new(app.history(), info, app.focus().method));
    let splits = ranks.splits().len();
    let lead = (info.units.len().to_string().len() + 3).max(6);
    let tail = if splits > 0 { splits.to_string().len() * 2 + 2 } else { 7 };
    let value = 8;
    let bar = ((width - lead - tail) / 3).clamp(7, 41) | 1;
    let name = width.saturating_sub(lead + tail + bar + value);
    let heading = format!(
        "{}{}{:>value$}{:>tail$}",
        fit("step", lead),
        fit("feature", name),
        "β ",
        "splits",
        tail = tail + bar
    );
    let rows = &app.derived().rows;
    let height = usize::from(inside.height) - 1;
    let selection = app.selection();
    let at = selection.and_then(|unit| rows.iter().position(|&row| row == unit)).unwrap_or(0);
    let first = at.saturating_sub(height / 2).min(rows.len().saturating_sub(height));
    let mut lines = vec![Line::styled(heading, app.theme().style(Role::Dim))];
    let going: &[usize] = app.step().map_or(&[], |step| &step.removed);
    let runner_up = app.step().and_then(|step| step.runner_up);
    let dot = |gone: Option<usize>| {
        if gone.is_none() && app.step().is_some() { "·".into() } else { String::new() }
    };
    for (i, &unit) in rows.iter().enumerate().skip(first).take(height) {
        let row = Rect { y: inside.y + 1 + (i - first) as u16, height: 1, ..inside };
        hits.push((row, Hit::Unit(unit)));
        let gone = app.trace().and_then(|trace| trace.removed_at(unit)).filter(|&step| step < app.cursor());
        let beta = app.derived().beta.get(unit).copied().flatten().filter(|_| gone.is_none());
        let (turn, role) = match gone {
            Some(step) => (format!("{}{}", app.theme().glyph("✕ ", "x "), step + 1), Role::Dim),
            None if going.contains(&unit) => (app.theme().glyph("▶ now", "> now").to_owned(), Role::Bad),
            None if runner_up == Some(unit) => ("next".to_owned(), Role::Warn),
            None if info.units[unit].kept => ("kept".to_owned(), Role::Good),
            None => (String::new(), Role::Text),
        };
        let mut style = if gone.is_some() { app.theme().style(Role::Dim) } else { Style::new() };
        if Some(unit) == selection && app.selected().is_some() {
            style = style.patch(app.theme().selected());
        }
        let mut spans = vec![
            Span::styled(fit(&turn, lead), app.theme().style(role).patch(style)),
            Span::styled(fit(&info.units[unit].name, name), style),
            Span::styled(
                format!("{:>1$} ", beta.map_or_else(|| dot(gone), |beta| number(f64::from(beta))), value - 1),
                style,
            ),
        ];
        spans.extend(signed_bar(app, beta, bar));
        let survives =
            if splits > 0 { format!("{}/{splits}", ranks.count(unit, size)) } else { String::new() };
        spans.push(Span::styled(format!("{survives:>tail$}"), style));
        lines.push(Line::from(spans));
    }
    frame.render_widget(Paragraph::new(lines), inside);
}

/// β as a bar: blue to the left of the axis below zero, orange to the right above.
fn signed_bar(app: &App, beta: Option<f32>, width: usize) -> [Span<'static>; 4] {
    let half = width.saturating_sub(1) / 2;
    let axis = app.theme().glyph("│", "|");
    let scale = app.derived().beta_scale.max(f32::MIN_POSITIVE);
    let length = beta.map_or(0, |beta| ((beta.abs() / scale * half as f32).round() as usize).min(half));
    let full = |glyph: &str| glyph.repeat(length);
    let (left, right) = match beta {
        Some(beta) if beta < 0.0 => (full(app.theme().glyph("▄", "-")), String::new()),
        Some(_) => (String::new(), full(app.theme().glyph("▄", "+"))),
        None => (String::new(), String::new()),
    };
    let right_pad = half - right.chars().count();
    [
        Span::styled(format!("{left:>half$}"), app.theme().style(Role::Negative)),
        Span::styled(axis, app.theme().style(Role::Dim)),
        Span::styled(right, app.theme().style(Role::Positive)),
        Span::raw(" ".repeat(right_pad)),
    ]
}
