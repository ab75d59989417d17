//! `POST /api/states/{name}/run_many`: runs several cells against one state, each as a branch, and
//! streams each answer as soon as its cell has ended.

use crate::http::app_state::AppState;
use crate::http::compat::{self, Executed};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::{Caller, Json, PathParams};
use crate::notebook::{Base, ExecId, OnError, RunSpec};
use crate::problem::{Kind, Problem};
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::Bytes;
use actix_web::{HttpResponse, web};
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use std::io;
use utoipa::ToSchema;

/// Maximum number of cells of one request. As many runs may wait in one notebook.
const MAX_CELLS: usize = 1000;

/// The body of `POST /api/states/{name}/run_many`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunMany {
    /// The cells.
    cells: Vec<CellOfMany>,
    /// Maximum number of cells that run at the same time. Default: the number of cores.
    parallel: Option<usize>,
    /// Seconds after which each run is interrupted.
    timeout: Option<f64>,
    /// Bytes of memory that each run may use in addition to the memory of the state.
    run_memory: Option<u64>,
    /// Whether to replay the state if it has neither a process nor a usable checkpoint.
    #[serde(default)]
    replay: bool,
    /// What happens to the variables that a failed cell has set.
    #[serde(default)]
    on_error: OnError,
}

/// One cell of the request.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CellOfMany {
    /// The source.
    code: String,
    /// The caller's id for the run. A repeated request with the same id gets the first answer.
    exec_id: Option<String>,
    /// The name of the new state. Default: the state's id.
    new_state_name: Option<String>,
}

/// One line of the answer.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RanOne {
    /// The index of the cell in the request, from 0.
    index: usize,
    /// The id of the run.
    exec_id: String,
    /// How the run ended, as in the answer to `POST /execute`; absent if the cell was refused.
    #[serde(flatten)]
    executed: Option<Executed>,
    /// Why the cell was refused; absent if it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<Problem>,
}

/// Runs several cells against one state at the same time. The answer has one line of JSON per cell,
/// in the order in which the cells end. If the client disconnects, cells that have begun continue,
/// and the others do not begin.
#[utoipa::path(
    post, path = "/api/states/{name}/run_many", tag = "states", request_body = RunMany,
    params(("name" = String, Path, description = "Name or id of the state to run against")),
    responses(
        (status = 200, description = "One line per cell, as application/x-ndjson", body = RanOne),
        (status = 400, description = "Not JSON, or a field is missing or wrong", body = ErrorBody),
        (status = 413, description = "There are too many cells", body = ErrorBody),
    )
)]
pub(crate) async fn run_many(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(body): Json<RunMany>,
) -> HttpResult {
    let what = format!("run {} cells", body.cells.len());
    if body.cells.len() > MAX_CELLS {
        let why = format!("one request may have at most {MAX_CELLS}");
        return Err(Problem::new(Kind::TooLarge, what, why, "send several requests"));
    }
    if body.parallel == Some(0) {
        let how = "leave `parallel` out, or use a number above 0";
        return Err(Problem::bad_request(what, "none of them could begin", how));
    }
    let access = caller.access()?.clone();
    let state = path.get(0).to_owned();
    let RunMany { cells, timeout, run_memory, replay, on_error, .. } = body;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let at_once = body.parallel.unwrap_or(cores).min(MAX_CELLS);
    let specs: Vec<RunSpec> = cells
        .into_iter()
        .map(|cell| {
            let made = || format!("many-{}", uuid::Uuid::new_v4().simple());
            let exec_id = ExecId::new(cell.exec_id.unwrap_or_else(made));
            RunSpec {
                new_state_name: cell.new_state_name,
                timeout,
                run_memory,
                variant: true,
                replay,
                on_error,
                with_outputs: true,
                ..RunSpec::new(exec_id, cell.code, Base::Name(state.clone()))
            }
        })
        .collect();
    let runs = stream::iter(specs.into_iter().enumerate()).map(move |(index, spec)| {
        let (app, access) = (app.clone(), access.clone());
        async move {
            let exec_id = spec.exec_id.as_str().to_owned();
            let (executed, refused) = match compat::ended_run(&app, &access, spec, Vec::new()).await {
                Ok(executed) => (Some(executed), None),
                Err(problem) => (None, Some(problem)),
            };
            let mut line = serde_json::to_vec(&RanOne { index, exec_id, executed, refused })?;
            line.push(b'\n');
            Ok::<_, io::Error>(Bytes::from(line))
        }
    });
    let body = runs.buffer_unordered(at_once);
    Ok(HttpResponse::Ok().insert_header((CONTENT_TYPE, "application/x-ndjson")).streaming(body))
}
