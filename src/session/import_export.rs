//! Exports a state to a file, and imports a state from such a file.

use super::Session;
use crate::blocking_pool::BlockingPool;
use crate::notebook::{Checkpoint, Form, Notebook, Output, StateId};
use crate::problem::{Kind, Problem};
use crate::store::{self, Arrived, Export, StateFileError};
use std::path::PathBuf;

impl Session {
    /// Prepares a file with a state's checkpoint. With `environ`, the file also holds the
    /// environment variables that the state's code changed.
    ///
    /// # Errors
    /// `Problem` when the state or its checkpoint does not exist or cannot be read.
    pub async fn export(&self, state: &StateId, form: Form, environ: bool) -> Result<Export, Problem> {
        let (id, what) = (state.clone(), format!("export state {state}"));
        let found = self.read(move |notebook| content_of(notebook, &id)).await?;
        let none = |why| Problem::new(Kind::NotFound, what.clone(), why, "save it first, then export it");
        let content = found.ok_or_else(|| none("there is no such state in this notebook"))?;
        let checkpoint = content.checkpoint.ok_or_else(|| none("it has no checkpoint yet"))?;
        let blobs = self.files().blobs.clone();
        let prepare = move || {
            Export::prepare(&blobs, content.label, content.code, content.outputs, &checkpoint, form, environ)
        };
        run_blocking(self.threads(), &what, prepare).await
    }

    /// Reads a state's file and stores the blobs in it. After that, `adopt` adds the state to the
    /// notebook.
    ///
    /// # Errors
    /// `Problem` when the file is damaged or incomplete, or the disk cannot be written.
    pub async fn read_state(&self, file: PathBuf) -> Result<Arrived, Problem> {
        let blobs = self.files().blobs.clone();
        run_blocking(self.threads(), "import a state", move || store::read_state(&file, &blobs)).await
    }

    /// A new path for a temporary file. If the file is not removed, it is deleted when the notebook
    /// is opened again.
    pub fn temporary(&self) -> PathBuf {
        let name = format!("state-{}", uuid::Uuid::new_v4().simple());
        self.files().blobs.with_file_name("tmp").join(name)
    }
}

/// The content of a state's file besides blobs.
struct StateContent {
    label: Option<String>,
    code: String,
    outputs: Vec<Output>,
    checkpoint: Option<Checkpoint>,
}

fn content_of(notebook: &Notebook, id: &StateId) -> Option<StateContent> {
    let state = notebook.find(id.as_str())?;
    let run_of = |exec_id: &Option<_>| exec_id.as_ref().and_then(|id| notebook.run(id));
    let lineage = notebook.lineage(&state.id);
    let code = lineage
        .iter()
        .filter_map(|s| run_of(&s.exec_id))
        .map(|run| format!("# %%\n{}\n", run.code))
        .collect();
    let outputs = run_of(&state.exec_id).map(|run| run.outputs.items().to_vec()).unwrap_or_default();
    Some(StateContent { label: state.label.clone(), code, outputs, checkpoint: state.checkpoint.clone() })
}

/// Calls a function that reads or writes files, on another thread.
async fn run_blocking<T: Send + 'static>(
    threads: &BlockingPool,
    what: &str,
    work: impl FnOnce() -> Result<T, StateFileError> + Send + 'static,
) -> Result<T, Problem> {
    let done = threads.run(work).await;
    let done = done.map_err(|lost| Problem::new(Kind::Kernel, what, lost.to_string(), "try again"))?;
    done.map_err(|error| {
        let (kind, how) = match error {
            StateFileError::Bad(_) => (Kind::BadRequest, "use a file that was exported completely"),
            StateFileError::Lost(_) => (Kind::Lost, "save the state again, or replay it"),
            StateFileError::Disk(_) => {
                (Kind::Disk, "make room on the disk, or find out why it cannot be used, and try again")
            }
        };
        Problem::new(kind, what, error.to_string(), how)
    })
}
