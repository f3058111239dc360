//! A cell as a number, to the bit what the standard library makes of it, but in less time where
//! there are many digits.

/// The finite number that some bytes spell with a point; `None` if that is to be decided by a
/// closer look.
pub(super) fn plain_number(cell: &[u8]) -> Option<f64> {
    fast_float2::parse(cell).ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_has_the_bits_of_the_standard_library(
            text in "[-+]?[0-9]{0,20}(\\.[0-9]{0,20})?([eE][-+]?[0-9]{0,3})?[e.x ]?"
        ) {
            if let Some(number) = plain_number(text.as_bytes()) {
                prop_assert_eq!(number.to_bits(), text.parse::<f64>().unwrap().to_bits());
            }
        }

        #[test]
        fn every_double_comes_back(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            let read = plain_number(number.to_string().as_bytes()).map(f64::to_bits);
            prop_assert_eq!(read, number.is_finite().then_some(bits));
        }
    }

    #[test]
    fn what_is_no_finite_number_is_left_to_others() {
        for text in [
            "",
            "-",
            ".",
            "-.",
            "1.2.3",
            "--1",
            "nan",
            "inf",
            "-Infinity",
            " 1",
            "1 ",
            "1e400",
            "0x10",
            "1_0",
        ] {
            assert_eq!(plain_number(text.as_bytes()), None, "{text}");
        }
    }
}
