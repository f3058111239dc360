//! Colours and glyphs: palettes for truecolour, 256, 16 and no colours, light and dark; UTF-8 and
//! ASCII marks.
//!
//! Every colour has a second mark (a glyph, bold, a sign), so nothing depends on colour alone.

use ratatui::style::{Color, Modifier, Style};

use super::colours::{OwnColours, mixed, nearest_of_256, rgb, shown};

/// How many colours the terminal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// 24 bits.
    True,
    /// The 256-colour cube.
    Indexed,
    /// The 16 of the terminal's own palette.
    Sixteen,
    /// None: only bold, dim, reversed and underlined.
    None,
}

/// What a colour is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Plain text.
    Text,
    /// Less important text, borders.
    Dim,
    /// Titles and keys.
    Accent,
    /// What is good: guaranteed, converged.
    Good,
    /// What deserves a look.
    Warn,
    /// What is wrong, and what is removed now.
    Bad,
    /// β above zero.
    Positive,
    /// β below zero.
    Negative,
    /// The cursor on a curve.
    Cursor,
}

/// A choice of colours and glyphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Theme {
    /// How many colours.
    pub depth: Depth,
    /// For a light background.
    pub light: bool,
    /// Only ASCII glyphs.
    pub ascii: bool,
    /// Colours that replace those of the palette.
    pub own: OwnColours,
}

/// Okabe and Ito's colours, which the colour-blind can tell apart.
const BLUE: (u8, u8, u8) = (0, 114, 178);
const SKY: (u8, u8, u8) = (86, 180, 233);
const ORANGE: (u8, u8, u8) = (230, 159, 0);
const GREEN: (u8, u8, u8) = (0, 158, 115);
const VERMILION: (u8, u8, u8) = (213, 94, 0);
const PURPLE: (u8, u8, u8) = (204, 121, 167);
const YELLOW: (u8, u8, u8) = (240, 228, 66);

impl Theme {
    /// The colours of the palette.
    pub const fn new(depth: Depth, light: bool, ascii: bool) -> Self {
        Self { depth, light, ascii, own: OwnColours::NONE }
    }

    /// What the environment says: NO_COLOR, COLORTERM, TERM, and 256 colours over SSH, where bytes
    /// count.
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        let term = variable("TERM").unwrap_or_default();
        let remote = set("SSH_CONNECTION") || set("SSH_TTY");
        let true_colour = variable("COLORTERM")
            .is_some_and(|value| matches!(value.as_str(), "truecolor" | "24bit"));
        let depth = if set("NO_COLOR") || term == "dumb" {
            Depth::None
        } else if true_colour && !remote {
            Depth::True
        } else if true_colour
            || term.contains("256color")
            || term.contains("kitty")
            || term.contains("alacritty")
        {
            Depth::Indexed
        } else {
            Depth::Sixteen
        };
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .find_map(|name| variable(name).filter(|value| !value.is_empty()));
        let ascii = term == "linux" && depth == Depth::None
            || locale.is_some_and(|locale| {
                let locale = locale.to_ascii_lowercase();
                !locale.contains("utf-8") && !locale.contains("utf8")
            });
        Self::new(depth, false, ascii)
    }

    fn colour(&self, rgb: (u8, u8, u8), sixteen: Color) -> Color {
        match self.depth {
            Depth::True => Color::Rgb(rgb.0, rgb.1, rgb.2),
            Depth::Indexed => Color::Indexed(nearest_of_256(rgb)),
            Depth::Sixteen => sixteen,
            Depth::None => Color::Reset,
        }
    }

    /// The style of a role.
    pub fn style(&self, role: Role) -> Style {
        painted(self.palette_style(role), self.own.of(role), self.depth)
    }

    fn palette_style(&self, role: Role) -> Style {
        let plain = Style::new();
        let none = self.depth == Depth::None;
        let fg = |rgb, sixteen| plain.fg(self.colour(rgb, sixteen));
        match role {
            Role::Text => plain,
            Role::Dim if none => plain.add_modifier(Modifier::DIM),
            Role::Dim if self.light => fg((110, 110, 110), Color::DarkGray),
            Role::Dim => fg((140, 140, 140), Color::DarkGray),
            Role::Accent if self.light => fg(BLUE, Color::Blue).add_modifier(Modifier::BOLD),
            Role::Accent => fg(SKY, Color::Cyan).add_modifier(Modifier::BOLD),
            Role::Good => fg(GREEN, Color::Green),
            Role::Warn if self.light => fg(VERMILION, Color::Yellow).add_modifier(Modifier::BOLD),
            Role::Warn => fg(ORANGE, Color::Yellow).add_modifier(Modifier::BOLD),
            Role::Bad => fg(VERMILION, Color::Red).add_modifier(Modifier::BOLD),
            Role::Positive => fg(if self.light { VERMILION } else { ORANGE }, Color::Yellow),
            Role::Negative => fg(if self.light { BLUE } else { SKY }, Color::Blue),
            Role::Cursor if self.light => fg(PURPLE, Color::Magenta),
            Role::Cursor => fg(YELLOW, Color::Magenta),
        }
    }

    /// The style of the i-th method's curve.
    pub fn series(&self, i: usize) -> Style {
        let dark = [(SKY, Color::Cyan), (ORANGE, Color::Yellow), (PURPLE, Color::Magenta)];
        let light = [(BLUE, Color::Blue), (VERMILION, Color::Red), (GREEN, Color::Green)];
        let (rgb, sixteen) = if self.light { light[i % 3] } else { dark[i % 3] };
        let style =
            painted(Style::new().fg(self.colour(rgb, sixteen)), self.own.method(i), self.depth);
        if i.is_multiple_of(2) { style.add_modifier(Modifier::BOLD) } else { style }
    }

    /// The mark of the i-th method, beside its colour.
    pub fn series_mark(&self, i: usize) -> &'static str {
        let marks = if self.ascii { ["*", "o", "+"] } else { ["●", "○", "◆"] };
        marks[i % 3]
    }

    /// How many classes can be told apart in one chart.
    pub const CLASSES: usize = 6;

    /// The style of a class's curve.
    pub fn class(&self, class: usize) -> Style {
        let dark = [
            (SKY, Color::Cyan),
            (ORANGE, Color::Yellow),
            (GREEN, Color::Green),
            (YELLOW, Color::White),
            (VERMILION, Color::Red),
            (PURPLE, Color::Magenta),
        ];
        let light = [
            (BLUE, Color::Blue),
            (ORANGE, Color::Yellow),
            (GREEN, Color::Green),
            (PURPLE, Color::Magenta),
            (VERMILION, Color::Red),
            (SKY, Color::Cyan),
        ];
        let (rgb, sixteen) = if self.light { light } else { dark }[class % Self::CLASSES];
        let style = Style::new().fg(self.colour(rgb, sixteen));
        // Without colours at least half of them differ from the others.
        if self.depth == Depth::None && class % 2 == 1 {
            style.add_modifier(Modifier::DIM)
        } else {
            style
        }
    }

    /// A pale shade of a colour, for areas behind text; none without colours.
    pub fn tint(&self, colour: Color) -> Option<Color> {
        let ground: (u8, u8, u8) = if self.light { (255, 255, 255) } else { (20, 20, 20) };
        match (self.depth, colour) {
            (Depth::None, _) => None,
            (Depth::Sixteen, _) if self.light => Some(Color::Gray),
            (Depth::Sixteen, _) => Some(Color::DarkGray),
            _ => rgb(colour).map(|rgb| self.colour(mixed(ground, rgb, 0.3), Color::Reset)),
        }
    }

    /// The colour of a share in a heatmap of half blocks: one hue, from the background to full.
    pub fn heat(&self, share: f64) -> Color {
        let share = share.clamp(0.0, 1.0);
        let ramp: [(u8, u8, u8); 6] = if self.light {
            [
                (247, 247, 247),
                (209, 229, 240),
                (146, 197, 222),
                (67, 147, 195),
                (33, 102, 172),
                (5, 48, 97),
            ]
        } else {
            [
                (28, 28, 28),
                (20, 60, 90),
                (0, 95, 135),
                (0, 135, 175),
                (86, 180, 233),
                (215, 255, 255),
            ]
        };
        if let Some(full) = self.own.heat() {
            return self.colour(mixed(ramp[0], full, share), Color::Reset);
        }
        if self.depth == Depth::Indexed {
            // Picked in the palette: the nearest of mixed colours would wander through green and
            // violet.
            let ramp: [u8; 7] = if self.light {
                [255, 153, 110, 67, 31, 24, 17]
            } else {
                [234, 24, 31, 38, 74, 117, 195]
            };
            return Color::Indexed(ramp[(share * 6.0).round() as usize]);
        }
        let at = share * (ramp.len() - 1) as f64;
        let low = (at.floor() as usize).min(ramp.len() - 2);
        self.colour(mixed(ramp[low], ramp[low + 1], at - low as f64), Color::Reset)
    }

    /// A share as one character, where there are no colours to show it.
    pub fn shade(&self, share: f64) -> &'static str {
        let marks =
            if self.ascii { [" ", ".", ":", "+", "#"] } else { [" ", "░", "▒", "▓", "█"] };
        marks[((share.clamp(0.0, 1.0) * 4.0).round()) as usize]
    }

    /// Whether a heatmap is made of coloured half blocks.
    pub fn half_blocks(&self) -> bool {
        !self.ascii && matches!(self.depth, Depth::True | Depth::Indexed)
    }

    /// The style of a selected row.
    pub fn selected(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// Eighth blocks from empty to full, for bars and sparklines.
    pub fn bars(&self) -> [&'static str; 9] {
        if self.ascii {
            [" ", ".", ".", "-", "-", "=", "=", "#", "#"]
        } else {
            [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
        }
    }

    /// One glyph or its ASCII stand-in.
    pub fn glyph(&self, utf8: &'static str, ascii: &'static str) -> &'static str {
        if self.ascii { ascii } else { utf8 }
    }
}

/// A style with a colour of one's own in place of the palette's.
fn painted(style: Style, own: Option<Color>, depth: Depth) -> Style {
    match own {
        Some(colour) if depth != Depth::None => style.fg(shown(colour, depth)),
        _ => style,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detect(variables: &[(&str, &str)]) -> Theme {
        Theme::detect(|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_environment_decides_how_many_colours() {
        assert_eq!(
            detect(&[("COLORTERM", "truecolor"), ("TERM", "xterm-256color")]).depth,
            Depth::True
        );
        let ssh =
            [("COLORTERM", "truecolor"), ("TERM", "xterm-256color"), ("SSH_CONNECTION", "a b")];
        assert_eq!(detect(&ssh).depth, Depth::Indexed);
        assert_eq!(detect(&[("TERM", "xterm")]).depth, Depth::Sixteen);
        assert_eq!(detect(&[("COLORTERM", "truecolor"), ("NO_COLOR", "1")]).depth, Depth::None);
        assert!(detect(&[("LANG", "C")]).ascii);
        assert!(!detect(&[("LANG", "de_DE.UTF-8")]).ascii);
    }

    #[test]
    fn heat_has_one_hue_and_grows_in_every_palette() {
        for (depth, light) in [
            (Depth::True, false),
            (Depth::True, true),
            (Depth::Indexed, false),
            (Depth::Indexed, true),
        ] {
            let theme = Theme::new(depth, light, false);
            let colours: Vec<(u8, u8, u8)> =
                (0..=12).map(|i| rgb(theme.heat(f64::from(i) / 12.0)).unwrap()).collect();
            let light_of =
                |&(r, g, b): &(u8, u8, u8)| 3 * u32::from(r) + 6 * u32::from(g) + u32::from(b);
            let grows = |pair: &[u32]| if light { pair[0] >= pair[1] } else { pair[0] <= pair[1] };
            let lights: Vec<u32> = colours.iter().map(light_of).collect();
            assert!(lights.windows(2).all(grows), "{theme:?} {lights:?}");
            // Blue throughout: never more red than green, never more green than blue.
            assert!(colours.iter().all(|&(r, g, b)| r <= g && g <= b), "{theme:?} {colours:?}");
        }
    }

    #[test]
    fn own_colours_replace_those_of_the_palette() {
        let mut theme = Theme::new(Depth::True, false, false);
        let before = theme.style(Role::Accent);
        theme.own.set("accent", "#102030").unwrap();
        theme.own.set("first", "magenta").unwrap();
        theme.own.set("heat", "#ff0000").unwrap();
        assert_eq!(theme.style(Role::Accent), before.fg(Color::Rgb(16, 32, 48)));
        assert_eq!(theme.series(0).fg, Some(Color::Magenta));
        assert_eq!(theme.heat(1.0), Color::Rgb(255, 0, 0));
        // Without colours there are none.
        theme.depth = Depth::None;
        assert_eq!(
            theme.style(Role::Accent).fg,
            Theme::new(Depth::None, false, false).style(Role::Accent).fg
        );
    }
}
