//! The training rows of one one-vs-rest machine: labels, costs, decision values, and which rows
//! have positive loss.

use crate::linalg::simd::{LANES, kernel, sum};
use crate::svm::Problem;
use crate::svm::newton::exact_line_search;

/// Labels and costs of the rows, and their decision values under the current model.
#[derive(Clone)]
pub struct HingeRows {
    /// θ_i = ±1.
    pub theta: Vec<f64>,
    /// 2C_i.
    pub cost: Vec<f64>,
    /// f_i = w·x_i + b.
    pub decision: Vec<f64>,
}

impl HingeRows {
    /// The rows of one machine, under the zero model.
    pub fn new(problem: &Problem<'_>, machine: usize) -> Self {
        let theta = problem.labels(machine);
        let (positive, negative) = problem.costs(machine);
        let cost = theta.iter().map(|&t| 2.0 * if t > 0.0 { positive } else { negative }).collect();
        let decision = vec![0.0; theta.len()];
        Self { theta, cost, decision }
    }

    /// Whether a row has positive loss.
    pub fn has_loss(&self, i: usize) -> bool {
        self.theta[i] * self.decision[i] < 1.0
    }

    /// Minus the derivative of the loss by each decision value: 2C_i (θ_i − f_i) for rows with
    /// positive loss, else 0.
    pub fn negative_loss_gradient(&self, result: &mut [f64]) {
        negative_loss_gradient(&self.theta, &self.decision, &self.cost, result);
    }

    /// Σ C_i max(0, 1 − θ_i f_i)².
    pub fn loss(&self) -> f64 {
        let rows = self.theta.iter().zip(&self.decision).zip(&self.cost);
        rows.map(|((theta, f), cost)| 0.5 * cost * (1.0 - theta * f).max(0.0).powi(2)).sum()
    }

    /// The exact minimum of the objective along a direction that moves the decision values by
    /// `change` and for which w·d = `along` and d·d = `square`: the root of a piecewise linear
    /// increasing derivative.
    pub fn line_search(&self, change: &[f64], along: f64, square: f64) -> f64 {
        // The derivative is along + s·square − Σ over rows inside at s of cost (θ − f −
        // s·change)·change.
        let (at_zero, at_one) = slopes_of_loss(&self.theta, &self.decision, &self.cost, change);
        let slope_at_zero = along - at_zero;
        let slope_at_one = along + square - at_one;
        if slope_at_one.abs() <= 1e-12 * slope_at_zero.abs() {
            return 1.0;
        }
        // The derivative increases: if it is positive at 1, its root is before 1.
        let farthest = if slope_at_one > 0.0 { 1.0 } else { f64::INFINITY };
        let mut curvature = 0.0;
        let mut crossings = Vec::new();
        for (i, &moved) in change.iter().enumerate() {
            let weight = self.cost[i] * moved * moved;
            let towards_label = self.theta[i] * moved;
            let slack = 1.0 - self.theta[i] * self.decision[i];
            // A row on the margin at s = 0 counts if it is about to have loss.
            if slack > 0.0 || (slack == 0.0 && towards_label < 0.0) {
                curvature += weight;
            }
            let at = (self.theta[i] - self.decision[i]) / moved;
            if moved != 0.0 && at > 0.0 && at <= farthest {
                // A row leaves the active set when its decision value moves towards its label.
                crossings.push((at, if towards_label > 0.0 { -weight } else { weight }));
            }
        }
        exact_line_search(slope_at_zero, square + curvature, &mut crossings, square)
    }
}

kernel! {
    /// 2C_i (θ_i − f_i) where θ_i f_i < 1, else 0.
    negative_loss_gradient(_s; theta: &[f64], decision: &[f64], cost: &[f64], gradient: &mut [f64]) {
        for (result, ((theta, f), cost)) in gradient.iter_mut().zip(theta.iter().zip(decision).zip(cost)) {
            *result = if theta * f < 1.0 { cost * (theta - f) } else { 0.0 };
        }
    }
}

kernel! {
    /// Σ 2C_i (θ_i − g_i)·change_i over the rows with θ_i g_i < 1, at g = f and at g = f + change.
    slopes_of_loss(_s; theta: &[f64], decision: &[f64], cost: &[f64], change: &[f64]) -> (f64, f64) {
        let (mut here, mut there) = ([0.0; LANES], [0.0; LANES]);
        let length = theta.len();
        for start in (0..length).step_by(LANES) {
            for lane in 0..LANES.min(length - start) {
                let i = start + lane;
                let g = decision[i];
                let h = decision[i] + change[i];
                let weight = cost[i] * change[i];
                here[lane] += if theta[i] * g < 1.0 { weight * (theta[i] - g) } else { 0.0 };
                there[lane] += if theta[i] * h < 1.0 { weight * (theta[i] - h) } else { 0.0 };
            }
        }
        (sum(pulp::cast(here)), sum(pulp::cast(there)))
    }
}

/// One training row of one machine in the primal, where rows are evaluated one by one.
#[derive(Clone, Copy)]
pub struct RowState {
    /// ±1.
    pub theta: f64,
    /// 2C_i.
    pub cost: f64,
    /// Its decision value when it was last evaluated.
    pub decision: f64,
    /// Whether it is in the active set, and so in H.
    pub active: bool,
}

impl RowState {
    /// Whether it has loss by its decision value.
    #[inline]
    pub fn has_loss(&self) -> bool {
        self.theta * self.decision < 1.0
    }

    /// How far its decision value is from the margin.
    #[inline]
    pub fn distance(&self) -> f64 {
        (1.0 - self.theta * self.decision).abs()
    }

    /// The derivative of its loss, if it has any, by its decision value.
    #[inline]
    pub fn loss_gradient(&self) -> f64 {
        self.cost * (self.decision - self.theta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};
    use crate::linalg::dot;

    #[test]
    fn line_search_finds_the_minimum_of_the_objective() {
        let mut rng = Rng::new(3, 0, Purpose::Split);
        for _ in 0..200 {
            let mut draw =
                |n: usize| (0..n).map(|_| 4.0 * rng.uniform() - 2.0).collect::<Vec<f64>>();
            let (w, direction) = (draw(3), draw(3));
            let rows: Vec<Vec<f64>> = (0..12).map(|_| draw(3)).collect();
            let theta: Vec<f64> = draw(12).iter().map(|v| v.signum()).collect();
            let along_rows = |v: &[f64]| rows.iter().map(|row| dot(row, v)).collect::<Vec<f64>>();
            let margin =
                HingeRows { theta: theta.clone(), cost: vec![2.0; 12], decision: along_rows(&w) };
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
            let mut gradient = vec![0.0; 12];
            margin.negative_loss_gradient(&mut gradient);
            if dot(&w, &direction) - dot(&gradient, &change) >= 0.0 {
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
