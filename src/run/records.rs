//! The journals of a directory, read as one run: which tasks are finished where, and their events. Writes nothing.
//!
//! A file is first indexed (which task's lines begin and end where), which takes a look at the beginning of each line, and
//! tasks are then read one by one, in any order. Whatever is read is checked; a copy of a task that cannot be true counts as
//! unfinished, and is said.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::check;
use super::line::{self, About, Line};
use super::packed::{Unpacked, packed_name};
use super::{EventKind, FORMAT, RunEvent, RunInfo, RunOptions, RunSpec, Shard, TaskId, differences};
use crate::error::{Error, Result};
use crate::select::{BetaRule, StopRule};

/// Characters of a failure that are kept.
const LONGEST_MESSAGE: usize = 1000;

/// The whole lines of a file from an offset on; an unfinished last line is not one.
pub(super) struct Lines {
    file: Box<dyn BufRead>,
    /// After the last whole line.
    pub(super) offset: u64,
    /// The last line that was read; empty if it was too long to keep.
    pub(super) line: Vec<u8>,
}

impl Lines {
    pub(super) fn open(path: &Path, offset: u64) -> io::Result<Self> {
        let file: Box<dyn BufRead> = match File::open(path) {
            Ok(mut file) => {
                file.seek(SeekFrom::Start(offset))?;
                Box::new(BufReader::with_capacity(1 << 18, file))
            }
            // Offsets are the same when it has been packed, perhaps since it was looked at last.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Box::new(Unpacked::open(&packed_name(path), offset)?)
            }
            Err(error) => return Err(error),
        };
        Ok(Self { file, offset, line: Vec::new() })
    }

    /// Reads a line, and says where it began.
    pub(super) fn next(&mut self) -> io::Result<Option<u64>> {
        let longest = if self.offset == 0 { line::LONGEST_START } else { line::LONGEST_LINE };
        self.line.clear();
        let mut read = Read::by_ref(&mut self.file).take(longest).read_until(b'\n', &mut self.line)? as u64;
        if self.line.last() != Some(&b'\n') {
            if read < longest {
                return Ok(None);
            }
            self.line = Vec::new();
            match self.skip()? {
                Some(skipped) => read += skipped,
                None => return Ok(None),
            }
        }
        let at = self.offset;
        self.offset += read;
        Ok(Some(at))
    }

    /// Passes over the rest of a line that is too long.
    fn skip(&mut self) -> io::Result<Option<u64>> {
        let mut skipped = 0;
        loop {
            let bytes = self.file.fill_buf()?;
            if bytes.is_empty() {
                return Ok(None);
            }
            let end = bytes.iter().position(|&byte| byte == b'\n');
            let used = end.map_or(bytes.len(), |end| end + 1);
            self.file.consume(used);
            skipped += used as u64;
            if end.is_some() {
                return Ok(Some(skipped));
            }
        }
    }
}

/// A finished path in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copy {
    start: u64,
    end: u64,
}

/// What a line means to someone who keeps an index.
#[derive(Debug)]
pub(super) enum Marker {
    Start(TaskId),
    Step(TaskId),
    End(TaskId),
    Failed(TaskId),
    Nothing,
}

/// One journal, as far as it has been looked at.
#[derive(Debug)]
pub(super) struct JournalFile {
    pub(super) path: PathBuf,
    pub(super) shard: Shard,
    pub(super) unique: String,
    pub(super) info: Arc<RunInfo>,
    /// After the last whole line that was looked at.
    pub(super) offset: u64,
    pub(super) finished: BTreeMap<TaskId, Copy>,
    /// Tasks under way, and where they begin.
    pub(super) open: BTreeMap<TaskId, u64>,
    pub(super) failed: BTreeMap<TaskId, String>,
    /// All tasks of its process have ended.
    pub(super) ended: bool,
    /// Another run's lines begin: nothing more is read.
    foreign: bool,
    garbage: usize,
}

impl JournalFile {
    /// Takes note of a line.
    pub(super) fn note(&mut self, at: u64, next: u64, bytes: &[u8]) -> Marker {
        self.offset = next;
        if self.foreign {
            return Marker::Nothing;
        }
        match Line::new(bytes) {
            Line::Task(task, bytes) if task.split < self.info.splits => self.note_task(task, at, bytes),
            Line::Task(..) | Line::Garbage => self.garbage(),
            Line::Finished => {
                self.ended = true;
                Marker::Nothing
            }
            Line::Run => {
                let same =
                    line::read_run_line(bytes).is_ok_and(|info| info.fingerprint == self.info.fingerprint);
                self.foreign = !same;
                Marker::Nothing
            }
        }
    }

    fn note_task(&mut self, task: TaskId, at: u64, bytes: &[u8]) -> Marker {
        match About::new(bytes) {
            About::Start => {
                self.open.insert(task, at);
                self.failed.remove(&task);
                Marker::Start(task)
            }
            About::Step if self.open.contains_key(&task) => Marker::Step(task),
            About::End if self.open.contains_key(&task) => {
                let start = self.open.remove(&task).unwrap_or(at);
                self.finished.entry(task).or_insert(Copy { start, end: self.offset });
                Marker::End(task)
            }
            About::Failed => {
                let Ok(failure) = serde_json::from_slice::<line::Failure>(bytes) else {
                    return self.garbage();
                };
                self.open.remove(&task);
                self.failed.insert(task, failure.failed.chars().take(LONGEST_MESSAGE).collect());
                Marker::Failed(task)
            }
            _ => self.garbage(),
        }
    }

    fn garbage(&mut self) -> Marker {
        self.garbage += 1;
        Marker::Nothing
    }

    /// Looks at all whole lines that have come since.
    fn index(&mut self) -> io::Result<()> {
        let mut lines = Lines::open(&self.path, self.offset)?;
        while let Some(at) = lines.next()? {
            self.note(at, lines.offset, &lines.line);
        }
        Ok(())
    }

    /// What there is to say of lines that were passed over.
    fn notes(&self) -> Vec<String> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let mut notes = Vec::new();
        if self.garbage > 0 {
            notes.push(format!("{name}: {} lines were not understood and left out", self.garbage));
        }
        if self.foreign {
            notes.push(format!("{name}: another run's lines begin in it; they were left out"));
        }
        notes
    }

    /// The events of a task between two offsets, checked; why not, if they cannot be true.
    pub(super) fn read(
        &self,
        task: TaskId,
        (start, end): (u64, u64),
        rule: BetaRule,
    ) -> io::Result<std::result::Result<Retold, &'static str>> {
        let mut lines = Lines::open(&self.path, start)?;
        let mut retold = None;
        while lines.offset < end
            && let Some(at) = lines.next()?
        {
            let Line::Task(of, bytes) = Line::new(&lines.line) else { continue };
            if of != task {
                continue;
            }
            let outcome = match &mut retold {
                None if at == start => {
                    Retold::begin(&self.info, rule, bytes).map(|begun| retold = Some(begun))
                }
                None => return Ok(Err("its beginning is gone")),
                Some(retold) => retold.line(bytes),
            };
            if let Err(fault) = outcome {
                return Ok(Err(fault));
            }
        }
        Ok(retold.ok_or("its beginning is gone"))
    }

    /// A finished task, whole.
    pub(super) fn read_finished(
        &self,
        task: TaskId,
        copy: Copy,
        rule: BetaRule,
    ) -> io::Result<std::result::Result<Vec<EventKind>, &'static str>> {
        Ok(self.read(task, (copy.start, copy.end), rule)?.and_then(Retold::finished))
    }
}

/// A task's lines turned into events, one after the other.
#[derive(Debug)]
pub(super) struct Retold {
    info: Arc<RunInfo>,
    /// None once it has ended.
    path: Option<check::Path>,
    /// Mean β so far, when the stopping statistic must be computed for another rule than the recorded one.
    means: Option<(BetaRule, Vec<f64>)>,
    pub(super) events: Vec<EventKind>,
}

impl Retold {
    pub(super) fn begin(
        info: &Arc<RunInfo>,
        rule: BetaRule,
        bytes: &[u8],
    ) -> std::result::Result<Self, &'static str> {
        let started: line::Started =
            serde_json::from_slice(bytes).map_err(|_| "its first line is not understood")?;
        if !started.is_of(info) {
            return Err("it is of another run");
        }
        let path = check::Path::new(info, started.start)?;
        let means = (rule != info.spec.beta_rule && !info.spec.early).then(|| (rule, Vec::new()));
        let events = vec![EventKind::TaskStarted(path.parts().clone())];
        Ok(Self { info: info.clone(), path: Some(path), means, events })
    }

    pub(super) fn line(&mut self, bytes: &[u8]) -> std::result::Result<(), &'static str> {
        match About::new(bytes) {
            About::Step => {
                let mut step =
                    line::read_step(bytes, self.info.classes.len()).ok_or("a step is not understood")?;
                self.path.as_mut().ok_or("it goes on after its end")?.step(&mut step)?;
                if let Some((rule, means)) = &mut self.means {
                    means.push(step.beta_mean);
                    // Tested before each removal, so not at the last model.
                    let tested = (!step.removed.is_empty()).then(|| rule.test(means, self.info.units.len()));
                    step.stop = tested.flatten();
                }
                self.events.push(EventKind::Step(step.into()));
                Ok(())
            }
            About::End => {
                let ended: line::Ended =
                    serde_json::from_slice(bytes).map_err(|_| "its end is not understood")?;
                self.path.take().ok_or("it ends twice")?.end(&ended)?;
                let line::Ended { reason, rest, cv } = ended;
                self.events.push(EventKind::TaskFinished { reason, rest, cv_size: cv });
                Ok(())
            }
            _ => Err("a line is not understood"),
        }
    }

    fn finished(self) -> std::result::Result<Vec<EventKind>, &'static str> {
        if self.path.is_none() { Ok(self.events) } else { Err("its end is gone") }
    }
}

/// The journals of a directory.
#[derive(Debug)]
pub struct Records {
    pub(super) directory: PathBuf,
    info: Arc<RunInfo>,
    pub(super) files: Vec<JournalFile>,
    notes: Vec<String>,
    /// First lines that were parsed: processes of one run begin with the same.
    starts: Vec<(Digest, Arc<RunInfo>)>,
    /// Files that have no whole first line yet, or are not of this run.
    refused: Vec<PathBuf>,
}

impl Records {
    /// Indexes all journals of a directory; `None` if there are none, or none got beyond its first line. Another run's
    /// journal among them is refused.
    pub fn open(directory: &Path) -> Result<Option<Self>> {
        let mut records: Option<Self> = None;
        for path in journals(directory)? {
            match &mut records {
                None => records = Self::first(directory, path)?,
                Some(records) => {
                    records.add(path)?;
                }
            }
        }
        if let Some(records) = &mut records {
            for file in &mut records.files {
                file.index().map_err(|error| unreadable(&file.path, &error))?;
            }
        }
        Ok(records)
    }

    fn first(directory: &Path, path: PathBuf) -> Result<Option<Self>> {
        let Some((info, offset, digest)) = read_start(&path, &[])? else { return Ok(None) };
        let mut records = Self {
            directory: directory.to_path_buf(),
            info: info.clone(),
            files: Vec::new(),
            notes: Vec::new(),
            starts: digest.map(|digest| (digest, info.clone())).into_iter().collect(),
            refused: Vec::new(),
        };
        records.push(path, info, offset);
        Ok(Some(records))
    }

    /// Adds a journal, not yet indexed. False if it has no whole first line yet.
    fn add(&mut self, path: PathBuf) -> Result<bool> {
        let Some((info, offset, digest)) = read_start(&path, &self.starts)? else { return Ok(false) };
        if info.fingerprint != self.info.fingerprint {
            return Err(Error::resume(format!(
                "this journal is of another run than the others here: {}",
                differences(&self.info, &info)
            ))
            .file(path)
            .remedy("move it to a directory of its own"));
        }
        if let Some(digest) = digest {
            self.starts.push((digest, info.clone()));
        }
        self.push(path, info, offset);
        Ok(true)
    }

    fn push(&mut self, path: PathBuf, info: Arc<RunInfo>, offset: u64) {
        let (shard, unique) = name_parts(&path).unwrap_or((Shard::WHOLE, String::new()));
        self.files.push(JournalFile {
            path,
            shard,
            unique,
            info,
            offset,
            finished: BTreeMap::new(),
            open: BTreeMap::new(),
            failed: BTreeMap::new(),
            ended: false,
            foreign: false,
            garbage: 0,
        });
        self.info = merged(self.files.iter().map(|file| (&file.unique, &file.info)));
    }

    /// Journals that have come since; a journal that cannot be used is said once. Returns whether the run has grown.
    pub(super) fn look_for_more(&mut self) -> Result<bool> {
        let before = self.info.clone();
        for path in journals(&self.directory)? {
            let known = self.files.iter().any(|file| file.path == path) || self.refused.contains(&path);
            if !known && let Err(error) = self.add(path.clone()) {
                self.notes.push(error.to_string());
                self.refused.push(path);
            }
        }
        Ok(before != self.info)
    }

    /// What the run is: the settings of its last start, with the splits and methods of all.
    pub fn info(&self) -> &Arc<RunInfo> {
        &self.info
    }

    /// What there is to say about the files, in sentences.
    pub fn notes(&self) -> Vec<String> {
        self.notes.iter().cloned().chain(self.files.iter().flat_map(JournalFile::notes)).collect()
    }

    pub(super) fn say(&mut self, file: usize, task: TaskId, fault: &str) {
        let name = self.files[file].path.file_name().unwrap_or_default().to_string_lossy();
        self.notes.push(format!("{name}: {task} is left out: {fault}"));
    }

    /// Tasks that have an end in some journal, split by split.
    pub fn finished(&self) -> Vec<TaskId> {
        let mut tasks: Vec<TaskId> =
            self.files.iter().flat_map(|file| file.finished.keys().copied()).collect();
        tasks.sort_unstable_by_key(|task| (task.split, task.method));
        tasks.dedup();
        tasks
    }

    /// Tasks that failed and are finished nowhere, with the last reason.
    pub fn failed(&self) -> BTreeMap<TaskId, String> {
        let mut files: Vec<&JournalFile> = self.files.iter().collect();
        files.sort_by(|a, b| a.unique.cmp(&b.unique));
        let mut failed = BTreeMap::new();
        for file in &files {
            failed.extend(file.failed.iter().map(|(&task, why)| (task, why.clone())));
        }
        failed.retain(|task, _| !files.iter().any(|file| file.finished.contains_key(task)));
        failed
    }

    /// The events of a finished task; `None` if no copy of it can be used. The first copy that can be used wins.
    pub fn read(&mut self, task: TaskId, wanted: &RunSpec) -> Result<Option<Vec<EventKind>>> {
        for index in 0..self.files.len() {
            let file = &self.files[index];
            let Some(&copy) = file.finished.get(&task) else { continue };
            let read = file.read_finished(task, copy, wanted.beta_rule);
            match read.map_err(|error| unreadable(&file.path, &error))? {
                // Cross-validation was not asked for when this copy was made.
                Ok(events) if wanted.stop == StopRule::Cv && !has_cv(&events) => {}
                Ok(events) => return Ok(Some(events)),
                Err(fault) => {
                    // Passed over from now on, and so redone.
                    self.files[index].finished.remove(&task);
                    self.say(index, task, fault);
                }
            }
        }
        Ok(None)
    }

    /// Tells the start of the run, its finished tasks split by split, and the failures of the others.
    pub fn tell(&mut self, mut sink: impl FnMut(RunEvent)) -> Result<()> {
        let info = self.info.clone();
        let mut seq = 0;
        let mut tell = |task, kind| {
            sink(RunEvent { seq, task, kind });
            seq += 1;
        };
        tell(None, EventKind::RunStarted(info.clone()));
        // A copy made before cross-validation was asked for is better than none.
        let spec = without_cv(&info.spec);
        for task in self.finished() {
            for kind in self.read(task, &spec)?.unwrap_or_default() {
                tell(Some(task), kind);
            }
        }
        for (task, message) in self.failed() {
            tell(Some(task), EventKind::TaskFailed { message });
        }
        Ok(())
    }

    /// How many tasks the run has.
    pub fn tasks(&self) -> usize {
        self.info.splits * self.info.spec.methods.len()
    }
}

/// The same settings, satisfied with tasks that were not cross-validated.
pub(super) fn without_cv(spec: &RunSpec) -> RunSpec {
    let mut options = RunOptions::from(spec.clone());
    if options.stop == StopRule::Cv {
        options.stop = StopRule::Knee;
    }
    options.check().unwrap_or_else(|_| spec.clone())
}

fn has_cv(events: &[EventKind]) -> bool {
    matches!(events.last(), Some(EventKind::TaskFinished { cv_size: Some(_), .. }))
}

/// The settings of the last start, with the splits and methods of all.
fn merged<'a>(infos: impl Iterator<Item = (&'a String, &'a Arc<RunInfo>)>) -> Arc<RunInfo> {
    let all: Vec<_> = infos.collect();
    let (_, last) = all.iter().max_by_key(|(unique, _)| *unique).expect("a run has a journal");
    let splits = all.iter().map(|(_, info)| info.splits).max().unwrap_or(last.splits);
    let mut options = RunOptions::from(last.spec.clone());
    for (_, info) in &all {
        options.methods.extend(&info.spec.methods);
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

/// The journals of a directory by their plain names, also those that are packed, sorted; none if it does not exist.
pub fn journals(directory: &Path) -> Result<Vec<PathBuf>> {
    let unreadable =
        |error: io::Error| Error::data(format!("cannot read the directory: {error}")).file(directory);
    let mut paths = Vec::new();
    match std::fs::read_dir(directory) {
        Ok(entries) => {
            for entry in entries {
                let mut path = entry.map_err(unreadable)?.path();
                if path.extension().is_some_and(|extension| extension == "gz") {
                    path.set_extension("");
                }
                if name_parts(&path).is_some() {
                    paths.push(path);
                }
            }
        }
        // What cannot be a directory holds no journal; who wants to write there is told so then.
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
        Err(error) => return Err(unreadable(error)),
    }
    paths.sort();
    paths.dedup();
    Ok(paths)
}

/// The shard and the unique part of a journal's name.
fn name_parts(path: &Path) -> Option<(Shard, String)> {
    let name = path.file_name()?.to_str()?;
    let (shard, unique) = name.strip_prefix("journal-")?.strip_suffix(".jsonl")?.split_once('-')?;
    Some((Shard::from_file_name(shard)?, unique.to_owned()))
}

type Digest = [u8; 32];
type Start = (Arc<RunInfo>, u64, Option<Digest>);

/// The start of the run that a journal holds, where the next line begins, and the line's hash if it is not among those known.
fn read_start(path: &Path, known: &[(Digest, Arc<RunInfo>)]) -> Result<Option<Start>> {
    let mut lines = Lines::open(path, 0).map_err(|error| unreadable(path, &error))?;
    if lines.next().map_err(|error| unreadable(path, &error))?.is_none() {
        return Ok(None);
    }
    let bytes = std::mem::take(&mut lines.line);
    let digest: Digest = Sha256::digest(&bytes).into();
    if let Some((_, info)) = known.iter().find(|(known, _)| *known == digest) {
        return Ok(Some((info.clone(), lines.offset, None)));
    }
    if let Some(format) = line::format_of(&bytes)
        && format != u64::from(FORMAT)
    {
        let age = if format > u64::from(FORMAT) { "newer" } else { "older" };
        return Err(Error::resume(format!("journal format {format} is {age} than this program's {FORMAT}"))
            .file(path)
            .remedy("use the version of crfe-tui that wrote it"));
    }
    let not_a_start = |why: String| {
        Error::resume(format!("the first line is not the start of a run: {why}"))
            .file(path)
            .line(1)
            .remedy("move this file away")
    };
    let info = line::read_run_line(&bytes).map_err(|error| not_a_start(error.to_string()))?;
    check::run(&info).map_err(|fault| not_a_start(fault.to_owned()))?;
    Ok(Some((Arc::new(info), lines.offset, Some(digest))))
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::data(format!("cannot read: {error}")).file(path)
}
