//! The command line: one struct per subcommand. The options of a run are in `option_args`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};

use super::option_args::{ReadArgs, SpecArgs, yes_or_no};
use crate::error::Result;
use crate::files::refuse_inputs;
use crate::record::Shard;
use crate::report::{FigureOptions, Format, outputs};
use crate::tui::View;

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
    /// Open the dashboard and run (the default command): crfe-tui DATA.CSV
    #[command(after_help = EXPLORE_EXAMPLES)]
    Explore(Box<ExploreArgs>),
    /// Open a recorded run in the dashboard, or follow one that is still running, or view a model's
    /// predictions for new patients; without a name, choose a recent run
    #[command(after_help = OPEN_EXAMPLES)]
    Open(Box<OpenArgs>),
    /// Run without the dashboard: progress on standard error, the answer on standard output, files
    /// in --out
    #[command(after_help = RUN_EXAMPLES)]
    Run(Box<RunArgs>),
    /// Make a model for new rows: set rows aside, select features, fit, calibrate
    #[command(after_help = FIT_EXAMPLES)]
    Fit(Box<FitArgs>),
    /// Predict new rows with a model: prediction sets, p-values, confidence, and performance if the
    /// class is known
    #[command(after_help = PREDICT_EXAMPLES)]
    Predict(Box<PredictArgs>),
    /// Test a model on rows whose class is known
    #[command(after_help = VALIDATE_EXAMPLES)]
    Validate(Box<ValidateArgs>),
    /// Make tables, figures and report.html from the journals of a run, including all its shards
    #[command(after_help = REPORT_EXAMPLES)]
    Report(ReportArgs),
    /// Write scripts for a Slurm cluster: a job array of shards, and a job that makes the report
    /// when they are done
    #[command(visible_alias = "slurm", after_help = CLUSTER_EXAMPLES)]
    Cluster(Box<ClusterArgs>),
    /// Print the completions of a shell
    #[command(after_help = COMPLETIONS_EXAMPLES)]
    Completions(CompletionsArgs),
    /// Print the man page of the program or of one command
    #[command(after_help = MAN_EXAMPLES)]
    Man(ManArgs),
    /// Print a commented configuration file
    #[command(after_help = CONFIG_EXAMPLES)]
    Config,
    /// Check a file: how it is read, what is wrong with it, and how long a run would take
    #[command(after_help = CHECK_EXAMPLES)]
    Check(Box<CheckArgs>),
}

impl Command {
    /// The settings of the run that it would compute, if it computes one.
    pub(super) fn spec(&self) -> Option<&SpecArgs> {
        match self {
            Self::Explore(args) => Some(&args.spec),
            Self::Run(args) => Some(&args.spec),
            Self::Fit(args) => Some(&args.run.spec),
            Self::Cluster(args) => Some(&args.spec),
            Self::Check(args) => Some(&args.spec),
            _ => None,
        }
    }

    /// Refuses to write a file that is read, or the configuration.
    pub(super) fn refuse_inputs(&self, configuration: &Path) -> Result<()> {
        let mut read = vec![configuration.to_owned()];
        let mut written = Vec::new();
        let directory = match self {
            Self::Explore(args) => args.screen.out.as_ref(),
            Self::Run(args) => args.output.out.as_ref(),
            Self::Cluster(args) => Some(&args.out),
            Self::Fit(args) => {
                read.extend(args.features.iter().chain(&args.table).cloned());
                written.push(args.model.clone());
                args.run.output.out.as_ref()
            }
            Self::Predict(args) => {
                read.extend([args.model.clone(), args.data.clone()]);
                written.extend(args.out.clone());
                None
            }
            Self::Report(args) => {
                read.extend(args.data.clone());
                args.out.as_ref().or(args.runs.first())
            }
            _ => None,
        };
        read.extend(self.spec().into_iter().flat_map(SpecArgs::files));
        let in_directory =
            |out: &PathBuf| outputs().into_iter().map(|name| out.join(name)).collect::<Vec<_>>();
        written.extend(directory.into_iter().flat_map(in_directory));
        refuse_inputs(read.iter().map(PathBuf::as_path), written)
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
  mkdir -p ~/.local/share/bash-completion/completions
  crfe-tui completions bash > ~/.local/share/bash-completion/completions/crfe-tui
  mkdir -p ~/.zfunc
  crfe-tui completions zsh > ~/.zfunc/_crfe-tui";

const MAN_EXAMPLES: &str = "\
Examples:
  mkdir -p ~/.local/share/man/man1
  crfe-tui man > ~/.local/share/man/man1/crfe-tui.1
  crfe-tui man run > ~/.local/share/man/man1/crfe-tui-run.1";

const CONFIG_EXAMPLES: &str = "\
Examples:
  mkdir -p ~/.config/crfe-tui
  crfe-tui config > ~/.config/crfe-tui/config.toml      every option at its default, commented out
  CRFE_CONFIG=study.toml crfe-tui run data.csv          a file of your own";

const REPORT_EXAMPLES: &str = "\
Examples:
  crfe-tui report RUN                                   tables, figures and report.html
  crfe-tui report RUN --data moved/data.csv             the data are not where they were
  crfe-tui report PART1 PART2 PART3 --out RUN           shards that have directories of their own
  crfe-tui report RUN --figure-width 183 --font-size 8  figures across two columns";

const RUN_EXAMPLES: &str = "\
Examples:
  crfe-tui run data.csv --out RUN                       CRFE and RFE on 20 splits; RUN/report.html
  crfe-tui run data.csv --target diagnosis --keep age   name the class; age is in every model
  crfe-tui run data.csv --paper --out PAPER             the protocol of the paper
  crfe-tui run data.csv --json --quiet > answer.json    the answer for a script";

const FIT_EXAMPLES: &str = "\
Examples:
  crfe-tui fit data.csv --model M.json                  a fifth of the rows calibrates it
  crfe-tui fit data.csv --stop 10 --model M.json        with ten features
  crfe-tui fit data.csv --features list.txt --model M.json   a list of your own
  crfe-tui fit RUN --model M.json                       from a run that was made with --reserve";

const PREDICT_EXAMPLES: &str = "\
Examples:
  crfe-tui predict M.json new.csv                       a line for each row, on standard output
  crfe-tui predict M.json new.csv --epsilon 0.05 --out predictions.csv
  zcat new.csv.gz | crfe-tui predict M.json -           from standard input";

const VALIDATE_EXAMPLES: &str = "\
Example:
  crfe-tui validate M.json hospital2.csv                how well it does at another hospital";

const EXPLORE_EXAMPLES: &str = "\
Examples:
  crfe-tui data.csv                          watch CRFE and RFE on 20 splits; ? shows the keys
  crfe-tui data.csv --paused                 wait before the first elimination; . is one step
  crfe-tui data.csv --colors 16 --ascii      for a basic terminal";

/// `crfe-tui DATA.CSV`.
#[derive(Debug, Args)]
pub struct ExploreArgs {
    /// Data and settings of the run.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Worker threads [default: what affinity, cgroup and the scheduler allow]
    #[arg(long, value_name = "N", env = "CRFE_THREADS", value_parser = from_one, help_heading = "Running")]
    pub threads: Option<u16>,
    /// Wait before the first elimination
    #[arg(long, env = "CRFE_PAUSED", value_parser = yes_or_no(), help_heading = "Running")]
    pub paused: bool,
    /// Do not record the run
    #[arg(long, env = "CRFE_NO_JOURNAL", value_parser = yes_or_no(), help_heading = "Running")]
    pub no_journal: bool,
    /// Display settings.
    #[command(flatten)]
    pub screen: ScreenArgs,
}

const OPEN_EXAMPLES: &str = "\
Examples:
  crfe-tui open RUN                          a run, finished or growing
  crfe-tui open M.json --data new.csv        new patients: their sets, and the features behind them
  crfe-tui open                              choose a recent run";

/// `crfe-tui open RUN`.
#[derive(Debug, Args)]
pub struct OpenArgs {
    /// The directory of the run, or a model [default: choose among recent runs and the tables of
    /// this directory]
    #[arg(value_name = "RUN|M.json")]
    pub run: Option<PathBuf>,
    /// For a run: the data file, if it has moved; for a model: the new patients
    #[arg(long, value_name = "DATA.CSV", requires = "run")]
    pub data: Option<PathBuf>,
    /// For a model: ε of the prediction sets [default: the model's]
    #[arg(long, value_name = "ε", allow_negative_numbers = true, requires = "data")]
    pub epsilon: Option<f64>,
    /// For a model: fill columns that the file does not have, instead of refusing it
    #[arg(long, requires = "data")]
    pub impute_missing: bool,
    /// How the new patients are read.
    #[command(flatten)]
    pub read: ReadArgs,
    /// Display settings.
    #[command(flatten)]
    pub screen: ScreenArgs,
}

/// How the dashboard is shown.
#[derive(Debug, Args)]
#[command(next_help_heading = "Screen")]
pub struct ScreenArgs {
    /// Directory for the run and for what is exported [default: the user's state directory, and
    /// crfe-export]
    #[arg(long, value_name = "RUN", env = "CRFE_OUT")]
    pub out: Option<PathBuf>,
    /// View to start in: answer, explore, size, stability or data [default: explore for a new run,
    /// else answer]
    #[arg(long, value_name = "VIEW", env = "CRFE_VIEW")]
    pub view: Option<View>,
    /// Steps played per second
    #[arg(long, value_name = "STEPS", env = "CRFE_SPEED", default_value = "4", value_parser = rate)]
    pub speed: f64,
    // Settings of a terminal, refused on the command line.
    /// Frames per second, at most [default: 10, over SSH 4]
    #[arg(long, hide = true, value_name = "FRAMES", env = "CRFE_FPS", value_parser = rate)]
    pub fps: Option<f64>,
    /// Do not capture the mouse
    #[arg(long, hide = true, env = "CRFE_NO_MOUSE", value_parser = yes_or_no())]
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
    /// Sentences and tables instead of a screen, for a screen reader; the keys are the same, so it
    /// needs a terminal (for a log, use crfe-tui run)
    #[arg(long, env = "CRFE_PLAIN", value_parser = yes_or_no())]
    pub plain: bool,
}

/// A count such as that of threads.
fn from_one(text: &str) -> std::result::Result<u16, String> {
    let count = text.parse().ok().filter(|&count| count > 0);
    count.ok_or_else(|| "must be a number from 1 to 65,535".to_owned())
}

fn rate(text: &str) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.1..=240.0).contains(&rate) => Ok(rate),
        _ => Err("write a number from 0.1 to 240".into()),
    }
}

const CLUSTER_EXAMPLES: &str = "\
Examples:
  crfe-tui cluster data.csv --tasks 50 --splits 200 --cpus 4 --submit=--time=2:00:00 --out RUN";

/// `crfe-tui run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// Data and settings of the run.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Where the results go.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Run one share of the tasks: shard i of N, i from 1, with its own journal in the same
    /// directory; makes no tables
    #[arg(long, value_name = "i/N", requires = "out", conflicts_with_all = ["force", "json"], help_heading = "Running")]
    pub shard: Option<Shard>,
}

/// `crfe-tui fit`.
#[derive(Debug, Args)]
#[command(mut_arg("data", |arg| arg.value_name("DATA.CSV|RUN").help("The table, as for run, or a run that was made with --reserve")))]
#[command(mut_arg("force", |arg| arg.requires(clap::builder::Resettable::Reset).help("Replace a file --model that is not a model; start over in a directory --out that holds another run, deleting its files")))]
pub struct FitArgs {
    /// What to compute, and where the results go.
    #[command(flatten)]
    pub run: RunArgs,
    /// The file of the model
    #[arg(long, value_name = "M.json", help_heading = "Model")]
    pub model: PathBuf,
    /// Text file with your own list, one feature per line: nothing is selected
    #[arg(long, value_name = "FILE", conflicts_with = "out", help_heading = "Model")]
    pub features: Option<PathBuf>,
    /// With RUN: the table of the run, if it has moved
    #[arg(long = "data", value_name = "FILE", help_heading = "Model")]
    pub table: Option<PathBuf>,
}

/// `crfe-tui predict`.
#[derive(Debug, Args)]
pub struct PredictArgs {
    /// The model
    #[arg(value_name = "M.json")]
    pub model: PathBuf,
    /// The new rows: a table with the columns of the model, in any order; - for standard input
    #[arg(value_name = "NEW.CSV")]
    pub data: PathBuf,
    /// The file of the predictions [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Replace a file that does not hold predictions
    #[arg(long)]
    pub force: bool,
    /// Write JSON instead of CSV
    #[arg(long)]
    pub json: bool,
    /// ε of the prediction sets [default: the model's]
    #[arg(long, value_name = "ε", allow_negative_numbers = true)]
    pub epsilon: Option<f64>,
    /// Fill columns of the model that the file does not have, instead of refusing it
    #[arg(long)]
    pub impute_missing: bool,
    /// No notices
    #[arg(short, long)]
    pub quiet: bool,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArgs,
}

/// `crfe-tui validate`.
#[derive(Debug, Args)]
pub struct ValidateArgs {
    /// The model
    #[arg(value_name = "M.json")]
    pub model: PathBuf,
    /// Rows with their class: a table with the columns of the model, in any order; - for standard
    /// input
    #[arg(value_name = "FILE")]
    pub data: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub json: bool,
    /// ε of the prediction sets [default: the model's]
    #[arg(long, value_name = "ε", allow_negative_numbers = true)]
    pub epsilon: Option<f64>,
    /// Fill columns of the model that the file does not have, instead of refusing it
    #[arg(long)]
    pub impute_missing: bool,
    /// How the file is read.
    #[command(flatten)]
    pub read: ReadArgs,
}

/// `crfe-tui report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The directory of the run, or several that hold shards of it
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Directory for tables, figures and report.html [default: RUN, if there is one]
    // Not called "out" for clap: the setting `out` of the configuration file and of the environment
    // belongs to runs.
    #[arg(id = "report_out", long = "out", value_name = "DIRECTORY")]
    pub out: Option<PathBuf>,
    /// The table of the run, if it has moved; predictions.csv needs it
    #[arg(long, value_name = "FILE")]
    pub data: Option<PathBuf>,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
    /// No notices
    #[arg(short, long)]
    pub quiet: bool,
    /// How figures are drawn.
    #[command(flatten)]
    pub figures: FigureArgs,
}

/// How figures are drawn.
#[derive(Debug, Args)]
#[command(next_help_heading = "Figures")]
pub struct FigureArgs {
    /// Width of figures in millimetres: one column is about 89, two are about 183
    #[arg(long, value_name = "MM", env = "CRFE_FIGURE_WIDTH", default_value = "89", value_parser = |text: &str| measure(text, 40.0, 400.0))]
    pub figure_width: f64,
    /// Size of the text in figures, in points
    #[arg(long, value_name = "PT", env = "CRFE_FONT_SIZE", default_value = "7", value_parser = |text: &str| measure(text, 4.0, 24.0))]
    pub font_size: f64,
    /// Formats of figures: svg, pdf, png
    #[arg(
        long,
        value_name = "LIST",
        env = "CRFE_FIGURE_FORMAT",
        default_value = "svg",
        value_delimiter = ','
    )]
    pub figure_format: Vec<Format>,
}

impl FigureArgs {
    /// As the report takes them; refused before anything is computed if the text does not fit.
    pub fn options(&self) -> Result<FigureOptions> {
        let mut formats = self.figure_format.clone();
        formats.sort_unstable();
        formats.dedup();
        let options =
            FigureOptions { width: self.figure_width, font_size: self.font_size, formats };
        options.layout()?;
        Ok(options)
    }
}

fn measure(text: &str, lowest: f64, highest: f64) -> std::result::Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (lowest..=highest).contains(&value) => Ok(value),
        _ => Err(format!("write a number from {lowest} to {highest}")),
    }
}

/// `crfe-tui cluster`.
#[derive(Debug, Args)]
pub struct ClusterArgs {
    /// Data and settings of the run.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Number of shards the run is divided into: the tasks of the job array
    #[arg(long, value_name = "N", value_parser = from_one, help_heading = "Cluster")]
    pub tasks: u16,
    /// Directory of the run, on a file system that all nodes share
    #[arg(long, value_name = "RUN", env = "CRFE_OUT", help_heading = "Cluster")]
    pub out: PathBuf,
    /// Start over in a directory that holds another run, deleting its files
    #[arg(long, help_heading = "Cluster")]
    pub force: bool,
    /// Processors, and therefore threads, of each task
    #[arg(
        long,
        value_name = "N",
        default_value = "1",
        value_parser = from_one,
        help_heading = "Cluster"
    )]
    pub cpus: u16,
    /// Option of sbatch, such as --submit=--time=2:00:00; may be given more than once
    #[arg(
        long,
        value_name = "OPTION",
        allow_hyphen_values = true,
        value_parser = submit_option,
        help_heading = "Cluster"
    )]
    pub submit: Vec<String>,
    /// The options of the run, as flags of `crfe-tui run`.
    #[arg(skip)]
    pub run_options: Vec<OsString>,
}

fn submit_option(text: &str) -> std::result::Result<String, String> {
    if text.starts_with('-') && !text.contains(char::is_control) {
        Ok(text.to_owned())
    } else {
        Err("write one option of sbatch, such as --time=2:00:00".into())
    }
}

/// Where results are written, and how much is printed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Running")]
pub struct OutputArgs {
    /// Directory for the journal and all tables; run again with the same settings to resume
    #[arg(long, value_name = "RUN", env = "CRFE_OUT")]
    pub out: Option<PathBuf>,
    /// Start over in a directory that holds another run, deleting its files
    #[arg(long, requires = "out")]
    pub force: bool,
    /// Worker threads [default: what affinity, cgroup and the scheduler allow]
    #[arg(long, value_name = "N", env = "CRFE_THREADS", value_parser = from_one)]
    pub threads: Option<u16>,
    /// Print the answer as JSON
    #[arg(long)]
    pub json: bool,
    /// No progress, no notices
    #[arg(short, long)]
    pub quiet: bool,
}
