//! Deliberate faults for tests of panics; absent from release builds.

/// Panics where the environment variable `CRFE_FAULT` says: see CONTRIBUTING.md for the places.
pub fn strike(place: impl FnOnce() -> String) {
    #[cfg(debug_assertions)]
    if std::env::var("CRFE_FAULT").is_ok_and(|wanted| wanted == place()) {
        panic!("a fault on purpose");
    }
    #[cfg(not(debug_assertions))]
    let _ = place;
}
