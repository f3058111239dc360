//! One elimination path, timed: what `benches/peers` compares with the Python peers.
//!
//! ```text
//! cargo bench --bench timed_path -- time data.csv crfe        seconds of a path and of a fit, as JSON
//! cargo bench --bench timed_path -- time data.csv crfe rbf    with another estimator; its order, too
//! cargo bench --bench timed_path -- once data.csv crfe        one path, for callgrind
//!                                                             --toggle-collect='timed_path::one_path*'
//! cargo bench --bench timed_path -- export data.csv DIR       the prepared training and selection rows, as CSV
//! ```
//! The split is the program's own split 0 of seed 0, so the peers get the very rows that are timed
//! here.

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use crfe::data::{Dataset, Part, Prepared, prepare};
use crfe::run::{Plan, RunOptions};
use crfe::select::{Elimination, FeaturePath, KernelElimination, Method, Settings};
use crfe::svm::{Estimator, Problem, SolverKind, solver};

/// Repeated until this long.
const ENOUGH_SECONDS: f64 = 1.0;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["time", csv, method] => {
            time(&load(csv, Estimator::Linear), method.parse().expect("crfe, rfe or smfs"));
        }
        ["time", csv, method, estimator] => {
            let table = load(csv, estimator.parse().expect("linear, rcs:3, rcs:4, rcs:5 or rbf"));
            let method = method.parse().expect("crfe, rfe or smfs");
            let path = mean(|| order(&table, method).len());
            println!(
                "{{\"path\": {path:e}, \"columns\": {}, \"order\": {:?}}}",
                table.1.train.x.nrows(),
                order(&table, method)
            );
        }
        ["once", csv, method] => {
            let table = load(csv, Estimator::Linear);
            println!("{} units", one_path(&table, method.parse().expect("crfe, rfe or smfs")));
        }
        ["export", csv, directory] => export(&load(csv, Estimator::Linear), Path::new(directory)),
        _ => {
            println!("usage: path time|once DATA.csv METHOD [ESTIMATOR] | path export DATA.csv DIR")
        }
    }
}

fn load(csv: &str, estimator: Estimator) -> (Plan, Prepared) {
    let spec =
        RunOptions { estimator, ..RunOptions::default() }.check().expect("the defaults are valid");
    let data = Dataset::load(Path::new(csv), &spec.schema, |_, _| {}).expect("a readable table");
    let plan = Plan::new(spec, data).expect("a table that can be run");
    let split = plan.splits.split(&plan.data, 0).expect("a first split");
    let spec = &plan.info.spec;
    let prepared = prepare(&plan.data, &split, spec.preparation(), spec.split.seed, 0);
    (plan, prepared)
}

/// The order of a path with the estimator of the plan.
fn order((plan, prepared): &(Plan, Prepared), method: Method) -> Vec<usize> {
    let (train, selection) = (&prepared.train, &prepared.selection);
    let train = (train.x.view(), &*train.y);
    let selection = (selection.x.view(), &*selection.y);
    let settings = Settings::new(method, plan.data.classes.len());
    let (units, constant) = (&prepared.units, &prepared.constant);
    let path: Box<dyn FeaturePath> = if plan.info.spec.estimator == Estimator::Rbf {
        let gamma = plan.info.spec.gamma;
        Box::new(
            KernelElimination::new(settings, gamma, units, train, selection, constant)
                .expect("a path"),
        )
    } else {
        Box::new(Elimination::new(settings, units, train, selection, constant).expect("a path"))
    };
    path.flat_map(|step| step.expect("finite models").removed).collect()
}

/// A path down to one unit; tells how many there were.
#[inline(never)]
fn one_path((plan, prepared): &(Plan, Prepared), method: Method) -> usize {
    let (train, selection) = (&prepared.train, &prepared.selection);
    let path = Elimination::new(
        Settings::new(method, plan.data.classes.len()),
        &plan.data.units,
        (train.x.view(), &train.y),
        (selection.x.view(), &selection.y),
        &prepared.constant,
    );
    path.expect("a path").map(|step| step.expect("finite models").removed.len()).sum::<usize>() + 1
}

fn time(table: &(Plan, Prepared), method: Method) {
    let path = mean(|| one_path(table, method));
    let (plan, prepared) = table;
    let classes = plan.data.classes.len();
    let train = &prepared.train;
    let fit = mean(|| {
        let problem = Problem::new(train.x.view(), &train.y, classes).expect("a valid problem");
        solver(SolverKind::Newton, problem).expect("a solver").fit().iterations
    });
    println!("{{\"path\": {path:e}, \"fit\": {fit:e}}}");
}

/// Processor time of this thread where the kernel tells it (as the peers are timed), else time on
/// the wall.
struct Clock {
    wall: Instant,
    processor: Option<f64>,
}

impl Clock {
    fn start() -> Self {
        Self { wall: Instant::now(), processor: processor_seconds() }
    }

    fn seconds(&self) -> f64 {
        let wall = self.wall.elapsed().as_secs_f64();
        self.processor.zip(processor_seconds()).map_or(wall, |(start, end)| end - start)
    }
}

/// The first number of Linux's schedstat: nanoseconds on a processor.
fn processor_seconds() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse::<f64>().ok().map(|nanoseconds| nanoseconds / 1e9)
}

/// The mean time of runs that together take long enough for the kernel's clock.
fn mean(mut run: impl FnMut() -> usize) -> f64 {
    let start = Clock::start();
    let mut runs = 0;
    while runs == 0 || start.wall.elapsed().as_secs_f64() < ENOUGH_SECONDS {
        std::hint::black_box(run());
        runs += 1;
    }
    start.seconds() / f64::from(runs)
}

fn export((plan, prepared): &(Plan, Prepared), directory: &Path) {
    std::fs::create_dir_all(directory).expect("a directory that can be made");
    for (name, part) in [("train.csv", &prepared.train), ("selection.csv", &*prepared.selection)] {
        std::fs::write(directory.join(name), text(part)).expect("a file that can be written");
    }
    println!("{{\"units\": {}, \"classes\": {}}}", plan.data.units.len(), plan.data.classes.len());
}

/// Row by row, the class last.
fn text(part: &Part) -> String {
    let mut text = String::new();
    for (i, y) in part.y.iter().enumerate() {
        part.x
            .column(i)
            .iter()
            .for_each(|value| write!(text, "{value},").expect("writing to a string"));
        writeln!(text, "{y}").expect("writing to a string");
    }
    text
}
