//! Stability: would another split agree? Selection frequency by size, rank by split, Nogueira's
//! index by size, and where each stopping rule stops. k and ψ slide.

use std::fmt::Write;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::curves::{draw_chart, drawn_sizes, tabled_sizes};
use super::page::Page;
use super::text::{fit, head};
use super::{Hit, Hits, panel};
use crate::analysis::{Paths, RankTable, Stability, Stops};
use crate::evaluate::Agreement;
use crate::run::RunInfo;
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::chart::{AxisScale, Chart, ChartCurve, ReferenceLine};
use crate::tui::derived::Derived;
use crate::tui::theme::Role;

/// The view.
pub struct StabilityPage;

impl Page for StabilityPage {
    fn refresh(&self, derived: &mut Derived, app: &App, _info: &RunInfo, paths: &Paths<'_>) {
        derived.facts.refresh_stops(paths, app.finished(), app.rule());
        derived.facts.refresh_agreement(app.history(), paths, app.finished());
    }

    fn length(&self, _app: &App, info: &RunInfo) -> usize {
        info.units.len()
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, _info: &RunInfo, area: Rect, hits: &mut Hits) {
        match app.zoom() {
            Some(0) => return by_size(frame, app, area, hits),
            Some(1) => return by_split(frame, app, area, hits),
            Some(2) => return agreement(frame, app, area, hits),
            Some(_) => return stops(frame, app, area, hits),
            None => {}
        }
        let halves = [Constraint::Ratio(1, 2); 2];
        if area.width < 72 {
            let [top, bottom] = Layout::vertical(halves).areas(area);
            by_size(frame, app, top, hits);
            return agreement(frame, app, bottom, hits);
        }
        let [top, bottom] =
            Layout::vertical([Constraint::Percentage(52), Constraint::Min(9)]).areas(area);
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(58), Constraint::Min(20)]).areas(top);
        by_size(frame, app, left, hits);
        by_split(frame, app, right, hits);
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(58), Constraint::Min(20)]).areas(bottom);
        agreement(frame, app, left, hits);
        stops(frame, app, right, hits);
    }

    fn text(&self, app: &App, info: &RunInfo) -> String {
        let mut text = String::new();
        let agreement = &app.derived().facts.agreement;
        let _ = writeln!(text, "features; stability; verdict; 95 % interval");
        for size in tabled_sizes(app, info) {
            let found = agreement.binary_search_by(|(other, _)| size.cmp(other)).ok();
            let Some(own) = found.and_then(|at| Stability::new(&agreement[at].1)) else { continue };
            let verdict = own.band.map_or("none", |band| band.word());
            let interval = own
                .interval
                .map_or_else(|| "none".to_owned(), |(lo, hi)| format!("{lo:.2} to {hi:.2}"));
            let _ = writeln!(text, "{size}; {:.2}; {verdict}; {interval}", own.value);
        }
        let stops = &app.derived().facts.stops;
        for (entry, size) in stops.rules.iter().zip(&stops.sizes) {
            let median =
                size.size.map_or_else(|| "never stops".to_owned(), |size| format!("median {size}"));
            let _ = writeln!(
                text,
                "{}: {median}, stops on {} of {} splits.",
                entry.label,
                size.fired,
                stops.splits.len()
            );
        }
        text
    }
}

/// The ranks of the finished splits of the focused method; none before the first.
fn ranks<'a>(app: &'a App, info: &'a RunInfo) -> Option<RankTable<'a>> {
    let paths = Paths::new(app.history(), info, app.focus().method);
    (!paths.is_empty()).then(|| RankTable::new(&paths))
}

fn nothing(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let words = Paragraph::new("no split has finished yet").style(app.theme().style(Role::Dim));
    frame.render_widget(words, area);
}

/// Features × sizes: in what share of the splits a feature survives to a size.
fn by_size(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let title = format!("{}: share of splits that keep it ({})", app.focus().method, legend(app));
    let inside = panel(frame, app, area, 0, &title, hits);
    let Some(info) = app.info() else { return };
    let Some(ranks) = ranks(app, info) else { return nothing(frame, app, inside) };
    if inside.width < 20 || inside.height < 4 {
        return;
    }
    let axis = app.axis();
    let name = name_width(inside);
    let map = Rect {
        x: inside.x + name + 2,
        width: inside.width - name - 3,
        height: inside.height - 2,
        ..inside
    };
    let share =
        |unit: usize, column: u16| ranks.frequency(unit, axis.size_of_cell(column, map.width));
    heatmap(frame, app, info, inside.x, map, &share, hits);
    axis.draw(app.theme(), map, Some(app.chart_size()), app.chosen_size(), frame.buffer_mut());
    hits.extend((0..map.width).map(|column| {
        let size = axis.size_of_cell(column, map.width);
        (Rect { x: map.x + column, width: 1, ..map }, Hit::Size(size))
    }));
}

/// Cells for the names beside a heatmap.
fn name_width(inside: Rect) -> u16 {
    (inside.width / 3).clamp(8, 28)
}

/// Features × splits: the rank, the best brightest.
fn by_split(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let title = format!("Rank by split ({}: best)", full(app));
    let inside = panel(frame, app, area, 1, &title, hits);
    let Some(info) = app.info() else { return };
    let Some(table) = ranks(app, info) else { return nothing(frame, app, inside) };
    if inside.width < 16 || inside.height < 3 {
        return;
    }
    let ranks = table.splits();
    let removable = info.removable().max(1) as f64;
    let name = name_width(inside);
    let room = inside.width - name - 1;
    // As many cells per split as there is room for; beyond that, several splits per cell.
    let splits = u16::try_from(ranks.len()).unwrap_or(u16::MAX);
    let width = if splits <= room { splits * (room / splits).min(4) } else { room };
    let map = Rect { x: inside.x + name + 1, width, height: inside.height - 1, ..inside };
    let value = |unit: usize, column: u16| {
        let split = usize::from(column) * ranks.len() / usize::from(width);
        // By the logarithm, so that the best few can be told apart.
        ranks[split][unit].map_or(1.0, |rank| 1.0 - f64::from(rank).ln() / (removable + 1.0).ln())
    };
    heatmap(frame, app, info, inside.x, map, &value, hits);
    let caption = fit(&format!("splits 1 … {}", ranks.len()), usize::from(room));
    frame.buffer_mut().set_string(
        map.x,
        inside.bottom() - 1,
        caption,
        app.theme().style(Role::Dim),
    );
}

/// What a full cell of a heatmap looks like.
fn full(app: &App) -> &'static str {
    match (app.theme().half_blocks(), app.theme().light) {
        (true, true) => "dark",
        (true, false) => "bright",
        (false, _) => app.theme().shade(1.0),
    }
}

fn legend(app: &App) -> String {
    if app.theme().half_blocks() {
        format!("{}: all", full(app))
    } else {
        format!("{}half {}all", app.theme().shade(0.5), app.theme().shade(1.0))
    }
}

/// Features by mean rank from the scroll position on, their names at `left`, a cell of the map for
/// each column.
fn heatmap(
    frame: &mut Frame<'_>,
    app: &App,
    info: &RunInfo,
    left: u16,
    map: Rect,
    value: &dyn Fn(usize, u16) -> f64,
    hits: &mut Hits,
) {
    let order = &app.derived().by_mean_rank;
    let first = app.scroll().min(order.len().saturating_sub(1));
    let name = usize::from(map.x - left).saturating_sub(1);
    for (row, &unit) in order.iter().skip(first).take(usize::from(map.height)).enumerate() {
        let y = map.y + row as u16;
        let style =
            if app.selected() == Some(unit) { app.theme().selected() } else { Style::new() };
        frame.buffer_mut().set_string(left, y, fit(&info.units[unit].name, name), style);
        hits.push((Rect { x: left, y, width: name as u16, height: 1 }, Hit::Unit(unit)));
        for column in 0..map.width {
            let share = value(unit, column);
            let (symbol, style) = if app.theme().half_blocks() {
                ("█", Style::new().fg(app.theme().heat(share)))
            } else {
                (app.theme().shade(share), app.theme().style(Role::Negative))
            };
            frame.buffer_mut().set_string(map.x + column, y, symbol, style);
        }
    }
}

/// An index of agreement: its label, mark, colour and value.
type Index = (&'static str, &'static str, Role, fn(&Agreement) -> Option<f64>);

/// Indices beside Nogueira's.
const INDICES: [Index; 3] = [
    ("I_J in all", "j", Role::Good, |a| Some(a.jaccard)),
    ("I_W in most", "w", Role::Positive, |a| Some(a.i_w)),
    ("Kuncheva", "k", Role::Cursor, |a| a.kuncheva),
];

/// Nogueira's stability by size with its interval and the bands of the verdict; behind a key the
/// other indices.
fn agreement(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let size = app.chart_size();
    let facts = &app.derived().facts;
    let here =
        facts.agreement.iter().find(|(other, _)| *other == size).map(|(_, agreement)| agreement);
    let title = here.map_or_else(
        || format!("Stability by size (Nogueira); {} of the cursor: none", size),
        |here| {
            let Some(own) = Stability::new(here) else {
                return format!("Stability at {size}: not defined");
            };
            let others = if app.shows_indices() {
                format!("; I_J {:.2}, I_W {:.2}", here.jaccard, here.i_w)
            } else {
                String::new()
            };
            format!("Stability at {size}: {}{others}", own.words("splits"))
        },
    );
    let overlap = facts.similarity.iter().find(|(other, _)| *other == size);
    let overlap = overlap
        .filter(|_| app.shows_indices())
        .map_or_else(String::new, |(_, own)| format!("; method overlap {:.2}", own.jaccard.mean));
    let inside = panel(frame, app, area, 2, &format!("{title}{overlap}"), hits);
    if facts.agreement.is_empty() {
        return nothing(frame, app, inside);
    }
    let axis = app.axis();
    let falling: Vec<usize> = facts.agreement.iter().map(|(size, _)| *size).collect();
    let sizes = drawn_sizes(&axis, &falling, inside.width);
    // Sizes fall along the list.
    let find = |size: usize| {
        let at = facts.agreement.binary_search_by(|(other, _)| size.cmp(other)).ok()?;
        Some(&facts.agreement[at].1)
    };
    let points = |value: fn(&Agreement) -> Option<f64>| -> Vec<(usize, f64)> {
        sizes.iter().filter_map(|&size| Some((size, value(find(size)?)?))).collect()
    };
    let band = sizes.iter().filter_map(|&size| {
        let at = find(size)?;
        Some((size, (at.nogueira_lo?.max(0.0), at.nogueira_hi?.min(1.0))))
    });
    let mut curves = Vec::new();
    if app.shows_indices() {
        for (label, mark, role, value) in INDICES {
            curves.push(ChartCurve::line(label, app.theme().style(role), mark, points(value)));
        }
        let alike = |size: usize| {
            let at = facts.similarity.binary_search_by(|(other, _)| size.cmp(other)).ok()?;
            Some((size, facts.similarity[at].1.jaccard.mean))
        };
        let points: Vec<(usize, f64)> = sizes.iter().filter_map(|&size| alike(size)).collect();
        if !points.is_empty() {
            let style = app.theme().style(Role::Dim);
            curves.push(ChartCurve::line("methods", style, "m", points));
        }
    }
    curves.push(ChartCurve {
        label: if app.shows_indices() { "Nogueira".to_owned() } else { String::new() },
        style: app.theme().series(0),
        mark: "n",
        points: points(|a| a.nogueira),
        band: band.collect(),
    });
    let line = |value, label| ReferenceLine::new(value, label, app.theme().style(Role::Dim));
    let references = vec![line(0.75, "good above"), line(0.4, "poor below"), line(0.0, "chance")];
    let chart = Chart {
        axis,
        curves,
        references,
        cursor: Some(size),
        chosen: app.chosen_size(),
        bounds: (0.0, 1.0),
        across: None,
    };
    draw_chart(frame, app, inside, &chart, hits);
}

/// The colour of a rule, by its place in the list.
fn role(rule: usize) -> Role {
    [Role::Negative, Role::Positive, Role::Good, Role::Warn][rule % 4]
}

/// How often each size is chosen by each rule, with k and ψ of the β rule.
fn stops(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let inside = panel(frame, app, area, 3, "Where each rule stops", hits);
    let Some(info) = app.info() else { return };
    let found: &Stops = &app.derived().facts.stops;
    if found.splits.is_empty() {
        return nothing(frame, app, inside);
    }
    let width = usize::from(inside.width);
    let mut lines = vec![sliders(app, info, width)];
    lines.extend(sizes(app, found, width));
    let room = usize::from(inside.height).saturating_sub(lines.len());
    lines.extend(histogram(app, info, found, room, width));
    frame.render_widget(Paragraph::new(lines), inside);
}

/// k and ψ, and the keys that slide them.
fn sliders(app: &App, info: &RunInfo, width: usize) -> Line<'static> {
    let accent = app.theme().style(Role::Accent);
    let key = |action| app.keymap().key_of(action);
    let (down, up) = (key(Action::SigmaDown), key(Action::SigmaUp));
    let (narrower, wider) = (key(Action::WindowDown), key(Action::WindowUp));
    let psi = app.rule().psi(info.units.len());
    let lead = if width >= 44 { "β rule: k = " } else { "k = " };
    Line::from(vec![
        Span::raw(lead),
        Span::styled(format!("{}", app.rule().sigma), accent),
        Span::raw(format!(" ({down} {up})  ψ = ")),
        Span::styled(format!("{psi}"), accent),
        Span::raw(format!(" ({narrower} {wider})")),
    ])
}

/// The size of each rule: the median over the splits on which it fires, or one size from all
/// splits.
fn sizes(app: &App, stops: &Stops, width: usize) -> Vec<Line<'static>> {
    let splits = stops.splits.len();
    let mut lines = Vec::new();
    for (i, (entry, size)) in stops.rules.iter().zip(&stops.sizes).enumerate() {
        let number = size.size.map_or_else(|| "never".to_owned(), |size| format!("median {size}"));
        let silent = match splits - size.fired {
            0 => String::new(),
            silent if width < 50 => format!(", none on {silent}/{splits}"),
            silent => format!(", no stop on {silent} of {splits} splits"),
        };
        let text = format!("{} {}: {number}{silent}", entry.letter, entry.label);
        lines.push(Line::styled(head(&text, width), app.theme().style(role(i))));
    }
    for (entry, size) in app.derived().facts.of_curves.iter() {
        let number = size.map_or_else(|| "none".to_owned(), |size| size.to_string());
        let from = if width < 40 { "all splits" } else { "all splits' test rows" };
        lines.push(Line::raw(head(&format!("{}: {number}, from {from}", entry.symbol), width)));
    }
    lines
}

/// Bins of sizes, at most so many: single sizes if they fit, else equal on the axis. Each is
/// from–to.
fn bins(smallest: usize, largest: usize, most: usize, scale: AxisScale) -> Vec<(usize, usize)> {
    let most = most.max(1);
    if largest - smallest < most {
        return (smallest..=largest).map(|size| (size, size)).collect();
    }
    let low = smallest as f64;
    let high = largest as f64 + 1.0;
    let mut edges: Vec<usize> = (0..=most)
        .map(|i| {
            let share = i as f64 / most as f64;
            match scale {
                AxisScale::Linear => (low + share * (high - low)).round() as usize,
                AxisScale::Log => (low * (high / low).powf(share)).round() as usize,
            }
        })
        .collect();
    edges.dedup();
    edges.windows(2).map(|edge| (edge[0], edge[1] - 1)).collect()
}

fn histogram(
    app: &App,
    info: &RunInfo,
    stops: &Stops,
    rows: usize,
    width: usize,
) -> Vec<Line<'static>> {
    if rows == 0 {
        return Vec::new();
    }
    let largest = info.units.len();
    let smallest = info.kept().max(1);
    let bins = bins(smallest, largest, rows, app.scale());
    let label = |&(from, to): &(usize, usize)| {
        if from == to { from.to_string() } else { format!("{from}–{to}") }
    };
    let lead = bins.iter().map(|bin| label(bin).chars().count()).max().unwrap_or(1);
    let width = width.saturating_sub(lead + 1);
    let count = |rule: usize, &(from, to): &(usize, usize)| {
        let own = stops.splits.iter().filter_map(|split| split.sizes[rule]);
        own.filter(|size| (from..=to).contains(size)).count()
    };
    let counts: Vec<Vec<usize>> = bins
        .iter()
        .map(|bin| (0..stops.rules.len()).map(|rule| count(rule, bin)).collect())
        .collect();
    // One letter per split while there is room; rounded so that one split is still seen.
    let most = counts.iter().map(|counts| counts.iter().sum()).max().unwrap_or(0).max(1);
    let per_letter = most.div_ceil(width.saturating_sub(stops.rules.len()).max(1));
    let chosen = app.chosen_size();
    let row = |(bin, counts): (&(usize, usize), &Vec<usize>)| {
        let holds = chosen.is_some_and(|size| (bin.0..=bin.1).contains(&size));
        let style = app.theme().style(if holds { Role::Good } else { Role::Dim });
        let mut spans = vec![Span::styled(format!("{:>lead$} ", label(bin)), style)];
        for (rule, (entry, &count)) in stops.rules.iter().zip(counts).enumerate() {
            let letters = entry.letter.repeat(count.div_ceil(per_letter));
            spans.push(Span::styled(letters, app.theme().style(role(rule))));
        }
        Line::from(spans)
    };
    bins.iter().zip(&counts).map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_every_size_once_and_grow_on_a_log_axis() {
        for scale in [AxisScale::Linear, AxisScale::Log] {
            for (smallest, largest, most) in
                [(1, 6830, 8), (3, 500, 12), (1, 13, 20), (1, 1, 4), (1, 40, 1)]
            {
                let bins = bins(smallest, largest, most, scale);
                assert!(bins.len() <= most.max(1), "{bins:?}");
                assert_eq!((bins[0].0, bins[bins.len() - 1].1), (smallest, largest), "{bins:?}");
                assert!(bins.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{bins:?}");
            }
        }
        let log = bins(1, 6830, 8, AxisScale::Log);
        assert!(log[0].1 < 5 && log[7].1 - log[7].0 > 3000, "{log:?}");
    }
}
