//! The keys, made from the keymap.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::{Component, Popup, Reaction};
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::theme::Role;
use crate::tui::view::text::fit;

/// All keys, scrolled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HelpPage {
    line: usize,
}

impl HelpPage {
    /// With this line at the top.
    pub fn at(line: usize) -> Self {
        Self { line }
    }
}

impl Component for HelpPage {
    fn act(&mut self, app: &mut App, action: Action) -> Option<Reaction> {
        let last = lines(app).len().saturating_sub(app.popup_height());
        self.line = match action {
            Action::Up => self.line.saturating_sub(1),
            Action::PageUp => self.line.saturating_sub(app.page()),
            Action::Down => (self.line + 1).min(last),
            Action::PageDown => (self.line + app.page()).min(last),
            _ => return None,
        };
        Some(Reaction::STAY)
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, area: Rect) {
        let lines = lines(app);
        let fits = lines.len() <= usize::from(area.height.saturating_sub(2));
        let title = if fits { "Keys" } else { "Keys (↑↓ scroll)" };
        Popup { title, lines, scroll: self.line, wrapped: None }.draw(frame, app, area);
    }
}

fn lines(app: &App) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut chapter = "";
    for binding in app.keymap().bindings() {
        if binding.chapter != chapter {
            if !chapter.is_empty() {
                lines.push(Line::from(""));
            }
            chapter = binding.chapter;
            lines.push(Line::styled(chapter, app.theme().style(Role::Accent)));
        }
        let keys: Vec<String> = binding.keys.iter().map(|key| key.name()).collect();
        lines.push(Line::from(vec![
            Span::styled(fit(&format!("  {}", keys.join("  ")), 16), app.theme().style(Role::Warn)),
            Span::raw(binding.words),
        ]));
    }
    lines.push(Line::from(""));
    lines.push(Line::styled(
        "mouse: click a view, a feature, a panel's title, the timeline; wheel scrolls",
        app.theme().style(Role::Dim),
    ));
    lines
}
