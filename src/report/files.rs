//! One process at a time writes the files of a report.

use std::path::Path;

use super::{FIGURES, outputs};
use crate::error::Result;
use crate::files::{Directory, unwritable};

/// Held by the process that writes tables, figures and the page.
const LOCK: &str = ".lock-report";

/// Runs `write` while no other process writes a report into this directory, so that the files of
/// two reports are mixed at most while the later one is being written.
pub fn writing<T>(directory: &Path, write: impl FnOnce(&Directory) -> Result<T>) -> Result<T> {
    let failed = |error: std::io::Error| unwritable(directory, &error);
    let directory = Directory::open(directory).map_err(failed)?;
    let lock = directory.lock(LOCK).map_err(failed)?;
    if lock.is_some() {
        remove_leftovers(&directory);
    }
    let written = write(&directory)?;
    directory.sync().map_err(failed)?;
    Ok(written)
}

/// Removes what killed processes left half-written; a leftover that cannot be removed does no harm.
fn remove_leftovers(directory: &Directory) {
    let ours = outputs();
    let _ = directory.remove_leftovers(|name| ours.iter().any(|output| output == name));
    let is_figure = |name: &str| ours.contains(&format!("{FIGURES}/{name}"));
    if let Ok(figures) = directory.open_subdirectory(FIGURES) {
        let _ = figures.remove_leftovers(is_figure);
    }
}
