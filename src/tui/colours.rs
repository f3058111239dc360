//! Colours of one's own: what the section `[theme]` of the configuration file gives to the roles.

use ratatui::style::Color;

use super::theme::{Depth, Role};
use crate::error::{Error, Result};

/// What can have a colour of its own, by its name in the file, and what that is.
pub const PAINTED: [(&str, &str); 13] = [
    ("text", "plain text"),
    ("dim", "less important text, borders"),
    ("accent", "titles and keys"),
    ("good", "what is good: core features, guaranteed coverage"),
    ("warn", "what deserves a look: cautions, changed settings"),
    ("bad", "errors, and what is removed now"),
    ("positive", "β above zero"),
    ("negative", "β below zero, bars"),
    ("cursor", "the cursor of a chart"),
    ("first", "curves of the first method"),
    ("second", "curves of the second method"),
    ("third", "curves of the third method"),
    ("heat", "heatmaps: the full end of the ramp, which starts at the background"),
];

/// What to write for a colour.
pub const HOW_COLOURS_ARE_WRITTEN: &str =
    "write #rrggbb, a name such as yellow or lightblue, or a number from 0 to 255";

/// The place of the first method among them.
const METHODS: usize = 9;
/// The place of the heatmaps.
const HEAT: usize = 12;

/// Colours that replace those of the palette.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnColours([Option<Color>; PAINTED.len()]);

impl OwnColours {
    /// Those of the palette.
    pub const NONE: Self = Self([None; PAINTED.len()]);

    /// Takes a colour as it is written: `#e69f00`, `yellow`, `lightblue`, or a number of the 256
    /// colours; empty, it stays the palette's.
    pub fn set(&mut self, name: &str, colour: &str) -> Result<()> {
        let Some(at) = PAINTED.iter().position(|(known, _)| *known == name) else {
            let names: Vec<&str> = PAINTED.iter().map(|(name, _)| *name).collect();
            return Err(Error::usage(format!("the theme has no colour '{name}'"))
                .remedy(format!("choose one of {}", names.join(", "))));
        };
        if colour.is_empty() {
            return Ok(());
        }
        let parsed: Color = colour.parse().map_err(|_| {
            Error::usage(format!("'{colour}', the theme's '{name}', is not a colour"))
                .remedy(HOW_COLOURS_ARE_WRITTEN)
        })?;
        self.0[at] = Some(parsed);
        Ok(())
    }

    /// The colour of a role, if it has its own.
    pub fn of(&self, role: Role) -> Option<Color> {
        self.0[role as usize]
    }

    /// The colour of the i-th method.
    pub fn method(&self, i: usize) -> Option<Color> {
        self.0[METHODS + i % 3]
    }

    /// The full end of heatmaps.
    pub fn heat(&self) -> Option<(u8, u8, u8)> {
        self.0[HEAT].and_then(rgb)
    }
}

/// A colour as a terminal of this depth can show it.
pub fn shown(colour: Color, depth: Depth) -> Color {
    match (depth, rgb(colour)) {
        (Depth::None, _) => Color::Reset,
        (Depth::Indexed, Some(rgb)) if matches!(colour, Color::Rgb(..)) => {
            Color::Indexed(nearest_of_256(rgb))
        }
        (Depth::Sixteen, Some(rgb)) => nearest_of_16(rgb),
        _ => colour,
    }
}

/// The sixteen colours as most terminals show them.
const SIXTEEN: [(Color, (u8, u8, u8)); 16] = [
    (Color::Black, (0, 0, 0)),
    (Color::Red, (205, 0, 0)),
    (Color::Green, (0, 205, 0)),
    (Color::Yellow, (205, 205, 0)),
    (Color::Blue, (0, 0, 238)),
    (Color::Magenta, (205, 0, 205)),
    (Color::Cyan, (0, 205, 205)),
    (Color::Gray, (229, 229, 229)),
    (Color::DarkGray, (127, 127, 127)),
    (Color::LightRed, (255, 0, 0)),
    (Color::LightGreen, (0, 255, 0)),
    (Color::LightYellow, (255, 255, 0)),
    (Color::LightBlue, (92, 92, 255)),
    (Color::LightMagenta, (255, 0, 255)),
    (Color::LightCyan, (0, 255, 255)),
    (Color::White, (255, 255, 255)),
];

/// What a colour looks like; none for the terminal's own.
pub fn rgb(colour: Color) -> Option<(u8, u8, u8)> {
    match colour {
        Color::Rgb(r, g, b) => Some((r, g, b)),
        Color::Indexed(index) => Some(rgb_of_256(index)),
        Color::Reset => None,
        named => SIXTEEN.iter().find(|(own, _)| *own == named).map(|(_, rgb)| *rgb),
    }
}

fn distance(a: (u8, u8, u8), b: (u8, u8, u8)) -> u32 {
    let square = |x: u8, y: u8| u32::from(x.abs_diff(y)).pow(2);
    square(a.0, b.0) + square(a.1, b.1) + square(a.2, b.2)
}

fn nearest_of_16(wanted: (u8, u8, u8)) -> Color {
    SIXTEEN
        .iter()
        .min_by_key(|(_, own)| distance(*own, wanted))
        .map_or(Color::Reset, |(colour, _)| *colour)
}

/// The levels of the 6 × 6 × 6 cube.
const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];

/// What one of the 256 colours looks like.
fn rgb_of_256(index: u8) -> (u8, u8, u8) {
    match index {
        0..16 => SIXTEEN[usize::from(index)].1,
        16..232 => {
            let cube = usize::from(index - 16);
            (LEVELS[cube / 36], LEVELS[cube / 6 % 6], LEVELS[cube % 6])
        }
        _ => {
            let shade = 8 + 10 * (index - 232);
            (shade, shade, shade)
        }
    }
}

/// The nearest colour of the 6 × 6 × 6 cube or the grey ramp.
pub fn nearest_of_256(wanted: (u8, u8, u8)) -> u8 {
    let level = |value: u8| (0..6).min_by_key(|&i| LEVELS[i].abs_diff(value)).unwrap_or(0);
    let (i, j, k) = (level(wanted.0), level(wanted.1), level(wanted.2));
    let shade = |step: u8| (8 + 10 * step, 8 + 10 * step, 8 + 10 * step);
    let grey = (0..24_u8).min_by_key(|&step| distance(shade(step), wanted)).unwrap_or(0);
    if distance(shade(grey), wanted) < distance((LEVELS[i], LEVELS[j], LEVELS[k]), wanted) {
        232 + grey
    } else {
        (16 + 36 * i + 6 * j + k) as u8
    }
}

/// Equal steps from one colour to another; both ends included.
pub fn mixed(from: (u8, u8, u8), to: (u8, u8, u8), share: f64) -> (u8, u8, u8) {
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
    (mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_and_mistakes_are_named() {
        let mut own = OwnColours::NONE;
        own.set("good", "#009e73").unwrap();
        own.set("warn", "yellow").unwrap();
        own.set("bad", "196").unwrap();
        assert_eq!(own.of(Role::Good), Some(Color::Rgb(0, 158, 115)));
        assert_eq!(own.of(Role::Warn), Some(Color::Yellow));
        assert_eq!(own.of(Role::Bad), Some(Color::Indexed(196)));
        assert_eq!(own.of(Role::Accent), None);
        let wrong = own.set("good", "#12").unwrap_err().to_string();
        assert!(wrong.contains("'#12', the theme's 'good', is not a colour"), "{wrong}");
        let wrong = own.set("shiny", "red").unwrap_err().to_string();
        assert!(wrong.contains("no colour 'shiny'") && wrong.contains("accent"), "{wrong}");
    }

    #[test]
    fn every_depth_shows_what_it_can() {
        let orange = Color::Rgb(230, 159, 0);
        assert_eq!(shown(orange, Depth::True), orange);
        assert_eq!(shown(orange, Depth::Indexed), Color::Indexed(178));
        assert_eq!(shown(orange, Depth::Sixteen), Color::Yellow);
        assert_eq!(shown(orange, Depth::None), Color::Reset);
        assert_eq!(shown(Color::Indexed(196), Depth::Sixteen), Color::LightRed);
        assert_eq!(shown(Color::Blue, Depth::True), Color::Blue);
    }

    #[test]
    fn the_256_cube_holds_its_own_corners() {
        assert_eq!(nearest_of_256((0, 0, 0)), 16);
        assert_eq!(nearest_of_256((255, 255, 255)), 231);
        assert_eq!(nearest_of_256((0, 95, 135)), 24);
        assert!(
            (16..=255)
                .all(|index| rgb_of_256(nearest_of_256(rgb_of_256(index))) == rgb_of_256(index))
        );
    }

    #[test]
    fn roles_and_names_are_in_the_same_order() {
        let of = |name: &str| {
            let mut own = OwnColours::NONE;
            own.set(name, "red").unwrap();
            own
        };
        let roles = [Role::Text, Role::Dim, Role::Accent, Role::Good, Role::Warn, Role::Bad];
        let more = [Role::Positive, Role::Negative, Role::Cursor];
        for (role, (name, _)) in roles.into_iter().chain(more).zip(PAINTED) {
            assert_eq!(of(name).of(role), Some(Color::Red), "{name}");
        }
        assert_eq!(of("third").method(2), Some(Color::Red));
        assert_eq!(of("heat").heat(), Some((205, 0, 0)));
    }
}
