//! The command that makes a model of a list, and what to do with the model.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{Component, Popup, Reaction};
use crate::tui::action::Action;
use crate::tui::app::{App, Effect, plural};
use crate::tui::theme::Role;
use crate::tui::view::text::{clean, wrap};

/// The command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FitPage {
    command: String,
    /// Of my list, not of the answer.
    is_mine: bool,
    features: usize,
}

impl FitPage {
    /// The command for a list with this many features.
    pub fn new(command: String, is_mine: bool, features: usize) -> Self {
        Self { command, is_mine, features }
    }

    fn lines(&self, app: &App, width: usize) -> Vec<Line<'static>> {
        let (dim, accent) = (app.theme().style(Role::Dim), app.theme().style(Role::Accent));
        let lead = if self.is_mine {
            "Fits, calibrates and tests a model of your list; nothing is selected. If you chose it by looking at these rows, \
             what is measured on them is too good."
        } else {
            "Sets rows aside, selects anew on the others, and fits and calibrates a model of that list, which may differ from the \
             answer's. For the answer's own list, save it and give its file with --features; for one of your own, mark features first."
        };
        let mut lines: Vec<Line<'static>> = wrap(lead, width).into_iter().map(Line::from).collect();
        lines.push(Line::from(""));
        lines.extend(
            wrap(&clean(&self.command), width).into_iter().map(|line| Line::styled(line, accent)),
        );
        lines.push(Line::from(""));
        let then = "Then, for new patients: crfe-tui predict M.json NEW.CSV";
        lines.extend(wrap(then, width).into_iter().map(|line| Line::styled(line, dim)));
        let key = app.keymap().key_of(Action::Copy);
        lines.push(Line::styled(format!("{key} copies the command, esc closes"), dim));
        lines
    }
}

impl Component for FitPage {
    fn act(&mut self, app: &mut App, action: Action) -> Option<Reaction> {
        if action != Action::Copy {
            return None;
        }
        app.say("the command was sent to the clipboard");
        Some(Reaction::Stay(vec![Effect::CopyWords(self.command.clone())]))
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, area: Rect) {
        let title = if self.is_mine {
            format!("A model of my list: {}", plural(self.features, "feature"))
        } else {
            "A model by the procedure of the answer".to_owned()
        };
        let width = usize::from(area.width.min(Popup::WIDTH)).saturating_sub(2);
        let lines = self.lines(app, width);
        Popup { title: &title, lines, scroll: 0, wrapped: None }.draw(frame, app, area);
    }
}
