//! What is removed at once: variables, or the groups of a user's file; and which of them are never
//! removed.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::features::Features;
use super::names;
use super::schema::Unit;
use super::table::{Column, ReadOptions, Table};
use crate::error::{Error, Result};

/// One line of a groups file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) line: u64,
    pub(super) feature: String,
    pub(super) group: String,
}

/// Reads a file of two columns, `feature,group`.
pub(super) fn read_groups(path: &Path) -> Result<Vec<Member>> {
    let table = Table::read(
        path,
        &ReadOptions::default(),
        |header| Ok((0..header.named()).collect()),
        |_, _| (),
    )?;
    let [Column::Text { levels, codes }, Column::Text { levels: groups, codes: group_codes }] =
        &table.columns[..]
    else {
        let what = format!(
            "a groups file has two columns, feature and group, but this has {}",
            table.columns.len()
        );
        return Err(Error::data(what).file(path).remedy("give it the header feature,group"));
    };
    let members =
        table.lines.iter().zip(codes.iter().zip(group_codes)).map(|(line, codes)| match codes {
            (Some(feature), Some(group)) => {
                let feature = levels[*feature as usize].clone();
                let group = groups[*group as usize].clone();
                Ok(Member { line, feature, group })
            }
            _ => Err(Error::data("a feature or its group is missing")
                .file(path)
                .line(line)
                .remedy("fill in both")),
        });
    members.collect()
}

/// The units, in the order of their first columns: each variable one, unless members merge them.
/// Also the features that members name but that were dropped.
pub(super) fn merge(features: &Features, members: &[Member]) -> Result<(Vec<Unit>, Vec<String>)> {
    let mut group_of: Vec<Option<&str>> = vec![None; features.columns.len()];
    let place = ColumnLookup::new(features);
    let mut dropped = Vec::new();
    for Member { line, feature, group } in members {
        let Some(columns) = place.columns(feature) else {
            if features.dropped.iter().any(|(name, _)| name == feature) {
                dropped.push(feature.clone());
                continue;
            }
            return Err(names::unknown("feature", feature, "--groups", &place.known()).line(*line));
        };
        for known in &mut group_of[columns] {
            if let Some(other) = known.replace(group)
                && other != group
            {
                return Err(Error::usage(format!(
                    "the feature '{feature}' is in the groups '{other}' and '{group}'"
                ))
                .line(*line)
                .remedy("leave it in one of them"));
            }
        }
    }
    let mut units: Vec<Unit> = Vec::new();
    let mut known = HashMap::new();
    for variable in &features.variables {
        for column in variable.columns.clone() {
            let (name, grouped) =
                group_of[column].map_or((variable.name.as_str(), false), |group| (group, true));
            let unit = *known.entry((name, grouped)).or_insert_with(|| {
                units.push(Unit { name: name.to_owned(), columns: Vec::new(), kept: false });
                units.len() - 1
            });
            units[unit].columns.push(column);
        }
    }
    let mut seen = HashSet::new();
    if let Some(unit) = units.iter().find(|unit| !seen.insert(&unit.name)) {
        return Err(Error::usage(format!(
            "the group '{}' has the name of a feature outside it",
            unit.name
        ))
        .remedy("rename the group"));
    }
    Ok((units, dropped))
}

/// Marks the units that are never removed. With `header`, a column that is not a feature is
/// distinguished from a typing error.
pub(super) fn keep(
    units: &mut [Unit],
    features: &Features,
    header: &[String],
    kept: &[String],
) -> Result<()> {
    let place = ColumnLookup::new(features);
    for name in kept.iter().map(|name| name.trim()) {
        let is_known = |name: &str| {
            place.columns(name).is_some() || header.iter().any(|column| column == name)
        };
        let is_unit = units.iter().any(|unit| unit.name == name);
        let by_position =
            names::find(header, name, "--keep").ok().filter(|_| !is_unit && !is_known(name));
        let name = by_position.map_or(name, |position| &header[position]);
        if let Some(unit) = units.iter_mut().find(|unit| unit.name == name) {
            unit.kept = true;
        } else if let Some(columns) = place.columns(name) {
            let holds =
                |unit: &&mut Unit| unit.columns.iter().any(|column| columns.contains(column));
            units.iter_mut().filter(holds).for_each(|unit| unit.kept = true);
        } else if let Some((_, reason)) =
            features.dropped.iter().find(|(dropped, _)| dropped == name)
        {
            return Err(Error::usage(format!(
                "--keep names the column '{name}', but it was dropped: {reason}"
            ))
            .remedy("take it out of --keep, or mend the column")
            .option("--keep"));
        } else if header.iter().any(|column| column == name) {
            return Err(Error::usage(format!(
                "--keep names the column '{name}', which is not a feature"
            ))
            .remedy("take it out of --keep")
            .option("--keep"));
        } else {
            return Err(names::unknown("feature", name, "--keep", &place.known()));
        }
    }
    Ok(())
}

/// Where a variable or an encoded column is.
struct ColumnLookup<'a> {
    features: &'a Features,
    columns: HashMap<&'a str, std::ops::Range<usize>>,
}

impl<'a> ColumnLookup<'a> {
    fn new(features: &'a Features) -> Self {
        let encoded =
            features.columns.iter().enumerate().map(|(i, name)| (name.as_str(), i..i + 1));
        let variables = features.variables.iter().map(|v| (v.name.as_str(), v.columns.clone()));
        Self { features, columns: encoded.chain(variables).collect() }
    }

    fn columns(&self, name: &str) -> Option<std::ops::Range<usize>> {
        self.columns.get(name).cloned()
    }

    /// All names that would have been understood.
    fn known(&self) -> Vec<&'a str> {
        let variables = self.features.variables.iter().map(|variable| variable.name.as_str());
        let levels = self.features.columns.iter().map(String::as_str);
        let mut seen = HashSet::new();
        variables.chain(levels).filter(|name| seen.insert(*name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::features::{DropReason, Variable};
    use super::*;

    /// Numbers `a`, `b`, a category `k` with three levels, and a dropped `gone`.
    fn features() -> Features {
        let variable = |name: &str, columns| Variable { name: name.to_owned(), columns };
        Features {
            columns: ["a", "b", "k=x", "k=y", "k=z"].map(String::from).to_vec(),
            variables: vec![variable("a", 0..1), variable("b", 1..2), variable("k", 2..5)],
            dropped: vec![("gone".to_owned(), DropReason::Constant)],
            ..Features::default()
        }
    }

    fn members(pairs: &[(&str, &str)]) -> Vec<Member> {
        let member = |(i, (feature, group)): (usize, &(&str, &str))| Member {
            line: i as u64 + 2,
            feature: (*feature).to_owned(),
            group: (*group).to_owned(),
        };
        pairs.iter().enumerate().map(member).collect()
    }

    fn shape(units: &[Unit]) -> Vec<(&str, &[usize])> {
        units.iter().map(|unit| (unit.name.as_str(), &unit.columns[..])).collect()
    }

    #[test]
    fn each_variable_is_a_unit() {
        let (units, _) = merge(&features(), &[]).unwrap();
        assert_eq!(shape(&units), [("a", &[0][..]), ("b", &[1]), ("k", &[2, 3, 4])]);
    }

    #[test]
    fn groups_merge_variables_and_single_levels() {
        let (units, _) = merge(&features(), &members(&[("b", "g"), ("k=y", "g")])).unwrap();
        assert_eq!(shape(&units), [("a", &[0][..]), ("g", &[1, 3]), ("k", &[2, 4])]);
        let (units, dropped) =
            merge(&features(), &members(&[("k", "a"), ("a", "a"), ("gone", "a")])).unwrap();
        assert_eq!(shape(&units), [("a", &[0, 2, 3, 4][..]), ("b", &[1])]);
        assert_eq!(dropped, ["gone"]);
    }

    #[test]
    fn refuses_groups_that_make_no_sense() {
        let say =
            |pairs: &[(&str, &str)]| merge(&features(), &members(pairs)).unwrap_err().to_string();
        assert_eq!(
            say(&[("a", "g"), ("q", "g")]),
            "line 3: --groups names the feature 'q', which does not exist; there are a, b, k, k=x, k=y, k=z"
        );
        assert_eq!(
            say(&[("a", "g"), ("a", "h")]),
            "line 3: the feature 'a' is in the groups 'g' and 'h'; leave it in one of them"
        );
        assert_eq!(
            say(&[("a", "b")]),
            "the group 'b' has the name of a feature outside it; rename the group"
        );
    }

    #[test]
    fn a_kept_member_keeps_its_unit() {
        let features = features();
        let header = ["a", "b", "k", "gone", "class"].map(String::from);
        let kept = |names: &[&str]| -> Result<Vec<String>> {
            let (mut units, _) = merge(&features, &members(&[("b", "g"), ("k=y", "g")]))?;
            keep(
                &mut units,
                &features,
                &header,
                &names.iter().map(ToString::to_string).collect::<Vec<_>>(),
            )?;
            Ok(units.into_iter().filter(|unit| unit.kept).map(|unit| unit.name).collect())
        };
        assert_eq!(kept(&["g"]).unwrap(), ["g"]);
        assert_eq!(kept(&["b", " a"]).unwrap(), ["a", "g"]);
        assert_eq!(kept(&["k=z"]).unwrap(), ["k"]);
        assert_eq!(kept(&["1", "2"]).unwrap(), ["a", "g"], "by position");
        assert_eq!(kept(&["5"]).unwrap_err().exit_code(), 2);
        assert_eq!(
            kept(&["gone"]).unwrap_err().to_string(),
            "--keep names the column 'gone', but it was dropped: all its values are the same; take it out of --keep, or \
             mend the column"
        );
        assert_eq!(kept(&["class"]).unwrap_err().exit_code(), 2);
        assert_eq!(kept(&["zzz"]).unwrap_err().exit_code(), 2);
    }
}
