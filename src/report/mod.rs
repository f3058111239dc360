//! What stays when the program has ended: the answer, tables, figures, a page, a summary; and progress while it runs.

mod command;
mod figures;
mod files;
mod html;
mod progress;
mod reproduce;
mod rows;
mod summary;
mod tables;
mod together;

pub use command::{command_line, for_a_shell};
pub use figures::{FIGURES, Figure, figures, write_figures};
pub use html::PAGE;
pub use progress::{Progress, Reading};
pub use reproduce::SCRIPT;
pub use summary::summary;
pub use tables::{TABLES, write_tables};
use together::{Job, together};

use std::path::Path;

use crate::analysis::{Answer, History};
use crate::error::{Error, Result};
use crate::files::Directory;
use crate::record::{Records, manifest, refuse_foreign};
use crate::run::{Plan, RunInfo};

/// The version of the program, with the commit it was built from where that is known.
pub const VERSION: &str = env!("CRFE_VERSION");

/// Every file that [`write_report`] may make, by its name inside the directory of the run.
pub fn outputs() -> Vec<String> {
    let figures = figures::every_name().into_iter().map(|name| format!("{FIGURES}/{name}.svg"));
    let packed = TABLES.iter().filter(|name| name.ends_with(".csv")).map(|name| format!("{name}.gz"));
    let plain = TABLES.iter().chain(&[PAGE, SCRIPT]).map(|name| (*name).to_owned());
    plain.chain(packed).chain(figures).collect()
}

/// Writes everything that stays of a run into its directory: tables, figures and the page. Without a plan (the data are
/// not at hand) what needs the rows is left out. Files are made on so many threads at most.
pub fn write_report(directory: &Path, history: &History, plan: Option<&Plan>, threads: usize) -> Result<()> {
    let (Some(info), Some(answer)) = (history.info(), Answer::new(history)) else {
        return Err(Error::internal("there is no run to report"));
    };
    files::writing(directory, |directory| {
        let tables = tables::Tables { history, info, answer: &answer, directory };
        let mut jobs: Vec<Job<'_>> = vec![Box::new(|| write_page(directory, history, info, &answer, plan))];
        jobs.extend(tables.jobs(plan));
        together(&jobs, threads)
    })
}

/// The figures, the script and the page.
fn write_page(
    directory: &Directory,
    history: &History,
    info: &RunInfo,
    answer: &Answer,
    plan: Option<&Plan>,
) -> Result<()> {
    let figures = figures(history, answer);
    write_figures(directory, &figures)?;
    let script = reproduce::script(history, plan)?;
    match &script {
        Ok(script) => directory.write(SCRIPT, script.as_bytes())?,
        // One of an earlier run would not belong to this page; that there is none is as good.
        Err(_) => drop(directory.remove(SCRIPT)),
    }
    let script = script.as_deref().map_err(|reason| *reason);
    let page = html::page(&html::Material { history, info, answer, figures: &figures, script });
    directory.write(PAGE, page.as_bytes())
}

/// Before files of a run go into a directory: those of another run (and `also`) are deleted, so that nobody takes them for this
/// one's; whether there were any. Refused where that other run is recorded itself, or where files of our names are somebody else's.
pub fn make_way(directory: &Path, info: &RunInfo, also: &[String]) -> Result<bool> {
    let of_another = |fingerprint: &str| fingerprint != info.fingerprint;
    let recorded = Records::open(directory)?;
    if recorded.as_ref().is_some_and(|records| of_another(&records.info().fingerprint)) {
        return Err(Error::resume("another run is recorded in this directory")
            .file(directory)
            .remedy("choose another with --out"));
    }
    let manifest = manifest(directory);
    if recorded.is_none() && manifest["program"] != "crfe-tui" {
        refuse_foreign(directory, &outputs())?;
    }
    if !manifest["fingerprint"].as_str().is_some_and(of_another) {
        return Ok(false);
    }
    let ours = TABLES.iter().chain(&[PAGE, SCRIPT]).copied().chain(also.iter().map(String::as_str));
    files::writing(directory, |directory| {
        for name in ours {
            directory.remove(name).map_err(|error| {
                Error::output(format!("cannot be deleted: {error}")).file(directory.path().join(name))
            })?;
        }
        if directory.open_subdirectory(FIGURES).is_ok() {
            write_figures(directory, &[])?;
            // It stays if it holds something that is not ours.
            let _ = directory.remove_empty_subdirectory(FIGURES);
        }
        Ok(true)
    })
}

/// Text as it may stand in XML and HTML.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}
