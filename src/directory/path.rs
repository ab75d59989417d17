//! `FilePath`: a path below the directory, as clients send it.

use crate::problem::Problem;
use std::fmt;

/// Suffix of a notebook's directory. The files in it belong to the store.
pub(crate) const NOTEBOOK_SUFFIX: &str = ".ratoon";

/// Maximum length of a path, in bytes. Linux refuses longer ones.
const MAX_PATH_BYTES: usize = 4095;

/// A path below the directory, without hidden components and not inside a notebook. The path
/// without components is the directory itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePath(Vec<String>);

impl FilePath {
    /// The directory itself.
    pub(crate) fn root() -> Self {
        Self(Vec::new())
    }

    /// Reads a path with `/` between its components.
    ///
    /// # Errors
    /// When a component cannot be a file's name, is hidden, or is a notebook's directory.
    pub(crate) fn parse(text: &str) -> Result<Self, Problem> {
        let refused =
            |why: &str, how: &str| Err(Problem::bad_request(format!("use the path {text:?}"), why, how));
        let how = "give a path below the directory, without a leading slash";
        if text.len() > MAX_PATH_BYTES {
            return refused("it is too long", "use shorter names");
        }
        let components: Vec<String> = text.split('/').map(str::to_owned).collect();
        for name in &components {
            if name.is_empty() || !is_plain(name) {
                return refused("it is not a plain path", how);
            }
            if name.starts_with('.') {
                return refused("hidden files are not available here", "use a name without a leading dot");
            }
            if name.ends_with(NOTEBOOK_SUFFIX) {
                let why = "it is a notebook, and its files belong to Ratoon";
                return refused(why, "open, rename or delete the notebook on the page of all notebooks");
            }
        }
        Ok(Self(components))
    }

    /// The names of the folders, and then of the file.
    pub(crate) fn components(&self) -> &[String] {
        &self.0
    }

    /// The last component. Empty for the directory itself.
    pub(crate) fn name(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}

/// Whether a name can be a component of a URL's path (`http/percent` refuses control characters).
pub(super) fn is_plain(name: &str) -> bool {
    !name.contains('/') && !name.chars().any(char::is_control)
}
