//! Models beyond the linear one against numbers computed independently
//! (tests/fixtures/nonlinear.json, docs/method.md section 15).

mod program;

use std::collections::BTreeMap;
use std::path::Path;

use crfe::analysis::Metric;
use crfe::data::seed::{Purpose, Rng};
use crfe::data::{Dataset, Impute, Preparation, Prepared, Scale, Split, Unit, prepare};
use crfe::evaluate::{ConformalSettings, Decisions, Evaluator};
use crfe::run::{Plan, RunOptions, effects};
use crfe::select::{
    Elimination, FeaturePath, KernelElimination, Method, Nonconformity, Score, Settings,
};
use crfe::svm::{Estimator, Gamma};
use ndarray::Array2;
use program::{finish, program, run_into};
use proptest::prelude::*;
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
    let classes: Vec<&str> = fixture["classes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|class| class.as_str().unwrap())
        .collect();
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
    let evaluator =
        Evaluator::new(conformal, &ready.conformal.y, &ready.test.y, &ready.test.rows, 0, 0);
    let settings = Settings::new(method, classes);
    let train = (ready.train.x.view(), &*ready.train.y);
    let selection = (ready.selection.x.view(), &*ready.selection.y);
    let mut path: Box<dyn FeaturePath> = if estimator == Estimator::Rbf {
        let path = KernelElimination::new(
            settings,
            Gamma::Scale,
            &ready.units,
            train,
            selection,
            &ready.constant,
        )
        .unwrap();
        Box::new(path.watch(ready.conformal.x.view()).watch(ready.test.x.view()))
    } else {
        let path =
            Elimination::new(settings, &ready.units, train, selection, &ready.constant).unwrap();
        Box::new(path.watch(ready.conformal.x.view()).watch(ready.test.x.view()))
    };
    let mut present: Vec<usize> = (0..ready.units.len()).collect();
    let (order, gaps) = (indices(&expected["order"]), floats(&expected["relative_gap"]));
    let means = floats(&expected["beta_mean"]);
    let metrics = &expected["metrics"];
    let (mut steps, mut snapshots) = (0, 0);
    while let Some(step) = path.next().transpose().unwrap() {
        let what = format!("{what} step {}", step.t);
        assert!(step.convergence.converged, "{what}: {:?}", step.convergence);
        assert_close(&[step.beta_mean], &[means[step.t]], 1e-8, &format!("{what} mean β"));
        let (calibrating, tested) = (path.decisions(0).unwrap(), path.decisions(1).unwrap());
        let snapshot = &expected["snapshots"][step.t.to_string()];
        if snapshot.is_object() {
            assert_eq!(present, indices(&snapshot["features"]), "{what}");
            assert_close(&path.betas(), &floats(&snapshot["beta"]), 1e-8, &format!("{what} β"));
            let theirs = floats(&snapshot["f_test0"]);
            assert_close(&tested.row(0).to_vec(), &theirs, 1e-8, &format!("{what} f"));
            snapshots += 1;
        }
        let (conformal, test) = (calibrating, tested);
        let tally = evaluator.tally(&Decisions { conformal, test, biases: path.biases() });
        let at = indices(&metrics["size"]).iter().position(|&size| size == step.size).unwrap();
        for metric in [Metric::Coverage, Metric::Inefficiency, Metric::Certainty, Metric::Accuracy]
        {
            let theirs = metrics[metric.key()][at].as_f64().unwrap();
            assert!(
                (metric.value(&tally) - theirs).abs() < 1e-12,
                "{what} {}: {theirs}",
                metric.key()
            );
        }
        if let Some(&removed) = step.removed.first() {
            assert!(gaps[step.t] > TIE, "{what}: a tie, either order is right");
            assert_eq!(removed, order[step.t], "{what}");
            present.retain(|&unit| unit != removed);
            let change = snapshot["rfe"].as_array().map(|_| floats(&snapshot["rfe"]));
            if let (Some(changes), Method::Rfe, Estimator::Rbf) = (change, method, estimator) {
                let least = changes.iter().copied().fold(f64::INFINITY, f64::min);
                let scale = changes.iter().fold(0.0_f64, |a, b| a.max(b.abs()));
                let ours = step.criterion.unwrap();
                assert!((ours - least).abs() <= 1e-8 * scale, "{what} ΔJ: {ours} {least}");
            }
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

#[test]
fn kernel_paths_agree() {
    for table in TABLES {
        for method in [Method::Crfe, Method::Rfe] {
            check_path(table, Estimator::Rbf, method);
        }
    }
}

/// A table of noise, and its classes, by a seed.
struct Planted {
    x: Array2<f64>,
    y: Vec<usize>,
}

impl Planted {
    /// Rows × features of standard normal noise; the class is that of a function of a row.
    fn new(seed: u64, rows: usize, features: usize, class: impl Fn(&[f64], f64) -> usize) -> Self {
        let mut rng = Rng::new(seed, 0, Purpose::Split);
        let mut normal = || {
            // Irwin and Hall: near enough to normal.
            (0..12).map(|_| rng.uniform()).sum::<f64>() - 6.0
        };
        let x = Array2::from_shape_fn((rows, features), |_| normal());
        let y = x.rows().into_iter().map(|row| class(&row.to_vec(), normal())).collect();
        Self { x, y }
    }

    /// The places of features in the ranking of one path.
    fn ranks(&self, estimator: Estimator, features: &[usize]) -> Vec<usize> {
        let labels: Vec<String> = self.y.iter().map(|class| format!("class {class}")).collect();
        let path = crfe::Path::builder(self.x.view(), &labels).estimator(estimator).run().unwrap();
        features
            .iter()
            .map(|feature| 1 + path.ranking.iter().position(|own| own == feature).unwrap())
            .collect()
    }
}

const SEEDS: std::ops::Range<u64> = 1..7;

/// On how many seeds all of some features are among the `first` of the ranking.
fn found(
    estimator: Estimator,
    features: &[usize],
    first: usize,
    planted: impl Fn(u64) -> Planted,
) -> usize {
    let is_found =
        |seed: &u64| planted(*seed).ranks(estimator, features).iter().all(|&rank| rank <= first);
    SEEDS.filter(is_found).count()
}

#[test]
fn a_product_of_two_features_is_seen_by_the_kernel_alone() {
    let product = |seed| {
        Planted::new(seed, 400, 20, |x, noise| usize::from(x[3] * x[11] + 0.3 * noise > 0.0))
    };
    let kernel = found(Estimator::Rbf, &[3, 11], 3, product);
    let linear = found(Estimator::Linear, &[3, 11], 3, product);
    assert!(kernel >= 5, "{kernel} of 6");
    assert!(linear <= 1, "{linear} of 6");
}

#[test]
fn a_valley_and_a_threshold_are_seen_by_splines() {
    let planted = |seed| {
        Planted::new(seed, 400, 20, |x, noise| {
            let valley = x[5].powi(2) - 1.0;
            let threshold = if x[14] > 0.8 { 2.0 } else { -0.5 };
            usize::from(valley + threshold + 0.5 * noise > 0.0)
        })
    };
    let splines = found("rcs:4".parse().unwrap(), &[5, 14], 4, planted);
    let linear = found(Estimator::Linear, &[5, 14], 4, planted);
    assert!(splines >= 5 && linear < splines, "{splines} and {linear} of 6");
}

/// Nothing is lost on a linear truth: of the ten features with the best mean rank as many are
/// informative, within five points. A single split loses more with splines, whose terms are three
/// times as many columns (docs/method.md section 15).
#[test]
fn flexible_models_keep_the_informative_features_of_a_linear_truth() {
    let shares = |estimator: &str| {
        let scratch = tempfile::tempdir().unwrap();
        let options =
            format!("--estimator {estimator} --method crfe --splits 20 --stop none --quiet");
        run_into(scratch.path(), "data/synthetic.csv", &options);
        let text = std::fs::read_to_string(scratch.path().join("ranking.csv")).unwrap();
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = lines.next().unwrap();
        let place = |name: &str| header.iter().position(|own| *own == name).unwrap();
        let (rank, feature) = (place("rank"), place("feature"));
        let mut sums: std::collections::BTreeMap<String, f64> = Default::default();
        let mut in_a_split = 0.0;
        for cells in lines {
            let own: f64 = cells[rank].parse().unwrap();
            *sums.entry(cells[feature].to_string()).or_default() += own;
            in_a_split +=
                f64::from(u8::from(own <= 10.0 && cells[feature].starts_with("inf_"))) / 200.0;
        }
        let mut features: Vec<(f64, String)> =
            sums.into_iter().map(|(feature, sum)| (sum, feature)).collect();
        features.sort_by(|a, b| a.0.total_cmp(&b.0));
        let informative =
            features[..10].iter().filter(|(_, feature)| feature.starts_with("inf_")).count();
        (informative as f64 / 10.0, in_a_split)
    };
    let linear = shares("linear");
    for (estimator, lost_in_a_split) in [("rcs:4", 0.1), ("rbf", 0.05)] {
        let own = shares(estimator);
        assert!(own.0 >= linear.0 - 0.05, "{estimator}: {own:?}, linear {linear:?}");
        assert!(own.1 >= linear.1 - lost_in_a_split, "{estimator}: {own:?}, linear {linear:?}");
    }
}

/// Permuting the columns of a table permutes the ranks.
#[test]
fn ranks_follow_their_columns() {
    let planted =
        Planted::new(3, 150, 7, |x, noise| usize::from(x[1] + x[2] * x[4] + 0.3 * noise > 0.0));
    let order = [4, 0, 6, 2, 5, 1, 3];
    let permuted = Planted { x: planted.x.select(ndarray::Axis(1), &order), y: planted.y.clone() };
    for estimator in ["rbf", "rcs:3"] {
        let estimator = estimator.parse().unwrap();
        let ranks = planted.ranks(estimator, &order);
        assert_eq!(permuted.ranks(estimator, &[0, 1, 2, 3, 4, 5, 6]), ranks, "{estimator}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Σβ = Σ_i [α_i − α_i(no feature)]: the shares of all units add up to what the mean says, at
    /// every size.
    #[test]
    fn shares_add_up_on_random_tables(
        (seed, rows, features, classes) in (0..1000_u64, 30..50_usize, 2..14_usize, 2..5_usize),
        gamma in prop_oneof![Just(Gamma::Scale), (0.01..3.0_f64).prop_map(Gamma::Fixed)],
        lambda in 0.0..=1.0_f64,
    ) {
        let planted = Planted::new(seed, 2 * rows, features, |x, noise| {
            ((x[0] * x[1] + noise).abs() * 2.0) as usize % classes
        });
        let x = planted.x.t().as_standard_layout().into_owned();
        let train = x.slice(ndarray::s![.., ..rows]).to_owned();
        let selection = x.slice(ndarray::s![.., rows..]).to_owned();
        let mut y = planted.y[..rows].to_vec();
        let other = &planted.y[rows..];
        // Every class is there.
        (0..classes).for_each(|class| y[class] = class);
        let mut units: Vec<Unit> = (0..features).map(|j| Unit::single(format!("x{j}"), j)).collect();
        if features > 3 {
            let last = units.pop().unwrap();
            units[0].columns.extend(last.columns);
        }
        let mut settings = Settings::new(Method::Crfe, classes);
        settings.measure.lambda = lambda;
        let constant = vec![false; features];
        let mut path = KernelElimination::new(
            settings, gamma, &units, (train.view(), &y), (selection.view(), other), &constant,
        ).unwrap();
        while let Some(step) = path.next().transpose().unwrap() {
            prop_assert!(step.convergence.converged);
            let betas = path.betas();
            let sum = step.beta_mean * step.size as f64;
            let scale: f64 = betas.iter().map(|beta| beta.abs()).sum::<f64>().max(1.0);
            prop_assert!((betas.iter().sum::<f64>() - sum).abs() < 1e-11 * scale, "{} {sum}", betas.iter().sum::<f64>());
            let by_class: f64 = path.betas_by_class().iter().flatten().sum();
            prop_assert!((by_class - sum).abs() < 1e-11 * scale);
        }
    }
}

/// The tables of a run.
fn tables(run: &Path) -> BTreeMap<String, String> {
    let files = std::fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path());
    let tables = files.filter(|path| path.extension().is_some_and(|extension| extension == "csv"));
    tables
        .map(|path| {
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                std::fs::read_to_string(path).unwrap(),
            )
        })
        .collect()
}

/// A run in one go has the same tables as one in two shards, and as one that is extended from fewer
/// splits.
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
    let tables = check_run(
        "--estimator rcs:3 --method crfe,rfe,smfs --validate 2 --permutations 2 --stop 1se",
    );
    let scratch = tempfile::tempdir().unwrap();
    run_into(scratch.path(), "data/heart.csv", "--splits 3 --method crfe,rfe,smfs");
    let linear = std::fs::read_to_string(scratch.path().join("ranking.csv")).unwrap();
    assert_ne!(tables["ranking.csv"], linear, "splines rank otherwise");
    assert_eq!(
        tables["ranking.csv"].lines().count(),
        linear.lines().count(),
        "and count the same features"
    );
}

#[test]
fn kernel_runs_are_validated_permuted_resumed_and_sharded() {
    let tables = check_run(
        "--estimator rbf:0.1 --prefilter 6 --method crfe,rfe --validate 2 --permutations 1 --stop 1se",
    );
    let sizes: Vec<&str> = tables["trace.csv"]
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(3).unwrap())
        .take(4)
        .collect();
    assert_eq!(sizes, ["13", "6", "5", "4"], "the linear start is one step");
}

/// Effects are centred over the rows that a curve is made of, whatever the family of models.
#[test]
fn the_mean_effect_is_zero_in_every_class() {
    let planted =
        Planted::new(3, 200, 4, |x, noise| usize::from(x[0] * x[0] + x[1] + 0.3 * noise > 1.0));
    let labels: Vec<String> = planted.y.iter().map(|class| format!("class {class}")).collect();
    for estimator in ["linear", "rcs:4", "rbf"] {
        let mut x = planted.x.clone();
        x.iter_mut().step_by(17).for_each(|cell| *cell = f64::NAN);
        let data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
        let mut options =
            RunOptions { estimator: estimator.parse().unwrap(), ..RunOptions::default() };
        options.split.splits = 3;
        let plan = Plan::new(options.check().unwrap(), data).unwrap();
        let units = [0, 1, 2, 3];
        for curve in effects(&plan, &units, &units).unwrap() {
            for class in 0..2 {
                let sum: f64 =
                    curve.points.iter().map(|point| point.rows as f64 * point.score[class]).sum();
                assert!(sum.abs() < 1e-9, "{estimator}, feature {}: {sum}", curve.unit);
            }
        }
    }
}

/// The effect of a feature in a linear model is a straight line through its values, in a spline
/// model of a valley it is a valley.
#[test]
fn effects_have_the_shape_of_the_truth() {
    let planted = Planted::new(7, 400, 5, |x, noise| {
        usize::from(2.0 * (x[0] * x[0] - 1.0) - x[3] + 0.3 * noise > 0.0)
    });
    let labels: Vec<String> = planted.y.iter().map(|class| format!("class {class}")).collect();
    let of = |estimator: &str| {
        let data = Dataset::from_arrays(planted.x.view(), &labels, None).unwrap();
        let mut options =
            RunOptions { estimator: estimator.parse().unwrap(), ..RunOptions::default() };
        options.split.splits = 1;
        let plan = Plan::new(options.check().unwrap(), data).unwrap();
        effects(&plan, &[0, 1, 2, 3, 4], &[0, 3]).unwrap()
    };
    for estimator in ["rcs:4", "rbf"] {
        let valley: Vec<f64> = of(estimator)[0].points.iter().map(|point| point.score[1]).collect();
        let middle = valley[4].max(valley[5]);
        assert!(valley[0] > 0.0 && valley[9] > 0.0 && middle < 0.0, "{estimator}: {valley:?}");
    }
    let line = &of("linear")[1].points;
    let slope = |a: usize, b: usize| {
        (line[b].score[1] - line[a].score[1]) / (line[b].value - line[a].value)
    };
    assert!((slope(0, 5) - slope(5, 9)).abs() < 1e-9 * slope(0, 9).abs() && slope(0, 9) < 0.0);
    assert!(
        line.iter().all(|point| (point.score[0] + point.score[1]).abs() < 1e-12),
        "mirror images"
    );
}

/// A size that the path does not visit is refused before the run, whoever asks for it.
#[test]
fn sizes_that_no_path_visits_are_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let model = scratch.path().join("M.json");
    let model = model.to_string_lossy();
    let with_prefilter = "which visits the sizes 13, 4, 3, 2 and 1 with --prefilter 4; choose one of these sizes, or leave --prefilter out";
    for (command, words) in [
        (
            "run data/heart.csv --step 3 --stop 2",
            "--stop 2 is not a size of this path, which visits the sizes 13, 10, 7, 4 and 1 with --step 3; \
             choose one of these sizes, or leave --step out",
        ),
        ("run data/heart.csv --estimator rbf --prefilter 4 --stop 6", with_prefilter),
        (
            "check data/heart.csv --step half --stop 6",
            "the sizes 13, 7, 4, 2 and 1 with --step 0.5",
        ),
        (
            "run data/dermatology.csv --step 2 --stop 7",
            "18 sizes, of which 8 and 6 are the nearest with --step 2",
        ),
        (
            &format!("fit data/heart.csv --estimator rbf --prefilter 4 --stop 6 --model {model}"),
            with_prefilter,
        ),
        (
            "run data/heart.csv --estimator rbf --prefilter 6 --step 2 --stop 5",
            "--prefilter 6 and --step 2",
        ),
    ] {
        let ran = finish(program().args(command.split(' ')));
        assert_eq!(ran.code, 2, "{command}: {}", ran.stderr);
        assert!(ran.stderr.contains(words), "{command}: {}", ran.stderr);
    }
    let ran = finish(program().args("check data/heart.csv --step 3 --stop 4".split(' ')));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran =
        finish(program().args("check data/heart.csv --estimator rbf --prefilter 99".split(' ')));
    let said = ran.stdout + &ran.stderr;
    assert!(said.contains("--prefilter 99 leaves nothing out: there are 13 features"), "{said}");
}

#[test]
fn acm_runs_with_the_proximity_rule() {
    let tables = check_run("--method acm,crfe --stop proximity --validate 2");
    let stopping = &tables["stopping.csv"];
    let sizes = stopping.lines().filter(|line| line.contains("proximity")).count();
    assert_eq!(sizes, 6, "one per method and split: {stopping}");
}

#[test]
fn wide_tables_are_refused_with_the_reason() {
    let scratch = tempfile::tempdir().unwrap();
    let table = scratch.path().join("wide.csv");
    let names: Vec<String> = (0..501).map(|j| format!("x{j}")).collect();
    let mut text = format!("{},class\n", names.join(","));
    for i in 0..60 {
        let cells: Vec<String> = (0..501)
            .map(|j| format!("{}", (i * 7919 + j * 104_729 + i * i * (j + 3) * 31) % 1009))
            .collect();
        text += &format!("{},{}\n", cells.join(","), ["a", "b"][i % 2]);
    }
    std::fs::write(&table, text).unwrap();
    let out = scratch.path().join("RUN");
    let ran = finish(program().arg("run").arg(&table).args(["--method", "acm", "--out"]).arg(&out));
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("too long for 501 features (at most 500)"), "{}", ran.stderr);
    assert!(!out.exists(), "nothing is written");
    let ran = finish(program().arg("check").arg(&table).args(["--estimator", "rbf"]));
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("add --prefilter 100"), "{}", ran.stderr);
    let ran = finish(program().arg("check").arg(&table).args([
        "--estimator",
        "rbf",
        "--prefilter",
        "20",
    ]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}
