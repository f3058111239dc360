//! The answer as a short text for a terminal: the verdict first, then what was tested, the list,
//! and every caution.

use std::fmt::Write;

use crate::analysis::{
    Answer, ChosenFeature, ClassAnswer, MethodAnswer, SiteTested, Statement, SubgroupCoverage,
    Topic, Verdict, count_features, rounded_p,
};
use crate::error::printable;
use crate::evaluate::Interval;

/// How to read the table of sites.
pub const SITES_NOTE: &str = "within: accuracy on the same rows when other rows of the site were in training; expected: where coverage falls in 95 % of cases if the site is like the others";
/// How to read the table of subgroups.
pub const SUBGROUPS_NOTE: &str =
    "expected: where coverage falls in 95 % of cases if a subgroup is like all rows";
/// Longer names are cut in the middle.
const NAME_WIDTH: usize = 44;
/// Features that are printed; the others are in the files.
const LISTED: usize = 40;
/// Classes that are printed.
const LISTED_CLASSES: usize = 20;

/// The answer in words, for a terminal.
pub fn summary(answer: &Answer) -> String {
    let mut text = String::new();
    let guarantee = guarantee_words(answer);
    let estimator = estimator_words(answer);
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{}: {} rows, {}, {} classes in '{}'\n{} {}, {} calibration{estimator}, target coverage {} ({guarantee})",
        printable(&answer.input),
        answer.rows,
        count_features(answer.features),
        answer.classes.len(),
        printable(&answer.target),
        answer.splits,
        if answer.splits == 1 { "split" } else { "splits" },
        answer.calibration,
        answer.target_coverage,
    );
    for method in &answer.methods {
        let _ = write!(text, "\n{}", of_method(method));
    }
    if !answer.comparisons.is_empty() {
        text.push_str("\nThe methods compared on the same splits (p corrected for the overlap of splits, which makes it conservative):\n");
    }
    for comparison in &answer.comparisons {
        let _ = writeln!(text, "  {}", comparison.sentence);
    }
    if !answer.cautions.is_empty() {
        text.push('\n');
    }
    for caution in &answer.cautions {
        let _ = writeln!(text, "Caution: {}", printable(caution));
    }
    text
}

/// Whether the coverage is guaranteed, and of which rows.
pub fn guarantee_words(answer: &Answer) -> &'static str {
    match (answer.guaranteed, answer.grouped) {
        (false, _) => "guarantee void",
        (true, false) => "guaranteed on average if rows are exchangeable",
        (true, true) => {
            "guaranteed on average for a row of a new group, if groups are exchangeable"
        }
    }
}

/// The family of models, unless it is the usual one.
pub fn estimator_words(answer: &Answer) -> String {
    answer.models.as_ref().map_or_else(String::new, |models| format!(", estimator {models}"))
}

fn of_method(answer: &MethodAnswer) -> String {
    let mut text = format!("{}: {}\n", answer.method, answer.headline);
    text += &said(answer, &[Topic::Size, Topic::Validation, Topic::Tested, Topic::Transfer]);
    text += &classes(answer);
    text += &sites(answer);
    text += &subgroups(answer);
    text += &features(answer);
    text += &said(answer, &[Topic::Chance, Topic::Selection, Topic::Splits, Topic::Stability]);
    for caution in &answer.cautions {
        let _ = writeln!(text, "  Caution: {}", printable(caution));
    }
    text
}

/// The statements about some topics, one per line.
fn said(answer: &MethodAnswer, topics: &[Topic]) -> String {
    statement_lines(answer.about(topics))
}

/// Statements, one per line, for a terminal.
pub fn statement_lines<'a>(statements: impl Iterator<Item = &'a Statement>) -> String {
    statements.map(|own| format!("    {:<18}  {}\n", own.label, own.whole(3))).collect()
}

/// Lines of cells below each other, the head first; columns of numbers are to the right.
fn columns<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or(0).max(head[column].chars().count())
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let are_numbers: Vec<bool> =
        (0..N).map(|column| rows.iter().all(|row| row[column].parse::<f64>().is_ok())).collect();
    let line = |cells: [&str; N]| {
        let cell = |column: usize| match (are_numbers[column], widths[column]) {
            (true, width) => format!("{:>width$}", cells[column]),
            (false, width) => format!("{:<width$}", cells[column]),
        };
        let cells: Vec<String> = (0..N).map(cell).collect();
        format!("    {}\n", cells.join("  ").trim_end())
    };
    let body = rows.iter().map(|row| line(row.each_ref().map(String::as_str)));
    std::iter::once(line(head)).chain(body).collect()
}

/// What is behind the lines that are printed.
fn and_more(all: usize, listed: usize, file: &str) -> String {
    match all.saturating_sub(listed) {
        0 => String::new(),
        more => format!("    and {more} more, in {file}\n"),
    }
}

/// Coverage with the range that is expected of it.
fn in_range(coverage: f64, band: Option<(f64, f64)>, is_low: bool) -> String {
    let band = band.map_or_else(String::new, |(lo, hi)| format!(" ({lo:.3} to {hi:.3})"));
    format!("{coverage:.3}{band}{}", if is_low { " low" } else { "" })
}

/// Sites that the procedure did not see, worst first.
fn sites(answer: &MethodAnswer) -> String {
    let Some(transfer) = &answer.transfer else { return String::new() };
    let row = |site: &SiteTested| {
        let own = site.measured.as_ref();
        [
            shown(&site.site),
            site.rows.to_string(),
            site.features.len().to_string(),
            own.map_or_else(|| "no size was chosen".to_owned(), |own| interval(&own.accuracy)),
            own.and_then(|own| own.accuracy_within)
                .map_or_else(String::new, |within| format!("{within:.3}")),
            own.map_or_else(String::new, |own| {
                in_range(own.coverage.value, own.coverage_band, own.shifted)
            }),
            own.map_or_else(String::new, |own| format!("{:.2}", own.set_size)),
        ]
    };
    let column = printable(&transfer.column);
    let (tested, all) = (transfer.sites.len(), transfer.of_sites);
    let rows: Vec<_> = transfer.sites.iter().map(row).collect();
    let head = ["", "rows", "features", "accuracy", "within", "coverage (expected)", "set size"];
    format!(
        "  Tested without each {column} in training ({tested} of {all}), worst first:\n{}    ({SITES_NOTE})\n",
        columns(head, &rows)
    )
}

/// Coverage by subgroup, the lowest first.
fn subgroups(answer: &MethodAnswer) -> String {
    if answer.subgroups.is_empty() {
        return String::new();
    }
    let row = |own: &SubgroupCoverage| {
        [
            format!("{} = {}", shown(&own.column), shown(&own.level)),
            own.rows.to_string(),
            in_range(own.coverage.value, own.coverage_band, own.below),
            format!("{:.2}", own.set_size),
        ]
    };
    let rows: Vec<_> = answer.subgroups.iter().take(LISTED_CLASSES).map(row).collect();
    format!(
        "  Coverage of validated rows by subgroup, lowest first:\n{}{}    ({SUBGROUPS_NOTE})\n",
        columns(["", "rows", "coverage (expected)", "set size"], &rows),
        and_more(answer.subgroups.len(), LISTED_CLASSES, "subgroups.csv")
    )
}

/// Each class, worst first: on rows that were never seen if there are any, else on the test rows of
/// the splits.
fn classes(answer: &MethodAnswer) -> String {
    if answer.classes.is_empty() {
        return String::new();
    }
    let row = |class: &ClassAnswer| {
        let (accuracy, covered, set_size) = class_cells(class);
        [shown(&class.class), class.rows.to_string(), accuracy, covered, set_size]
    };
    let rows: Vec<_> = answer.classes.iter().take(LISTED_CLASSES).map(row).collect();
    let is_tested = answer.classes.iter().any(|class| class.tested.is_some());
    let what = if is_tested { "" } else { " (means over the splits' test rows)" };
    format!(
        "  Each class, worst first{what}:\n{}{}",
        columns(["class", "rows", "accuracy", "covered", "set size"], &rows),
        and_more(answer.classes.len(), LISTED_CLASSES, "summary.json")
    )
}

/// Accuracy, coverage and set size of a class.
fn class_cells(class: &ClassAnswer) -> (String, String, String) {
    let number = |value: f64, decimals: usize| format!("{value:.decimals$}");
    let cell = |share: Option<Interval>| share.map_or_else(|| "–".to_owned(), |own| interval(&own));
    match (&class.tested, &class.splits) {
        (Some(own), _) => (cell(own.recall), cell(own.coverage), number(own.set_size, 2)),
        (None, Some(own)) => {
            (number(own.recall, 3), number(own.coverage, 3), number(own.set_size, 2))
        }
        (None, None) => (cell(None), cell(None), cell(None)),
    }
}

fn features(answer: &MethodAnswer) -> String {
    if answer.features.is_empty() {
        return String::new();
    }
    let mut text = String::new();
    let is_plain = matches!(answer.verdict, Verdict::Supported | Verdict::AllFeatures);
    let best = if is_plain { "The list" } else { "The list, with this in mind" };
    let _ = writeln!(text, "  {best}, by the number of splits that keep a feature:");
    let row = |(i, feature): (usize, &ChosenFeature)| {
        [
            (i + 1).to_string(),
            shown(&feature.name),
            format!("{} of {}", feature.count, answer.splits),
            feature.mean_rank.map_or_else(|| "kept".to_owned(), |rank| format!("{rank:.1}")),
            feature.adjusted_p.map_or_else(String::new, rounded_p),
            if feature.interchangeable { "interchangeable" } else { "" }.to_owned(),
        ]
    };
    let listed = &answer.features[..answer.features.len().min(LISTED)];
    let rows: Vec<_> = listed.iter().enumerate().map(row).collect();
    let table = columns(["", "", "splits", "mean rank", "adjusted p", ""], &rows);
    let mut lines = table.lines();
    text.extend(lines.next().map(|head| format!("{head}\n")));
    for (line, feature) in lines.zip(listed) {
        let _ = writeln!(text, "{line}");
        text.push_str(&twins(feature, answer.splits));
    }
    text.push_str(&and_more(answer.features.len(), LISTED, "selected.txt and summary.json"));
    let interchangeable = answer.features.iter().filter(|feature| feature.interchangeable).count();
    if interchangeable > 0 {
        let _ = writeln!(
            text,
            "    interchangeable: fewer than half of the splits keep it; another may take its place ({interchangeable} of {})",
            answer.features.len()
        );
    }
    text
}

/// The twins of a feature in a line of their own; nothing if it has none.
fn twins(feature: &ChosenFeature, splits: usize) -> String {
    let words = feature.twin_words(LISTED, shown);
    if words.is_empty() {
        return words;
    }
    let family = match feature.count_with_twins.filter(|&count| count > feature.count) {
        Some(count) if feature.twin_of.is_none() => {
            format!("; it or a twin in {count} of {splits}")
        }
        _ => String::new(),
    };
    format!("         {words}{family}\n")
}

fn interval(own: &Interval) -> String {
    format!("{:.3} ({:.3} to {:.3})", own.value, own.lo, own.hi)
}

/// A name that is harmless on a terminal and not too long.
fn shown(name: &str) -> String {
    let name = printable(name);
    let length = name.chars().count();
    if length <= NAME_WIDTH {
        return name;
    }
    let head = NAME_WIDTH.div_ceil(2);
    let tail = NAME_WIDTH / 2 - 1;
    name.chars().take(head).chain(['…']).chain(name.chars().skip(length - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_in_the_middle() {
        let name = format!("{}{}", "a".repeat(100), "z".repeat(100));
        let short = shown(&name);
        assert_eq!(short.chars().count(), NAME_WIDTH);
        assert!(short.starts_with("aaa") && short.ends_with("zzz") && short.contains('…'));
    }
}
