//! How far a run without a screen has come: a bar on a terminal, plain lines elsewhere, nothing when quiet.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::run::{EventKind, RunEvent};
use crate::say::say;

/// Shows progress on standard error.
pub struct Progress {
    shape: Shape,
    tasks: usize,
    done: usize,
    started: Instant,
}

enum Shape {
    Quiet,
    /// Plain lines, with the tenths already told.
    Lines(usize),
    Bar(ProgressBar),
}

/// Shows on standard error how much of a file has been read, if that takes long enough to be noticed.
pub struct Reading {
    shape: Shape,
    started: Instant,
    told: Instant,
}

impl Reading {
    /// A file about to be read.
    pub fn new(quiet: bool) -> Self {
        let shape = if quiet {
            Shape::Quiet
        } else if std::io::stderr().is_terminal() {
            Shape::Bar(ProgressBar::hidden())
        } else {
            Shape::Lines(0)
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
            Shape::Lines(_) => {
                if self.told.elapsed() >= PATIENCE {
                    self.told = Instant::now();
                    let megabytes = |bytes: u64| bytes / 1_000_000;
                    let of = if bytes < of { format!(" of {}", megabytes(of)) } else { String::new() };
                    say(format!("{}{of} MB read", megabytes(bytes)));
                }
            }
        }
    }
}

/// The bar goes, whether the file could be read or not.
impl Drop for Reading {
    fn drop(&mut self) {
        if let Shape::Bar(bar) = &self.shape {
            bar.finish_and_clear();
        }
    }
}

fn reading_style(bounded: bool) -> ProgressStyle {
    let template =
        if bounded { "{bar:30} {percent:>3} %  {bytes} of {total_bytes} read" } else { "{bytes} read" };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

impl Progress {
    /// For so many tasks of so many models each.
    pub fn new(tasks: usize, models: usize, quiet: bool) -> Self {
        let shape = if quiet {
            Shape::Quiet
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(
                Some((tasks * models) as u64),
                ProgressDrawTarget::stderr_with_hz(8),
            );
            let rate = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
                let _ = write!(text, "{:.0} models/s", state.per_sec());
            };
            let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {rate}  {eta} left  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).with_key("rate", rate));
            bar.set_message(format!("0 of {tasks} tasks"));
            Shape::Bar(bar)
        } else {
            Shape::Lines(0)
        };
        Self { shape, tasks, done: 0, started: Instant::now() }
    }

    /// Takes note of an event.
    pub fn event(&mut self, event: &RunEvent) {
        match &event.kind {
            EventKind::Step(_) => {
                if let Shape::Bar(bar) = &self.shape {
                    bar.inc(1);
                }
            }
            EventKind::TaskFinished { .. } | EventKind::TaskFailed { .. } => {
                self.done += 1;
                self.tell();
            }
            _ => {}
        }
    }

    fn tell(&mut self) {
        let (done, tasks) = (self.done, self.tasks);
        match &mut self.shape {
            Shape::Quiet => {}
            Shape::Bar(bar) => bar.set_message(format!("{done} of {tasks} tasks")),
            Shape::Lines(told) => {
                let tenth = 10 * done / tasks.max(1);
                if tenth > *told {
                    *told = tenth;
                    let seconds = self.started.elapsed().as_secs_f64().max(1e-9);
                    let rate = done as f64 / seconds;
                    let left = (tasks - done) as f64 / rate;
                    say(format_args!("{done} of {tasks} tasks, {rate:.1} a second, {left:.0} s left"));
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
