//! What the environment of a Python contains.

use crate::kernel::helper;
use crate::kernel::interpreter::question;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Prints the fields of `Environment`.
const MISSING_PACKAGES: &str = include_str!("../python/missing_packages.py");
/// How long a program may take to answer a question.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// What the environment of a Python contains, as `python/missing_packages.py` prints it.
pub(super) struct Environment {
    /// The modules that the kernel needs and the environment does not have.
    pub(super) missing: Vec<String>,
    /// A package that is too old: its name, its version, and the oldest version that works.
    pub(super) too_old: Option<[String; 3]>,
    /// Whether it can run `-m pip`.
    pub(super) has_pip: bool,
    /// The pip that came with Python, as a wheel.
    pub(super) bundled_pip: Option<PathBuf>,
}

impl Environment {
    /// Asks a Python. The error says why it does not answer.
    pub(super) fn of(executable: &Path) -> Result<Self, String> {
        let finished = helper::run(question(executable).args(["-c", MISSING_PACKAGES]), ANSWER_TIMEOUT)
            .map_err(|e| e.to_string())?;
        if !finished.is_success() {
            return Err(finished.reason());
        }
        let output = finished.stdout;
        let values = |key: &str| {
            let prefix = format!("{key} ");
            output.lines().filter_map(|l| l.strip_prefix(&prefix)).map(str::to_owned).collect::<Vec<_>>()
        };
        Ok(Self {
            missing: values("missing"),
            too_old: values("too-old").iter().find_map(|line| {
                let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
                words.try_into().ok()
            }),
            has_pip: !values("pip").is_empty(),
            bundled_pip: values("bundled-pip").first().map(PathBuf::from),
        })
    }
}
