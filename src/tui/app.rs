//! The state of the screen and how it changes: [`App::update`] takes actions, and gives back what must be done outside.
//!
//! Nothing here draws, waits, or touches the terminal.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::KeyEvent;

use super::action::{Action, View};
use super::chart::{AxisScale, SizeAxis};
use super::derived::Derived;
use super::keymap::Keymap;
use super::overlay::{
    Export, ExportMenu, FeaturePage, HelpPage, LinePrompt, OptionsEditor, Overlay, Palette, Prompt,
    QuitQuestion, Reaction,
};
use super::session::Message;
use super::table::{Filter, RankingColumn, RankingTable};
use super::theme::Theme;
use super::time_left::TimeLeft;
use crate::analysis::{Comparison, History, MethodAnswer, Trace};
use crate::error::{Error, ErrorKind};
use crate::evaluate::Tally;
use crate::record::ShardStatus;
use crate::run::{
    Branch, EventKind, Forced, Inspection, Plan, Portrait, RunEvent, RunInfo, RunSpec, Step, TaskId,
};
use crate::select::{BetaRule, Method};

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

/// What must be done outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Leave.
    Quit,
    /// Stop the process for a while.
    Suspend,
    /// Pause computing.
    PauseEngine,
    /// Resume computing.
    ResumeEngine,
    /// One elimination of a paused task.
    StepEngine(TaskId),
    /// A paused task goes on to its end.
    FinishTask(TaskId),
    /// Run again with other settings.
    Rerun(Box<RunSpec>),
    /// Recompute β of a step.
    Inspect(TaskId, Vec<usize>),
    /// Look for the twins of these features.
    FindTwins(Vec<usize>),
    /// Test a list on all splits.
    TestList(Vec<usize>),
    /// Look at a feature.
    Portrait(usize),
    /// What would have happened otherwise?
    Branch(TaskId, Vec<usize>, Forced),
    /// Write something into files.
    Export(Export),
    /// Put a list on the clipboard, and into a file beside the exports.
    Copy(CopiedList),
}

/// A list of features for the clipboard and for a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopiedList {
    /// One name per line.
    pub text: String,
    /// The file, beside the exports.
    pub file: &'static str,
    /// What it is, in words.
    pub words: String,
}

impl CopiedList {
    /// The answer.
    pub const SELECTED: &'static str = "selected.txt";
    /// My list.
    pub const MY_LIST: &'static str = "my_list.txt";
    /// What is left at a step.
    pub const STEP: &'static str = "step.txt";
}

/// With at most this many features every elimination is played.
const PLAYED_SINGLY: usize = 150;
/// Ticks of a play from all features to one, where not every elimination is played.
const PLAY_TICKS: f64 = 40.0;
/// Steps of the cursor from one end of a chart to the other.
const CURSOR_STEPS: u16 = 100;
/// Features whose twins are looked for at once.
const MOST_TWINS: usize = 200;
/// A range of sizes is at most this many times halved.
const MOST_ZOOM: u32 = 12;

/// The window of a rule in steps of 0.05.
fn twentieths(rule: &BetaRule) -> f64 {
    (rule.window * 20.0).round()
}

/// A count and its noun.
pub fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The run as far as it is known.
struct RunState {
    /// The file.
    data: PathBuf,
    /// The settings that were asked for; those of the run replace them once it has begun.
    asked_spec: RunSpec,
    history: History,
    /// The data, once they are read.
    plan: Option<Arc<Plan>>,
    phase: Phase,
    pause: Pause,
    /// Where the run is recorded, if it is.
    directory: Option<PathBuf>,
    /// Where the user wants files.
    out: Option<PathBuf>,
    /// What made the run fail as a whole.
    failure: Option<Error>,
    /// The run is replayed or followed: there is no engine here.
    replay: bool,
    shards: Vec<ShardStatus>,
    /// Counts finished tasks, so that [`Derived`] knows when it is stale.
    finished: u64,
    time_left: TimeLeft,
}

/// Which step of which path is looked at, and whether that moves by itself.
struct Playback {
    focus: TaskId,
    cursor: usize,
    /// The cursor follows the newest step.
    live: bool,
    playing: bool,
    /// Steps per second.
    speed: f64,
}

/// A list, and what it achieved split by split.
type ListTallies = (Vec<usize>, Vec<(usize, Tally)>);

/// What is looked at more closely.
struct SelectionState {
    table: RankingTable,
    /// The selected feature; none means the one that is removed, or the first of the answer.
    selected: Option<usize>,
    /// k and ψ, once they have been slid.
    slid: Option<BetaRule>,
    /// The size that was taken as the answer by hand.
    taken: Option<usize>,
    /// The cursor of the charts; none means the size of the answer.
    size: Option<usize>,
    branch: Option<Branch>,
    /// The feature that was looked at last.
    portrait: Option<Portrait>,
    /// β that was recomputed, with its task and size.
    inspected: Option<(TaskId, usize, Inspection)>,
    /// The step whose β is being recomputed.
    asked: Option<(TaskId, usize)>,
    /// The units whose twins are being looked for.
    asked_twins: Vec<usize>,
    /// The list that is being tested on all splits.
    asked_list: Vec<usize>,
    /// The list that was tested, and what it achieved split by split.
    tested_list: Option<ListTallies>,
}

/// What is on the screen.
struct ScreenState {
    view: View,
    /// The enlarged panel of the view.
    zoom: Option<usize>,
    overlay: Option<Overlay>,
    /// The first line of each view that scrolls.
    scroll: BTreeMap<View, usize>,
    /// The table of classes in place of the charts.
    per_class: bool,
    /// All indices of agreement.
    indices: bool,
    /// Which pair of metrics is charted.
    metrics: usize,
    /// The axis that was asked for; none means what suits the number of features.
    scale: Option<AxisScale>,
    /// Doublings by which the range of sizes is narrower than all.
    range_zoom: u32,
    /// The view was chosen by the user, or by an option.
    is_view_chosen: bool,
    /// Rows of the screen, for pages and the end of what scrolls.
    height: usize,
    /// Words for the status line.
    status: Option<String>,
}

/// Everything the screen shows.
pub struct App {
    run: RunState,
    playback: Playback,
    selection: SelectionState,
    layout: ScreenState,
    theme: Theme,
    keymap: Keymap,
    /// What is computed from the above before a frame is drawn.
    derived: Derived,
}

impl App {
    /// Before anything is known.
    pub fn new(data: PathBuf, spec: RunSpec, theme: Theme, keymap: Keymap) -> Self {
        let focus = TaskId { method: spec.methods[0], split: 0 };
        let run = RunState {
            data,
            asked_spec: spec,
            history: History::default(),
            plan: None,
            phase: Phase::Loading { bytes: 0, of: 0 },
            pause: Pause::No,
            directory: None,
            out: None,
            failure: None,
            replay: false,
            shards: Vec::new(),
            finished: 0,
            time_left: TimeLeft::default(),
        };
        let selection = SelectionState {
            table: RankingTable::default(),
            selected: None,
            slid: None,
            taken: None,
            size: None,
            branch: None,
            portrait: None,
            inspected: None,
            asked: None,
            asked_twins: Vec::new(),
            asked_list: Vec::new(),
            tested_list: None,
        };
        let layout = ScreenState {
            view: View::Explore,
            zoom: None,
            overlay: None,
            scroll: BTreeMap::new(),
            per_class: false,
            indices: false,
            metrics: 0,
            scale: None,
            range_zoom: 0,
            is_view_chosen: false,
            height: 24,
            status: None,
        };
        let playback = Playback { focus, cursor: 0, live: false, playing: true, speed: 4.0 };
        Self { run, playback, selection, layout, theme, keymap, derived: Derived::default() }
    }

    /// Plays this many steps per second.
    pub fn set_speed(&mut self, speed: f64) {
        self.playback.speed = speed;
    }

    /// Writes files here.
    pub fn set_out(&mut self, out: Option<PathBuf>) {
        self.run.out = out;
    }

    /// The run is replayed or followed: there is no engine here.
    pub fn set_replay(&mut self) {
        self.run.replay = true;
        self.start_in(View::Answer);
    }

    /// Starts in this view, unless another was chosen.
    fn start_in(&mut self, view: View) {
        if !self.layout.is_view_chosen {
            self.show(view);
        }
    }

    /// Starts in this view, whatever the run.
    pub fn choose_view(&mut self, view: View) {
        self.show(view);
        self.layout.is_view_chosen = true;
    }

    /// This long after the start.
    pub fn set_clock(&mut self, elapsed: Duration) {
        let work = self.work();
        self.run.time_left.note(elapsed, work);
    }

    /// What is left to compute, in words; none while that is not known.
    pub fn time_left(&self) -> Option<String> {
        let runs = self.run.phase == Phase::Running && self.run.pause == Pause::No;
        self.run.time_left.words(self.work()).filter(|_| runs && !self.run.replay)
    }

    /// Paths that have ended, and paths in all; a fold or a permutation has one per split.
    fn work(&self) -> (usize, usize) {
        let Some(info) = self.info() else { return (0, 0) };
        let (folds, permutations) = self.history().followups_by_kind();
        let failed = self.history().failed().len() + self.history().failed_followups().len() * info.splits;
        let done = self.history().finished_tasks().count() + (folds + permutations) * info.splits + failed;
        (done, info.splits * (info.spec.methods.len() + info.followups().len()))
    }

    /// The engine was asked to wait, or does.
    pub fn set_pause(&mut self, pause: Pause) {
        self.run.pause = pause;
    }

    /// Other colours or glyphs.
    pub fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
    }

    /// Other keys.
    pub fn set_keymap(&mut self, keymap: Keymap) {
        self.keymap = keymap;
    }

    /// Puts something in front of the view, or nothing.
    pub fn set_overlay(&mut self, overlay: Option<Overlay>) {
        self.layout.overlay = overlay;
    }

    /// Enlarges a panel of the view, or none.
    pub fn set_zoom(&mut self, panel: Option<usize>) {
        self.layout.zoom = panel;
    }

    /// The screen has this many rows.
    pub fn set_height(&mut self, rows: usize) {
        self.layout.height = rows;
    }

    /// Says something in the status line.
    pub fn say(&mut self, words: impl Into<String>) {
        self.layout.status = Some(words.into());
    }

    /// The file.
    pub fn data(&self) -> &Path {
        &self.run.data
    }

    /// The settings of the run; before it begins, those that were asked for.
    pub fn spec(&self) -> &RunSpec {
        self.info().map_or(&self.run.asked_spec, |info| &info.spec)
    }

    /// k and ψ of the β rule as they are slid.
    pub fn rule(&self) -> BetaRule {
        self.selection.slid.unwrap_or(self.spec().beta_rule)
    }

    /// What has happened.
    pub fn history(&self) -> &History {
        &self.run.history
    }

    /// The data, once they are read.
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        self.run.plan.as_ref()
    }

    /// How far the run has come.
    pub fn phase(&self) -> &Phase {
        &self.run.phase
    }

    /// Whether the engine waits.
    pub fn pause(&self) -> Pause {
        self.run.pause
    }

    /// Where the run is recorded, if it is.
    pub fn directory(&self) -> Option<&Path> {
        self.run.directory.as_deref()
    }

    /// Whether there is no engine here.
    pub fn is_replay(&self) -> bool {
        self.run.replay
    }

    /// How the shards of a followed run stand.
    pub fn shards(&self) -> &[ShardStatus] {
        &self.run.shards
    }

    /// What made the run fail as a whole.
    pub fn failure(&self) -> Option<&Error> {
        self.run.failure.as_ref()
    }

    /// Takes what made the run fail as a whole.
    pub fn take_failure(&mut self) -> Option<Error> {
        self.run.failure.take()
    }

    /// Has everything that depends on the finished tasks computed anew before the next frame.
    pub fn mark_stale(&mut self) {
        self.run.finished += 1;
    }

    /// How many tasks have finished.
    pub fn finished(&self) -> u64 {
        self.run.finished
    }

    /// The path that is looked at.
    pub fn focus(&self) -> TaskId {
        self.playback.focus
    }

    /// The step that is looked at.
    pub fn cursor(&self) -> usize {
        self.playback.cursor
    }

    /// Whether the cursor follows the newest step.
    pub fn is_live(&self) -> bool {
        self.playback.live
    }

    /// Whether the cursor moves by itself.
    pub fn is_playing(&self) -> bool {
        self.playback.playing
    }

    /// Steps per second.
    pub fn speed(&self) -> f64 {
        self.playback.speed
    }

    /// The view.
    pub fn view(&self) -> View {
        self.layout.view
    }

    /// The enlarged panel of the view.
    pub fn zoom(&self) -> Option<usize> {
        self.layout.zoom
    }

    /// What is in front of the view.
    pub fn overlay(&self) -> Option<&Overlay> {
        self.layout.overlay.as_ref()
    }

    /// Takes away what is in front of the view if it is being typed into.
    pub(super) fn take_typing(&mut self) -> Option<Overlay> {
        self.layout.overlay.take_if(|overlay| overlay.takes_text())
    }

    /// Whether what is in front of the view takes a key before the keymap does.
    pub(super) fn overlay_takes(&mut self, key: KeyEvent) -> bool {
        self.layout.overlay.as_mut().is_some_and(|overlay| overlay.takes_key(key))
    }

    /// The first line that the view shows.
    pub fn scroll(&self) -> usize {
        self.layout.scroll.get(&self.layout.view).copied().unwrap_or(0)
    }

    /// Whether metrics are shown by class.
    pub fn per_class(&self) -> bool {
        self.layout.per_class
    }

    /// Words for the status line.
    pub fn status(&self) -> Option<&str> {
        self.layout.status.as_deref()
    }

    /// How the ranking is sorted and filtered, and my list.
    pub fn table(&self) -> &RankingTable {
        &self.selection.table
    }

    /// The size that was taken as the answer by hand.
    pub fn taken(&self) -> Option<usize> {
        self.selection.taken
    }

    /// The answer of the focused method, once a split has finished.
    pub fn answer(&self) -> Option<&MethodAnswer> {
        self.derived.facts.answer.as_ref()
    }

    /// The size of the answer.
    pub fn chosen_size(&self) -> Option<usize> {
        self.answer().and_then(|answer| answer.chosen.size)
    }

    /// Where the cursor of the charts was put.
    pub fn cursor_size(&self) -> Option<usize> {
        self.selection.size
    }

    /// The size under the cursor of the charts.
    pub fn chart_size(&self) -> usize {
        let own = || self.selection.size.or_else(|| self.chosen_size());
        match self.layout.view {
            View::Explore => self.size(),
            _ => own().unwrap_or_else(|| self.size()),
        }
    }

    /// The axis of sizes, as wide as it was zoomed.
    pub fn axis(&self) -> SizeAxis {
        let (smallest, largest) = self.info().map_or((1, 1), |info| (info.kept().max(1), info.units.len()));
        SizeAxis::new(smallest..=largest, self.scale()).zoomed(self.chart_size(), self.layout.range_zoom)
    }

    /// How sizes are laid out.
    pub fn scale(&self) -> AxisScale {
        let units = self.info().map_or(1, |info| info.units.len());
        self.layout.scale.unwrap_or_else(|| AxisScale::for_features(units))
    }

    /// Whether all indices of agreement are shown.
    pub fn shows_indices(&self) -> bool {
        self.layout.indices
    }

    /// Which pair of metrics is charted.
    pub fn metrics(&self) -> usize {
        self.layout.metrics
    }

    /// The feature that was selected by hand.
    pub fn selected(&self) -> Option<usize> {
        self.selection.selected
    }

    /// What would have happened otherwise.
    pub fn branch(&self) -> Option<&Branch> {
        self.selection.branch.as_ref()
    }

    /// The feature that was looked at last.
    pub fn portrait(&self) -> Option<&Portrait> {
        self.selection.portrait.as_ref()
    }

    /// β that was recomputed, with its task and size.
    pub fn inspected(&self) -> Option<&(TaskId, usize, Inspection)> {
        self.selection.inspected.as_ref()
    }

    /// Colours and glyphs.
    pub fn theme(&self) -> &Theme {
        &self.theme
    }

    /// Keys.
    pub fn keymap(&self) -> &Keymap {
        &self.keymap
    }

    /// What is computed before a frame is drawn.
    pub fn derived(&self) -> &Derived {
        &self.derived
    }

    /// What is known of the run.
    pub fn info(&self) -> Option<&RunInfo> {
        self.run.history.info().map(|info| &**info)
    }

    /// The focused path.
    pub fn trace(&self) -> Option<&Trace> {
        self.run.history.trace(self.playback.focus)
    }

    /// The step under the cursor.
    pub fn step(&self) -> Option<&Step> {
        self.trace().and_then(|trace| trace.steps().get(self.playback.cursor)).map(|step| &**step)
    }

    /// The size under the cursor; all features before anything has happened.
    pub fn size(&self) -> usize {
        self.step().map_or_else(|| self.info().map_or(0, |info| info.units.len()), |step| step.size)
    }

    /// Steps of the focused path so far.
    pub fn steps(&self) -> usize {
        self.trace().map_or(0, |trace| trace.steps().len())
    }

    /// The selected feature; else the one that is removed now, or in Answer the first.
    pub fn selection(&self) -> Option<usize> {
        let first = || match self.layout.view {
            View::Answer => self.derived.answer_rows.first().copied(),
            _ => self.step().and_then(|step| step.removed.first().copied()),
        };
        self.selection.selected.or_else(first)
    }

    /// The rows of the list that is on the screen.
    pub fn list_rows(&self) -> &[usize] {
        match self.layout.view {
            View::Answer => &self.derived.answer_rows,
            _ => &self.derived.rows,
        }
    }

    /// The units present under the cursor, ascending: all of them before the path begins.
    pub fn present(&self) -> Vec<usize> {
        let Some(info) = self.info() else { return Vec::new() };
        let removed_at = |unit| self.trace().and_then(|trace| trace.removed_at(unit));
        let all = 0..info.units.len();
        all.filter(|&unit| removed_at(unit).is_none_or(|step| step >= self.playback.cursor)).collect()
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
        let kept = self.run.out.clone().or_else(|| self.run.directory.clone().filter(|_| self.run.replay));
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
        self.playback.playing && self.layout.view == View::Explore && self.playback.cursor + 1 < self.steps()
    }

    /// Steps that one tick of the play takes: on wide data equal steps on a logarithmic axis, so that it ends.
    fn stride(&self) -> usize {
        let units = self.info().map_or(1, |info| info.units.len());
        if units <= PLAYED_SINGLY {
            return 1;
        }
        // From all features to one in so many ticks.
        let ratio = (units as f64).powf(1.0 / PLAY_TICKS);
        let wanted = (self.size() as f64 / ratio).floor() as usize;
        let steps = self.trace().map_or(&[][..], |trace| trace.steps());
        let after = steps[self.playback.cursor.min(steps.len())..].iter();
        after.take_while(|step| step.size > wanted).count().max(1)
    }

    /// Puts the cursor on a step. A selected feature that is not there any more is let go of: the ranking shows again what
    /// goes now.
    fn go(&mut self, step: usize) {
        let moved = self.playback.cursor != step;
        self.playback.cursor = step;
        let gone = |unit: usize| self.trace()?.removed_at(unit).filter(|&at| at < step);
        if moved && self.selection.selected.is_some_and(|unit| gone(unit).is_some()) {
            self.selection.selected = None;
        }
    }

    /// The play moves on by one step.
    pub fn tick(&mut self) {
        if self.can_play() {
            self.go((self.playback.cursor + self.stride()).min(self.steps() - 1));
        }
        let at_end = self.playback.cursor + 1 >= self.steps() && self.trace().is_some_and(Trace::finished);
        if at_end {
            self.playback.playing = false;
        }
    }

    /// Takes a message from behind the screen.
    pub fn tell(&mut self, message: Message) {
        match message {
            Message::Event(event) => self.event(&event),
            Message::Ready(plan) => self.run.plan = Some(plan),
            Message::Failed(error) => {
                self.run.phase = Phase::Failed(error.to_string());
                // A table that was refused may be read with another setting.
                if self.info().is_none()
                    && !self.run.replay
                    && matches!(error.kind(), ErrorKind::Data | ErrorKind::Usage)
                {
                    let editor = OptionsEditor::for_remedy(&self.run.asked_spec, &error.to_string());
                    self.layout.overlay = editor.map(|editor| Overlay::Options(Box::new(editor)));
                }
                self.run.failure = Some(error);
            }
            Message::Inspected(task, size, inspection) => {
                self.selection.inspected = Some((task, size, inspection));
                self.selection.asked = None;
            }
            Message::Portrait(portrait) => self.selection.portrait = Some(portrait),
            Message::ListTested(units, tallies) => {
                self.selection.asked_list.clear();
                self.selection.tested_list = Some((units, tallies));
            }
            Message::Branched(branch) => {
                self.layout.status = None;
                self.selection.branch = Some(branch);
            }
            Message::Recorded(directory) => self.run.directory = Some(directory),
            Message::Reopened => self.start_in(View::Answer),
            Message::Shards(shards) => self.run.shards = shards,
            Message::Said(words) => self.layout.status = Some(words),
        }
    }

    /// Takes an event of the run.
    pub fn event(&mut self, event: &RunEvent) {
        let first = self.info().is_none();
        self.run.history.apply(event);
        match &event.kind {
            EventKind::Loading { bytes, of } => self.run.phase = Phase::Loading { bytes: *bytes, of: *of },
            EventKind::RunStarted(info) => {
                self.run.phase = Phase::Running;
                // The methods of a recorded run were not known before.
                if self.run.replay && first {
                    self.playback.focus.method = info.spec.methods[0];
                }
                self.selection.table.fit_to(info);
            }
            EventKind::RunFinished => {
                self.run.phase = Phase::Done;
                self.run.pause = Pause::No;
            }
            EventKind::TaskFinished { .. } => self.run.finished += 1,
            EventKind::TaskFailed { message } => {
                if let Some(task) = event.task {
                    // On the screen splits count from 1.
                    self.layout.status =
                        Some(format!("{} on split {} failed: {message}", task.method, task.split + 1));
                }
            }
            EventKind::Paused => self.run.pause = Pause::Yes,
            EventKind::Resumed => self.run.pause = Pause::No,
            EventKind::FollowupFailed(followup, message) => {
                self.layout.status = Some(format!("{followup} failed: {message}"));
            }
            EventKind::TaskStarted(_) | EventKind::Step(_) | EventKind::Followed(..) => {}
            // The answer names them.
            EventKind::TwinsFound(_) => self.run.finished += 1,
        }
        if event.task == Some(self.playback.focus) {
            // A task that failed or began anew has fewer steps than before.
            let last = self.steps().saturating_sub(1);
            self.go(if self.playback.live { last } else { self.playback.cursor.min(last) });
        }
    }

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
    pub(super) fn after(&mut self, overlay: Overlay, reaction: Reaction) -> Vec<Effect> {
        match reaction {
            Reaction::Close(effects) => effects,
            Reaction::Stay(effects) => {
                self.layout.overlay = Some(overlay);
                effects
            }
        }
    }

    /// Does what was asked for while nothing is in front of the view.
    pub(super) fn on_view(&mut self, action: Action) -> Vec<Effect> {
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
            Action::Open if self.layout.view == View::Size => return self.on_view(Action::TakeSize),
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
            Action::Faster => self.playback.speed = (self.playback.speed * 2.0).min(64.0),
            Action::Slower => self.playback.speed = (self.playback.speed / 2.0).max(0.25),
            Action::Zoom => {
                let panels = super::view::panels(self.layout.view).len();
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
            Action::ToggleAxis => self.layout.scale = Some(self.scale().toggled()),
            Action::ZoomIn => self.layout.range_zoom = (self.layout.range_zoom + 1).min(MOST_ZOOM),
            Action::ZoomOut => self.layout.range_zoom = self.layout.range_zoom.saturating_sub(1),
            Action::NextMetrics => {
                self.layout.metrics = (self.layout.metrics + 1) % super::view::METRIC_PAIRS
            }
            Action::PerClass => self.layout.per_class = !self.layout.per_class,
            Action::Indices => self.layout.indices = !self.layout.indices,
            Action::SigmaUp => self.slide(|rule| rule.sigma = (rule.sigma + 0.5).min(20.0)),
            Action::SigmaDown => self.slide(|rule| rule.sigma = (rule.sigma - 0.5).max(0.5)),
            Action::WindowUp => self.slide(|rule| rule.window = (twentieths(rule) + 1.0).min(20.0) / 20.0),
            Action::WindowDown => self.slide(|rule| rule.window = (twentieths(rule) - 1.0).max(1.0) / 20.0),
            Action::Options if self.run.replay => {
                self.layout.status = Some(
                    "the settings of a recorded run are fixed; start a new one with crfe-tui DATA.CSV".into(),
                );
            }
            Action::Options => {
                self.layout.overlay = Some(Overlay::Options(Box::new(OptionsEditor::new(self.spec()))));
            }
            Action::Export => self.layout.overlay = Some(Overlay::Export(ExportMenu::default())),
            Action::Copy => return self.copy(),
            Action::WhatIfRemoved | Action::WhatIfKept => {
                return self.what_if(action == Action::WhatIfRemoved);
            }
            Action::Suspend => return vec![Effect::Suspend],
        }
        Vec::new()
    }

    /// Undoes one thing: an enlarged panel, a branch, a filter, a selection.
    fn back(&mut self) {
        if self.layout.zoom.take().is_some() || self.selection.branch.take().is_some() {
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

    /// Sizes that the focused method has visited on some split, rising.
    fn visited(&self) -> Vec<usize> {
        let curve = self.run.history.curve(self.playback.focus.method);
        curve.map_or_else(Vec::new, |curve| curve.sizes().iter().rev().copied().collect())
    }

    /// Puts the cursor of the charts on the visited size nearest to this one.
    pub fn point_at(&mut self, size: usize) {
        let nearest = self.visited().into_iter().min_by_key(|other| other.abs_diff(size));
        self.selection.size = nearest;
    }

    /// The cursor of the charts goes one cell of the axis on, at least to the next visited size.
    fn move_chart_cursor(&mut self, right: bool) {
        let (axis, from, visited) = (self.axis(), self.chart_size(), self.visited());
        let cell =
            |size: usize| axis.place(size).map(|place| (place * f64::from(CURSOR_STEPS)).round() as i64);
        let here = cell(from);
        let moved = |&size: &usize| here.is_none() || cell(size) != here;
        let (below, above): (Vec<usize>, Vec<usize>) =
            visited.iter().filter(|&&size| size != from).partition(|&&size| size < from);
        let to = if right {
            above.iter().copied().find(moved).or(above.last().copied())
        } else {
            below.iter().rev().copied().find(moved).or(below.first().copied())
        };
        if let Some(to) = to {
            self.selection.size = Some(to);
        }
    }

    /// Takes the next larger or smaller visited size as the answer.
    fn take_another_size(&mut self, larger: bool) {
        self.refresh();
        let from = self.chosen_size().unwrap_or_else(|| self.chart_size());
        let visited = self.visited();
        let to = if larger {
            visited.iter().find(|&&size| size > from)
        } else {
            visited.iter().rev().find(|&&size| size < from)
        };
        if let Some(&to) = to {
            self.take(Some(to));
        }
    }

    /// Takes a size as the answer, or the rule's own.
    fn take(&mut self, size: Option<usize>) {
        if size.is_some() && self.answer().is_none() {
            self.layout.status = Some("no split has finished yet, so there is no answer to change".into());
            return;
        }
        self.selection.taken = size;
        self.selection.size = None;
        let key = self.keymap.key_of(Action::OwnSize);
        self.layout.status = Some(match size {
            Some(size) => {
                format!("the answer now has {}; {key} goes back to the rule's size", plural(size, "feature"))
            }
            None => "the answer has the size that the rule chose".into(),
        });
    }

    /// Adds the selected feature to my list, or removes it.
    fn mark(&mut self) {
        self.refresh();
        let (Some(unit), Some(info)) = (self.selection(), self.run.history.info().cloned()) else {
            self.layout.status = Some(self.nothing_selected());
            return;
        };
        let is_marked = self.selection.table.toggle_mark(unit);
        let (name, count) = (&info.units[unit].name, self.selection.table.marks().len());
        let done = if is_marked { "added to" } else { "removed from" };
        self.layout.status = Some(format!("{name} {done} my list ({})", plural(count, "feature")));
    }

    fn slide(&mut self, change: impl FnOnce(&mut BetaRule)) {
        let mut rule = self.rule();
        change(&mut rule);
        self.selection.slid = Some(rule);
    }

    fn ask(&mut self, prompt: Prompt) {
        self.layout.overlay = Some(Overlay::Prompt(LinePrompt::new(prompt, "")));
    }

    /// Selects a feature.
    pub fn select(&mut self, unit: usize) {
        self.selection.selected = Some(unit);
    }

    /// Sorts the ranking by a column; a second time reverses it.
    pub fn sort_by(&mut self, column: RankingColumn) {
        self.selection.table.sort_by(column);
    }

    fn show(&mut self, view: View) {
        if self.layout.view != view {
            self.layout.view = view;
            self.layout.zoom = None;
        }
    }

    fn toggle_play(&mut self) {
        self.playback.playing = !self.playback.playing;
        if self.playback.playing {
            self.playback.live = false;
            if self.playback.cursor + 1 >= self.steps() && self.trace().is_some_and(Trace::finished) {
                self.go(0);
            }
        }
    }

    fn toggle_engine(&mut self) -> Vec<Effect> {
        match (self.run.pause, &self.run.phase) {
            _ if self.run.replay => {
                let key = self.keymap.key_of(Action::TogglePlay);
                self.layout.status =
                    Some(format!("this run is computed by another process; {key} pauses playing"));
                Vec::new()
            }
            (_, Phase::Done | Phase::Failed(_)) => {
                let key = self.keymap.key_of(Action::TogglePlay);
                self.layout.status = Some(format!("the run is finished; {key} pauses playing"));
                Vec::new()
            }
            (Pause::No, _) => {
                self.run.pause = Pause::Asked;
                vec![Effect::PauseEngine]
            }
            _ => {
                self.run.pause = Pause::No;
                vec![Effect::ResumeEngine]
            }
        }
    }

    fn step_once(&mut self) -> Vec<Effect> {
        self.playback.playing = false;
        if self.playback.cursor + 1 < self.steps() {
            self.go(self.playback.cursor + 1);
            return Vec::new();
        }
        if self.run.pause == Pause::No || self.run.phase == Phase::Done {
            return Vec::new();
        }
        self.playback.live = true;
        vec![Effect::StepEngine(self.playback.focus)]
    }

    /// Puts the cursor on a step, or the last one.
    pub fn scrub(&mut self, to: usize) {
        self.playback.playing = false;
        self.playback.live = false;
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
                (steps, false) if self.playback.cursor + 1 == steps => "the path has come to",
                (steps, true) if self.playback.cursor + 1 == steps => "the path ends with",
                _ => "the nearest step has",
            };
            self.layout.status = Some(format!("{why} {}", plural(here, "feature")));
        }
    }

    fn focus_split(&mut self, forward: bool) {
        let splits = self.info().map_or(1, |info| info.splits).max(1);
        let split =
            if forward { self.playback.focus.split + 1 } else { self.playback.focus.split + splits - 1 }
                % splits;
        self.refocus(TaskId { split, ..self.playback.focus });
    }

    fn next_method(&mut self) {
        let methods = &self.spec().methods;
        let at = methods.iter().position(|&method| method == self.playback.focus.method).unwrap_or(0);
        let method = methods[(at + 1) % methods.len()];
        self.refocus(TaskId { method, ..self.playback.focus });
    }

    /// Looks at another path: at its newest step if that is followed, else at the same step if it has one.
    fn refocus(&mut self, task: TaskId) {
        self.playback.focus = task;
        self.selection.branch = None;
        let last = self.steps().saturating_sub(1);
        self.go(if self.playback.live { last } else { self.playback.cursor.min(last) });
    }

    /// Rows that a page moves by: half a screen, so that the eye keeps its place.
    pub(super) fn page(&self) -> usize {
        (self.layout.height / 2).max(1)
    }

    /// Lines inside a box that fills the view.
    pub(super) fn popup_height(&self) -> usize {
        self.layout.height.saturating_sub(super::view::AROUND + 2)
    }

    fn up_or_down(&mut self, down: bool, by: usize) {
        let is_list = match self.layout.view {
            View::Answer => self.layout.zoom.is_none_or(|panel| panel == 0),
            View::Explore => true,
            _ => false,
        };
        if is_list {
            self.move_selection(down, by);
        } else {
            let last = self.last_line();
            let scroll = self.layout.scroll.entry(self.layout.view).or_default();
            *scroll = if down { scroll.saturating_add(by).min(last) } else { scroll.saturating_sub(by) };
        }
    }

    /// The last line that a view can scroll to.
    fn last_line(&self) -> usize {
        let Some(info) = self.info() else { return 0 };
        let lines = match self.layout.view {
            View::Explore => 0,
            View::Answer => super::view::answer_length(self),
            View::Size if self.layout.per_class => info.classes.len(),
            View::Size => 0,
            View::Stability => info.units.len(),
            View::Data => super::view::data_length(self, info),
        };
        lines.saturating_sub(1)
    }

    /// Selects another row of the ranking.
    pub(super) fn move_selection(&mut self, down: bool, by: usize) {
        self.refresh();
        let rows = self.list_rows();
        if rows.is_empty() {
            return;
        }
        let at = self.selection().and_then(|unit| rows.iter().position(|&row| row == unit)).unwrap_or(0);
        let to = if down { at.saturating_add(by).min(rows.len() - 1) } else { at.saturating_sub(by) };
        self.selection.selected = Some(rows[to]);
    }

    /// Why there is no feature to do something with.
    fn nothing_selected(&self) -> String {
        match self.step() {
            Some(_) => {
                "nothing is removed at the last step: go back with ←, or choose a feature with ↑ ↓".into()
            }
            None => "this split has not started yet".into(),
        }
    }

    fn open_feature(&mut self) -> Vec<Effect> {
        let Some(unit) = self.selection() else {
            self.layout.status = Some(self.nothing_selected());
            return Vec::new();
        };
        self.layout.overlay = Some(Overlay::Feature(FeaturePage::of(unit)));
        self.portrait_wanted(unit)
    }

    /// The data of a feature, unless they are there already.
    pub(super) fn portrait_wanted(&self, unit: usize) -> Vec<Effect> {
        let known = self.selection.portrait.as_ref().is_some_and(|portrait| portrait.unit == unit);
        if known { Vec::new() } else { vec![Effect::Portrait(unit)] }
    }

    /// Whether β of the step under the cursor was recomputed.
    pub fn inspected_here(&self) -> bool {
        let here = (self.playback.focus, self.size());
        self.selection.inspected.as_ref().is_some_and(|(task, size, _)| (*task, *size) == here)
    }

    /// What must be computed from the data because the run does not hold it, asked for once.
    pub fn wanted(&mut self) -> Option<Effect> {
        self.wanted_beta().or_else(|| self.wanted_list()).or_else(|| self.wanted_twins())
    }

    /// The twins of the answer, once it does not change any more.
    fn wanted_twins(&mut self) -> Option<Effect> {
        if self.run.plan.is_none() || self.run.phase != Phase::Done {
            return None;
        }
        let features = &self.answer()?.features;
        let units = features.iter().filter(|feature| feature.twins.is_none()).map(|feature| feature.unit);
        let units: Vec<usize> = units.take(MOST_TWINS).collect();
        if units.is_empty() || self.selection.asked_twins == units {
            return None;
        }
        self.selection.asked_twins.clone_from(&units);
        Some(Effect::FindTwins(units))
    }

    /// My list on all splits.
    fn wanted_list(&mut self) -> Option<Effect> {
        let units: Vec<usize> = self.selection.table.marks().iter().copied().collect();
        let is_known = self.selection.tested_list.as_ref().is_some_and(|(tested, _)| *tested == units);
        if self.run.plan.is_none() || units.is_empty() || is_known || self.selection.asked_list == units {
            return None;
        }
        self.selection.asked_list.clone_from(&units);
        Some(Effect::TestList(units))
    }

    /// My list beside the answer on all splits, once it has been tested.
    pub fn my_list_comparison(&self) -> Option<Comparison> {
        let (units, tallies) = self.selection.tested_list.as_ref()?;
        let is_mine = units.iter().eq(self.selection.table.marks());
        let (info, answer) = (self.info()?, self.answer()?);
        is_mine.then(|| Comparison::of_list(self.history(), info, units.len(), tallies, answer)).flatten()
    }

    /// β of all features when the cursor rests, and what each class contributes while a feature is looked at.
    fn wanted_beta(&mut self) -> Option<Effect> {
        let step = self.step()?;
        let whole = matches!(step.beta, Some(crate::run::Betas::Whole(_)));
        let looking = matches!(self.layout.overlay, Some(Overlay::Feature(_)));
        // The journal holds β, not the weights that RFE goes by.
        let is_rfe = self.playback.focus.method == Method::Rfe;
        let resting = self.layout.view == View::Explore && (!whole || is_rfe) && !self.playback.playing;
        let here = (self.playback.focus, step.size);
        if self.run.plan.is_none()
            || !(looking || resting)
            || self.inspected_here()
            || self
                .selection
                .asked
                .is_some_and(|(task, size)| (task, size) == here || looking && self.playback.playing)
        {
            return None;
        }
        self.selection.asked = Some(here);
        Some(Effect::Inspect(self.playback.focus, self.present()))
    }

    fn what_if(&mut self, removed: bool) -> Vec<Effect> {
        let (Some(unit), Some(step)) = (self.selection(), self.step()) else {
            self.layout.status = Some(self.nothing_selected());
            return Vec::new();
        };
        if removed && step.removed.contains(&unit) {
            self.layout.status = Some("this feature is removed here anyway; choose another with ↑ ↓".into());
            return Vec::new();
        }
        let present = self.present();
        if present.binary_search(&unit).is_err() {
            self.layout.status =
                Some("this feature has already been removed; go back to a step where it is present".into());
            return Vec::new();
        }
        if removed && (present.len() < 2 || self.info().is_some_and(|info| info.units[unit].kept)) {
            self.layout.status = Some("this feature cannot be removed here".into());
            return Vec::new();
        }
        self.layout.status = Some("computing what would have happened …".into());
        let forced = if removed { Forced::Removed(unit) } else { Forced::Kept(unit) };
        vec![Effect::Branch(self.playback.focus, present, forced)]
    }

    /// My list if there is one, in Explore what is left under the cursor, elsewhere the answer.
    fn copy(&mut self) -> Vec<Effect> {
        self.refresh();
        let Some(info) = self.info() else {
            self.layout.status = Some("there is nothing to copy yet".into());
            return Vec::new();
        };
        let named = |units: &[usize]| units.iter().map(|&unit| info.units[unit].name.clone()).collect();
        let marks: Vec<usize> = self.selection.table.marks().iter().copied().collect();
        let (names, which, file): (Vec<String>, String, &'static str) = match self.answer() {
            _ if !marks.is_empty() => (named(&marks), "of my list".into(), CopiedList::MY_LIST),
            _ if self.layout.view == View::Explore => {
                let TaskId { method, split } = self.playback.focus;
                (
                    named(&self.present()),
                    format!("at this step of {method}, split {}", split + 1),
                    CopiedList::STEP,
                )
            }
            Some(answer) => (
                answer.features.iter().map(|feature| feature.name.clone()).collect(),
                format!("of the answer of {}", answer.method),
                CopiedList::SELECTED,
            ),
            None => (Vec::new(), String::new(), CopiedList::SELECTED),
        };
        if names.is_empty() {
            let none = match self.answer() {
                Some(_) => "the rule chooses no size, so there is no list to copy",
                None => "no split has finished yet, so there is no list to copy",
            };
            self.layout.status = Some(none.into());
            return Vec::new();
        }
        let words = format!("{} {which}", plural(names.len(), "name"));
        vec![Effect::Copy(CopiedList { text: names.join("\n"), file, words })]
    }

    /// A typed line is complete.
    pub fn submit(&mut self, prompt: Prompt, text: &str) {
        match prompt {
            Prompt::GoTo => match (text.trim().parse(), self.layout.view) {
                (Ok(size), View::Explore) => self.go_to_size(size),
                (Ok(size), _) => self.point_at(size),
                (Err(_), _) => self.layout.status = Some(format!("'{text}' is not a number of features")),
            },
            Prompt::Find | Prompt::Filter if text.is_empty() => match prompt {
                Prompt::Find => self.find_next(true),
                _ => self.selection.table.set_filter(None),
            },
            Prompt::Find | Prompt::Filter => match Filter::new(text) {
                Err(why) => self.layout.status = Some(why),
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
    fn after_filter(&mut self, text: &str) {
        self.refresh();
        if self.list_rows().is_empty() {
            self.selection.table.set_filter(None);
            self.layout.status = Some(format!("no feature name matches '{text}'"));
            return;
        }
        let rows = self.list_rows();
        if self.selection().is_none_or(|unit| !rows.contains(&unit)) {
            self.selection.selected = rows.first().copied();
        }
    }

    fn find_next(&mut self, forward: bool) {
        self.refresh();
        let Some(info) = self.run.history.info().cloned() else { return };
        let Some(search) = self.selection.table.search() else {
            let key = self.keymap.key_of(Action::Find);
            self.layout.status = Some(format!("nothing was searched for; {key} searches"));
            return;
        };
        let (rows, text) = (self.list_rows(), search.text().to_owned());
        let from = self.selection().and_then(|unit| rows.iter().position(|&row| row == unit));
        let table = &self.selection.table;
        let found = table.find(rows, &info.units, from, forward);
        let count = table.matches(rows, &info.units);
        self.layout.status = Some(match found {
            Some(_) => {
                format!("{count} {} '{text}'", if count == 1 { "name matches" } else { "names match" })
            }
            None => format!("no feature name matches '{text}'"),
        });
        if found.is_some() {
            self.selection.selected = found;
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
        let mut fresh = Self::new(self.run.data.clone(), spec, self.theme, self.keymap.clone());
        fresh.layout = ScreenState {
            overlay: None,
            status: None,
            zoom: None,
            ..std::mem::replace(&mut self.layout, fresh.layout)
        };
        fresh.layout.scroll.clear();
        fresh.selection.table = std::mem::take(&mut self.selection.table);
        fresh.playback.speed = self.playback.speed;
        fresh.run.out = self.run.out.take();
        *self = fresh;
    }
}
