//! The options of a run as arguments of the command line, made from the table of options.

use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, FromArgMatches};

use crate::data::word_list;
use crate::error::Result;
use crate::run::options::{Chapter, OPTIONS, RunOption, Takes};
use crate::run::{RunOptions, RunSpec};

/// How a file of new rows is read: some of the options of a run.
#[derive(Debug)]
pub struct ReadArgs {
    options: RunOptions,
    /// Whether any of them was typed.
    is_typed: bool,
}

impl ReadArgs {
    const NAMES: [&str; 10] = [
        "id-col",
        "na",
        "delimiter",
        "decimal",
        "no-header",
        "dedup-names",
        "sheet",
        "transpose",
        "censored",
        "memory-limit",
    ];

    /// What was asked for.
    pub fn options(&self) -> &RunOptions {
        &self.options
    }

    /// Whether any of them was typed, not only set for all commands.
    pub fn is_typed(&self) -> bool {
        self.is_typed
    }

    fn table() -> impl Iterator<Item = &'static RunOption> {
        OPTIONS.iter().filter(|option| Self::NAMES.contains(&option.name))
    }
}

impl Args for ReadArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(Self::table().map(argument))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ReadArgs {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let options = taken(Self::table(), matches)?;
        if is_typed(matches, "sheet") && options.schema.pheno_sheet.is_some() {
            let refusal = "--sheet names two sheets, but there is one table; name one sheet\n";
            return Err(clap::Error::raw(clap::error::ErrorKind::ValueValidation, refusal));
        }
        let is_typed = Self::NAMES.into_iter().any(|name| is_typed(matches, name));
        Ok(Self { options, is_typed })
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Everything that determines the result.
#[derive(Debug)]
pub struct SpecArgs {
    /// The table, or `-` for standard input.
    pub data: PathBuf,
    options: RunOptions,
    /// The first option that was typed.
    typed: Option<&'static str>,
}

impl SpecArgs {
    /// The first option of the table that was typed, not only set for all commands.
    pub fn typed(&self) -> Option<&'static str> {
        self.typed
    }

    /// The checked settings.
    pub fn spec(&self) -> Result<RunSpec> {
        self.options.clone().check()
    }

    /// The files that are read.
    pub fn files(&self) -> impl Iterator<Item = PathBuf> {
        let files = OPTIONS.iter().filter(|option| option.takes == Takes::File);
        let files = files.flat_map(|option| option.words(&self.options));
        files.map(PathBuf::from).chain([self.data.clone()])
    }

    /// The same with other settings.
    pub fn with(mut self, change: impl FnOnce(&mut RunOptions)) -> Self {
        change(&mut self.options);
        self
    }
}

/// The arguments are made from the table of options.
impl Args for SpecArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        let data = Arg::new("data")
            .value_name("DATA.CSV")
            .help("The table: CSV with a header and one row per patient; - for standard input")
            .required(true)
            .value_parser(clap::value_parser!(PathBuf));
        let paper = Arg::new("paper")
            .long("paper")
            .env("CRFE_PAPER")
            .help("The paper's protocol: shared calibration, squared hinge, C = 1, λ = 0.5, ε = 0.1, β rule with k = 5, 20 splits")
            .action(ArgAction::SetTrue)
            .value_parser(yes_or_no())
            .help_heading(Chapter::Method.title());
        command.arg(data).args(OPTIONS.iter().map(argument)).arg(paper)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SpecArgs {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let data = matches.get_one::<PathBuf>("data").cloned().unwrap_or_default();
        let options = taken(OPTIONS.iter(), matches)?;
        let mut names = OPTIONS.iter().map(|option| option.name).chain(["paper"]);
        let typed = names.find(|name| is_typed(matches, name));
        Ok(Self { data, options, typed })
    }

    fn update_from_arg_matches(
        &mut self,
        matches: &ArgMatches,
    ) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The values of some options of the table.
fn taken(
    table: impl Iterator<Item = &'static RunOption>,
    matches: &ArgMatches,
) -> std::result::Result<RunOptions, clap::Error> {
    let mut options = RunOptions::default();
    for option in table {
        let id = id_of(option.name);
        let taken = match option.takes {
            Takes::Nothing => option.take(&mut options, &matches.get_flag(&id).to_string()),
            _ => match matches.get_many::<String>(&id) {
                None => Ok(()),
                Some(texts) => {
                    let words = |text: &String| match option.takes {
                        Takes::Words(_) => word_list::split(text),
                        _ => vec![text.clone()],
                    };
                    option.take_words(&mut options, &texts.flat_map(words).collect::<Vec<_>>())
                }
            },
        };
        taken.map_err(|refusal| {
            clap::Error::raw(clap::error::ErrorKind::ValueValidation, refusal)
        })?;
    }
    Ok(options)
}

/// clap's name for an option.
pub(super) fn id_of(name: &str) -> String {
    name.replace('-', "_")
}

/// Whether an option is on the command line, not only in the environment or the configuration file.
pub(super) fn is_typed(matches: &ArgMatches, name: &str) -> bool {
    let id = id_of(name);
    matches.try_contains_id(&id).is_ok()
        && matches.value_source(&id) == Some(ValueSource::CommandLine)
}

/// An option of the table as clap takes it.
fn argument(option: &'static RunOption) -> Arg {
    let mut argument = Arg::new(id_of(option.name))
        .long(option.name)
        .env(option.variable())
        .help(option.help)
        .help_heading(option.chapter.title());
    if let Some(details) = option.details {
        argument = argument.long_help(details);
    }
    let Some(shown) = option.takes.shown() else {
        return argument.action(ArgAction::SetTrue).value_parser(yes_or_no());
    };
    let default = option.default_text();
    if !default.is_empty() {
        argument = argument.default_value(default);
    }
    let is_list = matches!(option.takes, Takes::Words(_));
    argument
        .value_name(shown)
        .action(if is_list { ArgAction::Append } else { ArgAction::Set })
        // Numbers may be below zero, and words that mean "missing" often are.
        .allow_negative_numbers(matches!(option.takes, Takes::Number(_)))
        .allow_hyphen_values(option.name == "na")
        .value_parser(move |text: &str| {
            option.take(&mut RunOptions::default(), text).map(|()| text.to_owned())
        })
}

/// Of a flag in the environment: true, yes, on, 1 and their opposites.
pub(super) fn yes_or_no() -> clap::builder::BoolishValueParser {
    clap::builder::BoolishValueParser::new()
}

/// The options that `--paper` sets, unless a flag says otherwise.
pub(super) const PAPER: [(&str, &str); 7] = [
    ("calibration", "shared"),
    ("solver", "newton"),
    ("cost", "1"),
    ("lambda", "0.5"),
    ("epsilon", "0.1"),
    ("stop", "beta"),
    ("splits", "20"),
];
