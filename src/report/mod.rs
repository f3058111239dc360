//! What stays when the program has ended: the answer, tables, figures, a page, a summary; and progress while it runs.

mod answer;
mod command;
mod figures;
mod files;
mod html;
mod pairs;
mod progress;
mod reproduce;
mod summary;
mod tables;

pub use answer::{Achieved, Answer, ChosenFeature, MethodAnswer, RuleSize, common_sizes, one_se};
pub use command::{command_line, for_a_shell};
pub use figures::{FIGURES, Figure, figures, write_figures};
pub use html::PAGE;
pub use progress::{Progress, Reading};
pub use reproduce::SCRIPT;
pub use summary::summary;
pub use tables::{TABLES, write_tables};

use std::path::Path;

use crate::error::Result;
use crate::history::History;
use crate::run::Plan;

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
/// not at hand) what needs the rows is left out.
pub fn write_report(directory: &Path, history: &History, plan: Option<&Plan>) -> Result<()> {
    write_tables(directory, history, plan)?;
    let (Some(info), Some(answer)) = (history.info(), Answer::new(history)) else { return Ok(()) };
    let figures = figures(history, &answer)?;
    write_figures(directory, &figures)?;
    let script = reproduce::script(history, plan)?;
    match &script {
        Ok(script) => files::write_whole(directory, SCRIPT, script.as_bytes())?,
        // One of an earlier run would not belong to this page; that there is none is as good.
        Err(_) => drop(std::fs::remove_file(directory.join(SCRIPT))),
    }
    let script = script.as_deref().map_err(|reason| *reason);
    let page = html::page(&html::Material { history, info, answer: &answer, figures: &figures, script });
    files::write_whole(directory, PAGE, page.as_bytes())
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
