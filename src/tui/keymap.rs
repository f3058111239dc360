//! Keys to actions, in one table: help and footer are made from it, and the configuration file may
//! change it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::Action::{self, *};
use super::view::View;
use crate::error::{Error, Result};

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyPress {
    code: KeyCode,
    ctrl: bool,
}

/// One line of the keymap.
#[derive(Debug, Clone)]
pub struct Binding {
    /// The name in the configuration file.
    pub name: &'static str,
    /// Its keys; the first is shown in the footer.
    pub keys: Vec<KeyPress>,
    /// What it does.
    pub action: Action,
    /// What it does, in words.
    pub words: &'static str,
    /// The short word for the footer; empty if it is not shown there.
    pub short: &'static str,
    /// The chapter of the help.
    pub chapter: &'static str,
    /// Where it works.
    pub contexts: Vec<KeyContext>,
}

/// Where keys have meanings of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyContext {
    /// A view of the dashboard.
    View(View),
    /// New patients and a model.
    Patients,
    /// The choice of a run or a table.
    Start,
}

impl From<View> for KeyContext {
    fn from(view: View) -> Self {
        Self::View(view)
    }
}

impl Binding {
    /// The views in which it works.
    pub fn views(&self) -> impl Iterator<Item = View> {
        self.contexts.iter().filter_map(|context| match context {
            KeyContext::View(view) => Some(*view),
            KeyContext::Patients | KeyContext::Start => None,
        })
    }

    /// Whether it works in every view.
    pub fn is_in_every_view(&self) -> bool {
        self.views().count() == View::ALL.len()
    }

    /// Its keys, as they are written.
    pub fn key_names(&self) -> Vec<String> {
        self.keys.iter().map(|key| key.name()).collect()
    }

    /// Whether both work in some place.
    fn meets(&self, other: &Self) -> bool {
        self.contexts.iter().any(|context| other.contexts.contains(context))
    }
}

/// All bindings.
#[derive(Debug, Clone)]
pub struct Keymap {
    bindings: Vec<Binding>,
}

impl KeyPress {
    /// From what the terminal sent.
    pub fn of(event: &KeyEvent) -> Self {
        Self { code: event.code, ctrl: event.modifiers.contains(KeyModifiers::CONTROL) }
    }

    /// From its name: `q`, `space`, `left`, `pageup`, `ctrl-z`.
    pub fn parse(text: &str) -> Option<Self> {
        let (ctrl, name) = text.strip_prefix("ctrl-").map_or((false, text), |name| (true, name));
        let mut characters = name.chars();
        let code = match (characters.next(), characters.next()) {
            (Some(c), None) => KeyCode::Char(c),
            _ => NAMED.iter().find(|(word, _)| *word == name)?.1,
        };
        Some(Self { code, ctrl })
    }

    /// How it is written.
    pub fn name(self) -> String {
        let name = match self.code {
            KeyCode::Char(' ') => "space".to_owned(),
            KeyCode::Char(c) => c.to_string(),
            code => NAMED
                .iter()
                .find(|(_, named)| *named == code)
                .map_or_else(|| format!("{code:?}"), |(word, _)| (*word).to_owned()),
        };
        if self.ctrl { format!("ctrl-{name}") } else { name }
    }
}

const NAMED: [(&str, KeyCode); 14] = [
    ("space", KeyCode::Char(' ')),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backtab", KeyCode::BackTab),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("delete", KeyCode::Delete),
];

const SIZE: &str = "Size of the answer";
const TIME: &str = "Time";
const MOVE: &str = "Navigation";
const LOOK: &str = "Viewing";
const RULE: &str = "Stopping rule";
const DO: &str = "Actions";

const CHAPTERS: [&str; 6] = [SIZE, TIME, LOOK, RULE, DO, MOVE];

const ALL: &[View] = &View::ALL;
const EXPLORE: &[View] = &[View::Explore];
const SIZES: &[View] = &[View::Size];
const STABILITY: &[View] = &[View::Stability];
const LISTS: &[View] = &[View::Answer, View::Explore];
const CHARTS: &[View] = &[View::Size, View::Stability];
const CURVES: &[View] = &[View::Explore, View::Size, View::Stability];
const RULES: &[View] = &[View::Explore, View::Stability];
const PAGES: &[View] = &[View::Size, View::Stability, View::Data];
const LISTED: &[View] = &[View::Answer, View::Data];
const CHOSEN: &[View] = &[View::Answer, View::Size, View::Stability];
/// Keys of the other screens only.
const NO_VIEW: &[View] = &[];

/// The bindings of the screens without views, by name.
const ELSEWHERE: [(KeyContext, &str); 2] = [
    (
        KeyContext::Patients,
        "sort reverse find_next find_previous up down page_up page_down top end bottom back suspend help quit \
         enlarge previous_patient next_patient previous_class next_class filter_patients find_patient",
    ),
    (KeyContext::Start, "up down top end bottom back suspend quit choose settings_first"),
];

/// name, keys, action, words, short, chapter, views.
type KeymapLine =
    (&'static str, &'static str, Action, &'static str, &'static str, &'static str, &'static [View]);

/// In the order of the footer; help takes them chapter by chapter.
const LINES: &[KeymapLine] = &[
    ("open", "enter", Open, "details of the selected feature", "feature", LOOK, LISTS),
    ("confirm", "enter", Open, "confirm", "", LOOK, PAGES),
    ("mark", "a", Mark, "add the selected feature to my list, or remove it", "my list", DO, LISTS),
    ("larger", "+", Larger, "take a larger size as the answer", "size", SIZE, CHOSEN),
    ("smaller", "-", Smaller, "take a smaller size as the answer", "size", SIZE, CHOSEN),
    (
        "take_size",
        "t",
        TakeSize,
        "take the size under the cursor as the answer",
        "take",
        SIZE,
        CHARTS,
    ),
    ("own_size", "=", OwnSize, "back to the size that the rule chose", "", SIZE, CHOSEN),
    ("play", "space", TogglePlay, "pause or resume playing", "play", TIME, EXPLORE),
    ("engine", "P", ToggleEngine, "pause or resume computing", "compute", TIME, ALL),
    ("step", ".", StepOnce, "one elimination", "step", TIME, EXPLORE),
    ("finish", "e", ToEnd, "finish this path", "", TIME, EXPLORE),
    ("earlier", "left h", Earlier, "previous step", "move", TIME, EXPLORE),
    ("later", "right l", Later, "next step", "move", TIME, EXPLORE),
    ("fewer", "left h", CursorLeft, "cursor to fewer features", "move", TIME, CHARTS),
    ("more", "right l", CursorRight, "cursor to more features", "move", TIME, CHARTS),
    ("smallest", "home", CursorHome, "cursor to the smallest size", "", TIME, CHARTS),
    ("all", "end", CursorEnd, "cursor to all features", "", TIME, CHARTS),
    ("first", "home", First, "jump to the first step", "", TIME, EXPLORE),
    ("live", "end", Live, "jump to the newest step and follow it", "newest", TIME, EXPLORE),
    ("goto", "g", GoTo, "go to a given number of features (gg: the first row)", "", TIME, ALL),
    ("faster", "+ =", Faster, "play faster", "", TIME, EXPLORE),
    ("slower", "-", Slower, "play slower", "", TIME, EXPLORE),
    ("previous_split", "[", PreviousSplit, "previous split", "split", MOVE, ALL),
    ("next_split", "]", NextSplit, "next split", "split", MOVE, ALL),
    ("method", "m", NextMethod, "next method", "method", MOVE, ALL),
    ("next_metrics", "v", NextMetrics, "next pair of metrics", "metrics", LOOK, SIZES),
    ("per_class", "c", PerClass, "table of the classes, worst first", "classes", LOOK, SIZES),
    ("indices", "i", Indices, "Nogueira's stability, or all indices", "indices", LOOK, STABILITY),
    ("sort", "s", Sort, "sort by the next column", "sort", LOOK, EXPLORE),
    ("reverse", "S", Reverse, "reverse the order", "", LOOK, EXPLORE),
    (
        "filter",
        "&",
        Filter,
        "show only features that match a regular expression",
        "filter",
        LOOK,
        LISTS,
    ),
    ("find", "/", Find, "find a feature by name", "find", LOOK, LISTS),
    ("find_next", "n *", FindNext, "next match", "", LOOK, LISTS),
    ("find_previous", "N", FindPrevious, "previous match", "", LOOK, LISTS),
    ("axis", "L", ToggleAxis, "linear or logarithmic axis", "log", LOOK, CURVES),
    ("zoom_in", ")", ZoomIn, "narrower range of sizes, around the cursor", "range", LOOK, CURVES),
    ("zoom_out", "(", ZoomOut, "wider range of sizes", "range", LOOK, CURVES),
    ("zoom", "z", Zoom, "enlarge a panel; press again for the next", "zoom", LOOK, ALL),
    ("sigma_down", "<", SigmaDown, "decrease k of the β rule", "k", RULE, RULES),
    ("sigma_up", ">", SigmaUp, "increase k of the β rule", "k", RULE, RULES),
    ("window_down", "{", WindowDown, "narrow the window ψ of the β rule", "", RULE, RULES),
    ("window_up", "}", WindowUp, "widen the window ψ of the β rule", "", RULE, RULES),
    (
        "what_if_removed",
        "d",
        WhatIfRemoved,
        "what if the selected feature were removed now?",
        "what if",
        DO,
        EXPLORE,
    ),
    (
        "what_if_kept",
        "p",
        WhatIfKept,
        "what if the selected feature were kept to the end?",
        "",
        DO,
        EXPLORE,
    ),
    ("up", "up k", Up, "one row up", "", MOVE, ALL),
    ("down", "down j", Down, "one row down", "", MOVE, ALL),
    ("page_up", "pageup ctrl-u", PageUp, "a page up", "", MOVE, ALL),
    ("page_down", "pagedown ctrl-d", PageDown, "a page down", "", MOVE, ALL),
    ("top", "home", Top, "first row", "", MOVE, LISTED),
    ("end", "end", Bottom, "last row", "", MOVE, LISTED),
    ("bottom", "G", Bottom, "last row", "", MOVE, ALL),
    ("answer", "1", Show(View::Answer), "Answer: which features, and how sure?", "", MOVE, ALL),
    ("explore", "2", Show(View::Explore), "Explore: what is removed now, and why?", "", MOVE, ALL),
    ("size", "3", Show(View::Size), "Size: how small can I go?", "", MOVE, ALL),
    (
        "stability",
        "4",
        Show(View::Stability),
        "Stability: would another split agree?",
        "",
        MOVE,
        ALL,
    ),
    ("data", "5", Show(View::Data), "Data: what was understood of my file?", "", MOVE, ALL),
    ("next_view", "tab", NextView, "next view", "view", MOVE, ALL),
    ("previous_view", "backtab", PreviousView, "previous view", "", MOVE, ALL),
    ("back", "esc", Back, "back", "", LOOK, ALL),
    ("options", "o", Options, "change the settings and run again", "settings", DO, ALL),
    ("export", "x", Export, "export tables, figures, or this view as text", "export", DO, ALL),
    ("copy", "y", Copy, "copy a list of features and save it as selected.txt", "copy", DO, ALL),
    ("fit", "f", Fit, "command that fits a model of my list, or of the answer", "model", DO, LISTS),
    ("palette", ":", Palette, "search actions, settings and features", "palette", DO, ALL),
    ("suspend", "ctrl-z", Suspend, "suspend (fg resumes)", "", DO, ALL),
    ("help", "?", Help, "these keys", "help", DO, ALL),
    ("quit", "q ctrl-c", Quit, "quit", "quit", DO, ALL),
    ("enlarge", "enter z", Enlarge, "enlarge the patient, and back", "", LOOK, NO_VIEW),
    ("previous_patient", "[", PreviousPatient, "previous patient", "", MOVE, NO_VIEW),
    ("next_patient", "]", NextPatient, "next patient", "", MOVE, NO_VIEW),
    ("previous_class", "left h", PreviousClass, "previous class", "", LOOK, NO_VIEW),
    ("next_class", "right l", NextClass, "next class", "", LOOK, NO_VIEW),
    ("filter_patients", "&", Filter, "show only ids that match", "", LOOK, NO_VIEW),
    ("find_patient", "/", Find, "find an id", "", LOOK, NO_VIEW),
    ("choose", "enter", Open, "open the run, or run the table", "", DO, NO_VIEW),
    ("settings_first", "o", Options, "settings of the table first", "", DO, NO_VIEW),
];

/// Where a binding works.
fn contexts(name: &str, views: &[View]) -> Vec<KeyContext> {
    let has_it = |names: &str| names.split(' ').any(|other| other == name);
    let elsewhere = ELSEWHERE.into_iter().filter(|(_, names)| has_it(names));
    let views = views.iter().copied().map(KeyContext::View);
    views.chain(elsewhere.map(|(context, _)| context)).collect()
}

impl Default for Keymap {
    fn default() -> Self {
        let bindings = LINES
            .iter()
            .map(|&(name, keys, action, words, short, chapter, views)| Binding {
                name,
                keys: keys.split(' ').filter_map(KeyPress::parse).collect(),
                action,
                words,
                short,
                chapter,
                contexts: contexts(name, views),
            })
            .collect();
        Self { bindings }
    }
}

impl Keymap {
    /// The action of a key in a place.
    pub fn action(&self, key: KeyPress, context: impl Into<KeyContext>) -> Option<Action> {
        self.within(context).find(|own| own.keys.contains(&key)).map(|own| own.action)
    }

    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    /// The bindings of a place.
    pub fn within(&self, context: impl Into<KeyContext>) -> impl Iterator<Item = &Binding> {
        let context = context.into();
        self.bindings.iter().filter(move |binding| binding.contexts.contains(&context))
    }

    /// All chapters, each with its bindings.
    pub fn chapters(&self) -> impl Iterator<Item = (&'static str, Vec<&Binding>)> {
        let own =
            |chapter: &str| self.bindings.iter().filter(|own| own.chapter == chapter).collect();
        CHAPTERS.into_iter().map(move |chapter| (chapter, own(chapter)))
    }

    /// The first key of an action, as it is written.
    pub fn key_of(&self, action: Action) -> String {
        let binding = self.bindings.iter().find(|binding| binding.action == action);
        binding.and_then(|binding| binding.keys.first()).map_or_else(String::new, |key| key.name())
    }

    /// The first key of an action in a place, as it is written.
    pub fn key_in(&self, action: Action, context: impl Into<KeyContext>) -> String {
        let binding = self.within(context).find(|binding| binding.action == action);
        binding.and_then(|binding| binding.keys.first()).map_or_else(String::new, |key| key.name())
    }

    /// Gives actions other keys, all at once so that two can swap; refuses an unknown name, an
    /// unknown key, or a key with two meanings.
    pub fn rebind(&mut self, changes: &[(String, Vec<String>)]) -> Result<()> {
        for (name, keys) in changes {
            self.replace(name, keys)?;
        }
        for (i, binding) in self.bindings.iter().enumerate() {
            let taken = |other: &&Binding| {
                other.keys.iter().any(|key| binding.keys.contains(key)) && other.meets(binding)
            };
            if let Some(other) = self.bindings[..i].iter().find(taken) {
                return Err(Error::usage(format!(
                    "'{}' and '{}' would share a key",
                    other.name, binding.name
                ))
                .remedy("give one of them another key"));
            }
        }
        Ok(())
    }

    fn replace(&mut self, name: &str, keys: &[String]) -> Result<()> {
        let parsed: Option<Vec<KeyPress>> = keys.iter().map(|key| KeyPress::parse(key)).collect();
        let Some(parsed) = parsed else {
            return Err(Error::usage(format!("'{}' is not a key", keys.join("', '"))).remedy(
                "write a character or a name such as space, enter, left, pageup or ctrl-x",
            ));
        };
        match self.bindings.iter_mut().find(|binding| binding.name == name) {
            Some(binding) => {
                binding.keys = parsed;
                Ok(())
            }
            None => {
                let names: Vec<&str> = LINES.iter().map(|line| line.0).collect();
                Err(Error::usage(format!("there is no action '{name}'"))
                    .remedy(format!("choose one of {}", names.join(", "))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_one_meaning_in_a_place() {
        let map = Keymap::default();
        let elsewhere = ELSEWHERE.map(|(context, names)| {
            assert_eq!(map.within(context).count(), names.split(' ').count(), "{context:?}");
            context
        });
        for context in View::ALL.map(KeyContext::View).into_iter().chain(elsewhere) {
            let mut seen = std::collections::HashMap::new();
            for binding in map.within(context) {
                assert!(!binding.keys.is_empty(), "{}", binding.name);
                for key in &binding.keys {
                    assert_eq!(
                        seen.insert(*key, binding.name),
                        None,
                        "{} in {context:?}",
                        key.name()
                    );
                    assert_eq!(KeyPress::parse(&key.name()), Some(*key));
                }
            }
        }
        let in_chapters: usize = map.chapters().map(|(_, bindings)| bindings.len()).sum();
        assert_eq!(in_chapters, map.bindings().len());
    }

    #[test]
    fn keys_can_be_changed_and_mistakes_are_named() {
        let mut map = Keymap::default();
        let change = |name: &str, key: &str| (name.to_owned(), vec![key.to_owned()]);
        let action =
            |map: &Keymap, key: &str| map.action(KeyPress::parse(key).unwrap(), View::Explore);
        map.rebind(&[change("quit", "Q")]).unwrap();
        assert_eq!((action(&map, "Q"), action(&map, "q")), (Some(Action::Quit), None));
        for (name, key, part) in [
            ("fly", "f", "no action 'fly'"),
            ("quit", ".", "'step' and 'quit' would share a key"),
            ("quit", "hyper-q", "is not a key"),
        ] {
            let error = Keymap::default().rebind(&[change(name, key)]).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
        map.rebind(&[change("step", "e"), change("finish", ".")]).unwrap();
        assert_eq!(action(&map, "."), Some(Action::ToEnd));
        // In different views one key may do different things.
        assert_eq!(map.action(KeyPress::parse("+").unwrap(), View::Answer), Some(Action::Larger));
        assert_eq!(action(&map, "+"), Some(Action::Faster));
    }
}
