//! Lints the cells of a notebook and formats them, with the user's ruff, or one that
//! Ratoon installs on request.

use crate::http::app_state::{AppState, detached};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::limits;
use crate::http::request::{Json, NoBody, PathParams};
use crate::problem::{Kind, Problem};
use crate::session::{LintProblem, Ruff};
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use utoipa::ToSchema;

/// The body of both requests.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CodeCells {
    /// The code of the cells, in order.
    cells: Vec<String>,
}

/// The answer to `POST /api/notebooks/{name}/lint`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Linted {
    /// The path of ruff; null if it was not found.
    ruff: Option<String>,
    /// Why ruff failed, for example because its settings are invalid; null if it did not.
    failure: Option<String>,
    /// What ruff found, in the order of the cells.
    problems: Vec<FoundProblem>,
}

/// A problem in a cell.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FoundProblem {
    /// The index of the cell.
    cell: usize,
    /// Start of the problem, in code points from the beginning of the cell.
    from: usize,
    /// Its end, in the same unit.
    to: usize,
    /// The rule, for example `F401`.
    code: String,
    /// The message.
    message: String,
}

impl From<LintProblem> for FoundProblem {
    fn from(LintProblem { cell, from, to, code, message }: LintProblem) -> Self {
        Self { cell, from, to, code, message }
    }
}

/// The answer to `POST /api/ruff`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct InstalledRuff {
    /// The path of ruff.
    ruff: String,
}

/// The answer to `POST /api/notebooks/{name}/format`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FormattedCells {
    /// A result for each cell, in their order.
    cells: Vec<FormattedCell>,
}

/// A cell that was formatted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FormattedCell {
    /// The formatted code; null if it could not be formatted.
    code: Option<String>,
    /// Why it could not be formatted, for example a syntax error; null if it was.
    failure: Option<String>,
}

/// Lists what the user's ruff says about the cells of a notebook. They need not be those of the
/// notebook. Ruff reads the settings of the directory in which cells run, and runs no code.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/lint", tag = "notebooks", params(("name" = String, Path)),
    request_body = CodeCells,
    responses(
        (status = 200, body = Linted),
        (status = 404, description = "No such notebook", body = ErrorBody),
        (status = 413, description = "A cell is too long", body = ErrorBody),
    )
)]
pub(crate) async fn lint(
    app: web::Data<AppState>,
    path: PathParams,
    Json(CodeCells { cells }): Json<CodeCells>,
) -> HttpResult {
    cells.iter().try_for_each(|code| limits::check_source(code))?;
    let name = path.get(0).to_owned();
    let Some(ruff) = ruff(&app, &name).await? else {
        return Ok(HttpResponse::Ok().json(Linted { ruff: None, failure: None, problems: Vec::new() }));
    };
    let program = ruff.program.display().to_string();
    // One at a time, because each starts a process.
    let _lock = app.ruff.lock().await;
    let (problems, failure) = match app.threads.run(move || ruff.lint(&name, &cells)).await? {
        Ok(problems) => (problems.into_iter().map(FoundProblem::from).collect(), None),
        Err(failure) => (Vec::new(), Some(failure)),
    };
    Ok(HttpResponse::Ok().json(Linted { ruff: Some(program), failure, problems }))
}

/// Formats cells with the user's ruff, each for itself. Changes nothing in the notebook.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/format", tag = "notebooks", params(("name" = String, Path)),
    request_body = CodeCells,
    responses(
        (status = 200, body = FormattedCells),
        (status = 404, description = "No such notebook, or ruff is not installed", body = ErrorBody),
        (status = 413, description = "A cell is too long", body = ErrorBody),
    )
)]
pub(crate) async fn format(
    app: web::Data<AppState>,
    path: PathParams,
    Json(CodeCells { cells }): Json<CodeCells>,
) -> HttpResult {
    cells.iter().try_for_each(|code| limits::check_source(code))?;
    let name = path.get(0).to_owned();
    let Some(ruff) = ruff(&app, &name).await? else {
        let why = "ruff is neither beside the notebook's Python nor on $PATH";
        let how = "run `%pip install ruff` in a cell, or let the owner install it for Ratoon alone";
        return Err(Problem::new(Kind::NotFound, "format code", why, how));
    };
    let _lock = app.ruff.lock().await;
    let formatted = move || cells.iter().map(|code| ruff.format(&name, code)).collect::<Vec<_>>();
    let cells = app.threads.run(formatted).await?.into_iter().map(|cell| match cell {
        Ok(code) => FormattedCell { code: Some(code), failure: None },
        Err(failure) => FormattedCell { code: None, failure: Some(failure) },
    });
    Ok(HttpResponse::Ok().json(FormattedCells { cells: cells.collect() }))
}

/// Installs ruff into Ratoon's own directory: a pinned version with known hashes, by the pip or uv
/// of the server's Python. Changes no environment.
#[utoipa::path(
    post, path = "/api/ruff", tag = "server",
    responses(
        (status = 200, description = "Ruff is installed", body = InstalledRuff),
        (status = 503, description = "It cannot be installed, for example without a network", body = ErrorBody),
    )
)]
pub(crate) async fn install(app: web::Data<AppState>, _: NoBody) -> HttpResult {
    let installed = detached(async move {
        // One at a time, because an installation may take a thread for a minute.
        let _lock = app.python_setup.lock().await;
        let pythons = app.sessions.pythons().clone();
        app.threads.run(move || pythons.install_ruff()).await?
    });
    Ok(HttpResponse::Ok().json(InstalledRuff { ruff: installed.await?.display().to_string() }))
}

/// Ruff for a notebook.
async fn ruff(app: &web::Data<AppState>, name: &str) -> Result<Option<Ruff>, Problem> {
    let session = AppState::notebook(app, name).await?;
    let python = session.read(|notebook| PathBuf::from(&notebook.python().path)).await?;
    let sessions = app.sessions.clone();
    Ok(app.threads.run(move || sessions.ruff(&python)).await?)
}
