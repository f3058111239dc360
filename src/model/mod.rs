//! From list to use: machines of a list, fitted and calibrated, that predict rows which come later
//! (docs/method.md section 13).

mod cohort;
mod counts;
mod effect;
mod file;
mod fit;
mod json;
mod machines;
mod make;
mod measured;
mod score;
mod stream;

pub use cohort::{Cohort, MOST_KEPT};
pub use counts::RowCounts;
pub use effect::Baseline;
pub use file::{CellReading, Conformal, ListOrigin, MODEL, Model, ModelColumn, Provenance};
pub use fit::{FitSettings, FittedList, Predictions, Predictor, fit_list, tau};
pub use json::pretty;
pub use machines::{Deciding, Machines};
pub use make::Ingredients;
pub use measured::{MOST_MEASURED, Measured, ScoreComparison, Scoreboard, Terms, UNLIKE};
pub use score::{Flags, ScoredRow, Scorer, Shares};
pub use stream::{RowSource, SourceFacts};
