//! `open M.json --data new.csv`: patients, their sets and the features behind them, as pictures, in
//! a real terminal and in plain words.
//!
//! After a change that is meant, look at each picture and accept it: `INSTA_UPDATE=always cargo
//! test --test patients`.
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "other tests use the rest of it")]
mod program;
#[expect(dead_code, reason = "other tests use the rest of it")]
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};

use crfe::data::{ReadOptions, RowBatch};
use crfe::model::{MOST_KEPT, Model, RowSource, Scoreboard, ScoredRow, Scorer};
use crfe::tui::{Depth, Keymap, PatientsScreen, Theme};
use crossterm::event::{KeyCode, KeyEvent};
use program::{finish, program};
use ratatui::backend::TestBackend;
use tempfile::TempDir;
use terminal::Terminal;

const PLAIN: Theme = Theme::new(Depth::None, false, false);

/// A model of the heart table.
fn model(desk: &TempDir, options: &str) -> PathBuf {
    let file = desk.path().join("M.json");
    let mut command = program();
    command.args(["fit", "data/heart.csv", "--model"]).arg(&file);
    let ran = finish(
        command.args(["--splits", "2", "--method", "crfe"]).args(options.split_whitespace()),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    file
}

/// Sixty rows of the heart table, called P1 to P60; some are odd, every seventh has no class.
fn patients(desk: &TempDir) -> PathBuf {
    let text = fs::read_to_string("data/heart.csv").unwrap();
    let mut lines = text.lines();
    let mut new = format!("patient,{}\n", lines.next().unwrap());
    for (i, line) in lines.step_by(5).take(60).enumerate() {
        let mut cells: Vec<&str> = line.split(',').collect();
        match i {
            3 => cells[12] = "mild defect",
            5 => cells[7] = "290",
            9 => (cells[2], cells[7], cells[9], cells[12]) = ("", "", "?", ""),
            _ => {}
        }
        if i % 7 == 0 {
            cells[13] = "";
        }
        new += &format!("P{},{}\n", i + 1, cells.join(","));
    }
    let file = desk.path().join("new.csv");
    fs::write(&file, new).unwrap();
    file
}

fn source(file: &Path) -> RowSource {
    let id = Some("patient".to_owned());
    RowSource { path: file.to_owned(), options: ReadOptions::default(), id, may_be_absent: false }
}

fn screen<'a>(scorer: &'a Scorer<'a>, file: &Path, theme: Theme) -> PatientsScreen<'a> {
    let mut screen = PatientsScreen::new(scorer, "M.json", theme, Keymap::default());
    let mut board = Scoreboard::new(scorer);
    let take = |batch: RowBatch, rows: Vec<ScoredRow>| {
        rows.iter().for_each(|row| board.add(row));
        screen.add(batch, rows);
        Ok(())
    };
    let facts = scorer.each_batch(&source(file), take).unwrap();
    screen.finish(facts);
    screen.measured(board.measure(scorer.model(), scorer.epsilon()));
    screen
}

fn picture(screen: &mut PatientsScreen<'_>, width: u16, height: u16) -> String {
    let mut terminal = ratatui::Terminal::new(TestBackend::new(width, height)).unwrap();
    screen.refresh();
    terminal.draw(|frame| screen.draw(frame)).unwrap();
    let buffer = terminal.backend().buffer();
    let line = |y: u16| -> String {
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        line.trim_end().to_owned() + "\n"
    };
    (0..height).map(line).collect()
}

fn press(screen: &mut PatientsScreen<'_>, keys: &str) {
    for key in keys.chars() {
        let code = match key {
            '\r' => KeyCode::Enter,
            '\u{1b}' => KeyCode::Esc,
            '>' => KeyCode::Right,
            '\u{5}' => KeyCode::End,
            c => KeyCode::Char(c),
        };
        screen.refresh();
        assert!(screen.key(KeyEvent::from(code)).is_empty());
    }
}

#[test]
fn patients_are_shown_at_every_size() {
    let desk = TempDir::new().unwrap();
    let file = model(&desk, "--stop 6");
    let new = patients(&desk);
    let model = Model::load(&file).unwrap();
    let scorer = Scorer::new(&model, None).unwrap();
    let mut shown = screen(&scorer, &new, PLAIN);
    for (width, height) in [(80, 24), (120, 36), (200, 50), (40, 12)] {
        insta::assert_snapshot!(
            format!("patients_{width}x{height}"),
            picture(&mut shown, width, height)
        );
    }
    press(&mut shown, ">\r");
    insta::assert_snapshot!("patients_enlarged", picture(&mut shown, 80, 24));
    press(&mut shown, "\u{1b}sss&P1\r");
    insta::assert_snapshot!("patients_filtered", picture(&mut shown, 100, 24));
    press(&mut shown, "?");
    insta::assert_snapshot!("patients_help", picture(&mut shown, 100, 30));
    let mut ascii = screen(&scorer, &new, Theme { ascii: true, ..PLAIN });
    let text = picture(&mut ascii, 120, 36);
    assert!(text.is_ascii(), "{text}");
    for (width, height) in [(1, 1), (10, 3), (41, 13), (60, 60), (300, 12)] {
        picture(&mut ascii, width, height);
    }
    insta::assert_snapshot!(
        "patients_plain",
        screen(&scorer, &new, PLAIN).also(|own| own.refresh()).plain()
    );
}

/// A value, changed.
trait Also: Sized {
    fn also(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }
}

impl Also for PatientsScreen<'_> {}

#[test]
fn patients_are_sorted_filtered_and_found() {
    let desk = TempDir::new().unwrap();
    let file = model(&desk, "--stop 6 --estimator rbf");
    let new = patients(&desk);
    let model = Model::load(&file).unwrap();
    let scorer = Scorer::new(&model, None).unwrap();
    let mut shown = screen(&scorer, &new, PLAIN);
    // By confidence, the largest first.
    shown.refresh();
    let confidences = |text: &str| -> Vec<f64> {
        let table = text.lines().skip_while(|line| !line.starts_with("id; ")).skip(1);
        let cells = table
            .take_while(|line| line.starts_with('P'))
            .map(|line| line.split("; ").nth(3).unwrap());
        cells.map(|cell| cell.parse().unwrap()).collect()
    };
    let first = confidences(&shown.plain());
    assert_eq!(first.len(), 20);
    assert!(first.windows(2).all(|pair| pair[0] >= pair[1]), "{first:?}");
    press(&mut shown, "S");
    shown.refresh();
    assert!(confidences(&shown.plain()).windows(2).all(|pair| pair[0] <= pair[1]));
    press(&mut shown, "&^P2.$\r");
    shown.refresh();
    assert!(
        shown.plain().contains("10 patients, sorted by confidence, reversed"),
        "{}",
        shown.plain()
    );
    press(&mut shown, "/27\r");
    shown.refresh();
    assert!(shown.plain().contains("Selected: P27."), "{}", shown.plain());
    press(&mut shown, "/99\r");
    assert!(shown.plain().contains("no patient matches '99'"));
    press(&mut shown, "&(\r");
    assert!(shown.plain().contains("is not a regular expression"));
}

/// A long table keeps every row that it can, and counts the others.
#[test]
fn a_long_table_is_kept_up_to_a_limit() {
    let desk = TempDir::new().unwrap();
    let file = model(&desk, "--stop 6");
    let new = patients(&desk);
    let model = Model::load(&file).unwrap();
    let scorer = Scorer::new(&model, None).unwrap();
    let mut one = None;
    let facts = scorer
        .each_batch(&source(&new), |batch, rows| {
            one = Some((batch, rows));
            Ok(())
        })
        .unwrap();
    let (batch, rows) = one.unwrap();
    let mut shown = PatientsScreen::new(&scorer, "M.json", PLAIN, Keymap::default());
    let copies = MOST_KEPT / rows.len() + 2;
    for _ in 0..copies {
        shown.add(batch.clone(), rows.clone());
    }
    shown.finish(facts);
    shown.measured(None);
    press(&mut shown, "\u{5}");
    let text = picture(&mut shown, 120, 36);
    let kept = MOST_KEPT / rows.len() * rows.len();
    assert!(text.contains(&format!("{} rows, mean set size", copies * rows.len())), "{text}");
    press(&mut shown, "?");
    let text = picture(&mut shown, 160, 40);
    assert!(
        text.contains(&format!("the first {kept} of {} rows are listed", copies * rows.len())),
        "{text}"
    );
}

#[test]
fn a_model_opens_in_a_terminal_and_gives_it_back() {
    let desk = TempDir::new().unwrap();
    let file = model(&desk, "--stop 6");
    let new = patients(&desk);
    let words =
        ["open", file.to_str().unwrap(), "--data", new.to_str().unwrap(), "--id-col", "patient"];
    for (columns, rows) in [(80, 24), (200, 50)] {
        let mut terminal = Terminal::start(columns, rows, &words);
        terminal.until_text("60 rows, mean set size");
        terminal.until_text("coverage");
        terminal.until_text("by confidence");
        terminal.press("s");
        terminal.until_text("by credibility");
        terminal.press("&P3.\r");
        terminal.until_text("10 shown");
        terminal.press("\r");
        terminal.until_text("= score");
        terminal.press("?");
        terminal.until_text("Cautions, notices and keys");
        terminal.press("?q");
        assert_eq!(terminal.ended(), 0);
    }
    let mut terminal =
        Terminal::start(80, 24, &[&words[..], &["--plain", "--epsilon", "0.2"]].concat());
    terminal.until_text("= score");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn what_cannot_be_opened_is_a_sentence() {
    let desk = TempDir::new().unwrap();
    let file = model(&desk, "--stop 6");
    let new = patients(&desk);
    let file = file.to_str().unwrap();
    let new = new.to_str().unwrap();
    let refused = |words: &[&str]| {
        let mut terminal = Terminal::start(200, 24, words);
        let code = terminal.ended();
        // The sentence may arrive after the end of the program.
        let mut text = String::new();
        while !text.contains('\n') {
            text = String::from_utf8_lossy(&terminal.raw()).into_owned();
        }
        (code, text)
    };
    let (code, text) = refused(&["open", file]);
    assert!(
        code == 2 && text.contains("a model is opened together with new patients"),
        "{code} {text}"
    );
    let (code, text) = refused(&["open", file, "--data", "none.csv"]);
    assert!(code == 3 && text.contains("none.csv"), "{code} {text}");
    let (code, text) = refused(&["open", file, "--data", "data/dermatology.csv"]);
    assert!(code == 3 && text.contains("of the model are not in the file"), "{code} {text}");
    let (code, text) = refused(&["open", new, "--data", new]);
    assert!(code == 3 && text.contains("this is not a model of crfe-tui"), "{code} {text}");
    let (code, text) = refused(&["open", "RUN", "--data", new, "--epsilon", "0.2"]);
    assert!(code == 2 && text.contains("belong to a model"), "{code} {text}");
    let ran = finish(program().args(["open", file, "--data", new]));
    assert!(ran.code == 2 && ran.stderr.contains("crfe-tui predict"), "{}", ran.stderr);
}
