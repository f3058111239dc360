//! What a file is, from its first bytes: its kind, the separator and the decimal sign.

pub(super) mod kinds;

const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];

/// The candidate that occurs equally often, outside quotes, in each of the first lines; the most
/// frequent of those, or of all when none is so regular.
pub(super) fn separator(head: &[u8], decimal: Option<u8>) -> u8 {
    const LINES: usize = 20;
    let mut lines: Vec<[usize; 4]> = Vec::new();
    let mut counts = [0; 4];
    let mut blank = true;
    let mut quoted = false;
    let mut before = b'\n';
    for &byte in head {
        match byte {
            b'"' if quoted => quoted = false,
            b'"' if matches!(before, b'\n' | b'\r' | b'"') || SEPARATORS.contains(&before) => {
                quoted = true
            }
            _ if quoted => {}
            b'\n' | b'\r' => {
                if !blank {
                    lines.push(counts);
                }
                (counts, blank) = ([0; 4], true);
                if lines.len() == LINES {
                    break;
                }
            }
            _ => {
                if let Some(i) = SEPARATORS.iter().position(|&c| c == byte) {
                    counts[i] += 1;
                }
            }
        }
        blank &= byte.is_ascii_whitespace() && byte != b'\t';
        before = byte;
    }
    if lines.is_empty() {
        lines.push(counts);
    }
    let regular = |i: usize| lines.iter().all(|line| line[i] == lines[0][i]);
    (0..SEPARATORS.len())
        .filter(|&i| lines[0][i] > 0 && Some(SEPARATORS[i]) != decimal)
        .max_by_key(|&i| (regular(i), lines[0][i], std::cmp::Reverse(i)))
        .map_or(b',', |i| SEPARATORS[i])
}

/// `,` if numbers among the first lines have a decimal comma and none has a point; where the comma
/// does not separate.
pub(super) fn decimal(head: &[u8], separator: u8) -> u8 {
    if separator == b',' {
        return b'.';
    }
    let mut commas = 0;
    for cell in head.split(|&byte| byte == separator || byte == b'\n' || byte == b'\r') {
        let cell =
            cell.trim_ascii().trim_ascii_start().strip_prefix(b"\"").unwrap_or(cell.trim_ascii());
        let cell = cell.strip_suffix(b"\"").unwrap_or(cell);
        let Ok(cell) = std::str::from_utf8(cell) else { continue };
        if !cell.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | ',' | '.')) {
            continue;
        }
        if cell.contains('.') && cell.parse::<f64>().is_ok() {
            return b'.';
        }
        commas += usize::from(has_decimal_comma(cell) && !has_thousands(cell, '.'));
    }
    if commas > 0 { b',' } else { b'.' }
}

/// Whether a cell is a number if its only comma is a point.
pub(super) fn has_decimal_comma(cell: &str) -> bool {
    cell.contains(',') && cell.replacen(',', ".", 1).parse::<f64>().is_ok()
}

/// Whether a cell is a number whose digits are separated by thousands, as `1,234` or `12 000.5`.
pub(super) fn has_thousands(cell: &str, decimal: char) -> bool {
    let digits = cell.strip_prefix(['+', '-']).unwrap_or(cell);
    let (whole, fraction) = digits.split_once(decimal).unwrap_or((digits, "0"));
    let signs: &[char] = if decimal == ',' {
        &['.', '\'', '’', ' ', '\u{a0}', '\u{202f}']
    } else {
        &[',', '\'', '’', ' ', '\u{a0}', '\u{202f}']
    };
    let mut groups = whole.split(signs);
    let all_digits =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next().is_some_and(|group| group.len() <= 3 && all_digits(group));
    let mut more = 0;
    let rest = groups.all(|group| {
        more += 1;
        group.len() == 3 && all_digits(group)
    });
    first && rest && more > 0 && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sniffs_the_separator_that_is_regular() {
        let dot = Some(b'.');
        assert_eq!(separator(b"a,b\n1,2\n", dot), b',');
        assert_eq!(separator(b"a;b\n1,5;2,5\n3;4\n", None), b';');
        assert_eq!(separator(b"a\tb, or so\n1\t2\n", dot), b'\t');
        assert_eq!(separator(b"a|b|c", dot), b'|');
        assert_eq!(separator(b"only\n1\n", dot), b',');
    }

    #[test]
    fn sniffing_ignores_quoted_separators_and_the_decimal_sign() {
        assert_eq!(separator(b"\"a;b;c\",d\n\"x \"\";;\"\" y\",2\n", None), b',');
        assert_eq!(separator(b"a,b;c\n1,5;2\n", Some(b',')), b';');
        assert_eq!(separator(b"size 5\" or so,b\n1,2\n", None), b',');
    }

    #[test]
    fn a_comma_is_decimal_where_no_number_has_a_point() {
        assert_eq!(decimal(b"a;b\n1,5;x\n2;y\n", b';'), b',');
        assert_eq!(decimal(b"a\tb\n-0,25\t\"3,75\"\n", b'\t'), b',');
        assert_eq!(decimal(b"a;b\n1,5;2.5\n", b';'), b'.');
        assert_eq!(
            decimal(b"a;b\n1,234;2\n", b';'),
            b'.',
            "thousands or thousandths: the user must say"
        );
        assert_eq!(decimal(b"a,b\n1,5\n", b','), b'.');
    }

    #[test]
    fn knows_separated_thousands() {
        for cell in ["1,234", "-12,345,678.9", "1 000", "1'000'000", "999,999"] {
            assert!(has_thousands(cell, '.'), "{cell}");
        }
        for cell in ["1,23", "1234", "1,2345", ",123", "1.234", "a,234", "1,234.x"] {
            assert!(!has_thousands(cell, '.'), "{cell}");
        }
        assert!(has_thousands("1.234,5", ','));
    }
}
