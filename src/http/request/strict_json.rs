//! Strict JSON: what two parsers could read differently is not read at all.
//!
//! A key that stands twice in an object is refused at any depth; nesting is limited to 128 by
//! `serde_json` itself.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::collections::HashSet;
use std::fmt;

/// Parses JSON, strictly.
///
/// # Errors
/// When it is not JSON, nested too deeply, has a key twice, or is of another shape.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice::<Sound>(bytes)?;
    serde_json::from_slice(bytes)
}

/// Any JSON value without a repeated key. Only looked at, not kept.
struct Sound;

impl<'de> Deserialize<'de> for Sound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Sound;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_str<E>(self, _: &str) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_unit<E>(self) -> Result<Sound, E> {
        Ok(Sound)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Sound, A::Error> {
        while items.next_element::<Sound>()?.is_some() {}
        Ok(Sound)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Sound, A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            entries.next_value::<Sound>()?;
            if let Some(twice) = keys.replace(key) {
                return Err(A::Error::custom(format_args!("the key `{twice}` stands twice")));
            }
        }
        Ok(Sound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn nested(depth: usize) -> String {
        "[".repeat(depth) + &"]".repeat(depth)
    }

    #[test]
    fn json_is_read() {
        for good in [
            "null",
            "1e3",
            "\"\\u00e9\\ud83d\\ude00\"",
            "[1,-2,true]",
            r#"{"a":{"a":1},"b":[{"a":1},{"a":2}]}"#,
        ] {
            assert!(parse::<Value>(good.as_bytes()).is_ok(), "{good}");
        }
        assert!(parse::<Value>(nested(127).as_bytes()).is_ok());
    }

    #[test]
    fn what_is_not_quite_json_is_refused() {
        let deep = nested(129);
        let endless = nested(100_000);
        for bad in [
            "",
            " ",
            "{",
            "}",
            "[1,]",
            "{\"a\":1,}",
            "{'a':1}",
            "{a:1}",
            "01",
            "+1",
            ".5",
            "1.",
            "NaN",
            "Infinity",
            "1e999",
            "\"\\ud800\"",
            "\"\t\"",
            "\"\\x41\"",
            "nul",
            "1 2",
            "\u{feff}{}",
            "// c\n1",
            r#"{"a":1,"a":1}"#,
            r#"[{"x":{"b":1,"b":2}}]"#,
            r#"{"a":1,"\u0061":2}"#,
            &deep,
            &endless,
        ] {
            assert!(parse::<Value>(bad.as_bytes()).is_err(), "{bad:.40}");
        }
        assert!(parse::<Value>(b"\"\xff\"").is_err());
        assert!(parse::<Value>(b"{}\0").is_err());
    }
}
