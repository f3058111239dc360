//! Seeded stratified splits: which rows train, select, calibrate and test. Knows classes and
//! groups, never features.

use std::cmp::Reverse;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::Dataset;
use super::seed::{Purpose, Rng};
use super::source::hexadecimal;
use crate::error::{Error, Result};

mod given;
mod grouped;
mod nested;

pub use nested::{OuterFold, RESERVE, outer_folds, site_fold, stratified_folds};

/// Whether β and the p-values look at the same rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Calibration {
    /// Calibration rows are halved: selection rows for β, conformal rows for p-values. Coverage is
    /// guaranteed.
    #[default]
    Strict,
    /// All calibration rows for both, as in the paper. The guarantee is void.
    Shared,
}

impl Calibration {
    /// The names of the disjoint parts; each needs a row of every class.
    fn parts(self) -> &'static [&'static str] {
        match self {
            Self::Strict => &["training", "selection", "conformal", "test"],
            Self::Shared => &["training", "calibration", "test"],
        }
    }
}

impl FromStr for Calibration {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "strict" => Ok(Self::Strict),
            "shared" => Ok(Self::Shared),
            _ => Err("write strict or shared".into()),
        }
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Strict => "strict",
            Self::Shared => "shared",
        })
    }
}

/// The most splits that a run may have.
pub const MOST_SPLITS: usize = 1_000_000;

/// How to split.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitOptions {
    /// How many splits.
    pub splits: usize,
    /// The seed of all.
    pub seed: u64,
    /// Share of test rows.
    pub test_size: f64,
    /// Share of calibration rows among the others.
    pub cal_size: f64,
    /// Strict or shared.
    pub calibration: Calibration,
    /// The user's own splits.
    pub splits_from: Option<PathBuf>,
    /// Share of the rows that is set aside before anything, to calibrate a model of the list.
    pub reserve: Option<f64>,
}

impl Default for SplitOptions {
    fn default() -> Self {
        let (test_size, cal_size) = (0.25, 0.5);
        Self {
            splits: 20,
            seed: 0,
            test_size,
            cal_size,
            calibration: Calibration::Strict,
            splits_from: None,
            reserve: None,
        }
    }
}

impl SplitOptions {
    /// Refuses numbers out of range; the number of splits does not matter if a file defines them.
    pub fn check(&self) -> Result<()> {
        let reserve = self.reserve.map(|size| ("--reserve", size));
        let sizes = [("--test-size", self.test_size), ("--cal-size", self.cal_size)];
        for (flag, size) in sizes.into_iter().chain(reserve) {
            if !(size > 0.0 && size < 1.0) {
                return Err(Error::usage(format!("{flag} {size} is out of range"))
                    .remedy("give a share between 0 and 1")
                    .option(flag));
            }
        }
        if self.splits_from.is_some() {
            if reserve.is_some() {
                return Err(Error::usage("--reserve and --splits-from cannot be combined")
                    .remedy("leave rows out of your own splits, or let them be drawn")
                    .option("--reserve"));
            }
            return Ok(());
        }
        if self.splits == 0 {
            return Err(Error::usage("--splits 0 leaves nothing to run")
                .remedy("give at least 1")
                .option("--splits"));
        }
        if self.splits > MOST_SPLITS {
            return Err(Error::usage(format!("--splits {} is too many", self.splits))
                .remedy(format!("give at most {MOST_SPLITS}"))
                .option("--splits"));
        }
        Ok(())
    }

    fn rng(&self, index: usize) -> Rng {
        Rng::new(self.seed, index as u64, Purpose::Split)
    }
}

/// The rows of each part, ascending, as positions in the dataset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// Models are fitted on these.
    pub train: Vec<usize>,
    /// β is computed on these.
    pub selection: Vec<usize>,
    /// p-values are computed on these; the same as `selection` when shared.
    pub conformal: Vec<usize>,
    /// Metrics are computed on these.
    pub test: Vec<usize>,
}

/// SHA-256 of all rows of all parts, hexadecimal.
fn digest(splits: &[Split]) -> String {
    let mut hash = Sha256::new();
    for Split { train, selection, conformal, test } in splits {
        for part in [train, selection, conformal, test] {
            hash.update((part.len() as u64).to_le_bytes());
            part.iter().for_each(|&row| hash.update((row as u64).to_le_bytes()));
        }
    }
    hexadecimal(&hash.finalize())
}

/// Makes any split of a dataset on demand; construction checks that every split can be made.
#[derive(Debug, Clone)]
pub struct Splits {
    options: SplitOptions,
    given: Option<Vec<Split>>,
    sha256: Option<String>,
    pool: Option<Pool>,
}

/// The rows that are split when some are set aside.
#[derive(Debug, Clone)]
struct Pool {
    reserve: Vec<usize>,
    rest: Vec<usize>,
    /// The labels of the remaining rows only: drawing splits sees nothing else.
    labels: Dataset,
}

impl Splits {
    /// Checks the options against the data (class sizes, the user's file) once.
    pub fn new(data: &Dataset, options: &SplitOptions) -> Result<Self> {
        options.check()?;
        let given = match &options.splits_from {
            Some(path) => Some(given::read(path, data, options)?),
            None => {
                check_class_sizes(data, options.calibration)?;
                None
            }
        };
        let sha256 = given.as_deref().map(digest);
        let pool = options.reserve.map(|share| Pool::new(data, share, options)).transpose()?;
        let splits = Self { options: options.clone(), given, sha256, pool };
        if splits.given.is_none() && data.groups.is_some() {
            for index in 0..splits.count() {
                splits.split(data, index)?;
            }
        }
        Ok(splits)
    }

    /// How many there are: those of the user's file, or as many as were asked for.
    pub fn count(&self) -> usize {
        self.given.as_ref().map_or(self.options.splits, Vec::len)
    }

    /// SHA-256 of the user's own splits, if there are any.
    pub fn sha256(&self) -> Option<&str> {
        self.sha256.as_deref()
    }

    /// The rows that were set aside before anything, ascending.
    pub fn reserve(&self) -> Option<&[usize]> {
        self.pool.as_ref().map(|pool| &*pool.reserve)
    }

    /// The rows that are split: all that were not set aside, ascending.
    pub fn rest(&self, data: &Dataset) -> Vec<usize> {
        self.pool.as_ref().map_or_else(|| (0..data.y.len()).collect(), |pool| pool.rest.clone())
    }

    /// Split `index`; depends on (seed, index) and the data alone.
    pub fn split(&self, data: &Dataset, index: usize) -> Result<Split> {
        let Some(Pool { rest, labels, .. }) = &self.pool else { return self.draw(data, index) };
        let Split { train, selection, conformal, test } = self.draw(labels, index)?;
        let of_dataset = |part: Vec<usize>| part.into_iter().map(|i| rest[i]).collect();
        let [train, selection, conformal, test] =
            [train, selection, conformal, test].map(of_dataset);
        Ok(Split { train, selection, conformal, test })
    }

    fn draw(&self, data: &Dataset, index: usize) -> Result<Split> {
        match (&self.given, &data.groups) {
            (Some(given), _) => given.get(index).cloned().ok_or_else(|| {
                Error::internal(format!(
                    "split {index} was asked for, and there are {}",
                    given.len()
                ))
            }),
            (None, Some(groups)) => grouped::split(data, groups, &self.options, index),
            (None, None) => Ok(stratified(data, &self.options, index)),
        }
    }
}

impl Pool {
    fn new(data: &Dataset, share: f64, options: &SplitOptions) -> Result<Self> {
        let (reserve, rest) = nested::reserve(data, share, options.seed, options.calibration)?;
        let labels = data.labels_of(&rest, &data.y);
        Ok(Self { reserve, rest, labels })
    }
}

/// Every part needs a row of every class.
fn check_class_sizes(data: &Dataset, calibration: Calibration) -> Result<()> {
    let parts = calibration.parts();
    let mut counts = vec![0; data.classes.len()];
    for &class in &data.y {
        counts[class] += 1;
    }
    let small: Vec<(&String, usize)> =
        data.classes.iter().zip(counts).filter(|&(_, count)| count < parts.len()).collect();
    let Some(smallest) = small.iter().map(|&(_, count)| count).min() else { return Ok(()) };

    let mut named: Vec<String> = small
        .iter()
        .take(5)
        .map(|(class, count)| format!("'{class}' has {}", rows(*count)))
        .collect();
    if small.len() > named.len() {
        named.push(match small.len() - named.len() {
            1 => "1 more class is as small".to_owned(),
            more => format!("{more} more classes are as small"),
        });
    }
    let remedy = format!(
        "leave small classes out with --rare drop:{0}, or merge them with --rare merge:{0}:other",
        parts.len()
    );
    let shared = Calibration::Shared.parts().len();
    let helps = calibration == Calibration::Strict && smallest >= shared;
    let what = format!(
        "class {}, and at least {} are needed: one in each of {}",
        named.join(", "),
        parts.len(),
        listed(parts)
    );
    Err(Error::data(what).file(&data.name).column(&data.target).remedy(if helps {
        format!(
            "{remedy}, or use --calibration shared, which needs {shared} and voids the guarantee"
        )
    } else {
        remedy
    }).option("--rare"))
}

fn rows(count: usize) -> String {
    if count == 1 { "1 row".into() } else { format!("{count} rows") }
}

/// "a, b and c".
fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).into(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Test rows are drawn first, calibration rows from the rest, as two calls of scikit-learn's
/// `train_test_split`.
fn stratified(data: &Dataset, options: &SplitOptions, index: usize) -> Split {
    let mut rng = options.rng(index);
    let n = data.y.len();
    let mut strata = Strata::new(data, 0..n, &mut rng);
    // How many rows of a class the calibration rows need: one for each of their parts.
    let needed = options.calibration.parts().len() - 2;
    let test = strata.take(share(n, options.test_size), 1, needed + 1, &mut rng);
    let calibration = strata.take(share(n - test.len(), options.cal_size), needed, 1, &mut rng);
    let train = strata.rest();
    let (selection, conformal) = match options.calibration {
        Calibration::Strict => halve(data, calibration, &mut rng),
        Calibration::Shared => (calibration.clone(), calibration),
    };
    Split { train, selection, conformal, test }
}

/// ⌈n·size⌉, robust against products such as 100·0.07 = 7.000000000000001.
fn share(n: usize, size: f64) -> usize {
    (n as f64 * size - 1e-9).ceil() as usize
}

/// Selection and conformal rows: halves of each class, the odd row and a single row of a class to
/// the second.
fn halve(data: &Dataset, calibration: Vec<usize>, rng: &mut Rng) -> (Vec<usize>, Vec<usize>) {
    let half = calibration.len() / 2;
    let mut strata = Strata::new(data, calibration, rng);
    let selection = strata.take(half, 1, 1, rng);
    (selection, strata.rest())
}

/// Rows still to be dealt out, by class, shuffled.
struct Strata(Vec<Vec<usize>>);

impl Strata {
    fn new(data: &Dataset, rows: impl IntoIterator<Item = usize>, rng: &mut Rng) -> Self {
        let mut strata = vec![Vec::new(); data.classes.len()];
        for row in rows {
            strata[data.y[row]].push(row);
        }
        strata.iter_mut().for_each(|rows| rng.shuffle(rows));
        Self(strata)
    }

    /// Takes about `total` rows, apportioned to the classes by largest remainder, equal remainders
    /// in random order; of each class at least `at_least` and never the last `leave`.
    fn take(&mut self, total: usize, at_least: usize, leave: usize, rng: &mut Rng) -> Vec<usize> {
        let n: usize = self.0.iter().map(Vec::len).sum();
        let n = n.max(1);
        let mut quotas: Vec<usize> = self.0.iter().map(|rows| total * rows.len() / n).collect();
        let mut order: Vec<usize> = (0..quotas.len()).collect();
        rng.shuffle(&mut order);
        order.sort_by_key(|&class| Reverse(total * self.0[class].len() % n));
        let left = total - quotas.iter().sum::<usize>();
        order.iter().take(left).for_each(|&class| quotas[class] += 1);

        let mut taken = Vec::with_capacity(total);
        for (rows, quota) in self.0.iter_mut().zip(quotas) {
            let quota = quota.max(at_least).min(rows.len().saturating_sub(leave));
            taken.extend(rows.split_off(rows.len() - quota));
        }
        taken.sort_unstable();
        taken
    }

    fn rest(self) -> Vec<usize> {
        let mut rows = self.0.concat();
        rows.sort_unstable();
        rows
    }
}

#[cfg(test)]
mod tests {
    use crate::data::seed::Rng;
    use ndarray::Array2;
    use proptest::prelude::*;

    use super::*;
    use crate::data::Audit;

    /// A dataset with this many rows of each class, dealt out in turn.
    pub(super) fn dataset(sizes: &[usize]) -> Dataset {
        let mut y: Vec<usize> =
            sizes.iter().enumerate().flat_map(|(class, &size)| vec![class; size]).collect();
        Rng::new(99, 0, Purpose::Folds).shuffle(&mut y);
        Dataset {
            name: "toy.csv".into(),
            sha256: String::new(),
            x: Array2::zeros((1, y.len())),
            columns: vec!["x".into()],
            variables: vec![0],
            encodings: Vec::new(),
            units: Vec::new(),
            target: "class".into(),
            classes: (0..sizes.len()).map(|class| format!("c{class}")).collect(),
            rows: (0..y.len()).collect(),
            file_rows: y.len(),
            y,
            ids: None,
            id_column: None,
            groups: None,
            design: Default::default(),
            dropped: Vec::new(),
            audit: Audit::default(),
            layout: None,
        }
    }

    pub(super) fn options(calibration: Calibration) -> SplitOptions {
        SplitOptions { calibration, ..SplitOptions::default() }
    }

    /// The disjoint parts.
    pub(super) fn parts(split: &Split, calibration: Calibration) -> Vec<&Vec<usize>> {
        let mut parts = vec![&split.train, &split.selection, &split.conformal, &split.test];
        if calibration == Calibration::Shared {
            assert_eq!(split.selection, split.conformal);
            parts.remove(2);
        }
        parts
    }

    pub(super) fn assert_partition(split: &Split, data: &Dataset, calibration: Calibration) {
        let mut all: Vec<usize> = Vec::new();
        for part in parts(split, calibration) {
            assert!(part.is_sorted());
            for class in 0..data.classes.len() {
                assert!(part.iter().any(|&row| data.y[row] == class), "class {class} is absent");
            }
            all.extend(part);
        }
        all.sort_unstable();
        assert_eq!(all, (0..data.y.len()).collect::<Vec<_>>());
    }

    fn message(sizes: &[usize], calibration: Calibration) -> String {
        Splits::new(&dataset(sizes), &options(calibration)).unwrap_err().to_string()
    }

    proptest! {
        #[test]
        fn every_split_is_a_partition_with_every_class_in_every_part(
            sizes in prop::collection::vec(4_usize..60, 2..6),
            seed: u64,
            test_size in 0.05..0.9,
            cal_size in 0.05..0.9,
        ) {
            let data = dataset(&sizes);
            for calibration in [Calibration::Strict, Calibration::Shared] {
                let options = SplitOptions { seed, test_size, cal_size, ..options(calibration) };
                let split = Splits::new(&data, &options).unwrap().split(&data, 3).unwrap();
                assert_partition(&split, &data, calibration);
            }
        }
    }

    #[test]
    fn has_the_shapes_of_two_stratified_halvings() {
        let sizes = [48, 71, 48, 20, 111, 60];
        let data = dataset(&sizes);
        let shape = |split: &Split, calibration| -> Vec<usize> {
            parts(split, calibration).iter().map(|part| part.len()).collect()
        };
        for index in 0..20 {
            let made = |calibration| {
                Splits::new(&data, &options(calibration)).unwrap().split(&data, index).unwrap()
            };
            let shared = made(Calibration::Shared);
            assert_eq!(shape(&shared, Calibration::Shared), [134, 134, 90]);
            let strict = made(Calibration::Strict);
            assert_eq!(shape(&strict, Calibration::Strict), [134, 67, 67, 90]);
            assert_eq!(strict.test, shared.test, "the mode does not move test rows");
            for (part, size) in
                parts(&strict, Calibration::Strict).into_iter().zip([0.375, 0.1875, 0.1875, 0.25])
            {
                for (class, &total) in sizes.iter().enumerate() {
                    let count = part.iter().filter(|&&row| data.y[row] == class).count() as f64;
                    assert!(
                        (count - total as f64 * size).abs() <= 2.0,
                        "class {class}: {count} of {total}"
                    );
                }
            }
        }
    }

    #[test]
    fn depends_on_seed_and_index_alone() {
        let data = dataset(&[30, 40]);
        let split = |splits, seed, index| {
            let options = SplitOptions { splits, seed, ..SplitOptions::default() };
            Splits::new(&data, &options).unwrap().split(&data, index).unwrap()
        };
        assert_eq!(split(5, 1, 3), split(50, 1, 3));
        assert_ne!(split(5, 1, 3), split(5, 2, 3));
        assert_ne!(split(5, 1, 3), split(5, 1, 4));
    }

    #[test]
    fn every_row_is_tested_now_and_then() {
        let data = dataset(&[20, 60]);
        let splits = Splits::new(&data, &SplitOptions::default()).unwrap();
        let mut tested = [0; 80];
        for index in 0..400 {
            splits.split(&data, index).unwrap().test.iter().for_each(|&row| tested[row] += 1);
        }
        // Binomial(400, 1/4): sd 8.7, so 5 sd.
        assert!(tested.iter().all(|count| (57..=143).contains(count)), "{tested:?}");
    }

    #[test]
    fn names_small_classes_and_the_remedy() {
        assert_eq!(
            message(&[30, 3], Calibration::Strict),
            "toy.csv, column 'class': class 'c1' has 3 rows, and at least 4 are needed: one in each of training, \
             selection, conformal and test; leave small classes out with --rare drop:4, or merge them with \
             --rare merge:4:other, or use --calibration shared, which needs 3 and voids the guarantee"
        );
        let shared = message(&[30, 1, 2], Calibration::Shared);
        assert!(shared.contains("'c1' has 1 row, 'c2' has 2 rows, and at least 3"), "{shared}");
        assert!(!shared.contains("--calibration"), "{shared}");
        let many = message(&[30, 1, 1, 1, 1, 1, 1, 1], Calibration::Strict);
        assert!(
            many.contains("'c5' has 1 row, 2 more classes are as small") && !many.contains("'c6'"),
            "{many}"
        );
        assert!(!many.contains("--calibration"), "{many}");
    }

    #[test]
    fn refuses_impossible_options() {
        let data = dataset(&[30, 30]);
        let base = SplitOptions::default();
        for (options, flag) in [
            (SplitOptions { splits: 0, ..base.clone() }, "--splits"),
            (SplitOptions { test_size: 1.0, ..base.clone() }, "--test-size"),
            (SplitOptions { cal_size: f64::NAN, ..base }, "--cal-size"),
        ] {
            let error = Splits::new(&data, &options).unwrap_err();
            assert!(error.exit_code() == 2 && error.to_string().starts_with(flag), "{error}");
        }
        // A file has splits of its own, however many are asked for.
        let given = SplitOptions {
            splits: 0,
            splits_from: Some("splits.json".into()),
            ..SplitOptions::default()
        };
        given.check().unwrap();
    }

    #[test]
    fn words_survive_a_round_trip() {
        for text in ["strict", "shared"] {
            assert_eq!(text.parse::<Calibration>().unwrap().to_string(), text);
        }
        assert!("loose".parse::<Calibration>().is_err());
    }
}
