//! A share of a run's tasks: shard i of N. Knows no files.

use std::fmt;
use std::str::FromStr;

/// Shard `index` (from 1) of `of`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shard {
    index: usize,
    of: usize,
}

impl Shard {
    /// The only shard of a run that is not divided.
    pub const WHOLE: Self = Self { index: 1, of: 1 };

    /// Shard `index` of `of`, counted from 1.
    pub fn new(index: usize, of: usize) -> Option<Self> {
        (1..=of).contains(&index).then_some(Self { index, of })
    }

    /// Whether the run is not divided.
    pub fn is_whole(self) -> bool {
        self.of == 1
    }

    /// Its share: of the run's tasks, numbered from 0 in the order split by split, those with
    /// number ≡ i − 1 modulo N.
    pub fn share<T: Copy>(self, tasks: &[T]) -> Vec<T> {
        tasks.iter().copied().skip(self.index - 1).step_by(self.of).collect()
    }

    /// As in the name of a file: `2of4`.
    pub fn in_file_name(self) -> String {
        format!("{}of{}", self.index, self.of)
    }

    /// Reads `2of4`.
    pub fn from_file_name(text: &str) -> Option<Self> {
        let (index, of) = text.split_once("of")?;
        Self::new(index.parse().ok()?, of.parse().ok()?)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parts =
            text.split_once('/').and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
        parts
            .and_then(|(index, of)| Self::new(index, of))
            .ok_or_else(|| "write i/N with i from 1 to N, such as 2/4".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::TaskId;
    use crate::select::Method;

    #[test]
    fn shards_share_all_tasks_without_overlap() {
        let tasks: Vec<TaskId> =
            (0..7).map(|split| TaskId { method: Method::Crfe, split }).collect();
        let mut all: Vec<TaskId> =
            (1..=3).flat_map(|i| Shard::new(i, 3).unwrap().share(&tasks)).collect();
        all.sort_unstable();
        assert_eq!(all, tasks);
        assert_eq!(Shard::WHOLE.share(&tasks), tasks);
        // More shards than tasks: the rest have nothing to do.
        assert!(Shard::new(9, 9).unwrap().share(&tasks).is_empty());
    }

    #[test]
    fn is_written_as_it_is_typed() {
        assert_eq!("2/4".parse::<Shard>().unwrap().to_string(), "2/4");
        assert_eq!(Shard::from_file_name("2of4"), Shard::new(2, 4));
        for bad in ["", "0/4", "5/4", "1/0", "x/2", "1of4", "-1/4"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
