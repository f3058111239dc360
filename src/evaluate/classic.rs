//! Precision, recall and F1 of single predictions, from a confusion matrix (docs/method.md section
//! 7).

use super::stats::ratio;

/// The scores of one class; an undefined ratio is 0.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClassScores {
    /// Of the rows predicted as this class, the share that is.
    pub precision: f64,
    /// Of the rows of this class, the share predicted so.
    pub recall: f64,
    /// The harmonic mean of the two.
    pub f1: f64,
}

/// The accuracy, and the means over all classes.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct MacroScores {
    /// Share of rows predicted right.
    pub accuracy: f64,
    /// Mean precision.
    pub precision: f64,
    /// Mean recall: the balanced accuracy.
    pub recall: f64,
    /// Mean F1.
    pub f1: f64,
}

/// The scores of each class, from a `classes` × `classes` matrix, row by row; a row is a true
/// class.
pub fn class_scores(confusion: &[u32], classes: usize) -> impl Iterator<Item = ClassScores> + '_ {
    (0..classes).map(move |k| {
        let right = confusion[k * classes + k];
        let of_class: u32 = (0..classes).map(|l| confusion[k * classes + l]).sum();
        let as_class: u32 = (0..classes).map(|l| confusion[l * classes + k]).sum();
        ClassScores {
            precision: ratio(right, as_class),
            recall: ratio(right, of_class),
            f1: ratio(2 * right, as_class + of_class),
        }
    })
}

/// The share of rows predicted right, from the same matrix.
pub fn accuracy(confusion: &[u32], classes: usize) -> f64 {
    let right: u32 = (0..classes).map(|k| confusion[k * classes + k]).sum();
    ratio(right, confusion.iter().sum::<u32>())
}

/// The scores of all classes together, from the same matrix.
pub fn macro_scores(confusion: &[u32], classes: usize) -> MacroScores {
    let accuracy = accuracy(confusion, classes);
    let sum = |sum: MacroScores, class: ClassScores| MacroScores {
        accuracy,
        precision: sum.precision + class.precision,
        recall: sum.recall + class.recall,
        f1: sum.f1 + class.f1,
    };
    let total = class_scores(confusion, classes).fold(MacroScores::default(), sum);
    let mean = |total: f64| ratio(total, classes as f64);
    MacroScores {
        accuracy,
        precision: mean(total.precision),
        recall: mean(total.recall),
        f1: mean(total.f1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Truth by rows: class 0 is 4 right of 5, class 1 is 2 of 4, class 2 is never predicted.
    const CONFUSION: [u32; 9] = [4, 1, 0, 2, 2, 0, 0, 1, 0];

    #[test]
    fn scores_each_class_as_by_hand() {
        let scores: Vec<_> = class_scores(&CONFUSION, 3).collect();
        assert_eq!(
            scores[0],
            ClassScores { precision: 4.0 / 6.0, recall: 4.0 / 5.0, f1: 8.0 / 11.0 }
        );
        assert_eq!(
            scores[1],
            ClassScores { precision: 2.0 / 4.0, recall: 2.0 / 4.0, f1: 4.0 / 8.0 }
        );
        assert_eq!(scores[2], ClassScores::default());
    }

    #[test]
    fn averages_over_all_classes() {
        let scores = macro_scores(&CONFUSION, 3);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} {b}");
        close(scores.accuracy, 6.0 / 10.0);
        close(scores.precision, (2.0 / 3.0 + 0.5) / 3.0);
        close(scores.recall, (0.8 + 0.5) / 3.0);
        close(scores.f1, (8.0 / 11.0 + 0.5) / 3.0);
    }
}
