//! `/api/node`: how `ratoon_worker.run` gives tasks to the agent of its node.

use crate::http::app_state::AppState;
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::Json;
use crate::node_agent::{Agent, TaskEnd};
use crate::problem::{Kind, Problem};
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

/// The body of `POST /api/node/tasks`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TaskName {
    /// The id of the notebook.
    notebook: String,
    /// The id of the task.
    task: String,
}

/// The answer to `POST /api/node/tasks`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EndOfTask {
    /// `stored`, `withdrawn`, `refused` or `failed`.
    end: &'static str,
    /// Why it was refused or has failed.
    why: Option<String>,
}

/// Says whether this server is an agent.
#[utoipa::path(
    get, path = "/api/node", tag = "workers",
    responses((status = 200, description = "It is one"), (status = 404, body = ErrorBody))
)]
pub(crate) async fn status(app: web::Data<AppState>) -> HttpResult {
    agent(&app)?;
    Ok(HttpResponse::Ok().json(json!({})))
}

/// Runs a task. Answers when it has ended.
#[utoipa::path(
    post, path = "/api/node/tasks", tag = "workers", request_body = TaskName,
    responses((status = 200, body = EndOfTask), (status = 404, body = ErrorBody))
)]
pub(crate) async fn run(
    app: web::Data<AppState>,
    Json(TaskName { notebook, task }): Json<TaskName>,
) -> HttpResult {
    let (end, problem) = match agent(&app)?.run(notebook, task).await {
        TaskEnd::Stored => ("stored", None),
        TaskEnd::Withdrawn => ("withdrawn", None),
        TaskEnd::Refused(problem) => ("refused", Some(problem)),
        TaskEnd::Failed(problem) => ("failed", Some(problem)),
    };
    Ok(HttpResponse::Ok().json(EndOfTask { end, why: problem.as_ref().map(Problem::with_way_out) }))
}

fn agent(app: &AppState) -> Result<&Agent, Problem> {
    app.agent.as_ref().ok_or_else(|| {
        let (why, how) = ("this server is not the agent of a worker", "start agents with ratoon_worker.run");
        Problem::new(Kind::NotFound, "run a task", why, how)
    })
}
