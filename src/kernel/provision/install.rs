//! Installs the pinned wheels into a directory, with whichever installer there is: the
//! environment's pip, the pip that came with Python, uv, or a pip found on the path. Their settings
//! (index, proxy, certificates) are the user's and are honoured.

use super::{Environment, last_line, python};
use crate::kernel::interpreter::Interpreter;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Only what is pinned, only what has the pinned hash, and nothing that would run code of a package
/// to build it.
const PINNED_ONLY: [&str; 5] = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement"];

/// Fills a directory inside `room` and answers it; an error says what each installer said.
pub(super) fn install(
    interpreter: &Interpreter,
    environment: &Environment,
    pins: &str,
    room: &Path,
) -> Result<PathBuf, String> {
    let requirements = room.join("requirements.txt");
    std::fs::write(&requirements, pins).map_err(|e| e.to_string())?;
    let mut said = Vec::new();
    for (index, installer) in installers(environment).into_iter().enumerate() {
        let target = room.join(format!("packages-{index}"));
        match installer.run(interpreter, &requirements, &target, room) {
            Ok(()) => {
                compile(interpreter, &target);
                return Ok(target);
            }
            Err(why) => said.push(format!("{} {why}", installer.name())),
        }
    }
    Err(said.join("; "))
}

fn installers(environment: &Environment) -> Vec<Installer<'_>> {
    let own = match &environment.bundled_pip {
        _ if environment.has_pip => Some(Installer::Pip),
        Some(wheel) => Some(Installer::BundledPip(wheel)),
        None => None,
    };
    // Another pip than the environment's would reach no more than that one did.
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

    fn run(&self, interpreter: &Interpreter, pins: &Path, target: &Path, room: &Path) -> Result<(), String> {
        let mut command = self.command(interpreter, room)?;
        // In a directory of ours: Python would take modules from the directory it is started in.
        command
            .args(PINNED_ONLY)
            .arg(pins)
            .arg("--target")
            .arg(target)
            .current_dir(room)
            .stdin(Stdio::null());
        let output = command.output().map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => "was not found".to_owned(),
            _ => format!("does not start ({e})"),
        })?;
        if output.status.success() { Ok(()) } else { Err(format!("says: {}", last_error(&output.stderr))) }
    }

    fn command(&self, interpreter: &Interpreter, room: &Path) -> Result<Command, String> {
        let mut command = match self {
            Self::Pip => python(interpreter),
            Self::BundledPip(wheel) => {
                let unpacked = room.join("pip");
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

/// No questions and no notices. Two settings of the user's that speak of environments do not apply
/// to a directory of ours, and pip would refuse because of them.
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

/// Byte code now, so that the first start is as fast as all others. Without it things work too.
fn compile(interpreter: &Interpreter, packages: &Path) {
    let _ = python(interpreter).args(["-I", "-m", "compileall", "-q"]).arg(packages).output();
}

/// pip ends with hints after its errors; the last error says why.
fn last_error(said: &[u8]) -> String {
    let text = String::from_utf8_lossy(said);
    let error = text.lines().rev().find_map(|line| line.trim().strip_prefix("ERROR: "));
    error.map_or_else(|| last_line(said), |e| e.trim().to_owned())
}
