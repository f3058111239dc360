//! `crfe-tui check`: what was understood of a file, what is wrong with it, and what a run would
//! take.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::args::CheckArgs;
use super::pretty;
use super::run::load;
use crate::data::Level;
use crate::error::{Result, counted, printable};
use crate::run::{Estimate, PartCost, Plan, RunInfo, default_threads};
use crate::say::print;

/// Checks a file and prints what a run would report and cost; returns the exit code.
pub fn check(args: &CheckArgs) -> Result<u8> {
    match look(args) {
        Ok(plan) => {
            let cost = Estimate::measured(&plan, default_threads())?;
            let text = if args.json {
                pretty(&as_json(&plan.info, &cost))?
            } else {
                as_text(&plan.info, &cost)
            };
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

fn as_text(info: &RunInfo, cost: &Estimate) -> String {
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
        "\nA run would take\n  {}{encoded}, {} of {}: {}\n  {} on {}, and about {} of memory",
        counted(units, "feature"),
        counted(info.splits, "split"),
        methods.join(" and "),
        counted(cost.tasks, "path"),
        cost.duration(),
        counted(cost.threads, "thread"),
        cost.memory(),
    );
    for part in &cost.parts {
        let name = match part.count {
            1 => part.name.to_owned(),
            count => format!("{count} {}", part.name),
        };
        let _ = writeln!(text, "    {name:24} {:.1} s", part.seconds());
    }
    text += "\nPredictions, journals and models can be read by you alone, unless a group shares their directory.\n";
    text
}

fn as_json(info: &RunInfo, cost: &Estimate) -> Value {
    let classes: Vec<Value> = info
        .classes
        .iter()
        .zip(&info.class_counts)
        .map(|(name, rows)| json!({ "name": name, "rows": rows }))
        .collect();
    let part = |part: &PartCost| {
        json!({
            "name": part.name,
            "count": part.count,
            "seconds": part.seconds(),
            "core_seconds": part.core_seconds,
        })
    };
    let parts: Vec<Value> = cost.parts.iter().map(part).collect();
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
            "seconds": cost.seconds(),
            "core_seconds": cost.parts.iter().map(|part| part.core_seconds).sum::<f64>(),
            "parts": parts,
            "bytes": cost.bytes,
        },
    })
}
