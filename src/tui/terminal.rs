//! The screen: enter, leave, suspend; and a panic hook that gives the terminal back.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Frame, Terminal};

/// A frame is one write, not one a cell.
const FRAME_BYTES: usize = 64 * 1024;

/// Whether the alternate screen is ours now: the panic hook must know.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// The terminal while the dashboard is on it; dropping it gives the terminal back.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    mouse: bool,
}

impl Screen {
    /// Takes the terminal over.
    pub fn enter(mouse: bool) -> io::Result<Self> {
        install_hook();
        take(mouse)?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(FRAME_BYTES, io::stdout()));
        let terminal = Terminal::new(backend).inspect_err(|_| give_back())?;
        Ok(Self { terminal, mouse })
    }

    /// Draws one frame in one synchronised write.
    pub fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        self.terminal.draw(render)?;
        queue!(self.terminal.backend_mut(), EndSynchronizedUpdate)?;
        self.terminal.backend_mut().flush()
    }

    /// The terminal has another size, or what it showed is lost: draw everything anew.
    pub fn resize(&mut self) -> io::Result<()> {
        let (width, height) = crossterm::terminal::size()?;
        self.terminal.resize(Rect::new(0, 0, width, height))
    }

    /// Writes something that is not a frame, such as the clipboard.
    pub fn send(&mut self, command: impl crossterm::Command) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), command)
    }

    /// Gives the terminal back, stops the process, and takes the terminal again when it goes on.
    pub fn suspend(&mut self) -> io::Result<()> {
        give_back();
        #[cfg(unix)]
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP)?;
        take(self.mouse)?;
        self.resize()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take(mouse: bool) -> io::Result<()> {
    enable_raw_mode()?;
    ENTERED.store(true, Ordering::SeqCst);
    let mut out = io::stdout();
    execute!(out, EnterAlternateScreen, Hide).inspect_err(|_| give_back())?;
    if mouse {
        execute!(out, EnableMouseCapture).inspect_err(|_| give_back())?;
    }
    Ok(())
}

/// Leaves the terminal as it was. Errors are of no use here: the terminal may be gone.
pub fn give_back() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        let _ = execute!(out, EndSynchronizedUpdate, DisableMouseCapture, LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
    }
}

/// A panic on the thread that draws gives the terminal back before it is told; on any other the screen lives on, and whoever
/// started the thread tells what happened.
fn install_hook() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let (usual, draws) = (std::panic::take_hook(), std::thread::current().id());
        let here = move |id: ThreadId| id == draws;
        std::panic::set_hook(Box::new(move |panic| {
            if here(std::thread::current().id()) {
                give_back();
            }
            if !ENTERED.load(Ordering::SeqCst) {
                usual(panic);
            }
        }));
    });
}
