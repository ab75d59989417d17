//! The route table lists all requests that the server answers. Each row has the credential that the
//! request needs, the body that it may have, and its handler.
//!
//! There is no other routing. The guard looks up the row of a request before anything else, and
//! actix runs the handler of that row. So a request cannot be checked for one route and answered by
//! another. A request without a row reaches no handler.

use super::api::{
    agents, commands, deleted, documents, files, health, libraries, lint, memory, merge, node, notebooks,
    openapi, pictures, pythons, run_many, settings, share_links, state_files, states, sweeps, tasks,
    terminals, trash, workers,
};
use super::headers::Content;
use super::percent::segments;
use super::{compat, mcp, page, socket};
use crate::session::Scope;
use crate::store::MAX_ATTACHMENT_BYTES;
use actix_web::guard::fn_guard;
use actix_web::http::Method;
use actix_web::web;

/// The request has no body.
const NONE: Body = Body::No;

/// Bodies with source text. A cell has at most 1 MiB, and escapes in JSON make the text longer.
const SOURCE: Body = Body::Json(4 * 1024 * 1024);

/// Bodies that contain a few names.
const SMALL: Body = Body::Json(64 * 1024);

/// Bodies that contain names of variables. A state may have thousands of variables.
const NAMES: Body = Body::Json(1024 * 1024);

/// Many cells.
const MANY: Body = Body::Json(8 * 1024 * 1024);

/// The file of an exported state.
const STATE: Body = Body::File(1024 * 1024 * 1024);

/// A file that a user uploads. It is not held in memory, so a full disk is the usual limit.
const UPLOAD: Body = Body::File(64 * 1024 * 1024 * 1024);

/// A picture that a user pastes into a text cell.
const PICTURE: Body = Body::File(MAX_ATTACHMENT_BYTES);

/// Another program's notebook. Parsing takes several times the file's size in memory.
const NOTEBOOK: Body = Body::Notebook(64 * 1024 * 1024);

const PUBLIC: RequiredAccess = RequiredAccess::Public;
const VIEW: RequiredAccess = RequiredAccess::AtLeast(Scope::View);
const RUN: RequiredAccess = RequiredAccess::AtLeast(Scope::Run);
const OWNER: RequiredAccess = RequiredAccess::AtLeast(Scope::Owner);
/// For programs, which keep their tokens out of URLs. A browser's session does not count.
const VIEW_BY_HEADER: RequiredAccess = RequiredAccess::ByHeader(Scope::View);

macro_rules! routes {
    ($($method:ident $path:literal $required:ident $subject:ident $content:ident $body:expr
        => $handler:path;)*) => {
        &[$(Route {
            method: Method::$method,
            path: $path,
            required: $required,
            subject: Subject::$subject,
            content: Content::$content,
            body: $body,
            handler: || web::to($handler),
        }),*]
    };
}

/// All routes of the server.
pub(crate) const TABLE: &[Route] = routes! {
    GET    "/health"                              PUBLIC Server Data  NONE     => health::health;
    GET    "/assets/{}/{..}"                      PUBLIC Server Asset NONE     => page::asset;
    GET    "/frame/v1"                            PUBLIC Server Frame NONE     => page::frame;

    GET    "/"                                    VIEW   Server Page  NONE     => page::home;
    GET    "/n/{}"                                VIEW   Named  Page  NONE     => page::notebook;
    GET    "/ws/{}"                               VIEW   Named  Data  NONE     => socket::open;
    GET    "/terminal"                            OWNER  Server Terminal NONE  => page::terminal;
    GET    "/terminals/{}"                        OWNER  Server Data  NONE     => terminals::socket;

    POST   "/execute"                             RUN    Start  Data  SOURCE   => compat::execute;
    POST   "/multistate_execute"                  RUN    Start  Data  SOURCE   => compat::multistate_execute;
    POST   "/symbol_hashes"                       RUN    Start  Data  NAMES    => compat::symbol_hashes;
    POST   "/alias_groups"                        RUN    Start  Data  SMALL    => compat::alias_groups;
    POST   "/rebuild_state"                       RUN    Start  Data  NAMES    => compat::rebuild_state;
    GET    "/states"                              VIEW   Start  Data  NONE     => compat::states;
    GET    "/states/{}"                           VIEW   Start  Data  NONE     => compat::state;
    DELETE "/states/{}"                           OWNER  Start  Data  SMALL    => compat::delete_state;
    POST   "/reset"                               OWNER  Start  Data  SMALL    => compat::reset;
    POST   "/interrupt"                           RUN    Start  Data  SMALL    => compat::interrupt;

    GET    "/api/notebooks"                       VIEW   Server Data  NONE     => notebooks::notebooks;
    POST   "/api/notebooks"                       OWNER  Server Data  SMALL    => notebooks::open_notebook;
    POST   "/api/notebooks/import"                OWNER  Server Data  NOTEBOOK => documents::import;
    POST   "/api/notebooks/{}/rename"             OWNER  Named  Data  SMALL    => notebooks::rename;
    POST   "/api/notebooks/{}/duplicate"          OWNER  Named  Data  SMALL    => notebooks::duplicate;
    DELETE "/api/notebooks/{}"                    OWNER  Named  Data  NONE     => notebooks::remove;
    GET    "/api/notebooks/{}"                    VIEW   Named  Data  NONE     => commands::snapshot;
    // `session::Permitted` decides which scope each command needs.
    POST   "/api/notebooks/{}/commands"           VIEW   Named  Data  SOURCE   => commands::command;
    POST   "/api/notebooks/{}/commands/batch"     VIEW   Named  Data  SOURCE   => commands::batch;
    GET    "/api/notebooks/{}/states/{}/variables" VIEW   Named  Data  NONE     => commands::variables;
    GET    "/api/notebooks/{}/states/{}/document" VIEW   Named  Data  NONE     => documents::document;
    POST   "/api/notebooks/{}/attachments"        RUN    Named  Data  PICTURE  => pictures::attach;
    GET    "/api/notebooks/{}/attachments/{}"     VIEW   Named  Data  NONE     => pictures::attachment;
    GET    "/api/notebooks/{}/pictures/{..}"      VIEW   Named  Data  NONE     => pictures::local;
    GET    "/api/notebooks/{}/states/{}/export"   RUN    Named  Data  NONE     => state_files::export;
    POST   "/api/notebooks/{}/import"             OWNER  Named  Data  STATE    => state_files::import;
    GET    "/api/notebooks/{}/memory"             RUN    Named  Data  NONE     => memory::memory;
    GET    "/api/notebooks/{}/trash"              OWNER  Named  Data  NONE     => deleted::list;
    GET    "/api/notebooks/{}/sweeps"             VIEW   Named  Data  NONE     => sweeps::list;
    POST   "/api/notebooks/{}/sweeps"             RUN    Named  Data  MANY     => sweeps::start;
    GET    "/api/notebooks/{}/sweeps/{}"          VIEW   Named  Data  NONE     => sweeps::sweep;
    DELETE "/api/notebooks/{}/sweeps/{}"          OWNER  Named  Data  SMALL    => sweeps::remove;
    POST   "/api/notebooks/{}/sweeps/{}/stop"     RUN    Named  Data  SMALL    => sweeps::stop;
    POST   "/api/notebooks/{}/sweeps/{}/collapse" OWNER  Named  Data  SMALL    => sweeps::collapse;
    POST   "/api/notebooks/{}/lint"               RUN    Named  Data  SOURCE   => lint::lint;
    POST   "/api/notebooks/{}/format"             RUN    Named  Data  SOURCE   => lint::format;
    // Both start programs by their path.
    PUT    "/api/notebooks/{}/python"             OWNER  Named  Data  SMALL    => pythons::choose;
    GET    "/api/pythons"                         OWNER  Server Data  NONE     => pythons::pythons;
    POST   "/api/ruff"                            OWNER  Server Data  SMALL    => lint::install;
    GET    "/api/trash"                           OWNER  Server Data  NONE     => trash::list;
    POST   "/api/trash/{}/restore"                OWNER  Server Data  SMALL    => trash::restore;
    DELETE "/api/trash/{}"                        OWNER  Server Data  SMALL    => trash::purge;
    GET    "/api/states"                          VIEW   Start  Data  NONE     => states::states;
    GET    "/api/states/{}/checkpoint"            VIEW   Start  Data  NONE     => states::checkpoint;
    POST   "/api/states/{}/checkpoint"            RUN    Start  Data  SOURCE   => states::save;
    POST   "/api/states/{}/replay"                RUN    Start  Data  SMALL    => states::replay;
    POST   "/api/states/{}/pin"                   RUN    Start  Data  SMALL    => states::pin;
    POST   "/api/states/{}/fork_anyway"           RUN    Start  Data  SMALL    => states::fork_anyway;
    POST   "/api/states/{}/label"                 RUN    Start  Data  SMALL    => states::label;
    POST   "/api/states/{}/run_many"              RUN    Start  Data  MANY     => run_many::run_many;
    POST   "/api/states/{}/merge"                 RUN    Start  Data  NAMES    => merge::merge;
    POST   "/api/states/{}/clear_namespace"       RUN    Start  Data  SMALL    => states::clear_namespace;
    POST   "/api/trust"                           OWNER  Start  Data  SMALL    => states::trust;
    GET    "/api/tasks/{}/checkpoints"            VIEW   Start  Data  NONE     => tasks::list;
    POST   "/api/tasks/{}/checkpoints"            RUN    Start  Data  SOURCE   => tasks::save;
    GET    "/api/tasks/{}/checkpoints/latest"     VIEW   Start  Data  NONE     => tasks::latest;
    GET    "/api/tasks/{}/checkpoints/{}"         VIEW   Start  Data  NONE     => tasks::version;
    POST   "/api/tasks/{}/checkpoints/{}/restore" RUN    Start  Data  SMALL    => tasks::restore;
    GET    "/api/folders"                         RUN    Server Data  NONE     => files::root;
    GET    "/api/folders/{..}"                    RUN    Server Data  NONE     => files::folder;
    POST   "/api/folders/{..}"                    RUN    Server Data  SMALL    => files::make_folder;
    GET    "/api/files/{..}"                      RUN    Server Data  NONE     => files::download;
    PUT    "/api/files/{..}"                      RUN    Server Data  UPLOAD   => files::upload;
    POST   "/api/files/{..}"                      RUN    Server Data  SMALL    => files::rename;
    DELETE "/api/files/{..}"                      RUN    Server Data  SMALL    => files::remove;
    GET    "/api/deleted-files"                   OWNER  Server Data  NONE     => files::deleted;
    POST   "/api/deleted-files/{}/restore"        RUN    Server Data  SMALL    => files::restore;
    DELETE "/api/deleted-files/{}"                OWNER  Server Data  SMALL    => files::purge;
    GET    "/api/libraries/{}"                    VIEW   Server Data  NONE     => libraries::library;
    GET    "/api/settings"                        OWNER  Server Data  NONE     => settings::settings;
    PATCH  "/api/settings"                        OWNER  Server Data  SMALL    => settings::change;
    // A terminal does what its user may do on this computer.
    GET    "/api/terminals"                       OWNER  Server Data  NONE     => terminals::list;
    POST   "/api/terminals"                       OWNER  Server Data  SMALL    => terminals::open;
    DELETE "/api/terminals/{}"                    OWNER  Server Data  SMALL    => terminals::close;
    GET    "/api/links"                           OWNER  Server Data  NONE     => share_links::links;
    POST   "/api/links"                           OWNER  Server Data  SMALL    => share_links::add_link;
    DELETE "/api/links/{}"                        OWNER  Server Data  SMALL    => share_links::take_back_link;
    DELETE "/api/session"                         VIEW   Server Data  SMALL    => page::sign_in::sign_out;
    // The tools check the scopes that they need.
    POST   "/mcp"                                 VIEW_BY_HEADER Server Data SOURCE => mcp::post;
    POST   "/api/notebooks/{}/agents/{}"          RUN    Named  Data  SMALL    => agents::stop;
    GET    "/api/workers"                         VIEW   Server Data  NONE     => workers::status;
    POST   "/api/notebooks/{}/workers/check"      RUN    Named  Data  SOURCE   => workers::check;
    GET    "/api/node"                            OWNER  Server Data  NONE     => node::status;
    POST   "/api/node/tasks"                      OWNER  Server Data  SMALL    => node::run;
    GET    "/api/openapi.json"                    VIEW   Server Data  NONE     => openapi::openapi;
};

/// The body that a route takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// No body.
    No,
    /// JSON; the limit in bytes.
    Json(usize),
    /// A state's file; the limit in bytes.
    File(usize),
    /// A notebook file of another program; the limit in bytes.
    Notebook(usize),
}

impl Body {
    /// The maximum length of the body, in bytes.
    pub(crate) fn limit(self) -> usize {
        match self {
            Self::No => 0,
            Self::Json(limit) | Self::File(limit) | Self::Notebook(limit) => limit,
        }
    }
}

/// The credential that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequiredAccess {
    /// No credential.
    Public,
    /// A credential with this scope or a higher one.
    AtLeast(Scope),
    /// The same, in the header `Authorization`.
    ByHeader(Scope),
}

/// The notebook that a route concerns. A share link is valid only for its own notebook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// No notebook or all of them. The handler shows only what the caller may see.
    Server,
    /// The notebook that the server was started with.
    Start,
    /// The notebook named by the first parameter of the path.
    Named,
}

/// One row of the table.
pub(crate) struct Route {
    /// The method. A GET route also answers HEAD.
    pub(crate) method: Method,
    /// The path. `{}` matches one segment, `{..}` all remaining ones.
    pub(crate) path: &'static str,
    /// The credential that a request needs.
    pub(crate) required: RequiredAccess,
    /// The notebook that the route concerns.
    pub(crate) subject: Subject,
    /// The kind of the answer, which decides its security headers.
    pub(crate) content: Content,
    /// The body that a request may have.
    pub(crate) body: Body,
    /// A function that makes the actix route, which runs the handler.
    pub(crate) handler: fn() -> actix_web::Route,
}

impl Route {
    /// Whether the route is answered even when there are too many connections. Such routes are the
    /// health check, the list of states, and requests that stop or delete something.
    pub(crate) fn is_reserved(&self) -> bool {
        matches!(
            (&self.method, self.path),
            (&Method::GET, "/health" | "/states")
                | (&Method::POST, "/interrupt" | "/reset")
                | (&Method::DELETE, "/states/{}")
        )
    }
}

/// The row of a request, and the parameters of its path.
#[derive(Clone)]
pub(crate) struct MatchedRoute {
    /// The row of the table.
    pub(crate) route: &'static Route,
    /// The segments that match `{}` and `{..}`, decoded.
    pub(crate) params: Vec<String>,
}

/// Why a request matches no route.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoRoute {
    /// No row has the path.
    NoSuchPath,
    /// The path exists with these methods, but not with the method of the request.
    OtherMethods(Vec<&'static Method>),
}

/// Finds the row of a request. `path` is the percent-encoded path of the request.
pub(crate) fn find(method: &Method, path: &str) -> Result<MatchedRoute, NoRoute> {
    let segments = segments(path).ok_or(NoRoute::NoSuchPath)?;
    let mut others = Vec::new();
    for route in TABLE {
        let Some(params) = params_of(route.path, &segments) else { continue };
        // The WebSocket handshake is a GET with an effect, so its route does not answer HEAD.
        let as_head =
            *method == Method::HEAD && route.method == Method::GET && !route.path.starts_with("/ws/");
        if route.method == *method || as_head {
            return Ok(MatchedRoute { route, params });
        }
        others.push(&route.method);
    }
    Err(if others.is_empty() { NoRoute::NoSuchPath } else { NoRoute::OtherMethods(others) })
}

fn params_of(pattern: &str, segments: &[String]) -> Option<Vec<String>> {
    let mut rest = segments.iter();
    let mut params = Vec::new();
    for part in pattern.split('/').skip(1).filter(|p| !p.is_empty()) {
        let segment = rest.next()?;
        match part {
            "{}" => params.push(segment.clone()),
            "{..}" => {
                let tail: Vec<&str> = std::iter::once(segment).chain(rest).map(String::as_str).collect();
                params.push(tail.join("/"));
                return Some(params);
            }
            _ if part == segment => (),
            _ => return None,
        }
    }
    rest.next().is_none().then_some(params)
}

/// Registers all handlers with actix. A handler runs only if the guard found the handler's row.
pub(crate) fn register(config: &mut web::ServiceConfig) {
    let mut all = web::resource("{path:.*}");
    for route in TABLE {
        let is_found = move |found: &MatchedRoute| std::ptr::eq(found.route, route);
        let chosen = fn_guard(move |context| context.req_data().get::<MatchedRoute>().is_some_and(is_found));
        all = all.route((route.handler)().guard(chosen));
    }
    config.service(all);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path_of(method: Method, path: &str) -> Option<(&'static str, Vec<String>)> {
        find(&method, path).ok().map(|f| (f.route.path, f.params))
    }

    #[test]
    fn paths_are_found_with_their_parameters() {
        let found = |path| path_of(Method::GET, path);
        assert_eq!(found("/"), Some(("/", vec![])));
        assert_eq!(found("/states"), Some(("/states", vec![])));
        assert_eq!(found("/%73tates"), Some(("/states", vec![])));
        assert_eq!(found("/states/a%20b%2Fc"), Some(("/states/{}", vec!["a b/c".into()])));
        assert_eq!(
            found("/assets/0f/view/cell.js"),
            Some(("/assets/{}/{..}", vec!["0f".into(), "view/cell.js".into()]))
        );
        assert_eq!(path_of(Method::HEAD, "/states").map(|f| f.0), Some("/states"));
        assert_eq!(path_of(Method::HEAD, "/ws/main"), None);
    }

    #[test]
    fn odd_paths_lead_nowhere() {
        for path in [
            "",
            "states",
            "//states",
            "/states/",
            "/states//a",
            "/./states",
            "/assets/../states",
            "/states/..",
            "/states/%2e%2e",
            "/states/%00",
            "/states/%0d%0aX:1",
            "/states/%",
            "/states/%4",
            "/states/%zz",
            "/states/%ff",
            "/states;x",
            "/States",
            "/assets/0f",
            "/assets/0f/",
            "/n/",
            "/n",
            "/ws/",
            "*",
        ] {
            assert_eq!(path_of(Method::GET, path), None, "{path}");
        }
    }

    #[test]
    fn a_wrong_method_is_told_from_a_wrong_path() {
        let all = find(&Method::PUT, "/states/a").err();
        assert_eq!(all, Some(NoRoute::OtherMethods(vec![&Method::GET, &Method::DELETE])));
        assert_eq!(find(&Method::PUT, "/nothing").err(), Some(NoRoute::NoSuchPath));
    }

    #[test]
    fn only_these_are_public() {
        let public: Vec<_> =
            TABLE.iter().filter(|r| r.required == RequiredAccess::Public).map(|r| r.path).collect();
        assert_eq!(public, ["/health", "/assets/{}/{..}", "/frame/v1"]);
    }

    #[test]
    fn no_two_rows_are_the_same() {
        let mut all: Vec<_> = TABLE.iter().map(|r| (r.method.as_str(), r.path)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), TABLE.len());
    }

    /// A route that is registered elsewhere would be reachable without the guard's checks.
    #[test]
    fn no_route_is_registered_outside_this_table() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut pending = vec![root];
        while let Some(path) = pending.pop() {
            if path.is_dir() {
                let entries = std::fs::read_dir(&path).expect("a folder of src can be read");
                pending.extend(entries.map(|e| e.expect("its entries too").path()));
                continue;
            }
            if path.ends_with("http/routes.rs") || path.extension().is_none_or(|e| e != "rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a source file is text");
            for word in [
                "web::resource(",
                "web::scope(",
                ".service(",
                "web::get(",
                "web::post(",
                "#[get(",
                "#[post(",
                "#[delete(",
                "#[put(",
                "#[route(",
                "default_service(",
                ".to(",
            ] {
                assert!(!text.contains(word), "{} registers a route by `{word}`", path.display());
            }
        }
    }
}
