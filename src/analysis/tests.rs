//! Facts about paths written by hand, so that every expected number is known.

use std::sync::Arc;

use ndarray::Array2;

use super::*;
use crate::data::Dataset;
use crate::evaluate::Tally;
use crate::run::{EndReason, FoldTest, Parts, Plan, RunOptions, Step, TestedRow};
use crate::select::{RunSizes, StopRule, Stopping};

const CRFE: Method = Method::Crfe;

/// Four features, of which the second is kept.
fn info() -> Arc<RunInfo> {
    let x =
        Array2::from_shape_fn((80, 4), |(i, j)| ((i * (j + 3)) % 11) as f64 + (i % 2 * j) as f64);
    let labels: Vec<&str> = (0..80).map(|i| ["ill", "well"][i % 2]).collect();
    let mut data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
    data.units[1].kept = true;
    let options = RunOptions { stop: crate::select::StopRule::Knee, ..RunOptions::default() };
    Plan::new(options.check().unwrap(), data).unwrap().info.clone()
}

fn of_fold(index: usize) -> Followup {
    Followup { kind: Kind::Fold, method: CRFE, index }
}

fn parts() -> Parts {
    Parts { train: 40, selection: 10, conformal: vec![5, 5], test: vec![10, 10] }
}

/// A tally of 20 rows, `covered` of which are covered; every set has one label.
fn tally(covered: u32) -> Tally {
    let confusion =
        vec![covered / 2, 10 - covered / 2, 10 - covered.div_ceil(2), covered.div_ceil(2)];
    let halves = vec![covered / 2, covered.div_ceil(2)];
    Tally { confusion, set_sizes: vec![10, 10], certain: covered, covered: halves, ..Tally::new(2) }
}

fn step(t: usize, size: usize, removed: &[usize], beta_mean: f64, covered: u32) -> Step {
    Step {
        t,
        size,
        removed: removed.to_vec(),
        criterion: None,
        runner_up: None,
        margin: None,
        beta_mean,
        stop: None,
        converged: true,
        tally: tally(covered),
        beta: None,
    }
}

/// Tells a history what happened.
struct Told {
    history: History,
}

impl Told {
    fn new() -> Self {
        let mut told = Self { history: History::default() };
        told.tell(None, EventKind::RunStarted(info()));
        told
    }

    fn tell(&mut self, task: Option<TaskId>, kind: EventKind) {
        self.history.apply(&RunEvent { task, kind });
    }

    fn start(&mut self, split: usize, steps: Vec<Step>) -> TaskId {
        let task = TaskId { method: CRFE, split };
        self.tell(Some(task), EventKind::TaskStarted(parts()));
        steps.into_iter().for_each(|step| self.tell(Some(task), EventKind::Step(step.into())));
        task
    }

    fn finish(&mut self, split: usize, steps: Vec<Step>, reason: EndReason, rest: &[usize]) {
        let task = self.start(split, steps);
        self.tell(
            Some(task),
            EventKind::TaskFinished {
                reason,
                rest: rest.to_vec(),
                sizes: RunSizes { cv: Some(3), ..RunSizes::default() },
            },
        );
    }

    fn paths(&self) -> Paths<'_> {
        Paths::new(&self.history, self.history.info().unwrap(), CRFE)
    }

    /// The answer to what the settings choose.
    fn answer(&self) -> Answer {
        Answer::new(&self.history, &self.history.own_choice().unwrap()).unwrap()
    }

    /// The answer of the first method, at a size if one is taken by hand.
    fn answer_at(&self, size: Option<usize>) -> MethodAnswer {
        let choice = Choice { size, ..self.history.own_choice().unwrap() };
        Answer::new(&self.history, &choice).unwrap().methods.remove(0)
    }
}

/// The sizes of a rule with the run's own k and ψ.
fn sizes_of(paths: &Paths<'_>, rule: StopRule) -> Vec<Option<usize>> {
    paths.sizes_by_split(rule, &paths.info.spec.beta_rule)
}

/// Two complete paths: the last survivors beside the kept feature 1 are 3, then 0; and 3, then 2.
fn two_paths() -> Told {
    let mut told = Told::new();
    let path = |first: usize, second: usize| {
        vec![
            step(0, 4, &[first], -1.0, 20),
            step(1, 3, &[second], -1.5, 18),
            step(2, 2, &[], -1.8, 16),
        ]
    };
    told.finish(0, path(2, 0), EndReason::Complete, &[3]);
    told.finish(1, path(0, 2), EndReason::Complete, &[3]);
    told
}

#[test]
fn a_subset_is_what_is_left_at_a_size_with_the_kept_ones() {
    let told = two_paths();
    let ranks = RankTable::new(&told.paths());
    assert_eq!(ranks.splits()[0], [Some(2), None, Some(3), Some(1)]);
    let subsets = |split: usize| [4, 3, 2].map(|size| ranks.subset(split, size));
    assert_eq!(subsets(0), [vec![0, 1, 2, 3], vec![0, 1, 3], vec![1, 3]]);
    assert_eq!(subsets(1), [vec![0, 1, 2, 3], vec![1, 2, 3], vec![1, 3]]);
    for size in 1..=4 {
        for unit in 0..4 {
            let held = (0..2).filter(|&split| ranks.subset(split, size).contains(&unit)).count();
            assert_eq!(ranks.count(unit, size), held, "{unit} at {size}");
            assert_eq!(ranks.frequency(unit, size), held as f64 / 2.0);
            let from = ranks.thresholds(unit);
            assert_eq!(
                from.iter().filter(|&&own| own <= size).count(),
                if unit == 1 { 0 } else { held }
            );
        }
    }
}

#[test]
fn mean_ranks_order_the_removable_and_ties_follow_the_columns() {
    let told = two_paths();
    let means = RankTable::new(&told.paths()).means();
    assert_eq!(means.mean, [Some(2.5), None, Some(2.5), Some(1.0)]);
    assert_eq!((&means.order[..], &means.kept[..]), (&[3, 0, 2][..], &[1][..]));
    assert_eq!(means.all(), [1, 3, 0, 2]);
    let nothing = Told::new();
    assert_eq!(RankTable::new(&nothing.paths()).means().mean, [None; 4]);
}

#[test]
fn sizes_are_those_that_all_or_some_paths_visited() {
    let mut told = two_paths();
    // In batches: from 4 to 2 at once.
    let steps = vec![step(0, 4, &[0, 2], -1.0, 20), step(1, 2, &[], -1.8, 16)];
    told.finish(2, steps, EndReason::Complete, &[3]);
    let paths = told.paths();
    assert_eq!(paths.common_sizes(), [4, 2]);
    assert_eq!(paths.visited_sizes(), [2, 3, 4]);
    // A wanted size that is passed over: the smallest visited that is not below it.
    let sizes = |wanted| sizes_of(&paths, StopRule::Size(wanted));
    assert_eq!(sizes(3), [Some(3), Some(3), Some(4)]);
    assert_eq!(sizes(1), [Some(2); 3]);
    assert_eq!(sizes(5), [None; 3]);
    assert_eq!(sizes_of(&paths, StopRule::Cv), [Some(3); 3], "what the run recorded");
    assert_eq!(sizes_of(&paths, StopRule::None), [None; 3]);
}

#[test]
fn a_path_that_ended_early_has_the_size_where_the_rule_fired_and_no_knee() {
    let mut told = Told::new();
    let early = |fired: bool| {
        let stop =
            Some(Stopping { statistic: -2.0, threshold: if fired { -1.0 } else { -3.0 }, fired });
        vec![step(0, 4, &[2], -1.0, 20), Step { stop, ..step(1, 3, &[], -1.5, 18) }]
    };
    told.finish(0, early(true), EndReason::Early, &[0, 3]);
    told.finish(1, early(false), EndReason::Early, &[0, 3]);
    let paths = told.paths();
    assert_eq!(sizes_of(&paths, StopRule::Beta), [Some(3), None]);
    assert_eq!(sizes_of(&paths, StopRule::Knee), [None, None], "the knee needs the whole path");
    // The rest is ranked in the order in which it was named, the last best.
    assert_eq!(RankTable::new(&paths).splits()[0], [Some(2), None, Some(3), Some(1)]);
    // The same path, complete, has a knee.
    assert_eq!(sizes_of(&two_paths().paths(), StopRule::Knee), [Some(3); 2]);
}

#[test]
fn the_curve_forgets_the_steps_of_a_task_that_failed_or_began_again() {
    let coverage =
        |told: &Told, size| told.history.curve(CRFE).unwrap().spread(size, Metric::Coverage);
    let mut told = two_paths();
    assert_eq!(coverage(&told, 3).unwrap().mean, 0.9);
    let task = told.start(2, vec![step(0, 4, &[0], -1.0, 2), step(1, 3, &[2], -1.0, 0)]);
    assert!((coverage(&told, 3).unwrap().mean - 0.6).abs() < 1e-12);
    told.tell(Some(task), EventKind::TaskFailed { message: "on purpose".into() });
    assert_eq!(coverage(&told, 3).unwrap().mean, 0.9);
    assert_eq!(told.history.curve(CRFE).unwrap().splits(3), 2);
    // Begun again, it counts once more, and its old steps do not.
    told.start(2, vec![step(0, 4, &[0], -1.0, 14)]);
    assert!((coverage(&told, 4).unwrap().mean - 0.9).abs() < 1e-12);
    assert_eq!(told.history.curve(CRFE).unwrap().splits(3), 2);
    assert!(told.history.failed().is_empty());
    // The exact curve is that of finished paths.
    assert_eq!(told.paths().spreads(&[4], &[Metric::Coverage])[0][0].unwrap().mean, 1.0);
}

#[test]
fn running_and_exact_curves_agree() {
    let told = two_paths();
    for size in 2..=4 {
        for metric in Metric::panels() {
            let running = told.history.curve(CRFE).unwrap().spread(size, metric).unwrap();
            let exact = told.paths().spreads(&[size], &[metric])[0][0].unwrap();
            assert!((running.mean - exact.mean).abs() < 1e-12, "{} at {size}", metric.label());
            assert!(
                (running.sd.unwrap() - exact.sd.unwrap()).abs() < 1e-9,
                "{} at {size}",
                metric.label()
            );
        }
    }
}

#[test]
fn the_answer_says_what_fired_and_what_was_achieved() {
    let mut told = two_paths();
    told.start(2, vec![step(0, 4, &[0], -1.0, 20)]);
    let task = TaskId { method: CRFE, split: 2 };
    told.tell(Some(task), EventKind::TaskFailed { message: "on purpose".into() });
    let answer = told.answer();
    assert!(
        answer.cautions.iter().any(|caution| caution.contains("failed: on purpose")),
        "{:?}",
        answer.cautions
    );
    let [method] = &answer.methods[..] else { panic!("one method has finished") };
    assert_eq!((method.splits, method.chosen.size, method.chosen.fired), (2, Some(3), 2));
    // The best by mean rank, then the kept one; feature 0 is in the subset of one split of two.
    let listed: Vec<(&str, usize)> =
        method.features.iter().map(|f| (f.name.as_str(), f.count)).collect();
    assert_eq!(listed, [("c4", 2), ("c1", 1), ("c2", 2)]);
    assert_eq!(method.achieved.as_ref().unwrap().coverage, 0.9);
    assert_eq!(method.beside.len(), 1);
}

#[test]
fn two_methods_are_compared_on_the_splits_that_both_have() {
    let mut told = two_paths();
    let task = TaskId { method: Method::Rfe, split: 1 };
    told.tell(Some(task), EventKind::TaskStarted(parts()));
    for step in [step(0, 4, &[0], -1.0, 20), step(1, 3, &[2], -1.0, 16), step(2, 2, &[], -1.0, 16)]
    {
        told.tell(Some(task), EventKind::Step(step.into()));
    }
    let kind = EventKind::TaskFinished {
        reason: EndReason::Complete,
        rest: vec![3],
        sizes: RunSizes::default(),
    };
    told.tell(Some(task), kind);
    let pairs = Pair::all(&told.history, told.history.info().unwrap());
    let [pair] = &pairs[..] else { panic!("one pair") };
    assert_eq!((pair.both.len(), pair.sizes()), (1, vec![4, 3, 2]));
    assert_eq!(pair.test_share(), Some(20.0 / 60.0));
    let (metric, differences) = &pair.differences(3)[0];
    assert_eq!(*metric, Metric::Coverage);
    assert!((differences[0] - 0.1).abs() < 1e-12);
    assert_eq!(pair.similarity(&[3])[0].1.jaccard.mean, 1.0, "the same path of features");
}

#[test]
fn the_answer_at_another_size_has_the_list_of_that_size_and_no_tested_performance() {
    let told = two_paths();
    let at_three = told.answer_at(Some(3));
    let names: Vec<&str> = at_three.features.iter().map(|feature| feature.name.as_str()).collect();
    // Features 0 and 2 tie in everything but their column; the kept feature comes last.
    assert_eq!((at_three.chosen.size, names), (Some(3), vec!["c4", "c1", "c2"]));
    assert_eq!(
        at_three.features.iter().map(|feature| feature.count).collect::<Vec<_>>(),
        [2, 1, 2]
    );
    assert!(at_three.tested.is_none());
    assert!(at_three.cautions[0].contains("--stop 3 tests it"), "{:?}", at_three.cautions);
    let achieved = at_three.achieved.unwrap();
    assert_eq!((achieved.coverage, achieved.accuracy), (0.9, 0.9), "18 of 20 rows, on both splits");
    assert!(!achieved.leave_one_split_out);
    assert!(
        at_three.beside.iter().any(|rule| rule.stop == StopRule::Knee),
        "the run's own rule is beside it"
    );
}

#[test]
fn a_list_of_ones_own_is_compared_split_by_split() {
    let told = two_paths();
    let info = told.history.info().unwrap();
    let answer = told.answer_at(Some(2));
    // The answer's subsets of two cover 16 of 20 rows on both splits.
    let compare = |first: u32, second: u32| {
        let tallies = [(0, tally(first)), (1, tally(second))];
        Comparison::of_list(&told.history, info, 1, &tallies, &answer).unwrap()
    };
    let better = compare(20, 18);
    let accuracy = &better.metrics[0];
    assert_eq!((accuracy.metric, better.splits, better.sizes), ("accuracy", 2, (1, 2)));
    assert!((accuracy.a - 0.95).abs() < 1e-12 && (accuracy.b - 0.8).abs() < 1e-12);
    assert!((accuracy.difference.mean - 0.15).abs() < 1e-12);
    assert!(accuracy.difference.p_corrected.is_some());
    assert!(
        better
            .sentence
            .starts_with("your list with 1 feature against CRFE with 2 features: accuracy 0.950")
    );
    let same = compare(16, 16);
    assert!(same.sentence.ends_with(": no clear difference"), "{}", same.sentence);
    assert!(same.sentence.contains("no difference on any split"), "{}", same.sentence);
}

#[test]
fn classes_are_listed_worst_first() {
    let mut told = Told::new();
    // 13 covered rows: 6 of the first class, 7 of the second are predicted right.
    let steps =
        vec![step(0, 4, &[2], -1.0, 13), step(1, 3, &[0], -1.5, 13), step(2, 2, &[], -1.8, 13)];
    told.finish(0, steps, EndReason::Complete, &[3]);
    let answer = told.answer_at(Some(3));
    let classes: Vec<(&str, f64)> = answer
        .classes
        .iter()
        .map(|class| (class.class.as_str(), class.splits.unwrap().recall))
        .collect();
    assert_eq!(classes, [("ill", 0.6), ("well", 0.7)]);
}

#[test]
fn twins_are_named_and_one_that_follows_another_says_so() {
    let mut told = two_paths();
    let x =
        Array2::from_shape_fn(
            (80, 4),
            |(i, j)| if j == 2 { i as f64 } else { (i * (j + 3) % 11) as f64 },
        );
    let mut x = x;
    for i in 0..80 {
        x[[i, 3]] = -x[[i, 0]];
    }
    let labels: Vec<&str> = (0..80).map(|i| ["ill", "well"][i % 2]).collect();
    let data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
    let wanted = told.history.without_twins();
    assert!(!wanted.is_empty());
    told.tell(None, EventKind::TwinsFound(crate::run::Twins::find(&data, &[0, 1, 2, 3]).into()));
    assert!(told.history.without_twins().is_empty());
    let answer = told.answer_at(Some(3));
    let [last, first, _] = &answer.features[..] else { panic!("{:?}", answer.features) };
    assert_eq!((last.unit, last.twin_of), (3, None));
    let twin = &last.twins.as_ref().unwrap()[0];
    assert_eq!((twin.name.as_str(), twin.place), ("c1", Some(2)));
    assert!((twin.r + 1.0).abs() < 1e-12);
    assert_eq!((first.unit, first.twin_of), (0, Some(1)));
    // One split of two keeps feature 0; both keep its twin, feature 3.
    assert_eq!((first.count, first.count_with_twins), (1, Some(2)));
}

#[test]
fn the_first_of_several_twins_names_all_and_a_later_one_the_closest_before_it() {
    let mut told = two_paths();
    let noise = [0.0, 0.0, 0.3, 3.0];
    let x = Array2::from_shape_fn((80, 4), |(i, j)| {
        (i % 11) as f64 * (-1.0_f64).powi(i32::from(j == 1)) + noise[j] * (i * 7 % 5) as f64 / 5.0
    });
    let labels: Vec<&str> = (0..80).map(|i| ["ill", "well"][i % 2]).collect();
    let data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
    told.tell(None, EventKind::TwinsFound(crate::run::Twins::find(&data, &[0, 1, 2, 3]).into()));
    let features = told.answer_at(Some(3)).features;
    let named = |at: usize| -> Vec<Option<usize>> {
        features[at].named_twins().map(|twin| twin.place).collect()
    };
    let mut of_first = named(0);
    of_first.sort_unstable();
    assert_eq!(of_first, [None, Some(2), Some(3)], "{features:?}");
    assert_eq!((named(1), named(2)), (vec![Some(1)], vec![Some(2)]), "{features:?}");
}

/// The folds chose lists of 3 features, and are no test of a longer or a shorter one.
#[test]
fn a_size_that_no_fold_chose_is_cautioned_about() {
    let mut told = two_paths();
    let row = |row: usize| TestedRow { row, y: row % 2, f: vec![0.5, -0.5], p: vec![0.6, 0.2] };
    for index in 0..told.paths().info.folds {
        let outcome = Outcome::Fold(FoldTest {
            size: Some(3),
            units: vec![3, 0, 1],
            conformal: vec![50, 50],
            rows: (0..7).map(row).collect(),
            groups: Vec::new(),
            subgroups: Vec::new(),
            times: Vec::new(),
        });
        told.tell(None, EventKind::Followed(of_fold(index), outcome.into()));
    }
    let paths = told.paths();
    let tested = super::Tested::new(&told.history, paths.info, CRFE).unwrap();
    let caution = |size: usize| {
        let chosen = RuleSize::new(StopRule::Size(size), &[Some(size); 2], &paths.visited_sizes());
        let concern = super::cautions::Concern {
            paths: &paths,
            chosen: &chosen,
            stability: None,
            tested: Some(&tested),
            by_chance: None,
            features: &[],
        };
        super::cautions::of_method(&concern)
            .into_iter()
            .find(|caution| caution.contains("the folds of the validation chose 3 features"))
    };
    assert!(
        caution(4).unwrap().contains("the answer has 4: the procedure was tested at smaller sizes")
    );
    assert!(caution(2).unwrap().contains("larger sizes"));
    assert_eq!(caution(3), None);
}

/// A fold without a list tests none of its rows: they must not be counted among the tested rows of
/// a class.
#[test]
fn classes_count_the_rows_that_were_tested() {
    let mut told = two_paths();
    let row = |row: usize| TestedRow { row, y: row % 2, f: vec![0.5, -0.5], p: vec![0.6, 0.2] };
    let fold = |units: Vec<usize>, rows: Vec<TestedRow>| {
        let size = (!units.is_empty()).then_some(units.len());
        let (groups, subgroups, times) = (Vec::new(), Vec::new(), Vec::new());
        Outcome::Fold(FoldTest {
            size,
            units,
            conformal: vec![5, 5],
            rows,
            groups,
            subgroups,
            times,
        })
    };
    let outcomes = [fold(vec![3, 1], (0..7).map(row).collect()), fold(Vec::new(), Vec::new())];
    for (index, outcome) in outcomes.into_iter().enumerate() {
        told.tell(None, EventKind::Followed(of_fold(index), outcome.into()));
    }
    let answer = told.answer_at(None);
    let rows: Vec<(&str, usize)> =
        answer.classes.iter().map(|class| (class.class.as_str(), class.rows)).collect();
    assert_eq!(rows, [("well", 3), ("ill", 4)]);
    assert_eq!(answer.tested.as_ref().unwrap().without_list, 1);
}

/// The reason is that of the planner, not an option that nobody gave.
#[test]
fn permutations_that_were_too_dear_are_not_blamed_on_an_option() {
    let mut told = two_paths();
    let dear = RunInfo { permutations: 0, permutation_cost: Some(9.0), ..(*info()).clone() };
    told.tell(None, EventKind::RunStarted(Arc::new(dear)));
    let answer = told.answer_at(None);
    let said = answer.about(&[Topic::Chance]).next().unwrap().whole(3);
    assert!(said.contains("even 19 have a nominal cost of 171 s"), "{said}");
    assert!(said.contains("--permutations 19 runs them") && !said.contains("none"), "{said}");
}
