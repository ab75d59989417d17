//! Lists, opens, renames, copies and deletes notebooks.

use crate::http::app_state::{AppState, detached};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::limits;
use crate::http::request::{Caller, Json, PathParams, query_value};
use crate::notebook::{Notebook, Residency, SandboxRules};
use crate::problem::{Kind, Problem};
use actix_web::{HttpRequest, HttpResponse, web};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The answer to `GET /api/notebooks`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Notebooks {
    /// The names of all notebooks, open or not, sorted.
    notebooks: Vec<String>,
    /// A summary of each notebook, in the order of `notebooks`.
    about: Vec<NotebookSummary>,
    /// What cells may do on the machine; null: everything that the server's user may.
    #[schema(value_type = Option<Object>)]
    sandbox: Option<SandboxRules>,
}

/// An entry in the list of notebooks.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NotebookSummary {
    name: String,
    /// Number of states except the root; null if unknown at the moment.
    states: Option<u64>,
    /// Size on disk, in bytes.
    bytes: u64,
    /// When the notebook was last written to, in milliseconds since the Unix epoch.
    last_used: Option<f64>,
    /// Whether the notebook is open. Only an open notebook has processes.
    is_open: bool,
    /// Number of cells that run or wait to run.
    running: u64,
    /// Whether the server was started with this notebook. Such a notebook cannot be renamed or
    /// deleted.
    is_start: bool,
}

/// A notebook's name. It is the body of the request that opens a notebook, and the answer to
/// several requests.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    /// The notebook's name.
    pub(crate) name: String,
}

/// The body of `rename` and `duplicate`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewName {
    /// The new name.
    to: String,
    /// Whether the rename may stop running cells.
    #[serde(default)]
    stop: bool,
}

/// Lists the notebooks that the caller may see, open or not.
#[utoipa::path(get, path = "/api/notebooks", tag = "notebooks", responses((status = 200, body = Notebooks)))]
pub(crate) async fn notebooks(app: web::Data<AppState>, caller: Caller) -> HttpResult {
    let names = app.names_for(caller.access()?);
    let about = summaries(&app, names.clone()).await?;
    Ok(HttpResponse::Ok().json(Notebooks { notebooks: names, about, sandbox: app.sandbox.clone() }))
}

async fn summaries(app: &web::Data<AppState>, names: Vec<String>) -> Result<Vec<NotebookSummary>, Problem> {
    let (sessions, start) = (app.sessions.clone(), app.start.name().to_owned());
    let inspect_all = move || -> Vec<NotebookSummary> {
        let summary = |name: String| {
            let (seen, is_open) = (sessions.inspect(&name), sessions.get(&name).is_some());
            let (is_start, running) = (name == start, 0);
            NotebookSummary {
                name,
                states: seen.states,
                bytes: seen.bytes,
                last_used: seen.last_used,
                is_open,
                running,
                is_start,
            }
        };
        names.into_iter().map(summary).collect()
    };
    let mut all = app.threads.run(inspect_all).await?;
    for summary in &mut all {
        let Some(session) = app.sessions.get(&summary.name) else { continue };
        // Reading fails if the notebook is being closed.
        if let Ok((states, running)) = session.read(counts).await {
            (summary.states, summary.running) = (Some(states), running);
        }
    }
    Ok(all)
}

/// Returns the number of states, without the root and deleted states, and the number of runs that
/// have not ended.
fn counts(notebook: &Notebook) -> (u64, u64) {
    let states =
        notebook.states().filter(|s| s.parent.is_some() && s.residency != Residency::Deleted).count();
    let running = notebook.runs().filter(|run| !run.status.has_ended()).count();
    (states as u64, running as u64)
}

/// Opens a notebook. Creates the notebook if it does not exist.
#[utoipa::path(
    post, path = "/api/notebooks", tag = "notebooks", request_body = Named,
    responses(
        (status = 200, description = "The notebook is open", body = Named),
        (status = 400, description = "The name cannot be used", body = ErrorBody),
        (status = 503, description = "Too many notebooks are open", body = ErrorBody),
    )
)]
pub(crate) async fn open_notebook(app: web::Data<AppState>, Json(body): Json<Named>) -> HttpResult {
    let session = AppState::open(&app, &body.name).await?;
    Ok(HttpResponse::Ok().json(Named { name: session.name().to_owned() }))
}

/// Renames a notebook. Open pages of the notebook change to the new name, and its share links still
/// work.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/rename", tag = "notebooks", params(("name" = String, Path)),
    request_body = NewName,
    responses(
        (status = 200, description = "The notebook was renamed", body = Named),
        (status = 400, description = "The name cannot be used", body = ErrorBody),
        (status = 404, description = "No such notebook", body = ErrorBody),
        (
            status = 409,
            description = "The name is taken, cells are running, or it is the start notebook",
            body = ErrorBody,
        ),
    )
)]
pub(crate) async fn rename(
    app: web::Data<AppState>,
    path: PathParams,
    Json(body): Json<NewName>,
) -> HttpResult {
    let (name, NewName { to, stop }) = (path.get(0).to_owned(), body);
    limits::check_notebook_name(&to)?;
    detached(async move {
        let _lock = app.changes.lock().await;
        check_closable(&app, &name, stop, "rename").await?;
        app.check_free(&to)?;
        app.sessions.rename(&name, &to).await?;
        app.keys.rebind(&name, &to);
        Ok(HttpResponse::Ok().json(Named { name: to }))
    })
    .await
}

/// Copies a notebook, with its states, outputs and drafts, but without its share links and task
/// checkpoints. Running cells continue.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/duplicate", tag = "notebooks", params(("name" = String, Path)),
    request_body = NewName,
    responses(
        (status = 201, description = "The notebook was copied", body = Named),
        (status = 400, description = "The name cannot be used", body = ErrorBody),
        (status = 404, description = "No such notebook", body = ErrorBody),
        (status = 409, description = "The name is taken", body = ErrorBody),
    )
)]
pub(crate) async fn duplicate(
    app: web::Data<AppState>,
    path: PathParams,
    Json(body): Json<NewName>,
) -> HttpResult {
    let (name, to) = (path.get(0).to_owned(), body.to);
    limits::check_notebook_name(&to)?;
    detached(async move {
        let _lock = app.changes.lock().await;
        check_exists(&app, &name)?;
        app.check_free(&to)?;
        app.sessions.duplicate(&name, &to).await?;
        Ok(HttpResponse::Created().json(Named { name: to }))
    })
    .await
}

/// Moves a notebook into the trash. Notifies the notebook's open pages, and revokes its share
/// links.
#[utoipa::path(
    delete, path = "/api/notebooks/{name}", tag = "notebooks",
    params(
        ("name" = String, Path),
        ("stop" = Option<bool>, Query, description = "Whether running cells may be stopped"),
    ),
    responses(
        (status = 204, description = "The notebook is in the trash"),
        (status = 404, description = "No such notebook", body = ErrorBody),
        (status = 409, description = "Cells are running, or it is the start notebook", body = ErrorBody),
    )
)]
pub(crate) async fn remove(request: HttpRequest, app: web::Data<AppState>, path: PathParams) -> HttpResult {
    let name = path.get(0).to_owned();
    let stop = query_value(&request, "stop").is_some_and(|v| v == "true");
    detached(async move {
        let _lock = app.changes.lock().await;
        check_closable(&app, &name, stop, "delete").await?;
        app.sessions.remove(&name).await?;
        app.keys.revoke_links_of(&name);
        Ok(HttpResponse::NoContent().finish())
    })
    .await
}

fn check_exists(app: &AppState, name: &str) -> Result<(), Problem> {
    if app.has(name) {
        return Ok(());
    }
    let what = format!("find notebook {name:?}");
    Err(Problem::new(Kind::NotFound, what, "there is no notebook of this name", "see GET /api/notebooks"))
}

/// Refuses to close the start notebook. Without `stop`, also refuses to close a notebook with
/// running cells.
async fn check_closable(app: &AppState, name: &str, stop: bool, action: &str) -> Result<(), Problem> {
    check_exists(app, name)?;
    let what = format!("{action} notebook {name:?}");
    if name == app.start.name() {
        let how = "duplicate it, or start Ratoon with another notebook";
        return Err(Problem::new(Kind::Conflict, what, "the server was started with this notebook", how));
    }
    let Some(session) = app.sessions.get(name) else { return Ok(()) };
    let running = session.read(counts).await.map_or(0, |(_, running)| running);
    if running == 0 || stop {
        return Ok(());
    }
    let why = if running == 1 {
        "one of its cells is running".into()
    } else {
        format!("{running} of its cells are running")
    };
    Err(Problem::new(
        Kind::Conflict,
        what,
        why,
        "wait until its cells have ended, stop them, or send `stop` as true",
    ))
}
