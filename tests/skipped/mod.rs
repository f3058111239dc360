//! Says that a test, or a part of it, could not run here.

use std::io::Write;

/// On standard error itself: the test runner keeps what `eprintln!` writes of a test that passes.
/// `.ci/run` lists these lines at its end.
pub fn skipped(reason: &str) {
    std::io::stderr().write_all(format!("SKIPPED: {reason}\n").as_bytes()).unwrap();
}
