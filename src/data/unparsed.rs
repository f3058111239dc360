//! Words in a column of numbers: what each of them may have been meant to be, and what to do about
//! it.

use super::cells::{CellFormat, NumberFault};
use super::lines::RowLines;
use super::names::{option_with, short};
use crate::error::{Error, Result};

/// How many offending values an error lists.
pub(super) const LISTED: usize = 5;

/// Refuses a column of text that also has numbers, or whose words are all nearly numbers.
pub(super) fn check_text(
    name: &str,
    levels: &[String],
    codes: &[Option<u32>],
    lines: &RowLines,
    cells: &CellFormat,
) -> Result<()> {
    let is_number: Vec<bool> = levels.iter().map(|level| cells.finite(level)).collect();
    let numeric = |level: &String| {
        matches!(
            cells.fault(level),
            NumberFault::Thousands
                | NumberFault::DecimalComma
                | NumberFault::Percent
                | NumberFault::Infinite
        )
    };
    let meant_as_numbers = !levels.is_empty() && levels.iter().all(numeric);
    if !is_number.contains(&true) && !meant_as_numbers {
        return Ok(());
    }
    let rows =
        || codes.iter().enumerate().filter_map(|(row, code)| code.map(|code| (row, code as usize)));
    let numbers = rows().filter(|&(_, code)| is_number[code]).count();
    let words = rows().filter(|&(_, code)| !is_number[code]);
    let listed =
        words.clone().take(LISTED).map(|(row, code)| (row, levels[code].clone())).collect();
    Err(UnparsedValues { numbers, words: words.count(), listed }.refuse(name, lines, cells))
}

/// Words in a column that has numbers too.
pub(super) struct UnparsedValues {
    pub(super) numbers: usize,
    pub(super) words: usize,
    /// The first few, with their rows.
    pub(super) listed: Vec<(usize, String)>,
}

impl UnparsedValues {
    pub(super) fn refuse(&self, name: &str, lines: &RowLines, cells: &CellFormat) -> Error {
        let (row, word) = match self.listed.first() {
            Some((row, word)) => (*row, short(word)),
            None => (0, String::new()),
        };
        let faults: Vec<NumberFault> =
            self.listed.iter().map(|(_, word)| cells.fault(word)).collect();
        let fault = match faults.first() {
            Some(&NumberFault::Infinite) => NumberFault::Infinite,
            _ if faults.contains(&NumberFault::DecimalComma)
                && faults.iter().all(|fault| {
                    matches!(fault, NumberFault::DecimalComma | NumberFault::Thousands)
                }) =>
            {
                NumberFault::DecimalComma
            }
            Some(&first) if faults.iter().all(|&fault| fault == first) => first,
            _ => NumberFault::Word,
        };
        let text =
            format!("or read the column as text with {}", option_with("--categorical", name));
        let (what, remedy, option) = match fault {
            NumberFault::Infinite => (
                format!("'{word}' is not a finite number"),
                format!("correct it, declare it missing with --na, {text}"),
                Some("--na"),
            ),
            NumberFault::Censored => (
                format!("'{word}' is a censored value"),
                format!("take the bound with --censored bound, make it missing with --censored na, {text}"),
                Some("--censored"),
            ),
            NumberFault::Thousands if cells.decimal == '.' => (
                format!("'{word}' looks like a number with separated thousands"),
                "write it without separators, or add --decimal ',' if the comma is the decimal sign"
                    .to_owned(),
                Some("--decimal"),
            ),
            NumberFault::Thousands => (
                format!("'{word}' looks like a number with separated thousands"),
                "write it without separators".to_owned(),
                None,
            ),
            NumberFault::DecimalComma => (
                format!("the values look like numbers with a decimal comma, as '{word}'"),
                format!("add --decimal ',' if the comma is the decimal sign, {text}"),
                Some("--decimal"),
            ),
            NumberFault::Percent => {
                let remedy = format!("write the number without its sign, {text}");
                (format!("'{word}' is a percentage"), remedy, Some("--categorical"))
            }
            NumberFault::Word => return self.mixed(name, lines),
        };
        let error = Error::data(what).line(lines.of(row)).column(name).remedy(remedy);
        match option {
            Some(option) => error.option(option),
            None => error,
        }
    }

    fn mixed(&self, name: &str, lines: &RowLines) -> Error {
        let Self { numbers, words, listed } = self;
        let mut places: Vec<_> = listed
            .iter()
            .map(|(row, word)| {
                format!("{} {} has '{}'", lines.kind().word(), lines.of(*row), short(word))
            })
            .collect();
        if *words > places.len() {
            places.push(format!("{} more are not", words - places.len()));
        }
        let last = places.pop().unwrap_or_default();
        let places =
            if places.is_empty() { last } else { format!("{} and {last}", places.join(", ")) };
        let text = option_with("--categorical", name);
        Error::data(format!("{numbers} of {} values are numbers, but {places}", numbers + words))
            .column(name)
            .remedy(format!(
                "correct them, declare them missing with --na, or read the column as text with {text}"
            )).option("--na")
    }
}
