//! `crfe-tui report RUN`: tables, figures and the page, from journals alone, also from those of
//! several directories.

use std::path::{Path, PathBuf};

use super::args::ReportArgs;
use super::pretty;
use crate::analysis::{Answer, Choice, History};
use crate::error::{Error, Result, printable};
use crate::files::unwritable;
use crate::record::{Journals, journals};
use crate::report::{make_way, refuse_fewer_tasks, summary, write_report};
use crate::run::{EventKind, Plan, RunEvent, RunInfo, Twins, default_threads};
use crate::say::{print, say};

/// Writes tables, figures and the page from journals alone; returns the exit code.
pub fn report(args: &ReportArgs) -> Result<u8> {
    let figures = args.figures.options()?;
    let mut records = open_all(args)?;
    let out = directory_of_report(args, records.info())?;
    let mut history = History::default();
    records.replay(|event| history.apply(&event))?;
    tell_notes(&records.notes());
    if args.out.is_some() {
        refuse_fewer_tasks(out, &history)?;
    }
    let missing = history.unfinished();
    if missing > 0 {
        let all = records.tasks() + records.info().followups().len();
        let failed = history.failed().len() + history.failed_followups().len();
        say(format_args!(
            "warning: {missing} of {all} tasks are not finished ({failed} failed); the tables cover the others",
        ));
    }
    let plan = match Plan::find(records.info(), args.data.as_deref()) {
        Ok(plan) => Some(plan),
        Err(why) => {
            say(format_args!("predictions.csv, effects.csv and reproduce.py are skipped: {why}"));
            None
        }
    };
    if let Some(event) = plan.as_ref().and_then(|plan| find_twins(plan, &history)) {
        history.apply(&event);
    }
    let answer = answer_of(&history)?;
    let notes = write_report(out, &history, &answer, plan.as_ref(), &figures, default_threads())?;
    tell_notes(&notes);
    tell_answer(&answer, args.json)?;
    if !args.quiet && !args.json {
        say(format_args!(
            "\nTables, figures and report.html are in {}",
            printable(&out.to_string_lossy())
        ));
    }
    Ok(if missing > 0 { 4 } else { 0 })
}

/// The journals of all directories. A shard that had nothing to do leaves a directory without one.
fn open_all(args: &ReportArgs) -> Result<Journals> {
    if args.runs.len() > 1 && args.out.is_none() {
        return Err(Error::usage("several directories were given, but no place for the report")
            .remedy("name one with --out"));
    }
    let none = |directory: &PathBuf| {
        Error::data("there is no run in this directory")
            .file(directory)
            .remedy("make one with crfe-tui run DATA.CSV --out RUN")
    };
    for directory in &args.runs {
        if !directory.is_dir() {
            return Err(none(directory));
        }
        if args.runs.len() > 1 && journals(directory)?.is_empty() {
            say(format_args!(
                "warning: there is no journal in {}",
                printable(&directory.to_string_lossy())
            ));
        }
    }
    Journals::open_all(&args.runs)?.ok_or_else(|| none(&args.runs[0]))
}

/// Where the report goes: a directory that holds nothing of another run, or that of the run itself.
fn directory_of_report<'a>(args: &'a ReportArgs, info: &RunInfo) -> Result<&'a Path> {
    let Some(out) = &args.out else { return Ok(&args.runs[0]) };
    std::fs::create_dir_all(out).map_err(|error| unwritable(out, &error))?;
    make_way(out, info, &Choice::of(&info.spec), &[])?;
    Ok(out)
}

/// Prints notices about the journals of a run.
pub(super) fn tell_notes(notes: &[String]) {
    for note in notes {
        say(format_args!("warning: {}", printable(note)));
    }
}

/// The twins of those chosen features for which nobody has looked yet.
pub(super) fn find_twins(plan: &Plan, history: &History) -> Option<RunEvent> {
    let units = history.without_twins();
    let find = || EventKind::TwinsFound(Twins::find(&plan.data, &units).into());
    (!units.is_empty()).then(|| RunEvent { task: None, kind: find() })
}

/// The answer to what the settings of the run choose.
pub(super) fn answer_of(history: &History) -> Result<Answer> {
    history
        .own_choice()
        .and_then(|choice| Answer::new(history, &choice))
        .ok_or_else(|| Error::internal("the run ended before it had started"))
}

/// Prints the answer.
pub(super) fn tell_answer(answer: &Answer, json: bool) -> Result<()> {
    let text = if json { pretty(answer)? } else { summary(answer) };
    print(text.as_bytes())
}
