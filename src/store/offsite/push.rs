//! Pushes a notebook: uploads the blobs that the store lacks, then writes a version that names all.

use super::copy::{Copy, LocalBlob, Source, notebook_id};
use super::lease::{Claimed, Holder, Lease};
use super::pieces::Piece;
use super::record::Record;
use super::version::{self, Content, Version, VersionKey};
use super::{COLLECTING, COLLECTING_TIMEOUT, PARALLEL, Place, UNNAMED_BLOB_LIFETIME};
use crate::blobs::{Blobs, Digest};
use crate::clock::now_ms;
use crate::problem::{Kind, Problem};
use crate::remote::{RemoteStore, for_each_in_parallel};
use crate::store::attachments::MAX_ATTACHMENT_BYTES;
use crate::store::key::InstallKey;
use crate::store::lock::Lock;
use crate::store::open::{open_tables, upgraded};
use crate::store::paths::{Paths, is_notebook};
use crate::store::row_formats::MAX_ENTRY_BYTES;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Number of versions that stay in the store.
const KEPT_VERSIONS: usize = 10;
/// A version that is younger than this when the next is pushed gives way to it, so that the kept
/// versions of a notebook that is pushed continuously are not all of the last minute.
const MIN_VERSION_AGE: Duration = Duration::from_secs(600);
/// Interval at which a push looks whether `collect` has ended.
const COLLECTING_PAUSE: Duration = Duration::from_millis(500);

/// How a push begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Claim {
    /// Whether to take the lease over from another server.
    pub take_over: bool,
    /// Whether to replace a newer version that this copy does not contain. It stays in the store as
    /// an older version.
    pub replace: bool,
}

/// The beginning of a push.
#[derive(Debug)]
pub enum Begun {
    /// This process holds the lease.
    Ready(Box<Pusher>),
    /// Another server holds the lease.
    Held(Holder),
    /// The store has a version that this copy does not contain.
    Behind(Problem),
}

/// The result of a push.
#[derive(Clone, Debug, PartialEq)]
pub enum Pushed {
    /// The newest version in the store has the same content.
    Unchanged,
    /// A version was written. Has the number of blobs that were uploaded, and their bytes.
    Done(usize, u64),
    /// Another server has taken the lease over. Nothing that this copy pushes counts any more.
    TakenBy(Holder),
}

/// Pushes one notebook, of which this process has the lock and the lease.
#[derive(Debug)]
pub struct Pusher {
    place: Place,
    paths: Paths,
    source: Source,
    install: InstallKey,
    lease: Lease,
    record: Record,
    /// The number of the next version of this lease.
    next: u64,
    /// The blobs that the newest version names. They stay in the store as long as it is the newest.
    named: HashSet<Digest>,
    /// The version that this process has written last, and when the version before it was left in
    /// the store.
    last: Option<(VersionKey, Instant)>,
}

impl Pusher {
    /// Claims the lease of a notebook, and compares the newest version in the store with what this
    /// copy contains. The caller has the notebook's lock.
    ///
    /// # Errors
    /// When the store does not answer, or has another notebook of this name.
    pub fn begin(
        store: &RemoteStore,
        dir: &Path,
        name: &str,
        install: &InstallKey,
        claim: Claim,
    ) -> Result<Begun, Problem> {
        let place = Place { store: store.clone(), name: name.to_owned() };
        let paths = Paths::of(dir);
        let lease = match Lease::claim(&place, holder_of(&paths, install), claim.take_over)? {
            Claimed::Held(holder) => return Ok(Begun::Held(holder)),
            Claimed::Ours(lease) => lease,
        };
        let mut pusher = Self {
            record: Record::read(&paths, store.url(), name),
            place,
            source: Source::new(&paths),
            paths,
            install: install.clone(),
            lease,
            next: 1,
            named: HashSet::new(),
            last: None,
        };
        let compared = pusher.compare(claim.replace);
        if let Ok(None) = compared {
            return Ok(Begun::Ready(Box::new(pusher)));
        }
        // If this fails, the lease expires.
        let _ = pusher.lease.release();
        compared
            .map(|behind| Begun::Behind(behind.unwrap_or_else(|| Problem::internal("a comparison failed"))))
    }

    /// Compares this copy with the newest version in the store. If that version has something that
    /// this copy lacks, returns a refusal, unless `replace` is set.
    fn compare(&mut self, replace: bool) -> Result<Option<Problem>, Problem> {
        let Some(newest) = version::list(&self.place)?.pop() else { return Ok(None) };
        let (version, _) = version::read(&self.place, &newest, &self.install)?;
        let copy = self.source.read()?;
        let refused = |why: String, how: String| {
            let what = format!("push {} to the store {}", self.place.name, self.place.store.url());
            Problem::new(Kind::Conflict, what, why, how)
        };
        if Some(version.notebook_id.as_str()) != notebook_id(&self.paths)?.as_deref() {
            let how = "push this one under another name: `ratoon push NOTEBOOK --as NAME`, or rename it";
            return Err(refused("the store has another notebook of this name".into(), how.into()));
        }
        let content = version.content.digest();
        let is_ours = self.record.versions.contains(&newest.digest) || copy.content.digest() == content;
        if !is_ours && !replace {
            let why = format!(
                "the store has a version that this copy does not contain, pushed by {} on {}",
                version.user, version.host
            );
            let name = &self.place.name;
            let how = format!(
                "`ratoon pull {name} --as OTHER` gets that version; `ratoon push {name} --replace` replaces it \
                 and keeps it as an older version"
            );
            return Ok(Some(refused(why, how)));
        }
        self.named = named(&self.place, &version.content)?;
        self.record.content = Some(content);
        self.record.versions = vec![newest.digest];
        self.remember()?;
        Ok(None)
    }

    /// Pushes the notebook as it is on disk. Gives up between two blobs when `stop` is set.
    ///
    /// # Errors
    /// When the store does not answer or refuses, or the notebook cannot be read. What was uploaded
    /// stays, so the next push sends only the rest.
    pub fn push(&mut self, stop: &AtomicBool) -> Result<Pushed, Problem> {
        let copy = self.source.read()?;
        let content = copy.content.digest();
        if self.record.content == Some(content) {
            return Ok(self.lease.taken_by()?.map_or(Pushed::Unchanged, Pushed::TakenBy));
        }
        let (count, bytes) = self.upload_all(&copy, stop)?;
        if let Some(holder) = self.lease.taken_by()? {
            return Ok(Pushed::TakenBy(holder));
        }
        let (key, object) = self.sign(&copy)?;
        self.record.versions.truncate(1);
        self.record.versions.push(key.digest);
        self.remember()?;
        self.place.store.put(&key.key, &object)?;
        self.next += 1;
        if let Some(holder) = self.lease.taken_by()? {
            return Ok(Pushed::TakenBy(holder));
        }
        self.record.versions = vec![key.digest];
        self.record.content = Some(content);
        self.remember()?;
        self.named = copy.named();
        self.tidy(key);
        Ok(Pushed::Done(count, bytes))
    }

    /// Renews the lease. Must be called once per minute. Returns who has taken it over, if somebody
    /// has.
    ///
    /// # Errors
    /// When the store does not answer.
    pub fn renew(&self) -> Result<Option<Holder>, Problem> {
        self.lease.renew()
    }

    /// Interval between two calls of `renew`.
    pub const RENEWAL: Duration = super::lease::BEAT;

    /// Gives the lease up. If the store does not answer, the lease expires.
    pub fn release(self) {
        let _ = self.lease.release();
    }

    fn remember(&self) -> Result<(), Problem> {
        self.record.write(&self.paths).map_err(|error| {
            self.paths.refused(error.to_string(), "make room on the disk, and check its permissions")
        })
    }

    fn sign(&self, copy: &Copy) -> Result<(VersionKey, Vec<u8>), Problem> {
        let Holder { host, user, .. } = holder_of(&self.paths, &self.install);
        let version = Version {
            format: version::format(),
            name: self.place.name.clone(),
            notebook_id: notebook_id(&self.paths)?.unwrap_or_default(),
            schema: version::schema(),
            epoch: self.lease.epoch,
            number: self.next,
            pushed_at: now_ms(),
            host,
            user,
            content: copy.content.clone(),
        };
        Ok(version::sign(&self.place, &version, &self.install))
    }

    /// Removes surplus versions of this and earlier epochs. If removing fails, the next push tries
    /// again.
    fn tidy(&mut self, key: VersionKey) {
        let now = Instant::now();
        let kept_since = match self.last.take() {
            Some((before, since)) if now - since < MIN_VERSION_AGE => {
                let _ = self.place.store.delete(&before.key);
                since
            }
            _ => now,
        };
        self.last = Some((key, kept_since));
        let versions = version::list(&self.place).unwrap_or_default();
        let surplus = versions.len().saturating_sub(KEPT_VERSIONS);
        for old in versions.into_iter().take(surplus).filter(|old| old.epoch <= self.lease.epoch) {
            let _ = self.place.store.delete(&old.key);
        }
    }

    /// Uploads the blobs that the store lacks. Then waits until nobody collects blobs, and looks
    /// again whether they are there.
    fn upload_all(&self, copy: &Copy, stop: &AtomicBool) -> Result<(usize, u64), Problem> {
        let wanted: Vec<LocalBlob> = copy.all().filter(|blob| !self.named.contains(&blob.digest)).collect();
        let (mut count, mut bytes) = (0, 0);
        loop {
            let uploaded = self.upload(copy, &wanted, stop)?;
            (count, bytes) = (count + uploaded.0, bytes + uploaded.1);
            if !self.is_collecting()? {
                return Ok((count, bytes));
            }
            while self.is_collecting()? {
                check_stop(stop)?;
                std::thread::sleep(COLLECTING_PAUSE);
            }
        }
    }

    fn is_collecting(&self) -> Result<bool, Problem> {
        for key in self.place.store.list(COLLECTING)? {
            if self.place.store.age(&key)?.is_some_and(|age| age < COLLECTING_TIMEOUT) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Uploads those of these blobs that the store lacks, or that are so old that `collect` may
    /// remove them soon. Returns their number and their bytes.
    fn upload(&self, copy: &Copy, wanted: &[LocalBlob], stop: &AtomicBool) -> Result<(usize, u64), Problem> {
        let blobs = Blobs::at(&self.paths.blobs());
        let send = |blob: &LocalBlob| -> Result<u64, Problem> {
            let age = self.place.store.blob_age(&blob.digest)?;
            if age.is_some_and(|age| age < UNNAMED_BLOB_LIFETIME / 2) {
                return Ok(0);
            }
            let store = &self.place.store;
            if let Some(content) = copy.made.get(&blob.digest) {
                return store.put_blob(content).map(|_| content.len() as u64);
            }
            let file = blobs.file(&blob.digest, blob.bytes).map_err(|error| {
                self.paths.refused(error.to_string(), "run `ratoon check` on the notebook")
            })?;
            store.put_blob_file(&blob.digest, &file)?;
            Ok(file.len() as u64)
        };
        let (count, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
        for_each_in_parallel(wanted, PARALLEL, |blob| {
            check_stop(stop)?;
            let sent = send(blob)?;
            count.fetch_add(usize::from(sent > 0), Ordering::Relaxed);
            bytes.fetch_add(sent, Ordering::Relaxed);
            Ok(())
        })?;
        Ok((count.into_inner(), bytes.into_inner()))
    }
}

/// All blobs that a version in the store names.
///
/// # Errors
/// When the store does not answer, or a list of blobs is missing or altered.
pub(super) fn named(place: &Place, content: &Content) -> Result<HashSet<Digest>, Problem> {
    let mut named: HashSet<Digest> = content.pieces().map(|piece| piece.0).collect();
    named.extend(listed(place, content)?.into_iter().map(|(digest, _)| digest));
    Ok(named)
}

/// The blobs in the list of a version, with their lengths.
///
/// # Errors
/// Those of `named`.
pub(super) fn listed(place: &Place, content: &Content) -> Result<Vec<(Digest, usize)>, Problem> {
    let mut all = Vec::new();
    for piece in &content.blobs {
        let text = place.store.get_blob(&piece.0, length(piece))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        for line in text.lines() {
            let read = || {
                let (digest, bytes) = line.split_once(' ')?;
                Some((digest.parse().ok()?, bytes.parse().ok()?))
            };
            all.push(read().ok_or_else(|| {
                let what = format!("read {} in the store {}", place.name, place.store.url());
                let how = "pull another version (`ratoon pull NAME --versions` lists them)";
                Problem::new(Kind::Store, what, "its list of blobs is malformed", how)
            })?);
        }
    }
    Ok(all)
}

/// The length of a piece, as far as a piece may be long.
pub(super) fn length(piece: &Piece) -> usize {
    usize::try_from(piece.1).unwrap_or(usize::MAX).min(MAX_ENTRY_BYTES.max(MAX_ATTACHMENT_BYTES))
}

/// Describes this process's copy of a notebook. The id is the same for every process that opens
/// this directory on this machine, and different for a copy of the directory.
fn holder_of(paths: &Paths, install: &InstallKey) -> Holder {
    let text = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let host = text("/proc/sys/kernel/hostname");
    let full = paths.dir.canonicalize().unwrap_or_else(|_| paths.dir.clone());
    let inode = std::fs::metadata(&full).map_or((0, 0), |metadata| (metadata.dev(), metadata.ino()));
    let own = format!("{host}\n{}\n{}\n{}\n{inode:?}", text("/etc/machine-id"), install.id(), full.display());
    let user = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten();
    Holder {
        host: if host.is_empty() { "unknown".into() } else { host },
        user: user.map_or_else(|| "unknown".into(), |user| user.name),
        since: now_ms(),
        id: Digest::of(own.as_bytes()).to_string()[..16].to_owned(),
    }
}

fn check_stop(stop: &AtomicBool) -> Result<(), Problem> {
    if stop.load(Ordering::Relaxed) {
        let how = "start it again; the next push sends only the rest";
        return Err(Problem::new(Kind::Closed, "push a notebook", "the server is stopping", how));
    }
    Ok(())
}

/// A notebook that no server has open, locked by this process.
#[derive(Debug)]
pub struct Closed {
    _lock: Lock,
}

impl Closed {
    /// Locks a notebook, and brings its database to the newest version.
    ///
    /// # Errors
    /// When a server has the notebook open, or it cannot be read.
    pub fn lock(dir: &Path) -> Result<Self, Problem> {
        let paths = Paths::of(dir);
        if !dir.is_dir() {
            return Err(paths.refused("there is no such directory", "check the spelling of its name"));
        }
        is_notebook(&paths)?;
        let lock = Lock::take(dir)?;
        upgraded(&paths, open_tables(&paths)?)?;
        Ok(Self { _lock: lock })
    }
}
