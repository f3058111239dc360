//! Workbooks that say of themselves that they are large, or are: each is refused in a sentence, in
//! little memory.

use std::process::Command;

use crate::any_bytes::packed;

/// A sheet with a small table and more rows.
fn sheet(more: &str) -> String {
    let rows: String = (2..42)
        .map(|row| {
            let class = if row % 2 == 0 { "u" } else { "v" };
            let value = row * 37 % 11;
            format!(r#"<row r="{row}"><c r="A{row}"><v>{value}</v></c><c r="B{row}" t="str"><v>{class}</v></c></row>"#)
        })
        .collect();
    let header =
        r#"<row r="1"><c r="A1" t="str"><v>a</v></c><c r="B1" t="str"><v>class</v></c></row>"#;
    format!("<worksheet><sheetData>{header}{rows}{more}</sheetData></worksheet>")
}

/// Checks what is said of a workbook in an address space of 1.5 GB, with and without a limit.
fn says(name: &str, bytes: &[u8], code: i32, sentence: &str) {
    let desk = tempfile::tempdir().unwrap();
    let path = desk.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    let limited = "ulimit -v 1500000; exec \"$0\" check \"$@\"";
    for limit in [&["--memory-limit", "300"][..], &[]] {
        let program = env!("CARGO_BIN_EXE_crfe-tui");
        let ran = Command::new("sh").args(["-c", limited, program]).arg(&path).args(limit).output();
        let ran = ran.unwrap();
        let said = String::from_utf8([ran.stdout, ran.stderr].concat()).unwrap();
        assert_eq!(ran.status.code(), Some(code), "{name} {limit:?}: {said}");
        assert!(said.contains(sentence), "{name} {limit:?}: {said}");
    }
}

fn xlsx(more: &str, code: i32, sentence: &str) {
    let sheet = sheet(more);
    says("any.xlsx", &packed(&[("xl/worksheets/sheet1.xml", sheet.as_bytes())]), code, sentence);
}

#[test]
fn one_stray_value_does_not_make_a_sheet_large() {
    xlsx("", 0, "40 rows, 1 feature, 2 classes");
    for place in ["XFD1048576", "CV1048576"] {
        let stray = format!(r#"<row r="1048576"><c r="{place}"><v>1</v></c></row>"#);
        xlsx(&stray, 0, "40 rows, ");
    }
    let beyond = "the sheet has a cell beyond column XFD or row 1048576";
    xlsx(r#"<row><c r="A4294967295"><v>1</v></c></row>"#, 3, beyond);
    for place in ["ZZZZZZZ50", "A99999999999999999999"] {
        xlsx(&format!(r#"<row><c r="{place}"><v>1</v></c></row>"#), 3, "any.xlsx");
    }
}

#[test]
fn a_text_that_no_cell_can_hold_is_refused() {
    let long = "the workbook holds a text of more than 1 MB";
    let text = "x".repeat(20 << 20);
    xlsx(&format!(r#"<row><c r="A50" t="str"><v>{text}</v></c></row>"#), 3, long);
    let text = "x&amp;".repeat(1 << 20);
    xlsx(&format!(r#"<row><c r="A50" t="str"><v>{text}</v></c></row>"#), 3, long);
    let strings = format!("<sst><si><t>{text}</t></si></sst>");
    says("any.xlsx", &packed(&[("xl/sharedStrings.xml", strings.as_bytes())]), 3, long);
}

#[test]
fn shared_strings_are_counted_before_space_is_reserved() {
    let strings = br#"<sst uniqueCount="4294967295"><si><t>a</t></si></sst>"#;
    let bytes = packed(&[("xl/sharedStrings.xml", strings)]);
    says("any.xlsx", &bytes, 3, "the workbook needs 103.1 GB of memory or more, and ");
}

#[test]
fn a_formula_without_its_result_is_named() {
    let formula = r#"<row r="42"><c r="A42"><f>SUM(A2:A41)</f></c></row>"#;
    xlsx(
        formula,
        3,
        "any.xlsx, sheet 'S', row 42, column 'A': the cell holds a formula without its result; open the workbook in a \
         spreadsheet program, which calculates it, and save it",
    );
}

#[test]
fn rows_and_columns_of_ods_are_not_repeated_without_end() {
    let ods = |rows: &str, sentence: &str| {
        let content = format!(
            r#"<office:document-content><table:table table:name="S">{rows}</table:table></office:document-content>"#
        );
        says("any.ods", &packed(&[("content.xml", content.as_bytes())]), 3, sentence);
    };
    let row = |columns: &str, rows: &str| {
        format!(
            r#"<table:table-row table:number-rows-repeated="{rows}"><table:table-cell table:number-columns-repeated="{columns}" office:value="1"/></table:table-row>"#
        )
    };
    let beyond = "any.ods, sheet 'S': the sheet has a cell beyond column XFD or row 1048576";
    ods(&row("20000", "20000"), beyond);
    ods(&row("1", "4294967295"), beyond);
    ods(&row("16384", "1000000"), "and column XFD needs ");
    ods(
        &row("-5", "1"),
        r#"any.ods, sheet 'S': the sheet cannot be read (table:number-columns-repeated="-5")"#,
    );
}

#[test]
fn the_size_that_an_xls_file_declares_is_not_believed() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/files/plain.xls");
    let good = std::fs::read(file).unwrap();
    // A text in row 65536 and column 65536 instead of its own place.
    let place = good.windows(4).rposition(|bytes| bytes == [0xfd, 0, 10, 0]).unwrap() + 4;
    let mut bytes = good.clone();
    bytes[place..place + 4].fill(0xff);
    says("any.xls", &bytes, 3, "the sheets need ");
    // The first sector of the directory follows itself.
    let word = |at: usize| u32::from_le_bytes(good[at..at + 4].try_into().unwrap());
    let (directory, table) = (word(48), word(76));
    let mut bytes = good.clone();
    let entry = 512 * (table as usize + 1) + 4 * directory as usize;
    bytes[entry..entry + 4].copy_from_slice(&directory.to_le_bytes());
    says("any.xls", &bytes, 3, "the file is damaged");
}
