//! The text of a cell as a number, a word or nothing, and the column that grows from such cells.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::decimal::plain_number;
use super::lines::Lines;
use super::memory::{make_room, of_text};
use super::records::Record;
use super::sniff::{has_decimal_comma, has_thousands};
use super::table::Column;
use super::word_list;
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
    /// Words that mean "missing" besides the usual ones.
    missing: Vec<String>,
    /// Those of them that are numbers: in a column of numbers they may be spelled in any way.
    missing_numbers: Vec<f64>,
    pub(super) censored: Option<Censored>,
}

impl Cells {
    pub(super) fn new(decimal: char, missing: &[String], censored: Option<Censored>) -> Self {
        let missing: Vec<String> = missing.iter().map(|word| word.trim().to_owned()).collect();
        let mut cells = Self { decimal, missing: Vec::new(), missing_numbers: Vec::new(), censored };
        cells.missing_numbers = missing.iter().filter_map(|word| cells.number(word)).collect();
        cells.missing = missing;
        cells
    }

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
pub(super) struct ColumnBuilder {
    declared_text: bool,
    numbers: usize,
    censored: usize,
    /// Text met by a column of numbers: the first few with their row, and how many in all.
    unparsed: Vec<(usize, String)>,
    unparsed_count: usize,
    /// Bytes of the distinct texts.
    text_bytes: u64,
    values: Values,
}

enum Values {
    Numbers(Vec<f64>),
    Text { codes: Vec<Option<u32>>, known: HashMap<String, u32> },
}

impl ColumnBuilder {
    /// An empty column; `declared_text` columns are text whatever they look like.
    pub(super) fn new(declared_text: bool) -> Self {
        let values = if declared_text {
            Values::Text { codes: Vec::new(), known: HashMap::new() }
        } else {
            Values::Numbers(Vec::new())
        };
        Self {
            declared_text,
            numbers: 0,
            censored: 0,
            unparsed: Vec::new(),
            unparsed_count: 0,
            text_bytes: 0,
            values,
        }
    }

    /// Makes sure that so many more cells fit.
    pub(super) fn make_room(&mut self, cells: usize) -> Result<()> {
        match &mut self.values {
            Values::Numbers(values) => make_room(values, cells),
            Values::Text { codes, .. } => make_room(codes, cells),
        }
    }

    /// Bytes that are reserved for values, and that finishing the column will take.
    pub(super) fn bytes(&self) -> u64 {
        /// Of a level: a place in the map, which is never full, and one in the list of levels.
        const LEVEL: u64 = 40 + 24;
        match &self.values {
            Values::Numbers(values) => 8 * values.capacity() as u64,
            Values::Text { codes, known } => {
                8 * codes.capacity() as u64 + LEVEL * known.capacity() as u64 + self.text_bytes
            }
        }
    }

    /// How many censored values were taken for their bound or for missing.
    pub(super) fn censored(&self) -> usize {
        self.censored
    }

    /// The row of the only word among numbers.
    pub(super) fn lone_word(&self, cells: &Cells) -> Option<usize> {
        match &self.values {
            Values::Numbers(_) => {
                self.unparsed.first().filter(|_| self.unparsed_count == 1).map(|(row, _)| *row)
            }
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
            && let Some(number) = plain_number(record.bytes_of(place))
        {
            self.numbers += 1;
            values.push(number);
            return Ok(());
        }
        self.push(record.cell(place), cells)
    }

    fn push(&mut self, cell: &str, cells: &Cells) -> Result<()> {
        let cell = cell.trim();
        let missing = cells.is_missing(cell);
        match &mut self.values {
            Values::Text { codes, known } => {
                codes.push(if missing { None } else { Some(intern(known, &mut self.text_bytes, cell)?) });
            }
            Values::Numbers(values) if missing => values.push(f64::NAN),
            Values::Numbers(values) => match cells.number(cell) {
                Some(number) if cells.missing_numbers.contains(&number) => values.push(f64::NAN),
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
            codes.push(Some(intern(&mut known, &mut self.text_bytes, cell)?));
            self.values = Values::Text { codes, known };
        } else {
            if self.unparsed.len() < LISTED {
                self.unparsed.push((values.len(), cell.to_owned()));
            }
            self.unparsed_count += 1;
            values.push(f64::NAN);
        }
        Ok(())
    }

    /// The whole column; numbers among text are refused, for either may be a slip of the pen.
    pub(super) fn finish(self, name: &str, lines: &Lines, cells: &Cells) -> Result<Column> {
        let (codes, known) = match self.values {
            Values::Numbers(_) if self.unparsed_count > 0 => {
                let unparsed = UnparsedValues {
                    numbers: self.numbers,
                    words: self.unparsed_count,
                    listed: self.unparsed,
                };
                return Err(unparsed.refuse(name, lines, cells));
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

fn intern(known: &mut HashMap<String, u32>, bytes: &mut u64, cell: &str) -> Result<u32> {
    if let Some(&code) = known.get(cell) {
        return Ok(code);
    }
    let code =
        u32::try_from(known.len()).map_err(|_| Error::data("the column has too many different values"))?;
    known.insert(cell.to_owned(), code);
    *bytes += of_text(cell.len());
    Ok(code)
}

/// Refuses words among numbers, and words that all but are numbers.
fn check_text(
    name: &str,
    levels: &[String],
    codes: &[Option<u32>],
    lines: &Lines,
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
    Err(UnparsedValues { numbers, words: words.count(), listed }.refuse(name, lines, cells))
}

/// Words in a column that has numbers too.
struct UnparsedValues {
    numbers: usize,
    words: usize,
    /// The first few, with their rows.
    listed: Vec<(usize, String)>,
}

impl UnparsedValues {
    fn refuse(&self, name: &str, lines: &Lines, cells: &Cells) -> Error {
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
        let text = format!("or read the column as text with {}", option_with("--categorical", name));
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
        Error::data(what).line(lines.of(row)).column(name).remedy(remedy)
    }

    fn mixed(&self, name: &str, lines: &Lines) -> Error {
        let Self { numbers, words, listed } = self;
        let mut places: Vec<_> = listed
            .iter()
            .map(|(row, word)| format!("line {} has '{}'", lines.of(*row), short(word)))
            .collect();
        if *words > places.len() {
            places.push(format!("{} more are not", words - places.len()));
        }
        let last = places.pop().unwrap_or_default();
        let places = if places.is_empty() { last } else { format!("{} and {last}", places.join(", ")) };
        let text = option_with("--categorical", name);
        Error::data(format!("{numbers} of {} values are numbers, but {places}", numbers + words))
            .column(name)
            .remedy(format!(
                "correct them, declare them missing with --na, or read the column as text with {text}"
            ))
    }
}

/// A name as one of a list, as `--drop` takes it, on a command line.
pub(super) fn listed_word(name: &str) -> String {
    quoted(&word_list::listed(name))
}

/// An option with a name as one of its list: a name that begins like an option must cling to it.
pub(super) fn option_with(option: &str, name: &str) -> String {
    let sign = if name.starts_with('-') { '=' } else { ' ' };
    format!("{option}{sign}{}", listed_word(name))
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
