//! Files that other programs wrote (tests/fixtures/files): each gives the same data as the CSV file
//! it was made from, and a wrong cell is named by its place in the file.

use std::path::{Path, PathBuf};

use crfe::data::{Dataset, SchemaOptions};

use crate::program::{finish, program};

fn file(name: &str) -> PathBuf {
    Path::new("tests/fixtures/files").join(name)
}

fn load(path: &Path, change: impl FnOnce(&mut SchemaOptions)) -> Dataset {
    let mut options = SchemaOptions::default();
    change(&mut options);
    Dataset::load(path, &options, |_, _| {}).unwrap_or_else(|error| panic!("{error}"))
}

fn target(name: &str) -> impl FnOnce(&mut SchemaOptions) {
    let name = Some(name.to_owned());
    |options| options.target = name
}

/// Checks that two tables have the same numbers under the same names, and the same classes.
fn assert_same(data: &Dataset, expected: &Dataset, what: &str) {
    assert_eq!(data.columns, expected.columns, "{what}");
    assert_eq!((&data.classes, &data.y), (&expected.classes, &expected.y), "{what}");
    let bits = |data: &Dataset| data.x.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(data), bits(expected), "{what}");
}

/// What `check` says about a file.
fn check(name: &str, more: &[&str]) -> (i32, String) {
    let ran = finish(program().arg("check").arg(file(name)).args(more));
    (ran.code, ran.stdout + &ran.stderr)
}

#[test]
fn workbooks_of_libreoffice_give_what_the_csv_file_gives() {
    let plain = load(Path::new("tests/fixtures/csv/plain.csv"), |_| {});
    for name in ["plain.xlsx", "plain.ods", "plain.xls"] {
        assert_same(&load(&file(name), |_| {}), &plain, name);
    }
    let sheet =
        load(&file("sheets.ods"), |options| options.read.sheet = Some("Measured".to_owned()));
    assert_same(&sheet, &plain, "a table that does not start in the corner");
}

#[test]
fn a_wrong_cell_is_named_by_sheet_row_and_column() {
    let (code, said) = check("sheets.ods", &["--sheet", "Typing error"]);
    assert_eq!(code, 3);
    assert!(
        said.contains("sheets.ods, sheet 'Typing error', column 'age': 47 of 48 values are numbers, but row 9 has 'high'"),
        "{said}"
    );
    let (code, said) = check("sheets.ods", &["--sheet", "Failed formula"]);
    assert_eq!(code, 3);
    // LibreOffice stores the text of the error.
    assert!(said.contains("sheets.ods, sheet 'Failed formula', column 'crp': "), "{said}");
    assert!(said.contains("but row 9 has '#DIV/0!'"), "{said}");
    let (code, said) = check("sheets.ods", &[]);
    assert_eq!(code, 3);
    assert!(
        said.contains(
            "sheet 'Notes': the file has a header but no rows; add rows below the header; or choose another"
        ),
        "{said}"
    );
    let (code, said) = check("sheets.ods", &["--sheet", "Measurd"]);
    assert_eq!(code, 2);
    assert!(
        said.contains(
            "--sheet names the sheet 'Measurd', which does not exist; did you mean Measured?"
        ),
        "{said}"
    );
    let (code, said) = check("plain.parquet", &["--sheet", "Measured"]);
    assert_eq!(code, 2);
    assert!(said.contains("--sheet is for workbooks"), "{said}");
}

#[test]
fn parquet_of_pandas_gives_what_the_csv_file_gives() {
    let plain = load(Path::new("tests/fixtures/csv/plain.csv"), |_| {});
    for name in ["plain", "plain_gzip", "plain_lz4", "plain_uncompressed"] {
        assert_same(&load(&file(&format!("{name}.parquet")), |_| {}), &plain, name);
    }
    // Missing booleans and integers, single precision, categories, an index of text, three row
    // groups.
    let typed = load(&file("typed.parquet"), target("class"));
    let mut expected = load(&file("typed.csv"), target("class"));
    // pandas writes True, and Parquet has no spelling.
    expected.columns.iter_mut().for_each(|name| *name = name.replace("True", "true"));
    assert_same(&typed, &expected, "typed");
    assert_eq!(typed.ids.as_ref().map(|ids| ids[2].as_str()), Some("patient 3"));
    assert_eq!(typed.missing_cells(), 7 + 4);
    assert!(typed.dropped.iter().any(|dropped| dropped.name == "seen"), "dates are no features");
}

#[test]
fn parquet_that_cannot_be_used_is_refused_by_row_and_column() {
    let (code, said) = check("infinite.parquet", &[]);
    assert_eq!(code, 3);
    assert!(
        said.contains("infinite.parquet, row 7, column 'crp': 'inf' is not a finite number"),
        "{said}"
    );
    let (code, said) = check("nested.parquet", &[]);
    assert_eq!(code, 3);
    assert!(
        said.contains("nested.parquet, column 'visits': the column holds lists or records"),
        "{said}"
    );
    for name in ["zstd", "brotli"] {
        let (code, said) = check(&format!("plain_{name}.parquet"), &[]);
        assert_eq!(code, 3);
        assert!(
            said.contains(&format!("compressed with {name}"))
                && said.contains("compression='snappy'"),
            "{said}"
        );
    }
    let (code, said) = check("plain.parquet", &["--no-header"]);
    assert_eq!(code, 2);
    assert!(said.contains("this is a Parquet file, which names its columns"), "{said}");
    let (_, said) = check("plain.parquet", &["--delimiter", ";"]);
    assert!(said.contains("--delimiter is not used: this is a Parquet file"), "{said}");
}

#[test]
fn a_libsvm_file_is_refused_with_the_command_that_converts_it() {
    let (code, said) = check("plain.libsvm", &[]);
    assert_eq!(code, 3);
    assert!(
        said.contains("this is a LIBSVM file, not a CSV file; convert it, for example: python -c"),
        "{said}"
    );
}

#[test]
fn a_matrix_and_phenotypes_of_r_are_joined() {
    let data = load(&file("r_matrix.tsv"), |options| {
        options.pheno = Some(file("r_pheno.csv"));
        options.target = Some("class".to_owned());
    });
    let plain = load(Path::new("tests/fixtures/csv/plain.csv"), |options| {
        options.drop = vec!["sex".to_owned()]
    });
    assert_same(&data, &plain, "R");
    assert_eq!(data.ids.as_ref().map(|ids| ids[4].as_str()), Some("S5"));
    // A column of the phenotypes by its position, in every model.
    let data = load(&file("r_matrix.tsv"), |options| {
        options.pheno = Some(file("r_pheno.csv"));
        options.target = Some("3".to_owned());
        options.keep = vec!["2".to_owned()];
        options.id_col = Some("1".to_owned());
    });
    let kept: Vec<&str> =
        data.units.iter().filter(|unit| unit.kept).map(|unit| unit.name.as_str()).collect();
    assert_eq!((kept, data.target.as_str()), (vec!["batch"], "class"));
}

#[test]
fn a_wrong_cell_of_a_transposed_matrix_is_named_as_it_lies_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(file("r_matrix.tsv")).unwrap();
    let wrong = folder.path().join("wrong.tsv");
    std::fs::write(&wrong, text.replacen("\t0.25\t", "\thigh\t", 1)).unwrap();
    let pheno = file("r_pheno.csv");
    let ran = finish(
        program().arg("check").arg(&wrong).arg("--pheno").arg(pheno).args(["--target", "class"]),
    );
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr
            .contains("wrong.tsv, row 'crp': 47 of 48 values are numbers, but column 2 has 'high'"),
        "{}",
        ran.stderr
    );
}

#[cfg(feature = "h5ad")]
#[test]
fn anndata_is_read_dense_and_sparse() {
    let expected = load(&file("values.csv"), |_| {});
    for name in ["dense.h5ad", "csr.h5ad", "csc.h5ad"] {
        let data = load(&file(name), target("class"));
        assert_eq!(data.columns, ["AGE1", "CRP", "MOD3"], "{name}");
        assert_eq!(data.x, expected.x, "{name}");
        assert_eq!(
            data.y,
            expected.y.iter().map(|class| 1 - class).collect::<Vec<_>>(),
            "ill comes before well"
        );
        assert_eq!(data.ids.as_ref().map(|ids| ids[7].as_str()), Some("patient 8"));
    }
    let (_, said) = check("dense.h5ad", &["--target", "class", "--keep", "age"]);
    assert!(said.contains("4 features"), "{said}");
    let (_, said) = check("dense.h5ad", &[]);
    assert!(said.contains("the class column is 'class' (found by its name)"), "{said}");
}

#[cfg(not(feature = "h5ad"))]
#[test]
fn what_is_not_compiled_in_says_how_to_convert() {
    let (code, said) = check("dense.h5ad", &["--target", "class"]);
    assert_eq!(code, 3);
    assert!(said.contains("--features h5ad") && said.contains("to_df()"), "{said}");
}

#[test]
fn damaged_files_are_read_or_refused_without_a_panic() {
    let folder = tempfile::tempdir().unwrap();
    let mut options =
        SchemaOptions { target: Some("class".to_owned()), ..SchemaOptions::default() };
    options.read.memory_limit = Some(256);
    let mut random = 1_u64;
    let mut next = |below: usize| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    let mut names = vec![
        "plain_uncompressed.parquet",
        "plain.parquet",
        "typed.parquet",
        "plain.xlsx",
        "plain.ods",
        "plain.xls",
    ];
    names
        .extend(cfg!(feature = "h5ad").then_some(["dense.h5ad", "csr.h5ad"]).into_iter().flatten());
    for name in names {
        let whole = std::fs::read(file(name)).unwrap();
        let path = folder.path().join(name);
        for attempt in 0..150 {
            let mut bytes = whole.clone();
            if attempt % 5 == 0 {
                bytes.truncate(next(whole.len()));
            } else {
                // The ends of a file hold its structure.
                let near = [
                    next(whole.len()),
                    next(600).min(whole.len() - 1),
                    whole.len() - 1 - next(600).min(whole.len() - 1),
                ];
                (0..1 + next(3)).for_each(|i| bytes[near[(attempt + i) % 3]] = next(256) as u8);
            }
            std::fs::write(&path, &bytes).unwrap();
            if let Err(error) = Dataset::load(&path, &options, |_, _| {}) {
                assert!(matches!(error.exit_code(), 2 | 3), "{name}, attempt {attempt}: {error}");
                assert!(!error.to_string().contains(char::is_control), "{error:?}");
            }
        }
    }
}
