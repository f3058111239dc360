//! The first screen where no table and no run was named: recent runs with their answers, and tables
//! nearby.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crossbeam_channel::{Receiver, Select, TryRecvError, never, unbounded};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::action::Action;
use super::app::plural;
use super::event_loop::{Input, Request, Screen};
use super::input::wheel;
use super::keymap::{KeyContext, KeyPress, Keymap};
use super::theme::{Role, Theme};
use super::view::framed;
use super::view::text::{clean, fit, head};
use crate::analysis::{Answer, History};
use crate::data::has_table_ending;
use crate::record::{Journals, RecentRun, recent_runs};

/// Runs and tables that are listed, at most.
const LISTED: usize = 30;
/// Larger journals are not read for a line in a list.
const READ_UP_TO: u64 = 64 << 20;
/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// A recorded run.
    Run(PathBuf),
    /// A table; whether its settings are looked at before anything is computed.
    Table(PathBuf, bool),
}

/// One line of the list.
#[derive(Debug, Clone)]
enum StartEntry {
    Run(Box<RecentRun>, Option<String>),
    Table(PathBuf, u64),
}

/// The list and the chosen line.
pub struct StartScreen {
    entries: Vec<StartEntry>,
    at: usize,
    now: SystemTime,
    theme: Theme,
    keymap: Keymap,
    /// The answers of the runs, by their places; the channel ends with the last one.
    answers: Receiver<(usize, String)>,
    is_reading: bool,
    choice: Option<Choice>,
}

impl StartScreen {
    /// The runs of a directory, and the tables of another.
    pub fn new(runs: Option<&Path>, tables: &Path, theme: Theme, keymap: Keymap) -> Self {
        let runs = runs.map_or_else(Vec::new, recent_runs);
        let mut entries: Vec<StartEntry> =
            runs.into_iter().take(LISTED).map(|run| StartEntry::Run(Box::new(run), None)).collect();
        entries.extend(
            tables_in(tables)
                .into_iter()
                .take(LISTED)
                .map(|(path, bytes)| StartEntry::Table(path, bytes)),
        );
        Self {
            entries,
            at: 0,
            now: SystemTime::now(),
            theme,
            keymap,
            answers: never(),
            is_reading: false,
            choice: None,
        }
    }

    /// What was chosen, once the screen is left.
    pub fn choice(&self) -> Option<Choice> {
        self.choice.clone()
    }

    /// Reads the answers of the runs on another thread, one after the other.
    pub fn read_answers(&mut self) {
        let runs: Vec<(usize, PathBuf)> = self
            .entries
            .iter()
            .enumerate()
            .filter_map(|(i, entry)| match entry {
                StartEntry::Run(run, _) if run.bytes <= READ_UP_TO => {
                    Some((i, run.directory.clone()))
                }
                _ => None,
            })
            .collect();
        let (to, answers) = unbounded();
        (self.answers, self.is_reading) = (answers, true);
        let read = move || {
            for (i, directory) in runs {
                // A run that cannot be read says so when it is opened.
                let words =
                    answer(&directory).map_or_else(String::new, |answer| answer_words(&answer));
                if to.send((i, words)).is_err() {
                    return;
                }
            }
        };
        // Without a thread the list has no answers, which is no harm.
        let _ = std::thread::Builder::new().name("crfe-recent".into()).spawn(read);
    }

    fn go(&mut self, down: bool) {
        let last = self.entries.len().saturating_sub(1);
        self.at = if down { (self.at + 1).min(last) } else { self.at.saturating_sub(1) };
    }

    fn act(&mut self, action: Action) -> Vec<Request> {
        match action {
            Action::Quit | Action::Back => return vec![Request::Leave],
            Action::Suspend => return vec![Request::Suspend],
            Action::Up => self.go(false),
            Action::Down => self.go(true),
            Action::Top => self.at = 0,
            Action::Bottom => self.at = self.entries.len().saturating_sub(1),
            Action::Open | Action::Options => {
                let settings_first = action == Action::Options;
                self.choice = match self.entries.get(self.at) {
                    Some(StartEntry::Table(path, _)) => {
                        Some(Choice::Table(path.clone(), settings_first))
                    }
                    Some(StartEntry::Run(run, _)) if !settings_first => {
                        Some(Choice::Run(run.directory.clone()))
                    }
                    // The settings of a recorded run are fixed.
                    Some(StartEntry::Run(..)) | None => None,
                };
                return self.choice.iter().map(|_| Request::Leave).collect();
            }
            _ => {}
        }
        Vec::new()
    }

    /// The keys that do something, with words.
    fn footer(&self) -> String {
        let key = |action| self.keymap.key_in(action, KeyContext::Start);
        let own = match self.entries.get(self.at) {
            None => String::new(),
            Some(StartEntry::Run(..)) => format!("{} open   ", key(Action::Open)),
            Some(StartEntry::Table(..)) => {
                format!("{} run   {} settings first   ", key(Action::Open), key(Action::Options))
            }
        };
        let moving = match self.entries.len() {
            0 => String::new(),
            _ => format!("{} {} choose   ", key(Action::Up), key(Action::Down)),
        };
        format!("{own}{moving}{} quit", key(Action::Quit))
    }
}

impl Screen for StartScreen {
    fn listen<'a>(&'a self, select: &mut Select<'a>) {
        select.recv(&self.answers);
    }

    fn receive(&mut self) -> bool {
        match self.answers.try_recv() {
            Ok((at, words)) => {
                if let Some(StartEntry::Run(_, answer)) = self.entries.get_mut(at) {
                    *answer = Some(words);
                }
                true
            }
            Err(TryRecvError::Empty) => false,
            Err(TryRecvError::Disconnected) => {
                (self.answers, self.is_reading) = (never(), false);
                true
            }
        }
    }

    fn handle(&mut self, input: Input) -> Vec<Request> {
        let action = match input {
            Input::Key(key) => self.keymap.action(KeyPress::of(&key), KeyContext::Start),
            Input::Mouse(mouse) => wheel(&mouse),
        };
        action.map_or_else(Vec::new, |action| self.act(action))
    }

    fn draw(&mut self, frame: &mut Frame<'_>) {
        let area = frame.area();
        let [top, body, bottom] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(1), Constraint::Length(1)])
                .areas(area);
        let (accent, dim) = (self.theme.style(Role::Accent), self.theme.style(Role::Dim));
        frame.render_widget(Paragraph::new(Line::styled(" crfe-tui ", accent)), top);
        frame.render_widget(Paragraph::new(Line::styled(self.footer(), dim)), bottom);
        let inside = framed(frame, &self.theme, "Open a run, or start one with a table", body);
        let (lines, at) = self.lines(usize::from(inside.width));
        let height = usize::from(inside.height);
        let first = at.saturating_sub(height / 2).min(lines.len().saturating_sub(height));
        frame.render_widget(Paragraph::new(lines).scroll((first as u16, 0)), inside);
    }

    /// The list after every key, and once more with all answers.
    fn plain(&mut self, is_asked: bool) -> Option<String> {
        let (lines, _) = self.lines(usize::from(u16::MAX));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        (is_asked || !self.is_reading).then(|| text + &self.footer() + "\n")
    }
}

impl StartScreen {
    /// The lines, and which of them is chosen.
    fn lines(&self, width: usize) -> (Vec<Line<'static>>, usize) {
        let (accent, dim) = (self.theme.style(Role::Accent), self.theme.style(Role::Dim));
        let mut lines = Vec::new();
        let mut at = 0;
        let mut heading = "";
        for (i, entry) in self.entries.iter().enumerate() {
            let own = match entry {
                StartEntry::Run(..) => "Recent runs",
                StartEntry::Table(..) => "Tables here",
            };
            if own != heading {
                if !heading.is_empty() {
                    lines.push(Line::from(""));
                }
                lines.push(Line::styled(own, dim));
                heading = own;
            }
            let is_chosen = i == self.at;
            if is_chosen {
                at = lines.len();
            }
            let mark = if is_chosen { self.theme.glyph("▶ ", "> ") } else { "  " };
            let style = if is_chosen { accent } else { self.theme.style(Role::Text) };
            let text = head(&self.words(entry, width), width.saturating_sub(mark.width()));
            lines.push(Line::from(vec![Span::styled(mark, accent), Span::styled(text, style)]));
        }
        if lines.is_empty() {
            let words = "There are no recent runs, and no tables in this directory. Start with: crfe-tui DATA.CSV";
            lines.push(Line::from(words));
        }
        (lines, at)
    }

    fn words(&self, entry: &StartEntry, width: usize) -> String {
        match entry {
            StartEntry::Table(path, bytes) => {
                let name = path
                    .file_name()
                    .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
                format!("{} {:>10}", fit(&name, 40), size_words(*bytes))
            }
            StartEntry::Run(run, answer) => {
                let name = Path::new(&run.info.input).file_name();
                let name = name.map_or_else(String::new, |name| clean(&name.to_string_lossy()));
                let times = self.theme.glyph("×", "x");
                let shape = format!("{}{times}{}", run.info.rows, run.info.units.len());
                let answer = answer.clone().unwrap_or_else(|| "…".to_owned());
                let age = age_words(self.now.duration_since(run.changed).unwrap_or_default());
                // The answer must fit on a small screen.
                let (names, ages) = if width >= 100 { (24, 14) } else { (18, 11) };
                format!("{} {} {} {answer}", fit(&name, names), fit(&age, ages), fit(&shape, 10))
            }
        }
    }
}

/// The files of a directory that look like tables, by name.
fn tables_in(directory: &Path) -> Vec<(PathBuf, u64)> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let table = |entry: std::fs::DirEntry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        let data = entry.metadata().ok().filter(|data| data.is_file())?;
        let is_table = has_table_ending(&name) && !name.starts_with('.');
        is_table.then(|| (entry.file_name().into(), data.len()))
    };
    let mut tables: Vec<(PathBuf, u64)> = entries.flatten().filter_map(table).collect();
    tables.sort();
    tables
}

/// The answer of a recorded run; none while no split has finished.
fn answer(directory: &Path) -> Option<Answer> {
    let mut records = Journals::open(directory).ok().flatten()?;
    let mut history = History::default();
    records.replay(|event| history.apply(&event)).ok()?;
    Answer::new(&history, &history.own_choice()?).filter(|answer| !answer.methods.is_empty())
}

fn answer_words(answer: &Answer) -> String {
    let Some(method) = answer.methods.first() else { return String::new() };
    let size =
        method.chosen.size.map_or_else(|| "no size".to_owned(), |size| plural(size, "feature"));
    let stability = method
        .stability_judged()
        .map_or_else(String::new, |own| format!(", stability {}", own.short_words()));
    format!("{size}{stability} ({})", plural(method.splits, "split"))
}

fn size_words(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} kB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}

fn age_words(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    match minutes {
        0 => "just now".to_owned(),
        1..60 => format!("{minutes} min ago"),
        60..1440 => format!("{} h ago", minutes / 60),
        1440..2880 => "yesterday".to_owned(),
        _ => format!("{} days ago", minutes / 1440),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::exporter::line;
    use crate::tui::theme::Depth;
    use crossterm::event::{KeyCode, KeyEvent};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn start(runs: Option<&Path>, tables: &Path) -> StartScreen {
        let mut keymap = Keymap::default();
        keymap.rebind(&[("settings_first".into(), vec!["O".into()])]).unwrap();
        StartScreen::new(runs, tables, Theme::new(Depth::None, false, false), keymap)
    }

    fn press(screen: &mut StartScreen, key: KeyCode) -> Vec<Request> {
        screen.handle(Input::Key(KeyEvent::from(key)))
    }

    fn picture(screen: &mut StartScreen, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| screen.draw(frame)).unwrap();
        (0..height).map(|y| line(terminal.backend().buffer(), y) + "\n").collect()
    }

    #[test]
    fn tables_are_listed_and_chosen() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["b.csv", "a.tsv", "notes.txt", ".hidden.csv", "c.csv.gz"] {
            std::fs::write(directory.path().join(name), "x").unwrap();
        }
        let mut screen = start(None, directory.path());
        let text = picture(&mut screen, 80, 24);
        let place = |name: &str| text.find(name);
        assert!(place("a.tsv") < place("b.csv") && place("b.csv") < place("c.csv.gz"), "{text}");
        assert!(place("notes").is_none() && place("hidden").is_none(), "{text}");
        press(&mut screen, KeyCode::Down);
        assert!(picture(&mut screen, 80, 24).contains("▶ b.csv"));
        assert_eq!(press(&mut screen, KeyCode::Enter), [Request::Leave]);
        assert_eq!(screen.choice(), Some(Choice::Table("b.csv".into(), false)));
        assert_eq!(press(&mut screen, KeyCode::Char('O')), [Request::Leave]);
        assert_eq!(screen.choice(), Some(Choice::Table("b.csv".into(), true)));
        assert!(picture(&mut screen, 80, 24).contains("O settings first"));
        assert_eq!(press(&mut screen, KeyCode::Char('q')), [Request::Leave]);
        let plain = screen.plain(true).unwrap();
        assert!(plain.contains("▶ b.csv") && plain.contains("q quit"), "{plain}");
        for (width, height) in [(1, 1), (10, 3), (40, 12), (200, 50)] {
            picture(&mut screen, width, height);
        }
    }

    #[test]
    fn an_empty_place_says_how_to_start() {
        let directory = tempfile::tempdir().unwrap();
        let mut screen = start(Some(directory.path()), directory.path());
        assert!(picture(&mut screen, 100, 10).contains("Start with: crfe-tui DATA.CSV"));
        assert_eq!(press(&mut screen, KeyCode::Enter), []);
    }

    #[test]
    fn ages_are_words() {
        let words = |seconds: u64| age_words(Duration::from_secs(seconds));
        assert_eq!(
            [words(5), words(300), words(7300), words(90_000), words(400_000)],
            ["just now", "5 min ago", "2 h ago", "yesterday", "4 days ago"]
        );
    }
}
