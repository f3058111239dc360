//! JSON that people and programs read: fields on lines of their own, lists on one line.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

/// A value as indented JSON with a line feed at the end.
pub fn pretty(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    value
        .serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Fields { depth: 0 }))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Breaks lines before the fields of objects only.
struct Fields {
    depth: usize,
}

impl Fields {
    fn line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b" "))
    }
}

impl Formatter for Fields {
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth -= 1;
        self.line(writer)?;
        writer.write_all(b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        self.line(writer)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_stay_on_one_line() {
        let value = serde_json::json!({"a": [1.5, null], "b": {"c": []}});
        let text = String::from_utf8(pretty(&value).unwrap()).unwrap();
        assert_eq!(text, "{\n \"a\": [1.5,null],\n \"b\": {\n  \"c\": []\n }\n}\n");
    }
}
