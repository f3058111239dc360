//! SIGTERM, SIGINT and SIGHUP as messages: the first asks for an orderly end, a second one ends at
//! once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_channel::{Receiver, bounded};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::{Error, Result};

/// Received signals, until dropped.
#[derive(Debug)]
pub struct Signals {
    received: Receiver<i32>,
    listening: Arc<AtomicBool>,
}

impl Signals {
    /// Listens until dropped; afterwards a signal ends the program as by default.
    pub fn listen() -> Result<Self> {
        let wanted: &[i32] =
            if survives_the_terminal() { &[SIGTERM, SIGINT] } else { &[SIGTERM, SIGINT, SIGHUP] };
        let mut signals = signal_hook::iterator::Signals::new(wanted)
            .map_err(|error| Error::internal(format!("signals cannot be received: {error}")))?;
        let (send, received) = bounded(1);
        let listening = Arc::new(AtomicBool::new(true));
        let still = listening.clone();
        let spawned = std::thread::Builder::new().spawn(move || {
            for signal in &mut signals {
                if !still.load(Ordering::Acquire) || send.try_send(signal).is_err() {
                    std::process::exit(128 + signal);
                }
            }
        });
        spawned.map_err(|error| Error::no_thread(&error))?;
        Ok(Self { received, listening })
    }

    /// The number of the first signal.
    pub fn received(&self) -> &Receiver<i32> {
        &self.received
    }
}

/// Whether the program was started with SIGHUP ignored, as nohup does; it then stays ignored. False
/// where the system does not tell.
fn survives_the_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| (mask >> (SIGHUP - 1)) & 1 == 1)
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.listening.store(false, Ordering::Release);
    }
}
