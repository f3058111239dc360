//! The CSV and JSON files of a run, each written whole or not at all.
//!
//! Rows are sorted by method and split, numbers are the shortest text that reads back equal, and
//! nothing depends on time or threads: the same tasks give the same bytes.

use std::path::Path;

use super::files::writing;
use super::rows::{Cell, Table};
use super::together::{Job, together};
use crate::analysis::{
    Answer, Choice, History, Metric, Pair, Paths, RankTable, Trace, class_bands, coverage_band,
    known_rules,
};
use crate::data::word_list::{as_lines, in_list};
use crate::error::{Error, Result};
use crate::evaluate::Bootstrap;
use crate::files::Directory;
use crate::format::FORMAT;
use crate::run::{EffectCurve, Plan, RunInfo, predictions};
use crate::select::Method;

/// The files that [`write_tables`] makes.
pub const TABLES: [&str; 17] = [
    MANIFEST,
    "summary.json",
    "metrics.csv",
    "per_class.csv",
    "trace.csv",
    "ranking.csv",
    "consistency.csv",
    "similarity.csv",
    "selection.csv",
    "stopping.csv",
    "predictions.csv",
    "compare.csv",
    SITES,
    SUBGROUPS,
    "effects.csv",
    "selected.txt",
    "summary.txt",
];

/// What was run on what; it marks the directory as ours.
const MANIFEST: &str = "manifest.json";
/// How the list transfers to sites; only where sites were left out.
const SITES: &str = "sites.csv";
/// Coverage by subgroup; only where subgroups were asked for.
const SUBGROUPS: &str = "subgroups.csv";

/// selection.csv holds these sizes, and the chosen ones.
const SELECTION_SIZES: usize = 100;

/// Writes all tables into a directory, on at most `threads` threads. Without a plan (the data are
/// not available) predictions.csv and effects.csv are not made.
pub fn write_tables(
    directory: &Path,
    history: &History,
    answer: &Answer,
    plan: Option<&Plan>,
    threads: usize,
) -> Result<()> {
    let Some(info) = history.info() else {
        return Err(Error::internal("there is no run to write tables of"));
    };
    let effects =
        plan.map_or_else(|| Ok(Vec::new()), |plan| super::effects_of_lists(plan, answer))?;
    writing(directory, |directory| {
        together(&Tables { history, info, answer, directory }.jobs(plan, &effects), threads)
    })
}

/// Marks a directory as one of this run by a manifest without results, so that a list or a view in
/// it is known to be ours.
pub fn write_settings(directory: &Path, info: &RunInfo, choice: &Choice) -> Result<()> {
    let settings = pretty(&settings(info, choice));
    writing(directory, |directory| directory.write(MANIFEST, settings.as_bytes()))
}

/// What was run on what, without results.
fn settings(info: &RunInfo, choice: &Choice) -> serde_json::Value {
    let classes: Vec<_> = info
        .classes
        .iter()
        .zip(&info.class_counts)
        .map(|(class, count)| serde_json::json!({"class": class, "rows": count}))
        .collect();
    let units: Vec<_> = info
        .units
        .iter()
        .map(|unit| {
            let columns: Vec<&str> =
                unit.columns.iter().map(|&column| info.columns[column].as_str()).collect();
            serde_json::json!({"name": unit.name, "columns": columns, "kept": unit.kept})
        })
        .collect();
    let mut settings = serde_json::json!({
        "program": "crfe-tui",
        "version": env!("CARGO_PKG_VERSION"),
        "format": FORMAT,
        "fingerprint": info.fingerprint,
        "input": {"name": info.input, "sha256": info.input_sha256},
        "splits_sha256": info.splits_sha256,
        "rows": info.rows,
        "target": info.target,
        "classes": classes,
        "units": units,
        "dropped": info.dropped,
        "guaranteed": info.spec.guaranteed(),
        "spec": info.spec,
        "notes": info.audit.notes,
    });
    if *choice != Choice::of(&info.spec) {
        settings["choice"] = serde_json::json!(choice);
    }
    settings
}

fn pretty(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

type Fill<'a> = fn(&Tables<'a>, &mut Table<'_>) -> Result<()>;

/// What tables are made of, and where.
pub struct Tables<'a> {
    /// Everything that happened.
    pub history: &'a History,
    pub info: &'a RunInfo,
    /// What came of it.
    pub answer: &'a Answer,
    /// Where they go.
    pub directory: &'a Directory,
}

impl<'a> Tables<'a> {
    /// One job for every table, long ones first.
    pub fn jobs(
        &'a self,
        plan: Option<&'a Plan>,
        effects: &'a [(Method, Vec<EffectCurve>)],
    ) -> Vec<Job<'a>> {
        let mut jobs: Vec<Job<'a>> = Vec::new();
        jobs.push(Box::new(move || match plan {
            Some(plan) => {
                self.csv("effects.csv", |tables, rows| tables.effects(rows, effects))?;
                self.csv("predictions.csv", |tables, rows| tables.predictions(rows, plan))
            }
            None => {
                // Those of an earlier report may not belong to these tables. It does not matter if
                // there are none.
                for name in
                    ["predictions.csv", "predictions.csv.gz", "effects.csv", "effects.csv.gz"]
                {
                    let _ = self.directory.remove(name);
                }
                Ok(())
            }
        }));
        let asked: [(&str, bool, Fill<'a>); 2] = [
            (SITES, !self.info.sites.is_empty(), Self::sites),
            (SUBGROUPS, !self.info.subgroups.is_empty(), Self::subgroups),
        ];
        for (name, is_asked, fill) in asked {
            jobs.push(Box::new(move || {
                if is_asked {
                    return self.csv(name, fill);
                }
                // One of an earlier report, if there is any, does not belong to these tables.
                for name in [name.to_owned(), format!("{name}.gz")] {
                    let _ = self.directory.remove(&name);
                }
                Ok(())
            }));
        }
        let tables: [(&str, Fill<'a>); 9] = [
            ("per_class.csv", Self::per_class),
            ("metrics.csv", Self::metrics),
            ("compare.csv", Self::compare),
            ("selection.csv", Self::selection),
            ("trace.csv", Self::trace),
            ("ranking.csv", Self::ranking),
            ("consistency.csv", Self::consistency),
            ("similarity.csv", Self::similarity),
            ("stopping.csv", Self::stopping),
        ];
        jobs.extend(
            tables
                .into_iter()
                .map(|(name, fill)| -> Job<'a> { Box::new(move || self.csv(name, fill)) }),
        );
        jobs.push(Box::new(|| {
            self.text(MANIFEST, &pretty(&self.manifest()))?;
            self.text("summary.json", &pretty(self.answer))?;
            self.text("summary.txt", &super::summary(self.answer))?;
            let selected = self.answer.selected();
            let names = as_lines(selected.iter().map(|feature| feature.name.as_str()));
            self.text("selected.txt", &names)
        }));
        jobs
    }

    fn text(&self, name: &str, text: &str) -> Result<()> {
        self.directory.write(name, text.as_bytes())
    }

    fn csv(
        &self,
        name: &str,
        fill: impl FnOnce(&Self, &mut Table<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut rows = Table::create(self.directory, name);
        fill(self, &mut rows)?;
        rows.finish()
    }

    /// What was run on what, without times or places.
    fn manifest(&self) -> serde_json::Value {
        let mut manifest = settings(self.info, &self.answer.choice);
        let failed = self.history.failed().iter();
        manifest["failed"] =
            failed.map(|(task, why)| serde_json::json!({"task": task, "message": why})).collect();
        manifest["cautions"] = serde_json::json!(self.answer.cautions);
        manifest
    }

    fn tasks(&self) -> impl Iterator<Item = (Method, usize, &Trace)> {
        self.history.finished_tasks().map(|(task, trace)| (task.method, task.split, trace))
    }

    fn name(&self, unit: usize) -> &str {
        &self.info.units[unit].name
    }

    fn names(&self, units: &[usize]) -> String {
        units.iter().map(|&unit| in_list(self.name(unit), &[';'])).collect::<Vec<_>>().join(";")
    }

    fn sites(&self, rows: &mut Table<'_>) -> Result<()> {
        rows.header(&[
            "method",
            "site",
            "rows",
            "n_features",
            "accuracy",
            "accuracy_lo",
            "accuracy_hi",
            "accuracy_within",
            "p_difference",
            "coverage",
            "coverage_lo",
            "coverage_hi",
            "p_coverage",
            "set_size",
            "shifted",
            "features",
        ])?;
        for answer in &self.answer.methods {
            for site in answer.transfer.iter().flat_map(|transfer| &transfer.sites) {
                let own = site.measured.as_ref();
                let features: Vec<String> =
                    site.features.iter().map(|name| in_list(name, &[';'])).collect();
                rows.row(&[
                    Cell::Text(answer.method.name()),
                    Cell::Text(&site.site),
                    Cell::Int(site.rows),
                    Cell::Int(site.features.len()),
                    Cell::Real(own.map(|own| own.accuracy.value)),
                    Cell::Real(own.map(|own| own.accuracy.lo)),
                    Cell::Real(own.map(|own| own.accuracy.hi)),
                    Cell::Real(own.and_then(|own| own.accuracy_within)),
                    Cell::Real(own.and_then(|own| own.p_difference)),
                    Cell::Real(own.map(|own| own.coverage.value)),
                    Cell::Real(own.and_then(|own| Some(own.coverage_band?.0))),
                    Cell::Real(own.and_then(|own| Some(own.coverage_band?.1))),
                    Cell::Real(own.and_then(|own| own.p_coverage)),
                    Cell::Real(own.map(|own| own.set_size)),
                    Cell::Flag(own.is_some_and(|own| own.shifted)),
                    Cell::Owned(features.join(";")),
                ])?;
            }
        }
        Ok(())
    }

    fn subgroups(&self, rows: &mut Table<'_>) -> Result<()> {
        rows.header(&[
            "method",
            "column",
            "level",
            "rows",
            "coverage",
            "coverage_lo",
            "coverage_hi",
            "p_coverage",
            "set_size",
            "below",
        ])?;
        for answer in &self.answer.methods {
            for subgroup in &answer.subgroups {
                rows.row(&[
                    Cell::Text(answer.method.name()),
                    Cell::Text(&subgroup.column),
                    Cell::Text(&subgroup.level),
                    Cell::Int(subgroup.rows),
                    Cell::Real(Some(subgroup.coverage.value)),
                    Cell::Real(subgroup.coverage_band.map(|band| band.0)),
                    Cell::Real(subgroup.coverage_band.map(|band| band.1)),
                    Cell::Real(subgroup.p_coverage),
                    Cell::Real(Some(subgroup.set_size)),
                    Cell::Flag(subgroup.below),
                ])?;
            }
        }
        Ok(())
    }

    fn metrics(&self, rows: &mut Table<'_>) -> Result<()> {
        // The band stands beside the coverage.
        let coverage = Metric::Coverage;
        let others = Metric::ALL.iter().filter(|&&m| m != Metric::Coverage);
        let mut header = vec!["method", "split", "n_features"];
        header.extend([coverage.key(), "coverage_lo", "coverage_hi", "guaranteed"]);
        header.extend(others.clone().map(|metric| metric.key()));
        rows.header(&header)?;
        let spec = &self.info.spec;
        for (method, split, trace) in self.tasks() {
            let band = coverage_band(spec, trace.parts());
            for step in trace.steps() {
                let mut cells = vec![
                    Cell::Text(method.name()),
                    Cell::Int(split),
                    Cell::Int(step.size),
                    Cell::Real(Some(coverage.value(&step.tally))),
                    Cell::Real(band.as_ref().map(|band| band.lo)),
                    Cell::Real(band.as_ref().map(|band| band.hi)),
                    Cell::Flag(spec.guaranteed()),
                ];
                cells.extend(
                    others.clone().map(|metric| Cell::Real(Some(metric.value(&step.tally)))),
                );
                rows.row(&cells)?;
            }
        }
        Ok(())
    }

    fn per_class(&self, rows: &mut Table<'_>) -> Result<()> {
        rows.header(&[
            "method",
            "split",
            "n_features",
            "class",
            "n",
            "coverage",
            "set_size",
            "precision",
            "recall",
            "f1",
            "coverage_lo",
            "coverage_hi",
        ])?;
        for (method, split, trace) in self.tasks() {
            let bands = class_bands(&self.info.spec, trace.parts());
            for step in trace.steps() {
                for (class, metrics) in step.tally.per_class().into_iter().enumerate() {
                    let band = bands[class].as_ref();
                    rows.row(&[
                        Cell::Text(method.name()),
                        Cell::Int(split),
                        Cell::Int(step.size),
                        Cell::Text(&self.info.classes[class]),
                        Cell::Int(metrics.n as usize),
                        Cell::Real(Some(metrics.coverage)),
                        Cell::Real(Some(metrics.set_size)),
                        Cell::Real(Some(metrics.precision)),
                        Cell::Real(Some(metrics.recall)),
                        Cell::Real(Some(metrics.f1)),
                        Cell::Real(band.map(|band| band.lo)),
                        Cell::Real(band.map(|band| band.hi)),
                    ])?;
                }
            }
        }
        Ok(())
    }

    fn trace(&self, rows: &mut Table<'_>) -> Result<()> {
        rows.header(&[
            "method",
            "split",
            "step",
            "n_features",
            "removed",
            "criterion",
            "runner_up",
            "margin",
            "beta_mean",
            "statistic",
            "threshold",
            "fired",
            "converged",
        ])?;
        for (method, split, trace) in self.tasks() {
            for step in trace.steps() {
                let stop = self.answer.choice.beta_test(self.info, trace, step.t);
                rows.row(&[
                    Cell::Text(method.name()),
                    Cell::Int(split),
                    Cell::Int(step.t),
                    Cell::Int(step.size),
                    Cell::Owned(self.names(&step.removed)),
                    Cell::Real(step.criterion),
                    Cell::Text(step.runner_up.map_or("", |unit| self.name(unit))),
                    Cell::Real(step.margin),
                    Cell::Real(Some(step.beta_mean)),
                    Cell::Real(stop.map(|stop| stop.statistic)),
                    Cell::Real(stop.map(|stop| stop.threshold)),
                    Cell::Flag(stop.is_some_and(|stop| stop.fired)),
                    Cell::Flag(step.converged),
                ])?;
            }
        }
        Ok(())
    }

    fn ranking(&self, rows: &mut Table<'_>) -> Result<()> {
        rows.header(&["method", "split", "feature", "rank"])?;
        for (method, split, trace) in self.tasks() {
            for (unit, rank) in trace.ranks().iter().enumerate() {
                let rank = rank.map_or(Cell::Text(""), |rank| Cell::Int(rank as usize));
                rows.row(&[
                    Cell::Text(method.name()),
                    Cell::Int(split),
                    Cell::Text(self.name(unit)),
                    rank,
                ])?;
            }
        }
        Ok(())
    }

    /// The finished paths of a method.
    fn paths(&self, method: Method) -> Paths<'_> {
        Paths::new(self.history, self.info, method)
    }

    fn consistency(&self, rows: &mut Table<'_>) -> Result<()> {
        rows.header(&[
            "method",
            "n_features",
            "jaccard",
            "i_w",
            "kuncheva",
            "nogueira",
            "nogueira_lo",
            "nogueira_hi",
        ])?;
        for method in self.history.methods() {
            let paths = self.paths(method);
            for (size, agreement) in paths.agreement(&paths.common_sizes()) {
                rows.row(&[
                    Cell::Text(method.name()),
                    Cell::Int(size),
                    Cell::Real(Some(agreement.jaccard)),
                    Cell::Real(Some(agreement.i_w)),
                    Cell::Real(agreement.kuncheva),
                    Cell::Real(agreement.nogueira),
                    Cell::Real(agreement.nogueira_lo),
                    Cell::Real(agreement.nogueira_hi),
                ])?;
            }
        }
        Ok(())
    }

    fn similarity(&self, rows: &mut Table<'_>) -> Result<()> {
        rows.header(&[
            "method_a",
            "method_b",
            "n_features",
            "jaccard",
            "jaccard_sd",
            "kuncheva",
            "kuncheva_sd",
            "i_w",
        ])?;
        for pair in Pair::all(self.history, self.info) {
            for (size, similarity) in pair.similarity(&pair.sizes()) {
                rows.row(&[
                    Cell::Text(pair.a.name()),
                    Cell::Text(pair.b.name()),
                    Cell::Int(size),
                    Cell::Real(Some(similarity.jaccard.mean)),
                    Cell::Real(similarity.jaccard.sd),
                    Cell::Real(similarity.kuncheva.as_ref().map(|kuncheva| kuncheva.mean)),
                    Cell::Real(similarity.kuncheva.as_ref().and_then(|kuncheva| kuncheva.sd)),
                    Cell::Real(Some(similarity.i_w)),
                ])?;
            }
        }
        Ok(())
    }

    fn selection(&self, rows: &mut Table<'_>) -> Result<()> {
        rows.header(&["method", "n_features", "feature", "count", "frequency"])?;
        for answer in &self.answer.methods {
            let method = answer.method;
            let paths = self.paths(method);
            let ranks = RankTable::new(&paths);
            let mut sizes = paths.common_sizes();
            sizes.retain(|&size| size <= SELECTION_SIZES);
            sizes.extend(answer.chosen.size.filter(|size| !sizes.contains(size)));
            sizes.sort_unstable_by(|a, b| b.cmp(a));
            for size in sizes {
                for unit in 0..self.info.units.len() {
                    let count = ranks.count(unit, size);
                    if count > 0 {
                        rows.row(&[
                            Cell::Text(method.name()),
                            Cell::Int(size),
                            Cell::Text(self.name(unit)),
                            Cell::Int(count),
                            Cell::Real(Some(ranks.frequency(unit, size))),
                        ])?;
                    }
                }
            }
        }
        Ok(())
    }

    fn stopping(&self, rows: &mut Table<'_>) -> Result<()> {
        rows.header(&["method", "split", "rule", "fired", "n_features", "features"])?;
        let rules = known_rules(&self.answer.choice);
        for method in self.history.methods() {
            let paths = self.paths(method);
            let ranks = RankTable::new(&paths);
            let sizes: Vec<Vec<Option<usize>>> = rules
                .iter()
                .map(|&rule| paths.sizes_by_split(rule, &self.answer.choice.beta))
                .collect();
            for (i, (split, _)) in paths.splits().enumerate() {
                for (rule, sizes) in rules.iter().zip(&sizes) {
                    let size = sizes[i];
                    rows.row(&[
                        Cell::Text(method.name()),
                        Cell::Int(split),
                        Cell::Owned(rule.name()),
                        Cell::Flag(size.is_some()),
                        size.map_or(Cell::Text(""), Cell::Int),
                        Cell::Owned(
                            size.map_or_else(String::new, |size| {
                                self.names(&ranks.subset(i, size))
                            }),
                        ),
                    ])?;
                }
            }
        }
        Ok(())
    }

    fn compare(&self, rows: &mut Table<'_>) -> Result<()> {
        rows.header(&[
            "metric",
            "n_features",
            "mean_difference",
            "sd",
            "lo",
            "hi",
            "t_corrected",
            "p_corrected",
            "method_a",
            "method_b",
        ])?;
        let mut bootstrap = Bootstrap::new(self.info.spec.split.seed);
        for pair in Pair::all(self.history, self.info) {
            let Some(share) = pair.test_share() else { continue };
            for size in pair.sizes() {
                for (metric, differences) in pair.differences(size) {
                    let Some(paired) = bootstrap.paired(&differences, share) else { continue };
                    rows.row(&[
                        Cell::Text(metric.key()),
                        Cell::Int(size),
                        Cell::Real(Some(paired.mean)),
                        Cell::Real(paired.sd),
                        Cell::Real(paired.lo),
                        Cell::Real(paired.hi),
                        Cell::Real(paired.t_corrected),
                        Cell::Real(paired.p_corrected),
                        Cell::Text(pair.a.name()),
                        Cell::Text(pair.b.name()),
                    ])?;
                }
            }
        }
        Ok(())
    }

    /// The effect of every feature of a list, by value and class.
    fn effects(&self, rows: &mut Table<'_>, effects: &[(Method, Vec<EffectCurve>)]) -> Result<()> {
        rows.header(&["method", "feature", "value", "level", "rows", "class", "score", "sd"])?;
        for (method, curves) in effects {
            for curve in curves {
                for point in &curve.points {
                    for (class, name) in self.info.classes.iter().enumerate() {
                        rows.row(&[
                            Cell::Text(method.name()),
                            Cell::Text(&self.info.units[curve.unit].name),
                            Cell::Real(Some(point.value)),
                            Cell::Text(point.level.as_deref().unwrap_or_default()),
                            Cell::Int(point.rows),
                            Cell::Text(name),
                            Cell::Real(Some(point.score[class])),
                            Cell::Real(Some(point.sd[class])),
                        ])?;
                    }
                }
            }
        }
        Ok(())
    }

    fn predictions(&self, rows: &mut Table<'_>, plan: &Plan) -> Result<()> {
        let columns: Vec<String> =
            self.info.classes.iter().map(|class| format!("p_{class}")).collect();
        let mut header = vec!["method", "split", "row", "id", "class", "set"];
        header.extend(columns.iter().map(String::as_str));
        rows.header(&header)?;
        for answer in &self.answer.methods {
            let Some(size) = answer.chosen.size else { continue };
            let paths = self.paths(answer.method);
            let ranks = RankTable::new(&paths);
            for (i, (split, _)) in paths.splits().enumerate() {
                for prediction in predictions(plan, split, &ranks.subset(i, size))? {
                    let set: Vec<&str> = prediction
                        .p_values
                        .iter()
                        .zip(&self.info.classes)
                        .filter(|&(&p, _)| p > self.info.spec.epsilon)
                        .map(|(_, class)| class.as_str())
                        .collect();
                    let mut cells = vec![
                        Cell::Text(answer.method.name()),
                        Cell::Int(split),
                        Cell::Int(plan.data.rows[prediction.row]),
                        Cell::Text(plan.data.ids.as_ref().map_or("", |ids| &ids[prediction.row])),
                        Cell::Text(&self.info.classes[plan.data.y[prediction.row]]),
                        Cell::Owned(set.join(";")),
                    ];
                    cells.extend(prediction.p_values.iter().map(|&p| Cell::Real(Some(p))));
                    rows.row(&cells)?;
                }
            }
        }
        Ok(())
    }
}
