//! What a person can ask for; keys and the mouse become these.

/// The five views.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// Which features, and how sure is that?
    Answer,
    /// What is removed now, and why?
    Explore,
    /// How small can I go?
    Size,
    /// Would another split agree?
    Stability,
    /// What was understood of my file?
    Data,
}

impl View {
    /// All, in the order of their keys.
    pub const ALL: [Self; 5] = [Self::Answer, Self::Explore, Self::Size, Self::Stability, Self::Data];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Answer => "Answer",
            Self::Explore => "Explore",
            Self::Size => "Size",
            Self::Stability => "Stability",
            Self::Data => "Data",
        }
    }

    /// The question it answers.
    pub fn question(self) -> &'static str {
        match self {
            Self::Answer => "which features, and how sure?",
            Self::Explore => "what is removed now, and why?",
            Self::Size => "how small can I go?",
            Self::Stability => "would another split agree?",
            Self::Data => "what was understood of my file?",
        }
    }

    /// Its name as an option: `answer`.
    pub fn key(self) -> String {
        self.name().to_lowercase()
    }
}

impl std::str::FromStr for View {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<String> = Self::ALL.into_iter().map(Self::key).collect();
        let found = Self::ALL.into_iter().find(|view| view.key() == text);
        found.ok_or_else(|| format!("write one of {}", names.join(", ")))
    }
}

/// One thing to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Leave.
    Quit,
    /// Show the keys.
    Help,
    /// Search for an action, an option or a feature.
    Palette,
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
    /// Pause or resume playing.
    TogglePlay,
    /// Pause or resume computing.
    ToggleEngine,
    /// One elimination.
    StepOnce,
    /// To the end of this path.
    ToEnd,
    /// One step back in time: more features.
    Earlier,
    /// One step on in time: fewer features.
    Later,
    /// The cursor of a chart to the left: fewer features.
    CursorLeft,
    /// The cursor of a chart to the right: more features.
    CursorRight,
    /// The cursor of a chart to the smallest size.
    CursorHome,
    /// The cursor of a chart to all features.
    CursorEnd,
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
    /// To the first row.
    Top,
    /// To the last row.
    Bottom,
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
    /// Sort the ranking by the next column.
    Sort,
    /// Reverse the order of the ranking.
    Reverse,
    /// Show only features whose names match.
    Filter,
    /// Find a feature by name.
    Find,
    /// The next match.
    FindNext,
    /// The previous match.
    FindPrevious,
    /// A larger size as the answer.
    Larger,
    /// A smaller size as the answer.
    Smaller,
    /// The size under the cursor as the answer.
    TakeSize,
    /// The rule's own size as the answer again.
    OwnSize,
    /// Add the selected feature to my list, or remove it.
    Mark,
    /// Sizes on a linear or a logarithmic axis.
    ToggleAxis,
    /// A narrower range of sizes.
    ZoomIn,
    /// A wider range of sizes.
    ZoomOut,
    /// Another pair of metrics.
    NextMetrics,
    /// A table of the classes.
    PerClass,
    /// All indices of agreement.
    Indices,
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
    /// Copy a list of features.
    Copy,
    /// What if the selected feature were removed now?
    WhatIfRemoved,
    /// What if the selected feature were kept to the end?
    WhatIfKept,
    /// Stop the program for a while.
    Suspend,
}
