//! What a careful colleague would say about this table, in sentences.

use serde::{Deserialize, Serialize};

/// How much a note matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Something that was understood or mended.
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

/// All that is to be said about the table, in the order in which it was noticed.
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
}
