//! The list: its features by the number of splits that keep them, what each count means, and the
//! twins; below it what was not chosen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::headline;
use crate::analysis::{MethodAnswer, Paths, RankTable, Standing};
use crate::run::RunInfo;
use crate::tui::app::App;
use crate::tui::theme::Role;
use crate::tui::view::text::{clean, fit};
use crate::tui::view::{Hit, Hits, panel};

/// The list, most frequent first, and behind it what was not chosen.
pub(super) fn list(
    frame: &mut Frame<'_>,
    app: &App,
    info: &RunInfo,
    answer: &MethodAnswer,
    area: Rect,
    hits: &mut Hits,
) {
    let room = usize::from(area.width).saturating_sub(4);
    let title = match app.table().filter() {
        Some(filter) => format!("{}  &{}", headline(app, answer, room), filter.text()),
        None => headline(app, answer, room),
    };
    let inside = panel(frame, app, area, 0, &title, hits);
    if inside.width < 20 || inside.height < 2 {
        return;
    }
    let columns = ListColumns::new(app, info, answer, usize::from(inside.width));
    let rows = &app.derived().answer_rows.rows;
    let length = app.derived().answer_rows.length;
    let height = usize::from(inside.height) - 1;
    // A line between the list and the others.
    let line_of = |i: usize| i + usize::from(i >= length);
    let lines = rows.len() + usize::from(length < rows.len());
    let selection = app.selection();
    let at = selection.and_then(|unit| rows.iter().position(|&row| row == unit)).unwrap_or(0);
    let first =
        line_of(at).saturating_sub(height.saturating_sub(2)).min(lines.saturating_sub(height));
    let mut shown = vec![columns.heading(app, answer)];
    for line in (first..lines).take(height) {
        if line == length {
            let words = if length == 0 && answer.chosen.size.is_none() {
                "how many splits keep it to the end "
            } else {
                "not in the list "
            };
            let rule = app.theme().glyph("─", "-");
            let text = format!("{} {words}", rule.repeat(2));
            let rest = usize::from(inside.width).saturating_sub(text.width());
            shown.push(Line::styled(text + &rule.repeat(rest), app.theme().style(Role::Dim)));
            continue;
        }
        let unit = rows[line - usize::from(line > length)];
        let y = inside.y + shown.len() as u16;
        hits.push((Rect { y, height: 1, ..inside }, Hit::Unit(unit)));
        shown.push(columns.row(app, info, answer, unit, line < length, Some(unit) == selection));
    }
    frame.render_widget(Paragraph::new(shown), inside);
}

/// Widths of the columns of the list.
struct ListColumns<'a> {
    ranks: RankTable<'a>,
    size: usize,
    name: usize,
    count: usize,
    bar: usize,
    rank: usize,
    twins: usize,
    tag: usize,
}

impl<'a> ListColumns<'a> {
    fn new(app: &'a App, info: &'a RunInfo, answer: &MethodAnswer, width: usize) -> Self {
        let ranks = RankTable::new(&Paths::new(app.history(), info, answer.method));
        let count = 2 * ranks.splits().len().to_string().len() + 2;
        let (tag, rank, twins) = match width {
            100.. => (longest_tag(answer), 11, 24),
            76.. => (longest_tag(answer), 0, 20),
            44.. => (longest_tag(answer), 0, 0),
            _ => (0, 0, 0),
        };
        // Without twins there is no column for them.
        let has_twins = answer.features.iter().any(|feature| feature.twin_count > 0);
        let twins = if has_twins { twins } else { 0 };
        let longest = info.units.iter().take(2000).map(|unit| unit.name.width()).max().unwrap_or(8);
        let least_bar = if width >= 44 { 10 } else { 0 };
        // Short names leave room for twins.
        let needed = 2 + count + tag + longest.max(10) + 1 + least_bar;
        let twins =
            if twins == 0 && tag > 0 && has_twins && width >= needed + 20 { 20 } else { twins };
        let free = width.saturating_sub(2 + count + tag + rank + twins);
        // Names come first; what they leave is for the bar.
        let name = longest.clamp(10, free.saturating_sub(least_bar + 1).clamp(10, 44));
        let bar = free.saturating_sub(name + 1).min(30);
        Self { ranks, size: answer.chosen.size.unwrap_or(1), name, count, bar, rank, twins, tag }
    }

    fn heading(&self, app: &App, answer: &MethodAnswer) -> Line<'static> {
        // The heading of the counts may be wider than they are; it then begins above the names.
        let mut text =
            format!("  {}splits ", fit("feature", (self.name + self.count).saturating_sub(6)));
        let chance = match &answer.by_chance {
            Some(chance) if self.bar >= 14 => {
                format!("{} by chance {}", app.theme().glyph("┊", "!"), chance.count)
            }
            _ => String::new(),
        };
        text += &fit(&chance, self.bar);
        if self.rank > 0 {
            text += &fit("  mean rank", self.rank);
        }
        if self.twins > 0 {
            text += &fit("  twins", self.twins);
        }
        Line::styled(text, app.theme().style(Role::Dim))
    }

    fn row(
        &self,
        app: &App,
        info: &RunInfo,
        answer: &MethodAnswer,
        unit: usize,
        is_chosen: bool,
        is_selected: bool,
    ) -> Line<'static> {
        let splits = self.ranks.splits().len();
        let count = self.ranks.count(unit, self.size);
        let base = if is_chosen { Style::new() } else { app.theme().style(Role::Dim) };
        let style = if is_selected { base.patch(app.theme().selected()) } else { base };
        let mark = if app.table().is_marked(unit) { app.theme().glyph("✓ ", "v ") } else { "  " };
        let mut spans = vec![
            Span::styled(mark, app.theme().style(Role::Good)),
            Span::styled(fit(&info.units[unit].name, self.name), style),
            Span::styled(
                format!("{:>width$} ", format!("{count}/{splits}"), width = self.count),
                style,
            ),
        ];
        spans.extend(self.bar(app, answer, count, splits, is_chosen));
        if self.rank > 0 {
            let mean = app.derived().facts.ranks.mean.get(unit).copied().flatten();
            let text = mean.map_or_else(String::new, |mean| format!("{mean:.1}"));
            spans.push(Span::styled(format!("{text:>width$}", width = self.rank), style));
        }
        if self.twins > 0 {
            spans.push(Span::styled(
                fit(&format!("  {}", twins(app, info, unit, self.twins - 2)), self.twins),
                style,
            ));
        }
        if self.tag > 0 {
            let (words, role) = tag(info, answer, unit);
            spans.push(Span::styled(
                fit(&format!("  {words}"), self.tag),
                app.theme().style(role).patch(base),
            ));
        }
        Line::from(spans)
    }

    /// The share of the splits as a bar in eighths, with a mark where chance alone would come to.
    fn bar(
        &self,
        app: &App,
        answer: &MethodAnswer,
        count: usize,
        splits: usize,
        is_chosen: bool,
    ) -> Vec<Span<'static>> {
        let theme = app.theme();
        let role = if is_chosen { Role::Negative } else { Role::Dim };
        let cells = 8 * self.bar * count / splits.max(1);
        let chance = answer
            .by_chance
            .as_ref()
            .map(|chance| (self.bar * chance.count).div_ceil(splits.max(1)));
        let parts = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        (0..self.bar)
            .map(|x| {
                let filled = cells.saturating_sub(8 * x).min(8);
                let is_chance = chance == Some(x + 1);
                let symbol = match filled {
                    8 if is_chance => theme.glyph("▓", "!"),
                    8 => theme.glyph("█", "#"),
                    _ if is_chance => theme.glyph("┊", "!"),
                    0 => " ",
                    4.. if theme.ascii => "#",
                    _ if theme.ascii => " ",
                    part => parts[part],
                };
                let role = if is_chance && filled < 8 { Role::Warn } else { role };
                Span::styled(symbol, theme.style(role))
            })
            .collect()
    }
}

/// The closest feature that could stand in for one, and how many more there are.
pub fn twins(app: &App, info: &RunInfo, unit: usize, width: usize) -> String {
    let Some(own) = app.history().twins().of(unit) else { return String::new() };
    let Some(&(closest, r)) = own.closest.first() else { return String::new() };
    let more = if own.count > 1 { format!(" +{}", own.count - 1) } else { String::new() };
    let name = clean(&info.units[closest].name);
    let r = format!(" {r:.2}{more}");
    let room = width.saturating_sub(r.width()).max(4);
    fit(&name, name.width().min(room)) + &r
}

/// Cells of the words behind the features, with a gap before them.
fn longest_tag(answer: &MethodAnswer) -> usize {
    2 + if answer.features.iter().any(|feature| feature.interchangeable) { 15 } else { 12 }
}

/// What the count of a chosen feature means, in a word.
fn tag(info: &RunInfo, answer: &MethodAnswer, unit: usize) -> (&'static str, Role) {
    let own = answer.features.iter().find(|feature| feature.unit == unit);
    match own.map(|feature| feature.standing) {
        Some(Standing::Kept) => ("kept", Role::Good),
        Some(Standing::Interchangeable) => ("interchangeable", Role::Warn),
        Some(Standing::AsByChance) => ("as by chance", Role::Warn),
        Some(Standing::Core) => ("core", Role::Good),
        Some(Standing::Between) => ("", Role::Text),
        None if info.units[unit].kept => ("kept", Role::Good),
        None => ("", Role::Dim),
    }
}
