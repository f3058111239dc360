//! The loop: waits for whatever comes first, lets the state change, and draws when there is
//! something new. Draws on any ratatui backend.

use std::io;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, select};
use crossterm::event::{Event, KeyEventKind, MouseEventKind};
use ratatui::Terminal;
use ratatui::layout::{Rect, Size};

use super::app::{App, CopiedList, Effect, Pause, Phase};
use super::exporter::{ExportJob, plain_text};
use super::listen::InputEvent;
use super::overlay::Export;
use super::screen::{ScreenSettings, first_state};
use super::session::{FromBehind, Message, Session, SessionRequest};
use super::terminal::Console;
use super::view::{Hits, draw};
use crate::error::{ErrorKind, Result};
use crate::fault;
use crate::run::{EventKind, RunEvent, RunSpec};

/// Events that are taken in before the next look at keys and frames, at most.
const EVENTS_AT_ONCE: usize = 4096;

/// The state, what runs behind it, and when it must be drawn.
pub(super) struct Dashboard {
    app: App,
    session: Session,
    order: SessionRequest,
    hits: Hits,
    dirty: bool,
    size: Size,
    frame_time: Duration,
    next_frame: Instant,
    next_tick: Option<Instant>,
    /// When the run was started.
    started: Instant,
    /// Other settings were tried since the start.
    again: bool,
    /// What is told instead of drawn, if it is.
    plain: Option<Telling>,
}

/// When a view is told again in words.
#[derive(Debug, Default)]
struct Telling {
    /// A key was pressed.
    is_asked: bool,
    /// What was told last.
    told: String,
    /// Something that was asked for has come from behind.
    is_answered: bool,
    /// Whether the run was over then, and whether the play went on.
    state: (bool, bool),
}

/// Whether the loop goes on.
type Flow = std::ops::ControlFlow<u8>;

/// An error of any backend as one of the terminal.
pub(super) fn failed<E: std::error::Error + Send + Sync + 'static>(error: E) -> io::Error {
    io::Error::other(error)
}

impl Dashboard {
    /// Before anything is known.
    pub(super) fn new(order: SessionRequest, settings: &ScreenSettings) -> Result<Self> {
        Ok(Self {
            app: first_state(&order, settings)?,
            session: Session::start(order.clone()),
            order,
            hits: Vec::new(),
            dirty: true,
            size: Size::default(),
            frame_time: Duration::from_secs_f64(1.0 / settings.fps),
            next_frame: Instant::now(),
            next_tick: None,
            started: Instant::now(),
            again: false,
            plain: settings.plain.then(|| Telling { is_asked: true, ..Telling::default() }),
        })
    }

    /// The state.
    pub(super) fn app_mut(&mut self) -> &mut App {
        &mut self.app
    }

    /// Goes on until the user leaves; the exit code.
    pub(super) fn run(
        &mut self,
        terminal: &mut Terminal<impl Console>,
        inputs: &Receiver<InputEvent>,
    ) -> io::Result<u8> {
        loop {
            self.draw_if_due(terminal)?;
            if let Flow::Break(code) = self.wait(terminal, inputs)? {
                return Ok(code);
            }
        }
    }

    fn draw_if_due(&mut self, terminal: &mut Terminal<impl Console>) -> io::Result<()> {
        if self.dirty && Instant::now() >= self.next_frame {
            self.draw(terminal)?;
            self.next_frame = Instant::now() + self.frame_time;
        }
        Ok(())
    }

    /// Waits for one thing to happen.
    fn wait(
        &mut self,
        terminal: &mut Terminal<impl Console>,
        inputs: &Receiver<InputEvent>,
    ) -> io::Result<Flow> {
        let timer = self.wake_up().map_or_else(crossbeam_channel::never, crossbeam_channel::at);
        select! {
            recv(inputs) -> input => {
                let Ok(input) = input else { return Ok(Flow::Break(1)) };
                // Typing ahead is taken in before the next frame.
                for input in std::iter::once(input).chain(inputs.try_iter()) {
                    if let Flow::Break(code) = self.input(input, terminal)? {
                        return Ok(Flow::Break(code));
                    }
                }
            }
            recv(self.session.messages()) -> message => {
                if let Ok(message) = message {
                    self.message(message);
                }
                if self.turned_away() {
                    return Ok(Flow::Break(0));
                }
            }
            recv(self.session.events()) -> event => {
                match event {
                    Ok(event) => self.events(event),
                    Err(_) => {
                        if let Err(error) = self.session.finish() {
                            self.tell(Message::Failed(error));
                        }
                    }
                }
            }
            recv(self.session.shard_changes()) -> change => {
                if change.is_ok() {
                    self.tell(Message::Shards(self.session.shards()));
                }
            }
            recv(timer) -> _ => {
                if self.next_tick.is_some_and(|tick| Instant::now() >= tick) {
                    self.app.tick();
                    self.next_tick = None;
                    self.dirty = true;
                }
            }
        }
        Ok(Flow::Continue(()))
    }

    fn tell(&mut self, message: Message) {
        if let Some(telling) = &mut self.plain {
            telling.is_answered |= message.is_answer();
        }
        self.app.tell(message);
        self.dirty = true;
    }

    fn message(&mut self, message: FromBehind) {
        match message {
            FromBehind::Message(message) => self.tell(message),
            FromBehind::Source(source) => self.session.attach(source),
        }
    }

    /// Takes an event, and those that wait behind it.
    fn events(&mut self, first: RunEvent) {
        let more: Vec<RunEvent> = self.session.events().try_iter().take(EVENTS_AT_ONCE).collect();
        for event in std::iter::once(first).chain(more) {
            if let (SessionRequest::Open(_, data), EventKind::RunStarted(info), None) =
                (&self.order, &event.kind, self.app.info())
            {
                self.session.find_data(info.clone(), data.clone());
            }
            self.tell(Message::Event(event));
        }
        self.app.set_clock(self.started.elapsed());
    }

    /// When to wake up though nothing has happened: for the next frame, the next step of the play.
    fn wake_up(&mut self) -> Option<Instant> {
        let now = Instant::now();
        if !self.app.can_play() {
            self.next_tick = None;
        } else if self.next_tick.is_none() {
            self.next_tick = Some(now + Duration::from_secs_f64(1.0 / self.app.speed()));
        }
        let frame = self.dirty.then_some(self.next_frame);
        [frame, self.next_tick].into_iter().flatten().min()
    }

    /// The run was refused before it began, and nothing on the screen could change that.
    fn turned_away(&self) -> bool {
        let Some(failure) = self.app.failure() else { return false };
        let recorded = matches!(failure.kind(), ErrorKind::Resume | ErrorKind::Output);
        let hopeless = recorded || matches!(self.order, SessionRequest::Open(..));
        hopeless && !self.again && self.app.history().tasks().next().is_none()
    }

    fn draw(&mut self, terminal: &mut Terminal<impl Console>) -> io::Result<()> {
        if self.app.info().is_some() {
            fault::strike(|| "ui".to_owned());
        }
        self.app.refresh();
        match (self.app.wanted(), self.app.plan().cloned()) {
            (Some(Effect::Inspect(task, units)), Some(plan)) => {
                self.session.inspect(plan, task, units)
            }
            (Some(Effect::FindTwins(units)), Some(plan)) => self.session.find_twins(plan, units),
            (Some(Effect::TestList(units)), Some(plan)) => self.session.test_list(plan, units),
            (Some(Effect::Survey(spec)), _) => {
                self.session.survey(self.app.data().to_path_buf(), *spec)
            }
            (Some(Effect::EffectCurve(task, units, unit)), Some(plan)) => {
                self.session.effect(plan, task, units, unit);
            }
            _ => {}
        }
        if let Some(telling) = &mut self.plain {
            self.dirty = false;
            let is_over = matches!(self.app.phase(), Phase::Done | Phase::Failed(_));
            let state = (is_over, self.app.is_playing());
            let is_answered = telling.is_answered && !self.app.awaits_numbers();
            // Not every step of a run: what was asked for, its numbers once all are there, and the
            // end of the run and of the play.
            if telling.is_asked || is_answered || state != telling.state {
                let text = plain_text(&mut self.app);
                if text != telling.told {
                    terminal.backend_mut().tell(&text)?;
                    telling.told = text;
                }
                *telling = Telling {
                    told: std::mem::take(&mut telling.told),
                    state,
                    ..Telling::default()
                };
            }
            return Ok(());
        }
        let app = &self.app;
        let hits = &mut self.hits;
        terminal.backend_mut().begin_frame()?;
        let frame = terminal.draw(|frame| *hits = draw(frame, app)).map_err(failed)?;
        self.size = frame.area.as_size();
        terminal.backend_mut().end_frame()?;
        self.app.set_size(self.size.width, self.size.height);
        self.dirty = false;
        Ok(())
    }

    fn input(
        &mut self,
        input: InputEvent,
        terminal: &mut Terminal<impl Console>,
    ) -> io::Result<Flow> {
        // A mouse that only passes by changes nothing.
        if matches!(&input, InputEvent::Terminal(Event::Mouse(mouse)) if mouse.kind == MouseEventKind::Moved)
        {
            return Ok(Flow::Continue(()));
        }
        self.dirty = true;
        if let Some(telling) = &mut self.plain {
            telling.is_asked = true;
        }
        let effects = match input {
            InputEvent::HungUp => return Ok(Flow::Break(128 + 1)),
            InputEvent::Signal(number) => {
                return Ok(Flow::Break(128 + u8::try_from(number).unwrap_or(0)));
            }
            InputEvent::Resized | InputEvent::Terminal(Event::Resize(..)) => {
                redraw(terminal)?;
                Vec::new()
            }
            InputEvent::Terminal(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                self.app.key(key)
            }
            InputEvent::Terminal(Event::Mouse(mouse)) => self.app.mouse(mouse, &self.hits),
            InputEvent::Terminal(_) => Vec::new(),
        };
        self.carry_out(effects, terminal)
    }

    fn carry_out(
        &mut self,
        effects: Vec<Effect>,
        terminal: &mut Terminal<impl Console>,
    ) -> io::Result<Flow> {
        for effect in effects {
            match (effect, self.app.plan().cloned()) {
                (Effect::Quit, _) => return Ok(Flow::Break(0)),
                (Effect::Suspend, _) => {
                    terminal.backend_mut().suspend()?;
                    redraw(terminal)?;
                }
                (Effect::PauseEngine, _) => self.session.gate().pause(),
                (Effect::ResumeEngine, _) => self.session.gate().resume(),
                (Effect::StepEngine(task), _) => self.session.gate().step(task),
                (Effect::FinishTask(task), _) => self.session.gate().finish(task),
                (Effect::Rerun(spec), _) => self.rerun(*spec),
                (Effect::Copy(list), _) => {
                    terminal.backend_mut().copy(&list.text)?;
                    self.save(list, "sent to the clipboard, and saved");
                }
                (Effect::Save(list), _) => self.save(list, "saved"),
                (Effect::CopyWords(words), _) => terminal.backend_mut().copy(&words)?,
                (Effect::Survey(spec), _) => {
                    self.session.survey(self.app.data().to_path_buf(), *spec)
                }
                (Effect::Export(export), _) => self.export(export),
                (Effect::Inspect(task, units), Some(plan)) => {
                    self.session.inspect(plan, task, units)
                }
                (Effect::FindTwins(units), Some(plan)) => self.session.find_twins(plan, units),
                (Effect::TestList(units), Some(plan)) => self.session.test_list(plan, units),
                (Effect::Portrait(unit), Some(plan)) => self.session.portrait(plan, unit),
                (Effect::EffectCurve(task, units, unit), Some(plan)) => {
                    self.session.effect(plan, task, units, unit)
                }
                (Effect::Branch(task, present, forced), Some(plan)) => {
                    self.session.branch(plan, task, present, forced)
                }
                (
                    Effect::Inspect(..)
                    | Effect::FindTwins(_)
                    | Effect::TestList(_)
                    | Effect::Portrait(_)
                    | Effect::EffectCurve(..)
                    | Effect::Branch(..),
                    None,
                ) => {
                    self.app.say("this needs the data file, which is not available");
                }
            }
        }
        Ok(Flow::Continue(()))
    }

    fn rerun(&mut self, spec: RunSpec) {
        let SessionRequest::Compute(compute) = &mut self.order else { return };
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
        self.session = Session::start(self.order.clone());
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

/// The terminal has another size, or what it showed is lost: everything is drawn anew.
pub(super) fn redraw(terminal: &mut Terminal<impl Console>) -> io::Result<()> {
    let size = terminal.size().map_err(failed)?;
    terminal.resize(Rect::from((ratatui::layout::Position::ORIGIN, size))).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunOptions;
    use crate::tui::exporter::line;
    use crate::tui::keymap::Keymap;
    use crate::tui::session::{Compute, Recording};
    use crate::tui::theme::{Depth, Theme};
    use crossbeam_channel::{Sender, bounded, unbounded};
    use crossterm::event::{KeyCode, KeyEvent};
    use ratatui::backend::TestBackend;

    /// A dashboard on a terminal in memory.
    struct Stage {
        dashboard: Dashboard,
        terminal: Terminal<TestBackend>,
        send: Sender<InputEvent>,
        inputs: Receiver<InputEvent>,
        _alarm: Sender<()>,
    }

    /// What does not happen in this time never does.
    const DEADLINE: Duration = Duration::from_secs(60);
    /// The signal of the deadline.
    const ALARM: i32 = 14;

    impl Stage {
        fn heart(paused: bool) -> Self {
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
            let (send, inputs) = unbounded();
            let (alarm, over) = bounded::<()>(0);
            let late = send.clone();
            std::thread::spawn(move || {
                if over.recv_timeout(DEADLINE) == Err(crossbeam_channel::RecvTimeoutError::Timeout)
                {
                    let _ = late.send(InputEvent::Signal(ALARM));
                }
            });
            let terminal = Terminal::new(TestBackend::new(120, 36)).unwrap();
            Self { dashboard, terminal, send, inputs, _alarm: alarm }
        }

        fn press(&self, key: impl Into<KeyCode>) {
            self.send.send(InputEvent::Terminal(Event::Key(KeyEvent::from(key.into())))).unwrap();
        }

        fn draw(&mut self) {
            self.dashboard.draw_if_due(&mut self.terminal).unwrap();
        }

        fn wait(&mut self) -> Flow {
            self.dashboard.wait(&mut self.terminal, &self.inputs).unwrap()
        }

        fn text(&self) -> String {
            let buffer = self.terminal.backend().buffer();
            (0..buffer.area.height).map(|y| line(buffer, y) + "\n").collect()
        }

        fn until(&mut self, text: &str) {
            self.draw();
            while !self.text().contains(text) {
                assert_eq!(self.wait(), Flow::Continue(()), "never: {text}\n{}", self.text());
                self.draw();
            }
        }

        fn ended(mut self) -> u8 {
            self.dashboard.run(&mut self.terminal, &self.inputs).unwrap()
        }
    }

    #[test]
    fn a_run_is_shown_and_left() {
        let mut stage = Stage::heart(false);
        stage.until("DONE 2/2");
        stage.press(KeyCode::Char('3'));
        stage.until("mean set size");
        stage.press(KeyCode::Char('q'));
        assert_eq!(stage.ended(), 0);
    }

    #[test]
    fn the_engine_pauses_steps_and_goes_on() {
        let mut stage = Stage::heart(true);
        stage.until("PAUSED 0/2");
        stage.press(KeyCode::Char('.'));
        stage.until("step 1/13, 13 left");
        stage.press(KeyCode::Char('e'));
        stage.until("step 13/13, 1 left");
        stage.until("PAUSED 1/2");
        stage.press(KeyCode::Char('P'));
        stage.until("DONE 2/2");
    }

    #[test]
    fn a_larger_terminal_is_filled() {
        let mut stage = Stage::heart(false);
        stage.until("DONE 2/2");
        stage.terminal.backend_mut().resize(150, 50);
        stage.send.send(InputEvent::Resized).unwrap();
        stage.press(KeyCode::Char('3'));
        stage.until("macro F1");
        assert_eq!(stage.terminal.backend().buffer().area.as_size(), Size::new(150, 50));
        assert_eq!(stage.dashboard.size, Size::new(150, 50));
    }

    #[test]
    fn signals_and_hang_ups_end_it_with_their_code() {
        for (input, code) in
            [(InputEvent::Signal(15), 143), (InputEvent::Signal(2), 130), (InputEvent::HungUp, 129)]
        {
            let stage = Stage::heart(true);
            stage.send.send(input).unwrap();
            assert_eq!(stage.ended(), code);
        }
    }

    #[test]
    fn nothing_wakes_it_up_when_nothing_happens() {
        let mut stage = Stage::heart(false);
        stage.until("DONE 2/2");
        stage.press(KeyCode::End);
        stage.until("13/13");
        assert!(!stage.dashboard.dirty);
        assert_eq!(stage.dashboard.wake_up(), None);
    }
}
