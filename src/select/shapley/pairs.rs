//! The shares of units in the decision values of rows: sums over pairs of a row and a supporting
//! row.

use pulp::{cast, f64x8};

use super::Coalitions;
use super::levels::Levels;
use super::quadrature::{NodeCounts, Quadrature, Quadratures};
use crate::linalg::simd::{LANES, Lanes, kernel};
use crate::linalg::{Line, exp};

/// Eight rows of a block, side by side.
type Cells = Line<[f64; LANES]>;

const ZERO: Cells = Line([0.0; LANES]);

/// Rows and supporting rows under a product kernel.
pub struct Pairs<'a> {
    /// Row by row, the columns of a unit one after the other.
    pub rows: &'a [f64],
    /// The units, in the order of these columns.
    pub units: &'a [&'a Levels],
    /// The training rows that support, ascending.
    pub support: &'a [usize],
    /// γ of k_u = exp(−γ ‖x_u − s_u‖²).
    pub gamma: f64,
}

impl Pairs<'_> {
    /// Σ_s weight(s, i) · φ_u(x_i, s) for every unit u and row x_i: units × rows. Weights come as
    /// one row per supporting row s, one entry per row x_i.
    pub fn shares(
        &self,
        weights: &[f64],
        coalitions: Coalitions,
        buffers: &mut ShareBuffers,
    ) -> Vec<f64> {
        let units = self.units.len();
        let rows = self.row_count();
        let counts = match coalitions {
            Coalitions::Shapley => Some(NodeCounts::new(units)),
            Coalitions::AllOthers => None,
        };
        let ShareBuffers { rules, table } = buffers;
        rules.up_to(units.div_ceil(2));
        let mut shares = vec![0.0; units * rows];
        let mut work = Work::new(units);
        self.for_blocks(weights, |block| {
            fill_table(block, self.gamma, table);
            work.sums.fill(ZERO);
            add_shares(table, block, (counts.as_ref(), rules), &mut work);
            for (share, sums) in shares.chunks_exact_mut(rows).zip(&work.sums) {
                let own = &mut share[block.first..][..block.count];
                own.iter_mut().zip(sums.0).for_each(|(share, sum)| *share = -sum);
            }
        });
        shares
    }

    fn row_count(&self) -> usize {
        self.rows.len() / self.units.iter().map(|unit| unit.columns()).sum::<usize>().max(1)
    }

    /// Calls a function for each block of rows. Supporting rows at the end whose weights are zero
    /// on all rows of a block are left out.
    fn for_blocks(&self, weights: &[f64], mut compute: impl FnMut(&RowBlock<'_>)) {
        let rows = self.row_count();
        let columns = self.units.iter().map(|unit| unit.columns()).sum();
        let places = self.places();
        let mut cells = vec![ZERO; columns];
        let mut of_block = vec![ZERO; self.support.len()];
        for first in (0..rows).step_by(LANES) {
            let count = LANES.min(rows - first);
            for lane in 0..LANES {
                // The last block repeats its last row, with weight zero.
                let row = &self.rows[(first + lane.min(count - 1)) * columns..][..columns];
                cells.iter_mut().zip(row).for_each(|(cells, &cell)| cells.0[lane] = cell);
            }
            for (own, all) in of_block.iter_mut().zip(weights.chunks_exact(rows)) {
                own.0[..count].copy_from_slice(&all[first..first + count]);
                own.0[count..].fill(0.0);
            }
            let used =
                of_block.iter().rposition(|weights| *weights != ZERO).map_or(0, |last| last + 1);
            compute(&RowBlock {
                first,
                count,
                cells: &cells,
                units: self.units,
                places: &places[..used * self.units.len()],
                weights: &of_block[..used],
                last: used.checked_sub(1).map(|last| self.support[last]),
            });
        }
    }

    /// For every supporting row the places of its levels in the table of a block, unit by unit.
    fn places(&self) -> Vec<u32> {
        let starts: Vec<u32> = self
            .units
            .iter()
            .scan(0, |start, unit| Some(std::mem::replace(start, *start + unit.count() as u32)))
            .collect();
        let of_row = |&row: &usize| {
            self.units.iter().zip(&starts).map(move |(unit, start)| start + unit.code(row))
        };
        self.support.iter().flat_map(of_row).collect()
    }
}

/// What is kept from one model to the next: rules, and memory.
#[derive(Default)]
pub struct ShareBuffers {
    rules: Quadratures,
    table: Vec<Cells>,
}

/// A block of rows with the supporting rows.
pub struct RowBlock<'a> {
    first: usize,
    count: usize,
    /// The columns of the rows.
    cells: &'a [Cells],
    units: &'a [&'a Levels],
    /// For each supporting row the places of its levels in the table.
    places: &'a [u32],
    weights: &'a [Cells],
    /// The last supporting row, as a training row.
    last: Option<usize>,
}

/// What a block of rows needs. Units come in twos; an odd last one has a partner whose factor is 1.
pub struct Work {
    /// 1 − k_u.
    lost: Vec<Cells>,
    /// For each two units, at the nodes that are computed at once: the product of the factors
    /// before them, then their own.
    products: Vec<Cells>,
    /// The result, negated.
    sums: Vec<Cells>,
}

/// How many nodes are computed at once, at most.
const TOGETHER: usize = 8;

impl Work {
    fn new(units: usize) -> Self {
        let zeros = |count: usize| vec![ZERO; count];
        let even = units.next_multiple_of(2);
        Self { lost: zeros(even), products: zeros(TOGETHER * even), sums: zeros(even) }
    }
}

kernel! {
    /// 1 − k_u of a block of rows with every level of every unit, as far as the supporting rows
    /// have these levels; unit by unit.
    fill_table(s; block: &RowBlock<'_>, gamma: f64, table: &mut Vec<Cells>) {
        table.resize(block.units.iter().map(|unit| unit.count()).sum(), ZERO);
        let Some(last) = block.last else { return };
        let one = s.splat_f64s(1.0);
        let factor = s.splat_f64s(-gamma);
        let mut cells = block.cells;
        let mut table = &mut table[..];
        for unit in block.units {
            let (own, others) = cells.split_at(unit.columns());
            let (entries, rest) = table.split_at_mut(unit.count());
            (cells, table) = (others, rest);
            for (entry, level) in entries.iter_mut().zip(unit.levels().take(unit.count_up_to(last))) {
                let mut square = s.splat_f64s(0.0);
                for (values, &level) in own.iter().zip(level) {
                    let difference = s.sub_f64s(cast(values.0), s.splat_f64s(level));
                    square = s.add_f64s(square, s.mul_f64s(difference, difference));
                }
                *entry = Line(cast(s.sub_f64s(one, exp(s, s.mul_f64s(square, factor)))));
            }
        }
    }
}

kernel! {
    /// Adds the shares of a block of rows with its supporting rows. Without node counts the only
    /// node is 1.
    add_shares(s; table: &[Cells], block: &RowBlock<'_>, nodes: (Option<&NodeCounts>, &Quadratures), work: &mut Work) {
        let (counts, rules) = nodes;
        for (places, weight) in block.places.chunks_exact(block.units.len()).zip(block.weights) {
            if *weight == ZERO {
                continue;
            }
            let mut total = s.splat_f64s(0.0);
            for (lost, &place) in work.lost.iter_mut().zip(places) {
                *lost = table[place as usize];
                total = s.add_f64s(total, cast(lost.0));
            }
            let (nodes, node_weights) = match counts {
                Some(counts) => {
                    let Quadrature { nodes, weights } = rules.rule(counts.of(s.reduce_max_f64s(total)));
                    (&nodes[..], &weights[..])
                }
                None => (&[1.0][..], &[1.0][..]),
            };
            for some in nodes.chunks(TOGETHER).zip(node_weights.chunks(TOGETHER)) {
                add_some_nodes(some, *weight, work);
            }
        }
    }
}

/// A function for each number of nodes: together they would be too large for the compiler to inline
/// what they are made of.
macro_rules! by_count {
    ($($name:ident $count:literal),*) => {
        /// Adds what some nodes, at most [`TOGETHER`], contribute.
        fn add_some_nodes(some: (&[f64], &[f64]), weight: Cells, work: &mut Work) {
            match some.0.len() {
                $($count => $name(some, weight, work),)*
                _ => unreachable!("nodes come in chunks"),
            }
        }
        $(kernel! {
            /// Adds what this number of nodes contributes.
            $name(s; some: (&[f64], &[f64]), weight: Cells, work: &mut Work) {
                add_nodes::<_, $count>(s, some, cast(weight.0), work);
            }
        })*
    };
}
by_count!(one_node 1, two_nodes 2, three_nodes 3, four_nodes 4, five_nodes 5, six_nodes 6, seven_nodes 7, eight_nodes 8);

/// Adds what some nodes contribute, without a division: by the products of the factors before and
/// after each two units u and v. With o = the product of all other factors, times the weights, the
/// sums are those of a_u Σ o (1 − τ a_v) and of a_v Σ o (1 − τ a_u) over the nodes.
#[inline(always)]
fn add_nodes<S: Lanes, const N: usize>(
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
        let (u, v): (f64x8, f64x8) = (cast(u.0), cast(v.0));
        let (sum, product) = (s.add_f64s(u, v), s.mul_f64s(u, v));
        for n in 0..N {
            // (1 − τ a_u) (1 − τ a_v)
            let inner = s.sub_f64s(sum, s.mul_f64s(tau[n], product));
            let factor = s.sub_f64s(one, s.mul_f64s(tau[n], inner));
            prefix[n] = Line(cast(before[n]));
            factors[n] = Line(cast(factor));
            before[n] = s.mul_f64s(before[n], factor);
        }
    }
    let sums = sums.as_chunks_mut::<2>().0;
    for (([prefix, factors], &[u, v]), [of_u, of_v]) in products.iter().zip(lost).zip(sums).rev() {
        let (u, v): (f64x8, f64x8) = (cast(u.0), cast(v.0));
        let (mut others, mut at_nodes) = (s.splat_f64s(0.0), s.splat_f64s(0.0));
        for n in 0..N {
            let other = s.mul_f64s(cast(prefix[n].0), after[n]);
            others = s.add_f64s(others, other);
            at_nodes = s.add_f64s(at_nodes, s.mul_f64s(tau[n], other));
            after[n] = s.mul_f64s(after[n], cast(factors[n].0));
        }
        let without_u = s.sub_f64s(others, s.mul_f64s(v, at_nodes));
        let without_v = s.sub_f64s(others, s.mul_f64s(u, at_nodes));
        *of_u = Line(cast(s.add_f64s(cast(of_u.0), s.mul_f64s(u, without_u))));
        *of_v = Line(cast(s.add_f64s(cast(of_v.0), s.mul_f64s(v, without_v))));
    }
}
