//! β under a product kernel: the Shapley share of every unit in the decision values of rows (docs/method.md section 15). Pure
//! functions of numbers; they know nothing of how models are fitted.
//!
//! f(x) = Σ_s c_s (Π_u k_u(x, s) + 1). The share of unit u is φ_u(x) = Σ_s c_s (k_u − 1) ∫₀¹ Π_{l≠u} (1 − τ + τ k_l) dτ, and a
//! quadrature with ⌈t/2⌉ nodes integrates the polynomial of degree t − 1 exactly. Fewer do where a proven bound says so.

use pulp::{cast, f64x8};

use crate::linalg::exp;
use crate::linalg::simd::{LANES, kernel, sum};

/// The integral of one pair of rows may be off by this much; it is at most 1. Rounding adds up to some 1e-15.
const TOLERANCE: f64 = 1e-13;

/// Up to so many units the integral is always exact.
const EXACT_UNITS: usize = 8;

/// Gauss–Legendre quadrature on [0, 1] for every number of nodes that was asked for.
#[derive(Debug, Clone, Default)]
pub struct Quadratures {
    by_count: Vec<Option<Quadrature>>,
}

/// Nodes and their weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Quadrature {
    nodes: Vec<f64>,
    weights: Vec<f64>,
}

impl Quadratures {
    /// Makes sure that all rules of up to so many nodes are there.
    fn up_to(&mut self, count: usize) {
        for nodes in self.by_count.len()..=count {
            self.by_count.push((nodes > 0).then(|| Quadrature::new(nodes)));
        }
    }

    fn rule(&self, count: usize) -> &Quadrature {
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
    let (mut before, mut value) = (1.0, z);
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

/// The ratio of the error bounds of q and of q − 1 nodes; without nodes the bound is 1.
///
/// Gauss–Legendre with q nodes differs from ∫₀¹ Π_l (1 − τ a_l) dτ, where 0 ≤ a_l ≤ 1 and Σ a_l = `total`, by at most
/// totalᵖ (q!)⁴ / ((2q + 1) ((2q)!)³) with p = 2q: the error of the rule is g⁽²q⁾(ξ) (q!)⁴ / ((2q + 1) ((2q)!)³), and |g⁽ʳ⁾| ≤ r! e_r(a) ≤ (Σ a)ʳ,
/// where e_r is the elementary symmetric polynomial: factors that are not differentiated are between 0 and 1.
#[inline(always)]
fn bound_ratio(total: f64, q: usize) -> f64 {
    let q = q as f64;
    let last = 2.0 * q * (2.0 * q - 1.0);
    total * total * q.powi(4) * (2.0 * q - 1.0) / ((2.0 * q + 1.0) * last * last * last)
}

/// The fewest nodes that are exact for this many units, or that the bound allows.
#[inline(always)]
fn nodes_needed(total: f64, units: usize) -> usize {
    let exact = units.div_ceil(2);
    if units <= EXACT_UNITS {
        return exact;
    }
    let mut bound = 1.0;
    for q in 1..exact {
        bound *= bound_ratio(total, q);
        if bound <= TOLERANCE {
            return q;
        }
    }
    exact
}

/// Rows as the sums below need them: row by row, only the columns present, those of a unit one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Rows × columns.
    pub cells: &'a [f64],
    /// How many columns.
    pub columns: usize,
}

impl<'a> Rows<'a> {
    fn count(&self) -> usize {
        self.cells.len() / self.columns.max(1)
    }

    fn row(&self, i: usize) -> &'a [f64] {
        &self.cells[i * self.columns..(i + 1) * self.columns]
    }
}

/// Σ_i Σ_s weight(i, s) · φ_u(x_i, s) for every unit u, where weights come as one row per supporting row s, one entry per row x_i.
///
/// `ends` says where the columns of each unit end; `gamma` is that of k_u = exp(−γ ‖x_u − s_u‖²).
pub fn shapley_sums(
    rows: Rows<'_>,
    support: Rows<'_>,
    ends: &[usize],
    gamma: f64,
    weights: &[f64],
    rules: &mut Quadratures,
) -> Vec<f64> {
    let units = ends.len();
    rules.up_to(units.div_ceil(2));
    let mut work = Work {
        block: vec![0.0; rows.columns * LANES],
        lost: vec![0.0; units * LANES],
        integral: vec![0.0; units * LANES],
        products: vec![0.0; 2 * units * LANES * TOGETHER],
        sums: vec![0.0; units * LANES],
    };
    for first in (0..rows.count()).step_by(LANES) {
        let lanes = LANES.min(rows.count() - first);
        for lane in 0..LANES {
            // The last block repeats its last row, with weight zero.
            let row = rows.row(first + lane.min(lanes - 1));
            row.iter().enumerate().for_each(|(column, &value)| work.block[column * LANES + lane] = value);
        }
        let mut weight = [0.0; LANES];
        for s in 0..support.count() {
            weight[..lanes].copy_from_slice(&weights[s * rows.count() + first..][..lanes]);
            if weight != [0.0; LANES] {
                add_pairs(support.row(s), ends, gamma, weight, rules, &mut work);
            }
        }
    }
    work.sums.as_chunks::<LANES>().0.iter().map(|lanes| -lanes_sum(lanes)).collect()
}

fn lanes_sum(lanes: &[f64; LANES]) -> f64 {
    sum(cast(*lanes))
}

/// How many nodes are computed at once.
const TOGETHER: usize = 4;

/// What one block of rows needs, eight lanes for each entry.
pub struct Work {
    /// The rows of the block: columns × lanes.
    block: Vec<f64>,
    /// 1 − k_u.
    lost: Vec<f64>,
    /// ∫ Π_{l≠u}.
    integral: Vec<f64>,
    /// For each unit, at the nodes that are computed at once: the product of the factors before it, then its own factor.
    products: Vec<f64>,
    /// The result.
    sums: Vec<f64>,
}

kernel! {
    /// Adds the shares of a block of rows with one supporting row.
    add_pairs(s; support: &[f64], ends: &[usize], gamma: f64, weight: [f64; LANES], rules: &Quadratures, work: &mut Work) {
        let Work { block, lost, integral, products, sums } = work;
        let (block, lost) = (block.as_chunks::<LANES>().0, lost.as_chunks_mut::<LANES>().0);
        let (integral, sums) = (integral.as_chunks_mut::<LANES>().0, sums.as_chunks_mut::<LANES>().0);
        let one = s.splat_f64s(1.0);
        let mut total = s.splat_f64s(0.0);
        let mut start = 0;
        for (lost, &end) in lost.iter_mut().zip(ends) {
            let mut square = s.splat_f64s(0.0);
            for (values, &own) in block[start..end].iter().zip(&support[start..end]) {
                let difference = s.sub_f64s(cast(*values), s.splat_f64s(own));
                square = s.add_f64s(square, s.mul_f64s(difference, difference));
            }
            let gone = s.sub_f64s(one, exp(s, s.mul_f64s(square, s.splat_f64s(-gamma))));
            total = s.add_f64s(total, gone);
            *lost = cast(gone);
            start = end;
        }
        let totals: [f64; LANES] = cast(total);
        let count = nodes_needed(totals.iter().fold(0.0, |most, &total| f64::max(most, total)), ends.len());
        let rule = rules.rule(count);
        integral.fill([0.0; LANES]);
        let mut node = 0;
        while node < count {
            let together = if count - node >= TOGETHER { TOGETHER } else { 1 };
            if together == TOGETHER {
                add_nodes::<_, TOGETHER>(s, rule, node, lost, products, integral);
            } else {
                add_nodes::<_, 1>(s, rule, node, lost, products, integral);
            }
            node += together;
        }
        let weight = cast(weight);
        for ((sums, lost), integral) in sums.iter_mut().zip(lost.iter()).zip(integral.iter()) {
            let share = s.mul_f64s(s.mul_f64s(weight, cast(*lost)), cast(*integral));
            *sums = cast(s.add_f64s(cast(*sums), share));
        }
    }
}

/// Adds what some nodes contribute to the integrals, by products of the factors before and after each unit: no division.
#[inline(always)]
fn add_nodes<S: crate::linalg::simd::Lanes, const N: usize>(
    s: S,
    rule: &Quadrature,
    first: usize,
    lost: &[[f64; LANES]],
    products: &mut [f64],
    integral: &mut [[f64; LANES]],
) {
    let one = s.splat_f64s(1.0);
    let mut tau = [one; N];
    let (mut before, mut after) = ([one; N], [one; N]);
    for n in 0..N {
        tau[n] = s.splat_f64s(rule.nodes[first + n]);
        after[n] = s.splat_f64s(rule.weights[first + n]);
    }
    let products = &mut products.as_chunks_mut::<LANES>().0.as_chunks_mut::<N>().0.as_chunks_mut::<2>().0;
    let products = &mut products[..lost.len()];
    for ([prefix, factors], lost) in products.iter_mut().zip(lost) {
        let lost: f64x8 = cast(*lost);
        for n in 0..N {
            let factor = s.sub_f64s(one, s.mul_f64s(tau[n], lost));
            prefix[n] = cast(before[n]);
            factors[n] = cast(factor);
            before[n] = s.mul_f64s(before[n], factor);
        }
    }
    for ([prefix, factors], integral) in products.iter().zip(integral.iter_mut()).rev() {
        let mut sums: f64x8 = cast(*integral);
        for n in 0..N {
            sums = s.add_f64s(sums, s.mul_f64s(cast(prefix[n]), after[n]));
            after[n] = s.mul_f64s(after[n], cast(factors[n]));
        }
        *integral = cast(sums);
    }
}

/// Guyon's ΔJ_u = ½ Σ_{s,s'} weight(s, s') (K − K/k_u) for every unit, with coefficients frozen; weights come row by row.
pub fn objective_changes(support: Rows<'_>, ends: &[usize], gamma: f64, weights: &[f64]) -> Vec<f64> {
    let (rows, columns) = (support.count(), support.columns);
    let zeros = |count: usize| vec![0.0; count * LANES];
    let mut work = Changes { block: zeros(columns), squares: zeros(ends.len()), sums: zeros(ends.len()) };
    for first in (0..rows).step_by(LANES) {
        let lanes = LANES.min(rows - first);
        for lane in 0..LANES {
            let row = support.row(first + lane.min(lanes - 1));
            row.iter().enumerate().for_each(|(column, &value)| work.block[column * LANES + lane] = value);
        }
        // The matrix is symmetric and its diagonal does not change: pairs with an earlier row are enough.
        for other in 0..(first + lanes).min(rows) {
            let mut weight = [0.0; LANES];
            for (lane, weight) in
                weight[..lanes].iter_mut().enumerate().filter(|(lane, _)| first + lane > other)
            {
                *weight = weights[other * rows + first + lane];
            }
            if weight != [0.0; LANES] {
                add_changes(support.row(other), ends, gamma, weight, &mut work);
            }
        }
    }
    work.sums.as_chunks::<LANES>().0.iter().map(lanes_sum).collect()
}

/// What [`objective_changes`] needs, eight lanes for each entry.
pub struct Changes {
    /// The rows of the block: columns × lanes.
    block: Vec<f64>,
    /// ‖x_u − s_u‖² of each unit.
    squares: Vec<f64>,
    /// The result.
    sums: Vec<f64>,
}

kernel! {
    /// Adds what removing each unit changes for a block of rows with one other row.
    add_changes(s; other: &[f64], ends: &[usize], gamma: f64, weight: [f64; LANES], work: &mut Changes) {
        let Changes { block, squares, sums } = work;
        let block = block.as_chunks::<LANES>().0;
        let (squares, sums) = (squares.as_chunks_mut::<LANES>().0, sums.as_chunks_mut::<LANES>().0);
        let mut total = s.splat_f64s(0.0);
        let mut start = 0;
        for (unit, &end) in squares.iter_mut().zip(ends) {
            let mut square = s.splat_f64s(0.0);
            for (values, &own) in block[start..end].iter().zip(&other[start..end]) {
                let difference = s.sub_f64s(cast(*values), s.splat_f64s(own));
                square = s.add_f64s(square, s.mul_f64s(difference, difference));
            }
            total = s.add_f64s(total, square);
            *unit = cast(square);
            start = end;
        }
        let (factor, zero) = (s.splat_f64s(-gamma), s.splat_f64s(0.0));
        let whole = exp(s, s.mul_f64s(total, factor));
        for (sums, square) in sums.iter_mut().zip(squares.iter()) {
            // Rounding may leave less than nothing.
            let rest = s.max_f64s(s.sub_f64s(total, cast(*square)), zero);
            let change = s.sub_f64s(whole, exp(s, s.mul_f64s(rest, factor)));
            *sums = cast(s.add_f64s(cast(*sums), s.mul_f64s(cast(weight), change)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linalg::simd::limited;

    /// A repeatable sequence in [0, 1).
    fn draws(mut state: u64) -> impl FnMut() -> f64 {
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    struct Case {
        rows: Vec<f64>,
        support: Vec<f64>,
        ends: Vec<usize>,
        columns: usize,
        gamma: f64,
        weights: Vec<f64>,
    }

    /// Rows, supporting rows and units of one to three columns.
    fn case(seed: u64, units: usize, rows: usize, support: usize, gamma: f64) -> Case {
        let mut draw = draws(seed);
        let mut ends = Vec::new();
        for _ in 0..units {
            ends.push(ends.last().unwrap_or(&0) + 1 + (3.0 * draw() * draw()) as usize);
        }
        let columns = ends[units - 1];
        let mut cells = |rows: usize| (0..rows * columns).map(|_| 4.0 * draw() - 2.0).collect::<Vec<f64>>();
        let (rows_cells, support_cells) = (cells(rows), cells(support));
        let weights = (0..rows * support).map(|_| draw() - 0.5).collect();
        Case { rows: rows_cells, support: support_cells, ends, columns, gamma, weights }
    }

    impl Case {
        fn ours(&self) -> Vec<f64> {
            let of = |cells| Rows { cells, columns: self.columns };
            let mut rules = Quadratures::default();
            shapley_sums(of(&self.rows), of(&self.support), &self.ends, self.gamma, &self.weights, &mut rules)
        }

        /// k_u of a row and a supporting row.
        fn kernels(&self, i: usize, s: usize) -> Vec<f64> {
            let mut start = 0;
            let kernel = |&end: &usize| {
                let square: f64 = (start..end)
                    .map(|j| (self.rows[i * self.columns + j] - self.support[s * self.columns + j]).powi(2))
                    .sum();
                start = end;
                (-self.gamma * square).exp()
            };
            self.ends.iter().map(kernel).collect()
        }

        /// Shapley's definition: the mean over all subsets of the others of what a unit adds.
        fn by_subsets(&self) -> Vec<f64> {
            let units = self.ends.len();
            let (rows, support) = (self.rows.len() / self.columns, self.support.len() / self.columns);
            let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
            let mut shares = vec![0.0; units];
            for s in 0..support {
                for i in 0..rows {
                    let kernels = self.kernels(i, s);
                    let value = |set: usize| {
                        (0..units).filter(|u| set >> u & 1 == 1).map(|u| kernels[u]).product::<f64>()
                    };
                    for (u, share) in shares.iter_mut().enumerate() {
                        for set in (0..1_usize << units).filter(|set| set >> u & 1 == 0) {
                            let size = set.count_ones() as usize;
                            let weight = factorial(size) * factorial(units - 1 - size) / factorial(units);
                            *share +=
                                self.weights[s * rows + i] * weight * (value(set | 1 << u) - value(set));
                        }
                    }
                }
            }
            shares
        }
    }

    #[test]
    fn shares_are_shapleys_up_to_eight_units() {
        for units in 1..=8 {
            for (seed, gamma) in [(1, 0.1), (2, 1.0), (3, 9.0)] {
                let case = case(seed + 10 * units as u64, units, 11, 5, gamma);
                for (ours, exact) in case.ours().iter().zip(case.by_subsets()) {
                    assert!((ours - exact).abs() < 1e-13, "{units} {gamma}: {ours} {exact}");
                }
            }
        }
    }

    #[test]
    fn shares_add_up_to_the_decision_values() {
        for (units, gamma) in [(3, 0.3), (20, 0.05), (75, 0.013), (75, 0.2), (260, 0.5)] {
            let case = case(7, units, 13, 9, gamma);
            let total: f64 = case.ours().iter().sum();
            let whole: f64 = (0..9)
                .flat_map(|s| (0..13).map(move |i| (s, i)))
                .map(|(s, i)| case.weights[s * 13 + i] * (case.kernels(i, s).iter().product::<f64>() - 1.0))
                .sum();
            assert!((total - whole).abs() < 1e-12, "{units} {gamma}: {total} {whole}");
        }
    }

    #[test]
    fn rules_integrate_polynomials_exactly() {
        for count in [1, 2, 3, 7, 16, 50, 250] {
            let rule = Quadrature::new(count);
            assert!(rule.nodes.windows(2).all(|pair| pair[0] < pair[1]), "{count}: the roots are all found");
            for degree in [0, 1, count, 2 * count - 1] {
                let sum: f64 =
                    rule.nodes.iter().zip(&rule.weights).map(|(x, w)| w * x.powi(degree as i32)).sum();
                assert!((sum * (degree + 1) as f64 - 1.0).abs() < 1e-12, "{count} {degree}: {sum}");
            }
        }
    }

    /// How far a rule with so many nodes can be off.
    fn error_bound(total: f64, nodes: usize) -> f64 {
        (1..=nodes).fold(1.0, |bound, q| bound * bound_ratio(total, q))
    }

    /// The bound holds, and is not empty talk: a rule with fewer nodes than needed is off by more than the tolerance.
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
                    let (error, bound) = ((integral(count) - exact).abs(), error_bound(total, count));
                    assert!(error <= bound + 1e-14, "{units} {scale} {count}: {error:e} {bound:e}");
                    tight += usize::from(bound > 1e-12 && error > bound / 100.0);
                    checked += 1;
                }
                let needed = nodes_needed(total, units);
                assert!(needed <= units.div_ceil(2));
                assert!(2 * needed >= units || error_bound(total, needed) <= TOLERANCE);
            }
        }
        assert!(tight > 5 && checked > 300, "{tight} of {checked} within a hundredth of their bound");
    }

    #[test]
    fn every_width_gives_the_same_bits() {
        let case = case(3, 23, 19, 6, 0.07);
        let of = |widest| {
            limited::to(widest, || case.ours()).iter().map(|value| value.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(of(512), of(128));
        assert_eq!(of(256), of(128));
    }

    #[test]
    fn changes_of_the_objective_are_guyons() {
        let case = Case { rows: Vec::new(), ..case(4, 6, 0, 21, 0.2) };
        let case = Case { rows: case.support.clone(), ..case };
        let mut draw = draws(9);
        let coefficients: Vec<f64> = (0..21).map(|_| draw() - 0.5).collect();
        let weights: Vec<f64> =
            (0..21 * 21).map(|at| coefficients[at / 21] * coefficients[at % 21]).collect();
        let support = Rows { cells: &case.support, columns: case.columns };
        let ours = objective_changes(support, &case.ends, case.gamma, &weights);
        for (u, ours) in ours.iter().enumerate() {
            let mut change = 0.0;
            for s in 0..21 {
                for i in 0..21 {
                    let kernels = case.kernels(i, s);
                    let (whole, without): (f64, f64) = (
                        kernels.iter().product(),
                        kernels.iter().enumerate().filter(|(l, _)| *l != u).map(|(_, k)| k).product(),
                    );
                    change += 0.5 * weights[s * 21 + i] * (whole - without);
                }
            }
            assert!((ours - change).abs() < 1e-13, "{u}: {ours} {change}");
        }
    }
}
