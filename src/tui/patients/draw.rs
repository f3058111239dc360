//! Draws the screen of patients.
//!
//! ```text
//! model and all patients in two lines, a caution
//! ┌ Patients, by confidence ┐┌ patient 17 ──────────────┐
//! │ id  predicted  set  …   ││ p of each class          │
//! │ …                       ││ the features, as bars    │
//! └─────────────────────────┘└──────────────────────────┘
//! keys, what is typed, or a message
//! ```

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph};
use unicode_width::UnicodeWidthStr;

use super::words::{FeatureShare, sum_words};
use super::{Asked, CohortState, PatientColumn, PatientsScreen};
use crate::evaluate::label_p;
use crate::model::ScoredRow;
use crate::tui::action::Action;
use crate::tui::keymap::KeyContext;
use crate::tui::overlay::typed_line;
use crate::tui::theme::Role;
use crate::tui::view::text::{clean, fit, head, number, wrap};
use crate::tui::view::{framed, is_too_small, to_ascii};

/// From this width on, the patient is beside the table.
const SIDE_BY_SIDE: u16 = 110;

impl PatientsScreen<'_> {
    /// Draws everything; [`PatientsScreen::refresh`] comes before it.
    pub fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        if is_too_small(frame) {
            return;
        }
        let cautions = self.cautions();
        let width = usize::from(area.width);
        let mut lines =
            vec![Line::styled(head(&self.about_model(), width), self.theme.style(Role::Accent))];
        let most = if area.height >= 20 { 2 } else { 1 };
        lines.extend(wrap(&self.summary(), width).into_iter().take(most).map(Line::from));
        let [top, warning, body, bottom] = Layout::vertical([
            Constraint::Length(lines.len() as u16),
            Constraint::Length(u16::from(!cautions.is_empty())),
            Constraint::Min(1),
            Constraint::Length(1),
        ])
        .areas(area);
        frame.render_widget(Paragraph::new(lines), top);
        if let Some(first) = cautions.first() {
            let more = match cautions.len() {
                1 => String::new(),
                count => format!(" (1 of {count}, {} for all)", self.keymap.key_of(Action::Help)),
            };
            let text = head(first, width.saturating_sub(more.width())) + &more;
            frame.render_widget(
                Paragraph::new(Line::styled(text, self.theme.style(Role::Warn))),
                warning,
            );
        }
        self.draw_body(frame, body);
        frame.render_widget(Paragraph::new(self.footer(width)), bottom);
        if self.has_help {
            self.draw_help(frame, body, &cautions);
        }
        if self.theme.ascii {
            to_ascii(frame);
        }
    }

    fn draw_body(&mut self, frame: &mut Frame<'_>, body: Rect) {
        if let Some(scroll) = self.enlarged {
            self.draw_patient(frame, body, scroll);
            return;
        }
        let [table, patient] = if body.width >= SIDE_BY_SIDE {
            let halves = [Constraint::Percentage(56), Constraint::Min(20)];
            Layout::horizontal(halves).areas(body)
        } else {
            // The table keeps at least its heading and three rows.
            let height = (body.height * 11 / 20).min(body.height.saturating_sub(6));
            Layout::vertical([Constraint::Min(6), Constraint::Length(height)]).areas(body)
        };
        self.draw_table(frame, table);
        if patient.height > 2 {
            self.draw_patient(frame, patient, 0);
        }
    }

    fn draw_table(&mut self, frame: &mut Frame<'_>, area: Rect) {
        let order = self.table.order_words(&self.theme, self.table.column().words());
        let title = format!("Patients, {order}{}", self.table.filter_words(self.shown.len()));
        let inside = framed(frame, &self.theme, &title, area);
        let height = usize::from(inside.height).saturating_sub(1);
        self.height = height.max(1);
        if self.shown.is_empty() {
            let words = match self.progress {
                CohortState::Reading => "reading …",
                _ => "no patient matches",
            };
            frame.render_widget(Paragraph::new(words), inside);
            return;
        }
        let columns = PatientColumns::new(self, usize::from(inside.width));
        let first = self.at.saturating_sub(height / 2).min(self.shown.len().saturating_sub(height));
        let mut lines = vec![columns.heading(self)];
        for (i, &row) in self.shown.iter().enumerate().skip(first).take(height) {
            lines.push(columns.row(self, &self.cohort.rows()[row], i == self.at));
        }
        frame.render_widget(Paragraph::new(lines), inside);
    }

    fn draw_patient(&self, frame: &mut Frame<'_>, area: Rect, scroll: usize) {
        let row = self.selected();
        let title = row.map_or_else(String::new, |row| clean(&self.cohort.rows()[row].id));
        let inside = framed(frame, &self.theme, &title, area);
        let Some(row) = row else { return };
        let lines =
            self.patient_lines(row, usize::from(inside.width), usize::from(inside.height), scroll);
        frame.render_widget(Paragraph::new(lines), inside);
    }

    /// p of each class, then the features as bars.
    fn patient_lines(
        &self,
        row: usize,
        width: usize,
        height: usize,
        scroll: usize,
    ) -> Vec<Line<'static>> {
        let scored = &self.cohort.rows()[row];
        let classes = &self.cohort.scorer().model().classes;
        // At most half of the room: features matter more.
        let most = classes.len().min((height / 2).max(2));
        let mut order: Vec<usize> = (0..classes.len()).collect();
        order.sort_by(|&a, &b| scored.p[b].total_cmp(&scored.p[a]));
        let mut lines: Vec<Line<'static>> =
            order.iter().take(most).map(|&class| self.p_line(scored, class, width)).collect();
        let (features, rest) = self.features_of(row);
        let label = clean(&classes[self.label(row)]);
        let [left, right] = [Action::PreviousClass, Action::NextClass]
            .map(|action| self.keymap.key_in(action, KeyContext::Patients));
        let long = format!(
            "score of '{label}' by feature: right of the axis (above 0) it speaks for the class, left against it ({left} {right}: other classes)"
        );
        let short = format!("score of '{label}': right for it, left against");
        let words = if long.width() <= width { long } else { short };
        lines.push(Line::styled(head(&words, width), self.theme.style(Role::Dim)));
        // One line for the sum.
        let room = height.saturating_sub(lines.len() + 1);
        let scroll = scroll.min(features.len().saturating_sub(room));
        let scale =
            features.iter().map(|feature| feature.share.abs()).fold(f64::MIN_POSITIVE, f64::max);
        let drawn = features.iter().skip(scroll).take(room);
        lines.extend(drawn.map(|feature| self.feature_line(feature, scale, width)));
        let hidden = features.len().saturating_sub(room);
        let more = if hidden > 0 && self.enlarged.is_none() {
            format!("; {} for {hidden} more", self.keymap.key_of(Action::Enlarge))
        } else {
            String::new()
        };
        let sum = sum_words(&features, rest, width.saturating_sub(more.width())) + &more;
        lines.push(Line::styled(head(&sum, width), self.theme.style(Role::Dim)));
        lines
    }

    fn p_line(&self, scored: &ScoredRow, class: usize, width: usize) -> Line<'static> {
        let name = &self.cohort.scorer().model().classes[class];
        let in_set = scored.set.contains(&class);
        let mut words = String::new();
        let facts = [
            (in_set, "in the set"),
            (class == scored.predicted, "predicted"),
            (scored.class.as_ref() == Some(name), "true class"),
        ];
        for (_, fact) in facts.into_iter().filter(|(is_so, _)| *is_so) {
            words += if words.is_empty() { " " } else { ", " };
            words += fact;
        }
        let name_width = (width / 4).clamp(6, 24);
        let bar = (width / 8).clamp(4, 30);
        let full = (scored.p[class] * bar as f64).round() as usize;
        let glyphs = self.theme.glyph("█", "#").repeat(full)
            + &self.theme.glyph("░", ".").repeat(bar - full);
        let room = width.saturating_sub(name_width + bar + 9);
        let style = self.theme.style(if in_set { Role::Good } else { Role::Dim });
        Line::from(vec![
            Span::raw(fit(name, name_width)),
            Span::raw(format!(" p {} ", label_p(scored.p[class]))),
            Span::styled(glyphs, style),
            Span::styled(head(&words, room), style),
        ])
    }

    fn feature_line(&self, feature: &FeatureShare, scale: f64, width: usize) -> Line<'static> {
        let name = (width * 3 / 10).clamp(8, 32);
        let cell = (width / 6).clamp(6, 16);
        let half = width.saturating_sub(name + cell + 12) / 2;
        let length = ((feature.share.abs() / scale * half as f64).round() as usize).min(half);
        let is_for = feature.share > 0.0;
        let glyph =
            if is_for { self.theme.glyph("▄", "+") } else { self.theme.glyph("▄", "-") };
        let (left, right) = if is_for { (0, length) } else { (length, 0) };
        let cells = |count: usize| glyph.repeat(count);
        Line::from(vec![
            Span::raw(fit(&feature.name, name)),
            Span::raw(" "),
            Span::styled(fit(&feature.cell, cell), self.theme.style(Role::Dim)),
            Span::raw(format!(" {:>8} ", number(feature.share))),
            Span::styled(format!("{:>half$}", cells(left)), self.theme.style(Role::Negative)),
            Span::styled(self.theme.glyph("│", "|"), self.theme.style(Role::Dim)),
            Span::styled(cells(right), self.theme.style(Role::Positive)),
        ])
    }

    fn footer(&self, width: usize) -> Line<'static> {
        if let Some((asked, text)) = &self.typing {
            let question = match asked {
                Asked::Find => "find patients (regular expression): ",
                Asked::Filter => "show only patients (regular expression; empty: all): ",
            };
            return typed_line(&self.theme, question, text, width);
        }
        if let Some(status) = &self.status {
            return Line::styled(head(status, width), self.theme.style(Role::Warn));
        }
        let key = |action: Action| self.keymap.key_in(action, KeyContext::Patients);
        let pair = |first: Action, second: Action| format!("{} {}", key(first), key(second));
        // Help and quit stay visible however narrow it is.
        let mut entries = vec![
            (key(Action::Help), "help"),
            (key(Action::Quit), "quit"),
            (pair(Action::PreviousClass, Action::NextClass), "class"),
            (key(Action::Enlarge), "enlarge"),
            (key(Action::Sort), "sort"),
            (key(Action::Filter), "filter"),
            (key(Action::Find), "find"),
            (key(Action::Reverse), "reverse"),
        ];
        let mut used = 0;
        entries.retain(|(key, word)| {
            used += key.width() + word.width() + 3;
            used <= width + 2
        });
        let last = entries.len().min(2);
        entries.rotate_left(last);
        let spans = entries.into_iter().flat_map(|(key, word)| {
            [
                Span::styled(key, self.theme.style(Role::Accent)),
                Span::styled(format!(" {word}  "), self.theme.style(Role::Dim)),
            ]
        });
        Line::from(spans.collect::<Vec<_>>())
    }

    fn draw_help(&self, frame: &mut Frame<'_>, body: Rect, cautions: &[String]) {
        let width = usize::from(body.width).saturating_sub(2);
        let mut lines: Vec<Line<'static>> = Vec::new();
        for caution in cautions {
            lines.extend(wrap(caution, width).into_iter().map(Line::from));
        }
        if !cautions.is_empty() {
            lines.push(Line::from(""));
        }
        for (keys, words) in self.help() {
            lines.push(Line::from(vec![
                Span::styled(fit(&keys, 18), self.theme.style(Role::Accent)),
                Span::raw(head(words, width.saturating_sub(18))),
            ]));
        }
        frame.render_widget(Clear, body);
        let inside = framed(frame, &self.theme, "Cautions, notices and keys", body);
        frame.render_widget(Paragraph::new(lines), inside);
    }
}

/// Widths of the columns of the table; 0 leaves one out.
struct PatientColumns {
    id: usize,
    predicted: usize,
    set: usize,
    known: usize,
    flags: usize,
}

/// Confidence and credibility.
const SHARE: usize = 6;

impl PatientColumns {
    fn new(screen: &PatientsScreen<'_>, width: usize) -> Self {
        let classes = &screen.cohort.scorer().model().classes;
        let longest = classes.iter().map(|class| clean(class).width()).max().unwrap_or(0);
        let predicted = (longest + 1).clamp(10, 16);
        let known = if screen.cohort.has_classes() && width >= 50 { predicted + 2 } else { 0 };
        let rest = width.saturating_sub(2 * SHARE + predicted + known);
        let flags = if screen.cohort.counts().odd > 0 && width >= 60 { rest / 3 } else { 0 };
        let set = (rest - flags) / 2;
        Self { id: rest - flags - set, predicted, set, known, flags }
    }

    fn heading(&self, screen: &PatientsScreen<'_>) -> Line<'static> {
        let right = |text: &str| format!("{text:>SHARE$}");
        let entries = [
            (fit("id", self.id), PatientColumn::Id),
            (fit("predicted", self.predicted), PatientColumn::Predicted),
            (fit("set", self.set), PatientColumn::Set),
            (right("conf "), PatientColumn::Confidence),
            (right("cred "), PatientColumn::Credibility),
            (fit("known", self.known), PatientColumn::Known),
            (fit("flags", self.flags), PatientColumn::Flags),
        ];
        let sorted = screen.table.column();
        let role = |column| if column == sorted { Role::Accent } else { Role::Dim };
        let spans = entries
            .into_iter()
            .map(|(text, column)| Span::styled(text, screen.theme.style(role(column))));
        Line::from(spans.collect::<Vec<_>>())
    }

    fn row(
        &self,
        screen: &PatientsScreen<'_>,
        row: &ScoredRow,
        is_selected: bool,
    ) -> Line<'static> {
        let theme = &screen.theme;
        let style = if is_selected { theme.selected() } else { Style::new() };
        let coloured = |role: Role| theme.style(role).patch(style);
        let classes = &screen.cohort.scorer().model().classes;
        // A column ends with a blank.
        let cell = |text: &str, width: usize| match width {
            0 => String::new(),
            _ => fit(text, width - 1) + " ",
        };
        let predicted = &classes[row.predicted];
        let is_missed = row
            .class
            .as_ref()
            .is_some_and(|class| !row.set.iter().any(|&own| classes[own] == *class));
        // Not by colour alone.
        let mark = if is_missed { theme.glyph("✕ ", "x ") } else { "" };
        let known = format!("{mark}{}", row.class.as_deref().unwrap_or(""));
        let set_role = match row.set.len() {
            1 => Role::Good,
            0 => Role::Bad,
            _ => Role::Warn,
        };
        let is_match = screen.table.search().is_some_and(|search| search.passes(&row.id));
        Line::from(vec![
            Span::styled(
                cell(&row.id, self.id),
                if is_match { coloured(Role::Accent) } else { style },
            ),
            Span::styled(cell(predicted, self.predicted), style),
            Span::styled(cell(&screen.set_words(row), self.set), coloured(set_role)),
            Span::styled(format!("{:>5.3} ", row.confidence), style),
            Span::styled(format!("{:>5} ", label_p(row.credibility)), style),
            Span::styled(
                cell(&known, self.known),
                if is_missed { coloured(Role::Bad) } else { style },
            ),
            Span::styled(cell(&screen.flag_words(row), self.flags), coloured(Role::Warn)),
        ])
    }
}
