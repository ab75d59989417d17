//! The route table: what can be asked, and what it takes.
//!
//! The table is the only routing there is. The guard looks a request up in it once, before anything else is done with
//! it, and the handler that runs is the one of the row that was found: the decision who may pass and the decision
//! what is done cannot differ. A request that is in no row reaches no handler.

use super::auth::Scope;
use super::guard::headers::Content;
use super::guard::percent_decoded;
use super::{
    api, assets, compat, documents, exchange, home, libraries, links, pages, socket, states, tasks, trash,
};
use actix_web::guard::fn_guard;
use actix_web::http::Method;
use actix_web::{HttpMessage, web};

/// The body that a route takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// None.
    No,
    /// JSON, of at most so many bytes.
    Json(usize),
    /// A state's file, of at most so many bytes.
    File(usize),
    /// Another program's notebook, of at most so many bytes.
    Notebook(usize),
}

impl Body {
    /// Bytes of body that are taken.
    pub(crate) fn limit(self) -> usize {
        match self {
            Self::No => 0,
            Self::Json(limit) | Self::File(limit) | Self::Notebook(limit) => limit,
        }
    }
}

/// Nothing to say beyond the path.
const NO_BODY: Body = Body::No;

/// Bodies that carry source text. A cell is at most 1 MiB; as JSON it is longer.
const SOURCE_BODY: Body = Body::Json(4 * 1024 * 1024);

/// Bodies that carry a name or two.
const SMALL_BODY: Body = Body::Json(64 * 1024);

/// Bodies that carry the names of variables, of which a state may have thousands.
const NAMES_BODY: Body = Body::Json(1024 * 1024);

/// A state in a file.
const STATE_BODY: Body = Body::File(1024 * 1024 * 1024);

/// Another program's notebook. It is read as a whole, and takes some times its size in memory.
const NOTEBOOK_BODY: Body = Body::Notebook(64 * 1024 * 1024);

/// The least that a request must show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Least {
    /// Nothing.
    Public,
    /// A credential of this scope or a higher one.
    Needs(Scope),
}

/// Which notebook a route is about; a share link is good for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// None, or all of them; the handler shows only what the caller may see.
    Server,
    /// The one given at start.
    Start,
    /// The one that the path names first.
    Named,
}

/// One row of the table.
pub(crate) struct Route {
    /// The method; HEAD goes wherever GET goes.
    pub(crate) method: Method,
    /// The path. `{}` stands for one segment, `{..}` for all that is left.
    pub(crate) path: &'static str,
    /// Who may.
    pub(crate) least: Least,
    /// On which notebook.
    pub(crate) about: Subject,
    /// What it answers with.
    pub(crate) content: Content,
    /// The body that it takes.
    pub(crate) body: Body,
    handler: fn() -> actix_web::Route,
}

impl Route {
    /// Whether it is answered when there are too many connections: what says how the server is, and what ends things.
    pub(crate) fn is_reserved(&self) -> bool {
        matches!(
            (&self.method, self.path),
            (&Method::GET, "/health" | "/states")
                | (&Method::POST, "/interrupt" | "/reset")
                | (&Method::DELETE, "/states/{}")
        )
    }
}

const PUBLIC: Least = Least::Public;
const VIEW: Least = Least::Needs(Scope::View);
const RUN: Least = Least::Needs(Scope::Run);
const OWNER: Least = Least::Needs(Scope::Owner);

macro_rules! routes {
    ($($method:ident $path:literal $least:ident $about:ident $content:ident $body:expr => $handler:path;)*) => {
        &[$(Route {
            method: Method::$method,
            path: $path,
            least: $least,
            about: Subject::$about,
            content: Content::$content,
            body: $body,
            handler: || web::to($handler),
        }),*]
    };
}

/// Everything that this server answers.
pub(crate) const TABLE: &[Route] = routes! {
    GET    "/health"                              PUBLIC Server Data  NO_BODY     => api::health;
    GET    "/assets/{}/{..}"                      PUBLIC Server Asset NO_BODY     => assets::asset;
    GET    "/frame/v1"                            PUBLIC Server Frame NO_BODY     => assets::frame;

    GET    "/"                                    VIEW   Server Page  NO_BODY     => pages::home;
    GET    "/n/{}"                                VIEW   Named  Page  NO_BODY     => pages::notebook;
    GET    "/ws/{}"                               VIEW   Named  Data  NO_BODY     => socket::open;

    POST   "/execute"                             RUN    Start  Data  SOURCE_BODY => compat::execute;
    POST   "/multistate_execute"                  RUN    Start  Data  SOURCE_BODY => compat::multistate_execute;
    POST   "/symbol_hashes"                       RUN    Start  Data  NAMES_BODY  => compat::symbol_hashes;
    POST   "/alias_groups"                        RUN    Start  Data  SMALL_BODY  => compat::alias_groups;
    POST   "/rebuild_state"                       RUN    Start  Data  NAMES_BODY  => compat::rebuild_state;
    GET    "/states"                              VIEW   Start  Data  NO_BODY     => compat::states;
    GET    "/states/{}"                           VIEW   Start  Data  NO_BODY     => compat::state;
    DELETE "/states/{}"                           OWNER  Start  Data  SMALL_BODY  => compat::delete_state;
    POST   "/reset"                               OWNER  Start  Data  SMALL_BODY  => compat::reset;
    POST   "/interrupt"                           RUN    Start  Data  SMALL_BODY  => compat::interrupt;

    GET    "/api/notebooks"                       VIEW   Server Data  NO_BODY     => home::notebooks;
    POST   "/api/notebooks"                       OWNER  Server Data  SMALL_BODY  => api::open_notebook;
    POST   "/api/notebooks/import"                OWNER  Server Data  NOTEBOOK_BODY => documents::import;
    POST   "/api/notebooks/{}/rename"             OWNER  Named  Data  SMALL_BODY  => home::rename;
    POST   "/api/notebooks/{}/duplicate"          OWNER  Named  Data  SMALL_BODY  => home::duplicate;
    DELETE "/api/notebooks/{}"                    OWNER  Named  Data  NO_BODY     => home::remove;
    GET    "/api/notebooks/{}"                    VIEW   Named  Data  NO_BODY     => api::snapshot;
    // The scope that a command needs is in the command; see `Scope::needed_for`.
    POST   "/api/notebooks/{}/commands"           VIEW   Named  Data  SOURCE_BODY => api::command;
    GET    "/api/notebooks/{}/states/{}/variables" VIEW  Named  Data  NO_BODY     => api::variables;
    GET    "/api/notebooks/{}/states/{}/document" VIEW   Named  Data  NO_BODY     => documents::document;
    GET    "/api/notebooks/{}/states/{}/export"   RUN    Named  Data  NO_BODY     => exchange::export;
    POST   "/api/notebooks/{}/import"             OWNER  Named  Data  STATE_BODY  => exchange::import;
    GET    "/api/trash"                           OWNER  Server Data  NO_BODY     => trash::list;
    POST   "/api/trash/{}/restore"                OWNER  Server Data  SMALL_BODY  => trash::restore;
    DELETE "/api/trash/{}"                        OWNER  Server Data  SMALL_BODY  => trash::purge;
    GET    "/api/states"                          VIEW   Start  Data  NO_BODY     => states::states;
    GET    "/api/states/{}/checkpoint"            VIEW   Start  Data  NO_BODY     => states::checkpoint;
    POST   "/api/states/{}/checkpoint"            RUN    Start  Data  SOURCE_BODY => states::save;
    POST   "/api/states/{}/replay"                RUN    Start  Data  SMALL_BODY  => states::replay;
    POST   "/api/states/{}/pin"                   RUN    Start  Data  SMALL_BODY  => states::pin;
    POST   "/api/states/{}/fork_anyway"           RUN    Start  Data  SMALL_BODY  => states::fork_anyway;
    POST   "/api/states/{}/label"                 RUN    Start  Data  SMALL_BODY  => states::label;
    POST   "/api/states/{}/clear_namespace"       RUN    Start  Data  SMALL_BODY  => states::clear_namespace;
    POST   "/api/trust"                           OWNER  Start  Data  SMALL_BODY  => states::trust;
    GET    "/api/tasks/{}/checkpoints"            VIEW   Start  Data  NO_BODY     => tasks::list;
    POST   "/api/tasks/{}/checkpoints"            RUN    Start  Data  SOURCE_BODY => tasks::save;
    GET    "/api/tasks/{}/checkpoints/latest"     VIEW   Start  Data  NO_BODY     => tasks::latest;
    GET    "/api/tasks/{}/checkpoints/{}"         VIEW   Start  Data  NO_BODY     => tasks::version;
    POST   "/api/tasks/{}/checkpoints/{}/restore" RUN    Start  Data  SMALL_BODY  => tasks::restore;
    GET    "/api/libraries/{}"                    VIEW   Server Data  NO_BODY     => libraries::library;
    GET    "/api/links"                           OWNER  Server Data  NO_BODY     => links::links;
    POST   "/api/links"                           OWNER  Server Data  SMALL_BODY  => links::add_link;
    DELETE "/api/links/{}"                        OWNER  Server Data  SMALL_BODY  => links::take_back_link;
    DELETE "/api/session"                         VIEW   Server Data  SMALL_BODY  => api::sign_out;
    GET    "/api/openapi.json"                    VIEW   Server Data  NO_BODY     => api::openapi;
};

/// Where a request goes, as the guard found it.
#[derive(Clone)]
pub(crate) struct MatchedRoute {
    row: usize,
    /// What stands for the `{}` of the path, decoded.
    pub(crate) params: Vec<String>,
}

impl MatchedRoute {
    /// The row of the table.
    pub(crate) fn route(&self) -> &'static Route {
        &TABLE[self.row]
    }
}

/// Why a request goes nowhere.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Nowhere {
    /// There is nothing at this path.
    NoSuchPath,
    /// There is, but not with this method; these are possible.
    OtherMethods(Vec<&'static Method>),
}

/// Looks a request up. `path` is as it came, with its escapes.
pub(crate) fn find(method: &Method, path: &str) -> Result<MatchedRoute, Nowhere> {
    let segments = segments(path).ok_or(Nowhere::NoSuchPath)?;
    let mut others = Vec::new();
    for (row, route) in TABLE.iter().enumerate() {
        let Some(params) = matched(route.path, &segments) else { continue };
        // The WebSocket handshake is a GET that does something, so it has no HEAD.
        let as_head =
            *method == Method::HEAD && route.method == Method::GET && !route.path.starts_with("/ws/");
        if route.method == *method || as_head {
            return Ok(MatchedRoute { row, params });
        }
        others.push(&route.method);
    }
    Err(if others.is_empty() { Nowhere::NoSuchPath } else { Nowhere::OtherMethods(others) })
}

/// The decoded segments of a path; none for a path that no client of ours writes: broken escapes, control
/// characters, and empty or dotted segments, which mean different things to different programs.
fn segments(path: &str) -> Option<Vec<String>> {
    let rest = path.strip_prefix('/')?;
    if rest.is_empty() {
        return Some(Vec::new());
    }
    rest.split('/').map(|segment| percent_decoded(segment).filter(|s| is_plain(s))).collect()
}

fn is_plain(segment: &str) -> bool {
    !matches!(segment, "" | "." | "..") && !segment.chars().any(char::is_control)
}

fn matched(pattern: &str, segments: &[String]) -> Option<Vec<String>> {
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

/// Hands every row's handler to actix, each reachable only by a request that the guard found that row for.
pub(crate) fn register(config: &mut web::ServiceConfig) {
    let mut all = web::resource("{path:.*}");
    for (row, route) in TABLE.iter().enumerate() {
        let is_found = move |found: &MatchedRoute| found.row == row;
        let chosen = fn_guard(move |context| context.req_data().get::<MatchedRoute>().is_some_and(is_found));
        all = all.route((route.handler)().guard(chosen));
    }
    config.service(all);
}

/// Remembers where a request goes.
pub(crate) fn remember(request: &actix_web::dev::ServiceRequest, found: MatchedRoute) {
    request.extensions_mut().insert(found);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path_of(method: Method, path: &str) -> Option<(&'static str, Vec<String>)> {
        find(&method, path).ok().map(|f| (f.route().path, f.params))
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
        assert_eq!(all, Some(Nowhere::OtherMethods(vec![&Method::GET, &Method::DELETE])));
        assert_eq!(find(&Method::PUT, "/nothing").err(), Some(Nowhere::NoSuchPath));
    }

    #[test]
    fn only_these_are_public() {
        let public: Vec<_> = TABLE.iter().filter(|r| r.least == Least::Public).map(|r| r.path).collect();
        assert_eq!(public, ["/health", "/assets/{}/{..}", "/frame/v1"]);
    }

    #[test]
    fn no_two_rows_are_the_same() {
        let mut all: Vec<_> = TABLE.iter().map(|r| (r.method.as_str(), r.path)).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), TABLE.len());
    }

    /// A route that is registered elsewhere would be reachable, but would not have been looked up by the guard.
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
