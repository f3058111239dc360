//! The problem that every solver solves: one-vs-rest machines with squared hinge loss on some
//! training rows.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Whether the rows of a rare class cost more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassWeight {
    /// All rows cost C.
    #[default]
    None,
    /// As LIBLINEAR: in the problem of class k its rows cost C·n/(m·n_k), all others C; for two
    /// classes both are weighted.
    Balanced,
}

/// Training rows and what a mistake on them costs, checked once: at least one column, one row and
/// two classes, a label below the number of classes for every row, and cells that are contiguous by
/// column.
#[derive(Debug, Clone, Copy)]
pub struct Problem<'a> {
    /// Feature-major (columns × rows).
    x: ArrayView2<'a, f64>,
    y: &'a [usize],
    classes: usize,
    cost: f64,
    weight: ClassWeight,
}

impl<'a> Problem<'a> {
    /// The rows of a feature-major matrix (columns × rows) and their classes, at C = 1 for all of
    /// them.
    pub fn new(x: ArrayView2<'a, f64>, y: &'a [usize], classes: usize) -> Result<Self> {
        let (columns, rows) = x.dim();
        if columns == 0 || rows == 0 {
            return Err(Error::data("there are no features or no rows to train on"));
        }
        if !x.is_standard_layout() || rows != y.len() {
            return Err(Error::internal(
                "the training matrix is not contiguous by feature, or not as long as its labels",
            ));
        }
        if classes < 2 || y.iter().any(|&class| class >= classes) {
            return Err(Error::internal(
                "a label is not below the number of classes, or there are fewer than two",
            ));
        }
        Ok(Self { x, y, classes, cost: 1.0, weight: ClassWeight::None })
    }

    /// The same with another C, and with costs that may differ by class.
    #[must_use]
    pub fn with_cost(self, cost: f64, weight: ClassWeight) -> Self {
        Self { cost, weight, ..self }
    }

    /// The same problem on other rows with the same classes, at another C.
    pub(super) fn on_rows<'b>(
        &self,
        x: ArrayView2<'b, f64>,
        y: &'b [usize],
        cost: f64,
    ) -> Problem<'b> {
        Problem { x, y, cost, classes: self.classes, weight: self.weight }
    }

    /// How many columns there are.
    pub fn columns(&self) -> usize {
        self.x.nrows()
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.y.len()
    }

    /// How many classes there are.
    pub fn classes(&self) -> usize {
        self.classes
    }

    /// C.
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// The matrix, feature-major.
    pub fn x(&self) -> ArrayView2<'a, f64> {
        self.x
    }

    /// The class of each row.
    pub fn y(&self) -> &'a [usize] {
        self.y
    }

    /// All columns, one after the other.
    pub(super) fn cells(&self) -> &[f64] {
        self.x.as_slice().expect("Problem::new checks that x is contiguous")
    }

    /// One column.
    pub fn feature(&self, column: usize) -> &[f64] {
        let rows = self.rows();
        &self.cells()[column * rows..(column + 1) * rows]
    }

    /// How many one-vs-rest machines there are: two classes need one, which is that of the last
    /// class.
    pub fn machines(&self) -> usize {
        if self.classes == 2 { 1 } else { self.classes }
    }

    /// What each class has, given what each machine has: of two classes, the first is the mirror
    /// image of the last.
    pub fn by_class(&self, of_machine: impl Fn(usize) -> f64) -> Vec<f64> {
        if self.classes == 2 {
            let own = of_machine(0);
            vec![-own, own]
        } else {
            (0..self.classes).map(of_machine).collect()
        }
    }

    /// The class that is positive in a machine: the last one for two classes.
    pub fn positive(&self, machine: usize) -> usize {
        if self.classes == 2 { 1 } else { machine }
    }

    /// θ = ±1 for each row.
    pub fn labels(&self, machine: usize) -> Vec<f64> {
        let positive = self.positive(machine);
        self.y.iter().map(|&class| if class == positive { 1.0 } else { -1.0 }).collect()
    }

    /// What a mistake costs on the positive and on the negative rows of a machine.
    pub fn costs(&self, machine: usize) -> (f64, f64) {
        let balanced = |class: usize| {
            let members = self.y.iter().filter(|&&y| y == class).count();
            self.cost * self.y.len() as f64 / (self.classes as f64 * members as f64)
        };
        match self.weight {
            ClassWeight::None => (self.cost, self.cost),
            ClassWeight::Balanced if self.classes == 2 => (balanced(1), balanced(0)),
            ClassWeight::Balanced => (balanced(self.positive(machine)), self.cost),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;

    #[test]
    fn a_problem_is_checked_once() {
        let x = Array2::from_shape_fn((3, 2), |(j, i)| (j + 2 * i) as f64);
        assert!(Problem::new(x.view(), &[0, 1], 2).is_ok());
        for (y, classes) in [(&[0, 1, 0][..], 2), (&[0], 2), (&[0, 2], 2), (&[0, 0], 1)] {
            assert!(Problem::new(x.view(), y, classes).is_err(), "{y:?} {classes}");
        }
        assert!(Problem::new(x.t(), &[0, 1, 0], 2).is_err(), "not contiguous by column");
        let empty = Array2::zeros((0, 2));
        assert!(Problem::new(empty.view(), &[0, 1], 2).is_err());
    }

    #[test]
    fn balanced_costs_make_up_for_rare_classes() {
        let x = Array2::zeros((1, 6));
        let y = [0, 0, 0, 1, 1, 2];
        let three = Problem::new(x.view(), &y, 3).unwrap().with_cost(2.0, ClassWeight::Balanced);
        assert_eq!(three.costs(2), (2.0 * 6.0 / 3.0, 2.0));
        let y = [0, 0, 0, 0, 0, 1];
        let two = Problem::new(x.view(), &y, 2).unwrap().with_cost(1.0, ClassWeight::Balanced);
        assert_eq!(two.costs(0), (3.0, 0.6));
        assert_eq!((two.machines(), two.by_class(|_| 4.0)), (1, vec![-4.0, 4.0]));
        assert_eq!(two.labels(0), [-1.0, -1.0, -1.0, -1.0, -1.0, 1.0]);
    }
}
