//! `crfe-tui cast RUN`: a recorded run as an asciicast on standard output.

use std::io::{BufWriter, Write};

use super::args::CastArgs;
use crate::error::{Error, Result};
use crate::tui::{CastSettings, Depth, Theme, cast as write_cast};

/// Writes the cast; the exit code.
pub fn cast(args: &CastArgs) -> Result<u8> {
    let depth = match args.colors.as_str() {
        "256" => Depth::Indexed,
        "16" => Depth::Sixteen,
        "none" => Depth::None,
        _ => Depth::True,
    };
    let theme = Theme::new(depth, args.light, args.ascii);
    let settings = CastSettings { size: args.size, speed: args.speed, theme };
    // All of it, or nothing but an error.
    let mut text = Vec::new();
    write_cast(&args.run, settings, &mut text)?;
    let mut out = BufWriter::new(std::io::stdout());
    match out.write_all(&text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::output(format!("standard output cannot be written: {error}")))
        }
        _ => Ok(0),
    }
}
