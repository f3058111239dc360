//! The parts of the page: header, answer, figures, data, settings, how to reproduce it.

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
pub fn header(material: &Material<'_>) -> String {
    let answer = material.answer;
    let guarantee = if answer.guaranteed { "guaranteed" } else { "<strong>guarantee void</strong>" };
    format!(
        "<h1>{}</h1>\n<p class=\"faint\">{} rows, {} {}, {} classes in “{}” · {} {}, {} calibration · target coverage {} ({guarantee})</p>\n",
        text(&answer.input),
        answer.rows,
        answer.features,
        if answer.features == 1 { "feature" } else { "features" },
        answer.classes.len(),
        text(&answer.target),
        answer.splits,
        if answer.splits == 1 { "split" } else { "splits" },
        answer.calibration,
        answer.target_coverage,
    )
}

fn caution(words: &str) -> String {
    format!("<p class=\"caution\">{}</p>\n", text(words))
}

/// One card a method, and what to beware of.
pub fn answer(material: &Material<'_>) -> String {
    let mut html: String = material.answer.cautions.iter().map(|words| caution(words)).collect();
    html.push_str("<div class=\"cards\">\n");
    html.extend(material.answer.methods.iter().map(|method| card(material, method)));
    html.push_str("</div>\n");
    html
}

fn card(material: &Material<'_>, answer: &MethodAnswer) -> String {
    let headline = match answer.chosen.size {
        Some(1) => "1 feature".to_owned(),
        Some(size) => format!("{size} features"),
        None => "no size chosen".to_owned(),
    };
    let beside: String = answer
        .beside
        .iter()
        .map(|rule| format!("; {}", rule.words("no rule was asked to choose", answer.splits)))
        .collect();
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
    let list = if answer.features.is_empty() { String::new() } else { table.html() };
    let more = match answer.features.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => {
            format!("<p class=\"note\">and {more} more: selected.txt and summary.json have them all.</p>\n")
        }
    };
    let cautions: String = answer.cautions.iter().map(|words| caution(words)).collect();
    format!(
        "<div class=\"card\" data-method=\"{}\">\n<h3>{}</h3>\n<p class=\"big\">{headline}</p>\n<p class=\"faint\">{}{beside}</p>\n{}{cautions}{list}{more}{}</div>\n",
        answer.method.name(),
        answer.method,
        &answer.chosen.words("no rule was asked to choose", answer.splits),
        tested(material, answer),
        achieved(material, answer),
    )
}

/// What was measured on rows that the procedure never saw: first among the numbers.
fn tested(material: &Material<'_>, answer: &MethodAnswer) -> String {
    let lines = tested_lines(answer, &material.info.classes);
    if lines.is_empty() {
        return String::new();
    }
    let list: String = lines
        .iter()
        .map(|(label, value)| format!("<dt>{}</dt><dd>{}</dd>\n", text(label), text(value)))
        .collect();
    format!("<p class=\"note\">{}</p>\n<dl>\n{list}</dl>\n", text(&tested_headline(answer)))
}

fn achieved(material: &Material<'_>, answer: &MethodAnswer) -> String {
    let Some(achieved) = &answer.achieved else { return String::new() };
    let sd = |sd: Option<f64>| sd.map_or_else(String::new, |sd| format!(" ± {sd:.3}"));
    let void = if material.answer.guaranteed { "" } else { "; guarantee void" };
    let band = match achieved.coverage_band {
        Some((lo, hi)) => format!(
            " (target {}; 95 % band of one valid split {lo:.3} to {hi:.3})",
            material.answer.target_coverage
        ),
        None => format!(" (target {}{void})", material.answer.target_coverage),
    };
    let stability = answer.stability.map_or_else(String::new, |stability| {
        format!("<dt>stability</dt><dd>{stability:.3} (Nogueira; below 0.4 is poor)</dd>\n")
    });
    format!(
        "<dl>\n<dt>coverage</dt><dd>{:.3}{band}</dd>\n<dt>inefficiency</dt><dd>{:.3}{} of {} classes</dd>\n<dt>accuracy</dt><dd>{:.3}{}</dd>\n{stability}</dl>\n\
         <p class=\"note\">What the splits' own subsets of this size achieved on their test rows, mean ± standard deviation over splits (splits overlap, so the mean is known better than that).</p>\n",
        achieved.coverage,
        achieved.inefficiency,
        sd(achieved.inefficiency_sd),
        material.info.classes.len(),
        achieved.accuracy,
        sd(achieved.accuracy_sd),
    )
}

/// The figures, each with its caption.
pub fn figures(material: &Material<'_>) -> String {
    let mut html =
        "<p class=\"note\">Each is a file in the directory figures.</p>\n<div class=\"figures\">\n"
            .to_owned();
    for figure in material.figures {
        let method =
            figure.method.map_or_else(String::new, |method| format!(" data-method=\"{}\"", method.name()));
        html.push_str(&format!(
            "<figure id=\"figure-{}\"{method}>\n{}<figcaption><strong>{}.</strong> {}</figcaption>\n</figure>\n",
            figure.name,
            figure.svg,
            text(&figure.title),
            text(&figure.caption),
        ));
    }
    html.push_str("</div>\n");
    html
}

/// What was understood of the table.
pub fn data(material: &Material<'_>) -> String {
    let info = material.info;
    let mut html = String::from("<ul>\n");
    for note in info.audit.notes.iter().take(MOST_LINES) {
        let mark = if note.level == Level::Warning { "<strong>Warning:</strong> " } else { "" };
        html.push_str(&format!("<li>{mark}{}</li>\n", text(&note.text)));
    }
    html.push_str("</ul>\n");
    let more = |all: usize| match all.saturating_sub(MOST_LINES) {
        0 => String::new(),
        more => format!("<p class=\"note\">and {more} more: manifest.json has them all.</p>\n"),
    };
    html.push_str(&more(info.audit.notes.len()));
    let mut classes = Table::new(&["class", "rows#"]);
    for (class, &count) in info.classes.iter().zip(&info.class_counts).take(MOST_LINES) {
        classes.row(None, &[Cell::Text(class.clone()), Cell::Int(count)]);
    }
    html.push_str(&classes.html());
    html.push_str(&more(info.classes.len()));
    if !info.dropped.is_empty() {
        let mut dropped = Table::new(&["column that is not used", "why"]);
        for column in info.dropped.iter().take(MOST_LINES) {
            dropped.row(None, &[Cell::Text(column.name.clone()), Cell::Text(column.reason.clone())]);
        }
        html.push_str(&dropped.html());
        html.push_str(&more(info.dropped.len()));
    }
    html
}

/// Everything that determines the result.
pub fn settings(material: &Material<'_>) -> String {
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
    let lines: String = rows
        .iter()
        .map(|(name, value)| format!("<dt>{}</dt><dd>{}</dd>\n", text(name), text(value)))
        .collect();
    format!("<dl>\n{lines}</dl>\n")
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
pub fn reproduce(material: &Material<'_>) -> String {
    let command = shell_command(&material.info.spec, &material.info.input);
    let script = match material.script {
        Ok(script) => format!(
            "<p>This Python script repeats the first split with scikit-learn's LinearSVC and compares the order of removal; it is also in the \
             file reproduce.py.</p>\n<pre id=\"script\" tabindex=\"0\">{}</pre>\n",
            crate::report::escaped(script)
        ),
        Err(reason) => format!("<p class=\"note\">There is no scikit-learn script: {}.</p>\n", text(reason)),
    };
    format!(
        "<p>With the same file (its SHA-256 is above) and no configuration file or CRFE_* variables, on any number of threads:</p>\n\
         <pre class=\"wrap\" id=\"command\">{}</pre>\n{script}",
        text(&command)
    )
}
