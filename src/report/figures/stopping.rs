//! Where the rules stop, and what the β rule looks at.

use std::collections::BTreeMap;

use super::axis::Axis;
use super::by_size::{names, with_sd};
use super::panel::Series;
use super::svg::{COLOURS, INK, LegendKey, sheet};
use super::{Figure, FigureContent, LEFT, Panels, of, size_axis};
use crate::analysis::{MethodAnswer, Trace};
use crate::evaluate::Spread;
use crate::select::{Chooses, StopRule, gradient};

const LEGEND: i32 = 60;
/// Groups of bars: more sizes than these share bars.
const MOST_GROUPS: usize = 40;

/// How often each size was chosen, one panel per method.
pub fn sizes(content: &FigureContent<'_>) -> Figure {
    let mut rules: Vec<StopRule> = StopRule::of_paths().map(|entry| entry.rule).collect();
    rules.extend(Some(content.answer.choice.rule).filter(|stop| {
        matches!(stop.entry().map(|entry| &entry.chooses), Some(Chooses::ByRun(_)))
    }));
    let chosen: Vec<Vec<Vec<Option<usize>>>> = content
        .answer
        .methods
        .iter()
        .map(|answer| {
            let paths = content.paths(answer.method);
            let sizes = |&rule| paths.sizes_by_split(rule, &content.answer.choice.beta);
            rules.iter().map(sizes).collect()
        })
        .collect();
    let smallest = content.info.kept().max(1);
    let largest = content.info.units.len();
    let axis = Axis::sizes(smallest, largest).with_cells();
    let groups = (largest + 1 - smallest).clamp(1, MOST_GROUPS);
    let count = |sizes: &[Option<usize>]| {
        let mut counts = BTreeMap::<usize, usize>::new();
        for &size in sizes.iter().flatten() {
            let group = (axis.share(size as f64) * groups as f64) as usize;
            *counts.entry(group.min(groups - 1)).or_default() += 1;
        }
        counts
    };
    let most =
        chosen.iter().flatten().flat_map(|sizes| count(sizes).into_values()).max().unwrap_or(0);
    let title = "Where the rules stop";
    let panels = Panels { layout: content.layout, legend: LEGEND, count: chosen.len() };
    let svg = sheet(title, content.layout, panels.height(), |sheet| {
        let legend: Vec<_> =
            rules.iter().zip(COLOURS).map(|(&rule, colour)| (rule.label(), colour)).collect();
        sheet.legend((LEFT, 8), LegendKey::Bar, &legend);
        for (n, (answer, by_rule)) in content.answer.methods.iter().zip(&chosen).enumerate() {
            let panel =
                panels.panel(n, axis.clone(), Axis::linear("splits", 0.0, most.max(5) as f64));
            let silent: Vec<String> = rules
                .iter()
                .zip(by_rule)
                .map(|(&rule, sizes)| {
                    (rule, sizes.iter().filter(|size| size.is_none()).count(), sizes.len())
                })
                .filter(|(_, silent, _)| *silent > 0)
                .map(|(rule, silent, splits)| {
                    format!("{}: none on {silent} of {splits} splits", rule.label())
                })
                .collect();
            let note = if silent.is_empty() {
                String::new()
            } else {
                format!("  ({})", silent.join("; "))
            };
            panel.frame(sheet, &format!("{}{note}", answer.method));
            if let Some(size) = answer.chosen.size {
                panel.upright(sheet, size as f64, INK);
            }
            let ((left, _), (right, _)) = panel.inside;
            let across = |share: f64| left + (f64::from(right - left) * share).round() as i32;
            for (which, sizes) in by_rule.iter().enumerate() {
                for (group, splits) in count(sizes) {
                    // The bars of a group are side by side.
                    let width = 0.84 / rules.len() as f64;
                    let from = (group as f64 + 0.08 + width * which as f64) / groups as f64;
                    let x0 = across(from);
                    let x1 = across(from + width / groups as f64);
                    let (_, top) = panel.at(axis.lo, splits as f64);
                    let (_, bottom) = panel.at(axis.lo, 0.0);
                    sheet.rectangle((x0, top), (x1.max(x0 + 2), bottom), COLOURS[which]);
                }
            }
        }
    });
    let bars =
        if largest + 1 - smallest > groups { " A bar counts neighbouring sizes." } else { "" };
    let caption = format!(
        "Number of splits on which each rule chose each size. A wide spread means that the data do not determine how many \
         features are needed. Dashed: the size of the answer.{bars}"
    );
    Figure { name: "stopping_sizes".into(), title: title.into(), caption, method: None, svg }
}

/// Mean β of every model of a path, with both derivatives along the removal.
struct Slopes<'a> {
    trace: &'a Trace,
    first: Vec<f64>,
}

impl<'a> Slopes<'a> {
    fn new(trace: &'a Trace) -> Self {
        Self { trace, first: gradient(trace.beta_means()) }
    }
}

/// Mean β, its derivatives and the threshold of the rule.
pub fn beta(content: &FigureContent<'_>, answer: &MethodAnswer) -> Figure {
    let paths = content.paths(answer.method);
    let slopes: Vec<Slopes<'_>> = paths.traces().map(Slopes::new).collect();
    let sizes = content.sizes(answer);
    let line = |name: &str, value: &dyn Fn(&Slopes<'_>, usize) -> Option<f64>| -> Series {
        let spread = |&size: &usize| {
            let values: Vec<f64> = slopes.iter().filter_map(|slopes| value(slopes, size)).collect();
            Some((size as f64, Spread::of(&values)?))
        };
        with_sd(name, sizes.iter().filter_map(spread))
    };
    let choice = &content.answer.choice;
    let test =
        |s: &Slopes<'_>, size| choice.beta_test(content.info, s.trace, s.trace.at_size(size)?.t);
    let drawn = [
        ("mean β", vec![line("mean β", &|s, size| Some(s.trace.at_size(size)?.beta_mean))]),
        (
            "β′ along the removal",
            vec![line("β′", &|s, size| s.first.get(s.trace.at_size(size)?.t).copied())],
        ),
        (
            "β″ and threshold",
            vec![
                line("β″: the stopping statistic", &|s, size| Some(test(s, size)?.statistic)),
                line("threshold −k·sd", &|s, size| Some(test(s, size)?.threshold)),
            ],
        ),
    ];
    let fired = paths.sizes_by_split(StopRule::Beta, &choice.beta);
    let title = format!("{}: mean β, its derivatives and the threshold", answer.method);
    let panels = Panels { layout: content.layout, legend: LEGEND, count: drawn.len() };
    let svg = sheet(&title, content.layout, panels.height(), |sheet| {
        sheet.legend((LEFT, 8), LegendKey::Line, &names(&drawn[2].1));
        for (n, (name, series)) in drawn.iter().enumerate() {
            let ends = series.iter().flat_map(|s| &s.band).flat_map(|&(lo, hi)| [lo, hi]);
            let y = Axis::signed(*name, ends.collect::<Vec<f64>>().into_iter());
            let panel = panels.panel(n, size_axis(sizes.iter()), y);
            panel.frame(sheet, &format!("{}: {name}", answer.method));
            for (which, series) in series.iter().enumerate() {
                panel.series(sheet, which, series);
            }
            if n == 2 {
                for size in fired.iter().flatten() {
                    let (x, bottom) = panel.at(*size as f64, panel.y.lo);
                    sheet.line(&[(x, bottom), (x, bottom - 26)], INK, 3);
                }
            } else if let Some(size) = answer.chosen.size {
                panel.chosen(sheet, size);
            }
        }
    });
    let caption = format!(
        "Mean ± sd over {}; the vertical axis is logarithmic on both sides of zero. The β rule stops where β″ falls below its \
         threshold; short strokes mark the {} splits on which it did. Size × |mean β| is nearly constant over most of a \
         path, so the rule is noisy.",
        content.splits(answer),
        fired.iter().flatten().count()
    );
    Figure { name: of("beta", answer.method), title, caption, method: Some(answer.method), svg }
}
