//! Any table a person brings: one small file for each case, what `check` says of it, and that `run`
//! says the same.

mod nobody;
mod program;
mod real_files;
mod skipped;
mod two_files;

use std::path::Path;
use std::process::{Command, Stdio};

use program::{Ran, finish, program};
use serde_json::Value;

/// A file of tests/fixtures/csv, options, the exit code, and what must be said.
type Case = (&'static str, &'static str, i32, &'static str);

/// Mended, in silence or with a notice.
const MENDED: [Case; 27] = [
    ("plain.csv", "", 0, "48 rows, 3 features, 2 classes: ill 24, well 24"),
    ("bom.csv", "", 0, "48 rows, 3 features, 2 classes: ill 24, well 24"),
    ("utf16.csv", "", 0, "the text is UTF-16, read as such"),
    ("utf16.csv", "", 0, "2 classes: gesund ü 24, ill 24"),
    ("windows1252.csv", "", 0, "the text is not UTF-8 but looks like Windows-1252, read as such"),
    ("windows1252.csv", "", 0, "2 classes: guérie 24, ill 24"),
    ("crlf.csv", "", 0, "48 rows, 3 features, 2 classes: ill 24, well 24"),
    ("cr.csv", "", 0, "48 rows, 3 features, 2 classes: ill 24, well 24"),
    ("newline_in_quotes.csv", "", 0, "48 rows, 3 features"),
    ("semicolon.csv", "", 0, "48 rows, 3 features"),
    ("tab.csv", "", 0, "48 rows, 3 features"),
    ("pipe.csv", "", 0, "48 rows, 3 features"),
    ("decimal_comma.csv", "", 0, "numbers have a decimal comma"),
    ("spaces.csv", "", 0, "48 rows, 3 features, 2 classes: ill 24, well 24"),
    ("packed.csv.gz", "", 0, "the file is compressed (gzip)"),
    ("sheets.xlsx", "--sheet Data", 0, "48 rows, 3 features, 2 classes"),
    ("sheets.xlsx", "--sheet Data", 0, "1 missing cell in 1 column is imputed per split"),
    (
        "sheets.xlsx",
        "--sheet Data",
        0,
        "1 column dropped as dates (convert them to numbers, such as an age): seen",
    ),
    ("packed_under_a_wrong_name.csv", "", 0, "the file is compressed (gzip)"),
    ("answers.csv", "", 0, "4 features, 20 splits"),
    ("true_false.csv", "", 0, "4 features, 20 splits"),
    ("trailing_empty.csv", "", 0, "2 empty columns at the end were left out"),
    ("trailing_empty.csv", "", 0, "the class column is 'class' (found by its name)"),
    ("pandas_index.csv", "", 0, "1 column dropped as a row index written by a program: Unnamed: 0"),
    ("unnamed_index.csv", "", 0, "1 column dropped as a row index written by a program: c1"),
    ("label_spaces.csv", "", 0, "2 classes: ill 24, well 24"),
    ("missing_target.csv", "", 0, "2 rows without a class left out: lines 6, 13"),
];

/// Run, with a warning.
const WARNED: [Case; 21] = [
    ("id_text.csv", "", 0, "1 column dropped as an id, different in every row: code"),
    ("id_increasing.csv", "", 0, "1 column dropped as row numbers: visit"),
    (
        "codes.csv",
        "",
        0,
        "1 column holds few different whole numbers: if these are codes rather than quantities, use --categorical: stage",
    ),
    (
        "dates.csv",
        "",
        0,
        "1 column dropped as dates (convert them to numbers, such as an age): seen",
    ),
    (
        "missing_code.csv",
        "",
        0,
        "'age' is -9 in 3 rows, far from its other values: if that means missing, add --na -9",
    ),
    (
        "missing_code_999.csv",
        "",
        0,
        "'crp' is 999 in 3 rows, far from its other values: if that means missing, add --na 999",
    ),
    ("missing_code.csv", "--na -9", 0, "3 missing cells in 1 column are imputed per split"),
    (
        "case_twins.csv",
        "",
        0,
        "'Ill' and 'ill' are different values of 'class': write them alike if they are one",
    ),
    (
        "duplicate_rows.csv",
        "",
        0,
        "2 rows repeat an earlier row in all columns used: if they are the same patient, leave them out or use --group-col",
    ),
    (
        "repeated_patients.csv",
        "",
        0,
        "1 column dropped as names of patients with several rows (keep these together with --group-col): patient",
    ),
    ("copied_column.csv", "", 0, "some columns are copies of others: 'age' repeats 'years'"),
    (
        "correlated.csv",
        "",
        0,
        "some columns are perfectly correlated with others: 'age' follows 'months'",
    ),
    (
        "leak.csv",
        "",
        0,
        "1 feature predicts the class of every row without error: is it known before the class is? If not, use --drop: \
         treated",
    ),
    ("constant.csv", "", 0, "1 column dropped as constant: centre"),
    ("nearly_constant.csv", "", 0, "2 columns dropped as constant: nearly, nearly2"),
    (
        "largest_number.csv",
        "",
        0,
        "'a' is 1.7976931348623157e308 in 7 rows, far from its other values: if that means missing, add --na \
         1.7976931348623157e308",
    ),
    (
        "largest_number.csv",
        "--na 1.7976931348623157e308",
        0,
        "7 missing cells in 1 column are imputed per split",
    ),
    (
        "underflow.csv",
        "",
        0,
        "values that lie more than 1e30 training ranges away are clipped there: take logarithms, or leave the column out with \
         --drop: p",
    ),
    (
        "rare_class.csv",
        "--mondrian",
        0,
        "class 'odd' has 1 conformal rows in some split; with --mondrian and ε = 0.1 it needs at least 9 before it can ever be excluded",
    ),
    (
        "mangled_genes.csv",
        "",
        0,
        "1 name looks like genes that a spreadsheet turned into dates or numbers (MARCH1, SEPT2): 2-Sep",
    ),
    ("transposed.csv", "--transpose", 0, "48 rows, 2 features, 2 classes: ill 24, well 24"),
];

/// Refused, with the remedy; and accepted once the remedy is taken.
const REFUSED: [Case; 47] = [
    (
        "ragged.csv",
        "",
        3,
        "ragged.csv, line 6: the line has 3 fields, but the header has 4; correct the line (a stray quote or \
         delimiter?), or set the separator with --delimiter",
    ),
    (
        "twin_names.csv",
        "",
        3,
        "twin_names.csv: columns 1 and 2 are both called 'age'; rename one of them, or number them with --dedup-names",
    ),
    ("twin_names.csv", "--dedup-names", 0, "another column 'age' is called 'age.1'"),
    (
        "no_header.csv",
        "",
        3,
        "no_header.csv, line 1: the first line looks like data, not like names: 30, 0.25, f, …; add --no-header, or \
         put a line with the names of the columns above it",
    ),
    ("no_header.csv", "--no-header", 0, "48 rows, 3 features"),
    (
        "thousands.csv",
        "",
        3,
        "thousands.csv, line 2, column 'crp': '1,000' looks like a number with separated thousands; write it without \
         separators, or add --decimal ',' if the comma is the decimal sign",
    ),
    (
        "censored.csv",
        "",
        3,
        "censored.csv, line 8, column 'crp': '<0.5' is a censored value; take the bound with --censored bound, make it \
         missing with --censored na, or read the column as text with --categorical crp",
    ),
    ("censored.csv", "--censored bound", 0, "2 censored values stand for their bound"),
    ("censored.csv", "--censored na", 0, "2 censored values are missing"),
    (
        "infinite.csv",
        "",
        3,
        "infinite.csv, line 8, column 'crp': 'inf' is not a finite number; correct it, declare it missing with --na, or \
         read the column as text with --categorical crp",
    ),
    (
        "huge.csv",
        "--scale none",
        3,
        "huge.csv, column 'a': -1e308 is too large for a model without scaling; use --scale standard or --scale minmax, or \
         correct the value",
    ),
    ("huge.csv", "--scale minmax", 0, "60 rows, 2 features"),
    (
        "sheets_error.xlsx",
        "--sheet Data",
        3,
        "sheets_error.xlsx, sheet 'Data', row 9, column 'B': the cell holds #DIV/0!; correct the formula, or clear the cell",
    ),
    (
        "sheets.xlsx",
        "--sheet Date",
        2,
        "--sheet names the sheet 'Date', which does not exist; did you mean Data?",
    ),
    (
        "plain.csv",
        "--sheet Data",
        2,
        "plain.csv: --sheet is for workbooks, and this file is not one; leave it out",
    ),
    ("infinite.csv", "--na inf", 0, "1 missing cell in 1 column is imputed per split"),
    (
        "too_large.csv",
        "",
        3,
        "too_large.csv, line 8, column 'crp': '1e400' is not a finite number; correct it, ",
    ),
    (
        "mixed.csv",
        "",
        3,
        "mixed.csv, column 'crp': 40 of 48 values are numbers, but line 2 has 'high', line 8 has 'high', line 14 has \
         'high', line 20 has 'high', line 26 has 'high' and 3 more are not; correct them, declare them missing with \
         --na, or read the column as text with --categorical crp",
    ),
    ("mixed.csv", "--na high", 0, "8 missing cells in 1 column are imputed per split"),
    (
        "many_levels.csv",
        "",
        3,
        "many_levels.csv, column 'town': the text has 60 different values, too many for a category; leave it out with \
         --drop town, or merge rare values",
    ),
    ("many_levels.csv", "--drop town", 0, "1 column left out with --drop: town"),
    (
        "continuous_target.csv",
        "",
        3,
        "continuous_target.csv, column 'age': the class column has 48 different numbers: it looks like a continuous \
         quantity; name the class column with --target, or bin this one",
    ),
    ("continuous_target.csv", "--target sex", 0, "2 classes: f 24, m 24"),
    (
        "one_class.csv",
        "",
        3,
        "one_class.csv, column 'class': every row has the class 'ill', and a classifier needs two; name the class \
         column with --target",
    ),
    (
        "small_class.csv",
        "",
        3,
        "small_class.csv, column 'class': class 'odd' has 2 rows, and at least 4 are needed: one in each of training, \
         selection, conformal and test; leave small classes out with --rare drop:4, or merge them with --rare \
         merge:4:other",
    ),
    (
        "small_class.csv",
        "--rare drop:4",
        0,
        "2 rows of classes with fewer than 4 rows left out: odd",
    ),
    (
        "small_class.csv",
        "--rare merge:4:ill",
        0,
        "2 rows of classes with fewer than 4 rows are now 'ill': odd",
    ),
    (
        "transposed.csv",
        "",
        3,
        "transposed.csv, line 4: the line has words in 47 columns that have numbers elsewhere; if columns are patients \
         and lines are features, add --transpose; otherwise correct the line",
    ),
    (
        "transposed_numbers.csv",
        "",
        3,
        "the class column has 30 different numbers: it looks like a continuous quantity; if columns are patients and \
         lines are features, add --transpose",
    ),
    (
        "workbook.xlsx",
        "",
        3,
        "workbook.xlsx: this is an Excel workbook (xlsx), not a CSV file; open it in a spreadsheet and save the sheet \
         as CSV (UTF-8)",
    ),
    ("table.parquet", "", 3, "table.parquet: the Parquet file cannot be read ("),
    (
        "archive.zip",
        "",
        3,
        "archive.zip: this is a zip archive, not a CSV file; unpack it and name the CSV file inside",
    ),
    (
        "web_page.csv",
        "",
        3,
        "web_page.csv: this is a web page, not a CSV file; download the table itself",
    ),
    ("binary.csv", "", 3, "binary.csv: this is not a text file; save the table as CSV (UTF-8)"),
    (
        "packed_cut.csv.gz",
        "",
        3,
        "packed_cut.csv.gz: the compressed file is damaged or cut off; copy or download it",
    ),
    ("empty.csv", "", 3, "empty.csv: the file is empty; give a CSV file with a header and rows"),
    (
        "header_only.csv",
        "",
        3,
        "header_only.csv: the file has a header but no rows; add rows below the header",
    ),
    (
        "open_quote.csv",
        "",
        3,
        "open_quote.csv, line 5: a quote is opened but never closed; close it, or double it if it is meant as a \
         character",
    ),
    (
        "mixed_encodings.csv",
        "",
        3,
        "mixed_encodings.csv, line 50: some of the text is UTF-8, but this line is not; save the table as CSV (UTF-8)",
    ),
    ("absent.csv", "", 3, "absent.csv: there is no such file; check the path"),
    (".", "", 3, "this is a directory; name the CSV file inside it"),
    (
        "/dev/null",
        "",
        3,
        "/dev/null: this is a pipe or a device, not a file; write the table to a file, or send it to standard input and \
         give - as the file",
    ),
    (
        "plain.csv",
        "--memory-limit 0",
        3,
        "plain.csv: 4 columns need 12 MB of memory, and 0 kB are allowed; leave columns",
    ),
    (
        "plain.csv",
        "--target clas",
        2,
        "--target names the column 'clas', which does not exist; did you mean class?",
    ),
    ("plain.csv", "--delimiter ; --decimal ;", 2, "write . or ,"),
    ("plain.csv", "--censored maybe", 2, "write bound or na"),
    ("plain.csv", "--epsilon 2", 2, "--epsilon 2 is out of range"),
];

fn path(file: &str) -> String {
    if file.starts_with('/') { file.to_owned() } else { format!("tests/fixtures/csv/{file}") }
}

fn ask(command: &str, (file, options, _, _): Case) -> Ran {
    finish(program().args([command, &path(file)]).args(options.split_whitespace()))
}

/// What is found goes to standard output, what is refused to standard error.
fn holds(case: Case, ran: &Ran) {
    let (file, options, code, sentence) = case;
    let said = if code == 0 { &ran.stdout } else { &ran.stderr };
    assert!(said.contains(sentence), "{file} {options}: {sentence}\n{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, code, "{file} {options}: {}", ran.stderr);
    assert_eq!(if code == 0 { &ran.stderr } else { &ran.stdout }, "", "{file} {options}");
}

#[test]
fn check_mends() {
    MENDED.iter().for_each(|&case| holds(case, &ask("check", case)));
}

#[test]
fn check_warns() {
    for case in WARNED {
        let ran = ask("check", case);
        holds(case, &ran);
        let doubts = ran.stdout.split("Worth a look").nth(1).unwrap_or_default();
        assert!(!case.1.is_empty() || doubts.contains(case.3), "{}: only a notice", case.0);
    }
}

#[test]
fn check_refuses() {
    REFUSED.iter().for_each(|&case| holds(case, &ask("check", case)));
}

#[test]
fn run_agrees_with_check() {
    for case in MENDED.iter().chain(&WARNED).chain(&REFUSED).step_by(4).copied() {
        let (file, options, code, sentence) = case;
        if sentence.contains("splits") {
            continue;
        }
        let words = ["--splits", "1", "--method", "rfe"];
        let ran = finish(
            program().args(["run", &path(file)]).args(options.split_whitespace()).args(words),
        );
        assert!(ran.stderr.contains(sentence), "{file} {options}: {sentence}\n{}", ran.stderr);
        assert_eq!(ran.code, code, "{file} {options}: {}", ran.stderr);
    }
}

#[test]
fn check_says_what_a_run_would_take() {
    let ran = ask("check", ("plain.csv", "", 0, ""));
    assert!(
        ran.stdout.starts_with("tests/fixtures/csv/plain.csv can be used.\n"),
        "{}",
        ran.stdout
    );
    assert!(
        ran.stdout
            .contains("A run would take\n  3 features, 20 splits of CRFE and RFE: 40 paths\n"),
        "{}",
        ran.stdout
    );
    assert!(ran.stdout.contains(" of memory\n"), "{}", ran.stdout);
    let json = |file: &str| {
        let ran = finish(program().args(["check", &path(file), "--json"]));
        assert_eq!(ran.stderr, "");
        (ran.code, serde_json::from_str::<Value>(&ran.stdout).unwrap())
    };
    let (code, good) = json("plain.csv");
    assert_eq!(
        (code, &good["usable"], &good["rows"], &good["run"]["paths"]),
        (0, &true.into(), &48.into(), &40.into())
    );
    assert_eq!(good["classes"][0]["name"], "ill");
    let (code, bad) = json("ragged.csv");
    assert_eq!((code, &bad["usable"], &bad["exit_code"]), (3, &false.into(), &3.into()));
    assert!(bad["error"].as_str().unwrap().contains("line 6"));
}

/// A feature that separates the classes, among six that do not, is found whatever the unit it is
/// measured in.
#[test]
fn a_separating_feature_is_kept_at_any_magnitude() {
    let desk = tempfile::tempdir().unwrap();
    let table = desk.path().join("t.csv");
    let run = desk.path().join("RUN");
    let magnitudes = [
        "1e-320",
        "1e-310",
        "1e-200",
        "1e-100",
        "1",
        "1e20",
        "1e100",
        "1e155",
        "1e300",
        "1e308",
        "1.7976931348623157e308",
    ];
    for magnitude in magnitudes {
        let mut text = "separating,n0,n1,n2,n3,n4,n5,class\n".to_owned();
        for row in 0_u64..60 {
            let sign = if row % 2 == 0 { "" } else { "-" };
            let noise: String =
                (0..6).map(|i| format!(",{}", (row * (37 + 10 * i) + 7 * i) % 101)).collect();
            text += &format!("{sign}{magnitude}{noise},c{}\n", row % 2);
        }
        std::fs::write(&table, text).unwrap();
        for scale in ["standard", "minmax", "none"] {
            let words = [
                "--splits", "2", "--stop", "1", "--method", "crfe", "--scale", scale, "--quiet",
                "--force",
            ];
            let ran = finish(program().arg("run").arg(&table).args(words).arg("--out").arg(&run));
            let value: f64 = magnitude.parse().unwrap();
            if scale == "none" && value > 1e100 {
                assert_eq!(ran.code, 3, "{magnitude}");
                assert!(ran.stderr.contains("column 'separating'"), "{}", ran.stderr);
                continue;
            }
            assert_eq!(ran.code, 0, "{magnitude} {scale}: {}", ran.stderr);
            let selected = std::fs::read_to_string(run.join("selected.txt")).unwrap();
            // Without scaling the model sees nothing in numbers that small.
            if scale != "none" || value >= 1.0 {
                assert_eq!(selected.trim_end(), "separating", "{magnitude} {scale}");
            }
        }
    }
}

/// Far more rows than fit, in a file of a few kilobytes.
#[test]
fn a_table_that_does_not_fit_is_refused_in_a_sentence() {
    use std::io::Write;
    let desk = tempfile::tempdir().unwrap();
    let file = desk.path().join("bomb.csv.gz");
    let mut packed = flate2::write::GzEncoder::new(
        std::fs::File::create(&file).unwrap(),
        flate2::Compression::fast(),
    );
    packed.write_all(b"a,b,class\n").unwrap();
    let rows = "1,2,c1\n1,2,c2\n".repeat(50_000);
    (0..20).for_each(|_| packed.write_all(rows.as_bytes()).unwrap());
    packed.finish().unwrap();
    let ran = finish(program().arg("check").arg(&file).args(["--memory-limit", "40"]));
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("bomb.csv.gz: 3 columns and the first "), "{}", ran.stderr);
    assert!(ran.stderr.contains("or allow more with --memory-limit"), "{}", ran.stderr);
    // 2,000,000 rows take less than 60 MB to read, and more to understand.
    let ran = finish(program().arg("check").arg(&file).args(["--memory-limit", "90"]));
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(ran.stderr.contains("a matrix of 3 columns and 2000000 rows needs"), "{}", ran.stderr);
    // The shell's own limit of address space, in kilobytes, is seen as well.
    let script = "ulimit -v 350000; exec \"$0\" check \"$1\"";
    let ran =
        finish(Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_crfe-tui")]).arg(&file));
    assert_eq!(ran.code, 3, "{}", ran.stderr);
    assert!(
        ran.stderr.contains(" of memory, and ") && ran.stderr.contains("are allowed"),
        "{}",
        ran.stderr
    );
}

#[test]
fn standard_input_is_a_file_too() {
    for command in ["check", "run"] {
        let input = std::fs::File::open(path("packed.csv.gz")).unwrap();
        let ran = finish(program().args([command, "-", "--splits", "1"]).stdin(Stdio::from(input)));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(ran.stdout.starts_with("standard input"), "{}", ran.stdout);
    }
    let ran = finish(program().args(["check", "-"]));
    assert_eq!(
        (ran.code, ran.stderr.trim_end()),
        (3, "crfe-tui: standard input: the file is empty; give a CSV file with a header and rows")
    );
}

#[test]
#[cfg(unix)]
fn a_pipe_is_refused_without_waiting_for_its_writer() {
    let desk = tempfile::tempdir().unwrap();
    let pipe = desk.path().join("pipe.csv");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let ran = finish(program().arg("check").arg(&pipe));
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains("pipe.csv: this is a pipe or a device, not a file"),
        "{}",
        ran.stderr
    );
}

#[test]
#[cfg(unix)]
fn a_file_that_may_not_be_read_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let desk = tempfile::tempdir().unwrap();
    let file = desk.path().join("secret.csv");
    std::fs::write(&file, "a,class\n1,x\n").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o000)).unwrap();
    let Some(mut program) = nobody::program(desk.path()) else {
        skipped::skipped("root may read every file, and there is no setpriv to be another user");
        return;
    };
    let ran = finish(program.arg("check").arg(&file));
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains("the file may not be read; ask its owner for permission"),
        "{}",
        ran.stderr
    );
}

/// Characters a terminal obeys or that turn the reading direction.
fn hostile(c: char) -> bool {
    (c.is_control() && c != '\n')
        || ('\u{202a}'..='\u{202e}').contains(&c)
        || ('\u{2066}'..='\u{2069}').contains(&c)
}

/// Names and labels with escape sequences, C1 controls, bidi overrides, markup, quotes, newlines
/// and a leading `=`.
#[test]
fn hostile_names_reach_no_terminal_and_survive_in_tables() {
    let desk = tempfile::tempdir().unwrap();
    let file = path("hostile.csv");
    for (command, options) in
        [("check", ""), ("check", "--json"), ("run", "--splits 2"), ("run", "--json --splits 2")]
    {
        let ran = finish(program().args([command, &file]).args(options.split_whitespace()));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        for said in [&ran.stdout, &ran.stderr] {
            assert!(!said.contains(hostile), "{command} {options}: {said:?}");
        }
    }
    for options in [["--target", "c\u{202e}x"], ["--drop", "\u{1b}[31m"], ["--keep", "b\u{9b}2"]] {
        let ran = finish(program().args(["check", &file]).args(options));
        assert_eq!(ran.code, 2);
        assert!(!ran.stderr.contains(hostile), "{:?}", ran.stderr);
    }
    let run = desk.path().join("RUN");
    program::run_into(&run, &file, "--splits 2 --quiet");
    let expected = [
        "a\u{1b}[31mred",
        "b\u{9b}2J",
        "c\u{202e}d",
        "<script>alert(1)</script>",
        "q\"uote",
        "new\nline",
        "=1+1",
    ];
    assert_eq!(column(&run.join("ranking.csv"), "feature"), expected.map(str::to_owned).into());
    assert_eq!(
        column(&run.join("predictions.csv"), "class"),
        ["<b>ill\u{1b}]0;x\u{7}</b>", "=cmd|well"].map(str::to_owned).into()
    );
    let summary = std::fs::read_to_string(run.join("summary.txt")).unwrap();
    assert!(!summary.contains(hostile), "{summary:?}");
    let page = run.join("report.html");
    if page.exists() {
        let text = std::fs::read_to_string(page).unwrap();
        assert!(
            !text.contains("<script>alert") && !text.contains("<b>ill") && !text.contains(hostile)
        );
    }
}

/// The different values of a column of a table.
fn column(table: &Path, name: &str) -> std::collections::BTreeSet<String> {
    let mut reader = csv::Reader::from_path(table).unwrap();
    let place = reader.headers().unwrap().iter().position(|header| header == name).unwrap();
    reader.records().map(|row| row.unwrap()[place].to_owned()).collect()
}
