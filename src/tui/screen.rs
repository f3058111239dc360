//! The loop: waits for whatever comes first, lets the state change, and draws when there is something new.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, select, unbounded};
use crossterm::clipboard::CopyToClipboard;
use crossterm::event::{Event, KeyEventKind};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use unicode_width::UnicodeWidthStr;

use super::action::View;
use super::app::{App, Effect, Pause, VIEW_AS_TEXT};
use super::input::{Input, listen};
use super::keymap::Keymap;
use super::session::{Order, Session};
use super::terminal::{Screen, give_back};
use super::theme::{Depth, Theme};
use super::view::{Hits, draw};
use crate::error::{Error, Kind, Result, printable};
use crate::fault;
use crate::history::History;
use crate::report::{PAGE, make_way, write_report, write_tables};
use crate::run::{Plan, RunOptions, RunSpec, default_threads};
use crate::say::say;

/// While the engine is asked to pause, how often it is asked whether it has.
const PAUSE_POLL: Duration = Duration::from_millis(50);

/// How the screen is to behave.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Frames a second, at most.
    pub fps: f64,
    /// Steps of the play a second.
    pub speed: f64,
    /// Whether the mouse is listened to.
    pub mouse: bool,
    /// Colours and glyphs.
    pub theme: Theme,
    /// Keys.
    pub keymap: Keymap,
    /// Where exports go.
    pub out: Option<PathBuf>,
}

/// Shows a run until the user leaves; the exit code.
pub fn explore(order: Order, settings: Settings) -> Result<u8> {
    let (sender, inputs) = unbounded();
    let broken = |error: io::Error| {
        Error::output(format!("the terminal cannot be used: {error}"))
            .remedy("run without a screen: crfe-tui run")
    };
    let mut screen = Screen::enter(settings.mouse).map_err(broken)?;
    listen(&sender).map_err(broken)?;
    let app = first_state(&order, &settings)?;
    let mut desk = Desk {
        session: Session::start(order.clone()),
        order,
        settings,
        app,
        hits: Vec::new(),
        dirty: true,
        size: (0, 0),
        again: false,
    };
    let ended = desk.run(&mut screen, &inputs);
    drop(screen);
    match ended {
        // What made the whole run fail is said where it can be read, with its exit code.
        Ok(0) => match desk.app.failure.take() {
            Some(error) => Err(error),
            None => Ok(desk.say_goodbye()),
        },
        Ok(code) => Ok(code),
        // A terminal that is gone cannot be written to; nobody reads the error either.
        Err(_) => Ok(128 + 1),
    }
}

/// The state before anything is known.
fn first_state(order: &Order, settings: &Settings) -> Result<App> {
    let (data, spec) = match order {
        Order::Compute(compute) => (compute.data.clone(), compute.spec.clone()),
        // The recorded settings come with the first event.
        Order::Open(directory, _) => (directory.clone(), RunOptions::default().check()?),
    };
    let mut app = App::new(data, spec, settings.theme, settings.keymap.clone());
    app.speed = settings.speed;
    app.out.clone_from(&settings.out);
    match order {
        Order::Compute(compute) if compute.paused => app.pause = Pause::Asked,
        Order::Compute(_) => {}
        Order::Open(..) => app.replay = true,
    }
    Ok(app)
}

/// The state, what runs behind it, and whether it must be drawn.
struct Desk {
    app: App,
    session: Session,
    order: Order,
    settings: Settings,
    hits: Hits,
    dirty: bool,
    size: (u16, u16),
    /// Other settings were tried since the start.
    again: bool,
}

/// What writes files of a run into a directory.
type Write = fn(&Path, &History, Option<&Plan>, usize) -> Result<()>;

/// Whether the loop goes on.
type Flow = std::ops::ControlFlow<u8>;

impl Desk {
    fn run(&mut self, screen: &mut Screen, inputs: &Receiver<Input>) -> io::Result<u8> {
        let frame_time = Duration::from_secs_f64(1.0 / self.settings.fps);
        let mut next_frame = Instant::now();
        let mut next_tick: Option<Instant> = None;
        loop {
            let now = Instant::now();
            if self.dirty && now >= next_frame {
                self.frame(screen)?;
                next_frame = Instant::now() + frame_time;
            }
            if !self.app.can_play() {
                next_tick = None;
            } else if next_tick.is_none() {
                next_tick = Some(now + Duration::from_secs_f64(1.0 / self.app.speed));
            }
            let frame = self.dirty.then_some(next_frame);
            let poll = (self.app.pause == Pause::Asked).then(|| now + PAUSE_POLL);
            let wake = [frame, next_tick, poll].into_iter().flatten().min();
            let timer = wake.map_or_else(crossbeam_channel::never, crossbeam_channel::at);
            select! {
                recv(inputs) -> input => {
                    let Ok(input) = input else { return Ok(1) };
                    if let Flow::Break(code) = self.input(input, screen)? {
                        return Ok(code);
                    }
                    // Typing ahead is taken in before the next frame.
                    while let Ok(input) = inputs.try_recv() {
                        if let Flow::Break(code) = self.input(input, screen)? {
                            return Ok(code);
                        }
                    }
                }
                recv(self.session.messages()) -> message => {
                    if let Ok(message) = message {
                        self.app.tell(message);
                        let more: Vec<_> = self.session.messages().try_iter().take(4096).collect();
                        more.into_iter().for_each(|message| self.app.tell(message));
                        self.dirty = true;
                        if self.turned_away() {
                            return Ok(0);
                        }
                    }
                }
                recv(timer) -> _ => {
                    if next_tick.is_some_and(|tick| Instant::now() >= tick) {
                        self.app.tick();
                        next_tick = None;
                        self.dirty = true;
                    }
                }
            }
            if self.app.pause == Pause::Asked && self.session.gate().paused() {
                self.app.pause = Pause::Yes;
                self.dirty = true;
            }
        }
    }

    /// The run was refused before it began, and nothing on the screen could change that.
    fn turned_away(&self) -> bool {
        let Some(failure) = &self.app.failure else { return false };
        let recorded = matches!(failure.kind(), Kind::Resume | Kind::Output);
        let hopeless = recorded || matches!(self.order, Order::Open(..));
        hopeless && !self.again && self.app.history.tasks().next().is_none()
    }

    fn frame(&mut self, screen: &mut Screen) -> io::Result<()> {
        if self.app.info().is_some() {
            fault::strike(|| "ui".to_owned());
        }
        self.app.refresh();
        if let (Some(Effect::Inspect(task, units)), Some(plan)) = (self.app.wanted(), self.app.plan.clone()) {
            self.session.inspect(plan, task, units);
        }
        let (app, hits) = (&self.app, &mut self.hits);
        let mut size = (0, 0);
        screen.draw(|frame| {
            size = (frame.area().width, frame.area().height);
            *hits = draw(frame, app);
        })?;
        self.size = size;
        self.app.height = usize::from(size.1);
        self.dirty = false;
        Ok(())
    }

    fn input(&mut self, input: Input, screen: &mut Screen) -> io::Result<Flow> {
        self.dirty = true;
        match input {
            Input::HungUp => {
                return Ok(Flow::Break(128 + 1));
            }
            Input::Signal(number) => return Ok(Flow::Break(128 + u8::try_from(number).unwrap_or(0))),
            Input::Resized | Input::Terminal(Event::Resize(..)) => screen.resize()?,
            Input::Terminal(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                let effects = self.app.key(key);
                return self.carry_out(effects, screen);
            }
            Input::Terminal(Event::Mouse(mouse)) => {
                let effects = self.app.mouse(mouse, &self.hits);
                return self.carry_out(effects, screen);
            }
            Input::Terminal(_) => {}
        }
        Ok(Flow::Continue(()))
    }

    fn carry_out(&mut self, effects: Vec<Effect>, screen: &mut Screen) -> io::Result<Flow> {
        for effect in effects {
            match (effect, self.app.plan.clone()) {
                (Effect::Quit, _) => return Ok(Flow::Break(0)),
                (Effect::Suspend, _) => screen.suspend()?,
                (Effect::PauseEngine, _) => self.session.gate().pause(),
                (Effect::ResumeEngine, _) => self.session.gate().resume(),
                (Effect::StepEngine(task), _) => self.session.gate().step(task),
                (Effect::FinishTask(task), _) => self.session.gate().finish(task),
                (Effect::Rerun(spec), _) => self.rerun(*spec),
                (Effect::Copy(text), _) => screen.send(CopyToClipboard::to_clipboard_from(text))?,
                (Effect::Export(what), plan) => self.export(what, plan),
                (Effect::Inspect(task, units), Some(plan)) => self.session.inspect(plan, task, units),
                (Effect::Portrait(unit), Some(plan)) => self.session.portrait(plan, unit),
                (Effect::Branch(task, present, forced), Some(plan)) => {
                    self.session.branch(plan, task, present, forced)
                }
                (Effect::Inspect(..) | Effect::Portrait(_) | Effect::Branch(..), None) => {
                    self.app.status = Some("this needs the data file, which is not at hand".into());
                }
            }
        }
        Ok(Flow::Continue(()))
    }

    fn rerun(&mut self, spec: RunSpec) {
        let Order::Compute(compute) = &mut self.order else { return };
        compute.spec = spec.clone();
        let paused = compute.paused;
        self.app.restart(spec);
        self.again = true;
        self.session = Session::start(self.order.clone());
        if paused {
            self.app.pause = Pause::Asked;
        }
    }

    /// Writes what was asked for in the background; the status line says where.
    fn export(&mut self, what: usize, plan: Option<Arc<Plan>>) {
        let Some(info) = self.app.history.info().cloned() else {
            self.app.status = Some("there is nothing to write yet".into());
            return;
        };
        let (directory, view) = (self.app.exports_to(), self.app.view);
        let text = (what == VIEW_AS_TEXT).then(|| as_text(&mut self.app, self.size));
        let (history, rule) = (self.app.history.clone(), self.app.rule);
        self.app.status = Some("writing …".into());
        self.session.say(move || {
            std::fs::create_dir_all(&directory)
                .map_err(|error| Error::output(format!("cannot be made: {error}")).file(&directory))?;
            let texts: Vec<String> = View::ALL.into_iter().map(text_file).collect();
            let cleared = make_way(&directory, &info, &texts)?;
            let words = match text {
                Some(text) => {
                    let file = directory.join(text_file(view));
                    std::fs::write(&file, text)
                        .map_err(|error| Error::output(format!("cannot be written: {error}")).file(&file))?;
                    format!("this view is in {}", file.display())
                }
                None => {
                    // A page of an earlier export would not belong to the new tables.
                    let whole = what > 0 || directory.join(PAGE).exists();
                    let (write, words): (Write, _) = if whole {
                        (write_report, "tables, figures and report.html are")
                    } else {
                        (write_tables, "all tables are")
                    };
                    write(&directory, &history.under(rule)?, plan.as_deref(), default_threads())?;
                    format!("{words} in {}", directory.display())
                }
            };
            Ok(if cleared { words + "; files of another run there were deleted" } else { words })
        });
    }

    /// After the screen is gone: what failed and where the results are; the exit code.
    fn say_goodbye(&self) -> u8 {
        give_back();
        let failed = self.app.history.failed();
        for (task, message) in failed.iter().filter(|_| !self.app.replay) {
            // On the screen splits count from 1.
            let (method, split) = (task.method, task.split + 1);
            say(format_args!("crfe-tui: {method} on split {split} failed: {}", printable(message)));
        }
        match &self.app.directory {
            Some(directory) => {
                let directory = printable(&directory.to_string_lossy());
                say(format_args!("The run is in {directory}; crfe-tui open {directory} shows it again"));
            }
            None => {
                say(
                    "Nothing was written; crfe-tui run DATA.CSV --out RUN writes tables, figures and a report",
                );
            }
        }
        // As `run`: finished with failed tasks.
        if failed.is_empty() || self.app.replay { 0 } else { 4 }
    }
}

/// The file of a view that is written as text.
fn text_file(view: View) -> String {
    format!("{}.txt", view.name().to_lowercase())
}

/// The view as it would be drawn without colours, which text does not have.
fn as_text(app: &mut App, (width, height): (u16, u16)) -> String {
    app.refresh();
    let theme = std::mem::replace(&mut app.theme.depth, Depth::None);
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width.max(1), height.max(1)));
    let Ok(_) = terminal.draw(|frame| {
        draw(frame, app);
    });
    app.theme.depth = theme;
    let buffer = terminal.backend().buffer();
    let row = |y: u16| {
        let mut line = String::new();
        let mut x = 0;
        while x < buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            line.push_str(symbol);
            // The cell behind a wide character is covered by it.
            x += symbol.width().max(1) as u16;
        }
        line.trim_end().to_owned() + "\n"
    };
    (0..buffer.area.height).map(row).collect()
}
