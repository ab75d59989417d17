//! Strict JSON. Refuses text that two parsers could read differently, for example an object with a
//! repeated key.

use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::fmt;

/// Parses JSON strictly. `serde_json` limits nesting to 128.
///
/// # Errors
/// When the text is not JSON, is nested too deeply, has a key twice, or does not match the type
/// `T`.
pub(crate) fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, serde_json::Error> {
    let UniqueKeys(value) = serde_json::from_slice(text)?;
    T::deserialize(value)
}

/// Any JSON value whose objects have no repeated keys.
struct UniqueKeys(Value);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor).map(Self)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        // `from_f64` fails only for infinity and NaN, which JSON cannot contain.
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(UniqueKeys(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if object.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key `{key}` occurs twice")));
            }
            let UniqueKeys(value) = entries.next_value()?;
            object.insert(key, value);
        }
        Ok(Value::Object(object))
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
    fn json_is_parsed() {
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
    fn near_misses_and_repeated_keys_are_refused() {
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
