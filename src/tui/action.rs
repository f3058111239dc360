//! What a person can ask for; keys and the mouse become these.

/// The five views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// What goes now, and why?
    Explore,
    /// How small can I go?
    Metrics,
    /// Would another split agree?
    Consistency,
    /// When would each rule stop?
    Stopping,
    /// What did it understand of my file?
    Data,
}

impl View {
    /// All, in the order of their keys.
    pub const ALL: [Self; 5] = [Self::Explore, Self::Metrics, Self::Consistency, Self::Stopping, Self::Data];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Explore => "Explore",
            Self::Metrics => "Metrics",
            Self::Consistency => "Consistency",
            Self::Stopping => "Stopping",
            Self::Data => "Data",
        }
    }

    /// The question it answers.
    pub fn question(self) -> &'static str {
        match self {
            Self::Explore => "what is removed now, and why?",
            Self::Metrics => "how small can I go?",
            Self::Consistency => "would another split agree?",
            Self::Stopping => "where would each rule stop?",
            Self::Data => "what was understood of my file?",
        }
    }
}

/// One thing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Leave.
    Quit,
    /// Show the keys.
    Help,
    /// Leave what is in front, or a zoom, or a branch.
    Back,
    /// Confirm, or open the selected feature.
    Open,
    /// Go to a view.
    Show(View),
    /// The next view.
    NextView,
    /// The previous view.
    PreviousView,
    /// Halt or resume the play.
    TogglePlay,
    /// Halt or resume the engine.
    ToggleEngine,
    /// One elimination.
    StepOnce,
    /// To the end of this split.
    ToEnd,
    /// One step back in time.
    Earlier,
    /// One step on in time.
    Later,
    /// To the first step.
    First,
    /// To the newest step.
    Live,
    /// Ask for a size to go to.
    GoTo,
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
    /// The previous split.
    PreviousSplit,
    /// The next split.
    NextSplit,
    /// The next method.
    NextMethod,
    /// Play faster.
    Faster,
    /// Play slower.
    Slower,
    /// Enlarge a panel, or the next one.
    Zoom,
    /// Sort the ranking by something else.
    Sort,
    /// Find a feature by name.
    Find,
    /// The next one found.
    FindNext,
    /// Curves by class.
    PerClass,
    /// k of the β rule up.
    SigmaUp,
    /// k of the β rule down.
    SigmaDown,
    /// ψ of the β rule up.
    WindowUp,
    /// ψ of the β rule down.
    WindowDown,
    /// Edit the settings and run again.
    Options,
    /// Write files.
    Export,
    /// Copy the features of the step, or of the answer.
    Copy,
    /// What if the selected feature went now?
    WhatIfRemoved,
    /// What if the selected feature stayed to the end?
    WhatIfKept,
    /// Stop the program for a while.
    Suspend,
}
