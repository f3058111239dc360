//! What went wrong, where in the file, and what to do about it: one sentence and an exit code.

use std::fmt;
use std::path::{Path, PathBuf};

/// A result whose error is a sentence for the user.
pub type Result<T> = std::result::Result<T, Error>;

/// What kind of mistake it was; decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A fault of this program.
    Internal,
    /// The command line or configuration asks for something impossible, an unknown column included.
    Usage,
    /// The data cannot be used, a missing or unreadable file included.
    Data,
    /// The output directory holds another run.
    Resume,
    /// A result could not be written.
    Output,
}

/// What a row of a table is in its file, so that an error names the place in the file's own terms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RowKind {
    /// A line of text.
    #[default]
    Line,
    /// A row of a sheet or of a columnar file.
    Row,
    /// A column: the table was transposed.
    Column,
}

impl RowKind {
    /// The word for a row.
    pub fn word(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::Row => "row",
            Self::Column => "column",
        }
    }

    /// The word for a column.
    pub fn across(self) -> &'static str {
        if self == Self::Column { "row" } else { "column" }
    }
}

/// A place in a file; every part is optional.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Location {
    file: Option<PathBuf>,
    sheet: Option<String>,
    line: Option<u64>,
    column: Option<String>,
    rows: RowKind,
}

/// One sentence: the place, what is wrong, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    kind: ErrorKind,
    what: String,
    place: Box<Location>,
    remedy: Option<String>,
    option: Option<&'static str>,
}

impl Error {
    fn new(kind: ErrorKind, what: impl Into<String>) -> Self {
        let what = what.into();
        let place = Box::default();
        Self { kind, what, place, remedy: None, option: None }
    }

    /// A fault of this program.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, what)
    }

    /// A wrong option, or a column the file does not have.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Usage, what)
    }

    /// Data that cannot be used.
    pub fn data(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Data, what)
    }

    /// An output directory that belongs to another run.
    pub fn resume(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Resume, what)
    }

    /// A result that could not be written.
    pub fn output(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Output, what)
    }

    /// A thread that could not be started.
    pub fn no_thread(error: &std::io::Error) -> Self {
        Self::internal(format!("no thread can be started: {error}"))
            .remedy("end other programs, or allow more processes with ulimit -u")
    }

    /// Names the file.
    #[must_use]
    pub fn file(mut self, file: impl AsRef<Path>) -> Self {
        self.place.file = Some(file.as_ref().to_path_buf());
        self
    }

    /// Names the sheet of a workbook.
    #[must_use]
    pub fn sheet(mut self, sheet: impl Into<String>) -> Self {
        self.place.sheet = Some(sheet.into());
        self
    }

    /// Says what the rows are in the file.
    #[must_use]
    pub fn rows_are(mut self, rows: RowKind) -> Self {
        self.place.rows = rows;
        self
    }

    /// Names the line, counted from 1, the header included.
    #[must_use]
    pub fn line(mut self, line: u64) -> Self {
        self.place.line = Some(line);
        self
    }

    /// Names the column.
    #[must_use]
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.place.column = Some(column.into());
        self
    }

    /// Says what to do.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Names the option that is wrong or would help, as `--option` or without dashes.
    #[must_use]
    pub fn option(mut self, option: &'static str) -> Self {
        self.option = Some(option.trim_start_matches("--"));
        self
    }

    /// Adds further problems after the remedy.
    #[must_use]
    pub fn also(mut self, more: impl AsRef<str>) -> Self {
        let remedy = self.remedy.take().map_or(String::new(), |remedy| format!("{remedy}; "));
        self.remedy = Some(remedy + more.as_ref());
        self
    }

    /// The kind of mistake.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The option that is wrong or would help, without dashes.
    pub fn faulty_option(&self) -> Option<&'static str> {
        self.option
    }

    /// The exit code of the program for this error.
    pub fn exit_code(&self) -> u8 {
        match self.kind {
            ErrorKind::Internal => 1,
            ErrorKind::Usage => 2,
            ErrorKind::Data => 3,
            ErrorKind::Resume => 5,
            ErrorKind::Output => 6,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Location { file, sheet, line, column, rows } = &*self.place;
        let mut parts = Vec::new();
        parts.extend(file.as_ref().map(|file| brief(&file.to_string_lossy())));
        parts.extend(sheet.as_ref().map(|sheet| format!("sheet '{}'", brief(sheet))));
        parts.extend(line.map(|line| format!("{} {line}", rows.word())));
        parts
            .extend(column.as_ref().map(|column| format!("{} '{}'", rows.across(), brief(column))));
        if !parts.is_empty() {
            write!(f, "{}: ", parts.join(", "))?;
        }
        f.write_str(&brief(&self.what))?;
        if let Some(remedy) = &self.remedy {
            write!(f, "; {}", brief(remedy))?;
        }
        Ok(())
    }
}

/// Text that is safe for a terminal, without the middle of what is longer than anybody reads: it may
/// quote a file.
fn brief(text: &str) -> String {
    const MOST: usize = 1000;
    let text = printable(text);
    match text.chars().count() {
        0..=MOST => text,
        length => {
            let start = text.chars().take(MOST / 2);
            start.chain(" … ".chars()).chain(text.chars().skip(length - MOST / 2)).collect()
        }
    }
}

/// `1 row`, `7 rows`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Whether a character controls a terminal or reorders the text around it.
fn hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// JSON that is safe on a terminal and unchanged for a program: control characters beyond ASCII,
/// which can only be inside strings, become `\uXXXX`.
pub fn printable_json(text: String) -> String {
    let foreign = |c: char| !c.is_ascii() && hostile(c);
    if !text.contains(foreign) {
        return text;
    }
    text.chars()
        .map(|c| if foreign(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() })
        .collect()
}

/// Text from a file, made safe for a terminal: control characters and bidirectional overrides
/// become `\u{…}`.
pub fn printable(text: &str) -> String {
    if !text.contains(hostile) {
        return text.to_owned();
    }
    text.chars()
        .map(|c| if hostile(c) { c.escape_unicode().to_string() } else { c.to_string() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_place_fault_and_remedy_in_one_sentence() {
        let error = Error::data("the value 'abc' is not a number")
            .file("patients.csv")
            .line(17)
            .column("age")
            .remedy("correct it, or read the column as text with --categorical age");
        assert_eq!(
            error.to_string(),
            "patients.csv, line 17, column 'age': the value 'abc' is not a number; correct it, or read the column as \
             text with --categorical age"
        );
        assert_eq!(error.exit_code(), 3);
    }

    #[test]
    fn names_the_place_in_the_terms_of_the_file() {
        let error = Error::data("bad").file("f").line(17).column("age");
        assert_eq!(
            error.clone().sheet("Visits").rows_are(RowKind::Row).to_string(),
            "f, sheet 'Visits', row 17, column 'age': bad"
        );
        assert_eq!(error.rows_are(RowKind::Column).to_string(), "f, column 17, row 'age': bad");
    }

    #[test]
    fn shortens_what_a_file_made_long() {
        let error = Error::data(format!("'{}' is not a number", "é".repeat(10_000))).to_string();
        assert_eq!(error.chars().count(), 1003);
        assert!(error.starts_with("'éé") && error.ends_with("é' is not a number"), "{error}");
    }

    #[test]
    fn escapes_what_a_terminal_would_obey() {
        let error = Error::data("bad").column("a\u{1b}[31m\u{202e}b");
        assert_eq!(error.to_string(), "column 'a\\u{1b}[31m\\u{202e}b': bad");
    }
}
