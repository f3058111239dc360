//! The journals of a directory, read as one run: which tasks are finished where, and their events.
//! Writes nothing.
//!
//! A file is first indexed (where the lines of each task begin and end), which reads only the
//! beginning of each line; tasks are then read one by one, in any order. Everything is checked; a
//! copy of a task that cannot be valid counts as unfinished and is reported.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::format;
use super::journal_file::{JournalFile, JournalLines};
use super::{Shard, differences, validate};
use crate::error::{Error, Result};
use crate::format::refuse_another;
use crate::run::options::OPTIONS;
use crate::run::{
    EventKind, Followup, Remaining, RunEvent, RunInfo, RunOptions, RunSpec, TaskId, Twins,
};
use crate::select::{BetaRule, Chooses, RunSizes};

/// Bytes that are read at once for the line of a fold or a permutation.
const FEW: u64 = 1 << 13;

/// The journals of a directory.
#[derive(Debug)]
pub struct Journals {
    pub(super) directory: PathBuf,
    info: Arc<RunInfo>,
    pub(super) files: Vec<JournalFile>,
    notes: Vec<String>,
    /// Parsed first lines: the processes of one run share theirs.
    starts: Vec<(Digest, Start)>,
    /// Files without a complete first line yet, or of another run.
    refused: Vec<PathBuf>,
}

impl Journals {
    /// Indexes all journals of a directory; `None` if there are none, or none has more than its
    /// first line. A journal of another run among them is refused.
    pub fn open(directory: &Path) -> Result<Option<Self>> {
        Self::open_all(&[directory])
    }

    /// The same for directories that hold parts of one run, as one run.
    pub fn open_all(directories: &[impl AsRef<Path>]) -> Result<Option<Self>> {
        let mut records: Option<Self> = None;
        let mut first: Option<Arc<RunInfo>> = None;
        for directory in directories.iter().map(AsRef::as_ref) {
            let before = records.as_ref().map_or(0, |records| records.files.len());
            for path in journals(directory)? {
                match &mut records {
                    None => records = Self::first(directory, path)?,
                    Some(records) => {
                        records.add(path)?;
                    }
                }
            }
            if let Some(files) = records.as_ref().map(|records| &records.files[before..])
                && !files.is_empty()
            {
                let info = merged(files);
                refuse_other_followups(
                    first.get_or_insert_with(|| Arc::clone(&info)),
                    &info,
                    directory,
                )?;
            }
        }
        if let Some(records) = &mut records {
            for file in &mut records.files {
                file.index().map_err(|error| unreadable(&file.path, &error))?;
            }
        }
        Ok(records)
    }

    /// What was run, from the first line of a journal alone; `None` if there is none.
    pub fn peek(directory: &Path) -> Result<Option<Arc<RunInfo>>> {
        for path in journals(directory)? {
            if let Some(records) = Self::first(directory, path)? {
                return Ok(Some(records.info));
            }
        }
        Ok(None)
    }

    fn first(directory: &Path, path: PathBuf) -> Result<Option<Self>> {
        let Some((start, offset, digest)) = read_start(&path, &[])? else { return Ok(None) };
        let mut records = Self {
            directory: directory.to_path_buf(),
            info: start.info.clone(),
            files: Vec::new(),
            notes: Vec::new(),
            starts: digest.map(|digest| (digest, start.clone())).into_iter().collect(),
            refused: Vec::new(),
        };
        records.push(path, start, offset);
        Ok(Some(records))
    }

    /// Adds a journal without indexing it. False if its first line is not complete yet.
    fn add(&mut self, path: PathBuf) -> Result<bool> {
        let Some((start, offset, digest)) = read_start(&path, &self.starts)? else {
            return Ok(false);
        };
        if start.info.fingerprint != self.info.fingerprint {
            return Err(Error::resume(format!(
                "this journal belongs to another run than the others here: {}",
                differences(&self.info, &start.info)
            ))
            .file(path)
            .remedy("move it to a directory of its own"));
        }
        if let Some(digest) = digest {
            self.starts.push((digest, start.clone()));
        }
        self.push(path, start, offset);
        Ok(true)
    }

    fn push(&mut self, path: PathBuf, start: Start, offset: u64) {
        let (shard, unique) = name_parts(&path).unwrap_or((Shard::WHOLE, String::new()));
        self.files.push(JournalFile {
            path,
            shard,
            unique,
            generation: start.generation,
            info: start.info,
            offset,
            finished: BTreeMap::new(),
            open: BTreeMap::new(),
            failed: BTreeMap::new(),
            followups: BTreeMap::new(),
            twins: Twins::default(),
            ended: false,
            foreign: false,
            garbage: 0,
        });
        self.info = merged(&self.files);
    }

    /// Adds new journals; one that cannot be used is reported once. Returns whether the run has
    /// grown.
    pub(super) fn look_for_more(&mut self) -> Result<bool> {
        let before = self.info.clone();
        for path in journals(&self.directory)? {
            let known =
                self.files.iter().any(|file| file.path == path) || self.refused.contains(&path);
            if !known && let Err(error) = self.add(path.clone()) {
                self.notes.push(error.to_string());
                self.refused.push(path);
            }
        }
        Ok(before != self.info)
    }

    /// The run: the settings of its last start, with the splits and methods of all starts.
    pub fn info(&self) -> &Arc<RunInfo> {
        &self.info
    }

    /// The last start as it was recorded, and its generation.
    pub(super) fn last_start(&self) -> (&Arc<RunInfo>, u64) {
        let last = last(&self.files);
        (&last.info, last.generation)
    }

    /// Notices about the files, as sentences.
    pub fn notes(&self) -> Vec<String> {
        self.notes.iter().cloned().chain(self.files.iter().flat_map(JournalFile::notes)).collect()
    }

    pub(super) fn say(&mut self, file: usize, task: TaskId, fault: &str) {
        let name = self.files[file].path.file_name().unwrap_or_default().to_string_lossy();
        self.notes.push(format!("{name}: {task} is skipped: {fault}"));
    }

    /// Tasks that are finished in some journal, split by split.
    pub fn finished(&self) -> Vec<TaskId> {
        let mut tasks: Vec<TaskId> =
            self.files.iter().flat_map(|file| file.finished.keys().copied()).collect();
        tasks.sort_unstable_by_key(|task| (task.split, task.method));
        tasks.dedup();
        tasks
    }

    /// Tasks that failed and never finished, with the last reason.
    pub fn failed(&self) -> BTreeMap<TaskId, String> {
        let mut files: Vec<&JournalFile> = self.files.iter().collect();
        files.sort_by_key(|file| file.order());
        let mut failed = BTreeMap::new();
        for file in &files {
            failed.extend(file.failed.iter().map(|(&task, why)| (task, why.clone())));
        }
        failed.retain(|task, _| !files.iter().any(|file| file.finished.contains_key(task)));
        failed
    }

    /// The events of a finished task; `None` if no copy of it can be used. The first copy that can
    /// be used wins.
    pub fn read(&mut self, task: TaskId, wanted: Wanted) -> Result<Option<Vec<EventKind>>> {
        for index in 0..self.files.len() {
            let file = &self.files[index];
            let Some(&copy) = file.finished.get(&task) else { continue };
            let read = file.read_finished(task, copy, wanted.beta);
            match read.map_err(|error| unreadable(&file.path, &error))? {
                // This copy was made without the size of the rule.
                Ok(events) if lacks_size(&events, wanted.sized) => {}
                Ok(events) => return Ok(Some(events)),
                Err(fault) => {
                    // Ignored from now on, and so computed again.
                    self.files[index].finished.remove(&task);
                    self.say(index, task, fault);
                }
            }
        }
        Ok(None)
    }

    /// Emits what is recorded of these tasks and what follows them, in this order; returns what is
    /// left. A copy of a task must have the size of the rule if that is wanted; failures count as
    /// left, or are emitted where nothing is computed again.
    pub(super) fn emit_recorded<E: From<Error>>(
        &mut self,
        wanted: Remaining,
        info: &RunInfo,
        is_computed: bool,
        mut emit: impl FnMut(Option<TaskId>, EventKind) -> std::result::Result<(), E>,
    ) -> std::result::Result<Remaining, E> {
        let copy =
            if is_computed { Wanted::to_resume(&info.spec) } else { Wanted::to_see(&info.spec) };
        let mut left = Remaining::default();
        for task in wanted.tasks {
            match self.read(task, copy)? {
                None => left.tasks.push(task),
                Some(events) => events.into_iter().try_for_each(|kind| emit(Some(task), kind))?,
            }
        }
        if !is_computed {
            for (task, message) in self.failed() {
                emit(Some(task), EventKind::TaskFailed { message })?;
            }
        }
        for followup in wanted.followups {
            match self.followup(followup, info)? {
                Some(EventKind::FollowupFailed(..)) if is_computed => left.followups.push(followup),
                Some(kind) => emit(None, kind)?,
                None => left.followups.push(followup),
            }
        }
        if let Some(kind) = self.twins() {
            emit(None, kind)?;
        }
        Ok(left)
    }

    /// Emits the start of the run, its finished tasks split by split, and the failures of the
    /// others.
    pub fn replay(&mut self, mut sink: impl FnMut(RunEvent)) -> Result<()> {
        let info = self.info.clone();
        sink(RunEvent { task: None, kind: EventKind::RunStarted(info.clone()) });
        let wanted = Remaining { tasks: self.finished(), followups: info.followups() };
        self.emit_recorded(wanted, &info, false, |task, kind| {
            sink(RunEvent { task, kind });
            Ok::<(), Error>(())
        })?;
        Ok(())
    }

    /// The twins that were looked for before, if any were.
    fn twins(&self) -> Option<EventKind> {
        let mut all = Twins::default();
        self.files.iter().for_each(|file| all.extend(&file.twins));
        (!all.is_empty()).then(|| EventKind::TwinsFound(all.into()))
    }

    /// The outcome of a fold or permutation under these settings, if there is one.
    pub fn followup(&mut self, followup: Followup, wanted: &RunInfo) -> Result<Option<EventKind>> {
        let key = (followup, followup.fingerprint(wanted));
        for index in 0..self.files.len() {
            let file = &self.files[index];
            let Some(&at) = file.followups.get(&key) else { continue };
            let line = || -> io::Result<Vec<u8>> {
                let mut lines = JournalLines::between(&file.path, at, at + FEW, &file.info)?;
                lines.next()?;
                Ok(lines.line)
            };
            let line = line().map_err(|error| unreadable(&file.path, &error))?;
            match format::read_followup(followup, &line, wanted) {
                Ok(event) => return Ok(Some(event)),
                Err(fault) => {
                    let name =
                        self.files[index].path.file_name().unwrap_or_default().to_string_lossy();
                    self.notes.push(format!("{name}: {followup} is skipped: {fault}"));
                    self.files[index].followups.remove(&key);
                }
            }
        }
        Ok(None)
    }

    /// How many tasks the run has.
    pub fn tasks(&self) -> usize {
        self.info.splits * self.info.spec.methods.len()
    }
}

/// What recorded tasks are read for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// k and ψ of the β rule.
    beta: BetaRule,
    /// How a task's own size is read, where one without it must be computed again: that of a rule
    /// that only the run can apply.
    sized: Option<fn(&RunSizes) -> Option<usize>>,
}

impl Wanted {
    /// To go on computing: every task must have what the settings ask for.
    pub fn to_resume(spec: &RunSpec) -> Self {
        let sized = match spec.stop.entry().map(|entry| &entry.chooses) {
            Some(Chooses::ByRun(choose)) => Some(*choose),
            Some(Chooses::ByPath(_) | Chooses::BySplits) | None => None,
        };
        Self { beta: spec.beta_rule, sized }
    }

    /// To be looked at: a task without the size of the rule is better than none.
    pub fn to_see(spec: &RunSpec) -> Self {
        Self { beta: spec.beta_rule, sized: None }
    }
}

fn lacks_size(events: &[EventKind], sized: Option<fn(&RunSizes) -> Option<usize>>) -> bool {
    match (sized, events.last()) {
        (Some(choose), Some(EventKind::TaskFinished { sizes, .. })) => choose(sizes).is_none(),
        (Some(_), _) => true,
        (None, _) => false,
    }
}

fn last(files: &[JournalFile]) -> &JournalFile {
    files.iter().max_by_key(|file| file.order()).expect("a run has a journal")
}

/// The options on which parts of one run must agree although they change no path: the rule, and
/// what follows the paths.
const AFTER_THE_PATHS: [&str; 4] = ["stop", "by", "validate", "permutations"];

/// Parts of one run in directories of their own must agree on what follows the paths: the settings
/// of one part would otherwise hide the results of another.
fn refuse_other_followups(first: &RunInfo, other: &RunInfo, directory: &Path) -> Result<()> {
    let typed = |value: String| if value.is_empty() { "none".to_owned() } else { value };
    let different = OPTIONS
        .iter()
        .filter(|option| AFTER_THE_PATHS.contains(&option.name))
        .map(|option| {
            (option.name, typed(option.text(&first.spec)), typed(option.text(&other.spec)))
        })
        .filter(|(_, first, other)| first != other)
        .map(|(name, first, other)| format!("--{name} is {first} there and {other} here"));
    let different: Vec<String> = different.collect();
    if different.is_empty() {
        return Ok(());
    }
    Err(Error::resume(format!(
        "this directory holds a run with other settings than the first directory: {}",
        different.join(", ")
    ))
    .file(directory)
    .remedy("report it alone, or run the parts with the same settings"))
}

/// The settings of the last start, with the splits and methods of all starts.
fn merged(files: &[JournalFile]) -> Arc<RunInfo> {
    let last = &last(files).info;
    let splits = files.iter().map(|file| file.info.splits).max().unwrap_or(last.splits);
    let mut options = RunOptions::from(last.spec.clone());
    for file in files {
        options.methods.extend(&file.info.spec.methods);
    }
    if options.split.splits_from.is_none() {
        options.split.splits = splits;
    }
    match options.check() {
        Ok(spec) if splits != last.splits || spec != last.spec => {
            Arc::new(RunInfo { splits, spec, ..RunInfo::clone(last) })
        }
        _ => Arc::clone(last),
    }
}

/// The journals of a directory, sorted; none if the directory does not exist. One that was
/// compressed by hand is refused.
pub fn journals(directory: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |error: io::Error| {
        Error::data(format!("cannot read the directory: {error}")).file(directory)
    };
    let mut paths = Vec::new();
    match std::fs::read_dir(directory) {
        Ok(entries) => {
            for entry in entries {
                let path = entry.map_err(unreadable)?.path();
                if name_parts(&path).is_some() {
                    paths.push(path);
                } else if path.extension().is_some_and(|extension| extension == "gz")
                    && name_parts(&path.with_extension("")).is_some()
                {
                    return Err(Error::data("this journal is compressed")
                        .file(path)
                        .remedy("unpack it with gunzip"));
                }
            }
        }
        // A path that is not a directory holds no journal; writing there fails later with its own
        // message.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
        Err(error) => return Err(unreadable(error)),
    }
    paths.sort();
    Ok(paths)
}

/// The shard and the unique part of a journal's name.
fn name_parts(path: &Path) -> Option<(Shard, String)> {
    let name = path.file_name()?.to_str()?;
    let (shard, unique) = name.strip_prefix("journal-")?.strip_suffix(".jsonl")?.split_once('-')?;
    Some((Shard::from_file_name(shard)?, unique.to_owned()))
}

type Digest = [u8; 32];

/// The first line of a journal.
#[derive(Debug, Clone)]
struct Start {
    generation: u64,
    info: Arc<RunInfo>,
}

/// The start of the run that a journal holds, where the next line begins, and the line's hash if it
/// is not among those known.
fn read_start(
    path: &Path,
    known: &[(Digest, Start)],
) -> Result<Option<(Start, u64, Option<Digest>)>> {
    let mut lines = JournalLines::open(path, 0).map_err(|error| unreadable(path, &error))?;
    if lines.next().map_err(|error| unreadable(path, &error))?.is_none() {
        return Ok(None);
    }
    let bytes = std::mem::take(&mut lines.line);
    let digest: Digest = Sha256::digest(&bytes).into();
    if let Some((_, start)) = known.iter().find(|(known, _)| *known == digest) {
        return Ok(Some((start.clone(), lines.offset, None)));
    }
    if let Some(format) = format::format_of(&bytes) {
        let remedy = "run again with another --out, or start anew with crfe-tui run --force";
        refuse_another("journal", format, remedy).map_err(|error| error.file(path))?;
    }
    let not_a_start = |why: String| {
        Error::resume(format!("the first line is not the start of a run: {why}"))
            .file(path)
            .line(1)
            .remedy("move this file away")
    };
    if !format::is_sound(&bytes) {
        return Err(not_a_start("it does not end in its checksum".to_owned()));
    }
    let format::RunStart { generation, run } =
        format::RunStart::read(&bytes).map_err(|error| not_a_start(error.to_string()))?;
    validate::run(&run).map_err(|fault| not_a_start(fault.to_owned()))?;
    Ok(Some((Start { generation, info: Arc::new(run) }, lines.offset, Some(digest))))
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::data(format!("cannot read: {error}")).file(path)
}
