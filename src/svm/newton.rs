//! The one Newton loop, its stall detection and its exact line search (docs/method.md section 10).
//! It knows a problem only as a [`System`]: the primal, the dual and kernel machines differ in
//! what they keep and in how they solve for a direction.

use super::Convergence;

/// Where Newton stops: the relative norm of the true gradient, at C = 1.
const TOLERANCE: f64 = 1e-10;
/// It shrinks as C grows, down to this: the gradient at the zero model, to which it is relative,
/// grows with C, the weights do not.
const LEAST_TOLERANCE: f64 = 1e-14;
/// A fit that stalls above this residual is reported as not converged.
const ACCEPTABLE: f64 = 1e-7;
/// Newton steps before a fit is abandoned.
pub const MAX_STEPS: usize = 2000;
/// The same for a machine that has failed to converge before on the same path.
pub const FEW_STEPS: usize = 200;
/// After this many stalls in a row, the matrix behind the direction is rebuilt.
const REBUILD_AT: usize = 2;

/// A smooth piecewise quadratic objective, a current model, and what is needed to step from it.
pub trait System {
    /// Stalls in a row before a fit is abandoned.
    const MAX_STALLS: usize;

    /// The norm of the gradient relative to that at the zero model. If it is within the tolerance,
    /// it is the true one.
    fn gradient(&mut self) -> f64;

    /// Whether the last step made no progress, given the residuals before and after it; `None` if
    /// that is not known yet.
    fn has_stalled(&mut self, before: f64, after: f64) -> Option<bool>;

    /// Rebuilds from scratch the matrix that [`System::direction`] solves with.
    fn rebuild(&mut self);

    /// Finds the Newton direction.
    fn direction(&mut self);

    /// The step to the exact minimum along the direction.
    fn line_search(&mut self) -> f64;

    /// Moves the model by a step along the direction.
    fn accept(&mut self, step: f64);
}

/// Newton steps until the relative norm of the true gradient is within the tolerance, or until
/// steps make no progress.
pub fn minimise<S: System>(system: &mut S, tolerance: f64, max_steps: usize) -> Convergence {
    let mut verified = f64::INFINITY;
    let mut stalls = 0;
    for iterations in 0..max_steps {
        let residual = system.gradient();
        let stalled =
            if residual.is_finite() { system.has_stalled(verified, residual) } else { None };
        if let Some(stalled) = stalled {
            stalls = if stalled { stalls + 1 } else { 0 };
            verified = residual;
        }
        if stalled.is_some() && residual <= tolerance
            || stalls > S::MAX_STALLS
            || !residual.is_finite()
        {
            return Convergence { converged: residual <= ACCEPTABLE, residual, iterations };
        }
        if stalls == REBUILD_AT && stalled.is_some() {
            system.rebuild();
        }
        system.direction();
        let step = system.line_search();
        system.accept(step);
    }
    Convergence { converged: verified <= ACCEPTABLE, residual: verified, iterations: max_steps }
}

/// The relative norm of the gradient at which to stop; `costs` are 2C_i.
pub fn tolerance(costs: &[f64]) -> f64 {
    let largest = costs.iter().fold(2.0, |largest: f64, &cost| largest.max(cost));
    (2.0 * TOLERANCE / largest).max(LEAST_TOLERANCE)
}

/// The root of an increasing, piecewise linear derivative, given its `slope` and `curvature` at
/// zero, and the places where the curvature changes, each with the amount. The curvature is at
/// least `least`; anything lower is due to rounding.
pub fn exact_line_search(
    slope: f64,
    curvature: f64,
    crossings: &mut [(f64, f64)],
    least: f64,
) -> f64 {
    crossings.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut here = 0.0;
    let mut slope = slope;
    let mut curvature = curvature;
    for &(at, change) in &*crossings {
        let ahead = slope + curvature * (at - here);
        if ahead >= 0.0 {
            break;
        }
        (here, slope) = (at, ahead);
        curvature += change;
    }
    here - slope / curvature.max(least).max(f64::MIN_POSITIVE)
}

/// Detects whether the objective decreases. The norm of the gradient may grow for many steps while
/// rows enter and leave the active set, but the objective decreases with every step, down to
/// rounding.
#[derive(Clone)]
pub struct Descent {
    objective: f64,
}

impl Descent {
    /// No step has been made yet.
    pub fn new() -> Self {
        Self { objective: f64::INFINITY }
    }

    /// Takes the objective after a step and the residuals before and after it; returns whether the
    /// step made no progress.
    pub fn has_stalled(&mut self, objective: f64, before: f64, after: f64) -> bool {
        // Differences below this are rounding.
        let has_fallen = objective < self.objective * (1.0 - 1e-13);
        self.objective = objective;
        after >= 0.5 * before && !has_fallen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gradient_that_grows_is_no_stall_while_the_objective_falls() {
        let mut descent = Descent::new();
        for step in 1..20 {
            let t = f64::from(step);
            assert!(!descent.has_stalled(100.0 - t, t - 1.0, t));
        }
        // The same objective again, or a larger one, is a stall, unless the gradient shrinks.
        assert!(descent.has_stalled(81.0, 19.0, 20.0));
        assert!(descent.has_stalled(82.0, 20.0, 21.0));
        assert!(!descent.has_stalled(82.0, 21.0, 1.0));
    }

    #[test]
    fn tolerances_follow_the_largest_cost() {
        assert_eq!(tolerance(&[2.0, 2e-3]), 1e-10);
        assert!((tolerance(&[2.0, 200.0]) - 1e-12).abs() < 1e-20);
        assert_eq!(tolerance(&[2.0, 2e9]), 1e-14);
    }

    /// ½x² − 3x, whose gradient is off by a fixed amount if `bias` is not zero.
    struct Parabola {
        x: f64,
        bias: f64,
        steps: usize,
        rebuilt: usize,
    }

    impl System for Parabola {
        const MAX_STALLS: usize = 4;
        fn gradient(&mut self) -> f64 {
            (self.x - 3.0).abs() / 3.0 + self.bias
        }
        fn has_stalled(&mut self, before: f64, after: f64) -> Option<bool> {
            Some(after >= 0.5 * before)
        }
        fn rebuild(&mut self) {
            self.rebuilt += 1;
        }
        fn direction(&mut self) {}
        fn line_search(&mut self) -> f64 {
            1.0
        }
        fn accept(&mut self, step: f64) {
            self.x += step * (3.0 - self.x);
            self.steps += 1;
        }
    }

    #[test]
    fn ends_at_the_minimum_or_when_steps_lead_nowhere() {
        let mut exact = Parabola { x: 0.0, bias: 0.0, steps: 0, rebuilt: 0 };
        assert_eq!(
            minimise(&mut exact, 1e-10, MAX_STEPS),
            Convergence { converged: true, residual: 0.0, iterations: 1 }
        );
        let mut stuck = Parabola { x: 0.0, bias: 1e-3, steps: 0, rebuilt: 0 };
        assert!(!minimise(&mut stuck, 1e-10, MAX_STEPS).converged);
        assert_eq!((stuck.steps, stuck.rebuilt), (6, 1));
        let mut short = Parabola { x: 0.0, bias: 1e-3, steps: 0, rebuilt: 0 };
        assert_eq!((minimise(&mut short, 1e-10, 3).iterations, short.steps), (3, 3));
        let mut undefined = Parabola { x: 0.0, bias: f64::NAN, steps: 0, rebuilt: 0 };
        assert!(!minimise(&mut undefined, 1e-10, MAX_STEPS).converged);
        assert_eq!(undefined.steps, 0);
    }
}
