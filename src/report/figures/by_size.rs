//! Figures with the number of features across: metrics, agreement of splits, and methods against
//! each other.

use super::axis::Axis;
use super::panel::{Panel, Series};
use super::svg::{Anchor, COLOURS, Colour, FAINT, LegendKey, SMALL, Sheet, label, sheet};
use super::{Figure, FigureContent, LEFT, Panels, of, size_axis, thinned};
use crate::analysis::{MethodAnswer, Metric, Pair, class_mean};
use crate::evaluate::{Agreement, Bootstrap, ClassMetrics, PairedDifference, Spread};

/// Height of a legend of two rows.
const LEGEND: i32 = 84;
/// The metrics of prediction sets, and of single predictions, in the order of their curves.
const CONFORMAL: [Metric; 4] =
    [Metric::Coverage, Metric::Certainty, Metric::Uncertainty, Metric::Mistrust];
const SINGLE: [Metric; 3] = [Metric::Accuracy, Metric::PrecisionMacro, Metric::RecallMacro];
/// The metrics of which two methods are compared.
const COMPARED: [Metric; 4] =
    [Metric::Coverage, Metric::Inefficiency, Metric::Certainty, Metric::Accuracy];
/// Classes that are drawn; more cannot be told apart.
const MOST_CLASSES: usize = 8;

/// Means with their standard deviations as a band.
pub(super) fn with_sd(name: &str, values: impl Iterator<Item = (f64, Spread)>) -> Series {
    let (points, band) = values
        .map(|(x, spread)| {
            let sd = spread.sd.unwrap_or(0.0);
            ((x, spread.mean), (spread.mean - sd, spread.mean + sd))
        })
        .unzip();
    Series { name: name.to_owned(), points, band }
}

/// The legend of some lines.
pub(super) fn names(series: &[Series]) -> Vec<(String, Colour)> {
    series
        .iter()
        .enumerate()
        .map(|(i, series)| (series.name.clone(), COLOURS[i % COLOURS.len()]))
        .collect()
}

/// Titled panels with the same axes and lines below one legend.
struct LineFigure {
    panels: Vec<(String, Vec<Series>)>,
    x: Axis,
    y: Axis,
}

impl LineFigure {
    fn draw(
        &self,
        content: &FigureContent<'_>,
        title: &str,
        extra: impl Fn(usize, &Panel, &mut Sheet),
    ) -> String {
        let panels = Panels { layout: content.layout, legend: LEGEND, count: self.panels.len() };
        sheet(title, content.layout, panels.height(), |sheet| {
            if let Some((_, series)) = self.panels.first() {
                sheet.legend((LEFT, 8), LegendKey::Line, &names(series));
            }
            for (n, (title, series)) in self.panels.iter().enumerate() {
                let panel = panels.panel(n, self.x.clone(), self.y.clone());
                panel.frame(sheet, title);
                extra(n, &panel, sheet);
                for (which, series) in series.iter().enumerate() {
                    panel.series(sheet, which, series);
                }
            }
        })
    }
}

impl FigureContent<'_> {
    /// Mean and sd over splits of each metric at the sizes.
    fn metrics(&self, answer: &MethodAnswer, metrics: &[Metric]) -> Vec<Series> {
        let sizes = self.sizes(answer);
        let spreads = self.paths(answer.method).spreads(&sizes, metrics);
        let series = |(at, metric): (usize, &Metric)| {
            let at_sizes = sizes.iter().zip(&spreads);
            let points = at_sizes.filter_map(|(&size, own)| Some((size as f64, own[at]?)));
            with_sd(metric.label(), points)
        };
        metrics.iter().enumerate().map(series).collect()
    }

    /// Marks the chosen size of the n-th method.
    fn mark_chosen(&self, n: usize, panel: &Panel, sheet: &mut Sheet) {
        if let Some(size) = self.answer.methods[n].chosen.size {
            panel.chosen(sheet, size);
        }
    }

    fn all_sizes(&self) -> Axis {
        let sizes: Vec<usize> =
            self.answer.methods.iter().flat_map(|answer| self.sizes(answer)).collect();
        size_axis(sizes.iter())
    }

    fn each(&self, series: impl Fn(&MethodAnswer) -> Vec<Series>) -> Vec<(String, Vec<Series>)> {
        self.answer
            .methods
            .iter()
            .map(|answer| (answer.method.to_string(), series(answer)))
            .collect()
    }
}

/// The two metrics that a size is chosen by, with all methods in one panel.
pub fn size(content: &FigureContent<'_>) -> Figure {
    let methods = &content.answer.methods;
    let series = |metric: Metric| -> Vec<Series> {
        let of_method = |answer: &MethodAnswer| {
            let chosen =
                answer.chosen.size.map_or_else(String::new, |size| format!(" (chosen: {size})"));
            let name = format!("{}{chosen}", answer.method);
            content.metrics(answer, &[metric]).pop().map(|series| Series { name, ..series })
        };
        methods.iter().filter_map(of_method).collect()
    };
    let (set_size, accuracy) = (series(Metric::Inefficiency), series(Metric::Accuracy));
    let highest =
        set_size.iter().flat_map(|series| &series.band).map(|&(_, hi)| hi).fold(1.0, f64::max);
    let classes = content.info.classes.len();
    let rate = content.info.no_information_rate();
    let target = content.answer.target_coverage;
    let panels = Panels { layout: content.layout, legend: LEGEND / 2, count: 2 };
    let title = "Set size and accuracy by number of features";
    let svg = sheet(title, content.layout, panels.height(), |sheet| {
        sheet.legend((LEFT, 8), LegendKey::Line, &names(&set_size));
        let sets = Axis::linear(format!("mean set size (of {classes})"), 0.0, highest * 1.04);
        let right = Axis::linear("accuracy", 0.0, 1.0);
        for (n, (name, y, level, series)) in [
            ("Prediction sets", sets, target, set_size),
            ("Single predictions", right, rate, accuracy),
        ]
        .into_iter()
        .enumerate()
        {
            let panel = panels.panel(n, content.all_sizes(), y);
            panel.frame(sheet, name);
            panel.level(sheet, level);
            if n == 1 {
                let (x, y) = panel.at(panel.x.hi, level);
                let words = format!("always predicting the largest class: {level:.2}");
                sheet.words(&words, (x - 8, y + 22), SMALL, Anchor::End, FAINT);
            }
            for (which, series) in series.iter().enumerate() {
                if let Some(size) = methods[which].chosen.size {
                    panel.upright(sheet, size as f64, COLOURS[which % COLOURS.len()]);
                }
                panel.series(sheet, which, series);
            }
        }
    });
    let caption = format!(
        "Mean ± sd over {}. Vertical lines: the chosen sizes. Horizontal lines: in A the target coverage {target}, below which valid sets cannot \
         shrink on average; in B the share of the largest class, {rate:.2}, the accuracy of a model that knows nothing.",
        content.splits(&methods[0])
    );
    Figure { name: "size".into(), title: title.into(), caption, method: None, svg }
}

/// The shares of prediction sets of each kind, one panel per method.
pub fn conformal(content: &FigureContent<'_>) -> Figure {
    let lines = LineFigure {
        panels: content.each(|answer| content.metrics(answer, &CONFORMAL)),
        x: content.all_sizes(),
        y: Axis::linear("share of test rows", 0.0, 1.0),
    };
    let target = content.answer.target_coverage;
    let title = "Coverage and kinds of prediction sets by number of features";
    let svg = lines.draw(content, title, |n, panel, sheet| {
        if let Some((lo, hi)) = content.answer.methods[n].coverage_band() {
            let (left, right) = (panel.x.lo, panel.x.hi);
            let corners = [(left, lo), (right, lo), (right, hi), (left, hi)];
            sheet.veil(&corners.map(|(x, y)| panel.at(x, y)), FAINT);
        }
        panel.level(sheet, target);
        content.mark_chosen(n, panel, sheet);
    });
    let has_band = content.answer.methods.iter().any(|method| method.coverage_band().is_some());
    let band = if has_band { "; grey: 95 % band of the coverage of one valid split" } else { "" };
    let guarantee = if content.answer.guaranteed { "" } else { " Guarantee void." };
    let caption = format!(
        "Mean ± sd over {}. Dashed: target coverage {target}{band}.{guarantee} \
         Certainty: the set is the true class alone; uncertainty: the set is all classes; mistrust: the set is empty.",
        content.splits(&content.answer.methods[0])
    );
    Figure { name: "conformal".into(), title: title.into(), caption, method: None, svg }
}

/// Single predictions, one panel per method.
pub fn accuracy(content: &FigureContent<'_>) -> Figure {
    let lines = LineFigure {
        panels: content.each(|answer| content.metrics(answer, &SINGLE)),
        x: content.all_sizes(),
        y: Axis::linear("score on test rows", 0.0, 1.0),
    };
    let rate = content.info.no_information_rate();
    let title = "Accuracy, precision and recall by number of features";
    let svg = lines.draw(content, title, |n, panel, sheet| {
        panel.level(sheet, rate);
        content.mark_chosen(n, panel, sheet);
    });
    let caption = format!(
        "Single predictions, mean ± sd over {}. Mean recall over classes is the balanced accuracy. Dashed: accuracy of always predicting \
         the largest class, {rate:.2}.",
        content.splits(&content.answer.methods[0])
    );
    Figure { name: "accuracy".into(), title: title.into(), caption, method: None, svg }
}

/// The metrics of each class under one method.
pub fn per_class(content: &FigureContent<'_>, answer: &MethodAnswer) -> Figure {
    let info = content.info;
    let mut classes: Vec<usize> = (0..info.classes.len()).collect();
    classes.sort_by_key(|&class| std::cmp::Reverse(info.class_counts[class]));
    classes.truncate(MOST_CLASSES);
    classes.sort_unstable();
    let sizes = content.sizes(answer);
    let paths = content.paths(answer.method);
    // For each size, split and class what was counted.
    let counted: Vec<Vec<Vec<ClassMetrics>>> =
        sizes.iter().map(|&size| paths.by_class(size)).collect();
    let lines = |value: fn(&ClassMetrics) -> f64| -> Vec<Series> {
        let of_class = |&class: &usize| {
            let point = |(&size, splits): (&usize, &Vec<Vec<ClassMetrics>>)| {
                Some((size as f64, class_mean(splits, class, value)?))
            };
            let points = sizes.iter().zip(&counted).filter_map(point);
            Series::plain(label(&info.classes[class], 28), points.collect())
        };
        classes.iter().map(of_class).collect()
    };
    let drawn = [
        ("coverage", lines(|c| c.coverage), 1.0),
        ("mean set size", lines(|c| c.set_size), info.classes.len() as f64),
        ("precision", lines(|c| c.precision), 1.0),
        ("recall", lines(|c| c.recall), 1.0),
    ];
    let title = format!("{}: each class by number of features", answer.method);
    let panels = Panels { layout: content.layout, legend: 2 * LEGEND, count: drawn.len() };
    let svg = sheet(&title, content.layout, panels.height(), |sheet| {
        sheet.legend((LEFT, 8), LegendKey::Line, &names(&drawn[0].1));
        for (n, (name, series, highest)) in drawn.iter().enumerate() {
            let panel =
                panels.panel(n, size_axis(sizes.iter()), Axis::linear(*name, 0.0, *highest));
            panel.frame(sheet, &format!("{}: {name}", answer.method));
            if n == 0 {
                panel.level(sheet, content.answer.target_coverage);
            }
            if let Some(size) = answer.chosen.size {
                panel.chosen(sheet, size);
            }
            for (which, series) in series.iter().enumerate() {
                panel.series(sheet, which, series);
            }
        }
    });
    let cut = match info.classes.len() - classes.len() {
        0 => String::new(),
        left => format!(" The {left} rarest classes are left out; per_class.csv has them."),
    };
    let caption =
        format!("Mean over {} of each class's own test rows.{cut}", content.splits(answer));
    let name = of("per_class", answer.method);
    Figure { name, title, caption, method: Some(answer.method), svg }
}

/// How much splits agree, one panel per method.
pub fn consistency(content: &FigureContent<'_>) -> Figure {
    let series = |answer: &MethodAnswer| {
        let agreement = content.paths(answer.method).agreement(&content.sizes(answer));
        let line = |value: fn(&Agreement) -> Option<f64>| -> Vec<(f64, f64)> {
            let point =
                |(size, agreement): &(usize, Agreement)| Some((*size as f64, value(agreement)?));
            agreement.iter().filter_map(point).collect()
        };
        let mut nogueira = Series::plain("Nogueira (95 %)", line(|a| a.nogueira));
        nogueira.band = agreement
            .iter()
            .filter_map(|(_, a)| {
                a.nogueira.map(|phi| (a.nogueira_lo.unwrap_or(phi), a.nogueira_hi.unwrap_or(phi)))
            })
            .collect();
        let kuncheva = Series::plain("Kuncheva", line(|a| a.kuncheva));
        let mut all = vec![
            nogueira,
            Series::plain("I_W", line(|a| Some(a.i_w))),
            Series::plain("Jaccard I_J", line(|a| Some(a.jaccard))),
        ];
        if !same_line(&kuncheva, &all[0]) {
            all.push(kuncheva);
        }
        all
    };
    let panels = content.each(series);
    let values =
        panels.iter().flat_map(|(_, series)| series).flat_map(|s| &s.points).map(|&(_, y)| y);
    let lowest = values.fold(0.0, f64::min);
    let lines = LineFigure {
        panels,
        x: content.all_sizes(),
        y: Axis::linear("agreement of splits", lowest, 1.0),
    };
    let title = "Agreement of the splits by number of features";
    let svg = lines.draw(content, title, |n, panel, sheet| content.mark_chosen(n, panel, sheet));
    let caption = format!(
        "How similar the subsets of {} are: 1 means the same features in every split; for Nogueira's stability (which equals Kuncheva's \
         index among subsets of one size) 0 is chance, below 0.4 poor and above 0.75 good.",
        content.splits(&content.answer.methods[0])
    );
    Figure { name: "consistency".into(), title: title.into(), caption, method: None, svg }
}

/// Whether two lines cannot be told apart.
fn same_line(a: &Series, b: &Series) -> bool {
    let same = |(a, b): (&(f64, f64), &(f64, f64))| a.0 == b.0 && (a.1 - b.1).abs() < 1e-9;
    a.points.len() == b.points.len() && a.points.iter().zip(&b.points).all(same)
}

/// How much two methods agree, one panel per pair.
pub fn similarity(content: &FigureContent<'_>) -> Option<Figure> {
    let mut all = Vec::new();
    let panels: Vec<(String, Vec<Series>)> = Pair::all(content.history, content.info)
        .iter()
        .filter(|pair| !pair.both.is_empty())
        .map(|pair| {
            let sizes = thinned(pair.sizes(), None);
            let similarity = pair.similarity(&sizes);
            all.extend(sizes.iter().copied());
            let at = || similarity.iter().map(|(size, similarity)| (*size as f64, similarity));
            let series = vec![
                with_sd("Jaccard", at().map(|(x, s)| (x, s.jaccard))),
                with_sd("Kuncheva", at().filter_map(|(x, s)| Some((x, s.kuncheva?)))),
                Series::plain("I_W (pooled)", at().map(|(x, s)| (x, s.i_w)).collect()),
            ];
            (format!("{} and {}", pair.a, pair.b), series)
        })
        .collect();
    if panels.is_empty() {
        return None;
    }
    let lowest =
        panels.iter().flat_map(|(_, series)| series).flat_map(|s| &s.points).map(|&(_, y)| y);
    let y = Axis::linear("similarity of methods", lowest.fold(0.0, f64::min), 1.0);
    let title = "Similarity of the methods by number of features";
    let svg = LineFigure { panels, x: size_axis(all.iter()), y }.draw(content, title, |_, _, _| {});
    let caption =
        "Subsets of two methods on the same split and of the same size: mean ± sd over splits."
            .to_owned();
    Some(Figure { name: "similarity".into(), title: title.into(), caption, method: None, svg })
}

/// Paired differences of the first pair of methods, one panel per metric.
pub fn differences(content: &FigureContent<'_>) -> Option<Figure> {
    let pairs = Pair::all(content.history, content.info);
    let (pair, share) = pairs.iter().find_map(|pair| Some((pair, pair.test_share()?)))?;
    let sizes = thinned(pair.sizes(), None);
    let mut bootstrap = Bootstrap::new(content.info.spec.split.seed);
    let mut lines: Vec<Vec<(f64, PairedDifference)>> = vec![Vec::new(); COMPARED.len()];
    for &size in &sizes {
        for (metric, differences) in pair.differences(size) {
            if let Some(at) = COMPARED.iter().position(|&own| own == metric)
                && let Some(paired) = bootstrap.paired(&differences, share)
            {
                lines[at].push((size as f64, paired));
            }
        }
    }
    let (a, b) = (pair.a, pair.b);
    let title = format!("Paired differences, {a} − {b}");
    let panels = Panels { layout: content.layout, legend: 0, count: COMPARED.len() };
    let svg = sheet(&title, content.layout, panels.height(), |sheet| {
        for (n, (metric, line)) in COMPARED.iter().zip(&lines).enumerate() {
            let metric = metric.label();
            let points = line.iter().map(|(x, d)| (*x, d.mean)).collect();
            let band = line
                .iter()
                .map(|(_, d)| (d.lo.unwrap_or(d.mean), d.hi.unwrap_or(d.mean)))
                .collect();
            let series = Series { name: metric.to_owned(), points, band };
            let ends = series.band.iter().flat_map(|&(lo, hi)| [lo, hi]).chain([0.0]);
            let panel = panels.panel(n, size_axis(sizes.iter()), Axis::around("difference", ends));
            panel.frame(sheet, &format!("{metric}: {a} − {b}"));
            panel.level(sheet, 0.0);
            panel.series(sheet, 0, &series);
        }
    });
    let others = match pairs.len() {
        1 => String::new(),
        _ => " compare.csv has the other pairs.".to_owned(),
    };
    let caption = format!(
        "Mean over the splits that both methods share, with 95 % bootstrap interval. Splits overlap, so the intervals are \
         too narrow for a test: compare.csv has the corrected t.{others}"
    );
    Some(Figure { name: "differences".into(), title, caption, method: None, svg })
}
