//! What a column looks like: an index, an id, dates, codes, a code for "missing". Guesses from
//! names and values alone.

/// In a shorter table a column may number the rows, or differ in every row, by chance.
pub(super) const FEWEST_IDS: usize = 20;
/// Columns with fewer distinct whole numbers may be codes.
const MOST_CODES: usize = 10;

const PEOPLE: [&str; 8] =
    ["patient", "patients", "subject", "participant", "person", "individual", "donor", "proband"];
const IDS: [&str; 8] = ["id", "ids", "identifier", "mrn", "ssn", "uuid", "barcode", "accession"];
const COUNTS: [&str; 6] = ["no", "nr", "number", "num", "code", "key"];
const INDICES: [&str; 5] = ["index", "rownames", "row.names", "row_names", "x"];
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The words of a name, in lower case: `PatientID` and `patient_id` are both `patient`, `id`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase()) {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("there is always a word").extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether the name of a column suggests that it identifies rows.
pub(super) fn is_id_name(name: &str) -> bool {
    words(name).iter().any(|word| IDS.contains(&word.as_str()))
}

/// Whether the name of a column suggests that it identifies people, who may have several rows.
pub(super) fn is_person_name(name: &str) -> bool {
    let words = words(name);
    let is = |list: &[&str]| words.iter().any(|word| list.contains(&word.as_str()));
    let known = |word: &String| {
        [&PEOPLE[..], &IDS, &COUNTS, &["name"]].iter().any(|list| list.contains(&word.as_str()))
    };
    !words.is_empty() && words.iter().all(known) && (is(&PEOPLE) || (words.len() == 1 && is(&IDS)))
}

/// Whether a name is one that programs give to row numbers.
pub(super) fn is_index_name(name: &str) -> bool {
    name.starts_with("Unnamed:") || INDICES.contains(&name.to_lowercase().as_str())
}

/// Whether the values are 0, 1, 2, … or 1, 2, 3, ….
pub(super) fn counts(values: &[f64]) -> bool {
    matches!(values.first(), Some(&first) if first == 0.0 || first == 1.0)
        && values.windows(2).all(|pair| pair[1] == pair[0] + 1.0)
}

/// Whether the values are whole numbers that grow from row to row without large gaps.
pub(super) fn numbers_rows(values: &[f64]) -> bool {
    let (Some(&first), Some(&last)) = (values.first(), values.last()) else { return false };
    values.len() > FEWEST_IDS
        && values.iter().all(|value| value.fract() == 0.0)
        && values.windows(2).all(|pair| pair[1] > pair[0])
        && last - first < 10.0 * values.len() as f64
}

/// How many of the present values are different, if all are whole numbers.
pub(super) fn different_integers(values: impl Iterator<Item = f64>) -> Option<usize> {
    let mut present: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
    if present.iter().any(|value| value.fract() != 0.0) {
        return None;
    }
    present.sort_unstable_by(f64::total_cmp);
    present.dedup();
    Some(present.len())
}

/// The few different values, ascending; `None` if there are more than may be codes.
fn few(values: impl Iterator<Item = f64>) -> Option<Vec<f64>> {
    let mut known: Vec<f64> = Vec::new();
    for value in values.filter(|value| !value.is_nan()) {
        if let Err(place) = known.binary_search_by(|known| known.total_cmp(&value)) {
            if known.len() > MOST_CODES {
                return None;
            }
            known.insert(place, value);
        }
    }
    Some(known)
}

/// Whether the values are a few whole numbers, as codes of categories are.
pub(super) fn are_codes(values: impl Iterator<Item = f64>) -> bool {
    few(values).is_some_and(|known| {
        (3..=MOST_CODES).contains(&known.len())
            && known.iter().all(|value| value.fract() == 0.0 && *value >= 0.0)
    })
}

/// Whether a number is the largest that a program can write, in double or single precision.
fn is_largest(value: f64) -> bool {
    value.abs() == f64::MAX || value.abs() as f32 == f32::MAX
}

/// A value that may mean "missing", and in how many rows: −9, 99 and the like, far from all others,
/// or the largest representable number.
pub(super) fn missing_code(values: impl Iterator<Item = f64> + Clone) -> Option<(f64, usize)> {
    const CODES: [f64; 8] = [-9.0, -99.0, -999.0, -9999.0, 9.0, 99.0, 999.0, 9999.0];
    let present = || values.clone().filter(|value| !value.is_nan());
    if let Some(largest) = present().find(|&value| is_largest(value)) {
        let rows = present().filter(|&value| value == largest).count();
        return (2 * rows < present().count()).then_some((largest, rows));
    }
    let (lowest, highest) = present()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(value), high.max(value))
        });
    let code = CODES.into_iter().find(|&code| code == if code < 0.0 { lowest } else { highest })?;
    let others = || present().filter(|&value| value != code);
    let (low, high) = others().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let far = if code < 0.0 { low >= 0.0 } else { code - high > (high - low).max(1.0) };
    let rows = present().filter(|&value| value == code).count();
    let rare = 2 * rows < present().count();
    (far && rare && low.is_finite()).then_some((code, rows))
}

/// Whether text is a date, with or without a time.
pub(super) fn is_date(text: &str) -> bool {
    let day = match text.find(['T', ' ']) {
        Some(at) if at >= 6 && text[at + 1..].starts_with(|c: char| c.is_ascii_digit()) => {
            &text[..at]
        }
        _ => text,
    };
    let Some(sign) = day.chars().find(|c| matches!(c, '-' | '/' | '.' | ' ')) else { return false };
    let parts: Vec<&str> = day.split(sign).collect();
    let [a, b, c] = parts[..] else { return false };
    let number = |part: &str, range: std::ops::RangeInclusive<u32>| {
        part.len() <= 4
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && part.parse().is_ok_and(|n| range.contains(&n))
    };
    let year = |part: &str| part.len() == 4 && number(part, 1800..=2200);
    let short_year = |part: &str| part.len() == 2 && sign != '.' && number(part, 0..=99);
    let month = |part: &str| number(part, 1..=12);
    let day = |part: &str| number(part, 1..=31);
    let named =
        |part: &str| part.get(..3).is_some_and(|m| MONTHS.contains(&m.to_lowercase().as_str()));
    let either = (month(a) && day(b)) || (day(a) && (month(b) || named(b)));
    (year(a) && (month(b) || named(b)) && day(c)) || (either && (year(c) || short_year(c)))
}

/// Whether the values are dates written as one number, 20190304.
pub(super) fn are_dates(values: impl Iterator<Item = f64>) -> bool {
    let mut present = values.filter(|value| !value.is_nan()).peekable();
    let date = |value: f64| {
        let year = (value / 10_000.0).floor();
        let rest = value % 10_000.0;
        let month = (rest / 100.0).floor();
        let day = rest % 100.0;
        value.fract() == 0.0
            && (1900.0..2100.0).contains(&year)
            && (1.0..=12.0).contains(&month)
            && (1.0..=31.0).contains(&day)
    };
    present.peek().is_some() && present.all(date)
}

/// Whether a name is a gene that a spreadsheet took for a date or a number: `1-Mar`, `Sep-02`,
/// `2.31E+13`.
pub(super) fn is_mangled_gene(name: &str) -> bool {
    let number = |part: &str| {
        (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let month = |part: &str| {
        let part = part.to_lowercase();
        MONTHS.contains(&part.as_str()) || part == "sept"
    };
    let dated = name
        .split_once('-')
        .is_some_and(|(a, b)| (number(a) && month(b)) || (month(a) && number(b)));
    let exponent = name.split_once("E+").is_some_and(|(mantissa, power)| {
        mantissa.contains('.') && mantissa.parse::<f64>().is_ok() && number(power)
    });
    dated || exponent
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_ids_and_people() {
        for id in ["id", "ID", "Patient ID", "sampleId", "MRN", "record.id"] {
            assert!(is_id_name(id), "{id}");
        }
        for other in ["acid", "width", "paid", "idle", "lipid"] {
            assert!(!is_id_name(other), "{other}");
        }
        assert!(
            ["patient", "patient_id", "SubjectNo", "donor"].iter().all(|name| is_person_name(name))
        );
        assert!(!["patient_age", "sample_id", "age"].iter().any(|name| is_person_name(name)));
        assert!(is_index_name("Unnamed: 0") && !is_index_name("index finger"));
    }

    #[test]
    fn growing_whole_numbers_number_rows() {
        let from =
            |start: i32, by: i32| (0..30).map(|i| f64::from(start + by * i)).collect::<Vec<_>>();
        assert!(numbers_rows(&from(1001, 3)) && counts(&from(1, 1)) && counts(&from(0, 1)));
        assert!(!numbers_rows(&from(0, 1000)), "as far apart as a quantity");
        assert!(!numbers_rows(&from(0, 1)[..10]) && !counts(&from(5, 1)));
    }

    #[test]
    fn knows_dates() {
        for date in [
            "2019-03-04",
            "4/3/2019",
            "12/31/98",
            "04.03.2019",
            "3-Mar-2020",
            "2019-03-04T10:00:00",
            "2019-03-04 10:00",
        ] {
            assert!(is_date(date), "{date}");
        }
        for other in
            ["1.2.3", "2019", "3-4", "40/50/2019", "a-b-c", "12-34-5678-9", "low/mid/high", ""]
        {
            assert!(!is_date(other), "{other}");
        }
        assert!(
            are_dates([20190304.0, 19991231.0].into_iter()) && !are_dates([20191304.0].into_iter())
        );
    }

    #[test]
    fn a_missing_code_is_far_from_all_others() {
        let code = |values: &[f64]| missing_code(values.iter().copied());
        assert_eq!(code(&[0.0, 1.0, 2.0, 9.0, 1.0, 9.0]), Some((9.0, 2)));
        assert_eq!(code(&[40.0, 95.0, 99.0, 20.0]), None, "an age");
        assert_eq!(code(&[40.0, 51.0, -9.0, 33.0]), Some((-9.0, 1)));
        assert_eq!(code(&[-3.0, 51.0, -9.0, 33.0]), None);
        assert_eq!(code(&[1.5, 2.5, 999.0, 0.5]), Some((999.0, 1)));
        assert_eq!(code(&[7.0, 8.0, 9.0, 8.0]), None);
        assert_eq!(code(&[7.0, f64::MAX, 9.0, -f64::MAX, f64::MAX]), Some((f64::MAX, 2)));
        assert_eq!(code(&[7.0, -3.402_823_5e38, 9.0]), Some((-3.402_823_5e38, 1)));
        assert_eq!(code(&[-f64::MAX, f64::MAX]), None, "half of the rows");
    }

    #[test]
    fn knows_mangled_genes() {
        assert!(
            ["1-Mar", "2-Sep", "Dec-01", "2.31E+13", "1-sept"]
                .iter()
                .all(|name| is_mangled_gene(name))
        );
        assert!(
            !["MARCH1", "SEPT2", "1-2", "Mar", "x-ray"].iter().any(|name| is_mangled_gene(name))
        );
    }
}
