//! What a row of the route table says, and how a request finds its row.

use super::auth::Scope;
use super::headers::Content;
use super::percent::percent_decoded;
use actix_web::http::Method;

/// The body that a route takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    /// None.
    No,
    /// JSON; the limit in bytes.
    Json(usize),
    /// A state's file; the limit in bytes.
    File(usize),
    /// Another program's notebook; the limit in bytes.
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
    /// The credential it needs.
    pub(crate) least: Least,
    /// The notebook it is about.
    pub(crate) about: Subject,
    /// What it answers with.
    pub(crate) content: Content,
    /// The body that it takes.
    pub(crate) body: Body,
    /// What answers it.
    pub(crate) handler: fn() -> actix_web::Route,
}

impl Route {
    /// Whether it is answered when there are too many connections: what says how the server is, and
    /// what ends things.
    pub(crate) fn is_reserved(&self) -> bool {
        matches!(
            (&self.method, self.path),
            (&Method::GET, "/health" | "/states")
                | (&Method::POST, "/interrupt" | "/reset")
                | (&Method::DELETE, "/states/{}")
        )
    }
}

/// The route that a request takes, as the guard found it.
#[derive(Clone)]
pub(crate) struct MatchedRoute {
    /// The row of the table.
    pub(crate) route: &'static Route,
    /// The segments that stand for the `{}` of the path, decoded.
    pub(super) params: Vec<String>,
}

impl MatchedRoute {
    /// The segment that stands for the `{}` of this index.
    pub(crate) fn param(&self, index: usize) -> &str {
        self.params.get(index).map(String::as_str).unwrap_or_default()
    }
}

/// Why a request matches no route.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NoRoute {
    /// The path is in no row.
    NoSuchPath,
    /// The path has these methods, and not the one that was sent.
    OtherMethods(Vec<&'static Method>),
}

/// Finds the row of a request. `path` is as it was sent, percent-encoded.
pub(crate) fn find(table: &'static [Route], method: &Method, path: &str) -> Result<MatchedRoute, NoRoute> {
    let segments = segments(path).ok_or(NoRoute::NoSuchPath)?;
    let mut others = Vec::new();
    for route in table {
        let Some(params) = matched(route.path, &segments) else { continue };
        // The WebSocket handshake is a GET with an effect, so it has no HEAD.
        let as_head =
            *method == Method::HEAD && route.method == Method::GET && !route.path.starts_with("/ws/");
        if route.method == *method || as_head {
            return Ok(MatchedRoute { route, params });
        }
        others.push(&route.method);
    }
    Err(if others.is_empty() { NoRoute::NoSuchPath } else { NoRoute::OtherMethods(others) })
}

/// The decoded segments of a path; none for a path that no client of ours writes: broken escapes,
/// control characters, and empty or dotted segments, which mean different things to different
/// programs.
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
