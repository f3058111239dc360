//! What the screen writes into files: tables and report of the finished splits, or a view as text.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout};
use ratatui::{Frame, Terminal};
use unicode_width::UnicodeWidthStr;

use super::app::{App, CopiedList};
use super::overlay::Export;
use super::plain::text;
use super::theme::{Depth, Theme};
use super::view::View;
use super::view::text::clean;
use super::view::{draw, to_ascii};
use crate::analysis::{ByHand, History};
use crate::data::word_list::as_lines;
use crate::error::{Error, Result};
use crate::files::{Directory, write_whole};
use crate::report::{
    FigureOptions, HeldBefore, PAGE, make_way, refuse_another_run, write_report, write_tables,
};
use crate::run::{Plan, RunInfo, default_threads};
use crate::select::{BetaRule, Method};

/// Everything that is needed to write, away from the screen.
pub struct ExportJob {
    /// The directory of the run's own files.
    own: PathBuf,
    /// What was set by hand. Its results go into a directory inside, beside the run's own files.
    by_hand: ByHand,
    info: Arc<RunInfo>,
    content: Content,
    /// My list, one name per line; written beside the tables.
    my_list: Option<String>,
}

enum Content {
    Text { file: String, text: String, words: String },
    Run { whole: bool, history: Box<History>, answer: Chosen, plan: Option<Arc<Plan>> },
}

/// k and ψ as they were slid, and the size that was taken by hand.
type Chosen = (BetaRule, Option<usize>);

impl ExportJob {
    /// What was asked for, as it is now; none before there is a run. A view is drawn again at its
    /// size.
    pub fn new(app: &mut App, export: Export, size: (u16, u16)) -> Option<Self> {
        let info = app.history().info().cloned()?;
        let content = match export {
            Export::View => {
                let file = text_file(app.view());
                let text = as_text(app, size);
                Content::Text { file, text, words: "this view was saved".to_owned() }
            }
            Export::Tables | Export::Report => Content::Run {
                whole: export == Export::Report,
                history: Box::new(app.history().clone()),
                answer: (app.rule(), app.taken()),
                plan: app.plan().cloned(),
            },
        };
        let (own, by_hand) = (app.exports_own_to(), app.by_hand());
        Some(Self { own, by_hand, info, content, my_list: my_list(app) })
    }

    /// A list of features, and what was done with it; none before there is a run.
    pub fn of_list(app: &App, list: CopiedList, done: &str) -> Option<Self> {
        let info = app.history().info().cloned()?;
        let words = format!("{} {done}", list.words);
        let by_hand = if list.is_answer { app.by_hand() } else { ByHand::default() };
        let content = Content::Text { file: list.file, text: list.text, words };
        Some(Self { own: app.exports_own_to(), by_hand, info, content, my_list: None })
    }

    /// Writes it; what to say then.
    pub fn write(self) -> Result<String> {
        let directory = &self.directory()?;
        let held = make_way(directory, &*self.by_hand.applied(&self.info)?, &texts())?;
        let words = match self.content {
            Content::Text { file, text, words } => {
                write_whole(directory, &file, text.as_bytes())?;
                format!("{words} as {}", directory.join(file).display())
            }
            Content::Run { whole, history, answer: (rule, taken), plan } => {
                // A page of an earlier export would not belong to the new tables.
                let whole = whole || directory.join(PAGE).exists();
                let words =
                    write_run(directory, whole, &history.under(rule, taken)?, plan.as_deref())?;
                if let Some(list) = &self.my_list {
                    write_whole(directory, CopiedList::MY_LIST, list.as_bytes())?;
                }
                words
            }
        };
        Ok(if held == HeldBefore::AnotherReport {
            words + "; files of an earlier export there were replaced"
        } else {
            words
        })
    }

    /// Where it goes; made if it is missing.
    fn directory(&self) -> Result<PathBuf> {
        let unmade = |error: std::io::Error, path: &Path| {
            Error::output(format!("cannot be made: {error}"))
                .file(path)
                .remedy("choose another with --out")
        };
        std::fs::create_dir_all(&self.own).map_err(|error| unmade(error, &self.own))?;
        let Some(name) = self.by_hand.name() else { return Ok(self.own.clone()) };
        refuse_another_run(&self.own, &self.info)?;
        let inside = self.own.join(&name);
        Directory::open(&self.own)
            .and_then(|own| own.subdirectory(&name))
            .map_err(|error| unmade(error, &inside))?;
        Ok(inside)
    }
}

/// The marked features, one per line.
fn my_list(app: &App) -> Option<String> {
    let info = app.info()?;
    let marks = app.table().marks();
    (!marks.is_empty()).then(|| as_lines(marks.iter().map(|&unit| info.units[unit].name.as_str())))
}

fn write_run(
    directory: &Path,
    whole: bool,
    history: &History,
    plan: Option<&Plan>,
) -> Result<String> {
    let words = if whole {
        write_report(directory, history, plan, &FigureOptions::default(), default_threads())?;
        "tables, figures and report.html are"
    } else {
        write_tables(directory, history, plan, default_threads())?;
        "all tables are"
    };
    Ok(format!("{words} in {}", directory.display()))
}

/// The files that may be beside the tables.
fn texts() -> Vec<String> {
    let views = View::ALL.into_iter().map(text_file);
    let lists = [CopiedList::MY_LIST, CopiedList::STEP].map(str::to_owned);
    views.chain(lists).chain(Method::ALL.map(CopiedList::selected_of)).collect()
}

/// The file of a view that is written as text.
fn text_file(view: View) -> String {
    format!("{}.txt", view.name().to_lowercase())
}

/// The view as it would be drawn without colours, which text does not have.
fn as_text(app: &mut App, size: (u16, u16)) -> String {
    drawn(app, size, |frame, app| drop(draw(frame, app)))
}

/// What is drawn, without colours.
fn drawn(
    app: &mut App,
    (width, height): (u16, u16),
    draw: impl FnOnce(&mut Frame<'_>, &App),
) -> String {
    app.refresh();
    let theme = *app.theme();
    app.set_theme(Theme { depth: Depth::None, ..theme });
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width.max(1), height.max(1)));
    let Ok(_) = terminal.draw(|frame| draw(frame, app));
    app.set_theme(theme);
    let buffer = terminal.backend().buffer();
    (0..buffer.area.height).map(|y| line(buffer, y) + "\n").collect()
}

/// What is on the screen in words: the view as sentences and tables, or what stands in front of it
/// without its frame.
pub fn plain_text(app: &mut App) -> String {
    if app.overlay().is_none() {
        return text(app);
    }
    // On a screen of its own, so high that all of it is there.
    let framed = drawn(app, (100, 300), |frame, app| {
        let [body, bottom] =
            Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(frame.area());
        let Some(overlay) = app.overlay() else { return };
        overlay.draw(frame, app, body);
        if let Some(line) = overlay.footer(app, usize::from(bottom.width)) {
            frame.render_widget(line, bottom);
        }
        if app.theme().ascii {
            to_ascii(frame);
        }
    });
    let is_frame = |c: char| "│╭╮╰╯─├┤┬┴└┘┌┐█▄▀░▒▓".contains(c);
    let bare =
        |line: &str| line.replace(is_frame, " ").split_whitespace().collect::<Vec<_>>().join(" ");
    let mut lines: Vec<String> = framed.lines().map(bare).filter(|line| !line.is_empty()).collect();
    lines.extend(app.status().map(clean));
    lines.join("\n") + "\n"
}

/// A row of a picture without the blanks at its end.
pub fn line(buffer: &Buffer, y: u16) -> String {
    let mut line = String::new();
    let mut x = 0;
    while x < buffer.area.width {
        let symbol = buffer[(x, y)].symbol();
        line.push_str(symbol);
        // The cell behind a wide character is covered by it.
        x += symbol.width().max(1) as u16;
    }
    line.trim_end().to_owned()
}
