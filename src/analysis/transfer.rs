//! Whether a list transfers: what it achieves on sites that it never saw, and whether its features
//! tell the sites apart (docs/method.md section 16).

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::coverage_bands::{covered_law, expected_words};
use super::tested::agreement_of_lists;
use super::{History, LEVEL, Stability};
use crate::error::printable;
use crate::evaluate::{Interval, Performance, Predicted, predicted, sign_test};
use crate::run::{FoldTest, Kind, Outcome, RunInfo, SiteProbe};
use crate::select::Method;

/// What the procedure achieves on sites that it never saw.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Transfer {
    /// The column of the sites.
    pub column: String,
    /// The sites that were tested, the lowest coverage first.
    pub sites: Vec<SiteTested>,
    /// Sites that can be left out.
    pub of_sites: usize,
    /// How much the lists agree.
    pub stability: Option<Stability>,
    /// The features that every list holds.
    pub in_every_list: Vec<String>,
    /// How well the features of the list tell the sites apart.
    pub probe: Option<ProbeAnswer>,
}

/// One site, tested by the list of the others.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SiteTested {
    pub site: String,
    pub rows: usize,
    /// The list of the other sites, best first; empty if no size was chosen.
    pub features: Vec<String>,
    /// What was measured; none without a list.
    pub measured: Option<SiteMeasured>,
}

/// What was measured on a site.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SiteMeasured {
    /// Share predicted right.
    pub accuracy: Interval,
    /// Share of the site's largest class.
    pub no_information_rate: f64,
    /// Accuracy on the same rows in the nested validation, whose lists saw other rows of the site.
    pub accuracy_within: Option<f64>,
    /// Two-sided p of the sign test between the two accuracies.
    pub p_difference: Option<f64>,
    /// Share of sets that hold the true class.
    pub coverage: Interval,
    /// Where the coverage falls in 95 % of cases if the site is like the others; none where there
    /// is no exact law.
    pub coverage_band: Option<(f64, f64)>,
    /// How likely a coverage this low is if the site is like the others.
    pub p_coverage: Option<f64>,
    /// Mean set size.
    pub set_size: f64,
    /// Whether the coverage is lower than that of a site like the others, at 5 % over all sites.
    pub shifted: bool,
}

/// How well the features of the list tell the sites apart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbeAnswer {
    /// Sites with enough rows.
    pub sites: usize,
    /// Cross-validated share of rows whose site is predicted right.
    pub accuracy: Interval,
    /// Share of the largest site.
    pub no_information_rate: f64,
    /// What the class alone tells: the share of the rows that belong to the largest site of their
    /// class.
    pub class_rate: f64,
    /// Area under the ROC curve, one site against the rest, mean over sites.
    pub auc: Option<f64>,
    /// Whether the features tell the sites apart better than the class does.
    pub tells_apart: bool,
}

impl Transfer {
    /// Reads it off a history; `None` if no site was to be left out.
    pub fn new(history: &History, info: &RunInfo, method: Method) -> Option<Self> {
        let column = info.spec.schema.leave_out.clone().filter(|_| !info.sites.is_empty())?;
        let of_sites = info.sites.iter().filter(|site| site.tested).count();
        let within = right_within(history, method);
        let tests: Vec<(usize, &FoldTest)> = history.tests(Kind::Site, method).collect();
        let mut sites: Vec<SiteTested> = tests
            .iter()
            .map(|&(site, test)| SiteTested {
                site: info.sites[site].name.clone(),
                rows: info.sites[site].rows,
                features: info.names(&test.units),
                measured: SiteMeasured::new(info, test, &within, of_sites),
            })
            .collect();
        let coverage = |site: &SiteTested| {
            site.measured.as_ref().map_or(f64::INFINITY, |own| own.coverage.value)
        };
        sites.sort_by(|a, b| coverage(a).total_cmp(&coverage(b)));
        let tests: Vec<&FoldTest> = tests.into_iter().map(|(_, test)| test).collect();
        let (stability, in_every_list) = agreement_of_lists(info, &tests);
        let probe = history.outcomes(Kind::Probe, method).find_map(|(_, outcome)| match outcome {
            Outcome::Probe(probe) => ProbeAnswer::new(probe),
            _ => None,
        });
        Some(Self { column, sites, of_sites, stability, in_every_list, probe })
    }

    /// What limits the list: sites to which it does not transfer, and features that know the site.
    pub fn cautions(&self) -> Vec<String> {
        let mut cautions = Vec::new();
        for site in &self.sites {
            let Some(own) = site.measured.as_ref().filter(|own| own.shifted) else { continue };
            let expected = expected_words(own.coverage_band, "a site like the others");
            let within = own.accuracy_within.map_or_else(String::new, |within| {
                format!(" ({within:.3} where lists saw rows of this site)")
            });
            cautions.push(format!(
                "the list does not transfer to {} '{}': without it in training, prediction sets cover {:.0} % of its {} rows{expected}; \
                 accuracy {:.3}{within}",
                printable(&self.column),
                printable(&site.site),
                100.0 * own.coverage.value,
                site.rows,
                own.accuracy.value
            ));
        }
        let without = self.sites.iter().filter(|site| site.measured.is_none()).count();
        if without > 0 {
            cautions.push(format!(
                "without {without} of {} sites no size was chosen; their rows are not tested",
                self.of_sites
            ));
        }
        if let Some(probe) = self.probe.as_ref().filter(|probe| probe.tells_apart) {
            cautions.push(format!(
                "the features of the list know the {}: they predict it for {:.0} % of the rows ({:.0} to {:.0} %), the class alone for {:.0} %; \
                 a batch effect may be among them",
                printable(&self.column),
                100.0 * probe.accuracy.value,
                100.0 * probe.accuracy.lo,
                100.0 * probe.accuracy.hi,
                100.0 * probe.class_rate
            ));
        }
        cautions
    }
}

impl SiteMeasured {
    fn new(
        info: &RunInfo,
        test: &FoldTest,
        within: &HashMap<usize, bool>,
        sites: usize,
    ) -> Option<Self> {
        let classes = info.classes.len();
        let epsilon = info.spec.epsilon;
        let seed = info.spec.split.seed;
        let rows: Vec<Predicted<'_>> =
            test.rows.iter().map(|row| Predicted { y: row.y, f: &row.f, p: &row.p }).collect();
        let performance = Performance::new(&rows, &test.groups, classes, epsilon, seed)?;
        let covered = test.rows.iter().filter(|row| row.p[row.y] > epsilon).count();
        let law = covered_law(&info.spec, [(test, None)].into_iter());
        let p_coverage = law.as_ref().map(|law| law.at_most(covered));
        let target = 1.0 - epsilon;
        let (accuracy_within, p_difference) = compared(test, within);
        Some(Self {
            accuracy: performance.accuracy,
            no_information_rate: performance.no_information_rate,
            accuracy_within,
            p_difference,
            coverage: performance.coverage,
            coverage_band: law.map(|law| law.band()),
            p_coverage,
            set_size: performance.set_size.value,
            shifted: p_coverage
                .map_or(performance.coverage.hi < target, |p| p <= LEVEL / sites.max(1) as f64),
        })
    }
}

/// For each row of the nested validation whether it was predicted right.
fn right_within(history: &History, method: Method) -> HashMap<usize, bool> {
    let folds = history.tests(Kind::Fold, method).map(|(_, fold)| fold);
    folds.flat_map(|fold| &fold.rows).map(|row| (row.row, predicted(&row.f) == row.y)).collect()
}

/// The accuracy of the validation on the rows of a site, and the p of its difference: by rows, or
/// by groups where there are any.
fn compared(test: &FoldTest, within: &HashMap<usize, bool>) -> (Option<f64>, Option<f64>) {
    let mut differences: BTreeMap<usize, i64> = BTreeMap::new();
    let (mut rows, mut right) = (0, 0);
    for (i, row) in test.rows.iter().enumerate() {
        let Some(&before) = within.get(&row.row) else { continue };
        (rows, right) = (rows + 1, right + usize::from(before));
        let own = i64::from(predicted(&row.f) == row.y) - i64::from(before);
        *differences.entry(test.groups.get(i).copied().unwrap_or(i)).or_default() += own;
    }
    let better = differences.values().filter(|&&difference| difference > 0).count();
    let worse = differences.values().filter(|&&difference| difference < 0).count();
    if rows == 0 {
        return (None, None);
    }
    (Some(right as f64 / rows as f64), Some(sign_test(better, worse)))
}

impl ProbeAnswer {
    fn new(probe: &SiteProbe) -> Option<Self> {
        if probe.sites < 2 || probe.units.is_empty() {
            return None;
        }
        let accuracy = Interval::share(probe.right, probe.rows)?;
        let class_rate = probe.by_class as f64 / probe.rows as f64;
        Some(Self {
            sites: probe.sites,
            accuracy,
            no_information_rate: probe.largest as f64 / probe.rows as f64,
            class_rate,
            auc: probe.auc,
            tells_apart: accuracy.lo > class_rate,
        })
    }
}
