//! `POST /execute` and `POST /interrupt`, and the answer that describes how a run ended.

use crate::http::app_state::AppState;
use crate::http::auth::Access;
use crate::http::authorize::unexpected;
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::{Caller, Json};
use crate::notebook::{
    Base, Cause, Command, Ended, ExecId, Notebook, OnError, Output, Outputs, Place, Reply, Resources,
    RunError, RunSpec, RunStatus, StateRef, Symbols,
};
use crate::problem::{Kind, Problem};
use actix_web::{HttpResponse, web};
use serde::ser::Serializer;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

/// The body of `POST /execute`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Execute {
    /// The source. If this field is missing, an empty cell runs and `warnings` says so.
    #[serde(default, deserialize_with = "given")]
    code: Option<String>,
    /// The caller's id for the run. A repeated request with the same id gets the first answer.
    exec_id: String,
    /// The state to run against, called the base state, by name or id.
    state_name: String,
    /// The name of the new state. Default: the state's id.
    new_state_name: Option<String>,
    /// Seconds after which the run is interrupted.
    timeout: Option<f64>,
    /// Bytes of memory that the run and its subprocesses may use in addition to the memory of the
    /// base state. A run that uses more is stopped.
    run_memory: Option<u64>,
    /// Whether to replay the base state if it has neither a process nor a usable checkpoint.
    #[serde(default)]
    replay: bool,
    /// How to treat the variables that the cell has set, if the cell raises or is interrupted. With
    /// `keep` these variables become a partial state, and the answer has both `state_name` and
    /// `error`.
    #[serde(default)]
    on_error: OnError,
    /// Where the run runs: `here` or `workers`.
    #[serde(default, rename = "where")]
    place: Place,
    /// What a run at a worker needs.
    #[serde(default)]
    resources: Resources,
}

/// Deserialises a field that may be absent, but not null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

/// The warning for a request without `code`: the client has probably misspelled the field.
const NO_CODE: &str = "the request has no field `code`, so an empty cell ran: \
    its state has the variables of the state before it";

/// Runs code against a state and answers when the run has ended. An exception in the code is not an
/// HTTP error.
#[utoipa::path(
    post, path = "/execute", tag = "kernel", request_body = Execute,
    responses(
        (status = 200, description = "The run has ended, with success or with an error", body = Executed),
        (status = 400, description = "Not JSON, or a field is missing or wrong", body = ErrorBody),
        (
            status = 409,
            description = "A run with this exec_id has not ended, or was started by another request",
            body = ErrorBody,
        ),
        (status = 413, description = "The code is too long", body = ErrorBody),
        (
            status = 503,
            description = "The system cannot start another process; send the same request again later",
            body = ErrorBody,
        ),
        (status = 507, description = "The code ran, but the result could not be written to the disk", body = ErrorBody),
    )
)]
pub(crate) async fn execute(
    app: web::Data<AppState>,
    caller: Caller,
    Json(body): Json<Execute>,
) -> HttpResult {
    let exec_id = ExecId::new(body.exec_id);
    let warnings = if body.code.is_none() { vec![NO_CODE.to_owned()] } else { Vec::new() };
    let code = body.code.unwrap_or_default();
    let on = Base::Name(body.state_name);
    let run = RunSpec {
        new_state_name: body.new_state_name,
        timeout: body.timeout,
        run_memory: body.run_memory,
        replay: body.replay,
        on_error: body.on_error,
        place: body.place,
        resources: body.resources,
        with_outputs: true,
        ..RunSpec::new(exec_id, code, on)
    };
    executed(&app, caller.access()?, run, warnings).await
}

/// Runs code. When the run has ended, answers in the shape of this API.
pub(crate) async fn executed(
    app: &AppState,
    access: &Access,
    run: RunSpec,
    warnings: Vec<String>,
) -> HttpResult {
    Ok(HttpResponse::Ok().json(ended_run(app, access, run, warnings).await?))
}

/// Runs code, and returns how the run has ended, in the shape of this API.
pub(crate) async fn ended_run(
    app: &AppState,
    access: &Access,
    run: RunSpec,
    warnings: Vec<String>,
) -> Result<Executed, Problem> {
    let keeps = run.on_error == OnError::Keep;
    let named = named_by(&run);
    let command = app.authorize(access, Command::Run(run))?;
    // The first name in the request that belonged to no state when the run was refused.
    let unknown = move |notebook: &Notebook| named.into_iter().find(|name| notebook.find(name).is_none());
    let read = move |notebook: &Notebook, reply| match reply {
        Reply::Refused(refused) if refused.kind == Kind::NotFound => {
            (Reply::Refused(refused), unknown(notebook))
        }
        reply => (reply, None),
    };
    match app.start.ask_then(command, read).await? {
        (Reply::Ended(Ended { exec_id, error: Some(error), .. }), _)
            if error.cause == Some(Cause::ForkRefused) =>
        {
            let how = "end other programs or cells, then send the request again";
            Err(Problem::new(Kind::Busy, format!("run {exec_id}"), error.evalue, how))
        }
        (Reply::Ended(mut ended), _) => {
            // The answer names a partial state only if the request asked for one. The state may
            // also exist because a user kept it later.
            ended.state_name = ended.state_name.filter(|_| keeps || ended.status == RunStatus::Ok);
            let warnings = [warnings, std::mem::take(&mut ended.warnings)].concat();
            Ok(Executed::new(ended).with_warnings(warnings))
        }
        (Reply::Refused(refused), unknown) if refused.kind == Kind::NotFound => {
            let name = unknown.unwrap_or_default();
            Ok(Executed::not_begun(Cause::StateNotFound, name))
        }
        (Reply::Refused(refused), _) if refused.kind == Kind::Lost => {
            let why = format!("{}; {}", refused.why, refused.how);
            Ok(Executed::not_begun(Cause::StateLost, why))
        }
        (other, _) => Err(unexpected(other)),
    }
}

/// Returns the names of states in a run's request, in order. The answer reports the first unknown
/// name.
fn named_by(run: &RunSpec) -> Vec<String> {
    let on = match &run.on {
        Base::Name(name) => Some(name.clone()),
        Base::State(_) | Base::Run(_) => None,
    };
    let read = run.reads.iter().filter_map(|reading| match &reading.state {
        StateRef::Name(name) => Some(name.clone()),
        StateRef::Id(_) => None,
    });
    on.into_iter().chain(read).collect()
}

/// The body of `POST /interrupt`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Interrupt {
    /// The id of the run.
    exec_id: String,
}

/// Interrupts a run. An unknown run is not an error.
#[utoipa::path(
    post, path = "/interrupt", tag = "kernel", request_body = Interrupt,
    responses((status = 200, body = Interrupted))
)]
pub(crate) async fn interrupt(
    app: web::Data<AppState>,
    caller: Caller,
    Json(body): Json<Interrupt>,
) -> HttpResult {
    match app
        .ask(&app.start, caller.access()?, Command::Interrupt { exec_id: ExecId::new(body.exec_id) })
        .await?
    {
        Reply::Interrupted { interrupted } => Ok(HttpResponse::Ok().json(Interrupted { interrupted })),
        other => Err(unexpected(other)),
    }
}

/// The answer to `POST /execute`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Executed {
    /// The outputs of the run in order, in nbformat's shapes.
    #[schema(value_type = Vec<Output>)]
    output: ShownOutputs,
    /// The name of the new state; null if the run made no state.
    state_name: Option<String>,
    /// Why the run failed; null if it succeeded.
    error: Option<RunError>,
    /// Existing variables that the code may read. The list comes from an analysis of the code, so
    /// the run may have read fewer variables.
    accessed_symbols: Vec<String>,
    /// The variables that the run assigned.
    modified_symbols: Vec<String>,
    /// The variables that the run deleted.
    deleted_symbols: Vec<String>,
    /// Warnings about the request and the run, as sentences.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

/// The warning for a failed run whose cell had set variables.
const CHANGES_UNDONE: &str = "the changes of the failed cell were undone; \
    to keep them as a state, run the cell with on_error \"keep\"";

impl Executed {
    /// The answer for a run that has ended. If the run failed, `state_name` is the name of a
    /// partial state. If `keepable` is true, the cell had set variables that were discarded.
    pub(super) fn new(ended: Ended) -> Self {
        let Ended { status, state_name, error, symbols, keepable, outputs, .. } = ended;
        let mut output = ShownOutputs { outputs, last: None };
        let Symbols { accessed, modified, deleted } = symbols.unwrap_or_default();
        let warnings = if keepable { vec![CHANGES_UNDONE.to_owned()] } else { Vec::new() };
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
            RunStatus::Interrupted => RunError::of(Cause::Interrupt, ""),
            _ => RunError::of(Cause::KernelDied, "the run ended for an unknown reason"),
        });
        // snapshot-kernel's errors have three fields.
        let error = with_line_ends(error).without_cause();
        if !matches!(output.outputs.items().last(), Some(Output::Error(_))) {
            output.last = Some(Output::Error(error.clone()));
        }
        answer(output, state_name, Some(error))
    }

    /// The answer for a run that could not begin because its base state is unknown or lost.
    pub(super) fn not_begun(cause: Cause, why: String) -> Self {
        let error = Some(RunError::of(cause, why).without_cause());
        Self {
            output: ShownOutputs { outputs: Outputs::default(), last: None },
            state_name: None,
            error,
            accessed_symbols: Vec::new(),
            modified_symbols: Vec::new(),
            deleted_symbols: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Adds warnings to the answer.
    pub(super) fn with_warnings(mut self, warnings: Vec<String>) -> Self {
        self.warnings.extend(warnings);
        self
    }
}

/// The outputs of a run, shared with the notebook. Serialisation copies one output at a time and
/// converts the copy to the shape of this API.
#[derive(Debug)]
struct ShownOutputs {
    outputs: Outputs,
    /// The error of the run, which is serialised after the outputs. `None` if the run has no error,
    /// or if the outputs already end with the error.
    last: Option<Output>,
}

impl Serialize for ShownOutputs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.outputs.items().iter().chain(&self.last).cloned().map(for_client))
    }
}

/// Converts an output to the shape of this API.
fn for_client(output: Output) -> Output {
    match output {
        Output::DisplayData { data, metadata, display_id: _ } => {
            Output::DisplayData { data, metadata, display_id: None }
        }
        Output::Error(error) => Output::Error(with_line_ends(error)),
        known => known,
    }
}

/// Ends each part of a traceback with a newline. Clients of this API concatenate the parts, as
/// programs do with the result of `traceback.format_exception`. Jupyter clients join the parts with
/// newlines.
fn with_line_ends(mut error: RunError) -> RunError {
    for part in &mut error.traceback {
        if !part.ends_with('\n') {
            part.push('\n');
        }
    }
    error
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
        let error = RunError::raised("ValueError", "no");
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
        let mut error = RunError::raised("ValueError", "no");
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
    fn a_run_that_ended_without_an_error_gets_one_of_three_fields() {
        for (status, ename) in
            [(RunStatus::Interrupted, "KeyboardInterrupt"), (RunStatus::Crashed, "KernelDied")]
        {
            let failed = Executed::new(ended(status, None, Outputs::default()));
            let shown = serde_json::to_value(&failed).expect("JSON");
            assert_eq!((&shown["error"]["ename"], &shown["error"]["cause"]), (&json!(ename), &Value::Null));
        }
    }

    #[test]
    fn an_error_item_that_is_there_is_not_doubled() {
        let error = RunError::of(Cause::Interrupt, "");
        let ended =
            Executed::new(ended(RunStatus::Interrupted, Some(error.clone()), outputs(Output::Error(error))));
        let shown = serde_json::to_value(&ended).expect("JSON");
        assert_eq!(shown["output"].as_array().map(Vec::len), Some(1));
    }
}
