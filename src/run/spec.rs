//! Everything that determines the result of a run, checked once.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::data::{Calibration, Impute, Preparation, Scale, SchemaOptions, SplitOptions};
use crate::error::{Error, Result};
use crate::evaluate::SizeCurve;
use crate::select::{BetaRule, Method, Score, StepSize, StopRule};
use crate::svm::{ClassWeight, Estimator, Gamma, SolverKind};

/// More folds than this are refused.
pub const MOST_FOLDS: usize = 100;
/// More permutations than this are refused.
pub const MOST_PERMUTATIONS: usize = 100_000;

/// What a user may choose; [`RunOptions::check`] turns it into a [`RunSpec`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunOptions {
    /// How the file is understood.
    pub schema: SchemaOptions,
    /// How columns are scaled.
    pub scale: Scale,
    /// How gaps are filled.
    pub impute: Impute,
    /// How rows are split.
    pub split: SplitOptions,
    /// The methods, sorted, each once.
    pub methods: Vec<Method>,
    /// λ.
    pub lambda: f64,
    /// C.
    pub cost: f64,
    /// Whether C differs by class.
    pub class_weight: ClassWeight,
    pub solver: SolverKind,
    /// Which family of models is fitted.
    pub estimator: Estimator,
    /// γ of the Gaussian kernel.
    pub gamma: Gamma,
    /// The units that a linear path leaves for the kernel machines.
    pub prefilter: Option<usize>,
    /// How many units are removed at once.
    pub step: StepSize,
    /// How the size of the answer is chosen.
    pub stop: StopRule,
    /// k and ψ of the β rule.
    pub beta_rule: BetaRule,
    /// End a path where the β rule fires or at the fixed size.
    pub early: bool,
    /// ε: one minus the target coverage.
    pub epsilon: f64,
    /// p-values by class.
    pub mondrian: bool,
    /// Randomised p-values.
    pub smoothed: bool,
    /// Which score the p-values are made of.
    pub score: Score,
    /// The curves that the rule `1se` looks at.
    pub by: Vec<SizeCurve>,
    /// Folds of the nested validation, at least 2; `None` to switch it off.
    pub validate: Option<usize>,
    /// How often the labels are permuted.
    pub permutations: Permutations,
}

/// How often the labels are permuted to see what chance achieves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Permutations {
    /// By cost: see [`super::default_permutations`].
    #[default]
    Auto,
    /// This often; 0 is not at all.
    Count(usize),
}

impl FromStr for Permutations {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "none" => Ok(Self::Count(0)),
            _ => text
                .parse()
                .map(Self::Count)
                .map_err(|_| "write auto, none or a number of permutations".into()),
        }
    }
}

impl fmt::Display for Permutations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Count(0) => f.write_str("none"),
            Self::Count(count) => write!(f, "{count}"),
        }
    }
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            schema: SchemaOptions::default(),
            scale: Scale::Standard,
            impute: Impute::Knn(5),
            split: SplitOptions::default(),
            methods: vec![Method::Crfe, Method::Rfe],
            lambda: 0.5,
            cost: 1.0,
            class_weight: ClassWeight::None,
            solver: SolverKind::Newton,
            estimator: Estimator::Linear,
            gamma: Gamma::Scale,
            prefilter: None,
            step: StepSize::default(),
            stop: StopRule::OneSe,
            beta_rule: BetaRule::default(),
            early: false,
            epsilon: 0.1,
            mondrian: false,
            smoothed: false,
            score: Score::Weighted,
            by: vec![SizeCurve::INEFFICIENCY, SizeCurve::ACCURACY],
            validate: Some(5),
            permutations: Permutations::Auto,
        }
    }
}

impl RunOptions {
    /// How columns are made ready for a model.
    pub fn preparation(&self) -> Preparation {
        Preparation { scale: self.scale, impute: self.impute, splines: self.estimator.knots() }
    }

    /// The options that must be equal for two runs to share their steps. More splits or methods
    /// extend a run, and the stopping rule only reads a finished path, unless it ended the path
    /// early.
    pub fn determining(&self) -> Map<String, Value> {
        let Ok(Value::Object(mut all)) = serde_json::to_value(self) else {
            unreachable!("options serialise to an object with string keys")
        };
        // Neither the choice of a size nor what is run after the paths changes a path.
        for later in ["methods", "by", "validate", "permutations"] {
            all.remove(later);
        }
        if !self.early {
            all.remove("stop");
            all.remove("beta_rule");
        }
        if let Some(Value::Object(split)) = all.get_mut("split") {
            split.remove("splits");
            // The fingerprint uses the contents of this file, not its name.
            split.remove("splits_from");
        }
        if let Some(Value::Object(schema)) = all.get_mut("schema") {
            schema.remove("groups");
            schema.remove("pheno");
        }
        all
    }

    /// The family of models in words; nothing for linear machines, the usual ones.
    pub fn models(&self) -> Option<String> {
        let prefilter =
            self.prefilter.map_or_else(String::new, |most| format!(", prefilter {most}"));
        match self.estimator {
            Estimator::Linear => None,
            Estimator::Rcs(_) => Some(self.estimator.to_string()),
            Estimator::Rbf => Some(format!("{} (γ {}{prefilter})", self.estimator, self.gamma)),
        }
    }

    /// Checks every number and combination.
    pub fn check(mut self) -> Result<RunSpec> {
        let within = |name: &'static str, value: f64, ok: bool, allowed: &str| {
            if ok {
                Ok(())
            } else {
                Err(Error::usage(format!("--{name} {value} is out of range"))
                    .remedy(allowed)
                    .option(name))
            }
        };
        let Self { lambda, cost, epsilon, .. } = self;
        within("lambda", lambda, (0.0..=1.0).contains(&lambda), "give a number from 0 to 1")?;
        within("cost", cost, cost > 0.0 && cost.is_finite(), "give a number above 0")?;
        let remedy = "give a number between 0 and 1, such as 0.1 for 90 % coverage";
        within("epsilon", epsilon, epsilon > 0.0 && epsilon < 1.0, remedy)?;
        let impossible =
            |remedy| Error::usage("--stop beta is out of range").remedy(remedy).option("--stop");
        self.beta_rule.check().map_err(impossible)?;
        let share = self.schema.max_missing;
        within("max-missing", share, (0.0..=1.0).contains(&share), "give a share from 0 to 1")?;
        self.split.check()?;
        if let Some(folds) = self.validate
            && !(2..=MOST_FOLDS).contains(&folds)
        {
            return Err(Error::usage(format!("--validate {folds} is out of range"))
                .remedy(format!("give 2 to {MOST_FOLDS} folds, or none"))
                .option("--validate"));
        }
        if let Permutations::Count(count) = self.permutations
            && count > MOST_PERMUTATIONS
        {
            return Err(Error::usage(format!("--permutations {count} is too many"))
                .remedy(format!("give at most {MOST_PERMUTATIONS}"))
                .option("--permutations"));
        }
        if self.by.is_empty() {
            return Err(Error::usage("--by names no curve")
                .remedy("give inefficiency, accuracy, or both")
                .option("--by"));
        }
        if self.methods.is_empty() {
            return Err(Error::usage("--method names no method")
                .remedy("give crfe, rfe, smfs or acm, separated by commas")
                .option("--method"));
        }
        if self.estimator == Estimator::Rbf {
            if self.solver == SolverKind::Linfa {
                return Err(Error::usage(
                    "--solver linfa fits linear machines only, not --estimator rbf",
                )
                .remedy("leave --solver out")
                .option("--solver"));
            }
            if self.prefilter == Some(0) {
                return Err(Error::usage("--prefilter 0 leaves no feature")
                    .remedy("give at least 1, such as 100")
                    .option("--prefilter"));
            }
        } else if self.prefilter.is_some() {
            return Err(Error::usage("--prefilter belongs to --estimator rbf")
                .remedy("add --estimator rbf, or leave --prefilter out")
                .option("--prefilter"));
        }
        if self.schema.pheno_sheet.is_some() && self.schema.pheno.is_none() {
            return Err(Error::usage("--sheet names two sheets, but there is one table")
                .remedy("name one sheet, or add --pheno WORKBOOK")
                .option("--sheet"));
        }
        if self.smoothed && self.score == Score::Published {
            return Err(Error::usage("--smoothed has no meaning with --score published")
                .remedy("leave one of them out")
                .option("--smoothed"));
        }
        if self.early && !matches!(self.stop, StopRule::Beta | StopRule::Size(_)) {
            return Err(Error::usage(format!(
                "--early cannot end a path by the rule '{}', which needs the whole path",
                self.stop.name()
            ))
            .remedy("add --stop beta or --stop N, or leave --early out")
            .option("--early"));
        }
        self.methods.sort_unstable();
        self.methods.dedup();
        self.by.sort_unstable();
        self.by.dedup();
        Ok(RunSpec(self))
    }
}

/// Checked options, ready to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RunOptions", into = "RunOptions")]
pub struct RunSpec(RunOptions);

impl Deref for RunSpec {
    type Target = RunOptions;
    fn deref(&self) -> &RunOptions {
        &self.0
    }
}

impl From<RunSpec> for RunOptions {
    fn from(spec: RunSpec) -> Self {
        spec.0
    }
}

impl TryFrom<RunOptions> for RunSpec {
    type Error = Error;
    fn try_from(options: RunOptions) -> Result<Self> {
        options.check()
    }
}

impl RunSpec {
    /// Whether coverage is guaranteed: not when β was computed on the calibration rows, nor under
    /// the published p-values.
    pub fn guaranteed(&self) -> bool {
        self.split.calibration == Calibration::Strict && self.score == Score::Weighted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_range_numbers_name_the_option_and_the_range() {
        let options = RunOptions { lambda: 2.0, ..RunOptions::default() };
        let error = options.check().unwrap_err();
        assert_eq!(error.to_string(), "--lambda 2 is out of range; give a number from 0 to 1");
        assert_eq!(error.exit_code(), 2);
        for bad in [f64::NAN, 0.0, 1.0, -1.0] {
            assert!(RunOptions { epsilon: bad, ..RunOptions::default() }.check().is_err(), "{bad}");
        }
    }

    #[test]
    fn models_other_than_linear_ones_are_named() {
        let mut options = RunOptions { estimator: Estimator::Rbf, ..RunOptions::default() };
        assert_eq!(RunOptions::default().models(), None);
        assert_eq!(options.models().as_deref(), Some("rbf (γ scale)"));
        (options.gamma, options.prefilter) = (Gamma::Fixed(0.1), Some(50));
        assert_eq!(options.models().as_deref(), Some("rbf (γ 0.1, prefilter 50)"));
        options.estimator = "rcs:4".parse().unwrap();
        assert_eq!(options.models().as_deref(), Some("rcs:4"));
    }

    #[test]
    fn the_rule_that_reads_the_path_does_not_determine_it() {
        let spec =
            |stop, early| RunOptions { stop, early, ..RunOptions::default() }.check().unwrap();
        let plain = spec(StopRule::Knee, false);
        assert_eq!(plain.determining(), spec(StopRule::Size(5), false).determining());
        assert_ne!(plain.determining(), spec(StopRule::Size(5), true).determining());
        let more = RunOptions {
            split: SplitOptions { splits: 99, ..SplitOptions::default() },
            ..RunOptions::default()
        };
        assert_eq!(plain.determining(), more.check().unwrap().determining());
    }

    #[test]
    fn the_number_of_splits_does_not_matter_when_a_file_has_them() {
        let x = ndarray::Array2::from_shape_fn((40, 2), |(i, j)| (i * (j + 1) % 7) as f64);
        let labels: Vec<&str> = (0..40).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect();
        let data = crate::data::Dataset::from_arrays(x.view(), &labels, None).unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let rows = |part: usize| (0..40).filter(|i| (i / 2) % 3 == part).collect::<Vec<usize>>();
        let split = serde_json::json!({"train": rows(0), "calibration": rows(1), "test": rows(2)});
        std::fs::write(&file, serde_json::json!({"splits": [split]}).to_string()).unwrap();
        let mut options = RunOptions::default();
        options.split.splits = 0;
        assert!(options.clone().check().is_err());
        options.split.splits_from = Some(file.path().to_path_buf());
        let spec = options.check().unwrap();
        assert_eq!(crate::data::Splits::new(&data, &spec.split).unwrap().count(), 1);
    }

    #[test]
    fn a_spec_read_back_is_checked_again() {
        let mut value = serde_json::to_value(RunOptions::default()).unwrap();
        assert!(serde_json::from_value::<RunSpec>(value.clone()).is_ok());
        value["lambda"] = 7.0.into();
        assert!(serde_json::from_value::<RunSpec>(value).is_err());
    }
}
