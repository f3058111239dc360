//! What a frame needs and does not change with every frame: sorted rows, scores by unit, and the
//! facts of the focused method.
//!
//! Computed before drawing, only what the view shows and only when it is stale; `draw` itself stays
//! O(visible).

use super::app::App;
use super::table::{RankingColumn, SortKey};
use crate::analysis::{Cached, MethodCache, Paths, RankTable};
use crate::run::{Betas, RunInfo, TaskId};
use crate::select::Method;

/// The ranking of what the cursor shows.
#[derive(Debug, Default)]
pub struct Ranking {
    /// The rows, top first.
    pub rows: Vec<usize>,
    /// The score that decides, by unit, as far as known: β, or Σw² for RFE.
    pub score: Vec<Option<f32>>,
    /// The largest |score|.
    pub score_scale: f32,
}

/// The features by how many splits keep them at the size of the answer.
#[derive(Debug, Default)]
pub struct AnswerRows {
    /// Kept ones first.
    pub rows: Vec<usize>,
    /// How many of them are in the answer.
    pub length: usize,
}

/// A path with its step, what else the scores and counts are made of, and the order.
type RankingKey = (TaskId, Option<usize>, u64, SortKey, bool);

/// What was computed, and for what.
#[derive(Debug, Default)]
pub struct Derived {
    pub ranking: Cached<RankingKey, Ranking>,
    pub answer_rows: Cached<(Method, u64, Option<usize>, u64), AnswerRows>,
    /// Units by mean rank over the finished splits of the focused method, kept ones first.
    pub by_mean_rank: Cached<(Method, u64), Vec<usize>>,
    /// What is known of the focused method.
    pub facts: MethodCache,
}

impl Derived {
    /// Brings what the view shows up to date.
    pub fn refresh(&mut self, app: &App) {
        let Some(info) = app.info() else { return };
        let paths = Paths::new(app.history(), info, app.focus().method);
        self.facts.refresh_ranks(&paths, app.finished());
        self.by_mean_rank.refresh((paths.method, app.finished()), || {
            if paths.is_empty() { (0..info.units.len()).collect() } else { self.facts.ranks.all() }
        });
        // A line of every view tells the answer.
        self.facts.refresh_answer(app.history(), &paths, app.finished(), app.rule(), app.taken());
        app.view().page().refresh(self, app, info, &paths);
    }

    /// The size of the answer.
    pub fn answer_size(&self) -> Option<usize> {
        self.facts.answer.as_ref().and_then(|answer| answer.chosen.size)
    }

    /// The list of the answer, and behind it the features that were not chosen.
    pub fn refresh_answer_rows(&mut self, app: &App, info: &RunInfo) {
        let size = self.answer_size();
        let key = (app.focus().method, app.finished(), size, app.table().order().2);
        self.answer_rows.refresh(key, || {
            let kept = (0..info.units.len()).filter(|&unit| info.units[unit].kept);
            let by_frequency = self.facts.frequency.iter().map(|kept| kept.unit);
            let shown = |unit: &usize| app.table().shows(&info.units[*unit].name);
            let chosen = size.unwrap_or(0).saturating_sub(info.kept());
            let list = kept.chain(by_frequency.clone().take(chosen)).filter(shown);
            let mut rows: Vec<usize> = list.collect();
            let length = rows.len();
            rows.extend(by_frequency.skip(chosen).filter(shown));
            AnswerRows { rows, length }
        });
    }

    /// Scores and rows of the ranking.
    pub fn refresh_ranking(&mut self, app: &App, info: &RunInfo, paths: &Paths<'_>) {
        let inspected = app.inspected_here();
        let of_splits = matches!(
            app.table().column(),
            RankingColumn::MeanRank | RankingColumn::InSplits | RankingColumn::Twins
        );
        let data = if of_splits { app.finished() + app.twins_found() } else { 0 };
        let key =
            (app.focus(), app.step().map(|_| app.cursor()), data, app.table().order(), inspected);
        let ranks = &self.by_mean_rank;
        self.ranking.refresh(key, || Ranking::new(app, info, paths, ranks));
    }
}

impl Ranking {
    fn new(app: &App, info: &RunInfo, paths: &Paths<'_>, by_mean_rank: &[usize]) -> Self {
        let present = app.present();
        let score = scores(app, info, &present);
        let score_scale =
            score.iter().flatten().fold(0.0_f32, |scale, score| scale.max(score.abs()));
        let mut ranking = Self { rows: (0..info.units.len()).collect(), score, score_scale };
        ranking.sort(app, info, paths, &present, by_mean_rank);
        ranking.rows.retain(|&unit| app.table().shows(&info.units[unit].name));
        if app.table().is_reversed() {
            ranking.rows.reverse();
        }
        ranking
    }

    fn sort(
        &mut self,
        app: &App,
        info: &RunInfo,
        paths: &Paths<'_>,
        present: &[usize],
        by_mean_rank: &[usize],
    ) {
        // Where nothing else decides, the better mean rank comes first.
        let mut places = vec![0_u32; info.units.len()];
        by_mean_rank.iter().enumerate().for_each(|(place, &unit)| places[unit] = place as u32);
        match app.table().column() {
            RankingColumn::File => {}
            RankingColumn::Feature => {
                self.rows.sort_by(|&a, &b| info.units[a].name.cmp(&info.units[b].name))
            }
            RankingColumn::MeanRank => self.rows = by_mean_rank.to_vec(),
            RankingColumn::Mark => {
                self.rows.sort_by_key(|&unit| (!app.table().is_marked(unit), places[unit]))
            }
            RankingColumn::Twins => {
                let twins = |unit: usize| app.history().twins().of(unit).map_or(0, |own| own.count);
                self.rows.sort_by_key(|&unit| (usize::MAX - twins(unit), places[unit]));
            }
            RankingColumn::InSplits => {
                let ranks = RankTable::new(paths);
                let size = app.size();
                let counts: Vec<usize> =
                    (0..info.units.len()).map(|unit| ranks.count(unit, size)).collect();
                self.rows.sort_by_key(|&unit| (usize::MAX - counts[unit], places[unit]));
            }
            RankingColumn::Score => {
                let score = |unit: usize| self.score[unit].unwrap_or(f32::NEG_INFINITY);
                self.rows.sort_by(|&a, &b| {
                    score(b).total_cmp(&score(a)).then(places[a].cmp(&places[b]))
                });
            }
            RankingColumn::Step => self.rows = self.by_step(app, info, present),
        }
    }

    /// What is removed now, what is left by its score, and what was removed, latest first.
    fn by_step(&self, app: &App, info: &RunInfo, present: &[usize]) -> Vec<usize> {
        let going: Vec<usize> = app.step().map_or_else(Vec::new, |step| step.removed.clone());
        let mut turns = vec![usize::MAX; info.units.len()];
        going.iter().enumerate().for_each(|(turn, &unit)| turns[unit] = turn);
        let mut here = present.to_vec();
        // The next to be removed has the highest β, or the lowest Σw².
        let sign = if app.focus().method.by_weights() { -1.0 } else { 1.0 };
        let score = |unit: usize| self.score[unit].map_or(f32::NEG_INFINITY, |score| sign * score);
        here.sort_by(|&a, &b| {
            turns[a].cmp(&turns[b]).then(score(b).total_cmp(&score(a))).then(a.cmp(&b))
        });
        // The path itself is the order in which they were removed.
        let steps = app.trace().map_or(&[][..], |trace| trace.steps());
        let gone = steps[..app.cursor().min(steps.len())].iter().rev();
        here.extend(gone.flat_map(|step| step.removed.iter().rev().copied()));
        here
    }
}

/// The score that decides, of every unit of which it is known under the cursor.
fn scores(app: &App, info: &RunInfo, present: &[usize]) -> Vec<Option<f32>> {
    let units = info.units.len();
    let mut scores = vec![None; units];
    let by_weights = app.focus().method.by_weights();
    let inspection =
        app.inspected().filter(|_| app.inspected_here()).map(|(_, _, inspection)| inspection);
    if let Some(inspection) = inspection {
        let values = if by_weights { &inspection.squared_weight } else { &inspection.beta };
        inspection
            .units
            .iter()
            .zip(values)
            .for_each(|(&unit, &value)| scores[unit] = Some(value as f32));
    }
    let Some(step) = app.step() else { return scores };
    match &step.beta {
        // What is recorded is β.
        _ if by_weights => {
            if let (None, Some(&unit), Some(value)) =
                (inspection, step.removed.first(), step.criterion)
            {
                scores[unit] = Some(value as f32);
            }
        }
        Some(Betas::Whole(values)) => {
            present.iter().zip(values).for_each(|(&unit, &beta)| scores[unit] = Some(beta));
        }
        Some(Betas::Top(top)) if inspection.is_none() => {
            let known = top.iter().filter(|(unit, _)| (*unit as usize) < units);
            known.for_each(|&(unit, beta)| scores[unit as usize] = Some(beta));
        }
        _ => {}
    }
    scores
}
