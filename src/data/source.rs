//! The bytes of a file on their way to the parser: hashed, counted, and looked at first. Knows nothing of cells.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

const HEAD: u64 = 1 << 20;
const TELL_EVERY: u64 = 1 << 20;
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A file being read once, front to back.
pub(super) struct Source<P> {
    file: File,
    head: Vec<u8>,
    served: usize,
    /// The bytes last handed out: the parser has consumed all before them.
    chunk: Vec<u8>,
    hash: Sha256,
    read: u64,
    total: u64,
    told: u64,
    progress: P,
}

impl<P: FnMut(u64, u64)> Source<P> {
    /// Opens a file and refuses what cannot be a table of text.
    pub(super) fn open(path: &Path, progress: P) -> Result<Self> {
        let refuse = |error: io::Error| unreadable(&error).file(path);
        let mut file = File::open(path).map_err(refuse)?;
        let about = file.metadata().map_err(refuse)?;
        if about.is_dir() {
            return Err(Error::data("this is a directory").file(path).remedy("name the CSV file inside it"));
        }
        let mut head = Vec::new();
        file.by_ref().take(HEAD).read_to_end(&mut head).map_err(refuse)?;
        check_text(&head).map_err(|error| error.file(path))?;
        let (hash, chunk) = (Sha256::new(), Vec::new());
        Ok(Self { file, head, served: 0, chunk, hash, read: 0, total: about.len(), told: 0, progress })
    }

    /// The separator that fits the first lines best.
    pub(super) fn sniff(&self, decimal: u8) -> u8 {
        sniff(self.head.strip_prefix(BOM).unwrap_or(&self.head), decimal)
    }

    /// The byte before `position`, if it was among those last handed out.
    pub(super) fn byte_before(&self, position: u64) -> Option<u8> {
        let start = self.read - self.chunk.len() as u64;
        let at = position.checked_sub(start + 1)?;
        self.chunk.get(usize::try_from(at).ok()?).copied()
    }

    /// The SHA-256 of all bytes read, hexadecimal.
    pub(super) fn finish(mut self) -> String {
        (self.progress)(self.read, self.total.max(self.read));
        format!("{:x}", self.hash.finalize())
    }
}

impl<P: FnMut(u64, u64)> Read for Source<P> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let ahead = &self.head[self.served..];
        let n = if ahead.is_empty() {
            self.file.read(buffer)?
        } else {
            let n = ahead.len().min(buffer.len());
            buffer[..n].copy_from_slice(&ahead[..n]);
            self.served += n;
            n
        };
        if n > 0 {
            self.chunk.clear();
            self.chunk.extend_from_slice(&buffer[..n]);
            self.hash.update(&buffer[..n]);
            self.read += n as u64;
        }
        if self.read - self.told >= TELL_EVERY {
            self.told = self.read;
            (self.progress)(self.read, self.total.max(self.read));
        }
        Ok(n)
    }
}

/// A file that could not be opened or read.
pub(super) fn unreadable(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::NotFound => Error::data("there is no such file").remedy("check the path"),
        io::ErrorKind::PermissionDenied => {
            Error::data("the file may not be read").remedy("ask its owner for permission to read it")
        }
        _ => Error::data(format!("the file cannot be read ({error})"))
            .remedy("check the disk, or copy the file"),
    }
}

fn check_text(head: &[u8]) -> Result<()> {
    if head.strip_prefix(BOM).unwrap_or(head).trim_ascii().is_empty() {
        return Err(Error::data("the file is empty").remedy("give a CSV file with a header and rows"));
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"\xd0\xcf\x11\xe0") {
        return Err(
            Error::data("this is a workbook or an archive, not a CSV file").remedy("save it as CSV (UTF-8)")
        );
    }
    if head.starts_with(b"\x1f\x8b") {
        return Err(Error::data("the file is compressed").remedy("unpack it with gunzip"));
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Err(
            Error::data("the file is UTF-16, not UTF-8").remedy("convert it with iconv -f UTF-16 -t UTF-8")
        );
    }
    if head.contains(&0) {
        return Err(Error::data("this is not a text file").remedy("save the table as CSV (UTF-8)"));
    }
    Ok(())
}

/// The candidate that occurs equally often, outside quotes, in each of the first lines; the most frequent of those,
/// or of all when none is so regular.
fn sniff(head: &[u8], decimal: u8) -> u8 {
    const CANDIDATES: [u8; 4] = [b',', b';', b'\t', b'|'];
    const LINES: usize = 20;
    let mut lines: Vec<[usize; 4]> = Vec::new();
    let (mut counts, mut blank, mut quoted, mut before) = ([0; 4], true, false, b'\n');
    for &byte in head {
        match byte {
            b'"' if quoted => quoted = false,
            b'"' if matches!(before, b'\n' | b'\r' | b'"') || CANDIDATES.contains(&before) => quoted = true,
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
                if let Some(i) = CANDIDATES.iter().position(|&c| c == byte) {
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
    (0..CANDIDATES.len())
        .filter(|&i| lines[0][i] > 0 && CANDIDATES[i] != decimal)
        .max_by_key(|&i| (regular(i), lines[0][i], std::cmp::Reverse(i)))
        .map_or(b',', |i| CANDIDATES[i])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sniffs_the_separator_that_is_regular() {
        assert_eq!(sniff(b"a,b\n1,2\n", b'.'), b',');
        assert_eq!(sniff(b"a;b\n1,5;2,5\n3;4\n", b'.'), b';');
        assert_eq!(sniff(b"a\tb, or so\n1\t2\n", b'.'), b'\t');
        assert_eq!(sniff(b"a|b|c", b'.'), b'|');
        assert_eq!(sniff(b"only\n1\n", b'.'), b',');
    }

    #[test]
    fn sniffing_ignores_quoted_separators_and_the_decimal_sign() {
        assert_eq!(sniff(b"\"a;b;c\",d\n\"x \"\";;\"\" y\",2\n", b'.'), b',');
        assert_eq!(sniff(b"a,b;c\n1,5;2\n", b','), b';');
        assert_eq!(sniff(b"size 5\" or so,b\n1,2\n", b'.'), b',');
    }
}
