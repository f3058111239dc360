//! The loop for kernel machines: fit, compute Shapley shares, choose what is removed (docs/method.md section 15).

use std::cell::{OnceCell, RefCell};

use ndarray::{Array2, ArrayView2, CowArray};

use super::candidates::{Candidate, first_to_go};
use super::shapley::{Quadratures, Rows, objective_changes, shapley_sums};
use super::{FeaturePath, Labelled, Method, Removal, Settings};
use crate::data::Unit;
use crate::error::{Error, Result};
use crate::svm::{Convergence, Kernel, KernelMachines, Present, Problem};

/// A path of eliminations with kernel machines, as an iterator.
pub struct KernelElimination<'a> {
    settings: Settings,
    units: &'a [Unit],
    machines: KernelMachines<'a>,
    selection: Labelled<'a>,
    /// For each unit whether it has no variation in the training rows: such units are removed first.
    constant: Vec<bool>,
    present: Present,
    /// Chosen by the last item, still in the model.
    pending: Vec<usize>,
    /// Removal scores of a method that ranks once.
    frozen: Option<Vec<f64>>,
    /// What a linear path removed first, in order.
    prefilter: Vec<usize>,
    /// β of the units present, once it is asked for.
    betas: OnceCell<Vec<f64>>,
    rules: RefCell<Quadratures>,
    t: usize,
    finished: bool,
}

impl<'a> KernelElimination<'a> {
    /// Models are fitted on `train`, β is computed on `selection`; `constant` flags columns without variation in training.
    pub fn new(
        settings: Settings,
        kernel: Kernel,
        units: &'a [Unit],
        train: Labelled<'a>,
        selection: Labelled<'a>,
        constant: &[bool],
    ) -> Result<Self> {
        let problem = Problem::new(train.0, train.1, settings.measure.classes)?
            .with_cost(settings.cost, settings.weight);
        let mut machines = KernelMachines::new(problem, kernel);
        machines.watch(CowArray::from(selection.0));
        Ok(Self {
            settings,
            units,
            machines,
            selection,
            constant: units.iter().map(|unit| unit.columns.iter().all(|&j| constant[j])).collect(),
            present: Present::all(units.len()),
            pending: Vec::new(),
            frozen: None,
            prefilter: Vec::new(),
            betas: OnceCell::new(),
            rules: RefCell::default(),
            t: 0,
            finished: false,
        })
    }

    /// Watches rows (feature-major): after every item [`FeaturePath::decisions`] has their decision values.
    #[must_use]
    pub fn watch(mut self, rows: ArrayView2<'a, f64>) -> Self {
        self.machines.watch(CowArray::from(rows));
        self
    }

    /// Ranks units once and for all: the higher the score of a unit, the sooner it is removed.
    #[must_use]
    pub fn ranked(mut self, removal_scores: Vec<f64>) -> Self {
        self.frozen = Some(removal_scores);
        self
    }

    /// Removes these units after the first model, whatever their scores.
    #[must_use]
    pub fn prefiltered(mut self, first: Vec<usize>) -> Self {
        self.prefilter = first;
        self
    }

    /// The units of the last item's model, ascending.
    pub fn present(&self) -> Vec<usize> {
        self.present.list()
    }

    /// What each class contributes to β of each unit present: units × classes.
    pub fn betas_by_class(&self) -> Vec<Vec<f64>> {
        let classes = self.settings.measure.classes;
        let by_class: Vec<Vec<f64>> = (0..classes).map(|class| self.shares(Some(class))).collect();
        (0..self.present.count())
            .map(|unit| by_class.iter().map(|of_class| of_class[unit]).collect())
            .collect()
    }

    /// The columns of the units present, those of a unit one after the other, and where those of each unit end.
    fn layout(&self) -> (Vec<usize>, Vec<usize>) {
        let units = self.present.list();
        let columns: Vec<usize> =
            units.iter().flat_map(|&unit| self.units[unit].columns.iter().copied()).collect();
        let ends = units.iter().scan(0, |end, &unit| {
            *end += self.units[unit].columns.len();
            Some(*end)
        });
        (columns, ends.collect())
    }

    /// Σ over selection rows of what each unit adds to their non-conformity: β; of one class alone if it is named.
    fn shares(&self, only: Option<usize>) -> Vec<f64> {
        let (columns, ends) = self.layout();
        let support = self.machines.support();
        let (x, y) = self.selection;
        let mut weights = Vec::with_capacity(support.len() * y.len());
        for &s in &support {
            let mut c = self.machines.problem().by_class(|machine| self.machines.coefficients(machine)[s]);
            if let Some(only) = only {
                (0..c.len()).filter(|&class| class != only).for_each(|class| c[class] = 0.0);
            }
            let mut by_label = vec![0.0; c.len()];
            self.settings.measure.weighted(&c, &mut by_label);
            weights.extend(y.iter().map(|&class| by_label[class]));
        }
        let all: Vec<usize> = (0..y.len()).collect();
        let rows = packed(x, &all, &columns);
        let supporting = packed(self.machines.problem().x(), &support, &columns);
        let (rows, supporting) = (
            Rows { cells: &rows, columns: columns.len() },
            Rows { cells: &supporting, columns: columns.len() },
        );
        match self.machines.kernel() {
            Kernel::Rbf(gamma) => {
                let gamma = gamma.value(columns.len());
                shapley_sums(rows, supporting, &ends, gamma, &weights, &mut self.rules.borrow_mut())
            }
            // A sum needs no quadrature: the share of a unit is its own product.
            Kernel::Linear => additive_sums(rows, supporting, &ends, &weights),
        }
    }

    /// ΔJ of every unit present: what RFE goes by.
    pub fn changes(&self) -> Vec<f64> {
        let (columns, ends) = self.layout();
        let support = self.machines.support();
        let problem = self.machines.problem();
        // The mirror image of one of two classes has the same coefficients, negated.
        let twice = if problem.classes() == 2 { 2.0 } else { 1.0 };
        let mut weights = vec![0.0; support.len() * support.len()];
        for machine in 0..problem.machines() {
            let c: Vec<f64> = support.iter().map(|&s| self.machines.coefficients(machine)[s]).collect();
            for (row, a) in weights.chunks_exact_mut(c.len().max(1)).zip(&c) {
                row.iter_mut().zip(&c).for_each(|(weight, b)| *weight += twice * a * b);
            }
        }
        let cells = packed(problem.x(), &support, &columns);
        let rows = Rows { cells: &cells, columns: columns.len() };
        match self.machines.kernel() {
            Kernel::Rbf(gamma) => objective_changes(rows, &ends, gamma.value(columns.len()), &weights),
            Kernel::Linear => {
                additive_sums(rows, rows, &ends, &weights).iter().map(|sum| 0.5 * sum).collect()
            }
        }
    }

    /// Mean β over the units present, by the identity Σβ = Σ_i [α_i − α_i(no feature)]: f_r(no feature) = 2 Σ_s c_rs.
    fn mean_beta(&self) -> f64 {
        let (decisions, biases) = (self.machines.decisions(0), self.machines.biases());
        let nothing: f64 = match self.machines.kernel() {
            Kernel::Rbf(_) => 2.0,
            Kernel::Linear => 1.0,
        };
        let (mut shares, mut alphas) = (vec![0.0; biases.len()], vec![0.0; biases.len()]);
        let mut sum = 0.0;
        for (row, &class) in decisions.rows().into_iter().zip(self.selection.1) {
            shares.iter_mut().zip(row).zip(&biases).for_each(|((share, f), b)| *share = f - nothing * b);
            self.settings.measure.weighted(&shares, &mut alphas);
            sum += alphas[class];
        }
        sum / self.present.count() as f64
    }

    /// The units present that may be removed, as candidates.
    fn candidates(&self) -> Vec<Candidate> {
        let units = self.present.list();
        let scores: Vec<f64> = match (&self.frozen, self.settings.method) {
            (Some(frozen), _) => units.iter().map(|&unit| frozen[unit]).collect(),
            (None, Method::Rfe) => self.changes().iter().map(|change| -change).collect(),
            (None, _) => self.betas(),
        };
        let is_change = self.frozen.is_none() && self.settings.method == Method::Rfe;
        let candidate = |(&unit, removal_score): (&usize, f64)| Candidate {
            unit,
            criterion: if is_change { -removal_score } else { removal_score },
            removal_score,
            constant: self.constant[unit],
        };
        units.iter().zip(scores).map(candidate).filter(|candidate| !self.units[candidate.unit].kept).collect()
    }

    /// Removes what was chosen and fits; [`Iterator::next`] does both and chooses what is removed next.
    pub fn fit(&mut self) -> Convergence {
        for unit in std::mem::take(&mut self.pending) {
            self.machines.remove(&self.units[unit].columns);
            self.present.remove(unit);
        }
        self.betas = OnceCell::new();
        self.machines.fit()
    }

    /// Fits the next model and chooses what is removed after it.
    fn advance(&mut self) -> Result<Removal> {
        let convergence = self.fit();
        if self.settings.method == Method::Smfs && self.frozen.is_none() && self.prefilter.is_empty() {
            let mut frozen = vec![f64::NAN; self.units.len()];
            self.present.list().iter().zip(self.betas()).for_each(|(&unit, beta)| frozen[unit] = beta);
            self.frozen = Some(frozen);
        }
        let size = self.present.count();
        let beta_mean = self.mean_beta();
        if !beta_mean.is_finite() || self.machines.biases().iter().any(|bias| !bias.is_finite()) {
            return Err(self.not_finite("coefficients"));
        }
        self.t += 1;
        if !self.prefilter.is_empty() {
            self.pending = std::mem::take(&mut self.prefilter);
            let removed = self.pending.clone();
            let (criterion, runner_up, margin) = (None, None, None);
            let nearest = removed.clone();
            return Ok(Removal {
                t: 0,
                size,
                beta_mean,
                removed,
                criterion,
                runner_up,
                nearest,
                margin,
                convergence,
            });
        }
        let candidates = self.candidates();
        if candidates.iter().any(|candidate| !candidate.criterion.is_finite()) {
            return Err(self.not_finite("criteria"));
        }
        let (removable, kept) = (candidates.len(), size - candidates.len());
        let count = self.settings.step.of(removable).min(size - kept.max(1));
        let order = first_to_go(candidates, removable);
        let (going, next) = order.split_at(count);
        self.pending = going.iter().map(|candidate| candidate.unit).collect();
        let runner_up = if going.is_empty() { None } else { next.first() };
        Ok(Removal {
            t: self.t - 1,
            size,
            beta_mean,
            removed: self.pending.clone(),
            criterion: going.first().map(|candidate| candidate.criterion),
            runner_up: runner_up.map(|candidate| candidate.unit),
            nearest: order.iter().map(|candidate| candidate.unit).collect(),
            margin: runner_up.zip(going.last()).map(|(next, last)| (next.criterion - last.criterion).abs()),
            convergence,
        })
    }

    fn not_finite(&self, what: &str) -> Error {
        let size = self.present.count();
        Error::data(format!(
            "the kernel model of {size} features has {what} that are not finite at C = {}",
            self.settings.cost
        ))
        .remedy(
            "use a smaller --cost, scale columns with --scale standard, or --drop columns of extreme values",
        )
    }
}

impl Iterator for KernelElimination<'_> {
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

impl FeaturePath for KernelElimination<'_> {
    fn decisions(&self, watched: usize) -> Result<Array2<f64>> {
        let decisions = self.machines.decisions(watched + 1);
        let are_finite = decisions.iter().all(|decision| decision.is_finite());
        if are_finite { Ok(decisions) } else { Err(self.not_finite("decision values")) }
    }

    fn biases(&self) -> Vec<f64> {
        self.machines.biases()
    }

    fn beta(&self, unit: usize) -> f64 {
        let place = self.present.list().binary_search(&unit);
        self.betas.get_or_init(|| self.shares(None))[place.expect("β is asked of units that are present")]
    }

    fn betas(&self) -> Vec<f64> {
        self.betas.get_or_init(|| self.shares(None)).clone()
    }

    fn rest(&self) -> Vec<usize> {
        let candidates = self.candidates();
        let count = candidates.len();
        first_to_go(candidates, count).into_iter().map(|candidate| candidate.unit).collect()
    }
}

/// Some rows and columns of a feature-major matrix, row by row.
fn packed(x: ArrayView2<'_, f64>, rows: &[usize], columns: &[usize]) -> Vec<f64> {
    rows.iter().flat_map(|&row| columns.iter().map(move |&column| x[[column, row]])).collect()
}

/// Σ_i Σ_s weight(i, s) Σ_{j in u} x_ij x_sj for every unit u.
fn additive_sums(rows: Rows<'_>, support: Rows<'_>, ends: &[usize], weights: &[f64]) -> Vec<f64> {
    let columns = rows.columns;
    let count = rows.cells.len() / columns.max(1);
    let mut by_column = vec![0.0; columns];
    for (s, own) in support.cells.chunks_exact(columns).enumerate() {
        for (i, row) in rows.cells.chunks_exact(columns).enumerate() {
            let weight = weights[s * count + i];
            by_column.iter_mut().zip(row).zip(own).for_each(|((sum, a), b)| *sum += weight * a * b);
        }
    }
    let mut start = 0;
    let unit = |&end: &usize| by_column[std::mem::replace(&mut start, end)..end].iter().sum::<f64>();
    ends.iter().map(unit).collect()
}
