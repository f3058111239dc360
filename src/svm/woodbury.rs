//! The Woodbury form: exact Newton on w that solves in Gram space, for more columns than rows when
//! K is too ill-conditioned to hold the model as w = Σ a_i x_i (columns of very different scale).
//!
//! H⁻¹ g = g − X_Sᵀ (K_SS + diag(1/2C_i))⁻¹ X_S g. The gradient is that of w, so rounding in K
//! costs steps, not the answer.

use super::active_set::HingeRows;
use super::dual::kernel;
use super::newton::{Descent, MAX_STEPS, System, minimise, tolerance};
use super::support_inverse::SupportInverse;
use super::{Convergence, Problem};
use crate::linalg::DelayedUpdates;
use crate::linalg::{add_columns, axpy, dot, norm, row_dots};

/// Warm-started Newton on w with solves in Gram space. It does not hold the problem, so that it can
/// be shared.
#[derive(Clone)]
pub struct Woodbury {
    columns: Vec<usize>,
    kernel: DelayedUpdates,
    machines: Vec<Machine>,
}

/// One one-vs-all model. Position 0 is the bias, position 1 + i the i-th column present.
#[derive(Clone)]
struct Machine {
    hinge: HingeRows,
    w: Vec<f64>,
    inverse: SupportInverse,
}

impl Woodbury {
    /// Starts from given models (bias first) on some of the columns.
    pub fn warm(problem: &Problem<'_>, columns: Vec<usize>, models: Vec<Vec<f64>>) -> Self {
        let machine = |(machine, w): (usize, Vec<f64>)| Machine {
            hinge: HingeRows::new(problem, machine),
            w,
            inverse: SupportInverse::new(problem.rows()),
        };
        let machines = models.into_iter().enumerate().map(machine).collect();
        Self { columns, kernel: DelayedUpdates::default(), machines }
    }

    /// Fits all machines. K is recomputed: downdates would carry the rounding of large columns over
    /// to small ones.
    pub fn fit(&mut self, problem: &Problem<'_>) -> Convergence {
        self.kernel = DelayedUpdates::new(kernel(problem, &self.columns));
        let Self { columns, kernel, machines } = self;
        let fits = machines.iter_mut().map(|machine| machine.fit(problem, columns, kernel));
        fits.fold(Convergence::NONE, Convergence::and)
    }

    /// The columns present, ascending.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The weight of a column; zero if it was removed.
    pub fn weight(&self, machine: usize, column: usize) -> f64 {
        self.columns
            .binary_search(&column)
            .map_or(0.0, |position| self.machines[machine].w[position + 1])
    }

    /// The bias of a machine.
    pub fn bias(&self, machine: usize) -> f64 {
        self.machines[machine].w[0]
    }

    /// Removes columns; the next fit starts from the remaining weights.
    pub fn remove(&mut self, columns: &[usize]) {
        for column in columns {
            if let Ok(position) = self.columns.binary_search(column) {
                self.columns.remove(position);
                for machine in &mut self.machines {
                    machine.w.remove(position + 1);
                }
            }
        }
    }

    /// The models, bias first.
    pub fn models(&self) -> Vec<Vec<f64>> {
        self.machines.iter().map(|machine| machine.w.clone()).collect()
    }
}

impl Machine {
    /// Fits from the current weights.
    fn fit(
        &mut self,
        problem: &Problem<'_>,
        columns: &[usize],
        kernel: &mut DelayedUpdates,
    ) -> Convergence {
        let start: Vec<f64> =
            self.hinge.theta.iter().zip(&self.hinge.cost).map(|(t, c)| t * c).collect();
        let scale = norm(&neg_xt_times(problem, columns, &start)).max(f64::MIN_POSITIVE);
        let tolerance = tolerance(&self.hinge.cost);
        self.hinge.decision = decisions(problem, columns, &self.w);
        self.inverse.rebuild(&self.hinge, kernel);
        let (gradient, direction, descent) = (Vec::new(), Vec::new(), Descent::new());
        let mut fit =
            Fit { machine: self, problem, columns, kernel, scale, gradient, direction, descent };
        minimise(&mut fit, tolerance, MAX_STEPS)
    }
}

/// One fit of a machine.
struct Fit<'f, 'p> {
    machine: &'f mut Machine,
    problem: &'f Problem<'p>,
    columns: &'f [usize],
    kernel: &'f mut DelayedUpdates,
    /// The norm of the gradient at the zero model.
    scale: f64,
    gradient: Vec<f64>,
    direction: Vec<f64>,
    descent: Descent,
}

impl System for Fit<'_, '_> {
    const MAX_STALLS: usize = 8;

    fn gradient(&mut self) -> f64 {
        let Machine { hinge, w, inverse } = &mut *self.machine;
        // Recompute decision values from w: accumulating steps would hide rounding.
        hinge.decision = decisions(self.problem, self.columns, w);
        inverse.change_rows(hinge, self.kernel);
        let mut of_loss = vec![0.0; hinge.theta.len()];
        hinge.negative_loss_gradient(&mut of_loss);
        self.gradient = neg_xt_times(self.problem, self.columns, &of_loss);
        axpy(1.0, w, &mut self.gradient);
        norm(&self.gradient) / self.scale
    }

    fn has_stalled(&mut self, before: f64, after: f64) -> Option<bool> {
        let Machine { hinge, w, .. } = &*self.machine;
        Some(self.descent.has_stalled(0.5 * dot(w, w) + hinge.loss(), before, after))
    }

    fn rebuild(&mut self) {
        self.machine.inverse.rebuild(&self.machine.hinge, self.kernel);
    }

    fn direction(&mut self) {
        let mut solved = vec![0.0; self.problem.rows()];
        self.machine
            .inverse
            .multiply(&decisions(self.problem, self.columns, &self.gradient), &mut solved);
        self.direction = neg_xt_times(self.problem, self.columns, &solved);
        self.direction.iter_mut().zip(&self.gradient).for_each(|(d, g)| *d = -(*d + g));
    }

    fn line_search(&mut self) -> f64 {
        let change = decisions(self.problem, self.columns, &self.direction);
        let w = &self.machine.w;
        let direction = &self.direction;
        self.machine.hinge.line_search(&change, dot(w, direction), dot(direction, direction))
    }

    fn accept(&mut self, step: f64) {
        axpy(step, &self.direction, &mut self.machine.w);
    }
}

/// −Σ_i v_i x_i, bias first.
fn neg_xt_times(problem: &Problem<'_>, columns: &[usize], v: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; columns.len() + 1];
    sums[0] = v.iter().sum();
    row_dots(problem.cells(), columns, v, &mut sums[1..]);
    sums.iter_mut().for_each(|sum| *sum = -*sum);
    sums
}

/// w·x_i + b for every row, bias first in w.
fn decisions(problem: &Problem<'_>, columns: &[usize], w: &[f64]) -> Vec<f64> {
    let mut decisions = vec![w[0]; problem.rows()];
    add_columns(problem.some_columns(columns), &w[1..], &mut decisions);
    decisions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};
    use crate::svm::{ClassWeight, Dual, Present, Watched};
    use ndarray::Array2;

    #[test]
    fn agrees_with_the_dual_where_both_converge() {
        let mut rng = Rng::new(2, 0, Purpose::Split);
        let x = Array2::from_shape_fn((60, 24), |_| rng.uniform() - 0.5);
        let y: Vec<usize> = (0..24).map(|i| i % 3).collect();
        let problem = Problem::new(x.view(), &y, 3).unwrap().with_cost(1.0, ClassWeight::Balanced);
        let mut dual = Dual::new(&problem, Present::all(60));
        let mut woodbury = Woodbury::warm(&problem, (0..60).collect(), vec![vec![0.0; 61]; 3]);
        for gone in [3, 40, 17, 0, 59] {
            assert!(
                dual.fit(&problem, &Watched::default()).converged
                    && woodbury.fit(&problem).converged
            );
            for (ours, theirs) in
                dual.models(&problem).iter().flatten().zip(woodbury.models().iter().flatten())
            {
                assert!((ours - theirs).abs() < 1e-9, "{ours} {theirs}");
            }
            dual.remove(&problem, &[gone], &Watched::default());
            woodbury.remove(&[gone]);
        }
    }
}
