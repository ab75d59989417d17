//! JSON-RPC messages of the Model Context Protocol (MCP), in both of its eras.
//!
//! Since revision 2026-07-28 every request carries its protocol version in `_meta`, and there is no
//! session. Earlier revisions begin with `initialize`. A server without a memory of its clients can
//! answer both, because the era of a request is visible in the request itself.

use crate::problem::Problem;
use actix_web::http::StatusCode;
use actix_web::http::header::HeaderMap;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

/// The revision without sessions.
pub(super) const MODERN: &str = "2026-07-28";
/// The revisions that begin with `initialize`, the newest first.
const LEGACY: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";

/// A message of a client.
#[derive(Debug)]
pub(super) struct Message {
    /// The id of a request, a string or an integer; `None` for a notification.
    pub(super) id: Option<Value>,
    /// The method.
    pub(super) method: String,
    /// The parameters.
    pub(super) params: Map<String, Value>,
    /// Whether the message is of the revision without sessions.
    pub(super) is_modern: bool,
}

/// An error of the protocol itself. Errors of tools are results.
#[derive(Debug)]
pub(super) struct RpcError {
    pub(super) status: StatusCode,
    code: i64,
    message: String,
    data: Option<Value>,
}

impl RpcError {
    fn new(status: StatusCode, code: i64, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), data: None }
    }

    fn invalid_request(message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32600, message)
    }

    fn header_mismatch(message: String) -> Self {
        Self::new(StatusCode::BAD_REQUEST, -32020, message)
    }

    fn unsupported(requested: &str) -> Self {
        let data = json!({"supported": supported_versions(), "requested": requested});
        let error = Self::new(StatusCode::BAD_REQUEST, -32022, "Unsupported protocol version");
        Self { data: Some(data), ..error }
    }

    /// The method is unknown.
    pub(super) fn no_method(method: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, -32601, format!("there is no method {method:?}"))
    }

    /// A parameter is missing, wrong, or names nothing. The status is that of a success: old
    /// clients read no JSON-RPC error from a failed request.
    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(StatusCode::OK, -32602, message)
    }

    /// The message to the client.
    pub(super) fn message(&self, id: Option<&Value>) -> Value {
        let Self { code, message, data, .. } = self;
        let mut error = json!({"code": code, "message": message});
        if let Some(data) = data {
            error["data"] = data.clone();
        }
        match id {
            Some(id) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
            None => json!({"jsonrpc": "2.0", "error": error}),
        }
    }
}

impl From<Problem> for RpcError {
    fn from(problem: Problem) -> Self {
        Self::invalid_params(problem.in_one_sentence())
    }
}

impl Message {
    /// Reads a message, and checks that the headers agree with it. Proxies decide by the headers.
    ///
    /// # Errors
    /// The error, and the message's id if it has one.
    pub(super) fn read(
        mut body: Map<String, Value>,
        headers: &HeaderMap,
    ) -> Result<Self, Box<(Option<Value>, RpcError)>> {
        let id = match body.remove("id") {
            Some(id) if id.is_string() || id.is_i64() || id.is_u64() => Some(id),
            None => None,
            Some(_) => {
                return Err(Box::new((None, RpcError::invalid_request("an id is a string or an integer"))));
            }
        };
        let refused = |error: RpcError| Box::new((id.clone(), error));
        if body.get("jsonrpc") != Some(&json!("2.0")) {
            return Err(refused(RpcError::invalid_request("`jsonrpc` is not \"2.0\"")));
        }
        let Some(Value::String(method)) = body.remove("method") else {
            return Err(refused(RpcError::invalid_request("there is no method")));
        };
        let params = match body.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(refused(RpcError::invalid_request("`params` is not an object"))),
        };
        let is_modern = check_version(&method, &params, headers).map_err(refused)?;
        Ok(Self { id, method, params, is_modern })
    }

    /// The name of the client's program, if the message has one.
    pub(super) fn client_name(&self) -> Option<&str> {
        let info = match self.params.get("_meta").and_then(|meta| meta.get(CLIENT_KEY)) {
            Some(info) => info,
            None => self.params.get("clientInfo")?,
        };
        let text = |key: &str| info.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
        text("title").or_else(|| text("name"))
    }

    /// A parameter that is a text.
    ///
    /// # Errors
    /// When it is missing or no text.
    pub(super) fn text(&self, key: &str) -> Result<&str, RpcError> {
        let missing = || RpcError::invalid_params(format!("`{key}` is missing, or no text"));
        self.params.get(key).and_then(Value::as_str).ok_or_else(missing)
    }

    /// The message that answers this request with success.
    pub(super) fn result(&self, mut result: Value) -> Value {
        if self.is_modern {
            result["resultType"] = json!("complete");
            result["_meta"] = json!({SERVER_KEY: server_info()});
        }
        json!({"jsonrpc": "2.0", "id": self.id, "result": result})
    }
}

/// The name and version of this server.
pub(super) fn server_info() -> Value {
    json!({"name": "ratoon", "title": "Ratoon", "version": env!("CARGO_PKG_VERSION")})
}

/// The revision with which `initialize` is answered.
pub(super) fn agreed_version(requested: &str) -> &'static str {
    LEGACY.into_iter().find(|version| *version == requested).unwrap_or(LEGACY[0])
}

/// The revisions that this server speaks, the newest first.
pub(super) fn supported_versions() -> Vec<&'static str> {
    std::iter::once(MODERN).chain(LEGACY).collect()
}

/// Returns whether a message is of the revision without sessions.
fn check_version(method: &str, params: &Map<String, Value>, headers: &HeaderMap) -> Result<bool, RpcError> {
    // Two programs that read a request may each believe another one of two equal headers.
    let header = |name: &str| {
        let mut values = headers.get_all(name);
        match (values.next(), values.next()) {
            (Some(value), None) => value.to_str().ok(),
            _ => None,
        }
    };
    let in_header = header("mcp-protocol-version");
    let in_meta = params.get("_meta").and_then(|meta| meta.get(VERSION_KEY)).and_then(Value::as_str);
    let Some(version) = in_meta else {
        return match in_header {
            Some(MODERN) => Err(RpcError::header_mismatch(format!("`_meta` has no {VERSION_KEY}"))),
            Some(version) if method != "initialize" && !LEGACY.contains(&version) => {
                Err(RpcError::unsupported(version))
            }
            _ => Ok(false),
        };
    };
    let equals = |name: &str, body: &str| match header(name).map(decoded) {
        Some(Some(value)) if value == body => Ok(()),
        Some(_) => Err(RpcError::header_mismatch(format!("the header {name} differs from the body"))),
        None => Err(RpcError::header_mismatch(format!("the header {name} is missing, or there are two"))),
    };
    equals("mcp-protocol-version", version)?;
    if version != MODERN {
        return Err(RpcError::unsupported(version));
    }
    equals("mcp-method", method)?;
    let named = match method {
        "tools/call" | "prompts/get" => params.get("name"),
        "resources/read" => params.get("uri"),
        _ => None,
    };
    if let Some(name) = named.and_then(Value::as_str) {
        equals("mcp-name", name)?;
    }
    Ok(true)
}

/// The value of a header, which may be encoded as `=?base64?…?=`.
fn decoded(value: &str) -> Option<String> {
    let Some(encoded) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(value.to_owned());
    };
    String::from_utf8(BASE64_STANDARD.decode(encoded).ok()?).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use actix_web::http::header::{HeaderName, HeaderValue};

    fn read(body: Value, headers: &[(&str, &str)]) -> Result<Message, i64> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(HeaderName::try_from(*name).unwrap(), HeaderValue::try_from(*value).unwrap());
        }
        let Value::Object(body) = body else { panic!("an object") };
        Message::read(body, &map).map_err(|refused| refused.1.code)
    }

    fn call(name: &str) -> Value {
        let meta = json!({VERSION_KEY: MODERN, CLIENT_KEY: {"name": "probe"}});
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "_meta": meta}})
    }

    #[test]
    fn the_headers_of_a_modern_request_agree_with_its_body() {
        let good = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "run")];
        let message = read(call("run"), &good).unwrap();
        assert!(message.is_modern);
        assert_eq!(message.client_name(), Some("probe"));
        for missing in 0..3 {
            let some: Vec<_> = (0..3).filter(|n| *n != missing).map(|n| good[n]).collect();
            assert_eq!(read(call("run"), &some).unwrap_err(), -32020);
        }
        assert_eq!(read(call("peek"), &good).unwrap_err(), -32020);
        let encoded = format!("=?base64?{}?=", BASE64_STANDARD.encode("é"));
        let encoded = [good[0], good[1], ("mcp-name", &*encoded)];
        assert!(read(call("é"), &encoded).is_ok());
        let mut old = call("run");
        old["params"]["_meta"][VERSION_KEY] = json!("1900-01-01");
        assert_eq!(read(old, &[("mcp-protocol-version", "1900-01-01")]).unwrap_err(), -32022);
    }

    #[test]
    fn a_request_of_the_era_of_sessions_needs_no_header() {
        let list = || json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"});
        assert!(!read(list(), &[]).unwrap().is_modern);
        assert!(!read(list(), &[("mcp-protocol-version", "2025-06-18")]).unwrap().is_modern);
        assert_eq!(read(list(), &[("mcp-protocol-version", "1900-01-01")]).unwrap_err(), -32022);
        assert_eq!(read(list(), &[("mcp-protocol-version", MODERN)]).unwrap_err(), -32020);
        assert_eq!((agreed_version("2025-03-26"), agreed_version("1900-01-01")), ("2025-03-26", LEGACY[0]));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        for bad in [
            json!({}),
            json!({"jsonrpc": "1.0", "id": 1, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": 1}),
            json!({"jsonrpc": "2.0", "id": null, "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": [1], "method": "ping"}),
            json!({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}),
        ] {
            assert_eq!(read(bad.clone(), &[]).unwrap_err(), -32600, "{bad}");
        }
    }
}
