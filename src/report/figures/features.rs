//! Figures with features from top to bottom: how often they were chosen, and their ranks.

use super::axis::Axis;
use super::svg::{
    Anchor, At, COLOURS, FAINT, GRID, INK, LegendKey, SMALL, Sheet, TEXT, label, shade, sheet,
};
use super::{Figure, FigureContent, of};
use crate::analysis::{MethodAnswer, RankTable};

/// Features that are shown: the best.
pub const TOP: usize = 40;
/// Splits that are shown.
const MOST_SPLITS: usize = 40;
/// Shades of a heatmap that are told apart.
const SHADES: f64 = 20.0;

const ROW: i32 = 34;
const ABOVE: i32 = 118;
const BELOW: i32 = 92;

fn cut(content: &FigureContent<'_>) -> String {
    match content.info.removable() {
        all if all > TOP => format!(" The best {TOP} of {all} features by mean rank."),
        _ => String::new(),
    }
}

/// Rows of features: where they are on the sheet.
#[derive(Clone, Copy)]
struct FeatureRows {
    count: usize,
    left: i32,
    right: i32,
}

impl FeatureRows {
    fn new(content: &FigureContent<'_>, count: usize) -> Self {
        let width = content.layout.width;
        Self { count, left: (width * 2 / 5).min(412), right: width - 30 }
    }

    fn height(self) -> i32 {
        self.bottom() + BELOW
    }

    fn top(self, row: usize) -> i32 {
        ABOVE + row as i32 * ROW
    }

    fn bottom(self) -> i32 {
        self.top(self.count)
    }

    fn across(self, share: f64) -> i32 {
        self.left + (f64::from(self.right - self.left) * share).round() as i32
    }

    /// The method above, and the names of the features from top to bottom.
    fn names(
        self,
        sheet: &mut Sheet,
        content: &FigureContent<'_>,
        answer: &MethodAnswer,
        units: &[usize],
    ) {
        sheet.words(&answer.method.to_string(), (self.left, 22), TEXT, Anchor::Start, INK);
        let letters = usize::try_from((self.left - 60) / 14).unwrap_or(8).max(8);
        for (row, &unit) in units.iter().enumerate() {
            let name = label(&content.info.units[unit].name, letters);
            sheet.words(&name, (self.left - 12, self.top(row) + ROW / 2), SMALL, Anchor::End, INK);
        }
    }

    /// Ticks and the name of the axis below the rows.
    fn axis(self, sheet: &mut Sheet, axis: &Axis) {
        let bottom = self.bottom();
        for (value, text) in axis.ticks() {
            let x = self.across(axis.share(value));
            sheet.line(&[(x, bottom), (x, bottom + 8)], INK, 2);
            sheet.words(&text, (x, bottom + 26), SMALL, Anchor::Middle, INK);
        }
        sheet.line(&[(self.left, bottom), (self.right, bottom)], INK, 2);
        self.name(sheet, &axis.name);
    }

    fn name(self, sheet: &mut Sheet, name: &str) {
        let middle: At = ((self.left + self.right) / 2, self.bottom() + 62);
        sheet.words(name, middle, TEXT, Anchor::Middle, INK);
    }

    /// The meaning of the shades.
    fn scale(self, sheet: &mut Sheet, from: &str, to: &str) {
        let left = self.left;
        sheet.words(from, (left + 6, 84), SMALL, Anchor::End, FAINT);
        for cell in 0..10 {
            let left = left + 14 + cell * 26;
            sheet.rectangle((left, 72), (left + 26, 96), shade(f64::from(cell) / 9.0));
        }
        sheet.words(to, (left + 14 + 260 + 8, 84), SMALL, Anchor::Start, FAINT);
    }

    /// A row's cells from one size up to, not including, another.
    fn cell(
        self,
        sheet: &mut Sheet,
        axis: &Axis,
        (from, to): (usize, usize),
        row: usize,
        share: f64,
    ) {
        let at = |size: usize| self.across(axis.share(size as f64 - 0.5));
        let top = self.top(row);
        sheet.rectangle((at(from), top), (at(to), top + ROW - 2), shade(share));
    }
}

/// How often each feature is in the splits' own subsets of the chosen size, and what chance would
/// give.
pub fn frequency(content: &FigureContent<'_>, answer: &MethodAnswer) -> Option<Figure> {
    let size = answer.chosen.size?;
    let info = content.info;
    let mut order = content.paths(answer.method).by_frequency(size);
    let listed = size.saturating_sub(info.kept());
    order.retain(|kept| kept.count > 0);
    let all = order.len();
    order.truncate(TOP);
    if order.is_empty() {
        return None;
    }
    let units: Vec<usize> = order.iter().map(|kept| kept.unit).collect();
    let splits = answer.splits as f64;
    let (chance, meaning) = match &answer.by_chance {
        Some(by_chance) => (
            by_chance.count as f64 / splits,
            format!(
                "the share that the most frequent feature reaches with permuted labels in 95 % of {} permutations",
                by_chance.permutations
            ),
        ),
        None => (
            listed as f64 / info.removable() as f64,
            "the share that each feature would have if subsets were drawn at random".to_owned(),
        ),
    };
    let rows = FeatureRows::new(content, order.len());
    let (blue, grey) = (COLOURS[0], COLOURS[6]);
    let title = format!("{}: how often each feature is selected", answer.method);
    let svg = sheet(&title, content.layout, rows.height(), |sheet| {
        rows.names(sheet, content, answer, &units);
        let mut legend = vec![(format!("in the list of {size}"), blue)];
        if order.len() > listed {
            legend.push(("not in the list".to_owned(), grey));
        }
        sheet.legend((rows.left - 10, 58), LegendKey::Bar, &legend);
        let axis = Axis::linear("share of splits", 0.0, 1.0);
        for (value, _) in axis.ticks() {
            let x = rows.across(value);
            sheet.line(&[(x, ABOVE), (x, rows.bottom())], GRID, 1);
        }
        for (row, kept) in order.iter().enumerate() {
            let colour = if row < listed { blue } else { grey };
            let top = rows.top(row);
            let right = rows.across(kept.count as f64 / splits);
            sheet.rectangle((rows.left, top + 5), (right, top + ROW - 5), colour);
        }
        rows.axis(sheet, &axis);
        let x = rows.across(chance);
        sheet.dashed((x, rows.bottom()), (x, ABOVE - 8), INK);
        sheet.words("chance", (x + 6, ABOVE - 18), SMALL, Anchor::End, INK);
    });
    let left_out =
        if all > TOP { format!(" The {TOP} most frequent of {all}.") } else { String::new() };
    let caption = format!(
        "Share of {} whose own subset of {size} features holds the feature. Dashed: {meaning}.{left_out}",
        content.splits(answer)
    );
    let name = of("frequency", answer.method);
    Some(Figure { name, title, caption, method: Some(answer.method), svg })
}

/// In what share of the splits a feature survives to a size.
pub fn by_size(content: &FigureContent<'_>, answer: &MethodAnswer) -> Figure {
    let ranks = RankTable::new(&content.paths(answer.method));
    let mut order = ranks.means().order;
    order.truncate(TOP);
    let kept = content.info.kept();
    let largest = content.info.units.len();
    let smallest = kept.max(1);
    let axis = Axis::sizes(smallest, largest).with_cells();
    let title =
        format!("{}: share of splits that keep a feature, by number of features", answer.method);
    let rows = FeatureRows::new(content, order.len());
    let svg = sheet(&title, content.layout, rows.height(), |sheet| {
        rows.names(sheet, content, answer, &order);
        rows.scale(sheet, "in no split", "in every split");
        for (row, &unit) in order.iter().enumerate() {
            let own = ranks.thresholds(unit);
            let level = |held: usize| (held as f64 / ranks.splits().len() as f64 * SHADES).round();
            // The share only grows with the size: one rectangle for each shade.
            let mut from = smallest;
            let mut now = level(own.iter().filter(|&&size| size <= smallest).count());
            for (held, &size) in own.iter().enumerate() {
                let next = level(held + 1);
                if size > from && next != now {
                    rows.cell(sheet, &axis, (from, size), row, now / SHADES);
                    from = size;
                }
                now = now.max(next);
            }
            rows.cell(sheet, &axis, (from, largest + 1), row, now / SHADES);
        }
        rows.axis(sheet, &axis);
        if let Some(size) = answer.chosen.size {
            let x = rows.across(axis.share(size as f64));
            sheet.dashed((x, rows.bottom()), (x, ABOVE - 6), FAINT);
        }
    });
    let caption = format!(
        "Share of {} whose subset of a given size holds the feature. A sharp edge means that splits agree on its rank; the dashed line \
         is the chosen size.{}",
        content.splits(answer),
        cut(content)
    );
    let name = of("heatmap_sizes", answer.method);
    Figure { name, title, caption, method: Some(answer.method), svg }
}

/// The rank of each feature in each split.
pub fn by_split(content: &FigureContent<'_>, answer: &MethodAnswer) -> Figure {
    let ranks = RankTable::new(&content.paths(answer.method));
    let mut order = ranks.means().order;
    order.truncate(TOP);
    let splits: Vec<usize> =
        content.history.of_method(answer.method).map(|(split, _)| split).collect();
    let shown = splits.len().min(MOST_SPLITS);
    let lowest = (content.info.removable() as f64).ln().max(f64::MIN_POSITIVE);
    let title = format!("{}: rank of each feature in each split", answer.method);
    let rows = FeatureRows::new(content, order.len());
    let svg = sheet(&title, content.layout, rows.height(), |sheet| {
        rows.names(sheet, content, answer, &order);
        rows.scale(sheet, "removed first", "rank 1");
        let left = |column: usize| rows.across(column as f64 / shown as f64);
        for (row, &unit) in order.iter().enumerate() {
            let top = rows.top(row);
            for (column, ranks) in ranks.splits().iter().take(shown).enumerate() {
                let share = ranks[unit].map_or(0.0, |rank| 1.0 - f64::from(rank).ln() / lowest);
                let share = (share * SHADES).round() / SHADES;
                sheet.rectangle(
                    (left(column), top),
                    (left(column + 1) - 1, top + ROW - 2),
                    shade(share),
                );
            }
        }
        for column in (0..shown).filter(|column| column % shown.div_ceil(10) == 0) {
            let x = (left(column) + left(column + 1)) / 2;
            sheet.words(
                &splits[column].to_string(),
                (x, rows.bottom() + 26),
                SMALL,
                Anchor::Middle,
                INK,
            );
        }
        rows.name(sheet, "split");
    });
    let left_out = if splits.len() > shown {
        format!(" The first {shown} of {} splits.", splits.len())
    } else {
        String::new()
    };
    let caption = format!(
        "Splits agree on features whose row has one shade, which follows the logarithm of the rank.{}{left_out}",
        cut(content)
    );
    let name = of("heatmap_splits", answer.method);
    Figure { name, title, caption, method: Some(answer.method), svg }
}
