//! Every option of a run, described once: the command line, the environment, the configuration
//! file, the settings form, the command that repeats a run, the methods paragraph and
//! docs/options.md are made from [`OPTIONS`]. Knows nothing of clap.

use super::option::{BLANK, file, flag, only, optional, value, words};
pub use super::option::{Chapter, Done, FormLine, Prose, Refusal, RunOption, Takes, variable};
use crate::data::Censored;
use crate::select::{BetaRule, Score, StopRule};
use crate::svm::{ClassWeight, Estimator, Gamma, SolverKind};

const STOP_HELP: &str = "\
How the size of the answer is chosen:
- 1se: the smallest size that is as good as the best in all curves of --by, within one standard error over the splits
- knee: on each split where total conformity, which falls as features are removed, bends most; looks at no test row
- beta: the β rule, the paper's: before the mean β first drops by more than 5 standard deviations within a window of 0.4 of
  the features; beta:3.5 and beta:3.5:0.7 set these two numbers
- cv: the size with the best 5-fold cross-validated accuracy of RFE, as scikit-learn's RFECV; slower
- proximity: the rule of CRFE 0.1.1, where classes come too near to each other on training rows; the best size seen, or with
  --calibration shared the size at which the rule fires, as published
- none: no size is chosen; ranking.csv has the order
- a number: that many features
For knee, beta, cv and proximity, the answer is the median over the splits.";

/// Every option of a run, in the order of the help.
pub const OPTIONS: &[RunOption] = &[
    RunOption {
        name: "target",
        takes: Takes::Column("COLUMN"),
        help: "Class column, by name or 1-based position [default: class, target, label, y, outcome or diagnosis, else the last]",
        example: "diagnosis",
        ..optional!(schema.target)
    },
    RunOption {
        name: "drop",
        takes: Takes::Words("COLUMNS"),
        help: "Columns to leave out, by name or 1-based position; a name with a comma in double quotes: '\"notes, free\",date'",
        example: "\"notes, free\",date",
        ..words!(schema.drop)
    },
    RunOption {
        name: "keep",
        takes: Takes::Words("FEATURES"),
        help: "Features that are in every model and never removed, by name or 1-based position",
        example: "age,sex",
        prose: Prose::Sentence(|options| {
            let kept = &options.schema.keep;
            (!kept.is_empty()).then(|| format!("Always in the model: {}.", kept.join(", ")))
        }),
        ..words!(schema.keep)
    },
    RunOption {
        name: "categorical",
        takes: Takes::Words("COLUMNS"),
        help: "Columns whose numbers are codes of categories",
        example: "stage,grade",
        ..words!(schema.categorical)
    },
    RunOption {
        name: "groups",
        help: "CSV with columns feature,group: the features of a group are removed together",
        example: "groups.csv",
        prose: Prose::Sentence(|options| {
            let given = options.schema.groups.is_some();
            given.then(|| "Features of one group were removed together.".to_owned())
        }),
        ..file!(schema.groups)
    },
    RunOption {
        name: "group-col",
        takes: Takes::Column("COLUMN"),
        help: "Rows with the same value here (one patient) stay in the same part of a split",
        example: "patient",
        prose: Prose::Sentence(|options| {
            let column = options.schema.group_col.as_ref()?;
            Some(format!("Rows with the same {column} stayed in the same part of a split."))
        }),
        ..optional!(schema.group_col)
    },
    RunOption {
        name: "leave-out",
        takes: Takes::Column("COLUMN"),
        help: "Hospital, batch or year: each level is left out once and predicted by the list selected on the others; not a feature",
        example: "hospital",
        prose: Prose::Sentence(|options| {
            let column = options.schema.leave_out.as_ref()?;
            Some(format!(
                "The whole procedure was repeated without each level of {column} and its list tested on the rows of that level."
            ))
        }),
        ..optional!(schema.leave_out)
    },
    RunOption {
        name: "subgroups",
        takes: Takes::Words("COLUMNS"),
        help: "Columns by whose levels the coverage of validated rows is reported; features, too, unless --drop names them",
        example: "sex,stage",
        prose: Prose::Sentence(|options| {
            let columns = &options.schema.subgroups;
            (!columns.is_empty()).then(|| {
                format!("Coverage of validated rows was computed by {}.", columns.join(", "))
            })
        }),
        ..words!(schema.subgroups)
    },
    RunOption {
        name: "time-col",
        takes: Takes::Column("COLUMN"),
        help: "Date (2026-11-18) or number by which rows are checked for drift; not a feature [default: the order of the file]",
        example: "date",
        prose: Prose::Sentence(|options| {
            let column = options.schema.time_col.as_ref()?;
            Some(format!("Validated p-values were checked for a trend over {column}."))
        }),
        ..optional!(schema.time_col)
    },
    RunOption {
        name: "pheno",
        help: "Table with one row per sample, including the class: joined with the matrix DATA.CSV by --id-col, or by the first column of both",
        example: "pheno.csv",
        ..file!(schema.pheno)
    },
    RunOption {
        name: "id-col",
        takes: Takes::Column("COLUMN"),
        help: "Column that names the rows in predictions.csv; not a feature [default: row names, if there are any]",
        example: "sample",
        ..optional!(schema.id_col)
    },
    RunOption {
        name: "na",
        takes: Takes::Words("WORDS"),
        help: "Further words that mean \"missing\", in addition to the empty cell, NA, N/A, NaN, null, ? and \".\"",
        example: "-9,unknown",
        ..words!(schema.read.missing)
    },
    RunOption {
        name: "max-missing",
        takes: Takes::Number("SHARE"),
        help: "Drop columns with a larger share of missing values",
        example: "0.1",
        ..value!(schema.max_missing)
    },
    RunOption {
        name: "impute",
        takes: Takes::Word("HOW"),
        help: "How missing values are imputed, per split, from training rows: knn:K, median or none",
        example: "median",
        choices: &["knn:5", "median", "none"],
        prose: Prose::Within,
        ..value!(impute)
    },
    RunOption {
        name: "scale",
        takes: Takes::Word("HOW"),
        help: "How columns are scaled, per split, by training rows: standard, minmax or none",
        example: "minmax",
        choices: &["standard", "minmax", "none"],
        prose: Prose::Within,
        ..value!(scale)
    },
    RunOption {
        name: "delimiter",
        takes: Takes::Word("CHAR"),
        help: "Field separator; \"tab\" for a tab character [default: detected]",
        example: ";",
        get: |options| {
            let word = |sign: char| if sign == '\t' { "tab".to_owned() } else { sign.to_string() };
            options.schema.read.delimiter.into_iter().map(word).collect()
        },
        set: |options, words| {
            options.schema.read.delimiter = Some(match only(words)? {
                "tab" | "\\t" | "\t" => '\t',
                text => one_ascii(text).ok_or("write one character such as ; or the word tab")?,
            });
            Ok(())
        },
        ..BLANK
    },
    RunOption {
        name: "decimal",
        takes: Takes::Word("CHAR"),
        help: "Decimal sign, . or , [default: the comma if numbers contain one and it is not the separator, else the point]",
        example: ",",
        choices: &[".", ","],
        get: |options| options.schema.read.decimal.iter().map(ToString::to_string).collect(),
        set: |options, words| {
            let sign = one_ascii(only(words)?).filter(|sign| matches!(sign, '.' | ','));
            options.schema.read.decimal = Some(sign.ok_or("write . or ,")?);
            Ok(())
        },
        ..BLANK
    },
    RunOption {
        name: "no-header",
        help: "The first line is data; columns are called c1, c2, …",
        ..flag!(schema.read.no_header)
    },
    RunOption {
        name: "dedup-names",
        help: "Number columns of the same name (a, a.1, a.2) instead of refusing them",
        ..flag!(schema.read.dedup_names)
    },
    RunOption {
        name: "sheet",
        takes: Takes::Words("NAMES"),
        help: "Sheet of a workbook (xlsx, xls, ods); with --pheno, those of the matrix and of the phenotypes, which may be in one workbook [default: the first]",
        example: "Genes,Patients",
        get: |options| {
            options.schema.read.sheet.iter().chain(&options.schema.pheno_sheet).cloned().collect()
        },
        set: |options, words| {
            (options.schema.read.sheet, options.schema.pheno_sheet) = match words {
                [sheet] => (Some(sheet.clone()), None),
                [matrix, phenotypes] => (Some(matrix.clone()), Some(phenotypes.clone())),
                _ => return Err("write one sheet, or two: MATRIX,PHENO".into()),
            };
            Ok(())
        },
        ..BLANK
    },
    RunOption {
        name: "transpose",
        help: "Transpose the table: its lines are features and its columns are patients",
        ..flag!(schema.read.transpose)
    },
    RunOption {
        name: "censored",
        takes: Takes::Word("HOW"),
        help: "Values such as <0.5 in a column of numbers: bound (0.5) or na (missing) [default: refused]",
        example: "bound",
        choices: &["bound", "na"],
        prose: Prose::Sentence(|options| {
            Some(match options.schema.read.censored? {
                Censored::Bound => "Censored values were replaced by their bounds.".to_owned(),
                Censored::Na => "Censored values were treated as missing.".to_owned(),
            })
        }),
        ..optional!(schema.read.censored)
    },
    RunOption {
        name: "rare",
        takes: Takes::Word("HOW"),
        help: "Classes with few rows: drop:5 leaves out those with fewer than 5, merge:5:other merges these into one class called other",
        example: "merge:5:other",
        choices: &["drop:4", "drop:10", "merge:4:other"],
        prose: Prose::Sentence(|options| {
            let rare = options.schema.rare.as_ref()?;
            Some(match &rare.merged {
                None => format!("Classes with fewer than {} rows were left out.", rare.fewest),
                Some(name) => format!("Classes with few rows were merged into “{name}”."),
            })
        }),
        ..optional!(schema.rare)
    },
    RunOption {
        name: "memory-limit",
        takes: Takes::Number("MB"),
        help: "Megabytes of memory that the table may use [default: what is free]",
        example: "2000",
        ..optional!(schema.read.memory_limit)
    },
    RunOption {
        name: "method",
        chapter: Chapter::Method,
        takes: Takes::Words("METHODS"),
        help: "Methods: crfe, rfe, smfs, acm",
        example: "smfs",
        choices: &["crfe,rfe", "crfe", "rfe", "smfs", "crfe,rfe,smfs"],
        form: Some(FormLine { place: 4, hint: "crfe, rfe, smfs, acm" }),
        prose: Prose::Within,
        get: |options| options.methods.iter().map(|method| method.name().to_owned()).collect(),
        set: |options, words| {
            options.methods =
                words.iter().map(|word| word.trim().parse()).collect::<Result<_, String>>()?;
            Ok(())
        },
        ..BLANK
    },
    RunOption {
        name: "lambda",
        chapter: Chapter::Method,
        takes: Takes::Number("λ"),
        help: "λ: weight of the candidate class's own machine in the non-conformity, 0 to 1",
        example: "0.25",
        choices: &["0", "0.25", "0.5", "0.75", "1"],
        form: Some(FormLine { place: 1, hint: "λ, 0 to 1" }),
        prose: Prose::Within,
        ..value!(lambda)
    },
    RunOption {
        name: "cost",
        chapter: Chapter::Method,
        takes: Takes::Number("C"),
        help: "C of the support vector machines",
        example: "0.01",
        choices: &["0.01", "0.1", "1", "10"],
        form: Some(FormLine { place: 2, hint: "C, above 0" }),
        prose: Prose::Within,
        ..value!(cost)
    },
    RunOption {
        name: "class-weight",
        chapter: Chapter::Method,
        takes: Takes::Word("HOW"),
        help: "\"balanced\": errors on rare classes cost more",
        example: "balanced",
        choices: &["none", "balanced"],
        prose: Prose::Within,
        get: |options| match options.class_weight {
            ClassWeight::Balanced => vec!["balanced".to_owned()],
            ClassWeight::None => Vec::new(),
        },
        set: |options, words| {
            options.class_weight = match only(words)? {
                "balanced" => ClassWeight::Balanced,
                "none" => ClassWeight::None,
                _ => return Err("write balanced or none".into()),
            };
            Ok(())
        },
        ..BLANK
    },
    RunOption {
        name: "solver",
        chapter: Chapter::Method,
        takes: Takes::Word("SOLVER"),
        help: "newton (squared hinge, exact) or linfa (plain hinge, at most 2000 training rows)",
        example: "linfa",
        choices: &["newton", "linfa"],
        form: Some(FormLine { place: 8, hint: "newton or linfa" }),
        prose: Prose::Within,
        get: |options| {
            vec![
                match options.solver {
                    SolverKind::Newton => "newton",
                    SolverKind::Linfa => "linfa",
                }
                .to_owned(),
            ]
        },
        set: |options, words| {
            options.solver = only(words)?.parse()?;
            Ok(())
        },
        ..BLANK
    },
    RunOption {
        name: "estimator",
        chapter: Chapter::Method,
        takes: Takes::Word("MODEL"),
        help: "linear; rcs:3, rcs:4 or rcs:5 (restricted cubic splines with 3, 4 or 5 knots); or rbf (Gaussian kernel), where rbf:0.5 sets γ [default γ: 1 / number of columns in the model]",
        example: "rbf:0.5",
        choices: &["linear", "rcs:3", "rcs:4", "rcs:5", "rbf", "rbf:0.1"],
        form: Some(FormLine { place: 5, hint: "linear, rcs:3, rcs:4, rcs:5, rbf or rbf:γ" }),
        prose: Prose::Within,
        get: |options| {
            vec![match options.gamma {
                Gamma::Scale => options.estimator.to_string(),
                Gamma::Fixed(gamma) => format!("{}:{gamma}", options.estimator),
            }]
        },
        set: |options, words| {
            let word = only(words)?;
            (options.estimator, options.gamma) = match word.strip_prefix("rbf:") {
                Some(gamma) => (Estimator::Rbf, gamma.parse()?),
                None => (word.parse()?, Gamma::Scale),
            };
            Ok(())
        },
        ..BLANK
    },
    RunOption {
        name: "prefilter",
        chapter: Chapter::Method,
        takes: Takes::Number("N"),
        help: "With --estimator rbf: first reduce to N features by a linear path on the same split [default: none; required above 500 features]",
        example: "4",
        choices: &["50", "100", "200"],
        form: Some(FormLine { place: 7, hint: "features left for rbf, or empty" }),
        prose: Prose::Within,
        ..optional!(prefilter)
    },
    RunOption {
        name: "step",
        chapter: Chapter::Method,
        takes: Takes::Word("STEP"),
        help: "Features removed at once: a count, a fraction of those left, or half",
        example: "half",
        choices: &["1", "2", "5", "0.1", "half"],
        form: Some(FormLine { place: 12, hint: "a count, a fraction or half" }),
        prose: Prose::Within,
        ..value!(step)
    },
    RunOption {
        name: "stop",
        chapter: Chapter::Method,
        takes: Takes::Word("RULE"),
        help: "How the size of the answer is chosen: 1se, knee, beta, cv, proximity, none or a number",
        details: Some(STOP_HELP),
        example: "beta:3.5:0.7",
        choices: &["1se", "knee", "beta", "cv", "proximity", "none"],
        form: Some(FormLine { place: 13, hint: "1se knee beta cv proximity none or N" }),
        prose: Prose::Within,
        get: |options| {
            let BetaRule { sigma, window } = options.beta_rule;
            let is_usual =
                options.stop != StopRule::Beta || options.beta_rule == BetaRule::default();
            let numbers = if is_usual { String::new() } else { format!(":{sigma}:{window}") };
            vec![options.stop.name() + &numbers]
        },
        set: |options, words| {
            let word = only(words)?;
            (options.stop, options.beta_rule) = match word.strip_prefix("beta:") {
                Some(numbers) => (StopRule::Beta, numbers.parse()?),
                None => (word.parse()?, BetaRule::default()),
            };
            Ok(())
        },
    },
    RunOption {
        name: "by",
        chapter: Chapter::Method,
        takes: Takes::Words("CURVES"),
        help: "Metrics by which --stop 1se compares sizes: inefficiency, accuracy, s_score, recall_macro, f1_macro, auc",
        example: "auc",
        choices: &["inefficiency,accuracy", "inefficiency", "accuracy", "auc", "f1_macro"],
        form: Some(FormLine { place: 14, hint: "inefficiency, accuracy, auc, f1_macro …" }),
        prose: Prose::Sentence(|done| {
            let curves: Vec<&str> = done.by.iter().map(|curve| curve.words()).collect();
            (done.stop == StopRule::OneSe && !done.size_by_hand)
                .then(|| format!("Sizes were compared by {} on test rows.", curves.join(" and ")))
        }),
        get: |options| options.by.iter().map(|curve| curve.name().to_owned()).collect(),
        set: |options, words| {
            options.by =
                words.iter().map(|word| word.trim().parse()).collect::<Result<_, String>>()?;
            Ok(())
        },
        ..BLANK
    },
    RunOption {
        name: "early",
        chapter: Chapter::Method,
        help: "End each path where --stop beta or --stop N stops, instead of at one feature",
        prose: Prose::Sentence(|options| {
            options.early.then(|| "Each path ended at the size that the rule chose.".to_owned())
        }),
        ..flag!(early)
    },
    RunOption {
        name: "splits",
        chapter: Chapter::Splits,
        takes: Takes::Number("N"),
        help: "How many random splits",
        example: "3",
        choices: &["5", "10", "20", "50", "100", "200"],
        form: Some(FormLine { place: 10, hint: "at least 1" }),
        prose: Prose::Within,
        ..value!(split.splits)
    },
    RunOption {
        name: "splits-from",
        chapter: Chapter::Splits,
        help: "JSON file with your own splits",
        example: "splits.json",
        prose: Prose::Within,
        ..file!(split.splits_from)
    },
    RunOption {
        name: "reserve",
        chapter: Chapter::Splits,
        takes: Takes::Number("SHARE"),
        help: "Share of the rows to set aside before anything else, to calibrate a model for new rows [default: none; fit: 0.2]",
        example: "0.2",
        prose: Prose::Sentence(|options| {
            let share = options.split.reserve?;
            Some(format!(
                "Before anything else, a stratified {:.0} % of the rows were set aside to calibrate a model.",
                100.0 * share
            ))
        }),
        ..optional!(split.reserve)
    },
    RunOption {
        name: "seed",
        chapter: Chapter::Splits,
        takes: Takes::Number("SEED"),
        help: "Seed of the splits",
        example: "18446744073709551615",
        form: Some(FormLine { place: 11, hint: "a whole number" }),
        prose: Prose::Within,
        ..value!(split.seed)
    },
    RunOption {
        name: "test-size",
        chapter: Chapter::Splits,
        takes: Takes::Number("SHARE"),
        help: "Share of test rows",
        example: "0.3",
        prose: Prose::Within,
        ..value!(split.test_size)
    },
    RunOption {
        name: "cal-size",
        chapter: Chapter::Splits,
        takes: Takes::Number("SHARE"),
        help: "Share of calibration rows among the others",
        example: "0.4",
        prose: Prose::Within,
        ..value!(split.cal_size)
    },
    RunOption {
        name: "calibration",
        chapter: Chapter::Splits,
        takes: Takes::Word("MODE"),
        help: "strict (coverage guaranteed) or shared (as in the paper; no guarantee)",
        example: "shared",
        choices: &["strict", "shared"],
        form: Some(FormLine { place: 9, hint: "strict or shared" }),
        prose: Prose::Within,
        ..value!(split.calibration)
    },
    RunOption {
        name: "epsilon",
        chapter: Chapter::Splits,
        takes: Takes::Number("ε"),
        help: "ε: prediction sets hold the true class with probability at least 1 − ε",
        example: "0.05",
        choices: &["0.01", "0.03", "0.05", "0.1", "0.2"],
        form: Some(FormLine { place: 3, hint: "ε, between 0 and 1" }),
        prose: Prose::Within,
        ..value!(epsilon)
    },
    RunOption {
        name: "mondrian",
        chapter: Chapter::Splits,
        help: "p-values by class: the coverage guarantee holds for every class",
        prose: Prose::Within,
        ..flag!(mondrian)
    },
    RunOption {
        name: "smoothed",
        chapter: Chapter::Splits,
        help: "Randomised p-values: coverage is exactly 1 − ε instead of at least",
        prose: Prose::Within,
        ..flag!(smoothed)
    },
    RunOption {
        name: "score",
        chapter: Chapter::Splits,
        takes: Takes::Word("SCORE"),
        help: "weighted, or published: the score behind the paper's published curves (no guarantee)",
        example: "published",
        choices: &["weighted", "published"],
        prose: Prose::Within,
        get: |options| {
            vec![
                match options.score {
                    Score::Weighted => "weighted",
                    Score::Published => "published",
                }
                .to_owned(),
            ]
        },
        set: |options, words| {
            options.score = only(words)?.parse()?;
            Ok(())
        },
        ..BLANK
    },
    RunOption {
        name: "validate",
        chapter: Chapter::Splits,
        takes: Takes::Word("FOLDS"),
        help: "Folds of the nested validation, which tests the list on unseen rows, or none",
        example: "3",
        choices: &["none", "5", "10"],
        form: Some(FormLine { place: 15, hint: "2 to 100 folds, or none" }),
        prose: Prose::Sentence(|done| {
            let folds = Some(done.folds).filter(|&folds| folds > 0)?;
            Some(format!(
                "The whole procedure (splits, choice of size, list) was tested by nested {folds}-fold validation: for each fold \
                 a fifth of the other rows was set aside for calibration, the procedure and the final model used the rest."
            ))
        }),
        get: |options| {
            vec![options.validate.map_or_else(|| "none".to_owned(), |folds| folds.to_string())]
        },
        set: |options, words| {
            options.validate = match only(words)? {
                "none" => None,
                folds => Some(
                    folds.parse().map_err(|_| "write a number of folds, at least 2, or none")?,
                ),
            };
            Ok(())
        },
        ..BLANK
    },
    RunOption {
        name: "permutations",
        chapter: Chapter::Splits,
        takes: Takes::Word("N"),
        help: "Permutations of the labels, to show what chance selects: auto (99, 19 or none, depending on cost), none or a number",
        example: "19",
        choices: &["auto", "none", "19", "99"],
        form: Some(FormLine { place: 16, hint: "auto, none or a number" }),
        prose: Prose::Sentence(|done| {
            let count = Some(done.permutations).filter(|&count| count > 0)?;
            let compared = match done.stop {
                StopRule::Size(_) if !done.size_by_hand => {
                    "at this size was compared with that under each permutation"
                }
                _ => {
                    "at its best size was compared with that under each permutation, at its own best size"
                }
            };
            Some(format!(
                "Selection counts were compared with their maximum over features under {count} permutations of the labels (Westfall and Young); \
                 the mean sum of p-values {compared}."
            ))
        }),
        get: |options| vec![options.permutations.to_string()],
        set: |options, words| {
            options.permutations = only(words)?.parse()?;
            Ok(())
        },
        ..BLANK
    },
];

fn one_ascii(text: &str) -> Option<char> {
    let mut characters = text.chars();
    characters.next().filter(|c| c.is_ascii() && characters.next().is_none())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::run::RunOptions;
    use crate::select::StepSize;

    /// The fields of the options by their full names, as they are recorded, and the one that is
    /// not.
    fn fields(options: &RunOptions) -> Vec<(String, String)> {
        fn walk(name: String, value: &Value, found: &mut Vec<(String, String)>) {
            match value {
                // A value of an enum with contents, such as {"knn": 5}, is one field.
                Value::Object(parts)
                    if ["", "schema", "schema.read", "split", "beta_rule"]
                        .contains(&name.as_str()) =>
                {
                    for (part, value) in parts {
                        walk(
                            if name.is_empty() { part.clone() } else { format!("{name}.{part}") },
                            value,
                            found,
                        );
                    }
                }
                value => found.push((name, value.to_string())),
            }
        }
        let mut found = Vec::new();
        walk(String::new(), &serde_json::to_value(options).unwrap(), &mut found);
        found.push(("memory_limit".into(), format!("{:?}", options.schema.read.memory_limit)));
        found
    }

    #[test]
    fn every_field_has_one_option() {
        let usual = RunOptions::default();
        let mut told = BTreeSet::new();
        for option in OPTIONS {
            let mut options = usual.clone();
            option.take(&mut options, option.example).unwrap();
            let before: BTreeSet<_> = fields(&usual).into_iter().collect();
            // A field that is not set may be left out of what is recorded.
            let changed: Vec<String> = fields(&options)
                .into_iter()
                .filter(|field| !before.contains(field))
                .map(|(name, _)| name)
                .collect();
            assert!(!changed.is_empty(), "{}: the example changes nothing", option.name);
            for name in changed {
                assert!(told.insert(name.clone()), "{name} is set by two options");
            }
        }
        let all: BTreeSet<String> = fields(&usual).into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            all.difference(&told).collect::<Vec<_>>(),
            Vec::<&String>::new(),
            "fields without an option"
        );
    }

    #[test]
    fn what_is_typed_is_what_is_shown() {
        for option in OPTIONS {
            let mut options = RunOptions::default();
            option.take(&mut options, option.example).unwrap();
            let mut again = RunOptions::default();
            option.take(&mut again, &option.text(&options)).unwrap();
            assert_eq!(again, options, "{}", option.name);
            assert!(!option.help.is_empty() && !option.example.is_empty(), "{}", option.name);
        }
    }

    /// What is said of a line of options, when it is parsed and checked.
    fn refusal(line: &str) -> String {
        let mut options = RunOptions::default();
        for typed in line.split(" --").map(|typed| typed.trim_start_matches("--")) {
            let (name, text) = typed.split_once(' ').unwrap_or((typed, "true"));
            let option = OPTIONS.iter().find(|option| option.name == name).unwrap();
            if let Err(refusal) = option.take(&mut options, text) {
                return refusal.to_string();
            }
        }
        options.check().map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn impossible_values_are_refused_with_what_to_write() {
        for (line, words) in [
            ("--lambda -0.5", "--lambda -0.5 is out of range; give a number from 0 to 1"),
            ("--epsilon 1", "--epsilon 1 is out of range; give a number between 0 and 1"),
            ("--splits 0", "--splits 0 leaves nothing to run; give at least 1"),
            ("--cost 0", "--cost 0 is out of range; give a number above 0"),
            ("--test-size 1", "--test-size 1 is out of range; give a share between 0 and 1"),
            ("--cal-size 0", "--cal-size 0 is out of range; give a share between 0 and 1"),
            ("--max-missing 7", "--max-missing 7 is out of range; give a share from 0 to 1"),
            ("--early", "--early cannot end a path by the rule '1se', which needs the whole path"),
            ("--stop 0", "write 1se, knee, beta, cv, proximity, none or a number of features"),
            ("--stop beta:0", "write beta, or beta:5:0.4"),
            ("--stop beta:5:1.5", "write beta, or beta:5:0.4"),
            ("--stop beta:5:0.4:1", "write beta, or beta:5:0.4"),
            ("--step 0", "write a count from 1, a fraction between 0 and 1, or half"),
            ("--scale robust", "write standard, minmax or none"),
            ("--rare other", "write drop:5, or merge:5:other"),
            ("--sheet a,b,c", "write one sheet, or two: MATRIX,PHENO"),
            ("--sheet a,b", "--sheet names two sheets, but there is one table"),
            ("--prefilter 5 --estimator rcs:3", "--prefilter belongs to --estimator rbf"),
            ("--estimator rbf --prefilter 0", "--prefilter 0 leaves no feature"),
            ("--estimator rbf:-1", "write γ as a number above 0"),
            ("--estimator rcs:9", "write linear, rcs:3, rcs:4, rcs:5, rbf or rbf:0.5"),
        ] {
            let said = refusal(line);
            assert!(said.starts_with(words), "{line}: {said}");
        }
    }

    #[test]
    fn a_rule_or_a_kernel_without_numbers_has_the_usual_ones() {
        let mut options = RunOptions::default();
        let option = |name| OPTIONS.iter().find(|option| option.name == name).unwrap();
        for (name, typed, shown) in [
            ("stop", "beta:3", "beta:3:0.4"),
            ("stop", "beta:5:0.4", "beta"),
            ("stop", "beta:3:0.7", "beta:3:0.7"),
            ("stop", "knee", "knee"),
            ("stop", "beta", "beta"),
            ("estimator", "rbf:0.5", "rbf:0.5"),
            ("estimator", "linear", "linear"),
            ("estimator", "rbf", "rbf"),
        ] {
            option(name).take(&mut options, typed).unwrap();
            assert_eq!(option(name).text(&options), shown, "{typed}");
        }
    }

    #[test]
    fn steps_are_shown_as_they_are_typed() {
        let mut options = RunOptions { step: StepSize::Fraction(0.5), ..RunOptions::default() };
        let step = OPTIONS.iter().find(|option| option.name == "step").unwrap();
        assert_eq!(step.text(&options), "0.5");
        step.take(&mut options, "half").unwrap();
        assert_eq!(options.step, StepSize::Fraction(0.5));
        assert!(step.take(&mut options, "2.5").is_err());
    }
}
