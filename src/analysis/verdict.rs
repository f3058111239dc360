//! The verdict on a list: how far the data support it, in words that every page and panel shares.

use serde::Serialize;

use super::{ByChance, RuleSize};
use crate::error::counted;
use crate::evaluate::{Agreement, FEWEST_SUBSETS};
use crate::select::StopRule;

/// p-values above this are no evidence.
pub const LEVEL: f64 = 0.05;

/// What a stability is called, after Nogueira, Sechidis and Brown (2018): poor below 0.4, good from
/// 0.75 on.
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
    fn of(stability: f64) -> Self {
        [Self::Good, Self::Fair]
            .into_iter()
            .find(|band| stability >= band.lowest())
            .unwrap_or(Self::Poor)
    }

    /// Where the band begins.
    pub fn lowest(self) -> f64 {
        match self {
            Self::Poor => f64::NEG_INFINITY,
            Self::Fair => 0.4,
            Self::Good => 0.75,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Poor => "poor",
            Self::Fair => "fair",
            Self::Good => "good",
        }
    }
}

/// How much the lists of several splits, folds or sites agree.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Stability {
    /// Nogueira's stability.
    pub value: f64,
    /// Its 95 % interval; none from fewer than [`FEWEST_SUBSETS`] lists.
    pub interval: Option<(f64, f64)>,
    /// What it is called; nothing where there is no interval.
    pub band: Option<StabilityBand>,
}

impl Stability {
    /// The stability behind an agreement, where it is defined.
    pub fn new(agreement: &Agreement) -> Option<Self> {
        let value = agreement.nogueira?;
        let interval = agreement.nogueira_lo.zip(agreement.nogueira_hi);
        Some(Self { value, interval, band: interval.map(|_| StabilityBand::of(value)) })
    }

    /// `0.35 poor`: of the splits, where there is little room.
    pub fn short_words(&self) -> String {
        let word = self.band.map_or("(too few splits)", StabilityBand::word);
        format!("{} {word}", two_decimals(self.value))
    }

    /// `0.35 (0.20 to 0.49), poor`, or that there are too few splits, folds or sites to say so
    /// much.
    pub fn words(&self, of: &str) -> String {
        let value = two_decimals(self.value);
        match (self.interval, self.band) {
            (Some((lo, hi)), Some(band)) => {
                format!("{value} ({} to {}), {}", two_decimals(lo), two_decimals(hi), band.word())
            }
            _ => format!("{value} (too few {of})"),
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
    /// There are too few splits to say whether others choose the same features.
    TooFewSplits,
    /// The list is all features.
    AllFeatures,
    /// None of these.
    Supported,
}

impl Verdict {
    /// The first that applies.
    pub fn new(
        chosen: &RuleSize,
        by_chance: Option<&ByChance>,
        stability: Option<Stability>,
        splits: usize,
    ) -> Self {
        let is_poor = |stability: Stability| stability.band == Some(StabilityBand::Poor);
        match (chosen.size, by_chance) {
            (None, _) => Self::NoSize,
            (_, Some(chance)) if chance.is_not_beyond() => Self::Chance,
            _ if splits < FEWEST_SUBSETS => Self::TooFewSplits,
            _ if stability.is_some_and(is_poor) => Self::Unstable,
            _ if chosen.keeps_all => Self::AllFeatures,
            _ => Self::Supported,
        }
    }

    /// One sentence, to be read before any list.
    pub fn headline(
        self,
        chosen: &RuleSize,
        by_chance: Option<&ByChance>,
        stability: Option<Stability>,
        splits: usize,
    ) -> String {
        let features = chosen.size.map(count_features).unwrap_or_default();
        let (noun, verb) =
            if chosen.size == Some(1) { ("feature", "is") } else { (features.as_str(), "are") };
        match (self, by_chance, stability) {
            (Self::Chance, Some(chance), _) => {
                format!(
                    "nothing beyond chance: {}; the list of {features} is not evidence",
                    chance.words()
                )
            }
            (Self::Unstable, _, Some(stability)) => format!(
                "these data do not support a short list: the splits choose different features (stability {}, poor); the {noun} below {verb} the most frequent",
                two_decimals(stability.value)
            ),
            (Self::TooFewSplits, ..) => {
                let splits =
                    if splits == 1 { "one split".to_owned() } else { format!("{splits} splits") };
                format!("{features}, from {splits}: too few to say whether others choose the same")
            }
            (Self::NoSize, ..) => "no size chosen".to_owned(),
            (Self::AllFeatures, ..) if chosen.is_of_all() => {
                format!("{features}: nothing to eliminate")
            }
            (Self::AllFeatures, ..) if matches!(chosen.stop, StopRule::Size(_)) => {
                format!("all {features}, as asked for")
            }
            (Self::AllFeatures, ..) => format!("all {features}: the rule removes nothing"),
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
    counted(count, "feature")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_begin_where_they_say() {
        let words = [-0.2, 0.39, 0.4, 0.74, 0.75, 1.0].map(|value| StabilityBand::of(value).word());
        assert_eq!(words, ["poor", "poor", "fair", "fair", "good", "good"]);
    }

    fn of_splits(stability: f64) -> Option<Stability> {
        let interval = Some((stability - 0.1, stability + 0.1));
        Some(Stability { value: stability, interval, band: Some(StabilityBand::of(stability)) })
    }

    #[test]
    fn a_poor_stability_is_told_before_the_number_of_features() {
        let chosen = RuleSize::new(StopRule::Knee, &[Some(4)], &[1, 4]);
        let told = |chosen: &RuleSize, stability, splits| {
            let verdict = Verdict::new(chosen, None, stability, splits);
            (verdict, verdict.headline(chosen, None, stability, splits))
        };
        let (verdict, headline) = told(&chosen, of_splits(0.3), 20);
        assert_eq!(verdict, Verdict::Unstable);
        assert!(headline.starts_with("these data do not support a short list"));
        assert_eq!(
            told(&chosen, of_splits(0.5), 20),
            (Verdict::Supported, "4 features".to_owned())
        );
        let one = RuleSize::new(StopRule::Knee, &[Some(1)], &[1, 4]);
        let (_, headline) = told(&one, of_splits(-0.02), 20);
        assert!(
            headline.ends_with("(stability −0.02, poor); the feature below is the most frequent")
        );
        let none = RuleSize::new(StopRule::Knee, &[None], &[1, 4]);
        assert_eq!(told(&none, None, 20).0, Verdict::NoSize);
    }

    #[test]
    fn a_list_of_all_features_is_no_short_list() {
        let told = |stop| {
            let chosen = RuleSize { keeps_all: true, ..RuleSize::new(stop, &[Some(4)], &[1, 4]) };
            let verdict = Verdict::new(&chosen, None, None, 20);
            (verdict, verdict.headline(&chosen, None, None, 20))
        };
        let by_rule = (Verdict::AllFeatures, "all 4 features: the rule removes nothing".to_owned());
        assert_eq!(told(StopRule::Knee), by_rule);
        assert_eq!(told(StopRule::Size(4)).1, "all 4 features, as asked for");
    }

    #[test]
    fn few_splits_give_neither_interval_nor_verdict() {
        let few = crate::evaluate::agreement(&[vec![0, 1], vec![2, 3], vec![0, 3]], 5);
        let stability = Stability::new(&few);
        let own = stability.unwrap();
        assert!(own.interval.is_none() && own.band.is_none() && few.nogueira_error.is_some());
        assert_eq!(own.words("splits"), format!("{} (too few splits)", two_decimals(own.value)));
        let chosen = RuleSize::new(StopRule::Knee, &[Some(2)], &[1, 2]);
        let verdict = Verdict::new(&chosen, None, stability, 3);
        assert_eq!(verdict, Verdict::TooFewSplits);
        let headline = verdict.headline(&chosen, None, stability, 3);
        assert_eq!(
            headline,
            "2 features, from 3 splits: too few to say whether others choose the same"
        );
        let enough = [vec![0, 1], vec![0, 1], vec![0, 3], vec![0, 1], vec![1, 0]];
        let enough = Stability::new(&crate::evaluate::agreement(&enough, 5)).unwrap();
        assert!(enough.interval.is_some() && enough.band.is_some());
    }
}
