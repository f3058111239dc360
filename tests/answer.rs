//! The answer as the program prints and writes it: its list, its cautions, and the defects it once
//! had, each on the table that showed it.

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
    let data = desk.path().join("twins.csv");
    let out = desk.path().join("RUN");
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
    let (name, twin) =
        (first["name"].as_str().unwrap(), first["twins"][0]["name"].as_str().unwrap());
    let mut pair = [name, twin];
    pair.sort_unstable();
    assert_eq!(pair, ["copy", "marker"]);
    assert!(first["twins"][0]["r"].as_f64().unwrap() < -0.99);
    assert!(ran.stdout.contains(&format!("twin: {twin} (r = −")), "{}", ran.stdout);

    let before = std::fs::read(out.join("summary.json")).unwrap();
    std::fs::rename(&data, desk.path().join("elsewhere.csv")).unwrap();
    let report = finish(program().arg("report").arg(&out));
    assert_eq!(report.code, 0, "{}", report.stderr);
    assert!(
        report.stderr.contains("there is no such file"),
        "the data are gone: {}",
        report.stderr
    );
    assert!(
        before == std::fs::read(out.join("summary.json")).unwrap(),
        "the twins come from the journal"
    );
}

/// Runs the program on a table and gives its answer and what it printed.
fn answer(data: &str, options: &str) -> (Value, String) {
    let ran = finish(program().args(["run", data, "-q"]).args(options.split_whitespace()));
    assert_eq!(ran.code, 0, "{data} {options}: {}", ran.stderr);
    let json =
        finish(program().args(["run", data, "-q", "--json"]).args(options.split_whitespace()));
    (serde_json::from_str(&json.stdout).unwrap(), ran.stdout)
}

fn cautions(of: &Value) -> String {
    let sentences = of["cautions"].as_array().unwrap().iter();
    sentences.map(|caution| caution.as_str().unwrap().to_owned() + "\n").collect()
}

#[test]
fn a_path_whose_conformity_peaks_at_one_feature_has_its_knee_there() {
    // On some splits of this table total conformity is highest with one feature: that is a knee,
    // not a rule that never fired.
    let (answer, _) = answer("tests/fixtures/answer/one_feature.csv", "--stop knee --splits 20");
    for method in answer["methods"].as_array().unwrap() {
        assert_eq!(method["chosen"]["fired"], 20, "{}", method["method"]);
        assert_eq!(method["chosen"]["smallest"], 1);
    }
}

#[test]
fn a_curve_that_is_flat_for_want_of_calibration_rows_does_not_choose_the_size() {
    // 36 rows: all sets hold both classes at every size, so that only accuracy can tell sizes
    // apart.
    let (answer, text) =
        answer("tests/fixtures/answer/small36.csv", "--stop 1se --splits 20 --validate 5");
    let method = &answer["methods"][0];
    assert_eq!(method["achieved"]["inefficiency"], 2.0);
    assert!(method["chosen"]["size"].as_u64().unwrap() > 1);
    assert!(text.contains("with 7 conformal rows and ε = 0.1 no class can be excluded"), "{text}");
    assert!(text.contains("calibrate on as few as 6 rows"), "{text}");
    // Only the flat curve: no size, and the reason.
    let (flat, text) = self::answer(
        "tests/fixtures/answer/small36.csv",
        "--stop 1se --by inefficiency --splits 5",
    );
    assert_eq!(
        (&flat["methods"][0]["chosen"]["size"], &flat["methods"][0]["verdict"]),
        (&Value::Null, &"no_size".into())
    );
    assert!(text.contains("no size stands out") && text.contains("in mean set size"), "{text}");
}

#[test]
fn rows_that_come_in_groups_have_no_false_guarantee() {
    let data = "tests/fixtures/answer/groups30x10.csv";
    let (answer, text) = answer(data, "--group-col patient --stop 2 --splits 10 --validate 5");
    assert!(!text.contains("if rows are exchangeable"), "{text}");
    assert!(
        text.contains(
            "(guaranteed on average for a row of a new group, if groups are exchangeable)"
        ),
        "{text}"
    );
    let method = &answer["methods"][0];
    assert_eq!(method["achieved"]["coverage_band"], Value::Null);
    assert!(
        method["achieved"]["coverage"].as_f64().unwrap() >= 0.9,
        "0.78 where rows counted, not groups"
    );
    assert!(
        cautions(&answer).contains("conformal groups and ε = 0.1 no class can be excluded"),
        "{answer}"
    );
    // 30 patients hold less information than 300 rows: the interval over groups is wider than
    // Wilson's of 300 rows.
    let accuracy = &method["tested"]["performance"]["accuracy"];
    let bound = |name: &str| accuracy[name].as_f64().unwrap();
    let wilson = 2.0 * 1.96 * (bound("value") * (1.0 - bound("value")) / 300.0).sqrt();
    assert!(bound("hi") - bound("lo") > 1.5 * wilson, "{accuracy}");
}

#[test]
fn cross_validation_of_the_size_keeps_the_visits_of_a_patient_together() {
    // Every patient has her own signature in the noise columns: by row, cross-validation would
    // recognise patients and keep many features.
    let data = "tests/fixtures/answer/visits.csv";
    let size = |options: &str| {
        let (answer, _) = answer(data, options);
        answer["methods"][0]["chosen"]["size"].as_u64().unwrap()
    };
    let by_patient = size("--group-col patient --stop cv --splits 6");
    let by_row = size("--drop patient --stop cv --splits 6");
    assert!(by_patient < by_row, "{by_patient} features by patient, {by_row} by row");
}

#[test]
fn noise_is_called_noise_before_any_list() {
    let desk = tempfile::tempdir().unwrap();
    let data = desk.path().join("noise.csv");
    let columns: Vec<(String, usize)> =
        (0..8).map(|column| (format!("n{column}"), column)).collect();
    let cells: Vec<_> = columns
        .iter()
        .map(|(_, column)| move |row: usize, _: usize| scatter(row, *column))
        .collect();
    let named: Vec<(&str, Cell<'_>)> = columns
        .iter()
        .zip(&cells)
        .map(|((name, _), cell)| (name.as_str(), cell as Cell<'_>))
        .collect();
    table(&data, 80, &named);
    let (answer, text) =
        answer(data.to_str().unwrap(), "--stop 3 --splits 6 --permutations 19 --validate 3");
    let method = &answer["methods"][0];
    assert_eq!(method["verdict"], "chance", "{text}");
    let headline = text.find("nothing beyond chance").unwrap();
    let list = text.find("mean rank").unwrap();
    assert!(headline < list, "{text}");
    let told = cautions(method);
    assert!(
        told.contains("nothing beyond chance: ") && told.contains("of 19 label permutations"),
        "{told}"
    );
    assert!(told.contains("is not clearly above"), "{told}");
    assert_eq!(answer["permutations"], "19 label permutations, as asked");
}

/// With five permutations the smallest p is 0.17: that says nothing against the list, and nothing
/// for it.
#[test]
fn few_permutations_are_no_verdict() {
    let (answer, text) =
        answer("data/heart.csv", "--method crfe --splits 6 --permutations 5 --validate none");
    let method = &answer["methods"][0];
    assert_eq!(method["verdict"], "supported", "{text}");
    assert_eq!(method["by_chance"]["at_least_as_good"], 0);
    assert_eq!(method["by_chance"]["compared"], "best_size");
    let told = cautions(method);
    assert!(
        told.contains("too few permutations") && told.contains("p cannot be below 0.17"),
        "{told}"
    );
    assert!(told.contains("--permutations 19 or more"), "{told}");
}

#[test]
fn the_epsilon_that_is_suggested_leaves_few_sets_empty() {
    let desk = tempfile::tempdir().unwrap();
    let data = desk.path().join("clear.csv");
    table(
        &data,
        200,
        &[
            ("marker", &|row, class| scatter(row, 0) + 1.5 * class as f64),
            ("noise", &|row, _| scatter(row, 1)),
        ],
    );
    let run = |epsilon: &str| {
        let options = format!("--stop 1 --splits 3 --validate 5 --epsilon {epsilon}");
        let (answer, _) = answer(data.to_str().unwrap(), &options);
        let method = answer["methods"][0].clone();
        (method["tested"]["performance"]["empty"]["value"].as_f64().unwrap(), cautions(&method))
    };
    let (empty, told) = run("0.3");
    assert!(empty > 0.2, "classes do not overlap: about ε of the sets are empty, {empty}");
    let suggested =
        told.split("with --epsilon ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    let (empty, told) = run(suggested);
    assert!(empty <= 0.05, "with ε = {suggested}: {empty}");
    assert!(!told.contains("are empty"), "{told}");
}

#[test]
fn long_lists_are_cut_and_say_where_the_rest_is() {
    let desk = tempfile::tempdir().unwrap();
    let data = desk.path().join("wide.csv");
    let names: Vec<String> = (0..60).map(|column| format!("gene{column}")).collect();
    let cells: Vec<_> =
        (0..60).map(|column| move |row: usize, _: usize| scatter(row, column)).collect();
    let named: Vec<(&str, Cell<'_>)> =
        names.iter().zip(&cells).map(|(name, cell)| (name.as_str(), cell as Cell<'_>)).collect();
    table(&data, 60, &named);
    let (answer, text) = answer(data.to_str().unwrap(), "--stop 55 --splits 2 --method crfe");
    assert_eq!(answer["methods"][0]["features"].as_array().unwrap().len(), 55);
    assert_eq!(text.matches(" of 2  ").count(), 40, "{text}");
    assert!(text.contains("and 15 more, in selected.txt and summary.json"), "{text}");
}

#[test]
fn auc_can_choose_the_size_and_stands_in_metrics_csv() {
    let desk = tempfile::tempdir().unwrap();
    let out = desk.path().join("RUN");
    run_into(&out, "data/heart.csv", "--splits 4 --stop 1se --by auc");
    let text = std::fs::read_to_string(out.join("metrics.csv")).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let at = |name: &str| header.iter().position(|&column| column == name).unwrap();
    let (auc, fuzziness, s_score) = (at("auc"), at("fuzziness"), at("s_score"));
    for line in lines {
        let cells: Vec<f64> =
            line.split(',').map(|cell| cell.parse().unwrap_or(f64::NAN)).collect();
        assert!((0.5..=1.0).contains(&cells[auc]), "{line}");
        assert!(cells[fuzziness] > 0.0 && cells[fuzziness] < cells[s_score], "{line}");
    }
    assert_eq!(json(&out.join("summary.json"))["methods"][0]["chosen"]["rule"], "1se");
}
