//! What the fuzz targets share: the functions under test, and a directory to put files in.

use std::path::PathBuf;

#[path = "../../tests/any_bytes/mod.rs"]
mod any_bytes;

pub use any_bytes::{
    good_journal, good_model, groups_and_splits, journal, magnitudes, model, table, workbook,
};

/// A directory of this process.
pub fn desk() -> PathBuf {
    let desk = std::env::temp_dir().join(format!("crfe-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&desk).expect("the temporary directory can be written");
    desk
}
