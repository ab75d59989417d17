//! The shapes of the answers, and how a run is folded into one.

use super::clock;
use crate::notebook::{Ended, Output, Outputs, RunError, RunStatus, Symbols, Variable};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use utoipa::ToSchema;

/// The answer to `POST /execute`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Executed {
    /// What the run printed and showed, in order, in nbformat's shapes.
    #[schema(value_type = Vec<Output>)]
    output: Shown,
    /// The name of the state that it left.
    state_name: Option<String>,
    /// Why it failed.
    error: Option<RunError>,
    /// The variables that were there before and that it read, as far as its code tells; rather too
    /// many than too few.
    accessed_symbols: Vec<String>,
    /// The variables that it assigned.
    modified_symbols: Vec<String>,
    /// The variables that it deleted.
    deleted_symbols: Vec<String>,
    /// What the caller should know of its request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// A warning on a failed run whose cell had set something.
const TAKEN_BACK: &str = "what the cell had set until it failed was taken back; \
    to keep it as a state, run the cell with on_error \"keep\"";

impl Executed {
    /// `state_name` beside an error is that of a partial state. With `keepable` the cell had set
    /// something.
    pub(super) fn new(ended: Ended) -> Self {
        let Ended { status, state_name, error, symbols, keepable, outputs, .. } = ended;
        let mut output = Shown { outputs, last: None };
        let Symbols { accessed, modified, deleted } = symbols.unwrap_or_default();
        let warnings = if keepable { vec![TAKEN_BACK.to_owned()] } else { Vec::new() };
        let error = error.map(with_line_ends);
        let answer = |output, state_name, error| Self {
            output,
            state_name,
            error,
            accessed_symbols: accessed,
            modified_symbols: modified,
            deleted_symbols: deleted,
            warnings,
        };
        if status == RunStatus::Ok {
            return answer(output, state_name, None);
        }
        let error = error.unwrap_or_else(|| match status {
            RunStatus::Interrupted => RunError::new("KeyboardInterrupt", ""),
            _ => RunError::new("KernelDied", "the run ended without saying why"),
        });
        if !matches!(output.outputs.items().last(), Some(Output::Error(_))) {
            output.last = Some(Output::Error(error.clone()));
        }
        answer(output, state_name, Some(error))
    }

    /// A run that could not begin, because of the state it was to be run against.
    pub(super) fn not_begun(ename: &str, evalue: String) -> Self {
        let error = Some(RunError::new(ename, evalue));
        Self {
            output: Shown { outputs: Outputs::default(), last: None },
            state_name: None,
            error,
            accessed_symbols: Vec::new(),
            modified_symbols: Vec::new(),
            deleted_symbols: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The same, and what else the caller should know.
    pub(super) fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings.extend(warnings);
        self
    }
}

/// The outputs of a run, shared with the notebook, as a client of this API knows them. Only one at
/// a time is copied.
#[derive(Debug)]
struct Shown {
    outputs: Outputs,
    /// The error, where it is not among them.
    last: Option<Output>,
}

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.outputs.items().iter().chain(&self.last).cloned().map(for_client))
    }
}

/// An output of a run as a client of this API knows it.
fn for_client(output: Output) -> Output {
    match output {
        Output::DisplayData { data, metadata, display_id: _ } => {
            Output::DisplayData { data, metadata, display_id: None }
        }
        Output::Error(error) => Output::Error(with_line_ends(error)),
        known => known,
    }
}

/// An error whose parts of a traceback end with a line: clients join them with nothing between, as
/// `traceback.format_exception` makes them. Jupyter's clients set the ends of lines between them.
fn with_line_ends(mut error: RunError) -> RunError {
    for part in &mut error.traceback {
        if !part.ends_with('\n') {
            part.push('\n');
        }
    }
    error
}

/// The answer to `GET /states`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StateNames {
    /// In creation order; `initial` first.
    pub(super) states: Vec<String>,
}

/// The answer to `GET /states/{name}`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StateView {
    /// As it was asked for.
    name: String,
    /// When the state was made: ISO 8601, UTC, microseconds.
    timestamp: String,
    /// Its variables, by name.
    #[schema(value_type = std::collections::BTreeMap<String, VariableView>)]
    variables: Variables,
}

impl StateView {
    pub(super) fn new(name: String, created_at: f64, variables: Vec<Variable>) -> Self {
        Self { name, timestamp: clock::iso_8601(created_at), variables: Variables(variables) }
    }
}

/// Variables as one JSON object, in the order in which they were first assigned.
#[derive(Debug)]
pub(crate) struct Variables(Vec<Variable>);

impl Serialize for Variables {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for variable in &self.0 {
            let view = VariableView { type_name: variable.type_name.clone(), repr: variable.repr.clone() };
            map.serialize_entry(&variable.name, &view)?;
        }
        map.end()
    }
}

/// One variable.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct VariableView {
    /// `type(v).__name__`.
    #[serde(rename = "type")]
    type_name: String,
    /// `repr(v)`, cut when it is long.
    repr: String,
}

/// The answer to `DELETE /states/{name}`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Deleted {
    /// The name, as it was given.
    pub(super) deleted: String,
}

/// The answer to `POST /reset`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Status {
    /// `ok`.
    pub(super) status: &'static str,
}

/// The answer to `POST /interrupt`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Interrupted {
    /// Whether there was a run to interrupt.
    pub(super) interrupted: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::notebook::{ExecId, MimeBundle, StreamName};
    use serde_json::{Value, json};

    fn bundle(mime: &str, text: String) -> MimeBundle {
        MimeBundle::from_iter([(mime.to_owned(), Value::String(text))])
    }

    fn outputs(item: Output) -> Outputs {
        let mut outputs = Outputs::default();
        outputs.push(item);
        outputs
    }

    fn ended(status: RunStatus, error: Option<RunError>, outputs: Outputs) -> Ended {
        Ended {
            exec_id: ExecId::new("run"),
            status,
            state: None,
            state_name: None,
            error,
            symbols: None,
            warnings: Vec::new(),
            keepable: false,
            outputs,
        }
    }

    #[test]
    fn the_display_id_is_not_passed_on() {
        let shown = Output::DisplayData {
            data: bundle("text/plain", "1".into()),
            metadata: MimeBundle::new(),
            display_id: Some("d".into()),
        };
        assert_eq!(
            serde_json::to_value(for_client(shown)).ok(),
            Some(json!({"output_type": "display_data", "data": {"text/plain": "1"}, "metadata": {}}))
        );
    }

    #[test]
    fn a_failed_run_keeps_its_output_and_ends_in_its_error() {
        let error = RunError::new("ValueError", "no");
        let printed = outputs(Output::stream(StreamName::Stdout, "before\n"));
        let failed = Executed::new(ended(RunStatus::Error, Some(error), printed));
        let exception = json!({"ename": "ValueError", "evalue": "no", "traceback": []});
        let last = json!({"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": []});
        let stream = json!({"output_type": "stream", "name": "stdout", "text": "before\n"});
        assert_eq!(
            serde_json::to_value(&failed).ok(),
            Some(json!({
                "output": [stream, last], "state_name": null, "error": exception,
                "accessed_symbols": [], "modified_symbols": [], "deleted_symbols": [],
            }))
        );
    }

    #[test]
    fn the_parts_of_a_traceback_can_be_joined() {
        let mut error = RunError::new("ValueError", "no");
        error.traceback = vec!["Traceback".into(), "line 1\n".into(), "ValueError: no".into()];
        let shown = outputs(Output::Error(error.clone()));
        let failed = Executed::new(ended(RunStatus::Error, Some(error), shown));
        let whole = "Traceback\nline 1\nValueError: no\n";
        let parts: String = failed.error.iter().flat_map(|error| error.traceback.clone()).collect();
        assert_eq!(parts, whole);
        let shown = serde_json::to_value(&failed).expect("JSON");
        let parts = shown["output"][0]["traceback"].as_array().expect("parts");
        assert_eq!(parts.iter().filter_map(Value::as_str).collect::<String>(), whole);
    }

    #[test]
    fn an_error_item_that_is_there_is_not_doubled() {
        let error = RunError::new("KeyboardInterrupt", "");
        let ended =
            Executed::new(ended(RunStatus::Interrupted, Some(error.clone()), outputs(Output::Error(error))));
        let shown = serde_json::to_value(&ended).expect("JSON");
        assert_eq!(shown["output"].as_array().map(Vec::len), Some(1));
    }

    #[test]
    fn variables_keep_their_order() {
        let variable = |name: &str| Variable {
            name: name.into(),
            type_name: "int".into(),
            repr: "1".into(),
            size: None,
            bytes: None,
            fingerprint: None,
            sampled: false,
            summary: None,
        };
        let view = StateView::new("s".into(), 0.0, vec![variable("z"), variable("a")]);
        assert_eq!(
            serde_json::to_string(&view).ok().as_deref(),
            Some(concat!(
                r#"{"name":"s","timestamp":"1970-01-01T00:00:00.000000+00:00","variables":"#,
                r#"{"z":{"type":"int","repr":"1"},"a":{"type":"int","repr":"1"}}}"#
            ))
        );
    }
}
