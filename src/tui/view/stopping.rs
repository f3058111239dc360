//! Stopping: when would each rule stop? Sizes by split and rule, their histogram, and the features chosen. k and ψ slide.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::text::fit;
use super::{Hits, panel};
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::derived::Stops;
use crate::tui::theme::Role;

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let [sliders, body] = Layout::vertical([Constraint::Length(2), Constraint::Min(3)]).areas(area);
    slide(frame, app, sliders);
    match app.zoom {
        Some(0) => return by_split(frame, app, body, hits),
        Some(1) => return histogram(frame, app, body, hits),
        Some(_) => return chosen(frame, app, body, hits),
        None => {}
    }
    let [left, right] = Layout::horizontal([Constraint::Percentage(46), Constraint::Min(20)]).areas(body);
    by_split(frame, app, left, hits);
    let [top, bottom] = Layout::vertical([Constraint::Percentage(50), Constraint::Min(3)]).areas(right);
    histogram(frame, app, top, hits);
    chosen(frame, app, bottom, hits);
}

fn of_focus(app: &App) -> Option<&Stops> {
    app.derived.stops.iter().find(|stops| stops.method == app.focus.method)
}

fn slide(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let Some(info) = app.info() else { return };
    let accent = app.theme.style(Role::Accent);
    let psi = ((app.rule.window * info.units.len() as f64).floor() as usize).max(3);
    let key = |action| app.keymap.key_of(action);
    let first = Line::from(vec![
        Span::raw(" β rule: k = "),
        Span::styled(format!("{}", app.rule.sigma), accent),
        Span::raw(format!(" ({} {})   window = ", key(Action::SigmaDown), key(Action::SigmaUp))),
        Span::styled(format!("{} (ψ = {psi})", app.rule.window), accent),
        Span::raw(format!(
            " ({} {})   chosen for the answer: {}",
            key(Action::WindowDown),
            key(Action::WindowUp),
            info.spec.stop.name()
        )),
    ]);
    let second = match of_focus(app) {
        None => Line::styled(" no split has finished yet", app.theme.style(Role::Dim)),
        Some(stops) => {
            let median = |sizes: Vec<usize>| {
                let mut sizes = sizes;
                sizes.sort_unstable();
                if sizes.is_empty() { "never".to_owned() } else { sizes[(sizes.len() - 1) / 2].to_string() }
            };
            let knee: Vec<usize> = stops.splits.iter().filter_map(|&(_, knee, _)| knee).collect();
            let beta: Vec<usize> = stops.splits.iter().filter_map(|&(_, _, beta)| beta).collect();
            let silent = stops.splits.len() - beta.len();
            let silent = if silent > 0 {
                format!(", never fires on {silent} of {}", stops.splits.len())
            } else {
                String::new()
            };
            let one_se = stops.one_se.map_or_else(|| "–".to_owned(), |size| size.to_string());
            Line::from(format!(
                " {}: knee {} (median), β rule {}{silent}, 1se {one_se} (on test rows)",
                app.focus.method,
                median(knee),
                median(beta)
            ))
        }
    };
    frame.render_widget(Paragraph::new(vec![first, second]), area);
}

fn by_split(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let inside = panel(frame, app, area, 0, "Where each rule stops", hits);
    let Some(info) = app.info() else { return };
    let Some(stops) = of_focus(app) else { return };
    let width = usize::from(inside.width).saturating_sub(20);
    let (largest, smallest) = (info.units.len(), info.kept().max(1));
    let mut lines = vec![Line::styled(
        format!("split  knee     β  {}", fit(&format!("{largest} … {smallest} features"), width)),
        app.theme.style(Role::Dim),
    )];
    let rows = usize::from(inside.height).saturating_sub(1);
    let first = app.scroll[app.view as usize].min(stops.splits.len().saturating_sub(1));
    for &(split, knee, beta) in stops.splits.iter().skip(first).take(rows) {
        let say = |size: Option<usize>| {
            size.map_or_else(|| app.theme.glyph("–", "-").to_owned(), |size| size.to_string())
        };
        let column = |size: usize| (largest - size) * width.saturating_sub(1) / (largest - smallest).max(1);
        let mut track = vec![Span::styled(app.theme.glyph("─", "-"), app.theme.style(Role::Dim)); width];
        for (size, mark, role) in [(beta, "B", Role::Positive), (knee, "K", Role::Negative)] {
            if let Some(cell) = size.and_then(|size| track.get_mut(column(size))) {
                *cell = Span::styled(mark, app.theme.style(role));
            }
        }
        let mut spans = vec![Span::raw(format!("{:>5} {:>5} {:>5}  ", split + 1, say(knee), say(beta)))];
        spans.extend(track);
        lines.push(Line::from(spans));
    }
    frame.render_widget(Paragraph::new(lines), inside);
}

/// How often each size is chosen: K for the knee, B for the β rule.
fn histogram(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let inside = panel(frame, app, area, 1, "Sizes chosen (K knee, B β rule)", hits);
    let (Some(info), Some(stops)) = (app.info(), of_focus(app)) else { return };
    let rows = usize::from(inside.height);
    let width = usize::from(inside.width).saturating_sub(12);
    if rows == 0 || width == 0 {
        return;
    }
    let (largest, smallest) = (info.units.len(), info.kept().max(1));
    let span = largest - smallest + 1;
    let bins = rows.min(span);
    let mut counts = vec![(0_usize, 0_usize); bins];
    let bin = |size: usize| (size.clamp(smallest, largest) - smallest) * bins / span;
    for &(_, knee, beta) in &stops.splits {
        if let Some(size) = knee {
            counts[bin(size)].0 += 1;
        }
        if let Some(size) = beta {
            counts[bin(size)].1 += 1;
        }
    }
    let most = counts.iter().map(|&(knee, beta)| knee + beta).max().unwrap_or(0).max(1);
    let lines: Vec<Line<'static>> = counts
        .iter()
        .enumerate()
        .map(|(i, &(knee, beta))| {
            let from = smallest + (i * span).div_ceil(bins);
            let to = smallest + ((i + 1) * span).div_ceil(bins) - 1;
            let label = if from >= to { from.to_string() } else { format!("{from}–{to}") };
            // One letter a split while there is room.
            let cells = |count: usize| if most <= width { count } else { count * width / most };
            Line::from(vec![
                Span::styled(format!("{label:>11} "), app.theme.style(Role::Dim)),
                Span::styled("K".repeat(cells(knee)), app.theme.style(Role::Negative)),
                Span::styled("B".repeat(cells(beta)), app.theme.style(Role::Positive)),
            ])
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), inside);
}

/// How often each feature is in the subset that a rule chose.
fn chosen(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let inside = panel(frame, app, area, 2, "Features in the chosen subsets", hits);
    let (Some(info), Some(stops)) = (app.info(), of_focus(app)) else { return };
    let splits = stops.splits.len();
    let width = usize::from(inside.width);
    let bar = (width / 4).max(4);
    let name = width.saturating_sub(bar + 18);
    let mut lines = vec![Line::styled(
        format!("{} {:>7} {:>7}", fit("feature", name), "knee", "β"),
        app.theme.style(Role::Dim),
    )];
    for &(unit, knee, beta) in app.derived.chosen.iter().take(usize::from(inside.height).saturating_sub(1)) {
        let filled = knee * bar / splits.max(1);
        lines.push(Line::from(vec![
            Span::raw(format!(
                "{} {:>7} {:>7}  ",
                fit(&info.units[unit].name, name),
                format!("{knee}/{splits}"),
                format!("{beta}/{splits}")
            )),
            Span::styled(app.theme.glyph("▄", "#").repeat(filled), app.theme.style(Role::Negative)),
        ]));
    }
    frame.render_widget(Paragraph::new(lines), inside);
}
