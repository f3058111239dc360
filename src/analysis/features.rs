//! The features of a list, best first, each with the evidence for it and with its twins.

use serde::Serialize;

use super::{ByChance, Choice, History, Paths, RankTable};
use crate::evaluate::FEWEST_SUBSETS;
use crate::run::{RunInfo, Twins};

/// Features of a list whose twins are looked for: the first ones. The cost is this number times all
/// cells of the table.
const MOST_WITH_TWINS: usize = 500;

/// Twins outside the list that are named beside a feature.
const NAMED_TWINS: usize = 3;

/// A feature of the answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChosenFeature {
    #[serde(skip)]
    pub unit: usize,
    pub name: String,
    /// Mean rank over splits; none for a kept one.
    pub mean_rank: Option<f64>,
    /// In how many splits it is in the subset of this size.
    pub count: usize,
    /// The same as a share.
    pub frequency: f64,
    /// Fewer than half of the splits keep it: another split may well choose another in its place.
    pub interchangeable: bool,
    /// What its count says.
    #[serde(skip)]
    pub standing: Standing,
    /// p adjusted for all features: how often permuted labels keep some feature in at least as many
    /// splits.
    pub adjusted_p: Option<f64>,
    /// Features with |r| > 0.9 to this one over all rows, the closest first; none if they were not
    /// looked for.
    pub twins: Option<Vec<Twin>>,
    /// How many twins it has; the closest of many are named.
    pub twin_count: usize,
    /// In how many splits it or one of its closest twins is in the subset of this size; none
    /// without twins.
    pub count_with_twins: Option<usize>,
    /// Where in the list (from 1) the closest of its twins before it stands: it brings little that
    /// is new.
    pub twin_of: Option<usize>,
}

/// What the number of splits that keep a feature says about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// In every model by request.
    Kept,
    /// Fewer than half of the splits keep it.
    Interchangeable,
    /// Permuted labels keep some feature in as many splits.
    AsByChance,
    /// At least nine of ten splits keep it, of five splits or more.
    Core,
    /// Nothing in particular.
    Between,
}

impl Standing {
    fn new(count: usize, splits: usize, by_chance: Option<&ByChance>) -> Self {
        if 2 * count < splits {
            Self::Interchangeable
        } else if by_chance.is_some_and(|chance| count <= chance.count) {
            Self::AsByChance
        } else if splits >= FEWEST_SUBSETS && 10 * count >= 9 * splits {
            Self::Core
        } else {
            Self::Between
        }
    }
}

/// A feature that could stand in for another one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Twin {
    pub name: String,
    /// Pearson's r over all rows.
    pub r: f64,
    /// Its own place in the list (from 1), if it is in it.
    pub place: Option<usize>,
}

impl ChosenFeature {
    /// The twins to name beside it: the closest before it in the list if there is one, else all
    /// that follow in the list and the closest others.
    pub(super) fn named_twins(&self) -> impl Iterator<Item = &Twin> {
        let mut others = 0;
        self.twins.iter().flatten().filter(move |twin| match (self.twin_of, twin.place) {
            (Some(_), place) => place == self.twin_of,
            (None, Some(_)) => true,
            (None, None) => {
                others += 1;
                others <= NAMED_TWINS
            }
        })
    }

    /// Its twins in words, the closest first; those among the first `listed` features of the list are
    /// called by their places, the others by what `shown` makes of their names. Empty without twins.
    pub fn twin_words(&self, listed: usize, shown: impl Fn(&str) -> String) -> String {
        let twin = |twin: &Twin| {
            let place = twin.place.filter(|&place| place <= listed);
            let name = place.map_or_else(|| shown(&twin.name), |place| format!("feature {place}"));
            // With a minus sign that is one.
            format!("{name} (r = {}{:.2})", if twin.r < 0.0 { "−" } else { "" }, twin.r.abs())
        };
        let named: Vec<String> = self.named_twins().map(twin).collect();
        let more = self.twin_count.saturating_sub(named.len());
        let (noun, more) = match (named.len(), more) {
            (0, _) => return String::new(),
            _ if self.twin_of.is_some() => ("twin of", String::new()),
            (1, 0) => ("twin:", String::new()),
            (_, 0) => ("twins:", String::new()),
            (_, more) => ("twins:", format!(" and {more} more")),
        };
        format!("{noun} {}{more}", named.join(", "))
    }

    /// The list of a size: the most frequent, ties by mean rank, then the kept ones.
    pub(super) fn list(
        history: &History,
        paths: &Paths<'_>,
        size: usize,
        by_chance: Option<&ByChance>,
    ) -> Vec<Self> {
        let info = paths.info;
        let splits = paths.len();
        let by_frequency = paths.by_frequency(size);
        let units = info.list(&by_frequency, size);
        let ranks = RankTable::new(paths);
        let with_twins = |unit: usize| {
            let closest = &history.twins.of(unit).filter(|twins| twins.count > 0)?.closest;
            let family = || std::iter::once(unit).chain(closest.iter().map(|&(twin, _)| twin));
            let keeps_one = |&split: &usize| family().any(|unit| ranks.survives(split, unit, size));
            Some((0..splits).filter(keeps_one).count())
        };
        let feature = |(at, &unit): (usize, &usize)| {
            let kept = by_frequency.get(at).filter(|kept| kept.unit == unit);
            let count = kept.map_or(splits, |kept| kept.count);
            let (twins, twin_count, twin_of) = twins_of(info, &history.twins, &units, at);
            let standing = kept.map_or(Standing::Kept, |_| Standing::new(count, splits, by_chance));
            Self {
                unit,
                name: info.units[unit].name.clone(),
                mean_rank: kept.map(|kept| kept.mean_rank),
                count,
                frequency: count as f64 / splits as f64,
                interchangeable: standing == Standing::Interchangeable,
                standing,
                adjusted_p: kept.and_then(|kept| Some(by_chance?.adjusted_p(kept.count))),
                twins,
                twin_count,
                count_with_twins: with_twins(unit),
                twin_of,
            }
        };
        units.iter().enumerate().map(feature).collect()
    }
}

/// The twins of the feature at one place of a list, how many it has, and the place of the closest
/// before it.
fn twins_of(
    info: &RunInfo,
    known: &Twins,
    list: &[usize],
    at: usize,
) -> (Option<Vec<Twin>>, usize, Option<usize>) {
    let Some(found) = known.of(list[at]) else { return (None, 0, None) };
    let place = |unit: usize| list.iter().position(|&listed| listed == unit);
    let twin = |&(unit, r): &(usize, f64)| Twin {
        name: info.units[unit].name.clone(),
        r,
        place: place(unit).map(|place| place + 1),
    };
    let before =
        found.closest.iter().filter_map(|&(unit, _)| place(unit)).find(|&place| place < at);
    (Some(found.closest.iter().map(twin).collect()), found.count, before.map(|place| place + 1))
}

impl History {
    /// The chosen features of all methods whose twins nobody has looked for yet.
    pub fn without_twins(&self) -> Vec<usize> {
        let Some(info) = &self.info else { return Vec::new() };
        let list = |method| {
            let paths = Paths::new(self, info, method);
            let size = paths.chosen_size(&Choice::of(&info.spec)).size?;
            Some(info.list(&paths.by_frequency(size), size))
        };
        let lists = self.methods().into_iter().filter_map(list);
        let units = lists.flat_map(|list| list.into_iter().take(MOST_WITH_TWINS));
        let mut units: Vec<usize> = units.filter(|&unit| self.twins.of(unit).is_none()).collect();
        units.sort_unstable();
        units.dedup();
        units
    }

    /// The twins that have been found.
    pub fn twins(&self) -> &Twins {
        &self.twins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_feature_is_core_in_fewer_than_five_splits() {
        let standing = |count, splits| Standing::new(count, splits, None);
        assert_eq!((standing(4, 4), standing(5, 5)), (Standing::Between, Standing::Core));
        assert_eq!((standing(18, 20), standing(17, 20)), (Standing::Core, Standing::Between));
        assert_eq!(
            (standing(10, 20), standing(9, 20)),
            (Standing::Between, Standing::Interchangeable)
        );
    }
}
