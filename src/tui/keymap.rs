//! Keys to actions, in one table: help and footer are made from it, and the configuration file may change it.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::action::{Action, View};
use crate::error::{Error, Result};

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    code: KeyCode,
    ctrl: bool,
}

/// One line of the keymap.
#[derive(Debug, Clone)]
pub struct Binding {
    /// The name in the configuration file.
    pub name: &'static str,
    /// Its keys; the first is shown in the footer.
    pub keys: Vec<Key>,
    /// What it does.
    pub action: Action,
    /// What it does, in words.
    pub words: &'static str,
    /// The short word for the footer; empty if it is not shown there.
    pub short: &'static str,
    /// The chapter of the help.
    pub chapter: &'static str,
}

/// All bindings.
#[derive(Debug, Clone)]
pub struct Keymap {
    bindings: Vec<Binding>,
}

impl Key {
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

const TIME: &str = "Time";
const MOVE: &str = "Navigation";
const LOOK: &str = "Viewing";
const RULE: &str = "Stopping rule";
const DO: &str = "Actions";

/// name, keys, action, words, short, chapter.
type Line = (&'static str, &'static str, Action, &'static str, &'static str, &'static str);

const LINES: [Line; 44] = [
    ("play", "space", Action::TogglePlay, "pause or resume playing", "play", TIME),
    ("engine", "P", Action::ToggleEngine, "pause or resume computing", "compute", TIME),
    ("step", "n", Action::StepOnce, "one elimination", "step", TIME),
    ("finish", "N", Action::ToEnd, "finish this path", "", TIME),
    ("earlier", "left h", Action::Earlier, "previous step", "move", TIME),
    ("later", "right l", Action::Later, "next step", "", TIME),
    ("first", "home", Action::First, "jump to the first step", "", TIME),
    ("live", "end", Action::Live, "jump to the newest step and follow it", "newest", TIME),
    ("goto", "g", Action::GoTo, "go to a given number of features", "", TIME),
    ("faster", "+ =", Action::Faster, "play faster", "", TIME),
    ("slower", "-", Action::Slower, "play slower", "", TIME),
    ("up", "up k", Action::Up, "one row up", "", MOVE),
    ("down", "down j", Action::Down, "one row down", "", MOVE),
    ("page_up", "pageup", Action::PageUp, "a page up", "", MOVE),
    ("page_down", "pagedown", Action::PageDown, "a page down", "", MOVE),
    ("previous_split", "[", Action::PreviousSplit, "previous split", "split", MOVE),
    ("next_split", "]", Action::NextSplit, "next split", "", MOVE),
    ("method", "m", Action::NextMethod, "next method", "method", MOVE),
    ("explore", "1", Action::Show(View::Explore), "Explore: what is removed now, and why?", "", MOVE),
    ("metrics", "2", Action::Show(View::Metrics), "Metrics: how small can I go?", "", MOVE),
    (
        "consistency",
        "3",
        Action::Show(View::Consistency),
        "Consistency: would another split agree?",
        "",
        MOVE,
    ),
    ("stopping", "4", Action::Show(View::Stopping), "Stopping: where would each rule stop?", "", MOVE),
    ("data", "5", Action::Show(View::Data), "Data: what was understood of my file?", "", MOVE),
    ("next_view", "tab", Action::NextView, "next view", "view", MOVE),
    ("previous_view", "backtab", Action::PreviousView, "previous view", "", MOVE),
    ("open", "enter", Action::Open, "details of the selected feature", "feature", LOOK),
    ("back", "esc", Action::Back, "back", "", LOOK),
    ("zoom", "z", Action::Zoom, "enlarge a panel; press again for the next", "zoom", LOOK),
    ("sort", "s", Action::Sort, "change the order of the ranking", "", LOOK),
    ("find", "/", Action::Find, "find a feature by name", "find", LOOK),
    ("find_next", "*", Action::FindNext, "next match", "", LOOK),
    ("per_class", "c", Action::PerClass, "metrics per class, or overall", "", LOOK),
    ("sigma_up", ">", Action::SigmaUp, "increase k of the β rule", "", RULE),
    ("sigma_down", "<", Action::SigmaDown, "decrease k of the β rule", "", RULE),
    ("window_up", "}", Action::WindowUp, "widen the window ψ of the β rule", "", RULE),
    ("window_down", "{", Action::WindowDown, "narrow the window ψ of the β rule", "", RULE),
    ("what_if_removed", "d", Action::WhatIfRemoved, "what if the selected feature were removed now?", "", DO),
    ("what_if_kept", "p", Action::WhatIfKept, "what if the selected feature were kept to the end?", "", DO),
    ("options", "o", Action::Options, "change the settings and run again", "options", DO),
    ("export", "x", Action::Export, "export tables, or this view as text", "export", DO),
    ("copy", "y", Action::Copy, "copy the features of this step (in Stopping: of the answer)", "", DO),
    ("suspend", "ctrl-z", Action::Suspend, "suspend (fg resumes)", "", DO),
    ("help", "?", Action::Help, "these keys", "help", DO),
    ("quit", "q ctrl-c", Action::Quit, "quit", "quit", DO),
];

impl Default for Keymap {
    fn default() -> Self {
        let bindings = LINES
            .iter()
            .map(|&(name, keys, action, words, short, chapter)| Binding {
                name,
                keys: keys.split(' ').filter_map(Key::parse).collect(),
                action,
                words,
                short,
                chapter,
            })
            .collect();
        Self { bindings }
    }
}

impl Keymap {
    /// The action of a key.
    pub fn action(&self, key: Key) -> Option<Action> {
        self.bindings.iter().find(|binding| binding.keys.contains(&key)).map(|binding| binding.action)
    }

    /// All bindings, chapter by chapter.
    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    /// The first key of an action, as it is written.
    pub fn key_of(&self, action: Action) -> String {
        let binding = self.bindings.iter().find(|binding| binding.action == action);
        binding.and_then(|binding| binding.keys.first()).map_or_else(String::new, |key| key.name())
    }

    /// Gives actions other keys, all at once so that two can swap; refuses an unknown name, an unknown key, or a key with
    /// two meanings.
    pub fn rebind(&mut self, changes: &[(String, Vec<String>)]) -> Result<()> {
        for (name, keys) in changes {
            self.replace(name, keys)?;
        }
        for (i, binding) in self.bindings.iter().enumerate() {
            let taken = |other: &&Binding| other.keys.iter().any(|key| binding.keys.contains(key));
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
        let parsed: Option<Vec<Key>> = keys.iter().map(|key| Key::parse(key)).collect();
        let Some(parsed) = parsed else {
            return Err(Error::usage(format!("'{}' is not a key", keys.join("', '")))
                .remedy("write a character or a name such as space, enter, left, pageup or ctrl-x"));
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
    fn every_key_has_one_meaning() {
        let map = Keymap::default();
        let mut seen = std::collections::HashMap::new();
        for binding in map.bindings() {
            assert!(!binding.keys.is_empty(), "{}", binding.name);
            for key in &binding.keys {
                assert_eq!(seen.insert(*key, binding.name), None, "{}", key.name());
                assert_eq!(Key::parse(&key.name()), Some(*key));
            }
        }
    }

    #[test]
    fn keys_can_be_changed_and_mistakes_are_named() {
        let mut map = Keymap::default();
        let change = |name: &str, key: &str| (name.to_owned(), vec![key.to_owned()]);
        map.rebind(&[change("quit", "Q")]).unwrap();
        assert_eq!(map.action(Key::parse("Q").unwrap()), Some(Action::Quit));
        assert_eq!(map.action(Key::parse("q").unwrap()), None);
        for (name, key, part) in [
            ("fly", "f", "no action 'fly'"),
            ("quit", "n", "'step' and 'quit' would share a key"),
            ("quit", "hyper-q", "is not a key"),
        ] {
            let error = Keymap::default().rebind(&[change(name, key)]).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
        map.rebind(&[change("step", "N"), change("finish", "n")]).unwrap();
        assert_eq!(map.action(Key::parse("n").unwrap()), Some(Action::ToEnd));
    }
}
