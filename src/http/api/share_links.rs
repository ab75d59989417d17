//! Lists, makes and revokes share links. A share link is stored with its notebook and survives a
//! restart.

use crate::http::app_state::{AppState, Listens, detached};
use crate::http::auth::{HeldLink, Link, LinkError, NewLink};
use crate::http::error::{ErrorBody, HttpResult};
use crate::http::limits;
use crate::http::percent::percent_encoded;
use crate::http::request::{Json, NoBody, PathParams};
use crate::http::saved_credentials::store;
use crate::problem::{Kind, Problem};
use crate::session::Scope;
use actix_web::{HttpResponse, web};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use utoipa::ToSchema;

/// Exclusive upper limit of `expires_in`, in seconds: ten years.
const MAX_LINK_SECONDS: u64 = 10 * 365 * 24 * 3600;

/// The body of `POST /api/links`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkWish {
    /// `view` or `run`.
    scope: Scope,
    /// The notebook that the link opens. Default: the notebook that the server was started with.
    notebook: Option<String>,
    /// The owner's note, for example who has the link.
    label: Option<String>,
    /// Seconds until the link expires. By default the link is valid until it is revoked.
    expires_in: Option<u64>,
}

/// The answer to `POST /api/links`: the new share link.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct NewLinkView {
    #[serde(flatten)]
    link: Link,
    /// The link's token. No other answer contains the token.
    token: String,
    /// The path and query of the link's URL on this server, with the token.
    path: String,
}

/// The answer to `GET /api/links`.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Links {
    /// The share links, in creation order.
    links: Vec<Link>,
    /// Where browsers find the server, for a link's address.
    listens: Listens,
}

/// Lists the share links.
#[utoipa::path(get, path = "/api/links", tag = "links", responses((status = 200, body = Links)))]
pub(crate) async fn links(app: web::Data<AppState>) -> HttpResponse {
    HttpResponse::Ok().json(Links { links: app.keys.links(app.keys.now()), listens: app.listens.clone() })
}

/// Makes a share link.
#[utoipa::path(
    post, path = "/api/links", tag = "links", request_body = LinkWish,
    responses(
        (status = 201, body = NewLinkView),
        (status = 400, body = ErrorBody),
        (status = 404, body = ErrorBody),
        (status = 507, description = "The link could not be stored. It is not valid", body = ErrorBody),
    )
)]
pub(crate) async fn add_link(app: web::Data<AppState>, Json(body): Json<LinkWish>) -> HttpResult {
    if body.scope == Scope::Owner {
        let why = "a link cannot have the scope `owner`";
        return Err(Problem::bad_request("create a share link", why, "use the scope `view` or `run`"));
    }
    if let Some(label) = &body.label {
        limits::check_label(label)?;
    }
    let lasts = match body.expires_in {
        Some(0) | Some(MAX_LINK_SECONDS..) => {
            let how = format!(
                "use a number of seconds above 0 and below {MAX_LINK_SECONDS}, or leave `expires_in` out"
            );
            return Err(Problem::bad_request("create a share link", "`expires_in` is 0 or too large", how));
        }
        seconds => seconds.map(Duration::from_secs),
    };
    let notebook = body.notebook.unwrap_or_else(|| app.start.name().to_owned());
    let new = NewLink { scope: body.scope, notebook, label: body.label, lasts };
    let (link, token) = detached(store_and_add_link(app.clone(), new)).await?;
    let path = app.base_url.join(&format!("/n/{}?token={token}", percent_encoded(&link.notebook)));
    Ok(HttpResponse::Created().json(NewLinkView { link, token, path }))
}

/// Revokes a share link, and closes all connections that use the link.
#[utoipa::path(
    delete, path = "/api/links/{id}", tag = "links", params(("id" = String, Path)),
    responses((status = 204, description = "The link was revoked"), (status = 404, body = ErrorBody))
)]
pub(crate) async fn take_back_link(app: web::Data<AppState>, path: PathParams, _: NoBody) -> HttpResult {
    detached(store_and_revoke_link(app, path.get(0).to_owned())).await?;
    Ok(HttpResponse::NoContent().finish())
}

/// Makes a link and stores it. The link becomes valid when it is on disk.
async fn store_and_add_link(app: web::Data<AppState>, new: NewLink) -> Result<(Link, String), Problem> {
    let session = AppState::notebook(&app, &new.notebook).await?;
    let _lock = app.changes.lock().await;
    let now = app.keys.now();
    let (link, token) = app.keys.make_link(new, now)?;
    let mut held = app.keys.held(session.name(), now);
    held.push(link.clone());
    store(&app, &session, held.iter().map(HeldLink::to_kept).collect(), None).await?;
    let shown = link.shown().clone();
    app.keys.add_link(link, now);
    Ok((shown, token))
}

/// Removes a link from the disk, then revokes it in memory. In this order, a revoked link cannot
/// become valid again at the next start.
async fn store_and_revoke_link(app: web::Data<AppState>, id: String) -> Result<(), Problem> {
    let no_such =
        || Problem::not_found(format!("find link {id:?}"), "there is no such link, or it has expired");
    let name = app.keys.notebook_of(&id, app.keys.now()).ok_or_else(no_such)?;
    let session = match AppState::notebook(&app, &name).await {
        Ok(session) => Some(session),
        // The notebook's directory was deleted, and with it the stored links.
        Err(refused) if refused.kind == Kind::NotFound => None,
        Err(refused) => return Err(refused),
    };
    let _lock = app.changes.lock().await;
    if let Some(session) = session {
        let held = app.keys.held(&name, app.keys.now());
        let others = held.iter().filter(|l| l.shown().id != id).map(HeldLink::to_kept).collect();
        store(&app, &session, others, Some(&id)).await?;
    }
    if app.keys.revoke_link(&id) { Ok(()) } else { Err(no_such()) }
}

impl From<LinkError> for Problem {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::TooMany => Problem::new(
                Kind::Conflict,
                "create a share link",
                error.to_string(),
                "revoke a link that is no longer needed",
            ),
            LinkError::NoSecret(_) => Problem::internal("the operating system provides no random numbers"),
        }
    }
}
