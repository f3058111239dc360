//! `crfe-tui check`: what was understood of a file, what is wrong with it, and what a run would take.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::cli::CheckArgs;
use crate::data::{DONOR_LIMIT, Impute, Level};
use crate::error::{Error, Result, printable, printable_json};
use crate::headless::load;
use crate::run::{Plan, RunInfo, default_threads};
use crate::say::print;

/// Looks at a file and prints what a run would say and take; the exit code.
pub fn check(args: &CheckArgs) -> Result<u8> {
    match look(args) {
        Ok(plan) => {
            let cost = Cost::new(&plan);
            let text =
                if args.json { pretty(&as_json(&plan.info, &cost))? } else { as_text(&plan.info, &cost) };
            print(text.as_bytes())?;
            Ok(0)
        }
        Err(error) if args.json => {
            let code = error.exit_code();
            let refusal = json!({ "usable": false, "error": error.to_string(), "exit_code": code });
            print(pretty(&refusal)?.as_bytes())?;
            Ok(code)
        }
        Err(error) => Err(error),
    }
}

fn look(args: &CheckArgs) -> Result<Plan> {
    let spec = args.spec.spec()?;
    let data = load(&args.spec.data, &spec, false)?;
    Plan::new(spec, data)
}

fn pretty(value: &Value) -> Result<String> {
    let text = serde_json::to_string_pretty(value);
    text.map(|text| printable_json(text) + "\n").map_err(|error| Error::internal(error.to_string()))
}

/// What a run would take, roughly.
struct Cost {
    tasks: usize,
    threads: usize,
    seconds: f64,
    bytes: f64,
}

impl Cost {
    /// Rough constants, measured on one core of an ordinary server; a run may take half or twice of it.
    fn new(plan: &Plan) -> Self {
        const PER_CELL: f64 = 6e-8;
        const PER_PRODUCT: f64 = 2e-10;
        const PER_CRITERION: f64 = 1.5e-9;
        const PER_PREDICTION: f64 = 2e-8;
        const PER_DISTANCE: f64 = 1e-9;
        const PER_STEP_OF_TABLES: f64 = 4e-5;
        const PER_STEP_BYTES: f64 = 750.0;
        const PROGRAM_BYTES: f64 = 1.2e7;
        let info = &plan.info;
        let (tasks, threads) = (plan.tasks().len(), default_threads());
        let (rows, columns, units) = (info.rows as f64, info.columns.len() as f64, info.units.len() as f64);
        let classes = info.classes.len() as f64;
        let machines = if info.classes.len() == 2 { 1.0 } else { classes };
        let split = &info.spec.split;
        let training = rows * (1.0 - split.test_size) * (1.0 - split.cal_size);
        // A model of s columns costs about ten looks at the rows and sixty rows in and out of the inverse while s is below
        // the number of rows, and a dozen passes over rows × rows above; s goes from all columns to one.
        let narrow = columns.min(training);
        let primal = 5.0 * training * narrow.powi(2) + 20.0 * narrow.powi(3);
        let products = primal + 13.0 * (columns - narrow) * training.powi(2);
        let models =
            machines * (PER_PRODUCT * products * units / columns + PER_CRITERION * units.powi(2) / 2.0);
        let path = models + PER_PREDICTION * rows * classes * units;
        let with_gaps = (plan.data.missing_cells() as f64).min(rows);
        let gaps = match info.spec.impute {
            Impute::Knn(_) => PER_DISTANCE * with_gaps * training.min(DONOR_LIMIT as f64) * columns,
            _ => 0.0,
        };
        let once = PER_CELL * rows * columns + PER_STEP_OF_TABLES * units * tasks as f64;
        let workers = tasks.min(threads).max(1) as f64;
        let matrix = 8.0 * rows * columns;
        Self {
            tasks,
            threads,
            seconds: once + (tasks as f64 * path + info.splits as f64 * gaps) / workers,
            bytes: PROGRAM_BYTES + matrix * (1.0 + 3.0 * workers) + PER_STEP_BYTES * units * tasks as f64,
        }
    }
}

fn as_text(info: &RunInfo, cost: &Cost) -> String {
    let mut text = format!("{} can be used.\n", printable(&info.input));
    for (level, title) in [(Level::Notice, "Understood"), (Level::Warning, "Worth a look")] {
        let notes: Vec<&str> = info.audit.at(level).collect();
        if !notes.is_empty() {
            let _ = write!(text, "\n{title}\n");
        }
        for note in notes {
            let _ = writeln!(text, "  {}", printable(note));
        }
    }
    let (units, columns) = (info.units.len(), info.columns.len());
    let encoded = if units == columns { String::new() } else { format!(" in {columns} columns") };
    let methods: Vec<String> = info.spec.methods.iter().map(ToString::to_string).collect();
    let _ = writeln!(
        text,
        "\nA run would take\n  {units} {}{encoded}, {} {} of {}: {} paths\n  {} on {} {}, and about {} of memory",
        plural(units, "feature"),
        info.splits,
        plural(info.splits, "split"),
        methods.join(" and "),
        cost.tasks,
        duration(cost.seconds),
        cost.threads,
        plural(cost.threads, "thread"),
        size(cost.bytes),
    );
    text
}

fn as_json(info: &RunInfo, cost: &Cost) -> Value {
    let classes: Vec<Value> = info
        .classes
        .iter()
        .zip(&info.class_counts)
        .map(|(name, rows)| json!({ "name": name, "rows": rows }))
        .collect();
    json!({
        "usable": true,
        "input": { "name": info.input, "sha256": info.input_sha256 },
        "rows": info.rows,
        "features": info.units.len(),
        "columns": info.columns.len(),
        "target": info.target,
        "classes": classes,
        "dropped": info.dropped,
        "notes": info.audit.notes,
        "run": {
            "splits": info.splits,
            "methods": info.spec.methods,
            "paths": cost.tasks,
            "threads": cost.threads,
            "seconds": cost.seconds,
            "bytes": cost.bytes,
        },
    })
}

fn plural(n: usize, word: &str) -> String {
    if n == 1 { word.to_owned() } else { format!("{word}s") }
}

fn duration(seconds: f64) -> String {
    let about = |n: f64, unit: &str| {
        let n = n.round().max(1.0) as usize;
        format!("about {n} {}", plural(n, unit))
    };
    match seconds {
        s if s < 1.0 => "less than a second".to_owned(),
        s if s < 90.0 => about(s, "second"),
        s if s < 5400.0 => about(s / 60.0, "minute"),
        s => about(s / 3600.0, "hour"),
    }
}

fn size(bytes: f64) -> String {
    if bytes < 1e9 { format!("{:.0} MB", bytes / 1e6) } else { format!("{:.1} GB", bytes / 1e9) }
}
