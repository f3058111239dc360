//! What a frame needs and does not change with every frame: sorted rows, β by unit, replayed rules, agreement by size.
//!
//! Computed before drawing, only what the view shows and only when it is stale; `draw` itself stays O(visible).

use std::collections::BTreeSet;

use super::action::View;
use super::app::{App, Sort};
use crate::evaluate::{Agreement, Similarity, agreement_by_size, similarity_by_size};
use crate::history::{History, Trace};
use crate::report::{MethodAnswer, RuleSize, common_sizes, one_se, visited_sizes};
use crate::run::{Betas, RunInfo, TaskId};
use crate::select::{BetaRule, Method, StopRule};

/// What was computed, and for what.
#[derive(Debug, Default)]
pub struct Derived {
    /// The ranking, top first.
    pub rows: Vec<usize>,
    /// β under the cursor by unit, as far as known.
    pub beta: Vec<Option<f32>>,
    /// The largest |β|.
    pub beta_scale: f32,
    /// Units by mean rank over the finished splits of the focused method.
    pub by_mean_rank: Vec<usize>,
    /// Mean rank by unit; none without a finished split or for kept units.
    pub mean_rank: Vec<Option<f64>>,
    /// Where each rule stops, by method.
    pub stops: Vec<Stops>,
    /// How often each unit is in the subset that the knee and the β rule choose, for the focused method.
    pub chosen: Vec<(usize, usize, usize)>,
    /// The answer of the focused method, with k and ψ as they are slid.
    pub answer: Option<MethodAnswer>,
    /// The sizes that the β rule gives, over the splits of the focused method.
    pub beta_sizes: Option<RuleSize>,
    /// Agreement of the splits of the focused method, by falling size.
    pub agreement: Vec<(usize, Agreement)>,
    /// Similarity of the first two methods, by falling size.
    pub similarity: Vec<(usize, Similarity)>,
    ranking_for: Option<(TaskId, Option<usize>, u64, Sort, bool)>,
    ranks_for: Option<(Method, u64)>,
    stops_for: Option<(Method, u64, BetaRule)>,
    rules_for: Option<u64>,
    answer_for: Option<(Method, u64, Option<BetaRule>)>,
    visited: BTreeSet<usize>,
    visited_for: Option<(Method, u64)>,
    agreement_for: Option<(Method, u64)>,
}

/// Where the rules stop on the finished splits of a method.
#[derive(Debug, Clone)]
pub struct Stops {
    /// The method.
    pub method: Method,
    /// For each finished split: its number, the knee's size, the β rule's size.
    pub splits: Vec<(usize, Option<usize>, Option<usize>)>,
    /// The size of the 1se rule.
    pub one_se: Option<usize>,
}

impl Derived {
    /// Brings what the view shows up to date.
    pub fn refresh(&mut self, app: &App) {
        let Some(info) = app.info() else { return };
        self.refresh_ranks(app, info);
        self.refresh_ranking(app, info);
        if matches!(app.view, View::Stopping | View::Explore) {
            self.refresh_stops(app, info);
        }
        if app.view == View::Stopping {
            self.refresh_answer(app, info);
        }
        if app.view == View::Consistency {
            self.refresh_agreement(app, info);
        }
    }

    fn refresh_ranks(&mut self, app: &App, info: &RunInfo) {
        let key = (app.focus.method, app.finished);
        if self.ranks_for == Some(key) {
            return;
        }
        self.ranks_for = Some(key);
        let units = info.units.len();
        let mut sums = vec![0_u64; units];
        let mut splits = 0;
        for (_, trace) in app.history.of_method(app.focus.method) {
            splits += 1;
            sums.iter_mut().zip(trace.ranks()).for_each(|(sum, rank)| *sum += u64::from(rank.unwrap_or(0)));
        }
        let mean = |unit: usize| {
            (splits > 0 && !info.units[unit].kept).then(|| sums[unit] as f64 / f64::from(splits))
        };
        self.mean_rank = (0..units).map(mean).collect();
        self.by_mean_rank = (0..units).collect();
        // Kept units first: they are in every model.
        self.by_mean_rank.sort_by(|&a, &b| {
            let rank = |unit: usize| self.mean_rank[unit].unwrap_or(0.0);
            rank(a).total_cmp(&rank(b)).then(a.cmp(&b))
        });
    }

    fn refresh_ranking(&mut self, app: &App, info: &RunInfo) {
        let inspected = app.inspected_here();
        let data = if app.sort == Sort::MeanRank { app.finished } else { 0 };
        let key = (app.focus, app.step().map(|_| app.cursor), data, app.sort, inspected);
        if self.ranking_for == Some(key) {
            return;
        }
        self.ranking_for = Some(key);
        let units = info.units.len();
        self.beta = vec![None; units];
        if let Some((_, _, inspection)) = app.inspected.as_ref().filter(|_| inspected) {
            inspection
                .units
                .iter()
                .zip(&inspection.beta)
                .for_each(|(&unit, &beta)| self.beta[unit] = Some(beta as f32));
        }
        let present = app.present();
        match app.step().and_then(|step| step.beta.as_ref()) {
            Some(Betas::Whole(values)) => {
                present.iter().zip(values).for_each(|(&unit, &beta)| self.beta[unit] = Some(beta));
            }
            Some(Betas::Top(top)) if !inspected => {
                top.iter()
                    .filter(|(unit, _)| (*unit as usize) < units)
                    .for_each(|&(unit, beta)| self.beta[unit as usize] = Some(beta));
            }
            _ => {}
        }
        self.beta_scale = self.beta.iter().flatten().fold(0.0, |scale, beta| scale.max(beta.abs()));
        self.sort(app, info, &present);
    }

    fn sort(&mut self, app: &App, info: &RunInfo, present: &[usize]) {
        self.rows = (0..info.units.len()).collect();
        match app.sort {
            Sort::File => {}
            Sort::Name => self.rows.sort_by(|&a, &b| info.units[a].name.cmp(&info.units[b].name)),
            Sort::MeanRank => self.rows.clone_from(&self.by_mean_rank),
            Sort::Turn => {
                let going: Vec<usize> = app.step().map_or_else(Vec::new, |step| step.removed.clone());
                let mut turns = vec![usize::MAX; info.units.len()];
                going.iter().enumerate().for_each(|(turn, &unit)| turns[unit] = turn);
                let turn = |unit: usize| turns[unit];
                let mut here = present.to_vec();
                let beta = |unit: usize| self.beta[unit].unwrap_or(f32::NEG_INFINITY);
                here.sort_by(|&a, &b| {
                    turn(a).cmp(&turn(b)).then(beta(b).total_cmp(&beta(a))).then(a.cmp(&b))
                });
                // The path itself is the order in which they went.
                let steps = app.trace().map_or(&[][..], |trace| trace.steps());
                let gone = steps[..app.cursor.min(steps.len())].iter().rev();
                here.extend(gone.flat_map(|step| step.removed.iter().rev().copied()));
                self.rows = here;
            }
        }
    }

    fn refresh_stops(&mut self, app: &App, info: &RunInfo) {
        let key = (app.focus.method, app.finished, app.rule);
        if self.stops_for == Some(key) {
            return;
        }
        self.stops_for = Some(key);
        let units = info.units.len();
        if self.rules_for != Some(app.finished) {
            self.rules_for = Some(app.finished);
            let knee =
                |(split, trace): (usize, &Trace)| (split, trace.stop(StopRule::Knee, &app.rule, units), None);
            let of_method = |method| Stops {
                method,
                splits: app.history.of_method(method).map(knee).collect(),
                one_se: one_se(&app.history, method),
            };
            self.stops = app.history.methods().into_iter().map(of_method).collect();
        }
        // Only the β rule has something to slide.
        for stops in &mut self.stops {
            for ((_, _, beta), (_, trace)) in stops.splits.iter_mut().zip(app.history.of_method(stops.method))
            {
                *beta = beta_size(trace, app, units);
            }
        }
        self.chosen =
            chosen(&app.history, self.stops.iter().find(|stops| stops.method == app.focus.method), info);
    }

    /// After the stops: k and ψ slide over thousands of features, so only what depends on them follows.
    fn refresh_answer(&mut self, app: &App, info: &RunInfo) {
        let method = app.focus.method;
        if self.visited_for != Some((method, app.finished)) {
            self.visited_for = Some((method, app.finished));
            self.visited = visited_sizes(&app.history, method);
        }
        let stops = self.stops.iter().find(|stops| stops.method == method);
        self.beta_sizes = stops.map(|stops| {
            let sizes: Vec<Option<usize>> = stops.splits.iter().map(|&(_, _, beta)| beta).collect();
            RuleSize::new(StopRule::Beta, &sizes, &self.visited)
        });
        let key = (method, app.finished, (info.spec.stop == StopRule::Beta).then_some(app.rule));
        if self.answer_for == Some(key) {
            return;
        }
        self.answer_for = Some(key);
        self.answer = stops.map(|_| MethodAnswer::new(&app.history, info, method, &app.rule));
    }

    fn refresh_agreement(&mut self, app: &App, info: &RunInfo) {
        let key = (app.focus.method, app.finished);
        if self.agreement_for == Some(key) {
            return;
        }
        self.agreement_for = Some(key);
        let ranks = |method: Method| {
            app.history.of_method(method).map(|(_, trace)| trace.ranks().to_vec()).collect::<Vec<_>>()
        };
        let sizes = common_sizes(&app.history, app.focus.method);
        // Counted once: it looks at every unit.
        let kept = info.kept();
        let removable: Vec<usize> = sizes.iter().map(|size| size - kept).collect();
        self.agreement =
            sizes.iter().copied().zip(agreement_by_size(&ranks(app.focus.method), &removable)).collect();
        self.similarity.clear();
        if let [a, b, ..] = app.history.methods()[..] {
            let second: Vec<usize> = app.history.of_method(b).map(|(split, _)| split).collect();
            let pair = |method: Method| -> Vec<Vec<Option<u32>>> {
                let splits = app.history.of_method(method).filter(|(split, _)| {
                    second.contains(split)
                        && app.history.trace(TaskId { method: a, split: *split }).is_some_and(Trace::finished)
                });
                splits.map(|(_, trace)| trace.ranks().to_vec()).collect()
            };
            // Sizes fall along both lists.
            let first = common_sizes(&app.history, a);
            let shared = |size: &usize| first.binary_search_by(|other| size.cmp(other)).is_ok();
            let both: Vec<usize> = common_sizes(&app.history, b).into_iter().filter(shared).collect();
            let removable: Vec<usize> = both.iter().map(|size| size - kept).collect();
            self.similarity =
                both.iter().copied().zip(similarity_by_size(&pair(a), &pair(b), &removable)).collect();
        }
    }
}

/// The β rule on a trace: with the recorded window only k differs, so the recorded statistic is compared anew.
fn beta_size(trace: &Trace, app: &App, units: usize) -> Option<usize> {
    let recorded = app.spec.beta_rule;
    if app.rule.window != recorded.window || trace.reason() == Some(crate::run::Reason::Early) {
        return trace.stop(StopRule::Beta, &app.rule, units);
    }
    let fires =
        |stop: &crate::select::Stopping| stop.statistic < stop.threshold * (app.rule.sigma / recorded.sigma);
    trace.steps().iter().find(|step| step.stop.as_ref().is_some_and(fires)).map(|step| step.size)
}

/// For each unit that any split chose: how many splits by the knee, how many by the β rule; the most frequent first.
fn chosen(history: &History, stops: Option<&Stops>, info: &RunInfo) -> Vec<(usize, usize, usize)> {
    let Some(stops) = stops else { return Vec::new() };
    let (mut counts, kept) = (vec![(0, 0); info.units.len()], info.kept());
    for &(split, knee, beta) in &stops.splits {
        let Some(trace) = history.trace(TaskId { method: stops.method, split }) else { continue };
        for (unit, rank) in trace.ranks().iter().enumerate() {
            let within = |size: Option<usize>| {
                size.is_some_and(|size| rank.is_none_or(|rank| rank as usize + kept <= size))
            };
            counts[unit].0 += usize::from(within(knee));
            counts[unit].1 += usize::from(within(beta));
        }
    }
    let mut chosen: Vec<(usize, usize, usize)> = counts
        .into_iter()
        .enumerate()
        .filter(|(_, (knee, beta))| knee + beta > 0)
        .map(|(unit, (knee, beta))| (unit, knee, beta))
        .collect();
    chosen.sort_by(|a, b| b.1.cmp(&a.1).then(b.2.cmp(&a.2)).then(a.0.cmp(&b.0)));
    chosen
}
