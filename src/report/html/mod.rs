//! One self-contained page: style, script and figures are inside, and nothing is loaded from
//! anywhere.
//!
//! ```text
//! header     file, rows, classes, guarantee
//! nav        sections                       [all][CRFE][RFE]
//! answer     one card per method: verdict, size, features; comparison; the main figure
//! tested     on rows never seen: intervals, classes worst first, lists of the folds, permutations
//! cautions   figures  tables  data  settings  reproduce  methods
//! ```

mod prose;
mod sections;
mod table;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::{Figure, VERSION};
use crate::analysis::{Answer, History, Paths};
use crate::error::printable;
use crate::run::RunInfo;
use crate::select::Method;

/// The page's file.
pub const PAGE: &str = "report.html";
/// The file with the methods paragraph.
pub const METHODS: &str = "methods.md";

const STYLE: &str = include_str!("page.css");
const BEHAVIOUR: &str = include_str!("page.js");

/// Nothing may be fetched from anywhere, even if a name got past the escaping.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// What the page is made of.
pub struct PageContent<'a> {
    /// Everything that happened.
    pub history: &'a History,
    /// The data and the settings.
    pub info: &'a RunInfo,
    pub answer: &'a Answer,
    pub figures: &'a [Figure],
    /// Missing cells of each unit; none if the table is not at hand.
    pub missing: Option<Vec<usize>>,
    /// The scikit-learn script, or why there is none.
    pub script: std::result::Result<&'a str, &'a str>,
}

impl<'a> PageContent<'a> {
    /// The finished paths of a method.
    fn paths(&self, method: Method) -> Paths<'a> {
        Paths::new(self.history, self.info, method)
    }
}

/// Text from a file or a user without anything that a browser or a terminal would obey; maud
/// escapes it.
fn text(text: &str) -> String {
    printable(text)
}

/// The methods paragraph and its references as Markdown.
pub fn methods(content: &PageContent<'_>) -> String {
    prose::markdown(content)
}

/// The whole page.
pub fn page(content: &PageContent<'_>) -> String {
    let answer = content.answer;
    let parts: [(&str, &str, Markup); 9] = [
        ("answer", "Answer", sections::answer(content)),
        ("tested", "Tested", sections::tested(content)),
        ("cautions", "Cautions", sections::cautions(content)),
        ("figures", "Figures", sections::figures(content)),
        ("tables", "Tables", table::tables(content)),
        ("data", "Data", sections::data(content)),
        ("settings", "Settings", sections::settings(content)),
        ("reproduce", "Reproduce", sections::reproduce(content)),
        ("methods", "Methods", prose::methods(content)),
    ];
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="generator" content={ "crfe-tui " (VERSION) };
                link rel="icon" href="data:,";
                title { "CRFE report: " (text(&answer.input)) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    (sections::header(content))
                    nav aria-label="sections" {
                        @for (id, name, _) in &parts { a href={ "#" (id) } { (name) } " " }
                        @if answer.methods.len() > 1 { (switch(answer)) }
                    }
                }
                main {
                    @for (id, name, inside) in &parts { section id=(id) { h2 { (name) } (inside) } }
                }
                footer.faint { "Made by crfe-tui " (VERSION) ". This page contains no date: the same run gives the same bytes." }
                script { (PreEscaped(BEHAVIOUR)) }
            }
        }
    };
    page.into_string()
}

/// The buttons that show one method alone.
fn switch(answer: &Answer) -> Markup {
    html! {
        span.switch role="group" aria-label="method" {
            button type="button" value="" aria-pressed="true" { "all" }
            @for method in &answer.methods {
                button type="button" value=(method.method.name()) aria-pressed="false" { (method.method) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_and_script_cannot_end_their_element_or_ask_for_anything() {
        for inside in [STYLE, BEHAVIOUR] {
            assert!(!inside.contains("</") && !inside.contains("<!--"));
            assert!(
                !inside.contains("http") && !inside.contains("url(") && !inside.contains("@import")
            );
        }
        assert_eq!(html! { (text("<b>\u{1b}&\"")) }.0, "&lt;b&gt;\\u{1b}&amp;&quot;");
    }
}
