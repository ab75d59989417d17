//! The ids of states, runs, drafts and sweeps. Each kind of id is a separate type, so that the
//! compiler rejects the id of a run where the id of a state is needed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The root state's name, which is also its id.
pub const ROOT_NAME: &str = "initial";

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        pub struct $name(String);

        impl $name {
            /// Makes an id from a text. The HTTP layer has checked the text's length and
            /// characters.
            pub fn new(text: impl Into<String>) -> Self {
                Self(text.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// The id of a state. The session makes it (uuid4 hex), except for the root, whose id is
    /// `initial`.
    StateId
}
text_id! {
    /// The id of a run. The client makes it; it is unique within a notebook.
    ExecId
}
text_id! {
    /// The id of a draft. The page makes it.
    DraftId
}

text_id! {
    /// The id of a sweep. The client or the session makes it; it is unique within a notebook.
    SweepId
}

impl StateId {
    /// The id of the root state.
    pub fn root() -> Self {
        Self::new(ROOT_NAME)
    }

    /// Whether this is the root's id.
    pub fn is_root(&self) -> bool {
        self.0 == ROOT_NAME
    }
}

/// A reference to a state in a request. The page sends ids; an id always refers to the same state.
/// REST clients send names or ids; a name refers to the state that got this name last.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(from = "StateId")]
pub enum StateRef {
    /// By its id.
    Id(StateId),
    /// By its name or, if no state has this name, by its id.
    Name(String),
}

impl StateRef {
    /// A state by its name or id.
    pub fn name(text: impl Into<String>) -> Self {
        Self::Name(text.into())
    }

    /// Whether the reference contains the root's id. False for all names.
    pub fn is_root(&self) -> bool {
        matches!(self, Self::Id(id) if id.is_root())
    }
}

impl From<StateId> for StateRef {
    fn from(id: StateId) -> Self {
        Self::Id(id)
    }
}
