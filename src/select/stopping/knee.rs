//! The knee: where total conformity bends most (docs/method.md section 5).

use super::{Chooses, PathEnd, PathPoints, Rule, StopRule};

/// The entry in the list of rules.
pub const RULE: Rule = Rule {
    rule: StopRule::Knee,
    name: "knee",
    symbol: "knee",
    label: "knee",
    letter: "K",
    prose: |_| "the knee of total conformity along the path".to_owned(),
    chooses: Chooses::ByPath(choose),
};

/// The knee needs the whole path.
fn choose(path: &PathPoints<'_>) -> Option<usize> {
    (path.end == PathEnd::Complete).then(|| knee_rule(path.points, path.units)).flatten()
}

/// Where total conformity T = −size·mean β bends most away from the straight line; `None` on a flat
/// path. A path on which T is highest at its end has its knee there: nothing is lost by removing
/// all others.
pub fn knee_rule(path: &[(usize, f64)], units: usize) -> Option<usize> {
    let conformity = |&(size, mean): &(usize, f64)| -mean * size as f64;
    let last = conformity(path.last()?);
    let highest = path.iter().map(conformity).fold(f64::NEG_INFINITY, f64::max);
    let lowest = path.iter().map(conformity).fold(f64::INFINITY, f64::min);
    if units < 2 || highest - lowest <= 0.0 || !highest.is_finite() {
        return None;
    }
    if highest - last <= 0.0 {
        return path.last().map(|&(size, _)| size);
    }
    let bend = |point: &(usize, f64)| {
        (conformity(point) - last) / (highest - last)
            - (point.0 as f64 - 1.0) / (units as f64 - 1.0)
    };
    // Sizes fall along the path, so `>=` leaves the smaller size on a tie.
    let best = path
        .iter()
        .map(|point| (bend(point), point.0))
        .reduce(|a, b| if b.0 >= a.0 { b } else { a });
    best.map(|(_, size)| size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(means: &[f64]) -> Vec<(usize, f64)> {
        means.iter().enumerate().map(|(t, &mean)| (means.len() - t, mean)).collect()
    }

    #[test]
    fn a_flat_path_has_no_knee() {
        assert_eq!(knee_rule(&path(&[0.0; 8]), 8), None);
        assert_eq!(knee_rule(&[], 0), None);
        assert_eq!(knee_rule(&[(1, -3.0)], 1), None);
    }

    #[test]
    fn a_path_whose_conformity_is_highest_at_one_feature_has_its_knee_there() {
        // T = 3, 4, 5.
        assert_eq!(knee_rule(&path(&[-1.0, -2.0, -5.0]), 3), Some(1));
    }
}
