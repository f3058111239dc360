//! α, class sums and β: how strange a row looks under a label, and which feature makes it so
//! (docs/method.md section 3).

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

/// Which score the p-values are made of; β is the same under both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Score {
    /// α(x, y) = −λ f_y + λ' Σ_{r≠y} f_r.
    #[default]
    Weighted,
    /// What the paper's published curves were made with: α = −f_y + Σ_{r≠y} w_r·x + mean_{r≠y} b_r,
    /// and p = (count + 1)/n.
    Published,
}

impl std::str::FromStr for Score {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "weighted" => Ok(Self::Weighted),
            "published" => Ok(Self::Published),
            _ => Err("write weighted or published".into()),
        }
    }
}

/// The non-conformity measure of m one-vs-all machines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nonconformity {
    /// The weight of the candidate's own machine, in [0, 1].
    pub lambda: f64,
    /// m, at least 2.
    pub classes: usize,
    /// Which score.
    pub score: Score,
}

impl Nonconformity {
    /// λ' = (1−λ)/(m−1).
    fn lambda_other(&self) -> f64 {
        (1.0 - self.lambda) / (self.classes - 1) as f64
    }

    /// α(x, y) for every label y, from the decision values f_r(x) and the biases.
    pub fn alphas(&self, decision: &[f64], bias: &[f64], alphas: &mut [f64]) {
        match self.score {
            Score::Weighted => self.weighted(decision, alphas),
            Score::Published => {
                let total: f64 = decision.iter().sum();
                let total_bias: f64 = bias.iter().sum();
                let others = (self.classes - 1) as f64;
                for ((alpha, f), b) in alphas.iter_mut().zip(decision).zip(bias) {
                    let rest_bias = total_bias - b;
                    *alpha = -f + (total - f - rest_bias) + rest_bias / others;
                }
            }
        }
    }

    /// −λ f_y + λ' Σ_{r≠y} f_r for every label y: α under the default score; applied to shares of
    /// decision values, it gives β.
    pub fn weighted(&self, decision: &[f64], alphas: &mut [f64]) {
        let (total, other): (f64, f64) = (decision.iter().sum(), self.lambda_other());
        for (alpha, f) in alphas.iter_mut().zip(decision) {
            *alpha = -self.lambda * f + other * (total - f);
        }
    }

    /// λ S_jk − λ' (T_j − S_jk) for every class and column: by how much a unit of weight w_kj
    /// lowers β_j.
    pub fn beta_coefficients(&self, sums: &ClassSums) -> Array2<f64> {
        let other = self.lambda_other();
        let totals = sums.0.sum_axis(ndarray::Axis(0));
        let mut beta_coefficients = sums.0.clone();
        for mut row in beta_coefficients.rows_mut() {
            row.zip_mut_with(&totals, |own, total| {
                *own = self.lambda * *own - other * (total - *own)
            });
        }
        beta_coefficients
    }
}

/// S_jk = Σ of column j over the rows of class k: classes × columns, computed once per split.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassSums(Array2<f64>);

impl ClassSums {
    /// Sums a feature-major matrix by class.
    pub fn new(x: ArrayView2<'_, f64>, y: &[usize], classes: usize) -> Self {
        let mut sums = Array2::zeros((classes, x.nrows()));
        for (j, column) in x.rows().into_iter().enumerate() {
            for (value, &class) in column.iter().zip(y) {
                sums[[class, j]] += value;
            }
        }
        Self(sums)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::array;

    /// The paper's formula, O(pmn): β_j = −Σ_i [λ w_{y_i,j} − λ' Σ_{r≠y_i} w_{r,j}] x_ij.
    fn beta_by_rows(x: &Array2<f64>, y: &[usize], w: &Array2<f64>, lambda: f64) -> Vec<f64> {
        let (classes, columns) = w.dim();
        let other = (1.0 - lambda) / (classes - 1) as f64;
        (0..columns)
            .map(|j| {
                let part = |i: usize| {
                    let rest: f64 = (0..classes).filter(|&r| r != y[i]).map(|r| w[[r, j]]).sum();
                    (lambda * w[[y[i], j]] - other * rest) * x[[j, i]]
                };
                -(0..y.len()).map(part).sum::<f64>()
            })
            .collect()
    }

    #[test]
    fn class_sums_give_the_papers_beta() {
        let x = array![[1.0, -2.0, 0.5, 3.0], [0.0, 1.5, -1.0, 2.0]];
        let y = [0, 1, 2, 1];
        let w = array![[0.3, -0.1], [0.7, 0.2], [-0.4, 0.9]];
        for lambda in [0.0, 0.3, 0.5, 1.0] {
            let measure = Nonconformity { lambda, classes: 3, score: Score::Weighted };
            let beta_coefficients = measure.beta_coefficients(&ClassSums::new(x.view(), &y, 3));
            let beta = -(&w * &beta_coefficients).sum_axis(ndarray::Axis(0));
            for (ours, paper) in beta.iter().zip(beta_by_rows(&x, &y, &w, lambda)) {
                assert!((ours - paper).abs() < 1e-14, "{ours} {paper}");
            }
        }
    }

    #[test]
    fn alphas_follow_both_definitions() {
        let decision = [1.0, -0.5, 2.0];
        let bias = [0.1, 0.2, 0.3];
        let mut alphas = [0.0; 3];
        Nonconformity { lambda: 0.5, classes: 3, score: Score::Weighted }.alphas(
            &decision,
            &bias,
            &mut alphas,
        );
        assert_eq!(alphas, [-0.5 + 0.25 * 1.5, 0.25 + 0.25 * 3.0, -1.0 + 0.25 * 0.5]);
        Nonconformity { lambda: 0.5, classes: 3, score: Score::Published }.alphas(
            &decision,
            &bias,
            &mut alphas,
        );
        let by_hand = -1.0 + (-0.5 - 0.2) + (2.0 - 0.3) + (0.2 + 0.3) / 2.0;
        assert!((alphas[0] - by_hand).abs() < 1e-15);
    }
}
