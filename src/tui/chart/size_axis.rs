//! The axis of sizes: where a size is, on a linear or logarithmic scale, its ticks, and how it is
//! drawn below a chart.

use std::ops::RangeInclusive;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;

use crate::tui::theme::{Role, Theme};

/// From more features than this on, sizes are laid out by their logarithm.
const LOG_ABOVE: usize = 40;

/// Cells between two labels of the axis of sizes.
const GAP: usize = 2;

/// How sizes are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AxisScale {
    /// Evenly.
    Linear,
    /// Every doubling takes as much room.
    Log,
}

impl AxisScale {
    /// What suits this many features.
    pub fn for_features(features: usize) -> Self {
        if features > LOG_ABOVE { Self::Log } else { Self::Linear }
    }

    /// The other one.
    pub fn toggled(self) -> Self {
        match self {
            Self::Linear => Self::Log,
            Self::Log => Self::Linear,
        }
    }

    fn of(self, size: f64) -> f64 {
        match self {
            Self::Linear => size,
            Self::Log => size.max(1.0).ln(),
        }
    }

    fn back(self, place: f64) -> f64 {
        match self {
            Self::Linear => place,
            Self::Log => place.exp(),
        }
    }
}

/// The axis of sizes: which sizes from left to right, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeAxis {
    from: usize,
    to: usize,
    scale: AxisScale,
}

impl SizeAxis {
    /// All sizes from the smallest, at the left, to the largest.
    pub fn new(sizes: RangeInclusive<usize>, scale: AxisScale) -> Self {
        let from = (*sizes.start()).max(1);
        Self { from, to: (*sizes.end()).max(from), scale }
    }

    /// The part of this axis around a size that is `zoom` doublings narrower.
    pub fn zoomed(self, around: usize, zoom: u32) -> Self {
        if zoom == 0 {
            return self;
        }
        let (low, high) = (self.scale.of(self.from as f64), self.scale.of(self.to as f64));
        let width = (high - low) / f64::from(zoom.min(30)).exp2();
        let middle = self.scale.of(around.clamp(self.from, self.to) as f64);
        let low = (middle - width / 2.0).clamp(low, high - width);
        let size = |place: f64| self.scale.back(place).round() as usize;
        let from = size(low);
        let to = size(low + width);
        // At least three sizes, if there are as many.
        let from = from.min(self.to.saturating_sub(2)).max(self.from);
        Self { from, to: to.max(from + 2).min(self.to), ..self }
    }

    /// Where a size is, from 0 at the left to 1 at the right; none outside.
    pub fn place(&self, size: usize) -> Option<f64> {
        (self.from..=self.to).contains(&size).then(|| self.fraction(size as f64))
    }

    pub(super) fn fraction(&self, size: f64) -> f64 {
        let (low, high) = (self.scale.of(self.from as f64), self.scale.of(self.to as f64));
        if high > low { (self.scale.of(size) - low) / (high - low) } else { 0.5 }
    }

    /// The size at a place, between whole numbers.
    pub(super) fn size_at(&self, place: f64) -> f64 {
        let (low, high) = (self.scale.of(self.from as f64), self.scale.of(self.to as f64));
        self.scale.back(low + place * (high - low)).clamp(self.from as f64, self.to as f64)
    }

    /// The cell of a size among this many.
    pub(super) fn cell(&self, size: usize, cells: u16) -> Option<u16> {
        self.place(size).map(|place| (place * f64::from(cells.saturating_sub(1))).round() as u16)
    }

    /// The nearest size at a cell.
    pub fn size_of_cell(&self, cell: u16, cells: u16) -> usize {
        let place = f64::from(cell) / f64::from(cells.saturating_sub(1).max(1));
        (self.size_at(place).round() as usize).clamp(self.from, self.to)
    }

    /// Sizes worth a tick on an axis of this many cells, the most telling first: the ends, then 1 2
    /// 5 10 20 50 … or, on a short or linear axis, even steps as fine as their labels allow.
    fn ticks(&self, cells: u16) -> Vec<usize> {
        let within = |size: &usize| (self.from..=self.to).contains(size);
        let mut ticks = vec![self.to, self.from];
        let powers = std::iter::successors(Some(1_usize), |power| power.checked_mul(10));
        let decades: Vec<usize> = powers.take_while(|&power| power <= self.to).collect();
        if self.scale == AxisScale::Log {
            let of = |factor: usize| decades.iter().map(move |power| power * factor);
            ticks.extend(of(1).chain(of(5)).chain(of(2)).filter(within));
        }
        if self.scale == AxisScale::Linear || ticks.len() < 5 {
            let needed = self.to.to_string().len() + GAP;
            let fits = |step: &usize| step * usize::from(cells) >= needed * (self.to - self.from);
            let steps = decades.iter().flat_map(|power| [*power, 2 * power, 5 * power]);
            let step = steps.into_iter().find(fits).unwrap_or(self.to);
            ticks.extend((self.from.div_ceil(step)..=self.to / step).map(|i| i * step));
        }
        ticks
    }

    /// Draws it below an area: a line with ticks, and labels as far as there is room. Chosen size
    /// and cursor come first.
    pub fn draw(
        &self,
        theme: &Theme,
        inside: Rect,
        cursor: Option<usize>,
        chosen: Option<usize>,
        buffer: &mut Buffer,
    ) {
        let ticks = self.ticks(inside.width).into_iter().map(|size| (size, size.to_string()));
        self.draw_with(theme, inside, (cursor, chosen), ticks, buffer);
    }

    /// The same with ticks and labels that are given, the most telling first.
    pub(super) fn draw_with(
        &self,
        theme: &Theme,
        inside: Rect,
        (cursor, chosen): (Option<usize>, Option<usize>),
        ticks: impl Iterator<Item = (usize, String)>,
        buffer: &mut Buffer,
    ) {
        let dim = theme.style(Role::Dim);
        let line = inside.bottom();
        let labels = inside.bottom() + 1;
        let rule = theme.glyph("─", "-").repeat(usize::from(inside.width));
        buffer.set_string(inside.x - 1, line, format!("{}{rule}", theme.glyph("└", "+")), dim);
        let start = usize::from(inside.x) - 1;
        let end = usize::from(inside.right());
        let mut taken = vec![false; end + GAP];
        let special = [
            (chosen, theme.glyph("◆", "#"), theme.style(Role::Good).add_modifier(Modifier::BOLD)),
            (cursor, theme.glyph("▲", "^"), theme.style(Role::Cursor).add_modifier(Modifier::BOLD)),
        ];
        let special = special.into_iter().filter_map(|(size, mark, style)| {
            size.map(|size| (size, size.to_string(), mark, style))
        });
        let ticks = ticks.map(|(size, label)| (size, label, theme.glyph("┴", "+"), dim));
        let mut marked = Vec::new();
        for (size, label, mark, style) in special.chain(ticks) {
            let Some(cell) = self.cell(size, inside.width) else { continue };
            let middle = usize::from(inside.x + cell);
            let from = middle
                .saturating_sub((label.len() - 1) / 2)
                .clamp(start, end.saturating_sub(label.len()).max(start));
            let until = from + label.len();
            if until > end || marked.contains(&cell) || taken[from..until].contains(&true) {
                continue;
            }
            taken[from.saturating_sub(GAP)..until + GAP].fill(true);
            marked.push(cell);
            buffer.set_string(inside.x + cell, line, mark, style);
            buffer.set_string(from as u16, labels, label, style);
        }
        // Where a label had no room, at least the mark stays.
        if let Some(cell) =
            cursor.filter(|_| cursor != chosen).and_then(|size| self.cell(size, inside.width))
        {
            buffer.set_string(
                inside.x + cell,
                line,
                theme.glyph("▲", "^"),
                theme.style(Role::Cursor),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zooming_keeps_the_size_in_sight() {
        for scale in [AxisScale::Linear, AxisScale::Log] {
            let axis = SizeAxis::new(1..=20_000, scale);
            for size in [1, 2, 7, 40, 999, 19_999, 20_000] {
                let mut before = axis;
                for zoom in 1..20 {
                    let near = axis.zoomed(size, zoom);
                    assert!(near.place(size).is_some(), "{scale:?} {size} {zoom} {near:?}");
                    assert!(near.to - near.from >= 2, "{near:?}");
                    assert!(
                        near.to - near.from <= before.to - before.from,
                        "{scale:?} {size} {zoom}"
                    );
                    before = near;
                }
            }
            assert_eq!(axis.zoomed(5, 0), axis);
        }
        assert_eq!(
            SizeAxis::new(1..=2, AxisScale::Log).zoomed(2, 3),
            SizeAxis::new(1..=2, AxisScale::Log)
        );
    }

    #[test]
    fn a_click_finds_the_size_it_points_at() {
        for scale in [AxisScale::Linear, AxisScale::Log] {
            let axis = SizeAxis::new(1..=34, scale);
            for cells in [40_u16, 110, 190] {
                for size in 1..=34 {
                    let cell = axis.cell(size, cells).unwrap();
                    let found = axis.size_of_cell(cell, cells);
                    let near = axis.cell(found, cells).unwrap();
                    assert!(near.abs_diff(cell) <= 1, "{scale:?} {cells} {size} {found}");
                }
            }
        }
    }
}
