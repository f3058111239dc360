//! The fitted model as one file of JSON, and back (docs/formats.md). Whatever a file says is
//! checked before it is believed.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use memchr::memchr_iter;
use serde::{Deserialize, Serialize};

use super::json;
use super::machines::{Deciding, Machines};
use super::predictor::Predictor;
use super::seen::DIGITS;
use crate::data::{Censored, Encoding, FittedPreparation};
use crate::error::{Error, Result};
use crate::evaluate::{Calibrated, CategoryScores, Performance};
use crate::files::{NamedOutput, unwritable};
use crate::format::refuse_another;
use crate::select::{Method, Nonconformity, Score};
use crate::svm::{Estimator, SupportMachines};

/// What the first field of a model says.
pub const MODEL: &str = "crfe-tui model";
/// Larger files are refused.
const MOST_BYTES: u64 = 1 << 29;
/// More values than the numbers of the largest file: shorter values would take many times the
/// memory of the file.
const MOST_VALUES: usize = 1 << 25;
/// More bytes of cautions are refused.
const MOST_CAUTION_BYTES: usize = 1 << 16;

/// A model for new rows, as its file holds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// [`MODEL`].
    pub kind: String,
    /// [`FORMAT`].
    pub format: u32,
    /// The program that wrote it, with its version.
    pub program: String,
    /// What kind of machine it is.
    pub estimator: Estimator,
    /// The class column.
    pub target: String,
    /// Class labels, in the order of weights and p-values.
    pub classes: Vec<String>,
    /// The column that names the rows, if there was one.
    pub id_column: Option<String>,
    /// The list, best first.
    pub features: Vec<String>,
    /// How the list came about.
    pub selection: ListOrigin,
    /// The columns of the file that are needed.
    pub variables: Vec<Encoding>,
    /// The columns of numbers that they become and the machines take, in the order of the weights.
    pub columns: Vec<ModelColumn>,
    /// How these are scaled and filled.
    pub preparation: FittedPreparation,
    /// The weights of each class; none for a kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<Vec<Vec<f64>>>,
    /// The machines of a kernel, with their bias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<SupportMachines>,
    /// The bias of each class.
    pub bias: Vec<f64>,
    /// How p-values are made.
    pub conformal: Conformal,
    /// How cells are read.
    pub reading: CellReading,
    /// What it was made of.
    pub fitted: Provenance,
    /// What the nested validation measured: what to expect on new rows.
    pub validation: Option<Performance>,
    /// What its user should know.
    pub cautions: Vec<String>,
}

/// How a list came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListOrigin {
    /// The method; none if the list was given.
    pub method: Option<Method>,
    /// The rule that chose the size.
    pub rule: String,
    /// For each feature of the list how many splits keep it; empty if it was given.
    pub counts: Vec<usize>,
    /// How many splits there were.
    pub splits: usize,
}

/// A column that the machines take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelColumn {
    /// Its name: that of the variable, or `variable=level`.
    pub name: String,
    /// The position of its variable.
    pub variable: usize,
    /// Its position among the columns of the variable.
    pub place: usize,
    /// The position of its feature in the list.
    pub feature: usize,
    /// The smallest and the largest training value; none if all are missing.
    pub range: Option<(f64, f64)>,
}

/// How p-values are made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conformal {
    /// The score.
    pub score: Score,
    /// λ.
    pub lambda: f64,
    /// ε, unless another is asked for.
    pub epsilon: f64,
    /// p-values by class.
    pub mondrian: bool,
    /// Randomised p-values.
    pub smoothed: bool,
    /// Whether coverage is guaranteed.
    pub guaranteed: bool,
    /// The seed of randomised p-values.
    pub seed: u64,
    /// The calibration scores: of all rows, or class by class under Mondrian.
    pub calibration: Vec<CategoryScores>,
}

/// How cells are read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellReading {
    /// Words that mean "missing" besides the usual ones.
    pub missing: Vec<String>,
    /// What `<0.5` stands for.
    pub censored: Option<Censored>,
    /// A row with a larger share of missing values is flagged.
    pub max_missing: f64,
}

/// What a model was made of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The file, as it was named.
    pub input: String,
    /// SHA-256 of the file.
    pub input_sha256: String,
    /// Identifies data and settings.
    pub fingerprint: String,
    /// The command that makes the list again.
    pub command: String,
    /// Rows with a class.
    pub rows: usize,
    /// Rows of each class that selected and on which the machines were fitted.
    pub training: Vec<usize>,
    /// Rows of each class that were set aside and calibrate.
    pub calibration: Vec<usize>,
    /// The sorted hashes of all these rows, one after the other.
    pub row_hashes: String,
}

impl Model {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self> {
        let bytes = read(path).map_err(|error| match error.kind() {
            io::ErrorKind::FileTooLarge => {
                Error::data("the file is too large to be a model").file(path)
            }
            _ => Error::data(format!("the model cannot be read: {error}"))
                .file(path)
                .remedy("make one with crfe-tui fit DATA.CSV --model M.json"),
        })?;
        Self::from_bytes(&bytes).map_err(|error| error.file(path))
    }

    /// Understands the bytes of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        /// What is looked at first, so that files of other formats are told apart from broken
        /// ones.
        #[derive(Deserialize)]
        struct Front {
            kind: String,
            format: u64,
        }
        let remedy = "make one with crfe-tui fit DATA.CSV --model M.json";
        let broken = |what: String| {
            Error::data(format!("the model is damaged: {what}"))
                .remedy("fit it again, or take another copy")
        };
        let begins_like_one =
            String::from_utf8_lossy(&bytes[..bytes.len().min(100)]).contains(MODEL);
        let front: Front = serde_json::from_slice(bytes).map_err(|error| match () {
            () if error.is_eof() => {
                Error::data("the model is cut off: the file ends in the middle").remedy(remedy)
            }
            () if begins_like_one => broken(error.to_string()),
            () => Error::data("this is not a model of crfe-tui").remedy(remedy),
        })?;
        if front.kind != MODEL {
            return Err(Error::data("this is not a model of crfe-tui").remedy(remedy));
        }
        if memchr_iter(b',', bytes).count() > MOST_VALUES {
            return Err(broken(format!("it holds more than {MOST_VALUES} values")));
        }
        refuse_another("model", front.format, "fit it again with crfe-tui fit")?;
        let model: Self =
            serde_json::from_slice(bytes).map_err(|error| broken(error.to_string()))?;
        model.check().map_err(broken)?;
        Ok(model)
    }

    /// The bytes of its file.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        json::pretty(self)
            .map_err(|error| Error::internal(format!("the model cannot be written: {error}")))
    }

    /// Writes it whole or not at all. A file that is not a model is not replaced, unless it is
    /// wanted so.
    pub fn save(&self, path: &Path, replace: bool) -> Result<()> {
        self.check().map_err(|what| {
            Error::data(format!("no model can be written: {what}"))
                .remedy("rename columns or classes that hold control characters")
        })?;
        Self::check_file(path, replace)?;
        let bytes = self.to_bytes()?;
        let written = NamedOutput::open(path).and_then(|output| output.write(&bytes));
        written.map_err(|error| unwritable(path, &error))
    }

    /// Refuses a name under which no model can be written, before anything is computed.
    pub fn check_file(path: &Path, replace: bool) -> Result<()> {
        if path.file_name().and_then(|name| name.to_str()).is_none() || path.is_dir() {
            return Err(Error::usage("--model must name a file")
                .file(path)
                .remedy("such as --model M.json"));
        }
        if !replace && path.is_file() && Self::load(path).is_err() {
            return Err(Error::output("a file of this name exists and is not a model")
                .file(path)
                .remedy("choose another name, or replace it with --force"));
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        if !directory.is_dir() {
            return Err(Error::output("the directory of the model does not exist")
                .file(path)
                .remedy("make it, or choose another with --model"));
        }
        Ok(())
    }

    /// What predicts.
    pub fn predictor(&self) -> Result<Predictor> {
        let calibrated = self
            .calibrated()
            .map_err(|what| Error::data(format!("the model is damaged: {what}")))?;
        let machines =
            self.machines().map_err(|what| Error::data(format!("the model is damaged: {what}")))?;
        Ok(Predictor { preparation: self.preparation.clone(), machines, calibrated })
    }

    /// What decides; why not, if its numbers do not fit its estimator, its classes and its columns.
    fn machines(&self) -> std::result::Result<Machines, String> {
        let classes = self.classes.len();
        let columns = self.preparation.sources().len();
        let is_table = |rows: &[Vec<f64>], count: usize, width: usize| {
            rows.len() == count && rows.iter().all(|row| row.len() == width)
        };
        let is_kernel = self.estimator == Estimator::Rbf;
        let deciding = match (&self.weights, &self.kernel) {
            (Some(weights), None) if !is_kernel => {
                if !is_table(weights, classes, columns) {
                    return Err(format!(
                        "its weights are not those of {classes} classes and {columns} columns"
                    ));
                }
                Deciding::Linear(weights.clone())
            }
            (None, Some(kernel)) if is_kernel => {
                let rows = kernel.support.len();
                if rows == 0 || !is_table(&kernel.support, rows, columns) {
                    return Err(format!("its supporting rows are not those of {columns} columns"));
                }
                if !is_table(&kernel.coefficients, classes, rows) {
                    return Err(format!(
                        "its coefficients are not those of {classes} classes and {rows} rows"
                    ));
                }
                if !(kernel.gamma > 0.0 && kernel.gamma.is_finite()) {
                    return Err(format!("γ = {} is out of range", kernel.gamma));
                }
                Deciding::Kernel(kernel.clone())
            }
            _ => return Err("its machines do not fit its estimator".to_owned()),
        };
        if self.bias.len() != classes {
            return Err(format!("its biases are not those of {classes} classes"));
        }
        let machines = Machines { deciding, bias: self.bias.clone() };
        if !machines.is_finite() {
            return Err("a weight is not a number".to_owned());
        }
        Ok(machines)
    }

    fn calibrated(&self) -> std::result::Result<Calibrated, String> {
        let Conformal { score, lambda, mondrian, calibration, .. } = &self.conformal;
        let measure = Nonconformity { lambda: *lambda, classes: self.classes.len(), score: *score };
        Calibrated::from_scores(measure, *mondrian, calibration)
    }

    /// Why it cannot be used, if it cannot.
    fn check(&self) -> std::result::Result<(), String> {
        let (classes, columns) = (self.classes.len(), self.columns.len());
        let levels = self.variables.iter().flat_map(|variable| &variable.levels);
        let names =
            [&self.target, &self.program].into_iter().chain(&self.classes).chain(&self.features);
        let names = names.chain(self.id_column.iter()).chain(levels);
        let names = names.chain(self.variables.iter().map(|variable| &variable.name));
        let mut names = names.chain(self.columns.iter().map(|column| &column.name));
        // A header of a spreadsheet may hold line breaks.
        let is_odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
        if let Some(name) = names.find(|name| name.contains(is_odd)) {
            return Err(format!("the name '{name}' holds a control character"));
        }
        let unique = |names: &[&String]| names.iter().collect::<HashSet<_>>().len() == names.len();
        if classes < 2 || !unique(&self.classes.iter().collect::<Vec<_>>()) {
            return Err("it needs two classes or more, each once".to_owned());
        }
        if !unique(&self.variables.iter().map(|variable| &variable.name).collect::<Vec<_>>()) {
            return Err("a column is named twice".to_owned());
        }
        if self.variables.iter().any(|variable| variable.levels.len() == 1) {
            return Err("a category has a single level".to_owned());
        }
        if columns == 0 || self.features.is_empty() {
            return Err("it has no features".to_owned());
        }
        let fits = |column: &ModelColumn| {
            self.variables
                .get(column.variable)
                .is_some_and(|variable| column.place < variable.width())
                && column.range.is_none_or(|(low, high)| low <= high)
                && column.feature < self.features.len()
        };
        if !self.columns.iter().all(fits) {
            return Err(
                "a column does not belong to a variable and a feature, or has no range".to_owned()
            );
        }
        if let Some(fault) = self.preparation.fault(columns) {
            return Err(fault);
        }
        if self.estimator.knots().is_some() != self.preparation.has_splines() {
            return Err("its splines do not fit its estimator".to_owned());
        }
        self.machines()?;
        let Conformal { lambda, epsilon, .. } = self.conformal;
        if !((0.0..=1.0).contains(&lambda) && epsilon > 0.0 && epsilon < 1.0) {
            return Err(format!("λ = {lambda} or ε = {epsilon} is out of range"));
        }
        if !(0.0..=1.0).contains(&self.reading.max_missing) {
            return Err("max_missing is not a share".to_owned());
        }
        if self.fitted.calibration.len() != classes || self.fitted.training.len() != classes {
            return Err("its counts of rows are not those of its classes".to_owned());
        }
        if self.fitted.row_hashes.len() != self.fitted.rows.saturating_mul(DIGITS) {
            return Err("its hashes are not those of its rows".to_owned());
        }
        if self.cautions.iter().map(String::len).sum::<usize>() > MOST_CAUTION_BYTES {
            return Err(format!("its cautions have more than {MOST_CAUTION_BYTES} bytes"));
        }
        self.calibrated().map(drop)
    }
}

/// The bytes of a regular file that is not too large.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Looked at before it is opened: opening a pipe waits for its writer.
    if !std::fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}
