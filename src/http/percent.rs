//! Percent-encodes and decodes the parts of a URL.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The characters that are escaped: all except ASCII letters, ASCII digits and `-_.`.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.');

/// Percent-encodes one segment of a path, or one value of a query.
pub fn percent_encoded(text: &str) -> String {
    utf8_percent_encode(text, ESCAPED).to_string()
}

/// Percent-decodes a text; `None` for a broken escape or for bytes that are not UTF-8.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    // `percent_decode_str` would leave broken escapes unchanged.
    let is_hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let mut escapes = text.as_bytes().split(|byte| *byte == b'%').skip(1);
    if !escapes.all(|escape| is_hex(escape.first()) && is_hex(escape.get(1))) {
        return None;
    }
    Some(percent_decode_str(text).decode_utf8().ok()?.into_owned())
}

/// Splits a path into decoded segments. Returns `None` for broken escapes, control characters, and
/// segments that are empty, `.` or `..`. Our clients never send such paths, and programs interpret
/// them differently.
pub(crate) fn segments(path: &str) -> Option<Vec<String>> {
    let rest = path.strip_prefix('/')?;
    if rest.is_empty() {
        return Some(Vec::new());
    }
    rest.split('/').map(|segment| percent_decoded(segment).filter(|s| is_plain(s))).collect()
}

fn is_plain(segment: &str) -> bool {
    !matches!(segment, "" | "." | "..") && !segment.chars().any(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_escapes_of_utf_8_are_decoded() {
        for (text, decoded) in [
            ("a%20b%C3%a9", Some("a b\u{e9}")),
            ("%2525", Some("%25")),
            ("", Some("")),
            ("%", None),
            ("%4", None),
            ("%%41", None),
            ("%4g", None),
            ("%+1", None),
            ("%ff", None),
        ] {
            assert_eq!(percent_decoded(text).as_deref(), decoded, "{text}");
        }
    }
}
