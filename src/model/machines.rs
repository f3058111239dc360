//! The machines of a model, linear or with a kernel: fitted, deciding, and what each feature adds
//! to a decision.

use ndarray::{Array2, ArrayView1, ArrayView2};

use super::effect::Baseline;
use super::predictor::FitSettings;
use crate::error::Result;
use crate::select::{Coalitions, Levels, Pairs, ShareBuffers};
use crate::svm::{
    Estimator, KernelMachines, Problem, SupportMachines, class_weights, linear_decisions, solver,
};

/// Rows over which the effects of a feature have a mean of 0, at most.
const MOST_REFERENCES: usize = 512;

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
            let mut model = KernelMachines::new(problem, settings.gamma);
            let converged = model.fit().converged;
            let machines = SupportMachines::new(&model);
            return Ok((
                Self { deciding: Deciding::Kernel(machines), bias: model.biases() },
                converged,
            ));
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
            Deciding::Kernel(machines) => {
                machines.support.iter().chain(&machines.coefficients).collect()
            }
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

    /// What each feature adds to the decision values of prepared rows (columns × rows): for each
    /// row features × classes. Features are given by their columns. The shares are w·x, or Shapley
    /// values (docs/method.md sections 3 and 15); with [`Machines::without_features`] they add up
    /// to f_r(x).
    pub fn shares(&self, x: ArrayView2<'_, f64>, features: &[Vec<usize>]) -> Vec<Vec<Vec<f64>>> {
        match &self.deciding {
            Deciding::Linear(weights) => {
                let of_row = |row: ArrayView1<'_, f64>| {
                    let of_feature = |columns: &Vec<usize>| {
                        let share =
                            |weights: &Vec<f64>| columns.iter().map(|&j| weights[j] * row[j]).sum();
                        weights.iter().map(share).collect()
                    };
                    features.iter().map(of_feature).collect()
                };
                x.columns().into_iter().map(of_row).collect()
            }
            Deciding::Kernel(machines) => shapley_shares(machines, x, features),
        }
    }

    /// Where each feature's effects are 0, from the rows that the machines hold: the supporting
    /// rows, or [`MOST_REFERENCES`] of them. Linear machines hold no rows; their columns are
    /// centred by scaling.
    pub fn baselines(&self, features: &[Vec<usize>]) -> Vec<Baseline> {
        let classes = self.bias.len();
        let rows = match &self.deciding {
            Deciding::Linear(_) => Vec::new(),
            Deciding::Kernel(machines) => {
                let step = machines.support.len().div_ceil(MOST_REFERENCES).max(1);
                let rows: Vec<&Vec<f64>> = machines.support.iter().step_by(step).collect();
                let columns = rows.first().map_or(0, |row| row.len());
                let x =
                    Array2::from_shape_fn((columns, rows.len()), |(column, row)| rows[row][column]);
                self.shares(x.view(), features)
            }
        };
        (0..features.len())
            .map(|j| Baseline::over(rows.iter().map(|row| &row[j][..]), classes))
            .collect()
    }
}

/// Shapley values: for each row features × classes.
fn shapley_shares(
    machines: &SupportMachines,
    x: ArrayView2<'_, f64>,
    features: &[Vec<usize>],
) -> Vec<Vec<Vec<f64>>> {
    let count = machines.support.len();
    let support =
        Array2::from_shape_fn((x.nrows(), count), |(column, row)| machines.support[row][column]);
    let levels: Vec<Levels> =
        features.iter().map(|columns| Levels::new(support.view(), columns)).collect();
    let cells: Vec<f64> = x
        .columns()
        .into_iter()
        .flat_map(|row| features.iter().flatten().map(move |&j| row[j]))
        .collect();
    let pairs = Pairs {
        rows: &cells,
        units: &levels.iter().collect::<Vec<_>>(),
        support: &(0..count).collect::<Vec<_>>(),
        gamma: machines.gamma,
    };
    let mut buffers = ShareBuffers::default();
    let mut of_class = |c: &Vec<f64>| {
        let weights: Vec<f64> = c.iter().flat_map(|&c| std::iter::repeat_n(c, x.ncols())).collect();
        pairs.shares(&weights, Coalitions::Shapley, &mut buffers)
    };
    let by_class: Vec<Vec<f64>> = machines.coefficients.iter().map(&mut of_class).collect();
    let share = |feature: usize, row: usize| -> Vec<f64> {
        by_class.iter().map(|shares| shares[feature * x.ncols() + row]).collect()
    };
    (0..x.ncols())
        .map(|row| (0..features.len()).map(|feature| share(feature, row)).collect())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svm::Gamma;

    #[test]
    fn effects_over_the_supporting_rows_have_a_mean_of_zero_and_add_up_to_the_decision() {
        let x = Array2::from_shape_fn((3, 40), |(j, i)| {
            ((i * (7 + 4 * j) + j) % 23) as f64 / 10.0 - 1.1
        });
        let y: Vec<usize> =
            (0..40).map(|i| usize::from(x[[0, i]] * x[[0, i]] + 0.2 * x[[1, i]] > 0.4)).collect();
        let problem = Problem::new(x.view(), &y, 2).unwrap();
        let mut model = KernelMachines::new(problem, Gamma::Fixed(0.5));
        assert!(model.fit().converged);
        let support = SupportMachines::new(&model);
        let machines =
            Machines { deciding: Deciding::Kernel(support.clone()), bias: model.biases() };
        let features = [vec![0], vec![2, 1]];
        let baselines = machines.baselines(&features);
        let rows =
            Array2::from_shape_fn((3, support.support.len()), |(j, i)| support.support[i][j]);
        let shares = machines.shares(rows.view(), &features);
        let decisions = machines.decisions(rows.view());
        let mut means = [[0.0; 2]; 2];
        for (row, shares) in shares.iter().enumerate() {
            let mut sums = machines.without_features();
            for (feature, share) in shares.iter().enumerate() {
                let effect = baselines[feature].effect(share);
                for class in 0..2 {
                    means[feature][class] += effect[class] / rows.ncols() as f64;
                    sums[class] += effect[class] + baselines[feature].means()[class];
                }
            }
            let differs =
                |(class, sum): (usize, &f64)| (sum - decisions[[row, class]]).abs() > 1e-10;
            assert!(!sums.iter().enumerate().any(differs), "{sums:?}");
        }
        assert!(means.iter().flatten().all(|mean| mean.abs() < 1e-12), "{means:?}");
        assert!(baselines.iter().any(|baseline| baseline.means()[0].abs() > 0.1), "{baselines:?}");
    }
}
