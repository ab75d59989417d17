//! Credentials: the owner's token, share links, and browser sessions. A browser gets a session in
//! exchange for the owner's token or the token of a link.
//!
//! Each credential gives a `Scope`, which is a set of rights. `guard` decides which requests pass.

mod access;
mod browser_session;
mod keys;
mod secret;
mod share_link;
mod throttle;

pub(crate) use access::{Access, LINK_COOKIE};
pub(crate) use browser_session::SESSION_LASTS;
pub(crate) use keys::{Keys, LinkError};
pub use secret::new_secret;
pub(crate) use share_link::{HeldLink, Link, NewLink};
pub(crate) use throttle::Throttle;
