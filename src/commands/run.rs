//! `crfe-tui run`: no screen; progress on standard error, the answer on standard output, files in
//! the run's directory.

use std::path::Path;
use std::sync::Arc;

use crossbeam_channel::select;

use super::args::RunArgs;
use super::report::{answer_of, find_twins, tell_answer, tell_notes};
use super::signals::Signals;
use crate::analysis::{Answer, History};
use crate::data::{Dataset, Level};
use crate::error::{Result, printable};
use crate::record::{EventSource, Live, RunDirectory, Shard};
use crate::report::{FigureOptions, Progress, ReadingProgress, outputs, write_report};
use crate::run::{Estimate, EventKind, Plan, RunInfo, RunSpec, default_threads};
use crate::say::say;
use crate::svm::SolverKind;

/// Runs to the end; the exit code.
pub fn run(args: &RunArgs) -> Result<u8> {
    match execute(args)? {
        RunOutcome::Code(code) => Ok(code),
        RunOutcome::Done(plan, history) => finish(&plan, &history, args),
    }
}

/// How a run ended.
pub(super) enum RunOutcome {
    /// By a signal, or as one shard of many: there is no more to do than to return this.
    Code(u8),
    /// With everything computed.
    Done(Arc<Plan>, Box<History>),
}

/// Runs to the end and keeps what was computed.
pub(super) fn execute(args: &RunArgs) -> Result<RunOutcome> {
    let spec = args.spec.spec()?;
    let quiet = args.output.quiet;
    let data = load(&args.spec.data, &spec, quiet)?;
    let plan = Arc::new(Plan::new(spec, data)?);
    if !quiet {
        say_what_was_understood(&plan, threads(args));
    }
    let shard = args.shard.unwrap_or(Shard::WHOLE);
    let claim = |out| RunDirectory::claim(out, shard).map(Arc::new);
    let directory = args.output.out.as_deref().map(claim).transpose()?;
    let share = shard.share(&plan.tasks());
    let mut records = None;
    if let Some(directory) = &directory {
        if args.output.force {
            directory.start_anew(&outputs())?;
        }
        records = directory.resume(&plan, &outputs())?;
        if let Some((has, described)) = records
            .as_ref()
            .and_then(|records| narrowed(records.info(), &plan.info))
            .filter(|_| shard.is_whole())
        {
            let out = printable(&directory.path().to_string_lossy());
            say(format_args!(
                "the run in {out} has {has}: its tables, figures and report.html now describe {described}; \
                 crfe-tui report {out} brings all of them back"
            ));
        }
    }
    let live = Live {
        plan: plan.clone(),
        gate: Arc::default(),
        tasks: share.clone(),
        followups: shard.share(&plan.info.followups()),
        threads: threads(args),
        directory: directory.clone(),
        records,
    };
    let mut history = History::default();
    if let Some(signal) = compute(live, shard, args.output.quiet, &mut history)? {
        if !quiet {
            let remedy =
                if directory.is_some() { "; the same command resumes from here" } else { "" };
            say(format_args!("crfe-tui: ended by signal {signal}{remedy}"));
        }
        return Ok(RunOutcome::Code(128_u8.saturating_add(u8::try_from(signal).unwrap_or(0))));
    }
    if shard.is_whole() {
        look_for_twins(&plan, &mut history, directory.as_deref())?;
    }
    match &directory {
        Some(directory) if !shard.is_whole() => {
            if !quiet {
                let done = share.len() - history.failed().len();
                let out = directory.path().to_string_lossy();
                say(format_args!("shard {shard}: {done} of {} tasks are finished", share.len()));
                say(format_args!(
                    "when all shards are finished, crfe-tui report {} makes tables, figures and report.html",
                    printable(&out)
                ));
            }
            Ok(RunOutcome::Code(exit_code(&history)))
        }
        _ => Ok(RunOutcome::Done(plan, Box::new(history))),
    }
}

/// What a recorded run has, and the part of it that is asked for now; none if that is all of it.
fn narrowed(recorded: &RunInfo, asked: &RunInfo) -> Option<(String, String)> {
    let listed = |info: &RunInfo| {
        let names: Vec<String> = info.spec.methods.iter().map(ToString::to_string).collect();
        names.join(", ")
    };
    let fewer_splits = asked.splits < recorded.splits;
    let fewer_methods =
        recorded.spec.methods.iter().any(|method| !asked.spec.methods.contains(method));
    let (has, described): (Vec<String>, Vec<String>) = [
        fewer_splits.then(|| {
            (format!("{} splits", recorded.splits), format!("the first {}", asked.splits))
        }),
        fewer_methods.then(|| {
            (format!("the methods {}", listed(recorded)), format!("only {}", listed(asked)))
        }),
    ]
    .into_iter()
    .flatten()
    .unzip();
    (!has.is_empty()).then(|| (has.join(" and "), described.join(" and ")))
}

/// Looks for the twins of the chosen features and records them, so that a report does not need the
/// data for them.
fn look_for_twins(
    plan: &Plan,
    history: &mut History,
    directory: Option<&RunDirectory>,
) -> Result<()> {
    let Some(event) = find_twins(plan, history) else { return Ok(()) };
    history.apply(&event);
    directory.map_or(Ok(()), |directory| directory.record(&plan.info, &event))
}

/// A run with linfa-svm that is estimated to take longer (in seconds) gets a warning.
const LONG: f64 = 60.0;

/// Reads and interprets a file, with progress if that takes long.
pub(super) fn load(file: &Path, spec: &RunSpec, quiet: bool) -> Result<Dataset> {
    let mut reading = ReadingProgress::new(quiet);
    Dataset::load(file, &spec.schema, |bytes, of| reading.tell(bytes, of))
}

pub(super) fn say_what_was_understood(plan: &Plan, threads: usize) {
    for note in &plan.info.audit.notes {
        let mark = if note.level == Level::Warning { "warning: " } else { "" };
        say(format_args!("{mark}{}", printable(&note.text)));
    }
    let cost = Estimate::new(plan, threads);
    if plan.info.spec.solver == SolverKind::Linfa && cost.seconds() > LONG {
        say(format_args!("warning: linfa-svm is slow: this run takes {}", cost.duration()));
    }
}

/// Takes what was recorded and runs the rest on worker threads; the signal that ended it, if one
/// did.
fn compute(live: Live, shard: Shard, quiet: bool, history: &mut History) -> Result<Option<i32>> {
    let plan = live.plan.clone();
    let all = live.tasks.len() + live.followups.len();
    quiet_worker_panics();
    let signals = Signals::listen()?;
    let source = EventSource::engine(live);
    // Recorded tasks are not counted as progress.
    let mut progress: Option<Progress> = None;
    let signal = loop {
        let event = select! {
            recv(signals.received()) -> signal => break signal.ok(),
            recv(source.events()) -> event => event,
        };
        let Ok(event) = event else { break None };
        match (&event.kind, event.task) {
            // A shard writes no tables: of recorded tasks it keeps only that they are finished.
            (EventKind::Step(_), _) if progress.is_none() && !shard.is_whole() => continue,
            (EventKind::CaughtUp(left), _) => {
                tell_notes(&source.notes());
                if left.count() < all && !quiet {
                    let done = all - left.count();
                    say(format_args!("{done} of {all} tasks were finished before"));
                }
                let (tasks, followups) = (left.tasks.len(), &left.followups);
                progress = Some(Progress::new(&plan.info, tasks, followups, quiet));
            }
            (EventKind::TaskFailed { message }, Some(task)) => {
                say(format_args!("crfe-tui: {task} failed: {}", printable(message)));
            }
            (EventKind::FollowupFailed(followup, message), _) => {
                say(format_args!("crfe-tui: {followup} failed: {}", printable(message)));
            }
            _ => {}
        }
        history.apply(&event);
        if let Some(progress) = &mut progress {
            progress.event(&event);
        }
    };
    if let Some(progress) = progress {
        progress.finish();
    }
    source.close()?;
    Ok(signal)
}

/// A panic in a worker is reported as a failed task, not by the default hook.
fn quiet_worker_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(crate::run::WORKER) {
            usual(panic);
        }
    }));
}

/// The number of worker threads.
pub(super) fn threads(args: &RunArgs) -> usize {
    args.output.threads.map_or_else(default_threads, usize::from)
}

/// A run with more steps than this takes seconds to write.
const MANY_STEPS: usize = 20_000;

/// Tables, the answer, and the exit code.
fn finish(plan: &Plan, history: &History, args: &RunArgs) -> Result<u8> {
    let answer = answer_of(history)?;
    report_files(plan, history, &answer, args)?;
    tell_answer(&answer, args.output.json)?;
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

/// Tables, figures and the page, if a directory is there for them.
pub(super) fn report_files(
    plan: &Plan,
    history: &History,
    answer: &Answer,
    args: &RunArgs,
) -> Result<()> {
    if let Some(out) = &args.output.out {
        // For small runs the tables are written before the sentence could be read.
        let steps: usize = history.tasks().map(|(_, trace)| trace.steps().len()).sum();
        if !args.output.quiet && steps > MANY_STEPS {
            say("writing tables, figures and report.html …");
        }
        tell_notes(&write_report(
            out,
            history,
            answer,
            Some(plan),
            &FigureOptions::default(),
            threads(args),
        )?);
    }
    Ok(())
}

fn exit_code(history: &History) -> u8 {
    if history.failed().is_empty() && history.failed_followups().is_empty() { 0 } else { 4 }
}
