//! A run as a file: append and flush each event, read back whole tasks, cut a torn tail.
//!
//! `RUN/journal-<i>of<N>-<unique>.jsonl`, one per process, one JSON object a line. The first line is the start of the run.
//! Readers take the union of the files of a directory; a task counts when its end was written.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::{EventKind, FORMAT, RunEvent, RunInfo, TaskId};
use crate::error::{Error, Result};

/// The shard of a run that is not divided.
pub const SHARD_OF_ONE: (usize, usize) = (1, 1);

/// Written at least this often to the disk itself.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// A journal being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: BufWriter<File>,
    synced: Instant,
}

impl Journal {
    /// A new journal in a run's directory, which must exist.
    pub fn create(directory: &Path, (shard, of): (usize, usize)) -> Result<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let unique = format!("{:x}-{:x}", now.as_nanos(), std::process::id());
        let path = directory.join(format!("journal-{shard}of{of}-{unique}.jsonl"));
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file = file.map_err(|error| failed(&path, &error))?;
        Ok(Self { path, file: BufWriter::new(file), synced: Instant::now() })
    }

    /// Appends one event. What only concerns a screen is not written.
    pub fn append(&mut self, event: &RunEvent) -> Result<()> {
        if matches!(event.kind, EventKind::Loading { .. } | EventKind::Paused | EventKind::Resumed) {
            return Ok(());
        }
        let whole = matches!(
            event.kind,
            EventKind::RunStarted(_) | EventKind::TaskFinished { .. } | EventKind::RunFinished
        );
        self.write(event, whole).map_err(|error| failed(&self.path, &error))
    }

    fn write(&mut self, event: &RunEvent, sync: bool) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.file, event)?;
        self.file.write_all(b"\n")?;
        self.file.flush()?;
        if sync || self.synced.elapsed() > SYNC_EVERY {
            self.file.get_ref().sync_data()?;
            self.synced = Instant::now();
        }
        Ok(())
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::output(format!("cannot write: {error}"))
        .file(path)
        .remedy("choose a directory with room that can be written, with --out")
}

/// What the journals of a directory hold.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The start of the run.
    pub info: Arc<RunInfo>,
    /// The events of every finished task, from its start to its end.
    pub tasks: BTreeMap<TaskId, Vec<RunEvent>>,
}

/// The journals of a directory, sorted by name; none if it does not exist.
pub fn journals(directory: &Path) -> Result<Vec<PathBuf>> {
    let unreadable =
        |error: std::io::Error| Error::data(format!("cannot read the directory: {error}")).file(directory);
    let mut paths = Vec::new();
    match std::fs::read_dir(directory) {
        Ok(entries) => {
            for entry in entries {
                let entry = entry.map_err(unreadable)?;
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if name.starts_with("journal-") && name.ends_with(".jsonl") {
                    paths.push(entry.path());
                }
            }
        }
        // What cannot be a directory holds no journal; who wants to write there is told so then.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
        Err(error) => return Err(unreadable(error)),
    }
    paths.sort();
    Ok(paths)
}

/// Reads all journals of a directory as one run; `None` if there are none, or none got beyond its first line.
pub fn read_run(directory: &Path) -> Result<Option<Recorded>> {
    let mut run: Option<Recorded> = None;
    for path in journals(directory)? {
        let Some((info, tasks)) = read_journal(&path)? else { continue };
        match &mut run {
            None => run = Some(Recorded { info, tasks }),
            Some(run) if run.info.fingerprint == info.fingerprint => {
                // A later start may have asked for more splits or methods.
                if (info.splits, info.spec.methods.len()) > (run.info.splits, run.info.spec.methods.len()) {
                    run.info = info;
                }
                for (task, events) in tasks {
                    run.tasks.entry(task).or_insert(events);
                }
            }
            Some(run) => {
                return Err(Error::resume(format!(
                    "this journal is of another run than the others here: {}",
                    differences(&run.info, &info)
                ))
                .file(path)
                .remedy("move it to a directory of its own"));
            }
        }
    }
    Ok(run)
}

type Read = (Arc<RunInfo>, BTreeMap<TaskId, Vec<RunEvent>>);

/// One journal: its start and its finished tasks. What follows a torn line is lost with it.
fn read_journal(path: &Path) -> Result<Option<Read>> {
    let unreadable = |error: std::io::Error| Error::data(format!("cannot read: {error}")).file(path);
    let mut lines = BufReader::new(File::open(path).map_err(unreadable)?);
    let mut line = Vec::new();
    let mut next = |line: &mut Vec<u8>| -> Result<bool> {
        line.clear();
        lines.read_until(b'\n', line).map_err(unreadable)?;
        Ok(line.last() == Some(&b'\n'))
    };
    if !next(&mut line)? {
        return Ok(None);
    }
    let info = first_line(path, &line)?;
    let mut open: BTreeMap<TaskId, Vec<RunEvent>> = BTreeMap::new();
    let mut finished = BTreeMap::new();
    while next(&mut line)? {
        let Ok(event) = serde_json::from_slice::<RunEvent>(&line) else { break };
        let Some(task) = event.task else { continue };
        match &event.kind {
            EventKind::TaskStarted(_) => {
                open.insert(task, vec![event]);
            }
            EventKind::TaskFinished { .. } => {
                if let Some(mut events) = open.remove(&task) {
                    events.push(event);
                    finished.entry(task).or_insert(events);
                }
            }
            EventKind::TaskFailed { .. } => {
                open.remove(&task);
            }
            _ => {
                if let Some(events) = open.get_mut(&task) {
                    events.push(event);
                }
            }
        }
    }
    Ok(Some((info, finished)))
}

fn first_line(path: &Path, line: &[u8]) -> Result<Arc<RunInfo>> {
    let value: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    let started = &value["kind"]["run_started"];
    match started["format"].as_u64() {
        Some(format) if format > u64::from(FORMAT) => {
            Err(Error::resume(format!("journal format {format} is newer than this program's {FORMAT}"))
                .file(path)
                .remedy("use the version of crfe-tui that wrote it, or a newer one"))
        }
        _ => serde_json::from_value::<RunInfo>(started.clone()).map(Arc::new).map_err(|error| {
            Error::resume(format!("the first line is not the start of a run: {error}"))
                .file(path)
                .line(1)
                .remedy("move this file away")
        }),
    }
}

/// In what two runs differ, in words.
pub fn differences(old: &RunInfo, new: &RunInfo) -> String {
    let mut words = Vec::new();
    if old.input_sha256 != new.input_sha256 {
        words.push(format!("the data differ ({} then, {} now)", old.input, new.input));
    }
    if old.splits_sha256 != new.splits_sha256 {
        words.push("the file of splits differs".to_owned());
    }
    let (before, after) = (old.spec.determining(), new.spec.determining());
    for (key, value) in &after {
        compare(key, before.get(key).unwrap_or(&serde_json::Value::Null), value, &mut words);
    }
    if words.is_empty() && old.units != new.units {
        words.push("the features or their groups differ".to_owned());
    }
    if words.is_empty() {
        words.push("it was made by another version of the program".to_owned());
    }
    words.join("; ")
}

fn compare(key: &str, old: &serde_json::Value, new: &serde_json::Value, words: &mut Vec<String>) {
    match (old, new) {
        (serde_json::Value::Object(a), serde_json::Value::Object(b)) if a.keys().eq(b.keys()) => {
            for (key, value) in b {
                compare(key, &a[key], value, words);
            }
        }
        _ if old != new => words.push(format!("{} was {old}, is now {new}", key.replace('_', "-"))),
        _ => {}
    }
}
