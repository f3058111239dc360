//! The parts of the page: header, answer, test, cautions, figures, data, settings, how to reproduce
//! it.

use maud::{Markup, PreEscaped, html};

use super::table::{Cell, Table};
use super::{PageContent, text};
use crate::analysis::{MethodAnswer, Topic};
use crate::data::Level;
use crate::error::counted;
use crate::report::Figure;
use crate::report::command::shell_command;
use crate::report::summary::{SITES_NOTE, SUBGROUPS_NOTE, estimator_words, guarantee_words};
use crate::select::Method;

/// Features listed on a card.
const LISTED: usize = 60;
/// The figure beside the answer.
const MAIN_FIGURE: &str = "size";
/// Dropped columns and notes that are listed.
const MOST_LINES: usize = 200;
/// Features with missing values that are named.
const MOST_MISSING: usize = 20;

/// The data, the splits, and whether coverage is guaranteed.
pub fn header(content: &PageContent<'_>) -> Markup {
    let answer = content.answer;
    let (features, splits) = (counted(answer.features, "feature"), counted(answer.splits, "split"));
    html! {
        h1 { (text(&answer.input)) }
        p.faint {
            (answer.rows) " rows, " (features) ", " (answer.classes.len()) " classes in “" (text(&answer.target)) "” · "
            (splits) ", " (answer.calibration) " calibration" (estimator_words(answer)) " · target coverage " (answer.target_coverage) " ("
            @if answer.guaranteed { (guarantee_words(answer)) } @else { strong { (guarantee_words(answer)) } }
            ")"
        }
    }
}

fn caution(method: Option<Method>, words: &str) -> Markup {
    html! {
        p.caution data-method=[method.map(|method| method.name())] {
            @if let Some(method) = method { (method) ": " }
            (text(words))
        }
    }
}

/// Names and values.
fn list(lines: &[(String, String)]) -> Markup {
    html! { dl { @for (name, value) in lines { dt { (text(name)) } dd { (text(value)) } } } }
}

/// One card per method, how the methods compare, and the figure that shows why these sizes were
/// chosen.
pub fn answer(content: &PageContent<'_>) -> Markup {
    let answer = content.answer;
    let beware = answer.cautions.len()
        + answer.methods.iter().map(|method| method.cautions.len()).sum::<usize>();
    html! {
        @if beware > 0 {
            p.note { a href="#cautions" { (counted(beware, "caution")) } " below." }
        }
        .cards { @for method in &answer.methods { (card(method)) } }
        @for comparison in &answer.comparisons {
            p.comparison { (text(&comparison.sentence)) "." }
        }
        @if !answer.comparisons.is_empty() {
            p.note {
                "Paired over the splits, with Nadeau and Bengio's correction for overlapping training rows. The corrected test is \
                 conservative: a difference that it does not find may still be there."
            }
        }
        @for figure in content.figures.iter().filter(|figure| figure.name == MAIN_FIGURE) {
            div.main-figure { (drawn(figure)) }
        }
    }
}

/// Where a verdict is a sentence and not a number of features, it is set like a caution.
fn card(answer: &MethodAnswer) -> Markup {
    let size = answer
        .chosen
        .size
        .map_or_else(|| "no size chosen".to_owned(), |size| counted(size, "feature"));
    let mut table = Table::new("no.# | feature | in splits# | mean rank# | adjusted p#");
    for (i, feature) in answer.features.iter().take(LISTED).enumerate() {
        let rank = match feature.mean_rank {
            Some(rank) => Cell::Rank(rank),
            None => Cell::Text("kept".to_owned()),
        };
        let p = Cell::p(feature.adjusted_p);
        let name = Cell::Named(feature.name.clone(), feature.twin_words(LISTED, str::to_owned));
        table.row(&[Cell::Int(i + 1), name, Cell::Int(feature.count), rank, p]);
    }
    let more = answer.features.len().saturating_sub(LISTED);
    let interchangeable = answer.features.iter().filter(|feature| feature.interchangeable).count();
    html! {
        .card data-method=(answer.method.name()) {
            h3 { (answer.method) }
            @if answer.headline != size { p.caution.verdict { (text(&answer.headline)) "." } }
            p.big { (size) }
            (said(answer, &[Topic::Size]))
            @if !answer.features.is_empty() { (table.html()) }
            @if more > 0 { p.note { "and " (more) " more, in selected.txt and summary.json." } }
            @if !answer.features.is_empty() {
                p.note {
                    "In splits: how many of the " (answer.splits) " splits keep the feature at this size."
                    @if interchangeable > 0 {
                        " " (counted(interchangeable, "feature"))
                        @if interchangeable == 1 { " is" } @else { " are" }
                        " kept by fewer than half of them: other splits choose others instead."
                    }
                    @if answer.features.iter().any(|feature| feature.twin_count > 0) {
                        " Below a name: features that could stand in for it (|r| > 0.9 over all rows)."
                    }
                    @if answer.by_chance.is_some() { " Adjusted p: how often permuted labels keep some feature as often." }
                }
            }
        }
    }
}

/// What was measured, first on rows that the procedure never saw: the numbers, the classes, the
/// folds, the permutations.
pub fn tested(content: &PageContent<'_>) -> Markup {
    html! {
        .cards { @for method in &content.answer.methods { (tested_card(method)) } }
        (classes(content))
        (sites(content))
        (subgroups(content))
        (folds(content))
    }
}

/// Sites that the procedure did not see, worst first.
fn sites(content: &PageContent<'_>) -> Markup {
    let mut table = Table::new(
        "method | site | rows# | features# | accuracy# | accuracy within# | coverage# | expected | p# | set size#",
    );
    for method in &content.answer.methods {
        let Some(transfer) = &method.transfer else { continue };
        for site in &transfer.sites {
            let own = site.measured.as_ref();
            table.row_of(
                method.method,
                &[
                    Cell::Text(site.site.clone()),
                    Cell::Int(site.rows),
                    Cell::Int(site.features.len()),
                    Cell::Interval(own.map(|own| own.accuracy)),
                    Cell::Real(own.and_then(|own| own.accuracy_within)),
                    Cell::Real(own.map(|own| own.coverage.value)),
                    Cell::range(own.and_then(|own| own.coverage_band)),
                    Cell::p(own.and_then(|own| own.p_coverage)),
                    Cell::Real(own.map(|own| own.set_size)),
                ],
            );
        }
    }
    let column = content.info.spec.schema.leave_out.clone().unwrap_or_default();
    html! {
        @if !table.is_empty() {
            h3 { "Does the list transfer? Each " (text(&column)) " left out once" }
            p.note { "The whole procedure ran without the rows of a site; its list, model and calibration were tested there; " (SITES_NOTE) "." }
            (table.html())
        }
    }
}

/// Coverage by subgroup, the lowest first.
fn subgroups(content: &PageContent<'_>) -> Markup {
    let mut table = Table::new("method | subgroup | rows# | coverage# | expected | p# | set size#");
    for method in &content.answer.methods {
        for own in &method.subgroups {
            table.row_of(
                method.method,
                &[
                    Cell::Text(format!("{} = {}", own.column, own.level)),
                    Cell::Int(own.rows),
                    Cell::Interval(Some(own.coverage)),
                    Cell::range(own.coverage_band),
                    Cell::p(own.p_coverage),
                    Cell::Real(Some(own.set_size)),
                ],
            );
        }
    }
    html! {
        @if !table.is_empty() {
            h3 { "Coverage by subgroup, lowest first" }
            p.note { "On the rows of the nested validation; " (SUBGROUPS_NOTE) "." }
            (table.html())
        }
    }
}

/// Everything that is said about a method.
fn tested_card(answer: &MethodAnswer) -> Markup {
    html! {
        .card data-method=(answer.method.name()) {
            h3 { (answer.method) }
            (said(answer, &[Topic::Validation, Topic::Tested, Topic::Worst, Topic::Transfer]))
            h4 { "Against chance" }
            (said(answer, &[Topic::Chance]))
            h4 { "The splits that chose the list" }
            (said(answer, &[Topic::Selection, Topic::Splits, Topic::Stability]))
        }
    }
}

/// The statements about some topics.
fn said(answer: &MethodAnswer, topics: &[Topic]) -> Markup {
    let lines: Vec<(String, String)> =
        answer.about(topics).map(|own| (own.label.to_owned(), own.whole(3))).collect();
    list(&lines)
}

/// Each class at the chosen size, worst first.
fn classes(content: &PageContent<'_>) -> Markup {
    let methods = &content.answer.methods;
    let is_tested =
        methods.iter().flat_map(|method| &method.classes).any(|class| class.tested.is_some());
    let mut table = Table::new(
        "method | class | rows# | accuracy (recall)# | coverage# | mean set size# | precision# | F1#",
    );
    for method in methods {
        for class in method.classes.iter().take(MOST_LINES) {
            let mut cells = vec![Cell::Text(class.class.clone()), Cell::Int(class.rows)];
            match (&class.tested, &class.splits) {
                (Some(tested), _) => cells.extend([
                    Cell::Interval(tested.recall),
                    Cell::Interval(tested.coverage),
                    Cell::Real(Some(tested.set_size)),
                    Cell::Real(Some(tested.precision)),
                    Cell::Real(Some(tested.f1)),
                ]),
                (None, Some(means)) => cells.extend(
                    [means.recall, means.coverage, means.set_size, means.precision, means.f1]
                        .map(|mean| Cell::Real(Some(mean))),
                ),
                (None, None) => cells.extend([(); 5].map(|()| Cell::Real(None))),
            }
            table.row_of(method.method, &cells);
        }
    }
    let promise = if !content.answer.guaranteed {
        "No coverage is promised: the guarantee is void."
    } else if content.info.spec.mondrian {
        "Coverage is aimed at in every class (--mondrian)."
    } else {
        "Coverage is promised on average over the classes, not in each of them; --mondrian aims at each."
    };
    html! {
        @if methods.iter().any(|method| !method.classes.is_empty()) {
            h3 { "Each class, worst first" }
            (table.html())
            p.note {
                @if is_tested { "On rows that the procedure never saw, with 95 % intervals. " }
                @else { "On the test rows of the splits at the chosen size, means over splits. " }
                (promise)
            }
        }
    }
}

/// The list of each fold of the validation.
fn folds(content: &PageContent<'_>) -> Markup {
    let mut table = Table::new("method | fold# | features# | list, most frequent first");
    for method in &content.answer.methods {
        for (fold, list) in method.tested.iter().flat_map(|tested| &tested.lists).enumerate() {
            let shown = list.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
            let more = match list.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let shown = Cell::Text(shown + &more);
            table.row_of(method.method, &[Cell::Int(fold + 1), Cell::Int(list.len()), shown]);
        }
    }
    html! {
        @if !table.is_empty() {
            (table.folded(false, "Lists of the folds", "What the procedure selects when it does not see the rows of a fold. If these lists differ much, so would the list of another study."))
        }
    }
}

/// Everything to beware of: the run's, then each method's.
pub fn cautions(content: &PageContent<'_>) -> Markup {
    let answer = content.answer;
    let none = answer.cautions.is_empty()
        && answer.methods.iter().all(|method| method.cautions.is_empty());
    html! {
        @if none { p { "None: no check of the data, the models or the results found anything to beware of." } }
        @for words in &answer.cautions { (caution(None, words)) }
        @for method in &answer.methods {
            @for words in &method.cautions { (caution(Some(method.method), words)) }
        }
    }
}

/// A figure with its caption.
fn drawn(figure: &Figure) -> Markup {
    html! {
        figure id={ "figure-" (figure.name) } data-method=[figure.method.map(|method| method.name())] {
            (PreEscaped(&figure.svg))
            figcaption { strong { (text(&figure.title)) "." } " " (text(&figure.caption)) }
        }
    }
}

/// The other figures.
pub fn figures(content: &PageContent<'_>) -> Markup {
    html! {
        p.note {
            "Each is a file in the directory figures. "
            code { "crfe-tui report RUN --figure-width 183 --font-size 8" }
            " draws them again for another width and size of text."
        }
        .figures { @for figure in content.figures.iter().filter(|figure| figure.name != MAIN_FIGURE) { (drawn(figure)) } }
    }
}

/// How the table was read.
pub fn data(content: &PageContent<'_>) -> Markup {
    let info = content.info;
    let more = |all: usize| match all.saturating_sub(MOST_LINES) {
        0 => Markup::default(),
        more => html! { p.note { "and " (more) " more: manifest.json has them all." } },
    };
    let mut classes = Table::new("class | rows#");
    for (class, &count) in info.classes.iter().zip(&info.class_counts).take(MOST_LINES) {
        classes.row(&[Cell::Text(class.clone()), Cell::Int(count)]);
    }
    let mut dropped = Table::new("unused column | reason");
    for column in info.dropped.iter().take(MOST_LINES) {
        dropped.row(&[Cell::Text(column.name.clone()), Cell::Text(column.reason.clone())]);
    }
    html! {
        ul {
            @for note in info.audit.notes.iter().take(MOST_LINES) {
                li { @if note.level == Level::Warning { strong { "Warning:" } " " } (text(&note.text)) }
            }
        }
        (more(info.audit.notes.len()))
        p { (text(&missing(content))) }
        (classes.html())
        (more(info.classes.len()))
        @if !info.dropped.is_empty() { (dropped.html()) (more(info.dropped.len())) }
    }
}

/// How many cells of each feature are missing, most first.
fn missing(content: &PageContent<'_>) -> String {
    let Some(by_unit) = &content.missing else {
        return "Missing values are not known: the table was not at hand when this page was written."
            .to_owned();
    };
    let info = content.info;
    let mut some: Vec<(&str, usize)> =
        info.units.iter().map(|unit| unit.name.as_str()).zip(by_unit.iter().copied()).collect();
    some.retain(|(_, count)| *count > 0);
    if some.is_empty() {
        return "No cell of the features is missing.".to_owned();
    }
    some.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let share = |count| 100.0 * count as f64 / info.rows as f64;
    let named = some.iter().take(MOST_MISSING);
    let each: Vec<String> =
        named.map(|&(name, count)| format!("{name}: {count} ({:.1} %)", share(count))).collect();
    let more = match some.len().saturating_sub(MOST_MISSING) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let cells: usize = some.iter().map(|(_, count)| count).sum();
    format!("{cells} cells of {} features are missing: {}{more}.", some.len(), each.join("; "))
}

/// Everything that determines the result.
pub fn settings(content: &PageContent<'_>) -> Markup {
    let info = content.info;
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
    let by_hand = content.answer.choice.name(&info.spec);
    rows.extend(by_hand.map(|name| ("chosen by hand".to_owned(), name.replace('_', " "))));
    if let Ok(spec) = serde_json::to_value(&info.spec) {
        flatten("", &spec, &mut rows);
    }
    list(&rows)
}

/// `split.seed = 0` and so on, in the order of the options' names; unset options are left out.
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
pub fn reproduce(content: &PageContent<'_>) -> Markup {
    let command =
        shell_command(&content.answer.choice.options(&content.info.spec), &content.info.input);
    html! {
        p { "With the same file (its SHA-256 is in Settings) and without configuration file and CRFE_* variables, on any number of threads:" }
        pre.wrap id="command" { (text(&command)) }
        @match content.script {
            Ok(script) => {
                p {
                    "This Python script repeats the first split with scikit-learn's LinearSVC and compares the order of removal; the file \
                     reproduce.py holds it, too."
                }
                pre id="script" tabindex="0" { (script) }
            }
            Err(reason) => { p.note { "There is no scikit-learn script: " (text(reason)) "." } }
        }
    }
}
