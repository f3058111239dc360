//! Runs of the program itself that are killed, interrupted, or lose their disk.
#![cfg(unix)]

mod nobody;
mod skipped;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_crfe-tui");

fn data() -> String {
    format!("{}/data/heart.csv", env!("CARGO_MANIFEST_DIR"))
}

/// `crfe-tui run` on the heart data with these splits, into this directory.
fn command(out: &Path, splits: usize, more: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.env_remove("RUST_BACKTRACE").env("CRFE_CONFIG", "/dev/null");
    // Paths alone: what follows them would make each of the many runs a hundred times longer. Other
    // tests below have folds and permutations.
    command.env("CRFE_VALIDATE", "none").env("CRFE_PERMUTATIONS", "none");
    command.args(["run", &data(), "--quiet", "--splits", &splits.to_string()]);
    command.arg("--out").arg(out).args(more).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn succeed(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{:?}: {}", output.status, said(&output));
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The files of a run that do not tell who made it when.
fn tables(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let ours = |path: &PathBuf| {
        let name = name(path);
        path.is_file()
            && !name.starts_with("journal-")
            && !name.starts_with("timing-")
            && !name.starts_with('.')
    };
    entries.filter(ours).map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

fn reference(splits: usize) -> BTreeMap<String, Vec<u8>> {
    let scratch = tempfile::tempdir().unwrap();
    succeed(&mut command(scratch.path(), splits, &["--threads", "1"]));
    let tables = tables(scratch.path());
    assert!(tables.len() >= 14, "{:?}", tables.keys());
    tables
}

fn journals(directory: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("journal-"))
        })
        .collect();
    paths.sort();
    paths
}

fn bytes(directory: &Path) -> u64 {
    journals(directory).iter().filter_map(|path| Some(path.metadata().ok()?.len())).sum()
}

/// Waits until the journals have grown so far; false if the program ended before.
fn grown(child: &mut Child, directory: &Path, to: u64) -> bool {
    let deadline = Instant::now() + Duration::from_secs(120);
    while bytes(directory) < to {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(Instant::now() < deadline, "the journal does not grow");
        std::thread::yield_now();
    }
    child.try_wait().unwrap().is_none()
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// Every line of every journal is whole and JSON.
fn assert_whole(directory: &Path) {
    for path in journals(directory) {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'), "{} is torn", path.display());
        for line in text.lines() {
            serde_json::from_str::<serde_json::Value>(line).unwrap();
        }
    }
}

/// What is tried is the same each time; when exactly it hits is not, and must not matter.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

const SPLITS: usize = 60;
/// More than fifty processes that are killed can do.
const SPLITS_KILLED: usize = 160;
const KILLS: usize = 50;

/// Kills fifty processes of one run after some bytes each; the command of each is made by `start`.
fn kill_fifty(directory: &Path, seed: u64, start: impl Fn(usize) -> Command) {
    let mut dice = Dice(seed);
    let mut killed = 0;
    for attempt in 0..10 * KILLS {
        if killed == KILLS {
            return;
        }
        let before = bytes(directory);
        let mut child = start(attempt).spawn().unwrap();
        // From nothing written to about two tasks.
        let target = before + dice.below(9000);
        if grown(&mut child, directory, target) {
            child.kill().unwrap();
            killed += usize::from(!child.wait().unwrap().success());
        }
    }
    panic!("only {killed} processes could be killed: the run is too short for this machine");
}

#[test]
fn fifty_kills_on_one_thread_change_no_byte() {
    kills_change_no_byte("1");
}

#[test]
fn fifty_kills_on_two_threads_change_no_byte() {
    kills_change_no_byte("2");
}

fn kills_change_no_byte(threads: &str) {
    let scratch = tempfile::tempdir().unwrap();
    let start = || command(scratch.path(), SPLITS_KILLED, &["--threads", threads]);
    kill_fifty(scratch.path(), 1, |_| start());
    succeed(&mut start());
    assert_eq!(tables(scratch.path()), reference(SPLITS_KILLED));
}

#[test]
fn fifty_kills_of_three_shards_change_no_byte() {
    let scratch = tempfile::tempdir().unwrap();
    let start = |shard: usize| {
        command(
            scratch.path(),
            SPLITS_KILLED,
            &["--threads", "1", "--shard", &format!("{}/3", shard % 3 + 1)],
        )
    };
    kill_fifty(scratch.path(), 2, start);
    (0..3).for_each(|shard| succeed(&mut start(shard)));
    assert!(tables(scratch.path()).is_empty(), "a shard makes no tables");
    let report =
        Command::new(PROGRAM).arg("report").arg(scratch.path()).arg("--quiet").output().unwrap();
    assert!(report.status.success(), "{}", said(&report));
    assert_eq!(tables(scratch.path()), reference(SPLITS_KILLED));
}

/// The parts of a run, one after the other.
const PARTS: [&str; 3] = ["paths", "folds", "permutations"];
/// How often a run is killed in each of them.
const KILLS_IN_EACH: usize = 4;
/// How often it is tried.
const ATTEMPTS_IN_EACH: usize = 24;

/// A run of 60 paths, 16 folds and 60 permutations, of 30 paths each.
fn three_parts(out: &Path, more: &[&str]) -> Command {
    let mut command = command(out, 30, more);
    command.env("CRFE_VALIDATE", "8").env("CRFE_PERMUTATIONS", "30");
    command
}

/// How many paths, folds and permutations the journals say have ended.
fn ended(directory: &Path) -> [usize; 3] {
    let mut ended = [0; 3];
    for text in journals(directory).iter().filter_map(|path| fs::read_to_string(path).ok()) {
        let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
        for (count, what) in
            ended.iter_mut().zip([count("\"end\""), count("\"fold/"), count("\"permutation/")])
        {
            *count += what;
        }
    }
    ended
}

/// Kills processes of one run some times in each part; `start` makes the command of an attempt.
fn kill_in_each_part(directory: &Path, start: impl Fn(usize) -> Command) {
    let (mut attempt, mut killed_in_all) = (0, 0);
    for (part, name) in PARTS.iter().enumerate() {
        let mut killed = 0;
        let last = attempt + ATTEMPTS_IN_EACH;
        // A fast machine may finish a part between two looks at the journal.
        while killed < KILLS_IN_EACH && attempt < last {
            attempt += 1;
            let before = ended(directory)[part];
            let mut child = start(attempt).spawn().unwrap();
            // The journal is read while it is written: the last line may be cut.
            let mut read = 0;
            while child.try_wait().unwrap().is_none() {
                let written = bytes(directory);
                if written != read && ended(directory)[part] > before {
                    break;
                }
                read = written;
                std::thread::yield_now();
            }
            if child.try_wait().unwrap().is_none() {
                child.kill().unwrap();
                killed += usize::from(!child.wait().unwrap().success());
            }
        }
        println!("killed {killed} times in {name}: {:?}", ended(directory));
        killed_in_all += killed;
    }
    assert!(
        killed_in_all > KILLS_IN_EACH,
        "killed only {killed_in_all} times: the run is too short for this machine"
    );
}

#[test]
fn kills_in_every_part_change_no_byte() {
    let (scratch, whole) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let start = || three_parts(scratch.path(), &["--threads", "2"]);
    kill_in_each_part(scratch.path(), |_| start());
    succeed(&mut start());
    succeed(&mut three_parts(whole.path(), &["--threads", "1"]));
    assert_eq!(ended(whole.path()), [60, 16, 60], "the journal says what has ended");
    let tables = tables(scratch.path());
    let summary = String::from_utf8_lossy(&tables["summary.txt"]).into_owned();
    assert!(summary.contains("8 folds") && summary.contains("30 label permutations"), "{summary}");
    assert_eq!(tables, self::tables(whole.path()));
}

#[test]
fn kills_in_every_part_of_three_shards_change_no_byte() {
    let (scratch, whole) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let start = |shard: usize| {
        three_parts(scratch.path(), &["--threads", "1", "--shard", &format!("{}/3", shard % 3 + 1)])
    };
    kill_in_each_part(scratch.path(), start);
    (0..3).for_each(|shard| succeed(&mut start(shard)));
    assert!(tables(scratch.path()).is_empty(), "a shard makes no tables");
    let report =
        Command::new(PROGRAM).arg("report").arg(scratch.path()).arg("--quiet").output().unwrap();
    assert!(report.status.success(), "{}", said(&report));
    succeed(&mut three_parts(whole.path(), &["--threads", "2"]));
    assert_eq!(tables(scratch.path()), tables(whole.path()));
}

/// The program with other signals to ignore than these tests have.
fn started_by_env(option: &str, out: &Path) -> Child {
    let run = command(out, SPLITS, &["--threads", "2"]);
    let mut env = Command::new("env");
    env.args([option, PROGRAM]).args(run.get_args()).stdout(Stdio::null()).stderr(Stdio::null());
    env.envs(run.get_envs().filter_map(|(name, value)| Some((name, value?))));
    env.spawn().unwrap()
}

#[test]
fn a_signal_ends_in_order_and_the_run_goes_on_later() {
    let expected = reference(SPLITS);
    for (name, code) in [("-TERM", 143), ("-INT", 130), ("-HUP", 129)] {
        let scratch = tempfile::tempdir().unwrap();
        // Whatever these tests were started to ignore, the program was not.
        let mut child = started_by_env("--default-signal", scratch.path());
        assert!(grown(&mut child, scratch.path(), 8000), "it ended too soon");
        signal(&child, name);
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_whole(scratch.path());
        succeed(&mut command(scratch.path(), SPLITS, &[]));
        assert_eq!(tables(scratch.path()), expected);
    }
}

#[test]
fn nohup_protects_a_run() {
    let scratch = tempfile::tempdir().unwrap();
    let mut child = started_by_env("--ignore-signal=HUP", scratch.path());
    assert!(grown(&mut child, scratch.path(), 8000), "it ended too soon");
    signal(&child, "-HUP");
    assert!(child.wait().unwrap().success());
    assert_eq!(tables(scratch.path()), reference(SPLITS));
}

#[test]
fn a_second_process_is_refused_while_the_first_runs() {
    let scratch = tempfile::tempdir().unwrap();
    let mut first = command(scratch.path(), SPLITS, &[]).spawn().unwrap();
    assert!(grown(&mut first, scratch.path(), 1));
    signal(&first, "-STOP");
    let second = command(scratch.path(), SPLITS, &[]).output().unwrap();
    assert_eq!(second.status.code(), Some(5), "{}", said(&second));
    assert!(said(&second).contains("on this host is writing this run"), "{}", said(&second));
    // --force does not delete what a living process writes.
    let forced = command(scratch.path(), SPLITS, &["--force"]).output().unwrap();
    assert_eq!(forced.status.code(), Some(5), "{}", said(&forced));
    signal(&first, "-CONT");
    assert!(first.wait().unwrap().success());
}

/// The run in a directory that fills up, by a limit on the size of files, which needs no rights.
#[test]
fn a_full_disk_is_said_and_the_journal_is_whole() {
    let scratch = tempfile::tempdir().unwrap();
    let script = "trap '' XFSZ; ulimit -f 24; exec \"$@\"";
    let run = command(scratch.path(), SPLITS, &[]);
    let mut limited = Command::new("bash");
    limited.args(["-c", script, "bash", PROGRAM]).args(run.get_args());
    let output = limited.stdout(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    assert!(said(&output).contains("cannot write: File too large"), "{}", said(&output));
    assert_whole(scratch.path());
    assert!(bytes(scratch.path()) > 10_000);
    succeed(&mut command(scratch.path(), SPLITS, &[]));
    assert_eq!(tables(scratch.path()), reference(SPLITS));
}

/// The same on a real disk that is full, where one can be mounted.
#[test]
fn a_full_tmpfs_is_said_and_the_journal_is_whole() {
    let scratch = tempfile::tempdir().unwrap();
    let mount = |arguments: &[&str]| {
        let done = Command::new("mount")
            .args(arguments)
            .arg(scratch.path())
            .stderr(Stdio::null())
            .status();
        done.is_ok_and(|status| status.success())
    };
    if !mount(&["-t", "tmpfs", "-o", "size=64k", "tmpfs"]) {
        skipped::skipped("no tmpfs can be mounted here; only the limit on file size was tested");
        return;
    }
    struct Mounted<'a>(&'a Path);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(self.0).status();
        }
    }
    let _mounted = Mounted(scratch.path());
    let output = command(scratch.path(), SPLITS, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    assert!(said(&output).contains("cannot write: No space left on device"), "{}", said(&output));
    assert_whole(scratch.path());
    assert!(mount(&["-o", "remount,size=64m"]));
    succeed(&mut command(scratch.path(), SPLITS, &[]));
    assert_eq!(tables(scratch.path()), reference(SPLITS));
}

#[test]
fn a_directory_turned_read_only_is_said_and_nothing_is_lost() {
    use std::os::unix::fs::{PermissionsExt, chown};
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    fs::create_dir(&out).unwrap();
    let mut command = command(&out, SPLITS, &[]);
    if nobody::is_root(scratch.path()) {
        let Some(mut other) = nobody::program(scratch.path()) else {
            skipped::skipped("nothing is read-only for root, and there is no setpriv");
            return;
        };
        chown(&out, Some(nobody::NOBODY), Some(nobody::NOBODY)).unwrap();
        let table = scratch.path().join("heart.csv");
        fs::copy(data(), &table).unwrap();
        other.arg("run").arg(&table).args(command.get_args().skip(2));
        other.env("CRFE_VALIDATE", "none").env("CRFE_PERMUTATIONS", "none");
        other.stdout(Stdio::null()).stderr(Stdio::piped());
        command = other;
    }
    let mut child = command.spawn().unwrap();
    assert!(grown(&mut child, &out, 4000), "{}", said(&child.wait_with_output().unwrap()));
    signal(&child, "-STOP");
    fs::set_permissions(&out, fs::Permissions::from_mode(0o555)).unwrap();
    signal(&child, "-CONT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    // The first file that could not be made is named.
    assert!(said(&output).contains("Permission denied"), "{}", said(&output));
    assert!(said(&output).contains("choose another directory with --out"), "{}", said(&output));
    assert_whole(&out);
    fs::set_permissions(&out, fs::Permissions::from_mode(0o755)).unwrap();
    let before = journals(&out);
    succeed(&mut command);
    assert_eq!(journals(&out), before, "nothing had to be computed again");
}

#[test]
fn a_directory_deleted_in_mid_run_is_said() {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("run");
    let mut child = command(&out, SPLITS, &[]).spawn().unwrap();
    assert!(grown(&mut child, &out, 4000), "it ended too soon");
    signal(&child, "-STOP");
    fs::remove_dir_all(&out).unwrap();
    signal(&child, "-CONT");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(6), "{}", said(&output));
    assert!(said(&output).contains("it was deleted during the run"), "{}", said(&output));
}

/// Claims that would take gigabytes to believe, read with little memory.
#[test]
fn huge_lines_take_no_memory() {
    let scratch = tempfile::tempdir().unwrap();
    succeed(&mut command(scratch.path(), 2, &[]));
    let journal = journals(scratch.path()).remove(0);
    // A gigabyte without a line's end, in the middle and at the end.
    let text = fs::read_to_string(&journal).unwrap();
    let (head, tail) = text.split_at(text.find("{\"task\":\"rfe/1\",\"start\"").unwrap());
    fs::write(&journal, head).unwrap();
    let file = fs::OpenOptions::new().append(true).open(&journal).unwrap();
    file.set_len(head.len() as u64 + (1 << 29)).unwrap();
    std::io::Write::write_all(&mut &file, format!("\n{tail}").as_bytes()).unwrap();
    file.set_len(file.metadata().unwrap().len() + (1 << 29)).unwrap();
    // And a journal that never ends its first line.
    let file = fs::File::create(scratch.path().join("journal-1of1-zzzz-1.jsonl")).unwrap();
    file.set_len(1 << 29).unwrap();
    let script = "ulimit -v 1000000; exec \"$@\"";
    let output = Command::new("bash")
        .args(["-c", script, "bash", PROGRAM, "report", "--quiet"])
        .arg(scratch.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("1 lines were not understood"), "{}", said(&output));
}

#[test]
fn a_report_without_the_data_says_what_it_leaves_out() {
    let scratch = tempfile::tempdir().unwrap();
    let table = scratch.path().join("table.csv");
    let out = scratch.path().join("run");
    fs::copy(data(), &table).unwrap();
    let report = |more: &[&str]| {
        let output = Command::new(PROGRAM).arg("report").arg(&out).args(more).output().unwrap();
        (output.status.code(), said(&output))
    };
    let run = |shard: &str| {
        let mut run = Command::new(PROGRAM);
        run.current_dir(scratch.path()).args([
            "run",
            "table.csv",
            "--out",
            "run",
            "--splits",
            "2",
            "--shard",
            shard,
        ]);
        succeed(&mut run);
    };
    run("1/2");
    let (code, words) = report(&[]);
    assert_eq!(code, Some(4), "{words}");
    // Two methods: 2 splits, 5 folds and 99 permutations each.
    assert!(words.contains("106 of 212 tasks are not finished"), "{words}");
    run("2/2");
    // The name was relative to the directory of the run, not to ours.
    let (code, words) = report(&[]);
    assert_eq!(code, Some(0), "{words}");
    assert!(out.join("predictions.csv").exists());
    fs::rename(&table, scratch.path().join("moved.csv")).unwrap();
    let (code, words) = report(&[]);
    assert_eq!(code, Some(0), "{words}");
    assert!(
        words.contains("predictions.csv, effects.csv and reproduce.py are skipped")
            && !out.join("predictions.csv").exists()
            && !out.join("effects.csv").exists(),
        "{words}"
    );
    let synthetic = data().replace("heart", "synthetic");
    let (_, words) = report(&["--data", &synthetic]);
    assert!(words.contains("this is not the table that the run used"), "{words}");
    let (code, words) = report(&["--data", &scratch.path().join("moved.csv").to_string_lossy()]);
    assert_eq!(code, Some(0), "{words}");
    assert!(out.join("predictions.csv").exists());
}
