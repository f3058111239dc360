//! Stopping: when would each rule stop? Sizes by split and rule, their histogram, and the features chosen. k and ψ slide.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use unicode_width::UnicodeWidthStr;

use super::text::{clean, fit, head};
use super::{Hits, panel};
use crate::select::StopRule;
use crate::tui::action::Action;
use crate::tui::app::{App, plural};
use crate::tui::derived::Stops;
use crate::tui::theme::Role;

/// Lines of the answer, at most.
const ANSWER: u16 = 3;

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let answer = the_answer(app, area);
    let lines = if answer.width() > usize::from(area.width) { ANSWER } else { 1 };
    let [sliders, list, body] =
        Layout::vertical([Constraint::Length(2), Constraint::Length(lines), Constraint::Min(3)]).areas(area);
    slide(frame, app, sliders);
    frame.render_widget(Paragraph::new(answer).wrap(Wrap { trim: false }), list);
    match app.zoom {
        Some(0) => return by_split(frame, app, body, hits),
        Some(1) => return histogram(frame, app, body, hits),
        Some(_) => return chosen(frame, app, body, hits),
        None => {}
    }
    if area.width < 72 {
        // The histogram is the first to go: the strip says the same split by split.
        let [top, bottom] =
            Layout::vertical([Constraint::Percentage(50), Constraint::Percentage(50)]).areas(body);
        if body.height < 12 {
            return by_split(frame, app, body, hits);
        }
        by_split(frame, app, top, hits);
        return chosen(frame, app, bottom, hits);
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
    let (accent, narrow) = (app.theme.style(Role::Accent), area.width < 72);
    let psi = ((app.rule.window * info.units.len() as f64).floor() as usize).max(3);
    let key = |action| app.keymap.key_of(action);
    let first = Line::from(vec![
        Span::raw(if narrow { " k = " } else { " β rule: k = " }),
        Span::styled(format!("{}", app.rule.sigma), accent),
        Span::raw(format!(" ({} {})  window = ", key(Action::SigmaDown), key(Action::SigmaUp))),
        Span::styled(format!("{} (ψ = {psi})", app.rule.window), accent),
        Span::raw(format!(" ({} {})", key(Action::WindowDown), key(Action::WindowUp))),
    ]);
    let second = match of_focus(app).zip(app.derived.answer.as_ref()) {
        None => Line::styled(" no split has finished yet", app.theme.style(Role::Dim)),
        Some((stops, answer)) => {
            // As in the summary: the median over the splits on which a rule fires.
            let say = |size: Option<usize>| size.map_or_else(|| "never".to_owned(), |size| size.to_string());
            let mut rules = std::iter::once(&answer.chosen).chain(&answer.beside);
            let knee = say(rules.find(|size| size.rule == StopRule::Knee.name()).and_then(|size| size.size));
            let beta = say(app.derived.beta_sizes.as_ref().and_then(|sizes| sizes.size));
            let splits = stops.splits.len();
            let silent = stops.splits.iter().filter(|(_, _, beta)| beta.is_none()).count();
            let one_se = stops.one_se.map_or_else(|| "–".to_owned(), |size| size.to_string());
            let silent = match silent {
                0 => String::new(),
                _ if narrow => format!(" ({silent} of {splits} never)"),
                _ => format!(", never fires on {silent} of {splits}"),
            };
            let words = if narrow {
                format!(" knee {knee}, β {beta}{silent}, 1se {one_se}")
            } else {
                let method = app.focus.method;
                format!(" {method}: knee {knee} (median), β rule {beta}{silent}, 1se {one_se} (on test rows)")
            };
            Line::from(head(&words, usize::from(area.width)))
        }
    };
    frame.render_widget(Paragraph::new(vec![first, second]), area);
}

/// The answer as it stands: the size, and the first features of the list that the summary prints.
fn the_answer(app: &App, area: Rect) -> Line<'static> {
    let Some(answer) = &app.derived.answer else { return Line::default() };
    let rule = match answer.chosen.rule.as_str() {
        "beta" => "β rule",
        other => other,
    };
    let accent = app.theme.style(Role::Accent);
    let Some(size) = answer.chosen.size else {
        return Line::styled(format!(" Answer: '{rule}' chooses no size"), accent);
    };
    let copies = match area.width {
        72.. => format!(" ({} copies)", app.keymap.key_of(Action::Copy)),
        _ => String::new(),
    };
    let lead = format!(" Answer by {rule}, {}{copies}: ", plural(size, "feature"));
    // Where lines are broken they are not filled.
    let width = usize::from(area.width);
    let room = if area.height >= 30 { width * usize::from(ANSWER) - width / 2 } else { width - 1 };
    let names: Vec<String> = answer.features.iter().take(room).map(|feature| clean(&feature.name)).collect();
    let names = head(&names.join(", "), room.saturating_sub(lead.width()));
    Line::from(vec![Span::styled(lead, accent), Span::raw(names)])
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
    let rows = usize::from(area.height.saturating_sub(2));
    let width = usize::from(area.width.saturating_sub(2)).saturating_sub(12);
    let (Some(info), Some(stops)) = (app.info(), of_focus(app)) else {
        panel(frame, app, area, 1, "Sizes chosen", hits);
        return;
    };
    let (largest, smallest) = (info.units.len(), info.kept().max(1));
    // Bins of one width, as few sizes each as there are rows for.
    let each = (largest - smallest + 1).div_ceil(rows.max(1));
    let mut counts = vec![(0_usize, 0_usize); (largest - smallest + 1).div_ceil(each)];
    let bin = |size: usize| (size.clamp(smallest, largest) - smallest) / each;
    for &(_, knee, beta) in &stops.splits {
        if let Some(size) = knee {
            counts[bin(size)].0 += 1;
        }
        if let Some(size) = beta {
            counts[bin(size)].1 += 1;
        }
    }
    // One letter a split while there is room.
    let most = counts.iter().map(|&(knee, beta)| knee + beta).max().unwrap_or(0).max(1);
    let letter = most.div_ceil(width.max(1));
    let scaled = if letter > 1 { format!("; a letter is {letter} splits") } else { String::new() };
    let inside = panel(frame, app, area, 1, &format!("Sizes chosen (K knee, B β rule{scaled})"), hits);
    let lines: Vec<Line<'static>> = counts
        .iter()
        .enumerate()
        .map(|(i, &(knee, beta))| {
            let (from, to) = (smallest + i * each, (smallest + (i + 1) * each - 1).min(largest));
            let label = if from == to { from.to_string() } else { format!("{from}–{to}") };
            // Rounded so that one split is still seen.
            let letters = |mark: &str, count: usize| mark.repeat(count.div_ceil(letter));
            Line::from(vec![
                Span::styled(format!("{label:>11} "), app.theme.style(Role::Dim)),
                Span::styled(letters("K", knee), app.theme.style(Role::Negative)),
                Span::styled(letters("B", beta), app.theme.style(Role::Positive)),
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
    // A readable name comes before the bar.
    let bar = (width / 4).min(width.saturating_sub(18 + 12));
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
