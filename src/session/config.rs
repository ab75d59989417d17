//! The settings with which notebooks are opened.

use super::Budget;
use crate::problem::Problem;
use crate::remote::RemoteStore;
use crate::store::{InstallKey, LatestTime, Settings};
use crate::workers::Workers;
use std::path::{Path, PathBuf};

/// The directory of the notebooks, and the settings with which notebooks are opened.
#[derive(Clone, Debug)]
pub struct NotebookConfig {
    /// The directory that holds the notebooks.
    pub dir: PathBuf,
    /// The key that signs the files of this install. It lets this install recognise its own files.
    pub(super) key: InstallKey,
    /// The latest time that the clock has ever shown. If the clock is set back, share links expire
    /// by this time.
    pub latest_time: LatestTime,
    /// The owner's settings of the page.
    pub settings: Settings,
    /// Limits for the states of a notebook that are in memory.
    pub budget: Budget,
    /// Whether checkpoints are written automatically.
    pub saves: bool,
    /// The workers, if the server has some.
    pub workers: Option<Workers>,
    /// The store off this machine in which open notebooks have a copy.
    pub remote: Option<RemoteStore>,
}

impl NotebookConfig {
    /// The settings for notebooks in `dir`, signed with the key in `config_dir`.
    ///
    /// # Errors
    /// `Problem` when the key cannot be used.
    pub fn new(dir: PathBuf, config_dir: &Path, budget: Budget, saves: bool) -> Result<Self, Problem> {
        let key = InstallKey::load_or_make(config_dir)?;
        let latest_time = LatestTime::in_dir(config_dir);
        let settings = Settings::in_dir(config_dir);
        Ok(Self { dir, key, latest_time, settings, budget, saves, workers: None, remote: None })
    }
}
