//! One line: the keys that matter, what is being typed, or what there is to say.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::text::head;
use crate::tui::action::Action;
use crate::tui::app::{App, Pause, Phase};
use crate::tui::keymap::Binding;
use crate::tui::theme::Role;
use crate::tui::view::View;

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

/// The keys of the view, in the order of the keymap; those that belong together share a word, those
/// that do nothing now are left out.
fn keys(app: &App, width: usize) -> Line<'static> {
    let mut entries: Vec<(Vec<String>, &'static str, Action)> = Vec::new();
    for binding in
        app.keymap().within(app.view()).filter(|own| !own.short.is_empty() && is_alive(app, own))
    {
        let key = binding.keys.first().map_or_else(String::new, |key| key.name());
        let key = match key.as_str() {
            "left" => app.theme().glyph("←", "left").to_owned(),
            "right" => app.theme().glyph("→", "right").to_owned(),
            _ => key,
        };
        match entries.iter_mut().find(|(_, word, _)| *word == binding.short) {
            Some((keys, ..)) => keys.push(key),
            None => entries.push((vec![key], binding.short, binding.action)),
        }
    }
    // Help and quit stay visible however narrow it is.
    let is_last = |action: Action| matches!(action, Action::Help | Action::Quit);
    let (first, last): (Vec<_>, Vec<_>) = entries.into_iter().partition(|entry| !is_last(entry.2));
    let size = |keys: &[String], word: &str| keys.join(" ").width() + word.width() + 3;
    let reserve: usize = last.iter().map(|(keys, word, _)| size(keys, word)).sum();
    let mut spans = Vec::new();
    let mut used = 0;
    for (keys, word, action) in first.into_iter().chain(last) {
        let own = size(&keys, word);
        if !is_last(action) && used + own + reserve > width {
            continue;
        }
        used += own;
        spans.push(Span::styled(keys.join(" "), app.theme().style(Role::Accent)));
        spans.push(Span::styled(format!(" {word}  "), app.theme().style(Role::Dim)));
    }
    Line::from(spans)
}

/// Whether a key does something now.
fn is_alive(app: &App, binding: &Binding) -> bool {
    let is_running = *app.phase() == Phase::Running && !app.is_replay();
    match binding.action {
        Action::ToggleEngine => is_running,
        Action::StepOnce => is_running && app.pause() != Pause::No,
        Action::NextMethod => app.spec().methods.len() > 1,
        Action::PreviousSplit | Action::NextSplit => app.view() == View::Explore,
        Action::Options => !app.is_replay(),
        _ => true,
    }
}
