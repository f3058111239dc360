//! What remains of a run: figures and the page. Well-formed, small, reproducible, consistent with
//! the tables; names are never markup.

mod program;

use std::collections::BTreeMap;
use std::path::Path;

use crfe::analysis::{Answer, History, Statement};
use crfe::record::Journals;
use program::{finish, program, run_into};
use roxmltree::{Document, Node};

/// The figures of a run, by name.
fn figures(run: &Path) -> BTreeMap<String, String> {
    std::fs::read_dir(run.join("figures"))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            (
                path.file_stem().unwrap().to_str().unwrap().to_owned(),
                std::fs::read_to_string(path).unwrap(),
            )
        })
        .collect()
}

/// All are XML, small, and every label is text.
fn well_formed(figures: &BTreeMap<String, String>) {
    for (name, svg) in figures {
        assert!(svg.len() < 200_000, "{name} has {} bytes", svg.len());
        let document = Document::parse(svg).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(document.root_element().tag_name().name(), "svg", "{name}");
        assert!(document.descendants().any(|node| node.has_tag_name("title")), "{name}");
        assert!(texts(&document).count() > 5, "{name} has no labels");
        assert!(!document.descendants().any(|node| node.has_tag_name("script")), "{name}");
    }
}

fn texts<'a, 'b>(document: &'a Document<'b>) -> impl Iterator<Item = (Node<'a, 'b>, &'a str)> {
    let elements = document.descendants().filter(|node| node.tag_name().name() == "text");
    elements.filter_map(|node| Some((node, node.text()?.trim())))
}

/// A fact has one sentence: every statement is on the page, and the summary has a part of them.
#[test]
fn every_statement_is_on_the_page_and_the_summary_has_no_other() {
    let desk = tempfile::tempdir().unwrap();
    let run = desk.path().join("RUN");
    for options in [
        "--splits 5 --stop knee --permutations 5 --validate 3",
        "--splits 2 --stop 6 --permutations none --validate none",
    ] {
        run_into(&run, "data/heart.csv", &format!("--quiet --force --method crfe {options}"));
        let mut history = History::default();
        let mut records = Journals::open(&run).unwrap().unwrap();
        records.replay(|event| history.apply(&event)).unwrap();
        let answer = Answer::new(&history, &history.own_choice().unwrap()).unwrap();
        let read = |name: &str| std::fs::read_to_string(run.join(name)).unwrap();
        let (page, summary) = (read("report.html"), read("summary.txt"));
        let statements = &answer.methods[0].statements;
        for said in statements {
            let words = said.whole(3).replace('<', "&lt;").replace('>', "&gt;");
            let line = format!("<dt>{}</dt><dd>{words}</dd>", said.label);
            assert!(page.contains(&line), "{line} is not on the page");
        }
        let of_summary = |said: &&Statement| {
            summary
                .lines()
                .any(|line| line.trim() == format!("{:<18}  {}", said.label, said.whole(3)))
        };
        let found: Vec<&Statement> = statements.iter().filter(of_summary).collect();
        let lines = summary.lines().filter(|line| {
            let label = line.strip_prefix("    ").and_then(|line| line.get(..18)).map(str::trim);
            statements.iter().any(|said| Some(said.label) == label)
        });
        assert_eq!(lines.count(), found.len(), "{summary}");
        assert!(found.len() + 2 > statements.len(), "{summary}");
    }
}

#[test]
fn two_runs_leave_the_same_figures_and_page() {
    let desk = tempfile::tempdir().unwrap();
    let (one, other) = (desk.path().join("one"), desk.path().join("other"));
    run_into(&one, "data/dermatology.csv", "--quiet --splits 3 --method crfe,rfe,smfs --threads 1");
    run_into(
        &other,
        "data/dermatology.csv",
        "--quiet --splits 3 --method crfe,rfe,smfs --threads 2",
    );
    let drawn = figures(&one);
    assert_eq!(drawn.len(), 7 + 3 * 6, "{:?}", drawn.keys());
    well_formed(&drawn);
    let known = crfe::report::outputs();
    let unknown: Vec<_> =
        drawn.keys().filter(|name| !known.contains(&format!("figures/{name}.svg"))).collect();
    assert!(unknown.is_empty(), "not in the list of our files: {unknown:?}");
    assert_eq!(drawn, figures(&other));
    let page = |run: &Path| std::fs::read_to_string(run.join("report.html")).unwrap();
    assert_eq!(page(&one), page(&other));
    assert!(page(&one).len() < 2_000_000);

    // Made again from the journal alone, and of fewer methods: what no longer applies is gone.
    std::fs::remove_dir_all(one.join("figures")).unwrap();
    let again = finish(program().args(["report", "--quiet"]).arg(&one));
    assert_eq!(again.code, 0, "{}", again.stderr);
    assert_eq!(drawn, figures(&one));
    let anew = "--quiet --splits 2 --method crfe --force";
    run_into(&one, "data/dermatology.csv", anew);
    let fewer = figures(&one);
    assert!(
        !fewer.contains_key("similarity") && !fewer.contains_key("beta_rfe"),
        "{:?}",
        fewer.keys()
    );
}

/// Reads the axes off their labels, then the points of the coverage line, and compares with the
/// means of metrics.csv.
#[test]
fn the_coverage_line_lies_where_the_table_says() {
    let desk = tempfile::tempdir().unwrap();
    let run = desk.path().join("RUN");
    run_into(&run, "data/heart.csv", "--quiet --splits 4 --method crfe");
    let mut coverage = BTreeMap::<usize, Vec<f64>>::new();
    let mut table = csv::Reader::from_path(run.join("metrics.csv")).unwrap();
    let header = table.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|own| own == name).unwrap();
    for row in table.records() {
        let row = row.unwrap();
        let size = row[column("n_features")].parse().unwrap();
        coverage.entry(size).or_default().push(row[column("coverage")].parse().unwrap());
    }

    let svg = std::fs::read_to_string(run.join("figures/conformal.svg")).unwrap();
    let document = Document::parse(&svg).unwrap();
    let at =
        |node: &Node<'_, '_>, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    // The labels of the left axis end where the panel begins; those below stand in the middle of
    // their tick.
    let labels = |anchor: &str, place: &str| -> Vec<(f64, f64)> {
        texts(&document)
            .filter(|(node, _)| node.attribute("text-anchor") == Some(anchor))
            .filter_map(|(node, text)| Some((text.parse().ok()?, at(&node, place))))
            .collect()
    };
    let line = |labels: Vec<(f64, f64)>| {
        let ((v0, p0), (v1, p1)) = (labels[0], labels[labels.len() - 1]);
        move |pixel: f64| (v0 + (pixel - p0) * (v1 - v0) / (p1 - p0), ((v1 - v0) / (p1 - p0)).abs())
    };
    let (across, up) = (line(labels("middle", "x")), line(labels("end", "y")));
    let curve = document
        .descendants()
        .find(|node| {
            node.has_tag_name(("http://www.w3.org/2000/svg", "polyline"))
                && node.attribute("stroke") == Some("#0072B2")
                && node.attribute("points").unwrap().split_whitespace().count() > 5
        })
        .expect("the coverage line");
    let points: Vec<(f64, f64)> = curve
        .attribute("points")
        .unwrap()
        .split_whitespace()
        .map(|point| {
            let (x, y) = point.split_once(',').unwrap();
            (x.parse().unwrap(), y.parse().unwrap())
        })
        .collect();
    assert_eq!(points.len(), coverage.len());
    for ((x, y), (size, splits)) in points.into_iter().zip(coverage) {
        let mean = splits.iter().sum::<f64>() / splits.len() as f64;
        // A pixel for rounding the point, and one for rounding the labels.
        let ((drawn_size, pixel_x), (drawn, pixel_y)) = (across(x), up(y));
        assert!((drawn_size - size as f64).abs() <= 2.0 * pixel_x, "{drawn_size} {size}");
        assert!(
            (drawn - mean).abs() <= 2.0 * pixel_y,
            "at {size}: drawn {drawn}, in the table {mean}"
        );
    }
}

#[test]
fn names_are_text_and_never_markup() {
    let desk = tempfile::tempdir().unwrap();
    let hostile = "<script>bad()</script>";
    let rows: String = (0..120)
        .map(|i| {
            let class = i % 2;
            let label =
                if class == 0 { "</pre><script>alert(2)</script>" } else { "a & \"b\" 'c'" };
            format!(
                "{},{},{},{},\"{}\"\n",
                class * 3 + i % 5,
                i * 7 % 11,
                i * 5 % 13,
                i * 3 % 17,
                label.replace('"', "\"\"")
            )
        })
        .collect();
    let data = desk.path().join("<img src=x onerror=alert(3)>.csv");
    std::fs::write(&data, format!("{hostile},\"]]><b>&amp;\",x\u{1b}[31m,@ORDER@,class\n{rows}"))
        .unwrap();
    let run = desk.path().join("RUN");
    run_into(&run, data.to_str().unwrap(), "--quiet --splits 3");
    well_formed(&figures(&run));
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert_eq!(page.matches("<script").count(), 1, "only our own");
    assert_eq!(page.matches("</script").count(), 1);
    for forbidden in ["<img", "<b>", "bad()</script>", "\u{1b}"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
    assert!(page.contains("&lt;script&gt;bad()"));
    let heatmap = &figures(&run)["heatmap_sizes_crfe"];
    let document = Document::parse(heatmap).unwrap();
    assert!(texts(&document).any(|(_, text)| text == hostile), "the name is shown as it is");
}

/// A table of 60 rows with four features; the first two have missing cells.
fn table_with_gaps(file: &Path) {
    let mut table = String::from("marker,dose,age,weight,outcome\n");
    for i in 0..60_u64 {
        let class = i % 2;
        let noise = i * 7919 % 101;
        let marker = if i < 3 { "NA".to_owned() } else { (class * 100 + noise).to_string() };
        let dose = if i == 59 { "NA".to_owned() } else { (noise * 3 % 41).to_string() };
        table += &format!(
            "{marker},{dose},{},{},{}\n",
            noise % 17,
            i * 31 % 53,
            ["well", "ill"][class as usize]
        );
    }
    std::fs::write(file, table).unwrap();
}

/// The words of an element of the page, without markup.
fn words(page: &str, start: &str, end: &str) -> String {
    let inside =
        page.split(start).nth(1).unwrap_or_else(|| panic!("no {start}")).split(end).next().unwrap();
    let mut is_text = true;
    inside
        .chars()
        .filter(|&c| {
            let keep = is_text && c != '<';
            is_text = c == '>' || (is_text && c != '<');
            keep && c != '>'
        })
        .collect()
}

#[test]
fn the_page_answers_first_and_counts_missing_values() {
    let desk = tempfile::tempdir().unwrap();
    let data = desk.path().join("trial.csv");
    table_with_gaps(&data);
    let run = desk.path().join("RUN");
    run_into(
        &run,
        data.to_str().unwrap(),
        "--quiet --splits 3 --seed 41 --validate 2 --permutations 5",
    );
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    let places: Vec<usize> =
        ["answer", "tested", "cautions", "figures", "tables", "data", "methods"]
            .iter()
            .map(|id| {
                page.find(&format!("<section id=\"{id}\">"))
                    .unwrap_or_else(|| panic!("no section {id}"))
            })
            .collect();
    assert!(places.is_sorted(), "{places:?}");

    let data_section = words(&page, "<section id=\"data\">", "</section>");
    assert!(
        data_section
            .contains("4 cells of 2 features are missing: marker: 3 (5.0 %); dose: 1 (1.7 %)."),
        "{data_section}"
    );

    // Without the table, missing values are not known, and the page says so.
    std::fs::remove_file(&data).unwrap();
    assert_eq!(finish(program().args(["report", "--quiet"]).arg(&run)).code, 0);
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.contains("Missing values are not known: the table was not at hand"));

    let paragraph = words(&page, "id=\"paragraph\">", "</p>");
    let methods = std::fs::read_to_string(run.join("methods.md")).unwrap();
    assert!(methods.contains(&paragraph.replace('<', "")), "{methods}\n{paragraph}");
    assert!(
        methods.contains("1. López-De-Castro M") && methods.contains("nested 2-fold validation")
    );
}

#[test]
fn figures_have_the_width_text_and_formats_that_were_asked_for() {
    let desk = tempfile::tempdir().unwrap();
    let run = desk.path().join("RUN");
    run_into(&run, "data/heart.csv", "--quiet --splits 2");
    let ask = |options: &str| {
        finish(program().args(["report", "--quiet"]).arg(&run).args(options.split_whitespace()))
    };
    assert_eq!(ask("--figure-width 183 --font-size 8").code, 0);
    let size = |text: &str| {
        let document = Document::parse(text).unwrap();
        let root = document.root_element();
        let view: Vec<f64> = root
            .attribute("viewBox")
            .unwrap()
            .split(' ')
            .map(|number| number.parse().unwrap())
            .collect();
        let letters: f64 = texts(&document)
            .filter_map(|(node, _)| node.attribute("font-size")?.parse().ok())
            .fold(0.0, f64::max);
        // Units to points by the printed width.
        (root.attribute("width").unwrap().to_owned(), letters * 183.0 / 25.4 * 72.0 / view[2])
    };
    let all = figures(&run);
    let (width, points) = size(&all["size"]);
    assert_eq!(width, "183mm");
    // The letters of panels are the largest text: 34 units, where ordinary text has 30.
    assert!((points - 8.0 * 34.0 / 30.0).abs() < 0.02, "{points} points");

    let refused = ask("--figure-width 40 --font-size 20");
    assert!(
        refused.code == 2 && refused.stderr.contains("--font-size 5.7 or less"),
        "{}",
        refused.stderr
    );
    let refused = ask("--figure-format bmp");
    assert!(
        refused.code == 2 && refused.stderr.contains("write svg, pdf or png"),
        "{}",
        refused.stderr
    );
    let printed = ask("--figure-format pdf,png");
    if !cfg!(feature = "print") {
        assert!(
            printed.code == 2 && printed.stderr.contains("--features print"),
            "{}",
            printed.stderr
        );
        return;
    }
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    let bytes = |name: &str| std::fs::read(run.join("figures").join(name)).unwrap();
    let (pdf, png) = (bytes("size.pdf"), bytes("size.png"));
    assert!(pdf.starts_with(b"%PDF") && png.starts_with(b"\x89PNG"));
    assert!(!run.join("figures/size.svg").exists(), "only what was asked for");
    assert_eq!(ask("--figure-format pdf,png").code, 0);
    assert!((pdf, png) == (bytes("size.pdf"), bytes("size.png")), "the same bytes again");
    assert_eq!(ask("").code, 0);
    assert!(run.join("figures/size.svg").exists() && !run.join("figures/size.pdf").exists());
}

#[test]
fn wide_tables_have_small_figures_and_a_small_page() {
    let desk = tempfile::tempdir().unwrap();
    let features = 1500;
    let mut table: String =
        (0..features).map(|j| format!("a_gene_with_quite_a_long_name_{j},")).collect();
    table.push_str("class\n");
    for i in 0..60_u64 {
        for j in 0..features as u64 {
            // A pattern without meaning, except in the first columns.
            let noise = (i * 2_654_435_761 + j * 40_503 + i * j * 97) % 1009;
            table.push_str(&format!("{},", noise + if j < 5 { (i % 2) * 900 } else { 0 }));
        }
        table.push_str(if i % 2 == 0 { "healthy\n" } else { "ill\n" });
    }
    let data = desk.path().join("wide.csv");
    std::fs::write(&data, table).unwrap();
    let run = desk.path().join("RUN");
    run_into(&run, data.to_str().unwrap(), "--quiet --splits 5");
    well_formed(&figures(&run));
    let page = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(page.len() < 2_000_000, "{}", page.len());
    assert!(page.contains("The best 200 of "), "the page says what was cut");
}

#[test]
fn a_short_and_narrow_run_has_figures_too() {
    let desk = tempfile::tempdir().unwrap();
    for (name, options) in [
        ("one", "--splits 1 --method rfe"),
        ("early", "--splits 2 --stop 7 --early --step half"),
        ("kept", "--splits 2 --keep age,gender --stop none"),
        ("void", "--splits 2 --paper --mondrian"),
    ] {
        let run = desk.path().join(name);
        run_into(&run, "data/heart.csv", &format!("--quiet {options}"));
        well_formed(&figures(&run));
        let page = std::fs::read_to_string(run.join("report.html")).unwrap();
        assert_eq!(page.contains("guarantee void"), name == "void", "{name}");
        assert!(!page.contains(">NaN") && !page.contains("\"NaN"), "{name}");
    }
}

/// Where the guarantee is void there is no band of a valid split to compare coverage with, in no
/// file.
#[test]
fn the_band_of_coverage_is_shown_only_where_coverage_is_guaranteed() {
    let desk = tempfile::tempdir().unwrap();
    for (name, options, has_band) in [
        ("strict", "--splits 2", true),
        ("shared", "--splits 2 --calibration shared", false),
        ("by_class", "--splits 2 --calibration shared --mondrian", false),
    ] {
        let run = desk.path().join(name);
        run_into(&run, "data/heart.csv", &format!("--quiet {options}"));
        let read = |file: &str| std::fs::read_to_string(run.join(file)).unwrap();
        for (table, column) in [("metrics.csv", "coverage_lo"), ("per_class.csv", "coverage_hi")] {
            let text = read(table);
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let place = reader.headers().unwrap().iter().position(|name| name == column).unwrap();
            let filled =
                reader.records().filter(|row| !row.as_ref().unwrap()[place].is_empty()).count();
            assert_eq!(filled > 0, has_band && table == "metrics.csv", "{name}: {table}");
        }
        let summary: serde_json::Value = serde_json::from_str(&read("summary.json")).unwrap();
        assert_eq!(
            summary["methods"][0]["achieved"]["coverage_band"].is_array(),
            has_band,
            "{name}"
        );
        for file in ["report.html", "summary.txt"] {
            assert_eq!(read(file).contains("95 % band of"), has_band, "{name}: {file}");
        }
        // The band lies behind the curves as one grey area; the others have their curve's colour.
        let figure = read("figures/conformal.svg");
        let document = Document::parse(&figure).unwrap();
        let grey = document.descendants().filter(|node| {
            node.has_tag_name(("http://www.w3.org/2000/svg", "polygon"))
                && node.attribute("fill") == Some("#707070")
        });
        assert_eq!(grey.count(), if has_band { 2 } else { 0 }, "{name}");
    }
}

/// The sets and p-values of every test row give the coverage, set sizes and certainty that
/// metrics.csv has at the chosen size.
#[test]
fn predictions_give_the_metrics_of_the_chosen_size() {
    let desk = tempfile::tempdir().unwrap();
    let run = desk.path().join("RUN");
    run_into(&run, "data/dermatology.csv", "--quiet --splits 3 --method crfe,rfe");
    let summary: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(run.join("summary.json")).unwrap()).unwrap();
    let chosen = |method: &str| -> String {
        let methods = summary["methods"].as_array().unwrap();
        methods.iter().find(|own| own["method"] == method).unwrap()["chosen"]["size"].to_string()
    };
    let classes: Vec<&str> =
        summary["classes"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    #[derive(Default)]
    struct Counted {
        rows: f64,
        covered: f64,
        labels: f64,
        certain: f64,
        p_sum: f64,
    }
    let mut counted = BTreeMap::<(String, String), Counted>::new();
    let mut table = csv::Reader::from_path(run.join("predictions.csv")).unwrap();
    for row in table.records() {
        let row = row.unwrap();
        let set: Vec<&str> = row[5].split(';').filter(|label| !label.is_empty()).collect();
        let p: Vec<f64> = row.iter().skip(6).map(|p| p.parse().unwrap()).collect();
        let expected: Vec<&str> =
            classes.iter().zip(&p).filter(|(_, p)| **p > 0.1).map(|(&class, _)| class).collect();
        assert_eq!(set, expected, "the set holds the labels whose p-value is above ε");
        let own = counted.entry((row[0].to_owned(), row[1].to_owned())).or_default();
        let covered = set.contains(&&row[4]);
        own.rows += 1.0;
        own.covered += f64::from(covered);
        own.labels += set.len() as f64;
        own.certain += f64::from(covered && set.len() == 1);
        own.p_sum += p.iter().sum::<f64>();
    }
    assert_eq!(counted.len(), 6, "two methods, three splits");
    let mut table = csv::Reader::from_path(run.join("metrics.csv")).unwrap();
    let header = table.headers().unwrap().clone();
    let column = |name: &str| header.iter().position(|own| own == name).unwrap();
    let mut compared = 0;
    for row in table.records() {
        let row = row.unwrap();
        if row[2] != chosen(&row[0]) {
            continue;
        }
        let own = &counted[&(row[0].to_owned(), row[1].to_owned())];
        for (name, sum) in [
            ("coverage", own.covered),
            ("inefficiency", own.labels),
            ("certainty", own.certain),
            ("s_score", own.p_sum),
        ] {
            let value: f64 = row[column(name)].parse().unwrap();
            assert!((value - sum / own.rows).abs() < 1e-12, "{name}: {value}, {}", sum / own.rows);
            compared += 1;
        }
    }
    assert_eq!(compared, 6 * 4);
}

#[test]
fn the_shell_gets_completions_pages_and_a_configuration() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = finish(program().args(["completions", shell]));
        assert_eq!(
            (ran.code, ran.stdout.contains("crfe-tui") && ran.stdout.contains("calibration")),
            (0, true),
            "{shell}"
        );
    }
    let page = finish(program().args(["man", "run"]));
    assert!(
        page.code == 0 && page.stdout.contains(".TH") && page.stdout.contains("calibration"),
        "{}",
        page.stdout
    );
    assert_eq!(finish(program().arg("man")).code, 0);
    assert_eq!(finish(program().args(["man", "nothing"])).code, 2);
    let config = finish(program().arg("config"));
    assert!(config.code == 0 && config.stdout.contains("\n#splits = 20\n"));
    let version = finish(program().arg("--version"));
    assert!(
        version.stdout.starts_with(&format!("crfe-tui {}", env!("CARGO_PKG_VERSION"))),
        "{}",
        version.stdout
    );
}
