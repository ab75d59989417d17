//! Messages between the server and one process, on the process' own socket: orders and reports.
//!
//! A frame is its length (u32, little endian) and JSON. Descriptors travel with the first byte of
//! an order. Nothing waits for replies: an order names a child or a run, and reports name it again.

use super::memory::MemoryUse;
use crate::notebook::{
    Completion, Digests, ExecId, Form, Inspection, MimeBundle, Missing, Output, Prompt, RunError, Symbols,
    Variable,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The longest frame: one output with its base64, or the code of one cell.
pub(crate) const MAX_FRAME_BYTES: usize = 64 * 1024 * 1024;

/// A process of a notebook, numbered by the session. Never used again, unlike a pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProcId(pub u64);

/// What a forked process is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A state in memory: waits for orders to fork and never runs user code.
    Frozen,
    /// Runs the next cell. Its order brings the pipes of descriptors 1 and 2, the text pipe, and
    /// the three descriptors of `text_pipe::SharedCounts`.
    Head,
    /// Reports the variables and exits. A `__repr__` may change its process, so it is not the
    /// frozen one.
    ListVariables,
    /// Reports fingerprints of the variables, which tell two states apart, and exits.
    Fingerprint,
    /// Reports digests of the variables and which of them share objects, and exits.
    Digest,
    /// Writes variables into a pipe, comes with its end, and exits.
    Send,
    /// Answers questions about code that would run against the state, until it is killed.
    Answer,
    /// Writes the state's checkpoint of this form, reports it and exits.
    Save(Form),
}

impl Role {
    /// Whether it does one thing and exits. Whatever it starts must end with it.
    pub fn is_thrown_away(self) -> bool {
        !matches!(self, Self::Frozen | Self::Head)
    }
}

/// The checkpoint that a fork of the root is to load before it is what it is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// The digest of its manifest, which the server has verified to be its own.
    pub manifest: String,
    /// What it holds.
    pub form: Form,
    /// Set when nobody has vouched for it: how many bytes of memory it may take at most, beside
    /// what follows from the size of its files. The time that it may take is limited then, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// How many pipes may come with the order to run a cell: descriptors that travel beside one
/// message.
pub const MAX_DELIVERIES: usize = 64;

/// Which variables are sent to another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Wanted {
    /// Those with these names, as far as they are there.
    Names {
        /// The names.
        names: Vec<String>,
    },
    /// Those that code takes from the state that it calls by an alias.
    For {
        /// The alias.
        alias: String,
        /// The code.
        code: String,
    },
}

/// Variables of another state that a cell is to have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// How the cell calls that state; empty where the cell takes its variables for its own.
    pub alias: String,
    /// That state's id.
    pub state: String,
    /// Whether they come through a pipe. Else nothing of them is needed.
    pub comes: bool,
}

/// What is asked about a place in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IntrospectKind {
    /// What could be typed on.
    Completions,
    /// What the object there is.
    Object,
}

/// What was found at a place in code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Introspected {
    /// What could be typed on.
    Completions {
        /// Where the text begins that is replaced, in code points.
        from: u32,
        /// Where it ends.
        to: u32,
        /// Best first.
        items: Vec<Completion>,
    },
    /// What the object there is.
    Object(Option<Box<Inspection>>),
}

/// What tells a variable from one of another state: the fingerprint of its content, where it has
/// one, and its type and address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(pub Option<String>, pub String);

/// The fingerprints of all variables of a state, by name.
pub type Fingerprints = BTreeMap<String, Fingerprint>;

/// A checkpoint that was written, as the process that wrote it knows it. All its blobs are on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// The BLAKE3 digest of the manifest, in hex.
    pub manifest: String,
    /// How many names it holds.
    pub entry_count: u32,
    /// Its size unpacked, in bytes.
    pub namespace_bytes: u64,
    /// Its size on disk, in bytes, shared blobs included.
    pub stored_bytes: u64,
    /// How much of that was not there before, in bytes.
    pub new_bytes: u64,
    /// Whether sources and import statements are in it.
    pub includes_source: bool,
    /// What could not be saved.
    pub missing: Vec<Missing>,
}

/// What the server tells a process.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// The first order, to the root only: start Python. Comes with the lifeline's read end.
    SpawnRoot {
        /// The user's interpreter.
        python: PathBuf,
        /// For the end of `sys.path`.
        support: Option<PathBuf>,
        /// Where cells run.
        cwd: PathBuf,
        /// Niceness of cell processes.
        nice: u8,
    },
    /// Fork. Comes with the child's socket, and for a head with what `Role::Head` names.
    Fork {
        /// The child's id.
        child: ProcId,
        /// What it is to be.
        role: Role,
        /// What it is to load first; to the root only.
        load: Option<Load>,
        /// The folder of the notebook's blobs, when it loads or saves.
        blobs: Option<PathBuf>,
        /// What it is to send.
        #[serde(default)]
        wanted: Option<Wanted>,
    },
    /// Run a cell; to a head at rest.
    Run {
        /// The run.
        exec_id: ExecId,
        /// The source.
        code: String,
        /// Whether `input()` may ask.
        allow_stdin: bool,
        /// Whether it has a limit of memory, so that it is to say before what it holds.
        #[serde(default)]
        has_memory_limit: bool,
        /// Whether it is to say which variables it has read, assigned and deleted.
        #[serde(default)]
        report_symbols: bool,
        /// Variables of other states; each that comes brings the end of a pipe.
        #[serde(default)]
        deliveries: Vec<Delivery>,
    },
    /// Find something out; to a process that answers.
    Question {
        /// Its number, which the answer names.
        number: u64,
        /// What is kind.
        kind: IntrospectKind,
        /// The whole cell.
        code: String,
        /// Where, in code points from the beginning.
        cursor: u32,
    },
    /// What the user typed; to a head that asked.
    Answer {
        /// The number of the question.
        number: u32,
        /// Without the newline.
        text: String,
    },
    /// A child of yours has died: wait for it, so that it is no zombie, and report how it ended.
    Reap {
        /// Its process id.
        pid: i32,
    },
}

/// What a process tells the server.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// I am what I was forked to be. The parent says the pid too, but may die before it does.
    Ready {
        /// This process' id.
        pid: i32,
        /// What the checkpoint that it was loaded from could not give.
        #[serde(default)]
        missing: Vec<Missing>,
        /// Why branches must not be forked from it: loading the checkpoint has started threads.
        #[serde(default)]
        hazard: Option<String>,
    },
    /// My checkpoint could not be loaded; I exit.
    LoadFailed {
        /// Why.
        why: String,
    },
    /// How far the checkpoint has come that I write.
    Saving {
        /// Of a hundred.
        percent: u8,
    },
    /// The checkpoint is written; I exit.
    Saved(Contents),
    /// The checkpoint could not be written; I exit.
    SaveFailed {
        /// Why.
        why: String,
    },
    /// The root could not start Python; it exits.
    Failed {
        /// What went wrong and what helps.
        why: String,
    },
    /// A child was made.
    Forked {
        /// The child's id.
        child: ProcId,
        /// Its process id.
        pid: i32,
    },
    /// A child could not be made.
    ForkFailed {
        /// The child's id.
        child: ProcId,
        /// The operating system's reason.
        why: String,
    },
    /// How a child of mine ended.
    Reaped {
        /// Its process id.
        pid: i32,
        /// Exit code or signal.
        exit: Option<Exit>,
    },
    /// What I hold, right before the cell begins that has a limit of memory.
    MemoryUse(MemoryUse),
    /// The cell began: from now on an interrupt reaches it.
    Started,
    /// Something was printed or shown.
    Output(Output),
    /// A display shows something else now.
    Update {
        /// Its display id.
        display_id: String,
        /// Its new data.
        data: MimeBundle,
        /// Its new metadata.
        metadata: MimeBundle,
    },
    /// `clear_output`.
    Clear {
        /// Whether to wait for the next output.
        wait: bool,
    },
    /// `input()` or `getpass()` waits for an answer.
    Ask(Prompt),
    /// Which variables the cell has read, assigned and deleted; right before its end, when that was
    /// asked for.
    Symbols(Symbols),
    /// The cell ended.
    Ended {
        /// How.
        how: How,
        /// The number of the cell in `In[n]`.
        exec_count: u32,
        /// What of this state does not survive a branch.
        warnings: Vec<String>,
        /// Whether this process may be forked; a library that is known to hang in forks may be in
        /// use.
        forks: bool,
        /// Whether some of this state lives in this process alone: threads, child processes.
        #[serde(default)]
        is_alone: bool,
        /// Of a cell that raised: what it has left in this process.
        #[serde(default)]
        remains: Remains,
    },
    /// What my branches share with me although each should have its own; a frozen process says it
    /// when nobody waits.
    Shared(Vec<String>),
    /// The variables of a state.
    Variables(Vec<Variable>),
    /// Digests of the variables of a state.
    Digested(Option<Digests>),
    /// What tells the variables of a state from those of another.
    Fingerprinted {
        /// None when there are too many.
        fingerprints: Option<Fingerprints>,
        /// Identifies the spawned or loaded process from which this one comes by forks alone. In
        /// all processes of one address space an object keeps its address.
        address_space: u64,
    },
    /// The answer to a question.
    Found {
        /// The number of the question.
        number: u64,
        /// The answer.
        found: Introspected,
    },
}

/// How a cell ended, as its own process sees it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It ran to its end.
    Ok,
    /// It raised.
    Error(RunError),
    /// It was not run: this head's state could not be frozen before, and running on would lose it.
    Refused,
}

/// What a cell that raised has left in its process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remains {
    /// Nothing that can become a state: no line of it ran, or it asked for its end.
    #[default]
    Nothing,
    /// A process that cannot be frozen, and why.
    Unfit(String),
    /// The state that it ran against: the cell failed in its first statement, which set nothing.
    Unchanged,
    /// What it had set until it failed.
    Set,
}

impl Remains {
    /// Whether it can become a state.
    pub fn can_be_a_state(&self) -> bool {
        matches!(self, Self::Unchanged | Self::Set)
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// By the system, which had run out of memory, as far as can be told from outside.
    OutOfMemory,
    /// By the server, as it could not be talked to any more: it had closed its socket, or become
    /// another program.
    Unreachable,
}

/// How many bytes had been written to descriptors 1 and 2 when something was said. Counts go round
/// at 2³².
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    /// To descriptor 1.
    pub(crate) out: u32,
    /// To descriptor 2.
    pub(crate) err: u32,
}

/// A report with what the server needs to keep outputs in order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Envelope<R> {
    /// The report.
    pub(crate) report: R,
    /// What stood before it in the pipes.
    #[serde(default)]
    pub(crate) written: Written,
}

/// A message as a frame.
pub(crate) fn frame<T: Serialize>(message: &T) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message).expect("plain data is serialised into memory");
    seal(bytes)
}

/// Sets the length of a frame whose first four bytes were left free.
pub(crate) fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes
}
