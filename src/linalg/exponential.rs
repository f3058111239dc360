//! The exponential function on eight lanes. Made of sums and products only, so that it has the same
//! bits on every processor, which a system's mathematical library does not promise.

use pulp::{cast, f64x8};

use super::simd::{LANES, Lanes, kernel};

/// Below this, exp is taken as exp of this, about 3e-308.
const LEAST: f64 = -708.0;
/// Adding this leaves a rounded integer in the lowest bits.
const SHIFT: f64 = 6_755_399_441_055_744.0;
/// ln 2 in two parts: the first has so few bits that its multiples by an exponent are exact.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
/// 1/k! for k from 0 to 13: the next term is below 5e-18 on |r| ≤ ln 2 / 2.
const INVERSE_FACTORIALS: [f64; 14] = {
    let mut inverse = [1.0; 14];
    let mut k = 1;
    let mut factorial = 1.0;
    while k < 14 {
        factorial *= k as f64;
        inverse[k] = 1.0 / factorial;
        k += 1;
    }
    inverse
};

#[inline(always)]
fn plus<S: Lanes>(s: S, a: f64x8, b: f64x8, power: f64x8) -> f64x8 {
    s.add_f64s(a, s.mul_f64s(b, power))
}

/// exp(x) for eight x ≤ 0.
#[inline(always)]
pub fn exp<S: Lanes>(s: S, x: f64x8) -> f64x8 {
    let x = s.max_f64s(x, s.splat_f64s(LEAST));
    let shifted =
        s.add_f64s(s.mul_f64s(x, s.splat_f64s(std::f64::consts::LOG2_E)), s.splat_f64s(SHIFT));
    let power = s.sub_f64s(shifted, s.splat_f64s(SHIFT));
    let r = s.sub_f64s(x, s.mul_f64s(power, s.splat_f64s(LN_2[0])));
    let r = s.sub_f64s(r, s.mul_f64s(power, s.splat_f64s(LN_2[1])));
    // By twos, fours and eights (Estrin): a short chain of operations that wait for each other.
    let mut twos = [r; 7];
    for (k, two) in twos.iter_mut().enumerate() {
        let [even, odd] = [INVERSE_FACTORIALS[2 * k], INVERSE_FACTORIALS[2 * k + 1]];
        *two = plus(s, s.splat_f64s(even), s.splat_f64s(odd), r);
    }
    let r2 = s.mul_f64s(r, r);
    let low = plus(s, twos[0], twos[1], r2);
    let middle = plus(s, twos[2], twos[3], r2);
    let high = plus(s, twos[4], twos[5], r2);
    let r4 = s.mul_f64s(r2, r2);
    let polynomial =
        plus(s, plus(s, low, middle, r4), plus(s, high, twos[6], r4), s.mul_f64s(r4, r4));
    // The integer is added to the exponent.
    let (mut bits, shifted): ([u64; LANES], [u64; LANES]) = (cast(polynomial), cast(shifted));
    for lane in 0..LANES {
        bits[lane] = bits[lane].wrapping_add(shifted[lane] << 52);
    }
    cast(bits)
}

kernel! {
    /// result_i = exp(−factor · x_i) + offset for x_i ≥ 0.
    decay(s; x: &[f64], factor: f64, offset: f64, result: &mut [f64]) {
        let factors = s.splat_f64s(-factor);
        let offsets = s.splat_f64s(offset);
        let ((x, x_rest), (result, result_rest)) = (x.as_chunks::<LANES>(), result.as_chunks_mut::<LANES>());
        for (x, result) in x.iter().zip(result) {
            *result = cast(s.add_f64s(exp(s, s.mul_f64s(cast(*x), factors)), offsets));
        }
        let mut padded = [0.0; LANES];
        padded[..x_rest.len()].copy_from_slice(x_rest);
        let last: [f64; LANES] = cast(s.add_f64s(exp(s, s.mul_f64s(cast(padded), factors)), offsets));
        result_rest.copy_from_slice(&last[..result_rest.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::simd::limited;
    use super::*;

    #[test]
    fn is_the_exponential_to_the_last_bits() {
        let x: Vec<f64> =
            (0..20_000).map(|i| f64::from(i) * 0.0353 + f64::from(i % 7) * 1e-9).collect();
        let mut result = vec![0.0; x.len()];
        decay(&x, 1.0, 0.0, &mut result);
        for (x, ours) in x.iter().zip(&result).filter(|(x, _)| **x < 700.0) {
            let theirs = (-x).exp();
            assert!(
                (ours - theirs).abs() <= 4.0 * f64::EPSILON * theirs,
                "{x}: {ours:e} {theirs:e}"
            );
        }
        assert_eq!(result[0], 1.0);
        assert!(result.iter().all(|value| (0.0..=1.0).contains(value)));
        let mut far = [0.0; 3];
        decay(&[1e5, 1e200, f64::INFINITY], 1.0, 0.0, &mut far);
        assert!(far.iter().all(|&value| value < 1e-300), "{far:?}");
    }

    #[test]
    fn every_width_gives_the_same_bits() {
        let x: Vec<f64> = (0..101).map(|i| f64::from(i * i) * 0.0137).collect();
        let of = |widest| {
            let mut result = vec![0.0; x.len()];
            limited::to(widest, || decay(&x, 0.37, 1.0, &mut result));
            result.iter().map(|value| value.to_bits()).collect::<Vec<_>>()
        };
        assert_eq!(of(512), of(128));
        assert_eq!(of(256), of(128));
    }
}
