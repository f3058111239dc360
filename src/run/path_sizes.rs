//! The numbers of features that a path visits: the settings and the table determine them, so a size
//! that is not among them can be refused before anything is computed.

use super::{RunOptions, RunSpec};
use crate::data::Unit;
use crate::error::{Error, Result};
use crate::select::{Method, StepSize, StopRule};
use crate::svm::Estimator;

/// More sizes than this are not all named in a sentence.
const NAMED: usize = 12;

/// The sizes that a path of a method visits, from all units down to those that are never removed,
/// or to one.
pub(super) fn path_sizes(
    spec: &RunOptions,
    method: Method,
    step: StepSize,
    units: usize,
    kept: usize,
) -> Vec<usize> {
    let mut left = units - kept;
    let mut sizes = vec![units];
    // ACM ranks the features itself.
    let prefilter =
        spec.prefilter.filter(|_| spec.estimator == Estimator::Rbf && method != Method::Acm);
    if let Some(most) = prefilter.filter(|&most| most < units && left + kept > kept.max(1)) {
        left = most.max(kept) - kept;
        sizes.push(left + kept);
    }
    loop {
        match step.removed(left, kept) {
            0 => return sizes,
            removed => left -= removed,
        }
        sizes.push(left + kept);
    }
}

/// Refuses a fixed size that some path of the run does not visit.
pub(super) fn refuse_unvisited_size(spec: &RunSpec, units: &[Unit]) -> Result<()> {
    let StopRule::Size(size) = spec.stop else { return Ok(()) };
    let (units, kept) = (units.len(), units.iter().filter(|unit| unit.kept).count());
    if !(kept.max(1)..=units).contains(&size) {
        return Err(Error::usage(format!(
            "--stop {size} is not a size of this path, which goes from {units} to {}",
            kept.max(1)
        ))
        .remedy("choose a size in between")
        .option("--stop"));
    }
    for &method in &spec.methods {
        let sizes = path_sizes(spec, method, spec.step, units, kept);
        if !sizes.contains(&size) {
            return Err(unvisited(spec, size, &sizes));
        }
    }
    Ok(())
}

fn unvisited(spec: &RunSpec, size: usize, sizes: &[usize]) -> Error {
    let prefilter = spec.prefilter.filter(|&most| most < sizes[0]);
    let mut options: Vec<String> =
        prefilter.iter().map(|most| format!("--prefilter {most}")).collect();
    if spec.step != StepSize::default() {
        options.push(format!("--step {}", spec.step));
    }
    let them =
        if options.len() == 1 { options[0].split(' ').next().unwrap_or_default() } else { "them" };
    let remedy = format!("choose one of these sizes, or leave {them} out");
    let options = options.join(" and ");
    let named = |sizes: &[usize]| match sizes {
        [first @ .., last] if !first.is_empty() => {
            let first: Vec<String> = first.iter().map(ToString::to_string).collect();
            format!("{} and {last}", first.join(", "))
        }
        _ => sizes.iter().map(ToString::to_string).collect(),
    };
    let visited = if sizes.len() <= NAMED {
        format!("the sizes {}", named(sizes))
    } else {
        let after = sizes.iter().position(|&other| other < size).unwrap_or(sizes.len() - 1);
        format!(
            "{} sizes, of which {} are the nearest",
            sizes.len(),
            named(&sizes[after.max(1) - 1..=after])
        )
    };
    Error::usage(format!(
        "--stop {size} is not a size of this path, which visits {visited} with {options}"
    ))
    .remedy(remedy)
    .option("--stop")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svm::Gamma;

    fn sizes(change: impl FnOnce(&mut RunOptions), method: Method, kept: usize) -> Vec<usize> {
        let mut options = RunOptions::default();
        change(&mut options);
        path_sizes(&options, method, options.step, 10, kept)
    }

    #[test]
    fn step_and_prefilter_determine_the_sizes() {
        assert_eq!(sizes(|_| {}, Method::Crfe, 0), (1..=10).rev().collect::<Vec<_>>());
        assert_eq!(sizes(|_| {}, Method::Crfe, 3), (3..=10).rev().collect::<Vec<_>>());
        assert_eq!(
            sizes(|options| options.step = StepSize::Count(3), Method::Rfe, 0),
            [10, 7, 4, 1]
        );
        let filtered = |options: &mut RunOptions| {
            (options.estimator, options.gamma) = (Estimator::Rbf, Gamma::Scale);
            options.prefilter = Some(4);
        };
        assert_eq!(sizes(filtered, Method::Crfe, 0), [10, 4, 3, 2, 1]);
        assert_eq!(sizes(filtered, Method::Crfe, 6), [10, 6]);
        assert_eq!(sizes(filtered, Method::Acm, 0).len(), 10, "ACM ranks features by itself");
    }
}
