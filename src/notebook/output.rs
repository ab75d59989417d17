//! Outputs of runs, in nbformat's shapes (nbformat 4.5, "Code cell outputs"). On the page,
//! `web/outputs/mime.js` chooses how an output is shown.

use super::ending::RunError;
use super::size::value_size;
use super::widget::Widgets;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::sync::Arc;

/// Representations of one object by mime type: text, base64 text for images, or JSON.
pub type MimeBundle = Map<String, Value>;

/// Maximum size of a run's outputs, in bytes. Further output is dropped, and a last item states how
/// many bytes were dropped. Without this limit, `while True: display(i)` would fill the server's
/// memory.
pub const MAX_RUN_OUTPUT_BYTES: usize = 32 * 1024 * 1024;

/// Size of a run's outputs above which further text is dropped, in bytes. It is half of
/// `MAX_RUN_OUTPUT_BYTES`, so that endless prints leave room for displays after them.
const MAX_RUN_TEXT_BYTES: usize = 16 * 1024 * 1024;

/// Memory that an item takes besides its content, in bytes: its place in a list whose capacity
/// doubles when it is full.
const ITEM_BYTES: usize = 2 * size_of::<Output>();

/// Memory that a non-empty bundle, and each of its keys, take besides their content, in bytes.
/// Measured with glibc: `display(1)` takes 616 bytes besides the growth of the list, and each
/// bundle allocates space for three keys.
const BUNDLE_BYTES: usize = 200;
const KEY_BYTES: usize = 256;

/// Memory that a string takes besides its content, in bytes: the `String` itself and the
/// allocator's overhead.
const TEXT_BYTES: usize = 64;

/// A standard output stream of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StreamName {
    /// `sys.stdout`, file descriptor 1.
    Stdout,
    /// `sys.stderr`, file descriptor 2.
    Stderr,
}

/// One output item. `display_id` is Jupyter's transient display id; it is not part of a stored
/// notebook.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "output_type", rename_all = "snake_case")]
pub enum Output {
    /// Printed text. Adjacent texts of one stream form one item.
    Stream {
        /// The stream that the text was written to.
        name: StreamName,
        /// The text, including `\r` and ANSI codes. Bytes that are not UTF-8 appear as `\xNN`.
        text: String,
    },
    /// The output of `display()` or a plot.
    DisplayData {
        /// Representations by mime type.
        data: MimeBundle,
        /// nbformat metadata (for example the size of an image).
        metadata: MimeBundle,
        /// The id with which the code can update the display later; null if the code gave none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        display_id: Option<String>,
    },
    /// The value of the last expression.
    ExecuteResult {
        /// Representations by mime type. Always contains `text/plain`.
        data: MimeBundle,
        /// nbformat metadata.
        metadata: MimeBundle,
        /// The number in `Out[n]`.
        execution_count: u32,
    },
    /// The exception that ended the run.
    Error(RunError),
}

impl Output {
    /// The output that shows why a run failed.
    pub fn error(error: RunError) -> Self {
        Self::Error(error.without_cause())
    }

    /// Text of one stream.
    pub fn stream(name: StreamName, text: impl Into<String>) -> Self {
        Self::Stream { name, text: text.into() }
    }

    /// The item's estimated size in memory, in bytes. An empty item has a size too, so that endless
    /// empty items reach the limit.
    pub fn size(&self) -> usize {
        ITEM_BYTES + self.content_size()
    }

    fn content_size(&self) -> usize {
        fn of(bundle: &MimeBundle) -> usize {
            let base = if bundle.is_empty() { 0 } else { BUNDLE_BYTES };
            base + bundle.iter().map(|(k, v)| KEY_BYTES + k.len() + value_size(v)).sum::<usize>()
        }
        match self {
            Self::Stream { text, .. } => text.len(),
            Self::DisplayData { data, metadata, display_id } => {
                of(data) + of(metadata) + display_id.as_ref().map_or(0, String::len)
            }
            Self::ExecuteResult { data, metadata, .. } => of(data) + of(metadata),
            Self::Error(e) => {
                let lines = e.traceback.iter().map(|line| TEXT_BYTES + line.len()).sum::<usize>();
                e.ename.len() + e.evalue.len() + lines
            }
        }
    }
}

/// The outputs of one run, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Outputs {
    /// Shared with snapshots: a copy could take `MAX_RUN_OUTPUT_BYTES` for each run.
    #[serde(serialize_with = "shared")]
    items: Arc<Vec<Output>>,
    #[serde(skip)]
    bytes: usize,
    #[serde(skip)]
    dropped: usize,
    /// Whether text was dropped. All later text is then dropped too, so that the text has no
    /// hidden gap.
    #[serde(skip)]
    is_cut: bool,
    #[serde(skip)]
    clear_pending: bool,
    /// The models of the run's widgets. `clear_output` does not change them.
    #[serde(skip)]
    pub widgets: Widgets,
}

fn shared<S: Serializer>(items: &[Output], serializer: S) -> Result<S::Ok, S::Error> {
    items.serialize(serializer)
}

impl Outputs {
    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The items so far.
    pub fn items(&self) -> &[Output] {
        &self.items
    }

    /// Estimated size of all items, in bytes.
    pub fn kept_bytes(&self) -> usize {
        self.bytes
    }

    /// Adds one item. If the item and the last item are text of the same stream, appends the text
    /// to the last item. Drops and counts items beyond `MAX_RUN_OUTPUT_BYTES`, and text beyond
    /// `MAX_RUN_TEXT_BYTES`. Returns the part that was added.
    pub fn push(&mut self, mut output: Output) -> Option<Output> {
        if self.clear_pending {
            self.clear(false);
        }
        let joins = matches!((self.items.last(), &output),
            (Some(Output::Stream { name: last, .. }), Output::Stream { name, .. }) if last == name);
        let item = if joins { 0 } else { ITEM_BYTES };
        let size = output.content_size();
        match &mut output {
            Output::Stream { text, .. } => {
                let room = MAX_RUN_TEXT_BYTES.saturating_sub(self.bytes + item);
                text.truncate(if self.is_cut { 0 } else { text.floor_char_boundary(room) });
                self.dropped += size - text.len();
                self.is_cut |= text.len() < size;
                if text.is_empty() && size > 0 {
                    return None;
                }
            }
            _ if self.bytes + item + size > MAX_RUN_OUTPUT_BYTES => {
                self.dropped += size;
                return None;
            }
            _ => {}
        }
        self.append(Cow::Borrowed(&output));
        Some(output)
    }

    /// Adds an item. If the item and the last item are text of the same stream, appends the text to
    /// the last item.
    fn append(&mut self, output: Cow<'_, Output>) {
        let items = Arc::make_mut(&mut self.items);
        if let (Some(Output::Stream { name: last, text: kept }), Output::Stream { name, text }) =
            (items.last_mut(), &*output)
            && last == name
        {
            kept.push_str(text);
            self.bytes += text.len();
        } else {
            self.bytes += output.size();
            items.push(output.into_owned());
        }
    }

    /// Adds an item without a check of the limits, for example an item that was read from the disk.
    pub fn keep(&mut self, output: Output) {
        if self.clear_pending {
            self.clear(false);
        }
        self.append(Cow::Owned(output));
    }

    /// Adds the error that ended the run, without a check of the limits.
    pub fn push_last(&mut self, error: RunError) {
        self.keep(Output::error(error));
    }

    /// If output was dropped, adds a last stderr item that states how many bytes were dropped, and
    /// returns this item.
    pub fn note_dropped(&mut self) -> Option<Output> {
        if self.dropped == 0 {
            return None;
        }
        let note = Output::stream(
            StreamName::Stderr,
            format!("\n[ratoon: {} more bytes of output were not kept]\n", self.dropped),
        );
        self.keep(note.clone());
        Some(note)
    }

    /// `clear_output(wait)`: clears the outputs now or, if `wait` is set, when the next item is
    /// added.
    pub fn clear(&mut self, wait: bool) {
        if wait {
            self.clear_pending = true;
            return;
        }
        self.items = Arc::default();
        // The dropped output would have been cleared too, so it is no longer counted.
        (self.bytes, self.dropped, self.is_cut) = (0, 0, false);
        self.clear_pending = false;
    }

    /// Whether `clear(true)` was called and the next item will replace all items.
    pub fn is_clear_pending(&self) -> bool {
        self.clear_pending
    }

    /// Replaces the data of all displays with this id. If the new data would exceed the limit, the
    /// display keeps its old data, and the new data is counted as dropped.
    pub fn update_display(&mut self, id: &str, new_data: &MimeBundle, new_metadata: &MimeBundle) -> Updated {
        let mut updated = Updated::NotThere;
        for item in Arc::make_mut(&mut self.items) {
            let before = item.size();
            let Output::DisplayData { data, metadata, display_id: Some(own) } = item else { continue };
            if own != id {
                continue;
            }
            let (old_data, old_metadata) = (std::mem::take(data), std::mem::take(metadata));
            (*data, *metadata) = (new_data.clone(), new_metadata.clone());
            let after = item.size();
            if self.bytes - before + after > MAX_RUN_OUTPUT_BYTES {
                if let Output::DisplayData { data, metadata, .. } = item {
                    (*data, *metadata) = (old_data, old_metadata);
                }
                self.dropped += after;
                return Updated::NoRoom;
            }
            self.bytes = self.bytes - before + after;
            updated = Updated::Yes;
        }
        updated
    }
}

/// The result of updating a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Updated {
    /// All displays with the id have the new data.
    Yes,
    /// The new data would exceed the limit.
    NoRoom,
    /// No display has the id.
    NotThere,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: String, id: &str) -> Output {
        let data = MimeBundle::from_iter([("text/plain".to_owned(), Value::from(text))]);
        Output::DisplayData { data, metadata: MimeBundle::new(), display_id: Some(id.into()) }
    }

    fn kept(outputs: &Outputs) -> usize {
        outputs.items().iter().map(Output::size).sum()
    }

    #[test]
    fn text_of_one_stream_is_one_item() {
        let mut outputs = Outputs::default();
        for text in ["a", "b"] {
            assert!(outputs.push(Output::stream(StreamName::Stdout, text)).is_some());
        }
        outputs.push(Output::stream(StreamName::Stderr, "c"));
        assert_eq!(outputs.items()[0], Output::stream(StreamName::Stdout, "ab"));
        assert_eq!(outputs.items().len(), 2);
    }

    #[test]
    fn text_ends_where_it_is_cut_and_leaves_room_for_what_is_shown() {
        let mut outputs = Outputs::default();
        let text = |text: String| Output::stream(StreamName::Stdout, text);
        outputs.push(text("x".repeat(MAX_RUN_TEXT_BYTES - ITEM_BYTES - 3)));
        // There is room for one character of two bytes, but not for two.
        assert_eq!(outputs.push(text("éé".into())), Some(text("é".into())));
        assert_eq!(
            outputs.push(text("y".into())),
            None,
            "what comes after a hole does not join what is before it"
        );
        assert_eq!(outputs.dropped, 3);
        assert!(outputs.push(shown("a plot".into(), "p")).is_some());
        outputs.clear(false);
        assert!(outputs.push(text("y".into())).is_some() && outputs.note_dropped().is_none());
    }

    #[test]
    fn no_kind_of_output_gets_past_the_limit() {
        let big = "x".repeat(8 * 1024 * 1024);
        let mut outputs = Outputs::default();
        for n in 0..40 {
            outputs.push(shown(String::new(), &n.to_string()));
        }
        let data = MimeBundle::from_iter([("text/plain".to_owned(), Value::from(big.clone()))]);
        for n in 0..40 {
            outputs.update_display(&n.to_string(), &data, &MimeBundle::new());
            outputs.push(shown(String::new(), &big));
            outputs.push(Output::Error(RunError::raised("E", big.clone())));
        }
        assert!(kept(&outputs) <= MAX_RUN_OUTPUT_BYTES && outputs.dropped > 30 * big.len());
        for n in 0..1_000_000 {
            outputs
                .push(Output::stream(if n % 2 == 0 { StreamName::Stdout } else { StreamName::Stderr }, "x"));
        }
        assert!(kept(&outputs) <= MAX_RUN_OUTPUT_BYTES);
        outputs.push_last(RunError::raised("E", "the last word"));
        assert!(matches!(outputs.items().last(), Some(Output::Error(_))));
    }
}
