//! Fills fuzz/corpus with what the fuzzer begins with: the fixtures of tests, and a journal whole
//! and in parts.

use std::fs;
use std::path::{Path, PathBuf};

const TARGETS: [&str; 6] =
    ["table", "journal", "groups_and_splits", "magnitudes", "model", "workbook"];

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fixtures = root.join("../tests/fixtures");
    let corpus = |target: &str| root.join("corpus").join(target);
    for target in TARGETS {
        fs::create_dir_all(corpus(target))?;
        for file in files(&fixtures.join("fuzzed").join(target)) {
            fs::copy(&file, corpus(target).join(file.file_name().unwrap_or_default()))?;
        }
    }
    // The last byte holds the options, of a table the last two: see tests/any_bytes.
    let plant = |target: &str, name: &str, bytes: &[u8], options: u8| {
        fs::write(corpus(target).join(name), [bytes, &[options]].concat())
    };
    for file in files(&fixtures.join("csv")) {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        plant("table", &name, &[fs::read(&file)?, vec![0]].concat(), 0)?;
    }
    for name in ["plain.xlsx", "plain.ods", "plain.xls"] {
        plant("workbook", name, fs::read(fixtures.join("files").join(name))?.as_slice(), 0)?;
    }
    for options in 0..9 {
        let cells: Vec<u8> = (0..160_u8).map(|i| i.wrapping_mul(37).wrapping_add(options)).collect();
        plant("magnitudes", &format!("any-{options}"), &[&[2, options], &cells[..]].concat(), 0)?;
    }
    plant("model", "whole", crfe_fuzz::good_model(), 0)?;
    let journal = crfe_fuzz::good_journal();
    let first = journal.iter().position(|&byte| byte == b'\n').map_or(0, |feed| feed + 1);
    plant("journal", "whole", journal, 0)?;
    plant("journal", "tasks", &journal[first..], 1)?;
    let given = [
        ("groups", "feature,group\na,g\nb,g\nk,h\n"),
        ("halves", r#"{"splits":[{"train":[0,1],"calibration":[2,3,4,5],"test":[6,7]}]}"#),
        ("parts", r#"{"splits":[{"train":[0,1],"selection":[2,3],"conformal":[4,5],"test":[6,7]}]}"#),
    ];
    given.iter().try_for_each(|(name, text)| {
        (0..2).try_for_each(|options| {
            plant("groups_and_splits", &format!("{name}-{options}"), text.as_bytes(), options)
        })
    })
}

/// The files of a directory, none if it is not there.
fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect()
}
