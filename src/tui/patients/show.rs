//! Keeps the screen of patients going: rows are read and measured behind it, keys and rows are
//! taken as they come.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded, never, select, unbounded};
use crossterm::event::{Event, KeyEventKind, MouseEventKind};
use ratatui::Terminal;

use super::{PatientsScreen, Reply};
use crate::data::RowBatch;
use crate::error::{Error, Result};
use crate::model::{Measured, Model, RowSource, Scoreboard, ScoredRow, Scorer, SourceFacts};
use crate::run::panic_text;
use crate::tui::action::Action;
use crate::tui::event_loop::{failed, redraw};
use crate::tui::listen::{InputEvent, listen};
use crate::tui::screen::{ScreenSettings, broken_terminal, ended_by_signal};
use crate::tui::terminal::{Console, TerminalGuard};

/// Batches that wait to be taken, at most.
const WAITING: usize = 64;

/// What comes from behind.
enum FromFile {
    Rows(RowBatch, Vec<ScoredRow>),
    All(SourceFacts),
    Measured(Box<Option<Measured>>),
    Failed(Error),
}

/// Shows new patients until the user leaves; the exit code.
pub fn show_model(
    model: Model,
    name: &str,
    source: RowSource,
    epsilon: Option<f64>,
    settings: ScreenSettings,
) -> Result<u8> {
    let model = Arc::new(model);
    let scorer = Scorer::new(&model, epsilon)?;
    let mut screen = PatientsScreen::new(&scorer, name, settings.theme, settings.keymap.clone());
    let (sender, inputs) = unbounded();
    let (send, rows) = bounded(WAITING);
    let mut guard =
        TerminalGuard::enter(settings.mouse, settings.plain).map_err(broken_terminal)?;
    listen(&sender).map_err(broken_terminal)?;
    read_behind(model.clone(), source, epsilon, send)?;
    let ended = keep_going(&mut screen, guard.terminal(), &inputs, rows, &settings);
    drop(guard);
    drop(inputs);
    match ended {
        Ok(ended) => ended,
        Err(_) => Ok(ended_by_signal().unwrap_or(128 + 1)),
    }
}

/// Reads, predicts and measures on another thread, which ends when nobody listens any more.
fn read_behind(
    model: Arc<Model>,
    source: RowSource,
    epsilon: Option<f64>,
    send: Sender<FromFile>,
) -> Result<()> {
    let read = move || {
        let gone = |_| Error::internal("nobody listens");
        let work = || -> Result<()> {
            let scorer = Scorer::new(&model, epsilon)?;
            let mut board = Scoreboard::new(&scorer);
            let facts = scorer.each_batch(&source, |batch, rows| {
                rows.iter().for_each(|row| board.add(row));
                send.send(FromFile::Rows(batch, rows)).map_err(gone)
            })?;
            send.send(FromFile::All(facts)).map_err(gone)?;
            let measured = board.measure(&model, scorer.epsilon());
            send.send(FromFile::Measured(Box::new(measured))).map_err(gone)
        };
        let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
            .unwrap_or_else(|panic| Err(Error::internal(panic_text(&*panic))));
        if let Err(error) = worked {
            let _ = send.send(FromFile::Failed(error));
        }
    };
    let spawned = std::thread::Builder::new().name("crfe-patients".into()).spawn(read);
    spawned.map(drop).map_err(|error| Error::internal(format!("no thread can be started: {error}")))
}

/// Takes whatever comes first and draws when something has changed; the exit code, or why the file
/// cannot be used.
fn keep_going(
    screen: &mut PatientsScreen<'_>,
    terminal: &mut Terminal<impl Console>,
    inputs: &Receiver<InputEvent>,
    mut rows: Receiver<FromFile>,
    settings: &ScreenSettings,
) -> io::Result<Result<u8>> {
    let frame_time = Duration::from_secs_f64(1.0 / settings.fps);
    let mut next_frame = Instant::now();
    let mut is_dirty = true;
    let mut told = String::new();
    loop {
        if is_dirty && Instant::now() >= next_frame {
            screen.refresh();
            if settings.plain {
                // Once everything is there, and then after every key.
                let text = screen.plain();
                if !screen.is_reading() && text != told {
                    terminal.backend_mut().tell(&text)?;
                    told = text;
                }
            } else {
                terminal.backend_mut().begin_frame()?;
                terminal.draw(|frame| screen.draw(frame)).map_err(failed)?;
                terminal.backend_mut().end_frame()?;
            }
            (is_dirty, next_frame) = (false, Instant::now() + frame_time);
        }
        let timer = if is_dirty { crossbeam_channel::at(next_frame) } else { never() };
        select! {
            recv(inputs) -> input => {
                let Ok(input) = input else { return Ok(Ok(1)) };
                for input in std::iter::once(input).chain(inputs.try_iter()) {
                    if let Some(code) = take(screen, input, terminal)? {
                        return Ok(Ok(code));
                    }
                }
                is_dirty = true;
            }
            recv(rows) -> message => {
                match message {
                    Ok(FromFile::Rows(batch, scored)) => screen.add(batch, scored),
                    Ok(FromFile::All(facts)) => screen.finish(facts),
                    Ok(FromFile::Measured(measured)) => screen.measured(*measured),
                    Ok(FromFile::Failed(error)) => return Ok(Err(error)),
                    Err(_) => rows = never(),
                }
                is_dirty = true;
            }
            recv(timer) -> _ => {}
        }
    }
}

/// Takes what comes from outside; the exit code if it ends the screen.
fn take(
    screen: &mut PatientsScreen<'_>,
    input: InputEvent,
    terminal: &mut Terminal<impl Console>,
) -> io::Result<Option<u8>> {
    let reply = match input {
        InputEvent::HungUp => return Ok(Some(128 + 1)),
        InputEvent::Signal(number) => return Ok(Some(128 + u8::try_from(number).unwrap_or(0))),
        InputEvent::Resized | InputEvent::Terminal(Event::Resize(..)) => {
            redraw(terminal)?;
            Reply::Stay
        }
        // Typing ahead sees the rows as they were sorted.
        InputEvent::Terminal(Event::Key(key)) if key.kind != KeyEventKind::Release => {
            screen.refresh();
            screen.key(key)
        }
        InputEvent::Terminal(Event::Mouse(mouse)) => match mouse.kind {
            MouseEventKind::ScrollUp => screen.act(Action::Up),
            MouseEventKind::ScrollDown => screen.act(Action::Down),
            _ => Reply::Stay,
        },
        InputEvent::Terminal(_) => Reply::Stay,
    };
    match reply {
        Reply::Stay => Ok(None),
        Reply::Quit => Ok(Some(0)),
        Reply::Suspend => {
            terminal.backend_mut().suspend()?;
            redraw(terminal)?;
            Ok(None)
        }
    }
}
