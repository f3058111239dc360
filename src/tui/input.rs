//! Keys and the mouse become typed text, or actions through the keymap. Touches no terminal.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use super::action::Action;
use super::app::{App, Effect};
use super::keymap::KeyPress;
use super::overlay::Overlay;
use super::view::{Hit, Hits};

/// What the wheel of the mouse asks for.
pub(super) fn wheel(mouse: &MouseEvent) -> Option<Action> {
    match mouse.kind {
        MouseEventKind::ScrollUp => Some(Action::Up),
        MouseEventKind::ScrollDown => Some(Action::Down),
        _ => None,
    }
}

impl App {
    /// A key goes to what is being typed, or through the keymap.
    pub fn key(&mut self, key: KeyEvent) -> Vec<Effect> {
        if let Some(overlay) = self.take_typing() {
            return self.typed(overlay, key);
        }
        if self.overlay_takes(key) {
            return Vec::new();
        }
        match self.keymap().action(KeyPress::of(&key), self.view()) {
            Some(action) => self.update(action),
            None => Vec::new(),
        }
    }

    fn typed(&mut self, mut overlay: Overlay, key: KeyEvent) -> Vec<Effect> {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('z') if ctrl => {
                self.set_overlay(Some(overlay));
                self.update(Action::Suspend)
            }
            KeyCode::Esc => Vec::new(),
            KeyCode::Char('c') if ctrl => Vec::new(),
            _ => {
                let reaction = overlay.typed(self, key);
                self.after(overlay, reaction)
            }
        }
    }

    /// The wheel scrolls what is in front; a click goes to what was drawn there; dragging over a
    /// chart shows that range.
    pub fn mouse(&mut self, mouse: MouseEvent, hits: &Hits) -> Vec<Effect> {
        if let Some(action) = wheel(&mouse) {
            return self.update(action);
        }
        match mouse.kind {
            MouseEventKind::Down(MouseButton::Left) if self.overlay().is_some() => {
                self.update(Action::Back)
            }
            MouseEventKind::Down(MouseButton::Left) => {
                let at = Position { x: mouse.column, y: mouse.row };
                // What was drawn last is on top.
                match hits.iter().rev().find(|(area, _)| area.contains(at)).map(|&(_, hit)| hit) {
                    Some(Hit::Tab(view)) => return self.update(Action::Show(view)),
                    // A second click opens it.
                    Some(Hit::Unit(unit)) if self.selected() == Some(unit) => {
                        return self.update(Action::Open);
                    }
                    Some(Hit::Unit(unit)) => self.select(unit),
                    Some(Hit::Column(column)) => self.sort_by(column),
                    Some(Hit::Size(size)) => self.press_at(size),
                    Some(Hit::Step(step)) => self.scrub(step),
                    Some(Hit::Panel(panel)) => {
                        self.set_zoom(Some(panel).filter(|_| self.zoom() != Some(panel)));
                    }
                    None => {}
                }
                Vec::new()
            }
            MouseEventKind::Drag(MouseButton::Left) => {
                let at = Position { x: mouse.column, y: mouse.row };
                let size = hits.iter().rev().find_map(|(area, hit)| match hit {
                    Hit::Size(size) if area.contains(at) => Some(*size),
                    _ => None,
                });
                self.drag_to(size);
                Vec::new()
            }
            MouseEventKind::Up(MouseButton::Left) => {
                self.release();
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}
