//! A store off this machine: objects in an S3-compatible store or in a directory.
//!
//! `RemoteStore` is the only type that other modules need. It knows keys and bytes, and nothing of
//! notebooks or workers. Use it like this:
//!
//! - `RemoteStore::connect(&settings)` checks the address and reads the credentials. It sends
//!   nothing. The options make the settings (`Options::store_settings`). A clone shares the
//!   connections.
//! - `put_blob`, `get_blob`, `blob_age` store content by its digest, at `blobs/ab/<64 hex>`, in the
//!   form of a local blob's file (`blobs::to_file`). `put_blob_file` moves that file
//!   without packing it again. What `get_blob` returns has been verified against the digest.
//! - `put`, `get`, `list`, `delete` handle small named objects. Each user of the store keeps to its
//!   own first folder: notebooks use `notebooks/`, workers use `tasks/`. A key consists of the
//!   characters that `is_key` allows; `key_part` turns any text into a part of a key.
//! - Write blobs first, and the object that names them last. Then whoever reads that object finds
//!   all blobs. `ratoon gc --store` removes blobs that no notebook names once they are a week old,
//!   so an object that names blobs for longer must be known to `store/offsite`.
//!
//! All functions block, and may be called from several threads. Each request has a timeout and is
//! tried again a few times (`retry`). Errors name the store's address without credentials.

mod address;
mod credentials;
mod folder;
mod key;
#[cfg(test)]
mod memory;
mod outcome;
mod parallel;
mod retry;
mod s3;

pub use credentials::StoreSettings;
pub(crate) use key::{key_part, text_of_key_part};
pub(crate) use outcome::Object;
pub(crate) use parallel::for_each_in_parallel;

use crate::blobs::{Digest, from_file, to_file};
use crate::problem::{Kind, Problem};
use address::Address;
use folder::Folder;
use key::is_key;
use outcome::Outcome;
use retry::with_retries;
use s3::S3;
use std::sync::Arc;
use std::time::Duration;

/// Maximum length of a named object, in bytes.
const MAX_OBJECT_BYTES: usize = 64 << 20;
/// Maximum number of objects in an answer of `list`.
const MAX_LISTED: usize = 1 << 20;

/// A connection to a store. Cheap to clone.
#[derive(Clone, Debug)]
pub struct RemoteStore {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The store's address, for messages.
    url: String,
    objects: Objects,
}

#[derive(Debug)]
enum Objects {
    S3(Box<S3>),
    Folder(Folder),
    #[cfg(test)]
    Memory(memory::Memory),
}

impl RemoteStore {
    /// Prepares a connection. Sends no request.
    ///
    /// # Errors
    /// When the address is not one of a store, or credentials are missing or cannot be read.
    pub fn connect(settings: &StoreSettings) -> Result<Self, Problem> {
        let address = Address::parse(&settings.url)?;
        let url = address.shown();
        let objects = match address {
            Address::S3(place) => Objects::S3(Box::new(S3::new(place, settings.clone(), &url)?)),
            Address::Folder(path) => Objects::Folder(Folder::new(path)),
        };
        Ok(Self { inner: Arc::new(Inner { url, objects }) })
    }

    /// A store in memory, whose faults a test decides.
    #[cfg(test)]
    pub(crate) fn in_memory() -> Self {
        let objects = Objects::Memory(memory::Memory::default());
        Self { inner: Arc::new(Inner { url: "memory://".into(), objects }) }
    }

    /// The objects of a store in memory.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> &memory::Memory {
        match &self.inner.objects {
            Objects::Memory(memory) => memory,
            _ => panic!("the store is not in memory"),
        }
    }

    /// The store's address, without credentials.
    pub fn url(&self) -> &str {
        &self.inner.url
    }

    /// Writes an object. Replaces an object that has the same key. When this returns, the object is
    /// durable as far as the store promises it.
    ///
    /// # Errors
    /// When the store does not answer or refuses.
    pub(crate) fn put(&self, key: &str, bytes: &[u8]) -> Result<(), Problem> {
        self.perform("write to", key, || match &self.inner.objects {
            Objects::S3(s3) => s3.put(key, bytes),
            Objects::Folder(folder) => folder.put(key, bytes),
            #[cfg(test)]
            Objects::Memory(memory) => memory.put(key, bytes),
        })
    }

    /// Reads an object; none if there is no object with this key.
    ///
    /// # Errors
    /// When the store does not answer or refuses, or the object is longer than 64 MiB.
    pub(crate) fn get(&self, key: &str) -> Result<Option<Object>, Problem> {
        self.read(key, MAX_OBJECT_BYTES)
    }

    fn read(&self, key: &str, max_bytes: usize) -> Result<Option<Object>, Problem> {
        self.perform("read from", key, || match &self.inner.objects {
            Objects::S3(s3) => s3.get(key, max_bytes),
            Objects::Folder(folder) => folder.get(key, max_bytes),
            #[cfg(test)]
            Objects::Memory(memory) => memory.get(key),
        })
    }

    /// The keys that begin with a prefix, sorted.
    ///
    /// # Errors
    /// When the store does not answer or refuses, or has a million such keys.
    pub(crate) fn list(&self, prefix: &str) -> Result<Vec<String>, Problem> {
        let mut keys = self.perform("list", prefix, || match &self.inner.objects {
            Objects::S3(s3) => s3.list(prefix, MAX_LISTED),
            Objects::Folder(folder) => folder.list(prefix, MAX_LISTED),
            #[cfg(test)]
            Objects::Memory(memory) => memory.list(prefix),
        })?;
        keys.sort();
        Ok(keys)
    }

    /// Removes an object. Does nothing if there is no object with this key.
    ///
    /// # Errors
    /// When the store does not answer or refuses.
    pub(crate) fn delete(&self, key: &str) -> Result<(), Problem> {
        self.perform("remove from", key, || match &self.inner.objects {
            Objects::S3(s3) => s3.delete(key),
            Objects::Folder(folder) => folder.delete(key),
            #[cfg(test)]
            Objects::Memory(memory) => memory.delete(key),
        })
    }

    /// The time since an object was written, by the store's own clock; none if there is no object
    /// with this key.
    ///
    /// # Errors
    /// When the store does not answer or refuses.
    pub(crate) fn age(&self, key: &str) -> Result<Option<Duration>, Problem> {
        self.perform("look into", key, || match &self.inner.objects {
            Objects::S3(s3) => s3.age(key),
            Objects::Folder(folder) => folder.age(key),
            #[cfg(test)]
            Objects::Memory(memory) => memory.age(key),
        })
    }

    /// The time since a blob was written, by the store's own clock; none if the store lacks it.
    ///
    /// # Errors
    /// Those of `age`.
    pub(crate) fn blob_age(&self, digest: &Digest) -> Result<Option<Duration>, Problem> {
        self.age(&blob_key(digest))
    }

    /// Writes content as a blob, packed where that pays.
    ///
    /// # Errors
    /// Those of `put`.
    pub(crate) fn put_blob(&self, bytes: &[u8]) -> Result<Digest, Problem> {
        let digest = Digest::of(bytes);
        self.put_blob_file(&digest, &to_file(bytes))?;
        Ok(digest)
    }

    /// Writes a blob whose content is in the form of a blob's file. The caller has verified it.
    ///
    /// # Errors
    /// Those of `put`.
    pub(crate) fn put_blob_file(&self, digest: &Digest, file: &[u8]) -> Result<(), Problem> {
        self.put(&blob_key(digest), file)
    }

    /// The verified content of a blob, unpacked to at most `max_bytes`.
    ///
    /// # Errors
    /// Those of `get`, and when the blob is missing or altered.
    pub(crate) fn get_blob(&self, digest: &Digest, max_bytes: usize) -> Result<Vec<u8>, Problem> {
        let file = self.read_blob(digest, max_bytes)?;
        from_file(digest, &file, max_bytes).map_err(|error| self.altered(digest, &error.to_string()))
    }

    /// Removes a blob whose content was altered, so that the next push writes it again.
    ///
    /// # Errors
    /// Those of `delete`.
    pub(crate) fn remove_blob(&self, digest: &Digest) -> Result<(), Problem> {
        self.delete(&blob_key(digest))
    }

    fn read_blob(&self, digest: &Digest, max_bytes: usize) -> Result<Vec<u8>, Problem> {
        // The first byte is the kind. Content is packed only if that makes it shorter.
        let found = self.read(&blob_key(digest), max_bytes + 1)?;
        found.map(|object| object.bytes).ok_or_else(|| {
            let why = format!("the store {} has no blob {digest}", self.url());
            let how = "push the notebook again from a machine that has it";
            Problem::new(Kind::NotFound, "read a blob from the store", why, how)
        })
    }

    fn altered(&self, digest: &Digest, why: &str) -> Problem {
        let what = format!("read the blob {digest} from the store {}", self.url());
        let how = "nothing was used of it; remove the object from the store, and push the notebook again \
                   from a machine that has it";
        // Not `Store`: another attempt would not help.
        Problem::new(Kind::Lost, what, why, how)
    }

    /// Runs an operation, with retries, and describes its failure.
    fn perform<T>(&self, verb: &str, key: &str, work: impl Fn() -> Outcome<T>) -> Result<T, Problem> {
        debug_assert!(is_key(key), "{key}");
        with_retries(work).map_err(|failure| {
            let what = format!("{verb} the store {}", self.url());
            Problem::new(Kind::Store, what, failure.why, failure.how)
        })
    }
}

/// The key of a blob.
fn blob_key(digest: &Digest) -> String {
    let name = digest.to_string();
    format!("blobs/{}/{name}", &name[..2])
}

#[cfg(test)]
mod tests;
