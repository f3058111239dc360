//! A fitted list becomes a model: what its file will hold, gathered.

use super::file::{CellReading, Conformal, ListOrigin, MODEL, Model, ModelColumn, Provenance};
use super::machines::Deciding;
use super::predictor::{FitSettings, FittedList};
use super::seen::row_hashes;
use crate::data::{Dataset, Encoding};
use crate::evaluate::Performance;
use crate::format::FORMAT;

/// What a model is made of besides the fitted list.
#[derive(Debug, Clone)]
pub struct Ingredients<'a> {
    /// The program that writes it, with its version.
    pub program: &'a str,
    /// The dataset.
    pub data: &'a Dataset,
    /// The units of the list, best first.
    pub list: &'a [usize],
    /// How the list came about.
    pub selection: ListOrigin,
    /// How the machines were fitted.
    pub settings: &'a FitSettings,
    /// Whether coverage is guaranteed.
    pub guaranteed: bool,
    /// The column that names the rows, if the user said so.
    pub id_column: Option<String>,
    /// How cells are read.
    pub reading: CellReading,
    /// Identifies data and settings.
    pub fingerprint: String,
    /// The command that makes the list again.
    pub command: String,
    /// Rows on which the machines were fitted.
    pub rest: &'a [usize],
    /// Rows that calibrate.
    pub reserve: &'a [usize],
    /// What the nested validation measured.
    pub validation: Option<Performance>,
    /// What the user should know.
    pub cautions: Vec<String>,
}

impl Model {
    /// Gathers what its file will hold.
    pub fn new(fitted: &FittedList, made_of: Ingredients<'_>) -> Self {
        let data = made_of.data;
        let mut used: Vec<usize> =
            fitted.columns.iter().map(|&column| data.variables[column]).collect();
        used.dedup();
        let first_of = |variable: usize| data.variables.iter().position(|&own| own == variable);
        let columns = fitted
            .columns
            .iter()
            .zip(&fitted.ranges)
            .map(|(&column, &range)| {
                let variable = data.variables[column];
                let has_column = |&unit: &usize| data.units[unit].columns.contains(&column);
                ModelColumn {
                    name: data.columns[column].clone(),
                    variable: used.binary_search(&variable).unwrap_or(0),
                    place: column - first_of(variable).unwrap_or(column),
                    feature: made_of.list.iter().position(has_column).unwrap_or(0),
                    range,
                }
            })
            .collect();
        let variables: Vec<Encoding> =
            used.iter().map(|&variable| data.encodings[variable].clone()).collect();
        let counts = |rows: &[usize]| {
            let mut counts = vec![0; data.classes.len()];
            rows.iter().for_each(|&row| counts[data.y[row]] += 1);
            counts
        };
        let conformal = &made_of.settings.conformal;
        let predictor = &fitted.predictor;
        let (weights, kernel) = match predictor.machines.deciding.clone() {
            Deciding::Linear(weights) => (Some(weights), None),
            Deciding::Kernel(kernel) => (None, Some(kernel)),
        };
        Self {
            kind: MODEL.to_owned(),
            format: FORMAT,
            program: made_of.program.to_owned(),
            estimator: made_of.settings.estimator,
            target: data.target.clone(),
            classes: data.classes.clone(),
            id_column: made_of.id_column,
            features: made_of.list.iter().map(|&unit| data.units[unit].name.clone()).collect(),
            selection: made_of.selection,
            variables,
            columns,
            preparation: predictor.preparation.clone(),
            weights,
            kernel,
            bias: predictor.machines.bias.clone(),
            conformal: Conformal {
                score: conformal.measure.score,
                lambda: conformal.measure.lambda,
                epsilon: conformal.epsilon,
                mondrian: conformal.mondrian,
                smoothed: conformal.smoothed,
                guaranteed: made_of.guaranteed,
                seed: made_of.settings.seed,
                calibration: predictor.calibrated.scores(),
            },
            reading: made_of.reading,
            fitted: Provenance {
                input: data.name.clone(),
                input_sha256: data.sha256.clone(),
                row_hashes: row_hashes(data, &used, &made_of.fingerprint),
                fingerprint: made_of.fingerprint,
                command: made_of.command,
                rows: data.y.len(),
                training: counts(made_of.rest),
                calibration: counts(made_of.reserve),
            },
            validation: made_of.validation,
            cautions: made_of.cautions,
        }
    }
}
