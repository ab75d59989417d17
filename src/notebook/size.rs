//! How large values are.

use serde_json::Value;

/// The approximate size of a value as JSON.
pub(super) fn value_size(value: &Value) -> usize {
    match value {
        Value::String(s) => s.len() + 2,
        Value::Array(items) => items.iter().map(value_size).sum::<usize>() + 2,
        Value::Object(map) => map.iter().map(|(k, v)| k.len() + value_size(v)).sum::<usize>() + 2,
        _ => 8,
    }
}
