//! The loop of every screen: waits for whatever comes first, lets the screen change, and draws when
//! there is something new. Draws on any ratatui backend.

use std::io;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Select};
use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::{Position, Rect};
use ratatui::{Frame, Terminal};

use super::listen::InputEvent;
use super::screen::{ScreenSettings, ended_by_signal};
use super::terminal::Console;

/// What a person does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    Key(KeyEvent),
    Mouse(MouseEvent),
}

/// What a screen asks of the loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// Another screen, or the shell.
    Leave,
    /// Give the terminal back until the process is told to go on.
    Suspend,
    /// Put text on the clipboard.
    Copy(String),
}

/// One screen under the loop.
pub(super) trait Screen {
    /// Adds the channels of what runs behind the screen.
    fn listen<'a>(&'a self, select: &mut Select<'a>);

    /// When [`Screen::receive`] is due though nothing has come.
    fn due(&mut self) -> Option<Instant> {
        None
    }

    /// Takes what has come from behind and does what is due; whether anything has changed.
    fn receive(&mut self) -> bool;

    /// Takes a key or the mouse.
    fn handle(&mut self, input: Input) -> Vec<Request>;

    /// Whether there is nothing to show any more.
    fn is_over(&self) -> bool {
        false
    }

    /// Computes what the next frame needs, and asks for what is missing.
    fn prepare(&mut self) {}

    /// Draws; starts no work.
    fn draw(&mut self, frame: &mut Frame<'_>);

    /// What is said instead of drawn, if it is time to say something; `is_asked` after a key.
    fn plain(&mut self, is_asked: bool) -> Option<String>;
}

/// Whether the loop goes on, or with which code it ends.
pub(super) type Flow = std::ops::ControlFlow<u8>;

/// The terminal, what is typed there, and when to draw.
pub(super) struct EventLoop<'a, B: Console> {
    pub(super) terminal: &'a mut Terminal<B>,
    inputs: &'a Receiver<InputEvent>,
    frame_time: Duration,
    next_frame: Instant,
    dirty: bool,
    /// Sentences and tables instead of frames.
    is_plain: bool,
    /// A key was pressed since something was said.
    is_asked: bool,
    /// What was said last.
    said: String,
}

/// An error of any backend as one of the terminal.
fn failed<E: std::error::Error + Send + Sync + 'static>(error: E) -> io::Error {
    io::Error::other(error)
}

impl<'a, B: Console> EventLoop<'a, B> {
    /// On a terminal.
    pub(super) fn new(
        terminal: &'a mut Terminal<B>,
        inputs: &'a Receiver<InputEvent>,
        settings: &ScreenSettings,
    ) -> Self {
        Self {
            terminal,
            inputs,
            frame_time: Duration::from_secs_f64(1.0 / settings.fps),
            next_frame: Instant::now(),
            dirty: true,
            is_plain: settings.plain,
            is_asked: true,
            said: String::new(),
        }
    }

    /// Shows a screen until it is left; the exit code.
    pub(super) fn run(&mut self, screen: &mut impl Screen) -> u8 {
        self.dirty = true;
        let ended = loop {
            match self.draw_if_due(screen).and_then(|()| self.wait(screen)) {
                Ok(Flow::Continue(())) => {}
                Ok(Flow::Break(code)) => break Ok(code),
                Err(error) => break Err(error),
            }
        };
        // A signal cuts a write short. A terminal that is gone cannot be written to, and nobody
        // reads the error either.
        ended.unwrap_or_else(|_| ended_by_signal().unwrap_or(128 + 1))
    }

    pub(super) fn draw_if_due(&mut self, screen: &mut impl Screen) -> io::Result<()> {
        if !self.dirty || Instant::now() < self.next_frame {
            return Ok(());
        }
        screen.prepare();
        if !self.is_plain {
            self.terminal.backend_mut().begin_frame()?;
            self.terminal.draw(|frame| screen.draw(frame)).map_err(failed)?;
            self.terminal.backend_mut().end_frame()?;
        } else if let Some(text) = screen.plain(self.is_asked) {
            self.is_asked = false;
            if text != self.said {
                self.terminal.backend_mut().say(&text)?;
                self.said = text;
            }
        }
        self.dirty = false;
        self.next_frame = Instant::now() + self.frame_time;
        Ok(())
    }

    /// Waits for something to happen: input, something from behind, what is due, or the time of the
    /// next frame while something has changed.
    pub(super) fn wait(&mut self, screen: &mut impl Screen) -> io::Result<Flow> {
        let deadline = self.wake_up(screen);
        let mut select = Select::new();
        select.recv(self.inputs);
        screen.listen(&mut select);
        match deadline {
            // That it is late is no news.
            Some(deadline) => drop(select.ready_deadline(deadline)),
            None => drop(select.ready()),
        }
        // Typing ahead is taken in before the next frame.
        loop {
            match self.inputs.try_recv() {
                Ok(input) => {
                    if let Flow::Break(code) = self.take(input, screen)? {
                        return Ok(Flow::Break(code));
                    }
                }
                Err(error) if error.is_disconnected() => return Ok(Flow::Break(1)),
                Err(_) => break,
            }
        }
        self.dirty |= screen.receive();
        Ok(if screen.is_over() { Flow::Break(0) } else { Flow::Continue(()) })
    }

    /// When to wake up though nothing has happened.
    pub(super) fn wake_up(&self, screen: &mut impl Screen) -> Option<Instant> {
        let frame = self.dirty.then_some(self.next_frame);
        [frame, screen.due()].into_iter().flatten().min()
    }

    fn take(&mut self, input: InputEvent, screen: &mut impl Screen) -> io::Result<Flow> {
        self.dirty = true;
        let input = match input {
            InputEvent::Ended(code) => return Ok(Flow::Break(code)),
            InputEvent::Resized => {
                self.redraw()?;
                return Ok(Flow::Continue(()));
            }
            InputEvent::Input(input) => input,
        };
        self.is_asked = true;
        for request in screen.handle(input) {
            match request {
                Request::Leave => return Ok(Flow::Break(0)),
                Request::Suspend => {
                    self.terminal.backend_mut().suspend()?;
                    self.redraw()?;
                }
                Request::Copy(text) => self.terminal.backend_mut().copy(&text)?,
            }
        }
        Ok(Flow::Continue(()))
    }

    /// The terminal has another size, or what it showed is lost: everything is drawn anew.
    fn redraw(&mut self) -> io::Result<()> {
        let size = self.terminal.size().map_err(failed)?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size))).map_err(failed)
    }
}
