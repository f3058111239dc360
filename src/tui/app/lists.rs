//! Lists of features that leave the screen: copied, saved, or made into a model.

use super::{App, CopiedList, Effect, plural};
use crate::analysis::Choice;
use crate::data::word_list::as_lines;
use crate::report::fit_command;
use crate::run::TaskId;
use crate::tui::overlay::{FitPage, Overlay};
use crate::tui::view::View;

impl App {
    /// My list, one name per line; none while nothing is marked.
    fn my_list(&self) -> Option<CopiedList> {
        let info = self.info()?;
        let marks = self.selection.table.marks();
        let names: Vec<&str> = marks.iter().map(|&unit| info.units[unit].name.as_str()).collect();
        let words = format!("{} of my list", plural(names.len(), "name"));
        (!names.is_empty()).then(|| CopiedList::new(as_lines(names), CopiedList::MY_LIST, words))
    }

    /// What is left at the step under the cursor.
    fn list_at_step(&self) -> Option<CopiedList> {
        let (info, TaskId { method, split }) = (self.info()?, self.playback.focus);
        let present = self.present();
        let names: Vec<&str> = present.iter().map(|&unit| info.units[unit].name.as_str()).collect();
        let words = format!(
            "{} at this step of {method}, split {}",
            plural(names.len(), "name"),
            split + 1
        );
        Some(CopiedList::new(as_lines(names), CopiedList::STEP, words))
    }

    /// The answer, if it has a size.
    fn list_of_answer(&self) -> Option<CopiedList> {
        let answer = self.answer()?;
        let names: Vec<&str> =
            answer.features.iter().map(|feature| feature.name.as_str()).collect();
        let words = format!("{} of the answer of {}", plural(names.len(), "name"), answer.method);
        // selected.txt of a run is the list of its first method.
        let is_first = self.history().methods().first() == Some(&answer.method);
        let file = if is_first {
            CopiedList::SELECTED.to_owned()
        } else {
            CopiedList::selected_of(answer.method)
        };
        let list =
            || CopiedList { is_answer: true, ..CopiedList::new(as_lines(names), &file, words) };
        (!answer.features.is_empty()).then(list)
    }

    /// Copies my list if there is one, in Explore what is left under the cursor, elsewhere the
    /// answer.
    pub(super) fn copy(&mut self) -> Vec<Effect> {
        self.refresh();
        let list = self.my_list().or_else(|| match self.layout.view {
            View::Explore => self.list_at_step(),
            _ => self.list_of_answer(),
        });
        match list {
            Some(list) => vec![Effect::Copy(list)],
            None => {
                let why = self.no_list();
                self.refuse(format!("{why}, so there is no list to copy"))
            }
        }
    }

    fn no_list(&self) -> &'static str {
        match (self.info(), self.answer()) {
            (None, _) => "the table has not been read yet",
            (_, Some(_)) => "the rule chooses no size",
            (_, None) => "no split has finished yet",
        }
    }

    /// Shows the command that makes a model of my list, which is saved for it; without one, of the
    /// answer.
    pub(super) fn fit(&mut self) -> Vec<Effect> {
        self.refresh();
        let mine = self.my_list();
        let (Some(info), true) = (self.info(), mine.is_some() || self.list_of_answer().is_some())
        else {
            let why = self.no_list();
            return self.refuse(format!("{why}, so there is no list to make a model of"));
        };
        let data = if self.run.replay {
            info.input.clone()
        } else {
            self.run.data.to_string_lossy().into()
        };
        let file = mine.as_ref().map(|list| self.exports_own_to().join(&list.file));
        let own = Choice::of(self.spec());
        let choice = if mine.is_some() { own } else { self.choice() };
        let command = fit_command(&choice.options(self.spec()), &data, file.as_deref());
        let features = match (&mine, self.answer()) {
            (Some(_), _) => self.selection.table.marks().len(),
            (None, answer) => answer.map_or(0, |answer| answer.features.len()),
        };
        self.layout.overlay = Some(Overlay::Fit(FitPage::new(command, mine.is_some(), features)));
        mine.map(Effect::Save).into_iter().collect()
    }
}
