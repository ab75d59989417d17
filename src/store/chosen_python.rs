//! The row of the Python that a notebook has chosen. It is signed: choosing a Python means starting
//! a program, so a notebook that came from elsewhere must not choose one.

use super::key::Seal;
use super::tables::{Fault, META, SqlValue, Tables};
use crate::notebook::ChosenPython;
use serde::{Deserialize, Serialize};

/// The key of its row in the table `meta`.
pub(super) const KEY: &str = "python";

/// The value of the row.
#[derive(Serialize, Deserialize)]
struct Signed {
    #[serde(flatten)]
    python: ChosenPython,
    /// In hexadecimal digits.
    hmac: String,
}

/// Writes or removes the row.
pub(super) fn put(tables: &Tables, python: Option<&ChosenPython>, seal: &Seal) -> Result<(), Fault> {
    let Some(python) = python else {
        return tables.remove_row(&META, &[KEY.into()]);
    };
    let hmac = seal.python(&python.path, &python.version);
    let value = serde_json::to_string(&Signed { python: python.clone(), hmac })?;
    tables.put(&META, &[KEY.into(), value.into()])
}

/// Reads the value of the row. None if this install has not signed it.
pub(super) fn read(value: &SqlValue, seal: &Seal) -> Option<ChosenPython> {
    let Signed { python, hmac } = serde_json::from_str(value.text()?).ok()?;
    seal.is_python(&python.path, &python.version, &hmac).then_some(python)
}
