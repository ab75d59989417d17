//! Share links and browser sessions, as a notebook stores them.

use serde::{Deserialize, Serialize};

/// A share link as stored: without its token.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptLink {
    /// The link's public id.
    pub id: String,
    /// The name of the notebook that the link opens. The link is invalid in a copy of the notebook
    /// under another name.
    pub notebook: String,
    /// SHA-256 of the token, in hex.
    pub token_sha256: String,
    /// `view` or `run`.
    pub scope: String,
    /// The owner's note, for example who has the link.
    pub label: Option<String>,
    /// Milliseconds since the Unix epoch.
    pub created_at: f64,
    /// When the link expires, in milliseconds since the Unix epoch; null if never.
    pub expires_at: Option<f64>,
}

/// A browser session as stored: without its id, which only the cookie holds. The serde aliases are
/// the field names of format version 1, which stored a session as a link of the scope `session`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KeptSession {
    /// `ID_PREFIX` followed by `cookie_sha256`.
    pub id: String,
    /// The name of the notebook that the session is stored with. The session is invalid in a copy
    /// of the notebook under another name.
    pub notebook: String,
    /// SHA-256 of the cookie's value, in hex.
    #[serde(alias = "token_sha256")]
    pub cookie_sha256: String,
    /// The credential with which the session began: `link ID`, `owner`, or `owner` and the
    /// fingerprint of the token that the user chose.
    #[serde(alias = "label")]
    pub began_with: String,
    /// When the session expires, in milliseconds since the Unix epoch.
    pub expires_at: f64,
}

impl KeptSession {
    /// Prefix of every session's id. No link's id has this prefix, so the signed row of a link is
    /// never accepted as a browser session.
    pub const ID_PREFIX: &str = "session-";
}

/// The credentials stored with a notebook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeptCredentials {
    /// The notebook's share links.
    pub links: Vec<KeptLink>,
    /// Browser sessions. Only the notebook that the server was started with stores them.
    pub sessions: Vec<KeptSession>,
}
