//! Text that comes from a file, made harmless and fitted to a width in terminal cells.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::error::printable;

/// Without control characters or bidirectional overrides, in one line.
pub fn clean(text: &str) -> String {
    printable(text)
}

/// Exactly `width` cells: padded on the right, or cut in the middle.
pub fn fit(text: &str, width: usize) -> String {
    let text = clean(text);
    let own = text.width();
    if own <= width {
        return text + &" ".repeat(width - own);
    }
    if width == 0 {
        return String::new();
    }
    let tail_width = (width - 1) / 2;
    let head = take(text.graphemes(true), width - 1 - tail_width);
    let tail: String = {
        let reversed = take(text.graphemes(true).rev(), tail_width);
        reversed.graphemes(true).rev().collect()
    };
    let shown = format!("{head}…{tail}");
    let missing = width.saturating_sub(shown.width());
    shown + &" ".repeat(missing)
}

/// The first graphemes that fit into a width.
fn take<'a>(graphemes: impl Iterator<Item = &'a str>, width: usize) -> String {
    let mut taken = String::new();
    let mut used = 0;
    for grapheme in graphemes {
        used += grapheme.width();
        if used > width {
            break;
        }
        taken.push_str(grapheme);
    }
    taken
}

/// A number in about six cells.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".into()
    } else if size >= 1e5 || size < 1e-3 {
        format!("{value:.1e}")
    } else if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_takes_its_width() {
        let names = [
            "",
            "short",
            "a\u{1b}[31mred",
            "emoji 🧬🧬🧬🧬🧬🧬",
            "日本語のとても長い名前",
            "e\u{301}\u{301}clair",
            "\u{202e}evil",
            "tab\tand\nline",
        ];
        for name in names {
            for width in 0..40 {
                let fitted = fit(name, width);
                assert_eq!(fitted.width(), width, "{name:?} {width} {fitted:?}");
                assert!(!fitted.contains(|c: char| c.is_control()));
            }
        }
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(fit("abcdefghij", 7), "abc…hij");
    }
}
