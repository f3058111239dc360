//! Do splits choose the same features? Indices of agreement over splits, and of two methods
//! (docs/method.md section 8).
//!
//! All of them are read off whole numbers that adding one feature to one subset updates in
//! O(splits), so nested subsets cost no more at all sizes together than at the largest. Where
//! splits outnumber features, what grows with their square is added up at each size instead.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::stats::{Spread, student_quantile};

/// For each feature its rank in one split, 1 the last survivor; None for a kept feature, which no
/// index counts.
pub type Ranks = [Option<u32>];

/// From fewer subsets, no interval of the stability is given: its error would be estimated from too
/// few.
pub const FEWEST_SUBSETS: usize = 5;

/// How much the subsets of several splits agree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// |∩S_i| / |∪S_i|; 1 if all are empty.
    pub jaccard: f64,
    /// The weighted index of features in more than half of the subsets; 1 if all are empty.
    pub i_w: f64,
    /// Mean over pairs; None for unequal sizes, no or all features, or one split.
    pub kuncheva: Option<f64>,
    /// Nogueira's stability; None for no or all features, or one split.
    pub nogueira: Option<f64>,
    /// The lower end of its 95 % interval, by Student's t with n − 1 degrees of freedom; None from
    /// fewer than [`FEWEST_SUBSETS`].
    pub nogueira_lo: Option<f64>,
    /// The upper end, at most 1.
    pub nogueira_hi: Option<f64>,
    /// Its standard error, √V. Nogueira's asymptotic interval is Φ ± 1.96 √V; with 20 splits it
    /// holds in 86 to 94 % of cases.
    pub nogueira_error: Option<f64>,
}

/// How much two methods agree on the same splits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Similarity {
    /// Jaccard index of the two subsets of a split.
    pub jaccard: Spread,
    /// Kuncheva's index of the two subsets of a split; None where it is undefined in some split.
    pub kuncheva: Option<Spread>,
    /// I_W of the subsets of both methods pooled.
    pub i_w: f64,
}

/// Which subsets hold which features, as counts.
struct SelectionCounts {
    features: usize,
    /// k_i.
    sizes: Vec<usize>,
    /// How many features are in exactly c subsets, c = 0..=n.
    by_count: Vec<usize>,
    /// Σ_{f∈S_i} c_f = n Σ_f z_if p̂_f, kept up to date where that is cheaper than adding up.
    shared: Option<Vec<u64>>,
    /// c_f.
    counts: Vec<usize>,
    /// The subsets that hold f: the first c_f of its n places.
    holders: Vec<u32>,
    /// The 97.5 % quantile of Student's t with n − 1 degrees of freedom.
    quantile: f64,
}

impl SelectionCounts {
    /// Empty subsets of columns 0..`columns`, of which `features` can be chosen.
    fn new(splits: usize, columns: usize, features: usize) -> Self {
        let mut by_count = vec![0; splits + 1];
        by_count[0] = features;
        Self {
            features,
            sizes: vec![0; splits],
            by_count,
            shared: (splits <= columns).then(|| vec![0; splits]),
            counts: vec![0; columns],
            holders: vec![0; columns * splits],
            quantile: if splits > 1 { student_quantile(splits as f64 - 1.0) } else { 0.0 },
        }
    }

    fn of(subsets: &[Vec<usize>], features: usize) -> Self {
        let mut votes = Self::new(subsets.len(), features, features);
        for (split, subset) in subsets.iter().enumerate() {
            subset.iter().for_each(|&feature| votes.add(split, feature));
        }
        votes
    }

    /// Puts a feature into a subset that does not hold it.
    fn add(&mut self, split: usize, feature: usize) {
        let count = self.counts[feature];
        let holders = &mut self.holders[feature * self.sizes.len()..];
        holders[count] = split as u32;
        if let Some(shared) = &mut self.shared {
            holders[..count].iter().for_each(|&holder| shared[holder as usize] += 1);
            shared[split] += count as u64 + 1;
        }
        self.counts[feature] += 1;
        self.by_count[count] -= 1;
        self.by_count[count + 1] += 1;
        self.sizes[split] += 1;
    }

    fn agreement(&self) -> Agreement {
        let table =
            CountTable { features: self.features, sizes: &self.sizes, by_count: &self.by_count };
        let nogueira = table.nogueira();
        let error = nogueira.map(|phi| table.nogueira_error(phi, &self.shared()));
        let interval = nogueira.zip(error).filter(|_| self.sizes.len() >= FEWEST_SUBSETS);
        Agreement {
            nogueira_lo: interval.map(|(phi, error)| phi - self.quantile * error),
            nogueira_hi: interval.map(|(phi, error)| (phi + self.quantile * error).min(1.0)),
            nogueira_error: error,
            ..table.agreement()
        }
    }

    fn shared(&self) -> Cow<'_, [u64]> {
        if let Some(shared) = &self.shared {
            return shared.into();
        }
        let splits = self.sizes.len();
        let mut shared = vec![0; splits];
        for (holders, &count) in self.holders.chunks(splits).zip(&self.counts) {
            holders[..count].iter().for_each(|&holder| shared[holder as usize] += count as u64);
        }
        shared.into()
    }

    fn i_w(&self) -> f64 {
        CountTable { features: self.features, sizes: &self.sizes, by_count: &self.by_count }.i_w()
    }
}

/// What every index but the interval is a function of.
struct CountTable<'a> {
    features: usize,
    sizes: &'a [usize],
    by_count: &'a [usize],
}

impl CountTable<'_> {
    fn splits(&self) -> usize {
        self.sizes.len()
    }

    fn union(&self) -> usize {
        self.by_count[1..].iter().sum()
    }

    fn agreement(&self) -> Agreement {
        Agreement {
            jaccard: self.jaccard(),
            i_w: self.i_w(),
            kuncheva: self.kuncheva(),
            nogueira: self.nogueira(),
            nogueira_lo: None,
            nogueira_hi: None,
            nogueira_error: None,
        }
    }

    fn jaccard(&self) -> f64 {
        match self.union() {
            0 => 1.0,
            union => self.by_count[self.splits()] as f64 / union as f64,
        }
    }

    /// Σ_{j∈K} ω_j P_j, K = ⌊n/2⌋+1..n.
    fn i_w(&self) -> f64 {
        let union = self.union();
        if union == 0 {
            return 1.0;
        }
        let (mut weighted, mut weights, mut in_at_least) = (0, 0, 0);
        for j in (self.splits() / 2 + 1..=self.splits()).rev() {
            in_at_least += self.by_count[j];
            weighted += j * in_at_least;
            weights += j;
        }
        weighted as f64 / (weights as f64 * union as f64)
    }

    /// The mean over pairs needs only the mean intersection, Σ_f C(c_f, 2) over the number of
    /// pairs.
    fn kuncheva(&self) -> Option<f64> {
        let n = self.splits();
        let &size = self.sizes.first()?;
        if n < 2 || self.sizes.iter().any(|&other| other != size) {
            return None;
        }
        let pairs = |c: usize| c * c.saturating_sub(1) / 2;
        let intersections: usize =
            self.by_count.iter().enumerate().map(|(c, &held)| held * pairs(c)).sum();
        kuncheva(intersections as f64 / pairs(n) as f64, size, self.features)
    }

    /// k̄/p, if Nogueira's measure is defined: several splits, and neither none nor all of the
    /// features.
    fn mean_share(&self) -> Option<f64> {
        let total: usize = self.sizes.iter().sum();
        let most = self.splits() * self.features;
        (self.splits() > 1 && total > 0 && total < most).then(|| total as f64 / most as f64)
    }

    /// Φ.
    fn nogueira(&self) -> Option<f64> {
        let share = self.mean_share()?;
        let n = self.splits();
        let spread: usize =
            self.by_count.iter().enumerate().map(|(c, &held)| held * c * (n - c)).sum();
        let mean_variance = spread as f64 / (n * n * self.features) as f64;
        let n = n as f64;
        Some(1.0 - n / (n - 1.0) * mean_variance / (share * (1.0 - share)))
    }

    /// √V.
    fn nogueira_error(&self, phi: f64, shared: &[u64]) -> f64 {
        let Some(share) = self.mean_share() else { return 0.0 };
        let n = self.splits() as f64;
        let p = self.features as f64;
        let part = |(&size, &shared): (&usize, &u64)| {
            let own = size as f64 / p;
            let spread = 2.0 * own * share - own - share + 1.0;
            (shared as f64 / (n * p) - own * share + phi / 2.0 * spread) / (share * (1.0 - share))
        };
        let parts = || self.sizes.iter().zip(shared).map(part);
        let mean = parts().sum::<f64>() / n;
        let variance = 4.0 / (n * n) * parts().map(|phi| (phi - mean).powi(2)).sum::<f64>();
        variance.sqrt()
    }
}

/// (r s − κ²)/(κ(s−κ)) of an intersection r; None where it is undefined.
fn kuncheva(intersection: f64, size: usize, features: usize) -> Option<f64> {
    let (k, s) = (size as f64, features as f64);
    (size > 0 && size < features).then(|| (intersection * s - k * k) / (k * (s - k)))
}

/// The agreement of subsets of features 0..`features`, of equal sizes or not.
pub fn agreement(subsets: &[Vec<usize>], features: usize) -> Agreement {
    SelectionCounts::of(subsets, features).agreement()
}

/// The agreement of `splits` subsets of one size, from the number of subsets that hold each
/// feature; features in none may be left out. It has no interval: counts do not tell one split from
/// another.
pub fn agreement_from_counts(
    counts: &[u32],
    splits: usize,
    features: usize,
    size: usize,
) -> Agreement {
    let mut by_count = vec![0; splits + 1];
    counts.iter().for_each(|&count| by_count[count as usize] += 1);
    by_count[0] = features - by_count[1..].iter().sum::<usize>();
    CountTable { features, sizes: &vec![size; splits], by_count: &by_count }.agreement()
}

/// The agreement at each of `sizes`, numbers of ranked features, in their order.
pub fn agreement_by_size(ranks: &[&Ranks], sizes: &[usize]) -> Vec<Agreement> {
    let mut votes = SelectionCounts::new(ranks.len(), columns(ranks), ranked(&[ranks]));
    let mut paths = paths(ranks);
    by_size(sizes, |_, size| {
        for (split, path) in paths.iter_mut().enumerate() {
            path.up_to(size).iter().for_each(|&(_, feature)| votes.add(split, feature));
        }
        votes.agreement()
    })
}

/// The similarity of two methods whose subsets belong to the same splits; None without splits.
pub fn similarity(a: &[Vec<usize>], b: &[Vec<usize>], features: usize) -> Option<Similarity> {
    let mut held = vec![false; features];
    let overlap = |(a, b): (&Vec<usize>, &Vec<usize>)| {
        a.iter().for_each(|&feature| held[feature] = true);
        let both = b.iter().filter(|&&feature| held[feature]).count();
        a.iter().for_each(|&feature| held[feature] = false);
        Overlap { sizes: [a.len(), b.len()], both }
    };
    let overlaps: Vec<_> = a.iter().zip(b).map(overlap).collect();
    let mut votes = SelectionCounts::new(2 * overlaps.len(), features, features);
    for (split, subset) in
        a.iter().take(overlaps.len()).chain(b.iter().take(overlaps.len())).enumerate()
    {
        subset.iter().for_each(|&feature| votes.add(split, feature));
    }
    Similarity::of(&overlaps, &votes)
}

/// The similarity of two methods at each of `sizes`, numbers of ranked features, in their order;
/// empty without splits.
pub fn similarity_by_size(a: &[&Ranks], b: &[&Ranks], sizes: &[usize]) -> Vec<Similarity> {
    let splits = a.len().min(b.len());
    let (a, b) = (&a[..splits], &b[..splits]);
    let mut votes = SelectionCounts::new(2 * splits, columns(a).max(columns(b)), ranked(&[a, b]));
    let (mut paths_a, mut paths_b) = (paths(a), paths(b));
    let mut overlaps = vec![Overlap::default(); splits];
    let within = |ranks: &Ranks, feature: usize, size: usize| {
        ranks.get(feature).copied().flatten().is_some_and(|rank| rank as usize <= size)
    };
    let steps = by_size(sizes, |previous, size| {
        for (split, overlap) in overlaps.iter_mut().enumerate() {
            for &(_, feature) in paths_a[split].up_to(size) {
                votes.add(split, feature);
                overlap.sizes[0] += 1;
                overlap.both += usize::from(within(b[split], feature, size));
            }
            for &(_, feature) in paths_b[split].up_to(size) {
                votes.add(splits + split, feature);
                overlap.sizes[1] += 1;
                // One that is new to both was counted above.
                overlap.both += usize::from(within(a[split], feature, previous));
            }
        }
        Similarity::of(&overlaps, &votes)
    });
    steps.into_iter().flatten().collect()
}

/// Two subsets of one split.
#[derive(Debug, Clone, Copy, Default)]
struct Overlap {
    sizes: [usize; 2],
    both: usize,
}

impl Overlap {
    fn jaccard(&self) -> f64 {
        match self.sizes[0] + self.sizes[1] - self.both {
            0 => 1.0,
            union => self.both as f64 / union as f64,
        }
    }

    fn kuncheva(&self, features: usize) -> Option<f64> {
        let [size, other] = self.sizes;
        if size == other { kuncheva(self.both as f64, size, features) } else { None }
    }
}

impl Similarity {
    fn of(overlaps: &[Overlap], pooled: &SelectionCounts) -> Option<Self> {
        let jaccard: Vec<_> = overlaps.iter().map(Overlap::jaccard).collect();
        let kuncheva: Option<Vec<_>> =
            overlaps.iter().map(|o| o.kuncheva(pooled.features)).collect();
        Some(Self {
            jaccard: Spread::of(&jaccard)?,
            kuncheva: kuncheva.and_then(|values| Spread::of(&values)),
            i_w: pooled.i_w(),
        })
    }
}

/// The features of one split from rank 1 on.
struct RankCursor {
    order: Vec<(u32, usize)>,
    taken: usize,
}

impl RankCursor {
    /// The features not given before whose rank is at most `size`.
    fn up_to(&mut self, size: usize) -> &[(u32, usize)] {
        let start = self.taken;
        self.taken +=
            self.order[start..].iter().take_while(|(rank, _)| *rank as usize <= size).count();
        &self.order[start..self.taken]
    }
}

fn paths(ranks: &[&Ranks]) -> Vec<RankCursor> {
    let path = |ranks: &&Ranks| {
        let mut order: Vec<_> =
            ranks.iter().enumerate().filter_map(|(f, rank)| Some(((*rank)?, f))).collect();
        order.sort_unstable();
        RankCursor { order, taken: 0 }
    };
    ranks.iter().map(path).collect()
}

fn columns(ranks: &[&Ranks]) -> usize {
    ranks.iter().map(|ranks| ranks.len()).max().unwrap_or(0)
}

/// The number of features that some split ranks: p of the formulas.
fn ranked(methods: &[&[&Ranks]]) -> usize {
    let columns = methods.iter().map(|ranks| columns(ranks)).max().unwrap_or(0);
    let splits = || methods.iter().flat_map(|ranks| ranks.iter());
    (0..columns)
        .filter(|&feature| splits().any(|split| matches!(split.get(feature), Some(Some(_)))))
        .count()
}

/// Visits sizes upward, each with the one before it (0 at first), and gives the results in the
/// order of `sizes`.
fn by_size<T>(sizes: &[usize], mut visit: impl FnMut(usize, usize) -> T) -> Vec<T> {
    let mut upward: Vec<usize> = (0..sizes.len()).collect();
    upward.sort_unstable_by_key(|&i| sizes[i]);
    let mut previous = 0;
    let mut visited: Vec<(usize, T)> = Vec::with_capacity(sizes.len());
    for i in upward {
        visited.push((i, visit(previous, sizes[i])));
        previous = sizes[i];
    }
    visited.sort_unstable_by_key(|(i, _)| *i);
    visited.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};
    use proptest::prelude::*;
    use serde_json::Value;

    fn close(ours: f64, theirs: f64) {
        assert!((ours - theirs).abs() < 1e-12, "{ours} {theirs}");
    }

    #[test]
    fn indices_match_the_fixture() {
        let fixture: Value =
            serde_json::from_str(include_str!("../../tests/fixtures/indices.json")).unwrap();
        let cases = fixture["cases"].as_array().unwrap();
        assert!(cases.iter().any(|case| case["kuncheva_mean_pairwise"].is_null()));
        for case in cases {
            let features = case["n_features"].as_u64().unwrap() as usize;
            let subsets: Vec<Vec<usize>> = serde_json::from_value(case["subsets"].clone()).unwrap();
            let ours = agreement(&subsets, features);
            close(ours.jaccard, case["I_J"].as_f64().unwrap());
            close(ours.i_w, case["I_W_union"].as_f64().unwrap());
            close(ours.nogueira.unwrap(), case["nogueira"].as_f64().unwrap());
            // The fixture has the asymptotic interval.
            let (phi, error) = (ours.nogueira.unwrap(), ours.nogueira_error.unwrap());
            let half = 1.959_963_984_540_054 * error;
            close(phi - half, case["nogueira_lo"].as_f64().unwrap());
            close(phi + half, case["nogueira_hi"].as_f64().unwrap());
            let wider = student_quantile(subsets.len() as f64 - 1.0) * error;
            assert_eq!(ours.nogueira_lo.is_some(), subsets.len() >= FEWEST_SUBSETS);
            ours.nogueira_lo.into_iter().for_each(|lo| close(lo, phi - wider));
            ours.nogueira_hi.into_iter().for_each(|hi| close(hi, (phi + wider).min(1.0)));
            assert!(wider >= half);
            assert_eq!(ours.kuncheva.is_some(), case["kuncheva_mean_pairwise"].is_number());
            let Some(kuncheva) = ours.kuncheva else { continue };
            close(kuncheva, case["kuncheva_mean_pairwise"].as_f64().unwrap());

            let mut counts = vec![0; features];
            subsets.iter().flatten().for_each(|&f| counts[f] += 1);
            counts.retain(|&count| count > 0);
            let from_counts =
                agreement_from_counts(&counts, subsets.len(), features, subsets[0].len());
            assert_eq!(
                from_counts,
                Agreement { nogueira_lo: None, nogueira_hi: None, nogueira_error: None, ..ours }
            );
        }
    }

    #[test]
    fn shared_counts_are_the_same_kept_or_added_up() {
        let subsets = [vec![0, 2], vec![1, 2], vec![2, 3, 0]];
        let kept = SelectionCounts::of(&subsets, 5);
        assert!(kept.shared.is_some());
        let added_up = SelectionCounts { shared: None, ..SelectionCounts::of(&subsets, 5) };
        assert_eq!(kept.shared(), added_up.shared());
        assert_eq!(*kept.shared(), [5, 4, 6]);
    }

    #[test]
    fn undefined_indices_are_absent() {
        let all = agreement(&[vec![0, 1], vec![1, 0]], 2);
        assert_eq!((all.jaccard, all.i_w, all.kuncheva, all.nogueira), (1.0, 1.0, None, None));
        let one = agreement(&[vec![0]], 3);
        assert_eq!((one.jaccard, one.i_w, one.kuncheva, one.nogueira_lo), (1.0, 1.0, None, None));
        let empty = agreement(&[vec![], vec![]], 3);
        assert_eq!(
            (empty.jaccard, empty.i_w, empty.kuncheva, empty.nogueira),
            (1.0, 1.0, None, None)
        );
    }

    #[test]
    fn similarity_is_as_by_hand() {
        let a = [vec![0, 1], vec![0, 2]];
        let b = [vec![1, 0], vec![2, 3]];
        let ours = similarity(&a, &b, 5).unwrap();
        close(ours.jaccard.mean, (1.0 + 1.0 / 3.0) / 2.0);
        close(ours.jaccard.sd.unwrap(), (2.0 / 3.0) / 2.0_f64.sqrt());
        // r = 2: 1; r = 1: (5 − 4)/(2·3).
        close(ours.kuncheva.unwrap().mean, (1.0 + 1.0 / 6.0) / 2.0);
        // Pooled counts are 3, 2, 2, 1 of four subsets: K = {3, 4}, P_3 = 1/4, P_4 = 0.
        close(ours.i_w, 3.0 / 7.0 / 4.0);
        assert_eq!(similarity(&[], &[], 5), None);
        assert_eq!(similarity(&a, &[vec![0], vec![1]], 5).unwrap().kuncheva, None);
    }

    /// Random ranks of `removable` features, each followed by a kept one, and the subsets without
    /// the kept ones.
    fn random_ranks(splits: usize, removable: usize, rng: &mut Rng) -> Vec<Vec<Option<u32>>> {
        let ranks = |_| {
            let mut order: Vec<u32> = (1..=removable as u32).collect();
            // Shuffling each half keeps early ranks alike between splits.
            let (front, back) = order.split_at_mut(removable / 2);
            rng.shuffle(front);
            rng.shuffle(back);
            order.into_iter().flat_map(|rank| [Some(rank), None]).collect()
        };
        (0..splits).map(ranks).collect()
    }

    fn subsets(ranks: &[Vec<Option<u32>>], size: usize) -> Vec<Vec<usize>> {
        let subset = |ranks: &Vec<Option<u32>>| {
            let removable = ranks.iter().flatten().enumerate();
            removable.filter(|(_, rank)| **rank as usize <= size).map(|(f, _)| f).collect()
        };
        ranks.iter().map(subset).collect()
    }

    fn slices(ranks: &[Vec<Option<u32>>]) -> Vec<&Ranks> {
        ranks.iter().map(Vec::as_slice).collect()
    }

    proptest! {
        #[test]
        fn walking_sizes_gives_what_each_size_gives(seed: u64, splits in 1_usize..7, removable in 1_usize..25) {
            let mut rng = Rng::new(seed, 0, Purpose::Split);
            let a = random_ranks(splits, removable, &mut rng);
            let b = random_ranks(splits, removable, &mut rng);
            let mut sizes: Vec<usize> = (0..=removable).collect();
            rng.shuffle(&mut sizes);
            sizes.truncate(removable.div_ceil(2));
            for (walked, &size) in agreement_by_size(&slices(&a), &sizes).iter().zip(&sizes) {
                prop_assert_eq!(*walked, agreement(&subsets(&a, size), removable));
            }
            for (walked, &size) in similarity_by_size(&slices(&a), &slices(&b), &sizes).iter().zip(&sizes) {
                prop_assert_eq!(Some(*walked), similarity(&subsets(&a, size), &subsets(&b, size), removable));
            }
        }
    }
}
