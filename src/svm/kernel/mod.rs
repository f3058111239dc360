//! Kernel machines: γ of the Gaussian kernel, and one-vs-rest machines with it along an elimination
//! path.

mod binary_machine;
mod machines;
mod support_factor;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use machines::KernelMachines;

/// γ of exp(−γ ‖x − s‖²).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gamma {
    /// One over the number of columns present.
    #[default]
    Scale,
    /// This.
    Fixed(f64),
}

impl Gamma {
    /// Its value with the given number of columns present.
    pub fn value(self, columns: usize) -> f64 {
        match self {
            Self::Scale => 1.0 / columns as f64,
            Self::Fixed(gamma) => gamma,
        }
    }
}

impl FromStr for Gamma {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == "scale" {
            return Ok(Self::Scale);
        }
        match text.parse::<f64>() {
            Ok(gamma) if gamma > 0.0 && gamma.is_finite() => Ok(Self::Fixed(gamma)),
            _ => Err("write γ as a number above 0, such as rbf:0.5".into()),
        }
    }
}

impl fmt::Display for Gamma {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scale => f.write_str("scale"),
            Self::Fixed(gamma) => write!(f, "{gamma}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gamma_is_read_as_it_is_written() {
        for text in ["scale", "0.5", "2"] {
            assert_eq!(text.parse::<Gamma>().unwrap().to_string(), text);
        }
        for text in ["", "auto", "0", "-1", "inf", "nan"] {
            assert!(text.parse::<Gamma>().is_err(), "{text}");
        }
        assert_eq!((Gamma::Scale.value(4), Gamma::Fixed(3.0).value(4)), (0.25, 3.0));
    }
}
