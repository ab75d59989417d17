//! States: `GET /states`, `GET` and `DELETE /states/{name}`, `POST /reset`.

use super::answer::{Deleted, StateNames, StateView, Status};
use crate::http::app_state::AppState;
use crate::http::command::{send, send_then, unexpected};
use crate::http::error::ErrorBody;
use crate::http::request::{Caller, NoBody};
use crate::http::route::MatchedRoute;
use crate::notebook::{Command, Notebook, Reply, StateRef};
use crate::problem::Problem;
use actix_web::{HttpResponse, web};

/// Lists the states' names, in creation order.
#[utoipa::path(get, path = "/states", tag = "kernel", responses((status = 200, body = StateNames)))]
pub(crate) async fn states(app: web::Data<AppState>) -> Result<HttpResponse, Problem> {
    let states = app.start.read(|notebook| notebook.names().map(str::to_owned).collect()).await?;
    Ok(HttpResponse::Ok().json(StateNames { states }))
}

/// Shows a state's variables.
#[utoipa::path(
    get, path = "/states/{name}", tag = "kernel", params(("name" = String, Path, description = "Name or id")),
    responses(
        (status = 200, body = StateView),
        (status = 404, description = "No such state", body = ErrorBody),
    )
)]
pub(crate) async fn state(
    app: web::Data<AppState>,
    caller: Caller,
    route: MatchedRoute,
) -> Result<HttpResponse, Problem> {
    let name = route.param(0).to_owned();
    let command = app.authorize(caller.access()?, Command::ListVariables { state: StateRef::name(&name) })?;
    let wanted = name.clone();
    let read = move |notebook: &Notebook, reply| (reply, notebook.find(&wanted).map(|s| s.created_at));
    match send_then(&app.start, command, read).await? {
        (Reply::Variables { variables }, Some(created_at)) => {
            Ok(HttpResponse::Ok().json(StateView::new(name, created_at, variables)))
        }
        (other, _) => Err(unexpected(other)),
    }
}

/// Deletes a state. What grew from it lives on.
#[utoipa::path(
    delete, path = "/states/{name}", tag = "kernel",
    params(("name" = String, Path, description = "Name or id")),
    responses((status = 200, body = Deleted), (status = 404, description = "No such state", body = ErrorBody))
)]
pub(crate) async fn delete_state(
    app: web::Data<AppState>,
    caller: Caller,
    route: MatchedRoute,
    _: NoBody,
) -> Result<HttpResponse, Problem> {
    let name = route.param(0).to_owned();
    let command = app.authorize_deletion(caller.access()?, StateRef::name(&name))?;
    match send(&app.start, command).await? {
        Reply::Done => Ok(HttpResponse::Ok().json(Deleted { deleted: name })),
        other => Err(unexpected(other)),
    }
}

/// Stops all runs and forgets all states but `initial`. A copy of what was there goes into the
/// trash.
#[utoipa::path(post, path = "/reset", tag = "kernel", responses((status = 200, body = Status)))]
pub(crate) async fn reset(
    app: web::Data<AppState>,
    caller: Caller,
    _: NoBody,
) -> Result<HttpResponse, Problem> {
    match app.ask(&app.start, caller.access()?, Command::Reset).await? {
        Reply::Done => Ok(HttpResponse::Ok().json(Status { status: "ok" })),
        other => Err(unexpected(other)),
    }
}
