//! The version with the commit: from `CRFE_COMMIT`, else from git, else (a tarball, `cargo
//! install`) without one; and the target.
//!
//! Names do not begin with `CRFE_` where an option could have the same: cargo also sets them in the
//! environment of tests.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=CRFE_COMMIT");
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let given = std::env::var("CRFE_COMMIT").ok().filter(|commit| !commit.trim().is_empty());
    let commit = given.or_else(from_git).unwrap_or_default().trim().to_owned();
    let version = if commit.is_empty() { version } else { format!("{version} ({commit})") };
    println!("cargo::rustc-env=CRFE_VERSION={version}");
    println!("cargo::rustc-env=CRATE_COMMIT={commit}");
    println!("cargo::rustc-env=CRATE_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}

/// The commit, if this directory is the root of a working tree of its own (a copy inside another
/// repository is not).
fn from_git() -> Option<String> {
    if !std::path::Path::new(".git").exists() {
        return None;
    }
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=10", "HEAD"])
}

fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
