//! Remarks on a table, in sentences: what was assumed, corrected or dropped, and what looks
//! suspicious.

use std::collections::HashMap;
use std::mem::discriminant;

use serde::{Deserialize, Serialize};

use super::features::{DropReason, Features};
use super::guess::is_mangled_gene;
use super::lines::RowLines;
use super::names::{elided, listed, listed_whole, short};
use super::target::Found;
use super::{Dataset, Design, Factor, Times};

mod doubts;

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Something that was assumed or corrected.
    Notice,
    /// Something that deserves a look.
    Warning,
}

/// One sentence about the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// How much it matters.
    pub level: Level,
    /// The sentence.
    pub text: String,
}

/// All remarks on the table, in the order in which they came up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Audit {
    /// The sentences.
    pub notes: Vec<Note>,
}

impl Audit {
    /// Adds a notice.
    pub fn notice(&mut self, text: impl Into<String>) {
        self.notes.push(Note { level: Level::Notice, text: text.into() });
    }

    /// Adds a warning.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.notes.push(Note { level: Level::Warning, text: text.into() });
    }

    /// The sentences of one level.
    pub fn at(&self, level: Level) -> impl Iterator<Item = &str> {
        self.notes.iter().filter(move |note| note.level == level).map(|note| note.text.as_str())
    }

    /// States how the class column was found.
    pub(super) fn target(&mut self, name: &str, found: Found) {
        let name = short(name);
        match found {
            Found::Specified => self.notice(format!("the class column is '{name}' (as specified)")),
            Found::ByName => {
                self.notice(format!("the class column is '{name}' (found by its name)"))
            }
            Found::Last => self.warn(format!(
                "the class column is '{name}', the last: if it is not, use --target"
            )),
        }
    }

    /// States which columns are no features because an option has another use for them.
    pub(super) fn set_aside(&mut self, names: &[&str], option: &str) {
        if !names.is_empty() {
            let are = if names.len() == 1 {
                "is not used as a feature"
            } else {
                "are not used as features"
            };
            let quoted = names.iter().map(|name| format!("'{}'", short(name)));
            self.notice(format!("{} {are}: {option}", listed_whole(quoted)));
        }
    }

    /// States how many rows have no site or no time.
    pub(super) fn design(&mut self, design: &Design) {
        let sites = design.sites.iter().map(|Factor { column, of_row, .. }| {
            let absent = of_row.iter().filter(|site| site.is_none()).count();
            (absent, column, "no site is left out to test them")
        });
        let times = design.times.iter().map(|Times { column, of_row }| {
            let absent = of_row.iter().filter(|time| time.is_nan()).count();
            (absent, column, "the check over time leaves them out")
        });
        for (absent, column, consequence) in sites.chain(times).filter(|(absent, ..)| *absent > 0) {
            let rows = rows(absent);
            self.warn(format!("{rows} without a value of '{}': {consequence}", short(column)));
        }
    }

    /// States which rows have no class.
    pub(super) fn without_class(&mut self, lines: &RowLines, classes: &[Option<u32>]) {
        let absent = classes.iter().enumerate().filter(|(_, class)| class.is_none());
        let absent: Vec<_> = absent.map(|(row, _)| lines.of(row).to_string()).collect();
        if !absent.is_empty() {
            let places = listed(absent.iter().map(String::as_str));
            self.warn(format!(
                "{} without a class left out: {} {places}",
                rows(absent.len()),
                word(absent.len(), lines.kind().word())
            ));
        }
    }

    /// Warns of labels that differ in case only.
    pub(super) fn alike(&mut self, column: &str, labels: &[String]) {
        let mut seen = HashMap::new();
        for label in labels {
            if let Some(other) = seen.insert(label.to_lowercase(), label) {
                let (column, other, label) = (short(column), short(other), short(label));
                self.warn(format!(
                    "'{other}' and '{label}' are different values of '{column}': write them alike if they are one"
                ));
            }
        }
    }

    /// States what was dropped, one sentence per kind of reason.
    pub(super) fn dropped(&mut self, dropped: &[(String, DropReason)]) {
        let kinds = [
            (DropReason::Asked, Level::Notice, "left out with --drop"),
            (
                DropReason::Phenotype,
                Level::Notice,
                "of phenotypes not used (--keep puts one into every model)",
            ),
            (DropReason::Empty, Level::Notice, "dropped for lack of values"),
            (
                DropReason::Missing(0.0),
                Level::Warning,
                "dropped for too many missing values (see --max-missing)",
            ),
            (DropReason::Constant, Level::Warning, "dropped as constant"),
            (DropReason::Index, Level::Notice, "dropped as a row index written by a program"),
            (DropReason::Counter, Level::Warning, "dropped as row numbers"),
            (DropReason::Identifier, Level::Warning, "dropped as an id, different in every row"),
            (
                DropReason::Person,
                Level::Warning,
                "dropped as names of patients with several rows (keep these together with --group-col)",
            ),
            (
                DropReason::Date,
                Level::Warning,
                "dropped as dates (convert them to numbers, such as an age)",
            ),
        ];
        for (kind, level, end) in kinds {
            let of_kind =
                dropped.iter().filter(|(_, reason)| discriminant(reason) == discriminant(&kind));
            let names: Vec<_> = of_kind.map(|(name, _)| name.as_str()).collect();
            if !names.is_empty() {
                let n = names.len();
                self.notes.push(Note {
                    level,
                    text: format!("{n} {} {end}: {}", word(n, "column"), listed(names)),
                });
            }
        }
    }

    /// Points out numbers that may be codes.
    pub(super) fn codes(&mut self, features: &Features) {
        for (name, code, n) in features.missing_codes.iter().take(5) {
            let name = short(name);
            let code = if code.abs() < 1e16 { format!("{code}") } else { format!("{code:e}") };
            self.warn(format!(
                "'{name}' is {code} in {}, far from its other values: if that means missing, add --na {code}",
                rows(*n)
            ));
        }
        let n = features.codes.len();
        if n > 0 {
            let names = listed(features.codes.iter().map(String::as_str));
            let hold = if n == 1 { "holds" } else { "hold" };
            self.warn(format!(
                "{n} {} {hold} few different whole numbers: if these are codes rather than quantities, use --categorical: {names}",
                word(n, "column")
            ));
        }
    }

    /// Points out names that a spreadsheet has altered.
    pub(super) fn mangled(&mut self, names: &[String]) {
        let names: Vec<_> =
            names.iter().map(String::as_str).filter(|name| is_mangled_gene(name)).collect();
        if !names.is_empty() {
            self.warn(format!(
                "{} {} like genes that a spreadsheet turned into dates or numbers (MARCH1, SEPT2): {}",
                names.len(),
                if names.len() == 1 { "name looks" } else { "names look" },
                listed(names.iter().copied())
            ));
        }
    }

    /// States which features of the groups file were dropped.
    pub(super) fn unused_members(&mut self, features: &[String]) {
        if !features.is_empty() {
            let names = listed(features.iter().map(String::as_str));
            self.notice(format!("the groups file names dropped features: {names}"));
        }
    }
}

impl Dataset {
    /// Adds remarks on the finished data.
    pub(super) fn summarise(&mut self) {
        let classes: Vec<_> = self
            .classes
            .iter()
            .zip(self.class_counts())
            .map(|(class, n)| format!("{} {n}", elided(class)))
            .collect();
        let (units, columns) = (self.units.len(), self.columns.len());
        let encoded =
            if units == columns { String::new() } else { format!(" in {columns} columns") };
        self.audit.notice(format!(
            "{}, {units} {}{encoded}, {} classes: {}",
            rows(self.y.len()),
            word(units, "feature"),
            classes.len(),
            listed_whole(classes.iter().cloned())
        ));
        let missing: Vec<_> = self.missing_by_variable().filter(|&missing| missing > 0).collect();
        if !missing.is_empty() {
            let cells = missing.iter().sum();
            let columns = missing.len();
            self.audit.notice(format!(
                "{cells} missing {} in {columns} {} {} imputed per split",
                word(cells, "cell"),
                word(columns, "column"),
                if cells == 1 { "is" } else { "are" }
            ));
        }
        self.doubt();
    }
}

pub(super) fn rows(n: usize) -> String {
    format!("{n} {}", word(n, "row"))
}

fn word(n: usize, word: &str) -> String {
    if n == 1 { word.to_owned() } else { format!("{word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(audit: &Audit) -> Vec<&str> {
        audit.notes.iter().map(|note| note.text.as_str()).collect()
    }

    #[test]
    fn says_how_the_class_column_was_found() {
        let mut audit = Audit::default();
        audit.target("class", Found::ByName);
        audit.target("z", Found::Last);
        assert_eq!(
            audit.at(Level::Notice).collect::<Vec<_>>(),
            ["the class column is 'class' (found by its name)"]
        );
        assert_eq!(
            audit.at(Level::Warning).collect::<Vec<_>>(),
            ["the class column is 'z', the last: if it is not, use --target"]
        );
    }

    #[test]
    fn counts_rows_without_a_class_and_labels_that_look_alike() {
        let mut audit = Audit::default();
        audit.without_class(&[2, 3, 5].into_iter().collect(), &[None, Some(0), None]);
        audit.without_class(&[2].into_iter().collect(), &[Some(0)]);
        audit.alike("sick", &["No", "no", "yes"].map(String::from));
        assert_eq!(
            texts(&audit),
            [
                "2 rows without a class left out: lines 2, 5",
                "'No' and 'no' are different values of 'sick': write them alike if they are one"
            ]
        );
    }

    #[test]
    fn groups_dropped_columns_by_reason_and_caps_the_list() {
        let mut dropped: Vec<_> =
            (0..12).map(|i| (format!("x{i}"), DropReason::Constant)).collect();
        dropped.push(("id".to_owned(), DropReason::Identifier));
        let mut audit = Audit::default();
        audit.dropped(&dropped);
        assert_eq!(
            texts(&audit),
            [
                "12 columns dropped as constant: x0, x1, x2, x3, x4, x5, x6, x7, x8, x9 and 2 more",
                "1 column dropped as an id, different in every row: id"
            ]
        );
        assert_eq!(audit.notes[1].level, Level::Warning);
    }

    #[test]
    fn long_labels_keep_their_ends_and_their_counts() {
        let x = ndarray::array![[1.0], [2.0], [3.5]];
        let long =
            |end: &str| format!("{} {end}", "a very long description of a diagnosis".repeat(3));
        let data =
            Dataset::from_arrays(x.view(), &[long("acute"), long("chronic"), long("acute")], None)
                .unwrap();
        assert_eq!(
            data.audit.notes[0].text,
            "3 rows, 1 feature, 2 classes: a very long des…diagnosis acute 2, a very long des…agnosis chronic 1"
        );
    }

    #[test]
    fn warns_of_copies_and_counts_missing_cells() {
        let x = ndarray::array![[1.0, 2.0, 1.0], [f64::NAN, 5.0, f64::NAN], [3.0, 3.0, 3.0]];
        let names = ["a", "b", "c"].map(String::from).to_vec();
        let data = Dataset::from_arrays(x.view(), &["u", "v", "u"], Some(names)).unwrap();
        assert_eq!(
            texts(&data.audit),
            [
                "3 rows, 3 features, 2 classes: u 2, v 1",
                "2 missing cells in 2 columns are imputed per split",
                "some columns are copies of others: 'c' repeats 'a'"
            ]
        );
    }
}
