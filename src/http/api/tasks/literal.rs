//! Writes plain values as readable Python source.

use serde_json::{Map, Value};

/// Python's keywords, which cannot be names.
const KEYWORDS: &[&str] = &[
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
    "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
    "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// Writes one assignment for each value whose key can be a variable's name. Skips other values, and
/// names such as `__name__`, which Python reserves.
pub(super) fn assignments(values: &Map<String, Value>) -> String {
    let mut source = String::new();
    for (key, value) in values.iter().filter(|(key, _)| is_name(key)) {
        if key.is_ascii() {
            source += key;
        } else {
            // Python may refuse the letters of this key in a name. As a key of `globals()`, any
            // letter is allowed.
            source += "globals()[";
            text(key, &mut source);
            source += "]";
        }
        source += " = ";
        literal(value, &mut source);
        source += "\n";
    }
    source
}

fn is_name(key: &str) -> bool {
    let is_dunder = key.starts_with("__") && key.ends_with("__");
    key.starts_with(|c: char| c.is_alphabetic() || c == '_')
        && key.chars().all(|c| c.is_alphanumeric() || c == '_')
        && !is_dunder
        && !KEYWORDS.contains(&key)
}

/// Writes a JSON value as Python source. The two languages differ only in `null`, `true` and
/// `false`. The recursion is bounded, because `limits::check_data` has checked the depth of the
/// value.
fn literal(value: &Value, source: &mut String) {
    match value {
        Value::Null => *source += "None",
        Value::Bool(true) => *source += "True",
        Value::Bool(false) => *source += "False",
        Value::Number(number) => *source += &number.to_string(),
        Value::String(string) => text(string, source),
        Value::Array(items) => {
            *source += "[";
            for (at, item) in items.iter().enumerate() {
                *source += if at == 0 { "" } else { ", " };
                literal(item, source);
            }
            *source += "]";
        }
        Value::Object(entries) => {
            *source += "{";
            for (at, (key, value)) in entries.iter().enumerate() {
                *source += if at == 0 { "" } else { ", " };
                text(key, source);
                *source += ": ";
                literal(value, source);
            }
            *source += "}";
        }
    }
}

/// Writes a Python string. Escapes all characters except printable ASCII, letters and digits, so
/// that no character ends the line or changes the direction of the text.
fn text(text: &str, source: &mut String) {
    *source += "\"";
    for c in text.chars() {
        match c {
            '"' => *source += "\\\"",
            '\\' => *source += "\\\\",
            '\n' => *source += "\\n",
            '\t' => *source += "\\t",
            ' '..='~' => source.push(c),
            c if c.is_alphanumeric() => source.push(c),
            c => *source += &format!("\\U{:08x}", u32::from(c)),
        }
    }
    *source += "\"";
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_become_assignments_in_plain_python() {
        let values = json!({
            "a": null, "b": [true, false, 1, -2.5, 1e300], "c": {"k \"q\"": "\\ \n\r\u{0}\u{2028}é"},
            "größe": 3,
            "class": 1, "two words": 1, "1x": 1, "": 1, "__name__": 1, "x=1;import os": 1, "_": {}, "a.b": [],
        });
        let Value::Object(values) = values else { return };
        let lines = assignments(&values);
        let mut lines: Vec<&str> = lines.lines().collect();
        lines.sort_unstable();
        assert_eq!(
            lines,
            [
                "_ = {}",
                "a = None",
                "b = [True, False, 1, -2.5, 1e+300]",
                r#"c = {"k \"q\"": "\\ \n\U0000000d\U00000000\U00002028é"}"#,
                r#"globals()["größe"] = 3"#,
            ]
        );
    }
}
