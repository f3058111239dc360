//! The dashboard: the state, what runs behind it, and the one place where effects are carried out.

use std::time::{Duration, Instant};

use crossbeam_channel::{Select, TryRecvError};
use ratatui::Frame;
use ratatui::layout::Size;

use super::app::{App, CopiedList, Effect, Pause, Phase};
use super::event_loop::{Input, Request, Screen};
use super::exporter::{ExportJob, plain_text};
use super::overlay::Export;
use super::screen::{ScreenSettings, first_state};
use super::session::{Message, Session, SessionMessage, SessionRequest};
use super::view::{Hits, draw};
use crate::error::{ErrorKind, Result};
use crate::fault;
use crate::run::{EventKind, RunEvent, RunSpec};

/// Events that are taken in before the next look at keys and frames, at most.
const EVENTS_AT_ONCE: usize = 4096;

/// The state, what runs behind it, and when it must change by itself.
pub(super) struct Dashboard {
    app: App,
    session: Session,
    request: SessionRequest,
    hits: Hits,
    size: Size,
    next_tick: Option<Instant>,
    /// When the run was started.
    started: Instant,
    /// Other settings were tried since the start.
    again: bool,
    narration: Narration,
}

/// When a view is told again in words.
#[derive(Debug, Default)]
struct Narration {
    /// Something that was asked for has come from behind.
    is_answered: bool,
    /// Whether the run was over when something was told last, and whether the play went on.
    state: (bool, bool),
}

impl Dashboard {
    /// Before anything is known.
    pub(super) fn new(request: SessionRequest, settings: &ScreenSettings) -> Result<Self> {
        Ok(Self {
            app: first_state(&request, settings)?,
            session: Session::start(request.clone()),
            request,
            hits: Vec::new(),
            size: Size::default(),
            next_tick: None,
            started: Instant::now(),
            again: false,
            narration: Narration::default(),
        })
    }

    /// The state.
    pub(super) fn app_mut(&mut self) -> &mut App {
        &mut self.app
    }

    fn tell(&mut self, message: Message) {
        self.narration.is_answered |= message.is_answer();
        self.app.tell(message);
    }

    fn take_messages(&mut self) -> bool {
        let messages: Vec<SessionMessage> = self.session.messages().try_iter().collect();
        let any = !messages.is_empty();
        for message in messages {
            match message {
                SessionMessage::Message(message) => self.tell(message),
                SessionMessage::Source(source) => self.session.attach(source),
            }
        }
        any
    }

    fn take_events(&mut self) -> bool {
        for count in 0..EVENTS_AT_ONCE {
            match self.session.events().try_recv() {
                Ok(event) => self.take_event(event),
                Err(TryRecvError::Empty) => return count > 0,
                Err(TryRecvError::Disconnected) => {
                    if let Err(error) = self.session.finish() {
                        self.tell(Message::Failed(error));
                    }
                    return true;
                }
            }
        }
        true
    }

    fn take_event(&mut self, event: RunEvent) {
        if let (SessionRequest::Open(_, data), EventKind::RunStarted(info), None) =
            (&self.request, &event.kind, self.app.info())
        {
            self.session.find_data(info.clone(), data.clone());
        }
        self.tell(Message::Event(event));
    }

    /// One step of the play, if it is time.
    fn tick(&mut self) -> bool {
        let is_due = self.next_tick.is_some_and(|tick| Instant::now() >= tick);
        if is_due {
            self.app.tick();
            self.next_tick = None;
        }
        is_due
    }

    /// The run was refused before it began, and nothing on the screen could change that.
    fn is_refused(&self) -> bool {
        let Some(failure) = self.app.failure() else { return false };
        let recorded = matches!(failure.kind(), ErrorKind::Resume | ErrorKind::Output);
        let hopeless = recorded || matches!(self.request, SessionRequest::Open(..));
        hopeless && !self.again && self.app.history().tasks().next().is_none()
    }

    /// Carries out what the state asks for; what only the terminal can do is handed on.
    fn carry_out(&mut self, effects: Vec<Effect>) -> Vec<Request> {
        effects.into_iter().filter_map(|effect| self.carry_out_one(effect)).collect()
    }

    fn carry_out_one(&mut self, effect: Effect) -> Option<Request> {
        let session = &self.session;
        match effect {
            Effect::Quit => return Some(Request::Leave),
            Effect::Suspend => return Some(Request::Suspend),
            Effect::CopyWords(words) => return Some(Request::Copy(words)),
            Effect::Copy(list) => {
                let text = list.text.clone();
                self.save(list, "sent to the clipboard, and saved");
                return Some(Request::Copy(text));
            }
            Effect::PauseEngine => session.gate().pause(),
            Effect::ResumeEngine => session.gate().resume(),
            Effect::StepEngine(task) => session.gate().step(task),
            Effect::FinishTask(task) => session.gate().finish(task),
            Effect::Rerun(spec) => self.rerun(*spec),
            Effect::Save(list) => self.save(list, "saved"),
            Effect::Survey(spec) => session.survey(self.app.data().to_path_buf(), *spec),
            Effect::Export(export) => self.export(export),
            Effect::LookUp(lookup) => match self.app.plan() {
                Some(plan) => session.look_up(plan.clone(), lookup),
                None => self.app.say("this needs the data file, which is not available"),
            },
        }
        None
    }

    fn rerun(&mut self, spec: RunSpec) {
        let SessionRequest::Compute(compute) = &mut self.request else { return };
        compute.spec = spec.clone();
        // It waits if the one before still did, unless that was for the settings, which have been
        // looked at now.
        compute.paused &=
            self.app.pause() != Pause::No && !std::mem::take(&mut compute.settings_first);
        let paused = compute.paused;
        self.app.restart(spec);
        self.again = true;
        // The old run gives its directory up before the new one claims it; that it failed is of no
        // interest any more.
        self.session.gate().cancel();
        let _ = self.session.finish();
        self.session = Session::start(self.request.clone());
        self.started = Instant::now();
        if paused {
            self.app.set_pause(Pause::Asked);
        }
    }

    /// Writes a list of features in the background; the status line says what was done, and where.
    fn save(&mut self, list: CopiedList, done: &str) {
        if let Some(job) = ExportJob::of_list(&self.app, list, done) {
            self.session.say(move || job.write());
        }
    }

    /// Writes what was asked for in the background; the status line says where.
    fn export(&mut self, export: Export) {
        let size = (self.size.width, self.size.height);
        let words = match ExportJob::new(&mut self.app, export, size) {
            Some(job) => {
                self.session.say(move || job.write());
                "writing …"
            }
            None => "there is nothing to write yet",
        };
        self.app.say(words);
    }
}

impl Screen for Dashboard {
    fn listen<'a>(&'a self, select: &mut Select<'a>) {
        select.recv(self.session.messages());
        select.recv(self.session.events());
        select.recv(self.session.shard_changes());
    }

    /// The next step of the play.
    fn due(&mut self) -> Option<Instant> {
        if !self.app.can_play() {
            self.next_tick = None;
        } else if self.next_tick.is_none() {
            let pause = Duration::from_secs_f64(1.0 / self.app.speed());
            self.next_tick = Some(Instant::now() + pause);
        }
        self.next_tick
    }

    fn receive(&mut self) -> bool {
        let mut any = self.take_messages();
        if self.take_events() {
            self.app.set_clock(self.started.elapsed());
            any = true;
        }
        if self.session.shard_changes().try_recv().is_ok() {
            self.tell(Message::Shards(self.session.shards()));
            any = true;
        }
        self.tick() || any
    }

    fn handle(&mut self, input: Input) -> Vec<Request> {
        let effects = match input {
            Input::Key(key) => self.app.key(key),
            Input::Mouse(mouse) => self.app.mouse(mouse, &self.hits),
        };
        self.carry_out(effects)
    }

    fn is_over(&self) -> bool {
        self.is_refused()
    }

    fn prepare(&mut self) {
        if self.app.info().is_some() {
            fault::strike(|| "ui".to_owned());
        }
        self.app.refresh();
        let wanted = self.app.wanted();
        self.carry_out(wanted.into_iter().collect());
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        self.hits = draw(frame, &self.app);
        self.size = frame.area().as_size();
        self.app.set_size(self.size.width, self.size.height);
    }

    /// Not every step of a run: what was asked for, its numbers once all are there, and the end of
    /// the run and of the play.
    fn plain(&mut self, is_asked: bool) -> Option<String> {
        let is_over = matches!(self.app.phase(), Phase::Done | Phase::Failed(_));
        let state = (is_over, self.app.is_playing());
        let is_answered = self.narration.is_answered && !self.app.awaits_numbers();
        if !is_asked && !is_answered && state == self.narration.state {
            return None;
        }
        self.narration = Narration { state, is_answered: false };
        Some(plain_text(&mut self.app))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunOptions;
    use crate::tui::event_loop::{EventLoop, Flow};
    use crate::tui::exporter::line;
    use crate::tui::keymap::Keymap;
    use crate::tui::listen::InputEvent;
    use crate::tui::session::{Compute, Recording};
    use crate::tui::theme::{Depth, Theme};
    use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
    use crossterm::event::{KeyCode, KeyEvent};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    /// A dashboard, and what is typed.
    struct Stage<'a> {
        dashboard: Dashboard,
        screens: EventLoop<'a, TestBackend>,
        send: &'a Sender<InputEvent>,
    }

    /// What does not happen in this time never does.
    const DEADLINE: Duration = Duration::from_secs(60);
    /// The code of the deadline.
    const LATE: u8 = 99;

    /// Plays with a dashboard on a terminal in memory.
    fn with_heart(paused: bool, play: impl FnOnce(Stage<'_>)) {
        let mut options = RunOptions::default();
        options.split.splits = 1;
        let compute = Compute {
            data: "data/heart.csv".into(),
            spec: options.check().unwrap(),
            threads: 1,
            paused,
            settings_first: false,
            record: Recording::No,
        };
        let settings = ScreenSettings {
            fps: 1000.0,
            speed: 1.0,
            mouse: false,
            theme: Theme::new(Depth::None, false, false),
            keymap: Keymap::default(),
            out: None,
            view: None,
            plain: false,
        };
        let dashboard =
            Dashboard::new(SessionRequest::Compute(Box::new(compute)), &settings).unwrap();
        let (send, inputs): (_, Receiver<InputEvent>) = unbounded();
        let (_alarm, over) = bounded::<()>(0);
        let late = send.clone();
        std::thread::spawn(move || {
            if over.recv_timeout(DEADLINE) == Err(crossbeam_channel::RecvTimeoutError::Timeout) {
                let _ = late.send(InputEvent::Ended(LATE));
            }
        });
        let mut terminal = Terminal::new(TestBackend::new(120, 36)).unwrap();
        let screens = EventLoop::new(&mut terminal, &inputs, &settings);
        play(Stage { dashboard, screens, send: &send });
    }

    impl Stage<'_> {
        fn press(&self, key: impl Into<KeyCode>) {
            self.send.send(InputEvent::Input(Input::Key(KeyEvent::from(key.into())))).unwrap();
        }

        fn text(&self) -> String {
            let buffer = self.screens.terminal.backend().buffer();
            (0..buffer.area.height).map(|y| line(buffer, y) + "\n").collect()
        }

        fn until(&mut self, text: &str) {
            self.screens.draw_if_due(&mut self.dashboard).unwrap();
            while !self.text().contains(text) {
                let flow = self.screens.wait(&mut self.dashboard).unwrap();
                assert_eq!(flow, Flow::Continue(()), "never: {text}\n{}", self.text());
                self.screens.draw_if_due(&mut self.dashboard).unwrap();
            }
        }

        fn ended(&mut self) -> u8 {
            self.screens.run(&mut self.dashboard)
        }
    }

    #[test]
    fn a_run_is_shown_and_left() {
        with_heart(false, |mut stage| {
            stage.until("DONE 2/2");
            stage.press(KeyCode::Char('3'));
            stage.until("mean set size");
            stage.press(KeyCode::Char('q'));
            assert_eq!(stage.ended(), 0);
        });
    }

    #[test]
    fn the_engine_pauses_steps_and_goes_on() {
        with_heart(true, |mut stage| {
            stage.until("PAUSED 0/2");
            stage.press(KeyCode::Char('.'));
            stage.until("step 1/13, 13 left");
            stage.press(KeyCode::Char('e'));
            stage.until("step 13/13, 1 left");
            stage.until("PAUSED 1/2");
            stage.press(KeyCode::Char('P'));
            stage.until("DONE 2/2");
        });
    }

    #[test]
    fn a_larger_terminal_is_filled() {
        with_heart(false, |mut stage| {
            stage.until("DONE 2/2");
            stage.screens.terminal.backend_mut().resize(150, 50);
            stage.send.send(InputEvent::Resized).unwrap();
            stage.press(KeyCode::Char('3'));
            stage.until("macro F1");
            assert_eq!(
                stage.screens.terminal.backend().buffer().area.as_size(),
                Size::new(150, 50)
            );
            assert_eq!(stage.dashboard.size, Size::new(150, 50));
        });
    }

    #[test]
    fn a_signal_ends_it_with_its_code() {
        with_heart(true, |mut stage| {
            stage.send.send(InputEvent::Ended(143)).unwrap();
            assert_eq!(stage.ended(), 143);
        });
    }

    #[test]
    fn nothing_wakes_it_up_when_nothing_happens() {
        with_heart(false, |mut stage| {
            stage.until("DONE 2/2");
            stage.press(KeyCode::End);
            stage.until("13/13");
            assert_eq!(stage.screens.wake_up(&mut stage.dashboard), None);
        });
    }
}
