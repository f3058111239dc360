//! Size: how small can I go? Two large charts, the exact values under the cursor with the
//! difference of the methods, and a table of the classes behind a key.

use std::fmt::Write;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::answer::difference_words;
use super::curves::{draw_metric, tabled_sizes};
use super::page::Page;
use super::text::{fit, head, share};
use super::{Hits, panel};
use crate::analysis::{Metric, Paths};
use crate::run::RunInfo;
use crate::tui::app::{App, plural};
use crate::tui::derived::Derived;
use crate::tui::theme::Role;

/// The metrics that are charted together.
const PAIRS: [[Metric; 2]; 4] = [
    [Metric::Inefficiency, Metric::Accuracy],
    [Metric::Coverage, Metric::Certainty],
    [Metric::Mistrust, Metric::Uncertainty],
    [Metric::F1Macro, Metric::Accuracy],
];

/// How many pairs there are.
pub const METRIC_PAIRS: usize = PAIRS.len();

/// The view.
pub struct SizePage;

impl Page for SizePage {
    fn refresh(&self, derived: &mut Derived, app: &App, info: &RunInfo, _paths: &Paths<'_>) {
        let at = app.cursor_size().or(derived.answer_size()).unwrap_or_else(|| app.size());
        derived.facts.refresh_comparison(app.history(), info, app.finished(), at);
    }

    fn length(&self, app: &App, info: &RunInfo) -> usize {
        if app.per_class() { info.classes.len() } else { 0 }
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, info: &RunInfo, area: Rect, hits: &mut Hits) {
        if app.per_class() {
            return classes(frame, app, info, area, hits);
        }
        let pair = PAIRS[app.metrics() % PAIRS.len()];
        let values = values(app, info, pair, usize::from(area.width));
        let [charts, below] =
            Layout::vertical([Constraint::Min(4), Constraint::Length(values.len() as u16)])
                .areas(area);
        frame.render_widget(Paragraph::new(values), below);
        if let Some(panel) = app.zoom() {
            return draw_metric(frame, app, charts, (panel.min(1), pair[panel.min(1)]), hits);
        }
        if charts.width < 72 && charts.height < 14 {
            return draw_metric(frame, app, charts, (0, pair[0]), hits);
        }
        let halves = [Constraint::Ratio(1, 2); 2];
        let [first, second] = if charts.width < 72 {
            Layout::vertical(halves).areas(charts)
        } else {
            Layout::horizontal(halves).areas(charts)
        };
        draw_metric(frame, app, first, (0, pair[0]), hits);
        draw_metric(frame, app, second, (1, pair[1]), hits);
    }

    fn text(&self, app: &App, info: &RunInfo) -> String {
        let mut text = String::new();
        if let Some(size) = app.chosen_size() {
            let _ = writeln!(text, "The answer has {}.", plural(size, "feature"));
        }
        let rate = share((1000.0 * info.no_information_rate()).round() / 1000.0);
        let _ =
            writeln!(text, "Always answering the largest class is right in {rate} of the rows.");
        let _ =
            writeln!(text, "features; method; set size; accuracy; coverage; share of empty sets");
        for size in tabled_sizes(app, info) {
            for &method in &info.spec.methods {
                let Some(curve) = app.history().curve(method) else { continue };
                let mean = |metric| {
                    curve
                        .spread(size, metric)
                        .map_or_else(|| "none".to_owned(), |own| format!("{:.3}", own.mean))
                };
                let values =
                    [Metric::Inefficiency, Metric::Accuracy, Metric::Coverage, Metric::Mistrust]
                        .map(mean);
                let _ = writeln!(text, "{size}; {method}; {}", values.join("; "));
            }
        }
        text
    }
}

/// The exact values under the cursor, and how the methods differ there.
fn values(app: &App, info: &RunInfo, pair: [Metric; 2], width: usize) -> Vec<Line<'static>> {
    let size = app.chart_size();
    let wide = width >= 130;
    let cell = if wide { 16 } else { 9 };
    const LEAD: usize = 14;
    let dim = app.theme().style(Role::Dim);
    let names = Metric::panels().map(|metric| {
        // The charts call it set size, too.
        let is_long = wide && metric != Metric::Inefficiency;
        let name = if is_long { metric.label() } else { metric.short_label() };
        format!("{:>cell$}", fit(name, cell - 1).trim_end())
    });
    let here = match app.chosen_size() {
        Some(chosen) if chosen == size => format!("at {size} (answer)"),
        _ => format!("at {size}"),
    };
    let heading: String = names.collect();
    let mut lines = vec![Line::styled(head(&format!("{}{heading}", fit(&here, LEAD)), width), dim)];
    for (i, &method) in info.spec.methods.iter().enumerate() {
        let curve = app.history().curve(method);
        let splits = curve.map_or(0, |curve| curve.splits(size));
        let label = format!("{} {method} ({splits})", app.theme().series_mark(i));
        let text = |metric: Metric| {
            let spread = curve.and_then(|curve| curve.spread(size, metric));
            let text = spread.map_or_else(String::new, |spread| match spread.sd {
                Some(sd) if wide => format!("{:.3} ± {sd:.3}", spread.mean),
                _ => format!("{:.3}", spread.mean),
            });
            format!("{text:>cell$}")
        };
        let cells: String = Metric::panels().map(text).collect();
        lines.push(Line::from(vec![
            Span::styled(fit(&label, LEAD), app.theme().series(i)),
            Span::raw(head(&cells, width.saturating_sub(LEAD))),
        ]));
    }
    if let Some(comparison) = app.derived().facts.comparison.as_ref().filter(|own| own.size == size)
    {
        let difference = |metric: &Metric| {
            let own = comparison.of(*metric)?;
            Some(format!("{} {}", metric.short_label(), difference_words(own)))
        };
        let words: Vec<String> = pair.iter().filter_map(difference).collect();
        let text = format!("{} − {} at {size}: {}", comparison.a, comparison.b, words.join("; "));
        lines.extend(super::text::wrap(&text, width).into_iter().take(3).map(Line::from));
    }
    lines
}

/// Every class at the size under the cursor, the worst covered first.
fn classes(frame: &mut Frame<'_>, app: &App, info: &RunInfo, area: Rect, hits: &mut Hits) {
    let size = app.chart_size();
    let method = app.focus().method;
    let target = 1.0 - info.spec.epsilon;
    let title = format!("{method} at {}, by class, worst covered first", plural(size, "feature"));
    let inside = panel(frame, app, area, 0, &title, hits);
    let curve = app.history().curve(method);
    let of_class = |class: usize| curve.and_then(|curve| curve.of_class(size, class));
    let mut classes: Vec<usize> = (0..info.classes.len()).collect();
    let coverage = |class: usize| of_class(class).map_or(f64::INFINITY, |values| values[0]);
    classes.sort_by(|&a, &b| coverage(a).total_cmp(&coverage(b)).then(a.cmp(&b)));
    let width = usize::from(inside.width);
    const NUMBERS: usize = 8 + 10 + 10 + 8;
    let bar = width.saturating_sub(NUMBERS + 16).min(30);
    let name = width.saturating_sub(NUMBERS + bar + 1).clamp(8, 48);
    let heading = format!(
        "{}{:>8}{:>10} {}{:>10}{:>8}",
        fit("class", name),
        "rows",
        "coverage",
        fit(&format!("target {}", share(target)), bar),
        "set size",
        "recall"
    );
    let mut lines = vec![Line::styled(heading, app.theme().style(Role::Dim))];
    let first = app.scroll().min(classes.len().saturating_sub(1));
    for &class in classes.iter().skip(first).take(usize::from(inside.height)) {
        let lead = format!("{}{:>8}", fit(&info.classes[class], name), info.class_counts[class]);
        let Some([covered, set_size, recall]) = of_class(class) else {
            lines.push(Line::raw(lead));
            continue;
        };
        let role = if covered < target { Role::Warn } else { Role::Good };
        let filled = ((covered * bar as f64).round() as usize).min(bar);
        let full = app.theme().glyph("▄", "#").repeat(filled) + &" ".repeat(bar - filled);
        lines.push(Line::from(vec![
            Span::raw(lead),
            Span::styled(format!("{covered:>10.3} {full}"), app.theme().style(role)),
            Span::raw(format!("{set_size:>10.3}{recall:>8.3}")),
        ]));
    }
    frame.render_widget(Paragraph::new(lines), inside);
}
