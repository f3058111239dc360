//! What a person asks for: an action changes the state and gives back what must be done outside.

use super::{App, Effect, Pause, Phase};
use crate::analysis::Trace;
use crate::select::BetaRule;
use crate::tui::action::Action;
use crate::tui::overlay::{
    ExportMenu, HelpPage, LinePrompt, OptionsEditor, Overlay, Palette, Prompt, QuitQuestion,
    Reaction,
};
use crate::tui::table::Filter;
use crate::tui::view::View;

/// A range of sizes is at most this many times halved.
const MOST_ZOOM: u32 = 12;

/// The window of a rule in steps of 0.05.
fn twentieths(rule: &BetaRule) -> f64 {
    (rule.window * 20.0).round()
}

impl App {
    /// Does what was asked for.
    pub fn update(&mut self, action: Action) -> Vec<Effect> {
        self.layout.status = None;
        match (self.layout.overlay.take(), action) {
            (overlay, Action::Suspend) => {
                self.layout.overlay = overlay;
                vec![Effect::Suspend]
            }
            (None, _) => self.on_view(action),
            (Some(mut overlay), _) => {
                let reaction = overlay.act(self, action);
                self.after(overlay, reaction)
            }
        }
    }

    /// An overlay has reacted: it comes back unless it closes.
    pub(in crate::tui) fn after(&mut self, overlay: Overlay, reaction: Reaction) -> Vec<Effect> {
        match reaction {
            Reaction::Close(effects) => effects,
            Reaction::Stay(effects) => {
                self.layout.overlay = Some(overlay);
                effects
            }
        }
    }

    /// Does what was asked for while nothing is in front of the view.
    pub(in crate::tui) fn on_view(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Quit => {
                if self.run.phase == Phase::Running && !self.run.replay {
                    self.layout.overlay = Some(Overlay::Quit(QuitQuestion));
                } else {
                    return vec![Effect::Quit];
                }
            }
            Action::Help => self.layout.overlay = Some(Overlay::Help(HelpPage::default())),
            Action::Palette => self.layout.overlay = Some(Overlay::Palette(Palette::default())),
            Action::Back => self.back(),
            Action::Open if self.layout.view == View::Size => {
                return self.on_view(Action::TakeSize);
            }
            Action::Open => return self.open_feature(),
            Action::Show(view) => self.choose_view(view),
            Action::NextView => {
                self.choose_view(View::ALL[(self.layout.view as usize + 1) % View::ALL.len()])
            }
            Action::PreviousView => {
                let before = self.layout.view as usize + View::ALL.len() - 1;
                self.choose_view(View::ALL[before % View::ALL.len()]);
            }
            Action::TogglePlay => self.toggle_play(),
            Action::ToggleEngine => return self.toggle_engine(),
            Action::StepOnce => return self.step_once(),
            Action::ToEnd => {
                self.playback.playing = false;
                self.playback.live = true;
                self.go(self.steps().saturating_sub(1));
                let waits = self.run.pause != Pause::No && self.run.phase == Phase::Running;
                if waits && !self.trace().is_some_and(Trace::finished) {
                    return vec![Effect::FinishTask(self.playback.focus)];
                }
            }
            Action::Earlier => self.scrub(self.playback.cursor.saturating_sub(1)),
            Action::Later => self.scrub(self.playback.cursor + 1),
            Action::CursorLeft => self.move_chart_cursor(false),
            Action::CursorRight => self.move_chart_cursor(true),
            Action::CursorHome => self.point_at(0),
            Action::CursorEnd => self.point_at(usize::MAX),
            Action::First => self.scrub(0),
            Action::Live => {
                self.scrub(usize::MAX);
                self.playback.live = true;
            }
            Action::GoTo => self.ask(Prompt::GoTo),
            Action::Find => self.ask(Prompt::Find),
            Action::Filter => {
                let text = self.selection.table.filter().map_or("", Filter::text).to_owned();
                self.layout.overlay = Some(Overlay::Prompt(LinePrompt::new(Prompt::Filter, text)));
            }
            Action::FindNext => self.find_next(true),
            Action::FindPrevious => self.find_next(false),
            Action::Up => self.up_or_down(false, 1),
            Action::Down => self.up_or_down(true, 1),
            Action::PageUp => self.up_or_down(false, self.page()),
            Action::PageDown => self.up_or_down(true, self.page()),
            Action::Top => self.up_or_down(false, usize::MAX),
            Action::Bottom => self.up_or_down(true, usize::MAX),
            Action::PreviousSplit => self.focus_split(false),
            Action::NextSplit => self.focus_split(true),
            Action::NextMethod => self.next_method(),
            // Keys of the screen of patients.
            Action::PreviousPatient
            | Action::NextPatient
            | Action::PreviousClass
            | Action::NextClass
            | Action::Enlarge => {}
            Action::Faster => self.playback.speed = (self.playback.speed * 2.0).min(64.0),
            Action::Slower => self.playback.speed = (self.playback.speed / 2.0).max(0.25),
            Action::Zoom => {
                let panels = self.layout.view.panels().len();
                self.layout.zoom = match self.layout.zoom {
                    None => Some(0),
                    Some(panel) if panel + 1 < panels => Some(panel + 1),
                    Some(_) => None,
                };
            }
            Action::Sort => self.selection.table.sort_by_next(),
            Action::Reverse => self.selection.table.reverse(),
            Action::Larger => self.take_another_size(true),
            Action::Smaller => self.take_another_size(false),
            Action::TakeSize => self.take(Some(self.chart_size())),
            Action::OwnSize => self.take(None),
            Action::Mark => self.mark(),
            Action::ToggleAxis => self.sizes.scale = Some(self.scale().toggled()),
            Action::ZoomIn => self.sizes.range_zoom = (self.sizes.range_zoom + 1).min(MOST_ZOOM),
            Action::ZoomOut => self.zoom_out(),
            Action::NextMetrics => {
                self.layout.metrics = (self.layout.metrics + 1) % crate::tui::view::METRIC_PAIRS
            }
            Action::PerClass => self.layout.per_class = !self.layout.per_class,
            Action::Indices => self.layout.indices = !self.layout.indices,
            Action::SigmaUp => self.slide(|rule| rule.sigma = (rule.sigma + 0.5).min(20.0)),
            Action::SigmaDown => self.slide(|rule| rule.sigma = (rule.sigma - 0.5).max(0.5)),
            Action::WindowUp => self.slide_window(1.0),
            Action::WindowDown => self.slide_window(-1.0),
            Action::Options if self.run.replay => {
                self.say("the settings of a recorded run are fixed; start a new one with crfe-tui DATA.CSV");
            }
            Action::Options => {
                self.layout.overlay =
                    Some(Overlay::Options(Box::new(OptionsEditor::new(self.spec()))));
            }
            Action::Export => self.layout.overlay = Some(Overlay::Export(ExportMenu::default())),
            Action::Copy => return self.copy(),
            Action::Fit => return self.fit(),
            Action::WhatIfRemoved | Action::WhatIfKept => {
                return self.what_if(action == Action::WhatIfRemoved);
            }
            Action::Suspend => return vec![Effect::Suspend],
        }
        Vec::new()
    }

    /// Undoes one thing: an enlarged panel, a branch, a filter, a selection.
    pub(super) fn back(&mut self) {
        if self.layout.zoom.take().is_some() || self.lookups.branch.take().is_some() {
            return;
        }
        if self.layout.view == View::Size && std::mem::take(&mut self.layout.per_class) {
            return;
        }
        if self.selection.table.filter().is_some() {
            self.selection.table.set_filter(None);
        } else {
            self.selection.selected = None;
            self.selection.table.set_search(None);
        }
    }

    pub(super) fn slide(&mut self, change: impl FnOnce(&mut BetaRule)) {
        let mut rule = self.rule();
        change(&mut rule);
        self.sizes.slid = Some(rule);
    }

    /// Slides the window by twentieths until ψ is another; not at all if it stays the same to the
    /// end.
    fn slide_window(&mut self, by: f64) {
        let units = self.info().map_or(0, |info| info.units.len());
        let mut rule = self.rule();
        let before = self.rule().psi(units);
        while rule.psi(units) == before {
            let next = twentieths(&rule) + by;
            if !(1.0..=20.0).contains(&next) {
                return;
            }
            rule.window = next / 20.0;
        }
        self.slide(|own| *own = rule);
    }

    pub(super) fn ask(&mut self, prompt: Prompt) {
        self.layout.overlay = Some(Overlay::Prompt(LinePrompt::new(prompt, "")));
    }
}
