//! How sure: the facts that say how far the list can be trusted, each with its label and colour.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::analysis::{
    ComparedMetric, MethodAnswer, Metric, StabilityBand, Tested, band_word, rounded_p, two_decimals,
};
use crate::evaluate::{Interval, PairedDifference};
use crate::run::RunInfo;
use crate::select::StopRule;
use crate::tui::app::{App, plural};
use crate::tui::theme::Role;
use crate::tui::view::text::{fit, share, wrap};
use crate::tui::view::{Hits, more, panel};

/// Cells of the labels beside the facts.
const LABEL: usize = 12;

/// The panel of the facts.
pub(super) fn sure(
    frame: &mut Frame<'_>,
    app: &App,
    info: &RunInfo,
    answer: &MethodAnswer,
    area: Rect,
    hits: &mut Hits,
) {
    let inside = panel(frame, app, area, 1, "How sure", hits);
    let lines = sure_lines(app, info, answer, usize::from(inside.width));
    let hidden = lines.len().saturating_sub(usize::from(inside.height));
    let first = if app.zoom() == Some(1) { app.scroll().min(hidden) } else { 0 };
    frame.render_widget(Paragraph::new(lines).scroll((first as u16, 0)), inside);
    more(frame, app, area, hidden - first, 1);
}

/// One fact: its label, what is known, and whether that is good.
type Fact = (&'static str, String, Role);

/// The facts as lines, long ones wrapped.
pub(super) fn sure_lines(
    app: &App,
    info: &RunInfo,
    answer: &MethodAnswer,
    width: usize,
) -> Vec<Line<'static>> {
    let dim = app.theme().style(Role::Dim);
    let mut lines = Vec::new();
    for (label, value, role) in facts(app, info, answer) {
        for (i, text) in wrap(&value, width.saturating_sub(LABEL)).into_iter().enumerate() {
            lines.push(Line::from(vec![
                Span::styled(fit(if i == 0 { label } else { "" }, LABEL), dim),
                Span::styled(text, app.theme().style(role)),
            ]));
        }
    }
    lines
}

fn interval(own: &Interval) -> String {
    format!("{:.2} ({:.2} to {:.2})", own.value, own.lo, own.hi)
}

/// Everything that says how far the list can be trusted.
fn facts(app: &App, info: &RunInfo, answer: &MethodAnswer) -> Vec<Fact> {
    let mut facts = vec![("size", size_words(app, answer), Role::Text)];
    let others: Vec<String> = answer
        .beside
        .iter()
        .filter_map(|rule| {
            let size = rule.size.map_or_else(|| "never".to_owned(), |size| size.to_string());
            Some(format!("{} {size}", rule.stop.entry()?.symbol))
        })
        .collect();
    if !others.is_empty() {
        facts.push(("other rules", others.join(", "), Role::Dim));
    }
    if let Some(stability) = answer.stability {
        facts.push(("stability", stability_words(app, answer, stability), stability_role(answer)));
    }
    facts.extend(performance(info, answer));
    facts.push(tested(answer.tested.as_ref(), info));
    facts.extend(worst_site(answer));
    facts.extend(worst_subgroup(answer));
    facts.push(by_chance(answer, info));
    facts.extend(comparison(app));
    facts.extend(my_list(app));
    facts
}

/// My list beside the answer, on all splits.
fn my_list(app: &App) -> Option<Fact> {
    let count = app.table().marks().len();
    if count == 0 {
        return None;
    }
    let words = match (app.my_list_comparison(), app.plan()) {
        (Some(comparison), _) => {
            let metric = |own: &ComparedMetric| {
                format!("{} {}", own.label, difference_words(&own.difference))
            };
            let metrics: Vec<String> = comparison.metrics.iter().map(metric).collect();
            format!(
                "{}; against the answer: {}; picked by eye on these rows, which flatters it",
                plural(count, "feature"),
                metrics.join(", ")
            )
        }
        (None, None) => format!("{}; testing it needs the data file", plural(count, "feature")),
        (None, Some(_)) => format!("{}, being tested on all splits …", plural(count, "feature")),
    };
    Some(("my list", words, Role::Good))
}

fn size_words(app: &App, answer: &MethodAnswer) -> String {
    let chosen = &answer.chosen;
    let Some(size) = chosen.size else { return "none".to_owned() };
    match (chosen.stop, chosen.smallest, chosen.largest) {
        (StopRule::Size(_), ..) if app.taken().is_some() => format!("{size}, chosen by hand"),
        (StopRule::Size(_), ..) => format!("{size}, as asked for"),
        (StopRule::OneSe, Some(lo), Some(hi)) => match lo == hi {
            true => format!("{size}, whichever split is left out"),
            false => format!("{size}; {lo} to {hi} when one split is left out"),
        },
        (_, Some(lo), Some(hi)) => {
            let silent = answer.splits - chosen.fired;
            let silent = if silent > 0 {
                format!(", no stop on {silent} of {}", answer.splits)
            } else {
                String::new()
            };
            format!("{size}, the median; splits {lo} to {hi}{silent}")
        }
        _ => size.to_string(),
    }
}

fn stability_words(app: &App, answer: &MethodAnswer, stability: f64) -> String {
    const CELLS: usize = 6;
    let filled = (stability.clamp(0.0, 1.0) * CELLS as f64).round() as usize;
    let bar = app.theme().glyph("█", "#").repeat(filled)
        + &app.theme().glyph("░", ".").repeat(CELLS - filled);
    let spread = answer.stability_interval.map_or_else(String::new, |(lo, hi)| {
        format!(" ({} to {})", two_decimals(lo), two_decimals(hi))
    });
    format!("{} {bar} {}{spread}", two_decimals(stability), band_word(answer.stability_band))
}

/// The colour of a stability.
pub(super) fn stability_role(answer: &MethodAnswer) -> Role {
    match answer.stability_band {
        Some(StabilityBand::Poor) => Role::Warn,
        Some(StabilityBand::Fair) | None => Role::Text,
        Some(StabilityBand::Good) => Role::Good,
    }
}

/// Accuracy, set size and coverage: on rows that were never seen, or before that on the test rows
/// of the splits.
fn performance(info: &RunInfo, answer: &MethodAnswer) -> Vec<Fact> {
    let classes = info.classes.len();
    let target = share(1.0 - info.spec.epsilon);
    let Some(tested) = answer.tested.as_ref().and_then(|tested| tested.performance.as_ref()) else {
        let Some(achieved) = &answer.achieved else { return Vec::new() };
        let sd = |sd: Option<f64>| sd.map_or_else(String::new, |sd| format!(" ± {sd:.2}"));
        let rate = info.no_information_rate();
        return vec![
            (
                "accuracy",
                format!(
                    "{:.2}{}; largest class {rate:.2}",
                    achieved.accuracy,
                    sd(achieved.accuracy_sd)
                ),
                Role::Text,
            ),
            (
                "set size",
                format!(
                    "{:.2}{} of {classes} classes",
                    achieved.inefficiency,
                    sd(achieved.inefficiency_sd)
                ),
                Role::Text,
            ),
            ("coverage", format!("{:.2}; target {target}", achieved.coverage), Role::Text),
        ];
    };
    let rate = tested.no_information_rate;
    let mut facts = vec![
        (
            "accuracy",
            format!("{}; largest class {rate:.2}", interval(&tested.accuracy)),
            if tested.accuracy.lo > rate { Role::Text } else { Role::Warn },
        ),
        (
            "set size",
            format!(
                "{:.2} of {classes} classes; {:.0} % empty",
                tested.set_size.value,
                100.0 * tested.empty.value
            ),
            Role::Text,
        ),
        ("coverage", format!("{}; target {target}", interval(&tested.coverage)), Role::Text),
    ];
    let covered = tested.classes.iter().filter_map(|class| Some((class, class.coverage?)));
    if let Some((class, coverage)) = covered.min_by(|a, b| a.1.value.total_cmp(&b.1.value)) {
        let name = &info.classes[class.class];
        let role = if coverage.hi < 1.0 - info.spec.epsilon { Role::Warn } else { Role::Text };
        let words =
            format!("'{name}' covered {:.2} in {}", coverage.value, plural(class.rows, "row"));
        facts.push(("worst class", words, role));
    }
    facts
}

fn tested(tested: Option<&Tested>, info: &RunInfo) -> Fact {
    let Some(tested) = tested.filter(|_| info.folds > 0) else {
        if info.folds > 0 {
            let words = "not at this size: the folds test the procedure at its own size";
            return ("tested", words.to_owned(), Role::Warn);
        }
        let why = match info.spec.validate {
            None => " (--validate none)".to_owned(),
            Some(_) if info.spec.split.splits_from.is_some() => " (--splits-from)".to_owned(),
            Some(folds) => format!(": a class is too small for {folds} folds"),
        };
        return ("tested", format!("only on the splits' test rows{why}"), Role::Warn);
    };
    if tested.folds < tested.of_folds {
        let words = format!("fold {} of {} is running", tested.folds + 1, tested.of_folds);
        return ("tested", words, Role::Accent);
    }
    let rows = tested.performance.as_ref().map_or(0, |performance| performance.rows);
    match tested.without_list {
        0 => (
            "tested",
            format!("on {rows} rows it never saw, {} folds", tested.of_folds),
            Role::Good,
        ),
        n if rows == 0 => (
            "tested",
            format!("on no rows: no size was chosen in {n} of {} folds", tested.of_folds),
            Role::Warn,
        ),
        n => {
            let words =
                format!("on {rows} rows it never saw; no list in {n} of {} folds", tested.of_folds);
            ("tested", words, Role::Warn)
        }
    }
}

/// The site with the lowest coverage of those that were left out.
fn worst_site(answer: &MethodAnswer) -> Option<Fact> {
    let sites = &answer.transfer.as_ref()?.sites;
    let (site, own) = sites.iter().find_map(|site| Some((site, site.measured.as_ref()?)))?;
    let (accuracy, coverage) = (own.accuracy.value, own.coverage.value);
    let words = format!("'{}' left out: accuracy {accuracy:.2}, covered {coverage:.2}", site.site);
    Some(("worst site", words, if own.shifted { Role::Warn } else { Role::Text }))
}

/// The subgroup with the lowest coverage.
fn worst_subgroup(answer: &MethodAnswer) -> Option<Fact> {
    let own = answer.subgroups.first()?;
    let coverage = own.coverage.value;
    let rows = plural(own.rows, "row");
    let words = format!("{} '{}' covered {coverage:.2} in {rows}", own.column, own.level);
    Some(("subgroup", words, if own.below { Role::Warn } else { Role::Text }))
}

fn by_chance(answer: &MethodAnswer, info: &RunInfo) -> Fact {
    match &answer.by_chance {
        None if info.permutations == 0 => {
            ("by chance", "not known (--permutations none)".to_owned(), Role::Dim)
        }
        None if answer.chosen.size.is_none() => {
            ("by chance", "nothing to compare without a size".to_owned(), Role::Dim)
        }
        None => {
            ("by chance", format!("0 of {} permutations done", info.permutations), Role::Accent)
        }
        Some(chance) => {
            let done = if chance.permutations < chance.of_permutations {
                format!("{} of {} permutations", chance.permutations, chance.of_permutations)
            } else {
                plural(chance.permutations, "permutation")
            };
            let of = match chance.compared_at.filter(|_| chance.size_is_by_hand) {
                Some(size) => format!("at the best size, {size}, not of this list"),
                None => "of the whole list".to_owned(),
            };
            let p = chance.p.map_or_else(String::new, |p| format!("; p {} {of}", rounded_p(p)));
            let role = if chance.is_not_beyond() { Role::Warn } else { Role::Text };
            let count = format!("some feature in {} of {} splits", chance.count, answer.splits);
            ("by chance", format!("{count}{p} ({done})"), role)
        }
    }
}

/// The two methods at the size of the answer.
fn comparison(app: &App) -> Vec<Fact> {
    let Some(comparison) = &*app.derived().facts.comparison else { return Vec::new() };
    let words = |metric: Metric| {
        let difference = comparison.of(metric)?;
        Some(format!("{} {}", metric.short_label(), difference_words(difference)))
    };
    let size = app.derived().answer_size();
    let mut facts = Vec::new();
    for (i, metric) in [Metric::Inefficiency, Metric::Accuracy].into_iter().enumerate() {
        let Some(mut words) = words(metric) else { continue };
        if let Some(size) = size.filter(|_| facts.is_empty()) {
            words = format!("both at size {size}: {words}");
        }
        let label = match (comparison.a.name(), comparison.b.name()) {
            _ if i > 0 => "",
            ("crfe", "rfe") => "CRFE − RFE",
            _ => "difference",
        };
        facts.push((label, words, Role::Text));
    }
    facts
}

/// A difference with its bootstrap interval and its corrected p, both by name: they need not agree.
pub fn difference_words(difference: &PairedDifference) -> String {
    // Without the sign of a zero, and with a minus sign that is one.
    let signed = |value: f64| match value {
        _ if value.abs() < 0.0005 => "0.000".to_owned(),
        _ if value < 0.0 => format!("−{:.3}", value.abs()),
        _ => format!("+{value:.3}"),
    };
    let spread = match (difference.lo, difference.hi) {
        (Some(lo), Some(hi)) => format!(" (bootstrap {} to {})", signed(lo), signed(hi)),
        _ => String::new(),
    };
    let p = difference
        .p_corrected
        .map_or_else(String::new, |p| format!(", corrected p {}", rounded_p(p)));
    format!("{}{spread}{p}", signed(difference.mean))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_and_the_p_of_a_difference_are_named() {
        let lo = Some(-0.054);
        let hi = Some(-0.01);
        let p_corrected = Some(0.37);
        let difference =
            PairedDifference { mean: -0.03, sd: None, lo, hi, t_corrected: None, p_corrected };
        let words = "−0.030 (bootstrap −0.054 to −0.010), corrected p 0.37";
        assert_eq!(difference_words(&difference), words);
    }
}
