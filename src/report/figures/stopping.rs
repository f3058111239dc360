//! Where the rules stop, and what the β rule looks at.

use std::collections::BTreeMap;

use super::axis::Axis;
use super::canvas::{COLOURS, INK, LEFT, Series, sheet};
use super::{Figure, Material, height, of, panel, size_axis};
use crate::analysis::{MethodAnswer, Trace};
use crate::evaluate::Spread;
use crate::select::{Chooses, StopRule, gradient};

const LEGEND: i32 = 60;
const RIGHT: i32 = 30;
/// More bars than these are put together.
const MOST_BARS: usize = 45;

/// How often each size was chosen, one panel a method.
pub fn sizes(material: &Material<'_>) -> Figure {
    let mut rules: Vec<StopRule> = StopRule::of_paths().map(|entry| entry.rule).collect();
    rules.extend(
        Some(material.info.spec.stop)
            .filter(|stop| matches!(stop.entry().map(|entry| &entry.chooses), Some(Chooses::ByRun(_)))),
    );
    let chosen: Vec<Vec<Vec<Option<usize>>>> = material
        .answer
        .methods
        .iter()
        .map(|answer| {
            let paths = material.paths(answer.method);
            rules.iter().map(|&rule| paths.recorded_sizes(rule)).collect()
        })
        .collect();
    let all = || chosen.iter().flatten().flatten().flatten().copied();
    let (lo, hi) = (all().min().unwrap_or(1), all().max().unwrap_or(1));
    let bin = (hi + 1 - lo).div_ceil(MOST_BARS);
    let count = |sizes: &[Option<usize>]| {
        let mut counts = BTreeMap::<usize, usize>::new();
        sizes.iter().flatten().for_each(|size| *counts.entry((size - lo) / bin).or_default() += 1);
        counts
    };
    let most = chosen.iter().flatten().flat_map(|sizes| count(sizes).into_values()).max().unwrap_or(0);
    let title = "Where the rules stop";
    let svg = sheet(title, height(LEGEND, chosen.len()), |sheet| {
        let legend: Vec<_> =
            rules.iter().zip(COLOURS).map(|(&rule, colour)| (rule.label(), colour)).collect();
        sheet.legend((LEFT, 8), &legend);
        for (n, (answer, by_rule)) in material.answer.methods.iter().zip(&chosen).enumerate() {
            let start = lo as f64 - 0.5;
            let bins = (hi + 1 - lo).div_ceil(bin);
            let x = Axis::linear("number of features chosen", start, start + (bins * bin) as f64);
            let panel = panel(n, LEGEND, x, Axis::linear("splits", 0.0, most.max(5) as f64), RIGHT);
            let silent: Vec<String> = rules
                .iter()
                .zip(by_rule)
                .map(|(&rule, sizes)| (rule, sizes.iter().filter(|size| size.is_none()).count(), sizes.len()))
                .filter(|(_, silent, _)| *silent > 0)
                .map(|(rule, silent, splits)| {
                    format!("{}: none on {silent} of {splits} splits", rule.label())
                })
                .collect();
            let note = if silent.is_empty() { String::new() } else { format!("  ({})", silent.join("; ")) };
            panel.frame(sheet, &format!("{}{note}", answer.method));
            for (which, sizes) in by_rule.iter().enumerate() {
                for (at, splits) in count(sizes) {
                    // The bars of a size stand side by side.
                    let width = bin as f64 * 0.84 / rules.len() as f64;
                    let left = start + bin as f64 * (at as f64 + 0.08) + width * which as f64;
                    let from = panel.at(left, splits as f64);
                    let (right, bottom) = panel.at(left + width, 0.0);
                    sheet.rectangle(from, (right.max(from.0 + 2), bottom), COLOURS[which]);
                }
            }
        }
    });
    let bars = if bin > 1 { format!(" A bar counts {bin} sizes.") } else { String::new() };
    let caption = format!(
        "Number of splits on which each rule chose each size. A wide spread means that the data do not say how many \
         features are needed.{bars}"
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
pub fn beta(material: &Material<'_>, answer: &MethodAnswer) -> Figure {
    let paths = material.paths(answer.method);
    let slopes: Vec<Slopes<'_>> = paths.traces().map(Slopes::new).collect();
    let sizes = material.sizes(answer);
    let line = |name: &str, value: &dyn Fn(&Slopes<'_>, usize) -> Option<f64>| -> Series {
        let spread = |&size: &usize| {
            let values: Vec<f64> = slopes.iter().filter_map(|slopes| value(slopes, size)).collect();
            Some((size as f64, Spread::of(&values)?))
        };
        let (points, band) = sizes
            .iter()
            .filter_map(spread)
            .map(|(x, Spread { mean, sd })| {
                let sd = sd.unwrap_or(0.0);
                ((x, mean), (mean - sd, mean + sd))
            })
            .unzip();
        Series { name: name.to_owned(), points, band }
    };
    let panels = [
        ("mean β", vec![line("mean β", &|s, size| Some(s.trace.at_size(size)?.beta_mean))]),
        ("β′ along the removal", vec![line("β′", &|s, size| s.first.get(s.trace.at_size(size)?.t).copied())]),
        (
            "β″ and threshold",
            vec![
                line("β″: the stopping statistic", &|s, size| {
                    Some(s.trace.at_size(size)?.stop?.statistic)
                }),
                line("threshold −k·sd", &|s, size| Some(s.trace.at_size(size)?.stop?.threshold)),
            ],
        ),
    ];
    let fired = paths.recorded_sizes(StopRule::Beta);
    let title = format!("{}: mean β, its derivatives and the threshold", answer.method);
    let svg = sheet(&title, height(LEGEND, panels.len()), |sheet| {
        let legend: Vec<_> =
            panels[2].1.iter().zip(COLOURS).map(|(series, colour)| (series.name.clone(), colour)).collect();
        sheet.legend((LEFT, 8), &legend);
        for (n, (name, series)) in panels.iter().enumerate() {
            let ends = series.iter().flat_map(|s| &s.band).flat_map(|&(lo, hi)| [lo, hi]);
            let y = Axis::signed(*name, ends.collect::<Vec<f64>>().into_iter());
            let panel = panel(n, LEGEND, size_axis(sizes.iter()), y, RIGHT);
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
                panel.post(sheet, size as f64, &format!("chosen: {size}"));
            }
        }
    });
    let caption = format!(
        "Mean ± sd over {}; heights are spread like logarithms on both sides of zero. The β rule stops where β″ falls below its \
         threshold; short strokes mark the {} splits on which it did. Size × |mean β| is nearly constant over most of a \
         path, so the rule is noisy.",
        material.splits(answer),
        fired.iter().flatten().count()
    );
    Figure { name: of("beta", answer.method), title, caption, method: Some(answer.method), svg }
}
