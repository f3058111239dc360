//! `crfe-tui cluster`: two scripts for a scheduler, an array of shards and the report that waits
//! for it. Submits nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::args::ClusterArgs;
use crate::data::{Dataset, STANDARD};
use crate::error::{Error, Result, printable};
use crate::files::write_whole;
use crate::record::{RunDirectory, SCRIPT_HEAD, Scheduler, Shard, is_our_script};
use crate::report::outputs;
use crate::run::Plan;
use crate::say::{print, say};

/// Checks the run, writes the scripts, and prints how to submit and watch them; returns the exit
/// code.
pub fn cluster(args: &ClusterArgs) -> Result<u8> {
    let spec = args.spec.spec()?;
    if args.spec.data.as_os_str() == STANDARD {
        return Err(Error::usage("the nodes of a cluster cannot read this standard input")
            .remedy("write the table to a file on a disk that all nodes see"));
    }
    let data = Dataset::load(&args.spec.data, &spec.schema, |_, _| {})?;
    let plan = Plan::new(spec, data)?;
    let directory = RunDirectory::claim(&args.out, Shard::WHOLE)?;
    if args.force {
        directory.start_anew(&outputs())?;
    }
    directory.check(&plan, &outputs())?;
    let place = JobPaths::new(&args.out)?;
    let tasks = usize::from(args.tasks);
    if tasks > plan.tasks().len() {
        say(format_args!(
            "warning: {tasks} shards for {} tasks: some have nothing to do",
            plan.tasks().len()
        ));
    }
    let entry = args.scheduler.entry();
    let (shards, report) = (entry.shards_script, entry.report_script);
    for name in [shards, report] {
        refuse_foreign_script(&place.out, name)?;
    }
    write_whole(&place.out, shards, &place.shards(args))?;
    write_whole(&place.out, report, &place.report(args))?;
    let name = |file: &str| shown(place.out.join(file).as_os_str());
    let told = format!(
        "Submit:\n  {}\nWatch:\n  {} open {}\n",
        submission(args.scheduler, &name(shards), &name(report)),
        shown(place.program.as_os_str()),
        shown(place.out.as_os_str()),
    );
    print(told.as_bytes()).map(|()| 0)
}

/// The command that submits the array, and the report so that it waits for it.
fn submission(scheduler: Scheduler, shards: &str, report: &str) -> String {
    match scheduler {
        Scheduler::Slurm => {
            format!(
                "sbatch --dependency=afterany:$(sbatch --parsable {shards} | cut -d';' -f1) {report}"
            )
        }
        Scheduler::Sge => format!("qsub -hold_jid $(qsub -terse {shards} | cut -d. -f1) {report}"),
        Scheduler::Pbs => format!("qsub -W depend=afterany:$(qsub {shards}) {report}"),
        Scheduler::Torque => format!("qsub -W depend=afteranyarray:$(qsub {shards}) {report}"),
        Scheduler::Lsf => {
            format!(
                "bsub -w \"ended($(bsub < {shards} | sed 's/^[^<]*<\\([0-9]*\\)>.*/\\1/'))\" < {report}"
            )
        }
    }
}

/// How the lines of a script begin that its scheduler reads.
fn mark(scheduler: Scheduler) -> &'static str {
    match scheduler {
        Scheduler::Slurm => "#SBATCH",
        Scheduler::Sge => "#$",
        Scheduler::Pbs | Scheduler::Torque => "#PBS",
        Scheduler::Lsf => "#BSUB",
    }
}

/// The name of the job, how its log is kept, and that it may be started again.
fn job(scheduler: Scheduler) -> &'static [&'static str] {
    match scheduler {
        Scheduler::Slurm => &["--job-name=crfe", "--open-mode=append", "--requeue"],
        Scheduler::Sge => &["-N crfe", "-S /bin/bash", "-j y", "-r y"],
        Scheduler::Pbs => &["-N crfe", "-S /bin/bash", "-j oe", "-r y"],
        Scheduler::Torque => &["-N crfe", "-S /bin/bash", "-j oe", "-r y"],
        Scheduler::Lsf => &["-L /bin/bash", "-r"],
    }
}

/// The option for the log; `stem` begins its name where the scheduler takes a pattern, else it
/// takes the directory.
fn log(scheduler: Scheduler, directory: &str, stem: &str, of_array: bool) -> String {
    match (scheduler, of_array) {
        (Scheduler::Slurm, true) => format!("--output={directory}/slurm-%A_%a.log"),
        (Scheduler::Slurm, false) => format!("--output={directory}/slurm-{stem}-%j.log"),
        (Scheduler::Sge | Scheduler::Pbs | Scheduler::Torque, _) => format!("-o {directory}/"),
        (Scheduler::Lsf, true) => format!("-o {directory}/lsf-%J_%I.log"),
        (Scheduler::Lsf, false) => format!("-o {directory}/lsf-{stem}-%J.log"),
    }
}

/// The options that make an array of the job, and give each of its tasks its processors.
fn array(scheduler: Scheduler, tasks: u16, cpus: u16) -> Vec<String> {
    match scheduler {
        Scheduler::Slurm => vec![format!("--array=1-{tasks}"), format!("--cpus-per-task={cpus}")],
        // A single processor needs no parallel environment, whose name is a site's own affair.
        Scheduler::Sge if cpus == 1 => vec![format!("-t 1-{tasks}")],
        Scheduler::Sge => vec![format!("-t 1-{tasks}"), format!("-pe smp {cpus}")],
        // PBS Pro has no arrays of one task.
        Scheduler::Pbs if tasks == 1 => vec![format!("-l select=1:ncpus={cpus}")],
        Scheduler::Pbs => vec![format!("-J 1-{tasks}"), format!("-l select=1:ncpus={cpus}")],
        Scheduler::Torque => vec![format!("-t 1-{tasks}"), format!("-l nodes=1:ppn={cpus}")],
        Scheduler::Lsf => {
            vec![
                format!("-J \"crfe[1-{tasks}]\""),
                format!("-n {cpus}"),
                "-R \"span[hosts=1]\"".to_owned(),
            ]
        }
    }
}

/// The processors that the scheduler gave the task.
fn given_cpus(scheduler: Scheduler) -> &'static str {
    match scheduler {
        Scheduler::Slurm => "SLURM_CPUS_PER_TASK",
        Scheduler::Sge => "NSLOTS",
        Scheduler::Pbs => "NCPUS",
        Scheduler::Torque => "PBS_NUM_PPN",
        Scheduler::Lsf => "LSB_DJOB_NUMPROC",
    }
}

/// Refuses to overwrite a script that crfe-tui did not write.
fn refuse_foreign_script(directory: &Path, name: &str) -> Result<()> {
    let path = directory.join(name);
    if path.symlink_metadata().is_ok() && !is_our_script(&path) {
        return Err(Error::resume("crfe-tui did not write this file and does not overwrite it")
            .file(path)
            .remedy("move it away, or choose another --out"));
    }
    Ok(())
}

/// Absolute paths, because a node may have another working directory.
struct JobPaths {
    program: PathBuf,
    here: PathBuf,
    out: PathBuf,
}

impl JobPaths {
    fn new(out: &Path) -> Result<Self> {
        let lost = |error| Error::output(format!("cannot tell where it is: {error}")).file(out);
        Ok(Self {
            program: std::env::current_exe().map_err(lost)?,
            here: std::env::current_dir().map_err(lost)?,
            out: std::fs::canonicalize(out).map_err(lost)?,
        })
    }

    fn head(&self, args: &ClusterArgs, stem: &str, of_array: bool) -> Vec<u8> {
        let mut options: Vec<String> =
            job(args.scheduler).iter().map(|&option| option.to_owned()).collect();
        // Schedulers treat quotes and % specially: a log is written beside the journals only if its
        // path has neither.
        let harmless = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
        if let Some(directory) = self.out.to_str().filter(|path| path.chars().all(harmless)) {
            options.push(log(args.scheduler, directory, stem, of_array));
        }
        if of_array {
            options.extend(array(args.scheduler, args.tasks, args.cpus));
        } else if args.scheduler == Scheduler::Lsf {
            options.push("-J crfe-report".to_owned());
        }
        options.extend(args.submit.iter().cloned());
        let mut script = SCRIPT_HEAD.to_vec();
        for option in options {
            script.extend_from_slice(format!("{} {option}\n", mark(args.scheduler)).as_bytes());
        }
        script.push(b'\n');
        script
    }

    /// Settings come from this script alone, not from the environment or configuration of a node.
    fn begin(&self, script: &mut Vec<u8>) {
        script.extend_from_slice(b"unset \"${!CRFE_@}\"\nexport CRFE_CONFIG=/dev/null\ncd -- ");
        script.extend(quoted(self.here.as_os_str()));
        script.extend_from_slice(b" || exit 1\nexec ");
        script.extend(quoted(self.program.as_os_str()));
    }

    fn shards(&self, args: &ClusterArgs) -> Vec<u8> {
        let mut script = self.head(args, "shards", true);
        script.extend_from_slice(
            b"# One shard per task. A task that is started or submitted again resumes where it stopped.\n",
        );
        self.begin(&mut script);
        script.extend_from_slice(b" run");
        for option in &args.run_options {
            script.push(b' ');
            script.extend(quoted(option));
        }
        script.extend_from_slice(b" --out=");
        script.extend(quoted(self.out.as_os_str()));
        let shard = if args.scheduler == Scheduler::Pbs && args.tasks == 1 { "1" } else { "auto" };
        script.extend_from_slice(
            format!(
                " --shard={shard}/{} --threads=\"${{{}:-{}}}\" -- ",
                args.tasks,
                given_cpus(args.scheduler),
                args.cpus
            )
            .as_bytes(),
        );
        script.extend(quoted(args.spec.data.as_os_str()));
        script.push(b'\n');
        script
    }

    fn report(&self, args: &ClusterArgs) -> Vec<u8> {
        let mut script = self.head(args, "report", false);
        script.extend_from_slice(
            b"# Tables, figures and report.html, from the journals of the shards; run it again at any time.\n",
        );
        self.begin(&mut script);
        script.extend_from_slice(b" report -- ");
        script.extend(quoted(self.out.as_os_str()));
        script.push(b'\n');
        script
    }
}

/// One shell word that is safe to show on a terminal: control characters are written as bash's
/// `$'\x1b'`.
fn shown(word: &OsStr) -> String {
    match String::from_utf8(quoted(word)) {
        Ok(plain) if printable(&plain) == plain => plain,
        _ => {
            let byte = |&byte: &u8| match byte {
                b'\'' | b'\\' => format!("\\{}", char::from(byte)),
                b' '..=b'~' => char::from(byte).to_string(),
                _ => format!("\\x{byte:02x}"),
            };
            format!("$'{}'", word.as_bytes().iter().map(byte).collect::<String>())
        }
    }
}

/// One shell word, whatever it contains.
fn quoted(word: &OsStr) -> Vec<u8> {
    let bytes = word.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+=:,@".contains(byte);
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return bytes.to_vec();
    }
    let mut quoted = vec![b'\''];
    for &byte in bytes {
        match byte {
            b'\'' => quoted.extend_from_slice(b"'\\''"),
            _ => quoted.push(byte),
        }
    }
    quoted.push(b'\'');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_shell_reads_every_word_back() {
        for word in [
            "",
            "plain.csv",
            "it's",
            "a b\tc",
            "$(rm -rf x)`y`\\",
            "new\nline",
            "λ=\"½\"",
            "-n",
            "*",
            "~",
        ] {
            let mut script = b"printf %s ".to_vec();
            script.extend(quoted(OsStr::new(word)));
            let output =
                Command::new("bash").arg("-c").arg(OsStr::from_bytes(&script)).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_as_an_escape_that_bash_reads_back() {
        for word in ["a\u{1b}]52;c;aGk=\u{7}b", "right\u{202e}left", "it's \\ \n", "\u{9b}31mλ"] {
            let shown = shown(OsStr::new(word));
            assert_eq!(printable(&shown), shown);
            let output =
                Command::new("bash").arg("-c").arg(format!("printf %s {shown}")).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), word);
        }
        assert_eq!(shown(OsStr::new("λ/a b")), "'λ/a b'");
    }
}
