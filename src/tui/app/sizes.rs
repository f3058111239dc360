//! The size that is looked at in the charts, and the size that is taken as the answer.

use super::{App, plural};
use crate::analysis::{Choice, MethodAnswer};
use crate::select::BetaRule;
use crate::tui::action::Action;
use crate::tui::chart::{AxisScale, SizeAxis};
use crate::tui::view::View;

/// Steps of the cursor from one end of a chart to the other.
const CURSOR_STEPS: u16 = 100;

/// Sizes, and how they are laid out.
#[derive(Default)]
pub(super) struct Sizes {
    /// k and ψ, once they have been slid.
    pub(super) slid: Option<BetaRule>,
    /// The size that was taken as the answer by hand.
    pub(super) taken: Option<usize>,
    /// The cursor of the charts; none means the size of the answer.
    pub(super) cursor: Option<usize>,
    /// The axis that was asked for; none means what suits the number of features.
    pub(super) scale: Option<AxisScale>,
    /// Doublings by which the range of sizes is narrower than all.
    pub(super) range_zoom: u32,
    /// The range of sizes over which the mouse was dragged; shown as long as the cursor is in it.
    pub(super) range: Option<(usize, usize)>,
    /// The sizes where the mouse was pressed and where it was last, while it is being dragged.
    dragged: Option<(usize, usize)>,
}

impl App {
    /// k and ψ of the β rule as they are slid.
    pub fn rule(&self) -> BetaRule {
        self.sizes.slid.unwrap_or(self.spec().beta_rule)
    }

    /// The size that was taken as the answer by hand.
    pub fn taken(&self) -> Option<usize> {
        self.sizes.taken
    }

    /// What the answer is asked for now.
    pub fn choice(&self) -> Choice {
        Choice::by_hand(self.spec(), self.taken(), self.rule())
    }

    /// The answer of the focused method, once a split has finished.
    pub fn answer(&self) -> Option<&MethodAnswer> {
        self.derived.facts.answer.as_ref()
    }

    /// The size of the answer.
    pub fn chosen_size(&self) -> Option<usize> {
        self.answer().and_then(|answer| answer.chosen.size)
    }

    /// Where the cursor of the charts was put.
    pub fn cursor_size(&self) -> Option<usize> {
        self.sizes.cursor
    }

    /// The size under the cursor of the charts.
    pub fn chart_size(&self) -> usize {
        let own = || self.sizes.cursor.or_else(|| self.chosen_size());
        match self.layout.view {
            View::Explore => self.size(),
            _ => own().unwrap_or_else(|| self.size()),
        }
    }

    /// The axis of sizes, as wide as it was zoomed.
    pub fn axis(&self) -> SizeAxis {
        let (smallest, largest) =
            self.info().map_or((1, 1), |info| (info.kept().max(1), info.units.len()));
        let here = self.chart_size();
        let range = self.sizes.range.filter(|&(from, to)| (from..=to).contains(&here));
        let (from, to) = range.unwrap_or((smallest, largest));
        SizeAxis::new(from..=to, self.scale()).zoomed(here, self.sizes.range_zoom)
    }

    /// The mouse is pressed at a size of a chart.
    pub(in crate::tui) fn press_at(&mut self, size: usize) {
        self.sizes.dragged = Some((size, size));
        self.click_at(size);
    }

    /// The pressed mouse comes to another size; none outside the charts.
    pub(in crate::tui) fn drag_to(&mut self, size: Option<usize>) {
        let (Some((from, _)), Some(size)) = (self.sizes.dragged, size) else { return };
        self.sizes.dragged = Some((from, size));
        self.click_at(size);
    }

    /// The mouse is released: the charts show the range over which it was dragged.
    pub(in crate::tui) fn release(&mut self) {
        let Some((a, b)) = self.sizes.dragged.take().filter(|(a, b)| a != b) else { return };
        self.sizes.range = Some((a.min(b), a.max(b)));
        self.sizes.range_zoom = 0;
        let key = self.keymap.key_of(Action::ZoomOut);
        self.say(format!("sizes {} to {}; {key} shows all", a.min(b), a.max(b)));
    }

    fn click_at(&mut self, size: usize) {
        match self.layout.view {
            View::Explore => self.go_to_size(size),
            _ => self.point_at(size),
        }
    }

    /// Shows a wider range of sizes.
    pub(super) fn zoom_out(&mut self) {
        match self.sizes.range_zoom {
            0 => self.sizes.range = None,
            zoom => self.sizes.range_zoom = zoom - 1,
        }
    }

    /// How sizes are laid out.
    pub fn scale(&self) -> AxisScale {
        let units = self.info().map_or(1, |info| info.units.len());
        self.sizes.scale.unwrap_or_else(|| AxisScale::for_features(units))
    }

    /// Sizes that the focused method has visited on some split, rising.
    pub(super) fn visited(&self) -> Vec<usize> {
        let curve = self.run.history.curve(self.playback.focus.method);
        curve.map_or_else(Vec::new, |curve| curve.sizes().iter().rev().copied().collect())
    }

    /// Puts the cursor of the charts on the visited size nearest to this one.
    pub fn point_at(&mut self, size: usize) {
        let nearest = self.visited().into_iter().min_by_key(|other| other.abs_diff(size));
        self.sizes.cursor = nearest;
    }

    /// The cursor of the charts goes one cell of the axis on, at least to the next visited size.
    pub(super) fn move_chart_cursor(&mut self, right: bool) {
        let (axis, from, visited) = (self.axis(), self.chart_size(), self.visited());
        let cell = |size: usize| {
            axis.place(size).map(|place| (place * f64::from(CURSOR_STEPS)).round() as i64)
        };
        let here = cell(from);
        let moved = |&size: &usize| here.is_none() || cell(size) != here;
        let (below, above): (Vec<usize>, Vec<usize>) =
            visited.iter().filter(|&&size| size != from).partition(|&&size| size < from);
        let to = if right {
            above.iter().copied().find(moved).or(above.last().copied())
        } else {
            below.iter().rev().copied().find(moved).or(below.first().copied())
        };
        if let Some(to) = to {
            self.sizes.cursor = Some(to);
        }
    }

    /// Takes the next larger or smaller visited size as the answer.
    pub(super) fn take_another_size(&mut self, larger: bool) {
        self.refresh();
        let from = self.chosen_size().unwrap_or_else(|| self.chart_size());
        let visited = self.visited();
        let to = if larger {
            visited.iter().find(|&&size| size > from)
        } else {
            visited.iter().rev().find(|&&size| size < from)
        };
        if let Some(&to) = to {
            self.take(Some(to));
        }
    }

    /// Takes a size as the answer, or the rule's own.
    pub(super) fn take(&mut self, size: Option<usize>) {
        if size.is_some() && self.answer().is_none() {
            self.say("no split has finished yet, so there is no answer to change");
            return;
        }
        self.sizes.taken = size;
        self.sizes.cursor = None;
        let key = self.keymap.key_of(Action::OwnSize);
        self.say(match size {
            Some(size) => {
                format!(
                    "the answer now has {}; {key} goes back to the rule's size",
                    plural(size, "feature")
                )
            }
            None => "the answer has the size that the rule chose".into(),
        });
    }
}
