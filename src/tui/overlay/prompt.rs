//! A line of text that is typed in the footer.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::{Component, Reaction};
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::theme::Role;
use crate::tui::view::text::tail;

/// What a typed line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompt {
    /// A feature's name.
    Find,
    /// A number of features.
    GoTo,
}

impl Prompt {
    fn question(self) -> &'static str {
        match self {
            Self::Find => "find a feature: ",
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
            KeyCode::Backspace => drop(self.text.pop()),
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => self.text.push(c),
            _ => {}
        }
        Some(Reaction::STAY)
    }

    fn footer(&self, app: &App, width: usize) -> Option<Line<'static>> {
        let question = self.prompt.question();
        Some(Line::from(vec![
            Span::styled(question, app.theme().style(Role::Accent)),
            Span::raw(tail(&self.text, width.saturating_sub(question.width() + 1))),
            Span::styled(app.theme().glyph("▏", "_"), app.theme().style(Role::Cursor)),
        ]))
    }

    fn draw(&self, _frame: &mut Frame<'_>, _app: &App, _area: Rect) {}
}
