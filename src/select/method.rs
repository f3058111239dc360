//! The ways to choose what is removed: CRFE, RFE, SMFS, ACM.

use serde::{Deserialize, Serialize};

/// How the next unit to go is chosen (docs/method.md section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The highest β goes: conformal recursive feature elimination.
    Crfe,
    /// The lowest Σ_k w_kj² goes: classical recursive feature elimination.
    Rfe,
    /// By β on the full set, once: strangeness minimisation feature selection.
    Smfs,
    /// The unit that forward selection by average confidence adds last goes first.
    Acm,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Crfe, Self::Rfe, Self::Smfs, Self::Acm];

    /// Whether units are ranked once, before anything is removed.
    pub fn ranks_once(self) -> bool {
        matches!(self, Self::Smfs | Self::Acm)
    }

    /// The name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Crfe => "crfe",
            Self::Rfe => "rfe",
            Self::Smfs => "smfs",
            Self::Acm => "acm",
        }
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
        match text.to_ascii_lowercase().as_str() {
            "crfe" => Ok(Self::Crfe),
            "rfe" => Ok(Self::Rfe),
            "smfs" => Ok(Self::Smfs),
            "acm" => Ok(Self::Acm),
            _ => Err("write crfe, rfe, smfs or acm".into()),
        }
    }
}
