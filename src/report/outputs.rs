//! The only list of the files that a report consists of, and how they make way for those of another
//! run.

use std::path::Path;

use serde_json::json;

use super::figures::every_name;
use super::files::writing;
use super::tables::{MANIFEST, write_settings};
use super::{FIGURES, METHODS, PAGE, SCRIPT, tables, write_figures};
use crate::analysis::History;
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

/// Refuses to replace a report of this run by one that covers fewer tasks.
pub fn refuse_fewer_tasks(directory: &Path, history: &History) -> Result<()> {
    let Some(info) = history.info() else { return Ok(()) };
    let old = manifest(directory);
    let same = old["fingerprint"] == info.fingerprint && old["spec"] == json!(info.spec);
    // One without results has no such field.
    let has_results = old["failed"].is_array();
    let lacks = old["unfinished"].as_u64().unwrap_or(0);
    if same && has_results && lacks < history.unfinished() as u64 {
        return Err(Error::resume(
            "the tables in this directory cover tasks that are missing here",
        )
        .file(directory)
        .remedy("name the directories of all shards, or choose another --out"));
    }
    Ok(())
}

/// Deletes the report of another run (and the files `also`) from a directory, so that it is not
/// taken for that of this run, and marks the directory as this run's before anything else is
/// written. Refuses a directory in which the other run itself is recorded, and files with our names
/// that crfe-tui did not write.
pub fn make_way(directory: &Path, info: &RunInfo, also: &[String]) -> Result<HeldBefore> {
    let is_recorded = refuse_another_run(directory, info)?;
    let manifest = manifest(directory);
    let is_ours = is_recorded || manifest["program"] == "crfe-tui";
    if !is_ours {
        let names: Vec<String> = outputs().into_iter().chain(also.iter().cloned()).collect();
        refuse_foreign(directory, &names)?;
    }
    if manifest["fingerprint"].as_str().is_none_or(|fingerprint| fingerprint == info.fingerprint) {
        if is_ours {
            return Ok(HeldBefore::ThisRun);
        }
        write_settings(directory, info)?;
        return Ok(HeldBefore::Nothing);
    }
    let ours = beside_figures();
    writing(directory, |directory| {
        let remove = |name: &str| {
            directory.remove(name).map_err(|error| {
                Error::output(format!("cannot be deleted: {error}"))
                    .file(directory.path().join(name))
            })
        };
        for name in ours.iter().chain(also).filter(|&name| name != MANIFEST) {
            remove(name)?;
        }
        if directory.open_subdirectory(FIGURES).is_ok() {
            write_figures(directory, &[], &[])?;
            // Ignore failure: the directory may hold other files.
            let _ = directory.remove_empty_subdirectory(FIGURES);
        }
        // What shows that the directory is ours goes last: an interrupted deletion can be repeated.
        remove(MANIFEST)
    })?;
    write_settings(directory, info)?;
    Ok(HeldBefore::AnotherReport)
}
