//! What the hands do: keys and the mouse become typed text, or actions through the keymap. Touches no terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::action::Action;
use super::app::{App, Effect, Overlay};
use super::keymap::Key;
use super::view::{Hit, Hits};

impl App {
    /// A key goes to what is being typed, or through the keymap.
    pub fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        // Esc and a key typed in one breath arrive as Alt and that key.
        if key.modifiers.contains(KeyModifiers::ALT) {
            let mut effects = self.key(KeyEvent::from(KeyCode::Esc));
            effects.extend(self.key(KeyEvent { modifiers: key.modifiers - KeyModifiers::ALT, ..key }));
            return effects;
        }
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let leaves = key.code == KeyCode::Esc || (ctrl && key.code == KeyCode::Char('c'));
        match (&mut self.overlay, key.code) {
            (Overlay::Prompt(..) | Overlay::Options(_), KeyCode::Char('z')) if ctrl => {
                return self.update(Action::Suspend);
            }
            (Overlay::Prompt(..) | Overlay::Options(_), _) if leaves => self.overlay = Overlay::None,
            (Overlay::Prompt(prompt, text), KeyCode::Enter) => {
                let (prompt, text) = (*prompt, std::mem::take(text));
                self.submit(prompt, &text);
            }
            (Overlay::Prompt(_, text), KeyCode::Backspace) => {
                text.pop();
            }
            (Overlay::Prompt(_, text), KeyCode::Char(c)) if !ctrl => text.push(c),
            (Overlay::Options(form), KeyCode::Enter) => match form.spec() {
                Ok(spec) => return vec![Effect::Rerun(Box::new(spec))],
                Err(error) => form.error = Some(error.to_string()),
            },
            (Overlay::Options(form), KeyCode::Up | KeyCode::BackTab) => form.go(false),
            (Overlay::Options(form), KeyCode::Down | KeyCode::Tab) => form.go(true),
            (Overlay::Options(form), KeyCode::Backspace) => form.erase(),
            (Overlay::Options(form), KeyCode::Char(c)) if !ctrl => form.insert(c),
            (Overlay::Prompt(..) | Overlay::Options(_), _) => {}
            _ => {
                if let Some(action) = self.keymap.action(Key::of(&key)) {
                    return self.update(action);
                }
            }
        }
        Vec::new()
    }

    /// The wheel scrolls what is in front; a click goes to what was drawn there.
    pub fn mouse(&mut self, mouse: MouseEvent, hits: &Hits) -> Vec<Effect> {
        match mouse.kind {
            MouseEventKind::ScrollUp => self.update(Action::Up),
            MouseEventKind::ScrollDown => self.update(Action::Down),
            MouseEventKind::Down(MouseButton::Left) if self.overlay != Overlay::None => {
                self.update(Action::Back)
            }
            MouseEventKind::Down(MouseButton::Left) => {
                let at = Position { x: mouse.column, y: mouse.row };
                // What was drawn last is on top.
                match hits.iter().rev().find(|(area, _)| area.contains(at)).map(|&(_, hit)| hit) {
                    Some(Hit::Tab(view)) => return self.update(Action::Show(view)),
                    Some(Hit::Unit(unit)) => self.selected = Some(unit),
                    Some(Hit::Step(step)) => self.scrub(step),
                    Some(Hit::Panel(panel)) => {
                        self.zoom = if self.zoom == Some(panel) { None } else { Some(panel) };
                    }
                    None => {}
                }
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}
