//! A scikit-learn script that repeats one split's path, so that the result can be checked with
//! other software.

use serde::Serialize;

use crate::analysis::History;
use crate::data::{DONOR_LIMIT, Impute, Origin, STANDARD_INPUT};
use crate::error::Result;
use crate::run::{Plan, RunInfo, TaskId};
use crate::select::Method;
use crate::svm::{ClassWeight, Estimator, SolverKind};

/// The file beside the page.
pub const SCRIPT: &str = "reproduce.py";

const TEMPLATE: &str = include_str!("reproduce.py");

/// Eliminations that are repeated: LinearSVC starts from nothing at each, and wide tables would
/// take it days.
const MOST_STEPS: usize = 400;

/// The script for the first split that a method has finished, or the reason why there is none.
pub fn script(
    history: &History,
    plan: Option<&Plan>,
) -> Result<std::result::Result<String, &'static str>> {
    let Some(plan) = plan else {
        return Ok(Err("the data were not at hand when this page was written"));
    };
    let Some(layout) = &plan.data.layout else {
        return Ok(Err("the data do not come from one table in a text file"));
    };
    let spec = &plan.info.spec;
    if spec.estimator == Estimator::Rbf {
        return Ok(Err("scikit-learn's LinearSVC has no kernel"));
    }
    if spec.solver != SolverKind::Newton {
        return Ok(Err("linfa's plain hinge is not what LinearSVC solves"));
    }
    let Some(first) = history.finished_tasks().map(|(task, _)| task.split).min() else {
        return Ok(Err("no split was finished"));
    };
    let split = plan.splits.split(&plan.data, first)?;
    let donors_are_drawn = matches!(spec.impute, Impute::Knn(_))
        && plan.data.missing_cells() > 0
        && split.train.len() > DONOR_LIMIT;
    if donors_are_drawn {
        return Ok(Err("the donors of imputed values were drawn by our own seed"));
    }
    let rows = |positions: &[usize]| {
        positions.iter().map(|&row| plan.data.rows[row]).collect::<Vec<usize>>()
    };
    let read = &spec.schema.read;
    let weight = match spec.class_weight {
        ClassWeight::Balanced => "\"balanced\"",
        ClassWeight::None => "None",
    };
    let (mut batches, mut orders) = (serde_json::Map::new(), serde_json::Map::new());
    // ACM adds features by a criterion of its own, which the script does not have.
    for &method in spec.methods.iter().filter(|&&method| method != Method::Acm) {
        if let Some(trace) =
            history.trace(TaskId { method, split: first }).filter(|trace| trace.finished())
        {
            let removed = || {
                trace.steps().iter().map(|step| &step.removed).filter(|removed| !removed.is_empty())
            };
            let counts: Vec<usize> = removed().map(Vec::len).take(MOST_STEPS).collect();
            let order: Vec<usize> = removed().take(MOST_STEPS).flatten().copied().collect();
            batches.insert(method.name().to_owned(), counts.into());
            orders.insert(method.name().to_owned(), order.into());
        }
    }
    if orders.is_empty() && spec.methods.contains(&Method::Acm) {
        return Ok(Err("the order in which ACM adds features is not what LinearSVC computes"));
    }
    let units: Vec<&[usize]> = plan.data.units.iter().map(|unit| unit.columns.as_slice()).collect();
    let kept: Vec<usize> = (0..units.len()).filter(|&unit| plan.data.units[unit].kept).collect();
    let rare = spec.schema.rare.as_ref();
    let fewest = rare.map_or(0, |rare| rare.fewest);
    let merged = rare.and_then(|rare| rare.merged.as_deref());
    let values = [
        ("@DATA@", format!("{}, {}", or_none(input(&plan.info)), literal(&plan.info.input_sha256))),
        (
            "@READ@",
            format!(
                "{}, {}, {}, {}, {}, {}, {}",
                literal(&layout.encoding.to_lowercase()),
                literal(&layout.delimiter),
                literal(&layout.decimal),
                truth(!read.no_header),
                truth(read.transpose),
                literal(&read.missing.iter().map(|word| word.trim()).collect::<Vec<_>>()),
                or_none(read.censored.map(|censored| censored.to_string())),
            ),
        ),
        ("@TARGET@", format!("{}, {}, {}", layout.target, fewest, or_none(merged))),
        ("@CLASSES@", literal(&plan.info.classes)),
        (
            "@SETTINGS@",
            format!(
                "{}, {}, {}, {weight}, {}, {}",
                literal(&spec.scale.to_string()),
                literal(&spec.impute.to_string()),
                literal(&spec.cost),
                literal(&spec.lambda),
                or_none(spec.estimator.knots())
            ),
        ),
        ("@SPLIT@", first.to_string()),
        ("@TRAIN@", literal(&rows(&split.train))),
        ("@SELECTION@", literal(&rows(&split.selection))),
        ("@COLUMNS@", columns(&plan.info.columns, &layout.columns)),
        ("@UNITS@", literal(&units)),
        ("@KEPT@", literal(&kept)),
        ("@BATCHES@", literal(&batches)),
        ("@ORDER@", literal(&orders)),
    ];
    Ok(Ok(filled(&values)))
}

/// The file, unless it was standard input.
fn input(info: &RunInfo) -> Option<&str> {
    Some(info.input.as_str()).filter(|name| *name != STANDARD_INPUT)
}

fn or_none(value: Option<impl Serialize>) -> String {
    value.map_or_else(|| "None".to_owned(), |value| literal(&value))
}

fn truth(value: bool) -> &'static str {
    if value { "True" } else { "False" }
}

/// Name, position, level and case of each encoded column.
fn columns(names: &[String], origins: &[Origin]) -> String {
    let one = |(name, origin): (&String, &Origin)| {
        let level = or_none(origin.level.as_ref());
        let case = truth(origin.any_case);
        format!("({}, {}, {level}, {case})", literal(name), origin.position)
    };
    format!("[{}]", names.iter().zip(origins).map(one).collect::<Vec<_>>().join(", "))
}

/// Puts values into the template; what a value itself contains is never replaced.
fn filled(values: &[(&str, String)]) -> String {
    let mut text = String::new();
    for piece in TEMPLATE.split_inclusive('@') {
        // Pieces alternate between text that ends in @ and a name that ends in @.
        let name = format!("@{piece}");
        match values.iter().find(|(place, _)| *place == name) {
            Some((_, value)) => {
                text.pop();
                text.push_str(value);
            }
            None => text.push_str(piece),
        }
    }
    text
}

/// JSON of numbers, text, lists and maps is Python too.
fn literal(value: &impl Serialize) -> String {
    let text = serde_json::to_string(value).unwrap_or_default();
    // JSON leaves C1 controls, line separators and bidirectional overrides as they are; an editor
    // or a page would obey them.
    text.chars().fold(String::with_capacity(text.len()), |mut safe, c| {
        if c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            safe.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            safe.push(c);
        }
        safe
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_filled_and_values_are_left_alone() {
        let places = [
            "@DATA@",
            "@READ@",
            "@TARGET@",
            "@CLASSES@",
            "@SETTINGS@",
            "@SPLIT@",
            "@TRAIN@",
            "@SELECTION@",
        ];
        let values: Vec<(&str, String)> =
            places.iter().map(|place| (*place, "\"@ORDER@\"".to_owned())).collect();
        let text = filled(&values);
        assert!(text.contains("SHA256 = \"@ORDER@\"\n") && text.contains("MERGED = \"@ORDER@\"\n"));
        assert!(text.contains("ORDER = @ORDER@\n"), "a place without a value stays");
        assert_eq!(TEMPLATE.matches('@').count(), 26);
    }
}
