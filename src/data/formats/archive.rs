//! The parts of a workbook that is a zip archive: read piece by piece, and measured before a reader
//! keeps them in memory.

use std::io::{self, BufReader, Cursor, Read, Take};

use quick_xml::Reader;
use quick_xml::events::Event;
use zip::ZipArchive;
use zip::read::ZipFile;

use crate::data::memory;
use crate::error::{Error, Result};

/// A workbook in memory.
pub(super) type Archive<'b> = ZipArchive<Cursor<&'b [u8]>>;

/// A part of it, unpacked while it is read.
type Unpacked<'z, 'b> = BufReader<ZipFile<'z, Cursor<&'b [u8]>>>;

/// Bytes of the longest text or tag: a cell has at most 32,767 characters.
pub(super) const LONGEST: u64 = 1 << 20;

/// A part that is XML, given as its events.
pub(super) struct Part<'z, 'b> {
    xml: Reader<Take<Unpacked<'z, 'b>>>,
    event: Vec<u8>,
    /// Bytes since the last tag.
    run: u64,
}

impl<'z, 'b> Part<'z, 'b> {
    pub(super) fn new(part: ZipFile<'z, Cursor<&'b [u8]>>) -> Self {
        let mut xml = Reader::from_reader(BufReader::new(part).take(LONGEST));
        // As calamine reads it.
        let config = xml.config_mut();
        config.check_end_names = false;
        config.expand_empty_elements = true;
        Self { xml, event: Vec::new(), run: 0 }
    }

    /// The next event, at the end `Eof`. The error is that of the text or tag that is too long, or
    /// else of the XML.
    pub(super) fn next(&mut self) -> Result<quick_xml::Result<Event<'_>>> {
        self.event.clear();
        self.xml.get_mut().set_limit(LONGEST);
        let event = self.xml.read_event_into(&mut self.event);
        self.run = match &event {
            Ok(Event::Start(_) | Event::End(_)) => 0,
            _ => self.run + LONGEST - self.xml.get_ref().limit(),
        };
        let is_long = self.run > LONGEST || self.xml.get_ref().limit() == 0;
        if is_long { Err(too_long()) } else { Ok(event) }
    }
}

/// The error of a cell that no spreadsheet program would write.
pub(super) fn too_long() -> Error {
    Error::data(
        "the workbook holds a text of more than 1 MB, and a cell has at most 32,767 characters",
    )
    .remedy("save it again, or the sheet as CSV (UTF-8)")
}

/// Refuses a workbook whose parts, as calamine keeps them, need more memory than is allowed.
pub(super) fn check(archive: &mut Archive, limit: u64) -> Result<()> {
    let mut needed = memory::PROGRAM;
    let within = |needed: u64| {
        if needed <= limit {
            return Ok(());
        }
        let (needed, limit) = (memory::spoken(needed), memory::spoken(limit));
        Err(Error::data(format!(
            "the workbook needs {needed} of memory or more, and {limit} are allowed"
        ))
        .remedy("save the sheet as CSV (UTF-8), or allow more with --memory-limit")
        .option("--memory-limit"))
    };
    for place in 0..archive.len() {
        // calamine cannot read this part either.
        let Ok(part) = archive.by_index(place) else { continue };
        let name = part.name().unwrap_or_default().to_lowercase();
        // Data of add-ins may be long texts.
        if !name.ends_with(".xml") && !name.ends_with(".rels") || name.starts_with("customxml/") {
            let mut part = part.take(limit);
            needed += 3 * io::copy(&mut part, &mut io::sink()).unwrap_or(0);
            within(needed)?;
            continue;
        }
        let mut part = Part::new(part);
        let mut longest = 0;
        while let Ok(event) = part.next()? {
            let more = match &event {
                Event::Eof => break,
                Event::Start(tag) => match tag.local_name().as_ref() {
                    // Cells are read one after the other.
                    "row" | "c" | "v" | "f" | "is" | "t" => 0,
                    "si" => 96,
                    // Space for the shared strings is reserved before they are read.
                    "sst" => {
                        let count = tag.try_get_attribute("uniqueCount").ok().flatten();
                        count
                            .and_then(|count| count.value.parse().ok())
                            .unwrap_or(0_u64)
                            .saturating_mul(24)
                    }
                    // A style holds a copy of the names of its font and format.
                    "xf" => 512 + 2 * longest,
                    _ => 512,
                },
                _ => 0,
            };
            let read = LONGEST - part.xml.get_ref().limit();
            longest = read.max(longest);
            needed = needed.saturating_add(3 * read).saturating_add(more);
            within(needed)?;
        }
    }
    Ok(())
}
