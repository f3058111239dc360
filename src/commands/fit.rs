//! `crfe-tui fit`: set rows aside, select, fit, calibrate, and write a model for new rows; or make
//! it from a recorded run.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::args::{FitArgs, RunArgs};
use super::pretty;
use super::report::{answer_of, tell_notes};
use super::run::{RunOutcome, execute, load, report_files, say_what_was_understood, threads};
use crate::analysis::statements::of_performance;
use crate::analysis::{Answer, History, Paths, Tested};
use crate::data::{RESERVE, word_list};
use crate::error::{Error, Result, counted, printable};
use crate::evaluate::never_excluded;
use crate::model::{CellReading, FittedList, Ingredients, ListOrigin, Model, fit_list};
use crate::record::Journals;
use crate::report::{VERSION, command_line, for_a_shell, statement_lines, summary};
use crate::run::{
    EventKind, Followup, Kind, Outcome, Permutations, Plan, RunEvent, RunInfo, RunOptions,
    fit_settings, test_given_list,
};
use crate::say::print;
use crate::select::Method;

/// The number of the model's own random numbers beside the seed: no split has it.
const MODEL: u64 = u64::MAX;

/// Makes a model; the exit code.
pub fn fit(args: FitArgs) -> Result<u8> {
    Model::check_file(&args.model, args.run.output.force)?;
    if args.run.spec.data.is_dir() {
        return of_run(&args);
    }
    if args.table.is_some() {
        return Err(Error::usage("--data belongs to a recorded run").remedy(
            "name the table itself: crfe-tui fit DATA.CSV, or the run: crfe-tui fit RUN --data DATA.CSV",
        ));
    }
    let given = args.features.is_some();
    let change = |options: &mut RunOptions| {
        if options.split.splits_from.is_none() {
            options.split.reserve.get_or_insert(RESERVE);
        }
        if given {
            options.permutations = Permutations::Count(0);
        }
    };
    let args = FitArgs { run: RunArgs { spec: args.run.spec.with(change), ..args.run }, ..args };
    match &args.features {
        Some(features) => of_given_list(&args, features),
        None => of_procedure(&args),
    }
}

/// The whole procedure, then the model of its list.
fn of_procedure(args: &FitArgs) -> Result<u8> {
    let (plan, history) = match execute(&args.run)? {
        RunOutcome::Code(code) => return Ok(code),
        RunOutcome::Done(plan, history) => (plan, history),
    };
    if !history.failed().is_empty() || !history.failed_followups().is_empty() {
        return Err(Error::internal("some tasks failed, so no model is made"));
    }
    report_files(&plan, &history, &answer_of(&history)?, &args.run)?;
    let made = Made::of_history(&plan, &history)?;
    finish(args, &plan, &history, &made)
}

/// The model of a list that the user gives.
fn of_given_list(args: &FitArgs, features: &Path) -> Result<u8> {
    let spec = args.run.spec.spec()?;
    let data = load(&args.run.spec.data, &spec, args.run.output.quiet)?;
    let plan = Arc::new(Plan::new(spec, data)?);
    if !args.run.output.quiet {
        say_what_was_understood(&plan, threads(&args.run));
    }
    let list = read_list(features, &plan.info)?;
    let mut history = History::default();
    history.apply(&RunEvent { task: None, kind: EventKind::RunStarted(plan.info.clone()) });
    let method = plan.info.spec.methods[0];
    for fold in 0..plan.info.folds {
        let outcome = Outcome::Fold(test_given_list(&plan, fold, &list)?);
        let followup = Followup { kind: Kind::Fold, method, index: fold };
        let kind = EventKind::Followed(followup, Arc::new(outcome));
        history.apply(&RunEvent { task: None, kind });
    }
    let caution = "the list was given: if it was chosen by looking at these rows, what was measured on them is too good";
    let made = Made {
        list,
        selection: ListOrigin {
            method: None,
            rule: "given".to_owned(),
            counts: Vec::new(),
            splits: 0,
        },
        tested: Tested::new(&history, &plan.info, method),
        cautions: vec![caution.to_owned()],
        answer: None,
    };
    finish(args, &plan, &history, &made)
}

/// The model of a run that set rows aside.
fn of_run(args: &FitArgs) -> Result<u8> {
    let run = &args.run.spec.data;
    let given = args.features.is_some().then_some("features");
    if let Some(option) = given.or_else(|| args.run.spec.typed()) {
        return Err(Error::usage(format!("--{option} cannot change a recorded run"))
            .remedy("leave it out, or fit the table itself: crfe-tui fit DATA.CSV"));
    }
    let Some(mut records) = Journals::open(run)? else {
        return Err(Error::data("there is no run in this directory")
            .file(run)
            .remedy("make one with crfe-tui run DATA.CSV --reserve 0.2 --out RUN"));
    };
    if records.info().spec.split.reserve.is_none() {
        return Err(Error::data("the run set no rows aside, so nothing is left to calibrate a model")
            .file(run)
            .remedy(
                "run it again with --reserve 0.2, or fit the table: crfe-tui fit DATA.CSV --model M.json",
            ));
    }
    let mut history = History::default();
    records.replay(|event| history.apply(&event))?;
    tell_notes(&records.notes());
    let finished = history.finished_tasks().count();
    if finished < records.tasks() {
        return Err(Error::data(format!(
            "{finished} of {} paths of the run are finished",
            records.tasks()
        ))
        .file(run)
        .remedy("let it finish: the same command goes on from there"));
    }
    let mut plan = Plan::find(records.info(), args.table.as_deref())?;
    // The table may be found elsewhere; the model says how it was called then.
    Arc::make_mut(&mut plan.data).name.clone_from(&records.info().input);
    let made = Made::of_history(&plan, &history)?;
    finish(args, &plan, &history, &made)
}

/// A list and what is known of it.
struct Made {
    /// Units, best first.
    list: Vec<usize>,
    selection: ListOrigin,
    tested: Option<Tested>,
    cautions: Vec<String>,
    answer: Option<Answer>,
}

impl Made {
    /// The list of the first method.
    fn of_history(plan: &Plan, history: &History) -> Result<Self> {
        let info = &plan.info;
        let answer = answer_of(history)?;
        let method = answer
            .methods
            .first()
            .ok_or_else(|| Error::internal("no method has a finished path"))?;
        let Some(size) = method.chosen.size else {
            return Err(Error::data(format!(
                "the rule '{}' chose no size, so there is no list",
                info.spec.stop.name()
            ))
            .file(&info.input)
            .remedy("say how many features with --stop N"));
        };
        let paths = Paths::new(history, info, method.method);
        let selection = ListOrigin {
            method: Some(method.method),
            rule: info.spec.stop.name(),
            counts: method.features.iter().map(|feature| feature.count).collect(),
            splits: method.splits,
        };
        Ok(Self {
            list: info.list(&paths.by_frequency(size), size),
            selection,
            tested: method.tested.clone(),
            cautions: answer.cautions.iter().chain(&method.cautions).cloned().collect(),
            answer: Some(answer),
        })
    }
}

/// Fits, calibrates, writes, and says what there is.
fn finish(args: &FitArgs, plan: &Plan, history: &History, made: &Made) -> Result<u8> {
    let (info, data) = (&plan.info, &plan.data);
    let Some(reserve) = plan.splits.reserve() else {
        return Err(Error::usage("--splits-from says nothing about rows to set aside")
            .remedy("leave it out, so that rows can be set aside to calibrate the model"));
    };
    let rest = plan.splits.rest(data);
    let settings = fit_settings(plan, info.spec.split.seed, MODEL);
    let fitted = fit_list(data, &rest, reserve, &made.list, &settings)?;
    let mut cautions = made.cautions.clone();
    cautions.extend(few_calibration_rows(plan, reserve, &fitted));
    if !fitted.converged {
        cautions
            .push("the solver did not reach its tolerance on the machines of the model".to_owned());
    }
    let spec = &info.spec;
    let model = Model::new(
        &fitted,
        Ingredients {
            program: &format!("crfe-tui {VERSION}"),
            data,
            list: &made.list,
            selection: made.selection.clone(),
            settings: &settings,
            guaranteed: spec.score == crate::select::Score::Weighted,
            id_column: data.id_column.clone(),
            reading: CellReading {
                missing: spec.schema.read.missing.clone(),
                censored: spec.schema.read.censored,
                max_missing: spec.schema.max_missing,
            },
            fingerprint: info.fingerprint.clone(),
            command: for_a_shell(&command_line(spec, &data.name)),
            rest: &rest,
            reserve,
            validation: made.tested.as_ref().and_then(|tested| tested.performance.clone()),
            cautions,
        },
    );
    model.save(&args.model, args.run.output.force)?;
    tell(args, history, made, &model)?;
    Ok(0)
}

/// Conformal prediction cannot exclude a class with too few rows to compare with.
fn few_calibration_rows(plan: &Plan, reserve: &[usize], fitted: &FittedList) -> Vec<String> {
    let spec = &plan.info.spec;
    let calibrated = &fitted.predictor.calibrated;
    let noun = if calibrated.is_grouped() { "groups" } else { "rows" };
    let few = |class: &usize| never_excluded(calibrated.votes(*class), spec.epsilon);
    if !spec.mondrian {
        let votes = calibrated.votes(0);
        return if few(&0) {
            vec![format!(
                "with {votes} calibration {noun} ({} rows) and ε = {} no class can be excluded from a prediction set",
                reserve.len(),
                spec.epsilon
            )]
        } else {
            Vec::new()
        };
    }
    (0..plan.data.classes.len())
        .filter(few)
        .map(|class| {
            format!(
                "class '{}' has {} calibration {noun}: at ε = {} it can never be excluded from a prediction set",
                plan.data.classes[class],
                calibrated.votes(class),
                spec.epsilon
            )
        })
        .collect()
}

/// The features of a file, one name on each line, as units.
fn read_list(path: &Path, info: &RunInfo) -> Result<Vec<usize>> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Error::data(format!("the list cannot be read: {error}")).file(path).remedy(
            "give a text file with the name of one feature on each line, such as selected.txt",
        )
    })?;
    let mut list = Vec::new();
    for (line, name) in word_list::from_lines(&text) {
        let Some(unit) = info.units.iter().position(|unit| unit.name == name) else {
            return Err(Error::data(format!("there is no feature '{name}' in {}", info.input))
                .file(path)
                .line(line)
                .remedy("write the names as in the header; dropped columns cannot be listed"));
        };
        if list.contains(&unit) {
            return Err(Error::data(format!("the feature '{name}' is named twice"))
                .file(path)
                .line(line)
                .remedy("name it once"));
        }
        list.push(unit);
    }
    if list.is_empty() {
        return Err(Error::data("the list names no feature")
            .file(path)
            .remedy("write one name on each line"));
    }
    list.extend(
        (0..info.units.len())
            .filter(|unit| info.units[*unit].kept && !list.contains(unit))
            .collect::<Vec<_>>(),
    );
    Ok(list)
}

fn tell(args: &FitArgs, history: &History, made: &Made, model: &Model) -> Result<()> {
    let rows = |counts: &[usize]| counts.iter().sum::<usize>();
    let (training, calibration) = (rows(&model.fitted.training), rows(&model.fitted.calibration));
    if args.run.output.json {
        let value = json!({
            "answer": made.answer,
            "model": {
                "file": args.model,
                "features": model.features,
                "selection": model.selection,
                "training_rows": model.fitted.training,
                "calibration_rows": model.fitted.calibration,
                "validation": model.validation,
                "cautions": model.cautions,
            },
        });
        return print(pretty(&value)?.as_bytes());
    }
    let mut text = made.answer.as_ref().map(|answer| summary(answer) + "\n").unwrap_or_default();
    let by_class: Vec<String> = model
        .classes
        .iter()
        .zip(&model.fitted.calibration)
        .map(|(class, rows)| format!("{} {rows}", printable(class)))
        .collect();
    let features = model.features.len();
    let (chosen, source) = match made.selection.method {
        Some(method) => {
            (format!("{method}, rule {}", made.selection.rule), ", from which the list comes")
        }
        None => ("given".to_owned(), ""),
    };
    let _ = writeln!(
        text,
        "Model of {} ({chosen})\n  fitted on     {training} rows{source}\n  \
         calibrated on {calibration} rows set aside beforehand ({})",
        counted(features, "feature"),
        by_class.join(", ")
    );
    if made.answer.is_some() && !args.run.spec.data.is_dir() {
        text.push_str(
            "  The list was selected anew on the rows that were not set aside, so it may differ from that of a run on all rows;\n  \
             to fit the list of a run: --features RUN/selected.txt, or crfe-tui fit RUN if it was made with --reserve\n",
        );
    }
    if made.answer.is_none() {
        let names: Vec<String> = model.features.iter().map(|name| printable(name)).collect();
        let _ = writeln!(text, "  features      {}", names.join(", "));
        if let Some(tested) = &made.tested {
            text.push_str(&expected(tested, model.classes.len()));
        }
        for caution in &model.cautions {
            let _ = writeln!(text, "  Caution: {}", printable(caution));
        }
    } else {
        let known = made.cautions.len();
        for caution in &model.cautions[known..] {
            let _ = writeln!(text, "  Caution: {}", printable(caution));
        }
        if made.tested.is_some() {
            let _ = writeln!(
                text,
                "  To be expected on new rows of the same population: what the folds measured of this procedure ({}, tested, above)",
                first_method(history).map_or_else(String::new, |method| method.to_string())
            );
        }
    }
    let donors = model.preparation.donors();
    if donors > 0 {
        // Kernel machines hold training rows in any case.
        let remedy = if model.kernel.is_none() { ", or use --impute median" } else { "" };
        let _ = writeln!(
            text,
            "  It holds the scaled values of {donors} training rows to fill gaps: handle it as you handle the data{remedy}"
        );
    }
    if let Some(kernel) = &model.kernel {
        let _ = writeln!(
            text,
            "  Its machines hold the scaled values of {} training rows: handle it as you handle the data",
            kernel.support.len()
        );
    }
    let file = for_a_shell(&[args.model.to_string_lossy().into_owned()]);
    let _ = writeln!(text, "Written to {file}; next: crfe-tui predict {file} new.csv");
    print(text.as_bytes())
}

fn first_method(history: &History) -> Option<Method> {
    history.methods().first().copied()
}

fn expected(tested: &Tested, classes: usize) -> String {
    let mut text = String::new();
    let performance = tested.performance.as_ref();
    let rows = performance.map_or(0, |performance| performance.rows);
    let _ = writeln!(
        text,
        "  To be expected on new rows of the same population ({} folds, {rows} rows, 95 % intervals):",
        tested.folds
    );
    let said = performance.map_or_else(Vec::new, |own| of_performance(own, classes, None));
    text + &statement_lines(said.iter())
}
