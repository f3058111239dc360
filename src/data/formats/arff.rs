//! ARFF, the text format of Weka: names and types of the columns, then lines of values, dense or
//! sparse.

use super::write_record;
use crate::data::names::short;
use crate::error::{Error, Result};

/// Whether a file begins like ARFF: with `@relation`, after comments.
pub(in crate::data) fn is_arff(head: &[u8]) -> bool {
    let lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(b"%"));
    lines.next().is_some_and(|line| keyword(line, b"@relation").is_some())
}

/// What follows a keyword at the start of a line.
fn keyword<'l>(line: &'l [u8], word: &[u8]) -> Option<&'l [u8]> {
    let (start, rest) = line.split_at_checked(word.len())?;
    let ends = rest.first().is_none_or(u8::is_ascii_whitespace);
    (start.eq_ignore_ascii_case(word) && ends).then(|| rest.trim_ascii_start())
}

/// A column.
struct Attribute {
    name: String,
    /// What a sparse line means when it does not mention the column: zero, or the first value of
    /// the list.
    default: String,
}

/// The table, separated by commas, every line under the number that it has in the file.
pub(in crate::data) fn to_csv(text: &str) -> Result<Vec<u8>> {
    let mut attributes: Vec<Attribute> = Vec::new();
    let mut csv = Vec::with_capacity(text.len());
    let mut in_data = false;
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        let at_line = |error: Error| error.line(number);
        if line.is_empty() || line.starts_with('%') {
            csv.push(b'\n');
        } else if in_data {
            write_row(&mut csv, line, &attributes).map_err(at_line)?;
        } else if let Some(rest) = keyword(line.as_bytes(), b"@attribute") {
            // Cut at ASCII characters, so both parts are text.
            let rest = &line[line.len() - rest.len()..];
            attributes.push(attribute(rest).map_err(at_line)?);
            csv.push(b'\n');
        } else if keyword(line.as_bytes(), b"@data").is_some() {
            if attributes.is_empty() {
                return Err(at_line(no_attributes()));
            }
            write_record(&mut csv, attributes.iter().map(|attribute| attribute.name.as_str()));
            in_data = true;
        } else if keyword(line.as_bytes(), b"@relation").is_some() {
            csv.push(b'\n');
        } else {
            return Err(at_line(
                Error::data(format!("'{}' is not a line of an ARFF header", short(line)))
                    .remedy("write @relation, @attribute or @data, or start a comment with %"),
            ));
        }
    }
    if in_data { Ok(csv) } else { Err(no_data()) }
}

fn no_attributes() -> Error {
    Error::data("no @attribute comes before @data")
        .remedy("declare every column with @attribute NAME TYPE")
}

fn no_data() -> Error {
    Error::data("the ARFF file has no line @data").remedy("put @data above the rows")
}

/// The declaration of a column: `name numeric`, `'a name' {a, b}`, `seen date "yyyy-MM-dd"`.
fn attribute(text: &str) -> Result<Attribute> {
    let mut rest = text;
    let name = if text.starts_with(['\'', '"']) {
        quoted(&mut rest)?
    } else {
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        rest = &text[end..];
        text[..end].to_owned()
    };
    let kind = rest.trim();
    let refuse = |what: String| {
        Error::data(what).remedy("declare it as numeric, as {one, of, these}, as string or as date")
    };
    if let Some(list) = kind.strip_prefix('{') {
        let list = list.strip_suffix('}').ok_or_else(|| {
            refuse(format!("the values of '{}' do not end with }}", short(&name)))
        })?;
        let default = cells(list)?.into_iter().next().unwrap_or_default();
        return Ok(Attribute { name, default });
    }
    let word = kind.split_whitespace().next().unwrap_or_default().to_lowercase();
    match word.as_str() {
        "numeric" | "real" | "integer" => Ok(Attribute { name, default: "0".to_owned() }),
        "string" | "date" => Ok(Attribute { name, default: String::new() }),
        _ => Err(refuse(format!(
            "the type of '{}' is '{}', which is unknown",
            short(&name),
            short(kind)
        ))),
    }
}

/// Writes a line of values: separated by commas, or `{index value, …}` with the values that are not
/// the default.
fn write_row(csv: &mut Vec<u8>, line: &str, attributes: &[Attribute]) -> Result<()> {
    let Some(sparse) = line.strip_prefix('{') else {
        let values = cells(line)?;
        // A weight in braces may follow the values.
        let weight = values.len() == attributes.len() + 1
            && values.last().is_some_and(|last| last.starts_with('{') && last.ends_with('}'));
        let values = &values[..values.len() - usize::from(weight)];
        write_record(csv, values.iter().map(String::as_str));
        return Ok(());
    };
    let Some((sparse, _weight)) = sparse.rsplit_once('}') else {
        return Err(Error::data("the sparse line does not end with }").remedy("complete the line"));
    };
    // A weight in braces may follow: the values end at the first brace outside quotes.
    let sparse = sparse.split_once('}').map_or(sparse, |(values, _)| values);
    let mut values: Vec<String> =
        attributes.iter().map(|attribute| attribute.default.clone()).collect();
    for pair in cells(sparse)?.iter().filter(|pair| !pair.is_empty()) {
        let (index, value) = pair.split_once(char::is_whitespace).unwrap_or((pair, ""));
        let slot =
            index.parse().ok().and_then(|index: usize| values.get_mut(index)).ok_or_else(|| {
                Error::data(format!(
                    "'{}' is not the number of one of {} columns",
                    short(index),
                    attributes.len()
                ))
                .remedy("count columns from 0")
            })?;
        *slot = unquoted(value.trim())?;
    }
    write_record(csv, values.iter().map(String::as_str));
    Ok(())
}

/// The values of a line: separated by commas, some in single or double quotes.
fn cells(line: &str) -> Result<Vec<String>> {
    let mut cells = Vec::new();
    let mut rest = line.trim_start();
    loop {
        if rest.starts_with(['\'', '"']) {
            cells.push(quoted(&mut rest)?);
            rest = rest.trim_start();
            if rest.is_empty() {
                return Ok(cells);
            }
            rest = rest.strip_prefix(',').ok_or_else(|| {
                Error::data(format!("'{}' follows a quote that closes a value", short(rest)))
                    .remedy("write \\ before a quote that is meant as a character")
            })?;
        } else {
            // Within a sparse pair the value may be quoted: then a comma does not end it.
            let end = unquoted_end(rest);
            cells.push(rest[..end].trim().to_owned());
            match rest[end..].strip_prefix(',') {
                Some(more) => rest = more,
                None => return Ok(cells),
            }
        }
        rest = rest.trim_start();
    }
}

/// Where the next comma outside quotes is, or the end.
fn unquoted_end(text: &str) -> usize {
    let mut open = None;
    let mut escaped = false;
    let mut before = ' ';
    for (place, c) in text.char_indices() {
        match (open, c) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(quote), c) if c == quote => open = None,
            (Some(_), _) => {}
            (None, '\'' | '"') if before.is_whitespace() => open = Some(c),
            (None, ',') => return place,
            (None, _) => {}
        }
        before = c;
    }
    text.len()
}

/// A value that may be in quotes as a whole.
fn unquoted(value: &str) -> Result<String> {
    let mut rest = value;
    if value.starts_with(['\'', '"']) { quoted(&mut rest) } else { Ok(value.to_owned()) }
}

/// Takes a quoted value off the front of a text.
fn quoted(text: &mut &str) -> Result<String> {
    let mut value = String::new();
    let mut escaped = false;
    let mut characters = text.char_indices();
    let quote = characters.next().map(|(_, quote)| quote);
    for (place, c) in characters {
        match c {
            c if escaped => {
                value.push(match c {
                    'n' | 'r' | 't' => ' ',
                    other => other,
                });
                escaped = false;
            }
            '\\' => escaped = true,
            c if Some(c) == quote => {
                *text = &text[place + c.len_utf8()..];
                return Ok(value);
            }
            c => value.push(c),
        }
    }
    Err(Error::data("a quote is opened but never closed").remedy("close it on the same line"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(text: &str) -> String {
        String::from_utf8(to_csv(text).unwrap()).unwrap()
    }

    fn fault(text: &str) -> String {
        to_csv(text).unwrap_err().to_string()
    }

    const HEADER: &str = "% a comment\n@RELATION 'heart study'\n@attribute age NUMERIC\n@attribute 'chest pain' {none, 'at rest', \"a, b\"}\n@attribute class {well,ill}\n@DATA\n";

    #[test]
    fn reads_dense_lines_under_their_numbers() {
        let rows = "61,'at rest',ill\n% between\n?, \"a, b\" , well\n48,it\\'s,well,{2}\n";
        assert_eq!(
            csv(&format!("{HEADER}{rows}")),
            "\n\n\n\n\nage,chest pain,class\n61,at rest,ill\n\n?,\"a, b\",well\n48,it\\'s,well\n"
        );
        assert!(
            is_arff(HEADER.as_bytes()) && !is_arff(b"@relations,b\n1,2\n") && !is_arff(b"a,b\n")
        );
    }

    #[test]
    fn sparse_lines_leave_out_zeros_and_first_values() {
        let rows = "{0 61, 1 'at rest', 2 ill}\n{}\n{1 \"a, b\"} , {3}\n";
        assert!(
            csv(&format!("{HEADER}{rows}"))
                .ends_with("61,at rest,ill\n0,none,well\n0,\"a, b\",well\n")
        );
    }

    #[test]
    fn names_what_is_wrong_and_where() {
        assert_eq!(
            fault("@relation a\n@attribute x {a,b\n"),
            "line 2: the values of 'x' do not end with }; declare it as numeric, as {one, of, these}, as string or as date"
        );
        assert!(
            fault("@relation a\n@attribute x relational\n")
                .contains("is 'relational', which is unknown")
        );
        assert!(
            fault(&format!("{HEADER}{{7 1}}\n"))
                .starts_with("line 7: '7' is not the number of one of 3")
        );
        assert!(fault(&format!("{HEADER}1,'a\n")).starts_with("line 7: a quote is opened"));
        assert!(
            fault("@relation a\nx,y\n")
                .starts_with("line 2: 'x,y' is not a line of an ARFF header")
        );
        assert!(fault("@relation a\n@data\n").starts_with("line 2: no @attribute comes before"));
        assert!(fault("@relation a\n@attribute x real\n").contains("no line @data"));
    }
}
