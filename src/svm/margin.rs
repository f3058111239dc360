//! The training rows of one one-vs-all machine: labels, costs, who is inside the margin, and the exact line search.
//!
//! Both Newton routes share it: they differ only in how they find a direction.

use super::Problem;
use super::lanes;

/// Newton stops here: relative norm of the true gradient.
const TOLERANCE: f64 = 1e-10;
/// It is smaller the larger C is, down to this: the gradient at the zero model, to which it is relative, grows with C, but the
/// weights do not.
const LEAST_TOLERANCE: f64 = 1e-14;
/// A fit that stalls above this is reported as not converged.
pub const ACCEPTABLE: f64 = 1e-7;
/// Newton steps before a fit is given up.
pub const MOST_STEPS: usize = 2000;
/// Steps in a row that lead nowhere before a fit in Gram space is given up.
pub const MOST_STALLS: usize = 8;

/// Labels and costs of the rows, and their decision values under the current model.
#[derive(Clone)]
pub struct Margin {
    /// θ_i = ±1.
    pub theta: Vec<f64>,
    /// 2C_i.
    pub cost: Vec<f64>,
    /// f_i = w·x_i + b.
    pub decision: Vec<f64>,
}

impl Margin {
    /// The rows of one machine, under the zero model.
    pub fn new(problem: &Problem<'_>, machine: usize) -> Self {
        let theta = problem.labels(machine);
        let (positive, negative) = problem.costs(machine);
        let cost = theta.iter().map(|&t| 2.0 * if t > 0.0 { positive } else { negative }).collect();
        let decision = vec![0.0; theta.len()];
        Self { theta, cost, decision }
    }

    /// The relative norm of the gradient at which Newton stops.
    pub fn tolerance(&self) -> f64 {
        let most = self.cost.iter().fold(2.0, |most: f64, &cost| most.max(cost));
        (2.0 * TOLERANCE / most).max(LEAST_TOLERANCE)
    }

    /// Whether a row has positive loss.
    pub fn inside(&self, i: usize) -> bool {
        self.theta[i] * self.decision[i] < 1.0
    }

    /// 2C_i (θ_i − f_i) for the rows with positive loss, 0 for the others: minus the derivative of the loss.
    pub fn pull(&self) -> Vec<f64> {
        let mut pull = vec![0.0; self.theta.len()];
        self.pull_into(&mut pull);
        pull
    }

    /// The same, into a vector that is there.
    pub fn pull_into(&self, pull: &mut [f64]) {
        lanes::pull(&self.theta, &self.decision, &self.cost, pull);
    }

    /// What the losses of all rows come to: Σ C_i max(0, 1 − θ_i f_i)².
    fn loss(&self) -> f64 {
        let rows = self.theta.iter().zip(&self.decision).zip(&self.cost);
        rows.map(|((theta, f), cost)| 0.5 * cost * (1.0 - theta * f).max(0.0).powi(2)).sum()
    }

    /// The exact minimum of the objective along a direction that moves the decision values by `change` and for which
    /// w·d = `along` and d·d = `square`: the root of a piecewise linear increasing derivative.
    pub fn line_search(&self, change: &[f64], along: f64, square: f64) -> f64 {
        let n = self.theta.len();
        // The derivative is along + s·square − Σ over rows inside at s of cost (θ − f − s·change)·change.
        let (at_zero, at_one) = lanes::pulls_along(&self.theta, &self.decision, &self.cost, change);
        let (slope_at_zero, slope_at_one) = (along - at_zero, along + square - at_one);
        if slope_at_one.abs() <= 1e-12 * slope_at_zero.abs() {
            return 1.0;
        }
        // The slope grows: if it has turned at 1, so it does before.
        let farthest = if slope_at_one > 0.0 { 1.0 } else { f64::INFINITY };
        let mut crossings: Vec<(f64, usize)> = (0..n)
            .filter(|&i| change[i] != 0.0)
            .map(|i| ((self.theta[i] - self.decision[i]) / change[i], i))
            .filter(|&(s, _)| s > 0.0 && s <= farthest)
            .collect();
        crossings.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut slope = slope_at_zero;
        let mut curvature = square
            + (0..n)
                .filter(|&i| {
                    // On the margin at s = 0 a row counts if it is about to move inside.
                    let slack = 1.0 - self.theta[i] * self.decision[i];
                    slack > 0.0 || (slack == 0.0 && self.theta[i] * change[i] < 0.0)
                })
                .map(|i| self.cost[i] * change[i] * change[i])
                .sum::<f64>();
        let mut here = 0.0;
        for (s, i) in crossings {
            let ahead = slope + curvature * (s - here);
            if ahead >= 0.0 {
                break;
            }
            (slope, here) = (ahead, s);
            let weight = self.cost[i] * change[i] * change[i];
            // A row crosses outwards when its decision moves towards its label.
            curvature += if self.theta[i] * change[i] > 0.0 { -weight } else { weight };
        }
        here - slope / curvature.max(square).max(f64::MIN_POSITIVE)
    }
}

/// Whether a fit gets anywhere. The norm of the gradient may grow for many steps while rows come and go, but the objective
/// falls with every step, until rounding has the word.
pub struct Progress {
    objective: f64,
    residual: f64,
    stalls: usize,
}

impl Progress {
    /// Nothing is done yet.
    pub fn new() -> Self {
        Self { objective: f64::INFINITY, residual: f64::INFINITY, stalls: 0 }
    }

    /// Takes the relative norm of the gradient, and ‖w‖² with the rows for the objective; tells how many steps in a row have led
    /// nowhere.
    pub fn note(&mut self, residual: f64, square: f64, margin: &Margin) -> usize {
        let objective = 0.5 * square + margin.loss();
        // Less than this is rounding.
        let has_fallen = objective < self.objective * (1.0 - 1e-13);
        self.stalls = if residual >= 0.5 * self.residual && !has_fallen { self.stalls + 1 } else { 0 };
        (self.objective, self.residual) = (objective, residual);
        self.stalls
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Stream};
    use crate::svm::lanes::dot;

    #[test]
    fn a_gradient_that_grows_is_no_stall_while_the_objective_falls() {
        let margin = |decision: f64| Margin { theta: vec![1.0], cost: vec![2.0], decision: vec![decision] };
        let mut progress = Progress::new();
        for step in 1..20 {
            let t = f64::from(step);
            assert_eq!(progress.note(t, 1.0, &margin(0.01 * t)), 0);
        }
        // The same again, or worse, is one; a gradient that shrinks is none.
        assert_eq!(progress.note(20.0, 1.0, &margin(0.19)), 1);
        assert_eq!(progress.note(21.0, 1.0, &margin(0.18)), 2);
        assert_eq!(progress.note(1.0, 1.0, &margin(0.18)), 0);
    }

    #[test]
    fn tolerances_follow_the_largest_cost() {
        let of_cost =
            |cost| Margin { theta: vec![1.0; 2], cost: vec![2.0, 2.0 * cost], decision: vec![0.0; 2] };
        assert_eq!(of_cost(1e-3).tolerance(), 1e-10);
        assert!((of_cost(100.0).tolerance() - 1e-12).abs() < 1e-20);
        assert_eq!(of_cost(1e9).tolerance(), 1e-14);
    }

    #[test]
    fn line_search_finds_the_minimum_of_the_objective() {
        let mut stream = Stream::new(3, 0, Purpose::Split);
        for _ in 0..200 {
            let mut draw = |n: usize| (0..n).map(|_| 4.0 * stream.uniform() - 2.0).collect::<Vec<f64>>();
            let (w, direction) = (draw(3), draw(3));
            let rows: Vec<Vec<f64>> = (0..12).map(|_| draw(3)).collect();
            let theta: Vec<f64> = draw(12).iter().map(|v| v.signum()).collect();
            let along_rows = |v: &[f64]| rows.iter().map(|row| dot(row, v)).collect::<Vec<f64>>();
            let margin = Margin { theta: theta.clone(), cost: vec![2.0; 12], decision: along_rows(&w) };
            let objective = |s: f64| {
                let v: Vec<f64> = w.iter().zip(&direction).map(|(w, d)| w + s * d).collect();
                let loss = along_rows(&v)
                    .iter()
                    .zip(&theta)
                    .map(|(f, t)| (1.0 - t * f).max(0.0).powi(2))
                    .sum::<f64>();
                0.5 * dot(&v, &v) + loss
            };
            // The search is along a descent direction, as Newton's always is.
            let change = along_rows(&direction);
            if dot(&w, &direction) - dot(&margin.pull(), &change) >= 0.0 {
                continue;
            }
            let s = margin.line_search(&change, dot(&w, &direction), dot(&direction, &direction));
            let here = objective(s);
            for nearby in [s - 1e-3, s + 1e-3, 0.9 * s, 1.1 * s] {
                assert!(here <= objective(nearby) + 1e-12, "{s} {nearby}");
            }
        }
    }
}
