//! The rows that a request for a sweep asks for.

use super::spec::{NumberRange, Range, Rungs, Sampler, SamplerKind, SweepOptions, SweepSpec};
use crate::problem::{Kind, Problem};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Maximum number of rows of a sweep.
pub const MAX_ROWS: usize = 10_000;
/// Maximum number of rungs.
const MAX_RUNGS: u32 = 100;

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

pub(super) fn wrong(why: impl Into<String>, how: impl Into<String>) -> Problem {
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
