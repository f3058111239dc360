//! The command line: what can be asked for. Precedence: flags, `CRFE_*` environment, configuration file, defaults.

use std::ffi::OsString;
use std::num::{ParseFloatError, ParseIntError};
use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::config;
use crate::data::{Calibration, Censored, Impute, ReadOptions, Scale, SchemaOptions, SplitOptions};
use crate::error::{Error, Result};
use crate::run::{RunOptions, RunSpec, Shard};
use crate::select::{BetaRule, Method, Score, StepSize, StopRule};
use crate::svm::{ClassWeight, SolverKind};

/// Conformal recursive feature elimination: exact, fast, with guaranteed coverage.
#[derive(Debug, Parser)]
#[command(
    name = "crfe-tui",
    version = crate::report::VERSION,
    about,
    max_term_width = 110,
    subcommand_required = true,
    arg_required_else_help = true,
    override_usage = "crfe-tui DATA.CSV [OPTIONS]\n       crfe-tui COMMAND [ARGUMENTS]"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Watch it on the screen; the word may be left out: crfe-tui DATA.CSV
    #[command(after_help = EXPLORE_EXAMPLES)]
    Explore(Box<ExploreArgs>),
    /// Replay a finished run on the screen, or follow one that is growing
    Open(Box<OpenArgs>),
    /// Run without a screen: progress on standard error, the answer on standard output, files in --out
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Make tables, figures and report.html from the journals of a run, also of many shards
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Write the scripts that run it on a Slurm cluster: an array of shards, and the report that waits for it
    #[command(after_help = SLURM_EXAMPLES)]
    Slurm(Box<SlurmArgs>),
    /// Print the completions of a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Print the man page, of the program or of one command
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManArgs),
    /// Print a commented configuration file
    #[command(after_help = CONFIG_EXAMPLES)]
    Config,
    /// Say what was understood of a file, what is wrong with it, and what a run would take
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Box<CheckArgs>),
}

impl Command {
    /// What it would compute, if it computes.
    fn spec(&self) -> Option<&SpecArgs> {
        match self {
            Self::Explore(args) => Some(&args.spec),
            Self::Run(args) => Some(&args.spec),
            Self::Slurm(args) => Some(&args.spec),
            Self::Check(args) => Some(&args.spec),
            _ => None,
        }
    }
}

const CHECK_EXAMPLES: &str = "\
Examples:
  crfe-tui check data.csv                    before anything is run
  zcat big.csv.gz | crfe-tui check -         from standard input
  crfe-tui check data.csv --json             for a script; the exit code is that of a run";

/// `crfe-tui check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// What would be computed.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
}

/// `crfe-tui completions`.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh
    pub shell: clap_complete::Shell,
}

/// `crfe-tui man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// One of the commands [default: the program]
    pub command: Option<String>,
}

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  crfe-tui completions bash > ~/.local/share/bash-completion/completions/crfe-tui
  crfe-tui completions zsh > ~/.zfunc/_crfe-tui";

const MAN_EXAMPLES: &str = "\
Examples:
  crfe-tui man > ~/.local/share/man/man1/crfe-tui.1
  crfe-tui man run > ~/.local/share/man/man1/crfe-tui-run.1";

const CONFIG_EXAMPLES: &str = "\
Examples:
  crfe-tui config > ~/.config/crfe-tui/config.toml      every option at its default, commented out
  CRFE_CONFIG=study.toml crfe-tui run data.csv          a file of your own";

const REPORT_EXAMPLES: &str = "\
Examples:
  crfe-tui report RUN                                   tables, figures and report.html from the journals
  crfe-tui report RUN --data moved/data.csv             the data are not where they were";

const RUN_EXAMPLES: &str = "\
Examples:
  crfe-tui run data.csv --out RUN                       20 splits, CRFE and RFE; RUN/report.html shows all
  crfe-tui run data.csv --target diagnosis --keep age   name the class column; age stays in every model
  crfe-tui run data.csv --paper --out PAPER             the protocol of the paper
  crfe-tui run data.csv --json --quiet > answer.json    the answer for a script";

const EXPLORE_EXAMPLES: &str = "\
Examples:
  crfe-tui data.csv                          watch CRFE and RFE on 20 splits; ? shows the keys
  crfe-tui data.csv --paused                 wait before the first elimination; n is one step
  crfe-tui data.csv --colors 16 --ascii      for a terminal that can do little";

/// `crfe-tui DATA.CSV`.
#[derive(Debug, Args)]
pub struct ExploreArgs {
    /// What to compute.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Worker threads [default: what affinity, cgroup and SLURM_CPUS_PER_TASK allow]
    #[arg(long, value_name = "N", env = "CRFE_THREADS", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Running")]
    pub threads: Option<u16>,
    /// Wait before the first elimination
    #[arg(long, env = "CRFE_PAUSED", value_parser = yes_or_no(), help_heading = "Running")]
    pub paused: bool,
    /// Do not record the run
    #[arg(long, env = "CRFE_NO_JOURNAL", value_parser = yes_or_no(), help_heading = "Running")]
    pub no_journal: bool,
    /// How it is shown.
    #[command(flatten)]
    pub screen: ScreenArgs,
}

/// `crfe-tui open RUN`.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// The directory of the run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The data file, if it is not where it was
    #[arg(long, value_name = "DATA.CSV")]
    pub data: Option<PathBuf>,
    /// How it is shown.
    #[command(flatten)]
    pub screen: ScreenArgs,
}

/// How the dashboard is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Screen")]
pub struct ScreenArgs {
    /// Directory for the run and for what is exported [default: the user's state directory, and crfe-export]
    #[arg(long, value_name = "RUN", env = "CRFE_OUT")]
    pub out: Option<PathBuf>,
    /// Steps of the play a second
    #[arg(long, value_name = "STEPS", env = "CRFE_SPEED", default_value = "4", value_parser = rate)]
    pub speed: f64,
    /// Frames a second, at most [default: 10, over SSH 4]
    #[arg(long, value_name = "FRAMES", env = "CRFE_FPS", value_parser = rate)]
    pub fps: Option<f64>,
    /// Leave the mouse to the terminal
    #[arg(long, env = "CRFE_NO_MOUSE", value_parser = yes_or_no())]
    pub no_mouse: bool,
    /// Colours: auto, true, 256, 16 or none
    #[arg(long, value_name = "HOW", env = "CRFE_COLORS", default_value = "auto", value_parser = ["auto", "true", "256", "16", "none"])]
    pub colors: String,
    /// For a light background
    #[arg(long, env = "CRFE_LIGHT", value_parser = yes_or_no())]
    pub light: bool,
    /// Only ASCII characters
    #[arg(long, env = "CRFE_ASCII", value_parser = yes_or_no())]
    pub ascii: bool,
}

fn rate(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.1..=240.0).contains(&rate) => Ok(rate),
        _ => Err("write a number from 0.1 to 240".into()),
    }
}

const SLURM_EXAMPLES: &str = "\
Example:
  crfe-tui slurm data.csv --tasks 50 --splits 200 --cpus 4 --sbatch=--time=2:00:00 --out RUN";

/// `crfe-tui run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// What to compute.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Where the results go.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Run a share of the tasks: shard i of N, i from 1, into its own journal in the same directory; makes no tables
    #[arg(long, value_name = "i/N", requires = "out", conflicts_with_all = ["force", "json"], help_heading = "Running")]
    pub shard: Option<Shard>,
}

/// `crfe-tui report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The directory of the run
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// The table the run was made of, if it is no longer where it was; predictions.csv needs it
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
    /// No notices
    #[arg(short, long)]
    pub quiet: bool,
}

/// `crfe-tui slurm`.
#[derive(Debug, Args)]
pub struct SlurmArgs {
    /// What to compute.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Tasks of the array: into so many shards the run is divided
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Cluster")]
    pub tasks: u16,
    /// Directory of the run, on a disk that all nodes see
    #[arg(long, value_name = "RUN", env = "CRFE_OUT", help_heading = "Cluster")]
    pub out: PathBuf,
    /// Start anew in a directory that holds another run, deleting its files
    #[arg(long, help_heading = "Cluster")]
    pub force: bool,
    /// Processors of each task of the array: so many threads
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        value_parser = clap::value_parser!(u16).range(1..),
        help_heading = "Cluster"
    )]
    pub cpus: u16,
    /// An option for sbatch, such as --sbatch=--time=2:00:00; may be given more than once
    #[arg(
        long,
        value_name = "OPTION",
        allow_hyphen_values = true,
        value_parser = sbatch_option,
        help_heading = "Cluster"
    )]
    pub sbatch: Vec<String>,
    /// What was asked of the run, as flags of `crfe-tui run`.
    #[arg(skip)]
    pub run_options: Vec<OsString>,
}

fn sbatch_option(text: &str) -> std::result::Result<String, String> {
    if text.starts_with('-') && !text.contains(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err("write one option of sbatch, such as --time=2:00:00".into())
    }
}

/// Where results go and how much is said.
#[derive(Debug, Args)]
#[command(next_help_heading = "Running")]
pub struct OutputArgs {
    /// Directory for the journal and all tables; run again with the same settings to resume
    #[arg(long, value_name = "RUN", env = "CRFE_OUT")]
    pub out: Option<PathBuf>,
    /// Start anew in a directory that holds another run, deleting its files
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Worker threads [default: what affinity, cgroup and SLURM_CPUS_PER_TASK allow]
    #[arg(long, value_name = "N", env = "CRFE_THREADS", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
    /// No progress, no notices
    #[arg(short, long)]
    pub quiet: bool,
}

const STOP_HELP: &str = "\
How the size of the answer is chosen:
- knee: on each split where total conformity, which falls as features go, bends most; looks at no test row
- beta: the β rule, the paper's: before the mean β first drops by more than --sigma standard deviations
- 1se: the smallest size whose mean set size is within one standard error of the best; looks at test rows
- cv: the size with the best 5-fold cross-validated accuracy of RFE, as scikit-learn's RFECV; slower
- none: no size is chosen; ranking.csv has the order
- a number: that many features
Of knee, beta and cv the answer has the median over the splits.";

/// Everything that determines the result.
#[derive(Debug, Args)]
pub struct SpecArgs {
    /// The table: CSV with a header, one row a patient; - for standard input
    #[arg(value_name = "DATA.CSV")]
    pub data: PathBuf,

    /// Class column, by name or 1-based position [default: class, target, label, y, outcome or diagnosis, else the last]
    #[arg(long, value_name = "COLUMN", env = "CRFE_TARGET", help_heading = "Data")]
    target: Option<String>,
    /// Columns to leave out
    #[arg(long, value_name = "COLUMNS", env = "CRFE_DROP", value_delimiter = ',', help_heading = "Data")]
    drop: Vec<String>,
    /// Features that are in every model and never removed
    #[arg(long, value_name = "FEATURES", env = "CRFE_KEEP", value_delimiter = ',', help_heading = "Data")]
    keep: Vec<String>,
    /// Columns whose numbers are codes of categories
    #[arg(
        long,
        value_name = "COLUMNS",
        env = "CRFE_CATEGORICAL",
        value_delimiter = ',',
        help_heading = "Data"
    )]
    categorical: Vec<String>,
    /// CSV with columns feature,group: the features of a group are removed together
    #[arg(long, value_name = "FILE", env = "CRFE_GROUPS", help_heading = "Data")]
    groups: Option<PathBuf>,
    /// Rows with the same value here (one patient) stay in the same part of a split
    #[arg(long, value_name = "COLUMN", env = "CRFE_GROUP_COL", help_heading = "Data")]
    group_col: Option<String>,
    /// Column that names the rows in predictions.csv; not a feature
    #[arg(long, value_name = "COLUMN", env = "CRFE_ID_COL", help_heading = "Data")]
    id_col: Option<String>,
    /// More words that mean "missing", besides the empty cell, NA, N/A, NaN, null, ? and "."
    #[arg(
        long,
        value_name = "WORDS",
        env = "CRFE_NA",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = "Data"
    )]
    na: Vec<String>,
    /// Drop columns with a larger share of missing values
    #[arg(
        long,
        value_name = "SHARE",
        env = "CRFE_MAX_MISSING",
        default_value = "0.25",
        help_heading = "Data"
    )]
    max_missing: f64,
    /// How gaps are filled, per split, from training rows: knn:K, median or none
    #[arg(long, value_name = "HOW", env = "CRFE_IMPUTE", default_value = "knn:5", help_heading = "Data")]
    impute: Impute,
    /// How columns are scaled, per split, by training rows: standard, minmax or none
    #[arg(long, value_name = "HOW", env = "CRFE_SCALE", default_value = "standard", help_heading = "Data")]
    scale: Scale,
    /// Field separator; "tab" for a tabulator [default: sniffed]
    #[arg(long, value_name = "CHAR", env = "CRFE_DELIMITER", value_parser = delimiter, help_heading = "Data")]
    delimiter: Option<char>,
    /// Decimal sign, . or , [default: the comma if numbers have one and it does not separate fields, else the point]
    #[arg(long, value_name = "CHAR", env = "CRFE_DECIMAL", value_parser = decimal, help_heading = "Data")]
    decimal: Option<char>,
    /// The first line is data; columns are called c1, c2, …
    #[arg(long, env = "CRFE_NO_HEADER", value_parser = yes_or_no(), help_heading = "Data")]
    no_header: bool,
    /// Number columns of the same name (a, a.1, a.2) instead of refusing them
    #[arg(long, env = "CRFE_DEDUP_NAMES", value_parser = yes_or_no(), help_heading = "Data")]
    dedup_names: bool,
    /// Lines are features and columns are patients: put the table on its side
    #[arg(long, env = "CRFE_TRANSPOSE", value_parser = yes_or_no(), help_heading = "Data")]
    transpose: bool,
    /// Values such as <0.5 in a column of numbers: bound (0.5) or na (missing) [default: refused]
    #[arg(long, value_name = "HOW", env = "CRFE_CENSORED", help_heading = "Data")]
    censored: Option<Censored>,
    /// Leave out the rows of classes with fewer rows than this
    #[arg(long, value_name = "ROWS", env = "CRFE_MIN_CLASS_SIZE", help_heading = "Data")]
    min_class_size: Option<usize>,
    /// Merge classes with few rows (see --min-class-size; default 4) into one of this name, instead of leaving them out
    #[arg(long, value_name = "NAME", env = "CRFE_MERGE_RARE", help_heading = "Data")]
    merge_rare: Option<String>,
    /// Megabytes of memory the table may take [default: what is free]
    #[arg(long, value_name = "MB", env = "CRFE_MEMORY_LIMIT", help_heading = "Data")]
    memory_limit: Option<u64>,

    /// Methods: crfe, rfe, smfs
    #[arg(
        long,
        value_name = "METHODS",
        env = "CRFE_METHOD",
        value_delimiter = ',',
        default_value = "crfe,rfe",
        help_heading = "Method"
    )]
    method: Vec<Method>,
    /// λ: how much the candidate's own machine counts in the non-conformity, 0 to 1
    #[arg(
        long,
        value_name = "λ",
        env = "CRFE_LAMBDA",
        default_value = "0.5",
        allow_negative_numbers = true,
        help_heading = "Method"
    )]
    lambda: f64,
    /// C of the support vector machines
    #[arg(
        long,
        value_name = "C",
        env = "CRFE_COST",
        default_value = "1",
        allow_negative_numbers = true,
        help_heading = "Method"
    )]
    cost: f64,
    /// "balanced": errors on rare classes cost more
    #[arg(long, value_name = "HOW", env = "CRFE_CLASS_WEIGHT", value_parser = class_weight, help_heading = "Method")]
    class_weight: Option<ClassWeight>,
    /// newton (squared hinge, exact) or linfa (plain hinge, at most 2000 training rows)
    #[arg(
        long,
        value_name = "SOLVER",
        env = "CRFE_SOLVER",
        default_value = "newton",
        help_heading = "Method"
    )]
    solver: SolverKind,
    /// Features removed at once: a count, a fraction of those left, or half
    #[arg(long, value_name = "STEP", env = "CRFE_STEP", default_value = "1", help_heading = "Method")]
    step: StepSize,
    /// How the size of the answer is chosen: knee, beta, 1se, cv, none or a number
    #[arg(
        long,
        value_name = "RULE",
        env = "CRFE_STOP",
        default_value = "knee",
        long_help = STOP_HELP,
        help_heading = "Method"
    )]
    stop: StopRule,
    /// End each path where --stop beta or --stop N says, instead of at one feature
    #[arg(long, env = "CRFE_EARLY", value_parser = yes_or_no(), help_heading = "Method")]
    early: bool,
    /// k of the β rule: standard deviations
    #[arg(
        long,
        value_name = "K",
        env = "CRFE_SIGMA",
        default_value = "5",
        allow_negative_numbers = true,
        help_heading = "Method"
    )]
    sigma: f64,
    /// ψ of the β rule: its window, as a share of the features
    #[arg(
        long,
        value_name = "SHARE",
        env = "CRFE_WINDOW",
        default_value = "0.4",
        allow_negative_numbers = true,
        help_heading = "Method"
    )]
    window: f64,
    /// The paper's protocol: shared calibration, squared hinge, C = 1, λ = 0.5, ε = 0.1, β rule with k = 5, 20 splits
    #[arg(long, env = "CRFE_PAPER", value_parser = yes_or_no(), help_heading = "Method")]
    paper: bool,

    /// How many random splits
    #[arg(
        long,
        value_name = "N",
        env = "CRFE_SPLITS",
        default_value = "20",
        help_heading = "Splits and coverage"
    )]
    splits: usize,
    /// JSON file with your own splits
    #[arg(long, value_name = "FILE", env = "CRFE_SPLITS_FROM", help_heading = "Splits and coverage")]
    splits_from: Option<PathBuf>,
    /// Seed of the splits
    #[arg(
        long,
        value_name = "SEED",
        env = "CRFE_SEED",
        default_value = "0",
        help_heading = "Splits and coverage"
    )]
    seed: u64,
    /// Share of test rows
    #[arg(
        long,
        value_name = "SHARE",
        env = "CRFE_TEST_SIZE",
        default_value = "0.25",
        allow_negative_numbers = true,
        help_heading = "Splits and coverage"
    )]
    test_size: f64,
    /// Share of calibration rows among the others
    #[arg(
        long,
        value_name = "SHARE",
        env = "CRFE_CAL_SIZE",
        default_value = "0.5",
        allow_negative_numbers = true,
        help_heading = "Splits and coverage"
    )]
    cal_size: f64,
    /// strict (coverage guaranteed) or shared (the paper's; guarantee void)
    #[arg(
        long,
        value_name = "MODE",
        env = "CRFE_CALIBRATION",
        default_value = "strict",
        help_heading = "Splits and coverage"
    )]
    calibration: Calibration,
    /// ε: prediction sets hold the true class with probability at least 1 − ε
    #[arg(
        long,
        value_name = "ε",
        env = "CRFE_EPSILON",
        default_value = "0.1",
        allow_negative_numbers = true,
        help_heading = "Splits and coverage"
    )]
    epsilon: f64,
    /// p-values by class: coverage is aimed at in every class
    #[arg(long, env = "CRFE_MONDRIAN", value_parser = yes_or_no(), help_heading = "Splits and coverage")]
    mondrian: bool,
    /// Randomised p-values: coverage is exact instead of at least
    #[arg(long, env = "CRFE_SMOOTHED", value_parser = yes_or_no(), help_heading = "Splits and coverage")]
    smoothed: bool,
    /// weighted, or published: the score behind the paper's published curves (guarantee void)
    #[arg(
        long,
        value_name = "SCORE",
        env = "CRFE_SCORE",
        default_value = "weighted",
        help_heading = "Splits and coverage"
    )]
    score: Score,
}

/// Of a flag in the environment: true, yes, on, 1 and their opposites.
fn yes_or_no() -> clap::builder::BoolishValueParser {
    clap::builder::BoolishValueParser::new()
}

fn delimiter(text: &str) -> std::result::Result<char, String> {
    match text {
        "tab" | "\\t" | "\t" => Ok('\t'),
        _ => one_ascii(text).ok_or_else(|| "write one character such as ; or the word tab".into()),
    }
}

fn decimal(text: &str) -> std::result::Result<char, String> {
    one_ascii(text).filter(|sign| matches!(sign, '.' | ',')).ok_or_else(|| "write . or ,".into())
}

fn one_ascii(text: &str) -> Option<char> {
    let mut characters = text.chars();
    characters.next().filter(|c| c.is_ascii() && characters.next().is_none())
}

fn class_weight(text: &str) -> std::result::Result<ClassWeight, String> {
    match text {
        "balanced" => Ok(ClassWeight::Balanced),
        "none" => Ok(ClassWeight::None),
        _ => Err("write balanced or none".into()),
    }
}

/// The options that `--paper` sets, unless a flag says otherwise.
const PAPER: [(&str, &str); 9] = [
    ("calibration", "shared"),
    ("solver", "newton"),
    ("cost", "1"),
    ("lambda", "0.5"),
    ("epsilon", "0.1"),
    ("stop", "beta"),
    ("sigma", "5"),
    ("window", "0.4"),
    ("splits", "20"),
];

impl SpecArgs {
    /// The checked settings.
    pub fn spec(&self) -> Result<RunSpec> {
        RunOptions {
            schema: SchemaOptions {
                read: ReadOptions {
                    delimiter: self.delimiter,
                    decimal: self.decimal,
                    missing: self.na.clone(),
                    no_header: self.no_header,
                    dedup_names: self.dedup_names,
                    censored: self.censored,
                    transpose: self.transpose,
                    memory_limit: self.memory_limit,
                },
                target: self.target.clone(),
                drop: self.drop.clone(),
                keep: self.keep.clone(),
                categorical: self.categorical.clone(),
                groups: self.groups.clone(),
                group_col: self.group_col.clone(),
                id_col: self.id_col.clone(),
                max_missing: self.max_missing,
                min_class_size: self.min_class_size,
                merge_rare: self.merge_rare.clone(),
            },
            scale: self.scale,
            impute: self.impute,
            split: SplitOptions {
                splits: self.splits,
                seed: self.seed,
                test_size: self.test_size,
                cal_size: self.cal_size,
                calibration: self.calibration,
                splits_from: self.splits_from.clone(),
            },
            methods: self.method.clone(),
            lambda: self.lambda,
            cost: self.cost,
            class_weight: self.class_weight.unwrap_or_default(),
            solver: self.solver,
            step: self.step,
            stop: self.stop,
            beta_rule: BetaRule { sigma: self.sigma, window: self.window },
            early: self.early,
            epsilon: self.epsilon,
            mondrian: self.mondrian,
            smoothed: self.smoothed,
            score: self.score,
        }
        .check()
    }
}

/// What became of the command line.
pub enum Parsed {
    /// Something to do, and the keys of the configuration file.
    Command(Command, config::Keys),
    /// Help, a version, or a mistake: clap's own words and exit code.
    Said(clap::Error),
}

/// Reads the command line, the environment and the configuration file.
pub fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed> {
    let args = with_command(args.into_iter().collect());
    let defaults = checked(config::load()?)?;
    let command = with_defaults(Cli::command(), &defaults);
    let matches = match command.clone().try_get_matches_from(&args) {
        Ok(matches) => matches,
        Err(said) => return Ok(Parsed::Said(said)),
    };
    let matches = match matches.subcommand() {
        Some((name, sub)) if wants_paper(sub) => {
            // The paper's word is weaker than a flag and stronger than environment and file.
            let paper: Vec<OsString> = PAPER
                .iter()
                .filter(|(option, _)| sub.value_source(option) != Some(ValueSource::CommandLine))
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
            if let (Command::Slurm(slurm), Some((_, sub))) = (&mut cli.command, matches.subcommand()) {
                slurm.run_options = as_flags(sub, &defaults);
            }
            Parsed::Command(cli.command, defaults.keys)
        }
        Err(said) => Parsed::Said(said),
    })
}

/// `crfe-tui DATA.CSV` is `crfe-tui explore DATA.CSV`.
fn with_command(mut args: Vec<OsString>) -> Vec<OsString> {
    let known = |word: &str| {
        matches!(word, "-h" | "--help" | "-V" | "--version" | "help")
            || Cli::command().get_subcommands().any(|command| command.get_name() == word)
    };
    if args.get(1).is_some_and(|first| first.to_str().is_none_or(|word| !known(word))) {
        args.insert(1, "explore".into());
    }
    args
}

/// The options that say what to compute, as flags: those of the command line, the environment and the configuration file.
fn as_flags(matches: &ArgMatches, defaults: &config::Defaults) -> Vec<OsString> {
    let command = SpecArgs::augment_args(clap::Command::new("spec"));
    let mut flags = Vec::new();
    for option in command.get_arguments() {
        let (id, Some(long)) = (option.get_id().as_str(), option.get_long()) else { continue };
        let configured = defaults.values.iter().any(|(name, _)| name.replace('-', "_") == id);
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

/// Refuses what the configuration file cannot mean, by its name there; what is not set in it is left out.
fn checked(mut defaults: config::Defaults) -> Result<config::Defaults> {
    let command = Cli::command();
    for (name, value) in &defaults.values {
        let id = name.replace('-', "_");
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
    // Values are looked at before what else is missing.
    let said = sub.clone().try_get_matches_from([sub.get_name(), &format!("--{long}={value}")]).err()?;
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
fn blame_the_file(spec: &SpecArgs, matches: &ArgMatches, defaults: &config::Defaults) -> Result<()> {
    let Err(error) = spec.spec() else { return Ok(()) };
    let sentence = error.to_string();
    let of_file = |(name, _): &&(String, String)| {
        let id = name.replace('-', "_");
        sentence.starts_with(&format!("--{name} "))
            && matches.try_get_raw(&id).is_ok()
            && matches.value_source(&id) == Some(ValueSource::DefaultValue)
    };
    match defaults.values.iter().find(of_file) {
        Some(_) => Err(Error::usage(sentence.trim_start_matches('-')).file(&defaults.file)),
        None => Ok(()),
    }
}

/// Puts the values of the configuration file in place of the built-in defaults, in every command that has the option.
fn with_defaults(mut command: clap::Command, defaults: &config::Defaults) -> clap::Command {
    let own: Vec<String> = command.get_arguments().map(|arg| arg.get_id().to_string()).collect();
    for (name, value) in &defaults.values {
        let id = name.replace('-', "_");
        if own.contains(&id) {
            let value = clap::builder::OsStr::from(value.clone());
            command = command.mut_arg(id, |arg| arg.default_value(value));
        }
    }
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    for name in names {
        command = command.mut_subcommand(name, |sub| with_defaults(sub, defaults));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(run("run data.csv"), RunOptions::default().check().unwrap());
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
        for line in [
            "run data.csv",
            "run data.csv --paper --seed 7",
            "run data.csv --target class --drop a,b --keep age,sex --categorical x --groups g.csv --group-col id --id-col n",
            "run data.csv --na=-9,none --max-missing 0.1 --impute median --scale minmax --delimiter tab --decimal ,",
            "run data.csv --no-header --target=-x --delimiter=; --impute none",
            "run data.csv --method smfs --lambda 0.3 --cost 0.01 --class-weight balanced --solver linfa --step half",
            "run data.csv --stop 4 --early --sigma 3.5 --window 0.7 --splits 3 --splits-from s.json --test-size 0.3",
            "run data.csv --cal-size 0.4 --calibration shared --epsilon 0.05 --mondrian --smoothed --step 3 --stop 1se",
            "run data.csv --score published --stop cv --step 0.25 --seed 18446744073709551615",
        ] {
            let spec = run(line);
            assert_eq!(again(&spec), spec, "{line}");
        }
    }

    /// The configuration file that is printed, with every setting taken in.
    fn uncommented() -> config::Defaults {
        let printed = crate::shell::configuration_file();
        let as_printed = config::parse("printed.toml".into(), &printed).unwrap();
        assert!(as_printed.values.is_empty() && as_printed.keys.bindings.is_empty());
        let setting = |line: &&str| line.starts_with('#') && !line.starts_with("# ");
        let settings: String =
            printed.lines().filter(setting).map(|line| format!("{}\n", &line[1..])).collect();
        config::parse("printed.toml".into(), &settings).unwrap()
    }

    #[test]
    fn the_printed_configuration_holds_every_option_and_changes_nothing() {
        let all = uncommented();
        let command = Cli::command();
        for sub in ["run", "explore"].map(|name| command.find_subcommand(name).unwrap()) {
            for option in sub.get_arguments().filter_map(clap::Arg::get_long) {
                let of_one_run = ["shard", "force"].contains(&option);
                assert_eq!(all.values.iter().any(|(name, _)| name == option), !of_one_run, "{option}");
            }
        }
        let defaults = checked(all).unwrap();
        for line in ["run data.csv", "explore data.csv", "explore data.csv --fps 7 --paper"] {
            let words = || std::iter::once("crfe-tui").chain(line.split(' '));
            let parsed = |command: clap::Command| {
                Cli::from_arg_matches(&command.try_get_matches_from(words()).unwrap()).unwrap()
            };
            let (usual, configured) =
                (parsed(Cli::command()), parsed(with_defaults(Cli::command(), &defaults)));
            assert_eq!(format!("{usual:?}"), format!("{configured:?}"));
        }
        let mut keymap = crate::tui::Keymap::default();
        let usual = format!("{keymap:?}");
        assert_eq!(defaults.keys.bindings.len(), keymap.bindings().len());
        keymap.rebind(&defaults.keys.bindings).unwrap();
        assert_eq!(format!("{keymap:?}"), usual);
    }

    #[test]
    fn a_bad_value_in_the_file_is_named_as_the_file_names_it() {
        for (text, sentence) in [
            ("fps = 'x'", "c.toml: fps cannot be 'x'; write a number from 0.1 to 240"),
            ("colors = 'red'", "c.toml: colors cannot be 'red'; write one of auto, true, 256, 16, none"),
            ("threads = 0", "c.toml: threads cannot be '0'; 0 is not in 1..=65535"),
            ("mondrian = 'perhaps'", "c.toml: mondrian cannot be 'perhaps'; write true or false"),
            ("method = ['crfe', 'ridge']", "c.toml: method cannot be 'crfe,ridge'; write crfe, rfe or smfs"),
            ("frames = 3", "c.toml: there is no option 'frames'; see crfe-tui run --help for the options"),
        ] {
            let error = checked(config::parse("c.toml".into(), text).unwrap()).unwrap_err();
            assert_eq!(error.to_string(), sentence);
        }
    }

    #[test]
    fn a_file_alone_is_explored() {
        assert_eq!(run("data.csv --lambda 0.25").lambda, 0.25);
        assert_eq!(run("--lambda 0.25 data.csv").lambda, 0.25);
    }

    #[test]
    fn a_shard_on_a_node_is_asked_for_the_same_run() {
        let options = "d.csv --keep a,b --na=-9 --mondrian --paper --lambda 0.3 --delimiter ; --stop 7";
        let args = format!("crfe-tui slurm {options} --tasks 4 --out RUN --sbatch=--time=1");
        let Ok(Parsed::Command(Command::Slurm(slurm), _)) = parse(args.split(' ').map(OsString::from)) else {
            panic!("not understood")
        };
        let flags: Vec<String> = slurm.run_options.iter().map(|flag| flag.to_str().unwrap().into()).collect();
        let line = format!("run d.csv {}", flags.join(" "));
        assert_eq!(run(&line), slurm.spec.spec().unwrap());
        assert_eq!(run(&line), run(&format!("run {options}")));
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
