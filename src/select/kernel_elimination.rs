//! The loop for kernel machines: fit, compute Shapley shares, choose what is removed
//! (docs/method.md section 15).

use std::cell::{OnceCell, RefCell};

use ndarray::{Array2, ArrayView2, CowArray};

use super::candidates::{Candidate, first_to_go};
use super::elimination::{FIRST_OF_CALLER, FOR_BETA, Fitted, not_finite};
use super::shapley::{Coalitions, Levels, Pairs, ShareBuffers};
use super::{FeaturePath, Labelled, Method, Removal, Settings};
use crate::data::Unit;
use crate::error::{Error, Result};
use crate::linalg::axpy;
use crate::svm::{Convergence, Gamma, KernelMachines, Present, Problem};

/// A path of eliminations with kernel machines, as an iterator.
pub struct KernelElimination<'a> {
    settings: Settings,
    units: &'a [Unit],
    machines: KernelMachines<'a>,
    selection: Labelled<'a>,
    /// For each unit whether it has no variation in the training rows: such units are removed
    /// first.
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
    /// The levels of each unit, once it is in a model whose shares are asked for.
    levels: Vec<OnceCell<Levels>>,
    buffers: RefCell<ShareBuffers>,
    t: usize,
    finished: bool,
}

impl<'a> KernelElimination<'a> {
    /// Models are fitted on `train`, β is computed on `selection`; `constant` flags columns without
    /// variation in training.
    pub fn new(
        settings: Settings,
        gamma: Gamma,
        units: &'a [Unit],
        train: Labelled<'a>,
        selection: Labelled<'a>,
        constant: &[bool],
    ) -> Result<Self> {
        let problem = Problem::new(train.0, train.1, settings.measure.classes)?
            .with_cost(settings.cost, settings.weight);
        let mut machines = KernelMachines::new(problem, gamma);
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
            levels: vec![OnceCell::new(); units.len()],
            buffers: RefCell::default(),
            t: 0,
            finished: false,
        })
    }

    /// Watches rows (feature-major): after every item [`FeaturePath::decisions`] has their decision
    /// values.
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
        let by_class: Vec<Vec<f64>> = (0..classes).map(|class| self.sums(Some(class))).collect();
        (0..self.present.count())
            .map(|unit| by_class.iter().map(|of_class| of_class[unit]).collect())
            .collect()
    }

    /// c of a training row, by class.
    fn coefficients(&self, row: usize) -> Vec<f64> {
        self.machines.problem().by_class(|machine| self.machines.coefficients(machine)[row])
    }

    /// Shares of some units on some rows of a matrix, or on all: units × rows.
    fn shares_of(
        &self,
        units: &[usize],
        x: ArrayView2<'_, f64>,
        rows: Option<&[usize]>,
        support: &[usize],
        weights: &[f64],
        coalitions: Coalitions,
    ) -> Vec<f64> {
        let columns: Vec<usize> =
            units.iter().flat_map(|&unit| self.units[unit].columns.iter().copied()).collect();
        let cells: Vec<f64> = match rows {
            Some(rows) => packed(x, rows.iter().copied(), &columns),
            None => packed(x, 0..x.ncols(), &columns),
        };
        let train = self.machines.problem().x();
        let levels = |&unit: &usize| {
            self.levels[unit].get_or_init(|| Levels::new(train, &self.units[unit].columns))
        };
        let levels: Vec<&Levels> = units.iter().map(levels).collect();
        let pairs = Pairs { rows: &cells, units: &levels, support, gamma: self.machines.gamma() };
        pairs.shares(weights, coalitions, &mut self.buffers.borrow_mut())
    }

    /// Σ over selection rows of what each unit adds to their non-conformity: β; of one class alone
    /// if it is named.
    fn sums(&self, only: Option<usize>) -> Vec<f64> {
        let (support, (x, y)) = (self.machines.support(), self.selection);
        let weights = self.weights_of_betas(&support, only);
        let shares =
            self.shares_of(&self.present.list(), x, None, &support, &weights, Coalitions::Shapley);
        summed(&shares, y.len())
    }

    /// The weight of each supporting row in the non-conformity of each selection row; of one class
    /// alone if it is named.
    fn weights_of_betas(&self, support: &[usize], only: Option<usize>) -> Vec<f64> {
        let y = self.selection.1;
        let mut weights = Vec::with_capacity(support.len() * y.len());
        let mut by_label = vec![0.0; self.settings.measure.classes];
        for &s in support {
            let mut c = self.coefficients(s);
            if let Some(only) = only {
                (0..c.len()).filter(|&class| class != only).for_each(|class| c[class] = 0.0);
            }
            self.settings.measure.weighted(&c, &mut by_label);
            weights.extend(y.iter().map(|&class| by_label[class]));
        }
        weights
    }

    /// ΔJ of every unit present, with c as it is: what RFE goes by.
    pub fn changes(&self) -> Vec<f64> {
        let support = self.machines.support();
        let x = self.machines.problem().x();
        let units = self.present.list();
        let weights = self.weights_of_changes(&support);
        let changes =
            self.shares_of(&units, x, Some(&support), &support, &weights, Coalitions::AllOthers);
        summed(&changes, support.len())
    }

    /// ½ Σ_r c_rs c_rt of the supporting rows, counted twice for pairs with a later row t instead
    /// of an earlier one: the matrix is symmetric.
    fn weights_of_changes(&self, support: &[usize]) -> Vec<f64> {
        let problem = self.machines.problem();
        // The mirror image of one of two classes has the same coefficients, negated.
        let twice = if problem.classes() == 2 { 2.0 } else { 1.0 };
        let mut weights = vec![0.0; support.len() * support.len()];
        for machine in 0..problem.machines() {
            let c: Vec<f64> =
                support.iter().map(|&s| self.machines.coefficients(machine)[s]).collect();
            for (i, row) in weights.chunks_exact_mut(c.len().max(1)).enumerate() {
                row[i] += 0.5 * twice * c[i] * c[i];
                axpy(twice * c[i], &c[i + 1..], &mut row[i + 1..]);
            }
        }
        weights
    }

    /// Mean β over the units present, by the identity Σβ = Σ_i [α_i − α_i(no feature)]: f_r(no
    /// feature) = 2 Σ_s c_rs.
    fn mean_beta(&self) -> f64 {
        let decisions = self.machines.decisions(FOR_BETA);
        let biases = self.machines.biases();
        let (mut shares, mut alphas) = (vec![0.0; biases.len()], vec![0.0; biases.len()]);
        let mut sum = 0.0;
        for (row, &class) in decisions.rows().into_iter().zip(self.selection.1) {
            shares
                .iter_mut()
                .zip(row)
                .zip(&biases)
                .for_each(|((share, f), b)| *share = f - 2.0 * b);
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
        units
            .iter()
            .zip(scores)
            .map(candidate)
            .filter(|candidate| !self.units[candidate.unit].kept)
            .collect()
    }

    /// Removes what was chosen and fits; [`Iterator::next`] does both and chooses what is removed
    /// next.
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
        if self.settings.method == Method::Smfs
            && self.frozen.is_none()
            && self.prefilter.is_empty()
        {
            let mut frozen = vec![f64::NAN; self.units.len()];
            self.present
                .list()
                .iter()
                .zip(self.betas())
                .for_each(|(&unit, beta)| frozen[unit] = beta);
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
            let removal = Removal::new(0, size, &[], 0, Fitted { beta_mean, convergence });
            return Ok(Removal {
                removed: self.pending.clone(),
                nearest: self.pending.clone(),
                ..removal
            });
        }
        let candidates = self.candidates();
        if candidates.iter().any(|candidate| !candidate.criterion.is_finite()) {
            return Err(self.not_finite("criteria"));
        }
        let removable = candidates.len();
        let count = self.settings.step.removed(removable, size - removable);
        let order = first_to_go(candidates, removable);
        let removal =
            Removal::new(self.t - 1, size, &order, count, Fitted { beta_mean, convergence });
        self.pending.clone_from(&removal.removed);
        Ok(removal)
    }

    fn not_finite(&self, what: &str) -> Error {
        not_finite("kernel model", self.present.count(), what, self.settings.cost)
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
        let decisions = self.machines.decisions(FIRST_OF_CALLER + watched);
        let are_finite = decisions.iter().all(|decision| decision.is_finite());
        if are_finite { Ok(decisions) } else { Err(self.not_finite("decision values")) }
    }

    fn biases(&self) -> Vec<f64> {
        self.machines.biases()
    }

    fn beta(&self, unit: usize) -> f64 {
        let place = self.present.list().binary_search(&unit);
        self.betas.get_or_init(|| self.sums(None))
            [place.expect("β is asked of units that are present")]
    }

    fn betas(&self) -> Vec<f64> {
        self.betas.get_or_init(|| self.sums(None)).clone()
    }

    fn rest(&self) -> Vec<usize> {
        let candidates = self.candidates();
        let count = candidates.len();
        first_to_go(candidates, count).into_iter().map(|candidate| candidate.unit).collect()
    }
}

/// Some rows and columns of a feature-major matrix, row by row.
fn packed(
    x: ArrayView2<'_, f64>,
    rows: impl Iterator<Item = usize>,
    columns: &[usize],
) -> Vec<f64> {
    rows.flat_map(|row| columns.iter().map(move |&column| x[[column, row]])).collect()
}

/// The sum over the given number of rows, for each unit.
fn summed(shares: &[f64], rows: usize) -> Vec<f64> {
    shares.chunks_exact(rows.max(1)).map(|of_unit| of_unit.iter().sum()).collect()
}
