//! What is computed from the data when somebody looks closer, asked for once: β, twins, my list, a
//! feature, what if.

use super::{App, Effect, Lookup, Phase};
use crate::analysis::Comparison;
use crate::evaluate::Tally;
use crate::run::{
    Branch, EffectCurve, Forced, Inspection, Portrait, RunSpec, Survey, Surveyed, TaskId,
};
use crate::tui::overlay::{FeaturePage, Overlay};
use crate::tui::view::View;

/// Features whose twins are looked for at once.
const MOST_TWINS: usize = 200;

/// A list, and what it achieved split by split.
type ListTallies = (Vec<usize>, Vec<(usize, Tally)>);

/// What was computed from the data, and what has been asked for.
#[derive(Default)]
pub(super) struct Lookups {
    pub(super) branch: Option<Branch>,
    /// The feature that was looked at last.
    pub(super) portrait: Option<Portrait>,
    /// The effect of a feature in a model, with its task and size.
    pub(super) effect: Option<(TaskId, usize, EffectCurve)>,
    /// The task, size and feature whose effect is being computed.
    asked_effect: Option<(TaskId, usize, usize)>,
    /// β that was recomputed, with its task and size.
    pub(super) inspected: Option<(TaskId, usize, Inspection)>,
    /// The step whose β is being recomputed.
    pub(super) asked: Option<(TaskId, usize)>,
    /// The units whose twins are being looked for.
    pub(super) asked_twins: Vec<usize>,
    /// The table as the settings that are being edited understand it.
    pub(super) survey: Option<Survey>,
    /// A table is being read for that.
    pub(super) surveys: bool,
    /// The list that is being tested on all splits.
    pub(super) asked_list: Vec<usize>,
    /// The list that was tested, and what it achieved split by split.
    pub(super) tested_list: Option<ListTallies>,
    /// What came to nothing; it is not asked for again.
    failed: Vec<Lookup>,
}

impl App {
    /// What would have happened otherwise.
    pub fn branch(&self) -> Option<&Branch> {
        self.lookups.branch.as_ref()
    }

    /// The feature that was looked at last.
    pub fn portrait(&self) -> Option<&Portrait> {
        self.lookups.portrait.as_ref()
    }

    /// β that was recomputed, with its task and size.
    pub fn inspected(&self) -> Option<&(TaskId, usize, Inspection)> {
        self.lookups.inspected.as_ref()
    }

    pub(super) fn open_feature(&mut self) -> Vec<Effect> {
        let Some(unit) = self.selection() else {
            return self.refuse(self.nothing_selected());
        };
        self.look_at(unit)
    }

    /// Opens the page of a feature, which stands still: at the step under the cursor, or in Answer
    /// where the path has the size of the answer. A feature that goes earlier on this path is shown
    /// where it is removed.
    pub(in crate::tui) fn look_at(&mut self, unit: usize) -> Vec<Effect> {
        self.playback.playing = false;
        let finished =
            self.trace().filter(|trace| trace.finished() && self.layout.view == View::Answer);
        if let (Some(trace), Some(size)) = (finished, self.chosen_size()) {
            let steps = trace.steps().iter().take_while(|step| step.size >= size).count();
            let last = trace.removed_at(unit).unwrap_or(usize::MAX);
            self.scrub(steps.saturating_sub(1).min(last));
        }
        self.layout.overlay = Some(Overlay::Feature(FeaturePage::of(unit)));
        self.portrait_wanted(unit)
    }

    /// The data of a feature, unless they are there already.
    pub(in crate::tui) fn portrait_wanted(&self, unit: usize) -> Vec<Effect> {
        let known = self.lookups.portrait.as_ref().is_some_and(|portrait| portrait.unit == unit);
        if known { Vec::new() } else { vec![Effect::LookUp(Lookup::Portrait(unit))] }
    }

    /// Whether β of the step under the cursor was recomputed.
    pub fn inspected_here(&self) -> bool {
        let here = (self.playback.focus, self.size());
        self.lookups.inspected.as_ref().is_some_and(|(task, size, _)| (*task, *size) == here)
    }

    /// What must be computed from the data because the run does not hold it, asked for once.
    pub fn wanted(&mut self) -> Option<Effect> {
        let closer = self.wanted_survey().or_else(|| self.wanted_beta());
        closer
            .or_else(|| self.wanted_effect())
            .or_else(|| self.wanted_list())
            .or_else(|| self.wanted_twins())
    }

    /// Asks for something, unless that came to nothing before.
    fn once(&self, lookup: Lookup) -> Option<Effect> {
        (!self.lookups.failed.contains(&lookup)).then_some(Effect::LookUp(lookup))
    }

    /// A closer look came to nothing: it is no longer awaited.
    pub(super) fn lookup_failed(&mut self, lookup: Lookup, why: String) {
        self.say(why);
        match &lookup {
            Lookup::Inspect(..) => self.lookups.asked = None,
            Lookup::FindTwins(_) => self.lookups.asked_twins.clear(),
            Lookup::TestList(_) => self.lookups.asked_list.clear(),
            Lookup::EffectCurve(..) => self.lookups.asked_effect = None,
            Lookup::Portrait(_) | Lookup::Branch(..) => {}
        }
        self.lookups.failed.push(lookup);
    }

    /// Whether the page of a feature waits for numbers.
    pub fn awaits_numbers(&self) -> bool {
        let Some(Overlay::Feature(page)) = &self.layout.overlay else { return false };
        let unit = page.unit();
        let is_drawn = self.portrait().is_some_and(|portrait| portrait.unit == unit);
        let is_computed = self.inspected_here() && self.effect_of(unit).is_some();
        self.run.plan.is_some() && !(is_drawn && (is_computed || !self.present().contains(&unit)))
    }

    /// The table as the settings that are being edited understand it; one is read at a time.
    fn wanted_survey(&mut self) -> Option<Effect> {
        let Some(Overlay::Options(editor)) = &self.layout.overlay else { return None };
        let spec = editor.spec()?;
        if self.lookups.surveys || self.surveyed(&spec).is_some() {
            return None;
        }
        self.lookups.surveys = true;
        Some(Effect::Survey(Box::new(spec)))
    }

    /// What the table gives under these settings, if that is known; else why it cannot be read.
    pub(in crate::tui) fn surveyed(&self, spec: &RunSpec) -> Option<Result<Surveyed, String>> {
        if let Some(plan) = self.plan().filter(|plan| plan.info.spec.schema == spec.schema) {
            return Some(Ok(Surveyed::of_plan(plan)));
        }
        let survey = self.lookups.survey.as_ref()?;
        (survey.spec.schema == spec.schema).then(|| survey.found.clone())
    }

    /// The effect of the feature that is looked at, in the model under the cursor.
    fn wanted_effect(&mut self) -> Option<Effect> {
        let Some(Overlay::Feature(page)) = &self.layout.overlay else { return None };
        let (unit, present) = (page.unit(), self.present());
        let here = (self.playback.focus, present.len(), unit);
        let is_known = self.effect_of(unit).is_some() || self.lookups.asked_effect == Some(here);
        if self.run.plan.is_none() || is_known || !present.contains(&unit) {
            return None;
        }
        let effect = self.once(Lookup::EffectCurve(self.playback.focus, present, unit))?;
        self.lookups.asked_effect = Some(here);
        Some(effect)
    }

    /// The effect of a feature in the model under the cursor, once it has been computed.
    pub fn effect_of(&self, unit: usize) -> Option<&EffectCurve> {
        let here = (self.playback.focus, self.size());
        let effect = self.lookups.effect.as_ref();
        effect
            .filter(|(task, size, own)| (*task, *size) == here && own.unit == unit)
            .map(|(_, _, own)| own)
    }

    /// The twins of the answer, once it does not change any more.
    pub(super) fn wanted_twins(&mut self) -> Option<Effect> {
        if self.run.plan.is_none() || self.run.phase != Phase::Done {
            return None;
        }
        let features = &self.answer()?.features;
        let units =
            features.iter().filter(|feature| feature.twins.is_none()).map(|feature| feature.unit);
        let units: Vec<usize> = units.take(MOST_TWINS).collect();
        if units.is_empty() || self.lookups.asked_twins == units {
            return None;
        }
        self.lookups.asked_twins.clone_from(&units);
        self.once(Lookup::FindTwins(units))
    }

    /// My list on all splits.
    pub(super) fn wanted_list(&mut self) -> Option<Effect> {
        let units: Vec<usize> = self.selection.table.marks().iter().copied().collect();
        let is_known =
            self.lookups.tested_list.as_ref().is_some_and(|(tested, _)| *tested == units);
        if self.run.plan.is_none()
            || units.is_empty()
            || is_known
            || self.lookups.asked_list == units
        {
            return None;
        }
        self.lookups.asked_list.clone_from(&units);
        self.once(Lookup::TestList(units))
    }

    /// My list beside the answer on all splits, once it has been tested.
    pub fn my_list_comparison(&self) -> Option<Comparison> {
        let (units, tallies) = self.lookups.tested_list.as_ref()?;
        let is_mine = units.iter().eq(self.selection.table.marks());
        let (info, answer) = (self.info()?, self.answer()?);
        is_mine
            .then(|| Comparison::of_list(self.history(), info, units.len(), tallies, answer))
            .flatten()
    }

    /// β of all features when the cursor rests, and what each class contributes while a feature is
    /// looked at.
    pub(super) fn wanted_beta(&mut self) -> Option<Effect> {
        let step = self.step()?;
        let whole = matches!(step.beta, Some(crate::run::Betas::Whole(_)));
        let looking = matches!(self.layout.overlay, Some(Overlay::Feature(_)));
        // The journal holds β, not weights.
        let by_weights = self.playback.focus.method.by_weights();
        let resting =
            self.layout.view == View::Explore && (!whole || by_weights) && !self.playback.playing;
        let here = (self.playback.focus, step.size);
        if self.run.plan.is_none()
            || !(looking || resting)
            || self.inspected_here()
            || self.lookups.asked.is_some_and(|(task, size)| {
                (task, size) == here || looking && self.playback.playing
            })
        {
            return None;
        }
        let inspect = self.once(Lookup::Inspect(self.playback.focus, self.present()))?;
        self.lookups.asked = Some(here);
        Some(inspect)
    }

    pub(super) fn what_if(&mut self, removed: bool) -> Vec<Effect> {
        let (Some(unit), Some(step)) = (self.selection(), self.step()) else {
            return self.refuse(self.nothing_selected());
        };
        if removed && step.removed.contains(&unit) {
            return self.refuse("this feature is removed here anyway; choose another with ↑ ↓");
        }
        let present = self.present();
        if present.binary_search(&unit).is_err() {
            return self.refuse(
                "this feature has already been removed; go back to a step where it is present",
            );
        }
        if removed && (present.len() < 2 || self.info().is_some_and(|info| info.units[unit].kept)) {
            return self.refuse("this feature cannot be removed here");
        }
        self.say("computing what would have happened …");
        let forced = if removed { Forced::Removed(unit) } else { Forced::Kept(unit) };
        vec![Effect::LookUp(Lookup::Branch(self.playback.focus, present, forced))]
    }
}
