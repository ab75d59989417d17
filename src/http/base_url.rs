//! The path below which the server is reachable, for a proxy that serves several programs on one
//! host.
//!
//! The proxy passes paths unchanged, so every path that the server receives and sends includes the
//! base path.

use super::percent::{percent_decoded, segments};
use std::fmt;
use std::str::FromStr;

/// The path before all paths of the server, such as `/user/ada/ratoon`. By default it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BaseUrl {
    /// The decoded segments.
    segments: Vec<String>,
    /// The path as the option has it, because browsers compare the path of a cookie without
    /// decoding. Has no slash at its end; empty if there are no segments.
    encoded: String,
}

impl BaseUrl {
    /// Returns the address of a path of the server. `path` starts with `/` and is percent-encoded.
    pub fn join(&self, path: &str) -> String {
        format!("{}{path}", self.encoded)
    }

    /// Removes the base path from the path of a request; `None` if the path is not below it. The
    /// base path itself is the path `/`, with or without a slash at its end.
    ///
    /// A proxy may encode characters in another way than the option does, so segments are compared
    /// after decoding.
    pub(crate) fn strip<'a>(&self, path: &'a str) -> Option<&'a str> {
        let mut rest = path;
        for own in &self.segments {
            let after = rest.strip_prefix('/')?;
            let (segment, others) = after.split_at(after.find('/').unwrap_or(after.len()));
            if percent_decoded(segment)? != *own {
                return None;
            }
            rest = others;
        }
        Some(if rest.is_empty() { "/" } else { rest })
    }
}

/// Without a slash at its end.
impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.encoded)
    }
}

/// Parses `/x/`, `/x`, `x/` or `x`.
impl FromStr for BaseUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = text.strip_prefix('/').unwrap_or(text);
        let path = path.strip_suffix('/').unwrap_or(path);
        if path.is_empty() {
            return Ok(Self::default());
        }
        let encoded = format!("/{path}");
        let segments = segments(&encoded).filter(|_| encoded.bytes().all(is_path_byte)).ok_or(
            "give a path such as /ratoon/, with letters, digits and `-._~!$&'()*+,=:@`, and other \
             characters percent-encoded",
        )?;
        Ok(Self { segments, encoded })
    }
}

/// Whether a path may contain the byte (RFC 3986, section 3.3). `;` is excluded because it would
/// end the path of a cookie.
fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/%-._~!$&'()*+,=:@".contains(&byte)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn base(text: &str) -> BaseUrl {
        text.parse().unwrap()
    }

    #[test]
    fn slashes_at_the_ends_are_optional() {
        for text in ["/a/b", "/a/b/", "a/b", "a/b/"] {
            assert_eq!(base(text).join("/n/main"), "/a/b/n/main", "{text}");
        }
        for text in ["", "/"] {
            assert_eq!(base(text), BaseUrl::default());
            assert_eq!(base(text).join("/"), "/");
        }
        assert_eq!(base("/a@b/").to_string(), "/a@b");
        assert_eq!(base("/a%40b/").to_string(), "/a%40b");
    }

    #[test]
    fn only_plain_paths_are_accepted() {
        for text in [
            "///",
            "//a",
            "a;b",
            "a b",
            "\u{e9}",
            "http://h",
            "a//b",
            "a/../b",
            "./a",
            "/a?b",
            "/a#b",
            "http://h/a",
            "/a%",
            "/%2e%2e/",
            "\\a",
        ] {
            assert!(text.parse::<BaseUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_base_path_is_removed_from_whole_segments() {
        let own = base("/user/a@b/");
        for (path, expected) in [
            ("/user/a@b/n/main", Some("/n/main")),
            ("/user/a%40b/n/main", Some("/n/main")),
            ("/user/a@b/", Some("/")),
            ("/user/a@b", Some("/")),
            ("/user/a@b//", Some("//")),
            ("/user/a@bc/", None),
            ("/user", None),
            ("/n/main", None),
            ("/", None),
            ("", None),
        ] {
            assert_eq!(own.strip(path), expected, "{path}");
        }
        assert_eq!(BaseUrl::default().strip("/n/main"), Some("/n/main"));
        assert_eq!(BaseUrl::default().strip("*"), Some("*"));
    }
}
