//! Really quit, while the run is not finished?

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{Component, Popup, Reaction};
use crate::tui::action::Action;
use crate::tui::app::{App, Effect};
use crate::tui::theme::Role;
use crate::tui::view::text::clean;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuitQuestion;

impl Component for QuitQuestion {
    fn act(&mut self, _app: &mut App, action: Action) -> Option<Reaction> {
        match action {
            Action::Quit | Action::Open => Some(Reaction::Stay(vec![Effect::Quit])),
            _ => None,
        }
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, area: Rect) {
        let lines = lines(app);
        // Words do not fill their lines to the end, paths least of all.
        let room = usize::from(area.width.min(Popup::WIDTH)).max(8) * 3 / 4;
        let needed = lines.iter().map(|line| line.width().div_ceil(room).max(1)).sum();
        let wrapped = Some((lines.len() + 1).max(needed));
        Popup { title: "Quit?", lines, scroll: 0, wrapped }.draw(frame, app, area);
    }
}

fn lines(app: &App) -> Vec<Line<'static>> {
    let results = match app.directory() {
        Some(directory) => format!(
            "The run is not finished. Results so far are in {}; the same command resumes it.",
            clean(&directory.to_string_lossy())
        ),
        None => "The run is not finished, and none of it has been saved.".to_owned(),
    };
    let key = app.keymap().key_of(Action::Quit);
    vec![
        Line::from(results),
        Line::from(""),
        Line::styled(
            format!("{key} or enter to quit, esc to stay"),
            app.theme().style(Role::Accent),
        ),
    ]
}
