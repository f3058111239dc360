//! The ranking as a table: the step that removes a feature, the score that decides, in how many
//! splits it survives to this size, its mean rank and whether it is on my list. A click on a
//! heading sorts.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::answer::twins;
use super::text::{fit, number};
use super::{Hit, Hits, panel};
use crate::analysis::{Paths, RankTable};
use crate::run::{Betas, RunInfo};
use crate::select::Method;
use crate::tui::app::{App, plural};
use crate::tui::table::RankingColumn;
use crate::tui::theme::Role;

/// The score that decides in a method.
pub fn score_name(method: Method) -> &'static str {
    if method.by_weights() { "Σw²" } else { "β" }
}

/// Why the score of some features is not there: a long path keeps β for the first few of each step,
/// and no path keeps weights.
fn unknown(app: &App) -> Option<String> {
    let step = app.step()?;
    let score = score_name(app.focus().method);
    match step.beta {
        _ if app.inspected_here() => None,
        Some(Betas::Whole(_)) if !app.focus().method.by_weights() => None,
        _ if app.plan().is_none() => Some(format!("other {score} not recorded")),
        _ if app.is_playing() => Some(format!("pause for all {score}")),
        _ => Some("computing …".to_owned()),
    }
}

fn title(app: &App) -> String {
    let table = app.table();
    let score = score_name(app.focus().method);
    let order = table.order_words(app.theme(), table.column().words(score));
    let shown = table.filter_words(app.derived().ranking.rows.len());
    let unknown = unknown(app).map_or_else(String::new, |why| format!(" ({why})"));
    format!("{} left, {order}{shown}{unknown}", plural(app.size(), "feature"))
}

/// Widths of the columns; none is 0 wide unless it is left out.
struct ColumnWidths {
    step: usize,
    name: usize,
    score: usize,
    bar: usize,
    splits: usize,
    rank: usize,
    twins: usize,
}

const MARK: usize = 2;

impl ColumnWidths {
    fn new(info: &RunInfo, splits: usize, width: usize) -> Self {
        let step = (info.units.len().to_string().len() + 3).max(6);
        let splits = if splits > 0 { (2 * splits.to_string().len() + 2).max(7) } else { 7 };
        let rank = if width >= 56 { 8 } else { 0 };
        let twins = if width >= 84 { 20 } else { 0 };
        let bar = if width >= 72 { ((width - twins - 46) / 2).clamp(7, 31) | 1 } else { 0 };
        let score = 9;
        let name = width.saturating_sub(MARK + step + score + bar + splits + rank + twins);
        Self { step, name, score, bar, splits, rank, twins }
    }

    /// The headings, each with what it sorts by.
    fn headings(&self, app: &App) -> [(String, RankingColumn); 7] {
        let (name, rank) = (self.name, self.rank);
        let score = score_name(app.focus().method);
        let right = |text: &str, width: usize| format!("{text:>width$}");
        [
            (app.theme().glyph("✓ ", "v ").to_owned(), RankingColumn::Mark),
            (fit("step", self.step), RankingColumn::Step),
            (fit("feature", name), RankingColumn::Feature),
            (right(&format!("{score} "), self.score) + &" ".repeat(self.bar), RankingColumn::Score),
            (right("splits", self.splits), RankingColumn::InSplits),
            (if rank > 0 { right("rank", rank) } else { String::new() }, RankingColumn::MeanRank),
            (fit("  twins", self.twins), RankingColumn::Twins),
        ]
    }
}

/// Draws the panel.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let inside = panel(frame, app, area, 0, &title(app), hits);
    let Some(info) = app.info() else { return };
    if inside.width < 20 || inside.height < 2 {
        return;
    }
    let ranks = RankTable::new(&Paths::new(app.history(), info, app.focus().method));
    let columns = ColumnWidths::new(info, ranks.splits().len(), usize::from(inside.width));
    let rows = &app.derived().ranking.rows;
    let height = usize::from(inside.height) - 1;
    let selection = app.selection();
    let at = selection.and_then(|unit| rows.iter().position(|&row| row == unit)).unwrap_or(0);
    let first = at.saturating_sub(height / 2).min(rows.len().saturating_sub(height));
    let mut lines = vec![headings(app, &columns, inside, hits)];
    for (i, &unit) in rows.iter().enumerate().skip(first).take(height) {
        let row = Rect { y: inside.y + 1 + (i - first) as u16, height: 1, ..inside };
        hits.push((row, Hit::Unit(unit)));
        let is_selected = Some(unit) == selection && app.selected().is_some();
        lines.push(row_of(app, info, &ranks, &columns, unit, is_selected));
    }
    frame.render_widget(Paragraph::new(lines), inside);
}

fn headings(app: &App, columns: &ColumnWidths, inside: Rect, hits: &mut Hits) -> Line<'static> {
    let mut x = inside.x;
    let spans = columns.headings(app).into_iter().map(|(text, column)| {
        let width = text.chars().count() as u16;
        let right = inside.right();
        if width > 0 && x < right {
            let place = Rect { x, y: inside.y, width: width.min(right - x), height: 1 };
            hits.push((place, Hit::Column(column)));
        }
        x = x.saturating_add(width);
        let is_sorted = app.table().column() == column;
        Span::styled(text, app.theme().style(if is_sorted { Role::Accent } else { Role::Dim }))
    });
    Line::from(spans.collect::<Vec<_>>())
}

/// The step that removes a unit, in words.
fn step_words(app: &App, info: &RunInfo, unit: usize, gone: Option<usize>) -> (String, Role) {
    let is_removed_now = app.step().is_some_and(|step| step.removed.contains(&unit));
    let is_runner_up = app.step().is_some_and(|step| step.runner_up == Some(unit));
    match gone {
        Some(step) => (format!("{}{}", app.theme().glyph("✕ ", "x "), step + 1), Role::Dim),
        None if is_removed_now => (app.theme().glyph("▶ now", "> now").to_owned(), Role::Bad),
        None if is_runner_up => ("next".to_owned(), Role::Warn),
        None if info.units[unit].kept => ("kept".to_owned(), Role::Good),
        None => (String::new(), Role::Text),
    }
}

fn row_of(
    app: &App,
    info: &RunInfo,
    ranks: &RankTable<'_>,
    columns: &ColumnWidths,
    unit: usize,
    is_selected: bool,
) -> Line<'static> {
    let splits = ranks.splits().len();
    let gone =
        app.trace().and_then(|trace| trace.removed_at(unit)).filter(|&step| step < app.cursor());
    let score = app.derived().ranking.score.get(unit).copied().flatten().filter(|_| gone.is_none());
    let (step, role) = step_words(app, info, unit, gone);
    let mut style = if gone.is_some() { app.theme().style(Role::Dim) } else { Style::new() };
    if is_selected {
        style = style.patch(app.theme().selected());
    }
    let coloured = |role: Role| app.theme().style(role).patch(style);
    let is_match = app.table().search().is_some_and(|search| search.passes(&info.units[unit].name));
    let name_style = if is_match { coloured(Role::Accent) } else { style };
    let is_blank = gone.is_some() || app.step().is_none();
    let text = score.map_or_else(
        || if is_blank { String::new() } else { "·".to_owned() },
        |score| number(f64::from(score)),
    );
    let mark = if app.table().is_marked(unit) { app.theme().glyph("✓ ", "v ") } else { "  " };
    let mut spans = vec![
        Span::styled(mark, app.theme().style(Role::Good)),
        Span::styled(fit(&step, columns.step), coloured(role)),
        Span::styled(fit(&info.units[unit].name, columns.name), name_style),
        Span::styled(format!("{text:>width$} ", width = columns.score - 1), style),
    ];
    if columns.bar > 0 {
        spans.extend(signed_bar(app, score, app.derived().ranking.score_scale, columns.bar, style));
    }
    let count = ranks.count(unit, app.size());
    let survives = if splits > 0 { format!("{count}/{splits}") } else { String::new() };
    // Where most splits agree, that is what matters most on the row.
    let agreed = if 2 * count > splits && gone.is_none() { coloured(Role::Accent) } else { style };
    spans.push(Span::styled(format!("{survives:>width$}", width = columns.splits), agreed));
    if columns.rank > 0 {
        let mean = app.derived().facts.ranks.mean.get(unit).copied().flatten();
        let text = mean.map_or_else(String::new, |mean| format!("{mean:.1}"));
        spans.push(Span::styled(format!("{text:>width$}", width = columns.rank), style));
    }
    if columns.twins > 0 {
        spans.push(Span::styled(
            fit(&format!("  {}", twins(app, info, unit, columns.twins - 2)), columns.twins),
            style,
        ));
    }
    Line::from(spans)
}

/// A score as a bar: blue to the left of the axis below zero, orange to the right above.
pub fn signed_bar(
    app: &App,
    score: Option<f32>,
    scale: f32,
    width: usize,
    style: Style,
) -> [Span<'static>; 4] {
    let half = width.saturating_sub(1) / 2;
    let axis = app.theme().glyph("│", "|");
    let scale = scale.max(f32::MIN_POSITIVE);
    let length =
        score.map_or(0, |score| ((score.abs() / scale * half as f32).round() as usize).min(half));
    let full = |glyph: &str| glyph.repeat(length);
    let (left, right) = match score {
        Some(score) if score < 0.0 => (full(app.theme().glyph("▄", "-")), String::new()),
        Some(_) => (String::new(), full(app.theme().glyph("▄", "+"))),
        None => (String::new(), String::new()),
    };
    let right_pad = half - right.chars().count();
    let coloured = |role: Role| app.theme().style(role).patch(style);
    [
        Span::styled(format!("{left:>half$}"), coloured(Role::Negative)),
        Span::styled(axis, coloured(Role::Dim)),
        Span::styled(right, coloured(Role::Positive)),
        Span::styled(" ".repeat(right_pad), style),
    ]
}
