//! The figures of a run as SVG: the same tasks give the same bytes. Each is small, labelled, and
//! made for one printed column.

mod axis;
mod by_size;
mod effects;
mod features;
mod options;
mod panel;
#[cfg(feature = "print")]
mod print;
mod stopping;
mod svg;

use std::collections::BTreeSet;

use crate::analysis::{Answer, History, MethodAnswer, Paths};
use crate::error::{Error, Result};
use crate::files::{Directory, unwritable};
use crate::run::{EffectCurve, RunInfo};
use crate::select::Method;
use axis::Axis;
use options::SheetSize;
pub use options::{FigureOptions, Format};
use panel::Panel;

/// The directory of the figures inside the run's.
pub const FIGURES: &str = "figures";

/// Points of a line: more would not be seen.
const MOST_POINTS: usize = 160;

/// A figure, ready to be put into a file or a page.
#[derive(Debug, Clone)]
pub struct Figure {
    /// The file's name without its extension.
    pub name: String,
    /// What it is, in a few words.
    pub title: String,
    /// What it shows, in a sentence or two.
    pub caption: String,
    /// The method, if it shows one alone.
    pub method: Option<Method>,
    pub svg: String,
}

/// Writes all figures in all formats into the directory `figures`, and removes earlier ones that no
/// longer apply; returns warnings.
pub fn write_figures(
    directory: &Directory,
    figures: &[Figure],
    formats: &[Format],
) -> Result<Vec<String>> {
    let directory = directory.subdirectory(FIGURES).map_err(|error| {
        Error::output(format!("the directory cannot be created: {error}"))
            .file(directory.path().join(FIGURES))
            .remedy("move it away or free some space, or choose another directory with --out")
    })?;
    let mut current = BTreeSet::new();
    let mut write = |name: &str, format: Format, bytes: &[u8]| {
        let name = format!("{name}.{format}");
        directory.write(&name, bytes)?;
        current.insert(name);
        Ok::<(), Error>(())
    };
    for figure in figures.iter().filter(|_| formats.contains(&Format::Svg)) {
        write(&figure.name, Format::Svg, figure.svg.as_bytes())?;
    }
    let notes = printed(figures, formats, &mut write)?;
    for name in every_name().iter().filter(|name| !current.contains(*name)) {
        // Ignore: it may not exist.
        let _ = directory.remove(name);
    }
    directory.sync().map_err(|error| unwritable(directory.path(), &error))?;
    Ok(notes)
}

/// Writes a file of a figure.
type Write<'a> = dyn FnMut(&str, Format, &[u8]) -> Result<()> + 'a;

/// Writes the formats other than SVG; returns warnings.
#[cfg(feature = "print")]
fn printed(figures: &[Figure], formats: &[Format], write: &mut Write<'_>) -> Result<Vec<String>> {
    let (pdf, png) = (formats.contains(&Format::Pdf), formats.contains(&Format::Png));
    if !pdf && !png {
        return Ok(Vec::new());
    }
    let printer = print::Printer::new(figures.iter().map(|figure| figure.svg.as_str()));
    for figure in figures {
        if pdf {
            write(&figure.name, Format::Pdf, &printer.pdf(&figure.svg)?)?;
        }
        if png {
            write(&figure.name, Format::Png, &printer.png(&figure.svg)?)?;
        }
    }
    let missing: String = printer.missing.iter().take(10).collect();
    let note = || {
        format!(
            "no font on this machine has the letters {missing}: they are missing in the figures as PDF and PNG; install a font that has \
             them (such as fonts-noto-cjk), or use the SVG files"
        )
    };
    Ok((!missing.is_empty()).then(note).into_iter().collect())
}

/// [`Format`] accepts nothing else in this build.
#[cfg(not(feature = "print"))]
fn printed(_: &[Figure], _: &[Format], _: &mut Write<'_>) -> Result<Vec<String>> {
    Ok(Vec::new())
}

const OF_ALL: [&str; 7] =
    ["size", "conformal", "accuracy", "consistency", "similarity", "stopping_sizes", "differences"];
const OF_ONE: [&str; 6] =
    ["per_class", "frequency", "effects", "beta", "heatmap_sizes", "heatmap_splits"];

/// The names that files of figures may have.
pub(super) fn every_name() -> Vec<String> {
    let of_one = OF_ONE.iter().flat_map(|name| Method::ALL.map(|method| of(name, method)));
    let names = OF_ALL.iter().map(|name| (*name).to_owned()).chain(of_one);
    names.flat_map(|name| Format::ALL.map(|format| format!("{name}.{format}"))).collect()
}

fn of(name: &str, method: Method) -> String {
    format!("{name}_{}", method.name())
}

/// Draws all figures that the history has content for, the most important first; `effects` are
/// those of the methods' lists.
pub fn figures(
    history: &History,
    answer: &Answer,
    effects: &[(Method, Vec<EffectCurve>)],
    options: &FigureOptions,
) -> Result<Vec<Figure>> {
    let layout = options.layout()?;
    let Some(info) = history.info() else { return Ok(Vec::new()) };
    let content = FigureContent { history, info, answer, layout };
    let methods = &answer.methods;
    if methods.iter().all(|method| method.splits == 0) {
        return Ok(Vec::new());
    }
    let mut figures = vec![by_size::size(&content)];
    figures.extend(methods.iter().filter_map(|method| features::frequency(&content, method)));
    for (method, curves) in effects {
        let answer = methods.iter().find(|answer| answer.method == *method);
        figures.extend(answer.and_then(|answer| effects::effects(&content, answer, curves)));
    }
    figures.push(by_size::conformal(&content));
    figures.push(by_size::accuracy(&content));
    figures.extend(methods.iter().map(|method| by_size::per_class(&content, method)));
    figures.push(by_size::consistency(&content));
    figures.extend(by_size::similarity(&content));
    figures.extend(by_size::differences(&content));
    figures.push(stopping::sizes(&content));
    for method in methods {
        figures.push(features::by_size(&content, method));
        figures.push(features::by_split(&content, method));
        figures.push(stopping::beta(&content, method));
    }
    Ok(figures)
}

/// What figures are made of.
struct FigureContent<'a> {
    history: &'a History,
    info: &'a RunInfo,
    answer: &'a Answer,
    layout: SheetSize,
}

impl<'a> FigureContent<'a> {
    /// The sizes of a method that are drawn, rising.
    fn sizes(&self, answer: &MethodAnswer) -> Vec<usize> {
        thinned(self.paths(answer.method).common_sizes(), answer.chosen.size)
    }

    /// The finished paths of a method.
    fn paths(&self, method: Method) -> Paths<'a> {
        Paths::new(self.history, self.info, method)
    }

    /// The number of splits, for a caption.
    fn splits(&self, answer: &MethodAnswer) -> String {
        match answer.splits {
            1 => "one split".to_owned(),
            splits => format!("{splits} splits"),
        }
    }
}

/// Sizes, rising, of which no two lie on the same spot of the axis; the ends and the chosen one
/// stay.
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

/// Room left of a panel's inside, for its ticks, the name of its axis and its letter.
const LEFT: i32 = 140;
const RIGHT: i32 = 30;
const ABOVE: i32 = 66;
const BELOW: i32 = 86;
/// Height of a panel's inside: of few, and of more than two.
const TALL: i32 = 430;
const LOW: i32 = 320;
/// From this width on panels are side by side.
const WIDE: i32 = 1700;

/// How the panels of a figure are laid out, below a legend.
#[derive(Clone, Copy)]
struct Panels {
    layout: SheetSize,
    legend: i32,
    count: usize,
}

impl Panels {
    fn columns(self) -> usize {
        if self.layout.width >= WIDE { self.count.clamp(1, 2) } else { 1 }
    }

    fn inside_height(self) -> i32 {
        if self.count > 2 { LOW } else { TALL }
    }

    /// The height of the sheet.
    fn height(self) -> i32 {
        let rows = self.count.div_ceil(self.columns()) as i32;
        self.legend + rows * (ABOVE + self.inside_height() + BELOW)
    }

    /// The n-th panel.
    fn panel(self, n: usize, x: Axis, y: Axis) -> Panel {
        let columns = self.columns();
        let row = (n / columns) as i32;
        let column = (n % columns) as i32;
        let width = self.layout.width / columns as i32;
        let outer_left = column * width;
        let top = self.legend + row * (ABOVE + self.inside_height() + BELOW) + ABOVE;
        let inside =
            ((outer_left + LEFT, top), (outer_left + width - RIGHT, top + self.inside_height()));
        let letter = (self.count > 1).then(|| char::from(b'A' + (n % 26) as u8));
        Panel { inside, outer_left: outer_left + 4, letter, x, y }
    }
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
        assert!(
            sizes.is_sorted()
                && sizes[0] == 1
                && sizes.ends_with(&[20_000])
                && sizes.contains(&7_777)
        );
        assert_eq!(thinned(vec![3, 2, 1], None), [1, 2, 3]);
    }

    #[test]
    fn panels_share_the_width_of_two_columns_and_have_letters() {
        let of = |mm: f64, count| {
            let layout = FigureOptions { width: mm, ..FigureOptions::default() }.layout().unwrap();
            Panels { layout, legend: 50, count }
        };
        let axis = || Axis::linear("", 0.0, 1.0);
        assert!(of(89.0, 2).height() > of(183.0, 2).height(), "side by side");
        let first = of(183.0, 2).panel(0, axis(), axis());
        let second = of(183.0, 2).panel(1, axis(), axis());
        assert_eq!((first.letter, second.letter), (Some('A'), Some('B')));
        assert!(first.inside.1.0 < second.inside.0.0 && first.inside.0.1 == second.inside.0.1);
        assert_eq!(of(89.0, 1).panel(0, axis(), axis()).letter, None);
    }
}
