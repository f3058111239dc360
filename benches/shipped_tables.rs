//! One path of each shipped data set: the models alone, and with every metric at every size.
//!
//! `cargo bench --bench shipped_tables`

use std::path::PathBuf;
use std::sync::Arc;

use crfe::data::{Dataset, Prepared, prepare};
use crfe::evaluate::{ConformalSettings, Decisions, Evaluator};
use crfe::run::{Plan, RunOptions};
use crfe::select::{Elimination, Method, Settings};
use crfe::svm::decisions;
use divan::{Bencher, black_box};

const TABLES: [&str; 3] = ["dermatology", "heart", "synthetic"];

fn main() {
    divan::main();
}

/// A shipped table and its first split, scaled and imputed.
struct Split {
    data: Dataset,
    prepared: Prepared,
}

impl Split {
    fn first(table: &str) -> Self {
        let spec = RunOptions::default().check().expect("the defaults are valid");
        let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("data/{table}.csv"));
        let data =
            Dataset::load(&file, &spec.schema, |_, _| {}).expect("the shipped table is good");
        let plan = Plan::new(spec, data).expect("the shipped table can be run");
        let split = plan.splits.split(&plan.data, 0).expect("the plan has a first split");
        let spec = &plan.info.spec;
        let prepared = prepare(&plan.data, &split, spec.preparation(), spec.split.seed, 0);
        Self { data: Arc::unwrap_or_clone(plan.data), prepared }
    }

    fn settings(&self) -> Settings {
        Settings::new(Method::Crfe, self.data.classes.len())
    }

    fn path(&self) -> Elimination<'_> {
        let Prepared { train, selection, constant, .. } = &self.prepared;
        let train = (train.x.view(), &*train.y);
        let selection = (selection.x.view(), &*selection.y);
        Elimination::new(self.settings(), &self.data.units, train, selection, constant)
            .expect("Newton takes any data")
    }

    fn evaluator(&self) -> Evaluator {
        let measure = self.settings().measure;
        let settings =
            ConformalSettings { epsilon: 0.1, mondrian: false, smoothed: false, measure };
        let Prepared { conformal, test, .. } = &self.prepared;
        Evaluator::new(settings, &conformal.y, &test.y, &test.rows, 0, 0)
    }
}

#[divan::bench(args = TABLES)]
fn path(bencher: Bencher<'_, '_>, table: &str) {
    let split = Split::first(table);
    bencher.bench_local(|| {
        split.path().fold(0.0, |sum, step| sum + step.expect("finite models").beta_mean)
    });
}

#[divan::bench(args = TABLES)]
fn path_with_evaluation(bencher: Bencher<'_, '_>, table: &str) {
    let split = Split::first(table);
    let evaluator = split.evaluator();
    bencher.bench_local(|| {
        let mut path = split.path();
        while path.next().transpose().expect("finite models").is_some() {
            let model = path.model();
            let conformal = decisions(model, split.prepared.conformal.x.view());
            let test = decisions(model, split.prepared.test.x.view());
            black_box(evaluator.tally(&Decisions { conformal, test, biases: model.biases() }));
        }
    });
}
