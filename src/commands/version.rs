//! `crfe-tui --version --json`: what this program is and how it was built, for scripts.

use std::ffi::OsString;

use serde_json::{Value, json};

use crate::error::Result;
use crate::linalg::simd_level;
use crate::say::print;

/// Whether the command line is `--version --json`, in either order.
pub fn is_asked(words: &[OsString]) -> bool {
    let is =
        |word: &OsString, names: &[&str]| word.to_str().is_some_and(|word| names.contains(&word));
    match words {
        [_, a, b] => [(a, b), (b, a)]
            .into_iter()
            .any(|(version, json)| is(version, &["--version", "-V"]) && is(json, &["--json"])),
        _ => false,
    }
}

/// Prints it; returns the exit code.
pub fn version() -> Result<u8> {
    print(format!("{:#}\n", about()).as_bytes()).map(|()| 0)
}

fn about() -> Value {
    let features = [
        ("cli", cfg!(feature = "cli")),
        ("formats", cfg!(feature = "formats")),
        ("h5ad", cfg!(feature = "h5ad")),
        ("linfa", cfg!(feature = "linfa")),
        ("print", cfg!(feature = "print")),
        ("report", cfg!(feature = "report")),
        ("tui", cfg!(feature = "tui")),
    ];
    let features: Vec<&str> =
        features.iter().filter(|(_, on)| *on).map(|(name, _)| *name).collect();
    let commit = env!("CRATE_COMMIT");
    json!({
        "program": "crfe-tui",
        "version": env!("CARGO_PKG_VERSION"),
        "commit": (!commit.is_empty()).then_some(commit),
        "target": env!("CRATE_TARGET"),
        "features": features,
        "simd": simd_level(),
    })
}
