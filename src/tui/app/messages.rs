//! What reaches the screen from behind: messages of the session, events of the run.

use super::{App, Pause, Phase};
use crate::analysis::Trace;
use crate::error::ErrorKind;
use crate::run::{EventKind, RunEvent};
use crate::tui::overlay::{OptionsEditor, Overlay};
use crate::tui::session::Message;
use crate::tui::view::View;

impl App {
    /// Takes a message from behind the screen.
    pub fn tell(&mut self, message: Message) {
        match message {
            Message::Event(event) => self.event(&event),
            Message::Ready(plan) => self.run.plan = Some(plan),
            Message::Failed(error) => {
                // It is printed after the screen is left, too.
                self.run.phase = Phase::Failed(error.to_string());
                // A table that was refused may be read with another setting.
                if self.info().is_none()
                    && !self.run.replay
                    && matches!(error.kind(), ErrorKind::Data | ErrorKind::Usage)
                {
                    let editor = OptionsEditor::for_remedy(&self.run.asked_spec, &error);
                    self.layout.overlay = editor.map(|editor| Overlay::Options(Box::new(editor)));
                }
                self.run.failure = Some(error);
            }
            Message::Inspected(task, size, inspection) => {
                self.lookups.inspected = Some((task, size, inspection));
                self.lookups.asked = None;
            }
            Message::Portrait(portrait) => self.lookups.portrait = Some(portrait),
            Message::EffectCurve(task, size, curve) => {
                self.lookups.effect = Some((task, size, curve))
            }
            Message::ListTested(units, tallies) => {
                self.lookups.asked_list.clear();
                self.lookups.tested_list = Some((units, tallies));
            }
            Message::Surveyed(survey) => {
                self.lookups.surveys = false;
                self.lookups.survey = Some(*survey);
            }
            Message::LookupFailed(lookup, why) => self.lookup_failed(lookup, why),
            Message::Branched(branch) => {
                self.layout.status = None;
                self.lookups.branch = Some(branch);
            }
            Message::Recorded(directory) => self.run.directory = Some(directory),
            Message::Reopened => self.start_in(View::Answer),
            Message::Shards(shards) => self.run.shards = shards,
            Message::Said(words) => self.say(words),
        }
    }

    /// Takes an event of the run.
    pub fn event(&mut self, event: &RunEvent) {
        let first = self.info().is_none();
        let trace = event.task.and_then(|task| self.run.history.trace(task));
        let had_finished = trace.is_some_and(Trace::finished);
        self.run.history.apply(event);
        match &event.kind {
            EventKind::Loading { bytes, of } => {
                self.run.phase = Phase::Loading { bytes: *bytes, of: *of }
            }
            EventKind::RunStarted(info) => {
                self.run.phase = Phase::Running;
                // The methods of a recorded run were not known before.
                if self.run.replay && first {
                    self.playback.focus.method = info.spec.methods[0];
                }
                self.selection.table.fit_to(info);
            }
            EventKind::RunFinished => {
                self.run.phase = Phase::Done;
                self.run.pause = Pause::No;
            }
            EventKind::TaskFinished { .. } => self.run.finished += 1,
            EventKind::TaskFailed { message } => {
                self.run.finished += u64::from(had_finished);
                if let Some(task) = event.task {
                    self.say(self.failure_words(task, message));
                }
            }
            EventKind::Paused => self.run.pause = Pause::Yes,
            EventKind::Resumed => self.run.pause = Pause::No,
            EventKind::FollowupFailed(followup, message) => {
                self.say(format!("{followup} failed: {message}"));
            }
            EventKind::TaskStarted(_) => self.run.finished += u64::from(had_finished),
            EventKind::CaughtUp(_) | EventKind::Step(_) | EventKind::Followed(..) => {}
            EventKind::TwinsFound(_) => self.run.twins += 1,
        }
        if event.task == Some(self.playback.focus) {
            // A task that failed or began anew has fewer steps than before.
            let last = self.steps().saturating_sub(1);
            self.go(if self.playback.live { last } else { self.playback.cursor.min(last) });
        }
    }
}
