//! `POST /execute` and `POST /interrupt`.

use super::answer::{Executed, Interrupted};
use crate::http::app_state::AppState;
use crate::http::auth::Access;
use crate::http::command::{send_then, unexpected};
use crate::http::error::ErrorBody;
use crate::http::request::{Caller, Json};
use crate::notebook::{Base, Command, Ended, ExecId, Notebook, OnError, Reply, RunSpec, RunStatus, StateRef};
use crate::problem::{Kind, Problem};
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

/// The body of `POST /execute`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Execute {
    /// The source. Without it nothing runs, and `warnings` says so.
    #[serde(default, deserialize_with = "given")]
    code: Option<String>,
    /// The caller's id for the run. A repeat of the same request gets the first answer.
    exec_id: String,
    /// The state to run against, by name or id.
    state_name: String,
    /// The name for the state that the run leaves; without it, its id.
    #[serde(default)]
    new_state_name: Option<String>,
    /// Seconds after which the run is interrupted.
    #[serde(default)]
    timeout: Option<f64>,
    /// Bytes of memory that the run may add to what its state holds, its subprocesses counted.
    /// Beyond them it is ended.
    #[serde(default)]
    run_memory: Option<u64>,
    /// Whether a state that can only come back by running its cells again is brought back so.
    #[serde(default)]
    replay: bool,
    /// What becomes of what the cell had set when it raises or is interrupted: with `keep` it is a
    /// state, which `state_name` names beside the error.
    #[serde(default)]
    on_error: OnError,
}

/// A field that may be left out and is not null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

/// What is said of a request whose code was left out: most likely the field has another name there.
const NO_CODE: &str = "the request has no field `code`, so an empty cell ran: \
    its state is the one before it under another name";

/// Runs code against a state and answers when the run has ended. An exception in the code is not an
/// HTTP error.
#[utoipa::path(
    post, path = "/execute", tag = "kernel", request_body = Execute,
    responses(
        (status = 200, description = "The run has ended, well or not", body = Executed),
        (status = 400, description = "Not JSON, or a field is missing or wrong", body = ErrorBody),
        (
            status = 409,
            description = "A run with this exec_id is going on, or had another request",
            body = ErrorBody,
        ),
        (status = 413, description = "The code is too long", body = ErrorBody),
        (
            status = 503,
            description = "The system has no room for another process; the same request may be sent again",
            body = ErrorBody,
        ),
        (status = 507, description = "It ran, and could not be written to disk", body = ErrorBody),
    )
)]
pub(crate) async fn execute(
    app: web::Data<AppState>,
    caller: Caller,
    Json(wish): Json<Execute>,
) -> Result<HttpResponse, Problem> {
    let exec_id = ExecId::new(wish.exec_id);
    let warnings = if wish.code.is_none() { vec![NO_CODE.to_owned()] } else { Vec::new() };
    let code = wish.code.unwrap_or_default();
    let on = Base::Name(wish.state_name);
    let run = RunSpec {
        new_state_name: wish.new_state_name,
        timeout: wish.timeout,
        run_memory: wish.run_memory,
        replay: wish.replay,
        on_error: wish.on_error,
        with_outputs: true,
        ..RunSpec::new(exec_id, code, on)
    };
    executed(&app, caller.access()?, run, warnings).await
}

/// Runs, and answers what a client of this API expects when the run has ended.
pub(crate) async fn executed(
    app: &AppState,
    access: &Access,
    run: RunSpec,
    warnings: Vec<String>,
) -> Result<HttpResponse, Problem> {
    let keeps = run.on_error == OnError::Keep;
    let named = named_by(&run);
    let command = app.authorize(access, Command::Run(run))?;
    // The first name that means no state, as it was when the run was refused.
    let unknown = move |notebook: &Notebook| named.into_iter().find(|name| notebook.find(name).is_none());
    let read = move |notebook: &Notebook, reply| match reply {
        Reply::Refused(refused) if refused.kind == Kind::NotFound => {
            (Reply::Refused(refused), unknown(notebook))
        }
        reply => (reply, None),
    };
    match send_then(&app.start, command, read).await? {
        (Reply::Ended(Ended { exec_id, error: Some(error), .. }), _) if error.is_fork_refused() => {
            let how = "end other programs or cells, wait, and send it again";
            Err(Problem::new(Kind::Busy, format!("run {exec_id}"), error.evalue, how))
        }
        (Reply::Ended(mut ended), _) => {
            // Clients that did not ask for a partial state never see one, even if one was kept
            // since.
            ended.state_name = ended.state_name.filter(|_| keeps || ended.status == RunStatus::Ok);
            let warnings = [warnings, std::mem::take(&mut ended.warnings)].concat();
            Ok(HttpResponse::Ok().json(Executed::new(ended).with_warnings(warnings)))
        }
        (Reply::Refused(refused), unknown) if refused.kind == Kind::NotFound => {
            let name = unknown.unwrap_or_default();
            Ok(HttpResponse::Ok().json(Executed::not_begun("StateNotFound", name)))
        }
        (Reply::Refused(refused), _) if refused.kind == Kind::Lost => {
            let why = format!("{}; {}", refused.why, refused.how);
            Ok(HttpResponse::Ok().json(Executed::not_begun("StateLost", why)))
        }
        (other, _) => Err(unexpected(other)),
    }
}

/// The states that a run names, in the order in which a client expects the unknown ones.
fn named_by(run: &RunSpec) -> Vec<String> {
    let on = match &run.on {
        Base::Name(name) => Some(name.clone()),
        Base::State(_) | Base::Run(_) => None,
    };
    let read = run.reads.iter().flatten().filter_map(|reading| match &reading.state {
        StateRef::Name(name) => Some(name.clone()),
        StateRef::Id(_) => None,
    });
    on.into_iter().chain(read).collect()
}

/// The body of `POST /interrupt`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Interrupt {
    /// The run.
    exec_id: String,
}

/// Interrupts a run. A run that is not there is not an error.
#[utoipa::path(
    post, path = "/interrupt", tag = "kernel", request_body = Interrupt,
    responses((status = 200, body = Interrupted))
)]
pub(crate) async fn interrupt(
    app: web::Data<AppState>,
    caller: Caller,
    Json(wish): Json<Interrupt>,
) -> Result<HttpResponse, Problem> {
    match app
        .ask(&app.start, caller.access()?, Command::Interrupt { exec_id: ExecId::new(wish.exec_id) })
        .await?
    {
        Reply::Interrupted { interrupted } => Ok(HttpResponse::Ok().json(Interrupted { interrupted })),
        other => Err(unexpected(other)),
    }
}
