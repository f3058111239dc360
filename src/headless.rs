//! `crfe-tui run` and `crfe-tui report`: no screen; progress on standard error, the answer on standard output, files in the
//! run's directory.

use std::path::Path;
use std::sync::Arc;

use crossbeam_channel::select;

use crate::cli::{ReportArgs, RunArgs};
use crate::data::{Dataset, Level};
use crate::error::{Error, Result, printable};
use crate::history::History;
use crate::report::{Answer, Progress, Reading, outputs, summary, write_report};
use crate::run::{
    EventKind, Gate, Live, Plan, Records, RunDirectory, RunEvent, RunSpec, Shard, Source, TaskId,
    default_threads,
};
use crate::say::{print, say};
use crate::signals::Signals;

/// Runs to the end; the exit code.
pub fn run(args: &RunArgs) -> Result<u8> {
    let spec = args.spec.spec()?;
    let quiet = args.output.quiet;
    let data = load(&args.spec.data, &spec, quiet)?;
    let plan = Arc::new(Plan::new(spec, data)?);
    if !quiet {
        say_what_was_understood(&plan);
    }
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let claim = |out| RunDirectory::claim(out, shard).map(Arc::new);
    let directory = args.output.out.as_deref().map(claim).transpose()?;
    let share = shard.share(&plan.tasks());
    let mut history = History::default();
    history.apply(&RunEvent { seq: 0, task: None, kind: EventKind::RunStarted(plan.info.clone()) });
    if let Some(directory) = &directory {
        if args.output.force {
            directory.start_anew(&outputs())?;
        }
        if let Some(mut records) = directory.resume(&plan, &outputs())? {
            // A shard makes no tables: it must know what is finished, not remember it.
            take_up(&mut records, &plan, &share, &mut history)?;
            tell_notes(&records.notes());
        }
    }
    let tasks: Vec<TaskId> = share.iter().copied().filter(|&task| history.trace(task).is_none()).collect();
    if tasks.len() < share.len() && !quiet {
        say(format_args!("{} of {} tasks were finished before", share.len() - tasks.len(), share.len()));
    }
    if let Some(signal) = compute(&plan, tasks, args, &mut history, directory.clone())? {
        if !quiet {
            let remedy = if directory.is_some() { "; the same command goes on from here" } else { "" };
            say(format_args!("crfe-tui: ended by signal {signal}{remedy}"));
        }
        return Ok(128_u8.saturating_add(u8::try_from(signal).unwrap_or(0)));
    }
    if let Some(directory) = &directory {
        directory.pack();
    }
    match &directory {
        Some(directory) if !shard.is_whole() => {
            if !quiet {
                let (done, out) = (share.len() - history.failed().len(), directory.path().to_string_lossy());
                say(format_args!("shard {shard}: {done} of {} tasks are finished", share.len()));
                say(format_args!(
                    "when all shards are, crfe-tui report {} makes tables, figures and report.html",
                    printable(&out)
                ));
            }
            Ok(exit_code(&history))
        }
        _ => finish(&plan, &history, args),
    }
}

/// Reads and understands a file, and says how far it has come if that takes long.
pub(crate) fn load(file: &Path, spec: &RunSpec, quiet: bool) -> Result<Dataset> {
    let mut reading = Reading::new(quiet);
    Dataset::load(file, &spec.schema, |bytes, of| reading.tell(bytes, of))
}

fn say_what_was_understood(plan: &Plan) {
    for note in &plan.info.audit.notes {
        let mark = if note.level == Level::Warning { "warning: " } else { "" };
        say(format_args!("{mark}{}", crate::error::printable(&note.text)));
    }
}

/// Takes the tasks that are finished; a shard keeps only that they are.
fn take_up(records: &mut Records, plan: &Plan, share: &[TaskId], history: &mut History) -> Result<()> {
    let whole = share.len() == plan.tasks().len();
    for &task in share {
        let Some(events) = records.read(task, &plan.info.spec)? else { continue };
        for kind in events {
            if whole || !matches!(kind, EventKind::Step(_)) {
                history.apply(&RunEvent { seq: 0, task: Some(task), kind });
            }
        }
    }
    Ok(())
}

fn tell_notes(notes: &[String]) {
    for note in notes {
        say(format_args!("warning: {}", printable(note)));
    }
}

/// Runs the tasks on worker threads; the signal that ended it, if one did.
fn compute(
    plan: &Arc<Plan>,
    tasks: Vec<TaskId>,
    args: &RunArgs,
    history: &mut History,
    directory: Option<Arc<RunDirectory>>,
) -> Result<Option<i32>> {
    let threads = threads(args);
    let mut progress = Progress::new(tasks.len(), plan.info.units.len(), args.output.quiet);
    quiet_worker_panics();
    let signals = Signals::listen()?;
    let gate = Arc::new(Gate::default());
    // What was recorded has been read: how much is left decides what progress means.
    let source = Source::engine(Live { plan: plan.clone(), gate, tasks, threads, directory, records: None });
    let signal = loop {
        let event = select! {
            recv(signals.received()) -> signal => break signal.ok(),
            recv(source.events()) -> event => event,
        };
        let Ok(event) = event else { break None };
        history.apply(&event);
        progress.event(&event);
        if let (EventKind::TaskFailed { message }, Some(task)) = (&event.kind, event.task) {
            say(format_args!("crfe-tui: {task} failed: {}", printable(message)));
        }
    };
    progress.finish();
    source.close()?;
    Ok(signal)
}

/// A panic in a worker is told as a failed task, not by the default hook.
fn quiet_worker_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(crate::run::WORKER) {
            usual(panic);
        }
    }));
}

/// The threads that may work.
fn threads(args: &RunArgs) -> usize {
    args.output.threads.map_or_else(default_threads, usize::from)
}

/// Steps of which the tables take seconds to write.
const MANY_STEPS: usize = 20_000;

/// Tables, the answer, and the exit code.
fn finish(plan: &Plan, history: &History, args: &RunArgs) -> Result<u8> {
    if let Some(out) = &args.output.out {
        // Of small runs the tables are there before the sentence is read.
        let steps: usize = history.tasks().map(|(_, trace)| trace.steps().len()).sum();
        if !args.output.quiet && steps > MANY_STEPS {
            say("writing tables, figures and report.html …");
        }
        write_report(out, history, Some(plan), threads(args))?;
    }
    tell_answer(history, args.output.json)?;
    if !args.output.quiet && !args.output.json {
        match &args.output.out {
            Some(out) => say(format_args!(
                "\nTables, figures and report.html are in {}",
                printable(&out.to_string_lossy())
            )),
            None => say("\nNo files were written; add --out RUN for tables, figures and a report"),
        }
    }
    Ok(exit_code(history))
}

fn exit_code(history: &History) -> u8 {
    if history.failed().is_empty() { 0 } else { 4 }
}

fn tell_answer(history: &History, json: bool) -> Result<()> {
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

/// Makes tables, figures and the page from journals alone; the exit code.
pub fn report(args: &ReportArgs) -> Result<u8> {
    let Some(mut records) = Records::open(&args.run)? else {
        return Err(Error::data("there is no run in this directory")
            .file(&args.run)
            .remedy("make one with crfe-tui run DATA.CSV --out RUN"));
    };
    let mut history = History::default();
    records.tell(|event| history.apply(&event))?;
    tell_notes(&records.notes());
    let missing = records.tasks() - history.finished_tasks().count();
    if missing > 0 {
        let failed = history.failed().len();
        say(format_args!(
            "warning: {missing} of {} tasks are not finished ({failed} failed); the tables are of the others",
            records.tasks()
        ));
    }
    let plan = match Plan::find(records.info(), args.data.as_deref()) {
        Ok(plan) => Some(plan),
        Err(why) => {
            say(format_args!("predictions.csv and reproduce.py are left out: {why}"));
            None
        }
    };
    write_report(&args.run, &history, plan.as_ref(), default_threads())?;
    tell_answer(&history, args.json)?;
    if !args.quiet && !args.json {
        say(format_args!(
            "\nTables, figures and report.html are in {}",
            printable(&args.run.to_string_lossy())
        ));
    }
    Ok(if missing > 0 { 4 } else { 0 })
}
