//! One path on a matrix in memory, for programs that use the method as a library.

use ndarray::ArrayView2;

use crate::data::{Dataset, Impute, Scale, SplitOptions, Splits, prepare};
use crate::error::Result;
use crate::run::{PathRows, RunOptions, open_path, settings};
use crate::select::{Method, Removal, StepSize, order_of_adding};
use crate::svm::{ClassWeight, Estimator};

/// A finished path of eliminations.
#[derive(Debug, Clone)]
pub struct Path {
    /// Every model with what was removed after it; nothing after the last.
    pub steps: Vec<Removal>,
    /// All features, the most important first: those never removed, then the others from the last
    /// removed to the first.
    pub ranking: Vec<usize>,
}

impl Path {
    /// A path on rows × features (NaN is missing) and a label for each row, at the defaults of the
    /// program.
    ///
    /// ```
    /// use crfe::{Path, select::Method};
    /// use ndarray::Array2;
    ///
    /// // 40 rows × 3 features; the first separates the classes, the others are a meaningless pattern.
    /// let cell = |(i, j): (usize, usize)| if j == 0 { i % 2 } else { i * (3 + j) % 7 };
    /// let x = Array2::from_shape_fn((40, 3), |at| cell(at) as f64);
    /// let label = |i| if i % 2 == 0 { "healthy" } else { "ill" };
    /// let labels: Vec<&str> = (0..40).map(label).collect();
    ///
    /// let path = Path::builder(x.view(), &labels).method(Method::Crfe).run()?;
    /// assert_eq!(path.ranking[0], 0);
    /// assert_eq!(path.top(1), [0]);
    /// # Ok::<(), crfe::Error>(())
    /// ```
    pub fn builder<'a, L: AsRef<str>>(x: ArrayView2<'a, f64>, y: &'a [L]) -> PathBuilder<'a, L> {
        PathBuilder { x, y, method: Method::Crfe, options: RunOptions::default() }
    }

    /// The `size` most important features.
    pub fn top(&self, size: usize) -> &[usize] {
        &self.ranking[..size.min(self.ranking.len())]
    }
}

/// A path to be run; see [`Path::builder`].
#[derive(Debug, Clone)]
pub struct PathBuilder<'a, L> {
    x: ArrayView2<'a, f64>,
    y: &'a [L],
    method: Method,
    options: RunOptions,
}

impl<L: AsRef<str>> PathBuilder<'_, L> {
    /// The method, which decides what is removed next.
    #[must_use]
    pub fn method(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// λ of the non-conformity, 0 to 1.
    #[must_use]
    pub fn lambda(self, lambda: f64) -> Self {
        Self { options: RunOptions { lambda, ..self.options }, ..self }
    }

    /// C of the support vector machines.
    #[must_use]
    pub fn cost(self, cost: f64) -> Self {
        Self { options: RunOptions { cost, ..self.options }, ..self }
    }

    /// Whether errors on rare classes cost more.
    #[must_use]
    pub fn class_weight(self, weight: ClassWeight) -> Self {
        Self { options: RunOptions { class_weight: weight, ..self.options }, ..self }
    }

    /// How many features are removed at once.
    #[must_use]
    pub fn step(self, step: StepSize) -> Self {
        Self { options: RunOptions { step, ..self.options }, ..self }
    }

    /// How columns are scaled.
    #[must_use]
    pub fn scale(self, scale: Scale) -> Self {
        Self { options: RunOptions { scale, ..self.options }, ..self }
    }

    /// How gaps are filled.
    #[must_use]
    pub fn impute(self, impute: Impute) -> Self {
        Self { options: RunOptions { impute, ..self.options }, ..self }
    }

    /// Which family of models is fitted; linear machines unless told otherwise.
    #[must_use]
    pub fn estimator(self, estimator: Estimator) -> Self {
        Self { options: RunOptions { estimator, ..self.options }, ..self }
    }

    /// The seed that divides the rows into training and selection rows, as in the first split of a
    /// run.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        let split = SplitOptions { seed, ..self.options.split };
        Self { options: RunOptions { split, ..self.options }, ..self }
    }

    /// Runs the whole path.
    pub fn run(self) -> Result<Path> {
        let data = Dataset::from_arrays(self.x, self.y, None)?;
        let options = &self.options;
        let one = SplitOptions { splits: 1, ..options.split.clone() };
        let split = Splits::new(&data, &one)?.split(&data, 0)?;
        let ready = prepare(&data, &split, options.preparation(), options.split.seed, 0);
        let (train, selection) = (&ready.train, &ready.selection);
        let train = (train.x.view(), &*train.y);
        let selection = (selection.x.view(), &*selection.y);
        let classes = data.classes.len();
        let places = (self.method == Method::Acm).then(|| {
            let places = order_of_adding(&[train, selection], &ready.units, classes);
            places.into_iter().map(|place| place as f64).collect()
        });
        let rows = PathRows {
            units: &ready.units,
            train,
            selection,
            constant: &ready.constant,
            watched: Vec::new(),
            common: None,
            ahead: 0,
        };
        let settings = settings(options, classes, self.method);
        let steps: Vec<Removal> =
            open_path(options, settings, rows, places)?.collect::<Result<_>>()?;
        let removed: Vec<usize> = steps.iter().flat_map(|step| &step.removed).copied().collect();
        let mut ranking: Vec<usize> =
            (0..data.units.len()).filter(|unit| !removed.contains(unit)).collect();
        ranking.extend(removed.iter().rev());
        Ok(Path { steps, ranking })
    }
}
