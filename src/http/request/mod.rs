//! What handlers take from a request: the caller, what the path names, the query and the body.

mod body;
mod caller;
mod credential;
mod query;
mod strict_json;

pub(crate) use body::{Json, MaybeJson, NoBody, each_chunk, too_large};
pub(crate) use caller::{Caller, unauthorized};
pub(crate) use credential::{Shown, session_cookies};
pub(crate) use query::query_value;
pub(crate) use strict_json::parse as parse_json;
