//! A methods paragraph, ready to be edited into a paper, with what it should cite.

use maud::{Markup, html};

use super::{Material, text};
use crate::data::{Calibration, Impute, Scale};
use crate::run::options::OPTIONS;
use crate::run::{Permutations, RunOptions};
use crate::select::{Method, Score, StepSize, StopRule};
use crate::svm::{ClassWeight, Estimator, SolverKind};

const CITATIONS: [&str; 4] = [
    "López-De-Castro M, García-Galindo A, Armañanzas R. Conformal Recursive Feature Elimination. arXiv:2405.19429, 2024.",
    "Guyon I, Weston J, Barnhill S, Vapnik V. Gene selection for cancer classification using support vector machines. Machine Learning 46:389–422, 2002.",
    "Nogueira S, Sechidis K, Brown G. On the stability of feature selection algorithms. Journal of Machine Learning Research 18(174):1–54, 2018.",
    "Nadeau C, Bengio Y. Inference for the generalization error. Machine Learning 52:239–281, 2003.",
];

/// The paragraph and the references.
pub fn methods(material: &Material<'_>) -> Markup {
    html! {
        p.note { "To be edited into a paper." }
        p id="paragraph" { (text(&paragraph(material))) }
        ol { @for citation in CITATIONS { li { (citation) } } }
    }
}

/// The same as Markdown.
pub fn markdown(material: &Material<'_>) -> String {
    let references: String =
        CITATIONS.iter().enumerate().map(|(i, citation)| format!("{}. {citation}\n", i + 1)).collect();
    format!("## Methods\n\n{}\n\n## References\n\n{references}", text(&paragraph(material)))
}

fn paragraph(material: &Material<'_>) -> String {
    let (info, spec) = (material.info, &material.info.spec);
    let names: Vec<String> = spec.methods.iter().map(|method| long_name(*method).to_owned()).collect();
    let splits = match &info.splits_sha256 {
        Some(_) => format!("{} given splits", info.splits),
        None => format!(
            "{} random class-stratified splits (seed {}; {} % test rows, and {} % of the others for calibration)",
            info.splits,
            spec.split.seed,
            percent(spec.split.test_size),
            percent(spec.split.cal_size)
        ),
    };
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
    let model = match spec.estimator {
        Estimator::Linear => "linear support vector machines".to_owned(),
        Estimator::Rcs(knots) => format!(
            "linear support vector machines on restricted cubic splines of the numeric features ({} knots at quantiles of the \
             training rows; the terms of a feature were removed together)",
            usize::from(knots)
        ),
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
    let calibration = match spec.split.calibration {
        Calibration::Strict => {
            "β was computed on one half of the calibration rows and p-values on the other, so that the coverage guarantee holds for the selected features"
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
    let score = if spec.score == Score::Published {
        " The score was that of the published curves of [1]."
    } else {
        ""
    };
    let stop = match (spec.stop, spec.stop.entry()) {
        (_, Some(entry)) => (entry.prose)(&spec.beta_rule),
        (StopRule::Size(size), None) => format!("a size fixed in advance, {size}"),
        (_, None) => "no rule".to_owned(),
    };
    let median = if spec.stop == StopRule::OneSe { "" } else { ", as the median over splits" };
    // As many folds and permutations as there were.
    let done = RunOptions {
        validate: (info.folds > 0).then_some(info.folds),
        permutations: Permutations::Count(info.permutations),
        ..RunOptions::from(spec.clone())
    };
    let sentences = OPTIONS.iter().filter_map(|option| option.sentence(&done));
    let more: String = sentences.map(|sentence| format!(" {sentence}")).collect();
    let results: Vec<String> = material.answer.methods.iter().filter_map(|method| {
        let achieved = method.achieved.as_ref()?;
        Some(format!(
            " {} chose {} of {} features; subsets of this size reached a coverage of {:.3}, a mean set size of {:.2} of {} classes and an accuracy of {:.3}{}.",
            method.method,
            method.chosen.size?,
            material.answer.features,
            achieved.coverage,
            achieved.inefficiency,
            info.classes.len(),
            achieved.accuracy,
            method.stability.map_or_else(String::new, |stability| format!(", with a stability of {stability:.2} [3]")),
        ))
    }).collect();
    format!(
        "Features were ranked by {} on {} rows with {} features and {} classes, over {splits}. Within each split, columns were {scale} and {impute}, both fitted on \
         training rows only. Models were one-vs-rest {model} with {machine} (C = {}{weight}); {step}, after each of which all models were \
         trained again. The non-conformity weight was λ = {}; {calibration}. Inductive conformal prediction with {kind}p-values gave prediction sets at \
         significance ε = {}.{score}{more} The number of features was chosen by {stop}{median}. Agreement of splits was measured by Nogueira's stability [3], and methods \
         were compared on the same splits with the corrected resampled t-test [4].{} All computations were done with crfe-tui {} (input SHA-256 {}…).",
        names.join(", "),
        info.rows,
        info.units.len(),
        info.classes.len(),
        spec.cost,
        spec.lambda,
        spec.epsilon,
        results.concat(),
        env!("CARGO_PKG_VERSION"),
        info.input_sha256.get(..12).unwrap_or(&info.input_sha256),
    )
}

fn long_name(method: Method) -> &'static str {
    match method {
        Method::Crfe => "conformal recursive feature elimination (CRFE) [1]",
        Method::Rfe => "recursive feature elimination (RFE) [2]",
        Method::Smfs => "strangeness minimisation feature selection (SMFS)",
        Method::Acm => "average confidence maximisation (ACM)",
    }
}

/// A share in per cent, without noise in its last digits.
fn percent(share: f64) -> f64 {
    (share * 1e6).round() / 1e4
}
