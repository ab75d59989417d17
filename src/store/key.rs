//! The key of this install, and what is signed with it.

use super::tables::SqlValue;
use crate::notebook::StateId;
use crate::problem::{Kind, Problem};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The secret key of this install. Its signatures show which records this install wrote.
#[derive(Clone)]
pub struct InstallKey([u8; 32]);

impl std::fmt::Debug for InstallKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InstallKey")
    }
}

impl InstallKey {
    /// Reads the file `key` of the config directory, or creates it.
    ///
    /// # Errors
    /// When the file cannot be read or created, other users may read it, or it has the wrong
    /// length.
    pub fn load_or_make(config_dir: &Path) -> Result<Self, Problem> {
        let path = config_dir.join("key");
        let refused = |why: String, how: &str| Problem {
            kind: Kind::Conflict,
            what: format!("use the key {}", path.display()),
            why,
            how: how.to_owned(),
        };
        let failed = |e: io::Error| {
            refused(e.to_string(), "give yourself the right to write there, or set XDG_CONFIG_HOME")
        };
        let file = match open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make(config_dir, &path).map_err(failed)?;
                open(&path)
            }
            other => other,
        };
        let file = file.map_err(|error| match error.raw_os_error() {
            Some(nix::libc::ELOOP) => refused("it is a symbolic link".into(), "put the file itself there"),
            _ => failed(error),
        })?;
        let metadata = file.metadata().map_err(failed)?;
        let is_ours = metadata.uid() == nix::unistd::geteuid().as_raw();
        if !metadata.is_file() || !is_ours || metadata.mode() & 0o077 != 0 {
            let how = "make it yours alone (chown, chmod 600), or remove it: a new key is then made, \
                       and checkpoints have to be trusted again";
            return Err(refused("it is not a file that only you can read".into(), how));
        }
        let mut key = Vec::new();
        file.take(33).read_to_end(&mut key).map_err(failed)?;
        key.try_into().map(Self).map_err(|_| {
            let how = "remove it: then a new one is made, and checkpoints have to be trusted again";
            refused("it is not 32 bytes long".into(), how)
        })
    }

    fn mac(&self, parts: &[&[u8]]) -> Hmac<Sha256> {
        // HMAC pads a key that is shorter than a block with zeros.
        let mut block = [0; 64];
        block[..32].copy_from_slice(&self.0);
        let mut mac = <Hmac<Sha256> as Mac>::new(&block.into());
        for part in parts {
            mac.update(&(part.len() as u64).to_le_bytes());
            mac.update(part);
        }
        mac
    }
}

fn open(path: &Path) -> io::Result<File> {
    let flags = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

/// Writes the key atomically. Never replaces an existing one.
fn make(dir: &Path, path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(io::Error::from)?;
    let draft = dir.join(format!("key.{}", uuid::Uuid::new_v4().simple()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let made = file.write_all(&key).and_then(|()| file.sync_all()).and_then(|()| {
        match std::fs::hard_link(&draft, path) {
            // Another server has made the key in the meantime: use that one.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    });
    std::fs::remove_file(&draft)?;
    made?;
    File::open(dir)?.sync_all()
}

/// Signs the records of one notebook.
#[derive(Debug)]
pub(super) struct Seal {
    key: InstallKey,
    notebook: String,
}

impl Seal {
    pub(super) fn new(key: &InstallKey, notebook: &str) -> Self {
        Self { key: key.clone(), notebook: notebook.to_owned() }
    }

    pub(super) fn notebook(&self) -> &str {
        &self.notebook
    }

    fn checkpoint_mac(
        &self,
        state: &str,
        parent: Option<&StateId>,
        manifest: &str,
        body: &str,
    ) -> Hmac<Sha256> {
        let parent = parent.map_or("", StateId::as_str);
        let body = blake3::hash(body.as_bytes());
        self.key.mac(&[
            b"ratoon-checkpoint-v1",
            self.notebook.as_bytes(),
            state.as_bytes(),
            parent.as_bytes(),
            manifest.as_bytes(),
            body.as_bytes(),
        ])
    }

    fn credential_mac(&self, id: &str, body: &str) -> Hmac<Sha256> {
        let body = blake3::hash(body.as_bytes());
        self.key.mac(&[b"ratoon-link-v1", self.notebook.as_bytes(), id.as_bytes(), body.as_bytes()])
    }

    /// The signature of a checkpoint's row.
    pub(super) fn checkpoint(
        &self,
        state: &str,
        parent: Option<&StateId>,
        manifest: &str,
        body: &str,
    ) -> SqlValue {
        SqlValue::Bytes(self.checkpoint_mac(state, parent, manifest, body).finalize().into_bytes().to_vec())
    }

    /// Whether this install signed a checkpoint's row for this state of this notebook.
    pub(super) fn is_checkpoint(&self, row: &[SqlValue], parent: Option<&StateId>) -> bool {
        let [SqlValue::Text(state), _, SqlValue::Text(manifest), SqlValue::Text(body), hmac, ..] = row else {
            return false;
        };
        self.checkpoint_mac(state, parent, manifest, body).verify_slice(hmac.bytes()).is_ok()
    }

    /// The signature of the row of a share link or a browser session.
    pub(super) fn credential(&self, id: &str, body: &str) -> SqlValue {
        SqlValue::Bytes(self.credential_mac(id, body).finalize().into_bytes().to_vec())
    }

    pub(super) fn is_credential(&self, id: &str, body: &str, hmac: &[u8]) -> bool {
        self.credential_mac(id, body).verify_slice(hmac).is_ok()
    }
}
