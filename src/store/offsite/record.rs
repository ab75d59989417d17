//! What a notebook's directory knows of its copy in a store: which versions this directory
//! contains. It is the file `offsite.json`. Copies of the directory made by Ratoon do not have it.

use crate::blobs::Digest;
use crate::blobs::nofollow::read_file;
use crate::store::paths::{OFFSITE_RECORD, Paths};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Write};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The store's address.
    pub(super) url: String,
    /// The notebook's name there.
    pub(super) name: String,
    /// The versions that this directory contains: the last that was pushed or pulled, and one that
    /// was being pushed when the process ended.
    pub(super) versions: Vec<Digest>,
    /// The digest of the content of the last one.
    pub(super) content: Option<Digest>,
}

impl Record {
    /// Reads the record for this store and name. It is empty if the directory was never pushed
    /// there.
    pub(super) fn read(paths: &Paths, url: &str, name: &str) -> Self {
        let text = read_file(&paths.dir.join(OFFSITE_RECORD)).unwrap_or_default();
        let read: Self = serde_json::from_slice(&text).unwrap_or_default();
        if read.url == url && read.name == name {
            read
        } else {
            Self { url: url.into(), name: name.into(), ..Self::default() }
        }
    }

    /// Writes the record under a temporary name, then renames it.
    pub(super) fn write(&self, paths: &Paths) -> io::Result<()> {
        let draft = paths.temporary().join(format!("offsite-{}", uuid::Uuid::new_v4().simple()));
        fs::create_dir_all(paths.temporary())?;
        let mut file = File::create_new(&draft)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        fs::rename(&draft, paths.dir.join(OFFSITE_RECORD))?;
        File::open(&paths.dir)?.sync_all()
    }
}
