//! The columns of every CSV table: name, meaning and cell. Headers, rows and the lists of
//! docs/formats.md are made from them.

use std::borrow::Cow;

use super::rows::{Column, Columns, number};
use crate::analysis::{Metric, Pair, SiteMeasured, SiteTested, SubgroupCoverage};
use crate::data::word_list::in_list;
use crate::evaluate::{Agreement, Band, ClassMetrics, PairedDifference, Similarity};
use crate::run::{EffectPoint, Plan, Prediction, RunInfo, Step};
use crate::select::{Method, StopRule};

/// For each table a function that makes its columns: the type of what a row is made of, the name of
/// the table and those of the parts of a row. Each column has its name, the text of its cell and,
/// unless several tables share it, its meaning as a comment.
macro_rules! tables {
    ($(
        fn $rows:ident$(<$a:lifetime>)?() -> $row:ty = $table:literal, |$parts:tt| {
            $($(#[doc = $meaning:literal])* $name:ident: $text:expr,)+
        }
    )+) => {$(
        pub fn $rows$(<$a>)?() -> Columns<$row> {
            let list = vec![$(Column::new(
                stringify!($name).to_owned(),
                concat!($($meaning),*),
                |$parts: &$row| {
                    // Few cells are made of every part of a row.
                    let _ = $parts;
                    Cow::from($text)
                },
            )),+];
            Columns { table: $table, list }
        }
    )+};
}

/// Name and meaning of every column, table by table; predictions are those of a class `LABEL`.
pub fn columns() -> Vec<(&'static str, Vec<(String, &'static str)>)> {
    vec![
        metrics().described(),
        per_class().described(),
        trace().described(),
        ranking().described(),
        selection().described(),
        consistency().described(),
        similarity().described(),
        compare().described(),
        stopping().described(),
        effects().described(),
        predictions(&["LABEL".to_owned()]).described(),
        sites().described(),
        subgroups().described(),
    ]
}

/// The names of units, joined by semicolons.
fn names(info: &RunInfo, units: &[usize]) -> String {
    joined(units.iter().map(|&unit| info.units[unit].name.as_str()))
}

fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(|name| in_list(name, &[';'])).collect::<Vec<_>>().join(";")
}

type OfModel<'a> = (Method, usize, &'a Step, Option<Band>, bool);

pub fn metrics<'a>() -> Columns<OfModel<'a>> {
    let mut columns = model();
    let others = Metric::ALL.iter().filter(|&&metric| metric != Metric::Coverage);
    columns.list.extend(others.map(|&metric| {
        let name = metric.key().to_owned();
        Column::new(name, metric.meaning(), move |(_, _, step, ..): &OfModel<'a>| {
            number(metric.value(&step.tally)).into()
        })
    }));
    columns
}

/// The classes of the prediction set of a test row, joined by semicolons.
fn set(plan: &Plan, of: &Prediction) -> String {
    let classes = of.p_values.iter().zip(&plan.data.classes);
    let in_set = classes.filter(|&(&p, _)| p > plan.info.spec.epsilon);
    in_set.map(|(_, class)| class.as_str()).collect::<Vec<_>>().join(";")
}

type OfTestRow<'a> = (Method, usize, &'a Plan, Prediction);

pub fn predictions<'a>(classes: &[String]) -> Columns<OfTestRow<'a>> {
    let mut columns = test_row();
    columns.list.extend(classes.iter().enumerate().map(|(class, label)| {
        let name = format!("p_{label}");
        Column::new(name, "The p-value of each class.", move |(.., of): &OfTestRow<'a>| {
            number(of.p_values[class]).into()
        })
    }));
    columns
}

tables! {
    fn model<'a>() -> OfModel<'a> = "metrics.csv", |(method, split, step, band, is_guaranteed)| {
        method: method.name(),
        split: split.to_string(),
        n_features: step.size.to_string(),
        /// Share of test rows whose prediction set holds their class.
        coverage: number(Metric::Coverage.value(&step.tally)),
        /// Between these coverage falls in 95 % of cases if it is as guaranteed; empty without a
        /// guarantee, under `--smoothed`, and under `--mondrian`, where it is by class.
        coverage_lo: number(band.as_ref().map(|band| band.lo)),
        /// Between these coverage falls in 95 % of cases if it is as guaranteed; empty without a
        /// guarantee, under `--smoothed`, and under `--mondrian`, where it is by class.
        coverage_hi: number(band.as_ref().map(|band| band.hi)),
        /// Whether coverage is guaranteed: strict calibration and `--score weighted`.
        guaranteed: is_guaranteed.to_string(),
    }

    fn per_class<'a>() -> (Method, usize, usize, &'a str, ClassMetrics, Option<Band>)
        = "per_class.csv", |(method, split, size, class, metrics, band)| {
        method: method.name(),
        split: split.to_string(),
        n_features: size.to_string(),
        /// The class.
        class: *class,
        /// Test rows of the class.
        n: metrics.n.to_string(),
        /// Share of them whose prediction set holds the class.
        coverage: number(metrics.coverage),
        /// Mean number of classes in their prediction sets.
        set_size: number(metrics.set_size),
        /// Share of the rows predicted as this class that belong to it.
        precision: number(metrics.precision),
        /// Share of the rows of this class predicted as such.
        recall: number(metrics.recall),
        /// Harmonic mean of precision and recall.
        f1: number(metrics.f1),
        /// Between these coverage of the class falls in 95 % of cases; under `--mondrian` only.
        coverage_lo: number(band.as_ref().map(|band| band.lo)),
        /// Between these coverage of the class falls in 95 % of cases; under `--mondrian` only.
        coverage_hi: number(band.as_ref().map(|band| band.hi)),
    }

    fn trace<'a>() -> (Method, usize, &'a Step, &'a RunInfo)
        = "trace.csv", |(method, split, step, info)| {
        method: method.name(),
        split: split.to_string(),
        /// Models fitted before this one.
        step: step.t.to_string(),
        n_features: step.size.to_string(),
        /// What is removed after this model, in order; empty at the end of the path.
        removed: names(info, &step.removed),
        /// The criterion of the first that is removed: β for CRFE, Σ w² for RFE, β of the full set
        /// for SMFS, the place in the order of adding for ACM.
        criterion: number(step.criterion),
        /// What would have been removed next.
        runner_up: step.runner_up.map_or("", |unit| info.units[unit].name.as_str()),
        /// How far the criterion of the runner-up was away.
        margin: number(step.margin),
        /// Mean β of the features present.
        beta_mean: number(step.beta_mean),
        /// The test of the β rule before the removal: statistic and threshold.
        statistic: number(step.stop.map(|stop| stop.statistic)),
        /// The test of the β rule before the removal: statistic and threshold.
        threshold: number(step.stop.map(|stop| stop.threshold)),
        /// Whether the β rule would stop here.
        fired: step.stop.is_some_and(|stop| stop.fired).to_string(),
        /// Whether the fit met its tolerance.
        converged: step.converged.to_string(),
    }

    fn ranking<'a>() -> (Method, usize, &'a str, Option<u32>)
        = "ranking.csv", |(method, split, feature, rank)| {
        method: method.name(),
        split: split.to_string(),
        feature: *feature,
        /// The rank of the feature in this split: 1 was kept longest; empty if it is never removed.
        rank: rank.map_or_else(String::new, |rank| rank.to_string()),
    }

    fn selection<'a>() -> (Method, usize, &'a str, usize, f64)
        = "selection.csv", |(method, size, feature, count, frequency)| {
        method: method.name(),
        n_features: size.to_string(),
        feature: *feature,
        /// Splits in which the feature is among the last `n_features`.
        count: count.to_string(),
        /// The same as a share of the splits.
        frequency: number(*frequency),
    }

    fn consistency() -> (Method, usize, Agreement)
        = "consistency.csv", |(method, size, agreement)| {
        method: method.name(),
        n_features: size.to_string(),
        /// Features in the subsets of all splits, as a share of those in any.
        jaccard: number(agreement.jaccard),
        /// Weighted index of the features in more than half of the subsets.
        i_w: number(agreement.i_w),
        /// Mean Kuncheva index of pairs of splits; empty if subsets differ in size.
        kuncheva: number(agreement.kuncheva),
        /// Nogueira's stability.
        nogueira: number(agreement.nogueira),
        /// Its 95 % interval, by Student's t; empty for fewer than five splits.
        nogueira_lo: number(agreement.nogueira_lo),
        /// Its 95 % interval, by Student's t; empty for fewer than five splits.
        nogueira_hi: number(agreement.nogueira_hi),
    }

    fn similarity<'a>() -> (&'a Pair<'a>, usize, Similarity)
        = "similarity.csv", |(pair, size, similarity)| {
        /// The two methods.
        method_a: pair.a.name(),
        /// The two methods.
        method_b: pair.b.name(),
        n_features: size.to_string(),
        /// Jaccard index of the two subsets of a split: mean and standard deviation over splits.
        jaccard: number(similarity.jaccard.mean),
        /// Jaccard index of the two subsets of a split: mean and standard deviation over splits.
        jaccard_sd: number(similarity.jaccard.sd),
        /// The same of Kuncheva's index; empty where it is undefined in some split.
        kuncheva: number(similarity.kuncheva.as_ref().map(|kuncheva| kuncheva.mean)),
        /// The same of Kuncheva's index; empty where it is undefined in some split.
        kuncheva_sd: number(similarity.kuncheva.as_ref().and_then(|kuncheva| kuncheva.sd)),
        /// Weighted index of the subsets of both methods together.
        i_w: number(similarity.i_w),
    }

    fn compare<'a>() -> (&'a Pair<'a>, Metric, usize, PairedDifference)
        = "compare.csv", |(pair, metric, size, paired)| {
        /// A metric of metrics.csv.
        metric: metric.key(),
        n_features: size.to_string(),
        /// Mean over splits of `method_a` minus `method_b`.
        mean_difference: number(paired.mean),
        /// Standard deviation of these differences.
        sd: number(paired.sd),
        /// A 95 % interval of the mean, by the bootstrap.
        lo: number(paired.lo),
        /// A 95 % interval of the mean, by the bootstrap.
        hi: number(paired.hi),
        /// t statistic and p-value, corrected for overlapping training rows.
        t_corrected: number(paired.t_corrected),
        /// t statistic and p-value, corrected for overlapping training rows.
        p_corrected: number(paired.p_corrected),
        /// The two methods.
        method_a: pair.a.name(),
        /// The two methods.
        method_b: pair.b.name(),
    }

    fn stopping<'a>() -> (Method, usize, StopRule, Option<(usize, Vec<usize>)>, &'a RunInfo)
        = "stopping.csv", |(method, split, rule, subset, info)| {
        method: method.name(),
        split: split.to_string(),
        /// The stopping rule.
        rule: rule.name(),
        /// Whether it stops on this split.
        fired: subset.is_some().to_string(),
        /// The size at which it stops.
        n_features: subset.as_ref().map_or_else(String::new, |(size, _)| size.to_string()),
        /// The features that are kept there, joined by semicolons.
        features: subset.as_ref().map_or_else(String::new, |(_, units)| names(info, units)),
    }

    fn effects<'a>() -> (Method, &'a str, &'a EffectPoint, &'a str, usize)
        = "effects.csv", |(method, feature, point, name, class)| {
        method: method.name(),
        feature: *feature,
        /// A value of the feature; the mean of a bin if there are many.
        value: number(point.value),
        /// The name of the value, if the feature is a category.
        level: point.level.as_deref().unwrap_or_default(),
        /// Selection rows with this value or level.
        rows: point.rows.to_string(),
        /// The class.
        class: *name,
        /// Mean effect of the feature on the decision value of the class over these rows; 0 is the
        /// mean over all rows of the curve.
        score: number(point.score[*class]),
        /// Its standard deviation over these rows.
        sd: number(point.sd[*class]),
    }

    fn test_row<'a>() -> OfTestRow<'a> = "predictions.csv", |(method, split, plan, of)| {
        method: method.name(),
        split: split.to_string(),
        /// The position of the test row among the data rows of the file, from 0.
        row: plan.data.rows[of.row].to_string(),
        /// Its name, if there is one.
        id: plan.data.ids.as_ref().map_or("", |ids| &ids[of.row]),
        /// Its class.
        class: &plan.data.classes[plan.data.y[of.row]],
        /// The classes of its prediction set, joined by semicolons.
        set: set(plan, of),
    }

    fn sites<'a>() -> (Method, &'a SiteTested, Option<&'a SiteMeasured>)
        = "sites.csv", |(method, site, own)| {
        method: method.name(),
        /// The level that was left out.
        site: &site.site,
        /// Its rows.
        rows: site.rows.to_string(),
        /// Features of the list that was made without it.
        n_features: site.features.len().to_string(),
        /// Accuracy on its rows.
        accuracy: number(own.map(|own| own.accuracy.value)),
        /// A 95 % interval of accuracy.
        accuracy_lo: number(own.map(|own| own.accuracy.lo)),
        /// A 95 % interval of accuracy.
        accuracy_hi: number(own.map(|own| own.accuracy.hi)),
        /// Accuracy of the nested validation on the same rows.
        accuracy_within: number(own.and_then(|own| own.accuracy_within)),
        /// Sign test of the two accuracies.
        p_difference: number(own.and_then(|own| own.p_difference)),
        /// Share of its rows whose prediction set holds their class.
        coverage: number(own.map(|own| own.coverage.value)),
        /// Between these coverage falls in 95 % of cases if the level is like the others.
        coverage_lo: number(own.and_then(|own| own.coverage_band).map(|band| band.0)),
        /// Between these coverage falls in 95 % of cases if the level is like the others.
        coverage_hi: number(own.and_then(|own| own.coverage_band).map(|band| band.1)),
        /// The probability of coverage this low if the level is like the others.
        p_coverage: number(own.and_then(|own| own.p_coverage)),
        /// Mean number of classes in a prediction set.
        set_size: number(own.map(|own| own.set_size)),
        /// Whether the level differs from the others
        /// ([method.md](method.md#16-sites-subgroups-and-time)).
        shifted: own.is_some_and(|own| own.shifted).to_string(),
        /// The list that was made without the level, joined by semicolons.
        features: joined(site.features.iter().map(String::as_str)),
    }

    fn subgroups<'a>() -> (Method, &'a SubgroupCoverage) = "subgroups.csv", |(method, subgroup)| {
        method: method.name(),
        /// The column and its level.
        column: &subgroup.column,
        /// The column and its level.
        level: &subgroup.level,
        /// Validated rows of the level.
        rows: subgroup.rows.to_string(),
        /// Share of them whose prediction set holds their class.
        coverage: number(subgroup.coverage.value),
        /// Between these coverage falls in 95 % of cases if the subgroup is like all rows.
        coverage_lo: number(subgroup.coverage_band.map(|band| band.0)),
        /// Between these coverage falls in 95 % of cases if the subgroup is like all rows.
        coverage_hi: number(subgroup.coverage_band.map(|band| band.1)),
        /// The probability of coverage this low if the subgroup is like all rows.
        p_coverage: number(subgroup.p_coverage),
        /// Mean number of classes in a prediction set.
        set_size: number(subgroup.set_size),
        /// Whether coverage is below what is expected.
        below: subgroup.below.to_string(),
    }
}
