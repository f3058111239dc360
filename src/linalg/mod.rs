//! Dense linear algebra with the same bits on every processor: packed symmetric matrices, Cholesky,
//! delayed rank-k updates, and the loops they are made of. Knows nothing of models.

mod aligned;
mod cholesky;
mod delayed_updates;
mod exponential;
mod kernels;
mod packed_symmetric;
pub(crate) mod simd;

pub use aligned::{Aligned, Line};
pub use cholesky::Cholesky;
pub use delayed_updates::DelayedUpdates;
pub use exponential::{decay, exp};
pub use kernels::{
    Columns, add_all_rows, add_columns, add_rows, axpy, dot, find_not_below, norm, rank_one_update,
    row_dots, squared_distance,
};
pub use packed_symmetric::{PackedSymmetric, UPDATES_PER_PASS};
pub use simd::simd_level;
