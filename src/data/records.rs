//! The records of a text, one at a time. Lines without quotes, that is most lines, are split at the
//! separators; the others are parsed by csv-core, which also decides where a record ends.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memchr2};

use super::source::{TextSource, unreadable};
use crate::error::{Error, Result};

/// Bytes that are read at once.
const PIECE: usize = 1 << 18;

/// The cells of a record.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    /// Concatenated, with one byte between any two.
    text: String,
    /// Where each ends; records are shorter than 4 GiB.
    ends: Vec<u32>,
}

impl Record {
    /// How many cells there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Bytes of all cells and between them.
    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// Whether there is a cell for each of so many columns, and none with text beyond them.
    pub(super) fn fits(&self, columns: usize) -> bool {
        self.len() >= columns && (columns..self.len()).all(|cell| self.cell(cell).trim().is_empty())
    }

    fn bounds(&self, cell: usize) -> (usize, usize) {
        let start = if cell == 0 { 0 } else { self.ends[cell - 1] as usize + 1 };
        (start, self.ends[cell] as usize)
    }

    /// One cell.
    pub(super) fn cell(&self, cell: usize) -> &str {
        let (start, end) = self.bounds(cell);
        &self.text[start..end]
    }

    /// The bytes of one cell.
    pub(super) fn bytes_of(&self, cell: usize) -> &[u8] {
        let (start, end) = self.bounds(cell);
        &self.text.as_bytes()[start..end]
    }

    /// The same record behind an empty cell.
    pub(super) fn behind_an_empty_cell(&self) -> Self {
        let ends = std::iter::once(0).chain(self.ends.iter().map(|end| end + 1));
        Self { text: format!(" {}", self.text), ends: ends.collect() }
    }

    /// The cells.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &str> {
        (0..self.len()).map(|cell| self.cell(cell))
    }

    /// Becomes the record of a line without quotes; false if that is not UTF-8.
    fn split(&mut self, line: &[u8], delimiter: u8) -> bool {
        let Ok(line) = str::from_utf8(line) else { return false };
        self.text.clear();
        self.text.push_str(line);
        self.ends.clear();
        self.ends.extend(memchr_iter(delimiter, line.as_bytes()).map(|place| place as u32));
        self.ends.push(line.len() as u32);
        true
    }

    /// Becomes the record of some cells; false if one is not UTF-8.
    fn join<'c>(&mut self, cells: impl Iterator<Item = &'c [u8]>) -> bool {
        self.text.clear();
        self.ends.clear();
        for cell in cells {
            let Ok(cell) = str::from_utf8(cell) else { return false };
            if !self.ends.is_empty() {
                self.text.push(' ');
            }
            self.text.push_str(cell);
            self.ends.push(self.text.len() as u32);
        }
        true
    }

    #[cfg(test)]
    pub(super) fn of(cells: &[&str]) -> Self {
        let mut record = Self::default();
        record.join(cells.iter().map(|cell| cell.as_bytes()));
        record
    }
}

/// Where the quotes of a record are, as the parser sees them.
#[derive(Default)]
struct Quotes {
    place: QuoteState,
    line_feeds: u64,
    /// There is text behind a closing quote, after this many line feeds: the parser adds it to the
    /// cell, but a quote that was meant as a character opened or closed the cell, which may hold
    /// whole lines.
    text_behind: Option<u64>,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum QuoteState {
    #[default]
    Start,
    Plain,
    Quoted,
    /// Behind a quote that closes a cell, unless another follows.
    Closed,
    /// Behind that and blanks.
    Blank,
}

impl Quotes {
    /// Follows more bytes of the record.
    fn follow(&mut self, bytes: &[u8], delimiter: u8) {
        for &byte in bytes {
            self.line_feeds += u64::from(byte == b'\n');
            self.place = match (self.place, byte) {
                (QuoteState::Quoted, b'"') => QuoteState::Closed,
                (QuoteState::Quoted, _) | (QuoteState::Start | QuoteState::Closed, b'"') => {
                    QuoteState::Quoted
                }
                (_, b'\n' | b'\r') => QuoteState::Start,
                (_, byte) if byte == delimiter => QuoteState::Start,
                (QuoteState::Closed | QuoteState::Blank, b' ' | b'\t') => QuoteState::Blank,
                (QuoteState::Closed | QuoteState::Blank, _) => {
                    self.text_behind = self.text_behind.or(Some(self.line_feeds));
                    QuoteState::Plain
                }
                (QuoteState::Start | QuoteState::Plain, _) => QuoteState::Plain,
            };
        }
    }
}

/// The csv crate's parser. It would take a byte order mark in front of the first record it sees for
/// one of the file.
fn parser(delimiter: u8) -> csv_core::Reader {
    let mut parser = csv_core::ReaderBuilder::new().delimiter(delimiter).build();
    parser.read_record(b"\n", &mut [], &mut []);
    parser
}

/// The records of a file, one at a time, each with the line it starts on. Blank lines are skipped.
pub(super) struct RecordReader<P> {
    source: TextSource<P>,
    /// Bytes read but not yet consumed are at `start..end`.
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    ended: bool,
    /// The number of the first line.
    first_line: u64,
    /// Line feeds before `start`, and whether one is the last byte there.
    line_feeds: u64,
    after_feed: bool,
    delimiter: u8,
    parser: csv_core::Reader,
    /// The most bytes that a record may have.
    longest: usize,
    /// The output of the parser for a record.
    cells: Vec<u8>,
    ends: Vec<usize>,
    pub(super) record: Record,
    pub(super) line: u64,
    /// A record failed because it is not UTF-8.
    not_utf8: bool,
}

impl<P: FnMut(u64, u64)> RecordReader<P> {
    /// The records of a file with this separator, in at most `limit` bytes of memory.
    pub(super) fn new(source: TextSource<P>, delimiter: u8, limit: u64) -> Self {
        // While a record is split, several copies of it exist.
        let longest = (limit / 16).clamp(1 << 20, 1 << 28) as usize;
        Self {
            source,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            ended: false,
            first_line: 1,
            line_feeds: 0,
            after_feed: false,
            delimiter,
            parser: parser(delimiter),
            longest,
            cells: vec![0; 1 << 10],
            ends: vec![0; 1 << 6],
            record: Record::default(),
            line: 1,
            not_utf8: false,
        }
    }

    /// Numbers the lines from another number than 1.
    pub(super) fn numbered_from(mut self, first_line: u64) -> Self {
        (self.first_line, self.line) = (first_line, first_line);
        self
    }

    /// Separates cells by another sign from now on.
    pub(super) fn separate_by(&mut self, delimiter: u8) {
        self.delimiter = delimiter;
    }

    /// Reads other text in place of the file's, whose first line has this number.
    pub(super) fn restart(&mut self, text: Vec<u8>, first_line: u64) {
        self.source.replace(text);
        (self.start, self.end, self.ended) = (0, 0, false);
        (self.first_line, self.line_feeds, self.after_feed, self.line) =
            (first_line, 0, false, first_line);
        self.parser = parser(self.delimiter);
    }

    /// Bytes of text in memory that are still to be read.
    pub(super) fn held(&self) -> u64 {
        self.source.held()
    }

    /// The file, when all is read.
    pub(super) fn into_source(self) -> TextSource<P> {
        self.source
    }

    /// Whether a record failed that would not have in Windows-1252.
    pub(super) fn may_be_legacy(&self) -> bool {
        self.not_utf8 && self.source.may_be_legacy()
    }

    /// Reads the next record; false at the end of the file.
    pub(super) fn advance(&mut self) -> Result<bool> {
        loop {
            if !self.next()? {
                return Ok(false);
            }
            if self.record.len() != 1 || !self.record.cell(0).trim().is_empty() {
                return Ok(true);
            }
        }
    }

    fn next(&mut self) -> Result<bool> {
        loop {
            let (line, length) = self.whole_line()?;
            if length == 0 {
                return Ok(false);
            }
            let text = &self.buffer[self.start..self.start + line];
            if memchr2(b'"', b'\r', text).is_some() {
                return self.parse();
            }
            let is_utf8 = self.record.split(text, self.delimiter);
            let is_blank = text.is_empty();
            self.line = self.first_line + self.line_feeds;
            self.pass(length);
            if !is_utf8 {
                return Err(self.refuse_letters());
            }
            if !is_blank {
                return Ok(true);
            }
        }
    }

    /// The length of the next line without and with what ends it; both are zero at the end of the
    /// file.
    fn whole_line(&mut self) -> Result<(usize, usize)> {
        let mut searched = 0;
        loop {
            let ahead = &self.buffer[self.start..self.end];
            if let Some(place) = memchr(b'\n', &ahead[searched..]) {
                let feed = searched + place;
                let line = if feed > 0 && ahead[feed - 1] == b'\r' { feed - 1 } else { feed };
                return Ok((line, feed + 1));
            }
            searched = ahead.len();
            if self.ended {
                return Ok((searched, searched));
            }
            if searched > self.longest {
                return Err(self.too_long());
            }
            self.refill()?;
        }
    }

    /// A record by the csv crate's parser.
    fn parse(&mut self) -> Result<bool> {
        let (mut used, mut written, mut count) = (0, 0, 0);
        let mut quotes = Quotes::default();
        loop {
            if self.start == self.end && !self.ended {
                self.refill()?;
            }
            let (result, read, more, ended) = self.parser.read_record(
                &self.buffer[self.start..self.end],
                &mut self.cells[written..],
                &mut self.ends[count..],
            );
            quotes.follow(&self.buffer[self.start..self.start + read], self.delimiter);
            self.pass(read);
            (used, written, count) = (used + read, written + more, count + ended);
            match result {
                csv_core::ReadRecordResult::InputEmpty => {}
                csv_core::ReadRecordResult::OutputFull => {
                    self.cells.resize(2 * self.cells.len(), 0)
                }
                csv_core::ReadRecordResult::OutputEndsFull => {
                    self.ends.resize(2 * self.ends.len(), 0)
                }
                csv_core::ReadRecordResult::Record => break,
                csv_core::ReadRecordResult::End => return Ok(false),
            }
            if used > self.longest {
                return Err(self.too_long());
            }
        }
        // After a carriage return the line feed is still to come, and the last line may lack it.
        self.line = self.first_line + self.line_feeds - u64::from(self.after_feed);
        let cells = &self.cells[..written];
        let starts = std::iter::once(&0).chain(&self.ends);
        if !self
            .record
            .join(starts.zip(&self.ends[..count]).map(|(&start, &end)| &cells[start..end]))
        {
            return Err(self.refuse_letters());
        }
        let within = memchr_iter(b'\n', cells).count() as u64;
        if quotes.place == QuoteState::Quoted {
            return Err(Error::data("a quote is opened but never closed")
                .line(self.first_line + self.line_feeds - within)
                .remedy("close it, or double it if it is meant as a character"));
        }
        self.line -= within;
        if let Some(line_feeds) = quotes.text_behind {
            return Err(Error::data("there is text behind a quote that closes a cell")
                .line(self.line + line_feeds)
                .remedy("double the quote if it is meant as a character, or take it out"));
        }
        Ok(true)
    }

    /// Consumes this many bytes.
    fn pass(&mut self, bytes: usize) {
        let passed = &self.buffer[self.start..self.start + bytes];
        self.line_feeds += memchr_iter(b'\n', passed).count() as u64;
        self.after_feed = passed.last().map_or(self.after_feed, |&last| last == b'\n');
        self.start += bytes;
    }

    /// Reads more bytes into the buffer.
    fn refill(&mut self) -> Result<()> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.buffer.len() < self.end + PIECE {
            self.buffer.resize((2 * self.end).max(self.end + PIECE), 0);
        }
        let read = loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        let read = read.map_err(|error| unreadable(&error))?;
        self.ended = read == 0;
        self.end += read;
        Ok(())
    }

    fn too_long(&self) -> Error {
        unreadable(&io::ErrorKind::FileTooLarge.into())
    }

    fn refuse_letters(&mut self) -> Error {
        self.not_utf8 = true;
        Error::data("some of the text is UTF-8, but this line is not")
            .line(self.line)
            .remedy("save the table as CSV (UTF-8)")
    }
}

#[cfg(test)]
mod tests;
