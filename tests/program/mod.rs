//! The program as its users run it: the real binary, in an environment where nothing is configured.

use std::path::Path;
use std::process::{Command, Stdio};

/// What a run of the program left behind.
pub struct Ran {
    /// The exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// The program at the root of the project, without the settings of whoever runs the tests. It ends
/// with the paths, unless the command line asks for folds or permutations.
pub fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crfe-tui"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CRFE_") {
            command.env_remove(name);
        }
    }
    command.env("CRFE_VALIDATE", "none").env("CRFE_PERMUTATIONS", "none");
    // Tests run few splits, which the knee is made for: the 1se rule compares splits.
    command.env("CRFE_STOP", "knee");
    // An absolute path that cannot hold a configuration.
    command.env("HOME", "/dev/null").env("XDG_CONFIG_HOME", "/dev/null");
    command
}

/// Runs it to its end.
pub fn finish(command: &mut Command) -> Ran {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    assert!(!stderr.contains("panicked"), "{stderr}");
    Ran { code: output.status.code().unwrap_or(-1), stdout, stderr }
}

/// `crfe-tui run DATA --out OUT …`, which must succeed; the options are separated by blanks.
pub fn run_into(out: &Path, data: &str, options: &str) -> Ran {
    let ran =
        finish(program().args(["run", data, "--out"]).arg(out).args(options.split_whitespace()));
    assert_eq!(ran.code, 0, "{data} {options}: {}{}", ran.stdout, ran.stderr);
    ran
}
