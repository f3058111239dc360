//! The state of the screen and how it changes: [`App::update`] takes actions, and gives back what
//! must be done outside.
//!
//! Nothing here draws, waits, or touches the terminal.

mod effect;
mod layout;
mod lists;
mod lookups;
mod messages;
mod playback;
mod run_state;
mod selection;
mod sizes;
mod update;

pub use effect::{CopiedList, Effect, Lookup};
pub use run_state::{Pause, Phase};

use std::path::PathBuf;

use super::derived::Derived;
use super::keymap::Keymap;
use super::theme::Theme;
use crate::run::{RunSpec, TaskId};
use layout::ScreenState;
use lookups::Lookups;
use playback::Playback;
use run_state::RunState;
use selection::SelectionState;
use sizes::Sizes;

/// A count and its noun.
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Everything the screen shows.
pub struct App {
    run: RunState,
    playback: Playback,
    selection: SelectionState,
    sizes: Sizes,
    lookups: Lookups,
    layout: ScreenState,
    theme: Theme,
    keymap: Keymap,
    /// What is computed from the above before a frame is drawn.
    derived: Derived,
}

impl App {
    /// Before anything is known.
    pub fn new(data: PathBuf, spec: RunSpec, theme: Theme, keymap: Keymap) -> Self {
        let playback = Playback::new(TaskId { method: spec.methods[0], split: 0 });
        Self {
            run: RunState::new(data, spec),
            playback,
            selection: SelectionState::default(),
            sizes: Sizes::default(),
            lookups: Lookups::default(),
            layout: ScreenState::default(),
            theme,
            keymap,
            derived: Derived::default(),
        }
    }

    /// Other colours or glyphs.
    pub fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    /// Other keys.
    pub fn set_keymap(&mut self, keymap: Keymap) {
        self.keymap = keymap;
    }

    /// Colours and glyphs.
    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    /// Keys.
    pub fn keymap(&self) -> &Keymap {
        &self.keymap
    }

    /// What is computed before a frame is drawn.
    pub fn derived(&self) -> &Derived {
        &self.derived
    }

    /// Computes what the next frame needs and what is stale.
    pub fn refresh(&mut self) {
        let mut derived = std::mem::take(&mut self.derived);
        derived.refresh(self);
        self.derived = derived;
    }

    /// Other settings: everything begins anew, the screen stays as it is.
    pub fn restart(&mut self, spec: RunSpec) {
        let mut fresh = Self::new(self.run.data.clone(), spec, self.theme, self.keymap.clone());
        fresh.layout = std::mem::take(&mut self.layout).restarted();
        fresh.selection.table = std::mem::take(&mut self.selection.table);
        fresh.playback.speed = self.playback.speed;
        fresh.run.out = self.run.out.take();
        fresh.run.threads = self.run.threads;
        *self = fresh;
    }
}
