//! Journals through the library: cut anywhere, mixed up, made up by an enemy, growing while they
//! are read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crfe::analysis::{Answer, History};
use crfe::data::Dataset;
use crfe::record::{EventSource, Journals, Live, RunDirectory, Shard, journals};
use crfe::report::{make_way, outputs, tables as table_names, write_tables};
use crfe::run::{EventKind, Gate, Permutations, Plan, RunEvent, RunOptions, TaskId};
use crfe::select::{Method, StopRule};
use ndarray::Array2;

/// A small run: fast enough to be resumed thousands of times.
fn plan(options: RunOptions) -> Arc<Plan> {
    let x = Array2::from_shape_fn((48, 4), |(i, j)| {
        ((i * (7 + j) + j * 3) % 11) as f64 + (i % 2 * j) as f64
    });
    let labels: Vec<&str> = (0..48).map(|i| if i % 2 == 0 { "a" } else { "b" }).collect();
    let data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
    Arc::new(Plan::new(options.check().unwrap(), data).unwrap())
}

fn options(splits: usize) -> RunOptions {
    let mut options = RunOptions {
        validate: None,
        permutations: Permutations::Count(0),
        ..RunOptions::default()
    };
    options.split.splits = splits;
    options
}

/// Memory, where there is such a disk: thousands of directories are made.
fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap()
}

/// What the dashboard and `crfe-tui run` do; also how many tasks had to be computed.
fn run(plan: &Arc<Plan>, directory: &Path, shard: Shard) -> (History, usize) {
    let before = journals(directory).unwrap();
    let claimed = Arc::new(RunDirectory::claim(directory, shard).unwrap());
    let records = claimed.resume(plan, &table_names()).unwrap();
    let gate = Arc::new(Gate::default());
    let tasks = shard.share(&plan.tasks());
    let live = Live {
        plan: plan.clone(),
        gate,
        tasks,
        followups: Vec::new(),
        threads: 1,
        directory: Some(claimed),
        records,
    };
    let source = EventSource::engine(live);
    let mut history = History::default();
    source.events().iter().for_each(|event| history.apply(&event));
    source.close().unwrap();
    let after = journals(directory).unwrap();
    let new = after
        .iter()
        .filter(|path| !before.contains(path))
        .map(|path| fs::read_to_string(path).unwrap());
    (history, new.map(|text| text.matches("\"start\":").count()).sum())
}

fn tables(directory: &Path, history: &History, plan: Option<&Plan>) -> BTreeMap<String, Vec<u8>> {
    write_tables(directory, history, plan, 2).unwrap();
    table_names()
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), fs::read(directory.join(name)).ok()?)))
        .collect()
}

/// A run that nothing happened to: its journal and its tables.
fn reference(plan: &Arc<Plan>) -> (Vec<u8>, BTreeMap<String, Vec<u8>>) {
    let scratch = scratch();
    let (history, _) = run(plan, scratch.path(), Shard::WHOLE);
    let journal = fs::read(&journals(scratch.path()).unwrap()[0]).unwrap();
    (journal, tables(scratch.path(), &history, Some(plan)))
}

/// A directory that holds this one journal.
fn put(scratch: &Path, journal: &[u8]) -> PathBuf {
    let path = scratch.join("journal-1of1-0000-1.jsonl");
    fs::write(&path, journal).unwrap();
    path
}

/// Everything a reader does with a directory; the tables that come of it, if any.
fn read_all(directory: &Path) -> crfe::Result<(History, Vec<String>)> {
    let mut history = History::default();
    let Some(mut records) = Journals::open(directory)? else { return Ok((history, Vec::new())) };
    records.replay(|event| history.apply(&event))?;
    Ok((history, records.notes()))
}

#[test]
fn cut_at_every_byte_it_resumes_to_the_same_tables() {
    let plan = plan(options(3));
    let (journal, expected) = reference(&plan);
    // All but sites.csv and subgroups.csv, which must be asked for.
    assert_eq!(expected.len(), table_names().len() - 2);
    let scratch = scratch();
    let mut redone = Vec::new();
    for cut in 0..=journal.len() {
        let directory = scratch.path().join("run");
        fs::create_dir(&directory).unwrap();
        put(&directory, &journal[..cut]);
        let (history, tasks) = run(&plan, &directory, Shard::WHOLE);
        assert_eq!(tables(&directory, &history, Some(&plan)), expected, "cut at byte {cut}");
        redone.push(tasks);
        fs::remove_dir_all(&directory).unwrap();
    }
    assert_eq!((redone[0], *redone.last().unwrap()), (6, 0));
    assert!(redone.is_sorted_by(|a, b| a >= b), "a longer journal is never worth less");
}

#[test]
fn shards_in_any_order_twice_or_torn_give_the_same_tables() {
    let plan = plan(options(4));
    let (_, expected) = reference(&plan);
    let scratch = scratch();
    for i in [3, 1, 3, 2] {
        run(&plan, scratch.path(), Shard::new(i, 3).unwrap());
    }
    // Another division of the same run, in the same directory, and a journal that tore.
    let whole = fs::read(&journals(scratch.path()).unwrap()[0]).unwrap();
    fs::write(scratch.path().join("journal-2of2-ffff-9.jsonl"), &whole[..whole.len() / 2]).unwrap();
    let (history, notes) = read_all(scratch.path()).unwrap();
    assert_eq!(notes, Vec::<String>::new());
    assert_eq!(tables(scratch.path(), &history, Some(&plan)), expected);
}

#[test]
fn more_splits_or_methods_extend_a_run() {
    let narrow = RunOptions { methods: vec![Method::Rfe], ..options(2) };
    let wide = plan(options(4));
    let (_, expected) = reference(&wide);
    let scratch = scratch();
    run(&plan(narrow), scratch.path(), Shard::WHOLE);
    let (history, redone) = run(&wide, scratch.path(), Shard::WHOLE);
    assert_eq!(redone, 6);
    assert_eq!(tables(scratch.path(), &history, Some(&wide)), expected);
    let (history, _) = read_all(scratch.path()).unwrap();
    assert_eq!(tables(scratch.path(), &history, Some(&wide)), expected, "from journals alone");
}

#[test]
fn settings_that_only_read_the_path_are_those_of_the_last_start() {
    let mut loose = options(3);
    loose.stop = StopRule::Beta;
    loose.beta_rule.sigma = 0.5;
    loose.beta_rule.window = 0.9;
    let loose = plan(loose);
    let (_, expected) = reference(&loose);
    let scratch = scratch();
    run(&plan(options(3)), scratch.path(), Shard::WHOLE);
    let (history, redone) = run(&loose, scratch.path(), Shard::WHOLE);
    assert_eq!(redone, 0);
    assert_eq!(tables(scratch.path(), &history, Some(&loose)), expected);

    // Cross-validation belongs to the tasks: asked for later, they are redone.
    let cv = plan(RunOptions { stop: StopRule::Cv, ..options(3) });
    let (_, expected) = reference(&cv);
    let (history, redone) = run(&cv, scratch.path(), Shard::WHOLE);
    assert_eq!(redone, 6);
    assert_eq!(tables(scratch.path(), &history, Some(&cv)), expected);
}

#[test]
fn the_last_start_counts_whatever_the_clock_says() {
    let knee = plan(options(2));
    let two = plan(RunOptions { stop: StopRule::Size(2), ..options(2) });
    let scratch = scratch();
    run(&knee, scratch.path(), Shard::WHOLE);
    let journal = journals(scratch.path()).unwrap().remove(0);
    // As if the clock had been far ahead.
    fs::rename(journal, scratch.path().join("journal-1of1-ffffffffffffffff-1.jsonl")).unwrap();
    let recorded = || Journals::open(scratch.path()).unwrap().unwrap().info().spec.stop;
    for plan in [&two, &knee, &two] {
        let (_, redone) = run(plan, scratch.path(), Shard::WHOLE);
        assert_eq!(
            (redone, recorded()),
            (0, plan.info.spec.stop),
            "nothing to compute, and still recorded"
        );
    }
    // A start that changes nothing leaves nothing behind.
    let before = journals(scratch.path()).unwrap();
    run(&two, scratch.path(), Shard::WHOLE);
    assert_eq!(journals(scratch.path()).unwrap(), before);
}

#[test]
fn somebody_elses_files_are_not_deleted_and_not_overwritten() {
    let plan = plan(options(1));
    let scratch = scratch();
    let file = scratch.path().join("report.html");
    fs::write(&file, "mine").unwrap();
    let claimed = RunDirectory::claim(scratch.path(), Shard::WHOLE).unwrap();
    let refused = [
        claimed.resume(&plan, &outputs()).map(drop),
        claimed.start_anew(&outputs()),
        make_way(scratch.path(), &plan.info, &[]).map(drop),
    ];
    for outcome in refused {
        let error = outcome.unwrap_err();
        assert_eq!(error.exit_code(), 5);
        assert!(
            error.to_string().contains("holds a report.html that crfe-tui did not write"),
            "{error}"
        );
    }
    assert_eq!(fs::read_to_string(file).unwrap(), "mine");
}

#[test]
fn starting_anew_can_be_cut_short_at_any_file() {
    let plan = plan(options(1));
    let scratch = scratch();
    let (history, _) = run(&plan, scratch.path(), Shard::WHOLE);
    tables(scratch.path(), &history, Some(&plan));
    let claimed = RunDirectory::claim(scratch.path(), Shard::WHOLE).unwrap();
    // A directory in the place of a file cannot be deleted: there it stops.
    let last = scratch.path().join("summary.txt");
    fs::remove_file(&last).unwrap();
    fs::create_dir(&last).unwrap();
    assert!(claimed.start_anew(&table_names()).is_err());
    assert!(scratch.path().join("manifest.json").exists(), "it can still be known as ours");
    fs::remove_dir(&last).unwrap();
    claimed.start_anew(&table_names()).unwrap();
    assert!(fs::read_dir(scratch.path()).unwrap().all(|entry| {
        let name = entry.unwrap().file_name();
        name.to_string_lossy().starts_with(".lock-")
    }));
}

#[test]
fn a_journal_that_was_compressed_by_hand_is_refused() {
    let plan = plan(options(1));
    let scratch = scratch();
    run(&plan, scratch.path(), Shard::WHOLE);
    let journal = journals(scratch.path()).unwrap().remove(0);
    let packed = format!("{}.gz", journal.display());
    fs::rename(&journal, &packed).unwrap();
    let said = Journals::open(scratch.path()).unwrap_err().to_string();
    assert_eq!(said, format!("{packed}: this journal is compressed; unpack it with gunzip"));
    fs::rename(&packed, &journal).unwrap();
    assert_eq!(read_all(scratch.path()).unwrap().0.finished_tasks().count(), 2);
}

#[test]
fn the_state_directory_is_the_users_own() {
    use std::os::unix::fs::PermissionsExt;
    let plan = plan(options(1));
    let scratch = scratch();
    let parent = scratch.path().join("crfe-tui");
    let path = scratch.path().join("crfe-tui/1a2b");
    // One that was made for everybody.
    fs::create_dir_all(&path).unwrap();
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o755)).unwrap();
    let claimed = RunDirectory::claim_private(&path, Shard::WHOLE).unwrap();
    claimed.resume(&plan, &table_names()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&parent), mode(&path)), (0o700, 0o700));
    let files: Vec<PathBuf> =
        fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(files.len() >= 3, "{files:?}");
    files.iter().for_each(|file| assert_eq!(mode(file), 0o600, "{}", file.display()));
}

#[test]
fn tasks_of_a_method_that_the_run_does_not_have_are_left_out() {
    let (journal, _) = reference(&plan(options(2)));
    let mut lines = lines(&journal);
    lines[0] = lines[0].replacen("\"methods\":[\"crfe\",\"rfe\"]", "\"methods\":[\"crfe\"]", 1);
    let scratch = scratch();
    put(scratch.path(), &joined(&lines));
    let (history, notes) = read_all(scratch.path()).unwrap();
    assert_eq!(history.finished_tasks().count(), 2);
    assert!(notes[0].contains("lines were not understood"), "{notes:?}");
}

#[test]
fn another_run_is_refused_saying_what_differs() {
    let scratch = scratch();
    run(&plan(options(2)), scratch.path(), Shard::WHOLE);
    let other = plan(RunOptions { lambda: 0.25, epsilon: 0.2, ..options(2) });
    let claimed = RunDirectory::claim(scratch.path(), Shard::WHOLE).unwrap();
    let error = claimed.resume(&other, &table_names()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("lambda was 0.5, is now 0.25")
            && text.contains("epsilon was 0.1, is now 0.2"),
        "{text}"
    );
    assert_eq!(error.exit_code(), 5);
    claimed.start_anew(&table_names()).unwrap();
    assert!(claimed.check(&other, &table_names()).unwrap().is_none());
    drop(claimed);

    // Two runs in one directory are not merged.
    run(&plan(options(2)), scratch.path(), Shard::WHOLE);
    let (journal, _) = reference(&other);
    put(scratch.path(), &journal);
    let error = Journals::open(scratch.path()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("belongs to another run than the others here") && text.contains("lambda was"),
        "{text}"
    );
}

#[test]
fn a_second_writer_of_the_same_shard_is_refused() {
    let scratch = scratch();
    let shard = |i| Shard::new(i, 2).unwrap();
    let first = RunDirectory::claim(scratch.path(), shard(1)).unwrap();
    let error = RunDirectory::claim(scratch.path(), shard(1)).unwrap_err();
    assert_eq!(error.exit_code(), 5);
    let text = error.to_string();
    assert!(
        text.contains(&format!("process {} on this host is writing shard 1/2", std::process::id())),
        "{text}"
    );
    let second = RunDirectory::claim(scratch.path(), shard(2)).unwrap();
    let error = second.start_anew(&table_names()).unwrap_err();
    assert!(error.to_string().contains("another shard"), "{error}");
    drop(first);
    RunDirectory::claim(scratch.path(), shard(1)).unwrap();
}

/// Lines of a journal, to be spoilt.
fn lines(journal: &[u8]) -> Vec<String> {
    String::from_utf8(journal.to_vec()).unwrap().lines().map(str::to_owned).collect()
}

fn joined(lines: &[String]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

#[test]
fn a_hostile_first_line_is_refused_with_a_sentence() {
    let (journal, _) = reference(&plan(options(1)));
    let lines = lines(&journal);
    let spoil = |from: &str, to: &str| {
        assert!(lines[0].contains(from), "{from}: {}", lines[0]);
        let mut lines = lines.clone();
        lines[0] = lines[0].replacen(from, to, 1);
        lines
    };
    let cases = [
        (
            spoil("{\"format\":2", "{\"format\":1"),
            "the journal has format 1, and this program reads 2; run again with another --out",
        ),
        (spoil("{\"format\":2", "{\"format\":99999999999"), "has format 99999999999, and"),
        (spoil("\"rows\":48", "\"rows\":1000000000"), "its rows do not add up"),
        (
            spoil("\"splits\":1,\"rows\"", "\"splits\":1000000000,\"rows\""),
            "its number of splits is impossible",
        ),
        (spoil("\"columns\":[0]", "\"columns\":[1000000000]"), "a column that does not exist"),
        (
            spoil("\"classes\":[\"a\"", &format!("\"classes\":[\"{}\"", "a".repeat(10 << 20))),
            "a class has a label that is too long",
        ),
        (spoil("\"lambda\":0.5", "\"lambda\":7"), "--lambda 7 is out of range"),
        (spoil("\"lambda\":0.5", "\"lambda\":NaN"), "not the start of a run"),
        (spoil("\"units\":[", "\"units\":1000000000,\"x\":["), "not the start of a run"),
        (vec!["garbage".into()], "not the start of a run"),
        (vec!["[".repeat(100_000)], "not the start of a run"),
        (vec![String::new()], "not the start of a run"),
    ];
    for (lines, said) in cases {
        let scratch = scratch();
        put(scratch.path(), &joined(&lines));
        let error = read_all(scratch.path()).unwrap_err();
        assert!(error.to_string().contains(said), "{error} | {said}");
        assert!(EventSource::open(scratch.path()).is_err());
    }
}

#[test]
fn hostile_lines_are_left_out_with_a_sentence() {
    let plan = plan(options(2));
    let (journal, expected) = reference(&plan);
    let whole = lines(&journal);
    let step = whole.iter().position(|line| line.contains("\"crfe/1\",\"step\":1")).unwrap();
    let end = whole.iter().position(|line| line.contains("\"crfe/1\",\"end\"")).unwrap();
    let start = whole.iter().position(|line| line.contains("\"crfe/1\",\"start\"")).unwrap();
    let foreign = |line: &str| {
        format!("{}\n{line}", whole[0].replace("\"fingerprint\":\"", "\"fingerprint\":\"0"))
    };
    type Case<'a> = (usize, &'a dyn Fn(&str) -> String, &'a str);
    let cases: Vec<Case<'_>> = vec![
        (
            step,
            &|line| line.replace("\"out\":[", "\"out\":[1000000000,"),
            "it removes a feature that is not present",
        ),
        (step, &|line| line.replace("\"next\":", "\"next\":99"), "a feature that does not exist"),
        (step, &|line| line.replace("\"counts\":[", "\"counts\":[1,"), "a step is not understood"),
        (
            step,
            &|line| line.replace("\"counts\":[", "\"counts\":[9"),
            "the counts of a step do not add up",
        ),
        (
            step,
            &|line| line.replace("\"beta\":[", "\"beta\":[1.5,"),
            "a feature that does not exist",
        ),
        (step, &|line| line.replace("\"step\":1", "\"step\":2"), "a step is missing or repeated"),
        (
            step,
            &|line| line.replace("\"mean\":", "\"mean\":NaN,\"x\":"),
            "a step is not understood",
        ),
        (
            step,
            &|line| line.replace("\"mean\":", "\"mean\":1e999,\"x\":"),
            "a step is not understood",
        ),
        (
            step,
            &|line| line.replace("\"mean\":", "\"mean\":\"x\",\"y\":"),
            "a step is not understood",
        ),
        (step, &|_| "\u{0}\u{1b}[31m".into(), "1 lines were not understood"),
        (
            end,
            &|line| line.replace("\"rest\":[", "\"rest\":[0,1,2,3,"),
            "it removes a feature that is not present",
        ),
        (
            end,
            &|_| "{\"task\":\"crfe/1\",\"end\":\"complete\",\"rest\":[]}".into(),
            "does not add up",
        ),
        (
            end,
            &|line| line.replace("\"end\"", "\"cv\":1000000000,\"end\""),
            "lines were not understood",
        ),
        (start, &|line| line.replace("\"run\":\"", "\"run\":\"0000"), "it belongs to another run"),
        (
            start,
            &|line| line.replace("\"test\":[", "\"test\":[1000000000,"),
            "the rows of its split are impossible",
        ),
        (start, &|line| line.replace("crfe/1", "crfe/1000000000"), "lines were not understood"),
        (start, &|line| line.replace("crfe/1", "nonsense/1"), "lines were not understood"),
        (start, &foreign, "lines of another run begin"),
    ];
    for (at, spoil, said) in cases {
        let scratch = scratch();
        let mut lines = whole.clone();
        lines[at] = spoil(&lines[at]);
        assert_ne!(lines[at], whole[at], "{said}");
        put(scratch.path(), &joined(&lines));
        let (history, notes) = read_all(scratch.path()).unwrap();
        assert!(notes.iter().any(|note| note.contains(said)), "{said}: {notes:?}");
        assert!(history.trace(TaskId { method: Method::Crfe, split: 1 }).is_none(), "{said}");
        Answer::new(&history).unwrap();
        // What was left out is redone.
        let (history, _) = run(&plan, scratch.path(), Shard::WHOLE);
        assert_eq!(tables(scratch.path(), &history, Some(&plan)), expected, "{said}");
    }
}

/// A small generator: what is tried is the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

#[test]
fn spoilt_anyhow_it_never_panics() {
    let plan = plan(options(2));
    let (journal, _) = reference(&plan);
    let mut dice = Dice(5);
    let words: [&[u8]; 12] = [
        b"0",
        b"-1",
        b"1e308",
        b"99999999999",
        b"null",
        b"[]",
        b"{}",
        b"\n",
        b"\"",
        b"NaN",
        b"\xff",
        b"4294967295",
    ];
    let (mut read, mut refused) = (0, 0);
    for _ in 0..3000 {
        let mut bytes = journal.clone();
        for _ in 0..=dice.below(4) {
            let (at, other) = (dice.below(bytes.len()), dice.below(bytes.len()));
            match dice.below(5) {
                0 => bytes[at] = dice.below(256) as u8,
                1 => {
                    let word = words[dice.below(words.len())];
                    bytes.splice(at..(at + dice.below(6)).min(bytes.len()), word.iter().copied());
                }
                2 => {
                    bytes.drain(at.min(other)..(at.min(other) + dice.below(300)).min(bytes.len()));
                }
                3 => {
                    let piece = bytes[at..(at + dice.below(600)).min(bytes.len())].to_vec();
                    bytes.splice(other..other, piece);
                }
                _ => {
                    let mut lines: Vec<&[u8]> =
                        bytes.split_inclusive(|&byte| byte == b'\n').collect();
                    let (a, b) = (dice.below(lines.len()), dice.below(lines.len()));
                    lines.swap(a, b);
                    bytes = lines.concat();
                }
            }
            if bytes.is_empty() {
                bytes.push(b'{');
            }
        }
        let scratch = scratch();
        put(scratch.path(), &bytes);
        match read_all(scratch.path()) {
            Ok((history, _)) if history.info().is_some() => {
                read += 1;
                tables(scratch.path(), &history, None);
            }
            _ => refused += 1,
        }
    }
    assert!(read > 500 && refused > 100, "{read} {refused}");
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < deadline, "{what} did not come");
        std::thread::yield_now();
    }
}

#[test]
fn a_growing_directory_is_followed_to_its_end() {
    let plan = plan(options(3));
    let (journal, expected) = reference(&plan);
    let scratch = scratch();
    // A first process died in the middle of a line; a second shard joins later; both hold copies of
    // the same tasks.
    let text = String::from_utf8_lossy(&journal);
    let died = text
        .find("\"end\":")
        .and_then(|end| text[end..].find('\n').map(|line| end + line + 40))
        .unwrap();
    put(scratch.path(), &journal[..died]);
    let source = EventSource::open(scratch.path()).unwrap();
    let mut history = History::default();
    let hear = |history: &mut History, wanted: usize| {
        until("an event", || {
            source.events().try_iter().for_each(|event| history.apply(&event));
            history.finished_tasks().count() >= wanted
        });
    };
    hear(&mut history, 1);
    assert!(!history.complete());
    let shard = source.shards().remove(0);
    assert_eq!((shard.shard, shard.tasks), (Shard::WHOLE, 6));
    let second = scratch.path().join("journal-2of2-1111-2.jsonl");
    let mut dice = Dice(3);
    let mut at = 0;
    while at < journal.len() {
        let next = (at + 1 + dice.below(journal.len() / 2)).min(journal.len());
        let mut file = fs::OpenOptions::new().create(true).append(true).open(&second).unwrap();
        std::io::Write::write_all(&mut file, &journal[at..next]).unwrap();
        at = next;
        let whole = String::from_utf8_lossy(&journal[..at])
            .lines()
            .filter(|l| l.contains("\"end\":"))
            .count();
        let torn = usize::from(!journal[..at].ends_with(b"\n"));
        hear(&mut history, whole.saturating_sub(torn));
    }
    until("the end", || {
        source.events().try_iter().for_each(|event| history.apply(&event));
        history.complete()
    });
    assert_eq!(tables(scratch.path(), &history, Some(&plan)), expected);
    let second = source
        .shards()
        .into_iter()
        .find(|status| status.shard == Shard::new(2, 2).unwrap())
        .unwrap();
    assert_eq!((second.done, second.tasks, second.running, second.failed), (3, 3, 0, 0));
    source.close().unwrap();
}

#[test]
fn a_finished_directory_is_told_split_by_split() {
    let plan = plan(options(3));
    let (journal, expected) = reference(&plan);
    let scratch = scratch();
    put(scratch.path(), &journal);
    let source = EventSource::open(scratch.path()).unwrap();
    let events: Vec<RunEvent> = source.events().iter().collect();
    assert!(matches!(events[0].kind, EventKind::RunStarted(_)));
    assert!(matches!(events.last().unwrap().kind, EventKind::RunFinished));
    let starts = events.iter().filter(|event| matches!(event.kind, EventKind::RunStarted(_)));
    assert_eq!(starts.count(), 1, "the start comes once");
    let order: Vec<usize> =
        events.iter().filter_map(|event| event.task).map(|task| task.split).collect();
    assert!(order.is_sorted());
    let mut history = History::default();
    events.iter().for_each(|event| history.apply(event));
    assert_eq!(tables(scratch.path(), &history, Some(&plan)), expected);
    assert!(EventSource::open(&scratch.path().join("nothing")).is_err());
}

#[test]
fn failed_tasks_are_redone_and_said_until_then() {
    let plan = plan(options(1));
    let (journal, expected) = reference(&plan);
    let mut lines = lines(&journal);
    lines.retain(|line| !line.starts_with("{\"task\":\"rfe/0\",\"end\""));
    lines.push("{\"task\":\"rfe/0\",\"failed\":\"on purpose\"}".into());
    let scratch = scratch();
    put(scratch.path(), &joined(&lines));
    let (history, _) = read_all(scratch.path()).unwrap();
    assert_eq!(history.failed().values().collect::<Vec<_>>(), ["on purpose"]);
    let (history, redone) = run(&plan, scratch.path(), Shard::WHOLE);
    assert_eq!(redone, 1);
    assert_eq!(tables(scratch.path(), &history, Some(&plan)), expected);
    let (history, _) = read_all(scratch.path()).unwrap();
    assert!(history.failed().is_empty());
}

/// Not a check but a measurement: what a wide run costs to open.
#[test]
#[ignore = "needs the directory of a large run in CRFE_WIDE_RUN"]
fn opening_a_wide_run() {
    let directory = PathBuf::from(std::env::var_os("CRFE_WIDE_RUN").unwrap());
    let began = Instant::now();
    let source = EventSource::open(&directory).unwrap();
    println!("indexed after {:?}", began.elapsed());
    let mut history = History::default();
    let mut focused = 0;
    for event in source.events() {
        history.apply(&event);
        if matches!(event.kind, EventKind::TaskFinished { .. }) {
            focused += 1;
            if focused == history.info().unwrap().spec.methods.len() {
                println!("split 0 complete after {:?}", began.elapsed());
            }
        }
    }
    println!("{} tasks after {:?}", history.finished_tasks().count(), began.elapsed());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    println!("{}", status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default());
}
