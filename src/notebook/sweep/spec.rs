//! A request for a sweep.

use crate::notebook::{Resources, RowPlace, StateRef, SweepId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A request for a sweep. Exactly one of `grid`, `rows` and `sampler` is set.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct SweepSpec {
    /// The caller's id for the sweep; made by the server if absent. A repeated request with the
    /// same id is answered with the first sweep. Over REST, the name `id` works, too; on the
    /// WebSocket, `id` is the number of the message.
    #[serde(default, rename = "sweep_id", alias = "id")]
    pub id: Option<SweepId>,
    /// The state that each row runs against.
    pub at: StateRef,
    /// The cell.
    pub code: String,
    /// The values of each parameter; every combination is a row. A value is JSON, or
    /// `{"code": "(64, 32)"}` for a literal or a name of Python.
    #[serde(default)]
    pub grid: Option<Map<String, Value>>,
    /// The rows themselves, each with a value for every parameter.
    #[serde(default)]
    pub rows: Option<Vec<Map<String, Value>>>,
    /// Rows that are drawn from ranges.
    #[serde(default)]
    pub sampler: Option<Sampler>,
    /// How the rows run and which of them are kept.
    #[serde(flatten)]
    pub options: SweepOptions,
    /// All other fields. They are refused: a misspelt option must not be ignored.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: Map<String, Value>,
}

/// Draws rows from ranges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sampler {
    /// How rows are drawn.
    pub kind: SamplerKind,
    /// The range of each parameter: a list of values, or a range of numbers.
    pub space: BTreeMap<String, Range>,
    /// Number of rows.
    pub trials: u32,
    /// The seed. The same seed draws the same rows.
    #[serde(default)]
    pub seed: u64,
}

/// How a sampler draws rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SamplerKind {
    /// Independently of one another.
    Random,
    /// By Optuna, from the metrics of the rows so far. Needs Optuna in the notebook's environment.
    Optuna,
}

/// The values that a sampler may draw for one parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Range {
    /// One of these values.
    Choices(Vec<Value>),
    /// A number between two limits.
    Numbers(NumberRange),
}

/// A range of numbers, both ends included.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NumberRange {
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
    /// Whether values are drawn on a logarithmic scale instead of a linear one.
    #[serde(default)]
    pub log: bool,
    /// Whether only integers are drawn.
    #[serde(default)]
    pub int: bool,
}

/// How the rows of a sweep run, and which of them are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepOptions {
    /// A Python expression for the result of a row: a number.
    #[serde(default)]
    pub metric: Option<String>,
    /// Whether higher or lower metrics are better.
    #[serde(default)]
    pub goal: Goal,
    /// Maximum number of rows that run at the same time. Default: the number of cores.
    #[serde(default)]
    pub parallel: Option<u32>,
    /// Seconds after which each run is interrupted.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// Bytes of memory that each run may use in addition to the memory of its state.
    #[serde(default)]
    pub run_memory: Option<u64>,
    /// Rules that end the sweep early.
    #[serde(default)]
    pub stop: StopRule,
    /// How many of the best rows keep their states in memory; the states of the others come back by
    /// a replay. Default: 5 with a metric, all without one.
    #[serde(default)]
    pub keep: Option<u32>,
    /// Continues from the best rows (successive halving).
    #[serde(default)]
    pub rungs: Option<Rungs>,
    /// The sweep's name for users.
    #[serde(default)]
    pub label: Option<String>,
    /// Where the rows run.
    #[serde(default, rename = "where")]
    pub place: RowPlace,
    /// What each row at a worker needs.
    #[serde(default, skip_serializing_if = "Resources::is_empty")]
    pub resources: Resources,
}

/// Whether higher or lower metrics are better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// Higher metrics are better.
    #[default]
    Max,
    /// Lower metrics are better.
    Min,
}

impl Goal {
    /// Whether a metric is better than another.
    pub fn is_better(self, one: f64, other: f64) -> bool {
        match self {
            Self::Max => one > other,
            Self::Min => one < other,
        }
    }
}

/// Rules that end a sweep early: no further row begins, and running rows end as usual.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopRule {
    /// After this many rows have ended.
    #[serde(default)]
    pub trials: Option<u32>,
    /// After this many seconds.
    #[serde(default)]
    pub seconds: Option<f64>,
    /// When a row has a metric that is at least as good as this value.
    #[serde(default)]
    pub target: Option<f64>,
}

/// Successive halving: when all rows of a rung have ended, the best of them continue.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rungs {
    /// The cell that a row continues with, against the state that it has left.
    pub code: String,
    /// How many times the best rows continue.
    pub count: u32,
    /// One of this many rows continues; at least 2.
    #[serde(default = "three")]
    pub factor: u32,
}

fn three() -> u32 {
    3
}
