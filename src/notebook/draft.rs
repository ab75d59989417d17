//! A draft: a cell that has not run, or changed code of a cell that ran; and the updates that
//! pages send.

use super::{DraftId, ExecId, StateId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A cell that has not run yet, or changed code of a cell that ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Draft {
    /// The draft's id, which the page makes.
    pub id: DraftId,
    /// The state that the draft would run against.
    pub on: StateId,
    /// The draft is placed above the cell of this child of the state `on`. Without a child, or if
    /// the child was deleted, the draft comes last in the lineage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<StateId>,
    /// The state whose cell shows the draft's text in place of the code that ran: an edit of a
    /// cell that ran. The state is a child of `on`; `before` is not used. Only the server changes
    /// this in an existing draft.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<StateId>,
    /// Code, Markdown or raw.
    pub kind: DraftKind,
    /// The draft's text.
    pub source: String,
    /// The version: 1, 2, 3, …, increased with each change of the text or kind. Only the server
    /// counts; values from clients are ignored.
    #[serde(default)]
    pub version: u64,
    /// The last update of each client that recently changed the draft, the newest last. A client
    /// that reconnects finds out here which of its updates have arrived. Values from clients are
    /// ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub received: Vec<ReceivedUpdate>,
    /// The cell of the imported file that the draft comes from, counted from 0. An export writes
    /// that cell's metadata again. An existing draft keeps its number, whatever a client sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_cell: Option<u32>,
    /// The run of the cell that the draft was made from. Until the draft runs, the page shows the
    /// outputs of that run as stale. Of an existing draft, a client can only remove it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_run: Option<ExecId>,
}

/// The `.ipynb` that a notebook was imported from. The store has its bytes; an export repeats
/// whatever was not changed since.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedFile {
    /// The BLAKE3 digest of the file, in hexadecimal digits: the name of its blob.
    pub digest: String,
    /// The length of the file, in bytes.
    pub bytes: usize,
}

/// The last update of a draft that arrived from a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReceivedUpdate {
    /// The client.
    pub client: String,
    /// The update's number.
    pub number: u64,
}

/// A draft, and its place among the drafts of its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PlacedDraft {
    /// The draft.
    pub draft: Draft,
    /// The draft of the same state that this draft follows; null for the first.
    pub after: Option<DraftId>,
    /// The change of the text from the previous version to this version, if the client sent the
    /// change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update: Option<TextUpdate>,
}

/// The change from the previous version of a draft's text to the new one. Editors use it to move
/// carets and unsent changes. The message also contains the new text, which wins if the two
/// disagree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextUpdate {
    /// The id of the client that made the change. Each client chooses its id, and recognises its
    /// own changes by this id.
    pub client: String,
    /// The number of this update among the client's updates of this draft, from 1. A repeated
    /// number changes nothing. After an update was refused, the client's later updates are refused
    /// too. An update without a number is never a repetition.
    #[serde(default)]
    pub number: u64,
    /// The change, as the JSON of CodeMirror's `ChangeSet`. Each item is the length of unchanged
    /// text, or a list with the length of deleted text and the inserted lines. The server does not
    /// interpret the change.
    pub changes: Vec<Value>,
}

/// The kind of a draft's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DraftKind {
    /// Python.
    Code,
    /// Markdown.
    Markdown,
    /// Plain text that never runs and is shown as it is: a raw cell of Jupyter. It stays a draft,
    /// where Markdown becomes the prose of a state.
    Raw,
}
