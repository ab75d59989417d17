//! The calls of snapshot-kernel about several states, or about what their variables share: by these its clients run code
//! against several states, and tell which cells need not run again.

use super::answer::Executed;
use super::{AppState, executed};
use crate::http::ask::{self, find, unexpected};
use crate::http::body::Json;
use crate::http::error::ErrorBody;
use crate::http::guard::Caller;
use crate::notebook::{
    Base, Command, Digests, Ended, ExecId, Reading, Rebuild, Reply, Residency, RunSpec, RunStatus, State,
    StateId, StateRef,
};
use crate::problem::{Kind, Problem};
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use serde_json::Map;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// How many states one piece of code may read: a process of each sends what is read of it.
const MAX_READ_STATES: usize = 64;
/// How many states may be named beside it: of one that the code does not name, nothing is read.
const MAX_NAMED_STATES: usize = 10_000;

/// The body of `POST /multistate_execute`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct MultistateExecute {
    /// The source.
    #[serde(default)]
    code: String,
    /// The caller's id for the run, by which it is interrupted. It is free again when the run has ended.
    exec_id: String,
    /// States by the names that the code has for them: `a.x` is the variable `x` of the state called `a`.
    #[schema(value_type = BTreeMap<String, String>)]
    state_mapping: Map<String, serde_json::Value>,
    /// The state whose variables the code has as its own.
    #[serde(default)]
    default_state: Option<String>,
    /// Seconds after which the run is interrupted.
    #[serde(default)]
    timeout: Option<f64>,
    /// Bytes of memory that the run may add to what its state holds.
    #[serde(default)]
    run_memory: Option<u64>,
    /// Whether a default state that can only come back by running its cells again is brought back so.
    #[serde(default)]
    replay: bool,
}

/// The body of `POST /symbol_hashes`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct SymbolHashes {
    /// The state, by name or id.
    state_name: String,
    /// The variables.
    symbols: Vec<String>,
    /// `full`: of the whole content.
    #[serde(default)]
    hash_algo: Option<String>,
}

/// The answer to `POST /symbol_hashes`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Hashes {
    /// 64 hexadecimal digits for each variable; null of one that is not there. Equal only for equal values.
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
    /// Each variable is in one: with all that share an object with it that can be changed.
    groups: Vec<Vec<String>>,
    /// Of each group, 64 hexadecimal digits: of its values and of what they share.
    fingerprints: Vec<String>,
}

/// The body of `POST /rebuild_state`.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct RebuildState {
    /// The state that the new one grows from.
    input_state: String,
    /// The other state.
    source_state: String,
    /// The variables that come from the other state. What shares objects with them is to come with them.
    source_vars: Vec<String>,
    /// The variables that stay of the first one.
    input_vars: Vec<String>,
    /// The name for the new state; without it, its id.
    #[serde(default)]
    new_state_name: Option<String>,
}

/// The answer to `POST /rebuild_state`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Rebuilt {
    /// The name of the new state.
    state_name: String,
    /// As `POST /alias_groups` answers of it.
    groups: Vec<Vec<String>>,
    /// As `POST /alias_groups` answers of it.
    fingerprints: Vec<String>,
}

/// Runs code that reads several states, and leaves nothing behind: no state, no run.
#[utoipa::path(
    post, path = "/multistate_execute", tag = "kernel", request_body = MultistateExecute,
    responses(
        (status = 200, description = "The run has ended, well or not; `state_name` is null", body = Executed),
        (status = 400, description = "Not JSON, or a field is missing or wrong", body = ErrorBody),
        (status = 409, description = "A run with this exec_id is going on, or was a cell", body = ErrorBody),
    )
)]
pub(crate) async fn multistate_execute(
    app: web::Data<AppState>,
    caller: Caller,
    Json(wish): Json<MultistateExecute>,
) -> Result<HttpResponse, Problem> {
    let mut reads = Vec::new();
    let on = wish.default_state.map_or(Base::State(StateId::root()), Base::Name);
    for (alias, name) in &wish.state_mapping {
        let name =
            name.as_str().ok_or_else(|| bad(format!("read a state as {alias:?}"), "its name is no text"))?;
        let state = StateRef::name(name);
        reads.push(Reading { alias: alias.clone(), state, is_named: names(&wish.code, alias) });
    }
    let named = reads.iter().filter(|reading| reading.is_named).count();
    if named > MAX_READ_STATES || reads.len() > MAX_NAMED_STATES {
        let why = format!(
            "it names {named} of {} states, and {MAX_READ_STATES} of {MAX_NAMED_STATES} can be",
            reads.len()
        );
        return Err(bad("read several states".into(), &why));
    }
    let run = RunSpec {
        timeout: wish.timeout,
        run_memory: wish.run_memory,
        replay: wish.replay,
        with_outputs: true,
        reads: Some(reads),
        ..RunSpec::new(ExecId::new(wish.exec_id), wish.code, on)
    };
    executed(&app, caller.access()?, run, Vec::new()).await
}

/// Digests of variables.
#[utoipa::path(
    post, path = "/symbol_hashes", tag = "kernel", request_body = SymbolHashes,
    responses(
        (status = 200, body = Hashes),
        (status = 400, description = "Not JSON, a field is missing or wrong, or another hash_algo than full", body = ErrorBody),
        (status = 404, description = "No such state", body = ErrorBody),
    )
)]
pub(crate) async fn symbol_hashes(
    app: web::Data<AppState>,
    caller: Caller,
    Json(wish): Json<SymbolHashes>,
) -> Result<HttpResponse, Problem> {
    if wish.hash_algo.as_deref().is_some_and(|algo| algo != "full") {
        return Err(bad("hash variables".into(), "the only hash_algo is \"full\""));
    }
    let state = find(&app.start, &wish.state_name).await?;
    let digests = digests(&app, &caller, &state.id).await?;
    let of = |name: &String| {
        let known = digests.hashes.get(name)?;
        Some(known.clone().unwrap_or_else(|| unlike_all(&state.id, &[name])))
    };
    let hashes = wish.symbols.iter().map(|name| (name.clone(), of(name))).collect();
    Ok(HttpResponse::Ok().json(Hashes { hashes }))
}

/// Which variables of a state share objects.
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
    Json(wish): Json<AliasGroups>,
) -> Result<HttpResponse, Problem> {
    let state = find(&app.start, &wish.state_name).await?;
    Ok(HttpResponse::Ok().json(groups(&app, &caller, &state.id).await?))
}

/// Makes a state of the variables of two, without running what made them.
#[utoipa::path(
    post, path = "/rebuild_state", tag = "kernel", request_body = RebuildState,
    responses(
        (status = 200, body = Rebuilt),
        (status = 400, description = "Not JSON, or a field is missing or wrong", body = ErrorBody),
        (status = 404, description = "No such state", body = ErrorBody),
        (status = 409, description = "A variable cannot leave the process of its state; run the cell instead", body = ErrorBody),
        (status = 410, description = "A state is lost", body = ErrorBody),
    )
)]
pub(crate) async fn rebuild_state(
    app: web::Data<AppState>,
    caller: Caller,
    Json(wish): Json<RebuildState>,
) -> Result<HttpResponse, Problem> {
    let what = format!("make a state of {:?} and {:?}", wish.input_state, wish.source_state);
    let input = find(&app.start, &wish.input_state).await?;
    let source = find(&app.start, &wish.source_state).await?;
    let is_lost = |state: &State| state.parent.is_some() && state.residency == Residency::Replay;
    if let Some(lost) = [&input, &source].into_iter().find(|state| is_lost(state)) {
        let why = format!("state {:?} has neither a process nor a checkpoint", lost.name);
        return Err(Problem::new(Kind::Lost, what, why, "replay it, or run the cells again"));
    }
    let is_name = |name: &&String| name.chars().all(|c| c == '_' || c.is_alphanumeric()) && !name.is_empty();
    let mut take: Vec<String> = wish.source_vars.iter().filter(is_name).cloned().collect();
    let mut keep: Vec<String> = wish.input_vars.iter().filter(is_name).cloned().collect();
    take.sort_unstable();
    take.dedup();
    keep.sort_unstable();
    keep.dedup();
    keep.retain(|name| take.binary_search(name).is_err());
    let code = Rebuild { from: source.id, take, keep }.code();
    let exec_id = ExecId::new(format!("rebuild-{}", uuid::Uuid::new_v4().simple()));
    let run = Command::Run(RunSpec {
        new_state_name: wish.new_state_name,
        ..RunSpec::new(exec_id.clone(), code, Base::State(input.id))
    });
    let access = caller.access()?;
    match ask::ask(app.start.clone(), app.admit(access, run)?).await? {
        Reply::Ended(Ended {
            status: RunStatus::Ok,
            state: Some(state),
            state_name: Some(state_name),
            ..
        }) => {
            let Groups { groups, fingerprints } = groups(&app, &caller, &state).await?;
            Ok(HttpResponse::Ok().json(Rebuilt { state_name, groups, fingerprints }))
        }
        Reply::Ended(Ended { status, error, .. }) => {
            // Nothing of it is to be seen.
            ask::ask(app.start.clone(), Command::DropAttempt { exec_id }).await?;
            let how = if status == RunStatus::Interrupted { "send it again" } else { "run the cell instead" };
            let why = match error.map(|error| error.evalue).filter(|evalue| !evalue.is_empty()) {
                Some(evalue) => evalue,
                None if status == RunStatus::Interrupted => "it was interrupted".into(),
                None => "its run ended without saying why".into(),
            };
            Err(Problem::new(Kind::Conflict, what, why, how))
        }
        other => Err(unexpected(other)),
    }
}

async fn groups(app: &AppState, caller: &Caller, state: &StateId) -> Result<Groups, Problem> {
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

/// In place of a digest that cannot be made: it is that of no other state, so whoever compares takes the value for another.
fn unlike_all(state: &StateId, names: &[impl AsRef<str>]) -> String {
    let mut hash = Sha256::new();
    hash.update(state.as_str());
    for name in names {
        hash.update([0]);
        hash.update(name.as_ref());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether code has a name in it.
fn names(code: &str, name: &str) -> bool {
    !name.is_empty() && code.split(|c: char| c != '_' && !c.is_alphanumeric()).any(|word| word == name)
}

fn bad(what: String, why: &str) -> Problem {
    Problem::new(Kind::BadRequest, what, why, "see docs/api.md")
}
