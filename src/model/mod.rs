//! From list to use: machines of a list, fitted and calibrated, that predict rows which come later
//! (docs/method.md section 13).

mod cohort;
mod counts;
mod effect;
mod file;
mod json;
mod machines;
mod make;
mod measured;
mod predictor;
mod score;
mod seen;
mod stream;

pub use cohort::{Cohort, MOST_KEPT};
pub use counts::RowCounts;
pub use effect::Baseline;
pub use file::{CellReading, Conformal, ListOrigin, MODEL, Model, ModelColumn, Provenance};
pub use json::pretty;
pub use machines::{Deciding, Machines};
pub use make::Ingredients;
pub use measured::{MOST_MEASURED, Measured, ScoreComparison, Scoreboard, Terms, UNLIKE};
pub use predictor::{FitSettings, FittedList, Predictions, Predictor, fit_list, tau};
pub use score::{Flags, ScoredRow, Scorer, Shares};
pub use seen::{SeenRows, SeenTally};
pub use stream::{RowSource, SourceFacts};
