//! A run as a file: claim a directory, append and flush each event. Reading is `records.rs`, lines are `line.rs`.
//!
//! `RUN/journal-<i>of<N>-<unique>.jsonl`, one per process, never edited: what a process that died left unfinished is
//! superseded by a later journal. A large one is packed (`packed.rs`) by its own process at its end.
//! `RUN/timing-<unique>.jsonl` holds times and hosts, and nothing else does.
//! `RUN/.lock-<i>of<N>-<host>` is locked by the process that writes shard i on that host; the kernel frees it whenever the
//! process ends. It is there to catch a second start by mistake: correctness needs no locks.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::line::{self, task_name};
use super::packed::{pack, packed_name};
use super::records::Records;
use super::{EventKind, Plan, REPORT_JOB, RunEvent, RunInfo, SUBMITTED, Shard, TaskId, journals};
use crate::error::{Error, Result};

/// Journals of more bytes are packed when they are done.
const LARGE: u64 = 16 << 20;
/// Written at least this often to the disk itself.
const SYNC_EVERY: Duration = Duration::from_secs(1);

/// A directory that this process may write a shard of a run into.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
    shard: Shard,
    /// The journals that this process began.
    begun: Mutex<Vec<PathBuf>>,
    /// Held until dropped.
    _lock: Option<File>,
}

impl RunDirectory {
    /// Makes the directory and claims a shard of it; refused while another process on this host writes the same shard.
    pub fn claim(path: &Path, shard: Shard) -> Result<Self> {
        std::fs::create_dir_all(path).map_err(|error| {
            Error::output(format!("the directory cannot be made: {error}"))
                .file(path)
                .remedy("choose another with --out")
        })?;
        let lock = lock(path, shard)?;
        Ok(Self { path: path.to_path_buf(), shard, begun: Mutex::default(), _lock: lock })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Deletes the files of the run that the directory holds, and nothing else; `outputs` are the names of other files of
    /// ours. Directories that are left empty go too.
    pub fn start_anew(&self, outputs: &[impl AsRef<str>]) -> Result<()> {
        for path in files(&self.path, ".lock-", "")? {
            if !path.ends_with(lock_name(self.shard)) && is_locked(&path) {
                return Err(Error::resume("another shard of the run in this directory is being written")
                    .file(&self.path)
                    .remedy("end it first, or choose another --out"));
            }
        }
        let outputs = outputs.iter().map(AsRef::as_ref).chain([SUBMITTED, REPORT_JOB]);
        let outputs = outputs.map(|name| self.path.join(name)).filter(|path| path.is_file());
        let timing = files(&self.path, "timing-", ".jsonl")?;
        let half_packed = files(&self.path, "journal-", ".jsonl.gz.part")?;
        let plain_or_packed = |path: PathBuf| [packed_name(&path), path];
        let journals =
            journals(&self.path)?.into_iter().flat_map(plain_or_packed).filter(|path| path.exists());
        for path in journals.chain(half_packed).chain(timing).chain(outputs) {
            std::fs::remove_file(&path)
                .map_err(|error| Error::output(format!("cannot be deleted: {error}")).file(&path))?;
            if let Some(parent) = path.parent().filter(|&parent| parent != self.path) {
                // Only if it is empty; what else is in it is not ours.
                let _ = std::fs::remove_dir(parent);
            }
        }
        Ok(())
    }

    /// What the directory already holds of this run; refused if it is another run, or not a run at all.
    pub fn resume(&self, plan: &Plan, outputs: &[impl AsRef<str>]) -> Result<Option<Records>> {
        self.look(plan, outputs).inspect_err(|_| {
            // A directory that is not ours keeps nothing of us; that the lock may stay is not worth a second error.
            let _ = std::fs::remove_file(self.path.join(lock_name(self.shard)));
        })
    }

    fn look(&self, plan: &Plan, outputs: &[impl AsRef<str>]) -> Result<Option<Records>> {
        let found = Records::open(&self.path)?;
        if let Some(records) = &found {
            if records.info().fingerprint != plan.info.fingerprint {
                return Err(Error::resume(format!(
                    "this directory holds another run: {}",
                    differences(records.info(), &plan.info)
                ))
                .file(&self.path)
                .remedy("choose another --out, or start anew with crfe-tui run --force"));
            }
        } else if let Some(name) =
            outputs.iter().map(AsRef::as_ref).find(|name| self.path.join(name).exists())
        {
            return Err(Error::resume(format!("this directory holds a {name} that is not of a run of ours"))
                .file(&self.path)
                .remedy("choose another --out, or overwrite it with crfe-tui run --force"));
        }
        Ok(found)
    }

    /// Packs the large journals of this process, which it writes no more; one that cannot be packed stays as it is.
    pub fn pack(&self) {
        for path in self.begun.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            if std::fs::metadata(&path).is_ok_and(|data| data.len() > LARGE) {
                let _ = pack(&path);
            }
        }
    }

    /// Begins a journal.
    pub fn journal(&self) -> Result<Journal> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        // Sorts by time; the process makes it unique.
        let unique = format!("{:016x}-{:x}", now.as_nanos(), std::process::id());
        let path = self.path.join(format!("journal-{}-{unique}.jsonl", self.shard.in_file_name()));
        let file = new_file(&path).map_err(|error| failed(&path, &error))?;
        let timing = Timing::create(&self.path, &unique, self.shard)?;
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).push(path.clone());
        Ok(Journal { path, file, whole: 0, buffer: Vec::new(), info: None, synced: Instant::now(), timing })
    }
}

fn new_file(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn lock_name(shard: Shard) -> String {
    format!(".lock-{}-{}", shard.in_file_name(), host())
}

/// Takes the lock; `None` on a disk that has none.
fn lock(directory: &Path, shard: Shard) -> Result<Option<File>> {
    let path = directory.join(lock_name(shard));
    // Not truncated: it may name the process that holds it.
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
    let mut file = opened.map_err(|error| failed(&path, &error))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Only to be more helpful.
            let _ = Read::by_ref(&mut file).take(20).read_to_string(&mut holder);
            let holder = holder.trim();
            let who = if holder.is_empty() { "another process".into() } else { format!("process {holder}") };
            let what =
                if shard.is_whole() { "this run".into() } else { format!("shard {shard} of this run") };
            return Err(Error::resume(format!("{who} on this host is writing {what}"))
                .file(directory)
                .remedy("wait for it, end it, or choose another --out"));
        }
        Err(TryLockError::Error(_)) => return Ok(None),
    }
    // Only to be more helpful to a second process.
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(Some(file))
}

fn is_locked(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}

/// Whether a process on this host is writing a shard; `None` if this cannot be known.
pub(super) fn is_being_written(directory: &Path, shard: Shard, on: &str) -> Option<bool> {
    let path = directory.join(lock_name(shard));
    (on == host() && path.exists()).then(|| is_locked(&path))
}

fn files(directory: &Path, start: &str, end: &str) -> Result<Vec<PathBuf>> {
    let unreadable =
        |error: std::io::Error| Error::data(format!("cannot read the directory: {error}")).file(directory);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if entry.file_name().to_str().is_some_and(|name| name.starts_with(start) && name.ends_with(end)) {
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

/// Where the dashboard keeps a run that has no --out: `crfe-tui/<fingerprint>` in the XDG state directory.
pub fn state_directory(info: &RunInfo) -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local").join("state"));
    let base = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(home)?;
    Some(base.join("crfe-tui").join(info.fingerprint.get(..16)?))
}

/// A journal being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    whole: u64,
    buffer: Vec<u8>,
    info: Option<Arc<RunInfo>>,
    synced: Instant,
    timing: Timing,
}

impl Journal {
    /// Appends one event, the start of the run first. What only concerns a screen is not written.
    pub fn append(&mut self, event: &RunEvent) -> Result<()> {
        if let EventKind::RunStarted(info) = &event.kind {
            if self.info.is_some() {
                return Ok(());
            }
            self.info = Some(info.clone());
        }
        let Some(info) = &self.info else {
            return Err(Error::internal("a journal begins with the start of its run"));
        };
        self.buffer.clear();
        let written = line::write(event, info, &mut self.buffer).and_then(|()| {
            self.file.write_all(&self.buffer)?;
            self.whole += self.buffer.len() as u64;
            let ends = matches!(
                event.kind,
                EventKind::RunStarted(_)
                    | EventKind::TaskFinished { .. }
                    | EventKind::TaskFailed { .. }
                    | EventKind::RunFinished
            );
            if ends || self.synced.elapsed() > SYNC_EVERY {
                self.file.sync_data()?;
                self.synced = Instant::now();
                still_there(&self.file)?;
            }
            Ok(())
        });
        written.map_err(|error| {
            // A reader would cut the torn line; if it can be cut here, so much the better.
            let _ = self.file.set_len(self.whole);
            failed(&self.path, &error)
        })?;
        self.timing.note(event)
    }

    /// Writes to the disk itself.
    pub fn sync(&mut self) -> Result<()> {
        self.synced = Instant::now();
        self.file.sync_data().map_err(|error| failed(&self.path, &error))
    }
}

/// A file that was deleted can still be written, but nobody will ever read it.
fn still_there(file: &File) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt;
    let gone = || std::io::Error::new(std::io::ErrorKind::NotFound, "it was deleted while the run went on");
    if file.metadata()?.nlink() == 0 { Err(gone()) } else { Ok(()) }
}

fn failed(path: &Path, error: &std::io::Error) -> Error {
    Error::output(format!("cannot write: {error}")).file(path).remedy(
        "make room or choose a directory that can be written; the same command then goes on from here",
    )
}

/// Who wrote a journal: the first line of a timing file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Writer {
    /// The machine.
    pub host: String,
    /// The process.
    pub pid: u32,
    /// Its shard.
    pub shard: String,
    /// Seconds since 1970.
    pub started: u64,
}

impl Writer {
    /// Who wrote the journal with this unique name, if it is known.
    pub(super) fn of(directory: &Path, unique: &str) -> Option<Self> {
        let file = File::open(directory.join(format!("timing-{unique}.jsonl"))).ok()?;
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
    fn create(directory: &Path, unique: &str, shard: Shard) -> Result<Self> {
        let path = directory.join(format!("timing-{unique}.jsonl"));
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let writer = Writer { host: host(), pid: std::process::id(), shard: shard.to_string(), started };
        let file = new_file(&path).map_err(|error| failed(&path, &error))?;
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
                let seconds =
                    self.began.remove(&task).map(|began| began.elapsed().as_millis() as f64 / 1000.0);
                self.write(&serde_json::json!({"task": task_name(task), "seconds": seconds}))
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self, value: &serde_json::Value) -> Result<()> {
        self.file.write_all(format!("{value}\n").as_bytes()).map_err(|error| failed(&self.path, &error))
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
