//! Any bytes as a workbook, or as a part of one.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = crfe_fuzz::workbook(&crfe_fuzz::desk(), bytes);
});
