//! What Python says about the cell of a sweep, and about its rows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Rows that a sampler has drawn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Drawn {
    /// The values of each row as Python source, in the order of the sampler's space.
    Rows {
        /// The rows.
        rows: Vec<Vec<String>>,
    },
    /// The rows cannot be drawn.
    Refused {
        /// Why.
        why: String,
        /// What to do.
        how: String,
    },
}

/// A literal or name that a cell assigns, so that a sweep can replace it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parameter {
    /// The name.
    pub name: String,
    /// The value, as its source.
    pub value: String,
    /// The type of a literal (`int`, `float`, `str`, `bool`, `NoneType`, `tuple`, `list`, …), or
    /// `name` for the name of a variable.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Start of the value in the cell, in code points.
    pub from: u32,
    /// Its end, in the same unit.
    pub to: u32,
}

/// What a sweep has to know about a cell, its values and its metric.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CodeParameters {
    /// The parameters that the cell assigns, in the order of the cell.
    pub parameters: Vec<Parameter>,
    /// Names that the cell reads and does not assign, and that are variables of the state.
    pub reads: Vec<String>,
    /// Why other names of the cell cannot be parameters, as parts of sentences.
    pub obstacles: BTreeMap<String, String>,
    /// Why the cell cannot run at all, or why the cell of the rungs cannot; null if both can.
    pub syntax_error: Option<String>,
    /// For each value that was sent: why it is not usable; null if it is.
    #[serde(default)]
    pub values: Vec<Option<String>>,
    /// Why the metric is no expression; null if it is one, or if none was sent.
    #[serde(default)]
    pub metric: Option<String>,
    /// Why the sampler cannot draw rows, as a sentence; null if it can, or if there is none.
    #[serde(default)]
    pub sampler: Option<String>,
}
