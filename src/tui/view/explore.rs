//! Explore: what goes now, and why?
//!
//! ```text
//! ┌ Ranking ────────────────┐┌ Goes now ─────────────────┐
//! │ step  name   β   splits ││ which, its β, runner-up   │
//! │ …                       │├ Mean β ───────────────────┤
//! │                         ││ β, β′, β″, stops          │
//! │                         │├ Survival ─────────────────┤
//! │                         ││ features × splits         │
//! └─────────────────────────┘└───────────────────────────┘
//! ```

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::plot::{Plot, Series};
use super::text::{clean, fit, number};
use super::{Hit, Hits, panel};
use crate::run::{Forced, Step};
use crate::select::{Method, gradient};
use crate::tui::app::App;
use crate::tui::theme::Role;

/// Draws the view.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    match app.zoom {
        Some(0) => return ranking(frame, app, area, hits),
        Some(1) => return derivatives(frame, app, area, hits, true),
        Some(2) => return survival(frame, app, area, hits),
        Some(_) => return what_if(frame, app, area, hits),
        None => {}
    }
    if area.width < 72 {
        let [table, now] = Layout::vertical([Constraint::Min(5), Constraint::Length(6)]).areas(area);
        ranking(frame, app, table, hits);
        goes_now(frame, app, now);
        return;
    }
    let left = if area.width >= 120 { Constraint::Percentage(48) } else { Constraint::Length(42) };
    let [table, side] = Layout::horizontal([left, Constraint::Min(20)]).areas(area);
    ranking(frame, app, table, hits);
    let curves = if area.height >= 34 { 14 } else { 5 };
    let [now, middle, rest] =
        Layout::vertical([Constraint::Length(6), Constraint::Length(curves), Constraint::Min(3)]).areas(side);
    goes_now(frame, app, now);
    derivatives(frame, app, middle, hits, curves > 6);
    if app.branch.is_some() {
        what_if(frame, app, rest, hits);
    } else {
        survival(frame, app, rest, hits);
    }
}

/// In how many finished splits of the focused method a unit survives to this size, and of how many.
fn survivors(app: &App, unit: usize, size: usize) -> (usize, usize) {
    let kept = app.info().map_or(0, |info| info.kept());
    app.history.of_method(app.focus.method).fold((0, 0), |(count, splits), (_, trace)| {
        let survives = trace.ranks()[unit].is_none_or(|rank| rank as usize + kept <= size);
        (count + usize::from(survives), splits + 1)
    })
}

fn ranking(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let size = app.size();
    let title = format!("Ranking at {size} features, by {}", app.sort.name());
    let inside = panel(frame, app, area, 0, &title, hits);
    let Some(info) = app.info() else { return };
    if inside.width < 20 || inside.height < 2 {
        return;
    }
    let width = usize::from(inside.width);
    let splits = app.history.of_method(app.focus.method).count();
    let (lead, tail) = (7, if splits > 0 { splits.to_string().len() * 2 + 3 } else { 3 });
    let bar = ((width - lead - tail) / 3).clamp(5, 40);
    let value = 8;
    let name = width.saturating_sub(lead + tail + bar + value + 2);
    let heading = format!(
        "{:<lead$}{}  {:>value$}{}{:>tail$}",
        "turn",
        fit("feature", name),
        "β ",
        fit("−      +", bar),
        "kept"
    );
    let rows = &app.derived.rows;
    let height = usize::from(inside.height) - 1;
    let selection = app.selection();
    let at = selection.and_then(|unit| rows.iter().position(|&row| row == unit)).unwrap_or(0);
    let first = at.saturating_sub(height / 2).min(rows.len().saturating_sub(height));
    let mut lines = vec![Line::styled(heading, app.theme.style(Role::Dim))];
    let going: &[usize] = app.step().map_or(&[], |step| &step.removed);
    let runner_up = app.step().and_then(|step| step.runner_up);
    for (i, &unit) in rows.iter().enumerate().skip(first).take(height) {
        let row = Rect { y: inside.y + 1 + (i - first) as u16, height: 1, ..inside };
        hits.push((row, Hit::Unit(unit)));
        let gone = app.trace().and_then(|trace| trace.removed_at(unit)).filter(|&step| step < app.cursor);
        let beta = app.derived.beta.get(unit).copied().flatten().filter(|_| gone.is_none());
        let (turn, role) = match gone {
            Some(step) => (format!("gone {}", step + 1), Role::Dim),
            None if going.contains(&unit) => (app.theme.glyph("▶ goes", "> goes").to_owned(), Role::Bad),
            None if runner_up == Some(unit) => ("next".to_owned(), Role::Warn),
            None if info.units[unit].kept => ("kept".to_owned(), Role::Good),
            None => (String::new(), Role::Text),
        };
        let (count, of) = survivors(app, unit, size);
        let mut style = if gone.is_some() { app.theme.style(Role::Dim) } else { Style::new() };
        if Some(unit) == selection && app.selected.is_some() {
            style = style.patch(app.theme.selected());
        }
        let mut spans = vec![
            Span::styled(fit(&turn, lead), app.theme.style(role).patch(style)),
            Span::styled(fit(&info.units[unit].name, name), style),
            Span::styled(
                format!("  {:>value$}", beta.map_or_else(String::new, |beta| number(f64::from(beta)))),
                style,
            ),
        ];
        spans.extend(signed_bar(app, beta, bar));
        let survives = if of > 0 { format!("{count}/{of}") } else { String::new() };
        spans.push(Span::styled(format!("{survives:>tail$}"), style));
        lines.push(Line::from(spans));
    }
    frame.render_widget(Paragraph::new(lines), inside);
}

/// β as a bar: blue to the left of the axis below zero, orange to the right above.
fn signed_bar(app: &App, beta: Option<f32>, width: usize) -> [Span<'static>; 4] {
    let half = width.saturating_sub(2) / 2;
    let rest = width.saturating_sub(2 * half + 1);
    let axis = app.theme.glyph("│", "|");
    let scale = app.derived.beta_scale.max(f32::MIN_POSITIVE);
    let length = beta.map_or(0, |beta| ((beta.abs() / scale * half as f32).round() as usize).min(half));
    let full = |glyph: &str| glyph.repeat(length);
    let (left, right) = match beta {
        Some(beta) if beta < 0.0 => (full(app.theme.glyph("▄", "-")), String::new()),
        Some(_) => (String::new(), full(app.theme.glyph("▄", "+"))),
        None => (String::new(), String::new()),
    };
    let right_pad = half - right.chars().count() + rest;
    [
        Span::styled(format!("{left:>half$}"), app.theme.style(Role::Negative)),
        Span::styled(axis, app.theme.style(Role::Dim)),
        Span::styled(right, app.theme.style(Role::Positive)),
        Span::raw(" ".repeat(right_pad)),
    ]
}

/// The feature that goes, why, and how close it was.
fn goes_now(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let block = super::framed(app, "Goes now");
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let (Some(info), Some(step)) = (app.info(), app.step()) else {
        frame.render_widget(Paragraph::new("this split has not started yet"), inside);
        return;
    };
    let width = usize::from(inside.width);
    let name = |unit: usize| clean(&info.units[unit].name);
    let criterion = if app.focus.method == Method::Rfe { "Σw²" } else { "β" };
    let mut lines = Vec::new();
    match step.removed.as_slice() {
        [] => lines.push(Line::from(fit(
            &format!("nothing: the path ends with {} left", plural(step.size, "feature")),
            width,
        ))),
        [first, others @ ..] => {
            let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            lines.push(Line::styled(
                fit(&format!("{}{more}", name(*first)), width),
                app.theme.style(Role::Bad),
            ));
            let why =
                if app.focus.method == Method::Rfe { "weighs least" } else { "causes most non-conformity" };
            let value = step.criterion.map_or_else(String::new, number);
            lines.push(Line::from(fit(&format!("{criterion} = {value}: it {why}"), width)));
        }
    }
    if let (Some(next), Some(margin)) = (step.runner_up, step.margin) {
        lines.push(Line::from(fit(&format!("next: {}, {} away", name(next), number(margin)), width)));
    }
    lines.push(status_line(app, step, width));
    frame.render_widget(Paragraph::new(lines), inside);
}

fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn status_line(app: &App, step: &Step, width: usize) -> Line<'static> {
    if !step.converged {
        return Line::styled(fit("the solver did not converge here", width), app.theme.style(Role::Bad));
    }
    let metrics = step.tally.metrics();
    let text = format!(
        "cov {:.2}  sets {:.2}  acc {:.2} (this split)",
        metrics.coverage, metrics.inefficiency, metrics.accuracy
    );
    Line::styled(fit(&text, width), app.theme.style(Role::Dim))
}

/// Where the knee and the β rule stop on the focused path.
fn stops(app: &App) -> (Option<usize>, Option<usize>) {
    let of_method = app.derived.stops.iter().find(|stops| stops.method == app.focus.method);
    let split =
        of_method.and_then(|stops| stops.splits.iter().find(|(split, _, _)| *split == app.focus.split));
    split.map_or((None, None), |&(_, knee, beta)| (knee, beta))
}

/// Mean β, β′ and β″: sparklines, or curves when there is room.
fn derivatives(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits, curves: bool) {
    let (knee, beta) = stops(app);
    let say = |size: Option<usize>| size.map_or_else(|| "–".to_owned(), |size| size.to_string());
    let title = format!("Mean β; knee stops at {}, β rule at {}", say(knee), say(beta));
    let inside = panel(frame, app, area, 1, &title, hits);
    let Some(trace) = app.trace().filter(|trace| !trace.steps().is_empty()) else {
        frame.render_widget(Paragraph::new("nothing yet"), inside);
        return;
    };
    let means: Vec<f64> = trace.steps().iter().map(|step| step.beta_mean).collect();
    let first = gradient(&means);
    let second = gradient(&first);
    if curves && inside.height >= 9 {
        let thirds: [Rect; 3] = Layout::vertical([Constraint::Ratio(1, 3); 3]).areas(inside);
        let sizes: Vec<usize> = trace.steps().iter().map(|step| step.size).collect();
        let (largest, smallest) = (sizes[0], sizes[sizes.len() - 1]);
        let at = |size: usize| {
            sizes.binary_search_by(|other| size.cmp(other)).unwrap_or_else(|i| i.min(sizes.len() - 1))
        };
        for (area, (label, values)) in
            thirds.into_iter().zip([("mean β", &means), ("β′", &first), ("β″", &second)])
        {
            let curve = |size: usize| values.get(at(size)).copied();
            let threshold = |size: usize| {
                trace
                    .steps()
                    .get(at(size))
                    .and_then(|step| step.stop)
                    .map(|stop| stop.threshold * app.rule.sigma / app.spec.beta_rule.sigma)
            };
            let mut series =
                vec![Series { style: app.theme.series(0), mark: "*", faint: false, value: Box::new(curve) }];
            if label == "β″" {
                series.insert(
                    0,
                    Series {
                        style: app.theme.style(Role::Bad),
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
                app.theme.style(Role::Accent),
            );
            for (size, mark) in [(knee, "K"), (beta, "B")] {
                let Some(size) = size.filter(|size| (smallest..=largest).contains(size)) else { continue };
                let room = usize::from(area.width.saturating_sub(8));
                let x = area.x + 7 + ((largest - size) * room / (largest - smallest).max(1)) as u16;
                if area.height > 1 && x < area.right() {
                    frame.buffer_mut().set_string(
                        x,
                        area.y + area.height - 2,
                        mark,
                        app.theme.style(Role::Warn),
                    );
                }
            }
        }
        return;
    }
    let width = usize::from(inside.width).saturating_sub(18);
    let mut lines = Vec::new();
    for (label, values) in [("mean β", &means), ("β′", &first), ("β″", &second)] {
        let here = values.get(app.cursor).copied().unwrap_or(0.0);
        let mut spans = vec![
            Span::styled(fit(label, 8), app.theme.style(Role::Accent)),
            Span::raw(format!("{:>8}  ", number(here))),
        ];
        spans.extend(sparkline(app, values, width, app.cursor, [knee, beta]));
        lines.push(Line::from(spans));
    }
    if let Some(stop) = app.step().and_then(|step| step.stop).filter(|_| inside.height > 3) {
        let threshold = stop.threshold * app.rule.sigma / app.spec.beta_rule.sigma;
        let fired = if stop.statistic < threshold { "fires" } else { "quiet" };
        let words = format!("β rule: {} against {}: {fired}", number(stop.statistic), number(threshold));
        lines.push(Line::styled(fit(&words, usize::from(inside.width)), app.theme.style(Role::Dim)));
    }
    frame.render_widget(Paragraph::new(lines), inside);
}

/// A signed series as one row of bars; the cursor reversed, the stops underlined.
fn sparkline(
    app: &App,
    values: &[f64],
    width: usize,
    cursor: usize,
    stops: [Option<usize>; 2],
) -> Vec<Span<'static>> {
    if values.is_empty() || width == 0 {
        return Vec::new();
    }
    let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let bars = app.theme.bars();
    let columns = width.min(values.len());
    let sizes = app.trace().map_or(&[][..], |trace| trace.steps());
    (0..columns)
        .map(|column| {
            let from = column * values.len() / columns;
            let to = ((column + 1) * values.len() / columns).max(from + 1);
            let value = values[from..to].iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let level = if hi > lo { 1 + ((value - lo) / (hi - lo) * 7.0).round() as usize } else { 4 };
            let mut style = app.theme.series(0);
            let stop = sizes
                .get(from..to.min(sizes.len()))
                .is_some_and(|steps| steps.iter().any(|step| stops.contains(&Some(step.size))));
            if stop {
                style = app.theme.style(Role::Warn).add_modifier(Modifier::UNDERLINED);
            }
            if (from..to).contains(&cursor) {
                style = style.add_modifier(Modifier::REVERSED);
            }
            Span::styled(bars[level.min(8)], style)
        })
        .collect()
}

/// Features × splits: which splits still hold a feature at this size.
fn survival(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let size = app.size();
    let inside = panel(frame, app, area, 2, &format!("Survival to {size} features, by split"), hits);
    let Some(info) = app.info() else { return };
    let ranks: Vec<&[Option<u32>]> =
        app.history.of_method(app.focus.method).map(|(_, trace)| trace.ranks()).collect();
    if ranks.is_empty() {
        frame.render_widget(Paragraph::new("no split has finished yet"), inside);
        return;
    }
    let width = usize::from(inside.width);
    let cells = ranks.len().min(width.saturating_sub(14));
    let name = width.saturating_sub(cells + 1).min(30);
    let kept = info.kept();
    let (held, gone) = (app.theme.glyph("■", "#"), app.theme.glyph("·", "."));
    let lines: Vec<Line<'static>> = app
        .derived
        .by_mean_rank
        .iter()
        .take(usize::from(inside.height))
        .map(|&unit| {
            let mut spans = vec![Span::raw(fit(&info.units[unit].name, name)), Span::raw(" ")];
            for ranks in ranks.iter().take(cells) {
                let survives = ranks[unit].is_none_or(|rank| rank as usize + kept <= size);
                let style = app.theme.style(if survives { Role::Negative } else { Role::Dim });
                spans.push(Span::styled(if survives { held } else { gone }, style));
            }
            Line::from(spans)
        })
        .collect();
    frame.render_widget(Paragraph::new(lines), inside);
}

/// The branch beside the main path.
fn what_if(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let inside = panel(frame, app, area, 3, "What if", hits);
    let (Some(info), Some(branch), Some(trace)) = (app.info(), &app.branch, app.trace()) else {
        let words = "select a feature; d lets it go now, p keeps it to the end";
        frame.render_widget(Paragraph::new(words).wrap(ratatui::widgets::Wrap { trim: true }), inside);
        return;
    };
    let width = usize::from(inside.width);
    let name = |unit: usize| clean(&info.units[unit].name);
    let done = match branch.forced {
        Forced::Removed(unit) => format!("{} goes at {} features instead", name(unit), branch.from),
        Forced::Kept(unit) => format!("{} is kept from {} features on", name(unit), branch.from),
    };
    let column = width.saturating_sub(34) / 2;
    let mut lines = vec![
        Line::styled(fit(&done, width), app.theme.style(Role::Warn)),
        Line::styled(
            format!(
                "{:>5}  {}  {}  {:>12}  {:>9}",
                "left",
                fit("main path", column),
                fit("branch", column),
                "set size",
                "accuracy"
            ),
            app.theme.style(Role::Dim),
        ),
    ];
    let start = branch.steps.iter().position(|step| step.size <= app.size()).unwrap_or(0);
    for step in branch.steps.iter().skip(start).take(usize::from(inside.height).saturating_sub(2)) {
        let main = trace.at_size(step.size);
        let goes = |unit: Option<usize>| fit(&unit.map_or_else(|| "end".to_owned(), name), column);
        let metrics = main.map(|main| main.tally.metrics());
        let pair = |main: Option<f64>, other: f64| {
            main.map_or_else(|| format!("–|{other:.2}"), |main| format!("{main:.2}|{other:.2}"))
        };
        lines.push(Line::from(format!(
            "{:>5}  {}  {}  {:>12}  {:>9}",
            step.size,
            main.map_or_else(|| fit("not yet", column), |main| goes(main.removed.first().copied())),
            goes(step.removed),
            pair(metrics.map(|m| m.inefficiency), step.metrics.inefficiency),
            pair(metrics.map(|m| m.accuracy), step.metrics.accuracy),
        )));
    }
    frame.render_widget(Paragraph::new(lines), inside);
}

/// Where the cursor is in the focused path; can be clicked.
pub fn timeline(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let Some(info) = app.info() else { return };
    let total = info.units.len().max(1);
    let steps = app.steps();
    let left = format!(" {total} ");
    let right = format!(" {} ", info.kept().max(1));
    let width = usize::from(area.width).saturating_sub(left.len() + right.len());
    if width < 4 || steps == 0 {
        return;
    }
    // A finished path fills the line; a growing one is drawn to the scale of its size.
    let finished = app.trace().is_some_and(crate::history::Trace::finished);
    let span = if finished { steps } else { total.max(steps) };
    let column = |step: usize| step * (width - 1) / (span - 1).max(1);
    let mut spans = vec![Span::styled(left.clone(), app.theme.style(Role::Dim))];
    let reached = column(steps - 1);
    let at = column(app.cursor);
    for x in 0..width {
        let (glyph, role) = if x == at {
            (app.theme.glyph("◆", "@"), Role::Cursor)
        } else if x <= reached {
            (app.theme.glyph("━", "="), if x < at { Role::Negative } else { Role::Dim })
        } else {
            (app.theme.glyph("┄", "."), Role::Dim)
        };
        let step = x * (span - 1) / (width - 1).max(1);
        if x <= reached {
            hits.push((Rect { x: area.x + (left.len() + x) as u16, width: 1, ..area }, Hit::Step(step)));
        }
        spans.push(Span::styled(glyph, app.theme.style(role)));
    }
    spans.push(Span::styled(right, app.theme.style(Role::Dim)));
    frame.render_widget(Paragraph::new(Line::from(spans)), area);
}
