//! The text of a cell as a number, a word or nothing, and the column that grows from such cells.

use std::collections::HashMap;

use super::table::Column;
use crate::error::{Error, Result};

/// How many offending values an error lists.
const LISTED: usize = 5;

/// What text means in this file.
pub(super) struct Cells {
    pub(super) decimal: char,
    pub(super) missing: Vec<String>,
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

    /// The short way for most cells of most files: a finite number as it stands, where no number can mean "missing".
    fn plain_number(&self, cell: &str) -> Option<f64> {
        let plain = self.decimal == '.' && self.missing.is_empty();
        plain.then(|| cell.parse().ok())?.filter(|number: &f64| number.is_finite())
    }

    fn finite(&self, cell: &str) -> bool {
        self.number(cell).is_some_and(f64::is_finite)
    }
}

/// A column while it is read.
pub(super) struct Growing {
    declared_text: bool,
    numbers: usize,
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
        Self { declared_text, numbers: 0, strays: Vec::new(), stray_count: 0, values }
    }

    /// Adds a cell.
    pub(super) fn push(&mut self, cell: &str, cells: &Cells) -> Result<()> {
        if let Values::Numbers(values) = &mut self.values
            && let Some(number) = cells.plain_number(cell)
        {
            self.numbers += 1;
            values.push(number);
            return Ok(());
        }
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
                Some(_) => return Err(Error::data(format!("'{}' is not a finite number", short(cell)))),
                None if self.numbers == 0 => {
                    let (mut codes, mut known) = (vec![None; values.len()], HashMap::new());
                    codes.push(Some(intern(&mut known, cell)?));
                    self.values = Values::Text { codes, known };
                }
                None => {
                    if self.strays.len() < LISTED {
                        self.strays.push((values.len(), cell.to_owned()));
                    }
                    self.stray_count += 1;
                    values.push(f64::NAN);
                }
            },
        }
        Ok(())
    }

    /// The whole column; numbers among text are refused, for either may be a slip of the pen.
    pub(super) fn finish(self, name: &str, lines: &[u64], cells: &Cells) -> Result<Column> {
        let (codes, known) = match self.values {
            Values::Numbers(_) if self.stray_count > 0 => {
                return Err(mixed(name, self.numbers, self.stray_count, &self.strays, lines));
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

fn check_text(
    name: &str,
    levels: &[String],
    codes: &[Option<u32>],
    lines: &[u64],
    cells: &Cells,
) -> Result<()> {
    let is_number: Vec<bool> = levels.iter().map(|level| cells.finite(level)).collect();
    let rows = || codes.iter().enumerate().filter_map(|(row, code)| code.map(|code| (row, code as usize)));
    if is_number.contains(&true) {
        let numbers = rows().filter(|&(_, code)| is_number[code]).count();
        let words = rows().filter(|&(_, code)| !is_number[code]);
        let listed: Vec<_> =
            words.clone().take(LISTED).map(|(row, code)| (row, levels[code].clone())).collect();
        return Err(mixed(name, numbers, words.count(), &listed, lines));
    }
    if let Some(first) = levels.first()
        && levels.iter().all(|level| has_decimal_comma(level))
    {
        return Err(Error::data(format!("the values look like numbers with a decimal comma, as '{first}'"))
            .column(name)
            .remedy(format!(
                "add --decimal ',', or read the column as text with --categorical {}",
                quoted(name)
            )));
    }
    Ok(())
}

fn has_decimal_comma(cell: &str) -> bool {
    cell.contains(',') && cell.replacen(',', ".", 1).parse::<f64>().is_ok()
}

fn mixed(name: &str, numbers: usize, words: usize, listed: &[(usize, String)], lines: &[u64]) -> Error {
    let mut places: Vec<_> =
        listed.iter().map(|(row, word)| format!("line {} has '{}'", lines[*row], short(word))).collect();
    if words > places.len() {
        places.push(format!("{} more are not", words - places.len()));
    }
    let last = places.pop().unwrap_or_default();
    let places = if places.is_empty() { last } else { format!("{} and {last}", places.join(", ")) };
    let remedy = if listed.iter().all(|(_, word)| has_decimal_comma(word)) {
        "add --decimal ',' if the comma is the decimal sign".to_owned()
    } else {
        let name = quoted(name);
        format!(
            "correct them, declare them missing with --na, or read the column as text with --categorical {name}"
        )
    };
    Error::data(format!("{numbers} of {} values are numbers, but {places}", numbers + words))
        .column(name)
        .remedy(remedy)
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
