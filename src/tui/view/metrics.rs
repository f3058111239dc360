//! Metrics: how small can I go? One small chart a metric, methods overlaid, mean ± sd over the splits so far.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::plot::{Plot, Series};
use super::text::{fit, share};
use super::{Hits, panel};
use crate::analysis::{Metric, coverage_band};
use crate::run::RunInfo;
use crate::tui::app::App;
use crate::tui::theme::{Role, Theme};

/// The metrics by class that can be shown: coverage, mean set size, recall.
const BY_CLASS: [&str; 3] = ["coverage", "set size", "recall"];

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let [charts, legend] =
        Layout::vertical([Constraint::Min(3), Constraint::Length(legend_height(app))]).areas(area);
    let shown: Vec<usize> =
        (0..if app.per_class() { BY_CLASS.len() } else { Metric::panels().count() }).collect();
    if let Some(panel) = app.zoom() {
        chart(frame, app, charts, panel.min(shown.len() - 1), hits);
    } else {
        // Seven charts fill two rows of four, or as much of a smaller screen as they can.
        let columns = match charts.width {
            132.. => 4,
            120.. => 3,
            _ => 2,
        }
        .min(shown.len());
        // As many rows as are readable; the first metrics matter most.
        let rows = shown.len().div_ceil(columns).min(usize::from(charts.height / 6).max(1));
        let lines = Layout::vertical(vec![Constraint::Ratio(1, rows as u32); rows]).split(charts);
        for (row, line) in lines.iter().enumerate() {
            let here: Vec<usize> = shown.iter().copied().skip(row * columns).take(columns).collect();
            let cells = Layout::horizontal(vec![Constraint::Ratio(1, columns as u32); columns]).split(*line);
            for (&metric, cell) in here.iter().zip(cells.iter()) {
                chart(frame, app, *cell, metric, hits);
            }
        }
    }
    values(frame, app, legend);
}

fn legend_height(app: &App) -> u16 {
    let lines = if app.per_class() {
        app.info().map_or(1, |info| classes(app, info).len())
    } else {
        app.spec().methods.len()
    };
    lines as u16 + 1
}

fn chart(frame: &mut Frame<'_>, app: &App, area: Rect, place: usize, hits: &mut Hits) {
    let Some((info, metric)) = app.info().zip(Metric::panels().nth(place)) else { return };
    let name = if app.per_class() {
        format!("{} by class, {}", BY_CLASS[place], app.focus().method)
    } else {
        metric.label().to_owned()
    };
    // Coverage is the first by class, too.
    let is_coverage = metric == Metric::Coverage;
    let target = 1.0 - info.spec.epsilon;
    let aim = share(target);
    let promise = match (is_coverage, info.spec.guaranteed()) {
        (true, true) => format!(", target {aim}"),
        (true, false) => format!(", target {aim}: guarantee void"),
        _ => String::new(),
    };
    let inside = panel(frame, app, area, place, &format!("{name}{promise}"), hits);
    let mut series = Vec::new();
    if app.per_class() {
        if let Some(curve) = app.history().curve(app.focus().method) {
            for class in classes(app, info) {
                let value = move |size: usize| curve.of_class(size, class).map(|values| values[place]);
                series.push(Series {
                    style: app.theme().class(class),
                    mark: app.theme().class_mark(class),
                    faint: false,
                    value: Box::new(value),
                });
            }
        }
    } else {
        for (i, &method) in info.spec.methods.iter().enumerate() {
            let Some(curve) = app.history().curve(method) else { continue };
            let style = app.theme().series(i);
            for sign in [-1.0, 1.0] {
                let bound = move |size: usize| {
                    let (lowest, highest) = metric.bounds();
                    let spread = curve.spread(size, metric)?;
                    Some((spread.mean + sign * spread.sd?).clamp(lowest, highest))
                };
                series.push(Series {
                    style: style.add_modifier(Modifier::DIM).remove_modifier(Modifier::BOLD),
                    mark: ".",
                    faint: true,
                    value: Box::new(bound),
                });
            }
        }
        for (i, &method) in info.spec.methods.iter().enumerate() {
            let Some(curve) = app.history().curve(method) else { continue };
            let mean = move |size: usize| curve.spread(size, metric).map(|spread| spread.mean);
            series.push(Series {
                style: app.theme().series(i),
                mark: app.theme().series_mark(i),
                faint: false,
                value: Box::new(mean),
            });
        }
    }
    let mut lines = Vec::new();
    if is_coverage {
        lines.push((target, app.theme().style(Role::Good)));
        if let Some((lo, hi)) = band(app).filter(|_| !app.per_class()) {
            lines.extend([(lo, app.theme().style(Role::Dim)), (hi, app.theme().style(Role::Dim))]);
        }
    }
    let smallest = info.kept().max(1);
    let plot =
        Plot { largest: info.units.len(), smallest, series, lines, cursor: Some(app.size()), limits: None };
    plot.draw(app, inside, frame.buffer_mut());
}

/// The 95 % band of one split's coverage.
fn band(app: &App) -> Option<(f64, f64)> {
    let band = coverage_band(app.spec(), app.trace()?.parts())?;
    Some((band.lo, band.hi))
}

/// The classes that are shown: as many as can be told apart, from the scroll position on.
fn classes(app: &App, info: &RunInfo) -> std::ops::Range<usize> {
    let all = info.classes.len();
    let first = app.scroll().min(all.saturating_sub(Theme::CLASSES));
    first..(first + Theme::CLASSES).min(all)
}

/// The exact values under the cursor.
fn values(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let Some(info) = app.info() else { return };
    let size = app.size();
    let wide = area.width >= 110;
    let mut lines = Vec::new();
    let names: Vec<&str> = match (app.per_class(), wide) {
        (true, _) => BY_CLASS.to_vec(),
        (false, true) => Metric::panels().map(Metric::label).collect(),
        (false, false) => Metric::panels().map(Metric::short_label).collect(),
    };
    let cell = if wide { 15 } else { 9 };
    // Beside three numbers a class has room for its name.
    let lead_width =
        if app.per_class() { usize::from(area.width).saturating_sub(3 * cell).clamp(14, 40) } else { 14 };
    let unseen = info.classes.len().saturating_sub(Theme::CLASSES);
    let lead = if app.per_class() && unseen > 0 {
        format!("at {size} (↑↓ {unseen} more)")
    } else {
        format!("at {size}")
    };
    let heading: String =
        names.iter().map(|name| format!("{:>cell$}", fit(name, cell - 1).trim_end())).collect();
    lines.push(Line::styled(format!("{}{heading}", fit(&lead, lead_width)), app.theme().style(Role::Dim)));
    if app.per_class() {
        for class in classes(app, info) {
            let name = format!("{} {}", app.theme().class_mark(class), info.classes[class]);
            let values =
                app.history().curve(app.focus().method).and_then(|curve| curve.of_class(size, class));
            let cells: String = (0..BY_CLASS.len())
                .map(|i| format!("{:>cell$}", values.map_or_else(String::new, |v| format!("{:.3}", v[i]))))
                .collect();
            lines.push(Line::from(vec![
                Span::styled(fit(&name, lead_width), app.theme().class(class)),
                Span::raw(cells),
            ]));
        }
    } else {
        for (i, &method) in info.spec.methods.iter().enumerate() {
            let curve = app.history().curve(method);
            let splits = curve.map_or(0, |curve| curve.splits(size));
            let label = format!("{} {method} ({splits})", app.theme().series_mark(i));
            let cells: String = Metric::panels()
                .map(|metric| {
                    let text = curve.and_then(|curve| curve.spread(size, metric)).map_or_else(
                        String::new,
                        |spread| match spread.sd {
                            Some(sd) if wide => format!("{:.3} ± {sd:.3}", spread.mean),
                            _ => format!("{:.3}", spread.mean),
                        },
                    );
                    format!("{text:>cell$}")
                })
                .collect();
            lines.push(Line::from(vec![
                Span::styled(fit(&label, 14), app.theme().series(i)),
                Span::raw(cells),
            ]));
        }
    }
    frame.render_widget(Paragraph::new(lines), area);
}
