//! Text that comes from a file, made harmless and fitted to a width in terminal cells.

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::error::printable;

/// Without control characters or bidirectional overrides, in one line, and without what has no
/// width of its own: joiners and selectors are drawn one way by one terminal and another way by the
/// next, and then columns no longer meet.
pub fn clean(text: &str) -> String {
    let invisible = |c: char| {
        matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}')
            || matches!(c, '\u{180b}'..='\u{180f}' | '\u{e0000}'..='\u{e0fff}')
    };
    let breaks = |c: char| matches!(c, '\u{2028}' | '\u{2029}');
    let text = printable(text);
    if !text.contains(|c: char| invisible(c) || breaks(c)) {
        return text;
    }
    text.chars().filter(|&c| !invisible(c)).map(|c| if breaks(c) { ' ' } else { c }).collect()
}

/// What is being typed, in at most `width` cells: its end, where the next character comes.
pub fn tail(text: &str, width: usize) -> String {
    let text = clean(text);
    if text.width() <= width {
        return text;
    }
    let end = take(text.graphemes(true).rev(), width.saturating_sub(1));
    let end: String = end.graphemes(true).rev().collect();
    if width == 0 { end } else { format!("…{end}") }
}

/// A share such as 1 − ε, without the dust of binary fractions.
pub fn share(value: f64) -> String {
    ((value * 1e6).round() / 1e6).to_string()
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

/// At most `width` cells, cut at the end.
pub fn head(text: &str, width: usize) -> String {
    let text = clean(text);
    if text.width() <= width || width == 0 {
        return take(text.graphemes(true), width);
    }
    take(text.graphemes(true), width - 1) + "…"
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

/// Lines of at most `width` cells, broken between words; a longer word is broken where it must be.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let text = clean(text);
    let width = width.max(1);
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let mut word = word.to_owned();
        let used = lines.last().map_or(0, |line| line.width());
        let gap = usize::from(used > 0);
        if used + gap + word.width() > width && used > 0 {
            lines.push(String::new());
        } else if gap > 0 {
            lines.last_mut().into_iter().for_each(|line| line.push(' '));
        }
        while word.width() > width {
            let piece = take(word.graphemes(true), width);
            if piece.is_empty() {
                break;
            }
            word = word[piece.len()..].to_owned();
            lines.last_mut().into_iter().for_each(|line| line.push_str(&piece));
            lines.push(String::new());
        }
        lines.last_mut().into_iter().for_each(|line| line.push_str(&word));
    }
    lines
}

/// A number in about six cells, with a minus sign.
pub fn number(value: f64) -> String {
    let size = value.abs();
    let text = if value == 0.0 {
        "0".into()
    } else if !(1e-3..1e5).contains(&size) {
        format!("{value:.1e}")
    } else if size >= 100.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else {
        format!("{value:.3}")
    };
    text.replace('-', "−")
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
            "family 👨\u{200d}👩\u{200d}👧",
            "heart ❤\u{fe0f} and zero\u{200b}width",
            "two\u{2028}lines",
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
    fn typing_shows_its_end_and_titles_their_beginning() {
        assert_eq!(tail("abc", 5), "abc");
        assert_eq!(tail("abcdefgh", 4), "…fgh");
        assert_eq!(tail("日本語", 4), "…語");
        assert_eq!(tail("abc", 0), "");
        assert_eq!(
            [head("abcdefgh", 4), head("abc", 3), head("日本語", 4), head("abc", 0)],
            ["abc…", "abc", "日…", ""]
        );
    }

    #[test]
    fn wrapped_lines_keep_every_word_and_their_width() {
        let text = "the quick brown fox jumps over a_very_long_word_indeed 日本語の名前 and on";
        for width in 2..60 {
            let lines = wrap(text, width);
            assert!(lines.iter().all(|line| line.width() <= width), "{width}: {lines:?}");
            let joined: String = lines.concat().replace(' ', "");
            assert_eq!(joined, text.replace(' ', ""), "{width}");
        }
        assert_eq!(wrap("a b", 80), ["a b"]);
        assert_eq!(wrap("", 5), [""]);
    }

    #[test]
    fn shares_have_no_dust() {
        assert_eq!(share(1.0 - 0.07), "0.93");
        assert_eq!(share(1.0 - 0.1), "0.9");
    }

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(fit("abcdefghij", 7), "abc…hij");
    }
}
