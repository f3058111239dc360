//! The axis of values: round ticks over the range of what is seen, and the row of a value.

/// Rows between two labels of the axis of values.
pub(super) const ROWS_PER_TICK: u16 = 3;

/// The vertical axis.
pub(super) struct ValueAxis {
    low: f64,
    high: f64,
    step: f64,
}

impl ValueAxis {
    pub(super) fn new((low, high): (f64, f64), bounds: (f64, f64), rows: u16) -> Self {
        // A flat curve runs through the middle, unless it lies on a bound.
        let (low, high) = if high - low > 1e-12 {
            (low, high)
        } else {
            let around = if low == 0.0 { 0.5 } else { 0.5 * low.abs() };
            ((low - around).max(bounds.0), (high + around).min(bounds.1))
        };
        let wanted = f64::from((rows / ROWS_PER_TICK).max(1));
        let rough = (high - low) / wanted;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [10.0, 5.0, 2.0, 1.0, 0.5, 0.2].map(|factor| factor * power);
        let least = steps.iter().rposition(|&step| step >= rough).unwrap_or(0);
        // A single tick says nothing about the scale.
        let ticks = |step: &&f64| (high / **step).floor() - (low / **step).ceil() + 1.0;
        let step = steps[least..].iter().find(|step| ticks(step) >= 2.0);
        Self { low, high, step: step.copied().unwrap_or(steps[least]) }
    }

    pub(super) fn ticks(&self) -> impl Iterator<Item = f64> {
        let first = (self.low / self.step).ceil() as i64;
        let last = (self.high / self.step).floor() as i64;
        (first..=last).map(|i| i as f64 * self.step)
    }

    pub(super) fn label(&self, value: f64) -> String {
        let decimals = (-self.step.log10().floor()).clamp(0.0, 6.0) as usize;
        // Without the sign of a zero.
        format!("{:.decimals$}", if value.abs() < self.step / 2.0 { 0.0 } else { value })
    }

    /// The row of dots of a value, from the top.
    pub(super) fn dot(&self, value: f64, dots: usize) -> f64 {
        (self.high - value) / (self.high - self.low) * (dots - 1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_of_values_has_two_ticks_or_more() {
        for rows in [4, 6, 8, 16] {
            for (low, high) in
                [(-0.8, 0.7), (-0.9, 0.95), (-13.0, 0.0), (0.31, 0.39), (-1e-4, 3e-4), (0.0, 1.0)]
            {
                let axis = ValueAxis::new((low, high), (f64::NEG_INFINITY, f64::INFINITY), rows);
                let ticks = axis.ticks().count();
                assert!(
                    (2..=usize::from(rows)).contains(&ticks),
                    "{low} to {high} in {rows} rows: {ticks}"
                );
            }
        }
    }
}
