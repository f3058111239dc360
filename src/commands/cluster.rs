//! `crfe-tui cluster`: two scripts for Slurm, an array of shards and the report that waits for it.
//! Submits nothing.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::args::ClusterArgs;
use crate::data::{Dataset, STANDARD};
use crate::error::{Error, Result, printable};
use crate::files::write_whole;
use crate::record::{
    REPORT_SCRIPT, RunDirectory, SCRIPT_HEAD, SHARDS_SCRIPT, Shard, is_our_script,
};
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
    for name in [SHARDS_SCRIPT, REPORT_SCRIPT] {
        refuse_foreign_script(&place.out, name)?;
    }
    write_whole(&place.out, SHARDS_SCRIPT, &place.shards(args))?;
    write_whole(&place.out, REPORT_SCRIPT, &place.report(args))?;
    let name = |file: &str| shown(place.out.join(file).as_os_str());
    let told = format!(
        "Submit:\n  sbatch --dependency=afterany:$(sbatch --parsable {} | cut -d';' -f1) {}\nWatch:\n  {} open {}\n",
        name(SHARDS_SCRIPT),
        name(REPORT_SCRIPT),
        shown(place.program.as_os_str()),
        shown(place.out.as_os_str()),
    );
    print(told.as_bytes()).map(|()| 0)
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

    /// The lines that Slurm reads: those of every job, and this job's own.
    fn head(&self, args: &ClusterArgs, log: &str, own: &[String]) -> Vec<u8> {
        let mut options =
            ["--job-name=crfe", "--open-mode=append", "--requeue"].map(str::to_owned).to_vec();
        // Slurm treats quotes and % specially: a log is written beside the journals only if its
        // path has neither.
        let harmless = |c: char| c.is_ascii_alphanumeric() || "/._-+@".contains(c);
        if let Some(directory) = self.out.to_str().filter(|path| path.chars().all(harmless)) {
            options.push(format!("--output={directory}/{log}"));
        }
        let mut script = SCRIPT_HEAD.to_vec();
        for option in options.iter().chain(own).chain(&args.submit) {
            script.extend_from_slice(format!("#SBATCH {option}\n").as_bytes());
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
        let array = [format!("--array=1-{}", args.tasks), format!("--cpus-per-task={}", args.cpus)];
        let mut script = self.head(args, "slurm-%A_%a.log", &array);
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
        let given = format!(
            " --shard=\"${{SLURM_ARRAY_TASK_ID:?is not set; submit this script with sbatch}}/{}\" \
             --threads=\"${{SLURM_CPUS_PER_TASK:-{}}}\" -- ",
            args.tasks, args.cpus
        );
        script.extend_from_slice(given.as_bytes());
        script.extend(quoted(args.spec.data.as_os_str()));
        script.push(b'\n');
        script
    }

    fn report(&self, args: &ClusterArgs) -> Vec<u8> {
        let mut script = self.head(args, "slurm-report-%j.log", &[]);
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
