//! Models beyond the linear one against numbers computed independently (tests/fixtures/nonlinear.json, docs/method.md section 15).

mod program;

use std::collections::BTreeMap;
use std::path::Path;

use crfe::analysis::Metric;
use crfe::data::{Dataset, Impute, Preparation, Prepared, Scale, Split, prepare};
use crfe::evaluate::{ConformalSettings, Evaluator};
use crfe::select::{Elimination, Method, Nonconformity, Score, Settings};
use crfe::svm::Estimator;
use ndarray::Array2;
use program::{finish, program, run_into};
use serde_json::Value;

const TABLES: [&str; 3] = ["heart", "synthetic", "dermatology"];

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

fn indices(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|v| v.as_u64().unwrap() as usize).collect()
}

fn fixture(table: &str) -> Value {
    let path = format!("{}/tests/fixtures/nonlinear.json", env!("CARGO_MANIFEST_DIR"));
    let all: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    all[table].clone()
}

/// A prepared table; its classes in the order of the fixture.
fn dataset(fixture: &Value) -> Dataset {
    let name = fixture["csv"].as_str().unwrap();
    let path = format!("{}/tests/fixtures/prepared/{name}", env!("CARGO_MANIFEST_DIR"));
    let mut reader = csv::Reader::from_path(path).unwrap();
    let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
    let columns = rows[0].len() - 1;
    let x = Array2::from_shape_fn((rows.len(), columns), |(i, j)| rows[i][j].parse().unwrap());
    let labels: Vec<&str> = rows.iter().map(|row| &row[columns]).collect();
    let data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
    let classes: Vec<&str> =
        fixture["classes"].as_array().unwrap().iter().map(|class| class.as_str().unwrap()).collect();
    assert_eq!(data.classes, classes);
    data
}

fn prepared(data: &Dataset, fixture: &Value, estimator: Estimator) -> Prepared {
    let rows = |part: &str| indices(&fixture["split"][part]);
    let calibration = rows("calibration");
    let split = Split {
        train: rows("train"),
        selection: calibration.clone(),
        conformal: calibration,
        test: rows("test"),
    };
    let how = Preparation { scale: Scale::None, impute: Impute::None, splines: estimator.knots() };
    prepare(data, &split, how, 0, 0)
}

/// Relative to the largest of its kind.
fn assert_close(ours: &[f64], theirs: &[f64], relative: f64, what: &str) {
    let scale = theirs.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
    assert_eq!(ours.len(), theirs.len(), "{what}");
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        assert!((a - b).abs() <= relative * scale, "{what}[{i}]: {a} is not {b} (scale {scale})");
    }
}

/// Steps closer to a tie than this may be ordered either way.
const TIE: f64 = 1e-9;

fn check_path(table: &str, estimator: Estimator, method: Method) {
    let fixture = fixture(table);
    let expected = &fixture[format!("{estimator}/{}", method.name())];
    let what = format!("{table} {estimator} {method}");
    let data = dataset(&fixture);
    let ready = prepared(&data, &fixture, estimator);
    let classes = data.classes.len();
    let measure = Nonconformity { lambda: 0.5, classes, score: Score::Weighted };
    let conformal = ConformalSettings { epsilon: 0.1, mondrian: false, smoothed: false, measure };
    let evaluator = Evaluator::new(conformal, &ready.conformal.y, &ready.test.y, &ready.test.rows, 0, 0);
    let mut path = Elimination::new(
        Settings::new(method, classes),
        &ready.units,
        (ready.train.x.view(), &ready.train.y),
        (ready.selection.x.view(), &ready.selection.y),
        &ready.constant,
    )
    .unwrap()
    .watch(ready.conformal.x.view())
    .watch(ready.test.x.view());
    let (order, gaps) = (indices(&expected["order"]), floats(&expected["relative_gap"]));
    let (means, metrics) = (floats(&expected["beta_mean"]), &expected["metrics"]);
    let (mut steps, mut snapshots) = (0, 0);
    while let Some(step) = path.next().transpose().unwrap() {
        let what = format!("{what} step {}", step.t);
        assert!(step.convergence.converged, "{what}: {:?}", step.convergence);
        assert_close(&[step.beta_mean], &[means[step.t]], 1e-8, &format!("{what} mean β"));
        let (calibrating, tested) = (path.decisions(0).unwrap(), path.decisions(1).unwrap());
        let snapshot = &expected["snapshots"][step.t.to_string()];
        if snapshot.is_object() {
            assert_eq!(path.present(), indices(&snapshot["features"]), "{what}");
            assert_close(&path.betas(), &floats(&snapshot["beta"]), 1e-8, &format!("{what} β"));
            let theirs = floats(&snapshot["f_test0"]);
            assert_close(&tested.row(0).to_vec(), &theirs, 1e-8, &format!("{what} f"));
            snapshots += 1;
        }
        let bias = path.model().biases();
        let tally = evaluator.tally(calibrating.view(), tested.view(), &bias);
        let at = indices(&metrics["size"]).iter().position(|&size| size == step.size).unwrap();
        for metric in [Metric::Coverage, Metric::Inefficiency, Metric::Certainty, Metric::Accuracy] {
            let theirs = metrics[metric.key()][at].as_f64().unwrap();
            assert!((metric.value(&tally) - theirs).abs() < 1e-12, "{what} {}: {theirs}", metric.key());
        }
        if let Some(&removed) = step.removed.first() {
            assert!(gaps[step.t] > TIE, "{what}: a tie, either order is right");
            assert_eq!(removed, order[step.t], "{what}");
            steps += 1;
        }
    }
    assert_eq!((steps, snapshots), (order.len(), 4), "{what}");
}

#[test]
fn spline_paths_agree() {
    for table in TABLES {
        for method in [Method::Crfe, Method::Rfe] {
            check_path(table, "rcs:4".parse().unwrap(), method);
        }
    }
}

/// The tables of a run.
fn tables(run: &Path) -> BTreeMap<String, String> {
    let files = std::fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let tables = files.filter(|path| path.extension().is_some_and(|extension| extension == "csv"));
    tables
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
        })
        .collect()
}

/// A run in one go has the same tables as one in two shards, and as one that is extended from fewer splits.
fn check_run(options: &str) -> BTreeMap<String, String> {
    let scratch = tempfile::tempdir().unwrap();
    let run = |name: &str, more: &str| {
        let out = scratch.path().join(name);
        run_into(&out, "data/heart.csv", &format!("{options} {more}"));
        out
    };
    let whole = run("whole", "--splits 3 --threads 2");
    run("shards", "--splits 3 --shard 1/2");
    let shards = run("shards", "--splits 3 --shard 2/2");
    assert_eq!(finish(program().arg("report").arg(&shards)).code, 0);
    run("extended", "--splits 2 --threads 1");
    let extended = run("extended", "--splits 3 --threads 1");
    let expected = tables(&whole);
    assert!(expected.contains_key("ranking.csv") && expected.contains_key("predictions.csv"));
    assert_eq!(tables(&shards), expected, "{options}: shards");
    assert_eq!(tables(&extended), expected, "{options}: extended");
    expected
}

#[test]
fn spline_runs_are_validated_permuted_resumed_and_sharded() {
    let tables =
        check_run("--estimator rcs:3 --method crfe,rfe,smfs --validate 2 --permutations 2 --stop 1se");
    let scratch = tempfile::tempdir().unwrap();
    run_into(scratch.path(), "data/heart.csv", "--splits 3 --method crfe,rfe,smfs");
    let linear = std::fs::read_to_string(scratch.path().join("ranking.csv")).unwrap();
    assert_ne!(tables["ranking.csv"], linear, "splines rank otherwise");
    assert_eq!(tables["ranking.csv"].lines().count(), linear.lines().count(), "and count the same features");
}

#[test]
fn acm_runs_with_the_proximity_rule() {
    let tables = check_run("--method acm,crfe --stop proximity --validate 2");
    let stopping = &tables["stopping.csv"];
    let sizes = stopping.lines().filter(|line| line.contains("proximity")).count();
    assert_eq!(sizes, 6, "one per method and split: {stopping}");
}

#[test]
fn acm_refuses_wide_tables_with_the_reason() {
    let scratch = tempfile::tempdir().unwrap();
    let table = scratch.path().join("wide.csv");
    let names: Vec<String> = (0..501).map(|j| format!("x{j}")).collect();
    let mut text = format!("{},class\n", names.join(","));
    for i in 0..60 {
        let cells: Vec<String> =
            (0..501).map(|j| format!("{}", (i * 7919 + j * 104_729 + i * i * (j + 3) * 31) % 1009)).collect();
        text += &format!("{},{}\n", cells.join(","), ["a", "b"][i % 2]);
    }
    std::fs::write(&table, text).unwrap();
    let out = scratch.path().join("RUN");
    let ran = finish(program().arg("run").arg(&table).args(["--method", "acm", "--out"]).arg(&out));
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("too long for 501 features (at most 500)"), "{}", ran.stderr);
    assert!(!out.exists(), "nothing is written");
}
