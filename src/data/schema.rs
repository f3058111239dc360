//! Which columns are features, of what type, in which units: decided once, on all rows, without looking at the target.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::features::{Features, Offered, Reason};
use super::guess::is_index_name;
use super::header::Header;
use super::names::find;
use super::table::{Column, Table};
use super::target::{Classes, Found, Rare, choose, is_usual};
use super::units::{keep, merge, read_groups};
use super::{Audit, ReadOptions};
use crate::error::{Error, Result};

/// What the user says about the columns, by their names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SchemaOptions {
    /// How to read the file.
    pub read: ReadOptions,
    /// The class column, by name or, if no column has that name, by 1-based position.
    pub target: Option<String>,
    /// Columns to leave out.
    pub drop: Vec<String>,
    /// Columns (or units) that are never removed.
    pub keep: Vec<String>,
    /// Columns that are categories although they look like numbers.
    pub categorical: Vec<String>,
    /// A CSV with columns `feature,group`: features of one group are removed together.
    pub groups: Option<PathBuf>,
    /// Rows with the same value here (one patient) never cross a partition border.
    pub group_col: Option<String>,
    /// Names the rows in predictions.csv.
    pub id_col: Option<String>,
    /// A column with a larger share of missing values is dropped.
    pub max_missing: f64,
    /// Rows of classes with fewer rows are left out, or merged.
    pub min_class_size: Option<usize>,
    /// The class that classes with few rows become.
    pub merge_rare: Option<String>,
}

impl Default for SchemaOptions {
    fn default() -> Self {
        Self {
            read: ReadOptions::default(),
            target: None,
            drop: Vec::new(),
            keep: Vec::new(),
            categorical: Vec::new(),
            groups: None,
            group_col: None,
            id_col: None,
            max_missing: 0.25,
            min_class_size: None,
            merge_rare: None,
        }
    }
}

/// What is removed at once: a column, or a group of columns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// The name of the column, variable or group.
    pub name: String,
    /// Its columns, as indices into [`Dataset::columns`], ascending.
    pub columns: Vec<usize>,
    /// In every model, never removed.
    pub kept: bool,
}

impl Unit {
    /// A unit of one column.
    pub fn single(name: impl Into<String>, column: usize) -> Self {
        Self { name: name.into(), columns: vec![column], kept: false }
    }
}

/// A column that is not used, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedColumn {
    /// The column.
    pub name: String,
    /// Why, as the end of the sentence "dropped: …".
    pub reason: String,
}

/// A table understood: numbers, units and classes. Rows without a class are gone.
#[derive(Debug, Clone)]
pub struct Dataset {
    /// The file's name as the user gave it.
    pub name: String,
    /// SHA-256 of the file's bytes, hexadecimal.
    pub sha256: String,
    /// Feature-major (columns × rows), unscaled; NaN is missing.
    pub x: Array2<f64>,
    /// Names of the encoded columns: `age`, or `chest pain=asymptomatic` for a level.
    pub columns: Vec<String>,
    /// The units, in file order of their first column.
    pub units: Vec<Unit>,
    /// The class column's name.
    pub target: String,
    /// Class labels, sorted (as numbers if all are numbers).
    pub classes: Vec<String>,
    /// For each row the index of its class.
    pub y: Vec<usize>,
    /// For each row its 0-based position among the data rows of the file.
    pub rows: Vec<usize>,
    /// For each row its name, when there is an id column.
    pub ids: Option<Vec<String>>,
    /// For each row the index of its group, when there is a group column.
    pub groups: Option<Vec<usize>>,
    /// Columns of the file that are not used.
    pub dropped: Vec<DroppedColumn>,
    /// What there is to say about the table.
    pub audit: Audit,
}

impl Dataset {
    /// Reads and understands a file; `progress` is told bytes read and bytes in all.
    pub fn load(path: &Path, options: &SchemaOptions, progress: impl FnMut(u64, u64)) -> Result<Self> {
        let as_text = |header: &Header| Ok(Roles::new(header, options)?.as_text());
        let table = Table::read(path, &options.read, as_text, progress)?;
        let header = table.header.names.clone();
        let path = &PathBuf::from(&table.name);
        let (mut data, features) = Self::understand(table, options).map_err(|error| error.file(path))?;
        let groups = options.groups.as_deref();
        let members = groups.map(read_groups).transpose()?.unwrap_or_default();
        let (mut units, unused) =
            merge(&features, &members).map_err(|error| error.file(groups.unwrap_or(path)))?;
        keep(&mut units, &features, &header, &options.keep).map_err(|error| error.file(path))?;
        data.units = units;
        data.audit.unused_members(&unused);
        data.summarise();
        Ok(data)
    }

    /// All but the units.
    fn understand(table: Table, options: &SchemaOptions) -> Result<(Self, Features)> {
        let Table { name, sha256, header, columns, lines, notes, .. } = table;
        let roles = Roles::new(&header, options)?;
        let mut audit = Audit::default();
        notes.into_iter().for_each(|note| audit.notice(note));
        audit.mangled(&header.names);
        let target = header.names[roles.target].clone();
        audit.target(&target, roles.found);
        let turned = looks_transposed(&columns, roles.target, roles.found);
        let (levels, codes) = text(&columns[roles.target])?;
        audit.without_class(&lines, codes);
        let rare = Rare::new(options.min_class_size, options.merge_rare.as_deref());
        let settled = rare.settle(levels, codes);
        let (levels, codes) = match &settled {
            Some((levels, codes, done)) => {
                audit.warn(done.clone());
                (&levels[..], &codes[..])
            }
            None => (levels, codes),
        };
        let Classes { labels: classes, rows, y } = Classes::new(levels, codes).map_err(|error| {
            let error = error.column(&target);
            if turned {
                error.remedy("if columns are patients and lines are features, add --transpose")
            } else {
                error
            }
        })?;
        if turned {
            audit.warn("the first column names its rows and all others are numbers: if columns are patients and lines are features, add --transpose");
        }
        audit.alike(&target, &classes);
        let ids = roles.id.map(|id| names_of(&columns[id], &rows)).transpose()?;
        let groups = roles.group.map(|group| groups_of(&columns[group], &rows)).transpose()?;

        let mut features = Features::default();
        for (position, (name, column)) in header.names.iter().zip(columns).enumerate() {
            if roles.dropped.contains(&position) {
                features.dropped.push((name.clone(), Reason::Asked));
            } else if roles.is_feature(position) {
                let may_be_index = position == 0 && (header.unnamed[0] || is_index_name(name));
                let offered = Offered { name, column: &column, may_be_index };
                features.add(&offered, &rows, options.max_missing)?;
            }
        }
        audit.codes(&features);
        audit.dropped(&features.dropped);
        if features.columns.is_empty() {
            return Err(Error::data("no feature is left")
                .remedy("columns that are constant, ids or mostly missing are dropped: look at the file, or raise --max-missing"));
        }
        check_unique(&features.columns)?;
        let shape = (features.columns.len(), rows.len());
        let x = Array2::from_shape_vec(shape, std::mem::take(&mut features.values))
            .map_err(|error| Error::internal(format!("columns of unequal length ({error})")))?;
        let reason = |(name, reason): &(String, Reason)| DroppedColumn {
            name: name.clone(),
            reason: reason.to_string(),
        };
        let dropped = features.dropped.iter().map(reason).collect();
        let (columns, units) = (features.columns.clone(), Vec::new());
        let data =
            Self { name, sha256, x, columns, units, target, classes, y, rows, ids, groups, dropped, audit };
        Ok((data, features))
    }

    /// How many rows each class has.
    pub fn class_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.classes.len()];
        for &class in &self.y {
            counts[class] += 1;
        }
        counts
    }

    /// How many cells of the features are missing; a missing category is one cell, however many columns it has.
    pub fn missing_cells(&self) -> usize {
        self.missing_by_variable().sum()
    }

    /// For each variable how many of its cells are missing.
    pub(super) fn missing_by_variable(&self) -> impl Iterator<Item = usize> {
        let firsts = self.units.iter().flat_map(|unit| {
            let before = std::iter::once(None).chain(unit.columns.iter().map(Some));
            let first = |(&column, before): (&usize, Option<&usize>)| {
                let again = before.is_some_and(|&before| self.same_variable(before, column));
                (!again).then_some(column)
            };
            unit.columns.iter().zip(before).filter_map(first)
        });
        firsts.map(|column| self.x.row(column).iter().filter(|value| value.is_nan()).count())
    }

    /// Whether two columns of one unit are levels of one variable, `name=level`.
    fn same_variable(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.columns[a].as_bytes(), self.columns[b].as_bytes());
        a.iter().zip(b).take_while(|(a, b)| a == b).any(|(&sign, _)| sign == b'=')
    }
}

/// What the columns of the file are for, by position.
struct Roles {
    target: usize,
    found: Found,
    dropped: HashSet<usize>,
    categorical: Vec<usize>,
    group: Option<usize>,
    id: Option<usize>,
}

impl Roles {
    fn new(header: &Header, options: &SchemaOptions) -> Result<Self> {
        let (header, named) = (&header.names, header.named());
        let all = |names: &[String], option| {
            names.iter().map(|name| find(header, name, option)).collect::<Result<Vec<_>>>()
        };
        let one =
            |name: &Option<String>, option| name.as_ref().map(|name| find(header, name, option)).transpose();
        let dropped = all(&options.drop, "--drop")?;
        let categorical = all(&options.categorical, "--categorical")?;
        let group = one(&options.group_col, "--group-col")?;
        let id = one(&options.id_col, "--id-col")?;
        let taken: Vec<_> = dropped.iter().copied().chain(group).chain(id).collect();
        let (target, found) = choose(header, named, options.target.as_deref(), &taken)?;
        let roles = Self { target, found, dropped: dropped.into_iter().collect(), categorical, group, id };
        let clash = [
            (roles.dropped.contains(&target), "--drop"),
            (group == Some(target), "--group-col"),
            (id == Some(target), "--id-col"),
        ];
        match clash.iter().find(|(clashes, _)| *clashes) {
            Some((_, option)) => {
                Err(Error::usage(format!("--target and {option} both name the column '{}'", header[target]))
                    .remedy("name two columns"))
            }
            None => Ok(roles),
        }
    }

    fn is_feature(&self, position: usize) -> bool {
        position != self.target && self.group != Some(position) && self.id != Some(position)
    }

    /// The columns whose values are names, whatever they look like.
    fn as_text(&self) -> Vec<usize> {
        let some = self.group.iter().chain(&self.id).chain(&self.categorical).chain(&self.dropped);
        some.copied().chain([self.target]).collect()
    }
}

/// Whether each line has a different name in front and numbers behind it, without a class column in sight; or one of
/// these names is the name of a class column.
fn looks_transposed(columns: &[Column], target: usize, found: Found) -> bool {
    let Some((Column::Text { levels, codes }, others)) = columns.split_first() else { return false };
    let named = target != 0 && levels.len() == codes.len() && codes.len() > 2;
    let numbers = |(i, column): (usize, &Column)| i + 1 == target || matches!(column, Column::Numbers(_));
    let class_inside = levels.iter().any(|level| is_usual(level));
    named
        && found == Found::Last
        && others.iter().enumerate().all(numbers)
        && (class_inside || all_numbers_in(&columns[target]) && columns.len() > 3)
}

fn all_numbers_in(column: &Column) -> bool {
    match column {
        Column::Numbers(_) => true,
        Column::Text { levels, .. } => levels.iter().all(|level| level.parse::<f64>().is_ok()),
    }
}

fn text(column: &Column) -> Result<(&[String], &[Option<u32>])> {
    match column {
        Column::Text { levels, codes } => Ok((levels, codes)),
        Column::Numbers(_) => Err(Error::internal("a column that was to be read as text is numbers")),
    }
}

/// The text of each row, empty if missing.
fn names_of(column: &Column, rows: &[usize]) -> Result<Vec<String>> {
    let (levels, codes) = text(column)?;
    let name = |&row: &usize| codes[row].map_or_else(String::new, |code| levels[code as usize].clone());
    Ok(rows.iter().map(name).collect())
}

/// The group of each row, numbered in order of appearance; a row without one is a group of its own.
fn groups_of(column: &Column, rows: &[usize]) -> Result<Vec<usize>> {
    let (_, codes) = text(column)?;
    let (mut known, mut count) = (HashMap::new(), 0);
    let mut new = || {
        count += 1;
        count - 1
    };
    let group = |&row: &usize| match codes[row] {
        Some(code) => *known.entry(code).or_insert_with(&mut new),
        None => new(),
    };
    Ok(rows.iter().map(group).collect())
}

fn check_unique(columns: &[String]) -> Result<()> {
    let mut seen = HashSet::new();
    match columns.iter().find(|name| !seen.insert(name.as_str())) {
        Some(name) => Err(Error::data(format!("a category and another column both make a column '{name}'"))
            .remedy("rename one of them")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
