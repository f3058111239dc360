//! A line of text that is typed in the footer.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::{Component, Reaction};
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::theme::{Role, Theme};
use crate::tui::view::text::tail;

/// What a typed line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompt {
    /// A feature's name.
    Find,
    /// A regular expression for the names that are shown.
    Filter,
    /// A number of features.
    GoTo,
}

impl Prompt {
    fn question(self) -> &'static str {
        match self {
            Self::Find => "find features (regular expression): ",
            Self::Filter => "show only features (regular expression; empty: all): ",
            Self::GoTo => "go to how many features? ",
        }
    }
}

/// A question and what has been typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinePrompt {
    prompt: Prompt,
    text: String,
}

impl LinePrompt {
    /// With this text in it.
    pub fn new(prompt: Prompt, text: impl Into<String>) -> Self {
        Self { prompt, text: text.into() }
    }
}

impl Component for LinePrompt {
    fn act(&mut self, _app: &mut App, _action: Action) -> Option<Reaction> {
        None
    }

    fn typed(&mut self, app: &mut App, key: KeyEvent) -> Option<Reaction> {
        match key.code {
            KeyCode::Enter => {
                app.submit(self.prompt, &self.text);
                return Some(Reaction::Close(Vec::new()));
            }
            // gg: the first row.
            KeyCode::Char('g') if self.prompt == Prompt::GoTo && self.text.is_empty() => {
                return Some(Reaction::Close(app.on_view(Action::Top)));
            }
            _ => edit(&mut self.text, key),
        }
        Some(Reaction::STAY)
    }

    fn footer(&self, app: &App, width: usize) -> Option<Line<'static>> {
        Some(typed_line(app.theme(), self.prompt.question(), &self.text, width))
    }

    fn draw(&self, _frame: &mut Frame<'_>, _app: &App, _area: Rect) {}
}

/// What a key does to a line of text: ctrl-u clears it, ctrl-w takes the last word away.
pub fn edit(text: &mut String, key: KeyEvent) {
    match key.code {
        KeyCode::Backspace => drop(text.pop()),
        KeyCode::Char('u') if key.modifiers.contains(KeyModifiers::CONTROL) => text.clear(),
        KeyCode::Char('w') if key.modifiers.contains(KeyModifiers::CONTROL) => {
            let kept = text.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
            text.truncate(kept);
        }
        KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => text.push(c),
        _ => {}
    }
}

/// A question and what has been typed, for the footer.
pub fn typed_line(
    theme: &Theme,
    question: &'static str,
    text: &str,
    width: usize,
) -> Line<'static> {
    Line::from(vec![
        Span::styled(question, theme.style(Role::Accent)),
        Span::raw(tail(text, width.saturating_sub(question.width() + 1))),
        Span::styled(theme.glyph("▏", "_"), theme.style(Role::Cursor)),
    ])
}
