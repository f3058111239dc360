//! The only list of the files that a report consists of, and how they make way for those of another
//! run.

use std::path::Path;

use super::figures::every_name;
use super::files::writing;
use super::{FIGURES, METHODS, PAGE, SCRIPT, tables, write_figures};
use crate::error::{Error, Result};
use crate::record::{Journals, manifest, refuse_foreign};
use crate::run::RunInfo;

/// The files of a report except figures.
fn beside_figures() -> Vec<String> {
    let tables = tables();
    let packed =
        tables.iter().filter(|name| name.ends_with(".csv")).map(|name| format!("{name}.gz"));
    let plain = tables.iter().chain(&[PAGE, METHODS, SCRIPT]).map(|name| (*name).to_owned());
    plain.chain(packed).collect()
}

/// Every file that [`write_report`](super::write_report) may make, by its name inside the directory
/// of the run.
pub fn outputs() -> Vec<String> {
    let figures = every_name().into_iter().map(|name| format!("{FIGURES}/{name}"));
    beside_figures().into_iter().chain(figures).collect()
}

/// What a directory held before something is written into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeldBefore {
    /// Nothing that shows that it is ours.
    Nothing,
    /// This run, or a report of it.
    ThisRun,
    /// A report of another run, which has been deleted.
    AnotherReport,
}

/// Refuses a directory in which another run is recorded; whether this one is.
pub fn refuse_another_run(directory: &Path, info: &RunInfo) -> Result<bool> {
    let recorded = Journals::open(directory)?;
    if recorded.as_ref().is_some_and(|records| records.info().fingerprint != info.fingerprint) {
        return Err(Error::resume("another run is recorded in this directory")
            .file(directory)
            .remedy("choose another with --out"));
    }
    Ok(recorded.is_some())
}

/// Deletes the report of another run (and the files `also`) from a directory, so that it is not
/// taken for that of this run. Refuses a directory in which the other run itself is recorded, and
/// files with our names that crfe-tui did not write.
pub fn make_way(directory: &Path, info: &RunInfo, also: &[String]) -> Result<HeldBefore> {
    let is_recorded = refuse_another_run(directory, info)?;
    let manifest = manifest(directory);
    let is_ours = is_recorded || manifest["program"] == "crfe-tui";
    if !is_ours {
        let names: Vec<String> = outputs().into_iter().chain(also.iter().cloned()).collect();
        refuse_foreign(directory, &names)?;
    }
    if manifest["fingerprint"].as_str().is_none_or(|fingerprint| fingerprint == info.fingerprint) {
        return Ok(if is_ours { HeldBefore::ThisRun } else { HeldBefore::Nothing });
    }
    let ours = beside_figures();
    writing(directory, |directory| {
        for name in ours.iter().chain(also) {
            directory.remove(name).map_err(|error| {
                Error::output(format!("cannot be deleted: {error}"))
                    .file(directory.path().join(name))
            })?;
        }
        if directory.open_subdirectory(FIGURES).is_ok() {
            write_figures(directory, &[], &[])?;
            // Ignore failure: the directory may hold other files.
            let _ = directory.remove_empty_subdirectory(FIGURES);
        }
        Ok(HeldBefore::AnotherReport)
    })
}
