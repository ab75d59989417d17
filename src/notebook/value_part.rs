//! What is in a variable: entries of a container, or a picture.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which part of a variable is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ValuePartView {
    /// The name of the variable.
    pub name: String,
    /// Where in the variable: the position of an entry on each level, from 0.
    #[serde(default)]
    pub path: Vec<u32>,
    /// Number of entries to skip.
    #[serde(default)]
    pub offset: u64,
}

/// A part of a variable.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValuePart {
    /// Number of entries of a dict, list, tuple or set. Null for other values.
    pub count: Option<u64>,
    /// At most 100 entries.
    pub entries: Vec<ValueEntry>,
    /// The picture of an image of Pillow, a figure of matplotlib or an array of colours: a PNG as
    /// base64.
    pub picture: Option<String>,
}

/// An entry of a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ValueEntry {
    /// The `repr` of the key, or the position. Null in a set.
    pub key: Option<String>,
    /// The name of the value's class.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The beginning of the value's `repr`.
    pub text: String,
    /// Number of its own entries. Null if it is no container.
    pub count: Option<u64>,
}
