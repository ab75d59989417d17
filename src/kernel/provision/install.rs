//! Installs the pinned wheels into a directory with the first installer that works. The order is:
//! the environment's pip, or if it has none, the pip that came with its Python; uv; the pip of
//! another Python. Each uses the user's settings (index, proxy, certificates).

use super::environment::{ANSWER_TIMEOUT, Environment};
use crate::kernel::failure;
use crate::kernel::helper::{self, Finished};
use crate::kernel::interpreter::{Interpreter, Places, question};
use std::io::ErrorKind::TimedOut;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long an installer may take. It downloads some 4 MB.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(600);
/// Options of pip and uv: install only the pinned packages with the pinned hashes, and run no
/// package's build code.
const PINNED_ONLY: [&str; 5] = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement"];

/// Why no installer worked.
pub(super) struct InstallError {
    /// Each installer that was tried, in order, with its reason.
    pub(super) reasons: Vec<String>,
    /// Whether an installer ran and failed. Then the packages were out of reach, for example
    /// without a network.
    pub(super) has_installer: bool,
}

/// Installs the pinned packages into a new directory inside `dir`, with the first installer that
/// works, and returns the directory.
pub(super) fn install(
    interpreter: &Interpreter,
    environment: &Environment,
    places: &Places,
    pins: &str,
    dir: &Path,
) -> Result<PathBuf, InstallError> {
    let mut error = InstallError { reasons: Vec::new(), has_installer: false };
    let requirements = dir.join("requirements.txt");
    if let Err(e) = std::fs::write(&requirements, pins) {
        error.reasons.push(e.to_string());
        return Err(error);
    }
    let mut pip_ran = false;
    for (index, installer) in installers(interpreter, places).into_iter().enumerate() {
        // Another pip would ask the same index and get the same answer.
        if pip_ran && matches!(installer, Installer::OtherPip(_)) {
            continue;
        }
        let target = dir.join(format!("packages-{index}"));
        let task = Task { interpreter, environment, requirements: &requirements, target: &target, dir };
        match installer.run(&task) {
            Ok(()) => {
                compile(interpreter, &target);
                return Ok(target);
            }
            Err(failure) => {
                pip_ran |= failure.has_run && !matches!(installer, Installer::Uv(_));
                error.has_installer |= failure.has_run;
                error.reasons.push(format!("{}: {}", installer.name(interpreter), failure.why));
            }
        }
    }
    Err(error)
}

/// The installers that may work, in the order in which they are tried.
fn installers(interpreter: &Interpreter, places: &Places) -> Vec<Installer> {
    let mut all = vec![Installer::OwnPip, Installer::Uv(places.programs("uv").next())];
    let mut others = vec![interpreter.executable.clone()];
    for other in places.own.iter().cloned().chain(places.programs("python3")) {
        if !others.iter().any(|known| is_same_entry(known, &other)) {
            all.push(Installer::OtherPip(other.clone()));
            others.push(other);
        }
    }
    all
}

/// Whether two paths are one directory entry. A link as the last part of a path is not followed:
/// the Python of an environment is a link to another Python, and has other packages.
fn is_same_entry(one: &Path, other: &Path) -> bool {
    let directory = |path: &Path| path.parent().and_then(|dir| dir.canonicalize().ok());
    one == other || one.file_name() == other.file_name() && directory(one) == directory(other)
}

/// What an installer has to do.
struct Task<'a> {
    interpreter: &'a Interpreter,
    environment: &'a Environment,
    requirements: &'a Path,
    /// The directory to install into.
    target: &'a Path,
    /// The working directory. Python imports modules from there, so it must be Ratoon's own.
    dir: &'a Path,
}

/// Why an installer did not work.
struct Failure {
    why: String,
    /// Whether it was there and refused the packages.
    has_run: bool,
}

impl Failure {
    fn is_missing(why: impl Into<String>) -> Self {
        Self { why: why.into(), has_run: false }
    }
}

enum Installer {
    /// The environment's pip, else the one that came with its Python.
    OwnPip,
    /// The program `uv`, if there is one.
    Uv(Option<PathBuf>),
    /// The pip of this Python, which installs for the environment's version.
    OtherPip(PathBuf),
}

impl Installer {
    fn name(&self, interpreter: &Interpreter) -> String {
        let program = match self {
            Self::OwnPip => &interpreter.executable,
            Self::Uv(None) => return "uv".to_owned(),
            Self::Uv(Some(program)) | Self::OtherPip(program) => program,
        };
        program.display().to_string()
    }

    fn run(&self, task: &Task<'_>) -> Result<(), Failure> {
        match self {
            Self::OwnPip => {
                let install = pip(&task.interpreter.executable, task.environment, task.dir)?;
                run_pip(install, task)
            }
            Self::Uv(None) => Err(Failure::is_missing("not on $PATH")),
            Self::Uv(Some(program)) => run_uv(program, task),
            Self::OtherPip(other) => {
                let environment = Environment::of(other)
                    .map_err(|why| Failure::is_missing(format!("it does not work ({why})")))?;
                let mut install = pip(other, &environment, task.dir)?;
                let (major, minor) = task.interpreter.version.series();
                install.args(["--implementation", "cp", "--python-version"]);
                install.arg(format!("{major}.{minor}"));
                run_pip(install, task)
            }
        }
    }
}

/// The command `pip install` of a Python.
fn pip(executable: &Path, environment: &Environment, dir: &Path) -> Result<Command, Failure> {
    let mut command = question(executable);
    match &environment.bundled_pip {
        _ if environment.has_pip => {}
        Some(wheel) => {
            let unpacked = dir.join(wheel.file_stem().unwrap_or_default());
            unpack(executable, wheel, &unpacked).map_err(Failure::is_missing)?;
            command.env("PYTHONPATH", unpacked);
        }
        None => return Err(Failure::is_missing("it has no pip")),
    }
    command.args(["-m", "pip", "install"]);
    Ok(command)
}

/// Settings of pip that name another place, or install nothing.
const NOT_FOR_A_DIRECTORY: [&str; 6] =
    ["PIP_DRY_RUN", "PIP_PREFIX", "PIP_REPORT", "PIP_ROOT", "PIP_TARGET", "PIP_UPGRADE"];

/// Runs pip without questions and notices. Overrides the user's settings with which pip does not
/// install into a plain directory.
fn run_pip(mut command: Command, task: &Task<'_>) -> Result<(), Failure> {
    command.args(["--no-input", "--disable-pip-version-check", "--no-warn-script-location", "--no-compile"]);
    for setting in NOT_FOR_A_DIRECTORY {
        command.env_remove(setting);
    }
    command.env("PIP_USER", "0").env("PIP_REQUIRE_VIRTUALENV", "0").env("PYTHONDONTWRITEBYTECODE", "1");
    // pip's last line with `ERROR: ` gives the reason: only hints follow it. Without such a line,
    // pip itself is broken. Below `ERROR: Exception:` it prints the traceback of an error that it
    // did not expect.
    run(command, task, |failed| match failure::marked(&failed.stderr, &["ERROR: "]) {
        Some(why) if why == "Exception:" => {
            Failure { why: format!("its pip failed: {}", failed.reason()), has_run: true }
        }
        Some(why) => Failure { why: format!("its pip says: {why}"), has_run: true },
        None => Failure::is_missing(format!("its pip does not work ({})", failed.reason())),
    })
}

fn run_uv(program: &Path, task: &Task<'_>) -> Result<(), Failure> {
    let mut command = Command::new(program);
    command.args(["pip", "install", "--python"]).arg(&task.interpreter.executable);
    let why = |failed: &Finished| uv_reason(&failed.stderr).unwrap_or_else(|| failed.reason());
    run(command, task, |failed| Failure { why: why(failed), has_run: true })
}

/// Runs an installer. `failure` reads its messages if it fails.
fn run(mut command: Command, task: &Task<'_>, failure: impl Fn(&Finished) -> Failure) -> Result<(), Failure> {
    command.args(PINNED_ONLY).arg(task.requirements).arg("--target").arg(task.target);
    let output = helper::run(command.current_dir(task.dir), INSTALL_TIMEOUT)
        .map_err(|e| Failure { why: format!("it does not work ({e})"), has_run: e.kind() == TimedOut })?;
    if output.is_success() { Ok(()) } else { Err(failure(&output)) }
}

fn unpack(executable: &Path, wheel: &Path, into: &Path) -> Result<(), String> {
    let mut command = question(executable);
    command.args(["-I", "-m", "zipfile", "-e"]).arg(wheel).arg(into);
    let output =
        helper::run(&mut command, ANSWER_TIMEOUT).map_err(|e| format!("its pip cannot be unpacked ({e})"))?;
    if output.is_success() {
        Ok(())
    } else {
        Err(format!("its pip cannot be unpacked ({})", output.reason()))
    }
}

/// Writes byte code, so that the first start is as fast as later ones. A failure does not matter.
fn compile(interpreter: &Interpreter, packages: &Path) {
    let mut command = question(&interpreter.executable);
    let _ = helper::run(command.args(["-I", "-m", "compileall", "-q"]).arg(packages), INSTALL_TIMEOUT);
}

/// uv prints an error, then its causes, then hints. The last cause gives the reason.
fn uv_reason(messages: &str) -> Option<String> {
    failure::marked(messages, &["cause: ", "Caused by: ", "╰─▶ "])
        .or_else(|| failure::marked(messages, &["error: "]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_uv_is_its_last_cause() {
        let one = "Using CPython 3.12.1\nerror: Failed to fetch: https://a/\n  cause: error sending request\n  \
                   cause: Connection refused (os error 111)\n\nhint: try again\n";
        let reason = |messages| uv_reason(messages).unwrap_or_default();
        assert_eq!(reason(one), "Connection refused (os error 111)");
        assert_eq!(reason("error: No such file\n\nhint: x"), "No such file");
        assert_eq!(
            reason("  × No solution found\n  ╰─▶ Because a was not found\n"),
            "Because a was not found"
        );
        assert_eq!(uv_reason("broken\n"), None);
    }
}
