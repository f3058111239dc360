//! From values to shares of an axis, and where its ticks are.

/// How values are mapped to an axis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AxisMapping {
    /// Evenly.
    Linear,
    /// By their logarithm.
    Log,
    /// Evenly up to this size, then by their logarithm, on both sides of zero.
    Asinh(f64),
}

#[derive(Debug, Clone)]
pub struct Axis {
    /// What it shows.
    pub name: String,
    /// Its lower end.
    pub lo: f64,
    /// Its upper end.
    pub hi: f64,
    scale: AxisMapping,
    /// A value that has a tick of its own if there is room: the smallest size.
    first: Option<f64>,
    /// Ticks that were given.
    given: Vec<(f64, String)>,
}

/// With more features than this, the axis of sizes is logarithmic.
const LINEAR_SIZES: usize = 120;

impl Axis {
    /// An even axis.
    pub fn linear(name: impl Into<String>, lo: f64, hi: f64) -> Self {
        Self::new(name, lo, hi, AxisMapping::Linear)
    }

    /// An even axis around all values, with a little air.
    pub fn around(name: impl Into<String>, values: impl Iterator<Item = f64>) -> Self {
        let (lo, hi) = range(values);
        let air = (hi - lo) * 0.04;
        Self::new(name, lo - air, hi + air, AxisMapping::Linear)
    }

    /// An axis for values of very different magnitudes on both sides of zero.
    pub fn signed(name: impl Into<String>, values: impl Iterator<Item = f64> + Clone) -> Self {
        let mut magnitudes: Vec<f64> =
            values.clone().map(f64::abs).filter(|value| *value > 0.0).collect();
        magnitudes.sort_unstable_by(f64::total_cmp);
        let middle = magnitudes.get(magnitudes.len() / 2).copied().unwrap_or(1.0);
        let (lo, hi) = range(values);
        Self::new(name, lo.min(0.0) * 1.1, hi.max(0.0) * 1.1, AxisMapping::Asinh(middle))
    }

    /// The axis of subset sizes.
    pub fn sizes(smallest: usize, largest: usize) -> Self {
        let wide = largest > LINEAR_SIZES;
        let name = if wide { "number of features (logarithmic)" } else { "number of features" };
        let scale = if wide { AxisMapping::Log } else { AxisMapping::Linear };
        Self {
            first: Some(smallest as f64),
            ..Self::new(name, smallest as f64, largest as f64, scale)
        }
    }

    /// The same axis, half a size longer at both ends: room for whole cells.
    pub fn with_cells(self) -> Self {
        Self { lo: self.lo - 0.5, hi: self.hi + 0.5, ..self }
    }

    /// The same axis with these ticks and no others.
    pub fn with_ticks(self, ticks: Vec<(f64, String)>) -> Self {
        Self { given: ticks, ..self }
    }

    fn new(name: impl Into<String>, lo: f64, hi: f64, scale: AxisMapping) -> Self {
        // An axis of one value has it in the middle.
        let (lo, hi) = if hi > lo { (lo, hi) } else { (lo - 0.5, lo + 0.5) };
        Self { name: name.into(), lo, hi, scale, first: None, given: Vec::new() }
    }

    fn spread(&self, value: f64) -> f64 {
        match self.scale {
            AxisMapping::Linear => value,
            AxisMapping::Log => value.max(f64::MIN_POSITIVE).log10(),
            AxisMapping::Asinh(unit) => (value / unit).asinh(),
        }
    }

    /// How far along the axis a value lies, from 0 to 1.
    pub fn share(&self, value: f64) -> f64 {
        let (lo, hi) = (self.spread(self.lo), self.spread(self.hi));
        ((self.spread(value) - lo) / (hi - lo)).clamp(0.0, 1.0)
    }

    /// Values and labels, from the lower end to the upper.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        if !self.given.is_empty() {
            return self.given.clone();
        }
        let mut values = match self.scale {
            AxisMapping::Linear => even_ticks(self.lo, self.hi),
            AxisMapping::Log => {
                let ticks = |steps: &[f64]| -> Vec<f64> {
                    let decades = self.lo.log10().floor() as i32..=self.hi.log10().ceil() as i32;
                    let all = decades.flat_map(|decade| {
                        steps.iter().map(move |step| step * 10_f64.powi(decade))
                    });
                    // There is no half feature, although the axis may begin there.
                    let lowest = self.first.unwrap_or(self.lo);
                    all.filter(|value| (lowest..=self.hi).contains(value)).collect()
                };
                let few = ticks(&[1.0]);
                if few.len() > 3 { few } else { ticks(&[1.0, 2.0, 5.0]) }
            }
            AxisMapping::Asinh(_) => self.signed_ticks(),
        };
        let room = |first: f64| {
            values.iter().all(|&tick| (self.share(tick) - self.share(first)).abs() > 0.05)
        };
        if let Some(first) = self.first.filter(|&first| room(first)) {
            values.insert(0, first);
        }
        values.into_iter().map(|value| (value, plain(value))).collect()
    }

    /// Zero and round numbers that are far enough apart.
    fn signed_ticks(&self) -> Vec<f64> {
        let largest = self.lo.abs().max(self.hi.abs());
        if largest == 0.0 {
            return vec![0.0];
        }
        let top = largest.log10().floor() as i32;
        let powers =
            |times: f64| (top - 6..=top).rev().map(move |power| times * 10_f64.powi(power));
        let candidates = powers(1.0).chain(powers(5.0)).chain(powers(2.0));
        let mut ticks = vec![0.0];
        for value in candidates.flat_map(|value| [value, -value]) {
            let apart =
                ticks.iter().all(|&other| (self.share(value) - self.share(other)).abs() > 0.14);
            if (self.lo..=self.hi).contains(&value) && apart {
                ticks.push(value);
            }
        }
        ticks.sort_unstable_by(f64::total_cmp);
        ticks
    }
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let finite = values.filter(|value| value.is_finite());
    let (lo, hi) =
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (v.min(lo), v.max(hi)));
    if lo <= hi { (lo, hi) } else { (0.0, 1.0) }
}

/// Multiples of 1, 2 or 5 times a power of ten, about six of them.
fn even_ticks(lo: f64, hi: f64) -> Vec<f64> {
    let rough = (hi - lo) / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|of| of * power)
        .find(|step| *step >= rough)
        .unwrap_or(power);
    let first = (lo / step - 1e-9).ceil() as i64;
    let last = (hi / step + 1e-9).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

/// A tick label without noise in its last digits.
fn plain(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-3..1e6).contains(&magnitude) {
        return format!("{value:e}").replace('-', "−");
    }
    let rounded = (value * 1e6).round() / 1e6;
    // Zero has no sign.
    format!("{}", rounded + 0.0).replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers_inside_the_axis() {
        let labels =
            |axis: Axis| axis.ticks().into_iter().map(|(_, label)| label).collect::<Vec<_>>();
        assert_eq!(labels(Axis::linear("", 0.0, 1.0)), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
        assert_eq!(labels(Axis::sizes(1, 20_000)), ["1", "10", "100", "1000", "10000"]);
        assert_eq!(labels(Axis::sizes(1, 500).with_cells())[0], "1");
        assert_eq!(labels(Axis::sizes(1, 34)), ["1", "10", "20", "30"]);
        assert_eq!(labels(Axis::linear("", -0.3, 0.3)), ["−0.2", "0", "0.2"]);
    }

    #[test]
    fn shares_run_from_one_end_to_the_other() {
        for axis in [
            Axis::linear("", -2.0, 6.0),
            Axis::sizes(1, 5000),
            Axis::signed("", [-9.0, 0.1, 4.0].into_iter()),
        ] {
            assert_eq!((axis.share(axis.lo), axis.share(axis.hi)), (0.0, 1.0));
            assert!(
                axis.ticks().iter().all(|(value, _)| (0.0..=1.0).contains(&axis.share(*value)))
            );
        }
        let one = Axis::sizes(7, 7);
        assert_eq!(one.share(7.0), 0.5);
    }
}
