//! The REST API about tasks. A task has a sequence of checkpoints, numbered 1, 2, 3, … Each
//! checkpoint refers to a state or contains plain values.
//!
//! Field names match the checkpoint store of orbiter.

mod literal;

use crate::http::app_state::AppState;
use crate::http::authorize::{find_state, unexpected};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::{Caller, Json, NoBody, PathParams, query_value};
use crate::notebook::{Base, Command, Ended, ExecId, Notebook, Reply, RunSpec, StateId, TaskCheckpoint};
use crate::problem::{Kind, Problem};
use actix_web::{HttpRequest, HttpResponse, web};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The body of `POST /api/tasks/{task_id}/checkpoints`. Clients may also send a checkpoint that a
/// `GET` returned, even for another task. The server ignores the fields `task_id`, `version` and
/// `created_at`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskWish {
    /// The state that the checkpoint refers to, by name or id.
    state: Option<String>,
    /// Plain values, by variable name.
    #[serde(default)]
    #[schema(value_type = Object)]
    values: Map<String, Value>,
    /// Token counts, under names that the caller chooses.
    #[serde(default)]
    #[schema(value_type = Object)]
    token_usage: Map<String, Value>,
    /// Data that the caller wants to store with the checkpoint.
    #[serde(default)]
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
    #[serde(default, rename = "task_id")]
    #[schema(ignore)]
    _task_id: IgnoredAny,
    #[serde(default, rename = "version")]
    #[schema(ignore)]
    _version: IgnoredAny,
    #[serde(default, rename = "created_at")]
    #[schema(ignore)]
    _created_at: IgnoredAny,
}

/// The answer to `GET /api/tasks/{task_id}/checkpoints`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaskView {
    /// The task's id.
    task_id: String,
    /// The versions of all checkpoints, ascending.
    versions: Vec<u64>,
    /// All checkpoints, in the order of `versions`.
    checkpoints: Vec<TaskCheckpoint>,
    /// Number of checkpoints.
    len: usize,
}

/// The answer to a restore: a state to continue from.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Restored {
    /// The state's id.
    state_id: StateId,
    /// The state's name.
    state_name: String,
    /// The checkpoint's plain values.
    #[schema(value_type = Object)]
    values: Map<String, Value>,
    /// The checkpoint's token counts.
    #[schema(value_type = Object)]
    token_usage: Map<String, Value>,
    /// The data that the caller stored with the checkpoint.
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
}

/// Adds a checkpoint to a task's sequence. The answer is sent when the checkpoint is on disk.
#[utoipa::path(
    post, path = "/api/tasks/{task_id}/checkpoints", tag = "tasks", request_body = TaskWish,
    params(("task_id" = String, Path)),
    responses(
        (status = 201, description = "The checkpoint is on disk", body = TaskCheckpoint),
        (status = 404, description = "No such state", body = ErrorBody),
        (status = 507, description = "The checkpoint could not be written to the disk", body = ErrorBody),
    )
)]
pub(crate) async fn save(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(body): Json<TaskWish>,
) -> HttpResult {
    let state = match &body.state {
        Some(text) => Some(find_state(&app.start, text).await?.id),
        None => None,
    };
    let TaskWish { values, token_usage, metadata, .. } = body;
    let task_id = path.get(0).to_owned();
    let command = Command::SaveTask { task_id, state, values, token_usage, metadata };
    match app.ask(&app.start, caller.access()?, command).await? {
        Reply::TaskSaved { checkpoint } => Ok(HttpResponse::Created().json(checkpoint)),
        other => Err(unexpected(other)),
    }
}

/// Lists a task's checkpoints. The list is empty for a task without checkpoints.
#[utoipa::path(
    get, path = "/api/tasks/{task_id}/checkpoints", tag = "tasks", params(("task_id" = String, Path)),
    responses((status = 200, body = TaskView))
)]
pub(crate) async fn list(app: web::Data<AppState>, path: PathParams) -> HttpResult {
    let task_id = path.get(0).to_owned();
    let wanted = task_id.clone();
    let checkpoints =
        app.start.read(move |notebook| notebook.task(&wanted).unwrap_or_default().to_vec()).await?;
    let versions: Vec<u64> = checkpoints.iter().map(|c| c.version).collect();
    Ok(HttpResponse::Ok().json(TaskView { task_id, len: versions.len(), versions, checkpoints }))
}

/// Shows a task's newest checkpoint.
#[utoipa::path(
    get, path = "/api/tasks/{task_id}/checkpoints/latest", tag = "tasks", params(("task_id" = String, Path)),
    responses(
        (status = 200, body = TaskCheckpoint),
        (status = 404, description = "No such task", body = ErrorBody),
    )
)]
pub(crate) async fn latest(app: web::Data<AppState>, path: PathParams) -> HttpResult {
    Ok(HttpResponse::Ok().json(look_up(&app, path.get(0), None).await?))
}

/// Shows the checkpoint with this version in a task's sequence.
#[utoipa::path(
    get, path = "/api/tasks/{task_id}/checkpoints/{version}", tag = "tasks",
    params(("task_id" = String, Path), ("version" = u64, Path)),
    responses(
        (status = 200, body = TaskCheckpoint),
        (status = 404, description = "No such task or version", body = ErrorBody),
    )
)]
pub(crate) async fn version(app: web::Data<AppState>, path: PathParams) -> HttpResult {
    Ok(HttpResponse::Ok().json(look_up(&app, path.get(0), Some(path.get(1))).await?))
}

/// Restores a checkpoint of a task. If the checkpoint refers to a state, loads that state if needed
/// and returns it. Otherwise returns a new state whose variables are the checkpoint's values.
#[utoipa::path(
    post, path = "/api/tasks/{task_id}/checkpoints/{version}/restore", tag = "tasks",
    params(
        ("task_id" = String, Path), ("version" = u64, Path),
        (
            "replay" = Option<bool>, Query,
            description = "Whether the state's cells may run again to restore it"
        ),
    ),
    responses(
        (status = 200, body = Restored),
        (status = 404, description = "No such task or version", body = ErrorBody),
        (status = 410, description = "The state was deleted, or needs a replay", body = ErrorBody),
    )
)]
pub(crate) async fn restore(
    request: HttpRequest,
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    _: NoBody,
) -> HttpResult {
    let checkpoint = look_up(&app, path.get(0), Some(path.get(1))).await?;
    let replay = query_value(&request, "replay").is_some_and(|v| v == "true");
    let (state_id, state_name) = match &checkpoint.state {
        Some(id) => bring_back(&app, &caller, id, replay).await?,
        None => grow(&app, &caller, &checkpoint).await?,
    };
    let TaskCheckpoint { values, token_usage, metadata, .. } = checkpoint;
    Ok(HttpResponse::Ok().json(Restored { state_id, state_name, values, token_usage, metadata }))
}

/// Finds a task's checkpoint by its version. Without a version, finds the newest checkpoint.
async fn look_up(app: &AppState, task_id: &str, version: Option<&str>) -> Result<TaskCheckpoint, Problem> {
    let number = version.map(|v| v.parse::<u64>().ok());
    let wanted = task_id.to_owned();
    let look = move |notebook: &Notebook| {
        let all = notebook.task(&wanted).unwrap_or_default();
        let one = match number {
            None => all.last(),
            Some(number) => all.iter().find(|c| Some(c.version) == number),
        };
        (one.cloned(), all.len())
    };
    let (one, count) = app.start.read(look).await?;
    one.ok_or_else(|| {
        let which = version.map_or("the latest checkpoint".into(), |v| format!("checkpoint {v:?}"));
        let why = match count {
            0 => "the task has no checkpoints".to_owned(),
            1 => "the task's only checkpoint has another version".to_owned(),
            count => format!("none of the task's {count} checkpoints has this version"),
        };
        let how = "GET /api/tasks/{task_id}/checkpoints lists the versions";
        let what = format!("find {which} of task {task_id:?}");
        Problem::new(Kind::CheckpointError, what, why, how)
    })
}

/// Makes sure that a process has the state in memory. Returns the state's id and name.
async fn bring_back(
    app: &AppState,
    caller: &Caller,
    id: &StateId,
    replay: bool,
) -> Result<(StateId, String), Problem> {
    let command = app.authorize(caller.access()?, Command::Load { state: id.clone().into(), replay })?;
    let wanted = id.clone();
    let read = move |notebook: &Notebook, reply| (reply, notebook.state(&wanted).cloned());
    match app.start.ask_then(command, read).await? {
        (Reply::Done, Some(state)) => Ok((state.id, state.name)),
        (Reply::Refused(refused), _) if refused.kind == Kind::NotFound => {
            let (why, how) = ("the state was deleted", "restore another version");
            Err(Problem::new(Kind::Lost, format!("restore state {id}"), why, how))
        }
        (other, _) => Err(unexpected(other)),
    }
}

/// Makes a child of the root whose variables are the checkpoint's values. Returns the new state's
/// id and name.
async fn grow(
    app: &AppState,
    caller: &Caller,
    checkpoint: &TaskCheckpoint,
) -> Result<(StateId, String), Problem> {
    let heading = format!("# Task {:?}, checkpoint {}\n", checkpoint.task_id, checkpoint.version);
    let exec_id = ExecId::new(format!("task-{}", uuid::Uuid::new_v4().simple()));
    let code = heading + &literal::assignments(&checkpoint.values);
    let run = Command::Run(RunSpec::new(exec_id, code, Base::State(StateId::root())));
    match app.ask(&app.start, caller.access()?, run).await? {
        Reply::Ended(Ended { state: Some(id), state_name: Some(name), .. }) => Ok((id, name)),
        Reply::Ended(Ended { error, .. }) => {
            let why = error.map_or("the cell that assigns its values left no state".into(), |e| e.in_words());
            let what = format!("restore checkpoint {} of task {:?}", checkpoint.version, checkpoint.task_id);
            Err(Problem::new(
                Kind::Kernel,
                what,
                why,
                "read the values of the checkpoint, and assign them in a cell",
            ))
        }
        other => Err(unexpected(other)),
    }
}
