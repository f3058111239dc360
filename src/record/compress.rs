//! A finished journal, compressed to about a quarter. It reads as if it were the plain file, at the
//! same offsets.
//!
//! `journal-….jsonl.gz` is plain gzip (`zcat` reads it): one member for each megabyte of whole
//! lines. Each member records in its extra field its compressed and plain lengths, so that a reader
//! finds any offset without decompressing what precedes it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

use super::format;
use crate::files::{Directory, open_regular};

/// Bytes of lines in a member, at least (but for the last).
const MEMBER: usize = 1 << 20;
/// The longest member that is read: one line more than a megabyte.
const LONGEST: u64 = format::LONGEST_OUTCOME + MEMBER as u64;
/// gzip with an extra field, without a time, of an unknown system.
const MAGIC: [u8; 10] = [0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 255];
/// The extra field: its length, its name, and the length of what follows.
const FIELD: [u8; 6] = [12, 0, b'C', b'R', 8, 0];
/// Magic, field, and the two lengths.
const HEADER: usize = MAGIC.len() + FIELD.len() + 8;
/// Checksum and length, as gzip ends a member.
const TRAILER: u64 = 8;

/// The packed file of a journal.
pub(super) fn compressed_name(journal: &Path) -> PathBuf {
    let mut name = journal.as_os_str().to_owned();
    name.push(".gz");
    name.into()
}

/// Compresses a journal that is complete: to a temporary file, then renamed, and only then the
/// plain file is deleted.
pub(super) fn compress(directory: &Directory, journal: &str) -> io::Result<()> {
    let mut lines = BufReader::with_capacity(1 << 18, directory.open_file(journal)?);
    let mut file = directory.new_file(&format!("{journal}.gz"))?;
    let mut block = Vec::with_capacity(MEMBER + (1 << 16));
    loop {
        block.clear();
        while block.len() < MEMBER && lines.read_until(b'\n', &mut block)? > 0 {}
        if block.is_empty() {
            break;
        }
        file.write_all(&member(&block)?)?;
    }
    // The file and its name are on the disk before the plain file is deleted.
    file.commit()?;
    directory.sync()?;
    directory.remove(journal)?;
    Ok(())
}

fn member(block: &[u8]) -> io::Result<Vec<u8>> {
    let mut deflated =
        DeflateEncoder::new(Vec::with_capacity(block.len() / 3), Compression::fast());
    deflated.write_all(block)?;
    let deflated = deflated.finish()?;
    let short = |length: usize| {
        u32::try_from(length)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a line is too long"))
    };
    let (packed, plain) = (short(deflated.len())?, short(block.len())?);
    let mut crc = Crc::new();
    crc.update(block);
    let mut member = Vec::with_capacity(HEADER + deflated.len() + TRAILER as usize);
    member.extend(MAGIC);
    member.extend(FIELD);
    member.extend(packed.to_le_bytes());
    member.extend(plain.to_le_bytes());
    member.extend(deflated);
    member.extend(crc.sum().to_le_bytes());
    member.extend(plain.to_le_bytes());
    Ok(member)
}

/// The plain bytes of a compressed journal, up to where it is cut off or damaged.
pub(super) struct Decompressed {
    file: BufReader<File>,
    block: Vec<u8>,
    at: usize,
}

impl Decompressed {
    /// From an offset of the plain file on.
    pub(super) fn open(packed: &Path, offset: u64) -> io::Result<Self> {
        let file = BufReader::with_capacity(1 << 18, open_regular(packed)?);
        let mut decompressed = Self { file, block: Vec::new(), at: 0 };
        let mut left = offset;
        while let Some((packed, plain)) = decompressed.header()? {
            if left < plain {
                decompressed.unpack(packed, plain)?;
                decompressed.at =
                    decompressed.block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                break;
            }
            left -= plain;
            decompressed.file.seek_relative((packed + TRAILER) as i64)?;
        }
        Ok(decompressed)
    }

    /// The lengths of the next member, if one written by this program begins here.
    fn header(&mut self) -> io::Result<Option<(u64, u64)>> {
        let mut header = [0; HEADER];
        match self.file.read_exact(&mut header) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            other => other?,
        }
        let (start, lengths) = header.split_at(MAGIC.len() + FIELD.len());
        let length = |at: usize| {
            u64::from(u32::from_le_bytes([
                lengths[at],
                lengths[at + 1],
                lengths[at + 2],
                lengths[at + 3],
            ]))
        };
        let (packed, plain) = (length(0), length(4));
        let ours = start == [&MAGIC[..], &FIELD].concat() && packed <= LONGEST && plain <= LONGEST;
        Ok(ours.then_some((packed, plain)))
    }

    fn unpack(&mut self, packed: u64, plain: u64) -> io::Result<()> {
        let mut deflated = Vec::new();
        self.file.by_ref().take(packed).read_to_end(&mut deflated)?;
        let mut trailer = Vec::new();
        self.file.by_ref().take(TRAILER).read_to_end(&mut trailer)?;
        (self.block, self.at) = (Vec::new(), 0);
        let whole = DeflateDecoder::new(&deflated[..]).take(plain + 1).read_to_end(&mut self.block);
        let mut crc = Crc::new();
        crc.update(&self.block);
        let right = whole.is_ok()
            && self.block.len() as u64 == plain
            && trailer.get(..4) == Some(&crc.sum().to_le_bytes()[..]);
        if !right {
            // After a damaged member no offset can be trusted.
            self.block.clear();
            self.file.seek(SeekFrom::End(0))?;
        }
        Ok(())
    }
}

impl Read for Decompressed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(into)?;
        self.consume(read);
        Ok(read)
    }
}

impl BufRead for Decompressed {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.at >= self.block.len()
            && let Some((packed, plain)) = self.header()?
        {
            self.unpack(packed, plain)?;
        }
        Ok(&self.block[self.at.min(self.block.len())..])
    }

    fn consume(&mut self, amount: usize) {
        self.at += amount;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::Dataset;
    use crate::record::{EventSource, Journals, Live, RunDirectory, Shard, journals};
    use crate::run::{Plan, RunOptions};

    /// Some megabytes of lines, their file, and its packed form.
    fn packed() -> (tempfile::TempDir, PathBuf, Vec<u8>) {
        let desk = tempfile::tempdir().unwrap();
        let path = desk.path().join("journal-1of1-a.jsonl");
        let text: Vec<u8> = (0..90_000u64)
            .flat_map(|i| format!("{{\"line\":{i},\"x\":{}}}\n", i * i * 977).into_bytes())
            .collect();
        std::fs::write(&path, &text).unwrap();
        compress(&Directory::open(desk.path()).unwrap(), "journal-1of1-a.jsonl").unwrap();
        assert!(!path.exists() && text.len() > 2 * MEMBER);
        (desk, compressed_name(&path), text)
    }

    fn from(path: &Path, offset: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        Decompressed::open(path, offset).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn every_offset_is_that_of_the_plain_file() {
        let (_desk, path, text) = packed();
        for offset in [
            0,
            1,
            17,
            MEMBER - 1,
            MEMBER,
            MEMBER + 40,
            2 * MEMBER,
            text.len() - 1,
            text.len(),
            text.len() + 9,
        ] {
            assert_eq!(from(&path, offset as u64), text[offset.min(text.len())..], "{offset}");
        }
    }

    #[test]
    fn other_programs_read_it() {
        let (_desk, path, text) = packed();
        let mut bytes = Vec::new();
        flate2::read::MultiGzDecoder::new(File::open(&path).unwrap())
            .read_to_end(&mut bytes)
            .unwrap();
        assert!(bytes == text);
    }

    #[test]
    fn what_is_cut_or_damaged_ends_at_a_whole_line() {
        let (_desk, path, text) = packed();
        let whole = std::fs::read(&path).unwrap();
        for cut in (0..whole.len()).step_by(4099).chain([5, HEADER, whole.len() - 1]) {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let left = from(&path, 0);
            assert!(text.starts_with(&left) && (left.is_empty() || left.ends_with(b"\n")), "{cut}");
        }
        for wrong in (0..whole.len()).step_by(8191).chain([0, 12, 17, 21]) {
            let mut damaged = whole.clone();
            damaged[wrong] ^= 0x15;
            std::fs::write(&path, damaged).unwrap();
            assert!(text.starts_with(&from(&path, 0)), "{wrong}");
        }
    }

    /// All events of a directory, as text.
    fn told(directory: &Path) -> Vec<String> {
        let mut events = Vec::new();
        let mut records = Journals::open(directory).unwrap().unwrap();
        records.replay(|event| events.push(format!("{event:?}"))).unwrap();
        assert_eq!(records.notes(), Vec::<String>::new());
        events
    }

    #[test]
    fn a_packed_run_is_the_same_run() {
        let x =
            ndarray::Array2::from_shape_fn((60, 4), |(i, j)| ((i * (3 + 2 * j)) % (7 + j)) as f64);
        let labels: Vec<&str> = (0..60).map(|i| if i % 3 == 0 { "a" } else { "b" }).collect();
        let data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
        let mut options = RunOptions::default();
        options.split.splits = 2;
        let plan = Arc::new(Plan::new(options.check().unwrap(), data).unwrap());
        let desk = tempfile::tempdir().unwrap();
        let directory = Arc::new(RunDirectory::claim(desk.path(), Shard::WHOLE).unwrap());
        let source = EventSource::engine(Live {
            plan: plan.clone(),
            gate: Arc::default(),
            tasks: plan.tasks(),
            followups: Vec::new(),
            threads: 2,
            directory: Some(directory.clone()),
            records: None,
        });
        source.events().iter().for_each(drop);
        source.close().unwrap();
        let plain = told(desk.path());
        let known = Journals::open(desk.path()).unwrap().unwrap();
        for journal in journals(desk.path()).unwrap() {
            let name = journal.file_name().unwrap().to_str().unwrap();
            compress(&Directory::open(desk.path()).unwrap(), name).unwrap();
            assert!(!journal.exists());
        }
        assert_eq!(told(desk.path()), plain);
        // A reader of the plain file finds the same lines in the compressed one.
        let mut known = known;
        let task = plan.tasks()[3];
        assert!(known.read(task, &plan.info.spec).unwrap().is_some());
        let none: [&str; 0] = [];
        directory.start_anew(&none).unwrap();
        assert!(journals(desk.path()).unwrap().is_empty());
    }
}
