//! What a run leaves behind: tables, figures, the page and the summary; and progress while it runs.
//! Formats what `analysis` computes.

mod columns;
mod command;
mod figures;
mod files;
mod html;
mod measured;
mod outputs;
mod progress;
mod reproduce;
mod rows;
mod summary;
mod tables;
mod together;

pub use columns::columns;
pub use command::{command_line, fit_command, for_a_shell, shell_command};
pub use figures::{FIGURES, Figure, FigureOptions, Format, figures, write_figures};
pub use html::{METHODS, PAGE};
pub use measured::{measured_lines, measured_text};
pub use outputs::{HeldBefore, make_way, outputs, refuse_another_run, refuse_fewer_tasks};
pub use progress::{Progress, ReadingProgress};
pub use reproduce::SCRIPT;
pub use summary::{summary, tested_lines_of};
pub use tables::{tables, write_tables};
use together::{Job, together};

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use crate::analysis::{Answer, History, MethodAnswer};
use crate::error::{Error, Result};
use crate::files::Directory;
use crate::run::{EffectCurve, Plan, effects};
use crate::select::Method;

/// The version of the program, with the commit it was built from where that is known.
pub const VERSION: &str = env!("CRFE_VERSION");

/// Writes everything that remains of a run into its directory: tables, figures and the page;
/// warnings about them. Without a plan (the data are not at hand) what needs the rows is left out.
/// Files are written on at most this many threads.
pub fn write_report(
    directory: &Path,
    history: &History,
    plan: Option<&Plan>,
    options: &FigureOptions,
    threads: usize,
) -> Result<Vec<String>> {
    let (Some(info), Some(answer)) = (history.info(), Answer::new(history)) else {
        return Err(Error::internal("there is no run to report"));
    };
    let effects = plan.map_or_else(|| Ok(Vec::new()), |plan| effects_of_lists(plan, &answer))?;
    let figures = figures(history, &answer, &effects, options)?;
    let notes = Mutex::new(Vec::new());
    files::writing(directory, |directory| {
        let tables = tables::Tables { history, info, answer: &answer, directory };
        let mut jobs: Vec<Job<'_>> = vec![
            Box::new(|| {
                let warnings = write_figures(directory, &figures, &options.formats)?;
                notes.lock().unwrap_or_else(PoisonError::into_inner).extend(warnings);
                Ok(())
            }),
            Box::new(|| {
                let missing = plan.map(|plan| plan.data.missing_by_unit());
                let answer = &answer;
                let figures = &figures;
                let script = Err("");
                let content = html::PageContent { history, info, answer, figures, missing, script };
                write_page(directory, content, plan)
            }),
        ];
        jobs.extend(tables.jobs(plan, &effects));
        together(&jobs, threads)
    })?;
    Ok(notes.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Features of a list whose effects are shown: the first ones.
const MOST_EFFECTS: usize = 12;
/// Longer lists have no effects: each takes the model of the whole list.
const LONGEST_LIST: usize = 200;

/// The effects of the features of each method's list.
fn effects_of_lists(plan: &Plan, answer: &Answer) -> Result<Vec<(Method, Vec<EffectCurve>)>> {
    let with_list = |answer: &&MethodAnswer| (1..=LONGEST_LIST).contains(&answer.features.len());
    let of_list = |answer: &MethodAnswer| {
        let units: Vec<usize> = answer.features.iter().map(|feature| feature.unit).collect();
        Ok((answer.method, effects(plan, &units, &units[..units.len().min(MOST_EFFECTS)])?))
    };
    answer.methods.iter().filter(with_list).map(of_list).collect()
}

/// The script, the methods paragraph and the page.
fn write_page(
    directory: &Directory,
    content: html::PageContent<'_>,
    plan: Option<&Plan>,
) -> Result<()> {
    let script = reproduce::script(content.history, plan)?;
    match &script {
        Ok(script) => directory.write(SCRIPT, script.as_bytes())?,
        // One of an earlier run would not belong to this page. Ignore failure: there may be none.
        Err(_) => drop(directory.remove(SCRIPT)),
    }
    let content =
        html::PageContent { script: script.as_deref().map_err(|reason| *reason), ..content };
    directory.write(METHODS, html::methods(&content).as_bytes())?;
    directory.write(PAGE, html::page(&content).as_bytes())
}

/// Text escaped for XML.
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
