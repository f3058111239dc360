//! Interactions in kernel machines: what two features do in a model only together, and whether rows
//! on which it was not fitted confirm it (docs/method.md section 15). Knows no threads.

use ndarray::Array2;

use crate::linalg::{Cholesky, PackedSymmetric, decay};
use crate::svm::SupportMachines;

/// An interaction stands out if at least this part of what two features do, they do only together …
const LEAST_SHARE: f64 = 1.0 / 3.0;
/// … and held-out rows confirm it at least this clearly. docs/measurements.md has both numbers with
/// and without planted interactions.
const LEAST_Z: f64 = 5.0;

/// The feature with which a feature interacts most.
#[derive(Debug, Clone, PartialEq)]
pub struct Interaction {
    /// Which unit.
    pub partner: usize,
    /// The part of what both do that they do only together: 0 if their effects add up, 1 if neither
    /// does anything without the other.
    pub share: f64,
    /// How clearly the joint part predicts the class of held-out rows beyond what both do alone:
    /// about normal if there is none.
    pub z: f64,
}

impl Interaction {
    /// Whether it is more than models have without any interaction in the data.
    pub fn stands_out(&self) -> bool {
        self.share >= LEAST_SHARE && self.z >= LEAST_Z
    }
}

/// Machines of one split, and rows on which they were not fitted.
pub struct HeldOut {
    machines: SupportMachines,
    /// The columns of each unit.
    units: Vec<Vec<usize>>,
    /// Columns × rows.
    x: Array2<f64>,
    /// The rows of the table.
    rows: Vec<usize>,
    /// Their classes.
    y: Vec<usize>,
    /// Squared distances over all columns: the rows of one supporting row after the other.
    distances: Vec<f64>,
}

impl HeldOut {
    /// Machines on the columns of some units, and prepared rows.
    pub fn new(
        machines: SupportMachines,
        units: Vec<Vec<usize>>,
        x: Array2<f64>,
        rows: Vec<usize>,
        y: Vec<usize>,
    ) -> Self {
        let mut model = Self { machines, units, x, rows, y, distances: Vec::new() };
        let all: Vec<usize> = (0..model.x.nrows()).collect();
        model.distances = model.squares(&all);
        model
    }

    /// Squared distances of the rows from every supporting row over some columns.
    fn squares(&self, columns: &[usize]) -> Vec<f64> {
        let count = self.rows.len();
        let mut squares = vec![0.0; self.machines.support.len() * count];
        for (support, squares) in
            self.machines.support.iter().zip(squares.chunks_exact_mut(count.max(1)))
        {
            for &column in columns {
                for (square, x) in squares.iter_mut().zip(self.x.row(column)) {
                    *square += (x - support[column]) * (x - support[column]);
                }
            }
        }
        squares
    }

    /// Σ_s c_s k_A(x_i, s) · mean_l k_B(x_l, s) for each row i, where A are the columns with these
    /// squared distances and B the others: the mean decision value over all rows l that are given
    /// the values of row i in A. Centred; one vector per class.
    fn dependence(&self, squares: &[f64], classes: &[usize]) -> Vec<Vec<f64>> {
        let gamma = self.machines.gamma;
        let count = self.rows.len();
        let (mut others, mut kernel) = (vec![0.0; count], vec![0.0; count]);
        let mut sums = vec![vec![0.0; count]; classes.len()];
        let by_support =
            squares.chunks_exact(count.max(1)).zip(self.distances.chunks_exact(count.max(1)));
        for (s, (own, all)) in by_support.enumerate() {
            others
                .iter_mut()
                .zip(all.iter().zip(own))
                .for_each(|(other, (all, own))| *other = (all - own).max(0.0));
            decay(&others, gamma, 0.0, &mut kernel);
            let mean = kernel.iter().sum::<f64>() / count as f64;
            decay(own, gamma, 0.0, &mut kernel);
            for (sums, &class) in sums.iter_mut().zip(classes) {
                let c = self.machines.coefficients[class][s] * mean;
                sums.iter_mut().zip(&kernel).for_each(|(sum, kernel)| *sum += c * kernel);
            }
        }
        sums.iter_mut().for_each(|sums| centre(sums));
        sums
    }
}

/// Takes the mean from each number.
fn centre(values: &mut [f64]) {
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    values.iter_mut().for_each(|value| *value -= mean);
}

/// For some units, by their places in the model, the strongest interaction over all splits;
/// `partner` is a place, too. Rows of one group count as one observation.
pub fn interactions(
    models: &[HeldOut],
    shown: &[usize],
    classes: usize,
    groups: Option<&[usize]>,
) -> Vec<Option<Interaction>> {
    let Some(first) = models.first() else { return vec![None; shown.len()] };
    // The machines of two classes mirror each other.
    let classes: Vec<usize> = if classes == 2 { vec![1] } else { (0..classes).collect() };
    let units = first.units.len();
    // What some units do together: by class, for all rows of all models.
    let pooled = |together: &[usize]| {
        let mut pooled = vec![Vec::new(); classes.len()];
        for model in models {
            let columns: Vec<usize> =
                together.iter().flat_map(|&unit| model.units[unit].clone()).collect();
            let own = model.dependence(&model.squares(&columns), &classes);
            pooled.iter_mut().zip(own).for_each(|(all, own)| all.extend(own));
        }
        pooled
    };
    let alone: Vec<Vec<Vec<f64>>> = (0..units).map(|unit| pooled(&[unit])).collect();
    let mut total: Vec<Vec<f64>> = classes.iter().map(|_| Vec::new()).collect();
    for (place, total) in total.iter_mut().enumerate() {
        total.resize(alone.first().map_or(0, |of_unit| of_unit[place].len()), 0.0);
        for of_unit in &alone {
            total.iter_mut().zip(&of_unit[place]).for_each(|(sum, own)| *sum += own);
        }
    }
    let observations: Vec<usize> = models
        .iter()
        .flat_map(|model| &model.rows)
        .map(|&row| groups.map_or(row, |of_row| of_row[row]))
        .collect();
    let labels: Vec<usize> = models.iter().flat_map(|model| model.y.iter().copied()).collect();
    let of_pair = |u: usize, v: usize| -> Option<Interaction> {
        let both = pooled(&[u, v]);
        let of_class = |(place, &class): (usize, &usize)| {
            let (of_u, of_v) = (&alone[u][place], &alone[v][place]);
            let joint: Vec<f64> = both[place]
                .iter()
                .zip(of_u.iter().zip(of_v))
                .map(|(both, (u, v))| both - u - v)
                .collect();
            let rest: Vec<f64> = total[place]
                .iter()
                .zip(of_u.iter().zip(of_v))
                .map(|(all, (u, v))| all - u - v)
                .collect();
            let square = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
            let all = square(&joint) + square(of_u) + square(of_v);
            let is_class: Vec<f64> =
                labels.iter().map(|&y| f64::from(u8::from(y == class))).collect();
            let z = confirmation(&joint, [of_u, of_v, &rest], &is_class, &observations);
            Interaction { partner: v, share: if all > 0.0 { square(&joint) / all } else { 0.0 }, z }
        };
        classes.iter().enumerate().map(of_class).reduce(clearer)
    };
    let of_unit =
        |&u: &usize| (0..units).filter(|&v| v != u).filter_map(|v| of_pair(u, v)).reduce(clearer);
    shown.iter().map(of_unit).collect()
}

fn clearer(a: Interaction, b: Interaction) -> Interaction {
    if b.z > a.z { b } else { a }
}

/// Terms of the additive model: 1, and three powers of each of three parts.
const TERMS: usize = 10;
/// Keeps parts without variation, and classes that can be told apart without error, from having no
/// solution.
const RIDGE: f64 = 1e-3;
/// Parts that are smaller than the largest by this factor are rounding.
const DUST: f64 = 1e-9;

/// How clearly the joint part of two features predicts a class beyond an additive logistic model of
/// what each does alone and of what all others do: the score test of one more term, Σ_i j_i (y_i −
/// p_i) over its standard error, where j is the joint part without what the terms of the model
/// explain of it. The standard error allows for rows that were held out by several splits.
fn confirmation(
    joint: &[f64],
    parts: [&[f64]; 3],
    is_class: &[f64],
    observations: &[usize],
) -> f64 {
    let rows = joint.len();
    let mut terms = vec![[0.0; TERMS]; rows];
    terms.iter_mut().for_each(|terms| terms[0] = 1.0);
    // Below this a part is rounding.
    let least = DUST * parts.iter().map(|values| deviation(values)).fold(0.0, f64::max);
    for (part, values) in parts.iter().enumerate() {
        let scale = deviation(values);
        for (terms, value) in terms.iter_mut().zip(*values).filter(|_| scale > least) {
            let value = value / scale;
            terms[3 * part + 1..3 * part + 4].copy_from_slice(&[
                value,
                value * value,
                value * value * value,
            ]);
        }
    }
    let scale = deviation(joint);
    if scale <= least {
        return 0.0;
    }
    let p = logistic(&terms, is_class);
    let weights: Vec<f64> = p.iter().map(|p| p * (1.0 - p)).collect();
    let scaled: Vec<f64> = joint.iter().map(|joint| joint / scale).collect();
    let weighted: Vec<f64> =
        scaled.iter().zip(&weights).map(|(joint, weight)| joint * weight).collect();
    let Some(explained) = solve(&terms, &weights, project(&terms, &weighted)) else { return 0.0 };
    let mut scores = vec![0.0; observations.iter().max().map_or(0, |last| last + 1)];
    for i in 0..rows {
        let own = scaled[i] - product(&terms[i], &explained);
        scores[observations[i]] += own * (is_class[i] - p[i]);
    }
    let squares: f64 = scores.iter().map(|score| score * score).sum();
    if squares > 0.0 { scores.iter().sum::<f64>() / squares.sqrt() } else { 0.0 }
}

/// The standard deviation of centred numbers.
fn deviation(values: &[f64]) -> f64 {
    (values.iter().map(|value| value * value).sum::<f64>() / values.len().max(1) as f64).sqrt()
}

fn product(terms: &[f64; TERMS], coefficients: &[f64]) -> f64 {
    terms.iter().zip(coefficients).map(|(term, coefficient)| term * coefficient).sum()
}

/// Σ_i value_i · terms_i.
fn project(terms: &[[f64; TERMS]], values: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; TERMS];
    for (terms, value) in terms.iter().zip(values) {
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += value * term);
    }
    sums
}

/// (Tᵀ W T + ridge)⁻¹ b.
fn solve(terms: &[[f64; TERMS]], weights: &[f64], mut b: Vec<f64>) -> Option<Vec<f64>> {
    let cell = |i: usize, j: usize| -> f64 {
        let sum: f64 =
            terms.iter().zip(weights).map(|(terms, weight)| weight * terms[i] * terms[j]).sum();
        sum + if i == j { RIDGE } else { 0.0 }
    };
    Cholesky::new(&PackedSymmetric::new(TERMS, cell))?.solve(&mut b);
    Some(b)
}

/// The probabilities of a logistic regression with a small ridge, by Newton's method; a step
/// changes no logit by more than 4.
fn logistic(terms: &[[f64; TERMS]], is_class: &[f64]) -> Vec<f64> {
    let mut coefficients = vec![0.0; TERMS];
    let mut p = vec![0.5; terms.len()];
    for _ in 0..50 {
        let residuals: Vec<f64> = is_class.iter().zip(&p).map(|(y, p)| y - p).collect();
        let mut gradient = project(terms, &residuals);
        gradient
            .iter_mut()
            .zip(&coefficients)
            .for_each(|(own, coefficient)| *own -= RIDGE * coefficient);
        let weights: Vec<f64> = p.iter().map(|p| p * (1.0 - p)).collect();
        let Some(step) = solve(terms, &weights, gradient) else { break };
        let largest = terms.iter().map(|terms| product(terms, &step).abs()).fold(0.0, f64::max);
        let length = if largest > 4.0 { 4.0 / largest } else { 1.0 };
        coefficients.iter_mut().zip(&step).for_each(|(own, step)| *own += length * step);
        let logits: Vec<f64> = terms.iter().map(|terms| product(terms, &coefficients)).collect();
        let sizes: Vec<f64> = logits.iter().map(|logit| logit.abs()).collect();
        let mut small = vec![0.0; sizes.len()];
        decay(&sizes, 1.0, 0.0, &mut small);
        for ((p, logit), small) in p.iter_mut().zip(&logits).zip(&small) {
            *p = if *logit >= 0.0 { 1.0 } else { *small } / (1.0 + small);
        }
        if largest < 1e-9 {
            break;
        }
    }
    p
}
