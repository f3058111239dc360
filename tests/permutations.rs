//! The permutation control finds signal, and on tables without any it raises an alarm no more often
//! than it says.

use crfe::analysis::{Answer, Choice, History, MethodAnswer};
use crfe::data::Dataset;
use crfe::data::seed::{Purpose, Rng};
use crfe::run::{Engine, Gate, Permutations, Plan, RunOptions};
use crfe::select::{Method, StopRule};
use ndarray::Array2;

const PERMUTATIONS: usize = 39;
const NOISE_TABLES: u64 = 200;

/// A table of which the first two columns know the class when there is signal.
fn table(rows: usize, features: usize, signal: f64, seed: u64) -> Dataset {
    let mut rng = Rng::new(seed, 0, Purpose::Bootstrap);
    let labels: Vec<&str> = (0..rows).map(|row| ["a", "b"][row % 2]).collect();
    let x = Array2::from_shape_fn((rows, features), |(row, column)| {
        rng.uniform() + if column < 2 { signal * (row % 2) as f64 } else { 0.0 }
    });
    Dataset::from_arrays(x.view(), &labels, None).unwrap()
}

/// The answers of a run with permutations: at the size that the default rule chooses, and at two
/// features, fixed before the run.
fn answers(data: Dataset, splits: usize) -> [MethodAnswer; 2] {
    let mut options =
        RunOptions { methods: vec![Method::Crfe], validate: None, ..RunOptions::default() };
    options.split.splits = splits;
    options.permutations = Permutations::Count(PERMUTATIONS);
    let plan = Plan::new(options.check().unwrap(), data).unwrap();
    let (gate, mut history) = (Gate::default(), History::default());
    let (send, receive) = crossbeam_channel::unbounded();
    std::thread::scope(|scope| {
        let engine = Engine::new(&plan, &gate, send).then(plan.info.followups());
        let tasks = plan.tasks();
        scope.spawn(move || engine.run(&tasks, 2));
        receive.iter().for_each(|event| history.apply(&event));
    });
    assert!(history.failed().is_empty() && history.failed_followups().is_empty());
    [StopRule::OneSe, StopRule::Size(2)].map(|rule| {
        let choice = Choice { rule, ..Choice::of(&plan.info.spec) };
        Answer::new(&history, &choice).unwrap().methods.remove(0)
    })
}

/// Whether some feature is reported as beyond chance at the level of 5 %, and whether the whole is.
fn alarms(answer: &MethodAnswer) -> (bool, bool) {
    let some_feature =
        answer.features.iter().any(|feature| feature.adjusted_p.is_some_and(|p| p < 0.05));
    let the_whole =
        answer.by_chance.as_ref().and_then(|chance| chance.p).is_some_and(|p| p <= 0.05);
    (some_feature, the_whole)
}

#[test]
fn signal_is_found() {
    // With few splits some feature is in all of them by chance, and no count can be beyond it.
    let [_, answer] = answers(table(80, 12, 0.8, 3), 20);
    assert_eq!(alarms(&answer), (true, true), "{answer:?}");
    let mut names: Vec<&str> =
        answer.features.iter().map(|feature| feature.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["c1", "c2"]);
}

#[test]
fn noise_raises_false_alarms_no_more_often_than_it_says() {
    /// Binomial(200, 0.05) has mean 10 and sd 3.1; more than 20 has probability 0.001.
    const MOST: usize = 20;
    let (mut features, mut whole) = ([0; 2], [0; 2]);
    for seed in 0..NOISE_TABLES {
        for (i, answer) in answers(table(60, 6, 0.0, 100 + seed), 5).iter().enumerate() {
            let (some_feature, the_whole) = alarms(answer);
            features[i] += usize::from(some_feature);
            whole[i] += usize::from(the_whole);
        }
    }
    println!(
        "of {NOISE_TABLES} noise tables, at the chosen size and at two features: adjusted p < 0.05 in {features:?}, p of the whole in {whole:?}"
    );
    assert!(
        features.iter().all(|&count| count <= MOST),
        "features: {features:?} of {NOISE_TABLES}"
    );
    assert!(whole.iter().all(|&count| count <= MOST), "the whole: {whole:?} of {NOISE_TABLES}");
}
