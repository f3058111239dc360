//! The machines of a model, linear or with a kernel: fitted, deciding, and what each feature adds to a decision.

use ndarray::{Array2, ArrayView2};

use super::fit::FitSettings;
use crate::error::Result;
use crate::select::{Coalitions, Levels, Pairs, ShareBuffers};
use crate::svm::{
    Estimator, Kernel, KernelMachines, Problem, SupportMachines, class_weights, linear_decisions, solver,
};

/// One machine per class on prepared columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Machines {
    /// What decides.
    pub deciding: Deciding,
    /// The bias of each class.
    pub bias: Vec<f64>,
}

/// What decides besides the bias.
#[derive(Debug, Clone, PartialEq)]
pub enum Deciding {
    /// The weights of each class: f_r(x) = w_r·x + b_r.
    Linear(Vec<Vec<f64>>),
    /// Supporting rows; the bias is in them.
    Kernel(SupportMachines),
}

impl Machines {
    /// Fits on prepared rows (columns × rows); also whether every machine met its tolerance.
    pub fn fit<'a>(
        x: ArrayView2<'a, f64>,
        y: &'a [usize],
        classes: usize,
        settings: &FitSettings,
    ) -> Result<(Self, bool)> {
        let problem = Problem::new(x, y, classes)?.with_cost(settings.cost, settings.class_weight);
        if settings.estimator == Estimator::Rbf {
            let mut model = KernelMachines::new(problem, Kernel::Rbf(settings.gamma));
            let converged = model.fit().converged;
            let machines = SupportMachines::new(&model, settings.gamma.value(x.nrows()));
            return Ok((Self { deciding: Deciding::Kernel(machines), bias: model.biases() }, converged));
        }
        let mut model = solver(settings.solver, problem)?;
        let converged = model.fit().converged;
        let bias = model.biases();
        let weights = (0..classes).map(|class| class_weights(&*model, class)).collect();
        Ok((Self { deciding: Deciding::Linear(weights), bias }, converged))
    }

    /// f_r(x) for prepared rows (columns × rows): rows × classes.
    pub fn decisions(&self, x: ArrayView2<'_, f64>) -> Array2<f64> {
        match &self.deciding {
            Deciding::Linear(weights) => linear_decisions(weights, &self.bias, x),
            Deciding::Kernel(machines) => machines.decisions(x),
        }
    }

    /// Whether every number is finite.
    pub fn is_finite(&self) -> bool {
        let of_machines: Vec<&Vec<f64>> = match &self.deciding {
            Deciding::Linear(weights) => weights.iter().collect(),
            Deciding::Kernel(machines) => machines.support.iter().chain(&machines.coefficients).collect(),
        };
        of_machines.into_iter().flatten().chain(&self.bias).all(|number| number.is_finite())
    }

    /// The decision values of a row from which every feature is absent.
    pub fn without_features(&self) -> Vec<f64> {
        match &self.deciding {
            Deciding::Linear(_) => self.bias.clone(),
            // Every factor of the kernel is 1, and so is what is added to it.
            Deciding::Kernel(_) => self.bias.iter().map(|bias| 2.0 * bias).collect(),
        }
    }

    /// What each feature adds to the decision values of a prepared row: features × classes. Features are given by their columns. The
    /// shares are w·x, or Shapley values (docs/method.md sections 3 and 15); with [`Machines::without_features`] they add up to f_r(x).
    pub fn shares(&self, x: &[f64], features: &[Vec<usize>]) -> Vec<Vec<f64>> {
        match &self.deciding {
            Deciding::Linear(weights) => {
                let of_feature = |columns: &Vec<usize>| {
                    let share = |weights: &Vec<f64>| columns.iter().map(|&j| weights[j] * x[j]).sum();
                    weights.iter().map(share).collect()
                };
                features.iter().map(of_feature).collect()
            }
            Deciding::Kernel(machines) => shapley_shares(machines, x, features),
        }
    }
}

/// Shapley values of a row: features × classes.
fn shapley_shares(machines: &SupportMachines, x: &[f64], features: &[Vec<usize>]) -> Vec<Vec<f64>> {
    let rows = machines.support.len();
    let support = Array2::from_shape_fn((x.len(), rows), |(column, row)| machines.support[row][column]);
    let levels: Vec<Levels> = features.iter().map(|columns| Levels::new(support.view(), columns)).collect();
    let row: Vec<f64> = features.iter().flatten().map(|&column| x[column]).collect();
    let pairs = Pairs {
        rows: &row,
        units: &levels.iter().collect::<Vec<_>>(),
        support: &(0..rows).collect::<Vec<_>>(),
        gamma: machines.gamma,
    };
    let mut buffers = ShareBuffers::default();
    let by_class: Vec<Vec<f64>> =
        machines.coefficients.iter().map(|c| pairs.shares(c, Coalitions::Shapley, &mut buffers)).collect();
    (0..features.len()).map(|feature| by_class.iter().map(|of_class| of_class[feature]).collect()).collect()
}
