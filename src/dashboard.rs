//! `crfe-tui DATA.CSV` and `crfe-tui open RUN`: from the command line to the screen.

use std::io::IsTerminal;

use crate::cli::{ExploreArgs, OpenArgs, ScreenArgs};
use crate::config::Keys;
use crate::error::{Error, Result};
use crate::run::{RunDirectory, Shard, default_threads};
use crate::tui::{Compute, Depth, Keymap, Order, Record, Settings, Theme, explore as show};

/// Opens the dashboard on a file; the exit code.
pub fn explore(args: &ExploreArgs, keys: &Keys) -> Result<u8> {
    let spec = args.spec.spec()?;
    let data = args.spec.data.clone();
    need_a_terminal(&format!("run {} --out RUN", data.display()))?;
    let settings = settings(&args.screen, keys)?;
    if let Some(out) = args.screen.out.as_deref().filter(|out| !args.no_journal && out.exists()) {
        // That somebody else writes there is known before there is a screen.
        RunDirectory::claim(out, Shard::WHOLE)?;
    }
    let threads = args.threads.map_or_else(default_threads, usize::from);
    let record = match &args.screen.out {
        _ if args.no_journal => Record::No,
        Some(out) => Record::In(out.clone()),
        None => Record::State,
    };
    let compute = Compute { data, spec, threads, paused: args.paused, record };
    show(Order::Compute(Box::new(compute)), settings)
}

/// Opens the dashboard on a recorded run; the exit code.
pub fn open(args: &OpenArgs, keys: &Keys) -> Result<u8> {
    need_a_terminal(&format!("report {}", args.run.display()))?;
    show(Order::Open(args.run.clone(), args.data.clone()), settings(&args.screen, keys)?)
}

fn need_a_terminal(instead: &str) -> Result<()> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Ok(());
    }
    Err(Error::usage("the dashboard needs a terminal, and there is none")
        .remedy(format!("run without a screen: crfe-tui {instead}")))
}

fn settings(args: &ScreenArgs, keys: &Keys) -> Result<Settings> {
    let variable = |name: &str| std::env::var(name).ok();
    let mut theme = Theme::detect(variable);
    theme.light = args.light;
    theme.ascii |= args.ascii;
    match args.colors.as_str() {
        "true" => theme.depth = Depth::True,
        "256" => theme.depth = Depth::Indexed,
        "16" => theme.depth = Depth::Sixteen,
        "none" => theme.depth = Depth::None,
        _ => {}
    }
    let mut keymap = Keymap::default();
    keymap.rebind(&keys.bindings).map_err(|error| error.file(&keys.file))?;
    let remote = variable("SSH_CONNECTION").is_some();
    let fps = args.fps.unwrap_or(if remote { 4.0 } else { 10.0 });
    Ok(Settings { fps, speed: args.speed, mouse: !args.no_mouse, theme, keymap, out: args.out.clone() })
}
