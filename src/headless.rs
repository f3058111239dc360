//! `crfe-tui run`: no screen; progress on standard error, the answer on standard output, files in the run's directory.

use std::io::Write;
use std::path::Path;

use crate::cli::RunArgs;
use crate::data::{Dataset, Level};
use crate::error::{Error, Result};
use crate::history::History;
use crate::report::{Answer, Progress, TABLES, summary, write_tables};
use crate::run::{
    Engine, EventKind, Gate, Journal, Plan, RunEvent, SHARD_OF_ONE, TaskId, default_threads, differences,
    journals, read_run,
};

/// Events that may wait for the journal.
const WAITING_EVENTS: usize = 1024;

/// Runs to the end; the exit code.
pub fn run(args: &RunArgs) -> Result<u8> {
    let spec = args.spec.spec()?;
    let data = Dataset::load(&args.spec.data, &spec.schema, |_, _| {})?;
    let plan = Plan::new(spec, data)?;
    if !args.output.quiet {
        say_what_was_understood(&plan);
    }
    let mut history = History::default();
    let mut journal = None;
    if let Some(out) = &args.output.out {
        resume(out, args.output.force, &plan, &mut history)?;
        journal = Some(Journal::create(out, SHARD_OF_ONE)?);
    }
    let tasks: Vec<TaskId> = plan.tasks().into_iter().filter(|&task| history.trace(task).is_none()).collect();
    let resumed = plan.tasks().len() - tasks.len();
    if resumed > 0 && !args.output.quiet {
        eprintln!("{resumed} of {} tasks were finished before", plan.tasks().len());
    }
    compute(&plan, &tasks, args, &mut history, journal.as_mut())?;
    finish(&plan, &history, args)
}

fn say_what_was_understood(plan: &Plan) {
    for note in &plan.info.audit.notes {
        let mark = if note.level == Level::Warning { "warning: " } else { "" };
        eprintln!("{mark}{}", crate::error::printable(&note.text));
    }
}

/// Takes what a directory already holds of this run, or refuses it.
fn resume(out: &Path, force: bool, plan: &Plan, history: &mut History) -> Result<()> {
    if force {
        start_anew(out)?;
    }
    if let Some(recorded) = read_run(out)? {
        if recorded.info.fingerprint != plan.info.fingerprint {
            return Err(Error::resume(format!(
                "this directory holds another run: {}",
                differences(&recorded.info, &plan.info)
            ))
            .file(out)
            .remedy("choose another --out, or start anew with --force"));
        }
        recorded.tasks.values().flatten().for_each(|event| history.apply(event));
    } else if let Some(name) = TABLES.iter().find(|name| out.join(name).exists()) {
        return Err(Error::resume(format!("this directory holds a {name} that is not of a run of ours"))
            .file(out)
            .remedy("choose another --out, or overwrite it with --force"));
    }
    std::fs::create_dir_all(out).map_err(|error| {
        Error::output(format!("the directory cannot be made: {error}"))
            .file(out)
            .remedy("choose another with --out")
    })
}

/// Deletes the files of the run that a directory holds, and nothing else.
fn start_anew(out: &Path) -> Result<()> {
    let tables = TABLES.iter().map(|name| out.join(name)).filter(|path| path.exists());
    for path in journals(out)?.into_iter().chain(tables) {
        std::fs::remove_file(&path)
            .map_err(|error| Error::output(format!("cannot be deleted: {error}")).file(&path))?;
    }
    Ok(())
}

/// Runs the tasks on worker threads; this one keeps the journal and the history.
fn compute(
    plan: &Plan,
    tasks: &[TaskId],
    args: &RunArgs,
    history: &mut History,
    mut journal: Option<&mut Journal>,
) -> Result<()> {
    let gate = Gate::default();
    let threads = args.output.threads.map_or_else(default_threads, usize::from);
    let mut progress = Progress::new(tasks.len(), plan.info.units.len(), args.output.quiet);
    quiet_worker_panics();
    let (send, receive) = crossbeam_channel::bounded::<RunEvent>(WAITING_EVENTS);
    let outcome = std::thread::scope(|scope| {
        let engine = Engine::new(plan, &gate, send);
        let gate = &gate;
        scope.spawn(move || engine.run(tasks, threads));
        for event in &receive {
            if let Some(journal) = &mut journal
                && let Err(error) = journal.append(&event)
            {
                // The engine may wait for room in the channel: let it see that nobody listens.
                gate.cancel();
                drop(receive);
                return Err(error);
            }
            history.apply(&event);
            progress.event(&event);
            if let (EventKind::TaskFailed { message }, Some(task)) = (&event.kind, event.task) {
                eprintln!("crfe-tui: {task} failed: {}", crate::error::printable(message));
            }
        }
        Ok(())
    });
    progress.finish();
    outcome
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

/// Tables, the answer, and the exit code.
fn finish(plan: &Plan, history: &History, args: &RunArgs) -> Result<u8> {
    if let Some(out) = &args.output.out {
        write_tables(out, history, Some(plan))?;
    }
    let Some(answer) = Answer::new(history) else {
        return Err(Error::internal("the run ended before it had started"));
    };
    let text = if args.output.json {
        serde_json::to_string_pretty(&answer)
            .map(|text| crate::error::printable_json(text) + "\n")
            .map_err(|error| Error::internal(error.to_string()))?
    } else {
        summary(&answer)
    };
    print(&text)?;
    if !args.output.quiet && !args.output.json {
        match &args.output.out {
            Some(out) => eprintln!("\nAll tables are in {}", crate::error::printable(&out.to_string_lossy())),
            None => eprintln!("\nNo files were written; add --out RUN for all tables"),
        }
    }
    Ok(if history.failed().is_empty() { 0 } else { 4 })
}

/// Prints; a reader that has gone is not an error.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::output(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}
