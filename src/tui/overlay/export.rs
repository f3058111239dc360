//! What to write, and where it goes.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::{Component, Popup, Reaction};
use crate::tui::action::Action;
use crate::tui::app::{App, Effect, plural};
use crate::tui::theme::Role;
use crate::tui::view::text::clean;

/// What can be written from the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Export {
    #[default]
    Tables,
    /// Tables, figures and the page.
    Report,
    /// What is on the screen, as text.
    View,
}

impl Export {
    const ALL: [Self; 3] = [Self::Tables, Self::Report, Self::View];

    fn words(self) -> &'static str {
        match self {
            Self::Tables => "all tables (CSV, JSON) of the finished splits",
            Self::Report => "tables, figures (SVG) and report.html",
            Self::View => "this view as text",
        }
    }
}

/// The list of what can be written, and the chosen line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExportMenu {
    chosen: Export,
}

impl ExportMenu {
    /// With this line chosen.
    pub fn with(chosen: Export) -> Self {
        Self { chosen }
    }

    fn go(&mut self, by: isize) {
        let at = Export::ALL.iter().position(|&export| export == self.chosen).unwrap_or(0);
        self.chosen = Export::ALL[at.saturating_add_signed(by).min(Export::ALL.len() - 1)];
    }
}

impl Component for ExportMenu {
    fn act(&mut self, _app: &mut App, action: Action) -> Option<Reaction> {
        match action {
            Action::Up => self.go(-1),
            Action::Down => self.go(1),
            Action::Open => return Some(Reaction::Close(vec![Effect::Export(self.chosen)])),
            _ => return None,
        }
        Some(Reaction::STAY)
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, area: Rect) {
        let lines = lines(app, self.chosen);
        Popup { title: "Write", lines, scroll: 0, wrapped: None }.draw(frame, app, area);
    }
}

fn lines(app: &App, chosen: Export) -> Vec<Line<'static>> {
    let line = |export: Export| {
        let (mark, style) = if export == chosen {
            (app.theme().glyph("▶ ", "> "), app.theme().style(Role::Accent))
        } else {
            ("  ", app.theme().style(Role::Text))
        };
        Line::styled(format!("{mark}{}", export.words()), style)
    };
    let dim = app.theme().style(Role::Dim);
    let mut lines: Vec<Line<'static>> = Export::ALL.into_iter().map(line).collect();
    lines.push(Line::styled(format!("  into {}", clean(&app.exports_to().to_string_lossy())), dim));
    if let Some(info) = app.info().filter(|info| info.spec.beta_rule != app.rule()) {
        let words = if info.spec.early {
            format!("  --early: with k = {} of the run, not as set here", info.spec.beta_rule.sigma)
        } else {
            format!("  with k = {}, window = {}, as set here", app.rule().sigma, app.rule().window)
        };
        lines.push(Line::styled(words, dim));
    }
    if let Some(size) = app.taken() {
        let words = format!("  with {}, chosen by hand", plural(size, "feature"));
        lines.push(Line::styled(words, dim));
    }
    if app.choice().name(app.spec()).is_some() {
        lines.push(Line::styled("  the files of the run itself stay as they are", dim));
    }
    lines
}
