//! `crfe-tui validate`: how well a model does on rows whose class is known.

use serde::Serialize;

use super::args::ValidateArgs;
use super::predict::{checked_epsilon, tell_notes};
use super::pretty;
use crate::error::{Error, Result, printable};
use crate::model::{Measured, Model, Scoreboard, Scorer, SeenRows, SeenTally};
use crate::report::measured_text;
use crate::say::print;

/// What `--json` prints.
#[derive(Serialize)]
struct Report<'a> {
    #[serde(flatten)]
    measured: &'a Measured,
    seen: SeenRows,
}

/// Measures a model; the exit code.
pub fn validate(args: &ValidateArgs) -> Result<u8> {
    let model = Model::load(&args.model)?;
    let scorer = Scorer::new(&model, checked_epsilon(args.epsilon)?)?;
    let mut board = Scoreboard::new(&scorer);
    let source = args.read.source(&args.data, &model, args.impute_missing);
    let mut tally = SeenTally::new(&model);
    let facts = scorer.each_batch(&source, |batch, rows| {
        tally.add(&batch);
        rows.iter().for_each(|row| board.add(row));
        Ok(())
    })?;
    let Some(measured) = facts.caution(board.measure(&model, scorer.epsilon())) else {
        if !facts.has_classes {
            return Err(Error::data(format!(
                "the file has no column '{}', the class column of the model",
                model.target
            ))
            .file(&args.data)
            .remedy("give the class column this name; crfe-tui predict does without it"));
        }
        return Err(Error::data("no row has a class that the model knows")
            .file(&args.data)
            .column(&model.target)
            .remedy(
                "write the classes as in the table that made the model; crfe-tui predict does without them",
            ));
    };
    let seen = tally.finish();
    let text = if args.json {
        pretty(&Report { measured: &measured, seen })?
    } else {
        tell_notes(&facts.notes);
        let file = args.data.to_string_lossy();
        format!(
            "{}{} on {}\n{}",
            seen_text(&seen, &printable(&file)),
            printable(&args.model.to_string_lossy()),
            printable(&file),
            measured_text(&measured, &model.classes, scorer.epsilon())
        )
    };
    print(text.as_bytes())?;
    Ok(0)
}

/// Whether the rows of a file are those that made the model, as a line.
fn seen_text(seen: &SeenRows, file: &str) -> String {
    let SeenRows { rows, seen, by_chance, is_test } = seen;
    if *is_test {
        format!(
            "{seen} of {rows} rows of {file} are equal to rows that made this model ({by_chance:.0} would coincide by chance)\n"
        )
    } else {
        format!(
            "{seen} of {rows} rows of {file} were used to make this model: this is not a test of it ({by_chance:.0} would coincide by chance)\n"
        )
    }
}
