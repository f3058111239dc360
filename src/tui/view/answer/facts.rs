//! How sure: the facts that say how far the list can be trusted, each with its label and colour.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::analysis::{ComparedMetric, MethodAnswer, Metric, Statement, Tone, Topic, rounded_p};
use crate::evaluate::PairedDifference;
use crate::tui::app::{App, plural};
use crate::tui::theme::Role;
use crate::tui::view::text::{clean, fit, wrap};
use crate::tui::view::{Hits, more, panel};

/// Cells of the labels beside the facts.
const LABEL: usize = 12;

/// The panel of the facts.
pub(super) fn sure(
    frame: &mut Frame<'_>,
    app: &App,
    answer: &MethodAnswer,
    area: Rect,
    hits: &mut Hits,
) {
    let inside = panel(frame, app, area, 1, "How sure", hits);
    let lines = sure_lines(app, answer, usize::from(inside.width));
    let hidden = lines.len().saturating_sub(usize::from(inside.height));
    let first = if app.zoom() == Some(1) { app.scroll().min(hidden) } else { 0 };
    frame.render_widget(Paragraph::new(lines).scroll((first as u16, 0)), inside);
    more(frame, app, area, hidden - first, 1);
}

/// One fact: its label, what is known, and whether that is good.
type Fact = (&'static str, String, Role);

/// The facts as lines, long ones wrapped.
pub(super) fn sure_lines(app: &App, answer: &MethodAnswer, width: usize) -> Vec<Line<'static>> {
    let dim = app.theme().style(Role::Dim);
    let mut lines = Vec::new();
    for (label, value, role) in facts(app, answer) {
        for (i, text) in wrap(&value, width.saturating_sub(LABEL)).into_iter().enumerate() {
            lines.push(Line::from(vec![
                Span::styled(fit(if i == 0 { label } else { "" }, LABEL), dim),
                Span::styled(text, app.theme().style(role)),
            ]));
        }
    }
    lines
}

/// The colour of a statement.
pub(super) fn role(tone: Tone) -> Role {
    match tone {
        Tone::Good => Role::Good,
        Tone::Plain => Role::Text,
        Tone::Warn => Role::Warn,
        Tone::Running => Role::Accent,
        Tone::Aside => Role::Dim,
    }
}

/// Everything that says how far the list can be trusted.
fn facts(app: &App, answer: &MethodAnswer) -> Vec<Fact> {
    // What was tested stands in for what the splits achieved.
    let is_tested = answer.about(&[Topic::Tested]).next().is_some();
    let measured = if is_tested { Topic::Tested } else { Topic::Splits };
    let topics =
        [Topic::Size, Topic::Stability, measured, Topic::Worst, Topic::Validation, Topic::Chance];
    let said = topics.iter().flat_map(|topic| answer.about(std::slice::from_ref(topic)));
    let is_shown = |said: &&Statement| {
        let is_main = ["accuracy", "coverage", "set size"].contains(&said.label);
        said.topic != Topic::Tested || is_main || said.tone == Tone::Warn
    };
    let fact = |said: &Statement| (said.label, clean(&said.value.text(2)), role(said.tone));
    let facts: Vec<Fact> = said.filter(is_shown).map(fact).collect();
    facts.into_iter().chain(comparison(app)).chain(my_list(app)).collect()
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
