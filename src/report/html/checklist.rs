//! The items of TRIPOD+AI (Collins et al. 2024) and REFORMS (Kapoor et al. 2024) that a run can
//! fill in, and the others as questions to the author.

use maud::{Markup, html};

use super::prose::{models, percent, prediction_sets, preparation, size, software, splits};
use super::{PageContent, text};
use crate::analysis::{MethodAnswer, p_words};
use crate::data::{Calibration, Level};
use crate::report::command::shell_command;
use crate::report::summary::{tested_headline, tested_lines};
use crate::select::StopRule;
use crate::svm::ClassWeight;

/// Features with missing values that are named.
const NAMED: usize = 20;

const GUIDELINES: [&str; 2] = [
    "Collins GS, Moons KGM, Dhiman P, et al. TRIPOD+AI statement: updated guidance for reporting clinical prediction models that use regression or machine learning methods. BMJ 385:e078378, 2024.",
    "Kapoor S, Cantrell EM, Peng K, et al. REFORMS: Consensus-based recommendations for machine-learning-based science. Science Advances 10(18):eadk3452, 2024.",
];

/// What a run knows about a topic.
type Answers = fn(&PageContent<'_>) -> Vec<String>;

/// Topics that the run knows: the items in TRIPOD+AI and REFORMS, and what to tell.
const KNOWN: [(&str, &str, &str, Answers); 15] = [
    ("Rows and outcome", "20a, 21", "3d, 3e", classes),
    ("Candidate features", "9a", "", features),
    ("Missing values", "11, 20b", "3f", missing),
    ("Quality of the data", "7", "4b", quality),
    ("Preprocessing, in order", "7, 12b", "4c", preprocessing),
    ("Partitions", "12a", "5c", partitions),
    ("Models", "12c", "5a", models_of),
    ("Selection", "12c", "5d, 5e", selection),
    ("Class imbalance", "13", "", imbalance),
    ("Output", "12g, 15", "", output),
    ("Leakage", "12a", "6a, 6b", leakage),
    ("Performance", "12e, 23a", "7a, 7b", performance),
    ("Baselines and tests", "12e", "5f, 7c", baselines),
    ("Specification", "22", "", specification),
    ("Reproduction", "18f", "2d, 2e", reproduction),
];

/// A question that only the author can answer: its items in TRIPOD+AI and REFORMS, and what to
/// tell.
const QUESTIONS: [(&str, &str, &str); 28] = [
    (
        "1, 2",
        "",
        "Do title and abstract name the study as one of feature selection and prediction, its population and its outcome?",
    ),
    (
        "3a, 3b",
        "1a, 1b",
        "What is the population, the intended use and the intended user, and which models exist already?",
    ),
    (
        "3c, 14",
        "",
        "Which health inequalities are known, and how was fairness between groups examined?",
    ),
    ("4", "1c", "What are the objectives, and why is machine learning used for them?"),
    (
        "5a, 16, 20c",
        "3a, 3b, 3c, 3g",
        "Where do the rows come from, how were they sampled, and do they represent the population?",
    ),
    ("5b", "", "When were the data collected?"),
    (
        "6a, 6b",
        "4a",
        "In which setting, and by which criteria, were participants included or excluded?",
    ),
    ("6c", "", "Which treatments did participants receive, and how was that handled?"),
    ("8a", "3d", "How is the outcome defined, and how and when was it assessed?"),
    ("8b, 8c", "", "Who assessed the outcome, with which training, and blinded to what?"),
    (
        "9b, 9c",
        "",
        "How and when was each feature measured, and by whom where that needs judgement?",
    ),
    (
        "",
        "6c",
        "Is each feature legitimate: would it be known at the time of prediction, and is none a consequence of the outcome?",
    ),
    ("10", "", "How was the sample size arrived at?"),
    ("11", "3f", "Why are values missing, and could that depend on the outcome?"),
    ("12c", "5b", "Why are these models appropriate here?"),
    ("", "2c", "On which computers were the results computed?"),
    (
        "12d, 23b",
        "",
        "Are there clusters (centres, devices, years), and does performance differ between them?",
    ),
    ("12f, 24", "", "Was the model updated, for example recalibrated?"),
    ("17", "", "Which ethics committee approved the study, and how was consent given?"),
    ("18a, 18b", "", "Who paid for it, and which conflicts of interest are there?"),
    ("18c, 18d", "", "Where are protocol and registration?"),
    ("18e, 18f", "2a, 2b", "Where are data and code available?"),
    ("19", "", "How were patients and the public involved?"),
    ("20b", "", "What are the characteristics of the participants, overall and by source?"),
    ("25", "", "How do the results compare with the objectives and with other studies?"),
    ("26", "8b", "What are the limitations, and where do the findings not hold?"),
    (
        "27a, 27b, 27c",
        "",
        "What happens with poor or missing input, what must a user know, and what comes next?",
    ),
    (
        "5a",
        "8a",
        "What is the evidence that the findings hold beyond these rows (external validation)?",
    ),
];

/// What the run knows, and the questions.
pub fn checklist(content: &PageContent<'_>) -> Markup {
    html! {
        p.note {
            "Numbers are items of TRIPOD+AI [1] and REFORMS [2]; their wording is shortened here. Check every answer before you publish it."
        }
        h3 { "What this run knows" }
        .scroll tabindex="0" {
            table.reporting {
                thead { tr { th scope="col" { "item" } th scope="col" { "TRIPOD+AI" } th scope="col" { "REFORMS" } th scope="col" { "answer" } } }
                tbody {
                    @for (topic, tripod, reforms, answers) in KNOWN {
                        tr {
                            th scope="row" { (topic) }
                            td { (tripod) }
                            td { (reforms) }
                            td { @for answer in answers(content) { p { (text(&answer)) } } }
                        }
                    }
                }
            }
        }
        h3 { "What only you know" }
        .scroll tabindex="0" {
            table.reporting {
                thead { tr { th scope="col" { "TRIPOD+AI" } th scope="col" { "REFORMS" } th scope="col" { "question" } } }
                tbody {
                    @for (tripod, reforms, question) in QUESTIONS { tr { td { (tripod) } td { (reforms) } td { (question) } } }
                }
            }
        }
        ol { @for guideline in GUIDELINES { li { (guideline) } } }
    }
}

fn models_of(content: &PageContent<'_>) -> Vec<String> {
    vec![models(&content.info.spec)]
}

fn imbalance(content: &PageContent<'_>) -> Vec<String> {
    let weights = match content.info.spec.class_weight {
        ClassWeight::Balanced => {
            "Classes were weighted by the inverse of their frequency; rows were not resampled."
        }
        ClassWeight::None => "Classes were neither weighted nor resampled.",
    };
    vec![weights.to_owned()]
}

fn output(content: &PageContent<'_>) -> Vec<String> {
    vec![
        "The class with the highest decision value, and a prediction set with a p-value for each class; no probabilities.".to_owned(),
        prediction_sets(&content.info.spec),
    ]
}

fn specification(_: &PageContent<'_>) -> Vec<String> {
    let files = "selected.txt lists the features; ranking.csv has their rank in every split, and predictions.csv the p-values of every test row.";
    vec![files.to_owned()]
}

fn classes(content: &PageContent<'_>) -> Vec<String> {
    let info = content.info;
    let counted = info.classes.iter().zip(&info.class_counts);
    let each: Vec<String> = counted.map(|(class, count)| format!("{class}: {count}")).collect();
    vec![format!("{} rows with a class in “{}” ({}).", info.rows, info.target, each.join("; "))]
}

fn features(content: &PageContent<'_>) -> Vec<String> {
    let info = content.info;
    let mut answers = vec![format!("{} features were offered to the selection.", info.units.len())];
    if info.kept() > 0 {
        answers.push(format!("{} of them were kept in every model by request.", info.kept()));
    }
    if !info.dropped.is_empty() {
        answers
            .push(format!("{} columns were not used; section Data says why.", info.dropped.len()));
    }
    answers
}

fn missing(content: &PageContent<'_>) -> Vec<String> {
    let Some(by_unit) = &content.missing else {
        return vec!["Not known: the table was not at hand when this page was written.".to_owned()];
    };
    let info = content.info;
    let mut some: Vec<(&str, usize)> =
        info.units.iter().map(|unit| unit.name.as_str()).zip(by_unit.iter().copied()).collect();
    some.retain(|(_, count)| *count > 0);
    if some.is_empty() {
        return vec!["No cell of the features is missing.".to_owned()];
    }
    some.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let each: Vec<String> = some
        .iter()
        .take(NAMED)
        .map(|(name, count)| {
            format!("{name}: {count} ({:.1} %)", 100.0 * *count as f64 / info.rows as f64)
        })
        .collect();
    let more = match some.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let cells: usize = some.iter().map(|(_, count)| count).sum();
    vec![format!(
        "{cells} cells of {} features are missing: {}{more}.",
        some.len(),
        each.join("; ")
    )]
}

fn quality(content: &PageContent<'_>) -> Vec<String> {
    let warnings: Vec<String> = content.info.audit.at(Level::Warning).map(str::to_owned).collect();
    if warnings.is_empty() {
        return vec!["Checked for duplicate rows, codes for missing values, identifiers and constant columns: nothing was found.".to_owned()];
    }
    warnings
}

fn preprocessing(content: &PageContent<'_>) -> Vec<String> {
    let spec = &content.info.spec;
    vec![
        format!(
            "1. Columns that are constant, identifiers, or missing in more than {} % of the rows were dropped.",
            percent(spec.schema.max_missing)
        ),
        "2. Categories, if there were any, became one column per level; the columns of a feature were removed together.".to_owned(),
        format!("3. {}", preparation(content)),
        "4. Steps 1 and 2 looked at all rows, but not at the outcome.".to_owned(),
    ]
}

fn partitions(content: &PageContent<'_>) -> Vec<String> {
    let info = content.info;
    let mut answers = vec![format!("{}.", capital(&splits(content)))];
    if info.folds > 0 {
        answers.push(format!(
            "The whole procedure was repeated in {} folds and tested on the rows of each fold, none of which it had seen.",
            info.folds
        ));
    }
    answers
}

fn selection(content: &PageContent<'_>) -> Vec<String> {
    let spec = &content.info.spec;
    let mut answers = vec![
        size(content),
        "The list holds the features that most splits keep at this size; ties are broken by mean rank."
            .to_owned(),
        format!(
            "C = {}, λ = {} and ε = {} are settings of this run, which did not search for better ones.",
            spec.cost, spec.lambda, spec.epsilon
        ),
    ];
    if spec.stop == StopRule::OneSe {
        answers.push(
            "The size was chosen on the test rows of the splits. Numbers of the splits are therefore given at the size that the other splits \
             choose, and the validation repeats the choice in every fold."
                .to_owned(),
        );
    }
    answers
}

fn leakage(content: &PageContent<'_>) -> Vec<String> {
    let info = content.info;
    let calibration = match info.spec.split.calibration {
        Calibration::Strict => {
            "In each split, scaling, imputation and models were fitted on training rows; β came from one half of the calibration rows and \
             p-values from the other; performance was measured on test rows."
        }
        Calibration::Shared => {
            "In each split, scaling, imputation and models were fitted on training rows and performance was measured on test rows, but β and \
             p-values came from the same calibration rows."
        }
    };
    let validation = match info.folds {
        0 => "The list was not tested by nested validation.",
        _ => {
            "In the nested validation no row of a fold reached selection, imputation, scaling, calibration or the choice of the size."
        }
    };
    let groups = match &info.spec.schema.group_col {
        Some(column) => format!("Rows with the same {column} were never on both sides of a split."),
        None => "Rows were treated as independent. If a patient has several rows, use --group-col."
            .to_owned(),
    };
    vec![calibration.to_owned(), validation.to_owned(), groups]
}

fn performance(content: &PageContent<'_>) -> Vec<String> {
    let of_method = |method: &MethodAnswer| {
        let told = |headline: String, lines: Vec<(String, String)>| {
            let each: Vec<String> =
                lines.iter().map(|(label, value)| format!("{label} {value}")).collect();
            format!("{}. {headline}: {}.", method.method, each.join("; "))
        };
        let classes = &content.info.classes;
        let folds = Some(tested_lines(method, classes)).filter(|lines| !lines.is_empty());
        folds.map_or_else(
            || format!("{}: not tested on rows that the procedure never saw.", method.method),
            |lines| told(tested_headline(method), lines),
        )
    };
    content.answer.methods.iter().map(of_method).collect()
}

fn baselines(content: &PageContent<'_>) -> Vec<String> {
    let mut answers = vec![format!(
        "Always predicting the largest class has an accuracy of {:.3}.",
        content.info.no_information_rate()
    )];
    answers.extend(content.answer.comparisons.iter().map(|comparison| {
        format!("{} (paired over splits, corrected resampled t-test).", comparison.sentence)
    }));
    for method in &content.answer.methods {
        if let Some(chance) = &method.by_chance {
            let p = chance
                .p
                .map_or_else(String::new, |p| format!("; {} for {}", p_words(p), chance.subject()));
            answers
                .push(format!("{}: {} label permutations{p}.", method.method, chance.permutations));
        }
    }
    answers
}

fn reproduction(content: &PageContent<'_>) -> Vec<String> {
    let info = content.info;
    let mut answers = vec![
        software(content),
        format!(
            "SHA-256 of the input: {}. Fingerprint of data and settings: {}.",
            info.input_sha256, info.fingerprint
        ),
        format!(
            "Seed {}. Command: {}",
            info.spec.split.seed,
            shell_command(&info.spec, &info.input)
        ),
        "The same command gives the same bytes on any machine and any number of threads."
            .to_owned(),
    ];
    if content.script.is_ok() {
        answers.push(
            "reproduce.py repeats the elimination of one split with scikit-learn.".to_owned(),
        );
    }
    answers
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// `12a` to `12g` as `("12", 'g')`; an item without letters has none.
    fn items(numbers: &[(&str, Option<char>)]) -> BTreeSet<String> {
        let of = |&(number, last): &(&str, Option<char>)| match last {
            Some(last) => ('a'..=last).map(|letter| format!("{number}{letter}")).collect(),
            None => vec![number.to_owned()],
        };
        numbers.iter().flat_map(of).collect()
    }

    fn listed(cells: impl Iterator<Item = &'static str>) -> BTreeSet<String> {
        cells
            .flat_map(|cell| cell.split(", "))
            .filter(|item| !item.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn every_item_of_both_guidelines_is_answered_or_asked() {
        let tripod =
            KNOWN.iter().map(|known| known.1).chain(QUESTIONS.iter().map(|question| question.0));
        let all = [
            ("1", None),
            ("2", None),
            ("3", Some('c')),
            ("4", None),
            ("5", Some('b')),
            ("6", Some('c')),
            ("7", None),
            ("8", Some('c')),
            ("9", Some('c')),
            ("10", None),
            ("11", None),
            ("12", Some('g')),
            ("13", None),
            ("14", None),
            ("15", None),
            ("16", None),
            ("17", None),
            ("18", Some('f')),
            ("19", None),
            ("20", Some('c')),
            ("21", None),
            ("22", None),
            ("23", Some('b')),
            ("24", None),
            ("25", None),
            ("26", None),
            ("27", Some('c')),
        ];
        assert_eq!(listed(tripod), items(&all));
        let reforms =
            KNOWN.iter().map(|known| known.2).chain(QUESTIONS.iter().map(|question| question.1));
        let all = [
            ("1", Some('c')),
            ("2", Some('e')),
            ("3", Some('g')),
            ("4", Some('c')),
            ("5", Some('f')),
            ("6", Some('c')),
            ("7", Some('c')),
            ("8", Some('b')),
        ];
        let all = items(&all);
        assert_eq!(all.len(), 32);
        assert_eq!(listed(reforms), all);
    }
}
