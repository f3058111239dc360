//! The shards of a run as a job array: which variable numbers its tasks under each scheduler, and
//! the names of our scripts.

use std::fmt;
use std::str::FromStr;

use super::Shard;

/// How our scripts for a cluster begin.
pub const SCRIPT_HEAD: &[u8] = b"#!/bin/bash\n# Written by crfe-tui cluster.\n";

/// A scheduler that scripts are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduler {
    Slurm,
    /// Sun Grid Engine and its successors.
    Sge,
    /// PBS Pro and OpenPBS.
    Pbs,
    Torque,
    /// IBM Spectrum LSF.
    Lsf,
}

/// The names that belong to a scheduler.
#[derive(Debug, Clone, Copy)]
pub struct SchedulerEntry {
    pub scheduler: Scheduler,
    /// As it is typed.
    pub name: &'static str,
    /// The script of the array. A directory with this file holds a run that was submitted: `open`
    /// waits for it.
    pub shards_script: &'static str,
    /// The script of the report that waits for the array.
    pub report_script: &'static str,
}

/// The schedulers that scripts are written for.
pub const SCHEDULERS: [SchedulerEntry; 5] = [
    entry(Scheduler::Slurm, "slurm", "shards.sbatch", "report.sbatch"),
    entry(Scheduler::Sge, "sge", "shards.sge", "report.sge"),
    entry(Scheduler::Pbs, "pbs", "shards.pbs", "report.pbs"),
    entry(Scheduler::Torque, "torque", "shards.torque", "report.torque"),
    entry(Scheduler::Lsf, "lsf", "shards.lsf", "report.lsf"),
];

const fn entry(
    scheduler: Scheduler,
    name: &'static str,
    shards_script: &'static str,
    report_script: &'static str,
) -> SchedulerEntry {
    SchedulerEntry { scheduler, name, shards_script, report_script }
}

impl Scheduler {
    /// Its names.
    pub fn entry(self) -> &'static SchedulerEntry {
        SCHEDULERS
            .iter()
            .find(|entry| entry.scheduler == self)
            .expect("the table has every scheduler")
    }
}

impl fmt::Display for Scheduler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().name)
    }
}

impl FromStr for Scheduler {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = SCHEDULERS.iter().find(|entry| entry.name == text);
        found
            .map(|entry| entry.scheduler)
            .ok_or_else(|| "write slurm, sge, pbs, torque or lsf".to_owned())
    }
}

/// The variable in which a scheduler numbers the tasks of an array.
struct ArrayVariable {
    scheduler: &'static str,
    name: &'static str,
    /// The number of the first task, if it is always the same or the scheduler tells it.
    first: First,
    /// What it holds outside an array.
    outside: Option<&'static str>,
}

/// The number of the first task of an array.
enum First {
    /// From 1 by our convention: the scheduler takes any range and does not tell it.
    One,
    /// Always 0.
    Zero,
    /// 0 if this variable has the value 0, else 1: part of an array that is submitted again keeps
    /// its numbers.
    Told(&'static str),
}

const ARRAY_VARIABLES: [ArrayVariable; 6] = [
    ArrayVariable {
        scheduler: "Slurm",
        name: "SLURM_ARRAY_TASK_ID",
        first: First::Told("SLURM_ARRAY_TASK_MIN"),
        outside: None,
    },
    ArrayVariable {
        scheduler: "Grid Engine",
        name: "SGE_TASK_ID",
        first: First::One,
        outside: Some("undefined"),
    },
    ArrayVariable { scheduler: "PBS", name: "PBS_ARRAY_INDEX", first: First::One, outside: None },
    ArrayVariable { scheduler: "Torque", name: "PBS_ARRAYID", first: First::One, outside: None },
    ArrayVariable { scheduler: "LSF", name: "LSB_JOBINDEX", first: First::One, outside: Some("0") },
    ArrayVariable {
        scheduler: "AWS Batch",
        name: "AWS_BATCH_JOB_ARRAY_INDEX",
        first: First::Zero,
        outside: None,
    },
];

/// The shard of `count` that this task of a job array computes; `variable` reads the environment.
pub fn array_shard(
    count: usize,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Shard, String> {
    let mut found: Option<(&ArrayVariable, Shard)> = None;
    for array in &ARRAY_VARIABLES {
        let Some(text) = variable(array.name).filter(|text| array.outside != Some(text.trim()))
        else {
            continue;
        };
        let first = match array.first {
            First::One => 1,
            First::Zero => 0,
            First::Told(name) => {
                usize::from(variable(name).is_none_or(|first| first.trim() != "0"))
            }
        };
        let shard = text.trim().parse::<usize>().ok().and_then(|task| task.checked_sub(first));
        let shard = shard.and_then(|place| Shard::new(place.checked_add(1)?, count)).ok_or_else(|| {
            format!(
                "{} of {} is '{text}', outside {first} to {}; submit an array of {count} tasks numbered from {first}",
                array.name,
                array.scheduler,
                count - 1 + first
            )
        })?;
        match found {
            Some((other, one)) if one != shard => {
                return Err(format!(
                    "{} means shard {one} and {} means shard {shard}; name the shard as i/N",
                    other.name, array.name
                ));
            }
            Some(_) => {}
            None => found = Some((array, shard)),
        }
    }
    let names = || ARRAY_VARIABLES.iter().map(|array| array.name).collect::<Vec<_>>().join(", ");
    found.map(|(_, shard)| shard).ok_or_else(|| {
        format!("this is not a task of a job array: none of {} is set; write i/N", names())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(count: usize, variables: &[(&str, &str)]) -> Result<String, String> {
        let read = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        array_shard(count, read).map(|shard| shard.to_string())
    }

    #[test]
    fn every_task_of_an_array_gets_its_own_shard() {
        for (name, first) in [
            ("SLURM_ARRAY_TASK_ID", 1),
            ("SGE_TASK_ID", 1),
            ("PBS_ARRAY_INDEX", 1),
            ("PBS_ARRAYID", 1),
            ("LSB_JOBINDEX", 1),
            ("AWS_BATCH_JOB_ARRAY_INDEX", 0),
        ] {
            for place in 0..4 {
                let task = (first + place).to_string();
                assert_eq!(
                    shard(4, &[(name, &task)]),
                    Ok(format!("{}/4", place + 1)),
                    "{name}={task}"
                );
            }
            for outside in [(first + 4).to_string(), "-1".into(), "x".into(), String::new()] {
                let why = shard(4, &[(name, &outside)]).unwrap_err();
                assert!(
                    why.starts_with(&format!("{name} of ")) && why.contains("4 tasks"),
                    "{why}"
                );
            }
        }
        let from_zero = [("SLURM_ARRAY_TASK_ID", "3"), ("SLURM_ARRAY_TASK_MIN", "0")];
        assert_eq!(shard(4, &from_zero).unwrap(), "4/4");
        // One task that is submitted again, alone.
        let again = [("SLURM_ARRAY_TASK_ID", "3"), ("SLURM_ARRAY_TASK_MIN", "3")];
        assert_eq!(shard(4, &again).unwrap(), "3/4");
    }

    #[test]
    fn a_job_that_is_not_of_an_array_is_refused() {
        for outside in
            [&[] as &[(&str, &str)], &[("SGE_TASK_ID", "undefined")], &[("LSB_JOBINDEX", "0")]]
        {
            let why = shard(4, outside).unwrap_err();
            assert!(why.starts_with("this is not a task of a job array"), "{why}");
        }
        // PBS does not say where its array begins: 0 is refused instead of guessed.
        assert_eq!(
            shard(4, &[("PBS_ARRAY_INDEX", "0")]).unwrap_err(),
            "PBS_ARRAY_INDEX of PBS is '0', outside 1 to 4; submit an array of 4 tasks numbered from 1"
        );
        let two = [("SLURM_ARRAY_TASK_ID", "1"), ("AWS_BATCH_JOB_ARRAY_INDEX", "1")];
        assert_eq!(
            shard(4, &two).unwrap_err(),
            "SLURM_ARRAY_TASK_ID means shard 1/4 and AWS_BATCH_JOB_ARRAY_INDEX means shard 2/4; name the shard as i/N"
        );
        let same = [("SLURM_ARRAY_TASK_ID", "2"), ("AWS_BATCH_JOB_ARRAY_INDEX", "1")];
        assert_eq!(shard(4, &same).unwrap(), "2/4");
    }

    #[test]
    fn schedulers_are_written_as_they_are_typed() {
        for entry in SCHEDULERS {
            assert_eq!(entry.name.parse::<Scheduler>().unwrap().to_string(), entry.name);
        }
        assert_eq!(
            "SLURM".parse::<Scheduler>().unwrap_err(),
            "write slurm, sge, pbs, torque or lsf"
        );
    }
}
