//! The bounded search finds what the full one finds, and every model is that of a cold fit, in wide
//! tables and tall ones.

use crfe::data::Unit;
use crfe::data::seed::{Purpose, Rng};
use crfe::select::{Common, Elimination, Method, Removal, Settings, StepSize};
use crfe::svm::{Problem, SolverKind, class_weights, solver};
use ndarray::{Array2, ArrayView2, Axis};

/// A seeded table: every class moves its own few columns.
struct Wide {
    x: Array2<f64>,
    y: Vec<usize>,
    classes: usize,
}

impl Wide {
    fn new(rows: usize, columns: usize, classes: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed, 0, Purpose::Split);
        let y: Vec<usize> = (0..rows).map(|i| i % classes).collect();
        let mut x = Array2::zeros((columns, rows));
        for ((j, i), value) in x.indexed_iter_mut() {
            let noise: f64 = (0..6).map(|_| rng.uniform() - 0.5).sum();
            *value = noise + if j % (4 * classes) == y[i] { 0.7 } else { 0.0 };
        }
        Self { x, y, classes }
    }

    fn units(&self, columns_each: usize) -> Vec<Unit> {
        let columns: Vec<usize> = (0..self.x.nrows()).collect();
        let unit = |(u, columns): (usize, &[usize])| Unit {
            name: format!("u{u}"),
            columns: columns.to_vec(),
            kept: false,
        };
        columns.chunks(columns_each).enumerate().map(unit).collect()
    }
}

fn problem<'a>(x: ArrayView2<'a, f64>, y: &'a [usize], classes: usize) -> Problem<'a> {
    Problem::new(x, y, classes).unwrap()
}

/// At each step, what the bounded search says is first must be what ranking all units says.
fn check_search(table: &Wide, settings: Settings, units: &[Unit], constant: &[bool]) -> usize {
    let data = (table.x.view(), table.y.as_slice());
    let path = Elimination::new(settings, units, data, data, constant).unwrap();
    let mut path = path.watch(table.x.view()).look_ahead(4);
    let mut steps = 0;
    while let Some(step) = path.next().transpose().unwrap() {
        assert!(step.convergence.converged, "{:?} {:?}", settings.method, step);
        let full = path.rest();
        let first = step.nearest.len();
        assert!(first >= full.len().min(step.removed.len() + 1));
        assert_eq!(step.nearest, full[..first], "{:?} step {}", settings.method, step.t);
        assert_eq!(step.removed, full[..step.removed.len()]);
        let mean = path.betas().iter().sum::<f64>() / step.size as f64;
        assert!(
            (step.beta_mean - mean).abs() <= 1e-9 * mean.abs().max(1e-3),
            "{} {mean}",
            step.beta_mean
        );
        steps += 1;
    }
    steps
}

const METHODS: [Method; 3] = [Method::Crfe, Method::Rfe, Method::Smfs];

#[test]
fn the_bounded_search_finds_what_the_full_one_finds() {
    for (classes, seed) in [(2, 1), (3, 2), (5, 3)] {
        let table = Wide::new(30, 300, classes, seed);
        let units = table.units(1);
        for method in METHODS {
            let settings = Settings::new(method, classes);
            assert_eq!(check_search(&table, settings, &units, &[false; 300]), 300);
        }
    }
}

#[test]
fn so_it_does_with_units_of_several_columns_kept_ones_constants_ties_and_batches() {
    let mut table = Wide::new(24, 240, 2, 4);
    for j in [5, 77, 120, 121, 122, 123] {
        table.x.row_mut(j).fill(0.0);
    }
    // Twins tie: the lower unit must go first.
    for (twin, of) in [(200, 10), (31, 30), (150, 149)] {
        let values = table.x.row(of).to_owned();
        table.x.row_mut(twin).assign(&values);
    }
    let constant: Vec<bool> =
        table.x.outer_iter().map(|row| row.iter().all(|v| *v == 0.0)).collect();
    for columns_each in [1, 4] {
        let mut units = table.units(columns_each);
        units[3].kept = true;
        units[20].kept = true;
        for method in METHODS {
            for step in [StepSize::Count(1), StepSize::Count(7), StepSize::Fraction(0.5)] {
                let settings = Settings { step, ..Settings::new(method, 2) };
                check_search(&table, settings, &units, &constant);
            }
        }
    }
}

/// Every few steps: is this the model of a cold fit, and are the watched decision values those of
/// its weights?
fn check_models(
    table: &Wide,
    method: Method,
    every: usize,
    of_model: impl Fn(&Elimination<'_>, usize),
) {
    let units = table.units(1);
    let p = table.x.nrows();
    let data = (table.x.view(), table.y.as_slice());
    let settings = Settings::new(method, table.classes);
    let path = Elimination::new(settings, &units, data, data, &vec![false; p]).unwrap();
    let mut path = path.watch(table.x.view());
    while let Some(step) = path.next().transpose().unwrap() {
        assert!(step.convergence.converged, "{step:?}");
        if step.t % every != 0 {
            continue;
        }
        for class in 0..table.classes {
            of_model(&path, class);
            let w = class_weights(path.model(), class);
            let b = path.model().biases()[class];
            for (row, decisions) in
                table.x.axis_iter(Axis(1)).zip(path.decisions(0).unwrap().rows())
            {
                let direct = row.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + b;
                assert!((direct - decisions[class]).abs() <= 1e-6, "{direct} {}", decisions[class]);
            }
        }
    }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The optimality condition w = Σ 2C (1 − θ f)₊ θ x on the columns present, computed here.
fn check_optimal(table: &Wide, path: &Elimination<'_>, class: usize) {
    let w = class_weights(path.model(), class);
    let b = path.model().biases()[class];
    let mut rest = w.clone();
    let mut rest_bias = b;
    let mut start = vec![0.0; w.len()];
    for (row, &y) in table.x.axis_iter(Axis(1)).zip(&table.y) {
        let theta = if y == class { 1.0 } else { -1.0 };
        let f = row.iter().zip(&w).map(|(x, w)| x * w).sum::<f64>() + b;
        let pull = 2.0 * (1.0 - theta * f).max(0.0) * theta;
        rest_bias -= pull;
        for j in path.present() {
            rest[j] -= pull * row[j];
            start[j] += 2.0 * theta * row[j];
        }
    }
    assert!(
        norm(&rest).hypot(rest_bias) <= 1e-7 * norm(&start),
        "{} {}",
        norm(&rest),
        norm(&start)
    );
}

/// Fits the columns present from scratch and compares weights and bias.
fn check_cold(table: &Wide, path: &Elimination<'_>, class: usize) {
    let columns = path.present();
    let x = table.x.select(Axis(0), &columns);
    let mut cold = solver(SolverKind::Newton, problem(x.view(), &table.y, table.classes)).unwrap();
    assert!(cold.fit().converged);
    let warm = class_weights(path.model(), class);
    let fresh = class_weights(&*cold, class);
    let scale = fresh.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    for (&j, fresh) in columns.iter().zip(&fresh) {
        assert!((warm[j] - fresh).abs() <= 1e-6 * scale, "{} columns, column {j}", columns.len());
    }
    assert!((path.model().biases()[class] - cold.biases()[class]).abs() <= 1e-6 * scale);
}

#[test]
fn every_model_is_optimal_and_that_of_a_cold_fit() {
    for (classes, method) in [(2, Method::Crfe), (2, Method::Rfe), (4, Method::Crfe)] {
        let table = Wide::new(40, 160, classes, 5);
        check_models(&table, method, 9, |path, class| {
            check_optimal(&table, path, class);
            check_cold(&table, path, class);
        });
    }
}

#[test]
fn so_is_every_model_of_a_tall_table() {
    // So many rows to a column that fits start from some of the rows, and most rows are far from
    // the margin.
    for (classes, method) in [(2, Method::Crfe), (3, Method::Rfe)] {
        let table = Wide::new(500, 40, classes, 11);
        check_models(&table, method, 3, |path, class| {
            check_optimal(&table, path, class);
            check_cold(&table, path, class);
        });
    }
}

/// Everything that a path tells, to the bit.
fn told(path: Elimination<'_>) -> Vec<(Vec<usize>, u64, Option<u64>)> {
    let step = |step: crfe::Result<Removal>| step.unwrap();
    path.map(step)
        .map(|step| (step.removed, step.beta_mean.to_bits(), step.criterion.map(f64::to_bits)))
        .collect()
}

#[test]
fn a_first_fit_that_is_shared_changes_no_bit() {
    for (rows, columns) in [(30, 120), (200, 20), (90, 60)] {
        let table = Wide::new(rows, columns, 3, 12);
        let units = table.units(1);
        let constant = vec![false; columns];
        let data = (table.x.view(), table.y.as_slice());
        let common = Common::new(Settings::new(Method::Crfe, 3).measure, data, true);
        for method in METHODS {
            let settings = Settings::new(method, 3);
            let own = Elimination::new(settings, &units, data, data, &constant).unwrap();
            let shared = Elimination::sharing(settings, &units, data, &common, &constant).unwrap();
            assert_eq!(told(shared), told(own), "{method:?}, {rows} rows, {columns} columns");
        }
    }
}

#[test]
fn columns_of_very_different_scale_converge() {
    for (seed, offset) in [(7, 0.0), (8, 1.0), (9, 30.0)] {
        let mut table = Wide::new(40, 200, 2, seed);
        for j in (0..200).step_by(3) {
            table.x.row_mut(j).mapv_inplace(|value| 1000.0 * (value + offset));
        }
        for method in METHODS {
            check_models(&table, method, 7, |path, class| check_optimal(&table, path, class));
        }
    }
}
