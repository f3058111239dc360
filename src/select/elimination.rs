//! The loop: fit, compute β, choose what to remove; one [`Removal`] for each model fitted.

use ndarray::{Array2, ArrayView2, CowArray};

use super::candidates::{Candidate, first_to_go};
use super::top_k::TopK;
use super::{ClassSums, Method, Nonconformity, StepSize};
use crate::data::Unit;
use crate::error::{Error, Result};
use crate::linalg::norm;
use crate::svm::{
    ClassWeight, Convergence, DriftBound, MAX_SNAPSHOTS, PathSolver, Present, Problem,
    SharedInitialFit, SolverKind, solver_sharing,
};

/// What β is computed from is watched first.
pub(super) const FOR_BETA: usize = 0;
/// The rows of the first call of `watch` come after it.
pub(super) const FIRST_OF_CALLER: usize = 1;

/// The precision required of weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Precision {
    /// Up to rounding.
    Full,
    /// Within the drift bound of the newest snapshot, which must be of the current models.
    Approximate,
}

/// How to eliminate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Which unit is removed.
    pub method: Method,
    /// How many at once.
    pub step: StepSize,
    /// The non-conformity measure behind β.
    pub measure: Nonconformity,
    /// The solver that fits the models.
    pub solver: SolverKind,
    /// C.
    pub cost: f64,
    /// Whether C differs by class.
    pub weight: ClassWeight,
}

/// One iteration: a model was fitted and the units to remove next were chosen (they are still in
/// the model).
#[derive(Debug, Clone, PartialEq)]
pub struct Removal {
    /// How many models were fitted before this one.
    pub t: usize,
    /// How many units are present.
    pub size: usize,
    /// Mean β over the units present.
    pub beta_mean: f64,
    /// The units to remove, in order; empty at the end of the path.
    pub removed: Vec<usize>,
    /// The criterion of the first of them: β, or Σ w² for RFE.
    pub criterion: Option<f64>,
    /// The unit that would have been next.
    pub runner_up: Option<usize>,
    /// The units nearest to removal, in order, as many as [`Elimination::look_ahead`] asked for.
    pub nearest: Vec<usize>,
    /// The difference between the criteria of the last unit removed and of the runner-up.
    pub margin: Option<f64>,
    /// How the fit ended.
    pub convergence: Convergence,
}

impl Removal {
    /// The first `count` of the candidates go, which are in the order in which they would; only the
    /// first few may be there.
    pub(super) fn new(
        t: usize,
        size: usize,
        order: &[Candidate],
        count: usize,
        fitted: Fitted,
    ) -> Self {
        let (going, next) = order.split_at(count);
        let runner_up = if going.is_empty() { None } else { next.first() };
        Self {
            t,
            size,
            beta_mean: fitted.beta_mean,
            removed: going.iter().map(|candidate| candidate.unit).collect(),
            criterion: going.first().map(|candidate| candidate.criterion),
            runner_up: runner_up.map(|candidate| candidate.unit),
            nearest: order.iter().map(|candidate| candidate.unit).collect(),
            margin: runner_up
                .zip(going.last())
                .map(|(next, last)| (next.criterion - last.criterion).abs()),
            convergence: fitted.convergence,
        }
    }
}

/// What a removal says of its model.
pub(super) struct Fitted {
    pub(super) beta_mean: f64,
    pub(super) convergence: Convergence,
}

/// A model overflowed.
pub(super) fn not_finite(model: &str, size: usize, what: &str, cost: f64) -> Error {
    let cost = if cost < 1e6 { cost.to_string() } else { format!("{cost:e}") };
    let features = if size == 1 { "feature" } else { "features" };
    Error::data(format!("the {model} of {size} {features} has {what} that are not finite at C = {cost}"))
        .remedy(
            "use a smaller --cost, scale columns with --scale standard, or --drop columns of extreme values",
        )
}

/// A path of eliminations, as an iterator; between two items [`Elimination::model`] is the model of
/// the last one. A model whose numbers are not finite ends the path with an error.
///
/// ```
/// # use crfe::{data::Unit, select::*, svm::{ClassWeight, SolverKind}};
/// # use ndarray::array;
/// // Feature-major: two features, six rows; only the first one separates the classes.
/// let x = array![[-2.0, -1.5, -1.0, 1.0, 1.5, 2.0], [0.3, -0.2, 0.1, -0.3, 0.2, 0.1]];
/// let y = [0, 0, 0, 1, 1, 1];
/// let units = [Unit::single("signal", 0), Unit::single("noise", 1)];
/// let settings = Settings::new(Method::Crfe, 2);
/// let path = Elimination::new(settings, &units, (x.view(), &y), (x.view(), &y), &[false; 2])?;
/// let mut removed = Vec::new();
/// for step in path {
///     removed.extend(step?.removed);
/// }
/// assert_eq!(removed, [1]);
/// # Ok::<(), crfe::Error>(())
/// ```
pub struct Elimination<'a> {
    settings: Settings,
    units: &'a [Unit],
    solver: Box<dyn PathSolver<'a> + 'a>,
    /// −∂β_j/∂w_kj, class by class, column by column.
    beta_coefficients: Vec<f64>,
    /// The columns of unit u are those at starts[u]..starts[u + 1], concatenated: reading them from
    /// the units would miss the cache.
    columns: Vec<usize>,
    starts: Vec<usize>,
    /// Whether the only column of every unit has the unit's number.
    units_are_columns: bool,
    /// Units without variation in the training rows, ascending: they are removed first.
    constant: Vec<usize>,
    /// The other removable units.
    search: TopK,
    present: Present,
    /// Chosen by the last item, still in the model.
    pending: Vec<usize>,
    /// Removal scores of a method that ranks once: for SMFS the β of the full set.
    frozen: Option<Vec<f64>>,
    ahead: usize,
    t: usize,
    finished: bool,
}

impl Settings {
    /// The default settings of a method: λ = 0.5, C = 1, exact Newton, one unit at a time.
    pub fn new(method: Method, classes: usize) -> Self {
        Self {
            method,
            step: StepSize::default(),
            measure: Nonconformity { lambda: 0.5, classes, score: super::Score::Weighted },
            solver: SolverKind::Newton,
            cost: 1.0,
            weight: ClassWeight::None,
        }
    }
}

/// What the methods of a split share.
pub struct Common {
    beta_coefficients: Array2<f64>,
    first: Option<SharedInitialFit>,
}

impl Common {
    /// The sums over the selection rows; with `several` methods, the first fit is kept for the next
    /// of them.
    pub fn new(measure: Nonconformity, selection: Labelled<'_>, several: bool) -> Self {
        Self {
            beta_coefficients: beta_coefficients(measure, selection),
            first: several.then(SharedInitialFit::default),
        }
    }
}

fn beta_coefficients(measure: Nonconformity, (x, y): Labelled<'_>) -> Array2<f64> {
    measure.beta_coefficients(&ClassSums::new(x, y, measure.classes))
}

/// A feature-major matrix and the class of each of its rows.
pub type Labelled<'a> = (ArrayView2<'a, f64>, &'a [usize]);

impl<'a> Elimination<'a> {
    /// Models are fitted on `train`, β is computed on `selection`; `constant` flags columns without
    /// variation in training.
    pub fn new(
        settings: Settings,
        units: &'a [Unit],
        train: Labelled<'a>,
        selection: Labelled<'_>,
        constant: &[bool],
    ) -> Result<Self> {
        let beta_coefficients = beta_coefficients(settings.measure, selection);
        Self::with_coefficients(settings, units, train, &beta_coefficients, constant, None)
    }

    /// The same with what the methods of a split share; all else but the method must be the same
    /// for all of them.
    pub fn sharing(
        settings: Settings,
        units: &'a [Unit],
        train: Labelled<'a>,
        common: &'a Common,
        constant: &[bool],
    ) -> Result<Self> {
        Self::with_coefficients(
            settings,
            units,
            train,
            &common.beta_coefficients,
            constant,
            common.first.as_ref(),
        )
    }

    fn with_coefficients(
        settings: Settings,
        units: &'a [Unit],
        train: Labelled<'a>,
        beta_coefficients: &Array2<f64>,
        constant: &[bool],
        first: Option<&'a SharedInitialFit>,
    ) -> Result<Self> {
        let classes = settings.measure.classes;
        let problem =
            Problem::new(train.0, train.1, classes)?.with_cost(settings.cost, settings.weight);
        let mut solver = solver_sharing(settings.solver, problem, first)?;
        // Σ_j β_j = −Σ_k w_k·coefficient_k: the mean needs no β vector if the β coefficients are
        // watched as rows.
        solver.watch(CowArray::from(beta_coefficients.t().as_standard_layout().into_owned()));
        let may_go = (0..units.len()).filter(|&unit| !units[unit].kept);
        let (still, moving): (Vec<usize>, Vec<usize>) =
            may_go.partition(|&unit| units[unit].columns.iter().all(|&j| constant[j]));
        let lipschitz =
            |&unit: &usize| lipschitz(settings.method, &problem, beta_coefficients, &units[unit]);
        let lipschitz = moving.iter().map(lipschitz).collect();
        let ends = units.iter().scan(0, |end, unit| {
            *end += unit.columns.len();
            Some(*end)
        });
        let is_column = |(number, unit): (usize, &Unit)| unit.columns == [number];
        Ok(Self {
            units_are_columns: units.iter().enumerate().all(is_column),
            search: TopK::new(moving, lipschitz),
            constant: still,
            present: Present::all(units.len()),
            pending: Vec::new(),
            frozen: None,
            ahead: 0,
            t: 0,
            finished: false,
            settings,
            units,
            solver,
            beta_coefficients: beta_coefficients.t().iter().copied().collect(),
            columns: units.iter().flat_map(|unit| unit.columns.iter().copied()).collect(),
            starts: std::iter::once(0).chain(ends).collect(),
        })
    }

    /// Watches rows (feature-major): after every item [`Elimination::decisions`] has their decision
    /// values.
    #[must_use]
    pub fn watch(mut self, rows: ArrayView2<'a, f64>) -> Self {
        self.solver.watch(CowArray::from(rows));
        self
    }

    /// Ranks units once: the higher the score of a unit, the sooner it is removed.
    #[must_use]
    pub fn ranked(mut self, removal_scores: Vec<f64>) -> Self {
        self.frozen = Some(removal_scores);
        self
    }

    /// Asks for at least this many units in [`Removal::nearest`].
    #[must_use]
    pub fn look_ahead(mut self, units: usize) -> Self {
        self.ahead = units;
        self
    }

    /// The model of the last item.
    pub fn model(&self) -> &(dyn PathSolver<'a> + 'a) {
        &*self.solver
    }

    /// f_r(x) of the last item's model on the rows of the n-th `watch`: rows × classes. An error if
    /// one is not finite.
    pub fn decisions(&self, watched: usize) -> Result<Array2<f64>> {
        let decisions = self.solver.decisions(FIRST_OF_CALLER + watched);
        // Without an early exit, so that it is compiled to vectors.
        let are_finite =
            decisions.iter().fold(true, |are_finite, decision| are_finite & decision.is_finite());
        if are_finite { Ok(decisions) } else { Err(self.not_finite("decision values")) }
    }

    /// The units of the last item's model, ascending.
    pub fn present(&self) -> Vec<usize> {
        self.present.list()
    }

    /// β of every unit present under the last item's model.
    pub fn betas(&self) -> Vec<f64> {
        let mut betas = Vec::new();
        self.negative_betas(&self.present(), Precision::Full, &mut betas);
        betas.iter_mut().for_each(|beta| *beta = -*beta);
        betas
    }

    /// β of a unit under the last item's model.
    pub fn beta(&self, unit: usize) -> f64 {
        let mut betas = Vec::new();
        self.negative_betas(&[unit], Precision::Full, &mut betas);
        -betas[0]
    }

    /// The removable units of the last model in the order in which they would be removed at once:
    /// the survivors of a path.
    pub fn rest(&self) -> Vec<usize> {
        let mut all = self.look(&self.constant, true);
        all.extend(self.look(&self.search.units(), false));
        let count = all.len();
        first_to_go(all, count).into_iter().map(|candidate| candidate.unit).collect()
    }

    fn columns_of(&self, unit: usize) -> &[usize] {
        &self.columns[self.starts[unit]..self.starts[unit + 1]]
    }

    /// The higher the score of a unit, the sooner it is removed: β, or −Σ w² for RFE.
    fn removal_scores(&self, units: &[usize], how: Precision, removal_scores: &mut Vec<f64>) {
        if let Some(frozen) = &self.frozen {
            removal_scores.clear();
            removal_scores.extend(units.iter().map(|&unit| frozen[unit]));
            return;
        }
        match self.settings.method {
            Method::Rfe => self.squares(units, how, removal_scores),
            _ => self.negative_betas(units, how, removal_scores),
        }
        removal_scores.iter_mut().for_each(|removal_score| *removal_score = -*removal_score);
    }

    /// Σ_k w_k · coefficient_k over the columns of each of some units: −β.
    fn negative_betas(&self, units: &[usize], how: Precision, sums: &mut Vec<f64>) {
        let classes = self.settings.measure.classes;
        if classes == 2 {
            let (pairs, _) = self.beta_coefficients.as_chunks::<2>();
            self.sum_up(units, how, sums, |_, column, weight| {
                let [mirror, own] = pairs[column];
                -weight * mirror + weight * own
            });
        } else {
            self.sum_up(units, how, sums, |machine, column, weight| {
                weight * self.beta_coefficients[column * classes + machine]
            });
        }
    }

    /// Σ_k w_k² over the columns of each of some units.
    fn squares(&self, units: &[usize], how: Precision, sums: &mut Vec<f64>) {
        // The mirror image of one of two classes has the same weights, negated.
        let twice = if self.settings.measure.classes == 2 { 2.0 } else { 1.0 };
        self.sum_up(units, how, sums, |_, _, weight| twice * (weight * weight));
    }

    /// For each of some units, the sum over its columns and the machines of a term made of machine,
    /// column and weight.
    fn sum_up(
        &self,
        units: &[usize],
        how: Precision,
        sums: &mut Vec<f64>,
        term: impl Fn(usize, usize, f64) -> f64,
    ) {
        if self.units_are_columns {
            return self.sum_up_columns(units, how, sums, term);
        }
        let columns: Vec<usize> =
            units.iter().flat_map(|&unit| self.columns_of(unit)).copied().collect();
        let mut of_column = Vec::new();
        self.sum_up_columns(&columns, how, &mut of_column, term);
        let mut of_column = of_column.into_iter();
        sums.clear();
        sums.extend(
            units
                .iter()
                .map(|&unit| of_column.by_ref().take(self.columns_of(unit).len()).sum::<f64>()),
        );
    }

    /// For each of some columns, the sum over the machines.
    fn sum_up_columns(
        &self,
        columns: &[usize],
        how: Precision,
        sums: &mut Vec<f64>,
        term: impl Fn(usize, usize, f64) -> f64,
    ) {
        sums.resize(columns.len(), 0.0);
        self.weights(0, columns, how, sums);
        sums.iter_mut().zip(columns).for_each(|(sum, &column)| *sum = term(0, column, *sum));
        let machines = self.solver.problem().machines();
        let mut weights = vec![0.0; if machines > 1 { columns.len() } else { 0 }];
        for machine in 1..machines {
            self.weights(machine, columns, how, &mut weights);
            let terms = columns
                .iter()
                .zip(&weights)
                .map(|(&column, &weight)| term(machine, column, weight));
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += term);
        }
    }

    fn weights(&self, machine: usize, columns: &[usize], how: Precision, weights: &mut [f64]) {
        match self.solver.lazy() {
            Some(lazy) if how == Precision::Approximate => {
                lazy.approximate_weights(self.solver.problem(), machine, columns, weights)
            }
            _ => self.solver.weights(machine, columns, weights),
        }
    }

    /// Approximate scores that order units as their removal scores do and move in proportion to the
    /// models: for −Σ w², the root.
    fn scores(&self, units: &[usize], scores: &mut Vec<f64>) {
        self.removal_scores(units, Precision::Approximate, scores);
        if self.settings.method == Method::Rfe {
            scores.iter_mut().for_each(|score| *score = -(-*score).sqrt());
        }
    }

    /// Candidates for some units.
    fn look(&self, units: &[usize], constant: bool) -> Vec<Candidate> {
        let mut removal_scores = Vec::new();
        self.removal_scores(units, Precision::Full, &mut removal_scores);
        let candidate = |(&unit, removal_score): (&usize, f64)| {
            let criterion =
                if self.settings.method.by_weights() { -removal_score } else { removal_score };
            Candidate { unit, criterion, removal_score, constant }
        };
        units.iter().zip(removal_scores).map(candidate).collect()
    }

    /// The removable units, or at least all that could be among the first `count`.
    fn candidates(&mut self, count: usize) -> Vec<Candidate> {
        let constant = &self.constant[..count.min(self.constant.len())];
        let mut candidates = self.look(constant, true);
        if candidates.len() == count {
            return candidates;
        }
        let count = count - candidates.len();
        let may_move = !self.settings.method.ranks_once();
        if may_move && self.solver.lazy().is_none() {
            candidates.extend(self.look(&self.search.units(), false));
            return candidates;
        }
        let mut search = std::mem::take(&mut self.search);
        if search.needs_refresh() {
            self.snapshot(0);
            search.refresh(|units, scores| self.scores(units, scores));
        }
        self.snapshot(search.begin_pass());
        let drift_bounds = match self.solver.lazy() {
            Some(lazy) if may_move => lazy.drift_bounds(self.solver.problem(), search.snapshots()),
            // Frozen scores do not move.
            _ => [DriftBound::NONE; MAX_SNAPSHOTS],
        };
        let found = search.top_k(count, &drift_bounds, |units, scores| self.scores(units, scores));
        candidates.extend(self.look(&found, false));
        self.search = search;
        candidates
    }

    fn snapshot(&mut self, number: usize) {
        if let Some(lazy) = self.solver.lazy_mut() {
            lazy.snapshot(number);
        }
    }

    /// Mean β over the units present.
    fn mean_beta(&self) -> f64 {
        let sum: f64 = if self.solver.lazy().is_some() {
            let decisions = self.solver.decisions(FOR_BETA);
            let biases = self.solver.biases();
            -biases.iter().enumerate().map(|(k, bias)| decisions[[k, k]] - bias).sum::<f64>()
        } else {
            self.betas().iter().sum()
        };
        sum / self.present.count() as f64
    }

    /// Removes the chosen units.
    fn remove_pending(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        for &unit in &pending {
            self.solver.remove(&self.units[unit].columns);
            self.present.remove(unit);
        }
        let constants = self.constant.len();
        self.constant.retain(|&unit| self.present.has(unit));
        self.search.remove_gone(pending.len() - (constants - self.constant.len()), &self.present);
    }
}

/// The Lipschitz constant of a unit's score (β, or √Σw² for RFE) in the models: Cauchy–Schwarz over
/// the machines, the triangle inequality over the columns.
fn lipschitz(
    method: Method,
    problem: &Problem<'_>,
    beta_coefficients: &Array2<f64>,
    unit: &Unit,
) -> f64 {
    let lengths = unit.columns.iter().map(|&j| (j, norm(problem.feature(j))));
    let lipschitz = match method {
        Method::Crfe => lengths
            .map(|(j, length)| {
                let own = beta_coefficients.column(j);
                // Two classes share one machine, whose weight enters twice.
                length
                    * if own.len() == 2 {
                        own[0].abs() + own[1].abs()
                    } else {
                        own.dot(&own).sqrt()
                    }
            })
            .sum(),
        Method::Rfe => {
            let twice: f64 = if problem.classes() == 2 { 2.0 } else { 1.0 };
            lengths.map(|(_, length)| twice.sqrt() * length).sum()
        }
        Method::Smfs | Method::Acm => 0.0,
    };
    // The constant itself is rounded.
    lipschitz * (1.0 + 1e-9)
}

impl Iterator for Elimination<'_> {
    type Item = Result<Removal>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.finished {
            return None;
        }
        let removal = self.advance();
        self.finished = removal.as_ref().map_or(true, |removal| removal.removed.is_empty());
        Some(removal)
    }
}

impl Elimination<'_> {
    /// Fits the next model and chooses what to remove after it.
    fn advance(&mut self) -> Result<Removal> {
        self.remove_pending();
        let convergence = self.solver.fit();
        if self.settings.method == Method::Smfs && self.frozen.is_none() {
            self.frozen = Some((0..self.units.len()).map(|unit| self.beta(unit)).collect());
        }
        let size = self.present.count();
        let removable = self.constant.len() + self.search.len();
        let count = self.settings.step.removed(removable, size - removable);
        let wanted = (count + 1).max(self.ahead);
        let candidates = self.candidates(wanted);
        let beta_mean = self.mean_beta();
        self.check_finite(beta_mean, &candidates)?;
        let order = first_to_go(candidates, wanted);
        let removal = Removal::new(self.t, size, &order, count, Fitted { beta_mean, convergence });
        self.pending.clone_from(&removal.removed);
        self.t += 1;
        Ok(removal)
    }

    /// Biases and the mean β depend on every weight, so these and the criteria show whether a model
    /// overflowed.
    fn check_finite(&self, beta_mean: f64, candidates: &[Candidate]) -> Result<()> {
        let has_finite_biases = self.solver.biases().iter().all(|bias| bias.is_finite());
        if !has_finite_biases || !beta_mean.is_finite() {
            return Err(self.not_finite("weights"));
        }
        if candidates.iter().any(|candidate| !candidate.criterion.is_finite()) {
            return Err(self.not_finite("criteria"));
        }
        Ok(())
    }

    fn not_finite(&self, what: &str) -> Error {
        not_finite("model", self.present.count(), what, self.settings.cost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_is_not_finite_is_an_error_that_says_what_to_do() {
        let units = [Unit::single("a", 0), Unit::single("b", 1)];
        let y = [0, 1, 0, 1, 0, 1];
        let evaluated = Array2::from_elem((2, 1), f64::INFINITY);
        for (value, is_fine) in [(1.0, true), (f64::NAN, false), (f64::INFINITY, false)] {
            let x = Array2::from_shape_fn((2, 6), |(j, i)| ((i * (j + 3)) % 5) as f64 * value);
            let data = (x.view(), &y[..]);
            for method in [Method::Crfe, Method::Rfe, Method::Smfs] {
                let path =
                    Elimination::new(Settings::new(method, 2), &units, data, data, &[false; 2]);
                let mut path = path.unwrap().watch(evaluated.view());
                match path.next().unwrap() {
                    Ok(_) if is_fine => {
                        let error = path.decisions(0).unwrap_err().to_string();
                        assert!(error.contains("decision values that are not finite"), "{error}");
                    }
                    Ok(step) => panic!("{value}: {step:?}"),
                    Err(error) => {
                        let error = error.to_string();
                        assert!(!is_fine && error.contains("the model of 2 features"), "{error}");
                        assert!(
                            error.contains("--cost") && error.contains("--scale standard"),
                            "{error}"
                        );
                        assert!(path.next().is_none(), "the path has ended");
                    }
                }
            }
        }
    }
}
