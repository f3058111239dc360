//! Gauss–Legendre quadrature, and how many nodes a product of factors needs: a proven bound
//! (docs/method.md section 15).

/// The integral of one pair of rows may be off by this much; it is at most 1. Rounding adds up to
/// some 1e-15.
const TOLERANCE: f64 = 1e-11;

/// Up to this number of units the integral is always exact.
const EXACT_UNITS: usize = 8;

/// Gauss–Legendre quadrature on [0, 1] for every number of nodes that was asked for.
#[derive(Debug, Clone, Default)]
pub struct Quadratures {
    by_count: Vec<Option<Quadrature>>,
}

/// Nodes and their weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Quadrature {
    /// Ascending.
    pub nodes: Vec<f64>,
    /// Their sum is 1.
    pub weights: Vec<f64>,
}

impl Quadratures {
    /// Makes sure that all rules of up to `count` nodes are there.
    pub fn up_to(&mut self, count: usize) {
        for nodes in self.by_count.len()..=count {
            self.by_count.push((nodes > 0).then(|| Quadrature::new(nodes)));
        }
    }

    pub fn rule(&self, count: usize) -> &Quadrature {
        self.by_count[count].as_ref().expect("up_to() made every rule from one node on")
    }
}

impl Quadrature {
    /// The roots of the Legendre polynomial, by Newton's method.
    pub fn new(count: usize) -> Self {
        let root = |i: usize| {
            let angle = std::f64::consts::PI * (i as f64 + 0.75) / (count as f64 + 0.5);
            let mut z = cosine(angle);
            for _ in 0..100 {
                let (value, slope) = legendre(count, z);
                let step = value / slope;
                z -= step;
                if step.abs() <= 1e-16 {
                    break;
                }
            }
            let (_, slope) = legendre(count, z);
            (0.5 * (1.0 - z), 1.0 / ((1.0 - z * z) * slope * slope))
        };
        let (nodes, weights) = (0..count).map(root).unzip();
        Self { nodes, weights }
    }
}

/// P_n(z) and its derivative, by the three-term recurrence.
fn legendre(n: usize, z: f64) -> (f64, f64) {
    let mut before = 1.0;
    let mut value = z;
    for k in 2..=n {
        let k = k as f64;
        (before, value) = (value, ((2.0 * k - 1.0) * z * value - (k - 1.0) * before) / k);
    }
    (value, n as f64 * (z * value - before) / (z * z - 1.0))
}

/// The cosine of an angle from 0 to π, from its series: the same bits everywhere.
fn cosine(angle: f64) -> f64 {
    if angle > std::f64::consts::FRAC_PI_2 {
        return -cosine(std::f64::consts::PI - angle);
    }
    let square = angle * angle;
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..14 {
        let k = f64::from(k);
        term *= -square / ((2.0 * k - 1.0) * (2.0 * k));
        sum += term;
    }
    sum
}

/// The ratio of the error bounds of q and of q − 1 nodes for a total of 1; without nodes the bound
/// is 1. It goes with the square of the total.
///
/// Gauss–Legendre with q nodes differs from g = ∫₀¹ Π_l (1 − τ a_l) dτ over m factors, where 0 ≤
/// a_l ≤ 1 and Σ a_l ≤ A, by at most Aʳ Π_{i<r} (1 − i/m) · (q!)⁴ / ((2q + 1) ((2q)!)³) with r =
/// 2q. Proof: the error of the rule is g⁽ʳ⁾(ξ) (q!)⁴ / ((2q + 1) ((2q)!)³); factors that are not
/// differentiated are between 0 and 1, so |g⁽ʳ⁾| ≤ r! e_r(a), where e_r is the elementary symmetric
/// polynomial; and e_r(a) ≤ C(m, r) (A/m)ʳ by Maclaurin's inequality.
fn bound_ratio(factors: usize, q: usize) -> f64 {
    let (m, q) = (factors as f64, q as f64);
    let last = 2.0 * q * (2.0 * q - 1.0);
    let fewer = (1.0 - (2.0 * q - 2.0) / m).max(0.0) * (1.0 - (2.0 * q - 1.0) / m).max(0.0);
    fewer * q.powi(4) * (2.0 * q - 1.0) / ((2.0 * q + 1.0) * last * last * last)
}

/// How many nodes each pair needs, for one number of units.
pub struct NodeCounts {
    /// Exact for any pair.
    exact: usize,
    /// The largest total for which one node is enough, two nodes, …; empty where every pair is
    /// integrated exactly.
    limits: Vec<f64>,
}

/// Limits are multiples of one over this.
const LIMIT_STEPS: usize = 256;

impl NodeCounts {
    /// For some number of units.
    pub fn new(units: usize) -> Self {
        let exact = units.div_ceil(2);
        let counts = if units <= EXACT_UNITS { 1..1 } else { 1..exact };
        let (mut ratios, mut limits) = (Vec::new(), Vec::new());
        for q in counts {
            ratios.push(bound_ratio(units - 1, q));
            let value = |step: usize| step as f64 / LIMIT_STEPS as f64;
            let suffices = |total: f64| {
                ratios.iter().map(|ratio| total * total * ratio).product::<f64>() <= TOLERANCE
            };
            // The total is below the number of units.
            let mut low = 0;
            let mut high = units * LIMIT_STEPS;
            while high - low > 1 {
                let middle = low.midpoint(high);
                if suffices(value(middle)) {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            limits.push(value(low));
        }
        Self { exact, limits }
    }

    /// The fewest nodes that are exact, or that the bound allows for a total.
    #[inline(always)]
    pub fn of(&self, total: f64) -> usize {
        self.limits.iter().position(|&limit| total <= limit).map_or(self.exact, |before| before + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::draws;
    use super::*;

    #[test]
    fn rules_integrate_polynomials_exactly() {
        for count in [1, 2, 3, 7, 16, 50, 250] {
            let rule = Quadrature::new(count);
            assert!(
                rule.nodes.windows(2).all(|pair| pair[0] < pair[1]),
                "{count}: the roots are all found"
            );
            for degree in [0, 1, count, 2 * count - 1] {
                let sum: f64 = rule
                    .nodes
                    .iter()
                    .zip(&rule.weights)
                    .map(|(x, w)| w * x.powi(degree as i32))
                    .sum();
                assert!((sum * (degree + 1) as f64 - 1.0).abs() < 1e-12, "{count} {degree}: {sum}");
            }
        }
    }

    /// The largest error of a rule with `nodes` nodes.
    fn error_bound(total: f64, factors: usize, nodes: usize) -> f64 {
        (1..=nodes).fold(1.0, |bound, q| bound * total * total * bound_ratio(factors, q))
    }

    /// The bound holds, and is not empty talk: a rule with fewer nodes than needed is off by more
    /// than the tolerance.
    #[test]
    fn errors_are_below_their_bound() {
        let mut draw = draws(5);
        let (mut tight, mut checked) = (0, 0);
        for units in [4_usize, 9, 20, 40, 90] {
            for scale in [0.02, 0.1, 0.4, 1.0] {
                let lost: Vec<f64> = (0..units).map(|_| scale * draw()).collect();
                let total: f64 = lost.iter().sum();
                let product = |tau: f64| lost.iter().map(|lost| 1.0 - tau * lost).product::<f64>();
                let integral = |count: usize| {
                    let rule = Quadrature::new(count);
                    rule.nodes.iter().zip(&rule.weights).map(|(&x, w)| w * product(x)).sum::<f64>()
                };
                let exact = integral(units / 2 + 1);
                for count in 1..=units / 2 {
                    let error = (integral(count) - exact).abs();
                    let bound = error_bound(total, units, count);
                    assert!(error <= bound + 1e-14, "{units} {scale} {count}: {error:e} {bound:e}");
                    tight += usize::from(bound > 1e-12 && error > bound / 100.0);
                    checked += 1;
                }
                // As many factors as the integrals of one unit more have.
                let needed = NodeCounts::new(units + 1).of(total);
                assert!(needed <= (units + 1).div_ceil(2));
                assert!(
                    2 * needed > units || error_bound(total, units, needed) <= 1.01 * TOLERANCE
                );
            }
        }
        assert!(
            tight > 5 && checked > 300,
            "{tight} of {checked} within a hundredth of their bound"
        );
    }
}
