//! Maintenance of a notebook that no server has open: checking, garbage collection and trust.

use super::attachments::Attachments;
use super::checkpoint_rows::{TrustPreview, chunks, holds, is_plausible, trust as sign_all, unsigned};
use super::imported_file::read_imported_file;
use super::key::{InstallKey, Seal};
use super::open::{Examined, examine, transaction};
use super::paths::Paths;
use super::row_formats::MAX_ENTRY_BYTES;
use super::tables::META;
use crate::blobs::nofollow::FileKind;
use crate::blobs::{BlobError, Blobs, Digest};
use crate::notebook::StateId;
use crate::problem::Problem;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Result of a check.
#[derive(Debug)]
pub struct Checked {
    /// The damage, described in sentences for the user.
    pub damage: Vec<String>,
    /// The number of records and blobs that were checked, in one line.
    pub summary: String,
}

/// Verifies every digest and every reference of a notebook. Changes nothing, except that it
/// upgrades a database of an older version.
///
/// # Errors
/// When the notebook cannot be opened.
pub fn check(dir: &Path) -> Result<Checked, Problem> {
    let paths = Paths::of(dir);
    let mut examined = examine(&paths, None, &name_of(dir))?;
    let blobs = Blobs::at(&paths.blobs());
    let mut damage = std::mem::take(&mut examined.loaded.damage);
    let mut seen: HashMap<Digest, Option<String>> = HashMap::new();
    for (state, manifest) in &examined.loaded.manifests {
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
    let files = files(&paths).map_err(|e| paths.refused(e.to_string(), "check its permissions"))?;
    for (digest, path, _) in &files {
        let Some(digest) = digest else {
            damage.push(format!("{} is not a blob", path.display()));
            continue;
        };
        if !seen.contains_key(digest)
            && let Err(error) = blobs.get(digest, MAX_ENTRY_BYTES)
        {
            damage.push(error.to_string());
        }
    }
    if let Some(file) = &examined.loaded.parts.imported_file
        && read_imported_file(&paths.blobs(), file).is_none()
    {
        let lost = "the file that the notebook was imported from is lost: exports lack its metadata";
        damage.push(lost.into());
    }
    damage.sort();
    damage.dedup();
    let parts = &examined.loaded.parts;
    let summary = format!(
        "{} states, {} runs, {} drafts, {} checkpoints, {} blobs in {} bytes",
        parts.states.len(),
        parts.runs.len(),
        parts.drafts.len(),
        examined.loaded.manifests.len(),
        files.len(),
        files.iter().map(|(_, _, bytes)| bytes).sum::<u64>()
    );
    Ok(Checked { damage, summary })
}

/// The texts of a notebook that may refer to attachments, also those of deleted states.
fn texts(examined: &Examined) -> impl Iterator<Item = &str> {
    let parts = &examined.loaded.parts;
    let prose = parts.states.iter().flat_map(|state| &state.prose);
    prose.chain(parts.drafts.iter().map(|draft| &draft.source)).map(String::as_str)
}

/// Removes unreferenced blobs, attachments that no text shows, and temporary files in `tmp`.
/// Returns the number of removed files and their bytes.
///
/// # Errors
/// When the notebook cannot be opened, or when damage hides references to blobs.
pub fn gc(dir: &Path) -> Result<(usize, u64), Problem> {
    let paths = Paths::of(dir);
    let examined = sound(&paths, None)?;
    let blobs = Blobs::at(&paths.blobs());
    let mut named: HashSet<Digest> = examined.loaded.blobs.clone();
    for (state, manifest) in &examined.loaded.manifests {
        let chunks = chunks(&blobs, manifest, None).map_err(|error: BlobError| {
            let why = format!("the list of blobs of the checkpoint of state {state} cannot be read: {error}");
            paths.refused(why, "restore that blob from a copy, or delete the state")
        })?;
        named.insert(*manifest);
        named.extend(chunks.into_iter().map(|(chunk, _)| chunk));
    }
    let failed = |e: io::Error| paths.refused(e.to_string(), "check its permissions");
    blobs.forget_verified();
    let (mut count, mut freed) = (0, 0);
    for (digest, path, bytes) in files(&paths).map_err(failed)? {
        if digest.is_some_and(|digest| !named.contains(&digest)) {
            fs::remove_file(path).map_err(failed)?;
            (count, freed) = (count + 1, freed + bytes);
        }
    }
    for (path, bytes) in Attachments::in_notebook(dir).files() {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !texts(&examined).any(|text| text.contains(&name)) {
            fs::remove_file(path).map_err(failed)?;
            (count, freed) = (count + 1, freed + bytes);
        }
    }
    for (entry, kind) in entries(&paths.temporary()).map_err(failed)? {
        let bytes = fs::symlink_metadata(&entry).map_or(0, |metadata| metadata.len());
        // If the entry is a symbolic link, only the link is removed.
        let removed =
            if kind == FileKind::Folder { fs::remove_dir_all(&entry) } else { fs::remove_file(&entry) };
        removed.map_err(failed)?;
        (count, freed) = (count + 1, freed + bytes);
    }
    drop(examined);
    Ok((count, freed))
}

/// A state whose checkpoint this install has not signed.
#[derive(Debug)]
pub struct Untrusted {
    /// The state's id.
    pub id: String,
    /// The state's name.
    pub name: String,
    /// A summary of the checkpoint, or the reason why its manifest cannot be read.
    pub holds: Result<TrustPreview, String>,
    /// Whether the checkpoint has a signature that another install made, or that was made for
    /// another state or notebook.
    pub is_signed: bool,
}

/// A locked notebook, and the checkpoints that signing would make trusted.
#[derive(Debug)]
pub struct Trusting {
    examined: Examined,
    paths: Paths,
    seal: Seal,
    /// The checkpoints that this install has not signed.
    pub untrusted: Vec<Untrusted>,
}

impl Trusting {
    /// Locks a notebook and lists the checkpoints that `sign` would sign. Signs nothing.
    ///
    /// # Errors
    /// When the notebook cannot be opened, or is damaged.
    pub fn inspect(dir: &Path, key: &InstallKey) -> Result<Self, Problem> {
        let paths = Paths::of(dir);
        let mut examined = sound(&paths, Some(key))?;
        let seal = Seal::new(key, examined.loaded.notebook_id.as_deref().unwrap_or_default());
        let blobs = Blobs::at(&paths.blobs());
        let rows =
            unsigned(&mut examined.tables, &seal).map_err(|fault| paths.refused(fault.why, fault.how))?;
        let of = |id: &StateId| examined.loaded.parts.states.iter().find(|s| s.id == *id);
        let describe = |(id, manifest, is_signed): (StateId, String, bool)| Untrusted {
            name: of(&id).map_or_else(|| id.as_str().to_owned(), |state| state.name.clone()),
            id: id.as_str().to_owned(),
            holds: holds(&blobs, &manifest),
            is_signed,
        };
        let untrusted = rows.into_iter().map(describe).collect();
        Ok(Self { examined, paths, seal, untrusted })
    }

    /// Signs all checkpoints with this install's key. Returns the number of checkpoints that had no
    /// signature of this install.
    ///
    /// # Errors
    /// When the disk cannot be written.
    pub fn sign(mut self) -> Result<usize, Problem> {
        let commits = self.examined.loaded.commits + 1;
        let mut taken = Vec::new();
        let signed = transaction(&mut self.examined.tables, |tables| {
            taken = sign_all(tables, &self.seal)?;
            tables.put(&META, &["commits".into(), commits.into()])
        });
        signed.map_err(|fault| self.paths.refused(fault.why, fault.how))?;
        self.examined.tables.settle_on_close(true);
        Ok(taken.len())
    }
}

/// Opens a notebook. Returns an error if the notebook is damaged.
fn sound(paths: &Paths, key: Option<&InstallKey>) -> Result<Examined, Problem> {
    let examined = examine(paths, key, &name_of(&paths.dir))?;
    match examined.loaded.damage.first() {
        None => Ok(examined),
        Some(first) => Err(paths.refused(
            format!("it is damaged: {first}"),
            "open it once with `ratoon`, which sets damaged records aside",
        )),
    }
}

fn name_of(dir: &Path) -> String {
    dir.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Lists all files in the folder of blobs, with path and size in bytes. The digest is `None` if the
/// file is not a blob.
fn files(paths: &Paths) -> io::Result<Vec<(Option<Digest>, PathBuf, u64)>> {
    let mut files = Vec::new();
    for (folder, kind) in entries(&paths.blobs())? {
        let inside = if kind == FileKind::Folder { entries(&folder)? } else { vec![(folder, kind)] };
        for (path, kind) in inside {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            let is_in_place = || path.parent().is_some_and(|p| p.ends_with(&name[..2]));
            let digest = name.parse().ok().filter(|_| kind == FileKind::File && is_in_place());
            let bytes = fs::symlink_metadata(&path)?.len();
            files.push((digest, path, bytes));
        }
    }
    Ok(files)
}

/// Lists the entries of a folder. Follows no symbolic links.
fn entries(folder: &Path) -> io::Result<Vec<(PathBuf, FileKind)>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries
            .map(|entry| entry.and_then(|entry| Ok((entry.path(), FileKind::of(entry.file_type()?)))))
            .collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
