//! The screen from its start to its end: how it is to behave, the terminal it takes, the state it
//! begins with, and what is printed in the shell afterwards.

use std::io::{self, Write};
use std::path::PathBuf;

use crossbeam_channel::{Receiver, unbounded};
use ratatui::Terminal;

use super::app::{App, Pause};
use super::event_loop::Dashboard;
use super::keymap::Keymap;
use super::listen::{InputEvent, listen};
use super::overlay::{OptionsEditor, Overlay};
use super::session::SessionRequest;
use super::start::{Choice, choose};
use super::terminal::{RealBackend, TerminalGuard, interrupting_signal};
use super::theme::Theme;
use super::view::View;
use crate::analysis::Answer;
use crate::error::{Error, Result, printable};
use crate::report::summary;
use crate::run::RunOptions;
use crate::say::say;

/// How the screen is to behave.
#[derive(Debug, Clone)]
pub struct ScreenSettings {
    /// Frames a second, at most.
    pub fps: f64,
    /// Steps of the play a second.
    pub speed: f64,
    /// Whether the mouse is listened to.
    pub mouse: bool,
    /// Colours and glyphs.
    pub theme: Theme,
    /// Keys.
    pub keymap: Keymap,
    /// Where exports go.
    pub out: Option<PathBuf>,
    /// The view to start in; none means what suits the run.
    pub view: Option<View>,
    /// Sentences and tables instead of a screen.
    pub plain: bool,
}

/// Shows a run until the user leaves; the exit code.
pub fn explore(order: SessionRequest, settings: ScreenSettings) -> Result<u8> {
    show(&settings, |_, _| Ok(Ok(Ok(order))))
}

/// Lets the user choose a recent run or a table nearby, then shows it; the exit code.
pub fn start(
    settings: ScreenSettings,
    order: impl FnOnce(Choice) -> Result<SessionRequest>,
) -> Result<u8> {
    let theme = settings.theme;
    show(&settings, |terminal, inputs| Ok(choose(terminal, inputs, theme)?.map(order)))
}

/// What to show, or the exit code if nothing is to be shown.
type StartOutcome = std::result::Result<Result<SessionRequest>, u8>;

fn show(
    settings: &ScreenSettings,
    wanted: impl FnOnce(&mut Terminal<RealBackend>, &Receiver<InputEvent>) -> io::Result<StartOutcome>,
) -> Result<u8> {
    let (sender, inputs) = unbounded();
    let mut guard =
        TerminalGuard::enter(settings.mouse, settings.plain).map_err(broken_terminal)?;
    listen(&sender).map_err(broken_terminal)?;
    let order = match wanted(guard.terminal(), &inputs) {
        Ok(Ok(order)) => order?,
        Ok(Err(code)) => return Ok(code),
        Err(error) => return ended_by_signal().map_or_else(|| Err(broken_terminal(error)), Ok),
    };
    let mut dashboard = Dashboard::new(order, settings)?;
    let ended = dashboard.run(guard.terminal(), &inputs);
    drop(guard);
    // From here on a signal ends the program at once: what follows may block on standard error.
    drop(inputs);
    match ended {
        // The error that ended the run is printed after the screen is left, with its exit code.
        Ok(0) => match dashboard.app_mut().take_failure() {
            Some(error) => Err(error),
            None => Ok(say_goodbye(dashboard.app_mut())),
        },
        Ok(code) => Ok(code),
        // A signal cuts a write short. A terminal that is gone cannot be written to, and nobody
        // reads the error either.
        Err(_) => Ok(ended_by_signal().unwrap_or(128 + 1)),
    }
}

/// The error for a terminal that cannot be used.
pub(super) fn broken_terminal(error: io::Error) -> Error {
    Error::output(format!("the terminal cannot be used: {error}"))
        .remedy("run without a screen: crfe-tui run, or crfe-tui predict")
}

/// The exit code of a signal that has come.
pub(super) fn ended_by_signal() -> Option<u8> {
    Some(128 + u8::try_from(interrupting_signal()?).unwrap_or(0))
}

/// The state before anything is known.
pub(super) fn first_state(order: &SessionRequest, settings: &ScreenSettings) -> Result<App> {
    let (data, spec) = match order {
        SessionRequest::Compute(compute) => (compute.data.clone(), compute.spec.clone()),
        // The recorded settings come with the first event.
        SessionRequest::Open(directory, _) => (directory.clone(), RunOptions::default().check()?),
    };
    let mut app = App::new(data, spec, settings.theme, settings.keymap.clone());
    app.set_speed(settings.speed);
    app.set_out(settings.out.clone());
    if let SessionRequest::Compute(compute) = order {
        app.set_threads(compute.threads);
    }
    match order {
        SessionRequest::Compute(compute) if compute.paused => {
            app.set_pause(Pause::Asked);
            if compute.settings_first {
                let editor = OptionsEditor::new(&compute.spec);
                app.set_overlay(Some(Overlay::Options(Box::new(editor))));
            }
        }
        SessionRequest::Compute(_) => {}
        SessionRequest::Open(..) => app.set_replay(),
    }
    if let Some(view) = settings.view {
        app.choose_view(view);
    }
    Ok(app)
}

/// After the screen is gone: the answer with its cautions, what failed and where the results are;
/// the exit code.
fn say_goodbye(app: &App) -> u8 {
    if let Some(answer) = Answer::new(app.history(), &app.choice())
        && !answer.methods.is_empty()
    {
        // Nobody may be reading any more, which is no error.
        let _ = writeln!(io::stdout(), "{}", summary(&answer));
    }
    let failed = app.history().failed();
    for (task, message) in failed.iter().filter(|_| !app.is_replay()) {
        say(format_args!("crfe-tui: {}", printable(&app.failure_words(*task, message))));
    }
    match app.directory() {
        Some(directory) => {
            let directory = printable(&directory.to_string_lossy());
            say(format_args!(
                "The run is in {directory}; open it again with: crfe-tui open {directory}"
            ));
        }
        None => {
            say(
                "Nothing was written; for tables, figures and a report use: crfe-tui run DATA.CSV --out RUN",
            );
        }
    }
    // As `run`: finished with failed tasks.
    if failed.is_empty() || app.is_replay() { 0 } else { 4 }
}
