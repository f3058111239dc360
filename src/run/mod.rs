//! Runs tasks on worker threads and emits one stream of [`RunEvent`]s.

mod control;
mod cost;
mod cross_validation;
mod effects;
mod engine;
mod estimate;
mod event;
mod followup;
mod inspect;
mod kernel_limit;
mod option;
pub mod options;
mod path_sizes;
mod permutation;
mod plan;
mod probe;
mod queue;
mod sites;
mod spec;
mod survey;
mod task;
mod trace;
mod twins;
mod validation;

pub use control::{Change, Gate, Passage};
pub use cost::{DEFAULT_PERMUTATIONS, PERMUTATION_BUDGET, PathCost};
pub use effects::{EffectCurve, EffectPoint, effects, effects_of_split};
pub use engine::{Engine, WORKER, default_threads, panic_text};
pub use estimate::{Estimate, PartCost, seconds_words};
pub use event::{
    Betas, EndReason, EventKind, Parts, Remaining, RunEvent, RunInfo, Step, TaskId, UnusedColumn,
};
pub use followup::{Followup, FollowupKind, FollowupWork, Kind, Outcome};
pub use inspect::{
    Branch, BranchStep, Forced, Inspection, LevelCounts, Portrait, branch, inspect, portrait,
    test_list,
};
pub use permutation::{PermutedRun, evaluated};
pub use plan::Plan;
pub use probe::SiteProbe;
pub use sites::{SiteInfo, SubgroupInfo};
pub use spec::{MOST_FOLDS, MOST_PERMUTATIONS, Permutations, RunOptions, RunSpec};
pub use survey::{Survey, Surveyed};
pub use task::{PathRows, Prediction, open_path, predictions, settings};
pub use trace::Trace;
pub use twins::{TWIN, Twins, TwinsOf};
pub use validation::{FoldTest, TestedRow, fit_settings, test_given_list};
