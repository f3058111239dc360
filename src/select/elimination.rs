//! The loop: fit, compute β, choose what goes; one [`Removal`] for each model fitted.

use std::cmp::Ordering;

use ndarray::{Array2, ArrayView2};
use serde::{Deserialize, Serialize};

use super::{ClassSums, Method, Nonconformity};
use crate::data::Unit;
use crate::error::Result;
use crate::svm::{ClassWeight, Convergence, PathSolver, Problem, SolverKind, solver};

/// Criteria closer than this, relatively, are tied: the lowest unit goes first.
const TIE: f64 = 1e-9;

/// How many units go at each iteration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepSize {
    /// This many.
    Count(usize),
    /// This share of those left, rounded down, at least one.
    Fraction(f64),
}

impl Default for StepSize {
    fn default() -> Self {
        Self::Count(1)
    }
}

impl StepSize {
    fn of(self, left: usize) -> usize {
        match self {
            Self::Count(count) => count,
            Self::Fraction(share) => ((left as f64 * share).floor() as usize).max(1),
        }
    }
}

impl std::fmt::Display for StepSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Count(count) => write!(f, "{count}"),
            Self::Fraction(share) => write!(f, "{share}"),
        }
    }
}

impl std::str::FromStr for StepSize {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        if text == "half" {
            return Ok(Self::Fraction(0.5));
        }
        if let Ok(count) = text.parse::<usize>()
            && count > 0
        {
            return Ok(Self::Count(count));
        }
        match text.parse::<f64>() {
            Ok(share) if share > 0.0 && share < 1.0 => Ok(Self::Fraction(share)),
            _ => Err("write a count from 1, a fraction between 0 and 1, or half".into()),
        }
    }
}

/// How to eliminate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Which unit goes.
    pub method: Method,
    /// How many at once.
    pub step: StepSize,
    /// The non-conformity measure behind β.
    pub measure: Nonconformity,
    /// Who fits the models.
    pub solver: SolverKind,
    /// C.
    pub cost: f64,
    /// Whether C differs by class.
    pub weight: ClassWeight,
}

/// One iteration: a model was fitted and the units that go next were chosen (they are still in the model).
#[derive(Debug, Clone, PartialEq)]
pub struct Removal {
    /// How many models were fitted before this one.
    pub t: usize,
    /// The units present, ascending.
    pub present: Vec<usize>,
    /// β of each unit present.
    pub beta: Vec<f64>,
    /// Mean β over the units present.
    pub beta_mean: f64,
    /// The units that go, in order; empty at the end of the path.
    pub removed: Vec<usize>,
    /// The criterion of the first that goes: β, or Σ w² for RFE.
    pub criterion: Option<f64>,
    /// The unit that would have gone next.
    pub runner_up: Option<usize>,
    /// The distance of the criteria of the last that goes and the runner-up.
    pub margin: Option<f64>,
    /// How the fit ended.
    pub convergence: Convergence,
}

/// A path of eliminations, as an iterator; between two items [`Elimination::model`] is the model of the last one.
///
/// ```
/// # use crfe::{data::Unit, select::*, svm::{ClassWeight, SolverKind}};
/// # use ndarray::array;
/// // Feature-major: two features, six rows; only the first one tells the classes apart.
/// let x = array![[-2.0, -1.5, -1.0, 1.0, 1.5, 2.0], [0.3, -0.2, 0.1, -0.3, 0.2, 0.1]];
/// let y = [0, 0, 0, 1, 1, 1];
/// let units: Vec<Unit> = ["signal", "noise"].into_iter().enumerate().map(|(j, name)| Unit::single(name, j)).collect();
/// let settings = Settings::new(Method::Crfe, 2);
/// let path = Elimination::new(settings, &units, (x.view(), &y), (x.view(), &y), &[false; 2])?;
/// let removed: Vec<usize> = path.flat_map(|step| step.removed).collect();
/// assert_eq!(removed, [1]);
/// # Ok::<(), crfe::Error>(())
/// ```
pub struct Elimination<'a> {
    settings: Settings,
    units: &'a [Unit],
    solver: Box<dyn PathSolver + 'a>,
    /// −∂β_j/∂w_kj: classes × columns.
    leverage: Array2<f64>,
    /// Units without variation in the training rows: they go first.
    constant: Vec<bool>,
    present: Vec<usize>,
    /// Chosen by the last item, still in the model.
    pending: Vec<usize>,
    /// SMFS: the β of the full set.
    frozen: Option<Vec<f64>>,
    t: usize,
    finished: bool,
}

impl Settings {
    /// The default settings of a method: λ = 0.5, C = 1, exact Newton, one unit at a time.
    pub fn new(method: Method, classes: usize) -> Self {
        Self {
            method,
            step: StepSize::default(),
            measure: Nonconformity { lambda: 0.5, classes, score: super::Score::Weighted },
            solver: SolverKind::Newton,
            cost: 1.0,
            weight: ClassWeight::None,
        }
    }
}

/// A feature-major matrix and the class of each of its rows.
pub type Labelled<'a> = (ArrayView2<'a, f64>, &'a [usize]);

impl<'a> Elimination<'a> {
    /// Models are fitted on `train`, β is computed on `selection`; `constant` flags columns without variation in training.
    pub fn new(
        settings: Settings,
        units: &'a [Unit],
        train: Labelled<'a>,
        selection: Labelled<'_>,
        constant: &[bool],
    ) -> Result<Self> {
        let classes = settings.measure.classes;
        let problem =
            Problem { x: train.0, y: train.1, classes, cost: settings.cost, weight: settings.weight };
        let leverage = settings.measure.leverage(&ClassSums::new(selection.0, selection.1, classes));
        Ok(Self {
            solver: solver(settings.solver, problem)?,
            constant: units.iter().map(|unit| unit.columns.iter().all(|&j| constant[j])).collect(),
            present: (0..units.len()).collect(),
            pending: Vec::new(),
            frozen: None,
            t: 0,
            finished: false,
            settings,
            units,
            leverage,
        })
    }

    /// The model of the last item.
    pub fn model(&self) -> &dyn PathSolver {
        &*self.solver
    }

    /// The removable units of the last model in the order in which they would go at once: the survivors of a path.
    pub fn rest(&self, last: &Removal) -> Vec<usize> {
        let all = self.candidates(&last.beta);
        let count = all.len();
        first_to_go(all, count).into_iter().map(|candidate| candidate.unit).collect()
    }

    /// β of every unit present.
    fn beta(&self) -> Vec<f64> {
        let classes = self.settings.measure.classes;
        let mut by_column = vec![0.0; self.leverage.ncols()];
        for k in 0..classes {
            let (weights, leverage) = (self.solver.weights(k), self.leverage.row(k));
            for &j in self.solver.columns() {
                by_column[j] -= weights[j] * leverage[j];
            }
        }
        self.by_unit(|j| by_column[j])
    }

    /// Σ_k w_kj² of every unit present.
    fn squared_weights(&self) -> Vec<f64> {
        let classes = self.settings.measure.classes;
        self.by_unit(|j| (0..classes).map(|k| self.solver.weights(k)[j].powi(2)).sum())
    }

    /// Sums a quantity of columns over the columns of each unit present.
    fn by_unit(&self, of_column: impl Fn(usize) -> f64) -> Vec<f64> {
        let sum = |&unit: &usize| self.units[unit].columns.iter().map(|&j| of_column(j)).sum();
        self.present.iter().map(sum).collect()
    }

    /// The units that may go, with what decides.
    fn candidates(&self, beta: &[f64]) -> Vec<Candidate> {
        let squares = (self.settings.method == Method::Rfe).then(|| self.squared_weights());
        let removable = self.present.iter().enumerate().filter(|&(_, &unit)| !self.units[unit].kept);
        removable
            .map(|(i, &unit)| {
                let (criterion, urgency) = match (&squares, &self.frozen) {
                    (Some(squares), _) => (squares[i], -squares[i]),
                    (None, Some(frozen)) => (frozen[unit], frozen[unit]),
                    (None, None) => (beta[i], beta[i]),
                };
                Candidate { unit, criterion, urgency, constant: self.constant[unit] }
            })
            .collect()
    }
}

impl Iterator for Elimination<'_> {
    type Item = Removal;

    fn next(&mut self) -> Option<Removal> {
        if self.finished {
            return None;
        }
        for unit in std::mem::take(&mut self.pending) {
            self.solver.remove(&self.units[unit].columns);
            if let Ok(position) = self.present.binary_search(&unit) {
                self.present.remove(position);
            }
        }
        let convergence = self.solver.fit();
        let beta = self.beta();
        if self.settings.method == Method::Smfs && self.frozen.is_none() {
            self.frozen = Some(beta.clone());
        }
        let candidates = self.candidates(&beta);
        let kept = self.present.len() - candidates.len();
        let may_go = self.present.len() - kept.max(1);
        let count = self.settings.step.of(candidates.len()).min(may_go);
        let order = first_to_go(candidates, count + 1);
        let (going, next) = order.split_at(count);
        self.pending = going.iter().map(|candidate| candidate.unit).collect();
        self.finished = going.is_empty();
        self.t += 1;
        let runner_up = if self.finished { None } else { next.first() };
        Some(Removal {
            t: self.t - 1,
            present: self.present.clone(),
            beta_mean: beta.iter().sum::<f64>() / beta.len() as f64,
            beta,
            removed: self.pending.clone(),
            criterion: going.first().map(|candidate| candidate.criterion),
            runner_up: runner_up.map(|candidate| candidate.unit),
            margin: runner_up.zip(going.last()).map(|(next, last)| (next.criterion - last.criterion).abs()),
            convergence,
        })
    }
}

/// A unit that may go.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    unit: usize,
    /// β or Σ w², as shown.
    criterion: f64,
    /// The higher, the sooner it goes.
    urgency: f64,
    constant: bool,
}

impl Candidate {
    /// Constants first, then by urgency, then by position.
    fn before(&self, other: &Self) -> Ordering {
        let urgency = other.urgency.total_cmp(&self.urgency);
        other.constant.cmp(&self.constant).then(urgency).then(self.unit.cmp(&other.unit))
    }

    /// Whether the criteria are equal within rounding.
    fn ties(&self, other: &Self) -> bool {
        let (a, b) = (self.urgency, other.urgency);
        self.constant == other.constant && (self.constant || (a - b).abs() <= TIE * a.abs().max(b.abs()))
    }
}

/// The first `count` candidates to go; among tied ones the lowest unit goes first.
fn first_to_go(mut candidates: Vec<Candidate>, count: usize) -> Vec<Candidate> {
    if candidates.len() > count && count > 0 {
        let (_, &mut last, _) = candidates.select_nth_unstable_by(count - 1, Candidate::before);
        candidates.retain(|candidate| candidate.before(&last) != Ordering::Greater || candidate.ties(&last));
    }
    candidates.sort_unstable_by(Candidate::before);
    let mut start = 0;
    while start < candidates.len() {
        let head = candidates[start];
        let tied = candidates[start..].iter().take_while(|candidate| candidate.ties(&head)).count();
        candidates[start..start + tied].sort_unstable_by_key(|candidate| candidate.unit);
        start += tied;
    }
    candidates.truncate(count);
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(unit: usize, urgency: f64) -> Candidate {
        Candidate { unit, criterion: urgency, urgency, constant: false }
    }

    fn units_of(order: Vec<Candidate>) -> Vec<usize> {
        order.into_iter().map(|candidate| candidate.unit).collect()
    }

    #[test]
    fn ties_go_by_position_and_constants_first() {
        let close = 5.0 * (1.0 + 1e-11);
        let mut candidates =
            vec![candidate(0, 1.0), candidate(1, 5.0), candidate(2, close), candidate(3, -2.0)];
        assert_eq!(units_of(first_to_go(candidates.clone(), 1)), [1]);
        candidates[3].constant = true;
        assert_eq!(units_of(first_to_go(candidates.clone(), 2)), [3, 1]);
        assert_eq!(units_of(first_to_go(candidates, 9)), [3, 1, 2, 0]);
    }

    #[test]
    fn steps_are_counts_or_shares() {
        let step = |text: &str| text.parse::<StepSize>();
        assert_eq!(step("3").unwrap().of(10), 3);
        assert_eq!(step("0.1").unwrap().of(35), 3);
        assert_eq!(step("0.1").unwrap().of(5), 1);
        assert_eq!(step("half").unwrap().of(9), 4);
        for bad in ["0", "1.5", "-1", "many"] {
            assert!(step(bad).is_err(), "{bad}");
        }
    }
}
