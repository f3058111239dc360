//! Elimination paths against numbers computed independently (tests/fixtures, METHOD.md sections 2 to 7).

use crfe::data::Unit;
use crfe::select::{Elimination, Method, Removal, Settings};
use crfe::svm::{ClassWeight, SolverKind};
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
    let y =
        rows.iter().map(|row| classes.iter().position(|class| *class == &row[columns]).unwrap()).collect();
    let units = names[..columns].iter().enumerate().map(|(j, name)| Unit::single(name, j)).collect();
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

/// One path, checked against its fixture step by step.
fn check_path(table: &Table, split: &Value, method: Method, fixture: &Value, what: &str) {
    let (train, selection) =
        (table.part(&indices(&split["train"])), table.part(&indices(&split["calibration"])));
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
    let near_ties = indices(&fixture["near_ties"]);
    let means = floats(&fixture["beta_mean"]);
    let mut steps = 0;
    while let Some(step) = path.next() {
        assert!(step.convergence.converged, "{what} step {}: {:?}", step.t, step.convergence);
        if step.t == 0 {
            for class in 0..table.classes {
                let (w, b) = expected_model(fixture, class, table.classes);
                assert_close(&path.model().weights(class).to_vec(), &w, 1e-6, &format!("{what} w{class}"));
                assert_close(&[path.model().bias(class)], &[b], 1e-6, &format!("{what} b{class}"));
            }
        }
        check_step(&path, &step, fixture, &means, &format!("{what} step {}", step.t));
        let leaves = step.removed.first().copied().unwrap_or(path.present()[0]);
        if near_ties.contains(&step.t) {
            // Either order is right here; the path after it may differ, so it is compared no further.
            return;
        }
        assert_eq!(leaves, order[step.t], "{what} step {}", step.t);
        steps += 1;
    }
    assert_eq!(steps, order.len(), "{what}");
}

/// The fixture's model of a class; for two classes it may give one row, positive for the last.
fn expected_model(fixture: &Value, class: usize, classes: usize) -> (Vec<f64>, f64) {
    let (w, b) = (fixture["w0"].as_array().unwrap(), floats(&fixture["b0"]));
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

#[test]
fn balanced_class_weights_agree() {
    for case in json("class_weight.json")["cases"].as_array().unwrap() {
        let table = table(&case["csv"]);
        let train = table.part(&indices(&case["train"]));
        let settings =
            Settings { weight: ClassWeight::Balanced, ..Settings::new(Method::Crfe, table.classes) };
        assert_eq!(settings.solver, SolverKind::Newton);
        let data = (train.0.view(), train.1.as_slice());
        let constant = vec![false; table.x.nrows()];
        let mut path = Elimination::new(settings, &table.units, data, data, &constant).unwrap();
        assert!(path.next().unwrap().convergence.converged);
        for (row, (w, b)) in case["w"].as_array().unwrap().iter().zip(floats(&case["b"])).enumerate() {
            let class = if table.classes == 2 { 1 } else { row };
            assert_close(&path.model().weights(class).to_vec(), &floats(w), 1e-6, "w");
            assert_close(&[path.model().bias(class)], &[b], 1e-6, "b");
        }
    }
}
