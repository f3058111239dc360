//! A run as a file: claim a directory, append and flush each event. Reading is `reader.rs`, lines
//! are `format.rs`.
//!
//! `RUN/journal-<i>of<N>-<unique>.jsonl`, one per process, never edited: what a process that died
//! left unfinished is superseded by a later journal. `RUN/timing-<unique>.jsonl` holds times and
//! hosts, and nothing else does. `RUN/.lock-<i>of<N>-<host>` is locked by the process that writes
//! shard i on that host; the kernel frees it whenever the process ends. It is there to catch a
//! second start by mistake: correctness needs no locks.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs::{File, Permissions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::format::{self, task_name};
use super::{Journals, Shard, journals};
use crate::error::{Error, Result};
use crate::files::{Directory, is_leftover, open_regular, read_start};
use crate::run::options::{OPTIONS, RunOption};
use crate::run::{EventKind, Plan, RunEvent, RunInfo, RunOptions, TaskId};

/// Bytes of a lock that are read; a process number is shorter.
const LONGEST_LOCK: u64 = 32;
/// Written at least this often to the disk itself.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// Held while a start is recorded.
const START_LOCK: &str = ".lock-start";
/// The file that marks a directory as a run of this program where no journal does.
const MANIFEST: &str = "manifest.json";
/// The longest manifest that is read: it names every feature.
const LONGEST_MANIFEST: u64 = 256 << 20;

/// How our scripts for a cluster begin.
pub const SCRIPT_HEAD: &[u8] = b"#!/bin/bash\n# Written by crfe-tui cluster.\n";
/// The script of the shards. A directory with this file holds a run that was submitted: `open`
/// waits for it.
pub const SHARDS_SCRIPT: &str = "shards.sbatch";
/// The script of the report that waits for the shards.
pub const REPORT_SCRIPT: &str = "report.sbatch";

/// A directory that this process may write a shard of a run into.
#[derive(Debug)]
pub struct RunDirectory {
    files: Directory,
    shard: Shard,
    started: Mutex<BegunJournals>,
    /// Held until dropped.
    _lock: Option<File>,
}

/// What this process has begun.
#[derive(Debug, Default)]
struct BegunJournals {
    /// Counts the starts with other settings than the one before.
    generation: u64,
    /// A journal that holds the start of the run and nothing else yet.
    journal: Option<Journal>,
}

impl RunDirectory {
    /// Makes the directory and claims a shard of it; refused while another process on this host
    /// writes the same shard.
    pub fn claim(path: &Path, shard: Shard) -> Result<Self> {
        let made = std::fs::create_dir_all(path).and_then(|()| Directory::open(path));
        Self::claim_made(made, path, shard)
    }

    /// The same in the user's own state directory: nobody else may read it.
    pub fn claim_private(path: &Path, shard: Shard) -> Result<Self> {
        Self::claim_made(private_directory(path), path, shard)
    }

    fn claim_made(made: std::io::Result<Directory>, path: &Path, shard: Shard) -> Result<Self> {
        let files = made.map_err(|error| {
            Error::output(format!("the directory cannot be made: {error}"))
                .file(path)
                .remedy("choose another with --out")
        })?;
        let lock = lock(&files, shard)?;
        Ok(Self { files, shard, started: Mutex::default(), _lock: lock })
    }

    pub fn path(&self) -> &Path {
        self.files.path()
    }

    /// Deletes the files of the run that the directory holds, and nothing else; `outputs` are the
    /// names of other files of ours. Directories that are left empty go too. Refused where nothing
    /// shows that this program wrote them.
    pub fn start_anew(&self, outputs: &[impl AsRef<str>]) -> Result<()> {
        for path in files(self.path(), ".lock-", "")? {
            if !path.ends_with(lock_name(self.shard)) && is_locked(&path) {
                return Err(Error::resume(
                    "another shard of the run in this directory is being written",
                )
                .file(self.path())
                .remedy("end it first, or choose another --out"));
            }
        }
        if !holds_a_run(self.path())? {
            return refuse_foreign(self.path(), outputs).inspect_err(|_| self.withdraw());
        }
        let ours = |name: &str| outputs.iter().any(|output| output.as_ref() == name);
        // The file that identifies the run is deleted last: an interrupted deletion can be
        // repeated.
        for name in outputs.iter().map(AsRef::as_ref).filter(|&name| name != MANIFEST) {
            self.delete(name)?;
        }
        let scripts = [SHARDS_SCRIPT, REPORT_SCRIPT];
        for name in scripts.into_iter().filter(|name| is_our_script(&self.path().join(name))) {
            self.delete(name)?;
        }
        let journals = journals(self.path())?;
        let others = files(self.path(), "", "")?.into_iter().filter(|path| {
            let name = path.file_name().unwrap_or_default();
            is_timing(name) || is_leftover(name, ours)
        });
        for path in others.chain(journals) {
            self.delete(&path.file_name().unwrap_or_default().to_string_lossy())?;
        }
        self.delete(MANIFEST)
    }

    /// Deletes an output file, if it exists, and its subdirectory if that is left empty.
    fn delete(&self, name: &str) -> Result<()> {
        let delete = || match name.split_once('/') {
            None => self.files.remove(name),
            Some((inside, name)) => {
                let removed = match self.files.open_subdirectory(inside) {
                    Ok(directory) => directory.remove(name)?,
                    // A link leads to somebody else's directory.
                    Err(_) => false,
                };
                // Only if it is empty; what else is in it is not ours.
                let _ = self.files.remove_empty_subdirectory(inside);
                Ok(removed)
            }
        };
        let failed = |error| {
            Error::output(format!("cannot be deleted: {error}")).file(self.path().join(name))
        };
        delete().map(drop).map_err(failed)
    }

    /// Starts the run here, or goes on with it: what is recorded of it. The start is recorded, too,
    /// unless it changes nothing. Refused if the directory holds another run, or files of our names
    /// without a run.
    pub fn resume(&self, plan: &Plan, outputs: &[impl AsRef<str>]) -> Result<Option<Journals>> {
        // Of two processes with other settings that start at once, the second finds the first one's
        // journal.
        let _lock = self.files.lock(START_LOCK).map_err(|error| failed(self.path(), &error))?;
        let found = self.check(plan, outputs)?;
        self.record_start(plan, found.as_ref())?;
        Ok(found)
    }

    /// What the directory already holds of this run; refused if it is another run, or not a run at
    /// all.
    pub fn check(&self, plan: &Plan, outputs: &[impl AsRef<str>]) -> Result<Option<Journals>> {
        self.look(plan, outputs).inspect_err(|_| self.withdraw())
    }

    /// A directory that is not ours keeps nothing of us; that the lock may stay is not worth a
    /// second error.
    fn withdraw(&self) {
        let _ = self.files.remove(&lock_name(self.shard));
    }

    fn look(&self, plan: &Plan, outputs: &[impl AsRef<str>]) -> Result<Option<Journals>> {
        let found = Journals::open(self.path())?;
        match &found {
            None => refuse_foreign(self.path(), outputs)?,
            Some(records) if records.info().fingerprint != plan.info.fingerprint => {
                return Err(Error::resume(format!(
                    "this directory holds another run: {}",
                    differences(records.info(), &plan.info)
                ))
                .file(self.path())
                .remedy("choose another --out, or start anew with crfe-tui run --force"));
            }
            Some(_) => {}
        }
        Ok(found)
    }

    /// The directory for journals, which hold what is predicted of rows: their owner's alone,
    /// unless others have journals here, too.
    fn for_journals(&self) -> std::io::Result<Directory> {
        let of_others = |path: &PathBuf| {
            let about = path.symlink_metadata();
            about.is_ok_and(|about| about.uid() != rustix::process::geteuid().as_raw())
        };
        self.files.private(journals(self.path()).is_ok_and(|paths| paths.iter().any(of_others)))
    }

    /// A journal is begun if there is something to compute, or the settings are not those of the
    /// last start.
    fn record_start(&self, plan: &Plan, found: Option<&Journals>) -> Result<()> {
        let (last, generation) = found.map_or((None, 0), |records| {
            let (last, generation) = records.last_start();
            (Some(last), generation)
        });
        let same = last.is_none_or(|last| *last == plan.info);
        let generation = if same { generation } else { generation.saturating_add(1) };
        self.started.lock().unwrap_or_else(PoisonError::into_inner).generation = generation;
        let finished = found.map(Journals::finished).unwrap_or_default();
        let finished: BTreeSet<TaskId> = finished.into_iter().collect();
        let left = self.shard.share(&plan.tasks()).iter().any(|task| !finished.contains(task));
        if same && !left {
            return Ok(());
        }
        let journal = self.new_journal(&plan.info)?;
        self.started.lock().unwrap_or_else(PoisonError::into_inner).journal = Some(journal);
        Ok(())
    }

    /// The journal that was begun with the start of the run, if any.
    pub fn begun_journal(&self) -> Option<Journal> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner).journal.take()
    }

    /// Keeps a journal for what may have to be recorded after the tasks.
    pub(super) fn keep(&self, journal: Journal) {
        self.started.lock().unwrap_or_else(PoisonError::into_inner).journal = Some(journal);
    }

    /// Records an event after the tasks have ended: in this process's journal, or in a new one if
    /// it has none.
    pub fn record(&self, info: &Arc<RunInfo>, event: &RunEvent) -> Result<()> {
        let mut journal = match self.begun_journal() {
            Some(journal) => journal,
            None => self.new_journal(info)?,
        };
        journal.append(event)?;
        journal.sync()
    }

    /// Begins a journal with the start of its run.
    pub fn new_journal(&self, info: &Arc<RunInfo>) -> Result<Journal> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Sorts by time; the process makes it unique.
        let unique = format!("{:016x}-{:x}", now.as_nanos(), std::process::id());
        let name = format!("journal-{}-{unique}.jsonl", self.shard.in_file_name());
        let path = self.path().join(&name);
        let file = self.for_journals().and_then(|files| files.create_new(&name));
        let file = file.map_err(|error| failed(&path, &error))?;
        let timing = Timing::create(&self.files, &unique, self.shard)?;
        self.files.sync().map_err(|error| failed(self.path(), &error))?;
        let generation = self.started.lock().unwrap_or_else(PoisonError::into_inner).generation;
        let synced = Instant::now();
        let info = info.clone();
        let mut journal =
            Journal { path, file, whole: 0, buffer: Vec::new(), info, synced, timing };
        journal.begin(generation)?;
        Ok(journal)
    }
}

/// Makes a directory, and those above it that are missing, for its owner alone.
fn private_directory(path: &Path) -> std::io::Result<Directory> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    // One that was made before, with the directory of all runs.
    for directory in [Some(path), path.parent()].into_iter().flatten() {
        // A disk without permissions has none to give.
        let _ = std::fs::set_permissions(directory, Permissions::from_mode(0o700));
    }
    Directory::open(path)?.private(false)
}

/// Whether a journal or a manifest shows that a directory holds a run of this program.
fn holds_a_run(directory: &Path) -> Result<bool> {
    Ok(!journals(directory)?.is_empty() || manifest(directory)["program"] == "crfe-tui")
}

/// The manifest of a directory; null if there is none.
pub fn manifest(directory: &Path) -> serde_json::Value {
    let bytes = read_start(&directory.join(MANIFEST), LONGEST_MANIFEST).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Refuses a directory without a journal that holds files of our names.
pub fn refuse_foreign(directory: &Path, outputs: &[impl AsRef<str>]) -> Result<()> {
    let there = |name: &&str| directory.join(name).symlink_metadata().is_ok();
    let Some(name) = outputs.iter().map(AsRef::as_ref).find(there) else { return Ok(()) };
    if manifest(directory)["program"] == "crfe-tui" {
        return Err(Error::resume("this directory holds the tables of a run without its journal")
            .file(directory)
            .remedy("choose another --out, or start anew with crfe-tui run --force"));
    }
    Err(Error::resume(format!("this directory holds a {name} that crfe-tui did not write"))
        .file(directory)
        .remedy("choose another --out, or move the file away"))
}

/// Whether a file begins as our scripts for a cluster do.
pub fn is_our_script(path: &Path) -> bool {
    read_start(path, SCRIPT_HEAD.len() as u64).is_ok_and(|head| head == SCRIPT_HEAD)
}

fn is_timing(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with("timing-") && name.ends_with(".jsonl"))
}

fn lock_name(shard: Shard) -> String {
    format!(".lock-{}-{}", shard.in_file_name(), host())
}

/// Takes the lock; `None` on a disk that has none.
fn lock(directory: &Directory, shard: Shard) -> Result<Option<File>> {
    let name = lock_name(shard);
    let path = directory.path().join(&name);
    let mut file = directory.open_lock(&name).map_err(|error| failed(&path, &error))?;
    let mut holder = String::new();
    // It names the process that holds it or held it last; anything else is not ours, and is not
    // written over.
    let read = Read::by_ref(&mut file).take(LONGEST_LOCK).read_to_string(&mut holder);
    if read.is_err() || !holder.trim().bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Error::resume("this is not a lock of crfe-tui")
            .file(path)
            .remedy("move it away"));
    }
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let holder = holder.trim();
            let who = if holder.is_empty() {
                "another process".into()
            } else {
                format!("process {holder}")
            };
            let what = if shard.is_whole() {
                "this run".into()
            } else {
                format!("shard {shard} of this run")
            };
            return Err(Error::resume(format!("{who} on this host is writing {what}"))
                .file(directory.path())
                .remedy("wait for it, end it, or choose another --out"));
        }
        Err(TryLockError::Error(_)) => return Ok(None),
    }
    // Only to be more helpful to a second process.
    let _ = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(Some(file))
}

fn is_locked(path: &Path) -> bool {
    open_regular(path)
        .is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Whether a process on this host is writing a shard; `None` if this cannot be known.
pub(super) fn is_being_written(directory: &Path, shard: Shard, on: &str) -> Option<bool> {
    let path = directory.join(lock_name(shard));
    (on == host() && path.exists()).then(|| is_locked(&path))
}

fn files(directory: &Path, start: &str, end: &str) -> Result<Vec<PathBuf>> {
    let unreadable = |error: std::io::Error| {
        Error::data(format!("cannot read the directory: {error}")).file(directory)
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(start) && name.ends_with(end))
        {
            paths.push(entry.path());
        }
    }
    Ok(paths)
}

/// The name of this machine, fit for the name of a file.
pub fn host() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok())
        .unwrap_or_default();
    let plain: String =
        name.trim().chars().filter(|c| c.is_ascii_alphanumeric() || "-._".contains(*c)).collect();
    if plain.is_empty() { "host".into() } else { plain }
}

/// A journal being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    whole: u64,
    buffer: Vec<u8>,
    info: Arc<RunInfo>,
    synced: Instant,
    timing: Timing,
}

impl Journal {
    fn begin(&mut self, generation: u64) -> Result<()> {
        self.buffer.clear();
        format::write_start(&self.info, generation, &mut self.buffer)
            .and_then(|()| self.write(true))
            .map_err(|error| self.torn(&error))
    }

    /// Appends one event. The start of the run is its first line already, and what only concerns a
    /// screen is not written.
    pub fn append(&mut self, event: &RunEvent) -> Result<()> {
        let ends = matches!(
            event.kind,
            EventKind::TaskFinished { .. } | EventKind::TaskFailed { .. } | EventKind::RunFinished
        );
        self.buffer.clear();
        format::write(event, &self.info, &mut self.buffer)
            .and_then(|()| self.write(ends))
            .map_err(|error| self.torn(&error))?;
        self.timing.note(event)
    }

    fn write(&mut self, sync: bool) -> std::io::Result<()> {
        self.file.write_all(&self.buffer)?;
        self.whole += self.buffer.len() as u64;
        if sync || self.synced.elapsed() > SYNC_EVERY {
            self.file.sync_data()?;
            self.synced = Instant::now();
            still_there(&self.file)?;
        }
        Ok(())
    }

    /// A reader would cut the torn line; if it can be cut here, so much the better.
    fn torn(&self, error: &std::io::Error) -> Error {
        let _ = self.file.set_len(self.whole);
        failed(&self.path, error)
    }

    /// Writes to the disk itself.
    pub fn sync(&mut self) -> Result<()> {
        self.synced = Instant::now();
        self.file.sync_data().map_err(|error| failed(&self.path, &error))
    }
}

/// A file that was deleted can still be written, but nobody will ever read it.
fn still_there(file: &File) -> std::io::Result<()> {
    let gone =
        || std::io::Error::new(std::io::ErrorKind::NotFound, "it was deleted during the run");
    if file.metadata()?.nlink() == 0 { Err(gone()) } else { Ok(()) }
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::output(format!("cannot write: {error}")).file(path).remedy(
        "free some space or choose a writable directory; the same command then resumes from here",
    )
}

/// Who wrote a journal: the first line of a timing file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JournalAuthor {
    /// The machine.
    pub host: String,
    /// The process.
    pub pid: u32,
    pub shard: String,
    /// Seconds since 1970.
    pub started: u64,
}

impl JournalAuthor {
    /// Who wrote the journal with this unique name, if it is known.
    pub(super) fn of(directory: &Path, unique: &str) -> Option<Self> {
        let file = open_regular(&directory.join(format!("timing-{unique}.jsonl"))).ok()?;
        let mut text = String::new();
        file.take(4096).read_to_string(&mut text).ok()?;
        let mut writer: Self = serde_json::from_str(text.split_once('\n')?.0).ok()?;
        writer.host = crate::error::printable(&writer.host);
        Some(writer)
    }
}

/// Times and hosts, apart from what is computed.
#[derive(Debug)]
struct Timing {
    path: PathBuf,
    file: File,
    began: HashMap<TaskId, Instant>,
}

impl Timing {
    fn create(directory: &Directory, unique: &str, shard: Shard) -> Result<Self> {
        let name = format!("timing-{unique}.jsonl");
        let path = directory.path().join(&name);
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let writer = JournalAuthor {
            host: host(),
            pid: std::process::id(),
            shard: shard.to_string(),
            started,
        };
        let file = directory.create_new(&name).map_err(|error| failed(&path, &error))?;
        let mut timing = Self { path, file, began: HashMap::new() };
        timing.write(&serde_json::json!(writer))?;
        Ok(timing)
    }

    fn note(&mut self, event: &RunEvent) -> Result<()> {
        let Some(task) = event.task else { return Ok(()) };
        match event.kind {
            EventKind::TaskStarted(_) => {
                self.began.insert(task, Instant::now());
                Ok(())
            }
            EventKind::TaskFinished { .. } | EventKind::TaskFailed { .. } => {
                let seconds = self
                    .began
                    .remove(&task)
                    .map(|began| began.elapsed().as_millis() as f64 / 1000.0);
                self.write(&serde_json::json!({"task": task_name(task), "seconds": seconds}))
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, value: &serde_json::Value) -> Result<()> {
        self.file
            .write_all(format!("{value}\n").as_bytes())
            .map_err(|error| failed(&self.path, &error))
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
    let before = RunOptions::from(old.spec.clone());
    let after = RunOptions::from(new.spec.clone());
    words.extend(OPTIONS.iter().filter_map(|option| difference(option, &before, &after)));
    if words.is_empty() && old.units != new.units {
        words.push("the features or their groups differ".to_owned());
    }
    if words.is_empty() {
        words.push("another version of the program made it".to_owned());
    }
    words.join("; ")
}

/// How an option differs between two runs, as it is typed; nothing if steps do not depend on it.
fn difference(option: &RunOption, old: &RunOptions, new: &RunOptions) -> Option<String> {
    let (before, after) = (option.text(old), option.text(new));
    if before == after {
        return None;
    }
    // An option cannot be taken without a value, but at least one of the two has one.
    let (mut changed, from, to) = match option.words(new) {
        words if words.is_empty() => (new.clone(), new, option.words(old)),
        words => (old.clone(), old, words),
    };
    option.take_words(&mut changed, &to).ok()?;
    let name = option.name;
    (changed.determining() != from.determining()).then(|| match (before.as_str(), after.as_str()) {
        ("", "true") => format!("--{name} is on now"),
        ("true", "") => format!("--{name} is off now"),
        ("", after) => format!("{name} was not set, is now {after}"),
        (before, "") => format!("{name} was {before}, is not set now"),
        (before, after) => format!("{name} was {before}, is now {after}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::svm::Estimator;

    fn info(change: impl FnOnce(&mut RunOptions)) -> RunInfo {
        let mut options = RunOptions::default();
        options.split.splits = 1;
        change(&mut options);
        let data = Dataset::load(Path::new("data/heart.csv"), &options.schema, |_, _| {}).unwrap();
        (*Plan::new(options.check().unwrap(), data).unwrap().info).clone()
    }

    #[test]
    fn runs_differ_in_options_as_they_are_typed() {
        let plain = info(|_| {});
        let rbf = || info(|options| options.estimator = Estimator::Rbf);
        let splines = info(|options| options.estimator = "rcs:4".parse().unwrap());
        assert_eq!(differences(&rbf(), &plain), "estimator was rbf, is now linear");
        assert_eq!(differences(&rbf(), &splines), "estimator was rbf, is now rcs:4");
        let filtered = info(|options| {
            (options.estimator, options.gamma) = (Estimator::Rbf, "0.1".parse().unwrap());
            options.prefilter = Some(4);
        });
        assert_eq!(
            differences(&rbf(), &filtered),
            "estimator was rbf, is now rbf:0.1; prefilter was not set, is now 4"
        );
        assert_eq!(
            differences(&filtered, &rbf()),
            "estimator was rbf:0.1, is now rbf; prefilter was 4, is not set now"
        );
        let mondrian = info(|options| options.mondrian = true);
        assert_eq!(differences(&plain, &mondrian), "--mondrian is on now");
        assert_eq!(differences(&mondrian, &plain), "--mondrian is off now");
        // What is run after the paths, and which rule reads them, is no difference.
        let more = info(|options| {
            (options.validate, options.stop) = (None, crate::select::StopRule::Knee);
            options.lambda = 0.25;
        });
        assert_eq!(differences(&plain, &more), "lambda was 0.5, is now 0.25");
    }
}
