//! The promise, on pure noise: strict calibration covers as often as it says at every size, and
//! shared calibration does not, which is why the program says "guarantee void".

use crfe::analysis::{History, Metric};
use crfe::data::seed::{Purpose, Rng};
use crfe::data::{Calibration, Dataset};
use crfe::evaluate::coverage_band;
use crfe::run::{Engine, Followup, Gate, Kind, Outcome, Permutations, Plan, RunOptions};
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
            trace
                .steps()
                .iter()
                .for_each(|step| sums[step.size - 1] += Metric::Coverage.value(&step.tally));
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
    assert!(
        coverage < 0.80,
        "mean coverage {coverage:.4} at size 100: is the caution still earned?"
    );
}

/// Mean coverage by size from 1 over small tables of noise, with a family of models.
fn mean_coverage_of(estimator: &str, calibration: Calibration) -> Vec<f64> {
    const SMALL: (usize, usize) = (160, 12);
    let mut sums = vec![0.0; SMALL.1];
    let mut paths = 0;
    for table in 0..30 {
        let mut rng = Rng::new(515, table, Purpose::Bootstrap);
        let x = Array2::from_shape_simple_fn(SMALL, || rng.uniform());
        let labels: Vec<&str> = (0..SMALL.0).map(|i| ["a", "b"][i % 2]).collect();
        let data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
        let mut options = RunOptions { methods: vec![Method::Crfe], ..RunOptions::default() };
        options.estimator = estimator.parse().unwrap();
        (options.split.splits, options.split.seed, options.split.calibration) =
            (5, table, calibration);
        let history = run(&Plan::new(options.check().unwrap(), data).unwrap());
        for (_, trace) in history.of_method(Method::Crfe) {
            trace
                .steps()
                .iter()
                .for_each(|step| sums[step.size - 1] += Metric::Coverage.value(&step.tally));
            paths += 1;
        }
    }
    assert_eq!(paths, 150);
    sums.into_iter().map(|sum| sum / f64::from(paths)).collect()
}

/// As above for the models beyond the linear one, on small tables; and again shared calibration
/// covers less where few of many features are left.
fn check_coverage_of(estimator: &str) {
    let strict = mean_coverage_of(estimator, Calibration::Strict);
    let shared = mean_coverage_of(estimator, Calibration::Shared);
    println!("{estimator}: strict {strict:.3?}, shared {shared:.3?}");
    for (size, coverage) in (1..).zip(&strict) {
        assert!(*coverage >= 0.885, "{estimator}: mean coverage {coverage:.4} at size {size}");
    }
    let strict = strict[2..6].iter().sum::<f64>();
    let shared = shared[2..6].iter().sum::<f64>();
    assert!(
        shared < strict - 4.0 * 0.01,
        "{estimator}: {shared} and {strict}: is the caution still earned?"
    );
}

#[test]
fn strict_calibration_covers_with_splines() {
    check_coverage_of("rcs:4");
}

#[test]
fn strict_calibration_covers_with_kernel_machines() {
    check_coverage_of("rbf");
}

/// The folds of the nested validation of a table: of each how many rows there are, how many are
/// covered, and how many calibrated.
fn validated(data: Dataset, seed: u64) -> Vec<(usize, usize, usize)> {
    const EPSILON: f64 = 0.1;
    let mut options =
        RunOptions { methods: vec![Method::Crfe], validate: Some(5), ..RunOptions::default() };
    (options.split.splits, options.split.seed, options.permutations) =
        (4, seed, Permutations::Count(0));
    let plan = Plan::new(options.check().unwrap(), data).unwrap();
    let of_fold = |index| {
        let fold = Followup { kind: Kind::Fold, method: Method::Crfe, index };
        match fold.run(&plan, &|_| None, &mut || true) {
            Ok(Some(Outcome::Fold(fold))) => fold,
            other => panic!("{fold}: {other:?}"),
        }
    };
    (0..5)
        .map(of_fold)
        // Without a list there is no prediction.
        .filter(|fold| !fold.rows.is_empty())
        .map(|fold| {
            let covered = fold.rows.iter().filter(|row| row.p[row.y] > EPSILON).count();
            (fold.rows.len(), covered, fold.conformal.iter().sum())
        })
        .collect()
}

/// Each fold has a band of its own, exact under exchangeability, and a mean. Of many folds 5 % at
/// most lie outside, and their mean is the mean of the band, both within 3.5 standard errors.
fn assert_exact(what: &str, folds: &[(usize, usize, usize)]) {
    let mut outside = 0;
    let mut excess = 0.0;
    let mut variance = 0.0;
    for &(rows, covered, calibrating) in folds {
        let share = covered as f64 / rows as f64;
        let band = coverage_band(rows, calibrating, 0.1).unwrap();
        outside += usize::from(!(band.lo..=band.hi).contains(&share));
        excess += share - band.mean;
        // The variance of a beta-binomial share: μ(1 − μ)(1 + (n − 1)/(n_conf + 2))/n.
        let n = rows as f64;
        let overdispersion = (rows - 1) as f64 / (calibrating + 2) as f64;
        variance += band.mean * (1.0 - band.mean) * (1.0 + overdispersion) / n;
    }
    let count = folds.len() as f64;
    let mean = excess / count;
    let error = variance.sqrt() / count;
    println!(
        "{what}: {} folds, {outside} outside their 95 % bands, mean coverage off by {mean:+.4} ± {error:.4}",
        folds.len()
    );
    assert!(
        outside as f64 <= 0.05 * count + 3.5 * (0.05 * 0.95 * count).sqrt(),
        "{outside} outside"
    );
    assert!(mean.abs() <= 3.5 * error, "off by {mean}, standard error {error}");
}

#[test]
fn validated_coverage_of_noise_is_exact() {
    // Few features, so that some rule finds a list now and then: without any the sets are not made.
    let small = |table: u64| {
        let mut rng = Rng::new(77, table, Purpose::Bootstrap);
        let x = Array2::from_shape_simple_fn((150, 8), || rng.uniform());
        let labels: Vec<&str> = (0..150).map(|i| ["a", "b", "c"][i % 3]).collect();
        Dataset::from_arrays(x.view(), &labels, None).unwrap()
    };
    let folds: Vec<_> = (0..60).flat_map(|table| validated(small(table), table)).collect();
    assert!(folds.len() > 150, "{} folds have a list", folds.len());
    assert_exact("noise", &folds);
}

#[test]
fn validated_coverage_of_synthetic_data_is_exact() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("data/synthetic.csv");
    let load = || Dataset::load(&path, &Default::default(), |_, _| {}).unwrap();
    let folds: Vec<_> = (0..16).flat_map(|seed| validated(load(), seed)).collect();
    assert_eq!(folds.len(), 80);
    assert_exact("synthetic.csv", &folds);
}
