//! The fit of one kernel machine by Newton's method (docs/method.md section 15, docs/numerics.md).
//!
//! f(x) = Σ_s c_s (k(x, s) + 1) over the training rows s; the 1 is the bias.

use super::support_factor::{SupportFactor, SupportSystem};
use crate::linalg::{PackedSymmetric, axpy, dot};
use crate::svm::active_set::HingeRows;
use crate::svm::newton::{Descent, MAX_STEPS, System, minimise, tolerance};
use crate::svm::{Convergence, Problem};

/// One one-vs-rest model.
pub struct Machine {
    hinge: HingeRows,
    /// c of every training row.
    pub c: Vec<f64>,
    /// The squared norm of the gradient at the zero model, under the kernel of the first fit: what
    /// residuals are relative to.
    scale: f64,
    direction: Vec<f64>,
    change: Vec<f64>,
}

impl Machine {
    /// The zero model.
    pub fn new(problem: &Problem<'_>, machine: usize) -> Self {
        let zeros = || vec![0.0; problem.rows()];
        let hinge = HingeRows::new(problem, machine);
        Self { hinge, c: zeros(), scale: 0.0, direction: zeros(), change: zeros() }
    }

    /// Fits from the coefficients that there are. The factor is for its memory.
    pub fn fit(&mut self, kernel: &PackedSymmetric, factor: &mut SupportFactor) -> Convergence {
        if self.scale == 0.0 {
            // 2C_i θ_i is minus the gradient at the zero model, in the coordinates of c.
            let rows = self.hinge.theta.iter().zip(&self.hinge.cost);
            let start: Vec<f64> = rows.map(|(theta, cost)| theta * cost).collect();
            kernel.multiply(&start, &mut self.change);
            self.scale = dot(&start, &self.change).max(f64::MIN_POSITIVE);
        }
        kernel.multiply(&self.c, &mut self.hinge.decision);
        let tolerance = tolerance(&self.hinge.cost);
        let descent = Descent::new();
        let mut fit = Fit {
            machine: self,
            kernel,
            tolerance,
            factor,
            has_factor: false,
            is_first: true,
            descent,
        };
        let fit = minimise(&mut fit, tolerance, MAX_STEPS);
        // What is left on rows without loss is rounding.
        for i in 0..self.c.len() {
            if !self.hinge.has_loss(i) {
                self.c[i] = 0.0;
            }
        }
        fit
    }
}

/// One fit of a machine, as the dual solver's: the gradient is Σ (c_i − g_i) k(·, i), where g is
/// minus the gradient of the loss.
struct Fit<'f> {
    machine: &'f mut Machine,
    kernel: &'f PackedSymmetric,
    tolerance: f64,
    /// Of the rows that supported when a direction was first computed, or when too many had
    /// changed.
    factor: &'f mut SupportFactor,
    has_factor: bool,
    /// No direction was computed yet.
    is_first: bool,
    descent: Descent,
}

/// Residuals above this are not needed exactly: an upper bound will do.
const FAR: f64 = 1e-4;

impl System for Fit<'_> {
    const MAX_STALLS: usize = 8;

    fn gradient(&mut self) -> f64 {
        let Machine { hinge, c, scale, direction: gap, change, .. } = &mut *self.machine;
        hinge.negative_loss_gradient(gap);
        gap.iter_mut().zip(&*c).for_each(|(gap, c)| *gap = c - *gap);
        // No eigenvalue of K exceeds its trace.
        let bound = (dot(gap, gap) * self.kernel.trace() / *scale).sqrt();
        if bound <= self.tolerance || bound > FAR {
            return bound;
        }
        self.kernel.multiply(gap, change);
        (dot(gap, change).max(0.0) / *scale).sqrt()
    }

    fn has_stalled(&mut self, before: f64, after: f64) -> Option<bool> {
        if after <= self.tolerance {
            return Some(false);
        }
        let Machine { c, hinge, .. } = &*self.machine;
        Some(self.descent.has_stalled(0.5 * dot(c, &hinge.decision) + hinge.loss(), before, after))
    }

    /// Decision values that have drifted are made anew, and so is the factor.
    fn rebuild(&mut self) {
        let Machine { c, hinge, .. } = &mut *self.machine;
        self.kernel.multiply(c, &mut hinge.decision);
        self.has_factor = false;
    }

    /// The way to the minimiser with the supporting rows S fixed: (K_SS + diag(1/2C_i)) c = θ on
    /// them, zero elsewhere, as a correction of the coefficients that there are.
    fn direction(&mut self) {
        let Machine { hinge, c, direction, change, .. } = &mut *self.machine;
        let system = SupportSystem { kernel: self.kernel, cost: &hinge.cost };
        // The rows that supported the last fit are a better guess than those that have loss under
        // its coefficients and another kernel.
        let keeps_support = std::mem::take(&mut self.is_first) && c.iter().any(|&c| c != 0.0);
        let supports: Vec<bool> = (0..c.len())
            .map(|i| if keeps_support { c[i] != 0.0 } else { hinge.has_loss(i) })
            .collect();
        let mut dropped = vec![0.0; c.len()];
        for i in (0..c.len()).filter(|&i| !supports[i]) {
            dropped[i] = -c[i];
        }
        if dropped.iter().any(|&dropped| dropped != 0.0) {
            self.kernel.multiply(&dropped, change);
        } else {
            change.fill(0.0);
        }
        let rest: Vec<f64> = (0..c.len())
            .map(|i| hinge.theta[i] - hinge.decision[i] - change[i] - c[i] / hinge.cost[i])
            .collect();
        if !self.has_factor || !self.factor.solve(system, &supports, &rest, direction) {
            self.has_factor = self.factor.renew(system, &supports);
            if !self.has_factor || !self.factor.solve(system, &supports, &rest, direction) {
                direction.fill(0.0);
            }
        }
        direction.iter_mut().zip(dropped).for_each(|(direction, dropped)| *direction += dropped);
        self.kernel.multiply(direction, change);
    }

    fn line_search(&mut self) -> f64 {
        let Machine { c, hinge, direction, change, .. } = &*self.machine;
        hinge.line_search(change, dot(c, change), dot(direction, change))
    }

    fn accept(&mut self, step: f64) {
        let Machine { c, hinge, direction, change, .. } = &mut *self.machine;
        axpy(step, direction, c);
        axpy(step, change, &mut hinge.decision);
    }
}
