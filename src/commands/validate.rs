//! `crfe-tui validate`: how well a model does on rows whose class is known.

use super::args::ValidateArgs;
use super::predict::{checked_epsilon, tell_notes};
use crate::error::{Error, Result, printable, printable_json};
use crate::model::{Model, Scoreboard, Scorer};
use crate::report::measured_text;
use crate::say::print;

/// Measures a model; the exit code.
pub fn validate(args: &ValidateArgs) -> Result<u8> {
    let model = Model::load(&args.model)?;
    let scorer = Scorer::new(&model, checked_epsilon(args.epsilon)?)?;
    let mut board = Scoreboard::new(&scorer);
    let source = args.read.source(&args.data, &model, args.impute_missing);
    let facts = scorer.each_row(&source, |row| {
        board.add(row);
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
    let text = if args.json {
        let value = serde_json::to_string_pretty(&measured);
        value
            .map(|text| printable_json(text) + "\n")
            .map_err(|error| Error::internal(error.to_string()))?
    } else {
        tell_notes(&facts.notes);
        format!(
            "{} on {}\n{}",
            printable(&args.model.to_string_lossy()),
            printable(&args.data.to_string_lossy()),
            measured_text(&measured, &model.classes, scorer.epsilon())
        )
    };
    print(text.as_bytes())?;
    Ok(0)
}
