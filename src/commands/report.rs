//! `crfe-tui report RUN`: tables, figures and the page, from journals alone.

use super::args::ReportArgs;
use crate::analysis::{Answer, History};
use crate::error::{Error, Result, printable};
use crate::record::Journals;
use crate::report::{summary, write_report};
use crate::run::{EventKind, Plan, RunEvent, Twins, default_threads};
use crate::say::{print, say};

/// Writes tables, figures and the page from journals alone; returns the exit code.
pub fn report(args: &ReportArgs) -> Result<u8> {
    let figures = args.figures.options()?;
    let Some(mut records) = Journals::open(&args.run)? else {
        return Err(Error::data("there is no run in this directory")
            .file(&args.run)
            .remedy("make one with crfe-tui run DATA.CSV --out RUN"));
    };
    let mut history = History::default();
    records.replay(|event| history.apply(&event))?;
    tell_notes(&records.notes());
    let all = records.tasks() + records.info().followups().len();
    let missing = all.saturating_sub(history.finished_tasks().count() + history.followups().count());
    if missing > 0 {
        let failed = history.failed().len() + history.failed_followups().len();
        say(format_args!(
            "warning: {missing} of {all} tasks are not finished ({failed} failed); the tables cover the others",
        ));
    }
    let plan = match Plan::find(records.info(), args.data.as_deref()) {
        Ok(plan) => Some(plan),
        Err(why) => {
            say(format_args!("predictions.csv and reproduce.py are skipped: {why}"));
            None
        }
    };
    if let Some(event) = plan.as_ref().and_then(|plan| find_twins(plan, &history)) {
        history.apply(&event);
    }
    tell_notes(&write_report(&args.run, &history, plan.as_ref(), &figures, default_threads())?);
    tell_answer(&history, args.json)?;
    if !args.quiet && !args.json {
        say(format_args!(
            "\nTables, figures and report.html are in {}",
            printable(&args.run.to_string_lossy())
        ));
    }
    Ok(if missing > 0 { 4 } else { 0 })
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

/// Prints the answer.
pub(super) fn tell_answer(history: &History, json: bool) -> Result<()> {
    let Some(answer) = Answer::new(history) else {
        return Err(Error::internal("the run ended before it had started"));
    };
    let text = if json {
        serde_json::to_string_pretty(&answer)
            .map(|text| crate::error::printable_json(text) + "\n")
            .map_err(|error| Error::internal(error.to_string()))?
    } else {
        summary(&answer)
    };
    print(text.as_bytes())
}
