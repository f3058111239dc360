//! The different values that the columns of a unit have among the training rows.

use ndarray::ArrayView2;

/// The different values that a unit has among the training rows: 1 − k_u is computed once for each,
/// not once for each row.
#[derive(Debug, Clone)]
pub struct Levels {
    /// The level of each training row.
    codes: Vec<u32>,
    /// How many levels there are among the training rows up to each.
    counts: Vec<u32>,
    /// Levels × columns of the unit.
    cells: Vec<f64>,
    columns: usize,
}

impl Levels {
    /// The levels of some columns of a feature-major matrix.
    pub fn new(x: ArrayView2<'_, f64>, columns: &[usize]) -> Self {
        let compare = |a: usize, b: usize| {
            let by_column = columns.iter().map(|&j| x[[j, a]].total_cmp(&x[[j, b]]));
            by_column.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        };
        let mut rows: Vec<usize> = (0..x.ncols()).collect();
        rows.sort_by(|&a, &b| compare(a, b));
        // For each row, the first one that has its values.
        let mut first: Vec<usize> = (0..x.ncols()).collect();
        for (&before, &row) in rows.iter().zip(rows.iter().skip(1)) {
            if compare(before, row).is_eq() {
                first[row] = first[before];
            }
        }
        // In the order of rows, so that what is read one after the other is stored so.
        let (mut codes, mut counts) =
            (Vec::with_capacity(first.len()), Vec::with_capacity(first.len()));
        let mut cells = Vec::new();
        let mut count = 0;
        for (row, &first) in first.iter().enumerate() {
            if first == row {
                cells.extend(columns.iter().map(|&j| x[[j, row]]));
                codes.push(count);
                count += 1;
            } else {
                codes.push(codes[first]);
            }
            counts.push(count);
        }
        Self { codes, counts, cells, columns: columns.len() }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.cells.len() / self.columns.max(1)
    }

    /// How many there are among the training rows up to one of them; they are numbered in the order
    /// of rows.
    pub fn count_up_to(&self, row: usize) -> usize {
        self.counts[row] as usize
    }

    /// The level of a training row.
    pub fn code(&self, row: usize) -> u32 {
        self.codes[row]
    }

    /// The columns of the unit.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The values of each level.
    pub fn levels(&self) -> impl Iterator<Item = &[f64]> {
        self.cells.chunks_exact(self.columns.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_with_equal_values_share_a_level() {
        let x = ndarray::array![[2.0, 1.0, 2.0, 2.0], [5.0, 7.0, 5.0, 6.0]];
        let levels = Levels::new(x.view(), &[0, 1]);
        assert_eq!((levels.codes, levels.counts), (vec![0, 1, 0, 2], vec![1, 2, 2, 3]));
        assert_eq!(levels.cells, vec![2.0, 5.0, 1.0, 7.0, 2.0, 6.0]);
    }
}
