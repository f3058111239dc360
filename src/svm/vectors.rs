//! Four or eight numbers at once, by whatever the processor has: 512-bit vectors, 256-bit ones, or plain code. Sums run in eight
//! fixed lanes and multiplications are never fused with additions, so the result has the same bits on every machine: wider
//! vectors, chosen at run time, change only the speed.

/// Sums run in so many lanes.
pub const LANES: usize = 8;

/// Numbers of single precision come in so many.
pub const SINGLES: usize = 16;

/// Makes a function of its body three times, for 512-bit vectors, for 256-bit ones (neither fuses) and for neither, and calls
/// the widest that the processor can run. What the body calls of this module is what goes with it.
macro_rules! wide {
    ($(#[$about:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block) => {
        $(#[$about])*
        pub fn $name($($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                $crate::svm::vectors::widened! {
                    "avx512f" avx512 $name($($argument: $type),*) $(-> $result)? $body
                }
                $crate::svm::vectors::widened! {
                    "avx2" avx2 $name($($argument: $type),*) $(-> $result)? $body
                }
            }
            #[allow(unused_imports, reason = "not every body needs all of it")]
            use $crate::svm::vectors::plain::{
                UNIT, below, combine, dots, four_load, four_plus, four_splat, four_store, four_sums,
                four_times, half_sums, load, minus, plus, singles_dots, splat, spread, store, sums, times,
                twice, unit_load, unit_plus, unit_splat, unit_store, unit_times,
            };
            $body
        }
    };
}

/// One of the three: returns what it computes if the processor has the feature.
macro_rules! widened {
    ($feature:literal $module:ident $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block) => {
        {
            #[target_feature(enable = $feature)]
            fn $module($($argument: $type),*) $(-> $result)? {
                #[allow(unused_imports, reason = "not every body needs all of it")]
                use $crate::svm::vectors::$module::{
                    UNIT, below, combine, dots, four_load, four_plus, four_splat, four_store, four_sums,
                    four_times, half_sums, load, minus, plus, singles_dots, splat, spread, store, sums, times,
                    twice, unit_load, unit_plus, unit_splat, unit_store, unit_times,
                };
                $body
            }
            if $crate::svm::vectors::$module::is_here() {
                #[expect(unsafe_code, reason = "the processor was asked whether it has the feature")]
                return unsafe { $module($($argument),*) };
            }
        }
    };
}

pub(super) use {wide, widened};

/// What is done at once where lanes do not matter: four numbers.
macro_rules! four_is_a_unit {
    () => {
        pub const UNIT: usize = 4;
        pub use {
            four_load as unit_load, four_plus as unit_plus, four_splat as unit_splat,
            four_store as unit_store, four_times as unit_times,
        };
    };
}

/// What is made of four and eight numbers in the same way whatever they are kept in. Loops, not closures of the standard
/// library: those would not be compiled for the feature.
macro_rules! loops {
    ($(#[$feature:meta])*) => {
        /// R sums Σ a_i b_i with one b: each has the bits of [`super::super::lanes::dot`], and they do not wait for one another.
        $(#[$feature])*
        #[inline]
        pub fn dots<const R: usize>(a: [&[f64]; R], b: &[f64]) -> [f64; R] {
            let (b, b_tail) = b.as_chunks::<LANES>();
            let mut whole = [&[][..]; R];
            for r in 0..R {
                whole[r] = &a[r].as_chunks::<LANES>().0[..b.len()];
            }
            let mut lanes = [splat(0.0); R];
            for (at, y) in b.iter().enumerate() {
                let y = load(y);
                for r in 0..R {
                    lanes[r] = plus(lanes[r], times(load(&whole[r][at]), y));
                }
            }
            let mut sums = [0.0; R];
            for r in 0..R {
                sums[r] = sum(lanes[r]) + super::tail(a[r], b_tail);
            }
            sums
        }

        /// y += Σ_r u_r · a_r, in this order.
        $(#[$feature])*
        #[inline]
        pub fn combine<const R: usize>(u: [f64; R], a: [&[f64]; R], y: &mut [f64]) {
            let mut factors = [splat(0.0); R];
            let mut whole = [&[][..]; R];
            let mut rest = [&[][..]; R];
            for r in 0..R {
                factors[r] = splat(u[r]);
                (whole[r], rest[r]) = a[r][..y.len()].as_chunks::<LANES>();
            }
            let (y_whole, y) = y.as_chunks_mut::<LANES>();
            for r in 0..R {
                // So that the compiler sees that they are as long.
                whole[r] = &whole[r][..y_whole.len()];
                rest[r] = &rest[r][..y.len()];
            }
            for (at, y) in y_whole.iter_mut().enumerate() {
                let mut sums = load(y);
                for r in 0..R {
                    sums = plus(sums, times(factors[r], load(&whole[r][at])));
                }
                store(y, sums);
            }
            let mut start = 0;
            if let Some(y) = y.first_chunk_mut::<4>() {
                let mut sums = four_load(y);
                for r in 0..R {
                    let Some(x) = rest[r].first_chunk::<4>() else { break };
                    sums = four_plus(sums, four_times(four_splat(u[r]), four_load(x)));
                }
                four_store(y, sums);
                start = 4;
            }
            for at in start..y.len() {
                for r in 0..R {
                    y[at] += u[r] * rest[r][at];
                }
            }
        }
    };
}

pub(super) mod plain {
    use super::{LANES, SINGLES};

    type Four = [f64; 4];
    type Eight = [f64; LANES];

    #[inline]
    pub fn load(from: &[f64; LANES]) -> Eight {
        *from
    }

    #[inline]
    pub fn store(to: &mut [f64; LANES], eight: Eight) {
        *to = eight;
    }

    /// The same number eight times.
    #[inline]
    pub fn splat(value: f64) -> Eight {
        [value; LANES]
    }

    #[inline]
    pub fn plus(a: Eight, b: Eight) -> Eight {
        std::array::from_fn(|lane| a[lane] + b[lane])
    }

    #[inline]
    pub fn minus(a: Eight, b: Eight) -> Eight {
        std::array::from_fn(|lane| a[lane] - b[lane])
    }

    #[inline]
    pub fn times(a: Eight, b: Eight) -> Eight {
        std::array::from_fn(|lane| a[lane] * b[lane])
    }

    /// The bits of those that are less than the others.
    #[inline]
    pub fn below(a: Eight, b: Eight) -> u8 {
        (0..LANES).fold(0, |bits, lane| bits | u8::from(a[lane] < b[lane]) << lane)
    }

    /// Four numbers, twice.
    #[inline]
    pub fn twice(from: &[f64; 4]) -> Eight {
        std::array::from_fn(|lane| from[lane % 4])
    }

    /// The sum of the lanes.
    #[inline]
    pub fn sum(eight: Eight) -> f64 {
        let [a, b, c, d, e, f, g, h] = eight;
        ((a + b) + (c + d)) + ((e + f) + (g + h))
    }

    /// The sum of each of four.
    #[inline]
    pub fn sums(eights: [Eight; 4]) -> Four {
        eights.map(sum)
    }

    /// The sum of each half of four.
    #[inline]
    pub fn half_sums(eights: [Eight; 4]) -> Eight {
        std::array::from_fn(|lane| {
            let [a, b, c, d] = std::array::from_fn(|part| eights[lane % 4][lane / 4 * 4 + part]);
            (a + b) + (c + d)
        })
    }

    /// One number of each half, everywhere in its half: number PLACE / 0x55.
    #[inline]
    pub fn spread<const PLACE: i32>(eight: Eight) -> Eight {
        std::array::from_fn(|lane| eight[lane / 4 * 4 + PLACE as usize % 4])
    }

    /// The same number four times.
    #[inline]
    pub fn four_splat(value: f64) -> Four {
        [value; 4]
    }

    /// The sum of each of four.
    #[inline]
    pub fn four_sums(fours: [Four; 4]) -> Four {
        fours.map(|[a, b, c, d]| (a + b) + (c + d))
    }

    #[inline]
    pub fn four_load(from: &[f64; 4]) -> Four {
        *from
    }

    #[inline]
    pub fn four_store(to: &mut [f64; 4], four: Four) {
        *to = four;
    }

    #[inline]
    pub fn four_plus(a: Four, b: Four) -> Four {
        std::array::from_fn(|lane| a[lane] + b[lane])
    }

    #[inline]
    pub fn four_times(a: Four, b: Four) -> Four {
        std::array::from_fn(|lane| a[lane] * b[lane])
    }

    /// Four sums Σ x_i a_i in single precision, in any order.
    #[inline]
    pub fn singles_dots(x: [&[[f32; SINGLES]]; 4], a: &[[f32; SINGLES]]) -> [f32; 4] {
        x.map(|x| {
            let products = x.iter().flatten().zip(a.iter().flatten()).map(|(x, a)| x * a);
            products.sum()
        })
    }

    loops!();
    four_is_a_unit!();
}

/// The same as in [`plain`], to the bit: four numbers are a vector, eight are two.
#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use std::arch::x86_64::{
        __m256, __m256d, _CMP_LT_OQ, _mm_add_pd, _mm_add_ps, _mm_add_sd, _mm_cvtsd_f64, _mm_storeu_ps,
        _mm_unpackhi_pd, _mm256_add_pd, _mm256_add_ps, _mm256_blend_pd, _mm256_castpd256_pd128,
        _mm256_castps256_ps128, _mm256_cmp_pd, _mm256_extractf128_pd, _mm256_extractf128_ps, _mm256_hadd_pd,
        _mm256_hadd_ps, _mm256_loadu_pd, _mm256_loadu_ps, _mm256_movemask_pd, _mm256_mul_pd, _mm256_mul_ps,
        _mm256_permute2f128_pd, _mm256_permute4x64_pd, _mm256_set1_pd, _mm256_setzero_ps, _mm256_storeu_pd,
        _mm256_sub_pd,
    };

    use super::{LANES, SINGLES};

    type Eight = [__m256d; 2];

    /// Whether the processor has it.
    #[inline]
    pub fn is_here() -> bool {
        std::arch::is_x86_feature_detected!("avx2") && super::may_be(256)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn load(from: &[f64; LANES]) -> Eight {
        let (fours, _) = from.as_chunks::<4>();
        [four_load(&fours[0]), four_load(&fours[1])]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn store(to: &mut [f64; LANES], eight: Eight) {
        let (fours, _) = to.as_chunks_mut::<4>();
        four_store(&mut fours[0], eight[0]);
        four_store(&mut fours[1], eight[1]);
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn splat(value: f64) -> Eight {
        [four_splat(value); 2]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn plus(a: Eight, b: Eight) -> Eight {
        [four_plus(a[0], b[0]), four_plus(a[1], b[1])]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn minus(a: Eight, b: Eight) -> Eight {
        [_mm256_sub_pd(a[0], b[0]), _mm256_sub_pd(a[1], b[1])]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn times(a: Eight, b: Eight) -> Eight {
        [four_times(a[0], b[0]), four_times(a[1], b[1])]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn below(a: Eight, b: Eight) -> u8 {
        let low = _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(a[0], b[0]));
        let high = _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(a[1], b[1]));
        (low | high << 4) as u8
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn twice(from: &[f64; 4]) -> Eight {
        [four_load(from); 2]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn sum(eight: Eight) -> f64 {
        let pairs = _mm256_hadd_pd(eight[0], eight[1]);
        let fours = _mm_add_pd(_mm256_castpd256_pd128(pairs), _mm256_extractf128_pd::<1>(pairs));
        _mm_cvtsd_f64(_mm_add_sd(fours, _mm_unpackhi_pd(fours, fours)))
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn sums(eights: [Eight; 4]) -> __m256d {
        let [low, high] = half_sums(eights);
        four_plus(low, high)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn half_sums(eights: [Eight; 4]) -> Eight {
        let [a, b, c, d] = eights;
        [four_sums([a[0], b[0], c[0], d[0]]), four_sums([a[1], b[1], c[1], d[1]])]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn spread<const PLACE: i32>(eight: Eight) -> Eight {
        [_mm256_permute4x64_pd::<PLACE>(eight[0]), _mm256_permute4x64_pd::<PLACE>(eight[1])]
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn four_splat(value: f64) -> __m256d {
        _mm256_set1_pd(value)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn four_sums([a, b, c, d]: [__m256d; 4]) -> __m256d {
        // (a₀ b₀ a₂ b₂) and (c₀ d₀ c₂ d₂), where 0 and 2 are the sums of the lower and the upper pair.
        let (ab, cd) = (_mm256_hadd_pd(a, b), _mm256_hadd_pd(c, d));
        let crossed = _mm256_permute2f128_pd::<0x21>(ab, cd);
        _mm256_add_pd(_mm256_blend_pd::<0b1100>(ab, cd), crossed)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn four_load(from: &[f64; 4]) -> __m256d {
        #[expect(unsafe_code, reason = "there are four to be read")]
        unsafe {
            _mm256_loadu_pd(from.as_ptr())
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn four_store(to: &mut [f64; 4], four: __m256d) {
        #[expect(unsafe_code, reason = "there is room for the four")]
        unsafe {
            _mm256_storeu_pd(to.as_mut_ptr(), four);
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn four_plus(a: __m256d, b: __m256d) -> __m256d {
        _mm256_add_pd(a, b)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn four_times(a: __m256d, b: __m256d) -> __m256d {
        _mm256_mul_pd(a, b)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn singles_dots(x: [&[[f32; SINGLES]]; 4], a: &[[f32; SINGLES]]) -> [f32; 4] {
        let x = [&x[0][..a.len()], &x[1][..a.len()], &x[2][..a.len()], &x[3][..a.len()]];
        let mut lanes = [[_mm256_setzero_ps(); 2]; 4];
        for (at, a) in a.iter().enumerate() {
            let (a, _) = a.as_chunks::<8>();
            for half in 0..2 {
                let a = singles_load(&a[half]);
                for r in 0..4 {
                    let (x, _) = x[r][at].as_chunks::<8>();
                    lanes[r][half] = _mm256_add_ps(lanes[r][half], _mm256_mul_ps(singles_load(&x[half]), a));
                }
            }
        }
        let mut eights = [_mm256_setzero_ps(); 4];
        for r in 0..4 {
            eights[r] = _mm256_add_ps(lanes[r][0], lanes[r][1]);
        }
        singles_sums(eights)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn singles_load(from: &[f32; 8]) -> __m256 {
        #[expect(unsafe_code, reason = "there are eight to be read")]
        unsafe {
            _mm256_loadu_ps(from.as_ptr())
        }
    }

    /// The sum of each of four.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub(super) fn singles_sums([a, b, c, d]: [__m256; 4]) -> [f32; 4] {
        let pairs = _mm256_hadd_ps(_mm256_hadd_ps(a, b), _mm256_hadd_ps(c, d));
        let fours = _mm_add_ps(_mm256_castps256_ps128(pairs), _mm256_extractf128_ps::<1>(pairs));
        let mut sums = [0.0; 4];
        #[expect(unsafe_code, reason = "there is room for the four")]
        unsafe {
            _mm_storeu_ps(sums.as_mut_ptr(), fours);
        }
        sums
    }

    loops!(#[target_feature(enable = "avx2")]);
    four_is_a_unit!();
}

/// The same as in [`plain`], to the bit: eight numbers are a vector, and four are one of [`avx2`].
#[cfg(target_arch = "x86_64")]
pub(super) mod avx512 {
    use std::arch::x86_64::{
        __m256d, __m512, __m512d, _CMP_LT_OQ, _mm256_add_ps, _mm256_castpd_ps, _mm256_setzero_ps,
        _mm512_add_pd, _mm512_add_ps, _mm512_broadcast_f64x4, _mm512_castpd512_pd256, _mm512_castps_pd,
        _mm512_castps512_ps256, _mm512_cmp_pd_mask, _mm512_extractf64x4_pd, _mm512_insertf64x4,
        _mm512_loadu_pd, _mm512_loadu_ps, _mm512_mul_pd, _mm512_mul_ps, _mm512_permutex_pd, _mm512_set1_pd,
        _mm512_setzero_ps, _mm512_storeu_pd, _mm512_sub_pd, _mm512_zextpd256_pd512,
    };

    use super::avx2;
    pub use super::avx2::{four_load, four_plus, four_splat, four_store, four_sums, four_times};
    use super::{LANES, SINGLES};
    pub use {
        load as unit_load, plus as unit_plus, splat as unit_splat, store as unit_store, times as unit_times,
    };

    /// What is done at once where lanes do not matter.
    pub const UNIT: usize = LANES;

    /// Whether the processor has it.
    #[inline]
    pub fn is_here() -> bool {
        std::arch::is_x86_feature_detected!("avx512f") && super::may_be(512)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn load(from: &[f64; LANES]) -> __m512d {
        #[expect(unsafe_code, reason = "there are eight to be read")]
        unsafe {
            _mm512_loadu_pd(from.as_ptr())
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn store(to: &mut [f64; LANES], eight: __m512d) {
        #[expect(unsafe_code, reason = "there is room for the eight")]
        unsafe {
            _mm512_storeu_pd(to.as_mut_ptr(), eight);
        }
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn splat(value: f64) -> __m512d {
        _mm512_set1_pd(value)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn plus(a: __m512d, b: __m512d) -> __m512d {
        _mm512_add_pd(a, b)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn minus(a: __m512d, b: __m512d) -> __m512d {
        _mm512_sub_pd(a, b)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn times(a: __m512d, b: __m512d) -> __m512d {
        _mm512_mul_pd(a, b)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn below(a: __m512d, b: __m512d) -> u8 {
        _mm512_cmp_pd_mask::<_CMP_LT_OQ>(a, b)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn twice(from: &[f64; 4]) -> __m512d {
        _mm512_broadcast_f64x4(four_load(from))
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn halves(eight: __m512d) -> [__m256d; 2] {
        [_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd::<1>(eight)]
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn sum(eight: __m512d) -> f64 {
        avx2::sum(halves(eight))
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn sums(eights: [__m512d; 4]) -> __m256d {
        let [a, b, c, d] = eights;
        avx2::sums([halves(a), halves(b), halves(c), halves(d)])
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn half_sums(eights: [__m512d; 4]) -> __m512d {
        let [a, b, c, d] = eights;
        let [low, high] = avx2::half_sums([halves(a), halves(b), halves(c), halves(d)]);
        _mm512_insertf64x4::<1>(_mm512_zextpd256_pd512(low), high)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn spread<const PLACE: i32>(eight: __m512d) -> __m512d {
        _mm512_permutex_pd::<PLACE>(eight)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    pub fn singles_dots(x: [&[[f32; SINGLES]]; 4], a: &[[f32; SINGLES]]) -> [f32; 4] {
        let x = [&x[0][..a.len()], &x[1][..a.len()], &x[2][..a.len()], &x[3][..a.len()]];
        let mut lanes = [_mm512_setzero_ps(); 4];
        for (at, a) in a.iter().enumerate() {
            let a = singles_load(a);
            for r in 0..4 {
                lanes[r] = _mm512_add_ps(lanes[r], _mm512_mul_ps(singles_load(&x[r][at]), a));
            }
        }
        let mut eights = [_mm256_setzero_ps(); 4];
        for r in 0..4 {
            let high = _mm512_extractf64x4_pd::<1>(_mm512_castps_pd(lanes[r]));
            eights[r] = _mm256_add_ps(_mm512_castps512_ps256(lanes[r]), _mm256_castpd_ps(high));
        }
        avx2::singles_sums(eights)
    }

    #[target_feature(enable = "avx512f")]
    #[inline]
    fn singles_load(from: &[f32; SINGLES]) -> __m512 {
        #[expect(unsafe_code, reason = "there are sixteen to be read")]
        unsafe {
            _mm512_loadu_ps(from.as_ptr())
        }
    }

    loops!(#[target_feature(enable = "avx512f")]);
}

/// What is left of a sum when the lanes are full.
#[inline(always)]
pub(super) fn tail(a: &[f64], b_tail: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (x, y) in a[a.len() - b_tail.len()..].iter().zip(b_tail) {
        sum += x * y;
    }
    sum
}

/// Whether vectors of so many bits may be used: tests compare them with narrower ones.
#[cfg(not(test))]
#[inline(always)]
fn may_be(_bits: usize) -> bool {
    true
}
#[cfg(test)]
use narrowed::may_be;

#[cfg(test)]
pub mod narrowed {
    use std::cell::Cell;

    thread_local! {
        static WIDEST: Cell<usize> = const { Cell::new(usize::MAX) };
    }

    pub(super) fn may_be(bits: usize) -> bool {
        bits <= WIDEST.get()
    }

    /// What a function gives if this thread has no wider vectors than so many bits.
    pub fn to<T>(bits: usize, run: impl FnOnce() -> T) -> T {
        WIDEST.set(bits);
        let result = run();
        WIDEST.set(usize::MAX);
        result
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// Whether all vectors of a length give the same bits in one module as in plain code.
    macro_rules! agrees {
        ($module:ident) => {
            #[test]
            fn $module() {
                if !super::$module::is_here() {
                    return;
                }
                let value = |i: usize| ((i * 2_654_435_761) % 1_000_003) as f64 / 7.0 - 70_000.0;
                let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
                for length in 0..70 {
                    let row = |r: usize| (0..length).map(|i| value(i + 97 * r)).collect::<Vec<f64>>();
                    let rows: Vec<Vec<f64>> = (0..5).map(row).collect();
                    let a = [&rows[0][..], &rows[1], &rows[2], &rows[3]];
                    let u = [value(1), value(2), value(3), value(4)];
                    let (mut narrow, mut wide) = (rows[4].clone(), rows[4].clone());
                    plain::combine(u, a, &mut narrow);
                    #[expect(unsafe_code, reason = "the processor was asked whether it has the feature")]
                    let sums = unsafe {
                        super::$module::combine(u, a, &mut wide);
                        super::$module::dots(a, &rows[4])
                    };
                    assert_eq!(bits(&plain::dots(a, &rows[4])), bits(&sums), "{length}");
                    assert_eq!(bits(&narrow), bits(&wide), "{length}");
                }
            }
        };
    }

    agrees!(avx2);
    agrees!(avx512);
}
