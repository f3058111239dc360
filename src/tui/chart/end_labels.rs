//! Labels at the ends of the curves, each in a row of its own.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

use super::Chart;
use super::dots::Dots;
use super::value_axis::ValueAxis;
use crate::tui::view::text::fit;

/// The widest label at the end of a curve.
const END_LABEL: usize = 14;

impl Chart {
    /// Cells for the labels at the ends.
    pub(super) fn end_width(&self) -> u16 {
        let references = self.references.iter().map(|line| line.label.width());
        let widest = self
            .curves
            .iter()
            .map(|curve| curve.label.width())
            .chain(references)
            .max()
            .unwrap_or(0);
        if widest == 0 { 0 } else { widest.min(END_LABEL) as u16 + 1 }
    }

    /// Names at the right, beside the end of each curve and line; where two would meet, one moves
    /// on.
    pub(super) fn draw_ends(
        &self,
        values: &ValueAxis,
        inside: Rect,
        right: u16,
        buffer: &mut Buffer,
    ) {
        let curves = self.curves.iter().filter_map(|curve| {
            let last =
                curve.points.iter().rev().find(|(size, _)| self.axis.place(*size).is_some())?;
            Some((last.1, curve.label.as_str(), curve.style))
        });
        let references =
            self.references.iter().map(|line| (line.value, line.label.as_str(), line.style));
        let dots = usize::from(inside.height) * Dots::ROWS;
        let mut ends: Vec<(u16, &str, Style)> = curves
            .chain(references)
            .filter(|(_, label, _)| !label.is_empty())
            .map(|(value, label, style)| {
                let row = values.dot(value, dots).round().clamp(0.0, (dots - 1) as f64) as u16;
                (row / Dots::ROWS as u16, label, style)
            })
            .collect();
        ends.sort_by_key(|&(row, ..)| row);
        let wanted: Vec<u16> = ends.iter().map(|end| end.0).collect();
        for (row, (_, label, style)) in spread(&wanted, inside.height).into_iter().zip(&ends) {
            let Some(row) = row else { continue };
            let label = fit(label, usize::from(right) - 1);
            buffer.set_string(inside.right() + 1, inside.y + row, label, *style);
        }
    }
}

/// Rows for labels that want these, rising: each its own, as near as can be; none for those that
/// have no room left.
fn spread(wanted: &[u16], height: u16) -> Vec<Option<u16>> {
    let mut rows: Vec<Option<u16>> = Vec::with_capacity(wanted.len());
    let mut next = 0;
    for (i, &row) in wanted.iter().enumerate() {
        // Those that follow need room, too.
        let after = (wanted.len() - 1 - i) as u16;
        let row = row.min(height.saturating_sub(1 + after)).max(next);
        rows.push((row < height).then_some(row));
        next = row + 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_move_on_where_they_would_meet() {
        assert_eq!(spread(&[3, 3, 3], 10), [Some(3), Some(4), Some(5)]);
        assert_eq!(spread(&[9, 9, 9], 10), [Some(7), Some(8), Some(9)]);
        assert_eq!(spread(&[0, 0], 1), [Some(0), None]);
    }
}
