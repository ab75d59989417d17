//! Finds the objects that pickle would change, among the millions that it writes.

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PySet};

/// Calls a function of Python for each float that is not a number, and for each set.
#[pyclass(frozen)]
#[derive(Debug)]
pub(super) struct PickleWatch {
    found: Py<PyAny>,
}

#[pymethods]
impl PickleWatch {
    #[new]
    const fn new(found: Py<PyAny>) -> Self {
        Self { found }
    }

    /// `Pickler.persistent_id`: what the function returns, and None for all other objects.
    fn persistent_id<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let is_nan = object.cast_exact::<PyFloat>().is_ok_and(|one| one.value().is_nan());
        if is_nan || object.is_exact_instance_of::<PySet>() {
            return self.found.bind(object.py()).call1((object,)).map(Some);
        }
        Ok(None)
    }
}
