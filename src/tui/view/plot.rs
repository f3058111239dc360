//! Curves over falling sizes in braille dots (or ASCII marks): mean lines, faint bands, target lines, the cursor.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::text::number;
use crate::tui::app::App;
use crate::tui::theme::Role;

/// One curve: its value at a size.
pub struct Series<'a> {
    /// How it looks.
    pub style: Style,
    /// Its mark: what it is drawn with in ASCII, and else now and then on the line, where there is another to tell it from.
    pub mark: &'static str,
    /// Drawn as separate dots, and left out of the range's search for detail.
    pub faint: bool,
    /// Its value at a size.
    pub value: Box<dyn Fn(usize) -> Option<f64> + 'a>,
}

/// Curves on common axes; sizes fall from left to right.
pub struct Plot<'a> {
    /// The largest size, at the left.
    pub largest: usize,
    /// The smallest size, at the right.
    pub smallest: usize,
    /// The curves, the last on top.
    pub series: Vec<Series<'a>>,
    /// Horizontal lines.
    pub lines: Vec<(f64, Style)>,
    /// The size under the cursor.
    pub cursor: Option<usize>,
    /// Fixed limits of the axis, else those of the curves.
    pub limits: Option<(f64, f64)>,
}

/// A faint curve has a dot in every so many columns.
const FAINT: usize = 4;

/// Cells between the marks of two curves.
const APART: usize = 3;

/// Cells taken by the labels of the vertical axis.
const LABELS: u16 = 7;

impl Plot<'_> {
    /// Draws into an area; nothing if it is too small.
    pub fn draw(&self, app: &App, area: Rect, buffer: &mut Buffer) {
        if area.width <= LABELS + 4 || area.height < 3 {
            return;
        }
        let inside = Rect { x: area.x + LABELS, width: area.width - LABELS, height: area.height - 1, ..area };
        let columns = usize::from(inside.width) * 2;
        let Some((lo, hi)) = self.limits.or_else(|| self.range(columns)) else {
            buffer.set_string(inside.x, inside.y, "nothing yet", app.theme().style(Role::Dim));
            return;
        };
        // A flat curve at zero lies on the ground; any other runs through the middle.
        let (lo, hi) = match hi - lo {
            span if span > 1e-12 => (lo, hi),
            _ if lo == 0.0 => (0.0, 1.0),
            _ => (lo - 0.5 * lo.abs(), hi + 0.5 * hi.abs()),
        };
        let mut dots = Dots::new(inside);
        let rows = usize::from(inside.height) * 4;
        let row_of = |value: f64| ((hi - value) / (hi - lo) * (rows - 1) as f64).round();
        for &(value, style) in &self.lines {
            let row = row_of(value);
            (0..columns).step_by(3).for_each(|column| dots.set(column, row, (style, ".")));
        }
        let cursor = (app.theme().style(Role::Cursor), ".");
        if let Some(column) = self.cursor.and_then(|size| self.column_of(size, columns)) {
            (0..rows).step_by(2).for_each(|row| dots.set(column, row as f64, cursor));
        }
        for series in &self.series {
            let look = (series.style, series.mark);
            let mut previous: Option<f64> = None;
            for column in 0..columns {
                let row = self.at(series, column, columns).map(row_of);
                if let Some(row) = row.filter(|_| !series.faint || column.is_multiple_of(FAINT)) {
                    dots.set(column, row, look);
                    if let (Some(from), false) = (previous, series.faint) {
                        dots.rise(column, from, row, look);
                    }
                }
                previous = row;
            }
        }
        dots.paint(app.theme().ascii, buffer);
        if !app.theme().ascii {
            self.mark(inside, row_of, buffer);
        }
        self.label(app, area, lo, hi, buffer);
    }

    /// Marks on the lines, staggered, so that they can be told apart without colours.
    fn mark(&self, inside: Rect, row_of: impl Fn(f64) -> f64, buffer: &mut Buffer) {
        let named: Vec<&Series<'_>> = self.series.iter().filter(|series| !series.faint).collect();
        if named.len() < 2 {
            return;
        }
        let every = (APART * named.len()).max(4 * APART);
        for (i, series) in named.iter().enumerate() {
            for x in (2 + APART * i..usize::from(inside.width)).step_by(every) {
                let value = self.at(series, 2 * x, 2 * usize::from(inside.width));
                let row =
                    value.map(&row_of).filter(|row| (0.0..4.0 * f64::from(inside.height)).contains(row));
                let Some(row) = row else { continue };
                if let Some(cell) = buffer.cell_mut((inside.x + x as u16, inside.y + row as u16 / 4)) {
                    cell.set_symbol(series.mark).set_style(series.style);
                }
            }
        }
    }

    fn label(&self, app: &App, area: Rect, lo: f64, hi: f64, buffer: &mut Buffer) {
        let dim = app.theme().style(Role::Dim);
        let width = usize::from(LABELS) - 1;
        let bottom = area.y + area.height - 2;
        buffer.set_string(area.x, area.y, format!("{:>width$}", number(hi)), dim);
        if bottom > area.y {
            buffer.set_string(area.x, bottom, format!("{:>width$}", number(lo)), dim);
        }
        let (left, right) = (self.largest.to_string(), self.smallest.to_string());
        let y = area.y + area.height - 1;
        buffer.set_string(area.x + LABELS, y, &left, dim);
        let from_right = area.x + area.width - right.len() as u16;
        if from_right > area.x + LABELS + left.len() as u16 {
            buffer.set_string(from_right, y, &right, dim);
            let middle = "features";
            if area.width > LABELS + 24 {
                let at = area.x + LABELS + (area.width - LABELS - middle.len() as u16) / 2;
                buffer.set_string(at, y, middle, dim);
            }
        }
    }

    /// A curve at a column of dots: between two sizes, a straight line.
    fn at(&self, series: &Series<'_>, column: usize, columns: usize) -> Option<f64> {
        let place = (column * (self.largest - self.smallest)) as f64 / (columns - 1).max(1) as f64;
        let (whole, share) = (place.floor() as usize, place.fract());
        let left = (series.value)(self.largest - whole)?;
        if share < 1e-9 {
            return Some(left);
        }
        (series.value)(self.largest - whole - 1).map(|right| left + share * (right - left))
    }

    fn column_of(&self, size: usize, columns: usize) -> Option<usize> {
        let span = self.largest - self.smallest;
        (self.smallest..=self.largest)
            .contains(&size)
            .then(|| (self.largest - size) * (columns - 1) / span.max(1))
    }

    /// The range of all curves and lines.
    fn range(&self, columns: usize) -> Option<(f64, f64)> {
        let curves = self
            .series
            .iter()
            .flat_map(|series| (0..columns).filter_map(|column| self.at(series, column, columns)));
        let mut range: Option<(f64, f64)> = None;
        for value in curves.filter(|value| value.is_finite()) {
            range = Some(range.map_or((value, value), |(lo, hi)| (lo.min(value), hi.max(value))));
        }
        let (lo, hi) = range?;
        let lines = self.lines.iter().map(|&(value, _)| value);
        Some(lines.fold((lo, hi), |(lo, hi), value| (lo.min(value), hi.max(value))))
    }
}

/// Braille dots: two columns and four rows a cell.
struct Dots {
    area: Rect,
    cells: Vec<(u8, Look)>,
}

/// Style and ASCII mark.
type Look = (Style, &'static str);

impl Dots {
    fn new(area: Rect) -> Self {
        Self {
            area,
            cells: vec![(0, (Style::new(), ".")); usize::from(area.width) * usize::from(area.height)],
        }
    }

    fn set(&mut self, column: usize, row: f64, look: Look) {
        let (width, height) = (usize::from(self.area.width), usize::from(self.area.height));
        if row < 0.0 || row.is_nan() || row >= (4 * height) as f64 || column >= 2 * width {
            return;
        }
        let row = row as usize;
        // The order of the dots in U+2800.
        const BITS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
        let cell = &mut self.cells[row / 4 * width + column / 2];
        cell.0 |= BITS[column % 2][row % 4];
        cell.1 = look;
    }

    /// The vertical part of a line between two neighbouring columns.
    fn rise(&mut self, column: usize, from: f64, to: f64, look: Look) {
        let (low, high) =
            (from.min(to).max(0.0), from.max(to).min((4 * usize::from(self.area.height)) as f64));
        let mut row = low + 1.0;
        while row < high {
            self.set(column, row, look);
            row += 1.0;
        }
    }

    fn paint(&self, ascii: bool, buffer: &mut Buffer) {
        let width = usize::from(self.area.width);
        for (i, (bits, (style, mark))) in self.cells.iter().enumerate().filter(|(_, (bits, _))| *bits != 0) {
            let position = (self.area.x + (i % width) as u16, self.area.y + (i / width) as u16);
            let Some(cell) = buffer.cell_mut(position) else { continue };
            cell.set_style(*style);
            if ascii {
                cell.set_symbol(mark);
            } else {
                cell.set_char(char::from_u32(0x2800 + u32::from(*bits)).unwrap_or(' '));
            }
        }
    }
}
