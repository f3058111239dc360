//! New patients through a model: a table of their sets, and for the one under the cursor the
//! features behind its p-values. This is the state and how keys change it; `draw` draws it, `words`
//! says it, `show` keeps it going.

mod draw;
mod show;
mod words;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

pub use show::show_model;

use super::action::Action;
use super::event_loop::Request;
use super::keymap::{KeyContext, KeyPress, Keymap};
use super::overlay::edit;
use super::table::{Filter, SortColumn, SortKey, SortedTable};
use super::theme::Theme;
use crate::data::RowBatch;
use crate::model::{Cohort, Measured, ScoredRow, Scorer, SourceFacts};

/// The columns of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatientColumn {
    /// One minus the second largest p-value; the largest first.
    Confidence,
    /// The largest p-value; the smallest first: patients unlike any class.
    Credibility,
    /// How many classes are in the set; the largest first.
    Set,
    /// The predicted class.
    Predicted,
    /// The known class.
    Known,
    /// What is odd; most first.
    Flags,
    /// The name.
    Id,
    /// The order of the file.
    File,
}

impl SortColumn for PatientColumn {
    const ALL: &'static [Self] = &[
        Self::Confidence,
        Self::Credibility,
        Self::Set,
        Self::Predicted,
        Self::Known,
        Self::Flags,
        Self::Id,
        Self::File,
    ];
}

impl PatientColumn {
    /// What the rows are sorted by, in words.
    fn words(self) -> &'static str {
        match self {
            Self::Confidence => "confidence",
            Self::Credibility => "credibility",
            Self::Set => "set size",
            Self::Predicted => "predicted class",
            Self::Known => "known class",
            Self::Flags => "flags",
            Self::Id => "id",
            Self::File => "file order",
        }
    }

    fn compare(self, a: &ScoredRow, b: &ScoredRow) -> std::cmp::Ordering {
        match self {
            Self::Confidence => b.confidence.total_cmp(&a.confidence),
            Self::Credibility => a.credibility.total_cmp(&b.credibility),
            Self::Set => b.set.len().cmp(&a.set.len()),
            Self::Predicted => a.predicted.cmp(&b.predicted),
            Self::Known => a.class.cmp(&b.class),
            Self::Flags => b.flags.count().cmp(&a.flags.count()),
            Self::Id => a.id.cmp(&b.id),
            Self::File => std::cmp::Ordering::Equal,
        }
    }
}

/// What a typed line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    Find,
    Filter,
}

/// How far reading has come.
#[derive(Debug, Clone)]
enum CohortState {
    Reading,
    /// All rows are there; what they achieved is being measured.
    Measuring(SourceFacts),
    Done(SourceFacts, Box<Option<Measured>>),
}

/// The state of the screen.
pub struct PatientsScreen<'a> {
    cohort: Cohort<'a>,
    /// The model, as it was named.
    name: String,
    theme: Theme,
    keymap: Keymap,
    table: SortedTable<PatientColumn>,
    /// The rows that are shown, in order, and what the order was made for.
    shown: Vec<usize>,
    shown_for: Option<(SortKey<PatientColumn>, usize)>,
    /// The patient under the cursor, and where it is among those shown.
    at: usize,
    /// The label whose score is taken apart; none is the predicted one.
    label: Option<usize>,
    /// The patient has the whole screen, scrolled by this many lines.
    enlarged: Option<usize>,
    typing: Option<(Asked, String)>,
    has_help: bool,
    status: Option<String>,
    progress: CohortState,
    /// Rows of the table on the screen.
    height: usize,
}

impl<'a> PatientsScreen<'a> {
    /// Without patients yet.
    pub fn new(scorer: &'a Scorer<'a>, name: &str, theme: Theme, keymap: Keymap) -> Self {
        Self {
            cohort: Cohort::new(scorer),
            name: name.to_owned(),
            theme,
            keymap,
            table: SortedTable::default(),
            shown: Vec::new(),
            shown_for: None,
            at: 0,
            label: None,
            enlarged: None,
            typing: None,
            has_help: false,
            status: None,
            progress: CohortState::Reading,
            height: 10,
        }
    }

    /// Takes the next patients.
    pub fn add(&mut self, batch: RowBatch, rows: Vec<ScoredRow>) {
        self.cohort.add(batch, rows);
    }

    /// All patients are there.
    pub fn finish(&mut self, facts: SourceFacts) {
        self.progress = CohortState::Measuring(facts);
    }

    /// What they achieved, if their class is known.
    pub fn measured(&mut self, measured: Option<Measured>) {
        if let CohortState::Measuring(facts) = &self.progress {
            let measured = facts.caution(measured);
            self.progress = CohortState::Done(facts.clone(), Box::new(measured));
        }
    }

    /// Whether something is still to come from the file.
    fn is_reading(&self) -> bool {
        !matches!(self.progress, CohortState::Done(..))
    }

    /// Sorts and filters again if something has changed; before drawing.
    pub fn refresh(&mut self) {
        let wanted = (self.table.order(), self.cohort.rows().len());
        if self.shown_for == Some(wanted) {
            return;
        }
        let selected = self.selected();
        let rows = self.cohort.rows();
        let (column, is_reversed, _) = wanted.0;
        self.shown = (0..rows.len()).filter(|&row| self.table.shows(&rows[row].id)).collect();
        // Stable: equal rows stay in the order of the file.
        self.shown.sort_by(|&a, &b| column.compare(&rows[a], &rows[b]));
        if is_reversed {
            self.shown.reverse();
        }
        // While rows come in, the cursor stays on the first of them until it is moved.
        let was_moved = self.at > 0 || matches!(self.progress, CohortState::Done(..));
        let place = selected.filter(|_| was_moved);
        let place = place.and_then(|row| self.shown.iter().position(|&other| other == row));
        self.at = place.unwrap_or(0).min(self.shown.len().saturating_sub(1));
        self.shown_for = Some(wanted);
    }

    /// The patient under the cursor.
    fn selected(&self) -> Option<usize> {
        self.shown.get(self.at).copied()
    }

    /// The label whose score is taken apart.
    fn label(&self, row: usize) -> usize {
        self.label.unwrap_or(self.cohort.rows()[row].predicted)
    }

    /// Takes a key.
    pub fn key(&mut self, key: KeyEvent) -> Vec<Request> {
        self.status = None;
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        if let Some((asked, mut text)) = self.typing.take() {
            match key.code {
                KeyCode::Esc => {}
                KeyCode::Char('c') if ctrl => {}
                KeyCode::Enter => self.submit(asked, &text),
                _ => {
                    edit(&mut text, key);
                    self.typing = Some((asked, text));
                }
            }
            return Vec::new();
        }
        match self.keymap.action(KeyPress::of(&key), KeyContext::Patients) {
            Some(action) => self.act(action),
            None => Vec::new(),
        }
    }

    fn act(&mut self, action: Action) -> Vec<Request> {
        match action {
            Action::Quit => return vec![Request::Leave],
            Action::Suspend => return vec![Request::Suspend],
            Action::Help => self.has_help = !self.has_help,
            _ if self.has_help => self.has_help = false,
            Action::Back if self.enlarged.is_some() => self.enlarged = None,
            Action::Back => self.label = None,
            Action::Enlarge => self.enlarged = self.enlarged.is_none().then_some(0),
            Action::Up => self.go(-1),
            Action::Down => self.go(1),
            Action::PageUp => self.go(-(self.height as isize)),
            Action::PageDown => self.go(self.height as isize),
            Action::Top => self.go(isize::MIN),
            Action::Bottom => self.go(isize::MAX),
            Action::PreviousPatient => self.move_to(self.at.saturating_sub(1)),
            Action::NextPatient => self.move_to(self.at + 1),
            Action::PreviousClass => self.turn_label(-1),
            Action::NextClass => self.turn_label(1),
            Action::Sort => self.table.sort_by_next(),
            Action::Reverse => self.table.reverse(),
            Action::Filter => {
                let text =
                    self.table.filter().map_or_else(String::new, |own| own.text().to_owned());
                self.typing = Some((Asked::Filter, text));
            }
            Action::Find => self.typing = Some((Asked::Find, String::new())),
            Action::FindNext => self.find(true),
            Action::FindPrevious => self.find(false),
            _ => {}
        }
        Vec::new()
    }

    /// Moves the cursor, or scrolls the patient that has the whole screen.
    fn go(&mut self, by: isize) {
        match &mut self.enlarged {
            Some(scroll) => {
                let last = self.cohort.scorer().model().features.len();
                *scroll = scroll.saturating_add_signed(by).min(last);
            }
            None => self.move_to(self.at.saturating_add_signed(by)),
        }
    }

    fn move_to(&mut self, at: usize) {
        self.at = at.min(self.shown.len().saturating_sub(1));
        self.label = None;
    }

    /// The next label, around the end.
    fn turn_label(&mut self, by: isize) {
        let Some(row) = self.selected() else { return };
        let classes = self.cohort.scorer().model().classes.len();
        self.label = Some((self.label(row) + classes).saturating_add_signed(by) % classes);
    }

    fn submit(&mut self, asked: Asked, text: &str) {
        let filter = match Filter::new(text) {
            Ok(filter) => Some(filter).filter(|_| !text.is_empty()),
            Err(why) => {
                self.status = Some(why);
                return;
            }
        };
        match asked {
            Asked::Filter => self.table.set_filter(filter),
            Asked::Find => {
                self.table.set_search(filter);
                self.find(true);
            }
        }
    }

    fn find(&mut self, forward: bool) {
        let Some(search) = self.table.search() else { return };
        let rows = self.cohort.rows();
        let name = |row: usize| rows[row].id.as_str();
        let from = Some(self.at).filter(|_| !self.shown.is_empty());
        let found = self.table.find(&self.shown, name, from, forward);
        let place = found.and_then(|row| self.shown.iter().position(|&other| other == row));
        match place {
            Some(at) => self.move_to(at),
            None => self.status = Some(format!("no patient matches '{}'", search.text())),
        }
    }
}
