//! Which column holds the classes, and whether it can.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::names;
use crate::error::{Error, Result, counted};

/// Names with more distinct values than this may be ids.
const MOST_CLASSES: usize = 50;
/// Numbers with more distinct values than this may be a quantity.
const MOST_GRADES: usize = 20;
const USUAL_NAMES: [&str; 6] = ["class", "target", "label", "y", "outcome", "diagnosis"];

/// How the class column was found, as the end of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    Specified,
    ByName,
    Last,
}

/// Whether this is a common name for a class column.
pub(super) fn is_usual(name: &str) -> bool {
    USUAL_NAMES.iter().any(|usual| name.eq_ignore_ascii_case(usual))
}

/// The position of the class column: as specified by name or 1-based position, else by a usual
/// name, else the last that is not taken for something else; `named` leaves out columns at the end
/// that have no name.
pub(super) fn choose(
    header: &[String],
    named: usize,
    specified: Option<&str>,
    taken: &[usize],
) -> Result<(usize, Found)> {
    if let Some(specified) = specified {
        return names::find(header, specified, "--target")
            .map(|position| (position, Found::Specified));
    }
    let free: Vec<_> = (0..named).filter(|position| !taken.contains(position)).collect();
    let called = |name: &str| {
        free.iter().copied().find(|&position| header[position].eq_ignore_ascii_case(name))
    };
    if let Some(position) = USUAL_NAMES.iter().find_map(|name| called(name)) {
        return Ok((position, Found::ByName));
    }
    let last = free.last().map(|&position| (position, Found::Last));
    last.ok_or_else(|| {
        Error::usage("no column is left for the classes")
            .remedy("name the class column with --target")
            .option("--target")
    })
}

/// The classes, and which rows have which.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Classes {
    /// Labels, sorted.
    pub(super) labels: Vec<String>,
    /// For each row that has a class its position in the file, from 0.
    pub(super) rows: Vec<usize>,
    /// For each of these rows the index of its class.
    pub(super) y: Vec<usize>,
}

/// The longest label of a class, in bytes: it is repeated in every row of a table.
pub const LONGEST_LABEL: usize = 4096;

/// What becomes of classes with few rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rare {
    /// Classes with fewer rows are rare.
    pub fewest: usize,
    /// The class they become; without it their rows are left out.
    pub merged: Option<String>,
}

/// `drop:5` or `merge:5:other`.
impl FromStr for Rare {
    type Err = String;
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let parts: Vec<&str> = text.splitn(3, ':').map(str::trim).collect();
        let (fewest, merged) = match parts[..] {
            ["drop", fewest] => (fewest, None),
            ["merge", fewest, name] if !name.is_empty() => (fewest, Some(name.to_owned())),
            _ => ("", None),
        };
        let refusal = "write drop:5, or merge:5:other with the name of the merged class";
        Ok(Self { fewest: fewest.parse().map_err(|_| refusal)?, merged })
    }
}

impl fmt::Display for Rare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.merged {
            None => write!(f, "drop:{}", self.fewest),
            Some(name) => write!(f, "merge:{}:{name}", self.fewest),
        }
    }
}

impl Rare {
    /// The resulting classes, and a description of what was done.
    pub(super) fn settle(
        &self,
        levels: &[String],
        codes: &[Option<u32>],
    ) -> Option<(Vec<String>, Vec<Option<u32>>, String)> {
        let mut counts = vec![0; levels.len()];
        codes.iter().flatten().for_each(|&code| counts[code as usize] += 1);
        let rare = |code: usize| counts[code] < self.fewest;
        if !(0..levels.len()).any(rare) {
            return None;
        }
        let (mut labels, mut known) = (Vec::new(), HashMap::new());
        let place: Vec<Option<u32>> = levels
            .iter()
            .enumerate()
            .map(|(code, level)| {
                let label = if rare(code) { self.merged.as_ref()? } else { level };
                let place = *known.entry(label).or_insert_with(|| {
                    labels.push(label.to_owned());
                    labels.len() - 1
                });
                u32::try_from(place).ok()
            })
            .collect();
        let names = (0..levels.len()).filter(|&code| rare(code)).map(|code| levels[code].as_str());
        let names = names::listed(names);
        let rows: usize = counts.iter().filter(|&&count| count < self.fewest).sum();
        let done = match &self.merged {
            Some(merged) => format!(
                "{} of classes with fewer than {} rows are now '{merged}': {names}",
                counted(rows, "row"),
                self.fewest
            ),
            None => format!(
                "{} of classes with fewer than {} rows left out: {names}",
                counted(rows, "row"),
                self.fewest
            ),
        };
        Some((
            labels,
            codes.iter().map(|code| code.and_then(|code| place[code as usize])).collect(),
            done,
        ))
    }
}

impl Classes {
    /// Interprets a text column as classes.
    pub(super) fn new(levels: &[String], codes: &[Option<u32>]) -> Result<Self> {
        let another = "name the class column with --target";
        let present = codes
            .iter()
            .enumerate()
            .filter_map(|(row, code)| code.map(|code| (row, code as usize)));
        let (rows, codes): (Vec<_>, Vec<_>) = present.unzip();
        match levels {
            [] => return Err(Error::data("no row has a class").remedy(another)),
            [one] => {
                let what = format!("every row has the class '{one}', and a classifier needs two");
                return Err(Error::data(what).remedy(another));
            }
            _ => {}
        }
        if let Some(long) = levels.iter().find(|label| label.len() > LONGEST_LABEL) {
            let start: String = long.chars().take(30).collect();
            let what = format!(
                "the class '{start}…' is {} bytes long, and a label may have {LONGEST_LABEL}: it looks like free text",
                long.len()
            );
            return Err(Error::data(what).remedy(another));
        }
        let count = levels.len();
        if let Some(numbers) = all_numbers(levels)
            && count > MOST_GRADES
            && (numbers.iter().any(|number| number.fract() != 0.0) || 5 * count > rows.len())
        {
            let what = format!(
                "the class column has {count} different numbers: it looks like a continuous quantity"
            );
            return Err(Error::data(what)
                .remedy("name the class column with --target, or bin this one")
                .option("--target"));
        }
        if count > MOST_CLASSES && 5 * count > rows.len() {
            let what =
                format!("the class column has {count} different values: it looks like an id");
            return Err(Error::data(what).remedy(another));
        }
        let (labels, place) = sort_levels(levels);
        Ok(Self { labels, rows, y: codes.into_iter().map(|code| place[code]).collect() })
    }
}

/// The levels sorted (as numbers if all are numbers), and for each its place there.
pub(super) fn sort_levels(levels: &[String]) -> (Vec<String>, Vec<usize>) {
    let numbers = all_numbers(levels);
    let by_number =
        |a: usize, b: usize| numbers.as_ref().map_or(Ordering::Equal, |n| n[a].total_cmp(&n[b]));
    let mut order: Vec<_> = (0..levels.len()).collect();
    order.sort_by(|&a, &b| by_number(a, b).then_with(|| levels[a].cmp(&levels[b])));
    let mut place = vec![0; levels.len()];
    for (i, &level) in order.iter().enumerate() {
        place[level] = i;
    }
    (order.into_iter().map(|level| levels[level].clone()).collect(), place)
}

fn all_numbers(levels: &[String]) -> Option<Vec<f64>> {
    levels
        .iter()
        .map(|level| level.parse().ok().filter(|number: &f64| number.is_finite()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings<S: ToString>(values: impl IntoIterator<Item = S>) -> Vec<String> {
        values.into_iter().map(|value| value.to_string()).collect()
    }

    fn classes(levels: &[String], rows: u32) -> Result<Classes> {
        let codes: Vec<_> = (0..rows).map(|row| Some(row % levels.len() as u32)).collect();
        Classes::new(levels, &codes)
    }

    #[test]
    fn the_class_column_is_told_or_usual_or_last() {
        let header = strings(["Diagnosis", "a", "Class", "b"]);
        assert_eq!(choose(&header, 4, Some("a"), &[]).unwrap(), (1, Found::Specified));
        assert_eq!(choose(&header, 4, Some("4"), &[]).unwrap(), (3, Found::Specified));
        assert_eq!(choose(&header, 4, None, &[]).unwrap(), (2, Found::ByName));
        assert_eq!(choose(&header, 4, None, &[0, 2, 3]).unwrap(), (1, Found::Last));
        assert_eq!(choose(&header[..2], 2, None, &[]).unwrap(), (0, Found::ByName));
        assert_eq!(choose(&strings(["u", "v"]), 2, None, &[]).unwrap(), (1, Found::Last));
        for wrong in ["0", "5", "zzz"] {
            assert_eq!(choose(&header, 4, Some(wrong), &[]).unwrap_err().exit_code(), 2);
        }
    }

    #[test]
    fn a_name_that_is_a_number_comes_before_a_position() {
        assert_eq!(choose(&strings(["3", "2", "1"]), 3, Some("1"), &[]).unwrap().0, 2);
    }

    #[test]
    fn classes_sort_as_numbers_when_all_are() {
        let codes = [Some(0), None, Some(1), Some(2)];
        let sorted = Classes::new(&strings(["10", "2", "-1"]), &codes).unwrap();
        assert_eq!(sorted.labels, ["-1", "2", "10"]);
        assert_eq!((sorted.rows, sorted.y), (vec![0, 2, 3], vec![2, 1, 0]));
        assert_eq!(
            Classes::new(&strings(["10", "2", "x"]), &codes).unwrap().labels,
            ["10", "2", "x"]
        );
    }

    #[test]
    fn refuses_what_cannot_be_classes() {
        let say = |levels: &[String], rows| classes(levels, rows).unwrap_err().to_string();
        assert_eq!(
            say(&strings(["yes"]), 9),
            "every row has the class 'yes', and a classifier needs two; name the class column with --target"
        );
        assert_eq!(
            say(&strings((0..200).map(|i| format!("p{i}"))), 400),
            "the class column has 200 different values: it looks like an id; name the class column with --target"
        );
        let continuous = "it looks like a continuous quantity; name the class column with --target, or bin this one";
        assert!(say(&strings((0..30).map(|i| f64::from(i) + 0.5)), 900).ends_with(continuous));
        assert!(say(&strings(0..30), 100).ends_with(continuous));
        assert_eq!(Classes::new(&[], &[None]).unwrap_err().exit_code(), 3);
    }

    #[test]
    fn rare_classes_are_left_out_or_merged() {
        let levels = strings(["a", "b", "c", "d"]);
        let codes: Vec<_> = [0, 0, 0, 1, 1, 1, 2, 3, 3].map(Some).to_vec();
        let settle = |rare: &str| rare.parse::<Rare>().unwrap().settle(&levels, &codes);
        assert!(settle("drop:0").is_none() && settle("drop:1").is_none());
        let (labels, codes_left, said) = settle("drop:3").unwrap();
        assert_eq!((labels, codes_left[6..].to_vec()), (strings(["a", "b"]), vec![None; 3]));
        assert_eq!(said, "3 rows of classes with fewer than 3 rows left out: c, d");
        let (labels, merged, said) = settle("merge:3: other").unwrap();
        assert_eq!(
            (labels, merged[6..].to_vec()),
            (strings(["a", "b", "other"]), vec![Some(2); 3])
        );
        assert_eq!(said, "3 rows of classes with fewer than 3 rows are now 'other': c, d");
        assert_eq!(settle("merge:4:a").unwrap().0, ["a"]);
        for text in
            ["", "5", "drop", "drop:", "drop:-1", "drop:5:x", "merge:5", "merge:5: ", "keep:5"]
        {
            assert!(text.parse::<Rare>().is_err(), "{text}");
        }
        assert_eq!("merge:5:a:b".parse::<Rare>().unwrap().to_string(), "merge:5:a:b");
    }

    #[test]
    fn many_names_with_many_rows_each_are_classes() {
        let levels = strings((0..90).map(|i| format!("tissue {i}")));
        assert_eq!(classes(&levels, 9000).unwrap().labels.len(), 90);
    }

    #[test]
    fn many_integer_grades_with_many_rows_each_are_classes() {
        assert_eq!(classes(&strings(0..30), 300).unwrap().labels.len(), 30);
    }
}
