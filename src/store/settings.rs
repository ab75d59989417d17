//! Keeps the settings of the page for the owner, in a file next to the key: for all notebooks and
//! all browsers of this user. The page alone knows what they mean.

use super::config_file;
use crate::problem::{Kind, Problem};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The file. It holds a JSON object of texts.
const NAME: &str = "settings.json";
/// Maximum number of settings. The page has about ten.
const MAX_SETTINGS: usize = 100;
/// Maximum length of the name and of the text of a setting, in bytes.
const MAX_BYTES: usize = 100;
/// Maximum length of the file: more than the largest that `change` writes.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// A handle on the file.
#[derive(Clone, Debug)]
pub struct Settings {
    dir: PathBuf,
    /// Locked while the file is changed.
    changing: Arc<Mutex<()>>,
}

impl Settings {
    /// A handle on the file in this config directory.
    pub fn in_dir(config_dir: &Path) -> Self {
        Self { dir: config_dir.to_owned(), changing: Arc::default() }
    }

    /// The settings by name. None are kept before the first change.
    ///
    /// # Errors
    /// When the file cannot be read, or someone has written something else into it.
    pub fn read(&self) -> Result<BTreeMap<String, String>, Problem> {
        let failed = |why: String| {
            let how = format!("correct or delete {}", self.dir.join(NAME).display());
            Problem::new(Kind::Conflict, "read the settings", why, how)
        };
        match config_file::read(&self.dir, NAME, MAX_FILE_BYTES) {
            Ok(text) => serde_json::from_str(&text).map_err(|e| failed(e.to_string())),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(BTreeMap::new()),
            Err(e) => Err(failed(e.to_string())),
        }
    }

    /// Changes the settings that are named, and returns all. An empty text removes a setting.
    ///
    /// # Errors
    /// When a name is empty, a name or text is too long, or the file cannot be read or written.
    /// Nothing is changed then.
    pub fn change(&self, changes: BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Problem> {
        let _lock = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.read()?;
        let is_wrong = |(name, text): (&String, &String)| {
            !(1..=MAX_BYTES).contains(&name.len()) || text.len() > MAX_BYTES
        };
        let is_any_wrong = changes.iter().any(is_wrong);
        all.extend(changes);
        all.retain(|_, text| !text.is_empty());
        if is_any_wrong || all.len() > MAX_SETTINGS {
            let why =
                format!("there may be {MAX_SETTINGS} settings, with names and texts of {MAX_BYTES} bytes");
            return Err(Problem::bad_request(
                "keep the settings",
                why,
                "send fewer or shorter ones, with names",
            ));
        }
        let failed = |why: String| {
            Problem::new(Kind::Disk, "keep the settings", why, format!("check {}", self.dir.display()))
        };
        let text = serde_json::to_vec_pretty(&all).map_err(|e| failed(e.to_string()))?;
        config_file::replace(&self.dir, NAME, &text).map_err(|e| failed(e.to_string()))?;
        Ok(all)
    }
}
