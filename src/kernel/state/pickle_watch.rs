//! Finds the objects that pickle would change, among the millions that it writes.

use pyo3::prelude::*;
use pyo3::types::{PyFloat, PySet};

/// Calls a function of Python for each float that is not a number, and for each set. Knows the ids
/// of objects that are written by name.
#[pyclass(frozen)]
#[derive(Debug)]
pub(super) struct PickleWatch {
    found: Py<PyAny>,
    /// Objects and their ids, sorted by address.
    named: Vec<(Py<PyAny>, Py<PyAny>)>,
}

#[pymethods]
impl PickleWatch {
    #[new]
    fn new(found: Py<PyAny>, mut named: Vec<(Py<PyAny>, Py<PyAny>)>) -> Self {
        named.sort_by_key(|(object, _)| object.as_ptr());
        Self { found, named }
    }

    /// `Pickler.persistent_id`: what the function returns or the id of a named object, and None for
    /// all other objects.
    fn persistent_id<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let at = self.named.binary_search_by_key(&object.as_ptr(), |(object, _)| object.as_ptr());
        if let Some((_, id)) = at.ok().and_then(|at| self.named.get(at)) {
            return Ok(Some(id.bind(object.py()).clone()));
        }
        let is_nan = object.cast_exact::<PyFloat>().is_ok_and(|one| one.value().is_nan());
        if is_nan || object.is_exact_instance_of::<PySet>() {
            return self.found.bind(object.py()).call1((object,)).map(Some);
        }
        Ok(None)
    }
}
