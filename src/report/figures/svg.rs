//! An SVG in the making, element by element: rectangles, lines, areas, marks, text. Knows units, no
//! axes.
//!
//! 30 units are the height of ordinary text, whatever its size in print; so a sheet has more units
//! where text is smaller.

use std::fmt::{self, Write};

use super::SheetSize;
use crate::error::printable;
use crate::report::escaped;

/// Height of ordinary text.
pub const TEXT: i32 = 30;
/// Height of tick labels and legends.
pub const SMALL: i32 = 26;
/// Half the width of a mark.
const MARK: i32 = 8;

/// A colour by its shares of red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Colour(pub u8, pub u8, pub u8);

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02X}{:02X}{:02X}", self.0, self.1, self.2)
    }
}

/// The ground.
const PAPER: Colour = Colour(0xFF, 0xFF, 0xFF);
/// Text and axes.
pub const INK: Colour = Colour(0x22, 0x22, 0x22);
/// Secondary text, chosen sizes and bands.
pub const FAINT: Colour = Colour(0x70, 0x70, 0x70);
/// Grid lines.
pub const GRID: Colour = Colour(0xDD, 0xDD, 0xDD);

/// The palette of Okabe and Ito, which colour-blind readers can tell apart, without the yellow that
/// is too light for paper.
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

/// Which part of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Its first letter.
    Start,
    Middle,
    /// Its last letter.
    End,
}

/// What a legend shows before a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LegendKey {
    /// A line with its mark.
    Line,
    Bar,
}

/// A place on the sheet.
pub type At = (i32, i32);

/// An SVG in the making.
pub struct Sheet {
    svg: String,
    width: i32,
}

/// Draws a sheet of this height; the text of the SVG.
pub fn sheet(title: &str, layout: SheetSize, height: i32, draw: impl FnOnce(&mut Sheet)) -> String {
    let width = layout.width;
    let mut sheet = Sheet { svg: String::new(), width };
    sheet.rectangle((0, 0), (width, height), PAPER);
    draw(&mut sheet);
    let tall = layout.mm * f64::from(height) / f64::from(width);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}mm\" height=\"{tall:.2}mm\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"Helvetica, Arial, Liberation Sans, sans-serif\" role=\"img\">\n<title>{}</title>\n{}</svg>\n",
        layout.mm,
        escaped(title),
        sheet.svg
    )
}

/// A name from a file as a label: without control characters and what XML forbids, cut in the
/// middle where it is too long.
pub fn label(name: &str, longest: usize) -> String {
    let name: String = printable(name)
        .chars()
        .map(|c| if matches!(c, '\u{fffe}' | '\u{ffff}') { '\u{fffd}' } else { c })
        .collect();
    let length = name.chars().count();
    if length <= longest {
        return name;
    }
    let head = longest.div_ceil(2);
    let tail = longest / 2 - 1;
    name.chars().take(head).chain(['…']).chain(name.chars().skip(length - tail)).collect()
}

/// About how wide a text is.
pub fn width_of(text: &str, size: i32) -> i32 {
    (text.chars().count() as f64 * f64::from(size) * 0.52) as i32
}

impl Sheet {
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

    /// A translucent area.
    pub fn veil(&mut self, outline: &[At], colour: Colour) {
        let points = Points(outline);
        self.put(format_args!("<polygon opacity=\"0.16\" fill=\"{colour}\" points=\"{points}\"/>"));
    }

    /// A mark that tells a line from others without its colour.
    pub fn mark(&mut self, which: usize, (x, y): At, colour: Colour) {
        let r = MARK;
        let shape: &[At] = match which % 8 {
            0 => {
                return self.put(format_args!(
                    "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"{colour}\"/>"
                ));
            }
            1 => &[(x - r, y - r), (x + r, y - r), (x + r, y + r), (x - r, y + r)],
            2 => &[(x, y - r - 2), (x + r + 1, y + r), (x - r - 1, y + r)],
            3 => &[(x, y - r - 3), (x + r + 3, y), (x, y + r + 3), (x - r - 3, y)],
            4 => &[(x, y + r + 2), (x + r + 1, y - r), (x - r - 1, y - r)],
            5 => {
                return self.put(format_args!(
                    "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"3\"/>"
                ));
            }
            6 => {
                self.line(&[(x - r, y - r), (x + r, y + r)], colour, 4);
                return self.line(&[(x - r, y + r), (x + r, y - r)], colour, 4);
            }
            _ => &[(x - r - 3, y - 3), (x + r + 3, y - 3), (x + r + 3, y + 3), (x - r - 3, y + 3)],
        };
        self.put(format_args!("<polygon fill=\"{colour}\" points=\"{}\"/>", Points(shape)));
    }

    /// A text at a place, centred on its height.
    pub fn words(&mut self, text: &str, at: At, size: i32, anchor: Anchor, colour: Colour) {
        self.text(text, at, size, anchor, format_args!(" fill=\"{colour}\""));
    }

    /// The letter of a panel.
    pub fn letter(&mut self, letter: char, at: At) {
        let bold = format_args!(" font-weight=\"bold\" fill=\"{INK}\"");
        self.text(&letter.to_string(), at, TEXT + 4, Anchor::Start, bold);
    }

    /// Words that run upwards, centred.
    pub fn upwards(&mut self, text: &str, (x, y): At, size: i32) {
        let turned = format_args!(" fill=\"{INK}\" transform=\"rotate(270, {x}, {y})\"");
        self.text(text, (x, y), size, Anchor::Middle, turned);
    }

    fn text(
        &mut self,
        text: &str,
        (x, y): At,
        size: i32,
        anchor: Anchor,
        more: fmt::Arguments<'_>,
    ) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = escaped(text);
        self.put(format_args!(
            "<text x=\"{x}\" y=\"{y}\" dy=\"0.35em\"{anchor} font-size=\"{size}\"{more}>{text}</text>"
        ));
    }

    /// A row (or more) of keys and names.
    pub fn legend(&mut self, (left, top): At, key: LegendKey, items: &[(String, Colour)]) {
        let mut x = left;
        let mut y = top + SMALL / 2;
        for (which, (name, colour)) in items.iter().enumerate() {
            let width = 52 + width_of(name, SMALL);
            if x > left && x + width > self.width {
                (x, y) = (left, y + SMALL + 12);
            }
            match key {
                LegendKey::Line => {
                    self.line(&[(x, y), (x + 44, y)], *colour, 4);
                    self.mark(which, (x + 22, y), *colour);
                }
                LegendKey::Bar => self.rectangle((x + 10, y - 10), (x + 44, y + 10), *colour),
            }
            self.words(name, (x + 52, y), SMALL, Anchor::Start, INK);
            x += width + 26;
        }
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

/// A shade between paper and blue, for a share.
pub fn shade(share: f64) -> Colour {
    let share = share.clamp(0.0, 1.0);
    let mix = |paper: u8, ink: u8| {
        (f64::from(paper) + (f64::from(ink) - f64::from(paper)) * share).round() as u8
    };
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
        let layout = SheetSize { mm: 89.0, width: 1000 };
        let svg = sheet("a & b", layout, 100, |sheet| {
            sheet.words("<script>", (5, 50), SMALL, Anchor::Start, INK)
        });
        assert!(
            svg.contains("&lt;script&gt;") && svg.contains("<title>a &amp; b</title>"),
            "{svg}"
        );
        assert!(!svg.contains("<script") && svg.contains("height=\"8.90mm\""), "{svg}");
    }
}
