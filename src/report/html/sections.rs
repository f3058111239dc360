//! The parts of the page: header, answer, figures, data, settings, how to reproduce it.

use maud::{Markup, PreEscaped, html};

use super::table::{Cell, Table};
use super::{Material, text};
use crate::analysis::MethodAnswer;
use crate::data::Level;
use crate::report::command::shell_command;
use crate::report::summary::{tested_headline, tested_lines};

/// Features listed on a card.
const LISTED: usize = 60;
/// Dropped columns and notes that are listed.
const MOST_LINES: usize = 200;

/// What was run on what, and whether coverage is guaranteed.
pub fn header(material: &Material<'_>) -> Markup {
    let answer = material.answer;
    let (features, splits) = (counted(answer.features, "feature"), counted(answer.splits, "split"));
    html! {
        h1 { (text(&answer.input)) }
        p.faint {
            (answer.rows) " rows, " (features) ", " (answer.classes.len()) " classes in “" (text(&answer.target)) "” · "
            (splits) ", " (answer.calibration) " calibration · target coverage " (answer.target_coverage) " ("
            @if answer.guaranteed { "guaranteed" } @else { strong { "guarantee void" } }
            ")"
        }
    }
}

/// `1 feature`, `7 features`.
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

fn caution(words: &str) -> Markup {
    html! { p.caution { (text(words)) } }
}

/// Names and values.
fn list(lines: &[(String, String)]) -> Markup {
    html! { dl { @for (name, value) in lines { dt { (text(name)) } dd { (text(value)) } } } }
}

/// One card per method, and what to beware of.
pub fn answer(material: &Material<'_>) -> Markup {
    html! {
        @for words in &material.answer.cautions { (caution(words)) }
        .cards { @for method in &material.answer.methods { (card(material, method)) } }
    }
}

fn card(material: &Material<'_>, answer: &MethodAnswer) -> Markup {
    let headline =
        answer.chosen.size.map_or_else(|| "no size chosen".to_owned(), |size| counted(size, "feature"));
    let none = "no rule was asked to choose";
    let mut table = Table::new(&["no.#", "feature", "splits#", "mean rank#", "adjusted p#"]);
    for (i, feature) in answer.features.iter().take(LISTED).enumerate() {
        let rank = match feature.mean_rank {
            Some(rank) => Cell::Rank(rank),
            None => Cell::Text("kept".to_owned()),
        };
        let p = feature.adjusted_p.map_or_else(String::new, |p| format!("{p:.2}"));
        let name = Cell::Text(feature.name.clone());
        table.row(None, &[Cell::Int(i + 1), name, Cell::Int(feature.count), rank, Cell::Text(p)]);
    }
    let more = answer.features.len().saturating_sub(LISTED);
    html! {
        .card data-method=(answer.method.name()) {
            h3 { (answer.method) }
            p.big { (headline) }
            p.faint {
                (answer.chosen.words(none, answer.splits))
                @for rule in &answer.beside { "; " (rule.words(none, answer.splits)) }
            }
            (tested(material, answer))
            @for words in &answer.cautions { (caution(words)) }
            @if !answer.features.is_empty() { (table.html()) }
            @if more > 0 { p.note { "and " (more) " more: selected.txt and summary.json have them all." } }
            (achieved(material, answer))
        }
    }
}

/// What was measured on rows that the procedure never saw: first among the numbers.
fn tested(material: &Material<'_>, answer: &MethodAnswer) -> Markup {
    let lines = tested_lines(answer, &material.info.classes);
    html! {
        @if !lines.is_empty() { p.note { (text(&tested_headline(answer))) } (list(&lines)) }
    }
}

fn achieved(material: &Material<'_>, answer: &MethodAnswer) -> Markup {
    let Some(achieved) = &answer.achieved else { return Markup::default() };
    let sd = |sd: Option<f64>| sd.map_or_else(String::new, |sd| format!(" ± {sd:.3}"));
    let void = if material.answer.guaranteed { "" } else { "; guarantee void" };
    let target = material.answer.target_coverage;
    let band = match achieved.coverage_band {
        Some((lo, hi)) => format!(" (target {target}; 95 % band of one valid split {lo:.3} to {hi:.3})"),
        None => format!(" (target {target}{void})"),
    };
    let classes = material.info.classes.len();
    let line = |name: &str, value: String| (name.to_owned(), value);
    let mut lines = vec![
        line("coverage", format!("{:.3}{band}", achieved.coverage)),
        line(
            "inefficiency",
            format!("{:.3}{} of {classes} classes", achieved.inefficiency, sd(achieved.inefficiency_sd)),
        ),
        line("accuracy", format!("{:.3}{}", achieved.accuracy, sd(achieved.accuracy_sd))),
    ];
    let stability = answer.stability.map(|stability| format!("{stability:.3} (Nogueira; below 0.4 is poor)"));
    lines.extend(stability.map(|stability| line("stability", stability)));
    html! {
        (list(&lines))
        p.note {
            "What the splits' own subsets of this size achieved on their test rows, mean ± standard deviation over splits (splits overlap, \
             so the mean is known better than that)."
        }
    }
}

/// The figures, each with its caption.
pub fn figures(material: &Material<'_>) -> Markup {
    html! {
        p.note { "Each is a file in the directory figures." }
        .figures {
            @for figure in material.figures {
                figure id={ "figure-" (figure.name) } data-method=[figure.method.map(|method| method.name())] {
                    (PreEscaped(&figure.svg))
                    figcaption { strong { (text(&figure.title)) "." } " " (text(&figure.caption)) }
                }
            }
        }
    }
}

/// What was understood of the table.
pub fn data(material: &Material<'_>) -> Markup {
    let info = material.info;
    let more = |all: usize| match all.saturating_sub(MOST_LINES) {
        0 => Markup::default(),
        more => html! { p.note { "and " (more) " more: manifest.json has them all." } },
    };
    let mut classes = Table::new(&["class", "rows#"]);
    for (class, &count) in info.classes.iter().zip(&info.class_counts).take(MOST_LINES) {
        classes.row(None, &[Cell::Text(class.clone()), Cell::Int(count)]);
    }
    let mut dropped = Table::new(&["column that is not used", "why"]);
    for column in info.dropped.iter().take(MOST_LINES) {
        dropped.row(None, &[Cell::Text(column.name.clone()), Cell::Text(column.reason.clone())]);
    }
    html! {
        ul {
            @for note in info.audit.notes.iter().take(MOST_LINES) {
                li { @if note.level == Level::Warning { strong { "Warning:" } " " } (text(&note.text)) }
            }
        }
        (more(info.audit.notes.len()))
        (classes.html())
        (more(info.classes.len()))
        @if !info.dropped.is_empty() { (dropped.html()) (more(info.dropped.len())) }
    }
}

/// Everything that determines the result.
pub fn settings(material: &Material<'_>) -> Markup {
    let info = material.info;
    let mut rows = vec![
        ("version".to_owned(), crate::report::VERSION.to_owned()),
        ("input".to_owned(), info.input.clone()),
        ("SHA-256 of the input".to_owned(), info.input_sha256.clone()),
    ];
    if let Some(sha256) = &info.splits_sha256 {
        rows.push(("SHA-256 of the splits".to_owned(), sha256.clone()));
    }
    rows.push(("fingerprint".to_owned(), info.fingerprint.clone()));
    rows.push(("seed".to_owned(), info.spec.split.seed.to_string()));
    if let Ok(spec) = serde_json::to_value(&info.spec) {
        flatten("", &spec, &mut rows);
    }
    list(&rows)
}

/// `split.seed = 0` and so on, in the order of the options' names; what is not set is left out.
fn flatten(prefix: &str, value: &serde_json::Value, rows: &mut Vec<(String, String)>) {
    match value {
        serde_json::Value::Object(inside) => {
            for (name, value) in inside {
                let name = name.replace('_', " ");
                let name = if prefix.is_empty() { name } else { format!("{prefix}: {name}") };
                flatten(&name, value, rows);
            }
        }
        serde_json::Value::Null => {}
        serde_json::Value::Array(items) if items.is_empty() => {}
        serde_json::Value::Array(items) => {
            let words: Vec<String> = items.iter().map(plain).collect();
            rows.push((prefix.to_owned(), words.join(", ")));
        }
        other => rows.push((prefix.to_owned(), plain(other))),
    }
}

fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// How to get this again, with this program and with another.
pub fn reproduce(material: &Material<'_>) -> Markup {
    let command = shell_command(&material.info.spec, &material.info.input);
    html! {
        p { "With the same file (its SHA-256 is above) and no configuration file or CRFE_* variables, on any number of threads:" }
        pre.wrap id="command" { (text(&command)) }
        @match material.script {
            Ok(script) => {
                p {
                    "This Python script repeats the first split with scikit-learn's LinearSVC and compares the order of removal; it is also in \
                     the file reproduce.py."
                }
                pre id="script" tabindex="0" { (script) }
            }
            Err(reason) => { p.note { "There is no scikit-learn script: " (text(reason)) "." } }
        }
    }
}
