//! Which family of models is fitted (docs/method.md section 15).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::data::Knots;

/// What decision values may look like.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// A straight line in every feature.
    #[default]
    Linear,
    /// A restricted cubic spline in every numeric feature: linear machines on its terms, which are
    /// removed together.
    Rcs(Knots),
    /// A Gaussian kernel over all features: interactions as well.
    Rbf,
}

impl Estimator {
    /// The knots that columns become splines of.
    pub fn knots(self) -> Option<Knots> {
        match self {
            Self::Linear | Self::Rbf => None,
            Self::Rcs(knots) => Some(knots),
        }
    }
}

impl FromStr for Estimator {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let refusal = || "write linear, rcs:3, rcs:4, rcs:5, rbf or rbf:0.5".to_owned();
        match text.split_once(':') {
            None if text == "linear" => Ok(Self::Linear),
            None if text == "rbf" => Ok(Self::Rbf),
            None if text == "rcs" => Knots::try_from(4).map(Self::Rcs),
            Some(("rcs", count)) => {
                let knots =
                    count.parse::<usize>().ok().and_then(|count| Knots::try_from(count).ok());
                knots.map(Self::Rcs).ok_or_else(refusal)
            }
            _ => Err(refusal()),
        }
    }
}

impl fmt::Display for Estimator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Linear => f.write_str("linear"),
            Self::Rbf => f.write_str("rbf"),
            Self::Rcs(knots) => write!(f, "rcs:{}", usize::from(knots)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_survive_a_round_trip() {
        for text in ["linear", "rcs:3", "rcs:4", "rcs:5", "rbf"] {
            let estimator: Estimator = text.parse().unwrap();
            assert_eq!(estimator.to_string(), text);
            let recorded = serde_json::to_string(&estimator).unwrap();
            assert_eq!(serde_json::from_str::<Estimator>(&recorded).unwrap(), estimator);
        }
        assert_eq!("rcs".parse::<Estimator>().unwrap().to_string(), "rcs:4");
        for text in ["", "rcs:2", "rcs:6", "rcs:", "spline:4", "Linear"] {
            assert!(text.parse::<Estimator>().is_err(), "{text}");
        }
        assert!(serde_json::from_str::<Estimator>("{\"rcs\":9}").is_err());
    }
}
