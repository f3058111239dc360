//! The settings as lines that can be edited, and back to a checked spec. Every option has a line;
//! the table of options says which come first and what there is to choose from.

use crossterm::event::{KeyCode, KeyEvent};

use super::overlay::edit;
use crate::error::{Error, Result};
use crate::run::options::{Chapter, OPTIONS, RunOption, Takes};
use crate::run::{RunOptions, RunSpec};

/// One line: an option and what is typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    option: &'static RunOption,
    /// The heading above it, if it is the first of a section.
    pub heading: Option<&'static str>,
    /// The option's name.
    pub name: &'static str,
    /// What is typed.
    pub value: String,
    /// What the run has.
    before: String,
}

impl Field {
    /// What may be typed, or what it means.
    pub fn hint(&self) -> &'static str {
        self.option.form.map_or(self.option.help, |line| line.hint)
    }

    /// What it means.
    pub fn help(&self) -> &'static str {
        self.option.help
    }

    /// Whether it differs from what the run has.
    pub fn is_changed(&self) -> bool {
        self.value != self.before
    }

    /// Whether it names one column of the table.
    fn is_column(&self) -> bool {
        matches!(self.option.takes, Takes::Column(_))
    }

    /// The next choice, or the previous one; from a value that is none of them, the first or the
    /// last.
    fn turn(&mut self, choices: &[&str], forward: bool) {
        let at = choices.iter().position(|&choice| choice == self.value);
        let next = match (at, forward) {
            (Some(at), true) => (at + 1) % choices.len(),
            (Some(at), false) => (at + choices.len() - 1) % choices.len(),
            (None, true) => 0,
            (None, false) => choices.len() - 1,
        };
        self.value = choices[next].to_owned();
    }
}

/// The settings being edited.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The columns of the table, as far as they are known.
    pub columns: Vec<String>,
    /// The lines.
    pub fields: Vec<Field>,
    /// The line being edited.
    pub at: usize,
    /// Why the settings were refused.
    pub error: Option<String>,
    /// Nothing has been typed into this line: the first character replaces it.
    is_fresh: bool,
}

impl Form {
    /// The lines of a spec: the settings that are changed most, then all others by chapter.
    pub fn new(spec: &RunSpec) -> Self {
        let options = RunOptions::from(spec.clone());
        let place = |option: &RunOption| option.form.map_or(u8::MAX, |line| line.place);
        let mut sorted: Vec<&'static RunOption> = OPTIONS.iter().collect();
        sorted.sort_by_key(|option| (place(option), option.chapter as u8));
        let mut last = None;
        let field = |option: &'static RunOption| {
            let section = if option.form.is_some() { COMMON } else { section(option.chapter) };
            let heading = (last != Some(section)).then_some(section);
            last = Some(section);
            let text = option.text(&options);
            let value = if text.is_empty() && option.choices.contains(&"false") {
                "false".to_owned()
            } else {
                text
            };
            Field { option, heading, name: option.name, before: value.clone(), value }
        };
        let fields = sorted.into_iter().map(field).collect();
        Self { columns: Vec::new(), fields, at: 0, error: None, is_fresh: true }
    }

    /// What left and right go through on a line.
    fn choices(&self, field: &Field) -> Vec<&str> {
        if field.is_column() && !self.columns.is_empty() {
            return std::iter::once("").chain(self.columns.iter().map(String::as_str)).collect();
        }
        field.option.choices.to_vec()
    }

    /// Whether left and right change a line.
    pub fn has_choices(&self, field: &Field) -> bool {
        !field.option.choices.is_empty() || field.is_column() && !self.columns.is_empty()
    }

    /// One line up or down.
    pub fn go(&mut self, down: bool) {
        let count = self.fields.len();
        self.at = (self.at + if down { 1 } else { count - 1 }) % count;
        self.is_fresh = true;
    }

    /// To the line of an option, if it has one.
    pub fn go_to(&mut self, option: &str) {
        if let Some(at) = self.fields.iter().position(|field| field.name == option) {
            (self.at, self.is_fresh) = (at, true);
        }
    }

    /// A key is pressed on the line.
    pub fn key(&mut self, key: KeyEvent) {
        self.error = None;
        if matches!(key.code, KeyCode::Left | KeyCode::Right) {
            let mut field = self.fields[self.at].clone();
            let choices = self.choices(&field);
            if !choices.is_empty() {
                field.turn(&choices, key.code == KeyCode::Right);
                self.fields[self.at] = field;
                self.is_fresh = true;
            }
            return;
        }
        let field = &mut self.fields[self.at];
        match key.code {
            KeyCode::Delete => field.value.clear(),
            KeyCode::Char(_)
                if self.is_fresh
                    && !key.modifiers.contains(crossterm::event::KeyModifiers::CONTROL) =>
            {
                field.value.clear();
                edit(&mut field.value, key);
            }
            _ => edit(&mut field.value, key),
        }
        self.is_fresh = false;
    }

    /// The checked settings, or why not. A line that is empty by default may be empty.
    pub fn spec(&self) -> Result<RunSpec> {
        let mut options = RunOptions::default();
        for field in &self.fields {
            let text = field.value.trim();
            if text.is_empty() && field.option.default_text().is_empty() {
                continue;
            }
            field.option.take(&mut options, text).map_err(|_| {
                Error::usage(format!("{}: '{text}' is not valid", field.name))
                    .remedy(format!("write {}", field.hint()))
            })?;
        }
        options.check()
    }
}

/// The heading of the settings that are changed most.
const COMMON: &str = "Changed most";

fn section(chapter: Chapter) -> &'static str {
    match chapter {
        Chapter::Data => "Data",
        Chapter::Method => "Method",
        Chapter::Splits => "Splits and coverage",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyModifiers;

    fn form() -> Form {
        Form::new(&RunOptions::default().check().unwrap())
    }

    fn press(form: &mut Form, code: KeyCode) {
        form.key(KeyEvent::from(code));
    }

    #[test]
    fn an_untouched_form_gives_the_same_spec() {
        let spec = RunOptions::default().check().unwrap();
        assert_eq!(Form::new(&spec).spec().unwrap(), spec);
        // Also where every option has another value than by default.
        let mut options = RunOptions::default();
        for option in OPTIONS {
            let mut other = options.clone();
            if option.take(&mut other, option.example).is_ok() && other.clone().check().is_ok() {
                options = other;
            }
        }
        let spec = options.check().unwrap();
        assert_eq!(Form::new(&spec).spec().unwrap(), spec);
    }

    #[test]
    fn every_option_has_a_line_and_every_choice_is_valid() {
        let form = form();
        assert_eq!(form.fields.len(), OPTIONS.len());
        for option in OPTIONS {
            for choice in option.choices {
                let mut options = RunOptions::default();
                assert!(option.take(&mut options, choice).is_ok(), "{} {choice}", option.name);
            }
        }
    }

    #[test]
    fn a_wrong_line_is_named() {
        let mut form = form();
        form.fields[0].value = "much".into();
        assert_eq!(
            form.spec().unwrap_err().to_string(),
            "lambda: 'much' is not valid; write λ, 0 to 1"
        );
        form.fields[0].value = "2".into();
        assert!(form.spec().unwrap_err().to_string().contains("out of range"));
    }

    #[test]
    fn typing_replaces_and_arrows_choose() {
        let mut form = form();
        form.go_to("splits");
        press(&mut form, KeyCode::Char('5'));
        press(&mut form, KeyCode::Char('0'));
        assert_eq!(form.fields[form.at].value, "50");
        press(&mut form, KeyCode::Right);
        assert_eq!(form.fields[form.at].value, "100");
        form.key(KeyEvent::new(KeyCode::Char('u'), KeyModifiers::CONTROL));
        assert_eq!(form.fields[form.at].value, "");
        form.go_to("mondrian");
        press(&mut form, KeyCode::Right);
        assert_eq!(form.fields[form.at].value, "true");
        assert!(form.fields[form.at].is_changed());
        form.go_to("target");
        press(&mut form, KeyCode::Left);
        press(&mut form, KeyCode::Char('y'));
        assert_eq!(form.fields[form.at].value, "y");
        // Once the columns are known, arrows go through them.
        form.columns = vec!["outcome".into(), "age".into()];
        press(&mut form, KeyCode::Right);
        press(&mut form, KeyCode::Right);
        assert_eq!(form.fields[form.at].value, "outcome");
        press(&mut form, KeyCode::Left);
        press(&mut form, KeyCode::Left);
        assert_eq!(form.fields[form.at].value, "age");
        for name in ["group-col", "leave-out", "time-col"] {
            form.go_to(name);
            press(&mut form, KeyCode::Left);
            assert_eq!(form.fields[form.at].value, "age", "{name}");
        }
    }
}
