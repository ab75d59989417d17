//! Values in a URL's query.

use crate::http::percent::percent_decoded;

/// All values of a key, decoded; `None` stands for one that cannot be decoded.
pub(crate) fn query_values(query: &str, key: &str) -> Vec<Option<String>> {
    query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .filter(|(name, _)| form_decoded(name).as_deref() == Some(key))
        .map(|(_, value)| form_decoded(value))
        .collect()
}

/// The first value of a key, decoded.
pub(crate) fn query_value(query: &str, key: &str) -> Option<String> {
    query_values(query, key).into_iter().next().flatten()
}

fn form_decoded(text: &str) -> Option<String> {
    percent_decoded(&text.replace('+', " "))
}
