//! Measurements in one file and phenotypes in another, or both in a series matrix: joined by id,
//! with the real program.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::program::{Ran, finish, program};

/// A value without a pattern, except that the first gene follows the group.
fn value(gene: usize, sample: usize) -> f64 {
    let noise = ((sample * 37 + gene * 101) * 7919 % 1009) as f64 / 100.0;
    if gene == 0 { 20.0 * (sample % 2) as f64 + noise } else { noise }
}

fn group(sample: usize) -> &'static str {
    if sample.is_multiple_of(2) { "control" } else { "case" }
}

/// Samples in rows, as pandas writes them.
fn by_rows(samples: impl Iterator<Item = usize>) -> String {
    let mut text = "sample,g0,g1,g2\n".to_owned();
    for sample in samples {
        let _ = writeln!(
            text,
            "s{sample},{},{},{}",
            value(0, sample),
            value(1, sample),
            value(2, sample)
        );
    }
    text
}

/// Samples in columns, as R writes them: nothing above the row names.
fn by_columns(samples: usize) -> String {
    let mut text: String = (0..samples).map(|sample| format!("s{sample}\t")).collect();
    text.truncate(text.len() - 1);
    for gene in 0..3 {
        let _ = write!(text, "\ng{gene}");
        (0..samples).for_each(|sample| write!(text, "\t{}", value(gene, sample)).unwrap());
    }
    text + "\n"
}

/// Phenotypes in another order than the samples.
fn phenotypes(samples: usize) -> String {
    let mut text = "sample,age,disease,notes\n".to_owned();
    for sample in (0..samples).rev() {
        let _ = writeln!(
            text,
            "s{sample},{},{},seen on day {sample}",
            30 + sample * 7 % 40,
            group(sample)
        );
    }
    text
}

struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Runs two splits; what was selected, if the run was not refused, and what was said.
    fn run(&self, matrix: &Path, more: &[&str]) -> (Ran, Option<String>) {
        let out = self.0.path().join("RUN");
        let words = ["--splits", "2", "--method", "rfe", "--stop", "1", "--force", "--out"];
        let ran = finish(program().arg("run").arg(matrix).args(words).arg(&out).args(more));
        let selected =
            std::fs::read_to_string(out.join("selected.txt")).ok().filter(|_| ran.code == 0);
        (ran, selected)
    }
}

#[test]
#[cfg(feature = "formats")]
fn a_matrix_and_its_phenotypes_may_be_two_sheets_of_a_workbook() {
    let desk = Desk::new();
    let book = Path::new("tests/fixtures/files/two_tables.xlsx");
    let name = book.to_str().unwrap();
    let joined = ["--pheno", name, "--target", "disease"];
    let with = |sheets| [&joined[..], &["--sheet", sheets]].concat();
    let (ran, selected) = desk.run(book, &with("Genes,Patients"));
    assert_eq!((ran.code, selected.as_deref()), (0, Some("g0\n")), "{}", ran.stderr);
    assert!(ran.stderr.contains("40 samples are in both"), "{}", ran.stderr);
    // The matrix may be another file.
    let matrix = desk.write("rows.csv", &by_rows(0..40));
    let (ran, selected) = desk.run(&matrix, &with("Patients"));
    assert_eq!((ran.code, selected.as_deref()), (0, Some("g0\n")), "{}", ran.stderr);
    let (ran, _) = desk.run(book, &joined);
    assert!(ran.code == 2 && ran.stderr.contains("are the same file"), "{}", ran.stderr);
    let (ran, _) = desk.run(book, &["--sheet", "Genes,Patients"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("--sheet names two sheets, but there is one table"),
        "{}",
        ran.stderr
    );
    let (ran, _) = desk.run(book, &with("Genes,Persons"));
    assert!(ran.code != 0 && ran.stderr.contains("Patients"), "{}", ran.stderr);
    let pheno = desk.write("pheno.csv", &phenotypes(40));
    let given =
        ["--pheno", pheno.to_str().unwrap(), "--sheet", "Genes,Patients", "--target", "disease"];
    let (ran, _) = desk.run(&matrix, &given);
    assert!(ran.code == 2 && ran.stderr.contains("is for workbooks"), "{}", ran.stderr);
}

#[test]
fn a_matrix_in_either_direction_is_joined_with_its_phenotypes() {
    let desk = Desk::new();
    let pheno = desk.write("pheno.csv", &phenotypes(40));
    let pheno = pheno.to_str().unwrap();
    for (name, text) in [("rows.csv", by_rows(0..40)), ("columns.tsv", by_columns(40))] {
        let matrix = desk.write(name, &text);
        let (ran, selected) = desk.run(&matrix, &["--pheno", pheno, "--target", "disease"]);
        assert_eq!((ran.code, selected.as_deref()), (0, Some("g0\n")), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("40 samples are in both the matrix and "), "{}", ran.stderr);
        assert_eq!(
            ran.stderr.contains("the samples are columns of the matrix, so it was transposed"),
            name == "columns.tsv"
        );
        assert!(ran.stderr.contains("2 columns of phenotypes not used"), "{}", ran.stderr);
        let predictions =
            std::fs::read_to_string(desk.0.path().join("RUN/predictions.csv")).unwrap();
        assert!(predictions.contains(",s1"), "rows keep their ids");
    }
}

#[test]
fn a_phenotype_may_be_in_every_model_and_a_class_must_be_named() {
    let desk = Desk::new();
    let pheno = desk.write("pheno.csv", &phenotypes(40));
    let pheno = pheno.to_str().unwrap();
    let matrix = desk.write("rows.csv", &by_rows(0..40));
    let (ran, _) = desk.run(&matrix, &["--pheno", pheno, "--target", "disease", "--keep", "age"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("40 rows, 4 features, 2 classes: case 20, control 20"),
        "{}",
        ran.stderr
    );
    let (ran, _) = desk.run(&matrix, &["--pheno", pheno]);
    assert_eq!(ran.code, 2);
    assert!(
        ran.stderr.contains(
            "the class column is not known: the phenotypes are sample, age, disease, notes"
        ),
        "{}",
        ran.stderr
    );
}

#[test]
fn ids_on_one_side_are_counted_and_named_and_twins_refused() {
    let desk = Desk::new();
    // The only one of its class is not in the matrix.
    let pheno =
        desk.write("pheno.csv", &phenotypes(41).replace("s40,30,control", "s40,30,unclear"));
    assert!(std::fs::read_to_string(&pheno).unwrap().contains("unclear"));
    let pheno = pheno.to_str().unwrap();
    let matrix = desk.write("rows.csv", &by_rows((0..39).chain([50, 51])));
    let (ran, selected) = desk.run(&matrix, &["--pheno", pheno, "--target", "disease"]);
    assert_eq!((ran.code, selected.as_deref()), (0, Some("g0\n")), "{}", ran.stderr);
    assert!(ran.stderr.contains("2 samples of the matrix are not in "), "{}", ran.stderr);
    assert!(ran.stderr.contains("and are left out: s50, s51\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("and are left out: s40, s39\n"), "{}", ran.stderr);
    let twins = desk.write("twins.csv", &by_rows((0..40).chain([7])));
    let (ran, _) = desk.run(&twins, &["--pheno", pheno, "--target", "disease"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains("twins.csv, line 42: the id 's7' is also on line 9"),
        "{}",
        ran.stderr
    );
    let strangers = desk.write("strangers.csv", &by_rows(100..140));
    let (ran, _) = desk.run(&strangers, &["--pheno", pheno, "--target", "disease"]);
    assert_eq!(ran.code, 3);
    assert!(ran.stderr.contains("(in the matrix: s100, s101, …; there: "), "{}", ran.stderr);
}

#[test]
fn a_series_matrix_is_read_as_it_is() {
    let desk = Desk::new();
    let each = |cell: &dyn Fn(usize) -> String| -> String {
        (0..40).map(|sample| format!("\t\"{}\"", cell(sample))).collect()
    };
    let mut text =
        "!Series_title\t\"Sepsis, a study\"\n!Series_sample_id\t\"GSM1 GSM2\"\n\n".to_owned();
    let _ = writeln!(text, "!Sample_title{}", each(&|i| format!("patient {i}")));
    let _ = writeln!(text, "!Sample_geo_accession{}", each(&|i| format!("GSM{i}")));
    let _ = writeln!(
        text,
        "!Sample_characteristics_ch1{}",
        each(&|i| format!("disease state: {}", group(i)))
    );
    let _ = writeln!(
        text,
        "!Sample_characteristics_ch1{}",
        each(&|i| format!("age: {}", 30 + i * 7 % 40))
    );
    let _ =
        writeln!(text, "!series_matrix_table_begin\n\"ID_REF\"{}", each(&|i| format!("GSM{i}")));
    for gene in 0..3 {
        let _ = write!(text, "\"{}_at\"", 1000 + gene);
        (0..40).for_each(|sample| write!(text, "\t{}", value(gene, sample)).unwrap());
        text.push('\n');
    }
    text += "!series_matrix_table_end\n";
    let cut = desk.write("cut.txt", text.strip_suffix("!series_matrix_table_end\n").unwrap());
    let (ran, _) = desk.run(&cut, &["--target", "disease state"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains("cut.txt: the file was cut off: a series matrix ends"),
        "{}",
        ran.stderr
    );
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packed, text.as_bytes()).unwrap();
    let file = desk.0.path().join("GSE1_series_matrix.txt.gz");
    std::fs::write(&file, packed.finish().unwrap()).unwrap();
    let (ran, selected) = desk.run(&file, &["--target", "disease state"]);
    assert_eq!((ran.code, selected.as_deref()), (0, Some("1000_at\n")), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("40 rows, 3 features, 2 classes: case 20, control 20"),
        "{}",
        ran.stderr
    );
    let predictions = std::fs::read_to_string(desk.0.path().join("RUN/predictions.csv")).unwrap();
    assert!(predictions.contains(",GSM1"));
    let (ran, _) = desk.run(&file, &[]);
    assert!(
        ran.stderr.contains(
            "the phenotypes are geo_accession, title, disease state, age; name one with --target"
        ),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_series_matrix_without_values_is_a_table_of_phenotypes() {
    let desk = Desk::new();
    let each = |cell: &dyn Fn(usize) -> String| -> String {
        (0..40).map(|sample| format!("\t\"{}\"", cell(sample))).collect()
    };
    let mut text = "!Series_title\t\"Counts are in a supplementary file\"\n".to_owned();
    let _ = writeln!(text, "!Sample_title{}", each(&|i| format!("s{i}")));
    let _ = writeln!(text, "!Sample_geo_accession{}", each(&|i| format!("GSM{i}")));
    let _ =
        writeln!(text, "!Sample_characteristics_ch1{}", each(&|i| format!("status: {}", group(i))));
    let _ = writeln!(text, "!Sample_characteristics_ch2{}", each(&|_| "status: pool".to_owned()));
    let _ =
        writeln!(text, "!series_matrix_table_begin\n\"ID_REF\"{}", each(&|i| format!("GSM{i}")));
    text += "!series_matrix_table_end\n";
    let series = desk.write("GSE2_series_matrix.txt", &text);
    let (ran, _) = desk.run(&series, &["--target", "status"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains("the series matrix holds no table of values; download"),
        "{}",
        ran.stderr
    );
    // The columns of the supplementary file are called by title.
    let matrix = desk.write("counts.tsv", &by_columns(40));
    let pheno = series.to_str().unwrap();
    let (ran, selected) =
        desk.run(&matrix, &["--pheno", pheno, "--id-col", "title", "--target", "status"]);
    assert_eq!((ran.code, selected.as_deref()), (0, Some("g0\n")), "{}", ran.stderr);
}

#[test]
fn a_wrong_cell_of_a_series_matrix_is_named_as_it_lies_in_the_file() {
    let desk = Desk::new();
    let samples: String = (0..40).map(|i| format!("\tGSM{i}")).collect();
    let groups: String = (0..40).map(|i| format!("\tstatus: {}", group(i))).collect();
    let mut text = format!("!Sample_geo_accession{samples}\n!Sample_characteristics_ch1{groups}\n");
    let _ = write!(text, "!series_matrix_table_begin\nID_REF{samples}\n1_at");
    (0..40).for_each(|i| {
        write!(text, "\t{}", if i == 6 { "high".to_owned() } else { value(0, i).to_string() })
            .unwrap()
    });
    text += "\n!series_matrix_table_end\n";
    let (ran, _) = desk.run(&desk.write("series.txt", &text), &["--target", "status"]);
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr.contains(
            "series.txt, row '1_at': 39 of 40 values are numbers, but column 8 has 'high'"
        ),
        "{}",
        ran.stderr
    );
}
