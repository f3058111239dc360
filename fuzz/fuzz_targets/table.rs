//! Any bytes as a table, under any options: it is understood or refused in one printable sentence.
#![no_main]

use crfe::data::{Censored, Dataset, ReadOptions, SchemaOptions, Table};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (switches, bytes) = input;
    let on = |bit: u8| switches & (1 << bit) != 0;
    let path = std::env::temp_dir().join(format!("crfe-fuzz-{}.csv", std::process::id()));
    std::fs::write(&path, bytes).expect("the temporary directory can be written");
    let read = ReadOptions {
        delimiter: on(0).then_some(';'),
        decimal: on(1).then_some(if on(0) { ',' } else { '.' }),
        no_header: on(2),
        dedup_names: on(3),
        censored: on(4).then_some(if on(5) { Censored::Na } else { Censored::Bound }),
        transpose: on(6),
        memory_limit: Some(64),
        ..ReadOptions::default()
    };
    let schema = SchemaOptions {
        read,
        min_class_size: on(7).then_some(3),
        merge_rare: on(5).then(|| "other".to_owned()),
        ..SchemaOptions::default()
    };
    match Dataset::load(&path, &schema, |_, _| {}) {
        Ok(data) => {
            assert_eq!(data.x.dim(), (data.columns.len(), data.y.len()));
            assert!(data.x.iter().all(|value| !value.is_infinite()));
            assert!(data.y.iter().all(|&class| class < data.classes.len()));
        }
        Err(error) => {
            assert!(matches!(error.exit_code(), 2 | 3), "{error}");
            assert!(!error.to_string().contains(char::is_control), "{error:?}");
        }
    }
    // All columns as text: the reader alone.
    let _ = Table::read(&path, &schema.read, |header| Ok((0..header.len()).collect()), |_, _| {});
});
