//! A rectangle with axes, and what is drawn into it: lines with bands, levels, chosen sizes. Knows
//! no metrics.

use super::axis::Axis;
use super::svg::{Anchor, At, COLOURS, Colour, FAINT, GRID, INK, SMALL, Sheet, TEXT, width_of};

/// How far apart the marks of a line are.
const MARK_EVERY: i32 = 120;

/// A line of a panel.
pub struct Series {
    /// What the legend calls it.
    pub name: String,
    /// The points, from left to right.
    pub points: Vec<(f64, f64)>,
    /// The band around each point.
    pub band: Vec<(f64, f64)>,
}

impl Series {
    /// A line without a band.
    pub fn plain(name: impl Into<String>, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.into(), points, band: Vec::new() }
    }
}

/// A rectangle with axes.
pub struct Panel {
    /// Upper left and lower right corner of the inside.
    pub inside: (At, At),
    /// Where the room of the panel begins: its letter and the name of its vertical axis.
    pub outer_left: i32,
    /// Its letter, where there are several.
    pub letter: Option<char>,
    /// Across.
    pub x: Axis,
    /// Upwards.
    pub y: Axis,
}

impl Panel {
    /// Where a value lies; values beyond the axes lie on their ends.
    pub fn at(&self, x: f64, y: f64) -> At {
        let ((left, top), (right, bottom)) = self.inside;
        let across = left + (f64::from(right - left) * self.x.share(x)).round() as i32;
        let up = bottom - (f64::from(bottom - top) * self.y.share(y)).round() as i32;
        (across, up)
    }

    /// Grid, axes, tick labels, the names of both axes, title and letter.
    pub fn frame(&self, sheet: &mut Sheet, title: &str) {
        let ((left, top), (right, bottom)) = self.inside;
        let mut widest = 0;
        for (value, text) in self.y.ticks() {
            let (_, y) = self.at(self.x.lo, value);
            sheet.line(&[(left, y), (right, y)], GRID, 1);
            sheet.words(&text, (left - 12, y), SMALL, Anchor::End, INK);
            widest = widest.max(width_of(&text, SMALL));
        }
        for (value, text) in self.x.ticks() {
            let (x, _) = self.at(value, self.y.lo);
            sheet.line(&[(x, bottom), (x, bottom + 8)], INK, 2);
            sheet.words(&text, (x, bottom + 26), SMALL, Anchor::Middle, INK);
        }
        sheet.line(&[(left, top), (left, bottom), (right, bottom)], INK, 2);
        if let Some(letter) = self.letter {
            sheet.letter(letter, (self.outer_left, top - 24));
        }
        sheet.words(title, (left, top - 24), TEXT, Anchor::Start, INK);
        sheet.words(&self.x.name, ((left + right) / 2, bottom + 62), TEXT, Anchor::Middle, INK);
        let beside = (left - 12 - widest - 24).max(self.outer_left + TEXT / 2);
        sheet.upwards(&self.y.name, (beside, (top + bottom) / 2), TEXT);
    }

    /// A line with its band and its marks.
    pub fn series(&self, sheet: &mut Sheet, which: usize, series: &Series) {
        let colour = COLOURS[which % COLOURS.len()];
        let points: Vec<At> = series.points.iter().map(|&(x, y)| self.at(x, y)).collect();
        if series.band.len() > 1 {
            let edge = |upper: bool| {
                let of = move |(&(x, _), &(lo, hi)): (&(f64, f64), &(f64, f64))| {
                    self.at(x, if upper { hi } else { lo })
                };
                series.points.iter().zip(&series.band).map(of).collect::<Vec<At>>()
            };
            let outline: Vec<At> =
                edge(true).into_iter().chain(edge(false).into_iter().rev()).collect();
            sheet.veil(&outline, colour);
        }
        // Marks of different lines are at different places.
        let mut next = points.first().map_or(0, |&(x, _)| x + 30 * which as i32);
        let mut marks = Vec::new();
        for &(x, y) in &points {
            if x >= next {
                marks.push((x, y));
                next = x + MARK_EVERY;
            }
        }
        if marks.is_empty() {
            marks.extend(points.last());
        }
        if points.len() > 1 {
            sheet.line(&points, colour, 3);
        }
        for at in marks {
            sheet.mark(which, at, colour);
        }
    }

    /// A dashed line at a height.
    pub fn level(&self, sheet: &mut Sheet, value: f64) {
        sheet.dashed(self.at(self.x.lo, value), self.at(self.x.hi, value), INK);
    }

    /// A dashed line at a place across.
    pub fn upright(&self, sheet: &mut Sheet, value: f64, colour: Colour) {
        sheet.dashed(self.at(value, self.y.lo), self.at(value, self.y.hi), colour);
    }

    /// The chosen size: a dashed line, explained above the panel's right end.
    pub fn chosen(&self, sheet: &mut Sheet, size: usize) {
        self.upright(sheet, size as f64, FAINT);
        let ((_, top), (right, _)) = self.inside;
        let text = format!("chosen: {size}");
        let left = right - width_of(&text, SMALL) - 14;
        sheet.dashed((left - 50, top - 24), (left, top - 24), FAINT);
        sheet.words(&text, (right, top - 24), SMALL, Anchor::End, FAINT);
    }
}
