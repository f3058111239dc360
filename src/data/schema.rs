//! Which columns are features, of what type, in which units: decided once, on all rows, without
//! looking at the target.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use super::features::{DropReason, Features, MOST_LEVELS, Offered};
use super::formats::{Samples, is_workbook};
use super::guess::is_index_name;
use super::header::Header;
use super::join::{Orientation, Phenotypes, kept_among};
use super::memory;
use super::names::{find, listed, short};
use super::table::{Column, FilePart, Table};
use super::target::{Classes, Found, Rare, choose, is_usual};
use super::units::{keep, merge, read_groups};
use super::{Audit, Design, Encoding, Factor, FileLayout, ReadOptions, Times};
use crate::error::{Error, Result};

/// The user's statements about the columns, by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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
    /// Each level of this column is left out once, to see whether the list transfers to it.
    pub leave_out: Option<String>,
    /// Columns by whose levels coverage is reported.
    pub subgroups: Vec<String>,
    /// When each row was measured.
    pub time_col: Option<String>,
    /// A table of phenotypes, among them the class, to be joined with the matrix by id.
    pub pheno: Option<PathBuf>,
    /// The sheet of the phenotypes, if it is not that of the matrix.
    pub pheno_sheet: Option<String>,
    /// A column with a larger share of missing values is dropped.
    pub max_missing: f64,
    /// What becomes of classes with few rows.
    pub rare: Option<Rare>,
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
            leave_out: None,
            subgroups: Vec::new(),
            time_col: None,
            pheno: None,
            pheno_sheet: None,
            max_missing: 0.25,
            rare: None,
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
#[derive(Debug, Clone, PartialEq)]
pub struct DroppedColumn {
    /// The column.
    pub name: String,
    /// Why.
    pub reason: DropReason,
}

/// An interpreted table: numbers, units and classes, without rows that have no class.
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
    /// For each column the variable (a column of the file that is a feature) it encodes, numbered
    /// in file order.
    pub variables: Vec<usize>,
    /// For each variable how it became its columns.
    pub encodings: Vec<Encoding>,
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
    /// Data rows of the file, those without a class included.
    pub file_rows: usize,
    /// For each row its name, when there is an id column.
    pub ids: Option<Vec<String>>,
    /// The column that these names come from, if it has a name itself.
    pub id_column: Option<String>,
    /// For each row the index of its group, when there is a group column.
    pub groups: Option<Vec<usize>>,
    /// What else is known of the rows: sites, subgroups, times.
    pub design: Design,
    /// Columns of the file that are not used.
    pub dropped: Vec<DroppedColumn>,
    /// Remarks on the table.
    pub audit: Audit,
    /// How the file was read, if it was one.
    pub layout: Option<FileLayout>,
}

impl Dataset {
    /// The category that a unit is; none for numbers and for groups of several variables.
    pub fn category(&self, unit: usize) -> Option<&Encoding> {
        let columns = &self.units[unit].columns;
        let variable = self.variables[columns[0]];
        let own = &self.encodings[variable];
        let is_whole = columns.len() == own.width()
            && columns.iter().all(|&column| self.variables[column] == variable);
        Some(own).filter(|own| is_whole && own.is_category())
    }

    /// The level of a category in a row; none where it is missing.
    pub fn level(&self, unit: usize, row: usize) -> Option<usize> {
        let numbers: Vec<f64> =
            self.units[unit].columns.iter().map(|&column| self.x[[column, row]]).collect();
        self.category(unit)?.level_of(&numbers)
    }

    /// Reads and interprets a file; `progress` receives the bytes read and the total.
    pub fn load(
        path: &Path,
        options: &SchemaOptions,
        progress: impl FnMut(u64, u64),
    ) -> Result<Self> {
        let (mut table, reading) = read(path, options, progress)?;
        let roles = reading.roles.ok_or_else(|| Error::internal("the header was not looked at"))?;
        let is_one_text = reading.phenotypes.is_none() && !table.encoding.is_empty();
        if let Some(phenotypes) = reading.phenotypes {
            table = phenotypes.join(table, reading.id).map_err(|error| error.file(path))?;
        }
        let header = table.header.names.clone();
        let path = &PathBuf::from(&table.name);
        let (mut data, features) =
            Self::understand(table, &roles, options).map_err(|error| error.file(path))?;
        let groups = options.groups.as_deref();
        let members = groups.map(read_groups).transpose()?.unwrap_or_default();
        let (mut units, unused) =
            merge(&features, &members).map_err(|error| error.file(groups.unwrap_or(path)))?;
        keep(&mut units, &features, &header, &options.keep).map_err(|error| error.file(path))?;
        data.units = units;
        if !is_one_text {
            data.layout = None;
        }
        data.audit.unused_members(&unused);
        data.summarise();
        Ok(data)
    }

    /// Everything except the units.
    fn understand(
        table: Table,
        roles: &Roles,
        options: &SchemaOptions,
    ) -> Result<(Self, Features)> {
        let mut layout = FileLayout::new(&table, roles.target);
        let Table { name, sha256, header, mut columns, lines, notes, .. } = table;
        roles.check_memory(&columns, lines.len(), options.read.memory_limit)?;
        let mut audit = Audit::default();
        notes.into_iter().for_each(|note| audit.notice(note));
        audit.mangled(&header.names);
        let target = header.names[roles.target].clone();
        audit.target(&target, roles.found);
        let turned = looks_transposed(&columns, roles.target, roles.found);
        let (levels, codes) = columns[roles.target].text()?;
        audit.without_class(&lines, codes);
        let settled = options.rare.as_ref().and_then(|rare| rare.settle(levels, codes));
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
                error.remedy("if columns are patients and lines are features, add --transpose; if the class is in another file, name it with --pheno").option("--transpose")
            } else {
                error
            }
        })?;
        if turned {
            audit.warn("the first column names its rows and all others are numbers: if columns are patients and lines are features, add --transpose");
        }
        audit.alike(&target, &classes);
        columns[roles.target] = Column::Numbers(Vec::new());
        let mut ids = roles.id.map(|id| names_of(&columns[id], &rows)).transpose()?;
        let mut id_position = roles.id;
        let groups = roles.group.map(|group| groups_of(&columns[group], &rows)).transpose()?;
        let design = roles.design(&header.names, &columns, &rows)?;
        roles.state_set_aside(&header.names, &mut audit);
        audit.design(&design);

        let mut features = Features::default();
        for (position, (name, column)) in header.names.iter().zip(columns).enumerate() {
            if roles.dropped.contains(&position) {
                features.dropped.push((name.clone(), DropReason::Asked));
            } else if roles.unused.contains(&position) {
                features.dropped.push((name.clone(), DropReason::Phenotype));
            } else if roles.is_feature(position) {
                let may_be_index = position == 0 && (header.unnamed[0] || is_index_name(name));
                let offered = Offered { name, column: &column, may_be_index };
                let first = features.columns.len();
                features.add(&offered, &rows, options.max_missing)?;
                layout.add(position, name, &column, &features.columns[first..]);
                if position == 0
                    && ids.is_none()
                    && features.names_rows()
                    && matches!(column, Column::Text { .. })
                {
                    ids = Some(names_of(&column, &rows)?);
                    id_position = Some(position);
                    audit.notice(format!("rows are named by '{}'", short(name)));
                }
            }
        }
        audit.codes(&features);
        audit.dropped(&features.dropped);
        if features.columns.is_empty() {
            return Err(Error::data("no feature is left")
                .remedy("columns that are constant, ids or mostly missing are dropped: look at the file, or raise --max-missing").option("--max-missing"));
        }
        check_unique(&features.columns)?;
        let shape = (features.columns.len(), rows.len());
        let x = Array2::from_shape_vec(shape, std::mem::take(&mut features.values))
            .map_err(|error| Error::internal(format!("columns of unequal length ({error})")))?;
        let reason = |(name, reason): &(String, DropReason)| DroppedColumn {
            name: name.clone(),
            reason: *reason,
        };
        let dropped = features.dropped.iter().map(reason).collect();
        let data = Self {
            name,
            sha256,
            x,
            columns: features.columns.clone(),
            variables: features.variable_of_columns(),
            encodings: std::mem::take(&mut features.encodings),
            units: Vec::new(),
            target,
            classes,
            y,
            rows,
            file_rows: lines.len(),
            ids,
            id_column: id_position
                .filter(|&id| !header.unnamed[id])
                .map(|id| header.names[id].clone()),
            groups,
            design,
            dropped,
            audit,
            layout: Some(layout),
        };
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

    /// How many cells of the features are missing; a missing category is one cell, however many
    /// columns it has.
    pub fn missing_cells(&self) -> usize {
        self.missing_by_variable().sum()
    }

    /// For each unit how many of its cells are missing, counted like [`Self::missing_cells`].
    pub fn missing_by_unit(&self) -> Vec<usize> {
        let is_first =
            |&column: &usize| column == 0 || self.variables[column] != self.variables[column - 1];
        let missing =
            |&column: &usize| self.x.row(column).iter().filter(|value| value.is_nan()).count();
        let of_unit =
            |unit: &Unit| unit.columns.iter().filter(|column| is_first(column)).map(missing).sum();
        self.units.iter().map(of_unit).collect()
    }

    /// For each variable how many of its cells are missing.
    pub(super) fn missing_by_variable(&self) -> impl Iterator<Item = usize> {
        let is_first =
            |&column: &usize| column == 0 || self.variables[column] != self.variables[column - 1];
        let missing =
            |column: usize| self.x.row(column).iter().filter(|value| value.is_nan()).count();
        (0..self.variables.len()).filter(is_first).map(missing)
    }
}

/// Reads the table, or the matrix and its phenotypes, and finds what the columns are for.
fn read(
    path: &Path,
    options: &SchemaOptions,
    mut progress: impl FnMut(u64, u64),
) -> Result<(Table, HeaderFindings)> {
    let is_same = |pheno: &PathBuf| pheno == path;
    if options.pheno_sheet.is_none() && options.pheno.as_ref().is_some_and(is_same) {
        return Err(Error::usage("the matrix and the phenotypes are the same file")
            .file(path)
            .remedy("name another file with --pheno, or two sheets of the workbook with --sheet MATRIX,PHENO").option("--pheno"));
    }
    let phenotypes =
        options.pheno.as_deref().map(|file| Phenotypes::read(file, options)).transpose()?;
    // One --sheet may refer to the phenotypes only.
    let mut options = options.clone();
    let is_theirs =
        options.pheno_sheet.is_none() && options.pheno.as_deref().is_some_and(is_workbook);
    if is_theirs && !is_workbook(path) {
        options.read.sheet = None;
    }
    let mut reading = HeaderFindings { phenotypes, roles: None, id: 0, samples_are_columns: false };
    let look = |header: &Header, samples: Option<Samples>| reading.look(header, samples, &options);
    let mut table = Table::read_part(path, &options.read, FilePart::Matrix, look, &mut progress);
    if reading.samples_are_columns {
        options.read.transpose = true;
        let look =
            |header: &Header, samples: Option<Samples>| reading.look(header, samples, &options);
        table = Table::read_part(path, &options.read, FilePart::Matrix, look, &mut progress);
        if let Ok(table) = &mut table {
            table
                .notes
                .push("the samples are columns of the matrix, so it was transposed".to_owned());
        }
    }
    Ok((table?, reading))
}

/// What the header of a file reveals.
struct HeaderFindings {
    phenotypes: Option<Phenotypes>,
    roles: Option<Roles>,
    /// The column of the matrix that holds the ids.
    id: usize,
    samples_are_columns: bool,
}

impl HeaderFindings {
    /// The columns to be read as text.
    fn look(
        &mut self,
        header: &Header,
        samples: Option<Samples>,
        options: &SchemaOptions,
    ) -> Result<Vec<usize>> {
        if let (Some(samples), None) = (samples, &self.phenotypes) {
            self.phenotypes = Some(Phenotypes::of_samples(samples, options)?);
        }
        let Some(phenotypes) = &self.phenotypes else {
            return Ok(self.roles.insert(Roles::new(header, options)?).as_text());
        };
        let id = match phenotypes.orientation(header, options) {
            Orientation::Rows(id) => id,
            Orientation::Columns => {
                self.samples_are_columns = true;
                return Err(Error::data("samples are columns")
                    .remedy("add --transpose")
                    .option("--transpose"));
            }
        };
        self.id = id;
        let (joined, count) = phenotypes.header(header, id)?;
        let roles = self.roles.insert(Roles::joined(&joined, count, phenotypes.id(), options)?);
        let of_matrix = |position: usize| position - count + usize::from(position - count >= id);
        let text = roles.as_text().into_iter().filter(|&position| position >= count);
        Ok(text.map(of_matrix).chain([id]).collect())
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
    site: Option<usize>,
    subgroups: Vec<usize>,
    time: Option<usize>,
    /// Phenotypes that were not requested.
    unused: HashSet<usize>,
}

impl Roles {
    fn new(header: &Header, options: &SchemaOptions) -> Result<Self> {
        Self::among(header, header.named(), options)
    }

    /// For a matrix behind this many columns of phenotypes: the class is one of these, and those
    /// without a role are not used.
    fn joined(
        header: &Header,
        phenotypes: usize,
        id: usize,
        options: &SchemaOptions,
    ) -> Result<Self> {
        let id_col = Some(header.names[id].clone());
        let mut roles =
            Self::among(header, phenotypes, &SchemaOptions { id_col, ..options.clone() })?;
        if roles.found == Found::Last {
            let names = listed(header.names[..phenotypes].iter().map(String::as_str));
            return Err(Error::usage(format!(
                "the class column is not known: the phenotypes are {names}"
            ))
            .remedy("name one with --target")
            .option("--target"));
        }
        let kept = kept_among(&header.names[..phenotypes], options);
        let is_unused = |position: &usize| {
            roles.is_feature(*position)
                && !roles.dropped.contains(position)
                && !kept.contains(position)
        };
        roles.unused = (0..phenotypes).filter(is_unused).collect();
        Ok(roles)
    }

    /// The class column is looked for among the first columns.
    fn among(header: &Header, named: usize, options: &SchemaOptions) -> Result<Self> {
        let header = &header.names;
        let all = |names: &[String], option| {
            names.iter().map(|name| find(header, name, option)).collect::<Result<Vec<_>>>()
        };
        let one = |name: &Option<String>, option| {
            name.as_ref().map(|name| find(header, name, option)).transpose()
        };
        let dropped = all(&options.drop, "--drop")?;
        let categorical = all(&options.categorical, "--categorical")?;
        let group = one(&options.group_col, "--group-col")?;
        let id = one(&options.id_col, "--id-col")?;
        let site = one(&options.leave_out, "--leave-out")?;
        let time = one(&options.time_col, "--time-col")?;
        let subgroups = all(&options.subgroups, "--subgroups")?;
        let taken = dropped
            .iter()
            .chain(&subgroups)
            .copied()
            .chain(group)
            .chain(id)
            .chain(site)
            .chain(time);
        let taken: Vec<_> = taken.collect();
        let (target, found) = choose(header, named, options.target.as_deref(), &taken)?;
        let usual = |&&column: &&usize| is_usual(&header[column]) && !dropped.contains(&column);
        if found == Found::Last
            && let Some(&column) = taken.iter().find(usual)
        {
            return Err(Error::usage(format!(
                "the column '{}' is named like the class column, but has another use",
                header[column]
            ))
            .remedy("name the class column with --target"));
        }
        let dropped = dropped.into_iter().collect();
        let unused = HashSet::new();
        let roles =
            Self { target, found, dropped, categorical, group, id, site, subgroups, time, unused };
        let clash = [
            (roles.dropped.contains(&target), "--drop"),
            (group == Some(target), "--group-col"),
            (id == Some(target), "--id-col"),
            (site == Some(target), "--leave-out"),
            (roles.subgroups.contains(&target), "--subgroups"),
            (time == Some(target), "--time-col"),
        ];
        match clash.iter().find(|(clashes, _)| *clashes) {
            Some((_, option)) => Err(Error::usage(format!(
                "--target and {option} both name the column '{}'",
                header[target]
            ))
            .remedy("name two columns")
            .option("--target")),
            None => Ok(roles),
        }
    }

    fn is_feature(&self, position: usize) -> bool {
        let taken = [self.group, self.id, self.site, self.time];
        position != self.target && !taken.contains(&Some(position))
    }

    /// Names the columns that are no features because of what else they are for.
    fn state_set_aside(&self, header: &[String], audit: &mut Audit) {
        for (columns, option) in [
            (self.site.as_slice(), "--leave-out"),
            (self.time.as_slice(), "--time-col"),
            (self.group.as_slice(), "--group-col"),
        ] {
            let names: Vec<&str> = columns.iter().map(|&column| header[column].as_str()).collect();
            audit.set_aside(&names, option);
        }
    }

    /// Sites, subgroups and times of some rows.
    fn design(&self, header: &[String], columns: &[Column], rows: &[usize]) -> Result<Design> {
        let factor =
            |&column: &usize, option| Factor::new(&header[column], &columns[column], rows, option);
        Ok(Design {
            sites: self.site.as_ref().map(|site| factor(site, "--leave-out")).transpose()?,
            subgroups: self
                .subgroups
                .iter()
                .map(|column| factor(column, "--subgroups"))
                .collect::<Result<_>>()?,
            times: self
                .time
                .map(|time| Times::new(&header[time], &columns[time], rows))
                .transpose()?,
        })
    }

    /// Refuses a table that was read but cannot be made a matrix in the memory that is left.
    fn check_memory(&self, columns: &[Column], rows: usize, megabytes: Option<u64>) -> Result<()> {
        /// Per row: its position, its class, a value that is copied and one that is compared.
        const ROW: usize = 4 * 8;
        /// Per row name, unless it is long.
        const ID: usize = 56;
        let more = |(position, column): (usize, &Column)| match column {
            Column::Text { levels, .. }
                if self.is_feature(position) && levels.len() <= MOST_LEVELS =>
            {
                8 * rows * levels.len()
            }
            _ if self.id == Some(position) => ID * rows,
            _ => 0,
        };
        let more: usize = columns.iter().enumerate().map(more).sum::<usize>() + ROW * rows;
        // Free memory is what remains beside the table; a limit includes the table.
        let read = megabytes
            .map_or(0, |_| memory::PROGRAM + columns.iter().map(Column::bytes).sum::<u64>());
        let needed = read + more as u64;
        let limit = memory::limit(megabytes);
        if needed <= limit {
            return Ok(());
        }
        Err(Error::data(format!(
            "a matrix of {} columns and {rows} rows needs {} of memory, and {} are allowed",
            columns.len(),
            memory::spoken(needed),
            memory::spoken(limit)
        ))
        .remedy("leave columns or rows out of the file, or allow more with --memory-limit")
        .option("--memory-limit"))
    }

    /// The columns whose values are names, whatever they look like.
    fn as_text(&self) -> Vec<usize> {
        let some = self.group.iter().chain(&self.id).chain(&self.categorical).chain(&self.dropped);
        let some = some.chain(&self.site).chain(&self.time);
        some.copied().chain([self.target]).collect()
    }
}

/// Whether each line has a different name in front and numbers behind it, without a class column in
/// sight; or one of these names is the name of a class column.
fn looks_transposed(columns: &[Column], target: usize, found: Found) -> bool {
    let Some((Column::Text { levels, codes }, others)) = columns.split_first() else {
        return false;
    };
    let named = target != 0 && levels.len() == codes.len() && codes.len() > 2;
    let numbers =
        |(i, column): (usize, &Column)| i + 1 == target || matches!(column, Column::Numbers(_));
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

/// The text of each row, empty if missing.
fn names_of(column: &Column, rows: &[usize]) -> Result<Vec<String>> {
    let (levels, codes) = column.text()?;
    let name =
        |&row: &usize| codes[row].map_or_else(String::new, |code| levels[code as usize].clone());
    Ok(rows.iter().map(name).collect())
}

/// The group of each row, numbered in order of appearance; a row without one is a group of its own.
fn groups_of(column: &Column, rows: &[usize]) -> Result<Vec<usize>> {
    let (_, codes) = column.text()?;
    let mut known = HashMap::new();
    let mut count = 0;
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
        Some(name) => {
            Err(Error::data(format!("a category and another column both make a column '{name}'"))
                .remedy("rename one of them"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
