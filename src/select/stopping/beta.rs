//! The β rule, the paper's: stop before mean β first drops by more than its noise (docs/method.md
//! section 5). A function of a finished or growing path, so replaying it needs no fit.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Chooses, PathEnd, PathPoints, Rule, StopRule};

/// The entry in the list of rules.
pub const RULE: Rule = Rule {
    rule: StopRule::Beta,
    name: "beta",
    symbol: "β",
    label: "β rule",
    letter: "B",
    prose: |beta_rule| {
        let percent = (beta_rule.window * 1e6).round() / 1e4;
        format!(
            "the β-based rule of [1] (k = {}, window {percent} % of the features)",
            beta_rule.sigma
        )
    },
    chooses: Chooses::ByPath(choose),
};

/// Where the rule fires first; where a path ended early, it ended because it fired there, or did
/// not fire at all.
fn choose(path: &PathPoints<'_>) -> Option<usize> {
    match path.end {
        PathEnd::Early { fired } => path.points.last().filter(|_| fired).map(|&(size, _)| size),
        PathEnd::Complete => path.beta_rule.size(path.points, path.units),
    }
}

/// The two numbers of the β rule.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BetaRule {
    /// k, the paper's σ: how many standard deviations.
    pub sigma: f64,
    /// The share of features that ψ counts.
    pub window: f64,
}

impl Default for BetaRule {
    fn default() -> Self {
        Self { sigma: 5.0, window: 0.4 }
    }
}

/// `k`, or `k:window`.
impl FromStr for BetaRule {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.parse().map_err(|_| OUT_OF_RANGE.to_owned());
        let rule = match text.split_once(':') {
            Some((sigma, window)) => Self { sigma: number(sigma)?, window: number(window)? },
            None => Self { sigma: number(text)?, ..Self::default() },
        };
        rule.check()
    }
}

const OUT_OF_RANGE: &str = "write beta, or beta:5:0.4 with standard deviations above 0 (the paper uses 3 to 5) and a share of the features \
    above 0 and at most 1";

/// The stopping statistic at one step.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stopping {
    /// D_t[−2], the newest second derivative that is not one-sided.
    pub statistic: f64,
    /// −k·std(D_{t−1}).
    pub threshold: f64,
    /// Whether the statistic is below the threshold.
    pub fired: bool,
}

impl BetaRule {
    /// Refuses numbers that no rule has.
    pub fn check(self) -> Result<Self, String> {
        let Self { sigma, window } = self;
        let is_valid = sigma > 0.0 && sigma.is_finite() && window > 0.0 && window <= 1.0;
        if is_valid { Ok(self) } else { Err(OUT_OF_RANGE.to_owned()) }
    }

    /// ψ = max(3, ⌊window · p⌋).
    pub fn psi(&self, units: usize) -> usize {
        ((self.window * units as f64).floor() as usize).max(3)
    }

    /// The test after the means b_0..b_t; `None` while warming up.
    pub fn test<'a>(&self, means: &'a [f64], units: usize) -> Option<Stopping> {
        let psi = self.psi(units);
        let warm_up = ((psi as f64 / 2.0).round_ties_even() as usize).max(3);
        if means.len() <= warm_up {
            return None;
        }
        let latest = |means: &'a [f64], most: usize| &means[means.len().saturating_sub(most)..];
        // The last but one of D_t depends on the last four means only.
        let now = curvature(latest(latest(means, psi + 1), 5));
        let before = curvature(latest(&means[..means.len() - 1], psi + 1));
        let statistic = now[now.len() - 2];
        let threshold = -self.sigma * sample_deviation(&before);
        Some(Stopping { statistic, threshold, fired: statistic < threshold })
    }

    /// The size kept: the first step that fires; `None` if none does. `path` is (size, mean β) of
    /// every model, in order.
    pub fn size(&self, path: &[(usize, f64)], units: usize) -> Option<usize> {
        let means: Vec<f64> = path.iter().map(|&(_, mean)| mean).collect();
        let window = self.psi(units) + 1;
        let spreads = Spreads::new(&means);
        // Tested before each removal, so not at the last model.
        (1..path.len())
            .filter(|&t| spreads.may_fire(&means[..t], window, self.sigma))
            .find(|&t| self.test(&means[..t], units).is_some_and(|test| test.fired))
            .map(|t| path[t - 1].0)
    }
}

/// Running sums of second derivatives: a long path is replayed in one pass, and only steps near the
/// threshold are tested.
struct Spreads {
    /// For each step i the sums of c and c² over the steps before it, where c is the central second
    /// derivative.
    sums: Vec<(f64, f64)>,
}

impl Spreads {
    fn new(means: &[f64]) -> Self {
        let mut sums = vec![(0.0, 0.0); means.len().min(3)];
        for around in means.windows(5) {
            let c = (around[4] - 2.0 * around[2] + around[0]) / 4.0;
            let (sum, squares) = sums[sums.len() - 1];
            sums.push((sum + c, squares + c * c));
        }
        Self { sums }
    }

    /// False only if the rule certainly does not fire after these means.
    fn may_fire(&self, means: &[f64], window: usize, sigma: f64) -> bool {
        let [.., b, _, y, z] = *means else { return true };
        let before = &means[..means.len() - 1];
        let from = before.len().saturating_sub(window);
        let now = &means[means.len().saturating_sub(window)..];
        let inside = &before[from..];
        // Short windows are mostly ends; their test is cheap.
        if inside.len() < 16 || now.len() < 16 {
            return true;
        }
        // The newest that is not one-sided: see the closed form in the tests.
        let statistic = (2.0 * z - 3.0 * y + b) / 4.0;
        let n = inside.len();
        let first = curvature(&inside[..4]);
        let last = curvature(&inside[n - 4..]);
        let ends = [first[0], first[1], last[2], last[3]];
        let low = self.sums[from + 2];
        let high = self.sums[before.len() - 2];
        let sum = high.0 - low.0 + ends.iter().sum::<f64>();
        let squares = high.1 - low.1 + ends.iter().map(|d| d * d).sum::<f64>();
        let variance = (squares - sum * sum / n as f64) / (n as f64 - 1.0);
        // An upper bound on the rounding error: the sums reach back to the start.
        let doubt = 1e-9 * (high.1 + squares) + f64::MIN_POSITIVE;
        // NaN is in doubt.
        let threshold = -sigma * (variance - doubt).max(0.0).sqrt();
        statistic < threshold || statistic.is_nan() || threshold.is_nan()
    }
}

/// The gradient of the gradient: central differences inside, one-sided at the ends, unit spacing.
fn curvature(values: &[f64]) -> Vec<f64> {
    gradient(&gradient(values))
}

/// First derivative of mean β and the like, as numpy's `gradient`; fewer than two values have none.
pub fn gradient(values: &[f64]) -> Vec<f64> {
    let ([first, second, ..], [.., last_but_one, last]) = (values, values) else {
        return vec![0.0; values.len()];
    };
    let mut gradient = Vec::with_capacity(values.len());
    gradient.push(second - first);
    gradient.extend(values.iter().zip(&values[2..]).map(|(before, after)| (after - before) / 2.0));
    gradient.push(last - last_but_one);
    gradient
}

/// Standard deviation with n − 1.
fn sample_deviation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = sum_of(values, |value| value) / n;
    (sum_of(values, |value| (value - mean).powi(2)) / (n - 1.0)).sqrt()
}

/// A sum in eight independent lanes: windows of wide tables are long.
fn sum_of(values: &[f64], term: impl Fn(f64) -> f64) -> f64 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for eight in eights {
        lanes.iter_mut().zip(eight).for_each(|(lane, &value)| *lane += term(value));
    }
    lanes.into_iter().chain(rest.iter().map(|&value| term(value))).sum()
}

#[cfg(test)]
mod tests {
    use super::super::knee::knee_rule;
    use super::*;

    fn path(means: &[f64]) -> Vec<(usize, f64)> {
        means.iter().enumerate().map(|(t, &mean)| (means.len() - t, mean)).collect()
    }

    /// The sizes of both rules, with k = 5 and k = 3, computed independently.
    #[test]
    fn fixtures_agree_on_both_rules() {
        let file = include_str!("../../../tests/fixtures/stopping.json");
        let fixture: serde_json::Value = serde_json::from_str(file).unwrap();
        for case in fixture["cases"].as_array().unwrap() {
            let means: Vec<f64> =
                case["beta_mean"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect();
            let path = path(&means);
            let units = means.len();
            let expected = |key: &str| case[key].as_u64().unwrap() as usize;
            let rule = BetaRule::default();
            assert_eq!(rule.psi(units), expected("psi"));
            assert_eq!(rule.size(&path, units).unwrap_or(1), expected("selected_size_recommended"));
            let loose = BetaRule { sigma: 3.0, ..rule };
            assert_eq!(
                loose.size(&path, units).unwrap_or(1),
                expected("selected_size_recommended_k3")
            );
            assert_eq!(knee_rule(&path, units), Some(expected("selected_size_knee")));
        }
    }

    #[test]
    fn newest_inner_curvature_has_the_closed_form() {
        let means = [1.0, 0.5, 0.7, -0.3, -2.0];
        let d = curvature(&means);
        assert!((d[3] - (2.0 * means[4] - 3.0 * means[3] + means[1]) / 4.0).abs() < 1e-15);
    }

    #[test]
    fn one_pass_finds_the_step_that_every_test_finds() {
        let mut state = 1_u64;
        let mut noise = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as f64 / f64::from(1_u32 << 31) - 0.5
        };
        let mut fired = 0;
        for case in 0..300 {
            let units = 20 + case;
            let scale = [1e-6, 1.0, 1e6][case % 3];
            let means: Vec<f64> = (0..units)
                .map(|t| {
                    let drop = if t > units / 2 && t % 37 == 0 {
                        noise() * (case % 7) as f64
                    } else {
                        0.0
                    };
                    scale * (-1.0 / (units - t) as f64 + 0.01 * noise() + drop)
                })
                .collect();
            let path = path(&means);
            for (sigma, window) in [(20.0, 0.4), (5.0, 0.4), (2.0, 0.1), (1.0, 1.0)] {
                let rule = BetaRule { sigma, window };
                let each = (1..path.len())
                    .find(|&t| rule.test(&means[..t], units).is_some_and(|test| test.fired))
                    .map(|t| path[t - 1].0);
                assert_eq!(
                    rule.size(&path, units),
                    each,
                    "case {case}, k {sigma}, window {window}"
                );
                fired += usize::from(each.is_some());
            }
        }
        assert!((1..1200).contains(&fired), "both outcomes are seen: {fired}");
    }

    #[test]
    fn stops_before_the_drop() {
        let mut means = vec![-1.0; 20];
        means.iter_mut().enumerate().for_each(|(t, mean)| *mean -= 0.01 * t as f64);
        means[15] = -9.0;
        assert_eq!(BetaRule::default().size(&path(&means), 20), Some(5));
    }
}
