//! The answer as a short text for a terminal: the verdict first, then what was tested, the list,
//! and every caution.

use std::fmt::Write;

use crate::analysis::{
    Achieved, Answer, ChosenFeature, ClassAnswer, MethodAnswer, ProbeAnswer, SubgroupCoverage,
    Tested, Transfer, Twin, Verdict, count_features, p_words, rounded_p,
};
use crate::error::printable;
use crate::evaluate::{Interval, Performance};

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
        let _ = write!(text, "\n{}", of_method(method, answer));
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

fn of_method(answer: &MethodAnswer, whole: &Answer) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}: {}", answer.method, answer.headline);
    let none = "--stop none; ranking.csv has the order";
    let rules = std::iter::once(&answer.chosen).chain(&answer.beside);
    let rules: Vec<String> = rules.map(|rule| rule.words(none, answer.splits)).collect();
    let _ = writeln!(text, "  ({})", rules.join("; "));
    text.push_str(&tested(answer, whole));
    text.push_str(&transfer(answer));
    text.push_str(&subgroups(answer));
    text.push_str(&features(answer, whole));
    if let Some(achieved) = &answer.achieved {
        text.push_str(&of_splits(achieved, answer, whole));
    }
    for caution in &answer.cautions {
        let _ = writeln!(text, "  Caution: {}", printable(caution));
    }
    text
}

fn tested(answer: &MethodAnswer, whole: &Answer) -> String {
    let lines = tested_lines(answer, &whole.classes);
    let mut text = String::new();
    if lines.is_empty() {
        text.push_str(&classes(answer));
        return text;
    }
    let _ = writeln!(text, "  {}; quote these numbers:", tested_headline(answer));
    for (label, value) in lines {
        let _ = writeln!(text, "    {label:<18}  {value}");
    }
    text.push_str(&classes(answer));
    text
}

/// Sites that the procedure did not see, worst first, and how well its features tell them apart.
fn transfer(answer: &MethodAnswer) -> String {
    let mut text = String::new();
    let Some(transfer) = &answer.transfer else { return text };
    let column = printable(&transfer.column);
    let _ = writeln!(
        text,
        "  Tested without each {column} in training ({} of {}), worst first:",
        transfer.sites.len(),
        transfer.of_sites
    );
    let shown_name = |name: &String| shown(name);
    let names = transfer.sites.iter().map(|site| shown_name(&site.site).chars().count());
    let width = names.max().unwrap_or(0).max(column.chars().count().min(NAME_WIDTH));
    let _ = writeln!(
        text,
        "    {:<width$}  {:>5}  {:>8}  {:<22}  {:<8}  {:<28}  set size",
        shown(&transfer.column),
        "rows",
        "features",
        "accuracy",
        "(within)",
        "coverage (95 % range)"
    );
    for site in &transfer.sites {
        let name = shown_name(&site.site);
        let Some(own) = &site.measured else {
            let _ = writeln!(text, "    {name:<width$}  {:>5}  no size was chosen", site.rows);
            continue;
        };
        let accuracy =
            format!("{:.3} ({:.3} to {:.3})", own.accuracy.value, own.accuracy.lo, own.accuracy.hi);
        let within =
            own.accuracy_within.map_or_else(String::new, |within| format!("({within:.3})"));
        let band =
            own.coverage_band.map_or_else(String::new, |(lo, hi)| format!(" ({lo:.3} to {hi:.3})"));
        let mark = if own.shifted { " low" } else { "" };
        let coverage = format!("{:.3}{band}{mark}", own.coverage.value);
        let _ = writeln!(
            text,
            "    {name:<width$}  {:>5}  {:>8}  {accuracy:<22}  {within:<8}  {coverage:<28}  {:.2}",
            site.rows,
            site.features.len(),
            own.set_size
        );
    }
    let _ = writeln!(
        text,
        "    (within: accuracy on the same rows when other rows of the {column} were in training; 95 % range: of coverage if the {column} is like the others)"
    );
    if let Some(agreement) = lists_agree(transfer) {
        let _ = writeln!(text, "    {agreement}");
    }
    if let Some(probe) = &transfer.probe {
        let _ = writeln!(text, "    {}", probe_sentence(probe, &column));
    }
    text
}

/// How much the lists of the sites agree; nothing for fewer than two.
pub fn lists_agree(transfer: &Transfer) -> Option<String> {
    Some(format!(
        "The lists of the sites agree with stability {}; {} in every list",
        transfer.stability?.words("sites"),
        count_features(transfer.in_every_list.len())
    ))
}

/// How well the features of the list predict the site, beside what the class alone tells about it.
pub fn probe_sentence(probe: &ProbeAnswer, column: &str) -> String {
    let percent = |share: f64| format!("{:.1}", 100.0 * share);
    let Interval { value, lo, hi } = probe.accuracy;
    let auc = probe.auc.map_or_else(String::new, |auc| format!("; AUC {auc:.3}"));
    let so = if probe.tells_apart {
        "so they tell more about it than the class does: a batch effect may be among them"
    } else {
        "so they tell no more about it than the class does"
    };
    format!(
        "The selected features predict the {column} correctly for {} % of the rows ({} to {} %{auc}); knowing only the class does so for {} %, {so}",
        percent(value),
        percent(lo),
        percent(hi),
        percent(probe.class_rate),
    )
}

/// Coverage by subgroup, the lowest first.
fn subgroups(answer: &MethodAnswer) -> String {
    let mut text = String::new();
    if answer.subgroups.is_empty() {
        return text;
    }
    let listed = &answer.subgroups[..answer.subgroups.len().min(LISTED_CLASSES)];
    let name = |own: &SubgroupCoverage| format!("{} = {}", shown(&own.column), shown(&own.level));
    let width = listed.iter().map(|own| name(own).chars().count()).max().unwrap_or(0).max(8);
    let _ = writeln!(text, "  Coverage of validated rows by subgroup, lowest first:");
    let _ = writeln!(
        text,
        "    {:<width$}  {:>5}  {:<28}  set size",
        "subgroup", "rows", "coverage (95 % range)"
    );
    for own in listed {
        let band =
            own.coverage_band.map_or_else(String::new, |(lo, hi)| format!(" ({lo:.3} to {hi:.3})"));
        let mark = if own.below { " low" } else { "" };
        let coverage = format!("{:.3}{band}{mark}", own.coverage.value);
        let _ = writeln!(
            text,
            "    {:<width$}  {:>5}  {coverage:<28}  {:.2}",
            name(own),
            own.rows,
            own.set_size
        );
    }
    let _ = writeln!(text, "    (95 % range: of coverage if a subgroup is like all rows)");
    if answer.subgroups.len() > listed.len() {
        let _ = writeln!(
            text,
            "    and {} more in subgroups.csv",
            answer.subgroups.len() - listed.len()
        );
    }
    text
}

/// Each class, worst first: on rows that were never seen if there are any, else on the test rows of
/// the splits.
fn classes(answer: &MethodAnswer) -> String {
    let mut text = String::new();
    let listed = &answer.classes[..answer.classes.len().min(LISTED_CLASSES)];
    if listed.is_empty() {
        return text;
    }
    let width =
        listed.iter().map(|class| shown(&class.class).chars().count()).max().unwrap_or(0).max(5);
    let is_tested = listed.iter().any(|class| class.tested.is_some());
    let what = if is_tested { "" } else { " (means over the splits' test rows)" };
    let column = if is_tested { 22 } else { 15 };
    let _ = writeln!(text, "  Each class, worst first{what}:");
    let _ = writeln!(
        text,
        "    {:<width$}  {:>5}  {:<column$}  {:<column$}  set size",
        "class", "rows", "accuracy", "covered"
    );
    for class in listed {
        let name = shown(&class.class);
        let pad = width - name.chars().count();
        let (accuracy, covered, set_size) = class_cells(class);
        let _ = writeln!(
            text,
            "    {name}{:pad$}  {:>5}  {accuracy:<column$}  {covered:<column$}  {set_size}",
            "", class.rows
        );
    }
    if answer.classes.len() > LISTED_CLASSES {
        let more = answer.classes.len() - LISTED_CLASSES;
        let _ = writeln!(text, "    and {more} more, in summary.json");
    }
    text
}

/// Accuracy, coverage and set size of a class.
fn class_cells(class: &ClassAnswer) -> (String, String, String) {
    match (&class.tested, &class.splits) {
        (Some(tested), _) => {
            let cell = |share: Option<Interval>| {
                share.map_or_else(|| "–".to_owned(), |own| interval(&own))
            };
            (cell(tested.recall), cell(tested.coverage), format!("{:.2}", tested.set_size))
        }
        (None, Some(means)) => (
            format!("{:.3}", means.recall),
            format!("{:.3}", means.coverage),
            format!("{:.2}", means.set_size),
        ),
        (None, None) => ("–".to_owned(), "–".to_owned(), "–".to_owned()),
    }
}

fn features(answer: &MethodAnswer, whole: &Answer) -> String {
    let mut text = String::new();
    let listed = &answer.features[..answer.features.len().min(LISTED)];
    if listed.is_empty() {
        return text;
    }
    let is_plain = matches!(answer.verdict, Verdict::Supported | Verdict::AllFeatures);
    let best = if is_plain { "The list" } else { "The list, with this in mind" };
    let _ = writeln!(text, "  {best}, by the number of splits that keep a feature:");
    let width = listed.iter().map(|f| shown(&f.name).chars().count()).max().unwrap_or(0);
    for (i, feature) in listed.iter().enumerate() {
        let name = shown(&feature.name);
        let rank = feature
            .mean_rank
            .map_or_else(|| "kept           ".to_owned(), |rank| format!("mean rank {rank:>5.1}"));
        let pad = width - name.chars().count();
        let p = feature
            .adjusted_p
            .map_or_else(String::new, |p| format!("  adjusted p {}", rounded_p(p)));
        let interchangeable = if feature.interchangeable { "  interchangeable" } else { "" };
        let _ = writeln!(
            text,
            "{:>5}  {name}{:pad$}  in {:>3} of {} {}  {rank}{p}{interchangeable}",
            i + 1,
            "",
            feature.count,
            answer.splits,
            if answer.splits == 1 { "split" } else { "splits" },
        );
        text.push_str(&twins(feature, answer.splits));
    }
    if answer.features.len() > LISTED {
        let more = answer.features.len() - LISTED;
        let _ = writeln!(text, "       and {more} more, in selected.txt and summary.json");
    }
    let interchangeable = answer.features.iter().filter(|feature| feature.interchangeable).count();
    if interchangeable > 0 {
        let _ = writeln!(
            text,
            "    interchangeable: fewer than half of the splits keep it; another may take its place ({interchangeable} of {})",
            answer.features.len()
        );
    }
    text.push_str(&by_chance(answer, whole));
    text
}

/// What permuted labels give, and how many permutations there were and why.
fn by_chance(answer: &MethodAnswer, whole: &Answer) -> String {
    let Some(chance) = &answer.by_chance else {
        return format!("  {}\n", sentence_case(&whole.permutations));
    };
    let progress = if chance.permutations < chance.of_permutations {
        format!(" ({} have ended)", chance.permutations)
    } else {
        String::new()
    };
    let p =
        chance.p.map_or_else(String::new, |p| format!("; {} for {}", p_words(p), chance.subject()));
    format!(
        "  {}{progress}\n  By chance, some feature is in up to {} of {} splits (95 % of permutations){p}\n",
        sentence_case(&whole.permutations),
        chance.count,
        answer.splits
    )
}

/// The words with a capital letter first.
pub fn sentence_case(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The twins of a feature in a line of their own; nothing if it has none.
fn twins(feature: &ChosenFeature, splits: usize) -> String {
    let named: Vec<String> = feature.named_twins().map(twin).collect();
    if feature.twin_of.is_some() {
        return format!("         twin of {}\n", named.join(", "));
    }
    if named.is_empty() {
        return String::new();
    }
    let noun = if named.len() == 1 { "twin" } else { "twins" };
    let more = feature.twin_count.saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let family = match feature.count_with_twins.filter(|&count| count > feature.count) {
        Some(count) => format!("; it or a twin in {count} of {splits}"),
        None => String::new(),
    };
    format!("         {noun}: {}{more}{family}\n", named.join(", "))
}

fn twin(twin: &Twin) -> String {
    let listed = twin.place.filter(|&place| place <= LISTED);
    let name = listed.map_or_else(|| shown(&twin.name), |place| format!("feature {place}"));
    format!("{name} ({})", correlation(twin.r))
}

/// A correlation with a minus sign that is one.
pub fn correlation(r: f64) -> String {
    format!("r = {}{:.2}", if r < 0.0 { "−" } else { "" }, r.abs())
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
    format!(
        "Tested on {rows} rows it never saw (the whole procedure, {folds}{without}; 95 % intervals)"
    )
}

fn interval(own: &Interval) -> String {
    format!("{:.3} ({:.3} to {:.3})", own.value, own.lo, own.hi)
}

/// What the validation measured: labels and values, the accuracy first.
pub fn tested_lines(answer: &MethodAnswer, classes: &[String]) -> Vec<(String, String)> {
    answer.tested.as_ref().map_or_else(Vec::new, |tested| tested_lines_of(tested, classes))
}

/// The same of any test by folds.
pub fn tested_lines_of(tested: &Tested, classes: &[String]) -> Vec<(String, String)> {
    let Some(performance) = &tested.performance else { return Vec::new() };
    let mut lines = performance_lines(performance, classes);
    let line = |label: &str, value: String| (label.to_owned(), value);
    if let (Some(&smallest), Some(&largest)) =
        (tested.sizes.iter().min(), tested.sizes.iter().max())
    {
        let sizes = if smallest == largest {
            count_features(smallest)
        } else {
            format!("{smallest} to {}", count_features(largest))
        };
        let stability = tested.stability.map(|own| format!("; stability {}", own.words("folds")));
        let stability = stability.unwrap_or_default();
        let lists = tested.lists.len();
        let shared = if lists > 1 {
            format!("; {} in all {lists} lists", tested.in_every_list.len())
        } else {
            String::new()
        };
        lines.push(line("lists of the folds", format!("{sizes}{shared}{stability}")));
    }
    lines
}

/// Labels and values of a performance, the accuracy first.
pub fn performance_lines(performance: &Performance, classes: &[String]) -> Vec<(String, String)> {
    let line = |label: &str, value: String| (label.to_owned(), value);
    let rate = performance.no_information_rate;
    let mut lines = vec![
        line(
            "accuracy",
            format!(
                "{}; always predicting the largest class: {rate:.3}",
                interval(&performance.accuracy)
            ),
        ),
        line("balanced accuracy", interval(&performance.balanced_accuracy)),
        line("macro F1", interval(&performance.f1_macro)),
    ];
    lines.extend(performance.auc.as_ref().map(|auc| line("AUC", interval(auc))));
    lines.push(line("coverage", interval(&performance.coverage)));
    let set_size = format!("{} of {} classes", interval(&performance.set_size), classes.len());
    lines.push(line("set size", set_size));
    lines.push(line("empty sets", interval(&performance.empty)));
    lines
}

/// Whose test rows the means over the splits come from, and which numbers to quote instead.
pub fn splits_headline(answer: &MethodAnswer) -> String {
    let splits = if answer.splits == 1 {
        "The split that chose the list, on its".to_owned()
    } else {
        format!("The {} splits that chose the list, on their", answer.splits)
    };
    let is_tested = answer.tested.as_ref().is_some_and(|tested| tested.performance.is_some());
    let quote = if is_tested {
        "this describes the selection; quote the tested numbers above"
    } else {
        "this describes the selection; for numbers to quote, test it with --validate 5"
    };
    format!("{splits} own test rows ({quote})")
}

/// How to read the means over the splits.
pub fn splits_note(achieved: &Achieved) -> String {
    let size = if achieved.leave_one_split_out {
        "; the size was chosen on these rows, so each split is measured at the size that the others choose"
    } else {
        ""
    };
    format!(
        "mean ± standard deviation over splits, which share rows: ± is not the error of the mean{size}"
    )
}

fn of_splits(achieved: &Achieved, answer: &MethodAnswer, whole: &Answer) -> String {
    let sd = |sd: Option<f64>| sd.map_or_else(String::new, |sd| format!(" ± {sd:.3}"));
    let band = match achieved.coverage_band {
        Some((lo, hi)) => format!("  (95 % band of one split {lo:.3} to {hi:.3})"),
        None => String::new(),
    };
    let stability = answer.stability_judged();
    let stability = stability
        .map_or_else(String::new, |own| format!("    stability  {}\n", own.words("splits")));
    let note = if answer.splits > 1 {
        format!("    ({})\n", splits_note(achieved))
    } else {
        String::new()
    };
    format!(
        "  {}:\n    coverage   {:.3}{band}\n    set size   {:.3}{} of {} classes\n    accuracy   {:.3}{}\n{stability}{note}",
        splits_headline(answer),
        achieved.coverage,
        achieved.inefficiency,
        sd(achieved.inefficiency_sd),
        whole.classes.len(),
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
    let head = NAME_WIDTH.div_ceil(2);
    let tail = NAME_WIDTH / 2 - 1;
    name.chars().take(head).chain(['…']).chain(name.chars().skip(length - tail)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probe_says_what_its_numbers_mean() {
        let mut probe = ProbeAnswer {
            sites: 3,
            accuracy: Interval { value: 0.317, lo: 0.268, hi: 0.372 },
            no_information_rate: 0.34,
            class_rate: 0.36,
            auc: Some(0.512),
            tells_apart: false,
        };
        assert_eq!(
            probe_sentence(&probe, "hospital"),
            "The selected features predict the hospital correctly for 31.7 % of the rows (26.8 to 37.2 %; AUC 0.512); knowing only the class \
             does so for 36.0 %, so they tell no more about it than the class does"
        );
        probe.tells_apart = true;
        assert!(probe_sentence(&probe, "hospital").ends_with("a batch effect may be among them"));
    }

    #[test]
    fn long_names_are_cut_in_the_middle() {
        let name = format!("{}{}", "a".repeat(100), "z".repeat(100));
        let short = shown(&name);
        assert_eq!(short.chars().count(), NAME_WIDTH);
        assert!(short.starts_with("aaa") && short.ends_with("zzz") && short.contains('…'));
    }
}
