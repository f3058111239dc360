//! Any bytes as a journal.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = crfe_fuzz::journal(&crfe_fuzz::desk(), bytes);
});
