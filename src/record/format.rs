//! The lines of a journal: one event as one short JSON object, and back. Knows no files.
//!
//! ```text
//! {"format":2,"generation":2,"run":{…}}  the start of the run, always the first line
//! {"task":"crfe/3","start":{"train":…,…},"run":"1a2b3c4d"}  a task begins; the start of the fingerprint
//! {"task":"crfe/3","step":7,"out":[4],"by":…,"next":9,"gap":…,"mean":…,  a model; see `StepLine`
//!  "stop":[…,…],"counts":[…],"p":[…,…],"beta":[…]}
//! {"task":"crfe/3","end":"complete","rest":[2]}  a path ended
//! {"task":"crfe/3","failed":"why"}  a task failed
//! {"followup":"fold/crfe/2","of":"1a2b…","outcome":{…}}  a fold or a permutation ended; what determines it
//! {"twins":{"4":{"count":1,"closest":[[9,0.97]]}}}  the twins of some features
//! {"finished":true}  all tasks of this process have ended
//! ```
//!
//! Every object ends in `,"sum":"1a2b3c4d"}`, the CRC-32 of what precedes this field; a line with
//! another sum, or none, is damaged.
//!
//! The task comes first so that a reader can pass over other tasks' lines without parsing them.
//! What follows from earlier lines (the size) is not written; null stands for NaN.

use std::io::{self, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::evaluate::Tally;
use crate::format::FORMAT;
use crate::run::{
    Betas, EndReason, EventKind, Followup, Outcome, Parts, RunEvent, RunInfo, Step, TaskId, Twins,
};
use crate::select::{RunSizes, Stopping};

/// The longest first line that is read: a million features with names fit.
pub const LONGEST_START: u64 = 64 << 20;
/// The longest line that is read of a run whose first line is not known yet.
pub const LONGEST_LINE: u64 = 16 << 20;
/// The longest line that is read of any run.
pub const LONGEST_OUTCOME: u64 = 256 << 20;

/// The longest line that a run can have after the first: the outcome of a fold or a site, with two
/// numbers per class and a few more for each of its rows.
pub fn longest_line(info: &RunInfo) -> u64 {
    const NUMBER: usize = 26;
    let row = NUMBER * (2 * info.classes.len() + info.subgroups.len() + 4);
    let rows = info.rows.saturating_mul(row) as u64;
    LONGEST_LINE.saturating_add(rows).min(LONGEST_OUTCOME)
}

/// Hexadecimal digits of the fingerprint in a task's first line.
const TAG: usize = 8;

/// What a line says.
#[derive(Debug)]
pub enum JournalLine<'a> {
    /// The start of a run.
    Run,
    /// Something about a task.
    Task(TaskId, &'a [u8]),
    /// The end of a followup, and the fingerprint of what determines it.
    Followup(Followup, &'a str),
    /// The twins of some features.
    Twins,
    /// All tasks of a process have ended.
    Finished,
    /// Unknown.
    Garbage,
}

impl<'a> JournalLine<'a> {
    /// Classifies a line by its checksum and its beginning alone.
    pub fn new(line: &'a [u8]) -> Self {
        if !is_sound(line) {
            return Self::Garbage;
        }
        if let Some(rest) = line.strip_prefix(b"{\"task\":\"") {
            let name = rest.split(|&byte| byte == b'"').next();
            let task = name.and_then(|name| task_from(std::str::from_utf8(name).ok()?));
            return task.map_or(Self::Garbage, |task| Self::Task(task, line));
        }
        if line.starts_with(b"{\"followup\":\"") {
            return followup_from(line).unwrap_or(Self::Garbage);
        }
        if line.starts_with(b"{\"format\":") {
            Self::Run
        } else if line.starts_with(b"{\"twins\":") {
            Self::Twins
        } else if line.starts_with(b"{\"finished\":true,") {
            Self::Finished
        } else {
            Self::Garbage
        }
    }
}

/// The kind of a task's line, found without parsing it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskLineKind {
    /// The task begins.
    Start,
    /// A model.
    Step,
    /// The path ended.
    End,
    /// The task failed.
    Failed,
    /// Unknown.
    Garbage,
}

impl TaskLineKind {
    /// Classifies a task's line by its second key.
    pub fn new(line: &[u8]) -> Self {
        let key = line.splitn(8, |&byte| byte == b'"').nth(5);
        match key {
            Some(b"start") => Self::Start,
            Some(b"step") => Self::Step,
            Some(b"end") => Self::End,
            Some(b"failed") => Self::Failed,
            _ => Self::Garbage,
        }
    }
}

/// `{"followup":"fold/crfe/2","of":"1a2b…",…`: looks at its name and fingerprint alone.
fn followup_from(line: &[u8]) -> Option<JournalLine<'_>> {
    let mut parts = line.splitn(9, |&byte| byte == b'"');
    let name = std::str::from_utf8(parts.nth(3)?).ok()?;
    let key = parts.nth(1)?;
    let fingerprint = std::str::from_utf8(parts.nth(1)?).ok()?;
    (key == b"of").then_some(())?;
    Some(JournalLine::Followup(Followup::from_name(name)?, fingerprint))
}

fn task_from(name: &str) -> Option<TaskId> {
    let (method, split) = name.split_once('/')?;
    Some(TaskId { method: method.parse().ok()?, split: split.parse().ok()? })
}

/// `crfe/3`.
pub fn task_name(task: TaskId) -> String {
    format!("{}/{}", task.method.name(), task.split)
}

#[derive(Serialize)]
struct RunLine<'a> {
    format: u32,
    generation: u64,
    run: &'a RunInfo,
}

#[derive(Serialize)]
struct StartLine<'a> {
    task: String,
    start: &'a Parts,
    run: &'a str,
}

/// A task's first line, read back.
#[derive(Deserialize)]
pub struct TaskStartLine {
    /// The rows of its split.
    pub start: Parts,
    run: String,
}

impl TaskStartLine {
    /// Whether it is a line of this run.
    pub fn is_of(&self, info: &RunInfo) -> bool {
        self.run == tag(info)
    }
}

fn tag(info: &RunInfo) -> &str {
    info.fingerprint.get(..TAG).unwrap_or(&info.fingerprint)
}

/// A model: `out` the units removed, `by` the criterion of the first, `next` the runner-up, `gap`
/// their relative gap, `mean` the mean of β, `stop` statistic and threshold, `counts` the tally's
/// integers in its order, `p` its three sums, `pairs` the ordered pairs by class, and β: `beta` of all units present or `top` of the highest.
#[derive(Serialize, Deserialize)]
struct StepLine {
    #[serde(skip_deserializing)]
    task: String,
    step: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    out: Vec<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    by: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    next: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gap: Option<f64>,
    mean: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop: Option<(Option<f64>, Option<f64>)>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unconverged: bool,
    counts: Vec<u32>,
    p: (Option<f64>, Option<f64>, Option<f64>),
    pairs: Vec<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    beta: Option<Vec<Option<f32>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    top: Option<Vec<(u32, Option<f32>)>>,
}

#[derive(Serialize)]
struct EndLine<'a> {
    task: String,
    end: EndReason,
    rest: &'a [usize],
    #[serde(skip_serializing_if = "Option::is_none")]
    cv: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proximity: Option<usize>,
}

/// A task's last line, read back.
#[derive(Deserialize)]
pub struct TaskEndLine {
    /// Why.
    #[serde(rename = "end")]
    pub reason: EndReason,
    /// The removable units that are left.
    pub rest: Vec<usize>,
    /// The size chosen by cross-validation.
    pub cv: Option<usize>,
    /// The size chosen by the proximity rule.
    pub proximity: Option<usize>,
}

#[derive(Serialize)]
struct FailedLine<'a> {
    task: String,
    failed: &'a str,
}

/// A fold or a permutation, with what determines it.
#[derive(Serialize, Deserialize)]
struct FollowupLine {
    #[serde(skip_deserializing)]
    followup: String,
    #[serde(skip_deserializing)]
    of: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outcome: Option<Arc<Outcome>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

/// The event of a followup's line, checked; why not, if it cannot be true.
pub fn read_followup(
    followup: Followup,
    line: &[u8],
    info: &RunInfo,
) -> std::result::Result<EventKind, &'static str> {
    let line: FollowupLine =
        serde_json::from_slice(line).map_err(|_| "its line is not understood")?;
    match (line.outcome, line.failed) {
        (Some(outcome), None) => {
            if !(followup.kind.allows)(&outcome, info) {
                return Err("its numbers are impossible");
            }
            Ok(EventKind::Followed(followup, outcome))
        }
        (None, Some(message)) => Ok(EventKind::FollowupFailed(followup, message)),
        _ => Err("its line is not understood"),
    }
}

#[derive(Serialize)]
struct TwinsLine<'a> {
    twins: &'a Twins,
}

/// The twins of a line, checked; `None` if it is not such a line.
pub fn read_twins(line: &[u8], info: &RunInfo) -> Option<Twins> {
    #[derive(Deserialize)]
    struct TwinsRead {
        twins: Twins,
    }
    let line: TwinsRead = serde_json::from_slice(line).ok()?;
    line.twins.fits(info.units.len()).then_some(line.twins)
}

/// A failed task's line, read back.
#[derive(Deserialize)]
pub struct TaskFailureLine {
    /// Why.
    pub failed: String,
}

/// Appends the first line of a journal.
pub fn write_start(run: &RunInfo, generation: u64, into: &mut Vec<u8>) -> io::Result<()> {
    let start = into.len();
    serde_json::to_writer(&mut *into, &RunLine { format: FORMAT, generation, run })?;
    end_line(start, into)
}

/// Appends the line of an event after the start; nothing for events that only concern a screen.
pub fn write(event: &RunEvent, info: &RunInfo, into: &mut Vec<u8>) -> io::Result<()> {
    let start = into.len();
    let task = || event.task.map(task_name).unwrap_or_default();
    match &event.kind {
        EventKind::TaskStarted(start) => {
            serde_json::to_writer(&mut *into, &StartLine { task: task(), start, run: tag(info) })?;
        }
        EventKind::Step(step) => serde_json::to_writer(&mut *into, &StepLine::new(task(), step))?,
        EventKind::TaskFinished { reason, rest, sizes } => {
            let RunSizes { cv, proximity } = *sizes;
            let line = EndLine { task: task(), end: *reason, rest, cv, proximity };
            serde_json::to_writer(&mut *into, &line)?;
        }
        EventKind::TaskFailed { message } => {
            serde_json::to_writer(&mut *into, &FailedLine { task: task(), failed: message })?;
        }
        EventKind::RunFinished => into.extend_from_slice(b"{\"finished\":true}"),
        EventKind::Followed(followup, outcome) => {
            let outcome = Some(outcome.clone());
            serde_json::to_writer(&mut *into, &FollowupLine::new(*followup, info, outcome, None))?;
        }
        EventKind::FollowupFailed(followup, message) => {
            let failed = Some(message.clone());
            serde_json::to_writer(&mut *into, &FollowupLine::new(*followup, info, None, failed))?;
        }
        EventKind::TwinsFound(twins) => serde_json::to_writer(&mut *into, &TwinsLine { twins })?,
        EventKind::RunStarted(_)
        | EventKind::CaughtUp(_)
        | EventKind::Loading { .. }
        | EventKind::Paused
        | EventKind::Resumed => {
            return Ok(());
        }
    }
    end_line(start, into)
}

/// Ends the line of the object that begins at `start` by its checksum.
fn end_line(start: usize, into: &mut Vec<u8>) -> io::Result<()> {
    into.pop();
    let sum = checksum(&into[start..]);
    writeln!(into, ",\"sum\":\"{sum:08x}\"}}")
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// Whether a line ends in its checksum.
pub fn is_sound(line: &[u8]) -> bool {
    const FIELD: usize = ",\"sum\":\"1a2b3c4d\"}".len();
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let Some((object, field)) = line.split_last_chunk::<FIELD>() else { return false };
    let sum = checksum(object);
    let mut expected = [0; FIELD];
    write!(&mut expected[..], ",\"sum\":\"{sum:08x}\"}}").is_ok() && *field == expected
}

impl FollowupLine {
    fn new(
        followup: Followup,
        info: &RunInfo,
        outcome: Option<Arc<Outcome>>,
        failed: Option<String>,
    ) -> Self {
        Self { followup: followup.name(), of: followup.fingerprint(info), outcome, failed }
    }
}

impl StepLine {
    fn new(task: String, step: &Step) -> Self {
        let Tally {
            confusion,
            covered,
            set_sizes,
            certain,
            full,
            empty,
            p_sum,
            p_max,
            p_true,
            concordant,
        } = &step.tally;
        let mut counts = Vec::with_capacity(confusion.len() + 2 * covered.len() + 3);
        for part in [confusion, covered, set_sizes] {
            counts.extend_from_slice(part);
        }
        counts.extend([certain, full, empty]);
        let (beta, top) = match &step.beta {
            Some(Betas::Whole(values)) => {
                (Some(values.iter().map(|&value| Some(value)).collect()), None)
            }
            Some(Betas::Top(pairs)) => {
                (None, Some(pairs.iter().map(|&(unit, value)| (unit, Some(value))).collect()))
            }
            None => (None, None),
        };
        Self {
            task,
            step: step.t,
            out: step.removed.clone(),
            by: step.criterion,
            next: step.runner_up,
            gap: step.margin,
            mean: Some(step.beta_mean),
            stop: step.stop.map(|stop| (Some(stop.statistic), Some(stop.threshold))),
            unconverged: !step.converged,
            counts,
            p: (Some(*p_sum), Some(*p_max), Some(*p_true)),
            pairs: concordant.clone(),
            beta,
            top,
        }
    }

    fn tally(&self, classes: usize) -> Option<Tally> {
        let square = classes.checked_mul(classes)?;
        if self.counts.len() != square + 2 * classes + 3 || self.pairs.len() != classes {
            return None;
        }
        let (confusion, rest) = self.counts.split_at(square);
        let (covered, rest) = rest.split_at(classes);
        let (set_sizes, rest) = rest.split_at(classes);
        Some(Tally {
            confusion: confusion.to_vec(),
            covered: covered.to_vec(),
            set_sizes: set_sizes.to_vec(),
            certain: rest[0],
            full: rest[1],
            empty: rest[2],
            p_sum: real(self.p.0),
            p_max: real(self.p.1),
            p_true: real(self.p.2),
            concordant: self.pairs.clone(),
        })
    }
}

fn real(value: Option<f64>) -> f64 {
    value.unwrap_or(f64::NAN)
}

/// Reads a model's line; its size is left 0 for the reader to fill in. `None` if it is not such a
/// line.
pub fn read_step(line: &[u8], classes: usize) -> Option<Step> {
    let line: StepLine = serde_json::from_slice(line).ok()?;
    let tally = line.tally(classes)?;
    let small = |value: Option<f32>| value.unwrap_or(f32::NAN);
    let beta = match (line.beta, line.top) {
        (Some(values), None) => Some(Betas::Whole(values.into_iter().map(small).collect())),
        (None, Some(pairs)) => {
            Some(Betas::Top(pairs.into_iter().map(|(unit, value)| (unit, small(value))).collect()))
        }
        (None, None) => None,
        (Some(_), Some(_)) => return None,
    };
    let stop = line.stop.map(|(statistic, threshold)| {
        let (statistic, threshold) = (real(statistic), real(threshold));
        Stopping { statistic, threshold, fired: statistic < threshold }
    });
    Some(Step {
        t: line.step,
        size: 0,
        removed: line.out,
        criterion: line.by,
        runner_up: line.next,
        margin: line.gap,
        beta_mean: real(line.mean),
        stop,
        converged: !line.unconverged,
        tally,
        beta,
    })
}

/// The format number of a first line, whatever else the line holds.
pub fn format_of(line: &[u8]) -> Option<u64> {
    #[derive(Deserialize)]
    struct Format {
        format: u64,
    }
    serde_json::from_slice::<Format>(line).ok().map(|line| line.format)
}

/// The start of a run.
#[derive(Deserialize)]
pub struct RunStart {
    /// Counts the starts whose settings differ from the previous start, so that their order does
    /// not depend on clocks.
    pub generation: u64,
    pub run: RunInfo,
}

impl RunStart {
    /// Reads a first line.
    pub fn read(line: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::run::{FoldTest, Kind, Plan, RunOptions, TestedRow};
    use crate::select::Method;

    #[test]
    fn the_outcome_of_a_fold_of_a_million_rows_is_not_too_long_to_be_read() {
        let x = ndarray::Array2::from_shape_fn((40, 2), |(i, j)| (i * (j + 1) % 7) as f64);
        let labels: Vec<&str> = (0..40).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect();
        let data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
        let plan = Plan::new(RunOptions::default().check().unwrap(), data).unwrap();
        let info = RunInfo { rows: 1_000_000, ..RunInfo::clone(&plan.info) };
        // As long as numbers get.
        let number = -1.234_567_890_123_456_7e-300;
        let row = |row: usize| TestedRow { row, y: 1, f: vec![number; 2], p: vec![number; 2] };
        let subgroups = Vec::new();
        let times = vec![Some(number); 200_000];
        let test = FoldTest {
            size: Some(1),
            units: vec![0],
            conformal: vec![0; 2],
            rows: (800_000..1_000_000).map(row).collect(),
            groups: (800_000..1_000_000).collect(),
            subgroups,
            times,
        };
        let fold = Followup { kind: Kind::Fold, method: Method::Crfe, index: 0 };
        let event = EventKind::Followed(fold, Outcome::Fold(test).into());
        let mut line = Vec::new();
        write(&RunEvent { task: None, kind: event }, &info, &mut line).unwrap();
        assert!(line.len() as u64 > LONGEST_LINE, "the usual limit would refuse it");
        assert!(line.len() as u64 <= longest_line(&info), "{} bytes", line.len());
        // A small run keeps the usual limit, more or less, and no run exceeds the largest.
        assert!(longest_line(&plan.info) < LONGEST_LINE + (1 << 20));
        assert_eq!(longest_line(&RunInfo { rows: 100_000_000, ..info }), LONGEST_OUTCOME);
    }
}
