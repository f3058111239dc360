//! One line: the keys that matter, what is being typed, or what there is to say.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::text::head;
use crate::tui::app::{App, Phase};
use crate::tui::theme::Role;

/// Draws the footer; made from the keymap.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let width = usize::from(area.width);
    let own = app.overlay().and_then(|overlay| overlay.footer(app, width));
    let line = own.unwrap_or_else(|| match (app.status(), app.phase()) {
        (Some(words), _) => Line::styled(head(words, width), app.theme().style(Role::Warn)),
        (None, Phase::Failed(why)) if app.info().is_some() => {
            Line::styled(head(why, width), app.theme().style(Role::Bad))
        }
        _ => keys(app, width),
    });
    frame.render_widget(Paragraph::new(line), area);
}

fn keys(app: &App, width: usize) -> Line<'static> {
    let mut spans = Vec::new();
    let mut used = 0;
    let shown = app.keymap().bindings().iter().filter(|binding| !binding.short.is_empty());
    // Help and quit stay visible however narrow it is.
    let (first, last): (Vec<_>, Vec<_>) = shown.partition(|binding| !matches!(binding.name, "help" | "quit"));
    let entry = |binding: &crate::tui::keymap::Binding| {
        let key = match binding.name {
            "earlier" => app.theme().glyph("←→", "<->").to_owned(),
            "previous_split" => "[ ]".to_owned(),
            _ => binding.keys.first().map_or_else(String::new, |key| key.name()),
        };
        (key, binding.short)
    };
    let size = |(key, word): &(String, &str)| key.width() + word.width() + 3;
    let reserve: usize = last.iter().map(|binding| size(&entry(binding))).sum();
    for binding in first.into_iter().chain(last) {
        let entry = entry(binding);
        let own = size(&entry);
        let is_last = matches!(binding.name, "help" | "quit");
        if !is_last && used + own + reserve > width {
            continue;
        }
        used += own;
        spans.push(Span::styled(entry.0, app.theme().style(Role::Accent)));
        spans.push(Span::styled(format!(" {}  ", entry.1), app.theme().style(Role::Dim)));
    }
    Line::from(spans)
}
