//! Lists the Pythons of this machine, and chooses the one that runs a notebook's cells.

use crate::http::app_state::{AppState, detached};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::limits;
use crate::http::request::{Caller, Json, PathParams};
use crate::notebook::{Python, null_or_text};
use crate::session::FoundPython;
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use utoipa::ToSchema;

/// The answer to `GET /api/pythons`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PythonList {
    /// The Pythons: the default first, and those that cannot run cells last.
    pythons: Vec<ListedPython>,
}

/// A Python that was found on the machine.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListedPython {
    /// The executable.
    path: String,
    /// Its version, for example "3.12.1"; null if it does not start.
    version: Option<String>,
    /// Where it was found: `--python`, `$VIRTUAL_ENV`, `.venv`, `$CONDA_PREFIX`, `installed in`,
    /// `$PATH`, `pyenv`, `uv`, `conda` or `system`.
    place: &'static str,
    /// Whether it is the server's default, for notebooks that have not chosen a Python.
    is_default: bool,
    /// Why it cannot run cells; null if it can.
    problem: Option<String>,
}

impl From<FoundPython> for ListedPython {
    fn from(found: FoundPython) -> Self {
        let FoundPython { path, version, place, is_default, problem } = found;
        let version = version.map(|version| version.to_string());
        Self { path: path.display().to_string(), version, place, is_default, problem }
    }
}

/// The body of `PUT /api/notebooks/{name}/python`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PythonChoice {
    /// The full path of an executable, or of the directory of an environment; null for the server's
    /// default.
    #[schema(required)]
    #[serde(deserialize_with = "null_or_text")]
    path: Option<String>,
}

/// Lists the Pythons that were found on this machine. The list may be some seconds old.
#[utoipa::path(
    get, path = "/api/pythons", tag = "server", responses((status = 200, body = PythonList))
)]
pub(crate) async fn pythons(app: web::Data<AppState>) -> HttpResult {
    // One list at a time, because each starts some dozen programs.
    let _lock = app.python_search.lock().await;
    let pythons = app.sessions.pythons().clone();
    let found = app.threads.run(move || pythons.list()).await?;
    Ok(HttpResponse::Ok().json(PythonList { pythons: found.into_iter().map(ListedPython::from).collect() }))
}

/// Chooses the Python that runs a notebook's cells, and restarts the notebook in it. Installs
/// IPython for it if it is missing, which may take a minute. All processes of the notebook end:
/// states come back from their checkpoints, or by replay.
#[utoipa::path(
    put, path = "/api/notebooks/{name}/python", tag = "notebooks", params(("name" = String, Path)),
    request_body = PythonChoice,
    responses(
        (status = 200, description = "The notebook uses it from now on", body = Python),
        (status = 400, description = "The Python cannot run cells", body = ErrorBody),
        (status = 404, description = "No such notebook", body = ErrorBody),
        (status = 409, description = "Cells are running", body = ErrorBody),
        (status = 503, description = "IPython cannot be installed for it", body = ErrorBody),
    )
)]
pub(crate) async fn choose(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(choice): Json<PythonChoice>,
) -> HttpResult {
    let chosen = choice.path.map(|path| limits::check_python_path(&path).map(|()| PathBuf::from(path)));
    let (chosen, access) = (chosen.transpose()?, caller.access()?.clone());
    let session = AppState::notebook(&app, path.get(0)).await?;
    let python = detached(async move {
        // One at a time, because installing IPython may take a thread for a minute.
        let _lock = app.python_setup.lock().await;
        app.change_python(&session, &access, chosen).await
    });
    Ok(HttpResponse::Ok().json(python.await?))
}
