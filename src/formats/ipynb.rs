//! Jupyter's notebook files: written as nbformat 4.5, read as 4.x and 3 (`nbformat3`). Exports of
//! imported notebooks are written by `ipynb_rewrite`.

use super::document::{Cell, Document, RAISES, check_cell, check_count, is_id, malformed, stopped};
use super::markdown::{self, Pictures};
use super::nbformat::{HOW, count, error, list, missing, object, outputs, source, stream, word};
use super::nbformat3;
use super::text::{is_json, text_of};
use crate::notebook::{DraftKind, MimeBundle, Output, StreamName};
use crate::problem::Problem;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Maximum bytes, as base64, of one attached picture and of all attached pictures in a document.
const MAX_PICTURE_BYTES: usize = 256 * 1024;
const MAX_PICTURES_BYTES: usize = 2 * 1024 * 1024;
/// Maximum bytes, as base64, of a picture that becomes an attachment (`store/attachments`).
const MAX_ATTACHED_BYTES: usize = 10 * 1024 * 1024 / 3 * 4;

/// Writes a document in Jupyter's layout: indented by one space, with texts as lists of lines.
pub(super) fn write(document: &Document) -> String {
    let cells: Vec<Value> =
        document.cells.iter().map(|cell| cell_to_json(cell, &document.pictures)).collect();
    let file = json!({
        "cells": cells,
        "metadata": {
            "kernelspec": {"display_name": "Python 3 (Ratoon)", "language": "python", "name": "python3"},
            "language_info": {
                "codemirror_mode": {"name": "ipython", "version": 3},
                "file_extension": ".py",
                "mimetype": "text/x-python",
                "name": "python",
                "nbconvert_exporter": "python",
                "pygments_lexer": "ipython3",
            },
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    });
    let mut text = Vec::new();
    let mut writer = serde_json::Serializer::with_formatter(
        &mut text,
        serde_json::ser::PrettyFormatter::with_indent(b" "),
    );
    // Writing values to memory cannot fail.
    let _ = serde::Serialize::serialize(&file, &mut writer);
    text.push(b'\n');
    String::from_utf8(text).unwrap_or_default()
}

pub(super) fn cell_to_json(cell: &Cell, pictures: &Pictures) -> Value {
    let mut own = Map::new();
    let is_code = cell.kind == DraftKind::Code;
    if cell.kind == DraftKind::Markdown {
        let attachments = markdown::attachments_of(&cell.source, pictures);
        own.extend((!attachments.is_empty()).then(|| ("attachments".into(), attachments.into())));
    }
    own.insert("cell_type".into(), cell_type(cell.kind).into());
    own.insert("id".into(), cell.id.clone().into());
    let metadata = if cell.is_partial { json!({"tags": [RAISES]}) } else { json!({}) };
    own.insert("metadata".into(), metadata);
    own.insert("source".into(), lines(&cell.source));
    if is_code {
        own.insert("execution_count".into(), cell.exec_count.into());
        own.insert("outputs".into(), cell.outputs.iter().map(output_to_json).collect());
    }
    Value::Object(own)
}

/// Jupyter's word for a kind.
pub(super) fn cell_type(kind: DraftKind) -> &'static str {
    match kind {
        DraftKind::Code => "code",
        DraftKind::Markdown => "markdown",
        DraftKind::Raw => "raw",
    }
}

pub(super) fn output_to_json(output: &Output) -> Value {
    match output {
        Output::Stream { name, text } => json!({
            "output_type": "stream",
            "name": match name { StreamName::Stdout => "stdout", StreamName::Stderr => "stderr" },
            "text": lines(text),
        }),
        Output::DisplayData { data, metadata, display_id: _ } => {
            json!({"output_type": "display_data", "data": bundle_to_json(data), "metadata": metadata})
        }
        Output::ExecuteResult { data, metadata, execution_count } => json!({
            "output_type": "execute_result",
            "data": bundle_to_json(data),
            "metadata": metadata,
            "execution_count": execution_count,
        }),
        Output::Error(error) => json!({
            "output_type": "error",
            "ename": error.ename,
            "evalue": error.evalue,
            "traceback": error.traceback,
        }),
    }
}

fn bundle_to_json(data: &MimeBundle) -> Map<String, Value> {
    let to_json = |(mime, value): (&String, &Value)| {
        let is_text =
            mime.starts_with("text/") || mime.starts_with("image/svg") || mime.ends_with("javascript");
        let value = match value {
            value if is_json(mime) => value.clone(),
            value if is_text => lines(&text_of(value)),
            value => text_of(value).into(),
        };
        (mime.clone(), value)
    };
    data.iter().map(to_json).collect()
}

/// Splits a text into a list of lines. Each line keeps its line end.
pub(super) fn lines(text: &str) -> Value {
    text.split_inclusive('\n').map(Value::from).collect()
}

/// Reads a file of nbformat 3 or 4.
pub(super) fn read(bytes: &[u8], should_continue: &dyn Fn() -> bool) -> Result<Document, Problem> {
    let mut whole = Cow::Borrowed(bytes);
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let parsed = serde_json::from_slice(bytes).or_else(|error| {
        let repaired = as_json(bytes).ok_or(error)?;
        let parsed = serde_json::from_slice(&repaired)?;
        whole = Cow::Owned(repaired);
        Ok(parsed)
    });
    let file: Value = parsed.map_err(|error: serde_json::Error| {
        let is_list = bytes.trim_ascii_start().first() != Some(&b'{');
        let why = if is_list { "it is not JSON".to_owned() } else { format!("its JSON is broken: {error}") };
        malformed(why, "choose a complete .ipynb file")
    })?;
    let Value::Object(file) = file else {
        return Err(malformed("it is JSON, but not a notebook: its top level is not an object", HOW));
    };
    let number = |key: &str| file.get(key).and_then(Value::as_u64);
    match number("nbformat") {
        Some(4) => {
            let text = std::str::from_utf8(&whole).ok().map(str::to_owned);
            Ok(Document { file: text, ..new(&file, should_continue)? })
        }
        Some(3) => nbformat3::read(&file, should_continue),
        Some(version @ (1 | 2)) => {
            let why = format!("it uses version {version} of the notebook format, from 2011 or 2012");
            Err(malformed(why, "open it in Jupyter and save it again"))
        }
        Some(version) => {
            let why =
                format!("it uses version {version} of the notebook format; Ratoon reads versions 3 and 4");
            Err(malformed(why, "save it as version 4, or update Ratoon"))
        }
        None => Err(malformed("it is JSON, but not a notebook: `nbformat` is missing", HOW)),
    }
}

/// The text of a file as JSON, if it has values that JSON does not have, but that Python's `json`
/// writes and Jupyter reads: `NaN`, `Infinity` and `-Infinity` become `null`, and half a surrogate
/// pair becomes U+FFFD. `None` if it has none.
fn as_json(bytes: &[u8]) -> Option<Vec<u8>> {
    const WORDS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];
    let mut made = Vec::with_capacity(bytes.len());
    let (mut rest, mut is_text, mut is_changed) = (bytes, false, false);
    while let Some(&byte) = rest.first() {
        let (taken, put): (usize, &[u8]) = if is_text && byte == b'\\' {
            match (surrogate(rest), surrogate(rest.get(6..).unwrap_or_default())) {
                (Some(Half::High), Some(Half::Low)) => (12, rest.get(..12)?),
                (Some(_), _) => (6, b"\\ufffd"),
                (None, _) => (2, rest.get(..2)?),
            }
        } else if let Some(word) = WORDS.iter().find(|word| !is_text && rest.starts_with(word)) {
            (word.len(), b"null")
        } else {
            is_text ^= byte == b'"';
            (1, rest.get(..1)?)
        };
        is_changed |= rest.get(..taken) != Some(put);
        made.extend_from_slice(put);
        rest = rest.get(taken..)?;
    }
    is_changed.then_some(made)
}

/// The halves of a surrogate pair.
enum Half {
    High,
    Low,
}

/// The half of a surrogate pair that a text begins with, as an escape such as `\ud83d`.
fn surrogate(text: &[u8]) -> Option<Half> {
    let digits = std::str::from_utf8(text.strip_prefix(b"\\u")?.get(..4)?).ok()?;
    match u16::from_str_radix(digits, 16).ok()? {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}

fn new(file: &Map<String, Value>, should_continue: &dyn Fn() -> bool) -> Result<Document, Problem> {
    let cells = list(file, "cells", "the file")?;
    check_count(cells.len())?;
    let mut document = Document::default();
    let mut room = MAX_PICTURES_BYTES;
    for (i, cell) in cells.iter().enumerate() {
        let place = format!("cell {}", i + 1);
        let cell = object(cell, &place)?;
        let kind = word(cell, "cell_type", &place)?;
        if !should_continue() {
            return Err(stopped());
        }
        let mut source = source(cell, "source", &place)?;
        check_cell(i, &source)?;
        let mut own = match kind {
            "code" => {
                let mut own = Cell::new(DraftKind::Code, source);
                own.exec_count = count(cell.get("execution_count"));
                own.outputs = outputs(cell, &place, output)?;
                own
            }
            "markdown" => {
                if let Some(Value::Object(attachments)) = cell.get("attachments") {
                    source = markdown::with_pictures(&source, attachments, |bytes| {
                        let fits = bytes <= MAX_PICTURE_BYTES.min(room);
                        room -= if fits { bytes } else { 0 };
                        fits
                    });
                    if !attach(&mut document.pictures, &source, attachments) {
                        document.left_out.push(format!("{place}: a picture that is too large"));
                    }
                }
                Cell::new(DraftKind::Markdown, source)
            }
            "raw" => Cell::new(DraftKind::Raw, source),
            other => {
                let why = format!("{place} has the unknown cell type {other:?}");
                return Err(malformed(why, HOW));
            }
        };
        own.imported_cell = u32::try_from(i).ok();
        own.id = cell.get("id").and_then(Value::as_str).filter(|id| is_id(id)).unwrap_or_default().to_owned();
        document.cells.push(own);
    }
    Ok(document)
}

/// Attaches the pictures to which a text still refers, because they are too large to be in it.
/// Returns false if some cannot be attached: their names cannot be those of files, or pictures of
/// other cells have them.
fn attach(pictures: &mut Pictures, source: &str, attachments: &Map<String, Value>) -> bool {
    let mut count = 0;
    for (name, picture) in markdown::attachable(source, attachments) {
        let fits = picture.base64.len() <= MAX_ATTACHED_BYTES;
        let own = pictures.entry(format!("attachment:{name}"));
        count += usize::from(fits && *own.or_insert_with(|| picture.clone()) == picture);
    }
    count == markdown::references(source)
}

fn output(output: &Map<String, Value>, place: &str) -> Result<Output, Problem> {
    let bundle = || -> Result<(MimeBundle, MimeBundle), Problem> {
        let data = match output.get("data") {
            Some(data) => object(data, &format!("`data` of {place}"))?,
            None => return Err(missing("data", place)),
        };
        let joined = |(mime, value): (&String, &Value)| {
            let value = if is_json(mime) { value.clone() } else { text_of(value).into() };
            (mime.clone(), value)
        };
        let metadata = output.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
        Ok((data.iter().map(joined).collect(), metadata))
    };
    Ok(match word(output, "output_type", place)? {
        "stream" => stream(output, "name", place)?,
        "display_data" | "update_display_data" => {
            let (data, metadata) = bundle()?;
            Output::DisplayData { data, metadata, display_id: None }
        }
        "execute_result" => {
            let (data, metadata) = bundle()?;
            let execution_count = count(output.get("execution_count")).unwrap_or_default();
            Output::ExecuteResult { data, metadata, execution_count }
        }
        "error" => error(output),
        other => {
            let why = format!("{place} has the unknown output type {other:?}");
            return Err(malformed(why, HOW));
        }
    })
}
