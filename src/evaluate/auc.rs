//! The area under the ROC curve of decision values, as counts of ordered pairs (docs/method.md
//! section 7).

use ndarray::ArrayView2;

use super::conformal::on_grid;

/// For each class, twice the number of pairs (row of the class, row of another) whose decision
/// values f_k are in the right order; a tie counts one. `decisions` is rows × classes.
pub fn concordant_pairs(decisions: ArrayView2<'_, f64>, y: &[usize]) -> Vec<u64> {
    let classes = decisions.ncols();
    let mut rows: Vec<(f64, bool)> = Vec::with_capacity(y.len());
    let mut of_class = |class: usize| {
        rows.clear();
        // Adding zero makes −0 and 0 equal.
        let scored = decisions.column(class).into_iter().zip(y);
        rows.extend(scored.map(|(&f, &y)| (on_grid(f) + 0.0, y == class)));
        rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let (mut pairs, mut others_below) = (0, 0);
        for tied in rows.chunk_by(|a, b| a.0 == b.0) {
            let own = tied.iter().filter(|(_, is_own)| *is_own).count() as u64;
            let others = tied.len() as u64 - own;
            pairs += own * (2 * others_below + others);
            others_below += others;
        }
        pairs
    };
    match classes {
        // The second machine is the mirror image of the first.
        2 => vec![of_class(0); 2],
        _ => (0..classes).map(of_class).collect(),
    }
}

/// The mean over classes of the share of pairs in the right order; classes without rows, or with
/// all rows, are left out. `None` if no class is left.
pub fn auc(concordant: &[u64], rows_of_class: &[u32]) -> Option<f64> {
    let total: u64 = rows_of_class.iter().map(|&n| u64::from(n)).sum();
    let areas: Vec<f64> = concordant
        .iter()
        .zip(rows_of_class)
        .map(|(&pairs, &n)| (pairs, 2 * u64::from(n) * (total - u64::from(n))))
        .filter(|&(_, most)| most > 0)
        .map(|(pairs, most)| pairs as f64 / most as f64)
        .collect();
    (!areas.is_empty()).then(|| areas.iter().sum::<f64>() / areas.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};
    use proptest::prelude::*;

    #[test]
    fn counts_by_hand() {
        // f_1: rows of class 1 have 0.3, 0.9, the others 0.1, 0.3: pairs 3 right, 1 tie.
        let f = array![[-0.1, 0.1], [-0.3, 0.3], [-0.3, 0.3], [-0.9, 0.9]];
        let pairs = concordant_pairs(f.view(), &[0, 0, 1, 1]);
        assert_eq!(pairs, [7, 7]);
        assert_eq!(auc(&pairs, &[2, 2]), Some(7.0 / 8.0));
        assert_eq!(auc(&[0, 0], &[4, 0]), None);
    }

    proptest! {
        #[test]
        fn agrees_with_all_pairs(rows in prop::collection::vec((0_usize..3, -3_i32..3, -3_i32..3, -3_i32..3), 1..25)) {
            let y: Vec<usize> = rows.iter().map(|row| row.0).collect();
            let f = Array2::from_shape_fn((rows.len(), 3), |(i, k)| {
                f64::from([rows[i].1, rows[i].2, rows[i].3][k]) / 3.0
            });
            let slow = |class: usize| -> u64 {
                let mut sum = 0;
                for a in (0..y.len()).filter(|&i| y[i] == class) {
                    for b in (0..y.len()).filter(|&i| y[i] != class) {
                        sum += match f[[a, class]].total_cmp(&f[[b, class]]) {
                            std::cmp::Ordering::Greater => 2,
                            std::cmp::Ordering::Equal => 1,
                            std::cmp::Ordering::Less => 0,
                        };
                    }
                }
                sum
            };
            prop_assert_eq!(concordant_pairs(f.view(), &y), (0..3).map(slow).collect::<Vec<_>>());
        }
    }
}
