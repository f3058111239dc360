//! How much memory a table may take: what the user allows, or what the machine, the control groups
//! of the process and its own limit leave.

use std::path::Path;

use rustix::process::{Resource, getrlimit};

use crate::error::{Error, Result};

/// Used where nothing is known of the machine.
const USUAL: u64 = 8 << 30;
/// Address space that is reserved but not used: stacks and arenas of threads.
const RESERVED: u64 = 256 << 20;
/// Memory of the program itself, including its buffers.
pub(super) const PROGRAM: u64 = 12 << 20;

/// Bytes for the table: as specified, or what is free.
pub(super) fn limit(specified: Option<u64>) -> u64 {
    specified.map_or_else(free, |megabytes| megabytes.saturating_mul(1 << 20))
}

/// Reserves memory for this many more values. A large vector grows by a sixteenth instead of
/// doubling, so that little is reserved and not used.
pub(super) fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    /// Above this many bytes, growing remaps pages instead of copying.
    const LARGE: usize = 1 << 20;
    let length = values.len();
    if values.capacity() - length >= more {
        return Ok(());
    }
    let growth = if length * size_of::<T>() < LARGE { length } else { length / 16 };
    values.try_reserve_exact(growth.max(more)).map_err(|_| exhausted())
}

fn exhausted() -> Error {
    Error::data("there is not enough memory for the table")
        .remedy("leave columns or rows out of the file, or give the process more memory")
}

/// Bytes of a separate string, rounded up as allocators do.
pub(super) fn of_text(length: usize) -> u64 {
    (length as u64 + 8).next_multiple_of(16).max(32)
}

/// The memory available to this process, less a margin for others.
fn free() -> u64 {
    let root = Path::new("/");
    let all = [available(root), groups(root), address_space(root)];
    let least = all.into_iter().flatten().min().unwrap_or(USUAL);
    least / 10 * 9
}

fn read(root: &Path, path: &str) -> Option<String> {
    std::fs::read_to_string(root.join(path)).ok()
}

/// The memory available on this machine.
fn available(root: &Path) -> Option<u64> {
    kilobytes(&read(root, "proc/meminfo")?, "MemAvailable:")
}

/// The bytes stated by a line such as `VmSize:  1200 kB`.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
}

/// What the limit of the address space (`ulimit -v`) leaves.
fn address_space(root: &Path) -> Option<u64> {
    let most = getrlimit(Resource::As).current?;
    let used = kilobytes(&read(root, "proc/self/status")?, "VmSize:")?;
    Some(most.saturating_sub(used + RESERVED))
}

/// What the control groups of this process, and those above them, leave: the least of all.
fn groups(root: &Path) -> Option<u64> {
    let (groups, mounts) = (read(root, "proc/self/cgroup")?, read(root, "proc/self/mountinfo")?);
    let least = groups.lines().filter_map(|group| {
        let mut parts = group.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let version = match controllers {
            "" => Version::Two,
            _ if controllers.split(',').any(|controller| controller == "memory") => Version::One,
            _ => return None,
        };
        let (mount, above) = mounts.lines().find_map(|line| version.mount(line))?;
        // In a namespace of its own, a process may be given a path that it cannot see; its group
        // then appears as the root.
        let below = path.strip_prefix(above.as_str()).unwrap_or_default().trim_start_matches('/');
        let mount = root.join(mount.trim_start_matches('/'));
        let ancestors = Path::new(below).ancestors().map(|group| mount.join(group));
        ancestors.filter_map(|group| version.left(&group)).min()
    });
    least.min()
}

/// Control groups of either version.
#[derive(Clone, Copy, PartialEq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// The mount point and the root of a line of mountinfo that mounts groups of memory.
    fn mount(self, line: &str) -> Option<(String, String)> {
        let (place, kind) = line.split_once(" - ")?;
        let mut kind = kind.split_whitespace();
        let name = kind.next()?;
        let options = kind.nth(1)?;
        let is = match self {
            Self::One => name == "cgroup" && options.split(',').any(|option| option == "memory"),
            Self::Two => name == "cgroup2",
        };
        let mut place = place.split_whitespace().skip(3);
        let (above, mount) = (place.next()?, place.next()?);
        is.then(|| (mount.to_owned(), above.trim_end_matches('/').to_owned()))
    }

    /// The memory that one group has left; cached file pages count as free.
    fn left(self, group: &Path) -> Option<u64> {
        let [most, used, cached] = match self {
            Self::One => ["memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"],
            Self::Two => ["memory.max", "memory.current", "inactive_file"],
        };
        let number =
            |name: &str| std::fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let stat = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cached = stat.lines().find_map(|line| line.strip_prefix(cached)?.trim().parse().ok());
        let used = number(used)?.saturating_sub(cached.unwrap_or(0));
        Some(number(most)?.saturating_sub(used))
    }
}

/// Bytes in words.
pub(super) fn spoken(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A root directory with some files.
    fn root(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path: PathBuf = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        root
    }

    const MOUNT_TWO: (&str, &str) = (
        "proc/self/mountinfo",
        "25 24 0:22 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
    );

    #[test]
    fn the_tightest_group_above_the_process_counts() {
        let root = root(&[
            MOUNT_TWO,
            ("proc/self/cgroup", "0::/slurm/job_7/step_0\n"),
            ("sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n"),
            ("sys/fs/cgroup/slurm/job_7/step_0/memory.current", "500\n"),
            ("sys/fs/cgroup/slurm/job_7/memory.max", "9000\n"),
            ("sys/fs/cgroup/slurm/job_7/memory.current", "3000\n"),
            (
                "sys/fs/cgroup/slurm/job_7/memory.stat",
                "anon 1000\ninactive_file 1500\nactive_file 500\n",
            ),
            ("sys/fs/cgroup/slurm/memory.max", "100000\n"),
            ("sys/fs/cgroup/slurm/memory.current", "4000\n"),
        ]);
        assert_eq!(groups(root.path()), Some(7500));
    }

    #[test]
    fn groups_of_the_first_version_count_too() {
        let root = root(&[
            (
                "proc/self/mountinfo",
                "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
                 34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                 35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            ),
            ("proc/self/cgroup", "4:memory:/uid_5/job\n3:cpuset:/other\n0::/\n"),
            ("sys/fs/cgroup/memory/uid_5/job/memory.limit_in_bytes", "8000\n"),
            ("sys/fs/cgroup/memory/uid_5/job/memory.usage_in_bytes", "3000\n"),
            (
                "sys/fs/cgroup/memory/uid_5/job/memory.stat",
                "inactive_file 1\ntotal_inactive_file 1000\n",
            ),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "7000\n"),
        ]);
        assert_eq!(groups(root.path()), Some(6000));
    }

    #[test]
    fn a_container_sees_its_group_as_the_root() {
        let root = root(&[
            (
                "proc/self/mountinfo",
                "25 24 0:22 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n",
            ),
            ("proc/self/cgroup", "0::/docker/abc\n"),
            ("sys/fs/cgroup/memory.max", "4096\n"),
            ("sys/fs/cgroup/memory.current", "96\n"),
        ]);
        assert_eq!(groups(root.path()), Some(4000));
        assert_eq!(groups(tempfile::tempdir().unwrap().path()), None);
    }

    #[test]
    fn large_vectors_grow_by_little() {
        let mut values = vec![0_u8; 32 << 20];
        reserve(&mut values, 1).unwrap();
        assert!((33 << 20..36 << 20).contains(&values.capacity()), "{}", values.capacity());
        let mut few = vec![0_u8; 100];
        reserve(&mut few, 1).unwrap();
        assert!(few.capacity() >= 200);
        let before = few.capacity();
        reserve(&mut few, 50).unwrap();
        assert_eq!(few.capacity(), before, "there was room");
        assert!(
            reserve(&mut few, usize::MAX / 2)
                .unwrap_err()
                .to_string()
                .starts_with("there is not enough memory")
        );
    }
}
