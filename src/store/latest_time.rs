//! Stores the latest time that a server of this user has seen, in a file next to the key.
//!
//! Share links expire at a wall-clock time. If the clock is set back, an expired link must stay
//! expired after the next start. So no server uses a time that is earlier than the stored time.

use super::config_file;
use std::io;
use std::path::{Path, PathBuf};

/// The file. It holds milliseconds since the Unix epoch, in decimal digits.
const NAME: &str = "latest-time";

/// Maximum number of bytes to read. No number of milliseconds has this many digits.
const MAX_BYTES: u64 = 32;

/// A handle on the file.
#[derive(Clone, Debug)]
pub struct LatestTime {
    dir: PathBuf,
}

impl LatestTime {
    /// A handle on the file in this config directory.
    pub fn in_dir(config_dir: &Path) -> Self {
        Self { dir: config_dir.to_owned() }
    }

    /// Returns the latest time, in milliseconds since the Unix epoch. Returns 0 if no time can be
    /// read.
    pub fn read(&self) -> u64 {
        let read = config_file::read(&self.dir, NAME, MAX_BYTES);
        read.ok().and_then(|text| text.trim().parse().ok()).unwrap_or_default()
    }

    /// Stores a time durably, unless a later time is already stored.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn note(&self, ms: u64) -> io::Result<()> {
        if self.read() >= ms {
            return Ok(());
        }
        config_file::replace(&self.dir, NAME, ms.to_string().as_bytes())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_time_never_goes_back() {
        let dir = std::env::temp_dir().join(format!("ratoon-clock-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let time = LatestTime::in_dir(&dir);
        assert_eq!(time.read(), 0);
        for (noted, latest) in [(5000, 5000), (4000, 5000), (6000, 6000)] {
            time.note(noted).unwrap();
            assert_eq!(time.read(), latest);
        }
        std::fs::write(dir.join(NAME), "no time").unwrap();
        assert_eq!(time.read(), 0);
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 1, "no draft is left behind");
        std::fs::remove_dir_all(&dir).unwrap();
        assert!(time.note(1).is_err());
    }
}
