//! Columns by the names that a user typed, and names in sentences and on command lines.

use super::word_list;
use crate::error::{Error, Result};

/// The position of the column called `name`, which the user gave with `option`; or, if no column
/// has that name, of the column at that 1-based position.
pub(super) fn find(header: &[String], name: &str, option: &'static str) -> Result<usize> {
    let name = name.trim();
    let by_position =
        || name.parse().ok().filter(|n| (1..=header.len()).contains(n)).map(|n| n - 1);
    let by_name = header.iter().position(|column| column == name);
    by_name.or_else(by_position).ok_or_else(|| unknown("column", name, option, header))
}

/// Options that take several names.
const LISTS: [&str; 4] = ["--drop", "--keep", "--categorical", "--subgroups"];

/// The error for a name that is not there.
pub(super) fn unknown<S: AsRef<str>>(
    what: &str,
    name: &str,
    option: &'static str,
    known: &[S],
) -> Error {
    let is_list = LISTS.contains(&option);
    let mut near = nearest(name, known);
    if is_list && near.is_empty() {
        // The part of a name up to a comma, or behind one, that was not put in quotes.
        let holds =
            |known: &&str| known.contains(',') && known.split(',').any(|part| part.trim() == name);
        near = known.iter().map(AsRef::as_ref).filter(holds).take(3).collect();
    }
    let remedy = if !near.is_empty() {
        let typed = if is_list { listed_word } else { quoted };
        format!(
            "did you mean {}?",
            near.iter().map(|name| typed(name)).collect::<Vec<_>>().join(" or ")
        )
    } else {
        format!("there are {}", listed(known.iter().map(AsRef::as_ref)))
    };
    Error::usage(format!("{option} names the {what} '{}', which does not exist", short(name)))
        .remedy(remedy)
        .option(option)
}

/// Up to ten names, each cut where it is long, and how many more.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    listed_whole(names.into_iter().map(short))
}

/// A label whose middle is left out where it is long: both ends may matter.
pub(super) fn elided(label: &str) -> String {
    const LONGEST: usize = 32;
    let length = label.chars().count();
    if length <= LONGEST {
        return label.to_owned();
    }
    let half = (LONGEST - 1) / 2;
    label.chars().take(half).chain(['…']).chain(label.chars().skip(length - half)).collect()
}

/// Up to ten words as they are, and how many more.
pub(super) fn listed_whole(words: impl IntoIterator<Item = String>) -> String {
    const SHOWN: usize = 10;
    let mut names = words.into_iter();
    let shown: Vec<_> = names.by_ref().take(SHOWN).collect();
    match names.count() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Up to three known names that differ from `name` by a typing error.
fn nearest<'a, S: AsRef<str>>(name: &str, known: &'a [S]) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    let most = (wanted.chars().count() / 3).min(3);
    let mut near: Vec<_> = known
        .iter()
        .map(|known| (edits(&wanted, &known.as_ref().to_lowercase()), known.as_ref()))
        .filter(|&(edits, _)| edits <= most)
        .collect();
    near.sort_by_key(|&(edits, _)| edits);
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Levenshtein's distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<_> = b.chars().collect();
    let mut row: Vec<_> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// A name as one of a list, as `--drop` takes it, on a command line.
pub(super) fn listed_word(name: &str) -> String {
    quoted(&word_list::listed(name))
}

/// An option with a name as one of its list. A name that begins like an option is joined to it by
/// an equals sign.
pub(super) fn option_with(option: &str, name: &str) -> String {
    let sign = if name.starts_with('-') { '=' } else { ' ' };
    format!("{option}{sign}{}", listed_word(name))
}

/// A name as one word of a command line.
pub(super) fn quoted(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '=');
    if name.chars().all(plain) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

/// At most 40 characters of a value, for a sentence.
pub(super) fn short(value: &str) -> String {
    match value.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits() {
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("same", "same"), 0);
    }

    #[test]
    fn names_what_is_near_or_what_there_is() {
        let header = ["Age", "gender", "chest pain", "class"].map(String::from);
        let say = |name| find(&header, name, "--drop").unwrap_err().to_string();
        assert_eq!(
            say("age"),
            "--drop names the column 'age', which does not exist; did you mean Age?"
        );
        assert!(say("chst pain").ends_with("did you mean 'chest pain'?"));
        assert!(say("weight").ends_with("there are Age, gender, chest pain, class"));
        assert_eq!(find(&header, " gender ", "--drop").unwrap(), 1);
        assert_eq!(find(&header, "3", "--drop").unwrap(), 2);
        assert_eq!(
            find(&["2".to_owned(), "1".to_owned()], "1", "--drop").unwrap(),
            1,
            "a name comes first"
        );
        assert!(find(&header, "5", "--drop").is_err() && find(&header, "0", "--drop").is_err());
    }

    #[test]
    fn long_lists_are_capped() {
        let names: Vec<_> = (0..13).map(|i| format!("x{i}")).collect();
        assert_eq!(
            listed(names.iter().map(String::as_str)),
            "x0, x1, x2, x3, x4, x5, x6, x7, x8, x9 and 3 more"
        );
    }
}
