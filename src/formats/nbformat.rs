//! Reads the fields that all versions of Jupyter's notebook files have.

use super::document::malformed;
use super::text::text_or_lines;
use crate::formats::text_of;
use crate::notebook::{Output, RunError, StreamName};
use crate::problem::Problem;
use serde_json::{Map, Value};

/// Reads a stream output. `key` names the field that holds the stream's name.
pub(super) fn stream(output: &Map<String, Value>, key: &str, place: &str) -> Result<Output, Problem> {
    let is_error = output.get(key).and_then(Value::as_str) == Some("stderr");
    let name = if is_error { StreamName::Stderr } else { StreamName::Stdout };
    Ok(Output::stream(name, source(output, "text", place)?))
}

/// Reads an error output.
pub(super) fn error(output: &Map<String, Value>) -> Output {
    let text = |key: &str| output.get(key).map(text_of).unwrap_or_default();
    let traceback = output.get("traceback").and_then(Value::as_array);
    let traceback = traceback.map(|lines| lines.iter().map(text_of).collect()).unwrap_or_default();
    Output::Error(RunError { ename: text("ename"), evalue: text("evalue"), traceback, cause: None })
}

/// Reads the outputs of a cell. `one` reads a single output.
pub(super) fn outputs(
    cell: &Map<String, Value>,
    place: &str,
    one: impl Fn(&Map<String, Value>, &str) -> Result<Output, Problem>,
) -> Result<Vec<Output>, Problem> {
    if cell.get("outputs").is_none_or(Value::is_null) {
        return Ok(Vec::new());
    }
    let read = |(i, output): (usize, &Value)| {
        let place = format!("output {} of {place}", i + 1);
        one(object(output, &place)?, &place)
    };
    list(cell, "outputs", place)?.iter().enumerate().map(read).collect()
}

/// Reads the number in `In[n]`. Returns `None` if the value is not a number.
pub(super) fn count(value: Option<&Value>) -> Option<u32> {
    value.and_then(Value::as_u64).and_then(|n| u32::try_from(n).ok())
}

pub(super) fn missing(key: &str, place: &str) -> Problem {
    malformed(format!("`{key}` is missing in {place}"), HOW)
}

pub(super) fn object<'a>(value: &'a Value, place: &str) -> Result<&'a Map<String, Value>, Problem> {
    value.as_object().ok_or_else(|| malformed(format!("{place} is not an object"), HOW))
}

pub(super) fn list<'a>(
    object: &'a Map<String, Value>,
    key: &str,
    place: &str,
) -> Result<&'a Vec<Value>, Problem> {
    let value = object.get(key).ok_or_else(|| missing(key, place))?;
    value.as_array().ok_or_else(|| malformed(format!("`{key}` of {place} is not a list"), HOW))
}

pub(super) fn word<'a>(object: &'a Map<String, Value>, key: &str, place: &str) -> Result<&'a str, Problem> {
    let value = object.get(key).ok_or_else(|| missing(key, place))?;
    value.as_str().ok_or_else(|| malformed(format!("`{key}` of {place} is not text"), HOW))
}

/// Reads a text that is stored as a string or as a list of lines.
pub(super) fn source(object: &Map<String, Value>, key: &str, place: &str) -> Result<String, Problem> {
    let value = object.get(key).ok_or_else(|| missing(key, place))?;
    text_or_lines(value)
        .ok_or_else(|| malformed(format!("`{key}` of {place} is neither a text nor a list of lines"), HOW))
}

pub(super) const HOW: &str = "open it in Jupyter and save it again, or ask its author";
