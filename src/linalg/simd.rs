//! Eight fixed lanes on whatever vectors the processor has: 512-bit, 256-bit, or none.
//!
//! Sums run in eight lanes and multiplications are never fused with additions, so every processor
//! gives the same bits; wider vectors, chosen at run time, change only the speed. The vectors are
//! those of `pulp`: a token of type [`Lanes`] proves that the processor has them, so nothing here
//! is `unsafe`.

use pulp::{Scalar256b, Scalar512b, Simd, cast, f32x16, f64x4, f64x8};

/// f64 lanes of a sum.
pub const LANES: usize = 8;

/// f32 lanes of a sum.
pub const F32_LANES: usize = 16;

/// A token for vectors of eight f64, and for vectors of half that width.
pub trait Lanes: Simd<f64s = f64x8, f32s = f32x16> {
    /// The token for four f64.
    type Half: Simd<f64s = f64x4>;

    /// The token for four f64.
    fn half(self) -> Self::Half;

    /// The sum (a₀ + a₁) + (a₂ + a₃) of each of four vectors.
    fn sum_each(self, vectors: [f64x4; 4]) -> f64x4;

    /// The bits of the lanes where a < b.
    fn less_than(self, a: f64x8, b: f64x8) -> u8;

    /// The bits of the values that are at most table[index]; only the lower four bits of an index
    /// count.
    fn at_most_indexed(self, values: [f32; LANES], table: [f32; 16], index: [u8; LANES]) -> u8;
}

impl Lanes for Scalar512b {
    type Half = Scalar256b;

    #[inline(always)]
    fn half(self) -> Scalar256b {
        Scalar256b
    }

    #[inline(always)]
    fn sum_each(self, [a, b, c, d]: [f64x4; 4]) -> f64x4 {
        f64x4(sum_four(a), sum_four(b), sum_four(c), sum_four(d))
    }

    #[inline(always)]
    fn less_than(self, a: f64x8, b: f64x8) -> u8 {
        let (a, b): ([f64; LANES], [f64; LANES]) = (cast(a), cast(b));
        (0..LANES).fold(0, |bits, lane| bits | u8::from(a[lane] < b[lane]) << lane)
    }

    #[inline(always)]
    fn at_most_indexed(self, values: [f32; LANES], table: [f32; 16], index: [u8; LANES]) -> u8 {
        (0..LANES).fold(0, |bits, lane| {
            bits | u8::from(values[lane] <= table[usize::from(index[lane] % 16)]) << lane
        })
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_CMP_LE_OQ, _CMP_LT_OQ};

    use pulp::x86::{V3, V3_256b, V3_512b, V4};
    use pulp::{cast, f64x4, f64x8};

    use super::{LANES, Lanes};

    /// Both have the 256-bit instructions that these are made of.
    macro_rules! lanes {
        ($token:ty, $v3:ident => $of:expr) => {
            impl Lanes for $token {
                type Half = V3_256b;

                #[inline(always)]
                fn half(self) -> V3_256b {
                    let $v3 = self;
                    V3_256b($of)
                }

                #[inline(always)]
                fn sum_each(self, vectors: [f64x4; 4]) -> f64x4 {
                    let $v3 = self;
                    sum_each($of, vectors)
                }

                #[inline(always)]
                fn less_than(self, a: f64x8, b: f64x8) -> u8 {
                    let $v3 = self;
                    less_than($of, a, b)
                }

                #[inline(always)]
                fn at_most_indexed(
                    self,
                    values: [f32; LANES],
                    table: [f32; 16],
                    index: [u8; LANES],
                ) -> u8 {
                    let $v3 = self;
                    at_most_indexed($of, values, table, index)
                }
            }
        };
    }
    lanes!(V3_512b, token => token.0);
    lanes!(V4, token => *token);

    #[inline(always)]
    fn sum_each(token: V3, [a, b, c, d]: [f64x4; 4]) -> f64x4 {
        // (a₀₁ b₀₁ a₂₃ b₂₃) and (c₀₁ d₀₁ c₂₃ d₂₃), where 01 and 23 are the sums of the lower and
        // the upper pair.
        let ab = token.avx._mm256_hadd_pd(cast(a), cast(b));
        let cd = token.avx._mm256_hadd_pd(cast(c), cast(d));
        let crossed = token.avx._mm256_permute2f128_pd::<0x21>(ab, cd);
        cast(token.avx._mm256_add_pd(token.avx._mm256_blend_pd::<0b1100>(ab, cd), crossed))
    }

    #[inline(always)]
    fn less_than(token: V3, a: f64x8, b: f64x8) -> u8 {
        let ([a, c], [b, d]): ([f64x4; 2], [f64x4; 2]) = (cast(a), cast(b));
        let bits = |a: f64x4, b: f64x4| {
            token.avx._mm256_movemask_pd(token.avx._mm256_cmp_pd::<_CMP_LT_OQ>(cast(a), cast(b)))
        };
        (bits(a, b) | bits(c, d) << 4) as u8
    }

    #[inline(always)]
    fn at_most_indexed(
        token: V3,
        values: [f32; LANES],
        table: [f32; 16],
        index: [u8; LANES],
    ) -> u8 {
        let (avx, avx2) = (token.avx, token.avx2);
        let index = avx2._mm256_cvtepu8_epi32(cast([i64::from_le_bytes(index), 0]));
        let [low, high]: [[f32; 8]; 2] = cast(table);
        let low = avx2._mm256_permutevar8x32_ps(cast(low), index);
        let high = avx2._mm256_permutevar8x32_ps(cast(high), index);
        // Bit 3 of an index is the half of the table.
        let is_high = avx._mm256_castsi256_ps(avx2._mm256_slli_epi32::<28>(index));
        let limits = avx._mm256_blendv_ps(low, high, is_high);
        avx._mm256_movemask_ps(avx._mm256_cmp_ps::<_CMP_LE_OQ>(cast(values), limits)) as u8
    }
}

#[inline(always)]
fn sum_four(v: f64x4) -> f64 {
    (v.0 + v.1) + (v.2 + v.3)
}

/// The sum of eight lanes.
#[inline(always)]
pub fn sum(lanes: f64x8) -> f64 {
    let [low, high]: [f64x4; 2] = cast(lanes);
    sum_four(low) + sum_four(high)
}

/// The sum of each half of four vectors: those of the lower halves, then those of the upper ones.
#[inline(always)]
pub fn half_sums<S: Lanes>(s: S, [a, b, c, d]: [f64x8; 4]) -> f64x8 {
    let ([a, e], [b, f], [c, g], [d, h]): ([f64x4; 2], [f64x4; 2], [f64x4; 2], [f64x4; 2]) =
        (cast(a), cast(b), cast(c), cast(d));
    cast([s.sum_each([a, b, c, d]), s.sum_each([e, f, g, h])])
}

/// Σ a_i b_i of each of four a with one b, each with the bits of [`dot`].
#[inline(always)]
pub fn four_dots<S: Lanes>(s: S, a: [&[f64]; 4], b: &[f64]) -> [f64; 4] {
    let (blocks, rest) = b.as_chunks::<LANES>();
    let whole = a.map(|a| &a.as_chunks::<LANES>().0[..blocks.len()]);
    let mut lanes = [s.splat_f64s(0.0); 4];
    for (at, y) in blocks.iter().enumerate() {
        let y = cast(*y);
        for r in 0..4 {
            lanes[r] = s.add_f64s(lanes[r], s.mul_f64s(cast(whole[r][at]), y));
        }
    }
    let [low, high]: [f64x4; 2] = cast(half_sums(s, lanes));
    let mut sums: [f64; 4] = cast(s.half().add_f64s(low, high));
    if !rest.is_empty() {
        for r in 0..4 {
            sums[r] += tail(a[r], rest);
        }
    }
    sums
}

/// Σ a_i b_i.
#[inline(always)]
pub fn dot<S: Lanes>(s: S, a: &[f64], b: &[f64]) -> f64 {
    let (blocks, rest) = b.as_chunks::<LANES>();
    let whole = &a.as_chunks::<LANES>().0[..blocks.len()];
    let mut lanes = s.splat_f64s(0.0);
    for (x, y) in whole.iter().zip(blocks) {
        lanes = s.add_f64s(lanes, s.mul_f64s(cast(*x), cast(*y)));
    }
    sum(lanes) + tail(a, rest)
}

/// The contribution of the last few b to a sum.
#[inline(always)]
fn tail(a: &[f64], rest: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (x, y) in a[a.len() - rest.len()..].iter().zip(rest) {
        sum += x * y;
    }
    sum
}

/// y += Σ_r u_r · a_r, in this order.
#[inline(always)]
pub fn combine<S: Lanes, const R: usize>(s: S, u: [f64; R], a: [&[f64]; R], y: &mut [f64]) {
    let half = s.half();
    let mut factors = [s.splat_f64s(0.0); R];
    let mut whole = [&[][..]; R];
    let mut rest = [&[][..]; R];
    for r in 0..R {
        factors[r] = s.splat_f64s(u[r]);
        (whole[r], rest[r]) = a[r][..y.len()].as_chunks::<LANES>();
    }
    let (blocks, y_rest) = y.as_chunks_mut::<LANES>();
    for r in 0..R {
        // Lets the compiler see that the lengths agree.
        whole[r] = &whole[r][..blocks.len()];
        rest[r] = &rest[r][..y_rest.len()];
    }
    for (at, y) in blocks.iter_mut().enumerate() {
        let mut sums: f64x8 = cast(*y);
        for r in 0..R {
            sums = s.add_f64s(sums, s.mul_f64s(factors[r], cast(whole[r][at])));
        }
        *y = cast(sums);
    }
    let mut start = 0;
    if let Some(y) = y_rest.first_chunk_mut::<4>() {
        let mut sums: f64x4 = cast(*y);
        for r in 0..R {
            let Some(x) = rest[r].first_chunk::<4>() else { break };
            sums = half.add_f64s(sums, half.mul_f64s(half.splat_f64s(u[r]), cast(*x)));
        }
        *y = cast(sums);
        start = 4;
    }
    for at in start..y_rest.len() {
        for r in 0..R {
            y_rest[at] += u[r] * rest[r][at];
        }
    }
}

/// Defines a function whose body is compiled for each width of vectors; `s` is the token of type
/// [`Lanes`] that it is given.
macro_rules! kernel {
    ($(#[$about:meta])* $name:ident($s:ident; $($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block) => {
        $(#[$about])*
        pub fn $name($($argument: $type),*) $(-> $result)? {
            #[inline(always)]
            fn generic<S: $crate::linalg::simd::Lanes>($s: S, $($argument: $type),*) $(-> $result)? $body
            #[cfg(target_arch = "x86_64")]
            match $crate::linalg::simd::width() {
                $crate::linalg::simd::Width::V4(token) => {
                    return token.vectorize(#[inline(always)] || generic(token, $($argument),*));
                }
                $crate::linalg::simd::Width::V3(token) => {
                    return token.vectorize(#[inline(always)] || generic(pulp::x86::V3_512b(token), $($argument),*));
                }
                $crate::linalg::simd::Width::Scalar => {}
            }
            generic(pulp::Scalar512b, $($argument),*)
        }
    };
}
pub(crate) use kernel;

/// The widest vectors of this processor.
#[cfg(target_arch = "x86_64")]
pub enum Width {
    /// 512 bits.
    V4(pulp::x86::V4),
    /// 256 bits.
    V3(pulp::x86::V3),
    /// None that are used.
    Scalar,
}

/// The widest vectors that this processor has and that may be used.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn width() -> Width {
    if let Some(token) = pulp::x86::V4::try_new()
        && allowed(512)
    {
        return Width::V4(token);
    }
    match pulp::x86::V3::try_new() {
        Some(token) if allowed(256) => Width::V3(token),
        _ => Width::Scalar,
    }
}

/// The name of the vector instructions in use: avx512, avx2 or none.
pub fn simd_level() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    match width() {
        Width::V4(_) => return "avx512",
        Width::V3(_) => return "avx2",
        Width::Scalar => {}
    }
    "none"
}

/// Whether vectors of this many bits may be used: tests compare them with narrower ones.
#[cfg(not(test))]
#[inline(always)]
fn allowed(_bits: usize) -> bool {
    true
}
#[cfg(test)]
use limited::allowed;

#[cfg(test)]
pub mod limited {
    use std::cell::Cell;

    thread_local! {
        static WIDEST: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    pub fn allowed(bits: usize) -> bool {
        bits <= WIDEST.get()
    }

    /// Runs a function with vectors of at most this many bits on this thread.
    pub fn to<T>(bits: usize, run: impl FnOnce() -> T) -> T {
        struct Restore;
        impl Drop for Restore {
            fn drop(&mut self) {
                WIDEST.set(usize::MAX);
            }
        }
        let _restore = Restore;
        WIDEST.set(bits);
        run()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    kernel! {
        /// All that other kernels are made of.
        all(s; rows: &[Vec<f64>], u: [f64; 4]) -> Vec<f64> {
            let a = [&rows[0][..], &rows[1], &rows[2], &rows[3]];
            let mut results = rows[4].clone();
            combine(s, u, a, &mut results);
            combine(s, [u[0]], [a[1]], &mut results);
            results.extend(four_dots(s, a, &rows[4]));
            results.push(dot(s, a[0], &rows[4]));
            results
        }
    }

    #[test]
    fn every_width_gives_the_same_bits() {
        let value = |i: usize| ((i * 2_654_435_761) % 1_000_003) as f64 / 7.0 - 70_000.0;
        let bits = |v: Vec<f64>| v.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
        for length in 0..70 {
            let row = |r: usize| (0..length).map(|i| value(i + 97 * r)).collect::<Vec<f64>>();
            let rows: Vec<Vec<f64>> = (0..5).map(row).collect();
            let of = |widest| {
                bits(limited::to(widest, || all(&rows, [value(1), value(2), value(3), value(4)])))
            };
            assert_eq!(of(512), of(128), "{length}");
            assert_eq!(of(256), of(128), "{length}");
        }
    }
}
