//! Consistency: would another split agree? Selection frequency by size, rank by split, the indices by size.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::widgets::Paragraph;

use super::plot::{Plot, Series};
use super::text::fit;
use super::{Hits, panel};
use crate::analysis::{Paths, RankTable};
use crate::run::RunInfo;
use crate::tui::app::App;
use crate::tui::theme::Role;

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    match app.zoom() {
        Some(0) => return by_size(frame, app, area, hits),
        Some(1) => return by_split(frame, app, area, hits),
        Some(_) => return agreement(frame, app, area, hits),
        None => {}
    }
    let [top, bottom] = Layout::vertical([Constraint::Percentage(60), Constraint::Min(6)]).areas(area);
    if area.width < 72 {
        by_size(frame, app, top, hits);
    } else {
        let [left, right] = Layout::horizontal([Constraint::Percentage(58), Constraint::Min(20)]).areas(top);
        by_size(frame, app, left, hits);
        by_split(frame, app, right, hits);
    }
    agreement(frame, app, bottom, hits);
}

/// The ranks of the finished splits of the focused method; none before the first.
fn ranks<'a>(app: &'a App, info: &'a RunInfo) -> Option<RankTable<'a>> {
    let paths = Paths::new(app.history(), info, app.focus().method);
    (!paths.is_empty()).then(|| RankTable::new(&paths))
}

/// Features × sizes: in what share of the splits a feature survives to a size.
fn by_size(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let inside =
        panel(frame, app, area, 0, &format!("{}: share of splits that keep it", app.focus().method), hits);
    let Some(info) = app.info() else { return };
    let Some(ranks) = ranks(app, info) else { return nothing(frame, app, inside) };
    let (largest, smallest) = (info.units.len(), info.kept().max(1));
    let share = |unit: usize, column: usize, columns: usize| {
        let size = largest - column * (largest - smallest) / (columns - 1).max(1);
        ranks.frequency(unit, size)
    };
    let caption = format!("{largest} … {smallest}; {}", legend(app));
    heatmap(frame, app, info, inside, &share, usize::MAX, &caption);
}

/// Features × splits: the rank, the best brightest.
fn by_split(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let inside = panel(frame, app, area, 1, &format!("Rank by split ({}: best)", full(app)), hits);
    let Some(info) = app.info() else { return };
    let Some(table) = ranks(app, info) else { return nothing(frame, app, inside) };
    let ranks = table.splits();
    let removable = info.removable().max(1) as f64;
    let value = |unit: usize, column: usize, columns: usize| {
        let split = column * ranks.len() / columns;
        // By the logarithm, so that the best few can be told apart.
        ranks[split][unit].map_or(1.0, |rank| 1.0 - (f64::from(rank)).ln() / (removable + 1.0).ln())
    };
    heatmap(frame, app, info, inside, &value, ranks.len(), &format!("splits 1 … {}", ranks.len()));
}

fn nothing(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let words = Paragraph::new("no split has finished yet").style(app.theme().style(Role::Dim));
    frame.render_widget(words, area);
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
        format!("{} 0, {} all", if app.theme().light { "pale" } else { "dark" }, full(app))
    } else {
        format!("{}0 {}half {}all", app.theme().shade(0.0), app.theme().shade(0.5), app.theme().shade(1.0))
    }
}

/// Features by mean rank, from the scroll position on; at most `columns` columns of values.
fn heatmap(
    frame: &mut Frame<'_>,
    app: &App,
    info: &RunInfo,
    area: Rect,
    value: &dyn Fn(usize, usize, usize) -> f64,
    most: usize,
    caption: &str,
) {
    if area.width < 16 || area.height < 2 {
        return;
    }
    let name = usize::from(area.width / 3).clamp(8, 28);
    let columns = (usize::from(area.width) - name - 1).min(most.saturating_mul(2));
    // Two columns a split where there is room, so that a few splits can be seen.
    let columns = if most < columns && columns < 2 * most { most } else { columns };
    let rows = usize::from(area.height) - 1;
    let order = &app.derived().by_mean_rank;
    let first = app.scroll().min(order.len().saturating_sub(1));
    for (row, &unit) in order.iter().skip(first).take(rows).enumerate() {
        let y = area.y + row as u16;
        frame.buffer_mut().set_string(area.x, y, fit(&info.units[unit].name, name), Style::new());
        for column in 0..columns {
            let x = area.x + (name + 1 + column) as u16;
            let share = value(unit, column, columns);
            let (symbol, style) = if app.theme().half_blocks() {
                ("█", Style::new().fg(app.theme().heat(share)))
            } else {
                (app.theme().shade(share), app.theme().style(Role::Negative))
            };
            frame.buffer_mut().set_string(x, y, symbol, style);
        }
    }
    let y = area.y + area.height - 1;
    let caption = fit(caption, usize::from(area.width) - name - 1);
    frame.buffer_mut().set_string(area.x + name as u16 + 1, y, caption, app.theme().style(Role::Dim));
}

/// The indices by size, and the similarity of the methods.
fn agreement(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let size = app.size();
    let at = app
        .derived()
        .facts
        .agreement
        .iter()
        .find(|(other, _)| *other == size)
        .map(|(_, agreement)| agreement);
    let say = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
    let values = at.map_or_else(String::new, |a| {
        format!(
            ": I_J {:.2}, I_W {:.2}{}, Nogueira {}",
            a.jaccard,
            a.i_w,
            if area.width >= 100 { format!(", Kuncheva {}", say(a.kuncheva)) } else { String::new() },
            say(a.nogueira)
        )
    });
    let alike = app.derived().facts.similarity.iter().find(|(other, _)| *other == size);
    let alike = alike.map_or_else(String::new, |(_, s)| format!("; method overlap {:.2}", s.jaccard.mean));
    let inside = panel(frame, app, area, 2, &format!("Agreement at {size}{values}{alike}"), hits);
    let Some(info) = app.info() else { return };
    if app.derived().facts.agreement.is_empty() {
        return nothing(frame, app, inside);
    }
    let [plot_area, legend] = Layout::vertical([Constraint::Min(2), Constraint::Length(1)]).areas(inside);
    // Sizes fall along the list.
    let find = |size: usize| {
        app.derived()
            .facts
            .agreement
            .binary_search_by(|(other, _)| size.cmp(other))
            .ok()
            .map(|i| &app.derived().facts.agreement[i].1)
    };
    let alike = |size: usize| {
        app.derived()
            .facts
            .similarity
            .binary_search_by(|(other, _)| size.cmp(other))
            .ok()
            .map(|i| app.derived().facts.similarity[i].1.jaccard.mean)
    };
    let style = |role| app.theme().style(role);
    let series = vec![
        Series { style: style(Role::Dim), mark: "s", faint: true, value: Box::new(alike) },
        Series {
            style: style(Role::Good),
            mark: "j",
            faint: false,
            value: Box::new(move |size| find(size).map(|a| a.jaccard)),
        },
        Series {
            style: style(Role::Positive),
            mark: "w",
            faint: false,
            value: Box::new(move |size| find(size).map(|a| a.i_w)),
        },
        Series {
            style: style(Role::Negative),
            mark: "n",
            faint: false,
            value: Box::new(move |size| find(size).and_then(|a| a.nogueira)),
        },
    ];
    let plot = Plot {
        largest: info.units.len(),
        smallest: info.kept().max(1),
        series,
        lines: Vec::new(),
        cursor: Some(size),
        limits: Some((0.0, 1.0)),
    };
    plot.draw(app, plot_area, frame.buffer_mut());
    // As they are drawn.
    let line = |mark: &str| if app.theme().ascii { mark.repeat(3) } else { format!("─{mark}─") };
    let words = ratatui::text::Line::from(vec![
        ratatui::text::Span::styled(format!(" {} I_J, in all ", line("j")), style(Role::Good)),
        ratatui::text::Span::styled(format!(" {} I_W, in most ", line("w")), style(Role::Positive)),
        ratatui::text::Span::styled(format!(" {} Nogueira = Kuncheva ", line("n")), style(Role::Negative)),
        ratatui::text::Span::styled(
            format!(" {} method overlap", app.theme().glyph("··", "sss")),
            style(Role::Dim),
        ),
    ]);
    frame.render_widget(Paragraph::new(words), legend);
}
