//! `-h`: the options that most runs need, in one line each. `--help` and docs/options.md have all.

use clap::{Arg, Command};

use crate::run::options::Chapter;

/// The options of a run and of the screen that `-h` shows, in words for one line.
const SHOWN: [(&str, &str); 14] = [
    ("target", "Class column, by name or 1-based position"),
    ("drop", "Columns to leave out"),
    ("method", "crfe, rfe, smfs, acm"),
    ("estimator", "linear, rcs:4 (splines) or rbf (Gaussian kernel)"),
    ("stop", "Size of the answer: 1se, knee, beta, none or a number"),
    ("paper", "The protocol of the paper"),
    ("splits", "How many random splits"),
    ("epsilon", "ε: sets hold the true class with probability at least 1 − ε"),
    ("validate", "Folds of the nested validation, or none"),
    ("permutations", "Permutations of the labels: auto, none or a number"),
    ("out", "Directory for everything that is written"),
    ("force", "Replace the files of another run"),
    ("json", "Print JSON"),
    ("quiet", "No notices"),
];

/// The headings whose other options are left to `--help`.
const ABRIDGED: [&str; 5] =
    [Chapter::Data.title(), Chapter::Method.title(), Chapter::Splits.title(), "Running", "Screen"];

/// The same commands with a short `-h`.
pub fn abridged(command: Command) -> Command {
    command.mut_subcommands(|sub| {
        let name = sub.get_name();
        let rest = format!("All options: crfe-tui {name} --help, or docs/options.md\n\n");
        let examples = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
        sub.mut_args(one_line).after_help(rest + &examples).after_long_help(examples)
    })
}

/// An option as `-h` shows it, if it does; `--help` says of it what it said before.
fn one_line(option: Arg) -> Arg {
    let Some(name) = option.get_long().map(str::to_owned) else { return option };
    let whole = option.get_long_help().or(option.get_help()).map(ToString::to_string);
    let variable = option.get_env().map(|name| format!(" [env: {}]", name.to_string_lossy()));
    let is_abridged = option.get_help_heading().is_some_and(|title| ABRIDGED.contains(&title));
    let option =
        option.long_help(whole.unwrap_or_default() + &variable.unwrap_or_default()).hide_env(true);
    match SHOWN.iter().find(|(shown, _)| *shown == name) {
        _ if !is_abridged => option,
        Some((_, words)) => option.help(*words),
        None => option.hide_short_help(true),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::commands::args::Cli;

    #[test]
    fn short_help_is_short_and_long_help_has_every_option() {
        let mut command = abridged(Cli::command()).term_width(100);
        assert!(command.render_help().to_string().lines().count() <= 40);
        command.build();
        for sub in command.get_subcommands_mut().filter(|sub| sub.get_name() != "help") {
            let sub_name = sub.get_name().to_owned();
            let short = sub.render_help().to_string();
            let most = if sub_name == "run" { 40 } else { 50 };
            assert!(short.lines().count() <= most, "{sub_name}: {short}");
            assert!(!short.contains("[env:"), "{short}");
            let long = sub.render_long_help().to_string();
            for option in sub.get_arguments().filter(|option| !option.is_hide_set()) {
                let Some(name) = option.get_long() else { continue };
                assert!(long.contains(&format!("--{name}")), "{sub_name} --{name}");
            }
        }
    }
}
