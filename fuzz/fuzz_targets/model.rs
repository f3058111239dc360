//! Any bytes as a model, or written over a good one, and a table through it.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = crfe_fuzz::model(&crfe_fuzz::desk(), bytes);
});
