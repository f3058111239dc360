//! Any bytes as a table, under any options.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = crfe_fuzz::table(&crfe_fuzz::desk(), bytes);
});
