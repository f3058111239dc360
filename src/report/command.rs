//! The command line that runs a spec again: only what differs from the defaults.

use crate::run::{RunOptions, RunSpec};
use crate::select::Score;
use crate::svm::{ClassWeight, SolverKind};

/// The words of `crfe-tui run DATA …` that mean this spec.
pub fn command_line(spec: &RunSpec, data: &str) -> Vec<String> {
    let usual = RunOptions::default();
    // A name that begins like an option is still a file.
    let data = if data.starts_with('-') { format!("./{data}") } else { data.to_owned() };
    let mut line = Line(vec!["crfe-tui".into(), "run".into(), data]);
    let (schema, read) = (&spec.schema, &spec.schema.read);
    line.path("target", schema.target.as_ref());
    line.list("drop", &schema.drop);
    line.list("keep", &schema.keep);
    line.list("categorical", &schema.categorical);
    line.path("groups", schema.groups.as_ref().map(|path| path.to_string_lossy()));
    line.path("group-col", schema.group_col.as_ref());
    line.path("id-col", schema.id_col.as_ref());
    line.list("na", &read.missing);
    line.other("max-missing", schema.max_missing, usual.schema.max_missing);
    line.other("impute", spec.impute, usual.impute);
    line.other("scale", spec.scale, usual.scale);
    line.path(
        "delimiter",
        read.delimiter.map(|sign| if sign == '\t' { "tab".into() } else { sign.to_string() }),
    );
    line.path("decimal", read.decimal);
    line.flag("no-header", read.no_header);
    let methods = |options: &RunOptions| {
        options.methods.iter().map(|method| method.name()).collect::<Vec<_>>().join(",")
    };
    line.other("method", methods(spec), methods(&usual));
    line.other("lambda", spec.lambda, usual.lambda);
    line.other("cost", spec.cost, usual.cost);
    line.path("class-weight", (spec.class_weight == ClassWeight::Balanced).then_some("balanced"));
    line.path("solver", (spec.solver == SolverKind::Linfa).then_some("linfa"));
    line.other("step", spec.step, usual.step);
    line.other("stop", spec.stop.name(), usual.stop.name());
    line.flag("early", spec.early);
    line.other("sigma", spec.beta_rule.sigma, usual.beta_rule.sigma);
    line.other("window", spec.beta_rule.window, usual.beta_rule.window);
    line.other("splits", spec.split.splits, usual.split.splits);
    line.path("splits-from", spec.split.splits_from.as_ref().map(|path| path.to_string_lossy()));
    line.other("seed", spec.split.seed, usual.split.seed);
    line.other("test-size", spec.split.test_size, usual.split.test_size);
    line.other("cal-size", spec.split.cal_size, usual.split.cal_size);
    line.other("calibration", spec.split.calibration, usual.split.calibration);
    line.other("epsilon", spec.epsilon, usual.epsilon);
    line.flag("mondrian", spec.mondrian);
    line.flag("smoothed", spec.smoothed);
    line.path("score", (spec.score == Score::Published).then_some("published"));
    line.0
}

struct Line(Vec<String>);

impl Line {
    fn value(&mut self, option: &str, value: &str) {
        // A value that begins like an option, or is empty, must cling to its name.
        if value.starts_with('-') || value.is_empty() {
            self.0.push(format!("--{option}={value}"));
        } else {
            self.0.extend([format!("--{option}"), value.to_owned()]);
        }
    }

    fn path(&mut self, option: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.value(option, &value.to_string());
        }
    }

    fn list(&mut self, option: &str, values: &[String]) {
        if !values.is_empty() {
            self.value(option, &values.join(","));
        }
    }

    fn other<T: PartialEq + ToString>(&mut self, option: &str, value: T, usual: T) {
        if value != usual {
            self.value(option, &value.to_string());
        }
    }

    fn flag(&mut self, option: &str, set: bool) {
        if set {
            self.0.push(format!("--{option}"));
        }
    }
}

/// The words as a shell takes them.
pub fn for_a_shell(words: &[String]) -> String {
    let quoted = |word: &String| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,:=+@%".contains(c);
        if !word.is_empty() && word.chars().all(plain) {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_need_no_words() {
        let spec = RunOptions::default().check().unwrap();
        assert_eq!(for_a_shell(&command_line(&spec, "data/a b.csv")), "crfe-tui run 'data/a b.csv'");
        assert_eq!(command_line(&spec, "-x.csv")[2], "./-x.csv");
    }

    #[test]
    fn a_shell_reads_every_word_as_it_was() {
        assert_eq!(
            for_a_shell(&["it's".into(), "$HOME".into(), "".into(), "a=b".into()]),
            r"'it'\''s' '$HOME' '' a=b"
        );
    }
}
