//! A sheet of paper and the panels on it: axes, lines with bands, bars, cells. Knows pixels, no metrics.
//!
//! A sheet is 1050 units wide: printed at one column (89 mm) its small text has 6 points.

use plotters::backend::SVGBackend;
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea};
use plotters::element::{Circle, Drawable, PathElement, PointCollection, Polygon, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontTransform, IntoFont, RGBColor, ShapeStyle, TextStyle};

use super::axis::Axis;
use crate::error::{Error, Result, printable};

/// The width of every sheet.
pub const WIDTH: i32 = 1050;
/// Where panels begin; what names the vertical axis and its ticks stands before.
pub const LEFT: i32 = 150;
/// Height of ordinary and of small text.
pub const TEXT: i32 = 30;
/// Height of tick labels and legends.
pub const SMALL: i32 = 26;

/// Text and axes.
pub const INK: RGBColor = RGBColor(0x22, 0x22, 0x22);
/// Words beside the point.
pub const FAINT: RGBColor = RGBColor(0x70, 0x70, 0x70);
/// Grid lines.
pub const GRID: RGBColor = RGBColor(0xDD, 0xDD, 0xDD);

/// Okabe and Ito's colours, which all eyes tell apart, without the yellow that paper swallows.
pub const COLOURS: [RGBColor; 8] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xD5, 0x5E, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0x66, 0x66, 0x66),
    RGBColor(0x00, 0x00, 0x00),
];

/// How far apart marks stand on a line.
const MARK_EVERY: i32 = 120;
/// Half the width of a mark.
const MARK: i32 = 8;

/// A place on the sheet.
pub type At = (i32, i32);

/// What an SVG is put together on.
pub struct Sheet<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    failed: Option<String>,
}

/// Draws a sheet of some height; gives the text of the SVG.
pub fn sheet(title: &str, height: i32, draw: impl FnOnce(&mut Sheet<'_>)) -> Result<String> {
    let mut svg = String::new();
    let outcome = {
        let area = SVGBackend::with_string(&mut svg, (WIDTH as u32, height as u32)).into_drawing_area();
        let mut sheet = Sheet { area, failed: None };
        sheet.rectangle((0, 0), (WIDTH, height), RGBColor(0xFF, 0xFF, 0xFF));
        draw(&mut sheet);
        let presented = sheet.area.present().map_err(|error| error.to_string());
        sheet.failed.take().map_or(presented, Err)
    };
    outcome.map_err(|error| Error::internal(format!("a figure could not be drawn: {error}")))?;
    Ok(slim(&svg, title))
}

/// Leaves out what is the default anyway (text is escaped, so these are attributes), and says what the figure is.
fn slim(svg: &str, title: &str) -> String {
    let svg = svg
        .replace(" opacity=\"1\"", "")
        .replace(" stroke=\"none\"", "")
        .replace(" stroke-width=\"1\"", "")
        .replace(" text-anchor=\"start\"", "");
    match svg.split_once(">\n") {
        Some((open, rest)) => {
            format!("{open} role=\"img\">\n<title>{}</title>\n{rest}", crate::report::escaped(title))
        }
        None => svg,
    }
}

/// A name from a file as it may stand in a figure: nothing hostile, nothing that XML forbids, not too long.
pub fn label(name: &str, longest: usize) -> String {
    let name: String = printable(name)
        .chars()
        .map(|c| if matches!(c, '\u{fffe}' | '\u{ffff}') { '\u{fffd}' } else { c })
        .collect();
    let length = name.chars().count();
    if length <= longest {
        return name;
    }
    let (head, tail) = (longest.div_ceil(2), longest / 2 - 1);
    name.chars().take(head).chain(['…']).chain(name.chars().skip(length - tail)).collect()
}

/// About how wide a text is.
pub fn width_of(text: &str, size: i32) -> i32 {
    (text.chars().count() as f64 * f64::from(size) * 0.56) as i32
}

impl<'a> Sheet<'a> {
    /// Draws something; the first failure is kept.
    fn put<E>(&mut self, element: E)
    where
        for<'b> &'b E: PointCollection<'b, At>,
        E: Drawable<SVGBackend<'a>>,
    {
        if let Err(error) = self.area.draw(&element) {
            self.failed.get_or_insert_with(|| error.to_string());
        }
    }

    /// A filled rectangle.
    pub fn rectangle(&mut self, from: At, to: At, colour: RGBColor) {
        self.put(Rectangle::new([from, to], colour.filled()));
    }

    /// A line through points.
    pub fn line(&mut self, points: Vec<At>, colour: RGBColor, width: u32) {
        self.put(PathElement::new(points, ShapeStyle::from(&colour).stroke_width(width)));
    }

    /// A straight dashed line.
    pub fn dashed(&mut self, (x0, y0): At, (x1, y1): At, colour: RGBColor) {
        let pieces = f64::from((x1 - x0).abs().max((y1 - y0).abs())) / 16.0;
        let at = |share: f64| {
            let share = share.min(1.0);
            let on = |from: i32, to: i32| from + (f64::from(to - from) * share).round() as i32;
            (on(x0, x1), on(y0, y1))
        };
        for piece in 0..pieces.ceil() as i32 {
            let start = f64::from(piece) / pieces;
            self.line(vec![at(start), at(start + 0.55 / pieces)], colour, 2);
        }
    }

    /// An area that lets what is below shine through.
    pub fn veil(&mut self, outline: Vec<At>, colour: RGBColor) {
        self.put(Polygon::new(outline, colour.mix(0.16).filled()));
    }

    /// A mark that tells a line from others without its colour.
    pub fn mark(&mut self, which: usize, (x, y): At, colour: RGBColor) {
        let r = MARK;
        let shape: Vec<At> = match which % 8 {
            0 => return self.put(Circle::new((x, y), r, colour.filled())),
            1 => vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
            2 => vec![(x, y - r - 2), (x + r + 1, y + r), (x - r - 1, y + r)],
            3 => vec![(x, y - r - 3), (x + r + 3, y), (x, y + r + 3), (x - r - 3, y)],
            4 => vec![(x, y + r + 2), (x + r + 1, y - r), (x - r - 1, y - r)],
            5 => return self.put(Circle::new((x, y), r, ShapeStyle::from(&colour).stroke_width(3))),
            6 => {
                self.line(vec![(x - r, y - r), (x + r, y + r)], colour, 4);
                return self.line(vec![(x - r, y + r), (x + r, y - r)], colour, 4);
            }
            _ => vec![(x - r - 3, y - 3), (x + r + 3, y - 3), (x + r + 3, y + 3), (x - r - 3, y + 3)],
        };
        self.put(Polygon::new(shape, colour.filled()));
    }

    /// Words; `across` says which part of them is at the place.
    pub fn words(&mut self, text: &str, at: At, size: i32, across: HPos, colour: RGBColor) {
        let style = style(size, colour).pos(Pos::new(across, VPos::Center));
        self.put(Text::new(text.to_owned(), at, style));
    }

    /// Words that run upwards, centred.
    pub fn upwards(&mut self, text: &str, at: At, size: i32) {
        let style =
            style(size, INK).pos(Pos::new(HPos::Center, VPos::Center)).transform(FontTransform::Rotate270);
        self.put(Text::new(text.to_owned(), at, style));
    }

    /// A row (or more) of marks and names; gives the height that it took.
    pub fn legend(&mut self, (left, top): At, items: &[(String, RGBColor)]) -> i32 {
        let (mut x, mut y) = (left, top + SMALL / 2);
        for (which, (name, colour)) in items.iter().enumerate() {
            let width = 60 + width_of(name, SMALL);
            if x > left && x + width > WIDTH {
                (x, y) = (left, y + SMALL + 12);
            }
            self.line(vec![(x, y), (x + 44, y)], *colour, 4);
            self.mark(which, (x + 22, y), *colour);
            self.words(name, (x + 52, y), SMALL, HPos::Left, INK);
            x += width + 22;
        }
        y - top + SMALL / 2
    }
}

fn style(size: i32, colour: RGBColor) -> TextStyle<'static> {
    // The backend divides by 1.24.
    let mut style = TextStyle::from(("sans-serif", f64::from(size) * 1.24).into_font());
    style.color = colour.to_backend_color();
    style
}

/// A line of a panel.
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// The points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// For each point what lies around it.
    pub band: Vec<(f64, f64)>,
}

impl Series {
    /// A line without a band.
    pub fn plain(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, band: Vec::new() }
    }
}

/// A rectangle with axes.
pub struct Panel {
    /// Upper left and lower right corner of the inside.
    pub inside: (At, At),
    /// Across.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
}

impl Panel {
    /// Where a value lies; values beyond the axes lie on their ends.
    pub fn at(&self, x: f64, y: f64) -> At {
        let ((left, top), (right, bottom)) = self.inside;
        let across = left + (f64::from(right - left) * self.x.share(x)).round() as i32;
        let up = bottom - (f64::from(bottom - top) * self.y.share(y)).round() as i32;
        (across, up)
    }

    /// Grid, axes, tick labels and the names of both axes.
    pub fn frame(&self, sheet: &mut Sheet<'_>, title: &str) {
        let ((left, top), (right, bottom)) = self.inside;
        for (value, text) in self.y.ticks() {
            let (_, y) = self.at(self.x.lo, value);
            sheet.line(vec![(left, y), (right, y)], GRID, 1);
            sheet.words(&text, (left - 12, y), SMALL, HPos::Right, INK);
        }
        for (value, text) in self.x.ticks() {
            let (x, _) = self.at(value, self.y.lo);
            sheet.line(vec![(x, bottom), (x, bottom + 8)], INK, 2);
            sheet.words(&text, (x, bottom + 26), SMALL, HPos::Center, INK);
        }
        sheet.line(vec![(left, top), (left, bottom), (right, bottom)], INK, 2);
        sheet.words(title, (left, top - 22), TEXT, HPos::Left, INK);
        sheet.words(&self.x.name, ((left + right) / 2, bottom + 62), TEXT, HPos::Center, INK);
        sheet.upwards(&self.y.name, (22, (top + bottom) / 2), TEXT);
    }

    /// A second axis on the right for the same height.
    pub fn right_axis(&self, sheet: &mut Sheet<'_>, axis: &Axis) {
        let ((_, top), (right, bottom)) = self.inside;
        for (value, text) in axis.ticks() {
            let y = bottom - (f64::from(bottom - top) * axis.share(value)).round() as i32;
            sheet.line(vec![(right, y), (right + 8, y)], INK, 2);
            sheet.words(&text, (right + 14, y), SMALL, HPos::Left, INK);
        }
        sheet.line(vec![(right, top), (right, bottom)], INK, 2);
        sheet.upwards(&axis.name, (WIDTH - 22, (top + bottom) / 2), TEXT);
    }

    /// A line with its band and its marks.
    pub fn series(&self, sheet: &mut Sheet<'_>, which: usize, series: &Series) {
        let colour = COLOURS[which % COLOURS.len()];
        let points: Vec<At> = series.points.iter().map(|&(x, y)| self.at(x, y)).collect();
        if series.band.len() > 1 {
            let edge = |upper: bool| {
                let of = move |(&(x, _), &(lo, hi)): (&(f64, f64), &(f64, f64))| {
                    self.at(x, if upper { hi } else { lo })
                };
                series.points.iter().zip(&series.band).map(of).collect::<Vec<At>>()
            };
            let outline = edge(true).into_iter().chain(edge(false).into_iter().rev()).collect();
            sheet.veil(outline, colour);
        }
        // Marks of different lines stand at different places.
        let mut next = points.first().map_or(0, |&(x, _)| x + 30 * which as i32);
        let mut marks = Vec::new();
        for &(x, y) in &points {
            if x >= next {
                marks.push((x, y));
                next = x + MARK_EVERY;
            }
        }
        if marks.is_empty() {
            marks.extend(points.last());
        }
        if points.len() > 1 {
            sheet.line(points, colour, 3);
        }
        for at in marks {
            sheet.mark(which, at, colour);
        }
    }

    /// A dashed line at a height.
    pub fn level(&self, sheet: &mut Sheet<'_>, value: f64, colour: RGBColor) {
        sheet.dashed(self.at(self.x.lo, value), self.at(self.x.hi, value), colour);
    }

    /// A dashed line at a place across, and what it means above the panel's right end.
    pub fn post(&self, sheet: &mut Sheet<'_>, value: f64, text: &str) {
        sheet.dashed(self.at(value, self.y.lo), self.at(value, self.y.hi), FAINT);
        let ((_, top), (right, _)) = self.inside;
        let left = right - width_of(text, SMALL) - 12;
        sheet.dashed((left - 50, top - 20), (left, top - 20), FAINT);
        sheet.words(text, (right, top - 20), SMALL, HPos::Right, FAINT);
    }
}

/// A shade between paper and blue, for a share.
pub fn shade(share: f64) -> RGBColor {
    let share = share.clamp(0.0, 1.0);
    let mix =
        |paper: u8, ink: u8| (f64::from(paper) + (f64::from(ink) - f64::from(paper)) * share).round() as u8;
    RGBColor(mix(0xF4, 0x00), mix(0xF4, 0x4C), mix(0xF0, 0x86))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_harmless_labels() {
        assert_eq!(label("a\u{1b}[31m", 40), "a\\u{1b}[31m");
        assert_eq!(label("x\u{ffff}", 40), "x\u{fffd}");
        let long = label(&"ab".repeat(100), 20);
        assert_eq!((long.chars().count(), long.contains('…')), (20, true));
    }

    #[test]
    fn words_are_text_and_escaped() {
        let svg =
            sheet("a & b", 100, |sheet| sheet.words("<script>", (5, 50), SMALL, HPos::Left, INK)).unwrap();
        assert!(svg.contains("&lt;script&gt;") && svg.contains("<title>a &amp; b</title>"), "{svg}");
        assert!(!svg.contains("<script"));
    }
}
