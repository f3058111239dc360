//! The runs in the user's state directory.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use super::Journals;
use super::reader::journals;
use crate::run::RunInfo;

/// A recorded run.
#[derive(Debug, Clone)]
pub struct RecentRun {
    /// Where it is.
    pub directory: PathBuf,
    /// When something was last written to it.
    pub changed: SystemTime,
    /// Bytes of its journals.
    pub bytes: u64,
    pub info: Arc<RunInfo>,
}

/// `crfe-tui` in the XDG state directory: where runs without `--out` are.
pub fn state_home() -> Option<PathBuf> {
    let home =
        || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local").join("state"));
    let base = std::env::var_os("XDG_STATE_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(home)?;
    Some(base.join("crfe-tui"))
}

/// Where the dashboard keeps a run that has no `--out`: the name of the table and a part of the
/// fingerprint, in [`state_home`].
pub fn state_directory(info: &RunInfo) -> Option<PathBuf> {
    let name = format!("{}-{}", plain_stem(&info.input), info.fingerprint.get(..8)?);
    Some(state_home()?.join(name))
}

/// The name of a table without directories and endings, fit for the name of a directory.
fn plain_stem(input: &str) -> String {
    let name = Path::new(input)
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let stem = name.split('.').find(|part| !part.is_empty()).unwrap_or("table");
    let plain: String = stem
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' })
        .collect();
    let plain = plain.trim_matches('-');
    if plain.is_empty() { "table".to_owned() } else { plain.chars().take(40).collect() }
}

/// The runs of a directory, the newest first; what is no run is passed over.
pub fn recent_runs(home: &Path) -> Vec<RecentRun> {
    let Ok(entries) = std::fs::read_dir(home) else { return Vec::new() };
    let run = |directory: PathBuf| {
        let files = journals(&directory).ok()?;
        let data: Vec<Metadata> =
            files.iter().filter_map(|file| std::fs::metadata(file).ok()).collect();
        let changed = data.iter().filter_map(|data| data.modified().ok()).max()?;
        let bytes = data.iter().map(Metadata::len).sum();
        let info = Journals::peek(&directory).ok().flatten()?;
        Some(RecentRun { directory, changed, bytes, info })
    };
    let mut runs: Vec<RecentRun> =
        entries.flatten().filter_map(|entry| run(entry.path())).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.changed));
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tables_become_names_of_directories() {
        assert_eq!(plain_stem("/a/b/breast.csv.gz"), "breast");
        assert_eq!(plain_stem("my table (2).xlsx"), "my-table--2");
        assert_eq!(plain_stem(".hidden"), "hidden");
        assert_eq!(plain_stem("\u{1b}[2J"), "2J");
        assert_eq!(plain_stem("日本.csv"), "table");
        assert_eq!(plain_stem(""), "table");
    }

    #[test]
    fn what_is_no_run_is_passed_over() {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("empty")).unwrap();
        std::fs::write(home.path().join("file"), "x").unwrap();
        assert!(recent_runs(home.path()).is_empty());
        assert!(recent_runs(&home.path().join("absent")).is_empty());
    }
}
