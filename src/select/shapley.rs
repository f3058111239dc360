//! β under a product kernel: the Shapley share of every unit in the decision values of rows (docs/method.md section 15). Pure
//! functions of numbers; they know nothing of how models are fitted.
//!
//! f(x) = Σ_s c_s (Π_u k_u(x, s) + 1). The share of unit u is φ_u(x) = Σ_s c_s (k_u − 1) ∫₀¹ Π_{l≠u} (1 − τ + τ k_l) dτ, and a
//! quadrature with ⌈t/2⌉ nodes integrates the polynomial of degree t − 1 exactly. Fewer do where a proven bound says so.

use ndarray::ArrayView2;
use pulp::{cast, f64x8};

use crate::linalg::exp;
use crate::linalg::simd::{LANES, kernel};

/// The integral of one pair of rows may be off by this much; it is at most 1. Rounding adds up to some 1e-15.
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
    nodes: Vec<f64>,
    weights: Vec<f64>,
}

impl Quadratures {
    /// Makes sure that all rules of up to `count` nodes are there.
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

/// The ratio of the error bounds of q and of q − 1 nodes for a total of 1; without nodes the bound is 1. It goes with the square of the
/// total.
///
/// Gauss–Legendre with q nodes differs from g = ∫₀¹ Π_l (1 − τ a_l) dτ over m factors, where 0 ≤ a_l ≤ 1 and Σ a_l ≤ A, by at most
/// Aʳ Π_{i<r} (1 − i/m) · (q!)⁴ / ((2q + 1) ((2q)!)³) with r = 2q. Proof: the error of the rule is g⁽ʳ⁾(ξ) (q!)⁴ / ((2q + 1) ((2q)!)³);
/// factors that are not differentiated are between 0 and 1, so |g⁽ʳ⁾| ≤ r! e_r(a), where e_r is the elementary symmetric polynomial;
/// and e_r(a) ≤ C(m, r) (A/m)ʳ by Maclaurin's inequality.
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
    /// The largest total for which one node is enough, two nodes, …; empty where every pair is integrated exactly.
    limits: Vec<f64>,
}

/// Limits are multiples of one over this.
const LIMIT_STEPS: usize = 256;

impl NodeCounts {
    fn new(units: usize) -> Self {
        let exact = units.div_ceil(2);
        let counts = if units <= EXACT_UNITS { 1..1 } else { 1..exact };
        let (mut ratios, mut limits) = (Vec::new(), Vec::new());
        for q in counts {
            ratios.push(bound_ratio(units - 1, q));
            let value = |step: usize| step as f64 / LIMIT_STEPS as f64;
            let suffices =
                |total: f64| ratios.iter().map(|ratio| total * total * ratio).product::<f64>() <= TOLERANCE;
            // The total is below the number of units.
            let (mut low, mut high) = (0, units * LIMIT_STEPS);
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
    fn of(&self, total: f64) -> usize {
        self.limits.iter().position(|&limit| total <= limit).map_or(self.exact, |before| before + 1)
    }
}

/// The different values that a unit has among the training rows: 1 − k_u is computed once for each, not once for each row.
#[derive(Debug, Clone)]
pub struct Levels {
    /// The level of each training row.
    codes: Vec<u32>,
    /// Levels × columns of the unit.
    cells: Vec<f64>,
    columns: usize,
}

impl Levels {
    /// The levels of some columns of a feature-major matrix.
    pub fn new(x: ArrayView2<'_, f64>, columns: &[usize]) -> Self {
        let compare = |a: usize, b: usize| {
            let by_column = columns.iter().map(|&j| x[[j, a]].total_cmp(&x[[j, b]]));
            by_column.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        };
        let mut rows: Vec<usize> = (0..x.ncols()).collect();
        rows.sort_by(|&a, &b| compare(a, b));
        // For each row, the first one that has its values.
        let mut first: Vec<usize> = (0..x.ncols()).collect();
        for (&before, &row) in rows.iter().zip(rows.iter().skip(1)) {
            if compare(before, row).is_eq() {
                first[row] = first[before];
            }
        }
        // In the order of rows, so that what is read one after the other is stored so.
        let (mut codes, mut cells, mut count) = (Vec::with_capacity(first.len()), Vec::new(), 0);
        for (row, &first) in first.iter().enumerate() {
            if first == row {
                cells.extend(columns.iter().map(|&j| x[[j, row]]));
                codes.push(count);
                count += 1;
            } else {
                codes.push(codes[first]);
            }
        }
        Self { codes, cells, columns: columns.len() }
    }

    fn count(&self) -> usize {
        self.cells.len() / self.columns.max(1)
    }
}

/// Over which coalitions of the other units a unit's contribution is averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coalitions {
    /// All, by Shapley's weights: the shares add up.
    Shapley,
    /// All others together: what is lost when the unit alone is removed.
    AllOthers,
}

/// Rows and supporting rows under a product kernel.
pub struct Pairs<'a> {
    /// Row by row, the columns of a unit one after the other.
    pub rows: &'a [f64],
    /// The units, in the order of these columns.
    pub units: &'a [&'a Levels],
    /// The training rows that support.
    pub support: &'a [usize],
    /// γ of k_u = exp(−γ ‖x_u − s_u‖²).
    pub gamma: f64,
}

impl Pairs<'_> {
    /// Σ_s weight(s, i) · φ_u(x_i, s) for every unit u and row x_i: units × rows. Weights come as one row per supporting row s, one entry
    /// per row x_i.
    pub fn shares(&self, weights: &[f64], coalitions: Coalitions, rules: &mut Quadratures) -> Vec<f64> {
        let (units, columns) = (self.units.len(), self.units.iter().map(|unit| unit.columns).sum::<usize>());
        let rows = self.rows.len() / columns.max(1);
        let counts = match coalitions {
            Coalitions::Shapley => Some(NodeCounts::new(units)),
            Coalitions::AllOthers => None,
        };
        rules.up_to(units.div_ceil(2));
        let places = self.places();
        let (mut shares, mut block) = (vec![0.0; units * rows], vec![[0.0; LANES]; columns]);
        let mut work = Work::new(units);
        let mut table = Vec::new();
        let mut of_block = vec![[0.0; LANES]; self.support.len()];
        for first in (0..rows).step_by(LANES) {
            let lanes = LANES.min(rows - first);
            for lane in 0..LANES {
                // The last block repeats its last row, with weight zero.
                let row = &self.rows[(first + lane.min(lanes - 1)) * columns..][..columns];
                block.iter_mut().zip(row).for_each(|(cells, &cell)| cells[lane] = cell);
            }
            for (own, all) in of_block.iter_mut().zip(weights.chunks_exact(rows)) {
                own[..lanes].copy_from_slice(&all[first..first + lanes]);
                own[lanes..].fill(0.0);
            }
            fill_table(&block, self.units, self.gamma, &mut table);
            work.sums.fill([0.0; LANES]);
            add_block(&table, &places, units, &of_block, (counts.as_ref(), rules), &mut work);
            for (share, sums) in shares.chunks_exact_mut(rows).zip(&work.sums) {
                share[first..first + lanes].iter_mut().zip(sums).for_each(|(share, sum)| *share = -sum);
            }
        }
        shares
    }

    /// For every supporting row the places of its levels in the table of a block, unit by unit.
    fn places(&self) -> Vec<u32> {
        let starts: Vec<u32> = self
            .units
            .iter()
            .scan(0, |start, unit| Some(std::mem::replace(start, *start + unit.count() as u32)))
            .collect();
        let of_row =
            |&row: &usize| self.units.iter().zip(&starts).map(move |(unit, start)| start + unit.codes[row]);
        self.support.iter().flat_map(of_row).collect()
    }
}

/// What a block of rows needs, eight lanes for each entry. Units come in twos; an odd last one has a partner whose factor is 1.
pub struct Work {
    /// 1 − k_u.
    lost: Vec<[f64; LANES]>,
    /// For each two units, at the nodes that are computed at once: the product of the factors before them, then their own.
    products: Vec<[f64; LANES]>,
    /// The result, negated.
    sums: Vec<[f64; LANES]>,
}

/// How many nodes are computed at once, at most.
const TOGETHER: usize = 8;

impl Work {
    fn new(units: usize) -> Self {
        let zeros = |count: usize| vec![[0.0; LANES]; count];
        let even = units.next_multiple_of(2);
        Self { lost: zeros(even), products: zeros(TOGETHER * even), sums: zeros(even) }
    }
}

kernel! {
    /// 1 − k_u of a block of rows with every level of every unit.
    fill_table(s; block: &[[f64; LANES]], units: &[&Levels], gamma: f64, table: &mut Vec<[f64; LANES]>) {
        table.resize(units.iter().map(|unit| unit.count()).sum(), [0.0; LANES]);
        let (one, factor) = (s.splat_f64s(1.0), s.splat_f64s(-gamma));
        let (mut block, mut table) = (block, &mut table[..]);
        for unit in units {
            let (own, others) = block.split_at(unit.columns);
            let (entries, rest) = table.split_at_mut(unit.count());
            (block, table) = (others, rest);
            for (entry, level) in entries.iter_mut().zip(unit.cells.chunks_exact(unit.columns)) {
                let mut square = s.splat_f64s(0.0);
                for (values, &level) in own.iter().zip(level) {
                    let difference = s.sub_f64s(cast(*values), s.splat_f64s(level));
                    square = s.add_f64s(square, s.mul_f64s(difference, difference));
                }
                *entry = cast(s.sub_f64s(one, exp(s, s.mul_f64s(square, factor))));
            }
        }
    }
}

kernel! {
    /// Adds the shares of a block of rows with all supporting rows. Without node counts the only node is 1.
    add_block(s; table: &[[f64; LANES]], places: &[u32], units: usize, weights: &[[f64; LANES]], nodes: (Option<&NodeCounts>, &Quadratures), work: &mut Work) {
        let (counts, rules) = nodes;
        for (places, weight) in places.chunks_exact(units).zip(weights) {
            if *weight == [0.0; LANES] {
                continue;
            }
            let mut total = s.splat_f64s(0.0);
            for (lost, &place) in work.lost.iter_mut().zip(places) {
                let own: f64x8 = cast(table[place as usize]);
                *lost = cast(own);
                total = s.add_f64s(total, own);
            }
            let (nodes, node_weights) = match counts {
                Some(counts) => {
                    let rule = rules.rule(counts.of(s.reduce_max_f64s(total)));
                    (&rule.nodes[..], &rule.weights[..])
                }
                None => (&[1.0][..], &[1.0][..]),
            };
            for some in nodes.chunks(TOGETHER).zip(node_weights.chunks(TOGETHER)) {
                add_some_nodes(some, *weight, work);
            }
        }
    }
}

/// A function for each number of nodes: together they would be too large for the compiler to inline what they are made of.
macro_rules! by_count {
    ($($name:ident $count:literal),*) => {
        /// Adds what some nodes, at most [`TOGETHER`], contribute.
        fn add_some_nodes(some: (&[f64], &[f64]), weight: [f64; LANES], work: &mut Work) {
            match some.0.len() {
                $($count => $name(some, weight, work),)*
                _ => unreachable!("nodes come in chunks"),
            }
        }
        $(kernel! {
            /// Adds what this number of nodes contributes.
            $name(s; some: (&[f64], &[f64]), weight: [f64; LANES], work: &mut Work) {
                add_nodes::<_, $count>(s, some, cast(weight), work);
            }
        })*
    };
}
by_count!(one_node 1, two_nodes 2, three_nodes 3, four_nodes 4, five_nodes 5, six_nodes 6, seven_nodes 7, eight_nodes 8);

/// Adds what some nodes contribute, without a division: by the products of the factors before and after each two units u and v. With
/// o = the product of all other factors, times the weights, the sums are those of a_u Σ o (1 − τ a_v) and of a_v Σ o (1 − τ a_u) over the
/// nodes.
#[inline(always)]
fn add_nodes<S: crate::linalg::simd::Lanes, const N: usize>(
    s: S,
    (nodes, weights): (&[f64], &[f64]),
    weight: f64x8,
    Work { lost, products, sums }: &mut Work,
) {
    let one = s.splat_f64s(1.0);
    let (mut tau, mut before, mut after) = ([one; N], [one; N], [weight; N]);
    for n in 0..N {
        tau[n] = s.splat_f64s(nodes[n]);
        after[n] = s.mul_f64s(weight, s.splat_f64s(weights[n]));
    }
    let lost = lost.as_chunks::<2>().0;
    let products = &mut products.as_chunks_mut::<N>().0.as_chunks_mut::<2>().0[..lost.len()];
    for ([prefix, factors], &[u, v]) in products.iter_mut().zip(lost) {
        let (u, v): (f64x8, f64x8) = (cast(u), cast(v));
        let (sum, product) = (s.add_f64s(u, v), s.mul_f64s(u, v));
        for n in 0..N {
            // (1 − τ a_u) (1 − τ a_v)
            let inner = s.sub_f64s(sum, s.mul_f64s(tau[n], product));
            let factor = s.sub_f64s(one, s.mul_f64s(tau[n], inner));
            prefix[n] = cast(before[n]);
            factors[n] = cast(factor);
            before[n] = s.mul_f64s(before[n], factor);
        }
    }
    let sums = sums.as_chunks_mut::<2>().0;
    for (([prefix, factors], &[u, v]), [of_u, of_v]) in products.iter().zip(lost).zip(sums).rev() {
        let (u, v): (f64x8, f64x8) = (cast(u), cast(v));
        let (mut others, mut at_nodes) = (s.splat_f64s(0.0), s.splat_f64s(0.0));
        for n in 0..N {
            let other = s.mul_f64s(cast(prefix[n]), after[n]);
            others = s.add_f64s(others, other);
            at_nodes = s.add_f64s(at_nodes, s.mul_f64s(tau[n], other));
            after[n] = s.mul_f64s(after[n], cast(factors[n]));
        }
        let without_u = s.sub_f64s(others, s.mul_f64s(v, at_nodes));
        let without_v = s.sub_f64s(others, s.mul_f64s(u, at_nodes));
        *of_u = cast(s.add_f64s(cast(*of_u), s.mul_f64s(u, without_u)));
        *of_v = cast(s.add_f64s(cast(*of_v), s.mul_f64s(v, without_v)));
    }
}

#[cfg(test)]
mod tests {
    use ndarray::Array2;

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
            self.shares(&self.weights, Coalitions::Shapley)
        }

        /// Summed over the rows.
        fn shares(&self, weights: &[f64], coalitions: Coalitions) -> Vec<f64> {
            let support = self.support.len() / self.columns;
            let x =
                Array2::from_shape_fn((self.columns, support), |(j, s)| self.support[s * self.columns + j]);
            let mut start = 0;
            let mut columns = |end: usize| (std::mem::replace(&mut start, end)..end).collect::<Vec<usize>>();
            let levels: Vec<Levels> =
                self.ends.iter().map(|&end| Levels::new(x.view(), &columns(end))).collect();
            let units: Vec<&Levels> = levels.iter().collect();
            let support: Vec<usize> = (0..support).collect();
            let pairs = Pairs { rows: &self.rows, units: &units, support: &support, gamma: self.gamma };
            let shares = pairs.shares(weights, coalitions, &mut Quadratures::default());
            let rows = self.rows.len() / self.columns;
            shares.chunks_exact(rows).map(|of_unit| of_unit.iter().sum()).collect()
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

    /// The largest error of a rule with `nodes` nodes.
    fn error_bound(total: f64, factors: usize, nodes: usize) -> f64 {
        (1..=nodes).fold(1.0, |bound, q| bound * total * total * bound_ratio(factors, q))
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
                    let (error, bound) = ((integral(count) - exact).abs(), error_bound(total, units, count));
                    assert!(error <= bound + 1e-14, "{units} {scale} {count}: {error:e} {bound:e}");
                    tight += usize::from(bound > 1e-12 && error > bound / 100.0);
                    checked += 1;
                }
                // As many factors as the integrals of one unit more have.
                let needed = NodeCounts::new(units + 1).of(total);
                assert!(needed <= (units + 1).div_ceil(2));
                assert!(2 * needed > units || error_bound(total, units, needed) <= 1.01 * TOLERANCE);
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
    fn rows_with_equal_values_share_a_level() {
        let x = ndarray::array![[2.0, 1.0, 2.0, 2.0], [5.0, 7.0, 5.0, 6.0]];
        let levels = Levels::new(x.view(), &[0, 1]);
        assert_eq!((levels.codes, levels.cells), (vec![0, 1, 0, 2], vec![2.0, 5.0, 1.0, 7.0, 2.0, 6.0]));
    }

    #[test]
    fn what_is_lost_without_a_unit_is_the_product_of_all_less_that_of_the_others() {
        let case = case(4, 6, 21, 21, 0.2);
        for (u, ours) in case.shares(&case.weights, Coalitions::AllOthers).iter().enumerate() {
            let mut lost = 0.0;
            for s in 0..21 {
                for i in 0..21 {
                    let kernels = case.kernels(i, s);
                    let others: f64 =
                        kernels.iter().enumerate().filter(|(l, _)| *l != u).map(|(_, k)| k).product();
                    lost += case.weights[s * 21 + i] * (kernels.iter().product::<f64>() - others);
                }
            }
            assert!((ours - lost).abs() < 1e-13, "{u}: {ours} {lost}");
        }
    }
}
