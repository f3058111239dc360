//! One frame of a large history, 160 × 48 cells, in every view: 64 rows × 6,830 features and 200
//! rows × 20,000, 20 splits each.
//!
//! `cargo bench --bench frame`

use std::sync::Arc;

use crfe::data::{Audit, Unit};
use crfe::evaluate::Tally;
use crfe::run::{Betas, EndReason, EventKind, Parts, RunEvent, RunInfo, RunOptions, Step, TaskId};
use crfe::select::{Method, RunSizes};
use crfe::tui::{Action, App, Depth, Keymap, Prompt, Theme, View, draw};
use divan::Bencher;
use ratatui::Terminal;
use ratatui::backend::TestBackend;

/// Rows and features.
const SHAPES: [(usize, usize); 2] = [(64, 6_830), (200, 20_000)];
const SPLITS: usize = 20;
/// Paths that differ; splits share them, so that the history takes megabytes and not gigabytes.
const PATHS: usize = 4;

fn main() {
    divan::main();
}

fn info((rows, features): (usize, usize)) -> RunInfo {
    let spec = RunOptions { methods: vec![Method::Crfe], ..RunOptions::default() };
    let names: Vec<String> = (0..features).map(|i| format!("ENSG{i:011}")).collect();
    let unit =
        |(i, name): (usize, &String)| Unit { name: name.clone(), columns: vec![i], kept: false };
    RunInfo {
        spec: spec.check().expect("the defaults are valid"),
        fingerprint: String::new(),
        input: "genes.csv".into(),
        input_sha256: String::new(),
        splits_sha256: None,
        directory: None,
        folds: 0,
        sites: Vec::new(),
        subgroups: Vec::new(),
        permutation_cost: None,
        permutations: 0,
        splits: SPLITS,
        rows,
        units: names.iter().enumerate().map(unit).collect(),
        columns: names,
        target: "class".into(),
        classes: vec!["ill".into(), "well".into()],
        class_counts: vec![rows / 2, rows - rows / 2],
        dropped: Vec::new(),
        audit: Audit::default(),
    }
}

/// A path that removes the features in a scattered order.
fn steps(features: usize, path: usize) -> Vec<EventKind> {
    let order: Vec<usize> = (0..features).map(|i| (i * 7_919 + path * 1_237) % features).collect();
    let mut tally = Tally::new(2);
    tally.confusion = vec![20, 5, 5, 20];
    tally.covered = vec![23, 22];
    tally.set_sizes = vec![30, 31];
    let step = |t: usize| Step {
        t,
        size: features - t,
        removed: if t + 1 < features { vec![order[t]] } else { Vec::new() },
        criterion: Some(0.1),
        runner_up: order.get(t + 1).copied(),
        margin: Some(0.01),
        beta_mean: -((t + 1) as f64).ln(),
        stop: None,
        converged: true,
        tally: tally.clone(),
        beta: Some(Betas::Top(order[t..].iter().take(5).map(|&unit| (unit as u32, 0.1)).collect())),
    };
    (0..features).map(|t| EventKind::Step(Arc::new(step(t)))).collect()
}

/// The end of the path of a split.
fn finished(features: usize, split: usize) -> EventKind {
    EventKind::TaskFinished {
        reason: EndReason::Complete,
        rest: vec![((features - 1) * 7_919 + split % PATHS * 1_237) % features],
        sizes: RunSizes::default(),
    }
}

fn app(shape: (usize, usize)) -> App {
    let features = shape.1;
    let info = Arc::new(info(shape));
    let theme = Theme::new(Depth::True, false, false);
    let mut app = App::new("genes.csv".into(), info.spec.clone(), theme, Keymap::default());
    let mut tell = |task, kind| app.event(&RunEvent { task, kind });
    tell(None, EventKind::RunStarted(info));
    let paths: Vec<Vec<EventKind>> = (0..PATHS).map(|path| steps(features, path)).collect();
    for split in 0..SPLITS {
        let task = Some(TaskId { method: Method::Crfe, split });
        let parts = Parts { train: 75, selection: 38, conformal: vec![19, 18], test: vec![25, 25] };
        tell(task, EventKind::TaskStarted(parts));
        paths[split % PATHS].iter().for_each(|step| tell(task, step.clone()));
        tell(task, finished(features, split));
    }
    tell(None, EventKind::RunFinished);
    app
}

/// A view of a run.
#[derive(Clone, Copy)]
struct Case {
    shape: (usize, usize),
    view: View,
}

const WIDEST: Case = Case { shape: SHAPES[1], view: View::Answer };

impl Case {
    fn showing(self, view: View) -> App {
        Self { view, ..self }.app()
    }

    fn app(&self) -> App {
        let mut app = app(self.shape);
        app.update(Action::Show(self.view));
        app.refresh();
        app
    }
}

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}x{} {}", self.shape.0, self.shape.1, self.view.name())
    }
}

fn cases() -> Vec<Case> {
    let views = |shape| View::ALL.map(|view| Case { shape, view });
    SHAPES.into_iter().flat_map(views).collect()
}

/// The cursor moves by one step and the screen follows, as in the play.
#[divan::bench(args = cases())]
fn step(bencher: Bencher<'_, '_>, case: &Case) {
    let mut app = case.app();
    let mut terminal = Terminal::new(TestBackend::new(160, 48)).expect("memory cannot fail");
    let mut at = 0;
    bencher.bench_local(|| {
        at = (at + 1) % case.shape.1;
        app.scrub(at);
        app.refresh();
        terminal.draw(|frame| drop(draw(frame, &app))).map(drop)
    });
}

/// Only the drawing.
#[divan::bench(args = cases())]
fn redraw(bencher: Bencher<'_, '_>, case: &Case) {
    let mut app = case.app();
    app.scrub(100);
    app.refresh();
    let mut terminal = Terminal::new(TestBackend::new(160, 48)).expect("memory cannot fail");
    bencher.bench_local(|| terminal.draw(|frame| drop(draw(frame, &app))).map(drop));
}

/// The ranking is sorted by another column, or another filter hides rows.
#[divan::bench(args = [false, true], sample_count = 10)]
fn sort_and_filter(bencher: Bencher<'_, '_>, filter: bool) {
    let mut app = WIDEST.showing(View::Explore);
    let mut turn = 0;
    bencher.bench_local(|| {
        turn += 1;
        if filter {
            app.submit(Prompt::Filter, if turn % 2 == 0 { "1.*7$" } else { "^ensg.*3" });
        } else {
            app.update(Action::Sort);
        }
        app.refresh();
    });
}

/// Another size is taken as the answer.
#[divan::bench(sample_count = 10)]
fn another_size(bencher: Bencher<'_, '_>) {
    let mut app = WIDEST.showing(View::Answer);
    let mut turn = 0;
    bencher.bench_local(|| {
        turn += 1;
        app.update(if turn % 4 < 2 { Action::Larger } else { Action::Smaller });
        app.refresh();
    });
}

/// Everything is stale: a split has finished.
#[divan::bench(args = cases(), sample_count = 10)]
fn stale(bencher: Bencher<'_, '_>, case: &Case) {
    let mut app = case.app();
    let task = Some(TaskId { method: Method::Crfe, split: SPLITS - 1 });
    let end = finished(case.shape.1, SPLITS - 1);
    bencher.bench_local(|| {
        app.event(&RunEvent { task, kind: end.clone() });
        app.refresh();
    });
}

/// k, or ψ, of the β rule is slid.
#[divan::bench(args = [false, true], sample_count = 10)]
fn slide(bencher: Bencher<'_, '_>, window: bool) {
    let mut app = WIDEST.showing(View::Stability);
    let (down, up) = if window {
        (Action::WindowDown, Action::WindowUp)
    } else {
        (Action::SigmaDown, Action::SigmaUp)
    };
    let mut turn = 0;
    bencher.bench_local(|| {
        turn += 1;
        app.update(if turn % 4 < 2 { down } else { up });
        app.refresh();
    });
}
