//! The arguments and results of the tools, and their JSON schemas.
//!
//! All descriptions together have less than 2 KB, because a client sends them to its model with
//! every request. A test counts them. The schemas of results have none.

use crate::notebook::{Goal, OnConflict, TakenName};
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Arguments of `run`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunArguments {
    pub(super) notebook: Option<String>,
    /// state id, or "initial"
    pub(super) at: String,
    pub(super) code: String,
    /// at most 30, default 30
    pub(super) wait_s: Option<f64>,
    /// then interrupts the cell
    pub(super) timeout_s: Option<f64>,
    /// bytes the cell may add
    pub(super) run_memory: Option<u64>,
    /// of the new state
    pub(super) label: Option<String>,
}

/// Arguments of `read_run`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadRunArguments {
    pub(super) notebook: Option<String>,
    /// run or sweep id
    pub(super) run: String,
    /// of the last answer
    pub(super) cursor: Option<String>,
    pub(super) wait_s: Option<f64>,
}

/// Arguments of `run_many`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunManyArguments {
    pub(super) notebook: Option<String>,
    pub(super) at: String,
    /// with grid
    pub(super) code: Option<String>,
    /// {"name": [values]}; names that the code assigns or reads
    pub(super) grid: Option<Map<String, Value>>,
    /// cells, instead of code and grid
    pub(super) variants: Option<Vec<String>>,
    /// expression for the result
    pub(super) metric: Option<String>,
    #[serde(default)]
    pub(super) goal: Goal,
    pub(super) parallel: Option<u32>,
    /// how many best rows of a grid stay in memory
    pub(super) keep: Option<u32>,
}

/// Arguments of `peek`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PeekArguments {
    pub(super) notebook: Option<String>,
    pub(super) state: String,
    pub(super) expr: Option<String>,
    /// empty: all
    pub(super) names: Option<Vec<String>>,
}

/// Arguments of `compare`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompareArguments {
    pub(super) notebook: Option<String>,
    pub(super) a: String,
    pub(super) b: String,
}

/// Arguments of `history`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryArguments {
    pub(super) notebook: Option<String>,
    /// only the lineage of this state
    pub(super) at: Option<String>,
    /// text in code or label
    pub(super) query: Option<String>,
    /// newest, default 20
    pub(super) limit: Option<usize>,
}

/// Arguments of `take`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TakeArguments {
    pub(super) notebook: Option<String>,
    pub(super) into: String,
    pub(super) from: String,
    pub(super) names: Vec<String>,
    #[serde(default)]
    pub(super) on_conflict: OnConflict,
}

/// Arguments of `interrupt`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct InterruptArguments {
    pub(super) notebook: Option<String>,
    /// run or sweep id
    pub(super) run: String,
}

/// Result of `run` and `read_run`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct RunResult {
    pub(super) run: String,
    /// `queued`, `running`, `ok`, `error`, `interrupted` or `crashed`; of a sweep, as in its rows.
    pub(super) status: String,
    /// The state that the run left, for the next call.
    pub(super) state: Option<String>,
    pub(super) output: String,
    pub(super) cursor: String,
    pub(super) error: Option<String>,
    pub(super) assigned: Vec<String>,
    pub(super) deleted: Vec<String>,
    pub(super) seconds: Option<f64>,
    pub(super) warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rows: Option<ManyResult>,
}

/// Result of `run_many`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct ManyResult {
    /// The sweep of a grid; null for variants, whose rows are runs of their own.
    pub(super) sweep: Option<String>,
    /// `running`, `done` or `stopped`.
    pub(super) status: String,
    pub(super) count: usize,
    pub(super) ended: usize,
    /// The index of the best row.
    pub(super) best: Option<usize>,
    /// The best rows first if there is a metric; not all of many.
    pub(super) rows: Vec<RowResult>,
    pub(super) note: Option<String>,
}

/// One row of `run_many`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct RowResult {
    pub(super) index: usize,
    pub(super) run: String,
    pub(super) status: String,
    pub(super) state: Option<String>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub(super) params: Map<String, Value>,
    pub(super) metric: Option<f64>,
    pub(super) error: Option<String>,
    pub(super) output: String,
}

/// Result of `peek`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct PeekResult {
    pub(super) state: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) value: Option<PeekedValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) variables: Option<Vec<PeekedVariable>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) unknown: Vec<String>,
}

/// The value of an expression.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PeekedValue {
    pub(super) text: String,
    pub(super) number: Option<f64>,
    pub(super) failed: bool,
}

/// A variable.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PeekedVariable {
    pub(super) name: String,
    #[serde(rename = "type")]
    pub(super) type_name: String,
    pub(super) size: Option<String>,
    pub(super) repr: String,
}

/// Result of `compare`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct CompareResult {
    /// The newest state that both come from.
    pub(super) ancestor: String,
    pub(super) cells_a: Vec<CellOfBranch>,
    pub(super) cells_b: Vec<CellOfBranch>,
    pub(super) only_a: Vec<String>,
    pub(super) only_b: Vec<String>,
    pub(super) different: Vec<Difference>,
    /// Variables whose values cannot be read, so that they may differ.
    pub(super) unreadable: Vec<String>,
    pub(super) equal: usize,
}

/// A cell that only one of two states has in its lineage.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CellOfBranch {
    pub(super) state: String,
    pub(super) code: String,
}

/// A variable that differs.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Difference {
    pub(super) name: String,
    pub(super) a: String,
    pub(super) b: String,
}

/// Result of `history`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct HistoryResult {
    /// Oldest first.
    pub(super) cells: Vec<HistoryEntry>,
    /// How many older ones were left out.
    pub(super) older: usize,
}

/// A cell that ran.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct HistoryEntry {
    /// The state that it left; null if it failed.
    pub(super) state: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) run: Option<String>,
    pub(super) status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) label: Option<String>,
    pub(super) code: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) changed: Vec<String>,
    /// `memory`, `disk`, `replay` or `freezing`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) residency: Option<String>,
}

/// Result of `take`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct TakeResult {
    pub(super) run: String,
    pub(super) state: String,
    pub(super) taken: Vec<TakenName>,
    pub(super) deleted: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// Result of `interrupt`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct InterruptResult {
    pub(super) interrupted: bool,
}

/// The schema of arguments.
pub(super) fn input<T: JsonSchema>() -> Value {
    schema::<T>(SchemaSettings::draft2020_12().for_deserialize(), true)
}

/// The schema of a result.
pub(super) fn output<T: JsonSchema>() -> Value {
    schema::<T>(SchemaSettings::draft2020_12().for_serialize(), false)
}

fn schema<T: JsonSchema>(settings: SchemaSettings, with_descriptions: bool) -> Value {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("description");
    Plain { with_descriptions }.transform(&mut schema);
    schema.to_value()
}

/// Removes what a model does not need.
struct Plain {
    with_descriptions: bool,
}

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        for key in ["title", "format", "default"] {
            schema.remove(key);
        }
        let is_variant = schema.get("const").is_some();
        if !self.with_descriptions || is_variant {
            schema.remove("description");
        }
        transform_subschemas(self, schema);
    }
}
