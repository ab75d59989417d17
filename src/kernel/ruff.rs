//! Runs ruff, if the user has it: it lints the cells of a notebook and formats a cell. Cells are
//! sent as a Jupyter notebook, because ruff then knows magics, `!commands`, `?` and top-level
//! `await`. Ruff runs none of the code, and reads the settings that it would find for a notebook in
//! the server's directory. Without settings, it reports mistakes and no questions of style.

use super::helper;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, fs};

/// How long ruff may take. Ten thousand lines take it some 0.1 s.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of problems of a notebook that are reported.
const MAX_PROBLEMS: usize = 1000;
/// Maximum length of a message, in characters.
const MAX_MESSAGE_CHARACTERS: usize = 500;
/// The rules without settings: those of pyflakes, which finds errors and unused names, and files
/// that cannot be read. The other rules of ruff's own choice, E4 and E7, are about style.
const RULES: &str = "--select=E9,F";
/// The files that hold ruff's settings; `pyproject.toml` only if it has a table for ruff.
const SETTINGS: [&str; 3] = ["ruff.toml", ".ruff.toml", "pyproject.toml"];
/// The code that ruff gives to syntax errors. Ratoon reports those of the notebook's own Python.
const SYNTAX: &str = "invalid-syntax";

/// Ruff, as found on this machine.
#[derive(Clone, Debug)]
pub struct Ruff {
    /// The executable.
    pub program: PathBuf,
    /// The directory in which cells run.
    dir: PathBuf,
}

/// A problem that ruff found in a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LintProblem {
    /// The index of the cell.
    pub cell: usize,
    /// Start of the problem, in code points from the beginning of the cell.
    pub from: usize,
    /// Its end, in the same unit.
    pub to: usize,
    /// The rule, for example `F401`.
    pub code: String,
    /// The message.
    pub message: String,
}

/// What ruff reports, as JSON.
#[derive(Deserialize)]
struct Reported {
    cell: Option<usize>,
    code: Option<String>,
    message: String,
    location: Location,
    end_location: Location,
}

/// A place in a cell. Rows and columns count from 1, columns in code points.
#[derive(Clone, Copy, Deserialize)]
struct Location {
    row: usize,
    column: usize,
}

impl Ruff {
    /// Ruff, to be run in the directory in which cells run.
    pub fn new(program: PathBuf, dir: &Path) -> Self {
        Self { program, dir: dir.to_path_buf() }
    }

    /// The problems in the code cells of a notebook, in order. A cell with a syntax error gets
    /// none, and does not hide those of the other cells.
    ///
    /// # Errors
    /// The reason in a sentence, for example that ruff's settings are invalid.
    pub fn lint(&self, notebook: &str, cells: &[String]) -> Result<Vec<LintProblem>, String> {
        let mut cells: Vec<&str> = cells.iter().map(String::as_str).collect();
        let mut found = self.check(notebook, &cells)?;
        // Ruff reports nothing else while a cell has a syntax error.
        let broken: Vec<usize> = found.iter().filter(|one| one.code == SYNTAX).map(|one| one.cell).collect();
        if !broken.is_empty() {
            for at in broken {
                cells[at] = "";
            }
            found = self.check(notebook, &cells)?;
        }
        found.retain(|one| one.code != SYNTAX);
        found.truncate(MAX_PROBLEMS);
        Ok(found)
    }

    fn check(&self, notebook: &str, cells: &[&str]) -> Result<Vec<LintProblem>, String> {
        // Whatever the settings say: change no file, and print JSON.
        let mut options = vec!["--no-fix", "--no-fix-only", "--output-format=json", "--exit-zero"];
        if !self.has_settings() {
            options.push(RULES);
        }
        let printed = self.run("check", &options, notebook, cells)?;
        let reported: Vec<Reported> = serde_json::from_str(&printed).map_err(unexpected)?;
        Ok(reported.into_iter().filter_map(|one| placed(one, cells)).collect())
    }

    /// Whether ruff finds settings for a notebook: in its directory or one above, or those of the
    /// user.
    fn has_settings(&self) -> bool {
        let is_set = |dir: &Path| {
            SETTINGS.iter().any(|name| {
                fs::read_to_string(dir.join(name))
                    .is_ok_and(|text| *name != "pyproject.toml" || text.contains("[tool.ruff"))
            })
        };
        self.dir.ancestors().any(is_set) || settings_of_user().is_some_and(|dir| is_set(&dir))
    }

    /// Formats the code of a cell.
    ///
    /// # Errors
    /// The reason in a sentence, for example a syntax error.
    pub fn format(&self, notebook: &str, code: &str) -> Result<String, String> {
        let printed = self.run("format", &[], notebook, &[code]).map_err(|why| syntax_error(&why))?;
        let notebook: Value = serde_json::from_str(&printed).map_err(unexpected)?;
        match &notebook["cells"][0]["source"] {
            Value::String(code) => Ok(code.clone()),
            Value::Array(lines) => Ok(lines.iter().filter_map(Value::as_str).collect()),
            _ => Err("ruff printed no code".into()),
        }
    }

    /// Sends a notebook to ruff. Returns what ruff printed.
    fn run(&self, what: &str, options: &[&str], notebook: &str, cells: &[&str]) -> Result<String, String> {
        let cells: Vec<Value> = cells
            .iter()
            .map(|source| {
                json!({
                    "cell_type": "code", "execution_count": null, "metadata": {}, "outputs": [],
                    "source": source,
                })
            })
            .collect();
        let metadata = json!({"language_info": {"name": "python"}});
        let input = json!({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4});
        let file = self.dir.join(format!("{notebook}.ipynb"));
        let mut command = Command::new(&self.program);
        command.arg(what).args(options).args(["--no-cache", "--stdin-filename"]).arg(file).arg("-");
        command.current_dir(&self.dir).env("NO_COLOR", "1").env_remove("FORCE_COLOR");
        let ended = helper::run_with_input(&mut command, &input.to_string(), TIMEOUT);
        match ended {
            Ok(finished) if finished.is_success() => Ok(finished.stdout),
            Ok(finished) => Err(finished.reason()),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(format!("{} cannot be started", self.program.display()))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The directory of the user's own settings.
fn settings_of_user() -> Option<PathBuf> {
    let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|dir| dir.is_absolute());
    let config = config.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".config")))?;
    Some(config.join("ruff"))
}

fn unexpected(_: serde_json::Error) -> String {
    "its answer cannot be read: this version of ruff may be too old".into()
}

/// Names the line of a syntax error. Ruff writes
/// `Failed to parse NAME.ipynb:CELL:LINE:COLUMN: WHY`.
fn syntax_error(message: &str) -> String {
    let place = message.split_once(".ipynb:").map(|(_, place)| place.splitn(4, ':').collect::<Vec<_>>());
    match place.as_deref() {
        Some([_, line, _, why]) => format!("line {line}: {}", why.trim()),
        _ => message.to_owned(),
    }
}

/// A reported problem with offsets. `None` if its place is not in a cell.
fn placed(reported: Reported, cells: &[&str]) -> Option<LintProblem> {
    let Reported { cell, code, message, location, end_location } = reported;
    let cell = cell?.checked_sub(1)?;
    let text = cells.get(cell)?;
    let (from, to) = (offset(text, location), offset(text, end_location));
    let message = message.chars().take(MAX_MESSAGE_CHARACTERS).collect();
    Some(LintProblem { cell, from, to: to.max(from), code: code.unwrap_or_else(|| SYNTAX.into()), message })
}

/// The offset of a place in code points, at most the length of the text.
fn offset(text: &str, Location { row, column }: Location) -> usize {
    let mut lines = text.split('\n');
    let before: usize = lines.by_ref().take(row.saturating_sub(1)).map(|line| line.chars().count() + 1).sum();
    let line = lines.next().map_or(0, |line| line.chars().count());
    (before + line.min(column.saturating_sub(1))).min(text.chars().count())
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_code_points() {
        let text = "é = 1\nb";
        let at = |row, column| offset(text, Location { row, column });
        assert_eq!(
            [at(1, 1), at(1, 3), at(1, 99), at(2, 1), at(2, 2), at(3, 1), at(9, 9)],
            [0, 2, 5, 6, 7, 7, 7]
        );
    }

    #[test]
    fn a_syntax_error_names_its_line() {
        let told = "error: Failed to parse main.ipynb:1:2:7: Expected `,`, found: identifier";
        assert_eq!(syntax_error(told), "line 2: Expected `,`, found: identifier");
        assert_eq!(syntax_error("unknown field `x`"), "unknown field `x`");
    }

    #[test]
    fn a_file_that_is_no_program_is_an_error_in_a_sentence() {
        let file = std::env::temp_dir().join(format!("ratoon-ruff-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let failure = Ruff::new(file.clone(), Path::new("/")).lint("n", &["1".into()]).unwrap_err();
        std::fs::remove_file(file).unwrap();
        assert!(failure.contains("cannot be started"), "{failure}");
    }
}
