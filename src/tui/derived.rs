//! What a frame needs and does not change with every frame: sorted rows, β by unit, and the facts of the focused method.
//!
//! Computed before drawing, only what the view shows and only when it is stale; `draw` itself stays O(visible).

use super::action::View;
use super::app::{App, Sort};
use crate::analysis::{Facts, Paths};
use crate::run::{Betas, RunInfo, TaskId};

/// What was computed, and for what.
#[derive(Debug, Default)]
pub struct Derived {
    /// The ranking, top first.
    pub rows: Vec<usize>,
    /// β under the cursor by unit, as far as known.
    pub beta: Vec<Option<f32>>,
    /// The largest |β|.
    pub beta_scale: f32,
    /// Units by mean rank over the finished splits of the focused method, kept ones first.
    pub by_mean_rank: Vec<usize>,
    /// What is known of the focused method.
    pub facts: Facts,
    ranking_for: Option<(TaskId, Option<usize>, u64, Sort, bool)>,
    order_for: Option<(TaskId, u64)>,
}

impl Derived {
    /// Brings what the view shows up to date.
    pub fn refresh(&mut self, app: &App) {
        let Some(info) = app.info() else { return };
        let paths = Paths::new(app.history(), info, app.focus().method);
        self.facts.refresh_ranks(&paths, app.finished());
        let key = (TaskId { split: 0, ..app.focus() }, app.finished());
        if self.order_for != Some(key) {
            self.order_for = Some(key);
            self.by_mean_rank =
                if paths.is_empty() { (0..info.units.len()).collect() } else { self.facts.ranks.all() };
        }
        self.refresh_ranking(app, info);
        if matches!(app.view(), View::Stopping | View::Explore) {
            self.facts.refresh_stops(&paths, app.finished(), app.rule());
        }
        if app.view() == View::Stopping {
            self.facts.refresh_answer(app.history(), &paths, app.finished(), app.rule());
        }
        if app.view() == View::Consistency {
            self.facts.refresh_agreement(app.history(), &paths, app.finished());
        }
    }

    fn refresh_ranking(&mut self, app: &App, info: &RunInfo) {
        let inspected = app.inspected_here();
        let data = if app.sort() == Sort::MeanRank { app.finished() } else { 0 };
        let key = (app.focus(), app.step().map(|_| app.cursor()), data, app.sort(), inspected);
        if self.ranking_for == Some(key) {
            return;
        }
        self.ranking_for = Some(key);
        let units = info.units.len();
        self.beta = vec![None; units];
        if let Some((_, _, inspection)) = app.inspected().filter(|_| inspected) {
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
        match app.sort() {
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
                let gone = steps[..app.cursor().min(steps.len())].iter().rev();
                here.extend(gone.flat_map(|step| step.removed.iter().rev().copied()));
                self.rows = here;
            }
        }
    }
}
