//! A file is written whole or not at all.

use std::io::Write;
use std::path::Path;

use crate::error::{Error, Result};

/// Writes beside, then renames: a reader sees the old file or the new one.
pub fn write_whole(directory: &Path, name: &str, bytes: &[u8]) -> Result<()> {
    let (path, beside) = (directory.join(name), directory.join(format!(".{name}.part")));
    let write = || {
        let mut file = std::fs::File::create(&beside)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        std::fs::rename(&beside, &path)
    };
    write().map_err(|error| {
        // The half-written file is of no use; that it may stay is not worth a second error.
        let _ = std::fs::remove_file(&beside);
        Error::output(format!("cannot write: {error}"))
            .file(&path)
            .remedy("make room, or choose another directory with --out")
    })
}
