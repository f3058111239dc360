//! What is on the screen: view, enlarged panel, overlay, scrolling, status line.

use std::collections::BTreeMap;

use crossterm::event::KeyEvent;

use super::{App, Effect};
use crate::tui::overlay::Overlay;
use crate::tui::view::View;

/// What is on the screen.
pub(super) struct ScreenState {
    pub(super) view: View,
    /// The enlarged panel of the view.
    pub(super) zoom: Option<usize>,
    pub(super) overlay: Option<Overlay>,
    /// The first line of each view that scrolls.
    pub(super) scroll: BTreeMap<View, usize>,
    /// The table of classes in place of the charts.
    pub(super) per_class: bool,
    /// All indices of agreement.
    pub(super) indices: bool,
    /// Which pair of metrics is charted.
    pub(super) metrics: usize,
    /// The view was chosen by the user, or by an option.
    pub(super) is_view_chosen: bool,
    /// Columns of the screen, for the end of what is wrapped and scrolls.
    pub(super) width: usize,
    /// Rows of the screen, for pages and the end of what scrolls.
    pub(super) height: usize,
    /// Words for the status line.
    pub(super) status: Option<String>,
}

impl Default for ScreenState {
    fn default() -> Self {
        Self {
            view: View::Explore,
            zoom: None,
            overlay: None,
            scroll: BTreeMap::new(),
            per_class: false,
            indices: false,
            metrics: 0,
            is_view_chosen: false,
            width: 80,
            height: 24,
            status: None,
        }
    }
}

impl ScreenState {
    /// The same screen for another run: nothing in front, nothing enlarged or scrolled.
    pub(super) fn restarted(self) -> Self {
        Self { overlay: None, status: None, zoom: None, scroll: BTreeMap::new(), ..self }
    }
}

impl App {
    /// Starts in this view, unless another was chosen.
    pub(super) fn start_in(&mut self, view: View) {
        if !self.layout.is_view_chosen {
            self.show(view);
        }
    }

    /// Starts in this view, whatever the run.
    pub fn choose_view(&mut self, view: View) {
        self.show(view);
        self.layout.is_view_chosen = true;
    }

    /// Puts something in front of the view, or nothing.
    pub fn set_overlay(&mut self, overlay: Option<Overlay>) {
        self.layout.overlay = overlay;
    }

    /// Enlarges a panel of the view, or none.
    pub fn set_zoom(&mut self, panel: Option<usize>) {
        self.layout.zoom = panel;
    }

    /// The screen has this many columns and rows.
    pub fn set_size(&mut self, columns: u16, rows: u16) {
        (self.layout.width, self.layout.height) = (usize::from(columns), usize::from(rows));
    }

    /// Says something in the status line.
    pub fn say(&mut self, words: impl Into<String>) {
        self.layout.status = Some(words.into());
    }

    /// Says in the status line why nothing is done.
    pub(super) fn refuse(&mut self, why: impl Into<String>) -> Vec<Effect> {
        self.say(why);
        Vec::new()
    }

    pub fn view(&self) -> View {
        self.layout.view
    }

    /// The enlarged panel of the view.
    pub fn zoom(&self) -> Option<usize> {
        self.layout.zoom
    }

    /// What is in front of the view.
    pub fn overlay(&self) -> Option<&Overlay> {
        self.layout.overlay.as_ref()
    }

    /// Takes away what is in front of the view if it is being typed into.
    pub(in crate::tui) fn take_typing(&mut self) -> Option<Overlay> {
        self.layout.overlay.take_if(|overlay| overlay.takes_text())
    }

    /// Whether what is in front of the view takes a key before the keymap does.
    pub(in crate::tui) fn overlay_takes(&mut self, key: KeyEvent) -> bool {
        self.layout.overlay.as_mut().is_some_and(|overlay| overlay.takes_key(key))
    }

    /// The first line that the view shows.
    pub fn scroll(&self) -> usize {
        self.layout.scroll.get(&self.layout.view).copied().unwrap_or(0)
    }

    /// Whether metrics are shown by class.
    pub fn per_class(&self) -> bool {
        self.layout.per_class
    }

    /// Words for the status line.
    pub fn status(&self) -> Option<&str> {
        self.layout.status.as_deref()
    }

    /// Whether all indices of agreement are shown.
    pub fn shows_indices(&self) -> bool {
        self.layout.indices
    }

    /// Which pair of metrics is charted.
    pub fn metrics(&self) -> usize {
        self.layout.metrics
    }

    pub(super) fn show(&mut self, view: View) {
        if self.layout.view != view {
            self.layout.view = view;
            self.layout.zoom = None;
        }
    }

    /// Rows that a page moves by: half a screen, so that the eye keeps its place.
    pub(in crate::tui) fn page(&self) -> usize {
        (self.layout.height / 2).max(1)
    }

    /// Lines inside a box that fills the view.
    pub(in crate::tui) fn popup_height(&self) -> usize {
        self.layout.height.saturating_sub(crate::tui::view::AROUND + 2)
    }

    /// Columns of the screen.
    pub(in crate::tui) fn width(&self) -> usize {
        self.layout.width
    }

    pub(super) fn up_or_down(&mut self, down: bool, by: usize) {
        // An enlarged panel beside the list scrolls.
        let is_list = self.layout.view.page().rows(&self.derived).is_some()
            && (self.layout.view == View::Explore
                || self.layout.zoom.is_none_or(|panel| panel == 0));
        if is_list {
            self.move_selection(down, by);
        } else {
            let last = self.last_line();
            let scroll = self.layout.scroll.entry(self.layout.view).or_default();
            *scroll =
                if down { scroll.saturating_add(by).min(last) } else { scroll.saturating_sub(by) };
        }
    }

    /// The last line that a view can scroll to.
    pub(super) fn last_line(&self) -> usize {
        let lines = self.info().map_or(0, |info| self.layout.view.page().length(self, info));
        lines.saturating_sub(1)
    }
}
