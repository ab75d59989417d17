//! The scopes of credentials.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The rights of a credential. Each scope also includes the rights of the scopes above it in this
/// list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// Allows reading states, outputs and the values of variables.
    View,
    /// Also allows running and interrupting cells, answering `input()`, and writing drafts, prose
    /// and labels. A cell can do everything that the server's user can do.
    Run,
    /// Allows everything, including deleting, resetting, opening and sharing notebooks.
    Owner,
}

impl Scope {
    /// The scope's name in JSON.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Run => "run",
            Self::Owner => "owner",
        }
    }
}
