//! The text of a cell as a number, a word or nothing, and the column that grows from such cells.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::records::Record;
use super::sniff::{has_decimal_comma, has_thousands};
use super::table::Column;
use crate::error::{Error, Result};

/// How many offending values an error lists.
const LISTED: usize = 5;

/// What a value beyond the range of a measurement, as `<0.5`, stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Censored {
    /// The bound itself.
    Bound,
    /// Nothing: it is missing.
    Na,
}

impl FromStr for Censored {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "bound" => Ok(Self::Bound),
            "na" => Ok(Self::Na),
            _ => Err("write bound or na".into()),
        }
    }
}

impl fmt::Display for Censored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bound => "bound",
            Self::Na => "na",
        })
    }
}

/// What text means in this file.
pub(super) struct Cells {
    pub(super) decimal: char,
    pub(super) missing: Vec<String>,
    pub(super) censored: Option<Censored>,
}

impl Cells {
    /// Whether a trimmed cell holds no value.
    pub(super) fn is_missing(&self, cell: &str) -> bool {
        let usual = match cell.len() {
            0 => true,
            1 => matches!(cell, "?" | "."),
            2 => cell.eq_ignore_ascii_case("na"),
            3 => cell.eq_ignore_ascii_case("n/a") || cell.eq_ignore_ascii_case("nan"),
            4 => cell.eq_ignore_ascii_case("null"),
            _ => false,
        };
        usual || self.missing.iter().any(|word| word == cell)
    }

    /// The number a trimmed cell spells, which may be infinite.
    fn number(&self, cell: &str) -> Option<f64> {
        if self.decimal == '.' {
            return cell.parse().ok();
        }
        // A point beside another decimal sign could only separate thousands, which is ambiguous.
        if cell.contains('.') {
            return None;
        }
        cell.replace(self.decimal, ".").parse().ok()
    }

    /// Whether a finite number is meant as it stands: no number can mean "missing".
    fn is_plain(&self) -> bool {
        self.decimal == '.' && self.missing.is_empty()
    }

    pub(super) fn finite(&self, cell: &str) -> bool {
        self.number(cell).is_some_and(f64::is_finite)
    }

    /// The bound of a censored value.
    fn bound(&self, cell: &str) -> Option<f64> {
        let number = cell.strip_prefix(['<', '>', '≤', '≥'])?;
        let number = number.strip_prefix('=').unwrap_or(number).trim_start();
        self.number(number).filter(|number| number.is_finite())
    }

    /// Why a word is not a number, if it nearly is one.
    fn fault(&self, word: &str) -> Fault {
        match () {
            () if self.number(word).is_some() => Fault::Infinite,
            () if self.bound(word).is_some() => Fault::Censored,
            () if has_thousands(word, self.decimal) => Fault::Thousands,
            () if self.decimal == '.' && has_decimal_comma(word) => Fault::DecimalComma,
            () if word.strip_suffix('%').is_some_and(|number| self.finite(number.trim_end())) => {
                Fault::Percent
            }
            () => Fault::Word,
        }
    }
}

/// Digits that are exact as a number.
const DIGITS: usize = 15;
const POWERS: [f64; DIGITS + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// A number such as `-12.375`, the first bytes of a text, bit for bit what `parse` makes of it: up to 15 digits and the power of
/// ten that divides them are exact, so that the quotient is rounded once.
fn short_decimal(text: &[u8], length: usize) -> Option<f64> {
    let negative = length > 0 && text[0] == b'-';
    let (text, length) = (&text[usize::from(negative)..], length - usize::from(negative));
    let (whole, decimals) = match text.first_chunk() {
        Some(word) if length <= 8 => digits_of_word(u64::from_le_bytes(*word), length)?,
        _ => digits(&text[..length])?,
    };
    // A signed integer becomes a number in one instruction; a branch on the sign would be guessed wrongly half the time.
    let number = whole.cast_signed() as f64 / POWERS[decimals];
    Some(f64::from_bits(number.to_bits() ^ u64::from(negative) << 63))
}

/// The digits before and behind a point, as one number, and how many are behind.
fn digits(text: &[u8]) -> Option<(u64, usize)> {
    if text.len() > DIGITS + 1 {
        return None;
    }
    let (mut whole, mut point) = (0_u64, None);
    for (place, &byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => whole = 10 * whole + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(place),
            _ => return None,
        }
    }
    let count = text.len() - usize::from(point.is_some());
    (1..=DIGITS).contains(&count).then(|| (whole, point.map_or(0, |point| count - point)))
}

/// The same of up to eight bytes at once, the first of which is the lowest.
fn digits_of_word(word: u64, length: usize) -> Option<(u64, usize)> {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const LOW: u64 = 0x7f * EACH;
    const ZEROS: u64 = b'0' as u64 * EACH;
    /// A mask of the first bytes.
    fn first(bytes: usize) -> u64 {
        if bytes < 8 { (1 << (8 * bytes)) - 1 } else { u64::MAX }
    }
    // The highest bit of every byte that is a point.
    let different = word ^ (u64::from(b'.') * EACH);
    let points = !(((different & LOW) + LOW) | different | LOW) & first(length);
    let (digits, count, decimals) = if points == 0 {
        (word, length, 0)
    } else {
        // Whatever stands behind a second point, which is not a digit, is found below.
        let place = points.trailing_zeros() as usize / 8;
        ((word & first(place)) | (word >> 8 & !first(place)), length - 1, length - 1 - place)
    };
    if count == 0 {
        return None;
    }
    // With zeros in front there are eight.
    let eight = digits << (8 * (8 - count)) | (ZEROS & first(8 - count));
    let not_digits = (eight.wrapping_add(0x46 * EACH) | eight.wrapping_sub(ZEROS)) & (0x80 * EACH);
    if not_digits != 0 {
        return None;
    }
    // Pairs of digits, then of pairs, then of fours.
    let pairs = (eight - ZEROS).wrapping_mul(10).wrapping_add((eight - ZEROS) >> 8);
    let fours = |shift: u32, factors: u64| (pairs >> shift & 0x0000_00ff_0000_00ff).wrapping_mul(factors);
    Some((fours(0, 0x000f_4240_0000_0064).wrapping_add(fours(16, 0x0000_2710_0000_0001)) >> 32, decimals))
}

/// What keeps a word from being a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Infinite,
    Censored,
    Thousands,
    DecimalComma,
    Percent,
    Word,
}

/// A column while it is read.
pub(super) struct Growing {
    declared_text: bool,
    numbers: usize,
    censored: usize,
    /// Text met by a column of numbers: the first few with their row, and how many in all.
    strays: Vec<(usize, String)>,
    stray_count: usize,
    values: Values,
}

enum Values {
    Numbers(Vec<f64>),
    Text { codes: Vec<Option<u32>>, known: HashMap<String, u32> },
}

impl Growing {
    /// An empty column; `declared_text` columns are text whatever they look like.
    pub(super) fn new(declared_text: bool) -> Self {
        let values = if declared_text {
            Values::Text { codes: Vec::new(), known: HashMap::new() }
        } else {
            Values::Numbers(Vec::new())
        };
        Self { declared_text, numbers: 0, censored: 0, strays: Vec::new(), stray_count: 0, values }
    }

    /// How many censored values were taken for their bound or for missing.
    pub(super) fn censored(&self) -> usize {
        self.censored
    }

    /// The row of the only word among numbers.
    pub(super) fn lone_word(&self, cells: &Cells) -> Option<usize> {
        match &self.values {
            Values::Numbers(_) => self.strays.first().filter(|_| self.stray_count == 1).map(|(row, _)| *row),
            Values::Text { codes, known } => {
                // The first value is a word, or the column would be one of numbers.
                let words = known.keys().filter(|word| !cells.finite(word)).count();
                let first = codes.iter().filter(|&&code| code == Some(0)).count();
                let alone = !self.declared_text && words == 1 && first == 1 && known.len() > 1;
                codes.iter().position(Option::is_some).filter(|_| alone)
            }
        }
    }

    /// Adds a cell of a record. Most cells of most files are numbers that go a short way.
    pub(super) fn push_cell(&mut self, record: &Record, place: usize, cells: &Cells) -> Result<()> {
        if let Values::Numbers(values) = &mut self.values
            && cells.is_plain()
        {
            let (text, length) = record.text_from(place);
            if let Some(number) = short_decimal(text, length) {
                self.numbers += 1;
                values.push(number);
                return Ok(());
            }
        }
        self.push(record.cell(place), cells)
    }

    fn push(&mut self, cell: &str, cells: &Cells) -> Result<()> {
        let cell = cell.trim();
        let missing = cells.is_missing(cell);
        match &mut self.values {
            Values::Text { codes, known } => {
                codes.push(if missing { None } else { Some(intern(known, cell)?) });
            }
            Values::Numbers(values) if missing => values.push(f64::NAN),
            Values::Numbers(values) => match cells.number(cell) {
                Some(number) if number.is_finite() => {
                    self.numbers += 1;
                    values.push(number);
                }
                _ => return self.push_word(cell, cells),
            },
        }
        Ok(())
    }

    /// Adds a word to a column that has no words yet.
    fn push_word(&mut self, cell: &str, cells: &Cells) -> Result<()> {
        let Values::Numbers(values) = &mut self.values else { return Ok(()) };
        if let (Some(censored), Some(bound)) = (cells.censored, cells.bound(cell)) {
            self.censored += 1;
            self.numbers += 1;
            values.push(if censored == Censored::Bound { bound } else { f64::NAN });
        } else if self.numbers == 0 {
            let (mut codes, mut known) = (vec![None; values.len()], HashMap::new());
            codes.push(Some(intern(&mut known, cell)?));
            self.values = Values::Text { codes, known };
        } else {
            if self.strays.len() < LISTED {
                self.strays.push((values.len(), cell.to_owned()));
            }
            self.stray_count += 1;
            values.push(f64::NAN);
        }
        Ok(())
    }

    /// The whole column; numbers among text are refused, for either may be a slip of the pen.
    pub(super) fn finish(self, name: &str, lines: &[u64], cells: &Cells) -> Result<Column> {
        let (codes, known) = match self.values {
            Values::Numbers(_) if self.stray_count > 0 => {
                let strays = Strays { numbers: self.numbers, words: self.stray_count, listed: self.strays };
                return Err(strays.refuse(name, lines, cells));
            }
            Values::Numbers(values) => return Ok(Column::Numbers(values)),
            Values::Text { codes, known } => (codes, known),
        };
        let mut levels = vec![String::new(); known.len()];
        for (level, code) in known {
            levels[code as usize] = level;
        }
        if !self.declared_text {
            check_text(name, &levels, &codes, lines, cells)?;
        }
        Ok(Column::Text { levels, codes })
    }
}

fn intern(known: &mut HashMap<String, u32>, cell: &str) -> Result<u32> {
    if let Some(&code) = known.get(cell) {
        return Ok(code);
    }
    let code =
        u32::try_from(known.len()).map_err(|_| Error::data("the column has too many different values"))?;
    known.insert(cell.to_owned(), code);
    Ok(code)
}

/// Refuses words among numbers, and words that all but are numbers.
fn check_text(
    name: &str,
    levels: &[String],
    codes: &[Option<u32>],
    lines: &[u64],
    cells: &Cells,
) -> Result<()> {
    let is_number: Vec<bool> = levels.iter().map(|level| cells.finite(level)).collect();
    let numeric = |level: &String| {
        matches!(
            cells.fault(level),
            Fault::Thousands | Fault::DecimalComma | Fault::Percent | Fault::Infinite
        )
    };
    let meant_as_numbers = !levels.is_empty() && levels.iter().all(numeric);
    if !is_number.contains(&true) && !meant_as_numbers {
        return Ok(());
    }
    let rows = || codes.iter().enumerate().filter_map(|(row, code)| code.map(|code| (row, code as usize)));
    let numbers = rows().filter(|&(_, code)| is_number[code]).count();
    let words = rows().filter(|&(_, code)| !is_number[code]);
    let listed = words.clone().take(LISTED).map(|(row, code)| (row, levels[code].clone())).collect();
    Err(Strays { numbers, words: words.count(), listed }.refuse(name, lines, cells))
}

/// Words in a column that has numbers too.
struct Strays {
    numbers: usize,
    words: usize,
    /// The first few, with their rows.
    listed: Vec<(usize, String)>,
}

impl Strays {
    fn refuse(&self, name: &str, lines: &[u64], cells: &Cells) -> Error {
        let (row, word) = match self.listed.first() {
            Some((row, word)) => (*row, short(word)),
            None => (0, String::new()),
        };
        let faults: Vec<Fault> = self.listed.iter().map(|(_, word)| cells.fault(word)).collect();
        let fault = match faults.first() {
            Some(&Fault::Infinite) => Fault::Infinite,
            _ if faults.contains(&Fault::DecimalComma)
                && faults.iter().all(|fault| matches!(fault, Fault::DecimalComma | Fault::Thousands)) =>
            {
                Fault::DecimalComma
            }
            Some(&first) if faults.iter().all(|&fault| fault == first) => first,
            _ => Fault::Word,
        };
        let quoted = quoted(name);
        let text = format!("or read the column as text with --categorical {quoted}");
        let (what, remedy) = match fault {
            Fault::Infinite => (
                format!("'{word}' is not a finite number"),
                format!("correct it, declare it missing with --na, {text}"),
            ),
            Fault::Censored => (
                format!("'{word}' is a censored value"),
                format!("take the bound with --censored bound, make it missing with --censored na, {text}"),
            ),
            Fault::Thousands if cells.decimal == '.' => (
                format!("'{word}' looks like a number with separated thousands"),
                "write it without separators, or add --decimal ',' if the comma is the decimal sign"
                    .to_owned(),
            ),
            Fault::Thousands => (
                format!("'{word}' looks like a number with separated thousands"),
                "write it without separators".to_owned(),
            ),
            Fault::DecimalComma => (
                format!("the values look like numbers with a decimal comma, as '{word}'"),
                format!("add --decimal ',' if the comma is the decimal sign, {text}"),
            ),
            Fault::Percent => {
                (format!("'{word}' is a percentage"), format!("write the number without its sign, {text}"))
            }
            Fault::Word => return self.mixed(name, lines),
        };
        Error::data(what).line(lines[row]).column(name).remedy(remedy)
    }

    fn mixed(&self, name: &str, lines: &[u64]) -> Error {
        let Self { numbers, words, listed } = self;
        let mut places: Vec<_> =
            listed.iter().map(|(row, word)| format!("line {} has '{}'", lines[*row], short(word))).collect();
        if *words > places.len() {
            places.push(format!("{} more are not", words - places.len()));
        }
        let last = places.pop().unwrap_or_default();
        let places = if places.is_empty() { last } else { format!("{} and {last}", places.join(", ")) };
        let name_of = quoted(name);
        Error::data(format!("{numbers} of {} values are numbers, but {places}", numbers + words))
            .column(name)
            .remedy(format!(
                "correct them, declare them missing with --na, or read the column as text with --categorical {name_of}"
            ))
    }
}

/// A name as one word of a command line.
pub(super) fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '=');
    if name.chars().all(plain) { name.to_owned() } else { format!("'{}'", name.replace('\'', r"'\''")) }
}

/// At most 40 characters of a value, for a sentence.
pub(super) fn short(value: &str) -> String {
    match value.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whatever follows in the text, the number is the same.
    fn short_in_any(text: &str) -> Option<f64> {
        let number = short_decimal(text.as_bytes(), text.len());
        for rest in [",1", ".5,99999999", "0000000000", "\u{ff}\u{ff}\u{ff}\u{ff}\u{ff}"] {
            let longer = format!("{text}{rest}");
            let same = short_decimal(longer.as_bytes(), text.len());
            assert_eq!(number.map(f64::to_bits), same.map(f64::to_bits), "{text} {rest}");
        }
        number
    }

    proptest! {
        #[test]
        fn the_short_way_gives_the_same_bits(text in "-?[0-9]{0,17}(\\.[0-9]{0,17})?[e.x]?") {
            if let Some(number) = short_in_any(&text) {
                prop_assert_eq!(number.to_bits(), text.parse::<f64>().unwrap().to_bits());
            }
        }

        #[test]
        fn so_does_that_of_eight_bytes(text in "-?[0-9]{0,5}\\.?[0-9]{0,4}[/:.x-]?[0-9]{0,2}") {
            let parsed = text.parse::<f64>().ok();
            prop_assert_eq!(short_in_any(&text).map(f64::to_bits), parsed.map(f64::to_bits));
        }
    }

    #[test]
    fn most_numbers_are_short() {
        for text in ["0", "-0", "5.", ".5", "-12.375", "12345678", "123456789012345", "0.00000000000001"] {
            assert_eq!(short_in_any(text).map(f64::to_bits), text.parse().ok().map(f64::to_bits), "{text}");
        }
        for text in ["", "-", ".", "-.", "+1", "1e5", "1234567890123456", "1.2.3", "--1", "nan", " 1"] {
            assert_eq!(short_in_any(text), None, "{text}");
        }
    }
}
