//! Exports a lineage as `.ipynb`, `.py` or `.html`, and imports `.ipynb` and `.py` files as new
//! notebooks.
//!
//! Converts between text and values, without access to files. An export writes a `Document`, which
//! is a sequence of cells; an import reads a file into a `Document`.

mod formulas;
mod html;
mod ipynb;
mod ipynb_rewrite;
mod markdown;
mod nbformat3;
mod script;
#[cfg(test)]
mod tests;

pub use markdown::{Picture, Pictures, attachment_name, local_path, picture_addresses};

use crate::notebook::{
    Asked, Base, Draft, DraftId, DraftKind, ExecId, MimeBundle, Notebook, Output, Outputs, Run, RunStatus,
    StateId, Take,
};
use crate::problem::{Kind, Problem};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Maximum number of cells in a file. It equals the maximum number of drafts in a notebook.
const MAX_CELLS: usize = 10_000;
/// Maximum bytes of text in all cells of a file. It equals the maximum for all drafts of a
/// notebook.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;
/// Maximum bytes of text in one cell.
const MAX_CELL_BYTES: usize = 1024 * 1024;

/// A file format for export and import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Jupyter's notebooks: cells with their outputs.
    Ipynb,
    /// A Python program, its cells divided by `# %%`.
    Script,
    /// An HTML page for reading and printing. It cannot be imported.
    Html,
}

impl Format {
    /// The format with this file suffix, without a dot.
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Ipynb, Self::Script, Self::Html].into_iter().find(|format| format.word() == word)
    }

    /// The format's file suffix, without a dot.
    pub fn word(self) -> &'static str {
        match self {
            Self::Ipynb => "ipynb",
            Self::Script => "py",
            Self::Html => "html",
        }
    }

    /// The format's media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Ipynb => "application/x-ipynb+json",
            Self::Script => "text/x-python; charset=utf-8",
            Self::Html => "text/html; charset=utf-8",
        }
    }
}

/// Why a file cannot be imported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct FormatError {
    /// What is wrong, and where.
    pub why: String,
    /// What the user can do about it.
    pub how: String,
    /// Whether the file is refused because it exceeds a size limit.
    pub is_too_large: bool,
}

impl FormatError {
    fn new(why: impl Into<String>, how: impl Into<String>) -> Self {
        Self { why: why.into(), how: how.into(), is_too_large: false }
    }

    /// The error of an import that ended because the client disconnected.
    fn stopped() -> Self {
        Self::new("the client has disconnected", "send it again")
    }

    fn too_large(why: impl Into<String>) -> Self {
        Self { why: why.into(), how: "split the file and import its parts".into(), is_too_large: true }
    }
}

impl From<FormatError> for Problem {
    fn from(error: FormatError) -> Self {
        let kind = if error.is_too_large { Kind::TooLarge } else { Kind::BadRequest };
        Self::new(kind, "import the file", error.why, error.how)
    }
}

/// A sequence of cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Document {
    /// The notebook's name, used as the title. Empty in a document that was read from a file.
    pub name: String,
    /// The cells, from top to bottom.
    pub cells: Vec<Cell>,
    /// Parts of the file that were not imported, one text per part.
    pub left_out: Vec<String>,
    /// The text of the `.ipynb` that the document was read from. If a document has it, `write`
    /// repeats from it whatever was not changed. `None` for other formats and for nbformat 3.
    pub file: Option<String>,
    /// The pictures that the texts show, by their addresses.
    pub pictures: Pictures,
}

/// One cell of a document.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The cell's id. In a document made from a lineage, ids are unique and valid in Jupyter. In a
    /// document that was read from a file, the id is empty if the file has none.
    pub id: String,
    /// Code or markdown.
    pub kind: DraftKind,
    /// The cell's text.
    pub source: String,
    /// The cell's outputs. Empty for a cell that never ran.
    pub outputs: Vec<Output>,
    /// The number in `In[n]`.
    pub exec_count: Option<u32>,
    /// Whether the cell failed and its variables were kept for the cells below. Always false in a
    /// document that was read from a file.
    pub is_partial: bool,
    /// The cell of the imported file that this cell comes from, counted from 0.
    pub imported_cell: Option<u32>,
}

/// Jupyter's tag for a cell whose failure does not stop the cells below it.
const RAISES: &str = "raises-exception";

impl Cell {
    fn new(kind: DraftKind, source: impl Into<String>) -> Self {
        Self {
            id: String::new(),
            kind,
            source: source.into(),
            outputs: Vec::new(),
            exec_count: None,
            is_partial: false,
            imported_cell: None,
        }
    }
}

impl Document {
    /// The document of a state's lineage, including drafts, in page order.
    pub fn of(notebook: &Notebook, state: &StateId) -> Self {
        let mut cells = Vec::new();
        let shown = shown_by_drafts(notebook);
        let places = notebook.drafts_by_place();
        let drafts_at = |on, before| places.get(&(on, before)).into_iter().flatten().copied();
        for state in notebook.lineage(state) {
            if let Some(parent) = &state.parent {
                let above = drafts_at(parent, Some(&state.id))
                    .filter(|draft| !draft.source.trim().is_empty() || draft.imported_cell.is_some());
                cells.extend(above.map(|draft| cell_of_draft(draft, &shown)));
            }
            let run = state.exec_id.as_ref().and_then(|id| notebook.run(id));
            for (i, text) in state.prose.iter().enumerate() {
                let cell = Cell::new(DraftKind::Markdown, text);
                cells.push(Cell { id: format!("{}-{}", state.id, i + 1), ..cell });
            }
            let Some(run) = run else { continue };
            let of_draft = run.draft.as_ref().map_or(state.id.as_str(), DraftId::as_str);
            cells.push(Cell {
                id: of_draft.to_owned(),
                outputs: outputs_of(run),
                exec_count: Some(state.exec_count),
                is_partial: state.partial,
                imported_cell: run.imported_cell,
                ..Cell::new(DraftKind::Code, exported(notebook, &run.code))
            });
        }
        cells.extend(drafts_at(state, None).map(|draft| cell_of_draft(draft, &shown)));
        with_ids(&mut cells);
        Self {
            name: notebook.name().to_owned(),
            cells,
            left_out: Vec::new(),
            file: None,
            pictures: Pictures::new(),
        }
    }

    /// The addresses of all pictures that the texts show.
    pub fn picture_addresses(&self) -> BTreeSet<String> {
        let texts = self.cells.iter().filter(|cell| cell.kind == DraftKind::Markdown);
        texts.flat_map(|cell| picture_addresses(&cell.source)).collect()
    }

    /// Takes the pictures that an import attaches to the notebook, by their names.
    pub fn take_attachments(&mut self) -> Vec<(String, Vec<u8>)> {
        let named = |(address, picture): (String, Picture)| {
            Some((attachment_name(&address)?.to_owned(), picture.bytes()?))
        };
        std::mem::take(&mut self.pictures).into_iter().filter_map(named).collect()
    }

    /// Writes the document in a format.
    pub fn write(&self, format: Format) -> String {
        match format {
            Format::Ipynb => ipynb_rewrite::write(self).unwrap_or_else(|| ipynb::write(self)),
            Format::Script => script::write(self),
            Format::Html => html::write(self),
        }
    }

    /// Reads a file in a format.
    ///
    /// # Errors
    /// When the file is not of that format, or is too large.
    pub fn read(bytes: &[u8], format: Format) -> Result<Self, FormatError> {
        Self::read_while(bytes, format, &|| true)
    }

    /// Like `read`, but can be cancelled: calls `should_continue` before each cell.
    ///
    /// # Errors
    /// Those of `read`, and an error when `should_continue` returns false.
    pub fn read_while(
        bytes: &[u8],
        format: Format,
        should_continue: &dyn Fn() -> bool,
    ) -> Result<Self, FormatError> {
        let document = match format {
            Format::Ipynb => ipynb::read(bytes, should_continue)?,
            Format::Script => script::read(bytes)?,
            Format::Html => {
                let how = "choose an .ipynb or a .py file";
                return Err(FormatError::new("an HTML page cannot be imported", how));
            }
        };
        check(&document)?;
        Ok(document)
    }

    /// A new notebook with these cells as drafts of the root. The outputs of a cell become an
    /// imported run of the cell's draft. `new_id` makes the ids of these runs, and of cells without
    /// a unique id.
    pub fn into_notebook(mut self, name: &str, now_ms: f64, new_id: &mut dyn FnMut() -> String) -> Notebook {
        let mut notebook = Notebook::new(name, now_ms);
        let mut taken = HashSet::new();
        for cell in &mut self.cells {
            if cell.id.is_empty() || !taken.insert(cell.id.clone()) {
                cell.id = new_id();
                taken.insert(cell.id.clone());
            }
        }
        for cell in self.cells {
            let id = DraftId::new(cell.id);
            if cell.kind == DraftKind::Code && !(cell.outputs.is_empty() && cell.exec_count.is_none()) {
                notebook.add_run(Run {
                    exec_count: cell.exec_count,
                    imported_cell: cell.imported_cell,
                    outputs: kept(cell.outputs),
                    ..imported(ExecId::new(format!("imported-{}", new_id())), id.clone(), &cell.source)
                });
            }
            let (on, kind) = (StateId::root(), cell.kind);
            notebook.append_draft(Draft {
                id,
                on,
                before: None,
                kind,
                source: cell.source,
                version: 1,
                received: Vec::new(),
                imported_cell: cell.imported_cell,
            });
        }
        notebook
    }
}

/// The code of a cell in a file. The file has no other state to take variables from, so code that
/// takes some becomes a comment.
fn exported(notebook: &Notebook, code: &str) -> String {
    let Some((from, take)) = Take::read(code) else { return code.to_owned() };
    let label = notebook.state(&from).and_then(|state| state.label.as_deref());
    take.comment(label.unwrap_or(from.as_str()))
}

/// For each draft, the run whose outputs the page shows below the draft. It is the imported run, or
/// the last ended run of the draft that left no state and ran at the draft's state. A run that was
/// cancelled before its state was known is not shown.
fn shown_by_drafts(notebook: &Notebook) -> HashMap<&DraftId, &Run> {
    let base = |run: &Run| match &run.on {
        Base::State(state) => Some(state.clone()),
        Base::Run(earlier) => notebook.run(earlier).and_then(|earlier| earlier.state.clone()),
        Base::Name(_) => None,
    };
    let left_nothing = notebook.runs().filter(|run| run.state.is_none() && run.status.has_ended());
    let is_shown = |draft: &Draft, run: &Run| {
        run.status == RunStatus::Imported || base(run).is_some_and(|state| state == draft.on)
    };
    let drafts: HashMap<&DraftId, &Draft> = notebook.drafts().map(|draft| (&draft.id, draft)).collect();
    let of_draft = left_nothing.filter_map(|run| {
        let draft = drafts.get(run.draft.as_ref()?)?;
        (draft.kind == DraftKind::Code && is_shown(draft, run)).then_some((&draft.id, run))
    });
    of_draft.collect()
}

fn cell_of_draft(draft: &Draft, shown: &HashMap<&DraftId, &Run>) -> Cell {
    let run = shown.get(&draft.id);
    Cell {
        id: draft.id.as_str().to_owned(),
        outputs: run.map(|run| outputs_of(run)).unwrap_or_default(),
        exec_count: run.and_then(|run| run.exec_count),
        imported_cell: draft.imported_cell,
        ..Cell::new(draft.kind, &draft.source)
    }
}

/// The outputs of a run. Adds the run's error if the outputs do not contain an error.
fn outputs_of(run: &Run) -> Vec<Output> {
    let mut items = run.outputs.items().to_vec();
    let is_told = items.iter().any(|item| matches!(item, Output::Error(_)));
    items.extend(run.error.clone().filter(|_| !is_told).map(Output::Error));
    items
}

/// An imported run of a draft, without outputs.
fn imported(exec_id: ExecId, draft: DraftId, code: &str) -> Run {
    let on = Base::State(StateId::root());
    Run {
        exec_id,
        on: on.clone(),
        code: code.to_owned(),
        status: RunStatus::Imported,
        draft: Some(draft),
        warnings: Vec::new(),
        exec_count: None,
        imported_cell: None,
        outputs: Outputs::default(),
        error: None,
        keepable: false,
        prompt: None,
        started_at: None,
        duration_ms: None,
        state: None,
        symbols: None,
        metric: None,
        worker: None,
        deleted_at: None,
        asked: Asked { on, new_state_name: None },
    }
}

/// Collects outputs up to the size limit of a run. If some do not fit, adds a note that states how
/// many bytes were dropped.
fn kept(items: Vec<Output>) -> Outputs {
    let mut outputs = Outputs::default();
    for item in items {
        outputs.push(item);
    }
    outputs.note_dropped();
    outputs
}

fn check(document: &Document) -> Result<(), FormatError> {
    check_count(document.cells.len())?;
    for (at, cell) in document.cells.iter().enumerate() {
        check_cell(at, &cell.source)?;
    }
    let bytes: usize = document.cells.iter().map(|cell| cell.source.len()).sum();
    if bytes > MAX_TEXT_BYTES {
        let why = format!("its cells have {bytes} bytes of text, more than {MAX_TEXT_BYTES}");
        return Err(FormatError::too_large(why));
    }
    Ok(())
}

fn check_count(cells: usize) -> Result<(), FormatError> {
    if cells > MAX_CELLS {
        return Err(FormatError::too_large(format!("it has {cells} cells, more than {MAX_CELLS}")));
    }
    Ok(())
}

fn check_cell(at: usize, text: &str) -> Result<(), FormatError> {
    if text.len() > MAX_CELL_BYTES {
        let why = format!("cell {} has more than {MAX_CELL_BYTES} bytes of text", at + 1);
        return Err(FormatError::too_large(why));
    }
    Ok(())
}

/// Whether Jupyter accepts a text as a cell id: 1 to 64 letters, digits, `-` and `_`.
fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

/// Gives every cell a valid and unique id.
fn with_ids(cells: &mut [Cell]) {
    let mut taken = HashSet::new();
    // `next` only grows. If it started again at 1, a file with many ids of the form `cell-N` would
    // make the loop slow.
    let mut next = 1;
    for (at, cell) in cells.iter_mut().enumerate() {
        if is_id(&cell.id) && taken.insert(cell.id.clone()) {
            continue;
        }
        next = next.max(at + 1);
        while !taken.insert(format!("cell-{next}")) {
            next += 1;
        }
        cell.id = format!("cell-{next}");
    }
}

/// Reads a text that is stored as a string or as a list of lines, as nbformat allows both. None for
/// other JSON.
pub(crate) fn text_or_lines(value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::String(text) => Some(text.clone()),
        serde_json::Value::Array(lines) => lines.iter().map(serde_json::Value::as_str).collect(),
        _ => None,
    }
}

/// Converts a representation of an output to text. Joins a list of lines; serialises other JSON.
pub(crate) fn text_of(value: &serde_json::Value) -> String {
    text_or_lines(value).unwrap_or_else(|| value.to_string())
}

/// Whether data of a mime type is JSON rather than text.
fn is_json(mime: &str) -> bool {
    mime == "application/json" || mime.ends_with("+json")
}

/// The representation of a bundle for a mime type, as text.
fn text_in(bundle: &MimeBundle, mime: &str) -> Option<String> {
    bundle.get(mime).map(text_of)
}
