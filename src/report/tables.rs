//! The CSV and JSON files of a run, each written whole or not at all.
//!
//! Rows are sorted by method and split, numbers are the shortest text that reads back equal, and
//! nothing depends on time or threads: the same tasks give the same bytes.

use std::path::Path;

use super::columns::{self, columns};
use super::files::writing;
use super::rows::{Columns, Table};
use super::together::{Job, together};
use crate::analysis::{
    Answer, History, Pair, Paths, RankTable, Trace, class_bands, coverage_band, known_rules,
};
use crate::data::word_list::as_lines;
use crate::error::{Error, Result};
use crate::evaluate::Bootstrap;
use crate::files::{Directory, unwritable};
use crate::format::FORMAT;
use crate::run::{EffectCurve, Plan, RunInfo, predictions};
use crate::select::Method;

/// The files that [`write_tables`] makes.
pub fn tables() -> Vec<&'static str> {
    let others = [MANIFEST, "summary.json", "selected.txt", "summary.txt"];
    columns().into_iter().map(|(table, _)| table).chain(others).collect()
}

/// What was run on what; it marks the directory as ours.
pub const MANIFEST: &str = "manifest.json";
/// selection.csv holds these sizes, and the chosen ones.
const SELECTION_SIZES: usize = 100;

/// Writes all tables into a directory, on at most `threads` threads. Without a plan (the data are
/// not available) predictions.csv and effects.csv are not made.
pub fn write_tables(
    directory: &Path,
    history: &History,
    plan: Option<&Plan>,
    threads: usize,
) -> Result<()> {
    let (Some(info), Some(answer)) = (history.info(), Answer::new(history)) else {
        return Err(Error::internal("there is no run to write tables of"));
    };
    let effects =
        plan.map_or_else(|| Ok(Vec::new()), |plan| super::effects_of_lists(plan, &answer))?;
    writing(directory, |directory| {
        together(
            &Tables { history, info, answer: &answer, directory }.jobs(plan, &effects),
            threads,
        )
    })
}

/// Marks a directory as one of this run by a manifest without results, so that what is written into
/// it is known to be ours.
pub fn write_settings(directory: &Path, info: &RunInfo) -> Result<()> {
    writing(directory, |directory| directory.write(MANIFEST, pretty(&settings(info)).as_bytes()))
}

/// What was run on what, without results.
fn settings(info: &RunInfo) -> serde_json::Value {
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
    serde_json::json!({
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
    })
}

fn pretty(value: &impl serde::Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

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
                self.effects(effects)?;
                self.predictions(plan)
            }
            None => {
                self.leave_out(&columns::effects())?;
                self.leave_out(&columns::predictions(&[]))
            }
        }));
        let tables: [fn(&Self) -> Result<()>; 11] = [
            Self::sites,
            Self::subgroups,
            Self::per_class,
            Self::metrics,
            Self::compare,
            Self::selection,
            Self::trace,
            Self::ranking,
            Self::consistency,
            Self::similarity,
            Self::stopping,
        ];
        jobs.extend(tables.into_iter().map(|write| -> Job<'a> { Box::new(move || write(self)) }));
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

    fn create<R>(&self, columns: Columns<R>) -> Result<Table<'a, R>> {
        Table::create(self.directory, columns)
    }

    /// Removes a table that is not made: one of an earlier report, if there is any, does not belong
    /// to the others.
    fn leave_out<R>(&self, columns: &Columns<R>) -> Result<()> {
        for name in [columns.table.to_owned(), format!("{}.gz", columns.table)] {
            let _ = self.directory.remove(&name);
        }
        Ok(())
    }

    /// What was run on what, without times or places.
    fn manifest(&self) -> serde_json::Value {
        let mut manifest = settings(self.info);
        let failed = self.history.failed().iter();
        manifest["failed"] =
            failed.map(|(task, why)| serde_json::json!({"task": task, "message": why})).collect();
        // Only where some are: the files of a finished run do not depend on how it was finished.
        if let unfinished @ 1.. = self.history.unfinished() {
            manifest["unfinished"] = serde_json::json!(unfinished);
        }
        manifest["cautions"] = serde_json::json!(self.answer.cautions);
        manifest
    }

    fn tasks(&self) -> impl Iterator<Item = (Method, usize, &Trace)> {
        self.history.finished_tasks().map(|(task, trace)| (task.method, task.split, trace))
    }

    fn name(&self, unit: usize) -> &str {
        &self.info.units[unit].name
    }

    fn sites(&self) -> Result<()> {
        if self.info.sites.is_empty() {
            return self.leave_out(&columns::sites());
        }
        let mut table = self.create(columns::sites())?;
        for answer in &self.answer.methods {
            for site in answer.transfer.iter().flat_map(|transfer| &transfer.sites) {
                table.row(&(answer.method, site, site.measured.as_ref()))?;
            }
        }
        table.finish()
    }

    fn subgroups(&self) -> Result<()> {
        if self.info.subgroups.is_empty() {
            return self.leave_out(&columns::subgroups());
        }
        let mut table = self.create(columns::subgroups())?;
        for answer in &self.answer.methods {
            for subgroup in &answer.subgroups {
                table.row(&(answer.method, subgroup))?;
            }
        }
        table.finish()
    }

    fn metrics(&self) -> Result<()> {
        let mut table = self.create(columns::metrics())?;
        let spec = &self.info.spec;
        for (method, split, trace) in self.tasks() {
            let band = coverage_band(spec, trace.parts());
            for step in trace.steps() {
                table.row(&(method, split, step, band, spec.guaranteed()))?;
            }
        }
        table.finish()
    }

    fn per_class(&self) -> Result<()> {
        let mut table = self.create(columns::per_class())?;
        for (method, split, trace) in self.tasks() {
            let bands = class_bands(&self.info.spec, trace.parts());
            for step in trace.steps() {
                let of_classes = step.tally.per_class();
                for ((class, metrics), &band) in
                    self.info.classes.iter().zip(of_classes).zip(&bands)
                {
                    table.row(&(method, split, step.size, class, metrics, band))?;
                }
            }
        }
        table.finish()
    }

    fn trace(&self) -> Result<()> {
        let mut table = self.create(columns::trace())?;
        for (method, split, trace) in self.tasks() {
            for step in trace.steps() {
                table.row(&(method, split, step, self.info))?;
            }
        }
        table.finish()
    }

    fn ranking(&self) -> Result<()> {
        let mut table = self.create(columns::ranking())?;
        for (method, split, trace) in self.tasks() {
            for (unit, &rank) in trace.ranks().iter().enumerate() {
                table.row(&(method, split, self.name(unit), rank))?;
            }
        }
        table.finish()
    }

    /// The finished paths of a method.
    fn paths(&self, method: Method) -> Paths<'_> {
        Paths::new(self.history, self.info, method)
    }

    fn consistency(&self) -> Result<()> {
        let mut table = self.create(columns::consistency())?;
        for method in self.history.methods() {
            let paths = self.paths(method);
            for (size, agreement) in paths.agreement(&paths.common_sizes()) {
                table.row(&(method, size, agreement))?;
            }
        }
        table.finish()
    }

    fn similarity(&self) -> Result<()> {
        let pairs = Pair::all(self.history, self.info);
        let mut table = self.create(columns::similarity())?;
        for pair in &pairs {
            for (size, similarity) in pair.similarity(&pair.sizes()) {
                table.row(&(pair, size, similarity))?;
            }
        }
        table.finish()
    }

    fn selection(&self) -> Result<()> {
        let mut table = self.create(columns::selection())?;
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
                        let frequency = ranks.frequency(unit, size);
                        table.row(&(method, size, self.name(unit), count, frequency))?;
                    }
                }
            }
        }
        table.finish()
    }

    fn stopping(&self) -> Result<()> {
        let mut table = self.create(columns::stopping())?;
        let rules = known_rules(self.info);
        for method in self.history.methods() {
            let paths = self.paths(method);
            let ranks = RankTable::new(&paths);
            let sizes: Vec<Vec<Option<usize>>> =
                rules.iter().map(|&rule| paths.recorded_sizes(rule)).collect();
            for (i, (split, _)) in paths.splits().enumerate() {
                for (&rule, sizes) in rules.iter().zip(&sizes) {
                    let subset = sizes[i].map(|size| (size, ranks.subset(i, size)));
                    table.row(&(method, split, rule, subset, self.info))?;
                }
            }
        }
        table.finish()
    }

    fn compare(&self) -> Result<()> {
        let pairs = Pair::all(self.history, self.info);
        let mut table = self.create(columns::compare())?;
        let mut bootstrap = Bootstrap::new(self.info.spec.split.seed);
        for pair in &pairs {
            let Some(share) = pair.test_share() else { continue };
            for size in pair.sizes() {
                for (metric, differences) in pair.differences(size) {
                    if let Some(paired) = bootstrap.paired(&differences, share) {
                        table.row(&(pair, metric, size, paired))?;
                    }
                }
            }
        }
        table.finish()
    }

    /// The effect of every feature of a list, by value and class.
    fn effects(&self, effects: &[(Method, Vec<EffectCurve>)]) -> Result<()> {
        let mut table = self.create(columns::effects())?;
        for (method, curves) in effects {
            for curve in curves {
                for point in &curve.points {
                    for (class, name) in self.info.classes.iter().enumerate() {
                        table.row(&(*method, self.name(curve.unit), point, name, class))?;
                    }
                }
            }
        }
        table.finish()
    }

    fn predictions(&self, plan: &Plan) -> Result<()> {
        // They name patients: their owner's alone.
        let private = self.directory.private(false);
        let private = private.map_err(|error| unwritable(self.directory.path(), &error))?;
        let mut table = Table::create(&private, columns::predictions(&self.info.classes))?;
        for answer in &self.answer.methods {
            let Some(size) = answer.chosen.size else { continue };
            let paths = self.paths(answer.method);
            let ranks = RankTable::new(&paths);
            for (i, (split, _)) in paths.splits().enumerate() {
                for prediction in predictions(plan, split, &ranks.subset(i, size))? {
                    table.row(&(answer.method, split, plan, prediction))?;
                }
            }
        }
        table.finish()
    }
}
