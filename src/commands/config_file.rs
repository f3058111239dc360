//! The configuration file: option names and values in TOML, weaker than flags and environment.

use std::path::{Path, PathBuf};

use crate::data::word_list;
use crate::error::{Error, Result};
use crate::tui::HOW_COLOURS_ARE_WRITTEN;

/// The values of a configuration file.
#[derive(Debug, Default)]
pub struct Defaults {
    /// The file they come from.
    pub file: PathBuf,
    /// Option names and values, as they would be typed.
    pub values: Vec<(String, String)>,
    /// Keys and colours of the dashboard.
    pub look: Look,
}

/// The tables `[keys]` and `[theme]`: actions of the dashboard and their keys, roles and their
/// colours.
#[derive(Debug, Default)]
pub struct Look {
    /// The file they come from.
    pub file: PathBuf,
    /// Actions and keys.
    pub bindings: Vec<(String, Vec<String>)>,
    /// Roles and colours.
    pub colours: Vec<(String, String)>,
}

/// `$CRFE_CONFIG`, else `crfe-tui/config.toml` in the XDG configuration directory.
fn path() -> Option<(PathBuf, bool)> {
    if let Some(path) = std::env::var_os("CRFE_CONFIG") {
        return Some((path.into(), true));
    }
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".config"));
    let base = std::env::var_os("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
        .or_else(home)?;
    Some((base.join("crfe-tui").join("config.toml"), false))
}

/// Reads the configuration file, if there is one.
pub fn load() -> Result<Defaults> {
    let Some((file, asked_for)) = path() else { return Ok(Defaults::default()) };
    // Reading a pipe might block; the Slurm scripts name /dev/null.
    if std::fs::metadata(&file).is_ok_and(|data| !data.is_file()) && file != Path::new("/dev/null")
    {
        return Err(Error::usage("the configuration is not a regular file").file(file));
    }
    match std::fs::read_to_string(&file) {
        Ok(text) => parse(file, &text),
        Err(error) if !asked_for && nothing_there(error.kind()) => Ok(Defaults::default()),
        Err(error) => {
            Err(Error::usage(format!("the configuration cannot be read: {error}")).file(file))
        }
    }
}

/// A home that is not a directory, as some service accounts have, or somebody else's, as under
/// `sudo -u`, holds no configuration either.
fn nothing_there(kind: std::io::ErrorKind) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound, PermissionDenied};
    matches!(kind, NotFound | NotADirectory | PermissionDenied)
}

pub(crate) fn parse(file: PathBuf, text: &str) -> Result<Defaults> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let line =
            error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count() as u64);
        Error::usage(format!("this is not TOML: {}", error.message())).file(&file).line(line)
    })?;
    let mut values = Vec::new();
    let mut look = Look { file: file.clone(), ..Look::default() };
    for (name, value) in table {
        match (&value, name.as_str()) {
            (toml::Value::Table(table), "keys") => {
                look.bindings = entries(table, keys, |name| {
                    Error::usage(format!("the keys of '{name}' are not words"))
                        .file(&file)
                        .remedy("write a key or a list of keys")
                })?;
                continue;
            }
            (toml::Value::Table(table), "theme") => {
                look.colours = entries(table, colour, |name| {
                    Error::usage(format!("the theme's '{name}' is neither a word nor a number"))
                        .file(&file)
                        .remedy(HOW_COLOURS_ARE_WRITTEN)
                })?;
                continue;
            }
            _ => {}
        }
        let Some(text) = as_typed(&value) else {
            return Err(Error::usage(format!(
                "the value of '{name}' is neither a word, a number, true, false nor a list of words"
            ))
            .file(file));
        };
        values.push((name, text));
    }
    Ok(Defaults { file, values, look })
}

/// The entries of `[keys]` or `[theme]`; one that cannot be read is refused with these words.
fn entries<T>(
    table: &toml::Table,
    read: impl Fn(&toml::Value) -> Option<T>,
    refusal: impl Fn(&str) -> Error,
) -> Result<Vec<(String, T)>> {
    let entry = |(name, value): (&String, &toml::Value)| {
        Ok((name.clone(), read(value).ok_or_else(|| refusal(name))?))
    };
    table.iter().map(entry).collect()
}

/// `quit = "Q"` or `quit = ["Q", "ctrl-q"]`.
fn keys(value: &toml::Value) -> Option<Vec<String>> {
    match value {
        toml::Value::String(key) => Some(vec![key.clone()]),
        toml::Value::Array(keys) if !keys.is_empty() => {
            keys.iter().map(|key| key.as_str().map(str::to_owned)).collect()
        }
        _ => None,
    }
}

/// `accent = "#56b4e9"`, `warn = "yellow"` or `bad = 196`.
fn colour(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(_) | toml::Value::Integer(_) => as_typed(value),
        _ => None,
    }
}

/// The value as it would be typed after its flag.
fn as_typed(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::String(text) => Some(text.clone()),
        toml::Value::Integer(number) => Some(number.to_string()),
        toml::Value::Float(number) => Some(number.to_string()),
        toml::Value::Boolean(flag) => Some(flag.to_string()),
        toml::Value::Array(items) => items
            .iter()
            .map(as_typed)
            .collect::<Option<Vec<_>>>()
            .map(|words| word_list::join(&words)),
        toml::Value::Datetime(_) | toml::Value::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_become_what_would_be_typed() {
        let defaults = parse(
            "c.toml".into(),
            "lambda = 0.3\nkeep = [\"age\", \"sex\"]\ndrop = [\"a, b\"]\nmondrian = true\n",
        )
        .unwrap();
        let values: Vec<(&str, &str)> =
            defaults.values.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        assert!(values.contains(&("keep", "age,sex")) && values.contains(&("lambda", "0.3")));
        assert!(values.contains(&("drop", "\"a, b\"")));
        let error = parse("c.toml".into(), "a = 1\nb = = 2\n").unwrap_err();
        assert!(error.to_string().starts_with("c.toml, line 2: this is not TOML"), "{error}");
        let keys = parse("c.toml".into(), "[keys]\nquit = 'Q'\nstep = ['n', '.']\n")
            .unwrap()
            .look
            .bindings;
        assert_eq!(
            keys,
            [
                ("quit".to_owned(), vec!["Q".to_owned()]),
                ("step".to_owned(), vec!["n".to_owned(), ".".to_owned()])
            ]
        );
        assert!(parse("c.toml".into(), "[keys]\nquit = 7\n").is_err());
        let theme =
            parse("c.toml".into(), "[theme]\nbad = 196\nwarn = 'yellow'\n").unwrap().look.colours;
        assert!(theme.contains(&("bad".to_owned(), "196".to_owned())), "{theme:?}");
        assert!(theme.contains(&("warn".to_owned(), "yellow".to_owned())), "{theme:?}");
        let error = parse("c.toml".into(), "[theme]\nbad = 1.5\n").unwrap_err();
        assert!(
            error.to_string().contains("the theme's 'bad' is neither a word nor a number"),
            "{error}"
        );
        assert!(parse("c.toml".into(), "[colours]\nred = 'x'\n").is_err());
    }
}
