//! Sites, subgroups and time: a site that differs is named, sites that do not raise no more alarms
//! than they may, and what is left out stays out.

mod program;

use std::collections::BTreeSet;
use std::path::Path;

use crfe::analysis::{Answer, History, MethodAnswer};
use crfe::data::seed::{Purpose, Rng};
use crfe::data::{Dataset, Design, Factor, Times};
use crfe::run::{Engine, Gate, Kind, Permutations, Plan, RunOptions};
use crfe::select::{Method, StopRule};
use ndarray::Array2;
use program::{finish, program, run_into};
use serde_json::Value;

const FEATURES: usize = 4;

fn normal(rng: &mut Rng) -> f64 {
    // Box and Muller's.
    let radius = (-2.0 * (1.0 - rng.uniform()).ln()).sqrt();
    radius * (std::f64::consts::TAU * rng.uniform()).cos()
}

/// A table whose first two features know the class; in site `shifted` the first one points the
/// other way, and the third one is higher.
fn table(seed: u64, rows: usize, sites: usize, shifted: Option<usize>) -> Dataset {
    let mut rng = Rng::new(seed, 1, Purpose::Folds);
    let site: Vec<usize> = (0..rows).map(|_| rng.below(sites)).collect();
    let class: Vec<usize> = (0..rows).map(|_| rng.below(2)).collect();
    let x = Array2::from_shape_fn((rows, FEATURES), |(row, feature)| {
        let sign = 2.0 * class[row] as f64 - 1.0;
        let here = Some(site[row]) == shifted;
        normal(&mut rng)
            + match feature {
                0 if here => -1.5 * sign,
                0 => 1.5 * sign,
                1 => 0.8 * sign,
                2 if here => 2.5,
                _ => 0.0,
            }
    });
    let labels: Vec<&str> = class.iter().map(|&class| ["ill", "well"][class]).collect();
    let mut data = Dataset::from_arrays(x.view(), &labels, None).unwrap();
    let factor = |column: &str, levels: usize, of_row: Vec<usize>| Factor {
        column: column.to_owned(),
        levels: (0..levels).map(|level| format!("{column}{level}")).collect(),
        of_row: of_row.into_iter().map(Some).collect(),
    };
    let sex = (0..rows).map(|_| rng.below(2)).collect();
    data.design = Design {
        sites: Some(factor("site", sites, site)),
        subgroups: vec![factor("sex", 2, sex)],
        times: Some(Times {
            column: "year".to_owned(),
            of_row: (0..rows).map(|_| rng.uniform()).collect(),
        }),
    };
    data
}

fn plan(data: Dataset, seed: u64) -> Plan {
    let mut options = RunOptions {
        methods: vec![Method::Crfe],
        stop: StopRule::Size(2),
        permutations: Permutations::Count(0),
        ..RunOptions::default()
    };
    options.schema.leave_out = Some("site".to_owned());
    options.schema.subgroups = vec!["sex".to_owned()];
    options.schema.time_col = Some("year".to_owned());
    options.split.splits = 3;
    options.split.seed = seed;
    Plan::new(options.check().unwrap(), data).unwrap()
}

fn run(plan: &Plan) -> History {
    let (gate, mut history) = (Gate::default(), History::default());
    let (send, receive) = crossbeam_channel::bounded(256);
    std::thread::scope(|scope| {
        let engine = Engine::new(plan, &gate, send).then(plan.info.followups());
        let tasks = plan.tasks();
        scope.spawn(move || engine.run(&tasks, 2));
        receive.iter().for_each(|event| history.apply(&event));
    });
    assert!(
        history.failed().is_empty() && history.failed_followups().is_empty() && history.complete()
    );
    history
}

fn answer(history: &History) -> MethodAnswer {
    Answer::new(history, &history.own_choice().unwrap()).unwrap().methods.remove(0)
}

#[test]
fn a_site_that_differs_is_named_and_the_features_that_know_it_are_found() {
    let data = table(7, 400, 4, Some(2));
    let sites = data.design.sites.clone().unwrap();
    let plan = plan(data, 3);
    let history = run(&plan);
    let answer = answer(&history);
    let transfer = answer.transfer.as_ref().unwrap();
    assert_eq!((transfer.sites.len(), transfer.of_sites), (4, 4));
    let worst = &transfer.sites[0];
    assert_eq!(worst.site, "site2");
    let shifted: Vec<&str> = transfer
        .sites
        .iter()
        .filter(|site| site.measured.as_ref().unwrap().shifted)
        .map(|site| site.site.as_str())
        .collect();
    assert_eq!(shifted, ["site2"]);
    let named = answer
        .cautions
        .iter()
        .filter(|caution| caution.contains("does not transfer"))
        .collect::<Vec<_>>();
    assert!(named.len() == 1 && named[0].contains("'site2'"), "{named:?}");
    // What is reported is what is counted by hand.
    let epsilon = plan.info.spec.epsilon;
    for (place, name) in sites.levels.iter().enumerate() {
        let of_site = history.tests(Kind::Site, Method::Crfe).find(|&(site, _)| site == place);
        let Some((_, test)) = of_site else { panic!("{name} was not tested") };
        let rows: Vec<usize> = (0..400).filter(|&row| sites.of_row[row] == Some(place)).collect();
        assert_eq!(test.rows.iter().map(|row| row.row).collect::<Vec<_>>(), rows);
        let own = transfer.sites.iter().find(|site| site.site == *name).unwrap();
        let measured = own.measured.as_ref().unwrap();
        let share = |count: usize| count as f64 / rows.len() as f64;
        let covered = test.rows.iter().filter(|row| row.p[row.y] > epsilon).count();
        let right = test.rows.iter().filter(|row| row.f[row.y] > row.f[1 - row.y]).count();
        let sizes: usize =
            test.rows.iter().map(|row| row.p.iter().filter(|&&p| p > epsilon).count()).sum();
        assert_eq!((own.rows, own.features.len()), (rows.len(), 2));
        assert_eq!(
            (measured.coverage.value, measured.accuracy.value, measured.set_size),
            (share(covered), share(right), share(sizes))
        );
        let band = crfe::evaluate::coverage_band(rows.len(), test.conformal.iter().sum(), epsilon)
            .unwrap();
        assert_eq!(measured.coverage_band, Some((band.lo, band.hi)));
    }
    let within = worst.measured.as_ref().unwrap();
    assert!(within.accuracy_within.unwrap() > within.accuracy.value + 0.1, "{within:?}");
    assert!(within.p_difference.unwrap() < 0.01, "{within:?}");
}

#[test]
fn features_that_know_the_site_are_reported() {
    // The third feature is kept by hand: it says nothing about the class and much about the site.
    let mut data = table(11, 400, 3, None);
    let sites = data.design.sites.clone().unwrap();
    for row in 0..400 {
        if sites.of_row[row] == Some(1) {
            data.x[[2, row]] += 3.0;
        }
    }
    data.units[2].kept = true;
    let history = run(&plan(data, 5));
    let answer = answer(&history);
    let probe = answer.transfer.as_ref().unwrap().probe.as_ref().unwrap();
    assert!(probe.tells_apart && probe.accuracy.value > probe.class_rate + 0.15, "{probe:?}");
    assert!(
        answer.cautions.iter().any(|caution| caution.contains("know the site")),
        "{:?}",
        answer.cautions
    );
    let largest = sites.counts().into_iter().max().unwrap();
    assert_eq!(probe.no_information_rate, largest as f64 / 400.0);
}

#[test]
fn sites_subgroups_and_times_that_are_alike_raise_no_more_alarms_than_they_may() {
    let (mut shifted, mut below, mut drifting, mut known) = (0, 0, 0, 0);
    for seed in 0..200 {
        let history = run(&plan(table(1000 + seed, 150, 3, None), seed));
        let answer = answer(&history);
        let transfer = answer.transfer.as_ref().unwrap();
        shifted +=
            usize::from(transfer.sites.iter().any(|site| site.measured.as_ref().unwrap().shifted));
        known += usize::from(transfer.probe.as_ref().unwrap().tells_apart);
        below += usize::from(answer.subgroups.iter().any(|subgroup| subgroup.below));
        drifting += usize::from(answer.drift.as_ref().unwrap().drifts);
    }
    eprintln!("alarms in 200: sites {shifted}, subgroups {below}, drift {drifting}, probe {known}");
    // Binomial(200, 0.05) exceeds 20 once in 1,000 times, Binomial(200, 0.01) 8 and Binomial(200,
    // 0.025) 13.
    assert!(shifted <= 20, "{shifted} of 200 tables name a site");
    assert!(below <= 20, "{below} of 200 tables name a subgroup");
    assert!(drifting <= 8, "{drifting} of 200 tables drift");
    assert!(known <= 13, "{known} of 200 tables have features that know the site");
}

#[test]
fn p_values_that_drift_are_found() {
    let mut data = table(21, 400, 3, None);
    // The signal fades, so later rows are predicted worse.
    for row in 0..400 {
        let share = row as f64 / 400.0;
        data.design.times.as_mut().unwrap().of_row[row] = 2000.0 + 20.0 * share;
        let sign = 2.0 * data.y[row] as f64 - 1.0;
        data.x[[0, row]] -= 1.8 * sign * share;
    }
    let drift = answer(&run(&plan(data, 9))).drift.unwrap();
    assert!(drift.drifts && drift.trend.rho < -0.1, "{drift:?}");
    assert_eq!((drift.trend.n, drift.column.as_deref()), (400, Some("year")));
}

/// A table as a file, with sites, subgroups and dates.
fn write_table(path: &Path) {
    let data = table(7, 240, 3, Some(2));
    let mut text = "x0,x1,x2,x3,hospital,sex,visited,class\n".to_owned();
    for row in 0..240 {
        let level = |factor: &Factor| factor.levels[factor.of_row[row].unwrap()].clone();
        let values: Vec<String> =
            (0..FEATURES).map(|feature| format!("{:.6}", data.x[[feature, row]])).collect();
        let site = level(data.design.sites.as_ref().unwrap());
        let sex = level(&data.design.subgroups[0]);
        let date = format!("20{:02}-{:02}-01", 10 + row / 12, 1 + row % 12);
        text +=
            &format!("{},{site},{sex},{date},{}\n", values.join(","), data.classes[data.y[row]]);
    }
    std::fs::write(path, text).unwrap();
}

const ASKED: &str = "--leave-out hospital --subgroups sex --drop sex --time-col visited --splits 3 --stop 2 --validate 3 --permutations none --quiet";

#[test]
fn the_columns_of_the_design_are_no_features_and_shards_give_the_same_files() {
    let desk = tempfile::tempdir().unwrap();
    let csv = desk.path().join("t.csv");
    write_table(&csv);
    let csv = csv.to_str().unwrap();
    let whole = desk.path().join("WHOLE");
    let parts = desk.path().join("PARTS");
    run_into(&whole, csv, ASKED);
    for shard in ["1/2", "2/2"] {
        let line = ["run", csv, "--shard", shard, "--out"];
        let ran = finish(program().args(line).arg(&parts).args(ASKED.split_whitespace()));
        assert_eq!(ran.code, 0, "{}", ran.stderr);
    }
    let ran = finish(program().args(["report", "-q"]).arg(&parts));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let read = |run: &Path, name: &str| std::fs::read_to_string(run.join(name)).unwrap();
    for name in ["summary.json", "summary.txt", "sites.csv", "subgroups.csv", "report.html"] {
        assert_eq!(read(&whole, name), read(&parts, name), "{name}");
    }
    let manifest: Value = serde_json::from_str(&read(&whole, "manifest.json")).unwrap();
    let units: BTreeSet<&str> = manifest["units"]
        .as_array()
        .unwrap()
        .iter()
        .map(|unit| unit["name"].as_str().unwrap())
        .collect();
    assert_eq!(units, BTreeSet::from(["x0", "x1", "x2", "x3"]));
    let summary = read(&whole, "summary.txt");
    for words in [
        "Tested without each hospital in training (3 of 3)",
        "sex = sex0",
        "does not transfer to hospital 'site2'",
    ] {
        assert!(summary.contains(words), "{words}: {summary}");
    }
    let sites = read(&whole, "sites.csv");
    assert_eq!(sites.lines().count(), 1 + 3 * 2, "{sites}");
    assert!(sites.lines().nth(1).unwrap().starts_with("crfe,site2,"), "{sites}");
    assert!(read(&whole, "report.html").contains("Does the list transfer?"));
    // Another column left out is another run.
    let other = finish(
        program()
            .args(["run", csv, "--leave-out", "sex", "--splits", "3", "-q", "--out"])
            .arg(&whole),
    );
    assert_eq!(other.code, 5, "{}", other.stderr);
    // A subgroup that is not dropped is a feature, too.
    let as_features = desk.path().join("FEATURES");
    run_into(&as_features, csv, &ASKED.replace("--drop sex ", ""));
    assert!(read(&as_features, "manifest.json").contains("\"name\": \"sex"), "sex is a feature");
}

#[test]
fn columns_that_cannot_be_used_are_refused() {
    let desk = tempfile::tempdir().unwrap();
    let csv = desk.path().join("t.csv");
    write_table(&csv);
    let run = |options: &[&str]| {
        finish(program().args(["run", csv.to_str().unwrap(), "-q"]).args(options))
    };
    for (options, words) in [
        (&["--leave-out", "ward"][..], "--leave-out names the column 'ward', which does not exist"),
        (
            &["--target", "class", "--leave-out", "class"],
            "--target and --leave-out both name the column 'class'",
        ),
        (
            &["--leave-out", "x0"],
            "--leave-out names a column with 240 values; group them into at most 100 levels",
        ),
        (&["--subgroups", "sex,warf"], "--subgroups names the column 'warf', which does not exist"),
        (
            &["--time-col", "hospital"],
            "is neither a number nor a date; write dates of --time-col as",
        ),
    ] {
        let ran = run(options);
        assert!(
            [2, 3].contains(&ran.code) && ran.stderr.contains(words),
            "{options:?}: {}",
            ran.stderr
        );
    }
}
