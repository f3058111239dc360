//! Tables that a click on a column sorts; long ones are cut with a note.

use maud::{Markup, Render, html};

use super::{PageContent, text};
use crate::analysis::{Metric, PageColumn, Pair, RankTable, rounded_p};
use crate::evaluate::{Bootstrap, Interval};
use crate::report::figures::thinned;
use crate::select::{Method, StopRule};

/// Rows of a table for one method.
const MOST_ROWS: usize = 200;

/// What a cell holds.
pub enum Cell {
    /// Words.
    Text(String),
    /// A name, and a note below it.
    Named(String, String),
    /// A whole number.
    Int(usize),
    /// A number with three digits after the point; nothing if absent.
    Real(Option<f64>),
    /// A mean of ranks.
    Rank(f64),
    /// A p-value.
    P(f64),
    /// A number with its interval; nothing if absent.
    Interval(Option<Interval>),
}

/// The head of a column.
#[derive(Debug, Clone, Copy)]
pub struct Head {
    name: &'static str,
    is_number: bool,
}

impl Head {
    /// A column of words.
    pub fn text(name: &'static str) -> Self {
        Self { name, is_number: false }
    }

    /// A column of numbers.
    pub fn number(name: &'static str) -> Self {
        Self { name, is_number: true }
    }
}

/// A table in the making.
pub struct Table {
    head: Vec<Head>,
    rows: Vec<Markup>,
}

impl Table {
    /// A table with these columns, `first | second# | third`; a name that ends in `#` is of numbers.
    pub fn new(head: &'static str) -> Self {
        let column = |name: &'static str| match name.strip_suffix('#') {
            Some(name) => Head::number(name),
            None => Head::text(name),
        };
        Self::with(head.split(" | ").map(column).collect())
    }

    /// A table with these columns.
    pub fn with(head: Vec<Head>) -> Self {
        Self { head, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[Cell]) {
        self.rows.push(html! { tr { @for cell in cells { (cell) } } });
    }

    /// Adds a row that belongs to a method, whose name is its first cell.
    pub fn row_of(&mut self, method: Method, cells: &[Cell]) {
        let name = Cell::Text(method.to_string());
        let row = html! { tr data-method=(method.name()) { (name) @for cell in cells { (cell) } } };
        self.rows.push(row);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The element.
    pub fn html(&self) -> Markup {
        html! {
            .scroll tabindex="0" {
                table.sortable {
                    thead {
                        tr {
                            @for head in &self.head {
                                th scope="col" class=[head.is_number.then_some("n")] { button type="button" { (head.name) } }
                            }
                        }
                    }
                    tbody { @for row in &self.rows { (row) } }
                }
            }
        }
    }

    /// The element below a title that folds it.
    pub fn folded(&self, open: bool, title: &str, note: &str) -> Markup {
        html! { details open[open] { summary { (title) } (self.html()) p.note { (note) } } }
    }
}

impl Cell {
    /// A p-value, if there is one.
    pub fn p(value: Option<f64>) -> Self {
        value.map_or(Self::Real(None), Self::P)
    }

    /// The ends of a range, if there is one.
    pub fn range(ends: Option<(f64, f64)>) -> Self {
        Self::Text(ends.map_or_else(String::new, |(lo, hi)| format!("{lo:.3} to {hi:.3}")))
    }
}

impl Render for Cell {
    fn render(&self) -> Markup {
        let number = |value: &dyn std::fmt::Display, shown: String| html! { td.n data-v={ (value) } { (shown) } };
        match self {
            Self::Text(words) => html! { td { (text(words)) } },
            Self::Named(name, note) => {
                html! { td { (text(name)) @if !note.is_empty() { div.note { (text(note)) } } } }
            }
            Self::Int(value) => number(value, value.to_string()),
            Self::Real(Some(value)) if value.is_finite() => number(value, format!("{value:.3}")),
            Self::Rank(value) => number(value, format!("{value:.1}")),
            Self::P(value) => number(value, rounded_p(*value)),
            Self::Interval(Some(Interval { value, lo, hi })) => {
                number(value, format!("{value:.3} ({lo:.3} to {hi:.3})"))
            }
            Self::Real(_) | Self::Interval(None) => html! { td.n {} },
        }
    }
}

/// All tables of the page.
pub fn tables(content: &PageContent<'_>) -> Markup {
    html! {
        p.note { "Click on the name of a column to sort by it. The CSV files beside this page hold every row." }
        (features(content))
        (metrics(content))
        (stopping(content))
        (agreement(content))
        (differences(content))
    }
}

fn features(content: &PageContent<'_>) -> Markup {
    let mut table = Table::new(
        "method | feature | mean rank# | best# | worst# | in splits at the chosen size#",
    );
    let info = content.info;
    let mut cut = false;
    for answer in &content.answer.methods {
        let ranks = RankTable::new(&content.paths(answer.method));
        let means = ranks.means();
        cut |= means.order.len() > MOST_ROWS;
        for &unit in means.order.iter().take(MOST_ROWS) {
            let held = answer.chosen.size.map(|size| ranks.count(unit, size));
            table.row_of(
                answer.method,
                &[
                    Cell::Text(info.units[unit].name.clone()),
                    Cell::Rank(means.mean[unit].unwrap_or(0.0)),
                    Cell::Int(ranks.of_unit(unit).min().unwrap_or(0)),
                    Cell::Int(ranks.of_unit(unit).max().unwrap_or(0)),
                    held.map_or(Cell::Real(None), Cell::Int),
                ],
            );
        }
    }
    let left =
        if cut { format!(" The best {MOST_ROWS} of {}.", info.removable()) } else { String::new() };
    table.folded(
        true,
        "Features",
        &format!("Rank 1 was kept longest. ranking.csv has the rank in every split.{left}"),
    )
}

fn metrics(content: &PageContent<'_>) -> Markup {
    let mut head = vec![Head::text("method"), Head::number("features")];
    for metric in Metric::ALL {
        match metric.column() {
            PageColumn::MeanAndSd(name) => head.extend([Head::number(name), Head::number("± sd")]),
            PageColumn::Mean(name) => head.push(Head::number(name)),
            PageColumn::Absent => {}
        }
    }
    let is_shown = |metric: &&Metric| metric.column() != PageColumn::Absent;
    let shown: Vec<Metric> = Metric::ALL.iter().filter(is_shown).copied().collect();
    let mut table = Table::with(head);
    let mut cut = false;
    for answer in &content.answer.methods {
        let paths = content.paths(answer.method);
        let all = paths.common_sizes();
        let visited = all.len();
        let sizes = thinned(all, answer.chosen.size);
        cut |= sizes.len() < visited;
        for (&size, spreads) in sizes.iter().zip(paths.spreads(&sizes, &shown)) {
            let mut cells = vec![Cell::Int(size)];
            for (metric, spread) in shown.iter().zip(spreads) {
                cells.push(Cell::Real(spread.map(|spread| spread.mean)));
                if let PageColumn::MeanAndSd(_) = metric.column() {
                    cells.push(Cell::Real(spread.and_then(|spread| spread.sd)));
                }
            }
            table.row_of(answer.method, &cells);
        }
    }
    let left = if cut { " Only some sizes are shown." } else { "" };
    table.folded(
        false,
        "Metrics by number of features",
        &format!("Means over splits; metrics.csv has every split.{left}"),
    )
}

fn stopping(content: &PageContent<'_>) -> Markup {
    let rules: Vec<_> = StopRule::of_paths().collect();
    let mut head = vec![Head::text("method"), Head::number("split")];
    head.extend(rules.iter().map(|entry| Head::number(entry.label)));
    let mut table = Table::with(head);
    for answer in &content.answer.methods {
        let paths = content.paths(answer.method);
        let beta = &content.answer.choice.beta;
        let sizes: Vec<_> =
            rules.iter().map(|entry| paths.sizes_by_split(entry.rule, beta)).collect();
        for (i, (split, _)) in paths.splits().enumerate().take(MOST_ROWS) {
            let mut cells = vec![Cell::Int(split)];
            cells.extend(sizes.iter().map(|sizes| sizes[i].map_or(Cell::Real(None), Cell::Int)));
            table.row_of(answer.method, &cells);
        }
    }
    table.folded(
        false,
        "Where the rules stop",
        "An empty cell means that the rule never fired. stopping.csv names the features and has all rules and splits.",
    )
}

fn agreement(content: &PageContent<'_>) -> Markup {
    let mut table =
        Table::new("method | features# | Jaccard# | I_W# | Kuncheva# | Nogueira# | from# | to#");
    for answer in &content.answer.methods {
        let paths = content.paths(answer.method);
        let sizes = thinned(paths.common_sizes(), answer.chosen.size);
        for (size, agreement) in paths.agreement(&sizes) {
            table.row_of(
                answer.method,
                &[
                    Cell::Int(size),
                    Cell::Real(Some(agreement.jaccard)),
                    Cell::Real(Some(agreement.i_w)),
                    Cell::Real(agreement.kuncheva),
                    Cell::Real(agreement.nogueira),
                    Cell::Real(agreement.nogueira_lo),
                    Cell::Real(agreement.nogueira_hi),
                ],
            );
        }
    }
    table.folded(false, "Agreement of splits", "1 means the same features in every split; from and to bound Nogueira's stability with 95 % confidence. consistency.csv has every size.")
}

fn differences(content: &PageContent<'_>) -> Markup {
    let pairs = Pair::all(content.history, content.info);
    let mut table = Table::new(
        "methods | features# | metric | mean difference# | from# | to# | p (corrected)#",
    );
    let mut bootstrap = Bootstrap::new(content.info.spec.split.seed);
    let mut any = false;
    for pair in &pairs {
        let Some(share) = pair.test_share() else { continue };
        let visited = pair.sizes();
        let mut sizes: Vec<usize> = content
            .answer
            .methods
            .iter()
            .filter(|answer| answer.method == pair.a || answer.method == pair.b)
            .filter_map(|answer| answer.chosen.size)
            .filter(|size| visited.contains(size))
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        for size in sizes {
            for (metric, differences) in pair.differences(size) {
                let Some(paired) = bootstrap.paired(&differences, share) else { continue };
                any = true;
                table.row(&[
                    Cell::Text(format!("{} − {}", pair.a, pair.b)),
                    Cell::Int(size),
                    Cell::Text(metric.key().replace('_', " ")),
                    Cell::Real(Some(paired.mean)),
                    Cell::Real(paired.lo),
                    Cell::Real(paired.hi),
                    Cell::p(paired.p_corrected),
                ]);
            }
        }
    }
    if !any {
        return Markup::default();
    }
    table.folded(false, "Differences of methods at the chosen sizes", "Paired over splits, with 95 % bootstrap interval and the p-value of Nadeau and Bengio's corrected t. Nothing is corrected for looking at many metrics. compare.csv has every size.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_p_is_shown_as_small_and_sorted_by_its_value() {
        let cell = Cell::p(Some(0.0001)).render().into_string();
        assert_eq!(cell, "<td class=\"n\" data-v=\"0.0001\">&lt; 0.001</td>");
        assert_eq!(Cell::p(None).render().into_string(), "<td class=\"n\"></td>");
    }
}
