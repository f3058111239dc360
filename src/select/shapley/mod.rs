//! β under a product kernel: the Shapley share of every unit in the decision values of rows
//! (docs/method.md section 15). Pure functions of numbers; they know nothing of how models are
//! fitted.
//!
//! f(x) = Σ_s c_s (Π_u k_u(x, s) + 1). The share of unit u is φ_u(x) = Σ_s c_s (k_u − 1) ∫₀¹
//! Π_{l≠u} (1 − τ + τ k_l) dτ, and a quadrature with ⌈t/2⌉ nodes integrates the polynomial of
//! degree t − 1 exactly. Fewer do where a proven bound says so.

mod levels;
mod pairs;
mod quadrature;

pub use levels::Levels;
pub use pairs::{Pairs, ShareBuffers};

/// Over which coalitions of the other units a unit's contribution is averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coalitions {
    /// All, by Shapley's weights: the shares add up.
    Shapley,
    /// All others together: what is lost when the unit alone is removed.
    AllOthers,
}

#[cfg(test)]
pub mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::linalg::simd::limited;

    /// A repeatable sequence in [0, 1).
    pub fn draws(mut state: u64) -> impl FnMut() -> f64 {
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    struct Case {
        rows: Vec<f64>,
        support: Vec<f64>,
        ends: Vec<usize>,
        columns: usize,
        gamma: f64,
        weights: Vec<f64>,
    }

    /// Rows, supporting rows and units of one to three columns.
    fn case(seed: u64, units: usize, rows: usize, support: usize, gamma: f64) -> Case {
        let mut draw = draws(seed);
        let mut ends = Vec::new();
        for _ in 0..units {
            ends.push(ends.last().unwrap_or(&0) + 1 + (3.0 * draw() * draw()) as usize);
        }
        let columns = ends[units - 1];
        let mut cells =
            |rows: usize| (0..rows * columns).map(|_| 4.0 * draw() - 2.0).collect::<Vec<f64>>();
        let (rows_cells, support_cells) = (cells(rows), cells(support));
        let weights = (0..rows * support).map(|_| draw() - 0.5).collect();
        Case { rows: rows_cells, support: support_cells, ends, columns, gamma, weights }
    }

    impl Case {
        fn ours(&self) -> Vec<f64> {
            self.shares(&self.weights, Coalitions::Shapley)
        }

        /// Summed over the rows.
        fn shares(&self, weights: &[f64], coalitions: Coalitions) -> Vec<f64> {
            let support = self.support.len() / self.columns;
            let x = Array2::from_shape_fn((self.columns, support), |(j, s)| {
                self.support[s * self.columns + j]
            });
            let mut start = 0;
            let mut columns =
                |end: usize| (std::mem::replace(&mut start, end)..end).collect::<Vec<usize>>();
            let levels: Vec<Levels> =
                self.ends.iter().map(|&end| Levels::new(x.view(), &columns(end))).collect();
            let units: Vec<&Levels> = levels.iter().collect();
            let support: Vec<usize> = (0..support).collect();
            let pairs =
                Pairs { rows: &self.rows, units: &units, support: &support, gamma: self.gamma };
            let shares = pairs.shares(weights, coalitions, &mut ShareBuffers::default());
            let rows = self.rows.len() / self.columns;
            shares.chunks_exact(rows).map(|of_unit| of_unit.iter().sum()).collect()
        }

        /// k_u of a row and a supporting row.
        fn kernels(&self, i: usize, s: usize) -> Vec<f64> {
            let mut start = 0;
            let kernel = |&end: &usize| {
                let square: f64 = (start..end)
                    .map(|j| {
                        (self.rows[i * self.columns + j] - self.support[s * self.columns + j])
                            .powi(2)
                    })
                    .sum();
                start = end;
                (-self.gamma * square).exp()
            };
            self.ends.iter().map(kernel).collect()
        }

        /// Shapley's definition: the mean over all subsets of the others of what a unit adds.
        fn by_subsets(&self) -> Vec<f64> {
            let units = self.ends.len();
            let (rows, support) =
                (self.rows.len() / self.columns, self.support.len() / self.columns);
            let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
            let mut shares = vec![0.0; units];
            for s in 0..support {
                for i in 0..rows {
                    let kernels = self.kernels(i, s);
                    let value = |set: usize| {
                        (0..units)
                            .filter(|u| set >> u & 1 == 1)
                            .map(|u| kernels[u])
                            .product::<f64>()
                    };
                    for (u, share) in shares.iter_mut().enumerate() {
                        for set in (0..1_usize << units).filter(|set| set >> u & 1 == 0) {
                            let size = set.count_ones() as usize;
                            let weight =
                                factorial(size) * factorial(units - 1 - size) / factorial(units);
                            *share += self.weights[s * rows + i]
                                * weight
                                * (value(set | 1 << u) - value(set));
                        }
                    }
                }
            }
            shares
        }
    }

    #[test]
    fn shares_are_shapleys_up_to_eight_units() {
        for units in 1..=8 {
            for (seed, gamma) in [(1, 0.1), (2, 1.0), (3, 9.0)] {
                let case = case(seed + 10 * units as u64, units, 11, 5, gamma);
                for (ours, exact) in case.ours().iter().zip(case.by_subsets()) {
                    assert!((ours - exact).abs() < 1e-13, "{units} {gamma}: {ours} {exact}");
                }
            }
        }
    }

    #[test]
    fn shares_add_up_to_the_decision_values() {
        for (units, gamma) in [(3, 0.3), (20, 0.05), (75, 0.013), (75, 0.2), (260, 0.5)] {
            let case = case(7, units, 13, 9, gamma);
            let total: f64 = case.ours().iter().sum();
            let whole: f64 = (0..9)
                .flat_map(|s| (0..13).map(move |i| (s, i)))
                .map(|(s, i)| {
                    case.weights[s * 13 + i] * (case.kernels(i, s).iter().product::<f64>() - 1.0)
                })
                .sum();
            assert!((total - whole).abs() < 1e-12, "{units} {gamma}: {total} {whole}");
        }
    }

    #[test]
    fn every_width_gives_the_same_bits() {
        let case = case(3, 23, 19, 6, 0.07);
        let of = |widest| {
            limited::to(widest, || case.ours())
                .iter()
                .map(|value| value.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(of(512), of(128));
        assert_eq!(of(256), of(128));
    }

    #[test]
    fn what_is_lost_without_a_unit_is_the_product_of_all_less_that_of_the_others() {
        let case = case(4, 6, 21, 21, 0.2);
        for (u, ours) in case.shares(&case.weights, Coalitions::AllOthers).iter().enumerate() {
            let mut lost = 0.0;
            for s in 0..21 {
                for i in 0..21 {
                    let kernels = case.kernels(i, s);
                    let others: f64 = kernels
                        .iter()
                        .enumerate()
                        .filter(|(l, _)| *l != u)
                        .map(|(_, k)| k)
                        .product();
                    lost += case.weights[s * 21 + i] * (kernels.iter().product::<f64>() - others);
                }
            }
            assert!((ours - lost).abs() < 1e-13, "{u}: {ours} {lost}");
        }
    }
}
