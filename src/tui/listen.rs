//! Keys, mouse, signals and hang-ups as channel messages.

use crossbeam_channel::Sender;
use crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, MouseEventKind};
use rustix::event::{PollFd, PollFlags, poll};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;

use super::event_loop::Input;
use super::terminal::interrupt_writes;

/// What comes from outside.
#[derive(Debug)]
pub enum InputEvent {
    /// A key or the mouse.
    Input(Input),
    /// The terminal has another size.
    Resized,
    /// A signal or a terminal that is gone ends the program, with this code.
    Ended(u8),
}

impl InputEvent {
    /// A terminal that is gone.
    const HUNG_UP: Self = Self::Ended(128 + 1);

    /// A signal that ends the program.
    fn signal(number: i32) -> Self {
        Self::Ended(128 + u8::try_from(number).unwrap_or(0))
    }

    /// What an event of the terminal means: two keys at most, often nothing.
    fn of(event: Event) -> Vec<Self> {
        match event {
            Event::Resize(..) => vec![Self::Resized],
            // Esc and a key typed in one breath arrive as Alt and that key.
            Event::Key(key) if key.modifiers.contains(KeyModifiers::ALT) => {
                let modifiers = key.modifiers - KeyModifiers::ALT;
                let keys = [KeyEvent::from(KeyCode::Esc), KeyEvent { modifiers, ..key }];
                let is_pressed = key.kind != KeyEventKind::Release;
                keys.into_iter().filter(|_| is_pressed).map(Input::Key).map(Self::Input).collect()
            }
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                vec![Self::Input(Input::Key(key))]
            }
            // A mouse that only passes by changes nothing.
            Event::Mouse(mouse) if mouse.kind != MouseEventKind::Moved => {
                vec![Self::Input(Input::Mouse(mouse))]
            }
            _ => Vec::new(),
        }
    }
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
            let input = if ends { InputEvent::signal(signal) } else { InputEvent::Resized };
            if to.send(input).is_err() && ends {
                std::process::exit(128 + signal);
            }
        }
    })?;
    let to = sender.clone();
    std::thread::Builder::new().name("crfe-input".into()).spawn(move || {
        // An error is a terminal that cannot be read any more; nothing else ends this.
        while let Ok(event) = crossterm::event::read() {
            for input in InputEvent::of(event) {
                if to.send(input).is_err() {
                    return;
                }
            }
        }
        let _ = to.send(InputEvent::HUNG_UP);
    })?;
    let to = sender.clone();
    std::thread::Builder::new().name("crfe-hangup".into()).spawn(move || {
        if hangs_up() {
            let _ = to.send(InputEvent::HUNG_UP);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alt_is_esc_and_the_key() {
        let key = KeyEvent::new(KeyCode::Char('z'), KeyModifiers::ALT);
        let expected = [KeyCode::Esc, KeyCode::Char('z')].map(KeyEvent::from).map(Input::Key);
        let inputs: Vec<Input> = InputEvent::of(Event::Key(key))
            .into_iter()
            .filter_map(|event| match event {
                InputEvent::Input(input) => Some(input),
                InputEvent::Resized | InputEvent::Ended(_) => None,
            })
            .collect();
        assert_eq!(inputs, expected);
        let released = KeyEvent { kind: KeyEventKind::Release, ..key };
        assert!(InputEvent::of(Event::Key(released)).is_empty());
    }
}
