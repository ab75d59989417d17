//! The deleted states and failed runs of a notebook, which the commands `restore` and `empty_trash`
//! restore or delete for good.

use crate::http::app_state::AppState;
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::PathParams;
use crate::notebook::{self, StateId};
use actix_web::{HttpResponse, web};
use serde::Serialize;
use utoipa::ToSchema;

/// Maximum number of characters of an item's code. Enough to tell apart cells that begin alike.
const MAX_CODE_CHARS: usize = 2000;

/// The answer to `GET /api/notebooks/{name}/trash`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeletedItems {
    /// What each command deleted, newest first.
    deleted: Vec<Deletion>,
}

/// What one command deleted. All of it is restored together.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Deletion {
    /// When it was deleted, in milliseconds since the Unix epoch.
    at: f64,
    /// The deleted states.
    states: Vec<DeletedState>,
    /// The deleted failed runs.
    runs: Vec<DeletedRun>,
}

/// A deleted state.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeletedState {
    /// The state's id. `restore` takes it.
    #[schema(value_type = String)]
    id: StateId,
    /// The state's label, if it has one.
    label: Option<String>,
    /// The beginning of the state's code.
    code: String,
}

/// A deleted failed run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeletedRun {
    /// The run's id. `restore` takes it.
    exec_id: String,
    /// The beginning of the run's code.
    code: String,
}

/// Lists the deleted states and failed runs that can be restored.
#[utoipa::path(
    get, path = "/api/notebooks/{name}/trash", tag = "notebooks", params(("name" = String, Path)),
    responses((status = 200, body = DeletedItems), (status = 404, body = ErrorBody))
)]
pub(crate) async fn list(app: web::Data<AppState>, path: PathParams) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    let deleted =
        session.read(|notebook| notebook.deletions().into_iter().map(Deletion::from).collect()).await?;
    Ok(HttpResponse::Ok().json(DeletedItems { deleted }))
}

impl From<notebook::Deletion> for Deletion {
    fn from(deletion: notebook::Deletion) -> Self {
        let states = deletion.states.into_iter().map(|(state, code)| DeletedState {
            id: state.id,
            label: state.label,
            code: beginning(&code),
        });
        let runs = deletion
            .runs
            .into_iter()
            .map(|run| DeletedRun { code: beginning(&run.code), exec_id: run.exec_id.to_string() });
        Self { at: deletion.at, states: states.collect(), runs: runs.collect() }
    }
}

fn beginning(code: &str) -> String {
    code.chars().take(MAX_CODE_CHARS).collect()
}
