use super::*;
use proptest::prelude::*;

/// The cells of every record and the line it starts on.
fn records(text: &[u8], delimiter: u8) -> Result<Vec<(u64, Vec<String>)>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, text).unwrap();
    let source = TextSource::open(&path, false, |_, _| ()).unwrap();
    let mut records = RecordReader::new(source, delimiter, u64::MAX);
    let mut found = Vec::new();
    while records.advance()? {
        found.push((records.line, records.record.iter().map(str::to_owned).collect()));
    }
    Ok(found)
}

/// The same by the csv crate, which does not tell where a record starts.
fn by_the_csv_crate(text: &[u8], delimiter: u8) -> Vec<Vec<String>> {
    let mut builder = csv::ReaderBuilder::new();
    let mut reader =
        builder.delimiter(delimiter).has_headers(false).flexible(true).from_reader(text);
    let cells = |record: csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
    let blank = |cells: &Vec<String>| cells.len() == 1 && cells[0].trim().is_empty();
    reader.records().map(|record| cells(record.unwrap())).filter(|cells| !blank(cells)).collect()
}

#[test]
fn lines_are_those_on_which_records_start() {
    let text = b"a,b\n\n1,2\r\n\"x\ny\",3\r\n\r\n4,\"5\"\n \n\"6\",7\n8,9";
    let lines: Vec<u64> = records(text, b',').unwrap().into_iter().map(|(line, _)| line).collect();
    assert_eq!(lines, [1, 3, 4, 7, 9, 10]);
}

#[test]
fn a_record_may_be_longer_than_what_is_read_at_once() {
    let long = "x".repeat(3 * PIECE);
    for text in [format!("a,{long},b\n1,2,3\n"), format!("a,\"{long}\",b\n1,2,3\n")] {
        let found = records(text.as_bytes(), b',').unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].1, ["a", &long, "b"]);
        assert_eq!(found[1], (2, vec!["1".to_owned(), "2".to_owned(), "3".to_owned()]));
    }
}

#[test]
fn quotes_that_cannot_be_meant_are_refused_where_they_are() {
    let refused = |text: &str| records(text.as_bytes(), b',').unwrap_err().to_string();
    for (text, line) in
        [("a,b\n1,\"2", 2), ("a,b\n1,\"2\n", 2), ("a,b\n1,2\n3,\"", 3), ("a,\"b\nc,d\ne", 1)]
    {
        let words = refused(text);
        assert!(
            words.contains("never closed") && words.contains(&format!("line {line}")),
            "{text}: {words}"
        );
    }
    for (text, line) in
        [("a,b\n\"1\"x,2\n", 2), ("a,b\n1,\"2\n3,4\n5,\"6\n", 4), ("a,b\n\"1\" \"2\",3\n", 2)]
    {
        let words = refused(text);
        assert!(
            words.contains("behind a quote") && words.contains(&format!("line {line}")),
            "{text}: {words}"
        );
    }
    for text in [
        "a,b\n\"1\" ,\"2\"\t\n",
        "a,b\n5\" tall,\"6\"\" \"\r\n",
        "a,b\n\"\",\"\"\"\"",
        "a,b\n1\",2\"\n",
        "a,b\n\"1\n\",\n",
    ] {
        assert_eq!(records(text.as_bytes(), b',').unwrap().len(), 2, "{text}");
    }
}

proptest! {
    #[test]
    fn records_are_those_of_the_csv_crate(
        text in "[a-c1é,;\"\r\n\t ]{0,60}",
        delimiter in prop::sample::select(b",;\t".to_vec()),
    ) {
        let text = format!("a{delimiter}b\nc,\"d\"\n{text}", delimiter = char::from(delimiter));
        let expected = by_the_csv_crate(text.as_bytes(), delimiter);
        match records(text.as_bytes(), delimiter) {
            Ok(found) => {
                prop_assert_eq!(found.into_iter().map(|(_, cells)| cells).collect::<Vec<_>>(), expected);
            }
            // The crate takes what is left for a cell, and what is behind a quote for a part of it.
            Err(error) => {
                let words = error.to_string();
                prop_assert!(words.contains("never closed") || words.contains("behind a quote"), "{}", words);
                prop_assert!(text.contains('"'));
            }
        }
    }
}
