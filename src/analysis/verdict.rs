//! The verdict on a list: how far the data support it, in words that every page and panel shares.

use serde::Serialize;

use super::{ByChance, RuleSize};

/// p-values above this are no evidence.
pub const LEVEL: f64 = 0.05;

/// What a stability is called, after Nogueira, Sechidis and Brown (2018): poor below 0.4, good from 0.75 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum StabilityBand {
    /// Other splits choose other features.
    Poor,
    /// A core is shared, the rest changes.
    Fair,
    /// The splits choose nearly the same features.
    Good,
}

impl StabilityBand {
    /// The band of a stability.
    pub fn of(stability: f64) -> Self {
        [Self::Good, Self::Fair].into_iter().find(|band| stability >= band.lowest()).unwrap_or(Self::Poor)
    }

    /// Where the band begins.
    pub fn lowest(self) -> f64 {
        match self {
            Self::Poor => f64::NEG_INFINITY,
            Self::Fair => 0.4,
            Self::Good => 0.75,
        }
    }

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Poor => "poor",
            Self::Fair => "fair",
            Self::Good => "good",
        }
    }
}

/// What the data say about a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// No rule chose a size.
    NoSize,
    /// Too many permutations of the labels are predicted as well.
    Chance,
    /// The splits choose different features.
    Unstable,
    /// None of these.
    Supported,
}

impl Verdict {
    /// The first that applies.
    pub fn new(chosen: &RuleSize, by_chance: Option<&ByChance>, stability: Option<f64>) -> Self {
        let is_poor = |stability: f64| StabilityBand::of(stability) == StabilityBand::Poor;
        match (chosen.size, by_chance) {
            (None, _) => Self::NoSize,
            (_, Some(chance)) if chance.is_not_beyond() => Self::Chance,
            _ if stability.is_some_and(is_poor) => Self::Unstable,
            _ => Self::Supported,
        }
    }

    /// One sentence, to be read before any list.
    pub fn headline(self, chosen: &RuleSize, by_chance: Option<&ByChance>, stability: Option<f64>) -> String {
        let features = chosen.size.map(count_features).unwrap_or_default();
        let (noun, verb) =
            if chosen.size == Some(1) { ("feature", "is") } else { (features.as_str(), "are") };
        match (self, by_chance, stability) {
            (Self::Chance, Some(chance), _) => {
                format!("nothing beyond chance: {}; the list of {features} is not evidence", chance.words())
            }
            (Self::Unstable, _, Some(stability)) => format!(
                "these data do not support a short list: the splits choose different features (stability {}, poor); the {noun} below {verb} the most frequent",
                two_decimals(stability)
            ),
            (Self::NoSize, ..) => "no size chosen".to_owned(),
            _ => features,
        }
    }
}

/// `0.35`, `−0.02`: two decimals with a minus sign that is one.
pub fn two_decimals(value: f64) -> String {
    format!("{}{:.2}", if value <= -0.005 { "−" } else { "" }, value.abs())
}

/// `1 feature`, `7 features`.
pub fn count_features(count: usize) -> String {
    format!("{count} {}", if count == 1 { "feature" } else { "features" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::select::StopRule;

    #[test]
    fn bands_begin_where_they_say() {
        let words = [-0.2, 0.39, 0.4, 0.74, 0.75, 1.0].map(|value| StabilityBand::of(value).word());
        assert_eq!(words, ["poor", "poor", "fair", "fair", "good", "good"]);
    }

    #[test]
    fn a_poor_stability_is_told_before_the_number_of_features() {
        let chosen = RuleSize::new(StopRule::Knee, &[Some(4)], &[1, 4]);
        let verdict = Verdict::new(&chosen, None, Some(0.3));
        assert_eq!(verdict, Verdict::Unstable);
        assert!(
            verdict.headline(&chosen, None, Some(0.3)).starts_with("these data do not support a short list")
        );
        assert_eq!(Verdict::new(&chosen, None, Some(0.5)).headline(&chosen, None, Some(0.5)), "4 features");
        let one = RuleSize::new(StopRule::Knee, &[Some(1)], &[1, 4]);
        assert!(
            Verdict::Unstable
                .headline(&one, None, Some(-0.02))
                .ends_with("(stability −0.02, poor); the feature below is the most frequent")
        );
        let none = RuleSize::new(StopRule::Knee, &[None], &[1, 4]);
        assert_eq!(Verdict::new(&none, None, None), Verdict::NoSize);
    }
}
