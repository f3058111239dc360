//! The answer as a short aligned text.

use std::fmt::Write;

use super::answer::{Achieved, Answer, MethodAnswer};
use crate::error::printable;

/// Longer names are cut in the middle.
const NAME_WIDTH: usize = 44;

/// The answer in words, for a terminal.
pub fn summary(answer: &Answer) -> String {
    let mut text = String::new();
    let guarantee = if answer.guaranteed { "guaranteed" } else { "guarantee void" };
    let class_count = answer.classes.len();
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "{}: {} rows, {} {}, {class_count} classes in '{}'\n{} {}, {} calibration, target coverage {} ({guarantee})",
        printable(&answer.input),
        answer.rows,
        answer.features,
        if answer.features == 1 { "feature" } else { "features" },
        printable(&answer.target),
        answer.splits,
        if answer.splits == 1 { "split" } else { "splits" },
        answer.calibration,
        answer.target_coverage,
    );
    for method in &answer.methods {
        let _ = write!(text, "\n{}", of_method(method, class_count));
    }
    if !answer.cautions.is_empty() {
        text.push('\n');
    }
    for caution in &answer.cautions {
        let _ = writeln!(text, "Caution: {}", printable(caution));
    }
    text
}

fn of_method(answer: &MethodAnswer, classes: usize) -> String {
    let mut text = String::new();
    let chosen = &answer.chosen;
    let headline = match chosen.size {
        Some(1) => "1 feature".to_owned(),
        Some(size) => format!("{size} features"),
        None => "no size chosen".to_owned(),
    };
    let beside: String = answer
        .beside
        .iter()
        .map(|rule| format!("; {}", rule.words("--stop none; ranking.csv has the order", answer.splits)))
        .collect();
    let _ = writeln!(
        text,
        "{}  {headline}  ({}{beside})",
        answer.method,
        chosen.words("--stop none; ranking.csv has the order", answer.splits)
    );
    let width = answer.features.iter().map(|f| shown(&f.name).chars().count()).max().unwrap_or(0);
    for (i, feature) in answer.features.iter().enumerate() {
        let name = shown(&feature.name);
        let rank = feature
            .mean_rank
            .map_or_else(|| "kept           ".to_owned(), |rank| format!("mean rank {rank:>5.1}"));
        let pad = width - name.chars().count();
        let _ = writeln!(
            text,
            "{:>5}  {name}{:pad$}  {rank}  in {} of {} {}",
            i + 1,
            "",
            feature.count,
            answer.splits,
            if answer.splits == 1 { "split" } else { "splits" },
        );
    }
    if let Some(why) = answer.of_no_split() {
        let _ = writeln!(text, "  {why}");
    }
    if let (Some(achieved), Some(size)) = (&answer.achieved, chosen.size) {
        text.push_str(&of_achieved(achieved, size, classes));
    }
    for caution in &answer.cautions {
        let _ = writeln!(text, "  Caution: {}", printable(caution));
    }
    text
}

fn of_achieved(achieved: &Achieved, size: usize, classes: usize) -> String {
    let sd = |sd: Option<f64>| sd.map_or_else(String::new, |sd| format!(" ± {sd:.3}"));
    let band = match achieved.coverage_band {
        Some((lo, hi)) => format!("  (95 % band of one split {lo:.3} to {hi:.3})"),
        None => String::new(),
    };
    let noun = if size == 1 { "feature" } else { "features" };
    format!(
        "  The splits' own subsets of {size} {noun} achieved (this list itself was not tested):\n    \
         coverage      {:.3}{band}\n    inefficiency  {:.3}{} of {classes} classes\n    accuracy      {:.3}{}\n",
        achieved.coverage,
        achieved.inefficiency,
        sd(achieved.inefficiency_sd),
        achieved.accuracy,
        sd(achieved.accuracy_sd),
    )
}

/// A name that is harmless on a terminal and not too long.
fn shown(name: &str) -> String {
    let name = printable(name);
    let length = name.chars().count();
    if length <= NAME_WIDTH {
        return name;
    }
    let (head, tail) = (NAME_WIDTH.div_ceil(2), NAME_WIDTH / 2 - 1);
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
