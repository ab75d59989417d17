//! `POST /api/states/{name}/merge`: takes variables of another state into a new child of a state.

use crate::http::app_state::AppState;
use crate::http::authorize::{clean_up, unexpected};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::{Caller, Json, PathParams};
use crate::notebook::{
    Command, Ended, ExecId, MergePlan, MergeSpec, OnConflict, Reply, RunStatus, StateId, StateRef, Take,
    TakenName, Wanted,
};
use crate::problem::{Kind, Problem};
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The body of `POST /api/states/{name}/merge`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Merge {
    /// The state that the variables are taken from, by name or id.
    from: String,
    /// `"changed"`, for all that `from` has changed since the nearest common ancestor, or a list of
    /// variables.
    take: Wanted,
    /// What to do with variables that both states have changed: `refuse`, `ours`, `theirs`, or
    /// `rename` (`x` is taken as `x_b`).
    #[serde(default)]
    on_conflict: OnConflict,
    /// The same for single variables that differ, by their names, also if only `from` has changed
    /// them.
    #[serde(default)]
    #[schema(value_type = Object)]
    resolve: BTreeMap<String, OnConflict>,
    /// The name of the new state. Default: the state's id.
    new_state_name: Option<String>,
    /// The caller's id for the run. A repeated request with the same id gets the first answer.
    exec_id: Option<String>,
    /// Whether to answer with the plan only, and to take nothing.
    #[serde(default)]
    dry_run: bool,
}

/// The answer to `POST /api/states/{name}/merge`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Merged {
    /// The id of the new state.
    state: StateId,
    /// The name of the new state.
    state_name: String,
    /// The variables that were taken.
    taken: Vec<TakenName>,
    /// The variables that were deleted, because the other state has deleted them.
    deleted: Vec<String>,
    /// Warnings about functions that read global variables with other values in the new state.
    warnings: Vec<String>,
}

/// The answer to a dry run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Planned {
    /// What the merge would do.
    plan: MergePlan,
    /// Why the merge would be refused; null if it can be carried out.
    refusal: Option<Problem>,
}

/// Takes variables of another state into a new child of a state.
#[utoipa::path(
    post, path = "/api/states/{name}/merge", tag = "states", request_body = Merge,
    params(("name" = String, Path, description = "Name or id of the state that they are taken into")),
    responses(
        (status = 200, body = Merged),
        (status = 404, description = "No such state or variable", body = ErrorBody),
        (
            status = 409,
            description = "Both states have changed a variable, variables share objects with others that were \
                           not named, nothing differs, or a variable cannot leave the process of its state",
            body = ErrorBody,
        ),
        (status = 410, description = "One of the states has neither a process nor a checkpoint", body = ErrorBody),
    )
)]
pub(crate) async fn merge(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(body): Json<Merge>,
) -> HttpResult {
    let made = || format!("merge-{}", uuid::Uuid::new_v4().simple());
    let exec_id = ExecId::new(body.exec_id.unwrap_or_else(made));
    let what = format!("take variables of {:?} into {:?}", body.from, path.get(0));
    let spec = MergeSpec {
        exec_id: exec_id.clone(),
        into: StateRef::name(path.get(0)),
        from: StateRef::name(body.from),
        take: body.take,
        on_conflict: body.on_conflict,
        resolve: body.resolve,
        new_state_name: body.new_state_name,
        dry_run: body.dry_run,
    };
    let command = app.authorize(caller.access()?, Command::Merge(spec))?;
    let of_run = exec_id.clone();
    let read = move |notebook: &crate::notebook::Notebook, reply| {
        let take = notebook.run(&of_run).and_then(|run| Take::read(&run.code)).map(|(_, take)| take);
        (reply, take.unwrap_or_default())
    };
    match app.start.ask_then(command, read).await? {
        (Reply::MergePlanned { plan, refusal }, _) => Ok(HttpResponse::Ok().json(Planned { plan, refusal })),
        (
            Reply::Ended(Ended {
                status: RunStatus::Ok,
                state: Some(state),
                state_name: Some(state_name),
                warnings,
                ..
            }),
            Take { names, delete },
        ) => {
            Ok(HttpResponse::Ok().json(Merged { state, state_name, taken: names, deleted: delete, warnings }))
        }
        (Reply::Ended(Ended { status, error, .. }), _) => {
            clean_up(&app.start, exec_id).await?;
            let how = "leave these variables out, or run the cells that made them";
            let why = match error {
                Some(error) if status != RunStatus::Interrupted => error.evalue,
                _ => "the run was interrupted".into(),
            };
            Err(Problem::new(Kind::Conflict, what, why, how))
        }
        (other, _) => Err(unexpected(other)),
    }
}
