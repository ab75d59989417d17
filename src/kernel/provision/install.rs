//! Installs the pinned wheels into a directory with the first installer that works: the
//! environment's pip, the pip that came with Python, uv, or a pip on the path. Each uses the user's
//! settings (index, proxy, certificates).

use super::{Environment, last_line, python};
use crate::kernel::interpreter::Interpreter;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Options of pip and uv: install only the pinned packages with the pinned hashes, and run no
/// package's build code.
const PINNED_ONLY: [&str; 5] = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement"];

/// Installs the pinned packages into a new directory inside `dir`, with the first installer that
/// works, and returns the directory. The error lists each installer's message.
pub(super) fn install(
    interpreter: &Interpreter,
    environment: &Environment,
    pins: &str,
    dir: &Path,
) -> Result<PathBuf, String> {
    let requirements = dir.join("requirements.txt");
    std::fs::write(&requirements, pins).map_err(|e| e.to_string())?;
    let mut messages = Vec::new();
    for (index, installer) in installers(environment).into_iter().enumerate() {
        let target = dir.join(format!("packages-{index}"));
        match installer.run(interpreter, &requirements, &target, dir) {
            Ok(()) => {
                compile(interpreter, &target);
                return Ok(target);
            }
            Err(why) => messages.push(format!("{} {why}", installer.name())),
        }
    }
    Err(messages.join("; "))
}

fn installers(environment: &Environment) -> Vec<Installer<'_>> {
    let own = match &environment.bundled_pip {
        _ if environment.has_pip => Some(Installer::Pip),
        Some(wheel) => Some(Installer::BundledPip(wheel)),
        None => None,
    };
    // If the environment has a pip, another one would not do better.
    let other =
        if own.is_none() { vec![Installer::PipOnPath("pip3"), Installer::PipOnPath("pip")] } else { vec![] };
    own.into_iter().chain([Installer::Uv]).chain(other).collect()
}

enum Installer<'a> {
    Pip,
    BundledPip(&'a Path),
    Uv,
    PipOnPath(&'static str),
}

impl Installer<'_> {
    fn name(&self) -> &'static str {
        match self {
            Self::Pip => "the environment's pip",
            Self::BundledPip(_) => "the pip that came with Python",
            Self::Uv => "uv",
            Self::PipOnPath(name) => name,
        }
    }

    fn run(&self, interpreter: &Interpreter, pins: &Path, target: &Path, dir: &Path) -> Result<(), String> {
        let mut command = self.command(interpreter, dir)?;
        // The installer runs in our directory, because Python imports modules from the current
        // directory.
        command.args(PINNED_ONLY).arg(pins).arg("--target").arg(target).current_dir(dir).stdin(Stdio::null());
        let output = command.output().map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => "was not found".to_owned(),
            _ => format!("does not start ({e})"),
        })?;
        if output.status.success() { Ok(()) } else { Err(format!("says: {}", last_error(&output.stderr))) }
    }

    fn command(&self, interpreter: &Interpreter, dir: &Path) -> Result<Command, String> {
        let mut command = match self {
            Self::Pip => python(interpreter),
            Self::BundledPip(wheel) => {
                let unpacked = dir.join("pip");
                unpack(interpreter, wheel, &unpacked)?;
                let mut command = python(interpreter);
                command.env("PYTHONPATH", unpacked);
                command
            }
            Self::Uv => {
                let mut command = Command::new("uv");
                command.args(["pip", "install", "--python"]).arg(&interpreter.executable);
                return Ok(command);
            }
            Self::PipOnPath(name) => {
                let mut command = Command::new(name);
                let (major, minor) = interpreter.version;
                command.args(["install", "--implementation", "cp", "--python-version"]);
                command.arg(format!("{major}.{minor}"));
                return Ok(quiet(command));
            }
        };
        command.args(["-m", "pip", "install"]);
        Ok(quiet(command))
    }
}

/// Makes pip ask no questions and print no notices. Overrides two user settings that make pip
/// refuse to install into a plain directory.
fn quiet(mut command: Command) -> Command {
    command.args(["--no-input", "--disable-pip-version-check", "--no-warn-script-location", "--no-compile"]);
    command.env("PIP_USER", "0").env("PIP_REQUIRE_VIRTUALENV", "0").env("PYTHONDONTWRITEBYTECODE", "1");
    command
}

fn unpack(interpreter: &Interpreter, wheel: &Path, into: &Path) -> Result<(), String> {
    let output = python(interpreter)
        .args(["-I", "-m", "zipfile", "-e"])
        .arg(wheel)
        .arg(into)
        .output()
        .map_err(|e| format!("does not unpack ({e})"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("does not unpack: {}", last_line(&output.stderr)))
    }
}

/// Writes byte code, so that the first start is as fast as later ones. A failure does not matter.
fn compile(interpreter: &Interpreter, packages: &Path) {
    let _ = python(interpreter).args(["-I", "-m", "compileall", "-q"]).arg(packages).output();
}

/// pip prints hints after its errors, so the last line that is an error gives the reason.
fn last_error(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let error = text.lines().rev().find_map(|line| line.trim().strip_prefix("ERROR: "));
    error.map_or_else(|| last_line(output), |e| e.trim().to_owned())
}
