//! One page with everything, that asks nobody for anything: style, script and figures are inside.
//!
//! ```text
//! header   file, rows, classes, guarantee
//! nav      sections                       [all][CRFE][RFE]
//! answer   one card a method: size, features, what was achieved, cautions
//! figures  tables  data  settings  reproduce  methods
//! ```

mod prose;
mod sections;
mod table;

use super::Figure;
use super::escaped;
use crate::analysis::{Answer, History, Paths};
use crate::error::printable;
use crate::run::RunInfo;
use crate::select::Method;

/// The page's file.
pub const PAGE: &str = "report.html";

const STYLE: &str = include_str!("page.css");
const BEHAVIOUR: &str = include_str!("page.js");

/// Nothing may be fetched from anywhere, even if something got past the escaping.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";

/// What the page is made of.
pub struct Material<'a> {
    /// Everything that happened.
    pub history: &'a History,
    /// What was run on what.
    pub info: &'a RunInfo,
    /// The answer.
    pub answer: &'a Answer,
    /// The figures.
    pub figures: &'a [Figure],
    /// The scikit-learn script, or why there is none.
    pub script: std::result::Result<&'a str, &'a str>,
}

impl<'a> Material<'a> {
    /// The finished paths of a method.
    fn paths(&self, method: Method) -> Paths<'a> {
        Paths::new(self.history, self.info, method)
    }
}

/// Text from a file or a user: shown, never obeyed.
fn text(text: &str) -> String {
    escaped(&printable(text))
}

/// The whole page.
pub fn page(material: &Material<'_>) -> String {
    let answer = material.answer;
    let title = format!("CRFE report: {}", text(&answer.input));
    let mut switch = String::new();
    if answer.methods.len() > 1 {
        switch.push_str("<span class=\"switch\" role=\"group\" aria-label=\"method\"><button type=\"button\" value=\"\" aria-pressed=\"true\">all</button>");
        for method in &answer.methods {
            switch.push_str(&format!(
                "<button type=\"button\" value=\"{}\" aria-pressed=\"false\">{}</button>",
                method.method.name(),
                method.method
            ));
        }
        switch.push_str("</span>");
    }
    let parts: [(&str, &str, String); 7] = [
        ("answer", "Answer", sections::answer(material)),
        ("figures", "Figures", sections::figures(material)),
        ("tables", "Tables", table::tables(material)),
        ("data", "Data", sections::data(material)),
        ("settings", "Settings", sections::settings(material)),
        ("reproduce", "Reproduce", sections::reproduce(material)),
        ("methods", "Methods", prose::methods(material)),
    ];
    let links: String = parts.iter().map(|(id, name, _)| format!("<a href=\"#{id}\">{name}</a>\n")).collect();
    let body: String = parts
        .iter()
        .map(|(id, name, inside)| format!("<section id=\"{id}\">\n<h2>{name}</h2>\n{inside}</section>\n"))
        .collect();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" \
         content=\"{POLICY}\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" \
         content=\"crfe-tui {}\">\n<link rel=\"icon\" href=\"data:,\">\n<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         <header>\n{}<nav aria-label=\"sections\">\n{links}{switch}\n</nav>\n</header>\n<main>\n{body}</main>\n<footer class=\"faint\">Made by crfe-tui {}. \
         This page holds no times: the same run gives the same bytes.</footer>\n<script>\n{BEHAVIOUR}</script>\n</body>\n</html>\n",
        crate::report::VERSION,
        sections::header(material),
        crate::report::VERSION,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn style_and_script_cannot_end_their_element_or_ask_for_anything() {
        for inside in [STYLE, BEHAVIOUR] {
            assert!(!inside.contains("</") && !inside.contains("<!--"));
            assert!(!inside.contains("http") && !inside.contains("url(") && !inside.contains("@import"));
        }
        assert_eq!(text("<b>\u{1b}&\"'"), "&lt;b&gt;\\u{1b}&amp;&quot;&#39;");
    }
}
