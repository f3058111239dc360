//! Reading, rule by rule, and a round trip of random tables.

use std::io::Write;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

struct Fixture {
    _folder: TempDir,
    path: PathBuf,
}

fn file(bytes: impl AsRef<[u8]>) -> Fixture {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::File::create(&path).unwrap().write_all(bytes.as_ref()).unwrap();
    Fixture { _folder: folder, path }
}

fn read_with(bytes: impl AsRef<[u8]>, options: &ReadOptions, as_text: &[usize]) -> Result<Table> {
    Table::read(&file(bytes).path, options, |_| Ok(as_text.to_vec()), |_, _| ())
}

fn read(bytes: impl AsRef<[u8]>) -> Result<Table> {
    read_with(bytes, &ReadOptions::default(), &[])
}

/// The error's sentence without the folder.
fn complaint(result: Result<Table>) -> String {
    let text = result.unwrap_err().to_string();
    text.find("t.csv").map_or(text.clone(), |at| text[at..].to_owned())
}

fn numbers(table: &Table, column: usize) -> &[f64] {
    match &table.columns[column] {
        Column::Numbers(values) => values,
        Column::Text { .. } => panic!("column {column} is text"),
    }
}

fn words(table: &Table, column: usize) -> Vec<Option<&str>> {
    match &table.columns[column] {
        Column::Text { levels, codes } => {
            codes.iter().map(|c| c.map(|c| levels[c as usize].as_str())).collect()
        }
        Column::Numbers(_) => panic!("column {column} is numbers"),
    }
}

#[test]
fn reads_numbers_and_text() {
    let table = read(" a ,b,\n1,x,3\n -2.5e1 , y ,.5\n").unwrap();
    assert_eq!(table.header, ["a", "b", "c3"]);
    assert_eq!(numbers(&table, 0), [1.0, -25.0]);
    assert_eq!(words(&table, 1), [Some("x"), Some("y")]);
    assert_eq!(numbers(&table, 2), [3.0, 0.5]);
    assert_eq!((table.delimiter, table.lines), (',', vec![2, 3]));
}

#[test]
fn hashes_the_raw_bytes_and_tells_progress_to_the_end() {
    let mut said = Vec::new();
    let text = "a,b\n".to_owned() + &"1.5,2.5\n".repeat(400_000);
    let fixture = file(&text);
    let as_text = |_: &[String]| Ok(Vec::new());
    let table =
        Table::read(&fixture.path, &ReadOptions::default(), as_text, |at, of| said.push((at, of))).unwrap();
    assert_eq!(table.lines.len(), 400_000);
    assert!(said.len() >= 3 && said.is_sorted());
    assert_eq!(said.last(), Some(&(text.len() as u64, text.len() as u64)));
    let known = read("a\n1\n").unwrap().sha256;
    assert_eq!(known, format!("{:x}", <sha2::Sha256 as sha2::Digest>::digest("a\n1\n")));
}

#[test]
fn understands_the_usual_missing_words_and_the_users() {
    let options = ReadOptions { missing: vec!["-999".into(), "unknown".into()], ..ReadOptions::default() };
    let cells = ["", " ", "NA", "na", "N/A", "NaN", "nan", "null", "NULL", "?", ".", "-999", "unknown"];
    let rows: String = cells.iter().map(|cell| format!("{cell},{cell},x\n")).collect();
    let table = read_with(format!("a,b,k\n1,w,x\n{rows}"), &options, &[]).unwrap();
    assert_eq!(table.lines.len(), cells.len() + 1);
    assert!(numbers(&table, 0)[1..].iter().all(|value| value.is_nan()));
    assert!(words(&table, 1)[1..].iter().all(Option::is_none));
}

#[test]
fn a_column_may_begin_with_missing_values() {
    let table = read("a,b,c\nNA,NA,NA\n1,x,NA\n").unwrap();
    assert_eq!(numbers(&table, 0)[1], 1.0);
    assert_eq!(words(&table, 1), [None, Some("x")]);
    assert!(numbers(&table, 2).iter().all(|value| value.is_nan()));
}

#[test]
fn strips_the_byte_order_mark_and_reads_crlf() {
    let table = read("\u{feff}\"a\";b\r\n1;2\r\n\r\n3;4").unwrap();
    assert_eq!((table.header, table.delimiter, table.lines), (vec!["a".into(), "b".into()], ';', vec![2, 4]));
}

#[test]
fn lines_are_counted_through_quotes_blank_lines_and_either_ending() {
    for end in ["\n", "\r\n"] {
        let text = ["a,b", "\"one", "two\",1", "", "  ", "y,2", "z,3"].join(end);
        assert_eq!(read(&text).unwrap().lines, [2, 6, 7], "without a last line end");
        assert_eq!(read(text + end).unwrap().lines, [2, 6, 7]);
    }
}

#[test]
fn honours_delimiter_decimal_and_no_header() {
    let options = ReadOptions { decimal: Some(','), no_header: true, ..ReadOptions::default() };
    let table = read_with("1,5;2\n-3,25;4\n", &options, &[]).unwrap();
    assert_eq!(table.header, ["c1", "c2"]);
    assert_eq!(numbers(&table, 0), [1.5, -3.25]);
    let options = ReadOptions { delimiter: Some(':'), ..ReadOptions::default() };
    assert_eq!(read_with("a:b\n1:2\n", &options, &[]).unwrap().header.len(), 2);
    let options = ReadOptions { delimiter: Some(','), decimal: Some(','), ..ReadOptions::default() };
    assert_eq!(read_with("a,b\n1,2\n", &options, &[]).unwrap_err().exit_code(), 2);
}

#[test]
fn refuses_numbers_mixed_with_text() {
    assert_eq!(
        complaint(read("id,age\n1,40\n2,abc\n3,41\n")),
        "t.csv, column 'age': 2 of 3 values are numbers, but line 3 has 'abc'; correct them, declare them missing with \
         --na, or read the column as text with --categorical age"
    );
    let many: String = (0..7).map(|i| format!("w{i},1\n")).collect();
    assert_eq!(
        complaint(read(format!("my age,k\nlow,1\n8,1\n{many}"))),
        "t.csv, column 'my age': 1 of 9 values are numbers, but line 2 has 'low', line 4 has 'w0', line 5 has 'w1', line \
         6 has 'w2', line 7 has 'w3' and 3 more are not; correct them, declare them missing with --na, or read the \
         column as text with --categorical 'my age'"
    );
}

#[test]
fn a_column_declared_text_may_hold_anything() {
    let table = read_with("a,b\n1,1\nx,inf\n2,1e400\n", &ReadOptions::default(), &[0, 1]).unwrap();
    assert_eq!(words(&table, 0), [Some("1"), Some("x"), Some("2")]);
    assert_eq!(words(&table, 1), [Some("1"), Some("inf"), Some("1e400")]);
}

#[test]
fn recognises_decimal_commas() {
    assert_eq!(
        complaint(read("a;b\n1,5;x\n2,5;y\n")),
        "t.csv, column 'a': the values look like numbers with a decimal comma, as '1,5'; add --decimal ',', or read the \
         column as text with --categorical a"
    );
    assert!(
        complaint(read("a;b\n1;x\n2,5;y\n")).ends_with("add --decimal ',' if the comma is the decimal sign")
    );
}

#[test]
fn refuses_infinite_numbers() {
    for word in ["inf", "1e400", "-Infinity"] {
        assert_eq!(
            complaint(read(format!("a,b\n1,2\n3,{word}\n"))),
            format!(
                "t.csv, line 3, column 'b': '{word}' is not a finite number; correct it, declare it missing with --na, \
                 or read the column as text with --categorical b"
            )
        );
    }
}

#[test]
fn refuses_ragged_rows_and_twin_names() {
    assert_eq!(
        complaint(read("a,b,c\n1,2,3\n\n1,2\n")),
        "t.csv, line 4: the line has 2 fields, but the header has 3; correct the line (a stray quote or delimiter?), or \
         set the separator with --delimiter"
    );
    assert!(complaint(read("a,b\nr1,1,2\nr2,3,4\n")).contains("in R, write with row.names = FALSE"));
    assert_eq!(
        complaint(read("a,b, a\n1,2,3\n")),
        "t.csv: columns 1 and 3 are both called 'a'; rename one of them"
    );
}

#[test]
fn refuses_a_quote_that_is_not_closed() {
    assert_eq!(
        complaint(read("a,b\n1,x\n2,\"y\n3,z\n")),
        "t.csv, line 3: a quote is opened but never closed; close it, or double it if it is meant as a character"
    );
}

#[test]
fn refuses_text_that_is_not_utf8() {
    assert_eq!(
        complaint(read(b"a,b\n1,x\n2,caf\xe9\n")),
        "t.csv, line 3: the text is not UTF-8; convert the file with iconv -f WINDOWS-1252 -t UTF-8"
    );
    assert!(complaint(read(b"\xff\xfea\0,\0b\0")).contains("UTF-16"));
    assert!(complaint(read(b"PK\x03\x04....")).contains("workbook"));
}

#[test]
fn refuses_files_without_rows_or_without_a_file() {
    assert_eq!(complaint(read("")), "t.csv: the file is empty; give a CSV file with a header and rows");
    assert_eq!(
        complaint(read("a,b\n\n")),
        "t.csv: the file has a header but no rows; add rows below the header"
    );
    let folder = tempfile::tempdir().unwrap();
    let open = |path: &Path| Table::read(path, &ReadOptions::default(), |_| Ok(Vec::new()), |_, _| ());
    assert!(
        open(folder.path())
            .unwrap_err()
            .to_string()
            .ends_with("this is a directory; name the CSV file inside it")
    );
    let missing = open(&folder.path().join("t.csv"));
    assert_eq!(complaint(missing), "t.csv: there is no such file; check the path");
}

#[test]
fn an_error_about_the_header_comes_before_any_row_is_read() {
    let refuse = |_: &[String]| Err(Error::usage("no"));
    let error = Table::read(&file("a\ninf\n").path, &ReadOptions::default(), refuse, |_, _| ()).unwrap_err();
    assert_eq!(error.exit_code(), 2);
}

/// Rows of a number and two texts, full of what could confuse a reader.
fn rows() -> impl Strategy<Value = Vec<(Option<f64>, String, String)>> {
    let text = "[a-z]{0,3}[ ,;\t|\"\r\n'é]{0,4}[a-z]{0,2}";
    let number = proptest::option::of(-1e300..1e300_f64);
    proptest::collection::vec((number, text, text), 1..20)
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(rows in rows(), delimiter in prop::sample::select(b",;\t|".to_vec())) {
        let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
        writer.write_record(["number", "text, one", "text \"two\""]).unwrap();
        for (number, one, two) in &rows {
            let number = number.map_or(String::new(), |number| number.to_string());
            writer.write_record([&number, one, two]).unwrap();
        }
        let options = ReadOptions { delimiter: Some(delimiter.into()), ..ReadOptions::default() };
        let table = read_with(writer.into_inner().unwrap(), &options, &[1, 2]).unwrap();
        prop_assert_eq!(&table.header, &["number", "text, one", "text \"two\""]);
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let expected: Vec<_> = rows.iter().map(|row| row.0.unwrap_or(f64::NAN)).collect();
        prop_assert_eq!(bits(numbers(&table, 0)), bits(&expected));
        let cells = Cells { decimal: '.', missing: Vec::new() };
        let expected = |text: &String| Some(text.trim().to_owned()).filter(|text| !cells.is_missing(text));
        let found = |column| words(&table, column).into_iter().map(|w| w.map(str::to_owned)).collect::<Vec<_>>();
        prop_assert_eq!(found(1), rows.iter().map(|row| expected(&row.1)).collect::<Vec<_>>());
        prop_assert_eq!(found(2), rows.iter().map(|row| expected(&row.2)).collect::<Vec<_>>());
    }
}
