//! Joins a checked spec with its data. Everything that can be refused is refused here, before
//! anything is computed or written.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use super::cost::{DefaultPermutations, MOST, TableShape, default_permutations};
use super::kernel_limit::refuse_slow_kernels;
use super::path_sizes::refuse_unvisited_size;
use super::{
    Permutations, RunInfo, RunOptions, RunSpec, SiteInfo, SubgroupInfo, TaskId, UnusedColumn,
};
use crate::data::{
    DONOR_LIMIT, Dataset, Factor, Impute, OuterFold, STANDARD, STANDARD_INPUT, Split, Splits,
    check_preprocessing, outer_folds, prepare, site_fold,
};
use crate::error::{Error, Result};
use crate::evaluate::never_excluded;
use crate::format::FORMAT;
use crate::select::{MOST_ACM_UNITS, Method, Score};
use crate::svm::{Estimator, Problem, SolverKind, solver};

/// What will be run on what.
#[derive(Debug)]
pub struct Plan {
    /// The settings and what is known of the data.
    pub info: Arc<RunInfo>,
    pub data: Arc<Dataset>,
    pub splits: Splits,
    /// Those that were made while planning, each until it is first asked for.
    made: Mutex<HashMap<usize, Split>>,
}

/// Row numbers that are kept from planning: 8 MB. Splits beyond that are made again when they are
/// needed.
const KEPT_ROWS: usize = 1 << 20;

impl Plan {
    /// Refuses what cannot be run, and warns where results will mean little.
    pub fn new(spec: RunSpec, mut data: Dataset) -> Result<Self> {
        let splits = Splits::new(&data, &spec.split)?;
        check_preprocessing(&mut data, &splits, spec.scale, spec.impute)?;
        let units = data.units.len();
        refuse_unvisited_size(&spec, &data.units)?;
        let made = make_splits(&spec, &mut data, &splits)?;
        if spec.methods.contains(&Method::Acm) && units > MOST_ACM_UNITS {
            return Err(Error::usage(format!(
                "--method acm tries every feature left in every round, which takes too long for {units} features (at most {MOST_ACM_UNITS})"
            ))
            .remedy("leave acm out, or give a table with fewer features").option("--method"));
        }
        if let Some(reserve) = splits.reserve() {
            let aside = reserve.len();
            let rows = data.y.len();
            data.audit.notice(format!(
                "{aside} of {rows} rows are set aside to calibrate a model; everything else uses the other {}",
                rows - aside
            ));
        }
        if spec.estimator == Estimator::Rbf {
            refuse_slow_kernels(&spec, &TableShape::from(&data))?;
        }
        if let Some(most) = spec.prefilter.filter(|&most| most >= units) {
            data.audit.notice(format!(
                "--prefilter {most} leaves nothing out: there are {units} features"
            ));
        }
        if spec.solver == SolverKind::Linfa {
            refuse_what_linfa_cannot_solve(&spec, &data, &splits)?;
        }
        let folds = plan_validation(&spec, &mut data);
        let (permutations, permutation_cost) = plan_permutations(&spec, &mut data);
        let sites = plan_sites(&spec, &mut data);
        let of_factor = |factor: &Factor| SubgroupInfo {
            column: factor.column.clone(),
            levels: factor.levels.clone(),
        };
        let subgroups: Vec<SubgroupInfo> = data.design.subgroups.iter().map(of_factor).collect();
        if !subgroups.is_empty() && folds == 0 {
            data.audit.warn("--subgroups says nothing without nested validation: no row is tested");
        }
        let info = RunInfo {
            folds,
            permutations,
            permutation_cost,
            sites,
            subgroups,
            ..info(spec, &data, &splits)
        };
        Ok(Self { info: Arc::new(info), data: Arc::new(data), splits, made: Mutex::new(made) })
    }

    /// The plan of a recorded run, with its data at the recorded place or where the user says they
    /// are now.
    pub fn find(info: &RunInfo, given: Option<&Path>) -> Result<Self> {
        let then = |name: &Path| -> PathBuf {
            info.directory
                .as_ref()
                .map_or_else(|| name.to_path_buf(), |directory| directory.join(name))
        };
        if given.is_none() && [STANDARD, STANDARD_INPUT].contains(&info.input.as_str()) {
            return Err(Error::data("the run read its table from standard input")
                .remedy("name a file that holds the same table with --data"));
        }
        let path = match given {
            Some(given) => given.to_path_buf(),
            None => then(Path::new(&info.input)),
        };
        let mut options = RunOptions::from(info.spec.clone());
        options.schema.groups = options.schema.groups.as_deref().map(then);
        options.schema.pheno = options.schema.pheno.as_deref().map(then);
        options.split.splits_from = options.split.splits_from.as_deref().map(then);
        let named = given.is_none().then_some(&path).into_iter();
        let others = [&options.schema.groups, &options.schema.pheno, &options.split.splits_from]
            .into_iter()
            .flatten();
        named.chain(others).try_for_each(|path| refuse_special(path))?;
        let spec = options.check()?;
        let mut data = Dataset::load(&path, &spec.schema, |_, _| {})?;
        if given.is_none() {
            // As the run named it: what is written of a recorded run has the bytes of the run's own
            // report.
            data.name.clone_from(&info.input);
        }
        if data.sha256 != info.input_sha256 {
            return Err(Error::data("this is not the table that the run used")
                .file(path)
                .remedy("name it with --data"));
        }
        let plan = Self::new(spec, data)?;
        if plan.info.fingerprint != info.fingerprint {
            return Err(
                Error::data("its groups or splits differ from those that the run used").file(path)
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

    /// One split. That of planning is handed out once, so that a run makes each split once.
    pub fn split(&self, index: usize) -> Result<Split> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).remove(&index);
        made.map_or_else(|| self.splits.split(&self.data, index), Ok)
    }

    /// The rows of each fold of the validation.
    pub fn outer_folds(&self) -> Result<Vec<OuterFold>> {
        outer_folds(&self.data, self.info.folds, &self.info.spec.split)
    }
}

/// How many folds the validation has. If folds are impossible, the reason becomes a warning: the
/// run is useful without them.
fn plan_validation(spec: &RunSpec, data: &mut Dataset) -> usize {
    let Some(folds) = spec.validate else { return 0 };
    if spec.split.splits_from.is_some() {
        data.audit.notice(
            "the list is not tested by nested validation: --splits-from says nothing about other rows",
        );
        return 0;
    }
    match outer_folds(data, folds, &spec.split) {
        Ok(_) => folds,
        Err(error) => {
            data.audit.warn(format!("the list is not tested by nested validation: {error}"));
            0
        }
    }
}

/// The levels of the site column. One that cannot be left out is explained in a warning.
fn plan_sites(spec: &RunSpec, data: &mut Dataset) -> Vec<SiteInfo> {
    let Some(factor) = &data.design.sites else { return Vec::new() };
    if spec.split.splits_from.is_some() {
        data.audit.notice("no site is left out: --splits-from says nothing about other rows");
        return Vec::new();
    }
    let fold = |level: usize| site_fold(data, level, &spec.split).err();
    let refused: Vec<Option<Error>> = (0..factor.levels.len()).map(fold).collect();
    let levels = factor.levels.iter().zip(factor.counts()).zip(&refused);
    let site = |((name, rows), refusal): ((&String, usize), &Option<Error>)| SiteInfo {
        name: name.clone(),
        rows,
        tested: refusal.is_none(),
    };
    let sites: Vec<SiteInfo> = levels.map(site).collect();
    for (site, refusal) in sites.iter().zip(refused) {
        if let Some(refusal) = refusal {
            data.audit.warn(format!("the list is not tested on site '{}': {refusal}", site.name));
        }
    }
    sites
}

/// How many permutations there are, and what one costs where that decides. A default below the
/// usual one is explained in a notice.
fn plan_permutations(spec: &RunSpec, data: &mut Dataset) -> (usize, Option<f64>) {
    match spec.permutations {
        // The user's own splits belong to the true labels.
        _ if spec.split.splits_from.is_some() => (0, None),
        Permutations::Count(count) => (count, None),
        Permutations::Auto => {
            let DefaultPermutations { count, seconds } = default_permutations(spec, data);
            if count < MOST {
                let choice = if count == 0 {
                    "not permuted".into()
                } else {
                    format!("permuted {count} times")
                };
                data.audit.notice(format!(
                    "the labels are {choice}: {MOST} permutations would cost about {seconds:.0} seconds of one core; \
                     --permutations N asks for them"
                ));
            }
            (count, Some(seconds / MOST as f64))
        }
    }
}

/// A journal may name anything: reading a pipe, a device or a kernel file might never end.
fn refuse_special(path: &Path) -> Result<()> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let of_the_system = ["/proc", "/sys"].iter().any(|system| real.starts_with(system));
    let other = std::fs::metadata(&real).is_ok_and(|data| !data.is_file());
    if of_the_system || other || path == Path::new("-") {
        return Err(Error::data("the run names this as its data, but it is not a regular file")
            .file(path)
            .remedy("name the table with --data"));
    }
    Ok(())
}

/// Makes all splits, and keeps those there is room for. Warns where conformal prediction has too
/// few conformal rows to exclude a class, or anything, before the run starts.
fn make_splits(
    spec: &RunSpec,
    data: &mut Dataset,
    splits: &Splits,
) -> Result<HashMap<usize, Split>> {
    let mut made = HashMap::new();
    let classes = data.classes.len();
    let mut fewest = vec![usize::MAX; classes];
    let mut fewest_in_all = usize::MAX;
    let mut most_training_rows = 0;
    for index in 0..splits.count() {
        let split = splits.split(data, index)?;
        let votes = |of_class: &dyn Fn(usize) -> bool| {
            let rows = split.conformal.iter().filter(|&&row| of_class(data.y[row]));
            match &data.groups {
                // A group has one vote, however many rows it has.
                Some(groups) => rows.map(|&row| groups[row]).collect::<BTreeSet<usize>>().len(),
                None => rows.count(),
            }
        };
        for (class, fewest) in fewest.iter_mut().enumerate() {
            *fewest = votes(&|y| y == class).min(*fewest);
        }
        fewest_in_all = fewest_in_all.min(votes(&|_| true));
        most_training_rows = most_training_rows.max(split.train.len());
        if (index + 1) * data.y.len() <= KEPT_ROWS {
            made.insert(index, split);
        }
    }
    let needed = (1.0 / spec.epsilon).ceil() as usize - 1;
    let votes = if data.groups.is_some() { "groups" } else { "rows" };
    if spec.mondrian {
        for class in (0..classes).filter(|&class| never_excluded(fewest[class], spec.epsilon)) {
            data.audit.warn(format!(
                "class '{}' has {} conformal {votes} in some split; with --mondrian and ε = {} it needs at least {needed} before it \
                 can ever be excluded from a prediction set",
                data.classes[class], fewest[class], spec.epsilon
            ));
        }
    } else if never_excluded(fewest_in_all, spec.epsilon) {
        data.audit.warn(format!(
            "with {fewest_in_all} conformal {votes} and ε = {} no class can be excluded from a prediction set; at least {needed} {votes} are needed",
            spec.epsilon
        ));
    }
    if matches!(spec.impute, Impute::Knn(_))
        && data.missing_cells() > 0
        && most_training_rows > DONOR_LIMIT
    {
        data.audit.notice(format!(
            "gaps are filled from the nearest of {DONOR_LIMIT} training rows, drawn by seed from {most_training_rows}"
        ));
    }
    Ok(made)
}

/// Checks the limits of linfa-svm on the training columns of the first split.
fn refuse_what_linfa_cannot_solve(spec: &RunSpec, data: &Dataset, splits: &Splits) -> Result<()> {
    let split = splits.split(data, 0)?;
    let prepared = prepare(data, &split, spec.preparation(), spec.split.seed, 0);
    let problem = Problem::new(prepared.train.x.view(), &prepared.train.y, data.classes.len())?;
    solver(spec.solver, problem.with_cost(spec.cost, spec.class_weight)).map(drop)
}

fn info(spec: RunSpec, data: &Dataset, splits: &Splits) -> RunInfo {
    let mut hash = Sha256::new();
    let determining = serde_json::Value::from(spec.determining());
    let units: Vec<(&str, &[usize], bool)> = data
        .units
        .iter()
        .map(|unit| (unit.name.as_str(), unit.columns.as_slice(), unit.kept))
        .collect();
    let material = serde_json::json!([FORMAT, determining, data.sha256, units, splits.sha256()]);
    hash.update(material.to_string());
    let mut audit = data.audit.clone();
    if spec.score == Score::Published {
        audit.warn("--score published divides counts by n, not n + 1: coverage is not guaranteed");
    }
    RunInfo {
        fingerprint: hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect(),
        input: data.name.clone(),
        directory: std::env::current_dir().ok(),
        input_sha256: data.sha256.clone(),
        splits_sha256: splits.sha256().map(str::to_owned),
        splits: splits.count(),
        folds: 0,
        sites: Vec::new(),
        subgroups: Vec::new(),
        permutations: 0,
        permutation_cost: None,
        rows: data.y.len(),
        units: data.units.clone(),
        columns: data.columns.clone(),
        target: data.target.clone(),
        classes: data.classes.clone(),
        class_counts: data.class_counts(),
        dropped: data.dropped.iter().map(UnusedColumn::from).collect(),
        audit,
        spec,
    }
}
