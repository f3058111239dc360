//! Which step of which path is looked at, and how that moves: play, steps, splits, methods.

use super::{App, Effect, Pause, Phase, plural};
use crate::analysis::Trace;
use crate::run::{Step, TaskId};
use crate::tui::action::Action;
use crate::tui::view::View;

/// With at most this many features every elimination is played.
const PLAYED_SINGLY: usize = 150;
/// Ticks of a play from all features to one, where not every elimination is played.
const PLAY_TICKS: f64 = 40.0;

/// Which step of which path is looked at, and whether that moves by itself.
pub(super) struct Playback {
    pub(super) focus: TaskId,
    pub(super) cursor: usize,
    /// The cursor follows the newest step.
    pub(super) live: bool,
    pub(super) playing: bool,
    /// Steps per second.
    pub(super) speed: f64,
}

impl Playback {
    /// From the first step of a path.
    pub(super) fn new(focus: TaskId) -> Self {
        Self { focus, cursor: 0, live: false, playing: true, speed: 4.0 }
    }
}

impl App {
    /// Plays this many steps per second.
    pub fn set_speed(&mut self, speed: f64) {
        self.playback.speed = speed;
    }

    /// The path that is looked at.
    pub fn focus(&self) -> TaskId {
        self.playback.focus
    }

    /// The step that is looked at.
    pub fn cursor(&self) -> usize {
        self.playback.cursor
    }

    /// Whether the cursor follows the newest step.
    pub fn is_live(&self) -> bool {
        self.playback.live
    }

    /// Whether the cursor moves by itself.
    pub fn is_playing(&self) -> bool {
        self.playback.playing
    }

    /// Steps per second.
    pub fn speed(&self) -> f64 {
        self.playback.speed
    }

    /// The focused path.
    pub fn trace(&self) -> Option<&Trace> {
        self.run.history.trace(self.playback.focus)
    }

    /// The step under the cursor.
    pub fn step(&self) -> Option<&Step> {
        self.trace().and_then(|trace| trace.steps().get(self.playback.cursor)).map(|step| &**step)
    }

    /// The size under the cursor; all features before anything has happened.
    pub fn size(&self) -> usize {
        self.step().map_or_else(|| self.info().map_or(0, |info| info.units.len()), |step| step.size)
    }

    /// Steps of the focused path so far.
    pub fn steps(&self) -> usize {
        self.trace().map_or(0, |trace| trace.steps().len())
    }

    /// The units present under the cursor, ascending: all of them before the path begins.
    pub fn present(&self) -> Vec<usize> {
        let Some(info) = self.info() else { return Vec::new() };
        let removed_at = |unit| self.trace().and_then(|trace| trace.removed_at(unit));
        let all = 0..info.units.len();
        all.filter(|&unit| removed_at(unit).is_none_or(|step| step >= self.playback.cursor))
            .collect()
    }

    /// Models of the focused path, once it has ended; before, as many as it will have unless the β
    /// rule ends it.
    pub fn path_length(&self) -> usize {
        match (self.trace(), self.info()) {
            (Some(trace), Some(info)) if !trace.finished() => {
                info.spec.step.models(info.units.len(), info.kept())
            }
            _ => self.steps(),
        }
    }

    /// Whether a tick of the play would move the cursor.
    pub fn can_play(&self) -> bool {
        self.playback.playing
            && self.layout.view == View::Explore
            && self.playback.cursor + 1 < self.steps()
    }

    /// Steps that one tick of the play takes: on wide data equal steps on a logarithmic axis, so
    /// that it ends.
    pub(super) fn stride(&self) -> usize {
        let units = self.info().map_or(1, |info| info.units.len());
        if units <= PLAYED_SINGLY {
            return 1;
        }
        // From all features to one in this number of ticks.
        let ratio = (units as f64).powf(1.0 / PLAY_TICKS);
        let wanted = (self.size() as f64 / ratio).floor() as usize;
        let steps = self.trace().map_or(&[][..], |trace| trace.steps());
        let after = steps[self.playback.cursor.min(steps.len())..].iter();
        after.take_while(|step| step.size > wanted).count().max(1)
    }

    /// Puts the cursor on a step. A selected feature that is no longer present is deselected: the
    /// ranking shows again what is removed now.
    pub(super) fn go(&mut self, step: usize) {
        let moved = self.playback.cursor != step;
        self.playback.cursor = step;
        let gone = |unit: usize| self.trace()?.removed_at(unit).filter(|&at| at < step);
        if moved && self.selection.selected.is_some_and(|unit| gone(unit).is_some()) {
            self.selection.selected = None;
        }
    }

    /// The play moves on by one step.
    pub fn tick(&mut self) {
        if self.can_play() {
            self.go((self.playback.cursor + self.stride()).min(self.steps() - 1));
        }
        if self.is_at_end() {
            self.playback.playing = false;
        }
    }

    /// Whether the cursor is on the last step of a finished path.
    fn is_at_end(&self) -> bool {
        self.playback.cursor + 1 >= self.steps() && self.trace().is_some_and(Trace::finished)
    }

    pub(super) fn toggle_play(&mut self) {
        self.playback.playing = !self.playback.playing;
        if self.playback.playing {
            self.playback.live = false;
            if self.is_at_end() {
                self.go(0);
            }
        }
    }

    pub(super) fn toggle_engine(&mut self) -> Vec<Effect> {
        match (self.run.pause, &self.run.phase) {
            _ if self.run.replay => {
                let key = self.keymap.key_of(Action::TogglePlay);
                self.refuse(format!(
                    "this run is computed by another process; {key} pauses playing"
                ))
            }
            (_, Phase::Done | Phase::Failed(_)) => {
                let key = self.keymap.key_of(Action::TogglePlay);
                self.refuse(format!("the run is finished; {key} pauses playing"))
            }
            (Pause::No, _) => {
                self.run.pause = Pause::Asked;
                vec![Effect::PauseEngine]
            }
            _ => {
                self.run.pause = Pause::No;
                vec![Effect::ResumeEngine]
            }
        }
    }

    pub(super) fn step_once(&mut self) -> Vec<Effect> {
        self.playback.playing = false;
        if self.playback.cursor + 1 < self.steps() {
            self.go(self.playback.cursor + 1);
            return Vec::new();
        }
        if self.run.pause == Pause::No || self.run.phase == Phase::Done {
            return Vec::new();
        }
        self.playback.live = true;
        vec![Effect::StepEngine(self.playback.focus)]
    }

    /// Puts the cursor on a step, or the last one.
    pub fn scrub(&mut self, to: usize) {
        self.playback.playing = false;
        self.playback.live = false;
        self.go(to.min(self.steps().saturating_sub(1)));
    }

    /// Puts the cursor on the step with this size, or the nearest above; says so when it is
    /// another.
    pub fn go_to_size(&mut self, size: usize) {
        let Some(trace) = self.trace().filter(|trace| !trace.steps().is_empty()) else { return };
        let steps = trace.steps().iter().take_while(|step| step.size >= size).count();
        self.scrub(steps.saturating_sub(1));
        let here = self.size();
        if here != size {
            let why = match (self.steps(), self.trace().is_some_and(Trace::finished)) {
                _ if here < size => "the path begins with",
                (steps, false) if self.playback.cursor + 1 == steps => "the path has come to",
                (steps, true) if self.playback.cursor + 1 == steps => "the path ends with",
                _ => "the nearest step has",
            };
            self.say(format!("{why} {}", plural(here, "feature")));
        }
    }

    pub(super) fn focus_split(&mut self, forward: bool) {
        let splits = self.info().map_or(1, |info| info.splits).max(1);
        let split = if forward {
            self.playback.focus.split + 1
        } else {
            self.playback.focus.split + splits - 1
        } % splits;
        self.refocus(TaskId { split, ..self.playback.focus });
    }

    pub(super) fn next_method(&mut self) {
        let methods = &self.spec().methods;
        let at =
            methods.iter().position(|&method| method == self.playback.focus.method).unwrap_or(0);
        let method = methods[(at + 1) % methods.len()];
        self.refocus(TaskId { method, ..self.playback.focus });
    }

    /// Looks at another path: at its newest step if that is followed, else at the same step if it
    /// has one.
    pub(super) fn refocus(&mut self, task: TaskId) {
        self.playback.focus = task;
        self.lookups.branch = None;
        let last = self.steps().saturating_sub(1);
        self.go(if self.playback.live { last } else { self.playback.cursor.min(last) });
    }
}
