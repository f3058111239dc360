//! What stays when the program has ended: the answer, tables, a summary; and progress while it runs.

mod answer;
mod progress;
mod summary;
mod tables;

pub use answer::{Achieved, Answer, ChosenFeature, MethodAnswer, RuleSize, common_sizes, one_se};
pub use progress::Progress;
pub use summary::summary;
pub use tables::{TABLES, write_tables};
