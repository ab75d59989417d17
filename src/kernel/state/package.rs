//! The kernel's Python package, `ratoon_kernel` (`src/kernel/python`). It is embedded in the
//! extension module and imported from memory.

use super::bytecode::Bytecode;
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};
use serde::de::DeserializeOwned;
use std::path::Path;

const PACKAGE: &str = "ratoon_kernel";

/// The path of each module in the package, and its text.
macro_rules! embed {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!("../python/ratoon_kernel/", $path, ".py")))),*]
    };
}

const MODULES: &[(&str, &str)] = embed! {
    "__init__" "adapter" "adapters/__init__" "adapters/builtins" "adapters/by_file"
    "adapters/ctypes" "adapters/cv2" "adapters/databases" "adapters/duckdb" "adapters/frames"
    "adapters/generators" "adapters/httpx" "adapters/ipython" "adapters/jinja2" "adapters/lightgbm"
    "adapters/logging" "adapters/matplotlib" "adapters/numba" "adapters/numpy"
    "adapters/onnxruntime" "adapters/options" "adapters/pandas" "adapters/polars" "adapters/pools"
    "adapters/psycopg2" "adapters/pyarrow" "adapters/pydantic" "adapters/rdkit" "adapters/sklearn"
    "adapters/spacy" "adapters/sqlalchemy" "adapters/sqlite3" "adapters/sympy" "adapters/threading"
    "adapters/tqdm" "adapters/traitlets" "adapters/xgboost" "background_scripts" "cell_imports"
    "cell_sources" "cells" "changes" "checkpoint" "classes" "code_position" "compiler_flags"
    "completion" "data_decoder" "data_encoder" "data_form" "evaluation" "event_loop" "fingerprint"
    "forks" "history" "import_hooks" "importable" "imported_objects" "inspection" "ipython_shell"
    "keeper" "loading" "missing" "module_names" "named_objects" "names_of_the_cell" "outputs"
    "packages" "packing" "parameters" "persistent_ids" "pickling" "plain_cells" "program_pipes"
    "python_versions" "rebuilding" "round_trip" "sampling" "saving" "set_order" "settings" "sharing"
    "shell" "signatures" "sqlite_files" "startup" "symbols" "syntax" "table" "text" "thread_limit"
    "transfer" "unpickling" "value_part" "variables" "widgets"
};

/// A module of the package, imported in the root. It is held here, because user code may change
/// `sys.modules`.
#[derive(Debug)]
pub(super) struct PackageModule(pub(super) Py<PyModule>);

impl PackageModule {
    pub(super) fn import(py: Python<'_>, name: &str) -> PyResult<Self> {
        Ok(Self(py.import(format!("{PACKAGE}.{name}"))?.unbind()))
    }

    /// Calls a function that returns JSON.
    pub(super) fn call<'py, T: DeserializeOwned>(
        &self,
        py: Python<'py>,
        function: &str,
        arguments: impl PyCallArgs<'py>,
    ) -> PyResult<T> {
        let json: String = self.0.call_method1(py, function, arguments)?.extract(py)?;
        serde_json::from_str(&json).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// Lets Python import the package while the root starts. Afterwards the importer is removed from
/// `sys.meta_path`, so cells do not see it. Compiled code is kept in the directory `bytecode`.
///
/// # Errors
/// An exception of Python while the importer is added, used or removed. Errors of `boot` are in the
/// value that it returns.
pub(super) fn while_importable<T>(
    native: &Bound<'_, PyModule>,
    bytecode: Option<&Path>,
    boot: impl FnOnce() -> T,
) -> PyResult<T> {
    let py = native.py();
    let finders = py.import("sys")?.getattr("meta_path")?;
    let importer = Bound::new(py, Importer { bytecode: Bytecode::read(py, bytecode, &text_digest())? })?;
    finders.call_method1("insert", (0, &importer))?;
    py.import("sys")?.getattr("modules")?.set_item(native.name()?, native)?;
    py.import(PACKAGE)?.setattr("_native", native)?;
    let booted = boot();
    finders.call_method1("remove", (&importer,))?;
    importer.get().bytecode.write(py)?;
    Ok(booted)
}

/// A digest of the package's text, as hexadecimal digits.
fn text_digest() -> String {
    let mut hasher = blake3::Hasher::new();
    for (path, text) in MODULES {
        hasher.update(path.as_bytes()).update(&[0]).update(text.as_bytes()).update(&[0]);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// The package's finder and loader, for `importlib`.
#[pyclass(frozen)]
#[derive(Debug)]
struct Importer {
    bytecode: Bytecode,
}

#[pymethods]
impl Importer {
    #[pyo3(signature = (name, _path = None, _target = None))]
    fn find_spec<'py>(
        slf: &Bound<'py, Self>,
        name: &str,
        _path: Option<&Bound<'py, PyAny>>,
        _target: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if text_of(name).is_none() {
            return Ok(None);
        }
        let py = slf.py();
        let options = PyDict::new(py);
        options.set_item("is_package", is_package(name))?;
        let spec = py.import("importlib.machinery")?.getattr("ModuleSpec")?;
        spec.call((name, slf), Some(&options)).map(Some)
    }

    fn create_module(&self, _spec: &Bound<'_, PyAny>) -> Option<Py<PyAny>> {
        None
    }

    fn exec_module(&self, module: &Bound<'_, PyModule>) -> PyResult<()> {
        let name: String = module.getattr("__name__")?.extract()?;
        let Some(text) = text_of(&name) else {
            return Err(pyo3::exceptions::PyImportError::new_err(name));
        };
        let builtins = module.py().import("builtins")?;
        let code = match self.bytecode.get(module.py(), &name)? {
            Some(code) => code,
            None => {
                let code = builtins.call_method1("compile", (text, file_name(&name), "exec"))?;
                self.bytecode.set(module.py(), &name, &code)?;
                code
            }
        };
        builtins.call_method1("exec", (code, module.dict())).map(drop)
    }
}

fn text_of(name: &str) -> Option<&'static str> {
    let mut path = name.strip_prefix(PACKAGE)?.replace('.', "/");
    if is_package(name) {
        path.push_str("/__init__");
    }
    let path = path.trim_start_matches('/');
    MODULES.iter().find(|(known, _)| *known == path).map(|(_, text)| *text)
}

/// Whether a module is a package.
fn is_package(name: &str) -> bool {
    name == PACKAGE || name == "ratoon_kernel.adapters"
}

/// A module's file name in tracebacks. Tracebacks of cells leave out files that begin with
/// `<ratoon` (outputs.py).
fn file_name(name: &str) -> String {
    format!("<ratoon {}>", name.rsplit('.').next().unwrap_or(name))
}
