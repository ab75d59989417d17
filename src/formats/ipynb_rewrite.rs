//! Writes the export of an imported notebook over the imported file: everything that was not
//! changed since keeps its bytes.
//!
//! A file has more than a document holds: metadata, tags, attachments, widget state, raw cells,
//! fields that no format names, and one of many layouts. So the file itself is the template. Each
//! cell of the document is compared with what an import of its cell in the file gives. Equal cells
//! are copied. In other cells the changed fields are replaced, and the other fields are copied.

use super::document::{Cell, Document, RAISES, kept};
use super::ipynb;
use super::markdown::Pictures;
use super::markdown::{attachment_names, attachments_of, with_attachments};
use crate::notebook::DraftKind;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

/// The first `nbformat_minor` in which cells have ids. Older schemas forbid them.
const MINOR_WITH_IDS: u64 = 5;

/// How deep the fields of a cell are nested in a file.
const FIELD_DEPTH: usize = 3;

/// Writes a document over its imported file. `None` if it has none, or if the file is not one that
/// can be imported.
pub(super) fn write(document: &Document) -> Option<String> {
    let file = document.file.as_deref()?;
    let text = file.strip_prefix('\u{feff}').unwrap_or(file);
    let was = ipynb::read(text.as_bytes(), &|| true).ok()?;
    let top: Fields<'_> = serde_json::from_str(text).ok()?;
    let list = top.get("cells")?;
    let raw: Vec<&RawValue> = serde_json::from_str(list).ok()?;
    if raw.len() != was.cells.len() {
        return None;
    }
    let has_ids = top.get("nbformat_minor").and_then(|minor| minor.parse::<u64>().ok());
    let template = Template {
        layout: Layout::of(text),
        has_ids: has_ids.is_some_and(|minor| minor >= MINOR_WITH_IDS),
        raw,
        was: was.cells,
        pictures: &document.pictures,
    };
    let origins = origins(&document.cells, &template.was);
    let cells = template.cells(&document.cells, &origins)?;
    let (before, behind) = (offset(file, list), offset(file, list) + list.len());
    Some([&file[..before], &template.list(list, &cells, &origins), &file[behind..]].concat())
}

/// The cells of an imported file.
struct Template<'a> {
    layout: Layout<'a>,
    /// Whether cells have ids in this minor version of the format.
    has_ids: bool,
    /// The text of each cell.
    raw: Vec<&'a RawValue>,
    /// Each cell in the form that an import gives it.
    was: Vec<Cell>,
    /// The pictures that are attached to the notebook.
    pictures: &'a Pictures,
}

impl<'a> Template<'a> {
    /// The text of each cell of the document.
    fn cells(&self, now: &[Cell], origins: &[Option<usize>]) -> Option<Vec<Cow<'a, str>>> {
        let mut used = HashSet::new();
        // Only the first cell with an origin keeps the id of the file. Later ones are copies of it.
        let is_first: Vec<bool> = origins.iter().map(|o| o.is_some_and(|at| used.insert(at))).collect();
        let mut ids = HashSet::new();
        for at in used {
            let fields: Fields<'_> = serde_json::from_str(self.raw[at].get()).ok()?;
            ids.extend(fields.get("id").and_then(|id| serde_json::from_str::<String>(id).ok()));
        }
        let mut cells = Vec::with_capacity(now.len());
        // Never counts back. Otherwise a file that has taken all these ids would make this slow.
        let mut others = (1..).map(|n| format!("cell-{n}"));
        for ((cell, origin), is_first) in now.iter().zip(origins).zip(is_first) {
            let mut new_id = || {
                let mut all = std::iter::once(cell.id.clone()).chain(&mut others);
                all.find(|id| ids.insert(id.clone())).unwrap_or_default()
            };
            cells.push(match origin {
                Some(at) if is_first => self.old_cell(*at, cell, None)?,
                Some(at) => self.old_cell(*at, cell, Some(new_id()))?,
                None => self.new_cell(cell, self.has_ids.then(new_id)).into(),
            });
        }
        Some(cells)
    }

    /// The text of a cell of the file. `id` replaces the id of the cell if it has one.
    fn old_cell(&self, at: usize, now: &Cell, id: Option<String>) -> Option<Cow<'a, str>> {
        let (text, was) = (self.raw[at].get(), &self.was[at]);
        let mut fields: Fields<'a> = serde_json::from_str(text).ok()?;
        let mut changes = Changes::default();
        if let Some(id) = id.filter(|_| fields.get("id").is_some()) {
            changes.set("id", id);
        }
        source_changes(&mut changes, &fields, was, now, self.pictures);
        let is_code = now.kind == DraftKind::Code;
        if now.kind != was.kind {
            changes.set("cell_type", ipynb::cell_type(now.kind));
            let without: &[&str] = if is_code { &["attachments"] } else { &["execution_count", "outputs"] };
            changes.0.extend(without.iter().map(|key| (*key, None)));
        }
        if is_code && (now.kind != was.kind || now.exec_count != was.exec_count) {
            changes.set("execution_count", now.exec_count);
        }
        let outputs_were = kept(was.outputs.clone());
        if is_code && (now.kind != was.kind || now.outputs != outputs_were.items()) {
            changes.set("outputs", outputs(now));
        }
        let tagged = now.is_partial.then(|| self.with_tag(fields.get("metadata"))).flatten();
        if changes.0.is_empty() && tagged.is_none() {
            return Some(text.into());
        }
        for (key, value) in changes.0 {
            match value {
                Some(value) => fields.set(key, self.layout.value(&value, FIELD_DEPTH)),
                None => fields.remove(key),
            }
        }
        if let Some(metadata) = tagged {
            fields.set("metadata", metadata);
        }
        Some(self.layout.object(&fields, FIELD_DEPTH - 1).into())
    }

    /// The text of a cell that is not in the file, with sorted keys, as Jupyter writes it.
    fn new_cell(&self, cell: &Cell, id: Option<String>) -> String {
        let Value::Object(mut own) = ipynb::cell_to_json(cell, self.pictures) else { return String::new() };
        own.shift_remove("id");
        own.extend(id.map(|id| ("id".to_owned(), id.into())));
        if cell.kind == DraftKind::Code {
            own.insert("outputs".to_owned(), outputs(cell));
        }
        let mut fields = Fields::default();
        for (key, value) in own {
            fields.set(&key, self.layout.value(&value, FIELD_DEPTH));
        }
        self.layout.object(&fields, FIELD_DEPTH - 1)
    }

    /// The text of a cell's metadata with the tag of a partial state. `None` if it has the tag.
    fn with_tag(&self, metadata: Option<&str>) -> Option<String> {
        let mut fields: Fields<'_> = serde_json::from_str(metadata.unwrap_or("{}")).ok()?;
        let tags = fields.get("tags").and_then(|tags| serde_json::from_str(tags).ok());
        let mut tags: Vec<String> = tags.unwrap_or_default();
        if tags.iter().any(|tag| tag == RAISES) {
            return None;
        }
        tags.push(RAISES.to_owned());
        fields.set("tags", self.layout.value(&json!(tags), FIELD_DEPTH + 1));
        Some(self.layout.object(&fields, FIELD_DEPTH))
    }

    /// The list of cells. Cells that follow each other in the file keep what is between them.
    fn list(&self, list: &str, cells: &[Cow<'_, str>], origins: &[Option<usize>]) -> String {
        let begin = |at: usize| offset(list, self.raw[at].get());
        let end = |at: usize| begin(at) + self.raw[at].get().len();
        let last = self.raw.len().checked_sub(1);
        let mut text = match (last, cells.is_empty()) {
            // A list without cells may have blanks.
            (None, true) => return list.to_owned(),
            (Some(_), true) => return "[]".to_owned(),
            (Some(_), false) => list[..begin(0)].to_owned(),
            (None, false) => format!("[{}", self.layout.line(FIELD_DEPTH - 1)),
        };
        for (i, cell) in cells.iter().enumerate() {
            let above = i.checked_sub(1).map(|above| origins[above]);
            match (above, origins[i]) {
                (None, _) => {}
                (Some(Some(above)), Some(own)) if own == above + 1 => {
                    text.push_str(&list[end(above)..begin(own)]);
                }
                _ => text.push_str(&format!(",{}", self.layout.line(FIELD_DEPTH - 1))),
            }
            text.push_str(cell);
        }
        match last {
            Some(last) => text.push_str(&list[end(last)..]),
            None => text.push_str(&format!("{}]", self.layout.line(FIELD_DEPTH - 2))),
        }
        text
    }
}

/// The outputs of a cell with sorted keys, as Jupyter writes them.
fn outputs(cell: &Cell) -> Value {
    let sorted = |output: Value| match output {
        Value::Object(mut own) => {
            own.sort_keys();
            if let Some(Value::Object(data)) = own.get_mut("data") {
                data.sort_keys();
            }
            Value::Object(own)
        }
        other => other,
    };
    cell.outputs.iter().map(|output| sorted(ipynb::output_to_json(output))).collect()
}

/// New values of fields. `None` removes a field.
#[derive(Default)]
struct Changes(Vec<(&'static str, Option<Value>)>);

impl Changes {
    fn set(&mut self, key: &'static str, value: impl Into<Value>) {
        self.0.push((key, Some(value.into())));
    }
}

/// Adds the changes of a cell's text. References to attached pictures are imported as data URLs,
/// and are written as references again. Attachments to which the text no longer refers are dropped.
fn source_changes(changes: &mut Changes, fields: &Fields<'_>, was: &Cell, now: &Cell, pictures: &Pictures) {
    if now.source == was.source && now.kind == was.kind {
        return;
    }
    let is_text = now.kind == DraftKind::Markdown;
    let mut source = Cow::Borrowed(now.source.as_str());
    // Pictures that were pasted since the import. The file's own pictures have precedence.
    let mut pasted = if is_text { attachments_of(&source, pictures) } else { Map::new() };
    let attachments = fields.get("attachments").filter(|_| is_text);
    let attachments = attachments.and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    if let Some(mut attachments) = attachments {
        let written = with_attachments(&source, &attachments);
        let left = attachment_names(&written, &attachments);
        let had = attachment_names(&with_attachments(&was.source, &attachments), &attachments);
        let count = attachments.len();
        attachments.retain(|name, _| left.contains(name) || !had.contains(name));
        let is_shorter = attachments.len() < count;
        pasted.retain(|name, _| !attachments.contains_key(name));
        if is_shorter || !pasted.is_empty() {
            attachments.append(&mut pasted);
            changes.0.push(("attachments", (!attachments.is_empty()).then(|| attachments.into())));
        }
        source = written.into();
    } else if !pasted.is_empty() {
        changes.set("attachments", pasted);
    }
    let is_one_string = fields.get("source").is_some_and(|text| text.starts_with('"'));
    changes.set("source", if is_one_string { source.into_owned().into() } else { ipynb::lines(&source) });
}

/// For each cell of a document, the index of its origin: the cell of the file that it comes from.
/// Most cells have a stored origin. The origin of the others (texts above a state's cell, and cells
/// that the page made) is a cell with the same text. The origin of an edited text is the text that
/// the file has at the same place.
pub(super) fn origins(now: &[Cell], was: &[Cell]) -> Vec<Option<usize>> {
    let known = |cell: &Cell| usize::try_from(cell.imported_cell?).ok().filter(|at| *at < was.len());
    let mut origins: Vec<Option<usize>> = now.iter().map(known).collect();
    let used: HashSet<usize> = origins.iter().flatten().copied().collect();
    let mut free: HashMap<(DraftKind, &str), VecDeque<usize>> = HashMap::new();
    for (at, cell) in was.iter().enumerate().filter(|(at, _)| !used.contains(at)) {
        free.entry((cell.kind, &cell.source)).or_default().push_back(at);
    }
    for (origin, cell) in origins.iter_mut().zip(now).filter(|(origin, _)| origin.is_none()) {
        *origin = free.get_mut(&(cell.kind, cell.source.as_str())).and_then(VecDeque::pop_front);
    }
    edited_texts(&mut origins, now, was);
    origins
}

/// Finds the origins of edited texts. Between two cells with known origins, the document must have
/// only texts without an origin, and the file must have equally many texts between these origins.
fn edited_texts(origins: &mut [Option<usize>], now: &[Cell], was: &[Cell]) {
    let used: HashSet<usize> = origins.iter().flatten().copied().collect();
    let is_text = |cell: &Cell| cell.kind == DraftKind::Markdown;
    let mut at = 0;
    while at < now.len() {
        let begin = at;
        while at < now.len() && origins[at].is_none() && is_text(&now[at]) {
            at += 1;
        }
        let (above, below) = (begin.checked_sub(1).map(|i| origins[i]), origins.get(at).copied());
        let first = above.map_or(Some(0), |above| above.map(|above| above + 1));
        if let (Some(first), Some(last)) = (first, below.unwrap_or(Some(was.len())))
            && last.checked_sub(first) == Some(at - begin)
            && (first..last).all(|i| is_text(&was[i]) && !used.contains(&i))
        {
            origins[begin..at].iter_mut().zip(first..).for_each(|(origin, i)| *origin = Some(i));
        }
        at += 1;
    }
}

/// The fields of a JSON object, in order, each value as text.
#[derive(Default)]
struct Fields<'a>(Vec<(String, Cow<'a, str>)>);

impl Fields<'_> {
    /// The text of a field's value. As in other parsers, the last of equal keys counts.
    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().rfind(|(own, _)| own == key).map(|(_, value)| value.as_ref())
    }

    /// Replaces a value, or inserts a field. Jupyter sorts keys, so the new field comes before the
    /// first greater key.
    fn set(&mut self, key: &str, value: String) {
        if let Some((_, own)) = self.0.iter_mut().rfind(|(own, _)| own == key) {
            *own = value.into();
            return;
        }
        let at = self.0.iter().position(|(own, _)| own.as_str() > key).unwrap_or(self.0.len());
        self.0.insert(at, (key.to_owned(), value.into()));
    }

    fn remove(&mut self, key: &str) {
        self.0.retain(|(own, _)| own != key);
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Fields::default();
                while let Some((key, value)) = map.next_entry::<String, &'de RawValue>()? {
                    fields.0.push((key, value.get().into()));
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Reader)
    }
}

/// Where a part of a text begins.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// How a file is written.
struct Layout<'a> {
    /// The indentation of one level; `None` if the file is one line.
    indent: Option<&'a str>,
    newline: &'static str,
    /// Whether characters outside ASCII are escaped.
    is_ascii: bool,
}

impl<'a> Layout<'a> {
    fn of(text: &'a str) -> Self {
        let inside = text.trim_start().get(1..).unwrap_or_default();
        let blank = &inside[..inside.len() - inside.trim_start().len()];
        let escapes = text.match_indices("\\u").filter_map(|(at, _)| text.get(at + 2..at + 6));
        let mut codes = escapes.filter_map(|digits| u32::from_str_radix(digits, 16).ok());
        Self {
            indent: blank.rsplit_once('\n').map(|(_, indent)| indent),
            newline: if blank.contains("\r\n") { "\r\n" } else { "\n" },
            is_ascii: text.is_ascii() && codes.any(|code| code >= 0x80),
        }
    }

    /// A line end and the indentation of a line. Empty if the file is one line.
    fn line(&self, depth: usize) -> String {
        self.indent.map_or_else(String::new, |indent| format!("{}{}", self.newline, indent.repeat(depth)))
    }

    fn value(&self, value: &Value, depth: usize) -> String {
        let mut written = Vec::new();
        // Writing values to memory cannot fail.
        let _ = match self.indent {
            Some(indent) => {
                let layout = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
                let mut writer = serde_json::Serializer::with_formatter(&mut written, layout);
                serde::Serialize::serialize(value, &mut writer)
            }
            None => serde_json::to_writer(&mut written, value),
        };
        // Strings have no line ends, so each one begins a line of the layout.
        let text = String::from_utf8(written).unwrap_or_default().replace('\n', &self.line(depth));
        if self.is_ascii { escaped(&text) } else { text }
    }

    /// The text of an object at a depth. The values are at the next depth already.
    fn object(&self, fields: &Fields<'_>, depth: usize) -> String {
        let field = |(key, value): &(String, Cow<'_, str>)| {
            let line = self.line(depth + 1);
            format!("{line}{}: {value}", self.value(&key.as_str().into(), 0))
        };
        let fields: Vec<String> = fields.0.iter().map(field).collect();
        let between = if self.indent.is_some() { "," } else { ", " };
        format!("{{{}{}}}", fields.join(between), self.line(depth))
    }
}

fn escaped(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            written.push(c);
        } else {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().for_each(|unit| written.push_str(&format!("\\u{unit:04x}")));
        }
    }
    written
}
