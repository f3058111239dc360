//! The 95 % band of one split's coverage, and when it may be shown.

use crate::evaluate::{self, Band, Calibrations, CoverageLaw};
use crate::run::{FoldTest, Parts, RunSpec};

/// Whether there is a band: it is the distribution of the coverage of valid p-values that are not
/// smoothed. Where the guarantee is void, coverage has another distribution, and the band would
/// suggest that it is kept; rows of a group are alike, which makes it wider.
fn has_band(spec: &RunSpec) -> bool {
    spec.guaranteed() && !spec.smoothed && spec.schema.group_col.is_none()
}

/// What a caution says about the coverage that would be expected, if there is a band.
pub fn expected_words(band: Option<(f64, f64)>, of: &str) -> String {
    band.map_or_else(String::new, |(lo, hi)| {
        format!(", and {:.0} to {:.0} % would be expected of {of}", 100.0 * lo, 100.0 * hi)
    })
}

/// The law of the number of covered rows of some folds, or of one level of one column of subgroups
/// in them, if these rows are like those that calibrated; none where there is no exact law.
pub fn covered_law<'a>(
    spec: &RunSpec,
    folds: impl Iterator<Item = (&'a FoldTest, Option<(usize, usize)>)>,
) -> Option<CoverageLaw> {
    if !has_band(spec) {
        return None;
    }
    let mut parts = Vec::new();
    for (fold, of) in folds {
        let mut test = vec![0; fold.conformal.len()];
        for (i, row) in fold.rows.iter().enumerate() {
            test[row.y] += usize::from(of.is_none_or(|level| fold.has_level(i, level)));
        }
        if spec.mondrian {
            let of_class = |(&test, &conformal): (&usize, &usize)| Calibrations { test, conformal };
            parts.extend(test.iter().zip(&fold.conformal).map(of_class));
        } else {
            parts.push(Calibrations {
                test: test.iter().sum(),
                conformal: fold.conformal.iter().sum(),
            });
        }
    }
    CoverageLaw::new(&parts, spec.epsilon)
}

/// The band over all test rows of a split; none under Mondrian, where it is by class.
pub fn coverage_band(spec: &RunSpec, parts: &Parts) -> Option<Band> {
    let rows = |counts: &[usize]| counts.iter().sum();
    let band = || evaluate::coverage_band(rows(&parts.test), rows(&parts.conformal), spec.epsilon);
    (has_band(spec) && !spec.mondrian).then(band).flatten()
}

/// The band of each class; none unless p-values are by class.
pub fn class_bands(spec: &RunSpec, parts: &Parts) -> Vec<Option<Band>> {
    let shown = has_band(spec) && spec.mondrian;
    let band = |(&test, &conformal)| {
        shown.then(|| evaluate::coverage_band(test, conformal, spec.epsilon)).flatten()
    };
    parts.test.iter().zip(&parts.conformal).map(band).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Calibration;
    use crate::run::RunOptions;
    use crate::select::Score;

    #[test]
    fn there_is_a_band_only_where_coverage_is_guaranteed() {
        let parts = Parts { train: 40, selection: 20, conformal: vec![12, 8], test: vec![15, 10] };
        let bands = |change: fn(&mut RunOptions)| {
            let mut options = RunOptions::default();
            change(&mut options);
            let spec = options.check().unwrap();
            (
                coverage_band(&spec, &parts).is_some(),
                class_bands(&spec, &parts).iter().all(Option::is_some),
            )
        };
        assert_eq!(bands(|_| {}), (true, false));
        assert_eq!(bands(|options| options.mondrian = true), (false, true));
        let void: [fn(&mut RunOptions); 4] = [
            |options| options.smoothed = true,
            |options| options.score = Score::Published,
            |options| options.split.calibration = Calibration::Shared,
            |options| (options.split.calibration, options.mondrian) = (Calibration::Shared, true),
        ];
        assert_eq!(void.map(bands), [(false, false); 4]);
    }
}
