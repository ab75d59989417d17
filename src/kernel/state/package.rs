//! The kernel's Python package, `ratoon_kernel` (`src/kernel/python`): embedded in this program,
//! imported from memory.

use super::{contents::Contents, introspection, symbols};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};
use serde::de::DeserializeOwned;

const PACKAGE: &str = "ratoon_kernel";

/// The path of each module in the package, and its text.
macro_rules! embed {
    ($($path:literal)*) => {
        &[$(($path, include_str!(concat!("../python/ratoon_kernel/", $path, ".py")))),*]
    };
}

const MODULES: &[(&str, &str)] = embed! {
    "__init__" "adapter" "adapters/__init__" "adapters/by_file" "adapters/databases" "adapters/duckdb"
    "adapters/frames" "adapters/httpx" "adapters/ipython" "adapters/lightgbm" "adapters/logging"
    "adapters/matplotlib" "adapters/numba" "adapters/numpy" "adapters/onnxruntime" "adapters/pandas"
    "adapters/polars" "adapters/pools" "adapters/pyarrow" "adapters/sklearn" "adapters/sqlalchemy"
    "adapters/sqlite3" "adapters/threading" "adapters/traitlets" "adapters/xgboost" "cell_imports"
    "cell_sources" "changes" "checkpoint" "classes" "code_position" "completion" "data_decoder"
    "data_encoder" "data_form" "fingerprint" "forks" "former_names" "history" "import_hooks" "importable"
    "inspection" "keeper" "loading" "missing" "names_of_the_cell" "outputs" "pickling" "plain_cells"
    "private_layouts"
    "rebuilding" "saving" "settings" "sharing" "shell" "signatures" "symbols" "text" "transfer" "unpickling"
    "variables"
};

/// A module of the package, imported in the root. It is held here, as user code may change
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
/// `sys.meta_path`, so cells do not see it.
///
/// # Errors
/// What `boot` raises.
pub(super) fn while_importable<T>(py: Python<'_>, boot: impl FnOnce() -> T) -> PyResult<T> {
    let finders = py.import("sys")?.getattr("meta_path")?;
    let importer = Bound::new(py, Importer)?;
    finders.call_method1("insert", (0, &importer))?;
    add_native(py)?;
    let booted = boot();
    finders.call_method1("remove", (&importer,))?;
    Ok(booted)
}

/// `ratoon_kernel._native`: what Rust gives to Python.
fn add_native(py: Python<'_>) -> PyResult<()> {
    let native = PyModule::new(py, "ratoon_kernel._native")?;
    native.add_function(wrap_pyfunction!(introspection::digest, &native)?)?;
    native.add_function(wrap_pyfunction!(symbols::note, &native)?)?;
    native.add_class::<Contents>()?;
    let package = py.import(PACKAGE)?;
    package.setattr("_native", &native)?;
    py.import("sys")?.getattr("modules")?.set_item("ratoon_kernel._native", native)
}

/// The package's finder and loader, for `importlib`.
#[pyclass(frozen)]
#[derive(Debug)]
struct Importer;

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
        let code = builtins.call_method1("compile", (text, file_name(&name), "exec"))?;
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

/// Whether it contains modules.
fn is_package(name: &str) -> bool {
    name == PACKAGE || name == "ratoon_kernel.adapters"
}

/// A module's file name in tracebacks. Tracebacks of cells leave out files that begin with
/// `<ratoon` (outputs.py).
fn file_name(name: &str) -> String {
    format!("<ratoon {}>", name.rsplit('.').next().unwrap_or(name))
}
