//! `GET /states`, `GET` and `DELETE /states/{name}`, and `POST /reset`.

use crate::http::app_state::AppState;
use crate::http::authorize::unexpected;
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::held_body::json_with;
use crate::http::request::{Caller, NoBody, PathParams};
use crate::notebook::{Command, Notebook, Reply, StateRef, Variable};
use crate::session::Permitted;
use actix_web::http::StatusCode;
use actix_web::{HttpResponse, web};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use time::{Duration, OffsetDateTime};
use utoipa::ToSchema;

/// The answer to `GET /states`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StateNames {
    /// The names of the states in creation order; `initial` first.
    states: Vec<String>,
}

/// The answer to `GET /states/{name}`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StateView {
    /// The name or id of the state, as the request contained it.
    name: String,
    /// When the state was made, as ISO 8601 in UTC with microseconds.
    timestamp: String,
    /// The state's variables, by name.
    #[schema(value_type = std::collections::BTreeMap<String, VariableView>)]
    variables: Variables,
}

impl StateView {
    fn new(name: String, created_at: f64, variables: Vec<Variable>) -> Self {
        Self { name, timestamp: iso_8601(created_at), variables: Variables(variables) }
    }
}

/// Variables as one JSON object, in the order of their first assignment.
#[derive(Debug)]
pub(crate) struct Variables(Vec<Variable>);

impl Serialize for Variables {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for variable in &self.0 {
            let view = VariableView { type_name: variable.type_name.clone(), repr: variable.repr.clone() };
            map.serialize_entry(&variable.name, &view)?;
        }
        map.end()
    }
}

/// One variable.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct VariableView {
    /// `type(v).__name__`.
    #[serde(rename = "type")]
    type_name: String,
    /// `repr(v)`, truncated if it is long.
    repr: String,
}

/// The answer to `DELETE /states/{name}`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Deleted {
    /// The name or id of the state, as the request contained it.
    deleted: String,
}

/// The answer to `POST /reset`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Status {
    /// Always `ok`.
    status: &'static str,
}

/// Lists the names of the states, in creation order.
#[utoipa::path(get, path = "/states", tag = "kernel", responses((status = 200, body = StateNames)))]
pub(crate) async fn states(app: web::Data<AppState>) -> HttpResult {
    let states = app.start.read(|notebook| notebook.names().map(str::to_owned).collect()).await?;
    Ok(HttpResponse::Ok().json(StateNames { states }))
}

/// Lists a state's variables.
#[utoipa::path(
    get, path = "/states/{name}", tag = "kernel", params(("name" = String, Path, description = "Name or id")),
    responses(
        (status = 200, body = StateView),
        (status = 404, description = "No such state", body = ErrorBody),
    )
)]
pub(crate) async fn state(app: web::Data<AppState>, caller: Caller, path: PathParams) -> HttpResult {
    let name = path.get(0).to_owned();
    let command = Command::ListVariables { state: StateRef::name(&name) };
    let permit = app.long_answer_for(caller.access()?, &command).await?;
    let command = app.authorize(caller.access()?, command)?;
    let wanted = name.clone();
    let read = move |notebook: &Notebook, reply| (reply, notebook.find(&wanted).map(|s| s.created_at));
    match app.start.ask_then(command, read).await? {
        (Reply::Variables { variables }, Some(created_at)) => {
            json_with(StatusCode::OK, &StateView::new(name, created_at, variables), permit)
        }
        (other, _) => Err(unexpected(other)),
    }
}

/// Deletes a state. Its descendants remain.
#[utoipa::path(
    delete, path = "/states/{name}", tag = "kernel",
    params(("name" = String, Path, description = "Name or id")),
    responses((status = 200, body = Deleted), (status = 404, description = "No such state", body = ErrorBody))
)]
pub(crate) async fn delete_state(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    _: NoBody,
) -> HttpResult {
    let name = path.get(0).to_owned();
    let command = Command::DeleteState { state: StateRef::name(&name), subtree: false };
    // Not by `authorize`, because snapshot-kernel deletes `initial`, too.
    let command = Permitted::check(caller.access()?.scope, command)?;
    match app.start.ask(command).await? {
        Reply::Done => Ok(HttpResponse::Ok().json(Deleted { deleted: name })),
        other => Err(unexpected(other)),
    }
}

/// Stops all runs and removes all states except `initial`. A copy of the notebook goes into the
/// trash.
#[utoipa::path(post, path = "/reset", tag = "kernel", responses((status = 200, body = Status)))]
pub(crate) async fn reset(app: web::Data<AppState>, caller: Caller, _: NoBody) -> HttpResult {
    match app.ask(&app.start, caller.access()?, Command::Reset).await? {
        Reply::Done => Ok(HttpResponse::Ok().json(Status { status: "ok" })),
        other => Err(unexpected(other)),
    }
}

/// Formats milliseconds since the Unix epoch as `2026-03-01T12:00:00.000000+00:00`. A time before
/// 1970 becomes the first moment of 1970.
fn iso_8601(ms: f64) -> String {
    let micros = (ms * 1000.0).round().max(0.0) as i64;
    let date = OffsetDateTime::UNIX_EPOCH.checked_add(Duration::microseconds(micros));
    // Years after 9999 occur only in a damaged notebook.
    let date = date.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let (year, month, day) = date.to_calendar_date();
    let (hour, minute, second, micro) = date.to_hms_micro();
    let month = u8::from(month);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micro:06}+00:00")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_keep_their_order() {
        let variable = |name: &str| Variable {
            name: name.into(),
            type_name: "int".into(),
            repr: "1".into(),
            size: None,
            bytes: None,
            fingerprint: None,
            sampled: false,
            summary: None,
        };
        let view = StateView::new("s".into(), 0.0, vec![variable("z"), variable("a")]);
        assert_eq!(
            serde_json::to_string(&view).ok().as_deref(),
            Some(concat!(
                r#"{"name":"s","timestamp":"1970-01-01T00:00:00.000000+00:00","variables":"#,
                r#"{"z":{"type":"int","repr":"1"},"a":{"type":"int","repr":"1"}}}"#
            ))
        );
    }

    #[test]
    fn dates_around_leap_days_and_centuries() {
        for (ms, text) in [
            (-1.0, "1970-01-01T00:00:00.000000+00:00"),
            (0.0, "1970-01-01T00:00:00.000000+00:00"),
            (951_782_399_999.0, "2000-02-28T23:59:59.999000+00:00"),
            (951_782_400_000.0, "2000-02-29T00:00:00.000000+00:00"),
            (1_709_251_199_001.25, "2024-02-29T23:59:59.001250+00:00"),
            (1_767_225_600_000.0, "2026-01-01T00:00:00.000000+00:00"),
            (4_107_542_400_000.0, "2100-03-01T00:00:00.000000+00:00"),
        ] {
            assert_eq!(iso_8601(ms), text);
        }
    }
}
