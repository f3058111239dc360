//! Kernel machines apart from their training: supporting rows, coefficients and γ, which decide
//! about any row. Knows nothing of how they were fitted.

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::KernelMachines;
use super::solver::by_row;
use crate::linalg::{add_all_rows, decay};

/// Rows that are decided at once; a block is always full, so that the bits of a row do not depend
/// on its neighbours.
const BLOCK: usize = 64;

/// One machine per class: f_r(x) = Σ_s c_rs (exp(−γ ‖x − s‖²) + 1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SupportMachines {
    /// γ.
    pub gamma: f64,
    /// The supporting rows s, each with all prepared columns.
    pub support: Vec<Vec<f64>>,
    /// For each class the coefficients c of the supporting rows.
    pub coefficients: Vec<Vec<f64>>,
}

impl SupportMachines {
    /// The machines of the last fit, all columns being present.
    pub fn new(machines: &KernelMachines<'_>) -> Self {
        let (problem, rows) = (machines.problem(), machines.support());
        let x = problem.x();
        let support = rows.iter().map(|&row| x.column(row).to_vec()).collect();
        let of_row = |&row: &usize| problem.by_class(|machine| machines.coefficients(machine)[row]);
        let by_support: Vec<Vec<f64>> = rows.iter().map(of_row).collect();
        let of_class = |class: usize| by_support.iter().map(|c| c[class]).collect();
        let gamma = machines.gamma();
        Self { gamma, support, coefficients: (0..problem.classes()).map(of_class).collect() }
    }

    /// f_r(x) for the rows of a feature-major matrix: rows × classes.
    pub fn decisions(&self, x: ArrayView2<'_, f64>) -> Array2<f64> {
        let classes = self.coefficients.len();
        // For two classes the first is the mirror image of the last.
        let of_machines =
            if classes == 2 { &self.coefficients[1..] } else { &self.coefficients[..] };
        let rows = x.ncols();
        let mut by_machine: Vec<Vec<f64>> =
            vec![Vec::with_capacity(rows + BLOCK); of_machines.len()];
        let mut kernel = vec![0.0; self.support.len() * BLOCK];
        for first in (0..rows).step_by(BLOCK) {
            self.kernel_of(x, first, &mut kernel);
            for (decisions, c) in by_machine.iter_mut().zip(of_machines) {
                let mut block = [0.0; BLOCK];
                add_all_rows(&kernel, BLOCK, 0..BLOCK, c, &mut block);
                decisions.extend_from_slice(&block[..BLOCK.min(rows - first)]);
            }
        }
        by_row(&by_machine, classes)
    }

    /// exp(−γ ‖x − s‖²) + 1 of each supporting row with a block of rows; cells beyond the last row
    /// mean nothing.
    fn kernel_of(&self, x: ArrayView2<'_, f64>, first: usize, kernel: &mut [f64]) {
        let mut squares = [0.0; BLOCK];
        let mut values = [0.0; BLOCK];
        for (support, kernel) in self.support.iter().zip(kernel.as_chunks_mut::<BLOCK>().0) {
            squares.fill(0.0);
            for (column, &own) in x.rows().into_iter().zip(support) {
                values.iter_mut().zip(column.iter().skip(first)).for_each(|(value, x)| *value = *x);
                for (square, value) in squares.iter_mut().zip(&values) {
                    *square += (own - value) * (own - value);
                }
            }
            decay(&squares, self.gamma, 1.0, kernel);
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::CowArray;

    use super::super::{ClassWeight, Gamma, Problem};
    use super::*;

    fn table(columns: usize, rows: usize, shift: usize) -> Array2<f64> {
        let cell =
            |(j, i): (usize, usize)| ((i * (13 + 4 * j) + j + shift) % 29) as f64 / 10.0 - 1.4;
        Array2::from_shape_fn((columns, rows), cell)
    }

    /// They decide as the machines that they were taken from, to the bit, and whatever rows come
    /// together.
    #[test]
    fn they_decide_as_in_training() {
        for classes in [2, 3] {
            let (x, new) = (table(5, 70, 0), table(5, 131, 7));
            // By the first column, so that rows far from the borders have no loss.
            let class = |i: usize| ((x[[0, i]] + 1.5) / 3.0 * classes as f64) as usize;
            let y: Vec<usize> = (0..70).map(class).collect();
            let problem =
                Problem::new(x.view(), &y, classes).unwrap().with_cost(2.0, ClassWeight::Balanced);
            let gamma = Gamma::Fixed(0.3);
            let mut machines = KernelMachines::new(problem, gamma);
            machines.watch(CowArray::from(new.view()));
            assert!(machines.fit().converged);
            let taken = SupportMachines::new(&machines);
            assert!(taken.support.len() < 70, "some rows do not matter");
            let all = taken.decisions(new.view());
            assert_eq!(all, machines.decisions(0));
            for i in 0..131 {
                let alone = taken.decisions(new.slice(ndarray::s![.., i..=i]));
                assert_eq!(alone.row(0), all.row(i), "row {i}");
            }
        }
    }
}
