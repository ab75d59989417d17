//! Installs ruff when the owner asks for it: one pinned wheel with known hashes, into the support
//! directory. No environment is changed, and nothing is fetched without being asked.

use super::environment::Environment;
use super::install::{self, InstallError};
use super::{ANSWER_TIMEOUT, UNFINISHED, lock, remove_unfinished, short_hash};
use crate::kernel::helper;
use crate::kernel::interpreter::{Interpreter, Places};
use crate::problem::{Kind, Problem};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The requirement of ruff, for all Pythons.
const PINS: &str = include_str!("pins/ruff.txt");

/// The ruff that Ratoon has installed, if it has.
pub fn installed(data_dir: &Path) -> Option<PathBuf> {
    Some(program(&directory(data_dir))).filter(|program| program.is_file())
}

/// Installs ruff, unless it is installed. The interpreter only runs the installer.
///
/// # Errors
/// No installer works, for example without a network, or the disk cannot be written.
pub fn install(interpreter: &Interpreter, places: &Places, data_dir: &Path) -> Result<PathBuf, Problem> {
    let failed = |why: String, how: &str| Problem {
        kind: Kind::Kernel,
        what: "install ruff".to_owned(),
        why,
        how: format!("{how}, or install it yourself: `%pip install ruff` in a cell"),
    };
    let cannot_write = |e: std::io::Error| failed(e.to_string(), "make room in Ratoon's data directory");
    let (parent, target) = (data_dir.join("support"), directory(data_dir));
    fs::create_dir_all(&parent).map_err(cannot_write)?;
    let _lock = lock(&parent, &mut |_| {}).map_err(cannot_write)?;
    if let Some(known) = installed(data_dir) {
        return Ok(known);
    }
    remove_unfinished(&parent).map_err(cannot_write)?;
    let environment =
        Environment::of(&interpreter.executable).map_err(|why| failed(why, "choose another Python"))?;
    let unfinished = parent.join(format!("{UNFINISHED}{}", std::process::id()));
    fs::create_dir(&unfinished).map_err(cannot_write)?;
    let filled = install::install(interpreter, &environment, places, PINS, &unfinished)
        .map_err(|InstallError { reasons, .. }| {
            let why = format!("no installer worked: {}", reasons.join("; "));
            failed(why, "connect to the network, or set the index and proxy of pip or uv, and try again")
        })
        .and_then(|packages| {
            let tried = helper::run(Command::new(program(&packages)).arg("--version"), ANSWER_TIMEOUT);
            let why = match tried {
                Ok(tried) if tried.is_success() => {
                    return fs::rename(&packages, &target).map_err(cannot_write);
                }
                Ok(tried) => tried.reason(),
                Err(error) => error.to_string(),
            };
            Err(failed(format!("the installed ruff does not start: {why}"), "report this"))
        });
    // If this fails, the next installation removes the directory.
    let _ = fs::remove_dir_all(&unfinished);
    filled.map(|()| program(&target))
}

/// The directory of the pinned version. Other pins have another directory.
fn directory(data_dir: &Path) -> PathBuf {
    data_dir.join("support").join(format!("ruff-{}-{}", std::env::consts::ARCH, short_hash(PINS)))
}

fn program(directory: &Path) -> PathBuf {
    directory.join("bin/ruff")
}
