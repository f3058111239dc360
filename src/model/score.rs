//! New rows through a model: sets, p-values, and what is odd about a row.

use std::sync::OnceLock;

use ndarray::Array2;

use super::effect::Baseline;
use super::file::Model;
use super::predictor::{Predictor, tau};
use crate::data::{Encoding, RequiredColumns, RowBatch};
use crate::error::{Error, Result};
use crate::evaluate::predicted;

/// A model that is ready to predict.
#[derive(Debug, Clone)]
pub struct Scorer<'a> {
    model: &'a Model,
    predictor: Predictor,
    epsilon: f64,
    /// For each column of the machines its position among the columns of all variables.
    places: Vec<usize>,
    /// The first column of each variable.
    starts: Vec<usize>,
    /// Where the effects of each feature are 0, once they are asked for.
    baselines: OnceLock<Vec<Baseline>>,
}

/// What is predicted for a row.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoredRow {
    /// Its name, or its number from 1.
    pub id: String,
    /// Its class as the file spells it, if it is there.
    pub class: Option<String>,
    /// The decision value of each class.
    pub f: Vec<f64>,
    /// The p-value of each class.
    pub p: Vec<f64>,
    /// The score of each class, in grid steps.
    pub alpha: Vec<f64>,
    /// The class with the largest decision value.
    pub predicted: usize,
    /// The classes in the set.
    pub set: Vec<usize>,
    /// One minus the second largest p-value.
    pub confidence: f64,
    /// The largest p-value.
    pub credibility: f64,
    /// What is odd about it.
    pub flags: Flags,
}

/// What is odd about a row, by the positions of variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// Categories that were never seen, and count as missing.
    pub unseen: Vec<usize>,
    /// Numbers outside the range of the training rows.
    pub outside: Vec<usize>,
    /// How many variables are missing and were filled, those never seen included.
    pub missing: usize,
    /// More of them than the model allows.
    pub too_many: bool,
    /// All of them: nothing is known of the row, and its set holds every class.
    pub unmeasured: bool,
}

impl Flags {
    /// How many there are.
    pub fn count(&self) -> usize {
        let gaps = [self.missing > 0, self.too_many, self.unmeasured];
        self.unseen.len() + self.outside.len() + gaps.into_iter().filter(|&is| is).count()
    }

    /// `unseen:stage;range:age;filled:2;missing;unmeasured`: words for a cell of a table.
    pub fn words(&self, variables: &[Encoding]) -> String {
        let name = |variable: &usize| variables[*variable].name.as_str();
        let mut words: Vec<String> =
            self.unseen.iter().map(|variable| format!("unseen:{}", name(variable))).collect();
        words.extend(self.outside.iter().map(|variable| format!("range:{}", name(variable))));
        words.extend((self.missing > 0).then(|| format!("filled:{}", self.missing)));
        words.extend(self.too_many.then(|| "missing".to_owned()));
        words.extend(self.unmeasured.then(|| "unmeasured".to_owned()));
        words.join(";")
    }
}

impl<'a> Scorer<'a> {
    /// Makes a model ready; its own ε holds unless another is given.
    pub fn new(model: &'a Model, epsilon: Option<f64>) -> Result<Self> {
        let mut starts = Vec::new();
        let mut next = 0;
        for variable in &model.variables {
            starts.push(next);
            next += variable.width();
        }
        let places =
            model.columns.iter().map(|column| starts[column.variable] + column.place).collect();
        let epsilon = epsilon.unwrap_or(model.conformal.epsilon);
        Ok(Self {
            model,
            predictor: model.predictor()?,
            epsilon,
            places,
            starts,
            baselines: OnceLock::new(),
        })
    }

    /// The model.
    pub fn model(&self) -> &'a Model {
        self.model
    }

    /// What predicts.
    pub fn predictor(&self) -> &Predictor {
        &self.predictor
    }

    /// ε of the sets.
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// What is looked for in a file of new rows.
    pub fn wanted<'w>(&'w self, id: Option<&'w str>, may_be_absent: bool) -> RequiredColumns<'w> {
        RequiredColumns {
            variables: &self.model.variables,
            target: &self.model.target,
            id: id.or(self.model.id_column.as_deref()),
            id_is_named: id.is_some(),
            may_be_absent,
            first_names_rows: false,
        }
    }

    /// Predicts some rows; `before` is how many rows came before them.
    pub fn score(&self, rows: &RowBatch, before: usize) -> Result<Vec<ScoredRow>> {
        let count = rows.ids.len();
        if !self.predictor.preparation.fills_gaps() {
            self.refuse_gaps(rows)?;
        }
        let x =
            Array2::from_shape_fn((self.places.len(), count), |(j, i)| rows.x[[self.places[j], i]]);
        let classes = self.model.classes.len();
        let of_row = |i: usize| tau(self.model.conformal.seed, u64::MAX, before + i, classes);
        let tau = self.model.conformal.smoothed.then_some(&of_row as &dyn Fn(usize) -> Vec<f64>);
        let predictions = self.predictor.predict(x, tau);
        Ok((0..count)
            .map(|i| {
                let p = predictions.p.row(i).to_vec();
                let f = predictions.f.row(i).to_vec();
                let (mut largest, mut second) = (0.0_f64, 0.0_f64);
                for &value in &p {
                    (largest, second) = (largest.max(value), second.max(largest.min(value)));
                }
                ScoredRow {
                    id: rows.ids[i].clone(),
                    class: rows.classes[i].clone(),
                    predicted: predicted(&f),
                    set: (0..p.len()).filter(|&class| p[class] > self.epsilon).collect(),
                    confidence: 1.0 - second,
                    credibility: largest,
                    alpha: predictions.alpha.row(i).to_vec(),
                    flags: self.flags(rows, i),
                    f,
                    p,
                }
            })
            .collect())
    }

    fn flags(&self, rows: &RowBatch, row: usize) -> Flags {
        let missing = self.starts.iter().filter(|&&start| rows.x[[start, row]].is_nan()).count();
        let is_outside = |&column: &usize| {
            let value = rows.x[[self.places[column], row]];
            let outside = |(low, high): (f64, f64)| value < low || value > high;
            self.model.columns[column].range.is_some_and(outside)
        };
        let numbers = (0..self.places.len()).filter(|&column| {
            !self.model.variables[self.model.columns[column].variable].is_category()
        });
        let outside =
            numbers.filter(is_outside).map(|column| self.model.columns[column].variable).collect();
        let share = missing as f64 / self.starts.len() as f64;
        Flags {
            unseen: rows.unseen[row].clone(),
            outside,
            missing,
            too_many: share > self.model.reading.max_missing,
            unmeasured: missing == self.starts.len(),
        }
    }

    fn refuse_gaps(&self, rows: &RowBatch) -> Result<()> {
        for (i, &line) in rows.lines.iter().enumerate() {
            for (variable, &start) in self.model.variables.iter().zip(&self.starts) {
                if rows.x[[start, i]].is_nan() {
                    return Err(Error::data(
                        "the value is missing, or was never seen, and this model fills no gaps",
                    )
                    .line(line)
                    .column(&variable.name)
                    .remedy("complete the row, or fit the model with --impute knn:5"));
                }
            }
        }
        Ok(())
    }

    /// What each feature adds to the scores of a row, compared with the rows that the model holds
    /// (docs/method.md sections 3 and 15).
    pub fn shares(&self, rows: &RowBatch, row: usize) -> Shares {
        let Predictor { preparation, machines, calibrated } = &self.predictor;
        let mut x =
            Array2::from_shape_fn((self.places.len(), 1), |(j, _)| rows.x[[self.places[j], row]]);
        preparation.apply(&mut x);
        let features = self.columns_of_features();
        let baselines = self.baselines.get_or_init(|| machines.baselines(&features));
        // The score is linear in decision values and biases.
        let classes = machines.bias.len();
        let score = |f: &[f64], bias: &[f64]| {
            let mut alphas = vec![0.0; classes];
            calibrated.measure().alphas(f, bias, &mut alphas);
            alphas
        };
        let of_features = machines.shares(x.view(), &features).pop().unwrap_or_default();
        let mut rest = machines.without_features();
        for baseline in baselines {
            rest.iter_mut().zip(baseline.means()).for_each(|(rest, mean)| *rest += mean);
        }
        let effect = |(share, baseline): (&Vec<f64>, &Baseline)| {
            score(&baseline.effect(share), &vec![0.0; classes])
        };
        Shares {
            features: of_features.iter().zip(baselines).map(effect).collect(),
            rest: score(&rest, &machines.bias),
        }
    }

    /// The prepared columns of each feature.
    fn columns_of_features(&self) -> Vec<Vec<usize>> {
        let mut features = vec![Vec::new(); self.model.features.len()];
        for (column, source) in self.predictor.preparation.sources().into_iter().enumerate() {
            features[self.model.columns[source].feature].push(column);
        }
        features
    }
}

/// The scores of a row, taken apart: with the rest, the shares of the features add up to α of each
/// label.
#[derive(Debug, Clone, PartialEq)]
pub struct Shares {
    /// What each feature adds to α of each label, compared with its mean over the rows that the
    /// model holds: features × labels. Below 0 it makes the label fit better.
    pub features: Vec<Vec<f64>>,
    /// α of each label without these: with the means.
    pub rest: Vec<f64>,
}
