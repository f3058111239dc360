//! What is known of an option of a run, and the shapes of the entries of the table.

use std::ops::Deref;

use super::RunOptions;
use crate::data::word_list::{join, split};

/// Why a value is refused: what to write instead, or the parser's own words.
pub type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// One option of a run.
pub struct RunOption {
    /// `--name` on the command line, `name` in the configuration file, `CRFE_NAME` in the
    /// environment.
    pub name: &'static str,
    /// The heading it stands under.
    pub chapter: Chapter,
    /// What follows its name.
    pub takes: Takes,
    /// One line of help.
    pub help: &'static str,
    /// More help, where one line is too short.
    pub details: Option<&'static str>,
    /// A value other than the default, for the documentation and for tests.
    pub example: &'static str,
    /// The values that are usually wanted, to choose from; others may be typed.
    pub choices: &'static [&'static str],
    /// Its line in the settings form, if it has one.
    pub form: Option<FormLine>,
    /// How the methods paragraph describes it.
    pub prose: Prose,
    pub(super) get: fn(&RunOptions) -> Vec<String>,
    pub(super) set: fn(&mut RunOptions, &[String]) -> Result<(), Refusal>,
}

/// The headings of the options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Chapter {
    /// How the file is read and understood.
    Data,
    /// What is computed.
    Method,
    /// On which rows, and what is promised.
    Splits,
}

impl Chapter {
    pub const fn title(self) -> &'static str {
        match self {
            Self::Data => "Data",
            Self::Method => "Method",
            Self::Splits => "Splits and coverage",
        }
    }
}

/// What follows the name of an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    /// Nothing: it is on or off.
    Nothing,
    /// The path of a file, which is read.
    File,
    Word(&'static str),
    /// The name of one column of the table.
    Column(&'static str),
    /// One number, which may be negative.
    Number(&'static str),
    /// Words separated by commas; a word that holds a comma is put in double quotes.
    Words(&'static str),
}

impl Takes {
    /// What stands for it in help, if anything follows the name.
    pub fn shown(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::File => Some("FILE"),
            Self::Word(shown) | Self::Column(shown) | Self::Number(shown) | Self::Words(shown) => {
                Some(shown)
            }
        }
    }
}

/// A line of the settings form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormLine {
    /// Lines are in this order.
    pub place: u8,
    /// What may be typed.
    pub hint: &'static str,
}

/// How the methods paragraph describes an option.
#[derive(Debug, Clone, Copy)]
pub enum Prose {
    /// Within its sentences: another value gives another paragraph.
    Within,
    /// By a sentence of its own, where it is set.
    Sentence(fn(&Done<'_>) -> Option<String>),
    /// Not at all: it says how the file is read, or names a place.
    Silent,
}

/// What the methods paragraph tells of: the settings, and what was done under them.
#[derive(Debug, Clone, Copy)]
pub struct Done<'a> {
    pub options: &'a RunOptions,
    /// Folds that tested the answer; 0 if none did.
    pub folds: usize,
    /// Permutations of the labels.
    pub permutations: usize,
    /// Whether a person took another size than the rule's.
    pub size_by_hand: bool,
}

impl Deref for Done<'_> {
    type Target = RunOptions;
    fn deref(&self) -> &RunOptions {
        self.options
    }
}

/// An option is what it is called.
impl PartialEq for RunOption {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl std::fmt::Debug for RunOption {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl RunOption {
    /// The words of its value; none if it is off or not set.
    pub fn words(&self, options: &RunOptions) -> Vec<String> {
        (self.get)(options)
    }

    /// Its value as it would be typed; empty if it is not set.
    pub fn text(&self, options: &RunOptions) -> String {
        match self.takes {
            Takes::Words(_) => join(&self.words(options)),
            _ => self.words(options).concat(),
        }
    }

    /// Its default as it would be typed; empty if it has none.
    pub fn default_text(&self) -> String {
        self.text(&RunOptions::default())
    }

    /// Takes a value as it is typed.
    pub fn take(&self, options: &mut RunOptions, text: &str) -> Result<(), Refusal> {
        match self.takes {
            Takes::Words(_) => self.take_words(options, &split(text)),
            _ => self.take_words(options, &[text.to_owned()]),
        }
    }

    /// Takes the words of a value.
    pub fn take_words(&self, options: &mut RunOptions, words: &[String]) -> Result<(), Refusal> {
        (self.set)(options, words)
    }

    /// What the methods paragraph says of it in a sentence of its own.
    pub fn sentence(&self, done: &Done<'_>) -> Option<String> {
        match self.prose {
            Prose::Sentence(sentence) => sentence(done),
            Prose::Within | Prose::Silent => None,
        }
    }

    /// The variable of the environment that sets it.
    pub fn variable(&self) -> String {
        variable(self.name)
    }
}

/// The variable of the environment for an option.
pub fn variable(name: &str) -> String {
    format!("CRFE_{}", name.replace('-', "_").to_uppercase())
}

pub(super) fn only(words: &[String]) -> Result<&str, Refusal> {
    match words {
        [word] => Ok(word),
        _ => Err("write one value".into()),
    }
}

/// What every entry starts from.
pub(super) const BLANK: RunOption = RunOption {
    name: "",
    chapter: Chapter::Data,
    takes: Takes::Nothing,
    help: "",
    details: None,
    example: "",
    choices: &[],
    form: None,
    prose: Prose::Silent,
    get: |_| Vec::new(),
    set: |_, _| Ok(()),
};

/// An option that is on or off.
macro_rules! flag {
    ($($field:ident).+) => {
        RunOption {
            takes: Takes::Nothing,
            example: "true",
            choices: &["false", "true"],
            get: |options| if options.$($field).+ { vec!["true".to_owned()] } else { Vec::new() },
            set: |options, words| {
                options.$($field).+ = only(words)?.parse().map_err(|_| "write true or false")?;
                Ok(())
            },
            ..BLANK
        }
    };
}
pub(super) use flag;

/// An option that always has a value, as its type is displayed and parsed.
macro_rules! value {
    ($($field:ident).+) => {
        RunOption {
            get: |options| vec![options.$($field).+.to_string()],
            set: |options, words| {
                options.$($field).+ = only(words)?.parse()?;
                Ok(())
            },
            ..BLANK
        }
    };
}
pub(super) use value;

/// An option that may be absent.
macro_rules! optional {
    ($($field:ident).+) => {
        RunOption {
            get: |options| options.$($field).+.iter().map(ToString::to_string).collect(),
            set: |options, words| {
                options.$($field).+ = Some(only(words)?.parse()?);
                Ok(())
            },
            ..BLANK
        }
    };
}
pub(super) use optional;

/// A file that may be absent.
macro_rules! file {
    ($($field:ident).+) => {
        RunOption {
            takes: Takes::File,
            get: |options| options.$($field).+.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
            set: |options, words| {
                options.$($field).+ = Some(only(words)?.into());
                Ok(())
            },
            ..BLANK
        }
    };
}
pub(super) use file;

/// A list of words.
macro_rules! words {
    ($($field:ident).+) => {
        RunOption {
            get: |options| options.$($field).+.clone(),
            set: |options, words| {
                options.$($field).+ = words.to_vec();
                Ok(())
            },
            ..BLANK
        }
    };
}
pub(super) use words;
