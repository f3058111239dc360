//! Whether new scores are distributed as known ones: the two-sample Kolmogorov–Smirnov test
//! (docs/method.md section 13), in memory that does not grow with the new scores.

/// Counts new scores between the known ones.
#[derive(Debug, Clone, PartialEq)]
pub struct TwoSample {
    /// Ascending.
    known: Vec<f64>,
    /// How many new scores lie before each known one and after the one before it; the last entry
    /// counts those beyond all.
    between: Vec<u64>,
    /// How many new scores equal each known one; of equal ones the first.
    equal: Vec<u64>,
    count: u64,
}

impl TwoSample {
    /// Takes the known scores, ascending.
    pub fn new(known: &[f64]) -> Self {
        Self {
            known: known.to_vec(),
            between: vec![0; known.len() + 1],
            equal: vec![0; known.len()],
            count: 0,
        }
    }

    /// Takes a new score.
    pub fn add(&mut self, score: f64) {
        let place = self.known.partition_point(|&own| own < score);
        self.count += 1;
        if self.known.get(place) == Some(&score) {
            self.equal[place] += 1;
        } else {
            self.between[place] += 1;
        }
    }

    /// How many new scores there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The largest distance between the two distribution functions.
    pub fn distance(&self) -> f64 {
        let n = self.known.len() as f64;
        let new = self.count as f64;
        let mut largest = 0.0_f64;
        let mut below = 0;
        let mut i = 0;
        while i < self.known.len() {
            let tied = self.known[i..].iter().take_while(|&&own| own == self.known[i]).count();
            below += self.between[i];
            let before = below as f64 / new - i as f64 / n;
            below += self.equal[i];
            let after = below as f64 / new - (i + tied) as f64 / n;
            largest = largest.max(before.abs()).max(after.abs());
            i += tied;
        }
        largest
    }

    /// The asymptotic p-value of the distance with Stephens' correction; none without scores on
    /// both sides.
    pub fn p_value(&self) -> Option<f64> {
        if self.known.is_empty() || self.count == 0 {
            return None;
        }
        let n = self.known.len() as f64;
        let new = self.count as f64;
        let root = (n * new / (n + new)).sqrt();
        Some(kolmogorov((root + 0.12 + 0.11 / root) * self.distance()))
    }
}

/// Q(z) = 2 Σ (−1)^{k−1} exp(−2k²z²).
fn kolmogorov(z: f64) -> f64 {
    if z < 0.2 {
        return 1.0;
    }
    let term = |k: i32| {
        let k = f64::from(k);
        let sign = if k % 2.0 == 1.0 { 2.0 } else { -2.0 };
        sign * (-2.0 * k * k * z * z).exp()
    };
    (1..=100).map(term).sum::<f64>().clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::seed::{Purpose, Rng};

    fn compare(known: &mut [f64], new: &[f64]) -> TwoSample {
        known.sort_by(f64::total_cmp);
        let mut test = TwoSample::new(known);
        new.iter().for_each(|&score| test.add(score));
        test
    }

    /// By definition, over all points.
    fn by_hand(known: &[f64], new: &[f64]) -> f64 {
        let share = |scores: &[f64], x: f64| {
            scores.iter().filter(|&&score| score <= x).count() as f64 / scores.len() as f64
        };
        known
            .iter()
            .chain(new)
            .map(|&x| (share(known, x) - share(new, x)).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn the_distance_is_the_largest_over_all_points() {
        let mut rng = Rng::new(1, 0, Purpose::Split);
        for (n, new) in [(1, 1), (5, 9), (40, 13), (30, 200)] {
            let mut known: Vec<f64> = (0..n).map(|_| (10.0 * rng.uniform()).round()).collect();
            let new: Vec<f64> = (0..new)
                .map(|_| (10.0 * rng.uniform()).round() + 0.5 * rng.uniform().round())
                .collect();
            let test = compare(&mut known, &new);
            assert!((test.distance() - by_hand(&known, &new)).abs() < 1e-12);
        }
    }

    /// scipy.stats.kstwobign.sf(1.0) and of 1.5.
    #[test]
    fn the_tail_is_kolmogorovs() {
        assert!((kolmogorov(1.0) - 0.269_999_671_677_355_2).abs() < 1e-12);
        assert!((kolmogorov(1.5) - 0.022_217_962_616_525_086).abs() < 1e-12);
    }

    /// Under exchangeability 1 % of p-values are below 0.01, and a shift is found.
    #[test]
    fn the_level_holds_and_a_shift_is_found() {
        let mut rng = Rng::new(2, 0, Purpose::Split);
        let mut refused = 0;
        for _ in 0..2000 {
            let mut known: Vec<f64> = (0..30).map(|_| rng.uniform()).collect();
            let new: Vec<f64> = (0..60).map(|_| rng.uniform()).collect();
            refused += usize::from(compare(&mut known, &new).p_value().unwrap() < 0.01);
        }
        assert!(refused <= 34, "{refused} of 2000 at 1 %: the binomial 99.9 % quantile is 34");
        let mut known: Vec<f64> = (0..30).map(|_| rng.uniform()).collect();
        let new: Vec<f64> = (0..60).map(|_| 0.5 + rng.uniform()).collect();
        assert!(compare(&mut known, &new).p_value().unwrap() < 0.01);
        assert_eq!(compare(&mut [], &new).p_value(), None);
    }
}
