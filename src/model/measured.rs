//! How well a model did on rows whose class is known: coverage with its exact band, accuracy, sets,
//! and whether they look like the rows that calibrate it (docs/method.md section 13).

use std::collections::BTreeMap;

use serde::Serialize;

use super::file::Model;
use super::score::{ScoredRow, Scorer};
use crate::data::seed::{Purpose, Rng};
use crate::error::counted;
use crate::evaluate::{Calibrated, Performance, Predicted, TwoSample, coverage_band, p_words};

/// So many rows are measured at most; of more, a random sample.
pub const MOST_MEASURED: usize = 100_000;
/// Rows look unlike the calibration rows if the p-value of the comparison is below this.
pub const UNLIKE: f64 = 0.01;

/// What a model achieved.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measured {
    /// Accuracy, coverage, sets and the rest.
    pub performance: Performance,
    /// Rows with a class that the model knows; more than were measured if these are a sample.
    pub of_rows: usize,
    /// Where the coverage of a valid model falls 95 times in 100.
    pub coverage_band: Option<(f64, f64)>,
    /// Under Mondrian the same for each class.
    pub class_bands: Vec<Option<(f64, f64)>>,
    /// p of the comparison with the calibration rows; none with groups.
    pub alike_p: Option<f64>,
    /// Rows of classes that the model does not know, by class.
    pub unknown_classes: BTreeMap<String, usize>,
    /// Rows without a class.
    pub without_class: usize,
    /// What follows for the user.
    pub cautions: Vec<String>,
}

/// What decides about bands and cautions besides the rows.
#[derive(Debug, Clone, Copy)]
pub struct Terms<'a> {
    /// Class labels.
    pub classes: &'a [String],
    /// ε.
    pub epsilon: f64,
    /// p-values by class.
    pub mondrian: bool,
    /// Whether there is an exact band: not with groups, randomised p-values or the authors' score.
    pub exact: bool,
    /// Calibration rows of each class.
    pub calibration: &'a [usize],
    /// The seed of the bootstrap.
    pub seed: u64,
}

impl Measured {
    /// Measures predictions; none without rows.
    pub fn new(rows: &[Predicted<'_>], terms: &Terms<'_>, alike_p: Option<f64>) -> Option<Self> {
        let performance =
            Performance::new(rows, &[], terms.classes.len(), terms.epsilon, terms.seed)?;
        let band = |rows: usize, calibration: usize| {
            let band = coverage_band(rows, calibration, terms.epsilon).filter(|_| terms.exact);
            band.map(|band| (band.lo, band.hi))
        };
        let of_class = performance.classes.iter().zip(terms.calibration);
        let class_bands: Vec<Option<(f64, f64)>> = of_class
            .map(|(class, &calibration)| band(class.rows, calibration).filter(|_| terms.mondrian))
            .collect();
        let all: usize = terms.calibration.iter().sum();
        let coverage_band = band(rows.len(), all).filter(|_| !terms.mondrian);
        let mut measured = Self {
            of_rows: rows.len(),
            coverage_band,
            class_bands,
            alike_p,
            unknown_classes: BTreeMap::new(),
            without_class: 0,
            cautions: Vec::new(),
            performance,
        };
        measured.cautions = measured.find_cautions(terms);
        Some(measured)
    }

    /// Takes note of rows that were left out because their class is not known.
    pub fn leave_out(&mut self, unknown_classes: &BTreeMap<String, usize>) {
        self.unknown_classes.clone_from(unknown_classes);
        if !unknown_classes.is_empty() {
            let names: Vec<String> =
                unknown_classes.iter().map(|(class, rows)| format!("{class} ({rows})")).collect();
            self.cautions.push(format!(
                "rows of classes that the model does not know are left out, and no set can hold these: {}",
                names.join(", ")
            ));
        }
    }

    fn find_cautions(&self, terms: &Terms<'_>) -> Vec<String> {
        let mut cautions = Vec::new();
        let coverage = self.performance.coverage.value;
        let target = 1.0 - terms.epsilon;
        if let Some((lo, hi)) = self.coverage_band.filter(|&(lo, _)| coverage < lo) {
            cautions.push(format!(
                "coverage {coverage:.3} is below the band of {lo:.3} to {hi:.3} that rows like the calibration rows would give (target {target})"
            ));
        }
        for (class, band) in self.performance.classes.iter().zip(&self.class_bands) {
            let (Some((lo, hi)), Some(coverage)) = (band, class.coverage) else { continue };
            if coverage.value < *lo {
                cautions.push(format!(
                    "class '{}' is covered in {:.3} of {} rows, below its band of {lo:.3} to {hi:.3}",
                    terms.classes[class.class], coverage.value, class.rows
                ));
            }
        }
        if let Some(p) = self.alike_p.filter(|&p| p < UNLIKE) {
            cautions.push(format!(
                "these rows look unlike the rows that calibrate the model (Kolmogorov–Smirnov {}): coverage is not guaranteed for them",
                p_words(p)
            ));
        }
        let performance = &self.performance;
        if performance.accuracy.lo <= performance.no_information_rate {
            cautions.push(format!(
                "accuracy {:.3} ({:.3} to {:.3}) is not clearly above always answering the largest class ({:.3})",
                performance.accuracy.value,
                performance.accuracy.lo,
                performance.accuracy.hi,
                performance.no_information_rate
            ));
        }
        cautions
    }
}

/// Gathers rows as they are predicted, in bounded memory.
#[derive(Debug, Clone)]
pub struct Scoreboard {
    classes: Vec<String>,
    kept: Vec<(usize, Vec<f64>, Vec<f64>)>,
    known: usize,
    comparison: ScoreComparison,
    unknown_classes: BTreeMap<String, usize>,
    without_class: usize,
    unmeasured: usize,
    rng: Rng,
}

impl Scoreboard {
    /// For the rows of a model.
    pub fn new(scorer: &Scorer<'_>) -> Self {
        let model = scorer.model();
        Self {
            classes: model.classes.clone(),
            kept: Vec::new(),
            known: 0,
            comparison: ScoreComparison::new(&scorer.predictor().calibrated, model.classes.len()),
            unknown_classes: BTreeMap::new(),
            without_class: 0,
            unmeasured: 0,
            rng: Rng::new(model.conformal.seed, 2, Purpose::Bootstrap),
        }
    }

    /// Takes a row.
    pub fn add(&mut self, row: &ScoredRow) {
        /// More unknown classes are counted together.
        const MOST_UNKNOWN: usize = 20;
        let Some(class) = &row.class else {
            self.without_class += 1;
            return;
        };
        let Some(y) = self.classes.iter().position(|known| known == class) else {
            let full = self.unknown_classes.len() >= MOST_UNKNOWN;
            let name =
                if full && !self.unknown_classes.contains_key(class) { "others" } else { class };
            *self.unknown_classes.entry(name.to_owned()).or_default() += 1;
            return;
        };
        self.comparison.add(y, row.alpha[y]);
        self.known += 1;
        self.unmeasured += usize::from(row.flags.unmeasured);
        let kept = (y, row.f.clone(), row.p.clone());
        if self.kept.len() < MOST_MEASURED {
            self.kept.push(kept);
        } else {
            // Every row has the same chance to be in the sample.
            let place = self.rng.below(self.known);
            if let Some(other) = self.kept.get_mut(place) {
                *other = kept;
            }
        }
    }

    /// What was achieved; none if no row has a class that the model knows.
    pub fn measure(&self, model: &Model, epsilon: f64) -> Option<Measured> {
        let rows: Vec<Predicted<'_>> =
            self.kept.iter().map(|(y, f, p)| Predicted { y: *y, f, p }).collect();
        let mut measured = Measured::new(&rows, &model.terms(epsilon), self.comparison.p_value())?;
        measured.of_rows = self.known;
        measured.without_class = self.without_class;
        measured.leave_out(&self.unknown_classes);
        if self.unmeasured > 0 {
            measured.cautions.push(format!(
                "{} of {} with no value of any column that the model uses: every class is in these sets",
                counted(self.unmeasured, "row"),
                self.known
            ));
        }
        Some(measured)
    }
}

impl Model {
    /// What decides about bands and cautions.
    pub fn terms(&self, epsilon: f64) -> Terms<'_> {
        let grouped = self.conformal.calibration.iter().any(|category| category.groups.is_some());
        Terms {
            classes: &self.classes,
            epsilon,
            mondrian: self.conformal.mondrian,
            exact: self.conformal.guaranteed && !grouped && !self.conformal.smoothed,
            calibration: &self.fitted.calibration,
            seed: self.conformal.seed,
        }
    }
}

/// Compares the scores of true labels with those of the calibration rows.
#[derive(Debug, Clone)]
pub struct ScoreComparison {
    /// One test, or one for each class under Mondrian; none with groups.
    tests: Vec<TwoSample>,
}

impl ScoreComparison {
    /// With the scores of a calibration.
    pub fn new(calibrated: &Calibrated, classes: usize) -> Self {
        let categories = if calibrated.is_mondrian() { classes } else { 1 };
        let tests = (0..categories).map(|class| TwoSample::new(calibrated.references(class)));
        Self { tests: if calibrated.is_grouped() { Vec::new() } else { tests.collect() } }
    }

    /// Takes the score of a row of this class with its true label.
    pub fn add(&mut self, y: usize, alpha: f64) {
        let test = if self.tests.len() == 1 { 0 } else { y };
        if let Some(test) = self.tests.get_mut(test) {
            test.add(alpha);
        }
    }

    /// The p-value, by Bonferroni over classes.
    pub fn p_value(&self) -> Option<f64> {
        let values: Vec<f64> = self.tests.iter().filter_map(TwoSample::p_value).collect();
        let smallest = values.iter().copied().reduce(f64::min)?;
        Some((smallest * values.len() as f64).min(1.0))
    }
}
