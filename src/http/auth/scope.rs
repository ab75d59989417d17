//! What a credential allows its holder to do.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a credential allows. Each scope includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// Reading: states, outputs and the values of variables.
    View,
    /// Everything that `View` allows. Also running and interrupting cells, answering `input()`, and
    /// writing drafts, prose and labels. A cell can do whatever the server's user can.
    Run,
    /// Everything, including deleting, resetting, opening and sharing notebooks.
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
