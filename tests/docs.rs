//! The documentation keeps its promises: links lead somewhere, cited pages and sections exist, and
//! so do the options it names; example patches still fit the code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below a directory whose names end in one of these, ascending.
fn files(directory: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "target" {
            found.extend(files(&path, endings));
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The pages a reader may open.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![];
    for name in
        ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "data/README.md", "benches/RESULTS.md"]
    {
        pages.push(root().join(name));
    }
    pages.extend(files(&root().join("docs"), &[".md"]));
    pages
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A page without its fenced and indented blocks, in which nothing is a link or a heading.
fn prose(page: &str) -> String {
    let mut fenced = false;
    let mut kept = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced && !line.starts_with("    ") {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}

/// The anchors that GitHub gives to the headings of a page.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    headings.map(|heading| anchor(heading.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The targets of links and images in a page.
fn links(page: &str) -> Vec<String> {
    let text = prose(page);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target.to_owned()).collect()
}

/// The links of a page in `directory` that lead nowhere.
fn dead_links(directory: &Path, page: &str) -> Vec<String> {
    let leads_somewhere = |target: &String| {
        if target.starts_with("https://") {
            return true;
        }
        let (file, heading) = target.split_once('#').unwrap_or((target, ""));
        if file.is_empty() {
            return anchors(page).contains(heading);
        }
        let path = directory.join(file);
        path.exists() && (heading.is_empty() || anchors(&read(&path)).contains(heading))
    };
    links(page).into_iter().filter(|target| !leads_somewhere(target)).collect()
}

#[test]
fn every_link_leads_somewhere() {
    for path in pages() {
        let dead = dead_links(path.parent().unwrap(), &read(&path));
        assert!(dead.is_empty(), "{}: {dead:?}", path.display());
    }
}

#[test]
fn dead_links_are_found() {
    let page = "# A – title\n[a](#a--title) ![b](README.md) [c](README.md#limits)\n```\n[d](nowhere)\n```\n";
    assert_eq!(dead_links(root(), page), [""; 0]);
    let page =
        "# Title\n[a](#titel) ![b](readme.png)\n[c](README.md#no-such-heading) [d](docs/none.md)";
    assert_eq!(
        dead_links(root(), page),
        ["#titel", "readme.png", "README.md#no-such-heading", "docs/none.md"]
    );
}

/// The comments of a Rust file, in one line.
fn comments(code: &str) -> String {
    let comment = |line: &str| {
        let at = line.find("//").filter(|&at| !line[..at].ends_with(':'))?;
        Some(line[at..].trim_start_matches(['/', '!']).trim().to_owned())
    };
    code.lines().filter_map(comment).collect::<Vec<String>>().join(" ")
}

/// What a page is cited as: a word that ends in `.md`, and what follows it.
fn citations(text: &str) -> Vec<(String, &str)> {
    let in_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
    let mut found = Vec::new();
    for (at, _) in text.match_indices(".md") {
        let end = at + ".md".len();
        if text[end..].starts_with(|c: char| c.is_ascii_alphanumeric()) {
            continue;
        }
        let name = text[..at].rsplit(|c| !in_name(c)).next().unwrap_or_default();
        found.push((format!("{name}.md"), &text[end..]));
    }
    found
}

/// The numbers in "section 3", "sections 6 and 7" or "sections 2 to 4" at the beginning of a text.
fn cited_sections(text: &str) -> Vec<usize> {
    let text = text.trim_start_matches(['`', ',', ' ', '\n']);
    let Some(text) = text.strip_prefix("sections ").or_else(|| text.strip_prefix("section "))
    else {
        return Vec::new();
    };
    let mut sections = Vec::new();
    let mut words = text.split_whitespace();
    while let Some(word) = words.next() {
        let digits: String = word.chars().take_while(char::is_ascii_digit).collect();
        let Ok(section) = digits.parse() else { break };
        sections.push(section);
        let rest = &word[digits.len()..];
        if rest != "," && !(rest.is_empty() && matches!(words.next(), Some("and" | "to"))) {
            break;
        }
    }
    sections
}

/// Whether a page has a heading such as `## 5. Stopping rules`.
fn has_section(page: &str, section: usize) -> bool {
    prose(page).lines().any(|line| line.starts_with(&format!("## {section}. ")))
}

/// Where a citation in a file of `directory` may point: beside the file, in docs/, or from the
/// root.
fn cited_page(directory: &Path, name: &str) -> Option<PathBuf> {
    let places = [directory.to_owned(), root().join("docs"), root().to_owned()];
    places.into_iter().map(|place| place.join(name)).find(|path| path.is_file())
}

/// The citations in a text from a file of `directory` whose page, or section of it, is not in the
/// repository.
fn unfounded(directory: &Path, text: &str) -> Vec<String> {
    let mut unfounded = Vec::new();
    for (name, after) in citations(text) {
        // Addresses on the web are not ours to check, and methods.md is a file of every run.
        if name.starts_with("//") || name.ends_with("methods.md") {
            continue;
        }
        match cited_page(directory, &name) {
            None => unfounded.push(name),
            Some(path) => {
                let page = read(&path);
                let absent = cited_sections(after)
                    .into_iter()
                    .filter(|&section| !has_section(&page, section));
                unfounded.extend(absent.map(|section| format!("{name} section {section}")));
            }
        }
    }
    unfounded
}

#[test]
fn every_page_and_section_that_is_cited_exists() {
    let mut texts: Vec<(PathBuf, String)> =
        pages().into_iter().map(|path| (path.clone(), read(&path))).collect();
    for directory in ["src", "tests", "benches", "fuzz/src", "fuzz/fuzz_targets", "fuzz/examples"] {
        for path in files(&root().join(directory), &[".rs"]) {
            // The citations in this file's tests are wrong on purpose.
            if !path.ends_with("tests/docs.rs") {
                texts.push((path.clone(), comments(&read(&path))));
            }
        }
    }
    for directory in ["tests", "benches", ".ci", "screenshots"] {
        for path in files(&root().join(directory), &[".sh", ".py", ".mjs", "/run", "/readme"]) {
            texts.push((path.clone(), read(&path)));
        }
    }
    assert!(texts.len() > 100, "the sources were not found");
    for (path, text) in texts {
        let unfounded = unfounded(path.parent().unwrap(), &text);
        assert!(unfounded.is_empty(), "{} cites {unfounded:?}", path.display());
    }
}

#[test]
fn unfounded_citations_are_found() {
    let founded = "As docs/method.md section 3 says (method.md, sections 5, 6 and 10; `README.md`), see https://a.org/b.md";
    assert_eq!(unfounded(root(), founded), [""; 0]);
    let code = "//! By SPECIFICATION.md section 3.\nlet a = \"x.md\"; // docs/method.md\n/// sections 2 to 99.\n";
    assert_eq!(
        unfounded(root(), &comments(code)),
        ["SPECIFICATION.md", "docs/method.md section 99"]
    );
    assert_eq!(unfounded(root(), "docs/guide.md section 1"), ["docs/guide.md section 1"]);
}

/// The options in the help of each command; the program itself is the command "".
fn options() -> BTreeMap<String, BTreeSet<String>> {
    let help = |command: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_crfe-tui"))
            .args(command)
            .arg("--help")
            .output()
            .unwrap();
        assert!(output.status.success(), "{command:?} has no help");
        String::from_utf8(output.stdout).unwrap()
    };
    let mut options = BTreeMap::from([(String::new(), flags(&help(&[])))]);
    let commands = help(&[]);
    let commands = commands
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty());
    for line in commands.filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let command = line.split_whitespace().next().unwrap();
        if command != "help" {
            options.insert(command.to_owned(), flags(&help(&[command])));
        }
    }
    assert!(options.len() > 5, "the commands were not found: {options:?}");
    options
}

/// All words such as `--splits` in a text.
fn flags(text: &str) -> BTreeSet<String> {
    let begins = |&(at, _): &(usize, &str)| {
        !text[..at].ends_with(|c: char| c == '-' || c == '=' || c.is_alphanumeric())
    };
    let name = |(at, _): (usize, &str)| {
        let name: String =
            text[at + 2..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        format!("--{}", name.trim_end_matches('-'))
    };
    text.match_indices("--").filter(begins).map(name).filter(|flag| flag.len() > 2).collect()
}

/// The code in a page: the lines of fenced blocks, and what stands between backticks.
fn code(page: &str) -> Vec<String> {
    let mut code = Vec::new();
    let mut fenced = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            code.push(line.trim().to_owned());
        } else {
            code.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
    }
    code
}

/// The options that a page gives to crfe-tui although the command, or if it names none every
/// command, lacks them.
fn unknown_options(page: &str, options: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let mut unknown = Vec::new();
    for code in code(page) {
        let code = code.split("  #").next().unwrap_or_default();
        let call =
            code.strip_prefix("cargo run --release -- ").or_else(|| code.strip_prefix("crfe-tui "));
        let known = |flag: &String| match call {
            Some(call) => {
                let command =
                    call.split_whitespace().next().filter(|word| options.contains_key(*word));
                let command = command.unwrap_or(if call.starts_with('-') { "" } else { "explore" });
                options[command].contains(flag)
            }
            None => options.values().any(|flags| flags.contains(flag)),
        };
        if call.is_some() || code.starts_with("--") {
            unknown
                .extend(flags(code).into_iter().filter(|flag| !known(flag) && flag != "--release"));
        }
    }
    unknown
}

#[test]
fn every_option_that_is_named_exists() {
    let options = options();
    for path in pages()
        .into_iter()
        .filter(|path| path.ends_with("README.md") || path.starts_with(root().join("docs")))
    {
        let unknown = unknown_options(&read(&path), &options);
        assert!(unknown.is_empty(), "{}: {unknown:?}", path.display());
    }
}

#[test]
fn unknown_options_are_found() {
    let options = options();
    let page = "`--stop beta` `crfe-tui run a.csv --splits 3`\n```sh\ncargo run --release -- a.csv --paused\ncargo test --all\n```\n";
    assert_eq!(unknown_options(page, &options), [""; 0]);
    let page = "`--stopp` and `crfe-tui report RUN --splits 3`\n```sh\ncrfe-tui run a.csv --paused  # --x\n```\n";
    assert_eq!(unknown_options(page, &options), ["--stopp", "--splits", "--paused"]);
}

/// The hunks of the diffs of a page: the file, and the lines that must be there for the hunk to
/// apply. A new file has none.
fn hunks(page: &str) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    let (mut file, mut inside) = (None, false);
    for line in page.lines() {
        match line {
            "```diff" => inside = true,
            "```" => inside = false,
            _ if !inside || line.starts_with("+++ ") => {}
            _ if line.starts_with("--- ") => file = line.strip_prefix("--- a/").map(str::to_owned),
            _ if line.starts_with("@@ ") => {
                found.extend(file.clone().map(|file| (file, Vec::new())))
            }
            _ => {
                let old = line.strip_prefix([' ', '-']);
                if let (Some(old), Some(_), Some((_, lines))) = (old, &file, found.last_mut()) {
                    lines.push(old.to_owned());
                }
            }
        }
    }
    found
}

#[test]
fn the_examples_of_contributing_still_apply() {
    let hunks = hunks(&read(&root().join("CONTRIBUTING.md")));
    assert!(hunks.len() > 4, "only {} hunks were found: is the reading right?", hunks.len());
    for (file, old) in hunks {
        let text = read(&root().join(&file));
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines.windows(old.len()).any(|window| window == old),
            "{file} has no lines\n{}",
            old.join("\n")
        );
    }
}

#[test]
fn hunks_are_read() {
    let page = "```diff\n--- a/x.rs\n+++ b/x.rs\n@@ -1,2 +1,2 @@ fn f\n a\n-b\n+c\n--- /dev/null\n+++ b/y.rs\n@@ -0,0 +1 @@\n+d\n```\n- e\n";
    assert_eq!(hunks(page), [("x.rs".to_owned(), vec!["a".to_owned(), "b".to_owned()])]);
}
