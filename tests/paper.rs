//! The paper's own results: the authors' curves under their protocol, and the informative features
//! of their kind of data.

mod program;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use program::run_into;
use serde_json::Value;

/// The rows of a table of a run, by column name.
fn rows(run: &Path, table: &str) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(run.join(table)).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap()
}

#[test]
fn the_authors_curves_are_met() {
    let home = tempfile::tempdir().unwrap();
    let run = home.path().join("run");
    let table = "tests/fixtures/prepared/synthetic_rowwise.csv";
    run_into(&run, table, "--paper --score published --scale none --quiet");
    let metrics = rows(&run, "metrics.csv");
    let curves = std::fs::read_to_string("tests/fixtures/paper_curves.json").unwrap();
    let curves: Value = serde_json::from_str(&curves).unwrap();
    for method in ["CRFE", "RFE"] {
        let theirs = &curves[format!("synthetic/{method}")];
        let sizes: Vec<usize> = serde_json::from_value(theirs["size"].clone()).unwrap();
        assert_eq!(sizes, (1..=34).rev().collect::<Vec<_>>());
        for (metric, most) in
            [("coverage", 0.02), ("inefficiency", 0.12), ("certainty", 0.04), ("accuracy", 0.02)]
        {
            let distance = |(at, size): (usize, &usize)| -> f64 {
                let values: Vec<f64> = metrics
                    .iter()
                    .filter(|row| row["method"] == method.to_lowercase())
                    .filter(|row| row["n_features"] == size.to_string())
                    .map(|row| number(row, metric))
                    .collect();
                assert_eq!(values.len(), 20);
                let ours = values.iter().sum::<f64>() / 20.0;
                (ours - theirs["mean"][metric][at].as_f64().unwrap()).abs()
            };
            let mean = sizes.iter().enumerate().map(distance).sum::<f64>() / sizes.len() as f64;
            println!("{method} {metric}: mean distance {mean:.4}");
            assert!(
                mean <= most,
                "{method} {metric}: mean distance {mean:.4}, at most {most} is expected"
            );
        }
    }
    assert!(
        metrics.iter().all(|row| row["guaranteed"] == "false"),
        "the paper's protocol has no guarantee"
    );
}

#[test]
fn crfe_keeps_the_informative_features() {
    let home = tempfile::tempdir().unwrap();
    let run = home.path().join("run");
    run_into(&run, "data/synthetic.csv", "--quiet");
    let best: Vec<_> = rows(&run, "ranking.csv")
        .into_iter()
        .filter(|row| row["method"] == "crfe" && number(row, "rank") <= 10.0)
        .collect();
    let splits: BTreeSet<&str> = best.iter().map(|row| row["split"].as_str()).collect();
    assert_eq!((splits.len(), best.len()), (20, 200));
    let informative = best.iter().filter(|row| row["feature"].starts_with("inf_")).count();
    let share = informative as f64 / best.len() as f64;
    println!("informative share of the top 10: {share:.3}");
    assert!(share >= 0.85, "only {share:.3} of the ten best features are informative");
}
