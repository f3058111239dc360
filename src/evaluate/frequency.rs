//! Which features: ordered by how many splits keep them at a size, ties by mean rank, then by
//! column (docs/method.md section 11).

/// How often the splits keep a feature at one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Kept {
    /// The feature (unit).
    pub unit: usize,
    /// The number of splits whose subset of this size holds it.
    pub count: usize,
    /// Its mean rank over the splits.
    pub mean_rank: f64,
}

/// All features that can be removed, best first. `removable` is the size without the features that
/// are kept by request.
pub fn by_frequency<'a>(
    ranks: impl IntoIterator<Item = &'a [Option<u32>]>,
    removable: usize,
) -> Vec<Kept> {
    let mut tallies: Vec<(usize, u64)> = Vec::new();
    let mut splits = 0.0;
    for of_split in ranks {
        tallies.resize(of_split.len(), (0, 0));
        for ((count, sum), rank) in tallies.iter_mut().zip(of_split) {
            *count += usize::from(rank.is_some_and(|rank| rank as usize <= removable));
            *sum += rank.map_or(0, u64::from);
        }
        splits += 1.0;
    }
    let mut features: Vec<Kept> = tallies
        .into_iter()
        .enumerate()
        // Ranks begin at 1: a sum of 0 is a feature without ranks.
        .filter(|&(_, (_, sum))| sum > 0)
        .map(|(unit, (count, sum))| Kept { unit, count, mean_rank: sum as f64 / splits })
        .collect();
    features.sort_by(|a, b| {
        b.count.cmp(&a.count).then(a.mean_rank.total_cmp(&b.mean_rank)).then(a.unit.cmp(&b.unit))
    });
    features
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::fixtures::{answer, whole};

    #[test]
    fn fixtures_agree_on_the_list() {
        for case in answer()["one_se"].as_array().unwrap() {
            if case["features"].is_null() {
                continue;
            }
            let ranks: Vec<Vec<Option<u32>>> = case["ranks"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| whole(row).iter().map(|&rank| Some(rank as u32)).collect())
                .collect();
            let size = case["size"].as_u64().unwrap() as usize;
            let list = by_frequency(ranks.iter().map(Vec::as_slice), size);
            let units: Vec<usize> = list[..size].iter().map(|kept| kept.unit).collect();
            let counts: Vec<usize> = list[..size].iter().map(|kept| kept.count).collect();
            assert_eq!(units, whole(&case["features"]));
            assert_eq!(counts, whole(&case["counts"]));
        }
    }

    #[test]
    fn features_kept_by_request_have_no_place() {
        let ranks = [vec![Some(2), None, Some(1)], vec![Some(1), None, Some(2)]];
        let units: Vec<usize> =
            by_frequency(ranks.iter().map(Vec::as_slice), 1).iter().map(|kept| kept.unit).collect();
        assert_eq!(units, [0, 2]);
        assert!(by_frequency([], 1).is_empty());
    }
}
