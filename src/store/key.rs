//! The secret key of this install, and the signatures made with this key.

use super::tables::SqlValue;
use crate::notebook::StateId;
use crate::problem::{Kind, Problem};
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The secret key of this install. A signature made with this key shows that this install wrote the
/// record.
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
    /// When the file cannot be read or created, has the wrong length, or may be read by other
    /// users.
    pub fn load_or_make(config_dir: &Path) -> Result<Self, Problem> {
        Self::named(config_dir, "key")
    }

    /// Reads the file `workers-key` of the config directory, or creates it. The server and its
    /// workers sign their messages with this key.
    ///
    /// # Errors
    /// Those of `load_or_make`.
    pub fn of_workers(config_dir: &Path) -> Result<Self, Problem> {
        Self::named(config_dir, "workers-key")
    }

    /// A key in hexadecimal digits; none if the text is not 64 of them.
    pub fn from_hex(text: &str) -> Option<Self> {
        bytes(text)?.try_into().ok().map(Self)
    }

    /// Some digits by which two keys are told apart. They say nothing about the key.
    pub(crate) fn short_id(&self) -> String {
        hex(&self.mac(&[b"ratoon-key-id-v1"]).finalize().into_bytes()[..4])
    }

    /// The signature of a text, in hexadecimal digits. A signature for one purpose is none for
    /// another.
    pub(crate) fn sign(&self, purpose: &str, text: &str) -> String {
        hex(&self.mac(&[purpose.as_bytes(), text.as_bytes()]).finalize().into_bytes())
    }

    /// Whether this key made the signature. Takes the same time for every wrong signature.
    pub(crate) fn has_signed(&self, purpose: &str, text: &str, signature: &str) -> bool {
        let mac = || self.mac(&[purpose.as_bytes(), text.as_bytes()]);
        bytes(signature).is_some_and(|bytes| mac().verify_slice(&bytes).is_ok())
    }

    fn named(config_dir: &Path, name: &str) -> Result<Self, Problem> {
        let path = config_dir.join(name);
        let refused = |why: String, how: &str| Problem {
            kind: Kind::Conflict,
            what: format!("use the key {}", path.display()),
            why,
            how: how.to_owned(),
        };
        let failed = |e: io::Error| {
            refused(e.to_string(), "make its directory writable for you, or set XDG_CONFIG_HOME")
        };
        let file = match open(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make(config_dir, &path).map_err(failed)?;
                open(&path)
            }
            other => other,
        };
        let file = file.map_err(|error| match error.raw_os_error() {
            Some(nix::libc::ELOOP) => {
                refused("it is a symbolic link".into(), "replace the link with the file itself")
            }
            _ => failed(error),
        })?;
        let metadata = file.metadata().map_err(failed)?;
        let is_ours = metadata.uid() == nix::unistd::geteuid().as_raw();
        if !metadata.is_file() || !is_ours || metadata.mode() & 0o077 != 0 {
            let how = "make it readable for you alone (chown, chmod 600), or remove it; Ratoon then creates \
                       a new key, and checkpoints have to be trusted again";
            return Err(refused("it is not a file that only you can read".into(), how));
        }
        let mut key = Vec::new();
        file.take(33).read_to_end(&mut key).map_err(failed)?;
        key.try_into().map(Self).map_err(|_| {
            let how = "remove it; Ratoon then creates a new key, and checkpoints have to be trusted again";
            refused("it is not 32 bytes long".into(), how)
        })
    }

    /// A text that identifies this key without revealing it.
    pub(super) fn id(&self) -> String {
        let id = blake3::derive_key("ratoon 2026 id of an install's key", &self.0);
        hex(&id[..8])
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

/// Bytes as hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes of hexadecimal digits; none for another text.
pub(super) fn bytes(digits: &str) -> Option<Vec<u8>> {
    let byte = |at: usize| digits.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
    (0..digits.len()).step_by(2).map(byte).collect()
}

fn open(path: &Path) -> io::Result<File> {
    let flags = nix::fcntl::OFlag::O_NOFOLLOW | nix::fcntl::OFlag::O_NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits()).open(path)
}

/// Writes the key atomically. Never replaces an existing key.
fn make(dir: &Path, path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(io::Error::from)?;
    let draft = dir.join(format!("key.{}", uuid::Uuid::new_v4().simple()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    let made = file.write_all(&key).and_then(|()| file.sync_all()).and_then(|()| {
        match std::fs::hard_link(&draft, path) {
            // Another server has made the key in the meantime. That key is used.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            other => other,
        }
    });
    std::fs::remove_file(&draft)?;
    made?;
    File::open(dir)?.sync_all()
}

/// Signs the records of one notebook with the install's key.
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

    fn mac(&self, purpose: &str, parts: &[&[u8]]) -> Hmac<Sha256> {
        self.key.mac(&[&[purpose.as_bytes(), self.notebook.as_bytes()], parts].concat())
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
        let parts = [state.as_bytes(), parent.as_bytes(), manifest.as_bytes(), body.as_bytes()];
        self.mac("ratoon-checkpoint-v1", &parts)
    }

    fn credential_mac(&self, id: &str, body: &str) -> Hmac<Sha256> {
        self.mac("ratoon-link-v1", &[id.as_bytes(), blake3::hash(body.as_bytes()).as_bytes()])
    }

    fn python_mac(&self, path: &str, version: &str) -> Hmac<Sha256> {
        self.mac("ratoon-python-v1", &[path.as_bytes(), version.as_bytes()])
    }

    /// The signature of the Python that the notebook has chosen, in hexadecimal digits.
    pub(super) fn python(&self, path: &str, version: &str) -> String {
        hex(&self.python_mac(path, version).finalize().into_bytes())
    }

    /// Whether this install signed this Python for this notebook.
    pub(super) fn is_python(&self, path: &str, version: &str, hmac: &str) -> bool {
        bytes(hmac).is_some_and(|bytes| self.python_mac(path, version).verify_slice(&bytes).is_ok())
    }

    fn sweep_mac(&self, id: &str, definition: &str) -> Hmac<Sha256> {
        self.mac("ratoon-sweep-v1", &[id.as_bytes(), blake3::hash(definition.as_bytes()).as_bytes()])
    }

    /// The signature of a sweep whose rows may run when the notebook is opened.
    pub(super) fn sweep(&self, id: &str, definition: &str) -> SqlValue {
        SqlValue::Bytes(self.sweep_mac(id, definition).finalize().into_bytes().to_vec())
    }

    /// Whether this install began this sweep of this notebook, with exactly these rows.
    pub(super) fn is_sweep(&self, id: &str, definition: &str, hmac: &SqlValue) -> bool {
        self.sweep_mac(id, definition).verify_slice(hmac.bytes()).is_ok()
    }

    /// Makes the signature of a checkpoint's row.
    pub(super) fn checkpoint(
        &self,
        state: &str,
        parent: Option<&StateId>,
        manifest: &str,
        body: &str,
    ) -> SqlValue {
        SqlValue::Bytes(self.checkpoint_mac(state, parent, manifest, body).finalize().into_bytes().to_vec())
    }

    /// Whether the row's signature is one that this install made for this state of this notebook.
    pub(super) fn is_checkpoint(&self, row: &[SqlValue], parent: Option<&StateId>) -> bool {
        let [SqlValue::Text(state), _, SqlValue::Text(manifest), SqlValue::Text(body), hmac, ..] = row else {
            return false;
        };
        self.checkpoint_mac(state, parent, manifest, body).verify_slice(hmac.bytes()).is_ok()
    }

    /// Makes the signature of a row of a share link or a browser session.
    pub(super) fn credential(&self, id: &str, body: &str) -> SqlValue {
        SqlValue::Bytes(self.credential_mac(id, body).finalize().into_bytes().to_vec())
    }

    pub(super) fn is_credential(&self, id: &str, body: &str, hmac: &[u8]) -> bool {
        self.credential_mac(id, body).verify_slice(hmac).is_ok()
    }
}
