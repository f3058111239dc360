//! A sheet of paper and the panels on it: axes, lines with bands, bars, cells. Knows pixels, no metrics.
//!
//! A sheet is 1050 units wide: printed at one column (89 mm) its small text has 6 points.

use std::fmt::{self, Write};

use super::axis::Axis;
use crate::error::printable;
use crate::report::escaped;

/// The width of every sheet.
pub const WIDTH: i32 = 1050;
/// Where panels begin; what names the vertical axis and its ticks stands before.
pub const LEFT: i32 = 150;
/// Height of ordinary and of small text.
pub const TEXT: i32 = 30;
/// Height of tick labels and legends.
pub const SMALL: i32 = 26;

/// A colour by its shares of red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
    }
}

/// Which part of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its first letter.
    Start,
    /// Its middle.
    Middle,
    /// Its last letter.
    End,
}

/// The ground.
const PAPER: Colour = Colour(0xFF, 0xFF, 0xFF);
/// Text and axes.
pub const INK: Colour = Colour(0x22, 0x22, 0x22);
/// Words beside the point.
pub const FAINT: Colour = Colour(0x70, 0x70, 0x70);
/// Grid lines.
pub const GRID: Colour = Colour(0xDD, 0xDD, 0xDD);

/// Okabe and Ito's colours, which all eyes tell apart, without the yellow that paper swallows.
pub const COLOURS: [Colour; 8] = [
    Colour(0x00, 0x72, 0xB2),
    Colour(0xD5, 0x5E, 0x00),
    Colour(0x00, 0x9E, 0x73),
    Colour(0xCC, 0x79, 0xA7),
    Colour(0xE6, 0x9F, 0x00),
    Colour(0x56, 0xB4, 0xE9),
    Colour(0x66, 0x66, 0x66),
    Colour(0x00, 0x00, 0x00),
];

/// How far apart marks stand on a line.
const MARK_EVERY: i32 = 120;
/// Half the width of a mark.
const MARK: i32 = 8;

/// A place on the sheet.
pub type At = (i32, i32);

/// An SVG in the making, element by element.
#[derive(Default)]
pub struct Sheet {
    svg: String,
}

/// Draws a sheet of this height; the text of the SVG.
pub fn sheet(title: &str, height: i32, draw: impl FnOnce(&mut Sheet)) -> String {
    let mut sheet = Sheet::default();
    sheet.rectangle((0, 0), (WIDTH, height), PAPER);
    draw(&mut sheet);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"Helvetica, Arial, Liberation Sans, sans-serif\" role=\"img\">\n<title>{}</title>\n{}</svg>\n",
        escaped(title),
        sheet.svg
    )
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

impl Sheet {
    /// Adds an element.
    fn put(&mut self, element: fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.svg, "{element}");
    }

    /// A filled rectangle.
    pub fn rectangle(&mut self, (x0, y0): At, (x1, y1): At, colour: Colour) {
        let (width, height) = ((x1 - x0).abs(), (y1 - y0).abs());
        let (x, y) = (x0.min(x1), y0.min(y1));
        self.put(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\"/>"
        ));
    }

    /// A line through points.
    pub fn line(&mut self, points: &[At], colour: Colour, width: u32) {
        self.polyline(points, colour, width, "");
    }

    /// A straight dashed line.
    pub fn dashed(&mut self, from: At, to: At, colour: Colour) {
        self.polyline(&[from, to], colour, 2, " stroke-dasharray=\"9 7\"");
    }

    fn polyline(&mut self, points: &[At], colour: Colour, width: u32, dashes: &str) {
        let points = Points(points);
        self.put(format_args!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"{dashes} points=\"{points}\"/>"
        ));
    }

    /// An area that lets what is below shine through.
    pub fn veil(&mut self, outline: &[At], colour: Colour) {
        let points = Points(outline);
        self.put(format_args!("<polygon opacity=\"0.16\" fill=\"{colour}\" points=\"{points}\"/>"));
    }

    /// A mark that tells a line from others without its colour.
    pub fn mark(&mut self, which: usize, (x, y): At, colour: Colour) {
        let r = MARK;
        let shape: Vec<At> = match which % 8 {
            0 => {
                return self.put(format_args!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"{colour}\"/>"));
            }
            1 => vec![(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
            2 => vec![(x, y - r - 2), (x + r + 1, y + r), (x - r - 1, y + r)],
            3 => vec![(x, y - r - 3), (x + r + 3, y), (x, y + r + 3), (x - r - 3, y)],
            4 => vec![(x, y + r + 2), (x + r + 1, y - r), (x - r - 1, y - r)],
            5 => {
                return self.put(format_args!(
                    "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"3\"/>"
                ));
            }
            6 => {
                self.line(&[(x - r, y - r), (x + r, y + r)], colour, 4);
                return self.line(&[(x - r, y + r), (x + r, y - r)], colour, 4);
            }
            _ => vec![(x - r - 3, y - 3), (x + r + 3, y - 3), (x + r + 3, y + 3), (x - r - 3, y + 3)],
        };
        self.put(format_args!("<polygon fill=\"{colour}\" points=\"{}\"/>", Points(&shape)));
    }

    /// A text at a place, centred on its height.
    pub fn words(&mut self, text: &str, at: At, size: i32, anchor: Anchor, colour: Colour) {
        self.text(text, at, size, anchor, colour, format_args!(""));
    }

    /// Words that run upwards, centred.
    pub fn upwards(&mut self, text: &str, (x, y): At, size: i32) {
        let turned = format_args!(" transform=\"rotate(270, {x}, {y})\"");
        self.text(text, (x, y), size, Anchor::Middle, INK, turned);
    }

    fn text(
        &mut self,
        text: &str,
        (x, y): At,
        size: i32,
        anchor: Anchor,
        colour: Colour,
        turned: fmt::Arguments<'_>,
    ) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = escaped(text);
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"0.35em\"{anchor} font-size=\"{size}\" fill=\"{colour}\"{turned}>{text}</text>"
        ));
    }

    /// A row (or more) of marks and names; gives the height that it took.
    pub fn legend(&mut self, (left, top): At, items: &[(String, Colour)]) -> i32 {
        let (mut x, mut y) = (left, top + SMALL / 2);
        for (which, (name, colour)) in items.iter().enumerate() {
            let width = 60 + width_of(name, SMALL);
            if x > left && x + width > WIDTH {
                (x, y) = (left, y + SMALL + 12);
            }
            self.line(&[(x, y), (x + 44, y)], *colour, 4);
            self.mark(which, (x + 22, y), *colour);
            self.words(name, (x + 52, y), SMALL, Anchor::Start, INK);
            x += width + 22;
        }
        y - top + SMALL / 2
    }
}

/// Points as SVG lists them.
struct Points<'a>(&'a [At]);

impl fmt::Display for Points<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (x, y)) in self.0.iter().enumerate() {
            write!(f, "{}{x},{y}", if i == 0 { "" } else { " " })?;
        }
        Ok(())
    }
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
    pub fn frame(&self, sheet: &mut Sheet, title: &str) {
        let ((left, top), (right, bottom)) = self.inside;
        for (value, text) in self.y.ticks() {
            let (_, y) = self.at(self.x.lo, value);
            sheet.line(&[(left, y), (right, y)], GRID, 1);
            sheet.words(&text, (left - 12, y), SMALL, Anchor::End, INK);
        }
        for (value, text) in self.x.ticks() {
            let (x, _) = self.at(value, self.y.lo);
            sheet.line(&[(x, bottom), (x, bottom + 8)], INK, 2);
            sheet.words(&text, (x, bottom + 26), SMALL, Anchor::Middle, INK);
        }
        sheet.line(&[(left, top), (left, bottom), (right, bottom)], INK, 2);
        sheet.words(title, (left, top - 22), TEXT, Anchor::Start, INK);
        sheet.words(&self.x.name, ((left + right) / 2, bottom + 62), TEXT, Anchor::Middle, INK);
        sheet.upwards(&self.y.name, (22, (top + bottom) / 2), TEXT);
    }

    /// A second axis on the right for the same height.
    pub fn right_axis(&self, sheet: &mut Sheet, axis: &Axis) {
        let ((_, top), (right, bottom)) = self.inside;
        for (value, text) in axis.ticks() {
            let y = bottom - (f64::from(bottom - top) * axis.share(value)).round() as i32;
            sheet.line(&[(right, y), (right + 8, y)], INK, 2);
            sheet.words(&text, (right + 14, y), SMALL, Anchor::Start, INK);
        }
        sheet.line(&[(right, top), (right, bottom)], INK, 2);
        sheet.upwards(&axis.name, (WIDTH - 22, (top + bottom) / 2), TEXT);
    }

    /// A line with its band and its marks.
    pub fn series(&self, sheet: &mut Sheet, which: usize, series: &Series) {
        let colour = COLOURS[which % COLOURS.len()];
        let points: Vec<At> = series.points.iter().map(|&(x, y)| self.at(x, y)).collect();
        if series.band.len() > 1 {
            let edge = |upper: bool| {
                let of = move |(&(x, _), &(lo, hi)): (&(f64, f64), &(f64, f64))| {
                    self.at(x, if upper { hi } else { lo })
                };
                series.points.iter().zip(&series.band).map(of).collect::<Vec<At>>()
            };
            let outline: Vec<At> = edge(true).into_iter().chain(edge(false).into_iter().rev()).collect();
            sheet.veil(&outline, colour);
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
            sheet.line(&points, colour, 3);
        }
        for at in marks {
            sheet.mark(which, at, colour);
        }
    }

    /// A dashed line at a height.
    pub fn level(&self, sheet: &mut Sheet, value: f64, colour: Colour) {
        sheet.dashed(self.at(self.x.lo, value), self.at(self.x.hi, value), colour);
    }

    /// A dashed line at a place across, and what it means above the panel's right end.
    pub fn post(&self, sheet: &mut Sheet, value: f64, text: &str) {
        sheet.dashed(self.at(value, self.y.lo), self.at(value, self.y.hi), FAINT);
        let ((_, top), (right, _)) = self.inside;
        let left = right - width_of(text, SMALL) - 12;
        sheet.dashed((left - 50, top - 20), (left, top - 20), FAINT);
        sheet.words(text, (right, top - 20), SMALL, Anchor::End, FAINT);
    }
}

/// A shade between paper and blue, for a share.
pub fn shade(share: f64) -> Colour {
    let share = share.clamp(0.0, 1.0);
    let mix =
        |paper: u8, ink: u8| (f64::from(paper) + (f64::from(ink) - f64::from(paper)) * share).round() as u8;
    Colour(mix(0xF4, 0x00), mix(0xF4, 0x4C), mix(0xF0, 0x86))
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
        let svg = sheet("a & b", 100, |sheet| sheet.words("<script>", (5, 50), SMALL, Anchor::Start, INK));
        assert!(svg.contains("&lt;script&gt;") && svg.contains("<title>a &amp; b</title>"), "{svg}");
        assert!(!svg.contains("<script"));
    }
}
