//! Coverage by subgroup, and drift of p-values over time, on the rows of the nested validation
//! (docs/method.md section 16).

use std::collections::BTreeMap;

use serde::Serialize;

use super::coverage_bands::{covered_law, expected_words};
use super::{History, LEVEL};
use crate::error::printable;
use crate::evaluate::{Interval, Timed, Trend};
use crate::run::{FoldTest, Kind, RunInfo, TestedRow};
use crate::select::Method;

/// Drift is a caution below this p: the check runs on every table, so it must be rarer than one in
/// twenty.
pub const DRIFT_LEVEL: f64 = 0.01;

/// The coverage of one level of a column.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SubgroupCoverage {
    pub column: String,
    pub level: String,
    /// Its validated rows.
    pub rows: usize,
    /// Share of them whose set holds their class, with Wilson's interval.
    pub coverage: Interval,
    /// Where it falls in 95 % of cases if the subgroup is like all rows; none where there is no
    /// exact law.
    pub coverage_band: Option<(f64, f64)>,
    /// How likely a coverage this low is if the subgroup is like all rows.
    pub p_coverage: Option<f64>,
    /// Mean set size.
    pub set_size: f64,
    /// Whether the coverage is lower than that of a subgroup like all rows, at 5 % over all
    /// subgroups.
    pub below: bool,
}

/// Whether p-values of validated rows drift.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Drift {
    /// The column of times; none for the order of the file.
    pub column: Option<String>,
    /// The trend of the p-values of the true class within classes.
    pub trend: Trend,
    /// Whether p is below 0.01.
    pub drifts: bool,
}

fn folds(history: &History, method: Method) -> Vec<&FoldTest> {
    history.tests(Kind::Fold, method).map(|(_, fold)| fold).collect()
}

impl SubgroupCoverage {
    /// All subgroups of a method, the lowest coverage first.
    pub fn all(history: &History, info: &RunInfo, method: Method) -> Vec<Self> {
        let folds = folds(history, method);
        let count: usize = info.subgroups.iter().map(|column| column.levels.len()).sum();
        let mut found: Vec<Self> = Vec::new();
        for (place, column) in info.subgroups.iter().enumerate() {
            let levels = 0..column.levels.len();
            found.extend(levels.filter_map(|level| Self::new(info, &folds, (place, level), count)));
        }
        found.sort_by(|a, b| a.coverage.value.total_cmp(&b.coverage.value));
        found
    }

    fn new(
        info: &RunInfo,
        folds: &[&FoldTest],
        (place, level): (usize, usize),
        count: usize,
    ) -> Option<Self> {
        let epsilon = info.spec.epsilon;
        let of_level = folds.iter().flat_map(|fold| {
            let rows = fold.rows.iter().enumerate();
            rows.filter(|(i, _)| fold.has_level(*i, (place, level))).map(|(_, row)| row)
        });
        let rows: Vec<&TestedRow> = of_level.collect();
        let covered = rows.iter().filter(|row| row.p[row.y] > epsilon).count();
        let coverage = Interval::share(covered, rows.len())?;
        let law = covered_law(&info.spec, folds.iter().map(|fold| (*fold, Some((place, level)))));
        let p_coverage = law.as_ref().map(|law| law.at_most(covered));
        let in_sets: usize =
            rows.iter().map(|row| row.p.iter().filter(|&&p| p > epsilon).count()).sum();
        let column = &info.subgroups[place];
        Some(Self {
            column: column.column.clone(),
            level: column.levels[level].clone(),
            rows: rows.len(),
            coverage,
            coverage_band: law.map(|law| law.band()),
            p_coverage,
            set_size: in_sets as f64 / rows.len() as f64,
            below: p_coverage
                .map_or(coverage.hi < 1.0 - epsilon, |p| p <= LEVEL / count.max(1) as f64),
        })
    }

    /// The caution about a subgroup with low coverage.
    pub fn caution(&self) -> Option<String> {
        let expected = expected_words(self.coverage_band, "a subgroup like all rows");
        self.below.then(|| {
            format!(
                "prediction sets cover {:.0} % of the {} validated rows with {} '{}'{expected}: the guarantee holds over all rows, not in every subgroup",
                100.0 * self.coverage.value,
                self.rows,
                printable(&self.column),
                printable(&self.level)
            )
        })
    }
}

impl Drift {
    /// Reads it off the folds of a method; `None` where nothing can be tested.
    pub fn new(history: &History, info: &RunInfo, method: Method) -> Option<Self> {
        let column = info.spec.schema.time_col.clone();
        // Rows of a group are alike: a group counts once, with the mean of its p-values and the
        // mean of its times.
        let mut units: BTreeMap<(bool, usize), (usize, f64, f64, usize)> = BTreeMap::new();
        for fold in folds(history, method) {
            for (i, row) in fold.rows.iter().enumerate() {
                let time = if column.is_some() {
                    fold.times.get(i).copied().flatten()
                } else {
                    Some(row.row as f64)
                };
                let Some(time) = time else { continue };
                let unit = fold.groups.get(i).map_or((false, row.row), |&group| (true, group));
                let (stratum, value, sum, count) =
                    units.entry(unit).or_insert((row.y, 0.0, 0.0, 0));
                *stratum = row.y.min(*stratum);
                (*value, *sum, *count) = (*value + row.p[row.y], *sum + time, *count + 1);
            }
        }
        let timed = |&(stratum, value, time, count): &(usize, f64, f64, usize)| Timed {
            value: value / count as f64,
            time: time / count as f64,
            stratum,
        };
        let series: Vec<Timed> = units.values().map(timed).collect();
        let trend = Trend::new(&series, info.spec.split.seed)?;
        Some(Self { column, trend, drifts: trend.p <= DRIFT_LEVEL })
    }

    /// The caution about p-values that drift.
    pub fn caution(&self) -> Option<String> {
        let over = self.column.as_ref().map_or_else(
            || "the order of the file".to_owned(),
            |column| format!("'{}'", printable(column)),
        );
        self.drifts.then(|| {
            format!(
                "validated p-values drift over {over} (rank correlation {} within classes, {}): rows are not exchangeable, \
                 and later rows may be covered less or more often than promised",
                super::two_decimals(self.trend.rho),
                super::p_words(self.trend.p)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caution_about_drift_shows_a_small_p_as_small() {
        let trend = Trend { n: 5000, rho: -0.2, p: 0.0001, permutations: 9999 };
        let caution = Drift { column: None, trend, drifts: true }.caution().unwrap();
        assert!(
            caution.contains("(rank correlation −0.20 within classes, p < 0.001)"),
            "{caution}"
        );
    }
}
