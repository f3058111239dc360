//! How much memory a table may take.

/// Used where nothing is known of the machine.
const USUAL: u64 = 8 << 30;

/// Bytes for the table: as told, or what is free.
pub(super) fn limit(told: Option<u64>) -> u64 {
    told.map_or_else(free, |megabytes| megabytes.saturating_mul(1 << 20))
}

/// What the machine and its control group have left.
fn free() -> u64 {
    let read = |path: &str| std::fs::read_to_string(path).ok();
    let number = |path: &str| read(path)?.trim().parse::<u64>().ok();
    let available = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
        Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
    });
    let groups = [
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ];
    let group = groups.iter().find_map(|(most, used)| Some(number(most)?.saturating_sub(number(used)?)));
    available.into_iter().chain(group).min().unwrap_or(USUAL)
}

/// Bytes in words.
pub(super) fn spoken(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes.div_ceil(1000)),
        1_000_000..1_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
