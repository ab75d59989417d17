//! Content-addressed files for a notebook's large data. The same bytes are stored once.
//!
//! A blob's name is the BLAKE3 digest of its unpacked bytes. It is written to a temporary file,
//! fsynced and renamed, and its folder is fsynced, so that an existing name always means whole
//! content. A saving process writes blobs, the store counts and checks them, a restoring process
//! reads them. Nothing here knows notebooks. See docs/format.md.

mod digest;
mod file;
pub(crate) mod nofollow;
mod pack;
mod verified;

pub(crate) use digest::Digest;
pub(crate) use file::{from_file, to_file};

use nix::fcntl::{PosixFadviseAdvice, posix_fadvise};
use std::collections::BTreeSet;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use verified::{Stamp, Verified};

/// Size of the chunks that large data is cut into, in bytes. Changing one byte of the data makes
/// one new chunk. Larger chunks pack and hash no faster (measured).
pub(crate) const CHUNK_BYTES: usize = 4 << 20;

/// Number of files that are fsynced together. The file system then writes its journal once or twice
/// for all of them instead of once for each (measured: a gigabyte in 0.3 to 0.6 s instead of 1.5 to
/// 2 s).
const MAX_UNDER_WAY: usize = 32;

/// Size of the pieces in which a file is compared with bytes in memory.
const COMPARED_BYTES: usize = 256 * 1024;

/// The blobs of one notebook. Each is a file in a subfolder that is named by the first two digits
/// of its digest.
#[derive(Debug)]
pub(crate) struct Blobs {
    folder: PathBuf,
    /// The folder of temporary files.
    temporary: PathBuf,
    /// Folders that have new entries and are not fsynced yet.
    unsettled: BTreeSet<PathBuf>,
    under_way: Vec<UnderWay>,
    next_name: u64,
    verified: Verified,
}

#[derive(Debug)]
struct UnderWay {
    file: File,
    path: PathBuf,
    digest: Digest,
    bytes: u64,
}

/// The result of putting a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Put {
    /// The blob's digest, which is its name.
    pub(crate) digest: Digest,
    /// The size of its file, in bytes.
    pub(crate) stored_bytes: u64,
    /// Whether `put` wrote a file: the blob did not exist or was damaged.
    pub(crate) is_new: bool,
}

/// Why a blob cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BlobError {
    /// The blob has no file.
    #[error("the blob {0} is missing")]
    Missing(Digest),
    /// Its file is damaged.
    #[error("the blob {0} is damaged: {1}")]
    Damaged(Digest, String),
    /// Its file cannot be read.
    #[error("the blob {0} cannot be read: {1}")]
    Io(Digest, io::Error),
}

impl Blobs {
    /// The blobs in a folder. The first blob creates the folder. Temporary files go to the folder
    /// `tmp` beside it.
    pub(crate) fn at(folder: &Path) -> Self {
        let temporary = folder.with_file_name("tmp");
        Self {
            folder: folder.to_owned(),
            verified: Verified::at(&temporary),
            temporary,
            unsettled: BTreeSet::new(),
            under_way: Vec::new(),
            next_name: 0,
        }
    }

    /// Stores bytes. They are durable under their name once `settle` has returned. Replaces an
    /// existing file whose content is damaged.
    ///
    /// # Errors
    /// When a file cannot be read or written. Blobs put since the last `settle` may then be lost.
    pub(crate) fn put(&mut self, bytes: &[u8]) -> io::Result<Put> {
        let digest = Digest::of(bytes);
        if let Some(stored_bytes) = self.already(&digest, bytes)? {
            return Ok(Put { digest, stored_bytes, is_new: false });
        }
        let (kind, payload) = pack::pack(bytes);
        let (mut file, path) = self.new_file()?;
        let written = file.write_all(&[kind]).and_then(|()| file.write_all(&payload));
        if let Err(error) = written {
            // A leftover file does no harm; the next start of the server sweeps it.
            let _ = std::fs::remove_file(&path);
            return Err(error);
        }
        // Starts writing back now, so that the later fsync has little to do.
        let _ = posix_fadvise(&file, 0, 0, PosixFadviseAdvice::POSIX_FADV_DONTNEED);
        let stored_bytes = payload.len() as u64 + 1;
        self.under_way.push(UnderWay { file, path, digest, bytes: stored_bytes });
        if self.under_way.len() >= MAX_UNDER_WAY {
            self.name_all()?;
        }
        Ok(Put { digest, stored_bytes, is_new: true })
    }

    /// Makes all put blobs durable. Must be called before any record names them.
    ///
    /// # Errors
    /// When a file cannot be fsynced or renamed. All blobs put since the last `settle` may then be
    /// lost.
    pub(crate) fn settle(&mut self) -> io::Result<()> {
        self.name_all()?;
        for folder in std::mem::take(&mut self.unsettled) {
            File::open(folder)?.sync_all()?;
        }
        self.verified.write();
        Ok(())
    }

    /// The size of a blob's file, in bytes.
    ///
    /// # Errors
    /// `NotFound` when there is no regular file; other errors when its metadata cannot be read.
    pub(crate) fn stored_bytes(&self, digest: &Digest) -> io::Result<u64> {
        self.metadata(digest).map(|metadata| metadata.len())
    }

    fn metadata(&self, digest: &Digest) -> io::Result<Metadata> {
        let metadata = std::fs::symlink_metadata(self.path(digest))?;
        if metadata.is_file() { Ok(metadata) } else { Err(ErrorKind::NotFound.into()) }
    }

    /// The verified bytes of a blob, unpacked to at most `max_bytes`.
    ///
    /// # Errors
    /// When the blob is missing, is damaged, is longer than `max_bytes`, or cannot be read.
    pub(crate) fn get(&self, digest: &Digest, max_bytes: usize) -> Result<Vec<u8>, BlobError> {
        self.read(digest, max_bytes).inspect_err(|error| self.note(error))
    }

    fn read(&self, digest: &Digest, max_bytes: usize) -> Result<Vec<u8>, BlobError> {
        let damaged = |what: String| BlobError::Damaged(*digest, what);
        let (kind, mut file, length) = self.open(digest)?;
        let bytes = if kind == pack::RAW {
            if length > max_bytes as u64 {
                return Err(damaged(format!("it holds {length} bytes, more than {max_bytes}")));
            }
            let mut bytes = Vec::new();
            file.take(max_bytes as u64 + 1).read_to_end(&mut bytes).map_err(|e| BlobError::Io(*digest, e))?;
            bytes
        } else {
            let packed = self.packed(digest, &mut file, length, max_bytes)?;
            pack::unpack(kind, &packed, max_bytes).map_err(damaged)?
        };
        self.check(digest, &bytes)?;
        Ok(bytes)
    }

    /// Fills memory with the verified bytes of a blob. After an error the memory's content is
    /// undefined.
    ///
    /// # Errors
    /// Those of `get`, and when the blob is not as long as the memory.
    pub(crate) fn get_into(&self, digest: &Digest, into: &mut [u8]) -> Result<(), BlobError> {
        self.read_into(digest, into).inspect_err(|error| self.note(error))
    }

    fn read_into(&self, digest: &Digest, into: &mut [u8]) -> Result<(), BlobError> {
        let damaged = |what: String| BlobError::Damaged(*digest, what);
        let (kind, mut file, length) = self.open(digest)?;
        if kind == pack::RAW {
            if length != into.len() as u64 {
                return Err(damaged(format!("it holds {length} bytes instead of {}", into.len())));
            }
            file.read_exact(into).map_err(|e| match e.kind() {
                ErrorKind::UnexpectedEof => damaged("it is cut off".into()),
                _ => BlobError::Io(*digest, e),
            })?;
        } else {
            let packed = self.packed(digest, &mut file, length, into.len())?;
            pack::unpack_into(kind, &packed, into).map_err(damaged)?;
        }
        self.check(digest, into)
    }

    /// Forgets which blobs were verified, so that putting one again compares it again.
    pub(crate) fn forget_verified(&self) {
        self.verified.forget_all();
    }

    /// After damage, forgets which blobs were verified, because other blobs may be damaged too.
    fn note(&self, error: &BlobError) {
        if matches!(error, BlobError::Damaged(..)) {
            self.verified.forget_all();
        }
    }

    /// Opens a blob's file. Returns its kind, the file positioned after the kind, and the number of
    /// bytes that follow.
    fn open(&self, digest: &Digest) -> Result<(u8, File, u64), BlobError> {
        let failed = |e: io::Error| match e.kind() {
            ErrorKind::NotFound => BlobError::Missing(*digest),
            ErrorKind::InvalidInput => BlobError::Damaged(*digest, e.to_string()),
            _ => BlobError::Io(*digest, e),
        };
        let mut file = nofollow::open_file(&self.path(digest)).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.len() == 0 {
            return Err(BlobError::Damaged(*digest, "it is empty".into()));
        }
        let mut kind = [0];
        file.read_exact(&mut kind).map_err(failed)?;
        Ok((kind[0], file, metadata.len() - 1))
    }

    /// The rest of a packed blob's file. Refuses more than `max_bytes`, because content is packed
    /// only when that makes it smaller.
    fn packed(
        &self,
        digest: &Digest,
        file: &mut File,
        length: u64,
        max_bytes: usize,
    ) -> Result<Vec<u8>, BlobError> {
        if length > max_bytes as u64 {
            return Err(BlobError::Damaged(*digest, format!("its {length} packed bytes are too many")));
        }
        let mut packed = Vec::new();
        file.take(length).read_to_end(&mut packed).map_err(|e| BlobError::Io(*digest, e))?;
        Ok(packed)
    }

    fn check(&self, digest: &Digest, bytes: &[u8]) -> Result<(), BlobError> {
        if Digest::of(bytes) == *digest {
            Ok(())
        } else {
            Err(BlobError::Damaged(*digest, "its content does not match its digest".into()))
        }
    }

    /// The size of a blob's file, if it exists and holds these bytes.
    fn already(&mut self, digest: &Digest, bytes: &[u8]) -> io::Result<Option<u64>> {
        if let Some(one) = self.under_way.iter().find(|one| one.digest == *digest) {
            return Ok(Some(one.bytes));
        }
        let metadata = match self.metadata(digest) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let (stored, stamp) = (metadata.len(), Stamp::of(&metadata));
        // A file is at most one byte longer than the content: content is packed only when that
        // makes it shorter.
        if stored == 0 || stored > bytes.len() as u64 + 1 {
            return Ok(None);
        }
        if !self.verified.has(digest, stamp) {
            if !self.holds(digest, bytes) {
                return Ok(None);
            }
            self.verified.add(digest, stamp);
        }
        Ok(Some(stored))
    }

    /// Whether a blob's file can be read and holds these bytes.
    fn holds(&self, digest: &Digest, bytes: &[u8]) -> bool {
        let Ok((kind, mut file, length)) = self.open(digest) else { return false };
        if kind != pack::RAW {
            let packed = self.packed(digest, &mut file, length, bytes.len()).ok();
            return packed.and_then(|packed| pack::unpack(kind, &packed, bytes.len()).ok()).as_deref()
                == Some(bytes);
        }
        let mut buffer = vec![0; COMPARED_BYTES.min(bytes.len())];
        length == bytes.len() as u64
            && bytes.chunks(COMPARED_BYTES).all(|piece| {
                let read = &mut buffer[..piece.len()];
                file.read_exact(read).is_ok() && read == piece
            })
    }

    /// Fsyncs all written files, then renames each to its digest.
    fn name_all(&mut self) -> io::Result<()> {
        let under_way = std::mem::take(&mut self.under_way);
        let synced = under_way.iter().try_for_each(|one| one.file.sync_all());
        let named = synced.and_then(|()| under_way.iter().try_for_each(|one| self.name(one)));
        if named.is_err() {
            // Fails for files that were renamed already; those stay.
            under_way.iter().for_each(|one| drop(std::fs::remove_file(&one.path)));
        }
        named
    }

    fn name(&mut self, one: &UnderWay) -> io::Result<()> {
        let path = self.path(&one.digest);
        let folder = path.parent().unwrap_or(&self.folder).to_owned();
        match std::fs::rename(&one.path, &path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                std::fs::create_dir_all(&folder)?;
                self.unsettled.insert(self.folder.clone());
                std::fs::rename(&one.path, &path)
            }
            other => other,
        }?;
        self.unsettled.insert(folder);
        self.verified.add(&one.digest, Stamp::of(&one.file.metadata()?));
        Ok(())
    }

    fn new_file(&mut self) -> io::Result<(File, PathBuf)> {
        loop {
            let path = self.temporary.join(format!("{}-{}", std::process::id(), self.next_name));
            self.next_name += 1;
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(file) => return Ok((file, path)),
                // An earlier process with this pid left the file.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) if error.kind() == ErrorKind::NotFound && !self.temporary.is_dir() => {
                    std::fs::create_dir_all(&self.temporary)?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        let name = digest.to_string();
        self.folder.join(&name[..2]).join(name)
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        for left in &self.under_way {
            let _ = std::fs::remove_file(&left.path);
        }
    }
}

#[cfg(test)]
mod tests;
