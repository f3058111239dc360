//! Dots of braille, eight in a cell, or a character of ASCII in their place.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

/// Braille dots: two columns and four rows per cell.
pub(super) struct Dots {
    area: Rect,
    cells: Vec<(u8, DotStyle)>,
}

/// Style, and what stands for it in ASCII.
pub(super) type DotStyle = (Style, &'static str);

impl Dots {
    /// Rows of dots per cell.
    pub(super) const ROWS: usize = 4;

    pub(super) fn new(area: Rect) -> Self {
        let cells = usize::from(area.width) * usize::from(area.height);
        Self { area, cells: vec![(0, (Style::new(), ".")); cells] }
    }

    pub(super) fn columns(&self) -> usize {
        2 * usize::from(self.area.width)
    }

    pub(super) fn rows(&self) -> usize {
        Self::ROWS * usize::from(self.area.height)
    }

    pub(super) fn set(&mut self, column: usize, row: f64, look: DotStyle) {
        if row < 0.0 || row.is_nan() || row >= self.rows() as f64 || column >= self.columns() {
            return;
        }
        // The order of the dots in U+2800.
        const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let row = row as usize;
        let width = usize::from(self.area.width);
        let cell = &mut self.cells[row / Self::ROWS * width + column / 2];
        cell.0 |= BITS[column % 2][row % Self::ROWS];
        cell.1 = look;
    }

    /// The vertical part of a line between two neighbouring columns.
    pub(super) fn rise(&mut self, column: usize, from: f64, to: f64, look: DotStyle) {
        let low = from.min(to).max(0.0);
        let high = from.max(to).min(self.rows() as f64);
        let mut row = low + 1.0;
        while row < high {
            self.set(column, row, look);
            row += 1.0;
        }
    }

    pub(super) fn paint(&self, ascii: bool, buffer: &mut Buffer) {
        let width = usize::from(self.area.width);
        for (i, (bits, (style, mark))) in
            self.cells.iter().enumerate().filter(|(_, (bits, _))| *bits != 0)
        {
            let place = (self.area.x + (i % width) as u16, self.area.y + (i / width) as u16);
            let Some(cell) = buffer.cell_mut(place) else { continue };
            // A half of a band becomes its background.
            if matches!(cell.symbol(), "▀" | "▄") && cell.fg != Color::Reset {
                cell.bg = cell.fg;
            }
            cell.modifier = Modifier::empty();
            cell.set_style(*style);
            if ascii {
                cell.set_symbol(mark);
            } else {
                cell.set_char(char::from_u32(0x2800 + u32::from(*bits)).unwrap_or(' '));
            }
        }
    }
}
