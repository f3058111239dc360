//! What a person can ask for; keys and the mouse become these.

use super::view::View;

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
    NextView,
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
    PageUp,
    PageDown,
    /// To the first row.
    Top,
    /// To the last row.
    Bottom,
    PreviousSplit,
    NextSplit,
    PreviousPatient,
    NextPatient,
    /// The score of another class of a patient.
    PreviousClass,
    NextClass,
    /// A patient on the whole screen, and back.
    Enlarge,
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
    /// The command that makes a model of a list.
    Fit,
    /// What if the selected feature were removed now?
    WhatIfRemoved,
    /// What if the selected feature were kept to the end?
    WhatIfKept,
    /// Stop the program for a while.
    Suspend,
}
