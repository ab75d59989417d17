//! The kernel's Python package, `ratoon_kernel` (`src/kernel/python`): embedded in this program,
//! imported from memory.

use super::{introspection, symbols};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};
use serde::de::DeserializeOwned;

const PACKAGE: &str = "ratoon_kernel";

/// The text of each module, by its name within the package; `""` is the package itself.
macro_rules! embed {
    ($($name:literal at $path:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../python/ratoon_kernel/", $path)))),*]
    };
}

const MODULES: &[(&str, &str)] = embed![
    "" at "__init__.py",
    "adapter" at "adapter.py",
    "adapters" at "adapters/__init__.py",
    "adapters.by_file" at "adapters/by_file.py",
    "adapters.databases" at "adapters/databases.py",
    "adapters.duckdb" at "adapters/duckdb.py",
    "adapters.frames" at "adapters/frames.py",
    "adapters.httpx" at "adapters/httpx.py",
    "adapters.ipython" at "adapters/ipython.py",
    "adapters.lightgbm" at "adapters/lightgbm.py",
    "adapters.logging" at "adapters/logging.py",
    "adapters.matplotlib" at "adapters/matplotlib.py",
    "adapters.numba" at "adapters/numba.py",
    "adapters.numpy" at "adapters/numpy.py",
    "adapters.onnxruntime" at "adapters/onnxruntime.py",
    "adapters.pandas" at "adapters/pandas.py",
    "adapters.polars" at "adapters/polars.py",
    "adapters.pools" at "adapters/pools.py",
    "adapters.pyarrow" at "adapters/pyarrow.py",
    "adapters.sklearn" at "adapters/sklearn.py",
    "adapters.sqlalchemy" at "adapters/sqlalchemy.py",
    "adapters.sqlite3" at "adapters/sqlite3.py",
    "adapters.threading" at "adapters/threading.py",
    "adapters.traitlets" at "adapters/traitlets.py",
    "adapters.xgboost" at "adapters/xgboost.py",
    "cell_imports" at "cell_imports.py",
    "cell_sources" at "cell_sources.py",
    "changes" at "changes.py",
    "checkpoint" at "checkpoint.py",
    "classes" at "classes.py",
    "code_position" at "code_position.py",
    "completion" at "completion.py",
    "data_decoder" at "data_decoder.py",
    "data_encoder" at "data_encoder.py",
    "data_form" at "data_form.py",
    "fingerprint" at "fingerprint.py",
    "forks" at "forks.py",
    "former_names" at "former_names.py",
    "history" at "history.py",
    "import_hooks" at "import_hooks.py",
    "importable" at "importable.py",
    "inspection" at "inspection.py",
    "keeper" at "keeper.py",
    "loading" at "loading.py",
    "missing" at "missing.py",
    "names_of_the_cell" at "names_of_the_cell.py",
    "outputs" at "outputs.py",
    "pickling" at "pickling.py",
    "private_layouts" at "private_layouts.py",
    "rebuilding" at "rebuilding.py",
    "saving" at "saving.py",
    "settings" at "settings.py",
    "sharing" at "sharing.py",
    "shell" at "shell.py",
    "signatures" at "signatures.py",
    "symbols" at "symbols.py",
    "text" at "text.py",
    "transfer" at "transfer.py",
    "unpickling" at "unpickling.py",
    "variables" at "variables.py",
];

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
    let within = name.strip_prefix(PACKAGE)?;
    let within = within.strip_prefix('.').unwrap_or(within);
    MODULES.iter().find(|(name, _)| *name == within).map(|(_, text)| *text)
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
