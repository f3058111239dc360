//! The settings, edited line by line; enter runs again with them, and asks first where that takes
//! long.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::{Component, Popup, Reaction};
use crate::error::Error;
use crate::run::{Estimate, RunSpec, Surveyed, default_threads};
use crate::tui::action::Action;
use crate::tui::app::{App, Effect, plural};
use crate::tui::form::{Field, Form};
use crate::tui::theme::Role;
use crate::tui::view::text::{clean, fit, head, tail, wrap};

/// The width from which every setting has its hint beside it.
const HINTS_FROM: u16 = 70;

/// A run that takes longer than this many seconds is asked about first.
const ASK_FROM: f64 = 60.0;

/// The settings being edited.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionsEditor {
    form: Form,
    /// The question whether to start a long run.
    question: Option<String>,
}

impl OptionsEditor {
    /// The settings of a run.
    pub fn new(spec: &RunSpec) -> Self {
        Self { form: Form::new(spec), question: None }
    }

    /// The settings of a run that was refused, the cursor on the option that would help; none if
    /// the error names no option.
    pub fn for_remedy(spec: &RunSpec, error: &Error) -> Option<Self> {
        let mut form = Form::new(spec);
        form.go_to(error.faulty_option()?);
        form.error = Some(error.to_string());
        Some(Self { form, question: None })
    }

    /// Puts the cursor on the line of an option, if it has one.
    pub fn go_to(&mut self, option: &str) {
        self.form.go_to(option);
    }

    /// The settings as they are typed, if they are valid.
    pub fn spec(&self) -> Option<RunSpec> {
        self.form.spec().ok()
    }

    /// Runs with these settings, or asks, or says why not.
    fn submit(&mut self, app: &App) -> Option<Reaction> {
        let spec = match self.form.spec() {
            Ok(spec) => spec,
            Err(error) => {
                self.form.error = Some(error.to_string());
                return Some(Reaction::STAY);
            }
        };
        let estimate = estimate(app, &spec);
        match estimate.filter(|estimate| estimate.seconds() > ASK_FROM && self.question.is_none()) {
            Some(estimate) => {
                let question = format!("this takes {}; enter again starts it", words(&estimate));
                self.question = Some(question);
                Some(Reaction::STAY)
            }
            None => Some(Reaction::Stay(vec![Effect::Rerun(Box::new(spec))])),
        }
    }

    /// What the line means, and what the run would take; or what is wrong.
    fn below(&self, app: &App, width: usize) -> Vec<Line<'static>> {
        let style = |role| app.theme().style(role);
        let field = &self.form.fields[self.form.at];
        let mut lines = vec![Line::from("")];
        let help = wrap(field.help(), width).into_iter().take(2);
        lines.extend(help.map(|text| Line::styled(text, style(Role::Dim))));
        let (text, role) = match (&self.form.error, &self.question) {
            (Some(error), _) => (clean(error), Role::Bad),
            (None, Some(question)) => (question.clone(), Role::Warn),
            (None, None) => self.outlook(app),
        };
        lines.extend(
            wrap(&text, width).into_iter().take(4).map(|text| Line::styled(text, style(role))),
        );
        let found = self.spec().and_then(|spec| app.surveyed(&spec)).and_then(Result::ok);
        if let Some(found) = found.filter(|_| self.question.is_none()) {
            let counts = wrap(&class_words(&found), width).into_iter().take(2);
            lines.extend(counts.map(|text| Line::styled(text, style(Role::Dim))));
        }
        lines
    }

    /// What the table gives under these settings and what a run would take, or why there can be
    /// none.
    fn outlook(&self, app: &App) -> (String, Role) {
        let spec = match self.form.spec() {
            Ok(spec) => spec,
            Err(error) => return (clean(&error.to_string()), Role::Bad),
        };
        match app.surveyed(&spec) {
            None => ("reading the table with these settings …".to_owned(), Role::Dim),
            Some(Err(why)) => (clean(&why), Role::Bad),
            Some(Ok(found)) => match (&found.plan, estimate(app, &spec)) {
                (Err(why), _) => (clean(&format!("{}: {why}", found.sentence())), Role::Bad),
                (Ok(_), None) => (clean(&found.sentence()), Role::Text),
                (Ok(_), Some(estimate)) => (
                    clean(&format!("{}; would take {}", found.sentence(), words(&estimate))),
                    Role::Text,
                ),
            },
        }
    }

    fn line(&self, app: &App, i: usize, width: usize) -> Line<'static> {
        let field: &Field = &self.form.fields[i];
        let here = i == self.form.at;
        let theme = app.theme();
        let style = if here {
            theme.style(Role::Accent).add_modifier(Modifier::BOLD)
        } else if field.is_changed() {
            theme.style(Role::Warn)
        } else {
            theme.style(Role::Text)
        };
        let value = clean(&field.value);
        let value = match (here, self.form.has_choices(field)) {
            (true, true) => format!("{} {value} {}", theme.glyph("◂", "<"), theme.glyph("▸", ">")),
            (true, false) => format!("{value}{}", theme.glyph("▏", "_")),
            _ => value,
        };
        // A long name takes cells of its value.
        let name = field.name.len().clamp(14, 30);
        let hint = if width < usize::from(HINTS_FROM) { "" } else { field.hint() };
        Line::from(vec![
            Span::styled(
                if here { theme.glyph("▶ ", "> ") } else { "  " },
                theme.style(Role::Accent),
            ),
            Span::styled(fit(field.name, name) + " ", style),
            Span::styled(fit(&tail(&value, 36 - name), 37 - name), style),
            Span::styled(head(hint, width.saturating_sub(41)), theme.style(Role::Dim)),
        ])
    }
}

/// What a run with these settings would take, once the table has been read with them.
fn estimate(app: &App, spec: &RunSpec) -> Option<Estimate> {
    let plan = app.surveyed(spec)?.ok()?.plan.ok()?;
    Some(Estimate::of_settings(spec, &plan.data, default_threads()))
}

/// The classes with their rows, the smallest first.
fn class_words(found: &Surveyed) -> String {
    let words: Vec<String> = found
        .classes
        .iter()
        .take(40)
        .map(|(name, rows)| format!("{} {rows}", clean(name)))
        .collect();
    format!("rows by class: {}", words.join(", "))
}

/// Paths, time and memory.
fn words(estimate: &Estimate) -> String {
    let paths = match (estimate.tasks, estimate.more_tasks) {
        (paths, 0) => plural(paths, "path"),
        (paths, more) => format!("{}, {more} more for tests", plural(paths, "path")),
    };
    format!("{} ({paths}), {}", estimate.duration(), estimate.memory())
}

impl Component for OptionsEditor {
    fn act(&mut self, _app: &mut App, action: Action) -> Option<Reaction> {
        // The wheel: keys are typed.
        match action {
            Action::Up | Action::Down => self.form.go(action == Action::Down),
            _ => return None,
        }
        Some(Reaction::STAY)
    }

    fn typed(&mut self, app: &mut App, key: KeyEvent) -> Option<Reaction> {
        if key.code == KeyCode::Enter {
            return self.submit(app);
        }
        self.question = None;
        if let Some(Ok(found)) = self.spec().and_then(|spec| app.surveyed(&spec)) {
            self.form.columns = found.columns;
        }
        match key.code {
            KeyCode::Up | KeyCode::BackTab => self.form.go(false),
            KeyCode::Down | KeyCode::Tab => self.form.go(true),
            KeyCode::PageUp => (0..10).for_each(|_| self.form.go(false)),
            KeyCode::PageDown => (0..10).for_each(|_| self.form.go(true)),
            _ => self.form.key(key),
        }
        Some(Reaction::STAY)
    }

    fn footer(&self, app: &App, width: usize) -> Option<Line<'static>> {
        let words = if app.theme().ascii {
            "up/down field, left/right change, enter run, esc cancel"
        } else {
            "↑↓ field · ←→ change · enter run · esc cancel"
        };
        Some(Line::styled(head(words, width), app.theme().style(Role::Accent)))
    }

    fn draw(&self, frame: &mut Frame<'_>, app: &App, area: Rect) {
        let width = usize::from(area.width.min(Popup::WIDTH)).saturating_sub(2);
        let below = self.below(app, width);
        let mut lines = Vec::new();
        let mut at = 0;
        for (i, field) in self.form.fields.iter().enumerate() {
            if let Some(heading) = field.heading {
                lines.push(Line::styled(heading, app.theme().style(Role::Accent)));
            }
            if i == self.form.at {
                at = lines.len();
            }
            lines.push(self.line(app, i, width));
        }
        // What is below the lines stays in sight, and so does the line that is edited.
        let room = usize::from(area.height.saturating_sub(2)).saturating_sub(below.len()).max(1);
        let first = at.saturating_sub(room / 2).min(lines.len().saturating_sub(room));
        let mut shown: Vec<Line<'static>> = lines.into_iter().skip(first).take(room).collect();
        shown.extend(below);
        Popup { title: "Settings", lines: shown, scroll: 0, wrapped: None }.draw(frame, app, area);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunOptions;

    #[test]
    fn the_cursor_is_on_the_option_that_would_help() {
        let spec = RunOptions::default().check().unwrap();
        let error = Error::data("class 'x' has 1 row").remedy("leave it out").option("--rare");
        let editor = OptionsEditor::for_remedy(&spec, &error).unwrap();
        assert_eq!(editor.form.fields[editor.form.at].name, "rare");
        let error = Error::data("there is no such file").remedy("check the path");
        assert_eq!(OptionsEditor::for_remedy(&spec, &error), None);
    }
}
