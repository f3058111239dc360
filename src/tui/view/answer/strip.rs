//! The answer in one line, for the other views.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::facts::role;
use crate::analysis::Topic;
use crate::tui::app::{App, plural};
use crate::tui::theme::Role;

/// The line, as far as there is room: size, stability, accuracy, cautions, my list.
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
    let said = answer.about(&[Topic::Stability]).next();
    if let (Some(stability), Some(said)) = (answer.stability_judged(), said) {
        pieces.push((format!("stability {}", stability.short_words()), role(said.tone)));
    }
    let tested = answer.tested.as_ref();
    if let Some(performance) = tested.and_then(|tested| tested.performance.as_ref()) {
        let accuracy = performance.accuracy.value;
        let rate = performance.no_information_rate;
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
