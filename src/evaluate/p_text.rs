//! A p-value as it is shown: wherever one is read by a person it is written here, so that none is
//! rounded to 0.

/// What rounds to 0.000.
const ROUNDS_TO_ZERO: f64 = 0.0005;

/// A p-value with two decimals; a small one is not rounded to 0: `0.03`, `0.004`, `< 0.001`.
pub fn rounded_p(p: f64) -> String {
    match p {
        _ if p < ROUNDS_TO_ZERO => "< 0.001".to_owned(),
        _ if p < 0.005 => format!("{p:.3}"),
        _ => format!("{p:.2}"),
    }
}

/// The same after the name: `p = 0.03`, `p < 0.001`.
pub fn p_words(p: f64) -> String {
    let value = rounded_p(p);
    if value.starts_with('<') { format!("p {value}") } else { format!("p = {value}") }
}

/// The p-value of a label, which is compared with ε and so has three decimals, in five characters:
/// `0.048`, `<.001`.
pub fn label_p(p: f64) -> String {
    if p < ROUNDS_TO_ZERO { "<.001".to_owned() } else { format!("{p:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_p_is_rounded_to_zero() {
        let words = [0.93, 0.005, 0.0049, 0.001, 0.0004].map(p_words);
        assert_eq!(words, ["p = 0.93", "p = 0.01", "p = 0.005", "p = 0.001", "p < 0.001"]);
        let labels = [1.0, 0.0484, 0.0005, 0.00049, 0.0].map(label_p);
        assert_eq!(labels, ["1.000", "0.048", "0.001", "<.001", "<.001"]);
    }
}
