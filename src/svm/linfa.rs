//! linfa-svm as a path solver: plain hinge, free bias, the problem of `SVC(kernel="linear")`. No
//! warm start.

use linfa::DatasetBase;
use linfa::traits::Fit;
use linfa_svm::Svm;
use std::borrow::Cow;

use ndarray::{Array1, Array2, ArrayView1, Axis, CowArray, Ix2};

use super::{Convergence, PathSolver, Problem, Watched, decisions};
use crate::error::{Error, Result};

/// linfa-svm holds the dense kernel of all pairs of rows.
const MOST_ROWS: usize = 2000;
/// Beyond this ratio of standard deviations linfa-svm runs into its iteration cap.
const MOST_UNEQUAL: f64 = 100.0;
/// Beyond this magnitude too.
const LARGEST: f64 = 1000.0;
/// Beyond this C it does so on most data that cannot be separated, after seconds for each model.
const MOST_COST: f64 = 1000.0;
/// Where the sequential minimal optimisation stops.
const TOLERANCE: f64 = 1e-5;

/// A cold linfa-svm fit for every class and step.
pub struct Linfa<'a> {
    problem: Problem<'a>,
    /// For each column of the problem whether it is constant in the training rows.
    constant: Vec<bool>,
    columns: Vec<usize>,
    /// Machines × columns of the problem.
    weights: Array2<f64>,
    biases: Vec<f64>,
    watched: Watched<'a>,
}

/// One class against the rest.
struct Machine {
    weights: Array1<f64>,
    bias: f64,
    converged: bool,
    iterations: usize,
}

impl<'a> Linfa<'a> {
    /// Refuses what linfa-svm solves badly: more than 2000 rows, columns of very different scale,
    /// values that are not finite.
    pub fn new(problem: Problem<'a>) -> Result<Self> {
        let (columns, rows) = (problem.columns(), problem.rows());
        if rows > MOST_ROWS {
            return Err(Error::data(format!(
                "linfa-svm is slow beyond {MOST_ROWS} training rows, and there are {rows}"
            ))
            .remedy("use --solver newton")
            .option("--solver"));
        }
        if problem.cost() > MOST_COST {
            return Err(Error::data(format!(
                "linfa-svm does not converge in reasonable time beyond C = {MOST_COST}, and --cost is {}",
                problem.cost()
            ))
            .remedy("use a smaller --cost or --solver newton").option("--cost"));
        }
        if let Some(class) = (0..problem.classes()).find(|class| !problem.y().contains(class)) {
            return Err(Error::data(format!(
                "class number {class} has no training row, and linfa-svm cannot learn it"
            ))
            .remedy("leave the class out"));
        }
        if problem.x().iter().any(|value| !value.is_finite()) {
            return Err(Error::data(
                "linfa-svm cannot learn from values that are missing or not finite",
            )
            .remedy("fill them with --impute knn:5")
            .option("--impute"));
        }
        let constant = check_scale(&problem)?;
        Ok(Self {
            problem,
            constant,
            columns: (0..columns).collect(),
            weights: Array2::zeros((problem.machines(), columns)),
            biases: vec![0.0; problem.machines()],
            watched: Watched::default(),
        })
    }

    /// The columns present, rows × columns. Constant columns are set to 0: the free bias absorbs
    /// them, so their weight is 0 in the solution, and a large constant would only spoil the
    /// kernel.
    fn records(&self) -> Array2<f64> {
        let mut records = self.problem.x().select(Axis(0), &self.columns);
        for (mut values, &column) in records.outer_iter_mut().zip(&self.columns) {
            if self.constant[column] {
                values.fill(0.0);
            }
        }
        records.t().as_standard_layout().into_owned()
    }

    fn train(&self, machine: usize, records: &Array2<f64>) -> Machine {
        let labels: Array1<bool> =
            self.problem.labels(machine).iter().map(|&label| label > 0.0).collect();
        let (positive, negative) = self.problem.costs(machine);
        let data = DatasetBase::new(records.view(), labels.view());
        let params = Svm::<f64, bool>::params().pos_neg_weights(positive, negative).eps(TOLERANCE);
        let unsolved = |iterations| Machine {
            weights: Array1::zeros(records.ncols()),
            bias: 0.0,
            converged: false,
            iterations,
        };
        let Ok(fitted) = params.linear_kernel().fit(&data) else { return unsolved(0) };
        let (capped, iterations) = outcome(&fitted.to_string());
        // α carries the sign of its label, so w = Xᵀα; the decision is w·x − ρ.
        let weights = records.t().dot(&ArrayView1::from(&fitted.alpha));
        let bias = -fitted.rho;
        if !bias.is_finite() || weights.iter().any(|weight| !weight.is_finite()) {
            return unsolved(iterations);
        }
        Machine { weights, bias, converged: !capped, iterations }
    }

    fn keep(&mut self, index: usize, machine: &Machine) {
        let mut row = self.weights.row_mut(index);
        row.fill(0.0);
        self.columns
            .iter()
            .zip(&machine.weights)
            .for_each(|(&column, weight)| row[column] = *weight);
        self.biases[index] = machine.bias;
    }
}

/// Which columns are constant; an error if the others are of scales that linfa-svm does not master.
fn check_scale(problem: &Problem<'_>) -> Result<Vec<bool>> {
    let mut constant = Vec::with_capacity(problem.columns());
    let mut narrowest = f64::INFINITY;
    let mut widest = 0.0_f64;
    let mut largest = 0.0_f64;
    for values in problem.x().outer_iter() {
        let same = values.iter().all(|&value| value == values[0]);
        constant.push(same);
        if !same {
            let deviation = values.std(0.0);
            narrowest = narrowest.min(deviation);
            widest = widest.max(deviation);
            largest = values.iter().fold(largest, |largest, value| largest.max(value.abs()));
        }
    }
    let remedy = "use --scale standard or --solver newton";
    if widest > MOST_UNEQUAL * narrowest {
        return Err(Error::data(format!(
            "linfa-svm needs columns of similar scale, and their standard deviations go from \
             {narrowest:.3e} to {widest:.3e}"
        ))
        .remedy(remedy));
    }
    if largest > LARGEST {
        return Err(Error::data(format!(
            "linfa-svm needs values of at most {LARGEST} in magnitude, and there is one of {largest:.3e}"
        ))
        .remedy(remedy));
    }
    Ok(constant)
}

/// Whether the iteration cap was hit, and how many iterations there were: only the display text
/// tells.
fn outcome(display: &str) -> (bool, usize) {
    let iterations = display.split_whitespace().find_map(|word| word.parse().ok()).unwrap_or(0);
    (!display.starts_with("Exited after "), iterations)
}

impl<'a> PathSolver<'a> for Linfa<'a> {
    fn problem(&self) -> &Problem<'a> {
        &self.problem
    }

    fn watch(&mut self, rows: CowArray<'a, f64, Ix2>) {
        self.watched.push(rows);
    }

    fn fit(&mut self) -> Convergence {
        let records = self.records();
        let mut whole = Convergence { converged: true, residual: f64::NAN, iterations: 0 };
        for index in 0..self.problem.machines() {
            let machine = self.train(index, &records);
            whole.converged &= machine.converged;
            whole.iterations += machine.iterations;
            self.keep(index, &machine);
        }
        whole
    }

    fn columns(&self) -> Cow<'_, [usize]> {
        (&self.columns).into()
    }

    fn weights(&self, machine: usize, columns: &[usize], weights: &mut [f64]) {
        let of_machine = self.weights.row(machine);
        weights.iter_mut().zip(columns).for_each(|(weight, &column)| *weight = of_machine[column]);
    }

    fn decisions(&self, part: usize) -> Array2<f64> {
        decisions(self, self.watched.part(part))
    }

    fn biases(&self) -> Vec<f64> {
        self.problem.by_class(|machine| self.biases[machine])
    }

    fn remove(&mut self, columns: &[usize]) {
        self.columns.retain(|column| !columns.contains(column));
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use serde_json::Value;

    use super::*;
    use crate::svm::{ClassWeight, class_weights};

    fn problem<'a>(x: &'a Array2<f64>, y: &'a [usize], classes: usize) -> Problem<'a> {
        Problem::new(x.view(), y, classes).unwrap()
    }

    fn refusal(x: &Array2<f64>, y: &[usize]) -> String {
        Linfa::new(problem(x, y, 2)).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn finds_the_widest_margin() {
        // The closest rows of the classes are (−1, 0) and (1, 0): w = (1, 0), b = 0; the constant
        // column weighs nothing.
        let x = array![[-1.0, -3.0, 1.0, 4.0], [0.0, 2.0, 0.0, -2.0], [1e6, 1e6, 1e6, 1e6]];
        let mut solver = Linfa::new(problem(&x, &[0, 0, 1, 1], 2)).unwrap();
        assert!(solver.fit().converged);
        for (class, sign) in [(0, -1.0), (1, 1.0)] {
            let error = Array1::from(class_weights(&solver, class)) - array![sign, 0.0, 0.0];
            assert!(error.iter().all(|error| error.abs() < 1e-4), "{error}");
            assert!(solver.biases()[class].abs() < 1e-4);
        }
        solver.remove(&[1]);
        assert!(solver.fit().iterations > 0);
        assert_eq!(*solver.columns(), [0, 2]);
        assert_eq!(class_weights(&solver, 1)[1], 0.0);
        solver.remove(&[0]);
        assert!(solver.fit().converged, "only a constant is left");
        assert!(class_weights(&solver, 1).iter().all(|&weight| weight == 0.0));
    }

    #[test]
    fn a_dear_class_moves_the_border() {
        // Rows overlap: 0 costs more on the side of the rare class when balanced.
        let x = array![[-2.0, -1.0, 0.2, 0.5, -1.5, 0.0]];
        let y = [0, 0, 0, 0, 0, 1];
        let bias = |weight| {
            let mut solver = Linfa::new(problem(&x, &y, 2).with_cost(1.0, weight)).unwrap();
            assert!(solver.fit().converged);
            solver.biases()[1]
        };
        assert!(bias(ClassWeight::Balanced) > bias(ClassWeight::None));
    }

    #[test]
    fn refuses_what_it_cannot_solve() {
        let y = [0, 1, 0, 1];
        let unequal = refusal(&array![[1.0, 2.0, 3.0, 4.0], [0.001, 0.002, 0.003, 0.005]], &y);
        assert!(
            unequal.contains("similar scale") && unequal.contains("--scale standard"),
            "{unequal}"
        );
        assert!(refusal(&array![[1001.0, 1002.0, 1003.0, 1004.0]], &y).contains("magnitude"));
        assert!(refusal(&array![[1.0, f64::NAN, 3.0, 4.0]], &y).contains("missing"));
        assert!(refusal(&array![[1.0, 2.0, 3.0, 4.0]], &[0; 4]).contains("class number 1"));
        let x = array![[1.0, 2.0, 3.0, 4.0]];
        let dear = Linfa::new(problem(&x, &y, 2).with_cost(1001.0, ClassWeight::None))
            .err()
            .unwrap()
            .to_string();
        assert!(dear.contains("--cost is 1001") && dear.contains("--solver newton"), "{dear}");
        let many = Array2::zeros((1, 2001));
        assert!(refusal(&many, &[0; 2001]).contains("--solver newton"));
    }

    #[test]
    fn reads_the_outcome_from_the_text() {
        assert_eq!(
            outcome("Exited after 79 iterations with obj = -4 and 3 support vectors"),
            (false, 79)
        );
        assert_eq!(
            outcome("Reached maximal iterations 10000000 with obj = -4 and 3 support vectors"),
            (true, 10_000_000)
        );
    }

    fn numbers(value: &Value) -> Vec<f64> {
        serde_json::from_value(value.clone()).unwrap()
    }

    /// The worst error of the weights and biases at the full feature set, relative to the largest
    /// weight of the split.
    fn fixture_error(name: &str) -> f64 {
        let text = std::fs::read_to_string(format!("tests/fixtures/paths_{name}.json")).unwrap();
        let fixture: Value = serde_json::from_str(&text).unwrap();
        let classes: Vec<String> = serde_json::from_value(fixture["classes"].clone()).unwrap();
        let mut reader =
            csv::Reader::from_path(format!("tests/fixtures/prepared/{name}.csv")).unwrap();
        let records: Vec<csv::StringRecord> =
            reader.records().map(|record| record.unwrap()).collect();
        let p = records[0].len() - 1;
        let class_of =
            |row: usize| classes.iter().position(|class| class == &records[row][p]).unwrap();

        let mut worst = 0.0_f64;
        for split in fixture["splits"].as_array().unwrap() {
            let train: Vec<usize> = serde_json::from_value(split["train"].clone()).unwrap();
            let cell = |(column, row): (usize, usize)| records[train[row]][column].parse().unwrap();
            let x = Array2::from_shape_fn((p, train.len()), cell);
            let y: Vec<usize> = train.iter().map(|&row| class_of(row)).collect();
            let mut solver = Linfa::new(problem(&x, &y, classes.len())).unwrap();
            assert!(solver.fit().converged);
            let golden = &split["hinge"]["crfe"];
            let biases = numbers(&golden["b0"]);
            let weights: Vec<Vec<f64>> =
                (0..classes.len()).map(|class| numbers(&golden["w0"][class])).collect();
            let largest =
                weights.iter().flatten().fold(0.0_f64, |largest, weight| largest.max(weight.abs()));
            for class in 0..classes.len() {
                worst = worst.max((solver.biases()[class] - biases[class]).abs() / largest);
                for (ours, theirs) in class_weights(&solver, class).iter().zip(&weights[class]) {
                    worst = worst.max((ours - theirs).abs() / largest);
                }
            }
        }
        worst
    }

    #[test]
    fn agrees_with_the_fixtures() {
        for name in ["dermatology", "heart"] {
            let error = fixture_error(name);
            assert!(error < 1e-4, "{name}: {error:e}");
        }
    }
}
