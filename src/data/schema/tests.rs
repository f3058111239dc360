//! Understanding, rule by rule, and the three tables that come with the program.

use std::collections::BTreeSet;

use tempfile::TempDir;

use super::super::Level;
use super::*;

fn write(folder: &TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn load_with(text: &str, options: &SchemaOptions) -> Result<Dataset> {
    let folder = tempfile::tempdir().unwrap();
    Dataset::load(&write(&folder, "t.csv", text), options, |_, _| ())
}

fn load(text: &str) -> Result<Dataset> {
    load_with(text, &SchemaOptions::default())
}

fn complaint(result: Result<Dataset>) -> String {
    let text = result.unwrap_err().to_string();
    text.find("t.csv").map_or(text.clone(), |at| text[at..].to_owned())
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

fn unit_names(data: &Dataset) -> Vec<&str> {
    data.units.iter().map(|unit| unit.name.as_str()).collect()
}

fn shipped(name: &str) -> Dataset {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    Dataset::load(&path, &SchemaOptions::default(), |_, _| ()).unwrap()
}

const SMALL: &str = "id,age,sex,pain,outcome,who\n\
                     p1,40,m,low,ill,u\n\
                     p2,51,f,mid,well,u\n\
                     p3,33,f,high,,v\n\
                     p4,62,m,low,ill,\n\
                     p5,28,f,,well,v\n\
                     p6,47,m,mid,well,\n";

fn small() -> SchemaOptions {
    SchemaOptions {
        id_col: Some("id".into()),
        group_col: Some("who".into()),
        ..SchemaOptions::default()
    }
}

#[test]
fn understands_a_small_table() {
    let data = load_with(SMALL, &small()).unwrap();
    assert_eq!(data.target, "outcome");
    assert_eq!(data.classes, ["ill", "well"]);
    assert_eq!(data.y, [0, 1, 0, 1, 1]);
    assert_eq!(data.rows, [0, 1, 3, 4, 5]);
    assert_eq!(data.class_counts(), [2, 3]);
    assert_eq!(data.columns, ["age", "sex=m", "pain=mid"]);
    assert_eq!(data.x.dim(), (3, 5));
    assert_eq!(data.x.row(0).to_vec(), [40.0, 51.0, 62.0, 28.0, 47.0]);
    assert_eq!(unit_names(&data), ["age", "sex", "pain"]);
    assert_eq!(data.missing_cells(), 1);
    assert_eq!(data.ids.unwrap(), ["p1", "p2", "p4", "p5", "p6"]);
    assert_eq!(data.groups.unwrap(), [0, 0, 1, 2, 3], "a row without a group is its own");
    let notes: Vec<_> = data.audit.notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(
        notes,
        [
            "the class column is 'outcome' (found by its name)",
            "1 row without a class left out: line 4",
            "'who' is not used as a feature: --group-col",
            "5 rows, 3 features, 2 classes: ill 2, well 3",
            "1 missing cell in 1 column is imputed per split"
        ]
    );
}

#[test]
fn numbers_may_be_categories_and_classes() {
    let options = SchemaOptions {
        categorical: owned(&["grade"]),
        target: Some("stage".into()),
        ..SchemaOptions::default()
    };
    let data =
        load_with("grade,stage,x\n1,10,0.5\n2,2,0.6\n10,10,0.7\n3+,2,0.9\n", &options).unwrap();
    assert_eq!(data.columns, ["grade=1", "grade=10", "grade=2", "grade=3+", "x"]);
    assert_eq!(data.classes, ["2", "10"]);
    assert_eq!(data.units[0].columns, [0, 1, 2, 3]);
}

#[test]
fn names_an_unknown_column_and_what_is_near() {
    let wrong = || owned(&["agee"]);
    let one = || Some("agee".to_owned());
    let cases = [
        ("--drop", SchemaOptions { drop: wrong(), ..small() }),
        ("--categorical", SchemaOptions { categorical: wrong(), ..small() }),
        ("--target", SchemaOptions { target: one(), ..small() }),
        ("--group-col", SchemaOptions { group_col: one(), ..small() }),
        ("--id-col", SchemaOptions { id_col: one(), ..small() }),
    ];
    for (option, options) in cases {
        let expected = format!(
            "t.csv: {option} names the column 'agee', which does not exist; did you mean age?"
        );
        let result = load_with(SMALL, &options);
        assert_eq!(result.as_ref().unwrap_err().exit_code(), 2);
        assert_eq!(complaint(result), expected);
    }
    let kept = complaint(load_with(SMALL, &SchemaOptions { keep: wrong(), ..small() }));
    assert_eq!(
        kept,
        "t.csv: --keep names the feature 'agee', which does not exist; did you mean age?"
    );
}

#[test]
fn one_column_cannot_be_two_things() {
    let options = SchemaOptions { target: Some("who".into()), ..small() };
    assert_eq!(
        complaint(load_with(SMALL, &options)),
        "t.csv: --target and --group-col both name the column 'who'; name two columns"
    );
    let options = SchemaOptions { keep: owned(&["outcome"]), ..small() };
    assert!(complaint(load_with(SMALL, &options)).contains("is not a feature"));
}

#[test]
fn drops_with_a_reason_and_says_so() {
    let rows: String = (0..40)
        .map(|i| {
            let sparse = if i % 2 == 0 { "" } else { "3" };
            format!("{},n{i},{sparse},7,,{}.5,{}\n", i + 1, i % 9, i % 2)
        })
        .collect();
    let text = format!("row,name,sparse,flat,empty,x,y\n{rows}");
    let data = load(&text).unwrap();
    let said: Vec<String> = data.dropped.iter().map(|d| d.reason.to_string()).collect();
    let names = data.dropped.iter().map(|d| d.name.as_str());
    let dropped: Vec<_> = names.zip(said.iter().map(String::as_str)).collect();
    assert_eq!(
        dropped,
        [
            ("row", "it numbers the rows"),
            ("name", "it differs in every row, like an id"),
            ("sparse", "50 % of its values are missing"),
            ("flat", "all its values are the same"),
            ("empty", "it has no values")
        ]
    );
    assert_eq!(unit_names(&data), ["x"]);
    assert_eq!(data.audit.at(Level::Warning).count(), 4);
    let kept =
        load_with(&text, &SchemaOptions { keep: owned(&["flat"]), ..SchemaOptions::default() });
    assert_eq!(kept.unwrap_err().exit_code(), 2);
}

#[test]
fn refuses_a_table_without_features_or_with_one_class() {
    assert_eq!(
        complaint(load("x,y\n1,a\n1,b\n")),
        "t.csv: no feature is left; columns that are constant, ids or mostly missing are dropped: look at the file, or raise --max-missing"
    );
    assert_eq!(
        complaint(load("x,y\n1,a\n2,a\n")),
        "t.csv, column 'y': every row has the class 'a', and a classifier needs two; name the class column with --target"
    );
}

#[test]
fn refuses_names_that_would_collide() {
    let text = "sex,sex=m,y\nm,1,a\nf,2,b\n";
    assert!(complaint(load(text)).contains("both make a column 'sex=m'"));
}

#[test]
fn the_dropped_column_may_be_a_mess() {
    let options = SchemaOptions { drop: owned(&["mess"]), ..SchemaOptions::default() };
    let data = load_with("mess,x,y\n1,1,a\nfoo,2,b\n", &options).unwrap();
    assert_eq!(data.dropped[0], DroppedColumn { name: "mess".into(), reason: DropReason::Asked });
}

#[test]
fn a_header_of_numbers_is_refused() {
    assert!(complaint(load("5.1,3.5,0\n4.9,3.0,1\n4.7,3.2,0\n")).contains("add --no-header"));
}

#[test]
fn a_groups_file_merges_units() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "t.csv", SMALL);
    let with = |groups: &str| {
        let groups = Some(write(&folder, "groups.csv", groups));
        let options = SchemaOptions { groups, keep: owned(&["pain"]), ..small() };
        Dataset::load(&path, &options, |_, _| ())
    };
    let data = with("feature;group\nage;basics\nsex;basics\n").unwrap();
    assert_eq!(unit_names(&data), ["basics", "pain"]);
    assert_eq!(data.units[0].columns, [0, 1]);
    assert_eq!((data.units[0].kept, data.units[1].kept), (false, true));
    assert_eq!(data.missing_cells(), 1);
    let say = |groups| with(groups).unwrap_err();
    assert_eq!(say("feature,group\nweight,basics\n").exit_code(), 2);
    assert!(
        say("feature,group\nweight,basics\n")
            .to_string()
            .contains("groups.csv, line 2: --groups names")
    );
    assert!(
        say("feature,group\nage,\n")
            .to_string()
            .contains("groups.csv, line 2: a feature or its group")
    );
    assert!(say("feature\nage\n").to_string().contains("a groups file has two columns"));
    assert!(
        say("feature,group\nage,sex\n")
            .to_string()
            .contains("has the name of a feature outside it")
    );
}

#[test]
fn names_of_rows_are_kept() {
    let rows: String = (0..30)
        .map(|i| format!("s{i},{},{}\n", i * 7 % 11, if i % 2 == 0 { "u" } else { "v" }))
        .collect();
    let ids =
        |header: &str| load(&format!("{header}\n{rows}")).unwrap().ids.map(|ids| ids[..2].to_vec());
    let named = Some(owned(&["s0", "s1"]));
    assert_eq!(ids(",a,class"), named, "as pandas and R write an index");
    assert_eq!(ids("a,class"), named, "as R writes row names");
    assert_eq!(ids("sample,a,class"), named);
    let options = SchemaOptions { id_col: Some("2".to_owned()), ..SchemaOptions::default() };
    let data = load_with("a,who,class\n1,x,u\n2,y,v\n4,x,u\n3,y,v\n", &options).unwrap();
    assert_eq!(data.ids, Some(owned(&["x", "y", "x", "y"])), "by position");
    let numbered: String = (0..30)
        .map(|i| format!("{i},{},{}\n", i * 7 % 11, if i % 2 == 0 { "u" } else { "v" }))
        .collect();
    assert_eq!(
        load(&format!(",a,class\n{numbered}")).unwrap().ids,
        None,
        "numbers of rows are no names"
    );
}

#[test]
fn columns_of_similar_names_are_not_one_variable() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(&folder, "t.csv", "t=1,t=2,pain,class\n1,,a,u\n2,4,b,v\n3,,c,u\n5,1,,v\n");
    let groups = Some(write(&folder, "groups.csv", "feature,group\nt=1,both\nt=2,both\n"));
    let options = SchemaOptions { groups, max_missing: 0.5, ..SchemaOptions::default() };
    let data = Dataset::load(&path, &options, |_, _| ()).unwrap();
    assert_eq!(data.columns, ["t=1", "t=2", "pain=a", "pain=b", "pain=c"]);
    assert_eq!(data.variables, [0, 1, 2, 2, 2]);
    assert_eq!(data.missing_cells(), 3);
}

#[test]
fn heart_has_the_encoded_columns_of_the_reference() {
    let data = shipped("heart.csv");
    assert_eq!((data.y.len(), data.units.len()), (303, 13));
    assert_eq!(data.classes, ["diseased", "healthy"]);
    assert_eq!(data.missing_cells(), 6);
    assert!(
        data.audit
            .at(Level::Notice)
            .any(|text| text == "6 missing cells in 2 columns are imputed per split")
    );
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/prepared/heart.csv");
    let reference =
        Table::read(&reference, &ReadOptions::default(), |_| Ok(Vec::new()), |_, _| ()).unwrap();
    let expected: BTreeSet<_> =
        reference.header.names.iter().filter(|name| *name != "class").collect();
    assert_eq!(data.columns.iter().collect::<BTreeSet<_>>(), expected);
}

#[test]
fn dermatology_and_synthetic_are_understood() {
    let data = shipped("dermatology.csv");
    assert_eq!((data.x.dim(), data.units.len(), data.classes.len()), ((34, 358), 34, 6));
    let data = shipped("synthetic.csv");
    assert_eq!((data.x.dim(), data.units.len(), data.classes.len()), ((35, 350), 35, 4));
    assert!(data.dropped.is_empty() && data.missing_cells() == 0);
}

#[test]
fn a_class_column_without_name_and_values_is_not_exchanged_for_another() {
    assert_eq!(
        complaint(load(",\n41,\n")),
        "t.csv, column 'c2': no row has a class; name the class column with --target"
    );
    let dropped = SchemaOptions { drop: vec!["c3".to_owned()], ..SchemaOptions::default() };
    let text = "a,class,\n1,x,\n2,y,\n";
    assert_eq!(load_with(text, &dropped).unwrap().dropped[0].name, "c3");
    assert!(load(text).unwrap().dropped.is_empty(), "it is left out in any case");
}

#[test]
fn a_groups_file_may_end_in_an_empty_column() {
    let folder = tempfile::tempdir().unwrap();
    let groups = Some(write(&folder, "groups.csv", "feature,group,\na,g,\nb,g,\n"));
    let options = SchemaOptions { groups, ..SchemaOptions::default() };
    let data = load_with("a,b,class\n1,4,x\n2,3,y\n5,9,x\n", &options).unwrap();
    assert_eq!(data.units.len(), 1);
}
