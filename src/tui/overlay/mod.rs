//! What stands in front of a view. One file per overlay: its state, what keys and actions do to it,
//! its line in the footer, and how it is drawn.

mod export;
mod feature;
mod fit_page;
mod help;
mod options;
mod palette;
mod prompt;
mod quit;

pub use export::{Export, ExportMenu};
pub use feature::FeaturePage;
pub use fit_page::FitPage;
pub use help::HelpPage;
pub use options::OptionsEditor;
pub use palette::Palette;
pub use prompt::{LinePrompt, Prompt, edit, typed_line};
pub use quit::QuitQuestion;

use crossterm::event::KeyEvent;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph, Wrap};

use super::action::Action;
use super::app::{App, Effect};
use super::view::framed;

/// What is in front of the view.
#[derive(Debug, Clone, PartialEq)]
pub enum Overlay {
    /// The keys.
    Help(HelpPage),
    /// All about a feature.
    Feature(FeaturePage),
    /// A line of text is being typed.
    Prompt(LinePrompt),
    /// The settings are being edited.
    Options(Box<OptionsEditor>),
    /// Actions, settings and features to choose from.
    Palette(Palette),
    /// What to write.
    Export(ExportMenu),
    /// The command that makes a model.
    Fit(FitPage),
    /// Really quit?
    Quit(QuitQuestion),
}

/// What an overlay makes of a key or an action.
#[derive(Debug)]
pub enum Reaction {
    /// It stays in front.
    Stay(Vec<Effect>),
    /// It goes away.
    Close(Vec<Effect>),
}

impl Reaction {
    /// It stays, and nothing is to be done outside.
    const STAY: Self = Self::Stay(Vec::new());
}

/// One overlay. While it reacts it is not part of the [`App`], which it may therefore change.
trait Component {
    /// What an action does; none if it has no use for it.
    fn act(&mut self, app: &mut App, action: Action) -> Option<Reaction>;

    /// Whether it takes a key before the keymap does.
    fn key(&mut self, _key: KeyEvent) -> bool {
        false
    }

    /// What a typed key does; none if keys are to become actions by the keymap.
    fn typed(&mut self, _app: &mut App, _key: KeyEvent) -> Option<Reaction> {
        None
    }

    /// Its line in the footer, in place of the keys.
    fn footer(&self, _app: &App, _width: usize) -> Option<Line<'static>> {
        None
    }

    /// Draws it over the view.
    fn draw(&self, frame: &mut Frame<'_>, app: &App, area: Rect);
}

impl Overlay {
    fn component(&self) -> &dyn Component {
        match self {
            Self::Help(page) => page,
            Self::Feature(page) => page,
            Self::Prompt(prompt) => prompt,
            Self::Options(editor) => &**editor,
            Self::Palette(palette) => palette,
            Self::Export(menu) => menu,
            Self::Fit(page) => page,
            Self::Quit(question) => question,
        }
    }

    fn component_mut(&mut self) -> &mut dyn Component {
        match self {
            Self::Help(page) => page,
            Self::Feature(page) => page,
            Self::Prompt(prompt) => prompt,
            Self::Options(editor) => &mut **editor,
            Self::Palette(palette) => palette,
            Self::Export(menu) => menu,
            Self::Fit(page) => page,
            Self::Quit(question) => question,
        }
    }

    /// Whether keys are text, not actions.
    pub fn takes_text(&self) -> bool {
        match self {
            Self::Prompt(_) | Self::Options(_) | Self::Palette(_) => true,
            Self::Help(page) => page.takes_text(),
            Self::Feature(_) | Self::Export(_) | Self::Fit(_) | Self::Quit(_) => false,
        }
    }

    /// Whether it takes a key before the keymap does.
    pub fn takes_key(&mut self, key: KeyEvent) -> bool {
        self.component_mut().key(key)
    }

    /// What an action does to it.
    pub fn act(&mut self, app: &mut App, action: Action) -> Reaction {
        let own = self.component_mut().act(app, action);
        own.unwrap_or_else(|| match action {
            Action::Show(_) | Action::NextView | Action::PreviousView => {
                Reaction::Close(app.on_view(action))
            }
            Action::Back | Action::Quit | Action::Open | Action::Help => {
                Reaction::Close(Vec::new())
            }
            _ => Reaction::STAY,
        })
    }

    /// What a typed key does to it.
    pub fn typed(&mut self, app: &mut App, key: KeyEvent) -> Reaction {
        self.component_mut().typed(app, key).unwrap_or(Reaction::STAY)
    }

    /// Its line in the footer, if it has one.
    pub fn footer(&self, app: &App, width: usize) -> Option<Line<'static>> {
        self.component().footer(app, width)
    }

    /// Draws it over the view.
    pub fn draw(&self, frame: &mut Frame<'_>, app: &App, area: Rect) {
        self.component().draw(frame, app, area);
    }
}

/// A box in the middle of the view.
struct Popup<'a> {
    title: &'a str,
    lines: Vec<Line<'static>>,
    /// Lines above the box.
    scroll: usize,
    /// Lines that it needs, if long ones are wrapped.
    wrapped: Option<usize>,
}

impl Popup<'_> {
    /// The widest box.
    const WIDTH: u16 = 80;

    /// Cells inside the box on a screen of this width.
    fn room(width: usize) -> usize {
        width.min(usize::from(Self::WIDTH)).saturating_sub(2)
    }

    fn draw(self, frame: &mut Frame<'_>, app: &App, area: Rect) {
        let width = area.width.min(Self::WIDTH);
        let needed = self.lines.len().max(self.wrapped.unwrap_or(0));
        let height = area.height.min(needed as u16 + 2);
        let x = area.x + (area.width - width) / 2;
        let y = area.y + (area.height - height) / 2;
        let place = Rect { x, y, width, height };
        frame.render_widget(Clear, place);
        let inside = framed(frame, app.theme(), self.title, place);
        let most = needed.saturating_sub(usize::from(inside.height));
        let words = Paragraph::new(self.lines).scroll((self.scroll.min(most) as u16, 0));
        let words = if self.wrapped.is_some() { words.wrap(Wrap { trim: false }) } else { words };
        frame.render_widget(words, inside);
    }
}
