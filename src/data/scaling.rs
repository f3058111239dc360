//! Scales one column by its training rows, whatever its magnitude. Missing values stay missing.

use std::fmt;
use std::str::FromStr;

use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

/// Scaled values are clipped here: values of other rows may lie arbitrarily far outside the
/// training range, and a model must be able to square them, in single precision too.
pub(super) const MOST_SCALED: f64 = 1e30;
/// Values that `--scale none` hands to a model may not be larger, for the same reason.
pub(super) const MOST_UNSCALED: f64 = 1e100;
/// A column whose range is smaller than this share of its largest value is constant up to rounding.
const ROUNDING: f64 = 1e-12;

/// How columns are scaled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// To mean 0 and standard deviation 1 (ddof 0).
    #[default]
    Standard,
    /// To 0..1.
    Minmax,
    /// Not at all.
    None,
}

impl FromStr for Scale {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "standard" => Ok(Self::Standard),
            "minmax" => Ok(Self::Minmax),
            "none" => Ok(Self::None),
            _ => Err("write standard, minmax or none".into()),
        }
    }
}

impl fmt::Display for Scale {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Standard => "standard",
            Self::Minmax => "minmax",
            Self::None => "none",
        })
    }
}

/// The smallest and the largest present value; empty if there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ValueRange {
    low: f64,
    high: f64,
}

impl ValueRange {
    pub(super) fn of(values: impl Iterator<Item = f64>) -> Self {
        let start = Self { low: f64::INFINITY, high: f64::NEG_INFINITY };
        values
            .filter(|value| !value.is_nan())
            .fold(start, |r, value| Self { low: r.low.min(value), high: r.high.max(value) })
    }

    /// Whether all values are the same, up to rounding; an empty range is constant.
    pub(super) fn is_constant(&self) -> bool {
        self.low >= self.high || self.width() <= ROUNDING * self.largest()
    }

    /// The largest absolute value.
    pub(super) fn largest(&self) -> f64 {
        self.low.abs().max(self.high.abs())
    }

    fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// How one column is scaled.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scaler {
    /// To (x − centre)/spread.
    Affine(Affine),
    /// The same after a multiplication by a power of two: x itself would overflow or underflow.
    Shifted(PowerOfTwo, Affine),
    /// To 0: the column is constant in training.
    Zero,
    /// Not at all.
    Keep,
}

impl Scaler {
    pub(super) fn fit(scale: Scale, values: ArrayView1<'_, f64>, range: &ValueRange) -> Self {
        if scale == Scale::None {
            return Self::Keep;
        }
        if range.is_constant() {
            return Self::Zero;
        }
        let affine = Affine::fit(scale, || values.iter().copied(), range);
        if affine.is_accurate() {
            return Self::Affine(affine);
        }
        let power = PowerOfTwo::to_unit(range.largest());
        let range = ValueRange { low: power.times(range.low), high: power.times(range.high) };
        Self::Shifted(
            power,
            Affine::fit(scale, || values.iter().map(|&value| power.times(value)), &range),
        )
    }

    /// The scaled value; NaN stays NaN.
    pub(super) fn apply(&self, value: f64) -> f64 {
        match self {
            Self::Zero if !value.is_nan() => 0.0,
            Self::Zero | Self::Keep => value,
            _ => self.unclipped(value).clamp(-MOST_SCALED, MOST_SCALED),
        }
    }

    /// Whether it is valid: a file may hold anything.
    pub(super) fn is_sound(&self) -> bool {
        match self {
            Self::Affine(affine) => affine.is_accurate() && affine.spread > 0.0,
            Self::Shifted(power, affine) => {
                affine.is_accurate() && affine.spread > 0.0 && power.is_sound()
            }
            Self::Zero | Self::Keep => true,
        }
    }

    /// Whether a value is too far outside the training range to be scaled as it is.
    pub(super) fn clips(&self, value: f64) -> bool {
        !matches!(self, Self::Zero | Self::Keep) && self.unclipped(value).abs() > MOST_SCALED
    }

    fn unclipped(&self, value: f64) -> f64 {
        match self {
            Self::Affine(affine) => affine.apply(value),
            Self::Shifted(power, affine) => affine.apply(power.times(value)),
            Self::Zero | Self::Keep => value,
        }
    }
}

/// (x − centre)/spread.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Affine {
    centre: f64,
    spread: f64,
}

impl Affine {
    fn fit<I: Iterator<Item = f64>>(
        scale: Scale,
        values: impl Fn() -> I,
        range: &ValueRange,
    ) -> Self {
        let width = range.width();
        if scale == Scale::Minmax {
            return Self { centre: range.low, spread: width };
        }
        // Deviations are taken relative to the range: the square of 1e-200 would underflow.
        let centre = mean(values());
        let variance = mean(values().map(|value| ((value - centre) / width).powi(2)));
        Self { centre, spread: width * variance.sqrt() }
    }

    /// Whether nothing overflowed, nor lost digits by underflow.
    fn is_accurate(&self) -> bool {
        self.centre.is_finite() && self.spread.is_normal()
    }

    fn apply(&self, value: f64) -> f64 {
        (value - self.centre) / self.spread
    }
}

/// A power of two as the product of two: 2¹⁰⁷⁴, which scales the smallest number to 1, is not
/// representable.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct PowerOfTwo(f64, f64);

impl PowerOfTwo {
    /// The power of two that scales a finite positive value to about 1/2..1.
    fn to_unit(value: f64) -> Self {
        let exponent = -(value.log2().floor() as i32) - 1;
        Self(2.0_f64.powi(exponent / 2), 2.0_f64.powi(exponent - exponent / 2))
    }

    fn is_sound(self) -> bool {
        [self.0, self.1].iter().all(|factor| factor.is_normal() && *factor > 0.0)
    }

    fn times(self, value: f64) -> f64 {
        value * self.0 * self.1
    }
}

/// The mean of the present values, NaN if there are none.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let present = values.filter(|value| !value.is_nan());
    let (sum, count) = present.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

#[cfg(test)]
mod tests {
    use ndarray::Array1;

    use super::*;

    /// A column scaled by itself.
    fn scaled(scale: Scale, values: &[f64]) -> Vec<f64> {
        let column = Array1::from(values.to_vec());
        let scaler = Scaler::fit(scale, column.view(), &ValueRange::of(values.iter().copied()));
        values.iter().map(|&value| scaler.apply(value)).collect()
    }

    const MAGNITUDES: [f64; 11] =
        [1e-320, 1e-310, 1e-307, 1e-200, 1e-100, 1.0, 1e100, 1e200, 1e300, 1e308, f64::MAX];

    #[test]
    fn any_magnitude_is_scaled_alike() {
        for magnitude in MAGNITUDES {
            for (low, high) in [(-1.0, 1.0), (0.0, 1.0), (-1.0, 0.0)] {
                let values = [low * magnitude, high * magnitude].repeat(40);
                let near = |scale, expected: [f64; 2]| {
                    for (value, expected) in
                        scaled(scale, &values).into_iter().zip(expected.repeat(40))
                    {
                        assert!(
                            (value - expected).abs() < 1e-12,
                            "{magnitude:e} {scale} {low}: {value}"
                        );
                    }
                };
                near(Scale::Standard, [-1.0, 1.0]);
                near(Scale::Minmax, [0.0, 1.0]);
            }
        }
    }

    #[test]
    fn what_lies_beyond_all_measure_is_clipped_and_gaps_stay() {
        for magnitude in MAGNITUDES.into_iter().filter(|&magnitude| magnitude < 1e270) {
            for scale in [Scale::Standard, Scale::Minmax] {
                let column = Array1::from(vec![0.0, magnitude, magnitude, 0.0]);
                let scaler =
                    Scaler::fit(scale, column.view(), &ValueRange::of(column.iter().copied()));
                assert_eq!(scaler.apply(f64::MAX), MOST_SCALED);
                assert_eq!(scaler.apply(-f64::MAX), -MOST_SCALED);
                assert!(
                    scaler.clips(f64::MAX) && !scaler.clips(magnitude) && !scaler.clips(f64::NAN)
                );
                assert!(scaler.apply(f64::NAN).is_nan());
            }
        }
    }

    #[test]
    fn constant_is_constant_up_to_rounding() {
        let constant = |values: &[f64]| ValueRange::of(values.iter().copied()).is_constant();
        assert!(
            constant(&[0.1 + 0.2, 0.3])
                && constant(&[1e6, 1e6 + 1e-10])
                && constant(&[-1e300, -1e300])
        );
        assert!(constant(&[]) && constant(&[f64::NAN, 5.0]) && constant(&[0.0, -0.0]));
        assert!(
            !constant(&[1.0, 1.0 + 1e-11])
                && !constant(&[0.0, 1e-320])
                && !constant(&[-1e308, 1e308])
        );
        assert!(!constant(&[1e-300, 2e-300]));
    }

    #[test]
    fn ordinary_columns_keep_their_bits() {
        let values = [0.1, 7.25, -3.5, 1e6, 12.0];
        let mean = values.iter().sum::<f64>() / 5.0;
        let width = 1e6 - -3.5;
        let squares: f64 =
            values.iter().map(|value| ((value - mean) / width).powi(2)).sum::<f64>() / 5.0;
        let by_hand = values.map(|value| ((value - mean) / (width * squares.sqrt())).to_bits());
        let ours: Vec<u64> =
            scaled(Scale::Standard, &values).into_iter().map(f64::to_bits).collect();
        assert_eq!(ours, by_hand);
    }

    #[test]
    fn words_survive_a_round_trip() {
        for text in ["standard", "minmax", "none"] {
            assert_eq!(text.parse::<Scale>().unwrap().to_string(), text);
        }
        assert!("robust".parse::<Scale>().is_err());
    }
}
