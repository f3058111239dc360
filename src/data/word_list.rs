//! Lists of names: as they are typed, separated by commas, and as files have them, one on each
//! line; with quotes as in CSV.

/// The words of a list: separated by commas, and a word in double quotes may hold commas, as in
/// CSV.
pub fn split(list: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = list;
    if list.is_empty() {
        return words;
    }
    loop {
        let (word, after) = quoted_word(rest).unwrap_or_else(|| match rest.split_once(',') {
            Some((word, after)) => (word.to_owned(), Some(after)),
            None => (rest.to_owned(), None),
        });
        words.push(word);
        match after {
            Some(after) => rest = after,
            None => return words,
        }
    }
}

/// A word in double quotes at the start of a list, and what follows its comma; `None` if the quotes
/// do not end where a word may end.
fn quoted_word(list: &str) -> Option<(String, Option<&str>)> {
    let inner = list.strip_prefix('"')?;
    let mut word = String::new();
    let mut rest = inner;
    loop {
        let (before, after) = rest.split_once('"')?;
        word.push_str(before);
        match after.strip_prefix('"') {
            Some(more) => {
                word.push('"');
                rest = more;
            }
            None if after.is_empty() => return Some((word, None)),
            None => return after.strip_prefix(',').map(|after| (word, Some(after))),
        }
    }
}

/// A list of words such that [`split`] gives them back.
pub fn join(words: &[String]) -> String {
    words.iter().map(|word| listed(word)).collect::<Vec<_>>().join(",")
}

/// A word as one of a list that is separated by commas.
pub fn listed(word: &str) -> String {
    in_list(word, &[','])
}

/// A word as one of a list: in double quotes, as in CSV, if it is empty, holds a separator or
/// begins with a quote.
pub fn in_list(word: &str, separators: &[char]) -> String {
    if word.contains(separators) || word.starts_with('"') || word.is_empty() {
        format!("\"{}\"", word.replace('"', "\"\""))
    } else {
        word.to_owned()
    }
}

/// A list as a file: one word on each line, in quotes if it holds a line break.
pub fn as_lines<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(|word| in_list(word, &['\n', '\r']) + "\n").collect()
}

/// The words of such a file with the numbers of their lines; empty lines and blanks around words do
/// not count.
pub fn from_lines(text: &str) -> Vec<(u64, String)> {
    let mut words = Vec::new();
    let mut line = 1;
    let mut rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    while !rest.is_empty() {
        let (word, after) = quoted_line(rest).unwrap_or_else(|| {
            let (word, after) = rest.split_once('\n').unwrap_or((rest, ""));
            (word.trim().to_owned(), after)
        });
        if !word.is_empty() {
            words.push((line, word));
        }
        line += rest[..rest.len() - after.len()].matches('\n').count() as u64;
        rest = after;
    }
    words
}

/// A word in double quotes at the start of a line, and what follows the line; `None` if the quotes
/// do not end at the end of a line.
fn quoted_line(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut rest = text.strip_prefix('"')?;
    loop {
        let (before, after) = rest.split_once('"')?;
        word.push_str(before);
        if let Some(more) = after.strip_prefix('"') {
            word.push('"');
            rest = more;
            continue;
        }
        let (end, after) = after.split_once('\n').unwrap_or((after, ""));
        return end.trim().is_empty().then_some((word, after));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_a_comma_stands_in_quotes() {
        assert_eq!(split("a,b c, d"), ["a", "b c", " d"]);
        assert_eq!(split("\"notes, free\",age"), ["notes, free", "age"]);
        assert_eq!(split("\"say \"\"a, b\"\"\""), ["say \"a, b\""]);
        assert_eq!(split("\"open,end"), ["\"open", "end"], "quotes that do not end are characters");
        assert_eq!(split("\"a\"b,c"), ["\"a\"b", "c"]);
        assert_eq!(split(""), Vec::<String>::new());
        assert_eq!(split("a,"), ["a", ""]);
        for list in [vec!["a", "b"], vec!["notes, free", "\"x\"", ""], vec!["é,\n", "\"", "a\"b"]]
        {
            let list: Vec<String> = list.into_iter().map(str::to_owned).collect();
            assert_eq!(split(&join(&list)), list);
        }
    }

    #[test]
    fn a_word_with_a_line_break_stands_in_quotes() {
        let words = ["age", "max\nHR", "a \"b\"", "\"c\"", "d\r", "é, f"];
        let text = as_lines(words);
        let found = from_lines(&text);
        assert_eq!(found.iter().map(|(_, word)| word.as_str()).collect::<Vec<_>>(), words);
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 2, 4, 5, 6, 7]);
        let typed = from_lines("\u{feff}  age \r\n\n \nsex\n\"open\n");
        assert_eq!(typed, [(1, "age".into()), (4, "sex".into()), (5, "\"open".into())]);
        assert_eq!(from_lines("\"a\" b\nc"), [(1, "\"a\" b".into()), (2, "c".into())]);
        assert_eq!(from_lines(""), []);
    }
}
