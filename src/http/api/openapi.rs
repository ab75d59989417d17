//! The description of the REST API that the server serves about itself.

use super::{
    commands, documents, health, libraries, notebooks, share_links, state_files, states, tasks, trash,
};
use crate::http::{compat, page};
use actix_web::HttpResponse;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};

/// The API as an OpenAPI document.
#[derive(Debug, OpenApi)]
#[openapi(
    info(title = "Ratoon", description = "Run any cell against any state, over HTTP."),
    paths(
        compat::execute, compat::multistate_execute, compat::symbol_hashes, compat::alias_groups,
        compat::rebuild_state, compat::states, compat::state, compat::delete_state, compat::reset,
        compat::interrupt,
        health::health, notebooks::notebooks, notebooks::rename, notebooks::duplicate, notebooks::remove,
        notebooks::open_notebook, commands::snapshot, commands::command, commands::variables,
        page::sign_in::sign_out, openapi,
        state_files::export, state_files::import, documents::document, documents::import,
        states::states, states::checkpoint, states::save, states::replay, states::pin, states::fork_anyway,
        states::label,
        states::clear_namespace, states::trust,
        tasks::list, tasks::save, tasks::latest, tasks::version, tasks::restore,
        libraries::library, trash::list, trash::restore, trash::purge,
        share_links::links, share_links::add_link, share_links::take_back_link,
    ),
    modifiers(&Bearer),
    security(("token" = [])),
)]
pub(crate) struct ApiDoc;

/// Describes this API.
#[utoipa::path(get, path = "/api/openapi.json", tag = "server", responses((status = 200, description = "OpenAPI")))]
pub(crate) async fn openapi() -> HttpResponse {
    HttpResponse::Ok().json(ApiDoc::openapi())
}
struct Bearer;

impl Modify for Bearer {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        openapi.components.get_or_insert_default().add_security_scheme("token", SecurityScheme::Http(token));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::http::routes::TABLE;
    use std::collections::BTreeSet;

    /// Pages, files and the socket are not REST.
    const NOT_DESCRIBED: [&str; 5] = ["/", "/n/{}", "/ws/{}", "/frame/v1", "/assets/{}/{..}"];

    #[test]
    fn every_route_is_described_and_every_description_is_a_route() {
        let document = serde_json::to_value(ApiDoc::openapi()).unwrap();
        let described: BTreeSet<(String, String)> = document["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(|(path, methods)| {
                let plain =
                    path.split('/').map(|p| if p.starts_with('{') { "{}" } else { p }).collect::<Vec<_>>();
                methods.as_object().unwrap().keys().map(move |m| (m.to_uppercase(), plain.join("/")))
            })
            .collect();
        let routes: BTreeSet<(String, String)> = TABLE
            .iter()
            .filter(|r| !NOT_DESCRIBED.contains(&r.path))
            .map(|r| (r.method.to_string(), r.path.to_owned()))
            .collect();
        assert_eq!(described, routes);
    }
}
