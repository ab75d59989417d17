//! A document: a sequence of cells, as files of other programs have it.

use super::markdown::Pictures;
use crate::notebook::{DraftKind, Output, Outputs};
use crate::problem::{Kind, Problem};

/// Maximum number of cells in a file. It equals the maximum number of drafts in a notebook.
pub(super) const MAX_CELLS: usize = 10_000;

/// Maximum bytes of text in all cells of a file. It equals the maximum for all drafts of a
/// notebook.
const MAX_TEXT_BYTES: usize = 4 * 1024 * 1024;

/// Maximum bytes of text in one cell.
pub(super) const MAX_CELL_BYTES: usize = 1024 * 1024;

/// Jupyter's tag for a cell whose failure does not stop the cells below it.
pub(super) const RAISES: &str = "raises-exception";

const IMPORT: &str = "import the file";

/// The problem of a file that is not of its format. `why` says what is wrong, and where.
pub(super) fn malformed(why: impl Into<String>, how: impl Into<String>) -> Problem {
    Problem::bad_request(IMPORT, why, how)
}

/// The problem of a file that exceeds a limit.
pub(super) fn too_large(why: impl Into<String>) -> Problem {
    Problem::new(Kind::TooLarge, IMPORT, why, "split the file and import its parts")
}

/// The problem of an import that ended because the client disconnected.
pub(super) fn stopped() -> Problem {
    malformed("the client has disconnected", "send it again")
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
    /// Code, Markdown or raw.
    pub kind: DraftKind,
    /// The cell's text.
    pub source: String,
    /// The cell's outputs. Empty for a cell that never ran.
    pub outputs: Vec<Output>,
    /// The number in `In[n]`.
    pub exec_count: Option<u32>,
    /// Whether the outputs and the number are those of an earlier version of the cell. Always false
    /// in a document that was read from a file.
    pub is_stale: bool,
    /// Whether the cell failed and its variables were kept for the cells below. Always false in a
    /// document that was read from a file.
    pub is_partial: bool,
    /// The cell of the imported file that this cell comes from, counted from 0.
    pub imported_cell: Option<u32>,
}

impl Cell {
    pub(super) fn new(kind: DraftKind, source: impl Into<String>) -> Self {
        Self {
            id: String::new(),
            kind,
            source: source.into(),
            outputs: Vec::new(),
            exec_count: None,
            is_stale: false,
            is_partial: false,
            imported_cell: None,
        }
    }
}

pub(super) fn check(document: &Document) -> Result<(), Problem> {
    check_count(document.cells.len())?;
    for (at, cell) in document.cells.iter().enumerate() {
        check_cell(at, &cell.source)?;
    }
    let bytes: usize = document.cells.iter().map(|cell| cell.source.len()).sum();
    if bytes > MAX_TEXT_BYTES {
        let why = format!("its cells have {bytes} bytes of text, more than {MAX_TEXT_BYTES}");
        return Err(too_large(why));
    }
    Ok(())
}

pub(super) fn check_count(cells: usize) -> Result<(), Problem> {
    if cells > MAX_CELLS {
        return Err(too_large(format!("it has {cells} cells, more than {MAX_CELLS}")));
    }
    Ok(())
}

pub(super) fn check_cell(at: usize, text: &str) -> Result<(), Problem> {
    if text.len() > MAX_CELL_BYTES {
        let why = format!("cell {} has more than {MAX_CELL_BYTES} bytes of text", at + 1);
        return Err(too_large(why));
    }
    Ok(())
}

/// Whether Jupyter accepts a text as a cell id: 1 to 64 letters, digits, `-` and `_`.
pub(super) fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))
}

/// Collects outputs up to the size limit of a run. If some do not fit, adds a note that states how
/// many bytes were dropped.
pub(super) fn kept(items: Vec<Output>) -> Outputs {
    let mut outputs = Outputs::default();
    for item in items {
        outputs.push(item);
    }
    outputs.note_dropped();
    outputs
}
