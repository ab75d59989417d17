//! The REST API of the start notebook's states: list, checkpoints, replay, pins, labels, and
//! clearing the namespace.

use crate::clock::now_ms;
use crate::http::app_state::AppState;
use crate::http::authorize::{find_state, unexpected};
use crate::http::compat::{self, Executed};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::{Caller, Json, MaybeJson, NoBody, PathParams};
use crate::notebook::{
    Base, Checkpoint, Command, ExecId, Form, Notebook, Reply, Residency, RestoredFrom, RunSpec, Saving,
    State, StateId, StateRef, null_or_text,
};
use crate::problem::Problem;
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The code of a cell that deletes all variables of the user.
const FORGET: &str = include_str!("forget.py");

/// The body of `POST /api/states/{name}/checkpoint`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckpointWish {
    /// The checkpoint's label, chosen by the user.
    label: Option<String>,
    /// `environment` (everything that can be pickled) or `data` (plain values only).
    #[serde(default = "environment")]
    form: Form,
    /// Data that the caller wants to store with the checkpoint.
    #[serde(default)]
    #[schema(value_type = Object)]
    metadata: Map<String, Value>,
}

fn environment() -> Form {
    Form::Environment
}

/// The answer to `POST /api/states/{name}/checkpoint`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Checkpointed {
    /// Always true: a failure is answered with an error.
    ok: bool,
    /// The state's id.
    state_id: StateId,
    /// The size of the checkpoint on disk, in bytes.
    bytes: u64,
    /// The checkpoint's label, chosen by the user.
    label: Option<String>,
    /// The complete record of the checkpoint.
    checkpoint: Checkpoint,
}

/// The body of `POST /api/states/{name}/pin`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PinWish {
    /// Whether the state should stay in memory as long as possible.
    pinned: bool,
}

/// The body of `POST /api/states/{name}/fork_anyway`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkWish {
    /// Whether to allow forks although the state's warnings advise against them.
    anyway: bool,
}

/// The body of `POST /api/states/{name}/label`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LabelWish {
    /// The label; null removes it.
    #[schema(required)]
    #[serde(deserialize_with = "null_or_text")]
    label: Option<String>,
}

/// The body of `POST /api/states/{name}/clear_namespace`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ClearWish {
    /// The caller's id for the run. A repeated request with the same id gets the first answer.
    exec_id: Option<String>,
    /// The name of the new state. Default: the state's id.
    new_state_name: Option<String>,
    /// Whether to replay a state that has neither a process nor a usable checkpoint.
    #[serde(default)]
    replay: bool,
}

/// The answer to `POST /api/trust`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Trusted {
    /// Number of checkpoints that were not trusted before.
    trusted: usize,
}

/// The answer to `GET /api/states`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StateList {
    /// The states in creation order; the root first.
    states: Vec<StateSummary>,
    /// The states whose variables are only in memory.
    unsaved: Unsaved,
}

/// The states that are in memory and have no checkpoint.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Unsaved {
    /// How many there are.
    count: usize,
    /// How long the oldest of them has been in memory, in milliseconds; null if there is none.
    longest_ms: Option<f64>,
}

impl Unsaved {
    fn of(notebook: &Notebook, now_ms: f64) -> Self {
        let is_unsaved = |s: &&State| s.residency.is_in_memory() && s.checkpoint.is_none() && !s.id.is_root();
        let age = |s: &State| s.in_memory_since.map_or(0.0, |since| (now_ms - since).max(0.0));
        let ages: Vec<f64> = notebook.states().filter(is_unsaved).map(age).collect();
        Self { count: ages.len(), longest_ms: ages.iter().copied().reduce(f64::max) }
    }
}

/// An entry in the list of states.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StateSummary {
    /// The state's id.
    id: StateId,
    /// The name that REST clients use.
    name: String,
    /// The state's label, chosen by the user.
    label: Option<String>,
    /// The parent state, against which this state's cell ran; null for the root.
    parent: Option<StateId>,
    /// Where the state's variables are.
    living: Residency,
    /// Whether the state stays in memory as long as possible.
    pinned: bool,
    /// Whether the state's process may be forked. If not, branches load its checkpoint.
    forks: bool,
    /// Whether the user allows forks although the state's warnings advise against them.
    fork_anyway: bool,
    /// Memory that only the state's frozen process uses, in bytes, as last measured.
    memory_bytes: Option<u64>,
    /// Memory that the state's frozen process shares with other processes, in bytes, as last
    /// measured.
    shared_bytes: Option<u64>,
    /// The progress of the state's checkpoint: `done`, `waiting`, `writing`, `failed`, or `never`
    /// with the reason.
    saving: Saving,
    /// Whether the state's cell failed. The state then has the variables that the cell had set
    /// before the failure. Absent when false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    partial: bool,
    /// How the state's process was restored; null if the state's cell ran in this process.
    revival: Option<RestoredFrom>,
    /// Warnings, as sentences. They describe the objects that branches of this state lose, or share
    /// with each other.
    warnings: Vec<String>,
    /// The state's checkpoint, if it has one.
    checkpoint: Option<CheckpointSummary>,
}

/// A summary of a checkpoint, in an entry of the list of states.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CheckpointSummary {
    /// The digest of the checkpoint's manifest.
    checkpoint_id: String,
    /// Whether the checkpoint contains everything that can be pickled, or plain values only.
    form: Form,
    /// The checkpoint's label, chosen by the user.
    label: Option<String>,
    /// When the checkpoint was written, in milliseconds since the Unix epoch.
    created_at: f64,
    /// Size of the checkpoint's data in bytes, unpacked.
    namespace_size_bytes: u64,
    /// The size of the checkpoint on disk, in bytes.
    compressed_size_bytes: u64,
    /// Number of variables and other names that could not be saved.
    missing: usize,
    /// Whether the checkpoint is trusted: this install wrote or signed it.
    is_trusted: bool,
}

impl StateSummary {
    fn of(notebook: &Notebook, state: &State) -> Self {
        let checkpoint = state.checkpoint.as_ref().map(|c| CheckpointSummary {
            checkpoint_id: c.checkpoint_id.clone(),
            form: c.form,
            label: c.label.clone(),
            created_at: c.created_at,
            namespace_size_bytes: c.namespace_size_bytes,
            compressed_size_bytes: c.compressed_size_bytes,
            missing: c.missing.len(),
            is_trusted: c.is_trusted,
        });
        Self {
            id: state.id.clone(),
            name: state.name.clone(),
            label: state.label.clone(),
            parent: state.parent.clone(),
            living: state.residency,
            pinned: state.pinned,
            forks: state.forks,
            fork_anyway: state.fork_anyway,
            memory_bytes: state.memory_bytes,
            shared_bytes: state.shared_bytes,
            saving: notebook.outlook(state),
            partial: state.partial,
            warnings: state.warnings.clone(),
            revival: state.restored_from.clone(),
            checkpoint,
        }
    }
}

/// Lists the states with their residency, memory and checkpoints.
#[utoipa::path(get, path = "/api/states", tag = "states", responses((status = 200, body = StateList)))]
pub(crate) async fn states(app: web::Data<AppState>) -> HttpResult {
    let living = |state: &&State| state.residency != Residency::Deleted;
    let look = move |notebook: &Notebook| {
        notebook.states().filter(living).map(|state| StateSummary::of(notebook, state)).collect()
    };
    let (states, unsaved) =
        app.start.read(move |notebook| (look(notebook), Unsaved::of(notebook, now_ms()))).await?;
    Ok(HttpResponse::Ok().json(StateList { states, unsaved }))
}

/// Writes a state's checkpoint. The answer is sent when the checkpoint is on disk.
#[utoipa::path(
    post, path = "/api/states/{name}/checkpoint", tag = "states", request_body = CheckpointWish,
    params(("name" = String, Path, description = "Name or id")),
    responses(
        (status = 200, description = "The checkpoint is on disk", body = Checkpointed),
        (status = 404, description = "No such state", body = ErrorBody),
        (status = 410, description = "The state has neither a process nor a checkpoint", body = ErrorBody),
        (status = 503, description = "Pickling failed, or the process that saves died", body = ErrorBody),
        (status = 504, description = "Saving made no progress; the state is unharmed", body = ErrorBody),
        (status = 507, description = "The disk refused it; the state is unharmed", body = ErrorBody),
    )
)]
pub(crate) async fn save(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    MaybeJson(body): MaybeJson<CheckpointWish>,
) -> HttpResult {
    let state = StateRef::name(path.get(0));
    let CheckpointWish { label, form, metadata } = body;
    let command = Command::Checkpoint { state, form, label, metadata };
    match app.ask(&app.start, caller.access()?, command).await? {
        Reply::Checkpointed { checkpoint } => Ok(HttpResponse::Ok().json(Checkpointed {
            ok: true,
            state_id: checkpoint.state_id.clone(),
            bytes: checkpoint.compressed_size_bytes,
            label: checkpoint.label.clone(),
            checkpoint: *checkpoint,
        })),
        other => Err(unexpected(other)),
    }
}

/// Shows the record of a state's checkpoint.
#[utoipa::path(
    get, path = "/api/states/{name}/checkpoint", tag = "states",
    params(("name" = String, Path, description = "Name or id")),
    responses(
        (status = 200, body = Checkpoint),
        (status = 404, description = "No such state, or the state has no checkpoint", body = ErrorBody),
    )
)]
pub(crate) async fn checkpoint(app: web::Data<AppState>, path: PathParams) -> HttpResult {
    let state = find_state(&app.start, path.get(0)).await?;
    let none = || {
        let what = format!("show the checkpoint of state {:?}", state.name);
        Problem::not_found(what, "it has not been saved yet")
    };
    Ok(HttpResponse::Ok().json(state.checkpoint.as_ref().ok_or_else(none)?))
}

/// Restores a state by running the cells of its lineage again. The answer is sent after the last
/// cell.
#[utoipa::path(
    post, path = "/api/states/{name}/replay", tag = "states",
    params(("name" = String, Path, description = "Name or id")),
    responses(
        (status = 200, body = StateSummary),
        (status = 404, description = "No such state", body = ErrorBody),
        (status = 410, description = "A cell failed in the replay, or its code is lost", body = ErrorBody),
    )
)]
pub(crate) async fn replay(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    _: NoBody,
) -> HttpResult {
    changed(&app, &caller, &path, |state| Command::Replay { state }).await
}

/// Pins or unpins a state. A pinned state stays in memory as long as possible.
#[utoipa::path(
    post, path = "/api/states/{name}/pin", tag = "states", request_body = PinWish,
    params(("name" = String, Path, description = "Name or id")),
    responses(
        (status = 200, body = StateSummary),
        (status = 404, description = "No such state", body = ErrorBody),
    )
)]
pub(crate) async fn pin(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(body): Json<PinWish>,
) -> HttpResult {
    changed(&app, &caller, &path, |state| Command::Pin { state, pinned: body.pinned }).await
}

/// Allows or forbids forks of a state's process, although the state's warnings advise against
/// forks.
#[utoipa::path(
    post, path = "/api/states/{name}/fork_anyway", tag = "states", request_body = ForkWish,
    params(("name" = String, Path, description = "Name or id")),
    responses(
        (status = 200, body = StateSummary),
        (status = 404, description = "No such state", body = ErrorBody),
    )
)]
pub(crate) async fn fork_anyway(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(body): Json<ForkWish>,
) -> HttpResult {
    changed(&app, &caller, &path, |state| Command::ForkAnyway { state, anyway: body.anyway }).await
}

/// Sets or removes a state's label.
#[utoipa::path(
    post, path = "/api/states/{name}/label", tag = "states", request_body = LabelWish,
    params(("name" = String, Path, description = "Name or id")),
    responses(
        (status = 200, body = StateSummary),
        (status = 404, description = "No such state", body = ErrorBody),
    )
)]
pub(crate) async fn label(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(body): Json<LabelWish>,
) -> HttpResult {
    changed(&app, &caller, &path, |state| Command::Label { state, label: body.label }).await
}

/// Carries out a command that changes a state. Answers with the changed state.
async fn changed(
    app: &AppState,
    caller: &Caller,
    path: &PathParams,
    command: impl FnOnce(StateRef) -> Command,
) -> HttpResult {
    let name = path.get(0).to_owned();
    let command = app.authorize(caller.access()?, command(StateRef::name(&name)))?;
    let read = move |notebook: &Notebook, reply| {
        (reply, notebook.find(&name).map(|state| StateSummary::of(notebook, state)))
    };
    match app.start.ask_then(command, read).await? {
        (Reply::Done, Some(state)) => Ok(HttpResponse::Ok().json(state)),
        (Reply::Done, None) => Err(Problem::not_found("find the state", "it was deleted in the meantime")),
        (other, _) => Err(unexpected(other)),
    }
}

/// Makes a child of a state without the user's variables. The child keeps the builtins, IPython
/// with its settings, and the cell counter.
#[utoipa::path(
    post, path = "/api/states/{name}/clear_namespace", tag = "states", request_body = ClearWish,
    params(("name" = String, Path, description = "Name or id")),
    responses(
        (status = 200, description = "The run has ended, with success or with an error", body = Executed),
        (status = 404, description = "No such state", body = ErrorBody),
    )
)]
pub(crate) async fn clear_namespace(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    MaybeJson(body): MaybeJson<ClearWish>,
) -> HttpResult {
    let name = path.get(0);
    let exec_id =
        ExecId::new(body.exec_id.unwrap_or_else(|| format!("clear-{}", uuid::Uuid::new_v4().simple())));
    let state = find_state(&app.start, name).await?.id;
    let run = RunSpec {
        new_state_name: body.new_state_name,
        replay: body.replay,
        with_outputs: true,
        ..RunSpec::new(exec_id, FORGET, Base::State(state))
    };
    compat::executed(&app, caller.access()?, run, Vec::new()).await
}

/// Trusts all checkpoints of the notebook, including checkpoints of other installs. Loading a
/// trusted checkpoint can run code that the checkpoint contains.
#[utoipa::path(
    post, path = "/api/trust", tag = "states",
    responses(
        (status = 200, body = Trusted),
        (status = 507, description = "The signatures could not be written to the disk", body = ErrorBody),
    )
)]
pub(crate) async fn trust(app: web::Data<AppState>, caller: Caller, _: NoBody) -> HttpResult {
    match app.ask(&app.start, caller.access()?, Command::Trust).await? {
        Reply::Trusted { count } => Ok(HttpResponse::Ok().json(Trusted { trusted: count })),
        other => Err(unexpected(other)),
    }
}
