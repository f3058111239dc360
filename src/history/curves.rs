//! Metrics by size over the splits so far, kept up to date as steps arrive. For the eye: sums follow the order of arrival.

use crate::evaluate::Spread;
use crate::run::Step;

/// The metrics that are drawn, with their names, in the order of [`Curve::spread`].
pub const METRICS: [&str; 7] =
    ["coverage", "inefficiency", "certainty", "uncertainty", "mistrust", "accuracy", "macro F1"];

/// The metrics of one method, by size.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    sizes: Vec<Sums>,
}

#[derive(Debug, Clone, Default)]
struct Sums {
    splits: u32,
    sum: [f64; METRICS.len()],
    squares: [f64; METRICS.len()],
    classes: Vec<ClassSums>,
}

/// Counts of one class over all splits.
#[derive(Debug, Clone, Copy, Default)]
struct ClassSums {
    rows: u32,
    covered: u32,
    set_sizes: u32,
    right: u32,
}

impl Curve {
    /// Takes a step into account.
    pub fn add(&mut self, step: &Step) {
        if self.sizes.len() <= step.size {
            self.sizes.resize_with(step.size + 1, Sums::default);
        }
        let m = step.tally.metrics();
        let values =
            [m.coverage, m.inefficiency, m.certainty, m.uncertainty, m.mistrust, m.accuracy, m.f1_macro];
        let sums = &mut self.sizes[step.size];
        sums.splits += 1;
        for (i, value) in values.into_iter().enumerate() {
            sums.sum[i] += value;
            sums.squares[i] += value * value;
        }
        let classes = step.tally.classes();
        sums.classes.resize(classes, ClassSums::default());
        for (class, sums) in sums.classes.iter_mut().enumerate() {
            sums.rows += step.tally.confusion[class * classes..(class + 1) * classes].iter().sum::<u32>();
            sums.covered += step.tally.covered[class];
            sums.set_sizes += step.tally.set_sizes[class];
            sums.right += step.tally.confusion[class * classes + class];
        }
    }

    /// How many splits have come to a size.
    pub fn splits(&self, size: usize) -> usize {
        self.sizes.get(size).map_or(0, |sums| sums.splits as usize)
    }

    /// Mean and sd over the splits at a size, of a metric of [`METRICS`].
    pub fn spread(&self, size: usize, metric: usize) -> Option<Spread> {
        let sums = self.sizes.get(size).filter(|sums| sums.splits > 0)?;
        let n = f64::from(sums.splits);
        let mean = sums.sum[metric] / n;
        let sd =
            (sums.splits > 1).then(|| ((sums.squares[metric] - n * mean * mean).max(0.0) / (n - 1.0)).sqrt());
        Some(Spread { mean, sd })
    }

    /// Coverage, mean set size and recall of a class at a size, over the rows of all splits.
    pub fn of_class(&self, size: usize, class: usize) -> Option<[f64; 3]> {
        let sums = self.sizes.get(size)?.classes.get(class).filter(|sums| sums.rows > 0)?;
        let share = |count: u32| f64::from(count) / f64::from(sums.rows);
        Some([share(sums.covered), share(sums.set_sizes), share(sums.right)])
    }
}
