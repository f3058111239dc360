//! Figures as PDF and PNG, from their SVG. The font is inside the program, so that the bytes are
//! the same on every machine and a cluster node without fonts will do; only letters that it lacks
//! are looked for among the fonts of the machine.

use std::collections::BTreeSet;
use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};
use svg2pdf::{ConversionOptions, PageOptions};

use crate::error::{Error, Result};

/// Roboto (Apache-2.0): Latin, Greek, Cyrillic and mathematical signs.
const FONT: &[u8] = include_bytes!("roboto.ttf");
const FAMILY: &str = "Roboto";

/// What a millimetre is in pixels is defined by this many pixels per inch.
const CSS_DPI: f32 = 96.0;
/// Pixels per inch of a PNG.
const PRINT_DPI: f32 = 300.0;

/// Turns SVG into other formats.
pub struct Printer {
    options: Options<'static>,
    /// Letters that no font has.
    pub missing: BTreeSet<char>,
}

impl Printer {
    /// A printer for these figures.
    pub fn new<'a>(figures: impl Iterator<Item = &'a str>) -> Self {
        let mut fonts = embedded();
        let mut missing: BTreeSet<char> =
            figures.flat_map(str::chars).filter(|c| !c.is_control()).collect();
        missing.retain(|&c| !has(&fonts, c));
        if !missing.is_empty() {
            fonts.load_system_fonts();
            // Loading may set another family.
            fonts.set_sans_serif_family(FAMILY);
            missing.retain(|&c| !has(&fonts, c));
        }
        let options = Options {
            dpi: CSS_DPI,
            font_family: FAMILY.to_owned(),
            fontdb: Arc::new(fonts),
            ..Options::default()
        };
        Self { options, missing }
    }

    fn tree(&self, svg: &str) -> Result<Tree> {
        Tree::from_str(svg, &self.options)
            .map_err(|error| Error::internal(format!("a figure cannot be read again: {error}")))
    }

    /// A page of the figure's size.
    pub fn pdf(&self, svg: &str) -> Result<Vec<u8>> {
        svg2pdf::to_pdf(
            &self.tree(svg)?,
            ConversionOptions::default(),
            PageOptions { dpi: CSS_DPI },
        )
        .map_err(|error| Error::internal(format!("a figure cannot be written as PDF: {error}")))
    }

    /// Pixels.
    pub fn png(&self, svg: &str) -> Result<Vec<u8>> {
        let failed =
            |why: String| Error::internal(format!("a figure cannot be written as PNG: {why}"));
        let tree = self.tree(svg)?;
        let scale = PRINT_DPI / CSS_DPI;
        let pixels = |length: f32| (length * scale).ceil() as u32;
        let size = tree.size();
        let mut pixmap = Pixmap::new(pixels(size.width()), pixels(size.height()))
            .ok_or_else(|| failed("it is too large".to_owned()))?;
        resvg::render(&tree, Transform::from_scale(scale, scale), &mut pixmap.as_mut());
        pixmap.encode_png().map_err(|error| failed(error.to_string()))
    }
}

/// The font inside the program, alone.
fn embedded() -> Database {
    let mut fonts = Database::new();
    fonts.load_font_data(FONT.to_vec());
    fonts.set_sans_serif_family(FAMILY);
    fonts
}

/// Whether some font has a letter.
fn has(fonts: &Database, c: char) -> bool {
    fonts.faces().any(|face| {
        let known = fonts.with_face_data(face.id, |data, index| {
            let face = ttf_parser::Face::parse(data, index).ok()?;
            face.glyph_index(c)
        });
        known.flatten().is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SVG: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"89mm\" height=\"20mm\" viewBox=\"0 0 890 200\">\
                       <rect width=\"890\" height=\"200\" fill=\"#FFFFFF\"/>\
                       <text x=\"10\" y=\"100\" font-size=\"60\" font-family=\"Helvetica, sans-serif\">mean β″ ± −0.5</text></svg>";

    #[test]
    fn the_font_inside_has_every_sign_of_ours_and_draws_it() {
        let printer = Printer::new([SVG].into_iter());
        // Without any font of the machine.
        let fonts = embedded();
        let absent: Vec<char> =
            "…×·≥≤λεψΣ−±′″–“”öŁЖ%|=".chars().filter(|&c| !has(&fonts, c)).collect();
        assert!(
            absent.is_empty() && printer.missing.is_empty(),
            "{absent:?} {:?}",
            printer.missing
        );
        assert!(!has(&fonts, '漢'), "the test could not fail");
        let png = Pixmap::decode_png(&printer.png(SVG).unwrap()).unwrap();
        assert_eq!((png.width(), png.height()), (1052, 237), "300 dots per inch");
        let dark = png.pixels().iter().filter(|pixel| pixel.red() < 100).count();
        assert!(dark > 1_500, "{dark} dark pixels: there is no text");
        let pdf = printer.pdf(SVG).unwrap();
        let text = String::from_utf8_lossy(&pdf);
        // 89 mm are 252.28 points.
        assert!(
            text.starts_with("%PDF") && text.contains("252.2") && text.contains("Roboto"),
            "{text}"
        );
        assert_eq!(pdf, Printer::new([SVG].into_iter()).pdf(SVG).unwrap(), "the same bytes again");
    }
}
