//! The answer as custom content of MultiQC: a table with a line for each method, and the version of
//! the program.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::escaped;
use crate::analysis::{Answer, ByHand, MethodAnswer};
use crate::error::printable;

/// The table.
pub const MULTIQC: &str = "crfe_mqc.json";
/// The version, for MultiQC's list of software.
pub const MULTIQC_VERSIONS: &str = "crfe_mqc_versions.yml";

/// A column of the table: its key, title, description, settings, and its value if there is one.
type QcColumn = (
    &'static str,
    &'static str,
    &'static str,
    fn() -> Value,
    fn(&MethodAnswer, &Answer) -> Option<Value>,
);

const COLUMNS: [QcColumn; 10] = [
    ("features", "Features", "Features of the list", count, |answer, _| {
        Some(json!(answer.chosen.size?))
    }),
    ("verdict", "Verdict", "How far the data support the list", dict, |answer, _| {
        Some(json!(answer.verdict))
    }),
    ("accuracy", "Accuracy", "Accuracy of the nested validation", share, |answer, _| {
        Some(json!(answer.tested.as_ref()?.performance.as_ref()?.accuracy.value))
    }),
    (
        "no_information_rate",
        "Largest class",
        "Accuracy of always answering the largest class",
        share,
        |answer, _| Some(json!(answer.tested.as_ref()?.performance.as_ref()?.no_information_rate)),
    ),
    (
        "coverage",
        "Coverage",
        "Share of validated rows whose prediction set holds their class",
        share,
        |answer, _| Some(json!(answer.tested.as_ref()?.performance.as_ref()?.coverage.value)),
    ),
    ("target_coverage", "Target", "Target coverage, 1 − ε", share, |_, whole| {
        Some(json!(whole.target_coverage))
    }),
    (
        "set_size",
        "Set size",
        "Mean size of the prediction sets of validated rows",
        number,
        |answer, _| Some(json!(answer.tested.as_ref()?.performance.as_ref()?.set_size.value)),
    ),
    (
        "stability",
        "Stability",
        "Nogueira's stability of the selection over splits",
        number,
        |answer, _| Some(json!(answer.stability?)),
    ),
    (
        "p_chance",
        "p (chance)",
        "How often permuted labels are predicted as well",
        p,
        |answer, _| Some(json!(answer.by_chance.as_ref()?.p?)),
    ),
    ("cautions", "Cautions", "Cautions about the run and the method", count, |answer, whole| {
        Some(json!(answer.cautions.len() + whole.cautions.len()))
    }),
];

fn count() -> Value {
    json!({"format": "{:,.0f}", "min": 0})
}

fn share() -> Value {
    json!({"format": "{:,.3f}", "min": 0, "max": 1})
}

fn number() -> Value {
    json!({"format": "{:,.3f}", "min": 0})
}

/// Two digits that count: three decimals would show a small p as 0.
fn p() -> Value {
    json!({"format": "{:,.2g}", "min": 0})
}

fn dict() -> Value {
    json!({})
}

/// The table of MultiQC: one sample per method, named after the file and the method. What was set
/// by hand is part of the name: MultiQC keeps one of two samples with the same name.
pub fn multiqc(answer: &Answer, by_hand: ByHand) -> Value {
    let stem = Path::new(&answer.input)
        .file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let mut headers = Map::new();
    for (place, (key, title, description, settings, _)) in COLUMNS.into_iter().enumerate() {
        let mut header = settings();
        // Keys of an object have no order: MultiQC goes by the placement.
        header["placement"] = json!(place);
        header["title"] = json!(title);
        header["description"] = json!(description);
        headers.insert(key.to_owned(), header);
    }
    let sample = |method: &MethodAnswer| {
        let cells = COLUMNS
            .iter()
            .filter_map(|(key, _, _, _, value)| Some(((*key).to_owned(), value(method, answer)?)));
        let by_hand = by_hand.name().map_or_else(String::new, |name| format!(" ({name})"));
        (
            escaped(&printable(&format!("{stem} {}{by_hand}", method.method))),
            Value::Object(cells.collect()),
        )
    };
    json!({
        "id": "crfe_tui",
        "section_name": "crfe-tui",
        "section_href": "https://crates.io/crates/crfe-tui",
        "description": "Conformal recursive feature elimination: the list of each method, and how it did on rows that it never saw.",
        "plot_type": "table",
        "pconfig": {"id": "crfe_tui_table", "title": "crfe-tui: selected features", "namespace": "crfe-tui"},
        "headers": headers,
        "data": answer.methods.iter().map(sample).collect::<Map<String, Value>>(),
    })
}

/// The version of the program as MultiQC reads it.
pub fn multiqc_versions() -> String {
    format!("crfe-tui: \"{}\"\n", env!("CARGO_PKG_VERSION"))
}
