//! What stands in front of a view: help, settings, export, really quit?

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Wrap};

use super::text::{clean, fit, tail};
use crate::tui::action::Action;
use crate::tui::app::{App, EXPORTS, Overlay};
use crate::tui::form::Form;
use crate::tui::keymap::Keymap;
use crate::tui::theme::Role;

/// The width from which every setting has its hint beside it.
const HINTS_FROM: u16 = 78;

/// Draws it in the middle of an area.
pub fn draw(frame: &mut Frame<'_>, app: &App, area: Rect) {
    let (title, lines, scroll) = match &app.overlay {
        Overlay::Help(line) => (help_title(app, area), help(app), *line),
        Overlay::Options(form) => {
            let lines = options(app, form, area.width < HINTS_FROM);
            // The line that is edited and what follows the fields stay in sight.
            let room = usize::from(area.height.saturating_sub(2));
            ("Settings", lines, (form.at + 4).saturating_sub(room))
        }
        Overlay::Export(at) => ("Write", export(app, *at), 0),
        Overlay::Quit => ("Quit?", quit(app), 0),
        Overlay::None | Overlay::Feature(..) | Overlay::Prompt(..) => return,
    };
    let width = area.width.min(80);
    // A refusal may need a second line.
    let wraps = matches!(app.overlay, Overlay::Quit | Overlay::Options(_));
    // Words do not fill their lines to the end, paths least of all.
    let wrapped = |line: &Line<'_>| line.width().div_ceil(usize::from(width).max(8) * 3 / 4).max(1);
    let needed = if app.overlay == Overlay::Quit { lines.iter().map(wrapped).sum::<usize>() } else { 0 };
    let height = area.height.min(needed.max(lines.len() + usize::from(wraps)) as u16 + 2);
    let place =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    frame.render_widget(Clear, place);
    let block = super::framed(app, title, place);
    let inside = block.inner(place);
    frame.render_widget(block, place);
    let most = (lines.len() + usize::from(wraps)).saturating_sub(usize::from(inside.height));
    let words = Paragraph::new(lines).scroll((scroll.min(most) as u16, 0));
    frame.render_widget(if wraps { words.wrap(Wrap { trim: false }) } else { words }, inside);
}

fn help_title(app: &App, area: Rect) -> &'static str {
    let room = usize::from(area.height.saturating_sub(2));
    if help_length(&app.keymap) > room { "Keys (↑↓ scroll)" } else { "Keys" }
}

/// Lines of [`help`]: one a binding, a title and a gap a chapter, two about the mouse.
pub fn help_length(keymap: &Keymap) -> usize {
    let bindings = keymap.bindings();
    let chapters = 1 + bindings.windows(2).filter(|pair| pair[0].chapter != pair[1].chapter).count();
    bindings.len() + 2 * chapters - 1 + 2
}

/// Made from the keymap.
fn help(app: &App) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut chapter = "";
    for binding in app.keymap.bindings() {
        if binding.chapter != chapter {
            if !chapter.is_empty() {
                lines.push(Line::from(""));
            }
            chapter = binding.chapter;
            lines.push(Line::styled(chapter, app.theme.style(Role::Accent)));
        }
        let keys: Vec<String> = binding.keys.iter().map(|key| key.name()).collect();
        lines.push(Line::from(vec![
            Span::styled(fit(&format!("  {}", keys.join("  ")), 16), app.theme.style(Role::Warn)),
            Span::raw(binding.words),
        ]));
    }
    lines.push(Line::from(""));
    lines.push(Line::styled(
        "mouse: click a view, a feature, a panel's title, the timeline; wheel scrolls",
        app.theme.style(Role::Dim),
    ));
    lines
}

fn options(app: &App, form: &Form, is_narrow: bool) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'static>> = form
        .fields
        .iter()
        .enumerate()
        .map(|(i, field)| {
            let here = i == form.at;
            let mark = if here { app.theme.glyph("▏", "_") } else { "" };
            let value = format!("{}{mark}", clean(&field.value));
            let style = if here {
                app.theme.style(Role::Accent).add_modifier(Modifier::BOLD)
            } else {
                app.theme.style(Role::Text)
            };
            Line::from(vec![
                Span::styled(
                    if here { app.theme.glyph("▶ ", "> ") } else { "  " },
                    app.theme.style(Role::Accent),
                ),
                Span::styled(fit(field.name, 13), style),
                Span::styled(fit(&tail(&value, 22), 22), style),
                Span::styled(if is_narrow { "" } else { field.hint }, app.theme.style(Role::Dim)),
            ])
        })
        .collect();
    let hint = form.fields.get(form.at).filter(|_| is_narrow).map_or("", |field| field.hint);
    lines.push(Line::styled(hint, app.theme.style(Role::Dim)));
    match &form.error {
        Some(error) => lines.push(Line::styled(clean(error), app.theme.style(Role::Bad))),
        None => lines.push(Line::styled(
            "↑↓ choose, type, enter runs again with these settings, esc leaves them",
            app.theme.style(Role::Dim),
        )),
    }
    lines
}

fn export(app: &App, at: usize) -> Vec<Line<'static>> {
    let line = |(i, words): (usize, &&str)| {
        let (mark, style) = if i == at {
            (app.theme.glyph("▶ ", "> "), app.theme.style(Role::Accent))
        } else {
            ("  ", app.theme.style(Role::Text))
        };
        Line::styled(format!("{mark}{words}"), style)
    };
    let dim = app.theme.style(Role::Dim);
    let mut lines: Vec<Line<'static>> = EXPORTS.iter().enumerate().map(line).collect();
    lines.push(Line::styled(format!("  into {}", clean(&app.exports_to().to_string_lossy())), dim));
    if let Some(info) = app.info().filter(|info| info.spec.beta_rule != app.rule) {
        let words = if info.spec.early {
            format!("  --early: with k = {} of the run, not as slid", info.spec.beta_rule.sigma)
        } else {
            format!("  with k = {}, window = {}, as slid", app.rule.sigma, app.rule.window)
        };
        lines.push(Line::styled(words, dim));
    }
    lines
}

fn quit(app: &App) -> Vec<Line<'static>> {
    let results = match &app.directory {
        Some(directory) => format!(
            "The run is not finished. What is done so far is in {}; the same command goes on from there.",
            clean(&directory.to_string_lossy())
        ),
        None => "The run is not finished, and nothing of it has been written.".to_owned(),
    };
    let key = app.keymap.key_of(Action::Quit);
    vec![
        Line::from(results),
        Line::from(""),
        Line::styled(format!("{key} or enter quits, esc stays"), app.theme.style(Role::Accent)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunOptions;
    use crate::tui::theme::{Depth, Theme};

    #[test]
    fn the_help_is_as_long_as_it_says() {
        let spec = RunOptions::default().check().unwrap();
        let theme = Theme { depth: Depth::None, light: false, ascii: false };
        let app = App::new("data.csv".into(), spec, theme, Keymap::default());
        assert_eq!(help(&app).len(), help_length(&app.keymap));
    }
}
