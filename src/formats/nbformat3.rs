//! Reads notebook files of nbformat 3, which IPython 1 and 2 wrote. In these files, cells are in
//! worksheets, and many fields have other names than in nbformat 4.

use super::document::{Cell, Document, malformed, stopped};
use super::nbformat::{count, error, list, object, outputs, source, stream, word};
use super::text::{is_json, text_of};
use crate::notebook::{DraftKind, MimeBundle, Output};
use crate::problem::Problem;
use serde_json::{Map, Value};

/// Names of representations in nbformat 3, and their mime types.
const MIMES: &[(&str, &str)] = &[
    ("text", "text/plain"),
    ("html", "text/html"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpeg", "image/jpeg"),
    ("latex", "text/latex"),
    ("json", "application/json"),
    ("javascript", "application/javascript"),
    ("pdf", "application/pdf"),
];

/// Reads all worksheets, one after the other.
pub(super) fn read(
    file: &Map<String, Value>,
    should_continue: &dyn Fn() -> bool,
) -> Result<Document, Problem> {
    let mut document = Document::default();
    for (s, sheet) in list(file, "worksheets", "the file")?.iter().enumerate() {
        let place = format!("worksheet {}", s + 1);
        for (i, own) in list(object(sheet, &place)?, "cells", &place)?.iter().enumerate() {
            if !should_continue() {
                return Err(stopped());
            }
            let place = format!("cell {} of {place}", i + 1);
            document.cells.push(cell(object(own, &place)?, &place)?);
        }
    }
    Ok(document)
}

fn cell(cell: &Map<String, Value>, place: &str) -> Result<Cell, Problem> {
    Ok(match word(cell, "cell_type", place)? {
        "code" => {
            let mut own = Cell::new(DraftKind::Code, source(cell, "input", place)?);
            own.exec_count = count(cell.get("prompt_number"));
            own.outputs = outputs(cell, place, output)?;
            own
        }
        "markdown" | "html" => Cell::new(DraftKind::Markdown, source(cell, "source", place)?),
        "heading" => {
            let level = cell.get("level").and_then(Value::as_u64).unwrap_or(1).clamp(1, 6);
            let marks = "#".repeat(usize::try_from(level).unwrap_or(1));
            let text = source(cell, "source", place)?.replace('\n', " ");
            Cell::new(DraftKind::Markdown, format!("{marks} {text}"))
        }
        "raw" => Cell::new(DraftKind::Raw, source(cell, "source", place)?),
        other => {
            let why = format!("{place} has the unknown cell type {other:?}");
            return Err(malformed(why, "open it in Jupyter and save it again"));
        }
    })
}

fn output(output: &Map<String, Value>, place: &str) -> Result<Output, Problem> {
    let data = || -> MimeBundle {
        let of = |(old, mime): &(&str, &str)| {
            let value = output.get(*old)?;
            // nbformat 3 stores JSON as text.
            let parsed = || serde_json::from_str(&text_of(value)).unwrap_or_else(|_| value.clone());
            Some(((*mime).to_owned(), if is_json(mime) { parsed() } else { text_of(value).into() }))
        };
        MIMES.iter().filter_map(of).collect()
    };
    let metadata = MimeBundle::new();
    Ok(match word(output, "output_type", place)? {
        "stream" => stream(output, "stream", place)?,
        "pyout" => {
            let execution_count = count(output.get("prompt_number")).unwrap_or_default();
            Output::ExecuteResult { data: data(), metadata, execution_count }
        }
        "display_data" => Output::DisplayData { data: data(), metadata, display_id: None },
        "pyerr" => error(output),
        other => {
            let why = format!("{place} has the unknown output type {other:?}");
            return Err(malformed(why, "open it in Jupyter and save it again"));
        }
    })
}
