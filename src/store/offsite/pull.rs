//! Pulls a notebook from a store into a new directory. A pull that was interrupted goes on with the
//! blobs that it has.

use super::copy::{COPIED, Source, notebook_id};
use super::pieces;
use super::push::{length, listed};
use super::record::Record;
use super::version::{self, Version, VersionKey};
use super::{PARALLEL, Place, time_in_words};
use crate::blobs::{Blobs, Digest};
use crate::problem::{Kind, Problem};
use crate::remote::RemoteStore;
use crate::store::attachments::Attachments;
use crate::store::key::InstallKey;
use crate::store::lock::Lock;
use crate::store::notebook_dir;
use crate::store::open::{make, open_tables, transaction};
use crate::store::paths::Paths;
use crate::store::tables::Fault;
use crate::store::trash;
use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

/// The result of a pull.
#[derive(Clone, Debug, PartialEq)]
pub enum Pulled {
    /// The directory has the newest version already.
    Unchanged,
    /// The directory was made, or replaced.
    Done {
        /// Number of blobs that were fetched.
        blobs: usize,
        /// Whether this install has pushed the version. If not, its checkpoints are not trusted.
        is_ours: bool,
        /// Whether an older copy was moved into the trash.
        is_update: bool,
    },
}

/// The versions of a notebook in a store, the newest first, each as a line.
///
/// # Errors
/// When the store does not answer, or has no such notebook.
pub fn versions(store: &RemoteStore, name: &str, install: &InstallKey) -> Result<Vec<String>, Problem> {
    let place = Place { store: store.clone(), name: name.to_owned() };
    let all = known(&place)?;
    let describe = |key: &VersionKey| match version::read(&place, key, install) {
        Ok((version, is_ours)) => {
            let who = if is_ours { "this install" } else { "another install" };
            let at = time_in_words(version.pushed_at);
            format!("{}  {at}  by {} on {} ({who})", key.id(), version.user, version.host)
        }
        Err(problem) => format!("{}  cannot be read: {}", key.id(), problem.why),
    };
    Ok(all.iter().rev().map(describe).collect())
}

/// All versions of a notebook, of which there is at least one.
fn known(place: &Place) -> Result<Vec<VersionKey>, Problem> {
    let all = version::list(place)?;
    if all.is_empty() {
        let why = format!("the store {} has no notebook of this name", place.store.url());
        let how = "check the spelling of its name and of the store's address";
        return Err(Problem::new(Kind::NotFound, format!("pull {}", place.name), why, how));
    }
    Ok(all)
}

/// Pulls a notebook into the directory `to`. Without `wanted`, pulls the newest version. If the
/// directory has this notebook, and nothing has changed in it since it was pushed or pulled, it is
/// replaced and the old copy is moved into the trash.
///
/// # Errors
/// When the store does not answer, something in it is missing or altered, or the directory exists
/// with other content.
pub fn pull(
    store: &RemoteStore,
    name: &str,
    wanted: Option<&str>,
    to: &Path,
    install: &InstallKey,
) -> Result<Pulled, Problem> {
    let place = Place { store: store.clone(), name: name.to_owned() };
    let all = known(&place)?;
    let key = match wanted {
        None => all.last(),
        Some(id) => all.iter().find(|key| key.id() == id),
    };
    let key = key.ok_or_else(|| {
        let how = format!("`ratoon pull {name} --versions` lists them");
        Problem::new(Kind::NotFound, format!("pull {name}"), "the store has no such version", how)
    })?;
    let (version, is_ours) = version::read(&place, key, install)?;
    let paths = Paths::of(to);
    let is_update = fs::symlink_metadata(to).is_ok();
    let lock = if is_update { Some(replaceable(&place, &paths, &version)?) } else { None };
    let content = version.content.digest();
    let record = Record::read(&paths, store.url(), name);
    if is_update && record.content == Some(content) {
        return Ok(Pulled::Unchanged);
    }
    let coming = notebook_dir::begin_pull(&paths, &format!("{}\n{name}", store.url()))?;
    let fetched = fetch(&place, &version, &coming.0, is_update.then_some(&paths));
    let blobs = fetched?;
    // Another name is another copy in the store, so it does not continue this one.
    if to.file_stem().is_some_and(|own| own == name) {
        let record = Record {
            url: store.url().into(),
            name: name.into(),
            versions: vec![key.digest],
            content: Some(content),
        };
        record.write(&coming.0).map_err(|error| paths.refused(error.to_string(), "check the disk"))?;
    }
    if is_update {
        drop(lock);
        trash::discard(to)?;
    }
    notebook_dir::finish_pull(coming, &paths)?;
    Ok(Pulled::Done { blobs, is_ours, is_update })
}

/// Checks that an existing directory holds this notebook without changes of its own. Returns its
/// lock.
fn replaceable(place: &Place, paths: &Paths, version: &Version) -> Result<Lock, Problem> {
    let name = &place.name;
    let refused = |why: String| {
        let how = format!("`ratoon pull {name} --as OTHER` makes a copy under another name");
        Problem::new(Kind::Conflict, format!("pull {name}"), why, how)
    };
    let shown = paths.dir.display();
    let lock = Lock::take(&paths.dir).map_err(|problem| refused(format!("{shown}: {}", problem.why)))?;
    if notebook_id(paths)?.as_deref() != Some(version.notebook_id.as_str()) {
        return Err(refused(format!("{shown} is another notebook")));
    }
    let record = Record::read(paths, place.store.url(), name);
    let content = Source::new(paths).read()?.content.digest();
    if record.content != Some(content) {
        let why = format!("{shown} has changes that are not in the store; push them first, or keep them");
        return Err(refused(why));
    }
    Ok(lock)
}

/// Fetches everything that a version names into a directory. Returns the number of fetched blobs.
fn fetch(place: &Place, version: &Version, coming: &Paths, old: Option<&Paths>) -> Result<usize, Problem> {
    let failed = |error: std::io::Error| coming.fault(Fault::from(error));
    if let Some(old) = old {
        notebook_dir::copy_blobs(&old.blobs(), &coming.blobs()).map_err(failed)?;
    }
    let mut blobs = Blobs::at(&coming.blobs());
    let mut seen = HashSet::new();
    let mut wanted = listed(place, &version.content)?;
    wanted.retain(|(digest, bytes)| seen.insert(*digest) && blobs.get(digest, *bytes).is_err());
    each(place, &wanted, |_, bytes| blobs.put(&bytes).map(drop).map_err(failed))?;
    blobs.settle().map_err(failed)?;

    let attachments = Attachments::in_notebook(&coming.dir);
    for (name, piece) in &version.content.attachments {
        if name.is_empty() || name.contains(['/', '\0']) || name.starts_with('.') {
            return Err(malformed(place, "it has an attachment with a forbidden name"));
        }
        attachments.put(name, &place.store.get_blob(&piece.0, length(piece))?)?;
    }
    write_tables(place, version, coming)?;
    Ok(wanted.len())
}

fn write_tables(place: &Place, version: &Version, coming: &Paths) -> Result<(), Problem> {
    // A pull that was interrupted may have left a database.
    for file in ["notebook.db", "notebook.db-wal", "notebook.db-shm"] {
        let _ = fs::remove_file(coming.dir.join(file));
    }
    let fault = |fault| coming.fault(fault);
    make(coming).map_err(fault)?;
    let mut tables = open_tables(coming)?;
    let mut failure = None;
    let written = transaction(&mut tables, |tables| {
        for table in COPIED {
            let pieces: Vec<(Digest, usize)> = version
                .content
                .tables
                .get(table.name)
                .into_iter()
                .flatten()
                .map(|piece| (piece.0, length(piece)))
                .collect();
            let put = |_, bytes: Vec<u8>| {
                let rows = pieces::rows(&bytes).ok_or_else(|| malformed(place, "its rows are malformed"))?;
                for row in rows {
                    if row.len() != table.width() {
                        return Err(malformed(place, "its rows are malformed"));
                    }
                    tables.put(table, &row).map_err(fault)?;
                }
                Ok(())
            };
            if let Err(problem) = each(place, &pieces, put) {
                failure = Some(problem);
                return Err(Fault::malformed("a piece could not be read"));
            }
        }
        Ok(())
    });
    if let Some(problem) = failure {
        return Err(problem);
    }
    written.map_err(fault)?;
    tables.settle_on_close(true);
    tables.empty_log().map_err(fault)
}

fn malformed(place: &Place, why: &str) -> Problem {
    let what = format!("pull {} from the store {}", place.name, place.store.url());
    Problem::new(Kind::Store, what, why, "pull another version (`ratoon pull NAME --versions` lists them)")
}

/// Fetches blobs, several at a time, and gives each to `take`, in any order.
fn each(
    place: &Place,
    wanted: &[(Digest, usize)],
    mut take: impl FnMut(Digest, Vec<u8>) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let next = AtomicUsize::new(0);
    let (give, taken) = mpsc::sync_channel(PARALLEL);
    std::thread::scope(|scope| {
        let next = &next;
        let mut started = 0;
        for _ in 0..PARALLEL.min(wanted.len()) {
            let give = give.clone();
            let work = move || {
                while let Some((digest, bytes)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = place.store.get_blob(digest, *bytes).map(|content| (*digest, content));
                    let is_over = found.is_err();
                    // Fails if the receiver has stopped.
                    if give.send(found).is_err() || is_over {
                        next.store(wanted.len(), Ordering::Relaxed);
                    }
                }
            };
            started += usize::from(std::thread::Builder::new().spawn_scoped(scope, work).is_ok());
        }
        drop(give);
        if started == 0 && !wanted.is_empty() {
            return Err(Problem::internal("no thread could be started"));
        }
        for found in taken {
            let (digest, bytes) = found?;
            take(digest, bytes)?;
        }
        Ok(())
    })
}
