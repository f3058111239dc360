//! The figures of a run as SVG: the same tasks give the same bytes. Each is small, labelled, and made for one printed column.

mod axis;
mod by_size;
mod canvas;
mod features;
mod stopping;

use std::collections::BTreeSet;

use crate::analysis::{Answer, History, MethodAnswer, Paths};
use crate::error::{Error, Result};
use crate::files::{Directory, unwritable};
use crate::run::RunInfo;
use crate::select::Method;
use axis::Axis;
use canvas::Panel;

/// The directory of the figures inside the run's.
pub const FIGURES: &str = "figures";

/// Points of a line: more would not be seen.
const MOST_POINTS: usize = 160;

/// A figure, ready to be put into a file or a page.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The file's name without `.svg`.
    pub name: String,
    /// What it is, in a few words.
    pub title: String,
    /// What is to be seen, in a sentence or two.
    pub caption: String,
    /// The method, if it is of one alone.
    pub method: Option<Method>,
    /// The SVG.
    pub svg: String,
}

/// Writes all figures into the directory `figures`, and removes those of ours that no longer apply.
pub fn write_figures(directory: &Directory, figures: &[Figure]) -> Result<()> {
    let directory = directory.subdirectory(FIGURES).map_err(|error| {
        Error::output(format!("the directory cannot be made: {error}"))
            .file(directory.path().join(FIGURES))
            .remedy("move it away or free some space, or choose another directory with --out")
    })?;
    for figure in figures {
        directory.write(&format!("{}.svg", figure.name), figure.svg.as_bytes())?;
    }
    let current: BTreeSet<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    for name in every_name().iter().filter(|name| !current.contains(name.as_str())) {
        // It was not there, or it stays: neither harms.
        let _ = directory.remove(&format!("{name}.svg"));
    }
    directory.sync().map_err(|error| unwritable(directory.path(), &error))
}

const OF_ALL: [&str; 6] =
    ["conformal", "accuracy", "consistency", "similarity", "stopping_sizes", "differences"];
const OF_ONE: [&str; 5] = ["per_class", "frequency", "beta", "heatmap_sizes", "heatmap_splits"];

/// The names that a figure of ours may have.
pub(super) fn every_name() -> Vec<String> {
    let of_one = OF_ONE.iter().flat_map(|name| Method::ALL.map(|method| of(name, method)));
    OF_ALL.iter().map(|name| (*name).to_owned()).chain(of_one).collect()
}

fn of(name: &str, method: Method) -> String {
    format!("{name}_{}", method.name())
}

/// Draws all figures that the history has material for.
pub fn figures(history: &History, answer: &Answer) -> Vec<Figure> {
    let Some(info) = history.info() else { return Vec::new() };
    let material = Material { history, info, answer };
    let mut figures = Vec::new();
    if answer.methods.iter().any(|method| method.splits > 0) {
        figures.push(by_size::conformal(&material));
        figures.push(by_size::accuracy(&material));
        for method in &answer.methods {
            figures.push(by_size::per_class(&material, method));
        }
        figures.push(by_size::consistency(&material));
        figures.extend(by_size::similarity(&material));
        figures.extend(by_size::differences(&material));
        figures.push(stopping::sizes(&material));
        for method in &answer.methods {
            figures.push(stopping::beta(&material, method));
            figures.extend(features::frequency(&material, method));
            figures.push(features::by_size(&material, method));
            figures.push(features::by_split(&material, method));
        }
    }
    figures
}

/// What figures are made of.
struct Material<'a> {
    history: &'a History,
    info: &'a RunInfo,
    answer: &'a Answer,
}

impl<'a> Material<'a> {
    /// The sizes of a method that are drawn, rising.
    fn sizes(&self, answer: &MethodAnswer) -> Vec<usize> {
        thinned(self.paths(answer.method).common_sizes(), answer.chosen.size)
    }

    /// The finished paths of a method.
    fn paths(&self, method: Method) -> Paths<'a> {
        Paths::new(self.history, self.info, method)
    }

    /// What is said of the lines in a caption.
    fn splits(&self, answer: &MethodAnswer) -> String {
        match answer.splits {
            1 => "one split".to_owned(),
            splits => format!("{splits} splits"),
        }
    }
}

/// Sizes, rising, of which no two lie on the same spot of the axis; the ends and the chosen one stay.
pub fn thinned(mut sizes: Vec<usize>, chosen: Option<usize>) -> Vec<usize> {
    sizes.sort_unstable();
    let (Some(&smallest), Some(&largest)) = (sizes.first(), sizes.last()) else { return sizes };
    if sizes.len() <= MOST_POINTS {
        return sizes;
    }
    let axis = Axis::sizes(smallest, largest);
    let mut spot = None;
    sizes.retain(|&size| {
        let own = Some((axis.share(size as f64) * MOST_POINTS as f64) as usize);
        let fresh = own != spot;
        spot = own;
        fresh || size == largest || Some(size) == chosen
    });
    sizes
}

/// Height of a panel's inside, and of what is around it.
const PANEL: i32 = 430;
const ABOVE: i32 = 66;
const BELOW: i32 = 86;

/// The height of a sheet with so many panels below a legend.
fn height(legend: i32, panels: usize) -> i32 {
    legend + panels as i32 * (ABOVE + PANEL + BELOW)
}

/// The n-th panel below a legend.
fn panel(n: usize, legend: i32, x: Axis, y: Axis, right: i32) -> Panel {
    let top = legend + n as i32 * (ABOVE + PANEL + BELOW) + ABOVE;
    Panel { inside: ((canvas::LEFT, top), (canvas::WIDTH - right, top + PANEL)), x, y }
}

/// The axis of all sizes that are drawn in a figure.
fn size_axis<'a>(sizes: impl Iterator<Item = &'a usize>) -> Axis {
    let (lo, hi) = sizes.fold((usize::MAX, 0), |(lo, hi), &size| (lo.min(size), hi.max(size)));
    if lo <= hi { Axis::sizes(lo, hi) } else { Axis::sizes(1, 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_paths_are_thinned_and_keep_their_ends_and_the_chosen_size() {
        let sizes = thinned((1..=20_000).rev().collect(), Some(7_777));
        assert!(sizes.len() <= MOST_POINTS + 3, "{}", sizes.len());
        assert!(sizes.is_sorted() && sizes[0] == 1 && sizes.ends_with(&[20_000]) && sizes.contains(&7_777));
        assert_eq!(thinned(vec![3, 2, 1], None), [1, 2, 3]);
    }
}
