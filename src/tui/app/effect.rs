//! What a change of the state asks to be done outside.

use crate::run::{Forced, RunSpec, TaskId};
use crate::select::Method;
use crate::tui::overlay::Export;

/// What must be done outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Leave.
    Quit,
    /// Stop the process for a while.
    Suspend,
    /// Pause computing.
    PauseEngine,
    /// Resume computing.
    ResumeEngine,
    /// One elimination of a paused task.
    StepEngine(TaskId),
    /// A paused task goes on to its end.
    FinishTask(TaskId),
    /// Run again with other settings.
    Rerun(Box<RunSpec>),
    /// Compute something from the data.
    LookUp(Lookup),
    /// Write something into files.
    Export(Export),
    /// Read the table as these settings understand it.
    Survey(Box<RunSpec>),
    /// Write a list of features into a file.
    Save(CopiedList),
    /// Put words on the clipboard.
    CopyWords(String),
    /// Put a list on the clipboard, and into a file beside the exports.
    Copy(CopiedList),
}

/// What can be computed from the data because the run does not hold it.
#[derive(Debug, Clone, PartialEq)]
pub enum Lookup {
    /// β of a step.
    Inspect(TaskId, Vec<usize>),
    /// The twins of these features.
    FindTwins(Vec<usize>),
    /// What a list achieves on all splits.
    TestList(Vec<usize>),
    /// The values of a feature.
    Portrait(usize),
    /// The effect of a feature in the model of a step.
    EffectCurve(TaskId, Vec<usize>, usize),
    /// What would have happened otherwise?
    Branch(TaskId, Vec<usize>, Forced),
}

impl Lookup {
    /// What is said, before the reason, when it came to nothing.
    pub fn failure(&self) -> &'static str {
        match self {
            Self::Inspect(..) => "β could not be computed",
            Self::FindTwins(_) => "twins could not be looked for",
            Self::TestList(_) => "your list could not be tested",
            Self::Portrait(_) => "the feature could not be read",
            Self::EffectCurve(..) => "the effect could not be computed",
            Self::Branch(..) => "what would have happened could not be computed",
        }
    }
}

/// A list of features for the clipboard and for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedList {
    /// One name per line.
    pub text: String,
    /// The file, beside the exports.
    pub file: String,
    /// What it is, in words.
    pub words: String,
    /// The list of the answer, which follows what is set by hand.
    pub is_answer: bool,
}

impl CopiedList {
    /// The answer.
    pub const SELECTED: &'static str = "selected.txt";
    pub const MY_LIST: &'static str = "my_list.txt";
    /// What is left at a step.
    pub const STEP: &'static str = "step.txt";

    /// A list that does not depend on the answer.
    pub(super) fn new(text: String, file: &str, words: String) -> Self {
        Self { text, file: file.to_owned(), words, is_answer: false }
    }

    /// The file of the answer of another method than the first.
    pub fn selected_of(method: Method) -> String {
        format!("selected_{}.txt", method.name())
    }
}
