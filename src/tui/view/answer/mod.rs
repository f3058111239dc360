//! Answer: which features, how sure that is, and what to beware of.
//!
//! ```text
//! ┌ 9 features are enough ──────┐┌ How sure ─────────────────┐
//! │ feature  in splits          ││ size, stability, accuracy │
//! │ …                           │├ Cautions ─────────────────┤
//! │ ── not in the list ──       ││ ! sentences               │
//! └─────────────────────────────┘└───────────────────────────┘
//! ```

mod facts;
mod list;
mod strip;

pub use facts::difference_words;
pub use list::twins;
pub use strip::strip;

use std::fmt::Write;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::page::Page;
use super::text::{clean, wrap};
use super::{Hits, more, panel};
use crate::analysis::{Answer, MethodAnswer, Paths, Verdict};
use crate::report::summary;
use crate::run::RunInfo;
use crate::select::StopRule;
use crate::tui::action::Action;
use crate::tui::app::{App, plural};
use crate::tui::derived::Derived;
use crate::tui::theme::Role;
use facts::{sure, sure_lines};
use list::list;

/// The view.
pub struct AnswerPage;

impl Page for AnswerPage {
    fn refresh(&self, derived: &mut Derived, app: &App, info: &RunInfo, _paths: &Paths<'_>) {
        derived.refresh_answer_rows(app, info);
        if let Some(size) = derived.answer_size() {
            derived.facts.refresh_comparison(app.history(), info, app.finished(), size);
        }
    }

    fn rows<'a>(&self, derived: &'a Derived) -> Option<&'a [usize]> {
        Some(&derived.answer_rows.rows)
    }

    fn length(&self, app: &App, _info: &RunInfo) -> usize {
        let Some(answer) = app.answer() else { return 0 };
        // At the narrowest, so that the end can always be reached.
        let lines = match app.zoom() {
            Some(1) => sure_lines(app, answer, 38).len(),
            _ => caution_lines(app, 38).len(),
        };
        lines.saturating_sub(app.popup_height() / 2)
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, info: &RunInfo, area: Rect, hits: &mut Hits) {
        let Some(answer) = app.answer() else { return nothing_yet(frame, app, area) };
        match app.zoom() {
            Some(0) => return list(frame, app, info, answer, area, hits),
            Some(1) => return sure(frame, app, answer, area, hits),
            Some(_) => return cautions(frame, app, area, hits),
            None => {}
        }
        if area.width < 72 {
            let needed = sure_lines(app, answer, usize::from(area.width) - 2).len() as u16 + 2;
            let [top, bottom] = Layout::vertical([
                Constraint::Max(needed.min(area.height / 2)),
                Constraint::Min(4),
            ])
            .areas(area);
            sure(frame, app, answer, top, hits);
            return list(frame, app, info, answer, bottom, hits);
        }
        if area.width < 100 {
            let wanted = caution_lines(app, usize::from(area.width) - 2).len() as u16 + 2;
            let [top, bottom] = Layout::vertical([
                Constraint::Min(4),
                Constraint::Length(wanted.clamp(3, area.height * 2 / 5)),
            ])
            .areas(area);
            let [left, right] =
                Layout::horizontal([Constraint::Min(30), Constraint::Length(46)]).areas(top);
            list(frame, app, info, answer, left, hits);
            sure(frame, app, answer, right, hits);
            return cautions(frame, app, bottom, hits);
        }
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(52), Constraint::Min(40)]).areas(area);
        list(frame, app, info, answer, left, hits);
        let needed = sure_lines(app, answer, usize::from(right.width) - 2).len() as u16 + 2;
        let [top, bottom] =
            Layout::vertical([Constraint::Length(needed), Constraint::Min(4)]).areas(right);
        sure(frame, app, answer, top, hits);
        cautions(frame, app, bottom, hits);
    }

    fn text(&self, app: &App, _info: &RunInfo) -> String {
        let answer = Answer::new(app.history(), &app.choice());
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
}

fn nothing_yet(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let inside = super::framed(frame, app.theme(), "No answer yet", area);
    let engine = app.keymap().key_of(Action::ToggleEngine);
    let explore = app.keymap().key_of(Action::Show(super::View::Explore));
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
                Verdict::Unstable => {
                    format!("{method}: {count}, but these data do not support a short list")
                }
                _ if app.taken().is_some() => format!("{method}: {count}, chosen by hand"),
                Verdict::TooFewSplits => {
                    format!("{method}: {count}, from too few splits to judge them")
                }
                Verdict::AllFeatures => format!("{method}: {}", answer.headline),
                _ => format!("{method}: {count} {} enough", if size == 1 { "is" } else { "are" }),
            }
        }
    }
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
        lines.push(Line::styled(
            "nothing known speaks against this list",
            app.theme().style(Role::Dim),
        ));
    }
    lines
}
