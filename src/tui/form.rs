//! The settings as lines that can be edited, and back to a checked spec. Which options have a line is in their table.

use crate::error::{Error, Result};
use crate::run::options::{FormLine, OPTIONS, RunOption};
use crate::run::{RunOptions, RunSpec};

/// One line: what it is called, what is typed, what may be typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    option: &'static RunOption,
    /// The option's name.
    pub name: &'static str,
    /// What is typed.
    pub value: String,
    /// What may be typed.
    pub hint: &'static str,
}

/// The settings being edited.
#[derive(Debug, Clone, PartialEq)]
pub struct Form {
    /// The lines.
    pub fields: Vec<Field>,
    /// The line being edited.
    pub at: usize,
    /// Why the settings were refused.
    pub error: Option<String>,
    base: RunOptions,
}

impl Form {
    /// The lines of a spec.
    pub fn new(spec: &RunSpec) -> Self {
        let options = RunOptions::from(spec.clone());
        let mut lines: Vec<_> =
            OPTIONS.iter().filter_map(|option| option.form.map(|line| (line, option))).collect();
        lines.sort_by_key(|(line, _)| line.place);
        let field = |(line, option): &(FormLine, &'static RunOption)| Field {
            option,
            name: option.name,
            value: option.text(&options),
            hint: line.hint,
        };
        let fields = lines.iter().map(field).collect();
        Self { fields, at: 0, error: None, base: options }
    }

    /// One line up or down.
    pub fn go(&mut self, down: bool) {
        let count = self.fields.len();
        self.at = (self.at + if down { 1 } else { count - 1 }) % count;
    }

    /// A character is typed into the line.
    pub fn insert(&mut self, c: char) {
        self.fields[self.at].value.push(c);
        self.error = None;
    }

    /// The last character of the line goes.
    pub fn erase(&mut self) {
        self.fields[self.at].value.pop();
        self.error = None;
    }

    /// The checked settings, or why not.
    pub fn spec(&self) -> Result<RunSpec> {
        let mut options = self.base.clone();
        for field in &self.fields {
            let text = field.value.trim();
            field.option.take(&mut options, text).map_err(|_| {
                Error::usage(format!("{}: '{text}' is not valid", field.name))
                    .remedy(format!("write {}", field.hint))
            })?;
        }
        options.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_untouched_form_gives_the_same_spec() {
        let spec = RunOptions::default().check().unwrap();
        assert_eq!(Form::new(&spec).spec().unwrap(), spec);
    }

    #[test]
    fn a_wrong_line_is_named() {
        let mut form = Form::new(&RunOptions::default().check().unwrap());
        form.fields[0].value = "much".into();
        assert_eq!(form.spec().unwrap_err().to_string(), "lambda: 'much' is not valid; write λ, 0 to 1");
        form.fields[0].value = "2".into();
        assert!(form.spec().unwrap_err().to_string().contains("out of range"));
    }
}
