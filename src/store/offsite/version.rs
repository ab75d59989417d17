//! The versions of a notebook in a store. A version is an object that names all blobs of a copy,
//! and that the install which pushed it has signed. Its key has its epoch, its number, and its
//! digest.

use super::pieces::Piece;
use super::{Place, digits, number};
use crate::blobs::Digest;
use crate::problem::{Kind, Problem};
use crate::store::key::InstallKey;
use crate::store::tables::Tables;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

const FORMAT: &str = "ratoon-notebook-1";

/// The content of a version.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Version {
    pub(super) format: String,
    /// The notebook's name in the store.
    pub(super) name: String,
    pub(super) notebook_id: String,
    /// The version of the database's format.
    pub(super) schema: usize,
    pub(super) epoch: u64,
    pub(super) number: u64,
    /// When it was pushed, in milliseconds since the Unix epoch, by the pusher's clock. Only shown.
    pub(super) pushed_at: f64,
    pub(super) host: String,
    pub(super) user: String,
    #[serde(flatten)]
    pub(super) content: Content,
}

/// Everything in a copy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Content {
    /// The rows of each table, in pieces.
    pub(super) tables: BTreeMap<String, Vec<Piece>>,
    /// The list of the notebook's blobs, in pieces. A line has a digest and a length in bytes.
    pub(super) blobs: Vec<Piece>,
    /// The attachments, by name.
    pub(super) attachments: BTreeMap<String, Piece>,
}

impl Content {
    /// The digest of the content, by which copies are compared.
    pub(super) fn digest(&self) -> Digest {
        Digest::of(&serde_json::to_vec(self).unwrap_or_default())
    }

    /// All blobs that the version itself names, but not those in its list of blobs.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &Piece> {
        self.tables.values().flatten().chain(&self.blobs).chain(self.attachments.values())
    }
}

/// A version as it is stored.
#[derive(Serialize, Deserialize)]
struct Signed {
    /// The version, as JSON.
    version: String,
    /// The id of the key that signed it.
    key: String,
    /// The signature, in hexadecimal digits.
    hmac: String,
}

/// What the key of a version tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VersionKey {
    pub(super) epoch: u64,
    pub(super) number: u64,
    pub(super) digest: Digest,
    pub(super) key: String,
}

impl VersionKey {
    /// The epoch and number, as users name a version.
    pub(super) fn id(&self) -> String {
        format!("{}.{}", self.epoch, self.number)
    }
}

/// What the signatures of versions are for.
const PURPOSE: &str = "ratoon-version-v1";

/// All versions of a notebook, the newest last.
///
/// # Errors
/// When the store does not answer.
pub(super) fn list(place: &Place) -> Result<Vec<VersionKey>, Problem> {
    let prefix = place.versions();
    Ok(place.store.list(&prefix)?.into_iter().filter_map(|key| parse(&prefix, key)).collect())
}

pub(super) fn parse(prefix: &str, key: String) -> Option<VersionKey> {
    let mut parts = key.strip_prefix(prefix)?.split('-');
    let (epoch, own) = (number(parts.next()?)?, number(parts.next()?)?);
    let digest = parts.next()?.parse().ok()?;
    parts.next().is_none().then_some(VersionKey { epoch, number: own, digest, key })
}

/// Signs a version. Returns its key and its object.
pub(super) fn sign(place: &Place, version: &Version, install: &InstallKey) -> (VersionKey, Vec<u8>) {
    let text = serde_json::to_string(version).unwrap_or_default();
    let hmac = install.sign(PURPOSE, &text);
    let object = Signed { version: text, key: install.id(), hmac };
    let object = serde_json::to_vec(&object).unwrap_or_default();
    let (epoch, number, digest) = (version.epoch, version.number, Digest::of(&object));
    let key = format!("{}{}-{}-{digest}", place.versions(), digits(epoch), digits(number));
    (VersionKey { epoch, number, digest, key }, object)
}

/// Reads a version, verifies it, and tells whether this install has pushed it.
///
/// # Errors
/// When the store does not answer, the version is missing or altered, or its format is newer.
pub(super) fn read(
    place: &Place,
    key: &VersionKey,
    install: &InstallKey,
) -> Result<(Version, bool), Problem> {
    let what =
        || format!("read the version {} of {} in the store {}", key.id(), place.name, place.store.url());
    let bad = |why: &str| {
        let how = "nothing was used of it; pull another version (`ratoon pull NAME --versions` lists them)";
        Problem::new(Kind::Store, what(), why, how)
    };
    let object = place.store.get(&key.key)?.ok_or_else(|| bad("it was removed in the meantime"))?;
    if Digest::of(&object.bytes) != key.digest {
        return Err(bad("it was altered: its content does not match its digest"));
    }
    let signed: Signed = serde_json::from_slice(&object.bytes).map_err(|_| bad("it is not a version"))?;
    let is_ours = signed.key == install.id();
    if is_ours && !install.has_signed(PURPOSE, &signed.version, &signed.hmac) {
        return Err(bad("it was altered: the signature of this install does not match"));
    }
    #[derive(Deserialize)]
    struct Head {
        format: String,
        schema: usize,
    }
    let head: Head = serde_json::from_str(&signed.version).map_err(|_| bad("it is not a version"))?;
    if head.format != FORMAT || head.schema > schema() {
        let why = "a newer Ratoon has written it";
        return Err(Problem::new(Kind::Conflict, what(), why, "install a newer Ratoon"));
    }
    let version: Version =
        serde_json::from_str(&signed.version).map_err(|error| bad(&format!("it cannot be read: {error}")))?;
    if (version.name.as_str(), version.epoch, version.number) != (place.name.as_str(), key.epoch, key.number)
    {
        return Err(bad("it belongs to another notebook or place"));
    }
    Ok((version, is_ours))
}

/// A version of the format that this program writes.
pub(super) fn format() -> String {
    FORMAT.into()
}

/// The version of the database's format.
pub(super) fn schema() -> usize {
    Tables::newest()
}
