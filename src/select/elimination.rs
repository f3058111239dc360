//! The loop: fit, compute β, choose what goes; one [`Removal`] for each model fitted.

use std::cmp::Ordering;

use ndarray::{Array2, ArrayView2, CowArray};
use serde::{Deserialize, Serialize};

use super::front::Front;
use super::{ClassSums, Method, Nonconformity};
use crate::data::Unit;
use crate::error::Result;
use crate::svm::{
    ClassWeight, Convergence, Drift, FirstFit, MARKS, PathSolver, Precision, Present, Problem, SolverKind,
    solver,
};

/// Criteria closer than this, relatively, are tied: the lowest unit goes first.
pub(super) const TIE: f64 = 1e-9;

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

    /// Models of a whole path from so many units to the kept ones, or to one.
    pub fn models(self, units: usize, kept: usize) -> usize {
        let (mut left, mut models) = (units - kept.min(units), 1);
        let last = usize::from(kept == 0);
        while left > last {
            left -= self.of(left).min(left - last);
            models += 1;
        }
        models
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
    /// How many units are present.
    pub size: usize,
    /// Mean β over the units present.
    pub beta_mean: f64,
    /// The units that go, in order; empty at the end of the path.
    pub removed: Vec<usize>,
    /// The criterion of the first that goes: β, or Σ w² for RFE.
    pub criterion: Option<f64>,
    /// The unit that would have gone next.
    pub runner_up: Option<usize>,
    /// The units nearest to go, in order, as many as [`Elimination::look_ahead`] asked for.
    pub nearest: Vec<usize>,
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
    solver: Box<dyn PathSolver<'a> + 'a>,
    /// −∂β_j/∂w_kj, class by class, column by column.
    leverage: Vec<f64>,
    /// The columns of unit u are those at starts[u]..starts[u + 1], one after the other: units themselves lie far apart.
    columns: Vec<usize>,
    starts: Vec<usize>,
    /// Whether the only column of every unit has the unit's number.
    units_are_columns: bool,
    /// Units without variation in the training rows, ascending: they go first.
    constant: Vec<usize>,
    /// The other units that may go.
    front: Front,
    present: Present,
    /// Chosen by the last item, still in the model.
    pending: Vec<usize>,
    /// SMFS: the β of the full set.
    frozen: Option<Vec<f64>>,
    ahead: usize,
    /// The fit that is shared, until it is taken up.
    first: Option<&'a FirstFit>,
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

/// What the methods of a split share.
pub struct Common {
    leverage: Array2<f64>,
    first: Option<FirstFit>,
}

impl Common {
    /// The sums over the selection rows; with `several` methods, the first fit is kept for the next of them.
    pub fn new(measure: Nonconformity, selection: Labelled<'_>, several: bool) -> Self {
        Self { leverage: leverage(measure, selection), first: several.then(FirstFit::default) }
    }
}

fn leverage(measure: Nonconformity, (x, y): Labelled<'_>) -> Array2<f64> {
    measure.leverage(&ClassSums::new(x, y, measure.classes))
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
        let leverage = leverage(settings.measure, selection);
        Self::with_leverage(settings, units, train, &leverage, constant, None)
    }

    /// The same with what the methods of a split share; all else but the method must be the same for all of them.
    pub fn sharing(
        settings: Settings,
        units: &'a [Unit],
        train: Labelled<'a>,
        common: &'a Common,
        constant: &[bool],
    ) -> Result<Self> {
        Self::with_leverage(settings, units, train, &common.leverage, constant, common.first.as_ref())
    }

    fn with_leverage(
        settings: Settings,
        units: &'a [Unit],
        train: Labelled<'a>,
        leverage: &Array2<f64>,
        constant: &[bool],
        first: Option<&'a FirstFit>,
    ) -> Result<Self> {
        let classes = settings.measure.classes;
        let problem =
            Problem { x: train.0, y: train.1, classes, cost: settings.cost, weight: settings.weight };
        let mut solver = solver(settings.solver, problem)?;
        // Σ_j β_j = −Σ_k w_k·leverage_k: the mean needs no β vector if the leverages are watched as rows.
        solver.watch(CowArray::from(leverage.t().as_standard_layout().into_owned()));
        let may_go = (0..units.len()).filter(|&unit| !units[unit].kept);
        let (still, moving): (Vec<usize>, Vec<usize>) =
            may_go.partition(|&unit| units[unit].columns.iter().all(|&j| constant[j]));
        let slope = |&unit: &usize| slope(settings.method, &problem, leverage, &units[unit]);
        let slopes = moving.iter().map(slope).collect();
        let ends = units.iter().scan(0, |end, unit| {
            *end += unit.columns.len();
            Some(*end)
        });
        let is_column = |(number, unit): (usize, &Unit)| unit.columns == [number];
        Ok(Self {
            units_are_columns: units.iter().enumerate().all(is_column),
            front: Front::new(moving, slopes),
            constant: still,
            present: Present::all(units.len()),
            pending: Vec::new(),
            frozen: None,
            ahead: 0,
            first,
            t: 0,
            finished: false,
            settings,
            units,
            solver,
            leverage: leverage.t().iter().copied().collect(),
            columns: units.iter().flat_map(|unit| unit.columns.iter().copied()).collect(),
            starts: std::iter::once(0).chain(ends).collect(),
        })
    }

    /// Watches rows (feature-major): after every item [`Elimination::decisions`] has their decision values.
    #[must_use]
    pub fn watch(mut self, rows: ArrayView2<'a, f64>) -> Self {
        self.solver.watch(CowArray::from(rows));
        self
    }

    /// Asks for at least this many units in [`Removal::nearest`].
    #[must_use]
    pub fn look_ahead(mut self, units: usize) -> Self {
        self.ahead = units;
        self
    }

    /// The model of the last item.
    pub fn model(&self) -> &(dyn PathSolver<'a> + 'a) {
        &*self.solver
    }

    /// f_r(x) of the last item's model on the rows of the n-th `watch`: rows × classes.
    pub fn decisions(&self, watched: usize) -> Array2<f64> {
        self.solver.decisions(watched + 1)
    }

    /// The units of the last item's model, ascending.
    pub fn present(&self) -> Vec<usize> {
        self.present.list()
    }

    /// β of every unit present under the last item's model.
    pub fn betas(&self) -> Vec<f64> {
        let mut betas = Vec::new();
        self.by_unit(&self.present(), &mut betas, |columns, sums| {
            self.solver.combined(columns, &self.leverage, Precision::Full, sums);
        });
        betas.iter_mut().for_each(|beta| *beta = -*beta);
        betas
    }

    /// β of a unit under the last item's model.
    pub fn beta(&self, unit: usize) -> f64 {
        let mut betas = Vec::new();
        self.solver.combined(self.columns_of(unit), &self.leverage, Precision::Full, &mut betas);
        -betas.iter().sum::<f64>()
    }

    /// The removable units of the last model in the order in which they would go at once: the survivors of a path.
    pub fn rest(&self) -> Vec<usize> {
        let mut all = self.look(&self.constant, true);
        all.extend(self.look(&self.front.units(), false));
        let count = all.len();
        first_to_go(all, count).into_iter().map(|candidate| candidate.unit).collect()
    }

    fn columns_of(&self, unit: usize) -> &[usize] {
        &self.columns[self.starts[unit]..self.starts[unit + 1]]
    }

    /// The higher that of a unit is, the sooner it goes: β, or −Σ w² for RFE.
    fn urgencies(&self, units: &[usize], how: Precision, urgencies: &mut Vec<f64>) {
        if let Some(frozen) = &self.frozen {
            urgencies.clear();
            urgencies.extend(units.iter().map(|&unit| frozen[unit]));
            return;
        }
        self.by_unit(units, urgencies, |columns, sums| match self.settings.method {
            Method::Rfe => self.solver.squares(columns, how, sums),
            _ => self.solver.combined(columns, &self.leverage, how, sums),
        });
        urgencies.iter_mut().for_each(|urgency| *urgency = -*urgency);
    }

    /// The sums over the columns of units of what a function gives for columns.
    fn by_unit(&self, units: &[usize], sums: &mut Vec<f64>, of_columns: impl Fn(&[usize], &mut Vec<f64>)) {
        if self.units_are_columns {
            return of_columns(units, sums);
        }
        let columns: Vec<usize> = units.iter().flat_map(|&unit| self.columns_of(unit)).copied().collect();
        let mut of_column = Vec::new();
        of_columns(&columns, &mut of_column);
        let mut of_column = of_column.into_iter();
        sums.clear();
        sums.extend(
            units.iter().map(|&unit| of_column.by_ref().take(self.columns_of(unit).len()).sum::<f64>()),
        );
    }

    /// What orders units as their urgency does, nearly, and moves in proportion to the models: of −Σ w², that is the root.
    fn ranks(&self, units: &[usize], ranks: &mut Vec<f64>) {
        self.urgencies(units, Precision::Nearly, ranks);
        if self.settings.method == Method::Rfe {
            ranks.iter_mut().for_each(|rank| *rank = -(-*rank).sqrt());
        }
    }

    /// What is known of some units.
    fn look(&self, units: &[usize], constant: bool) -> Vec<Candidate> {
        let mut urgencies = Vec::new();
        self.urgencies(units, Precision::Full, &mut urgencies);
        let is_square = self.settings.method == Method::Rfe;
        let candidate = |(&unit, urgency): (&usize, f64)| {
            let criterion = if is_square { -urgency } else { urgency };
            Candidate { unit, criterion, urgency, constant }
        };
        units.iter().zip(urgencies).map(candidate).collect()
    }

    /// The units that may go, or at least all that could be among the first `count`.
    fn candidates(&mut self, count: usize) -> Vec<Candidate> {
        let constant = &self.constant[..count.min(self.constant.len())];
        let mut candidates = self.look(constant, true);
        if candidates.len() == count {
            return candidates;
        }
        let count = count - candidates.len();
        let may_move = self.settings.method != Method::Smfs;
        if may_move && !self.solver.is_lazy() {
            candidates.extend(self.look(&self.front.units(), false));
            return candidates;
        }
        let mut front = std::mem::take(&mut self.front);
        if front.is_worn() {
            self.solver.mark(0);
            front.know_all(|units, ranks| self.ranks(units, ranks));
        }
        self.solver.mark(front.begin_pass());
        // What is frozen does not move.
        let drifts = if may_move { self.solver.drifts(front.marks()) } else { [Drift::NONE; MARKS] };
        let found = front.nearest(count, &drifts, |units, ranks| self.ranks(units, ranks));
        candidates.extend(self.look(&found, false));
        self.front = front;
        candidates
    }

    /// Mean β over the units present.
    fn mean_beta(&self) -> f64 {
        let sum: f64 = if self.solver.is_lazy() {
            let decisions = self.solver.decisions(0);
            -(0..self.settings.measure.classes).map(|k| decisions[[k, k]] - self.solver.bias(k)).sum::<f64>()
        } else {
            self.betas().iter().sum()
        };
        sum / self.present.count() as f64
    }

    /// Lets the chosen units go.
    fn remove_pending(&mut self) {
        for unit in std::mem::take(&mut self.pending) {
            self.solver.remove(&self.units[unit].columns);
            self.present.remove(unit);
            self.constant.retain(|&constant| constant != unit);
            self.front.remove(unit);
        }
    }
}

/// By how much a unit's rank (β, or √Σw² for RFE) can move for each step that the models move: Cauchy–Schwarz over the
/// machines, the triangle inequality over the columns.
fn slope(method: Method, problem: &Problem<'_>, leverage: &Array2<f64>, unit: &Unit) -> f64 {
    let lengths = unit.columns.iter().map(|&j| {
        let values = problem.x.row(j);
        (j, values.dot(&values).sqrt())
    });
    let slope = match method {
        Method::Crfe => lengths
            .map(|(j, length)| {
                let own = leverage.column(j);
                // Two classes share one machine, whose weight enters twice.
                length * if own.len() == 2 { own[0].abs() + own[1].abs() } else { own.dot(&own).sqrt() }
            })
            .sum(),
        Method::Rfe => {
            let twice: f64 = if problem.classes == 2 { 2.0 } else { 1.0 };
            lengths.map(|(_, length)| twice.sqrt() * length).sum()
        }
        Method::Smfs => 0.0,
    };
    // The slope itself is rounded.
    slope * (1.0 + 1e-9)
}

impl Iterator for Elimination<'_> {
    type Item = Removal;

    fn next(&mut self) -> Option<Removal> {
        if self.finished {
            return None;
        }
        self.remove_pending();
        let convergence = match self.first.take() {
            Some(first) => self.solver.fit_first(first),
            None => self.solver.fit(),
        };
        if self.settings.method == Method::Smfs && self.frozen.is_none() {
            self.frozen = Some((0..self.units.len()).map(|unit| self.beta(unit)).collect());
        }
        let removable = self.constant.len() + self.front.len();
        let kept = self.present.count() - removable;
        let may_go = self.present.count() - kept.max(1);
        let count = self.settings.step.of(removable).min(may_go);
        let wanted = (count + 1).max(self.ahead);
        let order = first_to_go(self.candidates(wanted), wanted);
        let (going, next) = order.split_at(count);
        self.pending = going.iter().map(|candidate| candidate.unit).collect();
        self.finished = going.is_empty();
        self.t += 1;
        let runner_up = if self.finished { None } else { next.first() };
        Some(Removal {
            t: self.t - 1,
            size: self.present.count(),
            beta_mean: self.mean_beta(),
            removed: self.pending.clone(),
            criterion: going.first().map(|candidate| candidate.criterion),
            runner_up: runner_up.map(|candidate| candidate.unit),
            nearest: order.iter().map(|candidate| candidate.unit).collect(),
            margin: runner_up.zip(going.last()).map(|(next, last)| (next.criterion - last.criterion).abs()),
            convergence,
        })
    }
}

/// A unit that may go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate {
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
