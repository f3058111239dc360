//! How well a model did on rows whose class is known, as a short aligned text.

use std::fmt::Write;

use crate::analysis::statements::of_performance;
use crate::error::{counted, printable};
use crate::evaluate::p_words;
use crate::model::{MOST_MEASURED, Measured};

/// What was measured, in words for a terminal.
pub fn measured_text(measured: &Measured, classes: &[String], epsilon: f64) -> String {
    let mut text = String::new();
    let rows = measured.performance.rows;
    let sample = if measured.of_rows > MOST_MEASURED {
        format!(", drawn at random from {}", measured.of_rows)
    } else {
        String::new()
    };
    let without = match measured.without_class {
        0 => String::new(),
        count => format!("; {count} without a class left out"),
    };
    // Writing to a String cannot fail.
    let _ = writeln!(
        text,
        "Tested on {} with a class{sample} (ε = {epsilon}, 95 % intervals{without}):",
        counted(rows, "row")
    );
    for (label, value) in measured_lines(measured, classes) {
        let _ = writeln!(text, "    {label:<18}  {value}");
    }
    for caution in &measured.cautions {
        let _ = writeln!(text, "  Caution: {}", printable(caution));
    }
    text
}

/// Labels and values of what was measured.
pub fn measured_lines(measured: &Measured, classes: &[String]) -> Vec<(String, String)> {
    let said = of_performance(&measured.performance, classes.len(), None);
    let mut lines: Vec<(String, String)> =
        said.iter().map(|own| (own.label.to_owned(), own.whole(3))).collect();
    if let Some((lo, hi)) = measured.coverage_band
        && let Some(line) = lines.iter_mut().find(|(label, _)| label == "coverage")
    {
        let _ = write!(line.1, "; rows like the calibration rows give {lo:.3} to {hi:.3}");
    }
    if let Some(p) = measured.alike_p {
        let verdict = if p < crate::model::UNLIKE { "unlike" } else { "like" };
        lines.push((
            "scores".to_owned(),
            format!("{verdict} those of the calibration rows (Kolmogorov–Smirnov {})", p_words(p)),
        ));
    }
    lines
}
