//! What the views put on a chart: the sizes that are drawn, the curve of a metric, and a chart
//! inside a panel.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::{Hit, Hits, panel};
use crate::analysis::Metric;
use crate::run::RunInfo;
use crate::tui::app::App;
use crate::tui::chart::{Chart, ChartCurve, ReferenceLine, SizeAxis};
use crate::tui::theme::Role;

/// Rows of a table in words, at most.
pub const TABLED: usize = 20;

/// The sizes of a curve that are drawn on `cells` cells, rising: all of them, or about two per
/// cell. `falling` are all its sizes, the largest first.
pub fn drawn_sizes(axis: &SizeAxis, falling: &[usize], cells: u16) -> Vec<usize> {
    let dots = 2 * usize::from(cells.max(1));
    if falling.len() <= 2 * dots {
        return falling.iter().rev().copied().collect();
    }
    let mut sizes: Vec<usize> = (0..=dots)
        .filter_map(|dot| {
            let wanted = axis.size_of_cell(dot as u16, dots as u16 + 1);
            let at = falling.partition_point(|&size| size > wanted);
            falling.get(at.min(falling.len() - 1)).copied()
        })
        .collect();
    // The neighbours beyond the edges lead the curve out of the picture.
    sizes.extend(falling.first().into_iter().chain(falling.last()));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// A chart with the cursor and the chosen size, inside a panel; every column can be clicked.
pub fn draw_chart(frame: &mut Frame<'_>, app: &App, area: Rect, chart: &Chart, hits: &mut Hits) {
    if let Some(place) = chart.draw(app.theme(), area, frame.buffer_mut()) {
        hits.extend(place.columns().map(|(column, size)| (column, Hit::Size(size))));
    }
}

/// Draws a metric by size, all methods on one chart.
pub fn draw_metric(
    frame: &mut Frame<'_>,
    app: &App,
    area: Rect,
    (index, metric): (usize, Metric),
    hits: &mut Hits,
) {
    let Some(info) = app.info() else { return };
    let title = match metric {
        Metric::Inefficiency => format!("mean set size, of {} classes", info.classes.len()),
        Metric::Mistrust => "share of empty sets (mistrust)".to_owned(),
        Metric::Certainty => "sets that are exactly the true class (certainty)".to_owned(),
        Metric::Uncertainty => "sets of all classes (uncertainty)".to_owned(),
        _ => metric.label().to_owned(),
    };
    let inside = panel(frame, app, area, index, &title, hits);
    let chart = Chart {
        axis: app.axis(),
        curves: metric_curves(app, info, metric, inside.width),
        references: references(app, info, metric),
        cursor: Some(app.chart_size()),
        chosen: app.chosen_size(),
        bounds: metric.bounds(),
        across: None,
    };
    draw_chart(frame, app, inside, &chart, hits);
}

/// The curves of all methods, the focused one on top and with its band.
fn metric_curves(app: &App, info: &RunInfo, metric: Metric, cells: u16) -> Vec<ChartCurve> {
    let axis = app.axis();
    let mut curves: Vec<(bool, ChartCurve)> = Vec::new();
    for (i, &method) in info.spec.methods.iter().enumerate() {
        let Some(curve) = app.history().curve(method) else { continue };
        let is_focused = method == app.focus().method;
        let sizes = drawn_sizes(&axis, curve.sizes(), cells);
        let spreads = sizes.iter().filter_map(|&size| Some((size, curve.spread(size, metric)?)));
        let (lowest, highest) = metric.bounds();
        let (mut points, mut band) = (Vec::new(), Vec::new());
        for (size, spread) in spreads {
            points.push((size, spread.mean));
            if let Some(sd) = spread.sd.filter(|_| is_focused) {
                let bound = |value: f64| value.clamp(lowest, highest);
                band.push((size, (bound(spread.mean - sd), bound(spread.mean + sd))));
            }
        }
        let (style, mark) = (app.theme().series(i), app.theme().series_mark(i));
        curves.push((
            is_focused,
            ChartCurve { label: method.to_string(), style, mark, points, band },
        ));
    }
    curves.sort_by_key(|&(is_focused, _)| is_focused);
    curves.into_iter().map(|(_, curve)| curve).collect()
}

/// What a metric is compared with.
fn references(app: &App, info: &RunInfo, metric: Metric) -> Vec<ReferenceLine> {
    let line = |value, label, role| ReferenceLine::new(value, label, app.theme().style(role));
    match metric {
        Metric::Accuracy => vec![line(info.no_information_rate(), "largest class", Role::Warn)],
        Metric::Coverage => vec![line(1.0 - info.spec.epsilon, "target", Role::Good)],
        _ => Vec::new(),
    }
}

/// The sizes of a table: all, or a few from one to all in equal steps of the axis.
pub fn tabled_sizes(app: &App, info: &RunInfo) -> Vec<usize> {
    let Some(curve) = app.history().curve(app.focus().method) else { return Vec::new() };
    let axis = app.axis();
    let mut wanted: Vec<usize> =
        (0..TABLED as u16).map(|cell| axis.size_of_cell(cell, TABLED as u16)).collect();
    wanted.extend(app.chosen_size());
    wanted.extend([app.chart_size(), info.units.len()]);
    wanted.retain(|&size| curve.splits(size) > 0);
    wanted.sort_unstable();
    wanted.dedup();
    wanted
}
