//! `POST /multistate_execute`: code that reads several states.

use super::execute::{Executed, executed};
use crate::http::app_state::AppState;
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::{Caller, Json};
use crate::notebook::{Base, ExecId, Reading, RunSpec, StateId, StateRef};
use crate::problem::{Kind, Problem};
use actix_web::web;
use serde::Deserialize;
use serde_json::Map;
use utoipa::ToSchema;

/// Maximum number of states that one run may read. Each of these states needs a process to send
/// variables.
const MAX_READ_STATES: usize = 64;
/// Maximum number of entries in `state_mapping`. The run reads only those states whose alias occurs
/// in the code.
const MAX_NAMED_STATES: usize = 10_000;

/// The body of `POST /multistate_execute`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct MultistateExecute {
    /// The source.
    #[serde(default)]
    code: String,
    /// The caller's id for the run, which can be used to interrupt the run. After the run has
    /// ended, another run may use the same id.
    exec_id: String,
    /// The states to read, by alias. In the code, `a.x` is the variable `x` of the state with the
    /// alias `a`.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    state_mapping: Map<String, serde_json::Value>,
    /// The state that the code runs against, by name or id. Default: the root.
    default_state: Option<String>,
    /// Seconds after which the run is interrupted.
    timeout: Option<f64>,
    /// Bytes of memory that the run may use in addition to the memory of its state.
    run_memory: Option<u64>,
    /// Whether to replay a default state that has neither a process nor a usable checkpoint.
    #[serde(default)]
    replay: bool,
}

/// Runs code that reads several states. Adds neither a state nor the run to the notebook.
#[utoipa::path(
    post, path = "/multistate_execute", tag = "kernel", request_body = MultistateExecute,
    responses(
        (status = 200, description = "The run has ended, with success or with an error; `state_name` is null", body = Executed),
        (status = 400, description = "Not JSON, or a field is missing or wrong", body = ErrorBody),
        (status = 409, description = "A run with this exec_id has not ended, or belongs to a cell", body = ErrorBody),
    )
)]
pub(crate) async fn multistate_execute(
    app: web::Data<AppState>,
    caller: Caller,
    Json(body): Json<MultistateExecute>,
) -> HttpResult {
    let mut reads = Vec::new();
    let on = body.default_state.map_or(Base::State(StateId::root()), Base::Name);
    for (alias, name) in &body.state_mapping {
        let name = name.as_str().ok_or_else(|| {
            bad(format!("read a state as {alias:?}"), "the name of the state is not a string")
        })?;
        let state = StateRef::name(name);
        reads.push(Reading { alias: alias.clone(), state, is_named: names(&body.code, alias) });
    }
    let named = reads.iter().filter(|reading| reading.is_named).count();
    if named > MAX_READ_STATES || reads.len() > MAX_NAMED_STATES {
        let why = format!(
            "it names {} states (at most {MAX_NAMED_STATES}), and its code reads {named} of them (at most \
             {MAX_READ_STATES})",
            reads.len()
        );
        return Err(bad("read several states".into(), &why));
    }
    let run = RunSpec {
        timeout: body.timeout,
        run_memory: body.run_memory,
        replay: body.replay,
        with_outputs: true,
        passing: true,
        reads,
        ..RunSpec::new(ExecId::new(body.exec_id), body.code, on)
    };
    executed(&app, caller.access()?, run, Vec::new()).await
}

/// Whether code contains a name as a whole word.
fn names(code: &str, name: &str) -> bool {
    !name.is_empty() && code.split(|c: char| c != '_' && !c.is_alphanumeric()).any(|word| word == name)
}

fn bad(what: String, why: &str) -> Problem {
    Problem::new(Kind::BadRequest, what, why, "see docs/api.md")
}
