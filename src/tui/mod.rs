//! The screens: the start, the dashboard, and the patients of a model.
//!
//! All three run under the loop of [`event_loop`], which sleeps until something happens: input, a
//! signal, something from behind the screen, a tick of the play, or the time of the next frame
//! while something has changed. Of the dashboard, [`app::App`] is the state and how it changes,
//! [`view`] draws it, [`session`] is what runs behind it; [`listen`] and [`terminal`] are the edge.

mod action;
mod app;
mod chart;
mod colours;
mod dashboard;
mod derived;
mod event_loop;
mod exporter;
mod form;
mod input;
mod keymap;
mod listen;
mod overlay;
mod patients;
mod plain;
mod screen;
mod session;
mod start;
mod table;
mod terminal;
mod theme;
mod time_left;
mod view;

pub use action::Action;
pub use app::{App, CopiedList, Effect, Lookup, Pause, Phase};
pub use chart::{AxisScale, Chart, ChartArea, ChartCurve, ReferenceLine, SizeAxis};
pub use colours::{HOW_COLOURS_ARE_WRITTEN, OwnColours, PAINTED};
pub use keymap::{KeyContext, KeyPress, Keymap};
pub use overlay::{
    Export, ExportMenu, FeaturePage, FitPage, HelpPage, LinePrompt, OptionsEditor, Overlay,
    Palette, Prompt, QuitQuestion,
};
pub use patients::{PatientColumn, PatientsScreen, show_model};
pub use screen::{ScreenSettings, explore, start};
pub use session::{Compute, Message, Recording, SessionRequest};
pub use start::{Choice, StartScreen};
pub use table::{Filter, RankingColumn, RankingTable, SortColumn, SortedTable};
pub use theme::{Depth, Role, Theme};
pub use view::{Hit, Hits, View, draw};
