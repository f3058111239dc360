//! Mean β and its derivatives along the path, the threshold, and where the rules stop.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::plot::{Plot, Series};
use super::text::{fit, number};
use super::{Hits, panel};
use crate::analysis::Trace;
use crate::select::{Rule, Stopping, gradient};
use crate::tui::app::App;
use crate::tui::theme::Role;

/// Where the rules stop on the focused path.
type Stop = (&'static Rule, Option<usize>);

/// The β rule's test at a step, with k and ψ as they are slid. A path that the rule itself ended has only its own.
fn beta_test(app: &App, trace: &Trace, t: usize) -> Option<Stopping> {
    let spec = &app.info()?.spec;
    if spec.early || spec.beta_rule == app.rule() {
        return trace.steps().get(t)?.stop;
    }
    trace.beta_test(t, &app.rule(), app.info()?.units.len())
}

/// Mean β, β′ and β″: sparklines, or curves when there is room.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits, curves: bool) {
    let stops: Vec<Stop> = app.derived().facts.stops.on(app.focus().split);
    let say = |size: Option<usize>| size.map_or_else(|| "–".to_owned(), |size| size.to_string());
    let words: Vec<String> =
        stops.iter().map(|(entry, size)| format!("{} {}", entry.label, say(*size))).collect();
    let inside = panel(frame, app, area, 1, &format!("Mean β; {}", words.join(", ")), hits);
    let Some(trace) = app.trace().filter(|trace| !trace.steps().is_empty()) else {
        frame.render_widget(Paragraph::new("nothing yet"), inside);
        return;
    };
    let means = trace.beta_means();
    let first = gradient(means);
    let second = gradient(&first);
    if curves && inside.height >= 12 {
        let thirds: [Rect; 3] = Layout::vertical([Constraint::Ratio(1, 3); 3]).areas(inside);
        let sizes: Vec<usize> = trace.steps().iter().map(|step| step.size).collect();
        let (largest, smallest) = (sizes[0], sizes[sizes.len() - 1]);
        let at = |size: usize| {
            sizes.binary_search_by(|other| size.cmp(other)).unwrap_or_else(|i| i.min(sizes.len() - 1))
        };
        for (area, (label, values)) in
            thirds.into_iter().zip([("mean β", means), ("β′", &first[..]), ("β″", &second[..])])
        {
            let curve = |size: usize| values.get(at(size)).copied();
            let threshold = |size: usize| beta_test(app, trace, at(size)).map(|test| test.threshold);
            let mut series = vec![Series {
                style: app.theme().series(0),
                mark: "*",
                faint: false,
                value: Box::new(curve),
            }];
            if label == "β″" {
                series.insert(
                    0,
                    Series {
                        style: app.theme().style(Role::Bad),
                        mark: "-",
                        faint: true,
                        value: Box::new(threshold),
                    },
                );
            }
            let plot =
                Plot { largest, smallest, series, lines: Vec::new(), cursor: Some(app.size()), limits: None };
            plot.draw(app, area, frame.buffer_mut());
            frame.buffer_mut().set_string(
                area.x,
                area.y + area.height.saturating_sub(1).min(1),
                label,
                app.theme().style(Role::Accent),
            );
            for &(entry, size) in &stops {
                let Some(size) = size.filter(|size| (smallest..=largest).contains(size)) else { continue };
                let room = usize::from(area.width.saturating_sub(8));
                let x = area.x + 7 + ((largest - size) * room / (largest - smallest).max(1)) as u16;
                if area.height > 1 && x < area.right() {
                    frame.buffer_mut().set_string(
                        x,
                        area.y + area.height - 2,
                        entry.letter,
                        app.theme().style(Role::Warn),
                    );
                }
            }
        }
        return;
    }
    let width = usize::from(inside.width).saturating_sub(18);
    let mut lines = Vec::new();
    for (label, values) in [("mean β", means), ("β′", &first[..]), ("β″", &second[..])] {
        let here = values.get(app.cursor()).copied().unwrap_or(0.0);
        let mut spans = vec![
            Span::styled(fit(label, 8), app.theme().style(Role::Accent)),
            Span::raw(format!("{:>8}  ", number(here))),
        ];
        spans.extend(sparkline(app, values, width, app.cursor(), &stops));
        lines.push(Line::from(spans));
    }
    if inside.height > 3 {
        lines.push(places(app, width, &stops));
    }
    if let Some(test) = beta_test(app, trace, app.cursor()).filter(|_| inside.height > 4) {
        let fired = if test.fired { "fires" } else { "quiet" };
        let words = format!("β rule: {} against {}: {fired}", number(test.statistic), number(test.threshold));
        lines.push(Line::styled(fit(&words, usize::from(inside.width)), app.theme().style(Role::Dim)));
    }
    frame.render_widget(Paragraph::new(lines), inside);
}

/// Under the bars: where the rules stop, and the cursor.
fn places(app: &App, width: usize, stops: &[Stop]) -> Line<'static> {
    let steps = app.trace().map_or(&[][..], |trace| trace.steps());
    let columns = width.min(steps.len());
    // The column whose bar holds a step.
    let column = |step: usize| ((step + 1) * columns).div_ceil(steps.len().max(1)).saturating_sub(1);
    let of_size = |size: usize| steps.iter().position(|step| step.size == size).map(column);
    let mut cells = vec![Span::raw(" "); columns];
    let mut marks: Vec<(usize, &'static str, Role)> = Vec::new();
    for (entry, size) in stops {
        let Some(at) = size.and_then(of_size) else { continue };
        // Where two stop, the second stands beside the first.
        let taken = marks.iter().any(|&(other, ..)| other == at);
        let at = if !taken {
            at
        } else if at + 1 < columns {
            at + 1
        } else {
            at.saturating_sub(1)
        };
        marks.push((at, entry.letter, Role::Warn));
    }
    marks.push((column(app.cursor()), app.theme().glyph("▲", "^"), Role::Cursor));
    // The first are drawn over the others.
    for (at, mark, role) in marks.into_iter().rev() {
        if let Some(cell) = cells.get_mut(at) {
            *cell = Span::styled(mark, app.theme().style(role));
        }
    }
    let legend: Vec<String> =
        stops.iter().map(|(entry, _)| format!("{} {}", entry.letter, entry.label)).collect();
    let mut spans = vec![Span::styled(fit(&legend.join(", "), 18), app.theme().style(Role::Dim))];
    spans.extend(cells);
    Line::from(spans)
}

/// A signed series as one row of bars; the cursor reversed, the stops underlined.
fn sparkline(app: &App, values: &[f64], width: usize, cursor: usize, stops: &[Stop]) -> Vec<Span<'static>> {
    if values.is_empty() || width == 0 {
        return Vec::new();
    }
    let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let bars = app.theme().bars();
    let columns = width.min(values.len());
    let sizes = app.trace().map_or(&[][..], |trace| trace.steps());
    (0..columns)
        .map(|column| {
            let from = column * values.len() / columns;
            let to = ((column + 1) * values.len() / columns).max(from + 1);
            let value = values[from..to].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let level = if hi > lo { 1 + ((value - lo) / (hi - lo) * 7.0).round() as usize } else { 4 };
            let mut style = app.theme().series(0);
            let stop = sizes.get(from..to.min(sizes.len())).is_some_and(|steps| {
                steps.iter().any(|step| stops.iter().any(|&(_, size)| size == Some(step.size)))
            });
            if stop {
                style = app.theme().style(Role::Warn).add_modifier(Modifier::UNDERLINED);
            }
            if (from..to).contains(&cursor) {
                style = style.add_modifier(Modifier::REVERSED);
            }
            Span::styled(bars[level.min(8)], style)
        })
        .collect()
}
