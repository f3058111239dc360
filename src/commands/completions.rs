//! `crfe-tui completions`: completions for a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use super::args::{Cli, CompletionsArgs};
use crate::error::Result;
use crate::say::print;

/// Prints the completions of a shell; the exit code.
pub fn completions(args: &CompletionsArgs) -> Result<u8> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "crfe-tui", &mut script);
    if args.shell == Shell::Bash {
        script = with_labels_that_match(script);
    }
    print(&script).map(|()| 0)
}

/// clap_complete 4.6 writes the dash of the program's name as `__` where it sets `cmd`, and as
/// `__subcmd__` in the labels that are to match it, so that no option of a command would ever be
/// completed.
fn with_labels_that_match(script: Vec<u8>) -> Vec<u8> {
    let script = String::from_utf8_lossy(&script);
    script.replace("crfe__subcmd__tui__subcmd__", "crfe__tui__subcmd__").into_bytes()
}
