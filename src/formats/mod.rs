//! Exports a lineage as `.ipynb`, `.py` or `.html`, or all branches as one page, and imports
//! `.ipynb` and `.py` files as new notebooks.
//!
//! Converts between text and values, without access to files. An export writes a `Document`, which
//! is a sequence of cells; an import reads a file into a `Document`.

mod document;
mod formulas;
mod html;
mod ipynb;
mod ipynb_rewrite;
mod ipython;
mod lineage;
mod markdown;
mod nbformat;
mod nbformat3;
mod script;
#[cfg(test)]
mod tests;
mod text;
mod tree;
mod tree_page;

pub use document::{Cell, Document};
pub use markdown::{Picture, Pictures, attachment_name, local_path, picture_addresses};
pub(crate) use text::{text_of, text_or_lines};

use crate::notebook::{DraftKind, Notebook, StateId};
use crate::problem::Problem;
use document::{check, malformed};
use std::collections::BTreeSet;
use tree::Tree;

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

/// What is exported to one file.
pub enum Exported {
    /// The lineage of a state.
    Lineage(Document),
    /// All branches of a notebook, as HTML.
    Tree(Tree),
}

impl Exported {
    /// The lineage of a state, or all branches, of which the page shows this lineage at first.
    pub fn of(notebook: &Notebook, state: &StateId, all_branches: bool) -> Self {
        if all_branches {
            Self::Tree(Tree::of(notebook, state))
        } else {
            Self::Lineage(Document::of(notebook, state))
        }
    }

    /// The document with all cells.
    pub fn document(&mut self) -> &mut Document {
        match self {
            Self::Lineage(document) | Self::Tree(Tree { document, .. }) => document,
        }
    }

    /// The end of the file's name, after the notebook's name.
    pub fn suffix(&self, format: Format) -> String {
        match self {
            Self::Lineage(_) => format!(".{}", format.word()),
            Self::Tree(_) => format!("-all-branches.{}", format.word()),
        }
    }

    /// Writes the file. All branches are always written as HTML.
    pub fn write(&self, format: Format) -> String {
        match self {
            Self::Lineage(document) => document.write(format),
            Self::Tree(tree) => tree_page::write(tree),
        }
    }
}

impl Document {
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
    pub fn read(bytes: &[u8], format: Format) -> Result<Self, Problem> {
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
    ) -> Result<Self, Problem> {
        let document = match format {
            Format::Ipynb => ipynb::read(bytes, should_continue)?,
            Format::Script => script::read(bytes)?,
            Format::Html => {
                let how = "choose an .ipynb or a .py file";
                return Err(malformed("an HTML page cannot be imported", how));
            }
        };
        check(&document)?;
        Ok(document)
    }
}
