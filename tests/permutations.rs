//! The permutation control finds signal, and raises a false alarm no more often than it says.

use crfe::data::Dataset;
use crfe::run::{Followup, Outcome, Permutations, Plan, RunOptions};
use crfe::select::Method;
use ndarray::Array2;

/// A reproducible stream of numbers between −0.5 and 0.5.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }
}

/// Rows × columns of which the first two know the class when there is signal.
fn table(rows: usize, columns: usize, signal: f64, seed: u64) -> (Array2<f64>, Vec<String>) {
    let mut noise = noise(seed);
    let labels: Vec<String> = (0..rows).map(|i| ["a", "b"][i % 2].to_owned()).collect();
    let x = Array2::from_shape_fn((rows, columns), |(i, j)| {
        let shift = if j < 2 { signal * (i % 2) as f64 } else { 0.0 };
        noise() + shift
    });
    (x, labels)
}

fn plan(x: &Array2<f64>, labels: &[String], change: impl FnOnce(&mut RunOptions)) -> Plan {
    let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
    let mut options = RunOptions { methods: vec![Method::Crfe], ..RunOptions::default() };
    options.split.splits = 5;
    change(&mut options);
    Plan::new(options.check().unwrap(), Dataset::from_arrays(x.view(), &labels, None).unwrap()).unwrap()
}

#[test]
fn signal_is_found_and_noise_is_not() {
    let alarm = |signal: f64, seed: u64| {
        let (x, labels) = table(80, 5, signal, seed);
        let plan = plan(&x, &labels, |options| {
            options.split.splits = 4;
            options.permutations = Permutations::Count(19);
        });
        let s_score = |run: Outcome| match run {
            Outcome::Permutation(run) => run.s_score_at(2).unwrap().1,
            Outcome::Fold(_) => unreachable!("a permutation was asked for"),
        };
        let permuted: Vec<f64> = (0..19)
            .map(|q| {
                s_score(Followup::Permutation(Method::Crfe, q).run(&plan, &mut || true).unwrap().unwrap())
            })
            .collect();
        // The real labels as if they were one more permutation: they are, when there is no signal.
        let real = {
            let gate = crfe::run::Gate::default();
            let (send, receive) = crossbeam_channel::unbounded();
            crfe::run::Engine::new(&plan, &gate, send).run(&plan.tasks(), 1);
            let mut history = crfe::analysis::History::default();
            receive.iter().for_each(|event| history.apply(&event));
            let paths = crfe::analysis::Paths::new(&history, &plan.info, Method::Crfe);
            paths.spread(2, crfe::analysis::Metric::SScore).unwrap().mean
        };
        crfe::evaluate::p_of_smaller(real, &permuted) <= 0.05
    };
    assert!(alarm(0.8, 3), "a strong signal is found");
    let false_alarms = (0..40).filter(|&seed| alarm(0.0, 100 + seed)).count();
    // Binomial(40, 0.05): more than 7 has probability 0.0007.
    assert!(false_alarms <= 7, "{false_alarms} of 40");
}
