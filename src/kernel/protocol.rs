//! Messages between the server and one process, on the process' own socket: orders and reports.
//!
//! A frame is its length (u32, little endian) and JSON. Descriptors travel with the first byte of
//! an order. No sender waits for a reply: reports about a child or a question carry its id.

use super::memory::MemoryUse;
use crate::notebook::{
    ChangedOnLoad, CodeParameters, Completion, Digests, Drawn, Evaluated, Form, Goal, Inspection, Metric,
    MimeBundle, Missing, Output, Prompt, RunError, Sampler, Symbols, SyntaxProblem, TableAnswer, TableView,
    ValuePart, ValuePartView, Variable, WidgetMessage,
};
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Ratoon's version. The two ends are separate files, so the root compares it with the server's.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Interrupts the system call in which a process waits (EINTR). The handler does nothing. Python
/// checks for signals, then retries the call. Other programs ignore SIGURG unless they handle it.
pub(crate) const WAKE: Signal = Signal::SIGURG;

/// The longest frame, in bytes: one output with its base64, or the code of one cell.
pub(crate) const MAX_FRAME_BYTES: usize = 64 * 1024 * 1024;

/// A process of a notebook, numbered by the session. Unlike a pid, a number is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProcId(pub u64);

/// What a forked process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// A state in memory: waits for orders to fork and never runs user code.
    Frozen,
    /// Runs the next cell. The order to fork it carries the pipes of descriptors 1 and 2, the text
    /// pipe, and the three descriptors of `text_pipe::SharedCounts`.
    Head,
    /// Reports the variables and exits. The frozen process does not do this itself, because a
    /// `__repr__` may change the process that runs it.
    ListVariables,
    /// Reports fingerprints of the variables, which show what differs between states, and exits.
    Fingerprint,
    /// Reports digests of the variables and which of them share objects, and exits.
    Digest,
    /// Writes variables into a pipe and exits. The order to fork it carries the pipe's write end.
    Send,
    /// Answers questions of the editor about code that is not run yet, such as completions. The
    /// process runs until it is killed.
    Answer,
    /// Writes the state's checkpoint of this form, reports it and exits.
    Save(Form),
}

impl Role {
    /// Whether processes of this role are throw-away forks. Everything that a throw-away fork
    /// starts must end with it.
    pub fn is_thrown_away(self) -> bool {
        !matches!(self, Self::Frozen | Self::Head)
    }
}

/// The checkpoint that a fork of the root loads before it takes its role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// The digest of the checkpoint's manifest.
    pub manifest: String,
    /// The form of the checkpoint that is loaded.
    pub form: Form,
    /// Set if the checkpoint is untrusted: how many bytes of memory loading it may take. A second
    /// memory limit and a limit of processor time follow from the size of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// Maximum number of pipes that one order to run a cell carries. Their descriptors travel with one
/// message, and Linux allows 253 per message.
pub const MAX_DELIVERIES: usize = 64;

/// Which variables are sent to another process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Wanted {
    /// The variables with these names. A name without a variable is ignored.
    Names {
        /// The names of the variables.
        names: Vec<String>,
    },
    /// The variables that code reads through the alias of the state, as in `alias.x`.
    For {
        /// The alias of the state.
        alias: String,
        /// The code that reads the variables.
        code: String,
    },
}

/// Variables of another state that a cell can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// The cell's alias for the other state; empty if the cell takes the variables as its own.
    pub alias: String,
    /// The id of the other state.
    pub state: String,
    /// Whether the variables come through a pipe. If not, the cell needs none of them.
    pub comes: bool,
}

/// A question about a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// How code can be completed at a cursor.
    Complete {
        /// The whole cell.
        code: String,
        /// The cursor, in code points from the beginning.
        cursor: u32,
        /// Code that runs before the cell and has not run yet.
        above: String,
    },
    /// What the object at a cursor is.
    Inspect {
        /// The whole cell.
        code: String,
        /// The cursor, in code points from the beginning.
        cursor: u32,
        /// Code that runs before the cell and has not run yet.
        above: String,
    },
    /// The syntax error of a cell.
    Check {
        /// The whole cell.
        code: String,
    },
    /// What a sweep has to know about a cell.
    Parameters {
        /// The whole cell.
        code: String,
        /// Python sources, each of which has to be a literal or a name.
        values: Vec<String>,
        /// The source that has to be an expression.
        metric: Option<String>,
        /// A second cell that has to be free of syntax errors.
        rung: Option<String>,
        /// Whether Optuna has to be installed.
        draws: bool,
    },
    /// Rows that Optuna draws. It runs code of the user's environment, so the process that answers
    /// is not asked again.
    Draw {
        /// What is drawn.
        sampler: Sampler,
        /// Which metrics are better.
        goal: Goal,
        /// The rows so far: the values as Python source, and the metric, if there is one.
        known: Vec<(Vec<String>, Option<f64>)>,
        /// How many rows are drawn.
        count: u32,
    },
    /// The values of expressions. They may change objects, so the process that answers is not asked
    /// again.
    Evaluate {
        /// The expressions.
        expressions: Vec<String>,
    },
    /// Rows of a data frame.
    Table {
        /// Which rows.
        view: TableView,
    },
    /// What is in a variable. A `__repr__` may change objects, so the process is not asked again.
    ValuePart {
        /// Which part.
        view: ValuePartView,
    },
}

/// The answer to a question about a state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Introspected {
    /// How the text can be completed.
    Completions {
        /// Where the replaced text begins, in code points.
        from: u32,
        /// Where the replaced text ends, in code points.
        to: u32,
        /// The completions, best first.
        items: Vec<Completion>,
    },
    /// A description of the object at that place. None if it is unknown.
    Object(Option<Box<Inspection>>),
    /// The first syntax error. None if there is none.
    Checked(Option<SyntaxProblem>),
    /// The parameters of a cell. None if the process could not read the cell.
    Parameters(Option<CodeParameters>),
    /// Rows that were drawn. None if the process could not draw them.
    Drawn(Option<Drawn>),
    /// The values of the expressions, in their order.
    Values(Vec<Evaluated>),
    /// Rows of a data frame. None if the process could not read them.
    Table(Option<TableAnswer>),
    /// A part of a variable. None if it cannot be read.
    ValuePart(Option<Box<ValuePart>>),
}

/// The parts of a variable that are compared between states: a fingerprint of the content, if there
/// is one, and the type and address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint(pub Option<String>, pub String);

/// The fingerprints of all variables of a state, by name.
pub type Fingerprints = BTreeMap<String, Fingerprint>;

/// A written checkpoint, as the process that wrote it describes it. All its blobs are on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// The BLAKE3 digest of the manifest, in hex.
    pub manifest: String,
    /// How many names the checkpoint contains.
    pub entry_count: u32,
    /// The size of its content before compression, in bytes.
    pub namespace_bytes: u64,
    /// Its size on disk, in bytes, shared blobs included.
    pub stored_bytes: u64,
    /// The part of `stored_bytes` that was not stored before.
    pub new_bytes: u64,
    /// Whether it contains sources and import statements.
    pub includes_source: bool,
    /// What could not be saved.
    pub missing: Vec<Missing>,
    /// What loading changes.
    pub changed: Vec<ChangedOnLoad>,
    /// Why loading was not tried.
    pub not_compared: Option<String>,
}

/// How a head runs a cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellOrder {
    /// The cell's source.
    pub code: String,
    /// Whether `input()` may ask the user.
    pub allow_stdin: bool,
    /// Whether the run has a memory limit. The head then reports its memory before the cell
    /// begins.
    pub has_memory_limit: bool,
    /// Whether the head reports which variables the cell has read, assigned and deleted.
    pub report_symbols: bool,
    /// An expression to evaluate when the cell has succeeded.
    pub metric: Option<String>,
    /// How many threads numeric libraries may use while the cell runs.
    pub threads: Option<u32>,
}

impl CellOrder {
    /// A cell that may not ask the user, and about which the head reports nothing but its end.
    pub fn new(code: String) -> Self {
        Self {
            code,
            allow_stdin: false,
            has_memory_limit: false,
            report_symbols: false,
            metric: None,
            threads: None,
        }
    }
}

/// A message from the server to a process.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// Start the shell: the first order, to the root only. Carries the lifeline's read end and the
    /// server's standard error.
    SpawnRoot {
        /// The server's `VERSION`.
        version: String,
        /// A directory to append to `sys.path`.
        support: Option<PathBuf>,
        /// The directory of the compiled code of the kernel's Python package.
        bytecode: Option<PathBuf>,
        /// Niceness of cell processes.
        nice: u8,
    },
    /// Fork a child. Carries the child's socket, and the descriptors that `Role::Head` or
    /// `Role::Send` names.
    Fork {
        /// The child's id.
        child: ProcId,
        /// The child's role.
        role: Role,
        /// The checkpoint that the child loads first. Only the root gets such orders.
        load: Option<Load>,
        /// The folder of the notebook's blobs, if the child loads or saves a checkpoint.
        blobs: Option<PathBuf>,
        /// The variables that a child of `Role::Send` sends.
        wanted: Option<Wanted>,
    },
    /// Run a cell. Only an idle head gets this order.
    Run {
        /// The cell.
        cell: CellOrder,
        /// Variables of other states. For each delivery with `comes`, the order carries the read
        /// end of a pipe.
        #[serde(default)]
        deliveries: Vec<Delivery>,
    },
    /// Answer a question. Only a process of `Role::Answer` gets this order.
    Question {
        /// The question's number, which the answer repeats.
        number: u64,
        /// The question.
        question: Question,
    },
    /// The user's input, for a head that asked for it.
    Answer {
        /// The number of the question.
        number: u32,
        /// What the user typed, without the newline.
        text: String,
    },
    /// Run the code of a widget for a message of a page. Only an idle head gets this order.
    Widget {
        /// The number of the message, which the report repeats.
        number: u64,
        /// The message.
        message: WidgetMessage,
    },
    /// A child has died: wait for it, so that it is no zombie, and report how it ended.
    Reap {
        /// The child's process id.
        pid: i32,
    },
}

/// A message from a process to the server.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// The Python that runs. The root sends it before it is ready.
    Python {
        /// Its version, for example "3.12.1". If the Python was replaced after it described itself,
        /// this version differs from the described one.
        version: String,
    },
    /// The process is ready for its role. The parent reports the pid too, but may die first.
    Ready {
        /// This process' id.
        pid: i32,
        /// What could not be restored from its checkpoint.
        #[serde(default)]
        missing: Vec<Missing>,
        /// Set if branches must not be forked from this process, because loading the checkpoint has
        /// started threads: a sentence about them.
        hazard: Option<String>,
    },
    /// The checkpoint could not be loaded; the process exits.
    LoadFailed {
        /// Why it could not be loaded.
        why: String,
    },
    /// Progress of writing the checkpoint.
    Saving {
        /// The part that is written, in percent: 0 to 99.
        percent: u8,
    },
    /// The checkpoint is written; the process exits.
    Saved(Contents),
    /// The checkpoint could not be written; the process exits.
    SaveFailed {
        /// Whether the disk refused it. Otherwise pickling failed.
        is_disk: bool,
        /// Why it could not be written.
        why: String,
    },
    /// The root could not start Python; it exits.
    Failed {
        /// What failed, and what to do.
        why: String,
    },
    /// A child was forked.
    Forked {
        /// The child's id.
        child: ProcId,
        /// The child's process id.
        pid: i32,
    },
    /// A child could not be forked.
    ForkFailed {
        /// The child's id.
        child: ProcId,
        /// The operating system's reason.
        why: String,
    },
    /// How a child ended.
    Reaped {
        /// The child's process id.
        pid: i32,
        /// The child's exit code or signal. None if it is unknown.
        exit: Option<Exit>,
    },
    /// The process' memory right before a cell with a memory limit begins.
    MemoryUse(MemoryUse),
    /// The cell began: from now on an interrupt reaches it.
    Started,
    /// Something was printed or shown.
    Output(Output),
    /// An output with a display id gets new content.
    Update {
        /// The output's display id.
        display_id: String,
        /// The output's new data.
        data: MimeBundle,
        /// The output's new metadata.
        metadata: MimeBundle,
    },
    /// `clear_output`.
    Clear {
        /// Whether to clear only when the next output arrives.
        wait: bool,
    },
    /// A message of a widget to the pages.
    Widget(WidgetMessage),
    /// The code of a widget has run for a message of a page.
    WidgetHandled {
        /// The number of the message.
        number: u64,
        /// How it ended.
        end: WidgetEnd,
    },
    /// `input()` or `getpass()` waits for an answer.
    Ask(Prompt),
    /// Which variables the cell has read, assigned and deleted, if the order asked for that. Sent
    /// right before `Ended`.
    Symbols(Symbols),
    /// The value of the order's metric. Sent right before `Ended`, if the cell has succeeded.
    Metric(Metric),
    /// The cell ended.
    Ended {
        /// How it ended.
        how: How,
        /// What the state that it leaves is like.
        report: CellReport,
        /// What a cell that raised has left in this process.
        remains: Remains,
    },
    /// Sentences about things that branches share with this process, although each branch should
    /// have its own. An idle frozen process sends this.
    Shared(Vec<String>),
    /// The variables of a state.
    Variables(Vec<Variable>),
    /// Digests of the variables of a state. None if they could not be computed.
    Digested(Option<Digests>),
    /// Fingerprints of the variables of a state.
    Fingerprinted {
        /// None if there are too many variables.
        fingerprints: Option<Fingerprints>,
        /// Identifies the last process among this one and its ancestors that started Python or
        /// loaded a checkpoint. An object has the same address in all processes of one address
        /// space.
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

/// How a cell ended, as its process reports it.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It ran to its end.
    Ok,
    /// It raised an exception.
    Error(RunError),
    /// It was not run: this head's state could not be frozen, and running the cell would lose that
    /// state.
    Refused,
}

/// How the code of a widget ended that ran for a message of a page.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WidgetEnd {
    /// It ran, or raised an error that is among the outputs. The process must be frozen again
    /// before it runs a cell.
    Ran(Hazards),
    /// The process has no such widget, and is unchanged.
    Unknown,
    /// It ran, and the process cannot be frozen any more.
    Unfit {
        /// Why not.
        why: String,
    },
}

/// What a head reports when its cell has ended, about the state that the cell leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellReport {
    /// The number of the cell in `In[n]`.
    pub exec_count: u32,
    /// What branches of the state lack.
    pub hazards: Hazards,
}

/// What does not survive a fork of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hazards {
    /// Sentences about what branches of the process's state do not have.
    pub warnings: Vec<String>,
    /// Whether the process may be forked. False if it uses a library that is known to hang in
    /// forks.
    pub forks: bool,
    /// Whether part of the state, such as a thread or a child process, exists only in this process.
    pub is_alone: bool,
}

impl Hazards {
    /// Of a process that survives a fork, apart from what `warnings` say.
    pub fn only(warnings: Vec<String>) -> Self {
        Self { warnings, forks: true, is_alone: false }
    }
}

/// What a cell that raised has left in its process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remains {
    /// Nothing that can become a state: no line of the cell ran, or the cell called `exit`.
    #[default]
    Nothing,
    /// A process that cannot be frozen. The text says why.
    Unfit(String),
    /// The unchanged state that the cell ran against: the cell failed in its first statement, which
    /// set nothing.
    Unchanged,
    /// What the cell had set before it failed.
    Set,
}

impl Remains {
    /// Whether what is left can become a state.
    pub fn can_be_a_state(&self) -> bool {
        matches!(self, Self::Unchanged | Self::Set)
    }
}

/// Why a root that has lost its socket cannot start. The end that notices it first says so: the
/// server or the root.
pub(super) const SOCKET_LOST: &str = "its connection to the server was closed while Python started: \
    by a .pth file, by sitecustomize, or by a script that starts Python and closes all descriptors";

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// It was killed by this signal.
    Signal(i32),
    /// Killed by the system, apparently because memory ran out.
    OutOfMemory,
    /// Killed by the server because it could not be reached: it had closed its socket, or replaced
    /// itself with another program.
    Unreachable,
}

/// How many bytes had been written to descriptors 1 and 2 when something was sent, modulo 2³².
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Written {
    /// To descriptor 1.
    pub(crate) out: u32,
    /// To descriptor 2.
    pub(crate) err: u32,
}

/// A report with its position among the outputs.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Envelope<R> {
    /// The report.
    pub(crate) report: R,
    /// What was written to the pipes before the report was sent.
    #[serde(default)]
    pub(crate) written: Written,
}

/// Encodes a message as a frame.
pub(crate) fn frame<T: Serialize>(message: &T) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message).expect("plain data is serialised into memory");
    seal(bytes)
}

/// Writes the length of a frame into its first four bytes, which the caller left free.
pub(crate) fn seal(mut bytes: Vec<u8>) -> Vec<u8> {
    let length = u32::try_from(bytes.len() - 4).unwrap_or(u32::MAX);
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    bytes
}
