//! Any bytes as a groups file and as a file of splits.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = crfe_fuzz::groups_and_splits(&crfe_fuzz::desk(), bytes);
});
