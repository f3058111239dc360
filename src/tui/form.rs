//! The settings as lines that can be edited, and back to a checked spec.

use crate::error::{Error, Result};
use crate::run::{RunOptions, RunSpec};
use crate::svm::SolverKind;

/// One line: what it is called, what is typed, what may be typed.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
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
        let methods: Vec<&str> = options.methods.iter().map(|method| method.name()).collect();
        let solver = if options.solver == SolverKind::Linfa { "linfa" } else { "newton" };
        let field = |name, value: String, hint| Field { name, value, hint };
        let fields = vec![
            field("lambda", options.lambda.to_string(), "λ, 0 to 1"),
            field("cost", options.cost.to_string(), "C, above 0"),
            field("epsilon", options.epsilon.to_string(), "ε, between 0 and 1"),
            field("method", methods.join(","), "crfe, rfe, smfs"),
            field("solver", solver.to_owned(), "newton or linfa"),
            field("calibration", options.split.calibration.to_string(), "strict or shared"),
            field("splits", options.split.splits.to_string(), "at least 1"),
            field("seed", options.split.seed.to_string(), "a whole number"),
            field("step", options.step.to_string(), "a count, a fraction or half"),
            field("stop", options.stop.name(), "knee, beta, 1se, cv, none or a number"),
        ];
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
            let refused = |_| {
                Error::usage(format!("{}: '{text}' cannot be used", field.name))
                    .remedy(format!("write {}", field.hint))
            };
            match field.name {
                "lambda" => options.lambda = text.parse().map_err(|_| refused(()))?,
                "cost" => options.cost = text.parse().map_err(|_| refused(()))?,
                "epsilon" => options.epsilon = text.parse().map_err(|_| refused(()))?,
                "method" => {
                    options.methods = text
                        .split(',')
                        .map(|word| word.trim().parse())
                        .collect::<std::result::Result<_, String>>()
                        .map_err(|_| refused(()))?
                }
                "solver" => options.solver = text.parse().map_err(|_| refused(()))?,
                "calibration" => options.split.calibration = text.parse().map_err(|_| refused(()))?,
                "splits" => options.split.splits = text.parse().map_err(|_| refused(()))?,
                "seed" => options.split.seed = text.parse().map_err(|_| refused(()))?,
                "step" => options.step = text.parse().map_err(|_| refused(()))?,
                _ => options.stop = text.parse().map_err(|_| refused(()))?,
            }
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
        assert_eq!(form.spec().unwrap_err().to_string(), "lambda: 'much' cannot be used; write λ, 0 to 1");
        form.fields[0].value = "2".into();
        assert!(form.spec().unwrap_err().to_string().contains("out of range"));
    }
}
