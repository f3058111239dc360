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

/// A colour, and the one of the terminal's palette that stands for it among the others.
type Hue = ((u8, u8, u8), Color);

/// Okabe and Ito's colours, which the colour-blind can tell apart.
const BLUE: Hue = ((0, 114, 178), Color::Blue);
const SKY: Hue = ((86, 180, 233), Color::Cyan);
const ORANGE: Hue = ((230, 159, 0), Color::Yellow);
const GREEN: Hue = ((0, 158, 115), Color::Green);
const VERMILION: Hue = ((213, 94, 0), Color::Red);
const PURPLE: Hue = ((204, 121, 167), Color::Magenta);
const YELLOW: Hue = ((240, 228, 66), Color::White);

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

    fn colour(&self, (rgb, sixteen): Hue) -> Color {
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
        let fg = |rgb, sixteen| plain.fg(self.colour((rgb, sixteen)));
        match role {
            Role::Text => plain,
            Role::Dim if none => plain.add_modifier(Modifier::DIM),
            Role::Dim if self.light => fg((110, 110, 110), Color::DarkGray),
            Role::Dim => fg((140, 140, 140), Color::DarkGray),
            Role::Accent if self.light => fg(BLUE.0, Color::Blue).add_modifier(Modifier::BOLD),
            Role::Accent => fg(SKY.0, Color::Cyan).add_modifier(Modifier::BOLD),
            Role::Good => fg(GREEN.0, Color::Green),
            Role::Warn if self.light => fg(VERMILION.0, Color::Yellow).add_modifier(Modifier::BOLD),
            Role::Warn => fg(ORANGE.0, Color::Yellow).add_modifier(Modifier::BOLD),
            Role::Bad => fg(VERMILION.0, Color::Red).add_modifier(Modifier::BOLD),
            Role::Positive => fg(if self.light { VERMILION.0 } else { ORANGE.0 }, Color::Yellow),
            Role::Negative => fg(if self.light { BLUE.0 } else { SKY.0 }, Color::Blue),
            Role::Cursor if self.light => fg(PURPLE.0, Color::Magenta),
            Role::Cursor => fg(YELLOW.0, Color::Magenta),
        }
    }

    /// The style of the i-th method's curve.
    pub fn series(&self, i: usize) -> Style {
        let hues = if self.light { [BLUE, VERMILION, GREEN] } else { [SKY, ORANGE, PURPLE] };
        let style = Style::new().fg(self.colour(hues[i % 3]));
        let style = painted(style, self.own.method(i), self.depth);
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
        let dark = [SKY, ORANGE, GREEN, YELLOW, VERMILION, PURPLE];
        let light = [BLUE, ORANGE, GREEN, PURPLE, VERMILION, SKY];
        let hues: [Hue; Self::CLASSES] = if self.light { light } else { dark };
        let style = Style::new().fg(self.colour(hues[class % Self::CLASSES]));
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
            _ => rgb(colour).map(|rgb| self.colour((mixed(ground, rgb, 0.3), Color::Reset))),
        }
    }

    /// The colour of a share in a heatmap of half blocks: one hue, from the background to full.
    pub fn heat(&self, share: f64) -> Color {
        let share = share.clamp(0.0, 1.0);
        let ramp: [u32; 6] = if self.light {
            [0xf7f7f7, 0xd1e5f0, 0x92c5de, 0x4393c3, 0x2166ac, 0x053061]
        } else {
            [0x1c1c1c, 0x143c5a, 0x005f87, 0x0087af, 0x56b4e9, 0xd7ffff]
        };
        let ramp = ramp.map(|hex| {
            let [_, red, green, blue] = hex.to_be_bytes();
            (red, green, blue)
        });
        if let Some(full) = self.own.heat() {
            return self.colour((mixed(ramp[0], full, share), Color::Reset));
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
        self.colour((mixed(ramp[low], ramp[low + 1], at - low as f64), Color::Reset))
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
