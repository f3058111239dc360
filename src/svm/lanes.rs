//! The inner loops on vectors and rows of matrices. Sums run in eight fixed lanes and multiplications are never fused with
//! additions, so the result has the same bits on every machine: wider vectors, chosen at run time, change only the speed.

pub const LANES: usize = 8;

/// Makes a function of its body twice, the second time for the 256-bit vectors of AVX2 (without FMA), and calls the one that
/// the processor can run. `dots` and `combine` in the body are the ones that go with it.
macro_rules! wide {
    ($(#[$about:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block) => {
        $(#[$about])*
        pub fn $name($($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn avx2($($argument: $type),*) $(-> $result)? {
                    #[allow(unused_imports, reason = "not every body needs it")]
                    use $crate::svm::lanes::avx2::{combine, dots, halves, load, plus, splat, store, sum_each, times};
                    $body
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    #[expect(unsafe_code, reason = "the processor was asked whether it has AVX2")]
                    return unsafe { avx2($($argument),*) };
                }
            }
            #[allow(unused_imports, reason = "not every body needs it")]
            use $crate::svm::lanes::plain::{combine, dots, halves, load, plus, splat, store, sum_each, times};
            $body
        }
    };
}

pub(super) use wide;

pub(super) mod plain {
    use super::{LANES, TABLE};

    /// Four numbers that are worked on at once.
    type Four = [f64; 4];

    #[inline(always)]
    pub fn load(from: &[f64; 4]) -> Four {
        *from
    }

    #[inline(always)]
    pub fn store(to: &mut [f64; 4], four: Four) {
        *to = four;
    }

    /// The same number four times.
    #[inline(always)]
    pub fn splat(value: f64) -> Four {
        [value; 4]
    }

    #[inline(always)]
    pub fn plus(a: Four, b: Four) -> Four {
        std::array::from_fn(|lane| a[lane] + b[lane])
    }

    #[inline(always)]
    pub fn times(a: Four, b: Four) -> Four {
        std::array::from_fn(|lane| a[lane] * b[lane])
    }

    #[inline(always)]
    pub fn halves(x: &[f64; LANES]) -> [Four; 2] {
        [[x[0], x[1], x[2], x[3]], [x[4], x[5], x[6], x[7]]]
    }

    /// The sum of each of four fours.
    #[inline(always)]
    pub fn sum_each(fours: [Four; 4]) -> Four {
        fours.map(|[a, b, c, d]| (a + b) + (c + d))
    }

    /// As [`super::find_within`], from an i on, when some are found already; tells how many are then.
    #[inline(always)]
    pub fn find_within(
        room: &[f32],
        seen: &[u8],
        reach: &[f32; TABLE],
        start: usize,
        found: &mut [usize],
        mut count: usize,
    ) -> usize {
        // Every i is written down and kept or not: a branch here would be guessed wrongly too often.
        for (i, (room, &seen)) in room.iter().zip(seen).enumerate().skip(start) {
            found[count] = i;
            count += usize::from(*room <= reach[usize::from(seen) % TABLE]);
        }
        count
    }

    /// R sums Σ a_i b_i with one b: each has the bits of [`super::dot`], and they do not wait for one another.
    #[inline(always)]
    pub fn dots<const R: usize>(a: [&[f64]; R], b: &[f64]) -> [f64; R] {
        let (b, b_tail) = b.as_chunks::<LANES>();
        let mut lanes = [[0.0; LANES]; R];
        let whole = a.map(|a| &a.as_chunks::<LANES>().0[..b.len()]);
        for (start, y) in b.iter().enumerate() {
            for r in 0..R {
                let x = &whole[r][start];
                for lane in 0..LANES {
                    lanes[r][lane] += x[lane] * y[lane];
                }
            }
        }
        std::array::from_fn(|r| super::sum(lanes[r]) + super::tail(a[r], b_tail))
    }

    /// y += Σ_r u_r · a_r, in this order.
    #[inline(always)]
    pub fn combine<const R: usize>(u: [f64; R], a: [&[f64]; R], y: &mut [f64]) {
        let mut whole = [&[][..]; R];
        let mut rest = [&[][..]; R];
        for r in 0..R {
            (whole[r], rest[r]) = a[r][..y.len()].as_chunks::<4>();
        }
        let (y_whole, y_rest) = y.as_chunks_mut::<4>();
        for (at, y) in y_whole.iter_mut().enumerate() {
            let mut sums = *y;
            for r in 0..R {
                let x = &whole[r][at];
                for lane in 0..4 {
                    sums[lane] += u[r] * x[lane];
                }
            }
            *y = sums;
        }
        for (at, y) in y_rest.iter_mut().enumerate() {
            for r in 0..R {
                *y += u[r] * rest[r][at];
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) mod avx2 {
    use std::arch::x86_64::{
        __m256, __m256d, _CMP_LE_OQ, _mm_add_pd, _mm_add_sd, _mm_cvtsd_f64, _mm_cvtsi32_si128,
        _mm_cvtsi64_si128, _mm_unpackhi_pd, _mm256_add_epi64, _mm256_add_pd, _mm256_blend_pd,
        _mm256_blendv_ps, _mm256_castpd256_pd128, _mm256_castsi256_ps, _mm256_cmp_ps, _mm256_cvtepu8_epi32,
        _mm256_cvtepu8_epi64, _mm256_extractf128_pd, _mm256_hadd_pd, _mm256_loadu_pd, _mm256_loadu_ps,
        _mm256_movemask_ps, _mm256_mul_pd, _mm256_permute2f128_pd, _mm256_permutevar8x32_ps,
        _mm256_set1_epi64x, _mm256_set1_pd, _mm256_setzero_pd, _mm256_slli_epi32, _mm256_storeu_pd,
        _mm256_storeu_si256,
    };

    use super::{LANES, TABLE};

    /// Where the bits of a byte are set, from the lowest on.
    const SET_BITS: [[u8; 8]; 256] = {
        let mut table = [[0; 8]; 256];
        let mut byte = 0;
        while byte < 256 {
            let (mut bit, mut count) = (0, 0);
            while bit < 8 {
                if byte >> bit & 1 == 1 {
                    table[byte][count] = bit;
                    count += 1;
                }
                bit += 1;
            }
            byte += 1;
        }
        table
    };

    /// As the plain one, from the start.
    #[target_feature(enable = "avx2,popcnt")]
    pub fn find_within(room: &[f32], seen: &[u8], reach: &[f32; TABLE], found: &mut [usize]) -> usize {
        let (room_blocks, _) = room.as_chunks::<8>();
        let (seen_blocks, _) = seen.as_chunks::<8>();
        let (low, high) = reach.split_at(TABLE / 2);
        let (low, high) = (load_single(low), load_single(high));
        let mut count = 0;
        for (block, (room, seen)) in room_blocks.iter().zip(seen_blocks).enumerate() {
            let seen = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(i64::from_le_bytes(*seen)));
            let (low, high) = (_mm256_permutevar8x32_ps(low, seen), _mm256_permutevar8x32_ps(high, seen));
            // Bit 3 tells which half of the table is meant.
            let reach = _mm256_blendv_ps(low, high, _mm256_castsi256_ps(_mm256_slli_epi32::<28>(seen)));
            let within = _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_LE_OQ>(load_single(room), reach));
            let places = &SET_BITS[within as usize % 256];
            let start = _mm256_set1_epi64x(8 * block as i64);
            let Some(target) = found[count..].first_chunk_mut::<8>() else { break };
            for half in 0..2 {
                let four =
                    [places[4 * half], places[4 * half + 1], places[4 * half + 2], places[4 * half + 3]];
                let four = _mm256_cvtepu8_epi64(_mm_cvtsi32_si128(i32::from_le_bytes(four)));
                #[expect(unsafe_code, reason = "there is room for the eight")]
                unsafe {
                    _mm256_storeu_si256(
                        target.as_mut_ptr().add(4 * half).cast(),
                        _mm256_add_epi64(start, four),
                    );
                }
            }
            count += within.count_ones() as usize;
        }
        super::plain::find_within(room, seen, reach, 8 * room_blocks.len(), found, count)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load_single(from: &[f32]) -> __m256 {
        let from: &[f32; 8] = from.first_chunk().expect("eight to be read");
        #[expect(unsafe_code, reason = "there are eight to be read")]
        unsafe {
            _mm256_loadu_ps(from.as_ptr())
        }
    }

    /// The same as the plain one, to the bit. Written out, for the compiler makes vectors across the R sums and shuffles.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn dots<const R: usize>(a: [&[f64]; R], b: &[f64]) -> [f64; R] {
        let (b, b_tail) = b.as_chunks::<LANES>();
        let mut lanes = [[_mm256_setzero_pd(); 2]; R];
        // Loops, not closures: these would not be compiled for AVX2.
        let mut whole = [&[][..]; R];
        for r in 0..R {
            whole[r] = &a[r].as_chunks::<LANES>().0[..b.len()];
        }
        for (start, y) in b.iter().enumerate() {
            let y = halves(y);
            for r in 0..R {
                let x = halves(&whole[r][start]);
                for half in 0..2 {
                    lanes[r][half] = _mm256_add_pd(lanes[r][half], _mm256_mul_pd(x[half], y[half]));
                }
            }
        }
        let mut sums = [0.0; R];
        for r in 0..R {
            sums[r] = sum(lanes[r]) + super::tail(a[r], b_tail);
        }
        sums
    }

    /// The same as the plain one, to the bit.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn combine<const R: usize>(u: [f64; R], a: [&[f64]; R], y: &mut [f64]) {
        let mut factors = [_mm256_setzero_pd(); R];
        let mut whole = [&[][..]; R];
        let mut rest = [&[][..]; R];
        for r in 0..R {
            factors[r] = _mm256_set1_pd(u[r]);
            (whole[r], rest[r]) = a[r][..y.len()].as_chunks::<LANES>();
        }
        let (y_whole, y) = y.as_chunks_mut::<LANES>();
        for r in 0..R {
            // So that the compiler sees that they are as long.
            whole[r] = &whole[r][..y_whole.len()];
            rest[r] = &rest[r][..y.len()];
        }
        for (at, y) in y_whole.iter_mut().enumerate() {
            let mut sums = halves(y);
            for r in 0..R {
                let x = halves(&whole[r][at]);
                for half in 0..2 {
                    sums[half] = _mm256_add_pd(sums[half], _mm256_mul_pd(factors[r], x[half]));
                }
            }
            let (fours, _) = y.as_chunks_mut::<4>();
            store(&mut fours[0], sums[0]);
            store(&mut fours[1], sums[1]);
        }
        let mut start = 0;
        if let Some(y) = y.first_chunk_mut::<4>() {
            let mut sum = load(y);
            for r in 0..R {
                let Some(x) = rest[r].first_chunk::<4>() else { break };
                sum = _mm256_add_pd(sum, _mm256_mul_pd(factors[r], load(x)));
            }
            store(y, sum);
            start = 4;
        }
        for at in start..y.len() {
            for r in 0..R {
                y[at] += u[r] * rest[r][at];
            }
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn splat(value: f64) -> __m256d {
        _mm256_set1_pd(value)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn plus(a: __m256d, b: __m256d) -> __m256d {
        _mm256_add_pd(a, b)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn times(a: __m256d, b: __m256d) -> __m256d {
        _mm256_mul_pd(a, b)
    }

    /// The same as the plain one, to the bit.
    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn sum_each(fours: [__m256d; 4]) -> __m256d {
        // (a₀ b₀ a₂ b₂) and (c₀ d₀ c₂ d₂), where 0 and 2 are the sums of the lower and the upper pair.
        let (ab, cd) = (_mm256_hadd_pd(fours[0], fours[1]), _mm256_hadd_pd(fours[2], fours[3]));
        let crossed = _mm256_permute2f128_pd::<0x21>(ab, cd);
        _mm256_add_pd(_mm256_blend_pd::<0b1100>(ab, cd), crossed)
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn store(to: &mut [f64; 4], vector: __m256d) {
        #[expect(unsafe_code, reason = "there is room for the four")]
        unsafe {
            _mm256_storeu_pd(to.as_mut_ptr(), vector);
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn load(from: &[f64; 4]) -> __m256d {
        #[expect(unsafe_code, reason = "there are four to be read")]
        unsafe {
            _mm256_loadu_pd(from.as_ptr())
        }
    }

    #[target_feature(enable = "avx2")]
    #[inline]
    pub fn halves(x: &[f64; LANES]) -> [__m256d; 2] {
        let (fours, _) = x.as_chunks::<4>();
        [load(&fours[0]), load(&fours[1])]
    }

    /// In the order of [`super::sum`].
    #[target_feature(enable = "avx2")]
    #[inline]
    fn sum(lanes: [__m256d; 2]) -> f64 {
        let pairs = _mm256_hadd_pd(lanes[0], lanes[1]);
        let fours = _mm_add_pd(_mm256_castpd256_pd128(pairs), _mm256_extractf128_pd::<1>(pairs));
        _mm_cvtsd_f64(_mm_add_sd(fours, _mm_unpackhi_pd(fours, fours)))
    }
}

#[inline(always)]
fn sum(lanes: [f64; LANES]) -> f64 {
    let [a, b, c, d, e, f, g, h] = lanes;
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// What is left of a sum when the lanes are full.
#[inline(always)]
fn tail(a: &[f64], b_tail: &[f64]) -> f64 {
    let mut sum = 0.0;
    for (x, y) in a[a.len() - b_tail.len()..].iter().zip(b_tail) {
        sum += x * y;
    }
    sum
}

wide! {
    /// Σ a_i b_i.
    dot(a: &[f64], b: &[f64]) -> f64 {
        debug_assert_eq!(a.len(), b.len());
        dots([a], b)[0]
    }
}

wide! {
    /// Σ (a_i − b_i)².
    distance(a: &[f64], b: &[f64]) -> f64 {
        let mut lanes = [0.0; LANES];
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        for (a, b) in a.iter().zip(b) {
            for lane in 0..LANES {
                lanes[lane] += (a[lane] - b[lane]) * (a[lane] - b[lane]);
            }
        }
        let rest = a_rest.iter().zip(b_rest);
        rest.fold(sum(lanes), |sum, (a, b)| sum + (a - b) * (a - b))
    }
}

/// Euclidean norm.
pub fn norm(v: &[f64]) -> f64 {
    dot(v, v).sqrt()
}

/// Bounds that are looked at together.
pub const BOUNDS: usize = 16;

wide! {
    /// Where the first block of [`BOUNDS`] from `start` on begins in which scale · a_i + reach · b_i is not below the height for
    /// some i. What is not a number is not below.
    first_not_below(a: &[f64], b: &[f64], scale: f64, reach: f64, height: f64, start: usize) -> Option<usize> {
        let (a_blocks, a_rest) = a[start..].as_chunks::<BOUNDS>();
        let (b_blocks, b_rest) = b[start..].as_chunks::<BOUNDS>();
        for (block, (a, b)) in a_blocks.iter().zip(b_blocks).enumerate() {
            let mut below = 0_u64;
            for lane in 0..BOUNDS {
                below += u64::from(scale * a[lane] + reach * b[lane] < height);
            }
            if below < BOUNDS as u64 {
                return Some(start + BOUNDS * block);
            }
        }
        let mut below = 0;
        for (a, b) in a_rest.iter().zip(b_rest) {
            below += usize::from(scale * a + reach * b < height);
        }
        if below < a_rest.len() { Some(a.len() - a_rest.len()) } else { None }
    }
}

/// Entries of a table of reaches.
pub const TABLE: usize = 16;

/// Finds the i with room_i ≤ reach[seen_i], ascending, and tells how many there are; every seen_i is below [`TABLE`]. There is
/// room for all i and [`LANES`] more.
pub fn find_within(room: &[f32], seen: &[u8], reach: &[f32; TABLE], found: &mut [usize]) -> usize {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        #[expect(unsafe_code, reason = "the processor was asked whether it has AVX2")]
        return unsafe { avx2::find_within(room, seen, reach, found) };
    }
    plain::find_within(room, seen, reach, 0, found, 0)
}

wide! {
    /// y += factor · x.
    axpy(factor: f64, x: &[f64], y: &mut [f64]) {
        debug_assert_eq!(x.len(), y.len());
        combine([factor], [x], y);
    }
}

wide! {
    /// y += Σ_l factor_l (v_l·x) v_l, the v_l `width` apart and as long as x at least.
    add_projections(factors: &[f64], v: &[f64], width: usize, x: &[f64], y: &mut [f64]) {
        let v = |l: usize| &v[l * width..l * width + x.len()];
        let (fours, rest) = factors.as_chunks::<4>();
        for (four, [a, b, c, d]) in fours.iter().enumerate() {
            let parts = [v(4 * four), v(4 * four + 1), v(4 * four + 2), v(4 * four + 3)];
            let [e, f, g, h] = dots(parts, x);
            combine([a * e, b * f, c * g, d * h], parts, y);
        }
        for (l, factor) in (factors.len() - rest.len()..).zip(rest) {
            combine([factor * dots([v(l)], x)[0]], [v(l)], y);
        }
    }
}

wide! {
    /// product_i = row_i · x over the rows of a matrix of x.len() columns.
    matrix_times(cells: &[f64], x: &[f64], product: &mut [f64]) {
        let width = x.len().max(1);
        let mut rows = cells.chunks_exact(4 * width);
        let mut products = product.chunks_exact_mut(4);
        for (four, product) in (&mut rows).zip(&mut products) {
            let row = |r: usize| &four[r * width..(r + 1) * width];
            product.copy_from_slice(&dots([row(0), row(1), row(2), row(3)], x));
        }
        let rest = rows.remainder().chunks_exact(width);
        for (product, row) in products.into_remainder().iter_mut().zip(rest) {
            *product = dots([row], x)[0];
        }
    }
}

wide! {
    /// products_i = row_i · x over some rows of a matrix of x.len() columns, each with the bits of [`dot`].
    some_rows_times(cells: &[f64], rows: &[usize], x: &[f64], products: &mut [f64]) {
        let row = |i: usize| &cells[i * x.len()..(i + 1) * x.len()];
        let (whole, tail) = x.as_chunks::<LANES>();
        let (four_rows, rest) = rows.as_chunks::<4>();
        let (four_products, rest_products) = products[..rows.len()].as_chunks_mut::<4>();
        for (&[i, j, k, l], products) in four_rows.iter().zip(four_products) {
            let (i, j, k, l) = (row(i), row(j), row(k), row(l));
            let (a, b) = (&i.as_chunks::<LANES>().0[..whole.len()], &j.as_chunks::<LANES>().0[..whole.len()]);
            let (c, d) = (&k.as_chunks::<LANES>().0[..whole.len()], &l.as_chunks::<LANES>().0[..whole.len()]);
            let (mut low, mut high) = ([splat(0.0); 4], [splat(0.0); 4]);
            for at in 0..whole.len() {
                let [x, y] = halves(&whole[at]);
                let (a, b, c, d) = (halves(&a[at]), halves(&b[at]), halves(&c[at]), halves(&d[at]));
                low = [
                    plus(low[0], times(a[0], x)),
                    plus(low[1], times(b[0], x)),
                    plus(low[2], times(c[0], x)),
                    plus(low[3], times(d[0], x)),
                ];
                high = [
                    plus(high[0], times(a[1], y)),
                    plus(high[1], times(b[1], y)),
                    plus(high[2], times(c[1], y)),
                    plus(high[3], times(d[1], y)),
                ];
            }
            store(products, plus(sum_each(low), sum_each(high)));
            if !tail.is_empty() {
                for (product, row) in products.iter_mut().zip([i, j, k, l]) {
                    *product += self::tail(row, tail);
                }
            }
        }
        for (&i, product) in rest.iter().zip(rest_products) {
            *product = dots([row(i)], x)[0];
        }
    }
}

wide! {
    /// cells += factor · u vᵀ, row by row.
    matrix_add_outer(cells: &mut [f64], factor: f64, u: &[f64], v: &[f64]) {
        if let [a, b] = v {
            // The kernels with the leverages of two classes are as narrow as that.
            for (row, &u) in cells.as_chunks_mut::<2>().0.iter_mut().zip(u) {
                row[0] += factor * u * a;
                row[1] += factor * u * b;
            }
            return;
        }
        for (row, &u) in cells.chunks_exact_mut(v.len().max(1)).zip(u) {
            if u != 0.0 {
                combine([factor * u], [v], row);
            }
        }
    }
}

wide! {
    /// product += Σ_i u_i · row_i over the rows of a matrix, a range of each; rows whose u is zero are not touched.
    rows_times(cells: &[f64], width: usize, range: std::ops::Range<usize>, u: &[f64], product: &mut [f64]) {
        let part = |i: usize| &cells[i * width + range.start..i * width + range.end];
        if let [first, second] = product {
            for i in (0..u.len()).filter(|&i| u[i] != 0.0) {
                *first += u[i] * part(i)[0];
                *second += u[i] * part(i)[1];
            }
            return;
        }
        let mut four = [0; 4];
        let mut waiting = 0;
        for i in (0..u.len()).filter(|&i| u[i] != 0.0) {
            four[waiting] = i;
            waiting += 1;
            if waiting == 4 {
                waiting = 0;
                let [a, b, c, d] = four;
                combine([u[a], u[b], u[c], u[d]], [part(a), part(b), part(c), part(d)], product);
            }
        }
        for &i in &four[..waiting] {
            combine([u[i]], [part(i)], product);
        }
    }
}

wide! {
    /// product += Σ_l u_l · row_{rows_l} over some rows of a matrix; rows whose u is zero are not touched.
    add_some_rows(cells: &[f64], rows: &[usize], u: &[f64], product: &mut [f64]) {
        let width = product.len();
        let row = |i: usize| &cells[i * width..(i + 1) * width];
        let mut four = [0; 4];
        let mut waiting = 0;
        for l in 0..rows.len() {
            four[waiting] = l;
            waiting += usize::from(u[l] != 0.0);
            if waiting == 4 {
                waiting = 0;
                let [a, b, c, d] = four;
                let parts = [row(rows[a]), row(rows[b]), row(rows[c]), row(rows[d])];
                combine([u[a], u[b], u[c], u[d]], parts, product);
            }
        }
        for &l in &four[..waiting] {
            combine([u[l]], [row(rows[l])], product);
        }
    }
}

wide! {
    /// sum += Σ_c w_c · column_c over some columns of a matrix that lies column by column, a range of each.
    add_columns(matrix: Columns<'_>, range: std::ops::Range<usize>, w: &[f64], sum: &mut [f64]) {
        // A block of the sum stays in the nearest cache while the columns pass by.
        for (block, sum) in sum.chunks_mut(1024).enumerate() {
            let start = range.start + 1024 * block;
            let end = start + sum.len();
            let part = |j: usize| &matrix.column(j)[start..end];
            let (mut four, mut weights) = (matrix.which.chunks_exact(4), w.chunks_exact(4));
            for (j, w) in (&mut four).zip(&mut weights) {
                combine([w[0], w[1], w[2], w[3]], [part(j[0]), part(j[1]), part(j[2]), part(j[3])], sum);
            }
            for (&j, &w) in four.remainder().iter().zip(weights.remainder()) {
                combine([w], [part(j)], sum);
            }
        }
    }
}

wide! {
    /// products_c += column_c · v for some columns of a matrix that lies column by column, a range of each.
    add_columns_times(matrix: Columns<'_>, range: std::ops::Range<usize>, v: &[f64], products: &mut [f64]) {
        let part = |j: usize| &matrix.column(j)[range.clone()];
        let mut four = matrix.which.chunks_exact(4);
        let mut sums = products.chunks_exact_mut(4);
        for (four, sums) in (&mut four).zip(&mut sums) {
            let products = dots([part(four[0]), part(four[1]), part(four[2]), part(four[3])], v);
            for (sum, product) in sums.iter_mut().zip(products) {
                *sum += product;
            }
        }
        for (&j, sum) in four.remainder().iter().zip(sums.into_remainder()) {
            *sum += dots([part(j)], v)[0];
        }
    }
}

/// Some columns of a matrix that lies column by column.
#[derive(Clone, Copy)]
pub struct Columns<'a> {
    /// The whole matrix.
    pub cells: &'a [f64],
    /// The length of a column.
    pub length: usize,
    /// Which.
    pub which: &'a [usize],
}

impl<'a> Columns<'a> {
    #[inline(always)]
    fn column(self, j: usize) -> &'a [f64] {
        &self.cells[j * self.length..(j + 1) * self.length]
    }
}

wide! {
    /// 2C_i (θ_i − f_i) where θ_i f_i < 1, else 0.
    pull(theta: &[f64], decision: &[f64], cost: &[f64], pull: &mut [f64]) {
        for (pull, ((theta, f), cost)) in pull.iter_mut().zip(theta.iter().zip(decision).zip(cost)) {
            *pull = if theta * f < 1.0 { cost * (theta - f) } else { 0.0 };
        }
    }
}

wide! {
    /// Σ 2C_i (θ_i − g_i)·change_i over the rows with θ_i g_i < 1, where g = f, and where g = f + change.
    pulls_along(theta: &[f64], decision: &[f64], cost: &[f64], change: &[f64]) -> (f64, f64) {
        let (mut here, mut there) = ([0.0; LANES], [0.0; LANES]);
        let length = theta.len();
        for start in (0..length).step_by(LANES) {
            for lane in 0..LANES.min(length - start) {
                let i = start + lane;
                let (g, h) = (decision[i], decision[i] + change[i]);
                let weight = cost[i] * change[i];
                here[lane] += if theta[i] * g < 1.0 { weight * (theta[i] - g) } else { 0.0 };
                there[lane] += if theta[i] * h < 1.0 { weight * (theta[i] - h) } else { 0.0 };
            }
        }
        (sum(here), sum(there))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dot_sums_every_length() {
        for length in 0..40 {
            let a: Vec<f64> = (0..length).map(f64::from).collect();
            let expected = (0..length).map(|i| f64::from(i * i)).sum::<f64>();
            assert_eq!(dot(&a, &a), expected);
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn wider_vectors_give_the_same_bits() {
        if !std::arch::is_x86_feature_detected!("avx2") {
            return;
        }
        let value = |i: usize| ((i * 2_654_435_761) % 1_000_003) as f64 / 7.0 - 70_000.0;
        for length in 0..70 {
            let row = |r: usize| (0..length).map(|i| value(i + 97 * r)).collect::<Vec<f64>>();
            let rows: Vec<Vec<f64>> = (0..5).map(row).collect();
            let a = [&rows[0][..], &rows[1], &rows[2], &rows[3]];
            let u = [value(1), value(2), value(3), value(4)];
            let (mut narrow, mut wide) = (rows[4].clone(), rows[4].clone());
            plain::combine(u, a, &mut narrow);
            #[expect(unsafe_code, reason = "the processor was asked whether it has AVX2")]
            let sums = unsafe {
                avx2::combine(u, a, &mut wide);
                avx2::dots(a, &rows[4])
            };
            assert_eq!(plain::dots(a, &rows[4]).map(f64::to_bits), sums.map(f64::to_bits));
            let bits = |v: &[f64]| v.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
            assert_eq!(bits(&narrow), bits(&wide), "{length}");
        }
    }

    #[test]
    fn products_of_some_rows_have_the_bits_of_dot() {
        let value = |i: usize| ((i * 2_654_435_761) % 1_000_003) as f64 / 7.0 - 70_000.0;
        for width in [1, 7, 8, 16, 21] {
            let cells: Vec<f64> = (0..9 * width).map(value).collect();
            let x: Vec<f64> = (0..width).map(|i| value(i + 5000)).collect();
            for rows in [vec![], vec![3], vec![8, 0, 5, 2], vec![1, 7, 0, 3, 4, 4]] {
                let mut products = vec![0.0; rows.len()];
                some_rows_times(&cells, &rows, &x, &mut products);
                for (&i, product) in rows.iter().zip(products) {
                    assert_eq!(
                        product.to_bits(),
                        dot(&cells[i * width..(i + 1) * width], &x).to_bits(),
                        "{width} {i}"
                    );
                }
            }
        }
    }

    #[test]
    fn finds_what_is_within_reach() {
        let reach: [f32; TABLE] = std::array::from_fn(|mark| mark as f32);
        for length in 0..50 {
            let seen: Vec<u8> = (0..length).map(|i| (i * 7 % 16) as u8).collect();
            let mut room: Vec<f32> = (0..length).map(|i| (i * 5 % 17) as f32).collect();
            if let Some(room) = room.get_mut(9) {
                *room = f32::NAN;
            }
            let expected: Vec<usize> =
                (0..length).filter(|&i| room[i] <= reach[usize::from(seen[i])]).collect();
            let mut found = vec![0; length + LANES];
            let count = find_within(&room, &seen, &reach, &mut found);
            assert_eq!(found[..count], expected);
            let count = plain::find_within(&room, &seen, &reach, 0, &mut found, 0);
            assert_eq!(found[..count], expected);
        }
    }

    #[test]
    fn finds_the_first_bound_that_is_not_below() {
        for length in [1, 15, 16, 17, 40, 64] {
            let b = vec![1.0; length];
            let mut a = vec![-3.0; length];
            assert_eq!(first_not_below(&a, &b, 2.0, 0.5, 1.0, 0), None);
            for at in 0..length {
                for value in [0.25, f64::NAN] {
                    a[at] = value;
                    assert_eq!(
                        first_not_below(&a, &b, 2.0, 0.5, 1.0, 0),
                        Some(at - at % BOUNDS),
                        "{length} {at}"
                    );
                    a[at] = -3.0;
                }
            }
        }
    }

    #[test]
    fn combines_every_length() {
        for length in 0..40 {
            let row = |r: usize| (0..length).map(|i| (i * r) as f64).collect::<Vec<f64>>();
            let cells: Vec<f64> = (1..6).flat_map(row).collect();
            let mut sum = vec![1.0; length];
            add_some_rows(&cells, &[0, 1, 2, 3, 4], &[1.0, 2.0, 0.0, 4.0, 5.0], &mut sum);
            let expected: Vec<f64> = (0..length).map(|i| (1 + i * (1 + 4 + 16 + 25)) as f64).collect();
            assert_eq!(sum, expected);
        }
    }
}
