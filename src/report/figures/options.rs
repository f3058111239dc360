//! How wide figures are, how large their text is, and in which formats they are written.

use std::fmt;
use std::str::FromStr;

use super::svg::TEXT;
use crate::error::{Error, Result};

/// Points per millimetre.
const POINTS: f64 = 72.0 / 25.4;
/// Fewer units across leave no room for labels.
const NARROWEST: i32 = 600;

/// A format of figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Scalable Vector Graphics; text stays text.
    Svg,
    /// A page of the figure's size, with its font inside.
    Pdf,
    /// Pixels, 300 per inch.
    Png,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Svg, Self::Pdf, Self::Png];

    /// The end of a file's name.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Svg => "svg",
            Self::Pdf => "pdf",
            Self::Png => "png",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.extension())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let known = Self::ALL.into_iter().find(|format| format.extension() == text);
        let format =
            known.ok_or_else(|| "write svg, pdf or png, separated by commas".to_owned())?;
        if format != Self::Svg && !cfg!(feature = "print") {
            return Err(format!(
                "this build writes SVG only; for {format}, install from a checkout with: cargo install --path . --features print"
            ));
        }
        Ok(format)
    }
}

/// How figures are drawn and written.
#[derive(Debug, Clone, PartialEq)]
pub struct FigureOptions {
    /// Width in millimetres: 89 is one column of most journals.
    pub width: f64,
    /// Height of ordinary text in points; tick labels are a little smaller.
    pub font_size: f64,
    pub formats: Vec<Format>,
}

impl Default for FigureOptions {
    fn default() -> Self {
        Self { width: 89.0, font_size: 7.0, formats: vec![Format::Svg] }
    }
}

impl FigureOptions {
    /// The measures of a sheet; refused where the text leaves no room.
    pub fn layout(&self) -> Result<SheetSize> {
        let width = (self.width * POINTS / self.font_size * f64::from(TEXT)).round() as i32;
        if width < NARROWEST {
            let most = self.width * POINTS * f64::from(TEXT) / f64::from(NARROWEST);
            return Err(Error::usage(format!(
                "figures {} mm wide have no room for text of {} points",
                self.width, self.font_size
            ))
            .remedy(format!("use --font-size {most:.1} or less, or a larger --figure-width")));
        }
        Ok(SheetSize { mm: self.width, width })
    }
}

/// The measures of a sheet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SheetSize {
    /// Its width in millimetres.
    pub mm: f64,
    /// Its width in units, 30 of which are the height of ordinary text.
    pub width: i32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_its_size_in_print_and_needs_room() {
        let of = |width, font_size| {
            FigureOptions { width, font_size, ..FigureOptions::default() }.layout()
        };
        // 30 units are 7 points: 89 mm are 252.3 points.
        assert_eq!(of(89.0, 7.0).unwrap().width, 1081);
        assert!(of(183.0, 7.0).unwrap().width > 2 * of(89.0, 7.0).unwrap().width);
        let refused = of(40.0, 12.0).unwrap_err().to_string();
        assert!(refused.contains("--font-size 5.7 or less"), "{refused}");
    }
}
