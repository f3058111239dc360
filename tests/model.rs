//! From list to use: a model predicts new rows exactly as a split predicts its test rows, keeps its
//! promise, says what is wrong with a file, and knows nothing of the rows that calibrate it but
//! their scores.

mod program;
mod skipped;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crfe::analysis::{History, Trace};
use crfe::data::seed::{Purpose, Rng};
use crfe::data::{Dataset, NewRows, ReadOptions, RowBatch};
use crfe::model::{
    CellReading, Ingredients, ListOrigin, Model, RowSource, ScoredRow, Scorer, fit_list,
};
use crfe::run::{Engine, Gate, Permutations, Plan, RunOptions, fit_settings};
use crfe::select::{Method, StopRule};
use ndarray::Array2;
use program::{Ran, finish, program, run_into};
use tempfile::TempDir;

fn desk() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// `crfe-tui COMMAND …`; the options are separated by blanks.
fn call(words: &[&str], files: &[&Path], options: &str) -> Ran {
    finish(program().args(words).args(files).args(options.split_whitespace()))
}

/// `crfe-tui fit DATA --model M.json …`, which must succeed; the model's file.
fn fit(desk: &TempDir, data: &str, options: &str) -> PathBuf {
    let model = desk.path().join("M.json");
    let ran = call(&["fit", data, "--model"], &[&model], options);
    assert_eq!(ran.code, 0, "{options}: {}{}", ran.stdout, ran.stderr);
    model
}

/// The cells of a table by column.
fn table(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let mut columns: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for record in reader.records() {
        for (name, cell) in header.iter().zip(&record.unwrap()) {
            columns.entry(name.clone()).or_default().push(cell.to_owned());
        }
    }
    columns
}

fn plan_of(data: &Path, change: impl FnOnce(&mut RunOptions)) -> Plan {
    let mut options = RunOptions { methods: vec![Method::Crfe], ..RunOptions::default() };
    (options.validate, options.permutations) = (None, Permutations::Count(0));
    change(&mut options);
    let spec = options.check().unwrap();
    let data = Dataset::load(data, &spec.schema, |_, _| {}).unwrap();
    Plan::new(spec, data).unwrap()
}

/// The model of some units, fitted on some rows and calibrated on others.
fn model_of(plan: &Plan, rest: &[usize], reserve: &[usize], units: &[usize], index: u64) -> Model {
    let spec = &plan.info.spec;
    let settings = fit_settings(plan, spec.split.seed, index);
    let fitted = fit_list(&plan.data, rest, reserve, units, &settings).unwrap();
    let selection =
        ListOrigin { method: None, rule: "given".into(), counts: Vec::new(), splits: 0 };
    let made_of = Ingredients {
        program: "a test",
        data: &plan.data,
        list: units,
        selection,
        settings: &settings,
        guaranteed: true,
        id_column: None,
        reading: CellReading { max_missing: 0.25, ..CellReading::default() },
        fingerprint: String::new(),
        command: String::new(),
        rest,
        reserve,
        validation: None,
        cautions: Vec::new(),
    };
    Model::new(&fitted, made_of)
}

/// The rows of a split as those of a model: its p-values on the test rows are those of
/// predictions.csv, as text.
#[test]
fn p_values_are_those_of_predictions_csv() {
    for (data, size, options) in [
        ("data/synthetic.csv", 6, ""),
        ("data/dermatology.csv", 9, "--mondrian"),
        // With gaps every feature, since a split fills gaps before it selects.
        ("data/heart.csv", 13, "--scale minmax --class-weight balanced"),
        ("data/heart.csv", 13, "--impute median --lambda 0.3"),
        ("data/synthetic.csv", 5, "--estimator rcs:4"),
        ("data/synthetic.csv", 6, "--estimator rbf"),
        ("data/heart.csv", 13, "--estimator rbf:0.2 --mondrian --class-weight balanced"),
    ] {
        let desk = desk();
        let out = desk.path().join("RUN");
        run_into(&out, data, &format!("--splits 1 --method crfe --stop {size} {options}"));
        let plan = plan_of(Path::new(data), |chosen| {
            chosen.split.splits = 1;
            chosen.stop = StopRule::Size(size);
            for word in options.split("--").filter(|word| !word.is_empty()) {
                let (name, value) = word.trim().split_once(' ').unwrap_or((word.trim(), "true"));
                let option =
                    crfe::run::options::OPTIONS.iter().find(|option| option.name == name).unwrap();
                option.take(chosen, value).unwrap();
            }
        });
        let selected = fs::read_to_string(out.join("selected.txt")).unwrap();
        let unit = |name: &str| plan.info.units.iter().position(|unit| unit.name == name).unwrap();
        let units: Vec<usize> = selected.lines().map(unit).collect();
        assert_eq!(units.len(), size);
        let split = plan.splits.split(&plan.data, 0).unwrap();
        let file = desk.path().join("M.json");
        model_of(&plan, &split.train, &split.conformal, &units, 0).save(&file, false).unwrap();
        let ran = call(&["predict"], &[&file, Path::new(data)], "--quiet");
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let predicted = table(&ran.stdout);
        let expected = table(&fs::read_to_string(out.join("predictions.csv")).unwrap());
        let mut compared = 0;
        for (at, row) in expected["row"].iter().enumerate() {
            let row: usize = row.parse().unwrap();
            for (name, values) in
                expected.iter().filter(|(name, _)| name.starts_with("p_") || *name == "set")
            {
                assert_eq!(predicted[name][row], values[at], "{data} {options}: row {row}, {name}");
                compared += 1;
            }
        }
        assert!(compared > 150, "{compared}");
    }
}

/// A table of four classes in the manner of data/synthetic.csv: two informative columns and some of
/// noise.
fn synthetic(rows: usize, rng: &mut Rng) -> (Array2<f64>, Vec<&'static str>) {
    let mut normal = || {
        let radius = (-2.0 * (1.0 - rng.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * rng.uniform()).cos()
    };
    let labels: Vec<&str> =
        (0..rows).map(|_| ["a", "b", "c", "d"][(normal().abs() * 1e6) as usize % 4]).collect();
    let x = Array2::from_shape_fn((rows, 8), |(row, column)| {
        let class = labels[row].as_bytes()[0] - b'a';
        let side = if column == 0 { class & 1 } else { class >> 1 };
        match column {
            0 | 1 => normal() + 2.0 * f64::from(side),
            _ => (10.0 * normal()).round(),
        }
    });
    (x, labels)
}

fn history_of(plan: &Plan) -> History {
    let (gate, mut history) = (Gate::default(), History::default());
    let (send, receive) = crossbeam_channel::unbounded();
    Engine::new(plan, &gate, send).run(&plan.tasks(), 1);
    receive.iter().for_each(|event| history.apply(&event));
    assert!(history.failed().is_empty());
    history
}

/// The whole procedure on the rows that were not set aside, and its model.
fn fitted(plan: &Plan) -> Model {
    let history = history_of(plan);
    let paths: Vec<&Trace> = history.of_method(Method::Crfe).map(|(_, trace)| trace).collect();
    let procedure = plan.info.procedure();
    let size = procedure.size(&paths).unwrap_or(2);
    let list = plan.info.list(&procedure.by_frequency(&paths, size), size);
    model_of(plan, &plan.splits.rest(&plan.data), plan.splits.reserve().unwrap(), &list, u64::MAX)
}

/// 200 samples of new rows, each with a model of its own table: coverage is as promised, within
/// binomial error.
#[test]
fn fit_and_predict_cover_as_promised() {
    const TABLES: usize = 200;
    const NEW: usize = 50;
    for (rows, mondrian) in [(150, false), (400, false), (150, true), (400, true)] {
        let mut rng = Rng::new(17, rows as u64, Purpose::Bootstrap);
        let mut covered = 0_usize;
        let mut variance = 0.0;
        let mut expected = 0.0;
        for seed in 0..TABLES {
            let (x, labels) = synthetic(rows, &mut rng);
            let mut options =
                RunOptions { methods: vec![Method::Crfe], mondrian, ..RunOptions::default() };
            (options.validate, options.permutations) = (None, Permutations::Count(0));
            (options.split.splits, options.split.seed, options.split.reserve) =
                (3, seed as u64, Some(0.2));
            let data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
            let plan = Plan::new(options.check().unwrap(), data).unwrap();
            let model = fitted(&plan);
            let (new, classes) = synthetic(NEW, &mut rng);
            let scorer = Scorer::new(&model, None).unwrap();
            let text: String =
                std::iter::once((1..=8).map(|i| format!("c{i}")).collect::<Vec<_>>().join(","))
                    .chain(new.rows().into_iter().map(|row| {
                        row.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
                    }))
                    .map(|line| line + "\n")
                    .collect();
            let desk = desk();
            let file = desk.path().join("new.csv");
            fs::write(&file, text).unwrap();
            let mut reader =
                NewRows::open(&file, &ReadOptions::default(), &scorer.wanted(None, false)).unwrap();
            let batch = reader.next(NEW).unwrap().unwrap();
            for (row, class) in scorer.score(&batch, 0).unwrap().iter().zip(&classes) {
                let y = model.classes.iter().position(|name| name == class).unwrap();
                covered += usize::from(row.set.contains(&y));
                let n = model.fitted.calibration.iter().sum::<usize>();
                let n = if mondrian { model.fitted.calibration[y] } else { n };
                // The exact coverage of one new row: 1 − ⌊ε(n+1)⌋/(n+1).
                let exact = 1.0 - (0.1 * (n + 1) as f64 + 1e-9).floor() / (n + 1) as f64;
                expected += exact / NEW as f64;
                variance +=
                    exact * (1.0 - exact) * (1.0 / NEW as f64 + 1.0 / (n + 2) as f64) / NEW as f64;
            }
        }
        let share = covered as f64 / (TABLES * NEW) as f64;
        let expected = expected / TABLES as f64;
        let error = variance.sqrt() / TABLES as f64;
        println!(
            "{rows} rows, Mondrian {mondrian}: coverage {share:.4}, expected {expected:.4} ± {error:.4}"
        );
        assert!(
            (share - expected).abs() < 3.5 * error,
            "{rows} {mondrian}: {share} {expected} {error}"
        );
        assert!(share > 0.9 - 3.5 * error);
    }
}

/// What is set aside reaches neither the list nor the machines, whatever its values and labels are.
#[test]
fn rows_set_aside_reach_neither_list_nor_machines() {
    let mut rng = Rng::new(23, 0, Purpose::Bootstrap);
    let (mut x, labels) = synthetic(160, &mut rng);
    x[[5, 3]] = f64::NAN;
    let plan = |x: &Array2<f64>| {
        let mut options = RunOptions { methods: vec![Method::Crfe], ..RunOptions::default() };
        (options.validate, options.permutations) = (None, Permutations::Count(0));
        (options.split.splits, options.split.reserve) = (5, Some(0.2));
        Plan::new(options.check().unwrap(), Dataset::from_arrays(x.view(), &labels, None).unwrap())
            .unwrap()
    };
    let before = plan(&x);
    let reserve = before.splits.reserve().unwrap().to_vec();
    let first = fitted(&before);
    for &row in &reserve {
        x.row_mut(row).iter_mut().for_each(|value| *value = 50.0 * rng.uniform());
    }
    let mut after = plan(&x);
    assert_eq!(after.splits.reserve().unwrap(), reserve);
    for &row in &reserve {
        let labels = &mut std::sync::Arc::make_mut(&mut after.data).y;
        labels[row] = (labels[row] + 1) % 4;
    }
    let second = fitted(&after);
    assert_eq!(first.features, second.features);
    assert_eq!((&first.weights, &first.bias), (&second.weights, &second.bias), "to the bit");
    assert_eq!((&first.preparation, &first.columns), (&second.preparation, &second.columns));
    assert_ne!(
        first.conformal.calibration, second.conformal.calibration,
        "the rows were really changed"
    );
}

#[test]
fn a_model_round_trips_byte_for_byte() {
    for (data, options) in [
        ("data/heart.csv", "--splits 2 --method crfe --validate 2"),
        ("data/heart.csv", "--splits 2 --method crfe --impute none --drop thal,major --scale none"),
        ("data/dermatology.csv", "--splits 2 --method crfe --mondrian --impute median --stop 4"),
        ("data/heart.csv", "--splits 2 --method crfe --estimator rbf:0.3 --stop 5 --validate 2"),
    ] {
        let options = options.replace("thal,major", "thal --drop 12");
        let desk = desk();
        let file = fit(&desk, data, &options);
        let bytes = fs::read(&file).unwrap();
        let model = Model::from_bytes(&bytes).unwrap();
        assert!(model.to_bytes().unwrap() == bytes, "{options}");
        assert_eq!(model.kind, "crfe-tui model");
        assert_eq!(model.validation.is_some(), options.contains("--validate"));
        // The same command gives the same bytes.
        fs::remove_file(&file).unwrap();
        fit(&desk, data, &options);
        assert!(fs::read(&file).unwrap() == bytes);
    }
}

#[test]
fn a_run_that_set_rows_aside_gives_the_model_of_fit() {
    let desk = desk();
    let out = desk.path().join("RUN");
    for estimator in ["linear", "rbf"] {
        let out = out.join(estimator);
        let options = format!("--splits 3 --method crfe --seed 4 --stop 6 --estimator {estimator}");
        run_into(&out, "data/heart.csv", &format!("{options} --reserve 0.2"));
        let direct = fs::read(fit(&desk, "data/heart.csv", &options)).unwrap();
        let of_run = fs::read(fit(&desk, out.to_str().unwrap(), "")).unwrap();
        assert!(direct == of_run, "{estimator}");
    }

    let other = desk.path().join("OTHER");
    run_into(&other, "data/heart.csv", "--splits 2 --method crfe");
    let ran = call(&["fit"], &[&other], "--model no.json");
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("the run set no rows aside"), "{}", ran.stderr);
}

#[test]
fn a_given_list_is_fitted_and_tested_in_folds() {
    let desk = desk();
    let list = desk.path().join("list.txt");
    fs::write(&list, "max HR\nchest pain\n\ngender\n").unwrap();
    let options = format!("--features {} --validate 3", list.display());
    let file = fit(&desk, "data/heart.csv", &options);
    let model = Model::load(&file).unwrap();
    assert_eq!(model.features, ["max HR", "chest pain", "gender"]);
    assert_eq!(model.validation.as_ref().unwrap().rows, 303);
    assert!(model.cautions.iter().any(|caution| caution.contains("the list was given")));
    fs::write(&list, "max HR\nheight\n").unwrap();
    let ran = call(&["fit", "data/heart.csv", "--model"], &[&file], &options);
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("line 2: there is no feature 'height'"), "{}", ran.stderr);
}

/// A list that is given makes the model that a run with this list makes: from the same rows, the
/// same predictions, whatever the order of the names.
#[test]
fn a_given_list_predicts_as_the_run_that_chose_it() {
    for estimator in ["linear", "rcs:4", "rbf"] {
        let desk = desk();
        let out = desk.path().join("RUN");
        let list = desk.path().join("list.txt");
        let options =
            format!("--splits 2 --method crfe --reserve 0.2 --stop 4 --estimator {estimator}");
        let quick = "--validate none --permutations none";
        run_into(&out, "data/heart.csv", &format!("{options} {quick}"));
        let predictions =
            |model: &Path| call(&["predict"], &[model, Path::new("data/heart.csv")], "").stdout;
        let chosen = fit(&desk, out.to_str().unwrap(), "");
        let by_run = predictions(&chosen);
        let of_run = Model::load(&chosen).unwrap();
        let names: Vec<&str> = of_run.features.iter().rev().map(String::as_str).collect();
        fs::write(&list, names.join("\n")).unwrap();
        let options = format!("--features {} --estimator {estimator} {quick}", list.display());
        let given = fit(&desk, "data/heart.csv", &options);
        let model = Model::load(&given).unwrap();
        assert_eq!(model.features, names, "{estimator}: the list as it was given");
        assert_eq!(model.selection.rule, "given");
        let by_list = predictions(&given);
        assert_eq!(by_run.lines().count(), 304);
        let (by_run, by_list) = (table(&by_run), table(&by_list));
        assert_eq!(by_run.keys().collect::<Vec<_>>(), by_list.keys().collect::<Vec<_>>());
        for (column, cells) in &by_run {
            let number = |cell: &String| cell.parse::<f64>().unwrap_or(f64::NAN);
            for (a, b) in cells.iter().zip(&by_list[column]) {
                let close = (number(a) - number(b)).abs() < 1e-6;
                assert!(a == b || close, "{estimator}, {column}: {a} and {b}");
            }
        }
    }
}

/// The lists that a run writes, and those of one's own, name the features as they are: with line
/// breaks and quotes, too.
#[test]
fn a_list_that_was_written_is_read_again() {
    let desk = desk();
    let text = fs::read_to_string("data/heart.csv").unwrap();
    let text = text.replace("max HR", "\"max\nHR\"").replacen("thal,", "\"the \"\"thal\"\"\",", 1);
    let data = desk.path().join("data.csv");
    fs::write(&data, text).unwrap();
    let out = desk.path().join("RUN");
    run_into(&out, data.to_str().unwrap(), "--splits 2 --method crfe --stop 8");
    let list = out.join("selected.txt");
    let file = fit(&desk, data.to_str().unwrap(), &format!("--features {}", list.display()));
    let model = Model::load(&file).unwrap();
    assert_eq!(model.features.len(), 8);
    assert!(model.features.iter().any(|name| name == "max\nHR"), "{:?}", model.features);
    let ran = call(&["predict"], &[&file, &data], "");
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 304), "{}", ran.stderr);
    // Typed by hand, with blanks and an empty line.
    fs::write(&list, "\u{feff} age \r\n\n\"max\nHR\"\nthe \"thal\"\n").unwrap();
    let file = fit(&desk, data.to_str().unwrap(), &format!("--features {}", list.display()));
    assert_eq!(Model::load(&file).unwrap().features, ["age", "max\nHR", "the \"thal\""]);
}

/// Two files become a model, and a new patient keeps its name, however the file lies.
#[test]
fn a_matrix_and_its_phenotypes_become_a_model_for_a_new_patient() {
    let desk = desk();
    let path = |name: &str| desk.path().join(name);
    let mut rng = Rng::new(5, 0, Purpose::Bootstrap);
    let mut value = |case: bool| rng.uniform() + if case { 1.0 } else { 0.0 };
    let samples: Vec<String> = (0..60).map(|i| format!("S{i}")).collect();
    let mut matrix = samples.join("\t") + "\n";
    for gene in 0..6 {
        let cells: Vec<String> =
            (0..60).map(|i| value(gene < 2 && i % 2 == 0).to_string()).collect();
        matrix += &format!("G{gene}\t{}\n", cells.join("\t"));
    }
    fs::write(path("matrix.tsv"), matrix).unwrap();
    let class = |i: usize| if i.is_multiple_of(2) { "case" } else { "control" };
    let rows: String = (0..60).rev().map(|i| format!("S{i},{}\n", class(i))).collect();
    fs::write(path("pheno.csv"), format!("sample,disease\n{rows}")).unwrap();
    let options =
        format!("--pheno {} --target disease --splits 3 --stop 2", path("pheno.csv").display());
    let file = fit(&desk, path("matrix.tsv").to_str().unwrap(), &options);
    assert_eq!(Model::load(&file).unwrap().id_column.as_deref(), Some("sample"));
    fs::write(path("row.csv"), "sample,G0,G1,G2,G3,G4,G5\nN1,1.9,1.8,0,0,0,0\n").unwrap();
    fs::write(path("columns.tsv"), "gene\tN1\tN2\nG0\t1.9\t0.1\nG1\t1.8\t0.2\nG2\t0\t0\n").unwrap();
    let ids = |ran: &Ran| table(&ran.stdout)["id"].clone();
    let ran = call(&["predict"], &[&file, &path("row.csv")], "");
    assert_eq!((ran.code, ids(&ran)), (0, vec!["N1".to_owned()]), "{}", ran.stderr);
    let ran = call(&["predict"], &[&file, &path("columns.tsv")], "");
    assert!(
        ran.code == 3 && ran.stderr.contains("or add --transpose if lines are features"),
        "{}",
        ran.stderr
    );
    let ran = call(&["predict"], &[&file, &path("columns.tsv")], "--transpose");
    assert_eq!(
        (ran.code, ids(&ran)),
        (0, vec!["N1".to_owned(), "N2".to_owned()]),
        "{}",
        ran.stderr
    );
    assert_eq!(table(&ran.stdout)["predicted"], ["case", "control"]);
}

/// A mistake costs no time, no file and no output.
#[test]
fn mistakes_are_refused_before_anything_is_computed_or_written() {
    let desk = desk();
    let file = fit(&desk, "data/heart.csv", "--splits 2 --method crfe --stop 5");
    let good = fs::read(&file).unwrap();
    let new = desk.path().join("new.csv");
    fs::write(&new, fs::read("data/heart.csv").unwrap()).unwrap();
    // Predictions replace neither the model nor the new rows.
    let over = |path: &Path| format!("--out {}", path.display());
    for own in [&file, &new] {
        let ran = call(&["predict"], &[&file, &new], &over(own));
        assert!(ran.code == 5 && ran.stderr.contains("this file is read"), "{}", ran.stderr);
    }
    assert!(fs::read(&file).unwrap() == good);
    // A file that is refused leaves no header on standard output.
    let ran = call(&["predict"], &[&file, Path::new("data/dermatology.csv")], "");
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    // A model that cannot be written is refused before the run.
    let nowhere = desk.path().join("none/M.json");
    let ran = call(&["fit", "data/heart.csv", "--model"], &[&nowhere], "--splits 2");
    assert_eq!(ran.code, 6, "{}", ran.stderr);
    assert!(ran.stderr.contains("the directory of the model does not exist"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("paths"), "nothing was computed: {}", ran.stderr);
    let ran = call(&["fit", "data/heart.csv", "--model"], &[&new], "--splits 2");
    assert!(ran.code == 6 && !ran.stderr.contains("paths"), "{}", ran.stderr);
    let ran = call(&["fit", "data/heart.csv", "--model"], &[desk.path()], "--splits 2");
    assert!(ran.code == 2 && ran.stderr.contains("--model must name a file"), "{}", ran.stderr);
    // Options of a run do not change a recorded one, and are not ignored.
    let run = desk.path().join("RUN");
    run_into(&run, "data/heart.csv", "--splits 2 --method crfe --stop 4 --reserve 0.2");
    for option in ["--seed 7", "--stop 3", "--epsilon 0.2", "--paper"] {
        let ran = call(&["fit"], &[&run], &format!("--model {} {option}", file.display()));
        assert_eq!(ran.code, 2, "{option}: {}", ran.stderr);
        assert!(ran.stderr.contains("cannot change a recorded run"), "{option}: {}", ran.stderr);
    }
    let ran = call(&["fit", "data/heart.csv", "--model"], &[&file], "--splits 2 --stop 99");
    assert!(ran.code == 2 && ran.stderr.contains("--stop 99 is not a size"), "{}", ran.stderr);
}

/// Prints what it wants to say and exits with 3.
fn refused(ran: &Ran, sentence: &str) {
    assert_eq!(ran.code, 3, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains(sentence), "'{sentence}' is not in: {}", ran.stderr);
    assert_eq!(ran.stderr.trim_end().lines().count(), 1, "one sentence: {}", ran.stderr);
    assert_eq!(ran.stdout, "", "nothing is written before the first row was read");
    assert!(!ran.stderr.trim_end().contains(|c: char| c.is_control()), "{:?}", ran.stderr);
}

#[test]
fn hostile_models_are_refused_in_a_sentence() {
    let desk = desk();
    let file = fit(&desk, "data/heart.csv", "--splits 2 --method crfe --stop 3");
    let good = fs::read_to_string(&file).unwrap();
    let bad = desk.path().join("bad.json");
    let predict = || call(&["predict"], &[&bad, Path::new("data/heart.csv")], "");
    let value: serde_json::Value = serde_json::from_str(&good).unwrap();
    let with = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = value.clone();
        change(&mut value);
        fs::write(&bad, value.to_string()).unwrap();
        predict()
    };
    fs::write(&bad, &good[..good.len() / 2]).unwrap();
    refused(&predict(), "the model is cut off");
    fs::write(&bad, "").unwrap();
    refused(&predict(), "the model is cut off");
    fs::write(&bad, "id,age\n1,2\n").unwrap();
    refused(&predict(), "this is not a model of crfe-tui");
    fs::write(&bad, "[".repeat(100_000)).unwrap();
    refused(&predict(), "not a model");
    fs::write(&bad, good.replace("\"bias\": [", "\"bias\": [NaN,")).unwrap();
    refused(&predict(), "the model is damaged");
    fs::write(&bad, good.replace("\"bias\": [", "\"bias\": [1e999,")).unwrap();
    refused(&predict(), "the model is damaged");
    refused(
        &with(&|model| model["format"] = 1.into()),
        "the model has format 1, and this program reads 2; fit it again",
    );
    refused(&with(&|model| model["kind"] = "other".into()), "this is not a model of crfe-tui");
    refused(&with(&|model| model["estimator"] = "forest".into()), "the model is damaged");
    refused(
        &with(&|model| drop(model["weights"][0].as_array_mut().unwrap().pop())),
        "its weights are not those of",
    );
    refused(
        &with(&|model| drop(model["bias"].as_array_mut().unwrap().pop())),
        "its biases are not those of 2 classes",
    );
    refused(
        &with(&|model| model["weights"][0][0] = serde_json::Value::Null),
        "the model is damaged",
    );
    refused(
        &with(&|model| model["classes"][0] = "a\u{1b}[31mb".into()),
        "holds a control character",
    );
    refused(
        &with(&|model| model["variables"][0]["name"] = "x\u{7}".into()),
        "holds a control character",
    );
    refused(
        &with(&|model| model["classes"][0] = model["classes"][1].clone()),
        "two classes or more",
    );
    refused(
        &with(&|model| model["columns"][0]["variable"] = 99.into()),
        "a column does not belong",
    );
    refused(&with(&|model| model["columns"][0]["place"] = 9.into()), "a column does not belong");
    refused(&with(&|model| model["columns"][0]["feature"] = 9.into()), "a column does not belong");
    refused(
        &with(&|model| model["estimator"] = "rbf".into()),
        "its machines do not fit its estimator",
    );
    refused(&with(&|model| model["columns"] = serde_json::json!([])), "it has no features");
    refused(&with(&|model| model["conformal"]["epsilon"] = 1.5.into()), "out of range");
    refused(&with(&|model| model["conformal"]["lambda"] = (-1).into()), "out of range");
    refused(
        &with(&|model| model["conformal"]["calibration"] = serde_json::json!([])),
        "calibration scores",
    );
    refused(
        &with(&|model| model["conformal"]["calibration"][0]["alpha"][0] = 1e100.into()),
        "not sorted",
    );
    refused(
        &with(&|model| model["preparation"]["scaling"] = serde_json::json!(["zero"])),
        "columns are scaled",
    );
    refused(
        &with(&|model| {
            model["preparation"]["scaling"][0] =
                serde_json::json!({"affine": {"centre": 0.0, "spread": 0.0}})
        }),
        "a column is scaled by what is not a number",
    );
    refused(
        &with(&|model| {
            drop(
                model["preparation"]["filling"]["nearest"]["donors"][0]
                    .as_array_mut()
                    .unwrap()
                    .pop(),
            )
        }),
        "the donors are not a table",
    );
    refused(&with(&|model| model["extra"] = 1.into()), "unknown field");
    refused(
        &with(&|model| model["validation"] = serde_json::json!([0, 0])),
        "the model is damaged: invalid type",
    );
    refused(
        &with(&|model| model["cautions"] = serde_json::json!(["x".repeat(1 << 17)])),
        "its cautions have more than 65536 bytes",
    );
    refused(
        &with(&|model| model["fitted"]["row_hashes"] = "ab".into()),
        "its hashes are not those of its rows",
    );
    let zeros = format!("\"bias\": [{}", "0,".repeat(1 << 25));
    fs::write(&bad, good.replace("\"bias\": [", &zeros)).unwrap();
    refused(&predict(), "it holds more than 33554432 values");
    fs::File::create(&bad).unwrap().set_len(1 << 30).unwrap();
    refused(&predict(), "the file is too large to be a model");
    refused(
        &call(&["predict"], &[desk.path(), Path::new("data/heart.csv")], ""),
        "the model cannot be read",
    );
    refused(
        &call(&["predict", "none.json", "data/heart.csv"], &[], ""),
        "none.json: the model cannot be read",
    );
    // Wherever it is cut or changed, it is a model or a sentence.
    let bytes = good.as_bytes();
    for i in 0..400 {
        let mut changed = bytes.to_vec();
        let at = i * bytes.len() / 400;
        changed[at] = b"0]x\"}-"[i % 6];
        let outcome = Model::from_bytes(&changed).map(|model| Scorer::new(&model, None).map(drop));
        drop(outcome);
        assert!(Model::from_bytes(&bytes[..at]).is_err());
    }
}

#[test]
fn hostile_kernel_machines_are_refused_in_a_sentence() {
    let desk = desk();
    let file = fit(&desk, "data/heart.csv", "--splits 2 --method crfe --stop 3 --estimator rbf");
    let value: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let bad = desk.path().join("bad.json");
    let with = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = value.clone();
        change(&mut value);
        fs::write(&bad, value.to_string()).unwrap();
        call(&["predict"], &[&bad, Path::new("data/heart.csv")], "")
    };
    refused(
        &with(&|model| model["kernel"]["support"] = serde_json::json!([])),
        "its supporting rows are not",
    );
    refused(
        &with(&|model| drop(model["kernel"]["support"][3].as_array_mut().unwrap().pop())),
        "its supporting rows are not those of",
    );
    refused(
        &with(&|model| drop(model["kernel"]["coefficients"][1].as_array_mut().unwrap().pop())),
        "its coefficients are not those of 2 classes",
    );
    refused(&with(&|model| model["kernel"]["gamma"] = 0.into()), "γ = 0 is out of range");
    refused(
        &with(&|model| model["kernel"]["support"][0][0] = serde_json::Value::Null),
        "the model is damaged",
    );
    refused(
        &with(&|model| model["estimator"] = "linear".into()),
        "its machines do not fit its estimator",
    );
    refused(
        &with(&|model| model["weights"] = serde_json::json!([[1.0]])),
        "its machines do not fit",
    );
    refused(
        &with(&|model| drop(model.as_object_mut().unwrap().remove("kernel"))),
        "its machines do not fit",
    );
}

/// What the features add to a score, with the score without features, is the score.
#[test]
fn the_shares_of_the_features_add_up_to_the_score() {
    for (data, options) in [
        ("data/heart.csv", "--stop 6"),
        ("data/heart.csv", "--stop 5 --score published --estimator rcs:3"),
        ("data/dermatology.csv", "--stop 8 --lambda 0.3"),
        ("data/synthetic.csv", "--stop 4 --estimator rcs:4"),
        ("data/heart.csv", "--stop 13 --estimator rbf"),
        ("data/synthetic.csv", "--stop 5 --estimator rbf:0.4 --score published"),
    ] {
        let desk = desk();
        let model =
            Model::load(&fit(&desk, data, &format!("--splits 2 --method crfe {options}"))).unwrap();
        let scorer = Scorer::new(&model, None).unwrap();
        let source = RowSource {
            path: data.into(),
            options: ReadOptions::default(),
            id: None,
            may_be_absent: false,
        };
        let mut rows = 0;
        let each = |batch: RowBatch, scored: Vec<ScoredRow>| {
            for (i, row) in scored.iter().enumerate().step_by(7) {
                let shares = scorer.shares(&batch, i);
                assert_eq!(shares.features.len(), model.features.len());
                for (y, &alpha) in row.alpha.iter().enumerate() {
                    let sum =
                        shares.rest[y] + shares.features.iter().map(|share| share[y]).sum::<f64>();
                    let alpha = alpha / f64::powi(2.0, 32);
                    assert!(
                        (sum - alpha).abs() < 1e-9,
                        "{options}, row {i}, label {y}: {sum} and {alpha}"
                    );
                }
                rows += 1;
            }
            Ok(())
        };
        scorer.each_batch(&source, each).unwrap();
        assert!(rows > 20, "{rows}");
    }
}

/// Both ends of a valley are sick. The share of a feature in a kernel machine compares a row with
/// no features at all; its effect compares it with the rows of the model, and so speaks for what is
/// predicted.
#[test]
fn the_effect_of_an_extreme_patient_speaks_for_the_prediction() {
    let desk = desk();
    let mut table = String::from("bmi,class\n");
    for i in 0..240 {
        // Even quantiles of something like a normal distribution, in a scattered order.
        let u = f64::from((i * 77) % 240) / 240.0 + 1.0 / 480.0;
        let bmi = 27.0 + 2.2 * (u / (1.0 - u)).ln();
        let class = if (bmi - 27.0).abs() + f64::from(i % 5) / 5.0 > 3.2 { "sick" } else { "well" };
        table += &format!("{bmi:.3},{class}\n");
    }
    let data = desk.path().join("u.csv");
    fs::write(&data, table).unwrap();
    let options = "--splits 2 --method crfe --estimator rbf --stop 1";
    let model = Model::load(&fit(&desk, &data.to_string_lossy(), options)).unwrap();
    let scorer = Scorer::new(&model, None).unwrap();
    let new = desk.path().join("new.csv");
    fs::write(&new, "bmi\n17\n27\n37\n").unwrap();
    let source =
        RowSource { path: new, options: ReadOptions::default(), id: None, may_be_absent: false };
    let mut told = Vec::new();
    let each = |batch: RowBatch, rows: Vec<ScoredRow>| {
        for (i, row) in rows.iter().enumerate() {
            let shares = scorer.shares(&batch, i);
            told.push((model.classes[row.predicted].clone(), -shares.features[0][row.predicted]));
        }
        Ok(())
    };
    scorer.each_batch(&source, each).unwrap();
    let classes: Vec<&str> = told.iter().map(|(class, _)| class.as_str()).collect();
    assert_eq!(classes, ["sick", "well", "sick"]);
    assert!(told.iter().all(|&(_, effect)| effect > 0.1), "{told:?}");
}

/// The first row of a table, without the values of the first columns that a model uses.
fn without(table: &str, model: &Path, most: usize) -> String {
    let model = Model::load(model).unwrap();
    let gone: Vec<&str> =
        model.variables.iter().take(most).map(|variable| variable.name.as_str()).collect();
    let mut lines = table.lines().map(|line| line.split(','));
    let names = lines.next().unwrap();
    let cells = names.zip(lines.next().unwrap());
    cells
        .map(|(name, cell)| if gone.contains(&name) { "" } else { cell })
        .collect::<Vec<_>>()
        .join(",")
}

/// Where nothing was measured, nothing is known: the set holds every class, and the row is counted
/// apart.
#[test]
fn a_row_without_any_value_gets_every_class() {
    let desk = desk();
    let file = fit(&desk, "data/heart.csv", "--splits 2 --method crfe --stop 3");
    let heart = fs::read_to_string("data/heart.csv").unwrap();
    let new = desk.path().join("new.csv");
    let (header, _) = heart.split_once('\n').unwrap();
    let rows = [without(&heart, &file, usize::MAX), without(&heart, &file, 1)].join("\n");
    fs::write(&new, format!("{header}\n{rows}\n")).unwrap();
    let ran = call(&["predict"], &[&file, &new], "");
    let (told, out) = (&ran.stderr, &ran.stdout);
    assert!(
        told.contains(
            "1 row with no value of any column that the model uses: every class is in the set"
        ),
        "{told}"
    );
    let lines: Vec<Vec<&str>> = out.lines().map(|line| line.split(',').collect()).collect();
    let cell =
        |row: usize, name: &str| lines[row][lines[0].iter().position(|own| *own == name).unwrap()];
    assert_eq!(cell(1, "set").split(';').count(), 2, "{out}");
    assert_eq!((cell(1, "confidence"), cell(1, "credibility")), ("0", "1"));
    assert!(cell(1, "flags").ends_with("filled:3;missing;unmeasured"), "{out}");
    assert!(!cell(2, "flags").contains("unmeasured"), "{out}");
    let ran = call(&["validate"], &[&file, &new], "");
    assert!(ran.stdout.contains("1 row of 2 with no value of any column"), "{}", ran.stdout);
}

/// In a sum over features, a cell changes the share of its own feature and of no other.
#[test]
fn a_cell_changes_the_share_of_its_own_feature() {
    let desk = desk();
    let file = fit(&desk, "data/heart.csv", "--splits 2 --method crfe --stop 13 --estimator rcs:3");
    let model = Model::load(&file).unwrap();
    let scorer = Scorer::new(&model, None).unwrap();
    let text = fs::read_to_string("data/heart.csv").unwrap();
    let mut lines = text.lines();
    let (header, row) = (lines.next().unwrap(), lines.next().unwrap());
    let place = header.split(',').position(|name| name == "cholesterol").unwrap();
    let mut cells: Vec<&str> = row.split(',').collect();
    cells[place] = "401";
    let new = desk.path().join("new.csv");
    fs::write(&new, format!("{header}\n{row}\n{}\n", cells.join(","))).unwrap();
    let source =
        RowSource { path: new, options: ReadOptions::default(), id: None, may_be_absent: false };
    let each = |batch: RowBatch, _: Vec<ScoredRow>| {
        let (before, after) = (scorer.shares(&batch, 0), scorer.shares(&batch, 1));
        for (name, (before, after)) in
            model.features.iter().zip(before.features.iter().zip(&after.features))
        {
            assert_eq!(before != after, name == "cholesterol", "{name}");
        }
        Ok(())
    };
    scorer.each_batch(&source, each).unwrap();
}

#[test]
fn hostile_rows_are_refused_in_a_sentence() {
    let desk = desk();
    let list = desk.path().join("list.txt");
    fs::write(&list, "max HR\nchest pain\n").unwrap();
    let file = fit(&desk, "data/heart.csv", &format!("--features {}", list.display()));
    let new = desk.path().join("new.csv");
    let predict = |bytes: &[u8], options: &str| {
        fs::write(&new, bytes).unwrap();
        call(&["predict"], &[&file, &new], options)
    };
    refused(&predict(b"", ""), "the file is empty");
    refused(&predict(b"max HR,chest pain\n", ""), "the file has a header but no rows");
    refused(
        &predict(b"max HR,pain\n1,2\n", ""),
        "1 column of the model is not in the file: chest pain",
    );
    refused(&predict(b"max HR,chest pain\n1\n", ""), "line 2: the line has 1 field");
    refused(
        &predict(b"max HR,chest pain\nfast,typical ang\n", ""),
        "line 2, column 'max HR': 'fast' is not a number",
    );
    refused(&predict(b"max HR,chest pain\ninf,typical ang\n", ""), "is not a number");
    refused(&predict(b"max HR,chest pain,max HR\n1,a,2\n", ""), "are both called 'max HR'");
    refused(&predict(b"max HR,chest pain\n\"1,a\n", ""), "a quote is opened but never closed");
    refused(&predict(b"\x7fELF\x02\x01\x01\0\0\0\0", ""), "");
    refused(&predict(b"max HR,chest pain\n1,\xff\xfe\xfd\n2,\xc3\xa9\n3,\x1b[31m,\n", ""), "");
    refused(&predict(b"max HR,chest pain\nfast,typical ang\n", "--json"), "'fast' is not a number");
    refused(
        &predict(b"max HR,chest pain\n150,typical ang\nfast,typical ang\n", ""),
        "line 3, column 'max HR': 'fast' is not a number",
    );
    fs::write(&new, "max HR,chest pain\n150,typical ang\n").unwrap();
    refused(
        &call(&["validate"], &[&file, &new], ""),
        ": the file has no column 'class', the class column of the model; give the class column this name",
    );
    fs::write(&new, "max HR,chest pain,class\n150,typical ang,ill\n").unwrap();
    refused(
        &call(&["validate"], &[&file, &new], ""),
        "column 'class': no row has a class that the model knows",
    );
    // What is only odd is predicted and flagged.
    let ran = predict(b"max HR,chest pain\n900,new\x1b[31m\n,typical ang\n150,typical ang\n", "");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let flags = &table(&ran.stdout)["flags"];
    assert_eq!(
        flags[..],
        ["unseen:chest pain;range:max HR;filled:1;missing", "filled:1;missing", ""]
    );
    assert!(
        ran.stderr
            .contains("categories that the model never saw, taken as missing: chest pain in 1")
    );
    let ran = predict(b"max HR\n150\n", "--impute-missing");
    assert_eq!((ran.code, table(&ran.stdout)["flags"][0].as_str()), (0, "filled:1;missing"));
    let ran = predict(b"max HR,chest pain\n1,a\n", "--epsilon 0");
    assert_eq!(ran.code, 2);
    // An error leaves no file behind.
    let out = desk.path().join("out.csv");
    let ran =
        predict(b"max HR,chest pain\n150,typical ang\nx,a\n", &format!("--out {}", out.display()));
    assert_eq!(ran.code, 3);
    assert!(!out.exists());
    let left = fs::read_dir(desk.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".part"));
    assert_eq!(left.count(), 0);
}

/// However the file is written, the predictions are the same.
#[test]
fn new_rows_are_read_as_a_run_reads_them() {
    let desk = desk();
    let list = desk.path().join("list.txt");
    fs::write(&list, "max HR\nchest pain\nST by exercise\n").unwrap();
    let file = fit(&desk, "data/heart.csv", &format!("--features {}", list.display()));
    let text = "chest pain,max HR,ST by exercise\ntypical ang,150,1.5\nnon-anginal,120,0.2\n";
    let usual = {
        let new = desk.path().join("new.csv");
        fs::write(&new, text).unwrap();
        call(&["predict"], &[&file, &new], "--quiet").stdout
    };
    assert_eq!(usual.lines().count(), 3);
    let utf16: Vec<u8> =
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gz, text.as_bytes()).unwrap();
    let european =
        "max HR;chest pain;ST by exercise\r\n150;typical ang;1,5\r\n120;non-anginal;0,2\r\n";
    for bytes in [
        utf16,
        gz.finish().unwrap(),
        european.as_bytes().to_vec(),
        text.replace('\n', "\r\n").into_bytes(),
    ] {
        let new = desk.path().join("other.csv");
        fs::write(&new, &bytes).unwrap();
        assert_eq!(call(&["predict"], &[&file, &new], "--quiet").stdout, usual);
        // The same from standard input, and as JSON.
        let mut child = program()
            .args(["predict", "--quiet"])
            .arg(&file)
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &bytes).unwrap();
        assert_eq!(String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap(), usual);
    }
    let new = desk.path().join("new.csv");
    let json: serde_json::Value =
        serde_json::from_str(&call(&["predict"], &[&file, &new], "--quiet --json").stdout).unwrap();
    assert_eq!(json["summary"]["rows"], 2);
    assert_eq!(json["rows"][0]["p"]["healthy"].to_string(), table(&usual)["p_healthy"][0]);
    // Another ε changes the sets and nothing else.
    let strict = table(&call(&["predict"], &[&file, &new], "--quiet --epsilon 0.999").stdout);
    assert_eq!(strict["p_healthy"], table(&usual)["p_healthy"]);
    assert!(strict["set"].iter().all(String::is_empty));
}

#[test]
fn validate_and_predict_measure_alike() {
    let desk = desk();
    let file = fit(&desk, "data/dermatology.csv", "--splits 2 --method crfe --stop 12 --mondrian");
    let ran = call(&["validate"], &[&file, Path::new("data/dermatology.csv")], "--json");
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let measured: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let ran = call(&["predict"], &[&file, Path::new("data/dermatology.csv")], "--json --quiet");
    let predicted: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let mut without_seen = measured.clone();
    let seen = without_seen.as_object_mut().unwrap().remove("seen").unwrap();
    assert_eq!(predicted["summary"]["measured"], without_seen);
    assert_eq!(
        (&seen["rows"], &seen["seen"], &seen["is_test"]),
        (&358.into(), &358.into(), &false.into())
    );
    assert_eq!(measured["performance"]["rows"], 358);
    assert!(measured["class_bands"].as_array().unwrap().iter().all(serde_json::Value::is_array));
    // Rows that were shifted look unlike the calibration rows.
    let text = fs::read_to_string("data/dermatology.csv").unwrap();
    let shuffled: String = text
        .lines()
        .enumerate()
        .map(|(line, text)| {
            let mut cells: Vec<&str> = text.split(',').collect();
            if line > 0 {
                let last = cells.len() - 1;
                cells[..last].rotate_left(5);
            }
            cells.join(",") + "\n"
        })
        .collect();
    let new = desk.path().join("new.csv");
    fs::write(&new, shuffled).unwrap();
    let ran = call(&["validate"], &[&file, &new], "");
    assert!(
        ran.stdout.contains("Caution: these rows look unlike the rows that calibrate the model"),
        "{}",
        ran.stdout
    );
    let ran = call(&["validate"], &[&file, Path::new("data/heart.csv")], "");
    assert_eq!(ran.code, 3);
}

/// Lines of a table with its columns in reverse order and one more column in front.
fn rearranged<'t>(lines: impl Iterator<Item = &'t str>) -> String {
    let reverse = |line: &str| line.split(',').rev().collect::<Vec<_>>().join(",");
    lines.enumerate().map(|(i, line)| format!("extra{i},{}\n", reverse(line))).collect()
}

#[test]
fn validate_says_whether_its_rows_made_the_model() {
    let desk = desk();
    let text = fs::read_to_string("data/heart.csv").unwrap();
    let mut lines = text.lines();
    let header = lines.next().unwrap();
    let rows: Vec<&str> = lines.collect();
    let (made_of, others) = rows.split_at(150);
    let table = desk.path().join("table.csv");
    fs::write(&table, format!("{header}\n{}\n", made_of.join("\n"))).unwrap();
    let file = fit(&desk, table.to_str().unwrap(), "--splits 2 --method crfe --stop 5");
    let new = desk.path().join("new.csv");
    let validate = |rows: &[&str], model: &Path, options: &str| {
        fs::write(&new, rearranged([header].iter().chain(rows).copied())).unwrap();
        let ran = call(&["validate"], &[model, &new], options);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        ran.stdout
    };
    let seen = |text: &str| {
        let value: serde_json::Value = serde_json::from_str(text).unwrap();
        let number = |name: &str| value["seen"][name].as_f64().unwrap();
        (number("seen"), number("by_chance"), value["seen"]["is_test"].as_bool().unwrap())
    };
    // The rows of the model in another order, and some others.
    let mixed: Vec<&str> = made_of.iter().rev().chain(&others[..20]).copied().collect();
    let said = validate(&mixed, &file, "");
    let first = said.lines().next().unwrap();
    assert!(first.contains(" of 170 rows of "), "{first}");
    assert!(first.contains("were used to make this model: this is not a test of it"), "{first}");
    let (count, _, is_test) = seen(&validate(&mixed, &file, "--json"));
    assert!((150.0..170.0).contains(&count) && !is_test, "{count}");
    // Other rows of the same population.
    let (count, by_chance, is_test) = seen(&validate(others, &file, "--json"));
    assert!(is_test && (count - by_chance).abs() < 30.0, "{count} and {by_chance}");
    let said = validate(others, &file, "");
    assert!(said.lines().next().unwrap().contains("are equal to rows that made this model"));
    // All rows coincide where there are two different ones.
    let coarse =
        fit(&desk, table.to_str().unwrap(), "--splits 2 --method crfe --stop 1 --drop age");
    let (count, by_chance, is_test) = seen(&validate(others, &coarse, "--json"));
    assert!(is_test && count > 75.0 && by_chance > 75.0, "{count} and {by_chance}");
}

/// Python with numpy, if there is one here.
fn python() -> Option<&'static str> {
    let works = |python: &&str| {
        Command::new(python)
            .args(["-c", "import numpy"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    ["python3", "/usr/bin/python3"].into_iter().find(works)
}

/// A table with three classes, categories, gaps and patients with several rows.
fn visits(path: &Path) {
    let mut rng = Rng::new(3, 0, Purpose::Bootstrap);
    let mut text = "patient,stage,crp,answer,height,class\n".to_owned();
    for row in 0..180 {
        let class = row / 3 % 3;
        let mut gap = |cell: String| if rng.uniform() < 0.1 { String::new() } else { cell };
        let stage = gap(["I", "II", "III", "IV"][(class + row % 2) % 4].to_owned());
        let answer = gap(["yes", "No", "YES", "no"][(class + row % 3) % 4].to_owned());
        let crp = gap(format!("{}", class * 3 + row % 5));
        let height = gap(format!("{}", 150 + row * 7 % 40));
        text +=
            &format!("p{},{stage},{crp},{answer},{height},{}\n", row / 3, ["a", "b", "c"][class]);
    }
    fs::write(path, text).unwrap();
}

/// examples/python/read_model.py knows the file from docs/formats.md alone.
#[test]
fn an_independent_program_gives_the_same_p_values() {
    let Some(program) = python() else {
        skipped::skipped("the model was not read by Python: there is none with numpy");
        return;
    };
    let desk = desk();
    let grouped = desk.path().join("visits.csv");
    visits(&grouped);
    let grouped = grouped.to_str().unwrap();
    for (data, options) in [
        ("data/heart.csv", "--stop 9"),
        ("data/heart.csv", "--stop 5 --mondrian --scale minmax --impute median"),
        ("data/dermatology.csv", "--stop 10 --score published"),
        ("data/synthetic.csv", "--stop 6 --estimator rcs:4"),
        ("data/heart.csv", "--stop 8 --estimator rcs:3 --mondrian"),
        ("data/heart.csv", "--stop 6 --estimator rbf"),
        ("data/synthetic.csv", "--stop 4 --estimator rbf:0.7 --score published"),
        (grouped, "--group-col patient --stop 4"),
        (grouped, "--group-col patient --stop 3 --mondrian"),
    ] {
        let file = fit(&desk, data, &format!("--splits 2 --method crfe {options}"));
        // With a row in which nothing was measured.
        let text = fs::read_to_string(data).unwrap();
        let new = desk.path().join("new.csv");
        fs::write(&new, format!("{}\n{}\n", text.trim_end(), without(&text, &file, usize::MAX)))
            .unwrap();
        let expected = table(&call(&["predict"], &[&file, &new], "--quiet").stdout);
        assert!(expected["flags"].last().unwrap().contains("unmeasured"), "{data} {options}");
        let ran = Command::new(program)
            .arg("examples/python/read_model.py")
            .args([&file, &new])
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success() && errors.is_empty(), "{options}: {errors}");
        let found = table(&String::from_utf8(ran.stdout).unwrap());
        let mut largest = 0.0_f64;
        for (column, cells) in expected.iter().filter(|(column, _)| column.starts_with("p_")) {
            assert_eq!(cells.len(), found[column].len());
            for (own, other) in cells.iter().zip(&found[column]) {
                let difference = own.parse::<f64>().unwrap() - other.parse::<f64>().unwrap();
                largest = largest.max(difference.abs());
            }
        }
        assert!(largest <= 1e-9, "{data} {options}: {largest:e}");
        assert_eq!(
            (&found["set"], &found["predicted"]),
            (&expected["set"], &expected["predicted"])
        );
    }
}

/// A large file of new rows takes no more memory than a small one.
#[test]
fn memory_does_not_grow_with_the_new_rows() {
    let desk = desk();
    let file = fit(&desk, "data/heart.csv", "--splits 2 --method crfe --stop 5");
    let text = fs::read_to_string("data/heart.csv").unwrap();
    let (header, rows) = text.split_once('\n').unwrap();
    let peak = |copies: usize| -> u64 {
        let mut child = program()
            .args(["predict", "--quiet"])
            .arg(&file)
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut input, format!("{header}\n").as_bytes()).unwrap();
        (0..copies).for_each(|_| std::io::Write::write_all(&mut input, rows.as_bytes()).unwrap());
        // All but what fills the pipe has been read.
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        drop(input);
        assert!(child.wait().unwrap().success());
        let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    };
    // 100,000 rows with a class are kept to be measured; from then on nothing grows.
    let (some, many) = (peak(400), peak(1600));
    println!("peak memory: {some} kB and {many} kB");
    assert!(many < some + 12_000, "{some} kB for 121,200 rows, {many} kB for four times as many");
}
