//! `POST /symbol_hashes` and `POST /alias_groups`. Clients compare the answers for two states to
//! find out which cells need not run again.

use crate::http::app_state::AppState;
use crate::http::authorize::{find_state, unexpected};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::{Caller, Json};
use crate::notebook::{Command, Digests, Reply, StateId};
use crate::problem::Problem;
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// The body of `POST /symbol_hashes`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct SymbolHashes {
    /// The state, by name or id.
    state_name: String,
    /// The names of the variables to hash.
    symbols: Vec<String>,
    /// Must be `full`, which is the default: a digest covers the whole content of a value.
    hash_algo: Option<String>,
}

/// The answer to `POST /symbol_hashes`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Hashes {
    /// A digest for each variable, as 64 hexadecimal digits; null for a variable that does not
    /// exist. Equal digests mean equal values.
    hashes: BTreeMap<String, Option<String>>,
}

/// The body of `POST /alias_groups`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct AliasGroups {
    /// The state, by name or id.
    state_name: String,
}

/// The answer to `POST /alias_groups`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Groups {
    /// The groups. Every variable is in exactly one group. Variables that share a mutable object
    /// are in the same group.
    pub(super) groups: Vec<Vec<String>>,
    /// A digest for each group, in the order of `groups`, as 64 hexadecimal digits. It covers the
    /// values of the group and which objects they share.
    pub(super) fingerprints: Vec<String>,
}

/// Computes digests of a state's variables.
#[utoipa::path(
    post, path = "/symbol_hashes", tag = "kernel", request_body = SymbolHashes,
    responses(
        (status = 200, body = Hashes),
        (
            status = 400,
            description = "Not JSON, a field is missing or wrong, or `hash_algo` is not `full`",
            body = ErrorBody,
        ),
        (status = 404, description = "No such state", body = ErrorBody),
    )
)]
pub(crate) async fn symbol_hashes(
    app: web::Data<AppState>,
    caller: Caller,
    Json(body): Json<SymbolHashes>,
) -> HttpResult {
    if body.hash_algo.as_deref().is_some_and(|algo| algo != "full") {
        return Err(Problem::bad_request(
            "hash variables",
            "the only hash_algo is \"full\"",
            "see docs/api.md",
        ));
    }
    let state = find_state(&app.start, &body.state_name).await?;
    let digests = digests(&app, &caller, &state.id).await?;
    let of = |name: &String| {
        let known = digests.hashes.get(name)?;
        Some(known.clone().unwrap_or_else(|| unlike_all(&state.id, &[name])))
    };
    let hashes = body.symbols.iter().map(|name| (name.clone(), of(name))).collect();
    Ok(HttpResponse::Ok().json(Hashes { hashes }))
}

/// Groups a state's variables by the objects that they share.
#[utoipa::path(
    post, path = "/alias_groups", tag = "kernel", request_body = AliasGroups,
    responses(
        (status = 200, body = Groups),
        (status = 400, description = "Not JSON, or a field is missing or wrong", body = ErrorBody),
        (status = 404, description = "No such state", body = ErrorBody),
    )
)]
pub(crate) async fn alias_groups(
    app: web::Data<AppState>,
    caller: Caller,
    Json(body): Json<AliasGroups>,
) -> HttpResult {
    let state = find_state(&app.start, &body.state_name).await?;
    Ok(HttpResponse::Ok().json(groups(&app, &caller, &state.id).await?))
}

pub(super) async fn groups(app: &AppState, caller: &Caller, state: &StateId) -> Result<Groups, Problem> {
    let Digests { groups, fingerprints, .. } = digests(app, caller, state).await?;
    let known = fingerprints.into_iter().zip(&groups);
    let fingerprints = known.map(|(one, group)| one.unwrap_or_else(|| unlike_all(state, group))).collect();
    Ok(Groups { groups, fingerprints })
}

async fn digests(app: &AppState, caller: &Caller, state: &StateId) -> Result<Digests, Problem> {
    match app.ask(&app.start, caller.access()?, Command::Digest { state: state.clone().into() }).await? {
        Reply::Digested { digests } => Ok(digests),
        other => Err(unexpected(other)),
    }
}

/// A substitute for a digest that cannot be computed. No digest of another state equals it, so
/// clients treat the value as changed.
fn unlike_all(state: &StateId, names: &[impl AsRef<str>]) -> String {
    let mut hash = Sha256::new();
    hash.update(state.as_str());
    for name in names {
        hash.update([0]);
        hash.update(name.as_ref());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
