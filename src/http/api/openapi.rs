//! The OpenAPI document, which describes the REST API.
//!
//! The bodies that `http` defines derive their schemas with utoipa. The types of `notebook` derive
//! JSON schemas, because the page's protocol types are also generated from those. This module adds
//! the JSON schemas to the document's components.

use super::{
    agents, commands, deleted, documents, files, health, libraries, lint, memory, merge, node, notebooks,
    pictures, pythons, run_many, settings, share_links, state_files, states, sweeps, tasks, terminals, trash,
    workers,
};
use crate::http::app_state::AppState;
use crate::http::{compat, page};
use crate::notebook::{
    ChangedOnLoad, Checkpoint, Command, Form, MergePlan, Missing, OnConflict, OnError, Output, Place, Python,
    Reply, Residency, Resources, RestoredFrom, RunError, Saving, Snapshot, StateId, SweepSpec, TakenName,
    TaskCheckpoint, Wanted,
};
use crate::problem::Problem;
use actix_web::{HttpResponse, web};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{RefOr, Schema};
use utoipa::{Modify, OpenApi, PartialSchema, ToSchema};

/// Lets the descriptions of routes refer to types that derive `JsonSchema` but not `ToSchema`.
macro_rules! components {
    ($($type:ident),* $(,)?) => {
        $(
            impl PartialSchema for $type {
                /// A placeholder: `document` puts the type's JSON schema in its place.
                fn schema() -> RefOr<Schema> {
                    Schema::default().into()
                }
            }

            impl ToSchema for $type {
                fn name() -> Cow<'static, str> {
                    <$type as JsonSchema>::schema_name()
                }
            }
        )*

        /// The JSON schemas of these types and of all types that they contain, by name.
        fn components() -> Map<String, Value> {
            let settings = SchemaSettings::draft2020_12().for_deserialize();
            let mut generator =
                settings.with(|s| s.definitions_path = "/components/schemas".into()).into_generator();
            $(generator.subschema_for::<$type>();)*
            generator.take_definitions(true)
        }
    };
}

components!(
    ChangedOnLoad,
    Checkpoint,
    Command,
    Form,
    MergePlan,
    Missing,
    OnConflict,
    OnError,
    Output,
    Place,
    Problem,
    Python,
    Reply,
    Residency,
    Resources,
    RestoredFrom,
    RunError,
    Saving,
    Snapshot,
    StateId,
    SweepSpec,
    TakenName,
    TaskCheckpoint,
    Wanted,
);

/// The OpenAPI document of the REST API.
pub(crate) fn document() -> Value {
    // Serialising plain data cannot fail.
    let mut document = serde_json::to_value(ApiDoc::openapi()).unwrap_or_default();
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.extend(components());
        schemas.sort_keys();
    }
    document
}

/// Lists the routes, and the bodies that derive their schemas with utoipa.
#[derive(Debug, OpenApi)]
#[openapi(
    info(title = "Ratoon", description = "Run any cell against any state, over HTTP."),
    paths(
        compat::execute, compat::multistate_execute, compat::symbol_hashes, compat::alias_groups,
        compat::rebuild_state, compat::states, compat::state, compat::delete_state, compat::reset,
        compat::interrupt,
        health::health, notebooks::notebooks, notebooks::rename, notebooks::duplicate, notebooks::remove,
        notebooks::open_notebook, commands::snapshot, commands::command, commands::batch, commands::variables,
        page::sign_in::sign_out, openapi,
        state_files::export, state_files::import, documents::document, documents::import,
        states::states, states::checkpoint, states::save, states::replay, states::pin, states::fork_anyway,
        states::label, merge::merge, run_many::run_many,
        states::clear_namespace, states::trust, agents::stop,
        sweeps::start, sweeps::list, sweeps::sweep, sweeps::stop, sweeps::collapse, sweeps::remove,
        tasks::list, tasks::save, tasks::latest, tasks::version, tasks::restore,
        libraries::library, lint::lint, lint::format, lint::install,
        terminals::list, terminals::open, terminals::close,
        pythons::pythons, pythons::choose, settings::settings, settings::change,
        trash::list, trash::restore, trash::purge,
        deleted::list, memory::memory, files::root, files::folder, files::make_folder, files::download,
        files::upload, files::rename, files::remove, files::deleted, files::restore, files::purge,
        pictures::attach, pictures::attachment, pictures::local,
        workers::status, workers::check, node::status, node::run,
        share_links::links, share_links::add_link, share_links::take_back_link,
    ),
    modifiers(&Bearer),
    security(("token" = [])),
)]
struct ApiDoc;

/// Returns the OpenAPI document of this API.
#[utoipa::path(
    get, path = "/api/openapi.json", tag = "server",
    responses((status = 200, description = "OpenAPI")),
)]
pub(crate) async fn openapi(app: web::Data<AppState>) -> HttpResponse {
    let mut document = document();
    let base = app.base_url.to_string();
    if !base.is_empty() {
        document["servers"] = json!([{ "url": base }]);
    }
    HttpResponse::Ok().json(document)
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

    /// Routes that are not REST: pages, files, the socket and MCP.
    const NOT_DESCRIBED: [&str; 8] =
        ["/", "/n/{}", "/ws/{}", "/terminal", "/terminals/{}", "/frame/v1", "/assets/{}/{..}", "/mcp"];

    #[test]
    fn every_route_is_described_and_every_description_is_a_route() {
        let document = document();
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
            .map(|r| (r.method.to_string(), r.path.replace("{..}", "{}")))
            .collect();
        assert_eq!(described, routes);
    }

    /// Calls `seen` with the target of every `$ref`.
    fn each_ref(value: &Value, seen: &mut dyn FnMut(&str)) {
        match value {
            Value::Object(fields) => {
                fields.get("$ref").and_then(Value::as_str).into_iter().for_each(&mut *seen);
                fields.values().for_each(|field| each_ref(field, seen));
            }
            Value::Array(items) => items.iter().for_each(|item| each_ref(item, seen)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_to_a_schema_that_says_something() {
        let document = document();
        let mut count = 0;
        each_ref(&document, &mut |name| {
            let schema = document.pointer(name.trim_start_matches('#')).and_then(Value::as_object);
            assert!(schema.is_some_and(|schema| !schema.is_empty()), "{name}");
            count += 1;
        });
        assert!(count > 150, "{count}");
    }
}
