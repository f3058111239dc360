//! How large the sheets of an xls workbook are. calamine makes a rectangle of the cells of every
//! sheet as soon as it opens the file, and trusts what the file says of its size.

use calamine::Data;

use crate::data::memory;
use crate::error::{Error, Result};

/// Refuses a workbook whose sheets need more memory than is allowed.
pub(super) fn check(bytes: &[u8], limit: u64) -> Result<()> {
    // Other files are for calamine to refuse.
    if !bytes.starts_with(b"\xd0\xcf\x11\xe0") {
        return Ok(());
    }
    let damaged = || Error::data("the file is damaged").remedy("copy or save it again");
    let stream = workbook(bytes).ok_or_else(damaged)?;
    let needed = memory::PROGRAM.saturating_add(sheets(&stream));
    if needed <= limit {
        return Ok(());
    }
    let (needed, limit) = (memory::spoken(needed), memory::spoken(limit));
    Err(Error::data(format!("the sheets need {needed} of memory, and {limit} are allowed"))
        .remedy("clear stray cells, save the sheet as CSV, or allow more with --memory-limit"))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The sectors of a file within the file, one behind the other; nothing if they go round in a
/// circle.
fn chain(data: &[u8], size: usize, next: &[u32], start: u32) -> Option<Vec<u8>> {
    const END: u32 = 0xffff_fffe;
    let mut all = Vec::new();
    let mut sector = start;
    for _ in 0..=next.len() {
        if sector == END {
            return Some(all);
        }
        let from = sector as usize * size;
        all.extend_from_slice(data.get(from..)?.chunks(size).next()?);
        sector = *next.get(sector as usize)?;
    }
    None
}

/// The records of the workbook, none if there is no workbook inside.
fn workbook(bytes: &[u8]) -> Option<Vec<u8>> {
    /// Streams that are shorter are in sectors of 64 bytes.
    const SHORT: u32 = 4096;
    let size = 1 << short(bytes, 30).filter(|size| matches!(size, 9 | 12))?;
    let sectors = bytes.get(size..)?;
    let words = |bytes: &[u8]| (0..bytes.len() / 4).filter_map(|i| word(bytes, 4 * i)).collect();
    let mut table: Vec<u32> = words(&bytes[76..512]);
    let mut more = word(bytes, 68)?;
    for _ in 0..sectors.len() / size {
        let Some(sector) = sectors.get(more as usize * size..) else { break };
        let found: Vec<u32> = words(sector.chunks(size).next()?);
        more = *found.last()?;
        table.extend(&found[..found.len() - 1]);
    }
    let in_use =
        table.iter().filter_map(|&id| sectors.get(id as usize * size..)?.chunks(size).next());
    let next: Vec<u32> = in_use.flat_map(words).collect();
    let entries = chain(sectors, size, &next, word(bytes, 48)?)?;
    let (root, fat) = (word(&entries, 116)?, word(bytes, 60)?);
    let (small, small_next) = match word(bytes, 64)? {
        0 => (Vec::new(), Vec::new()),
        _ => (chain(sectors, size, &next, root)?, words(&chain(sectors, size, &next, fat)?)),
    };
    let called = |name: &str| {
        let name: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
        entries.chunks_exact(128).find(|entry| entry[..name.len()].eq_ignore_ascii_case(&name))
    };
    let Some(entry) = called("Workbook").or_else(|| called("Book")) else {
        return Some(Vec::new());
    };
    let start = word(entry, 116)?;
    let stream = match word(entry, 120)? {
        0..SHORT => chain(&small, 64, &small_next, start)?,
        _ => chain(sectors, size, &next, start)?,
    };
    Some(stream)
}

/// The records of a stream: type and data.
fn records(mut stream: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = short(stream, 2)? as usize;
        let record = (short(stream, 0)?, stream.get(4..4 + length)?);
        stream = &stream[4 + length..];
        Some(record)
    })
}

/// Bytes that calamine needs for all sheets.
fn sheets(stream: &[u8]) -> u64 {
    const BOUND_SHEET: u16 = 0x85;
    const END: u16 = 0x0a;
    records(stream)
        .take_while(|(kind, _)| *kind != END)
        .filter(|(kind, _)| *kind == BOUND_SHEET)
        .filter_map(|(_, data)| Some(sheet(stream.get(word(data, 0)? as usize..)?)))
        .fold(0, u64::saturating_add)
}

/// Bytes for the sheet that starts here.
fn sheet(stream: &[u8]) -> u64 {
    /// A cell in a list, in the rectangle, in its copy and in the rectangle of formulas.
    const CELL: u64 = 4 * size_of::<Data>() as u64;
    let (mut height, mut width, mut declared) = (0, 0, 0);
    let (mut started, mut charts) = (false, 0);
    for (kind, data) in records(stream) {
        let at = |place: usize| u64::from(short(data, place).unwrap_or(0));
        let last = match kind {
            // Charts are within the sheet, between a beginning and an end of their own.
            0x0809 => {
                charts += u32::from(started);
                started = true;
                continue;
            }
            0x000a if charts == 0 => break,
            0x000a => {
                charts -= 1;
                continue;
            }
            // The declared extent, for which space is reserved: rows, columns.
            0x0200 => {
                let (first, end, columns) = match data.len() {
                    10 => (at(0) as u32, at(2) as u32, at(6)),
                    _ => (word(data, 0).unwrap_or(0), word(data, 4).unwrap_or(0), at(10)),
                };
                // As calamine subtracts.
                let rows = end.max(1).wrapping_sub(first);
                declared = u64::from(rows).saturating_mul(columns.max(1));
                continue;
            }
            // Several numbers in one record.
            0x00bd => at(data.len().saturating_sub(2)),
            // Number, label, rich text, boolean or error, small number, shared string, formula.
            0x0203 | 0x0204 | 0x00d6 | 0x0205 | 0x027e | 0x00fd | 0x0006 => at(2),
            _ => continue,
        };
        height = height.max(at(0) + 1);
        width = width.max(last + 1);
    }
    declared.max(height * width).saturating_mul(CELL)
}
