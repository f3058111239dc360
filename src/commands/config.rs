//! `crfe-tui config`: a commented configuration file.

use std::fmt::Write;

use clap::{Arg, ArgAction, CommandFactory};

use super::args::Cli;
use crate::data::word_list;
use crate::error::Result;
use crate::say::print;
use crate::tui::{Keymap, PAINTED};

/// Options of a single run: in a file that applies to all runs they would do harm.
const OF_ONE_RUN: [&str; 5] = ["shard", "force", "data", "help", "version"];

/// Prints the commented configuration file; the exit code.
pub fn config() -> Result<u8> {
    print(configuration_file().as_bytes()).map(|()| 0)
}

/// The configuration file with every option and every key at its default, commented out:
/// explanations begin with `# `, settings with `#`.
pub(crate) fn configuration_file() -> String {
    let mut text = "\
# crfe-tui: settings for every run. Put this file at ~/.config/crfe-tui/config.toml, or name it in CRFE_CONFIG.
# Every setting shows its default; remove the # before its name to change it. \"\" and [] mean: not set.
# Flags and CRFE_* variables override this file.
"
    .to_owned();
    let command = Cli::command();
    let commands =
        ["run", "explore", "report"].into_iter().filter_map(|name| command.find_subcommand(name));
    let mut known = Vec::new();
    let mut chapters = Vec::<(&str, Vec<&Arg>)>::new();
    for option in commands.flat_map(clap::Command::get_arguments) {
        let Some(name) = option.get_long().filter(|name| !OF_ONE_RUN.contains(name)) else {
            continue;
        };
        if known.contains(&name) {
            continue;
        }
        known.push(name);
        let chapter = option.get_help_heading().unwrap_or("Other");
        match chapters.iter_mut().find(|(title, _)| *title == chapter) {
            Some((_, options)) => options.push(option),
            None => chapters.push((chapter, vec![option])),
        }
    }
    // Writing to a String cannot fail.
    for (title, options) in chapters {
        let _ = writeln!(text, "\n# --- {title}");
        for option in options {
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            let name = option.get_long().unwrap_or_default();
            let _ = writeln!(text, "# {help}\n#{name} = {}", default_of(option));
        }
    }
    let _ = writeln!(
        text,
        "\n# --- Colours of the dashboard: #rrggbb, a name such as lightblue, or a number of the 256 colours; \"\" is the palette's\n#[theme]"
    );
    for (name, words) in PAINTED {
        let _ = writeln!(text, "# {words}\n#{name} = \"\"");
    }
    let _ = writeln!(text, "\n# --- Keys of the dashboard: an action and its keys\n#[keys]");
    for binding in Keymap::default().bindings() {
        let keys: Vec<String> = binding.keys.iter().map(|key| quoted(&key.name())).collect();
        let _ = writeln!(text, "# {}\n#{} = [{}]", binding.words, binding.name, keys.join(", "));
    }
    text
}

/// The default of an option, as TOML.
fn default_of(option: &Arg) -> String {
    if !option.get_action().takes_values() {
        return "false".to_owned();
    }
    let defaults = option.get_default_values().iter().map(|value| value.to_string_lossy());
    let value = defaults.collect::<String>();
    if matches!(option.get_action(), ArgAction::Append) {
        let words: Vec<String> = word_list::split(&value).iter().map(|word| quoted(word)).collect();
        return format!("[{}]", words.join(", "));
    }
    if value.parse::<f64>().is_ok() { value } else { quoted(&value) }
}

/// A word of TOML.
fn quoted(word: &str) -> String {
    toml::Value::String(word.to_owned()).to_string()
}
