//! Follows a growing directory as one run: what was there, then what is appended. Polls; writes
//! nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::time::{Duration, Instant};

use super::Shard;
use super::journal_file::{IndexEntry, JournalLines};
use super::reader::{Journals, Wanted, unreadable};
use super::replay::TaskReplay;
use super::source::{EventSender, POLL, ShardStatus, Status, Stop};
use super::writer::{JournalAuthor, is_being_written};
use crate::run::{EventKind, Followup, Remaining, TaskId};

/// A journal that has not grown for this long is called stale.
const STALE: Duration = Duration::from_secs(60);
/// Limit on the memory of followed tasks, in units summed over all of them.
const FOLLOWED_UNITS: usize = 1 << 28;

/// A task that is being emitted from a growing file.
struct Followed {
    file: usize,
    replay: TaskReplay,
}

/// Follows the journals of a directory.
pub(super) struct Follower {
    records: Journals,
    done: BTreeSet<TaskId>,
    failed: BTreeSet<TaskId>,
    under_way: BTreeMap<TaskId, Followed>,
    followed: BTreeSet<Followup>,
    /// Who wrote each file, and when it last grew.
    writers: Vec<(Option<JournalAuthor>, Instant)>,
    finished: bool,
}

impl Follower {
    pub(super) fn new(records: Journals) -> Self {
        Self {
            records,
            done: BTreeSet::new(),
            failed: BTreeSet::new(),
            under_way: BTreeMap::new(),
            followed: BTreeSet::new(),
            writers: Vec::new(),
            finished: false,
        }
    }

    pub(super) fn follow(mut self, events: &EventSender) -> std::result::Result<(), Stop> {
        self.catch_up(events)?;
        loop {
            self.look_around();
            events.set(self.status());
            self.ended(events)?;
            if self.done.len() >= self.records.tasks() && self.all_followed() {
                return Ok(());
            }
            events.wait(POLL)?;
            self.poll(events)?;
        }
    }

    /// Everything that was there before.
    fn catch_up(&mut self, events: &EventSender) -> std::result::Result<(), Stop> {
        let info = self.records.info().clone();
        self.look_around();
        self.done = self.records.finished().into_iter().collect();
        events.set(self.status());
        events.emit(None, EventKind::RunStarted(info.clone()))?;
        let followups = info.followups();
        let wanted = Remaining { tasks: self.records.finished(), followups: followups.clone() };
        self.failed = self.records.failed().into_keys().collect();
        let left = self
            .records
            .emit_recorded(wanted, &info, false, |task, kind| events.emit(task, kind))?;
        self.done.retain(|task| !left.tasks.contains(task));
        let left: BTreeSet<Followup> = left.followups.into_iter().collect();
        self.followed = followups.into_iter().filter(|own| !left.contains(own)).collect();
        // Of unfinished tasks, the copy that was started last.
        let mut open = BTreeMap::new();
        let mut order: Vec<usize> = (0..self.records.files.len()).collect();
        order.sort_by(|&a, &b| self.records.files[a].order().cmp(&self.records.files[b].order()));
        for file in order {
            for (&task, &start) in &self.records.files[file].open {
                open.insert(task, (file, start));
            }
        }
        open.retain(|task, _| !self.done.contains(task));
        for (task, (file, start)) in open {
            let until = self.records.files[file].offset;
            let read = self.records.files[file].read(task, (start, until), info.spec.beta_rule);
            match read.map_err(|error| unreadable(&self.records.files[file].path, &error))? {
                Ok(mut replay) => {
                    events.emit_all(task, std::mem::take(&mut replay.events))?;
                    self.keep(task, file, replay);
                }
                Err(fault) => self.records.say(file, task, fault),
            }
        }
        Ok(())
    }

    fn keep(&mut self, task: TaskId, file: usize, replay: TaskReplay) {
        let most = (FOLLOWED_UNITS / self.records.info().units.len().max(1)).max(64);
        if self.under_way.len() < most {
            self.failed.remove(&task);
            self.under_way.insert(task, Followed { file, replay });
        }
    }

    /// Emits the outcome of a fold or permutation, once, if there is one.
    fn emit_followup(
        &mut self,
        followup: Followup,
        events: &EventSender,
    ) -> std::result::Result<(), Stop> {
        if self.followed.contains(&followup) || !followup.is_of(self.records.info()) {
            return Ok(());
        }
        let info = self.records.info().clone();
        let Some(kind) = self.records.followup(followup, &info)? else { return Ok(()) };
        self.followed.insert(followup);
        events.emit(None, kind)
    }

    fn all_followed(&self) -> bool {
        self.followed.len() >= self.records.info().followups().len()
    }

    /// Reads what has been appended since.
    fn poll(&mut self, events: &EventSender) -> std::result::Result<(), Stop> {
        if self.records.look_for_more()? {
            events.emit(None, EventKind::RunStarted(self.records.info().clone()))?;
        }
        self.look_around();
        for index in 0..self.records.files.len() {
            let file = &self.records.files[index];
            let mut lines = match JournalLines::of_run(&file.path, file.offset, &file.info) {
                Ok(lines) => lines,
                // Deleted by a fresh start: what was emitted stays on the screen.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(unreadable(&file.path, &error).into()),
            };
            while let Some(at) =
                lines.next().map_err(|error| unreadable(&self.records.files[index].path, &error))?
            {
                self.writers[index].1 = Instant::now();
                let entry = self.records.files[index].note(at, lines.offset, &lines.line);
                self.on_line(index, entry, &lines.line, events)?;
            }
        }
        Ok(())
    }

    /// Handles one line of a growing file.
    fn on_line(
        &mut self,
        file: usize,
        entry: IndexEntry,
        bytes: &[u8],
        sender: &EventSender,
    ) -> std::result::Result<(), Stop> {
        let entry = match entry {
            IndexEntry::Followup(followup) => return self.emit_followup(followup, sender),
            IndexEntry::Twins(twins) => {
                return sender.emit(None, EventKind::TwinsFound(twins.into()));
            }
            entry => entry,
        };
        let (IndexEntry::Start(task)
        | IndexEntry::Step(task)
        | IndexEntry::End(task)
        | IndexEntry::Failed(task)) = entry
        else {
            return Ok(());
        };
        if self.done.contains(&task) {
            return Ok(());
        }
        let told = self.under_way.get(&task).is_some_and(|followed| followed.file == file);
        let rule = self.records.info().spec.beta_rule;
        match entry {
            // The copy that started last is emitted.
            IndexEntry::Start(_) => {
                match TaskReplay::begin(&self.records.files[file].info, rule, bytes) {
                    Ok(mut replay) => {
                        let events = std::mem::take(&mut replay.events);
                        self.under_way.remove(&task);
                        self.keep(task, file, replay);
                        return sender.emit_all(task, events);
                    }
                    Err(fault) => self.records.say(file, task, fault),
                }
            }
            IndexEntry::Step(_) | IndexEntry::End(_) if told => {
                let Some(followed) = self.under_way.get_mut(&task) else { return Ok(()) };
                if let Err(fault) = followed.replay.line(bytes) {
                    self.under_way.remove(&task);
                    self.records.files[file].finished.remove(&task);
                    self.records.say(file, task, fault);
                    return Ok(());
                }
                let events = std::mem::take(&mut followed.replay.events);
                if matches!(entry, IndexEntry::End(_)) {
                    self.under_way.remove(&task);
                    self.done.insert(task);
                }
                return sender.emit_all(task, events);
            }
            // Another copy finished first: emit all of it now.
            IndexEntry::End(_) => {
                let wanted = Wanted::to_see(&self.records.info().spec);
                if let Some(events) = self.records.read(task, wanted)? {
                    self.under_way.remove(&task);
                    self.done.insert(task);
                    return sender.emit_all(task, events);
                }
            }
            IndexEntry::Failed(_) if told || !self.under_way.contains_key(&task) => {
                self.under_way.remove(&task);
                self.failed.insert(task);
                let message =
                    self.records.files[file].failed.get(&task).cloned().unwrap_or_default();
                return sender.emit(Some(task), EventKind::TaskFailed { message });
            }
            _ => {}
        }
        Ok(())
    }

    /// Emits the end, once.
    fn ended(&mut self, events: &EventSender) -> std::result::Result<(), Stop> {
        let failed = self.failed.difference(&self.done).count();
        let ended = self.done.len() + failed >= self.records.tasks() && self.all_followed();
        let news = ended && !self.finished;
        self.finished = ended;
        if news { events.emit(None, EventKind::RunFinished) } else { Ok(()) }
    }

    /// Finds out who writes the new files.
    fn look_around(&mut self) {
        for (index, file) in self.records.files.iter().enumerate() {
            if index == self.writers.len() {
                let age = std::fs::metadata(&file.path)
                    .and_then(|data| data.modified())
                    .ok()
                    .and_then(|time| time.elapsed().ok())
                    .unwrap_or_default();
                let grown = Instant::now().checked_sub(age).unwrap_or_else(Instant::now);
                self.writers.push((None, grown));
            }
            let writer = &mut self.writers[index].0;
            if writer.is_none() {
                *writer = JournalAuthor::of(&self.records.directory, &file.unique);
            }
        }
    }

    fn status(&self) -> Status {
        let info = self.records.info();
        let mut latest: BTreeMap<Shard, usize> = BTreeMap::new();
        for (index, file) in self.records.files.iter().enumerate() {
            let newest = latest.entry(file.shard).or_insert(index);
            if file.order() > self.records.files[*newest].order() {
                *newest = index;
            }
        }
        let tasks: Vec<TaskId> = (0..info.splits)
            .flat_map(|split| info.spec.methods.iter().map(move |&method| TaskId { method, split }))
            .collect();
        let shards = latest.into_iter().map(|(shard, index)| {
            let (file, (writer, grown)) = (&self.records.files[index], &self.writers[index]);
            let share = shard.share(&tasks);
            let open = file.open.keys().filter(|task| !self.done.contains(task)).count();
            let alive = writer
                .as_ref()
                .and_then(|writer| is_being_written(&self.records.directory, shard, &writer.host))
                .unwrap_or(true);
            let stale = !alive || grown.elapsed() > STALE;
            ShardStatus {
                shard,
                host: writer.as_ref().map(|writer| writer.host.clone()),
                pid: writer.as_ref().map(|writer| writer.pid),
                done: share.iter().filter(|task| self.done.contains(task)).count(),
                failed: share
                    .iter()
                    .filter(|task| self.failed.contains(task) && !self.done.contains(task))
                    .count(),
                tasks: share.len(),
                running: if stale { 0 } else { open },
                stale: if stale { open } else { 0 },
                grown: *grown,
            }
        });
        Status { shards: shards.collect(), notes: self.records.notes() }
    }
}
