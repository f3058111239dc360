//! Keys, mouse, signals and hang-ups as channel messages.

use std::time::Duration;

use crossbeam_channel::Sender;
use crossterm::event::Event;
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;

/// What comes from outside.
#[derive(Debug)]
pub enum Input {
    /// A key, the mouse, a paste.
    Terminal(Event),
    /// The terminal has another size.
    Resized,
    /// The terminal is gone.
    HungUp,
    /// A signal that ends the program.
    Signal(i32),
}

/// Readable but nothing to read, so often in a row: the terminal is gone.
const EMPTY_READS: usize = 64;

/// Starts the two listening threads; they live as long as the process and are never joined.
pub fn listen(sender: &Sender<Input>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGHUP, SIGINT, SIGWINCH])?;
    let to = sender.clone();
    std::thread::Builder::new().name("crfe-signals".into()).spawn(move || {
        for signal in signals.forever() {
            let input = if signal == SIGWINCH { Input::Resized } else { Input::Signal(signal) };
            if to.send(input).is_err() {
                return;
            }
        }
    })?;
    let to = sender.clone();
    std::thread::Builder::new().name("crfe-input".into()).spawn(move || {
        read_terminal(&to);
        let _ = to.send(Input::HungUp);
    })?;
    Ok(())
}

/// Until the terminal hangs up. crossterm never says so by itself, hence the poll.
fn read_terminal(to: &Sender<Input>) {
    let stdin = std::io::stdin();
    let mut empty = 0;
    loop {
        let mut fds = [PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return,
            Ok(_) => {}
        }
        if fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
            return;
        }
        empty += 1;
        while let Ok(true) = crossterm::event::poll(Duration::ZERO) {
            match crossterm::event::read() {
                Ok(event) => {
                    empty = 0;
                    if to.send(Input::Terminal(event)).is_err() {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
        if empty > EMPTY_READS {
            return;
        }
    }
}
