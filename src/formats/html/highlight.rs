//! Highlights Python's keywords, strings, numbers and comments. It only approximates Python's
//! syntax.

use crate::formats::text::escaped;

const KEYWORDS: &[&str] = &[
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif", "else",
    "except", "False", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "None",
    "nonlocal", "not", "or", "pass", "raise", "return", "True", "try", "while", "with", "yield",
];

/// Renders a program to HTML.
pub(super) fn to_html(code: &str) -> String {
    let mut written = String::with_capacity(code.len() * 2);
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        let (length, class) = token(rest, c);
        let text = escaped(&rest[..length]);
        match class {
            Some(class) => written.push_str(&format!("<span class=\"{class}\">{text}</span>")),
            None => written.push_str(&text),
        }
        rest = &rest[length..];
    }
    written
}

/// The length of a text's first token in bytes, and its CSS class if it has one.
fn token(text: &str, first: char) -> (usize, Option<&'static str>) {
    let while_is = |is: fn(char) -> bool| text.find(|c: char| !is(c)).unwrap_or(text.len());
    let is_in_name = |c: char| c.is_alphanumeric() || c == '_';
    if first == '#' {
        return (text.find('\n').unwrap_or(text.len()), Some("comment"));
    }
    if first.is_ascii_digit() {
        let is = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        return (while_is(is), Some("number"));
    }
    if first.is_alphabetic() || first == '_' {
        let length = while_is(is_in_name);
        let word = &text[..length];
        let is_prefix = length <= 2 && word.chars().all(|c| "rRbBuUfFtT".contains(c));
        if is_prefix && let Some(quoted) = quoted(&text[length..]) {
            return (length + quoted, Some("string"));
        }
        return (length, KEYWORDS.contains(&word).then_some("keyword"));
    }
    match quoted(text) {
        Some(length) => (length, Some("string")),
        None => (first.len_utf8(), None),
    }
}

/// The length in bytes of the string literal at the beginning of a text, if there is one.
fn quoted(text: &str) -> Option<usize> {
    let long = ["\"\"\"", "'''"].into_iter().find(|q| text.starts_with(q));
    let quote = long.or_else(|| ["\"", "'"].into_iter().find(|q| text.starts_with(q)))?;
    let mut at = quote.len();
    while let Some(c) = text[at..].chars().next() {
        if text[at..].starts_with(quote) {
            return Some(at + quote.len());
        }
        if c == '\n' && long.is_none() {
            return Some(at);
        }
        at += c.len_utf8();
        if c == '\\' {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    Some(text.len())
}
