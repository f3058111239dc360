//! What the rest of the program asks of a view; each view answers in its own file.

use ratatui::Frame;
use ratatui::layout::Rect;

use super::Hits;
use crate::analysis::Paths;
use crate::run::RunInfo;
use crate::tui::app::App;
use crate::tui::derived::Derived;

/// One view.
pub trait Page: Sync {
    /// Computes what it shows, as far as that is stale; the answer and the ranks are up to date.
    fn refresh(&self, _derived: &mut Derived, _app: &App, _info: &RunInfo, _paths: &Paths<'_>) {}

    /// The list whose rows can be selected, if it has one.
    fn rows<'a>(&self, _derived: &'a Derived) -> Option<&'a [usize]> {
        None
    }

    /// Lines by which it can be scrolled.
    fn length(&self, _app: &App, _info: &RunInfo) -> usize {
        0
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, info: &RunInfo, area: Rect, hits: &mut Hits);

    /// The same as sentences and tables.
    fn text(&self, app: &App, info: &RunInfo) -> String;
}
