//! The screen without a terminal: pictures of every view, size and palette; hostile names; odd
//! tables; random hands.
//!
//! The pictures are in `tests/snapshots`. After a change that is meant, look at each and accept it:
//! `INSTA_UPDATE=always cargo test --test screen`.

mod stage;

use std::path::Path;

use crfe::data::Dataset;
use crfe::record::{Shard, ShardStatus};
use crfe::run::{
    Betas, EventKind, Forced, RunEvent, RunOptions, TaskId, branch, inspect, portrait,
};
use crfe::run::{Permutations, Survey, Twins, test_list};
use crfe::select::{Method, RULES, StopRule};
use crfe::tui::{
    Action, App, CopiedList, Depth, Effect, Export, ExportMenu, FeaturePage, HelpPage, Hit, Keymap,
    LinePrompt, Lookup, Message, Overlay, Palette, Prompt, QuitQuestion, RankingColumn, Theme,
    View,
};
use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use proptest::prelude::*;
use ratatui::layout::Rect;
use stage::{DARK, Run, dump, picture, row, splits};
use unicode_width::UnicodeWidthStr;

const SIZES: [(u16, u16); 4] = [(80, 24), (120, 36), (200, 50), (50, 16)];

/// Carries out what can be carried out without a screen, at once.
fn carry_out(app: &mut App, run: &Run, effects: Vec<Effect>) {
    for effect in effects {
        let plan = &run.plan;
        match effect {
            Effect::LookUp(Lookup::Inspect(task, units)) => {
                let inspection = inspect(plan, task.split, &units).unwrap();
                app.tell(Message::Inspected(task, units.len(), inspection));
            }
            Effect::LookUp(Lookup::FindTwins(units)) => {
                let kind = EventKind::TwinsFound(Twins::find(&plan.data, &units).into());
                app.tell(Message::Event(RunEvent { task: None, kind }));
            }
            Effect::LookUp(Lookup::TestList(units)) => {
                let splits = 0..plan.info.splits;
                let tallies =
                    splits.map(|split| (split, test_list(plan, split, &units).unwrap())).collect();
                app.tell(Message::ListTested(units, tallies));
            }
            Effect::LookUp(Lookup::Portrait(unit)) => {
                app.tell(Message::Portrait(portrait(&plan.data, unit)))
            }
            Effect::LookUp(Lookup::Branch(task, present, forced)) => {
                app.tell(Message::Branched(branch(plan, task, &present, forced).unwrap()));
            }
            _ => {}
        }
    }
}

fn act(app: &mut App, run: &Run, actions: &[Action]) {
    for &action in actions {
        let effects = app.update(action);
        carry_out(app, run, effects);
        let wanted = app.wanted();
        carry_out(app, run, wanted.into_iter().collect());
    }
}

fn typed(app: &mut App, text: &str) {
    for c in text.chars() {
        app.key(KeyEvent::from(KeyCode::Char(c)));
    }
}

/// All that is on a large screen.
fn text_of(app: &mut App) -> String {
    let (buffer, _) = picture(app, 120, 48);
    (0..48).map(|y| row(&buffer, y) + "\n").collect()
}

/// A heart run of three splits, the cursor in the middle.
fn heart() -> (Run, App) {
    let run = Run::of_file("heart.csv", splits(3));
    let mut app = run.watched(DARK);
    app.scrub(6);
    (run, app)
}

#[test]
fn every_view_at_four_sizes() {
    let (_, mut app) = heart();
    for view in View::ALL {
        app.update(Action::Show(view));
        for (width, height) in SIZES {
            let name = format!("{}_{width}x{height}", view.name().to_lowercase());
            insta::assert_snapshot!(name, dump(&picture(&mut app, width, height).0));
        }
    }
}

#[test]
fn a_view_in_each_palette_and_in_ascii() {
    let (_, mut app) = heart();
    let pictures = [
        ("light", View::Explore, Theme::new(Depth::True, true, false)),
        ("256", View::Stability, Theme::new(Depth::Indexed, false, false)),
        ("16", View::Size, Theme::new(Depth::Sixteen, false, false)),
        ("none", View::Stability, Theme::new(Depth::None, false, false)),
        ("ascii", View::Answer, Theme::new(Depth::None, false, true)),
    ];
    for (name, view, theme) in pictures {
        app.set_theme(theme);
        app.update(Action::Show(view));
        let name = format!("palette_{name}_{}", view.name().to_lowercase());
        insta::assert_snapshot!(name, dump(&picture(&mut app, 80, 24).0));
    }
}

#[test]
fn what_stands_in_front() {
    let (run, mut app) = heart();
    act(&mut app, &run, &[Action::Down, Action::Open]);
    insta::assert_snapshot!("feature", dump(&picture(&mut app, 100, 40).0));
    act(&mut app, &run, &[Action::Back, Action::WhatIfRemoved]);
    insta::assert_snapshot!("what_if", dump(&picture(&mut app, 120, 30).0));
    insta::assert_snapshot!("what_if_80x24", dump(&picture(&mut app, 80, 24).0));
    insta::assert_snapshot!("what_if_narrow", dump(&picture(&mut app, 50, 20).0));
    act(&mut app, &run, &[Action::Back, Action::Help]);
    insta::assert_snapshot!("help", dump(&picture(&mut app, 90, 84).0));
    act(&mut app, &run, &[Action::Back, Action::Options]);
    insta::assert_snapshot!("options", dump(&picture(&mut app, 90, 24).0));
    app.set_overlay(Some(Overlay::Quit(QuitQuestion)));
    insta::assert_snapshot!("quit", dump(&picture(&mut app, 80, 24).0));
    app.set_overlay(None);
    act(&mut app, &run, &[Action::Palette]);
    typed(&mut app, "chol");
    insta::assert_snapshot!("palette", dump(&picture(&mut app, 90, 24).0));
    app.set_overlay(None);
    act(&mut app, &run, &[Action::Show(View::Size), Action::PerClass]);
    insta::assert_snapshot!("per_class", dump(&picture(&mut app, 100, 30).0));
}

/// Every overlay and every zoom, over every view.
fn each_state(app: &mut App, mut look: impl FnMut(&mut App)) {
    let spec = app.spec().clone();
    for view in View::ALL {
        app.update(Action::Show(view));
        for zoom in std::iter::once(None).chain((0..view.panels().len()).map(Some)) {
            app.set_zoom(zoom);
            look(app);
        }
        app.set_zoom(None);
    }
    app.update(Action::Show(View::Size));
    app.update(Action::PerClass);
    look(app);
    app.update(Action::PerClass);
    app.update(Action::Show(View::Stability));
    app.update(Action::Indices);
    app.update(Action::ToggleAxis);
    app.update(Action::ZoomIn);
    look(app);
    app.update(Action::Indices);
    app.update(Action::ToggleAxis);
    app.update(Action::ZoomOut);
    app.update(Action::Show(View::Explore));
    app.update(Action::Options);
    let options = app.overlay().unwrap().clone();
    let overlays = [
        Overlay::Help(HelpPage::default()),
        Overlay::Help(HelpPage::at(1000)),
        Overlay::Feature(FeaturePage::of(0)),
        Overlay::Feature(FeaturePage::of(0).at(1000)),
        Overlay::Prompt(LinePrompt::new(Prompt::Find, "long ".repeat(40))),
        Overlay::Prompt(LinePrompt::new(Prompt::GoTo, "")),
        options,
        Overlay::Palette(Palette::default()),
        Overlay::Export(ExportMenu::with(Export::View)),
        Overlay::Quit(QuitQuestion),
    ];
    for overlay in overlays {
        app.set_overlay(Some(overlay));
        look(app);
    }
    app.set_overlay(None);
    app.say("many words ".repeat(30));
    look(app);
    app.update(Action::Help);
    app.update(Action::Back);
    assert_eq!(*app.spec(), spec);
}

#[test]
fn every_size_can_be_drawn() {
    let (run, mut done) = heart();
    act(&mut done, &run, &[Action::Down, Action::Open, Action::Back, Action::WhatIfKept]);
    let mut loading = run.ready(DARK);
    let mut failed = run.ready(DARK);
    failed.tell(Message::Failed(
        crfe::Error::data("the file is empty").remedy("give a CSV file with a header and rows"),
    ));
    for width in 1..=60 {
        for height in 1..=30 {
            each_state(&mut done, |app| {
                let (buffer, hits) = picture(app, width, height);
                holds_together(app);
                let inside = |area: &Rect| buffer.area.intersection(*area) == *area;
                assert!(hits.iter().all(|(area, _)| inside(area)), "{width}×{height}: {hits:?}");
                let steps = app.steps();
                let known = |hit: &Hit| match *hit {
                    Hit::Tab(_) => true,
                    Hit::Unit(unit) => unit < app.info().unwrap().units.len(),
                    Hit::Size(size) => (1..=app.info().unwrap().units.len()).contains(&size),
                    Hit::Column(_) => app.view() == View::Explore,
                    Hit::Step(step) => step < steps,
                    Hit::Panel(panel) => panel < app.view().panels().len(),
                };
                assert!(hits.iter().all(|(_, hit)| known(hit)), "{width}×{height}: {hits:?}");
            });
            for app in [&mut loading, &mut failed] {
                picture(app, width, height);
                holds_together(app);
            }
        }
    }
}

#[test]
fn ascii_means_ascii() {
    let (run, mut app) = heart();
    act(&mut app, &run, &[Action::Down, Action::Open, Action::Back, Action::WhatIfRemoved]);
    let mut hostile = hostile_run().watched(DARK);
    for app in [&mut app, &mut hostile] {
        app.set_theme(Theme::new(Depth::Sixteen, false, true));
        each_state(app, |app| {
            for (width, height) in [(120, 40), (60, 20), (30, 8)] {
                let (buffer, _) = picture(app, width, height);
                let foreign: Vec<&str> = buffer
                    .content
                    .iter()
                    .map(|cell| cell.symbol())
                    .filter(|s| !s.is_ascii())
                    .collect();
                assert!(foreign.is_empty(), "{:?} {:?}: {foreign:?}", app.view(), app.overlay());
            }
        });
    }
}

const HOSTILE: [&str; 9] = [
    "\u{1b}[2J\u{1b}[31mred",
    "tab\tand\nnew line\r",
    "\u{202e}right to left",
    "🧬🧬🧬 genes 🧬🧬🧬",
    "👨\u{200d}👩\u{200d}👧 family",
    "日本語のとても長い名前です、本当に長い",
    "e\u{301}\u{301}\u{301}clair \u{9b}31m",
    "heart ❤\u{fe0f}\u{200b}\u{feff}",
    "]0;title\u{7}",
];

fn hostile_run() -> Run {
    let long = "x".repeat(300);
    let mut names: Vec<&str> = HOSTILE.to_vec();
    names.push(&long);
    let classes = ["\u{1b}[1mbold\u{2066}", "🧬 \u{200d}class\twith\ttabs", &long];
    Run::of_names(&names, &classes, 60, splits(2))
}

#[test]
fn hostile_names_are_harmless_and_aligned() {
    let run = hostile_run();
    let mut app = run.unread("evil\u{1b}[2J\u{202e}.csv", DARK);
    app.tell(Message::Ready(run.plan.clone()));
    run.tell_all(&mut app);
    app.scrub(3);
    act(&mut app, &run, &[Action::Down, Action::Open, Action::Back, Action::WhatIfRemoved]);
    each_state(&mut app, |app| {
        for (width, height) in [(130, 40), (80, 24), (45, 14)] {
            let (buffer, _) = picture(app, width, height);
            let mut edges = Vec::new();
            for y in 0..height {
                let mut x = 0;
                while x < width {
                    let symbol = buffer[(x, y)].symbol();
                    assert!(!symbol.contains(|c: char| c.is_control()), "{symbol:?}");
                    let overrides = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fe0f}');
                    assert!(!symbol.contains(overrides), "{symbol:?}");
                    let own = symbol.width().max(1) as u16;
                    assert!(x + own <= width, "a wide character is cut at the edge");
                    x += own;
                }
                if app.overlay().is_none() && app.zoom() == Some(0) && app.view() == View::Explore {
                    let line = row(&buffer, y);
                    if line.starts_with('│') {
                        edges.push(buffer[(width - 1, y)].symbol().to_owned());
                    }
                }
            }
            assert!(edges.iter().all(|edge| edge == "│"), "{edges:?}");
        }
    });
}

#[test]
fn odd_tables_are_drawn() {
    let kept = |names: &[&str]| {
        let mut run = Run::of_names(&["a", "b"], &["x", "y"], 24, splits(1));
        let mut options: RunOptions = run.plan.info.spec.clone().into();
        options.schema.keep = names.iter().map(|&name| name.to_owned()).collect();
        let mut text = String::from("a,b,class\n");
        (0..24).for_each(|i| text += &format!("{},{},{}\n", i * 7 % 11, i % 5, ["x", "y"][i % 2]));
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("kept.csv");
        std::fs::write(&file, text).unwrap();
        let data = crfe::data::Dataset::load(&file, &options.schema, |_, _| {}).unwrap();
        run = Run::of(data, options.check().unwrap());
        run
    };
    let methods = |methods: &[Method]| RunOptions { methods: methods.to_vec(), ..splits(2) };
    let many: Vec<String> = (0..2000).map(|i| format!("gene {i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let halves = RunOptions { step: "half".parse().unwrap(), ..splits(2) };
    let runs = [
        ("one feature", Run::of_names(&["only"], &["x", "y"], 20, splits(1))),
        ("four rows a class", Run::of_names(&["a", "b", "c"], &["x", "y", "z"], 12, splits(2))),
        ("one kept", kept(&["a"])),
        ("all kept", kept(&["a", "b"])),
        ("one method", Run::of_names(&["a", "b", "c"], &["x", "y"], 40, methods(&[Method::Rfe]))),
        (
            "three methods",
            Run::of_names(
                &["a", "b", "c"],
                &["x", "y"],
                40,
                methods(&[Method::Crfe, Method::Rfe, Method::Smfs]),
            ),
        ),
        ("many features", Run::of_names(&many, &["x", "y"], 40, halves)),
    ];
    for (what, run) in runs {
        let mut app = run.watched(DARK);
        for cursor in [0, 1, usize::MAX] {
            app.scrub(cursor);
            act(
                &mut app,
                &run,
                &[Action::Open, Action::Back, Action::WhatIfKept, Action::NextMethod],
            );
            each_state(&mut app, |app| {
                for (width, height) in SIZES {
                    let (buffer, _) = picture(app, width, height);
                    assert!(row(&buffer, 0).contains("DONE"), "{what}");
                }
            });
        }
    }
}

#[test]
fn a_failed_task_is_named_and_the_others_go_on() {
    let run = Run::of_file("heart.csv", splits(2));
    let bad = TaskId { method: Method::Crfe, split: 0 };
    let mut app = run.ready(DARK);
    for event in &run.events {
        let of_it = event.task == Some(bad);
        if of_it && matches!(event.kind, EventKind::TaskStarted(_)) {
            app.tell(Message::Event(event.clone()));
            let kind = EventKind::TaskFailed { message: "internal fault: on purpose".into() };
            app.tell(Message::Event(RunEvent { kind, ..event.clone() }));
            let (buffer, _) = picture(&mut app, 80, 24);
            assert!(
                row(&buffer, 23).contains("CRFE on split 1 failed: internal fault"),
                "{}",
                row(&buffer, 23)
            );
        } else if !of_it {
            app.tell(Message::Event(event.clone()));
        }
    }
    let (buffer, _) = picture(&mut app, 80, 24);
    assert!(row(&buffer, 0).contains("DONE 3/4, 1 failed"), "{}", row(&buffer, 0));
    app.update(Action::Show(View::Data));
    let text = dump(&picture(&mut app, 100, 30).0);
    assert!(text.contains("! CRFE on split 1 failed: internal fault: on purpose"), "{text}");
}

#[test]
fn a_file_that_cannot_be_used_is_a_sentence() {
    let run = Run::of_file("heart.csv", splits(1));
    let mut app = run.ready(DARK);
    let file = std::path::Path::new("no.csv");
    let error = crfe::data::Dataset::load(file, &run.plan.info.spec.schema, |_, _| {}).unwrap_err();
    app.tell(Message::Failed(error));
    let text = dump(&picture(&mut app, 80, 24).0);
    assert!(text.contains("no.csv: there is no such file; check the path"), "{text}");
    assert!(text.contains("Press o to change the settings, q to quit"), "{text}");
    assert_eq!(app.update(Action::Quit), [Effect::Quit]);
}

#[test]
fn what_scrolls_ends_where_it_ends() {
    let (_, mut app) = heart();
    picture(&mut app, 80, 24);
    app.update(Action::Help);
    let wheel = |kind| MouseEvent { kind, column: 5, row: 5, modifiers: KeyModifiers::NONE };
    for _ in 0..500 {
        app.mouse(wheel(MouseEventKind::ScrollDown), &Vec::new());
    }
    let bottom = row(&picture(&mut app, 80, 24).0, 20);
    assert!(bottom.contains("wheel scrolls"), "{bottom}");
    app.mouse(wheel(MouseEventKind::ScrollUp), &Vec::new());
    assert_ne!(row(&picture(&mut app, 80, 24).0, 20), bottom, "one turn back is seen at once");
    app.update(Action::Back);
    for view in View::ALL {
        app.update(Action::Show(view));
        (0..50).for_each(|_| drop(app.update(Action::PageDown)));
        let low = picture(&mut app, 80, 24).0;
        (0..500).for_each(|_| drop(app.update(Action::Up)));
        let top = picture(&mut app, 80, 24).0;
        assert!(matches!(view, View::Size) || low != top, "{view:?} scrolls");
    }
}

#[test]
fn clicks_go_where_they_point() {
    let (_, mut app) = heart();
    let click = |app: &mut App, text: &str| {
        let (buffer, hits) = picture(app, 120, 40);
        let (x, y) = (0..40)
            .find_map(|y| {
                let line = row(&buffer, y);
                line.find(text).map(|at| (line[..at].width() as u16, y))
            })
            .unwrap_or_else(|| panic!("no {text} on the screen"));
        let kind = MouseEventKind::Down(MouseButton::Left);
        app.mouse(MouseEvent { kind, column: x, row: y, modifiers: KeyModifiers::NONE }, &hits);
    };
    click(&mut app, "4 Stability");
    assert_eq!(app.view(), View::Stability);
    click(&mut app, "2 Explore");
    click(&mut app, "cholesterol");
    assert_eq!(app.info().unwrap().units[app.selected().unwrap()].name, "cholesterol");
    click(&mut app, "cholesterol");
    assert!(matches!(app.overlay(), Some(Overlay::Feature(_))), "a second click opens it");
    app.set_overlay(None);
    click(&mut app, "rank│");
    assert_eq!(app.table().column(), RankingColumn::MeanRank);
    click(&mut app, "rank│");
    assert!(app.table().is_reversed());
    click(&mut app, "step  ");
    assert_eq!(app.table().column(), RankingColumn::Step);
    click(&mut app, " features left");
    assert_eq!(app.zoom(), Some(0));
    click(&mut app, "━");
    assert_eq!(app.cursor(), 0);
    // The left end of a chart is one feature, and its right end all.
    for (view, panel) in [(View::Size, 0), (View::Stability, 2)] {
        app.update(Action::Show(view));
        app.set_zoom(Some(panel));
        let (_, hits) = picture(&mut app, 120, 40);
        let mut columns = hits.iter().filter(|(_, hit)| matches!(hit, Hit::Size(_)));
        let (first, last) = (columns.next().unwrap().0, columns.next_back().unwrap().0);
        for (place, size) in [(first, 1), (last, 13)] {
            let kind = MouseEventKind::Down(MouseButton::Left);
            let modifiers = KeyModifiers::NONE;
            app.mouse(MouseEvent { kind, column: place.x, row: place.y + 1, modifiers }, &hits);
            assert_eq!(app.chart_size(), size, "{view:?}");
        }
    }
    app.update(Action::Help);
    click(&mut app, "Keys");
    assert_eq!(app.overlay(), None);
}

#[test]
fn beta_of_a_step_is_asked_for_once() {
    let names: Vec<String> = (0..1000).map(|i| format!("f{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let options =
        RunOptions { step: "0.3".parse().unwrap(), methods: vec![Method::Crfe], ..splits(1) };
    let run = Run::of_names(&names, &["x", "y"], 40, options);
    let mut app = run.watched(DARK);
    app.scrub(1);
    let first = app.wanted();
    assert!(matches!(first, Some(Effect::LookUp(Lookup::Inspect(..)))), "{first:?}");
    assert_eq!(app.wanted(), None, "it is under way");
    carry_out(&mut app, &run, first.into_iter().collect());
    assert_eq!(app.wanted(), None, "it is there");
    // A feature's classes are wanted wherever the cursor goes, also where β itself was kept whole.
    act(&mut app, &run, &[Action::First, Action::Open]);
    assert!(app.inspected_here());
    let effects = app.update(Action::Later);
    assert!(effects.is_empty() && app.wanted().is_some());
}

#[test]
fn a_feature_can_be_read_to_its_end_on_any_screen() {
    let (run, mut app) = heart();
    for (width, height) in [(80, 20), (50, 16)] {
        picture(&mut app, width, height);
        act(&mut app, &run, &[Action::First, Action::Open]);
        let top = dump(&picture(&mut app, width, height).0);
        assert!(top.contains("pagedown more") && !top.contains("values by class"), "{top}");
        act(&mut app, &run, &[Action::PageDown; 4]);
        let bottom = dump(&picture(&mut app, width, height).0);
        assert!(bottom.contains("values by class") && bottom.contains("mean "), "{bottom}");
        assert!(bottom.contains("pageup more"), "{bottom}");
        act(&mut app, &run, &[Action::PageUp; 4]);
        assert_eq!(dump(&picture(&mut app, width, height).0), top);
        act(&mut app, &run, &[Action::Back]);
    }
}

#[test]
fn a_selected_feature_that_goes_is_let_go_of() {
    let (run, mut app) = heart();
    app.scrub(0);
    let now = |app: &mut App| dump(&picture(app, 80, 24).0).contains("▶ now");
    // The one that goes next is chosen by hand.
    act(&mut app, &run, &[Action::Down]);
    let chosen = app.selected().unwrap();
    let gone = app.trace().unwrap().removed_at(chosen).unwrap();
    app.scrub(gone);
    assert_eq!(app.selected(), Some(chosen), "it is still there");
    app.scrub(gone + 1);
    assert_eq!(app.selected(), None);
    assert!(now(&mut app));
    // One that has gone can be looked at while time stands still.
    act(&mut app, &run, &[Action::PageDown, Action::PageDown]);
    assert!(app.selected().is_some());
    app.go_to_size(3);
    assert!(now(&mut app));
    // A survivor stays selected.
    let survivor = *app.trace().unwrap().order().last().unwrap();
    app.select(survivor);
    app.scrub(usize::MAX);
    assert_eq!(app.selected(), Some(survivor));
}

#[test]
fn what_cannot_be_done_says_why() {
    let (run, mut app) = heart();
    app.scrub(usize::MAX);
    for action in [Action::Open, Action::WhatIfRemoved, Action::WhatIfKept] {
        act(&mut app, &run, &[action]);
        let why = app.status().unwrap_or_default().to_owned();
        assert!(why.starts_with("nothing is removed at the last step"), "{action:?}: {why}");
    }
    app.scrub(0);
    act(&mut app, &run, &[Action::WhatIfRemoved]);
    assert!(
        app.status().is_some_and(|why| why.starts_with("this feature is removed here anyway")),
        "{:?}",
        app.status()
    );
    assert_eq!(app.branch(), None);
    app.submit(Prompt::GoTo, "99");
    assert_eq!(app.status(), Some("the path begins with 13 features"));
    app.submit(Prompt::GoTo, "0");
    assert_eq!(app.status(), Some("the path ends with 1 feature"));
}

#[test]
fn the_answer_follows_the_rule_and_can_be_copied() {
    let options =
        RunOptions { stop: "beta".parse().unwrap(), methods: vec![Method::Crfe], ..splits(1) };
    let run = Run::of_file("dermatology.csv", options);
    let mut app = run.watched(DARK);
    app.update(Action::Show(View::Answer));
    let mut lengths = Vec::new();
    for _ in 0..9 {
        app.update(Action::SigmaDown);
        picture(&mut app, 160, 48);
        let Some(size) = app.chosen_size() else { continue };
        let names = copied(&mut app);
        assert_eq!(names.len(), size);
        lengths.push(size);
        let text = dump(&picture(&mut app, 160, 48).0);
        assert!(
            text.contains(&format!("CRFE: {size} feature")) && text.contains(&names[0]),
            "{text}"
        );
        // What is written is the same answer.
        let choice = app.choice();
        let answer = crfe::analysis::Answer::new(app.history(), &choice).unwrap();
        assert_eq!(
            answer.selected().iter().map(|feature| feature.name.clone()).collect::<Vec<_>>(),
            names
        );
        // And the trace is as if the run had been told so from the start.
        let options = RunOptions { beta_rule: app.rule(), ..run.plan.info.spec.clone().into() };
        let own = Run::of((*run.plan.data).clone(), options.check().unwrap()).watched(DARK);
        let (info, trace) = (app.info().unwrap(), app.trace().unwrap());
        for step in own.trace().unwrap().steps() {
            assert_eq!(choice.beta_test(info, trace, step.t), step.stop, "step {}", step.t);
        }
    }
    lengths.dedup();
    assert!(lengths.len() > 1, "the answer follows k: {lengths:?}");
}

/// The names that are copied now.
fn copied(app: &mut App) -> Vec<String> {
    match app.update(Action::Copy).as_slice() {
        [Effect::Copy(list)] => list.text.lines().map(str::to_owned).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn another_size_can_be_taken_and_everything_follows() {
    let (_, mut app) = heart();
    app.update(Action::Show(View::Answer));
    picture(&mut app, 120, 36);
    let own = app.chosen_size().unwrap();
    for (action, size) in
        [(Action::Larger, own + 1), (Action::Larger, own + 2), (Action::Smaller, own + 1)]
    {
        app.update(action);
        let text = dump(&picture(&mut app, 120, 36).0);
        assert_eq!((app.chosen_size(), app.taken()), (Some(size), Some(size)));
        assert!(text.contains(&format!("CRFE: {size} features, chosen by hand")), "{text}");
        let names = copied(&mut app);
        assert_eq!(names.len(), size);
        let written = crfe::analysis::Answer::new(app.history(), &app.choice()).unwrap();
        assert_eq!(
            written.selected().iter().map(|feature| &feature.name).collect::<Vec<_>>(),
            names.iter().collect::<Vec<_>>()
        );
        // The folds tested the size of the rule: nothing is quoted for this one.
        let summary = crfe::report::summary(&written);
        assert!(!summary.contains("quote these numbers"), "{summary}");
        assert!(summary.contains("chosen by hand, after the results had been seen"), "{summary}");
        let directory = tempfile::tempdir().unwrap();
        let (out, figures) = (directory.path(), crfe::report::FigureOptions::default());
        crfe::report::write_report(out, app.history(), &written, None, &figures, 1).unwrap();
        let methods = std::fs::read_to_string(out.join("methods.md")).unwrap();
        let by_hand = format!("The number of features, {size}, was chosen by hand");
        assert!(
            methods.contains(&by_hand) && !methods.contains("Sizes were compared"),
            "{methods}"
        );
    }
    // In the charts the size under the cursor can be taken.
    app.update(Action::Show(View::Size));
    app.update(Action::CursorLeft);
    picture(&mut app, 120, 36);
    assert_eq!(app.chart_size(), own);
    app.update(Action::TakeSize);
    picture(&mut app, 120, 36);
    assert_eq!(app.taken(), Some(own));
    app.update(Action::OwnSize);
    picture(&mut app, 120, 36);
    assert_eq!((app.taken(), app.chosen_size()), (None, Some(own)));
    // Never beyond the ends.
    (0..30).for_each(|_| drop(app.update(Action::Larger)));
    picture(&mut app, 120, 36);
    assert_eq!(app.chosen_size(), Some(13));
    (0..30).for_each(|_| drop(app.update(Action::Smaller)));
    picture(&mut app, 120, 36);
    assert_eq!(app.chosen_size(), Some(1));
}

/// The answer on the screen is the answer in the files, whole, whatever is chosen.
#[test]
fn the_answer_on_the_screen_is_the_exported_one_for_every_size_and_rule() {
    let rules = RULES.iter().map(|entry| entry.rule).chain([StopRule::Size(4), StopRule::None]);
    let small = rules
        .map(|stop| ("heart.csv", RunOptions { stop, methods: vec![Method::Crfe], ..splits(2) }));
    let tested =
        RunOptions { permutations: Permutations::Count(3), validate: Some(2), ..splits(2) };
    for (table, options) in small.chain([("heart.csv", tested)]) {
        let run = Run::of_file(table, options);
        let mut app = run.watched(DARK);
        app.update(Action::Show(View::Answer));
        let directory = tempfile::tempdir().unwrap();
        // The rule's own size, all sizes from there to 1, and up again to all features.
        let steps = [Action::Smaller; 12].into_iter().chain([Action::Larger; 12]);
        for (at, action) in std::iter::once(Action::OwnSize).chain(steps).enumerate() {
            app.update(action);
            app.refresh();
            let choice = app.choice();
            let answer = crfe::analysis::Answer::new(app.history(), &choice).unwrap();
            assert_eq!(app.answer(), answer.methods.first(), "{choice:?}");
            assert_eq!(choice.size.is_some(), at > 0, "{choice:?}");
            // Writing takes longer than comparing.
            if at % 8 < 2 {
                crfe::report::write_tables(directory.path(), app.history(), &answer, None, 1)
                    .unwrap();
                let read = std::fs::read_to_string(directory.path().join("summary.json")).unwrap();
                let written: serde_json::Value = serde_json::from_str(&read).unwrap();
                let shown = serde_json::to_value(app.answer().unwrap()).unwrap();
                assert_eq!(written["methods"][0], shown, "{choice:?}");
            }
        }
    }
}

#[test]
fn the_list_of_the_answer_is_by_frequency_and_nothing_is_cut_silently() {
    let (_, mut app) = heart();
    app.update(Action::Show(View::Answer));
    for (width, height) in SIZES {
        picture(&mut app, width, height);
        let rows = app.derived().answer_rows.rows.clone();
        assert_eq!(rows.len(), 13);
        let size = app.chosen_size().unwrap();
        let answer: Vec<String> =
            app.answer().unwrap().features.iter().map(|feature| feature.name.clone()).collect();
        let name = |unit: &usize| app.info().unwrap().units[*unit].name.clone();
        assert_eq!(rows.iter().take(size).map(name).collect::<Vec<_>>(), answer);
        // Every feature can be reached, and is seen when it is selected.
        for _ in 0..rows.len() {
            let unit = app.selection().unwrap();
            let (buffer, hits) = picture(&mut app, width, height);
            assert!(hits.iter().any(|(_, hit)| *hit == Hit::Unit(unit)), "{}", dump(&buffer));
            app.update(Action::Down);
        }
        app.update(Action::Top);
        assert_eq!(app.selection(), Some(rows[0]));
        app.update(Action::Back);
    }
    // What does not fit is counted, and can be read in an enlarged panel.
    let narrow = dump(&picture(&mut app, 72, 16).0);
    assert!(narrow.contains("more lines: zz"), "{narrow}");
    app.set_zoom(Some(1));
    let mut seen = String::new();
    for _ in 0..12 {
        seen += &dump(&picture(&mut app, 72, 16).0);
        app.update(Action::Down);
    }
    for word in ["size", "stability", "accuracy", "coverage", "tested", "by chance", "CRFE − RFE"]
    {
        assert!(seen.contains(word), "{word}: {seen}");
    }
}

#[test]
fn cautions_and_tests_are_on_the_screen_as_they_come() {
    let options = RunOptions {
        validate: Some(2),
        permutations: Permutations::Count(2),
        methods: vec![Method::Crfe],
        ..splits(2)
    };
    let run = Run::of_file("heart.csv", options);
    let mut app = run.ready(DARK);
    app.update(Action::Show(View::Answer));
    let mut states = Vec::new();
    for event in &run.events {
        app.tell(Message::Event(event.clone()));
        let text = dump(&picture(&mut app, 120, 36).0);
        let head = text.lines().next().unwrap().to_owned();
        for (sign, words) in [
            ("none", "No split has finished yet"),
            ("fold 1", "fold 1 of 2 is running"),
            ("fold 2", "fold 2 of 2 is running"),
            ("tested", "rows it never saw, 2 folds"),
            ("chance", "whole list"),
        ] {
            if text.contains(words) && !states.contains(&sign) {
                states.push(sign);
            }
        }
        if matches!(event.kind, EventKind::Followed(..)) {
            assert!(
                head.contains("testing") || head.contains("permuting") || head.contains("2/2"),
                "{head}"
            );
        }
    }
    assert_eq!(states, ["none", "fold 1", "fold 2", "tested", "chance"]);
    // Every caution that the summary prints is there, word for word.
    let answer = crfe::analysis::Answer::new(app.history(), &app.choice()).unwrap();
    let cautions: Vec<&String> =
        answer.methods[0].cautions.iter().chain(&answer.cautions).collect();
    assert!(!cautions.is_empty());
    app.set_zoom(Some(2));
    let text: String =
        picture(&mut app, 200, 50).0.content.iter().map(|cell| cell.symbol()).collect();
    let words = |text: &str| text.replace(['│', ' ', '!'], "");
    for caution in cautions {
        assert!(words(&text).contains(&words(caution)), "{caution}\n{text}");
    }
    // The strip tells the same in the other views.
    app.update(Action::Show(View::Size));
    let strip = row(&picture(&mut app, 120, 36).0, 2);
    assert!(
        strip.contains("stability") && strip.contains("tested 0.") && strip.contains("caution"),
        "{strip}"
    );
}

#[test]
fn the_ranking_sorts_filters_and_finds() {
    let (_, mut app) = heart();
    app.update(Action::Show(View::Explore));
    let names = |app: &mut App| -> Vec<String> {
        picture(app, 120, 36);
        app.derived()
            .ranking
            .rows
            .iter()
            .map(|&unit| app.info().unwrap().units[unit].name.clone())
            .collect()
    };
    app.sort_by(RankingColumn::Feature);
    let sorted = names(&mut app);
    assert!(sorted.is_sorted(), "{sorted:?}");
    app.update(Action::Reverse);
    assert!(names(&mut app).is_sorted_by(|a, b| a >= b));
    app.sort_by(RankingColumn::InSplits);
    names(&mut app);
    let info = app.info().unwrap();
    let size = app.size();
    let ranks = crfe::analysis::RankTable::new(&crfe::analysis::Paths::new(
        app.history(),
        info,
        Method::Crfe,
    ));
    let counts: Vec<usize> =
        app.derived().ranking.rows.iter().map(|&unit| ranks.count(unit, size)).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
    app.submit(Prompt::Filter, "^c");
    let filtered = names(&mut app);
    assert!(
        filtered.len() > 1 && filtered.iter().all(|name| name.to_lowercase().starts_with('c')),
        "{filtered:?}"
    );
    assert!(
        row(&picture(&mut app, 120, 36).0, 3).contains("shown"),
        "the title says that rows are hidden"
    );
    app.submit(Prompt::Filter, "xyzzy");
    assert_eq!(app.status(), Some("no feature name matches 'xyzzy'"));
    assert_eq!(names(&mut app).len(), 13, "a filter without matches is taken back");
    app.submit(Prompt::Filter, "a(");
    assert_eq!(app.status(), Some("'a(' is not a regular expression"));
    app.submit(Prompt::Find, "^c");
    let first = app.selected();
    app.update(Action::FindNext);
    assert_ne!(app.selected(), first);
    app.update(Action::FindPrevious);
    assert_eq!(app.selected(), first);
    // gg and G.
    for key in ['g', 'g'] {
        app.key(KeyEvent::from(KeyCode::Char(key)));
    }
    assert_eq!(app.selected(), app.derived().ranking.rows.first().copied());
    app.key(KeyEvent::from(KeyCode::Char('G')));
    assert_eq!(app.selected(), app.derived().ranking.rows.last().copied());
}

#[test]
fn marked_features_are_my_list() {
    let (run, mut app) = heart();
    app.update(Action::Show(View::Answer));
    picture(&mut app, 120, 36);
    let first = app.selection().unwrap();
    act(&mut app, &run, &[Action::Mark, Action::Down, Action::Mark]);
    assert_eq!(app.table().marks().len(), 2);
    let text = dump(&picture(&mut app, 120, 36).0);
    assert_eq!(text.matches('✓').count(), 2, "{text}");
    // It is tested on all splits beside the answer; what is shown is what the comparison says.
    assert!(text.contains("2 features; against the answer"), "{text}");
    let comparison = app.my_list_comparison().unwrap();
    assert_eq!((comparison.splits, comparison.sizes.0), (3, 2));
    let name = app.info().unwrap().units[first].name.clone();
    assert!(copied(&mut app).contains(&name));
    app.update(Action::Mark);
    assert_eq!(copied(&mut app), [name]);
}

#[test]
fn wide_data_play_to_the_end_in_seconds() {
    let names: Vec<String> = (0..2000).map(|i| format!("f{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let run = Run::of_names(
        &names,
        &["x", "y"],
        24,
        RunOptions { methods: vec![Method::Rfe], ..splits(1) },
    );
    let mut app = run.watched(DARK);
    let mut sizes = vec![app.size()];
    while app.can_play() {
        app.tick();
        sizes.push(app.size());
    }
    assert!((25..80).contains(&sizes.len()), "{} ticks", sizes.len());
    assert_eq!((sizes[0], *sizes.last().unwrap()), (2000, 1));
    // Only Explore plays: elsewhere nothing moves by itself.
    app.scrub(0);
    app.update(Action::TogglePlay);
    assert!(app.can_play());
    app.update(Action::Show(View::Size));
    assert!(!app.can_play());
}

/// On wide data the timeline is on the logarithmic axis of the charts: half of it is for the last
/// few features.
#[test]
fn the_timeline_of_wide_data_is_logarithmic() {
    let names: Vec<String> = (0..400).map(|i| format!("f{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let run = Run::of_names(
        &names,
        &["x", "y"],
        24,
        RunOptions { methods: vec![Method::Rfe], ..splits(1) },
    );
    let mut app = run.watched(DARK);
    let place = |app: &mut App, size: usize| {
        app.go_to_size(size);
        let (buffer, hits) = picture(app, 120, 36);
        let line = row(&buffer, 34);
        let at = line.chars().position(|c| c == '▲').unwrap();
        // A click there comes back to the same place.
        let hit =
            hits.iter().find(|(place, hit)| place.x == at as u16 && matches!(hit, Hit::Step(_)));
        let Some((_, Hit::Step(step))) = hit else { panic!("no hit at {at}: {line}") };
        app.scrub(*step);
        let (buffer, _) = picture(app, 120, 36);
        assert_eq!(row(&buffer, 34).chars().position(|c| c == '▲'), Some(at));
        at
    };
    let (all, twenty, one) = (place(&mut app, 400), place(&mut app, 20), place(&mut app, 1));
    // log 20 = log 400 / 2.
    assert!(twenty.abs_diff((all + one) / 2) <= 1, "{all} {twenty} {one}");
    app.update(Action::ToggleAxis);
    assert!(place(&mut app, 20) > (all + 9 * one) / 10);
}

/// The page of a category names its levels and counts them by class, also if there are two.
#[test]
fn levels_of_a_category_are_counted_by_class() {
    let (run, mut app) = heart();
    for (name, counts) in [
        ("gender", &[("female", "25 0.18", "72 0.44"), ("male", "114 0.82", "92 0.56")][..]),
        ("thal", &[("normal", "37 0.27", "129 0.79"), ("reversable defect", "89 0.64", "28 0.17")]),
    ] {
        let unit = run.plan.data.units.iter().position(|unit| unit.name == name).unwrap();
        carry_out(&mut app, &run, vec![Effect::LookUp(Lookup::Portrait(unit))]);
        app.set_overlay(Some(Overlay::Feature(FeaturePage::of(unit))));
        let text = text_of(&mut app);
        for (level, diseased, healthy) in counts {
            let of_level = |line: &str| {
                line.contains(level) && line.contains(diseased) && line.contains(healthy)
            };
            assert!(text.lines().any(of_level), "{level}\n{text}");
        }
    }
}

/// My list is saved for `fit`, and the command to type is shown and copied.
#[test]
fn a_model_can_be_made_of_my_list() {
    let (run, mut app) = heart();
    app.update(Action::Show(View::Answer));
    let [] = app.update(Action::Fit)[..] else {
        panic!("nothing is saved for the answer's own list")
    };
    assert!(text_of(&mut app).contains("crfe-tui fit data/table.csv"), "{}", text_of(&mut app));
    assert!(!text_of(&mut app).contains("--features crfe-export"));
    app.update(Action::Back);
    act(&mut app, &run, &[Action::Mark, Action::Down, Action::Mark]);
    let effects = app.update(Action::Fit);
    let [Effect::Save(list)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((list.text.lines().count(), list.file.as_str()), (2, CopiedList::MY_LIST));
    let text = text_of(&mut app);
    assert!(text.contains("A model of my list: 2 features"), "{text}");
    assert!(text.contains("--features"), "{text}");
    let effects = app.update(Action::Copy);
    let [Effect::CopyWords(command)] = &effects[..] else { panic!("{effects:?}") };
    assert!(
        command.starts_with("crfe-tui fit data/table.csv ") && command.ends_with("--model M.json")
    );
    assert!(command.contains("--features crfe-export-heart/my_list.txt"), "{command}");
    assert_eq!(app.status(), Some("the command was sent to the clipboard"));
}

/// The settings say what the table gives with what is typed, before anything is computed.
#[test]
fn settings_count_rows_and_classes_as_they_change() {
    let (_, mut app) = heart();
    app.update(Action::Options);
    let before = text_of(&mut app);
    assert!(before.contains("'class': 2 classes, 303 rows"), "{before}");
    assert!(before.contains("rows by class: diseased 139, healthy 164"), "{before}");
    assert!(!matches!(app.wanted(), Some(Effect::Survey(_))), "the table has been read with these");
    let Some(Overlay::Options(editor)) = app.overlay() else { panic!() };
    let mut editor = editor.clone();
    editor.go_to("target");
    app.set_overlay(Some(Overlay::Options(editor)));
    typed(&mut app, "gender");
    assert!(text_of(&mut app).contains("reading the table with these settings"));
    let Some(Effect::Survey(spec)) = app.wanted() else { panic!("no survey is asked for") };
    assert!(!matches!(app.wanted(), Some(Effect::Survey(_))), "one at a time");
    app.tell(Message::Surveyed(Box::new(Survey::take(Path::new("data/heart.csv"), *spec))));
    let after = text_of(&mut app);
    assert!(after.contains("'gender': 2 classes, 303 rows"), "{after}");
    assert!(!matches!(app.wanted(), Some(Effect::Survey(_))));
    typed(&mut app, "x");
    let Some(Effect::Survey(spec)) = app.wanted() else { panic!("no survey is asked for") };
    app.tell(Message::Surveyed(Box::new(Survey::take(Path::new("data/heart.csv"), *spec))));
    assert!(text_of(&mut app).contains("'genderx'"), "{}", text_of(&mut app));
}

#[test]
fn where_a_run_starts() {
    let run = small_run();
    let new = run.ready(DARK);
    assert_eq!(new.view(), View::Explore);
    let mut opened = run.ready(DARK);
    opened.set_replay();
    assert_eq!(opened.view(), View::Answer);
    let mut again = run.ready(DARK);
    again.tell(Message::Reopened);
    assert_eq!(again.view(), View::Answer);
    let mut asked = run.ready(DARK);
    asked.choose_view(View::Data);
    asked.tell(Message::Reopened);
    assert_eq!(asked.view(), View::Data);
}

/// Slid to another k and ψ, the panel of mean β is that of a run told so from the start: the
/// threshold, and where the rule fires.
#[test]
fn the_threshold_follows_k_and_the_window() {
    let options =
        RunOptions { stop: "beta".parse().unwrap(), methods: vec![Method::Crfe], ..splits(1) };
    let run = Run::of_file("dermatology.csv", options);
    let mut app = run.watched(DARK);
    for action in [
        Action::WindowDown,
        Action::WindowDown,
        Action::WindowDown,
        Action::SigmaDown,
        Action::SigmaDown,
    ] {
        app.update(action);
    }
    assert_ne!(app.rule().window, app.spec().beta_rule.window);
    assert_ne!(app.rule().sigma, app.spec().beta_rule.sigma);
    let options = RunOptions { beta_rule: app.rule(), ..run.plan.info.spec.clone().into() };
    let mut own = Run::of((*run.plan.data).clone(), options.check().unwrap()).watched(DARK);
    for app in [&mut app, &mut own] {
        app.update(Action::Show(View::Explore));
        app.set_zoom(Some(1));
    }
    let mut fires = 0;
    for step in 0..own.trace().unwrap().steps().len() {
        app.scrub(step);
        own.scrub(step);
        let here = dump(&picture(&mut app, 100, 16).0);
        assert_eq!(here, dump(&picture(&mut own, 100, 16).0), "the line at step {step}");
        fires += usize::from(here.contains(": fires"));
        if step % 8 == 0 {
            let curves = dump(&picture(&mut app, 160, 48).0);
            assert_eq!(curves, dump(&picture(&mut own, 160, 48).0), "the curves at step {step}");
        }
    }
    assert!(fires > 0, "the rule fires somewhere");
}

#[test]
fn unknown_betas_say_why() {
    let names: Vec<String> = (0..1000).map(|i| format!("f{i}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let options =
        RunOptions { step: "0.3".parse().unwrap(), methods: vec![Method::Crfe], ..splits(1) };
    let run = Run::of_names(&names, &["x", "y"], 40, options);
    let mut app = run.watched(DARK);
    app.tick();
    let title = |app: &mut App| row(&picture(app, 120, 24).0, 3);
    assert!(title(&mut app).contains("(pause for all β)"), "{}", title(&mut app));
    app.update(Action::TogglePlay);
    assert!(title(&mut app).contains("(computing …)"), "{}", title(&mut app));
    let wanted = app.wanted();
    carry_out(&mut app, &run, wanted.into_iter().collect());
    assert!(title(&mut app).contains("700 features left, by step ▼ ─"), "{}", title(&mut app));
    let mut app = run.unread("data/table.csv", DARK);
    run.tell_all(&mut app);
    app.scrub(2);
    assert!(title(&mut app).contains("(other β not recorded)"), "{}", title(&mut app));
}

#[test]
fn every_split_is_shown_or_counted() {
    let run = Run::of_file("heart.csv", RunOptions { methods: vec![Method::Crfe], ..splits(40) });
    let mut app = run.watched(DARK);
    app.scrub(0);
    let text = dump(&picture(&mut app, 80, 24).0);
    let line = text.lines().find(|line| line.contains('■')).unwrap();
    let shown = line.matches('■').count();
    let rest = line.split("…+").last().unwrap();
    let unseen: usize = rest.trim_end_matches('│').parse().unwrap();
    assert_eq!(shown + unseen, 40, "{line}");
    assert!(!dump(&picture(&mut app, 160, 48).0).contains("…+"));
}

#[test]
fn curves_differ_without_colours() {
    let (_, mut app) = heart();
    app.update(Action::Show(View::Stability));
    app.update(Action::Indices);
    app.set_zoom(Some(2));
    for ascii in [false, true] {
        app.set_theme(Theme::new(Depth::None, false, ascii));
        let (buffer, _) = picture(&mut app, 100, 30);
        let text: String = (4..28).map(|y| row(&buffer, y) + "\n").collect();
        for (mark, label) in [("j", "I_J in all"), ("w", "I_W in most"), ("n", "Nogueira")] {
            assert!(text.contains(label), "{text}");
            let plot: String =
                text.lines().map(|line| line.chars().take(84).collect::<String>()).collect();
            assert!(plot.contains(mark), "{mark}\n{text}");
        }
    }
    app.set_zoom(None);
    for (theme, full) in [
        (DARK, "(bright: best)"),
        (Theme { light: true, ..DARK }, "(dark: best)"),
        (Theme { depth: Depth::None, ..DARK }, "(█: best)"),
        (Theme { depth: Depth::Sixteen, ascii: true, ..DARK }, "(#: best)"),
    ] {
        app.set_theme(theme);
        assert!(row(&picture(&mut app, 100, 30).0, 3).contains(full), "{full}");
    }
}

#[test]
fn words_follow_the_keymap() {
    let (_, mut app) = heart();
    let mut keymap = Keymap::default();
    keymap
        .rebind(&[("quit".into(), vec!["Q".into()]), ("what_if_removed".into(), vec!["D".into()])])
        .unwrap();
    app.set_keymap(keymap);
    assert!(row(&picture(&mut app, 120, 24).0, 23).contains("Q quit"));
    app.set_zoom(Some(3));
    assert!(dump(&picture(&mut app, 120, 24).0).contains("D removes it now"));
}

#[test]
fn a_closer_look_agrees_with_the_path() {
    let (run, app) = heart();
    for task in run.plan.tasks() {
        let trace = app.history().trace(task).unwrap();
        let mut present: Vec<usize> = (0..run.plan.data.units.len()).collect();
        for step in trace.steps() {
            let found = inspect(&run.plan, task.split, &present).unwrap();
            let Some(Betas::Whole(recorded)) = &step.beta else {
                panic!("a short path keeps every β")
            };
            assert_eq!(found.units, present);
            assert_eq!(found.beta.len(), recorded.len());
            for ((&beta, &recorded), parts) in found.beta.iter().zip(recorded).zip(&found.by_class)
            {
                // It is recorded with four digits.
                assert!(
                    (beta - f64::from(recorded)).abs() <= 5.01e-4 * beta.abs(),
                    "{beta} {recorded}"
                );
                let scale = parts.iter().fold(1.0, |scale: f64, part| scale.max(part.abs()));
                assert!((beta - parts.iter().sum::<f64>()).abs() < 1e-12 * scale);
            }
            // What decides is recorded in full.
            let close = |a: f64, b: f64| (a - b).abs() < 1e-8 * a.abs().max(1.0);
            assert!(close(
                found.beta.iter().sum::<f64>() / found.beta.len() as f64,
                step.beta_mean
            ));
            if let (Method::Rfe, [unit], Some(criterion)) =
                (task.method, step.removed.as_slice(), step.criterion)
            {
                let weights = &found.squared_weight;
                let own = weights[present.binary_search(unit).unwrap()];
                assert!(close(own, criterion), "{own} {criterion}");
                assert!(
                    weights.iter().all(|&other| other >= own - 1e-8),
                    "it has the smallest Σw²"
                );
            }
            if let (Method::Crfe, [unit], Some(criterion)) =
                (task.method, step.removed.as_slice(), step.criterion)
            {
                let beta = found.beta[present.binary_search(unit).unwrap()];
                assert!(close(beta, criterion), "{beta} {criterion}");
                assert!(
                    found.beta.iter().all(|&other| other <= beta + 1e-8),
                    "it has the highest β"
                );
            }
            present.retain(|unit| !step.removed.contains(unit));
        }
    }
}

#[test]
fn what_happens_anyway_is_no_other_path() {
    let (run, app) = heart();
    for task in run.plan.tasks() {
        let trace = app.history().trace(task).unwrap();
        let all: Vec<usize> = (0..run.plan.data.units.len()).collect();
        let survivor = *trace.order().last().unwrap();
        let first = trace.steps()[0].removed[0];
        // Two things that happen anyway: the survivor stays, and the first one goes.
        for (forced, rest) in [(Forced::Kept(survivor), 0), (Forced::Removed(first), 1)] {
            let branch = branch(&run.plan, task, &all, forced).unwrap();
            assert_eq!(branch.steps.len(), trace.steps().len() - rest);
            for (other, step) in branch.steps.iter().zip(&trace.steps()[rest..]) {
                assert_eq!((other.size, other.removed), (step.size, step.removed.first().copied()));
                assert_eq!(other.tally, step.tally);
                assert!(
                    (other.beta_mean - step.beta_mean).abs() < 1e-8 * step.beta_mean.abs().max(1.0)
                );
            }
        }
        // And one that does not.
        let other = branch(&run.plan, task, &all, Forced::Removed(survivor)).unwrap();
        assert!(other.steps.iter().all(|step| step.removed != Some(survivor)));
        assert_eq!(other.steps[0].size, all.len() - 1);
    }
}

#[test]
fn typing_finds_and_goes() {
    let (_, mut app) = heart();
    app.key(KeyEvent::from(KeyCode::Char('/')));
    typed(&mut app, "cholx");
    app.key(KeyEvent::from(KeyCode::Backspace));
    app.key(KeyEvent::from(KeyCode::Enter));
    assert_eq!(app.info().unwrap().units[app.selected().unwrap()].name, "cholesterol");
    app.key(KeyEvent::from(KeyCode::Char('g')));
    typed(&mut app, "4");
    app.key(KeyEvent::from(KeyCode::Enter));
    assert_eq!(app.size(), 4);
    app.key(KeyEvent::from(KeyCode::Char('g')));
    typed(&mut app, "four");
    app.key(KeyEvent::from(KeyCode::Enter));
    assert_eq!(app.status(), Some("'four' is not a number of features"));
}

/// What holds of every state, whatever has been done to it.
fn holds_together(app: &App) {
    let (steps, cursor) = (app.steps(), app.cursor());
    assert!(cursor < steps.max(1), "the cursor is at {cursor} of {steps} steps");
    assert!(!app.is_playing() || !app.is_live(), "it either plays or follows");
    assert!((0.25..=64.0).contains(&app.speed()), "{}", app.speed());
    assert!((0.5..=20.0).contains(&app.rule().sigma), "{}", app.rule().sigma);
    assert!((0.05..=1.0).contains(&app.rule().window), "{}", app.rule().window);
    assert!(
        app.zoom().is_none_or(|panel| panel < app.view().panels().len()),
        "{:?} {:?}",
        app.view(),
        app.zoom()
    );
    let Some(info) = app.info() else { return };
    let units = info.units.len();
    assert!(app.focus().split < info.splits, "{:?}", app.focus());
    assert!(info.spec.methods.contains(&app.focus().method), "{:?}", app.focus());
    assert!(app.selection().is_none_or(|unit| unit < units), "{:?}", app.selection());
    assert_eq!(app.present().len(), app.size(), "what is present is as much as the size says");
    let mut rows = app.list_rows().to_vec();
    rows.sort_unstable();
    if app.table().filter().is_none() && (app.view() == View::Explore || app.answer().is_some()) {
        let once = app.view() == View::Explore || app.view() == View::Answer;
        assert!(
            !once || rows == (0..units).collect::<Vec<_>>(),
            "the list holds every feature once: {rows:?}"
        );
    } else {
        assert!(rows.windows(2).all(|pair| pair[0] < pair[1]), "no feature twice: {rows:?}");
    }
    assert!(app.table().marks().iter().all(|&unit| unit < units));
    assert!(
        app.chosen_size().is_none_or(|size| (1..=units).contains(&size)),
        "{:?}",
        app.chosen_size()
    );
    assert!((1..=units).contains(&app.chart_size()), "{}", app.chart_size());
    if let (Some(taken), Some(chosen)) = (app.taken(), app.chosen_size()) {
        assert_eq!(taken, chosen, "the answer has the size that was taken");
    }
    if app.is_live() {
        assert_eq!(cursor, steps.saturating_sub(1), "it follows the newest step");
    }
    if app.view() == View::Explore
        && app.selected().is_none()
        && let Some(unit) = app.selection()
    {
        assert!(app.present().contains(&unit), "the feature to be removed is present");
    }
    assert!(app.branch().is_none_or(|branch| branch.task == app.focus()), "a branch of this path");
}

/// What a finished path had told is gone with it, also from what was computed of it.
#[test]
fn a_finished_path_that_fails_is_no_part_of_the_answer() {
    let run = small_run();
    let mut app = run.watched(DARK);
    app.update(Action::Show(View::Answer));
    picture(&mut app, 80, 24);
    assert_eq!(app.list_rows().len(), 13);
    for split in 0..2 {
        let task = Some(TaskId { split, ..app.focus() });
        let kind = EventKind::TaskFailed { message: "on purpose".into() };
        app.tell(Message::Event(RunEvent { task, kind }));
    }
    app.update(Action::Larger);
    picture(&mut app, 80, 24);
    assert!(app.answer().is_none(), "no split is left to have an answer");
    holds_together(&app);
}

/// Something that can happen to a screen.
#[derive(Debug, Clone)]
enum Deed {
    Act(usize),
    Press(KeyCode, KeyModifiers),
    Point(MouseEventKind, u16, u16),
    Events(usize),
    Tick,
    Resize(u16, u16),
    Force(usize, bool),
    Fail(usize),
}

fn deed() -> impl Strategy<Value = Deed> {
    let code = prop_oneof![
        8 => any::<char>().prop_map(KeyCode::Char),
        8 => proptest::char::range(' ', '~').prop_map(KeyCode::Char),
        4 => Just(KeyCode::Enter),
        1 => Just(KeyCode::Backspace),
        2 => Just(KeyCode::Esc),
        1 => Just(KeyCode::Tab),
        1 => Just(KeyCode::Down),
    ];
    let with = prop_oneof![
        9 => Just(KeyModifiers::NONE),
        1 => Just(KeyModifiers::CONTROL),
    ];
    let kind = prop_oneof![
        Just(MouseEventKind::Down(MouseButton::Left)),
        Just(MouseEventKind::Drag(MouseButton::Left)),
        Just(MouseEventKind::Up(MouseButton::Left)),
        Just(MouseEventKind::ScrollDown),
        Just(MouseEventKind::ScrollUp),
    ];
    prop_oneof![
        12 => (0..1000_usize).prop_map(Deed::Act),
        6 => (code, with).prop_map(|(code, with)| Deed::Press(code, with)),
        3 => (kind, 0..200_u16, 0..60_u16).prop_map(|(kind, x, y)| Deed::Point(kind, x, y)),
        4 => (0..9_usize).prop_map(Deed::Events),
        2 => Just(Deed::Tick),
        2 => (1..200_u16, 1..60_u16).prop_map(|(width, height)| Deed::Resize(width, height)),
        1 => (0..13_usize, any::<bool>()).prop_map(|(unit, removed)| Deed::Force(unit, removed)),
        1 => (0..4_usize).prop_map(Deed::Fail),
    ]
}

/// Does one deed, then looks.
fn undergo(app: &mut App, run: &mut Run, told: &mut usize, size: &mut (u16, u16), deed: Deed) {
    let actions: Vec<Action> =
        app.keymap().bindings().iter().map(|binding| binding.action).collect();
    let effects = match deed {
        Deed::Act(which) => app.update(actions[which % actions.len()]),
        Deed::Press(code, with) => app.key(KeyEvent::new(code, with)),
        Deed::Point(kind, column, row) => {
            let (_, hits) = picture(app, size.0, size.1);
            app.mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }, &hits)
        }
        Deed::Events(count) => {
            let until = (*told + count).min(run.events.len());
            run.events[*told..until]
                .iter()
                .for_each(|event| app.tell(Message::Event(event.clone())));
            *told = until;
            Vec::new()
        }
        Deed::Tick => {
            app.tick();
            Vec::new()
        }
        Deed::Resize(width, height) => {
            *size = (width, height);
            Vec::new()
        }
        Deed::Force(unit, removed) => {
            let forced = if removed { Forced::Removed(unit) } else { Forced::Kept(unit) };
            app.select(unit);
            let present = app.present();
            if app.trace().is_some() && present.contains(&unit) && present.len() > 1 {
                vec![Effect::LookUp(Lookup::Branch(app.focus(), present, forced))]
            } else {
                Vec::new()
            }
        }
        Deed::Fail(which) => {
            let tasks = run.plan.tasks();
            let task = tasks[which % tasks.len()];
            if app.trace().is_some() && which == 0 {
                let kind = EventKind::TaskFailed { message: "on purpose".into() };
                app.tell(Message::Event(RunEvent { task: Some(task), kind }));
            }
            Vec::new()
        }
    };
    for effect in &effects {
        if let Effect::Rerun(spec) = effect {
            // Typed numbers may ask for years of work.
            if spec.split.splits <= 3
                && let Ok(other) = Run::try_of((*run.plan.data).clone(), (**spec).clone())
            {
                *run = other;
            }
            *told = 0;
            app.restart(run.plan.info.spec.clone());
            app.tell(Message::Ready(run.plan.clone()));
        }
    }
    carry_out(app, run, effects);
    let wanted = app.wanted();
    carry_out(app, run, wanted.into_iter().collect());
    picture(app, size.0, size.1);
    holds_together(app);
}

/// PROPTEST_CASES, or as many as a test run has time for.
fn cases(usual: u32) -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(20), max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// Twenty times five hundred.
    #[test]
    fn random_hands_break_nothing(deeds in prop::collection::vec(deed(), 500)) {
        let mut run = small_run();
        let mut app = run.ready(DARK);
        let mut told = 0;
        let mut size = (80, 24);
        for deed in deeds {
            undergo(&mut app, &mut run, &mut told, &mut size, deed);
        }
    }
}

fn small_run() -> Run {
    static RUN: std::sync::OnceLock<Run> = std::sync::OnceLock::new();
    RUN.get_or_init(|| Run::of_file("heart.csv", splits(2))).clone()
}

/// Where no size stands out and a class is too small for folds, the answer says that, not that
/// options were given or work is left.
#[test]
fn an_answer_without_a_size_says_what_it_lacks() {
    let options = RunOptions { stop: "none".parse().unwrap(), validate: Some(5), ..splits(2) };
    let options = RunOptions { permutations: Permutations::Count(2), ..options };
    let run = Run::of_names(&["a", "b", "c"], &["x", "y"], 12, options);
    let mut app = run.watched(DARK);
    app.update(Action::Show(View::Answer));
    let text = text_of(&mut app)
        .split_whitespace()
        .filter(|&word| word != "│")
        .collect::<Vec<_>>()
        .join(" ");
    assert!(app.chosen_size().is_none() && app.info().unwrap().folds == 0);
    assert!(
        !text.contains("rows (--validate none)") && text.contains("too small for 5 folds"),
        "{text}"
    );
    assert!(text.contains("nothing to compare without a size"), "{text}");
}

/// The page of a feature stands still: in Answer at the size of the answer, in Explore where it was
/// opened.
#[test]
fn the_page_of_a_feature_pauses_the_play_and_asks_for_its_effect() {
    let run = Run::of_file("heart.csv", splits(2));
    for view in [View::Answer, View::Explore] {
        let mut app = run.watched(DARK);
        app.scrub(0);
        app.update(Action::Show(view));
        app.update(Action::TogglePlay);
        assert!(app.is_playing());
        picture(&mut app, 120, 36);
        app.update(Action::Down);
        app.update(Action::Open);
        assert!(!app.is_playing());
        let asked: Vec<Effect> = std::iter::from_fn(|| app.wanted()).take(4).collect();
        let effect = asked.iter().find_map(|effect| match effect {
            Effect::LookUp(Lookup::EffectCurve(_, units, _)) => Some(units.len()),
            _ => None,
        });
        assert_eq!(effect, Some(app.size()), "{view:?}: {asked:?}");
        if view == View::Answer {
            assert!(app.size() < 13, "where the path has the size of the answer");
        }
        let Some(Overlay::Feature(page)) = app.overlay().cloned() else {
            panic!("the page is open")
        };
        app.update(Action::Mark);
        assert!(app.table().is_marked(page.unit()) && app.overlay().is_some(), "{view:?}");
    }
}

#[test]
fn one_press_changes_the_window() {
    let (_, mut app) = heart();
    let psi = |app: &App| app.rule().psi(13);
    let before = psi(&app);
    app.update(Action::WindowUp);
    assert_eq!(psi(&app), before + 1);
    app.update(Action::WindowDown);
    assert_eq!(psi(&app), before);
    (0..50).for_each(|_| drop(app.update(Action::WindowDown)));
    assert_eq!(psi(&app), 3);
    app.update(Action::WindowUp);
    assert_eq!(psi(&app), 4, "no press is lost at the end");
}

#[test]
fn help_and_settings_are_not_cut_at_80_columns() {
    let (_, mut app) = heart();
    for view in View::ALL {
        app.update(Action::Show(view));
        app.update(Action::Help);
        let text = dump(&picture(&mut app, 80, 120).0);
        let joined = text.replace('│', " ").split_whitespace().collect::<Vec<_>>().join(" ");
        for binding in app.keymap().bindings().iter().filter(|own| own.views().next().is_some()) {
            assert!(joined.contains(binding.words), "{}: {text}", binding.words);
        }
        app.update(Action::Back);
    }
    app.update(Action::Options);
    let text = dump(&picture(&mut app, 80, 120).0);
    assert!(text.contains("dedup-names    false"), "{text}");
    for hint in ["crfe, rfe, smfs, acm", "proximity none or N"] {
        assert!(text.contains(hint), "{hint}: {text}");
    }
    app.set_overlay(None);
    app.update(Action::Show(View::Answer));
    assert!(dump(&picture(&mut app, 80, 24).0).contains(" splits "));
}

/// Dragging over a chart shows that range of sizes, until it is widened or the cursor leaves it.
#[test]
fn dragging_over_a_chart_zooms() {
    let (_, mut app) = heart();
    for view in [View::Size, View::Stability, View::Explore] {
        app.update(Action::Show(view));
        let drag = |app: &mut App, from: usize, to: usize| {
            let (_, hits) = picture(app, 120, 40);
            let column = |size| hits.iter().find(|(_, hit)| *hit == Hit::Size(size)).unwrap().0;
            let mouse = |kind, place: Rect| MouseEvent {
                kind,
                column: place.x,
                row: place.y + 1,
                modifiers: KeyModifiers::NONE,
            };
            let left = MouseButton::Left;
            app.mouse(mouse(MouseEventKind::Down(left), column(from)), &hits);
            app.mouse(mouse(MouseEventKind::Drag(left), column(to)), &hits);
            // Released beside the charts: the last size over which it was counts.
            app.mouse(mouse(MouseEventKind::Up(left), Rect::default()), &hits);
        };
        let shown = |app: &mut App| {
            let (_, hits) = picture(app, 120, 40);
            let sizes: Vec<usize> = hits
                .iter()
                .filter_map(|(_, hit)| if let Hit::Size(size) = hit { Some(*size) } else { None })
                .collect();
            (*sizes.iter().min().unwrap(), *sizes.iter().max().unwrap())
        };
        assert_eq!(shown(&mut app), (1, 13), "{view:?}");
        drag(&mut app, 8, 3);
        assert_eq!(shown(&mut app), (3, 8), "{view:?}");
        assert_eq!(app.status(), Some("sizes 3 to 8; ( shows all"));
        drag(&mut app, 5, 5);
        assert_eq!(shown(&mut app), (3, 8), "a click is no drag");
        app.update(Action::ZoomOut);
        assert_eq!(shown(&mut app), (1, 13), "{view:?}");
    }
}

/// Models other than linear ones are named, and a step of the linear path before them is not
/// explained by their β.
#[test]
fn kernel_machines_are_named_and_so_is_what_the_linear_path_leaves_out() {
    let mut options =
        RunOptions { estimator: "rbf".parse().unwrap(), prefilter: Some(6), ..splits(1) };
    options.methods = vec![Method::Crfe];
    let mut app = Run::of_file("heart.csv", options).watched(DARK);
    app.update(Action::Show(View::Explore));
    app.scrub(0);
    let text = text_of(&mut app);
    assert!(text.contains("CRFE  rbf (γ scale, prefilter 6)"), "{text}");
    assert!(text.contains(" and 6 more"), "{text}");
    assert!(text.contains("left out by the linear path (--prefilter)"), "{text}");
    app.update(Action::Show(View::Data));
    let text = text_of(&mut app);
    assert!(text.contains("models    rbf (γ scale, prefilter 6)"), "{text}");
}

/// What the answer says of sites that were left out and of subgroups.
#[test]
fn the_worst_site_and_subgroup_are_named() {
    let row = |i: usize| {
        let class = i % 2;
        let site = i / 30;
        let noise = |k: usize| ((i * k + 7 * (i % 11)) % 23) as f64;
        let a = noise(31) + 14.0 * class as f64;
        let b = noise(17) + if site == 3 { -9.0 } else { 9.0 } * class as f64;
        format!(
            "{a},{b},{},{},{},{}\n",
            noise(13),
            ["A", "B", "C", "D"][site],
            ["f", "m"][i / 2 % 2],
            ["x", "y"][class]
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sites.csv");
    std::fs::write(
        &file,
        "a,b,c,site,sex,class\n".to_owned() + &(0..120).map(row).collect::<String>(),
    )
    .unwrap();
    let mut options = RunOptions { validate: Some(5), ..splits(3) };
    options.schema.leave_out = Some("site".into());
    options.schema.subgroups = vec!["sex".into()];
    let data = Dataset::load(&file, &options.schema, |_, _| {}).unwrap();
    let run = Run::of(data, options.check().unwrap());
    let mut app = run.watched(DARK);
    app.update(Action::Show(View::Answer));
    insta::assert_snapshot!("answer_with_sites", dump(&picture(&mut app, 120, 36).0));
}

/// A recorded run is being opened until all that is recorded has been read.
#[test]
fn a_recorded_run_is_opened_before_it_runs() {
    let run = small_run();
    let mut app = run.unread("data/table.csv", DARK);
    app.set_replay();
    app.tell(Message::Event(run.events[0].clone()));
    let status = ShardStatus {
        shard: Shard::WHOLE,
        host: None,
        pid: None,
        tasks: 4,
        done: 4,
        running: 0,
        stale: 0,
        failed: 0,
        grown: std::time::Instant::now(),
    };
    app.tell(Message::Shards(vec![status]));
    assert!(text_of(&mut app).contains("OPENING 0/4"));
    run.tell_all(&mut app);
    assert!(text_of(&mut app).contains("DONE 4/4"));
}

/// Twins that are found for another size are named, and nothing else is computed anew.
#[test]
fn twins_of_another_size_leave_the_rest_as_it_is() {
    let (run, mut app) = heart();
    app.update(Action::Show(View::Answer));
    picture(&mut app, 120, 36);
    let before = app.finished();
    app.update(Action::Larger);
    picture(&mut app, 120, 36);
    let effect = app.wanted().unwrap();
    assert!(matches!(effect, Effect::LookUp(Lookup::FindTwins(_))), "{effect:?}");
    carry_out(&mut app, &run, vec![effect]);
    picture(&mut app, 120, 36);
    assert!(app.answer().unwrap().features.iter().all(|feature| feature.twins.is_some()));
    assert_eq!(app.finished(), before);
    app.update(Action::OwnSize);
    picture(&mut app, 120, 36);
    assert!(app.answer().unwrap().features.iter().all(|feature| feature.twins.is_some()));
}
