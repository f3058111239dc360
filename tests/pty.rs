//! The real program in a real terminal: every view, every control word, every way to leave. However
//! it ends, the terminal is as it was: the main screen, a cursor, line editing.
#![cfg(target_os = "linux")]

#[expect(dead_code, reason = "runs without a screen are another test's")]
mod program;
mod terminal;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use program::{finish, program};
use rustix::process::Signal;
use tempfile::TempDir;
use terminal::Terminal;

const HEART: [&str; 4] = ["data/heart.csv", "--splits", "3", "--no-journal"];
/// A quick play, so that nobody waits for it.
const FAST: [&str; 2] = ["--speed", "240"];

/// The dashboard on the heart table, to the end of its run.
fn heart(columns: u16, rows: u16) -> Terminal {
    let terminal = Terminal::start(columns, rows, &[&HEART[..], &FAST].concat());
    terminal.until("the run is done", |screen| screen.contents().contains("DONE 6/6"));
    terminal
}

/// A table that takes a while to run to the end.
fn long_table(directory: &TempDir) -> String {
    let features = 120;
    let mut text: String = (0..features).map(|j| format!("f{j},")).collect::<String>() + "class\n";
    for i in 0..200_usize {
        let values: String =
            (0..features).map(|j| format!("{},", (i * 31 + j * 17 + i * j * 7) % 101)).collect();
        text += &format!("{values}{}\n", ["x", "y", "z"][i % 3]);
    }
    let file = directory.path().join("long.csv");
    std::fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn every_view_in_a_small_and_a_large_terminal() {
    for (columns, rows) in [(80, 24), (200, 60)] {
        let mut terminal = heart(columns, rows);
        let landmarks = [
            ("3", "mean set size"),
            ("4", "Stability at"),
            ("5", "Notes, warnings"),
            ("1", "How sure"),
            ("2", "left, by step"),
            ("?", "pause or resume playing"),
        ];
        for (key, landmark) in landmarks {
            terminal.press(key);
            terminal.until_text(landmark);
        }
        terminal.press("\x1b");
        terminal
            .until("help is gone", |screen| !screen.contents().contains("pause or resume playing"));
        terminal.press("\t");
        terminal.until_text("mean set size");
        terminal.press("q");
        assert_eq!(terminal.ended(), 0);
        terminal.until_text("Nothing was written");
        // The answer stays in the shell.
        terminal.until_text("stability");
    }
}

#[test]
fn the_engine_waits_steps_and_goes_on() {
    let mut terminal =
        Terminal::start(100, 30, &[&HEART[..], &["--paused", "--threads", "1"]].concat());
    terminal.until_text("PAUSED 0/6");
    for left in ["step 1/13, 13 left", "step 2/13, 12 left", "step 3/13, 11 left"] {
        terminal.press(".");
        terminal.until_text(left);
    }
    terminal.press("h");
    terminal.until_text("step 2/13, 12 left");
    terminal.press("P");
    terminal.until_text("DONE 6/6");
    let scrubbing = [
        ("\x1b[H", "step 1/13, 13 left"),
        ("\x1b[C", "step 2/13, 12 left"),
        ("g4\r", "step 10/13, 4 left"),
        ("\x1b[D", "step 9/13, 5 left"),
        ("\x1b[F", "step 13/13, 1 left"),
        ("]", "split 2/3"),
        ("m", "RFE  split 2/3"),
        ("\x1b[H", "step 1/13, 13 left"),
    ];
    for (keys, words) in scrubbing {
        terminal.press(keys);
        terminal.until_text(words);
    }
    // The play, from here to the end by itself.
    terminal.press("++++ ");
    terminal.until_text("step 13/13, 1 left");
    terminal.until_text("paused");
}

#[test]
fn what_if_find_zoom_and_a_feature() {
    let mut terminal = heart(120, 36);
    terminal.press("\x1b[H");
    terminal.until_text("step 1/13");
    terminal.press("/chol\rd");
    terminal.until_text("cholesterol is removed at 13 features instead");
    terminal.press("\x1b");
    terminal.until_text("Which splits keep each");
    terminal.press("p");
    terminal.until_text("cholesterol is kept from 13 features on");
    terminal.press("\x1b");
    terminal.until_text("Which splits keep each");
    terminal.press("\x1bd");
    terminal.until_text("this feature is removed here anyway");
    terminal.press("\x1b\r");
    terminal.until_text("correlated features");
    terminal.until_text("rank in each finished split");
    terminal.press("\x1b");
    terminal.until_text("left, by step");
    terminal.press("zz");
    terminal.until("only the curves", |screen| {
        let text = screen.contents();
        text.contains("Mean β") && !text.contains("left, by step")
    });
    terminal.press("\x1b");
    terminal.until_text("left, by step");
}

#[test]
fn keys_and_the_table_cannot_both_come_from_standard_input() {
    for arguments in [&["-"][..], &["open", "RUN", "--data", "-"]] {
        let mut terminal = Terminal::start(100, 30, arguments);
        terminal.until_text("so the table cannot come from there");
        assert_eq!(terminal.ended(), 2);
    }
}

#[test]
fn settings_are_checked_and_run_again() {
    let mut terminal = heart(100, 30);
    terminal.press("o");
    terminal.until_text("enter run");
    // What is typed replaces what was there; ctrl-u clears it.
    terminal.press("x\r");
    terminal.until_text("lambda: 'x' is not valid");
    terminal.press("\x150.25");
    terminal.until_text("would take");
    // Splits is the ninth line.
    terminal.press(&format!("{}2\r", "\t".repeat(8)));
    terminal.until_text("DONE 4/4");
    // A long run is asked about first.
    terminal.press("o");
    terminal.until_text("enter run");
    terminal.press(&format!("{}900000\r", "\t".repeat(8)));
    terminal.until_text("again starts it");
    terminal.press("\x1b");
    terminal.until_text("DONE 4/4");
}

#[test]
fn tables_and_views_are_written_where_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let out_text = out.to_str().unwrap();
    let mut terminal =
        Terminal::start(120, 30, &[&HEART[..3], &FAST, &["--out", out_text]].concat());
    terminal.until_text("DONE 6/6");
    terminal.press("x\r");
    terminal.until_text("all tables are in");
    assert!(
        std::fs::read_to_string(out.join("metrics.csv"))
            .unwrap()
            .starts_with("method,split,n_features")
    );
    // A link in its place is replaced, not followed.
    let foreign = directory.path().join("foreign.txt");
    std::fs::write(&foreign, "somebody's own").unwrap();
    std::os::unix::fs::symlink(&foreign, out.join("size.txt")).unwrap();
    terminal.press("3xjj\r");
    terminal.until_text("this view was saved as");
    assert!(std::fs::read_to_string(out.join("size.txt")).unwrap().contains("mean set size"));
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "somebody's own");
}

#[test]
fn any_size_and_back() {
    let mut terminal = heart(80, 24);
    for (columns, rows) in [(1, 1), (3, 2), (39, 11), (200, 60), (1, 50), (200, 1), (80, 24)] {
        terminal.resize(columns, rows);
    }
    terminal.press("5");
    terminal.until_text("Notes, warnings");
    terminal.resize(30, 8);
    terminal.until_text("is too small");
    terminal.resize(120, 40);
    terminal.until_text("what was understood of my file?");
}

#[test]
fn quitting_a_run_asks_first() {
    let directory = tempfile::tempdir().unwrap();
    let file = long_table(&directory);
    let mut terminal = Terminal::start(80, 24, &[&file, "--paused", "--no-journal"]);
    terminal.until_text("PAUSED 0/40");
    terminal.press("q");
    terminal.until_text("The run is not finished");
    terminal.press("\x1b");
    terminal.until("the question is gone", |screen| {
        !screen.contents().contains("The run is not finished")
    });
    // Running, not only waiting.
    terminal.press("P");
    terminal.until_text("RUNNING");
    terminal.press("q");
    terminal.until_text("The run is not finished");
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn signals_end_it_with_their_code() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        let mut terminal = heart(80, 24);
        terminal.signal(signal);
        assert_eq!(terminal.ended(), code);
    }
}

#[test]
fn ctrl_z_gives_the_shell_its_terminal_and_fg_comes_back() {
    let script = "set -m; \"$0\" \"$@\"; echo STOPPED; read line; fg >/dev/null; echo OVER";
    let arguments = [&["-c", script, terminal::PROGRAM], &HEART[..]].concat();
    // From a view, and while something is typed.
    for before in ["5", "/chol"] {
        let mut terminal = Terminal::start_with(80, 24, "sh", &arguments, &[]);
        terminal.until_text("DONE 6/6");
        terminal.press(before);
        terminal.press("\x1a");
        terminal.until("the shell's screen", |screen| {
            !screen.alternate_screen()
                && !screen.hide_cursor()
                && screen.contents().contains("STOPPED")
        });
        terminal.until_cooked();
        terminal.press("\r");
        terminal.until("the dashboard", |screen| {
            screen.alternate_screen()
                && screen.hide_cursor()
                && screen.contents().contains("DONE 6/6")
        });
        terminal.press("\x1bq");
        terminal.until_text("OVER");
        assert_eq!(terminal.ended(), 0);
    }
}

#[test]
fn a_closed_terminal_ends_it() {
    assert_eq!(heart(80, 24).hang_up(), 129);
    // Also when the last key came with a resize.
    let mut terminal = heart(80, 24);
    terminal.press("3");
    terminal.until_text("mean set size");
    terminal.resize(100, 30);
    assert_eq!(terminal.hang_up(), 129);
}

#[test]
fn signals_end_it_while_nobody_reads_the_terminal() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129), (Signal::INT, 130)] {
        // A frame of this size does not fit into what a terminal keeps for its reader.
        let mut terminal = heart(300, 100);
        terminal.stop_reading();
        terminal.press("5");
        terminal.settle();
        terminal.signal(signal);
        assert_eq!(terminal.exit_code(), code);
        terminal.read_on();
        assert_eq!(terminal.ended(), code);
    }
}

#[test]
fn the_key_after_a_resize_is_a_key() {
    let mut terminal = heart(80, 24);
    let landmarks = [
        ("2", "left, by step"),
        ("3", "mean set size"),
        ("5", "Notes, warnings"),
        ("1", "How sure"),
    ];
    for round in 0..3 {
        for (key, landmark) in landmarks {
            terminal.press(key);
            terminal.until_text(landmark);
            terminal.resize(90 + round, 30);
            terminal.press("4");
            terminal.until_text("Where each rule stops");
            terminal.resize(80, 24 + round);
        }
    }
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
}

#[test]
fn a_panic_in_a_worker_is_a_failed_task() {
    let mut terminal = Terminal::start_with(
        100,
        30,
        terminal::PROGRAM,
        &HEART,
        &[("CRFE_FAULT", "worker:crfe:1")],
    );
    terminal.until_text("DONE 5/6, 1 failed");
    terminal.press("5");
    terminal.until_text("CRFE on split 2 failed: internal fault: a fault on purpose");
    terminal.press("q");
    assert_eq!(terminal.ended(), 4);
    terminal.until_text("crfe-tui: CRFE on split 2 failed: internal fault: a fault on purpose");
}

#[test]
fn a_panic_behind_the_screen_is_words() {
    let mut terminal =
        Terminal::start_with(100, 30, terminal::PROGRAM, &HEART, &[("CRFE_FAULT", "crfe-inspect")]);
    terminal.until_text("DONE 6/6");
    terminal.press("\x1b[Hjd");
    terminal.until_text("internal fault: a fault on purpose");
    terminal.press("3");
    terminal.until_text("mean set size");
    let mut terminal =
        Terminal::start_with(100, 30, terminal::PROGRAM, &HEART, &[("CRFE_FAULT", "crfe-run")]);
    terminal.until_text("internal fault: a fault on purpose");
    terminal.press("q");
    assert_eq!(terminal.ended(), 1);
    terminal.until_text("crfe-tui: internal fault: a fault on purpose");
}

#[test]
fn a_panic_of_the_screen_gives_the_terminal_back() {
    let mut terminal =
        Terminal::start_with(100, 30, terminal::PROGRAM, &HEART, &[("CRFE_FAULT", "ui")]);
    assert_eq!(terminal.ended(), 101);
    terminal.until_text("a fault on purpose");
}

#[test]
fn a_bad_file_is_a_sentence_on_the_screen() {
    let mut terminal = Terminal::start(80, 24, &["data/absent.csv"]);
    terminal.until_text("data/absent.csv: there is no such file");
    terminal.press("q");
    assert_eq!(terminal.ended(), 3);
    terminal.until_text("crfe-tui: data/absent.csv: there is no such file");
}

#[test]
fn a_run_that_is_refused_leaves_no_screen() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let out = out.to_str().unwrap();
    let wide = |arguments: &[&str]| Terminal::start(200, 24, arguments);
    // Its own run holds the lock.
    let mut first = wide(&[&HEART[..3], &["--out", out, "--paused"]].concat());
    first.until_text("PAUSED 0/6");
    let mut second = wide(&[&HEART[..3], &["--out", out]].concat());
    assert_eq!(second.ended(), 5);
    second.until_text("crfe-tui: ");
    first.press("P");
    first.until_text("DONE 6/6");
    first.press("q");
    assert_eq!(first.ended(), 0);
    // Another table has another run.
    let mut other = wide(&["data/dermatology.csv", "--splits", "1", "--out", out]);
    assert_eq!(other.ended(), 5);
    other.until_text("crfe-tui: ");
    // Other settings that are refused keep the screen, which has others still.
    let mut again = wide(&[&HEART[..3], &["--out", out]].concat());
    again.until_text("DONE 6/6");
    again.press("o");
    again.until_text("enter run");
    again.press("0.3\r");
    again.until_text("FAILED");
    again.press("q");
    assert_eq!(again.ended(), 5);
    // No run at all.
    let mut absent = wide(&["open", directory.path().to_str().unwrap()]);
    assert_eq!(absent.ended(), 3);
    absent.until_text("there is no run in this directory");
}

#[test]
fn one_path_to_its_end_and_the_others_wait() {
    let mut terminal =
        Terminal::start(100, 30, &[&HEART[..], &["--paused", "--threads", "2"]].concat());
    terminal.until_text("PAUSED 0/6");
    terminal.press(".");
    terminal.until_text("step 1/13, 13 left");
    terminal.press("e");
    terminal.until_text("step 13/13, 1 left");
    terminal.until_text("PAUSED 1/6");
    terminal.settle();
    terminal.until_text("PAUSED 1/6");
    // Also one that nobody has begun.
    terminal.press("]]e");
    terminal.until_text("PAUSED 2/6");
    terminal.press("P");
    terminal.until_text("DONE 6/6");
}

#[test]
fn exports_are_as_shown_and_never_mixed() {
    let directory = tempfile::tempdir().unwrap();
    let data = std::fs::canonicalize("data").unwrap();
    let script = format!("cd {} && exec \"$0\" \"$@\"", directory.path().display());
    let start = |table: &str, more: &[&str]| {
        let table = data.join(table);
        let own = [
            "-c",
            script.as_str(),
            terminal::PROGRAM,
            table.to_str().unwrap(),
            "--splits",
            "2",
            "--no-journal",
        ];
        Terminal::start_with(140, 30, "sh", &[&own, more, &FAST].concat(), &[])
    };
    let read =
        |name: &str| std::fs::read_to_string(directory.path().join(name)).unwrap_or_default();
    let mut terminal = start("heart.csv", &[]);
    terminal.until_text("DONE 4/4");
    terminal.press("xj\r");
    terminal.until_text("tables, figures and report.html are in crfe-export-heart");
    let own = read("crfe-export-heart/manifest.json");
    assert!(own.contains("\"sigma\": 5.0"), "{own}");
    // k is slid: what is shown then is not of the run, so it goes beside the files of the first
    // export.
    let page = read("crfe-export-heart/report.html");
    terminal.press("4<<<<");
    terminal.until_text("k = 3 ");
    terminal.press("x");
    terminal.until_text("with k = 3, window = 0.4, as set here");
    terminal.press("j\r");
    terminal.until_text("report.html are in crfe-export-heart/k_3_window_0.4");
    assert!(read("crfe-export-heart/k_3_window_0.4/manifest.json").contains("\"sigma\": 3.0"));
    assert_ne!(read("crfe-export-heart/k_3_window_0.4/report.html"), page);
    assert_eq!(read("crfe-export-heart/manifest.json"), own);
    assert_eq!(read("crfe-export-heart/report.html"), page);
    terminal.press(">>>>");
    terminal.until_text("k = 5 ");
    terminal.press("4xjj\r");
    terminal.until_text("this view was saved as crfe-export-heart/stability.txt");
    let text = read("crfe-export-heart/stability.txt");
    assert!(text.contains('░') || text.contains('▒') || text.contains('▓'), "{text}");
    // Another run goes to the same directory: what is of the first one goes.
    let mut terminal = start("dermatology.csv", &["--out", "crfe-export-heart"]);
    terminal.until_text("DONE 4/4");
    terminal.press("x\r");
    terminal.until_text(
        "all tables are in crfe-export-heart; files of an earlier export there were replaced",
    );
    assert!(read("crfe-export-heart/manifest.json").contains("dermatology"));
    for gone in ["report.html", "stability.txt", "figures"] {
        assert!(!directory.path().join("crfe-export-heart").join(gone).exists(), "{gone}");
    }
}

/// The files in a directory, and what they hold.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    files
        .map(|path| {
            (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap())
        })
        .collect()
}

#[test]
fn what_was_chosen_by_hand_never_replaces_the_files_of_the_run() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("RUN");
    let arguments = ["run", "data/heart.csv", "--splits", "3", "--stop", "6", "--quiet", "--out"];
    assert_eq!(finish(program().args(arguments).arg(&run)).code, 0);
    let own = files(&run);
    let read = |name: &str| std::fs::read_to_string(run.join(name)).unwrap_or_default();
    let mut terminal = Terminal::start(200, 40, &["open", run.to_str().unwrap()]);
    terminal.until_text("How sure");
    terminal.press("-");
    terminal.until_text("CRFE: 5 features, chosen by hand");
    // The list twice: the second time a list is there already, and it is known to be ours.
    for _ in 0..2 {
        terminal.press("y");
        terminal.until_text("saved as");
        terminal.until_text("RUN/size_5/selected.txt");
        assert_eq!(read("size_5/selected.txt").lines().count(), 5);
        terminal.press("j");
        terminal.until("the status is gone", |screen| !screen.contents().contains("saved as"));
    }
    terminal.press("x");
    terminal.until_text("with 5 features, chosen by hand");
    terminal.until_text("the files of the run itself stay as they are");
    terminal.press("j\r");
    terminal.until_text("tables, figures and report.html are in");
    terminal.until_text("RUN/size_5");
    assert!(read("size_5/summary.txt").contains("CRFE: 5 features"));
    assert!(read("size_5/manifest.json").contains("\"size\": 5"));
    // A file that the program did not write stays.
    std::fs::create_dir(run.join("size_4")).unwrap();
    std::fs::write(run.join("size_4/selected.txt"), "mine").unwrap();
    terminal.press("-");
    terminal.until_text("CRFE: 4 features, chosen by hand");
    for keys in ["y", "x\r"] {
        terminal.press(keys);
        terminal.until_text("holds a selected.txt that crfe-tui did not write");
        assert_eq!(files(&run.join("size_4")).len(), 1);
        assert_eq!(read("size_4/selected.txt"), "mine");
    }
    // Nor is a link to somebody else's directory followed.
    std::os::unix::fs::symlink(directory.path(), run.join("size_3")).unwrap();
    terminal.press("-");
    terminal.until_text("CRFE: 3 features, chosen by hand");
    terminal.press("y");
    terminal.until_text("it must be a directory of its own, not a link or a file");
    assert!(!directory.path().join("selected.txt").exists());
    // The list of another method has a file of its own.
    terminal.press("=m");
    terminal.until_text("RFE: 6 features");
    terminal.press("y");
    terminal.until_text("RUN/selected_rfe.txt");
    assert_eq!(read("selected_rfe.txt").lines().count(), 6);
    terminal.press("q");
    assert_eq!(terminal.ended(), 0);
    let mut now = files(&run);
    assert!(now.remove("selected_rfe.txt").is_some());
    assert_eq!(now, own);
}

#[test]
fn without_a_terminal_it_names_run() {
    let ran = finish(program().args(HEART).args(["--estimator", "rbf"]));
    assert_eq!(ran.code, 2);
    for words in ["crfe-tui run data/heart.csv ", " --estimator rbf ", " --out RUN"] {
        assert!(ran.stderr.contains(words), "{}", ran.stderr);
    }
}

#[test]
fn idle_means_idle() {
    let mut terminal = heart(160, 48);
    terminal.until_text("paused");
    terminal.settle();
    let before = (terminal.wake_ups(), terminal.traffic().bytes);
    terminal.silence(Duration::from_secs(5));
    assert_eq!((terminal.wake_ups(), terminal.traffic().bytes), before, "wake-ups and bytes");
    terminal.press("3");
    terminal.until_text("mean set size");
}

#[test]
fn no_more_frames_than_asked_for() {
    let start = Instant::now();
    let arguments = ["data/dermatology.csv", "--splits", "6", "--speed", "20", "--no-journal"];
    let terminal =
        Terminal::start_with(160, 48, terminal::PROGRAM, &arguments, &[("CRFE_FPS", "5")]);
    terminal.until_text("DONE 12/12");
    terminal.until_text("paused");
    let frames = terminal.traffic().frames;
    let seconds = start.elapsed().as_secs_f64();
    assert!(frames >= 2 && frames as f64 <= 5.0 * seconds + 2.0, "{frames} frames in {seconds} s");
}

/// Bytes of a frame while the play steps, and of a whole screen: `cargo test --test pty --
/// --ignored --nocapture`.
#[test]
#[ignore = "a measurement for the README"]
fn bytes_of_a_frame() {
    for colours in ["true", "256", "16", "none"] {
        for (columns, rows) in [(80, 24), (160, 48)] {
            let arguments = [
                "data/dermatology.csv",
                "--splits",
                "4",
                "--colors",
                colours,
                "--speed",
                "0.1",
                "--no-journal",
            ];
            let mut terminal = Terminal::start(columns, rows, &arguments);
            terminal.until_text("DONE 8/8");
            terminal.press("\x1b[H");
            terminal.until_text("step 1/34");
            terminal.settle();
            let before = terminal.traffic();
            for step in 2..=20 {
                terminal.press("l");
                terminal.until_text(&format!("step {step}/34"));
            }
            terminal.settle();
            let after = terminal.traffic();
            let frame = (after.bytes - before.bytes) / (after.frames - before.frames);
            print!("{colours:>5} {columns}x{rows}: {frame} bytes a step");
            for view in ["1", "2", "3"] {
                let before = terminal.traffic().bytes;
                terminal.press(if view == "1" { "5" } else { view });
                terminal.settle();
                print!(", view {view} {}", terminal.traffic().bytes - before);
            }
            println!();
        }
    }
}

#[test]
fn colours_mouse_and_glyphs_as_asked() {
    let seen = |arguments: &[&str], environment: &[(&str, &str)]| {
        let terminal = Terminal::start_with(
            80,
            24,
            terminal::PROGRAM,
            &[&HEART[..], arguments].concat(),
            environment,
        );
        terminal.until_text("DONE 6/6");
        terminal.raw()
    };
    let has = |bytes: &[u8], part: &str| {
        bytes.windows(part.len()).any(|window| window == part.as_bytes())
    };
    let usual = seen(&["--colors", "true"], &[]);
    assert!(has(&usual, "\x1b[?1000h") && has(&usual, "38;2;86;180;233") && !usual.is_ascii());
    let light = seen(&["--light"], &[("CRFE_COLORS", "true"), ("CRFE_NO_MOUSE", "true")]);
    assert!(has(&light, "38;2;0;114;178") && !has(&light, "\x1b[?1000h"));
    let indexed = seen(&["--colors", "256"], &[("CRFE_NO_MOUSE", "true")]);
    assert!(has(&indexed, "38;5;") && !has(&indexed, "38;2;") && !has(&indexed, "\x1b[?1000h"));
    let plain = seen(&["--ascii"], &[("NO_COLOR", "1")]);
    assert!(plain.is_ascii() && !has(&plain, "38;"));
    let remote = seen(&[], &[("SSH_CONNECTION", "a b c d"), ("COLORTERM", "truecolor")]);
    assert!(has(&remote, "38;5;") && !has(&remote, "38;2;"));
}

#[test]
fn speed_and_keys_as_configured() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("config.toml");
    std::fs::write(&config, "speed = 9\n[keys]\nquit = 'Q'\nstep = 'e'\nfinish = '.'\n").unwrap();
    let path = config.to_str().unwrap();
    let mut terminal = Terminal::start_with(
        140,
        30,
        terminal::PROGRAM,
        &HEART,
        &[("CRFE_CONFIG", path), ("CRFE_FPS", "30")],
    );
    terminal.until_text("DONE 6/6");
    terminal.until_text("Q quit");
    terminal.press("\x1b[H ");
    terminal.until_text("playing ×9");
    terminal.press("q.");
    terminal.until_text("step 13/13");
    terminal.press("Q");
    assert_eq!(terminal.ended(), 0);

    std::fs::write(&config, "[keys]\nquit = '.'\n").unwrap();
    let mut terminal =
        Terminal::start_with(200, 30, terminal::PROGRAM, &HEART, &[("CRFE_CONFIG", path)]);
    assert_eq!(terminal.ended(), 2);
    terminal.until_text("'step' and 'quit' would share a key");
}

/// The same program in words: no alternate screen, no boxes, the same keys.
#[test]
fn plain_tells_every_view_in_words() {
    let arguments = [&HEART[..], &["--plain"]].concat();
    let mut terminal = Terminal::start(160, 150, &arguments);
    terminal.until_text("Finished: 6 of 6 paths");
    for (key, sentences) in [
        ("1", &["Answer: which features, and how sure?", "features"][..]),
        ("3", &["Size: how small can I go?", "features; method; set size; accuracy; coverage"]),
        (
            "4",
            &[
                "Stability: would another split agree?",
                "features; stability; verdict; 95 % interval",
            ],
        ),
        ("5", &["Data: what was understood of my file?", "class healthy: 164 rows"]),
        ("2", &["Explore: what is removed now, and why?", "feature; β; in splits; mean rank"]),
    ] {
        terminal.press(key);
        sentences.iter().for_each(|sentence| terminal.until_text(sentence));
    }
    terminal.until_text("Playing, ");
    // The page of a feature is told again when all its numbers are there.
    terminal.press(" ");
    terminal.press("\r");
    terminal.until_text("each class");
    terminal.press("\x1b");
    // What stands in front of a view is told as well, and settings can be typed.
    terminal.press("?");
    terminal.until_text("these keys");
    terminal.press("\x1bq");
    assert_eq!(terminal.ended(), 0);
    let raw = String::from_utf8_lossy(&terminal.raw()).into_owned();
    assert!(
        !raw.contains("\x1b[?1049h")
            && !raw.contains("\x1b[?2026h")
            && !raw.contains("\x1b[?1000h")
    );
    assert!(!raw.contains(['│', '╭', '─', '█']), "boxes or bars:\n{raw}");
    assert!(!raw.contains("\x1b["), "escape sequences:\n{raw:?}");
    let page = &raw[raw.rfind("each class").unwrap()..];
    let page = &page[..page.find("by class, ").unwrap()];
    assert!(page.contains("effect at") && page.contains("correlated features"), "{page}");
    assert!(!page.contains("computing"), "{page}");
    assert!(
        raw.lines().any(|line| line.trim() == "In Explore"),
        "what is in front, without the view:\n{raw}"
    );
}

#[test]
fn colours_of_ones_own() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("config.toml");
    std::fs::write(&config, "colors = 'true'\n[theme]\naccent = '#0a141e'\n").unwrap();
    let environment = [("CRFE_CONFIG", config.to_str().unwrap())];
    let terminal = Terminal::start_with(100, 30, terminal::PROGRAM, &HEART, &environment);
    terminal.until_text("DONE 6/6");
    let raw = terminal.raw();
    assert!(raw.windows(11).any(|window| window == b"38;2;10;20;"[..].as_ref()));
    for (wrong, words) in [
        ("accent = 'reddish'", "'reddish', the theme's 'accent', is not a colour"),
        ("axent = 'red'", "the theme has no colour 'axent'"),
        ("accent = [1]", "the theme's 'accent' is neither a word nor a number"),
    ] {
        std::fs::write(&config, format!("[theme]\n{wrong}\n")).unwrap();
        let mut terminal = Terminal::start_with(200, 30, terminal::PROGRAM, &HEART, &environment);
        assert_eq!(terminal.ended(), 2, "{wrong}");
        terminal.until_text(words);
    }
}
