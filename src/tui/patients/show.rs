//! Keeps the screen of patients going: rows are read and measured behind it, keys and rows are
//! taken as they come.

use std::sync::Arc;

use crossbeam_channel::{Receiver, Select, Sender, TryRecvError, bounded, never};
use ratatui::Frame;

use super::PatientsScreen;
use crate::data::RowBatch;
use crate::error::{Error, Result};
use crate::model::{Measured, Model, RowSource, Scoreboard, ScoredRow, Scorer, SourceFacts};
use crate::run::panic_text;
use crate::tui::event_loop::{Input, Request, Screen};
use crate::tui::input::wheel;
use crate::tui::screen::{ScreenSettings, on_terminal};

/// Batches that wait to be taken, at most.
const WAITING: usize = 64;

/// What the thread that reads the file sends.
enum ReaderMessage {
    Rows(RowBatch, Vec<ScoredRow>),
    All(SourceFacts),
    Measured(Box<Option<Measured>>),
    Failed(Error),
}

/// Shows new patients until the user leaves; the exit code.
pub fn show_model(
    model: Model,
    name: &str,
    source: RowSource,
    epsilon: Option<f64>,
    settings: ScreenSettings,
) -> Result<u8> {
    let model = Arc::new(model);
    let scorer = Scorer::new(&model, epsilon)?;
    let (send, rows) = bounded(WAITING);
    let screen = PatientsScreen::new(&scorer, name, settings.theme, settings.keymap.clone());
    let mut show = ReadingScreen { screen, rows, failure: None };
    let code = on_terminal(&settings, |screens| {
        read_behind(model.clone(), source, epsilon, send)?;
        Ok(screens.run(&mut show))
    })?;
    show.failure.map_or(Ok(code), Err)
}

/// Reads, predicts and measures on another thread, which ends when nobody listens any more.
fn read_behind(
    model: Arc<Model>,
    source: RowSource,
    epsilon: Option<f64>,
    send: Sender<ReaderMessage>,
) -> Result<()> {
    let read = move || {
        let gone = |_| Error::internal("nobody listens");
        let work = || -> Result<()> {
            let scorer = Scorer::new(&model, epsilon)?;
            let mut board = Scoreboard::new(&scorer);
            let facts = scorer.each_batch(&source, |batch, rows| {
                rows.iter().for_each(|row| board.add(row));
                send.send(ReaderMessage::Rows(batch, rows)).map_err(gone)
            })?;
            send.send(ReaderMessage::All(facts)).map_err(gone)?;
            let measured = board.measure(&model, scorer.epsilon());
            send.send(ReaderMessage::Measured(Box::new(measured))).map_err(gone)
        };
        let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work))
            .unwrap_or_else(|panic| Err(Error::internal(panic_text(&*panic))));
        if let Err(error) = worked {
            let _ = send.send(ReaderMessage::Failed(error));
        }
    };
    let spawned = std::thread::Builder::new().name("crfe-patients".into()).spawn(read);
    spawned.map(drop).map_err(|error| Error::internal(format!("no thread can be started: {error}")))
}

/// The screen, and the file that is being read for it.
struct ReadingScreen<'a> {
    screen: PatientsScreen<'a>,
    rows: Receiver<ReaderMessage>,
    /// Why the file cannot be used.
    failure: Option<Error>,
}

impl Screen for ReadingScreen<'_> {
    fn listen<'a>(&'a self, select: &mut Select<'a>) {
        select.recv(&self.rows);
    }

    fn receive(&mut self) -> bool {
        match self.rows.try_recv() {
            Ok(ReaderMessage::Rows(batch, scored)) => self.screen.add(batch, scored),
            Ok(ReaderMessage::All(facts)) => self.screen.finish(facts),
            Ok(ReaderMessage::Measured(measured)) => self.screen.measured(*measured),
            Ok(ReaderMessage::Failed(error)) => self.failure = Some(error),
            Err(TryRecvError::Disconnected) => self.rows = never(),
            Err(TryRecvError::Empty) => return false,
        }
        true
    }

    fn handle(&mut self, input: Input) -> Vec<Request> {
        // Typing ahead sees the rows as they were sorted.
        self.screen.refresh();
        match input {
            Input::Key(key) => self.screen.key(key),
            Input::Mouse(mouse) => {
                wheel(&mouse).map_or_else(Vec::new, |action| self.screen.act(action))
            }
        }
    }

    fn is_over(&self) -> bool {
        self.failure.is_some()
    }

    fn prepare(&mut self) {
        self.screen.refresh();
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        self.screen.draw(frame);
    }

    /// Once everything is there, and then after every key.
    fn plain(&mut self, _is_asked: bool) -> Option<String> {
        (!self.screen.is_reading()).then(|| self.screen.plain())
    }
}
