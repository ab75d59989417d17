//! `/api/workers`, and the check before a sweep at workers.

use crate::http::app_state::AppState;
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::request::{Caller, Json, PathParams};
use crate::notebook::{Checkpoint, Command, Form, Missing, Reply, StateId};
use crate::problem::{Kind, Problem};
use crate::workers::{Moving, Probe, Workers};
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use utoipa::ToSchema;

/// Maximum number of differing packages in an answer.
const MAX_PACKAGES: usize = 100;

/// The answer to `GET /api/workers`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct WorkersStatus {
    /// The engine, as `--workers` names it; null if the server has no workers.
    engine: Option<String>,
    /// Whether the engine's client is connected.
    is_connected: bool,
    /// The engine's own words about itself.
    description: Option<String>,
    /// Number of tasks that may run at the same time; null if that is unknown.
    slots: Option<u64>,
    /// Why the engine or the object store cannot be reached, as a sentence. Runs wait meanwhile.
    problem: Option<String>,
}

/// The body of `POST /api/notebooks/{name}/workers/check`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CheckBody {
    /// The state that the cell would run against, by its name or id.
    at: String,
    /// The source of the cell; may be empty.
    #[serde(default)]
    code: String,
}

/// What has to be known before a cell runs at workers.
#[derive(Debug, Default, Serialize, ToSchema)]
pub(crate) struct WorkersCheck {
    /// Why the cell would fail at the workers, as sentences with the way out. If there are none,
    /// nothing is known that speaks against it.
    refusals: Vec<String>,
    /// What may make a difference, as sentences.
    warnings: Vec<String>,
    /// Variables that the state's checkpoint could not hold.
    #[schema(value_type = Vec<Object>)]
    missing: Vec<Missing>,
    /// The packages whose versions differ between server and worker.
    packages: Vec<PackageDifference>,
    /// The node that answered; null if none did.
    node: Option<String>,
    /// Bytes of the state that have to be stored before the first row; null if the state has no
    /// checkpoint yet.
    bytes_to_store: Option<u64>,
    /// Bytes that a node fetches before its first row, if it has nothing of the state; null as
    /// above.
    bytes_per_node: Option<u64>,
}

/// A package whose version differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct PackageDifference {
    /// Its name.
    name: String,
    /// The version in the server's environment.
    here: String,
    /// The version in the worker's; null if it is not installed there.
    there: Option<String>,
}

/// Whether the server has workers, and whether they can be reached.
#[utoipa::path(get, path = "/api/workers", tag = "workers", responses((status = 200, body = WorkersStatus)))]
pub(crate) async fn status(app: web::Data<AppState>) -> HttpResult {
    let Some(workers) = app.sessions.workers() else {
        return Ok(HttpResponse::Ok().json(WorkersStatus {
            engine: None,
            is_connected: false,
            description: None,
            slots: None,
            problem: None,
        }));
    };
    let status = workers.status();
    let of_store = workers.store_problem().map(|problem| format!("{problem}; {}", problem.how));
    Ok(HttpResponse::Ok().json(WorkersStatus {
        engine: Some(status.engine),
        is_connected: status.is_connected,
        description: status.description,
        slots: status.slots,
        problem: status.problem.or(of_store),
    }))
}

/// Compares server and workers before a cell runs there: what the checkpoint lacks, Python and
/// packages, and the bytes that have to be moved. Asks one worker, so it may take a minute.
#[utoipa::path(
    post, path = "/api/notebooks/{name}/workers/check", tag = "workers", params(("name" = String, Path)),
    request_body = CheckBody,
    responses(
        (status = 200, body = WorkersCheck),
        (status = 404, description = "No such state", body = ErrorBody),
        (status = 409, description = "The server has no workers", body = ErrorBody),
    )
)]
pub(crate) async fn check(
    app: web::Data<AppState>,
    caller: Caller,
    path: PathParams,
    Json(CheckBody { at, code }): Json<CheckBody>,
) -> HttpResult {
    let session = AppState::notebook(&app, path.get(0)).await?;
    let Some(workers) = app.sessions.workers().cloned() else {
        let (why, how) = ("this server has no workers", "start it with --workers and --store");
        return Err(Problem::new(Kind::Conflict, "ask the workers", why, how));
    };
    let what = format!("find state {at:?}");
    let found = session
        .read(move |notebook| {
            let state = notebook.find(&at)?;
            Some((state.id.clone(), state.checkpoint.clone(), notebook.python().clone()))
        })
        .await?;
    let (id, checkpoint, python) =
        found.ok_or_else(|| Problem::not_found(what, "no state has this name or id"))?;
    let reads = reads(&app, &session, &caller, &id, code).await?;
    let checkpoint = checkpoint.filter(|c| c.form == Form::Environment);
    let blobs = session.files().blobs.clone();
    let manifest = checkpoint.as_ref().map(|checkpoint| checkpoint.checkpoint_id.clone());
    let asked = workers.clone();
    let (probes, moving) = app
        .threads
        .run(move || (asked.probe(), manifest.map(|manifest| asked.moving(&blobs, &manifest))))
        .await?;
    let mut check = WorkersCheck::default();
    check.note_state(&id, checkpoint.as_ref(), &reads);
    check.note_moving(moving);
    match probes {
        Ok((there, own)) => check.note_worker(&workers, there, own, python.series()),
        Err(why) => check.refusals.push(format!("no worker can be asked: {why}. Rows wait until one can be")),
    }
    Ok(HttpResponse::Ok().json(check))
}

/// The variables of the state that a cell reads.
async fn reads(
    app: &AppState,
    session: &crate::session::Session,
    caller: &Caller,
    state: &StateId,
    code: String,
) -> Result<Vec<String>, Problem> {
    if code.trim().is_empty() {
        return Ok(Vec::new());
    }
    let command = Command::FindParameters { state: state.clone(), code };
    match app.ask(session, caller.access()?, command).await {
        Ok(Reply::Parameters(found)) => Ok(found.reads),
        // The sweep itself says what is wrong with the cell.
        _ => Ok(Vec::new()),
    }
}

impl WorkersCheck {
    fn note_state(&mut self, id: &StateId, checkpoint: Option<&Checkpoint>, reads: &[String]) {
        let Some(checkpoint) = checkpoint else {
            if !id.is_root() {
                self.warnings.push("the state has no checkpoint yet; it is written first".into());
            }
            return;
        };
        if !checkpoint.is_trusted {
            self.refusals.push(
                "the state's checkpoint comes from another install. Trust the notebook's checkpoints first"
                    .into(),
            );
        }
        self.missing.clone_from(&checkpoint.missing);
        for Missing { name, reason, .. } in checkpoint.missing.iter().filter(|m| reads.contains(&m.name)) {
            self.refusals.push(format!(
                "the cell reads `{name}`, and workers do not get it ({reason}). Make it in the cell, or run \
                 the rows here"
            ));
        }
    }

    fn note_moving(&mut self, moving: Option<Result<Moving, Problem>>) {
        match moving {
            None => {}
            Some(Ok(Moving { to_push, all })) => {
                (self.bytes_to_store, self.bytes_per_node) = (Some(to_push), Some(all));
            }
            Some(Err(problem)) => self.refusals.push(format!("{problem}. Way out: {}", problem.how)),
        }
    }

    fn note_worker(&mut self, workers: &Workers, there: Probe, own: Option<Probe>, series: &str) {
        let node = &there.node;
        let of_worker = there.python.rsplit_once('.').map_or(there.python.as_str(), |(series, _)| series);
        if of_worker != series {
            self.refusals.push(format!(
                "the notebook has Python {series}, and the worker {node} has Python {}: it cannot load the \
                 state. Give the workers Python {series}, or the notebook Python {of_worker}",
                there.python
            ));
        }
        match &there.ratoon {
            None => self.refusals.push(format!(
                "the worker {node} has no Ratoon. Run `pip install ratoon` in its environment"
            )),
            Some(version) if version != env!("CARGO_PKG_VERSION") => self.refusals.push(format!(
                "the worker {node} has Ratoon {version}, and this server is {}. Install the same version",
                env!("CARGO_PKG_VERSION")
            )),
            Some(_) => {}
        }
        match &there.key {
            Some(key) if *key == workers.key_id() => {}
            _ => self.refusals.push(format!(
                "the worker {node} does not have this server's key. Copy the file workers-key of the \
                 server's configuration directory, or set RATOON_WORKERS_KEY on both sides"
            )),
        }
        if let Some(own) = own.filter(|own| own.python.starts_with(&format!("{series}."))) {
            self.packages = differences(&own.packages, &there.packages);
            self.warnings.extend(package_warning(node, &self.packages));
        }
        self.node = Some(there.node);
    }
}

/// How many packages the worker lacks, and of how many it has another version, as a sentence.
fn package_warning(node: &str, packages: &[PackageDifference]) -> Option<String> {
    let lacking = packages.iter().filter(|one| one.there.is_none()).count();
    let lacks = match lacking {
        0 => None,
        1 => Some("lacks 1 package of this environment".to_owned()),
        _ => Some(format!("lacks {lacking} packages of this environment")),
    };
    let has = match packages.len() - lacking {
        0 => None,
        1 => Some("has another version of 1 package".to_owned()),
        differing => Some(format!("has other versions of {differing} packages")),
    };
    let parts: Vec<String> = lacks.into_iter().chain(has).collect();
    (!parts.is_empty()).then(|| format!("the worker {node} {}", parts.join(", and ")))
}

/// The packages of one environment that another does not have in the same version.
fn differences(here: &BTreeMap<String, String>, there: &BTreeMap<String, String>) -> Vec<PackageDifference> {
    let differs = |(name, version): (&String, &String)| {
        let other = there.get(name);
        (other != Some(version)).then(|| PackageDifference {
            name: name.clone(),
            here: version.clone(),
            there: other.cloned(),
        })
    };
    here.iter().filter_map(differs).take(MAX_PACKAGES).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_differs_is_listed() {
        let packages = |all: &[(&str, &str)]| -> BTreeMap<String, String> {
            all.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect()
        };
        let here = packages(&[("numpy", "2.0"), ("pandas", "3.0"), ("rich", "1")]);
        let there = packages(&[("numpy", "2.0"), ("pandas", "2.9"), ("dask", "1")]);
        let found = differences(&here, &there);
        let shown: Vec<_> = found.iter().map(|one| (one.name.as_str(), one.there.as_deref())).collect();
        assert_eq!(shown, [("pandas", Some("2.9")), ("rich", None)]);
    }
    #[test]
    fn a_warning_counts_only_packages_that_differ() {
        let package = |there: Option<&str>| PackageDifference {
            name: "numpy".into(),
            here: "2.0".into(),
            there: there.map(Into::into),
        };
        let (lacking, other) = (package(None), package(Some("2.1")));
        let warning = |packages: &[PackageDifference]| package_warning("n1", packages).unwrap_or_default();
        assert_eq!(warning(&[]), "");
        assert_eq!(
            warning(std::slice::from_ref(&lacking)),
            "the worker n1 lacks 1 package of this environment"
        );
        assert_eq!(
            warning(&[other.clone(), other.clone()]),
            "the worker n1 has other versions of 2 packages"
        );
        assert_eq!(
            warning(&[lacking.clone(), lacking, other]),
            "the worker n1 lacks 2 packages of this environment, and has another version of 1 package"
        );
    }
}
