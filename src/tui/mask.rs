//! Numbers in place of the names of rows, for screenshots: the same name gets the same number as
//! long as the program runs.

use std::cell::RefCell;
use std::collections::HashMap;

/// Hides names of rows, if that was asked for.
#[derive(Debug, Default)]
pub struct IdMask {
    /// The names seen so far and their numbers; none if names are shown.
    seen: Option<RefCell<HashMap<String, usize>>>,
}

impl IdMask {
    /// Hides names.
    pub fn on() -> Self {
        Self { seen: Some(RefCell::default()) }
    }

    /// A name as it is shown.
    pub fn id(&self, id: &str) -> String {
        let Some(seen) = &self.seen else { return id.to_owned() };
        let mut seen = seen.borrow_mut();
        let next = seen.len() + 1;
        format!("id {}", seen.entry(id.to_owned()).or_insert(next))
    }

    /// A sentence about the table as it is shown: names of rows that it quotes, gives as examples
    /// or lists at its end are hidden.
    pub fn sentence(&self, text: &str) -> String {
        if self.seen.is_none() {
            return text.to_owned();
        }
        PASSAGES.iter().fold(text.to_owned(), |text, passage| self.hidden(&text, passage))
    }

    /// A sentence without the names of rows in one of its passages.
    fn hidden(&self, text: &str, passage: &RowNames) -> String {
        let Some((start, end)) = passage.find(text) else { return text.to_owned() };
        let names: Vec<String> = match passage.separator {
            Some(separator) => {
                text[start..end].split(separator).map(|name| self.id(name)).collect()
            }
            None => vec![self.id(&text[start..end])],
        };
        let names = names.join(passage.separator.unwrap_or_default());
        format!("{}{names}{}", &text[..start], &text[end..])
    }
}

/// Where a sentence about a table names rows.
struct RowNames {
    /// What stands before the names.
    before: &'static str,
    /// What stands behind them; none if they are the end of the sentence, but for how many more
    /// there are.
    behind: Option<&'static str>,
    /// What is between them, where there may be several.
    separator: Option<&'static str>,
}

/// Every passage; the words are those of errors and of the notes on two files that were joined.
const PASSAGES: [RowNames; 6] = [
    RowNames { before: "the id '", behind: Some("' is also "), separator: None },
    RowNames { before: ", row '", behind: Some("'"), separator: None },
    RowNames { before: "(in the matrix: ", behind: Some(", …; there: "), separator: Some(", ") },
    RowNames { before: ", …; there: ", behind: Some(", …)"), separator: Some(", ") },
    RowNames { before: " is left out: ", behind: None, separator: Some(", ") },
    RowNames { before: " are left out: ", behind: None, separator: Some(", ") },
];

impl RowNames {
    /// Where the names begin and end.
    fn find(&self, text: &str) -> Option<(usize, usize)> {
        let start = text.find(self.before)? + self.before.len();
        let names = &text[start..];
        let length = match self.behind {
            Some(behind) => names.find(behind)?,
            None => match names.rsplit_once(" and ") {
                Some((first, more)) if more.ends_with(" more") => first.len(),
                _ => names.len(),
            },
        };
        Some((start, start + length))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_name_has_the_same_number() {
        let mask = IdMask::on();
        assert_eq!([mask.id("P7"), mask.id("P3"), mask.id("P7")], ["id 1", "id 2", "id 1"]);
        assert_eq!(IdMask::default().id("P7"), "P7");
        let note = "2 samples of the matrix are not in p.csv and are left out: P3, P9 and 4 more";
        assert_eq!(
            mask.sentence(note),
            "2 samples of the matrix are not in p.csv and are left out: id 2, id 3 and 4 more"
        );
        assert_eq!(IdMask::default().sentence(note), note);
        let error = "p.csv, line 4: the id 'P9' is also on line 2";
        assert_eq!(mask.sentence(error), "p.csv, line 4: the id 'id 3' is also on line 2");
        assert_eq!(IdMask::default().sentence(error), error);
        assert_eq!(
            mask.sentence("the id 'O'Hara' is also in row 2"),
            "the id 'id 4' is also in row 2"
        );
        let error = "no id of the matrix is in p.csv (in the matrix: P7, P8, …; there: A1, P9, …); name the column";
        assert_eq!(
            mask.sentence(error),
            "no id of the matrix is in p.csv (in the matrix: id 1, id 5, …; there: id 6, id 3, …); name the column"
        );
        let classes = "3 rows of classes with fewer than 3 rows left out: c, d";
        assert_eq!(mask.sentence(classes), classes);
    }
}
