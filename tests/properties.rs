//! What must hold for any data, and for any way of running: identities of the method, and the same
//! bytes however they come.

mod program;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crfe::data::Unit;
use crfe::data::seed::{Purpose, Rng};
use crfe::select::{Elimination, Labelled, Method, Removal, Settings};
use crfe::svm::{Problem, SolverKind, class_weights, decisions, solver};
use ndarray::{Array2, Axis};
use proptest::prelude::*;

use program::{finish, program, run_into};

/// A relative distance below which the order of two features is a matter of rounding.
const NEAR_TIE: f64 = 1e-5;

/// Rows with a class each; some features lean towards some classes, the others are noise.
struct Table {
    /// Feature-major.
    x: Array2<f64>,
    y: Vec<usize>,
    classes: usize,
}

impl Table {
    fn draw(features: usize, rows: usize, classes: usize, seed: u64) -> Self {
        let mut rng = Rng::new(seed, 0, Purpose::Split);
        let y: Vec<usize> = (0..rows).map(|i| i % classes).collect();
        let x = Array2::from_shape_fn((features, rows), |(j, i)| {
            let noise: f64 = (0..6).map(|_| rng.uniform() - 0.5).sum();
            noise + if j % 3 == 0 && y[i] == (j / 3) % classes { 0.7 } else { 0.0 }
        });
        Self { x, y, classes }
    }

    fn labelled(&self) -> Labelled<'_> {
        (self.x.view(), &self.y)
    }

    fn with_columns(&self, columns: &[usize]) -> Self {
        Self { x: self.x.select(Axis(0), columns), y: self.y.clone(), classes: self.classes }
    }

    fn problem(&self) -> Problem<'_> {
        Problem::new(self.x.view(), &self.y, self.classes).unwrap()
    }
}

fn units(count: usize) -> Vec<Unit> {
    (0..count).map(|j| Unit::single(format!("x{j}"), j)).collect()
}

/// Visits every step of a path with its model.
fn walk(
    settings: Settings,
    train: &Table,
    selection: &Table,
    mut visit: impl FnMut(&Removal, &Elimination<'_>),
) {
    let units = units(train.x.nrows());
    let constant = vec![false; units.len()];
    let mut path =
        Elimination::new(settings, &units, train.labelled(), selection.labelled(), &constant)
            .unwrap();
    while let Some(step) = path.next().transpose().unwrap() {
        assert!(step.convergence.converged, "step {}", step.t);
        visit(&step, &path);
    }
}

/// The order of removal, up to the first near tie.
fn order(settings: Settings, train: &Table, selection: &Table) -> Vec<usize> {
    let mut order = Vec::new();
    let mut clear = true;
    walk(settings, train, selection, |step, _| {
        let scale = step.criterion.unwrap_or(1.0).abs();
        clear &= step.margin.is_none_or(|margin| margin > NEAR_TIE * scale);
        if clear {
            order.extend(&step.removed);
        }
    });
    order
}

fn methods() -> impl Strategy<Value = Method> {
    prop::sample::select(vec![Method::Crfe, Method::Rfe, Method::Smfs])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn permuting_columns_permutes_ranks(
        features in 2_usize..30,
        rows in 12_usize..25,
        classes in 2_usize..5,
        seed: u64,
        method in methods(),
    ) {
        let train = Table::draw(features, rows, classes, seed);
        let selection = Table::draw(features, rows, classes, !seed);
        let mut moved: Vec<usize> = (0..features).collect();
        Rng::new(seed, 1, Purpose::Split).shuffle(&mut moved);
        let settings = Settings::new(method, classes);
        let plain = order(settings, &train, &selection);
        let permuted = order(settings, &train.with_columns(&moved), &selection.with_columns(&moved));
        let back: Vec<usize> = permuted.into_iter().map(|j| moved[j]).collect();
        let common = plain.len().min(back.len());
        // A tie at the first step leaves nothing to compare: another table is drawn.
        prop_assume!(common > 0);
        prop_assert_eq!(&plain[..common], &back[..common]);
    }

    /// The paper's central identity: Σα without feature j, the model left as it is, is Σα − β_j.
    #[test]
    fn a_feature_takes_its_beta_along(
        features in 1_usize..12,
        rows in 8_usize..30,
        classes in 2_usize..5,
        seed: u64,
        lambda in 0.0..=1.0_f64,
    ) {
        let train = Table::draw(features, rows, classes, seed);
        let selection = Table::draw(features, rows, classes, !seed);
        let mut settings = Settings::new(Method::Crfe, classes);
        settings.measure.lambda = lambda;
        // α by its definition, docs/method.md section 3.
        let total = |path: &Elimination<'_>, x: &Array2<f64>| -> f64 {
            let f = decisions(path.model(), x.view());
            let of_row = |(i, &y): (usize, &usize)| -> f64 {
                let others: f64 = (0..classes).filter(|&r| r != y).map(|r| f[[i, r]]).sum();
                -lambda * f[[i, y]] + (1.0 - lambda) / (classes - 1) as f64 * others
            };
            selection.y.iter().enumerate().map(of_row).sum()
        };
        walk(settings, &train, &selection, |_, path| {
            let whole = total(path, &selection.x);
            for (&j, beta) in path.present().iter().zip(path.betas()) {
                let mut without = selection.x.clone();
                without.row_mut(j).fill(0.0);
                let change = whole - total(path, &without);
                assert!((change - beta).abs() < 1e-9 * (1.0 + whole.abs()), "{change} is not {beta}");
            }
        });
    }

    /// Both exact routes, warm along a path or cold: w = 2C Σ θ_i ξ_i x_i and b = 2C Σ θ_i ξ_i, ξ
    /// the hinge losses. The objective is strictly convex, so this is the solution and the only
    /// one.
    #[test]
    fn every_model_of_a_path_is_the_optimum(
        features in 2_usize..40,
        rows in 8_usize..30,
        classes in 2_usize..5,
        seed: u64,
    ) {
        let train = Table::draw(features, rows, classes, seed);
        let selection = Table::draw(features, rows, classes, !seed);
        walk(Settings::new(Method::Crfe, classes), &train, &selection, |step, path| {
            let model = path.model();
            let f = decisions(model, train.x.view());
            for class in 0..classes {
                let theta = |i: usize| if train.y[i] == class { 1.0 } else { -1.0 };
                let pull: Vec<f64> =
                    (0..rows).map(|i| 2.0 * theta(i) * (1.0 - theta(i) * f[[i, class]]).max(0.0)).collect();
                let scale = 1.0 + pull.iter().map(|pull| pull.abs()).sum::<f64>();
                let near = |ours: f64, optimum: f64| (ours - optimum).abs() < 1e-6 * scale;
                assert!(near(model.biases()[class], pull.iter().sum()), "b of step {}", step.t);
                for j in path.present() {
                    let optimum = train.x.row(j).iter().zip(&pull).map(|(x, pull)| x * pull).sum();
                    assert!(near(class_weights(model, class)[j], optimum), "w of step {}", step.t);
                }
            }
        });
    }
}

/// A path that begins with more features than rows goes on in Gram space; below the number of rows
/// a fresh fit is in the primal. Both must tell the same story.
#[test]
fn gram_and_primal_routes_agree() {
    for (seed, classes) in [(1, 2), (2, 3), (3, 4)] {
        let (features, rows) = (40, 24);
        let train = Table::draw(features, rows, classes, seed);
        let selection = Table::draw(features, rows, classes, seed + 100);
        let mut primal = 0;
        walk(Settings::new(Method::Crfe, classes), &train, &selection, |step, path| {
            let (model, present) = (path.model(), path.present());
            let part = train.with_columns(&present);
            let mut cold = solver(SolverKind::Newton, part.problem()).unwrap();
            assert!(cold.fit().converged);
            primal += usize::from(present.len() < rows);
            for class in 0..classes {
                let scale =
                    1.0 + class_weights(&*cold, class).iter().fold(0.0_f64, |a, w| a.max(w.abs()));
                assert!((cold.biases()[class] - model.biases()[class]).abs() < 1e-6 * scale);
                for (&j, w) in present.iter().zip(class_weights(&*cold, class)) {
                    assert!(
                        (w - class_weights(model, class)[j]).abs() < 1e-6 * scale,
                        "step {}",
                        step.t
                    );
                }
            }
            // The same feature goes when β comes from the fresh fit.
            let units = units(part.x.nrows());
            let chosen = selection.with_columns(&present);
            let constant = vec![false; units.len()];
            let settings = Settings::new(Method::Crfe, classes);
            let fresh =
                Elimination::new(settings, &units, part.labelled(), chosen.labelled(), &constant)
                    .unwrap()
                    .next();
            let removed: Vec<usize> =
                fresh.unwrap().unwrap().removed.iter().map(|&j| present[j]).collect();
            assert_eq!(removed, step.removed, "step {}", step.t);
        });
        assert_eq!(primal, rows - 1);
    }
}

const SMALL: &str = "--splits 3 --quiet";

/// The files of a run by name, journals apart.
fn tables(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let name = |path: &PathBuf| path.file_name().unwrap().to_string_lossy().into_owned();
    files(run)
        .into_iter()
        .filter(|path| {
            path.is_file() && path.extension().is_none_or(|extension| extension != "jsonl")
        })
        .filter(|path| !name(path).starts_with(".lock-"))
        .map(|path| (name(&path), std::fs::read(&path).unwrap()))
        .collect()
}

fn files(run: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(run).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn journals(run: &Path) -> Vec<PathBuf> {
    let is_journal =
        |path: &PathBuf| path.file_name().unwrap().to_string_lossy().starts_with("journal-");
    files(run).into_iter().filter(is_journal).collect()
}

fn assert_same(a: &BTreeMap<String, Vec<u8>>, b: &BTreeMap<String, Vec<u8>>) {
    assert!(a.keys().eq(b.keys()));
    for (name, bytes) in a {
        assert!(bytes == &b[name], "{name} differs");
    }
}

#[test]
fn threads_change_no_byte() {
    let home = tempfile::tempdir().unwrap();
    // Categories, gaps, random τ and cross-validation: everything that draws numbers.
    let options = "--splits 4 --stop cv --smoothed --method crfe,rfe,smfs --quiet --threads";
    let (one, two) = (home.path().join("one"), home.path().join("two"));
    run_into(&one, "data/heart.csv", &format!("{options} 1"));
    run_into(&two, "data/heart.csv", &format!("{options} 2"));
    assert_same(&tables(&one), &tables(&two));
    assert!(tables(&one).len() > 10);
}

/// How many tasks the journals of a run say were begun.
fn begun(journals: &[PathBuf]) -> usize {
    let started =
        |path: &PathBuf| std::fs::read_to_string(path).unwrap().matches("\"start\":{").count();
    journals.iter().map(started).sum()
}

#[test]
fn a_finished_run_is_not_computed_again() {
    let home = tempfile::tempdir().unwrap();
    let run = home.path().join("run");
    run_into(&run, "data/heart.csv", SMALL);
    let before = tables(&run);
    assert_eq!(begun(&journals(&run)), 6);
    let again = run_into(&run, "data/heart.csv", "--splits 3");
    assert!(again.stderr.contains("6 of 6 tasks were finished before"), "{}", again.stderr);
    assert_eq!(begun(&journals(&run)), 6);
    assert_same(&before, &tables(&run));
}

#[test]
fn more_splits_extend_a_run_to_what_it_would_have_been() {
    let home = tempfile::tempdir().unwrap();
    let (grown, whole) = (home.path().join("grown"), home.path().join("whole"));
    run_into(&grown, "data/heart.csv", "--splits 2 --method crfe --quiet");
    run_into(&grown, "data/heart.csv", SMALL);
    assert_eq!(begun(&journals(&grown)), 6);
    run_into(&whole, "data/heart.csv", SMALL);
    assert_same(&tables(&grown), &tables(&whole));
    // Fewer splits describe a part of the run, and say so; the report brings all of them back.
    let fewer = run_into(&grown, "data/heart.csv", "--splits 2");
    assert!(
        fewer
            .stderr
            .contains("has 3 splits: its tables, figures and report.html now describe the first 2"),
        "{}",
        fewer.stderr
    );
    finish(program().arg("report").arg(&grown));
    assert_same(&tables(&grown), &tables(&whole));
    // So do fewer methods, and both.
    for (options, sentence) in [
        (
            "--splits 3 --method crfe",
            "has the methods CRFE, RFE: its tables, figures and report.html now describe only CRFE;",
        ),
        (
            "--splits 2 --method rfe",
            "has 3 splits and the methods CRFE, RFE: its tables, figures and report.html now describe the first 2 and only RFE;",
        ),
    ] {
        let fewer = run_into(&grown, "data/heart.csv", options);
        assert!(fewer.stderr.contains(sentence), "{}", fewer.stderr);
        finish(program().arg("report").arg(&grown));
        assert_same(&tables(&grown), &tables(&whole));
    }
    // The whole run again, and one with more, say nothing of the kind.
    for options in [SMALL, "--splits 3 --method crfe,rfe,smfs"] {
        assert!(!run_into(&grown, "data/heart.csv", options).stderr.contains("now describe"));
    }
}

#[test]
fn a_journal_torn_anywhere_resumes_to_the_same_tables() {
    let home = tempfile::tempdir().unwrap();
    let whole = home.path().join("whole");
    run_into(&whole, "data/heart.csv", &format!("{SMALL} --threads 1"));
    let expected = tables(&whole);
    let journal = std::fs::read(&journals(&whole)[0]).unwrap();
    let first_line = journal.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    let half = journal.len() / 2;
    let last = journal.len() - 1;
    // Nothing; inside and after the first line; inside a step; inside a many-byte character or
    // number; before the last feed.
    for cut in
        [0, first_line / 2, first_line - 1, first_line, first_line + 10, half, half + 1, last]
    {
        let torn = home.path().join(format!("torn-{cut}"));
        std::fs::create_dir(&torn).unwrap();
        std::fs::write(torn.join("journal-1of1-torn.jsonl"), &journal[..cut]).unwrap();
        run_into(&torn, "data/heart.csv", SMALL);
        assert_same(&expected, &tables(&torn));
    }
}
