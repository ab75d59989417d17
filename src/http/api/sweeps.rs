//! `/api/notebooks/{name}/sweeps`: starts, lists, stops, collapses and deletes sweeps.

use crate::http::app_state::AppState;
use crate::http::authorize::unexpected;
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::{Caller, Json, PathParams};
use crate::notebook::{
    Command, ExecId, Goal, Notebook, Reply, RunStatus, StateId, StateRef, Sweep, SweepId, SweepSpec,
    SweepStatus,
};
use crate::problem::Problem;
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

/// The answer to `POST /api/notebooks/{name}/sweeps`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Started {
    /// The id of the sweep.
    id: String,
    /// The number of its rows.
    rows: usize,
}

/// A sweep without its rows.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SweepHead {
    /// The id of the sweep.
    id: String,
    /// The sweep's name for users.
    label: Option<String>,
    /// The state that each row runs against.
    at: StateId,
    /// The cell as it was sent.
    code: String,
    /// The names of the parameters.
    parameters: Vec<String>,
    /// The expression for the result of a row.
    metric: Option<String>,
    /// Whether higher (`max`) or lower (`min`) metrics are better.
    #[schema(value_type = String)]
    goal: Goal,
    /// `running`, `done` or `stopped`.
    #[schema(value_type = String)]
    status: SweepStatus,
    /// Why the sweep ended before all rows had run; null if all have run.
    note: Option<String>,
    /// When the sweep began, in milliseconds since the Unix epoch.
    created_at: f64,
    /// When it ended.
    ended_at: Option<f64>,
    /// How many rows are known.
    count: usize,
    /// How many of them have ended.
    ended: usize,
    /// The index of the best row, from 0.
    best: Option<usize>,
}

/// A sweep.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WholeSweep {
    #[serde(flatten)]
    head: SweepHead,
    /// The rows, in the order of the request.
    rows: Vec<Row>,
}

/// A row of a sweep.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Row {
    /// The values of the parameters. A value that JSON does not have is `{"code": "…"}`.
    #[schema(value_type = Object)]
    params: Map<String, Value>,
    /// How the row's last run ended; `queued` or `running` before that.
    #[schema(value_type = String)]
    status: RunStatus,
    /// How many rungs the row has run beyond its first run.
    rung: usize,
    /// The metric of the last run that has one.
    metric: Option<f64>,
    /// The state of the last run that left one.
    state: Option<StateId>,
    /// Whether that state is in memory or on disk. If not, it comes back by a replay.
    is_kept: bool,
    /// The id of the row's last run.
    exec_id: String,
    /// How long the row's runs took, in seconds.
    seconds: Option<f64>,
    /// Private memory of the state's process, in bytes, as last measured.
    memory: Option<u64>,
    /// Why the last run failed, or why it has no metric.
    error: Option<String>,
    /// The name of the worker's node; null if the last run was here.
    node: Option<String>,
}

/// The body of `POST /api/notebooks/{name}/sweeps/{id}/collapse`.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CollapseBody {
    /// The index of the row that is kept, from 0. Without it, the best row.
    row: Option<usize>,
    /// A label for the state of that row.
    label: Option<String>,
}

/// The answer to `POST /api/notebooks/{name}/sweeps/{id}/collapse`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CollapsedSweep {
    /// The state of the row that was kept.
    kept: StateId,
    /// The states that were deleted. The command `restore` with any of them brings all back.
    deleted: Vec<StateId>,
    /// The states of other rows that stay, because someone has continued from them.
    continued: Vec<StateId>,
}

/// Starts a sweep: a cell runs with many values of its parameters, each time as a branch.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/sweeps", tag = "sweeps", params(("name" = String, Path)),
    request_body = SweepSpec,
    responses(
        (status = 202, description = "The rows are known and begin to run", body = Started),
        (status = 400, description = "A name, value, option or the metric is wrong", body = ErrorBody),
        (status = 404, description = "No such state", body = ErrorBody),
        (status = 409, description = "Another sweep has this id", body = ErrorBody),
        (status = 413, description = "There are too many rows", body = ErrorBody),
    )
)]
pub(crate) async fn start(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(mut spec): Json<SweepSpec>,
) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    if let StateRef::Id(state) = &spec.at {
        spec.at = StateRef::name(state.as_str());
    }
    match app.ask(&session, caller.access()?, Command::Sweep(Box::new(spec))).await? {
        Reply::SweepStarted { id, rows } => {
            Ok(HttpResponse::Accepted().json(Started { id: id.as_str().to_owned(), rows }))
        }
        other => Err(unexpected(other)),
    }
}

/// Lists the sweeps, without their rows.
#[utoipa::path(
    get, path = "/api/notebooks/{name}/sweeps", tag = "sweeps", params(("name" = String, Path)),
    responses((status = 200, body = Vec<SweepHead>))
)]
pub(crate) async fn list(app: web::Data<AppState>, path: PathParams) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    let sweeps = session.read(|notebook| notebook.sweeps().map(head_of).collect::<Vec<_>>()).await?;
    Ok(HttpResponse::Ok().json(sweeps))
}

/// Returns a sweep with its rows.
#[utoipa::path(
    get, path = "/api/notebooks/{name}/sweeps/{id}", tag = "sweeps",
    params(("name" = String, Path), ("id" = String, Path)),
    responses((status = 200, body = WholeSweep), (status = 404, body = ErrorBody))
)]
pub(crate) async fn sweep(app: web::Data<AppState>, path: PathParams) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    let id = SweepId::new(path.get(1));
    let what = format!("find sweep {id}");
    let whole = session
        .read(move |notebook| {
            let sweep = notebook.sweep(&id)?;
            let rows = (0..sweep.rows.len()).map(|number| row_of(notebook, sweep, number)).collect();
            Some(WholeSweep { head: head_of(sweep), rows })
        })
        .await?;
    let whole = whole.ok_or_else(|| Problem::not_found(what, "this notebook has none with this id"))?;
    Ok(HttpResponse::Ok().json(whole))
}

/// Stops a sweep: no further row begins, and the rows that run are interrupted.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/sweeps/{id}/stop", tag = "sweeps",
    params(("name" = String, Path), ("id" = String, Path)),
    responses((status = 200, description = "Stopped"), (status = 404, body = ErrorBody))
)]
pub(crate) async fn stop(app: web::Data<AppState>, caller: Caller, path: PathParams) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    app.ask(&session, caller.access()?, Command::StopSweep { sweep: SweepId::new(path.get(1)) }).await?;
    Ok(HttpResponse::Ok().json(json!({})))
}

/// Keeps one row of a sweep, and deletes the states of the others. They go into the trash.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/sweeps/{id}/collapse", tag = "sweeps",
    params(("name" = String, Path), ("id" = String, Path)), request_body = CollapseBody,
    responses(
        (status = 200, body = CollapsedSweep),
        (status = 404, body = ErrorBody),
        (status = 409, description = "Rows are running, or the row has no state", body = ErrorBody),
    )
)]
pub(crate) async fn collapse(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(body): Json<CollapseBody>,
) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    let CollapseBody { row, label } = body;
    let command = Command::Collapse { sweep: SweepId::new(path.get(1)), row, label };
    match app.ask(&session, caller.access()?, command).await? {
        Reply::Collapsed { kept, deleted, continued } => {
            Ok(HttpResponse::Ok().json(CollapsedSweep { kept, deleted, continued }))
        }
        other => Err(unexpected(other)),
    }
}

/// Stops a sweep and deletes it, with the states of its rows. They go into the trash.
#[utoipa::path(
    delete, path = "/api/notebooks/{name}/sweeps/{id}", tag = "sweeps",
    params(("name" = String, Path), ("id" = String, Path)),
    responses((status = 200, description = "Deleted"), (status = 404, body = ErrorBody))
)]
pub(crate) async fn remove(app: web::Data<AppState>, caller: Caller, path: PathParams) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    app.ask(&session, caller.access()?, Command::DeleteSweep { sweep: SweepId::new(path.get(1)) }).await?;
    Ok(HttpResponse::Ok().json(json!({})))
}

fn head_of(sweep: &Sweep) -> SweepHead {
    SweepHead {
        id: sweep.id.as_str().to_owned(),
        label: sweep.options.label.clone(),
        at: sweep.at.clone(),
        code: sweep.code.clone(),
        parameters: sweep.parameters.iter().map(|slot| slot.name.clone()).collect(),
        metric: sweep.options.metric.clone(),
        goal: sweep.options.goal,
        status: sweep.status,
        note: sweep.note.clone(),
        created_at: sweep.created_at,
        ended_at: sweep.ended_at,
        count: sweep.rows.len() + sweep.to_draw(),
        ended: sweep.rows.iter().filter(|row| !row.ends.is_empty()).count(),
        best: sweep.best(),
    }
}

fn row_of(notebook: &Notebook, sweep: &Sweep, number: usize) -> Row {
    let row = &sweep.rows[number];
    let last = row.ends.last();
    let open = |rung: usize| {
        let run = notebook.run(&sweep.exec_id(number, rung))?;
        (!run.status.has_ended()).then_some(run)
    };
    let now = open(row.ends.len());
    let rung = if now.is_some() { row.ends.len() } else { row.ends.len().saturating_sub(1) };
    let state = row.ends.iter().rev().find_map(|end| end.state.clone());
    let there = state.as_ref().and_then(|state| notebook.state(state));
    let durations: Vec<f64> = row.ends.iter().filter_map(|end| end.duration_ms).collect();
    let exec_id: ExecId = sweep.exec_id(number, rung);
    let names = sweep.parameters.iter().map(|slot| slot.name.clone());
    Row {
        params: names.zip(row.values.iter().map(|source| value_of(source))).collect(),
        status: now.map_or_else(|| last.map_or(RunStatus::Queued, |end| end.status), |run| run.status),
        rung,
        metric: row.ends.iter().rev().find_map(|end| end.metric),
        is_kept: there.is_some_and(|state| state.residency.can_run()),
        memory: there.and_then(|state| state.memory_bytes),
        state,
        exec_id: exec_id.as_str().to_owned(),
        seconds: (!durations.is_empty()).then(|| durations.iter().sum::<f64>() / 1000.0),
        error: last.and_then(|end| end.error.clone()),
        node: match now {
            Some(run) => run.worker.as_ref().and_then(|worker| worker.node.clone()),
            None => last.and_then(|end| end.node.clone()),
        },
    }
}

/// The JSON value of Python source; `{"code": source}` if JSON does not have the value.
fn value_of(source: &str) -> Value {
    match source {
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        "None" => Value::Null,
        _ => match serde_json::from_str::<Value>(source) {
            Ok(value @ (Value::Number(_) | Value::String(_))) => value,
            _ => json!({"code": source}),
        },
    }
}
