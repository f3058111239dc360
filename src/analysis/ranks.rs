//! Ranks over splits: mean rank and the order by it, and in how many splits a feature survives to a
//! size.

use super::Paths;
use crate::data::Unit;
use crate::evaluate::Ranks;

/// The ranks of the finished splits of one method. Making it copies nothing; what looks at every
/// unit says so.
#[derive(Debug, Clone)]
pub struct RankTable<'a> {
    units: &'a [Unit],
    kept: usize,
    splits: Vec<&'a Ranks>,
}

impl<'a> RankTable<'a> {
    /// The ranks of these paths.
    pub fn new(paths: &Paths<'a>) -> Self {
        let info = paths.info;
        let splits = paths.traces().map(|trace| trace.ranks()).collect();
        Self { units: &info.units, kept: info.kept(), splits }
    }

    /// The ranks by unit, split by split: 1 is the last survivor, kept units have none.
    pub fn splits(&self) -> &[&'a Ranks] {
        &self.splits
    }

    /// Whether a unit is in the subset of this size of a split; a kept unit is in every one.
    pub fn survives(&self, split: usize, unit: usize, size: usize) -> bool {
        self.splits[split][unit].is_none_or(|rank| rank as usize + self.kept <= size)
    }

    /// In how many splits a unit survives to a size.
    pub fn count(&self, unit: usize, size: usize) -> usize {
        (0..self.splits.len()).filter(|&split| self.survives(split, unit, size)).count()
    }

    /// The same as a share of the splits.
    pub fn frequency(&self, unit: usize, size: usize) -> f64 {
        self.count(unit, size) as f64 / self.splits.len() as f64
    }

    /// The units of a split's subset of a size, ascending, kept ones included.
    pub fn subset(&self, split: usize, size: usize) -> Vec<usize> {
        (0..self.units.len()).filter(|&unit| self.survives(split, unit, size)).collect()
    }

    /// The ranks of a unit, split by split; a kept unit has none.
    pub fn of_unit(&self, unit: usize) -> impl Iterator<Item = usize> {
        self.splits.iter().filter_map(move |ranks| ranks[unit]).map(|rank| rank as usize)
    }

    /// The sizes from which on a unit survives, one per split, ascending.
    pub fn thresholds(&self, unit: usize) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.of_unit(unit).map(|rank| rank + self.kept).collect();
        sizes.sort_unstable();
        sizes
    }

    /// Mean ranks and the order by them. Looks at every unit of every split.
    pub fn means(&self) -> MeanRanks {
        let mut sums = vec![0_u64; self.units.len()];
        for ranks in &self.splits {
            sums.iter_mut()
                .zip(*ranks)
                .for_each(|(sum, rank)| *sum += u64::from(rank.unwrap_or(0)));
        }
        let splits = self.splits.len();
        let mean = |unit: usize| {
            (splits > 0 && !self.units[unit].kept).then(|| sums[unit] as f64 / splits as f64)
        };
        let (kept, mut order): (Vec<usize>, Vec<usize>) =
            (0..self.units.len()).partition(|&unit| self.units[unit].kept);
        order.sort_by_key(|&unit| (sums[unit], unit));
        MeanRanks { mean: (0..self.units.len()).map(mean).collect(), order, kept }
    }
}

/// Mean ranks over splits.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeanRanks {
    /// By unit; none without a finished split or for a kept unit.
    pub mean: Vec<Option<f64>>,
    /// The removable units, the best mean rank first; ties in the order of the columns.
    pub order: Vec<usize>,
    /// The kept units.
    pub kept: Vec<usize>,
}

impl MeanRanks {
    /// All units, the kept ones first: they are in every model.
    pub fn all(&self) -> Vec<usize> {
        self.kept.iter().chain(&self.order).copied().collect()
    }
}
