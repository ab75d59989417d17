//! What is done to a notebook that no server has open: checked, rid of what nothing names, trusted.

use super::StoreError;
use super::checkpoint::{chunks, is_plausible, trust as sign_all};
use super::key::{InstallKey, Seal};
use super::load::MAX_ENTRY_BYTES;
use super::open::{Found, Paths, examine, transaction};
use super::tables::META;
use crate::blobs::{BlobError, Blobs, Digest};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// What a check found.
#[derive(Debug)]
pub struct Checked {
    /// What is damaged, as sentences.
    pub damage: Vec<String>,
    /// What was looked at, in one line.
    pub summary: String,
}

/// Verifies every digest and every reference of a notebook. Changes nothing.
///
/// # Errors
/// When it cannot be opened at all.
pub fn check(dir: &Path) -> Result<Checked, StoreError> {
    let paths = Paths::of(dir);
    let mut found = examine(&paths, None, &name_of(dir))?;
    let blobs = Blobs::at(&paths.blobs());
    let mut damage = std::mem::take(&mut found.loaded.damage);
    let mut seen: HashMap<Digest, Option<String>> = HashMap::new();
    for (state, manifest) in &found.loaded.manifests {
        let named = match chunks(&blobs, manifest, None) {
            Ok(named) => named,
            Err(error) => {
                damage.push(format!("the checkpoint of state {state}: {error}"));
                continue;
            }
        };
        let mut wrong = BTreeSet::new();
        for (chunk, length) in named {
            let verdict = seen.entry(chunk).or_insert_with(|| {
                let verified = is_plausible(&blobs, &chunk, length).and_then(|()| blobs.get(&chunk, length));
                verified.err().map(|error| error.to_string())
            });
            wrong.extend(verdict.clone());
        }
        damage.extend(wrong.iter().map(|why| format!("the checkpoint of state {state}: {why}")));
    }
    let files = files(&paths).map_err(|e| paths.refused(e.to_string(), "look who may read it"))?;
    for (digest, path, _) in &files {
        let Some(digest) = digest else {
            damage.push(format!("{} is no blob", path.display()));
            continue;
        };
        if !seen.contains_key(digest)
            && let Err(error) = blobs.get(digest, MAX_ENTRY_BYTES)
        {
            damage.push(error.to_string());
        }
    }
    damage.sort();
    damage.dedup();
    let parts = &found.loaded.parts;
    let summary = format!(
        "{} states, {} runs, {} drafts, {} checkpoints, {} blobs in {} bytes",
        parts.states.len(),
        parts.runs.len(),
        parts.drafts.len(),
        found.loaded.manifests.len(),
        files.len(),
        files.iter().map(|(_, _, bytes)| bytes).sum::<u64>()
    );
    Ok(Checked { damage, summary })
}

/// Removes the blobs that nothing names, and what is left in `tmp`. Answers how many files and bytes that were.
///
/// # Errors
/// When it cannot be opened, or is damaged, so that it is not known what is named.
pub fn gc(dir: &Path) -> Result<(usize, u64), StoreError> {
    let paths = Paths::of(dir);
    let found = sound(&paths, None)?;
    let blobs = Blobs::at(&paths.blobs());
    let mut named: HashSet<Digest> = found.loaded.blobs.clone();
    for (state, manifest) in &found.loaded.manifests {
        let chunks = chunks(&blobs, manifest, None).map_err(|error: BlobError| {
            let why = format!("it is not known what the checkpoint of state {state} needs: {error}");
            paths.refused(why, "put that blob back from a copy, or delete the state")
        })?;
        named.insert(*manifest);
        named.extend(chunks.into_iter().map(|(chunk, _)| chunk));
    }
    let failed = |e: io::Error| paths.refused(e.to_string(), "look who may write there");
    let (mut count, mut freed) = (0, 0);
    for (digest, path, bytes) in files(&paths).map_err(failed)? {
        if digest.is_some_and(|digest| !named.contains(&digest)) {
            fs::remove_file(path).map_err(failed)?;
            (count, freed) = (count + 1, freed + bytes);
        }
    }
    for entry in entries(&paths.temporary()).map_err(failed)? {
        let bytes = fs::symlink_metadata(&entry).map_or(0, |about| about.len());
        let removed = if entry.is_dir() { fs::remove_dir_all(&entry) } else { fs::remove_file(&entry) };
        removed.map_err(failed)?;
        (count, freed) = (count + 1, freed + bytes);
    }
    drop(found);
    Ok((count, freed))
}

/// A state of which the checkpoint is trusted from now on.
#[derive(Debug)]
pub struct Trusted {
    /// The state's id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// How many names its checkpoint holds.
    pub entry_count: u32,
}

/// Signs all checkpoints of a notebook as this install's own. Answers those that were not.
///
/// # Errors
/// When it cannot be opened, is damaged, or the disk refuses.
pub fn trust(dir: &Path, key: &InstallKey) -> Result<Vec<Trusted>, StoreError> {
    let paths = Paths::of(dir);
    let mut found = sound(&paths, Some(key))?;
    let seal = Seal::new(key, &found.loaded.notebook_id.unwrap_or_default());
    let mut taken = Vec::new();
    let commits = found.loaded.commits + 1;
    let signed = transaction(&mut found.tables, |tables| {
        taken = sign_all(tables, &seal)?;
        tables.put(&META, &["commits".into(), commits.into()])
    });
    signed.map_err(|fault| paths.refused(fault.why, fault.how))?;
    found.tables.settle_on_close(true);
    let of = |id| found.loaded.parts.states.iter().find(|s| s.id == id);
    let told = taken.into_iter().filter_map(of).map(|state| Trusted {
        id: state.id.as_str().to_owned(),
        name: state.name.clone(),
        entry_count: state.checkpoint.as_ref().map_or(0, |c| c.entry_count),
    });
    Ok(told.collect())
}

/// A notebook in which nothing is damaged.
fn sound(paths: &Paths, key: Option<&InstallKey>) -> Result<Found, StoreError> {
    let found = examine(paths, key, &name_of(&paths.dir))?;
    match found.loaded.damage.first() {
        None => Ok(found),
        Some(first) => Err(paths
            .refused(format!("it is damaged: {first}"), "open it once with `ratoon`, which sets that aside")),
    }
}

fn name_of(dir: &Path) -> String {
    dir.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Every file among the blobs: what its name says, where it is, how large it is.
fn files(paths: &Paths) -> io::Result<Vec<(Option<Digest>, PathBuf, u64)>> {
    let mut found = Vec::new();
    for folder in entries(&paths.blobs())? {
        let inside = if folder.is_dir() { entries(&folder)? } else { vec![folder] };
        for path in inside {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let digest = name.parse().ok().filter(|_| path.parent().is_some_and(|p| p.ends_with(&name[..2])));
            let bytes = fs::symlink_metadata(&path)?.len();
            found.push((digest, path, bytes));
        }
    }
    Ok(found)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
