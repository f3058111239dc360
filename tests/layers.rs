//! The import rule of src/lib.rs: a layer may use any layer to its left, never one to its right;
//! only the dashboard knows a terminal.

use std::path::{Path, PathBuf};

/// From left to right; the top layers use everything and nothing uses them.
const LAYERS: [&str; 16] = [
    "error", "fault", "say", "files", "format", "data", "linalg", "svm", "select", "evaluate",
    "model", "run", "path", "record", "analysis", "report",
];
const TOP: [&str; 4] = ["tui", "commands", "main", "lib"];

fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Every source file with its layer and its code, without comments.
fn code() -> Vec<(PathBuf, String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    sources(&root)
        .into_iter()
        .map(|path| {
            let inside = path.strip_prefix(&root).unwrap();
            let layer =
                inside.iter().next().unwrap().to_string_lossy().trim_end_matches(".rs").to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let code: Vec<&str> =
                text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
            (path, layer, code.join("\n"))
        })
        .collect()
}

fn place(layer: &str) -> usize {
    LAYERS.iter().position(|known| *known == layer).unwrap_or_else(|| {
        assert!(TOP.contains(&layer), "the layer '{layer}' has no place in the order");
        LAYERS.len()
    })
}

/// The layers that a file names: `crate::layer…`, and the members of `crate::{…}`.
fn used(code: &str) -> Vec<String> {
    let word = |text: &str| {
        text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    let mut layers = Vec::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            None => layers.push(word(after)),
            Some(list) => {
                let mut depth = 0;
                let outer: String = list
                    .chars()
                    .take_while(|c| {
                        depth += i32::from(*c == '{') - i32::from(*c == '}');
                        depth >= 0
                    })
                    .collect();
                let mut depth = 0;
                let members = outer.split(|c| {
                    depth += i32::from(c == '{') - i32::from(c == '}');
                    c == ',' && depth == 0
                });
                layers.extend(members.map(|member| word(member.trim())));
            }
        }
    }
    // Error and Result are re-exported at the root; macros and attributes name no layer.
    layers.retain(|layer| layer.chars().next().is_some_and(char::is_lowercase));
    layers
}

/// A fixed number of decimals would show a small p as 0.
#[test]
fn p_values_are_written_in_one_place() {
    for (path, _, code) in code().iter().filter(|(path, ..)| !path.ends_with("evaluate/p_text.rs"))
    {
        let code = code.split("#[cfg(test)]").next().unwrap();
        for written in ["{p:.1}", "{p:.2}", "{p:.3}", "{p:.4}", "p = {:.", "p of {:."] {
            assert!(
                !code.contains(written),
                "{} writes {written}: use evaluate::rounded_p",
                path.display()
            );
        }
    }
}

#[test]
fn no_layer_uses_one_to_its_right() {
    let mut uses = 0;
    for (path, layer, code) in code() {
        for other in used(&code) {
            let (here, there) = (place(&layer), place(&other));
            let at_top = here == LAYERS.len();
            assert!(
                there < here || other == layer || at_top,
                "{}: '{layer}' uses '{other}', which lies to its right",
                path.display()
            );
            uses += 1;
        }
    }
    assert!(uses > 50, "only {uses} uses were found: is the reading right?");
}

/// Enough `super`s lead to the crate's root and from there anywhere: a layer is left by `crate::`,
/// which the rule reads.
#[test]
fn no_file_leaves_its_layer_by_super() {
    for (path, _, code) in code() {
        let below_src =
            path.components().rev().take_while(|part| part.as_os_str() != "src").count();
        let depth = below_src - usize::from(path.ends_with("mod.rs"));
        let escape = "super::".repeat(depth.max(1));
        let code = code.split("#[cfg(test)]").next().unwrap();
        assert!(!code.contains(&escape), "{}: {escape} leaves its layer", path.display());
    }
}

#[test]
fn only_the_dashboard_knows_a_terminal() {
    for (path, layer, code) in code() {
        for toolkit in ["ratatui", "crossterm"] {
            assert!(
                layer == "tui" || !code.contains(toolkit),
                "{} names {toolkit}",
                path.display()
            );
        }
    }
}

#[test]
fn only_the_commands_know_clap() {
    for (path, layer, code) in code() {
        assert!(layer == "commands" || !code.contains("clap"), "{} names clap", path.display());
    }
}

#[test]
fn nothing_uses_the_commands() {
    for (path, layer, code) in code() {
        let is_command = ["commands", "main", "lib"].contains(&layer.as_str());
        assert!(is_command || !used(&code).contains(&"commands".to_owned()), "{}", path.display());
    }
}

/// Large files are read by threads that end before the reader returns: nobody sees them.
const READER: &str = "src/data/batch.rs";

#[test]
fn the_pure_layers_know_no_threads_and_no_channels() {
    for (path, layer, code) in code() {
        if ["linalg", "data", "svm", "select", "evaluate"].contains(&layer.as_str())
            && !path.ends_with(READER)
        {
            for effect in
                ["std::thread", "crossbeam_channel", "std::process", "println!", "eprintln!"]
            {
                assert!(!code.contains(effect), "{} names {effect}", path.display());
            }
        }
    }
}

#[test]
fn reads_lists_of_layers() {
    assert_eq!(
        used("use crate::{data::{A, b::C}, svm};\nuse crate::run::X;"),
        ["data", "svm", "run"]
    );
    assert_eq!(used("use crate::Error;"), Vec::<String>::new());
}
