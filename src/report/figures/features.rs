//! Figures with features from top to bottom: how often they were chosen, and their ranks.

use super::axis::Axis;
use super::canvas::{Anchor, COLOURS, FAINT, GRID, INK, SMALL, Sheet, TEXT, WIDTH, label, shade, sheet};
use super::{Figure, Material, of};
use crate::analysis::{MethodAnswer, RankTable};
use crate::select::StopRule;

/// Features that are shown: the best.
pub const TOP: usize = 40;
/// Splits that are shown.
const MOST_SPLITS: usize = 40;
/// Shades of a heatmap that are told apart.
const SHADES: f64 = 20.0;

const ROW: i32 = 34;
/// Left end of bars and cells.
const LEFT: i32 = 412;
const RIGHT: i32 = WIDTH - 30;
/// Letters of a name.
const NAME: usize = 24;
const ABOVE: i32 = 118;
const BELOW: i32 = 92;

fn cut(material: &Material<'_>) -> String {
    match material.info.removable() {
        all if all > TOP => format!(" The best {TOP} of {all} features by mean rank."),
        _ => String::new(),
    }
}

/// Names of features from top to bottom.
fn rows(sheet: &mut Sheet, material: &Material<'_>, units: &[usize]) {
    for (row, &unit) in units.iter().enumerate() {
        let name = label(&material.info.units[unit].name, NAME);
        sheet.words(&name, (LEFT - 12, ABOVE + row as i32 * ROW + ROW / 2), SMALL, Anchor::End, INK);
    }
}

fn across(share: f64) -> i32 {
    LEFT + (f64::from(RIGHT - LEFT) * share).round() as i32
}

/// Ticks and the name of the axis below the rows.
fn below(sheet: &mut Sheet, rows: usize, axis: &Axis) {
    let bottom = ABOVE + rows as i32 * ROW;
    for (value, text) in axis.ticks() {
        let x = across(axis.share(value));
        sheet.line(&[(x, bottom), (x, bottom + 8)], INK, 2);
        sheet.words(&text, (x, bottom + 26), SMALL, Anchor::Middle, INK);
    }
    sheet.line(&[(LEFT, bottom), (RIGHT, bottom)], INK, 2);
    sheet.words(&axis.name, ((LEFT + RIGHT) / 2, bottom + 62), TEXT, Anchor::Middle, INK);
}

/// The meaning of the shades.
fn scale(sheet: &mut Sheet, from: &str, to: &str) {
    sheet.words(from, (LEFT + 6, 84), SMALL, Anchor::End, FAINT);
    for cell in 0..10 {
        let left = LEFT + 14 + cell * 26;
        sheet.rectangle((left, 72), (left + 26, 96), shade(f64::from(cell) / 9.0));
    }
    sheet.words(to, (LEFT + 14 + 260 + 8, 84), SMALL, Anchor::Start, FAINT);
}

/// How often each feature is in the subset that each split chose.
pub fn frequency(material: &Material<'_>, answer: &MethodAnswer) -> Option<Figure> {
    // The chosen rule, and the first of the others that needs a path alone.
    let asked = Some(material.info.spec.stop).filter(|&stop| stop != StopRule::None);
    let others = StopRule::of_paths().map(|entry| entry.rule).filter(|&rule| Some(rule) != asked);
    let rules: Vec<StopRule> = asked.into_iter().chain(others).take(2).collect();
    let paths = material.paths(answer.method);
    let ranks = RankTable::new(&paths);
    // For each rule: on how many splits it fired, and how many of these chose each unit.
    let counted: Vec<(usize, Vec<usize>)> = rules
        .iter()
        .map(|&rule| {
            let sizes = paths.recorded_sizes(rule);
            let fired = || sizes.iter().enumerate().filter_map(|(split, size)| Some((split, (*size)?)));
            let count = |unit| fired().filter(|&(split, size)| ranks.survives(split, unit, size)).count();
            let counts = (0..material.info.units.len()).map(count).collect();
            (fired().count(), counts)
        })
        .collect();
    if counted.iter().all(|(fired, _)| *fired == 0) {
        return None;
    }
    let mut order = ranks.means().order;
    order.retain(|&unit| counted.iter().any(|(_, counts)| counts[unit] > 0));
    order.sort_by_key(|&unit| std::cmp::Reverse(counted[0].1[unit]));
    let all = order.len();
    order.truncate(TOP);
    let title = format!("{}: how often each feature is in the chosen subset", answer.method);
    let svg = sheet(&title, ABOVE + order.len() as i32 * ROW + BELOW, |sheet| {
        sheet.words(&answer.method.to_string(), (LEFT, 22), TEXT, Anchor::Start, INK);
        let shown = || rules.iter().zip(&counted).filter(|(_, (fired, _))| *fired > 0);
        let legend: Vec<_> = shown()
            .zip(COLOURS)
            .map(|((&rule, (fired, _)), colour)| (format!("{} ({fired} splits)", rule.label()), colour))
            .collect();
        sheet.legend((LEFT, 66), &legend);
        rows(sheet, material, &order);
        let axis = Axis::linear("share of splits", 0.0, 1.0);
        for (value, _) in axis.ticks() {
            let x = across(value);
            sheet.line(&[(x, ABOVE), (x, ABOVE + order.len() as i32 * ROW)], GRID, 1);
        }
        let bars = shown().count() as i32;
        for (row, &unit) in order.iter().enumerate() {
            for (which, (_, (fired, counts))) in shown().enumerate() {
                let share = counts[unit] as f64 / *fired as f64;
                let thick = (ROW - 8) / bars;
                let top = ABOVE + row as i32 * ROW + 4 + which as i32 * thick;
                if share > 0.0 {
                    sheet.rectangle((LEFT, top), (across(share), top + thick - 1), COLOURS[which]);
                }
            }
        }
        below(sheet, order.len(), &axis);
    });
    let left_out = if all > TOP { format!(" The {TOP} most frequent of {all}.") } else { String::new() };
    let caption = format!(
        "Share of the splits on which a rule fired whose own chosen subset holds the feature.{left_out}"
    );
    let name = of("frequency", answer.method);
    Some(Figure { name, title, caption, method: Some(answer.method), svg })
}

/// In what share of the splits a feature survives to a size.
pub fn by_size(material: &Material<'_>, answer: &MethodAnswer) -> Figure {
    let ranks = RankTable::new(&material.paths(answer.method));
    let mut order = ranks.means().order;
    order.truncate(TOP);
    let (kept, largest) = (material.info.kept(), material.info.units.len());
    let smallest = kept.max(1);
    let axis = Axis::sizes(smallest, largest).with_cells();
    let title = format!("{}: share of splits that keep a feature, by number of features", answer.method);
    let svg = sheet(&title, ABOVE + order.len() as i32 * ROW + BELOW, |sheet| {
        sheet.words(&answer.method.to_string(), (LEFT, 22), TEXT, Anchor::Start, INK);
        scale(sheet, "in no split", "in every split");
        rows(sheet, material, &order);
        for (row, &unit) in order.iter().enumerate() {
            let own = ranks.thresholds(unit);
            let level = |held: usize| (held as f64 / ranks.splits().len() as f64 * SHADES).round();
            let top = ABOVE + row as i32 * ROW;
            // The share only grows with the size: one rectangle for each shade.
            let mut from = smallest;
            let mut now = level(own.iter().filter(|&&size| size <= smallest).count());
            for (held, &size) in own.iter().enumerate() {
                let next = level(held + 1);
                if size > from && next != now {
                    cell(sheet, &axis, (from, size), top, now / SHADES);
                    from = size;
                }
                now = now.max(next);
            }
            cell(sheet, &axis, (from, largest + 1), top, now / SHADES);
        }
        below(sheet, order.len(), &axis);
        if let Some(size) = answer.chosen.size {
            let x = across(axis.share(size as f64));
            sheet.dashed((x, ABOVE + order.len() as i32 * ROW), (x, ABOVE - 6), FAINT);
        }
    });
    let caption = format!(
        "Share of {} whose subset of a size holds the feature. Sharp edges are stable ranks; the dashed line is the chosen \
         size.{}",
        material.splits(answer),
        cut(material)
    );
    Figure { name: of("heatmap_sizes", answer.method), title, caption, method: Some(answer.method), svg }
}

/// A row's cells from one size up to, not with, another.
fn cell(sheet: &mut Sheet, axis: &Axis, (from, to): (usize, usize), top: i32, share: f64) {
    let at = |size: usize| across(axis.share(size as f64 - 0.5));
    sheet.rectangle((at(from), top), (at(to), top + ROW - 2), shade(share));
}

/// The rank of each feature in each split.
pub fn by_split(material: &Material<'_>, answer: &MethodAnswer) -> Figure {
    let ranks = RankTable::new(&material.paths(answer.method));
    let mut order = ranks.means().order;
    order.truncate(TOP);
    let splits: Vec<usize> = material.history.of_method(answer.method).map(|(split, _)| split).collect();
    let shown = splits.len().min(MOST_SPLITS);
    let lowest = (material.info.removable() as f64).ln().max(f64::MIN_POSITIVE);
    let title = format!("{}: rank of each feature in each split", answer.method);
    let svg = sheet(&title, ABOVE + order.len() as i32 * ROW + BELOW, |sheet| {
        sheet.words(&answer.method.to_string(), (LEFT, 22), TEXT, Anchor::Start, INK);
        scale(sheet, "goes first", "rank 1");
        rows(sheet, material, &order);
        let left = |column: usize| across(column as f64 / shown as f64);
        for (row, &unit) in order.iter().enumerate() {
            let top = ABOVE + row as i32 * ROW;
            for (column, ranks) in ranks.splits().iter().take(shown).enumerate() {
                let share = ranks[unit].map_or(0.0, |rank| 1.0 - f64::from(rank).ln() / lowest);
                let share = (share * SHADES).round() / SHADES;
                sheet.rectangle((left(column), top), (left(column + 1) - 1, top + ROW - 2), shade(share));
            }
        }
        let bottom = ABOVE + order.len() as i32 * ROW;
        for column in (0..shown).filter(|column| column % shown.div_ceil(10) == 0) {
            let x = (left(column) + left(column + 1)) / 2;
            sheet.words(&splits[column].to_string(), (x, bottom + 26), SMALL, Anchor::Middle, INK);
        }
        sheet.words("split", ((LEFT + RIGHT) / 2, bottom + 62), TEXT, Anchor::Middle, INK);
    });
    let left_out = if splits.len() > shown {
        format!(" The first {shown} of {} splits.", splits.len())
    } else {
        String::new()
    };
    let caption = format!(
        "Rows of one shade are features on which splits agree; the shade follows the logarithm of the rank.{}{left_out}",
        cut(material)
    );
    Figure { name: of("heatmap_splits", answer.method), title, caption, method: Some(answer.method), svg }
}
