//! Files that are not tables of text, recognised by their first bytes: what each is, and how to
//! convert it to CSV. Formats that are compiled in are opened before; they are refused here when
//! they come compressed or on standard input.

use crate::error::{Error, Result};

/// First bytes, what the file is, and the remedy.
const KINDS: [(&[u8], &str, &str); 15] = [
    (
        b"\xd0\xcf\x11\xe0",
        "an old Excel workbook (xls)",
        "open it in a spreadsheet and save the sheet as CSV (UTF-8)",
    ),
    (
        b"PAR1",
        "a Parquet file",
        "convert it, for example: python -c \"import pandas; pandas.read_parquet('FILE').to_csv('data.csv', index=False)\"",
    ),
    (
        b"ARROW1",
        "a Feather file",
        "convert it, for example: python -c \"import pandas; pandas.read_feather('FILE').to_csv('data.csv', index=False)\"",
    ),
    (
        b"\x89HDF",
        "an HDF5 file",
        "AnnData (.h5ad) is read by a program built with cargo build --features h5ad; or convert it, for example: python -c \"import anndata; a = anndata.read_h5ad('FILE'); a.to_df().to_csv('data.csv'); a.obs.to_csv('pheno.csv')\", and join the two with --pheno",
    ),
    (b"BZh", "a bzip2 file", "unpack it with bunzip2"),
    (b"\xfd7zXZ\0", "an xz file", "unpack it with unxz"),
    (b"\x28\xb5\x2f\xfd", "a zstd file", "unpack it with unzstd"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", "unpack it and name the CSV file inside"),
    (b"%PDF", "a PDF", "ask for the table itself as CSV"),
    (
        b"RDX",
        "R's own format",
        "write a table in R: write.csv(data, 'data.csv', row.names = FALSE)",
    ),
    (
        b"X\n\0\0\0",
        "R's own format",
        "write a table in R: write.csv(data, 'data.csv', row.names = FALSE)",
    ),
    (
        b"$FL2",
        "an SPSS file",
        "save it as CSV in SPSS, or in R: write.csv(haven::read_sav('FILE'), 'data.csv', row.names = FALSE)",
    ),
    (b"<stata_dta>", "a Stata file", "save it in Stata with export delimited data.csv"),
    (b"{\\rtf", "a text document (RTF)", "save the table as CSV (UTF-8)"),
    (b"\x89PNG", "a picture", "ask for the table itself as CSV"),
];

/// Refuses what cannot be a table of text.
pub(in crate::data) fn refuse(head: &[u8]) -> Result<()> {
    if let Some((magic, what, remedy)) = KINDS.iter().find(|(magic, _, _)| head.starts_with(magic))
    {
        let is_read = match *magic {
            b"PAR1" => cfg!(feature = "formats"),
            b"\x89HDF" => cfg!(feature = "h5ad"),
            _ => false,
        };
        if is_read {
            return Err(Error::data(format!(
                "this is {what}, which is read from a file that is not compressed"
            ))
            .remedy("unpack it, or write it to a file instead of standard input"));
        }
        return Err(Error::data(format!("this is {what}, not a CSV file")).remedy(*remedy));
    }
    if head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06") {
        return Err(zip(head));
    }
    if is_arff(head) {
        return Err(Error::data("this is an ARFF file, not a CSV file").remedy(
            "convert it, for example: Rscript -e \"write.csv(foreign::read.arff('FILE'), 'data.csv', row.names = FALSE)\"",
        ));
    }
    if is_libsvm(head) {
        return Err(Error::data("this is a LIBSVM file, not a CSV file").remedy(
            "convert it, for example: python -c \"import pandas, sklearn.datasets as d; x, y = d.load_svmlight_file('FILE'); pandas.DataFrame(x.toarray()).assign(**{'class': y}).to_csv('data.csv', index=False)\"",
        ));
    }
    if head.get(257..262) == Some(b"ustar") {
        return Err(Error::data("this is a tar archive, not a CSV file")
            .remedy("unpack it and name the CSV file inside"));
    }
    let start = head.trim_ascii_start();
    let begins = |word: &str| {
        start.get(..word.len()).is_some_and(|s| s.eq_ignore_ascii_case(word.as_bytes()))
    };
    if begins("<!doctype html") || begins("<html") {
        return Err(Error::data("this is a web page, not a CSV file")
            .remedy("download the table itself (a log-in page instead of the data?)"));
    }
    if begins("{\"") || begins("[{") {
        return Err(Error::data("this is JSON, not a CSV file")
            .remedy("convert it, for example: python -c \"import pandas; pandas.read_json('FILE').to_csv('data.csv', index=False)\""));
    }
    Ok(())
}

/// Whether a text begins with `@relation`, after comments.
fn is_arff(head: &[u8]) -> bool {
    const FIRST: &[u8] = b"@relation";
    head.split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .find(|line| !line.is_empty() && !line.starts_with(b"%"))
        .and_then(|line| line.split_at_checked(FIRST.len()))
        .is_some_and(|(word, rest)| {
            word.eq_ignore_ascii_case(FIRST) && rest.first().is_none_or(u8::is_ascii_whitespace)
        })
}

/// Whether the first line is a label followed by pairs of an index and a number.
fn is_libsvm(head: &[u8]) -> bool {
    /// The last word of a long line may be cut off.
    const WORDS: usize = 8;
    let line = head.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    let mut words = line.split_whitespace().take(WORDS);
    let is_number = |word: &str| word.parse::<f64>().is_ok();
    let is_pair = |word: &str| {
        word.split_once(':').is_some_and(|(index, value)| {
            (index == "qid" || index.parse::<usize>().is_ok()) && is_number(value)
        })
    };
    words.next().is_some_and(is_number) && words.next().is_some_and(is_pair) && words.all(is_pair)
}

/// A workbook is a zip archive as well: its first entries show which it is.
fn zip(head: &[u8]) -> Error {
    let holds = |word: &[u8]| head.windows(word.len()).any(|bytes| bytes == word);
    if holds(b"opendocument.spreadsheet") {
        return Error::data("this is an OpenDocument spreadsheet (ods), not a CSV file")
            .remedy("open it in a spreadsheet and save the sheet as CSV (UTF-8)");
    }
    if holds(b"xl/") || holds(b"[Content_Types].xml") {
        return Error::data("this is an Excel workbook (xlsx), not a CSV file")
            .remedy("open it in a spreadsheet and save the sheet as CSV (UTF-8)");
    }
    Error::data("this is a zip archive, not a CSV file")
        .remedy("unpack it and name the CSV file inside")
}

/// The error for bytes that are not text.
pub(in crate::data) fn no_text() -> Error {
    Error::data("this is not a text file").remedy("save the table as CSV (UTF-8)")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_other_programs_are_refused_with_the_command_that_converts_them() {
        for (head, named) in [
            ("% from Weka\n\n@RELATION iris\n@attribute a numeric\n", "foreign::read.arff"),
            ("1 3:0.5 12:-1e3\n0 1:2\n", "load_svmlight_file"),
            ("-1 qid:2 1:0.5\n", "load_svmlight_file"),
        ] {
            let said = refuse(head.as_bytes()).unwrap_err().to_string();
            assert!(said.contains(named), "{head}: {said}");
        }
        for table in ["@relations,b\n1,2\n", "a,b\n1,2\n", "1\n2\n", "1 2 3:4\n", "7 a:2\n"] {
            assert!(refuse(table.as_bytes()).is_ok(), "{table}");
        }
    }
}
