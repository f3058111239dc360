//! Keys, mouse, signals and hang-ups as channel messages.

use crossbeam_channel::Sender;
use crossterm::event::Event;
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;

use super::terminal::interrupt_writes;

/// What comes from outside.
#[derive(Debug)]
pub enum InputEvent {
    /// A key, the mouse, a paste.
    Terminal(Event),
    /// The terminal has another size.
    Resized,
    /// The terminal is gone.
    HungUp,
    /// A signal that ends the program.
    Signal(i32),
}

/// Starts the listening threads; they live as long as the process and are never joined.
pub fn listen(sender: &Sender<InputEvent>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGWINCH])?;
    let to = sender.clone();
    std::thread::Builder::new().name("crfe-signals".into()).spawn(move || {
        for signal in signals.forever() {
            let ends = signal != SIGWINCH;
            if ends {
                // The loop may be blocked in a write to a terminal that nobody reads.
                interrupt_writes(signal);
            }
            let input = if ends { InputEvent::Signal(signal) } else { InputEvent::Resized };
            if to.send(input).is_err() && ends {
                std::process::exit(128 + signal);
            }
        }
    })?;
    let to = sender.clone();
    std::thread::Builder::new().name("crfe-input".into()).spawn(move || {
        // An error is a terminal that cannot be read any more; nothing else ends this.
        while let Ok(event) = crossterm::event::read() {
            if to.send(InputEvent::Terminal(event)).is_err() {
                return;
            }
        }
        let _ = to.send(InputEvent::HungUp);
    })?;
    let to = sender.clone();
    std::thread::Builder::new().name("crfe-hangup".into()).spawn(move || {
        if hangs_up() {
            let _ = to.send(InputEvent::HungUp);
        }
    })?;
    Ok(())
}

/// Waits until the terminal hangs up, which crossterm never says by itself; false where that cannot
/// be waited for.
fn hangs_up() -> bool {
    let stdin = std::io::stdin();
    loop {
        // Asked for nothing, poll tells of hang-ups and errors alone: keys do not wake this.
        let mut fds = [PollFd::new(&stdin, PollFlags::empty())];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => {}
            Ok(_) if fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) => return true,
            Ok(_) | Err(_) => return false,
        }
    }
}
