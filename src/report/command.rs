//! The command line that runs a spec again, from the table of options: only what differs from the
//! defaults.

use std::path::Path;

use crate::data::{STANDARD, STANDARD_INPUT};
use crate::run::RunOptions;
use crate::run::options::{OPTIONS, Takes};

/// The words of `crfe-tui run DATA …` that mean this spec. What came from standard input is read
/// from there.
pub fn command_line(spec: &RunOptions, data: &str) -> Vec<String> {
    let data = match data {
        STANDARD | STANDARD_INPUT => STANDARD.to_owned(),
        // A name that begins like an option is still a file.
        data if data.starts_with('-') => format!("./{data}"),
        data => data.to_owned(),
    };
    let mut line = vec!["crfe-tui".to_owned(), "run".to_owned(), data];
    for option in OPTIONS {
        // The memory limit depends on the machine, not on the run.
        if option.name == "memory-limit"
            || option.words(spec) == option.words(&RunOptions::default())
        {
            continue;
        }
        let name = option.name;
        let value = option.text(spec);
        match option.takes {
            Takes::Nothing => line.push(format!("--{name}")),
            // A value that begins like an option, or is empty, must be joined to its name.
            _ if value.starts_with('-') || value.is_empty() => {
                line.push(format!("--{name}={value}"))
            }
            _ => line.extend([format!("--{name}"), value]),
        }
    }
    line
}

/// The command as a shell takes it, which writes everything into a directory.
pub fn shell_command(spec: &RunOptions, data: &str) -> String {
    let words = command_line(spec, data);
    let input = if words[2] == STANDARD { " < DATA.CSV" } else { "" };
    format!("{} --out RUN{input}", for_a_shell(&words))
}

/// The command that makes a model: of a list in a file, or of what is selected again.
pub fn fit_command(spec: &RunOptions, data: &str, list: Option<&Path>) -> String {
    let mut words = command_line(spec, data);
    words[1] = "fit".to_owned();
    if let Some(list) = list {
        words.extend(["--features".to_owned(), list.to_string_lossy().into_owned()]);
    }
    words.extend(["--model".to_owned(), "M.json".to_owned()]);
    for_a_shell(&words)
}

/// The words as a shell takes them.
pub fn for_a_shell(words: &[String]) -> String {
    let quoted = |word: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_need_no_words() {
        let spec = RunOptions::default().check().unwrap();
        assert_eq!(
            for_a_shell(&command_line(&spec, "data/a b.csv")),
            "crfe-tui run 'data/a b.csv'"
        );
        assert_eq!(command_line(&spec, "-x.csv")[2], "./-x.csv");
        assert_eq!(shell_command(&spec, "standard input"), "crfe-tui run - --out RUN < DATA.CSV");
    }

    #[test]
    fn a_model_is_made_with_the_settings_of_the_run() {
        let spec = RunOptions { lambda: 0.3, ..RunOptions::default() }.check().unwrap();
        assert_eq!(
            fit_command(&spec, "a.csv", Some(Path::new("out/my list.txt"))),
            "crfe-tui fit a.csv --lambda 0.3 --features 'out/my list.txt' --model M.json"
        );
        assert_eq!(
            fit_command(&spec, "a.csv", None),
            "crfe-tui fit a.csv --lambda 0.3 --model M.json"
        );
    }

    #[test]
    fn a_shell_reads_every_word_as_it_was() {
        assert_eq!(
            for_a_shell(&["it's".into(), "$HOME".into(), "".into(), "a=b".into()]),
            r"'it'\''s' '$HOME' '' a=b"
        );
    }
}
