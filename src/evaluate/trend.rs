//! Whether values drift with time: a rank correlation within strata, tested by permuting values
//! within strata (docs/method.md section 16). Knows nothing of conformal prediction.

use crate::data::seed::{Purpose, Rng};

/// Permutations of a short series, and the least of a long one: the work is bounded.
const MOST_SHUFFLES: usize = 999;
const FEWEST_SHUFFLES: usize = 99;
const WORK: usize = 2_000_000;

/// A value with its time and its stratum.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timed {
    /// The value.
    pub value: f64,
    /// Its time.
    pub time: f64,
    /// Values are exchanged only within a stratum.
    pub stratum: usize,
}

/// A trend of values with time.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Trend {
    /// Values.
    pub n: usize,
    /// Spearman's correlation within strata: the weighted sum of products of centred ranks, scaled
    /// to −1 … 1.
    pub rho: f64,
    /// How often permuted values are correlated as strongly, in either direction; exact for
    /// exchangeable values.
    pub p: f64,
    /// Permutations behind p.
    pub permutations: usize,
}

impl Trend {
    /// Tests a series; `None` where no stratum has three values of different times.
    pub fn new(series: &[Timed], seed: u64) -> Option<Self> {
        let mut strata: std::collections::BTreeMap<usize, Vec<Timed>> =
            std::collections::BTreeMap::new();
        for &timed in
            series.iter().filter(|timed| timed.time.is_finite() && timed.value.is_finite())
        {
            strata.entry(timed.stratum).or_default().push(timed);
        }
        let mut parts: Vec<(Vec<f64>, Vec<f64>)> = Vec::new();
        let mut scale = 0.0;
        let mut n = 0;
        for of_stratum in strata.values().filter(|of_stratum| of_stratum.len() >= 3) {
            let times = centred_ranks(of_stratum.iter().map(|timed| timed.time).collect());
            let values = centred_ranks(of_stratum.iter().map(|timed| timed.value).collect());
            let spread = |ranks: &[f64]| ranks.iter().map(|rank| rank * rank).sum::<f64>();
            // Ranks grow with the stratum: divided by its size, each row counts alike.
            let own = (spread(&times) * spread(&values)).sqrt() / of_stratum.len() as f64;
            if own > 0.0 {
                (scale, n) = (scale + own, n + of_stratum.len());
                parts.push((times, values));
            }
        }
        if n == 0 {
            return None;
        }
        let observed = correlation(&parts);
        let permutations = (WORK / n).clamp(FEWEST_SHUFFLES, MOST_SHUFFLES);
        let mut rng = Rng::new(seed, 0, Purpose::Trend);
        let mut as_strong = 0;
        for _ in 0..permutations {
            parts.iter_mut().for_each(|(_, values)| rng.shuffle(values));
            // Equal sums may differ in the last bits, hence the margin.
            as_strong += usize::from(correlation(&parts).abs() >= observed.abs() - 1e-9 * scale);
        }
        let p = (1 + as_strong) as f64 / (1 + permutations) as f64;
        Some(Self { n, rho: observed / scale, p, permutations })
    }
}

fn correlation(parts: &[(Vec<f64>, Vec<f64>)]) -> f64 {
    let of_part = |(times, values): &(Vec<f64>, Vec<f64>)| {
        times.iter().zip(values).map(|(a, b)| a * b).sum::<f64>() / times.len() as f64
    };
    parts.iter().map(of_part).sum()
}

/// Ranks with their mean taken off; equal values share their mean rank.
fn centred_ranks(values: Vec<f64>) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mean = (values.len() as f64 - 1.0) / 2.0;
    let mut start = 0;
    while start < order.len() {
        let equal =
            order[start..].iter().take_while(|&&i| values[i] == values[order[start]]).count();
        let rank = start as f64 + (equal as f64 - 1.0) / 2.0;
        order[start..start + equal].iter().for_each(|&i| ranks[i] = rank - mean);
        start += equal;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[f64]) -> Vec<Timed> {
        values
            .iter()
            .enumerate()
            .map(|(i, &value)| Timed { value, time: i as f64, stratum: 0 })
            .collect()
    }

    #[test]
    fn the_correlation_and_its_p_match_all_permutations() {
        // Computed with Python from the definition.
        let trend = Trend::new(&series(&[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]), 1).unwrap();
        assert!((trend.rho - 0.503_003_0).abs() < 1e-6, "{}", trend.rho);
        // Over all 8! orders, two-sided: 0.2089; 999 permutations are within 0.05.
        assert!((trend.p - 0.2089).abs() < 0.05, "{}", trend.p);
        assert_eq!((trend.n, trend.permutations), (8, 999));
    }

    #[test]
    fn a_trend_that_a_stratum_explains_is_none() {
        // Sorted by stratum, and the strata have different values: within them nothing happens.
        let mut rng = Rng::new(5, 0, Purpose::Folds);
        let sorted: Vec<Timed> = (0..200)
            .map(|i| Timed {
                value: rng.uniform() + f64::from(i / 100),
                time: f64::from(i),
                stratum: i as usize / 100,
            })
            .collect();
        let trend = Trend::new(&sorted, 3).unwrap();
        assert!(trend.p > 0.01 && trend.rho.abs() < 0.25, "{trend:?}");
        let one: Vec<Timed> = sorted.iter().map(|&timed| Timed { stratum: 0, ..timed }).collect();
        assert_eq!(Trend::new(&one, 3).unwrap().p, 0.001);
    }

    #[test]
    fn exchangeable_values_alarm_as_often_as_the_level_says() {
        let mut rng = Rng::new(11, 0, Purpose::Folds);
        let alarms = (0..400)
            .filter(|&seed| {
                let values: Vec<f64> = (0..40).map(|_| (rng.uniform() * 8.0).floor()).collect();
                Trend::new(&series(&values), seed).unwrap().p <= 0.05
            })
            .count();
        // Binomial(400, 0.05): more than 37 or fewer than 7 in about one of a thousand.
        assert!((7..=37).contains(&alarms), "{alarms}");
    }

    #[test]
    fn nothing_is_tested_where_nothing_can_be_seen() {
        assert_eq!(Trend::new(&series(&[1.0, 2.0]), 1), None);
        assert_eq!(Trend::new(&series(&[2.0; 9]), 1), None);
        let without_time: Vec<Timed> =
            series(&[1.0, 2.0, 3.0]).iter().map(|&t| Timed { time: f64::NAN, ..t }).collect();
        assert_eq!(Trend::new(&without_time, 1), None);
    }
}
