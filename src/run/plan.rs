//! A checked spec meets its data: everything that can be refused is refused here, before anything is computed or written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::{FORMAT, RunInfo, RunOptions, RunSpec, TaskId};
use crate::data::{DONOR_LIMIT, Dataset, Impute, Splits, prepare, refuse_missing};
use crate::error::{Error, Result};
use crate::evaluate::never_excluded;
use crate::select::{Score, StopRule};
use crate::svm::{Problem, SolverKind, solver};

/// What will be run on what.
#[derive(Debug)]
pub struct Plan {
    /// The settings and what is known of the data.
    pub info: Arc<RunInfo>,
    /// The data.
    pub data: Dataset,
    /// The splits.
    pub splits: Splits,
}

impl Plan {
    /// Refuses what cannot be run, and warns of what will not mean much.
    pub fn new(spec: RunSpec, mut data: Dataset) -> Result<Self> {
        if spec.impute == Impute::None {
            refuse_missing(&data)?;
        }
        let splits = Splits::new(&data, &spec.split)?;
        let (units, kept) = (data.units.len(), data.units.iter().filter(|unit| unit.kept).count());
        if let StopRule::Size(size) = spec.stop
            && !(kept.max(1)..=units).contains(&size)
        {
            return Err(Error::usage(format!(
                "--stop {size} is not a size of this path, which goes from {units} to {}",
                kept.max(1)
            ))
            .remedy("choose a size in between"));
        }
        warn_of_rare_classes(&spec, &mut data, &splits)?;
        if spec.solver == SolverKind::Linfa {
            refuse_what_linfa_cannot_solve(&spec, &data, &splits)?;
        }
        let info = info(spec, &data, &splits);
        Ok(Self { info: Arc::new(info), data, splits })
    }

    /// The plan of a recorded run, its data where they were then or where the user says they are now.
    pub fn find(info: &RunInfo, given: Option<&Path>) -> Result<Self> {
        let then = |name: &Path| -> PathBuf {
            info.directory.as_ref().map_or_else(|| name.to_path_buf(), |directory| directory.join(name))
        };
        let path = given.map_or_else(|| then(Path::new(&info.input)), Path::to_path_buf);
        let mut options = RunOptions::from(info.spec.clone());
        options.schema.groups = options.schema.groups.as_deref().map(then);
        options.split.splits_from = options.split.splits_from.as_deref().map(then);
        let spec = options.check()?;
        let data = Dataset::load(&path, &spec.schema, |_, _| {})?;
        if data.sha256 != info.input_sha256 {
            return Err(Error::data("this is not the file that the run was made of")
                .file(path)
                .remedy("name it with --data"));
        }
        let plan = Self::new(spec, data)?;
        if plan.info.fingerprint != info.fingerprint {
            return Err(
                Error::data("its groups or splits are not those that the run was made with").file(path)
            );
        }
        Ok(plan)
    }

    /// All tasks: the methods of a split one after the other, so that they share its preparation.
    pub fn tasks(&self) -> Vec<TaskId> {
        let methods = &self.info.spec.methods;
        (0..self.splits.count())
            .flat_map(|split| methods.iter().map(move |&method| TaskId { method, split }))
            .collect()
    }
}

/// Conformal prediction cannot exclude a class, or anything, with too few conformal rows: say so before the run starts.
fn warn_of_rare_classes(spec: &RunSpec, data: &mut Dataset, splits: &Splits) -> Result<()> {
    let classes = data.classes.len();
    let mut fewest = vec![usize::MAX; classes];
    let mut fewest_in_all = usize::MAX;
    let mut most_training_rows = 0;
    for index in 0..splits.count() {
        let split = splits.split(data, index)?;
        let mut counts = vec![0; classes];
        split.conformal.iter().for_each(|&row| counts[data.y[row]] += 1);
        fewest.iter_mut().zip(&counts).for_each(|(fewest, &count)| *fewest = count.min(*fewest));
        fewest_in_all = fewest_in_all.min(split.conformal.len());
        most_training_rows = most_training_rows.max(split.train.len());
    }
    let needed = (1.0 / spec.epsilon).ceil() as usize - 1;
    if spec.mondrian {
        for class in (0..classes).filter(|&class| never_excluded(fewest[class], spec.epsilon)) {
            data.audit.warn(format!(
                "class '{}' has {} conformal rows in some split; with --mondrian and ε = {} it needs {needed} to be ever excluded \
                 from a prediction set",
                data.classes[class], fewest[class], spec.epsilon
            ));
        }
    } else if never_excluded(fewest_in_all, spec.epsilon) {
        data.audit.warn(format!(
            "with {fewest_in_all} conformal rows and ε = {} no class can be excluded from a prediction set; {needed} rows are needed",
            spec.epsilon
        ));
    }
    if matches!(spec.impute, Impute::Knn(_)) && data.missing_cells() > 0 && most_training_rows > DONOR_LIMIT {
        data.audit.notice(format!(
            "gaps are filled from the nearest of {DONOR_LIMIT} training rows, drawn by seed from {most_training_rows}"
        ));
    }
    Ok(())
}

/// linfa-svm's limits, looked at on the training columns of the first split.
fn refuse_what_linfa_cannot_solve(spec: &RunSpec, data: &Dataset, splits: &Splits) -> Result<()> {
    let split = splits.split(data, 0)?;
    let prepared = prepare(data, &split, spec.scale, spec.impute, spec.split.seed, 0);
    let problem = Problem {
        x: prepared.train.x.view(),
        y: &prepared.train.y,
        classes: data.classes.len(),
        cost: spec.cost,
        weight: spec.class_weight,
    };
    solver(spec.solver, problem).map(drop)
}

fn info(spec: RunSpec, data: &Dataset, splits: &Splits) -> RunInfo {
    let mut hash = Sha256::new();
    let determining = serde_json::Value::from(spec.determining());
    let units: Vec<(&str, &[usize], bool)> =
        data.units.iter().map(|unit| (unit.name.as_str(), unit.columns.as_slice(), unit.kept)).collect();
    let material = serde_json::json!([FORMAT, determining, data.sha256, units, splits.sha256()]);
    hash.update(material.to_string());
    let mut audit = data.audit.clone();
    if spec.score == Score::Published {
        audit.warn("--score published divides counts by n, not n + 1: coverage is not guaranteed");
    }
    RunInfo {
        format: FORMAT,
        fingerprint: hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
        input: data.name.clone(),
        directory: std::env::current_dir().ok(),
        input_sha256: data.sha256.clone(),
        splits_sha256: splits.sha256().map(str::to_owned),
        splits: splits.count(),
        rows: data.y.len(),
        units: data.units.clone(),
        columns: data.columns.clone(),
        target: data.target.clone(),
        classes: data.classes.clone(),
        class_counts: data.class_counts(),
        dropped: data.dropped.clone(),
        audit,
        spec,
    }
}
