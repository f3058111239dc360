//! The effect of each feature of a list on the decision value of each class, by its value. One
//! small panel per feature.

use super::axis::Axis;
use super::panel::{Panel, Series};
use super::svg::{COLOURS, LegendKey, label, sheet};
use super::{Figure, FigureContent, of};
use crate::analysis::MethodAnswer;
use crate::run::EffectCurve;

/// Classes that are drawn: as many as there are colours.
const MOST_CLASSES: usize = COLOURS.len();
const COLUMNS: usize = 2;
const LEGEND: i32 = 60;
const LEFT: i32 = 120;
const RIGHT: i32 = 24;
const ABOVE: i32 = 62;
const INSIDE: i32 = 200;
const BELOW: i32 = 56;
/// Letters of a panel's title.
const TITLE: usize = 26;
/// Letters of the names of all levels together.
const LEVELS: usize = 24;

/// The features of a method's list; `None` without one that has a value.
pub fn effects(
    content: &FigureContent<'_>,
    answer: &MethodAnswer,
    curves: &[EffectCurve],
) -> Option<Figure> {
    let drawn: Vec<&EffectCurve> = curves.iter().filter(|curve| !curve.points.is_empty()).collect();
    if drawn.is_empty() {
        return None;
    }
    let info = content.info;
    // The machine of the first of two classes is the mirror image of that of the second.
    let classes: Vec<usize> = match info.classes.len() {
        2 => vec![1],
        count => (0..count.min(MOST_CLASSES)).collect(),
    };
    let scores =
        drawn.iter().flat_map(|curve| &curve.points).flat_map(|point| &point.score).copied();
    let y = Axis::around("", scores.chain([0.0]));
    let rows = drawn.len().div_ceil(COLUMNS) as i32;
    let title = format!("Effects of the features of the list, {}", answer.method);
    let svg = sheet(&title, content.layout, LEGEND + rows * (ABOVE + INSIDE + BELOW), |sheet| {
        let names = classes.iter().enumerate().map(|(which, &class)| {
            (
                format!("score for {}", label(&info.classes[class], TITLE)),
                COLOURS[which % COLOURS.len()],
            )
        });
        sheet.legend((LEFT, 24), LegendKey::Line, &names.collect::<Vec<_>>());
        let width = content.layout.width / COLUMNS as i32;
        for (n, curve) in drawn.iter().enumerate() {
            let left = (n % COLUMNS) as i32 * width;
            let top = LEGEND + (n / COLUMNS) as i32 * (ABOVE + INSIDE + BELOW) + ABOVE;
            let inside = ((left + LEFT, top), (left + width - RIGHT, top + INSIDE));
            let panel = Panel {
                inside,
                outer_left: left + 4,
                letter: None,
                x: across(curve),
                y: y.clone(),
            };
            panel.frame(sheet, &label(&info.units[curve.unit].name, TITLE));
            panel.level(sheet, 0.0);
            for (which, &class) in classes.iter().enumerate() {
                let points = || curve.points.iter().map(|point| (point.value, point.score[class]));
                if curve.points[0].level.is_some() {
                    // Levels have no order: marks without a line between them.
                    points()
                        .for_each(|at| panel.series(sheet, which, &Series::plain("", vec![at])));
                } else {
                    panel.series(sheet, which, &Series::plain("", points().collect()));
                }
            }
        }
    });
    let shown = drawn.len();
    let all = answer.features.len();
    let cut = if shown < all { format!(" {shown} of the {all} features.") } else { String::new() };
    let mirror = if info.classes.len() == 2 {
        format!(" The score for {} is its mirror image.", info.classes[0])
    } else {
        String::new()
    };
    let caption = format!(
        "Mean effect of each feature on the decision value, by its value, in models of the whole list on selection rows; 0 is the mean over these rows.{mirror}{cut}",
    );
    let name = of("effects", answer.method);
    Some(Figure { name, title, caption, method: Some(answer.method), svg })
}

/// The axis of values, or of levels.
fn across(curve: &EffectCurve) -> Axis {
    let levels: Vec<(f64, String)> = curve
        .points
        .iter()
        .filter_map(|point| {
            Some((point.value, label(point.level.as_deref()?, LEVELS / curve.points.len().max(2))))
        })
        .collect();
    match (levels.first(), levels.last()) {
        (Some(first), Some(last)) => {
            Axis::linear("", first.0 - 0.5, last.0 + 0.5).with_ticks(levels)
        }
        _ => Axis::around("", curve.points.iter().map(|point| point.value)),
    }
}
