//! Sweeps: one cell, run with many values of its parameters, each time as a branch of one state.
//!
//! A *parameter* is a name that the cell assigns once, at its top level, or a name that the cell
//! only reads. A *row* is one combination of values. Each row is an ordinary run of the cell's code
//! with the values in place, so that it is saved, replayed and exported like any cell. With rungs,
//! a second cell continues from the best rows only.

mod parameters;
mod plan;
mod spec;
#[cfg(test)]
mod tests;

pub use self::parameters::{CodeParameters, Drawn, Parameter};
use self::plan::wrong;
pub use self::plan::{MAX_ROWS, PlannedRows};
pub use self::spec::{
    Goal, NumberRange, Range, Rungs, Sampler, SamplerKind, StopRule, SweepOptions, SweepSpec,
};
use super::{ExecId, RunStatus, StateId, SweepId};
use crate::problem::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How many of the best rows stay in memory if the request does not say it.
const KEPT: u32 = 5;

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
