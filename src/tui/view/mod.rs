//! One file per panel; this one puts them together.
//!
//! ```text
//! header      views and state; file, n × p, classes, method, target coverage     (2 lines)
//! strip       the answer in one line, except in Answer                           (1 line)
//! body        the view, or its enlarged panel
//! timeline    in Explore: where the cursor is in the focused path                (1 line)
//! footer      the keys of the view, or a message                                 (1 line)
//! ```

mod answer;
mod curves;
mod data;
mod derivatives;
mod explore;
pub(super) mod feature;
mod footer;
mod header;
mod page;
mod ranking;
mod size;
mod stability;
mod survival;
pub(super) mod text;
mod timeline;
mod what_if;

use page::Page;
pub use size::METRIC_PAIRS;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Wrap};
use unicode_width::UnicodeWidthStr;

use super::action::Action;
use super::app::{App, Phase};
use super::table::RankingColumn;
use super::theme::{Role, Theme};

/// Lines around a view: at most three above and two below.
pub const AROUND: usize = 5;

/// Smaller than this it only says so.
const SMALLEST: (u16, u16) = (40, 12);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// Which features, and how sure is that?
    Answer,
    /// What is removed now, and why?
    Explore,
    /// How small can I go?
    Size,
    /// Would another split agree?
    Stability,
    /// What was understood of my file?
    Data,
}

impl View {
    /// All, in the order of their keys.
    pub const ALL: [Self; 5] =
        [Self::Answer, Self::Explore, Self::Size, Self::Stability, Self::Data];

    /// Where it is drawn.
    pub(super) fn page(self) -> &'static dyn Page {
        match self {
            Self::Answer => &answer::AnswerPage,
            Self::Explore => &explore::ExplorePage,
            Self::Size => &size::SizePage,
            Self::Stability => &stability::StabilityPage,
            Self::Data => &data::DataPage,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Answer => "Answer",
            Self::Explore => "Explore",
            Self::Size => "Size",
            Self::Stability => "Stability",
            Self::Data => "Data",
        }
    }

    /// The question it answers.
    pub fn question(self) -> &'static str {
        match self {
            Self::Answer => "which features, and how sure?",
            Self::Explore => "what is removed now, and why?",
            Self::Size => "how small can I go?",
            Self::Stability => "would another split agree?",
            Self::Data => "what was understood of my file?",
        }
    }

    /// The panels that can be enlarged, in this order.
    pub fn panels(self) -> &'static [&'static str] {
        match self {
            Self::Answer => &["List", "How sure", "Cautions"],
            Self::Explore => &["Ranking", "Mean β", "Survival", "What if"],
            Self::Size => &["First metric", "Second metric"],
            Self::Stability => {
                &["Selection frequency", "Rank by split", "Stability", "Stopping rules"]
            }
            Self::Data => &["Table", "Notes"],
        }
    }

    /// Its name as an option: `answer`.
    pub fn key(self) -> String {
        self.name().to_lowercase()
    }
}

impl std::str::FromStr for View {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<String> = Self::ALL.into_iter().map(Self::key).collect();
        let found = Self::ALL.into_iter().find(|view| view.key() == text);
        found.ok_or_else(|| format!("write one of {}", names.join(", ")))
    }
}

/// What is under the mouse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hit {
    /// The name of a view.
    Tab(View),
    /// A row of a list: this unit.
    Unit(usize),
    /// A heading of the ranking.
    Column(RankingColumn),
    /// A column of a chart: this size.
    Size(usize),
    /// A place on the timeline.
    Step(usize),
    /// The title of a panel.
    Panel(usize),
}

/// Where things were drawn.
pub type Hits = Vec<(Rect, Hit)>;

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, app: &App) -> Hits {
    let hits = draw_all(frame, app);
    if app.theme().ascii {
        to_ascii(frame);
    }
    hits
}

/// Replaces all other characters, also letters such as β and names from the file.
pub(super) fn to_ascii(frame: &mut Frame<'_>) {
    let cells = frame.buffer_mut().content.iter_mut();
    cells.filter(|cell| !cell.symbol().is_ascii()).for_each(|cell| {
        let plain = ascii(cell.symbol());
        cell.set_symbol(plain);
    });
}

/// The nearest ASCII character.
fn ascii(symbol: &str) -> &'static str {
    match symbol.chars().next().unwrap_or(' ') {
        'β' => "b",
        'λ' => "l",
        'ε' => "e",
        'ψ' => "w",
        'γ' => "g",
        'Σ' => "S",
        '²' => "2",
        '′' => "'",
        '″' => "\"",
        '×' => "x",
        '±' => "+",
        '┊' => "!",
        '…' => "~",
        '–' | '—' | '─' | '−' => "-",
        '·' => ".",
        '│' => "|",
        '↑' => "^",
        '↓' => "v",
        '←' => "<",
        '→' => ">",
        _ => "?",
    }
}

/// Whether the screen is too small for anything else but to say so.
pub(super) fn is_too_small(frame: &mut Frame<'_>) -> bool {
    let area = frame.area();
    let is_small = area.width < SMALLEST.0 || area.height < SMALLEST.1;
    if is_small {
        let needed = format!("{}×{} is needed", SMALLEST.0, SMALLEST.1);
        let words = format!("{}×{} is too small; {needed}", area.width, area.height);
        frame.render_widget(Paragraph::new(words).wrap(Wrap { trim: true }), area);
    }
    is_small
}

fn draw_all(frame: &mut Frame<'_>, app: &App) -> Hits {
    let mut hits = Vec::new();
    let area = frame.area();
    if is_too_small(frame) {
        return hits;
    }
    let has_run = app.info().is_some();
    let [top, strip, body, line, bottom] = Layout::vertical([
        Constraint::Length(2),
        Constraint::Length(u16::from(has_run && app.view() != View::Answer)),
        Constraint::Min(1),
        Constraint::Length(u16::from(has_run && app.view() == View::Explore)),
        Constraint::Length(1),
    ])
    .areas(area);
    header::draw(frame, app, top, &mut hits);
    if strip.height > 0 {
        hits.push((strip, Hit::Tab(View::Answer)));
        frame.render_widget(Paragraph::new(answer::strip(app, usize::from(strip.width))), strip);
    }
    match (app.phase(), app.info()) {
        (Phase::Loading { bytes, of }, _) => loading(frame, app, body, *bytes, *of),
        (Phase::Failed(why), None) => failed(frame, app, body, why),
        (_, None) => loading(frame, app, body, 0, 0),
        (_, Some(info)) => app.view().page().draw(frame, app, info, body, &mut hits),
    }
    if line.height > 0 {
        timeline::draw(frame, app, line, &mut hits);
    }
    footer::draw(frame, app, bottom);
    if let Some(overlay) = app.overlay() {
        overlay.draw(frame, app, body);
    }
    hits
}

/// A bordered panel; its inside. The title can be clicked to enlarge it.
fn panel(
    frame: &mut Frame<'_>,
    app: &App,
    area: Rect,
    index: usize,
    title: &str,
    hits: &mut Hits,
) -> Rect {
    if area.height > 0 {
        hits.push((Rect { height: 1, ..area }, Hit::Panel(index)));
    }
    framed(frame, app.theme(), title, area)
}

/// Says in the lower border of a panel that it holds more lines than are seen.
fn more(frame: &mut Frame<'_>, app: &App, area: Rect, hidden: usize, panel: usize) {
    if hidden == 0 || area.width < 24 || area.height < 2 {
        return;
    }
    let scrolls = app.zoom().is_some() || app.view().page().rows(app.derived()).is_none();
    let key = if scrolls {
        app.theme().glyph("↓", "down").to_owned()
    } else {
        app.keymap().key_of(Action::Zoom).repeat(panel + 1)
    };
    let words = format!(" {hidden} more {}: {key} ", if hidden == 1 { "line" } else { "lines" });
    let x = area.right().saturating_sub(words.width() as u16 + 2);
    frame.buffer_mut().set_string(x, area.bottom() - 1, words, app.theme().style(Role::Warn));
}

/// Draws a frame in the house style, its title cut to the width of its place; its inside.
pub(super) fn framed(frame: &mut Frame<'_>, theme: &Theme, title: &str, area: Rect) -> Rect {
    let title = text::head(title, usize::from(area.width).saturating_sub(4));
    let borders = if theme.ascii {
        ratatui::symbols::border::Set {
            top_left: "+",
            top_right: "+",
            bottom_left: "+",
            bottom_right: "+",
            vertical_left: "|",
            vertical_right: "|",
            horizontal_top: "-",
            horizontal_bottom: "-",
        }
    } else {
        ratatui::symbols::border::ROUNDED
    };
    let block = Block::new()
        .borders(Borders::ALL)
        .border_set(borders)
        .border_style(theme.style(Role::Dim))
        .title(Span::styled(format!(" {title} "), theme.style(Role::Accent)));
    frame.render_widget(&block, area);
    block.inner(area)
}

fn loading(frame: &mut Frame<'_>, app: &App, area: Rect, bytes: u64, of: u64) {
    let megabytes = |bytes: u64| bytes as f64 / 1e6;
    let mut lines = vec![
        Line::from(""),
        Line::from(format!("  Reading {}", text::clean(&app.data().to_string_lossy()))),
    ];
    let width = usize::from(area.width.saturating_sub(4)).min(60);
    if let Some(full) = (width as u64 * bytes.min(of)).checked_div(of) {
        let full = full as usize;
        let bar: String = app.theme().glyph("█", "#").repeat(full)
            + &app.theme().glyph("░", ".").repeat(width - full);
        lines.push(Line::styled(format!("  {bar}"), app.theme().style(Role::Accent)));
        lines.push(Line::from(format!("  {:.1} of {:.1} MB", megabytes(bytes), megabytes(of))));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn failed(frame: &mut Frame<'_>, app: &App, area: Rect, why: &str) {
    let lines = vec![
        Line::from(""),
        Line::styled("This file could not be used.", app.theme().style(Role::Bad)),
        Line::from(""),
        Line::from(text::clean(why)),
        Line::from(""),
        Line::from(format!(
            "Press {} to change the settings, {} to quit.",
            app.keymap().key_of(Action::Options),
            app.keymap().key_of(Action::Quit)
        )),
    ];
    frame.render_widget(
        Paragraph::new(lines).wrap(Wrap { trim: true }),
        area.inner(ratatui::layout::Margin::new(2, 0)),
    );
}
