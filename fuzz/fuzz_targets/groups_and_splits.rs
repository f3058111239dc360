//! Any bytes as a groups file and as a file of splits, over a good table.
#![no_main]

use std::path::PathBuf;

use crfe::data::{Calibration, Dataset, SchemaOptions, SplitOptions, Splits};
use libfuzzer_sys::fuzz_target;

const TABLE: &str = "a,b,k,class\n1,2,x,u\n2,1,y,v\n3,5,z,u\n4,4,x,v\n5,1,y,u\n6,3,z,v\n7,2,x,u\n8,9,y,v\n";

fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = std::env::temp_dir().join(format!("crfe-fuzz-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).expect("the temporary directory can be written");
    path
}

fuzz_target!(|input: (bool, &[u8])| {
    let (strict, bytes) = input;
    let table = file("table.csv", TABLE.as_bytes());
    let given = file("given", bytes);
    let grouped = SchemaOptions { groups: Some(given.clone()), ..SchemaOptions::default() };
    match Dataset::load(&table, &grouped, |_, _| {}) {
        Ok(data) => {
            let mut columns: Vec<usize> = data.units.iter().flat_map(|unit| unit.columns.clone()).collect();
            columns.sort_unstable();
            assert!(columns.into_iter().eq(0..data.columns.len()), "every column is in one unit");
        }
        Err(error) => assert!(!error.to_string().contains(char::is_control), "{error:?}"),
    }
    let data = Dataset::load(&table, &SchemaOptions::default(), |_, _| {}).expect("the table is good");
    let calibration = if strict { Calibration::Strict } else { Calibration::Shared };
    let options = SplitOptions { splits_from: Some(given), calibration, ..SplitOptions::default() };
    match Splits::new(&data, &options) {
        Ok(splits) => {
            for index in 0..splits.count() {
                let split = splits.split(&data, index).expect("construction has checked every split");
                for part in [split.train, split.selection, split.conformal, split.test] {
                    assert!(!part.is_empty() && part.iter().all(|&row| row < data.y.len()));
                }
            }
        }
        Err(error) => assert!(!error.to_string().contains(char::is_control), "{error:?}"),
    }
});
