//! Keeps the compiled code of the kernel's Python package between starts. Compiling its text takes
//! a third of the time in which a notebook's Python starts.
//!
//! Each version of Python and of the package has a file of its own. It begins with a digest of the
//! rest, because Python may crash when it reads damaged code.

use nix::libc;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The code of the package's modules.
#[derive(Debug)]
pub(super) struct Bytecode {
    /// The file to write; none if it was read, or if there is no directory for it.
    unwritten: Option<PathBuf>,
    /// The code objects, by the name of the module.
    codes: Py<PyDict>,
}

impl Bytecode {
    /// Reads the code from the file in `dir`. `text_digest` tells versions of the package apart.
    pub(super) fn read(py: Python<'_>, dir: Option<&Path>, text_digest: &str) -> PyResult<Self> {
        let path = match dir {
            Some(dir) => Some(dir.join(file_name(py, text_digest)?)),
            None => None,
        };
        let Some(bytes) = path.as_deref().and_then(read_checked) else {
            return Ok(Self { unwritten: path, codes: PyDict::new(py).unbind() });
        };
        let codes = py.import("marshal")?.call_method1("loads", (PyBytes::new(py, &bytes),))?;
        Ok(Self { unwritten: None, codes: codes.cast_into()?.unbind() })
    }

    /// The code of a module; none if it has not been compiled yet.
    pub(super) fn get<'py>(&self, py: Python<'py>, module: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.codes.bind(py).get_item(module)
    }

    /// Adds the code of a module.
    pub(super) fn set(&self, py: Python<'_>, module: &str, code: &Bound<'_, PyAny>) -> PyResult<()> {
        self.codes.bind(py).set_item(module, code)
    }

    /// Writes the file unless it was read, and removes the files of other versions of the package.
    pub(super) fn write(&self, py: Python<'_>) -> PyResult<()> {
        let Some(path) = &self.unwritten else { return Ok(()) };
        let bytes = py.import("marshal")?.call_method1("dumps", (&self.codes,))?;
        // Without the file, the next start compiles the package again.
        let _ = write_checked(path, bytes.cast::<PyBytes>()?.as_bytes());
        Ok(())
    }
}

/// The name of the file: the magic number of Python's bytecode, Python's optimisation level, and
/// the digest of the package's text.
fn file_name(py: Python<'_>, text_digest: &str) -> PyResult<String> {
    let magic: Vec<u8> = py.import("_frozen_importlib_external")?.getattr("MAGIC_NUMBER")?.extract()?;
    let optimize: i32 = py.import("sys")?.getattr("flags")?.getattr("optimize")?.extract()?;
    let magic: String = magic.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{magic}-{optimize}-{text_digest}"))
}

fn read_checked(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = fs::read(path).ok()?;
    let (digest, code) = bytes.split_at_checked(blake3::OUT_LEN)?;
    (blake3::hash(code) == *digest).then(|| bytes.split_off(blake3::OUT_LEN))
}

fn write_checked(path: &Path, code: &[u8]) -> io::Result<()> {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let unfinished = dir.join(format!("{}.{}", name.to_string_lossy(), std::process::id()));
    let mut options = fs::OpenOptions::new();
    let mut file =
        options.write(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(&unfinished)?;
    let written = file.write_all(blake3::hash(code).as_bytes()).and_then(|()| file.write_all(code));
    // No fsync: a file that a power cut damaged does not match its digest, and is written again.
    written
        .and_then(|()| fs::rename(&unfinished, path))
        .inspect_err(|_| drop(fs::remove_file(&unfinished)))?;
    let ours = name.to_string_lossy();
    let digest = ours.rsplit('-').next().unwrap_or_default();
    for entry in fs::read_dir(dir)?.flatten().filter(|e| !e.file_name().to_string_lossy().ends_with(digest)) {
        // Fails if another kernel has removed it.
        let _ = fs::remove_file(entry.path());
    }
    Ok(())
}
