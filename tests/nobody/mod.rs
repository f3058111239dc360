//! The program for a user whom permissions bind: root may read and write everything.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_crfe-tui");
/// The user and the group of nobody.
pub const NOBODY: u32 = 65534;

/// Whether the directory belongs to root, and the tests run as root.
pub fn is_root(directory: &Path) -> bool {
    directory.metadata().unwrap().uid() == 0
}

/// The program in this directory, run by nobody if the tests run as root; `None` without setpriv,
/// which changes the user.
pub fn program(directory: &Path) -> Option<Command> {
    let mut command = if is_root(directory) {
        Command::new("setpriv").arg("--version").stdout(Stdio::null()).status().ok()?;
        std::fs::set_permissions(directory, std::fs::Permissions::from_mode(0o755)).unwrap();
        // The program may lie where nobody may go.
        let copy = directory.join("crfe-tui");
        std::fs::copy(PROGRAM, &copy).unwrap();
        let mut command = Command::new("setpriv");
        let user = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
        command.args(user).arg("--clear-groups").arg(copy);
        command
    } else {
        Command::new(PROGRAM)
    };
    command.current_dir(directory).env("CRFE_CONFIG", "/dev/null").stdin(Stdio::null());
    Some(command)
}
