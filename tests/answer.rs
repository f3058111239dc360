//! The answer as the program prints and writes it: its list, its cautions, and the defects it once had, each on the table that showed it.

mod program;

use std::path::Path;

use program::{finish, program, run_into};
use serde_json::Value;

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The cell of a column in a row of a class.
type Cell<'a> = &'a dyn Fn(usize, usize) -> f64;

/// A table with two classes.
fn table(path: &Path, rows: usize, columns: &[(&str, Cell<'_>)]) {
    let mut text: String = columns.iter().map(|(name, _)| format!("{name},")).collect();
    text.push_str("class\n");
    for row in 0..rows {
        let class = row % 2;
        columns.iter().for_each(|(_, cell)| text.push_str(&format!("{},", cell(row, class))));
        text.push_str(["ill\n", "well\n"][class]);
    }
    std::fs::write(path, text).unwrap();
}

/// Something that looks random, between 0 and 1.
fn scatter(row: usize, column: usize) -> f64 {
    let mut x = (row * 1000 + column + 1) as u64;
    for _ in 0..3 {
        x = (x ^ (x >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    (x >> 11) as f64 / (1_u64 << 53) as f64
}

#[test]
fn twins_are_named_beside_a_feature_and_a_report_needs_no_data_for_them() {
    let desk = tempfile::tempdir().unwrap();
    let (data, out) = (desk.path().join("twins.csv"), desk.path().join("RUN"));
    let marker = |row: usize, class: usize| scatter(row, 0) + class as f64;
    table(
        &data,
        120,
        &[
            ("marker", &marker),
            ("copy", &|row, class| -3.0 * marker(row, class) + 0.01 * scatter(row, 1)),
            ("noise1", &|row, _| scatter(row, 2)),
            ("noise2", &|row, _| scatter(row, 3)),
        ],
    );
    let ran = run_into(&out, data.to_str().unwrap(), "--splits 4 --stop 1");
    let first = &json(&out.join("summary.json"))["methods"][0]["features"][0];
    let (name, twin) = (first["name"].as_str().unwrap(), first["twins"][0]["name"].as_str().unwrap());
    let mut pair = [name, twin];
    pair.sort_unstable();
    assert_eq!(pair, ["copy", "marker"]);
    assert!(first["twins"][0]["r"].as_f64().unwrap() < -0.99);
    assert!(ran.stdout.contains(&format!("twin: {twin} (r = −")), "{}", ran.stdout);

    let before = std::fs::read(out.join("summary.json")).unwrap();
    std::fs::rename(&data, desk.path().join("elsewhere.csv")).unwrap();
    let report = finish(program().arg("report").arg(&out));
    assert_eq!(report.code, 0, "{}", report.stderr);
    assert!(report.stderr.contains("left out"), "the data are gone: {}", report.stderr);
    assert!(before == std::fs::read(out.join("summary.json")).unwrap(), "the twins come from the journal");
}
