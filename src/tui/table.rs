//! A table: by which column it is sorted, which rows a filter lets through, what was searched for,
//! and which rows are marked. Draws nothing.

use std::collections::BTreeSet;

use regex_lite::{Regex, RegexBuilder};

use super::theme::Theme;
use crate::run::RunInfo;

/// What a table can be sorted by.
pub trait SortColumn: Copy + PartialEq + 'static {
    /// In the order of the key that goes through them; a table starts with the first.
    const ALL: &'static [Self];

    /// The next one, around the end.
    fn next(self) -> Self {
        let at = Self::ALL.iter().position(|&column| column == self).unwrap_or(0);
        Self::ALL[(at + 1) % Self::ALL.len()]
    }
}

/// The columns of the ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RankingColumn {
    /// The step that removes it: what is removed now on top, then what is left, then what was
    /// removed, latest first.
    Step,
    /// The name.
    Feature,
    /// The score that decides: β, or Σw² for RFE.
    Score,
    /// How many splits keep it at this size.
    InSplits,
    /// Mean rank over the finished splits.
    MeanRank,
    /// Correlated features.
    Twins,
    /// My list.
    Mark,
    /// The order of the file.
    File,
}

impl SortColumn for RankingColumn {
    const ALL: &'static [Self] = &[
        Self::Step,
        Self::InSplits,
        Self::MeanRank,
        Self::Score,
        Self::Feature,
        Self::Twins,
        Self::Mark,
        Self::File,
    ];
}

impl RankingColumn {
    /// What the rows are sorted by, in words.
    pub fn words(self, score: &'static str) -> &'static str {
        match self {
            Self::Step => "step",
            Self::Feature => "name",
            Self::Score => score,
            Self::InSplits => "splits",
            Self::MeanRank => "mean rank",
            Self::Twins => "twins",
            Self::Mark => "my list",
            Self::File => "file order",
        }
    }
}

/// Which names a table shows.
#[derive(Debug, Clone)]
pub struct Filter {
    text: String,
    regex: Regex,
}

impl Filter {
    /// A regular expression; lower-case letters match capitals, too. The error is a sentence.
    pub fn new(text: &str) -> Result<Self, String> {
        let ignores_case = !text.contains(char::is_uppercase);
        let regex = RegexBuilder::new(text).case_insensitive(ignores_case).build();
        let regex = regex.map_err(|_| format!("'{text}' is not a regular expression"))?;
        Ok(Self { text: text.to_owned(), regex })
    }

    /// As it was typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a name passes.
    pub fn passes(&self, name: &str) -> bool {
        self.regex.is_match(name)
    }
}

/// The state of the ranking.
pub type RankingTable = SortedTable<RankingColumn>;

/// The state of a table.
#[derive(Debug, Clone)]
pub struct SortedTable<C> {
    column: C,
    is_reversed: bool,
    filter: Option<Filter>,
    search: Option<Filter>,
    marks: BTreeSet<usize>,
    /// Counts changes of filter and marks, so that a cache knows when it is stale.
    changes: u64,
}

impl<C: SortColumn> Default for SortedTable<C> {
    fn default() -> Self {
        Self {
            column: C::ALL[0],
            is_reversed: false,
            filter: None,
            search: None,
            marks: BTreeSet::new(),
            changes: 0,
        }
    }
}

/// What the order of the rows depends on, besides what they hold.
pub type SortKey<C = RankingColumn> = (C, bool, u64);

impl<C: SortColumn> SortedTable<C> {
    /// Column, direction, filter and marks.
    pub fn order(&self) -> SortKey<C> {
        (self.column, self.is_reversed, self.changes)
    }

    /// The column the rows are sorted by.
    pub fn column(&self) -> C {
        self.column
    }

    /// Whether the order is reversed.
    pub fn is_reversed(&self) -> bool {
        self.is_reversed
    }

    /// The order in words, for the title of a table that is sorted by `column`.
    pub fn order_words(&self, theme: &Theme, column: &str) -> String {
        let (utf8, ascii) = if self.is_reversed { ("▲", "^") } else { ("▼", "v") };
        format!("by {column} {}", theme.glyph(utf8, ascii))
    }

    /// The filter and how many rows it shows, for the end of a title; empty without a filter.
    pub fn filter_words(&self, shown: usize) -> String {
        let words = |filter: &Filter| format!("  &{}: {shown} shown", filter.text);
        self.filter.as_ref().map_or_else(String::new, words)
    }

    /// Sorts by the next column.
    pub fn sort_by_next(&mut self) {
        (self.column, self.is_reversed) = (self.column.next(), false);
    }

    /// Sorts by a column; a second time reverses it.
    pub fn sort_by(&mut self, column: C) {
        self.is_reversed = self.column == column && !self.is_reversed;
        self.column = column;
    }

    /// The other direction.
    pub fn reverse(&mut self) {
        self.is_reversed = !self.is_reversed;
    }

    /// Which names are shown.
    pub fn filter(&self) -> Option<&Filter> {
        self.filter.as_ref()
    }

    /// Shows only these names, or all.
    pub fn set_filter(&mut self, filter: Option<Filter>) {
        self.filter = filter;
        self.changes += 1;
    }

    pub fn search(&self) -> Option<&Filter> {
        self.search.as_ref()
    }

    /// Searches for these names.
    pub fn set_search(&mut self, search: Option<Filter>) {
        self.search = search;
    }

    /// Whether the filter lets a name through.
    pub fn shows(&self, name: &str) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.passes(name))
    }

    /// Whether a unit is on my list.
    pub fn is_marked(&self, unit: usize) -> bool {
        self.marks.contains(&unit)
    }

    /// My list.
    pub fn marks(&self) -> &BTreeSet<usize> {
        &self.marks
    }

    /// Adds a unit to my list, or removes it; whether it is there now.
    pub fn toggle_mark(&mut self, unit: usize) -> bool {
        self.changes += 1;
        if self.marks.remove(&unit) {
            return false;
        }
        self.marks.insert(unit)
    }

    /// Forgets units that a run does not have.
    pub fn fit_to(&mut self, info: &RunInfo) {
        self.marks.retain(|&unit| unit < info.units.len());
        self.changes += 1;
    }

    /// The nearest match after a row, or before it, around the end.
    pub fn find<'n>(
        &self,
        rows: &[usize],
        name: impl Fn(usize) -> &'n str,
        from: Option<usize>,
        forward: bool,
    ) -> Option<usize> {
        let search = self.search.as_ref()?;
        let count = rows.len();
        let at = |i: usize| match (from, forward) {
            (Some(from), true) => rows[(from + 1 + i) % count],
            (Some(from), false) => rows[(from + 2 * count - 1 - i) % count],
            (None, true) => rows[i],
            (None, false) => rows[count - 1 - i],
        };
        (0..count).map(at).find(|&row| search.passes(name(row)))
    }

    /// How many of the rows match what was searched for.
    pub fn matches<'n>(&self, rows: &[usize], name: impl Fn(usize) -> &'n str) -> usize {
        let passes =
            |row: &&usize| self.search.as_ref().is_some_and(|search| search.passes(name(**row)));
        rows.iter().filter(passes).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lower_case_matches_capitals_and_capitals_only_themselves() {
        assert!(Filter::new("^col").unwrap().passes("COL6A3"));
        assert!(!Filter::new("^Col").unwrap().passes("COL6A3"));
        assert_eq!(Filter::new("a(").unwrap_err(), "'a(' is not a regular expression");
    }

    #[test]
    fn matches_go_round_in_both_directions() {
        let names = ["a1", "b", "a2", "c", "a3"];
        let rows = [4, 3, 2, 1, 0];
        let name = |row: usize| names[row];
        let mut table = RankingTable::default();
        assert_eq!(table.find(&rows, name, None, true), None);
        table.set_search(Some(Filter::new("^a").unwrap()));
        assert_eq!(table.matches(&rows, name), 3);
        assert_eq!(table.find(&rows, name, None, true), Some(4));
        assert_eq!(table.find(&rows, name, Some(0), true), Some(2));
        assert_eq!(table.find(&rows, name, Some(4), true), Some(4));
        assert_eq!(table.find(&rows, name, Some(0), false), Some(0));
        assert_eq!(table.find(&[], name, None, true), None);
    }

    #[test]
    fn a_second_click_reverses() {
        let mut table = RankingTable::default();
        table.sort_by(RankingColumn::MeanRank);
        assert_eq!(table.order(), (RankingColumn::MeanRank, false, 0));
        table.sort_by(RankingColumn::MeanRank);
        assert!(table.is_reversed());
        table.sort_by(RankingColumn::Feature);
        assert!(!table.is_reversed());
        assert!(table.toggle_mark(3) && !table.toggle_mark(3));
    }
}
