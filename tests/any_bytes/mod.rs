//! Any bytes as each kind of file the program reads: understood, or refused in one printable
//! sentence. What the fuzzer feeds, and what `tests/fuzzed.rs` feeds of what it found.
//!
//! The last byte of an input is not part of the file: its bits are options, so that magic numbers
//! stay in front. Of a table, the last two are.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crfe::analysis::Answer;
use crfe::analysis::History;
use crfe::data::{
    Calibration, Censored, Dataset, Impute, NewRows, Rare, ReadOptions, Scale, SchemaOptions,
    Split, SplitOptions, Splits, Table, prepare,
};
use crfe::model::{CellReading, Ingredients, ListOrigin, Model, ScoredRow, Scorer, fit_list};
use crfe::record::{EventSource, Journals, Live, RunDirectory, Shard, journals};
use crfe::run::{EventKind, Gate, Permutations, Plan, RunEvent, RunOptions, fit_settings};
use crfe::{Error, Result};

/// A table without faults.
const GOOD: &str =
    "a,b,k,class\n1,2,x,u\n2,1,y,v\n3,5,z,u\n4,4,x,v\n5,1,y,u\n6,3,z,v\n7,2,x,u\n8,9,y,v\n";

/// The options, and the bytes of the file.
fn opened(input: &[u8]) -> (impl Fn(u8) -> bool, &[u8]) {
    let (&switches, bytes) = input.split_last().unwrap_or((&0, input));
    (move |bit| switches & (1 << bit) != 0, bytes)
}

fn file(desk: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = desk.join(name);
    std::fs::write(&path, bytes).expect("the desk can be written");
    path
}

fn must_be_one_printable_sentence(error: &Error) {
    assert!(matches!(error.exit_code(), 2 | 3 | 5), "{error}");
    assert!(!error.to_string().contains(char::is_control), "{error:?}");
}

/// A table, under any options; and its cells as text, by the reader alone.
pub fn table(desk: &Path, input: &[u8]) -> (Result<Dataset>, Result<Table>) {
    let (on, bytes) = opened(input);
    let (also, bytes) = opened(bytes);
    let path = file(desk, "any.csv", bytes);
    let read = ReadOptions {
        missing: if also(0) {
            vec!["-9".to_owned(), "1e400".to_owned(), "x".to_owned()]
        } else {
            Vec::new()
        },
        delimiter: on(0).then_some(';'),
        decimal: on(1).then_some(if on(0) { ',' } else { '.' }),
        no_header: on(2),
        dedup_names: on(3),
        censored: on(4).then_some(if on(5) { Censored::Na } else { Censored::Bound }),
        sheet: None,
        transpose: on(6),
        memory_limit: Some(64),
    };
    let text = Table::read(&path, &read, |header| Ok((0..header.len()).collect()), |_, _| {});
    let schema = SchemaOptions {
        read,
        rare: on(7).then(|| Rare { fewest: 3, merged: on(5).then(|| "other".to_owned()) }),
        target: also(1).then(|| "1".to_owned()),
        drop: if also(2) { vec!["2".to_owned()] } else { Vec::new() },
        keep: if also(3) { vec!["3".to_owned()] } else { Vec::new() },
        categorical: if also(4) { vec!["4".to_owned()] } else { Vec::new() },
        id_col: also(5).then(|| "2".to_owned()),
        group_col: also(6).then(|| "3".to_owned()),
        max_missing: if also(7) { 1.0 } else { 0.25 },
        ..SchemaOptions::default()
    };
    let data = Dataset::load(&path, &schema, |_, _| {});
    if let Ok(data) = &data {
        assert_eq!(data.x.dim(), (data.columns.len(), data.y.len()));
        assert!(data.x.iter().all(|value| !value.is_infinite()));
        assert!(data.y.iter().all(|&class| class < data.classes.len()));
    }
    data.as_ref()
        .err()
        .into_iter()
        .chain(text.as_ref().err())
        .for_each(must_be_one_printable_sentence);
    (data, text)
}

/// The parts of an xlsx file with the sheet "S".
const PARTS: [(&str, &str); 5] = [
    (
        "_rels/.rels",
        r#"<Relationships><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>"#,
    ),
    (
        "xl/workbook.xml",
        r#"<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>"#,
    ),
    (
        "xl/_rels/workbook.xml.rels",
        r#"<Relationships><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>"#,
    ),
    (
        "xl/worksheets/sheet1.xml",
        r#"<worksheet><sheetData><row><c t="s"><v>0</v></c><c t="s"><v>1</v></c></row><row><c><v>1</v></c><c><v>2</v></c></row></sheetData></worksheet>"#,
    ),
    ("xl/sharedStrings.xml", "<sst><si><t>a</t></si><si><t>b</t></si></sst>"),
];

/// An xlsx file of these parts in place of the usual, or an ods file if one is its content.
pub fn packed(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let is_ods = parts.iter().any(|(name, _)| *name == "content.xml");
    let usual = PARTS.iter().map(|(name, text)| (*name, text.as_bytes()));
    let usual = usual.filter(|(name, _)| !is_ods && parts.iter().all(|(given, _)| given != name));
    let mimetype = b"application/vnd.oasis.opendocument.spreadsheet".as_slice();
    let mimetype = is_ods.then_some(("mimetype", mimetype));
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in mimetype.into_iter().chain(usual).chain(parts.iter().copied()) {
        archive
            .start_file(name, zip::write::SimpleFileOptions::default())
            .and_then(|()| Ok(std::io::Write::write_all(&mut archive, bytes)?))
            .expect("a vector takes all bytes");
    }
    archive.finish().expect("a vector takes all bytes").into_inner()
}

/// A workbook, or the XML of its sheet or its shared strings.
pub fn workbook(desk: &Path, input: &[u8]) -> Result<Table> {
    let (on, bytes) = opened(input);
    let whole = match (on(0), on(1)) {
        (false, false) => bytes.to_vec(),
        (true, false) => packed(&[("xl/worksheets/sheet1.xml", bytes)]),
        (false, true) => packed(&[("xl/sharedStrings.xml", bytes)]),
        (true, true) => packed(&[("content.xml", bytes)]),
    };
    let path = file(desk, "any.xlsx", &whole);
    let sheet = on(2).then(|| "S".to_owned());
    let read = ReadOptions { sheet, memory_limit: Some(64), ..ReadOptions::default() };
    let table = Table::read(&path, &read, |header| Ok((0..header.len()).collect()), |_, _| {});
    table.as_ref().err().into_iter().for_each(must_be_one_printable_sentence);
    table
}

/// A table of numbers of any magnitude, from 1e-324 to 1e308, scaled and imputed in any way, and
/// run: what a model gets is finite and small enough to be squared, and every task ends.
pub fn magnitudes(desk: &Path, input: &[u8]) -> Result<Vec<String>> {
    let mut bytes = input.iter().copied();
    let mut next = || bytes.next().unwrap_or(0);
    let (shape, options) = (next(), next());
    let columns = 1 + usize::from(shape % 4);
    let rows = 12 + usize::from(shape / 4 % 16);
    let mut text: String = (0..columns).map(|column| format!("x{column},")).collect();
    text += "class\n";
    for row in 0..rows {
        for _ in 0..columns {
            text += &match (next(), next()) {
                (gap, _) if gap % 16 == 7 => ",".to_owned(),
                (0, _) => "0,".to_owned(),
                (digits, power) => {
                    let sign = if digits % 2 == 0 { "" } else { "-" };
                    format!("{sign}1.{digits}e{},", i32::from(power) * 632 / 255 - 324)
                }
            };
        }
        text += if (row + usize::from(next() % 16 == 0)) % 2 == 0 { "u\n" } else { "v\n" };
    }
    let path = file(desk, "magnitudes.csv", text.as_bytes());
    let mut run = RunOptions { validate: None, ..RunOptions::default() };
    run.schema.max_missing = 1.0;
    run.split.splits = 2;
    run.scale = [Scale::Standard, Scale::Minmax, Scale::None][usize::from(options % 3)];
    run.impute = [Impute::Knn(3), Impute::Median, Impute::None][usize::from(options / 3 % 3)];
    run.permutations = Permutations::Count(0);
    if options & 128 != 0 {
        run.split.calibration = Calibration::Shared;
    }
    let plan =
        Dataset::load(&path, &run.schema, |_, _| {}).and_then(|data| Plan::new(run.check()?, data));
    let plan = Arc::new(plan.inspect_err(must_be_one_printable_sentence)?);
    let spec = &plan.info.spec;
    for index in 0..plan.splits.count() {
        let split = plan.splits.split(&plan.data, index)?;
        let made = prepare(&plan.data, &split, spec.preparation(), spec.split.seed, index);
        let most = if spec.scale == Scale::None { 1e100 } else { 1e30 };
        for part in [&made.train, &made.selection, &made.conformal, &made.test] {
            assert!(part.x.iter().all(|value| value.abs() <= most), "{text}");
        }
    }
    let gate = Arc::new(Gate::default());
    let tasks = plan.tasks();
    let source = EventSource::engine(Live {
        plan,
        gate,
        tasks,
        followups: Vec::new(),
        threads: 1,
        directory: None,
        records: None,
    });
    let failures = source.events().iter().filter_map(|event| match event.kind {
        EventKind::TaskFailed { message, .. } => Some(message),
        _ => None,
    });
    let failures: Vec<String> = failures.collect();
    assert!(failures.iter().all(|message| !message.contains(char::is_control)), "{failures:?}");
    source.close()?;
    Ok(failures)
}

/// A groups file and a file of splits, over a good table.
pub fn groups_and_splits(desk: &Path, input: &[u8]) -> (Result<Dataset>, Result<Vec<Split>>) {
    let (on, bytes) = opened(input);
    let table = file(desk, "good.csv", GOOD.as_bytes());
    let given = file(desk, "any", bytes);
    let grouped = SchemaOptions { groups: Some(given.clone()), ..SchemaOptions::default() };
    let grouped = Dataset::load(&table, &grouped, |_, _| {});
    match &grouped {
        Ok(data) => {
            let mut columns: Vec<usize> =
                data.units.iter().flat_map(|unit| unit.columns.clone()).collect();
            columns.sort_unstable();
            assert!(columns.into_iter().eq(0..data.columns.len()), "every column is in one unit");
        }
        Err(error) => must_be_one_printable_sentence(error),
    }
    let data =
        Dataset::load(&table, &SchemaOptions::default(), |_, _| {}).expect("the table is good");
    let calibration = if on(0) { Calibration::Strict } else { Calibration::Shared };
    let options = SplitOptions { splits_from: Some(given), calibration, ..SplitOptions::default() };
    let splits = Splits::new(&data, &options).and_then(|splits| {
        (0..splits.count()).map(|index| splits.split(&data, index)).collect::<Result<Vec<Split>>>()
    });
    match &splits {
        Ok(splits) => {
            for split in splits {
                for part in [&split.train, &split.selection, &split.conformal, &split.test] {
                    assert!(!part.is_empty() && part.iter().all(|&row| row < data.y.len()));
                }
            }
        }
        Err(error) => must_be_one_printable_sentence(error),
    }
    (grouped, splits)
}

/// A journal: finished tasks are taken, all else is said or refused. Half of the inputs follow a
/// good first line.
pub fn journal(desk: &Path, input: &[u8]) -> Result<(History, Vec<String>)> {
    let (on, bytes) = opened(input);
    let first =
        good_journal().split_inclusive(|&byte| byte == b'\n').next().expect("a journal has lines");
    let whole = if on(0) { [first, bytes].concat() } else { bytes.to_vec() };
    file(desk, "journal-1of1-any.jsonl", &whole);
    let read = || {
        let mut history = History::default();
        let Some(mut records) = Journals::open(desk)? else { return Ok((history, Vec::new())) };
        records.replay(|event| history.apply(&event))?;
        Ok((history, records.notes()))
    };
    let read = read();
    match &read {
        Ok((history, _)) => drop(Answer::new(history)),
        Err(error) => must_be_one_printable_sentence(error),
    }
    read
}

/// The journal of a small run that nothing happened to.
pub fn good_journal() -> &'static [u8] {
    static JOURNAL: OnceLock<Vec<u8>> = OnceLock::new();
    JOURNAL.get_or_init(|| {
        let desk = std::env::temp_dir().join(format!("crfe-good-journal-{}", std::process::id()));
        std::fs::create_dir_all(&desk).expect("the temporary directory can be written");
        let journal = write_good_journal(&desk).expect("a good table is run to its end");
        let _ = std::fs::remove_dir_all(&desk);
        journal
    })
}

fn write_good_journal(desk: &Path) -> Result<Vec<u8>> {
    let table = file(desk, "good.csv", GOOD.as_bytes());
    let mut options = RunOptions {
        validate: None,
        permutations: Permutations::Count(0),
        ..RunOptions::default()
    };
    options.split.splits = 1;
    let data = Dataset::load(&table, &options.schema, |_, _| {})?;
    let plan = Arc::new(Plan::new(options.check()?, data)?);
    let run = desk.join("run");
    let directory = Some(Arc::new(RunDirectory::claim(&run, Shard::WHOLE)?));
    let gate = Arc::new(Gate::default());
    let tasks = plan.tasks();
    let source = EventSource::engine(Live {
        plan,
        gate,
        tasks,
        followups: Vec::new(),
        threads: 1,
        directory,
        records: None,
    });
    let failed = |event: RunEvent| matches!(event.kind, EventKind::TaskFailed { .. });
    assert!(!source.events().iter().any(failed), "no task fails");
    source.close()?;
    Ok(std::fs::read(&journals(&run)?[0]).expect("the journal was just written"))
}

/// A model, whole or written over a good one at the place that its first two bytes name; and a good
/// table through it.
pub fn model(desk: &Path, input: &[u8]) -> Result<Vec<ScoredRow>> {
    let (on, bytes) = opened(input);
    let whole = match bytes {
        [first, second, rest @ ..] if on(0) => {
            let mut whole = good_model().to_vec();
            let at = usize::from(u16::from_le_bytes([*first, *second])) % whole.len();
            let end = (at + rest.len()).min(whole.len());
            whole.splice(at..end, rest.iter().copied());
            whole
        }
        other => other.to_vec(),
    };
    let predict = || {
        let model = Model::from_bytes(&whole)?;
        let again = Model::from_bytes(&model.to_bytes()?)?;
        assert_eq!(again.to_bytes(), model.to_bytes(), "what is read is written again");
        let scorer = Scorer::new(&model, on(1).then_some(0.3))?;
        let table = file(desk, "new.csv", GOOD.as_bytes());
        let mut rows = NewRows::open(&table, &ReadOptions::default(), &scorer.wanted(None, on(2)))?;
        let mut scored = Vec::new();
        while let Some(batch) = rows.next(3)? {
            scored.extend(scorer.score(&batch, scored.len())?);
        }
        Ok(scored)
    };
    let predicted = predict();
    match &predicted {
        Ok(rows) => assert!(rows.iter().all(|row| row.p.iter().all(|p| (0.0..=1.0).contains(p)))),
        Err(error) => must_be_one_printable_sentence(error),
    }
    predicted
}

/// A small model that nothing happened to.
pub fn good_model() -> &'static [u8] {
    static MODEL: OnceLock<Vec<u8>> = OnceLock::new();
    MODEL.get_or_init(|| {
        let desk = std::env::temp_dir().join(format!("crfe-good-model-{}", std::process::id()));
        std::fs::create_dir_all(&desk).expect("the temporary directory can be written");
        let model = make_good_model(&desk).expect("a good table gives a model");
        let _ = std::fs::remove_dir_all(&desk);
        model
    })
}

fn make_good_model(desk: &Path) -> Result<Vec<u8>> {
    let table = file(desk, "good.csv", GOOD.as_bytes());
    let mut options = RunOptions {
        validate: None,
        permutations: Permutations::Count(0),
        ..RunOptions::default()
    };
    options.split.splits = 1;
    let data = Dataset::load(&table, &options.schema, |_, _| {})?;
    let plan = Plan::new(options.check()?, data)?;
    let rest = [0, 1, 2, 3, 4];
    let reserve = [5, 6, 7];
    let list = [1, 2, 0];
    let settings = fit_settings(&plan, 0, 0);
    let fitted = fit_list(&plan.data, &rest, &reserve, &list, &settings)?;
    let made_of = Ingredients {
        program: "a test",
        data: &plan.data,
        list: &list,
        selection: ListOrigin {
            method: None,
            rule: "given".to_owned(),
            counts: Vec::new(),
            splits: 0,
        },
        settings: &settings,
        guaranteed: true,
        id_column: None,
        reading: CellReading { max_missing: 0.25, ..CellReading::default() },
        fingerprint: String::new(),
        command: String::new(),
        rest: &rest,
        reserve: &reserve,
        validation: None,
        cautions: Vec::new(),
    };
    let mut model = Model::new(&fitted, made_of);
    // The directory it was made in is not part of it.
    "good.csv".clone_into(&mut model.fitted.input);
    model.to_bytes()
}
