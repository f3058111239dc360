//! Reading, rule by rule, and a round trip of random tables.

use std::io::Write;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::data::source::hexadecimal;

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
    assert_eq!(table.header.names, ["a", "b", "c3"]);
    assert_eq!(numbers(&table, 0), [1.0, -25.0]);
    assert_eq!(words(&table, 1), [Some("x"), Some("y")]);
    assert_eq!(numbers(&table, 2), [3.0, 0.5]);
    assert_eq!((table.delimiter, table.lines), (',', [2, 3].into_iter().collect()));
}

#[test]
fn hashes_the_raw_bytes_and_tells_progress_to_the_end() {
    let mut said = Vec::new();
    let text = "a,b\n".to_owned() + &"1.5,2.5\n".repeat(400_000);
    let fixture = file(&text);
    let as_text = |_: &Header| Ok(Vec::new());
    let table =
        Table::read(&fixture.path, &ReadOptions::default(), as_text, |at, of| said.push((at, of)))
            .unwrap();
    assert_eq!(table.lines.len(), 400_000);
    assert!(said.len() >= 3 && said.is_sorted());
    assert_eq!(said.last(), Some(&(text.len() as u64, text.len() as u64)));
    let known = read("a\n1\n").unwrap().sha256;
    assert_eq!(known, hexadecimal(&<sha2::Sha256 as sha2::Digest>::digest("a\n1\n")));
}

#[test]
fn understands_the_usual_missing_words_and_the_users() {
    let options =
        ReadOptions { missing: vec!["-999".into(), "unknown".into()], ..ReadOptions::default() };
    let cells =
        ["", " ", "NA", "na", "N/A", "NaN", "nan", "null", "NULL", "?", ".", "-999", "unknown"];
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
    assert_eq!(
        (table.header.names, table.delimiter, table.lines),
        (vec!["a".into(), "b".into()], ';', [2, 4].into_iter().collect())
    );
}

#[test]
fn lines_are_counted_through_quotes_blank_lines_and_either_ending() {
    for end in ["\n", "\r\n"] {
        let text = ["a,b", "\"one", "two\",1", "", "  ", "y,2", "z,3"].join(end);
        assert_eq!(
            read(&text).unwrap().lines.iter().collect::<Vec<_>>(),
            [2, 6, 7],
            "without a last line end"
        );
        assert_eq!(read(text + end).unwrap().lines.iter().collect::<Vec<_>>(), [2, 6, 7]);
    }
}

#[test]
fn honours_delimiter_decimal_and_no_header() {
    let options = ReadOptions { decimal: Some(','), no_header: true, ..ReadOptions::default() };
    let table = read_with("1,5;2\n-3,25;4\n", &options, &[]).unwrap();
    assert_eq!(table.header.names, ["c1", "c2"]);
    assert_eq!(numbers(&table, 0), [1.5, -3.25]);
    let options = ReadOptions { delimiter: Some(':'), ..ReadOptions::default() };
    assert_eq!(read_with("a:b\n1:2\n", &options, &[]).unwrap().header.len(), 2);
    let options =
        ReadOptions { delimiter: Some(','), decimal: Some(','), ..ReadOptions::default() };
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
fn a_refusal_names_the_other_columns_at_fault() {
    let also = |text: &str| complaint(read(text)).split("; ").last().unwrap_or_default().to_owned();
    assert_eq!(also("a,b,c\n1,2,3\nx,y,4\n5,6,7\n"), "1 more column cannot be read either: b");
    assert_eq!(
        also("a,b,c\n1,2,3\n<4,5,6\n7,inf,8\n9,10,x\n"),
        "2 more columns cannot be read either: b, c"
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
    let table = read("a;b\n1,5;x\n2;y\n").unwrap();
    assert_eq!(numbers(&table, 0), [1.5, 2.0]);
    assert_eq!(table.notes, ["numbers have a decimal comma"]);
    assert_eq!(
        complaint(read("a,b\n\"1,5\",x\n\"2,5\",y\n")),
        "t.csv, line 2, column 'a': the values look like numbers with a decimal comma, as '1,5'; add --decimal ',' if the \
         comma is the decimal sign, or read the column as text with --categorical a"
    );
}

#[test]
fn refuses_thousands_and_censored_values_unless_told() {
    assert_eq!(
        complaint(read("a,b\n1,x\n\"1,234\",y\n")),
        "t.csv, line 3, column 'a': '1,234' looks like a number with separated thousands; write it without separators, or \
         add --decimal ',' if the comma is the decimal sign"
    );
    let text = "crp,b\n<0.5,x\n3,y\n> 100,x\n";
    assert_eq!(
        complaint(read(text)),
        "t.csv, line 2, column 'crp': '<0.5' is a censored value; take the bound with --censored bound, make it missing \
         with --censored na, or read the column as text with --categorical crp"
    );
    let with = |censored| {
        read_with(text, &ReadOptions { censored, ..ReadOptions::default() }, &[]).unwrap()
    };
    let table = with(Some(Censored::Bound));
    assert_eq!(numbers(&table, 0), [0.5, 3.0, 100.0]);
    assert_eq!(table.notes, ["2 censored values stand for their bound"]);
    assert!(numbers(&with(Some(Censored::Na)), 0)[0].is_nan());
    let bands = read("age,b\n<30,x\n30-60,y\n>60,x\n").unwrap();
    assert_eq!(words(&bands, 0), [Some("<30"), Some("30-60"), Some(">60")], "bands are categories");
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
    assert!(complaint(read("a,b\nr1,1,2\nr1,3,4\n")).contains("name every column, the first too"));
    assert!(
        complaint(read("a,b\nr1,1,2\n3,4\n"))
            .starts_with("t.csv, line 3: the line has 2 fields, but the header")
    );
    assert_eq!(
        complaint(read("a,b, a\n1,2,3\n")),
        "t.csv: columns 1 and 3 are both called 'a'; rename one of them, or number them with --dedup-names"
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
fn reads_other_encodings_and_says_so() {
    let table = read(b"a,b\n1,x\n2,caf\xe9\n").unwrap();
    assert_eq!(words(&table, 1), [Some("x"), Some("café")]);
    assert_eq!(table.notes, ["the text is not UTF-8 but looks like Windows-1252, read as such"]);
    for (mark, bytes) in [
        (true, u16::to_le_bytes as fn(u16) -> [u8; 2]),
        (true, u16::to_be_bytes),
        (false, u16::to_le_bytes),
    ] {
        let text = if mark { "\u{feff}a,b\n1,é\n" } else { "a,b\n1,é\n" };
        let table = read(text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>()).unwrap();
        assert_eq!((numbers(&table, 0), words(&table, 1)), (&[1.0][..], vec![Some("é")]));
        assert_eq!(table.notes, ["the text is UTF-16, read as such"]);
    }
}

#[test]
fn letters_that_are_not_utf8_may_come_late_but_not_after_letters_that_are() {
    let mut late = format!("a,b\n{}", "1,x\n".repeat(400_000)).into_bytes();
    late.extend(b"2,caf\xe9\n");
    assert_eq!(words(&read(&late).unwrap(), 1).last(), Some(&Some("café")));
    let mixed = [&b"a,b\n1,\xc3\xa9\n"[..], b"2,caf\xe9\n"].concat();
    assert_eq!(
        complaint(read(mixed)),
        "t.csv, line 3: some of the text is UTF-8, but this line is not; save the table as CSV (UTF-8)"
    );
}

#[test]
fn unpacks_gzip_by_its_first_bytes_and_hashes_what_is_in_the_file() {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packer.write_all(b"a,b\n1,x\n2,y\n").unwrap();
    let packed = packer.finish().unwrap();
    let table = read(&packed).unwrap();
    assert_eq!(numbers(&table, 0), [1.0, 2.0]);
    assert_eq!(table.sha256, hexadecimal(&<sha2::Sha256 as sha2::Digest>::digest(&packed)));
    assert_eq!(
        complaint(read(&packed[..packed.len() - 6])),
        "t.csv: the compressed file is damaged or cut off; copy or download it again"
    );
}

#[test]
fn lines_may_end_with_a_carriage_return_alone() {
    let table = read("a,b\r1,x\r\r2,y").unwrap();
    assert_eq!(
        (numbers(&table, 0), &table.lines),
        (&[1.0, 2.0][..], &[2, 4].into_iter().collect())
    );
}

#[test]
fn refuses_what_is_no_text() {
    for (bytes, sentence) in [
        (
            &b"PK\x03\x04....[Content_Types].xml"[..],
            "this is an Excel workbook (xlsx), not a CSV file",
        ),
        (b"PK\x03\x04....data.csv", "this is a zip archive, not a CSV file"),
        (b"ARROW1..", "this is a Feather file, not a CSV file"),
        (b"a,b\n1,\0\0\x02\n", "this is not a text file"),
        (b"\x80\x01\x02\x03", "this is not a text file"),
        (b"<!DOCTYPE html><html>", "this is a web page, not a CSV file"),
    ] {
        assert!(complaint(read(bytes)).contains(sentence), "{sentence}");
    }
}

#[test]
fn refuses_a_file_that_changes_while_it_is_read() {
    let fixture = file("a,b\n1,2\n");
    let grow = |_, _| {
        let mut file = std::fs::OpenOptions::new().append(true).open(&fixture.path).unwrap();
        file.write_all(b"3,4\n").unwrap();
    };
    let result = Table::read(&fixture.path, &ReadOptions::default(), |_| Ok(Vec::new()), grow);
    assert_eq!(
        complaint(result),
        "t.csv: the file changed while it was read; wait until it is written, and start again"
    );
}

#[test]
fn mends_empty_columns_and_fields_at_the_end() {
    let table = read("a,b,,\n1,2,,\n3,4,,\n").unwrap();
    assert_eq!(table.header.names, ["a", "b"]);
    assert_eq!(table.notes, ["2 empty columns at the end were left out"]);
    let table = read("a,b\n1,2,,\n3,4\n").unwrap();
    assert_eq!(numbers(&table, 1), [2.0, 4.0]);
    assert_eq!(table.notes, ["1 line ends with empty fields beyond the last column"]);
}

#[test]
fn refuses_a_header_that_is_data() {
    let say = |text: &str| complaint(read(text));
    assert_eq!(
        say("5.1,3.5,setosa\n4.9,3.0,setosa\n4.7,3.2,virginica\n"),
        "t.csv, line 1: the first line looks like data, not like names: 5.1, 3.5, setosa; add --no-header, or put a line \
         with the names of the columns above it"
    );
    assert!(say("1,0,1\n0,1,1\n").contains("if the first line is data, add --no-header"));
    for fine in ["0,1,2\n5,6,7\n", "10,20,class\n1,2,x\n3,4,y\n", "a,b\n1,2\n", "x,y\nu,v\nw,v\n"] {
        assert!(read(fine).is_ok(), "{fine}");
    }
}

#[test]
fn a_table_is_put_on_its_side() {
    let text = "gene,p1,p2,p3\ng1,1,2,3\ng2,4,5,6\nclass,ill,well,ill\n";
    assert_eq!(
        complaint(read(text)),
        "t.csv, line 4: the line has words in 3 columns that have numbers elsewhere; if columns are patients and lines \
         are features, add --transpose; otherwise correct the line"
    );
    let options = ReadOptions { transpose: true, ..ReadOptions::default() };
    let table = read_with(text, &options, &[]).unwrap();
    assert_eq!(table.header.names, ["gene", "g1", "g2", "class"]);
    assert_eq!(numbers(&table, 2), [4.0, 5.0, 6.0]);
    assert_eq!(words(&table, 3), [Some("ill"), Some("well"), Some("ill")]);
    let error = read_with("gene,p1,p2\ng1,1,inf\n", &options, &[]);
    assert!(complaint(error).starts_with("t.csv, column 3, row 'g1': 'inf' is not"));
}

#[test]
fn a_header_that_lacks_one_name_leaves_out_the_row_names() {
    let table = read("a,b\nr1,1,2\nr2,3,4\n").unwrap();
    assert_eq!(table.header.names, ["c1", "a", "b"]);
    assert_eq!(table.header.unnamed, [true, false, false]);
    assert_eq!(words(&table, 0), [Some("r1"), Some("r2")]);
    assert_eq!(numbers(&table, 2), [2.0, 4.0]);
    assert!(table.notes[0].ends_with("the first field names the row"));
    let options = ReadOptions { transpose: true, ..ReadOptions::default() };
    let table = read_with("p1 p2\ng1 1 2\ng2 3 4\n".replace(' ', "\t"), &options, &[]).unwrap();
    assert_eq!(table.header.names, ["c1", "g1", "g2"]);
    assert_eq!(words(&table, 0), [Some("p1"), Some("p2")]);
    assert_eq!(
        read("a,b\n1,2,\n3,4,\n").unwrap().header.names,
        ["a", "b"],
        "a separator at the end of lines"
    );
}

#[test]
fn keeps_to_the_memory_limit() {
    let options = ReadOptions { memory_limit: Some(13), ..ReadOptions::default() };
    let long = format!("a,b\n1,{}\n", "x".repeat(3 << 20));
    assert_eq!(
        complaint(read_with(long, &options, &[])),
        "t.csv: the line is longer than the memory limit allows; close a quote that was left open, or allow more with \
         --memory-limit"
    );
    let wide: String = (0..5000).map(|i| format!("x{i},")).collect();
    assert_eq!(
        complaint(read_with(format!("{wide}y\n"), &options, &[])),
        "t.csv: 5001 columns need 13 MB of memory, and 13 MB are allowed; leave columns or rows out of the file, or allow \
         more with --memory-limit"
    );
    let tall = format!("a,b\n{}", "1,2\n".repeat(1_000_000));
    assert!(complaint(read_with(tall.clone(), &options, &[])).contains("2 columns and the first "));
    let transposed = ReadOptions { transpose: true, ..options };
    assert!(
        complaint(read_with(tall, &transposed, &[])).contains("too large to transpose in 13 MB")
    );
}

#[test]
fn refuses_files_without_rows_or_without_a_file() {
    assert_eq!(
        complaint(read("")),
        "t.csv: the file is empty; give a CSV file with a header and rows"
    );
    assert_eq!(
        complaint(read("a,b\n\n")),
        "t.csv: the file has a header but no rows; add rows below the header"
    );
    let folder = tempfile::tempdir().unwrap();
    let open =
        |path: &Path| Table::read(path, &ReadOptions::default(), |_| Ok(Vec::new()), |_, _| ());
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
fn a_table_on_its_side_may_end_with_a_quote() {
    let options = ReadOptions { transpose: true, ..ReadOptions::default() };
    let table =
        read_with("name,\"a, b\",\"c\"\nx,1,2\n\"y, z\",\"3\",\"4\"\n\r", &options, &[]).unwrap();
    assert_eq!(table.header.names, ["name", "x", "y, z"]);
    assert_eq!((numbers(&table, 1), numbers(&table, 2)), (&[1.0, 2.0][..], &[3.0, 4.0][..]));
    assert_eq!(words(&table, 0), [Some("a, b"), Some("c")]);
}

#[test]
fn an_error_about_the_header_comes_before_any_row_is_read() {
    let refuse = |_: &Header| Err(Error::usage("no"));
    let error = Table::read(&file("a\ninf\n").path, &ReadOptions::default(), refuse, |_, _| ())
        .unwrap_err();
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
        prop_assert_eq!(&table.header.names, &["number", "text, one", "text \"two\""]);
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let expected: Vec<_> = rows.iter().map(|row| row.0.unwrap_or(f64::NAN)).collect();
        prop_assert_eq!(bits(numbers(&table, 0)), bits(&expected));
        let cells = CellFormat::new('.', &[], None);
        let expected = |text: &String| Some(text.trim().to_owned()).filter(|text| !cells.is_missing(text));
        let found = |column| words(&table, column).into_iter().map(|w| w.map(str::to_owned)).collect::<Vec<_>>();
        prop_assert_eq!(found(1), rows.iter().map(|row| expected(&row.1)).collect::<Vec<_>>());
        prop_assert_eq!(found(2), rows.iter().map(|row| expected(&row.2)).collect::<Vec<_>>());
    }
}
