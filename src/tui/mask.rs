//! Numbers in place of the names of rows, for screenshots: the same name gets the same number as long as the program runs.

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

    /// A sentence about the table as it is shown: names of rows that it lists at its end are hidden.
    pub fn sentence(&self, text: &str) -> String {
        let text = &self.quoted(text);
        let found = LISTED.iter().find_map(|words| Some((text.find(words)? + words.len(), words)));
        let Some((end, _)) = found.filter(|_| self.seen.is_some()) else { return text.to_owned() };
        let (lead, listed) = text.split_at(end);
        let (names, more) = match listed.rsplit_once(" and ") {
            Some((names, more)) if more.ends_with(" more") => (names, format!(" and {more}")),
            _ => (listed, String::new()),
        };
        let hidden: Vec<String> = names.split(", ").map(|name| self.id(name)).collect();
        format!("{lead}{}{more}", hidden.join(", "))
    }

    /// A sentence without the names of rows that it quotes.
    fn quoted(&self, text: &str) -> String {
        let quoted = QUOTED.iter().find_map(|words| {
            let from = text.find(words)? + words.len();
            Some((from, from + text[from..].find('\'')?))
        });
        match quoted.filter(|_| self.seen.is_some()) {
            Some((from, to)) => format!("{}{}{}", &text[..from], self.id(&text[from..to]), &text[to..]),
            None => text.to_owned(),
        }
    }
}

/// Behind these words an error quotes the name of a row.
const QUOTED: [&str; 2] = ["the id '", ", row '"];

/// Behind these words the notes on two files that were joined list the rows that are in one of them only.
const LISTED: [&str; 2] = [" is left out: ", " are left out: "];

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
        let classes = "3 rows of classes with fewer than 3 rows left out: c, d";
        assert_eq!(mask.sentence(classes), classes);
    }
}
