//! One journal: its complete lines, what they add to an index, and the events of a task read back.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Shard;
use super::format::{self, JournalLine, TaskLineKind};
use super::replay::TaskReplay;
use crate::files::open_regular;
use crate::run::{EventKind, Followup, RunInfo, TaskId, Twins};
use crate::select::BetaRule;

/// Bytes that are read at once.
const BUFFER: usize = 1 << 18;
/// Characters of a failure message that are kept.
const LONGEST_MESSAGE: usize = 1000;

/// The complete lines of a file from an offset on; an unfinished last line is ignored.
pub(super) struct JournalLines {
    file: BufReader<File>,
    /// After the last whole line.
    pub(super) offset: u64,
    /// The last line that was read; empty if it was too long to keep.
    pub(super) line: Vec<u8>,
    /// Longer lines are skipped.
    longest: u64,
}

impl JournalLines {
    pub(super) fn open(path: &Path, offset: u64) -> io::Result<Self> {
        Self::buffered(path, offset, BUFFER)
    }

    fn buffered(path: &Path, offset: u64, bytes: usize) -> io::Result<Self> {
        let mut file = open_regular(path)?;
        file.seek(SeekFrom::Start(offset))?;
        let file = BufReader::with_capacity(bytes, file);
        let longest = if offset == 0 { format::LONGEST_START } else { format::LONGEST_LINE };
        Ok(Self { file, offset, line: Vec::new(), longest })
    }

    /// The same for the lines of a run after the first.
    pub(super) fn of_run(path: &Path, offset: u64, info: &RunInfo) -> io::Result<Self> {
        Ok(Self { longest: format::longest_line(info), ..Self::open(path, offset)? })
    }

    /// The same for the lines up to another offset: no more than those are read.
    pub(super) fn between(path: &Path, start: u64, end: u64, info: &RunInfo) -> io::Result<Self> {
        let bytes = end.saturating_sub(start).clamp(1, BUFFER as u64) as usize;
        Ok(Self { longest: format::longest_line(info), ..Self::buffered(path, start, bytes)? })
    }

    /// Reads a line; returns its offset.
    pub(super) fn next(&mut self) -> io::Result<Option<u64>> {
        let longest = self.longest;
        self.line.clear();
        let mut read =
            Read::by_ref(&mut self.file).take(longest).read_until(b'\n', &mut self.line)? as u64;
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

    /// Skips the rest of a line that is too long.
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
pub(super) struct TaskSpan {
    start: u64,
    end: u64,
}

/// What a line adds to the index.
#[derive(Debug)]
pub(super) enum IndexEntry {
    Start(TaskId),
    Step(TaskId),
    End(TaskId),
    Failed(TaskId),
    Followup(Followup),
    Twins(Twins),
    Nothing,
}

/// One journal, as far as it has been indexed.
#[derive(Debug)]
pub(super) struct JournalFile {
    pub(super) path: PathBuf,
    pub(super) shard: Shard,
    pub(super) unique: String,
    pub(super) generation: u64,
    pub(super) info: Arc<RunInfo>,
    /// The offset after the last indexed line.
    pub(super) offset: u64,
    pub(super) finished: BTreeMap<TaskId, TaskSpan>,
    /// Unfinished tasks, and where they begin.
    pub(super) open: BTreeMap<TaskId, u64>,
    pub(super) failed: BTreeMap<TaskId, String>,
    /// Where the line of each followup begins, by what determines it; the last one counts.
    pub(super) followups: BTreeMap<(Followup, String), u64>,
    /// The twins that were found.
    pub(super) twins: Twins,
    /// All tasks of its process have ended.
    pub(super) ended: bool,
    /// Lines of another run begin here: nothing more is read.
    pub(super) foreign: bool,
    pub(super) garbage: usize,
}

impl JournalFile {
    /// Orders the starts of a run: by generation, and by time only where settings are the same.
    pub(super) fn order(&self) -> (u64, &str) {
        (self.generation, &self.unique)
    }

    /// Adds a line to the index.
    pub(super) fn note(&mut self, at: u64, next: u64, bytes: &[u8]) -> IndexEntry {
        self.offset = next;
        if self.foreign {
            return IndexEntry::Nothing;
        }
        match JournalLine::new(bytes) {
            JournalLine::Task(task, bytes) if self.info.has(task) => {
                self.note_task(task, at, bytes)
            }
            JournalLine::Followup(followup, of) => {
                self.followups.insert((followup, of.to_owned()), at);
                IndexEntry::Followup(followup)
            }
            JournalLine::Task(..) | JournalLine::Garbage => self.garbage(),
            JournalLine::Twins => match format::read_twins(bytes, &self.info) {
                Some(twins) => {
                    self.twins.extend(&twins);
                    IndexEntry::Twins(twins)
                }
                None => self.garbage(),
            },
            JournalLine::Finished => {
                self.ended = true;
                IndexEntry::Nothing
            }
            JournalLine::Run => {
                let same = format::RunStart::read(bytes)
                    .is_ok_and(|start| start.run.fingerprint == self.info.fingerprint);
                self.foreign = !same;
                IndexEntry::Nothing
            }
        }
    }

    fn note_task(&mut self, task: TaskId, at: u64, bytes: &[u8]) -> IndexEntry {
        match TaskLineKind::new(bytes) {
            TaskLineKind::Start => {
                self.open.insert(task, at);
                self.failed.remove(&task);
                IndexEntry::Start(task)
            }
            TaskLineKind::Step if self.open.contains_key(&task) => IndexEntry::Step(task),
            TaskLineKind::End if self.open.contains_key(&task) => {
                let start = self.open.remove(&task).unwrap_or(at);
                self.finished.entry(task).or_insert(TaskSpan { start, end: self.offset });
                IndexEntry::End(task)
            }
            TaskLineKind::Failed => {
                let Ok(failure) = serde_json::from_slice::<format::TaskFailureLine>(bytes) else {
                    return self.garbage();
                };
                self.open.remove(&task);
                self.failed.insert(task, failure.failed.chars().take(LONGEST_MESSAGE).collect());
                IndexEntry::Failed(task)
            }
            _ => self.garbage(),
        }
    }

    fn garbage(&mut self) -> IndexEntry {
        self.garbage += 1;
        IndexEntry::Nothing
    }

    /// Indexes all complete lines that were appended since.
    pub(super) fn index(&mut self) -> io::Result<()> {
        let mut lines = JournalLines::of_run(&self.path, self.offset, &self.info)?;
        while let Some(at) = lines.next()? {
            self.note(at, lines.offset, &lines.line);
        }
        Ok(())
    }

    /// Notices about skipped lines.
    pub(super) fn notes(&self) -> Vec<String> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let mut notes = Vec::new();
        if self.garbage > 0 {
            notes.push(format!(
                "{name}: {} lines were not understood and were skipped",
                self.garbage
            ));
        }
        if self.foreign {
            notes.push(format!("{name}: lines of another run begin in it; they were skipped"));
        }
        notes
    }

    /// The checked events of a task between two offsets, or why they cannot be valid.
    pub(super) fn read(
        &self,
        task: TaskId,
        (start, end): (u64, u64),
        rule: BetaRule,
    ) -> io::Result<std::result::Result<TaskReplay, &'static str>> {
        let mut lines = JournalLines::between(&self.path, start, end, &self.info)?;
        let mut replay = None;
        while lines.offset < end
            && let Some(at) = lines.next()?
        {
            let JournalLine::Task(of, bytes) = JournalLine::new(&lines.line) else { continue };
            if of != task {
                continue;
            }
            let outcome = match &mut replay {
                None if at == start => {
                    TaskReplay::begin(&self.info, rule, bytes).map(|begun| replay = Some(begun))
                }
                None => return Ok(Err("its beginning is missing")),
                Some(replay) => replay.line(bytes),
            };
            if let Err(fault) = outcome {
                return Ok(Err(fault));
            }
        }
        Ok(replay.ok_or("its beginning is missing"))
    }

    /// All events of a finished task.
    pub(super) fn read_finished(
        &self,
        task: TaskId,
        span: TaskSpan,
        rule: BetaRule,
    ) -> io::Result<std::result::Result<Vec<EventKind>, &'static str>> {
        Ok(self.read(task, (span.start, span.end), rule)?.and_then(TaskReplay::finished))
    }
}
