//! Lists of names as they are typed: separated by commas, as a line of CSV.

/// The words of a list: separated by commas, and a word in double quotes may hold commas, as in CSV.
pub fn split(list: &str) -> Vec<String> {
    let (mut words, mut rest) = (Vec::new(), list);
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

/// A word in double quotes at the start of a list, and what follows its comma; `None` if the quotes do not end where a word may end.
fn quoted_word(list: &str) -> Option<(String, Option<&str>)> {
    let inner = list.strip_prefix('"')?;
    let (mut word, mut rest) = (String::new(), inner);
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

/// A word as one of a list: in double quotes, as in CSV, if it is empty, holds a separator or begins with a quote.
pub fn in_list(word: &str, separators: &[char]) -> String {
    if word.contains(separators) || word.starts_with('"') || word.is_empty() {
        format!("\"{}\"", word.replace('"', "\"\""))
    } else {
        word.to_owned()
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
        for list in [vec!["a", "b"], vec!["notes, free", "\"x\"", ""], vec!["é,\n", "\"", "a\"b"]] {
            let list: Vec<String> = list.into_iter().map(str::to_owned).collect();
            assert_eq!(split(&join(&list)), list);
        }
    }
}
