//! The promise, on pure noise: strict calibration covers as often as it says at every size, and shared calibration does
//! not, which is why the program says "guarantee void".

use crfe::analysis::{History, Metric};
use crfe::data::seed::{Purpose, Rng};
use crfe::data::{Calibration, Dataset};
use crfe::run::{Engine, Gate, Plan, RunOptions};
use crfe::select::Method;
use ndarray::Array2;

const ROWS: usize = 200;
const FEATURES: usize = 300;
const TABLES: u64 = 12;
const SPLITS_OF_A_TABLE: usize = 5;

/// A table in which no feature says anything about the class.
fn noise(table: u64) -> Dataset {
    let mut rng = Rng::new(2024, table, Purpose::Bootstrap);
    // Box and Muller's normal deviates.
    let x = Array2::from_shape_simple_fn((ROWS, FEATURES), || {
        let radius = (-2.0 * (1.0 - rng.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * rng.uniform()).cos()
    });
    let labels: Vec<&str> = (0..ROWS).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect();
    Dataset::from_arrays(x.view(), &labels, None).unwrap()
}

fn run(plan: &Plan) -> History {
    let gate = Gate::default();
    let mut history = History::default();
    let (send, receive) = crossbeam_channel::bounded(256);
    std::thread::scope(|scope| {
        let engine = Engine::new(plan, &gate, send);
        let tasks = plan.tasks();
        scope.spawn(move || engine.run(&tasks, 2));
        receive.iter().for_each(|event| history.apply(&event));
    });
    assert!(history.failed().is_empty() && history.complete());
    history
}

/// Mean coverage over all tables and splits, by size from 1.
fn mean_coverage(calibration: Calibration) -> Vec<f64> {
    let mut sums = vec![0.0; FEATURES];
    let mut paths = 0;
    for table in 0..TABLES {
        let mut options = RunOptions { methods: vec![Method::Crfe], ..RunOptions::default() };
        options.split.splits = SPLITS_OF_A_TABLE;
        options.split.calibration = calibration;
        options.split.seed = table;
        let history = run(&Plan::new(options.check().unwrap(), noise(table)).unwrap());
        for (_, trace) in history.of_method(Method::Crfe) {
            assert_eq!(trace.steps().len(), FEATURES);
            trace.steps().iter().for_each(|step| sums[step.size - 1] += Metric::Coverage.value(&step.tally));
            paths += 1;
        }
    }
    assert_eq!(paths, 60);
    sums.into_iter().map(|sum| sum / f64::from(paths)).collect()
}

#[test]
fn strict_calibration_covers_at_every_size() {
    let coverage = mean_coverage(Calibration::Strict);
    let worst = coverage.iter().copied().fold(1.0, f64::min);
    println!("strict: worst mean coverage {worst:.4}, at 100 features {:.4}", coverage[99]);
    for (size, coverage) in (1..).zip(coverage) {
        assert!(coverage >= 0.88, "mean coverage {coverage:.4} at size {size}");
    }
}

#[test]
fn shared_calibration_does_not() {
    let coverage = mean_coverage(Calibration::Shared)[99];
    println!("shared: mean coverage at 100 features {coverage:.4}");
    assert!(coverage < 0.80, "mean coverage {coverage:.4} at size 100: is the caution still earned?");
}
