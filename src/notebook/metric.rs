//! The metric of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The value of a metric, evaluated at the end of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Metric {
    /// The value; null if the expression failed or is not a finite number.
    pub value: Option<f64>,
    /// Why there is no value, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}
