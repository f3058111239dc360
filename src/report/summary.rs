//! The answer as a short aligned text.

use std::fmt::Write;

use crate::analysis::{Achieved, Answer, ChosenFeature, MethodAnswer, StabilityBand, Twin};
use crate::error::printable;
use crate::evaluate::Interval;

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
        let _ = write!(text, "\n{}", of_method(method, &answer.classes));
    }
    if !answer.cautions.is_empty() {
        text.push('\n');
    }
    for caution in &answer.cautions {
        let _ = writeln!(text, "Caution: {}", printable(caution));
    }
    text
}

/// Features that are printed; the others are in the files.
const LISTED: usize = 40;

fn of_method(answer: &MethodAnswer, classes: &[String]) -> String {
    let mut text = String::new();
    let chosen = &answer.chosen;
    let none = "--stop none; ranking.csv has the order";
    let headline = match chosen.size {
        Some(1) => "1 feature".to_owned(),
        Some(size) => format!("{size} features"),
        None => "no size chosen".to_owned(),
    };
    let beside: String =
        answer.beside.iter().map(|rule| format!("; {}", rule.words(none, answer.splits))).collect();
    let _ = writeln!(text, "{}  {headline}  ({}{beside})", answer.method, chosen.words(none, answer.splits));
    if answer.is_unstable() && !answer.features.is_empty() {
        text.push_str("  These data do not support a short list: other splits choose other features.\n");
    }
    let tested = tested_lines(answer, classes);
    if !tested.is_empty() {
        let _ = writeln!(text, "  {}:", tested_headline(answer));
    }
    for (label, value) in tested {
        let _ = writeln!(text, "    {label:<18}  {value}");
    }
    text.push_str(&features(answer));
    if let (Some(achieved), Some(size)) = (&answer.achieved, chosen.size) {
        text.push_str(&of_achieved(achieved, size, classes.len()));
    }
    if let Some(stability) = answer.stability {
        let interval =
            answer.stability_interval.map_or_else(String::new, |(lo, hi)| format!(" ({lo:.2} to {hi:.2})"));
        let _ = writeln!(
            text,
            "    stability     {stability:.2}{interval}, {}",
            StabilityBand::of(stability).word()
        );
    }
    for caution in &answer.cautions {
        let _ = writeln!(text, "  Caution: {}", printable(caution));
    }
    text
}

fn features(answer: &MethodAnswer) -> String {
    let mut text = String::new();
    let listed = &answer.features[..answer.features.len().min(LISTED)];
    let width = listed.iter().map(|f| shown(&f.name).chars().count()).max().unwrap_or(0);
    for (i, feature) in in_families(listed) {
        let name = shown(&feature.name);
        let rank = feature
            .mean_rank
            .map_or_else(|| "kept           ".to_owned(), |rank| format!("mean rank {rank:>5.1}"));
        let pad = width - name.chars().count();
        let p = feature.adjusted_p.map_or_else(String::new, |p| format!("  adjusted p {p:.2}"));
        let exchangeable = if feature.exchangeable { "  exchangeable" } else { "" };
        let _ = writeln!(
            text,
            "{:>5}  {name}{:pad$}  in {:>3} of {} {}  {rank}{p}{exchangeable}",
            i + 1,
            "",
            feature.count,
            answer.splits,
            if answer.splits == 1 { "split" } else { "splits" },
        );
        let _ = write!(text, "{}", twins(feature));
    }
    if answer.features.len() > LISTED {
        let more = answer.features.len() - LISTED;
        let _ = writeln!(text, "       and {more} more, in selected.txt and summary.json");
    }
    if let Some(chance) = &answer.by_chance {
        let _ = writeln!(
            text,
            "  By chance some feature is in {} of {} splits (95 % of {} permutations){}",
            chance.count,
            answer.splits,
            chance.permutations,
            chance.p.map_or_else(String::new, |p| format!("; for the whole p = {p:.2}")),
        );
    }
    text
}

/// A list with each feature that has a twin before it directly below that twin; each with its place in the list.
fn in_families(features: &[ChosenFeature]) -> Vec<(usize, &ChosenFeature)> {
    let mut families: Vec<(usize, &ChosenFeature)> = features.iter().enumerate().collect();
    // The head of a family is its first feature; `twin_of` always points to an earlier one.
    let mut heads: Vec<usize> = Vec::with_capacity(features.len());
    for (i, feature) in features.iter().enumerate() {
        heads.push(feature.twin_of.and_then(|place| heads.get(place - 1).copied()).unwrap_or(i));
    }
    families.sort_by_key(|&(i, _)| (heads[i], i));
    families
}

/// Twins that are named below a feature.
const NAMED_TWINS: usize = 3;

/// The twins of a feature in a line of their own; nothing if it has none.
fn twins(feature: &ChosenFeature) -> String {
    let Some(first) = feature.twin_of else {
        let named: Vec<String> = feature.twins.iter().flatten().take(NAMED_TWINS).map(twin).collect();
        if named.is_empty() {
            return String::new();
        }
        let noun = if feature.twin_count == 1 { "twin" } else { "twins" };
        let more = feature.twin_count - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        return format!("         {noun}: {}{more}\n", named.join(", "));
    };
    format!("         twin of feature {first}\n")
}

fn twin(twin: &Twin) -> String {
    let sign = if twin.r < 0.0 { "−" } else { "" };
    let listed = if twin.listed { ", in the list" } else { "" };
    format!("{} (r = {sign}{:.2}{listed})", shown(&twin.name), twin.r.abs())
}

/// What was tested, on how many rows.
pub fn tested_headline(answer: &MethodAnswer) -> String {
    let Some(tested) = &answer.tested else { return String::new() };
    let rows = tested.performance.as_ref().map_or(0, |performance| performance.rows);
    let folds = if tested.folds < tested.of_folds {
        format!("{} of {} folds", tested.folds, tested.of_folds)
    } else {
        format!("{} folds", tested.of_folds)
    };
    let without = match tested.without_list {
        0 => String::new(),
        n => format!("; in {n} of them no list was chosen"),
    };
    format!("Tested on {rows} rows it never saw (the whole procedure, {folds}{without}; 95 % intervals)")
}

/// What the validation measured: labels and values, the accuracy first.
pub fn tested_lines(answer: &MethodAnswer, classes: &[String]) -> Vec<(String, String)> {
    let Some(tested) = &answer.tested else { return Vec::new() };
    let Some(performance) = &tested.performance else { return Vec::new() };
    let interval = |own: &Interval| format!("{:.3} ({:.3} to {:.3})", own.value, own.lo, own.hi);
    let line = |label: &str, value: String| (label.to_owned(), value);
    let rate = performance.no_information_rate;
    let mut lines = vec![
        line("accuracy", format!("{}; always the largest class {rate:.3}", interval(&performance.accuracy))),
        line("balanced accuracy", interval(&performance.balanced_accuracy)),
        line("macro F1", interval(&performance.f1_macro)),
    ];
    lines.extend(performance.auc.as_ref().map(|auc| line("AUC", interval(auc))));
    lines.push(line("coverage", interval(&performance.coverage)));
    let set_size = format!("{} of {} classes", interval(&performance.set_size), classes.len());
    lines.push(line("set size", set_size));
    lines.push(line("empty sets", interval(&performance.empty)));
    let worst = performance.classes.iter().filter_map(|class| Some((class, class.coverage?)));
    if let Some((class, coverage)) = worst.min_by(|a, b| a.1.value.total_cmp(&b.1.value)) {
        let name = printable(&classes[class.class]);
        lines.push(line(
            "worst class",
            format!("{name}: coverage {} on {} rows", interval(&coverage), class.rows),
        ));
    }
    if let (Some(smallest), Some(largest)) = (tested.sizes.iter().min(), tested.sizes.iter().max()) {
        let stability =
            tested.stability.map_or_else(String::new, |(value, ..)| format!(", stability {value:.2}"));
        lines.push(line("lists of the folds", format!("{smallest} to {largest} features{stability}")));
    }
    lines
}

fn of_achieved(achieved: &Achieved, size: usize, classes: usize) -> String {
    let sd = |sd: Option<f64>| sd.map_or_else(String::new, |sd| format!(" ± {sd:.3}"));
    let band = match achieved.coverage_band {
        Some((lo, hi)) => format!("  (95 % band of one split {lo:.3} to {hi:.3})"),
        None => String::new(),
    };
    let noun = if size == 1 { "feature" } else { "features" };
    let how = if achieved.leave_one_split_out { ", each at the size the other splits choose" } else { "" };
    format!(
        "  The splits' own subsets of {size} {noun} achieved{how} (mean ± sd over splits, which overlap):\n    \
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
