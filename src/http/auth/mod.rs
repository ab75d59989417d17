//! Credentials: the owner's token, share links, and the browser sessions that both are exchanged
//! for.
//!
//! What a credential allows is a `Scope`. Whether a request passes is decided in `guard`.

mod access;
mod browser_session;
mod keys;
mod scope;
mod secret;
mod share_link;
mod throttle;

pub(crate) use access::{Access, LINK_COOKIE};
pub(crate) use browser_session::SESSION_LASTS;
pub(crate) use keys::{Keys, LinkError};
pub(crate) use scope::Scope;
pub use secret::new_secret;
pub(crate) use share_link::{HeldLink, Link, NewLink};
pub(crate) use throttle::Throttle;
