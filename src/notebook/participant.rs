//! Who looks at the notebook: people and agents.

use super::{DraftId, StateId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A visitor of the notebook: one browser tab, or an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Participant {
    /// The visitor's id, which is not reused while the notebook is open.
    pub id: String,
    /// Tells people apart who have chosen no name, and gives each a colour: 0 for the owner, and
    /// from 1 for the browsers of others and for agents. It stays when a page is loaded again.
    pub number: usize,
    /// The name that the visitor chose.
    pub name: Option<String>,
    /// `owner`, `run` or `view`.
    pub scope: String,
    /// The state that the visitor looks at.
    pub state: StateId,
    /// The visitor's caret in the draft being edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caret: Option<Caret>,
    /// The cell that has the visitor's focus: the id of its draft or of its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<String>,
    /// The participant whom the visitor's page follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<String>,
    /// Set if the visitor is an agent: a program that uses the notebook over MCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentStatus>,
}

/// Whether an agent may run cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentStatus {
    /// Whether a person has stopped the agent.
    pub stopped: bool,
}

/// A caret or selection in a draft. Positions count UTF-16 code units, as the page's editors do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Caret {
    /// The draft.
    pub draft: DraftId,
    /// The version of the draft that the positions belong to.
    pub version: u64,
    /// The fixed end of the selection; equal to `head` when nothing is selected.
    pub anchor: u32,
    /// The moving end of the selection.
    pub head: u32,
}

/// What cells may do on the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SandboxRules {
    /// The directories below which cells may write; null: everywhere.
    pub write: Option<Vec<String>>,
    /// Whether cells have a network.
    pub network: bool,
}

impl SandboxRules {
    /// The rules in a sentence.
    pub fn in_words(&self) -> String {
        let network = if self.network { "" } else { "have no network" };
        let write = match &self.write {
            Some(dirs) => format!("may write only below {}, and to temporary files", dirs.join(", ")),
            None => String::new(),
        };
        let joint = if write.is_empty() || network.is_empty() { "" } else { "; they " };
        format!("Cells {write}{joint}{network}.")
    }
}
