//! All about one feature: which one, how far it is scrolled, and going on to the next.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{Component, Reaction};
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::theme::Role;
use crate::tui::view::feature;
use crate::tui::view::text::head;

/// All about one feature, scrolled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeaturePage {
    unit: usize,
    line: usize,
}

impl FeaturePage {
    /// The page of this unit, from its top.
    pub fn of(unit: usize) -> Self {
        Self { unit, line: 0 }
    }

    pub fn unit(&self) -> usize {
        self.unit
    }

    /// Scrolled to this line.
    pub fn at(self, line: usize) -> Self {
        Self { line, ..self }
    }
}

impl Component for FeaturePage {
    fn act(&mut self, app: &mut App, action: Action) -> Option<Reaction> {
        match action {
            Action::PageUp => self.line = self.line.saturating_sub(app.page()),
            Action::PageDown => {
                let last = feature::length(app, self.unit).saturating_sub(app.popup_height());
                self.line = (self.line + app.page()).min(last);
            }
            Action::Up | Action::Down => {
                app.select(self.unit);
                app.move_selection(action == Action::Down, 1);
                self.unit = app.selection().unwrap_or(self.unit);
                return Some(Reaction::Stay(app.portrait_wanted(self.unit)));
            }
            Action::Earlier
            | Action::Later
            | Action::PreviousSplit
            | Action::NextSplit
            | Action::NextMethod => {
                return Some(Reaction::Stay(app.on_view(action)));
            }
            Action::Mark => {
                app.select(self.unit);
                return Some(Reaction::Stay(app.on_view(action)));
            }
            _ => return None,
        }
        Some(Reaction::STAY)
    }

    fn footer(&self, app: &App, width: usize) -> Option<Line<'static>> {
        if app.status().is_some() {
            return None;
        }
        let mark = app.keymap().key_of(Action::Mark);
        let method = app.keymap().key_of(Action::NextMethod);
        let words = if app.theme().ascii {
            format!("up/down other features, {mark} my list, [ ] split, {method} method, esc back")
        } else {
            format!("↑↓ other features · {mark} my list · [ ] split · {method} method · esc back")
        };
        Some(Line::styled(head(&words, width), app.theme().style(Role::Accent)))
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, area: Rect) {
        feature::draw(frame, app, area, self.unit, self.line);
    }
}
