//! The Pythons of this machine: which ones there are, and making one ready to run cells.
//!
//! Everything here starts programs and waits for them, so it must not run on an async thread.
//!
//! How to support another version of Python: CONTRIBUTING.md, "Add a Python version".

mod found;
mod search;

pub use found::{FoundPython, ReadyPython};

use super::interpreter::{self, Interpreter, Places};
use super::provision;
use crate::problem::Problem;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a list of Pythons is reused. Making a list starts a dozen programs.
const LIST_LIFETIME: Duration = Duration::from_secs(10);

/// Knows the server's default Python and where to look for others.
#[derive(Debug)]
pub struct Pythons {
    default: ReadyPython,
    places: Places,
    home: Option<PathBuf>,
    data_dir: PathBuf,
    list: Mutex<Option<(Instant, Vec<FoundPython>)>>,
}

impl Pythons {
    /// The program of this name beside a Python, else on `$PATH`.
    pub fn program(&self, python: &Path, name: &str) -> Option<PathBuf> {
        let beside = python.parent().map(|place| place.join(name)).filter(|program| program.is_file());
        beside.or_else(|| self.places.programs(name).next())
    }

    /// Ruff beside a Python, else on `$PATH`, else the one that Ratoon has installed.
    pub fn ruff(&self, python: &Path) -> Option<PathBuf> {
        self.program(python, "ruff").or_else(|| provision::ruff::installed(&self.data_dir))
    }

    /// Installs ruff for Ratoon alone, with the installers of the default Python.
    ///
    /// # Errors
    /// No installer works, for example without a network.
    pub fn install_ruff(&self) -> Result<PathBuf, Problem> {
        let ReadyPython { executable, version, .. } = self.default.clone();
        provision::ruff::install(&Interpreter { executable, version }, &self.places, &self.data_dir)
    }

    /// Chooses the default Python from `places` and installs in `data_dir` the packages that it
    /// lacks. `progress` is called with a sentence before each step that may take long. `list` also
    /// searches the user's `home`.
    ///
    /// # Errors
    /// There is no Python, the first one cannot be used, or IPython cannot be installed for it.
    pub fn new(
        places: Places,
        home: Option<PathBuf>,
        data_dir: PathBuf,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Self, Problem> {
        let chosen = interpreter::choose(&places, progress)?;
        let default = ready(chosen, &places, &data_dir, progress)?;
        Ok(Self { default, places, home, data_dir, list: Mutex::default() })
    }

    /// A machine with only this Python, which is not started.
    #[cfg(test)]
    pub(crate) fn only(default: ReadyPython) -> Self {
        let (places, data_dir) = (Places::default(), PathBuf::new());
        Self { default, places, home: None, data_dir, list: Mutex::default() }
    }

    /// The Python of notebooks that have not chosen one.
    pub fn default(&self) -> &ReadyPython {
        &self.default
    }

    /// Checks a Python (an executable, or the directory of an environment) and installs the
    /// packages that it lacks.
    ///
    /// # Errors
    /// It cannot run cells, or IPython cannot be installed for it.
    pub fn prepare(&self, path: &Path) -> Result<ReadyPython, Problem> {
        let how = "choose another Python for this notebook, 3.11 or later";
        let found = interpreter::check(path).map_err(|problem| Problem { how: how.into(), ..problem })?;
        ready(found, &self.places, &self.data_dir, &mut |_| {})
    }

    /// The Pythons of this machine: the default first, and those that cannot run cells last. The
    /// list may be `LIST_LIFETIME` old.
    pub fn list(&self) -> Vec<FoundPython> {
        // A panic cannot leave a half-made list.
        let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
        match &*list {
            Some((made, known)) if made.elapsed() < LIST_LIFETIME => known.clone(),
            _ => {
                let found = search::all(&self.places, self.home.as_deref(), &self.default);
                *list = Some((Instant::now(), found.clone()));
                found
            }
        }
    }
}

fn ready(
    found: Interpreter,
    places: &Places,
    data_dir: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<ReadyPython, Problem> {
    let support = provision::ensure(&found, places, data_dir, progress)?;
    let Interpreter { executable, version } = found;
    Ok(ReadyPython { executable, version, support })
}

#[allow(clippy::unwrap_used)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::interpreter::Version;

    #[test]
    fn a_python_without_its_support_directory_is_no_longer_there() {
        let support = std::env::temp_dir().join(format!("ratoon-pythons-{}", std::process::id()));
        std::fs::create_dir(&support).unwrap();
        let version = Version { major: 3, minor: 12, micro: 1 };
        let python =
            |path: &str| ReadyPython { executable: path.into(), version, support: Some(support.clone()) };
        assert!(python("/bin/sh").is_there() && !python("/no/python").is_there());
        std::fs::remove_dir(&support).unwrap();
        assert!(!python("/bin/sh").is_there());
    }
}
