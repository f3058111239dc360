//! All about one feature: its β along the path, what each class contributes, its effect by value,
//! its rank in every split, twins, distribution.

use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};
use unicode_width::UnicodeWidthStr;

use super::ranking::signed_bar;
use super::text::{clean, fit, head, number};
use crate::run::{Betas, EffectCurve, LevelCounts, RunInfo};
use crate::tui::action::Action;
use crate::tui::app::{App, plural};
use crate::tui::chart::{Chart, ReferenceLine};
use crate::tui::theme::Role;

/// The largest chart of an effect.
const CHART_WIDTH: usize = 100;
const CHART_HEIGHT: u16 = 10;

/// Draws it over the view.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, unit: usize, scroll: usize) {
    let Some(info) = app.info().filter(|info| unit < info.units.len()) else { return };
    frame.render_widget(Clear, area);
    let lines = lines(app, info, unit, usize::from(area.width.saturating_sub(2)));
    let room = usize::from(area.height.saturating_sub(2));
    let most = lines.len().saturating_sub(room);
    let hint = match most {
        0 => " (esc back, ↑↓ others)".to_owned(),
        _ => format!(" (esc, ↑↓ others, {} more)", paging(app, scroll < most)),
    };
    let room = usize::from(area.width).saturating_sub(4 + hint.width());
    let own = clean(&info.units[unit].name);
    let title = format!("{}{hint}", fit(&own, room.min(own.width())));
    let inside = super::framed(frame, app.theme(), &title, area);
    frame.render_widget(Paragraph::new(lines).scroll((scroll.min(most) as u16, 0)), inside);
}

/// The key that shows more, forward while there is more.
fn paging(app: &App, forward: bool) -> String {
    app.keymap().key_of(if forward { Action::PageDown } else { Action::PageUp })
}

/// How many lines there are to say of a feature.
pub fn length(app: &App, unit: usize) -> usize {
    app.info()
        .filter(|info| unit < info.units.len())
        .map_or(0, |info| lines(app, info, unit, 80).len())
}

fn lines(app: &App, info: &RunInfo, unit: usize, width: usize) -> Vec<Line<'static>> {
    let mut lines = whereabouts(app, info, unit);
    lines.push(Line::from(""));
    lines.extend(beta_path(app, unit, width));
    lines.extend(by_class(app, info, unit, width));
    lines.push(Line::from(""));
    lines.extend(effect(app, info, unit, width));
    lines.push(Line::from(""));
    lines.extend(ranks(app, unit, width));
    lines.push(Line::from(""));
    lines.extend(portrait(app, info, unit, width));
    lines
}

fn title(app: &App, words: impl Into<String>) -> Line<'static> {
    Line::styled(words.into(), app.theme().style(Role::Accent))
}

fn whereabouts(app: &App, info: &RunInfo, unit: usize) -> Vec<Line<'static>> {
    let own = &info.units[unit];
    let gone = app
        .trace()
        .and_then(|trace| trace.removed_at(unit))
        .and_then(|step| app.trace()?.steps().get(step).map(|step| step.size));
    let fate = match (own.kept, gone, app.trace().is_some_and(crate::analysis::Trace::finished)) {
        (true, _, _) => "kept in every model".to_owned(),
        (false, Some(size), _) => format!("removed with {size} features left"),
        (false, None, true) => "survives to the end".to_owned(),
        (false, None, false) => "not removed yet".to_owned(),
    };
    let columns = if own.columns.len() > 1 {
        format!(", {} columns removed together", own.columns.len())
    } else {
        String::new()
    };
    vec![Line::from(format!(
        "{} split {}: {fate}{columns}",
        app.focus().method,
        app.focus().split + 1
    ))]
}

/// β of this feature at every step that holds it.
fn beta_path(app: &App, unit: usize, width: usize) -> Vec<Line<'static>> {
    let Some(trace) = app.trace() else { return Vec::new() };
    let end = trace.removed_at(unit).map_or(trace.steps().len(), |step| step + 1);
    let values: Vec<(usize, f64)> = trace.steps()[..end]
        .iter()
        .enumerate()
        .filter_map(|(t, step)| match step.beta.as_ref()? {
            Betas::Whole(values) => {
                // Its place among the units present: those before it that have not gone yet.
                let gone = |&other: &usize| trace.removed_at(other).is_some_and(|step| step < t);
                let place = unit - (0..unit).filter(|other| gone(other)).count();
                values.get(place).map(|&beta| (step.size, f64::from(beta)))
            }
            Betas::Top(top) => top
                .iter()
                .find(|&&(other, _)| other as usize == unit)
                .map(|&(_, beta)| (step.size, f64::from(beta))),
        })
        .collect();
    let mut lines = vec![title(app, "β along the path")];
    let (Some(first), Some(last)) = (values.first(), values.last()) else {
        lines.push(Line::styled("not recorded at these sizes", app.theme().style(Role::Dim)));
        return lines;
    };
    let lo = values.iter().map(|&(_, beta)| beta).fold(f64::INFINITY, f64::min);
    let hi = values.iter().map(|&(_, beta)| beta).fold(f64::NEG_INFINITY, f64::max);
    let columns = values.len().min(width.saturating_sub(4));
    let bars = app.theme().bars();
    let line: Vec<Span<'static>> = (0..columns)
        .map(|column| {
            let (_, beta) = values[column * values.len() / columns];
            let level =
                if hi > lo { 1 + ((beta - lo) / (hi - lo) * 7.0).round() as usize } else { 4 };
            Span::styled(
                bars[level.min(8)],
                app.theme().style(if beta < 0.0 { Role::Negative } else { Role::Positive }),
            )
        })
        .collect();
    lines.push(Line::from(line));
    let at_first = format!("{} at {}", number(first.1), plural(first.0, "feature"));
    let words = match values.len() {
        1 => at_first,
        _ => format!(
            "{at_first} … {} at {}; from {} to {}",
            number(last.1),
            last.0,
            number(lo),
            number(hi)
        ),
    };
    lines.push(Line::styled(head(&words, width), app.theme().style(Role::Dim)));
    lines
}

/// Classes that are listed, at most.
const CLASSES: usize = 20;

/// What each class's machine contributes to β under the cursor.
fn by_class(app: &App, info: &RunInfo, unit: usize, width: usize) -> Vec<Line<'static>> {
    let mut lines = vec![title(app, format!("β at {}, by class", plural(app.size(), "feature")))];
    let here = app.inspected().filter(|_| app.inspected_here());
    let parts = here.and_then(|(_, _, inspection)| {
        inspection.units.binary_search(&unit).ok().map(|i| &inspection.by_class[i])
    });
    let Some(parts) = parts else {
        let gone = app
            .trace()
            .and_then(|trace| trace.removed_at(unit))
            .is_some_and(|step| step < app.cursor());
        lines.push(Line::styled(
            if gone { "it was removed before" } else { "computing …" },
            app.theme().style(Role::Dim),
        ));
        return lines;
    };
    let scale = parts.iter().fold(0.0_f64, |scale, part| scale.max(part.abs())) as f32;
    let bar = (width / 3).max(3);
    let line = |class: &str, part: f64| {
        let name = fit(class, width.saturating_sub(bar + 16).min(32));
        let mut spans = vec![Span::raw(format!("  {name} {:>9}  ", number(part)))];
        spans.extend(signed_bar(app, Some(part as f32), scale, bar, Style::new()));
        Line::from(spans)
    };
    // Two classes have one machine and its mirror image.
    if let [first, second] = parts[..]
        && first == second
    {
        lines.push(line("each class", first));
        return lines;
    }
    lines.extend(
        info.classes.iter().zip(parts).take(CLASSES).map(|(class, &part)| line(class, part)),
    );
    match parts.len().saturating_sub(CLASSES) {
        0 => {}
        1 => lines.push(Line::styled("  and 1 more class", app.theme().style(Role::Dim))),
        more => lines
            .push(Line::styled(format!("  and {more} more classes"), app.theme().style(Role::Dim))),
    }
    lines
}

/// Its share in the decision values, by its value, in the model under the cursor.
fn effect(app: &App, info: &RunInfo, unit: usize, width: usize) -> Vec<Line<'static>> {
    let dim = app.theme().style(Role::Dim);
    let mut lines = vec![title(
        app,
        format!(
            "effect at {}: what its value adds to the score of a class (mean 0)",
            plural(app.size(), "feature")
        ),
    )];
    let Some(curve) = app.effect_of(unit) else {
        let words = match app.plan() {
            _ if !app.present().contains(&unit) => "it was removed before",
            Some(_) => "computing …",
            None => "this needs the data file",
        };
        lines.push(Line::styled(words, dim));
        return lines;
    };
    match curve.points.first() {
        None => lines.push(Line::styled("a group of columns has no single value", dim)),
        Some(first) if first.level.is_some() => lines.extend(levels(app, info, curve, width)),
        Some(_) => lines.extend(chart(app, info, curve, width)),
    }
    lines
}

/// The classes whose scores are shown: of two, the second, since the first mirrors it.
fn shown_classes(info: &RunInfo) -> Vec<usize> {
    if info.classes.len() == 2 { vec![1] } else { (0..info.classes.len().min(8)).collect() }
}

/// A number as a curve over its values.
fn chart(app: &App, info: &RunInfo, curve: &EffectCurve, width: usize) -> Vec<Line<'static>> {
    let range = (curve.points[0].value, curve.points[curve.points.len() - 1].value);
    let of_class = |(i, class): (usize, usize)| {
        let points = curve.points.iter().map(|point| (point.value, point.score[class])).collect();
        (clean(&info.classes[class]), app.theme().series(i), app.theme().series_mark(i), points)
    };
    let zero = ReferenceLine::new(0.0, "", app.theme().style(Role::Dim));
    let curves = shown_classes(info).into_iter().enumerate().map(of_class);
    let chart = Chart::of_values(range, curves, vec![zero]);
    let area = Rect::new(0, 0, width.min(CHART_WIDTH) as u16, CHART_HEIGHT);
    let mut buffer = Buffer::empty(area);
    chart.draw(app.theme(), area, &mut buffer);
    (0..area.height).map(|y| row_of(&buffer, y)).collect()
}

/// A row of cells as a line.
fn row_of(buffer: &Buffer, y: u16) -> Line<'static> {
    let cells = (0..buffer.area.width).filter_map(|x| buffer.cell((x, y)));
    Line::from(
        cells.map(|cell| Span::styled(cell.symbol().to_owned(), cell.style())).collect::<Vec<_>>(),
    )
}

/// How many rows of each class have each level, and their share of the class.
fn level_counts(
    app: &App,
    info: &RunInfo,
    levels: &[LevelCounts],
    width: usize,
) -> Vec<Line<'static>> {
    let classes = info.classes.len().min(8);
    let cell = (width.saturating_sub(12) / classes.max(1)).clamp(11, 20);
    let name = width.saturating_sub(2 + cell * classes).clamp(8, 32);
    let cells = |text: &dyn Fn(usize) -> String| -> String {
        (0..classes)
            .map(|class| format!("{:>cell$}", fit(&text(class), cell - 1).trim_end()))
            .collect()
    };
    let heading =
        format!("  {}{}", fit("level", name), cells(&|class| info.classes[class].clone()));
    let mut lines = vec![Line::styled(head(&heading, width), app.theme().style(Role::Dim))];
    lines.extend(levels.iter().map(|level| {
        let count = |class: usize| {
            let all: usize = levels.iter().map(|level| level.rows[class]).sum();
            format!("{} {:.2}", level.rows[class], level.rows[class] as f64 / all.max(1) as f64)
        };
        Line::from(head(&format!("  {}{}", fit(&level.name, name), cells(&count)), width))
    }));
    lines
}

/// A category, level by level.
fn levels(app: &App, info: &RunInfo, curve: &EffectCurve, width: usize) -> Vec<Line<'static>> {
    let classes = shown_classes(info);
    let name = width.saturating_sub(18 + 11 * classes.len()).clamp(8, 32);
    let columns: String =
        classes.iter().map(|&class| format!(" {:>10}", fit(&info.classes[class], 10))).collect();
    let mut lines = vec![Line::styled(
        format!("  {} {:>6}{columns}", fit("level", name), "rows"),
        app.theme().style(Role::Dim),
    )];
    lines.extend(curve.points.iter().map(|point| {
        let scores: String =
            classes.iter().map(|&class| format!(" {:>10}", number(point.score[class]))).collect();
        let level = point.level.as_deref().unwrap_or_default();
        Line::from(format!("  {} {:>6}{scores}", fit(level, name), point.rows))
    }));
    lines
}

fn ranks(app: &App, unit: usize, width: usize) -> Vec<Line<'static>> {
    let words: Vec<String> = app
        .history()
        .of_method(app.focus().method)
        .map(|(_, trace)| {
            trace.ranks()[unit].map_or_else(|| "kept".to_owned(), |rank| rank.to_string())
        })
        .collect();
    let mean = app
        .derived()
        .facts
        .ranks
        .mean
        .get(unit)
        .copied()
        .flatten()
        .map_or_else(String::new, |mean| format!(", mean {mean:.1}"));
    let mut lines = vec![title(app, format!("rank in each finished split{mean}"))];
    lines.push(Line::from(fit(&words.join(" "), width)));
    lines
}

fn portrait(app: &App, info: &RunInfo, unit: usize, width: usize) -> Vec<Line<'static>> {
    let Some(portrait) = app.portrait().filter(|portrait| portrait.unit == unit) else {
        return vec![Line::styled("reading the data …", app.theme().style(Role::Dim))];
    };
    let twins: Vec<String> = portrait
        .twins
        .iter()
        .take(5)
        .map(|&(other, r)| format!("{} (r = {r:.2})", info.units[other].name))
        .collect();
    let twins = if twins.is_empty() { "none".to_owned() } else { twins.join(", ") };
    let mut lines = vec![
        title(app, "correlated features, |r| > 0.9"),
        Line::from(fit(&twins, width)),
        Line::from(""),
    ];
    let missing = if portrait.missing > 0 {
        format!(", {} missing", portrait.missing)
    } else {
        String::new()
    };
    if !portrait.levels.is_empty() {
        lines.push(title(app, format!("levels by class, rows and share of the class{missing}")));
        lines.extend(level_counts(app, info, &portrait.levels, width));
        return lines;
    }
    let (lo, hi) = portrait.range;
    let of = match info.units[unit].columns.len() {
        1 => String::new(),
        _ => format!(" of {}", clean(&portrait.column)),
    };
    lines.push(title(
        app,
        format!("values{of} by class, {} to {}{missing}", number(lo), number(hi)),
    ));
    let bars = app.theme().bars();
    for (class, name) in info.classes.iter().enumerate().take(8) {
        let most =
            portrait.histogram[class].iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let line: String = portrait.histogram[class]
            .iter()
            .map(|share| {
                bars[if *share > 0.0 { 1 + (share / most * 7.0).round() as usize } else { 0 }
                    .min(8)]
            })
            .collect();
        lines.push(Line::from(vec![
            Span::raw(format!("  {}  ", fit(name, width.saturating_sub(46).clamp(8, 32)))),
            Span::styled(line, app.theme().style(Role::Negative)),
            Span::raw(format!("  mean {}", number(portrait.means[class]))),
        ]));
    }
    lines
}
