//! The parts of a request that handlers read: the sender, the parameters of the URL, and the body.

mod body;
mod caller;
mod json;
mod url;

pub(crate) use body::{BodyLimit, Json, MaybeJson, NoBody, body_too_long, each_chunk};
pub(crate) use caller::{Caller, Credential, session_cookies, unauthorized};
pub(crate) use json::parse as parse_json;
pub(crate) use url::{PathParams, query_value};
