//! The text format of LIBSVM and svmlight: a label and `index:value` pairs on each line; values
//! that are not listed are zero.

use std::io::Write;

use super::write_cell;
use crate::data::memory;
use crate::data::names::short;
use crate::error::{Error, Result};

/// The column of labels.
const LABEL: &str = "class";

/// Whether the first lines are labels with pairs.
pub(in crate::data) fn is_libsvm(head: &[u8]) -> bool {
    const LINES: usize = 5;
    let Some(last) = head.iter().rposition(|&byte| byte == b'\n') else { return false };
    let Ok(text) = str::from_utf8(&head[..last]) else { return false };
    let mut pairs = 0;
    let lines = text.lines().map(content).filter(|line| !line.is_empty()).take(LINES);
    let fits = |line: &str| {
        let mut words = line.split_whitespace();
        let label = words.next().is_some_and(|word| word.parse::<f64>().is_ok());
        label
            && words.all(|word| {
                pairs += 1;
                pair(word).is_some()
            })
    };
    lines.collect::<Vec<_>>().into_iter().all(fits) && pairs > 0
}

/// A line without its comment.
fn content(line: &str) -> &str {
    line.split_once('#').map_or(line, |(content, _)| content).trim()
}

/// An index and its value; `qid` is an index without a number.
fn pair(word: &str) -> Option<(Option<usize>, &str)> {
    let (index, value) = word.split_once(':')?;
    value.parse::<f64>().ok()?;
    if index == "qid" { Some((None, value)) } else { Some((Some(index.parse().ok()?), value)) }
}

/// The table, separated by commas. Its header has the number 0, so that every line keeps its own.
pub(in crate::data) fn to_csv(text: &str, limit: u64) -> Result<Vec<u8>> {
    let mut lowest = usize::MAX;
    let mut highest = 0;
    let mut rows = 0_u64;
    for (number, line) in (1..).zip(text.lines().map(content)) {
        let mut before = None;
        rows += u64::from(!line.is_empty());
        for word in line.split_whitespace().skip(1) {
            let refuse = |what: String| Error::data(what).line(number);
            let (index, _) = pair(word).ok_or_else(|| {
                refuse(format!("'{}' is not an index and a number", short(word)))
                    .remedy("write index:value")
            })?;
            let Some(index) = index else { continue };
            if before.is_some_and(|before| index <= before) {
                return Err(refuse(format!(
                    "the index {index} does not come after the previous one"
                ))
                .remedy("sort the pairs of a line by index, each index once"));
            }
            before = Some(index);
            (lowest, highest) = (lowest.min(index), highest.max(index));
        }
    }
    // Indices start at 1, except in files that have a 0.
    let first = lowest.min(1);
    let width = if lowest > highest { 0 } else { (highest - first).saturating_add(1) };
    let cells = rows.saturating_mul(width as u64);
    if memory::PROGRAM.saturating_add(cells.saturating_mul(2)) > limit {
        return Err(Error::data(format!(
            "{rows} rows of {width} columns need too much memory as a full table"
        ))
        .remedy(
            "leave out columns that are zero in nearly all rows, or allow more with --memory-limit",
        ));
    }
    let mut csv = Vec::new();
    memory::reserve(&mut csv, (2 * cells) as usize)?;
    csv.extend_from_slice(LABEL.as_bytes());
    (first..first + width)
        .for_each(|index| write!(csv, ",f{index}").expect("a vector takes all bytes"));
    csv.push(b'\n');
    for line in text.lines().map(content) {
        let mut words = line.split_whitespace();
        if let Some(label) = words.next() {
            write_cell(&mut csv, label);
            let mut next = first;
            for (index, value) in
                words.filter_map(pair).filter_map(|(index, value)| Some((index?, value)))
            {
                (next..index).for_each(|_| csv.extend_from_slice(b",0"));
                csv.push(b',');
                csv.extend_from_slice(value.as_bytes());
                next = index + 1;
            }
            (next..first + width).for_each(|_| csv.extend_from_slice(b",0"));
        }
        csv.push(b'\n');
    }
    Ok(csv)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_a_full_table() {
        let text = "1 1:0.5 3:-2e3 # a comment\n\n-1 2:7\n+1\n";
        let csv = String::from_utf8(to_csv(text, u64::MAX).unwrap()).unwrap();
        assert_eq!(csv, "class,f1,f2,f3\n1,0.5,0,-2e3\n\n-1,0,7,0\n+1,0,0,0\n");
        let csv = String::from_utf8(to_csv("2 qid:3 0:1 1:4\n", u64::MAX).unwrap()).unwrap();
        assert_eq!(csv, "class,f0,f1\n2,1,4\n");
    }

    #[test]
    fn is_recognised_by_its_pairs() {
        assert!(is_libsvm(b"1 1:0.5 2:3\n-1 2:1\n"));
        assert!(
            !is_libsvm(b"1 2 3\n4 5 6\n")
                && !is_libsvm(b"a,b\n1,2\n")
                && !is_libsvm(b"12:30 1:2\n")
        );
    }

    #[test]
    fn refuses_what_is_not_a_pair_and_what_is_out_of_order() {
        let fault = |text: &str| to_csv(text, u64::MAX).unwrap_err().to_string();
        assert_eq!(
            fault("1 1:2\n1 1:x\n"),
            "line 2: '1:x' is not an index and a number; write index:value"
        );
        assert_eq!(
            fault("1 2:2 2:3\n"),
            "line 1: the index 2 does not come after the previous one; sort the pairs of a line by index, each index once"
        );
        assert!(to_csv("1 99999999999999999:1\n", u64::MAX).is_err());
        assert!(to_csv("1 18446744073709551615:1\n", 1 << 30).is_err());
    }
}
