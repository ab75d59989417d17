//! The REST API at the root: the calls of snapshot-kernel. They use the notebook that the server
//! was started with.
//!
//! Clients rely on snapshot-kernel's paths, field names and shapes, and on its choice of failures
//! that are HTTP errors. Unknown fields in requests are accepted, because newer clients send more
//! fields.

mod digests;
mod execute;
mod multistate_execute;
mod rebuild_state;
mod states;

pub(crate) use digests::*;
pub(crate) use execute::*;
pub(crate) use multistate_execute::*;
pub(crate) use rebuild_state::*;
pub(crate) use states::*;
