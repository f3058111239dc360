//! The bytes of a file on their way to the parser: hashed, unpacked, decoded and sniffed. Knows
//! nothing of cells.
//!
//! ```text
//! file or standard input ─► Raw (SHA-256 of the bytes as they are) ─► Unpacked (gzip)
//!   ─► Decoded (UTF-8) ─► parser
//! ```

use std::fs::{File, Metadata};
use std::io::{self, Chain, Cursor, Read, Stdin};
use std::path::Path;
use std::time::SystemTime;

use encoding_rs::{Decoder, Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};

use super::formats::geo;
use super::sniff::{self, kinds};
use crate::error::{Error, Result};

const HEAD: u64 = 1 << 20;
const REPORT_EVERY: u64 = 1 << 20;
const BOM: &[u8] = b"\xef\xbb\xbf";
const GZIP: &[u8] = b"\x1f\x8b";

/// What the user writes for standard input.
pub const STANDARD: &str = "-";
/// What standard input is called in sentences, and as the name of a dataset.
pub const STANDARD_INPUT: &str = "standard input";

/// The file as it is named in sentences.
pub(super) fn name(path: &Path) -> String {
    if path.as_os_str() == STANDARD {
        STANDARD_INPUT.to_owned()
    } else {
        path.to_string_lossy().into_owned()
    }
}

/// A file being read once, front to back.
pub(super) struct TextSource<P> {
    text: Decoded<Ahead<Unpacked<P>>>,
    head: Vec<u8>,
    served: usize,
    replaced: u64,
    letters: Letters,
    encoding: &'static Encoding,
    stamp: Option<Stamp>,
    notes: Vec<String>,
}

/// The encoding that the bytes beyond ASCII suggest so far.
#[derive(Clone, Copy, PartialEq)]
enum Letters {
    Ascii,
    Utf8,
    Other,
}

/// A reader with some bytes put back in front of it.
type Ahead<R> = Chain<Cursor<Vec<u8>>, R>;

impl<P: FnMut(u64, u64)> TextSource<P> {
    /// Opens a file (or `-`) and refuses what cannot be a table of text. `legacy` skips the guess
    /// of the encoding: what is not UTF-8 is Windows-1252.
    pub(super) fn open(path: &Path, legacy: bool, progress: P) -> Result<Self> {
        let refuse = |error: io::Error| unreadable(&error);
        let (input, stamp) = open(path)?;
        let total = stamp.map_or(0, |stamp| stamp.length);
        let mut raw = Raw { input, hash: Sha256::new(), read: 0, total, reported: 0, progress };
        let mut notes = Vec::new();
        let first = ahead(&mut raw, GZIP.len() as u64).map_err(refuse)?;
        let packed = first == GZIP;
        let raw = Cursor::new(first).chain(raw);
        let mut unpacked = if packed {
            notes.push("the file is compressed (gzip)".to_owned());
            Unpacked::Gzip(Box::new(MultiGzDecoder::new(raw)))
        } else {
            Unpacked::Plain(raw)
        };
        let mut bytes = ahead(&mut unpacked, HEAD).map_err(refuse)?;
        kinds::refuse(&bytes)?;
        let encoding = encoding(&bytes, legacy)?;
        if let Some(encoding) = encoding {
            notes.push(format!("the text is {}, read as such", spoken(encoding)));
        } else if bytes.starts_with(BOM) {
            bytes.drain(..BOM.len());
        }
        let mut text = Decoded::new(Cursor::new(bytes).chain(unpacked), encoding);
        let mut head = ahead(&mut text, HEAD).map_err(refuse)?;
        if head.trim_ascii().is_empty() {
            return Err(
                Error::data("the file is empty").remedy("give a CSV file with a header and rows")
            );
        }
        if has_only_returns(&head) {
            text.returns = true;
            head.iter_mut().for_each(return_to_feed);
        }
        let letters = Letters::Ascii;
        let encoding = encoding.unwrap_or(UTF_8);
        Ok(Self { text, head, served: 0, replaced: 0, letters, encoding, stamp, notes })
    }

    /// The usual name of the encoding.
    pub(super) fn encoding(&self) -> &'static str {
        self.encoding.name()
    }

    /// Text that another reader makes.
    pub(super) fn of_text(text: Box<dyn Read + Send>, progress: P) -> Self {
        let input = RawInput::Text(text);
        let raw = Raw { input, hash: Sha256::new(), read: 0, total: 0, reported: 0, progress };
        let unpacked = Unpacked::Plain(Cursor::new(Vec::new()).chain(raw));
        let text = Decoded::new(Cursor::new(Vec::new()).chain(unpacked), None);
        let (head, notes) = (Vec::new(), Vec::new());
        let letters = Letters::Ascii;
        Self { text, head, served: 0, replaced: 0, letters, encoding: UTF_8, stamp: None, notes }
    }

    /// Whether it is a GEO series matrix.
    pub(super) fn is_series_matrix(&self) -> bool {
        geo::is_series_matrix(&self.head)
    }

    /// The separator that fits the first lines best.
    pub(super) fn separator(&self, decimal: Option<u8>) -> u8 {
        sniff::separator(&self.head, decimal)
    }

    /// The decimal sign of the first lines.
    pub(super) fn decimal(&self, separator: u8) -> u8 {
        sniff::decimal(&self.head, separator)
    }

    /// Whether the text may be Windows-1252: the first bytes beyond ASCII were not UTF-8.
    pub(super) fn may_be_legacy(&self) -> bool {
        self.letters == Letters::Other && self.stamp.is_some()
    }

    /// Bytes of text that were put in place of the file's.
    pub(super) fn held(&self) -> u64 {
        self.replaced
    }

    /// Puts other text in place of the rest.
    pub(super) fn replace(&mut self, text: Vec<u8>) {
        self.replaced = text.capacity() as u64;
        (self.head, self.served) = (text, 0);
    }

    /// Notes, and the SHA-256 of all bytes of the file as they are, hexadecimal. Refuses a file
    /// that has changed.
    pub(super) fn finish(self) -> Result<(Vec<String>, String)> {
        let (_, unpacked) = self.text.from.into_inner();
        let mut raw = unpacked.into_raw();
        io::copy(&mut raw, &mut io::sink()).map_err(|error| unreadable(&error))?;
        (raw.progress)(raw.read, raw.total.max(raw.read));
        if let (Some(before), RawInput::File(file)) = (self.stamp, &raw.input) {
            let after = file.metadata().ok().and_then(|about| Stamp::new(&about));
            if after != Some(before) || (before.length > 0 && before.length != raw.read) {
                return Err(Error::data("the file changed while it was read")
                    .remedy("wait until it is written, and start again"));
            }
        }
        Ok((self.notes, hexadecimal(&raw.hash.finalize())))
    }
}

impl<P: FnMut(u64, u64)> Read for TextSource<P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let ahead = &self.head[self.served..];
        let n = if ahead.is_empty() {
            self.text.read(buffer)?
        } else {
            let n = ahead.len().min(buffer.len());
            buffer[..n].copy_from_slice(&ahead[..n]);
            self.served += n;
            n
        };
        self.letters = letters(self.letters, &buffer[..n]);
        Ok(n)
    }
}

/// How a regular file looked when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: SystemTime,
}

impl Stamp {
    fn new(about: &Metadata) -> Option<Self> {
        Some(Self { length: about.len(), modified: about.modified().ok()? })
    }
}

enum RawInput {
    File(File),
    Standard(Stdin),
    /// Text made from another format.
    Text(Box<dyn Read + Send>),
}

fn open(path: &Path) -> Result<(RawInput, Option<Stamp>)> {
    if path.as_os_str() == STANDARD {
        return Ok((RawInput::Standard(io::stdin()), None));
    }
    let refuse = |error: io::Error| unreadable(&error);
    // Check before opening: opening a pipe waits for its writer.
    let about = std::fs::metadata(path).map_err(refuse)?;
    if about.is_dir() {
        return Err(Error::data("this is a directory").remedy("name the CSV file inside it"));
    }
    if !about.is_file() {
        return Err(Error::data("this is a pipe or a device, not a file").remedy(
            "write the table to a file, or send it to standard input and give - as the file",
        ));
    }
    let file = File::open(path).map_err(refuse)?;
    let stamp = file.metadata().ok().and_then(|about| Stamp::new(&about));
    Ok((RawInput::File(file), stamp))
}

/// The bytes as they are: counted and hashed.
struct Raw<P> {
    input: RawInput,
    hash: Sha256,
    read: u64,
    total: u64,
    reported: u64,
    progress: P,
}

impl<P: FnMut(u64, u64)> Read for Raw<P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = match &mut self.input {
            RawInput::File(file) => file.read(buffer)?,
            RawInput::Standard(input) => input.read(buffer)?,
            RawInput::Text(text) => text.read(buffer)?,
        };
        self.hash.update(&buffer[..n]);
        self.read += n as u64;
        if self.read - self.reported >= REPORT_EVERY {
            self.reported = self.read;
            (self.progress)(self.read, self.total.max(self.read));
        }
        Ok(n)
    }
}

enum Unpacked<P> {
    Plain(Ahead<Raw<P>>),
    Gzip(Box<MultiGzDecoder<Ahead<Raw<P>>>>),
}

impl<P> Unpacked<P> {
    fn into_raw(self) -> Raw<P> {
        match self {
            Self::Plain(raw) => raw.into_inner().1,
            Self::Gzip(packed) => packed.into_inner().into_inner().1,
        }
    }
}

impl<P: FnMut(u64, u64)> Read for Unpacked<P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(raw) => raw.read(buffer),
            Self::Gzip(packed) => packed.read(buffer),
        }
    }
}

/// Any encoding as UTF-8.
struct Decoded<R> {
    from: R,
    decoder: Option<Decoder>,
    /// Lines end with a carriage return alone.
    returns: bool,
    bytes: Vec<u8>,
    text: Vec<u8>,
    given: usize,
}

impl<R: Read> Decoded<R> {
    fn new(from: R, encoding: Option<&'static Encoding>) -> Self {
        let decoder = encoding.map(Encoding::new_decoder_with_bom_removal);
        Self { from, decoder, returns: false, bytes: Vec::new(), text: Vec::new(), given: 0 }
    }

    /// Decodes the next bytes; false at the end.
    fn refill(&mut self) -> io::Result<bool> {
        const PIECE: usize = 1 << 15;
        let Some(decoder) = &mut self.decoder else { return Ok(false) };
        self.bytes.resize(PIECE, 0);
        let n = self.from.read(&mut self.bytes)?;
        let room = decoder.max_utf8_buffer_length(n).unwrap_or(4 * PIECE);
        self.text.resize(room, 0);
        let (_, _, written, _) = decoder.decode_to_utf8(&self.bytes[..n], &mut self.text, n == 0);
        self.text.truncate(written);
        self.given = 0;
        if n == 0 {
            self.decoder = None;
        }
        Ok(true)
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = if self.decoder.is_none() && self.given == self.text.len() {
            self.from.read(buffer)?
        } else {
            while self.given == self.text.len() {
                if !self.refill()? {
                    return Ok(0);
                }
            }
            let n = (self.text.len() - self.given).min(buffer.len());
            buffer[..n].copy_from_slice(&self.text[self.given..self.given + n]);
            self.given += n;
            n
        };
        if self.returns {
            buffer[..n].iter_mut().for_each(return_to_feed);
        }
        Ok(n)
    }
}

/// The next bytes, at most this many.
fn ahead(from: &mut impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The encoding, if it is not UTF-8.
fn encoding(head: &[u8], legacy: bool) -> Result<Option<&'static Encoding>> {
    if head.starts_with(b"\xff\xfe") {
        return Ok(Some(UTF_16LE));
    }
    if head.starts_with(b"\xfe\xff") {
        return Ok(Some(UTF_16BE));
    }
    if head.contains(&0) {
        return wide_letters(head).map(Some).ok_or_else(kinds::no_text);
    }
    if !legacy && letters(Letters::Ascii, head) != Letters::Other {
        return Ok(None);
    }
    let control =
        |&byte: &u8| byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | b'\x0c' | b'\x1a');
    if head.iter().any(control) { Err(kinds::no_text()) } else { Ok(Some(WINDOWS_1252)) }
}

/// UTF-16 without a mark: of most letters one byte is zero, always the same.
fn wide_letters(head: &[u8]) -> Option<&'static Encoding> {
    let zeros = |odd: usize| head.iter().skip(odd).step_by(2).filter(|&&byte| byte == 0).count();
    let (even, odd) = (zeros(0), zeros(1));
    let most = head.len() / 4;
    match () {
        () if even == 0 && odd > most => Some(UTF_16LE),
        () if odd == 0 && even > most => Some(UTF_16BE),
        () => None,
    }
}

/// What the first letters beyond ASCII are. Letters cut in two at the end of a piece pass for
/// UTF-8.
fn letters(before: Letters, bytes: &[u8]) -> Letters {
    if before != Letters::Ascii || bytes.is_ascii() {
        return before;
    }
    let first = bytes.iter().position(|byte| !byte.is_ascii()).unwrap_or_default();
    match std::str::from_utf8(&bytes[first..]) {
        Err(error) if error.valid_up_to() == 0 && error.error_len().is_some() => Letters::Other,
        _ => Letters::Utf8,
    }
}

fn spoken(encoding: &Encoding) -> &'static str {
    if encoding == WINDOWS_1252 { "not UTF-8 but looks like Windows-1252" } else { "UTF-16" }
}

/// An old Macintosh's line ends.
fn has_only_returns(head: &[u8]) -> bool {
    let inner = &head[..head.len() - 1];
    !head.contains(&b'\n') && inner.contains(&b'\r')
}

fn return_to_feed(byte: &mut u8) {
    if *byte == b'\r' {
        *byte = b'\n';
    }
}

/// Bytes as hexadecimal digits.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A file that could not be opened or read.
pub(super) fn unreadable(error: &io::Error) -> Error {
    if let Some(ours) = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>()) {
        return ours.clone();
    }
    match error.kind() {
        io::ErrorKind::NotFound => Error::data("there is no such file").remedy("check the path"),
        io::ErrorKind::PermissionDenied => Error::data("the file may not be read")
            .remedy("ask its owner for permission to read it"),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            Error::data("the compressed file is damaged or cut off")
                .remedy("copy or download it again")
        }
        io::ErrorKind::FileTooLarge => {
            Error::data("the line is longer than the memory limit allows")
                .remedy("close a quote that was left open, or allow more with --memory-limit")
                .option("--memory-limit")
        }
        _ => Error::data(format!("the file cannot be read ({error})"))
            .remedy("check the disk, or copy the file"),
    }
}
