//! Removes the blobs in a store that no version names. Pushes may run at the same time.
//!
//! Only blobs that are a week old are removed. A push uploads again what no version names and is
//! half as old, so what it relies on is too young. One gap remains: a push writes an old blob again
//! right before it is removed. So the collector writes an object first, and a push that sees the
//! object waits for its end and looks again before it writes its version.

use super::{COLLECTING, Place, UNNAMED_BLOB_LIFETIME, push, version};
use crate::blobs::Digest;
use crate::problem::Problem;
use crate::remote::{RemoteStore, text_of_key_part};
use crate::store::key::InstallKey;
use std::collections::{BTreeSet, HashSet};

/// What was removed and kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Number of blobs that some version names.
    pub named: usize,
    /// Number of unnamed blobs that are too young to be removed.
    pub young: usize,
    /// Number of blobs that were removed.
    pub removed: usize,
}

/// Removes old blobs that no version of any notebook names.
///
/// # Errors
/// When the store does not answer, or a version or its list of blobs cannot be read: then it is not
/// known what it names, and nothing is removed.
pub fn collect(store: &RemoteStore, install: &InstallKey) -> Result<Collected, Problem> {
    let marker = format!("{COLLECTING}{}", uuid::Uuid::new_v4().simple());
    store.put(&marker, b"")?;
    let collected = collect_marked(store, install);
    let removed = store.delete(&marker);
    collected.and_then(|collected| removed.map(|()| collected))
}

fn collect_marked(store: &RemoteStore, install: &InstallKey) -> Result<Collected, Problem> {
    let named = all_named(store, install)?;
    let mut collected = Collected::default();
    for first in 0..=255u8 {
        for key in store.list(&format!("blobs/{first:02x}/"))? {
            let digest: Option<Digest> = key.rsplit('/').next().and_then(|name| name.parse().ok());
            let Some(digest) = digest else { continue };
            if named.contains(&digest) {
                collected.named += 1;
            } else if store.age(&key)?.is_some_and(|age| age > UNNAMED_BLOB_LIFETIME) {
                store.delete(&key)?;
                collected.removed += 1;
            } else {
                collected.young += 1;
            }
        }
    }
    Ok(collected)
}

/// The blobs that versions of all notebooks name.
fn all_named(store: &RemoteStore, install: &InstallKey) -> Result<HashSet<Digest>, Problem> {
    let keys = store.list("notebooks/")?;
    let part = |key: &String| key.strip_prefix("notebooks/")?.split('/').next().and_then(text_of_key_part);
    let names: BTreeSet<String> = keys.iter().filter_map(part).collect();
    let mut named = HashSet::new();
    for name in names {
        let place = Place { store: store.clone(), name };
        let mut read = HashSet::new();
        // A push may remove a version after it was listed. Its successor is in the next listing.
        while let Some(key) = version::list(&place)?.into_iter().find(|key| !read.contains(&key.key)) {
            match version::read(&place, &key, install) {
                Ok((version, _)) => {
                    named.extend(push::named(&place, &version.content)?);
                    read.insert(key.key);
                }
                Err(_) if store.age(&key.key)?.is_none() => {}
                Err(problem) => return Err(problem),
            }
        }
    }
    Ok(named)
}
