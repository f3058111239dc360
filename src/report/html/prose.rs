//! What was done, in sentences: the methods paragraph with its references.

use maud::{Markup, html};

use super::{PageContent, text};
use crate::analysis::{MethodAnswer, Topic};
use crate::data::{Calibration, Impute, Scale};
use crate::run::RunSpec;
use crate::run::options::{Done, OPTIONS};
use crate::select::{Method, Score, StepSize, StopRule};
use crate::svm::{ClassWeight, Estimator, Gamma, SolverKind};

const CITATIONS: [&str; 4] = [
    "López-De-Castro M, García-Galindo A, Armañanzas R. Conformal Recursive Feature Elimination. arXiv:2405.19429, 2024.",
    "Guyon I, Weston J, Barnhill S, Vapnik V. Gene selection for cancer classification using support vector machines. Machine Learning 46:389–422, 2002.",
    "Nogueira S, Sechidis K, Brown G. On the stability of feature selection algorithms. Journal of Machine Learning Research 18(174):1–54, 2018.",
    "Nadeau C, Bengio Y. Inference for the generalization error. Machine Learning 52:239–281, 2003.",
];

/// The paragraph and the references.
pub fn methods(content: &PageContent<'_>) -> Markup {
    html! {
        p.note { "A draft to edit into your paper; methods.md has the same text." }
        p id="paragraph" { (text(&paragraph(content))) }
        ol { @for citation in citations(&content.info.spec) { li { (citation) } } }
    }
}

/// The same as Markdown.
pub fn markdown(content: &PageContent<'_>) -> String {
    let references: String = citations(&content.info.spec)
        .iter()
        .enumerate()
        .map(|(i, citation)| format!("{}. {citation}\n", i + 1))
        .collect();
    let paragraph = in_markdown(&text(&paragraph(content)));
    format!("## Methods\n\n{paragraph}\n\n## References\n\n{references}")
}

/// Text in which Markdown finds no markup.
fn in_markdown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '<' | '>' | '#' | '|' | '~') {
            safe.push('\\');
        }
        safe.push(c);
    }
    safe
}

fn paragraph(content: &PageContent<'_>) -> String {
    let sentences = [
        data(content),
        preparation(content),
        models(&content.info.spec),
        prediction_sets(&content.info.spec),
        options(content),
        size(content),
        agreement(&content.info.spec),
        results(content),
        software(content),
    ];
    sentences.iter().filter(|sentence| !sentence.is_empty()).cloned().collect::<Vec<_>>().join(" ")
}

/// How splits, and methods if there are several, were compared.
fn agreement(spec: &RunSpec) -> String {
    let methods = if spec.methods.len() > 1 {
        ", and methods were compared on the same splits with the corrected resampled t-test [4]"
    } else {
        ""
    };
    format!("Agreement of splits was measured by Nogueira's stability [3]{methods}.")
}

/// The references; the last one only where it is cited.
fn citations(spec: &RunSpec) -> &'static [&'static str] {
    if spec.methods.len() > 1 { &CITATIONS } else { &CITATIONS[..CITATIONS.len() - 1] }
}

/// What was ranked, on which rows, over which splits.
fn data(content: &PageContent<'_>) -> String {
    let info = content.info;
    let names: Vec<&str> = info.spec.methods.iter().map(|method| long_name(*method)).collect();
    format!(
        "Features were ranked by {} on {} rows with {} features and {} classes, over {}.",
        and(&names),
        info.rows,
        info.units.len(),
        info.classes.len(),
        splits(content)
    )
}

/// `a`, `a and b`, `a, b and c`.
fn and(names: &[&str]) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => names.concat(),
    }
}

/// The splits and their shares.
fn splits(content: &PageContent<'_>) -> String {
    let info = content.info;
    let split = &content.info.spec.split;
    if info.splits_sha256.is_some() {
        return format!("{} given splits", info.splits);
    }
    let how = match &info.spec.schema.group_col {
        Some(_) => "by group",
        None => "class-stratified",
    };
    format!(
        "{} random {how} {} (seed {}; {} % test rows, and {} % of the others for calibration)",
        info.splits,
        if info.splits == 1 { "split" } else { "splits" },
        split.seed,
        percent(split.test_size),
        percent(split.cal_size)
    )
}

/// Scaling and imputation.
fn preparation(content: &PageContent<'_>) -> String {
    let spec = &content.info.spec;
    let is_complete =
        content.missing.as_ref().is_some_and(|by_unit| by_unit.iter().all(|&cells| cells == 0));
    let scale = match spec.scale {
        Scale::Standard => "standardised",
        Scale::Minmax => "scaled to the unit interval",
        Scale::None => "left unscaled",
    };
    let impute = match spec.impute {
        Impute::Knn(k) => format!("missing values were imputed from the {k} nearest training rows"),
        Impute::Median => "missing values were replaced by training medians".to_owned(),
        Impute::None => "there were no missing values".to_owned(),
    };
    let none =
        if is_complete && spec.impute != Impute::None { " (no value was missing)" } else { "" };
    format!(
        "Within each split, columns were {scale} and {impute}{none}, both fitted on training rows only."
    )
}

/// The models and the elimination.
fn models(spec: &RunSpec) -> String {
    let model = match spec.estimator {
        Estimator::Linear => "linear support vector machines".to_owned(),
        Estimator::Rcs(knots) => format!(
            "linear support vector machines on restricted cubic splines of the numeric features ({} knots at quantiles of the \
             training rows; the terms of a feature were removed together)",
            usize::from(knots)
        ),
        Estimator::Rbf => format!(
            "kernel support vector machines with a Gaussian kernel ({}){}",
            match spec.gamma {
                Gamma::Scale => "γ = 1/number of columns in the model".to_owned(),
                Gamma::Fixed(gamma) => format!("γ = {gamma}"),
            },
            match spec.prefilter {
                Some(count) => format!(
                    ", after linear machines had reduced the features to {count} on the same split,"
                ),
                None => String::new(),
            }
        ),
    };
    let importance = match spec.estimator {
        Estimator::Rbf => " β was the sum of Shapley values of the decision function.",
        _ => "",
    };
    let machine = match spec.solver {
        SolverKind::Newton => "squared hinge loss and regularised bias, solved exactly",
        SolverKind::Linfa => "hinge loss",
    };
    let weight = match spec.class_weight {
        ClassWeight::Balanced => ", balanced class weights",
        ClassWeight::None => "",
    };
    let step = match spec.step {
        StepSize::Count(1) => "one feature was removed at a time".to_owned(),
        StepSize::Count(count) => format!("{count} features were removed at a time"),
        StepSize::Fraction(share) => {
            format!("{} % of the remaining features were removed at a time", percent(share))
        }
    };
    format!(
        "Models were one-vs-rest {model} with {machine} (C = {}{weight}); {step}, after which all models were \
         trained again [2].{importance}",
        spec.cost
    )
}

/// How prediction sets were made, and whether their coverage is guaranteed.
fn prediction_sets(spec: &RunSpec) -> String {
    let calibration = match spec.split.calibration {
        Calibration::Strict => {
            "β was computed on one half of the calibration rows and p-values on the other, so that the coverage guarantee holds for the \
             selected features"
        }
        Calibration::Shared => {
            "β and p-values were computed on the same calibration rows, as in [1], which voids the coverage guarantee"
        }
    };
    let kind = match (spec.mondrian, spec.smoothed) {
        (true, true) => "class-conditional (Mondrian), smoothed ",
        (true, false) => "class-conditional (Mondrian) ",
        (false, true) => "smoothed ",
        (false, false) => "",
    };
    let score = match spec.score {
        Score::Published => " The score was that of the published curves of [1].",
        _ => "",
    };
    format!(
        "The non-conformity weight was λ = {}; {calibration}. Inductive conformal prediction with {kind}p-values gave prediction sets at \
         significance ε = {}.{score}",
        spec.lambda, spec.epsilon
    )
}

/// The sentences of options that have one.
fn options(content: &PageContent<'_>) -> String {
    let info = content.info;
    let size_by_hand = content.answer.choice.size.is_some();
    let done = Done {
        options: &info.spec,
        // The folds test the size of the rule.
        folds: if size_by_hand { 0 } else { info.folds },
        permutations: info.permutations,
        size_by_hand,
    };
    OPTIONS.iter().filter_map(|option| option.sentence(&done)).collect::<Vec<_>>().join(" ")
}

/// How the number of features was chosen.
fn size(content: &PageContent<'_>) -> String {
    let choice = &content.answer.choice;
    if let Some(size) = choice.size {
        return format!(
            "The number of features, {size}, was chosen by hand after the results had been seen."
        );
    }
    let (how, median) = match choice.rule {
        StopRule::OneSe => ("as", ""),
        _ => ("by", ", as the median over splits"),
    };
    match (choice.rule, choice.rule.entry()) {
        (_, Some(entry)) => {
            let prose = (entry.prose)(&choice.beta);
            format!("The number of features was chosen {how} {prose}{median}.")
        }
        (StopRule::Size(size), None) => {
            format!("The number of features, {size}, was fixed in advance.")
        }
        (_, None) => "No number of features was chosen.".to_owned(),
    }
}

/// What was found: first what the nested validation measured, which is what to quote, then what the
/// splits say about the selection.
fn results(content: &PageContent<'_>) -> String {
    let of_method = |method: &MethodAnswer| {
        let size = method.chosen.size?;
        let tested = said(method, &[Topic::Validation, Topic::Tested]);
        let features = content.answer.features;
        let list =
            format!("The list of {} has {size} of {features} features; {tested}.", method.method);
        let splits = said(method, &[Topic::Splits, Topic::Stability]);
        Some(if splits.is_empty() {
            list
        } else {
            format!(
                "{list} On the test rows of the splits that chose the features: {splits} [3]; these values describe the selection \
                 and do not estimate the performance on new rows."
            )
        })
    };
    let lists: Vec<String> = content.answer.methods.iter().filter_map(of_method).collect();
    if lists.is_empty() {
        return String::new();
    }
    format!("{} Intervals, in parentheses, are 95 % intervals.", lists.join(" "))
}

/// What is said about some topics, as a list.
fn said(method: &MethodAnswer, topics: &[Topic]) -> String {
    let said = method.about(topics).map(|own| format!("{} {}", own.label, own.value.text(3)));
    said.collect::<Vec<_>>().join("; ")
}

/// The program and the input.
fn software(content: &PageContent<'_>) -> String {
    let sha256 = &content.info.input_sha256;
    format!(
        "All computations were done with crfe-tui {} (input SHA-256 {}…).",
        env!("CARGO_PKG_VERSION"),
        sha256.get(..12).unwrap_or(sha256),
    )
}

fn long_name(method: Method) -> &'static str {
    method.words().long_name
}

/// A share in per cent, without noise in its last digits.
fn percent(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_markup_in_markdown() {
        assert_eq!(in_markdown("a_b*<i>"), "a\\_b\\*\\<i\\>");
    }
}
