//! A palette: everything that can be done, set or looked at, found by a few letters of its name.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::options::OptionsEditor;
use super::prompt::{edit, typed_line};
use super::{Component, Overlay, Popup, Reaction};
use crate::run::options::OPTIONS;
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::theme::Role;
use crate::tui::view::text::{fit, head};

/// Entries that are listed at once.
const LISTED: usize = 14;

/// What is typed, and the chosen line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Palette {
    text: String,
    at: usize,
}

/// Something that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PaletteEntry {
    /// An action, by its place in the keymap.
    Action(usize),
    /// An option, by its place in the table of options.
    Setting(usize),
    Feature(usize),
}

impl Palette {
    /// The best matches, those first in which the letters stand closest together.
    fn entries(&self, app: &App) -> Vec<PaletteEntry> {
        let actions = app.keymap().bindings().iter().enumerate().filter(|(_, own)| {
            own.contexts.contains(&app.view().into()) && own.action != Action::Palette
        });
        let actions = actions.map(|(i, own)| (PaletteEntry::Action(i), own.words));
        let settings = OPTIONS.iter().enumerate().filter(|_| !app.is_replay());
        let settings = settings.map(|(i, own)| (PaletteEntry::Setting(i), own.name));
        let units = app.info().map_or(&[][..], |info| &info.units);
        // Without letters to look for, features would drown the rest.
        let units = if self.text.is_empty() { &[][..] } else { units };
        let features = units
            .iter()
            .enumerate()
            .map(|(i, unit)| (PaletteEntry::Feature(i), unit.name.as_str()));
        let wanted = self.text.to_lowercase();
        let mut found: Vec<(usize, PaletteEntry)> = actions
            .chain(settings)
            .chain(features)
            .filter_map(|(entry, name)| Some((distance(&wanted, name)?, entry)))
            .collect();
        // Stable: actions before settings before features.
        found.sort_by_key(|&(distance, _)| distance);
        found.truncate(LISTED);
        found.into_iter().map(|(_, entry)| entry).collect()
    }

    fn choose(&self, app: &mut App) -> Reaction {
        match self.entries(app).get(self.at) {
            None => Reaction::STAY,
            Some(&PaletteEntry::Action(binding)) => {
                let action = app.keymap().bindings()[binding].action;
                Reaction::Close(app.on_view(action))
            }
            Some(&PaletteEntry::Setting(option)) => {
                let mut editor = OptionsEditor::new(app.spec());
                editor.go_to(OPTIONS[option].name);
                app.set_overlay(Some(Overlay::Options(Box::new(editor))));
                Reaction::Close(Vec::new())
            }
            Some(&PaletteEntry::Feature(unit)) => {
                app.select(unit);
                Reaction::Close(app.look_at(unit))
            }
        }
    }
}

/// How far apart the letters stand in a name, in their order; none if one is missing. Nothing is
/// typed: all are equally near.
fn distance(wanted: &str, name: &str) -> Option<usize> {
    let name = name.to_lowercase();
    if let Some(at) = name.find(wanted) {
        // Best is the beginning of the name, then that of a word.
        let begins_word =
            name.match_indices(wanted).any(|(at, _)| !name[..at].ends_with(char::is_alphanumeric));
        return Some(if at == 0 { 0 } else { 2 - usize::from(begins_word) });
    }
    let (mut first, mut last, mut from) = (None, 0, 0);
    for letter in wanted.chars() {
        let at = from + name[from..].find(letter)?;
        first = first.or(Some(at));
        (last, from) = (at, at + letter.len_utf8());
    }
    Some(3 + last - first.unwrap_or(0))
}

impl Component for Palette {
    fn act(&mut self, app: &mut App, action: Action) -> Option<Reaction> {
        // The wheel: keys are typed.
        let last = self.entries(app).len().saturating_sub(1);
        self.at = match action {
            Action::Up => self.at.saturating_sub(1),
            Action::Down => (self.at + 1).min(last),
            _ => return None,
        };
        Some(Reaction::STAY)
    }

    fn typed(&mut self, app: &mut App, key: KeyEvent) -> Option<Reaction> {
        let last = self.entries(app).len().saturating_sub(1);
        match key.code {
            KeyCode::Enter => return Some(self.choose(app)),
            KeyCode::Up | KeyCode::BackTab => self.at = self.at.saturating_sub(1),
            KeyCode::Down | KeyCode::Tab => self.at = (self.at + 1).min(last),
            _ => {
                edit(&mut self.text, key);
                self.at = 0;
            }
        }
        Some(Reaction::STAY)
    }

    fn footer(&self, app: &App, width: usize) -> Option<Line<'static>> {
        Some(typed_line(app.theme(), ":", &self.text, width))
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, area: Rect) {
        let width = usize::from(area.width.min(Popup::WIDTH)).saturating_sub(24);
        let (dim, accent) = (app.theme().style(Role::Dim), app.theme().style(Role::Accent));
        let line = |(i, entry): (usize, PaletteEntry)| {
            let (kind, name) = match entry {
                PaletteEntry::Action(at) => {
                    let own = &app.keymap().bindings()[at];
                    (own.key_names().first().cloned().unwrap_or_default(), own.words.to_owned())
                }
                PaletteEntry::Setting(at) => {
                    ("setting".to_owned(), format!("{}: {}", OPTIONS[at].name, OPTIONS[at].help))
                }
                PaletteEntry::Feature(unit) => {
                    let name = app.info().map_or("", |info| info.units[unit].name.as_str());
                    ("feature".to_owned(), name.to_owned())
                }
            };
            let style = if i == self.at { accent } else { app.theme().style(Role::Text) };
            let mark = if i == self.at { app.theme().glyph("▶ ", "> ") } else { "  " };
            Line::from(vec![
                Span::styled(mark, accent),
                Span::styled(fit(&kind, 18), dim),
                Span::styled(head(&name, width), style),
            ])
        };
        let mut lines: Vec<Line<'static>> =
            self.entries(app).into_iter().enumerate().map(line).collect();
        if lines.is_empty() {
            lines.push(Line::styled("nothing matches", dim));
        }
        let room = usize::from(area.height.saturating_sub(2));
        let scroll = (self.at + 1).saturating_sub(room);
        Popup { title: "Do, set or find", lines, scroll, wrapped: None }.draw(frame, app, area);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_close_together_come_first() {
        assert_eq!(distance("", "anything"), Some(0));
        assert_eq!(distance("exp", "export tables"), Some(0));
        assert_eq!(distance("tab", "export tables"), Some(1));
        assert_eq!(distance("port", "export"), Some(2));
        assert!(distance("xt", "export tables") < distance("xs", "export tables"));
        assert_eq!(distance("xyz", "export"), None);
        assert_eq!(distance("β″", "increase k of the β rule"), None);
    }
}
