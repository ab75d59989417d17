//! `POST /rebuild_state`: combines variables of two states in a new state.

use super::digests::{Groups, groups};
use crate::http::app_state::AppState;
use crate::http::authorize::{clean_up, find_state, unexpected};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::{Caller, Json};
use crate::notebook::{Base, Command, Ended, ExecId, Rebuild, Reply, Residency, RunSpec, RunStatus, State};
use crate::problem::{Kind, Problem};
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The body of `POST /rebuild_state`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct RebuildState {
    /// The parent of the new state, by name or id.
    input_state: String,
    /// The source state, by name or id. Variables are taken from this state.
    source_state: String,
    /// The variables to take from the source state. If a variable in this list shares objects with
    /// a second variable, the list should contain the second variable too.
    source_vars: Vec<String>,
    /// The variables to keep from the parent.
    input_vars: Vec<String>,
    /// The name of the new state. Default: the state's id.
    new_state_name: Option<String>,
}

/// The answer to `POST /rebuild_state`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Rebuilt {
    /// The name of the new state.
    state_name: String,
    /// The groups of the new state's variables, as in the answer to `POST /alias_groups`.
    groups: Vec<Vec<String>>,
    /// The digests of these groups, as in the answer to `POST /alias_groups`.
    fingerprints: Vec<String>,
}

/// Combines variables of two states in a new state, without running the cells that made them.
#[utoipa::path(
    post, path = "/rebuild_state", tag = "kernel", request_body = RebuildState,
    responses(
        (status = 200, body = Rebuilt),
        (status = 400, description = "Not JSON, or a field is missing or wrong", body = ErrorBody),
        (status = 404, description = "No such state", body = ErrorBody),
        (
            status = 409,
            description = "A variable cannot leave the process of its state; run the cell instead",
            body = ErrorBody,
        ),
        (status = 410, description = "One of the states has neither a process nor a checkpoint", body = ErrorBody),
    )
)]
pub(crate) async fn rebuild_state(
    app: web::Data<AppState>,
    caller: Caller,
    Json(body): Json<RebuildState>,
) -> HttpResult {
    let what = format!("rebuild a state from {:?} and {:?}", body.input_state, body.source_state);
    let input = find_state(&app.start, &body.input_state).await?;
    let source = find_state(&app.start, &body.source_state).await?;
    let is_lost = |state: &State| state.parent.is_some() && state.residency == Residency::Replay;
    if let Some(lost) = [&input, &source].into_iter().find(|state| is_lost(state)) {
        let why = format!("state {:?} has neither a process nor a checkpoint", lost.name);
        return Err(Problem::new(Kind::Lost, what, why, "replay that state, or run its cells again"));
    }
    let is_name = |name: &&String| name.chars().all(|c| c == '_' || c.is_alphanumeric()) && !name.is_empty();
    let mut take: Vec<String> = body.source_vars.iter().filter(is_name).cloned().collect();
    let mut keep: Vec<String> = body.input_vars.iter().filter(is_name).cloned().collect();
    take.sort_unstable();
    take.dedup();
    keep.sort_unstable();
    keep.dedup();
    keep.retain(|name| take.binary_search(name).is_err());
    let code = Rebuild { from: source.id, take, keep }.code();
    let exec_id = ExecId::new(format!("rebuild-{}", uuid::Uuid::new_v4().simple()));
    let run = Command::Run(RunSpec {
        new_state_name: body.new_state_name,
        ..RunSpec::new(exec_id.clone(), code, Base::State(input.id))
    });
    let access = caller.access()?;
    match app.start.ask(app.authorize(access, run)?).await? {
        Reply::Ended(Ended {
            status: RunStatus::Ok,
            state: Some(state),
            state_name: Some(state_name),
            ..
        }) => {
            let Groups { groups, fingerprints } = groups(&app, &caller, &state).await?;
            Ok(HttpResponse::Ok().json(Rebuilt { state_name, groups, fingerprints }))
        }
        Reply::Ended(Ended { status, error, .. }) => {
            clean_up(&app.start, exec_id).await?;
            let how = if status == RunStatus::Interrupted {
                "send the request again"
            } else {
                "run the cell instead"
            };
            let why = match error.map(|error| error.evalue).filter(|evalue| !evalue.is_empty()) {
                Some(evalue) => evalue,
                None if status == RunStatus::Interrupted => "the run was interrupted".into(),
                None => "the run ended for an unknown reason".into(),
            };
            Err(Problem::new(Kind::Conflict, what, why, how))
        }
        other => Err(unexpected(other)),
    }
}
