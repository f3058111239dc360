//! Metrics by size: mean ± sd over the finished splits, computed exactly; and a running version
//! over all steps so far, for the dashboard.

use super::{Metric, Paths};
use crate::evaluate::{ClassMetrics, Spread};
use crate::run::Step;

impl Paths<'_> {
    /// For each size, mean and sd of each metric over the splits that came to it. Path after path:
    /// those of many splits are far apart in memory.
    pub fn spreads(&self, sizes: &[usize], metrics: &[Metric]) -> Vec<Vec<Option<Spread>>> {
        let mut values = vec![vec![Vec::with_capacity(self.len()); metrics.len()]; sizes.len()];
        for trace in self.traces() {
            for (of_size, &size) in values.iter_mut().zip(sizes) {
                let Some(step) = trace.at_size(size) else { continue };
                let own = metrics.iter().map(|metric| metric.value(&step.tally));
                of_size.iter_mut().zip(own).for_each(|(values, own)| values.push(own));
            }
        }
        let spreads = |of_size: &Vec<Vec<f64>>| of_size.iter().map(|own| Spread::of(own)).collect();
        values.iter().map(spreads).collect()
    }

    /// What was measured of each class at a size, split by split.
    pub fn by_class(&self, size: usize) -> Vec<Vec<ClassMetrics>> {
        self.at_size(size).map(|step| step.tally.per_class()).collect()
    }
}

/// The mean of a class's own metric over splits; a split without test rows of the class says
/// nothing of it.
pub fn class_mean(
    splits: &[Vec<ClassMetrics>],
    class: usize,
    value: impl Fn(&ClassMetrics) -> f64,
) -> Option<f64> {
    let own = splits.iter().map(|classes| &classes[class]).filter(|class| class.n > 0);
    Spread::of(&own.map(value).collect::<Vec<f64>>()).map(|spread| spread.mean)
}

/// The metrics of one method by size over the steps so far. Sums follow the order of arrival, so
/// the last digits may, too.
#[derive(Debug, Clone, Default)]
pub struct Curve {
    sizes: Vec<Sums>,
    /// The sizes that some split has come to, falling: paths come from above.
    visited: Vec<usize>,
}

#[derive(Debug, Clone, Default)]
struct Sums {
    splits: u32,
    /// By metric, as in [`Metric::ALL`].
    metrics: [Sum; Metric::ALL.len()],
    classes: Vec<ClassCounts>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    values: f64,
    squares: f64,
}

/// Counts of one class over all splits.
#[derive(Debug, Clone, Copy, Default)]
struct ClassCounts {
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
        let sums = &mut self.sizes[step.size];
        sums.splits += 1;
        if sums.splits == 1 {
            let at = self.visited.partition_point(|&size| size > step.size);
            self.visited.insert(at, step.size);
        }
        for metric in Metric::panels() {
            let value = metric.value(&step.tally);
            let sum = &mut sums.metrics[metric as usize];
            sum.values += value;
            sum.squares += value * value;
        }
        let classes = step.tally.classes();
        sums.classes.resize(classes, ClassCounts::default());
        for (class, sums) in sums.classes.iter_mut().enumerate() {
            sums.rows +=
                step.tally.confusion[class * classes..(class + 1) * classes].iter().sum::<u32>();
            sums.covered += step.tally.covered[class];
            sums.set_sizes += step.tally.set_sizes[class];
            sums.right += step.tally.confusion[class * classes + class];
        }
    }

    /// The sizes that some split has come to, falling.
    pub fn sizes(&self) -> &[usize] {
        &self.visited
    }

    /// How many splits have come to a size.
    pub fn splits(&self, size: usize) -> usize {
        self.sizes.get(size).map_or(0, |sums| sums.splits as usize)
    }

    /// Mean and sd over the splits at a size, of a metric of [`Metric::panels`].
    pub fn spread(&self, size: usize, metric: Metric) -> Option<Spread> {
        let sums = self.sizes.get(size).filter(|sums| sums.splits > 0)?;
        let n = f64::from(sums.splits);
        let sum = sums.metrics[metric as usize];
        let mean = sum.values / n;
        let sd = (sums.splits > 1)
            .then(|| ((sum.squares - n * mean * mean).max(0.0) / (n - 1.0)).sqrt());
        Some(Spread { mean, sd })
    }

    /// Coverage, mean set size and recall of a class at a size, over the rows of all splits.
    pub fn of_class(&self, size: usize, class: usize) -> Option<[f64; 3]> {
        let sums = self.sizes.get(size)?.classes.get(class).filter(|sums| sums.rows > 0)?;
        let share = |count: u32| f64::from(count) / f64::from(sums.rows);
        Some([share(sums.covered), share(sums.set_sizes), share(sums.right)])
    }
}
