//! Elimination paths against numbers computed independently (tests/fixtures, docs/method.md
//! sections 2 to 7).

use crfe::analysis::Metric;
use crfe::data::Unit;
use crfe::evaluate::{ConformalSettings, Decisions, Evaluator};
use crfe::select::{Elimination, Method, Nonconformity, Removal, Score, Settings};
use crfe::svm::{ClassWeight, PathSolver, SolverKind, class_weights, decisions};
use ndarray::Array2;
use serde_json::Value;

/// A prepared table, feature-major, and its classes.
struct Table {
    x: Array2<f64>,
    y: Vec<usize>,
    classes: usize,
    units: Vec<Unit>,
}

fn json(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn indices(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
}

/// `csv` is named as in the fixtures, `data/prepared/….csv`.
fn table(csv: &Value) -> Table {
    let file = csv.as_str().unwrap().replace("data/", "");
    let path = format!("{}/tests/fixtures/{file}", env!("CARGO_MANIFEST_DIR"));
    let mut reader = csv::Reader::from_path(path).unwrap();
    let names: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let columns = names.len() - 1;
    let x = Array2::from_shape_fn((columns, rows.len()), |(j, i)| rows[i][j].parse().unwrap());
    let mut classes: Vec<&str> = rows.iter().map(|row| &row[columns]).collect();
    classes.sort_unstable();
    classes.dedup();
    let y = rows
        .iter()
        .map(|row| classes.iter().position(|class| *class == &row[columns]).unwrap())
        .collect();
    let units =
        names[..columns].iter().enumerate().map(|(j, name)| Unit::single(name, j)).collect();
    Table { x, y, classes: classes.len(), units }
}

impl Table {
    fn part(&self, rows: &[usize]) -> (Array2<f64>, Vec<usize>) {
        let x = self.x.select(ndarray::Axis(1), rows).as_standard_layout().to_owned();
        (x, rows.iter().map(|&i| self.y[i]).collect())
    }
}

/// What is expected of w, b and β: relative to the largest of its kind.
fn assert_close(ours: &[f64], theirs: &[f64], relative: f64, what: &str) {
    let scale = theirs.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert!((a - b).abs() <= relative * scale, "{what}[{i}]: {a} is not {b} (scale {scale})");
    }
}

/// The calibration and test rows of a split, and what the fixture says of them at every size.
struct Judged<'a> {
    conformal: Array2<f64>,
    test: Array2<f64>,
    /// Under both scores.
    evaluators: [Evaluator; 2],
    metrics: &'a Value,
}

impl<'a> Judged<'a> {
    fn new(table: &Table, split: &Value, metrics: &'a Value) -> Self {
        let rows = indices(&split["test"]);
        let conformal = table.part(&indices(&split["calibration"]));
        let test = table.part(&rows);
        let evaluator = |score| {
            let measure = Nonconformity { lambda: 0.5, classes: table.classes, score };
            let settings =
                ConformalSettings { epsilon: 0.1, mondrian: false, smoothed: false, measure };
            Evaluator::new(settings, &conformal.1, &test.1, &rows, 0, 0)
        };
        let evaluators = [evaluator(Score::Weighted), evaluator(Score::Published)];
        Self { evaluators, conformal: conformal.0, test: test.0, metrics }
    }

    /// How many numbers of one model agree; those that hang on an unsafe comparison are left out.
    fn check<'m>(&self, model: &(dyn PathSolver<'m> + 'm), size: usize, what: &str) -> usize {
        let at = indices(&self.metrics["size"]).iter().position(|&s| s == size).unwrap();
        let on = |x: &Array2<f64>| decisions(model, x.view());
        let (conformal, test) = (on(&self.conformal), on(&self.test));
        let model = Decisions { conformal, test, biases: model.biases() };
        let mut checked = 0;
        for (evaluator, prefix) in self.evaluators.iter().zip(["", "ref_"]) {
            let gap = self.metrics[format!("{prefix}threshold_gap")][at].as_f64().unwrap();
            if gap > 0.0 && gap < 1e-9 {
                continue;
            }
            let tally = evaluator.tally(&model);
            for metric in Metric::ALL {
                let name = metric.key();
                let ours = metric.value(&tally);
                let key = match name {
                    "precision_macro" => "precision",
                    "recall_macro" => "recall",
                    name => name,
                };
                // The fixture was made before these; unit tests count them pair by pair and label
                // by label.
                if [Metric::Auc, Metric::Fuzziness].contains(metric) {
                    continue;
                }
                let Some(theirs) = self.metrics[format!("{prefix}{key}")][at].as_f64() else {
                    assert_eq!(prefix, "ref_", "{what}: the fixture has no {name}");
                    continue;
                };
                assert!(
                    (ours - theirs).abs() <= 1e-9,
                    "{what} {prefix}{name}: {ours} is not {theirs}"
                );
                checked += 1;
            }
        }
        checked
    }
}

/// One path, checked against its fixture step by step.
fn check_path(table: &Table, split: &Value, method: Method, fixture: &Value, what: &str) {
    let train = table.part(&indices(&split["train"]));
    let selection = table.part(&indices(&split["calibration"]));
    let settings = Settings::new(method, table.classes);
    let constant = vec![false; table.x.nrows()];
    let mut path = Elimination::new(
        settings,
        &table.units,
        (train.0.view(), &train.1),
        (selection.0.view(), &selection.1),
        &constant,
    )
    .unwrap();
    let order = indices(&fixture["order"]);
    assert_eq!(indices(&fixture["near_ties"]), [0; 0], "{what}: more than one order is right");
    let means = floats(&fixture["beta_mean"]);
    let judged = Judged::new(table, split, &fixture["metrics"]);
    let (mut steps, mut metrics) = (0, 0);
    while let Some(step) = path.next().transpose().unwrap() {
        assert!(step.convergence.converged, "{what} step {}: {:?}", step.t, step.convergence);
        if step.t == 0 {
            for class in 0..table.classes {
                let (w, b) = expected_model(fixture, class, table.classes);
                assert_close(
                    &class_weights(path.model(), class),
                    &w,
                    1e-6,
                    &format!("{what} w{class}"),
                );
                assert_close(
                    &[path.model().biases()[class]],
                    &[b],
                    1e-6,
                    &format!("{what} b{class}"),
                );
            }
        }
        check_step(&path, &step, fixture, &means, &format!("{what} step {}", step.t));
        metrics += judged.check(path.model(), step.size, &format!("{what} step {}", step.t));
        let leaves = step.removed.first().copied().unwrap_or(path.present()[0]);
        assert_eq!(leaves, order[step.t], "{what} step {}", step.t);
        steps += 1;
    }
    assert_eq!(steps, order.len(), "{what}");
    // Eleven metrics, and five under the published score.
    assert_eq!(metrics, 16 * steps, "{what}: a threshold was unsafe");
}

/// The fixture's model of a class; for two classes it may give one row, positive for the last.
fn expected_model(fixture: &Value, class: usize, classes: usize) -> (Vec<f64>, f64) {
    let w = fixture["w0"].as_array().unwrap();
    let b = floats(&fixture["b0"]);
    if w.len() == 1 && classes == 2 {
        let sign = if class == 1 { 1.0 } else { -1.0 };
        return (floats(&w[0]).iter().map(|w| sign * w).collect(), sign * b[0]);
    }
    (floats(&w[class]), b[class])
}

fn check_step(path: &Elimination<'_>, step: &Removal, fixture: &Value, means: &[f64], what: &str) {
    assert_close(&[step.beta_mean], &[means[step.t]], 1e-6, &format!("{what} mean β"));
    let snapshot = &fixture["snapshots"][step.t.to_string()];
    if snapshot.is_object() {
        assert_eq!(path.present(), indices(&snapshot["features"]), "{what}");
        assert_close(&path.betas(), &floats(&snapshot["beta"]), 1e-6, &format!("{what} β"));
    }
}

fn check_paths(name: &str) {
    let fixture = json(&format!("paths_{name}.json"));
    let table = table(&fixture["csv"]);
    for (s, split) in fixture["splits"].as_array().unwrap().iter().enumerate() {
        for (method, key) in [(Method::Crfe, "crfe"), (Method::Rfe, "rfe")] {
            let expected = &split["squared_hinge"][key];
            check_path(&table, split, method, expected, &format!("{name} split {s} {key}"));
        }
    }
}

#[test]
fn paths_of_synthetic_agree() {
    check_paths("synthetic");
}

#[test]
fn paths_of_dermatology_agree() {
    check_paths("dermatology");
}

#[test]
fn paths_of_heart_agree() {
    check_paths("heart");
}

#[test]
fn paths_of_synthetic_rowwise_agree() {
    check_paths("synthetic_rowwise");
}

/// linfa-svm stops at 1e-5, so the order of close features may differ; the first model and the best
/// ten may not.
fn check_hinge(name: &str) {
    let fixture = json(&format!("paths_{name}.json"));
    let table = table(&fixture["csv"]);
    let constant = vec![false; table.x.nrows()];
    for (s, split) in fixture["splits"].as_array().unwrap().iter().enumerate() {
        let train = table.part(&indices(&split["train"]));
        let selection = table.part(&indices(&split["calibration"]));
        for (method, key) in [(Method::Crfe, "crfe"), (Method::Rfe, "rfe")] {
            let expected = &split["hinge"][key];
            let what = format!("{name} split {s} {key}");
            let settings =
                Settings { solver: SolverKind::Linfa, ..Settings::new(method, table.classes) };
            let mut path = Elimination::new(
                settings,
                &table.units,
                (train.0.view(), &train.1),
                (selection.0.view(), &selection.1),
                &constant,
            )
            .unwrap();
            let first = path.next().unwrap().unwrap();
            assert!(first.convergence.converged, "{what}");
            for class in 0..table.classes {
                let (w, _) = expected_model(expected, class, table.classes);
                for (ours, theirs) in class_weights(path.model(), class).iter().zip(w) {
                    assert!(
                        (ours - theirs).abs() <= 1e-3,
                        "{what} w{class}: {ours} is not {theirs}"
                    );
                }
            }
            let mut left: Vec<usize> = (0..table.units.len()).collect();
            left.retain(|unit| !first.removed.contains(unit));
            while left.len() > 10 {
                let step = path.next().unwrap().unwrap();
                assert!(step.convergence.converged, "{what} step {}", step.t);
                left.retain(|unit| !step.removed.contains(unit));
            }
            let order = indices(&expected["order"]);
            let mut best = order[order.len() - 10..].to_vec();
            best.sort_unstable();
            assert_eq!(left, best, "{what}");
        }
    }
}

#[test]
fn linfa_agrees_on_dermatology() {
    check_hinge("dermatology");
}

#[test]
fn linfa_agrees_on_heart() {
    check_hinge("heart");
}

#[test]
fn balanced_class_weights_agree() {
    for case in json("class_weight.json")["cases"].as_array().unwrap() {
        let table = table(&case["csv"]);
        let train = table.part(&indices(&case["train"]));
        let settings = Settings {
            weight: ClassWeight::Balanced,
            ..Settings::new(Method::Crfe, table.classes)
        };
        assert_eq!(settings.solver, SolverKind::Newton);
        let data = (train.0.view(), train.1.as_slice());
        let constant = vec![false; table.x.nrows()];
        let mut path = Elimination::new(settings, &table.units, data, data, &constant).unwrap();
        assert!(path.next().unwrap().unwrap().convergence.converged);
        for (row, (w, b)) in
            case["w"].as_array().unwrap().iter().zip(floats(&case["b"])).enumerate()
        {
            let class = if table.classes == 2 { 1 } else { row };
            assert_close(&class_weights(path.model(), class), &floats(w), 1e-6, "w");
            assert_close(&[path.model().biases()[class]], &[b], 1e-6, "b");
        }
    }
}
