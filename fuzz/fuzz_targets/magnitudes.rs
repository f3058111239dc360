//! Any bytes as the numbers of a table.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = crfe_fuzz::magnitudes(&crfe_fuzz::desk(), bytes);
});
