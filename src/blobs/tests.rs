use super::*;

struct BlobDir(PathBuf);

impl BlobDir {
    fn new() -> Self {
        let path = std::env::temp_dir().join(format!("ratoon-blobs-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }

    fn blobs(&self) -> Blobs {
        Blobs::at(&self.0.join("blobs"))
    }

    fn litter(&self) -> usize {
        let entries = std::fs::read_dir(self.0.join("tmp")).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name() != "verified").count()
    }
}

impl Drop for BlobDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Pseudorandom bytes, which cannot be packed smaller.
fn noise(length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new().update(&length.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

#[test]
fn what_was_put_can_be_had_again() {
    let dir = BlobDir::new();
    let mut blobs = dir.blobs();
    for bytes in
        [vec![], vec![7], b"text ".repeat(100), noise(100_000), vec![0; CHUNK_BYTES], noise(CHUNK_BYTES)]
    {
        let put = blobs.put(&bytes).unwrap();
        assert!(put.is_new);
        blobs.settle().unwrap();
        assert_eq!(blobs.stored_bytes(&put.digest).unwrap(), put.stored_bytes);
        assert_eq!(blobs.get(&put.digest, bytes.len()).unwrap(), bytes);
        let mut into = vec![1; bytes.len()];
        blobs.get_into(&put.digest, &mut into).unwrap();
        assert_eq!(into, bytes);
    }
    assert_eq!(dir.litter(), 0);
}

#[test]
fn what_is_made_durable_together_is_all_there() {
    let dir = BlobDir::new();
    let mut blobs = dir.blobs();
    let puts: Vec<Put> =
        (0..2 * MAX_UNDER_WAY + 3).map(|length| blobs.put(&noise(length)).unwrap()).collect();
    assert_eq!(dir.litter(), 3);
    blobs.settle().unwrap();
    assert_eq!(dir.litter(), 0);
    for (length, put) in puts.iter().enumerate() {
        assert_eq!(blobs.get(&put.digest, length).unwrap(), noise(length));
    }
}

#[test]
fn the_same_bytes_are_kept_once() {
    let dir = BlobDir::new();
    let mut blobs = dir.blobs();
    let first = blobs.put(&noise(1000)).unwrap();
    let again = blobs.put(&noise(1000)).unwrap();
    assert_eq!((first.is_new, again.is_new), (true, false));
    blobs.settle().unwrap();
    let later = dir.blobs().put(&noise(1000)).unwrap();
    assert_eq!(later, Put { is_new: false, ..first });
    assert_eq!(dir.litter(), 0);
}

#[test]
fn only_what_gets_smaller_is_packed() {
    let dir = BlobDir::new();
    let mut blobs = dir.blobs();
    assert_eq!(blobs.put(&noise(CHUNK_BYTES)).unwrap().stored_bytes, CHUNK_BYTES as u64 + 1);
    assert!(blobs.put(&vec![0; CHUNK_BYTES]).unwrap().stored_bytes < 10_000);
}

#[test]
fn nothing_has_its_name_before_it_is_on_disk_and_what_is_given_up_leaves_nothing() {
    let dir = BlobDir::new();
    let mut blobs = dir.blobs();
    let put = blobs.put(b"not settled").unwrap();
    assert_eq!(blobs.stored_bytes(&put.digest).unwrap_err().kind(), ErrorKind::NotFound);
    assert_eq!(dir.litter(), 1);
    drop(blobs);
    assert_eq!(dir.litter(), 0);
    assert!(matches!(dir.blobs().get(&put.digest, 100), Err(BlobError::Missing(_))));
}

#[test]
fn damage_is_seen_and_never_unpacked_further_than_allowed() {
    let dir = BlobDir::new();
    let mut blobs = dir.blobs();
    for bytes in [noise(5000), vec![3; 5000]] {
        let put = blobs.put(&bytes).unwrap();
        blobs.settle().unwrap();
        let path = blobs.path(&put.digest);
        let file = std::fs::read(&path).unwrap();
        let mut into = vec![0; bytes.len()];
        assert!(matches!(blobs.get(&put.digest, bytes.len() - 1), Err(BlobError::Damaged(..))));
        assert!(matches!(blobs.get_into(&put.digest, &mut into[1..]), Err(BlobError::Damaged(..))));
        for place in 0..file.len() {
            let mut damaged = file.clone();
            damaged[place] ^= 0x10;
            std::fs::write(&path, damaged).unwrap();
            // zstd ignores some bits of its header, so a change of these does no harm.
            match blobs.get(&put.digest, 10_000) {
                Ok(got) => assert_eq!(got, bytes, "{place}"),
                Err(error) => assert!(matches!(error, BlobError::Damaged(..)), "{place}"),
            }
            if blobs.get_into(&put.digest, &mut into).is_ok() {
                assert_eq!(into, bytes, "{place}");
            }
        }
        for length in [0, 1, file.len() / 2, file.len() - 1] {
            std::fs::write(&path, &file[..length]).unwrap();
            assert!(matches!(blobs.get(&put.digest, 10_000), Err(BlobError::Damaged(..))), "{length}");
            assert!(
                matches!(blobs.get_into(&put.digest, &mut into), Err(BlobError::Damaged(..))),
                "{length}"
            );
        }
    }
}

/// Whether putting the bytes again replaces the damaged blob.
fn is_healed(dir: &BlobDir, bytes: &[u8]) -> bool {
    let mut blobs = dir.blobs();
    let put = blobs.put(bytes).unwrap();
    blobs.settle().unwrap();
    put.is_new && dir.blobs().get(&put.digest, bytes.len()).unwrap() == bytes
}

#[test]
fn a_damaged_blob_is_written_anew_when_its_bytes_are_put_again() {
    for bytes in [noise(5000), vec![3; 5000], noise(CHUNK_BYTES)] {
        let dir = BlobDir::new();
        let mut blobs = dir.blobs();
        let put = blobs.put(&bytes).unwrap();
        blobs.settle().unwrap();
        let path = blobs.path(&put.digest);
        let file = std::fs::read(&path).unwrap();
        let mut flipped = file.clone();
        flipped[file.len() - 1] ^= 1;
        // The next start of the server empties `tmp`, and with it the list of verified blobs.
        let start_again = || std::fs::remove_file(dir.0.join("tmp/verified")).unwrap();
        for damaged in [&flipped[..], &file[..file.len() / 2], &[0], &[], b"something else"] {
            for again in [false, true] {
                if again {
                    start_again();
                }
                std::fs::write(&path, damaged).unwrap();
                assert!(is_healed(&dir, &bytes), "{} of {} bytes, {again}", damaged.len(), file.len());
            }
        }
        // Neither is an unchanged file compared, nor is it written again.
        let mut blobs = dir.blobs();
        assert!(!blobs.put(&bytes).unwrap().is_new);
        assert!(blobs.verified.has(&put.digest, Stamp::of(&std::fs::metadata(&path).unwrap())));
        // Without a restart, once `get` has found the damage.
        std::fs::write(&path, &flipped).unwrap();
        assert!(dir.blobs().get(&put.digest, bytes.len()).is_err());
        assert!(is_healed(&dir, &bytes));
        // An undamaged blob is not written again.
        start_again();
        assert!(!dir.blobs().put(&bytes).unwrap().is_new);
    }
}

#[test]
fn no_link_is_followed_to_a_blob() {
    let dir = BlobDir::new();
    let mut blobs = dir.blobs();
    let put = blobs.put(&noise(500)).unwrap();
    blobs.settle().unwrap();
    let (path, elsewhere) = (blobs.path(&put.digest), dir.0.join("elsewhere"));
    std::fs::rename(&path, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
    assert!(matches!(blobs.get(&put.digest, 500), Err(BlobError::Damaged(..))));
    assert_eq!(blobs.stored_bytes(&put.digest).unwrap_err().kind(), ErrorKind::NotFound);
    assert!(is_healed(&dir, &noise(500)), "a file takes its place");
    assert!(elsewhere.is_file());
}

#[test]
fn a_bomb_is_not_unpacked() {
    let dir = BlobDir::new();
    let mut blobs = dir.blobs();
    let digest = blobs.put(&[0; 1 << 20]).unwrap().digest;
    blobs.settle().unwrap();
    let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 1).unwrap();
    std::fs::write(blobs.path(&digest), [&[1], &bomb[..]].concat()).unwrap();
    assert!(matches!(blobs.get(&digest, 1 << 20), Err(BlobError::Damaged(..))));
}

#[test]
fn a_digest_has_one_spelling() {
    let digest = Digest::of(b"x");
    let text = digest.to_string();
    assert_eq!(text.parse(), Ok(digest));
    assert_eq!(serde_json::from_str::<Digest>(&format!("\"{text}\"")).unwrap(), digest);
    for wrong in [text.to_uppercase(), text[1..].to_owned(), text + "0", "../x".into(), String::new()] {
        assert!(wrong.parse::<Digest>().is_err(), "{wrong}");
    }
}
