//! Readers of other formats that panic on damaged files: a panic becomes an error, and nothing is
//! printed.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

use crate::error::{Error, Result};

thread_local! {
    /// Whether this thread is inside a reader.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs a reader of another format.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T>) -> Result<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                usual(panic);
            }
        }));
    });
    GUARDED.set(true);
    // A reader that panicked is dropped.
    let outcome = catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(false);
    outcome.unwrap_or_else(|_| {
        Err(Error::data("the file is damaged")
            .remedy("copy or save it again, or save the table as CSV (UTF-8)"))
    })
}
