//! The terminal: enter, leave, suspend; writes that a signal can cut short; and a panic hook that
//! gives the terminal back.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::ThreadId;

use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::{Hide, Show};
use crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use crossterm::{Command, execute, queue};
use ratatui::Terminal;
use ratatui::backend::{Backend, CrosstermBackend, TestBackend};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::termios::{QueueSelector, tcflush, tcgetsid};

/// A frame is one write, not one per cell.
const FRAME_BYTES: usize = 64 * 1024;

/// Ends an escape sequence that was cut off in its middle.
const CANCEL: &[u8] = b"\x18";

/// Whether the alternate screen is ours now: the panic hook must know.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Whether the mouse is listened to.
static MOUSE: AtomicBool = AtomicBool::new(false);

/// Lines are written instead of a screen.
static PLAIN: AtomicBool = AtomicBool::new(false);

/// The signal that ends the program; 0 until one has come.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// What a dashboard draws on: a backend that can also do what is no drawing. By default it does
/// none of it, as in a test.
pub trait Console: Backend<Error: Send + Sync + 'static> {
    /// Comes before a frame.
    fn begin_frame(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Comes after a frame.
    fn end_frame(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Writes lines, where nothing is drawn.
    fn say(&mut self, _text: &str) -> io::Result<()> {
        Ok(())
    }

    /// Puts text on the clipboard.
    fn copy(&mut self, _text: &str) -> io::Result<()> {
        Ok(())
    }

    /// Stops the process until it is told to go on.
    fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Console for TestBackend {}

/// The terminal that is drawn on.
pub type RealBackend = CrosstermBackend<BufWriter<Output>>;

impl Console for RealBackend {
    /// A frame is shown as a whole.
    fn begin_frame(&mut self) -> io::Result<()> {
        queue!(self, BeginSynchronizedUpdate)
    }

    fn end_frame(&mut self) -> io::Result<()> {
        execute!(self, EndSynchronizedUpdate)
    }

    /// In raw mode a line ends with both characters.
    fn say(&mut self, text: &str) -> io::Result<()> {
        self.write_all(format!("\n{text}").replace('\n', "\r\n").as_bytes())?;
        Write::flush(self)
    }

    fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self, CopyToClipboard::to_clipboard_from(text))?;
        if std::env::var_os("TMUX").is_some() {
            // By default tmux keeps what programs copy from the terminal, unless it is told to pass
            // it through.
            self.write_all(passed_through(text).as_bytes())?;
            Write::flush(self)?;
        }
        Ok(())
    }

    /// Gives the terminal back, stops the process, and takes the terminal again when it goes on.
    fn suspend(&mut self) -> io::Result<()> {
        let mouse = MOUSE.load(Ordering::SeqCst);
        give_back();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::TSTP)?;
        take(mouse)
    }
}

/// The sequence that copies a text, wrapped so that tmux hands it on to its terminal.
fn passed_through(text: &str) -> String {
    let mut copy = String::new();
    // Writing to a String cannot fail.
    let _ = CopyToClipboard::to_clipboard_from(text).write_ansi(&mut copy);
    format!("\x1bPtmux;{}\x1b\\", copy.replace('\x1b', "\x1b\x1b"))
}

/// Holds the terminal while the dashboard is on it; dropping it gives the terminal back.
pub struct TerminalGuard {
    // Never dropped: ratatui's destructor writes to the terminal, and panics where terminal and
    // standard error are gone.
    terminal: ManuallyDrop<Terminal<RealBackend>>,
}

impl TerminalGuard {
    /// Takes the terminal over; plain, it only takes single keys.
    pub fn enter(mouse: bool, plain: bool) -> io::Result<Self> {
        install_hook();
        PLAIN.store(plain, Ordering::SeqCst);
        let mouse = mouse && !plain;
        take(mouse)?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(FRAME_BYTES, Output));
        let terminal = Terminal::new(backend).inspect_err(|_| give_back())?;
        Ok(Self { terminal: ManuallyDrop::new(terminal) })
    }

    /// What to draw on.
    pub fn terminal(&mut self) -> &mut Terminal<RealBackend> {
        &mut self.terminal
    }
}

impl Drop for TerminalGuard {
    fn drop(&mut self) {
        give_back();
    }
}

/// Writes to the terminal; a signal that ends the program cuts short a write that nobody reads.
#[derive(Debug, Clone, Copy)]
pub struct Output;

/// The terminal, opened a second time so that it does not block: for standard output itself, which
/// other programs share, that must not change. Where the terminal does not control this process
/// there is none, and standard output is written.
static TERMINAL: OnceLock<Option<File>> = OnceLock::new();

/// Closed at one end, a pipe is readable at the other: that wakes whoever waits for the terminal.
static INTERRUPT: OnceLock<Option<(OwnedFd, OwnedFd)>> = OnceLock::new();

fn own_terminal() -> Option<&'static File> {
    let open = || {
        tcgetsid(rustix::stdio::stdout()).ok()?;
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        rustix::fs::open("/dev/tty", flags, Mode::empty()).ok().map(File::from)
    };
    TERMINAL.get_or_init(open).as_ref()
}

fn interrupt_pipe() -> Option<&'static (OwnedFd, OwnedFd)> {
    INTERRUPT.get_or_init(|| rustix::pipe::pipe().ok()).as_ref()
}

/// Lets no write to the terminal wait any longer, because this signal ends the program.
pub fn interrupt_writes(signal: i32) {
    SIGNAL.store(signal, Ordering::SeqCst);
    if let Some((_, wake)) = interrupt_pipe() {
        // It stays readable: nobody reads this byte.
        let _ = rustix::io::write(wake, &[0]);
    }
}

/// The signal that ends the program, once it has come.
pub fn interrupting_signal() -> Option<i32> {
    Some(SIGNAL.load(Ordering::SeqCst)).filter(|&signal| signal != 0)
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(mut terminal) = own_terminal() else {
            return io::stdout().write(bytes);
        };
        loop {
            match terminal.write(bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => until_writable(terminal)?,
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if own_terminal().is_some() { Ok(()) } else { io::stdout().flush() }
    }
}

/// Waits until the terminal takes more, or a signal ends the program.
fn until_writable(terminal: &File) -> io::Result<()> {
    loop {
        if interrupting_signal().is_some() {
            return Err(io::Error::other("a signal came while the terminal was not read"));
        }
        let mut fds = vec![PollFd::new(terminal, PollFlags::OUT)];
        fds.extend(
            interrupt_pipe()
                .map(|(signal, _)| PollFd::from_borrowed_fd(signal.as_fd(), PollFlags::IN)),
        );
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) if fds[0].revents().is_empty() => {}
            Ok(_) => return Ok(()),
        }
    }
}

fn take(mouse: bool) -> io::Result<()> {
    // Made before a signal can need it.
    interrupt_pipe();
    MOUSE.store(mouse, Ordering::SeqCst);
    enable_raw_mode()?;
    ENTERED.store(true, Ordering::SeqCst);
    if PLAIN.load(Ordering::SeqCst) {
        return Ok(());
    }
    execute!(Output, EnterAlternateScreen, Hide).inspect_err(|_| give_back())?;
    if mouse {
        execute!(Output, EnableMouseCapture).inspect_err(|_| give_back())?;
    }
    Ok(())
}

/// Leaves the terminal as it was. Errors are of no use here: the terminal may be gone.
pub fn give_back() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        if write_restoring().is_err()
            && let Some(terminal) = own_terminal()
        {
            // Nobody reads: what waits to be read is dropped, and makes room for what restores the
            // screen.
            let _ = tcflush(terminal, QueueSelector::OFlush);
            let _ = Output.write_all(CANCEL).and_then(|()| write_restoring());
        }
        let _ = disable_raw_mode();
    }
}

fn write_restoring() -> io::Result<()> {
    if PLAIN.load(Ordering::SeqCst) {
        return Ok(());
    }
    execute!(Output, EndSynchronizedUpdate, DisableMouseCapture, LeaveAlternateScreen, Show)
}

/// A panic on the thread that draws gives the terminal back before it is told; on any other the
/// screen lives on, and whoever started the thread tells what happened.
fn install_hook() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        let draws = std::thread::current().id();
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
