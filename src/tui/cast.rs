//! A recorded run as an asciicast: what the dashboard would have shown, drawn without a terminal.

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::Path;
use std::rc::Rc;

use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use serde_json::json;

use super::action::Action;
use super::app::App;
use super::keymap::Keymap;
use super::theme::Theme;
use super::view::View;
use super::view::draw;
use crate::error::{Error, Result};
use crate::record::Journals;

/// How a cast looks.
#[derive(Debug, Clone, Copy)]
pub struct CastSettings {
    /// Columns and rows.
    pub size: (u16, u16),
    /// Steps played per second.
    pub speed: f64,
    /// Colours and glyphs.
    pub theme: Theme,
}

/// Seconds for which a view without motion is shown.
const STILL: f64 = 5.0;

/// Bytes that a terminal would be sent.
#[derive(Debug, Clone, Default)]
struct Sent(Rc<RefCell<Vec<u8>>>);

impl Write for Sent {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes a run as an asciicast (version 2): one split is played in Explore, then every other view
/// is shown.
pub fn cast(directory: &Path, settings: CastSettings, out: &mut impl Write) -> Result<()> {
    let none = || Error::data("there is no run in this directory").file(directory);
    let mut records = Journals::open(directory)?.ok_or_else(none)?;
    let info = records.info().clone();
    let mut app =
        App::new(directory.to_path_buf(), info.spec.clone(), settings.theme, Keymap::default());
    app.set_replay();
    app.choose_view(View::Explore);
    records.replay(|event| app.event(&event))?;
    app.scrub(0);
    app.update(Action::TogglePlay);
    let mut film = Film::new(settings, out).map_err(unwritten)?;
    film.begin(&info.input).map_err(unwritten)?;
    film.frame(&mut app).map_err(unwritten)?;
    while app.can_play() {
        film.time += 1.0 / settings.speed;
        app.tick();
        film.frame(&mut app).map_err(unwritten)?;
    }
    for view in View::ALL.into_iter().filter(|&view| view != View::Explore) {
        film.time += STILL;
        app.choose_view(view);
        film.frame(&mut app).map_err(unwritten)?;
    }
    film.time += STILL;
    film.write("").map_err(unwritten)
}

fn unwritten(error: io::Error) -> Error {
    Error::output(format!("the cast cannot be written: {error}"))
}

struct Film<'a, W: Write> {
    out: &'a mut W,
    sent: Sent,
    terminal: Terminal<CrosstermBackend<Sent>>,
    size: (u16, u16),
    time: f64,
}

impl<'a, W: Write> Film<'a, W> {
    fn new(settings: CastSettings, out: &'a mut W) -> io::Result<Self> {
        let (width, height) = settings.size;
        let sent = Sent::default();
        let viewport = Viewport::Fixed(Rect { x: 0, y: 0, width, height });
        let backend = CrosstermBackend::new(sent.clone());
        let terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
        Ok(Self { out, sent, terminal, size: settings.size, time: 0.0 })
    }

    fn begin(&mut self, title: &str) -> io::Result<()> {
        let (width, height) = self.size;
        let head = json!({"version": 2, "width": width, "height": height, "title": format!("crfe-tui {title}")});
        writeln!(self.out, "{head}")?;
        // Without the cursor, on an empty screen.
        self.write("\x1b[?25l\x1b[2J\x1b[H")
    }

    fn frame(&mut self, app: &mut App) -> io::Result<()> {
        app.refresh();
        app.set_size(self.size.0, self.size.1);
        self.terminal.draw(|frame| drop(draw(frame, app)))?;
        let bytes = std::mem::take(&mut *self.sent.0.borrow_mut());
        self.write(&String::from_utf8_lossy(&bytes))
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        // To the millisecond.
        let time = (self.time * 1000.0).round() / 1000.0;
        writeln!(self.out, "{}", json!([time, "o", text]))
    }
}
