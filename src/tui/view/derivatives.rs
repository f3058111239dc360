//! Mean β and its derivatives along the path of this split, the threshold of the β rule, and where
//! the rules stop.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::curves::{draw_chart, drawn_sizes};
use super::text::{fit, number};
use super::{Hits, panel};
use crate::analysis::Trace;
use crate::select::{Rule, Stopping, gradient};
use crate::tui::app::App;
use crate::tui::chart::{Chart, ChartCurve, ReferenceLine};
use crate::tui::theme::Role;

/// Where the rules stop on the focused path.
type RuleStop = (&'static Rule, Option<usize>);

/// Rows that three charts need.
const CHARTS_FROM: u16 = 21;
/// Rows that one chart needs.
const CHART_FROM: u16 = 9;

/// The β rule's test at a step, with k and ψ as they are slid.
fn beta_test(app: &App, trace: &Trace, t: usize) -> Option<Stopping> {
    app.choice().beta_test(app.info()?, trace, t)
}

/// Mean β, β′ and β″: sparklines, or charts when there is room.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let stops: Vec<RuleStop> = app.derived().facts.stops.on(app.focus().split);
    let say = |size: Option<usize>| size.map_or_else(|| "–".to_owned(), |size| size.to_string());
    let is_narrow = area.width < 44;
    let word = |(entry, size): &RuleStop| {
        format!("{} {}", if is_narrow { entry.symbol } else { entry.label }, say(*size))
    };
    let words: Vec<String> = stops.iter().map(word).collect();
    let split = if is_narrow { "" } else { " of this split" };
    let title = format!("Mean β{split}: {}", words.join(", "));
    let inside = panel(frame, app, area, 1, &title, hits);
    let Some(trace) = app.trace().filter(|trace| !trace.steps().is_empty()) else {
        frame.render_widget(Paragraph::new("nothing yet"), inside);
        return;
    };
    let means = trace.beta_means();
    let first = gradient(means);
    let second = gradient(&first);
    let series = [("mean β", means), ("β′", &first[..]), ("β″", &second[..])];
    let test = test_line(app, trace, usize::from(inside.width));
    if inside.height >= CHART_FROM {
        let [charts, below] =
            Layout::vertical([Constraint::Min(4), Constraint::Length(1)]).areas(inside);
        frame.render_widget(Paragraph::new(test.unwrap_or_default()), below);
        if inside.height >= CHARTS_FROM {
            let thirds: [Rect; 3] = Layout::vertical([Constraint::Ratio(1, 3); 3]).areas(charts);
            for (area, (label, values)) in thirds.into_iter().zip(series) {
                chart(frame, app, trace, area, (label, values), hits);
            }
        } else {
            chart(frame, app, trace, charts, series[0], hits);
        }
        return;
    }
    let width = usize::from(inside.width).saturating_sub(18);
    let mut lines = Vec::new();
    for (label, values) in series {
        let here = values.get(app.cursor()).copied().unwrap_or(0.0);
        let mut spans = vec![
            Span::styled(fit(label, 8), app.theme().style(Role::Accent)),
            Span::raw(format!("{:>8}  ", number(here))),
        ];
        spans.extend(sparkline(app, trace, values, width));
        lines.push(Line::from(spans));
    }
    if inside.height > 3 {
        lines.push(places(app, trace, width, &stops));
    }
    lines.extend(test.filter(|_| inside.height > 4));
    frame.render_widget(Paragraph::new(lines), inside);
}

/// The stopping statistic at this step against its threshold.
fn test_line(app: &App, trace: &Trace, width: usize) -> Option<Line<'static>> {
    let test = beta_test(app, trace, app.cursor())?;
    let fired = if test.fired { "fires" } else { "quiet" };
    let words =
        format!("β rule: {} against {}: {fired}", number(test.statistic), number(test.threshold));
    Some(Line::styled(fit(&words, width), app.theme().style(Role::Dim)))
}

/// One curve along the path, with its zero line; β″ with the threshold of the β rule.
fn chart(
    frame: &mut Frame<'_>,
    app: &App,
    trace: &Trace,
    area: Rect,
    (label, values): (&str, &[f64]),
    hits: &mut Hits,
) {
    let falling: Vec<usize> = trace.steps().iter().map(|step| step.size).collect();
    let axis = app.axis();
    let step_of = |size: usize| falling.binary_search_by(|other| size.cmp(other)).ok();
    let sizes = drawn_sizes(&axis, &falling, area.width);
    let points =
        sizes.iter().filter_map(|&size| Some((size, *values.get(step_of(size)?)?))).collect();
    let mut curves = Vec::new();
    if label == "β″" {
        let threshold =
            |&size: &usize| Some((size, beta_test(app, trace, step_of(size)?)?.threshold));
        let points: Vec<(usize, f64)> = sizes.iter().filter_map(threshold).collect();
        if !points.is_empty() {
            let style = app.theme().style(Role::Bad);
            curves.push(ChartCurve::line("threshold", style, "-", points));
        }
    }
    curves.push(ChartCurve::line(label, app.theme().series(0), "*", points));
    let zero = ReferenceLine::new(0.0, "", app.theme().style(Role::Dim));
    let chart = Chart {
        axis,
        curves,
        references: vec![zero],
        cursor: Some(app.size()),
        chosen: app.chosen_size(),
        bounds: (f64::NEG_INFINITY, f64::INFINITY),
        across: None,
    };
    draw_chart(frame, app, area, &chart, hits);
}

/// For each cell of a sparkline the steps that it stands for: equal parts of the axis of sizes, one
/// feature at the left.
fn cells(app: &App, trace: &Trace, width: usize) -> Vec<std::ops::Range<usize>> {
    let steps = trace.steps();
    let axis = app.axis();
    let columns = width.min(u16::MAX.into()) as u16;
    let below = |size: usize| steps.partition_point(|step| step.size > size);
    (0..columns)
        .map(|column| {
            let size = axis.size_of_cell(column, columns);
            let next = if column + 1 < columns {
                axis.size_of_cell(column + 1, columns)
            } else {
                size + 1
            };
            // Sizes fall along the steps.
            below(next.max(size + 1) - 1)..below(size.saturating_sub(1))
        })
        .collect()
}

/// Under the bars: where the rules stop, and the cursor.
fn places(app: &App, trace: &Trace, width: usize, stops: &[RuleStop]) -> Line<'static> {
    let columns = cells(app, trace, width);
    let of_step = |step: usize| columns.iter().position(|steps| steps.contains(&step));
    let of_size = |size: usize| of_step(trace.steps().iter().position(|step| step.size == size)?);
    let mut spans = vec![Span::raw(" "); columns.len()];
    let mut marks: Vec<(usize, &'static str, Role)> = Vec::new();
    for (entry, size) in stops {
        let Some(at) = size.and_then(of_size) else { continue };
        // Where two stop, the second stands beside the first.
        let taken = marks.iter().any(|&(other, ..)| other == at);
        let at = if taken && at + 1 < columns.len() { at + 1 } else { at };
        marks.push((at, entry.letter, Role::Warn));
    }
    // The first rule is drawn over the others, and the cursor over all of them.
    let cursor = of_step(app.cursor()).map(|at| (at, app.theme().glyph("▲", "^"), Role::Cursor));
    for (at, mark, role) in marks.into_iter().rev().chain(cursor) {
        if let Some(span) = spans.get_mut(at) {
            *span = Span::styled(mark, app.theme().style(role));
        }
    }
    let legend: Vec<String> =
        stops.iter().map(|(entry, _)| format!("{} {}", entry.letter, entry.label)).collect();
    let mut line = vec![Span::styled(fit(&legend.join(", "), 18), app.theme().style(Role::Dim))];
    line.extend(spans);
    Line::from(line)
}

/// A signed series as one row of bars from zero: blue and hanging below it, orange and standing
/// above it; zero is a thin line.
fn sparkline(app: &App, trace: &Trace, values: &[f64], width: usize) -> Vec<Span<'static>> {
    let scale =
        values.iter().fold(0.0_f64, |scale, value| scale.max(value.abs())).max(f64::MIN_POSITIVE);
    let bars = app.theme().bars();
    let mut last = None;
    cells(app, trace, width)
        .into_iter()
        .map(|steps| {
            let own = values.get(steps.clone()).unwrap_or(&[]);
            let largest = own.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
            // On a log axis the smallest sizes are several cells wide.
            let value = largest.or(last);
            last = value;
            let Some(value) = value else { return Span::raw(" ") };
            let level = ((value.abs() / scale * 8.0).round() as usize).min(8);
            let (symbol, mut style) = match level {
                0 => (app.theme().glyph("─", "-"), app.theme().style(Role::Dim)),
                _ if value >= 0.0 => (bars[level], app.theme().style(Role::Positive)),
                // Hanging bars: the block is the ground, and the glyph its complement.
                _ if !app.theme().ascii && level < 8 => (
                    bars[8 - level],
                    app.theme().style(Role::Negative).add_modifier(Modifier::REVERSED),
                ),
                _ => (bars[level], app.theme().style(Role::Negative)),
            };
            if steps.contains(&app.cursor()) {
                style = app
                    .theme()
                    .style(Role::Cursor)
                    .add_modifier(Modifier::BOLD | Modifier::UNDERLINED);
            }
            Span::styled(symbol, style)
        })
        .collect()
}
