//! Answer: which features, how sure that is, and what to beware of.
//!
//! ```text
//! ┌ 9 features are enough ──────┐┌ How sure ─────────────────┐
//! │ feature  in splits          ││ size, stability, accuracy │
//! │ …                           │├ Cautions ─────────────────┤
//! │ ── not in the list ──       ││ ! sentences               │
//! └─────────────────────────────┘└───────────────────────────┘
//! ```

use std::fmt::Write;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::page::Page;
use super::text::{clean, fit, share, wrap};
use super::{Hit, Hits, panel};
use crate::analysis::{
    Answer, ComparedMetric, MethodAnswer, Metric, Paths, RankTable, StabilityBand, Standing, Tested, Verdict,
    band_word, rounded_p, two_decimals,
};
use crate::evaluate::{Interval, PairedDifference};
use crate::report::summary;
use crate::run::RunInfo;
use crate::select::StopRule;
use crate::tui::action::Action;
use crate::tui::app::{App, plural};
use crate::tui::derived::Derived;
use crate::tui::theme::Role;

/// Cells of the labels beside the facts.
const LABEL: usize = 12;

/// The view.
pub struct AnswerPage;

impl Page for AnswerPage {
    fn name(&self) -> &'static str {
        "Answer"
    }

    fn question(&self) -> &'static str {
        "which features, and how sure?"
    }

    fn panels(&self) -> &'static [&'static str] {
        &["List", "How sure", "Cautions"]
    }

    fn refresh(&self, derived: &mut Derived, app: &App, info: &RunInfo, _paths: &Paths<'_>) {
        derived.refresh_answer_rows(app, info);
        if let Some(size) = derived.answer_size() {
            derived.facts.refresh_comparison(app.history(), info, app.finished(), size);
        }
    }

    fn rows<'a>(&self, derived: &'a Derived) -> Option<&'a [usize]> {
        Some(&derived.answer_rows)
    }

    fn length(&self, app: &App, _info: &RunInfo) -> usize {
        length(app)
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, info: &RunInfo, area: Rect, hits: &mut Hits) {
        draw(frame, app, info, area, hits);
    }

    fn text(&self, app: &App, _info: &RunInfo) -> String {
        text(app)
    }
}

fn draw(frame: &mut Frame<'_>, app: &App, info: &RunInfo, area: Rect, hits: &mut Hits) {
    let Some(answer) = app.answer() else { return nothing_yet(frame, app, area) };
    match app.zoom() {
        Some(0) => return list(frame, app, info, answer, area, hits),
        Some(1) => return sure(frame, app, info, answer, area, hits),
        Some(_) => return cautions(frame, app, area, hits),
        None => {}
    }
    if area.width < 72 {
        let needed = sure_lines(app, info, answer, usize::from(area.width) - 2).len() as u16 + 2;
        let [top, bottom] =
            Layout::vertical([Constraint::Max(needed.min(area.height / 2)), Constraint::Min(4)]).areas(area);
        sure(frame, app, info, answer, top, hits);
        return list(frame, app, info, answer, bottom, hits);
    }
    if area.width < 100 {
        let wanted = caution_lines(app, usize::from(area.width) - 2).len() as u16 + 2;
        let [top, bottom] =
            Layout::vertical([Constraint::Min(4), Constraint::Length(wanted.clamp(3, area.height * 2 / 5))])
                .areas(area);
        let [left, right] = Layout::horizontal([Constraint::Min(30), Constraint::Length(46)]).areas(top);
        list(frame, app, info, answer, left, hits);
        sure(frame, app, info, answer, right, hits);
        return cautions(frame, app, bottom, hits);
    }
    let [left, right] = Layout::horizontal([Constraint::Percentage(52), Constraint::Min(40)]).areas(area);
    list(frame, app, info, answer, left, hits);
    let needed = sure_lines(app, info, answer, usize::from(right.width) - 2).len() as u16 + 2;
    let [top, bottom] = Layout::vertical([Constraint::Length(needed), Constraint::Min(4)]).areas(right);
    sure(frame, app, info, answer, top, hits);
    cautions(frame, app, bottom, hits);
}

/// Lines of the longest panel that scrolls when it is enlarged.
fn length(app: &App) -> usize {
    let (Some(info), Some(answer)) = (app.info(), app.answer()) else { return 0 };
    // At the narrowest, so that the end can always be reached.
    let lines = match app.zoom() {
        Some(1) => sure_lines(app, info, answer, 38).len(),
        _ => caution_lines(app, 38).len(),
    };
    lines.saturating_sub(app.popup_height() / 2)
}

fn nothing_yet(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let block = super::framed(app.theme(), "No answer yet", area);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let (engine, explore) =
        (app.keymap().key_of(Action::ToggleEngine), app.keymap().key_of(Action::Show(super::View::Explore)));
    let words = format!(
        "No split has finished yet. The answer appears with the first one and grows with every other. \
         {explore} shows what is computed now; {engine} pauses and resumes computing."
    );
    let lines: Vec<Line<'static>> =
        wrap(&words, usize::from(inside.width)).into_iter().map(Line::from).collect();
    frame.render_widget(Paragraph::new(lines), inside);
}

/// What was found, in a sentence that fits.
fn headline(app: &App, answer: &MethodAnswer, width: usize) -> String {
    let long = sentence(app, answer);
    let Some(size) = answer.chosen.size.filter(|_| long.width() > width) else { return long };
    let count = plural(size, "feature");
    match answer.verdict {
        Verdict::Chance => format!("{count}: as by chance"),
        Verdict::Unstable => format!("{count}: unstable"),
        Verdict::TooFewSplits => format!("{count}: too few splits"),
        _ => count,
    }
}

fn sentence(app: &App, answer: &MethodAnswer) -> String {
    let method = answer.method;
    match answer.chosen.size {
        None if answer.chosen.stop == StopRule::None => format!("{method}: no size was asked for"),
        None => format!("{method}: no size stands out"),
        Some(size) => {
            let count = plural(size, "feature");
            match answer.verdict {
                Verdict::Chance => format!("{method}: {count}, but nothing beyond chance"),
                Verdict::Unstable => format!("{method}: {count}, but these data do not support a short list"),
                _ if app.taken().is_some() => format!("{method}: {count}, chosen by hand"),
                Verdict::TooFewSplits => format!("{method}: {count}, from too few splits to judge them"),
                Verdict::AllFeatures => format!("{method}: {}", answer.headline),
                _ => format!("{method}: {count} {} enough", if size == 1 { "is" } else { "are" }),
            }
        }
    }
}

/// The list, most frequent first, and behind it what was not chosen.
fn list(
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
    let (rows, length) = (&app.derived().answer_rows, app.derived().answer_length);
    let height = usize::from(inside.height) - 1;
    // A line between the list and the others.
    let line_of = |i: usize| i + usize::from(i >= length);
    let lines = rows.len() + usize::from(length < rows.len());
    let selection = app.selection();
    let at = selection.and_then(|unit| rows.iter().position(|&row| row == unit)).unwrap_or(0);
    let first = line_of(at).saturating_sub(height.saturating_sub(2)).min(lines.saturating_sub(height));
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
        let twins = if twins == 0 && tag > 0 && has_twins && width >= needed + 20 { 20 } else { twins };
        let free = width.saturating_sub(2 + count + tag + rank + twins);
        // Names come first; what they leave is for the bar.
        let name = longest.clamp(10, free.saturating_sub(least_bar + 1).clamp(10, 44));
        let bar = free.saturating_sub(name + 1).min(30);
        Self { ranks, size: answer.chosen.size.unwrap_or(1), name, count, bar, rank, twins, tag }
    }

    fn heading(&self, app: &App, answer: &MethodAnswer) -> Line<'static> {
        // The heading of the counts may be wider than they are; it then begins above the names.
        let mut text = format!("  {}splits ", fit("feature", (self.name + self.count).saturating_sub(6)));
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
        let (splits, count) = (self.ranks.splits().len(), self.ranks.count(unit, self.size));
        let base = if is_chosen { Style::new() } else { app.theme().style(Role::Dim) };
        let style = if is_selected { base.patch(app.theme().selected()) } else { base };
        let mark = if app.table().is_marked(unit) { app.theme().glyph("✓ ", "v ") } else { "  " };
        let mut spans = vec![
            Span::styled(mark, app.theme().style(Role::Good)),
            Span::styled(fit(&info.units[unit].name, self.name), style),
            Span::styled(format!("{:>width$} ", format!("{count}/{splits}"), width = self.count), style),
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
        let chance =
            answer.by_chance.as_ref().map(|chance| (self.bar * chance.count).div_ceil(splits.max(1)));
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
    let (name, r) = (clean(&info.units[closest].name), format!(" {r:.2}{more}"));
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

fn sure(
    frame: &mut Frame<'_>,
    app: &App,
    info: &RunInfo,
    answer: &MethodAnswer,
    area: Rect,
    hits: &mut Hits,
) {
    let inside = panel(frame, app, area, 1, "How sure", hits);
    let lines = sure_lines(app, info, answer, usize::from(inside.width));
    let hidden = lines.len().saturating_sub(usize::from(inside.height));
    let first = if app.zoom() == Some(1) { app.scroll().min(hidden) } else { 0 };
    frame.render_widget(Paragraph::new(lines).scroll((first as u16, 0)), inside);
    more(frame, app, area, hidden - first, 1);
}

/// Says in the lower border of a panel that it holds more lines than are seen.
pub fn more(frame: &mut Frame<'_>, app: &App, area: Rect, hidden: usize, panel: usize) {
    if hidden == 0 || area.width < 24 || area.height < 2 {
        return;
    }
    let scrolls = app.zoom().is_some() || app.view().page().rows(app.derived()).is_none();
    let key = if scrolls {
        app.theme().glyph("↓", "down").to_owned()
    } else {
        app.keymap().key_of(Action::Zoom).repeat(panel + 1)
    };
    let words = format!(" {hidden} more {}: {key} ", if hidden == 1 { "line" } else { "lines" });
    let x = area.right().saturating_sub(words.width() as u16 + 2);
    frame.buffer_mut().set_string(x, area.bottom() - 1, words, app.theme().style(Role::Warn));
}

/// One fact: its label, what is known, and whether that is good.
type Fact = (&'static str, String, Role);

/// The facts as lines, long ones wrapped.
fn sure_lines(app: &App, info: &RunInfo, answer: &MethodAnswer, width: usize) -> Vec<Line<'static>> {
    let dim = app.theme().style(Role::Dim);
    let mut lines = Vec::new();
    for (label, value, role) in facts(app, info, answer) {
        for (i, text) in wrap(&value, width.saturating_sub(LABEL)).into_iter().enumerate() {
            lines.push(Line::from(vec![
                Span::styled(fit(if i == 0 { label } else { "" }, LABEL), dim),
                Span::styled(text, app.theme().style(role)),
            ]));
        }
    }
    lines
}

fn interval(own: &Interval) -> String {
    format!("{:.2} ({:.2} to {:.2})", own.value, own.lo, own.hi)
}

/// Everything that says how far the list can be trusted.
fn facts(app: &App, info: &RunInfo, answer: &MethodAnswer) -> Vec<Fact> {
    let mut facts = vec![("size", size_words(answer), Role::Text)];
    let others: Vec<String> = answer
        .beside
        .iter()
        .filter_map(|rule| {
            let size = rule.size.map_or_else(|| "never".to_owned(), |size| size.to_string());
            Some(format!("{} {size}", rule.stop.entry()?.symbol))
        })
        .collect();
    if !others.is_empty() {
        facts.push(("other rules", others.join(", "), Role::Dim));
    }
    if let Some(stability) = answer.stability {
        facts.push(("stability", stability_words(app, answer, stability), stability_role(answer)));
    }
    facts.extend(performance(info, answer));
    facts.push(tested(answer.tested.as_ref(), info));
    facts.extend(worst_site(answer));
    facts.extend(worst_subgroup(answer));
    facts.push(by_chance(answer, info));
    facts.extend(comparison(app));
    if let Some(choice) = &answer.estimators {
        // Until then as in the header: of all methods.
        let words = match app.estimators_run() {
            (run, all) if run < all => format!("{run} of {all} runs with other estimators are done"),
            _ => choice.sentence.clone(),
        };
        facts.push(("models", words, Role::Text));
    }
    facts.extend(my_list(app));
    facts
}

/// My list beside the answer, on all splits.
fn my_list(app: &App) -> Option<Fact> {
    let count = app.table().marks().len();
    if count == 0 {
        return None;
    }
    let words = match (app.my_list_comparison(), app.plan()) {
        (Some(comparison), _) => {
            let metric =
                |own: &ComparedMetric| format!("{} {}", own.label, difference_words(&own.difference));
            let metrics: Vec<String> = comparison.metrics.iter().map(metric).collect();
            format!(
                "{}; against the answer: {}; picked by eye on these rows, which flatters it",
                plural(count, "feature"),
                metrics.join(", ")
            )
        }
        (None, None) => format!("{}; testing it needs the data file", plural(count, "feature")),
        (None, Some(_)) => format!("{}, being tested on all splits …", plural(count, "feature")),
    };
    Some(("my list", words, Role::Good))
}

fn size_words(answer: &MethodAnswer) -> String {
    let chosen = &answer.chosen;
    let Some(size) = chosen.size else { return "none".to_owned() };
    match (chosen.stop, chosen.smallest, chosen.largest) {
        (StopRule::Size(_), ..) => format!("{size}, as asked for"),
        (StopRule::OneSe, Some(lo), Some(hi)) => match lo == hi {
            true => format!("{size}, whichever split is left out"),
            false => format!("{size}; {lo} to {hi} when one split is left out"),
        },
        (_, Some(lo), Some(hi)) => {
            let silent = answer.splits - chosen.fired;
            let silent = if silent > 0 {
                format!(", no stop on {silent} of {}", answer.splits)
            } else {
                String::new()
            };
            format!("{size}, the median; splits {lo} to {hi}{silent}")
        }
        _ => size.to_string(),
    }
}

fn stability_words(app: &App, answer: &MethodAnswer, stability: f64) -> String {
    const CELLS: usize = 6;
    let filled = (stability.clamp(0.0, 1.0) * CELLS as f64).round() as usize;
    let bar =
        app.theme().glyph("█", "#").repeat(filled) + &app.theme().glyph("░", ".").repeat(CELLS - filled);
    let spread = answer
        .stability_interval
        .map_or_else(String::new, |(lo, hi)| format!(" ({} to {})", two_decimals(lo), two_decimals(hi)));
    format!("{} {bar} {}{spread}", two_decimals(stability), band_word(answer.stability_band))
}

/// The colour of a stability.
fn stability_role(answer: &MethodAnswer) -> Role {
    match answer.stability_band {
        Some(StabilityBand::Poor) => Role::Warn,
        Some(StabilityBand::Fair) | None => Role::Text,
        Some(StabilityBand::Good) => Role::Good,
    }
}

/// Accuracy, set size and coverage: on rows that were never seen, or before that on the test rows of the splits.
fn performance(info: &RunInfo, answer: &MethodAnswer) -> Vec<Fact> {
    let classes = info.classes.len();
    let target = share(1.0 - info.spec.epsilon);
    let Some(tested) = answer.tested.as_ref().and_then(|tested| tested.performance.as_ref()) else {
        let Some(achieved) = &answer.achieved else { return Vec::new() };
        let sd = |sd: Option<f64>| sd.map_or_else(String::new, |sd| format!(" ± {sd:.2}"));
        let rate = info.no_information_rate();
        return vec![
            (
                "accuracy",
                format!("{:.2}{}; largest class {rate:.2}", achieved.accuracy, sd(achieved.accuracy_sd)),
                Role::Text,
            ),
            (
                "set size",
                format!("{:.2}{} of {classes} classes", achieved.inefficiency, sd(achieved.inefficiency_sd)),
                Role::Text,
            ),
            ("coverage", format!("{:.2}; target {target}", achieved.coverage), Role::Text),
        ];
    };
    let rate = tested.no_information_rate;
    let mut facts = vec![
        (
            "accuracy",
            format!("{}; largest class {rate:.2}", interval(&tested.accuracy)),
            if tested.accuracy.lo > rate { Role::Text } else { Role::Warn },
        ),
        (
            "set size",
            format!(
                "{:.2} of {classes} classes; {:.0} % empty",
                tested.set_size.value,
                100.0 * tested.empty.value
            ),
            Role::Text,
        ),
        ("coverage", format!("{}; target {target}", interval(&tested.coverage)), Role::Text),
    ];
    let covered = tested.classes.iter().filter_map(|class| Some((class, class.coverage?)));
    if let Some((class, coverage)) = covered.min_by(|a, b| a.1.value.total_cmp(&b.1.value)) {
        let name = &info.classes[class.class];
        let role = if coverage.hi < 1.0 - info.spec.epsilon { Role::Warn } else { Role::Text };
        let words = format!("'{name}' covered {:.2} in {}", coverage.value, plural(class.rows, "row"));
        facts.push(("worst class", words, role));
    }
    facts
}

fn tested(tested: Option<&Tested>, info: &RunInfo) -> Fact {
    let Some(tested) = tested.filter(|_| info.folds > 0) else {
        if info.folds > 0 {
            let words = "not at this size: the folds test the procedure at its own size";
            return ("tested", words.to_owned(), Role::Warn);
        }
        let why = match info.spec.validate {
            None => " (--validate none)".to_owned(),
            Some(_) if info.spec.split.splits_from.is_some() => " (--splits-from)".to_owned(),
            Some(folds) => format!(": a class is too small for {folds} folds"),
        };
        return ("tested", format!("only on the splits' test rows{why}"), Role::Warn);
    };
    if tested.folds < tested.of_folds {
        let words = format!("fold {} of {} is running", tested.folds + 1, tested.of_folds);
        return ("tested", words, Role::Accent);
    }
    let rows = tested.performance.as_ref().map_or(0, |performance| performance.rows);
    match tested.without_list {
        0 => ("tested", format!("on {rows} rows it never saw, {} folds", tested.of_folds), Role::Good),
        n if rows == 0 => (
            "tested",
            format!("on no rows: no size was chosen in {n} of {} folds", tested.of_folds),
            Role::Warn,
        ),
        n => {
            let words = format!("on {rows} rows it never saw; no list in {n} of {} folds", tested.of_folds);
            ("tested", words, Role::Warn)
        }
    }
}

/// The site with the lowest coverage of those that were left out.
fn worst_site(answer: &MethodAnswer) -> Option<Fact> {
    let sites = &answer.transfer.as_ref()?.sites;
    let (site, own) = sites.iter().find_map(|site| Some((site, site.measured.as_ref()?)))?;
    let (accuracy, coverage) = (own.accuracy.value, own.coverage.value);
    let words = format!("'{}' left out: accuracy {accuracy:.2}, covered {coverage:.2}", site.site);
    Some(("worst site", words, if own.shifted { Role::Warn } else { Role::Text }))
}

/// The subgroup with the lowest coverage.
fn worst_subgroup(answer: &MethodAnswer) -> Option<Fact> {
    let own = answer.subgroups.first()?;
    let (coverage, rows) = (own.coverage.value, plural(own.rows, "row"));
    let words = format!("{} '{}' covered {coverage:.2} in {rows}", own.column, own.level);
    Some(("subgroup", words, if own.below { Role::Warn } else { Role::Text }))
}

fn by_chance(answer: &MethodAnswer, info: &RunInfo) -> Fact {
    match &answer.by_chance {
        None if info.permutations == 0 => {
            ("by chance", "not known (--permutations none)".to_owned(), Role::Dim)
        }
        None if answer.chosen.size.is_none() => {
            ("by chance", "nothing to compare without a size".to_owned(), Role::Dim)
        }
        None => ("by chance", format!("0 of {} permutations done", info.permutations), Role::Accent),
        Some(chance) => {
            let done = if chance.permutations < chance.of_permutations {
                format!("{} of {} permutations", chance.permutations, chance.of_permutations)
            } else {
                plural(chance.permutations, "permutation")
            };
            let p = chance.p.map_or_else(String::new, |p| format!("; p {} of the whole list", rounded_p(p)));
            let role = if chance.is_not_beyond() { Role::Warn } else { Role::Text };
            let count = format!("some feature in {} of {} splits", chance.count, answer.splits);
            ("by chance", format!("{count}{p} ({done})"), role)
        }
    }
}

/// The two methods at the size of the answer.
fn comparison(app: &App) -> Vec<Fact> {
    let Some(comparison) = &*app.derived().facts.comparison else { return Vec::new() };
    let words = |metric: Metric| {
        let difference = comparison.of(metric)?;
        Some(format!("{} {}", metric.short_label(), difference_words(difference)))
    };
    let size = app.derived().answer_size();
    let mut facts = Vec::new();
    for (i, metric) in [Metric::Inefficiency, Metric::Accuracy].into_iter().enumerate() {
        let Some(mut words) = words(metric) else { continue };
        if let Some(size) = size.filter(|_| facts.is_empty()) {
            words = format!("both at size {size}: {words}");
        }
        let label = match (comparison.a.name(), comparison.b.name()) {
            _ if i > 0 => "",
            ("crfe", "rfe") => "CRFE − RFE",
            _ => "difference",
        };
        facts.push((label, words, Role::Text));
    }
    facts
}

/// A difference with its bootstrap interval and its corrected p, both by name: they need not agree.
pub fn difference_words(difference: &PairedDifference) -> String {
    // Without the sign of a zero, and with a minus sign that is one.
    let signed = |value: f64| match value {
        _ if value.abs() < 0.0005 => "0.000".to_owned(),
        _ if value < 0.0 => format!("−{:.3}", value.abs()),
        _ => format!("+{value:.3}"),
    };
    let spread = match (difference.lo, difference.hi) {
        (Some(lo), Some(hi)) => format!(" (bootstrap {} to {})", signed(lo), signed(hi)),
        _ => String::new(),
    };
    let p = difference.p_corrected.map_or_else(String::new, |p| format!(", corrected p {}", rounded_p(p)));
    format!("{}{spread}{p}", signed(difference.mean))
}

fn cautions(frame: &mut Frame<'_>, app: &App, area: Rect, hits: &mut Hits) {
    let count = app.derived().facts.cautions().count();
    let title = match count {
        0 => "No cautions".to_owned(),
        _ => plural(count, "caution"),
    };
    let inside = panel(frame, app, area, 2, &title, hits);
    let lines = caution_lines(app, usize::from(inside.width));
    let hidden = lines.len().saturating_sub(usize::from(inside.height));
    let first = if app.zoom() == Some(2) { app.scroll().min(hidden) } else { 0 };
    frame.render_widget(Paragraph::new(lines).scroll((first as u16, 0)), inside);
    more(frame, app, area, hidden - first, 2);
}

/// Every caution as a sentence.
fn caution_lines(app: &App, width: usize) -> Vec<Line<'static>> {
    let warn = app.theme().style(Role::Warn);
    let mut lines = Vec::new();
    for caution in app.derived().facts.cautions() {
        for (i, text) in wrap(caution, width.saturating_sub(2)).into_iter().enumerate() {
            let lead = Span::styled(if i == 0 { "! " } else { "  " }, warn);
            lines.push(Line::from(vec![lead, Span::raw(text)]));
        }
    }
    if lines.is_empty() {
        lines.push(Line::styled("nothing known speaks against this list", app.theme().style(Role::Dim)));
    }
    lines
}

/// The answer in one line, for the other views.
pub fn strip(app: &App, width: usize) -> Line<'static> {
    let dim = app.theme().style(Role::Dim);
    let Some(answer) = app.answer() else {
        return Line::styled("no answer yet: no split has finished", dim);
    };
    let mut pieces: Vec<(String, Role)> = Vec::new();
    pieces.push(match answer.chosen.size {
        Some(size) => (plural(size, "feature"), Role::Accent),
        None => ("no size chosen".to_owned(), Role::Warn),
    });
    if let Some(stability) = answer.stability {
        pieces.push((
            format!("stability {} {}", two_decimals(stability), band_word(answer.stability_band)),
            stability_role(answer),
        ));
    }
    let tested = answer.tested.as_ref();
    if let Some(performance) = tested.and_then(|tested| tested.performance.as_ref()) {
        let (accuracy, rate) = (performance.accuracy.value, performance.no_information_rate);
        let largest = if width >= 84 { "largest class" } else { "largest" };
        pieces.push((format!("tested {accuracy:.2} ({largest} {rate:.2})"), Role::Text));
    } else if let Some(achieved) = &answer.achieved {
        pieces.push((format!("accuracy {:.2}", achieved.accuracy), Role::Text));
    }
    match app.derived().facts.cautions().count() {
        0 => {}
        count => pieces.push((plural(count, "caution"), Role::Warn)),
    }
    if !app.table().marks().is_empty() {
        pieces.push((format!("my list {}", app.table().marks().len()), Role::Good));
    }
    // Where there is little room the line above names the method.
    let lead = if width >= 100 { format!("{} ", answer.method) } else { String::new() };
    let mut used = lead.width();
    let mut spans = vec![Span::styled(lead, dim)];
    for (i, (text, role)) in pieces.into_iter().enumerate() {
        let gap = if i == 0 { "" } else { " · " };
        if used + gap.width() + text.width() > width {
            break;
        }
        used += gap.width() + text.width();
        spans.push(Span::styled(gap, dim));
        spans.push(Span::styled(text, app.theme().style(role)));
    }
    Line::from(spans)
}

/// The view in words.
fn text(app: &App) -> String {
    let history = app.history().under(app.rule(), app.taken());
    let answer = history.ok().and_then(|history| Answer::new(&history));
    let mut text = match answer.filter(|answer| !answer.methods.is_empty()) {
        Some(answer) => summary(&answer),
        None => "No split has finished yet.\n".to_owned(),
    };
    if let (Some(unit), Some(info)) = (app.selection(), app.info()) {
        let _ = writeln!(text, "Selected: {}.", clean(&info.units[unit].name));
    }
    if let Some(comparison) = app.my_list_comparison() {
        let _ = writeln!(text, "My list: {}.", comparison.sentence);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_and_the_p_of_a_difference_are_named() {
        let (lo, hi, p_corrected) = (Some(-0.054), Some(-0.01), Some(0.37));
        let difference = PairedDifference { mean: -0.03, sd: None, lo, hi, t_corrected: None, p_corrected };
        let words = "−0.030 (bootstrap −0.054 to −0.010), corrected p 0.37";
        assert_eq!(difference_words(&difference), words);
    }
}
