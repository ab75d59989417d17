//! Keys of objects.

use std::fmt::Write;

/// Whether a text is a key, or the beginning of one: letters, digits, `-_.=` and `/`, and no part
/// is `.` or `..`. Every store and file system can hold these keys.
pub(super) fn is_key(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.=/".contains(&byte))
        && !text.split('/').any(|part| part == "." || part == "..")
}

/// Turns a text into a part of a key. Different texts become different parts.
pub(crate) fn key_part(text: &str) -> String {
    let mut part = String::new();
    for byte in text.bytes() {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) => part.push(byte.into()),
            // Writing to a String cannot fail.
            byte => drop(write!(part, "={byte:02X}")),
        }
    }
    part
}

/// The text that `key_part` turned into this part; none if it did not make the part.
pub(crate) fn text_of_key_part(part: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = part.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        if *byte == b'=' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*byte);
            rest = after;
        }
    }
    String::from_utf8(bytes).ok().filter(|text| key_part(text) == part)
}
