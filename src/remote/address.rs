//! The address of a store: `s3://BUCKET/PREFIX?endpoint=URL&region=NAME`, or `file:///DIRECTORY`.

use super::key::is_key;
use crate::problem::{Kind, Problem};
use percent_encoding::percent_decode_str;
use std::path::{Path, PathBuf};

/// A parsed address.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Address {
    S3(S3Place),
    Folder(PathBuf),
}

/// A bucket, and where in it a store is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct S3Place {
    pub(super) bucket: String,
    /// The beginning of all keys: empty, or ending in `/`.
    pub(super) prefix: String,
    /// The address of the S3 server, if the store's address names one.
    pub(super) endpoint: Option<String>,
    /// The region, if the store's address names one.
    pub(super) region: Option<String>,
}

const HOW: &str = "give s3://BUCKET/PREFIX or file:///DIRECTORY";

impl Address {
    /// Parses an address.
    ///
    /// # Errors
    /// When it is no address of a store. The error does not repeat an address that may contain
    /// credentials.
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let Some((scheme, rest)) = text.split_once("://") else {
            return Err(refused(text, "it has no scheme", HOW));
        };
        match scheme {
            "s3" => s3(text, rest).map(Self::S3),
            "file" => folder(text, rest).map(Self::Folder),
            _ => Err(refused(text, format!("its scheme {scheme:?} is unknown"), HOW)),
        }
    }

    /// The address as messages show it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::S3(place) => {
                let end = |endpoint: &String| format!("?endpoint={endpoint}");
                let end = place.endpoint.as_ref().map(end).unwrap_or_default();
                format!("s3://{}/{}{end}", place.bucket, place.prefix.trim_end_matches('/'))
            }
            Self::Folder(path) => format!("file://{}", path.display()),
        }
    }
}

fn s3(text: &str, rest: &str) -> Result<S3Place, Problem> {
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (bucket, prefix) = path.split_once('/').unwrap_or((path, ""));
    if bucket.contains('@') {
        let how = "give the credentials by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or by AWS_PROFILE";
        let shown = text.rsplit_once('@').map_or("", |(_, end)| end);
        return Err(refused(&format!("s3://…@{shown}"), "an address must not contain credentials", how));
    }
    let is_bucket = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if bucket.is_empty() || !bucket.bytes().all(is_bucket) {
        return Err(refused(text, "it names no bucket", HOW));
    }
    let prefix = prefix.trim_matches('/');
    if !is_key(prefix) {
        let why = "its prefix has other characters than letters, digits, `-`, `_`, `.`, `=` and `/`";
        return Err(refused(text, why, "choose another prefix"));
    }
    let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
    let mut place = S3Place { bucket: bucket.to_owned(), prefix, endpoint: None, region: None };
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = percent_decode_str(value).decode_utf8_lossy().into_owned();
        match name {
            "endpoint" if is_endpoint(&value) => place.endpoint = Some(value),
            "endpoint" => {
                let why = "its endpoint is not http(s)://HOST:PORT";
                return Err(refused(
                    "s3://…",
                    why,
                    "for example s3://bucket/prefix?endpoint=http://127.0.0.1:9000",
                ));
            }
            "region" => place.region = Some(value),
            _ => return Err(refused("s3://…", format!("it has the unknown part {name:?}"), HOW)),
        }
    }
    Ok(place)
}

/// Whether a text is the address of a server, without credentials, path and query.
pub(super) fn is_endpoint(text: &str) -> bool {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    host.map(|host| host.trim_end_matches('/'))
        .is_some_and(|host| !host.is_empty() && host.chars().all(is_host))
}

fn folder(text: &str, rest: &str) -> Result<PathBuf, Problem> {
    let path = percent_decode_str(rest.strip_prefix("localhost").unwrap_or(rest)).decode_utf8_lossy();
    let path = Path::new(&*path);
    if path.is_absolute() && path.components().count() > 1 {
        Ok(path.to_owned())
    } else {
        Err(refused(
            text,
            "it names no directory by its full path",
            "give file:///DIRECTORY, with three slashes",
        ))
    }
}

fn refused(text: &str, why: impl Into<String>, how: &str) -> Problem {
    Problem::new(Kind::BadRequest, format!("use the store {text}"), why, how)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_kinds_are_parsed_and_shown() {
        for (text, shown) in [
            ("s3://bucket", "s3://bucket/"),
            ("s3://bucket/a/b/", "s3://bucket/a/b"),
            ("s3://bucket/a?endpoint=http://127.0.0.1:9000", "s3://bucket/a?endpoint=http://127.0.0.1:9000"),
            ("file:///srv/ratoon", "file:///srv/ratoon"),
            ("file:///srv/a%20b", "file:///srv/a b"),
        ] {
            assert_eq!(Address::parse(text).unwrap().shown(), shown);
        }
        let Address::S3(place) =
            Address::parse("s3://b/p?region=eu-west-1&endpoint=https%3A%2F%2Fs3.local").unwrap()
        else {
            panic!()
        };
        assert_eq!((place.prefix.as_str(), place.region.as_deref()), ("p/", Some("eu-west-1")));
        assert_eq!(place.endpoint.as_deref(), Some("https://s3.local"));
    }

    #[test]
    fn other_texts_are_refused_and_credentials_are_not_repeated() {
        for text in [
            "",
            "bucket/prefix",
            "http://host/",
            "s3://",
            "s3:///prefix",
            "s3://b/../c",
            "s3://b/a b",
            "file://dir",
            "file:///",
            "s3://b?endpoint=ftp://h",
            "s3://b?token=x",
            "s3://b?endpoint=http://u:p@h",
        ] {
            assert_eq!(Address::parse(text).unwrap_err().kind, Kind::BadRequest, "{text}");
        }
        let problem = Address::parse("s3://AKIA:very-secret@bucket/prefix").unwrap_err();
        assert!(!format!("{problem:?}").contains("very-secret"), "{problem:?}");
        let problem = Address::parse("s3://b?endpoint=http://u:very-secret@h").unwrap_err();
        assert!(!format!("{problem:?}").contains("very-secret"), "{problem:?}");
    }
}
