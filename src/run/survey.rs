//! What a table gives under some settings, before anything is computed: rows, classes, and whether
//! it can be run at all.

use std::path::Path;
use std::sync::Arc;

use super::{Plan, RunSpec};
use crate::data::Dataset;
use crate::error::{Result, counted};

/// A table as some settings understand it.
#[derive(Debug, Clone)]
pub struct Survey {
    /// The settings.
    pub spec: RunSpec,
    /// What it gives; the reason why it cannot be read.
    pub found: std::result::Result<Surveyed, String>,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// Data rows of the file.
    pub file_rows: usize,
    /// Classes and their rows, those with the fewest rows first.
    pub classes: Vec<(String, usize)>,
    /// The class column.
    pub target: String,
    /// Whether rows have names.
    pub has_ids: bool,
    /// Names of the columns that are features or are not used, and of the class column.
    pub columns: Vec<String>,
    /// What a run would start from; the reason why it would be refused.
    pub plan: std::result::Result<Arc<Plan>, String>,
}

impl Survey {
    /// Reads the table.
    pub fn take(path: &Path, spec: RunSpec) -> Self {
        let found = Self::read(path, &spec).map_err(|error| error.to_string());
        Self { spec, found }
    }

    fn read(path: &Path, spec: &RunSpec) -> Result<Surveyed> {
        let data = Dataset::load(path, &spec.schema, |_, _| {})?;
        let surveyed = Surveyed::new(&data);
        let plan = Plan::new(spec.clone(), data).map_err(|error| error.to_string());
        Ok(Surveyed { plan: plan.map(Arc::new), ..surveyed })
    }
}

impl Surveyed {
    /// Of a table that is part of a plan.
    pub fn of_plan(plan: &Arc<Plan>) -> Self {
        Self { plan: Ok(plan.clone()), ..Self::new(&plan.data) }
    }

    /// Without a plan.
    fn new(data: &Dataset) -> Self {
        let mut classes: Vec<(String, usize)> =
            data.classes.iter().cloned().zip(data.class_counts()).collect();
        classes.sort_by_key(|(_, rows)| *rows);
        let features = data.units.iter().map(|unit| unit.name.clone());
        let unused = data.dropped.iter().map(|column| column.name.clone());
        Self {
            file_rows: data.file_rows,
            classes,
            target: data.target.clone(),
            has_ids: data.ids.is_some(),
            columns: std::iter::once(data.target.clone()).chain(features).chain(unused).collect(),
            plan: Err(String::new()),
        }
    }

    /// Rows with a class that is used.
    pub fn rows(&self) -> usize {
        self.classes.iter().map(|(_, rows)| rows).sum()
    }

    /// Rows and classes in a sentence.
    pub fn sentence(&self) -> String {
        let rows = self.rows();
        let dropped = self.file_rows.saturating_sub(self.rows());
        let dropped = if dropped > 0 {
            format!(" ({dropped} of {} dropped)", self.file_rows)
        } else {
            String::new()
        };
        let classes = match self.classes.len() {
            1 => "1 class".to_owned(),
            classes => format!("{classes} classes"),
        };
        let names = if self.has_ids { "" } else { "; rows have no names" };
        format!("'{}': {classes}, {}{dropped}{names}", self.target, counted(rows, "row"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::RunOptions;

    fn survey(text: &str, change: impl FnOnce(&mut RunOptions)) -> Survey {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("t.csv");
        std::fs::write(&path, text).unwrap();
        let mut options = RunOptions::default();
        change(&mut options);
        Survey::take(&path, options.check().unwrap())
    }

    fn table() -> String {
        let class = |i: usize| ["a", "b", "b", "a", "b"].get(i % 5).copied().unwrap_or("a");
        let rows = (0..60).map(|i| format!("p{i},{},{},{}\n", i * 7 % 13, i * 5 % 11, class(i)));
        format!("id,x,y,class\n{}q1,1,2,rare\nq2,3,4,\n", rows.collect::<String>())
    }

    #[test]
    fn rows_and_classes_follow_the_settings() {
        let refused = survey(&table(), |_| {}).found.unwrap();
        assert_eq!((refused.file_rows, refused.rows()), (62, 61));
        assert_eq!(refused.classes[0], ("rare".to_owned(), 1));
        assert!(refused.plan.unwrap_err().contains("--rare drop:4"));
        let mended =
            survey(&table(), |options| options.schema.rare = "drop:4".parse().ok()).found.unwrap();
        assert_eq!(mended.sentence(), "'class': 2 classes, 60 rows (2 of 62 dropped)");
        assert!(mended.plan.is_ok() && mended.has_ids);
        assert!(mended.columns.contains(&"x".to_owned()));
        let other = survey(&table(), |options| options.schema.target = Some("nothing".into()));
        assert!(other.found.unwrap_err().contains("nothing"));
    }
}
