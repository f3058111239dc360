//! `crfe-tui predict`: new rows through a model, one line for each, in bounded memory; and how well
//! it did, if their class is known.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufWriter, IntoInnerError, IsTerminal, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::args::PredictArgs;
use super::option_args::ReadArgs;
use super::signals::Signals;
use crate::error::{Error, Result, counted, printable, printable_json};
use crate::files::{NamedOutput, OutputFile, unwritable};
use crate::model::{Measured, Model, RowCounts, RowSource, Scoreboard, ScoredRow, Scorer};
use crate::report::measured_text;
use crate::say::say;

/// How a file of predictions begins that this program wrote, as CSV and as JSON.
const CSV_HEAD: &[u8] = b"id,predicted,set,";
const JSON_HEAD: &[u8] = b"{\"program\": \"crfe-tui\", \"rows\": [";

/// Predicts; the exit code.
pub fn predict(args: &PredictArgs) -> Result<u8> {
    let model = Model::load(&args.model)?;
    let scorer = Scorer::new(&model, checked_epsilon(args.epsilon)?)?;
    let output = args.output()?;
    let mut writer = PredictionWriter {
        out: BufWriter::with_capacity(1 << 16, args.begin(output.as_ref())?),
        line: String::new(),
        json: args.json,
        to_terminal: match &output {
            None => io::stdout().is_terminal(),
            Some(NamedOutput::Through(file)) => file.is_terminal(),
            Some(NamedOutput::Whole(..)) => false,
        },
        model: &model,
        rows: 0,
        is_closed: false,
    };
    let mut counts = RowCounts::default();
    let mut board = Scoreboard::new(&scorer);
    let source = args.read.source(&args.data, &model, args.impute_missing);
    let facts = scorer.each_row(&source, |row| {
        counts.add(row);
        board.add(row);
        writer.row(row).map_err(|error| args.unwritable(&error))
    });
    let facts = match facts {
        Err(_) if writer.is_closed => return Ok(0),
        other => other?,
    };
    let measured = facts.caution(board.measure(&model, scorer.epsilon()));
    let summary = counted_json(&counts, args, &scorer, measured.as_ref(), &facts.notes);
    writer.end(&summary).map_err(|error| args.unwritable(&error))?;
    if !args.quiet {
        tell_notes(&facts.notes);
        say(counted_words(&counts, &scorer).trim_end());
        if let Some(measured) = &measured {
            say(format_args!(
                "\n{}",
                measured_text(measured, &model.classes, scorer.epsilon()).trim_end()
            ));
        }
    }
    Ok(0)
}

impl PredictArgs {
    /// Where `--out` leads, if it is given; refuses a file that holds anything but predictions.
    fn output(&self) -> Result<Option<NamedOutput>> {
        let Some(path) = &self.out else { return Ok(None) };
        let is_filled = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() > 0);
        if is_filled && !self.force && !holds_predictions(path) {
            return Err(Error::output("a file of this name exists and does not hold predictions")
                .file(path)
                .remedy("choose another name, or replace it with --force"));
        }
        NamedOutput::open(path).map(Some).map_err(|error| self.unwritable(&error))
    }

    /// Begins the output. A signal that ends the program deletes what is half-written.
    fn begin<'a>(&self, output: Option<&'a NamedOutput>) -> Result<OutputFile<'a>> {
        let Some(output) = output else {
            return match is_closed() {
                true => Err(Error::output("standard output is closed")
                    .remedy("name a file with --out, or send the predictions to a file or a pipe")),
                false => Ok(OutputFile::Through(Box::new(io::stdout()))),
            };
        };
        let file = output.begin().map_err(|error| self.unwritable(&error))?;
        if let OutputFile::Whole(file) = &file {
            delete_when_ended(file.temporary())?;
        }
        Ok(file)
    }

    fn unwritable(&self, error: &io::Error) -> Error {
        match &self.out {
            Some(path) => unwritable(path, error),
            None => Error::output(format!("standard output cannot be written: {error}")),
        }
    }
}

impl ReadArgs {
    /// A file of new rows, read as the model's table was, unless told otherwise.
    pub(super) fn source(&self, data: &Path, model: &Model, may_be_absent: bool) -> RowSource {
        let schema = &self.options().schema;
        let mut read = schema.read.clone();
        if read.missing.is_empty() {
            read.missing.clone_from(&model.reading.missing);
        }
        read.censored = read.censored.or(model.reading.censored);
        RowSource { path: data.to_owned(), options: read, id: schema.id_col.clone(), may_be_absent }
    }
}

/// ε, if it is one.
pub(super) fn checked_epsilon(epsilon: Option<f64>) -> Result<Option<f64>> {
    match epsilon {
        Some(value) if !(value > 0.0 && value < 1.0) => {
            Err(Error::usage(format!("--epsilon {value} is out of range"))
                .remedy("give a number between 0 and 1, such as 0.1 for 90 % coverage"))
        }
        other => Ok(other),
    }
}

/// Says what was understood of a file.
pub(super) fn tell_notes(notes: &[String]) {
    for note in notes {
        say(format_args!("notice: {}", printable(note)));
    }
}

fn holds_predictions(path: &Path) -> bool {
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(64).read_to_end(&mut start));
    read.is_ok() && (start.starts_with(CSV_HEAD) || start.starts_with(JSON_HEAD))
}

/// Whether the program was started with standard output closed: the standard library opens
/// /dev/null in its place, for reading and writing.
fn is_closed() -> bool {
    use rustix::fs::{OFlags, fcntl_getfl, fstat};
    let out = rustix::stdio::stdout();
    let is_null = || Some(fstat(out).ok()?.st_rdev == fs::metadata("/dev/null").ok()?.rdev());
    fcntl_getfl(out).is_ok_and(|flags| flags & OFlags::RWMODE == OFlags::RDWR)
        && is_null() == Some(true)
}

/// Deletes a temporary file when a signal ends the program.
fn delete_when_ended(temporary: PathBuf) -> Result<()> {
    let signals = Signals::listen()?;
    let wait = move || {
        if let Ok(signal) = signals.received().recv() {
            let _ = fs::remove_file(temporary);
            std::process::exit(128 + signal);
        }
    };
    let spawned = std::thread::Builder::new().spawn(wait);
    spawned.map(drop).map_err(|error| Error::no_thread(&error))
}

/// Writes predictions as CSV or JSON.
struct PredictionWriter<'a> {
    out: BufWriter<OutputFile<'a>>,
    /// The line under way.
    line: String,
    json: bool,
    /// Control characters are escaped.
    to_terminal: bool,
    model: &'a Model,
    rows: usize,
    /// Nobody reads standard output any more.
    is_closed: bool,
}

impl PredictionWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.out.write_all(bytes);
        self.is_closed |=
            written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        written
    }

    fn begin(&mut self) -> io::Result<()> {
        if self.json {
            return self.write(JSON_HEAD);
        }
        let p = self.model.classes.iter().map(|class| format!("p_{class}"));
        let names = ["id", "predicted", "set"].into_iter().map(str::to_owned).chain(p);
        let names = names.chain(["confidence", "credibility", "flags"].map(str::to_owned));
        self.record(&names.collect::<Vec<_>>())
    }

    fn record(&mut self, cells: &[String]) -> io::Result<()> {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        for (i, cell) in cells.iter().enumerate() {
            if i > 0 {
                line.push(',');
            }
            if self.to_terminal {
                push_cell(&mut line, &printable(cell));
            } else {
                push_cell(&mut line, cell);
            }
        }
        line.push('\n');
        let written = self.write(line.as_bytes());
        self.line = line;
        written
    }

    fn row(&mut self, row: &ScoredRow) -> io::Result<()> {
        // A file that is refused at once leaves no header behind.
        if self.rows == 0 {
            self.begin()?;
        }
        self.rows += 1;
        let classes = &self.model.classes;
        let flags = row.flags.words(&self.model.variables);
        let set = row.set.iter().map(|&class| classes[class].as_str());
        if self.json {
            let p: serde_json::Map<String, Value> =
                classes.iter().zip(&row.p).map(|(class, p)| (class.clone(), json!(p))).collect();
            let value = json!({
                "id": row.id,
                "predicted": classes[row.predicted],
                "set": set.collect::<Vec<_>>(),
                "p": p,
                "confidence": row.confidence,
                "credibility": row.credibility,
                "flags": flags,
            });
            let comma = if self.rows == 1 { "\n" } else { ",\n" };
            return self.write(format!("{comma}{}", printable_json(value.to_string())).as_bytes());
        }
        let mut cells =
            vec![row.id.clone(), classes[row.predicted].clone(), set.collect::<Vec<_>>().join(";")];
        cells.extend(row.p.iter().map(ToString::to_string));
        cells.extend([row.confidence.to_string(), row.credibility.to_string(), flags]);
        self.record(&cells)
    }

    fn end(mut self, summary: &Value) -> io::Result<()> {
        if self.json {
            let text = serde_json::to_string_pretty(summary).map_err(io::Error::from)?;
            self.write(format!("\n],\n\"summary\": {}}}\n", printable_json(text)).as_bytes())?;
        }
        match self.out.into_inner().map_err(IntoInnerError::into_error)?.commit() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

/// A cell as CSV has it, in quotes where it must be.
fn push_cell(line: &mut String, cell: &str) {
    if !cell.contains([',', '"', '\n', '\r']) {
        line.push_str(cell);
        return;
    }
    line.push('"');
    line.push_str(&cell.replace('"', "\"\""));
    line.push('"');
}

/// What was counted, in sentences.
fn counted_words(counts: &RowCounts, scorer: &Scorer<'_>) -> String {
    let model = scorer.model();
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} predicted at ε = {}: {} with one class in the set, {} with several, {} with none",
        counted(counts.rows, "row"),
        scorer.epsilon(),
        counts.single,
        counts.several(),
        counts.empty
    );
    let listed = |of: &BTreeMap<usize, usize>| -> String {
        const SHOWN: usize = 8;
        let mut of: Vec<(&usize, &usize)> = of.iter().collect();
        of.sort_by_key(|(_, rows)| std::cmp::Reverse(**rows));
        let name = |variable: usize| printable(&model.variables[variable].name);
        let mut words: Vec<String> = of
            .iter()
            .take(SHOWN)
            .map(|(variable, rows)| format!("{} in {rows}", name(**variable)))
            .collect();
        words.extend((of.len() > SHOWN).then(|| format!("{} more", of.len() - SHOWN)));
        words.join(", ")
    };
    if !counts.unseen.is_empty() {
        let _ = writeln!(
            text,
            "flagged: categories that the model never saw, taken as missing: {}",
            listed(&counts.unseen)
        );
    }
    if !counts.outside.is_empty() {
        let _ = writeln!(
            text,
            "flagged: values outside the training range: {}",
            listed(&counts.outside)
        );
    }
    if counts.filled > 0 {
        let share = 100.0 * model.reading.max_missing;
        let too_many = match counts.too_many {
            0 => String::new(),
            rows => format!(", in {rows} of them more than {share:.0} % of the columns"),
        };
        let filled = counted(counts.filled, "row");
        let _ = writeln!(text, "flagged: gaps were filled in {filled}{too_many}");
    }
    if counts.unmeasured > 0 {
        let rows = counted(counts.unmeasured, "row");
        let _ = writeln!(
            text,
            "flagged: {rows} with no value of any column that the model uses: every class is in the set"
        );
    }
    text
}

fn counted_json(
    counts: &RowCounts,
    args: &PredictArgs,
    scorer: &Scorer<'_>,
    measured: Option<&Measured>,
    notes: &[String],
) -> Value {
    let model = scorer.model();
    let named = |of: &BTreeMap<usize, usize>| -> serde_json::Map<String, Value> {
        of.iter()
            .map(|(&variable, &rows)| (model.variables[variable].name.clone(), json!(rows)))
            .collect()
    };
    json!({
        "model": args.model,
        "input": args.data,
        "epsilon": scorer.epsilon(),
        "rows": counts.rows,
        "sets": { "one": counts.single, "several": counts.several(), "empty": counts.empty },
        "flags": {
            "rows": counts.odd,
            "unseen": named(&counts.unseen),
            "range": named(&counts.outside),
            "filled": counts.filled,
            "missing": counts.too_many,
            "unmeasured": counts.unmeasured,
        },
        "notes": notes,
        "measured": measured,
    })
}
