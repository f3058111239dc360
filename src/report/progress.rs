//! How far a run without a screen has come: a bar on a terminal, plain lines elsewhere, nothing when quiet.

use std::io::IsTerminal;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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
            let style =
                ProgressStyle::with_template("{bar:30} {percent:>3} %  {per_sec} models  {eta} left  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
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
