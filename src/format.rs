//! The number of the format of journals, manifests and models. Knows nothing of what they hold.

use crate::error::{Error, Result};

/// Goes up when a file that was written before would be refused or misread.
pub const FORMAT: u32 = 2;

/// Refuses a file that has another format than this program's; the remedy is for an older one.
pub fn refuse_another(what: &str, format: u64, remedy: &str) -> Result<()> {
    if format == u64::from(FORMAT) {
        return Ok(());
    }
    let newer = "use the newer crfe-tui that wrote it";
    let remedy = if format > u64::from(FORMAT) { newer } else { remedy };
    Err(Error::data(format!("the {what} has format {format}, and this program reads {FORMAT}"))
        .remedy(remedy))
}
