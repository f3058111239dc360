//! The ways to choose what is removed: CRFE, RFE, SMFS, ACM.

use serde::{Deserialize, Serialize};

/// How the next unit to remove is chosen (docs/method.md section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Removes the highest β: conformal recursive feature elimination.
    Crfe,
    /// Removes the lowest Σ_k w_kj²: classical recursive feature elimination.
    Rfe,
    /// By β on the full set, once: strangeness minimisation feature selection.
    Smfs,
    /// Removes first the unit that forward selection by average confidence adds last.
    Acm,
}

/// The words for a method.
#[derive(Debug, Clone, Copy)]
pub struct MethodWords {
    /// In files and on the command line.
    pub name: &'static str,
    /// In the methods paragraph, with the number of its reference.
    pub long_name: &'static str,
    /// The criterion of the unit that is removed first.
    pub criterion: &'static str,
    /// What that criterion means.
    pub meaning: &'static str,
}

impl Method {
    /// All methods, in the order in which they are shown.
    pub const ALL: [Self; 4] = [Self::Crfe, Self::Rfe, Self::Smfs, Self::Acm];

    /// Whether units are compared by their weights, the lowest removed first, and not by β, the
    /// highest first.
    pub fn by_weights(self) -> bool {
        matches!(self, Self::Rfe)
    }

    /// Whether units are ranked once, before anything is removed.
    pub fn ranks_once(self) -> bool {
        matches!(self, Self::Smfs | Self::Acm)
    }

    /// The words for it.
    pub fn words(self) -> MethodWords {
        match self {
            Self::Crfe => MethodWords {
                name: "crfe",
                long_name: "conformal recursive feature elimination (CRFE) [1]",
                criterion: "highest β",
                meaning: "the models rely on it least",
            },
            Self::Rfe => MethodWords {
                name: "rfe",
                long_name: "recursive feature elimination (RFE) [2]",
                criterion: "smallest Σw²",
                meaning: "the models weigh it least",
            },
            Self::Smfs => MethodWords {
                name: "smfs",
                long_name: "strangeness minimisation feature selection (SMFS)",
                criterion: "highest initial β",
                meaning: "ranked once, with all features",
            },
            Self::Acm => MethodWords {
                name: "acm",
                long_name: "average confidence maximisation (ACM)",
                criterion: "last added",
                meaning: "it raised mean confidence least when features were added one by one",
            },
        }
    }

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        self.words().name
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(&self.name().to_uppercase())
    }
}

impl std::str::FromStr for Method {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|method| method.name().eq_ignore_ascii_case(text));
        found.ok_or_else(|| "write crfe, rfe, smfs or acm".into())
    }
}
