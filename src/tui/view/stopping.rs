//! Stopping: where would each rule stop? Sizes by split and rule, their histogram, and the features chosen. k and ψ slide.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};
use unicode_width::UnicodeWidthStr;

use super::text::{clean, fit, head};
use super::{Hits, panel};
use crate::analysis::Stops;
use crate::tui::action::Action;
use crate::tui::app::{App, plural};
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
    match app.zoom() {
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

/// Where the rules stop on the splits of the focused method; none before the first split has finished.
fn of_focus(app: &App) -> Option<&Stops> {
    let stops: &Stops = &app.derived().facts.stops;
    (!stops.splits.is_empty()).then_some(stops)
}

/// The colour of a rule, by its place in the list.
fn role(rule: usize) -> Role {
    [Role::Negative, Role::Positive, Role::Good, Role::Warn][rule % 4]
}

fn slide(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let Some(info) = app.info() else { return };
    let (accent, narrow) = (app.theme().style(Role::Accent), area.width < 72);
    let psi = app.rule().psi(info.units.len());
    let key = |action| app.keymap().key_of(action);
    let first = Line::from(vec![
        Span::raw(if narrow { " k = " } else { " β rule: k = " }),
        Span::styled(format!("{}", app.rule().sigma), accent),
        Span::raw(format!(" ({} {})  window = ", key(Action::SigmaDown), key(Action::SigmaUp))),
        Span::styled(format!("{} (ψ = {psi})", app.rule().window), accent),
        Span::raw(format!(" ({} {})", key(Action::WindowDown), key(Action::WindowUp))),
    ]);
    let second = match of_focus(app) {
        None => Line::styled(" no split has finished yet", app.theme().style(Role::Dim)),
        Some(stops) => Line::from(head(&sizes(app, stops, narrow), usize::from(area.width))),
    };
    frame.render_widget(Paragraph::new(vec![first, second]), area);
}

/// The size of each rule: as in the summary, the median over the splits on which it fires.
fn sizes(app: &App, stops: &Stops, narrow: bool) -> String {
    let splits = stops.splits.len();
    let mut words = Vec::new();
    for (i, (entry, size)) in stops.rules.iter().zip(&stops.sizes).enumerate() {
        let name = if narrow { entry.symbol } else { entry.label };
        let number = size.size.map_or_else(|| "never".to_owned(), |size| size.to_string());
        let median = if i == 0 && !narrow { " (median)" } else { "" };
        let silent = match splits - size.fired {
            0 => String::new(),
            silent if narrow => format!(" ({silent} of {splits} never)"),
            silent => format!(", no stop on {silent} of {splits}"),
        };
        words.push(format!("{name} {number}{median}{silent}"));
    }
    for (entry, size) in app.derived().facts.of_curves.iter() {
        let number = size.map_or_else(|| "–".to_owned(), |size| size.to_string());
        let rows = if narrow { "" } else { " (on test rows)" };
        words.push(format!("{} {number}{rows}", entry.symbol));
    }
    let lead = if narrow { String::new() } else { format!("{}: ", app.focus().method) };
    format!(" {lead}{}", words.join(", "))
}

/// The answer as it stands: the size, and the first features of the list that the summary prints.
fn the_answer(app: &App, area: Rect) -> Line<'static> {
    let Some(answer) = &*app.derived().facts.answer else { return Line::default() };
    let rule = answer.chosen.stop.entry().map_or(answer.chosen.rule.as_str(), |entry| entry.label);
    let accent = app.theme().style(Role::Accent);
    let Some(size) = answer.chosen.size else {
        return Line::styled(format!(" Answer: '{rule}' chooses no size"), accent);
    };
    let copies = match area.width {
        72.. => format!(" ({} copies)", app.keymap().key_of(Action::Copy)),
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
    let width = usize::from(inside.width).saturating_sub(8 + 6 * stops.rules.len());
    let (largest, smallest) = (info.units.len(), info.kept().max(1));
    let names: String = stops.rules.iter().map(|entry| format!(" {:>5}", entry.symbol)).collect();
    let mut lines = vec![Line::styled(
        format!("split{names}  {}", fit(&format!("{largest} … {smallest} features"), width)),
        app.theme().style(Role::Dim),
    )];
    let rows = usize::from(inside.height).saturating_sub(1);
    let first = app.scroll().min(stops.splits.len().saturating_sub(1));
    for own in stops.splits.iter().skip(first).take(rows) {
        let say = |size: Option<usize>| {
            size.map_or_else(|| app.theme().glyph("–", "-").to_owned(), |size| size.to_string())
        };
        let column = |size: usize| (largest - size) * width.saturating_sub(1) / (largest - smallest).max(1);
        let mut track =
            vec![Span::styled(app.theme().glyph("─", "-"), app.theme().style(Role::Dim)); width];
        // The first rules are drawn over the others.
        for (i, (entry, size)) in stops.rules.iter().zip(&own.sizes).enumerate().rev() {
            if let Some(cell) = size.and_then(|size| track.get_mut(column(size))) {
                *cell = Span::styled(entry.letter, app.theme().style(role(i)));
            }
        }
        let numbers: String = own.sizes.iter().map(|&size| format!(" {:>5}", say(size))).collect();
        let mut spans = vec![Span::raw(format!("{:>5}{numbers}  ", own.split + 1))];
        spans.extend(track);
        lines.push(Line::from(spans));
    }
    frame.render_widget(Paragraph::new(lines), inside);
}

/// How often each size is chosen, a letter for each rule.
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
    let mut counts = vec![vec![0_usize; stops.rules.len()]; (largest - smallest + 1).div_ceil(each)];
    let bin = |size: usize| (size.clamp(smallest, largest) - smallest) / each;
    for own in &stops.splits {
        for (rule, size) in own.sizes.iter().enumerate() {
            if let Some(size) = size {
                counts[bin(*size)][rule] += 1;
            }
        }
    }
    // One letter a split while there is room.
    let most = counts.iter().map(|counts| counts.iter().sum()).max().unwrap_or(0).max(1);
    let letter = most.div_ceil(width.max(1));
    let scaled = if letter > 1 { format!("; a letter is {letter} splits") } else { String::new() };
    let names: Vec<String> =
        stops.rules.iter().map(|entry| format!("{} {}", entry.letter, entry.label)).collect();
    let title = format!("Sizes chosen ({}{scaled})", names.join(", "));
    let inside = panel(frame, app, area, 1, &title, hits);
    let lines: Vec<Line<'static>> = counts
        .iter()
        .enumerate()
        .map(|(i, counts)| {
            let (from, to) = (smallest + i * each, (smallest + (i + 1) * each - 1).min(largest));
            let label = if from == to { from.to_string() } else { format!("{from}–{to}") };
            // Rounded so that one split is still seen.
            let letters = |mark: &str, count: usize| mark.repeat(count.div_ceil(letter));
            let mut spans = vec![Span::styled(format!("{label:>11} "), app.theme().style(Role::Dim))];
            for (rule, (entry, &count)) in stops.rules.iter().zip(counts).enumerate() {
                spans.push(Span::styled(letters(entry.letter, count), app.theme().style(role(rule))));
            }
            Line::from(spans)
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
    let columns = 2 + 8 * stops.rules.len();
    let bar = (width / 4).min(width.saturating_sub(columns + 12));
    let name = width.saturating_sub(bar + columns);
    let names: String = stops.rules.iter().map(|entry| format!(" {:>7}", entry.symbol)).collect();
    let mut lines =
        vec![Line::styled(format!("{}{names}", fit("feature", name)), app.theme().style(Role::Dim))];
    for chosen in stops.chosen.iter().take(usize::from(inside.height).saturating_sub(1)) {
        // The bar is of the first rule.
        let filled = chosen.counts.first().map_or(0, |count| count * bar / splits.max(1));
        let counts: String =
            chosen.counts.iter().map(|count| format!(" {:>7}", format!("{count}/{splits}"))).collect();
        lines.push(Line::from(vec![
            Span::raw(format!("{}{counts}  ", fit(&info.units[chosen.unit].name, name))),
            Span::styled(app.theme().glyph("▄", "#").repeat(filled), app.theme().style(role(0))),
        ]));
    }
    frame.render_widget(Paragraph::new(lines), inside);
}
