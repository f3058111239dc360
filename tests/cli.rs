//! The program from outside: every mistake is one sentence, an exit code and nothing written; every
//! option runs to its end.

mod program;
mod sealed;
mod skipped;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use program::{Ran, finish, program, run_into};
use serde_json::Value;
use tempfile::TempDir;

/// A place for files that is gone when the test is.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file and gives its path as text.
    fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name).to_str().unwrap().to_owned()
    }

    fn contents(&self) -> BTreeSet<PathBuf> {
        std::fs::read_dir(self.0.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

/// The whole of standard error must be this sentence.
fn refused(ran: &Ran, code: i32, sentence: &str) {
    assert_eq!(ran.stderr.trim_end(), format!("crfe-tui: {sentence}"));
    assert_eq!(ran.code, code, "{sentence}");
    assert_eq!(ran.stdout, "");
}

/// A run that is refused: the sentence, the code, and a desk as it was before.
fn refuses(desk: &Desk, data: &str, options: &[&str], code: i32, sentence: &str) {
    let before = desk.contents();
    let ran = finish(
        program().args(["run", data, "--quiet", "--out"]).arg(desk.path("RUN")).args(options),
    );
    refused(&ran, code, sentence);
    assert_eq!(before, desk.contents(), "{sentence}: something was written");
}

#[test]
fn unusable_data_are_refused() {
    let desk = Desk::new();
    let absent = desk.path("absent.csv").to_str().unwrap().to_owned();
    refuses(&desk, &absent, &[], 3, &format!("{absent}: there is no such file; check the path"));
    let empty = desk.file("empty.csv", "");
    let sentence = format!("{empty}: the file is empty; give a CSV file with a header and rows");
    refuses(&desk, &empty, &[], 3, &sentence);
    let headed = desk.file("headed.csv", "a,class\n");
    let sentence =
        format!("{headed}: the file has a header but no rows; add rows below the header");
    refuses(&desk, &headed, &[], 3, &sentence);
    let one = desk.file("one.csv", "a,class\n1,x\n2,x\n3,x\n");
    let sentence = format!(
        "{one}, column 'class': every row has the class 'x', and a classifier needs two; name the class column \
         with --target"
    );
    refuses(&desk, &one, &[], 3, &sentence);
    let rows: String = (0..400).map(|i| format!("{},p{}\n", i * 7 % 13, i % 200)).collect();
    let many = desk.file("many.csv", &format!("a,class\n{rows}"));
    let sentence = format!(
        "{many}, column 'class': the class column has 200 different values: it looks like an id; name the class \
         column with --target"
    );
    refuses(&desk, &many, &[], 3, &sentence);
    for option in ["--leave-out", "--subgroups"] {
        let sentence = format!(
            "{many}: the column 'class' is named like the class column, but has another use; name the class \
             column with --target"
        );
        refuses(&desk, &many, &[option, "class"], 2, &sentence);
    }
    let rows: String = (0..30)
        .map(|i| format!("{},{}\n", i * 7 % 13, if i < 3 { "rare" } else { "common" }))
        .collect();
    let rare = desk.file("rare.csv", &format!("a,class\n{rows}"));
    let sentence = format!(
        "{rare}, column 'class': class 'rare' has 3 rows, and at least 4 are needed: one in each of training, \
         selection, conformal and test; leave small classes out with --rare drop:4, or merge them with \
         --rare merge:4:other, or use --calibration shared, which needs 3 and voids the guarantee"
    );
    refuses(&desk, &rare, &[], 3, &sentence);
    let odd = desk.file("odd.csv", "a,b,class\n1,2,x\n1,y\n");
    let sentence = format!("{odd}, line 3: the line has 2 fields, but the header has 3; ");
    let ran = finish(program().args(["run", &odd]));
    assert!(ran.code == 3 && ran.stderr.contains(&sentence), "{}", ran.stderr);
}

#[test]
fn unknown_columns_are_refused_with_what_there_is() {
    let desk = Desk::new();
    let heart = "data/heart.csv";
    for option in ["--target", "--drop", "--categorical", "--group-col", "--id-col"] {
        let ran = finish(program().args(["run", heart, option, "nonsense"]));
        let start = format!(
            "crfe-tui: {heart}: {option} names the column 'nonsense', which does not exist; there are "
        );
        assert!(ran.code == 2 && ran.stderr.starts_with(&start), "{}", ran.stderr);
    }
    let ran = finish(program().args(["run", heart, "--keep", "nonsense"]));
    assert!(
        ran.code == 2 && ran.stderr.contains("--keep names the feature 'nonsense'"),
        "{}",
        ran.stderr
    );
    let sentence = format!(
        "{heart}: --keep names the feature 'agee', which does not exist; did you mean age?"
    );
    refuses(&desk, heart, &["--keep", "agee"], 2, &sentence);
    let sentence = format!(
        "{heart}: --target names the column 'clas', which does not exist; did you mean class?"
    );
    refuses(&desk, heart, &["--target", "clas"], 2, &sentence);
}

#[test]
fn impossible_options_are_refused() {
    let desk = Desk::new();
    for (options, sentence) in [
        ("--lambda 2", "--lambda 2 is out of range; give a number from 0 to 1"),
        (
            "--stop 99",
            "--stop 99 is not a size of this path, which goes from 13 to 1; choose a size in between",
        ),
        (
            "--smoothed --score published",
            "--smoothed has no meaning with --score published; leave one of them out",
        ),
    ] {
        let options: Vec<&str> = options.split(' ').collect();
        refuses(&desk, "data/heart.csv", &options, 2, sentence);
    }
}

/// What clap refuses has clap's form: the option, the value, and what may be written.
#[test]
fn words_that_are_no_option_or_value_are_refused() {
    for (options, remedy) in [
        ("--splits x", "invalid value 'x' for '--splits <N>'"),
        ("--method ridge", "write crfe, rfe, smfs or acm"),
        ("--threads 0", "must be a number from 1 to 65,535"),
        ("--force", "--out <RUN>"),
        ("--frobnicate", "unexpected argument '--frobnicate'"),
    ] {
        let ran = finish(program().args(["run", "data/heart.csv"]).args(options.split(' ')));
        assert!(ran.code == 2 && ran.stderr.contains(remedy), "{options}: {}", ran.stderr);
    }
    assert_eq!(finish(&mut program()).code, 2, "no command at all");
    let help = finish(program().arg("--help"));
    assert!(help.code == 0 && help.stderr.is_empty() && help.stdout.contains("Usage: crfe-tui"));
}

#[test]
fn a_misspelt_command_is_named_with_the_nearest() {
    let neither = |word: &str| format!("there is neither a command nor a file '{word}'");
    for args in [&["rum", "data/heart.csv"][..], &["rum"], &["rum", "--splits", "2"]] {
        let ran = finish(program().args(args));
        refused(&ran, 2, &format!("{}; did you mean 'run'?", neither("rum")));
    }
    let ran = finish(program().args(["xyzzy", "data/heart.csv"]));
    refused(&ran, 2, &format!("{}; see crfe-tui --help for the commands", neither("xyzzy")));
    // A file is a file, there or not.
    let ran = finish(program().args(["run.csv", "--frobnicate"]));
    assert!(ran.stderr.contains("unexpected argument '--frobnicate'"), "{}", ran.stderr);
}

#[test]
fn columns_with_another_use_are_named() {
    let desk = Desk::new();
    let mut table = "a,b,hospital,class\n".to_owned();
    for row in 0..60 {
        let a = row * 7 % 60;
        let b = row * 11 % 13;
        let class = if row * 7 % 60 < 30 { "ill" } else { "well" };
        table += &format!("{a}.5,{b}.5,h{},{class}\n", row % 3);
    }
    let table = desk.file("t.csv", &table);
    let options = ["--leave-out", "hospital", "--splits", "2", "--method", "crfe"];
    let site = "'hospital' is not used as a feature: --leave-out\n";
    let check = finish(program().args(["check", &table]).args(options));
    assert!(check.stdout.contains(site), "{}{}", check.stdout, check.stderr);
    assert!(check.stdout.contains("    3 sites "), "{}", check.stdout);
    let run = finish(program().args(["run", &table, "--permutations", "0"]).args(options));
    assert!(run.stderr.contains(site), "{}", run.stderr);
}

#[test]
fn bad_splits_are_refused() {
    let desk = Desk::new();
    let form = r#"write {"splits":[{"train":[…],"calibration":[…],"test":[…]}]}"#;
    for (text, after) in [
        (
            r#"{"splits": [1]}"#,
            format!(
                ", line 1: the splits cannot be understood: invalid type: integer `1`, expected an object with \
                 train, calibration and test; {form}"
            ),
        ),
        (r#"{"splits": []}"#, format!(": there are no splits in it; {form}")),
        (
            r#"{"splits":[{"train":[0,1],"calibration":[1],"test":[5]}]}"#,
            ": split 0: row 1 is in train and in calibration; leave it in one of them".to_owned(),
        ),
        (
            r#"{"splits":[{"train":[0,1],"calibration":[2],"test":[5000]}]}"#,
            ": split 0: row 5000 of test is not in the data, whose last row with a class is 302; rows are counted \
             from 0, without the header"
                .to_owned(),
        ),
    ] {
        let file = desk.file("splits.json", text);
        refuses(&desk, "data/heart.csv", &["--splits-from", &file], 3, &format!("{file}{after}"));
    }
    let file = desk.file("splits.json", "no JSON");
    let ran = finish(program().args(["run", "data/heart.csv", "-q", "--splits-from", &file]));
    assert!(
        ran.code == 3 && ran.stderr.contains("line 1: the splits cannot be understood"),
        "{}",
        ran.stderr
    );
}

#[test]
fn bad_groups_are_refused() {
    let desk = Desk::new();
    let file = desk.file("groups.csv", "feature\nage\n");
    let sentence = format!(
        "{file}: a groups file has two columns, feature and group, but this has 1; give it the header feature,group"
    );
    refuses(&desk, "data/heart.csv", &["--groups", &file], 3, &sentence);
    let file = desk.file("groups.csv", "feature,group\nagee,g\n");
    let sentence = format!(
        "{file}, line 2: --groups names the feature 'agee', which does not exist; did you mean age?"
    );
    refuses(&desk, "data/heart.csv", &["--groups", &file], 2, &sentence);
    let file = desk.file("groups.csv", "feature,group\nage,g\nage,h\n");
    let sentence = format!(
        "{file}, line 3: the feature 'age' is in the groups 'g' and 'h'; leave it in one of them"
    );
    refuses(&desk, "data/heart.csv", &["--groups", &file], 2, &sentence);
}

#[test]
fn what_a_solver_cannot_do_is_refused() {
    let desk = Desk::new();
    let ran = finish(
        program()
            .args(["run", "data/heart.csv", "-q", "--solver", "linfa", "--scale", "none", "--out"])
            .arg(desk.path("RUN")),
    );
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.starts_with("crfe-tui: linfa-svm needs columns of similar scale"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.trim_end().ends_with("; use --scale standard or --solver newton"),
        "{}",
        ran.stderr
    );
    assert!(desk.contents().is_empty());
    let sentence = "data/heart.csv, column 'major vessels colored': 4 of 303 values are missing; fill them with \
                    --impute knn:5";
    refuses(&desk, "data/heart.csv", &["--impute", "none"], 3, sentence);
}

#[test]
fn an_output_that_cannot_be_is_refused_before_anything_is_computed() {
    let desk = Desk::new();
    let file = desk.file("plain", "text");
    for out in [format!("{file}/RUN"), file.clone()] {
        let ran = finish(program().args(["run", "data/heart.csv", "-q", "--out", &out]));
        assert_eq!(ran.code, 6, "{}", ran.stderr);
        let start = format!("crfe-tui: {out}: the directory cannot be made: ");
        assert!(ran.stderr.starts_with(&start), "{}", ran.stderr);
        assert!(ran.stderr.trim_end().ends_with("; choose another with --out"), "{}", ran.stderr);
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "text");
}

/// Every file of a directory with its bytes.
fn snapshot(directory: &Path) -> BTreeSet<(PathBuf, Vec<u8>)> {
    let read = |path: PathBuf| (path.clone(), std::fs::read(path).unwrap());
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    // The lock says which process holds it; it is no result.
    let lock = |path: &PathBuf| path.to_string_lossy().contains("/.lock-");
    files.filter(|path| path.is_file() && !lock(path)).map(read).collect()
}

#[test]
fn a_file_that_was_replaced_between_two_starts_is_refused() {
    let desk = Desk::new();
    let run = desk.path("RUN");
    let start = |option: &str, file: &str| {
        let arguments = ["run", "data/heart.csv", "-q", option, file, "--out"];
        finish(program().args(arguments).arg(&run))
    };
    let part = |rest: usize| (0..303).filter(|row| row % 3 == rest % 3).collect::<Vec<usize>>();
    let splits = |first: usize| {
        let split = [part(first), part(first + 1), part(first + 2)];
        let [train, calibration, test] = split.map(|rows| format!("{rows:?}"));
        format!(r#"{{"splits":[{{"train":{train},"calibration":{calibration},"test":{test}}}]}}"#)
    };
    let groups = |other: &str| format!("feature,group\nage,g\n{other},g\n");
    let cases = [
        ("--groups", [groups("gender"), groups("thal")], "the features or their groups differ"),
        ("--splits-from", [splits(0), splits(1)], "the file of splits differs"),
    ];
    for (option, [then, now], sentence) in cases {
        let file = desk.file("input", &then);
        let first = start(option, &file);
        assert_eq!(first.code, 0, "{}", first.stderr);
        desk.file("input", &now);
        let again = start(option, &file);
        assert!(again.code == 5 && again.stderr.contains(sentence), "{}", again.stderr);
        desk.file("input", &then);
        assert_eq!(start(option, &file).code, 0);
        std::fs::remove_dir_all(&run).unwrap();
    }
}

#[test]
fn a_directory_of_another_run_is_left_alone() {
    let desk = Desk::new();
    let run = desk.path("RUN");
    let out = run.to_str().unwrap();
    run_into(&run, "data/heart.csv", "--splits 2 --quiet");
    let before = snapshot(&run);
    let end = "; choose another --out, or start anew with crfe-tui run --force";
    let other = |data: &str, options: &[&str]| {
        finish(program().args(["run", data, "-q", "--out", out]).args(options))
    };
    let ran = other("data/heart.csv", &["--splits", "2", "--lambda", "0.3"]);
    refused(
        &ran,
        5,
        &format!("{out}: this directory holds another run: lambda was 0.5, is now 0.3{end}"),
    );
    let ran = other("data/dermatology.csv", &["--splits", "2"]);
    let data = "the data differ (data/heart.csv then, data/dermatology.csv now)";
    refused(&ran, 5, &format!("{out}: this directory holds another run: {data}{end}"));
    assert_eq!(before, snapshot(&run));

    let ran = other("data/heart.csv", &["--splits", "2", "--lambda", "0.3", "--force"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let manifest: Value = json(&std::fs::read_to_string(run.join("manifest.json")).unwrap());
    assert_eq!(manifest["spec"]["lambda"], 0.3);
}

#[test]
fn a_file_of_somebody_else_is_not_overwritten() {
    let desk = Desk::new();
    let file = desk.file("metrics.csv", "mine");
    let out = desk.0.path().to_str().unwrap();
    let ran = finish(program().args(["run", "data/heart.csv", "-q", "--out", out]));
    let sentence = "this directory holds a metrics.csv that crfe-tui did not write; choose another --out, or move the \
                    file away";
    refused(&ran, 5, &format!("{out}: {sentence}"));
    assert_eq!(std::fs::read_to_string(file).unwrap(), "mine");
    assert_eq!(desk.contents().len(), 1);
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_answer_as_json_is_the_answer_in_the_files() {
    let desk = Desk::new();
    let ran = run_into(&desk.path("RUN"), "data/dermatology.csv", "--splits 3 --json --quiet");
    assert_eq!(ran.stderr, "", "--quiet is silent");
    let answer = json(&ran.stdout);
    assert_eq!(answer, json(&std::fs::read_to_string(desk.path("RUN/summary.json")).unwrap()));
    assert_eq!(
        (&answer["rows"], &answer["features"], &answer["splits"]),
        (&358.into(), &34.into(), &3.into())
    );
    assert_eq!(answer["guaranteed"], true);
    let best = &answer["methods"][0];
    assert_eq!(best["method"], "crfe");
    let names: Vec<&str> = best["features"]
        .as_array()
        .unwrap()
        .iter()
        .map(|feature| feature["name"].as_str().unwrap())
        .collect();
    let selected = std::fs::read_to_string(desk.path("RUN/selected.txt")).unwrap();
    assert_eq!(selected.lines().collect::<Vec<_>>(), names);
    assert_eq!(names.len() as u64, best["chosen"]["size"].as_u64().unwrap());
}

#[test]
fn without_a_directory_nothing_is_written() {
    let desk = Desk::new();
    let data = std::fs::canonicalize("data/heart.csv").unwrap();
    let ran =
        finish(program().current_dir(desk.0.path()).arg("run").arg(data).args(["--splits", "1"]));
    assert_eq!(ran.code, 0);
    assert!(
        ran.stdout.contains("CRFE") && ran.stderr.contains("No files were written"),
        "{}",
        ran.stderr
    );
    let said = ran.stderr.matches("diseased 139, healthy 164").count();
    assert_eq!(said, 1, "the classes are named once: {}", ran.stderr);
    assert!(desk.contents().is_empty());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = program()
        .args(["run", "data/heart.csv", "--splits", "1", "--quiet"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut words = String::new();
    child.stderr.take().unwrap().read_to_string(&mut words).unwrap();
    assert_eq!((child.wait().unwrap().code(), words.as_str()), (Some(0), ""));
}

/// What the answer says of the number of splits and of λ, the first by `--json`, the second by the
/// manifest.
fn settings(
    desk: &Desk,
    name: &str,
    change: impl FnOnce(&mut std::process::Command),
) -> (u64, f64) {
    let mut command = program();
    command
        .args(["run", "data/heart.csv", "--quiet", "--json", "--method", "rfe", "--out"])
        .arg(desk.path(name));
    change(&mut command);
    let ran = finish(&mut command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let manifest = json(&std::fs::read_to_string(desk.path(name).join("manifest.json")).unwrap());
    (json(&ran.stdout)["splits"].as_u64().unwrap(), manifest["spec"]["lambda"].as_f64().unwrap())
}

#[test]
fn flags_are_stronger_than_environment_than_file_than_defaults() {
    let desk = Desk::new();
    let config = desk.file("config.toml", "splits = 2\nlambda = 0.25\n");
    let file = settings(&desk, "a", |command| {
        command.env("CRFE_CONFIG", &config);
    });
    assert_eq!(file, (2, 0.25));
    let environment = settings(&desk, "b", |command| {
        command.env("CRFE_CONFIG", &config).env("CRFE_SPLITS", "3");
    });
    assert_eq!(environment, (3, 0.25));
    let flag = settings(&desk, "c", |command| {
        command
            .env("CRFE_CONFIG", &config)
            .env("CRFE_SPLITS", "3")
            .args(["--splits", "1", "--lambda", "0.75"]);
    });
    assert_eq!(flag, (1, 0.75));
    // The file's usual place.
    std::fs::create_dir(desk.path("crfe-tui")).unwrap();
    desk.file("crfe-tui/config.toml", "splits = 4\n");
    let usual = settings(&desk, "d", |command| {
        command.env("XDG_CONFIG_HOME", desk.0.path());
    });
    assert_eq!(usual, (4, 0.5));
    let paper = settings(&desk, "e", |command| {
        command.env("CRFE_CONFIG", &config).args(["--paper", "--splits", "2"]);
    });
    assert_eq!(paper, (2, 0.5), "--paper is stronger than the file and weaker than a flag");
}

#[test]
fn a_bad_configuration_is_named() {
    let desk = Desk::new();
    let run =
        |config: &str| finish(program().args(["run", "data/heart.csv"]).env("CRFE_CONFIG", config));
    let file = desk.file("config.toml", "splitz = 2\n");
    let sentence =
        format!("{file}: there is no option 'splitz'; see crfe-tui run --help for the options");
    refused(&run(&file), 2, &sentence);
    let file = desk.file("config.toml", "splits = = 2\n");
    let ran = run(&file);
    assert!(
        ran.code == 2 && ran.stderr.contains(&format!("{file}, line 1: this is not TOML")),
        "{}",
        ran.stderr
    );
    let file = desk.file("config.toml", "splits = 'many'\n");
    refused(&run(&file), 2, &format!("{file}: splits cannot be 'many'; write a number"));
    let ran = run(desk.path("absent.toml").to_str().unwrap());
    assert!(
        ran.code == 2 && ran.stderr.contains("the configuration cannot be read"),
        "{}",
        ran.stderr
    );
}

fn header(run: &Path, table: &str) -> String {
    let text = std::fs::read_to_string(run.join(table)).unwrap();
    text.lines().next().unwrap().to_owned()
}

#[test]
fn the_tables_have_the_columns_they_promise() {
    let desk = Desk::new();
    let run = desk.path("RUN");
    run_into(&run, "data/heart.csv", "--splits 2 --quiet");
    let columns = [
        (
            "metrics.csv",
            "method,split,n_features,coverage,coverage_lo,coverage_hi,guaranteed,inefficiency,certainty,uncertainty,\
             mistrust,s_score,fuzziness,credibility,accuracy,precision_macro,recall_macro,auc,f1_macro",
        ),
        (
            "per_class.csv",
            "method,split,n_features,class,n,coverage,set_size,precision,recall,f1,coverage_lo,coverage_hi",
        ),
        (
            "trace.csv",
            "method,split,step,n_features,removed,criterion,runner_up,margin,beta_mean,statistic,threshold,fired,\
             converged",
        ),
        ("ranking.csv", "method,split,feature,rank"),
        (
            "consistency.csv",
            "method,n_features,jaccard,i_w,kuncheva,nogueira,nogueira_lo,nogueira_hi",
        ),
        (
            "similarity.csv",
            "method_a,method_b,n_features,jaccard,jaccard_sd,kuncheva,kuncheva_sd,i_w",
        ),
        ("selection.csv", "method,n_features,feature,count,frequency"),
        ("stopping.csv", "method,split,rule,fired,n_features,features"),
        ("predictions.csv", "method,split,row,id,class,set,p_diseased,p_healthy"),
        (
            "compare.csv",
            "metric,n_features,mean_difference,sd,lo,hi,t_corrected,p_corrected,method_a,method_b",
        ),
        ("effects.csv", "method,feature,value,level,rows,class,score,sd"),
    ];
    for (table, expected) in columns {
        assert_eq!(header(&run, table), expected, "{table}");
    }
    let known: BTreeSet<String> = columns.iter().map(|(table, _)| (*table).to_owned()).collect();
    let others = ["manifest.json", "summary.json", "summary.txt", "selected.txt"];
    let others = others
        .into_iter()
        .chain(["figures", "methods.md", "report.html", "reproduce.py"])
        .map(str::to_owned);
    let expected: BTreeSet<String> = known.into_iter().chain(others).collect();
    let found: BTreeSet<String> = std::fs::read_dir(&run)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.ends_with(".jsonl") && !name.starts_with(".lock-"))
        .collect();
    assert_eq!(found, expected);
    let manifest = json(&std::fs::read_to_string(run.join("manifest.json")).unwrap());
    assert_eq!(manifest["input"]["sha256"].as_str().unwrap().len(), 64);
    let counts: Vec<u64> = manifest["classes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|class| class["rows"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [139, 164]);
}

/// A finished run with these options on a table, and its answer.
struct Finished {
    desk: Desk,
    answer: Value,
}

impl Finished {
    fn new(data: &str, options: &[&str]) -> Self {
        let desk = Desk::new();
        let out = desk.path("RUN");
        let ran = finish(
            program()
                .args(["run", data, "--splits", "3", "--json", "-q", "--out"])
                .arg(out)
                .args(options),
        );
        assert_eq!(ran.code, 0, "{options:?}: {}", ran.stderr);
        Self { answer: json(&ran.stdout), desk }
    }

    fn rows(&self, table: &str) -> Vec<Vec<String>> {
        let mut reader = csv::Reader::from_path(self.desk.path("RUN").join(table)).unwrap();
        reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect()
    }

    /// The different values of a column of a table.
    fn values(&self, table: &str, column: usize) -> BTreeSet<String> {
        self.rows(table).into_iter().map(|mut row| row.swap_remove(column)).collect()
    }

    fn sizes(&self) -> BTreeSet<usize> {
        self.values("metrics.csv", 2).iter().map(|size| size.parse().unwrap()).collect()
    }

    /// The rule of the answer and its size, of the first method.
    fn chosen(&self) -> (&str, Option<u64>) {
        let chosen = &self.answer["methods"][0]["chosen"];
        (chosen["rule"].as_str().unwrap(), chosen["size"].as_u64())
    }

    fn cautions(&self) -> String {
        format!("{} {}", self.answer["cautions"], self.answer["methods"][0]["cautions"])
    }
}

#[test]
fn kept_features_are_in_every_model_and_have_no_rank() {
    let run = Finished::new("data/heart.csv", &["--keep", "age,gender"]);
    assert_eq!(run.sizes(), (2..=13).collect());
    for row in run.rows("ranking.csv") {
        assert_eq!(row[3].is_empty(), ["age", "gender"].contains(&row[2].as_str()), "{row:?}");
    }
    assert!(run.rows("trace.csv").iter().all(|row| row[4] != "age" && row[4] != "gender"));
    let features = run.answer["methods"][0]["features"].as_array().unwrap();
    assert_eq!(features.iter().filter(|feature| feature["mean_rank"].is_null()).count(), 2);
    assert!(
        run.rows("selection.csv").iter().filter(|row| row[2] == "age").all(|row| row[4] == "1")
    );
}

#[test]
fn keeping_all_but_one_leaves_a_path_of_two_models() {
    let run = Finished::new("data/synthetic.csv", &["--keep", "inf_0", "--stop", "1"]);
    assert_eq!(run.chosen(), ("1", Some(1)));
    let names: Vec<String> = (1..13).map(|i| format!("noise_{}", i + 9)).collect();
    let others: Vec<String> = (13..25).map(|i| format!("noise_{}", i + 9)).collect();
    let drop = format!("{},{},noise_34", names.join(","), others.join(","));
    let keep = "inf_0,inf_1,inf_2,inf_3,inf_4,inf_5,inf_6,inf_7,inf_8";
    let run = Finished::new("data/synthetic.csv", &["--drop", &drop, "--keep", keep]);
    assert_eq!(run.sizes(), [9, 10].into());
}

#[test]
fn groups_are_removed_together() {
    let desk = Desk::new();
    let file =
        desk.file("groups.csv", "feature,group\nage,demography\ngender,demography\nrest ECG,ecg\n");
    let run = Finished::new("data/heart.csv", &["--groups", &file]);
    assert_eq!(run.sizes(), (1..=12).collect());
    let features = run.values("ranking.csv", 2);
    assert!(
        features.contains("demography") && features.contains("ecg") && !features.contains("age")
    );
}

#[test]
fn rows_of_a_group_stay_in_one_part() {
    let desk = Desk::new();
    let heart = std::fs::read_to_string("data/heart.csv").unwrap();
    let mut lines = heart.lines();
    let mut text = format!("patient,{}\n", lines.next().unwrap());
    lines.enumerate().for_each(|(i, line)| text.push_str(&format!("P{},{line}\n", i / 3)));
    let data = desk.file("visits.csv", &text);
    let run = Finished::new(&data, &["--group-col", "patient", "--id-col", "patient"]);
    assert!(!run.values("ranking.csv", 2).contains("patient"));
    // All visits of a patient are tested in the same splits.
    let mut tested = std::collections::BTreeMap::<(String, String), usize>::new();
    for row in run.rows("predictions.csv").into_iter().filter(|row| row[0] == "crfe") {
        *tested.entry((row[1].clone(), row[3].clone())).or_default() += 1;
    }
    assert!(!tested.is_empty() && tested.values().all(|&rows| rows == 3), "{tested:?}");
}

#[test]
fn numbers_can_be_read_as_categories() {
    let plain = Finished::new("data/heart.csv", &[]);
    let coded = Finished::new("data/heart.csv", &["--categorical", "major vessels colored"]);
    assert_eq!(plain.sizes(), coded.sizes(), "a category is one unit");
    let columns = |run: &Finished| {
        let manifest = json(&std::fs::read_to_string(run.desk.path("RUN/manifest.json")).unwrap());
        let units = manifest["units"].as_array().unwrap().clone();
        units.iter().map(|unit| unit["columns"].as_array().unwrap().len()).sum::<usize>()
    };
    assert_eq!((columns(&plain), columns(&coded)), (22, 25));
}

#[test]
fn batches_visit_fewer_sizes_and_rank_all() {
    let run = Finished::new("data/dermatology.csv", &["--step", "half"]);
    assert_eq!(run.sizes(), [34, 17, 9, 5, 3, 2, 1].into());
    for split in ["0", "1", "2"] {
        let ranks: BTreeSet<usize> = run
            .rows("ranking.csv")
            .iter()
            .filter(|row| row[0] == "crfe" && row[1] == split)
            .map(|row| row[3].parse().unwrap())
            .collect();
        assert_eq!(ranks, (1..=34).collect());
    }
    let five = Finished::new("data/dermatology.csv", &["--step", "5"]);
    assert_eq!(five.sizes(), [34, 29, 24, 19, 14, 9, 4, 1].into());
}

#[test]
fn a_path_can_end_early() {
    let run = Finished::new("data/dermatology.csv", &["--early", "--stop", "5"]);
    assert_eq!((run.sizes(), run.chosen()), ((5..=34).collect(), ("5", Some(5))));
    // Ranks go on below the last size, so that subsets are nested.
    assert!(run.rows("ranking.csv").iter().all(|row| !row[3].is_empty()));

    let run = Finished::new("data/dermatology.csv", &["--early", "--stop", "beta"]);
    assert_eq!(run.chosen().0, "beta");
    for row in
        run.rows("stopping.csv").into_iter().filter(|row| row[2] == "beta" && row[3] == "true")
    {
        let path = run.rows("metrics.csv");
        let last = path.iter().rfind(|other| other[..2] == row[..2]).unwrap();
        assert_eq!(row[4], last[2], "the path ends where the rule fired");
    }
    // The reported size of a rule lies between its smallest and its largest.
    for method in run.answer["methods"].as_array().unwrap() {
        let rules = std::iter::once(&method["chosen"]).chain(method["beside"].as_array().unwrap());
        for rule in rules.filter(|rule| rule["fired"].as_u64() > Some(0)) {
            let size = rule["size"].as_u64();
            assert!(
                rule["smallest"].as_u64() <= size && size <= rule["largest"].as_u64(),
                "{rule}"
            );
        }
    }
}

#[test]
fn every_rule_gives_an_answer_or_says_why_not() {
    for rule in ["knee", "beta", "1se", "cv", "7"] {
        let run = Finished::new("data/heart.csv", &["--stop", rule]);
        let (name, size) = run.chosen();
        assert_eq!(name, rule);
        assert!(size.is_some_and(|size| (1..=13).contains(&size)), "{rule}: {size:?}");
        let rules = run.values("stopping.csv", 2);
        assert!(
            ["knee", "beta", "1se", rule].iter().all(|&rule| rules.contains(rule)),
            "{rules:?}"
        );
        // The size that looks at test rows is not judged by the rows that chose it.
        assert_eq!(run.answer["methods"][0]["achieved"]["leave_one_split_out"], rule == "1se");
    }
    let run = Finished::new("data/heart.csv", &["--stop", "none"]);
    assert_eq!(run.chosen(), ("none", None));
    assert_eq!(run.answer["methods"][0]["features"], json("[]"));
    assert!(run.rows("predictions.csv").is_empty());
    // The rule rarely fires on these data; the splits on which it does not are counted and said.
    let run = Finished::new("data/synthetic.csv", &["--stop", "beta:50"]);
    assert!(
        run.cautions().contains("the β rule did not fire on 3 of 3 splits"),
        "{}",
        run.cautions()
    );
}

/// The folds of another rule tested other lists.
#[test]
fn folds_of_another_rule_are_not_taken_over() {
    let validated = ["--validate", "5"];
    let fresh = Finished::new("data/heart.csv", &validated);
    assert!(fresh.answer["methods"][0]["tested"]["performance"].is_object(), "{}", fresh.answer);
    let again = Finished::new("data/heart.csv", &["--validate", "5", "--stop", "none"]);
    let mut command = program();
    command.args(["run", "data/heart.csv", "--splits", "3", "--json", "-q"]).args(validated);
    let ran = finish(command.arg("--out").arg(again.desk.path("RUN")));
    assert_eq!(json(&ran.stdout)["methods"], fresh.answer["methods"]);
}

#[test]
fn p_values_can_be_by_class_or_smoothed() {
    let plain = Finished::new("data/heart.csv", &[]);
    assert!(plain.rows("metrics.csv").iter().all(|row| !row[4].is_empty() && row[6] == "true"));
    let mondrian = Finished::new("data/heart.csv", &["--mondrian"]);
    assert!(
        mondrian.rows("metrics.csv").iter().all(|row| row[4].is_empty()),
        "the band is by class"
    );
    assert!(
        mondrian.rows("per_class.csv").iter().all(|row| !row[10].is_empty() && !row[11].is_empty())
    );
    let smoothed = Finished::new("data/heart.csv", &["--smoothed"]);
    assert!(smoothed.rows("metrics.csv").iter().all(|row| row[4].is_empty()));
    assert_eq!(smoothed.answer["methods"][0]["achieved"]["coverage_band"], Value::Null);
    assert_eq!(
        plain.rows("ranking.csv"),
        smoothed.rows("ranking.csv"),
        "p-values choose no features"
    );
    let rare = Finished::new("data/dermatology.csv", &["--mondrian"]);
    let warning = "with --mondrian and ε = 0.1 it needs at least 9 before it can ever be excluded from a prediction set";
    assert!(rare.cautions().contains("class 'pityriasis rubra pilaris'"), "{}", rare.cautions());
    assert!(rare.cautions().contains(warning), "{}", rare.cautions());
}

#[test]
fn a_void_guarantee_is_said_everywhere() {
    let run = Finished::new("data/heart.csv", &["--paper"]);
    assert_eq!((&run.answer["guaranteed"], run.chosen().0), (&Value::Bool(false), "beta"));
    assert!(run.cautions().contains("guarantee void"));
    assert_eq!(run.values("metrics.csv", 6), ["false".to_owned()].into());
    let summary = std::fs::read_to_string(run.desk.path("RUN/summary.txt")).unwrap();
    assert!(summary.contains("(guarantee void)"), "{summary}");
}

#[test]
fn other_solvers_and_methods_run_to_the_end() {
    let linfa = Finished::new("data/heart.csv", &["--solver", "linfa"]);
    assert_eq!(linfa.sizes(), (1..=13).collect());
    assert_eq!(linfa.values("trace.csv", 12), ["true".to_owned()].into(), "all models converged");
    let smfs = Finished::new("data/heart.csv", &["--method", "smfs"]);
    assert_eq!(smfs.values("metrics.csv", 0), ["smfs".to_owned()].into());
    assert!(smfs.rows("compare.csv").is_empty(), "nothing to compare with");
    let all = Finished::new(
        "data/heart.csv",
        &["--method", "smfs,rfe,crfe", "--class-weight", "balanced"],
    );
    let pairs: BTreeSet<(String, String)> =
        all.rows("compare.csv").into_iter().map(|row| (row[8].clone(), row[9].clone())).collect();
    assert_eq!(pairs.len(), 3, "{pairs:?}");
}

#[test]
fn own_splits_are_used_as_given() {
    let desk = Desk::new();
    let part = |rest: usize| (0..303).filter(|i| i % 3 == rest).collect::<Vec<usize>>();
    let splits = serde_json::json!({"splits": [{"train": part(0), "calibration": part(1), "test": part(2)}]});
    let file = desk.file("splits.json", &splits.to_string());
    let run = Finished::new("data/heart.csv", &["--splits-from", &file]);
    assert_eq!(run.answer["splits"], 1);
    let tested: BTreeSet<usize> =
        run.values("predictions.csv", 2).iter().map(|row| row.parse().unwrap()).collect();
    assert_eq!(tested, part(2).into_iter().collect());
}

#[test]
fn wide_data_take_the_other_route() {
    // 40 rows, 60 features, the first of which is the class and some noise.
    let mut text: String = (0..60).map(|j| format!("g{j},")).collect();
    text.push_str("outcome\n");
    for i in 0..40 {
        for j in 0..60 {
            let noise = (i * 7919 + j * 104_729 + i * i * j * 31) % 97;
            let value = if j == 0 { noise + 60 * (i % 2) } else { noise };
            text.push_str(&format!("{value},"));
        }
        text.push_str(if i % 2 == 0 { "no\n" } else { "yes\n" });
    }
    let desk = Desk::new();
    let data = desk.file("wide.csv", &text);
    let run = Finished::new(&data, &["--epsilon", "0.3"]);
    assert_eq!(run.sizes(), (1..=60).collect());
    assert_eq!(run.values("trace.csv", 12), ["true".to_owned()].into(), "all models converged");
    assert_eq!(run.answer["methods"][0]["features"][0]["name"], "g0");
}

/// Standard error that takes nothing: a full device, and a pipe that nobody reads any more.
#[test]
fn a_run_goes_on_when_nobody_hears_it() {
    let desk = Desk::new();
    let heart = ["run", "data/heart.csv", "--splits", "2", "--out"];
    let full = || Stdio::from(std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    let closed = || {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        Stdio::from(writer)
    };
    run_into(&desk.path("HEARD"), "data/heart.csv", "--splits 2");
    for (name, stderr) in [("FULL", full()), ("CLOSED", closed())] {
        let run = desk.path(name);
        let status =
            program().args(heart).arg(&run).stdout(Stdio::null()).stderr(stderr).status().unwrap();
        assert_eq!(status.code(), Some(0), "{name}");
        for table in ["summary.txt", "metrics.csv", "ranking.csv", "report.html"] {
            let read = |run: &str| std::fs::read(desk.path(run).join(table)).unwrap();
            assert_eq!(read(name), read("HEARD"), "{name}: {table}");
        }
    }
    for stderr in [full(), closed()] {
        let status = program().args(["check", "absent.csv"]).stderr(stderr).status().unwrap();
        assert_eq!(status.code(), Some(3));
    }
}

#[test]
fn one_feature_is_the_answer_when_there_is_nothing_to_eliminate() {
    let desk = Desk::new();
    let rows: String =
        (0..60).map(|i| format!("{},{}\n", i * 7 % 13 + 9 * (i % 2), i % 2)).collect();
    let one = desk.file("one.csv", &format!("a,class\n{rows}"));
    for (name, options) in [("KNEE", ""), ("BETA", " --stop beta"), ("KEPT", " --keep a")] {
        let ran = run_into(&desk.path(name), &one, &format!("--splits 3{options}"));
        for words in [
            "1 feature, 2 classes",
            "CRFE: 1 feature",
            "nothing to eliminate",
            "    1  a ",
            "coverage",
        ] {
            assert!(ran.stdout.contains(words), "{words}: {}", ran.stdout);
        }
        assert!(!ran.stdout.contains("never fired"), "{}", ran.stdout);
        assert_eq!(std::fs::read_to_string(desk.path(name).join("selected.txt")).unwrap(), "a\n");
    }
}

#[test]
fn one_split_says_nothing_of_stability() {
    let desk = Desk::new();
    let ran = run_into(&desk.path("RUN"), "data/heart.csv", "--splits 1");
    assert!(
        ran.stdout.contains("Caution: one split cannot show how stable the selection is"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_cluster_cannot_read_standard_input() {
    let desk = Desk::new();
    let ran = finish(program().args(["slurm", "-", "--tasks", "2", "--out"]).arg(desk.path("RUN")));
    refused(
        &ran,
        2,
        "the nodes of a cluster cannot read this standard input; write the table to a file on a disk that all nodes see",
    );
    assert!(desk.contents().is_empty());
}

#[test]
fn starting_anew_deletes_all_of_the_old_run_and_nothing_else() {
    let desk = Desk::new();
    let run = desk.path("RUN");
    run_into(&run, "data/heart.csv", "--splits 2 --quiet");
    std::fs::write(run.join("notes.txt"), "mine").unwrap();
    std::fs::write(run.join("figures/mine.svg"), "mine").unwrap();
    // A shard makes no tables: what there is afterwards is of the old run.
    let force = ["slurm", "data/heart.csv", "--lambda", "0.3", "--tasks", "2", "--force", "--out"];
    let ran = finish(program().args(force).arg(&run));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let names = |directory: &Path| -> BTreeSet<String> {
        let entries = std::fs::read_dir(directory).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    };
    let mut left = names(&run);
    left.retain(|name| !name.starts_with(".lock-"));
    assert_eq!(
        left,
        ["figures", "notes.txt", "report.sbatch", "shards.sbatch"].map(String::from).into()
    );
    assert_eq!(names(&run.join("figures")), ["mine.svg".to_owned()].into());
}

#[test]
fn flags_in_the_environment_may_be_numbers_or_words() {
    for (value, flag) in [("1", true), ("yes", true), ("true", true), ("0", false), ("no", false)] {
        let ran = finish(program().env("CRFE_MONDRIAN", value).args([
            "run",
            "data/heart.csv",
            "--splits",
            "1",
            "--quiet",
            "--json",
        ]));
        assert_eq!(ran.code, 0, "{value}: {}", ran.stderr);
        assert_eq!(
            json(&ran.stdout)["methods"][0]["achieved"]["coverage_band"].is_null(),
            flag,
            "{value}"
        );
    }
}

#[test]
fn a_setting_out_of_range_is_blamed_on_the_file_that_holds_it() {
    let desk = Desk::new();
    let file = desk.file("c.toml", "lambda = 2\n");
    let run = |options: &[&str]| {
        finish(program().env("CRFE_CONFIG", &file).args(["check", "data/heart.csv"]).args(options))
    };
    refused(&run(&[]), 2, &format!("{file}: lambda 2 is out of range; give a number from 0 to 1"));
    assert_eq!(run(&["--lambda", "0.5"]).code, 0, "a flag is stronger");
    refused(&run(&["--lambda", "3"]), 2, "--lambda 3 is out of range; give a number from 0 to 1");
}

#[test]
fn a_cost_at_which_numbers_overflow_ends_with_finite_tables_and_a_caution() {
    let home = tempfile::tempdir().unwrap();
    let mut run = program();
    run.args([
        "run",
        "data/dermatology.csv",
        "--cost",
        "1e300",
        "--splits",
        "1",
        "--method",
        "crfe",
        "--out",
    ]);
    let ran = finish(run.arg(home.path().join("RUN")));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stdout.contains("the solver did not converge on 34 of 34 models"),
        "{}",
        ran.stdout
    );
    let metrics = std::fs::read_to_string(home.path().join("RUN/metrics.csv")).unwrap();
    assert!(metrics.lines().count() > 34, "{metrics}");
    for cell in metrics.split([',', '\n']).map(str::to_lowercase) {
        assert!(!["nan", "inf", "-inf"].contains(&cell.as_str()), "{metrics}");
    }
}

/// What a shell does with a script on its standard input; `None`, and said, without such a shell.
fn shell(name: &str, options: &[&str], script: &str) -> Option<Ran> {
    use std::io::Write;
    let mut command = std::process::Command::new(name);
    command.args(options).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        skipped::skipped(&format!("completions of {name} were not tried: it is not installed"));
        return None;
    };
    child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Some(Ran {
        code: output.status.code().unwrap(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    })
}

#[test]
fn shells_complete_the_options_of_every_command() {
    let completions = |shell: &str| finish(program().args(["completions", shell])).stdout;
    let bash = completions("bash");
    for (line, expected) in [
        ("crfe-tui run --lam", "--lambda"),
        ("crfe-tui explore --spee", "--speed"),
        ("crfe-tui rep", "report"),
    ] {
        let ask =
            "COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_LINE=$line; COMP_POINT=${#line}
            _crfe__tui crfe-tui \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\"
            printf '%s\\n' \"${COMPREPLY[@]}\"";
        let Some(ran) = shell("bash", &["-s"], &format!("{bash}\nline='{line}'\n{ask}\n")) else {
            return;
        };
        assert_eq!((ran.code, ran.stdout.trim()), (0, expected), "{line}: {}", ran.stderr);
    }
    for name in ["zsh", "fish"] {
        if let Some(ran) = shell(name, &["-n"], &completions(name)) {
            assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{name}");
        }
    }
}

/// Forty rows of two classes with a column of numbers, one of that name, and what is put into it.
fn with_column(name: &str, cell: impl Fn(usize) -> String) -> String {
    let rows: String = (0..60)
        .map(|i| format!("{},{},{},{}\n", i * 37 % 11, i * 29 % 13, cell(i), ["x", "y"][i % 2]))
        .collect();
    format!("a,b,{name},class\n{rows}")
}

#[test]
fn names_with_commas_can_be_given_and_the_remedy_works_as_typed() {
    let desk = Desk::new();
    let free = |i: usize| format!("\"word{}, more\"", i % 55);
    let table = desk.file("t.csv", &with_column("\"notes, free\"", free));
    let refusal = finish(program().args(["run", &table, "--splits", "1", "-q"]));
    assert_eq!(refusal.code, 3, "{}", refusal.stderr);
    let remedy = refusal
        .stderr
        .split("leave it out with ")
        .nth(1)
        .unwrap()
        .split(", or merge")
        .next()
        .unwrap();
    assert_eq!(remedy, "--drop '\"notes, free\"'");
    let line =
        format!("'{}' run '{table}' --splits 1 -q {remedy}\n", env!("CARGO_BIN_EXE_crfe-tui"));
    if let Some(ran) = shell("bash", &["-s"], &line) {
        assert_eq!(ran.code, 0, "{line}: {}", ran.stderr);
    }
    // Once for each name, in the environment and in the configuration file.
    let ran = finish(program().args([
        "run",
        &table,
        "--splits",
        "1",
        "-q",
        "--drop",
        "\"notes, free\"",
        "--drop",
        "a",
    ]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = finish(
        program()
            .env("CRFE_DROP", "a,\"notes, free\"")
            .args(["run", &table, "--splits", "1", "-q"]),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let file = desk.file("c.toml", "drop = [\"notes, free\"]\n");
    let ran =
        finish(program().env("CRFE_CONFIG", file).args(["run", &table, "--splits", "1", "-q"]));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    // Without quotes it is two names, and the whole one is offered.
    let ran = finish(program().args(["run", &table, "--drop", "notes, free"]));
    let sentence = format!(
        "{table}: --drop names the column 'notes', which does not exist; did you mean '\"notes, free\"'?"
    );
    refused(&ran, 2, &sentence);
}

#[test]
fn names_in_lists_are_not_ambiguous() {
    let desk = Desk::new();
    let number = |i: usize| (i * 31 % 17).to_string();
    let semicolon = desk.file("s.csv", &with_column("\"p;q\"", number));
    let out = desk.path("S");
    run_into(&out, &semicolon, "--splits 1 --stop 3 --quiet");
    let stopping = std::fs::read_to_string(out.join("stopping.csv")).unwrap();
    let mut reader = csv::Reader::from_reader(stopping.as_bytes());
    let features: Vec<String> = reader.records().map(|row| row.unwrap()[5].to_owned()).collect();
    assert!(features.contains(&"a;b;\"p;q\"".to_owned()), "{features:?}");
    let feed = desk.file("f.csv", &with_column("\"p\nq\"", number));
    let out = desk.path("F");
    run_into(&out, &feed, "--splits 1 --stop 3 --quiet");
    let selected = std::fs::read_to_string(out.join("selected.txt")).unwrap();
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(selected.as_bytes());
    let names: BTreeSet<String> = reader.records().map(|row| row.unwrap()[0].to_owned()).collect();
    assert_eq!(names, ["a", "b", "p\nq"].map(String::from).into());
    let plain = Finished::new("data/heart.csv", &["--stop", "3"]);
    let selected = std::fs::read_to_string(plain.desk.path("RUN/selected.txt")).unwrap();
    assert!(!selected.contains('"') && selected.lines().count() == 3);
}

#[test]
fn the_published_score_gives_no_p_value_above_one() {
    let run = Finished::new("data/heart.csv", &["--score", "published", "--mondrian"]);
    for row in run.rows("predictions.csv") {
        let p: Vec<f64> = row[6..].iter().filter_map(|cell| cell.parse().ok()).collect();
        assert!(p.iter().all(|p| (0.0..=1.0).contains(p)), "{row:?}");
    }
    let credibility = run.values("metrics.csv", 12);
    assert!(
        credibility.iter().all(|value| value.parse::<f64>().unwrap() <= 1.0),
        "{credibility:?}"
    );
}

#[test]
fn a_check_knows_the_step_and_the_solver() {
    let check = |options: &[&str]| {
        let ran = finish(program().args(["check", "data/dermatology.csv", "--json"]).args(options));
        assert_eq!(ran.code, 0, "{}", ran.stdout);
        let run = json(&ran.stdout)["run"].clone();
        (run["seconds"].as_f64().unwrap(), run["bytes"].as_f64().unwrap())
    };
    let one = check(&[]);
    let half = check(&["--step", "half"]);
    assert!(half.0 < 0.5 * one.0 && half.1 < one.1, "{one:?} {half:?}");
    let linfa = |cost| check(&["--solver", "linfa", "--cost", cost]).0;
    assert!(linfa("100") > 10.0 * linfa("1") && linfa("1") > one.0);
    let ran =
        finish(program().args(["check", "data/heart.csv", "--solver", "linfa", "--cost", "100"]));
    assert!(ran.stdout.contains("at most about "), "{}", ran.stdout);
    for command in ["check", "run"] {
        let ran = finish(program().args([
            command,
            "data/heart.csv",
            "--solver",
            "linfa",
            "--cost",
            "1e6",
        ]));
        refused(
            &ran,
            3,
            "linfa-svm does not converge in reasonable time beyond C = 1000, and --cost is 1000000; use a smaller --cost or \
             --solver newton",
        );
    }
}

#[test]
fn what_cannot_be_opened_is_named_before_the_terminal() {
    let opened = finish(program().args(["open", "NOPE"]));
    assert!(
        opened.stderr.contains("NOPE: there is no such run or model; check the path"),
        "{}",
        opened.stderr
    );
}

#[test]
fn nothing_that_was_typed_is_obeyed_by_a_terminal() {
    let desk = Desk::new();
    let hostile = "b\u{1b}]52;c;aGk=\u{7}\u{202e}";
    for line in [
        vec!["config", hostile],
        vec!["run", "data/heart.csv", "--lambda", hostile],
        vec!["man", hostile],
    ] {
        let ran = finish(program().args(&line));
        assert_eq!(ran.code, 2, "{line:?}");
        assert!(ran.stderr.contains("b\\u{1b}]52"), "{}", ran.stderr);
        assert!(!ran.stderr.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{:?}", ran.stderr);
    }
    let ran = finish(
        program()
            .args(["slurm", "data/heart.csv", "--tasks", "2", "--out"])
            .arg(desk.path(hostile)),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(!ran.stdout.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{:?}", ran.stdout);
    assert!(ran.stdout.contains("\\x1b]52"), "{}", ran.stdout);
}

#[test]
fn a_run_from_standard_input_is_reported_without_it() {
    let desk = Desk::new();
    let out = desk.path("RUN");
    let table = std::fs::File::open("data/heart.csv").unwrap();
    let ran =
        finish(program().args(["run", "-", "--splits", "1", "-q", "--out"]).arg(&out).stdin(table));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let report = |options: &[&str]| finish(program().arg("report").arg(&out).args(options));
    let ran = report(&[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let sentence = "skipped: the run read its table from standard input; name a file that holds the same table with --data";
    assert!(ran.stderr.contains(sentence), "{}", ran.stderr);
    let ran = report(&["--data", "data/heart.csv"]);
    assert!(ran.code == 0 && !ran.stderr.contains("skipped"), "{}", ran.stderr);
    // A journal that names standard input as `-` waits for nobody either.
    for entry in std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.extension().is_some_and(|extension| extension == "jsonl") {
            let text = std::fs::read_to_string(&entry).unwrap();
            let text = text.replace("\"input\":\"standard input\"", "\"input\":\"-\"");
            std::fs::write(&entry, sealed::sealed(text.as_bytes())).unwrap();
        }
    }
    let mut piped = program();
    let mut child = piped
        .arg("report")
        .arg(&out)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Its standard input stays open until it has ended.
    let input = child.stdin.take();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(child.wait().unwrap().success() && said.contains(sentence), "{said}");
    drop(input);
}

/// The files of a report, by name: everything that does not depend on who computed what.
fn report_files(run: &Path) -> std::collections::BTreeMap<String, Vec<u8>> {
    let mut found = std::collections::BTreeMap::new();
    for directory in [run.to_path_buf(), run.join("figures")] {
        for entry in std::fs::read_dir(&directory).unwrap().map(Result::unwrap) {
            let name = entry.file_name().to_str().unwrap().to_owned();
            let is_of_a_process =
                ["journal-", "timing-", ".lock-"].iter().any(|start| name.starts_with(start));
            if entry.file_type().unwrap().is_file() && !is_of_a_process {
                found.insert(name, std::fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

#[test]
fn shards_in_directories_of_their_own_are_reported_as_one_run_and_nothing_is_written_elsewhere() {
    let desk = Desk::new();
    let options = "--splits 3 --validate 2 --permutations 3 --quiet";
    run_into(&desk.path("ONE"), "data/heart.csv", options);
    std::fs::create_dir(desk.path("home")).unwrap();
    std::fs::create_dir(desk.path("tmp")).unwrap();
    let at_home = |home: &Path| {
        let mut program = program();
        program.env("HOME", home).env("TMPDIR", desk.path("tmp"));
        program.env_remove("XDG_CONFIG_HOME").env_remove("XDG_STATE_HOME");
        program
    };
    for shard in 1..=3 {
        // A home that does not exist, one that cannot be written to, and one that could be.
        let home = [Path::new("/nonexistent/home"), Path::new("/proc"), &desk.path("home")]
            [shard - 1]
            .to_owned();
        let part = desk.path(&format!("PART{shard}"));
        let shard = format!("{shard}/3");
        let line = ["run", "data/heart.csv", "--shard", &shard, "--out"];
        let ran = finish(at_home(&home).args(line).arg(&part).args(options.split_whitespace()));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let parts: Vec<PathBuf> = (1..=3).map(|shard| desk.path(&format!("PART{shard}"))).collect();
    let merged = desk.path("MERGED");
    let ran = finish(
        at_home(Path::new("/nonexistent"))
            .args(["report", "-q", "--out"])
            .arg(&merged)
            .args(&parts),
    );
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let one = report_files(&desk.path("ONE"));
    let merged = report_files(&merged);
    assert!(
        one.len() > 20 && one.contains_key("summary.json") && one.contains_key("predictions.csv")
    );
    assert_eq!(one.keys().collect::<Vec<_>>(), merged.keys().collect::<Vec<_>>());
    for (name, bytes) in &one {
        assert!(merged[name] == *bytes, "{name} differs");
    }
    for empty in ["home", "tmp"] {
        assert_eq!(std::fs::read_dir(desk.path(empty)).unwrap().count(), 0, "{empty}");
    }
    let names =
        ["ONE", "PART1", "PART2", "PART3", "MERGED", "home", "tmp"].map(|name| desk.path(name));
    assert_eq!(desk.contents(), BTreeSet::from(names));

    refused(
        &finish(program().arg("report").args(&parts)),
        2,
        "several directories were given, but no place for the report; name one with --out",
    );
    // A directory that holds another run is not written into.
    run_into(&desk.path("OTHER"), "data/heart.csv", "--splits 1 --lambda 0.3 --quiet");
    let other = report_files(&desk.path("OTHER"));
    let ran =
        finish(program().args(["report", "-q", "--out"]).arg(desk.path("OTHER")).args(&parts));
    assert_eq!(ran.code, 5, "{}", ran.stderr);
    assert!(other == report_files(&desk.path("OTHER")));
    // Nor are parts of different runs put together.
    let mixed = finish(
        program()
            .args(["report", "-q", "--out"])
            .arg(desk.path("MIX"))
            .arg(&parts[0])
            .arg(desk.path("OTHER")),
    );
    assert!(mixed.code == 5 && mixed.stderr.contains("another run"), "{}", mixed.stderr);
    // Nor are parts that differ in what follows the paths: one would hide the results of the other.
    let line = "--splits 3 --validate none --permutations 3 --shard 2/2 --quiet";
    run_into(&desk.path("PATHS"), "data/heart.csv", line);
    let mixed = finish(
        program()
            .args(["report", "-q", "--out"])
            .arg(desk.path("MIX"))
            .arg(&parts[0])
            .arg(desk.path("PATHS")),
    );
    assert!(
        mixed.code == 5 && mixed.stderr.contains("--validate is 2 there and none here"),
        "{}",
        mixed.stderr
    );
    // Nor parts with another rule.
    let quick = "--splits 2 --validate none --permutations none --method crfe --quiet";
    run_into(&desk.path("PLAIN"), "data/heart.csv", quick);
    run_into(&desk.path("ALIKE"), "data/heart.csv", &format!("{quick} --stop 3"));
    let mut report = program();
    report.args(["report", "-q", "--out"]).arg(desk.path("MIX"));
    let mixed = finish(report.arg(desk.path("PLAIN")).arg(desk.path("ALIKE")));
    assert!(
        mixed.code == 5 && mixed.stderr.contains("--stop is knee there and 3 here"),
        "{}",
        mixed.stderr
    );
    assert!(!desk.path("MIX").exists());
}

/// Folds and permutations repeat the procedure with all its splits: those of the run before are not
/// those of a run with more.
#[test]
fn a_run_that_is_extended_is_tested_anew() {
    let desk = Desk::new();
    let options = "--method crfe --validate 2 --permutations 3 --quiet --splits";
    run_into(&desk.path("GROWN"), "data/heart.csv", &format!("{options} 2"));
    run_into(&desk.path("GROWN"), "data/heart.csv", &format!("{options} 6"));
    run_into(&desk.path("WHOLE"), "data/heart.csv", &format!("{options} 6"));
    let ran = finish(program().args(["report", "-q"]).arg(desk.path("GROWN")));
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    assert!(report_files(&desk.path("GROWN")) == report_files(&desk.path("WHOLE")));
}

#[test]
fn the_words_of_a_run_with_one_method_and_two_splits_claim_no_more_than_was_done() {
    let desk = Desk::new();
    let run = desk.path("RUN");
    let options = "--splits 2 --method crfe --estimator rcs:4 --stop 1se --validate none --permutations none --quiet";
    run_into(&run, "data/heart.csv", options);
    let read = |name: &str| std::fs::read_to_string(run.join(name)).unwrap();
    let (summary, methods) = (read("summary.txt"), read("methods.md"));
    assert!(summary.contains("strict calibration, estimator rcs:4, target coverage"), "{summary}");
    let stability = summary.lines().find(|line| line.starts_with("    stability")).unwrap();
    assert!(stability.ends_with("(too few splits)"), "two splits give no interval: {stability}");
    let json: Value = serde_json::from_str(&read("summary.json")).unwrap();
    let method = &json["methods"][0];
    assert_eq!(
        (&json["estimator"]["rcs"], &method["verdict"]),
        (&4.into(), &"too_few_splits".into())
    );
    assert!(method["stability"].is_number(), "{method}");
    assert!(
        method["stability_interval"].is_null() && method["stability_band"].is_null(),
        "{method}"
    );
    assert!(read("report.html").contains("(too few splits)"));
    assert!(
        summary.contains("2 splits are too few to judge") && summary.contains("use --splits 20"),
        "{summary}"
    );
    assert!(summary.contains("test it with --validate 5"), "{summary}");
    assert!(!methods.contains("t-test") && !methods.contains("Nadeau"), "{methods}");
    assert!(methods.contains("[2]") && methods.contains("chosen as the smallest"), "{methods}");
}

/// An example takes one line, however wide the terminal: help is wrapped at 100 columns.
#[test]
fn examples_of_the_help_are_not_wrapped() {
    for command in ["run", "fit", "predict", "validate", "explore", "open", "report", "cluster"] {
        let help = finish(program().args([command, "--help"])).stdout;
        let (_, examples) = help.split_once("\nExample").unwrap();
        let is_command =
            |line: &&str| line.starts_with("  crfe-tui ") || line.starts_with("  zcat ");
        let wrapped: Vec<&str> =
            examples.lines().skip(1).filter(|line| !is_command(line)).collect();
        assert!(wrapped.is_empty(), "{command}: {wrapped:?}");
    }
}

#[test]
fn the_version_is_told_as_json() {
    for line in [["--version", "--json"], ["--json", "-V"]] {
        let ran = finish(program().args(line));
        assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
        let about: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert_eq!(about["version"], env!("CARGO_PKG_VERSION"));
        assert!(about["features"].as_array().unwrap().contains(&"cli".into()), "{about}");
        assert!(about["target"].as_str().unwrap().contains('-'), "{about}");
        assert!(["avx512", "avx2", "none"].contains(&about["simd"].as_str().unwrap()), "{about}");
        assert!(
            about["commit"].is_null() || about["commit"].as_str().unwrap().len() >= 7,
            "{about}"
        );
    }
}
