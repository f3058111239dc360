//! Sites, batches or years: the procedure without one of them, tested on it (docs/method.md
//! section 16).

use serde::{Deserialize, Serialize};

use super::Plan;
use super::followup::{FollowupKind, Outcome};
use super::validation::{FOLD, choice_of_list, inner_seed, test_rows};
use crate::data::seed::Purpose;
use crate::data::{OuterFold, site_fold};
use crate::error::Result;

/// A level of the site column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteInfo {
    pub name: String,
    pub rows: usize,
    /// Whether it can be left out: the other rows are enough for the procedure.
    pub tested: bool,
}

/// A column of subgroups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubgroupInfo {
    /// Its name.
    pub column: String,
    pub levels: Vec<String>,
}

/// The whole procedure without the rows of a site, tested on them.
pub(super) const SITE: FollowupKind = FollowupKind {
    name: "site",
    counted: "sites",
    words: |method, index| format!("{method} without site {}", index + 1),
    count: |info| info.sites.len(),
    is_skipped: |info, index| !info.sites[index].tested,
    // The columns of sites and subgroups are among the settings of the paths.
    determined_by: choice_of_list,
    run: |work, go_on| {
        let (rows, seed) = site(work.plan, work.index)?;
        Ok(test_rows(work.plan, work.method, &rows, seed, go_on)?.map(Outcome::Fold))
    },
    ..FOLD
};

/// The rows of a site, and the seed of the splits without them.
fn site(plan: &Plan, index: usize) -> Result<(OuterFold, u64)> {
    let split = &plan.info.spec.split;
    let seed = inner_seed(split.seed, index, Purpose::Site);
    Ok((site_fold(&plan.data, index, split)?, seed))
}

#[cfg(test)]
pub(super) mod tests {
    use ndarray::Array2;

    use super::*;
    use crate::data::seed::Rng;
    use crate::data::{Dataset, Design, Factor};
    use crate::run::{FoldTest, RunOptions};
    use crate::select::Method;

    pub const ROWS: usize = 120;

    pub fn table(seed: u64) -> Array2<f64> {
        let mut rng = Rng::new(seed, 0, Purpose::Split);
        Array2::from_shape_fn((ROWS, 6), |(row, j)| {
            rng.uniform() + if j < 2 { 0.4 * (row % 2) as f64 } else { 0.0 }
        })
    }

    /// Three sites; with groups, rows come in pairs, of which some are in two sites.
    pub fn plan(x: &Array2<f64>, grouped: bool) -> Plan {
        let labels: Vec<&str> = (0..ROWS).map(|row| ["a", "b"][row % 2]).collect();
        let mut data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
        let levels = ["A", "B", "C"].map(str::to_owned).to_vec();
        let of_row = (0..ROWS).map(|row| (row % 10 != 9).then_some(row / 3 % 3)).collect();
        data.design = Design {
            sites: Some(Factor { column: "site".into(), levels, of_row }),
            ..Design::default()
        };
        data.groups = grouped.then(|| (0..ROWS).map(|row| row / 2).collect());
        let mut options = RunOptions { methods: vec![Method::Crfe], ..RunOptions::default() };
        options.schema.leave_out = Some("site".into());
        options.stop = crate::select::StopRule::Knee;
        options.split.splits = 3;
        Plan::new(options.check().unwrap(), data).unwrap()
    }

    #[test]
    fn rows_of_a_site_reach_neither_its_list_nor_its_model_nor_its_calibration() {
        for grouped in [false, true] {
            let mut x = table(1);
            let before = plan(&x, grouped);
            let (fold, seed) = site(&before, 1).unwrap();
            let tested = |plan: &Plan| {
                let (rows, seed) = site(plan, 1).unwrap();
                test_rows(plan, Method::Crfe, &rows, seed, &mut || true).unwrap().unwrap()
            };
            let first = tested(&before);
            assert!(!first.units.is_empty());
            // Every third triple of rows, except those without a site.
            assert!(
                fold.test.iter().all(|row| row / 3 % 3 == 1 && row % 10 != 9)
                    && fold.test.len() > 30
            );
            let parts = [&fold.test, &fold.reserve, &fold.rest];
            let used: usize = parts.iter().map(|part| part.len()).sum();
            let mut all = parts.map(Clone::clone).concat();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), used, "the parts are disjoint");
            if grouped {
                let of = |rows: &[usize]| {
                    rows.iter().map(|row| row / 2).collect::<std::collections::BTreeSet<_>>()
                };
                assert!(
                    of(&fold.test).is_disjoint(&of(&fold.reserve))
                        && of(&fold.test).is_disjoint(&of(&fold.rest))
                );
            } else {
                assert_eq!(used, ROWS);
            }
            let (same, others) = fold.test.split_at(3);
            for &row in others {
                x.row_mut(row).fill(100.0 + row as f64);
            }
            let mut after = plan(&x, grouped);
            let labels = &mut std::sync::Arc::make_mut(&mut after.data).y;
            fold.test.iter().for_each(|&row| labels[row] = 1 - labels[row]);
            let second =
                test_rows(&after, Method::Crfe, &fold, seed, &mut || true).unwrap().unwrap();
            assert_eq!(
                (first.size, &first.units, &first.conformal),
                (second.size, &second.units, &second.conformal)
            );
            let bits = |test: &FoldTest, rows: &[usize]| -> Vec<u64> {
                let of_rows = test.rows.iter().filter(|tested| rows.contains(&tested.row));
                of_rows
                    .flat_map(|tested| {
                        tested.f.iter().chain(&tested.p).map(|value| value.to_bits())
                    })
                    .collect()
            };
            assert_eq!(bits(&first, same), bits(&second, same));
            assert_ne!(
                bits(&first, others),
                bits(&second, others),
                "the other rows were really changed"
            );
            // The counterpart: rows of the other sites do matter.
            let mut changed = table(1);
            fold.rest
                .iter()
                .for_each(|&row| changed.row_mut(row).mapv_inplace(|value| value * value));
            let third = tested(&plan(&changed, grouped));
            assert_ne!(bits(&first, same), bits(&third, same));
        }
    }
}
