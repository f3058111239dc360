//! The screen from its start to its end: how it is to behave, the terminal it takes, the state it
//! begins with, and what is printed in the shell afterwards.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crossbeam_channel::unbounded;

use super::app::{App, Pause};
use super::dashboard::Dashboard;
use super::event_loop::EventLoop;
use super::keymap::Keymap;
use super::listen::listen;
use super::overlay::{OptionsEditor, Overlay};
use super::session::SessionRequest;
use super::start::{Choice, StartScreen};
use super::terminal::{RealBackend, TerminalGuard, interrupting_signal};
use super::theme::Theme;
use super::view::View;
use crate::analysis::Answer;
use crate::error::{Error, Result, printable};
use crate::record::state_home;
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
pub fn explore(request: SessionRequest, settings: ScreenSettings) -> Result<u8> {
    show(&settings, |_| Ok(Ok(request)))
}

/// Lets the user choose a recent run or a table nearby, then shows it; the exit code.
pub fn start(
    settings: ScreenSettings,
    request: impl FnOnce(Choice) -> Result<SessionRequest>,
) -> Result<u8> {
    show(&settings, |screens| {
        let (theme, keymap) = (settings.theme, settings.keymap.clone());
        let mut start = StartScreen::new(state_home().as_deref(), Path::new("."), theme, keymap);
        start.read_answers();
        let code = screens.run(&mut start);
        start.choice().filter(|_| code == 0).map_or(Ok(Err(code)), |choice| request(choice).map(Ok))
    })
}

/// What to show in the dashboard, or the exit code if nothing is to be shown.
type StartOutcome = Result<std::result::Result<SessionRequest, u8>>;

/// Shows the dashboard on what is wanted; the exit code.
fn show(
    settings: &ScreenSettings,
    wanted: impl FnOnce(&mut EventLoop<'_, RealBackend>) -> StartOutcome,
) -> Result<u8> {
    let shown = on_terminal(settings, |screens| {
        let request = match wanted(screens)? {
            Ok(request) => request,
            Err(code) => return Ok(Err(code)),
        };
        let mut dashboard = Dashboard::new(request, settings)?;
        Ok(match screens.run(&mut dashboard) {
            0 => Ok(dashboard),
            code => Err(code),
        })
    })?;
    match shown {
        // The error that ended the run is printed after the screen is left, with its exit code.
        Ok(mut dashboard) => match dashboard.app_mut().take_failure() {
            Some(error) => Err(error),
            None => Ok(say_goodbye(dashboard.app_mut())),
        },
        Err(code) => Ok(code),
    }
}

/// Takes the terminal, shows screens on it, and gives it back.
pub(super) fn on_terminal<T>(
    settings: &ScreenSettings,
    show: impl FnOnce(&mut EventLoop<'_, RealBackend>) -> Result<T>,
) -> Result<T> {
    let (sender, inputs) = unbounded();
    let mut guard =
        TerminalGuard::enter(settings.mouse, settings.plain).map_err(broken_terminal)?;
    listen(&sender).map_err(broken_terminal)?;
    let shown = show(&mut EventLoop::new(guard.terminal(), &inputs, settings));
    drop(guard);
    // From here on a signal ends the program at once: what follows may block on standard error.
    drop(inputs);
    shown
}

/// The error for a terminal that cannot be used.
fn broken_terminal(error: io::Error) -> Error {
    Error::output(format!("the terminal cannot be used: {error}"))
        .remedy("run without a screen: crfe-tui run, or crfe-tui predict")
}

/// The exit code of a signal that has come.
pub(super) fn ended_by_signal() -> Option<u8> {
    Some(128 + u8::try_from(interrupting_signal()?).unwrap_or(0))
}

/// The state before anything is known.
pub(super) fn first_state(request: &SessionRequest, settings: &ScreenSettings) -> Result<App> {
    let (data, spec) = match request {
        SessionRequest::Compute(compute) => (compute.data.clone(), compute.spec.clone()),
        // The recorded settings come with the first event.
        SessionRequest::Open(directory, _) => (directory.clone(), RunOptions::default().check()?),
    };
    let mut app = App::new(data, spec, settings.theme, settings.keymap.clone());
    app.set_speed(settings.speed);
    app.set_out(settings.out.clone());
    if let SessionRequest::Compute(compute) = request {
        app.set_threads(compute.threads);
    }
    match request {
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
