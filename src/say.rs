//! Output: messages on standard error, data on standard output. Neither may panic.

use std::fmt::Display;
use std::io::{ErrorKind, Write};

use crate::error::{Error, Result};

/// Prints a line on standard error in one write. A closed pipe or a full disk loses the line, not
/// the run.
pub fn say(words: impl Display) {
    let _ = std::io::stderr().lock().write_all(format!("{words}\n").as_bytes());
}

/// Prints on standard output; a closed pipe is not an error.
pub fn print(data: &[u8]) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(data).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Error::output(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(()),
    }
}
