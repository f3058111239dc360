//! How long a run will still take, from how fast it went so far.

use std::time::Duration;

/// What was read from a journal arrives at once and says nothing about speed.
const SETTLED: Duration = Duration::from_millis(500);
/// A rate over less time than this is noise.
const ENOUGH: Duration = Duration::from_secs(1);

/// How many paths had ended at two times.
#[derive(Debug, Clone, Copy, Default)]
pub struct TimeLeft {
    from: (Duration, usize),
    to: (Duration, usize),
}

impl TimeLeft {
    /// At this time so many paths had ended.
    pub fn note(&mut self, elapsed: Duration, done: usize) {
        if elapsed < SETTLED {
            self.from = (elapsed, done);
        }
        if done != self.to.1 {
            self.to = (elapsed, done);
        }
    }

    /// In words, rounded to what is known; none before there is a rate.
    pub fn words(&self, left: usize) -> Option<String> {
        let time = self.to.0.checked_sub(self.from.0).filter(|&time| time >= ENOUGH)?;
        let done = self.to.1.checked_sub(self.from.1).filter(|&done| done > 0)?;
        let left = Some(left).filter(|&left| left > 0)?;
        Some(match left as f64 * time.as_secs_f64() / done as f64 {
            s if s < 10.0 => format!("{:.0} s left", s.ceil()),
            s if s < 90.0 => format!("{:.0} s left", (s / 5.0).round() * 5.0),
            s if s < 5400.0 => format!("{:.0} min left", s / 60.0),
            s => format!("{:.1} h left", s / 3600.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_recorded_before_does_not_count() {
        let mut left = TimeLeft::default();
        let at = |seconds: f64| Duration::from_secs_f64(seconds);
        left.note(at(0.1), 500);
        assert_eq!(left.words(500), None);
        left.note(at(10.1), 600);
        assert_eq!(left.words(400).as_deref(), Some("40 s left"));
        left.note(at(50.1), 1000);
        assert_eq!(left.words(0), None);
    }
}
