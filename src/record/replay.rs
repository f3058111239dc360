//! Turns the lines of one task back into the events they record, checking each. Knows no files.

use std::sync::Arc;

use super::format::{self, TaskLineKind};
use super::validate;
use crate::run::{EventKind, RunInfo};
use crate::select::{BetaRule, RunSizes};

/// A task's lines turned into events, one after the other.
#[derive(Debug)]
pub(super) struct TaskReplay {
    info: Arc<RunInfo>,
    /// None once it has ended.
    path: Option<validate::PathCheck>,
    /// Mean β so far, when the stopping statistic must be computed for another rule than the
    /// recorded one.
    means: Option<(BetaRule, Vec<f64>)>,
    pub(super) events: Vec<EventKind>,
}

impl TaskReplay {
    pub(super) fn begin(
        info: &Arc<RunInfo>,
        rule: BetaRule,
        bytes: &[u8],
    ) -> std::result::Result<Self, &'static str> {
        let started: format::TaskStartLine =
            serde_json::from_slice(bytes).map_err(|_| "its first line is not understood")?;
        if !started.is_of(info) {
            return Err("it belongs to another run");
        }
        let path = validate::PathCheck::new(info, started.start)?;
        let means = (rule != info.spec.beta_rule && !info.spec.early).then(|| (rule, Vec::new()));
        let events = vec![EventKind::TaskStarted(path.parts().clone())];
        Ok(Self { info: info.clone(), path: Some(path), means, events })
    }

    pub(super) fn line(&mut self, bytes: &[u8]) -> std::result::Result<(), &'static str> {
        match TaskLineKind::new(bytes) {
            TaskLineKind::Step => {
                let mut step = format::read_step(bytes, self.info.classes.len())
                    .ok_or("a step is not understood")?;
                self.path.as_mut().ok_or("it continues after its end")?.step(&mut step)?;
                if let Some((rule, means)) = &mut self.means {
                    means.push(step.beta_mean);
                    // Tested before each removal, so not at the last model.
                    let tested =
                        (!step.removed.is_empty()).then(|| rule.test(means, self.info.units.len()));
                    step.stop = tested.flatten();
                }
                self.events.push(EventKind::Step(step.into()));
                Ok(())
            }
            TaskLineKind::End => {
                let ended: format::TaskEndLine =
                    serde_json::from_slice(bytes).map_err(|_| "its end is not understood")?;
                self.path.take().ok_or("it ends twice")?.end(&ended)?;
                let format::TaskEndLine { reason, rest, cv, proximity } = ended;
                let sizes = RunSizes { cv, proximity };
                self.events.push(EventKind::TaskFinished { reason, rest, sizes });
                Ok(())
            }
            _ => Err("a line is not understood"),
        }
    }

    /// All events, if the path is complete.
    pub(super) fn finished(self) -> std::result::Result<Vec<EventKind>, &'static str> {
        if self.path.is_none() { Ok(self.events) } else { Err("its end is missing") }
    }
}
