//! What commands that open the dashboard need: a terminal, colours, keys.

use std::io::IsTerminal;

use super::args::ScreenArgs;
use super::config_file::Look;
use crate::error::{Error, Result};
use crate::tui::{Depth, Keymap, ScreenSettings, Theme};

/// Refuses to open the dashboard where there is no terminal; `instead` is the command to use there.
pub(super) fn need_a_terminal(instead: &str) -> Result<()> {
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        return Ok(());
    }
    Err(Error::usage("the dashboard needs a terminal, and there is none")
        .remedy(format!("run without a screen: {instead}")))
}

/// The error for a table on standard input, which the dashboard reads keys from.
pub(super) fn keys_come_from_there(instead: &str) -> Error {
    Error::usage(
        "the dashboard reads keys from standard input, so the table cannot come from there",
    )
    .remedy(format!("write it to a file, or run without a screen: {instead}"))
}

/// How the dashboard is shown.
pub(super) fn settings(args: &ScreenArgs, look: &Look) -> Result<ScreenSettings> {
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
    for (name, colour) in &look.colours {
        theme.own.set(name, colour).map_err(|error| error.file(&look.file))?;
    }
    let mut keymap = Keymap::default();
    keymap.rebind(&look.bindings).map_err(|error| error.file(&look.file))?;
    let remote = variable("SSH_CONNECTION").is_some();
    let fps = args.fps.unwrap_or(if remote { 4.0 } else { 10.0 });
    Ok(ScreenSettings {
        fps,
        speed: args.speed,
        mouse: !args.no_mouse,
        theme,
        keymap,
        out: args.out.clone(),
        view: args.view,
        // A terminal that can do nothing but print.
        plain: args.plain || variable("TERM").as_deref() == Some("dumb"),
    })
}
