//! Reads the copy of a notebook from its directory: rows in pieces, and the list of its blobs.

use super::pieces::{Piece, cut, line};
use super::version::Content;
use crate::blobs::{BlobError, Blobs, Digest};
use crate::problem::Problem;
use crate::store::attachments::Attachments;
use crate::store::checkpoint_rows::{MAX_MANIFEST_BYTES, chunks};
use crate::store::imported_file;
use crate::store::paths::Paths;
use crate::store::row_formats::LogEntry;
use crate::store::row_formats::MAX_ENTRY_BYTES;
use crate::store::tables::{
    CHECKPOINTS, DRAFTS, META, NAMES, OUTPUTS, RUNS, STATES, SWEEP_ROWS, SWEEPS, SqlValue, Table, Tables,
};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The tables of a copy. Share links, browser sessions and tasks belong to one server.
pub(super) const COPIED: &[&Table] =
    &[&META, &STATES, &NAMES, &RUNS, &OUTPUTS, &DRAFTS, &SWEEPS, &SWEEP_ROWS, &CHECKPOINTS];
/// The rows of `meta` in a copy.
const COPIED_META: [&str; 3] = ["notebook_id", "python", imported_file::KEY];

/// A blob of the notebook.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalBlob {
    pub(super) digest: Digest,
    /// Its length in bytes is at most this.
    pub(super) bytes: usize,
}

/// The copy of a notebook that is ready to be uploaded.
#[derive(Debug, Default)]
pub(super) struct Copy {
    pub(super) content: Content,
    blobs: Vec<LocalBlob>,
    /// The content of pieces and attachments.
    pub(super) made: HashMap<Digest, Vec<u8>>,
}

impl Copy {
    /// All blobs that must be in the store.
    pub(super) fn all(&self) -> impl Iterator<Item = LocalBlob> {
        let made = self.content.pieces().map(|piece| LocalBlob {
            digest: piece.0,
            bytes: usize::try_from(piece.1).unwrap_or(usize::MAX),
        });
        self.blobs.iter().copied().chain(made)
    }

    /// The digests of all blobs.
    pub(super) fn named(&self) -> HashSet<Digest> {
        self.all().map(|blob| blob.digest).collect()
    }

    /// Adds content that is not a file of the notebook yet.
    fn make(&mut self, bytes: Vec<u8>) -> Piece {
        let piece = Piece(Digest::of(&bytes), bytes.len() as u64);
        self.made.insert(piece.0, bytes);
        piece
    }
}

/// The blobs that the rows of a notebook name.
#[derive(Default)]
struct Named {
    /// Each with the most bytes that it may have.
    blobs: BTreeMap<Digest, usize>,
    /// The manifests of checkpoints.
    manifests: Vec<Digest>,
}

/// Reads a notebook again and again.
#[derive(Debug)]
pub(super) struct Source {
    paths: Paths,
    /// The blobs of each checkpoint, by its manifest.
    checkpoints: HashMap<Digest, Vec<(Digest, usize)>>,
}

impl Source {
    pub(super) fn new(paths: &Paths) -> Self {
        Self { paths: paths.clone(), checkpoints: HashMap::new() }
    }

    /// Reads the notebook from disk, in one transaction.
    ///
    /// # Errors
    /// When the notebook cannot be read, or has damaged records.
    pub(super) fn read(&mut self) -> Result<Copy, Problem> {
        let (mut copy, mut named) = (Copy::default(), Named::default());
        self.read_tables(&mut copy, &mut named)?;
        let attachments = Attachments::in_notebook(&self.paths.dir);
        for (path, _) in attachments.files() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let read = attachments.get(&name).map_err(|error| {
                self.paths.refused(format!("{}: {error}", path.display()), "check its permissions")
            })?;
            if let Some(bytes) = read {
                let piece = copy.make(bytes);
                copy.content.attachments.insert(name, piece);
            }
        }
        let local = Blobs::at(&self.paths.blobs());
        let mut blobs = named.blobs;
        for manifest in named.manifests {
            blobs.extend(self.checkpoint(&local, manifest)?.iter().copied());
        }
        // A blob that is missing here is also missing in the copy.
        blobs.retain(|digest, _| local.stored_bytes(digest).is_ok());
        for piece in cut(blobs.iter().map(|(digest, bytes)| format!("{digest} {bytes}"))) {
            let piece = copy.make(piece);
            copy.content.blobs.push(piece);
        }
        copy.blobs = blobs.into_iter().map(|(digest, bytes)| LocalBlob { digest, bytes }).collect();
        Ok(copy)
    }

    fn read_tables(&self, copy: &mut Copy, named: &mut Named) -> Result<(), Problem> {
        let fault = |fault| self.paths.fault(fault);
        // Not checked again: the server that has the notebook open writes to its log meanwhile.
        let mut tables = Tables::open(&self.paths.database()).map_err(fault)?;
        tables.begin_reading().map_err(fault)?;
        for table in COPIED {
            let mut rows: Vec<Vec<SqlValue>> = Vec::new();
            for row in tables.rows(table).map_err(fault)? {
                if !row.is_whole {
                    let how = "open the notebook once with `ratoon`, which sets damaged records aside";
                    return Err(self.paths.refused("its database has damaged records", how));
                }
                rows.push(row.cells);
            }
            if table.name == META.name {
                rows.retain(|row| row[0].text().is_some_and(|key| COPIED_META.contains(&key)));
            }
            rows.sort();
            rows.iter().for_each(|row| named.add(table, row));
            let pieces = cut(rows.iter().map(|row| line(row)));
            let pieces = pieces.into_iter().map(|piece| copy.make(piece)).collect();
            copy.content.tables.insert(table.name.to_owned(), pieces);
        }
        tables.roll_back();
        Ok(())
    }

    /// The blobs of a checkpoint: its manifest and its chunks. None if it cannot be read here.
    fn checkpoint(&mut self, local: &Blobs, manifest: Digest) -> Result<&[(Digest, usize)], Problem> {
        if !self.checkpoints.contains_key(&manifest) {
            let mut all = match chunks(local, &manifest, None) {
                Ok(chunks) => chunks,
                Err(BlobError::Io(_, error)) => {
                    return Err(self.paths.refused(error.to_string(), "check its permissions"));
                }
                Err(BlobError::Missing(_) | BlobError::Damaged(..)) => return Ok(&[]),
            };
            all.push((manifest, MAX_MANIFEST_BYTES));
            self.checkpoints.insert(manifest, all);
        }
        Ok(self.checkpoints.get(&manifest).map_or(&[], Vec::as_slice))
    }
}

impl Named {
    /// Notes the blobs that a row names.
    fn add(&mut self, table: &Table, row: &[SqlValue]) {
        let text = |at: usize| row[at].text().unwrap_or_default();
        if table.name == CHECKPOINTS.name {
            self.manifests.extend(text(2).parse::<Digest>().ok());
        } else if table.name == OUTPUTS.name && text(2).starts_with("{\"blob\"") {
            if let Ok(LogEntry::Blob { digest, bytes }) = serde_json::from_str(text(2)) {
                self.blobs.insert(digest, bytes.min(MAX_ENTRY_BYTES));
            }
        } else if table.name == META.name
            && text(0) == imported_file::KEY
            && let Some((file, digest)) = imported_file::read(&row[1])
        {
            self.blobs.insert(digest, file.bytes);
        }
    }
}

/// The id of the notebook in a directory.
pub(super) fn notebook_id(paths: &Paths) -> Result<Option<String>, Problem> {
    let tables = Tables::open(&paths.database()).map_err(|fault| paths.fault(fault))?;
    let row = tables.get(&META, &["notebook_id".into()]).map_err(|fault| paths.fault(fault))?;
    Ok(row.and_then(|row| row[1].text().map(str::to_owned)))
}
