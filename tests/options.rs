//! The tables of options and of columns against everything that is made from them: the
//! documentation, the methods paragraph, the program.

#[expect(dead_code, reason = "the answer of a run is another test's")]
mod program;

use std::path::Path;

use crfe::run::options::{OPTIONS, Prose, RunOption, Takes};
use program::{finish, program};

/// docs/options.md as the table has it.
fn page() -> String {
    let mut page = "\
# Options

Every option of a run. Each can be given as a flag (`--lambda 0.25`), in the environment
(`CRFE_LAMBDA=0.25`) or in the configuration file (`lambda = 0.25`). Flags take precedence over the
environment, and the environment over the file. Lists are separated by commas; a name that contains
a comma is written in double quotes: `--drop '\"notes, free\",date'`.
"
    .to_owned();
    let mut chapter = None;
    for option in OPTIONS {
        if chapter != Some(option.chapter) {
            chapter = Some(option.chapter);
            page += &format!(
                "\n## {}\n\n| option | default | example | |\n| --- | --- | --- | --- |\n",
                option.chapter.title()
            );
        }
        let code = |text: String| {
            if text.is_empty() { text } else { format!("`{}`", text.replace('|', "\\|")) }
        };
        let (shown, example) = match option.takes.shown() {
            None => (String::new(), String::new()),
            Some(shown) => (format!(" {shown}"), option.example.to_owned()),
        };
        let default = code(option.default_text());
        let help = option.details.unwrap_or(option.help).replace('|', "\\|").replace('\n', "<br>");
        page +=
            &format!("| `--{}{shown}` | {default} | {} | {help} |\n", option.name, code(example));
    }
    page
}

#[test]
fn the_documentation_is_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/options.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, page()).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(
        written == page(),
        "docs/options.md is not what the table says; write it with UPDATE_DOCS=1 cargo test --test options"
    );
}

/// docs/formats.md with the columns of each table between its markers, as the tables have them;
/// neighbours with the same meaning share a line.
fn with_columns(page: &str) -> String {
    /// Described above the tables.
    const SHARED: [&str; 4] = ["method", "split", "n_features", "feature"];
    let mut page = page.to_owned();
    for (table, columns) in crfe::report::columns() {
        let mut lines: Vec<(String, &str)> = Vec::new();
        for (name, meaning) in columns {
            if meaning.is_empty() {
                assert!(SHARED.contains(&name.as_str()), "{table} does not say what {name} means");
                continue;
            }
            match lines.last_mut() {
                Some((names, last)) if *last == meaning => *names += &format!(", `{name}`"),
                _ => lines.push((format!("`{name}`"), meaning)),
            }
        }
        let lines = lines.iter().map(|(names, meaning)| format!("| {names} | {meaning} |\n"));
        let list = format!("| column | meaning |\n| --- | --- |\n{}", lines.collect::<String>());
        let (begin, end) = (format!("<!-- columns: {table} -->\n"), "<!-- end -->");
        let (before, after) =
            page.split_once(&begin).unwrap_or_else(|| panic!("no place for {table}"));
        let (_, after) = after.split_once(end).unwrap();
        page = format!("{before}{begin}{list}{end}{after}");
    }
    page
}

#[test]
fn the_columns_of_the_documentation_are_those_of_the_tables() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/formats.md");
    let page = std::fs::read_to_string(&file).unwrap();
    let expected = with_columns(&page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &expected).unwrap();
    }
    let written = std::fs::read_to_string(&file).unwrap();
    assert!(
        written == expected,
        "docs/formats.md does not have the columns of the tables; write them with UPDATE_DOCS=1 cargo test --test options"
    );
}

/// What the methods paragraph says of the settings, when one option has its example as its value.
/// The files and columns that the examples name are there.
fn paragraph(option: Option<&RunOption>, stop: &str, estimator: &str) -> String {
    let desk = tempfile::tempdir().unwrap();
    let mut table =
        "age,sex,stage,grade,patient,sample,date,weight,hospital,diagnosis\n".to_owned();
    for row in 0..96_usize {
        let values: Vec<String> =
            (0..9).map(|j| ((row * (7 + 2 * j) + row * row * j) % 23).to_string()).collect();
        table += &format!("{},{}\n", values.join(","), ["well", "ill", "very ill"][row % 3]);
    }
    let part = |rest: usize| (0..96).filter(|row| row / 3 % 4 == rest).collect::<Vec<usize>>();
    let splits = serde_json::json!({"splits": [{"train": part(0), "selection": part(1), "conformal": part(2), "test": part(3)}]});
    let splits_given = serde_json::to_string(&splits).unwrap();
    for (name, text) in [
        ("t.csv", table.as_str()),
        ("groups.csv", "feature,group\nage,a\nsex,a\n"),
        ("splits.json", &splits_given),
        ("other.csv", table.as_str()),
    ] {
        std::fs::write(desk.path().join(name), text).unwrap();
    }
    let mut command = program();
    command.current_dir(&desk).args(["run", "t.csv", "--quiet", "--out", "RUN"]);
    for (name, value) in [("CRFE_STOP", stop), ("CRFE_SPLITS", "1"), ("CRFE_ESTIMATOR", estimator)]
    {
        command.env(name, value);
    }
    if let Some(option) = option {
        let value = if option.takes == Takes::Nothing {
            String::new()
        } else {
            format!("={}", option.example)
        };
        command.arg(format!("--{}{value}", option.name));
    }
    let ran = finish(&mut command);
    assert_eq!(ran.code, 0, "{option:?}: {}", ran.stderr);
    let page = std::fs::read_to_string(desk.path().join("RUN/report.html")).unwrap();
    let paragraph = page.split("id=\"paragraph\">").nth(1).unwrap().split("</p>").next().unwrap();
    // What was found stands behind how it was looked for.
    paragraph.split("[4].").next().unwrap().to_owned()
}

#[test]
fn the_methods_paragraph_tells_every_option_that_it_should() {
    let settings = [("knee", "linear"), ("beta", "linear"), ("1se", "linear"), ("knee", "rbf")];
    let usual =
        settings.map(|(stop, estimator)| (stop, estimator, paragraph(None, stop, estimator)));
    let mut told = 0;
    for option in OPTIONS.iter().filter(|option| !matches!(option.prose, Prose::Silent)) {
        let (stop, estimator, usual) = match option.name {
            "early" => &usual[1],
            "by" => &usual[2],
            "prefilter" => &usual[3],
            _ => &usual[0],
        };
        assert_ne!(
            &paragraph(Some(option), stop, estimator),
            usual,
            "the methods paragraph does not tell --{}",
            option.name
        );
        told += 1;
    }
    assert!(told > 20);
}

/// Every file that a run reads is refused as an output of the same run, before it is read.
#[test]
fn no_file_of_an_option_is_written_over() {
    let desk = tempfile::tempdir().unwrap();
    let file = desk.path().join("summary.json");
    std::fs::write(&file, "# mine").unwrap();
    let refused = |command: &mut std::process::Command| {
        let ran = finish(command.arg("--force").arg("--out").arg(desk.path()));
        assert!(ran.code == 5 && ran.stderr.contains("this file is read"), "{}", ran.stderr);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "# mine");
    };
    refused(program().arg("run").arg(&file));
    refused(program().args(["run", "data/heart.csv"]).env("CRFE_CONFIG", &file));
    let files: Vec<_> = OPTIONS.iter().filter(|option| option.takes == Takes::File).collect();
    assert!(files.len() > 1);
    for option in files {
        let name = format!("--{}", option.name);
        refused(program().args(["run", "data/heart.csv", &name]).arg(&file));
    }
    // What names a file is known as one.
    let named =
        |option: &&RunOption| [".csv", ".json"].iter().any(|end| option.example.ends_with(end));
    assert!(OPTIONS.iter().filter(named).all(|option| option.takes == Takes::File));
}
