//! Sweeps: one cell, run with many values of its parameters, each time as a branch of one state.
//!
//! A *parameter* is a name that the cell assigns once, at its top level, or a name that the cell
//! only reads. A *row* is one combination of values. Each row is an ordinary run of the cell's code
//! with the values in place, so that it is saved, replayed and exported like any cell. With rungs,
//! a second cell continues from the best rows only.

use super::{ExecId, Resources, RowPlace, RunStatus, StateId, StateRef, SweepId};
use crate::problem::{Kind, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of rows of a sweep.
pub const MAX_ROWS: usize = 10_000;
/// Maximum number of rungs.
const MAX_RUNGS: u32 = 100;
/// How many of the best rows stay in memory if the request does not say it.
const KEPT: u32 = 5;

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

/// A sweep, with its rows and their results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Sweep {
    /// The sweep's id.
    pub id: SweepId,
    /// The state that each row runs against.
    pub at: StateId,
    /// The cell as it was sent.
    pub code: String,
    /// The parameters, in the order of the values in each row.
    pub parameters: Vec<Slot>,
    /// How the rows run, and which of them are kept.
    pub options: SweepOptions,
    /// Where further rows come from, if not all rows are known at the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampler: Option<Sampler>,
    /// The rows. Stored in a table of their own.
    #[serde(default)]
    pub rows: Vec<SweepRow>,
    /// Milliseconds since the Unix epoch, with fractions.
    pub created_at: f64,
    /// Whether rows are still to run.
    pub status: SweepStatus,
    /// When the sweep ended.
    #[serde(default)]
    pub ended_at: Option<f64>,
    /// Why the sweep ended before all rows had run, as a sentence.
    #[serde(default)]
    pub note: Option<String>,
}

/// A parameter, and where its value goes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Slot {
    /// The name.
    pub name: String,
    /// The range of the value in the cell; null if the cell only reads the name. In that case, an
    /// assignment is added above the cell.
    pub range: Option<CodeRange>,
}

/// A range of a cell, in code points from the beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct CodeRange {
    /// The first code point.
    pub from: u32,
    /// The code point after the last one.
    pub to: u32,
}

/// One combination of values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SweepRow {
    /// The values as Python source, in the order of the sweep's parameters.
    pub values: Vec<String>,
    /// How the runs of the row have ended: the cell, then the rungs.
    #[serde(default)]
    pub ends: Vec<RowEnd>,
}

/// How a run of a row has ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RowEnd {
    /// The status of the run.
    pub status: RunStatus,
    /// The state that the run left.
    pub state: Option<StateId>,
    /// The metric; null if there is none.
    pub metric: Option<f64>,
    /// Why the run failed, or why there is no metric; null if neither is the case.
    pub error: Option<String>,
    /// How long the code ran, in milliseconds.
    pub duration_ms: Option<f64>,
    /// The name of the worker's node, if the run was at a worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// Whether rows of a sweep are still to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SweepStatus {
    /// Rows run or wait.
    Running,
    /// All rows have ended, or the rule to stop was met.
    Done,
    /// A user stopped the sweep.
    Stopped,
}

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

/// The rows of a request before the cell is known: names and values as Python source.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedRows {
    /// The parameters.
    pub names: Vec<String>,
    /// The values of each row, in the order of the names. Empty if a sampler draws them later.
    pub rows: Vec<Vec<String>>,
    /// What draws further rows.
    pub sampler: Option<Sampler>,
}

impl PlannedRows {
    /// All different values, to be checked by Python.
    pub fn sources(&self) -> Vec<String> {
        let drawn = self.sampler.iter().flat_map(|sampler| sampler.space.values());
        let choices = drawn.flat_map(|range| match range {
            Range::Choices(values) => values.iter().map(source_of).collect(),
            Range::Numbers(_) => Vec::new(),
        });
        let all: BTreeSet<String> = self.rows.iter().flatten().cloned().chain(choices).collect();
        all.into_iter().collect()
    }
}

impl SweepSpec {
    /// Checks all that can be checked without the cell, and makes the rows.
    ///
    /// # Errors
    /// `BadRequest` with what is wrong, `TooLarge` if there are more than `MAX_ROWS` rows.
    pub fn plan(&self) -> Result<PlannedRows, Problem> {
        self.check_options()?;
        let planned = match (&self.grid, &self.rows, &self.sampler) {
            (Some(grid), None, None) => of_grid(grid)?,
            (None, Some(rows), None) => of_rows(rows)?,
            (None, None, Some(sampler)) => of_sampler(sampler, self.options.metric.is_some())?,
            _ => {
                return Err(wrong(
                    "it does not say which rows to run",
                    "send one of `grid`, `rows` and `sampler`",
                ));
            }
        };
        if planned.names.is_empty() {
            return Err(wrong("it has no parameter", "name at least one, with its values"));
        }
        Ok(planned)
    }

    fn check_options(&self) -> Result<(), Problem> {
        let SweepOptions { metric, parallel, timeout, stop, keep, rungs, .. } = &self.options;
        if let Some(unknown) = self.unknown.keys().next() {
            let how = "see docs/sweep.md for the fields of a sweep";
            return Err(wrong(format!("there is no field {unknown:?}"), how));
        }
        if *parallel == Some(0) {
            return Err(wrong("`parallel` is 0, so no row could begin", "leave it out, or use 1 or more"));
        }
        let is_bad = |seconds: &Option<f64>| seconds.is_some_and(|s| !s.is_finite() || s <= 0.0);
        if is_bad(timeout) || is_bad(&stop.seconds) {
            return Err(wrong("a number of seconds is not above 0", "use a greater number"));
        }
        if metric.is_none() && (keep.is_some() || rungs.is_some() || stop.target.is_some()) {
            let how = "add `metric`: an expression whose value is a number";
            return Err(wrong(
                "`keep`, `rungs` and `target` need a metric, to know which rows are best",
                how,
            ));
        }
        match rungs {
            Some(Rungs { count: 0, .. }) => Err(wrong("`rungs` has a count of 0", "use 1 or more")),
            Some(Rungs { count, .. }) if *count > MAX_RUNGS => {
                Err(wrong(format!("`rungs` has a count above {MAX_RUNGS}"), "use fewer rungs"))
            }
            Some(Rungs { factor: 0 | 1, .. }) => {
                Err(wrong("`rungs` has a factor below 2", "use a factor of 2 or more"))
            }
            _ => Ok(()),
        }
    }
}

fn wrong(why: impl Into<String>, how: impl Into<String>) -> Problem {
    Problem::bad_request("start a sweep", why, how)
}

fn too_many(count: impl std::fmt::Display) -> Problem {
    let why = format!("it has {count} rows, and the limit is {MAX_ROWS}");
    let how = "use fewer values, or a sampler that draws some of the combinations";
    Problem::new(Kind::TooLarge, "start a sweep", why, how)
}

fn of_grid(grid: &Map<String, Value>) -> Result<PlannedRows, Problem> {
    let mut rows: Vec<Vec<String>> = vec![Vec::new()];
    let mut count: u128 = 1;
    let mut columns = Vec::new();
    for (name, values) in grid {
        let Some(values) = values.as_array().filter(|values| !values.is_empty()) else {
            return Err(wrong(
                format!("the values of `{name}` are no list"),
                "send a list with at least one value",
            ));
        };
        count = count.saturating_mul(values.len() as u128);
        columns.push(values);
    }
    if count > MAX_ROWS as u128 {
        return Err(too_many(count));
    }
    for values in columns {
        let with = |row: &Vec<String>| {
            let row = row.clone();
            values.iter().map(move |value| [row.clone(), vec![source_of(value)]].concat()).collect::<Vec<_>>()
        };
        rows = rows.iter().flat_map(with).collect();
    }
    Ok(PlannedRows { names: grid.keys().cloned().collect(), rows, sampler: None })
}

fn of_rows(list: &[Map<String, Value>]) -> Result<PlannedRows, Problem> {
    if list.len() > MAX_ROWS {
        return Err(too_many(list.len()));
    }
    let Some(first) = list.first() else { return Err(wrong("`rows` is empty", "send at least one row")) };
    let names: Vec<String> = first.keys().cloned().collect();
    let mut rows = Vec::new();
    for (number, row) in list.iter().enumerate() {
        let values: Option<Vec<String>> = names.iter().map(|name| row.get(name).map(source_of)).collect();
        match values.filter(|values| values.len() == row.len()) {
            Some(values) => rows.push(values),
            None => {
                let why = format!("row {number} does not have the parameters of row 0");
                return Err(wrong(why, "give every row a value for every parameter"));
            }
        }
    }
    Ok(PlannedRows { names, rows, sampler: None })
}

fn of_sampler(sampler: &Sampler, has_metric: bool) -> Result<PlannedRows, Problem> {
    let trials = sampler.trials as usize;
    if trials == 0 {
        return Err(wrong("`trials` is 0", "draw at least one row"));
    }
    if trials > MAX_ROWS {
        return Err(too_many(trials));
    }
    for (name, range) in &sampler.space {
        match range {
            Range::Choices(values) if values.is_empty() => {
                return Err(wrong(format!("`{name}` has no values"), "send at least one"));
            }
            Range::Choices(_) => {}
            Range::Numbers(NumberRange { low, high, log, int }) => {
                if !(low.is_finite() && high.is_finite() && low <= high) {
                    return Err(wrong(
                        format!("the range of `{name}` is empty"),
                        "`low` must be at most `high`",
                    ));
                }
                if !(high - low).is_finite() {
                    return Err(wrong(format!("the range of `{name}` is too large"), "use smaller limits"));
                }
                if *int && low.ceil() > high.floor() {
                    let why = format!("the range of `{name}` contains no integer");
                    return Err(wrong(why, "use other limits, or leave `int` out"));
                }
                if *log && *low <= 0.0 {
                    let why = format!("`{name}` has a logarithmic range that does not begin above 0");
                    return Err(wrong(why, "use a greater `low`, or leave `log` out"));
                }
            }
        }
    }
    let names = sampler.space.keys().cloned().collect();
    match sampler.kind {
        SamplerKind::Random => {
            let mut random = fastrand::Rng::with_seed(sampler.seed);
            let draw = |random: &mut fastrand::Rng| {
                sampler.space.values().map(|range| drawn(range, random)).collect()
            };
            let rows = (0..trials).map(|_| draw(&mut random)).collect();
            Ok(PlannedRows { names, rows, sampler: None })
        }
        SamplerKind::Optuna if !has_metric => {
            Err(wrong("Optuna draws rows from the metrics of the rows before", "add `metric`"))
        }
        SamplerKind::Optuna => Ok(PlannedRows { names, rows: Vec::new(), sampler: Some(sampler.clone()) }),
    }
}

fn drawn(range: &Range, random: &mut fastrand::Rng) -> String {
    match range {
        Range::Choices(values) => {
            values.get(random.usize(..values.len())).map_or_else(String::new, source_of)
        }
        Range::Numbers(NumberRange { low, high, log, int }) => {
            let share = random.f64();
            let value = if *log {
                (low.ln() + share * (high.ln() - low.ln())).exp()
            } else {
                low + share * (high - low)
            };
            if *int {
                // Every integer of the range is equally likely on a linear scale.
                let value = if *log { value.round() } else { (low + share * (high - low + 1.0)).floor() };
                return format!("{:.0}", value.clamp(low.ceil(), high.floor()));
            }
            // Six digits are enough to search, and are read at a glance.
            let rounded = format!("{value:.5e}").parse::<f64>().unwrap_or(value);
            format!("{:?}", rounded.clamp(*low, *high))
        }
    }
}

/// A value as Python source. `{"code": "…"}` is that source.
fn source_of(value: &Value) -> String {
    let list = |values: &[Value]| values.iter().map(source_of).collect::<Vec<_>>().join(", ");
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        // JSON's escapes are also Python's.
        Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(values) => format!("[{}]", list(values)),
        Value::Object(object) => match object.get("code") {
            Some(Value::String(code)) if object.len() == 1 => code.trim().to_owned(),
            _ => {
                let items = object
                    .iter()
                    .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), source_of(value)));
                format!("{{{}}}", items.collect::<Vec<_>>().join(", "))
            }
        },
    }
}

impl Sweep {
    /// The sweep of a request whose cell has been read by Python.
    ///
    /// # Errors
    /// `BadRequest`: a name is no parameter of the cell, a value is neither a literal nor a name,
    /// the metric is no expression, or a cell has a syntax error.
    pub fn new(
        id: SweepId,
        at: StateId,
        spec: SweepSpec,
        planned: PlannedRows,
        found: &CodeParameters,
        now_ms: f64,
    ) -> Result<Self, Problem> {
        if let Some(error) = &found.syntax_error {
            return Err(wrong(error.clone(), "correct the code"));
        }
        if let Some(why) = &found.sampler {
            let how = "install it with `%pip install optuna`, or use the sampler `random`";
            return Err(wrong(why.clone(), how));
        }
        if let Some(why) = &found.metric {
            return Err(wrong(format!("the metric {why}"), "use an expression, for example `score`"));
        }
        for (source, why) in planned.sources().iter().zip(&found.values) {
            if let Some(why) = why {
                let how = "use a literal, such as 0.1, \"adam\" or (64, 32), or the name of a variable";
                return Err(wrong(format!("the value `{source}` {why}"), how));
            }
        }
        let slots = planned.names.iter().map(|name| slot(name, &spec.code, found));
        let options = spec.options;
        Ok(Self {
            id,
            at,
            parameters: slots.collect::<Result<_, _>>()?,
            code: spec.code,
            options,
            sampler: planned.sampler,
            rows: planned.rows.into_iter().map(SweepRow::new).collect(),
            created_at: now_ms,
            status: SweepStatus::Running,
            ended_at: None,
            note: None,
        })
    }

    /// Whether a request asks for the same sweep.
    pub fn is_same(&self, at: &StateId, spec: &SweepSpec, planned: &PlannedRows) -> bool {
        let names = self.parameters.iter().map(|slot| &slot.name);
        let values = self.rows.iter().map(|row| &row.values);
        (&self.at, &self.code, &self.options) == (at, &spec.code, &spec.options)
            && names.eq(&planned.names)
            && self.sampler == planned.sampler
            && (self.sampler.is_some() || values.eq(&planned.rows))
    }

    /// The id of a run of a row. `rung` is 0 for the cell itself.
    pub fn exec_id(&self, row: usize, rung: usize) -> ExecId {
        match rung {
            0 => ExecId::new(format!("{}.{row}", self.id)),
            _ => ExecId::new(format!("{}.{row}.{rung}", self.id)),
        }
    }

    /// The code that a row runs in a rung.
    pub fn code_of(&self, row: usize, rung: usize) -> String {
        match (&self.options.rungs, rung) {
            (Some(rungs), 1..) => rungs.code.clone(),
            _ => self.rows.get(row).map_or_else(String::new, |row| self.code_with(&row.values)),
        }
    }

    fn code_with(&self, values: &[String]) -> String {
        let mut above = Vec::new();
        let mut places = Vec::new();
        for (slot, value) in self.parameters.iter().zip(values) {
            match slot.range {
                Some(range) => places.push((range, value.as_str())),
                None => above.push((slot.name.as_str(), value.as_str())),
            }
        }
        places.sort_unstable();
        let byte =
            |at: u32| self.code.char_indices().nth(at as usize).map_or(self.code.len(), |(byte, _)| byte);
        let mut code = assignments(&above, indentation(&self.code));
        let mut begin = 0;
        for (CodeRange { from, to }, value) in places {
            code.push_str(self.code.get(begin..byte(from)).unwrap_or_default());
            code.push_str(value);
            begin = byte(to);
        }
        code.push_str(self.code.get(begin..).unwrap_or_default());
        code
    }

    /// The rung that runs now, and its rows that have not ended, in the order of the table. Empty
    /// if no row is left, at least until the sampler draws more.
    pub fn pending(&self) -> (usize, Vec<usize>) {
        let mut taking_part: Vec<usize> = (0..self.rows.len().min(self.limit())).collect();
        let rungs = self.options.rungs.as_ref();
        let mut rung = 0;
        loop {
            let ended = |row: &usize| self.rows[*row].ends.len() > rung;
            let open: Vec<usize> = taking_part.iter().copied().filter(|row| !ended(row)).collect();
            let is_last = rungs.is_none_or(|rungs| rung >= rungs.count as usize) || self.due_to_draw() > 0;
            if !open.is_empty() || is_last {
                return (rung, open);
            }
            taking_part = self.promoted(&taking_part, rung);
            if taking_part.is_empty() {
                return (rung, taking_part);
            }
            rung += 1;
        }
    }

    /// The number of rows that may run.
    fn limit(&self) -> usize {
        self.options.stop.trials.map_or(usize::MAX, |trials| trials as usize)
    }

    /// How many rows the sampler has to draw that may still run.
    pub fn due_to_draw(&self) -> usize {
        self.to_draw().min(self.limit().saturating_sub(self.rows.len()))
    }

    /// How many of the requested rows the sampler has not drawn yet.
    pub fn to_draw(&self) -> usize {
        self.sampler.as_ref().map_or(0, |sampler| (sampler.trials as usize).saturating_sub(self.rows.len()))
    }

    /// The rows of a rung that continue, in the order of the table.
    fn promoted(&self, taking_part: &[usize], rung: usize) -> Vec<usize> {
        let factor = self.options.rungs.as_ref().map_or(1, |rungs| rungs.factor.max(1) as usize);
        let mut ranked: Vec<(usize, f64)> = taking_part
            .iter()
            .filter_map(|row| {
                self.rows[*row].ends.get(rung).and_then(RowEnd::ranked).map(|metric| (*row, metric))
            })
            .collect();
        self.sort(&mut ranked);
        let count = taking_part.len().div_ceil(factor);
        let mut rows: Vec<usize> = ranked.into_iter().take(count).map(|(row, _)| row).collect();
        rows.sort_unstable();
        rows
    }

    /// How many states the sweep keeps at present: those of the best rows, and those of the rows
    /// that may continue. `None` if it keeps all.
    fn kept(&self) -> Option<usize> {
        self.options.metric.as_ref()?;
        let keep = self.options.keep.unwrap_or(KEPT) as usize;
        let (rung, _) = self.pending();
        let continues = match &self.options.rungs {
            Some(rungs) if self.status == SweepStatus::Running && rung < rungs.count as usize => {
                let taking_part = self.rows.iter().filter(|row| row.ends.len() >= rung).count();
                taking_part.max(self.rows.len().min(1)).div_ceil(rungs.factor.max(1) as usize)
            }
            _ => 0,
        };
        Some(keep.max(continues))
    }

    /// The states of rows that may leave memory, because the rows are not among the best.
    pub fn dispensable(&self) -> Vec<StateId> {
        let Some(kept) = self.kept() else { return Vec::new() };
        // Rows without a metric come last, so that some states stay even if no row has one.
        let ranked: Vec<usize> = self.ranking().into_iter().map(|(row, _)| row).collect();
        let is_ranked: BTreeSet<usize> = ranked.iter().copied().collect();
        let others = (0..self.rows.len()).filter(|row| !is_ranked.contains(row) && self.has_state(*row));
        let best: BTreeSet<usize> = ranked.iter().copied().chain(others).take(kept).collect();
        let mut states = Vec::new();
        for (number, row) in self.rows.iter().enumerate() {
            let last = row.ends.iter().rev().find(|end| end.state.is_some());
            for end in &row.ends {
                let stays = best.contains(&number) && last.is_some_and(|last| std::ptr::eq(last, end));
                states.extend(end.state.clone().filter(|_| !stays));
            }
        }
        states
    }

    fn has_state(&self, row: usize) -> bool {
        self.rows[row].ends.iter().any(|end| end.state.is_some())
    }

    /// The rows that have a metric, the best first. With rungs, a row that got further is better.
    pub fn ranking(&self) -> Vec<(usize, f64)> {
        let rung_of = |row: &SweepRow| row.ends.iter().filter(|end| end.ranked().is_some()).count();
        let result = |(number, row): (usize, &SweepRow)| {
            row.ends.iter().rev().find_map(RowEnd::ranked).map(|metric| (number, metric))
        };
        let mut ranked: Vec<(usize, f64)> = self.rows.iter().enumerate().filter_map(result).collect();
        self.sort(&mut ranked);
        ranked.sort_by_key(|(row, _)| std::cmp::Reverse(rung_of(&self.rows[*row])));
        ranked
    }

    /// The best row.
    pub fn best(&self) -> Option<usize> {
        self.ranking().first().map(|(row, _)| *row)
    }

    fn sort(&self, ranked: &mut [(usize, f64)]) {
        ranked.sort_by(|(_, one), (_, other)| match self.options.goal {
            Goal::Max => other.total_cmp(one),
            Goal::Min => one.total_cmp(other),
        });
    }

    /// Why no further row begins, as a sentence; `None` if rows may begin.
    pub fn stop_reason(&self, now_ms: f64) -> Option<String> {
        let StopRule { trials, seconds, target } = &self.options.stop;
        let ended = self.rows.iter().filter(|row| !row.ends.is_empty()).count();
        let known = self.rows.len() + self.to_draw();
        if let Some(trials) = trials.filter(|trials| ended >= *trials as usize && known > *trials as usize) {
            return Some(format!("{trials} rows have ended, as asked"));
        }
        if let Some(seconds) = seconds.filter(|seconds| now_ms - self.created_at >= seconds * 1000.0) {
            return Some(format!("{seconds} seconds have passed, as asked"));
        }
        let target = (*target)?;
        let (_, best) = *self.ranking().first()?;
        (!self.options.goal.is_better(target, best))
            .then(|| format!("the metric {best} has reached the target {target}"))
    }
}

impl SweepRow {
    /// A row that has not run.
    pub fn new(values: Vec<String>) -> Self {
        Self { values, ends: Vec::new() }
    }
}

impl RowEnd {
    /// The end of a row whose run does not exist.
    pub fn failed(why: impl Into<String>) -> Self {
        let (state, metric, duration_ms, node) = (None, None, None, None);
        Self { status: RunStatus::Error, state, metric, error: Some(why.into()), duration_ms, node }
    }

    /// The metric, if the run left a state that can be ranked by it.
    fn ranked(&self) -> Option<f64> {
        self.metric.filter(|_| self.status == RunStatus::Ok && self.state.is_some())
    }
}

/// The indentation of a cell: that of its first line with code.
fn indentation(code: &str) -> &str {
    let is_code = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let line = code.lines().find(is_code).unwrap_or_default();
    &line[..line.len() - line.trim_start().len()]
}

/// Code that assigns values to names. If a value is one of the names, one statement assigns all of
/// them, so that each value is read from the state before any name changes.
fn assignments(pairs: &[(&str, &str)], indentation: &str) -> String {
    let is_own = |value: &str| {
        let first = value.split('.').next().unwrap_or_default().trim();
        pairs.iter().any(|(name, _)| *name == first)
    };
    if pairs.iter().any(|(_, value)| is_own(value)) {
        let of = |part: fn(&(&str, &str)) -> String| pairs.iter().map(part).collect::<Vec<_>>().join(", ");
        let (names, values) = (of(|(name, _)| (*name).to_owned()), of(|(_, value)| (*value).to_owned()));
        return format!("{indentation}{names} = {values}\n");
    }
    pairs.iter().map(|(name, value)| format!("{indentation}{name} = {value}\n")).collect()
}

fn slot(name: &str, code: &str, found: &CodeParameters) -> Result<Slot, Problem> {
    if let Some(parameter) = found.parameters.iter().find(|parameter| parameter.name == name) {
        return Ok(Slot {
            name: name.to_owned(),
            range: Some(CodeRange { from: parameter.from, to: parameter.to }),
        });
    }
    if let Some(why) = found.obstacles.get(name) {
        let how = "assign it once, at the top level of the cell, for example `lr = 0.1`";
        return Err(wrong(format!("`{name}` cannot be a parameter: it {why}"), how));
    }
    let is_magic = code.trim_start().starts_with("%%");
    if found.reads.iter().any(|read| read == name) && !is_magic {
        return Ok(Slot { name: name.to_owned(), range: None });
    }
    let how = match found.parameters.iter().map(|parameter| parameter.name.as_str()).collect::<Vec<_>>() {
        names if names.is_empty() => format!("assign it in the cell, for example `{name} = 0.1`"),
        names => format!("the cell has these parameters: {}", names.join(", ")),
    };
    Err(wrong(format!("the cell has no name `{name}`"), how))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn spec(fields: Value) -> SweepSpec {
        let mut all = json!({"at": "initial", "code": "lr = 0.1\nn = 3\nprint(lr, n, é)"});
        all.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    fn found() -> CodeParameters {
        let parameter = |name: &str, value: &str, from, to| Parameter {
            name: name.into(),
            value: value.into(),
            type_name: "float".into(),
            from,
            to,
        };
        let parameters = vec![parameter("lr", "0.1", 5, 8), parameter("n", "3", 13, 14)];
        CodeParameters { parameters, reads: vec!["é".into()], ..CodeParameters::default() }
    }

    fn sweep(fields: Value) -> Result<Sweep, Problem> {
        let spec = spec(fields);
        let planned = spec.plan()?;
        Sweep::new(SweepId::new("s"), StateId::root(), spec, planned, &found(), 0.0)
    }

    fn end(metric: f64, state: &str) -> RowEnd {
        let state = Some(StateId::new(state));
        RowEnd {
            status: RunStatus::Ok,
            state,
            metric: Some(metric),
            error: None,
            duration_ms: None,
            node: None,
        }
    }

    fn failed() -> RowEnd {
        RowEnd {
            status: RunStatus::Error,
            state: None,
            metric: None,
            error: None,
            duration_ms: None,
            node: None,
        }
    }

    #[test]
    fn each_row_has_its_values_in_place_and_keeps_their_python_types() {
        let values = json!([1, 1.5, "a\"\n", true, null, [1, {"k": false}], {"code": " (64, 32) "}]);
        let sweep = sweep(json!({"grid": {"n": values, "lr": [0.5], "é": [{"code": "other"}]}})).unwrap();
        let values: Vec<&str> = sweep.rows.iter().map(|row| row.values[0].as_str()).collect();
        let all = ["1", "1.5", "\"a\\\"\\n\"", "True", "None", "[1, {\"k\": False}]", "(64, 32)"];
        assert_eq!(values, all);
        assert_eq!(sweep.code_of(6, 0), "é = other\nlr = 0.5\nn = (64, 32)\nprint(lr, n, é)");
        assert_eq!(sweep.exec_id(6, 0).as_str(), "s.6");
        assert_eq!(sweep.exec_id(6, 2).as_str(), "s.6.2");
    }

    #[test]
    fn names_that_the_cell_only_reads_are_assigned_above_it_from_the_values_of_the_state() {
        let all = |values: Value| {
            let spec = spec(json!({"code": "  print(a, b)", "grid": values}));
            let found = CodeParameters { reads: vec!["a".into(), "b".into()], ..CodeParameters::default() };
            let planned = spec.plan().unwrap();
            let sweep = Sweep::new(SweepId::new("s"), StateId::root(), spec, planned, &found, 0.0).unwrap();
            sweep.code_of(0, 0)
        };
        assert_eq!(all(json!({"a": [1], "b": [2]})), "  a = 1\n  b = 2\n  print(a, b)");
        let names = json!({"a": [{"code": "b"}], "b": [{"code": "a"}]});
        assert_eq!(all(names), "  a, b = b, a\n  print(a, b)");
    }

    #[test]
    fn requests_that_cannot_work_are_refused_before_anything_runs() {
        let why = |fields| sweep(fields).unwrap_err().why;
        let grid = json!({"lr": [1]});
        assert_eq!(why(json!({"grid": {"x": [1]}})), "the cell has no name `x`");
        assert_eq!(why(json!({"grid": {}})), "it has no parameter");
        assert_eq!(why(json!({"grid": {"lr": 1}})), "the values of `lr` are no list");
        let thousand: Vec<u32> = (0..1000).collect();
        let million = json!({"grid": {"lr": thousand, "n": thousand}});
        assert_eq!(why(million), "it has 1000000 rows, and the limit is 10000");
        assert_eq!(why(json!({})), "it does not say which rows to run");
        assert_eq!(
            why(json!({"rows": [{"lr": 1}, {"n": 1}]})),
            "row 1 does not have the parameters of row 0"
        );
        assert_eq!(why(json!({"grid": grid, "metrik": "x"})), "there is no field \"metrik\"");
        assert!(why(json!({"grid": grid, "keep": 1})).contains("need a metric"));
        assert!(why(json!({"grid": grid, "parallel": 0})).contains("no row could begin"));
        let space =
            |range: Value| json!({"sampler": {"kind": "random", "space": {"lr": range}, "trials": 2}});
        assert!(why(space(json!({"low": 2, "high": 1}))).contains("is empty"));
        assert!(why(space(json!({"low": 0, "high": 1, "log": true}))).contains("above 0"));
        assert!(why(space(json!({"low": 0.2, "high": 0.8, "int": true}))).contains("no integer"));
        assert!(
            why(space(json!({"low": 1.5, "high": 1.9, "int": true, "log": true}))).contains("no integer")
        );
        assert!(why(space(json!({"low": -1.7e308, "high": 1.7e308}))).contains("too large"));
        let rungs = json!({"code": "m", "count": 101});
        assert!(why(json!({"grid": grid, "metric": "m", "rungs": rungs})).contains("above 100"));
        let optuna = json!({"sampler": {"kind": "optuna", "space": {"lr": [1]}, "trials": 2}});
        assert!(why(optuna).contains("Optuna"));
    }

    #[test]
    fn python_decides_about_the_cell_the_values_and_the_metric() {
        let refused = |change: fn(&mut CodeParameters)| {
            let (spec, mut found) = (spec(json!({"grid": {"lr": [1]}})), found());
            change(&mut found);
            let planned = spec.plan().unwrap();
            Sweep::new(SweepId::new("s"), StateId::root(), spec, planned, &found, 0.0).unwrap_err().why
        };
        assert_eq!(
            refused(|found| found.values = vec![Some("is no literal".into())]),
            "the value `1` is no literal"
        );
        assert_eq!(refused(|found| found.metric = Some("is empty".into())), "the metric is empty");
        assert_eq!(refused(|found| found.syntax_error = Some("line 1".into())), "line 1");
        let computed = |found: &mut CodeParameters| {
            found.parameters.clear();
            found.obstacles = BTreeMap::from([("lr".into(), "is computed".into())]);
        };
        assert_eq!(refused(computed), "`lr` cannot be a parameter: it is computed");
    }

    #[test]
    fn random_rows_stay_in_their_ranges_and_repeat_with_their_seed() {
        let fields = json!({"sampler": {"kind": "random", "trials": 200, "seed": 7, "space": {
            "lr": {"low": 0.001, "high": 0.1, "log": true}, "n": {"low": 1, "high": 3, "int": true}, "é": ["a", 2]
        }}});
        let one = sweep(fields.clone()).unwrap();
        assert_eq!(one.rows, sweep(fields).unwrap().rows);
        let column = |at: usize| one.rows.iter().map(|row| row.values[at].as_str()).collect::<BTreeSet<_>>();
        let (lr, n, choice) = (column(0), column(1), column(2));
        assert!(lr.iter().all(|x| (0.001..=0.1).contains(&x.parse::<f64>().unwrap())) && lr.len() > 190);
        assert_eq!(n, BTreeSet::from(["1", "2", "3"]));
        assert_eq!(choice, BTreeSet::from(["\"a\"", "2"]));
    }

    #[test]
    fn only_the_best_rows_of_a_rung_continue_and_failed_ones_never_do() {
        let rungs = json!({"code": "more", "count": 2, "factor": 2});
        let mut sweep =
            sweep(json!({"grid": {"lr": [1, 2, 3, 4]}, "metric": "m", "rungs": rungs, "keep": 1})).unwrap();
        assert_eq!(sweep.pending(), (0, vec![0, 1, 2, 3]));
        for (row, end) in [end(1.0, "a"), end(3.0, "b"), failed(), end(2.0, "d")].into_iter().enumerate() {
            assert_eq!(sweep.pending().1[0], row);
            sweep.rows[row].ends.push(end);
        }
        assert_eq!(sweep.pending(), (1, vec![1, 3]));
        assert_eq!(sweep.code_of(1, 1), "more");
        assert_eq!(sweep.dispensable(), [StateId::new("a")], "two may continue");
        sweep.rows[1].ends.push(failed());
        assert_eq!(sweep.pending(), (1, vec![3]));
        sweep.rows[3].ends.push(end(2.5, "dd"));
        assert_eq!(sweep.pending(), (2, vec![3]));
        sweep.rows[3].ends.push(end(2.6, "ddd"));
        assert_eq!(sweep.pending(), (2, vec![]));
        assert_eq!(sweep.best(), Some(3), "it got furthest");
        let gone: Vec<&str> = vec!["a", "b", "d", "dd"];
        assert_eq!(sweep.dispensable().iter().map(StateId::as_str).collect::<Vec<_>>(), gone);
    }

    #[test]
    fn a_sweep_stops_when_it_was_asked_to() {
        let stopped = |stop: Value, goal: &str, metric: f64, now| {
            let fields = json!({"grid": {"lr": [1, 2, 3]}, "metric": "m", "goal": goal, "stop": stop});
            let mut sweep = sweep(fields).unwrap();
            sweep.rows[0].ends.push(end(metric, "a"));
            sweep.stop_reason(now).is_some()
        };
        assert!(
            stopped(json!({"trials": 1}), "max", 1.0, 0.0) && !stopped(json!({"trials": 2}), "max", 1.0, 0.0)
        );
        assert!(stopped(json!({"seconds": 2}), "max", 1.0, 2000.0));
        assert!(!stopped(json!({"seconds": 2}), "max", 1.0, 1999.0));
        assert!(
            stopped(json!({"target": 1}), "max", 1.0, 0.0) && !stopped(json!({"target": 1}), "max", 0.9, 0.0)
        );
        assert!(
            stopped(json!({"target": 1}), "min", 0.5, 0.0) && !stopped(json!({"target": 1}), "min", 1.5, 0.0)
        );
        assert!(!stopped(json!({}), "max", 1.0, 1e12));
    }

    #[test]
    fn rows_without_a_value_of_the_metric_are_kept_while_there_is_room() {
        let mut sweep = sweep(json!({"grid": {"lr": [1, 2, 3]}, "metric": "m", "keep": 2})).unwrap();
        sweep.rows[0].ends.push(RowEnd { metric: None, ..end(0.0, "a") });
        sweep.rows[1].ends.push(RowEnd { metric: None, ..end(0.0, "b") });
        assert!(sweep.dispensable().is_empty());
        sweep.rows[2].ends.push(end(1.0, "c"));
        assert_eq!(sweep.dispensable(), [StateId::new("b")]);
    }

    #[test]
    fn without_a_metric_every_state_is_kept() {
        let mut sweep = sweep(json!({"grid": {"lr": [1]}})).unwrap();
        let end = RowEnd { metric: None, ..end(0.0, "a") };
        sweep.rows[0].ends.push(end);
        assert!(sweep.dispensable().is_empty());
        assert_eq!((sweep.best(), sweep.pending()), (None, (0, vec![])));
    }
}
