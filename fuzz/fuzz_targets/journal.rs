//! Any bytes as a journal: finished tasks are taken, a torn tail is cut, all else is refused in a sentence.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let run = std::env::temp_dir().join(format!("crfe-fuzz-journal-{}", std::process::id()));
    std::fs::create_dir_all(&run).expect("the temporary directory can be written");
    std::fs::write(run.join("journal-1of1-fuzz.jsonl"), bytes).expect("the temporary directory can be written");
    if let Err(error) = crfe::run::read_run(&run) {
        assert!(!error.to_string().contains(char::is_control), "{error:?}");
    }
});
