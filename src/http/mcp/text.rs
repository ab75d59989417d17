//! Shortens outputs for a language model. Clients warn above 10,000 tokens and cut at 25,000, so a
//! call answers with at most `MAX_TEXT_CHARS` characters and four pictures. The rest are resources.

use crate::formats::text_or_lines;
use crate::http::percent::percent_encoded;
use crate::notebook::{ExecId, MimeBundle, Output, Outputs};
use crate::terminal_text::without_sequences;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

/// Maximum length of the text of an answer, in characters.
pub(super) const MAX_TEXT_CHARS: usize = 8000;
/// How much of a longer text is shown from its beginning. Its end says more: it has the error.
const HEAD_CHARS: usize = 2000;
/// Maximum number of pictures in an answer.
const MAX_IMAGES: usize = 4;
/// Maximum size of a picture in an answer, in bytes.
const MAX_IMAGE_BYTES: usize = 1_000_000;
/// Maximum number of links in an answer.
const MAX_LINKS: usize = 20;
/// Pictures that language models can see.
const IMAGE_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A position in the outputs of a run: an item, and a byte in its text. `ITEM.BYTE` in JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    item: usize,
    byte: usize,
}

impl Cursor {
    /// Reads a cursor; `None` if the text is none.
    pub(super) fn read(text: &str) -> Option<Self> {
        let (item, byte) = text.split_once('.')?;
        Some(Self { item: item.parse().ok()?, byte: byte.parse().ok()? })
    }

    /// The position after all outputs.
    pub(super) fn end_of(outputs: &Outputs) -> Self {
        match outputs.items() {
            // Later text of the same stream is appended to this item.
            [.., Output::Stream { text, .. }] => Self { item: outputs.items().len() - 1, byte: text.len() },
            items => Self { item: items.len(), byte: 0 },
        }
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.item, self.byte)
    }
}

/// Outputs as a language model gets them.
#[derive(Debug, Default)]
pub(super) struct ShownOutputs {
    /// The text, cut.
    pub(super) text: String,
    /// Items of the result: pictures, and links to what the text leaves out.
    pub(super) items: Vec<Value>,
}

/// Shows the outputs of a run after a position. If they were cleared since, shows all.
pub(super) fn show(notebook: &str, run: &ExecId, outputs: &Outputs, after: Cursor) -> ShownOutputs {
    let end = Cursor::end_of(outputs);
    let is_behind = after.item < end.item || (after.item == end.item && after.byte <= end.byte);
    let after = if is_behind { after } else { Cursor::default() };
    let mut text = String::new();
    let (mut images, mut links, mut long) = (Vec::new(), Vec::new(), Vec::new());
    for (number, item) in outputs.items().iter().enumerate().skip(after.item) {
        let link = |mime: &str, why: &str| {
            json!({"type": "resource_link", "uri": output_uri(notebook, run, number),
                "name": format!("output {number}"), "description": why, "mimeType": mime})
        };
        let own = match item {
            Output::Stream { text, .. } => {
                let from = if number == after.item { text.floor_char_boundary(after.byte) } else { 0 };
                plain(&text[from..])
            }
            Output::Error(error) if error.traceback.is_empty() => error.in_words(),
            Output::Error(error) => plain(&error.traceback.join("\n")),
            Output::DisplayData { data, .. } | Output::ExecuteResult { data, .. } => match picture(data) {
                Some((mime, base64)) if images.len() < MAX_IMAGES && bytes_of(&base64) <= MAX_IMAGE_BYTES => {
                    images.push(json!({"type": "image", "mimeType": mime, "data": base64}));
                    format!("[picture {} of this answer]", images.len())
                }
                Some((mime, _)) => {
                    links.push(link(mime, "a picture that is not in this answer"));
                    format!("[picture, output {number}]")
                }
                None => match data.get("text/plain").and_then(text_or_lines) {
                    Some(text) => plain(&text),
                    None => {
                        let mime = data.keys().next().map_or("text/plain", String::as_str);
                        links.push(link(mime, "an output without plain text"));
                        format!("[{mime}, output {number}]")
                    }
                },
            },
        };
        if own.chars().count() > HEAD_CHARS {
            long.push(link("text/plain", "the whole text of an output"));
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&own);
    }
    let short = cut(&text, MAX_TEXT_CHARS);
    if short.len() < text.len() {
        links.extend(long);
    }
    links.truncate(MAX_LINKS);
    images.extend(links);
    ShownOutputs { text: short, items: images }
}

/// The address of an output as a resource.
pub(super) fn output_uri(notebook: &str, run: &ExecId, number: usize) -> String {
    let (notebook, run) = (percent_encoded(notebook), percent_encoded(run.as_str()));
    format!("ratoon://{notebook}/runs/{run}/outputs/{number}")
}

/// Cuts a text in its middle.
pub(super) fn cut(text: &str, max: usize) -> String {
    let count = text.chars().count();
    if count <= max {
        return text.to_owned();
    }
    let head = max * HEAD_CHARS / MAX_TEXT_CHARS;
    let at = |chars: usize| text.char_indices().nth(chars).map_or(text.len(), |(at, _)| at);
    let (begin, end) = (&text[..at(head)], &text[at(count - (max - head))..]);
    format!("{begin}\n[… {} characters are left out …]\n{end}", count - max)
}

/// The text without ANSI codes, and without the parts of lines that a carriage return overwrites.
pub(super) fn plain(text: &str) -> String {
    let mut clean = without_sequences(text);
    clean.retain(|c| matches!(c, '\r' | '\n' | '\t') || !c.is_control());
    if !clean.contains('\r') {
        return clean;
    }
    let last = |line: &str| line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default().to_owned();
    clean.split('\n').map(last).collect::<Vec<_>>().join("\n")
}

/// The picture in a bundle: its type, and its bytes in base64.
pub(super) fn picture(data: &MimeBundle) -> Option<(&'static str, String)> {
    IMAGE_TYPES.into_iter().find_map(|mime| {
        let base64: String = text_or_lines(data.get(mime)?)?.split_whitespace().collect();
        BASE64_STANDARD.decode(&base64).is_ok().then_some((mime, base64))
    })
}

fn bytes_of(base64: &str) -> usize {
    base64.len() / 4 * 3
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::notebook::{RunError, StreamName};

    fn outputs(items: Vec<Output>) -> Outputs {
        let mut outputs = Outputs::default();
        items.into_iter().for_each(|item| outputs.keep(item));
        outputs
    }

    fn shown(outputs: &Outputs, after: &str) -> ShownOutputs {
        show("main", &ExecId::new("r 1"), outputs, Cursor::read(after).unwrap())
    }

    fn display(mime: &str, data: String) -> Output {
        let data = MimeBundle::from_iter([(mime.to_owned(), Value::from(data))]);
        Output::DisplayData { data, metadata: MimeBundle::new(), display_id: None }
    }

    #[test]
    fn a_long_text_keeps_its_ends_and_a_link_to_the_whole() {
        let long = format!("begin{}end", "é".repeat(20_000));
        let shown = shown(&outputs(vec![Output::stream(StreamName::Stdout, long)]), "0.0");
        assert!(shown.text.starts_with("begin") && shown.text.ends_with("end"));
        assert!(shown.text.contains("[… 12008 characters are left out …]"), "{}", &shown.text[..40]);
        assert!(shown.text.chars().count() < MAX_TEXT_CHARS + 60);
        assert_eq!(shown.items[0]["uri"], "ratoon://main/runs/r%201/outputs/0");
    }

    #[test]
    fn a_cursor_continues_where_the_last_answer_ended() {
        let mut all = outputs(vec![Output::stream(StreamName::Stdout, "one\n")]);
        let after = Cursor::end_of(&all).to_string();
        assert_eq!(after, "0.4");
        all.keep(Output::stream(StreamName::Stdout, "two\n"));
        all.keep(Output::Error(RunError::raised("ValueError", "no")));
        assert_eq!(shown(&all, &after).text, "two\nValueError: no");
        let end = Cursor::end_of(&all).to_string();
        assert_eq!((end.as_str(), shown(&all, &end).text.as_str()), ("2.0", ""));
        all.clear(false);
        all.keep(Output::stream(StreamName::Stdout, "new\n"));
        assert_eq!(shown(&all, &end).text, "new\n");
        for bad in ["", "1", "a.b", "-1.0"] {
            assert_eq!(Cursor::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn four_small_pictures_are_in_the_answer_and_others_are_links() {
        let small = || display("image/png", BASE64_STANDARD.encode([1; 30]));
        let big = display("image/png", BASE64_STANDARD.encode(vec![1; MAX_IMAGE_BYTES + 10]));
        let html = display("text/html", "<b>".into());
        let shown = shown(&outputs(vec![big, small(), small(), small(), small(), small(), html]), "0.0");
        let kinds: Vec<_> = shown.items.iter().map(|item| item["type"].as_str().unwrap()).collect();
        assert_eq!(
            kinds,
            ["image", "image", "image", "image", "resource_link", "resource_link", "resource_link"]
        );
        assert!(
            shown.text.starts_with("[picture, output 0]\n[picture 1 of this answer]\n"),
            "{}",
            shown.text
        );
        assert!(shown.text.ends_with("[text/html, output 6]"));
    }

    #[test]
    fn colours_and_overwritten_text_are_left_out() {
        assert_eq!(plain("\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}x"), "red x");
        assert_eq!(plain("10%\r20%\r\ndone\r"), "20%\ndone");
    }
}
