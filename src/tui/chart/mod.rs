//! Curves over sizes, the one chart of the dashboard: real ticks on a linear or logarithmic axis, a
//! shaded band, reference lines, the cursor and the chosen size, labels at the ends of the curves.
//! One feature is at the left, as in the report.
//!
//! Knows nothing of runs: it draws points.

mod dots;
mod end_labels;
mod size_axis;
mod value_axis;

pub use size_axis::{AxisScale, SizeAxis};

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;

use super::theme::{Role, Theme};
use super::view::text::head;
use dots::Dots;
use value_axis::{ROWS_PER_TICK, ValueAxis};

/// From this width on there is room for labels at the ends of the curves.
const LABELS_FROM: u16 = 48;

/// Cells between the marks that tell curves apart without colours.
const MARK_EVERY: usize = 12;

#[derive(Debug, Clone)]
pub struct ChartCurve {
    /// What it is called, at its end.
    pub label: String,
    /// How it looks.
    pub style: Style,
    /// What it is drawn with in ASCII, and what is put on it now and then where there are others.
    pub mark: &'static str,
    /// Size and value, by rising size.
    pub points: Vec<(usize, f64)>,
    /// Lower and upper bound of a shaded band, by rising size.
    pub band: Vec<(usize, (f64, f64))>,
}

/// A horizontal line with a meaning.
#[derive(Debug, Clone)]
pub struct ReferenceLine {
    /// Where it is.
    pub value: f64,
    /// What it is called.
    pub label: String,
    /// How it looks.
    pub style: Style,
}

impl ChartCurve {
    /// A curve without a band.
    pub fn line(
        label: impl Into<String>,
        style: Style,
        mark: &'static str,
        points: Vec<(usize, f64)>,
    ) -> Self {
        Self { label: label.into(), style, mark, points, band: Vec::new() }
    }
}

impl ReferenceLine {
    /// A line at this value.
    pub fn new(value: f64, label: &str, style: Style) -> Self {
        Self { value, label: label.to_owned(), style }
    }
}

/// Curves on common axes.
#[derive(Debug, Clone)]
pub struct Chart {
    pub axis: SizeAxis,
    /// The curves, the last on top.
    pub curves: Vec<ChartCurve>,
    /// Horizontal lines.
    pub references: Vec<ReferenceLine>,
    /// The size under the cursor.
    pub cursor: Option<usize>,
    /// The size that was chosen.
    pub chosen: Option<usize>,
    /// Values cannot lie outside of these.
    pub bounds: (f64, f64),
    /// The axis stands for these values instead of sizes; see [`Chart::of_values`].
    pub across: Option<(f64, f64)>,
}

/// Places of an axis of values.
const PLACES: usize = 1000;

/// Cells between two ticks of an axis of values.
const CELLS_PER_TICK: u16 = 12;

/// Where the curves of a chart are, for the mouse.
#[derive(Debug, Clone, Copy)]
pub struct ChartArea {
    area: Rect,
    axis: SizeAxis,
}

impl ChartArea {
    /// For every column, its place and the size that it stands for.
    pub fn columns(self) -> impl Iterator<Item = (Rect, usize)> {
        let Rect { x, width, .. } = self.area;
        (0..width).map(move |cell| {
            (Rect { x: x + cell, width: 1, ..self.area }, self.axis.size_of_cell(cell, width))
        })
    }
}

/// The place of a value on an axis of values.
fn place_of((low, high): (f64, f64), value: f64) -> usize {
    let share = if high > low { (value - low) / (high - low) } else { 0.5 };
    1 + (share.clamp(0.0, 1.0) * (PLACES - 1) as f64).round() as usize
}

impl Chart {
    /// Curves over a range of values: label, style, mark, and points by rising value.
    pub fn of_values(
        range: (f64, f64),
        curves: impl IntoIterator<Item = (String, Style, &'static str, Vec<(f64, f64)>)>,
        references: Vec<ReferenceLine>,
    ) -> Self {
        let curve =
            |(label, style, mark, points): (String, Style, &'static str, Vec<(f64, f64)>)| {
                let mut points: Vec<(usize, f64)> = points
                    .into_iter()
                    .map(|(value, score)| (place_of(range, value), score))
                    .collect();
                points.dedup_by_key(|point| point.0);
                ChartCurve::line(label, style, mark, points)
            };
        Self {
            axis: SizeAxis::new(1..=PLACES, AxisScale::Linear),
            curves: curves.into_iter().map(curve).collect(),
            references,
            cursor: None,
            chosen: None,
            bounds: (f64::NEG_INFINITY, f64::INFINITY),
            across: Some(range),
        }
    }

    /// Draws into an area; where the curves are, unless it is too small for any.
    pub fn draw(&self, theme: &Theme, area: Rect, buffer: &mut Buffer) -> Option<ChartArea> {
        if area.width < 12 || area.height < 4 {
            return None;
        }
        let Some(range) = self.range() else {
            buffer.set_string(
                area.x,
                area.y,
                head("nothing yet", usize::from(area.width)),
                theme.style(Role::Dim),
            );
            return None;
        };
        let values = ValueAxis::new(range, self.bounds, area.height - 2);
        let left = values.ticks().map(|tick| values.label(tick).width()).max().unwrap_or(1).min(8)
            as u16
            + 1;
        let right = if area.width >= LABELS_FROM { self.end_width() } else { 0 };
        let inside = Rect {
            x: area.x + left,
            y: area.y,
            width: area.width.checked_sub(left + right).filter(|&width| width >= 4)?,
            height: area.height - 2,
        };
        self.draw_values(theme, &values, inside, left, buffer);
        self.draw_bands(theme, &values, inside, buffer);
        self.draw_dots(theme, &values, inside, buffer);
        match self.across {
            None => self.axis.draw(theme, inside, self.cursor, self.chosen, buffer),
            Some(range) => {
                let rows = inside.width / CELLS_PER_TICK * ROWS_PER_TICK;
                let labels = ValueAxis::new(range, (f64::NEG_INFINITY, f64::INFINITY), rows);
                let ticks = labels.ticks().map(|tick| (place_of(range, tick), labels.label(tick)));
                self.axis.draw_with(theme, inside, (None, None), ticks, buffer);
            }
        }
        if right > 0 {
            self.draw_ends(&values, inside, right, buffer);
        }
        Some(ChartArea { area: inside, axis: self.axis })
    }

    /// The range of what is seen.
    fn range(&self) -> Option<(f64, f64)> {
        let seen = |size: &usize| self.axis.place(*size).is_some();
        let points = self.curves.iter().flat_map(|curve| {
            let values =
                curve.points.iter().filter(move |(size, _)| seen(size)).map(|&(_, value)| value);
            let bands = curve
                .band
                .iter()
                .filter(move |(size, _)| seen(size))
                .flat_map(|&(_, (lo, hi))| [lo, hi]);
            values.chain(bands)
        });
        let fold = |range: Option<(f64, f64)>, value: f64| {
            Some(range.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        };
        let range = points.filter(|value| value.is_finite()).fold(None, fold)?;
        let lines = self.references.iter().map(|line| line.value);
        let (low, high) = lines.fold(Some(range), fold)?;
        Some((low.max(self.bounds.0), high.min(self.bounds.1)))
    }

    /// Labels and ticks of the values, at the left.
    fn draw_values(
        &self,
        theme: &Theme,
        values: &ValueAxis,
        inside: Rect,
        left: u16,
        buffer: &mut Buffer,
    ) {
        let dim = theme.style(Role::Dim);
        for y in inside.top()..inside.bottom() {
            buffer.set_string(inside.x - 1, y, theme.glyph("│", "|"), dim);
        }
        let dots = usize::from(inside.height) * Dots::ROWS;
        for tick in values.ticks() {
            let y = inside.y
                + (values.dot(tick, dots) as u16 / Dots::ROWS as u16).min(inside.height - 1);
            let label = values.label(tick);
            let width = usize::from(left) - 1;
            buffer.set_string(inside.x - left, y, format!("{label:>width$}"), dim);
            buffer.set_string(inside.x - 1, y, theme.glyph("┤", "+"), dim);
        }
    }

    /// Bands are areas: a background where there are colours, else a pale glyph.
    fn draw_bands(&self, theme: &Theme, values: &ValueAxis, inside: Rect, buffer: &mut Buffer) {
        let halves = usize::from(inside.height) * 2;
        for curve in self.curves.iter().filter(|curve| !curve.band.is_empty()) {
            let tint = curve.style.fg.and_then(|colour| theme.tint(colour));
            for cell in 0..inside.width {
                let size = self
                    .axis
                    .size_at(f64::from(cell) / f64::from(inside.width.saturating_sub(1).max(1)));
                let Some((low, high)) = interpolated(&self.axis, &curve.band, size, |a, b, t| {
                    (a.0 + t * (b.0 - a.0), a.1 + t * (b.1 - a.1))
                }) else {
                    continue;
                };
                let top = values.dot(high, halves).round().clamp(0.0, (halves - 1) as f64) as usize;
                let bottom =
                    values.dot(low, halves).round().clamp(0.0, (halves - 1) as f64) as usize;
                for row in top / 2..=bottom / 2 {
                    let Some(cell) = buffer.cell_mut((inside.x + cell, inside.y + row as u16))
                    else {
                        continue;
                    };
                    let upper = top <= 2 * row;
                    let lower = bottom > 2 * row;
                    match tint {
                        Some(tint) if upper && lower => {
                            cell.set_bg(tint);
                        }
                        Some(tint) => {
                            cell.set_symbol(if upper { "▀" } else { "▄" }).set_fg(tint);
                        }
                        None => {
                            let style = Style::new().add_modifier(Modifier::DIM);
                            cell.set_symbol(theme.glyph("░", ":")).set_style(style);
                        }
                    }
                }
            }
        }
    }

    /// Reference lines, the chosen size, the cursor, and the curves on top.
    fn draw_dots(&self, theme: &Theme, values: &ValueAxis, inside: Rect, buffer: &mut Buffer) {
        let mut dots = Dots::new(inside);
        let (columns, rows) = (dots.columns(), dots.rows());
        for line in &self.references {
            let row = values.dot(line.value, rows).round();
            (0..columns).step_by(3).for_each(|column| dots.set(column, row, (line.style, "-")));
        }
        let chosen = (theme.style(Role::Good), "!");
        let cursor = (theme.style(Role::Cursor), "|");
        for (size, look, every) in [(self.chosen, chosen, 1), (self.cursor, cursor, 2)] {
            if let Some(cell) = size.and_then(|size| self.axis.cell(size, inside.width)) {
                (0..rows)
                    .step_by(every)
                    .for_each(|row| dots.set(2 * usize::from(cell), row as f64, look));
            }
        }
        for curve in &self.curves {
            let look = (curve.style, curve.mark);
            let mut previous = None;
            for column in 0..columns {
                let size = self.axis.size_at(column as f64 / (columns - 1).max(1) as f64);
                let value =
                    interpolated(&self.axis, &curve.points, size, |a, b, t| a + t * (b - a));
                let row = value.map(|value| values.dot(value, rows).round());
                if let Some(row) = row {
                    dots.set(column, row, look);
                    if let Some(from) = previous {
                        dots.rise(column, from, row, look);
                    }
                }
                previous = row;
            }
        }
        dots.paint(theme.ascii, buffer);
        if !theme.ascii && self.curves.len() > 1 {
            self.draw_marks(values, inside, buffer);
        }
    }

    /// Marks on the curves, staggered, so that they can be told apart without colours.
    fn draw_marks(&self, values: &ValueAxis, inside: Rect, buffer: &mut Buffer) {
        let apart = MARK_EVERY / self.curves.len().min(MARK_EVERY);
        for (i, curve) in self.curves.iter().enumerate() {
            for x in (apart * i + 1..usize::from(inside.width))
                .step_by(MARK_EVERY.max(apart * self.curves.len()))
            {
                let size =
                    self.axis.size_at(x as f64 / f64::from(inside.width.saturating_sub(1).max(1)));
                let value =
                    interpolated(&self.axis, &curve.points, size, |a, b, t| a + t * (b - a));
                let row = value.map(|value| {
                    values.dot(value, usize::from(inside.height) * Dots::ROWS).round()
                });
                let Some(row) = row.filter(|row| {
                    (0.0..f64::from(inside.height) * Dots::ROWS as f64).contains(row)
                }) else {
                    continue;
                };
                let place = (inside.x + x as u16, inside.y + row as u16 / Dots::ROWS as u16);
                if let Some(cell) = buffer.cell_mut(place) {
                    cell.set_symbol(curve.mark).set_style(curve.style);
                }
            }
        }
    }
}

/// A value between two sizes: along a straight line on the axis. None outside of the points.
fn interpolated<T: Copy>(
    axis: &SizeAxis,
    points: &[(usize, T)],
    size: f64,
    between: impl Fn(T, T, f64) -> T,
) -> Option<T> {
    let after = points.partition_point(|&(other, _)| (other as f64) < size - 1e-9);
    let &(right, high) = points.get(after)?;
    if right as f64 - size < 1e-9 {
        return Some(high);
    }
    let &(left, low) = points.get(after.checked_sub(1)?)?;
    let (a, b) = (axis.fraction(left as f64), axis.fraction(right as f64));
    Some(between(low, high, (axis.fraction(size) - a) / (b - a)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::Depth;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::style::Color;

    const SIZES: [(u16, u16); 3] = [(80, 24), (120, 36), (200, 50)];
    const PALETTES: [Theme; 6] = [
        Theme::new(Depth::True, false, false),
        Theme::new(Depth::True, true, false),
        Theme::new(Depth::Indexed, false, false),
        Theme::new(Depth::Sixteen, false, false),
        Theme::new(Depth::None, false, false),
        Theme::new(Depth::None, false, true),
    ];

    /// Two methods over 500 features: a rise to 0.95, with a band on the first.
    fn chart(theme: &Theme, scale: AxisScale) -> Chart {
        let value = |size: usize| 0.5 + 0.45 * (1.0 - 1.0 / size as f64);
        let sizes = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 500];
        let points = |shift: f64| sizes.iter().map(|&size| (size, value(size) - shift)).collect();
        let curve = |i: usize, label: &str, points, band| ChartCurve {
            label: label.into(),
            style: theme.series(i),
            mark: theme.series_mark(i),
            points,
            band,
        };
        Chart {
            axis: SizeAxis::new(1..=500, scale),
            curves: vec![
                curve(1, "RFE", points(0.1), Vec::new()),
                curve(
                    0,
                    "CRFE",
                    points(0.0),
                    sizes
                        .iter()
                        .map(|&size| (size, (value(size) - 0.15, value(size) + 0.04)))
                        .collect(),
                ),
            ],
            references: vec![ReferenceLine {
                value: 0.9,
                label: "target".into(),
                style: theme.style(Role::Good),
            }],
            cursor: Some(34),
            chosen: Some(8),
            bounds: (0.0, 1.0),
            across: None,
        }
    }

    fn drawn(chart: &Chart, theme: &Theme, (width, height): (u16, u16)) -> (Buffer, ChartArea) {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let mut place = None;
        terminal.draw(|frame| place = chart.draw(theme, frame.area(), frame.buffer_mut())).unwrap();
        (terminal.backend().buffer().clone(), place.unwrap())
    }

    fn row(buffer: &Buffer, y: u16) -> String {
        (0..buffer.area.width).map(|x| buffer[(x, y)].symbol()).collect()
    }

    fn words(line: &str) -> Vec<usize> {
        line.split_whitespace().map(|word| word.parse().unwrap()).collect()
    }

    #[test]
    fn sizes_have_real_ticks_with_one_at_the_left() {
        for size in SIZES {
            let chart = chart(&PALETTES[0], AxisScale::Log);
            let (buffer, place) = drawn(&chart, &PALETTES[0], size);
            let labels = words(&row(&buffer, size.1 - 1));
            // Cursor and chosen size come first, with a gap around them.
            let ticks: Vec<usize> =
                labels.iter().copied().filter(|tick| ![8, 34].contains(tick)).collect();
            assert!(
                ticks.iter().all(|tick| [1, 2, 5, 10, 20, 50, 100, 200, 500].contains(tick)),
                "{ticks:?}"
            );
            assert!([1, 2, 100, 200, 500].iter().all(|tick| ticks.contains(tick)), "{ticks:?}");
            assert!(
                labels.contains(&34) && labels.contains(&8),
                "cursor and chosen size: {labels:?}"
            );
            assert!(labels.is_sorted(), "{labels:?}");
            let columns: Vec<usize> = place.columns().map(|(_, size)| size).collect();
            assert!(columns.is_sorted());
            assert_eq!((columns[0], columns[columns.len() - 1]), (1, 500));
        }
    }

    #[test]
    fn linear_axes_have_even_ticks() {
        for size in SIZES {
            let mut chart = chart(&PALETTES[0], AxisScale::Linear);
            (chart.cursor, chart.chosen) = (None, None);
            let (buffer, _) = drawn(&chart, &PALETTES[0], size);
            let labels = words(&row(&buffer, size.1 - 1));
            assert!(labels.len() >= 5 && labels.is_sorted(), "{labels:?}");
            // One step throughout, but for the ends.
            let steps: Vec<usize> = labels[1..].windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(steps.iter().all(|&step| step == steps[0]), "{labels:?}");
            assert!([10, 20, 50, 100].contains(&steps[0]), "{labels:?}");
        }
    }

    #[test]
    fn values_have_round_ticks() {
        for size in SIZES {
            let chart = chart(&PALETTES[0], AxisScale::Log);
            let (buffer, _) = drawn(&chart, &PALETTES[0], size);
            let labels: Vec<String> = (0..size.1 - 2)
                .map(|y| {
                    row(&buffer, y)
                        .chars()
                        .take(5)
                        .filter(|c| c.is_ascii_digit() || *c == '.')
                        .collect()
                })
                .filter(|label: &String| !label.is_empty())
                .collect();
            assert!(labels.len() >= 3, "{labels:?}");
            let values: Vec<f64> = labels.iter().map(|label| label.parse().unwrap()).collect();
            let step = values[0] - values[1];
            assert!(
                values.windows(2).all(|pair| (pair[0] - pair[1] - step).abs() < 1e-9),
                "{values:?}"
            );
        }
    }

    #[test]
    fn cursor_and_chosen_size_are_marked_in_every_palette() {
        for theme in PALETTES {
            for size in SIZES {
                let chart = chart(&theme, AxisScale::Log);
                let (buffer, place) = drawn(&chart, &theme, size);
                for (wanted, mark) in [(8, theme.glyph("◆", "#")), (34, theme.glyph("▲", "^"))]
                {
                    let cell = chart.axis.cell(wanted, place.area.width).unwrap();
                    assert_eq!(
                        buffer[(place.area.x + cell, size.1 - 2)].symbol(),
                        mark,
                        "{theme:?}"
                    );
                    // A line through the whole height, but for what is drawn over it.
                    let lit = (0..place.area.height)
                        .filter(|&y| buffer[(place.area.x + cell, y)].symbol() != " ");
                    assert!(
                        lit.count() * 10 >= usize::from(place.area.height) * 9,
                        "{theme:?} {wanted}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_band_is_seen_in_every_palette() {
        for theme in PALETTES {
            for size in SIZES {
                let chart = chart(&theme, AxisScale::Log);
                let (buffer, place) = drawn(&chart, &theme, size);
                // Far from curves and lines: the lower half of the band at the right.
                let column = place.area.right() - 3;
                let shaded = (0..place.area.height).filter(|&y| {
                    let cell = &buffer[(column, y)];
                    cell.bg != Color::Reset || matches!(cell.symbol(), "▀" | "▄" | "░" | ":")
                });
                assert!(shaded.count() >= 3, "{theme:?} {size:?}");
            }
        }
    }

    #[test]
    fn ascii_is_ascii() {
        let theme = PALETTES[5];
        for size in SIZES {
            let (buffer, _) = drawn(&chart(&theme, AxisScale::Log), &theme, size);
            assert!(buffer.content.iter().all(|cell| cell.symbol().is_ascii()));
        }
    }

    #[test]
    fn every_curve_has_its_name_at_its_end_and_its_own_row() {
        for theme in PALETTES {
            for size in SIZES {
                let mut chart = chart(&theme, AxisScale::Log);
                // All end at the same value.
                for curve in &mut chart.curves {
                    curve.points.last_mut().unwrap().1 = 0.9;
                }
                let (buffer, place) = drawn(&chart, &theme, size);
                let end = |y: u16| -> String {
                    (place.area.right()..size.0).map(|x| buffer[(x, y)].symbol()).collect()
                };
                for name in ["CRFE", "RFE", "target"] {
                    let rows = (0..place.area.height).filter(|&y| end(y).trim() == name);
                    assert_eq!(rows.count(), 1, "{name} {theme:?}");
                }
            }
        }
    }

    #[test]
    fn curves_run_straight_between_their_points() {
        let axis = SizeAxis::new(1..=101, AxisScale::Linear);
        let points = [(1, 0.0), (101, 1.0)];
        let at = |size: f64| interpolated(&axis, &points, size, |a, b, t| a + t * (b - a));
        assert!((at(51.0).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!((at(1.0), at(101.0), at(101.5)), (Some(0.0), Some(1.0), None));
        let axis = SizeAxis::new(1..=100, AxisScale::Log);
        let middle = interpolated(&axis, &[(1, 0.0), (100, 1.0)], 10.0, |a, b, t| a + t * (b - a));
        assert!((middle.unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn what_is_too_small_or_empty_is_left_alone() {
        let theme = PALETTES[0];
        let full = chart(&theme, AxisScale::Log);
        let empty = Chart { curves: Vec::new(), ..full.clone() };
        let flat = Chart {
            curves: vec![ChartCurve {
                points: vec![(1, 1.0), (500, 1.0)],
                ..full.curves[0].clone()
            }],
            references: Vec::new(),
            ..full.clone()
        };
        for width in 1..70 {
            for height in 1..12 {
                let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
                for chart in [&full, &empty, &flat] {
                    terminal
                        .draw(|frame| {
                            let place = chart.draw(&theme, frame.area(), frame.buffer_mut());
                            let inside = |place: ChartArea| {
                                frame.area().intersection(place.area) == place.area
                                    && place.columns().all(|(_, size)| (1..=500).contains(&size))
                            };
                            assert!(place.is_none_or(inside));
                        })
                        .unwrap();
                }
            }
        }
    }
}
