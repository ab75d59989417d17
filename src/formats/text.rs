//! Texts in files of other programs.

use crate::notebook::MimeBundle;

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
pub(super) fn is_json(mime: &str) -> bool {
    mime == "application/json" || mime.ends_with("+json")
}

/// The representation of a bundle for a mime type, as text.
pub(super) fn text_in(bundle: &MimeBundle, mime: &str) -> Option<String> {
    bundle.get(mime).map(text_of)
}

/// Escapes a text for HTML.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Browsers do not show NUL, and some stop reading there.
            '\0' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}
