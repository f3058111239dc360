//! The number of the format of journals, manifests and models. Knows nothing of what they hold.

use crate::error::{Error, Result};

/// Goes up when a file that was written before would be refused or misread.
pub const FORMAT: u32 = 2;

/// Refuses a file that has another format than this program's.
pub fn refuse_another(what: &str, format: u64, remedy: &str) -> Result<()> {
    if format == u64::from(FORMAT) {
        return Ok(());
    }
    Err(Error::data(format!("the {what} has format {format}, and this program reads {FORMAT}"))
        .remedy(remedy))
}
