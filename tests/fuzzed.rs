//! Small inputs that led the fuzzer somewhere, and tables that are written and read again: any
//! bytes end in a table or a sentence, the same each time.

mod any_bytes;
mod crafted_workbooks;

use std::fmt::Debug;
use std::fs;
use std::path::Path;

use crfe::data::{Column, ReadOptions, Table};
use proptest::prelude::*;

/// Feeds every fixture of a target twice.
fn feed<T: Debug>(target: &str, function: impl Fn(&Path, &[u8]) -> T) {
    let directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fuzzed").join(target);
    let desk = tempfile::tempdir().unwrap();
    let mut fed = 0;
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let input = fs::read(&path).unwrap();
        let outcome = || format!("{:?}", function(desk.path(), &input));
        assert_eq!(outcome(), outcome(), "{}", path.display());
        fed += 1;
    }
    assert!(fed > 20, "only {fed} fixtures of {target} were found");
}

#[test]
fn tables_are_understood_or_refused_the_same_each_time() {
    feed("table", any_bytes::table);
}

#[test]
fn workbooks_are_understood_or_refused_the_same_each_time() {
    feed("workbook", any_bytes::workbook);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn workbooks_that_were_written_over_are_read_or_refused(
        name in prop::sample::select(vec!["plain.xlsx", "plain.ods", "plain.xls", "sheets.ods"]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/files");
        let mut bytes = fs::read(files.join(name)).unwrap();
        for (place, byte) in changes {
            *place.get_mut(&mut bytes) = byte;
        }
        bytes.push(0);
        let _ = any_bytes::workbook(tempfile::tempdir().unwrap().path(), &bytes);
    }
}

#[test]
fn journals_are_read_or_refused_the_same_each_time() {
    feed("journal", any_bytes::journal);
}

#[test]
fn groups_and_splits_are_taken_or_refused_the_same_each_time() {
    feed("groups_and_splits", any_bytes::groups_and_splits);
}

#[test]
fn models_are_read_or_refused_the_same_each_time() {
    feed("model", any_bytes::model);
    let desk = tempfile::tempdir().unwrap();
    let good = [any_bytes::good_model(), &[0]].concat();
    assert_eq!(any_bytes::model(desk.path(), &good).unwrap().len(), 8);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn models_that_were_written_over_are_read_or_refused(
        place in any::<u16>(),
        text in prop_oneof!["[-0-9.eE,\\[\\]{}\":a-z]{1,6}", "[^\u{0}]{0,4}"],
        options in any::<u8>(),
    ) {
        let desk = tempfile::tempdir().unwrap();
        let input = [&place.to_le_bytes(), text.as_bytes(), &[options | 1]].concat();
        let _ = any_bytes::model(desk.path(), &input);
    }
}

/// Lines of equally many cells of any text. What cannot be in a file of text is left out.
fn lines() -> impl Strategy<Value = Vec<Vec<String>>> {
    let awkward = "[ ,;\t|\"\r\n'#=a1]{0,6}";
    let any = "[^\u{0}]{0,6}";
    let cell = prop_oneof![awkward, any, "[a-c]{1,2}", "-?[0-9]{1,3}"];
    (2..6_usize, 2..8_usize)
        .prop_flat_map(move |(width, height)| {
            prop::collection::vec(prop::collection::vec(cell.clone(), width), height)
        })
        // A file may begin with the mark of another kind of file.
        .prop_map(|mut lines| {
            lines[0][0] = "corner".to_owned();
            lines
        })
}

fn write(path: &Path, lines: &[Vec<String>], delimiter: u8) {
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_path(path).unwrap();
    lines.iter().for_each(|line| writer.write_record(line).unwrap());
    writer.flush().unwrap();
}

/// The lines of a file, without a header, all cells as text; a missing cell is empty.
fn read(path: &Path, delimiter: u8, transpose: bool) -> Vec<Vec<String>> {
    let delimiter = Some(delimiter.into());
    let options = ReadOptions { delimiter, no_header: true, transpose, ..ReadOptions::default() };
    let table =
        Table::read(path, &options, |header| Ok((0..header.len()).collect()), |_, _| {}).unwrap();
    let cell = |column: &Column, row: usize| match column {
        Column::Text { levels, codes } => {
            codes[row].map_or(String::new(), |code| levels[code as usize].clone())
        }
        Column::Numbers(_) => panic!("all columns are text"),
    };
    let line = |row| table.columns.iter().map(|column| cell(column, row)).collect();
    (0..table.lines.len()).map(line).collect()
}

/// What is kept of a cell: no spaces around it, and nothing of the words for "missing".
fn kept(cell: &str) -> String {
    let cell = cell.trim();
    let missing = ["?", ".", "na", "n/a", "nan", "null"];
    if missing.iter().any(|word| cell.eq_ignore_ascii_case(word)) {
        String::new()
    } else {
        cell.to_owned()
    }
}

fn turned(lines: &[Vec<String>]) -> Vec<Vec<String>> {
    (0..lines[0].len())
        .map(|column| lines.iter().map(|line| line[column].clone()).collect())
        .collect()
}

#[test]
fn numbers_that_the_fuzzer_found_are_run_to_the_end() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fuzzed/magnitudes");
    let desk = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(directory).unwrap() {
        let outcome = any_bytes::magnitudes(desk.path(), &fs::read(entry.unwrap().path()).unwrap());
        let failures = outcome.expect("a table that can be run");
        assert!(failures.iter().all(|failure| !failure.contains("internal fault")), "{failures:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn tables_of_any_magnitude_are_run_or_refused(bytes in prop::collection::vec(any::<u8>(), 2..250)) {
        let desk = tempfile::tempdir().unwrap();
        let failures = any_bytes::magnitudes(desk.path(), &bytes).unwrap_or_default();
        prop_assert!(failures.iter().all(|failure| !failure.contains("internal fault")), "{:?}", failures);
    }
}

proptest! {
    #[test]
    fn any_cells_that_are_written_are_read(lines in lines(), delimiter in prop::sample::select(b",;\t|".to_vec())) {
        let desk = tempfile::tempdir().unwrap();
        let path = desk.path().join("t.csv");
        write(&path, &lines, delimiter);
        let expected: Vec<Vec<String>> =
            lines.iter().map(|line| line.iter().map(|cell| kept(cell)).collect()).collect();
        prop_assert_eq!(&read(&path, delimiter, false), &expected);
        prop_assert_eq!(read(&path, delimiter, true), turned(&expected));
    }

    #[test]
    fn transposed_twice_a_table_is_itself(lines in lines(), delimiter in prop::sample::select(b",;\t|".to_vec())) {
        let desk = tempfile::tempdir().unwrap();
        let (path, other) = (desk.path().join("t.csv"), desk.path().join("turned.csv"));
        write(&path, &lines, delimiter);
        write(&other, &read(&path, delimiter, true), delimiter);
        prop_assert_eq!(read(&other, delimiter, true), read(&path, delimiter, false));
    }
}
