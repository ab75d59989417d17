//! The REST API at the root: the calls of snapshot-kernel, on the notebook given at start.
//!
//! Clients of snapshot-kernel rely on its paths, field names and shapes, and on which failures are
//! HTTP errors. Unknown fields in requests are accepted, because newer clients send more fields.

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
