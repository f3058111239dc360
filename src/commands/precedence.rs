//! Settings in order of precedence: flags, `CRFE_*` variables, the configuration file, defaults.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::num::{ParseFloatError, ParseIntError};
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches};

use super::args::{Cli, Command};
use super::config_file::{self, Defaults, Look};
use super::option_args::{PAPER, SpecArgs, id_of, is_typed};
use super::short_help::abridged;
use crate::error::{Error, Result, printable};
use crate::say::say;

/// A parsed command line.
pub enum Parsed {
    /// A command to run, and the keys of the configuration file.
    Command(Command, Look),
    /// Help, a version, or a mistake: clap's own words and exit code.
    Said(clap::Error),
}

/// Settings of a terminal: of the configuration file and the environment, not of the command line.
const NO_FLAGS: [&str; 2] = ["fps", "no-mouse"];

/// Prints clap's own words, help on standard output and mistakes on standard error; the exit code.
pub fn tell(said: &clap::Error) -> u8 {
    // The message may quote the environment, whose control characters must not reach a terminal; a
    // closed pipe is not an error.
    let hostile = |(name, value): &(OsString, OsString)| {
        name.to_string_lossy().starts_with("CRFE_") && harmless(value) != *value
    };
    if said.use_stderr() && std::env::vars_os().any(|variable| hostile(&variable)) {
        say(said.to_string().trim_end().lines().map(printable).collect::<Vec<_>>().join("\n"));
    } else {
        let _ = said.print();
    }
    u8::try_from(said.exit_code()).unwrap_or(2)
}

/// A word without control characters that a terminal would obey.
fn harmless(word: &OsString) -> OsString {
    let text = word.to_string_lossy();
    let safe = printable(&text);
    if safe == text { word.clone() } else { safe.into() }
}

/// clap's error message, with control characters escaped.
fn mistake(command: clap::Command, words: &[OsString], said: clap::Error) -> Parsed {
    let safe: Vec<OsString> = words.iter().map(harmless).collect();
    let same = safe == words;
    Parsed::Said(if same { said } else { command.try_get_matches_from(safe).err().unwrap_or(said) })
}

/// Reads the command line, the environment and the configuration file.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed> {
    let args: Vec<OsString> = args.into_iter().collect();
    refuse_misspelt_command(&args)?;
    let args = with_command(args);
    let defaults = checked(config_file::load()?)?;
    let command = with_defaults(abridged(Cli::command()), &defaults);
    let matches = match command.clone().try_get_matches_from(&args) {
        Ok(matches) => matches,
        Err(said) => return Ok(mistake(command, &args, said)),
    };
    if let Some((_, sub)) = matches.subcommand()
        && let Some(name) = NO_FLAGS.into_iter().find(|name| is_typed(sub, name))
    {
        return Err(Error::usage(format!("there is no option --{name}")).remedy(format!(
            "set {name} in the configuration file, which crfe-tui config prints"
        )));
    }
    let matches = match matches.subcommand() {
        Some((name, sub)) if wants_paper(sub) => {
            // `--paper` is weaker than a flag and stronger than environment and file.
            let paper: Vec<OsString> = PAPER
                .iter()
                .filter(|(option, _)| !is_typed(sub, option))
                .map(|(option, value)| OsString::from(format!("--{option}={value}")))
                .collect();
            let mut extended = args.clone();
            let at = extended
                .iter()
                .position(|arg| arg.to_str() == Some(name))
                .map_or(extended.len(), |at| at + 1);
            extended.splice(at..at, paper);
            match command.try_get_matches_from(extended) {
                Ok(matches) => matches,
                Err(said) => return Ok(Parsed::Said(said)),
            }
        }
        _ => matches,
    };
    Ok(match Cli::from_arg_matches(&matches) {
        Ok(mut cli) => {
            if let (Some(spec), Some((_, sub))) = (cli.command.spec(), matches.subcommand()) {
                blame_the_file(spec, sub, &defaults)?;
            }
            if let (Command::Cluster(cluster), Some((_, sub))) =
                (&mut cli.command, matches.subcommand())
            {
                cluster.run_options = as_flags(sub, &defaults);
            }
            cli.command.refuse_inputs(&defaults.file)?;
            Parsed::Command(cli.command, defaults.look)
        }
        Err(said) => Parsed::Said(said),
    })
}

/// `crfe-tui DATA.CSV` is `crfe-tui explore DATA.CSV`, and `crfe-tui` on a terminal is `crfe-tui
/// open`.
fn with_command(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.len() == 1 && std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        args.push("open".into());
        return args;
    }
    if args.get(1).is_some_and(|first| first.to_str().is_none_or(|word| !is_command(word))) {
        args.insert(1, "explore".into());
    }
    args
}

fn is_command(word: &str) -> bool {
    matches!(word, "-h" | "--help" | "-V" | "--version" | "help")
        || Cli::command().get_subcommands().any(|command| {
            command.get_name() == word || command.get_all_aliases().any(|alias| alias == word)
        })
}

/// Refuses a first word that is no command, no option and no file, and does not look like the name
/// of one.
fn refuse_misspelt_command(args: &[OsString]) -> Result<()> {
    let Some(word) = args.get(1).and_then(|first| first.to_str()) else { return Ok(()) };
    let may_be_file = word.is_empty() || word.contains(['.', '/']) || Path::new(word).exists();
    if word.starts_with('-') || may_be_file || is_command(word) {
        return Ok(());
    }
    let said = Cli::command().try_get_matches_from(["crfe-tui", word]).err();
    let remedy = match said.as_ref().and_then(|said| said.get(ContextKind::SuggestedSubcommand)) {
        Some(ContextValue::Strings(near)) if !near.is_empty() => {
            format!("did you mean '{}'?", near.join("' or '"))
        }
        _ => "see crfe-tui --help for the commands".to_owned(),
    };
    Err(Error::usage(format!("there is neither a command nor a file '{word}'")).remedy(remedy))
}

/// The options that say what to compute, as flags: those of the command line, the environment and
/// the configuration file.
fn as_flags(matches: &ArgMatches, defaults: &Defaults) -> Vec<OsString> {
    let command = SpecArgs::augment_args(clap::Command::new("spec"));
    let mut flags = Vec::new();
    for option in command.get_arguments() {
        let (id, Some(long)) = (option.get_id().as_str(), option.get_long()) else { continue };
        let configured = defaults.values.iter().any(|(name, _)| id_of(name) == id);
        let given = match matches.value_source(id) {
            Some(ValueSource::DefaultValue) => configured,
            source => source.is_some(),
        };
        if !given {
            continue;
        }
        if !option.get_action().takes_values() {
            if matches!(matches.try_get_one::<bool>(id), Ok(Some(true))) {
                flags.push(OsString::from(format!("--{long}")));
            }
            continue;
        }
        for value in matches.get_raw(id).into_iter().flatten() {
            let mut flag = OsString::from(format!("--{long}="));
            flag.push(value);
            flags.push(flag);
        }
    }
    flags
}

fn wants_paper(matches: &ArgMatches) -> bool {
    matches!(matches.try_get_one::<bool>("paper"), Ok(Some(true)))
}

/// Refuses invalid values of the configuration file by their names there; unset options are
/// omitted.
fn checked(mut defaults: Defaults) -> Result<Defaults> {
    let command = Cli::command();
    for (name, value) in &defaults.values {
        let id = id_of(name);
        let holds = |sub: &&clap::Command| sub.get_arguments().any(|arg| *arg.get_id() == id);
        let Some(sub) = command.get_subcommands().find(holds) else {
            return Err(Error::usage(format!("there is no option '{name}'"))
                .file(&defaults.file)
                .remedy("see crfe-tui run --help for the options"));
        };
        if let Some(remedy) = fault_of_value(sub, &id, value).filter(|_| !value.is_empty()) {
            return Err(Error::usage(format!("{name} cannot be '{value}'"))
                .file(&defaults.file)
                .remedy(remedy));
        }
    }
    defaults.values.retain(|(_, value)| !value.is_empty());
    Ok(defaults)
}

/// What is wrong with a value, if the command would refuse it.
fn fault_of_value(sub: &clap::Command, id: &str, value: &str) -> Option<String> {
    let option = sub.get_arguments().find(|arg| *arg.get_id() == id)?;
    let long = option.get_long()?;
    if !option.get_action().takes_values() {
        return (!["true", "false"].contains(&value)).then(|| "write true or false".to_owned());
    }
    // Values are checked before missing arguments.
    let said =
        sub.clone().try_get_matches_from([sub.get_name(), &format!("--{long}={value}")]).err()?;
    let flag = format!("--{long} ");
    match said.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) if option.starts_with(&flag) => {}
        _ => return None,
    }
    Some(match (said.get(ContextKind::ValidValue), std::error::Error::source(&said)) {
        (Some(ContextValue::Strings(values)), _) => format!("write one of {}", values.join(", ")),
        (_, Some(source)) if source.is::<ParseIntError>() || source.is::<ParseFloatError>() => {
            "write a number".to_owned()
        }
        (_, Some(source)) => source.to_string(),
        (_, None) => "correct it".to_owned(),
    })
}

/// A setting that is out of range is the file's fault if it comes from there.
fn blame_the_file(spec: &SpecArgs, matches: &ArgMatches, defaults: &Defaults) -> Result<()> {
    let Err(error) = spec.spec() else { return Ok(()) };
    let of_file = |(name, _): &&(String, String)| {
        let id = id_of(name);
        error.faulty_option() == Some(name.as_str())
            && matches.try_get_raw(&id).is_ok()
            && matches.value_source(&id) == Some(ValueSource::DefaultValue)
    };
    match defaults.values.iter().find(of_file) {
        Some(_) => {
            Err(Error::usage(error.to_string().trim_start_matches('-')).file(&defaults.file))
        }
        None => Ok(()),
    }
}

/// Replaces the built-in defaults by the values of the configuration file, in every command that
/// has the option.
fn with_defaults(command: clap::Command, defaults: &Defaults) -> clap::Command {
    let configured = |id: &clap::Id| defaults.values.iter().rfind(|(name, _)| id_of(name) == *id);
    let with_default = |arg: clap::Arg| match configured(arg.get_id()) {
        Some((_, value)) => arg.default_value(clap::builder::OsStr::from(value.clone())),
        None => arg,
    };
    command.mut_args(with_default).mut_subcommands(|sub| with_defaults(sub, defaults))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Calibration;
    use crate::run::options::{OPTIONS, RunOption, Takes};
    use crate::run::{RunOptions, RunSpec};
    use crate::select::StopRule;

    fn run(line: &str) -> RunSpec {
        let args = std::iter::once("crfe-tui").chain(line.split(' ')).map(OsString::from);
        match parse(args).unwrap() {
            Parsed::Command(Command::Run(run), _) => run.spec.spec().unwrap(),
            Parsed::Command(Command::Explore(explore), _) => explore.spec.spec().unwrap(),
            Parsed::Command(Command::Check(check), _) => check.spec.spec().unwrap(),
            Parsed::Command(other, _) => panic!("{other:?}"),
            Parsed::Said(said) => panic!("{said}"),
        }
    }

    #[test]
    fn the_command_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_defaults_are_those_of_the_library() {
        let usual = RunOptions::default();
        assert_eq!(run("run data.csv"), usual.check().unwrap());
    }

    /// The spec's own command line, parsed again.
    fn again(spec: &RunSpec) -> RunSpec {
        let words = crate::report::command_line(spec, "data.csv");
        match parse(words.into_iter().map(OsString::from)).unwrap() {
            Parsed::Command(Command::Run(run), _) => run.spec.spec().unwrap(),
            Parsed::Command(other, _) => panic!("{other:?}"),
            Parsed::Said(said) => panic!("{said}"),
        }
    }

    #[test]
    fn a_spec_becomes_a_command_line_that_means_it() {
        let mut lines = vec!["run data.csv".to_owned(), "run data.csv --paper --seed 7".to_owned()];
        let words = |option: &RunOption| match option.takes {
            Takes::Nothing => format!("--{}", option.name),
            _ => format!("--{}={}", option.name, option.example.replace(' ', "_")),
        };
        lines.extend(
            OPTIONS
                .iter()
                .filter(|option| {
                    !["early", "memory-limit", "prefilter", "sheet"].contains(&option.name)
                })
                .map(|option| format!("run data.csv {}", words(option))),
        );
        let all = OPTIONS.iter().filter(|option| {
            !["score", "memory-limit", "reserve", "solver"].contains(&option.name)
        });
        lines.push("run data.csv --estimator rbf:0.5 --prefilter 4".to_owned());
        lines.push(format!("run data.csv {}", all.map(words).collect::<Vec<_>>().join(" ")));
        lines.extend([
            "run data.csv --na=-9,none --max-missing 0.1 --impute none --delimiter tab --decimal ."
                .to_owned(),
            "run data.csv --target=-x --delimiter=; --stop 4 --early --step 3 --rare drop:9"
                .to_owned(),
            "run data.csv --stop 1se --step 0.25 --drop \"a,b\" --drop c,d".to_owned(),
        ]);
        for line in lines {
            let spec = run(&line);
            assert_eq!(again(&spec), spec, "{line}");
        }
    }

    /// The configuration file that is printed, with every setting taken in.
    fn uncommented() -> Defaults {
        let printed = crate::commands::config::configuration_file();
        let as_printed = config_file::parse("printed.toml".into(), &printed).unwrap();
        assert!(as_printed.values.is_empty() && as_printed.look.bindings.is_empty());
        let setting = |line: &&str| line.starts_with('#') && !line.starts_with("# ");
        let settings: String =
            printed.lines().filter(setting).map(|line| format!("{}\n", &line[1..])).collect();
        config_file::parse("printed.toml".into(), &settings).unwrap()
    }

    #[test]
    fn the_printed_configuration_holds_every_option_and_changes_nothing() {
        let all = uncommented();
        let command = Cli::command();
        for sub in ["run", "explore"].map(|name| command.find_subcommand(name).unwrap()) {
            for option in sub.get_arguments().filter_map(clap::Arg::get_long) {
                let of_one_run = ["shard", "force"].contains(&option);
                assert_eq!(
                    all.values.iter().any(|(name, _)| name == option),
                    !of_one_run,
                    "{option}"
                );
            }
        }
        let defaults = checked(all).unwrap();
        for line in ["run data.csv", "explore data.csv", "explore data.csv --speed 7 --paper"] {
            let words = || std::iter::once("crfe-tui").chain(line.split(' '));
            let parsed = |command: clap::Command| {
                Cli::from_arg_matches(&command.try_get_matches_from(words()).unwrap()).unwrap()
            };
            let usual = parsed(Cli::command());
            let configured = parsed(with_defaults(Cli::command(), &defaults));
            assert_eq!(format!("{usual:?}"), format!("{configured:?}"));
        }
        let mut keymap = crate::tui::Keymap::default();
        let usual = format!("{keymap:?}");
        assert_eq!(defaults.look.bindings.len(), keymap.bindings().len());
        keymap.rebind(&defaults.look.bindings).unwrap();
        assert_eq!(format!("{keymap:?}"), usual);
    }

    #[test]
    fn a_bad_value_in_the_file_is_named_as_the_file_names_it() {
        for (text, sentence) in [
            ("fps = 'x'", "c.toml: fps cannot be 'x'; write a number from 0.1 to 240"),
            (
                "colors = 'red'",
                "c.toml: colors cannot be 'red'; write one of auto, true, 256, 16, none",
            ),
            ("threads = 0", "c.toml: threads cannot be '0'; must be a number from 1 to 65,535"),
            ("mondrian = 'perhaps'", "c.toml: mondrian cannot be 'perhaps'; write true or false"),
            (
                "method = ['crfe', 'ridge']",
                "c.toml: method cannot be 'crfe,ridge'; write crfe, rfe, smfs or acm",
            ),
            (
                "frames = 3",
                "c.toml: there is no option 'frames'; see crfe-tui run --help for the options",
            ),
        ] {
            let error = checked(config_file::parse("c.toml".into(), text).unwrap()).unwrap_err();
            assert_eq!(error.to_string(), sentence);
        }
    }

    #[test]
    fn settings_of_a_terminal_are_no_flags() {
        for flag in ["--fps=6", "--no-mouse"] {
            let line = format!("crfe-tui explore data.csv {flag}");
            let error = parse(line.split(' ').map(OsString::from)).err().unwrap();
            assert!(error.to_string().starts_with("there is no option --"), "{error}");
        }
    }

    #[test]
    fn a_file_alone_is_explored() {
        assert_eq!(run("data.csv --lambda 0.25").lambda, 0.25);
        assert_eq!(run("--lambda 0.25 data.csv").lambda, 0.25);
    }

    #[test]
    fn a_shard_on_a_node_is_asked_for_the_same_run() {
        let options =
            "d.csv --keep a,b --na=-9 --mondrian --paper --lambda 0.3 --delimiter ; --stop 7";
        for command in ["cluster", "slurm"] {
            let args =
                format!("crfe-tui {command} {options} --tasks 4 --out RUN --submit=--time=1");
            let Ok(Parsed::Command(Command::Cluster(cluster), _)) =
                parse(args.split(' ').map(OsString::from))
            else {
                panic!("not understood")
            };
            let flags: Vec<String> =
                cluster.run_options.iter().map(|flag| flag.to_str().unwrap().into()).collect();
            let line = format!("run d.csv {}", flags.join(" "));
            assert_eq!(run(&line), cluster.spec.spec().unwrap());
            assert_eq!(run(&line), run(&format!("run {options}")));
        }
    }

    #[test]
    fn a_flag_is_stronger_than_the_paper() {
        let paper = run("run data.csv --paper");
        assert_eq!((paper.split.calibration, paper.stop), (Calibration::Shared, StopRule::Beta));
        let own = run("run data.csv --paper --stop 7 --splits 3");
        assert_eq!(
            (own.split.calibration, own.stop, own.split.splits),
            (Calibration::Shared, StopRule::Size(7), 3)
        );
    }
}
