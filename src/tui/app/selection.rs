//! The selected feature and the lists it is chosen from: table, search, filter, my list.

use super::{App, plural};
use crate::tui::action::Action;
use crate::tui::overlay::Prompt;
use crate::tui::table::{Filter, RankingColumn, RankingTable};
use crate::tui::view::View;

/// Which feature is selected, and how the lists are sorted and filtered.
#[derive(Default)]
pub(super) struct SelectionState {
    pub(super) table: RankingTable,
    /// The selected feature; none means the one that is removed, or the first of the answer.
    pub(super) selected: Option<usize>,
}

impl App {
    /// How the ranking is sorted and filtered, and my list.
    pub fn table(&self) -> &RankingTable {
        &self.selection.table
    }

    /// The feature that was selected by hand.
    pub fn selected(&self) -> Option<usize> {
        self.selection.selected
    }

    /// The selected feature; else the one that is removed now, or in Answer the first.
    pub fn selection(&self) -> Option<usize> {
        let first = || match self.layout.view {
            View::Answer => self.derived.answer_rows.rows.first().copied(),
            _ => self.step().and_then(|step| step.removed.first().copied()),
        };
        self.selection.selected.or_else(first)
    }

    /// The rows of the list that is on the screen.
    pub fn list_rows(&self) -> &[usize] {
        self.layout.view.page().rows(&self.derived).unwrap_or_default()
    }

    /// Selects a feature.
    pub fn select(&mut self, unit: usize) {
        self.selection.selected = Some(unit);
    }

    /// Sorts the ranking by a column; a second time reverses it.
    pub fn sort_by(&mut self, column: RankingColumn) {
        self.selection.table.sort_by(column);
    }

    /// Adds the selected feature to my list, or removes it.
    pub(super) fn mark(&mut self) {
        self.refresh();
        let (Some(unit), Some(info)) = (self.selection(), self.run.history.info().cloned()) else {
            self.say(self.nothing_selected());
            return;
        };
        let is_marked = self.selection.table.toggle_mark(unit);
        let name = &info.units[unit].name;
        let count = self.selection.table.marks().len();
        let done = if is_marked { "added to" } else { "removed from" };
        self.say(format!("{name} {done} my list ({})", plural(count, "feature")));
    }

    /// Selects another row of the ranking.
    pub(in crate::tui) fn move_selection(&mut self, down: bool, by: usize) {
        self.refresh();
        let rows = self.list_rows();
        if rows.is_empty() {
            return;
        }
        let at =
            self.selection().and_then(|unit| rows.iter().position(|&row| row == unit)).unwrap_or(0);
        let to =
            if down { at.saturating_add(by).min(rows.len() - 1) } else { at.saturating_sub(by) };
        self.selection.selected = Some(rows[to]);
    }

    /// Why there is no feature to do something with.
    pub(super) fn nothing_selected(&self) -> String {
        match self.step() {
            Some(_) => {
                "nothing is removed at the last step: go back with ←, or choose a feature with ↑ ↓"
                    .into()
            }
            None => "this split has not started yet".into(),
        }
    }

    /// A typed line is complete.
    pub fn submit(&mut self, prompt: Prompt, text: &str) {
        match prompt {
            Prompt::GoTo => match (text.trim().parse(), self.layout.view) {
                (Ok(size), View::Explore) => self.go_to_size(size),
                (Ok(size), _) => self.point_at(size),
                (Err(_), _) => self.say(format!("'{text}' is not a number of features")),
            },
            Prompt::Find | Prompt::Filter if text.is_empty() => match prompt {
                Prompt::Find => self.find_next(true),
                _ => self.selection.table.set_filter(None),
            },
            Prompt::Find | Prompt::Filter => match Filter::new(text) {
                Err(why) => self.say(why),
                Ok(filter) if prompt == Prompt::Find => {
                    self.selection.table.set_search(Some(filter));
                    self.find_next(true);
                }
                Ok(filter) => {
                    self.selection.table.set_filter(Some(filter));
                    self.after_filter(text);
                }
            },
        }
    }

    /// A filter that hides everything is taken back.
    pub(super) fn after_filter(&mut self, text: &str) {
        self.refresh();
        if self.list_rows().is_empty() {
            self.selection.table.set_filter(None);
            self.say(format!("no feature name matches '{text}'"));
            return;
        }
        let rows = self.list_rows();
        if self.selection().is_none_or(|unit| !rows.contains(&unit)) {
            self.selection.selected = rows.first().copied();
        }
    }

    pub(super) fn find_next(&mut self, forward: bool) {
        self.refresh();
        let Some(info) = self.run.history.info().cloned() else { return };
        let Some(search) = self.selection.table.search() else {
            let key = self.keymap.key_of(Action::Find);
            self.say(format!("nothing was searched for; {key} searches"));
            return;
        };
        let rows = self.list_rows();
        let text = search.text().to_owned();
        let from = self.selection().and_then(|unit| rows.iter().position(|&row| row == unit));
        let table = &self.selection.table;
        let found = table.find(rows, |unit| &info.units[unit].name, from, forward);
        let count = table.matches(rows, |unit| &info.units[unit].name);
        self.say(match found {
            Some(_) => {
                format!(
                    "{count} {} '{text}'",
                    if count == 1 { "name matches" } else { "names match" }
                )
            }
            None => format!("no feature name matches '{text}'"),
        });
        if found.is_some() {
            self.selection.selected = found;
        }
    }
}
