//! The keys, made from the keymap.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::prompt::{edit, typed_line};
use super::{Component, Popup, Reaction};
use crate::tui::action::Action;
use crate::tui::app::App;
use crate::tui::keymap::Binding;
use crate::tui::theme::Role;
use crate::tui::view::text::{clean, fit, wrap};

/// Cells of the keys beside what they do.
const KEYS: usize = 19;

/// The keys of the view, then those of every view; scrolled, and filtered by what is typed after
/// `/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HelpPage {
    line: usize,
    search: String,
    is_typing: bool,
}

impl HelpPage {
    /// With this line at the top.
    pub fn at(line: usize) -> Self {
        Self { line, ..Self::default() }
    }

    /// Whether what is typed is searched for.
    pub fn takes_text(&self) -> bool {
        self.is_typing
    }
}

impl Component for HelpPage {
    fn act(&mut self, app: &mut App, action: Action) -> Option<Reaction> {
        let last =
            self.lines(app, Popup::room(app.width())).len().saturating_sub(app.popup_height());
        self.line = match action {
            Action::Up => self.line.saturating_sub(1),
            Action::PageUp => self.line.saturating_sub(app.page()),
            Action::Down => (self.line + 1).min(last),
            Action::PageDown => (self.line + app.page()).min(last),
            Action::Top | Action::First => 0,
            Action::Bottom | Action::Live => last,
            Action::Back if !self.search.is_empty() => {
                self.search.clear();
                0
            }
            _ => return None,
        };
        Some(Reaction::STAY)
    }

    /// `/` begins to search; every view has it here, whatever it is bound to.
    fn key(&mut self, key: KeyEvent) -> bool {
        let begins = key.code == KeyCode::Char('/');
        if begins {
            (self.is_typing, self.line) = (true, 0);
            self.search.clear();
        }
        begins
    }

    fn typed(&mut self, _app: &mut App, key: KeyEvent) -> Option<Reaction> {
        match key.code {
            KeyCode::Enter | KeyCode::Down => self.is_typing = false,
            _ => edit(&mut self.search, key),
        }
        Some(Reaction::STAY)
    }

    fn footer(&self, app: &App, width: usize) -> Option<Line<'static>> {
        self.is_typing.then(|| typed_line(app.theme(), "search the keys: ", &self.search, width))
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, area: Rect) {
        let lines = self.lines(app, Popup::room(usize::from(area.width)));
        let fits = lines.len() <= usize::from(area.height.saturating_sub(2));
        let title = match (self.search.as_str(), fits) {
            ("", true) => "Keys (/ searches)".to_owned(),
            ("", false) => "Keys (↑↓ scroll, / searches)".to_owned(),
            (search, _) => format!("Keys that match '{}'", clean(search)),
        };
        Popup { title: &title, lines, scroll: self.line, wrapped: None }.draw(frame, app, area);
    }
}

impl HelpPage {
    fn lines(&self, app: &App, width: usize) -> Vec<Line<'static>> {
        let view = app.view();
        let search = self.search.to_lowercase();
        let wanted = |binding: &Binding| {
            let keys = binding.key_names().join(" ").to_lowercase();
            search.is_empty()
                || binding.words.to_lowercase().contains(&search)
                || keys.contains(&search)
        };
        let own: Vec<&Binding> = app
            .keymap()
            .within(view)
            .filter(|own| !own.is_in_every_view() && wanted(own))
            .collect();
        let mut lines = Vec::new();
        section(app, &mut lines, width, format!("In {}", view.name()), &own, false);
        for (chapter, bindings) in app.keymap().chapters() {
            let everywhere: Vec<&Binding> = bindings
                .iter()
                .copied()
                .filter(|own| own.is_in_every_view() && wanted(own))
                .collect();
            let title = format!("{chapter}, in every view");
            section(app, &mut lines, width, title, &everywhere, false);
        }
        let elsewhere: Vec<&Binding> = app
            .keymap()
            .bindings()
            .iter()
            .filter(|own| {
                let mut views = own.views().peekable();
                views.peek().is_some() && views.all(|other| other != view) && wanted(own)
            })
            .collect();
        section(app, &mut lines, width, "In other views".to_owned(), &elsewhere, true);
        if search.is_empty() {
            lines.push(Line::from(""));
            let mouse = "mouse: click view, feature, heading, title, chart, timeline; drag over a chart to zoom; wheel scrolls";
            let dim = app.theme().style(Role::Dim);
            lines.extend(wrap(mouse, width).into_iter().map(|text| Line::styled(text, dim)));
        } else if lines.is_empty() {
            lines.push(Line::styled("no key matches", app.theme().style(Role::Dim)));
        }
        lines
    }
}

fn section(
    app: &App,
    lines: &mut Vec<Line<'static>>,
    width: usize,
    title: String,
    bindings: &[&Binding],
    named: bool,
) {
    if bindings.is_empty() {
        return;
    }
    if !lines.is_empty() {
        lines.push(Line::from(""));
    }
    lines.push(Line::styled(title, app.theme().style(Role::Accent)));
    for binding in bindings {
        let views: Vec<&str> = binding.views().map(|view| view.name()).collect();
        let views = if named { format!("{}: ", views.join(", ")) } else { String::new() };
        let keys = format!("  {}", binding.key_names().join("  "));
        let words = wrap(&format!("{views}{}", binding.words), width.saturating_sub(KEYS));
        for (i, text) in words.into_iter().enumerate() {
            // The names of views are dim, on the lines that they reach.
            let (before, after) =
                text.split_at(if i == 0 { views.len().min(text.len()) } else { 0 });
            lines.push(Line::from(vec![
                Span::styled(
                    fit(if i == 0 { &keys } else { "" }, KEYS),
                    app.theme().style(Role::Warn),
                ),
                Span::styled(before.to_owned(), app.theme().style(Role::Dim)),
                Span::raw(after.to_owned()),
            ]));
        }
    }
}
