//! How far a run without a screen has come: a bar on a terminal, plain lines elsewhere, nothing
//! when quiet.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::run::{EventKind, Followup, RunEvent, RunInfo};
use crate::say::say;

/// Shows progress on standard error.
pub struct Progress {
    shape: Shape,
    /// How many paths, folds and permutations there are.
    parts: [usize; 3],
    done: [usize; 3],
    /// Paths of a fold or a permutation.
    splits: usize,
    /// Models of a path.
    models: usize,
    /// Paths in all, also those of folds and permutations, and those that have ended.
    paths: usize,
    paths_done: usize,
    started: Instant,
}

enum Shape {
    Quiet,
    /// Plain lines: one for each tenth, and one for each part that begins.
    Lines {
        tenths: usize,
        part: usize,
    },
    Bar(ProgressBar),
}

/// Shows on standard error how much of a file has been read, if that takes long enough to be
/// noticed.
pub struct ReadingProgress {
    shape: Shape,
    started: Instant,
    told: Instant,
}

impl ReadingProgress {
    /// A file about to be read.
    pub fn new(quiet: bool) -> Self {
        let shape = if quiet {
            Shape::Quiet
        } else if std::io::stderr().is_terminal() {
            Shape::Bar(ProgressBar::hidden())
        } else {
            Shape::Lines { tenths: 0, part: 0 }
        };
        let now = Instant::now();
        Self { shape, started: now, told: now }
    }

    /// Takes note of the bytes read and the bytes in all.
    pub fn tell(&mut self, bytes: u64, of: u64) {
        /// A bar that only flashes up tells nothing.
        const NOTICED: Duration = Duration::from_millis(300);
        /// Between lines, which stay.
        const PATIENCE: Duration = Duration::from_secs(5);
        match &mut self.shape {
            Shape::Quiet => {}
            Shape::Bar(bar) => {
                if bar.is_hidden() && self.started.elapsed() >= NOTICED {
                    bar.set_style(reading_style(bytes < of));
                    bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(8));
                }
                // The length of standard input is not known.
                bar.set_length(of);
                bar.set_position(bytes);
            }
            Shape::Lines { .. } => {
                if self.told.elapsed() >= PATIENCE {
                    self.told = Instant::now();
                    let megabytes = |bytes: u64| bytes / 1_000_000;
                    let of =
                        if bytes < of { format!(" of {}", megabytes(of)) } else { String::new() };
                    say(format!("{}{of} MB read", megabytes(bytes)));
                }
            }
        }
    }
}

/// Removes the bar, whether the file could be read or not.
impl Drop for ReadingProgress {
    fn drop(&mut self) {
        if let Shape::Bar(bar) = &self.shape {
            bar.finish_and_clear();
        }
    }
}

fn reading_style(bounded: bool) -> ProgressStyle {
    let template = if bounded {
        "{bar:30} {percent:>3} %  {bytes} of {total_bytes} read"
    } else {
        "{bytes} read"
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// The part of a run that a task after the paths belongs to.
fn part_of(followup: &Followup) -> usize {
    match followup {
        Followup::Fold(..) | Followup::Site(..) | Followup::Probe(_) => 1,
        Followup::Permutation(..) => 2,
    }
}

impl Progress {
    /// For some tasks of a run and some that follow its paths.
    pub fn new(info: &RunInfo, tasks: usize, followups: &[Followup], quiet: bool) -> Self {
        let mut parts = [tasks, 0, 0];
        followups.iter().for_each(|followup| parts[part_of(followup)] += 1);
        let paths = tasks + followups.len() * info.splits;
        let models = info.units.len();
        let shape = if quiet {
            Shape::Quiet
        } else if std::io::stderr().is_terminal() {
            let target = ProgressDrawTarget::stderr_with_hz(8);
            let bar = ProgressBar::with_draw_target(Some((paths * models) as u64), target);
            let rate = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
                let _ = write!(text, "{:.0} models/s", state.per_sec());
            };
            let style =
                ProgressStyle::with_template("{bar:30} {percent:>3} %  {rate}  {eta} left  {msg}");
            bar.set_style(
                style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("rate", rate),
            );
            Shape::Bar(bar)
        } else {
            Shape::Lines { tenths: 0, part: 0 }
        };
        let progress = Self {
            shape,
            parts,
            done: [0; 3],
            splits: info.splits,
            models,
            paths,
            paths_done: 0,
            started: Instant::now(),
        };
        if let Shape::Bar(bar) = &progress.shape {
            bar.set_message(progress.words());
        }
        progress
    }

    /// Takes note of an event.
    pub fn event(&mut self, event: &RunEvent) {
        let (part, paths) = match &event.kind {
            EventKind::Step(_) => {
                if let Shape::Bar(bar) = &self.shape {
                    bar.inc(1);
                }
                return;
            }
            EventKind::TaskFinished { .. } | EventKind::TaskFailed { .. } => (0, 1),
            EventKind::Followed(followup, _) | EventKind::FollowupFailed(followup, _) => {
                if let Shape::Bar(bar) = &self.shape {
                    bar.inc((self.splits * self.models) as u64);
                }
                (part_of(followup), self.splits)
            }
            _ => return,
        };
        self.done[part] += 1;
        self.paths_done += paths;
        self.tell();
    }

    /// The part under way: the last that has begun, or the next one if that has ended.
    fn part(&self) -> usize {
        let begun = (0..3).rev().find(|&part| self.done[part] > 0).unwrap_or(0);
        let is_over = self.done[begun] == self.parts[begun];
        (begun + 1..3).find(|&next| self.parts[next] > 0).filter(|_| is_over).unwrap_or(begun)
    }

    fn words(&self) -> String {
        const PARTS: [&str; 3] = ["paths", "validation folds", "permutations"];
        let part = self.part();
        format!("{} of {} {}", self.done[part], self.parts[part], PARTS[part])
    }

    fn tell(&mut self) {
        let words = self.words();
        let now = self.part();
        match &mut self.shape {
            Shape::Quiet => {}
            Shape::Bar(bar) => bar.set_message(words),
            Shape::Lines { tenths, part } => {
                let tenth = 10 * self.paths_done / self.paths.max(1);
                if tenth > *tenths || now > *part {
                    *tenths = tenth;
                    *part = now;
                    let seconds = self.started.elapsed().as_secs_f64().max(1e-9);
                    let rate = self.paths_done as f64 / seconds;
                    let left = (self.paths.saturating_sub(self.paths_done) as f64 / rate).ceil();
                    say(format_args!("{words}, {rate:.1} paths per second, {left:.0} s left"));
                }
            }
        }
    }

    /// Removes the bar.
    pub fn finish(self) {
        if let Shape::Bar(bar) = self.shape {
            bar.finish_and_clear();
        }
    }
}
