//! The settings, edited line by line; enter runs again with them.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::{Component, Popup, Reaction};
use crate::run::RunSpec;
use crate::tui::action::Action;
use crate::tui::app::{App, Effect};
use crate::tui::form::Form;
use crate::tui::theme::Role;
use crate::tui::view::text::{clean, fit, tail};

/// The width from which every setting has its hint beside it.
const HINTS_FROM: u16 = 78;

/// The settings being edited.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionsEditor {
    form: Form,
}

impl OptionsEditor {
    /// The settings of a run.
    pub fn new(spec: &RunSpec) -> Self {
        Self { form: Form::new(spec) }
    }
}

impl Component for OptionsEditor {
    fn act(&mut self, _app: &mut App, action: Action) -> Option<Reaction> {
        // The wheel: keys are typed.
        match action {
            Action::Up | Action::Down => self.form.go(action == Action::Down),
            _ => return None,
        }
        Some(Reaction::STAY)
    }

    fn typed(&mut self, _app: &mut App, key: KeyEvent) -> Option<Reaction> {
        match key.code {
            KeyCode::Enter => match self.form.spec() {
                Ok(spec) => return Some(Reaction::Stay(vec![Effect::Rerun(Box::new(spec))])),
                Err(error) => self.form.error = Some(error.to_string()),
            },
            KeyCode::Up | KeyCode::BackTab => self.form.go(false),
            KeyCode::Down | KeyCode::Tab => self.form.go(true),
            KeyCode::Backspace => self.form.erase(),
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => self.form.insert(c),
            _ => {}
        }
        Some(Reaction::STAY)
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, area: Rect) {
        let lines = lines(app, &self.form, area.width < HINTS_FROM);
        // The line that is edited and what follows the fields stay in sight; a refusal may need a second line.
        let room = usize::from(area.height.saturating_sub(2));
        let scroll = (self.form.at + 4).saturating_sub(room);
        let wrapped = Some(lines.len() + 1);
        Popup { title: "Settings", lines, scroll, wrapped }.draw(frame, app, area);
    }
}

fn lines(app: &App, form: &Form, is_narrow: bool) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = form
        .fields
        .iter()
        .enumerate()
        .map(|(i, field)| {
            let here = i == form.at;
            let mark = if here { app.theme().glyph("▏", "_") } else { "" };
            let value = format!("{}{mark}", clean(&field.value));
            let style = if here {
                app.theme().style(Role::Accent).add_modifier(Modifier::BOLD)
            } else {
                app.theme().style(Role::Text)
            };
            Line::from(vec![
                Span::styled(
                    if here { app.theme().glyph("▶ ", "> ") } else { "  " },
                    app.theme().style(Role::Accent),
                ),
                Span::styled(fit(field.name, 13), style),
                Span::styled(fit(&tail(&value, 22), 22), style),
                Span::styled(if is_narrow { "" } else { field.hint }, app.theme().style(Role::Dim)),
            ])
        })
        .collect();
    let hint = form.fields.get(form.at).filter(|_| is_narrow).map_or("", |field| field.hint);
    lines.push(Line::styled(hint, app.theme().style(Role::Dim)));
    match &form.error {
        Some(error) => lines.push(Line::styled(clean(error), app.theme().style(Role::Bad))),
        None => lines.push(Line::styled(
            "↑↓ field, type to change, enter run, esc cancel",
            app.theme().style(Role::Dim),
        )),
    }
    lines
}
