//! The state of the screen and how it changes: [`App::update`] takes actions, and gives back what must be done outside.
//!
//! Nothing here draws, waits, or touches the terminal.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::action::{Action, View};
use super::derived::Derived;
use super::form::Form;
use super::keymap::Keymap;
use super::session::Message;
use super::theme::Theme;
use crate::error::Error;
use crate::history::{History, Trace};
use crate::run::{
    Branch, EventKind, Forced, Inspection, Plan, Portrait, RunEvent, RunInfo, RunSpec, ShardStatus, Step,
    TaskId,
};
use crate::select::BetaRule;

/// How far the run has come.
#[derive(Debug, Clone, PartialEq)]
pub enum Phase {
    /// The file is being read.
    Loading {
        /// Bytes read.
        bytes: u64,
        /// Bytes in all.
        of: u64,
    },
    /// Tasks are under way.
    Running,
    /// All tasks have ended.
    Done,
    /// The run could not begin, or could not go on.
    Failed(String),
}

/// Whether the engine waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// It runs.
    No,
    /// It was asked to, and has not said yes.
    Asked,
    /// Every task waits.
    Yes,
}

/// What the ranking is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// What goes first on top, then what has gone, latest first.
    Turn,
    /// Mean rank over the finished splits.
    MeanRank,
    /// By name.
    Name,
    /// In the order of the file.
    File,
}

impl Sort {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Turn => "β",
            Self::MeanRank => "mean rank",
            Self::Name => "name",
            Self::File => "file order",
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Turn => Self::MeanRank,
            Self::MeanRank => Self::Name,
            Self::Name => Self::File,
            Self::File => Self::Turn,
        }
    }
}

/// What is in front of the view.
#[derive(Debug, Clone, PartialEq)]
pub enum Overlay {
    /// Nothing.
    None,
    /// The keys, scrolled by so many lines.
    Help(usize),
    /// All about a feature, scrolled by so many lines.
    Feature(usize, usize),
    /// A line of text is being typed.
    Prompt(Prompt, String),
    /// The settings are being edited.
    Options(Box<Form>),
    /// What to write; the chosen line.
    Export(usize),
    /// Really quit?
    Quit,
}

/// What a typed line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompt {
    /// A feature's name.
    Find,
    /// A number of features.
    GoTo,
}

/// What can be written from the screen.
pub const EXPORTS: [&str; 3] = [
    "all tables (CSV, JSON) of the finished splits",
    "tables, figures (SVG) and report.html",
    "this view as text",
];

/// The line of [`EXPORTS`] that is not about tables.
pub const VIEW_AS_TEXT: usize = 2;

/// What must be done outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Leave.
    Quit,
    /// Stop the process for a while.
    Suspend,
    /// Halt the engine.
    PauseEngine,
    /// Let the engine go on.
    ResumeEngine,
    /// One elimination of a paused task.
    StepEngine(TaskId),
    /// A paused task goes on to its end.
    FinishTask(TaskId),
    /// Run again with other settings.
    Rerun(Box<RunSpec>),
    /// Recompute β of a step.
    Inspect(TaskId, Vec<usize>),
    /// Look at a feature.
    Portrait(usize),
    /// What would have happened otherwise?
    Branch(TaskId, Vec<usize>, Forced),
    /// Write a line of [`EXPORTS`].
    Export(usize),
    /// Put text on the clipboard.
    Copy(String),
}

/// A count and its noun.
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// Everything the screen shows.
pub struct App {
    /// The file.
    pub data: PathBuf,
    /// The settings of the run.
    pub spec: RunSpec,
    /// What has happened.
    pub history: History,
    /// The data, once they are read.
    pub plan: Option<Arc<Plan>>,
    /// How far it is.
    pub phase: Phase,
    /// Whether the engine waits.
    pub pause: Pause,
    /// Where the run is recorded, if it is.
    pub directory: Option<PathBuf>,
    /// Where the user wants files.
    pub out: Option<PathBuf>,
    /// What made the run fail as a whole.
    pub failure: Option<Error>,
    /// The run is replayed or followed: there is no engine here.
    pub replay: bool,
    /// How the shards of a followed run stand.
    pub shards: Vec<ShardStatus>,
    /// The path that is looked at.
    pub focus: TaskId,
    /// The step that is looked at.
    pub cursor: usize,
    /// The cursor follows the newest step.
    pub live: bool,
    /// The cursor moves by itself.
    pub playing: bool,
    /// Steps a second.
    pub speed: f64,
    /// The view.
    pub view: View,
    /// The enlarged panel of the view.
    pub zoom: Option<usize>,
    /// What is in front.
    pub overlay: Overlay,
    /// What the ranking is sorted by.
    pub sort: Sort,
    /// The selected feature; none means the one that goes.
    pub selected: Option<usize>,
    /// What was last searched for.
    pub find: String,
    /// First line of views that scroll.
    pub scroll: [usize; 5],
    /// Metrics by class.
    pub per_class: bool,
    /// k and ψ as they are slid.
    pub rule: BetaRule,
    /// What would have happened otherwise.
    pub branch: Option<Branch>,
    /// The feature that was looked at last.
    pub portrait: Option<Portrait>,
    /// β that was recomputed, with its task and size.
    pub inspected: Option<(TaskId, usize, Inspection)>,
    /// The step whose β is being recomputed.
    pub asked: Option<(TaskId, usize)>,
    /// Rows of the screen, for pages and the end of what scrolls.
    pub height: usize,
    /// Words for the status line.
    pub status: Option<String>,
    /// Colours and glyphs.
    pub theme: Theme,
    /// Keys.
    pub keymap: Keymap,
    /// What is computed from the above before a frame is drawn.
    pub derived: Derived,
    /// Counts events, so that [`Derived`] knows when it is stale.
    pub version: u64,
    /// Counts finished tasks.
    pub finished: u64,
}

impl App {
    /// Before anything is known.
    pub fn new(data: PathBuf, spec: RunSpec, theme: Theme, keymap: Keymap) -> Self {
        let focus = TaskId { method: spec.methods[0], split: 0 };
        let rule = spec.beta_rule;
        Self {
            data,
            spec,
            history: History::default(),
            plan: None,
            phase: Phase::Loading { bytes: 0, of: 0 },
            pause: Pause::No,
            directory: None,
            out: None,
            failure: None,
            replay: false,
            shards: Vec::new(),
            focus,
            cursor: 0,
            live: false,
            playing: true,
            speed: 4.0,
            view: View::Explore,
            zoom: None,
            overlay: Overlay::None,
            sort: Sort::Turn,
            selected: None,
            find: String::new(),
            scroll: [0; 5],
            per_class: false,
            rule,
            branch: None,
            portrait: None,
            inspected: None,
            asked: None,
            height: 24,
            status: None,
            theme,
            keymap,
            derived: Derived::default(),
            version: 0,
            finished: 0,
        }
    }

    /// What is known of the run.
    pub fn info(&self) -> Option<&RunInfo> {
        self.history.info().map(|info| &**info)
    }

    /// The focused path.
    pub fn trace(&self) -> Option<&Trace> {
        self.history.trace(self.focus)
    }

    /// The step under the cursor.
    pub fn step(&self) -> Option<&Step> {
        self.trace().and_then(|trace| trace.steps().get(self.cursor)).map(|step| &**step)
    }

    /// The size under the cursor; all features before anything has happened.
    pub fn size(&self) -> usize {
        self.step().map_or_else(|| self.info().map_or(0, |info| info.units.len()), |step| step.size)
    }

    /// Steps of the focused path so far.
    pub fn steps(&self) -> usize {
        self.trace().map_or(0, |trace| trace.steps().len())
    }

    /// The selected feature, or the one that goes now.
    pub fn selection(&self) -> Option<usize> {
        self.selected.or_else(|| self.step().and_then(|step| step.removed.first().copied()))
    }

    /// The units present under the cursor, ascending.
    pub fn present(&self) -> Vec<usize> {
        let (Some(info), Some(trace)) = (self.info(), self.trace()) else { return Vec::new() };
        (0..info.units.len())
            .filter(|&unit| trace.removed_at(unit).is_none_or(|step| step >= self.cursor))
            .collect()
    }

    /// Models of the focused path, once it has ended; before, as many as it will have unless the β rule ends it.
    pub fn path_length(&self) -> usize {
        match (self.trace(), self.info()) {
            (Some(trace), Some(info)) if !trace.finished() => {
                info.spec.step.models(info.units.len(), info.kept())
            }
            _ => self.steps(),
        }
    }

    /// Where files go: where the user said, to the recorded run, or into a directory with the name of the data.
    pub fn exports_to(&self) -> PathBuf {
        let kept = self.out.clone().or_else(|| self.directory.clone().filter(|_| self.replay));
        kept.unwrap_or_else(|| {
            let input = self.info().map_or("", |info| info.input.as_str());
            let stem =
                Path::new(input).file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into());
            let plain = |c: char| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '-' };
            let stem: String = stem.chars().map(plain).collect();
            let name = stem.trim_matches(['-', '.']);
            PathBuf::from(if name.is_empty() {
                "crfe-export".to_owned()
            } else {
                format!("crfe-export-{name}")
            })
        })
    }

    /// Whether a tick of the play would move the cursor.
    pub fn can_play(&self) -> bool {
        self.playing && self.cursor + 1 < self.steps()
    }

    /// Puts the cursor on a step. A selected feature that is not there any more is let go of: the ranking shows again what
    /// goes now.
    fn go(&mut self, step: usize) {
        let moved = self.cursor != step;
        self.cursor = step;
        let gone = |unit: usize| self.trace()?.removed_at(unit).filter(|&at| at < step);
        if moved && self.selected.is_some_and(|unit| gone(unit).is_some()) {
            self.selected = None;
        }
    }

    /// The play moves on by one step.
    pub fn tick(&mut self) {
        if self.can_play() {
            self.go(self.cursor + 1);
        }
        let at_end = self.cursor + 1 >= self.steps() && self.trace().is_some_and(Trace::finished);
        if at_end {
            self.playing = false;
        }
    }

    /// Takes a message from behind the screen.
    pub fn tell(&mut self, message: Message) {
        self.version += 1;
        match message {
            Message::Event(event) => self.event(&event),
            Message::Ready(plan) => self.plan = Some(plan),
            Message::Failed(error) => {
                self.phase = Phase::Failed(error.to_string());
                self.failure = Some(error);
            }
            Message::Inspected(task, size, inspection) => {
                self.inspected = Some((task, size, inspection));
                self.asked = None;
            }
            Message::Portrait(portrait) => self.portrait = Some(portrait),
            Message::Branched(branch) => {
                self.status = None;
                self.branch = Some(branch);
            }
            Message::Recorded(directory) => self.directory = Some(directory),
            Message::Shards(shards) => self.shards = shards,
            Message::Said(words) => self.status = Some(words),
        }
    }

    /// Takes an event of the run.
    pub fn event(&mut self, event: &RunEvent) {
        self.history.apply(event);
        match &event.kind {
            EventKind::Loading { bytes, of } => self.phase = Phase::Loading { bytes: *bytes, of: *of },
            EventKind::RunStarted(info) => {
                self.phase = Phase::Running;
                if self.replay && self.spec != info.spec {
                    self.spec = info.spec.clone();
                    self.rule = self.spec.beta_rule;
                    self.focus.method = self.spec.methods[0];
                }
            }
            EventKind::RunFinished => {
                self.phase = Phase::Done;
                self.pause = Pause::No;
            }
            EventKind::TaskFinished { .. } => self.finished += 1,
            EventKind::TaskFailed { message } => {
                if let Some(task) = event.task {
                    // On the screen splits count from 1.
                    self.status =
                        Some(format!("{} on split {} failed: {message}", task.method, task.split + 1));
                }
            }
            EventKind::Paused => self.pause = Pause::Yes,
            EventKind::Resumed => self.pause = Pause::No,
            EventKind::TaskStarted(_) | EventKind::Step(_) => {}
        }
        if self.live && event.task == Some(self.focus) {
            self.go(self.steps().saturating_sub(1));
        }
    }

    /// Does what was asked for.
    pub fn update(&mut self, action: Action) -> Vec<Effect> {
        self.status = None;
        let page = self.page();
        match (&mut self.overlay, action) {
            (_, Action::Suspend) => return vec![Effect::Suspend],
            (Overlay::None, _) => return self.on_view(action),
            (Overlay::Quit, Action::Quit | Action::Open) => return vec![Effect::Quit],
            (Overlay::Help(line), Action::Up) => *line = line.saturating_sub(1),
            (Overlay::Help(line), Action::PageUp) => *line = line.saturating_sub(page),
            (Overlay::Help(line), Action::Down | Action::PageDown) => {
                let by = if action == Action::Down { 1 } else { page };
                let room = self.height.saturating_sub(super::view::AROUND + 2);
                let last = super::view::help_length(&self.keymap).saturating_sub(room);
                *line = (*line + by).min(last);
            }
            (Overlay::Options(form), Action::Up | Action::Down) => form.go(action == Action::Down),
            (Overlay::Export(at), Action::Up) => *at = at.saturating_sub(1),
            (Overlay::Export(at), Action::Down) => *at = (*at + 1).min(EXPORTS.len() - 1),
            (Overlay::Export(at), Action::Open) => {
                let at = *at;
                self.overlay = Overlay::None;
                return vec![Effect::Export(at)];
            }
            (Overlay::Feature(_, line), Action::PageUp) => *line = line.saturating_sub(page),
            (&mut Overlay::Feature(unit, line), Action::PageDown) => {
                let room = self.height.saturating_sub(super::view::AROUND + 2);
                let last = super::view::feature_length(self, unit).saturating_sub(room);
                self.overlay = Overlay::Feature(unit, (line + page).min(last));
            }
            (&mut Overlay::Feature(unit, _), Action::Up | Action::Down) => {
                self.selected = Some(unit);
                self.move_selection(action == Action::Down, 1);
                return self.open_feature();
            }
            (
                Overlay::Feature(..),
                Action::Earlier
                | Action::Later
                | Action::PreviousSplit
                | Action::NextSplit
                | Action::NextMethod,
            ) => {
                return self.on_view(action);
            }
            (_, Action::Show(_) | Action::NextView | Action::PreviousView) => {
                self.overlay = Overlay::None;
                return self.on_view(action);
            }
            (_, Action::Back | Action::Quit | Action::Open | Action::Help) => self.overlay = Overlay::None,
            _ => {}
        }
        Vec::new()
    }

    fn on_view(&mut self, action: Action) -> Vec<Effect> {
        match action {
            Action::Quit => {
                if self.phase == Phase::Running && !self.replay {
                    self.overlay = Overlay::Quit;
                } else {
                    return vec![Effect::Quit];
                }
            }
            Action::Help => self.overlay = Overlay::Help(0),
            Action::Back => {
                if self.zoom.take().is_none() && self.branch.take().is_none() {
                    self.selected = None;
                }
            }
            Action::Open => return self.open_feature(),
            Action::Show(view) => self.show(view),
            Action::NextView => self.show(View::ALL[(self.view as usize + 1) % View::ALL.len()]),
            Action::PreviousView => {
                self.show(View::ALL[(self.view as usize + View::ALL.len() - 1) % View::ALL.len()])
            }
            Action::TogglePlay => self.toggle_play(),
            Action::ToggleEngine => return self.toggle_engine(),
            Action::StepOnce => return self.step_once(),
            Action::ToEnd => {
                self.playing = false;
                self.live = true;
                self.go(self.steps().saturating_sub(1));
                let waits = self.pause != Pause::No && self.phase == Phase::Running;
                if waits && !self.trace().is_some_and(Trace::finished) {
                    return vec![Effect::FinishTask(self.focus)];
                }
            }
            Action::Earlier => self.scrub(self.cursor.saturating_sub(1)),
            Action::Later => self.scrub(self.cursor + 1),
            Action::First => self.scrub(0),
            Action::Live => {
                self.scrub(usize::MAX);
                self.live = true;
            }
            Action::GoTo => self.overlay = Overlay::Prompt(Prompt::GoTo, String::new()),
            Action::Find => self.overlay = Overlay::Prompt(Prompt::Find, String::new()),
            Action::FindNext => self.find_next(),
            Action::Up => self.up_or_down(false, 1),
            Action::Down => self.up_or_down(true, 1),
            Action::PageUp => self.up_or_down(false, self.page()),
            Action::PageDown => self.up_or_down(true, self.page()),
            Action::PreviousSplit => self.focus_split(false),
            Action::NextSplit => self.focus_split(true),
            Action::NextMethod => self.next_method(),
            Action::Faster => self.speed = (self.speed * 2.0).min(64.0),
            Action::Slower => self.speed = (self.speed / 2.0).max(0.25),
            Action::Zoom => {
                let panels = super::view::panels(self.view).len();
                self.zoom = match self.zoom {
                    None => Some(0),
                    Some(panel) if panel + 1 < panels => Some(panel + 1),
                    Some(_) => None,
                };
            }
            Action::Sort => self.sort = self.sort.next(),
            Action::PerClass => self.per_class = !self.per_class,
            Action::SigmaUp => self.rule.sigma = (self.rule.sigma + 0.5).min(20.0),
            Action::SigmaDown => self.rule.sigma = (self.rule.sigma - 0.5).max(0.5),
            Action::WindowUp => self.rule.window = ((self.rule.window * 20.0).round() + 1.0).min(20.0) / 20.0,
            Action::WindowDown => {
                self.rule.window = ((self.rule.window * 20.0).round() - 1.0).max(1.0) / 20.0
            }
            Action::Options if self.replay => {
                self.status =
                    Some("a recorded run has its settings; crfe-tui DATA.CSV runs with others".into());
            }
            Action::Options => self.overlay = Overlay::Options(Box::new(Form::new(&self.spec))),
            Action::Export => self.overlay = Overlay::Export(0),
            Action::Copy => return self.copy(),
            Action::WhatIfRemoved | Action::WhatIfKept => {
                return self.what_if(action == Action::WhatIfRemoved);
            }
            Action::Suspend => return vec![Effect::Suspend],
        }
        Vec::new()
    }

    fn show(&mut self, view: View) {
        if self.view != view {
            self.view = view;
            self.zoom = None;
        }
    }

    fn toggle_play(&mut self) {
        self.playing = !self.playing;
        if self.playing {
            self.live = false;
            if self.cursor + 1 >= self.steps() && self.trace().is_some_and(Trace::finished) {
                self.go(0);
            }
        }
    }

    fn toggle_engine(&mut self) -> Vec<Effect> {
        match (self.pause, &self.phase) {
            _ if self.replay => {
                let key = self.keymap.key_of(Action::TogglePlay);
                self.status = Some(format!("this run is computed elsewhere; {key} halts the play"));
                Vec::new()
            }
            (_, Phase::Done | Phase::Failed(_)) => {
                let key = self.keymap.key_of(Action::TogglePlay);
                self.status = Some(format!("the engine has ended; {key} halts the play"));
                Vec::new()
            }
            (Pause::No, _) => {
                self.pause = Pause::Asked;
                vec![Effect::PauseEngine]
            }
            _ => {
                self.pause = Pause::No;
                vec![Effect::ResumeEngine]
            }
        }
    }

    fn step_once(&mut self) -> Vec<Effect> {
        self.playing = false;
        if self.cursor + 1 < self.steps() {
            self.go(self.cursor + 1);
            return Vec::new();
        }
        if self.pause == Pause::No || self.phase == Phase::Done {
            return Vec::new();
        }
        self.live = true;
        vec![Effect::StepEngine(self.focus)]
    }

    /// Puts the cursor on a step, or the last one.
    pub fn scrub(&mut self, to: usize) {
        self.playing = false;
        self.live = false;
        self.go(to.min(self.steps().saturating_sub(1)));
    }

    /// Puts the cursor on the step with this size, or the nearest above; says so when it is another.
    pub fn go_to_size(&mut self, size: usize) {
        let Some(trace) = self.trace().filter(|trace| !trace.steps().is_empty()) else { return };
        let steps = trace.steps().iter().take_while(|step| step.size >= size).count();
        self.scrub(steps.saturating_sub(1));
        let here = self.size();
        if here != size {
            let why = match (self.steps(), self.trace().is_some_and(Trace::finished)) {
                _ if here < size => "the path begins with",
                (steps, false) if self.cursor + 1 == steps => "the path has come to",
                (steps, true) if self.cursor + 1 == steps => "the path ends with",
                _ => "the nearest step has",
            };
            self.status = Some(format!("{why} {}", plural(here, "feature")));
        }
    }

    fn focus_split(&mut self, forward: bool) {
        let splits = self.info().map_or(1, |info| info.splits).max(1);
        let split = if forward { self.focus.split + 1 } else { self.focus.split + splits - 1 } % splits;
        self.refocus(TaskId { split, ..self.focus });
    }

    fn next_method(&mut self) {
        let methods = &self.spec.methods;
        let at = methods.iter().position(|&method| method == self.focus.method).unwrap_or(0);
        let method = methods[(at + 1) % methods.len()];
        self.refocus(TaskId { method, ..self.focus });
    }

    /// Looks at another path, at the same step if it has one.
    fn refocus(&mut self, task: TaskId) {
        self.focus = task;
        self.branch = None;
        self.go(self.cursor.min(self.steps().saturating_sub(1)));
    }

    /// Rows that a page moves by: half a screen, so that the eye keeps its place.
    fn page(&self) -> usize {
        (self.height / 2).max(1)
    }

    fn up_or_down(&mut self, down: bool, by: usize) {
        if self.view == View::Explore {
            self.move_selection(down, by);
        } else {
            let last = self.last_line();
            let scroll = &mut self.scroll[self.view as usize];
            *scroll = if down { (*scroll + by).min(last) } else { scroll.saturating_sub(by) };
        }
    }

    /// The last line that a view can scroll to.
    fn last_line(&self) -> usize {
        let Some(info) = self.info() else { return 0 };
        let lines = match self.view {
            View::Explore => 0,
            View::Metrics if self.per_class => (info.classes.len() + 1).saturating_sub(Theme::CLASSES),
            View::Metrics => 0,
            View::Consistency => info.units.len(),
            View::Stopping => self.history.of_method(self.focus.method).count(),
            View::Data => super::view::data_length(self, info),
        };
        lines.saturating_sub(1)
    }

    fn move_selection(&mut self, down: bool, by: usize) {
        self.refresh();
        let rows = &self.derived.rows;
        if rows.is_empty() {
            return;
        }
        let at = self.selection().and_then(|unit| rows.iter().position(|&row| row == unit)).unwrap_or(0);
        let to = if down { (at + by).min(rows.len() - 1) } else { at.saturating_sub(by) };
        self.selected = Some(rows[to]);
    }

    /// Why there is no feature to do something with.
    fn nothing_selected(&self) -> String {
        match self.step() {
            Some(_) => "nothing goes at the last step: scrub back, or choose a feature with ↑ ↓".into(),
            None => "this split has not started yet".into(),
        }
    }

    fn open_feature(&mut self) -> Vec<Effect> {
        let Some(unit) = self.selection() else {
            self.status = Some(self.nothing_selected());
            return Vec::new();
        };
        let line = match self.overlay {
            Overlay::Feature(_, line) => line,
            _ => 0,
        };
        self.overlay = Overlay::Feature(unit, line);
        let mut effects = Vec::new();
        if self.portrait.as_ref().is_none_or(|portrait| portrait.unit != unit) {
            effects.push(Effect::Portrait(unit));
        }
        effects
    }

    /// Whether β of the step under the cursor was recomputed.
    pub fn inspected_here(&self) -> bool {
        let here = (self.focus, self.size());
        self.inspected.as_ref().is_some_and(|(task, size, _)| (*task, *size) == here)
    }

    /// What must be recomputed because a step does not hold it, asked for once: β of all features when the cursor rests, and
    /// what each class contributes while a feature is looked at.
    pub fn wanted(&mut self) -> Option<Effect> {
        let step = self.step()?;
        let whole = matches!(step.beta, Some(crate::run::Betas::Whole(_)));
        let looking = matches!(self.overlay, Overlay::Feature(..));
        let resting = self.view == View::Explore && !whole && !self.playing;
        let here = (self.focus, step.size);
        if self.plan.is_none()
            || !(looking || resting)
            || self.inspected_here()
            || self.asked.is_some_and(|(task, size)| (task, size) == here || looking && self.playing)
        {
            return None;
        }
        self.asked = Some(here);
        Some(Effect::Inspect(self.focus, self.present()))
    }

    fn what_if(&mut self, removed: bool) -> Vec<Effect> {
        let (Some(unit), Some(step)) = (self.selection(), self.step()) else {
            self.status = Some(self.nothing_selected());
            return Vec::new();
        };
        if removed && step.removed.contains(&unit) {
            self.status = Some("it goes here anyway; choose another feature with ↑ ↓".into());
            return Vec::new();
        }
        let present = self.present();
        if present.binary_search(&unit).is_err() {
            self.status = Some("this feature has gone already; scrub back to where it was present".into());
            return Vec::new();
        }
        if removed && (present.len() < 2 || self.info().is_some_and(|info| info.units[unit].kept)) {
            self.status = Some("this feature cannot go here".into());
            return Vec::new();
        }
        self.status = Some("computing what would have happened …".into());
        let forced = if removed { Forced::Removed(unit) } else { Forced::Kept(unit) };
        vec![Effect::Branch(self.focus, present, forced)]
    }

    /// In the Stopping view the answer, elsewhere what is present under the cursor.
    fn copy(&mut self) -> Vec<Effect> {
        self.refresh();
        let (Some(info), Some(_)) = (self.info(), self.trace()) else {
            self.status = Some("there is nothing to copy yet".into());
            return Vec::new();
        };
        let (names, which): (Vec<&str>, String) = match &self.derived.answer {
            Some(answer) if self.view == View::Stopping => (
                answer.features.iter().map(|feature| feature.name.as_str()).collect(),
                format!("of the answer of {} ({})", answer.method, answer.chosen.rule),
            ),
            _ => (
                self.present().into_iter().map(|unit| info.units[unit].name.as_str()).collect(),
                format!("at this step of {}, split {}", self.focus.method, self.focus.split + 1),
            ),
        };
        if names.is_empty() {
            self.status = Some("the rule chooses no size, so there is no list to copy".into());
            return Vec::new();
        }
        let (text, count) = (names.join("\n"), plural(names.len(), "feature"));
        self.status = Some(format!("copied {count} {which}, if the terminal allows it (OSC 52)"));
        vec![Effect::Copy(text)]
    }

    /// A typed line is complete.
    pub fn submit(&mut self, prompt: Prompt, text: &str) {
        self.overlay = Overlay::None;
        match prompt {
            Prompt::GoTo => match text.trim().parse() {
                Ok(size) => self.go_to_size(size),
                Err(_) => self.status = Some(format!("'{text}' is not a number of features")),
            },
            Prompt::Find => {
                self.find = text.to_owned();
                self.find_next();
            }
        }
    }

    fn find_next(&mut self) {
        if self.find.is_empty() {
            return;
        }
        self.refresh();
        let Some(info) = self.info() else { return };
        let wanted = self.find.to_lowercase();
        let rows = &self.derived.rows;
        let start =
            self.selection().and_then(|unit| rows.iter().position(|&row| row == unit)).map_or(0, |at| at + 1);
        let found = (0..rows.len())
            .map(|i| rows[(start + i) % rows.len()])
            .find(|&unit| info.units[unit].name.to_lowercase().contains(&wanted));
        match found {
            Some(unit) => self.selected = Some(unit),
            None => self.status = Some(format!("no feature is called like '{}'", self.find)),
        }
    }

    /// Computes what the next frame needs and what is stale.
    pub fn refresh(&mut self) {
        let mut derived = std::mem::take(&mut self.derived);
        derived.refresh(self);
        self.derived = derived;
    }

    /// Other settings: everything begins anew, the screen stays as it is.
    pub fn restart(&mut self, spec: RunSpec) {
        let mut fresh = Self::new(self.data.clone(), spec, self.theme, self.keymap.clone());
        fresh.view = self.view;
        fresh.sort = self.sort;
        fresh.speed = self.speed;
        fresh.per_class = self.per_class;
        fresh.height = self.height;
        fresh.out = self.out.take();
        *self = fresh;
    }
}
