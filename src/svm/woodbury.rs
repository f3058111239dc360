//! Exact Newton that holds w itself and solves in Gram space: the route for more columns than rows when K is too
//! ill-conditioned to hold the model as w = Σ a_i x_i (columns of very different scale).
//!
//! H⁻¹ g = g − X_Sᵀ (K_SS + diag(1/2C_i))⁻¹ X_S g. The gradient is that of w, so rounding in K costs steps, not the answer.

use super::gram::kernel;
use super::inverse::Inverse;
use super::lagging::Lagging;
use super::lanes::{add_columns, add_columns_times, axpy, dot, norm};
use super::margin::{ACCEPTABLE, MOST_STALLS, MOST_STEPS, Margin, Progress};
use super::{Convergence, Problem};

/// Warm-started Newton on w with solves in Gram space. It does not hold the problem, so that it can be shared.
#[derive(Clone)]
pub struct Woodbury {
    columns: Vec<usize>,
    kernel: Lagging,
    machines: Vec<Machine>,
}

/// One one-vs-all model. Position 0 is the bias, position 1 + i the i-th column present.
#[derive(Clone)]
struct Machine {
    margin: Margin,
    w: Vec<f64>,
    inverse: Inverse,
}

impl Woodbury {
    /// Starts from given models (bias first) on some of the columns.
    pub fn warm(problem: &Problem<'_>, columns: Vec<usize>, models: Vec<Vec<f64>>) -> Self {
        let machine = |(machine, w): (usize, Vec<f64>)| Machine {
            margin: Margin::new(problem, machine),
            w,
            inverse: Inverse::new(problem.y.len()),
        };
        let machines = models.into_iter().enumerate().map(machine).collect();
        Self { columns, kernel: Lagging::default(), machines }
    }

    /// Fits all machines. K is made afresh: downdates would carry the rounding of large columns over to small ones.
    pub fn fit(&mut self, problem: &Problem<'_>) -> Convergence {
        self.kernel = Lagging::new(kernel(problem, &self.columns));
        let Self { columns, kernel, machines } = self;
        let fits = machines.iter_mut().map(|machine| machine.fit(problem, columns, kernel));
        fits.fold(Convergence::NONE, Convergence::and)
    }

    /// The columns present, ascending.
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// The weight of a column; zero if it is gone.
    pub fn weight(&self, machine: usize, column: usize) -> f64 {
        self.columns.binary_search(&column).map_or(0.0, |position| self.machines[machine].w[position + 1])
    }

    /// The bias of a machine.
    pub fn bias(&self, machine: usize) -> f64 {
        self.machines[machine].w[0]
    }

    /// Lets columns go; the next fit starts from the other weights.
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
    /// Newton steps until the true gradient vanishes.
    fn fit(&mut self, problem: &Problem<'_>, columns: &[usize], kernel: &mut Lagging) -> Convergence {
        let start: Vec<f64> = self.margin.theta.iter().zip(&self.margin.cost).map(|(t, c)| t * c).collect();
        let scale = norm(&against(problem, columns, &start)).max(f64::MIN_POSITIVE);
        let mut residual = f64::INFINITY;
        let (mut progress, mut stalls, tolerance) = (Progress::new(), 0, self.margin.tolerance());
        let mut solved = vec![0.0; problem.y.len()];
        for iterations in 0..MOST_STEPS {
            // Decision values follow from w: steps that add up rounding would hide it.
            self.margin.decision = decisions(problem, columns, &self.w);
            self.inverse.follow(&self.margin, kernel, iterations == 0 || stalls == 2);
            let mut gradient = against(problem, columns, &self.margin.pull());
            axpy(1.0, &self.w, &mut gradient);
            let now = norm(&gradient) / scale;
            residual = now;
            stalls = progress.note(now, dot(&self.w, &self.w), &self.margin);
            if now <= tolerance || stalls > MOST_STALLS {
                return Convergence { converged: now <= ACCEPTABLE, residual, iterations };
            }
            self.inverse.times_into(&decisions(problem, columns, &gradient), &mut solved);
            let mut direction = against(problem, columns, &solved);
            direction.iter_mut().zip(&gradient).for_each(|(d, g)| *d = -(*d + g));
            let change = decisions(problem, columns, &direction);
            let step =
                self.margin.line_search(&change, dot(&self.w, &direction), dot(&direction, &direction));
            axpy(step, &direction, &mut self.w);
        }
        Convergence { converged: residual <= ACCEPTABLE, residual, iterations: MOST_STEPS }
    }
}

/// −Σ_i v_i x_i, bias first.
fn against(problem: &Problem<'_>, columns: &[usize], v: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; columns.len() + 1];
    sums[0] = v.iter().sum();
    add_columns_times(problem.some_columns(columns), 0..v.len(), v, &mut sums[1..]);
    sums.iter_mut().for_each(|sum| *sum = -*sum);
    sums
}

/// w·x_i + b for every row, bias first in w.
fn decisions(problem: &Problem<'_>, columns: &[usize], w: &[f64]) -> Vec<f64> {
    let mut decisions = vec![w[0]; problem.y.len()];
    let rows = 0..decisions.len();
    add_columns(problem.some_columns(columns), rows, &w[1..], &mut decisions);
    decisions
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Stream};
    use crate::svm::{ClassWeight, Gram, Present, Watched};
    use ndarray::Array2;

    #[test]
    fn agrees_with_gram_space_where_both_converge() {
        let mut stream = Stream::new(2, 0, Purpose::Split);
        let x = Array2::from_shape_fn((60, 24), |_| stream.uniform() - 0.5);
        let y: Vec<usize> = (0..24).map(|i| i % 3).collect();
        let problem = Problem { x: x.view(), y: &y, classes: 3, cost: 1.0, weight: ClassWeight::Balanced };
        let mut gram = Gram::new(&problem, Present::all(60));
        let mut woodbury = Woodbury::warm(&problem, (0..60).collect(), vec![vec![0.0; 61]; 3]);
        for gone in [3, 40, 17, 0, 59] {
            assert!(gram.fit(&problem, &Watched::default()).converged && woodbury.fit(&problem).converged);
            for (ours, theirs) in
                gram.models(&problem).iter().flatten().zip(woodbury.models().iter().flatten())
            {
                assert!((ours - theirs).abs() < 1e-9, "{ours} {theirs}");
            }
            gram.remove(&problem, &[gone], &Watched::default());
            woodbury.remove(&[gone]);
        }
    }
}
